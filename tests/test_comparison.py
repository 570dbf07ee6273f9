"""Stance models on both plants: one command, one table, one page."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sandbox.comparison import FIGURES, JOINTS, PAIRS, Comparison, Walk, chosen_pairs, compare, figures, people_figures, torques
from sandbox.measure import cycle_curves, klaw_cadence, summary, wbds_cadence
from sandbox.measure.dynamics import PEAKS, peak
from sandbox.measure.people import froude_range
from sandbox.recording import Recording

SPEED, SECONDS, SEED = 0.8, 9.0, 2
PLANNED, PHYSICAL = "kinematic stance, kinematic", "kinematic stance, physical"


@pytest.fixture(scope="module")
def progress() -> list[float]:
    return []


@pytest.fixture(scope="module")
def comparison(progress: list[float]) -> Comparison:
    with pytest.MonkeyPatch.context() as patch:  # as if one model walked on no plant
        patch.setattr("sandbox.comparison.PAIRS", tuple(pair for pair in PAIRS if pair[0] != "telescoping"))
        return compare(SPEED, SECONDS, SEED, stances=("kinematic", "telescoping"), progress=progress.append)


def test_all_runs_have_the_same_command_start_and_parameters(comparison: Comparison) -> None:
    a, b = (walk.recording.header for walk in comparison.walks)
    assert (a["plant"], b["plant"]) == ("kinematic", "bullet")
    assert [walk.name for walk in comparison.walks] == [PLANNED, PHYSICAL]
    for key in ("stance", "scene", "command", "seed", "params", "body", "version"):
        assert a[key] == b[key]
    assert a["command"]["speed_mps"] == SPEED
    np.testing.assert_array_equal(comparison.walks[0].recording.command[-1], [SPEED, 0.0])


def test_pairs_that_do_not_exist_are_named(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ("telescoping", "kinematic") in comparison.missing
    assert "telescoping stance on the physical plant does not exist in this version" in comparison.missing_lines()
    assert "note: telescoping stance on the kinematic plant" in comparison.as_text()
    monkeypatch.setattr("sandbox.comparison.PAIRS", (("kinematic", "bullet"),))
    pairs, missing = chosen_pairs(("kinematic", "klaw"), ("bullet",))
    assert pairs == [("kinematic", "bullet")]
    assert missing == [("klaw", "bullet")]
    with pytest.raises(ValueError, match="none of the pairs"):
        chosen_pairs(("klaw",), ("bullet",))
    with pytest.raises(ValueError, match="'stilts' is not one of kinematic, virtual-leg"):
        chosen_pairs(("stilts",), ("bullet",))
    assert {plant for _, plant in PAIRS} == {"kinematic", "bullet"}


def test_a_published_walk_stands_beside_ours_and_its_physical_pair_is_named() -> None:
    result = compare(1.0, 12.0, stances=("boulic",))
    assert [(walk.stance, walk.plant) for walk in result.walks] == [("boulic", "kinematic")]
    assert result.missing == (("boulic", "bullet"),)
    assert any("boulic stance on the physical plant does not exist" in line for line in result.missing_lines())
    assert result.walks[0].scores is not None
    assert result.row("grf_peak_bw").values["boulic stance, kinematic"] is None  # it has no forces


def test_stance_models_on_both_plants() -> None:
    found = compare(0.8, 12.0, stances=("virtual-leg",))
    assert [walk.name for walk in found.walks] == ["virtual-leg stance, kinematic", "virtual-leg stance, physical"]
    for walk in found.walks:
        assert walk.recording.header["stance"] == walk.stance
        assert walk.analysis.mean("speed_mps") == pytest.approx(0.8, rel=0.08)
    assert found.verdict()[0].startswith("virtual-leg stance: ")
    assert found.missing == ()


def test_there_is_one_row_for_each_figure(comparison: Comparison) -> None:
    assert [row.key for row in comparison.rows] == list(FIGURES)
    for key in (
        "speed_mean_mps",
        "cadence_spm",
        "step_length_m",
        "stance_fraction",
        "double_support_fraction",
        "foot_slip_m",
        "touchdown_lead_ms",
        "com_height_m",
        "margin_of_stability_m",
        "gps_deg",
        "balance_percent",
        "momentum_sagittal",
        *(f"{joint}_torque_{what}_nm" for joint in JOINTS for what in ("peak", "rms")),
    ):
        row = comparison.row(key)
        assert row.values[PLANNED] is not None
        assert row.unit == FIGURES[key].unit
    with pytest.raises(KeyError, match="colour"):
        comparison.row("colour")


def test_figures_are_those_of_the_recordings(comparison: Comparison) -> None:
    for walk in comparison.walks:
        whole = summary(walk.recording)
        for key in ("speed_mean_mps", "cadence_spm", "foot_slip_m", "com_height_m"):
            assert comparison.row(key).values[walk.name] == pytest.approx(whole[key])
    assert comparison.row("speed_mean_mps").values[PLANNED] == pytest.approx(SPEED, rel=0.02)
    assert abs(comparison.row("touchdown_lead_ms").values[PLANNED] or 0) < 5  # the planned contacts, to half a tick
    rms, peak = (comparison.row(f"knee_torque_{what}_nm").values[PLANNED] for what in ("rms", "peak"))
    assert rms is not None
    assert peak is not None
    assert 5 < rms < peak < 120


def test_forces_of_the_physical_walk_balance(comparison: Comparison) -> None:
    physical = comparison.walk("kinematic", "bullet")
    found = physical.dynamics.figures
    assert found["support_bw"] == pytest.approx(1.0, abs=0.01)
    for direction in ("", "_fore_aft", "_lateral"):
        assert found[f"balance{direction}_percent"] == pytest.approx(0.0, abs=0.1)
    assert found["pressure_start"] < 0.45
    assert found["pressure_end"] > 0.6
    assert 0.01 < found["braking_bws"] < 0.08
    assert found["propulsion_bws"] == pytest.approx(found["braking_bws"], abs=0.03)  # a short run still speeds up
    for axis in ("sagittal", "frontal", "transverse"):
        assert 0.001 < found[f"momentum_{axis}"] < 0.4
    peaks = {key: float(values.mean()) for key, values in physical.dynamics.peaks.items()}
    assert peaks.keys() == PEAKS.keys()
    assert peaks["landing_peak_bw"] > peaks["valley_bw"]
    assert peaks["braking_peak_bw"] < 0 < peaks["propulsion_peak_bw"]
    assert peak("valley_bw", np.arange(101.0)).tolist() == [15.0]
    assert {"ankle_moment", "knee_power", "force_vertical"} <= physical.dynamics.curves.keys()
    assert physical.dynamics.curves["ankle_moment"].mean(axis=0)[45:55].max() > 0.5  # plantarflexors push at the end of stance


def test_curves_from_points_are_the_joint_angles(comparison: Comparison) -> None:
    pairs = {
        "hip_flexion": ("hip_flexion", 2.5),  # in the plane of progression, from which the rotating pelvis turns the hip's own axis
        "hip_adduction": ("hip_adduction", 1.0),
        "hip_rotation": ("hip_rotation", 0.1),
        "knee": ("knee_flexion", 4.0),  # in the plane of progression, and not about the knee's own axis
        "ankle": ("ankle_dorsiflexion", 4.0),  # a foot that lands with the toes up and out leaves the plane of its axis
        "elbow": ("elbow_flexion", 1.0),
    }
    for walk in comparison.walks:
        for curve, (joint, limit) in pairs.items():
            angles = np.stack([walk.recording.joint(f"{side}_{joint}") for side in ("left", "right")], axis=1)
            ours = np.degrees(cycle_curves(walk.recording.time, angles, walk.analysis.straight))
            np.testing.assert_allclose(walk.analysis.curves[curve], ours, atol=limit, err_msg=f"{walk.name}: {curve}")


def test_torques_are_measured_where_the_gait_is(comparison: Comparison) -> None:
    recording = comparison.walks[0].recording
    columns = dict(recording.columns)
    tau = np.zeros_like(columns["tau"])
    tau[:, recording.header["joint_names"].index("left_ankle_dorsiflexion")] = -50.0
    tau[:, recording.header["joint_names"].index("right_ankle_dorsiflexion")] = 20.0
    columns["tau"] = tau
    found = torques(Recording(recording.header, columns))
    assert found["ankle_torque_peak_nm"] == pytest.approx(50.0)
    assert found["ankle_torque_rms_nm"] == pytest.approx(np.sqrt((50.0**2 + 20.0**2) / 2))
    assert found["hip_torque_rms_nm"] == pytest.approx(0.0, abs=1e-9)


def test_people_are_given_where_they_are_known(comparison: Comparison) -> None:
    recording = comparison.walks[0].recording
    body = recording.header["body"]
    low, high = sorted((klaw_cadence(SPEED, body["height_m"]), wbds_cadence(SPEED, body["leg_m"])))
    assert comparison.row("cadence_spm").people == (low, high)
    assert comparison.row("step_length_m").people == (60 * SPEED / high, 60 * SPEED / low)
    assert 0.55 < comparison.row("stance_fraction").people < 0.7  # type: ignore[operator]
    assert comparison.row("foot_slip_m").people is None
    assert people_figures(recording, 0.0) == {}


def test_the_text_tells_what_physics_changes(comparison: Comparison) -> None:
    text = comparison.as_text()
    lines = text.splitlines()
    assert lines[0].startswith("0.8 m/s for 9 s, seed 2")
    head = next(line for line in lines if "people" in line)
    assert PLANNED in head
    assert PHYSICAL in head
    assert sum(line.startswith(("speed", "cadence", "hip torque", "foot slip")) for line in lines) == 5
    for walk in (comparison.walk("kinematic", "kinematic"), comparison.walk("kinematic", "bullet")):
        cadence = next(line for line in lines if line.startswith("cadence"))
        assert f"{figures(walk)['cadence_spm']:.1f} ± {walk.analysis.sd('cadence_spm'):.1f}" in cadence
    assert f"CMU's people at Froude {froude_range()[0]:.3f}, nearest to {comparison.froude:.3f}" in text
    verdict = comparison.verdict()
    assert "as planned" in verdict[0] or "falls after" in verdict[0]
    assert f"- {verdict[0]}" in text
    assert "The data used in this project was obtained from mocap.cs.cmu.edu." in text


def test_a_fall_is_told(comparison: Comparison) -> None:
    physical = comparison.walk("kinematic", "bullet")
    header = {**physical.recording.header, "fall": {"fell": True, "time_s": 4.2, "cause": "trunk tilt"}}
    fell = Walk.of("kinematic", "bullet", Recording(header, physical.recording.columns))
    told = replace(comparison, walks=(comparison.walks[0], fell))
    assert "FELL after 4.20 s: trunk tilt" in told.as_text()
    assert "the physical body falls after 4.2 s (trunk tilt)" in told.verdict()[0]
    never = Walk.of(
        "kinematic", "bullet", Recording({**header, "fall": {"fell": True, "time_s": 0.2, "cause": "x"}}, physical.recording.columns)
    )
    assert never.scores is None
    assert figures(never)["gps_deg"] is None


def test_json_is_complete_and_plain(comparison: Comparison) -> None:
    data = json.loads(comparison.to_json())
    assert data == comparison.as_dict()
    assert list(data["figures"]) == list(FIGURES)
    assert (data["speed_command_mps"], data["seconds"], data["seed"]) == (SPEED, SECONDS, SEED)
    for figure in data["figures"].values():
        assert set(figure) == {"unit", PLANNED, PHYSICAL, "people"}
    walk = data["walks"][PHYSICAL]
    assert walk["gait"]["mean"]["speed_mps"] > 0.5
    assert walk["scores"]["curves"]["knee"]["reference"] == "adults"
    assert {"stance": "telescoping", "plant": "bullet"} in data["missing"]


def test_progress_counts_both_runs(comparison: Comparison, progress: list[float]) -> None:
    assert progress == sorted(progress)
    assert 0 < progress[0] < 0.5
    assert SECONDS < progress[-1] <= 2 * SECONDS


@pytest.mark.parametrize("bad", [{"speed": 9.0}, {"speed": float("nan")}, {"seconds": 0.0}, {"heading_rate": 2.0}])
def test_bad_input_is_refused_before_anything_runs(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="give a value in that range"):
        compare(**bad)  # type: ignore[arg-type]
