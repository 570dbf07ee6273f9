"""Filtering, and the directions in which the body faces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, filtfilt

from sandbox.recording import Recording

Array = NDArray[np.float64]

FACING_CUTOFF = 0.25  # [Hz]: well below stride frequency, so that pelvic rotation within the stride is no turning


def lowpass(values: Array, cutoff: float, rate: float, order: int = 2) -> Array:
    """Zero-lag Butterworth low-pass along the first axis, forward and backward.

    Args:
        values: (T, ...).
        cutoff: of one pass [Hz].
        rate: of sampling [Hz].
        order: of one pass.
    """
    if len(values) < 2 or cutoff >= rate / 2:
        return np.array(values, dtype=np.float64)
    b, a = butter(order, cutoff / (rate / 2))
    pad = min(len(values) - 1, int(3 * rate / cutoff))
    return np.asarray(filtfilt(b, a, values, axis=0, padlen=pad))


class Facing(NamedTuple):
    """Horizontal unit vectors (T, 3) of where the body faces: forward, and to its right."""

    forward: Array
    right: Array


def facing(recording: Recording) -> Facing:
    """Where the pelvis faces, from the line through the hips, smoothed over a stride."""
    line = (recording.point("right_hip") - recording.point("left_hip"))[:, :2]
    rate = 1 / recording.interval
    if len(line) < 3 * rate / FACING_CUTOFF / 2:  # too short to filter
        line = np.broadcast_to(line.mean(axis=0), line.shape)
    else:
        line = lowpass(line, FACING_CUTOFF, rate)
    length = np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-9)
    x, y = (line / length).T
    zero = np.zeros_like(x)
    return Facing(forward=np.stack((-y, x, zero), axis=1), right=np.stack((x, y, zero), axis=1))


def along(vectors: Array, directions: Array) -> Array:
    """Component (T,) of ``vectors`` (T, 3) along unit ``directions`` (T, 3)."""
    return np.asarray(np.einsum("ti,ti->t", vectors, directions))
