"""The part of an environment's docstring that all have in common, made from the rows that the spaces are made of."""

from __future__ import annotations

import textwrap
from typing import Final, TypeVar

from sandbox.bodies.anatomy import Anatomy
from sandbox.envs.actions import PLANNER_ROWS, joint_table, residual_rows
from sandbox.envs.observations import observation_rows
from sandbox.envs.tables import table

T = TypeVar("T", bound=type)

PLACE: Final = "{spaces}"

SPACES: Final = """\
Action space: ``Box(-1, 1, (n,), float32)``. -1 stands for the lowest value of the table, +1 for the highest, in a straight line;
values outside [-1, 1], infinite ones too, are clipped; NaN is an error. The argument ``action`` picks the mode.

``residual``, the default: added to the planner's pose targets, in the order of the joints below; zero is the shipped walker. A
joint without a pose target (hip and knee of a leg that stands) goes without.

{residual}

``planner``: added to the planner's parameters; zero is the shipped walker.

{planner}

``joint`` (left range: target under stable PD) and ``torque`` (right range: joint torque). The planner then only watches.

{joints}

Observation space: ``Box`` of {n} numbers in single precision, in the order of the table; a value outside its range is clipped.
Right and forward are those of the commanded heading. Ranges of actions and observations are those of the default body.

{observation}

Info: ``time`` [s], ``speed_command`` [m/s], ``heading_rate_command`` [rad/s], ``ground_force`` (2, 3) [N] of the left and the right
foot and ``push`` (3,) [N], both in the world frame and means over the control step; ``randomisation``, what the episode was given,
after a reset; ``reward_terms`` after a step; ``fall_cause`` after a fall."""


def documented(cls: T) -> T:
    """Put the tables of the spaces where the docstring of an environment says ``{spaces}``."""
    if cls.__doc__ is not None:  # python -OO has none
        body = Anatomy()
        rows = observation_rows(body)
        text = SPACES.format(
            residual=table(residual_rows(body)),
            planner=table(PLANNER_ROWS.values()),
            joints=joint_table(body),
            n=sum(row.size for row in rows),
            observation=table(rows),
        )
        cls.__doc__ = cls.__doc__.replace(f"    {PLACE}", textwrap.indent(text, "    ", lambda line: bool(line.strip())))
    return cls
