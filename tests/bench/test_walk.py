"""The battery: its cells against what it must reach, how runs are judged, and the report."""

import csv
import io
import json
import math
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sandbox.bench import walk
from sandbox.bench.walk import CELLS, GAIT_FIGURES, Battery, Case, Cell, Report, Result, Row, judge, select
from sandbox.controllers.parameters import Parameters
from sandbox.measure import REPORT_FIELDS
from sandbox.recording import COLUMNS, Recording, make_header
from sandbox.scenes.scene import Options, build

BY_NAME = {cell.name: cell for cell in CELLS}


def test_cells_are_those_of_the_requirements() -> None:
    asked = {
        "stand": (8, 8), "stand-push-50": (62, 64), "stand-push-100": (15, 16),
        "walk-0.4": (8, 10), "walk-0.6": (10, 10), "walk-0.8": (10, 10), "walk-1.0": (10, 10), "walk-1.2": (10, 10),
        "walk-1.4": (10, 10), "walk-1.6": (8, 10),
        "start-stop-0.6": (10, 10), "start-stop-0.8": (10, 10), "start-stop-1.2": (10, 10), "speed-change": (10, 10),
        "turn": (18, 20), "slope-up-3": (8, 10), "slope-down-3": (8, 10), "slope-up-5": (None, 10), "slope-down-5": (None, 10),
        "bumps": (7, 10), "push-50": (38, 40), "push-100": (32, 40), "push-150": (None, 40),
    }  # fmt: skip
    assert {cell.name: (cell.required, cell.runs) for cell in CELLS} == asked
    assert [cell.name for cell in CELLS if cell.gait] == ["walk-1.2"]


def test_seeds_are_the_batterys_and_each_is_used_once() -> None:
    trials = Battery().trials()
    seeds = [trial.seed for trial in trials]
    assert len(set(seeds)) == len(seeds) == sum(cell.runs for cell in CELLS)
    assert 10_000 <= min(seeds) <= max(seeds) < 20_000
    # The same runs whichever cells are asked for, and fewer are the first of them.
    alone = Battery(select(["turn"]), seeds=2).trials()
    assert alone == [trial for trial in trials if trial.cell == "turn"][:2]


def test_pushes_cover_directions_and_phases() -> None:
    cell = BY_NAME["push-100"]
    cases = [cell.case(k, 10_000 + k).scene for k in range(cell.runs)]
    pushes = [scene.pushes[0] for scene in cases]
    assert all(push.link == "thorax" and push.duration == 0.2 and push.force == 100.0 for push in pushes)
    assert Counter(round(math.degrees(push.direction)) for push in pushes) == {0: 10, 90: 10, 180: 10, 270: 10}
    phases = Counter((round(math.degrees(p.direction)), int((p.time - walk.STEADY) / walk.STRIDE * 10)) for p in pushes)
    assert len(phases) == 40
    assert all(scene.seconds == pytest.approx(push.time + 0.2 + 6.0) for scene, push in zip(cases, pushes, strict=True))
    ways = Counter(BY_NAME["stand-push-50"].case(k, k).name.split(" at ")[0] for k in range(64))
    assert set(ways.values()) == {8}
    assert len(ways) == 8


def test_scenes_draw_friction_from_the_seed() -> None:
    values = [BY_NAME["walk-1.0"].case(0, seed).scene.terrain.friction for seed in range(10_000, 10_050)]
    assert 0.6 <= min(values) < 0.65
    assert 0.95 < max(values) <= 1.0


def test_needed_of_fewer_runs() -> None:
    assert [BY_NAME["push-50"].needed(n) for n in (40, 2, 1)] == [38, 1, 1]
    assert [BY_NAME["walk-1.0"].needed(n) for n in (10, 2, 1)] == [10, 2, 1]
    assert BY_NAME["push-150"].needed(2) is None


def test_selection() -> None:
    assert select([]) == CELLS
    assert [cell.name for cell in select(["turn", "walk-1.[02]"])] == ["walk-1.0", "walk-1.2", "turn"]
    with pytest.raises(ValueError, match="did you mean 'bumps'"):
        select(["bump"])


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"seeds": 101}, {"workers": 0}, {"first_seed": -1}])
def test_battery_refuses(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="outside"):
        Battery(**wrong)


# -- judging -------------------------------------------------------------------------------------------------------------------


