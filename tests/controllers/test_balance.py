"""From plan to torque: stable PD against the paper's formula, the force law against Jacobians, limits."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pinocchio as pin
import pytest

from sandbox.bodies import Anatomy, to_urdf
from sandbox.bodies.kinematics import KNEE, MTP
from sandbox.controllers.balance import KNEE_GUARD_KP, MTP_DAMPING, MTP_STAND_KP, Controller, cholesky_solve
from sandbox.controllers.observation import Observer
from sandbox.controllers.parameters import Parameters
from sandbox.controllers.planner import DOUBLE, SINGLE, STAND, START, WALK, GaitPlanner
from sandbox.conventions import GRAVITY
from sandbox.plants.base import standing_pose
from sandbox.spatial import matrix_from_quaternion
from sandbox.state import BodyState

ANATOMY = Anatomy()
DT = 1 / 480
N = len(ANATOMY.joints)


class Loop:
    """Controller, planner and observer around a state that a test sets; and Pinocchio's own model of the body."""

    def __init__(self, seed: int, spread: float = 0.1, speed: float = 0.3, **parameters: float) -> None:
        rng = np.random.default_rng(seed)
        self.rng = rng
        pose = standing_pose(ANATOMY, seed=seed, spread=spread)
        state = self.state = BodyState(N)
        state.q[:], state.qd[:] = pose.q, rng.normal(scale=speed, size=N)
        tilt = np.append(rng.normal(scale=0.1, size=3), 1.0)
        state.root_position[:], state.root_quaternion[:] = pose.position, tilt / np.linalg.norm(tilt)
        state.root_velocity[:], state.root_angular_velocity[:] = rng.normal(scale=speed, size=(2, 3))
        self.observer = Observer(ANATOMY)
        self.planner = GaitPlanner(ANATOMY, Parameters.load().replace(parameters))
        self.load, self.contact = np.zeros(2), np.zeros(2, dtype=np.int64)
        self.planner.reset(self.observe())
        self.plan = self.planner.plan[0]
        self.controller = Controller(ANATOMY, self.planner, DT)
        self.model = pin.buildModelFromXML(to_urdf(ANATOMY), pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        joints = [self.model.joints[self.model.getJointId(joint.name)] for joint in ANATOMY.joints]
        self.idx_q, self.idx_v = [j.idx_q for j in joints], [j.idx_v for j in joints]
        r = matrix_from_quaternion(state.root_quaternion)
        self.q, self.v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        self.q[:3], self.q[3:7], self.q[self.idx_q] = state.root_position, state.root_quaternion, state.q
        self.v[:3], self.v[3:6], self.v[self.idx_v] = r.T @ state.root_velocity, r.T @ state.root_angular_velocity, state.qd

    def observe(self) -> np.ndarray:
        return self.observer(self.state, self.load, self.contact)

    def torques(self) -> np.ndarray:
        self.observe()
        return self.controller(self.state, self.observer).copy()

    def swing(self, foot: int) -> None:
        """A plan in which ``foot`` swings, on its way past the other."""
        o, s = self.observe()[0], self.plan
        s.mode, s.phase, s.swing = WALK, SINGLE, foot
        s.swing_position[:] = o.ankle[foot] + [0.02, 0.05, 0.08]
        s.swing_velocity[:] = 0.1, 0.8, -0.2
        s.swing_acceleration[:] = 0.5, -3.0, 0.0
        s.swing_pitch, s.swing_pitch_rate, s.swing_yaw = -0.3, 2.0, 0.1
        s.step_end = o.time + 0.2
        s.foot_pitch[1 - foot], s.foot_pitch_rate[1 - foot] = 0.1, -0.5

    @property
    def mass_matrix(self) -> np.ndarray:
        upper = np.triu(pin.crba(self.model, self.data, self.q))
        return upper + np.triu(upper, 1).T

    @property
    def bias(self) -> np.ndarray:
        return pin.nonLinearEffects(self.model, self.data, self.q, self.v).copy()

    def jacobian(self, foot: int, point: np.ndarray) -> np.ndarray:
        """Of a point (3,) of the world, fixed in the hindfoot: (3, nv), world axes."""
        joint = self.model.getJointId(f"{('left', 'right')[foot]}_ankle_inversion")
        pin.computeJointJacobians(self.model, self.data, self.q)
        whole = pin.getJointJacobian(self.model, self.data, joint, pin.LOCAL_WORLD_ALIGNED)
        return whole[:3] + pin.skew(point - self.data.oMi[joint].translation).T @ whole[3:]


LIMITS = np.array([joint.max_torque for joint in ANATOMY.joints])

# -- Cholesky ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 33])
def test_cholesky_solve_against_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n + 2))
    a, b = root @ root.T + 0.01 * np.eye(n), rng.normal(size=n)
    wanted = np.linalg.solve(a, b)
    lower = np.where(np.tril(np.ones((n, n))) > 0, a, np.nan)  # the other half must not be read
    cholesky_solve(lower, b)
    np.testing.assert_allclose(b, wanted, rtol=1e-9, atol=1e-12)


