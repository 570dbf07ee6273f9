"""The search for parameters: what it draws, what it charges, what it writes."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import numpy as np
import pytest

from sandbox.bench.walk import FIRST_SEED
from sandbox.controllers.parameters import Parameters
from sandbox.learn import tuning
from sandbox.learn.cost import FALL_COST, TUNING_SEEDS, Case, cost, draw_cases
from sandbox.learn.tuning import FAILED, KINDS, evaluate, from_unit, to_unit, tune


def test_parameters_survive_the_unit_cube() -> None:
    shipped = Parameters.load()
    x = to_unit(shipped)
    assert x.shape == (len(dataclasses.fields(Parameters)),)
    assert ((x >= 0) & (x <= 1)).all(), "a shipped value lies outside its tuning range"
    back = from_unit(x)
    for field in dataclasses.fields(Parameters):
        assert getattr(back, field.name) == pytest.approx(getattr(shipped, field.name), rel=1e-9, abs=1e-12), field.name


def test_candidates_outside_the_ranges_are_clipped() -> None:
    high = from_unit(np.full(len(dataclasses.fields(Parameters)), 3.0))
    assert all(getattr(high, f.name) == pytest.approx(f.metadata["high"]) for f in dataclasses.fields(Parameters))


def test_cases_are_drawn_from_the_generation_alone() -> None:
    assert draw_cases(7, KINDS) == draw_cases(7, KINDS)
    assert draw_cases(7, KINDS) != draw_cases(8, KINDS)
    kinds = {case.kind for case in draw_cases(7, KINDS)}
    assert kinds == set(KINDS)


def test_tuning_never_sees_a_seed_of_the_battery() -> None:
    seeds = [case.seed for generation in range(200) for case in draw_cases(generation, KINDS)]
    assert TUNING_SEEDS[0] <= min(seeds)
    assert max(seeds) < TUNING_SEEDS[1] + 1 <= FIRST_SEED


def test_every_kind_has_a_scene() -> None:
    for case in draw_cases(3, KINDS):
        scene, seed = case.scene()
        assert seed == case.seed
        assert scene.seconds >= 8
        assert bool(scene.pushes) == (case.kind in ("push", "stand"))
    with pytest.raises(ValueError, match="unknown kind of case 'fly'"):
        Case("fly", 1.0, 1).scene()


def test_a_fall_costs_more_than_any_walk_and_the_more_the_earlier() -> None:
    shipped = Parameters.load()
    assert FALL_COST <= cost(shipped, Case("stand", 0.0, 5, 90.0, 500.0)) <= 2 * FALL_COST
    assert cost(shipped, Case("stand", 0.0, 5, 0.0, 50.0)) < FALL_COST


def test_a_rollout_that_raises_costs_one_evaluation(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def explode(parameters: Parameters, case: Case) -> float:
        raise FloatingPointError("the mass matrix is not finite")

    monkeypatch.setattr(tuning, "cost", explode)
    assert evaluate((to_unit(Parameters.load()), Case("stand", 0.0, 1))) == FAILED
    assert "FloatingPointError" in capsys.readouterr().err


@pytest.mark.slow
def test_a_search_can_be_repeated_and_its_file_is_taken(tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        out = tmp_path / name / "walker.toml"
        out.parent.mkdir()
        tune(Parameters.load(), out, kinds=("stand",), generations=1, population=4, sigma=0.02, seed=3, first=2, command="as typed")
        files.append(out.read_text())
    assert files[0] == files[1]
    about = tomllib.loads(files[0])["about"]
    assert about["command"] == "as typed"
    assert about["generation"] == 2
    assert Parameters.load(tmp_path / "a" / "walker.toml").hash != Parameters.load().hash
