"""The pinned walk: feet that neither slide nor sink, legs that reach, and what it keeps of the published curves."""

from __future__ import annotations

import numpy as np
import pytest

from sandbox.bodies import Anatomy
from sandbox.measure import summary
from sandbox.measure.analysis import Analysis
from sandbox.plants.boulic import CLEARANCE, STRAIGHTEST, BoulicWalk, between, soften, walk
from sandbox.recording import Recording
from sandbox.scenes.scene import Options, build
from sandbox.simulation import check_stance, run
from sandbox.state import FEET, ContactState

SPEEDS = (0.1, 0.4, 0.8, 1.2, 1.6, 2.0)
PHASE = np.linspace(0, 1, 501)
PARTS = {ContactState.HEEL: "heel", ContactState.FLAT: "toe_base", ContactState.FOREFOOT: "toe_base", ContactState.TOE: "toe_tip"}


@pytest.fixture(scope="module", params=SPEEDS)
def made(request: pytest.FixtureRequest) -> tuple[BoulicWalk, Recording]:
    body = Anatomy()
    return BoulicWalk(request.param, body), walk(request.param, 6.0, body, 120)


def test_a_planted_foot_does_not_move(made: tuple[BoulicWalk, Recording]) -> None:
    _, recording = made
    for i, side in enumerate(FEET):
        mode = recording.contact_state[:, i]
        for part, point in PARTS.items():
            still = (mode[1:] == part) & (mode[:-1] == part)
            moved = np.abs(np.diff(recording.point(f"{side}_{point}"), axis=0))[still]
            assert moved.size or part == ContactState.HEEL, (side, part)  # slow feet land flat
            assert moved.max(initial=0.0) < 1e-9, (side, part)


def test_no_foot_sinks_in(made: tuple[BoulicWalk, Recording]) -> None:
    for side in FEET:
        for point in ("heel", "toe_base", "toe_tip"):
            assert made[1].point(f"{side}_{point}")[:, 2].min() > -1e-9


def test_legs_reach_their_feet_and_stay_as_bent_as_published(made: tuple[BoulicWalk, Recording]) -> None:
    cycle, _ = made
    body = cycle.anatomy
    _, _, q, miss = cycle.pose(PHASE)
    assert miss < 1e-9
    for side in FEET:
        assert q[:, body.joint_index[f"{side}_knee_flexion"]].min() > STRAIGHTEST - 1e-6


def test_the_foot_is_continuous_over_its_cycle(made: tuple[BoulicWalk, Recording]) -> None:
    cycle, _ = made
    fine = np.linspace(0, 1, 20001)
    foot = cycle.foot(fine)
    assert np.abs(np.diff(foot.up)).max() < 5e-4
    assert np.abs(np.diff(foot.ahead + cycle.stride * fine))[:-1].max() < 5e-4
    assert np.abs(np.diff(foot.pitch)).max() < 0.01
    swing = foot.mode == ContactState.AIRBORNE
    middle = swing & (fine > cycle.timing.release + 0.4 * (1 - cycle.timing.release)) & (fine < 0.85)
    assert cycle.clearance(foot)[middle].min() > 0.3 * CLEARANCE * cycle.hip_height


def test_phases_of_the_feet_are_the_published_ones() -> None:
    gait = summary(walk(1.2, 14.0, Anatomy(), 120))
    cycle = BoulicWalk(1.2, Anatomy()).timing
    assert gait["speed_mean_mps"] == pytest.approx(1.2, rel=0.01)
    assert gait["cadence_spm"] == pytest.approx(120 / cycle.duration, rel=0.005)
    assert gait["stance_fraction"] == pytest.approx(cycle.release, abs=0.01)
    assert gait["double_support_fraction"] == pytest.approx(2 * cycle.release - 1, abs=0.015)


def test_the_correction_is_small_beside_the_angles() -> None:
    """Root mean square at 1.2 m/s: hip 6.7, knee 12.8, ankle 11.7 degrees (of which the published flat foot's pitch is 12)."""
    found = np.degrees(list(BoulicWalk(1.2, Anatomy()).corrections().values()))
    np.testing.assert_allclose(found, (6.7, 12.8, 11.7), atol=0.5)


@pytest.mark.parametrize("height", [1.2, 1.5, 2.2])
def test_bodies_of_any_size_walk_alike_at_the_same_normalised_speed(height: float) -> None:
    small, reference = Anatomy(height=height), Anatomy()
    cycle, like = BoulicWalk(1.3 * small.leg_length, small), BoulicWalk(1.3 * reference.leg_length, reference)
    assert cycle.timing == pytest.approx(like.timing)
    np.testing.assert_allclose(cycle.pose(PHASE)[2], like.pose(PHASE)[2], atol=0.03)


def test_a_scene_runs_with_it_and_can_be_measured() -> None:
    recording = run("walk", plant="kinematic", stance="boulic", speed=1.0, seconds=12)
    assert recording.header["stance"] == "boulic"
    assert Analysis.of(recording, "contact").straight
    assert not recording.has("ground_force") or not recording.ground_force.any()


@pytest.mark.parametrize(
    ("scene", "plant", "options", "told"),
    [
        ("walk", "bullet", {}, "--plant kinematic"),
        ("start-stop", "kinematic", {}, "no stop"),
        ("stand", "kinematic", {}, "above 0"),
        ("turn", "kinematic", {}, "no turns"),
        ("slope", "kinematic", {}, "no slopes"),
        ("walk", "kinematic", {"speed": 0.0}, "above 0"),
    ],
)
def test_what_it_cannot_walk_is_refused(scene: str, plant: str, options: dict[str, float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        check_stance("boulic", plant, build(scene, Options(**options)))


def test_too_fast_for_a_small_body_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 1.88"):
        check_stance("boulic", "kinematic", build("walk", Options(speed=2.0)), Anatomy(mass=30, height=1.2))


def test_soft_corners() -> None:
    x = np.linspace(-1, 2, 3001)
    y = soften(x, 0.5)
    assert (y[x <= 0] == 0).all()
    assert np.allclose(y[x > 0.5], x[x > 0.5])
    assert np.abs(np.diff(y, 2)).max() < 2e-5
    np.testing.assert_allclose(between(np.array([0.0, 1.0]), 0.3, (1.0, 2.0), (3.0, -1.0)), (1.0, 3.0))
