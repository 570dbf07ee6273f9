"""The summary of a run: one flat dict of plain numbers, null where something could not be measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.balance import lateral_margins
from sandbox.measure.cycle import Cycle, cycles
from sandbox.measure.events import Detector, GaitEvents, detect, gait_events
from sandbox.measure.forces import transport_cost, vertical_force
from sandbox.measure.signals import Facing, along, facing
from sandbox.measure.steps import Placement, Steps, placements, stance_slips, steps
from sandbox.mechanics import froude_number
from sandbox.recording import Recording
from sandbox.state import FEET

Array = NDArray[np.float64]

SETTLED = 8.0  # [s]: gait figures are taken over strides that begin after this
SETTLED_SHARE = 0.4  # of a recording that is too short for that
SPEED_SPAN = 50.0  # [s]: mean speed is taken over the last of these
WALKING_SPEED = 0.05  # [m/s]: slower is standing, and figures per distance are null


class Field(NamedTuple):
    """One key of a summary: its unit and what it says."""

    unit: str
    meaning: str


SUMMARY_FIELDS: dict[str, Field] = {
    "fell": Field("", "whether the body fell"),
    "fall_cause": Field("", "what ended the walk; null without a fall"),
    "survived_s": Field("s", "time until the fall, or the length of the recording"),
    "speed_command_mps": Field("m/s", "mean commanded speed where mean speed is taken"),
    "speed_mean_mps": Field("m/s", "mean speed in the direction faced, over the last 50 s after the first 8 s"),
    "distance_m": Field("m", "distance covered in the direction faced, from start to end or fall"),
    "cadence_spm": Field("steps/min", "steps a minute"),
    "step_length_m": Field("m", "distance between successive placements of left and right foot, in the direction faced"),
    "stride_leg": Field("leg lengths", "stride length over leg length"),
    "stance_fraction": Field("", "touchdown to lift-off of one foot, as a fraction of its cycle"),
    "double_support_fraction": Field("", "both feet on the ground, both double supports together, as a fraction of the cycle"),
    "foot_slip_m": Field("m", "how far the loaded sole slides over the ground in one stance, mean"),
    "touchdowns": Field("", "touchdowns from start to end, bounces and scuffs not counted"),
    "touchdown_lead_ms": Field("ms", "predicted minus actual time of touchdown, mean; positive when the ground was met early"),
    "peak_torque_nm": Field("N m", "largest joint torque from start to end; null where none was applied"),
    "grf_peak_bw": Field("body weights", "largest vertical ground force of one foot (20 Hz zero-lag low-pass)"),
    "com_height_m": Field("m", "mean height of the centre of mass over the ground"),
    "margin_of_stability_m": Field(
        "m", "least lateral distance of the XCoM inside the edge of the stance foot in single support, mean over strides"
    ),
    "cost_of_transport": Field("", "positive plus magnitude of negative joint work over weight x distance"),
    "step_width_m": Field("m", "lateral distance between successive placements; negative when the feet cross"),
    "froude": Field("", "mean speed squared over g x leg length"),
    "leg_m": Field("m", "leg length: hip joint centre to sole, straight leg"),
    "body_mass_kg": Field("kg", "mass of the body"),
    "height_m": Field("m", "height of the body"),
    "params": Field("", "name and hash of the controller's parameters"),
    "version": Field("", "version that made the recording"),
    "seed": Field("", "seed of the run"),
    "cpu_s": Field("s", "CPU time of the run"),
    "engine_cpu_s": Field("s", "CPU time inside the physics engine"),
}


@dataclass(frozen=True)
class Gait:
    """A recording and what its measures share, each worked out once.

    Gait figures are taken between :attr:`start` and :attr:`end`: after the first 8 s (of a recording under 20 s, after
    the first 40 %) and up to a fall.
    """

    recording: Recording
    detector: Detector | None = None  # of events; the best that the recording has by default

    @cached_property
    def end(self) -> float:
        """Time of the fall, or of the last row [s]."""
        fall = self.recording.header.get("fall") or {}
        time = fall.get("time_s") if fall.get("fell") else None
        return min(float(time), self.recording.duration) if time is not None else self.recording.duration

    @cached_property
    def start(self) -> float:
        """Where gait figures begin [s]: a clip of motion capture is walked in from its first frame."""
        first = float(self.recording.time[0]) if len(self.recording) else 0.0
        if self.recording.header.get("plant") == "capture":
            return first
        return first + min(SETTLED, SETTLED_SHARE * (self.end - first))

    @cached_property
    def events(self) -> GaitEvents:
        return gait_events(self.recording) if self.detector is None else detect(self.recording, self.detector)

    @cached_property
    def facing(self) -> Facing:
        return facing(self.recording)

    @cached_property
    def strides(self) -> list[Cycle]:
        return cycles(self.events, self.start, self.end)

    @cached_property
    def placed(self) -> list[Placement]:
        """Complete stances from :attr:`start` to :attr:`end`."""
        return [p for p in placements(self.recording, self.events, self.start, self.end) if p.end <= self.end]

    @cached_property
    def steps(self) -> Steps:
        return steps(self.placed, self.recording.time, self.facing)

    @cached_property
    def progress(self) -> Array:
        """Distance (T,) [m] covered in the direction faced since the first row."""
        moved = np.diff(self.recording.point("mid_hip"), axis=0)
        between = (self.facing.forward[1:] + self.facing.forward[:-1]) / 2
        return np.concatenate(([0.0], np.cumsum(along(moved, between))))

    def rows(self, start: float, end: float) -> slice:
        """Rows from ``start`` to ``end`` [s], both included."""
        time = self.recording.time
        return slice(int(np.searchsorted(time, start)), int(np.searchsorted(time, end, side="right")))

    @cached_property
    def speed_rows(self) -> slice:
        """Rows over which mean speed is taken."""
        return self.rows(max(self.start, self.end - SPEED_SPAN), self.end)

    @cached_property
    def speed(self) -> float:
        """Mean speed in the direction faced [m/s]; NaN without two rows."""
        progress, time = self.progress[self.speed_rows], self.recording.time[self.speed_rows]
        return float((progress[-1] - progress[0]) / (time[-1] - time[0])) if len(time) > 1 else math.nan

    @cached_property
    def leg(self) -> float:
        """Leg length [m]."""
        return float(self.recording.header["body"]["leg_m"])

    @cached_property
    def cadence(self) -> float:
        """[steps/min]; NaN without a stride."""
        return 120.0 / float(np.mean([stride.time for stride in self.strides])) if self.strides else math.nan

    @cached_property
    def leads(self) -> Array:
        """Predicted minus actual time (E,) [s] of the touchdowns that had a prediction."""
        if not self.recording.has("event_predicted"):
            return np.empty(0)
        index = np.concatenate([contacts.first for contacts in self.events.feet])
        index = index[index >= 0]
        time = self.recording.event_time[index]
        index = index[(time >= self.start) & (time <= self.end)]
        lead = self.recording.event_predicted[index] - self.recording.event_time[index]
        return np.asarray(lead[np.isfinite(lead)])

    @cached_property
    def com_height(self) -> Array:
        """Height (T,) [m] of the centre of mass over the lowest point of the soles that are on the ground."""
        recording = self.recording
        soles = np.stack(
            [np.min([recording.point(f"{side}_{name}")[:, 2] for name in ("heel", "toe_base", "toe_tip")], axis=0) for side in FEET],
            axis=1,
        )
        soles[recording.contact_state == 0] = np.inf
        ground = soles.min(axis=1)
        known = np.isfinite(ground)
        if not known.any():
            return np.full(len(ground), np.nan)
        return np.asarray(recording.com[:, 2] - np.interp(recording.time, recording.time[known], ground[known]))


def summary(recording: Recording | Gait) -> dict[str, Any]:
    """The figures of :data:`SUMMARY_FIELDS`, as plain Python values; None where one cannot be measured.

    Of an empty recording, or of one that fell before its first stride, the gait figures are None.
    """
    gait = recording if isinstance(recording, Gait) else Gait(recording)
    recording = gait.recording
    header = recording.header
    body, fall, cpu = header["body"], header.get("fall") or {}, header.get("cpu") or {}
    out: dict[str, Any] = dict.fromkeys(SUMMARY_FIELDS)
    out |= {
        "fell": bool(fall.get("fell")),
        "fall_cause": fall.get("cause"),
        "survived_s": gait.end,
        "leg_m": body["leg_m"],
        "body_mass_kg": body["mass_kg"],
        "height_m": body["height_m"],
        "params": header.get("params"),
        "version": header.get("version"),
        "seed": header.get("seed"),
        "cpu_s": cpu.get("total_s"),
        "engine_cpu_s": cpu.get("engine_s"),
    }
    if len(recording) > 1:
        out |= _measured(gait)
    return {key: _plain(value) for key, value in out.items()}


def _measured(gait: Gait) -> dict[str, Any]:
    recording, strides = gait.recording, gait.strides
    rows, whole = gait.rows(gait.start, gait.end), gait.rows(-math.inf, gait.end)
    out: dict[str, Any] = {
        "speed_mean_mps": gait.speed,
        "distance_m": gait.progress[whole][-1],
        "cadence_spm": gait.cadence,
        "step_length_m": mean(gait.steps.length),
        "stride_leg": mean(gait.steps.stride) / gait.leg,
        "stance_fraction": mean([s.stance_fraction for s in strides]),
        "double_support_fraction": mean([s.double_support_fraction for s in strides]),
        "touchdowns": sum(int((gait.events.touchdowns(foot) <= gait.end).sum()) for foot in (0, 1)),
        "touchdown_lead_ms": 1000 * mean(gait.leads),
        "step_width_m": mean(gait.steps.width),
        "froude": froude_number(gait.speed, gait.leg),
    }
    if recording.has("command"):
        out["speed_command_mps"] = mean(recording.command[gait.speed_rows, 0])
    if recording.has("ground_force") and recording.ground_force[whole, :, 2].any():
        out["grf_peak_bw"] = vertical_force(recording)[rows].max()
    if recording.has("contact_state", "ground_force", "sole_load", "centre_of_pressure"):
        out["foot_slip_m"] = mean(stance_slips(recording, gait.placed))
    if recording.has("com", "contact_state"):
        out["com_height_m"] = mean(gait.com_height[rows])
    if recording.has("xcom"):
        out["margin_of_stability_m"] = mean(lateral_margins(recording, strides, gait.facing))
    if recording.has("tau", "qd") and recording.tau[whole].any():
        out["peak_torque_nm"] = np.abs(recording.tau[whole]).max()
        distance = gait.progress[rows][-1] - gait.progress[rows][0]
        if gait.speed > WALKING_SPEED:
            out["cost_of_transport"] = transport_cost(recording, rows, distance)[0]
    return out


def mean(values: Any) -> float:
    """Mean of what is finite; NaN of nothing."""
    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    return float(array.mean()) if array.size else math.nan


def _plain(value: Any) -> Any:
    """JSON form: numpy's numbers as Python's, and None for what is not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
