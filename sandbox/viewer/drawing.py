"""What the view draws with viser: the ground, and a body with the overlays of its mechanics."""

from __future__ import annotations

import contextlib
import io
import ipaddress
import logging
import math
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.mechanics import support_margin, support_polygon
from sandbox.recording import Recording
from sandbox.report.figure import COM_COLOUR, FORCE_COLOUR, SIDE_COLOURS, XCOM_COLOUR, Part, body_parts
from sandbox.report.optional import need
from sandbox.report.scene import Ground
from sandbox.report.shapes import TAPERS, attitudes, ball, lit, taper_of, tapered_cylinder
from sandbox.report.support import TOUCHING, contact_corners, half_width_of
from sandbox.spatial import quaternion_about
from sandbox.state import FEET
from sandbox.viewer.frame import is_there

Array = NDArray[np.float64]

HOST: Final = "127.0.0.1"
PORT: Final = 8080
FORCE_LENGTH = 0.9  # [m] a body weight
SHOWN_FORCE = 0.03  # of body weight: less is not drawn
SHOWN_TORQUE = 0.03  # of the limit
BURIED = -3000.0  # [m]: where what is not to be seen is put, beyond the camera's far plane
LIFT = 0.004  # [m] of flat marks over the ground
STEPS_KEPT = 8  # touchdowns whose planned and actual place stay on the ground
EDGES = 12  # of the support polygon, at most: three parts of each foot
PLANNED_COLOUR, ACTUAL_COLOUR = "#c48a00", "#22272e"
SUPPORT_COLOUR, MARGIN_COLOUR, OUTSIDE_COLOUR = "#2a9d8f", "#2a9d8f", "#c1121f"
COMFORT_COLOUR, GUARD_COLOUR = "#f2a900", "#c2189b"  # beyond the comfortable range, and beyond the outermost
IDLE_COLOUR = "#9aa3ad"

SEE_THROUGH = "see-through body"  # shows what is inside: centre of mass, joints
SEEN_THROUGH = 0.35  # opacity
# Overlays by name, and whether they are shown at first.
LAYERS: Final[dict[str, bool]] = {
    "body": True,
    SEE_THROUGH: False,
    "joints, heel, ball, toe": True,
    "planned foothold": True,
    "swing path": True,
    "ground forces": True,
    "pressure": True,
    "support polygon": True,
    "centre of mass": True,
    "extrapolated CoM": True,
    "margin of stability": False,
    "joint torques": False,
    "envelope violations": False,
    "touchdowns, planned and actual": True,
}

# Where the axes of a joint are drawn: a point, or a share of the way between two.
_PLACES: Final[dict[str, tuple[str, str, float]]] = {
    "lumbar": ("mid_hip", "neck_base", 0.25),
    "thorax": ("mid_hip", "neck_base", 0.6),
    "head": ("neck_base", "neck_base", 0.0),
    "shoulder": ("shoulder", "shoulder", 0.0),
    "elbow": ("elbow", "elbow", 0.0),
    "hip": ("hip", "hip", 0.0),
    "knee": ("knee", "knee", 0.0),
    "ankle": ("ankle", "ankle", 0.0),
    "mtp": ("toe_base", "toe_base", 0.0),
}


class PageError(ValueError):
    """The page cannot be opened; one line with the reason and the remedy."""


def open_server(host: str = HOST, port: int = PORT) -> Any:
    """A viser server without its share button, whose tunnel would lead to an outside host, that prints nothing.

    Raises:
        PageError: no port from ``port`` on is free, or the host is none of this machine.
        ModuleNotFoundError: the extra ``view`` is not installed.
    """
    need("viser", "view")
    import viser

    if not 1 <= port <= 65_535:
        raise PageError(f"port {port} is outside 1-65535: give a number in that range")
    # It logs every port scan and every browser that changes its mind.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    try:
        socket.getaddrinfo(host, port)
        with contextlib.redirect_stdout(io.StringIO()):
            server = viser.ViserServer(host=host, port=port, verbose=False)
    except (OSError, RuntimeError, AssertionError) as error:
        raise PageError(f"cannot listen at {host} from port {port} on ({error}): give another --port or --host") from None
    server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="medium")
    server.gui.main_panel.dock_right()
    server.scene.set_up_direction("+z")
    server.scene.world_axes.visible = False
    return server


