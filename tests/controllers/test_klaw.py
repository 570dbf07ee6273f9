"""KLAW's reconstruction without a body: parameters, timing, states, stance and swing."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sandbox.bodies import Anatomy
from sandbox.bodies.inertia import Array
from sandbox.controllers.klaw.machine import Event, LegMachine, LegState, expected, schedule
from sandbox.controllers.klaw.parameters import Attributes, locomotion, timing
from sandbox.controllers.klaw.stance import (
    PERIODIC,
    SAMPLES,
    WEIGHTS,
    Linkage,
    Orbit,
    accelerations,
    fallback_orbit,
    integrate,
    orbit,
    pendulum,
    shoot,
    solve_step,
)
from sandbox.controllers.klaw.swing import (
    CLEARANCE,
    Hip,
    Pendulum,
    Posture,
    Swing,
    ankle_of,
    bends_of,
    joint_motion,
    quartic,
    swing,
    swing_freely,
    torques,
    two_link,
)
from sandbox.conventions import GRAVITY

HEIGHT = 1.74
BODY = Anatomy(70, HEIGHT)
SPEEDS = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8)


@pytest.fixture(scope="module")
def linkage() -> Linkage:
    return Linkage.of(BODY)


@pytest.fixture(scope="module")
def orbits(linkage: Linkage) -> dict[float, Orbit]:
    return {v: orbit(locomotion(HEIGHT, speed=v), linkage, 0.97 * linkage.leg) for v in SPEEDS}


# -- parameters and timing ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"speed": 1.2},
        {"step_length": 0.65},
        {"frequency": 104.0},
        {"speed": 1.2, "step_length": 0.6},
        {"speed": 1.2, "frequency": 120.0},
        {"step_length": 0.7, "frequency": 100.0},
        {"speed": 1.2, "step_length": 0.72, "frequency": 100.0},
    ],
)
def test_any_one_or_two_parameters_give_the_third(given: dict[str, float]) -> None:
    step = locomotion(HEIGHT, **given)
    assert step.speed == pytest.approx(step.step_length * step.frequency / 60)
    for name, value in given.items():
        assert getattr(step, name) == pytest.approx(value)
    if len(given) == 1:
        assert step.step_length == pytest.approx(0.004 * step.frequency * HEIGHT)
        assert step.lawful == pytest.approx(1)
    assert step.duration * step.frequency == pytest.approx(60)


def test_a_step_too_long_for_the_body_is_shortened_and_the_frequency_raised() -> None:
    free, held = locomotion(HEIGHT, speed=1.6), locomotion(HEIGHT, speed=1.6, longest=0.6)
    assert free.step_length > 0.6 == held.step_length
    assert held.speed == pytest.approx(1.6)
    assert held.frequency > free.frequency


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give one or two"),
        ({"speed": -1.0}, "speed -1 makes no step"),
        ({"speed": float("nan")}, "makes no step"),
        ({"speed": 1.2, "step_length": 0.6, "frequency": 100.0}, "leave one of them out"),
        ({"frequency": 190.0}, "190 steps/min is above 182"),
        ({"speed": 2.5, "step_length": 0.5}, "300 steps/min is above 182"),
        ({"step_length": 1.3}, "steps/min is above 182|longer than"),
        ({"step_length": 1.3, "frequency": 60.0}, "1.3 m is longer than the 1.27 m"),
        ({"frequency": 1.0}, "below 5"),
    ],
)
def test_parameters_that_make_no_step(given: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        locomotion(HEIGHT, **given)


def test_attributes_are_factors_from_0_to_2() -> None:
    assert Attributes(arm_swing=0).arm_swing == 0
    with pytest.raises(ValueError, match="bounciness 3 is outside 0..2"):
        Attributes(bounciness=3)


def test_double_support_ends_at_the_highest_step_frequency() -> None:
    assert timing(locomotion(HEIGHT, frequency=181.75)).double == pytest.approx(0, abs=1e-9)
    assert timing(locomotion(HEIGHT, frequency=182)).double == 0
    assert timing(locomotion(HEIGHT, frequency=181)).double > 0


@pytest.mark.parametrize("speed", SPEEDS)
def test_timing_agrees_with_boulic(speed: float) -> None:
    """An independent law of people's steps: cycle time within 3 %, stance within 1.5 points."""
    time = timing(locomotion(1.738, speed=speed))
    relative = speed / (0.53 * 1.738)
    cycle = 1.346 / math.sqrt(relative)
    assert time.cycle == pytest.approx(cycle, rel=0.03)
    assert 100 * time.stance_fraction == pytest.approx(100 * (0.752 * cycle - 0.143) / cycle, abs=1.5)
    assert time.stance + time.swing == pytest.approx(time.cycle)


