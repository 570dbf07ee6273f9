"""Every convention against PyBullet and Pinocchio, instead of trusting a comment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin
import pybullet
import pytest

from sandbox import conventions as c
from sandbox.bodies import Anatomy
from sandbox.spatial import matrix_from_quaternion, normalized, quaternion_about, rotation_z, yaw

# One joint about each axis in turn; the arm's end is 1 m ahead along the axis that follows (x -> y, y -> z, z -> x).
ARM = """<robot name="arm"><link name="base">{mass}</link><link name="arm">{mass}</link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="{axis}"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>"""
MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
AXES = np.eye(3)


@pytest.fixture
def client() -> Iterator[int]:
    number = pybullet.connect(pybullet.DIRECT)
    yield number
    pybullet.disconnect(number)


def ball(client: int, position: tuple[float, float, float] = (0, 0, 1), quaternion: tuple[float, ...] = (0, 0, 0, 1)) -> int:
    shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=client)
    body = pybullet.createMultiBody(2.0, shape, -1, position, quaternion, physicsClientId=client)
    pybullet.changeDynamics(body, -1, linearDamping=0, angularDamping=0, physicsClientId=client)
    return body


# -- axes --------------------------------------------------------------------------------------------------------------


def test_axes_are_right_handed() -> None:
    np.testing.assert_array_equal(np.cross(c.RIGHT, c.FORWARD), c.UP)
    for one, other in ((c.RIGHT, c.LEFT), (c.FORWARD, c.BACKWARD), (c.UP, c.DOWN)):
        np.testing.assert_array_equal(np.add(one, other), 0)


def test_the_body_looks_along_the_axes() -> None:
    """Hips, toes and head lie where the names of the axes say."""
    anatomy = Anatomy()
    points = {name: point for name, (link, point) in anatomy.points.items() if link in ("pelvis", "right_hindfoot", "head")}
    assert points["right_hip"] @ c.RIGHT > 0
    assert points["left_hip"] @ c.LEFT > 0
    assert (points["right_toe_base"] - points["right_heel"]) @ c.FORWARD > 0
    assert points["head"] @ c.UP > 0


def test_mirrors_keep_the_rules_of_vectors() -> None:
    """A cross product is axial: mirroring its factors mirrors it by MIRROR_AXIAL."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3))
    np.testing.assert_allclose(np.cross(a * c.MIRROR_VECTOR, b * c.MIRROR_VECTOR), np.cross(a, b) * c.MIRROR_AXIAL)
    np.testing.assert_array_equal(np.multiply(c.RIGHT, c.MIRROR_VECTOR), c.LEFT)


# -- units and gravity -------------------------------------------------------------------------------------------------


def test_gravity_in_pybullet(client: int) -> None:
    body = ball(client)
    pybullet.setGravity(*c.GRAVITY_VECTOR, physicsClientId=client)
    pybullet.setTimeStep(1e-3, physicsClientId=client)
    for _ in range(100):
        pybullet.stepSimulation(physicsClientId=client)
    velocity, _ = pybullet.getBaseVelocity(body, physicsClientId=client)
    np.testing.assert_allclose(velocity, [0, 0, -9.81 * 0.1], atol=1e-9)


def test_gravity_in_pinocchio() -> None:
    np.testing.assert_array_equal(pin.Model().gravity.linear, c.GRAVITY_VECTOR)
    assert c.GRAVITY == 9.81


@pytest.mark.parametrize("turn", range(3))
def test_joint_angles_are_radians_about_the_axis_by_the_right_hand(client: int, tmp_path: Path, turn: int) -> None:
    axis, arm = AXES[turn], AXES[(turn + 1) % 3]
    text = ARM.format(mass=MASS, axis=" ".join(str(x) for x in axis))
    wanted = AXES[(turn + 2) % 3]  # a quarter of a turn takes each axis to the next

    (tmp_path / "arm.urdf").write_text(text, encoding="utf-8")
    body = pybullet.loadURDF(str(tmp_path / "arm.urdf"), useFixedBase=1, physicsClientId=client)
    pybullet.resetJointState(body, 0, math.pi / 2, physicsClientId=client)
    state = pybullet.getLinkState(body, 0, computeForwardKinematics=1, physicsClientId=client)
    np.testing.assert_allclose(matrix_from_quaternion(normalized(np.array(state[5]))) @ arm, wanted, atol=1e-6)

    model = pin.buildModelFromXML(text)
    data = model.createData()
    pin.forwardKinematics(model, data, np.array([math.pi / 2]))
    np.testing.assert_allclose(data.oMi[1].rotation @ arm, wanted, atol=1e-12)


# -- quaternions -------------------------------------------------------------------------------------------------------


def random_quaternion(seed: int) -> np.ndarray:
    return normalized(np.random.default_rng(seed).normal(size=4))


