"""`sandbox cluster`: a scheduler and workers on this machine, to try what `--cluster` does."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from sandbox.cli.common import DONE, check_output, checking, need, option, write_text

LOOPBACK = "127.0.0.1"
COUNTS = (1, 10, 100)  # evaluations in a task, of the measurement
TASKS = 40


@dataclass(frozen=True)
class ClusterCommand:
    """Start a scheduler and workers that listen on loopback alone, print the address, and go on until Ctrl-C."""

    workers: Annotated[int, option("N", "processes")] = 2
    port: Annotated[int, option("N", "of the scheduler; 0 for any that is free")] = 0
    address_file: Annotated[Path | None, option("FILE", "write the address there too, once all workers are ready", default=False)] = None
    measure: Annotated[bool, tyro.conf.arg(help="measure what sending work costs, and end")] = False

    def execute(self) -> int:
        """Serve, and return the exit code."""
        with checking():
            need("a cluster needs", "distributed")
            from sandbox.config import check_range

            check_range("workers", self.workers, (1, 256))
            check_range("port", self.port, (0, 65535))
            if self.address_file is not None:
                check_output("--address-file", self.address_file)
        from distributed import LocalCluster

        cluster: Any = LocalCluster(
            n_workers=self.workers, threads_per_worker=1, processes=True, host=LOOPBACK, scheduler_port=self.port,
            dashboard_address=f"{LOOPBACK}:0", silence_logs="CRITICAL",
        )  # fmt: skip
        with cluster:
            address = cluster.scheduler_address
            if self.measure:
                print(overhead(address))
                return DONE
            if self.address_file is not None:
                write_text(self.address_file, address)
            print(f"{address}  ({self.workers} workers; Ctrl-C ends it)", flush=True)
            print(f"try: sandbox tune --objective efficiency --cluster {address}", flush=True)
            try:
                while True:
                    time.sleep(3600)
            except KeyboardInterrupt:
                return DONE


def overhead(address: str) -> str:
    """What sending work costs, with one and more evaluations in a task: a sentence for each."""
    from sandbox.learn.pool import Cluster

    pool = Cluster(address)
    try:
        pool.map(_nothing, list(range(4 * pool.workers)))  # connections are made
        lines = []
        for count in COUNTS:
            start = time.monotonic()
            pool.map(_nothing, [tuple(range(count)) for _ in range(TASKS)])
            spent = (time.monotonic() - start) / TASKS
            lines.append(f"{count} in a task: {1000 * spent:.1f} ms a task, {1000 * spent / count:.3f} ms an evaluation")
    finally:
        pool.close()
    return "\n".join(lines)


def _nothing(task: object) -> object:
    return task
