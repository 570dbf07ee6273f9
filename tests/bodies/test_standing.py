"""The static standing solver: what it reaches, what it clamps, and that nothing stretches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.bodies import Anatomy
from sandbox.bodies.anatomy import SIDES
from sandbox.bodies.reference import Region
from sandbox.bodies.standing import StandingSolver, Target

SOLVERS = {
    "reference": StandingSolver(),
    "small": StandingSolver(Anatomy(50, 1.55, "female")),
    "tall": StandingSolver(Anatomy(95, 1.95, "male")),
}
REFERENCE = SOLVERS["reference"]

solvers = st.sampled_from(sorted(SOLVERS))
tilts = st.floats(0, math.radians(75))  # of a hip-ankle line from straight down: the pelvis stays above the ankle
turns = st.floats(-math.pi, math.pi)
bends = st.floats(-0.6, 0.6)
shares = st.floats(0.0, 1.0)


def direction(tilt: float, turn: float) -> np.ndarray:
    return np.array([math.sin(tilt) * math.cos(turn), math.sin(tilt) * math.sin(turn), -math.cos(tilt)])


def hips(solver: StandingSolver, pelvis: np.ndarray) -> np.ndarray:
    return pelvis + np.array([solver.anatomy.points[f"{side}_hip"][1] for side in SIDES])


def forward_kinematics(solver: StandingSolver, pose) -> np.ndarray:
    """Ankles (2, 3) [m] that the joint angles give."""
    return np.array([solver.point(pose, f"{side}_ankle") for side in SIDES])


def lengths(solver: StandingSolver, pose) -> list[float]:
    out = []
    for side in SIDES:
        hip, knee, ankle = (solver.point(pose, f"{side}_{name}") for name in ("hip", "knee", "ankle"))
        out += [float(np.linalg.norm(hip - knee)) - solver.upper, float(np.linalg.norm(knee - ankle)) - solver.lower]
    return out


@settings(deadline=None)
@given(
    name=solvers,
    tilt=st.tuples(tilts, tilts),
    turn=st.tuples(turns, turns),
    share=st.tuples(shares, shares),
    bend=bends,
    height=st.floats(0.5, 2.0),
)
def test_reachable_targets_come_back(name, tilt, turn, share, bend, height):
    """FK(IK(x)) = x to 1e-9 m for every target a centimetre away from full extension and from full flexion."""
    solver = SOLVERS[name]
    pelvis = np.array([0.3, -0.2, height])
    reach = solver.shortest + 0.01 + np.array(share)[:, None] * (solver.longest - solver.shortest - 0.02)
    ankles = hips(solver, pelvis) + reach * np.array([direction(*pair) for pair in zip(tilt, turn, strict=True)])
    pose = solver.solve(Target(pelvis, ankles, bend))
    np.testing.assert_allclose(forward_kinematics(solver, pose), ankles, rtol=0, atol=1e-9)
    assert pose.lowered == 0
    assert np.abs(lengths(solver, pose)).max() <= 1e-12
    assert min(solver.knee_ahead(pose, leg) for leg in (0, 1)) > 0


@settings(deadline=None)
@given(name=solvers, turn=st.tuples(turns, turns), share=st.tuples(st.floats(1.05, 4), st.floats(1.05, 4)), drop=st.floats(-0.5, 0.5))
def test_unreachable_targets_land_at_the_nearest_legal_point(name, turn, share, drop):
    """Beyond the horizontal reach of both legs no height helps: each ankle is where its own leg comes nearest."""
    solver = SOLVERS[name]
    pelvis = solver.neutral_pelvis
    away = np.array([[math.cos(t), math.sin(t), 0.0] for t in turn]) * solver.longest * np.array(share)[:, None]
    ankles = hips(solver, pelvis) + away + np.array([0.0, 0.0, drop])
    # A target straight along the bend direction leaves the plane of the knee open, and is refused.
    if min(abs(math.cos(t)) for t in turn) < 1e-3 and abs(drop) < 1e-3:
        return
    pose = solver.solve(Target(pelvis, ankles))
    assert pose.interval is None
    got = forward_kinematics(solver, pose)
    np.testing.assert_allclose(got, pose.ankles, rtol=0, atol=1e-9)
    assert np.abs(lengths(solver, pose)).max() <= 1e-12
    for leg in (0, 1):
        # No point of the legal shell is nearer: tried in all directions about the solved one.
        hip, wish = hips(solver, pose.pelvis)[leg], ankles[leg]
        found = np.linalg.norm(wish - got[leg])
        around = got[leg] - hip + np.random.default_rng(0).normal(scale=0.05, size=(200, 3))
        shell = hip + solver.longest * around / np.linalg.norm(around, axis=1, keepdims=True)
        assert found <= np.linalg.norm(shell - wish, axis=1).min() + 1e-9


@settings(deadline=None)
@given(x=st.floats(-0.3, 0.3), y=st.floats(-0.3, 0.3), height=st.floats(-0.5, 0.5))
def test_only_height_is_clamped_and_to_what_both_legs_reach(x, y, height):
    solver = REFERENCE
    wish = solver.neutral_pelvis + np.array([0.0, 0.0, height])
    ankles = solver.neutral_ankles + np.array([[x, y, 0.0], [0.0, 0.0, 0.0]])
    pose = solver.solve(Target(wish, ankles))
    assert pose.interval is not None
    np.testing.assert_array_equal(pose.pelvis[:2], wish[:2])
    assert pose.interval.low <= pose.pelvis[2] <= pose.interval.high
    if pose.interval.low <= wish[2] <= pose.interval.high:
        assert pose.lowered == 0
    np.testing.assert_allclose(forward_kinematics(solver, pose), ankles, rtol=0, atol=1e-9)


def test_the_interval_is_the_formula_of_the_study():
    """pelvis_max_z = ankle_z + sqrt(d_max^2 - horizontal^2), and down to the guardrail of knee flexion."""
    solver = REFERENCE
    ankles = solver.neutral_ankles + np.array([[0.0, 0.3, 0.1], [0.0, 0.0, 0.0]])
    interval = solver.interval(Target(solver.neutral_pelvis, ankles), 0)
    assert interval is not None
    assert interval.high == pytest.approx(ankles[0, 2] + math.sqrt((solver.upper + solver.lower) ** 2 - 0.3**2), abs=1e-8)
    down = solver.solve(Target(np.array([0.0, 0.0, -1.0]), solver.neutral_ankles))
    assert math.degrees(solver.angle(down, "left_knee_flexion")) == pytest.approx(138.0, abs=1e-6)


def test_two_legs_that_want_two_heights_get_the_middle():
    solver = REFERENCE
    ankles = solver.neutral_ankles + np.array([[0.0, 0.0, 1.2], [0.0, 0.0, 0.0]])
    target = Target(solver.neutral_pelvis, ankles)
    left, right = solver.interval(target, 0), solver.interval(target, 1)
    assert left is not None
    assert right is not None
    assert solver.shared_interval(target) is None
    pose = solver.solve(target)
    assert pose.pelvis[2] == pytest.approx((left.low + right.high) / 2)
    assert np.abs(lengths(solver, pose)).max() <= 1e-12


def test_a_foot_keeps_the_attitude_that_is_asked_for():
    """Flat where nothing else is said, whatever pelvis and leg do."""
    solver = REFERENCE
    turned = np.array([[math.cos(0.1), -math.sin(0.1), 0], [math.sin(0.1), math.cos(0.1), 0], [0, 0, 1.0]])
    pose = solver.solve(
        Target(solver.neutral_pelvis, solver.neutral_ankles + np.array([[-0.1, 0.2, 0.05], [0.1, -0.1, 0]]), pelvis_rotation=turned)
    )
    for side in SIDES:
        ankle, heel, tip = (solver.point(pose, f"{side}_{name}") for name in ("ankle", "heel", "toe_tip"))
        assert heel[2] == pytest.approx(tip[2], abs=1e-12)
        assert ankle[2] - heel[2] == pytest.approx(solver.anatomy.ankle_height, abs=1e-12)


@pytest.mark.parametrize("bend", [-0.5, 0.3])
def test_toes_point_where_the_knee_bends_and_the_sole_stays_flat(bend: float):
    pose = REFERENCE.solve(Target(REFERENCE.neutral_pelvis - np.array([0, 0, 0.02]), REFERENCE.neutral_ankles, bend))
    for side in SIDES:
        heel, toe = (REFERENCE.point(pose, f"{side}_{name}") for name in ("heel", "toe_base"))
        assert math.atan2(heel[0] - toe[0], toe[1] - heel[1]) == pytest.approx(bend, abs=1e-9)
        assert heel[2] == pytest.approx(toe[2], abs=1e-12)


def test_regions_tell_comfortable_from_outer_from_outside():
    solver = REFERENCE
    at = {drop: solver.solve(Target(solver.neutral_pelvis - np.array([0, 0, drop]), solver.neutral_ankles)) for drop in (0.0, 0.03, 0.10)}
    region = {drop: solver.regions(pose)["left_ankle_dorsiflexion"] for drop, pose in at.items()}
    assert region == {0.0: Region.COMFORTABLE, 0.03: Region.OUTER, 0.10: Region.OUTSIDE}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (lambda s: Target(np.array([0.0, math.nan, 1.0]), s.neutral_ankles), "target pelvis .* is not finite"),
        (lambda s: Target(s.neutral_pelvis, s.neutral_ankles + np.inf), "target ankles .* is not finite"),
        (lambda s: Target(s.neutral_pelvis, s.neutral_ankles, bend=math.nan), "target bend nan is not finite"),
        (lambda s: Target(s.neutral_pelvis, hips(s, s.neutral_pelvis) + np.array([0, 2.0, 0])), "along the bend direction"),
    ],
)
def test_targets_that_are_no_targets_are_refused(target, said):
    with pytest.raises(ValueError, match=said):
        REFERENCE.solve(target(REFERENCE))
