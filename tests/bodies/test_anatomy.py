"""The anatomy before any engine sees it: masses, lengths, names, envelopes, bad input."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sandbox.bodies import Anatomy
from sandbox.bodies.anatomy import HEIGHT_RANGE, MASS_RANGE
from sandbox.conventions import JOINT_SIGNS, MIRROR_AXIAL, MIRROR_VECTOR

SEXES = ("mean", "female", "male")
BODIES = [Anatomy(mass, height, sex) for (mass, height), sex in itertools.product([(50, 1.55), (70, 1.74), (110, 1.95)], SEXES)]
EXTREMES = [Anatomy(mass, height, sex) for mass, height, sex in itertools.product(MASS_RANGE, HEIGHT_RANGE, SEXES)]


def name_of(anatomy: Anatomy) -> str:
    return f"{anatomy.mass:g}kg-{anatomy.height:g}m-{anatomy.sex}"


every_body = pytest.mark.parametrize("anatomy", BODIES + EXTREMES, ids=name_of)


def test_default_subject() -> None:
    anatomy = Anatomy()
    assert (anatomy.mass, anatomy.height, anatomy.sex) == (70.0, 1.74, "mean")


@every_body
def test_masses_sum_to_the_body(anatomy: Anatomy) -> None:
    total = math.fsum(link.mass_properties.mass for link in anatomy.links)
    assert total == pytest.approx(anatomy.mass, rel=1e-15, abs=0)


@every_body
def test_every_link_could_exist(anatomy: Anatomy) -> None:
    """Hindfoot and toes above all: the toes' share is assumed, and what is left of the foot must be some real body."""
    for link in anatomy.links:
        assert link.mass_properties.is_physical, link.name
        np.testing.assert_array_equal(link.mass_properties.inertia, link.mass_properties.inertia.T)


