"""A gait held against people: joint curves against 24 adults, cadence against two laws, ground force, foot contact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.angles import LegAngles, leg_angles, trunk_lean
from sandbox.measure.balance import fore_aft_margins, lateral_margins
from sandbox.measure.cycle import cycle_curves, cycles
from sandbox.measure.events import zeni_events
from sandbox.measure.forces import push_offs, stance_forces, transport_cost, two_peaks
from sandbox.measure.gait import WALKING_SPEED, Field, Gait, mean
from sandbox.measure.norms import klaw_cadence, wbds_cadence, wbds_stride_leg, young_adults
from sandbox.measure.steps import stance_slips, toe_clearance
from sandbox.mechanics import froude_number
from sandbox.recording import Recording
from sandbox.state import SolePart

Array = NDArray[np.float64]

# Parts of the cycle [%] in which the knee's loading peak, its mid-stance minimum and its swing peak are looked for. In the
# 24 adults they come at 13, 41 and 74 %.
KNEE_LOADING = (5, 25)
KNEE_MIDSTANCE = (25, 50)
KNEE_SWING = (55, 95)

CADENCE_TOLERANCE = 0.03  # by which a cadence may leave the range between the two laws

REPORT_FIELDS: dict[str, Field] = {
    "events": Field("", "where touchdowns come from: recorded, force or points"),
    "strides": Field("", "strides measured, both feet"),
    "speed_mps": Field("m/s", "mean speed in the direction faced"),
    "froude": Field("", "mean speed squared over g x leg length"),
    "rms_hip_deg": Field("deg", "mean curve against the mean of 24 adults, root mean square over the cycle: thigh against vertical"),
    "rms_knee_deg": Field("deg", "the same: knee"),
    "rms_ankle_deg": Field("deg", "the same: ankle"),
    "rms_mean_deg": Field("deg", "mean of the three"),
    "rms_hip_shape_deg": Field("deg", "the same with the mean of both curves removed: hip"),
    "rms_knee_shape_deg": Field("deg", "the same: knee"),
    "rms_ankle_shape_deg": Field("deg", "the same: ankle"),
    "rms_mean_shape_deg": Field("deg", "mean of the three"),
    "knee_loading_deg": Field("deg", "knee flexion: peak from 5 to 25 % of the cycle"),
    "knee_midstance_deg": Field("deg", "knee flexion: least from 25 to 50 %"),
    "knee_yield_deg": Field("deg", "knee_loading_deg less knee_midstance_deg"),
    "knee_swing_deg": Field("deg", "knee flexion: peak from 55 to 95 %"),
    "hip_range_deg": Field("deg", "range of the thigh against vertical over the mean cycle"),
    "ankle_range_deg": Field("deg", "range of the ankle over the mean cycle"),
    "foot_pitch_touchdown_deg": Field("deg", "pitch of the sole at touchdown, toes up positive, mean"),
    "trunk_lean_deg": Field("deg", "forward lean of mid-hip to neck, mean"),
    "stance_fraction": Field("", "of the cycle"),
    "double_support_fraction": Field("", "of the cycle, both double supports together"),
    "stance_fraction_zeni": Field("", "by Zeni's events, which read more than contact"),
    "zeni_touchdown_ms": Field("ms", "Zeni's heel strike minus touchdown, mean; negative when Zeni's comes first"),
    "grf_landing_bw": Field("body weights", "first peak of the mean vertical force over stance (20 Hz zero-lag low-pass)"),
    "grf_valley_bw": Field("body weights", "valley between"),
    "grf_push_off_bw": Field("body weights", "second peak"),
    "grf_two_peaks": Field("", "whether each peak of the mean curve is at least 0.05 body weight above the valley"),
    "grf_two_peaks_share": Field("", "share of stances of which that is true"),
    "grf_landing_max_bw": Field("body weights", "largest first peak of any stance"),
    "heel_first_share": Field("", "share of touchdowns that begin with the heel"),
    "toe_last_share": Field("", "share of lift-offs that end with the toes"),
    "cadence_spm": Field("steps/min", "steps a minute"),
    "cadence_klaw_spm": Field("steps/min", "of KLAW's law at this speed and height: step length = 0.004 x cadence x height"),
    "cadence_wbds_spm": Field("steps/min", "of young adults at this Froude number: stride / leg = 2.217 Fr^0.246"),
    "cadence_in_range": Field("", "whether cadence lies between the two laws, 3 % beyond allowed"),
    "stride_leg": Field("leg lengths", "stride length over leg length"),
    "stride_wbds_leg": Field("leg lengths", "the same of young adults at this Froude number"),
    "stride_time_sd_ms": Field("ms", "standard deviation of stride time"),
    "step_length_sd_m": Field("m", "standard deviation of step length"),
    "touchdown_lead_ms": Field("ms", "predicted minus actual time of touchdown, mean; positive when the ground was met early"),
    "touchdown_lead_sd_ms": Field("ms", "standard deviation of it"),
    "foot_slip_m": Field("m", "how far the loaded sole slides in one stance, mean"),
    "foot_slip_max_m": Field("m", "the same, largest"),
    "toe_clearance_m": Field("m", "least height of the toe tip in mid-swing, mean"),
    "margin_lateral_m": Field("m", "least lateral margin of stability in single support, mean"),
    "margin_lateral_min_m": Field("m", "the same, least of any stride"),
    "margin_fore_aft_m": Field("m", "XCoM to the landing heel at touchdown, forward positive, mean; negative in steady walking"),
    "cost_of_transport": Field("", "positive plus magnitude of negative joint work over weight x distance"),
    "cost_of_transport_positive": Field("", "positive joint work alone"),
    "push_off_moment_nmpkg": Field("N m/kg", "peak plantar flexion moment of the ankle in late stance, mean"),
    "push_off_power_wpkg": Field("W/kg", "peak power of the ankle in late stance, mean"),
}


def mean_curves_deg(gait: Gait, angles: LegAngles | None = None) -> dict[str, Array]:
    """Mean curves (101,) [deg] of hip, knee, ankle and foot over the strides of both feet; NaN without a stride."""
    angles = angles or leg_angles(gait.recording)
    time = gait.recording.time
    out = {}
    for name in ("hip", "knee", "ankle", "foot"):
        curves = cycle_curves(time, getattr(angles, name), gait.strides)
        out[name] = np.degrees(curves.mean(axis=0)) if len(curves) else np.full(curves.shape[1], np.nan)
    return out


def gait_report(recording: Recording | Gait) -> dict[str, Any]:
    """The figures of :data:`REPORT_FIELDS`, as plain Python values; None where one cannot be measured."""
    gait = recording if isinstance(recording, Gait) else Gait(recording)
    out: dict[str, Any] = dict.fromkeys(REPORT_FIELDS)
    if len(gait.recording) > 1:
        out |= _timing(gait) | _curves(gait) | _contact(gait) | _effort(gait)
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in out.items()}


def _timing(gait: Gait) -> dict[str, Any]:
    recording, strides, speed = gait.recording, gait.strides, gait.speed
    body = recording.header["body"]
    froude = froude_number(speed, gait.leg)
    out: dict[str, Any] = {
        "events": gait.events.source,
        "strides": len(strides),
        "speed_mps": speed,
        "froude": froude,
        "stance_fraction": mean([s.stance_fraction for s in strides]),
        "double_support_fraction": mean([s.double_support_fraction for s in strides]),
        "cadence_spm": gait.cadence,
        "stride_leg": mean(gait.steps.stride) / gait.leg,
        "stride_time_sd_ms": 1000 * _sd([s.time for s in strides]),
        "step_length_sd_m": _sd(gait.steps.length),
        "touchdown_lead_ms": 1000 * mean(gait.leads),
        "touchdown_lead_sd_ms": 1000 * _sd(gait.leads),
    }
    if strides and speed > WALKING_SPEED:
        klaw, wbds = klaw_cadence(speed, float(body["height_m"])), wbds_cadence(speed, gait.leg)
        low, high = min(klaw, wbds) * (1 - CADENCE_TOLERANCE), max(klaw, wbds) * (1 + CADENCE_TOLERANCE)
        out |= {
            "cadence_klaw_spm": klaw,
            "cadence_wbds_spm": wbds,
            "cadence_in_range": low <= gait.cadence <= high,
            "stride_wbds_leg": wbds_stride_leg(froude),
        }
    if strides:
        zeni = zeni_events(recording)
        theirs = cycles(zeni, gait.start, gait.end)
        out["stance_fraction_zeni"] = mean([s.stance_fraction for s in theirs])
        offsets = [_nearest(zeni.touchdowns(s.foot), s.start) for s in strides]
        out["zeni_touchdown_ms"] = 1000 * mean([offset for offset in offsets if abs(offset) < 0.25])
    return out


def _curves(gait: Gait) -> dict[str, Any]:
    if not gait.strides:
        return {}
    recording, norm = gait.recording, young_adults()
    angles = leg_angles(recording)
    curves = mean_curves_deg(gait, angles)
    out: dict[str, Any] = {}
    for name, band in (("hip", norm.hip), ("knee", norm.knee), ("ankle", norm.ankle)):
        difference = curves[name] - band.mean_deg
        out[f"rms_{name}_deg"] = _rms(difference)
        out[f"rms_{name}_shape_deg"] = _rms(difference - difference.mean())
    for kind in ("", "_shape"):
        out[f"rms_mean{kind}_deg"] = mean([out[f"rms_{name}{kind}_deg"] for name in ("hip", "knee", "ankle")])
    knee = curves["knee"]
    loading, midstance = float(_part(knee, KNEE_LOADING).max()), float(_part(knee, KNEE_MIDSTANCE).min())
    pitch = [np.interp(s.start, recording.time, angles.foot[:, s.foot]) for s in gait.strides]
    return out | {
        "knee_loading_deg": loading,
        "knee_midstance_deg": midstance,
        "knee_yield_deg": loading - midstance,
        "knee_swing_deg": float(_part(knee, KNEE_SWING).max()),
        "hip_range_deg": float(np.ptp(curves["hip"])),
        "ankle_range_deg": float(np.ptp(curves["ankle"])),
        "foot_pitch_touchdown_deg": math.degrees(mean(pitch)),
        "trunk_lean_deg": math.degrees(mean(trunk_lean(recording)[gait.rows(gait.start, gait.end)])),
    }


def _contact(gait: Gait) -> dict[str, Any]:
    recording = gait.recording
    out: dict[str, Any] = {
        "heel_first_share": _part_share(gait, "first", SolePart.HEEL),
        "toe_last_share": _part_share(gait, "last", SolePart.TOE),
    }
    if recording.has("ground_force") and recording.ground_force[..., 2].any() and gait.placed:
        stances = stance_forces(recording, gait.placed)
        each = [two_peaks(stance) for stance in stances]
        average = two_peaks(stances.mean(axis=0))
        out |= {
            "grf_landing_bw": average.landing,
            "grf_valley_bw": average.valley,
            "grf_push_off_bw": average.push_off,
            "grf_two_peaks": average.distinct,
            "grf_two_peaks_share": mean([peaks.distinct for peaks in each]),
            "grf_landing_max_bw": max(peaks.landing for peaks in each),
        }
    if recording.has("contact_state", "ground_force", "sole_load", "centre_of_pressure") and gait.placed:
        slips = stance_slips(recording, gait.placed)
        out |= {"foot_slip_m": mean(slips), "foot_slip_max_m": float(slips.max())}
    if gait.strides:
        out["toe_clearance_m"] = mean(toe_clearance(recording, gait.strides))
    if recording.has("xcom") and gait.strides:
        lateral = lateral_margins(recording, gait.strides, gait.facing)
        out["margin_lateral_m"] = mean(lateral)
        out["margin_lateral_min_m"] = float(lateral.min()) if len(lateral) else math.nan
        out["margin_fore_aft_m"] = mean(fore_aft_margins(recording, gait.strides, gait.facing))
    return out


def _effort(gait: Gait) -> dict[str, Any]:
    recording = gait.recording
    if not recording.has("tau", "qd") or not recording.tau.any():
        return {}
    out: dict[str, Any] = {}
    rows = gait.rows(gait.start, gait.end)
    if gait.speed > WALKING_SPEED:
        distance = float(gait.progress[rows][-1] - gait.progress[rows][0])
        out["cost_of_transport"], out["cost_of_transport_positive"] = transport_cost(recording, rows, distance)
    if "left_ankle_dorsiflexion" in recording.header["joint_names"]:
        pushes = push_offs(recording, gait.strides)
        out["push_off_moment_nmpkg"] = mean([push.moment for push in pushes])
        out["push_off_power_wpkg"] = mean([push.power for push in pushes])
    return out


def _part_share(gait: Gait, which: str, part: SolePart) -> float:
    """Share of the touchdowns (``first``) or lift-offs (``last``) in the measured time that happened over ``part``."""
    if gait.events.source != "recorded":
        return math.nan
    index = np.concatenate([getattr(contacts, which) for contacts in gait.events.feet])
    index = index[index >= 0]
    time = gait.recording.event_time[index]
    index = index[(time >= gait.start) & (time <= gait.end)]
    return mean(gait.recording.event_part[index] == part)


def _nearest(times: Array, time: float) -> float:
    """Difference [s] from ``time`` to the nearest of ``times``; NaN without any."""
    return float(times[np.argmin(np.abs(times - time))] - time) if len(times) else math.nan


def _part(curve: Array, percent: tuple[int, int]) -> Array:
    return curve[percent[0] : percent[1] + 1]


def _rms(values: Array) -> float:
    return math.sqrt(float(np.mean(values**2)))


def _sd(values: Any) -> float:
    array = np.asarray(values, dtype=np.float64)
    return float(array.std(ddof=1)) if array.size > 1 else math.nan
