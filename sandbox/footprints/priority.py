"""The published iteration, kept to show where it fails: prioritised least squares, footprints above limits above momentum.

Undamped first-order steps (LITERATURE.md E.2, reconstructed)::

    d = J+ e,  then (I - J+ J) (limits, then minus the gradient of the momentum)

``scaled=False`` takes changes of angles in degrees and of times in fractions of the cycle as equals, which is what the plain formula
says: the least change then goes into the times, which leave the angles no say. Limits are pulled at, never enforced.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.footprints.solver import VALUE_SCALE, Problem, Solver

Array = NDArray[np.float64]

ROUNDS, PULL, DESCENT = 30, 0.5, 0.05
STOP = 0.01  # [m] as published


class Outcome(NamedTuple):
    """Angles (SAMPLES, 11) [rad], how far an ankle is from its print [m], how far curves lie beyond their limits [rad], steps, CPU [s]."""

    angles: Array
    error: float
    beyond: float
    steps: int
    seconds: float


def prioritised(problem: Problem, scaled: bool = False, descent: bool = True) -> Outcome:
    """Up to thirty steps of the published iteration; ``descent``: lower the momentum in what the footprints leave free."""
    begun = time.process_time()
    solver = Solver(problem)
    unit = solver.scale if scaled else np.where(np.arange(solver.bend.size) < solver.bend.values, np.radians(1.0), 1.0)
    goal = np.concatenate(solver.targets)
    x, steps = np.zeros(solver.bend.size), 0
    for steps in range(ROUNDS):  # noqa: B007 - how many were taken is reported
        angles, table = solver.bend(x)
        value, jacobian = solver.feet(angles, table)
        missing = goal - value
        if np.linalg.norm(missing) < STOP:
            break
        scaled_jacobian = jacobian * unit
        inverse = np.linalg.pinv(scaled_jacobian)
        free = np.eye(len(x)) - inverse @ scaled_jacobian
        count = 7 if solver.symmetrical else 11
        excess = np.maximum(angles[:, :count] - solver.high[:count], 0) + np.minimum(angles[:, :count] - solver.low[:count], 0)
        d = inverse @ missing
        if excess.any():
            rows = table[:, :count][excess != 0] * unit
            d = d - free @ (np.linalg.pinv(rows @ free) @ (PULL * excess[excess != 0]))
        if descent and problem.objective is not None:
            residual = solver.residual(angles, table)
            gradient = unit * (residual.table.T @ residual.value)
            length = float(np.linalg.norm(gradient))
            d = d - free @ gradient / max(length, 1e-9) * DESCENT * VALUE_SCALE / np.radians(1.0)
        x = x + unit * d
        late = slice(solver.bend.values, None)
        x[late] = np.clip(x[late], *(b[late] for b in solver.bounds))
    angles, table = solver.bend(x)
    error = float(np.linalg.norm(goal - solver.feet(angles, table)[0]))
    return Outcome(angles, error, max(0.0, solver.beyond(angles)), steps, time.process_time() - begun)
