"""Each figure of the summary and of the report against a walker of which it is known."""

from __future__ import annotations

import json
import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sandbox.measure import REPORT_FIELDS, SUMMARY_FIELDS, Gait, gait_report, klaw_cadence, summary, wbds_cadence, young_adults
from sandbox.measure.forces import joint_power, two_peaks
from sandbox.measure.norms import Norm
from sandbox.recording import Recording

# The keys that a summary must have.
KEYS = [
    "fell",
    "fall_cause",
    "survived_s",
    "speed_command_mps",
    "speed_mean_mps",
    "distance_m",
    "cadence_spm",
    "step_length_m",
    "stride_leg",
    "stance_fraction",
    "double_support_fraction",
    "foot_slip_m",
    "touchdowns",
    "touchdown_lead_ms",
    "peak_torque_nm",
    "grf_peak_bw",
    "com_height_m",
    "margin_of_stability_m",
    "cost_of_transport",
    "step_width_m",
    "froude",
    "leg_m",
    "body_mass_kg",
    "height_m",
    "params",
    "version",
    "seed",
    "cpu_s",
    "engine_cpu_s",
]


@pytest.fixture(scope="module")
def known(walker: ModuleType) -> Any:
    return walker.Walker(seconds=30)


@pytest.fixture(scope="module")
def figures(known: Any) -> dict[str, Any]:
    return summary(known.record())


@pytest.fixture(scope="module")
def report(known: Any) -> dict[str, Any]:
    return gait_report(known.record())


def test_the_summary_has_exactly_its_keys_and_is_json(figures: dict[str, Any]) -> None:
    assert list(figures) == KEYS == list(SUMMARY_FIELDS)
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures
    assert all(field.meaning for field in SUMMARY_FIELDS.values())
    for key, field in SUMMARY_FIELDS.items():
        for ending, unit in {
            "_mps": "m/s",
            "_m": "m",
            "_s": "s",
            "_ms": "ms",
            "_nm": "N m",
            "_kg": "kg",
            "_spm": "steps/min",
            "_bw": "body weights",
        }.items():
            if key.endswith(ending):
                assert field.unit == unit, key


def test_summary_of_known_gait(known: Any, figures: dict[str, Any]) -> None:
    w = known
    assert figures["fell"] is False
    assert figures["survived_s"] == 30.0
    assert figures["speed_mean_mps"] == pytest.approx(w.speed, rel=1e-3)
    assert figures["speed_command_mps"] == pytest.approx(w.speed)
    assert figures["distance_m"] == pytest.approx(w.speed * 30, rel=1e-3)
    assert figures["cadence_spm"] == pytest.approx(w.cadence)
    assert figures["step_length_m"] == pytest.approx(w.step_length, rel=1e-3)
    assert figures["stride_leg"] == pytest.approx(2 * w.step_length / figures["leg_m"], rel=1e-6)
    assert figures["stance_fraction"] == pytest.approx(w.stance)
    assert figures["double_support_fraction"] == pytest.approx(2 * w.stance - 1)
    assert figures["step_width_m"] == pytest.approx(w.width, abs=1e-3)
    assert figures["touchdown_lead_ms"] == pytest.approx(1000 * w.lead)
    assert figures["touchdowns"] == sum(0 < w.touchdown(foot, k) <= 30 for foot in (0, 1) for k in range(100))
    assert figures["froude"] == pytest.approx(w.speed**2 / (9.81 * figures["leg_m"]), rel=2e-3)
    assert figures["margin_of_stability_m"] == pytest.approx(w.xcom_inside, abs=5e-4)
    assert figures["peak_torque_nm"] == pytest.approx(w.plantar_moment * w.mass, rel=0.01)
    assert figures["foot_slip_m"] < 1e-4
    mean_height = 0.08 + known.points(0.0)["mid_hip"][2]
    assert figures["com_height_m"] == pytest.approx(mean_height, abs=0.04)
    stances = np.array([w.force(s) for s in np.linspace(0, 1, 1001)])
    assert figures["grf_peak_bw"] == pytest.approx(stances.max(), rel=0.02)
    assert (figures["cpu_s"], figures["engine_cpu_s"]) == (1.5, 0.5)