def addresses(host: str, port: int) -> list[str]:
    """Where a page that listens at ``host`` can be opened: here first, and by others where it listens everywhere."""
    try:
        everywhere = host == "" or ipaddress.ip_address(host).is_unspecified
    except ValueError:  # a name
        everywhere = False
    if not everywhere:
        return [f"http://{f'[{host}]' if ':' in host else host}:{port}"]
    return [f"http://127.0.0.1:{port}", f"http://{own_address()}:{port}"]


def own_address() -> str:
    """This machine's address in its network, or its name where it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # of RFC 5737, which belongs to nobody
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def add_ground(scene: Any, root: str, ground: Ground, far: float = 100.0) -> None:
    """Grid of 0.5 and 1 m, boxes, distance marks along +Y, under the frame ``root``."""
    tilt = wxyz(quaternion_about(np.array([1.0, 0.0, 0.0]), math.atan(ground.rise)))
    scene.add_grid(
        f"{root}/ground",
        infinite_grid=True,
        cell_size=0.5,
        section_size=1.0,
        cell_color=(214, 217, 219),
        section_color=(176, 182, 187),
        fade_distance=26.0,
        shadow_opacity=0.22,
        plane_color=(238, 240, 241),
        plane_opacity=1.0,
        wxyz=tilt,
        position=(0.0, 0.0, -0.001),
    )
    for i, (x, y, hx, hy, height) in enumerate(ground.boxes.tolist()):
        scene.add_box(
            f"{root}/boxes/{i}",
            dimensions=(2 * hx, 2 * hy, height),
            color=(196, 187, 170),
            position=(x, y, ground.rise * y + height / 2),
        )
    marks = [*range(-5, 30), *range(30, int(far) + 1, 10)]
    for metre in marks:
        scene.add_label(
            f"{root}/metres/{metre}",
            f"{metre} m",
            position=(-0.8, float(metre), float(ground.rise * metre + 0.05)),
            font_size_mode="scene",
            font_scene_height=0.07,
            depth_test=True,
            anchor="center-center",
        )


def wxyz(quaternion: Array) -> tuple[float, float, float, float]:
    """Viser's order of a quaternion (4,)."""
    x, y, z, w = (float(v) for v in quaternion)
    return w, x, y, z


@dataclass
class _Batch:
    handle: Any
    parts: list[int]
    ends: bool  # two ends of every part instead of its shaft
    turned: bool


