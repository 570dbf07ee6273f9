"""From a gait to one that steps into given prints: footprints first, within hard limits, then an objective.

1. The start is squeezed into the body's limits where it leaves them.
2. Footprints. Between the start's own prints and the given ones lies a path F(a) = F_start + a (F - F_start). Along it, Newton steps,
   each a small quadratic program: the least change of the control points (in units of 10 degrees and 0.03 cycles) that puts the ankles
   where they are wanted, no curve beyond its limits at any sample. Where a step of the path fails it is halved.
3. The objective. Gauss-Newton steps with the same limits and the footprints as equations; only steps that lower the sum are taken.

The quadratic programs are solved by DAQP (Arnstrom, Bemporad, Axehill 2022, IEEE Trans. Automatic Control 67:4362).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import daqp
import numpy as np
from numpy.typing import NDArray

from sandbox.footprints.anatomy import WalkerAnatomy
from sandbox.footprints.curves import CHANNELS, CURVES, HALF, SAMPLES, Bending, Start, symmetric
from sandbox.footprints.model import LEFT, RIGHT, Body
from sandbox.footprints.objectives import OBJECTIVES, Objective, Residual

Array = NDArray[np.float64]

VALUE_SCALE, TIME_SCALE = math.radians(10.0), 0.03  # of a control point's changes [rad], [cycles]
TRUST = math.radians(15.0)  # the furthest that a control point moves in one step
STIFF = 1e8  # [1/m^2] weight of a footprint against changes of 10 degrees
EXACT = 1e-6  # [m]
CONVERGED = 1e-3  # [m]
PATH, SMALLEST = 4, 1 / 256  # steps from the start's prints to the given ones, and the smallest that is tried
NEAR = 1.3 * TRUST  # of a limit: the curve may get there in this step
MARGIN = math.radians(0.05)  # kept from the limits, for what a curve does between two samples
KEEP = 0.1  # weight of a mean square change of one scale in every control point, beside the objective (assumed; 1e-4 distorts walks)


@dataclass(frozen=True)
class Problem:
    """What is asked.

    Attributes:
        anatomy: the body.
        start: the gait to begin with.
        prints: vectors (3,) [m] between the ankles at strike: (right strike,) of a symmetric gait, or (right strike, left strike).
        period: stride time [s]; the start's by default.
        objective: see :data:`sandbox.footprints.objectives.OBJECTIVES`; None for footprints alone.
        detail: see :class:`sandbox.footprints.curves.Bending`.
        spread: by curve, how far people move it [rad]; :data:`VALUE_SCALE` by default.
        priors: by curve, where it is expected (SAMPLES,) [rad] and how far it usually is from there [rad].
        keep: weight of the change beside the objective.
    """

    anatomy: WalkerAnatomy
    start: Start
    prints: Sequence[Array]
    period: float | None = None
    objective: Objective | None = "momentum"
    detail: bool = True
    spread: Mapping[str, float] = field(default_factory=dict)
    priors: Mapping[str, tuple[Array, float]] = field(default_factory=dict)
    keep: float = KEEP

    def __post_init__(self) -> None:
        period = self.start.period if self.period is None else self.period
        if not (math.isfinite(period) and period > 0):
            raise ValueError(f"step time {period / 2:g} s takes no time: give a positive one")
        if len(self.prints) not in (1, 2):
            raise ValueError(f"{len(self.prints)} prints were given: give one vector of a symmetric gait, or two")
        if self.objective is not None and self.objective not in OBJECTIVES:
            raise ValueError(f"objective {self.objective!r} is not one of {', '.join(OBJECTIVES)}")


@dataclass(frozen=True)
class Solution:
    """A gait.

    Attributes:
        angles: (SAMPLES, 11) [rad] of :data:`sandbox.footprints.curves.CHANNELS`.
        error: furthest that an ankle is from its print [m].
        objective: value, where there is one; of the start, after the footprints, at the end.
        stages: angles of the unchanged start, after the footprints, at the end.
        path: fractions of the way to the prints that were solved one after another.
        steps: Newton and Gauss-Newton steps.
        seconds: CPU time [s].
        squeezed: furthest that the start lay beyond the limits [rad].
    """

    angles: Array
    error: float
    objective: tuple[float, float, float]
    stages: tuple[Array, Array, Array]
    errors: tuple[float, float, float]
    foot_off: float
    period: float
    path: tuple[float, ...]
    steps: int
    seconds: float
    squeezed: float
    change: Array

    @property
    def converged(self) -> bool:
        """To a millimetre."""
        return self.error < CONVERGED

    def start(self, name: str = "") -> Start:
        """This gait as the start of another one."""
        return Start(self.angles[:, :7], self.foot_off, self.period, name)


class Solver:
    """One problem, with what its steps share."""

    def __init__(self, problem: Problem, body: Body | None = None) -> None:
        self.problem = problem
        self.body = body or Body(problem.anatomy)
        self.symmetrical = len(problem.prints) == 1
        low, high = np.array([problem.anatomy.limits(_dof(name)) for name in CHANNELS]).T
        self.low, self.high = low + MARGIN, high - MARGIN
        start, self.squeezed = squeezed(problem.start, self.low[:7], self.high[:7])
        self.period = start.period if problem.period is None else problem.period
        self.bend = Bending(start, problem.detail, self.symmetrical)
        scales = np.array([problem.spread.get(_dof(name), VALUE_SCALE) for name in self.bend.names])
        self.scale = np.where(np.arange(self.bend.size) < self.bend.values, scales[self.bend.owner], TIME_SCALE)
        self.weight = 1.0 / self.scale**2
        reach = np.concatenate((np.full(self.bend.values, np.inf), self.bend.shifts))
        self.bounds = -reach, reach
        self.targets = [np.asarray(p, dtype=np.float64) for p in problem.prints]
        self.strikes = ((0, RIGHT),) if self.symmetrical else ((0, RIGHT), (HALF, LEFT))
        self.steps = 0
        self.priors = self._prior_rows()

    def feet(self, angles: Array, table: Array) -> tuple[Array, Array]:
        """Vectors between the ankles at the strikes (3 or 6,) [m], and their derivatives (3 or 6, n)."""
        found = [self.body.between(angles[row], lead) for row, lead in self.strikes]
        value = np.concatenate([v for v, _ in found])
        return value, np.vstack([j @ table[row] for (_, j), (row, _) in zip(found, self.strikes, strict=True)])

    def _limits(self, angles: Array, table: Array) -> tuple[Array, Array, Array]:
        """Rows (k, n) of samples near their limits, with how far down and up they may go."""
        count = 7 if self.symmetrical else 11
        value, rows = angles[:, :count], table[:, :count]
        near = (value < self.low[:count] + NEAR) | (value > self.high[:count] - NEAR)
        return rows[near], (self.low[:count] - value)[near], (self.high[:count] - value)[near]

    def _program(
        self, hessian: Array, gradient: Array, x: Array, trust: float, rows: tuple[Array, Array, Array], equal: tuple[Array, Array]
    ) -> Array | None:
        """Minimise 1/2 d'Hd + g'd within bounds, trust and limits, footprints as stiff springs. None where there is no such d."""
        jacobian, missing = equal
        table, down, up = rows
        step = trust / VALUE_SCALE * self.scale
        low, high = np.maximum(-step, self.bounds[0] - x), np.minimum(step, self.bounds[1] - x)
        s = self.scale  # steps in units of the scales, so that the program is well conditioned
        h = (hessian + STIFF * jacobian.T @ jacobian) * np.outer(s, s)
        g = (gradient - STIFF * jacobian.T @ missing) * s
        a = np.ascontiguousarray(table * s)
        norm = np.maximum(np.abs(a).max(axis=1), 1e-9) if len(a) else np.ones(0)
        lower, upper = np.concatenate((low / s, down / norm)), np.concatenate((high / s, up / norm))
        found, _, flag, _ = daqp.solve(h, g, a / norm[:, None], upper, np.minimum(lower, upper), np.zeros(len(upper), dtype=np.int32))
        return np.asarray(found) * s if flag > 0 else None

    def beyond(self, angles: Array) -> float:
        """Furthest that a curve lies beyond its (tightened) limits [rad]; negative inside."""
        return float(max((self.low - angles).max(), (angles - self.high).max()))

    def approach(self, x: Array, target: Array, least: bool = True, rounds: int = 12) -> tuple[Array, float]:
        """Newton steps from ``x`` to prints ``target``: changed control points, and how far the prints are missed [m].

        ``least``: least change from the start, otherwise least further change.
        """
        trust = TRUST
        angles, table = self.bend(x)
        value, jacobian = self.feet(angles, table)
        error = float(np.linalg.norm(target - value))
        for _ in range(rounds):
            if error < EXACT and self.beyond(angles) < 1e-9:
                break
            hessian = np.diag(self.weight)
            gradient = self.weight * x if least else np.zeros(len(x))
            d = self._program(hessian, gradient, x, trust, self._limits(angles, table), (jacobian, target - value))
            if d is None:
                trust /= 4
                if trust < 1e-4:
                    break
                continue
            self.steps += 1
            tried = x + d
            angles_tried, table_tried = self.bend(tried)
            value_tried, jacobian_tried = self.feet(angles_tried, table_tried)
            now = float(np.linalg.norm(target - value_tried))
            if now < error or now < EXACT:
                gained = now < 0.999 * error
                x, angles, table, value, jacobian, error = tried, angles_tried, table_tried, value_tried, jacobian_tried, now
                if not gained and error > EXACT:
                    break
            else:
                trust /= 4
                if trust < 1e-4:
                    break
        return x, error

    def follow(self, x: Array) -> tuple[Array, float, tuple[float, ...]]:
        """Along the path from the start's prints to the given ones."""
        angles, table = self.bend(x)
        begin = self.feet(angles, table)[0]
        goal = np.concatenate(self.targets)
        done, size, path = 0.0, 1.0 / PATH, [0.0]
        error = float(np.linalg.norm(goal - begin))
        while done < 1.0:
            ahead = min(1.0, done + size)
            tried, miss = self.approach(x, begin + ahead * (goal - begin))
            if miss < 10 * EXACT:
                x, done = tried, ahead
                path.append(ahead)
                size = min(2 * size, 1.0 / PATH)
                error = miss
            elif size > SMALLEST:
                size /= 2
            else:
                x, error = self.approach(x, goal, rounds=40)
                break
        return x, error, tuple(path)

    def _prior_rows(self) -> list[tuple[int, Array, float]]:
        out = []
        for name, (curve, spread) in self.problem.priors.items():
            if name not in CURVES:
                raise ValueError(f"a prior for {name!r} cannot be used: give one of {', '.join(CURVES)}")
            out.append((CURVES.index(name), np.asarray(curve, dtype=np.float64), spread))
        return out

    def residual(self, angles: Array, table: Array) -> Residual:
        """Of the objective; its sum of squares is the objective."""
        assert self.problem.objective is not None
        advance = np.array([abs(t[1]) for t in self.targets])
        speed = float(2 * advance.mean() / self.period)
        return OBJECTIVES[self.problem.objective](self.body, angles, table, self.period, speed, self.symmetrical)

    def value(self, angles: Array) -> float:
        """Of the objective alone."""
        return float(np.sum(self.residual(angles, np.zeros((SAMPLES, 11, 0))).value ** 2))

    def _sum(self, x: Array, angles: Array, table: Array) -> tuple[float, Array, Array]:
        """Objective with what is kept of the start and the priors: value, gradient (n,), Gauss-Newton matrix (n, n)."""
        n = len(x)
        r = self.residual(angles, table) if self.problem.objective is not None else Residual(np.zeros(0), np.zeros((0, n)))
        keep = self.problem.keep / self.bend.values * self.weight
        value = float(r.value @ r.value) + float(keep @ x**2)
        gradient, hessian = r.table.T @ r.value + keep * x, r.table.T @ r.table + np.diag(keep)
        for k, curve, spread in self.priors:
            weight = self.problem.keep / spread**2 / SAMPLES
            off, rows = angles[:, k] - curve, table[:, k]
            value += weight * float(off @ off)
            gradient, hessian = gradient + weight * rows.T @ off, hessian + weight * rows.T @ rows
        return value, gradient, hessian

    def polish(self, x: Array, rounds: int = 15) -> Array:
        """Gauss-Newton steps from a gait whose footprints are right."""
        goal, trust = np.concatenate(self.targets), TRUST
        angles, table = self.bend(x)
        value, gradient, hessian = self._sum(x, angles, table)
        unit = self.problem.keep  # the stiff springs are made for sums of changes without it
        for _ in range(rounds):
            feet, jacobian = self.feet(angles, table)
            d = self._program(hessian / unit, gradient / unit, x, trust, self._limits(angles, table), (jacobian, goal - feet))
            if d is None:
                break
            self.steps += 1
            tried, error = self.approach(x + d, goal, least=False, rounds=4)
            angles_tried, table_tried = self.bend(tried)
            now, gradient_tried, hessian_tried = self._sum(tried, angles_tried, table_tried)
            if now < value and error < 10 * EXACT and self.beyond(angles_tried) < 1e-6:
                small = value - now < 1e-4 * value
                x, angles, table, value, gradient, hessian = tried, angles_tried, table_tried, now, gradient_tried, hessian_tried
                if small:
                    break
            else:
                trust /= 4
                if trust < math.radians(0.05):
                    break
        return x

    def run(self) -> Solution:
        """All stages."""
        begun = time.process_time()
        x = np.zeros(self.bend.size)
        goal = np.concatenate(self.targets)
        stages, errors, values = [], [], []

        def note(x: Array) -> None:
            angles, table = self.bend(x)
            stages.append(angles)
            errors.append(max(float(np.linalg.norm(e)) for e in (self.feet(angles, table)[0] - goal).reshape(-1, 3)))
            values.append(self.value(angles) if self.problem.objective is not None else math.nan)

        note(x)
        x, error, path = self.follow(x)
        note(x)
        if error < CONVERGED and (self.problem.objective is not None or self.priors):
            x = self.polish(x)
        note(x)
        seconds = time.process_time() - begun
        return Solution(
            stages[2], errors[2], (values[0], values[1], values[2]), (stages[0], stages[1], stages[2]), (errors[0], errors[1], errors[2]),
            self.bend.start.foot_off, self.period, path, self.steps, seconds, self.squeezed, x,
        )  # fmt: skip


