"""Filtering, and the directions in which the body faces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, filtfilt

from sandbox.recording import Recording

Array = NDArray[np.float64]

FACING_CUTOFF = 0.25  # [Hz]: well below stride frequency, so that pelvic rotation within the stride is no turning
TURNING_CUTOFF = 0.7  # [Hz]: follows a turn of half a second; a quarter of the pelvis's own rotation comes through


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


def facing(recording: Recording, cutoff: float = FACING_CUTOFF) -> Facing:
    """Where the pelvis faces, from the line through the hips, low-passed at ``cutoff`` [Hz]."""
    line = (recording.point("right_hip") - recording.point("left_hip"))[:, :2]
    rate = 1 / recording.interval
    if len(line) < 3 * rate / cutoff / 2:  # too short to filter
        line = np.broadcast_to(line.mean(axis=0), line.shape)
    else:
        line = lowpass(line, cutoff, rate)
    length = np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-9)
    x, y = (line / length).T
    zero = np.zeros_like(x)
    return Facing(forward=np.stack((-y, x, zero), axis=1), right=np.stack((x, y, zero), axis=1))


def headings(directions: Facing) -> Array:
    """Heading (T,) [rad] of where the body faces, continuous, positive to the left."""
    return np.unwrap(np.arctan2(-directions.forward[:, 0], directions.forward[:, 1]))


def along(vectors: Array, directions: Array) -> Array:
    """Component (T,) of ``vectors`` (T, 3) along unit ``directions`` (T, 3)."""
    return np.asarray(np.einsum("ti,ti->t", vectors, directions))
