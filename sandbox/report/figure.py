"""The drawn body: tapered round segments between a recording's named points. Every picture, page and video draws this one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sandbox.recording import Recording

Array = NDArray[np.float64]

# Colours of the left side, the right side and the middle of the body, and of what is drawn with them.
LEFT_COLOUR: Final = "#2f6fb5"
RIGHT_COLOUR: Final = "#d8602c"
MIDDLE_COLOUR: Final = "#8d99a8"
SIDE_COLOURS: Final = {"left": LEFT_COLOUR, "right": RIGHT_COLOUR, "middle": MIDDLE_COLOUR}
COM_COLOUR: Final = "#1d1d1d"
XCOM_COLOUR: Final = "#7b3fa0"
FORCE_COLOUR: Final = "#1b9e57"

# Order in which limbs are painted in the side view, seen from the right.
PAINT: Final = {"left": 0, "middle": 1, "right": 2}

STATURE = 1.74  # [m]: the height at which the thicknesses below hold; they scale with it
HAND = 0.10  # [m], wrist to finger joints
WAIST, CHEST_TOP = 0.42, 0.86  # of the line from mid-hip to the base of the neck


@dataclass(frozen=True)
class Part:
    """One drawn segment over T rows.

    Attributes:
        name: for instance ``left_thigh``.
        side: ``left``, ``right`` or ``middle``.
        start, end: (T, 3) [m], centres of the two round ends.
        radius: at start and end [m], in the sagittal plane.
        wide: lateral thickness over sagittal thickness.
        lateral: (T, 3) unit vectors along which ``wide`` counts.
    """

    name: str
    side: str
    start: Array
    end: Array
    radius: tuple[float, float]
    wide: float
    lateral: Array


def body_parts(recording: Recording, rows: NDArray[Any] | slice = slice(None)) -> list[Part]:
    """The body at some rows, far parts not sorted. Parts whose points a recording lacks are left out."""
    names = recording.header["point_names"]
    points = {name: np.asarray(recording.points[rows, i], dtype=np.float64) for i, name in enumerate(names)}
    scale = float(recording.header["body"]["height_m"]) / STATURE
    parts: list[Part] = []
    hips = _unit(points["right_hip"] - points["left_hip"])

    def add(name: str, side: str, start: Array, end: Array, radius: tuple[float, float], wide: float = 1.0, lateral: Array = hips) -> None:
        parts.append(Part(name, side, start, end, (radius[0] * scale, radius[1] * scale), wide, lateral))

    if "neck_base" in points:
        low, neck = points["mid_hip"], points["neck_base"]
        shoulders = _unit(points["right_shoulder"] - points["left_shoulder"]) if "left_shoulder" in points else hips
        add("pelvis", "middle", low, low + 0.3 * (neck - low), (0.098, 0.088), 1.55)
        add("abdomen", "middle", low + 0.2 * (neck - low), low + (WAIST + 0.1) * (neck - low), (0.086, 0.086), 1.4, _unit(hips + shoulders))
        add("thorax", "middle", low + (WAIST + 0.1) * (neck - low), low + CHEST_TOP * (neck - low), (0.1, 0.078), 1.55, shoulders)
        if "left_shoulder" in points:
            add("shoulders", "middle", points["left_shoulder"], points["right_shoulder"], (0.05, 0.05))
        if "head" in points:
            up = points["head"] - neck
            add("neck", "middle", neck, neck + 0.5 * up, (0.052, 0.052))
            add("head", "middle", neck + 0.88 * up, neck + 1.32 * up, (0.082, 0.085), 0.92, shoulders)
    for side in ("left", "right"):
        at = {name.removeprefix(f"{side}_"): path for name, path in points.items() if name.startswith(f"{side}_")}
        add(f"{side}_thigh", side, at["hip"], at["knee"], (0.078, 0.052))
        add(f"{side}_shank", side, at["knee"], at["ankle"], (0.052, 0.034))
        _add_foot(add, side, at)
        if {"shoulder", "elbow", "wrist"} <= at.keys():
            add(f"{side}_upper_arm", side, at["shoulder"], at["elbow"], (0.046, 0.037))
            add(f"{side}_forearm", side, at["elbow"], at["wrist"], (0.037, 0.026))
            add(f"{side}_hand", side, at["wrist"], at["wrist"] + HAND * scale * _unit(at["wrist"] - at["elbow"]), (0.032, 0.024), 0.7)
    return parts


def _add_foot(add: Any, side: str, at: dict[str, Array]) -> None:
    """Hindfoot, instep and toes; the points of the sole are half a thickness below the drawn centre lines."""
    if "heel" not in at:
        add(f"{side}_foot", side, at["ankle"], at["toe_base"], (0.034, 0.022))
        return
    along = _unit(at["toe_base"] - at["heel"])
    rise = at["ankle"] - at["heel"]
    up = _unit(rise - np.sum(rise * along, axis=1, keepdims=True) * along)
    lateral = np.cross(along, up)
    heel = at["heel"] + 0.03 * up + 0.028 * along
    ball = at["toe_base"] + 0.02 * up
    add(f"{side}_hindfoot", side, heel, ball, (0.03, 0.02), 1.5, lateral)
    add(f"{side}_instep", side, at["ankle"], at["toe_base"] + 0.024 * up - 0.02 * along, (0.036, 0.022), 1.15, lateral)
    if "toe_tip" in at:
        ahead = _unit(at["toe_tip"] - at["toe_base"])
        toe_up = np.cross(lateral, ahead)
        add(f"{side}_toes", side, ball, at["toe_tip"] + 0.014 * toe_up - 0.012 * ahead, (0.02, 0.013), 1.9, lateral)


def painted_order(parts: list[Part], i: int, depth: Array, view: str) -> list[Part]:
    """Far parts first."""
    arms = ("upper_arm", "forearm", "hand")

    def key(part: Part) -> tuple[float, float]:
        if view == "side":
            outer = 0.5 if part.name.endswith(arms) else 0.0
            return (PAINT[part.side] + (outer if part.side == "right" else -outer), 0.0)
        return (float((part.start[i] + part.end[i]) @ depth), 0.0)

    return sorted(parts, key=key)


def shade(part: Part, view: str) -> tuple[float, float, float]:
    """Colour of a part; what is far away is paler."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(SIDE_COLOURS[part.side])
    far = 0.0
    if view == "side" and part.side == "left":
        far = 0.35
    if part.side == "middle":
        far = 0.18
    return tuple(channel + (1 - channel) * far for channel in (red, green, blue))  # type: ignore[return-value]


def outline(start: Array, end: Array, radius: tuple[float, float], samples: int = 8) -> Array:
    """Outline (2 * samples, 2) of a tapered capsule in a plane, from its two end circles (2,)."""
    line = end - start
    distance = float(np.hypot(line[0], line[1]))
    if distance <= abs(radius[0] - radius[1]):  # one circle holds the other
        centre, r = (start, radius[0]) if radius[0] >= radius[1] else (end, radius[1])
        turn = np.linspace(0, 2 * np.pi, 2 * samples, endpoint=False)
        return np.asarray(centre + r * np.stack((np.cos(turn), np.sin(turn)), axis=1))
    direction = np.arctan2(line[1], line[0])
    tangent = np.arccos((radius[0] - radius[1]) / distance)
    front = direction + np.linspace(-tangent, tangent, samples)
    back = direction + np.linspace(tangent, 2 * np.pi - tangent, samples)
    return np.concatenate(
        (
            end + radius[1] * np.stack((np.cos(front), np.sin(front)), axis=1),
            start + radius[0] * np.stack((np.cos(back), np.sin(back)), axis=1),
        )
    )


def rgb(colour: str) -> tuple[int, int, int]:
    """Of ``#rrggbb``."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))