def solve(problem: Problem, others: Sequence[Start] = (), body: Body | None = None) -> Solution:
    """A gait that steps into the prints.

    Args:
        problem: what is asked.
        others: gaits to begin with where the first one does not lead there.
        body: model of the anatomy, where it is there already.
    """
    found = Solver(problem, body).run()
    for start in others:
        if found.converged:
            break
        again = Solver(replace(problem, start=start), body).run()
        if again.error < found.error:
            found = again
    return found


def squeezed(start: Start, low: Array, high: Array) -> tuple[Start, float]:
    """A start whose curves lie within limits (7,) [rad], and how far they lay beyond. A curve is shrunk as a whole, and keeps its shape."""
    curves = start.resampled()
    symmetrical = symmetric(curves)[:, :7]
    beyond = float(np.maximum(low - symmetrical.min(axis=0), symmetrical.max(axis=0) - high).max())
    if beyond <= 0:
        return start, 0.0
    out = symmetrical.copy()
    for k in range(7):
        bottom, top = out[:, k].min(), out[:, k].max()
        new_bottom, new_top = max(bottom, low[k]), min(top, high[k])
        if (bottom, top) == (new_bottom, new_top):
            continue
        if new_top <= new_bottom:  # a curve that lies outside altogether
            size = min(top - bottom, 0.5 * (high[k] - low[k]))
            new_bottom, new_top = (high[k] - size, high[k]) if bottom >= high[k] else (low[k], low[k] + size)
        share = (new_top - new_bottom) / (top - bottom) if top > bottom else 0.0
        out[:, k] = new_bottom + share * (out[:, k] - bottom)
    return replace(start, curves=out), beyond


def _dof(channel: str) -> str:
    return channel.removeprefix("right_").removeprefix("left_")
