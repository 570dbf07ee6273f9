"""Rewards: small pure terms of what happened in a control step, and their weights.

Each term is 0 where there is nothing to reward or to punish. The terms for doing the task lie in 0..1, the others are
what is taken off. There is no term for merely existing: a walker that is asked to walk and stands still earns nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

WALK_TOLERANCE = 0.3  # [m/s] error of velocity at which the term has fallen to 1/e; a person's speed sways by 0.1 within a step
STAND_TOLERANCE = 0.15  # [m/s]
HEADING_SCALE = math.pi / 4  # [rad] error of heading that counts in full
DRIFT_SCALE = 0.5  # [m] distance from the starting place that counts in full


class Outcome(NamedTuple):
    """What a control step came to.

    Attributes:
        velocity_error: mean velocity of the CoM less the commanded one, horizontal [m/s].
        heading_error: [rad].
        drift: horizontal distance of the CoM from where the episode began [m].
        effort: mean over joints and time of (torque over its limit) squared, 0..1.
        action: mean of the squared action, 0..1.
        fell: whether the body fell in this step.
    """

    velocity_error: float
    heading_error: float
    drift: float
    effort: float
    action: float
    fell: bool


@dataclass(frozen=True)
class Weights:
    """Weights of the terms of a reward.

    Raises:
        ValueError: a weight that is no finite number.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise ValueError(f"weight {field.name} = {value!r} of the reward is not a finite number: give one, 0 to leave the term out")


@dataclass(frozen=True)
class WalkWeights(Weights):
    """Weights of the terms of walking; ``fall`` counts once, all others in every control step."""

    velocity: float = 1.0
    heading: float = 0.3
    effort: float = 0.1
    action: float = 0.05
    fall: float = 10.0


@dataclass(frozen=True)
class StandWeights(Weights):
    """Weights of the terms of standing; ``fall`` counts once, all others in every control step."""

    stillness: float = 1.0
    drift: float = 0.3
    heading: float = 0.3
    effort: float = 0.1
    action: float = 0.05
    fall: float = 10.0


def closeness(error: float, tolerance: float) -> float:
    """1 where ``error`` is 0, 1/e at ``tolerance``, towards 0 beyond: exp(-(error / tolerance)^2)."""
    return math.exp(-(min(error / tolerance, 1e3) ** 2))


def excess(error: float, scale: float) -> float:
    """(error / scale)^2, at most 1."""
    return min(error / scale, 1.0, key=abs) ** 2


def walk_terms(outcome: Outcome, weights: WalkWeights) -> dict[str, float]:
    """Weighted terms of walking at the commanded velocity; their sum is the reward."""
    return {
        "velocity": weights.velocity * closeness(outcome.velocity_error, WALK_TOLERANCE),
        "heading": -weights.heading * excess(outcome.heading_error, HEADING_SCALE),
        "effort": -weights.effort * outcome.effort,
        "action": -weights.action * outcome.action,
        "fall": -weights.fall * outcome.fell,
    }


def stand_terms(outcome: Outcome, weights: StandWeights) -> dict[str, float]:
    """Weighted terms of standing still where the episode began; their sum is the reward."""
    return {
        "stillness": weights.stillness * closeness(outcome.velocity_error, STAND_TOLERANCE),
        "drift": -weights.drift * excess(outcome.drift, DRIFT_SCALE),
        "heading": -weights.heading * excess(outcome.heading_error, HEADING_SCALE),
        "effort": -weights.effort * outcome.effort,
        "action": -weights.action * outcome.action,
        "fall": -weights.fall * outcome.fell,
    }
