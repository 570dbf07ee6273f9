"""From plan to joint torque: a force law for the legs that stand, inverse kinematics and stable PD for everything else.

Stance. The body is to feel one ground force per loaded foot, through the planned centre of pressure p_i and the CoM::

    F_z = M (g + kz (z_d - z) + dz (z_d' - z') + ff z_d''),   F_i = share_i F_z ((c - p_i)_xy / (c - p_i)_z, 1)

plus the horizontal pair that turns the trunk upright. The joints of the leg then carry
tau_j = h_j - a_j . ((p_i - o_j) x F_i + m), with h_j gravity and Coriolis terms, and m the free moment of yaw.

Everything else is stable PD (Tan, Liu & Turk 2011) with the whole mass matrix::

    (M + dt Kd + dt^2 Kp) qdd = Kp (q_d - q - dt qd) + Kd (qd_d - qd) + tau_ff - h + J^T F
    tau = Kp (q_d - q - dt qd - dt^2 qdd) + Kd (qd_d - qd - dt qdd) + tau_ff

The contact forces that are asked for stand in for the ground in this prediction. A point mass at the loaded soles, in place of
the ground's constraint, was tried and left out: a landing heel bounces, the mass outlasts the contact, and the ankle's damping,
sized for a heavy foot, drives the free one into a limit cycle of two ticks.
"""

from __future__ import annotations

import math
import threading
from functools import lru_cache
from typing import Any

import numpy as np
import pinocchio as pin

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.kinematics import foot_rotation, solve_leg
from sandbox.bodies.urdf import to_urdf
from sandbox.compiled import kernel
from sandbox.controllers.observation import Observer
from sandbox.controllers.parameters import REFERENCE
from sandbox.controllers.planner import DOUBLE, STAND, WALK, GaitPlanner, clamp
from sandbox.conventions import GRAVITY
from sandbox.state import BodyState

LOOK_AHEAD = 2e-3  # [s] step of the finite difference that gives the swing joints' speed
FZ_RANGE = (0.15, 2.2)  # vertical force asked for, in body weights
TWIST_FRICTION = 0.35  # share of the vertical force that is counted on against twisting: feet meet friction of 0.6 and more
TWIST_WIDTH = 0.04  # [leg lengths] arm of friction across the ball of the foot
KNEE_GUARD_KP = 250.0  # [N m/rad] reference body
STANCE_KD = 2.0  # [N m s/rad] residual damping of a force-controlled joint (hip, knee)
# Stiffness of the joints that hold a pose, reference body [N m/rad], and damping time kd / kp [s].
HEAD_KP, HIP_ROTATION_KP, FOOT_YAW_KP, INVERSION_KP, MTP_KP, MTP_STAND_KP = 40.0, 150.0, 80.0, 60.0, 15.0, 25.0
POSE_ZETA = 0.08
MTP_DAMPING = 0.08  # [N m s/rad] reference body; twice the toes' inertia over the step is the most that is stable


class Controller:
    """Joint torques that make the physical body follow a plan.

    Args:
        anatomy: the body.
        planner: the planner whose plan is followed.
        dt: control step [s], which is the physics step.

    Attributes:
        tau: (n,) torques of the last call [N m], within ``anatomy``'s limits.
        pose_offset: (n,) added to the targets of the joints under PD control [rad]; an environment's residual action.
    """

    def __init__(self, anatomy: Anatomy, planner: GaitPlanner, dt: float) -> None:
        n = len(anatomy.joints)
        self.planner = planner
        self.dt = dt
        self.tau = np.zeros(n)
        self.pose_offset = np.zeros(n)
        self._kp, self._kd, self._target, self._target_rate = (np.zeros(n) for _ in range(4))
        self.model, self._data = pinocchio_model(anatomy, threading.get_ident())
        # Pinocchio orders joints by its own tree; velocity index of our joint k, and the root's six first
        self._index = np.array([self.model.joints[self.model.getJointId(j.name)].idx_v for j in anatomy.joints])
        self._q, self._v = np.zeros(n + 7), np.zeros(n + 6)
        scale = anatomy.mass / REFERENCE.mass * (anatomy.leg_length / REFERENCE.leg_length)
        self._scale = scale
        self._work = np.zeros((n + 6, n + 6))
        self._rhs = np.zeros(n + 6)

    def reset(self) -> None:
        """Forget the torques of the last tick."""
        self.tau[:] = 0.0
        self.pose_offset[:] = 0.0

    def __call__(self, state: BodyState, observer: Observer) -> Array:
        """Torques (n,) for the observed state; ``observer`` has been refreshed for ``state``."""
        p = self.planner
        pack(state.root_position, state.root_quaternion, state.root_velocity, state.root_angular_velocity,
             state.q, state.qd, observer.record, self._index, self._q, self._v)  # fmt: skip
        mass_matrix = pin.crba(self.model, self._data, self._q)
        bias = pin.nonLinearEffects(self.model, self._data, self._q, self._v)
        t = observer.tree
        _torques(
            observer.record, p.plan, p.parameters, p.body, self._scale, state.q, state.qd,
            observer.link_p, observer.link_w, observer.joint_a, t.leg, t.arm, t.lower, t.upper, t.max_torque,
            mass_matrix, bias, self._index, self.pose_offset, self._kp, self._kd, self._target, self._target_rate,
            self._work, self._rhs, self.tau, self.dt,
        )  # fmt: skip
        return self.tau


