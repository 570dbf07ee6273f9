"""Touchdowns and lift-offs: as the plant reported them, from ground force, or from the motion alone.

From the motion alone, a foot is on the ground while some point of it is low and slow, or by Zeni's rule (2008).

The detectors do not agree with each other: in people Zeni's heel strike comes 3-4 % of the stride before contact and its
toe-off late, so that stance reads 0.667 where contact reads 0.617. A comparison uses one detector on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

from sandbox.measure.signals import TURNING_CUTOFF, Facing, along, facing, lowpass
from sandbox.mocap.floor import STRIDE, local_floor
from sandbox.recording import Recording
from sandbox.state import FEET

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Source = Literal["recorded", "force", "points", "height"]
Detector = Literal["contact", "force", "height", "zeni"]

# A foot that leaves the ground for less than this has bounced, and one that touches it for less has scuffed: the swing of
# the fastest walk (182 steps/min) takes 0.33 s.
SHORTEST_PHASE = 0.08  # [s]
FORCE_THRESHOLD = 20.0  # [N]: the usual one of force plates (Zeni et al. 2008)
POINT_CUTOFF = 10.0  # [Hz], of the paths that Zeni's rule looks at
SHORTEST_STRIDE = 0.45  # [s]
ZENI_PROMINENCE = 0.12  # of leg length: smaller fore-aft excursions of a foot are not steps

# A point of the foot is on the ground while it is this much over the local floor at most, and slower than a share of the body's
# speed (more for a run). Chosen with the reference data's own analysis; stance of people is 0.617 by it at 1.2 m/s.
CONTACT_HEIGHT = {"heel": 0.05, "ankle": 0.05, "toe_base": 0.035, "toe_tip": 0.035}  # [m]
CONTACT_SPEED, RUN_CONTACT_SPEED, RUN_SPEED = 0.45, 0.65, 2.2  # of body speed, of a run's, [m/s] from which it is one
LEAST_CONTACT_SPEED = 0.25  # [m/s]
FLOOR_WINDOW = (0.6, 1.3)  # [s]: 1.15 strides, within these


@dataclass(frozen=True)
class Contacts:
    """When one foot was on the ground.

    Attributes:
        start, end: (C,) [s]; ``-inf`` and ``inf`` where the recording begins or ends in contact.
        first, last: (C,) index of the touchdown and lift-off in the recording's event columns, -1 where there is none.
    """

    start: Array
    end: Array
    first: Indices
    last: Indices


@dataclass(frozen=True)
class GaitEvents:
    """Contacts of the left and the right foot, bounces and scuffs taken out, and where they come from."""

    source: Source
    feet: tuple[Contacts, Contacts]

    @property
    def detector(self) -> Detector:
        """Which kind of event these are."""
        kinds: dict[Source, Detector] = {"recorded": "contact", "force": "force", "height": "height", "points": "zeni"}
        return kinds[self.source]

    def touchdowns(self, foot: int) -> Array:
        """Times (N,) [s], without a contact that the recording begins with."""
        start = self.feet[foot].start
        return start[np.isfinite(start)]

    def liftoffs(self, foot: int) -> Array:
        """Times (N,) [s]."""
        end = self.feet[foot].end
        return end[np.isfinite(end)]


def gait_events(recording: Recording) -> GaitEvents:
    """The best events that a recording has: reported ones, else those of ground force, else Zeni's."""
    if recording.has("event_time", "contact_state") and (len(recording.event_time) or recording.contact_state.any()):
        return recorded_events(recording)
    if recording.has("ground_force") and (recording.ground_force[..., 2] > FORCE_THRESHOLD).any():
        return force_events(recording)
    return zeni_events(recording)


class EventError(ValueError):
    """A detector that cannot be used on a recording, or two that are mixed."""


def detect(recording: Recording, detector: Detector) -> GaitEvents:
    """Events by one detector: contact as the plant reported it, force, foot height with foot speed, or Zeni's rule.

    ``contact`` of a capture, where nothing reported it, is foot height with speed, and calls itself that.

    Raises:
        EventError: force where none was measured, or foot height and speed on a treadmill of unknown speed.
    """
    if detector == "zeni":
        return zeni_events(recording)
    if detector == "force":
        if not recording.has("ground_force") or not (recording.ground_force[..., 2] > FORCE_THRESHOLD).any():
            raise EventError("events by force need a ground force, which this recording does not have: use contact or zeni")
        return force_events(recording)
    if detector == "contact" and recording.has("event_time", "contact_state"):
        return recorded_events(recording)
    if recording.header.get("speed_unknown"):
        raise EventError("events by foot height and speed need the belt's speed, which is unknown: give --belt-speed, or use force or zeni")
    return height_events(recording)


