"""The study's frozen subject (LO-001): one neutral body that no experiment moves, its landmarks and its joint envelopes.

It stands beside the default body of :class:`~sandbox.bodies.Anatomy`. Stature and the spread of the arms follow from the two
figures that the study gives of it, a centre of mass at 1.02 m and wrists 1.52 shoulder widths from the midline: with de
Leva's (1996) mean lengths they make 1.781 m and arms held 45 degrees out.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.inertia import Array

REFERENCE: Final = Anatomy(mass=70.0, height=1.781)
WRIST_SHARE: Final = 1.52  # wrists from the midline, in shoulder widths
NEUTRAL_DROP: Final = 0.005  # [m] mid-hip below straight legs when standing: no knee is locked, which would leave its bend undecided
SPINE, CHEST = 0.35, 0.72  # landmarks, of the line from mid-hip to the middle of the shoulders (assumed)


class Region(IntEnum):
    """Where an angle lies."""

    COMFORTABLE = 0
    OUTER = 1  # beyond comfortable, within the guardrail
    OUTSIDE = 2


@dataclass(frozen=True)
class Envelope:
    """Range of one axis [rad]: ``comfortable`` inside ``outer``, the guardrail; ``source`` of the guardrail, or "provisional"."""

    comfortable: tuple[float, float]
    outer: tuple[float, float]
    source: str

    def region(self, angle: float) -> Region:
        """Where ``angle`` [rad] lies. An angle within rounding (1e-9 rad) of the guardrail is inside."""
        if self.comfortable[0] <= angle <= self.comfortable[1]:
            return Region.COMFORTABLE
        return Region.OUTER if self.excess(angle) <= 1e-9 else Region.OUTSIDE

    def excess(self, angle: float) -> float:
        """How far ``angle`` [rad] lies beyond the guardrail; negative inside."""
        return max(self.outer[0] - angle, angle - self.outer[1])


@cache
def envelopes() -> dict[str, Envelope]:
    """The frozen envelopes, by axis without side."""
    table = tomllib.loads(files("sandbox.bodies").joinpath("data", "reference.toml").read_text(encoding="utf-8"))

    def pair(degrees: list[float]) -> tuple[float, float]:
        return math.radians(degrees[0]), math.radians(degrees[1])

    return {axis: Envelope(pair(row["comfortable"]), pair(row["outer"]), row["source"]) for axis, row in table.items()}


def arm_abduction(anatomy: Anatomy) -> float:
    """Angle [rad] by which straight arms are held out so that the wrists are :data:`WRIST_SHARE` shoulder widths from the midline."""
    shoulder = float(anatomy.points["right_shoulder"][1][0])
    return math.asin((2 * WRIST_SHARE - 1) * shoulder / (anatomy.length("upper_arm") + anatomy.length("forearm")))


def neutral_angles(anatomy: Anatomy = REFERENCE) -> Array:
    """Joint angles (n,) [rad] of the neutral pose: upright, legs straight, straight arms held out."""
    q = np.zeros(len(anatomy.joints))
    for side in SIDES:
        q[anatomy.joint_index[f"{side}_shoulder_adduction"]] = -arm_abduction(anatomy)
    return q


def landmarks(anatomy: Anatomy = REFERENCE) -> dict[str, tuple[str, Array]]:
    """Every joint centre and marker of the study: link and position (3,) [m] in the link's frame.

    The points of the anatomy, and spine, chest, vertex, the middle of the shoulders and hand tips.
    """
    trunk = anatomy.length("trunk")
    lower = anatomy.length("lower_trunk")
    hand = anatomy.length("forearm") + anatomy.length("hand")
    up = np.array([0.0, 0.0, 1.0])
    return (
        anatomy.points
        | {
            "spine": ("abdomen", (SPINE * trunk - lower) * up),
            "chest": ("abdomen", (CHEST * trunk - lower) * up),
            "vertex": ("head", anatomy.length("head") * up),
            "mid_shoulder": ("thorax", anatomy.points["right_shoulder"][1] * up),
        }
        | {f"{side}_hand_tip": (f"{side}_forearm", -hand * up) for side in SIDES}
    )
