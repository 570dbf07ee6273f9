"""Independent pieces of work on the cores of one machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

RETRIES = 2  # times that a piece of work is sent again after a worker was killed

# One thread a process: the matrices are small, and the cores are taken.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def run_all(function: Callable[[T], R], tasks: Sequence[T], workers: int) -> Iterator[tuple[int, R]]:
    """Index and result of every task, as they come.

    Args:
        function: importable by name, as are its argument and its result.
        tasks: sent in this order; the longest first keeps all workers busy to the end.
        workers: processes, started afresh; 1 works in this process.

    Raises:
        RuntimeError: a task's worker was killed more than :data:`RETRIES` times.
    """
    if workers == 1:
        for k, task in enumerate(tasks):
            yield k, function(task)
        return
    left = dict(enumerate(tasks))
    for _ in range(1 + RETRIES):
        others = set(multiprocessing.active_children())
        before = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(ONE_THREAD)
        executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _ignore_interrupt)
        try:
            futures: dict[Future[R], int] = {executor.submit(function, task): k for k, task in left.items()}
            for future in as_completed(futures):
                result = future.result()
                del left[futures[future]]
                yield futures[future], result
            return
        except BrokenProcessPool:
            continue  # every pending piece fails with the one whose worker was killed, so that all are sent again
        except BaseException:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()  # or what they are at would be waited for
            raise
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
    raise RuntimeError(f"workers were killed {1 + RETRIES} times: give the machine more memory, or use one worker")


def _ignore_interrupt() -> None:
    """Ctrl-C reaches the whole process group; the parent alone decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