@every_body
def test_bodies_of_one_sex_are_similar(anatomy: Anatomy) -> None:
    """Lengths scale with stature, masses with mass, inertias with both: no absolute number hides in the model."""
    reference = Anatomy(sex=anatomy.sex)
    length, mass = anatomy.height / reference.height, anatomy.mass / reference.mass
    for a, b in zip(anatomy.links, reference.links, strict=True):
        assert a.mass_properties.mass == pytest.approx(mass * b.mass_properties.mass, rel=1e-12)
        np.testing.assert_allclose(a.mass_properties.com, length * b.mass_properties.com, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(a.mass_properties.inertia, mass * length**2 * b.mass_properties.inertia, rtol=1e-9, atol=1e-15)
        for x, y in zip(a.soles, b.soles, strict=True):
            np.testing.assert_allclose([*x.centre, x.radius], length * np.array([*y.centre, y.radius]), rtol=1e-12, atol=1e-15)
    for p, q in zip(anatomy.joints, reference.joints, strict=True):
        np.testing.assert_allclose(p.origin, length * q.origin, rtol=1e-12, atol=1e-15)
        assert p.max_torque == pytest.approx(mass * q.max_torque)
        assert (p.name, p.outer, p.comfortable) == (q.name, q.outer, q.comfortable)


def test_toes_are_a_stated_share_of_the_foot() -> None:
    anatomy = Anatomy()
    mass = {link.name: link.mass_properties.mass for link in anatomy.links}
    foot = mass["left_ankle_1"] + mass["left_hindfoot"] + mass["left_toes"]
    assert mass["left_toes"] / foot == pytest.approx(0.14)


@pytest.mark.parametrize("anatomy", BODIES, ids=name_of)
def test_left_mirrors_right(anatomy: Anatomy) -> None:
    links = {link.name: link for link in anatomy.links}
    joints = {joint.name: joint for joint in anatomy.joints}
    for name, right in links.items():
        if name.startswith("right_"):
            left = links[name.replace("right_", "left_")].mass_properties
            np.testing.assert_array_equal(left.com, right.mass_properties.com * MIRROR_VECTOR)
            mirror = np.diag(MIRROR_VECTOR)
            np.testing.assert_array_equal(left.inertia, mirror @ right.mass_properties.inertia @ mirror)
    for name, joint in joints.items():
        if name.startswith("right_"):
            other = joints[name.replace("right_", "left_")]
            np.testing.assert_array_equal(other.axis, joint.axis * MIRROR_AXIAL)
            np.testing.assert_array_equal(other.origin, joint.origin * MIRROR_VECTOR)
            assert (other.comfortable, other.outer, other.max_torque) == (joint.comfortable, joint.outer, joint.max_torque)


def test_links_and_joints_are_one_tree() -> None:
    anatomy = Anatomy()
    assert len(anatomy.joints) == 27
    assert len(anatomy.links) == 28
    seen = {anatomy.links[0].name}
    for link, joint in zip(anatomy.links[1:], anatomy.joints, strict=True):
        assert joint.child == link.name
        assert joint.parent in seen, f"{joint.name} comes before its parent"
        assert link.name not in seen
        seen.add(link.name)
    assert [joint.name for joint in anatomy.joints] == sorted(anatomy.joint_index, key=anatomy.joint_index.__getitem__)
    assert [link.name for link in anatomy.links] == sorted(anatomy.link_index, key=anatomy.link_index.__getitem__)


def test_every_joint_has_a_sign_an_envelope_and_sources() -> None:
    for joint in Anatomy().joints:
        side, _, rest = joint.name.partition("_")
        base = rest if side in ("left", "right") else joint.name
        mirror = np.array(MIRROR_AXIAL) if side == "left" else np.ones(3)
        np.testing.assert_array_equal(joint.axis, np.array(JOINT_SIGNS[base].axis) * mirror)
        (low, high), (inner_low, inner_high) = joint.outer, joint.comfortable
        assert -math.pi < low <= inner_low < inner_high <= high < math.pi
        assert low <= 0 <= high, f"{joint.name}: zero pose is outside its limits"
        assert joint.max_torque > 0
        assert joint.source
        assert joint.torque_source


def test_leg_length_is_hip_to_sole() -> None:
    anatomy = Anatomy()
    origin = {joint.name: joint.origin for joint in anatomy.joints}
    ankle_below_hip = -(origin["left_knee_flexion"] + origin["left_ankle_dorsiflexion"])[2]
    assert anatomy.leg_length == pytest.approx(ankle_below_hip + anatomy.ankle_height)
    assert Anatomy(height=1.781).leg_length == pytest.approx(0.9319, abs=1e-4)  # a separate calculation


@pytest.mark.parametrize("anatomy", BODIES, ids=name_of)
def test_soles_are_flat_on_the_ground_at_zero_pose(anatomy: Anatomy) -> None:
    origin = {joint.child: joint.origin for joint in anatomy.joints}
    ankle = origin["left_shank"] + origin["left_ankle_1"]
    for link in anatomy.links:
        if link.soles and link.name.startswith("left_"):
            frame = ankle + (origin["left_toes"] if link.name == "left_toes" else 0)
            for sole in link.soles:
                assert frame[2] + sole.centre[2] - sole.radius == pytest.approx(-anatomy.leg_length, abs=1e-12)
    assert [len(link.soles) for link in anatomy.links if link.soles] == [4, 2, 4, 2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mass": 29.9}, ("mass", "29.9", "30-200 kg")),
        ({"mass": 201}, ("mass", "201", "30-200 kg")),
        ({"mass": -70}, ("mass", "-70")),
        ({"mass": math.nan}, ("mass", "nan", "30-200 kg")),
        ({"mass": math.inf}, ("mass", "inf")),
        ({"height": 1.19}, ("height", "1.19", "1.2-2.2 m")),
        ({"height": 174}, ("height", "174", "1.2-2.2 m")),
        ({"height": math.nan}, ("height", "nan")),
        ({"height": 0}, ("height", "0 m")),
        ({"sex": "Female"}, ("sex", "'Female'", "mean, female, male")),
        ({"sex": ""}, ("sex", "''")),
        ({"sex": None}, ("sex", "None")),
    ],
)
def test_bad_input_names_value_and_range(arguments: dict[str, object], words: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="^[^\n]+$") as error:
        Anatomy(**arguments)  # type: ignore[arg-type]
    for word in words:
        assert word in str(error.value)