@pytest.mark.parametrize("heading", [0.0, 0.7, -2.5, math.pi])
def test_figures_do_not_depend_on_where_the_walk_leads(walker: ModuleType, heading: float, figures: dict[str, Any]) -> None:
    turned = summary(walker.Walker(seconds=30, heading=heading).record())
    for key in ("speed_mean_mps", "step_length_m", "step_width_m", "margin_of_stability_m", "foot_slip_m", "distance_m"):
        assert turned[key] == pytest.approx(figures[key], abs=1e-9), key


def test_a_walk_in_a_circle_is_measured_along_it(walker: ModuleType) -> None:
    w = walker.Walker(seconds=30)
    recording, radius = w.record(), 2.7  # 0.42 rad/s to the left
    for name in ("points", "com", "xcom"):
        path = recording.columns[name]
        angle, out = path[..., 1] / radius, radius + path[..., 0]
        path[..., 0], path[..., 1] = out * np.cos(angle) - radius, out * np.sin(angle)
    figures = summary(recording)
    assert figures["speed_mean_mps"] == pytest.approx(w.speed, rel=0.02)
    assert figures["step_length_m"] == pytest.approx(w.step_length, rel=0.02)
    assert figures["stride_leg"] == pytest.approx(2 * w.step_length / figures["leg_m"], rel=0.02)
    assert figures["step_width_m"] == pytest.approx(w.width, abs=0.01)
    assert figures["cadence_spm"] == pytest.approx(w.cadence)


def test_slip_is_the_distance_slid(walker: ModuleType) -> None:
    w = walker.Walker(seconds=20, slide=0.02)
    report = gait_report(w.record())
    # The first and last few percent of stance carry less than 0.05 body weight, and do not count.
    assert report["foot_slip_m"] == pytest.approx(0.02, rel=0.1)
    assert report["foot_slip_max_m"] == pytest.approx(0.02, rel=0.1)
    unloaded = w.record()
    unloaded.columns["ground_force"][:] = 0
    assert gait_report(unloaded)["foot_slip_m"] == pytest.approx(0.02, rel=0.25), "by the nominal points alone"


def test_force_and_contact_of_known_gait(known: Any, report: dict[str, Any]) -> None:
    curve = np.array([known.force(s) for s in np.linspace(0, 1, 1001)])
    valley = curve[400:600].min()
    assert report["grf_landing_bw"] == pytest.approx(curve.max(), rel=0.02)
    assert report["grf_push_off_bw"] == pytest.approx(curve.max(), rel=0.02)
    assert report["grf_valley_bw"] == pytest.approx(valley, rel=0.02)
    assert report["grf_two_peaks"] is True
    assert report["grf_two_peaks_share"] == 1.0
    assert (report["heel_first_share"], report["toe_last_share"]) == (1.0, 1.0)
    assert report["foot_pitch_touchdown_deg"] == pytest.approx(math.degrees(known.pitch), abs=0.5)
    assert report["push_off_moment_nmpkg"] == pytest.approx(known.plantar_moment, rel=0.01)


@pytest.mark.parametrize(
    ("curve", "distinct"),
    [
        (lambda s: np.sin(np.pi * s), False),  # one hump
        (lambda s: np.exp(-(((s - 0.2) / 0.15) ** 2)) + 0.8, False),  # a landing peak alone
        (lambda s: 1.25 * np.sin(np.pi * s) + 0.42 * np.sin(3 * np.pi * s), True),
        (lambda s: 1.0 + 0.0 * s, False),  # standing
    ],
)
def test_two_peaks(curve: Any, distinct: bool) -> None:
    assert two_peaks(curve(np.linspace(0, 1, 101))).distinct is distinct


def test_cost_of_transport_of_known_work(known: Any) -> None:
    recording = known.record()
    recording.columns["tau"] = np.zeros_like(recording.tau)
    recording.columns["qd"] = np.zeros_like(recording.qd)
    recording.tau[:, 0], recording.qd[:, 0] = 10.0, 2.0  # 20 W
    recording.tau[:, 1], recording.qd[:, 1] = -5.0, 2.0  # -10 W
    report = gait_report(recording)
    weight_times_speed = 70 * 9.81 * known.speed
    assert joint_power(recording)[5, 0] == 20.0
    assert report["cost_of_transport"] == pytest.approx(30 / weight_times_speed, rel=2e-3)
    assert report["cost_of_transport_positive"] == pytest.approx(20 / weight_times_speed, rel=2e-3)


