"""Joint angles over the gait cycle, and the 26 control points by which they are bent.

The cycle begins with the right foot's strike. Of a symmetric gait seven curves are free: three of the pelvis, four of the right leg.
The left leg does the same half a cycle later; the pelvis's obliquity and rotation change sign after half a cycle, its tilt repeats::

    obliquity, rotation  (A(t) - A(t + 1/2)) / 2        tilt  (A(t) + A(t + 1/2)) / 2

A control point lies at foot strike, at foot-off, or where the curve is highest or lowest: four on five curves, three on tilt and hip
rotation, 26 in all. Each may move in value, and those at extrema in time. With cardinal splines B_k through the control points' times
tau_k (periodic, cubic, B_k(tau_j) = [k = j]), a curve becomes::

    A(t) = C(s) + sum_k B_k(s) dv_k,    t = s + sum_k B_k(s) dt_k

so that control point k lies at tau_k + dt_k and is dv_k higher than it was. C is the start: its own spline through the control points
(as published), or the measured curve itself, whose finer shape then rides along. Shifts are bounded so that t never runs backwards:
control points cannot change places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

Array = NDArray[np.float64]

CURVES = ("pelvis_rotation", "pelvis_obliquity", "pelvis_tilt", "hip_flexion", "hip_adduction", "hip_rotation", "knee_flexion")
CHANNELS = (*CURVES[:3], *(f"{side}_{name}" for side in ("right", "left") for name in CURVES[3:]))
SAMPLES = 60  # of a cycle
HALF = SAMPLES // 2
HARMONICS = 20  # of a start's curves; a walk's joint angles have less than 1 % of their power beyond the tenth
POINTS = {"pelvis_tilt": 3, "hip_rotation": 3}  # control points of a curve, 4 of the others (which is assumed: 26 in all are published)
CLEAR = 0.06  # of the cycle: the nearest that two control points lie to one another
SHIFT, SHIFT_SHARE = 0.06, 0.3  # of the cycle, and of the gap to the next control point: the furthest that one moves in time


def harmonics(phase: Array, count: int = HARMONICS) -> Array:
    """Rows (T, 2 count + 1) of 1, cosines and sines of the cycle ``phase`` (T,)."""
    angle = 2 * np.pi * np.outer(phase, np.arange(1, count + 1))
    return np.hstack((np.ones((len(phase), 1)), np.cos(angle), np.sin(angle)))


def phases(count: int = SAMPLES) -> Array:
    """Evenly spaced phases (count,) of a cycle, the first of them 0."""
    return np.arange(count) / count


def _derivative(order: int, count: int = SAMPLES) -> Array:
    """Matrix (count, count) that differentiates the trigonometric polynomial through evenly spaced samples, per cycle."""
    wave = 2j * np.pi * np.fft.fftfreq(count, 1 / count)
    if order % 2:
        wave[count // 2] = 0.0
    return np.asarray(np.fft.ifft(np.fft.fft(np.eye(count), axis=0) * (wave**order)[:, None], axis=0).real)


RATE = _derivative(1)  # (SAMPLES, SAMPLES): samples to their derivative per cycle
# The third derivative of the first twelve harmonics only: beyond them there is nothing but the splines' joints.
_LOW = np.abs(np.fft.fftfreq(SAMPLES, 1 / SAMPLES)) <= 12
JERK = _derivative(3) @ np.fft.ifft(np.fft.fft(np.eye(SAMPLES), axis=0) * _LOW[:, None], axis=0).real


@dataclass(frozen=True)
class Start:
    """A gait to begin with.

    Attributes:
        curves: angles (T, 7) [rad] of :data:`CURVES` at evenly spaced phases of a cycle that begins with the right foot's strike.
        foot_off: phase at which the right foot leaves the ground.
        period: stride time [s].
        name: where it comes from.
    """

    curves: Array
    foot_off: float
    period: float
    name: str = ""

    def __post_init__(self) -> None:
        if self.curves.ndim != 2 or self.curves.shape[1] != len(CURVES) or len(self.curves) < 8:
            raise ValueError(f"a gait to start with has curves of shape {self.curves.shape}: give (samples, {len(CURVES)})")

    def resampled(self, count: int = SAMPLES) -> Array:
        """The curves (count, 7) [rad], through their first harmonics."""
        kept = min(HARMONICS, (len(self.curves) - 1) // 2)
        fit = np.linalg.lstsq(harmonics(phases(len(self.curves)), kept), self.curves, rcond=None)[0]
        return np.asarray(harmonics(phases(count), kept) @ fit)

    def channels(self) -> Array:
        """Angles (SAMPLES, 11) [rad] of :data:`CHANNELS`, made symmetric."""
        return symmetric(self.resampled())


def symmetric(curves: Array) -> Array:
    """Channels (T, 11) of free curves (T, 7), T even."""
    half = len(curves) // 2
    pelvis, leg = curves[:, :3], curves[:, 3:]
    return np.hstack(((pelvis + np.roll(pelvis, half, axis=0) * (-1, -1, 1)) / 2, leg, np.roll(leg, half, axis=0)))


def control_times(curve: Array, foot_off: float, count: int) -> Array:
    """Phases (count,) of a curve's control points: strike, foot-off, then its highest and lowest, clear of the others.

    Of a curve with three, the third is the highest or lowest point, whichever is further from the line between the first two.
    """
    times = [0.0, foot_off]
    at = phases(len(curve))
    for which in ("far",) if count == 3 else ("high", "low"):
        clear = np.min([np.abs((at - t + 0.5) % 1.0 - 0.5) for t in times], axis=0) >= CLEAR
        value = {
            "high": curve,
            "low": -curve,
            "far": np.abs(curve - np.interp(at, [0, foot_off, 1], curve[[0, int(foot_off * len(at)), 0]])),
        }
        times.append(float(at[np.argmax(np.where(clear, value[which], -np.inf))]))
    return np.array(times)


@dataclass(frozen=True)
class _Curve:
    """One curve with its control points."""

    times: Array  # (m,), the first two strike and foot-off
    basis: CubicSpline  # to (m,)
    slope: CubicSpline
    fit: Array  # (2 HARMONICS + 1,) of the start
    values: Array  # (m,) [rad] of the start at the control points
    own: bool  # the start is its own spline

    def start(self, s: Array) -> tuple[Array, Array]:
        """The start and its derivative at phases ``s``."""
        if self.own:
            return self.basis(s) @ self.values, self.slope(s) @ self.values
        table = harmonics(s)
        k = 2 * np.pi * np.arange(1, HARMONICS + 1)
        a, b = self.fit[1 : HARMONICS + 1], self.fit[HARMONICS + 1 :]
        rate = table[:, 1 : HARMONICS + 1] @ (k * b) - table[:, HARMONICS + 1 :] @ (k * a)
        return table @ self.fit, rate

    def bent(self, value: Array, shift: Array) -> tuple[Array, Array]:
        """The curve (SAMPLES,) after values and times of its control points have changed, and its derivatives (SAMPLES, 2m - 2)."""
        t = phases()
        s = t
        moved = np.concatenate((np.zeros(2), shift))
        if shift.any():
            for _ in range(6):
                s = s - (s + self.basis(s) @ moved - t) / (1 + self.slope(s) @ moved)
        table, slope = self.basis(s), self.slope(s)
        start, rate = self.start(s)
        along = (rate + slope @ value) / (1 + slope @ moved)
        return start + table @ value, np.hstack((table, -table[:, 2:] * along[:, None]))


class Bending:
    """All curves of a gait over the changes ``x`` (n,) of their control points: values [rad], then times [cycles].

    Args:
        start: the gait.
        detail: keep what the splines through the control points do not follow; as published they are all there is.
        symmetric: seven free curves; otherwise eleven, left leg and whole pelvis cycles of their own.
    """

    def __init__(self, start: Start, detail: bool = True, symmetrical: bool = True) -> None:
        self.start, self.detail, self.symmetrical = start, detail, symmetrical
        channels = start.channels()
        names: tuple[str, ...]
        if symmetrical:
            names, curves = CURVES, channels[:, :7]
            feet = [start.foot_off] * 7
        else:
            names, curves = CHANNELS, channels
            feet = [start.foot_off] * 7 + [(start.foot_off + 0.5) % 1.0] * 4
        self.names = names
        table = np.linalg.pinv(harmonics(phases()))
        self._curves: list[_Curve] = []
        for k, name in enumerate(names):
            count = POINTS.get(name.removeprefix("right_").removeprefix("left_"), 4)
            turn = HALF if name.startswith("left_") else 0  # a left leg's control points are its own strike and foot-off
            times = control_times(np.roll(curves[:, k], -turn), feet[0], count)
            times = (times + turn / SAMPLES) % 1.0
            order = np.argsort(times)
            knots = np.append(times[order], times[order[0]] + 1.0)
            identity = np.eye(count)[order]
            basis = CubicSpline(knots, np.vstack((identity, identity[:1])), bc_type="periodic")
            fit = table @ curves[:, k]
            # as published the spline is all there is, and is fitted; with the curve itself its points lie on it
            values = harmonics(times) @ fit if detail else np.linalg.lstsq(basis(phases()), curves[:, k], rcond=None)[0]
            self._curves.append(_Curve(times, basis, basis.derivative(), fit, values, not detail))
        counts = np.array([len(c.times) for c in self._curves])
        self.values = int(counts.sum())
        self.size = self.values + int((counts - 2).sum())
        ends = np.cumsum(counts)
        self._value = [slice(int(e - c), int(e)) for e, c in zip(ends, counts, strict=True)]
        ends = self.values + np.cumsum(counts - 2)
        self._time = [slice(int(e - c + 2), int(e)) for e, c in zip(ends, counts, strict=True)]

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """Index (n,) of the curve that each change belongs to."""
        out = np.empty(self.size, dtype=np.intp)
        for k in range(len(self._curves)):
            out[self._value[k]] = out[self._time[k]] = k
        return out

    @cached_property
    def shifts(self) -> Array:
        """How far each time may be moved (n - values,) [cycles]."""
        out = []
        for curve in self._curves:
            for k in range(2, len(curve.times)):
                gaps = np.abs((np.delete(curve.times, k) - curve.times[k] + 0.5) % 1.0 - 0.5)
                out.append(min(SHIFT, SHIFT_SHARE * float(gaps.min())))
        return np.array(out)

    @cached_property
    def points(self) -> list[tuple[str, float, float]]:
        """Curve, phase and value [rad] of every control point of the start."""
        return [
            (n, float(t), float(v)) for n, c in zip(self.names, self._curves, strict=True) for t, v in zip(c.times, c.values, strict=True)
        ]

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Angles (SAMPLES, 11) [rad] and their derivatives (SAMPLES, 11, n)."""
        count = len(self._curves)
        free, table = np.empty((SAMPLES, count)), np.zeros((SAMPLES, count, self.size))
        for k, curve in enumerate(self._curves):
            m = len(curve.times)
            free[:, k], rows = curve.bent(x[self._value[k]], x[self._time[k]])
            table[:, k, self._value[k]], table[:, k, self._time[k]] = rows[:, :m], rows[:, m:]
        if not self.symmetrical:
            return free, table
        angles = symmetric(free)
        out = np.empty((SAMPLES, 11, self.size))
        signs = np.array([-1.0, -1.0, 1.0])[:, None]
        out[:, :3] = (table[:, :3] + signs * np.roll(table[:, :3], HALF, axis=0)) / 2
        out[:, 3:7] = table[:, 3:]
        out[:, 7:] = np.roll(table[:, 3:], HALF, axis=0)
        return angles, out


def as_start(angles: Array, foot_off: float, period: float, name: str = "") -> Start:
    """A start from channels (T, 11) [rad] or a table of named curves."""
    return Start(np.asarray(angles)[:, :7], foot_off, period, name)


def from_columns(columns: Mapping[str, Array], foot_off: float, period: float, name: str = "") -> Start:
    """A start from curves (T,) [rad] by the names of :data:`CURVES`.

    Raises:
        ValueError: one is missing.
    """
    missing = [key for key in CURVES if key not in columns]
    if missing:
        raise ValueError(f"a gait to start with lacks {', '.join(missing)}")
    return Start(np.column_stack([columns[key] for key in CURVES]), foot_off, period, name)