@lru_cache(maxsize=16)
def pinocchio_model(anatomy: Anatomy, thread: int) -> tuple[Any, Any]:  # noqa: ARG001
    """Model and scratch space (3 MB), shared by the controllers of equal bodies in a thread: nothing in it outlives a call.

    Few are kept: an environment may draw a new body for every episode.
    """
    model = pin.buildModelFromXML(to_urdf(anatomy), pin.JointModelFreeFlyer())
    return model, model.createData()


@kernel
def pack(position, quaternion, velocity, omega, q, qd, observation, index, q_out, v_out):
    """Configuration and velocity in Pinocchio's order; its root velocity is in the root's own frame."""
    r = observation[0].pelvis
    for i in range(3):
        q_out[i] = position[i]
        v_out[i] = r[0, i] * velocity[0] + r[1, i] * velocity[1] + r[2, i] * velocity[2]
        v_out[3 + i] = r[0, i] * omega[0] + r[1, i] * omega[1] + r[2, i] * omega[2]
    for i in range(4):
        q_out[3 + i] = quaternion[i]
    for k in range(q.shape[0]):
        q_out[index[k] + 1] = q[k]
        v_out[index[k]] = qd[k]


@kernel
def cholesky_solve(a, b):
    """Solve ``a x = b`` for symmetric positive definite ``a`` (lower triangle read, destroyed); ``b`` becomes ``x``."""
    n = a.shape[0]
    for j in range(n):
        s = a[j, j]
        for m in range(j):
            s -= a[j, m] * a[j, m]
        d = math.sqrt(s)
        a[j, j] = d
        for i in range(j + 1, n):
            s = a[i, j]
            for m in range(j):
                s -= a[i, m] * a[j, m]
            a[i, j] = s / d
    for i in range(n):
        s = b[i]
        for m in range(i):
            s -= a[i, m] * b[m]
        b[i] = s / a[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for m in range(i + 1, n):
            s -= a[m, i] * b[m]
        b[i] = s / a[i, i]


@kernel
def _pose_targets(s, k, scale, arm, kp, kd, target, rate):
    """Upper body: pose targets and gains."""
    n = kp.shape[0]
    for j in range(n):
        kp[j] = 0.0
        kd[j] = 0.0
        target[j] = 0.0
        rate[j] = 0.0
    for j in range(4):
        kp[j] = k.lumbar_kp
        kd[j] = POSE_ZETA * k.lumbar_kp
    target[0] = k.lumbar_flexion
    target[2] = 0.5 * s.thorax_yaw
    target[3] = 0.5 * s.thorax_yaw
    kp[4] = HEAD_KP * scale
    kd[4] = POSE_ZETA * kp[4]
    target[4] = -k.lumbar_flexion - s.lean
    for i in range(2):
        a = arm[i]
        for j in range(4):
            kp[a + j] = k.arm_kp if j != 2 else 0.4 * k.arm_kp
            kd[a + j] = POSE_ZETA * kp[a + j]
        target[a] = s.shoulder[i]
        rate[a] = s.shoulder_rate[i]
        target[a + 1] = -0.10
        target[a + 3] = s.elbow[i]


@kernel
def _bring_within(hip, ankle, longest):
    """Move an ankle target that is out of reach horizontally towards the hip: it keeps its height, and the knee its bend."""
    dx, dy, dz = ankle[0] - hip[0], ankle[1] - hip[1], ankle[2] - hip[2]
    flat = math.sqrt(dx * dx + dy * dy)
    room = math.sqrt(max(longest * longest - dz * dz, 1e-4))
    if flat > room:
        ankle[0] = hip[0] + dx * room / flat
        ankle[1] = hip[1] + dy * room / flat


@kernel
def _swing_targets(o, s, k, i, scale, first, thigh, shank, link_w, kp, kd, target, rate, acceleration):
    """The leg that swings: inverse kinematics a moment before, now and a moment later give angle, speed and acceleration."""
    side = 2.0 * i - 1.0
    foot, pelvis = np.empty((3, 3)), np.empty((3, 3))
    hip, ankle = np.empty(3), np.empty(3)
    angles = np.empty((3, 7))
    w0, w1, w2 = link_w[0, 0], link_w[0, 1], link_w[0, 2]
    for moment in range(3):
        d = (moment - 1) * LOOK_AHEAD
        for m in range(3):
            x, y, z = o.pelvis[0, m], o.pelvis[1, m], o.pelvis[2, m]
            pelvis[0, m] = x + d * (w1 * z - w2 * y)
            pelvis[1, m] = y + d * (w2 * x - w0 * z)
            pelvis[2, m] = z + d * (w0 * y - w1 * x)
        for j in range(3):
            hip[j] = o.hip[i, j] + d * o.hip_velocity[i, j]
            ankle[j] = s.swing_position[j] + d * (s.swing_velocity[j] + 0.5 * d * s.swing_acceleration[j])
        pitch = s.swing_pitch + d * (s.swing_pitch_rate + 0.5 * d * s.swing_pitch_acceleration)
        _bring_within(hip, ankle, k.reach * (thigh + shank))
        foot_rotation(s.swing_yaw, pitch, 0.0, foot)
        solve_leg(pelvis, hip, ankle, foot, s.swing_yaw, thigh, shank, side, angles[moment])
    before, now, later = angles[0], angles[1], angles[2]
    for j in range(7):
        if j < 2:
            stiff, zeta = k.swing_kp, k.swing_zeta
        elif j == 2:
            stiff, zeta = HIP_ROTATION_KP * scale, POSE_ZETA
        elif j == 3:
            stiff, zeta = k.swing_kp * k.swing_knee, k.swing_zeta
        elif j == 4:
            stiff, zeta = k.swing_ankle_kp, POSE_ZETA
        elif j == 5:
            stiff, zeta = 0.7 * k.swing_ankle_kp, POSE_ZETA
        else:
            stiff, zeta = MTP_KP * scale, POSE_ZETA
        kp[first + j] = stiff
        kd[first + j] = zeta * stiff
        target[first + j] = now[j]
        rate[first + j] = clamp((later[j] - before[j]) / (2 * LOOK_AHEAD), -15.0, 15.0)
        acceleration[j] = clamp((later[j] - 2 * now[j] + before[j]) / (LOOK_AHEAD * LOOK_AHEAD), -150.0, 150.0)


@kernel
def _torques(
    observation, plan, parameters, body, scale, q, qd, link_p, link_w, joint_a, leg, arm, lower, upper, max_torque,
    mass_matrix, bias, index, offset, kp, kd, target, rate, work, rhs, tau, dt,
):  # fmt: skip
    o, s, k, b = observation[0], plan[0], parameters[0], body[0]
    n = q.shape[0]
    nv = n + 6
    fx, fy = -math.sin(s.heading), math.cos(s.heading)
    rx, ry = fy, -fx
    weight = b.mass * GRAVITY
    _pose_targets(s, k, scale, arm, kp, kd, target, rate)

    # moment on the trunk about the CoM, from the line mid-hip to the upper body's CoM
    uf = o.upper_com[0] * fx + o.upper_com[1] * fy
    ur = o.upper_com[0] * rx + o.upper_com[1] * ry
    uz = max(o.upper_com[2], 0.05)
    pitch, roll = math.atan2(uf, uz), math.atan2(ur, uz)
    length2 = uf * uf + ur * ur + uz * uz
    vf = o.upper_com_velocity[0] * fx + o.upper_com_velocity[1] * fy
    vr = o.upper_com_velocity[0] * rx + o.upper_com_velocity[1] * ry
    pitch_rate = (vf * uz - o.upper_com_velocity[2] * uf) / length2
    roll_rate = (vr * uz - o.upper_com_velocity[2] * ur) / length2
    m_pitch = k.trunk_pitch_stiffness * (pitch - s.lean) + k.trunk_damping * pitch_rate  # about +right
    m_roll = -k.trunk_roll_stiffness * roll - k.trunk_damping * roll_rate  # about +forward
    yaw_error = o.pelvis_yaw - s.pelvis_yaw
    yaw_error -= 2 * math.pi * math.floor(yaw_error / (2 * math.pi) + 0.5)
    m_yaw = -k.trunk_yaw_stiffness * yaw_error - k.yaw_damping * (o.pelvis_yaw_rate - s.pelvis_yaw_rate)
    swinging = s.mode == WALK and s.phase != DOUBLE
    if swinging:  # take up what the swing hip puts on the pelvis (torque of the last tick)
        first = leg[s.swing]
        for j in range(3):
            t = k.swing_reaction * (tau[first + j] - bias[index[first + j]])
            a = joint_a[first + j]
            m_pitch += t * (a[0] * rx + a[1] * ry)
            m_roll += t * (a[0] * fx + a[1] * fy)

    # vertical force
    up = k.height_stiffness * (s.height - o.com[2]) + k.height_damping * (s.height_rate - o.com_velocity[2])
    up += k.bounce_feed_forward * s.height_acceleration
    f_up = b.mass * clamp(GRAVITY + up, FZ_RANGE[0] * GRAVITY, FZ_RANGE[1] * GRAVITY)

    for r in range(nv):
        rhs[r] = -bias[r]
        for c in range(r + 1):
            work[r, c] = mass_matrix[r, c]
    for j in range(n):
        tau[j] = bias[index[j]]

    acceleration = np.zeros(7)
    force = np.empty(3)
    point = np.empty(3)
    root = o.pelvis
    for i in range(2):
        first = leg[i]
        if swinging and i == s.swing:
            _swing_targets(o, s, k, i, scale, first, b.thigh, b.shank, link_w, kp, kd, target, rate, acceleration)
            for j in range(6):
                t = 0.0
                for m in range(6):
                    t += mass_matrix[index[first + j], index[first + m]] * acceleration[m]
                tau[first + j] += k.swing_feed_forward * t
            continue
        share = s.share[i]
        side = 2.0 * i - 1.0
        cy, sy = math.cos(o.foot_yaw[i]), math.sin(o.foot_yaw[i])
        foot = o.foot[i]
        # pressure point, measured from the ball so that it stays put while the heel rises
        bx = o.ankle[i, 0] + foot[0, 1] * b.ball - foot[0, 2] * b.ankle_height
        by = o.ankle[i, 1] + foot[1, 1] * b.ball - foot[1, 2] * b.ankle_height
        ahead = s.cop[i] - b.ball
        point[0] = bx - sy * ahead + cy * s.cop_side[i]
        point[1] = by + cy * ahead + sy * s.cop_side[i]
        point[2] = o.sole_low[i]
        height = max(o.com[2] - point[2], 0.3 * b.leg)
        f_z = share * f_up
        if s.mode == WALK and (i == s.swing) == (s.phase == DOUBLE):
            f_z += s.push * weight
        f_f = f_z * ((o.com[0] - point[0]) * fx + (o.com[1] - point[1]) * fy) / height + share * m_pitch / height
        f_r = f_z * ((o.com[0] - point[0]) * rx + (o.com[1] - point[1]) * ry) / height - share * m_roll / height
        limit = k.friction * f_z
        size = math.sqrt(f_f * f_f + f_r * f_r)
        if size > limit:
            f_f *= limit / size
            f_r *= limit / size
        force[0] = f_f * fx + f_r * rx
        force[1] = f_f * fy + f_r * ry
        force[2] = f_z
        # A foot that carries its load at one end can hardly resist twisting: the free moment stays below what friction
        # gives there, or the foot spins.
        behind = max(ahead + b.ball + b.heel, 0.0)
        before = max(-ahead, 0.0)
        arm_length = TWIST_WIDTH * b.leg + 2 * behind * before / max(behind + before, 1e-3)
        twist = TWIST_FRICTION * f_z * arm_length
        # The horizontal pair that rights the trunk also turns the body about the vertical where the foot is ahead of or
        # behind the CoM: take that turn out again.
        off_f = (point[0] - o.com[0]) * fx + (point[1] - o.com[1]) * fy
        off_r = (point[0] - o.com[0]) * rx + (point[1] - o.com[1]) * ry
        coupled = share * (off_r * m_pitch + off_f * m_roll) / height
        free = clamp(share * m_yaw - coupled, -twist, twist)
        # force on the root and on the leg's joints
        dx, dy, dz = point[0] - link_p[0, 0], point[1] - link_p[0, 1], point[2] - link_p[0, 2]
        mx = dy * force[2] - dz * force[1]
        my = dz * force[0] - dx * force[2]
        mz = dx * force[1] - dy * force[0] + free
        for c in range(3):
            rhs[c] += root[0, c] * force[0] + root[1, c] * force[1] + root[2, c] * force[2]
            rhs[3 + c] += root[0, c] * mx + root[1, c] * my + root[2, c] * mz
        for j in range(6):
            m = first + j
            ex, ey, ez = point[0] - link_p[m + 1, 0], point[1] - link_p[m + 1, 1], point[2] - link_p[m + 1, 2]
            a = joint_a[m]
            t = (
                a[0] * (ey * force[2] - ez * force[1])
                + a[1] * (ez * force[0] - ex * force[2])
                + a[2] * (ex * force[1] - ey * force[0] + free)
            )
            tau[m] -= t
            rhs[index[m]] += t
        since = o.time - s.touchdown[i]
        damping = STANCE_KD * scale
        fresh = k.landing_damping * max(0.0, 1 - since / k.landing_damping_time) if s.mode == WALK and i != s.swing else 0.0
        for j in range(4):
            kd[first + j] = damping
        kd[first] += fresh
        kd[first + 3] += fresh
        # A straight leg is a strut that carries what comes, whatever its joints do: keep the knee a little bent.
        guard = k.knee_guard if s.mode == WALK else k.knee_guard_stand
        tau[first + 3] += KNEE_GUARD_KP * scale * max(guard - q[first + 3], 0.0)
        kp[first + 2] = FOOT_YAW_KP * scale
        kd[first + 2] = POSE_ZETA * kp[first + 2]
        turned = s.foot_yaw[i] - o.foot_yaw[i]
        turned -= 2 * math.pi * math.floor(turned / (2 * math.pi) + 0.5)
        target[first + 2] = q[first + 2] + side * clamp(turned, -0.5, 0.5)
        kp[first + 4] = k.foot_pitch_kp * (1.0 if s.mode != STAND else 0.3)
        kd[first + 4] = POSE_ZETA * kp[first + 4] + 0.25 * fresh
        target[first + 4] = q[first + 4] + s.foot_pitch[i] - o.foot_pitch[i]
        rate[first + 4] = qd[first + 4] + s.foot_pitch_rate[i] - o.foot_pitch_rate[i]
        kp[first + 5] = INVERSION_KP * scale
        kd[first + 5] = POSE_ZETA * kp[first + 5]
        target[first + 5] = q[first + 5] - side * o.foot_roll[i]
        # The toes are too light for the implicit law, which takes the foot for free and them along: a plain spring, soft
        # and damped enough for the step.
        if s.mode != WALK:
            stiff, bent = MTP_STAND_KP * scale, 0.0
        else:
            pushes = (i == s.swing) == (s.phase == DOUBLE)
            stiff, bent = k.mtp_stance_kp, -k.toe_grip if pushes else 0.0  # the foot that pushes off grips with its toes
        tau[first + 6] += stiff * (bent - q[first + 6]) - MTP_DAMPING * scale * qd[first + 6]

    for j in range(n):
        r = index[j]
        target[j] = clamp(target[j] + offset[j], lower[j] - 0.3, upper[j] + 0.3)
        pd = kp[j] * (target[j] - q[j] - dt * qd[j]) + kd[j] * (rate[j] - qd[j])
        rhs[r] += pd + tau[j]
        work[r, r] += dt * (kd[j] + dt * kp[j])
        tau[j] += pd
    # leg torques of the force law went into rhs twice with opposite sign: as J^T F and as torque; the sum is what is left
    cholesky_solve(work, rhs)
    for j in range(n):
        t = tau[j] - dt * (dt * kp[j] + kd[j]) * rhs[index[j]]
        tau[j] = clamp(t, -max_torque[j], max_torque[j])