# -- states ------------------------------------------------------------------------------------------------------------------


def test_a_leg_goes_through_its_states_on_schedule() -> None:
    leg = LegMachine(LegState.SWING_3)
    events = schedule(timing(locomotion(HEIGHT, speed=1.2)), heel_strike=2.0)
    assert [appointment.time for appointment in events] == sorted(appointment.time for appointment in events)
    seen = []
    for time, event in events:
        assert expected(leg.state) == event
        seen.append(leg.on(event, time))
    assert seen == [*LegState, LegState.HEEL]
    assert leg.stands
    assert leg.since == events[-1].time


def test_an_event_out_of_order_is_refused_with_the_one_that_comes_next() -> None:
    leg = LegMachine(LegState.FLAT)
    with pytest.raises(ValueError, match="a leg in FLAT knows no HEEL_STRIKE: HEEL_OFF comes next"):
        leg.on(Event.HEEL_STRIKE, 0.0)
    assert leg.state == LegState.FLAT
    assert leg.on(Event.TOE_OFF, 1.0) == LegState.SWING_1  # a foot that slips away


# -- stance ------------------------------------------------------------------------------------------------------------------


def lagrangian(q: Array, v: Array, b: Linkage) -> float:
    """Kinetic less potential energy of the linkage, from positions alone."""
    w, a, trunk = q
    along, across = np.array([math.sin(a), math.cos(a)]), np.array([math.cos(a), -math.sin(a)])
    up, over = np.array([math.sin(trunk), math.cos(trunk)]), np.array([math.cos(trunk), -math.sin(trunk)])
    leg = b.leg_centre * (v[0] * along + w * v[1] * across)
    rest = v[0] * along + w * v[1] * across + b.centre * v[2] * over
    height = b.leg_mass * b.leg_centre * w * along[1] + b.mass * (w * along[1] + b.centre * up[1])
    kinetic = b.leg_mass * leg @ leg + b.leg_inertia * v[1] ** 2 + b.mass * rest @ rest + b.inertia * v[2] ** 2
    return float(0.5 * kinetic - GRAVITY * height)


def test_the_linkage_keeps_lagranges_equations(linkage: Linkage) -> None:
    rng = np.random.default_rng(1)
    h = 1e-4
    for _ in range(5):
        q, v = np.array([0.9, 0.2, 0.05]) + rng.normal(scale=0.1, size=3), rng.normal(size=3)
        force, ankle, hip = rng.normal(scale=100, size=3)
        bend = np.array(accelerations(q, v, force, ankle, hip, linkage))

        def momentum(t: float, q: Array = q, v: Array = v, bend: Array = bend) -> Array:
            at, rate = q + t * v + 0.5 * t * t * bend, v + t * bend
            return np.array([(lagrangian(at, rate + e, linkage) - lagrangian(at, rate - e, linkage)) / (2 * h) for e in h * np.eye(3)])

        gradient = np.array([(lagrangian(q + e, v, linkage) - lagrangian(q - e, v, linkage)) / (2 * h) for e in h * np.eye(3)])
        applied = (momentum(h) - momentum(-h)) / (2 * h) - gradient
        np.testing.assert_allclose(applied, [force, ankle - hip, hip], rtol=1e-5, atol=1e-3)