def angles_of(norm: Norm, hip: float = 0.0, knee: float = 0.0, ankle: float = 0.0, wave: float = 0.0) -> Any:
    """Curves of the 24 adults with offsets [deg], and a cosine of ``wave`` [deg] on the knee."""
    percent = np.linspace(0, 1, 101)

    def at(phase: float) -> tuple[float, float, float]:
        h, k, a = (float(np.interp(phase, percent, band.mean_deg)) for band in (norm.hip, norm.knee, norm.ankle))
        return tuple(np.radians((h + hip, k + knee + wave * math.cos(2 * math.pi * phase), a + ankle)))

    return at


def test_the_norm_itself_is_met(walker: ModuleType) -> None:
    report = gait_report(walker.Walker(leg_angles=angles_of(young_adults()), seconds=20).record())
    for name in ("hip", "knee", "ankle", "mean"):
        assert report[f"rms_{name}_deg"] < 0.4, name
    knee = young_adults().knee.mean_deg
    assert report["knee_loading_deg"] == pytest.approx(knee[13], abs=0.3)
    assert report["knee_midstance_deg"] == pytest.approx(knee[41], abs=0.3)
    assert report["knee_swing_deg"] == pytest.approx(knee[74], abs=0.5)
    assert report["knee_yield_deg"] == pytest.approx(knee[13] - knee[41], abs=0.5)
    assert report["hip_range_deg"] == pytest.approx(np.ptp(young_adults().hip.mean_deg), abs=0.5)


def test_an_offset_counts_but_not_in_the_shape(walker: ModuleType) -> None:
    report = gait_report(walker.Walker(leg_angles=angles_of(young_adults(), hip=3, knee=6, ankle=-4, wave=0), seconds=20).record())
    assert report["rms_hip_deg"] == pytest.approx(3, abs=0.2)
    assert report["rms_knee_deg"] == pytest.approx(6, abs=0.2)
    assert report["rms_ankle_deg"] == pytest.approx(4, abs=0.2)
    assert report["rms_mean_deg"] == pytest.approx(13 / 3, abs=0.2)
    assert report["rms_mean_shape_deg"] < 0.4
    wavy = gait_report(walker.Walker(leg_angles=angles_of(young_adults(), wave=5), seconds=20).record())
    assert wavy["rms_knee_shape_deg"] == pytest.approx(5 / math.sqrt(2), abs=0.3)


def test_cadence_is_judged_by_both_laws(walker: ModuleType) -> None:
    for factor, inside in ((0.94, False), (1.0, True), (1.07, False)):
        w = walker.Walker(step_length=0.65, cadence=105.0)
        speed, leg = w.speed, walker.LEG
        law = klaw_cadence(speed, 1.74) if factor < 1 else wbds_cadence(speed, leg)
        cadence = law * factor if factor != 1 else (klaw_cadence(speed, 1.74) + wbds_cadence(speed, leg)) / 2
        report = gait_report(walker.Walker(step_length=speed * 60 / cadence, cadence=cadence, seconds=20).record())
        assert report["cadence_spm"] == pytest.approx(cadence)
        assert report["cadence_klaw_spm"] == pytest.approx(klaw_cadence(speed, 1.74), rel=2e-3)
        assert report["cadence_wbds_spm"] == pytest.approx(wbds_cadence(speed, leg), rel=2e-3)
        assert report["cadence_in_range"] is inside