@dataclass
class Figure:
    """A body and its overlays under the frame ``root``.

    Args:
        scene: viser's.
        root: name of the frame that holds it.
        header: of a recording: point and joint names, body, torque limits.
        ground: what it stands on.
        opacity: below 1 for a ghost, which has no overlays.
    """

    scene: Any
    root: str
    header: Mapping[str, Any]
    ground: Ground
    opacity: float = 1.0
    handles: dict[str, list[Any]] = field(default_factory=dict)
    shown: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.points: list[str] = list(self.header["point_names"])
        self.weight = 9.81 * float(self.header["body"]["mass_kg"])
        self.scale = float(self.header["body"]["height_m"]) / 1.74
        self._batches: list[_Batch] = []
        self._joints = self._joint_places()
        self._landings: list[tuple[int, Array, Array]] = []
        self.origin = np.zeros(3)
        self.margin: float | None = None  # of stability, in the frame shown last [m]
        self.violations: list[str] = []
        self.shown = {name: shown and (self.opacity == 1.0 or name == "body") for name, shown in LAYERS.items()}

    # -- what the header says ------------------------------------------------------------------------------------------

    def _joint_places(self) -> list[tuple[str, str, float, list[int]]]:
        """Points between which each place lies, the share of the way, and the joints that turn there."""
        joints = list(self.header.get("joint_names", ()))
        limits = [float(x) for x in self.header.get("joint_max_torque", ())]
        self._limits = np.array(limits) if len(limits) == len(joints) else np.ones(len(joints))
        envelope = {joint.name: joint for joint in Anatomy().joints}
        known = [envelope.get(name) for name in joints]
        free = (-math.inf, math.inf)
        self._comfortable = np.array([joint.comfortable if joint else free for joint in known]).reshape(-1, 2)
        self._outer = np.array([joint.outer if joint else free for joint in known]).reshape(-1, 2)
        self._joint_names = joints
        out: dict[tuple[str, str, float], list[int]] = {}
        for k, name in enumerate(joints):
            side = f"{name.split('_')[0]}_" if name.startswith(FEET) else ""
            place = _PLACES.get(name.removeprefix(side).split("_")[0])
            if place is None:
                continue
            a, b, share = place
            key = (f"{side}{a}", f"{side}{b}", share)
            if key[0] in self.points and key[1] in self.points:
                out.setdefault(key, []).append(k)
        return [(a, b, share, which) for (a, b, share), which in out.items()]

    # -- building ------------------------------------------------------------------------------------------------------

    def _build(self, points: Array) -> None:
        """Make every mesh, when the first frame is there."""
        parts = self._parts(points)
        self._build_body(parts)
        if self.opacity == 1.0:
            self._build_overlays()
        if self.opacity == 1.0:
            for name, shown in self.shown.items():
                self.show_layer(name, shown)

    def _parts(self, points: Array) -> list[Part]:
        header = {"point_names": self.points, "body": self.header["body"]}
        return body_parts(Recording(header, {"time": np.zeros(1), "points": points[None]}))

    def _build_body(self, parts: Sequence[Part]) -> None:
        lengths = [float(np.linalg.norm(part.end[0] - part.start[0])) for part in parts]
        for taper in TAPERS:
            mine = [k for k, part in enumerate(parts) if taper_of(part) == taper]
            if mine:
                scales = [(parts[k].radius[0] * parts[k].wide, parts[k].radius[0], lengths[k]) for k in mine]
                self._add_batch(f"shafts_{taper:g}", tapered_cylinder(taper), scales, [parts[k].side for k in mine], mine, False, True)
        for name, wide in (("round", False), ("oval", True)):
            mine = [k for k, part in enumerate(parts) if (part.wide != 1.0) == wide]
            if mine:
                scales = []
                for k in mine:
                    for radius in (parts[k].radius[0], parts[k].radius[0] * taper_of(parts[k])):
                        scales.append((radius * parts[k].wide, radius, radius))
                sides = [parts[k].side for k in mine for _ in range(2)]
                self._add_batch(f"ends_{name}", ball(), scales, sides, mine, True, wide)

    def _add_batch(
        self,
        name: str,
        mesh: tuple[Array, Any],
        scales: Sequence[tuple[float, float, float]],
        sides: Sequence[str],
        parts: list[int],
        ends: bool,
        turned: bool,
    ) -> None:
        handle = self._meshes("body", f"body/{name}", mesh, np.array(scales), [SIDE_COLOURS[side] for side in sides])
        self._batches.append(_Batch(handle, parts, ends, turned))

    def _meshes(self, layer: str, name: str, mesh: tuple[Array, Any], scales: Array, colours: Sequence[str], **more: Any) -> Any:
        """A batch of meshes, buried until it is placed."""
        if self.opacity < 1.0:
            more["opacity"] = self.opacity
        handle = self.scene.add_batched_meshes_simple(
            f"{self.root}/{name}",
            *mesh,
            batched_wxyzs=np.tile(np.array([1.0, 0, 0, 0], dtype=np.float32), (len(scales), 1)),
            batched_positions=np.tile(np.array([0, 0, BURIED], dtype=np.float32), (len(scales), 1)),
            batched_scales=scales.astype(np.float32),
            batched_colors=np.array([lit(colour) for colour in colours], dtype=np.uint8),
            lod="off",
            **more,
        )
        self.handles.setdefault(layer, []).append(handle)
        return handle

    def _lines(self, layer: str, name: str, count: int, colour: str, thickness: float = 2.0) -> Any:
        handle = self.scene.add_line_segments(
            f"{self.root}/{name}",
            np.full((count, 2, 3), BURIED, dtype=np.float32),
            np.array(lit(colour), dtype=np.uint8),
            thickness=thickness,
            thickness_units="screen",
        )
        self.handles.setdefault(layer, []).append(handle)
        return handle

    def _build_overlays(self) -> None:
        s = self.scale
        sphere = ball(8, 12)
        colours = [
            SIDE_COLOURS["left" if name.startswith("left") else "right" if name.startswith("right") else "middle"] for name in self.points
        ]
        sole = [name.endswith(("heel", "toe_base", "toe_tip")) for name in self.points]
        sizes = np.array([(0.016 if flat else 0.022) * s for flat in sole])
        self._markers = self._meshes("joints, heel, ball, toe", "markers", sphere, np.tile(sizes[:, None], 3), colours, cast_shadow=False)
        self._marker_colours = np.array([lit(colour) for colour in colours], dtype=np.uint8)
        self._foothold = self._lines("planned foothold", "foothold", 12, PLANNED_COLOUR, 3.0)
        self._path = self._lines("swing path", "path", 15, PLANNED_COLOUR)
        self._arrows = self.scene.add_arrows(
            f"{self.root}/forces",
            np.full((2, 2, 3), BURIED, dtype=np.float32) + np.array([[0, 0, 0], [0, 0, 0.1]], dtype=np.float32),
            np.array([lit(FORCE_COLOUR)] * 2, dtype=np.uint8),
            shaft_radius=0.011 * s,
            head_radius=0.028 * s,
            head_length=0.07 * s,
        )
        self.handles["ground forces"] = [self._arrows]
        disc = np.array([(0.026, 0.026, 0.006)] * 2) * s
        self._pressure = self._meshes("pressure", "pressure", sphere, disc, [FORCE_COLOUR] * 2, cast_shadow=False)
        self._support = self._lines("support polygon", "support", EDGES, SUPPORT_COLOUR, 3.0)
        com = np.array([(0.036,) * 3, (0.03, 0.03, 0.006)]) * s
        self._com = self._meshes("centre of mass", "com", sphere, com, [COM_COLOUR] * 2, cast_shadow=False)
        self._plumb = self._lines("centre of mass", "plumb", 1, COM_COLOUR, 1.5)
        self._xcom = self._meshes(
            "extrapolated CoM", "xcom", sphere, np.array([(0.036, 0.036, 0.007)]) * s, [XCOM_COLOUR], cast_shadow=False
        )
        self._margin_line = self._lines("margin of stability", "margin", 1, MARGIN_COLOUR, 4.0)
        places = len(self._joints)
        if places:
            sizes = np.full((places, 3), 0.055 * s)
            self._torques = self._meshes("joint torques", "torques", sphere, sizes, ["#ffffff"] * places, cast_shadow=False)
            sizes = np.full((places, 3), 0.07 * s)
            self._envelope = self._meshes("envelope violations", "envelope", sphere, sizes, [GUARD_COLOUR] * places, cast_shadow=False)
        layer = "touchdowns, planned and actual"
        flat = np.tile(np.array([[0.02, 0.02, 0.004]]) * s, (STEPS_KEPT, 1))
        self._planned = self._meshes(layer, "touchdowns/planned", sphere, 1.5 * flat, [PLANNED_COLOUR] * STEPS_KEPT, cast_shadow=False)
        self._actual = self._meshes(layer, "touchdowns/actual", sphere, flat, [ACTUAL_COLOUR] * STEPS_KEPT, cast_shadow=False)

    # -- showing -------------------------------------------------------------------------------------------------------

    def show_layer(self, name: str, shown: bool) -> None:
        """Switch an overlay of :data:`LAYERS`."""
        self.shown[name] = shown
        if name == SEE_THROUGH:
            for handle in self.handles.get("body", ()):
                handle.opacity = SEEN_THROUGH if shown else None
        for handle in self.handles.get(name, ()):
            handle.visible = shown

    def show(self, frame: Any, origin: Array | None = None) -> None:
        """Bring everything to one frame (a record of :func:`sandbox.viewer.frame.frame_dtype`).

        ``origin`` (3,) is the place in the world at which the figure's own frame is: what is drawn is drawn from there.
        """
        if origin is not None:
            self.origin = np.array(origin)
        points = np.asarray(frame["points"])
        if not is_there(points):
            return
        if not self._batches:
            self._build(points)
        self._show_body(points)
        if self.opacity < 1.0:
            return
        at = dict(zip(self.points, points, strict=True))
        self._show_markers(frame, points)
        self._show_plan(frame)
        self._show_forces(frame)
        self._show_balance(frame, at)
        if self._joints and is_there(frame["q"]):
            self._show_joints(frame, at)

    def reset(self) -> None:
        """Forget the steps of the walk before."""
        self._landings.clear()

    def remove(self) -> None:
        """Take everything off the scene."""
        for handles in self.handles.values():
            for handle in handles:
                handle.remove()
        self.handles.clear()
        self._batches.clear()

    def _at(self, places: Array) -> NDArray[np.float32]:
        """Places (..., 3) of the world as they are drawn."""
        return np.asarray(places - self.origin, dtype=np.float32)

    def _show_body(self, points: Array) -> None:
        parts = self._parts(points)
        starts, ends, sideways = (np.stack([getattr(part, name)[0] for part in parts]) for name in ("start", "end", "lateral"))
        turns = attitudes(Part("all", "middle", starts, ends, (1.0, 1.0), 1.0, sideways))[:, [3, 0, 1, 2]].astype(np.float32)
        both = np.stack((starts, ends), axis=1)
        for batch in self._batches:
            positions = both[batch.parts].reshape(-1, 3) if batch.ends else starts[batch.parts]
            batch.handle.batched_positions = self._at(positions)
            if batch.turned:
                batch.handle.batched_wxyzs = np.repeat(turns[batch.parts], 2, axis=0) if batch.ends else turns[batch.parts]

    def _show_markers(self, frame: Any, points: Array) -> None:
        self._markers.batched_positions = self._at(points)
        colours = self._marker_colours.copy()
        for foot, side in enumerate(FEET):
            touching = [name for name, states in TOUCHING.items() if int(frame["contact"][foot]) in states]
            for name in touching:
                if f"{side}_{name}" in self.points:
                    colours[self.points.index(f"{side}_{name}")] = lit(FORCE_COLOUR)
        self._markers.batched_colors = colours

    def _show_plan(self, frame: Any) -> None:
        there = is_there(frame["foothold"])
        self._foothold.points = self._at(self._print(frame) if there else np.full((12, 2, 3), BURIED))
        path = np.asarray(frame["path"])
        lines = np.stack((path[:-1], path[1:]), axis=1) if is_there(path) else np.full((15, 2, 3), BURIED)
        self._path.points = self._at(lines)
        number = int(frame["landed"])
        if number and is_there(frame["planned"]) and is_there(frame["actual"]):
            if any(known > number for known, _, _ in self._landings):
                self._landings.clear()
            if not any(known == number for known, _, _ in self._landings):
                self._landings.append((number, np.array(frame["planned"]), np.array(frame["actual"])))
        else:
            self._landings.clear()
        del self._landings[:-STEPS_KEPT]
        for handle, which in ((self._planned, 1), (self._actual, 2)):
            places = np.tile(np.array([0, 0, BURIED]), (STEPS_KEPT, 1))
            for k, landing in enumerate(self._landings):
                places[k] = landing[which] + np.array([0, 0, LIFT * (1 + which)])
            handle.batched_positions = self._at(places)

    def _print(self, frame: Any) -> Array:
        """Outline of a foot at the planned foothold, which is where its ankle is to be."""
        yaw = float(frame["foothold_yaw"]) if is_there(frame["foothold_yaw"]) else float(frame["heading"])
        along, right = np.array([-math.sin(yaw), math.cos(yaw), 0.0]), np.array([math.cos(yaw), math.sin(yaw), 0.0])
        shape = [(-0.055, 0.5), (-0.03, 0.8), (0.06, 0.8), (0.13, 1.0), (0.17, 0.9), (0.19, 0.3)]
        outline = [(a, w) for a, w in shape] + [(a, -w) for a, w in reversed(shape)]
        half = 0.04
        corners = np.array([self.scale * (a * along + w * half * right) for a, w in outline]) + np.asarray(frame["foothold"]) + [0, 0, LIFT]
        return np.stack((corners, np.roll(corners, -1, axis=0)), axis=1)

    def _show_forces(self, frame: Any) -> None:
        arrows = np.full((2, 2, 3), BURIED)
        arrows[:, 1, 2] += 0.1
        places = np.tile(np.array([0, 0, BURIED]), (2, 1))
        for foot in range(2):
            force, at = np.asarray(frame["ground_force"][foot]), np.asarray(frame["pressure"][foot])
            if is_there(force) and is_there(at) and force[2] > SHOWN_FORCE * self.weight:
                arrows[foot] = at, at + FORCE_LENGTH * self.scale / self.weight * force
                places[foot] = at + np.array([0, 0, LIFT])
        self._arrows.points = self._at(arrows)
        self._pressure.batched_positions = self._at(places)

    def _show_balance(self, frame: Any, at: Mapping[str, Array]) -> None:
        """Support polygon, centre of mass, XCoM and its margin."""
        corners = contact_corners(at, np.asarray(frame["contact"]), half_width_of(self.header, at))
        polygon = support_polygon(corners) if len(corners) else np.empty((0, 2))
        edges = np.full((EDGES, 2, 3), BURIED)
        if len(polygon) > 1:
            level = self.ground.height(polygon) + self._box_height(polygon) + LIFT
            ring = np.column_stack((polygon, level))
            edges[: len(ring)] = np.stack((ring, np.roll(ring, -1, axis=0)), axis=1)[:EDGES]
        self._support.points = self._at(edges)
        com = np.asarray(frame["com"])
        if is_there(com):
            below = np.array([com[0], com[1], float(self.ground.height(com)) + LIFT])
            self._com.batched_positions = self._at(np.stack((com, below)))
            self._plumb.points = self._at(np.stack((com, below))[None])
        xcom = np.asarray(frame["xcom"])
        self.margin = None
        line = np.full((1, 2, 3), BURIED)
        if is_there(xcom):
            self._xcom.batched_positions = self._at((xcom + np.array([0, 0, 2 * LIFT]))[None])
            self.margin = support_margin(xcom[:2], polygon)
            if self.margin is not None:
                near = _nearest_edge_point(xcom[:2], polygon)
                line[0] = [*xcom[:2], xcom[2] + 3 * LIFT], [*near, xcom[2] + 3 * LIFT]
        self._margin_line.points = self._at(line)
        if self.margin is not None:
            self._margin_line.colors = np.array(lit(OUTSIDE_COLOUR if self.margin < 0 else MARGIN_COLOUR), dtype=np.uint8)

    def _box_height(self, places: Array) -> Array:
        out = np.zeros(len(places))
        for x, y, hx, hy, height in self.ground.boxes.tolist():
            inside = (np.abs(places[:, 0] - x) <= hx) & (np.abs(places[:, 1] - y) <= hy)
            out = np.where(inside, np.maximum(out, height), out)
        return out

    def _show_joints(self, frame: Any, at: Mapping[str, Array]) -> None:
        """Torque as colour from pale yellow to red, at the share of the limit; envelopes as a halo."""
        places = np.stack([at[a] + share * (at[b] - at[a]) for a, b, share, _ in self._joints])
        if is_there(frame["tau"]):
            used = np.abs(np.asarray(frame["tau"])) / self._limits
            shares = np.array([used[which].max() for *_, which in self._joints])
            loaded = (shares > SHOWN_TORQUE)[:, None]
            self._torques.batched_positions = self._at(np.where(loaded, places, [0, 0, BURIED]))
            self._torques.batched_colors = np.array([_heat(share) for share in shares], dtype=np.uint8)
        q = np.asarray(frame["q"])
        slack = 1e-6
        outer = (q < self._outer[:, 0] - slack) | (q > self._outer[:, 1] + slack)
        uneasy = (q < self._comfortable[:, 0] - slack) | (q > self._comfortable[:, 1] + slack)
        self.violations = [
            f"{name} {math.degrees(angle):.0f}°{' (outer limit)' if beyond else ''}"
            for name, angle, beyond, any_ in zip(self._joint_names, q, outer, uneasy, strict=True)
            if any_
        ]
        if self.shown["envelope violations"]:
            marks = np.array([uneasy[which].any() for *_, which in self._joints])
            worst = np.array([outer[which].any() for *_, which in self._joints])
            self._envelope.batched_positions = self._at(np.where(marks[:, None], places, [0, 0, BURIED]))
            self._envelope.batched_colors = np.array([lit(GUARD_COLOUR if w else COMFORT_COLOUR) for w in worst], dtype=np.uint8)


