"""`sandbox tune`: search better parameters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

import tyro

from sandbox.cli.common import DONE, check_output, checking, need, option


@dataclass(frozen=True)
class Tune:
    """Search better parameters with CMA-ES. The best estimate is written after every generation: stop when you like."""

    out: Annotated[Path, option("FILE.toml", "parameter file to write", default=False)]
    start: Annotated[Path | None, option("FILE.toml", "begin from these parameters instead of the shipped ones", default=False)] = None
    cases: Annotated[
        tuple[Literal["walk", "push", "stand", "start-stop", "change", "turn", "slope", "bumps"], ...],
        tyro.conf.arg(help="what a candidate has to do"),
    ] = ("walk", "push", "stand", "start-stop", "change", "turn", "slope", "bumps")
    generations: Annotated[int, option("N", "generations")] = 100
    population: Annotated[int, option("N", "candidates a generation")] = 14
    sigma: Annotated[float, option("X", "initial spread, of the tuning ranges")] = 0.05
    seed: Annotated[int, option("N", "seed of the strategy")] = 1
    first: Annotated[int, option("N", "number of the first generation: a continued run draws new cases")] = 0
    workers: Annotated[int, option("N", "processes")] = 2

    def execute(self) -> int:
        """Tune, and return the exit code."""
        with checking():
            need("tuning needs", "cma")
            from sandbox.config import check_range
            from sandbox.controllers.parameters import Parameters

            check_output("--out", self.out, (".toml",))
            check_range("generations", self.generations, (1, 100_000), "")
            check_range("population", self.population, (4, 1000), "")
            check_range("sigma", self.sigma, (1e-4, 0.5), "")
            check_range("workers", self.workers, (1, 256), "")
            start = Parameters.load(self.start)
        from sandbox.learn.tuning import tune

        options = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("out", "start", "cases")}
        words = " ".join(f"--{name} {value}" for name, value in options.items())
        begin = f" --start {self.start.name}" if self.start else ""
        command = f"sandbox tune --out {self.out.name}{begin} --cases {' '.join(self.cases)} {words}"
        self.out.parent.mkdir(parents=True, exist_ok=True)
        tune(start, self.out, kinds=self.cases, command=command, **options)
        return DONE
