"""Joint targets under stable PD (Tan, Liu & Turk 2011), without the force law: the action mode ``joint``.

The law is that of :mod:`sandbox.controllers.balance`.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.urdf import to_urdf
from sandbox.compiled import kernel
from sandbox.controllers.balance import cholesky_solve, pack
from sandbox.controllers.observation import Observer
from sandbox.controllers.planner import clamp
from sandbox.state import BodyState

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

FULL_ERROR = 0.5  # [rad] error of a joint at rest that asks for its largest torque: stiffness is that torque over this
DAMPING_TIME = 0.08  # [s] damping over stiffness


class PoseTracker:
    """Torques that bring every joint to a target.

    Args:
        anatomy: the body.
        dt: control step [s], which is the physics step.
    """

    def __init__(self, anatomy: Anatomy, dt: float) -> None:
        n = len(anatomy.joints)
        self._dt = dt
        self._model = pin.buildModelFromXML(to_urdf(anatomy), pin.JointModelFreeFlyer())
        self._data = self._model.createData()
        self._index = np.array([self._model.joints[self._model.getJointId(joint.name)].idx_v for joint in anatomy.joints])
        self._q, self._v = np.zeros(n + 7), np.zeros(n + 6)
        self._kp = np.array([joint.max_torque / FULL_ERROR for joint in anatomy.joints])
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
            self._index, state.q, state.qd, target, self._kp,
            mass_matrix, bias, tree.max_torque, self._work, self._rhs, self._tau, self._dt,
        )  # fmt: skip
        return self._tau


@kernel
def _track(
    index: Indices, q: Array, qd: Array, target: Array, stiffness: Array, mass_matrix: Array, bias: Array, max_torque: Array,
    work: Array, rhs: Array, tau: Array, dt: float,
) -> None:  # fmt: skip
    n = q.shape[0]
    for r in range(n + 6):
        rhs[r] = -bias[r]
        for c in range(r + 1):
            work[r, c] = mass_matrix[r, c]
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
