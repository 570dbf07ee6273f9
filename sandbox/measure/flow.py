"""How a motion flows: speed, acceleration and jerk, jumps, pops, timing corrections, steps of momentum and energy, smoothness.

Pure functions of arrays sampled at equal times, and :func:`flow` over a recording. A *jump* is what a series does between two
samples beyond what it was doing before and is doing after: the height of a step, 0 of a parabola, and of any smooth curve only
what the sampling leaves, x''' dt^3 / 2. A *pop* is an angular acceleration that an eye sees as a jerk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import find_peaks

from sandbox.conventions import GRAVITY
from sandbox.measure.angles import leg_angles
from sandbox.measure.gait import Field, Gait, mean
from sandbox.measure.signals import along, lowpass
from sandbox.recording import Recording
from sandbox.state import FEET, ContactState

Array = NDArray[np.float64]

FRAME_RATE = 60.0  # [Hz] of the frames in which pops are given
POP = 2.0  # [deg/frame^2] below which nobody sees a jerk; ordinary walking has about 0.4
POP_SPACING = 0.05  # [s] between two pops of one segment
SPARC_CUTOFF, SPARC_LEVEL, SPARC_PADDING = 10.0, 0.05, 4  # [Hz], of the largest amplitude, powers of two

# Segments by the body points between which their long axis runs; the turn about that axis is not seen.
SEGMENTS: dict[str, tuple[str, str]] = {
    "pelvis": ("left_hip", "right_hip"),
    "trunk": ("mid_hip", "neck_base"),
    "shoulders": ("left_shoulder", "right_shoulder"),
    "head": ("neck_base", "head"),
}
for _side in FEET:
    SEGMENTS |= {
        f"{_side}_{name}": (f"{_side}_{start}", f"{_side}_{end}")
        for name, start, end in (
            ("upper_arm", "shoulder", "elbow"),
            ("forearm", "elbow", "wrist"),
            ("thigh", "hip", "knee"),
            ("shank", "knee", "ankle"),
            ("foot", "heel", "toe_base"),
            ("toes", "toe_base", "toe_tip"),
        )
    }

FLOW_FIELDS: dict[str, Field] = {
    "root_speed_sd_mps": Field("m/s", "standard deviation of mid-hip's forward speed"),
    "root_speed_range_mps": Field("m/s", "largest less smallest of it"),
    "root_velocity_jump_mps": Field("m/s", "largest jump of mid-hip's velocity, any direction"),
    "root_acceleration_rms_mps2": Field("m/s^2", "root mean square of mid-hip's acceleration"),
    "root_acceleration_jump_mps2": Field("m/s^2", "largest jump of it"),
    "root_jerk_rms_mps3": Field("m/s^3", "root mean square of mid-hip's jerk"),
    "joint_velocity_jump_dps": Field("deg/s", "largest jump of any joint's angular velocity"),
    "joint_velocity_jump_joint": Field("", "of which joint"),
    "joint_acceleration_jump_dps2": Field("deg/s^2", "largest jump of any joint's angular acceleration"),
    "joint_acceleration_jump_joint": Field("", "of which joint"),
    "pop_max_deg": Field("deg/frame^2", "largest angular acceleration of any segment, in frames of 1/60 s"),
    "pop_segment": Field("", "of which segment"),
    "pop_time_s": Field("s", "when"),
    "pop_state": Field("", "and in which state of the gait"),
    "pops": Field("", "pops above 2 deg/frame^2"),
    "phase_correction_mean": Field("cycles", "by which touchdown corrects a clock that runs with the stride before: mean magnitude"),
    "phase_correction_max": Field("cycles", "the same, largest"),
    "momentum_step_ns": Field("N s", "largest jump of the linear momentum of the centre of mass at a touchdown or lift-off"),
    "energy_step_j": Field("J", "largest jump of the kinetic and potential energy of the centre of mass at one"),
    "ldlj_root": Field("", "log dimensionless jerk of the root's speed over a stride, mean; nearer 0 is smoother"),
    "ldlj_knee": Field("", "of the knee's angular speed over half strides, mean"),
    "ldlj_hip": Field("", "of the thigh's angular speed over half strides, mean"),
    "sparc_knee": Field("", "spectral arc length of the knee's angular speed over half strides, mean; nearer 0 is smoother"),
    "sparc_hip": Field("", "of the thigh's, the same"),
}

STILL = 0.1  # of its mean speed, below which the body is at rest between steps
WALKED = 0.05  # [m/s] below which nobody walks

MARCH_FIELDS: dict[str, Field] = {
    "speed_mps": Field("m/s", "mean forward speed"),
    "speed_swing": Field("", "largest less smallest forward speed of mid-hip, over the mean: 0 of a conveyor, 2 and more of a march"),
    "speed_repeats": Field("", "correlation of forward speed with itself a step later; 1 of a machine"),
    "at_rest_share": Field("", "share of the time in which mid-hip moves at less than a tenth of its mean speed"),
    "halts_per_step": Field("", "times per step at which it does: transaction boundaries that can be seen"),
    "velocity_jump_mps": Field("m/s", "largest jump of mid-hip's velocity"),
    "foot_modes": Field("", "modes in which a foot stands in one stance, mean: 1 flat, 4 from heel to toe"),
    "rolled_share": Field("", "share of stances that go heel, flat, forefoot, toe"),
    "step_time_sd_ms": Field("ms", "standard deviation of step time; under a tick it is a clock"),
    "lead_sd_ms": Field("ms", "standard deviation of touchdown against prediction; null where contacts are predicted, not found"),
    "double_support_fraction": Field("", "of the cycle"),
    "pop_max_deg": Field("deg/frame^2", "largest angular acceleration of any segment at 60 Hz"),
    "ldlj_root": Field("", "log dimensionless jerk of the root's speed over a stride; nearer 0 is smoother"),
}


# -- derivatives and jumps -----------------------------------------------------------------------------------------------


def derivative(values: Array, dt: float, order: int = 1) -> Array:
    """Central differences (T - 2 h, ...) of ``values`` (T, ...) sampled every ``dt`` [s]; ``h`` is 1, 1, 2 for order 1, 2, 3.

    Raises:
        ValueError: an order other than 1, 2, 3, or an interval that is not positive.
    """
    if not dt > 0:
        raise ValueError(f"sampling interval {dt:g} s must be positive")
    x = np.asarray(values, dtype=np.float64)
    if order == 1:
        return (x[2:] - x[:-2]) / (2 * dt)
    if order == 2:
        return (x[2:] - 2 * x[1:-1] + x[:-2]) / dt**2
    if order == 3:
        return (x[4:] - 2 * x[3:-1] + 2 * x[1:-3] - x[:-4]) / (2 * dt**3)
    raise ValueError(f"derivative of order {order}: only 1, 2 and 3 are offered")


def jumps(values: Array) -> Array:
    """Jump (T - 3, ...) between samples k and k + 1 of a series (T, ...), for k = 1 ... T - 3.

    The lines through the two samples before and the two after are continued to the middle between them; the jump is their
    distance there.
    """
    x = np.asarray(values, dtype=np.float64)
    before = x[1:-2] + 0.5 * (x[1:-2] - x[:-3])
    after = x[2:-1] - 0.5 * (x[3:] - x[2:-1])
    return after - before


def jumps_at(time: Array, values: Array, events: Array) -> Array:
    """The largest :func:`jumps` (E, ...) within a sample of each of the ``events`` (E,) [s]; by magnitude, sign kept.

    An event too near to either end gives NaN.
    """
    found = jumps(values)
    out = np.full((len(events), *found.shape[1:]), np.nan)
    for n, event in enumerate(np.asarray(events).tolist()):
        k = int(np.searchsorted(time, event))  # the event lies between rows k - 1 and k: jump number k - 2
        near = found[max(k - 3, 0) : max(k, 0)]
        if 3 <= k < len(time) - 1 and len(near):
            best = np.abs(near).argmax(axis=0)
            out[n] = np.take_along_axis(near, best[None], axis=0)[0]
    return out


# -- segments: pops ------------------------------------------------------------------------------------------------------


def turning(directions: Array, stride: int = 1) -> Array:
    """Rotation vectors (T - stride, 3) [rad] that turn each unit direction (T, 3) to the one ``stride`` samples later, the short way."""
    a, b = directions[:-stride], directions[stride:]
    axis = np.cross(a, b)
    sine = np.linalg.norm(axis, axis=1)
    angle = np.arctan2(sine, np.einsum("ti,ti->t", a, b))
    return np.asarray(axis * (angle / np.maximum(sine, 1e-300))[:, None])


def angular_acceleration(directions: Array, dt: float, frame_rate: float = FRAME_RATE) -> tuple[Array, Array]:
    """Angular acceleration of a segment in degrees per frame squared, as an eye at ``frame_rate`` [Hz] sees it.

    The turn from one frame to the next, less the turn of the frame before. Where the sampling is a multiple of the frame rate
    every sample begins a frame, so that no alignment of frames misses a pop; otherwise a cubic spline is sampled.

    Args:
        directions: (T, 3) of the segment's long axis, any length above zero.
        dt: sampling interval [s].
        frame_rate: [Hz].

    Returns:
        Time (F,) of the middle frame from the first sample [s], and acceleration (F,) [deg/frame^2].
    """
    d = np.asarray(directions, dtype=np.float64)
    stride = round(1 / (frame_rate * dt))
    if stride < 1 or abs(stride * frame_rate * dt - 1) > 1e-3:
        if len(d) < 4:
            return np.empty(0), np.empty(0)
        time = np.arange(0.0, (len(d) - 1) * dt + 1e-12, 1 / frame_rate)
        d, dt, stride = CubicSpline(np.arange(len(d)) * dt, d)(time), 1 / frame_rate, 1
    if len(d) < 2 * stride + 1:
        return np.empty(0), np.empty(0)
    d = d / np.linalg.norm(d, axis=1, keepdims=True)
    turn = turning(d, stride)
    change = np.degrees(np.linalg.norm(turn[stride:] - turn[:-stride], axis=1))
    return dt * np.arange(stride, stride + len(change), dtype=np.float64), np.asarray(change)


def segment_directions(recording: Recording) -> dict[str, Array]:
    """Long axis (T, 3) of each of :data:`SEGMENTS` that the recording has points for."""
    names = set(recording.header["point_names"])
    return {
        segment: recording.point(end) - recording.point(start)
        for segment, (start, end) in SEGMENTS.items()
        if start in names and end in names
    }


def segment_accelerations(recording: Recording, cutoff: float | None = None) -> dict[str, tuple[Array, Array]]:
    """Time [s] and angular acceleration [deg/frame^2 at 60 Hz] of every segment; points low-passed at ``cutoff`` [Hz] first."""
    start = float(recording.time[0]) if len(recording) else 0.0
    out = {}
    for segment, direction in segment_directions(recording).items():
        line = direction if cutoff is None else lowpass(direction, cutoff, 1 / recording.interval)
        time, acceleration = angular_acceleration(line, recording.interval)
        out[segment] = time + start, acceleration
    return out


class Pop(NamedTuple):
    """A segment that jerked: when [s], how much [deg/frame^2 at 60 Hz], and in which state of the gait."""

    time: float
    segment: str
    acceleration: float
    state: str


def pops(recording: Recording, threshold: float = POP, cutoff: float | None = None) -> list[Pop]:
    """Peaks of angular acceleration above ``threshold`` [deg/frame^2 at 60 Hz] of any segment, the largest first."""
    out = []
    for segment, (time, acceleration) in segment_accelerations(recording, cutoff).items():
        if not len(acceleration):
            continue
        padded = np.concatenate(([0.0], acceleration, [0.0]))  # a peak may be at either end
        peaks, _ = find_peaks(padded, height=threshold, distance=max(1, round(POP_SPACING / recording.interval)))
        out += [Pop(float(time[k - 1]), segment, float(acceleration[k - 1]), gait_state(recording, float(time[k - 1]))) for k in peaks]
    return sorted(out, key=lambda pop: -pop.acceleration)


def gait_state(recording: Recording, time: float) -> str:
    """What both feet do at ``time`` [s], for instance ``left flat, right airborne``; empty where no contact was recorded."""
    if not recording.has("contact_state") or not len(recording):
        return ""
    row = min(int(np.searchsorted(recording.time, time - 1e-9)), len(recording) - 1)
    return ", ".join(f"{side} {ContactState(int(recording.contact_state[row, i])).name.lower()}" for i, side in enumerate(FEET))


# -- timing --------------------------------------------------------------------------------------------------------------


def phase_corrections(touchdowns: Sequence[float] | Array) -> Array:
    """By how much each touchdown sets a clock that ran with the stride before (N - 2,) [cycles].

    The clock of a foot goes from 0 to 1 in the time of its last stride. Where the next touchdown finds it at 1 + c, the
    correction is -c: 0 of an even gait, positive where the ground was met early.
    """
    strides = np.diff(np.asarray(touchdowns, dtype=np.float64))
    return 1 - strides[1:] / strides[:-1]


# -- momentum and energy -------------------------------------------------------------------------------------------------


def com_momentum(recording: Recording) -> Array:
    """Linear momentum (T, 3) [N s] of the body."""
    return np.asarray(float(recording.header["body"]["mass_kg"]) * recording.com_velocity)


def com_energy(recording: Recording) -> Array:
    """Kinetic and potential energy (T,) [J] of the body's mass at its centre, potential from z = 0."""
    mass = float(recording.header["body"]["mass_kg"])
    return np.asarray(mass * (0.5 * np.sum(recording.com_velocity**2, axis=1) + GRAVITY * recording.com[:, 2]))