def path_recording(seconds: float, speed_at: Any, yaw_rate: float = 0.0, fell: float | None = None, rate: float = 60.0) -> Recording:
    """A recording of which only the way of the hips matters: speed (m/s) by time, turning steadily."""
    time = np.arange(1, round((fell or seconds) * rate) + 1) / rate
    yaw = yaw_rate * time
    speed = np.array([speed_at(t) for t in time])
    forward = np.stack((-np.sin(yaw), np.cos(yaw), np.zeros_like(yaw)), axis=1)
    right = np.stack((np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)), axis=1)
    hip = np.cumsum(forward * speed[:, None] / rate, axis=0) + np.array([0.0, 0.0, 0.9])
    names = ["mid_hip", "left_hip", "right_hip"]
    points = np.stack((hip, hip - 0.1 * right, hip + 0.1 * right), axis=1)
    header = make_header(
        plant="bullet", scene="walk", body={"mass_kg": 70.0, "height_m": 1.74, "sex": "mean", "leg_m": 0.91}, command={}, seed=0,
        joint_names=[], point_names=names, body_names=[], joint_max_torque=[],
    )  # fmt: skip
    header["fall"] = {"fell": fell is not None, "time_s": fell, "cause": "trunk tilt" if fell is not None else None}
    return Recording(header, {"time": time, "points": points})


def row_of(name: str, recording: Recording, number: int = 0) -> Row:
    cell = BY_NAME[name]
    return judge(cell, cell.case(number, 10_000), 10_000, recording)


def test_walk_is_judged_by_its_last_50_seconds() -> None:
    row = row_of("walk-1.0", path_recording(60.0, lambda t: 1.02 if t > 10 else 0.3))
    assert (row.outcome, row.survived_s, row.speed_command_mps) == ("ok", 60.0, 1.0)
    assert row.speed_mean_mps == pytest.approx(1.02, abs=1e-3)


def test_fall() -> None:
    row = row_of("walk-1.0", path_recording(60.0, lambda t: 1.0, fell=31.4))
    assert (row.outcome, row.survived_s, row.fall_cause) == ("fell", 31.4, "trunk tilt")
    row = row_of("walk-1.0", path_recording(60.0, lambda t: 1.0, fell=1.4))
    assert row.speed_mean_mps is None


def test_standing_about_is_no_walk() -> None:
    assert row_of("walk-1.0", path_recording(60.0, lambda t: 0.0)).outcome == "did not walk"
    assert row_of("slope-up-3", path_recording(30.0, lambda t: 0.4)).outcome == "did not walk"
    assert row_of("stand", path_recording(60.0, lambda t: 0.0)).outcome == "ok"
    assert row_of("speed-change", path_recording(31.0, lambda t: 0.6)).outcome == "did not walk"
    assert row_of("speed-change", path_recording(31.0, lambda t: 1.2 if 11 < t < 21 else 0.6)).outcome == "ok"


def test_start_stop() -> None:
    stop = BY_NAME["start-stop-0.8"].case(0, 0).scene.commands[-1].time
    row = row_of("start-stop-0.8", path_recording(22.0, lambda t: 0.8 if 2 < t < stop + 2 else 0.0))
    assert row.outcome == "ok"
    assert row.speed_mean_mps == pytest.approx(0.8, abs=0.01)
    assert row_of("start-stop-0.8", path_recording(22.0, lambda t: 0.8 if t > 2 else 0.0)).outcome == "did not stop"
    assert row_of("start-stop-0.8", path_recording(22.0, lambda t: 0.0)).outcome == "did not walk"


@pytest.mark.parametrize(("number", "rate"), [(0, 0.3), (1, -0.3)])
def test_turn(number: int, rate: float) -> None:
    row = row_of("turn", path_recording(30.0, lambda t: 0.8, yaw_rate=rate), number)
    assert row.case == ("left" if rate > 0 else "right")
    assert row.yaw_rate_rps == pytest.approx(rate, rel=0.05)
    assert row.speed_mean_mps == pytest.approx(0.8, rel=0.05)


# -- report --------------------------------------------------------------------------------------------------------------------

GOOD_GAIT: dict[str, Any] = {
    "knee_loading_deg": 20.0, "knee_midstance_deg": 10.0, "knee_yield_deg": 10.0, "knee_swing_deg": 60.0, "hip_range_deg": 45.0,
    "cadence_spm": 110.0, "cadence_klaw_spm": 108.0, "cadence_wbds_spm": 113.0, "cadence_in_range": True, "grf_landing_bw": 1.1,
    "grf_valley_bw": 0.8, "grf_push_off_bw": 1.1, "grf_landing_max_bw": 1.3, "double_support_fraction": 0.2, "heel_first_share": 1.0,
    "toe_last_share": 1.0, "rms_mean_deg": 6.0, "rms_hip_deg": 5.0, "rms_knee_deg": 7.0, "rms_ankle_deg": 6.0, "rms_mean_shape_deg": 4.0,
}  # fmt: skip


def result(cell: str, seed: int, outcome: str = "ok", speed: float | None = None, gait: dict[str, Any] | None = None) -> Result:
    command = None if speed is None else float(cell.removeprefix("walk-"))
    return Result(Row(seed, cell, "", 60.0, 60.0, "", outcome, command, speed, None, 0.8), gait, 6.0, 3.0)


def test_gait_figures_exist() -> None:
    keys = {part for figure in GAIT_FIGURES for part in figure.key.split(" - ")}
    assert keys <= set(REPORT_FIELDS)
    assert keys <= set(GOOD_GAIT)


