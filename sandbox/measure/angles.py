"""Sagittal angles of legs and feet, from body points (so that any skeleton can be measured) or from the joints.

Flexion, dorsiflexion and toes-up are positive. The sagittal plane is the vertical one in which the pelvis faces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.signals import Facing, along, facing
from sandbox.recording import Recording
from sandbox.state import FEET

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LegAngles:
    """Angles (T, 2) [rad] of the left and the right leg.

    Attributes:
        hip: thigh against vertical, positive with the knee ahead of the hip.
        knee: thigh minus shank.
        ankle: foot minus shank, 0 when the shank stands upright on a flat foot.
        foot: pitch of the sole from heel to toe base, 0 when flat, positive toes up.
    """

    hip: Array
    knee: Array
    ankle: Array
    foot: Array


def leg_angles(recording: Recording) -> LegAngles:
    """Angles from the points hip, knee, ankle, heel, toe base.

    A skeleton without heels (most motion capture) is measured from ankle to toe base; the pitch at which that line lies
    when the foot is flat is taken off, as the median over the lowest tenth of the toe base's path.
    """
    directions = facing(recording)
    left, right = (_leg(recording, side, directions) for side in FEET)
    hip, knee, ankle, foot = (np.stack(pair, axis=1) for pair in zip(left, right, strict=True))
    return LegAngles(hip, knee, ankle, foot)


def _leg(recording: Recording, side: str, directions: Facing) -> tuple[Array, Array, Array, Array]:
    hip, knee, ankle, toe = (recording.point(f"{side}_{name}") for name in ("hip", "knee", "ankle", "toe_base"))
    thigh = _from_down(knee - hip, directions)
    shank = _from_down(ankle - knee, directions)
    if f"{side}_heel" in recording.header["point_names"]:
        foot = _elevation(toe - recording.point(f"{side}_heel"), directions)
    else:
        foot = _elevation(toe - ankle, directions)
        low = toe[:, 2] <= np.quantile(toe[:, 2], 0.1)
        foot = foot - np.median(foot[low])
    return thigh, thigh - shank, foot - shank, foot


def _from_down(vector: Array, directions: Facing) -> Array:
    """Angle (T,) [rad] of a hanging segment from straight down, forward positive."""
    return np.arctan2(along(vector, directions.forward), -vector[:, 2])


def _elevation(vector: Array, directions: Facing) -> Array:
    """Angle (T,) [rad] of a segment that points forward from the horizontal, up positive."""
    return np.arctan2(vector[:, 2], along(vector, directions.forward))


def trunk_lean(recording: Recording) -> Array:
    """Forward lean (T,) [rad] of the line from mid-hip to the base of the neck."""
    line = recording.point("neck_base") - recording.point("mid_hip")
    return np.arctan2(along(line, facing(recording).forward), line[:, 2])


def joint_angles(recording: Recording) -> LegAngles:
    """The same from the joints' own angles: the hip is then thigh against pelvis, and the foot's pitch is not known (NaN)."""
    hip, knee, ankle = (
        np.stack([recording.joint(f"{side}_{name}") for side in FEET], axis=1)
        for name in ("hip_flexion", "knee_flexion", "ankle_dorsiflexion")
    )
    return LegAngles(hip, knee, ankle, np.full_like(hip, np.nan))
