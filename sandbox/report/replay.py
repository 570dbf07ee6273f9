"""A 3D replay of a recording in one HTML page, which opens from a file with no network and no server.

The page is viser's own player with the scene inside, and beside it a legend, the vertical ground force of both feet, and a
camera that goes with the body (and may be turned and moved meanwhile).
"""

from __future__ import annotations

import contextlib
import html
import io
import json
import logging
import math
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.files import written_whole
from sandbox.measure import gait_events
from sandbox.mechanics import support_polygon
from sandbox.recording import Recording
from sandbox.report.figure import COM_COLOUR, FORCE_COLOUR, LEFT_COLOUR, RIGHT_COLOUR, SIDE_COLOURS, XCOM_COLOUR, Part, body_parts, rgb
from sandbox.report.optional import need
from sandbox.report.scene import follow_path, footprints, ground_of, initial_heading
from sandbox.report.shapes import TAPERS, attitudes, ball, lit, taper_of, tapered_cylinder
from sandbox.report.support import TOUCHING, contact_corners, half_width_of
from sandbox.spatial import quaternion_about
from sandbox.state import FEET

Array = NDArray[np.float64]
Single = NDArray[np.float32]

FPS = 30
POSITION_STEP, ROTATION_STEP = 2.0**-12, 2.0**-11  # [m], [1]: poses are rounded to these, which halves the file
FORCE_LENGTH = 0.9  # [m] a body weight
SHOWN_FORCE = 0.03  # of body weight: less is not drawn
BURIED = -3000.0  # [m]: where what is not to be seen is put, beyond the camera's far plane
LABELS = 30  # at most this many metre marks
TRACK_SIDE = 0.8  # [m]: how far beside the starting line they stand
SIDE_BY_SIDE = 1.3  # [m] from one body to the next
GHOST_OPACITY = 0.35
EDGES = 12  # of the support polygon, at most
SUPPORT_LIFT = 0.006  # [m] of its lines over the ground
Together = Literal["side", "ghost"]
PRINT_LIFT = 0.002  # [m] of a footprint over the ground


def save_replay(
    recording: Recording, path: str | Path, title: str | None = None, second: Recording | None = None, together: Together = "side"
) -> None:
    """Write the page.

    Args:
        recording: to play.
        path: of the page.
        title: to be read above it.
        second: a recording that starts together with the first one.
        together: ``side`` by side, or the second as a ``ghost`` in the first one's place.

    Raises:
        OSError: the path cannot be written.
        ModuleNotFoundError: viser is not installed.
        ValueError: an empty recording.
    """
    path = Path(path)
    text = replay_html(recording, title, second, together)
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def replay_html(recording: Recording, title: str | None = None, second: Recording | None = None, together: Together = "side") -> str:
    """The page as text; arguments as of :func:`save_replay`."""
    if not len(recording) or (second is not None and not len(second)):
        raise ValueError("an empty recording has no replay: record at least one row")
    need("viser", "view")
    duration = max(recording.duration, second.duration if second is not None else 0.0)
    times = np.arange(0.0, duration + 1e-9, 1 / FPS)
    rows = _rows_at(recording, times)
    with _quiet_server() as server:
        serializer = server.get_scene_serializer()
        players = [_Player(server, recording, rows)]
        if second is not None:
            beside = SIDE_BY_SIDE if together == "side" else 0.0
            players.append(
                _Player(server, second, _rows_at(second, times), "/second", beside, 1.0 if together == "side" else GHOST_OPACITY)
            )
        for k in range(len(rows)):
            with server.atomic():
                for player in players:
                    player.show(k)
            if k + 1 < len(rows):
                serializer.insert_sleep(1 / FPS)
        page = serializer.as_html()
    return _furnish(page, recording, rows, title)


def _rows_at(recording: Recording, times: Array) -> NDArray[Any]:
    return np.clip(np.searchsorted(recording.time, times - 1e-9), 0, len(recording) - 1)


@contextlib.contextmanager
def _quiet_server() -> Iterator[Any]:
    """A viser server on the loopback interface that prints nothing."""
    import viser

    logger = logging.getLogger("websockets.server")
    level = logger.level
    logger.setLevel(logging.ERROR)
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
        try:
            server.gui.configure_theme(show_share_button=False, show_logo=False)
            yield server
        finally:
            server.stop()
            logger.setLevel(level)