# -- smoothness ----------------------------------------------------------------------------------------------------------


def log_dimensionless_jerk(speed: Array, dt: float) -> float:
    """LDLJ = -ln(T^3 / v_peak^2 * integral of (d^2 v / dt^2)^2) of a speed profile ``speed`` (T,) sampled every ``dt`` [s].

    Balasubramanian, Melendez-Calderon, Burdet 2012, IEEE Trans Biomed Eng 59:2126. A minimum-jerk movement has -ln 204.8 = -5.32.
    NaN of a profile of fewer than four samples or without motion.
    """
    v = np.asarray(speed, dtype=np.float64)
    peak = float(np.abs(v).max()) if len(v) else 0.0
    if len(v) < 4 or peak == 0.0:
        return math.nan
    duration = (len(v) - 1) * dt
    # the second derivative at the inner samples stands for the intervals around them; the outer halves take the nearest one
    square = derivative(v, dt, 2) ** 2
    integral = dt * (square.sum() + 0.5 * (square[0] + square[-1]))
    return -math.log(duration**3 / peak**2 * integral) if integral > 0 else math.inf


def spectral_arc_length(speed: Array, dt: float) -> float:
    """SPARC of a speed profile ``speed`` (T,) sampled every ``dt`` [s]: minus the arc length of its normalised spectrum.

    Balasubramanian et al. 2015, J NeuroEng Rehabil 12:112, with the defaults of the authors' program: up to 10 Hz and the last
    amplitude of 0.05, zero-padded to four more powers of two. NaN of a profile without motion.
    """
    v = np.asarray(speed, dtype=np.float64)
    if len(v) < 2 or not np.abs(v).max() > 0:
        return math.nan
    size = int(2 ** (math.ceil(math.log2(len(v))) + SPARC_PADDING))
    frequency = np.arange(size // 2 + 1) / (size * dt)
    amplitude = np.abs(np.fft.rfft(v, size))
    amplitude = amplitude / amplitude.max()
    kept = frequency <= SPARC_CUTOFF
    frequency, amplitude = frequency[kept], amplitude[kept]
    loud = np.flatnonzero(amplitude >= SPARC_LEVEL)
    frequency, amplitude = frequency[loud[0] : loud[-1] + 1], amplitude[loud[0] : loud[-1] + 1]
    if len(frequency) < 2:
        return math.nan
    return -float(np.sum(np.hypot(np.diff(frequency) / (frequency[-1] - frequency[0]), np.diff(amplitude))))


def _profiles(time: Array, speed: Array, spans: list[tuple[float, float]]) -> list[Array]:
    return [speed[slice(*np.searchsorted(time, span))] for span in spans]


# -- a whole recording ---------------------------------------------------------------------------------------------------


def flow(recording: Recording | Gait, cutoff: float | None = None) -> dict[str, Any]:
    """The figures of :data:`FLOW_FIELDS`, as plain Python values; None where one cannot be measured.

    They are taken over the settled part of the recording (see :class:`sandbox.measure.Gait`), between the first and the last
    touchdown of its strides, or over all of that part where nobody strides.

    Args:
        recording: or its ``Gait``.
        cutoff: [Hz] of a zero-lag low-pass of points, joints and centre of mass, for motion capture, whose noise would be all
            that the derivatives show; None takes them as they are.
    """
    gait = recording if isinstance(recording, Gait) else Gait(recording)
    out: dict[str, Any] = dict.fromkeys(FLOW_FIELDS)
    start, end = gait.start, gait.end
    if gait.strides:
        start, end = gait.strides[0].start, max(stride.end for stride in gait.strides)
    rows = gait.rows(start, end)
    if rows.stop - rows.start < 8:
        return out
    smoothed = filtered(gait.recording, cutoff)
    out |= _root(gait, smoothed, rows) | _joints(smoothed, rows) | _pops(smoothed, rows) | _timing(gait, start, end)
    out |= _steps(gait, smoothed, rows) | _smoothness(gait, smoothed)
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in out.items()}


