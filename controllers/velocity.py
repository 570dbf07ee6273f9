"""What a walking speed asks for: step length, cadence, double support, and how much pelvis, trunk and arms join in (LO-006).

Two profiles. The flat-foot one of the study steps 0.26 to 0.28 m at 0.40 to 0.80 m/s, because a foot that cannot lift its heel
lets the hip go no farther past it; it takes about twice as many steps as people. The human one follows the law that people's steps
keep, step length = 0.004 x cadence [1/min] x height (Bruderlin & Calvert 1989), and needs heels that rise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Literal

from sandbox.config import check_range, nearest

KLAW_LENGTH: Final = 0.004  # step length over cadence [1/min] x height
KLAW_DOUBLE: Final = (0.2908, -0.0016)  # double support of one foot, of the cycle: constant, and per cadence [1/min]
KLAW_FASTEST: Final = 182.0  # [steps/min] where double support ends, and walking with it

Law = Literal["linear", "human"]


@dataclass(frozen=True)
class Span:
    """A quantity that goes linearly over the range of speeds.

    Attributes:
        slow: at the lowest speed; fast: at the highest
    """

    slow: float
    fast: float

    def at(self, share: float) -> float:
        """``share`` 0 at the lowest speed, 1 at the highest."""
        return self.slow + share * (self.fast - self.slow)


@dataclass(frozen=True)
class Gait:
    """What a speed asks for.

    Attributes:
        speed: [m/s]; step_length: [m] between successive footfalls; duration: of a step [s].
        double_support: of a step's duration, 0 to 1.
        lift: of the swing foot [m].
        share: where the speed lies in its range, 0 to 1.
    """

    speed: float
    step_length: float
    duration: float
    double_support: float
    lift: float
    share: float

    @property
    def cadence(self) -> float:
        """[steps/min]."""
        return 60.0 / self.duration


@dataclass(frozen=True)
class VelocityProfile:
    """From a speed command to a gait.

    Attributes:
        slowest, fastest: speeds [m/s] to which commands are clamped.
        law: ``linear`` interpolates step length and double support; ``human`` follows the law of the given ``height``.
        step_length: [m] at both ends (linear).
        double_support: of a step's duration at both ends (linear).
        lift: of the swing foot at both ends [m].
        height: of the body [m] (human).

    Raises:
        ValueError: speeds that are not in order, or a value that makes no gait.
    """

    slowest: float = 0.40
    fastest: float = 0.80
    law: Law = "linear"
    step_length: Span = field(default_factory=lambda: Span(0.26, 0.28))
    double_support: Span = field(default_factory=lambda: Span(0.22, 0.18))
    lift: Span = field(default_factory=lambda: Span(0.038, 0.038))
    height: float = 1.781

    def __post_init__(self) -> None:
        if not 0 < self.slowest < self.fastest < math.inf:
            raise ValueError(f"speeds {self.slowest:g} to {self.fastest:g} m/s are no range: give 0 < slowest < fastest")
        if self.law not in ("linear", "human"):
            raise ValueError(f"unknown law {self.law!r}{nearest(self.law, ('linear', 'human'))}")
        bounds = {"step_length": (0.05, 1.5, "m"), "double_support": (0.0, 0.8, ""), "lift": (0.0, 0.2, "m")}
        for name, (low, high, unit) in bounds.items():
            for value in (getattr(self, name).slow, getattr(self, name).fast):
                check_range(name, value, (low, high), unit)
        check_range("height", self.height, (0.5, 2.5), "m")

    def clamp(self, speed: float) -> float:
        """The nearest speed of the range. Raises ValueError for a speed that is not finite."""
        if not math.isfinite(speed):
            raise ValueError(f"speed {speed:g} m/s is not finite: give one from {self.slowest:g} to {self.fastest:g} m/s")
        return min(max(speed, self.slowest), self.fastest)

    def gait(self, speed: float) -> Gait:
        """The gait of a speed, clamped to the range."""
        v = self.clamp(speed)
        share = (v - self.slowest) / (self.fastest - self.slowest)
        if self.law == "human":
            cadence = human_cadence(v, self.height)
            duration = 60.0 / cadence
            double = 2 * (KLAW_DOUBLE[0] + KLAW_DOUBLE[1] * cadence)  # of a cycle to of a step
            return Gait(v, v * duration, duration, double, self.lift.at(share), share)
        length = self.step_length.at(share)
        return Gait(v, length, length / v, self.double_support.at(share), self.lift.at(share), share)


FLAT_FOOT: Final = VelocityProfile()
HUMAN: Final = VelocityProfile(slowest=0.40, fastest=2.0, law="human", lift=Span(0.035, 0.045))


def human_cadence(speed: float, height: float) -> float:
    """Steps a minute of a person of ``height`` [m] at ``speed`` [m/s]: sqrt(60 v / (0.004 h)), so that cadence grows as sqrt(v).

    Raises:
        ValueError: a speed that is not positive, or one beyond walking: above 182 steps/min double support ends.
    """
    cadence = math.sqrt(60.0 * speed / (KLAW_LENGTH * height)) if speed > 0 else math.nan
    if not cadence <= KLAW_FASTEST:
        fastest = KLAW_FASTEST**2 * KLAW_LENGTH * height / 60.0
        raise ValueError(f"speed {speed:g} m/s is no walking of a body of {height:g} m: give one above 0, up to {fastest:.2f} m/s")
    return cadence
