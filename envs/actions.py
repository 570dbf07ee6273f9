"""Action modes: what the numbers of an action do to the walker.

Every action lies in [-1, 1] and is mapped onto its physical range linearly: -1 is the lowest value, +1 the highest.

=============  ============================================================================================
``residual``   added to the planner's pose targets, where a joint is under position control (the joints of
               a leg that stands follow the force law instead, but for its ankle and toes)
``planner``    added to parameters of the planner: foothold, step width, step time, trunk lean
``joint``      targets of all joints under stable PD; the planner only watches
``torque``     joint torques; the planner only watches
=============  ============================================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.config import nearest
from sandbox.controllers.balance import Controller
from sandbox.controllers.planner import GaitPlanner
from sandbox.envs.tables import Row, bounds
from sandbox.envs.tracking import PoseTracker
from sandbox.plants.bullet import BulletPlant

Array = NDArray[np.float64]

RESIDUAL: Final = 0.15  # [rad] largest change of a pose target

# Parameters of the planner that an action may change, and by how much. Absolute, whatever the size of the body.
PLANNER_ROWS: Final = {
    "foothold_offset": Row("foothold, forward", -0.08, 0.08, "m"),
    "step_width": Row("step width", -0.04, 0.04, "m"),
    "step_time_factor": Row("step time, over that of the speed law", -0.30, 0.30, "1"),
    "trunk_lean": Row("forward lean of the trunk at 1 m/s", -0.10, 0.10, "rad"),
}


class ActionMode(ABC):
    """How an action drives a plant.

    Args:
        plant: that is driven.
        planner: that plans for it.
        rows: the numbers of an action, with their physical range.
    """

    def __init__(self, plant: BulletPlant, planner: GaitPlanner, rows: Sequence[Row]) -> None:
        self.plant, self.planner = plant, planner
        self.rows = tuple(rows)
        low, high = bounds(self.rows)
        self._middle, self._half = (high + low) / 2, (high - low) / 2

    def physical(self, action: Array) -> Array:
        """Physical values of an action in [-1, 1]."""
        return self._middle + self._half * action

    @abstractmethod
    def begin(self, action: Array) -> None:
        """Take an action in [-1, 1], for the physics steps that follow."""

    def reset(self) -> None:
        """Undo what the last action changed; called before the plant and the planner are reset."""
        self.begin(np.zeros(len(self._half)))

    def tick(self) -> None:
        """One physics step; the plant has been observed and the planner updated."""
        self.plant.follow(self.planner)


def residual_rows(anatomy: Anatomy) -> list[Row]:
    """The numbers of the mode ``residual``."""
    return [Row("change of each joint's target", -RESIDUAL, RESIDUAL, "rad", len(anatomy.joints))]


class Residual(ActionMode):
    """Added to pose targets."""

    def __init__(self, plant: BulletPlant, planner: GaitPlanner) -> None:
        super().__init__(plant, planner, residual_rows(plant.anatomy))
        self._controller = plant.controller = Controller(plant.anatomy, planner, plant.dt)

    def begin(self, action: Array) -> None:
        self._controller.pose_offset[:] = self.physical(action)


class PlannerParameters(ActionMode):
    """Added to parameters of the planner."""

    def __init__(self, plant: BulletPlant, planner: GaitPlanner) -> None:
        super().__init__(plant, planner, list(PLANNER_ROWS.values()))
        self._shipped = [float(planner.parameters[0][name]) for name in PLANNER_ROWS]

    def begin(self, action: Array) -> None:
        for name, shipped, change in zip(PLANNER_ROWS, self._shipped, self.physical(action).tolist(), strict=True):
            self.planner.parameters[0][name] = shipped + change


def joint_rows(anatomy: Anatomy) -> list[Row]:
    """The numbers of the mode ``joint``."""
    return [Row(joint.name, *joint.outer, "rad") for joint in anatomy.joints]


def torque_rows(anatomy: Anatomy) -> list[Row]:
    """The numbers of the mode ``torque``."""
    return [Row(joint.name, -joint.max_torque, joint.max_torque, "N m") for joint in anatomy.joints]


class JointTargets(ActionMode):
    """Targets under stable PD."""

    def __init__(self, plant: BulletPlant, planner: GaitPlanner) -> None:
        super().__init__(plant, planner, joint_rows(plant.anatomy))
        self._tracker = PoseTracker(plant.anatomy, plant.dt)
        self._target = np.zeros(len(self.rows))

    def begin(self, action: Array) -> None:
        self._target[:] = self.physical(action)

    def tick(self) -> None:
        self.plant.apply(self._tracker(self.plant.state, self.plant.observer, self._target))


class Torques(ActionMode):
    """Joint torques."""

    def __init__(self, plant: BulletPlant, planner: GaitPlanner) -> None:
        super().__init__(plant, planner, torque_rows(plant.anatomy))
        self._tau = np.zeros(len(self.rows))

    def begin(self, action: Array) -> None:
        self._tau[:] = self.physical(action)

    def tick(self) -> None:
        self.plant.apply(self._tau)


MODES: Final[dict[str, type[Residual | PlannerParameters | JointTargets | Torques]]] = {
    "residual": Residual,
    "planner": PlannerParameters,
    "joint": JointTargets,
    "torque": Torques,
}


_ROWS: Final[dict[str, Callable[[Anatomy], list[Row]]]] = {
    "residual": residual_rows,
    "planner": lambda _: list(PLANNER_ROWS.values()),
    "joint": joint_rows,
    "torque": torque_rows,
}


def mode_rows(name: str, anatomy: Anatomy) -> list[Row]:
    """The numbers of an action of a mode, without anything that is driven. Raises ValueError for an unknown mode."""
    if name not in MODES:
        raise ValueError(f"unknown action mode {name!r}{nearest(name, MODES)}")
    return _ROWS[name](anatomy)


def make_mode(name: str, plant: BulletPlant, planner: GaitPlanner) -> ActionMode:
    """The action mode of a name. Raises ValueError for an unknown one."""
    if name not in MODES:
        raise ValueError(f"unknown action mode {name!r}{nearest(name, MODES)}")
    return MODES[name](plant, planner)


def joint_table(anatomy: Anatomy) -> str:
    """Markdown table of the modes ``joint`` and ``torque``, as it stands in a docstring; left and right have the same range."""
    lines = ["| Num | Name | Min | Max | Unit | Min | Max | Unit |", "|---|---|---|---|---|---|---|---|"]
    index = anatomy.joint_index
    for i, joint in enumerate(anatomy.joints):
        if joint.name.startswith("right_"):
            continue
        base = joint.name.removeprefix("left_")
        numbers = f"{i}" if base == joint.name else f"{i}, {index[f'right_{base}']}"
        name = base if base == joint.name else f"{base}, left and right"
        low, high = joint.outer
        lines.append(f"| {numbers} | {name} | {low:.4g} | {high:.4g} | rad | {-joint.max_torque:.4g} | {joint.max_torque:.4g} | N m |")
    return "\n".join(lines)