def test_cholesky_solve_of_a_body(capfd) -> None:
    """The mass matrix spans five orders of magnitude, from a toe to the whole body."""
    loop = Loop(0)
    a, b = loop.mass_matrix, loop.rng.normal(size=N + 6)
    assert np.linalg.cond(a) > 1e4
    wanted = np.linalg.solve(a, b)
    cholesky_solve(a, b)
    np.testing.assert_allclose(b, wanted, rtol=1e-8, atol=1e-10 * np.abs(wanted).max())


# -- stable PD ---------------------------------------------------------------------------------------------------------


def springs(loop: Loop) -> np.ndarray:
    """Torque (n,) of the plain springs of a leg that stands, outside the implicit law: of its toes, and of a straight knee."""
    s, k, tau = loop.plan, loop.planner.parameters[0], np.zeros(N)
    for foot in (0, 1):
        if s.mode == WALK and s.phase == SINGLE and foot == s.swing:
            continue
        j = loop.observer.tree.leg[foot] + MTP
        if s.mode == WALK:
            pushes = (foot == s.swing) == (s.phase == DOUBLE)
            stiff, bent = k.mtp_stance_kp, -k.toe_grip if pushes else 0.0
        else:
            stiff, bent = MTP_STAND_KP, 0.0
        tau[j] = stiff * (bent - loop.state.q[j]) - MTP_DAMPING * loop.state.qd[j]
        knee = loop.observer.tree.leg[foot] + KNEE
        guard = k.knee_guard if s.mode == WALK else k.knee_guard_stand
        tau[knee] = KNEE_GUARD_KP * max(guard - loop.state.q[knee], 0.0)
    return tau


def paper(loop: Loop, feed_forward: np.ndarray) -> np.ndarray:
    """Stable PD (Tan, Liu & Turk 2011) in full, with the gains and targets that the controller used.

    (M + dt Kd + dt^2 Kp) qdd = Kp (q_d - q - dt qd) + Kd (qd_d - qd) + tau_ff - h
    tau = Kp (q_d - q - dt qd - dt^2 qdd) + Kd (qd_d - qd - dt qdd) + tau_ff
    """
    c, s = loop.controller, loop.state
    kp, kd, target, rate = c._kp, c._kd, c._target, c._target_rate
    feed_forward = feed_forward + springs(loop)
    a, b = loop.mass_matrix, -loop.bias
    a[loop.idx_v, loop.idx_v] += DT * kd + DT**2 * kp
    b[loop.idx_v] += kp * (target - s.q - DT * s.qd) + kd * (rate - s.qd) + feed_forward
    qdd = np.linalg.solve(a, b)[loop.idx_v]
    return kp * (target - s.q - DT * s.qd - DT**2 * qdd) + kd * (rate - s.qd - DT * qdd) + feed_forward


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("foot", [None, 0, 1])
def test_without_contact_it_is_stable_pd(seed: int, foot: int | None) -> None:
    """No load, no share of the weight: what is left is PD on every joint, over gravity and Coriolis terms."""
    loop = Loop(seed, swing_feed_forward=0.0)
    if foot is not None:
        loop.swing(foot)
    loop.plan.share[:] = 0.0
    loop.controller.pose_offset[:] = 0.02 * loop.rng.normal(size=N)
    tau = loop.torques()
    wanted = paper(loop, loop.bias[loop.idx_v])
    np.testing.assert_allclose(tau, np.clip(wanted, -LIMITS, LIMITS), rtol=0, atol=1e-7)
    free = np.abs(wanted) < LIMITS
    assert free.sum() > N - 6, "too many torques at their limits to tell"
    assert (loop.controller._kp > 0).sum() >= N - 8


