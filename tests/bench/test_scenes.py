"""Survival in the scenes: what is run, and what is counted."""

from __future__ import annotations

import pytest

from sandbox import cli
from sandbox.bench.scenes import FIRST_SEED, Outcome, Survival, plan, run_trial
from sandbox.controllers.parameters import Parameters
from sandbox.scenes.scene import SCENES


def test_every_scene_with_every_seed() -> None:
    trials = plan([], 3, Parameters.load())
    assert {(trial.scene, trial.seed) for trial in trials} == {(scene, FIRST_SEED + k) for scene in SCENES for k in range(3)}
    assert trials[0].scene == "figure-eight", "the longest first"


def test_falls_are_counted() -> None:
    outcomes = (
        Outcome("walk", 1, 20.0, 20.0, ""),
        Outcome("walk", 2, 20.0, 4.0, "hip height"),
        Outcome("walk", 3, 20.0, 8.0, "trunk tilt"),
    )
    survival = Survival(outcomes, "abc")
    row = [cell.strip() for cell in survival.table().splitlines()[2].strip("|").split("|")]
    assert row == ["walk", SCENES["walk"], "20 s", "1 of 3", "6.0 s"]
    assert survival.to_json()["outcomes"][1]["cause"] == "hip height"


def test_one_run() -> None:
    outcome = run_trial(plan(["stand"], 1, Parameters.load())[0])
    assert outcome == Outcome("stand", FIRST_SEED, 20.0, 20.0, "")


def test_bad_input(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments, said in {
        "--only wlak": "did you mean 'walk'?",
        "--seeds 0": "1-1000",
        "--out there": "--out",
        "--seconds 3": "--seconds",
    }.items():
        assert cli.main(["bench", "scenes", *arguments.split()]) == 2
        assert said in capfd.readouterr().err
