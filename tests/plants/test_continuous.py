"""The walker of the study: one state from standing over speeds to standing again."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from sandbox.bodies.reference import REFERENCE
from sandbox.controllers.velocity import HUMAN
from sandbox.measure import flow, pops
from sandbox.plants.continuous import CLOSED, DT, FLAT_PLAN, ContinuousWalker, FootGeometry, Plan, Root, Snapshot, film, roll_at, rolls
from sandbox.recording import Recording
from sandbox.state import FEET, ContactState

WALK = 6.5  # [s] from the command to start to the one to stop


@cache
def start_stop(speed: float) -> tuple[ContinuousWalker, tuple[Snapshot, ...], Recording]:
    walker = ContinuousWalker()
    walk = tuple(walker.tick(speed if 0.5 <= tick * DT < 0.5 + WALK else 0.0) for tick in range(round(13 / DT)))
    return walker, walk, film(walker, walk, "start and stop")


@pytest.mark.parametrize("speed", [0.4, 0.8, 1.2, 1.4])
def test_it_starts_walks_and_stops_without_a_snap(speed: float) -> None:
    walker, walk, recording = start_stop(speed)
    assert pops(recording, 2.0) == []
    assert max(s.miss for s in walk) <= 1e-9
    reached = max(s.root[1] for s in walk)
    assert reached == pytest.approx(speed, rel=1e-3)
    # the closing step: at rest, both feet flat, at most a fifth of a step apart, the root over them
    end = walk[-1]
    assert not walker.walking
    assert abs(end.root[1]) < 1e-6
    assert abs(end.ankle[0, 0] - end.ankle[1, 0]) <= CLOSED * HUMAN.gait(speed).step_length
    assert end.root[0] == pytest.approx(end.ankle[:, 0].mean(), abs=1e-6)
    assert end.mode == (ContactState.FLAT, ContactState.FLAT)
    assert np.abs(end.pitch).max() < 1e-6
    for name in ("left_elbow_flexion", "right_elbow_flexion"):  # nor do the elbows snap
        assert np.abs(np.diff(recording.joint(name), 2)).max() < math.radians(0.5)
    hips = recording.point("right_hip") - recording.point("left_hip")
    yaw = np.unwrap(np.arctan2(hips[:, 1], hips[:, 0]))
    assert np.abs(np.diff(yaw, 2)).max() < math.radians(0.1)


@pytest.mark.parametrize(("first", "then"), [(0.6, 1.2), (1.2, 0.6), (0.4, 1.4)])
def test_it_changes_speed_without_a_snap(first: float, then: float) -> None:
    walker = ContinuousWalker()
    walk = [walker.tick(first if tick * DT < 6 else then) for tick in range(round(12 / DT))]
    recording = film(walker, walk, "change")
    assert pops(recording, 2.0) == []
    assert walk[-1].root[1] == pytest.approx(then, rel=1e-3)
    assert max(s.miss for s in walk) <= 1e-9


@pytest.mark.parametrize("speed", [0.4, 1.0, 1.6, 2.0])
def test_cadence_grows_with_the_square_root_of_speed(speed: float) -> None:
    walker = ContinuousWalker()
    walk = [walker.tick(speed) for _ in range(round(12 / DT))]
    recording = film(walker, walk, "walk")
    downs = recording.event_time[recording.event_touchdown]
    cadence = 60 / np.mean(np.diff(downs[-9:]))
    assert cadence == pytest.approx(HUMAN.gait(1.0).cadence * math.sqrt(speed), rel=0.005)
    feet = np.sort(recording.foothold_position[-8:, 1])
    assert np.diff(feet).mean() * cadence / 60 == pytest.approx(speed, rel=0.01)
    # people's own mean curves at 1.24 m/s have 2.3 degrees per frame squared (foot) and 1.8 (shank)
    assert flow(recording)["pop_max_deg"] < (2.0 if speed <= 1.0 else 2.2 if speed <= 1.6 else 2.5)


@pytest.mark.parametrize(("speed", "most"), [(1.8, 2.3), (2.0, 2.5)])
def test_it_stops_from_a_fast_walk_without_braking_hard(speed: float, most: float) -> None:
    """A stop from long steps is hardly harder than the walk itself, 1.9 and 2.4 degrees/frame^2: it takes its time."""
    walker = ContinuousWalker()
    stop = 9.0 + 0.35 * HUMAN.gait(speed).duration
    walk = [walker.tick(speed if tick * DT < stop else 0.0) for tick in range(round((stop + 9) / DT))]
    recording = film(walker, walk, "stop")
    assert not walker.walking
    assert pops(recording, most) == []
    assert max(s.miss for s in walk) <= 1e-9
    assert min(s.follow for s in walk) > 0.99, "the ankle keeps its range, and the pelvis follows the root"


def test_pivots_stay_and_soles_stay_above_the_ground() -> None:
    _, _, recording = start_stop(1.2)
    names = {ContactState.HEEL: "heel", ContactState.FLAT: "toe_base", ContactState.FOREFOOT: "toe_base", ContactState.TOE: "toe_tip"}
    for foot, side in enumerate(FEET):
        for name in ("heel", "toe_base", "toe_tip"):
            assert recording.point(f"{side}_{name}")[:, 2].min() > -0.001
        state = recording.contact_state[:, foot]
        for row in range(1, len(state)):
            if state[row] == state[row - 1] != ContactState.AIRBORNE:
                path = recording.point(f"{side}_{names[ContactState(int(state[row]))]}")
                assert np.linalg.norm(path[row] - path[row - 1]) < 1e-9


def test_the_root_follows_its_command_by_the_closed_form() -> None:
    root, stepped = Root(), Root()
    root.follow(1.2)
    stepped.follow(1.2)
    ahead = root.predicted(0.5)
    for _ in range(60):
        stepped.follow(1.2)
    assert (stepped.position, stepped.velocity, stepped.acceleration) == pytest.approx(ahead, abs=1e-12)


def test_the_roll_is_interpolated_and_held_at_the_ends() -> None:
    table = rolls()
    assert roll_at(table[2].speed) == pytest.approx(table[2])
    assert roll_at(0.1) == table[0]
    assert roll_at(9.0) == table[-1]
    middle = roll_at(0.5 * (table[0].speed + table[1].speed))
    assert middle.rise == pytest.approx(0.5 * (table[0].rise + table[1].rise))


def test_a_foot_rolls_without_a_gap_between_its_pivots() -> None:
    g = FootGeometry.of(REFERENCE)
    for pitch in (0.0, 0.2, -0.3):
        heel, ball = g.ankle_from(-g.heel, pitch), g.ankle_from(g.ball, pitch)
        apart = (g.heel + g.ball) * np.array([math.cos(pitch), math.sin(pitch)])
        np.testing.assert_allclose(np.subtract(heel, ball), apart, atol=1e-12)
    forward, up = g.tip_from_ankle(0.0, 0.0)
    assert (forward, up) == pytest.approx((g.toe, -g.height))
    assert g.lying_toes(0.0) == pytest.approx(0.0)
    for pitch in (-0.3, -0.8):  # toes that lie touch the ground with their tips
        _, ball_up = g.ankle_from(g.ball, pitch)
        assert ball_up + g.tip_from_ankle(pitch, g.lying_toes(pitch))[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Plan("falt"), "did you mean 'flat'"),  # type: ignore[arg-type]
        (lambda: Plan(follow=-1.0), "follow -1 is outside 0..1"),
        (lambda: Plan(guardrail=math.nan), "guardrail nan"),
        (lambda: Plan(root="rigid"), "unknown stance model 'rigid'"),  # type: ignore[arg-type]
        (lambda: Plan("flat", root="virtual-leg"), "needs feet that roll"),
        (lambda: Plan(authority=2.0), "authority 2 is outside"),
        (lambda: ContinuousWalker().tick(math.nan), "speed nan m/s cannot be walked"),
        (lambda: ContinuousWalker().tick(-0.5), "speed -0.5 m/s cannot be walked"),
        (lambda: ContinuousWalker().disturb(0, 0.4), "outside -0.25..0.25"),
    ],
)
def test_bad_input_is_one_clear_line(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        make()  # type: ignore[operator]
    assert "\n" not in str(raised.value)


def test_speeds_beyond_the_range_are_clamped() -> None:
    walker = ContinuousWalker(FLAT_PLAN)
    walker.tick(5.0)
    assert walker.command == 0.8