def test_ground_forces_are_what_moves_the_linkage(orbits: dict[float, Orbit], linkage: Linkage) -> None:
    """The impulse of both legs and gravity is the change of momentum over a step; the hip keeps its velocity at touchdown."""
    found = orbits[1.2]
    path, b, law = found.solved.path, linkage, found.solved.law
    assert law is not None
    fine = np.asarray(integrate(path[0, :6], law, b, 8 * SAMPLES))
    np.testing.assert_allclose(fine[0, :6], path[0, :6], atol=1e-12)
    trunk = np.column_stack((np.cos(fine[:, 4]), -np.sin(fine[:, 4]))) * fine[:, 5:6]
    hip = fine[:, 2:4]
    frame = hip - (law.pivot, 0)
    leg = b.leg_centre * frame
    momentum = b.leg_mass * leg + b.mass * (frame + b.centre * trunk)
    impulse = np.trapezoid(fine[:, 9:11] + fine[:, 11:13] - (0, b.total * GRAVITY), dx=law.duration / (8 * SAMPLES), axis=0)
    np.testing.assert_allclose(impulse, momentum[-1] - momentum[0], atol=0.02)


@pytest.mark.parametrize("speed", SPEEDS)
def test_steps_are_periodic_from_slow_to_fast(speed: float, orbits: dict[float, Orbit], linkage: Linkage) -> None:
    found = orbits[speed]
    path = found.solved.path
    off = (path[-1, :6] - path[0, :6] - np.array([found.step.step_length, 0, 0, 0, 0, 0])) * WEIGHTS
    assert np.abs(off).max() == pytest.approx(found.solved.residual)
    assert found.periodic
    assert found.solved.residual < PERIODIC == 1e-3
    assert found.solved.least_force >= -1e-3 * linkage.total * GRAVITY
    assert found.solved.force[:, 1].max() < 2 * linkage.total * GRAVITY
    assert found.solved.bounce <= 0.075
    weight = found.solved.force[:-1, 1].mean() / (linkage.total * GRAVITY)
    assert weight == pytest.approx(1, abs=0.005)


def test_bounciness_changes_the_bounce(linkage: Linkage) -> None:
    step = locomotion(HEIGHT, speed=1.2)
    little, much = (orbit(step, linkage, 0.97 * linkage.leg, factor) for factor in (0.5, 1.3))
    assert little.periodic
    assert much.periodic
    assert little.solved.bounce < 0.8 * much.solved.bounce


def test_a_step_inherits_the_state_of_the_one_before(orbits: dict[float, Orbit], linkage: Linkage) -> None:
    for slow, fast in pairwise(SPEEDS):
        before, goal = orbits[slow].solved, orbits[fast]
        step = solve_step(before.start, before.law, goal.step.step_length, goal, linkage)
        assert step.model == "telescoping"
        assert step.residual < PERIODIC
        np.testing.assert_allclose(step.start, before.start, atol=1e-12)
        end = step.path[-1, :6] - np.array([goal.step.step_length, 0, 0, 0, 0, 0])
        assert np.abs((end - goal.solved.start) * WEIGHTS).max() == pytest.approx(step.residual)


def test_a_step_that_cannot_be_solved_falls_back_by_name(orbits: dict[float, Orbit], linkage: Linkage) -> None:
    before, goal = orbits[0.4].solved, orbits[1.8]
    step = solve_step(before.start, before.law, goal.step.step_length, goal, linkage)
    assert step.model == "inverted-pendulum"
    assert step.residual > PERIODIC
    assert step.law is None
    np.testing.assert_allclose(step.start, before.start, atol=1e-9)
    np.testing.assert_allclose(step.path[-1, :6] - np.array([goal.step.step_length, 0, 0, 0, 0, 0]), goal.solved.start, atol=1e-9)