def best_detector(recording: Recording) -> Detector:
    """Contact where it can be told, else force, else Zeni's."""
    detectors: tuple[Detector, ...] = ("contact", "force")
    for detector in detectors:
        try:
            detect(recording, detector)
        except EventError:
            continue
        return detector
    return "zeni"


def same_detector(*events: GaitEvents) -> Detector:
    """The detector that all of these come from.

    Raises:
        EventError: they come from different ones, whose strides cannot be compared.
    """
    kinds = sorted({e.detector for e in events})
    if len(kinds) != 1:
        raise EventError(f"events by {' and '.join(kinds)} cannot be compared: strides by one start 3-4 % of a stride before the other's")
    return kinds[0]


def event_offsets(first: GaitEvents, second: GaitEvents) -> dict[str, float]:
    """Mean of second minus first over events that both found within a quarter of a second [s]: touchdown and lift-off."""
    out = {}
    for name in ("touchdown", "liftoff"):
        gaps = []
        for foot in (0, 1):
            ours, theirs = (getattr(e, f"{name}s")(foot) for e in (first, second))
            for time in ours.tolist():
                if len(theirs):
                    gap = float(theirs[np.argmin(np.abs(theirs - time))] - time)
                    if abs(gap) < 0.25:
                        gaps.append(gap)
        out[name] = float(np.mean(gaps)) if gaps else float("nan")
    return out


def recorded_events(recording: Recording) -> GaitEvents:
    """Contacts from the event columns, which keep the plant's own time; without events from the contact state."""
    return GaitEvents("recorded", (_recorded(recording, 0), _recorded(recording, 1)))


def _recorded(recording: Recording, foot: int) -> Contacts:
    mine = np.flatnonzero(recording.event_foot == foot)
    state = recording.contact_state[:, foot] != 0
    if not len(mine):
        return _from_flags(recording.time, state, recording.interval)
    mine = mine[np.argsort(recording.event_time[mine], kind="stable")]
    # The foot starts on the ground if the first thing that it does is leave it.
    down = not recording.event_touchdown[mine[0]]
    spans: list[tuple[float, float, int, int]] = []
    begin, first = -np.inf, -1
    for k in mine.tolist():
        touchdown, time = bool(recording.event_touchdown[k]), float(recording.event_time[k])
        if touchdown and not down:
            begin, first = time, k
        elif not touchdown and down:
            spans.append((begin, time, first, k))
        down = touchdown
    if down:
        spans.append((begin, np.inf, first, -1))
    return _debounced(spans)


def force_events(recording: Recording, threshold: float = FORCE_THRESHOLD) -> GaitEvents:
    """Contacts while the vertical ground force exceeds ``threshold`` [N], interpolated between rows.

    A row's force is the mean over its interval, and so stands for the middle of it.
    """
    time = recording.time - recording.interval / 2
    left, right = (_from_level(time, recording.ground_force[:, foot, 2], threshold) for foot in (0, 1))
    return GaitEvents("force", (left, right))


def zeni_events(recording: Recording) -> GaitEvents:
    """Heel strike where the heel is farthest ahead of the pelvis, toe-off where the toe is farthest behind.

    Zeni, Richards, Higginson 2008, Gait & Posture 27:710. Valid for walking, not for running. The direction is where the
    pelvis faces. A skeleton without heels is judged by its ankles.
    """
    directions = facing(recording, TURNING_CUTOFF)
    left, right = (_zeni(recording, foot, directions) for foot in (0, 1))
    return GaitEvents("points", (left, right))


def _zeni(recording: Recording, foot: int, directions: Facing) -> Contacts:
    names = recording.header["point_names"]
    side = FEET[foot]
    heel = f"{side}_heel" if f"{side}_heel" in names else f"{side}_ankle"
    toe = f"{side}_toe_tip" if f"{side}_toe_tip" in names else f"{side}_toe_base"
    rate = 1 / recording.interval
    prominence = ZENI_PROMINENCE * float(recording.header["body"]["leg_m"])
    peaks = []
    for name, sign in ((heel, 1.0), (toe, -1.0)):
        path = lowpass(recording.point(name) - recording.point("mid_hip"), POINT_CUTOFF, rate)
        ahead = sign * along(path, directions.forward)
        found, _ = find_peaks(ahead, distance=max(1, int(SHORTEST_STRIDE * rate)), prominence=prominence)
        peaks.append(np.interp(_vertex(ahead, found), np.arange(len(ahead)), recording.time))
    events = sorted([(t, True) for t in peaks[0].tolist()] + [(t, False) for t in peaks[1].tolist()])
    spans: list[tuple[float, float, int, int]] = []
    begin: float | None = None if events and events[0][1] else -np.inf
    for time, touchdown in events:
        if touchdown:
            begin = time
        elif begin is not None:
            spans.append((begin, time, -1, -1))
            begin = None
    if begin is not None and events:
        spans.append((begin, np.inf, -1, -1))
    return _contacts(spans)


