"""What is drawn around the body: the ground that a recording names, footprints, and where the camera should look."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sandbox.measure import gait_events
from sandbox.measure.signals import facing, lowpass
from sandbox.measure.steps import placements
from sandbox.recording import Recording
from sandbox.state import FEET

Array = NDArray[np.float64]

FOLLOW_CUTOFF = 0.3  # [Hz]: the camera follows the walk, not the step
PRINT_WIDTH = 0.085  # [m], of a footprint at the ball, for a body of 1.74 m


# Without these no body can be drawn.
NEEDED_POINTS = (
    "mid_hip",
    "left_hip",
    "right_hip",
    "left_knee",
    "right_knee",
    "left_ankle",
    "right_ankle",
    "left_toe_base",
    "right_toe_base",
)


def check_drawable(recording: Recording, name: str) -> None:
    """Raise ValueError where a recording has not the points that the drawing needs."""
    if not len(recording) or not recording.has("points"):
        raise ValueError(f"{name} has no rows with body points: record at least one")
    missing = [point for point in NEEDED_POINTS if point not in recording.header.get("point_names", ())]
    if missing:
        raise ValueError(f"{name} lacks the body points {', '.join(missing)}, without which no body can be drawn")


@dataclass(frozen=True)
class Ground:
    """A plane through the origin, uphill along +Y by ``rise`` (metres a metre), with ``boxes`` (B, 5) on it: centre x and
    y, half sizes along x and y, height of the top [m].
    """

    rise: float
    boxes: Array

    def height(self, points: Array) -> Array:
        """Height (...,) [m] of the plane under points (..., 2 or 3)."""
        return np.asarray(self.rise * points[..., 1])


def ground_of(recording: Recording) -> Ground:
    """The ground that the header's settings name; flat where they name none."""
    settings = recording.header.get("settings") or {}
    boxes = np.asarray(settings.get("boxes") or [], dtype=np.float64).reshape(-1, 5)
    return Ground(math.tan(float(settings.get("slope_rad") or 0.0)), boxes)


def follow_path(recording: Recording) -> Array:
    """Path (T, 2) [m] that a camera follows: mid-hip without sway and surge."""
    path = recording.point("mid_hip")[:, :2]
    rate = 1 / recording.interval
    return lowpass(path, FOLLOW_CUTOFF, rate) if len(path) > 2 * rate / FOLLOW_CUTOFF else path


def initial_heading(recording: Recording) -> float:
    """Direction [rad] that the body faces at first, positive to the left."""
    forward = facing(recording).forward[0]
    return math.atan2(-float(forward[0]), float(forward[1]))


@dataclass(frozen=True)
class Footprint:
    """Outline (n, 3) [m] of a foot that stood flat, from ``time`` [s] on."""

    foot: int
    time: float
    outline: Array


def footprints(recording: Recording) -> list[Footprint]:
    """One for each complete stance, where the foot was in the middle of it."""
    names = recording.header["point_names"]
    if "left_heel" not in names or "left_toe_tip" not in names:
        return []
    scale = float(recording.header["body"]["height_m"]) / 1.74
    half = PRINT_WIDTH / 2 * scale
    # Along the foot (0 heel, 1 toe tip) and across it, in half widths.
    shape = np.array(
        [
            (0.0, 0.25), (0.03, 0.6), (0.12, 0.75), (0.35, 0.68), (0.55, 0.85), (0.7, 1.0), (0.85, 0.95), (0.96, 0.6), (1.0, 0.15),
            (0.98, -0.3), (0.88, -0.75), (0.7, -0.95), (0.45, -0.6), (0.3, -0.55), (0.12, -0.72), (0.03, -0.55), (0.0, -0.2),
        ]
    )  # fmt: skip
    out = []
    for place in placements(recording, gait_events(recording)):
        row = min(int(np.searchsorted(recording.time, place.start + 0.35 * (place.end - place.start))), len(recording) - 1)
        heel, tip = (recording.point(f"{FEET[place.foot]}_{name}")[row] for name in ("heel", "toe_tip"))
        along = tip - heel
        across = np.array([along[1], -along[0], 0.0]) / max(float(np.hypot(along[0], along[1])), 1e-9)
        sign = 1.0 if place.foot == 1 else -1.0
        outline = heel + shape[:, :1] * along + shape[:, 1:] * sign * half * across
        out.append(Footprint(place.foot, place.start, outline))
    return out
