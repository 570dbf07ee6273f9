"""The floor under a captured foot. Floors of motion capture slope and sink by centimetres over a clip, so it is a local one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter1d, uniform_filter1d

Array = NDArray[np.float64]

STRIDE = 1.1  # [s]: longer than a stride, so that every window holds a stance of the foot


def local_floor(height: Array, rate: float, window: float = STRIDE) -> Array:
    """Where the floor is under a point of the foot (T,) [m]: the lowest that it comes within ``window`` [s], smoothed."""
    rows = max(1, round(rate * window))
    return np.asarray(uniform_filter1d(minimum_filter1d(height, rows, mode="nearest"), max(1, rows // 2), mode="nearest"))
