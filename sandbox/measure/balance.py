"""Margins of stability: how far the extrapolated centre of mass is from the edge of the support (Hof 2005, 2008)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.cycle import Cycle
from sandbox.measure.signals import Facing, along
from sandbox.recording import Recording
from sandbox.state import FEET

Array = NDArray[np.float64]


def lateral_margins(recording: Recording, strides: list[Cycle], directions: Facing) -> Array:
    """Least distance (C,) [m] from the XCoM to the lateral edge of the stance foot, over each single support.

    Positive when the XCoM is inside. The edge is the centre line from heel to toe base, plus half the width of the foot
    where the header gives it (``body.foot_half_width_m``). The measure is taken from the lift-off of the other foot to its
    touchdown, as Hof's mediolateral margin.
    """
    half = float(recording.header["body"].get("foot_half_width_m") or 0.0)
    margins = []
    for foot, (side, outward) in enumerate(zip(FEET, (-1.0, 1.0), strict=True)):
        middle = (recording.point(f"{side}_heel") + recording.point(f"{side}_toe_base")) / 2
        margin = outward * along(middle - recording.xcom, directions.right) + half
        for stride in strides:
            if stride.foot == foot:
                a, b = np.searchsorted(recording.time, (stride.other_liftoff, stride.other_touchdown))
                if b > a:
                    margins.append(float(margin[a:b].min()))
    return np.array(margins)


def fore_aft_margins(recording: Recording, strides: list[Cycle], directions: Facing) -> Array:
    """Distance (C,) [m] at each touchdown from the XCoM forward to the heel that meets the ground.

    Negative when the XCoM is already ahead of that heel, as in steady walking: the next step is then needed.
    """
    margins = []
    for stride in strides:
        row = min(int(np.searchsorted(recording.time, stride.start)), len(recording) - 1)
        heel = recording.point(f"{FEET[stride.foot]}_heel")[row]
        margins.append(float((heel - recording.xcom[row]) @ directions.forward[row]))
    return np.array(margins)
