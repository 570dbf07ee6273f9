"""CMA-ES (Hansen 2016, in the package cma) over named parameters for one goal: efficiency, gait or robustness.

Every candidate walks a few perturbed starts of 8 s, drawn anew for each generation and the same for all its candidates. The best
estimate, the mean of the distribution, is scored at the end beside the start on starts that the search never saw.

The state is written after every generation, beside the result: a search that was stopped goes on where it was, and comes to the same
end, as it does on any number of workers. A candidate that breaks the physics, or whose worker dies for good, costs one evaluation.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from sandbox.config import check_range, nearest
from sandbox.console import silenced
from sandbox.controllers.parameters import Parameters
from sandbox.files import written_whole
from sandbox.learn.pool import Lost, Pool
from sandbox.learn.tuning import FIELDS, write_parameters
from sandbox.scenes.scene import PUSH_DURATION, Options, Push, build

PREFIX: Final = "controller."  # that a name may carry
SECONDS: Final = 8.0  # of a start
EFFICIENT_SPEED, GAIT_SPEED, ROBUST_SPEED = 1.2, 1.2, 1.0  # [m/s]
ROBUST_FORCE: Final = (180.0, 280.0)  # [N], of pushes that the shipped walker survives half of the time
FALL_COST: Final = 10.0  # of a fall at the very end; twice that at once
SPEED_SLACK: Final = 0.03  # relative error of mean speed that costs nothing
SPEED_COST: Final = 10.0  # per relative error beyond it
TUNING_SEEDS: Final = (1, 9_999)
HELD_OUT_SEED: Final = 15_000  # of the first start of the final score
HELD_OUT_STARTS: Final = 20
SIGMA: Final = 0.12  # initial spread, of the range of every parameter
ABOUT: Final = {
    "efficiency": f"cost of transport at {EFFICIENT_SPEED} m/s",
    "gait": f"RMS of hip, knee and ankle from people's [deg] at {GAIT_SPEED} m/s",
    "robustness": f"falls after pushes of {ROBUST_FORCE[0]:g}-{ROBUST_FORCE[1]:g} N for {PUSH_DURATION} s at {ROBUST_SPEED} m/s",
}


class Score(NamedTuple):
    """One start: its cost, whether it was survived, and the figure of the objective where there is one."""

    cost: float
    survived: bool
    figure: float | None


class Work(NamedTuple):
    """One candidate, to be walked anywhere: values by name, objective, and the seeds of its starts."""

    values: tuple[tuple[str, float], ...]
    objective: str
    seeds: tuple[int, ...]


def score(parameters: Parameters, objective: str, seed: int) -> Score:
    """Walk one start."""
    from sandbox.measure import gait_report, summary
    from sandbox.simulation import run

    speed = {"efficiency": EFFICIENT_SPEED, "gait": GAIT_SPEED, "robustness": ROBUST_SPEED}[objective]
    scene = build("walk", Options(speed=speed, seconds=SECONDS, seed=seed))
    if objective == "robustness":
        rng = np.random.default_rng([seed, 7])
        begin, force, direction = rng.uniform((3.5, ROBUST_FORCE[0], -math.pi), (4.7, ROBUST_FORCE[1], math.pi))
        scene = dataclasses.replace(scene, pushes=(Push(float(begin), PUSH_DURATION, float(force), float(direction)),))
    recording = run(scene, parameters=parameters, seed=seed)
    fall = recording.header["fall"]
    if fall["fell"]:
        return Score(FALL_COST * (2.0 - float(fall["time_s"]) / SECONDS), False, None)
    if objective == "robustness":
        return Score(0.0, True, None)
    name, figures = ("cost_of_transport", summary(recording)) if objective == "efficiency" else ("rms_mean_deg", gait_report(recording))
    late = recording.time > 0.5 * SECONDS
    path = recording.com[late]
    mean = float(np.hypot(*(path[-1, :2] - path[0, :2]))) / float(recording.time[late][-1] - recording.time[late][0])
    figure = figures[name]
    if figure is None:
        return Score(FALL_COST, True, None)
    slow = SPEED_COST * max(abs(mean / speed - 1.0) - SPEED_SLACK, 0.0)
    return Score(float(figure) + slow, True, float(figure))


def score_all(work: Work) -> list[Score]:
    """All starts of a candidate."""
    with silenced():
        import sandbox.plants.bullet  # noqa: F401  (prints when it is imported)
    parameters = Parameters().replace(dict(work.values))
    return [score(parameters, work.objective, seed) for seed in work.seeds]


def select(patterns: Sequence[str]) -> tuple[str, ...]:
    """Names of the parameters that patterns such as ``controller.*``, ``swing_*`` or ``com_height`` ask for, in their own order.

    Raises:
        ValueError: a pattern that no name fits; the nearest is suggested.
    """
    bare = [pattern.removeprefix(PREFIX) for pattern in patterns]
    for given, pattern in zip(patterns, bare, strict=True):
        if not any(fnmatchcase(name, pattern) for name in FIELDS):
            raise ValueError(f"unknown parameter {given!r}{nearest(pattern, FIELDS)}")
    return tuple(name for name in FIELDS if any(fnmatchcase(name, pattern) for pattern in bare))


@dataclass(frozen=True)
class SearchSettings:
    """What is searched.

    Attributes:
        objective: of :data:`ABOUT`.
        start: values of all parameters, by name.
        ranges: (low, high) of the parameters that are searched, by name.
        starts: perturbed starts of every candidate.
        population: candidates a generation.
        sigma: initial spread, of the ranges.
        seed: of the strategy and of what is drawn.

    Raises:
        ValueError: an unknown name, or a range that leaves the start out.
    """

    objective: str
    start: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]
    starts: int = 3
    population: int = 12
    sigma: float = SIGMA
    seed: int = 1
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.objective not in ABOUT:
            raise ValueError(f"unknown objective {self.objective!r}{nearest(self.objective, ABOUT)}")
        check_range("starts", self.starts, (1, 1000))
        check_range("population", self.population, (4, 1000))
        check_range("sigma", self.sigma, (1e-4, 0.5))
        for name, (low, high) in self.ranges.items():
            if name not in FIELDS:
                raise ValueError(f"unknown parameter {name!r}{nearest(name, FIELDS)}")
            if not low < high:
                raise ValueError(f"bounds {low:g}..{high:g} of {name} are upside down: give the lower value first")
            value = self.start[name]
            if not low <= value <= high:
                raise ValueError(f"bounds {low:g}..{high:g} of {name} leave out the start, {value:g}: widen them, or give another --start")
        object.__setattr__(self, "names", tuple(self.ranges))

    @classmethod
    def of(
        cls,
        objective: str,
        start: Parameters,
        patterns: Sequence[str],
        bounds: Mapping[str, tuple[float, float]] | None = None,
        **options: Any,
    ) -> SearchSettings:
        """For the parameters that patterns ask for, within their tuning ranges unless ``bounds`` say otherwise."""
        bounds = {name.removeprefix(PREFIX): ends for name, ends in (bounds or {}).items()}
        chosen = select(patterns)
        for name in bounds:
            if name not in chosen:
                raise ValueError(f"bounds of {name!r}, which is not searched{nearest(name, chosen)}")
        ranges = {name: bounds.get(name, (FIELDS[name]["low"], FIELDS[name]["high"])) for name in chosen}
        return cls(objective, dataclasses.asdict(start), ranges, **options)

    def values(self, x: Sequence[float] | np.ndarray) -> tuple[tuple[str, float], ...]:
        """Values of all parameters, for fractions of the ranges, which are clipped to 0..1."""
        share = np.clip(np.asarray(x, dtype=float), 0.0, 1.0).tolist()
        found = {name: low + f * (high - low) for (name, (low, high)), f in zip(self.ranges.items(), share, strict=True)}
        return tuple({**self.start, **found}.items())

    def origin(self) -> list[float]:
        """Fractions of the ranges at which the start lies."""
        return [(self.start[name] - low) / (high - low) for name, (low, high) in self.ranges.items()]

    def seeds(self, generation: int) -> tuple[int, ...]:
        """Of the starts of a generation."""
        rng = np.random.default_rng([self.seed, generation])
        return tuple(int(seed) for seed in rng.integers(*TUNING_SEEDS, size=self.starts))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "objective": self.objective, "start": dict(self.start), "ranges": {k: list(v) for k, v in self.ranges.items()},
            "starts": self.starts, "population": self.population, "sigma": self.sigma, "seed": self.seed,
        }  # fmt: skip


class HeldOut(NamedTuple):
    """Start and result on held-out starts: survived of how many, and mean figure of those that both survived."""

    starts: int
    survived_before: int
    survived: int
    figure_before: float | None
    figure: float | None


class Search:
    """A search, begun or resumed.

    Args:
        settings: what to search.
        out: parameter file that is written after every generation; the state lies beside it.
        resume: go on from the state.

    Raises:
        ValueError: nothing to resume, or a state of another search.
    """

    def __init__(self, settings: SearchSettings, out: Path, resume: bool = False) -> None:
        import cma

        self.settings, self.out = settings, out
        self.state = out.with_name(out.stem + ".state.json")
        self.history: list[dict[str, float]] = []
        self.evaluations = self.lost = 0
        options = {"bounds": [0, 1], "popsize": settings.population, "seed": settings.seed, "verbose": -9, "CMA_diagonal": 30}
        self._strategy: Any = cma.CMAEvolutionStrategy(np.clip(settings.origin(), 1e-3, 1 - 1e-3), settings.sigma, options)
        self._sure = settings.origin()
        self._costs: list[list[float]] = []
        if resume:
            # The strategy is led through the same generations again, which takes no walking: it is then what it was.
            for costs in self._stored():
                self._tell(self._ask(), costs)

    def _stored(self) -> list[list[float]]:
        """Costs of the candidates, by generation, that the state holds."""
        try:
            stored = json.loads(self.state.read_text(encoding="utf-8"))
            theirs, costs, self.lost = stored["settings"], stored["costs"], int(stored["lost"])
        except FileNotFoundError:
            raise ValueError(f"{self.state} does not exist, so that there is nothing to resume: leave --resume out") from None
        except (OSError, ValueError, KeyError, TypeError):
            raise ValueError(f"{self.state} is not the state of a search: remove it, and begin anew") from None
        if theirs != self.settings.to_json():
            raise ValueError(f"{self.state} is of a search with other options: repeat those, or give another --out")
        return list(costs)

    def run(self, budget: int, pool: Pool, progress: Callable[[int, str], None] | None = None, command: str = "") -> Parameters:
        """Search until ``budget`` candidates have been walked, and return the best estimate.

        Raises:
            ValueError: a budget below one generation.
        """
        s = self.settings
        if budget < s.population:
            raise ValueError(
                f"a budget of {budget} is below one generation of {s.population}: give at least that, or a smaller --population"
            )
        while self.evaluations + s.population <= budget:
            self._generation(pool, command)
            if progress is not None:
                progress(self.evaluations, self.note())
        return Parameters().replace(dict(s.values(self._sure)))

    def note(self) -> str:
        """Generation, best cost and spread, in words."""
        if not self.history:
            return ""
        last = self.history[-1]
        lost = f", {self.lost} lost" if self.lost else ""
        return f"generation {len(self.history)}, best {last['best']:.4f}, median {last['median']:.4f}, spread {last['spread']:.4f}{lost}"

    def _ask(self) -> list[Any]:
        """Candidates of the next generation."""
        # cma draws from numpy's global state, which others use too
        np.random.seed(int(np.random.default_rng([self.settings.seed, len(self.history), 1]).integers(2**31)))  # noqa: NPY002
        return list(self._strategy.ask())

    def _tell(self, candidates: list[Any], costs: list[float]) -> None:
        self._strategy.tell(candidates, costs)
        self.evaluations += len(candidates)
        self._sure = [float(value) for value in self._strategy.result.xfavorite]
        self._costs.append(costs)
        self.history.append({"best": min(costs), "median": float(np.median(costs)), "spread": float(self._strategy.sigma)})

    def _generation(self, pool: Pool, command: str) -> None:
        s = self.settings
        seeds = s.seeds(len(self.history))
        candidates = self._ask()
        costs = []
        for result in pool.attempt(score_all, [Work(s.values(x), s.objective, seeds) for x in candidates]):
            if isinstance(result, Lost):
                self.lost += 1
                costs.append(2 * FALL_COST)
            else:
                costs.append(float(np.mean([start.cost for start in result])))
        self._tell(candidates, costs)
        self._write(command)

    def _write(self, command: str) -> None:
        s = self.settings
        about: dict[str, object] = {
            "command": command,
            "objective": f"{s.objective}: {ABOUT[s.objective]}",
            "searched": " ".join(s.names),
            "seeds": f"strategy {s.seed}, {s.starts} starts a candidate from {TUNING_SEEDS[0]}-{TUNING_SEEDS[1]}",
            "evaluations": self.evaluations,
            "median_cost": self.history[-1]["median"],
        }
        write_parameters(self.out, Parameters().replace(dict(s.values(self._sure))), about)
        with written_whole(self.state) as temporary:
            temporary.write_text(json.dumps({"settings": s.to_json(), "costs": self._costs, "lost": self.lost}), encoding="utf-8")

    def held_out(self, pool: Pool, starts: int = HELD_OUT_STARTS) -> HeldOut:
        """Start and best estimate on starts that the search never saw."""
        s = self.settings
        seeds = range(HELD_OUT_SEED, HELD_OUT_SEED + starts)
        work = [Work(values, s.objective, (seed,)) for values in (tuple(s.start.items()), s.values(self._sure)) for seed in seeds]
        results = [result[0] for result in pool.map(score_all, work)]
        before, after = results[:starts], results[starts:]
        both = [(b.figure, a.figure) for b, a in zip(before, after, strict=True) if b.figure is not None and a.figure is not None]
        means = [float(np.mean(column)) for column in zip(*both, strict=True)] if both else [None, None]
        return HeldOut(starts, sum(b.survived for b in before), sum(a.survived for a in after), means[0], means[1])


def verdict(objective: str, found: HeldOut) -> str:
    """The final score in words."""
    text = f"held-out starts survived: {found.survived} of {found.starts} (before: {found.survived_before})"
    if found.figure is not None and found.figure_before:
        change = 100 * (found.figure / found.figure_before - 1)
        text += f"; {ABOUT[objective]}: {found.figure:.4f} (before: {found.figure_before:.4f}, {change:+.1f} %)"
    return text
