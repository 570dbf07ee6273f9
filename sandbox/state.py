"""What a plant reports of its body: one mutable object, refilled in place at every tick."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEFT, RIGHT = 0, 1
FEET = ("left", "right")


class ContactState(IntEnum):
    """Which part of a foot carries load."""

    AIRBORNE = 0
    HEEL = 1
    FLAT = 2
    FOREFOOT = 3  # ball, with or without toes, heel unloaded
    TOE = 4  # toes alone


class SolePart(IntEnum):
    """Parts of a sole whose ground force is told apart: index of ``BodyState.sole_force``."""

    HEEL = 0
    BALL = 1
    TOE = 2


@dataclass(frozen=True)
class ContactEvent:
    """A touchdown or lift-off that happened.

    Attributes:
        time: [s].
        foot: ``LEFT`` or ``RIGHT``.
        touchdown: True for a touchdown, False for a lift-off.
        part: the part of the sole that met, or last left, the ground.
        force: vertical ground force of the foot at the event [N].
        predicted: when the planner had expected it [s]; NaN where it had no prediction (standing, a stumble).
    """

    time: float
    foot: int
    touchdown: bool
    part: SolePart
    force: float
    predicted: float


def _zeros(*shape: int) -> Array:
    return np.zeros(shape)


@dataclass(slots=True)
class BodyState:
    """State of a body with ``n`` joints (canonical order of ``Anatomy.joints``), in the world frame.

    The root is the pelvis link's frame: its origin is mid-hip.

    Attributes:
        time: [s] since reset.
        root_position: (3,) [m].
        root_quaternion: (4,) x, y, z, w.
        root_velocity: (3,) of the root's origin [m/s].
        root_angular_velocity: (3,) [rad/s].
        q, qd, tau: (n,) joint angle [rad], speed [rad/s], applied torque of the last interval [N m].
        sole_force: (2, 3, 3) ground force [N] by foot and :class:`SolePart`, mean over the last interval.
        pressure: (2, 3) centre of pressure per foot [m]; meaningless where the foot carries nothing.
        contact: (2,) :class:`ContactState` per foot.
        events: touchdowns and lift-offs since the last refill.
    """

    n: int
    time: float = 0.0
    root_position: Array = field(default_factory=lambda: _zeros(3))
    root_quaternion: Array = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    root_velocity: Array = field(default_factory=lambda: _zeros(3))
    root_angular_velocity: Array = field(default_factory=lambda: _zeros(3))
    q: Array = field(init=False)
    qd: Array = field(init=False)
    tau: Array = field(init=False)
    sole_force: Array = field(default_factory=lambda: _zeros(2, 3, 3))
    pressure: Array = field(default_factory=lambda: _zeros(2, 3))
    contact: NDArray[np.int8] = field(default_factory=lambda: np.zeros(2, dtype=np.int8))
    events: list[ContactEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.q, self.qd, self.tau = (np.zeros(self.n) for _ in range(3))

    @property
    def load(self) -> Array:
        """Vertical ground force per foot (2,) [N]."""
        return np.asarray(self.sole_force[:, :, 2].sum(axis=1))