def test_pose_offset_moves_the_target() -> None:
    loop = Loop(1)
    loop.torques()
    before = loop.controller._target.copy()
    loop.controller.pose_offset[:] = 0.05
    loop.torques()
    np.testing.assert_allclose(loop.controller._target - before, 0.05, rtol=0, atol=1e-12)
    loop.controller.reset()
    assert not loop.controller.pose_offset.any()
    assert not loop.controller.tau.any()


@pytest.mark.parametrize("foot", [0, 1])
def test_swing_targets_are_the_legs_inverse_kinematics(foot: int) -> None:
    """In the target angles the ankle is where the plan wants it, and the target rates move it as the plan wants."""
    loop = Loop(3, spread=0.02)
    loop.swing(foot)
    loop.torques()
    first = loop.observer.tree.leg[foot]
    leg = slice(first, first + 7)
    h = 1e-4

    def ankle(moment: float) -> np.ndarray:
        state = BodyState(N)
        state.root_position[:] = loop.state.root_position + moment * loop.state.root_velocity
        spin = np.append(0.5 * moment * loop.state.root_angular_velocity, 1.0)
        x, y, z, w = spin / np.linalg.norm(spin)
        a, b, c, d = loop.state.root_quaternion
        state.root_quaternion[:] = (
            w * a + x * d + y * c - z * b,
            w * b - x * c + y * d + z * a,
            w * c + x * b - y * a + z * d,
            w * d - x * a - y * b - z * c,
        )
        state.q[:] = loop.state.q
        state.q[leg] = loop.controller._target[leg] + moment * loop.controller._target_rate[leg]
        return Observer(ANATOMY)(state, loop.load, loop.contact)[0].ankle[foot].copy()

    np.testing.assert_allclose(ankle(0.0), loop.plan.swing_position, rtol=0, atol=1e-6)
    np.testing.assert_allclose((ankle(h) - ankle(-h)) / (2 * h), loop.plan.swing_velocity, rtol=0, atol=0.02)


# -- force law ---------------------------------------------------------------------------------------------------------

NO_TRUNK = dict.fromkeys(
    (
        "trunk_pitch_stiffness",
        "trunk_roll_stiffness",
        "trunk_yaw_stiffness",
        "trunk_damping",
        "yaw_damping",
        "height_stiffness",
        "height_damping",
        "bounce_feed_forward",
        "swing_reaction",
    ),
    0.0,
)


@pytest.mark.parametrize("seed", range(4))
def test_a_stance_leg_carries_its_share_of_the_weight(seed: int) -> None:
    """Of the ground force through the pressure point and the CoM, the leg's joints feel the transposed Jacobian.

    Torques with and without the share of the weight differ by -J^T F, less what the implicit damping of the joints answers
    to the force on the root.
    """
    loop = Loop(seed, spread=0.03, speed=0.0, friction=10.0, **NO_TRUNK)
    loop.state.root_quaternion[:] = 0, 0, 0, 1
    loop.q[3:7] = loop.state.root_quaternion
    for other in (0.0, 0.4):
        loop.plan.share[:] = 0.0
        bare = loop.torques()
        loop.plan.share[:] = 0.6, other
        tau = loop.torques()
        o = loop.observe()[0]
        root, generalised = np.zeros(N + 6), np.zeros(N)
        for foot, share in enumerate(loop.plan.share):
            yaw = o.foot_yaw[foot]
            forward, right = np.array([-math.sin(yaw), math.cos(yaw), 0]), np.array([math.cos(yaw), math.sin(yaw), 0])
            ball = o.ankle[foot] + o.foot[foot] @ [0, ANATOMY.ball_ahead_of_ankle, -ANATOMY.ankle_height]
            point = ball + (loop.plan.cop[foot] - ANATOMY.ball_ahead_of_ankle) * forward + loop.plan.cop_side[foot] * right
            point[2] = o.sole_low[foot]
            line = o.com - point
            force = share * ANATOMY.mass * GRAVITY * line / line[2]
            pull = loop.jacobian(foot, point).T @ force
            root[:6] += pull[:6]
            generalised += pull[loop.idx_v]
        c = loop.controller
        a = loop.mass_matrix
        answer = DT * c._kd + DT**2 * c._kp
        a[loop.idx_v, loop.idx_v] += answer
        wanted = -generalised - answer * np.linalg.solve(a, root)[loop.idx_v]
        assert np.abs(wanted).max() > 5
        inside = (np.abs(tau) < LIMITS) & (np.abs(bare) < LIMITS)
        assert inside.sum() > N - 4
        np.testing.assert_allclose((tau - bare)[inside], wanted[inside], rtol=0, atol=1e-6)