def test_a_gait_that_is_not_solved_walks_by_the_pendulum(orbits: dict[float, Orbit], linkage: Linkage) -> None:
    failed = replace(orbits[1.0], solved=replace(orbits[1.0].solved, residual=0.5))
    assert not failed.periodic
    gait = fallback_orbit(failed, linkage, 0.88)
    assert (gait.solved.model, gait.solved.residual) == ("inverted-pendulum", 0.5)
    step = solve_step(orbits[0.8].solved.start, None, gait.step.step_length, gait, linkage)
    assert (step.model, step.residual) == ("inverted-pendulum", 0.5)


def test_the_pendulum_is_one(linkage: Linkage) -> None:
    """Its pressure, place less acceleration over omega squared, travels at an even speed."""
    start, end = np.array([-0.3, 0.9, 0.8, 0.1, 0.0, 0.2]), np.array([0.3, 0.88, 1.1, -0.1, 0.1, 0.0])
    path = pendulum(start, end, 0.6, 0.15, linkage)
    np.testing.assert_allclose(path[0, :6], start, atol=1e-12)
    np.testing.assert_allclose(path[-1, :6], end, atol=1e-12)
    pressure = path[:, 0] - path[:, 6] * 0.5 * (start[1] + end[1]) / GRAVITY
    assert np.ptp(np.diff(pressure)) < 1e-9
    time = np.linspace(0, 0.6, SAMPLES + 1)
    for value, rate in ((0, 2), (1, 3), (4, 5)):
        np.testing.assert_allclose(np.gradient(path[:, value], time, edge_order=2), path[:, rate], atol=2e-3)


def test_two_given_parameters_are_solved_too(linkage: Linkage) -> None:
    step = locomotion(HEIGHT, speed=1.0, frequency=105)
    assert step.lawful < 0.9
    assert orbit(step, linkage, 0.96 * linkage.leg).periodic


def test_the_homotopy_reports_what_it_cannot_solve(linkage: Linkage, monkeypatch: pytest.MonkeyPatch) -> None:
    step = locomotion(HEIGHT, speed=1.3)

    def never(*arguments: object) -> Orbit:
        found = shoot(*arguments)  # type: ignore[arg-type]
        return found if found.step.speed < 1.1 else replace(found, solved=replace(found.solved, residual=0.3))

    monkeypatch.setattr("sandbox.controllers.klaw.stance.shoot", never)
    orbit.cache_clear()
    found = orbit(step, linkage, 0.97 * linkage.leg)
    orbit.cache_clear()
    assert not found.periodic
    assert found.solved.residual == 0.3
    assert found.step == step


# -- swing -------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def leg() -> Pendulum:
    return Pendulum.of(BODY)


def test_the_path_of_swing_1_has_its_five_conditions() -> None:
    rng = np.random.default_rng(2)
    p0, v0, a0, p1, v1 = rng.normal(size=(5, 2))
    place, velocity, bend = quartic(p0, v0, a0, p1, v1, 0.15, np.linspace(0, 1, 200))
    for value, wanted in ((place[0], p0), (velocity[0], v0), (bend[0], a0), (place[-1], p1), (velocity[-1], v1)):
        np.testing.assert_allclose(value, wanted, atol=1e-9)
    time = 0.15 * np.linspace(0, 1, 200)
    np.testing.assert_allclose(np.gradient(place, time, axis=0)[5:-5], velocity[5:-5], atol=0.02)


def test_torques_and_motion_are_inverse(leg: Pendulum) -> None:
    rng = np.random.default_rng(3)
    angles, rates, (hip, knee), (y, z) = rng.normal(size=(4, 2))
    bends = np.array(bends_of(angles, rates, hip, knee, y, z, leg))
    np.testing.assert_allclose(torques(angles, rates, bends, y, z, leg), (hip, knee), atol=1e-9)


