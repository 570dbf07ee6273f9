"""Joint targets under stable PD (Tan, Liu & Turk 2011), without the force law: the action mode ``joint``.

The law and the treatment of loaded feet are those of :mod:`sandbox.controllers.balance`.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.urdf import to_urdf
from sandbox.compiled import kernel
from sandbox.controllers.balance import CONTACT_MASS, add_contact_mass, cholesky_solve, pack
from sandbox.controllers.observation import Observer
from sandbox.controllers.parameters import REFERENCE
from sandbox.controllers.planner import GRAVITY, GaitPlanner, clamp
from sandbox.state import BodyState

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

FULL_ERROR = 0.5  # [rad] error of a joint at rest that asks for its largest torque: stiffness is that torque over this
DAMPING_TIME = 0.08  # [s] damping over stiffness


class PoseTracker:
    """Torques that bring every joint to a target.

    Args:
        anatomy: the body.
        planner: whose record of the body's lengths is used.
        dt: control step [s], which is the physics step.
    """

    def __init__(self, anatomy: Anatomy, planner: GaitPlanner, dt: float) -> None:
        n = len(anatomy.joints)
        self._body, self._dt = planner.body, dt
        self._model = pin.buildModelFromXML(to_urdf(anatomy), pin.JointModelFreeFlyer())
        self._data = self._model.createData()
        self._index = np.array([self._model.joints[self._model.getJointId(joint.name)].idx_v for joint in anatomy.joints])
        self._q, self._v = np.zeros(n + 7), np.zeros(n + 6)
        self._kp = np.array([joint.max_torque / FULL_ERROR for joint in anatomy.joints])
        self._contact_mass = CONTACT_MASS * anatomy.mass / REFERENCE.mass
        self._work, self._rhs = np.zeros((n + 6, n + 6)), np.zeros(n + 6)
        self._tau = np.zeros(n)

    def __call__(self, state: BodyState, observer: Observer, target: Array) -> Array:
        """Torques (n,) [N m] towards ``target`` (n,) [rad], within their limits; ``observer`` has seen ``state``."""
        pack(state.root_position, state.root_quaternion, state.root_velocity, state.root_angular_velocity,
             state.q, state.qd, observer.record, self._index, self._q, self._v)  # fmt: skip
        mass_matrix = pin.crba(self._model, self._data, self._q)
        bias = pin.nonLinearEffects(self._model, self._data, self._q, self._v)
        tree = observer.tree
        _track(
            observer.record, self._body, tree.leg, observer.joint_a, observer.link_p, self._index, state.q, state.qd, target, self._kp,
            mass_matrix, bias, self._contact_mass, tree.max_torque, self._work, self._rhs, self._tau, self._dt,
        )  # fmt: skip
        return self._tau


@kernel
def _track(
    observation: NDArray[np.void], body: NDArray[np.void], leg: Indices, joint_a: Array, link_p: Array, index: Indices,
    q: Array, qd: Array, target: Array, stiffness: Array, mass_matrix: Array, bias: Array, contact_mass: float, max_torque: Array,
    work: Array, rhs: Array, tau: Array, dt: float,
) -> None:  # fmt: skip
    o, b = observation[0], body[0]
    n = q.shape[0]
    for r in range(n + 6):
        rhs[r] = -bias[r]
        for c in range(r + 1):
            work[r, c] = mass_matrix[r, c]
    point = np.empty(3)
    for i in range(2):
        loaded = contact_mass * clamp(o.load[i] / (0.4 * b.mass * GRAVITY), 0.0, 1.0)
        if loaded > 0.0:
            foot = o.foot[i]
            for end in range(2):
                y = b.ball if end == 1 else -b.heel
                for c in range(3):
                    point[c] = o.ankle[i, c] + foot[c, 1] * y - foot[c, 2] * b.ankle_height
                if point[2] - o.sole_low[i] < 0.01:
                    add_contact_mass(work, point, loaded, o.pelvis, link_p[0], leg[i], joint_a, link_p, index)
    for j in range(n):
        kp = stiffness[j]
        kd = DAMPING_TIME * kp
        tau[j] = kp * (target[j] - q[j] - dt * qd[j]) - kd * qd[j]
        r = index[j]
        rhs[r] += tau[j]
        work[r, r] += dt * (kd + dt * kp)
    cholesky_solve(work, rhs)
    for j in range(n):
        kp = stiffness[j]
        t = tau[j] - dt * (DAMPING_TIME * kp + dt * kp) * rhs[index[j]]
        tau[j] = clamp(t, -max_torque[j], max_torque[j])