class _Batch(NamedTuple):
    """Instances of one mesh, with their paths."""

    handle: Any
    positions: Single  # (F, n, 3)
    rotations: Single | None  # (F, n, 4) w x y z; None where they do not turn


class _Player:
    """The scene, and how to bring it to a frame.

    Args:
        server: viser's.
        recording: to play; ``rows`` (F,) of it, one a frame.
        root: of its nodes; a body with a root is the second one, which brings no stage of its own.
        beside: how far on the right of the first one it is drawn [m].
        opacity: below 1 for a ghost, of which only the body is drawn.
    """

    def __init__(
        self, server: Any, recording: Recording, rows: NDArray[Any], root: str = "", beside: float = 0.0, opacity: float = 1.0
    ) -> None:
        self.server, self.recording, self.rows = server, recording, rows
        self.root, self.opacity = root, opacity
        self.scene = server.scene
        self.ground = ground_of(recording)
        self.heading = initial_heading(recording)
        path = follow_path(recording)[rows]
        self.follow = np.column_stack((path, self.ground.height(path)))
        self.weight = 9.81 * float(recording.header["body"]["mass_kg"])
        if root:
            across = (math.cos(self.heading) * beside, math.sin(self.heading) * beside, 0.0)
            self.scene.add_frame(root, show_axes=False, position=across)
        else:
            self._set_stage()
        parts = body_parts(recording, rows)
        self.batches = [*self._cylinders(parts), *self._ends(parts)]
        whole = opacity == 1.0
        self.forces = self._forces() if whole else None
        self.masses = self._masses() if whole else None
        self.support = self._support() if whole else None
        self.touching = self._touching() if whole else None
        self.prints: list[tuple[float, Any]] = []
        self._prints_shown = 0
        if whole:
            self._prints()
        if not root:
            self.camera_frame = self.scene.add_frame("/follow", show_axes=False, position=tuple(self.follow[0]))
            self.clock = self.scene.add_frame("/clock", show_axes=False)

    def show(self, k: int) -> None:
        """Bring the scene to frame ``k``."""
        for batch in self.batches:
            batch.handle.batched_positions = batch.positions[k]
            if batch.rotations is not None:
                batch.handle.batched_wxyzs = batch.rotations[k]
        for lines in (self.forces, self.support):
            if lines is not None:
                handle, points = lines
                handle.points = points[k]
        if self.touching is not None:
            handle, places = self.touching
            handle.batched_positions = places[k]
        if self.masses is not None:
            (spheres, places), (line, ends) = self.masses
            spheres.batched_positions = places[k]
            line.points = ends[k]
        self._show_prints(k)
        if not self.root:
            self.camera_frame.position = tuple(self.follow[k])
            self.clock.position = (k / FPS, 0.0, 0.0)

    # -- the stage -------------------------------------------------------------------------------------------------------

    def _set_stage(self) -> None:
        scene, ground = self.scene, self.ground
        scene.set_up_direction("+z")
        scene.world_axes.visible = False
        tilt = quaternion_about(np.array([1.0, 0.0, 0.0]), math.atan(ground.rise))
        scene.add_grid(
            "/ground",
            infinite_grid=True,
            cell_size=0.5,
            section_size=1.0,
            cell_color=(214, 217, 219),
            section_color=(176, 182, 187),
            fade_distance=26.0,
            shadow_opacity=0.22,
            plane_color=(238, 240, 241),
            plane_opacity=1.0,
            wxyz=_wxyz(tilt),
            position=(0.0, 0.0, -0.001),
        )
        for i, (x, y, hx, hy, height) in enumerate(ground.boxes.tolist()):
            centre = (x, y, ground.rise * y + height / 2)
            scene.add_box(f"/boxes/{i}", dimensions=(2 * hx, 2 * hy, height), color=(196, 187, 170), position=centre, wxyz=_wxyz(tilt))
        self._metre_marks()
        scale = float(self.recording.header["body"]["height_m"]) / 1.74
        c, s = math.cos(self.heading), math.sin(self.heading)
        # From the right, a little from the front.
        right, ahead, up = 3.6 * scale, 1.7 * scale, 1.25 * scale
        start = self.follow[0]
        camera = self.server.initial_camera
        camera.fov = math.radians(32)
        camera.position = (start[0] + c * right - s * ahead, start[1] + s * right + c * ahead, start[2] + up)
        camera.look_at = (start[0], start[1], start[2] + 0.85 * scale)

    def _metre_marks(self) -> None:
        """Distances along the line on which the walk began."""
        c, s = math.cos(self.heading), math.sin(self.heading)
        start = self.recording.point("mid_hip")[0, :2]
        ahead = (self.recording.point("mid_hip")[:, :2] - start) @ np.array([-s, c])
        low, high = math.floor(min(ahead.min(), 0.0)), math.ceil(max(ahead.max(), 2.0))
        every = next(step for step in (1, 2, 5, 10, 20, 50, 100) if (high - low) / step <= LABELS)
        for metre in range(low - low % every, high + every, every):
            x = start[0] - s * metre - c * TRACK_SIDE
            y = start[1] + c * metre - s * TRACK_SIDE
            self.scene.add_label(
                f"/metres/{metre}",
                f"{metre} m",
                position=(float(x), float(y), float(self.ground.rise * y + 0.05)),
                font_size_mode="scene",
                font_scene_height=0.07,
                depth_test=True,
                anchor="center-center",
            )

    # -- the body --------------------------------------------------------------------------------------------------------

    def _cylinders(self, parts: list[Part]) -> list[_Batch]:
        """The shafts of the parts, in batches of equal taper."""
        out = []
        nearest = [taper_of(part) for part in parts]
        for taper in TAPERS:
            mine = [part for part, its in zip(parts, nearest, strict=True) if its == taper]
            if not mine:
                continue
            vertices, faces = tapered_cylinder(taper)
            lengths = np.array([float(np.median(np.linalg.norm(part.end - part.start, axis=1))) for part in mine])
            scales = np.array([(part.radius[0] * part.wide, part.radius[0], length) for part, length in zip(mine, lengths, strict=True)])
            positions = np.stack([part.start for part in mine], axis=1)
            rotations = np.stack([_attitude(part) for part in mine], axis=1)
            out.append(
                self._batch(
                    f"{self.root}/body/shafts_{taper:g}", vertices, faces, positions, rotations, scales, [part.side for part in mine]
                )
            )
        return out

    def _ends(self, parts: list[Part]) -> list[_Batch]:
        """The rounded ends: ellipsoids where a part is wider than deep, spheres elsewhere."""
        vertices, faces = ball()
        out = []
        for name, wide in (("round", False), ("oval", True)):
            mine = [part for part in parts if (part.wide != 1.0) == wide]
            if not mine:
                continue
            positions = np.stack([path for part in mine for path in (part.start, part.end)], axis=1)
            radii = [r for part in mine for r in (part.radius[0], part.radius[0] * taper_of(part))]
            widths = [part.wide for part in mine for _ in range(2)]
            scales = np.array([(r * w, r, r) for r, w in zip(radii, widths, strict=True)])
            rotations = np.stack([path for part in mine for path in [_attitude(part)] * 2], axis=1) if wide else None
            sides = [part.side for part in mine for _ in range(2)]
            out.append(self._batch(f"{self.root}/body/ends_{name}", vertices, faces, positions, rotations, scales, sides))
        return out

    def _batch(
        self, name: str, vertices: Array, faces: NDArray[Any], positions: Array, rotations: Array | None, scales: Array, sides: list[str]
    ) -> _Batch:
        places = _rounded(positions, POSITION_STEP)
        turns = None if rotations is None else _rounded(rotations, ROTATION_STEP)
        handle = self.scene.add_batched_meshes_simple(
            name,
            vertices,
            faces,
            batched_wxyzs=_still(len(sides)) if turns is None else turns[0],
            batched_positions=places[0],
            batched_scales=scales,
            batched_colors=np.array([lit(SIDE_COLOURS[side]) for side in sides], dtype=np.uint8),
            lod="off",
            **({"opacity": self.opacity} if self.opacity < 1.0 else {}),
        )
        return _Batch(handle, places, turns)

    # -- forces, centre of mass, footprints ------------------------------------------------------------------------------

    def _forces(self) -> tuple[Any, Single] | None:
        """Arrows of the ground reaction, from the centre of pressure."""
        recording = self.recording
        if not recording.has("ground_force", "centre_of_pressure") or not recording.ground_force[..., 2].any():
            return None
        force = recording.ground_force[self.rows]
        start = recording.centre_of_pressure[self.rows]
        shown = (force[..., 2] > SHOWN_FORCE * self.weight) & np.isfinite(start).all(axis=-1)
        hidden = np.array([[0.0, 0.0, BURIED], [0.0, 0.0, BURIED + 0.1]])
        points = np.stack((start, start + FORCE_LENGTH / self.weight * force), axis=2)
        points = np.where(shown[..., None, None], _rounded(points, POSITION_STEP), hidden).astype(np.float32)
        colours = np.array([lit(LEFT_COLOUR), lit(RIGHT_COLOUR)], dtype=np.uint8)
        handle = self.scene.add_arrows(
            f"{self.root}/ground_force", points[0], colours, shaft_radius=0.009, head_radius=0.024, head_length=0.06
        )
        return handle, points

    def _masses(self) -> tuple[tuple[Any, Single], tuple[Any, Single]] | None:
        """Centre of mass with its plumb line, extrapolated centre of mass on the ground."""
        recording = self.recording
        if not recording.has("com", "xcom"):
            return None
        com, xcom = recording.com[self.rows], recording.xcom[self.rows]
        below = np.column_stack((com[:, :2], self.ground.height(com) + 0.004))
        vertices, faces = ball()
        places = np.stack((com, below, xcom + np.array([0.0, 0.0, 0.004])), axis=1).astype(np.float32)
        spheres = self.scene.add_batched_meshes_simple(
            f"{self.root}/centre_of_mass",
            vertices,
            faces,
            batched_wxyzs=_still(3),
            batched_positions=places[0],
            batched_scales=np.array([(0.034,) * 3, (0.03, 0.03, 0.006), (0.034, 0.034, 0.007)]),
            batched_colors=np.array([lit(COM_COLOUR), lit(COM_COLOUR), lit(XCOM_COLOUR)], dtype=np.uint8),
            lod="off",
        )
        ends = np.stack((com, below), axis=1)[:, None].astype(np.float32)
        line = self.scene.add_line_segments(
            f"{self.root}/plumb_line", ends[0], np.array(rgb(COM_COLOUR), dtype=np.uint8), thickness=1.5, thickness_units="screen"
        )
        return (spheres, places), (line, ends)

    def _support(self) -> tuple[Any, Single] | None:
        """The outline of the support polygon on the ground."""
        recording = self.recording
        if not recording.has("contact_state") or "left_toe_tip" not in recording.header["point_names"]:
            return None
        names = recording.header["point_names"]
        out = np.full((len(self.rows), EDGES, 2, 3), BURIED)
        for k, row in enumerate(self.rows):
            at = dict(zip(names, recording.points[row], strict=True))
            corners = contact_corners(at, recording.contact_state[row], half_width_of(recording.header, at))
            polygon = support_polygon(corners) if len(corners) else np.empty((0, 2))
            if len(polygon) > 2:
                ring = np.column_stack((polygon, self.ground.height(polygon) + SUPPORT_LIFT))
                out[k, : len(ring)] = np.stack((ring, np.roll(ring, -1, axis=0)), axis=1)[:EDGES]
        points = _rounded(out, POSITION_STEP)
        colour = np.array(lit(FORCE_COLOUR), dtype=np.uint8)
        handle = self.scene.add_line_segments(f"{self.root}/support", points[0], colour, thickness=2.5, thickness_units="screen")
        return handle, points

    def _touching(self) -> tuple[Any, Single] | None:
        """A mark at heel, ball and toe of each foot while it touches the ground."""
        recording = self.recording
        if not recording.has("contact_state") or "left_toe_tip" not in recording.header["point_names"]:
            return None
        states = recording.contact_state[self.rows]
        places, shown = [], []
        for foot, side in enumerate(FEET):
            for name, touching in TOUCHING.items():
                places.append(recording.point(f"{side}_{name}")[self.rows])
                shown.append(np.isin(states[:, foot], touching))
        where = np.stack(places, axis=1)
        where = np.where(np.stack(shown, axis=1)[..., None], _rounded(where, POSITION_STEP), [0.0, 0.0, BURIED]).astype(np.float32)
        vertices, faces = ball(6, 10)
        handle = self.scene.add_batched_meshes_simple(
            f"{self.root}/touching",
            vertices,
            faces,
            batched_wxyzs=_still(where.shape[1]),
            batched_positions=where[0],
            batched_scales=np.full((where.shape[1], 3), 0.017),
            batched_colors=np.array([lit(FORCE_COLOUR)] * where.shape[1], dtype=np.uint8),
            lod="off",
            cast_shadow=False,
        )
        return handle, where

    def _prints(self) -> None:
        """One flat mesh a footprint; they appear when the foot has come down."""
        for i, mark in enumerate(footprints(self.recording)):
            outline = mark.outline - mark.outline.mean(axis=0)
            centre = mark.outline.mean(axis=0)
            centre[2] = float(self.ground.height(centre)) + PRINT_LIFT
            outline[:, 2] = self.ground.rise * outline[:, 1]
            vertices = np.vstack(([0.0, 0.0, 0.0], outline))
            n = len(outline)
            faces = np.array([(0, 1 + j, 1 + (j + 1) % n) for j in range(n)])
            handle = self.scene.add_mesh_simple(
                f"{self.root}/footprints/{i}",
                vertices,
                faces,
                color=lit(LEFT_COLOUR if mark.foot == 0 else RIGHT_COLOUR),
                opacity=0.45,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
                position=tuple(centre),
                visible=False,
            )
            self.prints.append((mark.time, handle))

    def _show_prints(self, k: int) -> None:
        while self._prints_shown < len(self.prints) and self.prints[self._prints_shown][0] <= k / FPS:
            self.prints[self._prints_shown][1].visible = True
            self._prints_shown += 1


