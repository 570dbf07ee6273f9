"""The walker to look at: pictures (``rgb_array``) and a live page on the loopback interface (``human``).

Both draw the body of :mod:`sandbox.report.figure`, which the pictures, pages and videos of recordings draw too.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.kinematics import points_in_world
from sandbox.plants.bullet import BulletPlant
from sandbox.plants.render import Picture, Renderer
from sandbox.recording import Recording
from sandbox.report.figure import SIDE_COLOURS, Part, body_parts, rgb
from sandbox.report.shapes import Mesh, attitudes, box_mesh, part_mesh
from sandbox.scenes.terrain import Terrain
from sandbox.spatial import quaternion_about

if TYPE_CHECKING:
    from sandbox.envs.walker import Command

Array = NDArray[np.float64]
Colour = tuple[int, int, int]

PORT = 8080  # of the live page, or the next one that is free
HOST = "127.0.0.1"
EYE = (3.4, 1.6, 1.25)  # [m] of the camera from the body: to the right of +Y, ahead, up; for a body of 1.74 m
LOOK = 0.85  # [m] height at which it looks
TILES = 8  # [m] reach of the ground's tiles of 1 m around the body
TILE_COLOURS = ((222, 225, 224), (200, 205, 205))
BOX_COLOUR = (196, 187, 170)


class Pose(NamedTuple):
    """Position (3,) [m] and attitude (4,) of a mesh."""

    position: Array
    quaternion: Array


class Screen(Protocol):
    """What draws meshes."""

    def add(self, mesh: Mesh, colour: Colour) -> int:
        """Take a mesh of a colour (0-255) and return its number."""

    def show(self, poses: dict[int, Pose], centre: Array, text: str) -> Picture | None:
        """Draw the meshes at ``poses``, looking at the body at ``centre`` (3,) [m]."""

    def close(self) -> None:
        """Release what it holds. May be called twice."""


class View:
    """A walker and its ground on a screen, which opens with the first :meth:`show`.

    Args:
        anatomy: the body.
        terrain: the ground.
        live: True for the page, False for pictures.
        width, height: of a picture [pixels].

    Raises:
        ModuleNotFoundError: the page needs the extra ``view``.
    """

    def __init__(self, anatomy: Anatomy, terrain: Terrain, live: bool, width: int, height: int) -> None:
        self.terrain = terrain
        self._header = {"point_names": list(anatomy.points), "body": {"height_m": anatomy.height}}
        self._points = np.zeros((1, len(anatomy.points), 3))
        self._parts: dict[str, int] = {}
        scale = anatomy.height / 1.74
        self._screen: Screen = LivePage(scale) if live else Photographs(width, height, scale)
        self._tilt = quaternion_about(np.array([1.0, 0.0, 0.0]), terrain.slope)
        self._tiles = [self._screen.add(_tiles(parity), colour) for parity, colour in enumerate(TILE_COLOURS)]
        self._boxes: dict[int, Pose] = {}
        for box in terrain.boxes:
            centre = np.array([box.x, box.y, math.tan(terrain.slope) * box.y + box.height / 2])
            half = np.array([box.half_x, box.half_y, box.height / 2])
            self._boxes[self._screen.add(box_mesh(half), BOX_COLOUR)] = Pose(centre, np.array([0.0, 0.0, 0.0, 1.0]))

    def show(self, plant: BulletPlant, command: Command, duration: float) -> Picture | None:
        """Draw the present state; the page waits until ``duration`` [s] after the last one, so that it shows real time."""
        tree, observer = plant.observer.tree, plant.observer
        points_in_world(tree.point_link, tree.point, observer.link_r, observer.link_p, self._points[0])
        parts = body_parts(Recording(self._header, {"time": np.zeros(1), "points": self._points}))
        if not self._parts:
            self._parts = {part.name: self._screen.add(part_mesh(part), rgb(SIDE_COLOURS[part.side])) for part in parts}
        poses = {self._parts[part.name]: _part_pose(part) for part in parts} | self._boxes
        centre = plant.state.root_position.copy()
        centre[2] = math.tan(self.terrain.slope) * centre[1]
        # tiles go with the body in steps that keep their pattern
        x, y = 2 * round(centre[0] / 2), 2 * round(centre[1] / 2 * math.cos(self.terrain.slope) ** -1)
        along = np.array([0.0, math.cos(self.terrain.slope), math.sin(self.terrain.slope)])
        for tile in self._tiles:
            poses[tile] = Pose(np.array([float(x), 0.0, 0.0]) + y * along, self._tilt)
        velocity = float(np.hypot(*observer.record[0].com_velocity[:2]))
        text = f"{plant.state.time:.2f} s, {velocity:.2f} m/s; asked {command.speed:.2f} m/s, {command.heading_rate:+.2f} rad/s"
        if plant.fall is not None:
            text += f"; fell: {plant.fall.cause}"
        picture = self._screen.show(poses, centre, text)
        if isinstance(self._screen, LivePage):
            self._screen.wait(duration)
        return picture

    def close(self) -> None:
        """Close the screen. May be called twice."""
        self._screen.close()


class Photographs:
    """Pictures by :class:`sandbox.plants.render.Renderer`."""

    def __init__(self, width: int, height: int, scale: float) -> None:
        self._renderer = Renderer(width, height)
        self._eye, self._look = scale * np.array(EYE), np.array([0.0, 0.0, scale * LOOK])

    def add(self, mesh: Mesh, colour: Colour) -> int:
        """Take a mesh of a colour (0-255) and return its number."""
        return self._renderer.add(mesh.vertices, mesh.normals, mesh.faces, colour)

    def show(self, poses: dict[int, Pose], centre: Array, text: str) -> Picture:  # noqa: ARG002  # a picture has no caption
        """The picture (height, width, 3)."""
        for number, pose in poses.items():
            self._renderer.place(number, pose.position.tolist(), pose.quaternion.tolist())
        return self._renderer.picture((centre + self._eye).tolist(), (centre + self._look).tolist())

    def close(self) -> None:
        """Release the renderer. May be called twice."""
        self._renderer.close()


class LivePage:
    """A page of viser's on the loopback interface, for a browser on the same machine. Its address goes to standard error.

    Attributes:
        address: of the page.
    """

    def __init__(self, scale: float) -> None:
        try:
            import viser
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                'render_mode "human" needs the package viser: pip install "locomotion-sandbox[view]"', name=error.name
            ) from None
        logging.getLogger("websockets.server").setLevel(logging.ERROR)
        with contextlib.redirect_stdout(io.StringIO()):
            self._server = viser.ViserServer(host=HOST, port=PORT, verbose=False)
        # the share button would open a tunnel to an outside host
        self._server.gui.configure_theme(show_share_button=False, show_logo=False)
        self._server.scene.set_up_direction("+z")
        self._server.scene.world_axes.visible = False
        self._text = self._server.gui.add_markdown("")
        camera = self._server.initial_camera
        camera.position, camera.look_at, camera.fov = tuple(scale * np.array(EYE)), (0.0, 0.0, scale * LOOK), math.radians(32)
        # The camera is the viewer's own: the world moves past the body instead.
        self._world = self._server.scene.add_frame("/world", show_axes=False)
        self._handles: list[Any] = []
        self._due = time.monotonic()
        self._open = True
        self.address = f"http://{HOST}:{self._server.get_port()}"
        print(f"live page: {self.address}", file=sys.stderr, flush=True)

    def add(self, mesh: Mesh, colour: Colour) -> int:
        """Take a mesh of a colour (0-255) and return its number."""
        number = len(self._handles)
        self._handles.append(self._server.scene.add_mesh_simple(f"/world/{number}", mesh.vertices, mesh.faces, color=colour))
        return number

    def show(self, poses: dict[int, Pose], centre: Array, text: str) -> None:
        """Move the meshes, and the world so that the body stays where everyone looks."""
        with self._server.atomic():
            self._world.position = tuple((-centre).tolist())
            for number, pose in poses.items():
                x, y, z, w = pose.quaternion.tolist()
                handle = self._handles[number]
                handle.position, handle.wxyz = tuple(pose.position.tolist()), (w, x, y, z)
        self._text.content = text

    def wait(self, duration: float) -> None:
        """Sleep until ``duration`` [s] after the last call; a simulation that is late is not caught up with."""
        self._due = max(self._due + duration, time.monotonic())
        time.sleep(max(0.0, self._due - time.monotonic()))

    def close(self) -> None:
        """Stop the server. May be called twice."""
        if self._open:
            self._open = False
            with contextlib.redirect_stdout(io.StringIO()):
                self._server.stop()


# -- shapes --------------------------------------------------------------------------------------------------------------


def _part_pose(part: Part) -> Pose:
    """Where :func:`part_mesh` goes: +Z along the part, +X along its lateral direction."""
    return Pose(part.start[0], attitudes(part)[0])


def _tiles(parity: int) -> Mesh:
    """Every other tile of a chessboard with fields of 1 m."""
    corners = [(x, y) for x in range(-TILES, TILES) for y in range(-TILES, TILES) if (x + y) % 2 == parity]
    square = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)])
    vertices = np.concatenate([square + np.array([x, y, 0.0]) for x, y in corners])
    two = np.array([(0, 1, 2), (0, 2, 3)])
    faces = np.concatenate([two + 4 * k for k in range(len(corners))])
    return Mesh(vertices, np.tile([0.0, 0.0, 1.0], (len(vertices), 1)), faces)
