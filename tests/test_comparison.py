"""The kinematic stance on both plants: one command, one table."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sandbox.comparison import FIGURES, JOINTS, Comparison, compare, figures, people_figures
from sandbox.measure import klaw_cadence, summary, wbds_cadence
from sandbox.recording import Recording

SPEED, SECONDS, SEED = 0.8, 9.0, 2


@pytest.fixture(scope="module")
def progress() -> list[float]:
    return []


@pytest.fixture(scope="module")
def comparison(progress: list[float]) -> Comparison:
    return compare(SPEED, SECONDS, SEED, progress=progress.append)


def test_both_runs_have_the_same_command_start_and_parameters(comparison: Comparison) -> None:
    a, b = comparison.kinematic.header, comparison.physical.header
    assert (a["plant"], b["plant"]) == ("kinematic", "bullet")
    for key in ("stance", "scene", "command", "seed", "params", "body", "version"):
        assert a[key] == b[key]
    assert a["command"]["speed_mps"] == SPEED
    np.testing.assert_array_equal(comparison.kinematic.command[-1], [SPEED, 0.0])


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
        *(f"{joint}_torque_{what}_nm" for joint in JOINTS for what in ("peak", "rms")),
    ):
        row = comparison.row(key)
        assert row.kinematic is not None
        assert row.unit == FIGURES[key].unit
    with pytest.raises(KeyError, match="colour"):
        comparison.row("colour")


def test_figures_are_those_of_the_recordings(comparison: Comparison) -> None:
    for recording, column in ((comparison.kinematic, "kinematic"), (comparison.physical, "physical")):
        whole = summary(recording)
        for key in ("speed_mean_mps", "cadence_spm", "foot_slip_m", "com_height_m"):
            assert getattr(comparison.row(key), column) == whole[key]
    assert comparison.row("speed_mean_mps").kinematic == pytest.approx(SPEED, rel=0.02)
    assert abs(comparison.row("touchdown_lead_ms").kinematic or 0) < 5  # the planned contacts, to half a tick
    rms, peak = (comparison.row(f"knee_torque_{what}_nm").kinematic for what in ("rms", "peak"))
    assert rms is not None
    assert peak is not None
    assert 5 < rms < peak < 120


def test_torques_are_measured_where_the_gait_is(comparison: Comparison) -> None:
    recording = comparison.kinematic
    columns = dict(recording.columns)
    tau = np.zeros_like(columns["tau"])
    tau[:, recording.header["joint_names"].index("left_ankle_dorsiflexion")] = -50.0
    tau[:, recording.header["joint_names"].index("right_ankle_dorsiflexion")] = 20.0
    columns["tau"] = tau
    found = figures(Recording(recording.header, columns))
    assert found["ankle_torque_peak_nm"] == pytest.approx(50.0)
    assert found["ankle_torque_rms_nm"] == pytest.approx(np.sqrt((50.0**2 + 20.0**2) / 2))
    assert found["hip_torque_rms_nm"] == pytest.approx(0.0, abs=1e-9)


def test_people_are_given_where_they_are_known(comparison: Comparison) -> None:
    body = comparison.kinematic.header["body"]
    low, high = sorted((klaw_cadence(SPEED, body["height_m"]), wbds_cadence(SPEED, body["leg_m"])))
    assert comparison.row("cadence_spm").people == (low, high)
    assert comparison.row("step_length_m").people == (60 * SPEED / high, 60 * SPEED / low)
    assert comparison.row("foot_slip_m").people is None
    assert people_figures(comparison.kinematic, 0.0) == {}


def test_the_text_is_one_table(comparison: Comparison) -> None:
    text = comparison.as_text()
    lines = text.splitlines()
    assert lines[0].startswith("kinematic stance at 0.8 m/s for 9 s, seed 2")
    head = next(line for line in lines if "people" in line)
    assert head.split() == ["unit", "kinematic", "physical", "people"]
    assert sum(line.startswith(("speed", "cadence", "hip torque", "foot slip")) for line in lines) == 5
    assert max(map(len, lines)) < 100
    assert "FELL" not in text or comparison.physical.header["fall"]["fell"]


def test_a_fall_is_told(comparison: Comparison) -> None:
    fell = Recording(
        {**comparison.physical.header, "fall": {"fell": True, "time_s": 4.2, "cause": "trunk tilt"}}, comparison.physical.columns
    )
    assert "the physical body FELL after 4.20 s: trunk tilt" in replace(comparison, physical=fell).as_text()


def test_json_is_complete_and_plain(comparison: Comparison) -> None:
    data = json.loads(comparison.to_json())
    assert data == comparison.as_dict()
    assert list(data["figures"]) == list(FIGURES)
    assert (data["speed_command_mps"], data["seconds"], data["seed"]) == (SPEED, SECONDS, SEED)
    for figure in data["figures"].values():
        assert set(figure) == {"unit", "kinematic", "physical", "people"}
    assert data["fell"]["kinematic"]["fell"] is False


def test_progress_counts_both_runs(comparison: Comparison, progress: list[float]) -> None:
    assert progress == sorted(progress)
    assert 0 < progress[0] < 0.5
    assert SECONDS < progress[-1] <= 2 * SECONDS


@pytest.mark.parametrize("bad", [{"speed": 9.0}, {"speed": float("nan")}, {"seconds": 0.0}, {"heading_rate": 2.0}])
def test_bad_input_is_refused_before_anything_runs(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="give a value in that range"):
        compare(**bad)  # type: ignore[arg-type]
