"""A cluster on loopback: the same results, also where a worker is killed on the way."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed")

from sandbox import cli
from sandbox.controllers.parameters import Parameters
from sandbox.learn.pool import Cluster, Lost
from sandbox.learn.search import Score, Search, SearchSettings, Work

TASKS = 200


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
    ) as cluster:
        yield cluster


def evaluation(number: int) -> tuple[int, float, int]:
    """A deterministic piece of work that takes a while."""
    time.sleep(0.02)
    return number, float(np.random.default_rng(number).normal()), os.getpid()


class Bowl(Cluster):
    """Evaluates a cost that needs no physics, on the workers."""

    def attempt(self, function: Any, tasks: Any) -> Any:
        return super().attempt(slow_bowl, tasks)


def slow_bowl(work: Work) -> list[Score]:
    """A deterministic cost of a candidate, which takes a while."""
    time.sleep(0.02)
    values = dict(work.values)
    cost = (values["com_height"] - 0.97) ** 2 + (values["push_off"] - 0.3) ** 2
    return [Score(cost, True, cost)]


def test_a_search_of_200_evaluations_comes_to_the_same_optimum(local: Any, tmp_path: Path) -> None:
    settings = SearchSettings.of("efficiency", Parameters.load(), ("com_height", "push_off"), population=10)
    found = []
    for name, kill in (("a", False), ("b", True)):
        pool = Bowl(local.scheduler_address)
        if kill:
            victim = next(iter(local.workers.values())).pid
            threading.Timer(0.7, os.kill, (victim, signal.SIGKILL)).start()
        try:
            search = Search(settings, tmp_path / f"{name}.toml")
            found.append(search.run(200, pool))
        finally:
            pool.close()
        assert search.evaluations == 200
        assert search.lost == 0
    assert found[0] == found[1]
    assert found[0].push_off == pytest.approx(0.3, abs=0.01)


def fails_at_three(number: int) -> int:
    if number == 3:
        raise FloatingPointError("the mass matrix is not finite")
    return number


def test_a_killed_worker_changes_nothing(local: Any) -> None:
    pool = Cluster(local.scheduler_address)
    try:
        first = pool.map(evaluation, list(range(TASKS)))
        victim = first[-1][2]
        threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
        second = pool.map(evaluation, list(range(TASKS)))
    finally:
        pool.close()
    assert [row[:2] for row in first] == [row[:2] for row in second]
    workers = {row[2] for row in second}
    assert min(range(TASKS), key=lambda k: first[k][1]) == min(range(TASKS), key=lambda k: second[k][1])
    assert workers - {row[2] for row in first}, "the killed worker was not replaced"


def test_work_that_raises_costs_its_own_result(local: Any) -> None:
    pool = Cluster(local.scheduler_address)
    try:
        out = pool.attempt(fails_at_three, list(range(5)))
    finally:
        pool.close()
    assert isinstance(out[3], Lost)
    assert "FloatingPointError" in out[3].why
    assert [value for value in out if not isinstance(value, Lost)] == [0, 1, 2, 4]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense"])
def test_nobody_answers(address: str, capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.learn.pool.PATIENCE", 1.0)
    out = tmp_path / "walker.toml"
    assert cli.main(["tune", "--objective", "efficiency", "--params", "com_height", "--out", str(out), "--cluster", address]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("sandbox:")]
    assert len(said) == 1
    assert "no scheduler answers" in said[0]
    assert not out.exists()
