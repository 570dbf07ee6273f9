"""The study's mass model (LO-002): fourteen segments on lines between landmarks, the mean of de Leva's two tables.

C_segment = P + r (D - P), with P the proximal and D the distal end-point; the whole body's centre of mass is the mean of the
segments' by mass. The trunk is one segment here; the physical body has three trunk parts and a foot whose mass lies above its
sole, so that its centre of mass is a few millimetres away.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from sandbox.bodies.anatomy import SIDES, deleva_row, deleva_table
from sandbox.bodies.inertia import Array
from sandbox.mechanics import center_of_mass

# Names of the paired segments and of the landmarks between which they lie.
PAIRED = {
    "upper_arm": ("shoulder", "elbow"),
    "forearm": ("elbow", "wrist"),
    "hand": ("wrist", "hand_tip"),
    "thigh": ("hip", "knee"),
    "shank": ("knee", "ankle"),
    "foot": ("heel", "toe_tip"),
}


class Segment(NamedTuple):
    """One segment.

    Attributes:
        name: with side.
        proximal, distal: landmarks (:func:`sandbox.bodies.reference.landmarks`).
        share: of body mass; all shares add up to 1.
        com: where its centre of mass lies, of the way from the proximal to the distal end-point.
    """

    name: str
    proximal: str
    distal: str
    share: float
    com: float


@cache
def segments() -> tuple[Segment, ...]:
    """Head, trunk, and upper arm, forearm, hand, thigh, shank, foot of the left side, then of the right."""

    def segment(name: str, row: str, proximal: str, distal: str) -> Segment:
        _, share, com, _ = deleva_row(row, "mean")
        return Segment(name, proximal, distal, share, com)

    return (
        segment("head", "head", "vertex", "neck_base"),
        segment("trunk", "trunk", "mid_shoulder", "mid_hip"),
        *(segment(f"{s}_{row}", row, f"{s}_{ends[0]}", f"{s}_{ends[1]}") for s in SIDES for row, ends in PAIRED.items()),
    )


def published_share_sum() -> float:
    """Sum of the published mean mass shares, before they are divided by it: rounding left it at 0.99995."""
    table = deleva_table()
    return sum((1 + (name in PAIRED)) * float(np.mean([table[name][s]["mass"] for s in ("female", "male")])) / 100
               for name in ("head", "trunk", *PAIRED))  # fmt: skip


def segment_coms(points: Mapping[str, Array]) -> Array:
    """Centres of mass (..., 14, 3) [m] of the segments, from landmarks (..., 3) [m] by name."""
    return np.stack([points[s.proximal] + s.com * (points[s.distal] - points[s.proximal]) for s in segments()], axis=-2)


def whole_body_com(points: Mapping[str, Array]) -> Array:
    """Centre of mass (..., 3) [m] of the whole body, from landmarks (..., 3) [m] by name."""
    return center_of_mass(np.array([s.share for s in segments()]), segment_coms(points))
