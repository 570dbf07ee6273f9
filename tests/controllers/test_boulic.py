"""The curves of Boulic et al. against figures written out by hand, at and beside their breaks."""

from __future__ import annotations

import numpy as np
import pytest

from sandbox.bodies import Anatomy
from sandbox.controllers.boulic import FAST, FASTEST, MENDED, SLOW, Curves, curves, joint_angles, normalised_speed, pelvis_motion, timing

PHASE = np.linspace(0, 1, 501)


@pytest.mark.parametrize("rv", [SLOW, FAST])
@pytest.mark.parametrize("name", Curves._fields)
def test_every_curve_is_continuous_in_speed_at_the_breaks(name: str, rv: float) -> None:
    below, above = (getattr(curves(rv + off, PHASE), name) for off in (-1e-9, 1e-9))
    np.testing.assert_allclose(below, above, atol=1e-6)


@pytest.mark.parametrize("rv", [0.2, 0.8, 1.6, 2.9])
@pytest.mark.parametrize("name", Curves._fields)
def test_every_curve_is_periodic_and_continuous_in_phase(name: str, rv: float) -> None:
    fine = getattr(curves(rv, np.linspace(0, 2, 20001)), name)
    np.testing.assert_allclose(fine[:10001], fine[10000:], atol=1e-9)
    assert np.abs(np.diff(fine)).max() < 2e-3


def test_timing_at_a_brisk_walk() -> None:
    """1.346 sqrt(1.5) hip heights in 1.099 s, 62.2 % of it on one foot, 12.2 % in each double support."""
    cycle = timing(1.5)
    assert cycle.length == pytest.approx(1.6485, abs=1e-4)
    assert cycle.duration == pytest.approx(1.0990, abs=1e-4)
    assert cycle.release == pytest.approx(0.6219, abs=1e-4)
    assert cycle.double_support / cycle.duration == pytest.approx(0.1219, abs=1e-4)


@pytest.mark.parametrize(
    ("rv", "name", "phase", "degrees"),
    [
        (0.4, "hip", 0.9, 20.0), (0.4, "hip", 0.5, -12.0), (1.0, "hip", 0.9, 25.0), (3.0, "hip", 0.1, 30.0), (3.0, "hip", 0.9, 31.0),
        (0.4, "knee", 0.75, 56.0), (1.0, "knee", 0.75, 70.0), (3.0, "knee", 0.12, 25.0), (3.0, "knee", 0.70, 65.0),
        (3.0, "knee", 0.97, 6.0),
        (0.4, "ankle", 0.08, -15.0), (1.0, "ankle", 0.5, 8.0), (1.0, "ankle", timing(1.0).release, -20.0), (3.0, "ankle", 0.4, 5.0),
        (0.4, "elbow", 0.5, 16.6), (0.9, "elbow", 0.505, 32.0), (3.0, "elbow", 0.55, 70.0), (3.0, "elbow", 0.8, 11.0),
        (1.2, "thorax", 0.1, -1.6), (1.2, "thorax", 0.4, 1.8),
        (1.0, "shoulder", 0.0, 3 - 1.5 * 9.88), (1.0, "shoulder", 0.5, 3 + 0.5 * 9.88),
        (1.0, "torsion", 0.0, 4.0), (1.0, "obliquity", 0.15, -3.32), (1.0, "obliquity", 0.65, 3.32), (1.0, "obliquity", 0.5, 0.0),
        (0.3, "lean", 0.425, 2 * 8 * 0.21), (1.0, "lean", 0.175, 0.0),
    ],
)  # fmt: skip
def test_angles_at_their_control_points(rv: float, name: str, phase: float, degrees: float) -> None:
    assert np.degrees(getattr(curves(rv, np.array([phase])), name)[0]) == pytest.approx(degrees, abs=1e-6)


def test_translations() -> None:
    """At RV 1 the pelvis bounces by 3 % of hip height, twice a cycle, and sways by 3.2 % towards the leg that stands alone (at 35 %)."""
    c = curves(1.0, PHASE)
    assert np.ptp(c.vertical) == pytest.approx(0.03, abs=1e-5)
    assert c.lateral.max() == pytest.approx(0.032, abs=1e-6)
    assert PHASE[c.lateral.argmax()] == pytest.approx(0.35)
    assert np.ptp(c.forward) == pytest.approx(0.042, abs=1e-5)


def test_the_typo_of_the_public_copies_would_jump() -> None:
    """With (RV - .13) the elbow's third point at RV 1.3 would be 6 x 1.17 / 1.7 = 4.13 degrees low; other points move the curve more."""
    mended = np.degrees(curves(FAST, np.array([0.9])).elbow[0])
    assert mended == pytest.approx(17.0)
    assert "1.3" in MENDED["elbow"]


def test_left_and_right_are_half_a_cycle_apart_and_mirrored() -> None:
    q, later = joint_angles(1.1, 0.92, PHASE), joint_angles(1.1, 0.92, PHASE + 0.5)
    for name in ("hip_flexion", "knee_flexion", "ankle_dorsiflexion", "shoulder_flexion", "elbow_flexion"):
        np.testing.assert_allclose(q[f"left_{name}"], later[f"right_{name}"], atol=1e-12)
    for name in ("lumbar_rotation", "thorax_rotation", "lumbar_lateral"):
        np.testing.assert_allclose(q[name], -later[name], atol=1e-9)
    pelvis, mirrored = pelvis_motion(1.1, 0.92, PHASE), pelvis_motion(1.1, 0.92, PHASE + 0.5)
    np.testing.assert_allclose(pelvis.shift * (-1, 1, 1), mirrored.shift, atol=1e-12)


def test_angles_are_those_of_the_body_and_within_its_joints() -> None:
    body = Anatomy()
    for speed in (0.1, 0.5, 1.2, 2.0):
        for name, angle in joint_angles(speed, body.leg_length, PHASE).items():
            low, high = body.joints[body.joint_index[name]].outer
            assert low <= angle.min(), (speed, name)
            assert angle.max() <= high, (speed, name)


@pytest.mark.parametrize("speed", [0.0, -1.0, 3.01, float("nan"), float("inf")])
def test_speeds_without_curves_are_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="at most 3.00 m/s"):
        normalised_speed(speed, 1.0)
    with pytest.raises(ValueError, match="no speed"):
        joint_angles(speed, 1.0, PHASE)


@pytest.mark.parametrize("height", [0.0, -0.9, float("nan"), float("inf")])
def test_hip_heights_that_are_none_are_refused(height: float) -> None:
    with pytest.raises(ValueError, match="hip height"):
        normalised_speed(1.0, height)
    assert normalised_speed(FASTEST, 1.0) == FASTEST
