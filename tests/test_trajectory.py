"""Poses over time: velocities from differences, masses from the tree, and a recording of it."""

from __future__ import annotations

import numpy as np
import pytest

from sandbox.bodies.reference import REFERENCE, landmarks, neutral_angles
from sandbox.recording import COLUMNS, Recording
from sandbox.spatial import rotation_z
from sandbox.state import ContactState, SolePart
from sandbox.trajectory import Event, Trajectory

TIME = np.arange(61) / 60


def falling() -> Trajectory:
    """Thrown upward and turning about the vertical, one knee bending."""
    root = np.column_stack((0 * TIME, 0.7 * TIME, 4 + 2 * TIME - 4.905 * TIME**2))
    q = np.tile(neutral_angles(), (len(TIME), 1))
    q[:, REFERENCE.joint_index["left_knee_flexion"]] = 0.5 * TIME**2
    return Trajectory(REFERENCE, TIME, root, q, np.array([rotation_z(1.5 * t) for t in TIME]))


def test_velocities_of_parabolas_are_exact():
    t = falling()
    np.testing.assert_allclose(t.root_velocity, np.column_stack((0 * TIME, 0 * TIME + 0.7, 2 - 9.81 * TIME)), atol=1e-12)
    np.testing.assert_allclose(t.qd[:, REFERENCE.joint_index["left_knee_flexion"]], TIME, atol=1e-12)
    np.testing.assert_allclose(t.root_angular_velocity, np.tile((0, 0, 1.5), (len(TIME), 1)), atol=1e-12)


def test_com_velocity_is_the_rate_of_the_com():
    t = falling()
    rate = np.gradient(t.com, TIME, axis=0, edge_order=2)
    np.testing.assert_allclose(t.com_velocity[1:-1], rate[1:-1], atol=1e-3)


def test_a_still_body_has_no_velocity():
    t = Trajectory(REFERENCE, TIME, falling().root_position, falling().q, still=True)
    assert not t.root_velocity.any()
    assert not t.com_velocity.any()
    np.testing.assert_array_equal(t.xcom, t.com[:, :2])


def test_landmarks_move_with_their_links():
    t = falling()
    points = t.points(landmarks())
    shin = np.linalg.norm(points["left_knee"] - points["left_ankle"], axis=1)
    np.testing.assert_allclose(shin, REFERENCE.length("shank"), atol=1e-12)


def test_a_recording_has_columns_of_one_length_and_can_be_read_back(tmp_path):
    contact = np.full((len(TIME), 2), ContactState.FLAT)
    recording = falling().recording(
        "throw", contact, [Event(0.5, 1, True, SolePart.BALL)], [(0.4, 1, np.array([0.1, 0.2, 0.0]))], {"speed_mps": 0.7}
    )
    recording.save(tmp_path / "throw.npz")
    back = Recording.load(tmp_path / "throw.npz")
    assert set(back.columns) <= set(COLUMNS)
    assert back.header["command"]["speed_mps"] == 0.7
    assert back.event_part[0] == SolePart.BALL
    assert not {"ground_force", "tau"} & set(back.columns), "a kinematic motion knows no forces"
    np.testing.assert_array_equal(back.point("left_knee"), falling().points(REFERENCE.points)["left_knee"])


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="equally long"):
        Trajectory(REFERENCE, TIME, np.zeros((3, 3)), np.zeros((len(TIME), len(REFERENCE.joints))))
