"""The kinematic plant: planted feet stay where they are, and the body is placed over them at 120 Hz.

One tick, in this order::

    transport    the CoM moves as a linear inverted pendulum over the planned pressure, c'' = omega^2 (c - p), walking with
                 its periodic solution: commanded speed and swell over the step forward, sway sideways
    pelvis       yaw, tilt, obliquity, and a height that both legs reach; the root is put where the CoM is to be
    trunk, arms  a damped second-order response
    feet         land and leave when the planner says so; in stance the rocker determines the ankle, in swing the planner's path
    legs         analytic inverse kinematics
    forces       what the motion asks of the ground, and of the joints

Nothing is made anew between steps: position and velocity of the root, gait phase, pivots and arms are one persistent state.
What the planner takes the body for, the pendulum of its foothold law, is what moves the body here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.kinematics import MTP
from sandbox.bodies.urdf import to_urdf
from sandbox.compiled import kernel
from sandbox.controllers.balance import pack
from sandbox.controllers.observation import Observer
from sandbox.controllers.planner import GaitPlanner, clamp
from sandbox.conventions import GRAVITY
from sandbox.plants.base import Array, Fall, Pose, unpredicted
from sandbox.plants.posture import FLAT, FOREFOOT, MEMORY_DTYPE, TOE, follow, set_down
from sandbox.scenes.terrain import Terrain
from sandbox.state import BodyState, ContactEvent, ContactState, SolePart

RATE = 120  # [Hz]
ACCELERATION_CUTOFF = 20.0  # [Hz]
FALL_HIP_SHARE = 0.6  # of the standing mid-hip height, as in the physical plant


class KinematicPlant:
    """A body that is where the plan puts it.

    Args:
        anatomy: the body.
        terrain: the ground: a plane, level or sloping.

    Attributes:
        state: refilled at every tick. Velocities are differences over the tick. ``sole_force`` is the force that the motion of
            the CoM asks for, M (a + g), by the planned load shares. ``tau`` are the torques of the inverse dynamics
            (recursive Newton-Euler, Pinocchio) under that force at the pressure point; joint limits do not apply to them.
            Accelerations pass a two-pole low-pass of :data:`ACCELERATION_CUTOFF`, so that forces and torques lag by 16 ms.
        load: (2,) vertical force per foot [N]; contact: (2,) 0 / 1, as planned.
        residual: (3,) moment about mid-hip [N m] that the motion asks for beyond what the contact forces give: what is not
            physical in it.
        fall: set once, when mid-hip sank below 0.6 of its standing height because the feet were out of reach.

    Raises:
        ValueError: the terrain has boxes, through which this plant would walk.
    """

    def __init__(self, anatomy: Anatomy, terrain: Terrain | None = None) -> None:
        self.anatomy = anatomy
        self.terrain = terrain or Terrain()
        if self.terrain.boxes:
            raise ValueError("the kinematic plant walks on a plane and would walk through boxes: take the bullet plant, or no bumps")
        self.dt = 1.0 / RATE
        self.observer = Observer(anatomy)
        n = len(anatomy.joints)
        self.state = BodyState(n)
        self.load = np.zeros(2)
        self.contact = np.zeros(2, dtype=np.int64)
        self.residual = np.zeros(3)
        self.fall: Fall | None = None
        self.predicted: Callable[[int, bool], float] = unpredicted
        self.memory = np.zeros(1, MEMORY_DTYPE)
        self.model = pin.buildModelFromXML(to_urdf(anatomy), pin.JointModelFreeFlyer())
        self._data = self.model.createData()
        self._index = np.array([self.model.joints[self.model.getJointId(j.name)].idx_v for j in anatomy.joints])
        self._q, self._v, self._v_last = np.zeros(n + 7), np.zeros(n + 6), np.zeros(n + 6)
        self._a, self._a_stage = np.zeros(n + 6), np.zeros(n + 6)
        self._push = np.zeros(3)
        tip = anatomy.points["left_toe_tip"][1]
        self._foot = np.array(
            [anatomy.heel_behind_ankle, anatomy.ball_ahead_of_ankle, anatomy.toe_ahead_of_ankle, anatomy.ankle_height, -tip[2]]
        )
        # links and joint axes of poses that are being tried
        links = np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3))
        self._scratch: tuple[Array, Array, Array, Array, Array] = (*links, np.zeros((n, 3)))
        self.timed = False
        self.engine_seconds = 0.0
        self._tick = 0
        self._closed = False

    # -- the four verbs --------------------------------------------------------------------------------------------

    def reset(self, pose: Pose) -> None:
        """Set the body down: trunk, arms and the place of each foot as in ``pose``, feet flat on the ground, legs solved to them."""
        self._check_open()
        s = self.state
        self._tick = 0
        self.fall = None
        s.time = 0.0
        s.root_position[:] = pose.position
        s.root_quaternion[:] = pose.quaternion
        s.q[:] = pose.q
        for array in (s.root_velocity, s.root_angular_velocity, s.qd, s.tau, s.sole_force, s.pressure, self.residual, self._push):
            array[:] = 0.0
        s.events.clear()
        self.load[:] = 0.5 * self.anatomy.mass * GRAVITY
        self.contact[:] = 1
        s.contact[:] = ContactState.FLAT
        for array in (self._a, self._a_stage):
            array[:] = 0.0
        self.memory[:] = np.zeros(1, MEMORY_DTYPE)
        self.observer(s, self.load, self.contact)
        t = self.observer.tree
        set_down(
            self.observer.record, self.memory, s.root_position, s.root_quaternion, s.q, pose.velocity, self.terrain.slope,
            self._foot, self.anatomy.length("thigh"), self.anatomy.length("shank"),
            t.parent, t.axis, t.origin, t.mass, t.com, t.leg, *self._scratch,
        )  # fmt: skip
        s.root_velocity[:2] = pose.velocity[:2]
        self.observer(s, self.load, self.contact)
        self._pack()
        self._v_last[:] = self._v
        self._hip_height = float(s.root_position[2]) - self.terrain.height_at(float(s.root_position[0]), float(s.root_position[1]))

    def observe(self) -> NDArray[np.void]:
        """Observation record of the present state."""
        self._check_open()
        return self.observer(self.state, self.load, self.contact)

    def follow(self, planner: GaitPlanner) -> None:
        """One tick: the plan, as updated for the present state, carried out."""
        self._check_open()
        s, m, t = self.state, self.memory, self.observer.tree
        before = (int(self.contact[0]), int(self.contact[1]))
        follow(
            s.time, self.dt, planner.plan, planner.parameters, planner.body, m, self._push, self.terrain.slope, self._foot,
            s.root_position, s.root_quaternion, s.root_velocity, s.root_angular_velocity, s.q, s.qd, self.contact,
            t.parent, t.axis, t.origin, t.mass, t.com, t.leg, t.arm, *self._scratch,
        )  # fmt: skip
        self._tick += 1
        s.time = self._tick * self.dt
        s.contact[:] = m[0].part
        s.pressure[:] = m[0].point
        self._finish_tick(before)
        if self.fall is None:
            x, y, z = s.root_position.tolist()
            if z - self.terrain.height_at(x, y) < FALL_HIP_SHARE * self._hip_height:
                self.fall = Fall(s.time, "hip height")

    def _finish_tick(self, before: tuple[int, int]) -> None:
        """Forces of the motion that was set, and the events by which the contacts differ from those before it."""
        s = self.state
        self.observer(s, self.load, self.contact)
        self._dynamics()
        self._push[:] = 0.0
        for i in range(2):
            if self.contact[i] != before[i]:
                down = bool(self.contact[i])
                part = SolePart.TOE if not down else SolePart.HEEL if s.contact[i] == ContactState.HEEL else SolePart.BALL
                s.events.append(ContactEvent(s.time, i, down, part, float(self.load[i]), self.predicted(i, down)))

    def push(self, force: Array, link: str = "thorax", point: Array | None = None) -> None:
        """A disturbance (3,) [N] during the next tick. It acts on the CoM, wherever it is meant to act.

        Raises:
            KeyError: no such link.
        """
        self._check_open()
        _ = self.anatomy.link_index[link], point
        self._push += force

    def close(self) -> None:
        """Further use is an error; closing again is not."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("this plant was closed: make a new one")

    # -- forces ----------------------------------------------------------------------------------------------------

    def _pack(self) -> None:
        s = self.state
        pack(s.root_position, s.root_quaternion, s.root_velocity, s.root_angular_velocity, s.q, s.qd,
             self.observer.record, self._index, self._q, self._v)  # fmt: skip

    def _dynamics(self) -> None:
        """Ground force and joint torques of the motion."""
        s = self.state
        self._pack()
        if self._tick == 1:  # the pose in which the body was set down had no speed
            self._v_last[:] = self._v
        gain = 1.0 - math.exp(-2 * math.pi * ACCELERATION_CUTOFF * self.dt)
        self._a_stage += gain * ((self._v - self._v_last) / self.dt - self._a_stage)
        self._a += gain * (self._a_stage - self._a)
        self._v_last[:] = self._v
        asked = pin.rnea(self.model, self._data, self._q, self._v, self._a)
        _contact_forces(
            asked, self._index, self.observer.record, self.memory, self._push, self._foot, self.observer.tree.leg,
            self.observer.link_p, self.observer.joint_a, s.tau, s.sole_force, self.load, self.residual,
        )  # fmt: skip