def _rounded(values: Array, step: float) -> Single:
    return np.asarray(np.round(values / step) * step, dtype=np.float32)


def _still(n: int) -> Single:
    """No rotation, n times."""
    return np.tile(np.array([1.0, 0.0, 0.0, 0.0], dtype=np.float32), (n, 1))


def _attitude(part: Part) -> Array:
    """Rotations (F, 4), w x y z, of a part."""
    return attitudes(part)[:, [3, 0, 1, 2]]


def _wxyz(quaternion: Array) -> tuple[float, float, float, float]:
    x, y, z, w = (float(v) for v in quaternion)
    return w, x, y, z


# -- what stands beside the scene ----------------------------------------------------------------------------------------


def _furnish(page: str, recording: Recording, rows: NDArray[Any], title: str | None) -> str:
    """Put the legend, the force strip and the camera's script into viser's page, and forbid it any connection."""
    header = recording.header
    body = header["body"]
    name = title or str(header.get("scene", "walk")).capitalize()
    plant = "physical" if header.get("plant") == "bullet" else header.get("plant", "measured")
    facts = f"{body['mass_kg']:g} kg, {body['height_m']:g} m · {plant} plant"
    fall = header.get("fall") or {}
    if fall.get("fell"):
        facts += f" · fell at {float(fall['time_s']):.2f} s: {fall['cause']}"
    weight = 9.81 * float(body["mass_kg"])
    load = recording.ground_force[rows, :, 2] / weight if recording.has("ground_force") else np.zeros((len(rows), 2))
    data = {
        "fps": FPS,
        "left": LEFT_COLOUR,
        "right": RIGHT_COLOUR,
        "touchdowns": _touchdowns(recording),
        "load": [[round(float(v) * 100) for v in foot] for foot in load.T] if load.any() else None,
    }
    extra = files("sandbox.report").joinpath("data", "replay.html").read_text(encoding="utf-8")
    replacements = {
        "{{title}}": html.escape(name),
        "{{facts}}": html.escape(facts),
        "{{left}}": LEFT_COLOUR,
        "{{right}}": RIGHT_COLOUR,
        "{{com}}": COM_COLOUR,
        "{{xcom}}": XCOM_COLOUR,
        "{{force}}": FORCE_COLOUR,
        "{{data}}": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    }
    for key, value in replacements.items():
        extra = extra.replace(key, value)
    head, body_part = extra.split("<!-- body -->")
    page = page.replace("<title>Viser</title>", f"<title>{html.escape(name)}</title>")
    # The page needs nothing from anywhere: let the browser hold it to that.
    page = page.replace("<head>", f"<head>\n{head.strip()}", 1)
    at = page.rindex("</body>")
    return page[:at] + body_part.strip() + "\n" + page[at:]


def _touchdowns(recording: Recording) -> list[float]:
    """Touchdowns of the right foot [s], by which the page goes from stride to stride."""
    if not recording.has("points") or len(recording) < 2:
        return []
    return [round(float(time), 3) for time in gait_events(recording).touchdowns(1)]
