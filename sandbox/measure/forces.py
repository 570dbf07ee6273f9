"""Ground force, joint power and what walking costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.conventions import GRAVITY
from sandbox.measure.cycle import SAMPLES, Cycle, resample
from sandbox.measure.signals import lowpass
from sandbox.measure.steps import Placement
from sandbox.recording import Recording
from sandbox.state import FEET

Array = NDArray[np.float64]

FORCE_CUTOFF = 20.0  # [Hz], zero lag, of every ground force that is reported
PEAK_RISE = 0.05  # of body weight: what a peak of vertical force must rise over the valley between
VALLEY = (0.3, 0.7)  # of stance: where the valley is looked for
PUSH_OFF = (0.3, 0.7)  # of the cycle: where the peak of ankle moment and power is looked for


def body_weight(recording: Recording) -> float:
    """[N]."""
    return GRAVITY * float(recording.header["body"]["mass_kg"])


def vertical_force(recording: Recording) -> Array:
    """Vertical ground force (T, 2) in body weights, low-passed at 20 Hz with zero lag."""
    return lowpass(recording.ground_force[..., 2], FORCE_CUTOFF, 1 / recording.interval) / body_weight(recording)


def middle_times(recording: Recording) -> Array:
    """The times (T,) [s] that means over the rows' intervals stand for."""
    return np.asarray(recording.time - recording.interval / 2)


def stance_forces(recording: Recording, placed: list[Placement]) -> Array:
    """Vertical ground force (S, 101) in body weights over each stance, touchdown to lift-off."""
    force, time = vertical_force(recording), middle_times(recording)
    if not placed:
        return np.empty((0, SAMPLES))
    return np.stack([resample(time, force[:, p.foot], p.start, p.end) for p in placed])


class TwoPeaks(NamedTuple):
    """The two humps of vertical ground force over a stance, in body weights."""

    landing: float
    valley: float
    push_off: float

    @property
    def distinct(self) -> bool:
        """Each peak rises at least 0.05 body weight over the valley."""
        return min(self.landing, self.push_off) - self.valley >= PEAK_RISE


def two_peaks(curve: Array) -> TwoPeaks:
    """Of a stance curve (n,): the lowest point of its middle, and the highest before and after it."""
    a, b = (round(share * (len(curve) - 1)) for share in VALLEY)
    valley = a + int(np.argmin(curve[a : b + 1]))
    return TwoPeaks(float(curve[: valley + 1].max()), float(curve[valley]), float(curve[valley:].max()))


def joint_power(recording: Recording) -> Array:
    """Power (T, N) [W] of the joint torques, means over the rows' intervals: torque x mean of the speeds at both ends."""
    qd = recording.qd
    mean = np.vstack((qd[:1], (qd[1:] + qd[:-1]) / 2))
    return np.asarray(recording.tau * mean)


def transport_cost(recording: Recording, rows: slice, distance: float) -> tuple[float, float]:
    """Mechanical cost of transport, and its positive part alone: joint work / (weight x distance).

    The first counts positive work and the magnitude of negative work of every joint; elastic storage and transfer between
    joints are not credited.
    """
    power = joint_power(recording)[rows]
    scale = recording.interval / (body_weight(recording) * distance)
    return float(np.abs(power).sum() * scale), float(np.maximum(power, 0).sum() * scale)


class PushOff(NamedTuple):
    """Peaks of a stride's ankle: plantar flexion moment [N m/kg] and power [W/kg]."""

    moment: float
    power: float


def push_offs(recording: Recording, strides: list[Cycle]) -> list[PushOff]:
    """Of each stride, from 30 to 70 % of the cycle. The moment is the actuator's own: the internal joint moment."""
    time, mass = middle_times(recording), float(recording.header["body"]["mass_kg"])
    power = joint_power(recording)
    columns = [recording.header["joint_names"].index(f"{side}_ankle_dorsiflexion") for side in FEET]
    out = []
    for stride in strides:
        a, b = np.searchsorted(time, [stride.start + share * stride.time for share in PUSH_OFF])
        if b > a:
            k = columns[stride.foot]
            out.append(PushOff(float(-recording.tau[a:b, k].min()) / mass, float(power[a:b, k].max()) / mass))
    return out