def height_events(recording: Recording) -> GaitEvents:
    """Contacts of a captured foot: while its heel, ankle, toe base or toe tip is low over the local floor and slow."""
    rate = 1 / recording.interval
    body = recording.point("mid_hip")[:, :2]
    slow = lowpass(body, TURNING_CUTOFF, rate) if len(body) > rate / TURNING_CUTOFF else body
    speed = float(np.percentile(np.linalg.norm(np.gradient(slow, 1 / rate, axis=0), axis=1), 75)) if len(body) > 1 else 0.0
    limit = max((CONTACT_SPEED if speed < RUN_SPEED else RUN_CONTACT_SPEED) * speed, LEAST_CONTACT_SPEED)
    window = floor_window(cycle_times(zeni_events(recording)))
    left, right = (_from_flags(recording.time, _low_and_slow(recording, side, limit, window), recording.interval) for side in FEET)
    return GaitEvents("height", (left, right))


def cycle_times(events: GaitEvents) -> list[float]:
    """Times between touchdowns of one foot [s]."""
    return [time for foot in (0, 1) for time in np.diff(events.touchdowns(foot)).tolist()]


def floor_window(strides: list[float]) -> float:
    """Over which the local floor is sought [s]: a little more than a stride, whose times are given."""
    return float(np.clip(1.15 * np.median(strides), *FLOOR_WINDOW)) if strides else STRIDE


def _low_and_slow(recording: Recording, side: str, limit: float, window: float) -> NDArray[np.bool_]:
    rate = 1 / recording.interval
    down = np.zeros(len(recording), dtype=bool)
    for name, height in CONTACT_HEIGHT.items():
        if f"{side}_{name}" not in recording.header["point_names"]:
            continue
        path = lowpass(recording.point(f"{side}_{name}"), POINT_CUTOFF, rate)
        speed = np.linalg.norm(np.gradient(path, 1 / rate, axis=0), axis=1)
        down |= (speed < limit) & (path[:, 2] < local_floor(path[:, 2], rate, window) + height)
    return down


def _vertex(values: Array, peaks: NDArray[np.intp]) -> Array:
    """Fractional index of each peak: vertex of the parabola through it and its neighbours."""
    a, b, c = values[peaks - 1], values[peaks], values[peaks + 1]
    bend = a - 2 * b + c
    return np.asarray(peaks + np.where(bend < 0, 0.5 * (a - c) / np.where(bend < 0, bend, 1), 0.0))


def _from_flags(time: Array, flags: NDArray[np.bool_], interval: float) -> Contacts:
    """Contacts of a foot that is down in the rows of ``flags``; a row speaks for the interval before its time."""
    steps = np.diff(flags.astype(np.int8))
    starts, ends = time[1:][steps > 0] - interval, time[1:][steps < 0] - interval
    return _debounced(_paired(starts, ends, bool(flags[0])))


def _from_level(time: Array, values: Array, threshold: float) -> Contacts:
    above = values > threshold
    change = np.flatnonzero(above[1:] != above[:-1])
    share = (threshold - values[change]) / (values[change + 1] - values[change])
    crossing = time[change] + share * (time[change + 1] - time[change])
    rising = above[change + 1]
    return _debounced(_paired(crossing[rising], crossing[~rising], bool(above[0])))


def _paired(starts: Array, ends: Array, down_at_start: bool) -> list[tuple[float, float, int, int]]:
    begin = ([-np.inf] if down_at_start else []) + starts.tolist()
    finish = ends.tolist() + ([np.inf] if len(begin) > len(ends) else [])
    return [(a, b, -1, -1) for a, b in zip(begin, finish, strict=True)]


def _debounced(spans: list[tuple[float, float, int, int]]) -> Contacts:
    """Join contacts that a bounce parts, then drop scuffs."""
    joined: list[tuple[float, float, int, int]] = []
    for start, end, first, last in spans:
        if joined and start - joined[-1][1] < SHORTEST_PHASE:
            begin, _, earliest, _ = joined[-1]
            joined[-1] = (begin, end, earliest, last)
        else:
            joined.append((start, end, first, last))
    return _contacts([span for span in joined if span[1] - span[0] >= SHORTEST_PHASE])


def _contacts(spans: list[tuple[float, float, int, int]]) -> Contacts:
    start, end, first, last = zip(*spans, strict=True) if spans else ((), (), (), ())
    return Contacts(
        np.array(start, dtype=np.float64), np.array(end, dtype=np.float64), np.array(first, dtype=np.intp), np.array(last, dtype=np.intp)
    )