def filtered(recording: Recording, cutoff: float | None) -> Recording:
    """The recording with points, joint angles and centre of mass low-passed at ``cutoff`` [Hz]; itself for None."""
    if cutoff is None:
        return recording
    rate = 1 / recording.interval
    columns = dict(recording.columns)
    for name in ("points", "q", "com", "com_velocity"):
        if name in columns:
            columns[name] = lowpass(columns[name], cutoff, rate)
    return Recording(recording.header, columns)


def _root(gait: Gait, recording: Recording, rows: slice) -> dict[str, Any]:
    dt, path = recording.interval, recording.point("mid_hip")[rows]
    velocity = np.diff(path, axis=0) / dt
    speed = along(velocity, gait.facing.forward[rows][1:])
    acceleration, jerk = derivative(path, dt, 2), derivative(path, dt, 3)
    return {
        "root_speed_sd_mps": float(np.std(speed)),
        "root_speed_range_mps": float(np.ptp(speed)),
        "root_velocity_jump_mps": _largest(jumps(velocity)),
        "root_acceleration_rms_mps2": _rms(acceleration),
        "root_acceleration_jump_mps2": _largest(jumps(acceleration)),
        "root_jerk_rms_mps3": _rms(jerk),
    }


def _joints(recording: Recording, rows: slice) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if not recording.has("q") or not len(recording.header["joint_names"]):
        return out
    velocity = np.degrees(np.diff(recording.q[rows], axis=0)) / recording.interval
    for name, unit, series in (("velocity", "dps", velocity), ("acceleration", "dps2", np.diff(velocity, axis=0) / recording.interval)):
        largest = np.abs(jumps(series)).max(axis=0)
        worst = int(largest.argmax())
        out[f"joint_{name}_jump_{unit}"] = float(largest[worst])
        out[f"joint_{name}_jump_joint"] = str(recording.header["joint_names"][worst])
    return out


