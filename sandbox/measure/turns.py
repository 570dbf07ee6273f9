"""Turns: how far, how fast, in how many steps, and what the feet do. The same for captured people and for the simulated body.

A turn is a stretch in which the pelvis's heading, low-passed at 1.5 Hz, changes by more than 20 degrees a second in one
direction; stretches of one direction that are less than 0.4 s apart are one turn. Turns of less than 30 degrees are left out.

A long curve is slower than the pelvis's own swing in every stride. It is looked for in the heading low-passed at 0.25 Hz: more than
10 degrees a second for more than 3 s, and less than 36 degrees a second on average. What is turned within it is part of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.events import EventError, GaitEvents, detect, zeni_events
from sandbox.measure.gait import Field
from sandbox.measure.signals import facing, headings, lowpass
from sandbox.recording import Recording
from sandbox.state import FEET

Array = NDArray[np.float64]

YAW_CUTOFF = 1.5  # [Hz], zero lag: lets a turn of half a second through
THRESHOLD = 20.0  # [deg/s]
CURVE_CUTOFF, CURVE_THRESHOLD = 0.25, 10.0  # [Hz], [deg/s]: of long curves
CURVE_SECONDS, CURVE_RATE = 3.0, 36.0  # [s] that one lasts at least, [deg/s] that it turns at most on average
LONGEST_PAUSE = 0.4  # [s] within a turn
LEAST_TURN = 30.0  # [deg]
SPEED_CUTOFF = 1.0  # [Hz] of the path whose speed is told
ARRIVAL = 0.8  # [s] before the turn, over which the line of arrival is taken
PIVOT = (0.1, 0.85)  # of a foot's contact, between landing and leaving

TURN_FIELDS: dict[str, Field] = {
    "start_s": Field("s", "when the turn begins"),
    "angle_deg": Field("deg", "turn of the pelvis, to the left positive"),
    "duration_s": Field("s", "from 10 to 90 % of the turn"),
    "steps": Field("", "touchdowns from its start to its end"),
    "turn_per_step_deg": Field("deg", "angle over steps"),
    "pivot_deg": Field("deg", "turn of the foot on the ground in the turn's direction, median over its stances"),
    "foot_ahead_deg": Field("deg", "heading of the landing foot ahead of the pelvis's, median"),
    "least_speed_mps": Field("m/s", "least speed of mid-hip in the turn (1 Hz low-pass)"),
    "deviation_m": Field("m", "largest distance of mid-hip from the line on which it came, until 90 % of the turn"),
}


class Turn(NamedTuple):
    """One turn, with the figures of :data:`TURN_FIELDS`; NaN where one cannot be measured."""

    start_s: float
    angle_deg: float
    duration_s: float
    steps: int
    turn_per_step_deg: float
    pivot_deg: float
    foot_ahead_deg: float
    least_speed_mps: float
    deviation_m: float


def turns(recording: Recording, events: GaitEvents | None = None) -> list[Turn]:
    """All turns of a recording, in order. ``events`` are by contact where they can be told, by default."""
    if len(recording) < 3:
        return []
    rate = 1 / recording.interval
    heading = np.degrees(headings(facing(recording, YAW_CUTOFF)))
    if events is None:
        try:
            events = detect(recording, "contact")
        except EventError:
            events = zeni_events(recording)
    slow = np.degrees(headings(facing(recording, CURVE_CUTOFF)))
    curves = [
        (a, b)
        for a, b in _stretches(np.gradient(slow) * rate, rate, CURVE_THRESHOLD)
        if (b - a) / rate > CURVE_SECONDS and LEAST_TURN <= abs(slow[b - 1] - slow[a]) < CURVE_RATE * (b - a) / rate
    ]
    quick = [(a, b) for a, b in _stretches(np.gradient(heading) * rate, rate, THRESHOLD) if not any(a < d and c < b for c, d in curves)]
    found = [_turn(recording, events, slow, *span) for span in curves] + [_turn(recording, events, heading, *span) for span in quick]
    return sorted((turn for turn in found if abs(turn.angle_deg) >= LEAST_TURN), key=lambda turn: turn.start_s)


def _stretches(rate_deg: Array, rate: float, threshold: float) -> list[tuple[int, int]]:
    """Rows [first, last) of stretches above the threshold, of one direction, short pauses bridged."""
    out: list[tuple[int, int, float]] = []
    state = np.sign(rate_deg) * (np.abs(rate_deg) > threshold)
    edges = np.flatnonzero(np.diff(np.concatenate(([0.0], state, [0.0]))))
    for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        sign = float(state[a])
        if sign == 0:
            continue
        if out and out[-1][2] == sign and (a - out[-1][1]) / rate < LONGEST_PAUSE:
            out[-1] = (out[-1][0], b, sign)
        else:
            out.append((a, b, sign))
    return [(a, b) for a, b, _ in out]


def _turn(recording: Recording, events: GaitEvents, heading: Array, a: int, b: int) -> Turn:
    time, rate = recording.time, 1 / recording.interval
    angle = float(heading[b - 1] - heading[a])
    share = (heading[a:b] - heading[a]) / angle if angle else np.zeros(b - a)
    first, last = a + int(np.argmax(share >= 0.1)), a + int(np.argmax(share >= 0.9))
    path = lowpass(recording.point("mid_hip")[:, :2], SPEED_CUTOFF, rate)
    speed = np.linalg.norm(np.gradient(path, 1 / rate, axis=0), axis=1)
    landings = sorted(t for foot in (0, 1) for t in events.touchdowns(foot).tolist() if time[a] <= t <= time[b - 1])
    sign = math.copysign(1.0, angle)
    pivots, ahead = [], []
    for foot in (0, 1):
        yaw = _foot_heading(recording, FEET[foot])
        contacts = events.feet[foot]
        for start, end in zip(contacts.start.tolist(), contacts.end.tolist(), strict=True):
            if time[a] <= start <= time[b - 1]:
                row = min(int(np.searchsorted(time, start)), len(time) - 1)
                ahead.append(sign * (((yaw[row] - heading[row]) + 180) % 360 - 180))
            if math.isfinite(start) and math.isfinite(end) and start < time[b - 1] and end > time[a]:
                i, j = np.searchsorted(time, [start + part * (end - start) for part in PIVOT])
                pivots.append(sign * float(yaw[min(j, len(yaw) - 1)] - yaw[i]))
    return Turn(
        start_s=float(time[a]),
        angle_deg=angle,
        duration_s=float(time[last] - time[first]),
        steps=len(landings),
        turn_per_step_deg=abs(angle) / len(landings) if landings else math.nan,
        pivot_deg=float(np.median(pivots)) if pivots else math.nan,
        foot_ahead_deg=float(np.median(ahead)) if ahead else math.nan,
        least_speed_mps=float(speed[a:b].min()),
        deviation_m=_deviation(path, a, last, rate),
    )


def _foot_heading(recording: Recording, side: str) -> Array:
    """Heading (T,) [deg] of a foot, continuous."""
    names = recording.header["point_names"]
    back = f"{side}_heel" if f"{side}_heel" in names else f"{side}_ankle"
    line = recording.point(f"{side}_toe_base") - recording.point(back)
    return np.degrees(np.unwrap(np.arctan2(-line[:, 0], line[:, 1])))


def _deviation(path: Array, start: int, end: int, rate: float) -> float:
    before = path[max(0, start - round(ARRIVAL * rate))]
    line = path[start] - before
    length = float(np.hypot(line[0], line[1]))
    if length < 0.1:  # turned from standing: there is no line
        return math.nan
    across = np.array([line[1], -line[0]]) / length
    return float(np.abs((path[start : end + 1] - path[start]) @ across).max())
