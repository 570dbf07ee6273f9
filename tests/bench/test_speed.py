"""The cost of a step: what is reported, and that it is measured."""

import json
from pathlib import Path

import pytest

from sandbox import cli
from sandbox.bench import speed
from sandbox.bench.speed import Figure, reached, table, to_json


def test_a_limit_is_kept_or_not() -> None:
    assert Figure("step", 2.2, 2.2, 1.6, "", "").reached is True
    assert Figure("step", 2.21, 2.2, 1.6, "", "").reached is False
    assert Figure("step", None, 2.2, 1.6, "", "not installed").reached is False
    assert Figure("memory", None, None, None, "MB", "no /proc").reached is None


def test_table_and_json() -> None:
    figures = [Figure("step", 1.5, 2.2, 1.6, "", "16 steps"), Figure("reset", 3.0, 1.0, None, "ms", "median")]
    text = table(figures)
    assert "| step (1)" in text
    assert "3 ms" in text
    assert "NOT kept" in text
    assert text.endswith("(1) 16 steps\n(2) median")
    assert not reached(figures)
    assert json.loads(json.dumps(to_json(figures)))["figures"][1]["reached"] is False


def test_the_figures_of_the_walker_are_measured(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(speed, "WARM_UP", 0.2)
    monkeypatch.setattr(speed, "_memory", lambda: Figure("one more environment", 1.0, 32.0, None, "MB", ""))
    kinematic = speed._kinematic_times
    monkeypatch.setattr(speed, "_kinematic_times", lambda: kinematic(3.0))
    assert cli.main(["bench", "--seconds", "1", "--json", "-"]) == 0
    out, _ = capfd.readouterr()
    figures = {figure["what"]: figure for figure in json.loads(out)["figures"]}
    ratio = figures["step over stepSimulation"]
    assert 1.0 < ratio["value"] < 20.0
    assert ratio["limit"] == 2.2
    assert figures["reset of an unchanged body and world"]["value"] > 0
    assert 0 < figures["import sandbox"]["value"] < 5
    for name in ("kinematic plant", "walker of the study"):
        assert figures[f"CPU per simulated second, {name}"]["value"] > 0
        assert figures[f"last over first third of 3 s, {name}"]["value"] > 0


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
def test_memory_of_one_more_environment() -> None:
    figure = speed._memory(1)
    assert figure.value is not None, figure.note
    assert 5 < figure.value < 200
