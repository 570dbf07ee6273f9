"""Forward kinematics, centre of mass and momentum against Pinocchio, and the analytic leg against forward kinematics."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest

from sandbox.bodies import Anatomy
from sandbox.bodies.kinematics import (
    ANKLE,
    HIP,
    KNEE,
    LEG_JOINTS,
    MTP,
    Tree,
    angular_momentum,
    centre_of_mass,
    foot_rotation,
    forward,
    knee_for_distance,
    point_in_world,
    points_in_world,
    quaternion_to_matrix,
    solve_leg,
)
from sandbox.conventions import MIRROR_VECTOR
from sandbox.spatial import matrix_from_quaternion

BODIES = [Anatomy(), Anatomy(55, 1.62, "female"), Anatomy(90, 1.85, "male")]
every_body = pytest.mark.parametrize("anatomy", BODIES, ids=lambda a: f"{a.mass:g}kg-{a.height:g}m")
MIRROR = np.diag(MIRROR_VECTOR)


class Moving(NamedTuple):
    """A body in motion: root, joints, and what :func:`forward` makes of them."""

    tree: Tree
    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    omega: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    link_r: np.ndarray
    link_p: np.ndarray
    link_v: np.ndarray
    link_w: np.ndarray
    joint_a: np.ndarray

    @classmethod
    def of(cls, anatomy: Anatomy, position, quaternion, velocity, omega, q, qd) -> Moving:
        tree, n = Tree.of(anatomy), len(q)
        rotation = np.zeros((3, 3))
        quaternion_to_matrix(quaternion, rotation)
        out = (np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n, 3)))
        forward(position, rotation, velocity, omega, q, qd, tree.parent, tree.axis, tree.origin, *out)
        return cls(tree, position, quaternion, velocity, omega, q, qd, *out)

    @classmethod
    def random(cls, anatomy: Anatomy, pose, seed: int) -> Moving:
        rng = np.random.default_rng(seed + 100)
        velocity, omega = rng.normal(scale=2, size=(2, 3))
        return cls.of(anatomy, pose.position, pose.quaternion, velocity, omega, pose.q, rng.normal(scale=3, size=len(pose.q)))


@pytest.fixture(params=range(4))
def pair(request, random_pose, load_pinocchio):
    """The same random motion in both: (ours, Pinocchio's body with placements and velocities computed)."""

    def make(anatomy: Anatomy):
        pose = random_pose(anatomy, request.param)
        ours = Moving.random(anatomy, pose, request.param)
        theirs = load_pinocchio(anatomy)
        theirs.set_pose(pose)
        r = matrix_from_quaternion(pose.quaternion)
        v = np.zeros(theirs.model.nv)
        v[:3], v[3:6], v[theirs.idx_v] = r.T @ ours.velocity, r.T @ ours.omega, ours.qd
        pin.forwardKinematics(theirs.model, theirs.data, theirs.q, v)
        pin.updateFramePlacements(theirs.model, theirs.data)
        pin.centerOfMass(theirs.model, theirs.data, theirs.q, v)
        pin.computeCentroidalMomentum(theirs.model, theirs.data, theirs.q, v)
        return ours, theirs

    return make


# -- forward -----------------------------------------------------------------------------------------------------------


def test_quaternion_to_matrix_is_the_projects_convention() -> None:
    rng = np.random.default_rng(0)
    out = np.zeros((3, 3))
    for _ in range(20):
        quaternion = rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        quaternion_to_matrix(quaternion, out)
        np.testing.assert_allclose(out, matrix_from_quaternion(quaternion), rtol=0, atol=1e-15)


@every_body
def test_link_frames_and_velocities_agree_with_pinocchio(pair, anatomy: Anatomy) -> None:
    ours, theirs = pair(anatomy)
    for k, link in enumerate(anatomy.links):
        frame = theirs.model.getFrameId(link.name, pin.FrameType.BODY)
        placed = theirs.data.oMf[frame]
        twist = pin.getFrameVelocity(theirs.model, theirs.data, frame, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(ours.link_p[k], placed.translation, rtol=0, atol=1e-9, err_msg=link.name)
        np.testing.assert_allclose(ours.link_r[k], placed.rotation, rtol=0, atol=1e-9, err_msg=link.name)
        np.testing.assert_allclose(ours.link_v[k], twist.linear, rtol=0, atol=1e-9, err_msg=link.name)
        np.testing.assert_allclose(ours.link_w[k], twist.angular, rtol=0, atol=1e-9, err_msg=link.name)


@every_body
def test_joint_axes_turn_what_hangs_on_them(pair, anatomy: Anatomy) -> None:
    """joint_a: column of the geometric Jacobian, angular part."""
    ours, theirs = pair(anatomy)
    pin.computeJointJacobians(theirs.model, theirs.data, theirs.q)
    for k, joint in enumerate(anatomy.joints):
        jacobian = pin.getJointJacobian(theirs.model, theirs.data, theirs.model.getJointId(joint.name), pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(ours.joint_a[k], jacobian[3:, theirs.idx_v[k]], rtol=0, atol=1e-9, err_msg=joint.name)


@every_body
def test_centre_of_mass_and_momentum_agree_with_pinocchio(pair, anatomy: Anatomy) -> None:
    ours, theirs = pair(anatomy)
    tree, c, v, momentum = ours.tree, np.zeros(3), np.zeros(3), np.zeros(3)
    links = (ours.link_r, ours.link_p, ours.link_v, ours.link_w)
    mass = centre_of_mass(tree.mass, tree.com, *links, 0, c, v)
    angular_momentum(tree.mass, tree.com, tree.inertia, *links, c, v, momentum)
    assert mass == pytest.approx(anatomy.mass, rel=1e-12)
    np.testing.assert_allclose(c, theirs.data.com[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(v, theirs.data.vcom[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(mass * v, theirs.data.hg.linear, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(momentum, theirs.data.hg.angular, rtol=1e-9, atol=1e-9)


def test_centre_of_mass_of_a_part(pair) -> None:
    """A mask of masses, and a first link: both take a part of the body."""
    anatomy = BODIES[0]
    ours, theirs = pair(anatomy)
    tree = ours.tree
    leg = [anatomy.link_index[f"right_{name}"] for name in ("thigh", "shank", "hindfoot", "toes")]
    mass = np.zeros_like(tree.mass)
    mass[leg] = tree.mass[leg]
    c, v = np.zeros(3), np.zeros(3)
    total = centre_of_mass(mass, tree.com, ours.link_r, ours.link_p, ours.link_v, ours.link_w, 0, c, v)
    at = [theirs.link(anatomy.links[k].name).world(tree.com[k]) for k in leg]
    assert total == pytest.approx(mass.sum())
    np.testing.assert_allclose(c, np.average(at, axis=0, weights=mass[leg]), rtol=0, atol=1e-9)
    first = len(anatomy.links) - 1
    assert centre_of_mass(tree.mass, tree.com, ours.link_r, ours.link_p, ours.link_v, ours.link_w, first, c, v) == tree.mass[-1]
    np.testing.assert_allclose(c, theirs.link(anatomy.links[-1].name).world(tree.com[-1]), rtol=0, atol=1e-9)


@every_body
def test_named_points_agree_with_pinocchio(pair, anatomy: Anatomy) -> None:
    ours, theirs = pair(anatomy)
    out, one = np.zeros((len(anatomy.points), 3)), np.zeros(3)
    points_in_world(ours.tree.point_link, ours.tree.point, ours.link_r, ours.link_p, out)
    for k, (link, point) in enumerate(anatomy.points.values()):
        np.testing.assert_allclose(out[k], theirs.link(link).world(point), rtol=0, atol=1e-9)
        point_in_world(anatomy.link_index[link], point, ours.link_r, ours.link_p, one)
        np.testing.assert_array_equal(one, out[k])


def test_velocities_are_the_derivative_of_positions(random_pose) -> None:
    anatomy, h = BODIES[0], 1e-6
    pose = random_pose(anatomy, 7)
    qd = np.random.default_rng(7).normal(size=len(pose.q))
    zero = np.zeros(3)
    here = Moving.of(anatomy, pose.position, pose.quaternion, zero, zero, pose.q, qd)
    after, before = (Moving.of(anatomy, pose.position, pose.quaternion, zero, zero, pose.q + s * h * qd, qd) for s in (1, -1))
    np.testing.assert_allclose((after.link_p - before.link_p) / (2 * h), here.link_v, rtol=0, atol=1e-8)


@every_body
def test_the_tree_is_the_anatomy(anatomy: Anatomy) -> None:
    tree, n = Tree.of(anatomy), len(anatomy.joints)
    for k, joint in enumerate(anatomy.joints):
        assert anatomy.links[k + 1].name == joint.child, "joint k moves link k + 1"
        assert anatomy.links[tree.parent[k]].name == joint.parent
        assert tree.parent[k] <= k, "parents come before children"
        assert (tree.lower[k], tree.upper[k], tree.max_torque[k]) == (*joint.outer, joint.max_torque)
    assert tree.mass.shape == (n + 1,)
    assert tree.mass.sum() == pytest.approx(anatomy.mass, rel=1e-12)
    for side, first in enumerate(tree.leg):
        names = [joint.name.partition("_")[2] for joint in anatomy.joints[first : first + LEG_JOINTS]]
        assert [names[k] for k in (HIP, KNEE, ANKLE, MTP)] == ["hip_flexion", "knee_flexion", "ankle_dorsiflexion", "mtp_extension"]
        assert all(joint.name.startswith(("left", "right")[side]) for joint in anatomy.joints[first : first + LEG_JOINTS])


# -- leg ---------------------------------------------------------------------------------------------------------------


class Leg:
    """One leg of a body whose pelvis stands anywhere."""

    def __init__(self, anatomy: Anatomy, side: int, pelvis: np.ndarray) -> None:
        self.anatomy, self.side, self.pelvis = anatomy, side, pelvis
        self.tree = Tree.of(anatomy)
        self.first = int(self.tree.leg[side])
        self.upper, self.lower = anatomy.length("thigh"), anatomy.length("shank")
        self.hip = pelvis @ self.tree.origin[self.first]  # mid-hip lies at the origin

    def solve(self, ankle: np.ndarray, foot: np.ndarray, knee_yaw: float) -> tuple[np.ndarray, float]:
        q = np.full(LEG_JOINTS, np.nan)
        sign = 2.0 * self.side - 1.0
        missed = solve_leg(self.pelvis, self.hip, ankle, foot, knee_yaw, self.upper, self.lower, sign, q)
        return q, missed

    def forward(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Knee (3,), ankle (3,) and rotation of the foot (3, 3)."""
        n = len(self.anatomy.joints)
        angles = np.zeros(n)
        angles[self.first : self.first + LEG_JOINTS] = q
        out = (np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n, 3)))
        tree, zero = self.tree, np.zeros(3)
        forward(zero, self.pelvis, zero, zero, angles, np.zeros(n), tree.parent, tree.axis, tree.origin, *out)
        link = self.anatomy.link_index
        side = ("left", "right")[self.side]
        return out[1][link[f"{side}_shank"]], out[1][link[f"{side}_ankle_1"]], out[0][link[f"{side}_hindfoot"]]


def rotation(yaw: float, pitch: float, roll: float) -> np.ndarray:
    out = np.zeros((3, 3))
    foot_rotation(yaw, pitch, roll, out)
    return out


def random_leg(seed: int) -> tuple[Leg, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return Leg(BODIES[seed % len(BODIES)], seed % 2, rotation(*rng.uniform(-0.5, 0.5, 3))), rng


def random_target(leg: Leg, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Ankle within reach below the hip, foot orientation, and direction of the knee."""
    down = np.array([rng.uniform(-0.4, 0.4), rng.uniform(-0.8, 0.8), -1.0])
    distance = rng.uniform(0.3, 0.9999) * (leg.upper + leg.lower)
    yaw = rng.uniform(-3, 3)
    pelvis = rotation(yaw, 0, 0)
    ankle = leg.hip + distance * pelvis @ (down / np.linalg.norm(down))
    return ankle, rotation(yaw + rng.uniform(-0.3, 0.3), rng.uniform(-0.6, 0.6), rng.uniform(-0.2, 0.2)), yaw


@pytest.mark.parametrize("seed", range(60))
def test_forward_kinematics_of_the_solution_is_the_target(seed: int) -> None:
    leg, rng = random_leg(seed)
    ankle, foot, yaw = random_target(leg, rng)
    q, missed = leg.solve(ankle, foot, yaw)
    knee, reached, turned = leg.forward(q)
    assert missed == 0.0
    np.testing.assert_allclose(reached, ankle, rtol=0, atol=1e-9)
    # Two axes at the ankle set the sole's normal; the foot's yaw follows the leg.
    np.testing.assert_allclose(turned[:, 2], foot[:, 2], rtol=0, atol=1e-9)
    assert q[MTP] == 0.0
    # the knee is bent, and lies before the line from hip to ankle, in the plane of that line and the asked direction
    assert q[KNEE] > 0
    line = (ankle - leg.hip) / np.linalg.norm(ankle - leg.hip)
    before = knee - leg.hip - (knee - leg.hip) @ line * line
    direction = np.array([-math.sin(yaw), math.cos(yaw), 0.0])
    assert before @ direction > 0
    np.testing.assert_allclose(before @ np.cross(line, direction), 0, atol=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_solution_of_forward_kinematics_is_the_angles(seed: int) -> None:
    """Angles of a leg whose foot has the yaw of its shank come back."""
    leg, rng = random_leg(seed)
    leg.pelvis = np.eye(3)
    leg.hip = leg.tree.origin[leg.first]
    wanted = np.array([rng.uniform(-0.3, 0.9), 0.0, 0.0, rng.uniform(0.05, 1.8), rng.uniform(-0.4, 0.4), rng.uniform(-0.3, 0.3), 0.0])
    _, ankle, foot = leg.forward(wanted)
    q, missed = leg.solve(ankle, foot, 0.0)
    assert missed == 0.0
    np.testing.assert_allclose(q, wanted, rtol=0, atol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_target_out_of_reach_is_met_on_the_line_to_it(seed: int) -> None:
    leg, rng = random_leg(seed)
    ankle, foot, yaw = random_target(leg, rng)
    longest = leg.upper + leg.lower
    line = (ankle - leg.hip) / np.linalg.norm(ankle - leg.hip)
    excess = rng.uniform(0.001, 0.5)
    q, missed = leg.solve(leg.hip + (longest + excess) * line, foot, yaw)
    assert missed == pytest.approx(excess, abs=1e-12)
    _, reached, turned = leg.forward(q)
    np.testing.assert_allclose(reached, leg.hip + longest * line, rtol=0, atol=1e-8)
    np.testing.assert_allclose(turned[:, 2], foot[:, 2], rtol=0, atol=1e-9)
    assert 0 < q[KNEE] < 1e-3


def test_target_at_the_hip_folds_the_leg_as_far_as_it_goes() -> None:
    leg = Leg(BODIES[0], 1, np.eye(3))
    shortest = abs(leg.upper - leg.lower)
    assert shortest > 1e-4
    q, _ = leg.solve(leg.hip - [0, 0, 0.1 * shortest], np.eye(3), 0.0)
    assert np.isfinite(q).all()
    _, reached, _ = leg.forward(q)
    assert np.linalg.norm(reached - leg.hip) == pytest.approx(shortest, abs=1e-6)


@pytest.mark.parametrize("distance", [0.0, 1e-5, 0.2, 0.5, 0.8, 0.85551, 2.0])
def test_knee_for_distance_is_the_law_of_cosines(distance: float) -> None:
    upper, lower = 0.4218, 0.4337
    knee, alpha = knee_for_distance(upper, lower, distance)
    assert 0 <= knee <= math.pi
    ankle = upper * np.array([math.sin(alpha), -math.cos(alpha)]) + lower * np.array([math.sin(alpha - knee), -math.cos(alpha - knee)])
    reachable = min(max(distance, lower - upper), lower + upper)
    np.testing.assert_allclose(ankle, [0, -reachable], rtol=0, atol=1e-7)


def test_no_jump_on_the_way() -> None:
    """The knee keeps its branch: along a path through many targets, angles move little from one to the next."""
    leg = Leg(BODIES[0], 0, np.eye(3))
    u = np.linspace(0, 2 * np.pi, 4001)
    path = leg.hip + np.stack([0.08 * np.sin(3 * u), 0.35 * np.sin(u), -0.62 + 0.12 * np.cos(2 * u)], axis=1)
    q = np.array([leg.solve(ankle, rotation(0, 0.4 * math.sin(t), 0), 0.2 * math.sin(t))[0] for ankle, t in zip(path, u, strict=True)])
    assert np.abs(np.diff(q, axis=0)).max() < 0.01
    assert (q[:, KNEE] > 0.1).all()


@pytest.mark.parametrize("seed", range(20))
def test_sides_mirror_each_other(seed: int) -> None:
    right, rng = random_leg(2 * seed + 1)
    assert right.side == 1
    left = Leg(right.anatomy, 0, MIRROR @ right.pelvis @ MIRROR)
    ankle, foot, yaw = random_target(right, rng)
    ours, _ = right.solve(ankle, foot, yaw)
    theirs, _ = left.solve(MIRROR @ ankle, MIRROR @ foot @ MIRROR, -yaw)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12)


def test_foot_rotation_is_yaw_then_pitch_then_roll() -> None:
    yaw, pitch, roll = 0.4, 0.3, -0.2
    np.testing.assert_allclose(rotation(yaw, 0, 0) @ rotation(0, pitch, 0) @ rotation(0, 0, roll), rotation(yaw, pitch, roll), atol=1e-15)
    np.testing.assert_allclose(rotation(math.pi / 2, 0, 0)[:, 1], [-1, 0, 0], atol=1e-15, err_msg="positive yaw turns to the left")
    assert rotation(0, 0.3, 0)[2, 1] > 0, "positive pitch lifts the toes"
    assert rotation(0, 0, 0.3)[2, 0] < 0, "positive roll lowers the right edge"
    r = rotation(yaw, pitch, roll)
    np.testing.assert_allclose(r @ r.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(r) == pytest.approx(1)