# -- limits ------------------------------------------------------------------------------------------------------------


def wild(seed: int) -> Loop:
    """Any state, any plan: what a fall or a bad parameter set may come to."""
    loop = Loop(seed, spread=0.5, speed=5.0)
    rng, s = loop.rng, loop.plan
    loop.load[:] = rng.uniform(0, 2000, 2) * rng.integers(0, 2, 2)
    loop.swing(int(rng.integers(2)))
    s.mode, s.phase = rng.choice([STAND, START, WALK]), rng.choice([SINGLE, DOUBLE])
    s.share[:] = rng.uniform(0, 1, 2)
    s.swing_position[:] += rng.normal(scale=0.3, size=3)
    s.swing_velocity[:] = rng.normal(scale=3, size=3)
    s.cop[:], s.height, s.lean = rng.uniform(-0.05, 0.15, 2), rng.uniform(0.7, 1.1), rng.normal(scale=0.2)
    return loop


def test_torques_are_finite_and_within_their_limits() -> None:
    reached = np.zeros(N, dtype=int)
    for seed in range(150):
        tau = wild(seed).torques()
        assert np.isfinite(tau).all(), seed
        assert (np.abs(tau) <= LIMITS).all(), seed
        reached += np.abs(tau) == LIMITS
    assert (reached > 0).sum() > N / 2, "not wild enough to reach the limits"


def test_torques_depend_on_nothing_but_state_and_plan() -> None:
    """But for the swing hip's torque of the last tick, which the stance leg takes up in advance."""
    first, second = wild(3), wild(3)
    second.controller._work[:] = 7.0
    second.controller._rhs[:] = 7.0
    second.controller._kp[:] = 7.0
    np.testing.assert_array_equal(first.torques(), second.torques())


@pytest.mark.parametrize("anatomy", [Anatomy(55, 1.62), Anatomy(90, 1.85)], ids=lambda a: f"{a.mass:g}kg")
def test_limits_are_those_of_the_body(anatomy: Anatomy) -> None:
    observer, state = Observer(anatomy), BodyState(N)
    pose = standing_pose(anatomy)
    state.q[:], state.qd[:], state.root_position[:] = pose.q, 20.0, pose.position
    planner = GaitPlanner(anatomy, Parameters.load())
    planner.reset(observer(state, np.zeros(2), np.zeros(2, dtype=np.int64)))
    tau = Controller(anatomy, planner, DT)(state, observer)
    limits = np.array([joint.max_torque for joint in anatomy.joints])
    np.testing.assert_allclose(limits, LIMITS * anatomy.mass / ANATOMY.mass)
    assert (np.abs(tau) <= limits).all()
    assert (np.abs(tau) == limits).any()


def test_the_body_is_held_up_in_quiet_standing() -> None:
    """Both feet on the ground, at rest, at the planned height: the ground force asked for is the weight."""
    loop = Loop(0, spread=0.0, speed=0.0)
    state = loop.state
    pose = standing_pose(ANATOMY)
    state.q[:], state.root_quaternion[:] = pose.q, (0, 0, 0, 1)
    loop.load[:] = 0.5 * ANATOMY.mass * GRAVITY
    loop.planner.reset(loop.observe())
    o, s = loop.observe()[0], loop.plan
    s.height = o.com[2]
    s.cop[:] = o.com[1] - o.ankle[0, 1]  # pressure under the CoM
    tau = loop.torques()
    joint = ANATOMY.joint_index
    for side in ("left", "right"):
        # half the body's weight less the leg's, ahead of the ankle and the knee: plantar flexion, and little at the knee
        lever = float(o.com[1] - o.ankle[0, 1])
        assert tau[joint[f"{side}_ankle_dorsiflexion"]] == pytest.approx(-0.5 * ANATOMY.mass * GRAVITY * lever, rel=0.1, abs=2.0)
    np.testing.assert_allclose(tau[joint["left_knee_flexion"]], tau[joint["right_knee_flexion"]], rtol=0, atol=1e-6)


def test_fields_of_the_parameters_are_all_used() -> None:
    """A parameter that no law reads would be tuned in vain."""
    from importlib.resources import files

    text = "".join(files("sandbox.controllers").joinpath(name).read_text(encoding="utf-8") for name in ("planner.py", "balance.py"))
    outside = {"lumbar_flexion"}
    unused = {f.name for f in dataclasses.fields(Parameters) if f"k.{f.name}" not in text} - outside
    assert unused == set()
