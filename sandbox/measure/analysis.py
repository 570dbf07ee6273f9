"""The gait of any recording, ours or captured: figures per stride, curves over the cycle, and what hinders measuring them."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.conventions import GRAVITY
from sandbox.measure.curves import POINT_CUTOFF, body_curves, inventory
from sandbox.measure.cycle import Cycle, cycles
from sandbox.measure.events import (
    Detector,
    EventError,
    GaitEvents,
    best_detector,
    detect,
    event_offsets,
    floor_window,
)
from sandbox.measure.gait import WALKING_SPEED, Field, Gait
from sandbox.measure.signals import TURNING_CUTOFF, facing, headings, lowpass
from sandbox.mocap.floor import local_floor
from sandbox.recording import Recording
from sandbox.state import FEET

Array = NDArray[np.float64]

STRAIGHT = 12.0  # [deg] that a stride may turn to count as straight
PLACED = 0.1  # of the cycle after touchdown: the foot lies flat where it was put
MID_SWING = (0.25, 0.8)  # of swing: where the toe is nearest to the ground

# How far a planted toe base moves in the middle of stance [leg lengths]. Captured walks have 0.005 to 0.02, the same angles on
# another person's skeleton up to 0.05.
PLANTED, MOST_SLIDE = (0.3, 0.7), 0.028
LEAST_SLIDES = 3  # strides
FASTEST_WALK = 2.0  # [m/s] up to which that holds

STRIDE_FIELDS: dict[str, Field] = {
    "speed_mps": Field("m/s", "speed of mid-hip over the stride"),
    "froude": Field("", "speed squared over g x leg length"),
    "cadence_spm": Field("steps/min", "steps a minute"),
    "stride_m": Field("m", "stride length, between placements of one foot"),
    "stride_leg": Field("leg lengths", "the same over leg length"),
    "step_m": Field("m", "step length, from one foot's placement to the other's in the direction of progression"),
    "step_leg": Field("leg lengths", "the same over leg length"),
    "step_width_m": Field("m", "lateral distance between the placements; negative when the feet cross"),
    "step_width_leg": Field("leg lengths", "the same over leg length"),
    "stance_fraction": Field("", "touchdown to lift-off of one foot, as a fraction of its cycle"),
    "double_support_fraction": Field("", "both double supports together, as a fraction of the cycle"),
    "flight_fraction": Field("", "neither foot on the ground, as a fraction of the cycle"),
    "toe_clearance_m": Field("m", "least height of the toe tip over the local floor in mid-swing"),
    "toe_clearance_leg": Field("leg lengths", "the same over leg length"),
    "turn_deg": Field("deg", "turn of the pelvis over the stride, to the left positive"),
    "head_sway_leg": Field("leg lengths", "side to side range of the head over the stride"),
    "obliquity_undone": Field("", "share of pelvic obliquity that the shoulders do not have: 1 keeps them level, 0 carries them along"),
    "arm_timing": Field("", "when the upper arm is furthest forward, as a fraction of the cycle of the same side's foot"),
}
OTHERS: tuple[Detector, ...] = ("force", "height", "zeni")  # with which events are compared
SPEEDS = ("speed_mps", "froude", "stride_m", "stride_leg", "step_m", "step_leg")  # not known on a belt of unknown speed


class GaitError(ValueError):
    """A recording whose gait cannot be measured, and why."""


@dataclass(frozen=True)
class Analysis:
    """A recording and its gait by one detector of events, each part worked out once.

    Figures and curves are of straight strides (turning under 12 degrees); those that turn more are kept apart.
    """

    gait: Gait

    @classmethod
    def of(cls, recording: Recording, detector: Detector | None = None) -> Analysis:
        """By ``detector``, or by the best that the recording allows."""
        return cls(Gait(recording, detector or best_detector(recording)))

    @property
    def recording(self) -> Recording:
        return self.gait.recording

    @property
    def detector(self) -> Detector:
        return self.gait.events.detector

    @cached_property
    def by_height(self) -> Analysis | None:
        """The same gait by foot height and speed, as captured people's is; None where that cannot be told."""
        if self.detector == "height":
            return self
        found = Analysis.of(self.recording, "height")
        try:
            found.gait.events  # noqa: B018 - worked out now, since it is what may fail
        except EventError:
            return None
        return found

    @cached_property
    def heading(self) -> Array:
        """Heading (T,) [rad] of the pelvis, low-passed at 0.7 Hz."""
        return headings(facing(self.recording, TURNING_CUTOFF))

    def turn(self, stride: Cycle) -> float:
        """Turn of the pelvis over a stride [deg], to the left positive."""
        first, last = np.interp((stride.start, stride.end), self.recording.time, self.heading)
        return float(np.degrees(last - first))

    @cached_property
    def straight(self) -> list[Cycle]:
        """Strides of both feet that turn less than 12 degrees."""
        return [stride for stride in self.gait.strides if abs(self.turn(stride)) < STRAIGHT]

    @cached_property
    def turning(self) -> list[Cycle]:
        """The other strides."""
        return [stride for stride in self.gait.strides if abs(self.turn(stride)) >= STRAIGHT]

    @cached_property
    def curves(self) -> dict[str, Array]:
        """Curves (C, 101) of the straight strides, see :data:`sandbox.measure.curves.CURVES`."""
        return body_curves(self.recording, self.straight)

    @cached_property
    def mean_curves(self) -> dict[str, Array]:
        """Their means (101,), both sides together."""
        return {name: curve.mean(axis=0) for name, curve in self.curves.items()}

    @cached_property
    def strides(self) -> dict[str, Array]:
        """Figures (C,) of :data:`STRIDE_FIELDS` for the straight strides; NaN where one cannot be measured."""
        rows = [self._figures(stride) for stride in self.straight]
        out = {key: np.array([row.get(key, math.nan) for row in rows], dtype=np.float64) for key in STRIDE_FIELDS}
        if self.recording.header.get("speed_unknown"):
            for key in SPEEDS:
                out[key] = np.full(len(rows), math.nan)
        out |= self._of_curves(len(rows))
        return out

    def mean(self, key: str) -> float:
        """Mean of a figure over the straight strides; NaN where there is none."""
        values = self.strides[key]
        values = values[np.isfinite(values)]
        return float(values.mean()) if len(values) else math.nan

    def sd(self, key: str) -> float:
        """Standard deviation of it."""
        values = self.strides[key]
        values = values[np.isfinite(values)]
        return float(values.std(ddof=1)) if len(values) > 1 else math.nan

    @cached_property
    def figures(self) -> dict[str, Any]:
        """Mean and SD over strides of every figure, symmetry, inventory, offsets of the detectors: plain Python values."""
        out: dict[str, Any] = {
            "detector": self.detector,
            "leg_m": self.gait.leg,
            "seconds": self.recording.duration - float(self.recording.time[0]) if len(self.recording) else 0.0,
            "strides": len(self.straight),
            "turning_strides": len(self.turning),
            "mean": {key: _plain(self.mean(key)) for key in STRIDE_FIELDS},
            "sd": {key: _plain(self.sd(key)) for key in STRIDE_FIELDS},
            "turning_mean": self.turning_means,
            "asymmetry_percent": {key: _plain(self.asymmetry(key)) for key in ("step_m", "stance_fraction", "toe_clearance_m")},
            "inventory_deg": inventory(self.mean_curves),
            "offsets_ms": self.offsets,
            "warnings": self.warnings,
        }
        return out

    @cached_property
    def turning_means(self) -> dict[str, float | None]:
        """Means of the figures of the strides that turn; empty where none does, without distances on a belt of unknown speed."""
        rows = [self._figures(stride) for stride in self.turning]
        unknown = SPEEDS if self.recording.header.get("speed_unknown") else ()
        keys = [key for key in rows[0] if key not in unknown] if rows else []
        return {key: _plain(float(np.mean([row[key] for row in rows]))) for key in keys}

    def asymmetry(self, key: str) -> float:
        """Difference between left and right over their mean [%] (Robinson et al. 1987, J Manipulative Physiol Ther 10:172)."""
        feet = np.array([stride.foot for stride in self.straight])
        values = self.strides[key]
        sides = [values[(feet == foot) & np.isfinite(values)] for foot in (0, 1)]
        if not all(len(side) for side in sides):
            return math.nan
        left, right = (float(side.mean()) for side in sides)
        middle = 0.5 * (left + right)
        return 100 * abs(left - right) / abs(middle) if middle else math.nan

    @cached_property
    def offsets(self) -> dict[str, dict[str, float | None]]:
        """By how much the events of the other detectors come after these [ms]; only detectors that can be used are there."""
        out: dict[str, dict[str, float | None]] = {}
        others: dict[Detector, GaitEvents] = {}
        for detector in OTHERS:
            with contextlib.suppress(EventError):
                others[detector] = detect(self.recording, detector)
        others.pop(self.detector, None)
        for name, other in others.items():
            offsets = event_offsets(self.gait.events, other)
            out[name] = {event: _plain(1000 * value) for event, value in offsets.items()}
            out[name]["stance_fraction"] = _plain(
                float(np.mean([s.stance_fraction for s in found])) if (found := cycles(other, self.gait.start, self.gait.end)) else math.nan
            )
        return out

    @cached_property
    def warnings(self) -> list[str]:
        """What was amiss with the file, and what could not be measured and why."""
        header = self.recording.header
        out = list(header.get("warnings") or [])
        if header.get("speed_unknown"):
            out.append("the subject walks on a belt of unknown speed: speed and distances are unknown, give --belt-speed")
        slide = self._slide()
        if slide > MOST_SLIDE:
            out.append(
                f"planted feet move {1000 * slide * self.gait.leg:.0f} mm in the middle of stance, people's at most "
                f"{1000 * MOST_SLIDE * self.gait.leg:.0f}: is the skeleton another subject's, or the belt's speed wrong?"
            )
        if not self.gait.strides:
            moved = self.recording.point("mid_hip")[[0, -1], :2]
            speed = float(np.linalg.norm(moved[1] - moved[0])) / max(self.recording.duration, 1e-9)
            if speed < 2 * WALKING_SPEED:
                out.append(f"no stride was found: the body moves {speed:.2f} m/s on average, it stands")
            elif header.get("belt_speed_mps") and len(cycles(detect(self.recording, "zeni"))) > 2:
                out.append(
                    f"no stride was found by {self.detector}, though Zeni's rule finds some: is the belt's speed of "
                    f"{header['belt_speed_mps']:g} m/s right?"
                )
            else:
                out.append(f"no whole stride was found in {self.recording.duration:.1f} s: give a longer clip")
        elif not self.straight:
            out.append(f"all {len(self.gait.strides)} strides turn {STRAIGHT:g} degrees or more: curves are of straight strides alone")
        return out

    def _slide(self) -> float:
        """Median distance [leg lengths] that a planted toe base moves in the middle of stance; 0 where it says nothing."""
        recording = self.recording
        if recording.header.get("plant") != "capture" or recording.header.get("speed_unknown") or len(self.straight) < LEAST_SLIDES:
            return 0.0
        if self.mean("speed_mps") > FASTEST_WALK:
            return 0.0
        moved = []
        for stride in self.straight:
            times = tuple(stride.start + share * (stride.liftoff - stride.start) for share in PLANTED)
            first, last = self._at(f"{FEET[stride.foot]}_toe_base", times)
            moved.append(float(np.linalg.norm(last - first)))
        return float(np.median(moved)) / self.gait.leg

    # -- one stride ------------------------------------------------------------------------------------------------------

    def _figures(self, stride: Cycle) -> dict[str, float]:
        recording, leg, period = self.recording, self.gait.leg, stride.time
        hips = self._at("mid_hip", (stride.start, stride.end))
        moved = hips[1] - hips[0]
        speed = float(np.hypot(moved[0], moved[1])) / period
        if speed * period > 0.2:
            forward = moved * np.array([1.0, 1.0, 0.0]) / np.hypot(moved[0], moved[1])
        else:
            row = min(int(np.searchsorted(recording.time, stride.start)), len(recording) - 1)
            forward = self.gait.facing.forward[row]
        right = np.array([forward[1], -forward[0], 0.0])
        mine, other = (self._foot(foot) for foot in (stride.foot, 1 - stride.foot))
        first, last = self._at(mine, (stride.start + PLACED * period, stride.end + PLACED * period))
        between = self._at(other, (stride.other_touchdown + PLACED * period,))[0]
        length = float(np.hypot(*(last - first)[:2]))
        step = float((between - first) @ forward)
        width = float((between - first) @ right) * (1 if stride.foot == 0 else -1)
        flight = max(0.0, stride.other_touchdown - stride.liftoff) + max(0.0, stride.start - stride.other_liftoff)
        out = {
            "speed_mps": speed,
            "froude": speed**2 / (GRAVITY * leg),
            "cadence_spm": 120.0 / period,
            "stride_m": length,
            "stride_leg": length / leg,
            "step_m": step,
            "step_leg": step / leg,
            "step_width_m": width,
            "step_width_leg": width / leg,
            "stance_fraction": stride.stance_fraction,
            "double_support_fraction": stride.double_support_fraction,
            "flight_fraction": flight / period,
            "turn_deg": self.turn(stride),
        }
        clearance = self._clearance(stride)
        out |= {"toe_clearance_m": clearance, "toe_clearance_leg": clearance / leg}
        if "head" in recording.header["point_names"]:
            rows = slice(*np.searchsorted(recording.time, (stride.start, stride.end)))
            side = recording.point("head")[rows] @ right
            out["head_sway_leg"] = float(np.ptp(side - np.linspace(side[0], side[-1], len(side)))) / leg
        return out

    def _of_curves(self, count: int) -> dict[str, Array]:
        """Figures that are read from the curves of each stride."""
        out = {}
        if {"pelvis_obliquity", "shoulder_obliquity"} <= self.curves.keys():
            pelvis, shoulders = (
                self.curves[name] - self.curves[name].mean(axis=1, keepdims=True) for name in ("pelvis_obliquity", "shoulder_obliquity")
            )
            square = np.sum(pelvis**2, axis=1)
            # Least squares: shoulders = (1 - undone) x pelvis.
            carried = np.divide(np.sum(pelvis * shoulders, axis=1), square, out=np.full(count, math.nan), where=square > 0)
            out["obliquity_undone"] = 1 - carried
        if "upper_arm" in self.curves:
            out["arm_timing"] = self.curves["upper_arm"][:, :-1].argmax(axis=1) / 100.0
        return out

    def _foot(self, foot: int) -> str:
        name = f"{FEET[foot]}_heel"
        return name if name in self.recording.header["point_names"] else f"{FEET[foot]}_ankle"

    def _at(self, name: str, times: tuple[float, ...]) -> Array:
        path, time = self.recording.point(name), self.recording.time
        return np.stack([np.interp(times, time, path[:, axis]) for axis in range(3)], axis=1)

    @cached_property
    def _toes(self) -> tuple[Array, Array]:
        """Heights (T,) [m] of the left and the right toe tip (or toe base) over the local floor."""
        recording, rate = self.recording, 1 / self.recording.interval
        window = floor_window([stride.time for stride in self.gait.strides])
        heights = []
        for side in FEET:
            name = next(n for n in (f"{side}_toe_tip", f"{side}_toe_base") if n in recording.header["point_names"])
            height = lowpass(recording.point(name)[:, 2], POINT_CUTOFF, rate)
            heights.append(height - local_floor(height, rate, window))
        return heights[0], heights[1]

    def _clearance(self, stride: Cycle) -> float:
        swing = stride.end - stride.liftoff
        a, b = np.searchsorted(self.recording.time, [stride.liftoff + share * swing for share in MID_SWING])
        return float(self._toes[stride.foot][a:b].min()) if b > a else math.nan


