"""Work on several processes."""

import os
import signal
import time
from pathlib import Path

import pytest

from sandbox.bench.pool import ONE_THREAD, run_all


def threads(name: str) -> str | None:
    return os.environ.get(name)


def killed_once(marker: str) -> int:
    """The first worker that comes by is killed, as by the kernel when memory runs out."""
    path = Path(marker)
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return os.getpid()
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def killed(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleeps(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def fails(number: int) -> None:
    raise ValueError(f"task {number}")


def test_one_worker_is_this_process() -> None:
    assert list(run_all(lambda x: (x, os.getpid()), [3, 4], 1)) == [(0, (3, os.getpid())), (1, (4, os.getpid()))]


def test_workers_have_one_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    names = list(ONE_THREAD)
    assert sorted(run_all(threads, names, 2)) == [(k, "1") for k in range(len(names))]
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_killed_worker_is_replaced(tmp_path: Path) -> None:
    done = dict(run_all(killed_once, [str(tmp_path / "once")] * 3, 2))
    assert set(done) == {0, 1, 2}
    assert os.getpid() not in done.values()


def test_worker_that_is_always_killed() -> None:
    with pytest.raises(RuntimeError, match="killed 3 times"):
        list(run_all(killed, [1], 2))


def test_fault_of_a_task_is_raised() -> None:
    with pytest.raises(ValueError, match="task 5"):
        list(run_all(fails, [5], 2))


def test_what_runs_is_not_waited_for_when_the_caller_gives_up() -> None:
    start = time.monotonic()
    results = run_all(sleeps, [0.0, 60.0], 2)
    assert next(results) == (0, 0.0)
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - start < 30
