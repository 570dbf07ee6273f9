"""What of the soles is on the ground, and the support polygon that it spans: from points and contact states alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import FOOT_HALF_WIDTH, HEEL_HALF_WIDTH, TOE_BASE
from sandbox.state import FEET, ContactState

Array = NDArray[np.float64]

# Contact states in which each part of the sole is on the ground; the toes of a flat foot are.
TOUCHING: Final[dict[str, tuple[ContactState, ...]]] = {
    "heel": (ContactState.HEEL, ContactState.FLAT),
    "toe_base": (ContactState.FLAT, ContactState.FOREFOOT),
    "toe_tip": (ContactState.FLAT, ContactState.FOREFOOT, ContactState.TOE),
}
TOE_WIDTH = 0.75  # of the ball's, as of the sole's spheres in sandbox.bodies.anatomy


def foot_axes(points: Mapping[str, Array], side: str) -> tuple[Array, Array]:
    """Unit vectors (3,) of a foot: along it from heel to toe base, and level to its right."""
    along = points[f"{side}_toe_base"] - points[f"{side}_heel"]
    along = along / max(float(np.linalg.norm(along)), 1e-9)
    right = np.array([along[1], -along[0], 0.0])
    return along, right / max(float(np.linalg.norm(right)), 1e-9)


def contact_corners(points: Mapping[str, Array], contact: NDArray[Any], foot_half_width: float) -> Array:
    """Corners (k, 3) [m] of what touches the ground: heel, ball and toe of each foot, by its contact state.

    The toes of a flat foot lie on the ground.

    ``foot_half_width`` is that of the ball [m]; heel and toes are narrower, as in :mod:`sandbox.bodies.anatomy`.
    """
    corners = []
    for foot, side in enumerate(FEET):
        if f"{side}_heel" not in points or f"{side}_toe_tip" not in points:
            continue
        _, right = foot_axes(points, side)
        heel, ball, toe = (points[f"{side}_{name}"] for name in ("heel", "toe_base", "toe_tip"))
        narrow = foot_half_width * HEEL_HALF_WIDTH / FOOT_HALF_WIDTH
        sole = {"heel": (heel, narrow), "toe_base": (ball, foot_half_width), "toe_tip": (toe, TOE_WIDTH * foot_half_width)}
        parts = [sole[name] for name, states in TOUCHING.items() if int(contact[foot]) in states]
        corners += [place + sign * half * right for place, half in parts for sign in (-1.0, 1.0)]
    return np.array(corners).reshape(-1, 3)


def foot_length(points: Mapping[str, Array]) -> float:
    """From heel to toe tip, of a straight foot [m]."""
    return float(np.linalg.norm(points["left_toe_base"] - points["left_heel"])) / TOE_BASE


def half_width_of(header: Mapping[str, Any], points: Mapping[str, Array]) -> float:
    """Half width of the ball of the foot [m]: the header's, else a usual share of the foot's length."""
    known = header["body"].get("foot_half_width_m")
    return float(known) if known else FOOT_HALF_WIDTH * (foot_length(points) if "left_heel" in points else 0.25)