def _pops(recording: Recording, rows: slice) -> dict[str, Any]:
    part = Recording(recording.header, {name: recording.columns[name][rows] for name in ("time", "points") if name in recording.columns})
    peak: tuple[float, str, float] = (-1.0, "", 0.0)
    for segment, (time, acceleration) in segment_accelerations(part).items():
        if len(acceleration) and acceleration.max() > peak[0]:
            k = int(acceleration.argmax())
            peak = float(acceleration[k]), segment, float(time[k])
    if peak[0] < 0:
        return {}
    state = gait_state(recording, peak[2])
    return {"pop_max_deg": peak[0], "pop_segment": peak[1], "pop_time_s": peak[2], "pop_state": state, "pops": len(pops(part))}


def _timing(gait: Gait, start: float, end: float) -> dict[str, Any]:
    corrections = []
    for foot in (0, 1):
        times = gait.events.touchdowns(foot)
        corrections.append(phase_corrections(times[(times >= start - 1e-9) & (times <= end + 1e-9)]))
    found = np.abs(np.concatenate(corrections))
    return {"phase_correction_mean": float(found.mean()), "phase_correction_max": float(found.max())} if len(found) else {}


def _steps(gait: Gait, recording: Recording, rows: slice) -> dict[str, Any]:
    if not recording.has("com", "com_velocity"):
        return {}
    time = recording.time[rows]
    events = np.concatenate([np.concatenate((gait.events.touchdowns(foot), gait.events.liftoffs(foot))) for foot in (0, 1)])
    events = events[(events >= time[0]) & (events <= time[-1])]
    momentum = np.linalg.norm(jumps_at(time, com_momentum(recording)[rows], events), axis=1)
    energy = np.abs(jumps_at(time, com_energy(recording)[rows], events))
    out = {}
    for name, values in (("momentum_step_ns", momentum), ("energy_step_j", energy)):
        known = values[np.isfinite(values)]
        if len(known):
            out[name] = float(known.max())
    return out


