"""Domain randomisation: what differs from episode to episode, drawn from the seed of ``reset``.

========================  ====================================================================================  =============
field                     what is drawn, once an episode                                                         unit
========================  ====================================================================================  =============
``friction``              Coulomb friction of the ground against feet; where the argument ``terrain`` brings
                          ground of its own, that ground's friction counts unless a range is given               1
``mass``                  factor on the mass of the body (masses and inertias of all segments alike)             1
``segment_lengths``       factors on the lengths of thigh, shank, foot, trunk, upper arm and forearm, one each   1
``torque_limits``         factor on the torque that every joint can bear: what lies beyond is cut off            1
``latency``               time from an observation to when the action that answers it takes effect               s
``observation_noise``     factor on the standard deviations of :func:`sandbox.envs.observations.observation_rows`   1
========================  ====================================================================================  =============

Planner and controller are built for the body that was drawn: they know its mass and its lengths, as they know those of any
body. Of friction, weakness, latency and noise they are not told, and the policy is told nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple

import numpy as np

from sandbox.bodies.anatomy import Anatomy
from sandbox.config import check_ends, nearest
from sandbox.scenes.scene import DRAWN_FRICTION, FRICTION_RANGE

Range = tuple[float, float]

# Of each field: lowest and highest that may be asked for, and the unit.
LIMITS: Final[dict[str, tuple[Range, str]]] = {
    "friction": (FRICTION_RANGE, ""),
    "mass": ((0.7, 1.4), ""),
    "segment_lengths": ((0.85, 1.15), ""),
    "torque_limits": ((0.2, 1.0), ""),
    "latency": ((0.0, 0.2), "s"),
    "observation_noise": ((0.0, 10.0), ""),
}
# Segments that are drawn together have one factor.
LENGTHS: Final = (("thigh",), ("shank",), ("foot",), ("upper_trunk", "middle_trunk", "lower_trunk"), ("upper_arm",), ("forearm",))


class Draw(NamedTuple):
    """What one episode got: friction (None: the terrain's own), the body, and the rest as in the module's table."""

    friction: float | None
    anatomy: Anatomy
    torque_limits: float
    latency: float
    observation_noise: float


@dataclass(frozen=True)
class Randomisation:
    """Ranges (low, high) to draw from, uniformly; None leaves a thing as it is. See the module for what they mean.

    Raises:
        ValueError: a range that is upside down, or beyond its limits.
    """

    friction: Range | None = None
    mass: Range | None = None
    segment_lengths: Range | None = None
    torque_limits: Range | None = None
    latency: Range | None = None
    observation_noise: Range | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            asked = getattr(self, field.name)
            if asked is None:
                continue
            limits, unit = LIMITS[field.name]
            check_ends(f"randomisation of {field.name}", asked, limits, unit)

    @classmethod
    def of(cls, asked: Randomisation | Mapping[str, Any] | None) -> Randomisation:
        """From what the argument of an environment may be: None, ranges by name, or ready made.

        Raises:
            ValueError: an unknown name (the nearest is suggested), or what no range can be.
        """
        if asked is None or isinstance(asked, Randomisation):
            return asked or cls()
        names = [field.name for field in fields(cls)]
        for name in asked:
            if name not in names:
                raise ValueError(f"unknown randomisation {name!r}{nearest(name, names)}")
        return cls(**{name: None if ends is None else tuple(ends) for name, ends in asked.items()})

    @property
    def of_body(self) -> bool:
        """Whether the body differs from episode to episode, which then builds a new world."""
        return self.mass is not None or self.segment_lengths is not None

    def draw(self, rng: np.random.Generator, anatomy: Anatomy) -> Draw:
        """What an episode gets. All is drawn in any case, so that switching one thing on changes no other."""
        share = rng.random(5 + len(LENGTHS))

        def within(ends: Range | None, k: int, otherwise: float) -> float:
            return otherwise if ends is None else float(ends[0] + share[k] * (ends[1] - ends[0]))

        body = anatomy
        if self.mass is not None:
            body = replace(body, mass=body.mass * within(self.mass, 1, 1.0))
        if self.segment_lengths is not None:
            factors = [(name, within(self.segment_lengths, 5 + k, 1.0)) for k, group in enumerate(LENGTHS) for name in group]
            body = replace(body, proportions=(*body.proportions, *factors))
        friction = None if self.friction is None else within(self.friction, 0, 1.0)
        return Draw(
            friction, body, within(self.torque_limits, 2, 1.0), within(self.latency, 3, 0.0), within(self.observation_noise, 4, 0.0)
        )


def with_drawn_friction(asked: Randomisation) -> Randomisation:
    """The same, with friction drawn as the scenes draw it, where nothing was said of it."""
    return replace(asked, friction=DRAWN_FRICTION) if asked.friction is None else asked
