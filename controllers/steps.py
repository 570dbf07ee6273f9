"""Steps as transactions (LO-004, LO-005): from one double support to the next, by a clock, on level ground.

A step has four stages, told by its phase (0 to 1 of its duration)::

    PRELOAD   both feet carry          phase < lift-off
    SWING     the planted foot carries lift-off <= phase < touchdown
    LANDING   both feet carry          touchdown <= phase < 1
    COMPLETE  both feet carry          phase = 1

The swing ankle travels with ``s(v) = 6 v^5 - 15 v^4 + 10 v^3`` and rises by ``lift sin^2(pi u)``, where u is the share of the swing
that has passed; v = u, or v = u + u (1 - u) where the transfer is front-loaded. Support and balance are measured, and never used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Literal, NamedTuple, get_args

from sandbox.bodies.inertia import Array
from sandbox.bodies.standing import Pose, StandingSolver, Target
from sandbox.config import check_range, nearest
from sandbox.mechanics import Support
from sandbox.state import FEET, LEFT, RIGHT

MOST_STEPS: Final = 10_000
ROUNDING: Final = 1e-9  # [s] by which the sum of many ticks may miss the end of a step that it reaches

Transfer = Literal["even", "front-loaded"]
PelvisTiming = Literal["whole-step", "with-swing"]


class Stage(IntEnum):
    """Of a step."""

    PRELOAD = 0
    SWING = 1
    LANDING = 2
    COMPLETE = 3


@dataclass(frozen=True)
class StepPlan:
    """How a step is made.

    Attributes:
        step_length: landing ankle ahead of the planted one [m].
        duration: of the whole step [s].
        liftoff, touchdown: phases at which the swing foot leaves and meets the ground.
        lift: highest rise of the swing ankle [m].
        transfer: how the swing foot's way is spread over the swing.
        pelvis: whether the pelvis goes forward over the whole step, or with the swing foot alone.

    Raises:
        ValueError: a value that makes no step.
    """

    step_length: float = 0.28
    duration: float = 0.82
    liftoff: float = 0.10
    touchdown: float = 0.90
    lift: float = 0.045
    transfer: Transfer = "even"
    pelvis: PelvisTiming = "whole-step"

    def __post_init__(self) -> None:
        ranges = {"step_length": (0.0, 1.5, "m"), "duration": (0.05, 60.0, "s"), "lift": (0.0, 0.5, "m")}
        for name, (low, high, unit) in ranges.items():
            check_range(name, getattr(self, name), (low, high), unit)
        if not 0 <= self.liftoff < self.touchdown <= 1:
            raise ValueError(
                f"liftoff {self.liftoff:g} and touchdown {self.touchdown:g} are not phases in order: give 0 <= liftoff < touchdown <= 1"
            )
        for name, kinds in (("transfer", Transfer), ("pelvis", PelvisTiming)):
            if getattr(self, name) not in get_args(kinds):
                raise ValueError(f"unknown {name} {getattr(self, name)!r}{nearest(getattr(self, name), get_args(kinds))}")


def smoother_step(u: float) -> float:
    """0 to 1 as ``u`` goes from 0 to 1, with first and second derivative 0 at both ends: 6 u^5 - 15 u^4 + 10 u^3."""
    u = min(max(u, 0.0), 1.0)
    return u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)


def front_loaded(u: float) -> float:
    """Share u + u (1 - u): monotonic on [0, 1], twice as fast at the start, at rest at the end."""
    return u + u * (1.0 - u)


class Stance(NamedTuple):
    """Where a body stands, in the world: mid-hip (3,) and both ankles (2, 3) [m]."""

    pelvis: Array
    ankles: Array


def neutral_stance(solver: StandingSolver) -> Stance:
    """Feet side by side at the origin."""
    return Stance(solver.neutral_pelvis, solver.neutral_ankles)


def foot_of(name: str) -> int:
    """``LEFT`` or ``RIGHT``. Raises ValueError for another name."""
    if name not in FEET:
        raise ValueError(f"unknown foot {name!r}{nearest(name, FEET)}")
    return FEET.index(name)


class Step:
    """One step from a stance, with one swing foot.

    Attributes:
        start, end: stances; the end is solved, so that its pelvis is where the legs reach.
    """

    def __init__(self, solver: StandingSolver, plan: StepPlan, start: Stance, swing: int) -> None:
        self.solver, self.plan, self.start, self.swing = solver, plan, start, swing
        self.planted = RIGHT if swing == LEFT else LEFT
        ankles = start.ankles.copy()
        ankles[swing, 1] = start.ankles[self.planted, 1] + plan.step_length
        pelvis = start.pelvis.copy()
        pelvis[1] = ankles[:, 1].mean()
        pelvis[2] = self._height
        self.end = Stance(solver.solve(Target(pelvis, ankles)).pelvis, ankles)

    @property
    def _height(self) -> float:
        """Requested height of mid-hip [m]: neutral, which the solver lowers to what both legs reach."""
        return float(self.solver.neutral_pelvis[2])

    def stage(self, phase: float) -> Stage:
        """Of a phase from 0 to 1."""
        if phase < self.plan.liftoff:
            return Stage.PRELOAD
        if phase < self.plan.touchdown:
            return Stage.SWING
        return Stage.LANDING if phase < 1 else Stage.COMPLETE

    def support(self, phase: float) -> Support:
        """Which feet are planted."""
        if self.stage(phase) is not Stage.SWING:
            return Support.DOUBLE
        return Support.of(left=self.planted == LEFT, right=self.planted == RIGHT)

    def swing_share(self, phase: float) -> float:
        """Share of the swing that has passed, 0 to 1."""
        plan = self.plan
        return min(max((phase - plan.liftoff) / (plan.touchdown - plan.liftoff), 0.0), 1.0)

    def target(self, phase: float) -> Target:
        """Pelvis and ankles that are asked for at ``phase``."""
        plan = self.plan
        u = self.swing_share(phase)
        carried = smoother_step(front_loaded(u) if plan.transfer == "front-loaded" else u)
        advance = smoother_step(phase) if plan.pelvis == "whole-step" else carried
        ankles = self.start.ankles.copy()
        ankles[self.swing] += carried * (self.end.ankles[self.swing] - self.start.ankles[self.swing])
        ankles[self.swing, 2] += plan.lift * math.sin(math.pi * u) ** 2
        pelvis = self.start.pelvis + advance * (self.end.pelvis - self.start.pelvis)
        pelvis[2] = self._height
        return Target(pelvis, ankles)

    def pose(self, phase: float) -> Pose:
        """The solved pose at ``phase``."""
        return self.solver.solve(self.target(phase))


class Instant(NamedTuple):
    """A moment of a sequence: number of the step from 0 on, its phase, the step itself."""

    number: int
    phase: float
    step: Step


class StepSequence:
    """Alternating steps, each of which starts from the stance in which the last one ended.

    Attributes:
        index: of the present step; elapsed: local time in it [s]; handoffs: done; finished: after the last step, for good.

    Raises:
        ValueError: no step, or more than :data:`MOST_STEPS`.
    """

    def __init__(self, solver: StandingSolver, plan: StepPlan, steps: int, first: int = RIGHT, start: Stance | None = None) -> None:
        if not 1 <= steps <= MOST_STEPS:
            raise ValueError(f"{steps} steps are outside 1..{MOST_STEPS}: give a number in that range")
        self.plan, self.count = plan, steps
        self.index = self.handoffs = 0
        self.elapsed = 0.0
        self.finished = False
        self.steps = [Step(solver, plan, neutral_stance(solver) if start is None else start, first)]
        while len(self.steps) < steps:
            last = self.steps[-1]
            self.steps.append(Step(solver, plan, last.end, last.planted))

    @property
    def step(self) -> Step:
        """The present one."""
        return self.steps[self.index]

    @property
    def phase(self) -> float:
        """Of the present step, 0 to 1."""
        return min(self.elapsed / self.plan.duration, 1.0)

    @property
    def sequence_phase(self) -> float:
        """0 to 1 over all steps."""
        return (self.index + self.phase) / self.count

    def advance(self, dt: float) -> None:
        """Let ``dt`` [s] pass; time beyond a step's end passes in the next one, and beyond the last step nothing does.

        Raises:
            ValueError: a time that is negative or not finite.
        """
        if not 0 <= dt < math.inf:
            raise ValueError(f"a time of {dt:g} s cannot pass: give one of at least 0")
        self.elapsed += dt
        while self.elapsed >= self.plan.duration - ROUNDING and not self.finished:
            if self.index + 1 == self.count:
                self.elapsed = self.plan.duration
                self.finished = True
            else:
                self.elapsed = max(0.0, self.elapsed - self.plan.duration)
                self.index += 1
                self.handoffs += 1
        if self.finished:
            self.elapsed = self.plan.duration

    def at(self, sequence_phase: float) -> Instant:
        """The moment at a phase of the whole sequence, for scrubbing. Raises ValueError outside 0..1."""
        check_range("sequence phase", sequence_phase, (0.0, 1.0))
        index = min(int(sequence_phase * self.count), self.count - 1)
        return Instant(index, min(sequence_phase * self.count - index, 1.0), self.steps[index])

    def instants(self, samples: int) -> Iterator[Instant]:
        """``samples`` + 1 moments of each step, its start and its end among them: handoffs come twice, once in either step."""
        for index, step in enumerate(self.steps):
            for k in range(samples + 1):
                yield Instant(index, k / samples, step)
