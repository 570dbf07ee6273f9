"""Velocity profiles and coordination."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sandbox.bodies.reference import REFERENCE, neutral_angles
from sandbox.controllers.coordination import MODES, ArmDrive, Coordination, UpperBody
from sandbox.controllers.velocity import FLAT_FOOT, HUMAN, Span, VelocityProfile, human_cadence


def test_the_flat_foot_profile_closes_its_speed_and_clamps() -> None:
    for speed in np.linspace(0.4, 0.8, 9).tolist():
        gait = FLAT_FOOT.gait(speed)
        assert gait.step_length / gait.duration == pytest.approx(speed, abs=1e-12)
        assert gait.cadence == pytest.approx(60 / gait.duration)
    assert FLAT_FOOT.gait(0.4).step_length == 0.26
    assert FLAT_FOOT.gait(0.8).step_length == 0.28
    assert FLAT_FOOT.gait(3.0) == FLAT_FOOT.gait(0.8)
    assert FLAT_FOOT.gait(-1.0).speed == 0.4


def test_people_step_by_the_law() -> None:
    """LITERATURE A.3, for a height of 1.738 m."""
    for speed, cadence, length, double in ((0.4, 58.8, 0.408, 0.402), (1.0, 92.9, 0.646, 0.184), (2.0, 131.4, 0.913, 0.074)):
        gait = VelocityProfile(fastest=2.0, law="human", height=1.738).gait(speed)
        assert gait.cadence == pytest.approx(cadence, abs=0.06)
        assert gait.step_length == pytest.approx(length, abs=6e-4)
        assert gait.double_support * gait.duration == pytest.approx(double, abs=6e-4)
    assert HUMAN.gait(1.6).cadence / HUMAN.gait(0.4).cadence == pytest.approx(2.0)  # square root of speed
    assert human_cadence(1.0, 1.781) < 182


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FLAT_FOOT.gait(math.nan), "speed nan m/s is not finite"),
        (lambda: human_cadence(6.0, 1.781), "give one above 0, up to 3.93"),
        (lambda: human_cadence(0.0, 1.781), "no walking"),
        (lambda: VelocityProfile(0.8, 0.4), "give 0 < slowest < fastest"),
        (lambda: VelocityProfile(step_length=Span(-0.1, 0.3)), "step_length -0.1 m is outside 0.05..1.5"),
        (lambda: VelocityProfile(double_support=Span(0.2, math.nan)), "double_support nan"),
        (lambda: VelocityProfile(law="humna"), "did you mean 'human'"),  # type: ignore[arg-type]
        (lambda: VelocityProfile(height=-1.0), "height -1 m is outside"),
        (lambda: Coordination("torso"), "unknown coordination mode 'torso'"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_one_clear_line(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        make()  # type: ignore[operator]
    assert "\n" not in str(raised.value)


def test_the_arm_drive_is_a_critically_damped_response() -> None:
    drive, target, w = ArmDrive(10.0), np.array([1.0, -0.5]), 10.0
    for tick in range(1, 61):
        drive.advance(target, 1 / 120)
        t = tick / 120
        np.testing.assert_allclose(drive.position, target * (1 - (1 + w * t) * math.exp(-w * t)), atol=1e-12)
    coarse = ArmDrive(10.0)
    coarse.advance(target, 0.5)
    np.testing.assert_allclose(coarse.position, drive.position, atol=1e-12)  # whatever the tick


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_adds_to_the_one_before(mode: str) -> None:
    coordination = Coordination(mode)  # type: ignore[arg-type]
    body, neutral = UpperBody(REFERENCE, coordination), neutral_angles()
    rotation, shift = body.pelvis(0.5, -1.0, 1.0)  # right foot ahead, right foot carries
    q = body.joints(neutral, 0.5, -1.0, 1.0, np.array([1.0, -1.0]))
    changed = {joint.name for joint, a, b in zip(REFERENCE.joints, q, neutral, strict=True) if a != b}
    assert (mode == "legs") == np.array_equal(rotation, np.eye(3))
    assert ("lumbar_rotation" in changed) == (mode in ("trunk", "full"))
    assert ("left_elbow_flexion" in changed) == (mode == "full")
    if mode != "legs":
        right = rotation @ (1.0, 0.0, 0.0)
        assert right[1] > 0  # the right hip is ahead
        assert right[2] > 0  # and up
        assert shift > 0  # and the pelvis over the right foot