def _smoothness(gait: Gait, recording: Recording) -> dict[str, Any]:
    if not gait.strides:
        return {}
    dt = recording.interval
    speed = np.linalg.norm(np.diff(recording.point("mid_hip"), axis=0), axis=1) / dt
    whole = _profiles(recording.time[1:], speed, [(s.start, s.end) for s in gait.strides])
    out: dict[str, Any] = {"ldlj_root": mean([log_dimensionless_jerk(profile, dt) for profile in whole])}
    angles = leg_angles(recording)
    for name in ("knee", "hip"):
        rate = np.abs(np.diff(getattr(angles, name), axis=0)) / dt
        halves: list[Array] = []
        for foot in (0, 1):
            middle = [(s.start, 0.5 * (s.start + s.end), s.end) for s in gait.strides if s.foot == foot]
            spans = [span for a, b, c in middle for span in ((a, b), (b, c))]
            halves += _profiles(recording.time[1:], rate[:, foot], spans)
        out[f"ldlj_{name}"] = mean([log_dimensionless_jerk(profile, dt) for profile in halves])
        out[f"sparc_{name}"] = mean([spectral_arc_length(profile, dt) for profile in halves])
    return out


def _largest(values: Array) -> float:
    """Largest length of vectors (T, 3)."""
    return float(np.linalg.norm(values, axis=1).max())