def test_the_first_seconds_and_what_follows_a_fall_do_not_count(walker: ModuleType) -> None:
    w = walker.Walker(seconds=30, header={"fall": {"fell": True, "time_s": 20.0, "cause": "trunk"}})
    recording = w.record()
    recording.columns["points"][recording.time > 20.0] += 50.0  # whatever happens after the fall
    recording.columns["tau"][recording.time > 20.0] = 1e6
    gait = Gait(recording)
    assert (gait.start, gait.end) == (pytest.approx(8.0, abs=0.01), 20.0)
    figures = summary(recording)
    assert figures["fell"] is True
    assert figures["fall_cause"] == "trunk"
    assert figures["survived_s"] == 20.0
    assert figures["peak_torque_nm"] < 1000
    assert figures["cadence_spm"] == pytest.approx(w.cadence)
    assert all(stride.end <= 20.0 and stride.start >= 8.0 for stride in gait.strides)


def test_mean_speed_is_over_the_last_fifty_seconds(walker: ModuleType) -> None:
    recording = walker.Walker(seconds=64, rate=60).record()
    gait = Gait(recording)
    time = recording.time[gait.speed_rows]
    assert (time[0], time[-1]) == (pytest.approx(14.0, abs=0.02), pytest.approx(64.0))


def nothing_but_a_start(recording: Recording, rows: int) -> Recording:
    columns = {k: v[:0] if k.startswith(("event_", "foothold_", "push_")) else v[:rows] for k, v in recording.columns.items()}
    return Recording(recording.header, columns)


@pytest.mark.parametrize("rows", [0, 1, 2, 30])
def test_too_short_to_measure_is_null_never_nan(known: Any, rows: int) -> None:
    recording = nothing_but_a_start(known.record(), rows)
    for figures, fields in ((summary(recording), SUMMARY_FIELDS), (gait_report(recording), REPORT_FIELDS)):
        assert list(figures) == list(fields)
        json.dumps(figures, allow_nan=False)
        assert figures["cadence_spm"] is None


def test_a_kinematic_recording_without_forces_has_nulls(known: Any) -> None:
    recording = known.record()
    for name in ("ground_force", "sole_load", "tau"):
        recording.columns[name] = np.zeros_like(recording.columns[name])
    recording.columns["centre_of_pressure"] = np.full_like(recording.centre_of_pressure, np.nan)
    figures, report = summary(recording), gait_report(recording)
    assert figures["peak_torque_nm"] is figures["grf_peak_bw"] is figures["cost_of_transport"] is None
    assert report["grf_landing_bw"] is report["push_off_moment_nmpkg"] is None
    assert figures["cadence_spm"] == pytest.approx(known.cadence)
    assert figures["foot_slip_m"] < 0.005


def test_points_alone_are_enough_for_a_gait(known: Any) -> None:
    recording = known.record()
    header = {"body": recording.header["body"], "point_names": recording.header["point_names"]}
    points = Recording(header, {name: recording.columns[name] for name in ("time", "points")})
    figures, report = summary(points), gait_report(points)
    assert report["events"] == "points"
    assert figures["cadence_spm"] == pytest.approx(known.cadence, rel=1e-3)
    assert figures["stride_leg"] == pytest.approx(2 * known.step_length / figures["leg_m"], rel=0.01)
    assert report["knee_swing_deg"] is not None
    assert figures["grf_peak_bw"] is None


def test_standing_has_no_gait(walker: ModuleType) -> None:
    recording = walker.Walker(seconds=12).record()
    for name in ("points", "root_position", "com", "xcom", "contact_state", "ground_force"):
        recording.columns[name][:] = recording.columns[name][100]
    for name in [name for name in recording.columns if name.startswith("event_")]:
        recording.columns[name] = recording.columns[name][:0]
    figures = summary(recording)
    assert figures["speed_mean_mps"] == pytest.approx(0, abs=1e-9)
    assert figures["cadence_spm"] is figures["step_length_m"] is figures["cost_of_transport"] is None
    assert figures["touchdowns"] == 0


def test_the_report_has_exactly_its_keys(report: dict[str, Any]) -> None:
    assert list(report) == list(REPORT_FIELDS)
    assert all(value is not None for value in report.values())
    json.dumps(report, allow_nan=False)
    assert report["zeni_touchdown_ms"] < 0
    assert report["stance_fraction_zeni"] > report["stance_fraction"]


def test_measuring_is_cheap(known: Any) -> None:
    import time

    recording = known.record()
    start = time.process_time()
    summary(recording)
    gait_report(recording)
    assert time.process_time() - start < 1.0
