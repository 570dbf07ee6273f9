"""`sandbox tune`: search better parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from sandbox.cli.common import DONE, STOPPED, InputError, check_output, checking, load_engine, need, option
from sandbox.cli.train import number, read_pairs
from sandbox.console import Progress

Kind = Literal["walk", "push", "stand", "start-stop", "change", "turn", "slope", "bumps"]
DEFAULT_KINDS: tuple[Kind, ...] = ("walk", "push", "stand", "start-stop", "change", "turn", "slope", "bumps")
ClusterOption = Annotated[str | None, option("ADDRESS", "of a scheduler, whose workers do the work (see sandbox cluster)", default=False)]


@dataclass(frozen=True)
class Tune:
    """Search better parameters with CMA-ES. The best estimate is written after every generation: stop when you like, --resume later."""

    out: Annotated[Path, option("FILE.toml", "parameter file to write; the state of the search lies beside it")] = Path("walker.toml")
    objective: Annotated[
        Literal["walker", "efficiency", "gait", "robustness"],
        tyro.conf.arg(help="cost of transport at 1.2 m/s; people's joint angles; falls after pushes; walker: all of --cases together"),
    ] = "walker"
    params: Annotated[
        tuple[str, ...], option("NAME", "what to search: names or patterns such as 'controller.*' or 'swing_*' (sandbox list parameters)")
    ] = ("controller.*",)
    bounds: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        option("NAME=LOW:HIGH", "search a parameter within these instead of its tuning range; may be repeated", default=False),
    ] = ()
    budget: Annotated[int, option("N", "candidates in all, each of --starts perturbed starts of 8 s")] = 600
    starts: Annotated[int, option("N", "perturbed starts of every candidate")] = 3
    start: Annotated[Path | None, option("FILE.toml", "begin from these parameters instead of the shipped ones", default=False)] = None
    resume: Annotated[bool, tyro.conf.arg(help="go on with a search that was stopped, with the same options")] = False
    population: Annotated[int, option("N", "candidates a generation")] = 12
    sigma: Annotated[float | None, option("X", "initial spread, of the ranges (default: 0.12; walker: 0.05)", default=False)] = None
    seed: Annotated[int, option("N", "seed of the strategy")] = 1
    workers: Annotated[int, option("N", "processes on this machine")] = 2
    cluster: ClusterOption = None
    cases: Annotated[
        tuple[Kind, ...],
        tyro.conf.arg(help="walker: what a candidate has to do"),
    ] = DEFAULT_KINDS
    generations: Annotated[int, option("N", "walker: generations")] = 100
    first: Annotated[int, option("N", "walker: number of the first generation: a continued run draws new cases")] = 0

    def execute(self) -> int:
        """Tune, and return the exit code."""
        return self._walker() if self.objective == "walker" else self._objective()

    def _objective(self) -> int:
        with checking():
            need("tuning needs", "cma")
            load_engine()
            from sandbox.config import check_range
            from sandbox.controllers.parameters import Parameters
            from sandbox.learn.pool import connect
            from sandbox.learn.search import SIGMA, Search, SearchSettings, verdict
            from sandbox.learn.training import check_room

            check_output("--out", self.out, (".toml",))
            check_range("workers", self.workers, (1, 256))
            check_range("seed", self.seed, (1, 2**31 - 1))  # cma takes 0 for the clock
            check_room(self.out.parent, 20 * 2**20)
            settings = SearchSettings.of(
                self.objective, Parameters.load(self.start), self.params, _ranges(self.bounds), starts=self.starts,
                population=self.population, sigma=SIGMA if self.sigma is None else self.sigma, seed=self.seed,
            )  # fmt: skip
            if self.budget < self.population:
                raise ValueError(
                    f"a budget of {self.budget} is below one generation of {self.population}: give at least that, or a smaller --population"
                )
            search = Search(settings, self.out, self.resume)
            pool = connect(self.cluster, self.workers)
            self.out.parent.mkdir(parents=True, exist_ok=True)
        patterns = " ".join(f"'{pattern}'" for pattern in self.params)
        command = (
            f"sandbox tune --objective {self.objective} --params {patterns} --budget {self.budget} --starts {self.starts} "
            f"--population {self.population} --sigma {settings.sigma:g} --seed {self.seed}"
        )
        try:
            with Progress(f"tune {self.objective}", self.budget, "evaluations", "the first generation is walked") as progress:
                search.run(self.budget, pool, progress, command)
            found = search.held_out(pool)
        except KeyboardInterrupt:
            print(f"stopped after {search.evaluations} evaluations; go on with the same command and --resume")
            return STOPPED
        finally:
            pool.close()
        print(f"{search.evaluations} evaluations, {search.note()}")
        print(verdict(self.objective, found))
        print(f"written: {self.out}; walk with it: sandbox run walk --params {self.out}")
        return DONE

    def _walker(self) -> int:
        with checking():
            need("tuning needs", "cma")
            from sandbox.config import check_range
            from sandbox.controllers.parameters import Parameters

            for name, given in (("bounds", self.bounds), ("resume", self.resume), ("cluster", self.cluster)):
                if given:
                    raise ValueError(f"--{name} belongs to a search with an --objective of its own: efficiency, gait or robustness")
            check_output("--out", self.out, (".toml",))
            check_range("generations", self.generations, (1, 100_000), "")
            check_range("population", self.population, (4, 1000), "")
            sigma = 0.05 if self.sigma is None else self.sigma
            check_range("sigma", sigma, (1e-4, 0.5), "")
            check_range("workers", self.workers, (1, 256), "")
            start = Parameters.load(self.start)
        from sandbox.learn.tuning import tune

        options = {
            "generations": self.generations, "population": self.population, "sigma": sigma, "seed": self.seed, "first": self.first,
            "workers": self.workers,
        }  # fmt: skip
        words = " ".join(f"--{name} {value}" for name, value in options.items())
        begin = f" --start {self.start.name}" if self.start else ""
        command = f"sandbox tune --out {self.out.name}{begin} --cases {' '.join(self.cases)} {words}"
        self.out.parent.mkdir(parents=True, exist_ok=True)
        tune(start, self.out, kinds=self.cases, command=command, **options)  # type: ignore[arg-type]
        return DONE


def _ranges(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    out = {}
    for name, text in read_pairs("bounds", texts, "com_height=0.95:1.0").items():
        low, colon, high = text.partition(":")
        if not colon:
            raise InputError(f"--bounds {name}={text} is no range: for instance --bounds com_height=0.95:1.0")
        out[name] = (number("bounds", name, low), number("bounds", name, high))
    return out
