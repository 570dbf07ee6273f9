"""The search for one goal: what it searches, that it can be repeated and resumed, and that a death costs one evaluation."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from sandbox import cli
from sandbox.controllers.parameters import Parameters
from sandbox.learn import search
from sandbox.learn.pool import Lost, Pool
from sandbox.learn.search import Score, Search, SearchSettings, Work, select

NAMES = ("com_height", "push_off", "arm_swing")
TARGET = {"com_height": 0.97, "push_off": 0.3, "arm_swing": 0.5}


class Here(Pool):
    """Works in this process, on a cost that needs no physics."""

    def __init__(self, breaks: int | None = None) -> None:
        super().__init__(1)
        self.breaks, self.done = breaks, 0

    def attempt(self, function, tasks):  # type: ignore[no-untyped-def]
        out: list[object] = []
        for task in tasks:
            self.done += 1
            out.append(Lost("it died") if self.done == self.breaks else bowl(task))
        return out


def bowl(work: Work) -> list[Score]:
    """Cost of a candidate: its squared distance from the target, in ranges."""
    values = dict(work.values)
    total = 0.0
    for name, target in TARGET.items():
        about = search.FIELDS[name]
        total += ((values[name] - target) / (about["high"] - about["low"])) ** 2
    return [Score(total, True, total)] * len(work.seeds)


def die_at_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * number


def settings(**options: object) -> SearchSettings:
    return SearchSettings.of("efficiency", Parameters.load(), NAMES, **options)  # type: ignore[arg-type]


def test_names_and_patterns() -> None:
    assert set(select(["controller.*"])) == set(search.FIELDS)
    assert select(["swing_kp", "controller.com_height"]) == ("com_height", "swing_kp")
    assert all(name.startswith("swing_") for name in select(["swing_*"]))
    with pytest.raises(ValueError, match="unknown parameter 'controller.com_heigt': did you mean 'com_height'"):
        select(["controller.com_heigt"])


def test_it_finds_the_minimum_and_nothing_else_moves(tmp_path: Path) -> None:
    found = Search(settings(seed=4), tmp_path / "a.toml").run(600, Here())
    for name, target in TARGET.items():
        about = search.FIELDS[name]
        assert getattr(found, name) == pytest.approx(target, abs=0.02 * (about["high"] - about["low"]))
    shipped = Parameters.load()
    assert {name for name in search.FIELDS if getattr(found, name) != getattr(shipped, name)} == set(NAMES)
    # the file is what `sandbox run --params` takes
    for name in NAMES:
        assert getattr(Parameters.load(tmp_path / "a.toml"), name) == pytest.approx(getattr(found, name), rel=1e-5)


def test_repeated_and_resumed_searches_agree(tmp_path: Path) -> None:
    whole = Search(settings(), tmp_path / "a.toml").run(60, Here())
    assert Search(settings(), tmp_path / "b.toml").run(60, Here()) == whole
    Search(settings(), tmp_path / "c.toml").run(24, Here())
    np.random.seed(99)  # noqa: NPY002  # whatever others have drawn meanwhile
    resumed = Search(settings(), tmp_path / "c.toml", resume=True)
    assert resumed.evaluations == 24
    assert resumed.run(60, Here()) == whole
    assert (tmp_path / "c.toml").read_text() == (tmp_path / "a.toml").read_text()
    other = Search(settings(seed=2), tmp_path / "d.toml").run(60, Here())
    assert other != whole


def test_a_lost_evaluation_costs_one(tmp_path: Path) -> None:
    one = Search(settings(), tmp_path / "a.toml")
    one.run(24, Here(breaks=5))
    assert one.lost == 1
    assert one.evaluations == 24
    assert "1 lost" in one.note()


def test_a_process_that_dies_takes_its_own_work_alone() -> None:
    pool = Pool(2)
    try:
        out = pool.attempt(die_at_three, list(range(6)))
    finally:
        pool.close()
    assert isinstance(out[3], Lost)
    assert [value for k, value in enumerate(out) if k != 3] == [0, 10, 20, 40, 50]


def test_seeds_of_the_final_score_are_held_out() -> None:
    drawn = {seed for generation in range(200) for seed in settings(starts=5).seeds(generation)}
    assert max(drawn) < search.HELD_OUT_SEED


def test_one_real_evaluation_of_each_objective() -> None:
    shipped = tuple(SearchSettings.of("gait", Parameters.load(), NAMES).start.items())
    (efficient,) = search.score_all(Work(shipped, "efficiency", (1,)))
    assert efficient.survived
    assert efficient.figure is not None
    assert 0.1 < efficient.figure < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["gait", "robustness"])
def test_other_objectives(objective: str) -> None:
    start = tuple(SearchSettings.of(objective, Parameters.load(), NAMES).start.items())
    scores = search.score_all(Work(start, objective, (1, 2)))
    assert all(0 <= score.cost <= 20 for score in scores)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--params controller.com_heigt", ["did you mean 'com_height'"]),
        ("--params com_height --bounds com_height=0.1:0.2", ["leave out the start"]),
        ("--params com_height --bounds com_height=1.0:0.9", ["upside down"]),
        ("--params com_height --bounds push_off=0:1", ["not searched"]),
        ("--params com_height --bounds com_height", ["--bounds com_height=0.95:1.0"]),
        ("--params com_height --budget 5", ["budget of 5 is below one generation of 12"]),
        ("--params com_height --resume", ["nothing to resume"]),
        ("--params com_height --sigma nan", ["sigma nan"]),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: str, words: list[str]) -> None:
    out = tmp_path / "walker.toml"
    assert cli.main(["tune", "--objective", "efficiency", "--out", str(out), *arguments.split()]) == 2
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1, said
    assert all(word in said for word in words), said
    assert not list(tmp_path.iterdir())