@pytest.mark.parametrize("seed", range(3))
def test_quaternions_are_xyzw_and_take_local_to_world(client: int, seed: int) -> None:
    assert c.QUATERNION_ORDER == "xyzw"
    q = random_quaternion(seed)
    matrix = matrix_from_quaternion(q)
    theirs = np.reshape(pybullet.getMatrixFromQuaternion(q.tolist()), (3, 3))
    np.testing.assert_allclose(theirs, matrix, atol=1e-7)

    # A body turned by q has its own point (1, 2, 3) where the matrix says.
    position, turned = pybullet.multiplyTransforms([0, 0, 0], q.tolist(), [1, 2, 3], c.IDENTITY_QUATERNION)
    np.testing.assert_allclose(position, matrix @ [1, 2, 3], atol=1e-6)
    np.testing.assert_allclose(np.abs(np.dot(turned, q)), 1, atol=1e-7)
    body = ball(client, quaternion=tuple(q))
    held = np.array(pybullet.getBasePositionAndOrientation(body, physicsClientId=client)[1])
    np.testing.assert_allclose(held * np.sign(held @ q), q, atol=1e-7)

    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    data = model.createData()
    pin.forwardKinematics(model, data, np.array([*np.zeros(3), *q]))
    np.testing.assert_allclose(data.oMi[1].rotation, matrix, atol=1e-12)


def test_identity_quaternion() -> None:
    np.testing.assert_array_equal(matrix_from_quaternion(np.array(c.IDENTITY_QUATERNION)), np.eye(3))


# -- velocities of the base --------------------------------------------------------------------------------------------


def test_pybullet_reports_base_velocity_in_the_world(client: int) -> None:
    q, omega, velocity = random_quaternion(4), np.array([0.3, -0.7, 1.1]), np.array([0.5, 0.2, -0.4])
    body = ball(client, quaternion=tuple(q))
    pybullet.resetBaseVelocity(body, velocity.tolist(), omega.tolist(), physicsClientId=client)
    step = 1e-3
    pybullet.setTimeStep(step, physicsClientId=client)
    before = np.array(pybullet.getBasePositionAndOrientation(body, physicsClientId=client)[0])
    pybullet.stepSimulation(physicsClientId=client)
    position, after = pybullet.getBasePositionAndOrientation(body, physicsClientId=client)
    np.testing.assert_allclose((position - before) / step, velocity, atol=1e-4)
    turned = matrix_from_quaternion(normalized(np.array(after))) @ matrix_from_quaternion(q).T
    spin = (turned - turned.T) / (2 * step)  # of a small rotation: the cross-product matrix of omega, in the world
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], omega, atol=1e-3)
    np.testing.assert_allclose(pybullet.getBaseVelocity(body, physicsClientId=client), [velocity, omega], atol=1e-5)


def test_pinocchio_takes_base_velocity_in_the_base() -> None:
    q, omega, velocity = random_quaternion(5), np.array([0.3, -0.7, 1.1]), np.array([0.5, 0.2, -0.4])
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    matrix, step = matrix_from_quaternion(q), 1e-6
    after = pin.integrate(model, np.array([*np.zeros(3), *q]), step * np.concatenate([matrix.T @ velocity, matrix.T @ omega]))
    np.testing.assert_allclose(after[:3] / step, velocity, atol=1e-5)
    turned = matrix_from_quaternion(after[3:7]) @ matrix.T
    spin = (turned - turned.T) / (2 * step)
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], omega, atol=1e-5)


# -- angles ------------------------------------------------------------------------------------------------------------


def test_heading_grows_to_the_left() -> None:
    assert yaw(np.array(c.IDENTITY_QUATERNION)) == 0
    quarter = rotation_z(math.pi / 2)
    np.testing.assert_allclose(quarter @ c.FORWARD, c.LEFT, atol=1e-15)
    assert yaw(quaternion_about(c.UP, 0.4)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("name", "point", "goes"),
    [("tilt", c.FORWARD, c.DOWN), ("obliquity", c.RIGHT, c.UP), ("rotation", c.RIGHT, c.FORWARD)],
)
def test_pelvis_signs(name: str, point: c.Triple, goes: c.Triple) -> None:
    moved = matrix_from_quaternion(quaternion_about(c.PELVIS_SIGNS[name].axis, 0.1)) @ point - point
    assert moved @ goes > 0.99 * np.linalg.norm(moved)


def test_joint_signs_name_every_joint_of_the_body() -> None:
    """What each positive angle does to the body is tested with the body."""
    names = {joint.name.removeprefix("left_").removeprefix("right_") for joint in Anatomy().joints}
    assert set(c.JOINT_SIGNS) == names
    assert all(np.linalg.norm(sign.axis) == 1 and sign.meaning for sign in c.JOINT_SIGNS.values())


# -- contact -----------------------------------------------------------------------------------------------------------


def test_ground_force_on_the_body_is_positive_upward(client: int) -> None:
    """With the body named first, Bullet's normal on the ground points to the body and its normal force is positive."""
    body = ball(client, (0, 0, 0.1))
    shape = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client)
    ground = pybullet.createMultiBody(0, shape, physicsClientId=client)
    pybullet.setGravity(*c.GRAVITY_VECTOR, physicsClientId=client)
    for _ in range(240):
        pybullet.stepSimulation(physicsClientId=client)
    contacts = pybullet.getContactPoints(body, ground, physicsClientId=client)
    force = sum(np.multiply(contact[7], contact[9]) for contact in contacts)
    np.testing.assert_allclose(force, [0, 0, 2.0 * c.GRAVITY], rtol=0, atol=0.05)