def _heat(share: float) -> tuple[int, int, int]:
    """Pale yellow, orange, red from no torque to the limit."""
    share = min(1.0, max(0.0, share))
    return 255, round(240 * (1 - share)), round(140 * max(0.0, 1 - 2 * share))


def _nearest_edge_point(point: Array, polygon: Array) -> Array:
    """The point (2,) of a polygon's boundary that is nearest to a point (2,)."""
    best, found = math.inf, np.asarray(point)
    for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        d = b - a
        along = min(1.0, max(0.0, float((point - a) @ d) / max(float(d @ d), 1e-12)))
        near = a + along * d
        distance = float(np.hypot(*(point - near)))
        if distance < best:
            best, found = distance, near
    return found


@dataclass
class Cameraman:
    """What everybody looks at. The camera is the viewer's own, to be turned and moved: the world goes past it instead.

    The ground moves by the pose of its frame, which a browser takes over at once. The bodies are drawn where everybody looks, from
    :attr:`origin`, and not as far from there as the ground has gone: a browser that is slow with meshes would lose them from sight.

    Args:
        server: viser's.
        root: frame that holds the ground.
        bodies: frame that holds the bodies.
        scale: of the body.

    Attributes:
        origin: place in the world (3,) that everybody looks at.
    """

    server: Any
    root: str
    bodies: str
    scale: float
    follows: bool = True
    origin: Array = field(default_factory=lambda: np.zeros(3))
    _beside: list[tuple[Any, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._world = self.server.scene.add_frame(self.root, show_axes=False)
        self._turned = self.server.scene.add_frame(self.bodies, show_axes=False)
        self._looks = "side"
        self._set(self.server.initial_camera)

    def clear(self) -> None:
        """Forget the bodies."""
        self._beside.clear()

    def add_body(self, root: str, beside: float) -> None:
        """Make the frame of a body, which is drawn so far [m] on the right of the first one, whichever way they face."""
        self._beside.append((self.server.scene.add_frame(root, show_axes=False, position=(beside, 0.0, 0.0)), beside))
        self._set(self.server.initial_camera)

    def follow(self, place: Array, heading: float) -> None:
        """The first body is at ``place`` (3,) on the ground and faces ``heading`` [rad]; call before the bodies are drawn."""
        c, s = math.cos(heading), math.sin(heading)
        for frame, beside in self._beside[1:]:
            if beside:
                frame.position = (c * beside, s * beside, 0.0)
        if not self.follows:
            return
        middle = sum(beside for _, beside in self._beside) / max(1, len(self._beside))
        x, y = place[0] + c * middle, place[1] + s * middle
        self.origin = np.array([x, y, place[2]])
        self._world.wxyz = self._turned.wxyz = (math.cos(heading / 2), 0.0, 0.0, -math.sin(heading / 2))
        self._world.position = (-c * x - s * y, s * x - c * y, -place[2])

    def look_from(self, where: str) -> None:
        """Every browser looks from ``side``, ``front``, ``behind``, or is left ``free`` while the world stands still."""
        self.follows = where != "free"
        if where not in _STANDS:
            return
        self._looks = where
        for client in self.server.get_clients().values():
            self._set(client.camera)
        self._set(self.server.initial_camera)

    def _set(self, camera: Any) -> None:
        s = self.scale * (1.0 + 0.35 * any(beside for _, beside in self._beside))
        camera.fov = math.radians(32)
        camera.position = tuple(s * x for x in _STANDS[self._looks])
        camera.look_at = (0.0, 0.0, 0.85 * self.scale)


# Where the camera stands from a body of 1.74 m: to its right, ahead, up [m].
_STANDS = {"side": (5.2, 1.2, 1.2), "front": (0.7, 5.4, 1.3), "behind": (0.7, -5.4, 1.6)}
