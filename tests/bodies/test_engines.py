"""One URDF text in PyBullet and Pinocchio: the same body, found by name, with the same dynamics and angle signs."""

from __future__ import annotations

import itertools
import random
import xml.etree.ElementTree as ET

import numpy as np
import pybullet
import pytest

from sandbox.bodies import Anatomy, to_urdf
from sandbox.conventions import BACKWARD, FORWARD, LEFT, MIRROR_VECTOR, RIGHT, UP
from sandbox.mechanics import center_of_mass, support_margin, support_polygon

BODIES = [
    Anatomy(mass, height, sex)
    for (mass, height), sex in itertools.product([(50, 1.55), (70, 1.74), (110, 1.95)], ("mean", "female", "male"))
]
every_body = pytest.mark.parametrize("anatomy", BODIES, ids=lambda a: f"{a.mass:g}kg-{a.height:g}m-{a.sex}")


def relative_error(actual: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(actual - wanted) / np.linalg.norm(wanted))


# -- the text ----------------------------------------------------------------------------------------------------------


@every_body
def test_no_link_without_inertia(anatomy: Anatomy) -> None:
    """A link without <inertial> silently weighs 1 kg in Bullet."""
    root = ET.fromstring(to_urdf(anatomy))
    links, joints = root.findall("link"), root.findall("joint")
    assert [link.get("name") for link in links] == [link.name for link in anatomy.links]
    assert [joint.get("name") for joint in joints] == [joint.name for joint in anatomy.joints]
    for link in links:
        (inertial,) = link.findall("inertial")
        assert float(inertial.find("mass").get("value")) > 0
        assert all(float(inertial.find("inertia").get(axis)) > 0 for axis in ("ixx", "iyy", "izz"))


def test_text_is_plain_and_repeatable() -> None:
    text = to_urdf(Anatomy())
    assert text == to_urdf(Anatomy())
    assert "capsule" not in text, "Bullet's own extension: other parsers reject it"
    assert "-0.0 " not in text
    assert '-0.0"' not in text
    assert "nan" not in text


def test_pinocchio_has_nothing_to_complain_about(load_pinocchio, capfd) -> None:
    load_pinocchio(Anatomy())
    assert capfd.readouterr() == ("", "")


# -- what was loaded ---------------------------------------------------------------------------------------------------


@every_body
def test_engines_hold_the_links_of_the_anatomy(load, anatomy: Anatomy) -> None:
    body = load(anatomy)
    assert body.link_names == set(anatomy.link_index)
    assert body.joint_names == set(anatomy.joint_index)
    for link in anatomy.links:
        loaded, wanted = body.link(link.name).mass_properties, link.mass_properties
        assert loaded.mass == wanted.mass
        np.testing.assert_allclose(loaded.com, wanted.com, rtol=0, atol=1e-12)
        smallest = np.linalg.eigvalsh(wanted.inertia)[0]
        np.testing.assert_allclose(loaded.inertia, wanted.inertia, rtol=0, atol=1e-6 * smallest)
        assert loaded.is_physical, link.name


@every_body
def test_zero_pose_puts_the_named_points_where_a_person_has_them(load, anatomy: Anatomy) -> None:
    body, h = load(anatomy), anatomy.height
    at = {name: body.link(link).world(point) for name, (link, point) in anatomy.points.items()}
    np.testing.assert_allclose(at["mid_hip"], 0, atol=1e-6)
    for side, sign in (("left", -1), ("right", 1)):
        hip, knee, ankle = (at[f"{side}_{name}"] for name in ("hip", "knee", "ankle"))
        np.testing.assert_allclose(hip, [sign * 0.050 * h, 0, 0], atol=1e-6)
        np.testing.assert_allclose(hip - knee, [0, 0, anatomy.length("thigh")], atol=1e-6)
        np.testing.assert_allclose(knee - ankle, [0, 0, anatomy.length("shank")], atol=1e-6)
        heel, base, tip = (at[f"{side}_{name}"] for name in ("heel", "toe_base", "toe_tip"))
        assert heel[2] == pytest.approx(-anatomy.leg_length, abs=1e-6)
        np.testing.assert_allclose(tip - heel, [0, anatomy.length("foot"), 0], atol=1e-6)
        np.testing.assert_allclose(base - heel, [0, 0.715 * anatomy.length("foot"), 0], atol=1e-6)
        np.testing.assert_allclose(ankle - heel, [0, 0.225 * anatomy.length("foot"), 0.0429 * h], atol=1e-6)
        shoulder, elbow, wrist = (at[f"{side}_{name}"] for name in ("shoulder", "elbow", "wrist"))
        np.testing.assert_allclose(shoulder, [sign * 0.1085 * h, 0, anatomy.length("trunk")], atol=1e-6)
        np.testing.assert_allclose(shoulder - elbow, [0, 0, anatomy.length("upper_arm")], atol=1e-6)
        np.testing.assert_allclose(elbow - wrist, [0, 0, anatomy.length("forearm")], atol=1e-6)
    c7 = sum(anatomy.length(part) for part in ("lower_trunk", "middle_trunk", "upper_trunk"))
    np.testing.assert_allclose(at["neck_base"], [0, 0, c7], atol=1e-6)
    np.testing.assert_allclose(at["head"], [0, 0, c7 + anatomy.length("head") / 2], atol=1e-6)


