"""CMA-ES over the walker's parameters, on the cores of one machine.

``sandbox tune --out walker.toml`` starts from the shipped values; every generation draws new cases, the
same for all of its candidates. Each rollout loads its world afresh. The best estimate (the mean of the distribution) is
written after every generation with the command, the seeds and the score, so that the run can be stopped at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from sandbox.bodies.inertia import Array
from sandbox.controllers.parameters import Parameters
from sandbox.files import written_whole
from sandbox.learn.cost import TUNING_SEEDS, Case, cost, draw_cases

KINDS = ("walk", "push", "stand", "start-stop", "change", "turn", "slope", "bumps")
FIELDS = {f.name: f.metadata for f in dataclasses.fields(Parameters)}
FAILED = 40.0  # cost of a rollout that raised


def to_unit(parameters: Parameters) -> Array:
    """Parameters as fractions of their tuning ranges (n,)."""
    return np.array([(getattr(parameters, name) - m["low"]) / (m["high"] - m["low"]) for name, m in FIELDS.items()])


def from_unit(x: Array) -> Parameters:
    """Inverse of :func:`to_unit`; fractions are clipped to 0..1."""
    values = {
        name: float(m["low"] + min(max(f, 0.0), 1.0) * (m["high"] - m["low"])) for (name, m), f in zip(FIELDS.items(), x, strict=True)
    }
    return Parameters().replace(values)


def evaluate(task: tuple[Array, Case]) -> float:
    """Cost of one candidate in one case; a rollout that raises costs :data:`FAILED`, not the run."""
    x, case = task
    try:
        return cost(from_unit(x), case)
    except Exception as error:  # whatever a wild candidate does to the physics
        print(f"{case}: {type(error).__name__}: {error}", file=sys.stderr)
        return FAILED


def write_parameters(path: Path, parameters: Parameters, about: dict[str, object]) -> None:
    """A parameter file that ``Parameters.load`` and ``sandbox run --params`` take, written whole or not at all."""
    lines = ["[about]"]
    lines += [f"{key} = {value!r}" if not isinstance(value, str) else f'{key} = "{value}"' for key, value in about.items()]
    lines += ["", "[parameters]"]
    for name, meta in FIELDS.items():
        lines.append(f"{name} = {getattr(parameters, name):.6g}  # [{meta['unit']}] {meta['doc']}")
    with written_whole(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextlib.contextmanager
def _workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end at once where the work is broken off: what is left of a generation can take minutes."""
    others = set(multiprocessing.active_children())
    # Ctrl-C reaches the whole process group; the parent alone decides what it means.
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            yield pool
        except BaseException:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def tune(
    start: Parameters,
    out: Path,
    *,
    kinds: Sequence[str] = KINDS,
    generations: int = 100,
    population: int = 16,
    sigma: float = 0.05,
    seed: int = 1,
    first: int = 0,
    workers: int = 2,
    command: str = "",
) -> Parameters:
    """Run CMA-ES and return the best estimate; see the module.

    Args:
        start: where to begin.
        out: parameter file that is written after every generation.
        kinds: of cases, see :mod:`sandbox.learn.cost`.
        generations, population: of CMA-ES.
        sigma: initial spread, of the tuning ranges.
        seed: of the strategy; the cases depend on the generation alone.
        first: number of the first generation, so that a continued run draws new cases.
        workers: processes.
        command: what was typed, for the file.
    """
    import cma

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    options = {"bounds": [0, 1], "popsize": population, "seed": seed, "verbose": -9, "CMA_diagonal": 30}
    strategy = cma.CMAEvolutionStrategy(np.clip(to_unit(start), 0.01, 0.99), sigma, options)
    began = time.monotonic()
    best = start
    with _workers(workers) as pool:
        for generation in range(first, first + generations):
            candidates = strategy.ask()
            cases = draw_cases(generation, tuple(kinds))
            tasks = [(x, case) for x in candidates for case in cases]
            table = np.array(list(pool.map(evaluate, tasks))).reshape(len(candidates), len(cases))
            costs = table.mean(axis=1)
            strategy.tell(candidates, costs.tolist())
            best = from_unit(strategy.result.xfavorite)
            i = int(costs.argmin())
            fell = float((table >= 10.0).mean())
            print(
                f"generation {generation}  best {costs[i]:.3f}  median {np.median(costs):.3f}  fell {fell:.2f}"
                f"  spread {strategy.sigma:.4f}  {time.monotonic() - began:.0f} s  {table.mean(axis=0).round(1).tolist()}",
                flush=True,
            )
            about = {
                "command": command,
                "cases": " ".join(kinds),
                "seeds": f"{TUNING_SEEDS[0]}-{TUNING_SEEDS[1]}, strategy seed {seed}",
                "generation": generation,
                "median_cost": float(np.median(costs)),
                "share_fallen": fell,
            }
            write_parameters(out, best, about)
            write_parameters(out.with_name(out.stem + "-best.toml"), from_unit(candidates[i]), about)
    return best