def pooled(analyses: list[Analysis]) -> dict[str, Array]:
    """Figures and curves of the straight strides of several recordings of one detector: (C,) and (C, 101) by name.

    A curve that one of them lacks is left out.

    Raises:
        EventError: of different detectors.
        GaitError: no stride in any.
    """
    kinds = sorted({a.detector for a in analyses})
    if len(kinds) > 1:
        raise EventError(f"events by {' and '.join(kinds)} cannot be pooled: use one detector")
    walked = [a for a in analyses if a.straight]
    if not walked:
        raise GaitError("no straight stride in any of the recordings")
    out = {key: np.concatenate([a.strides[key] for a in walked]) for key in STRIDE_FIELDS}
    names = set.intersection(*(set(a.curves) for a in walked))
    return out | {name: np.concatenate([a.curves[name] for a in walked]) for name in walked[0].curves if name in names}


def pooled_figures(analyses: list[Analysis]) -> dict[str, Any]:
    """Detector, files and strides, mean and SD of :data:`STRIDE_FIELDS` over the straight strides of several recordings together.

    Raises:
        EventError: of different detectors.
        GaitError: no stride in any.
    """
    found = pooled(analyses)
    values = {key: found[key][np.isfinite(found[key])] for key in STRIDE_FIELDS}
    return {
        "detector": analyses[0].detector,
        "files": sum(bool(a.straight) for a in analyses),
        "strides": sum(len(a.straight) for a in analyses),
        "mean": {key: float(v.mean()) if len(v) else None for key, v in values.items()},
        "sd": {key: float(v.std(ddof=1)) if len(v) > 1 else None for key, v in values.items()},
    }


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