def test_bullet_joints_have_the_limits_and_no_friction(load_bullet) -> None:
    anatomy = Anatomy()
    body = load_bullet(anatomy)
    for joint in anatomy.joints:
        row = body.joint_info[joint.name]
        assert row[2] == pybullet.JOINT_REVOLUTE
        assert row[6:8] == (0.0, 0.0), "damping, friction"
        assert row[8:10] == pytest.approx(joint.outer)
        assert row[10] == pytest.approx(joint.max_torque)
        assert row[12].decode() == joint.child


def test_pinocchio_joints_have_the_limits(load_pinocchio) -> None:
    anatomy = Anatomy()
    body = load_pinocchio(anatomy)
    np.testing.assert_allclose(body.model.lowerPositionLimit[body.idx_q], [j.outer[0] for j in anatomy.joints])
    np.testing.assert_allclose(body.model.upperPositionLimit[body.idx_q], [j.outer[1] for j in anatomy.joints])
    np.testing.assert_allclose(body.model.effortLimit[body.idx_v], [j.max_torque for j in anatomy.joints])
    np.testing.assert_array_equal(body.model.armature, 0)
    np.testing.assert_array_equal(body.model.friction, 0)
    np.testing.assert_array_equal(body.model.damping, 0)


# -- dynamics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@every_body
def test_mass_matrix_and_gravity_agree(load_bullet, load_pinocchio, random_pose, anatomy: Anatomy, seed: int) -> None:
    bullet, pinocchio = load_bullet(anatomy), load_pinocchio(anatomy)
    pose, still = random_pose(anatomy, seed), np.zeros(len(anatomy.joints))
    bullet.set_pose(pose)
    pinocchio.set_pose(pose)
    ours, theirs = bullet.mass_matrix(), pinocchio.mass_matrix()
    scale = np.sqrt(np.diag(theirs))  # each entry against the inertias of its own two coordinates
    np.testing.assert_allclose(ours / np.outer(scale, scale), theirs / np.outer(scale, scale), rtol=0, atol=1e-6)
    assert relative_error(ours, theirs) < 1e-6
    gravity = pinocchio.inverse_dynamics(still, still)
    assert relative_error(bullet.inverse_dynamics(still, still), gravity) < 1e-6
    assert relative_error(bullet.inverse_dynamics(still, still)[6:], gravity[6:]) < 1e-6
    # The base carries the weight, whichever way it is turned.
    assert np.linalg.norm(gravity[:3]) == pytest.approx(anatomy.mass * 9.81, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_inverse_dynamics_of_moving_joints_agree(load_bullet, load_pinocchio, random_pose, seed: int) -> None:
    anatomy = Anatomy()
    bullet, pinocchio = load_bullet(anatomy), load_pinocchio(anatomy)
    pose = random_pose(anatomy, seed)
    bullet.set_pose(pose)
    pinocchio.set_pose(pose)
    qd, qdd = np.random.default_rng(seed).normal(scale=[[3], [30]], size=(2, len(anatomy.joints)))
    assert relative_error(bullet.inverse_dynamics(qd, qdd), pinocchio.inverse_dynamics(qd, qdd)) < 1e-6


def test_order_in_the_file_does_not_matter(load, random_pose) -> None:
    """Engines number links and joints as they please, so that they are found by name."""
    anatomy = Anatomy()
    root = ET.fromstring(to_urdf(anatomy))
    children = list(root)
    random.Random(1).shuffle(children)
    root[:] = children
    plain, shuffled = load(anatomy), load(anatomy, ET.tostring(root, encoding="unicode"))
    pose = random_pose(anatomy, 3)
    plain.set_pose(pose)
    shuffled.set_pose(pose)
    np.testing.assert_allclose(shuffled.mass_matrix(), plain.mass_matrix(), rtol=0, atol=1e-12)
    for link in anatomy.links:
        a, b = plain.link(link.name), shuffled.link(link.name)
        np.testing.assert_allclose(a.position, b.position, rtol=0, atol=1e-6)
        np.testing.assert_allclose(a.mass_properties.inertia, b.mass_properties.inertia, rtol=0, atol=1e-12)


# -- signs -------------------------------------------------------------------------------------------------------------

MIDLINE = "to the midline"
# Joint: the point that it moves, where a positive angle takes it, and the joint angles held meanwhile.
SIGNS = {
    "lumbar_flexion": ("neck_base", FORWARD, {}),
    "lumbar_lateral": ("neck_base", RIGHT, {}),
    "lumbar_rotation": ("right_shoulder", FORWARD, {}),
    "thorax_rotation": ("right_shoulder", FORWARD, {}),
    "head_flexion": ("head", FORWARD, {}),
    "shoulder_flexion": ("wrist", FORWARD, {}),
    "shoulder_adduction": ("wrist", MIDLINE, {}),
    "shoulder_rotation": ("wrist", MIDLINE, {"elbow_flexion": 1.5}),  # the forearm points forward
    "elbow_flexion": ("wrist", FORWARD, {}),
    "hip_flexion": ("knee", FORWARD, {}),
    "hip_adduction": ("knee", MIDLINE, {}),
    "hip_rotation": ("toe_tip", MIDLINE, {}),
    "knee_flexion": ("ankle", BACKWARD, {}),
    "ankle_dorsiflexion": ("toe_tip", UP, {}),
    "ankle_inversion": ("heel", MIDLINE, {}),  # a point of the sole under the axis goes where the sole turns
    "mtp_extension": ("toe_tip", UP, {}),
}


def sides_of(joint: str, anatomy: Anatomy) -> list[str]:
    return [""] if joint in anatomy.joint_index else ["left_", "right_"]


def test_every_joint_has_a_sign_case() -> None:
    anatomy = Anatomy()
    assert {side + joint for joint in SIGNS for side in sides_of(joint, anatomy)} == set(anatomy.joint_index)


@pytest.mark.parametrize("joint", SIGNS)
def test_positive_angle_moves_the_distal_point_as_the_convention_says(load, zero_pose, joint: str) -> None:
    anatomy = Anatomy()
    body = load(anatomy)
    point, direction, held = SIGNS[joint]
    for side in sides_of(joint, anatomy):
        link, local = anatomy.points[side + point]
        pose = zero_pose(anatomy)
        for name, angle in held.items():
            pose.q[anatomy.joint_index[side + name]] = angle
        body.set_pose(pose)
        before = body.link(link).world(local)
        pose.q[anatomy.joint_index[side + joint]] += 0.05
        body.set_pose(pose)
        moved = body.link(link).world(local) - before
        wanted = (RIGHT if side == "left_" else LEFT) if direction == MIDLINE else direction
        assert moved @ wanted > 0.9 * np.linalg.norm(moved) > 1e-4, f"{side}{joint} moved {point} by {moved}"


@pytest.mark.parametrize("seed", range(3))
def test_mirrored_pose_is_the_mirror_image(load, zero_pose, random_pose, seed: int) -> None:
    anatomy = Anatomy()
    body = load(anatomy)
    pose, mirrored = zero_pose(anatomy), zero_pose(anatomy)
    pose.q = random_pose(anatomy, seed).q
    other = {"left": "right", "right": "left"}

    def twin(name: str) -> str:
        side, _, rest = name.partition("_")
        return f"{other[side]}_{rest}" if side in other else name

    for name, index in anatomy.joint_index.items():
        turns_over = name in ("lumbar_lateral", "lumbar_rotation", "thorax_rotation")
        mirrored.q[anatomy.joint_index[twin(name)]] = -pose.q[index] if turns_over else pose.q[index]
    body.set_pose(pose)
    points = {name: body.link(link).world(point) for name, (link, point) in anatomy.points.items()}
    body.set_pose(mirrored)
    for name, (link, point) in anatomy.points.items():
        np.testing.assert_allclose(body.link(link).world(point), points[twin(name)] * MIRROR_VECTOR, rtol=0, atol=2e-6)


# -- on the ground -----------------------------------------------------------------------------------------------------


@every_body
def test_standing_at_zero_pose_is_statically_possible(load, anatomy: Anatomy) -> None:
    """The centre of mass lies over the soles, well inside."""
    body = load(anatomy)
    links = [body.link(link.name) for link in anatomy.links]
    masses = np.array([link.mass_properties.mass for link in links])
    com = center_of_mass(masses, np.array([link.world(link.mass_properties.com) for link in links]))
    soles = [body.link(link.name).world(sole.centre) for link in anatomy.links for sole in link.soles]
    assert com[0] == pytest.approx(0, abs=1e-6)
    assert support_margin(com[:2], support_polygon(np.array(soles))) > 0.015 * anatomy.height
    assert 0.53 < (com[2] + anatomy.leg_length) / anatomy.height < 0.59


@every_body
def test_only_the_soles_meet_the_ground_at_zero_pose(load_bullet, zero_pose, anatomy: Anatomy) -> None:
    body = load_bullet(anatomy)
    pose = zero_pose(anatomy)
    gap = 1e-3
    pose.position[2] = anatomy.leg_length + gap
    body.set_pose(pose)
    shape = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=body.client)
    ground = pybullet.createMultiBody(0, shape, physicsClientId=body.client)
    name = {index: link for link, index in body.link_index.items()}
    near = pybullet.getClosestPoints(body.body, ground, 0.03, physicsClientId=body.client)
    assert {name[row[3]] for row in near} == {f"{side}_{part}" for side in ("left", "right") for part in ("hindfoot", "toes")}
    for link in {row[3] for row in near}:
        assert min(row[8] for row in near if row[3] == link) == pytest.approx(gap, abs=1e-5)