def _rms(values: Array) -> float:
    """Root mean square length of vectors (T, 3)."""
    return float(np.sqrt(np.mean(np.sum(values**2, axis=1))))


# -- what a march is -----------------------------------------------------------------------------------------------------


def march(recording: Recording | Gait) -> dict[str, Any]:
    """The figures of :data:`MARCH_FIELDS`: what "march-like" means, over the settled strides; None where one cannot be measured."""
    gait = recording if isinstance(recording, Gait) else Gait(recording)
    recording = gait.recording
    out: dict[str, Any] = dict.fromkeys(MARCH_FIELDS)
    if not gait.strides:
        return out
    start, end = gait.strides[0].start, max(stride.end for stride in gait.strides)
    rows = gait.rows(start, end)
    if rows.stop - rows.start < 8:
        return out
    dt = recording.interval
    velocity = np.diff(recording.point("mid_hip")[rows], axis=0) / dt
    speed = along(velocity, gait.facing.forward[rows][1:])
    mean_speed = float(speed.mean())
    downs = np.sort(np.concatenate([gait.events.touchdowns(foot) for foot in (0, 1)]))
    step_times = np.diff(downs[(downs >= start - 1e-9) & (downs <= end + 1e-9)])
    out["speed_mps"] = mean_speed
    if mean_speed > WALKED:
        still = speed < STILL * mean_speed
        steps = len(speed) * dt / float(step_times.mean())
        out["speed_swing"] = float(np.ptp(speed)) / mean_speed
        out["at_rest_share"] = float(still.mean())
        out["halts_per_step"] = float(np.sum(np.diff(still.astype(int)) == 1)) / steps
        lag = round(float(step_times.mean()) / dt)
        if 0 < lag < len(speed) - 2 and np.ptp(speed) > 0.01 * mean_speed:
            out["speed_repeats"] = float(np.corrcoef(speed[:-lag], speed[lag:])[0, 1])
    out["velocity_jump_mps"] = _largest(jumps(velocity))
    if recording.has("contact_state"):
        stances = [
            _modes(recording, foot, a, b)
            for foot, contacts in enumerate(gait.events.feet)
            for a, b in zip(contacts.start.tolist(), contacts.end.tolist(), strict=True)
            if gait.start <= a and b <= gait.end
        ]
        if stances:
            rolling = [int(c) for c in ContactState][1:]
            out["foot_modes"] = float(np.mean([len(set(modes)) for modes in stances]))
            out["rolled_share"] = float(np.mean([modes == rolling for modes in stances]))
    out["step_time_sd_ms"] = 1000 * float(np.std(step_times))
    out["lead_sd_ms"] = 1000 * float(np.std(gait.leads)) if len(gait.leads) > 1 else math.nan
    out["double_support_fraction"] = mean([stride.double_support_fraction for stride in gait.strides])
    out["pop_max_deg"] = _pops(recording, rows).get("pop_max_deg")
    out["ldlj_root"] = _smoothness(gait, recording).get("ldlj_root")
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in out.items()}


def _modes(recording: Recording, foot: int, start: float, end: float) -> list[int]:
    """Modes of a stance in order, each named once where it begins; airborne left out."""
    state = recording.contact_state[slice(*np.searchsorted(recording.time, (start, end))), foot]
    return [int(mode) for k, mode in enumerate(state) if mode != ContactState.AIRBORNE and (k == 0 or mode != state[k - 1])]
