"""What the planner and the run loop need from a plant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.controllers.observation import Observer
from sandbox.controllers.planner import GaitPlanner
from sandbox.state import BodyState

Array = NDArray[np.float64]

STANDING_KNEE = 0.15  # [rad] knee flexion of the pose in which a body is set down


def unpredicted(foot: int, touchdown: bool) -> float:  # noqa: ARG001
    """The prediction of a plant that nobody plans for: none."""
    return float("nan")


@dataclass(frozen=True)
class Fall:
    """That a body fell: when [s] and why (``hip height``, ``trunk tilt`` or ``<link> touched the ground``)."""

    time: float
    cause: str


@dataclass(frozen=True)
class Pose:
    """A start: root position (3,) [m], quaternion (4,), joint angles (n,), root velocity (3,) [m/s]."""

    position: Array
    quaternion: Array
    q: Array
    velocity: Array


class Plant(Protocol):
    """A body that follows a plan.

    Attributes:
        dt: step [s].
        fall: set once, when the body fell.
        predicted: asked for the time at which the planner expects an event (foot, touchdown) [s].
        timed, engine_seconds: whether the CPU time inside the physics engine is measured, and that time [s].
    """

    anatomy: Anatomy
    dt: float
    state: BodyState
    observer: Observer
    fall: Fall | None
    predicted: Callable[[int, bool], float]
    timed: bool
    engine_seconds: float

    def reset(self, pose: Pose) -> None:
        """Set the body down; the only time at which its state is written."""

    def observe(self) -> NDArray[np.void]:
        """Observation record of the present state."""

    def follow(self, planner: GaitPlanner) -> None:
        """One step of ``dt`` towards the plan."""

    def push(self, force: Array, link: str = "thorax", point: Array | None = None) -> None:
        """Disturb a link with a force (3,) [N] during the next step."""

    def close(self) -> None:
        """Release what the plant holds; further use is an error, closing again is not."""


def standing_pose(
    anatomy: Anatomy,
    lumbar_flexion: float = 0.0,
    seed: int | None = None,
    spread: float = 0.02,
    speed: float = 0.05,
    slope: float = 0.0,
) -> Pose:
    """Standing upright at the origin, facing +Y, knees a little bent, soles 2 mm above the ground.

    With a ``seed``, joint angles get normal noise of ``spread`` [rad] and the root's velocity of ``speed`` [m/s]; the
    height is kept such that the lowest sole point stays above the ground, which rises by ``slope`` [rad] along +Y.
    """
    index = anatomy.joint_index
    q = np.zeros(len(anatomy.joints))
    for side in SIDES:
        q[index[f"{side}_hip_flexion"]] = STANDING_KNEE / 2
        q[index[f"{side}_knee_flexion"]] = STANDING_KNEE
        q[index[f"{side}_ankle_dorsiflexion"]] = STANDING_KNEE / 2 + slope
        q[index[f"{side}_shoulder_adduction"]] = -0.10
        q[index[f"{side}_elbow_flexion"]] = 0.3
    q[index["lumbar_flexion"]] = lumbar_flexion
    velocity = np.zeros(3)
    if seed is not None:
        rng = np.random.default_rng(seed)
        q += rng.normal(scale=spread, size=len(q))
        velocity = rng.normal(scale=speed, size=3)
    low = np.array([j.outer[0] for j in anatomy.joints])
    high = np.array([j.outer[1] for j in anatomy.joints])
    q = np.clip(q, low, high)
    observer = Observer(anatomy)
    state = BodyState(len(q))
    state.q[:] = q
    observer(state, np.zeros(2), np.zeros(2, dtype=np.int64))
    names = [f"{side}_{part}" for side in SIDES for part in ("heel", "toe_base", "toe_tip")]
    above = []
    for link, point in (anatomy.points[name] for name in names):
        k = anatomy.link_index[link]
        _, y, z = observer.link_p[k] + observer.link_r[k] @ point
        above.append(z - np.tan(slope) * y)
    height = 0.002 - float(min(above))
    return Pose(np.array([0.0, 0.0, height]), np.array([0.0, 0.0, 0.0, 1.0]), q, velocity)
