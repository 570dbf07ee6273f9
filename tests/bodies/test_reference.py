"""The study's frozen subject: its landmarks, its envelopes, and its fourteen segments."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sandbox.bodies import Anatomy
from sandbox.bodies.anatomy import SIDES
from sandbox.bodies.reference import REFERENCE, Region, arm_abduction, envelopes, landmarks, neutral_angles
from sandbox.bodies.segments import published_share_sum, segment_coms, segments, whole_body_com
from sandbox.trajectory import Trajectory

# Joint centres of the literature's reconstruction (right side) [m], to the rounding of the table.
TABLE = {
    "mid_hip": (0, 0, 0.9319), "spine": (0, 0, 1.1137), "chest": (0, 0, 1.3058), "neck_base": (0, 0, 1.5561), "head": (0, 0, 1.6807),
    "vertex": (0, 0, 1.8054), "right_shoulder": (0.1933, 0, 1.4512), "right_elbow": (0.3946, 0, 1.2491), "right_wrist": (0.5875, 0, 1.0556),
    "right_hand_tip": (0.7170, 0, 0.9256), "right_hip": (0.0891, 0, 0.9319),
    "right_knee": (0.0891, 0, 0.5268), "right_ankle": (0.0891, 0, 0.0764),
    "right_heel": (0.0891, -0.0561, 0), "right_toe_base": (0.0891, 0.1221, 0), "right_toe_tip": (0.0891, 0.1932, 0),
}  # fmt: skip


@pytest.fixture(scope="module")
def points() -> dict[str, np.ndarray]:
    neutral = Trajectory(REFERENCE, np.zeros(1), np.array([[0.0, 0.0, REFERENCE.leg_length]]), neutral_angles()[None], still=True)
    return {name: path[0] for name, path in neutral.points(landmarks()).items()}


@pytest.mark.parametrize("name", TABLE)
def test_landmarks_are_those_of_the_table(points, name: str):
    np.testing.assert_allclose(points[name], TABLE[name], rtol=0, atol=2e-4)


def test_the_left_side_mirrors_the_right(points):
    for name in points:
        if name.startswith("right_"):
            np.testing.assert_allclose(points[name.replace("right", "left")], points[name] * (-1, 1, 1), rtol=0, atol=1e-15)


def test_wrists_are_where_the_study_has_them(points):
    shoulders = points["right_shoulder"][0] - points["left_shoulder"][0]
    assert points["right_wrist"][0] / shoulders == pytest.approx(1.52, abs=1e-12)
    assert math.degrees(arm_abduction(REFERENCE)) == pytest.approx(44.9, abs=0.05)


def test_every_envelope_is_nested_and_has_a_source():
    table = envelopes()
    assert math.degrees(table["ankle_dorsiflexion"].outer[1]) == pytest.approx(16)
    for axis, envelope in table.items():
        (low, high), (least, most) = envelope.comfortable, envelope.outer
        assert least <= low < high <= most, axis
        assert envelope.source, axis
    assert any(envelope.source.startswith("provisional") for envelope in table.values())


def test_every_joint_of_the_legs_and_arms_has_an_envelope():
    named = {joint.name.partition("_")[2] for joint in REFERENCE.joints if joint.name.startswith(SIDES)}
    assert named <= set(envelopes())


def test_regions_of_an_angle():
    knee = envelopes()["knee_flexion"]
    angles = {
        -2: Region.OUTSIDE,
        -0.5: Region.OUTER,
        0: Region.COMFORTABLE,
        70: Region.COMFORTABLE,
        71: Region.OUTER,
        138: Region.OUTER,
        139: Region.OUTSIDE,
    }
    assert {angle: knee.region(math.radians(angle)) for angle in angles} == angles
    assert knee.excess(math.radians(140)) == pytest.approx(math.radians(2))


def test_fourteen_segments_weigh_one_body():
    assert len(segments()) == 14
    assert sum(s.share for s in segments()) == pytest.approx(1, abs=1e-15)
    assert published_share_sum() == pytest.approx(0.99995, abs=1e-12)


def test_segment_centres_lie_on_their_lines(points):
    for segment, com in zip(segments(), segment_coms(points), strict=True):
        start, end = points[segment.proximal], points[segment.distal]
        np.testing.assert_allclose(com, start + segment.com * (end - start), rtol=0, atol=1e-15)


def test_whole_body_com_takes_instants(points):
    two = {name: np.stack((point, np.add(point, (0.1, 0.2, 0.3)))) for name, point in points.items()}
    com = whole_body_com(two)
    np.testing.assert_allclose(com[1] - com[0], (0.1, 0.2, 0.3), atol=1e-15)
    np.testing.assert_allclose(com[0], whole_body_com(points), atol=1e-15)


@pytest.mark.parametrize("body", [Anatomy(55, 1.62, "female"), Anatomy(90, 1.85, "male")], ids=["female", "male"])
def test_other_bodies_have_the_same_landmarks(body: Anatomy):
    assert set(landmarks(body)) == set(landmarks())
    assert landmarks(body)["vertex"][1][2] == pytest.approx(body.length("head"))
