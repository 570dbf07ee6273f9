"""What a policy sees: the body, its feet, the command, and where the planner is in its step."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.controllers.planner import DOUBLE, STAND, WALK, GaitPlanner
from sandbox.conventions import GRAVITY
from sandbox.envs.tables import Row
from sandbox.plants.bullet import BulletPlant
from sandbox.scenes.scene import HEADING_RATE_RANGE, SPEED_RANGE

Array = NDArray[np.float64]


def observation_rows(anatomy: Anatomy) -> tuple[Row, ...]:
    """The numbers of an observation. Right and forward are those of the commanded heading; values outside are clipped.

    The standard deviations of noise are assumed: a centimetre or a hundredth of a radian of position, five centimetres a second.
    """
    n = len(anatomy.joints)
    return (
        Row("height of mid-hip above the ground", 0.0, 3.0, "m", noise=0.01),
        Row("world's up in the pelvis's axes", -1.0, 1.0, "1", 3, noise=0.01),
        Row("pelvis's heading less the commanded one", -math.pi, math.pi, "rad", noise=0.02),
        Row("velocity of mid-hip: right, forward, up", -10.0, 10.0, "m/s", 3, noise=0.05),
        Row("angular velocity of the pelvis, in its own axes", -100.0, 100.0, "rad/s", 3, noise=0.1),
        Row("angle of each joint", -math.pi, math.pi, "rad", n, noise=0.01),
        Row("speed of each joint", -100.0, 100.0, "rad/s", n, noise=0.2),
        Row("vertical force on heel, ball, toes; left, right", 0.0, 10.0, "body weight", 6, noise=0.03),
        Row("XCoM from the left ankle: right, forward", -3.0, 3.0, "m", 2, noise=0.02),
        Row("XCoM from the right ankle: right, forward", -3.0, 3.0, "m", 2, noise=0.02),
        Row("commanded speed", *SPEED_RANGE, "m/s"),
        Row("commanded heading rate", *HEADING_RATE_RANGE, "rad/s"),
        Row("planner walks", 0.0, 1.0, "0 or 1"),
        Row("swing foot: left, none, right", -1.0, 1.0, "-1, 0, 1"),
        Row("double support", 0.0, 1.0, "0 or 1"),
        Row("time since the phase of the step began", 0.0, 2.0, "s"),
        Row("time to the predicted touchdown or lift-off", -1.0, 2.0, "s"),
        Row("planned foothold from mid-hip: right, forward", -3.0, 3.0, "m", 2),
    )


def wrapped(angle: float) -> float:
    """The same direction in [-pi, pi) [rad]."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


class Gauge:
    """Reads the numbers of :func:`observation_rows`, and the little else that a reward needs.

    Args:
        plant: the body; call its ``observe()`` before anything is read.
        planner: that is in step with the plant.

    Attributes:
        com: (3,) centre of mass [m].
    """

    def __init__(self, plant: BulletPlant, planner: GaitPlanner) -> None:
        self._state, self._terrain = plant.state, plant.terrain
        self._weight = plant.anatomy.mass * GRAVITY
        # Views into the records: a field of a record costs 50 times a plain attribute.
        observed, plan = plant.observer.record, planner.plan
        self.com, self._com_velocity = observed["com"][0], observed["com_velocity"][0]
        self._pelvis, self._ankle = observed["pelvis"][0], observed["ankle"][0]
        self._yaw = observed["pelvis_yaw"]
        self._heading, self._foothold = plan["heading"], plan["foothold"][0]
        self._step = [plan[name] for name in ("mode", "phase", "swing", "phase_start", "release", "step_end")]

    @property
    def heading(self) -> float:
        """Commanded heading [rad]."""
        return float(self._heading[0])

    @property
    def heading_error(self) -> float:
        """Pelvis's heading less the commanded one [rad], in [-pi, pi)."""
        return wrapped(float(self._yaw[0]) - self.heading)

    def read(self, sole_force: Array, speed: float, heading_rate: float) -> Array:
        """The numbers (n,), not yet clipped.

        Args:
            sole_force: (2, 3, 3) ground force [N] by foot and part of the sole, mean over the control step.
            speed: commanded [m/s].
            heading_rate: commanded [rad/s].
        """
        state = self._state
        c, s = math.cos(self.heading), math.sin(self.heading)

        def level(x: float, y: float) -> tuple[float, float]:
            """Right and forward of a horizontal vector."""
            return c * x + s * y, c * y - s * x

        rx, ry, rz = state.root_position.tolist()
        vx, vy, vz = state.root_velocity.tolist()
        cx, cy, cz = self.com.tolist()
        ux, uy, _ = self._com_velocity.tolist()
        (lx, ly, _), (mx, my, _) = self._ankle.tolist()
        ground = self._terrain.height_at(rx, ry)
        pendulum = math.sqrt(max(cz - ground, 0.3) / GRAVITY)
        xcom_x, xcom_y = cx + pendulum * ux, cy + pendulum * uy
        mode, phase, swing, began, release, step_end = (field.item() for field in self._step)
        walks, double = mode == WALK, phase == DOUBLE
        fx, fy, _ = self._foothold.tolist()
        return np.concatenate(
            (
                (rz - ground, *self._pelvis[2].tolist(), self.heading_error, *level(vx, vy), vz),
                state.root_angular_velocity @ self._pelvis,
                state.q,
                state.qd,
                sole_force[:, :, 2].ravel() / self._weight,
                (*level(xcom_x - lx, xcom_y - ly), *level(xcom_x - mx, xcom_y - my), speed, heading_rate),
                (float(walks), 2.0 * swing - 1.0 if walks else 0.0, float(walks and double)),
                (state.time - began if mode != STAND else 0.0, (release if double else step_end) - state.time if walks else 0.0),
                level(fx - rx, fy - ry) if walks and not double else (0.0, 0.0),
            )
        )
