"""What a gait is to have little of, as sums of squares with analytic derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.conventions import GRAVITY
from sandbox.footprints.curves import HALF, JERK, RATE, SAMPLES
from sandbox.footprints.model import LEFT, RIGHT, Body

Array = NDArray[np.float64]
Objective = Literal["momentum", "jerk", "energy"]


JERK_UNIT = 2 * math.sqrt(2) * 110.0  # [rad]: jerk of captured walks comes out as 0.003 (assumed)


class Residual(NamedTuple):
    """Values (r,) whose sum of squares is the objective, and their derivatives (r, n)."""

    value: Array
    table: Array


def momentum(body: Body, angles: Array, table: Array, period: float, speed: float, symmetrical: bool) -> Residual:
    """Mean square of whole-body angular momentum over mass x speed x height of the centre of mass (Herr and Popovic 2008)."""
    rows = HALF if symmetrical else SAMPLES  # the other half is the mirror image
    rates, rate_table = RATE @ angles / period, np.tensordot(RATE[:rows], table, axes=(1, 0)) / period
    unit = body.mass * max(speed, 0.1) * body.anatomy.com_height * math.sqrt(rows)
    value, out = np.empty((rows, 3)), np.empty((rows, 3, table.shape[2]))
    for i in range(rows):
        found = body.momentum(angles[i], rates[i])
        value[i] = found.value
        out[i] = found.by_angle @ table[i] + found.by_rate @ rate_table[i]
    return Residual(value.ravel() / unit, out.reshape(3 * rows, -1) / unit)


def jerk(body: Body, angles: Array, table: Array, period: float, speed: float, symmetrical: bool) -> Residual:  # noqa: ARG001
    """Mean square over all angles of the third derivative by phase, first twelve harmonics; in units of JERK_UNIT.

    In this unit walks have about as much of it as of the other objectives.
    """
    columns = slice(0, 7 if symmetrical else 11)  # the left leg of a symmetric gait repeats the right one
    unit = JERK_UNIT * (2 * math.pi) ** 3 * math.sqrt(SAMPLES)
    value, out = JERK @ angles[:, columns] / unit, np.tensordot(JERK, table[:, columns], axes=(1, 0)) / unit
    return Residual(value.ravel(), out.reshape(value.size, -1))


def energy(body: Body, angles: Array, table: Array, period: float, speed: float, symmetrical: bool) -> Residual:  # noqa: ARG001
    """Variance of mechanical energy over the step, over weight x height of the centre of mass, squared.

    Kinetic energy of all segments and potential energy of the centre of mass, the body carried over the ankle of its stance foot.
    """
    rows = HALF if symmetrical else SAMPLES
    rates, rate_table = RATE @ angles / period, np.tensordot(RATE[:rows], table, axes=(1, 0)) / period
    value, out = np.empty(rows), np.empty((rows, table.shape[2]))
    for i in range(rows):
        found = body.energy(angles[i], rates[i], RIGHT if i < HALF else LEFT)
        value[i] = found.value
        out[i] = found.by_angle @ table[i] + found.by_rate @ rate_table[i]
    unit = body.mass * GRAVITY * body.anatomy.com_height * math.sqrt(rows)
    return Residual((value - value.mean()) / unit, (out - out.mean(axis=0)) / unit)


OBJECTIVES: dict[str, Callable[[Body, Array, Array, float, float, bool], Residual]] = {"momentum": momentum, "jerk": jerk, "energy": energy}
