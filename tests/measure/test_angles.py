"""Signs and zeros of the angles."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest

from sandbox.measure import Gait, joint_angles, leg_angles, mean_curves_deg
from sandbox.measure.angles import trunk_lean
from sandbox.measure.signals import facing, lowpass
from sandbox.recording import Recording


@pytest.mark.parametrize("heading", [0.0, 1.2, -2.0])
def test_given_angles_come_back(walker: ModuleType, heading: float) -> None:
    wanted = (0.3, 0.5, -0.2)
    recording = walker.Walker(seconds=2, heading=heading, leg_angles=lambda phase: wanted).record()
    angles = leg_angles(recording)
    for got, value in ((angles.hip, 0.3), (angles.knee, 0.5), (angles.ankle, -0.2), (angles.foot, -0.2 + 0.3 - 0.5)):
        np.testing.assert_allclose(got, value, atol=1e-9)
    joints = joint_angles(recording)
    np.testing.assert_allclose(joints.knee, 0.5, atol=1e-9)
    np.testing.assert_allclose(joints.ankle, -0.2, atol=1e-9)


def test_standing_upright_is_zero(walker: ModuleType) -> None:
    angles = leg_angles(walker.Walker(seconds=1, leg_angles=lambda phase: (0.0, 0.0, 0.0)).record())
    for value in (angles.hip, angles.knee, angles.ankle, angles.foot):
        np.testing.assert_allclose(value, 0, atol=1e-12)


def test_a_skeleton_without_heels_finds_its_flat_foot(walker: ModuleType) -> None:
    recording = walker.Walker(seconds=10).record()
    whole = leg_angles(recording)
    keep = [i for i, name in enumerate(recording.header["point_names"]) if "heel" not in name]
    header = {**recording.header, "point_names": [recording.header["point_names"][i] for i in keep]}
    heelless = leg_angles(Recording(header, {**recording.columns, "points": recording.points[:, keep]}))
    np.testing.assert_allclose(heelless.foot, whole.foot, atol=0.01)


def test_facing_follows_a_turn_and_not_the_pelvis_of_a_stride(walker: ModuleType) -> None:
    forward = facing(walker.Walker(seconds=20, heading=0.5).record()).forward
    yaw = np.arctan2(-forward[:, 0], forward[:, 1])
    np.testing.assert_allclose(yaw, 0.5, atol=0.07)
    np.testing.assert_allclose(yaw[600:-600], 0.5, atol=0.001)


def test_trunk_leans_forward_positive(walker: ModuleType) -> None:
    lean = trunk_lean(walker.Walker(seconds=2, heading=1.0).record())
    np.testing.assert_allclose(lean, math.atan2(0.03, 0.58), atol=1e-4)


def test_lowpass_passes_the_slow_stops_the_fast_and_shifts_nothing() -> None:
    t = np.arange(0, 10, 1 / 120)
    slow, fast = np.sin(2 * np.pi * t), np.sin(2 * np.pi * 50 * t)
    out = lowpass(slow + fast, 20.0, 120.0)
    np.testing.assert_allclose(out[60:-60], slow[60:-60], atol=0.01)
    assert lowpass(np.ones((1, 3)), 20.0, 120.0).shape == (1, 3)


def test_mean_curves_average_both_sides(walker: ModuleType) -> None:
    recording = walker.Walker(seconds=20).record()
    curves = mean_curves_deg(Gait(recording))
    assert set(curves) == {"hip", "knee", "ankle", "foot"}
    assert curves["foot"][0] == pytest.approx(20, abs=0.5)
    assert abs(curves["foot"][25]) < 0.1