def test_report_says_what_is_reached() -> None:
    battery = Battery(select(["walk-1.2"]))
    results = tuple(result("walk-1.2", k, speed=1.2 + 0.005 * (k - 5), gait=GOOD_GAIT) for k in range(10))
    report = Report(battery, results)
    assert report.reached
    assert report.cost == pytest.approx(0.1)
    lines = report.lines()
    assert (lines[0].required, lines[0].achieved, lines[0].reached) == ("10 of 10", "10 of 10", True)
    assert lines[1].achieved == "1.198 m/s, worst 2.1 % off"
    assert "| walking 60 s at 1.2 m/s" in report.table()
    assert len({len(line) for line in report.table().split("\n\n")[0].splitlines()}) == 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"outcome": "fell"}, "walking 60 s at 1.2 m/s"),
        ({"speed": 1.1}, "  mean speed"),
        ({"gait": GOOD_GAIT | {"knee_midstance_deg": 200.0}}, "knee flexion in mid-stance"),
        ({"gait": GOOD_GAIT | {"cadence_in_range": False}}, "  runs between the two, 3 % beyond allowed"),
        ({"gait": GOOD_GAIT | {"grf_valley_bw": 9.0}}, "vertical force: landing peak above valley"),
    ],
)
def test_report_says_what_is_not(change: dict[str, Any], what: str) -> None:
    results = [result("walk-1.2", k, speed=1.2, gait=GOOD_GAIT) for k in range(9)]
    results.append(result("walk-1.2", 9, **({"speed": 1.2, "gait": GOOD_GAIT} | change)))
    report = Report(Battery(select(["walk-1.2"])), tuple(results))
    assert not report.reached
    assert what in [line.what for line in report.lines() + report.gait_lines() if line.reached is False]


def test_gait_that_nobody_reached_counts_as_missed() -> None:
    report = Report(Battery(select(["walk-1.2"])), (result("walk-1.2", 0, "fell"),))
    assert {line.achieved for line in report.gait_lines()} == {"not measured"}
    assert not report.reached
    json.dumps(report.to_json(), allow_nan=False)


def test_rows_as_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(Report(Battery(), (result("walk-1.2", 10_700, speed=1.19),)).csv())))
    assert rows[0]["seed"] == "10700"
    assert set(rows[0]) == set(Row._fields) >= {"seed", "case", "survived_s", "fall_cause"}
    assert rows[0]["yaw_rate_rps"] == ""


# -- for real ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A cell of which two runs take a second."""
    cell = Cell(
        "short", "standing for a moment", 2, 2, lambda _, seed: Case("", build("stand", Options(speed=0.0, seconds=0.5, seed=seed)))
    )
    monkeypatch.setattr(walk, "CELLS", (cell,))
    return cell


def test_the_same_seeds_give_the_same_rows(short: Cell) -> None:
    battery = Battery((short,), workers=1)
    first, second = battery.run(), battery.run()
    assert first.csv() == second.csv()
    assert [row.outcome for row in first.rows] == ["ok", "ok"]
    assert first.rows[0].seed == 10_000


def test_failed_runs_are_kept(short: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "judge", lambda cell, case, seed, recording: result("short", seed, "fell").row)
    Battery((short,), workers=1, seeds=1, keep=tmp_path).run()
    assert Recording.load(tmp_path / "short-10000.npz").duration == 0.5


def test_progress_counts_the_failed(short: Cell) -> None:
    said: list[tuple[int, str]] = []
    Battery((short,), workers=1).run(lambda done, note: said.append((done, note)))
    assert said == [(1, "0 failed"), (2, "0 failed")]


def test_parameters_reach_the_runs(short: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = Parameters.load().replace({"com_height": 0.96})
    report = Battery((short,), parameters=parameters, params_name="other", workers=1, seeds=1).run()
    assert report.to_json()["params"] == {"name": "other", "hash": parameters.hash}


@pytest.mark.slow
def test_processes_give_the_same_rows_as_one(tmp_path: Path) -> None:
    """The command itself, once in one process and once in two."""
    texts = []
    for workers in ("1", "2"):
        out = tmp_path / workers
        command = [sys.executable, "-m", "sandbox.cli", "bench", "walk", "--only", "stand-push-100", "--seeds", "3", "--workers", workers]
        done = subprocess.run([*command, "--out", str(out), "--json", "-"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        value = json.loads(done.stdout)
        assert value["runs"] == 3
        assert json.loads((out / "walk.json").read_text())["rows"] == value["rows"]
        assert (out / "walk.md").read_text().startswith("| run")
        texts.append((out / "walk.csv").read_text())
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_ctrl_c_writes_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sandbox.cli", "bench", "walk", "--only", "stand", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "sandbox: stopped"
    assert not list((tmp_path / "out").iterdir())


def test_columns_of_the_path_recording_are_columns() -> None:
    assert set(path_recording(1.0, lambda t: 1.0).columns) <= set(COLUMNS)
