"""A gait for prints: the steps that a file or two lengths ask for, optimised one after another, and walked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sandbox.footprints.anatomy import WalkerAnatomy
from sandbox.footprints.curves import SAMPLES, Start
from sandbox.footprints.initial import boulic_start, further_starts
from sandbox.footprints.model import Body
from sandbox.footprints.objectives import Objective
from sandbox.footprints.prints import Print, Step, check_prints, is_symmetric, steps_of
from sandbox.footprints.reach import Reach
from sandbox.footprints.solver import Problem, Solution, solve
from sandbox.footprints.walk import Walk, ankle_vector, walk

Array = NDArray[np.float64]

SAME = 1e-4  # [m] by which two steps may differ and share a solution
LAW = 0.004  # step length over (step frequency [1/min] x height), Bruderlin & Calvert 1989: gives the step time where none is asked for
SLOWEST, FASTEST = 0.2, 3.0  # [s] step times that are taken


@dataclass(frozen=True)
class Generated:
    """What came out.

    Attributes:
        steps, solutions: of the trackway, one each; equal steps share a solution.
        walk: the body on its prints.
        step_time: [s]; speed: [m/s].
        symmetric: whether all steps are the same.
        pair: of a symmetric or alternating trackway, the gait of both steps as one cycle (SAMPLES, 11) [rad].
    """

    anatomy: WalkerAnatomy
    start: Start
    steps: list[Step]
    solutions: list[Solution]
    walk: Walk
    step_time: float
    speed: float
    symmetric: bool
    pair: Array


def straight_prints(step: Step, count: int) -> list[Print]:
    """A straight line of ``count`` prints of equal steps, left first."""
    places = [np.array([(-0.5 if k % 2 == 0 else 0.5) * step.width, k * step.length, k * step.rise]) for k in range(count)]
    return [Print(k % 2, place) for k, place in enumerate(places)]


def usual_step_time(anatomy: WalkerAnatomy, length: float) -> float:
    """Step time [s] at which a body of such legs takes steps of this length: sl = 0.004 sf h, with the human h / leg."""
    stature = anatomy.leg_length / 0.5232
    return 60.0 * LAW * stature / length


def generate(
    anatomy: WalkerAnatomy,
    prints: Sequence[Print],
    step_time: float | None = None,
    start: Start | None = None,
    objective: Objective | None = "momentum",
    progress: Callable[[int, int], None] | None = None,
) -> Generated:
    """A gait that steps into prints.

    Raises:
        PrintError, UnreachableError: prints that cannot be walked, with the nearest that can.
        ValueError: a step time that takes no time.
    """
    prints = check_prints(list(prints))
    steps = steps_of(prints)
    reach = Reach(anatomy)
    for k, step in enumerate(steps):
        reach.require(step, f"print {k + 2}")
    mean = float(np.mean([s.length for s in steps]))
    step_time = usual_step_time(anatomy, mean) if step_time is None else step_time
    if not (math.isfinite(step_time) and SLOWEST <= step_time <= FASTEST):
        raise ValueError(f"step time {step_time:g} s is outside {SLOWEST:g} to {FASTEST:g} s: give one in that range")
    start = start or boulic_start(anatomy, mean / step_time, 2 * step_time)
    body = Body(anatomy)
    known: dict[tuple[int, ...], Solution] = {}
    solutions = []
    for k, step in enumerate(steps):
        key = tuple(round(v / SAME) for v in (step.length, step.width, step.rise))
        if key not in known:
            vector = ankle_vector(anatomy, step.vector(1), start.foot_off)
            problem = Problem(anatomy, start, [vector], 2 * step_time, objective)
            known[key] = solve(problem, further_starts(2 * step_time), body)
        solutions.append(known[key])
        if progress is not None:
            progress(k + 1, len(steps))
    gaits = [s.angles for s in solutions]
    walked = walk(body, prints, gaits, solutions[0].foot_off, step_time)
    symmetric = is_symmetric(steps)
    return Generated(
        anatomy,
        start,
        steps,
        solutions,
        walked,
        step_time,
        mean / step_time,
        symmetric,
        _pair(body, anatomy, steps, start, solutions, step_time, objective, symmetric),
    )


def _pair(
    body: Body, anatomy: WalkerAnatomy, steps: list[Step], start: Start, solutions: list[Solution], step_time: float,
    objective: Objective | None, symmetric: bool,
) -> Array:  # fmt: skip
    """One cycle of both feet: of unlike steps the right and left strike are optimised together, with curves of their own for each leg."""
    if symmetric or len(steps) < 2:
        return solutions[0].angles
    right, left = (ankle_vector(anatomy, s.vector(f), start.foot_off) for s, f in ((steps[0], 1), (steps[1], 0)))
    found = solve(Problem(anatomy, start, [right, left], 2 * step_time, objective), (), body)
    return found.angles if found.converged else np.asarray(solutions[0].angles[:SAMPLES])