def test_a_free_leg_keeps_its_energy(leg: Pendulum) -> None:
    rows = np.asarray(swing_freely(np.array([0.6, -0.4, 0.5, -1.0]), np.zeros(2), np.zeros(2), np.zeros(2), np.zeros((801, 2)), 0.4, leg))

    def energy(row: Array) -> float:
        A, B, a, b = row[:4]
        thigh = leg.thigh_centre * a * np.array([math.cos(A), math.sin(A)])
        shank = leg.thigh * a * np.array([math.cos(A), math.sin(A)]) + leg.shank_centre * b * np.array([math.cos(B), math.sin(B)])
        height = -leg.thigh_mass * leg.thigh_centre * math.cos(A)
        height -= leg.shank_mass * (leg.thigh * math.cos(A) + leg.shank_centre * math.cos(B))
        kinetic = leg.thigh_mass * thigh @ thigh + leg.shank_mass * shank @ shank + leg.thigh_inertia * a**2 + leg.shank_inertia * b**2
        return float(0.5 * kinetic + GRAVITY * height)

    assert np.ptp([energy(row) for row in rows]) < 1e-6
    assert np.ptp(rows[:, 0]) > 0.3


def test_inverse_kinematics_of_the_leg(leg: Pendulum) -> None:
    angles, rates = np.array([0.4, -0.5]), np.array([1.0, -2.0])
    offset = ankle_of(angles, leg)
    found, miss = two_link(offset, leg)
    np.testing.assert_allclose(found, angles, atol=1e-9)
    assert miss == 0
    h = 1e-6
    velocity = (ankle_of(angles + h * rates, leg) - ankle_of(angles - h * rates, leg)) / (2 * h)
    np.testing.assert_allclose(joint_motion(offset, velocity, np.zeros(2), leg)[1], rates, atol=1e-6)
    assert two_link(2 * offset, leg)[1] > 0.5


def swing_of(leg: Pendulum, sole: float = 0.06) -> tuple[Hip, Array, Swing]:
    """A swing under a hip that moves evenly, with a flat foot ``sole`` [m] below the ankle."""
    time = np.linspace(0, 0.42, 100)
    hip = Hip(time, np.column_stack((1.2 * time, np.full(100, 0.86))), np.tile((1.2, 0.0), (100, 1)), np.zeros((100, 2)))
    start = ankle_of(np.array([-0.15, -0.85]), leg) + hip.place[0]
    end = ankle_of(np.array([0.42, 0.32]), leg) + hip.place[-1]
    found = swing(hip, (start, np.array([1.4, 0.6]), np.zeros(2)), end, Posture(0.25, 1.0, 2.5, 0.5), leg, lambda t, z, shank: z - sole)
    return hip, end, found


def test_a_swing_ends_in_the_pose_of_heel_strike(leg: Pendulum) -> None:
    hip, end, found = swing_of(leg)
    assert found.model == "double-pendulum"
    assert found.residual < 1e-6
    assert found.tries < 10
    np.testing.assert_allclose(found.ankle[-1], end, atol=1e-6)
    np.testing.assert_allclose(found.ankle[-1], hip.place[-1] + ankle_of(found.angles[-1], leg), atol=1e-9)
    assert found.clearance >= CLEARANCE
    knee = found.angles[:, 0] - found.angles[:, 1]
    assert knee.min() > 0
    assert 0.9 < knee.max() < 1.5
    # one motion: no jump between the phases
    assert np.abs(np.diff(found.angles, axis=0)).max() < 0.12


def test_a_foot_that_comes_too_near_is_raised_and_the_swing_done_again(leg: Pendulum) -> None:
    low = swing_of(leg, sole=0.02)[2]
    high = swing_of(leg, sole=0.105)[2]
    assert high.tries > low.tries == 1
    assert high.posture.knee > low.posture.knee
    never = swing_of(leg, sole=0.5)[2]
    assert never.tries == 10
    assert never.lifted > 0.1