@kernel
def _contact_forces(
    asked, index, observation, memory, push, foot, leg, link_p, joint_a, tau, sole_force, load, residual
):  # fmt: skip
    """Ground force of each foot, and what it leaves of the joint torques ``asked`` (6 + n,) of a body without ground."""
    o, m = observation[0], memory[0]
    heel, ball, toe = foot[0], foot[1], foot[2]
    total, force, arm, point = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for j in range(3):
        total[j] = -push[j]
        residual[j] = 0.0
        for r in range(3):
            total[j] += o.pelvis[j, r] * asked[r]
            residual[j] += o.pelvis[j, r] * asked[3 + r]
    for j in range(tau.shape[0]):
        tau[j] = asked[index[j]]
    for i in range(2):
        share = m.share[i]
        for j in range(3):
            force[j] = share * total[j]
            arm[j] = m.point[i, j] - link_p[0, j]
            point[j] = m.point[i, j]
            for r in range(3):
                sole_force[i, r, j] = 0.0
        residual[0] -= arm[1] * force[2] - arm[2] * force[1]
        residual[1] -= arm[2] * force[0] - arm[0] * force[2]
        residual[2] -= arm[0] * force[1] - arm[1] * force[0]
        load[i] = force[2]
        # two parts share the force as a beam on two supports does
        part, other, u = SolePart.HEEL, SolePart.HEEL, 0.0
        if m.part[i] == TOE:
            part = other = SolePart.TOE
        elif m.part[i] == FOREFOOT or (m.part[i] == FLAT and m.ahead[i] > ball):
            part, other, u = SolePart.BALL, SolePart.TOE, clamp((m.ahead[i] - ball) / (toe - ball), 0.0, 1.0)
        elif m.part[i] == FLAT:
            other, u = SolePart.BALL, clamp((m.ahead[i] + heel) / (ball + heel), 0.0, 1.0)
        for j in range(3):
            sole_force[i, part, j] += (1 - u) * force[j]
            sole_force[i, other, j] += u * force[j]
        first = leg[i]
        for n in range(7):
            a = joint_a[first + n]
            if n == MTP:  # only what stands on the toes
                for j in range(3):
                    force[j] = sole_force[i, SolePart.TOE, j]
                    point[j] += o.foot[i, j, 1] * (toe - m.ahead[i]) if m.part[i] != TOE else 0.0
            for j in range(3):
                arm[j] = point[j] - link_p[first + n + 1, j]
            tau[first + n] -= (
                a[0] * (arm[1] * force[2] - arm[2] * force[1])
                + a[1] * (arm[2] * force[0] - arm[0] * force[2])
                + a[2] * (arm[0] * force[1] - arm[1] * force[0])
            )
