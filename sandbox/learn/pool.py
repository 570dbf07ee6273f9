"""Where pieces of work run: processes of this machine, or the workers of a Dask cluster, behind ``concurrent.futures``.

What travels are the names of functions, settings, parameters or policies (some 10 kB), and figures back; a worker needs the same
version of this package. A worker that dies takes no more with it than what it was at, which is sent again.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from typing import Any, Final, TypeVar

from sandbox import __version__

T = TypeVar("T")
R = TypeVar("R")

PATIENCE: Final = 5.0  # [s] for a scheduler to answer
STARVED: Final = 60.0  # [s] without any worker, after which a cluster is given up
RETRIES: Final = 3  # times that work is sent again after its worker died

# One thread a process: the matrices are small, and the cores are taken.
ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class Lost:
    """In place of a result: the work's worker died each time that it was tried, or the work raised an error."""

    def __init__(self, why: str) -> None:
        self.why = why


class Pool:
    """Processes of this machine.

    Args:
        workers: processes, started afresh when they are first needed.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._executor: Executor | None = None

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
        """Results in the order of the tasks. Raises RuntimeError where one is lost."""
        out = self.attempt(function, tasks)
        for result in out:
            if isinstance(result, Lost):
                raise RuntimeError(result.why)
        return out  # type: ignore[return-value]

    def attempt(self, function: Callable[[T], R], tasks: Sequence[T]) -> list[R | Lost]:
        """Results in the order of the tasks, :class:`Lost` where there is none.

        A process that dies breaks all that is pending: every such piece is then tried once more, in a process that it has for itself,
        so that one that kills its process kills no other.
        """
        out: list[R | Lost | None] = [None] * len(tasks)
        executor = self._fresh()
        try:
            # submitting too finds a broken pool
            futures = [executor.submit(function, task) for task in tasks]
            for k, future in enumerate(futures):
                out[k] = self._result(future)
            return out  # type: ignore[return-value]
        except BrokenProcessPool:
            self._drop()
        for k, task in enumerate(tasks):
            if out[k] is None:
                with self._start(1) as alone:
                    try:
                        out[k] = self._result(alone.submit(function, task))
                    except BrokenProcessPool:
                        out[k] = Lost("its worker died twice: give the machine more memory, or use fewer workers")
        return out  # type: ignore[return-value]

    @staticmethod
    def _result(future: Future[R]) -> R | Lost:
        try:
            return future.result()
        except BrokenProcessPool:
            raise
        except Exception as error:  # whatever work does, it costs its own result alone
            return Lost(f"{type(error).__name__}: {error}")

    def _fresh(self) -> Executor:
        if self._executor is None:
            self._executor = self._start(self.workers)
        return self._executor

    @staticmethod
    def _start(workers: int) -> ProcessPoolExecutor:
        # Children take the environment of when they are started, which is when work is first submitted.
        for name, value in ONE_THREAD.items():
            os.environ.setdefault(name, value)
        return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _ignore_interrupt)

    def _drop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None

    def close(self) -> None:
        """End the processes, whatever they are at."""
        executor, self._executor = self._executor, None
        if isinstance(executor, ProcessPoolExecutor):
            children = list((executor._processes or {}).values())
            executor.shutdown(wait=False, cancel_futures=True)
            for child in children:
                child.terminate()


class Cluster(Pool):
    """The workers of a Dask cluster.

    Args:
        address: of its scheduler, for instance ``tcp://127.0.0.1:8786``.

    Raises:
        ValueError: Dask is missing, nobody answers, there is no worker, or a worker has another version of this package.
    """

    def __init__(self, address: str) -> None:
        super().__init__(0)
        if find_spec("distributed") is None:
            raise ValueError('a cluster needs dask.distributed: pip install "locomotion-sandbox[cluster]"')
        import distributed

        for name in ("distributed.core", "distributed.comm", "distributed.client", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client: Any = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(
                f"no scheduler answers at {address!r} within {PATIENCE:g} s ({why}): start one with `sandbox cluster`, or mend the address"
            ) from None
        workers = self._client.scheduler_info()["workers"]
        if not workers:
            self.close()
            raise ValueError(f"the scheduler at {address} has no workers: start some with `dask worker {address}`")
        versions = self._client.run(_version)
        for worker, version in versions.items():
            if version != __version__:
                self.close()
                raise ValueError(
                    f"worker {worker} has version {version} of this package, here is {__version__}: install the same everywhere"
                )
        self.workers = len(workers)
        self._futures = self._client.get_executor(pure=False, retries=RETRIES)

    def attempt(self, function: Callable[[T], R], tasks: Sequence[T]) -> list[R | Lost]:
        """Results in the order of the tasks, :class:`Lost` where there is none; work of a worker that dies is sent to another.

        Raises:
            RuntimeError: no worker is left for a minute.
        """
        futures = [self._futures.submit(function, task) for task in tasks]
        seen = time.monotonic()
        left = set(futures)
        while left:
            _, left = wait(left, timeout=1.0)
            if not left or self._client.scheduler_info()["workers"]:
                seen = time.monotonic()
            elif time.monotonic() - seen > STARVED:
                raise RuntimeError(f"no worker is left for {STARVED:g} s: start some, and go on with --resume")
        return [self._result(future) for future in futures]

    def close(self) -> None:
        """Leave the cluster, which goes on."""
        self._client.close()


def connect(address: str | None, workers: int) -> Pool:
    """Workers of a cluster where there is an address, otherwise processes of this machine. Raises ValueError as :class:`Cluster`."""
    return Pool(workers) if address is None else Cluster(address)


def _version() -> str:
    import sandbox

    return sandbox.__version__


def _ignore_interrupt() -> None:
    """Ctrl-C reaches the whole process group; the parent alone decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
