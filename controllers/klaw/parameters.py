"""What a walk of KLAW is asked for: speed, step length, step frequency, and attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final

from sandbox.controllers.velocity import KLAW_DOUBLE, KLAW_FASTEST, KLAW_LENGTH

LONGEST_STEP: Final = KLAW_LENGTH * KLAW_FASTEST  # [heights] of the law at its highest step frequency
SLOWEST: Final = 5.0  # [steps/min] of a walk


@dataclass(frozen=True)
class Attributes:
    """Style of a walk: each a factor from 0 to 2 on what a neutral walk of the same speed has.

    Names after Bruderlin & Calvert 1993; their ranges and defaults are not known here.

    Attributes:
        step_width: lateral distance of the feet; clearance: of the swing foot.
        bounciness: rise and fall of the hip, by the stiffness of the stance leg.
        pelvic_rotation, pelvic_list, lateral_sway: of the pelvis.
        torso_tilt: forward lean of the trunk; torso_rotation: of the thorax against the pelvis.
        arm_swing: of shoulder and elbow.

    Raises:
        ValueError: a factor outside 0..2.
    """

    step_width: float = 1.0
    clearance: float = 1.0
    bounciness: float = 1.0
    pelvic_rotation: float = 1.0
    pelvic_list: float = 1.0
    lateral_sway: float = 1.0
    torso_tilt: float = 1.0
    torso_rotation: float = 1.0
    arm_swing: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value <= 2:
                raise ValueError(f"{field.name} {value:g} is outside 0..2: give a factor in that range, 1 for a neutral walk")


@dataclass(frozen=True)
class Locomotion:
    """The three parameters of a step, which keep speed = step length x step frequency.

    Attributes:
        speed: [m/s]; step_length: [m]; frequency: [steps/min]; height: of the body [m].
        given: which of the three were asked for.
    """

    speed: float
    step_length: float
    frequency: float
    height: float
    given: tuple[str, ...]

    @property
    def duration(self) -> float:
        """Of a step [s]."""
        return 60.0 / self.frequency

    @property
    def lawful(self) -> float:
        """Step length over that of the law at this frequency: 1 unless two parameters were given."""
        return self.step_length / (KLAW_LENGTH * self.frequency * self.height)


def locomotion(
    height: float,
    speed: float | None = None,
    step_length: float | None = None,
    frequency: float | None = None,
    longest: float | None = None,
) -> Locomotion:
    """The parameters of a step from any one or two of them.

    One leaves the others to the law, step length = 0.004 x frequency x height; two leave the third to the identity. A step length that
    follows from the law is held below ``longest``, and the frequency raised to keep the speed.

    Args:
        height: of the body [m].
        speed: [m/s]; step_length: [m]; frequency: [steps/min].
        longest: step that the body can take [m]; 0.728 heights, the law's own at 182 steps/min, by default.

    Raises:
        ValueError: none or all three given and inconsistent, one that is not positive, a step beyond ``longest``, or a frequency above
            182 steps/min, where double support ends.
    """
    asked = {"speed": speed, "step length": step_length, "step frequency": frequency}
    given = tuple(name for name, value in asked.items() if value is not None)
    if not given:
        raise ValueError("a walk needs speed, step length or step frequency: give one or two of them")
    for name, value in asked.items():
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"{name} {value:g} makes no step: give a positive number")
    limit = LONGEST_STEP * height if longest is None else longest
    law, v = KLAW_LENGTH * height, None if speed is None else 60.0 * speed
    if v is not None and step_length is not None and frequency is not None:
        if abs(v - step_length * frequency) > 1e-6 * v:
            raise ValueError(
                f"speed {speed:g} m/s is not step length {step_length:g} m x step frequency {frequency:g} /min: leave one of them out"
            )
        length, rate = step_length, frequency
    elif step_length is not None:
        length = step_length
        rate = v / length if v is not None else frequency if frequency is not None else length / law
    elif frequency is not None:
        rate = frequency
        length = v / rate if v is not None else law * rate
    else:
        assert v is not None
        rate = math.sqrt(v / law)
        length = min(v / rate, limit)
        rate = v / length
    if rate > KLAW_FASTEST * (1 + 1e-9):
        raise ValueError(
            f"{rate:.0f} steps/min is above {KLAW_FASTEST:g}, where double support ends, and walking: give a lower speed or frequency"
        )
    if rate < SLOWEST:
        raise ValueError(f"{rate:.2g} steps/min is below {SLOWEST:g}: give a higher speed or frequency")
    if length > limit * (1 + 1e-9):
        raise ValueError(f"a step of {length:.3g} m is longer than the {limit:.3g} m that this body can take: give a shorter step")
    return Locomotion(length * rate / 60.0, length, rate, height, given)


@dataclass(frozen=True)
class Timing:
    """Durations of the phases of a symmetric gait [s].

    Attributes:
        step, double: of a step, and of each double support.
    """

    step: float
    double: float

    @property
    def cycle(self) -> float:
        return 2 * self.step

    @property
    def stance(self) -> float:
        return self.step + self.double

    @property
    def swing(self) -> float:
        return self.step - self.double

    @property
    def stance_fraction(self) -> float:
        return self.stance / self.cycle


def timing(step: Locomotion) -> Timing:
    """State-phase timings: each double support takes (29.08 - 0.16 x frequency) % of the cycle."""
    share = max(KLAW_DOUBLE[0] + KLAW_DOUBLE[1] * step.frequency, 0.0)
    return Timing(step.duration, 2 * share * step.duration)
