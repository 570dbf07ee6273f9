"""The planner's laws as pure functions, and its plan in the middle of a step."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from sandbox.bodies import Anatomy
from sandbox.controllers.observation import OBSERVATION_DTYPE, sole_points
from sandbox.controllers.parameters import REFERENCE, Parameters
from sandbox.controllers.planner import (
    DOUBLE,
    EARLIEST_TOUCHDOWN,
    LOWEST_SPEED,
    SINGLE,
    STAND,
    WALK,
    GaitPlanner,
    ankle_above_sole,
    body_record,
    clamp,
    quintic,
    step_time_law,
)
from sandbox.conventions import MIRROR_VECTOR
from sandbox.scenes.scene import Command, Scene
from sandbox.simulation import Simulation

DT = 1 / 480
LARGE = Anatomy(90, 1.85)
NEVER = 1e9  # [s] no cap on the step time

# -- pure functions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "wanted"), [(-3.0, -1.0), (-1.0, -1.0), (0.3, 0.3), (5.0, 2.0)])
def test_clamp(value: float, wanted: float) -> None:
    assert clamp(value, -1.0, 2.0) == wanted


@pytest.mark.parametrize("speed", [0.3, 0.8, 1.2, 1.6])
@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_step_time_is_that_of_the_klaw_law(speed: float, factor: float) -> None:
    """Step length = 0.004 x cadence x height (KLAW, Bruderlin & Calvert 1989), and speed = step length x cadence."""
    step_time = step_time_law(speed, factor, NEVER, 1.0, 1.0)
    cadence = 60 * factor / step_time  # [1/min] of the law itself
    step = speed * 60 / cadence
    assert step == pytest.approx(0.004 * cadence * 1.74, rel=1e-12)


def test_step_time_has_a_longest_and_a_lowest_speed() -> None:
    assert step_time_law(0.2, 1.0, 0.7, 1.0, 1.0) == 0.7
    assert step_time_law(0.0, 1.0, NEVER, 1.0, 1.0) == step_time_law(LOWEST_SPEED, 1.0, NEVER, 1.0, 1.0)
    assert math.isfinite(step_time_law(-1.0, 1.0, NEVER, 1.0, 1.0))
    times = [step_time_law(v, 1.0, NEVER, 1.0, 1.0) for v in np.linspace(0.1, 2, 20)]
    assert (np.diff(times) < 0).all()


@pytest.mark.parametrize("length", [0.8, 1.1])
def test_step_time_scales_with_froude_time(length: float) -> None:
    time = math.sqrt(length)
    for speed in (0.5, 1.2):
        assert step_time_law(speed * length / time, 0.93, 0.7 * time, length, time) == pytest.approx(
            time * step_time_law(speed, 0.93, 0.7, 1.0, 1.0), rel=1e-12
        )


@pytest.mark.parametrize("seed", range(20))
def test_quintic_meets_both_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, v, a, goal, goal_v, goal_a = rng.normal(size=6)
    duration = rng.uniform(0.05, 1.5)
    scale = max(1, 1 / duration**2)
    np.testing.assert_allclose(quintic(p, v, a, goal, goal_v, goal_a, duration, 0.0), (p, v, a), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        quintic(p, v, a, goal, goal_v, goal_a, duration, duration), (goal, goal_v, goal_a), rtol=0, atol=1e-11 * scale
    )


def test_quintic_is_one_path_with_its_own_derivatives() -> None:
    ends = (0.3, -1.0, 2.0, 1.1, 0.4, -3.0)
    duration, h = 0.6, 1e-6
    for t in np.linspace(0.05, 0.55, 6):
        x, v, a = quintic(*ends, duration, t)
        after, before = quintic(*ends, duration, t + h), quintic(*ends, duration, t - h)
        assert v == pytest.approx((after[0] - before[0]) / (2 * h), abs=1e-7)
        assert a == pytest.approx((after[1] - before[1]) / (2 * h), abs=1e-6)
        # replanned from where it is, the rest of the path stays: what makes tick by tick replanning a path
        again = quintic(x, v, a, *ends[3:], duration - t, 0.6 - t - 0.04)
        np.testing.assert_allclose(again, quintic(*ends, duration, 0.56), rtol=0, atol=1e-9)


def test_quintic_at_rest_is_minimum_jerk() -> None:
    """Flash & Hogan 1985: 10 s^3 - 15 s^4 + 6 s^5."""
    for s in np.linspace(0, 1, 11):
        x, _, _ = quintic(0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.8, 0.8 * s)
        assert x == pytest.approx(2 * (10 * s**3 - 15 * s**4 + 6 * s**5), abs=1e-12)


@pytest.mark.parametrize("pitch", np.linspace(-1.2, 1.2, 13))
@pytest.mark.parametrize("anatomy", [REFERENCE, LARGE], ids=lambda a: f"{a.height:g}m")
def test_ankle_above_sole_is_the_height_over_the_lowest_point(anatomy: Anatomy, pitch: float) -> None:
    c, s = math.cos(pitch), math.sin(pitch)
    rotation = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    lowest = (rotation @ sole_points(anatomy).T)[2].min()
    assert ankle_above_sole(pitch, body_record(anatomy)[0]) == pytest.approx(-lowest, abs=1e-12)


def test_body_record_is_the_anatomy() -> None:
    b = body_record(LARGE)[0]
    assert (b.mass, b.leg, b.thigh, b.shank) == (LARGE.mass, LARGE.leg_length, LARGE.length("thigh"), LARGE.length("shank"))
    assert (b.heel, b.ball, b.toe) == (LARGE.heel_behind_ankle, LARGE.ball_ahead_of_ankle, LARGE.toe_ahead_of_ankle)
    assert b.length == pytest.approx(LARGE.leg_length / REFERENCE.leg_length)
    assert b.time == pytest.approx(math.sqrt(b.length))
    assert b.length > 1.05


# -- a plan in the middle of a step ------------------------------------------------------------------------------------


@cache
def _mid_step(swung: float) -> tuple[np.ndarray, np.ndarray]:
    """Observation and plan of a walk at 0.8 m/s, the first time after the first step that this share of a swing is over."""
    simulation = Simulation(Scene("test", (Command(0.2, 0.8),), 5.0), seed=2)
    try:
        while simulation.time < 5.0 and simulation.fall is None:
            simulation.tick()
            s = simulation.planner.plan[0]
            over = (simulation.time - s.lift_off) / (s.step_end - s.lift_off) if s.phase == SINGLE else 0.0
            if s.mode == WALK and s.steps > 0 and swung <= over < swung + 0.1:
                return simulation.plant.observe().copy(), simulation.planner.plan.copy()
        raise AssertionError(f"no swing got as far as {swung}: {simulation.fall}")
    finally:
        simulation.close()


@pytest.fixture
def planner() -> Callable[..., tuple[GaitPlanner, np.ndarray]]:
    """Function of a share of swing: a planner there, and what it observes."""

    def make(swung: float, anatomy: Anatomy = REFERENCE) -> tuple[GaitPlanner, np.ndarray]:
        observation, plan = _mid_step(swung)
        made = GaitPlanner(anatomy, Parameters.load())
        made.plan[:] = plan
        return made, observation.copy()

    return make


def test_a_standing_body_without_a_command_stands() -> None:
    simulation = Simulation(Scene("test", (), 5.0))
    observation = simulation.plant.observe().copy()
    simulation.close()
    planner = GaitPlanner(REFERENCE, Parameters.load())
    planner.reset(observation, heading=0.0)
    plan = planner.update(observation, 0.0, 0.0, DT)[0]
    assert plan.mode == STAND
    assert plan.share.sum() == pytest.approx(1)
    assert plan.heading == 0.0


def test_the_same_observation_gives_the_same_plan(planner) -> None:
    first, observation = planner(0.4)
    second, _ = planner(0.4)
    for _ in range(5):
        first.update(observation, 0.8, 0.0, DT)
        second.update(observation.copy(), 0.8, 0.0, DT)
    assert first.plan.tobytes() == second.plan.tobytes()


def test_an_update_leaves_the_observation_and_the_parameters(planner) -> None:
    made, observation = planner(0.4)
    before, parameters, body = observation.tobytes(), made.parameters.tobytes(), made.body.tobytes()
    made.update(observation, 0.8, 0.1, DT)
    assert (observation.tobytes(), made.parameters.tobytes(), made.body.tobytes()) == (before, parameters, body)


def advance(planner: GaitPlanner, observation: np.ndarray, seconds: float, speed: float = 0.8, heading_rate: float = 0.0) -> None:
    """Time goes on, the body stands still in the air."""
    for _ in range(round(seconds / DT)):
        observation[0].time += DT
        planner.update(observation, speed, heading_rate, DT)


def test_heading_is_the_integral_of_its_rate(planner) -> None:
    made, observation = planner(0.3)
    rate = 0.3
    advance(made, observation, 1.0, heading_rate=rate)
    held = float(made.plan[0].heading)
    assert made.plan[0].heading_rate == pytest.approx(rate)
    advance(made, observation, 0.5, heading_rate=rate)
    assert made.plan[0].heading - held == pytest.approx(0.5 * rate, rel=1e-6)


def test_the_speed_command_is_followed_at_its_slew_rate(planner) -> None:
    made, observation = planner(0.3)
    made.plan[0].speed = 0.8
    advance(made, observation, 0.1, speed=1.6)
    assert made.plan[0].speed == pytest.approx(0.8 + 0.1 * made.parameters[0].speed_slew, rel=1e-6)
    advance(made, observation, 3.0, speed=1.6)
    assert made.plan[0].speed == pytest.approx(1.6)


def test_contact_is_reported_never_decided(planner) -> None:
    """Past the predicted touchdown the swing goes on until the plant reports contact; the foot sinks in search of the ground."""
    made, observation = planner(0.5)
    s = made.plan[0]
    swing = int(s.swing)
    observation[0].contact[swing] = 0
    observation[0].load[swing] = 0.0
    advance(made, observation, float(s.step_end) - float(observation[0].time) + 0.05)
    assert (s.mode, s.phase, s.swing) == (WALK, SINGLE, swing)
    assert observation[0].time > s.step_end
    late = float(s.swing_position[2])
    advance(made, observation, 0.05)
    assert s.swing_position[2] < late - 0.005
    steps = int(s.steps)
    observation[0].contact[swing] = 1
    advance(made, observation, DT)
    assert (s.phase, s.swing, s.steps) == (DOUBLE, 1 - swing, steps + 1)
    assert s.touchdown[swing] == observation[0].time


def test_ground_in_early_swing_is_a_stumble_not_a_touchdown(planner) -> None:
    made, observation = planner(0.3)
    s = made.plan[0]
    swing = int(s.swing)
    assert (observation[0].time - s.lift_off) / (s.step_end - s.lift_off) < EARLIEST_TOUCHDOWN - 0.1
    observation[0].contact[swing] = 1
    advance(made, observation, DT)
    assert (s.phase, s.swing) == (SINGLE, swing)


def test_the_swing_path_ends_on_the_foothold(planner) -> None:
    made, observation = planner(0.5)
    s = made.plan[0]
    observation[0].contact[s.swing] = 0
    while s.step_end - observation[0].time > 1.5 * DT:
        advance(made, observation, DT)
    np.testing.assert_allclose(s.swing_position[:2], s.foothold[:2], rtol=0, atol=0.02)


@pytest.mark.parametrize("early", [2, 3, 4, 6, 10, 20, 60])
def test_a_walk_that_ends_in_mid_swing_does_not_fling_the_foot(planner, early: int) -> None:
    """The speed command becomes none at all ``early`` ticks before the heel is highest."""
    made, observation = planner(0.05)
    s, k = made.plan[0], made.parameters[0]
    observation[0].contact[:] = 0
    highest = s.lift_off + k.swing_heel_time * (s.step_end - s.lift_off)
    slower = k.speed_slew * (highest - early * DT - observation[0].time)
    s.speed = LOWEST_SPEED + max(slower, 0.0)
    pitch = []
    while observation[0].time < s.step_end:
        advance(made, observation, DT, speed=0.0)
        pitch.append(float(s.swing_pitch))
    assert s.speed < LOWEST_SPEED
    assert min(pitch) > -k.swing_heel - 0.1
    assert max(pitch) < k.landing_pitch + 0.1


@pytest.mark.parametrize("length", [-0.18, 0.0, 0.1, 0.18])
@pytest.mark.parametrize("width", [0.10, 0.17, 0.3])
def test_standing_asks_for_the_pressure_that_brings_the_xcom_back(length: float, width: float) -> None:
    """However the feet are set, shares and soles together put the pressure beyond the XCoM by the gain."""
    simulation = Simulation(Scene("test", (), 5.0))
    observation = simulation.plant.observe().copy()
    simulation.close()
    planner = GaitPlanner(REFERENCE, Parameters.load())
    o, k = observation[0], planner.parameters[0]
    middle = o.ankle[:, :2].mean(axis=0)
    o.ankle[1, :2] = middle + np.array([width, length]) / 2
    o.ankle[0, :2] = middle - np.array([width, length]) / 2
    planner.reset(observation, heading=0.0)
    reference = middle + np.array([0.0, k.stand_cop])
    o.com_velocity[:] = 0.0
    for off in ([0.01, 0.0], [0.0, 0.01], [-0.01, -0.015]):
        o.com[:2] = reference + off
        s = planner.update(observation, 0.0, 0.0, DT)[0]
        pressure = s.share @ o.ankle[:, :2] + np.array([0.0, s.share @ s.cop])
        np.testing.assert_allclose(pressure - reference, (1 + k.stand_gain) * np.array(off), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("width", "mode"), [(0.17, STAND), (0.12, STAND), (0.08, WALK), (0.0, WALK), (-0.1, WALK)])
def test_a_walk_ends_on_feet_that_one_can_stand_on(planner, width: float, mode: int) -> None:
    made, observation = planner(0.8)
    s, o, k = made.plan[0], observation[0], made.parameters[0]
    s.heading = s.speed = 0.0
    swing = int(s.swing)
    side = 2 * swing - 1
    o.ankle[swing, :2] = o.ankle[1 - swing, :2] + np.array([side * width, 0.05])
    o.com[:2] = o.ankle[:, :2].mean(axis=0) + np.array([0.0, k.stand_cop])
    o.com_velocity[:] = 0.0
    o.contact[:] = 1
    advance(made, observation, DT, speed=0.0)
    assert s.mode == mode


def test_load_leaves_the_rear_foot_only_when_the_lead_foot_carries(planner) -> None:
    """Load-gated unloading: without load on the lead foot the transfer nearly stops."""
    done = []
    for carried in (0.9, 0.0):
        made, observation = planner(0.8)
        s, o = made.plan[0], observation[0]
        swing = int(s.swing)
        o.contact[:] = 1
        advance(made, observation, DT)
        assert s.phase == DOUBLE
        s.step_end = s.touchdown[swing]  # no early step, with which the load would wait
        weight = made.body[0].mass * 9.81
        o.load[swing], o.load[1 - swing] = carried * weight, (1 - carried) * weight
        advance(made, observation, 0.9 * float(s.transfer_time))
        assert s.share.sum() == pytest.approx(1)
        assert s.share[swing] == s.transfer
        done.append(float(s.transfer))
    assert done[0] == pytest.approx(0.9, abs=0.05)
    assert done[1] < 0.6


# Fields of the plan by how a mirror image in the sagittal plane changes them.
FLIPPED = ("cop_side", "cop_side_shift", "swing_yaw", "swing_yaw_start", "foothold_yaw", "pelvis_yaw", "pelvis_yaw_rate", "thorax_yaw")
FLIPPED += ("heading", "heading_rate", "foot_yaw")


def mirrored(record: np.ndarray) -> np.ndarray:
    """The same in a mirror: left and right change places and x changes its sign."""
    out = record.copy()
    o, r = out[0], record[0]
    for name in record.dtype.names:
        value = np.array(r[name])
        if record.dtype == OBSERVATION_DTYPE:
            axial = name == "angular_momentum"
            sign = {"pelvis_yaw": -1, "pelvis_yaw_rate": -1, "foot_roll": -1, "foot_yaw": -1}.get(name, 1)
        else:
            axial, sign = False, -1 if name in FLIPPED else 1
        if name == "swing":
            o[name] = 1 - value
            continue
        if value.shape[:1] == (2,):
            value = value[::-1]
        if value.shape[-2:] == (3, 3):
            mirror = np.diag(MIRROR_VECTOR)
            value = mirror @ value @ mirror
        elif value.shape[-1:] == (3,):
            value = value * MIRROR_VECTOR * (-1 if axial else 1)
        o[name] = sign * value
    return out


@pytest.mark.parametrize("swung", [0.2, 0.5, 0.8])
def test_left_and_right_mirror_each_other(planner, swung: float) -> None:
    made, observation = planner(swung)
    other, _ = planner(swung)
    other.plan[:] = mirrored(made.plan)
    for _ in range(10):
        made.update(observation, 0.9, 0.1, DT)
        other.update(mirrored(observation), 0.9, -0.1, DT)
    wanted = mirrored(made.plan)
    for name in made.plan.dtype.names:
        np.testing.assert_allclose(other.plan[name], wanted[name], rtol=0, atol=1e-9, err_msg=name)


# How quantities of the observation and the plan scale: exponents of length and time; what is not named has no dimension.
LENGTHS = "com upper_com hip ankle sole_low sole_low_ahead speed_integral step_start_com ground cop cop_side cop_shift cop_side_shift "
LENGTHS += "unevenness swing_position swing_lift foothold height height_base dip dip_goal"
TIMES = "time phase_start touchdown begun lift_off step_time step_end release transfer_time"
SPEEDS = "swing_speed com_velocity upper_com_velocity hip_velocity ankle_velocity speed speed_mean swing_velocity height_rate"
RATES = "pelvis_yaw_rate foot_pitch_rate heading_rate swing_pitch_rate shoulder_rate"
EXPONENTS = dict.fromkeys(LENGTHS.split(), (1, 0)) | dict.fromkeys(TIMES.split(), (0, 1))
EXPONENTS |= dict.fromkeys(SPEEDS.split(), (1, -1)) | dict.fromkeys(RATES.split(), (0, -1))
EXPONENTS |= {"swing_acceleration": (1, -2), "height_acceleration": (1, -2), "swing_pitch_acceleration": (0, -2)}


def scaled(record: np.ndarray, anatomy: Anatomy) -> np.ndarray:
    """What a body of the same proportions and motion, but of another size and mass, would have in its place."""
    length = anatomy.leg_length / REFERENCE.leg_length
    mass = anatomy.mass / REFERENCE.mass
    out = record.copy()
    for name in record.dtype.names:
        if record[name].dtype.kind == "f":
            a, b = EXPONENTS.get(name, (0, 0))
            extra = {"load": mass, "angular_momentum": mass * length**1.5}.get(name, 1.0)
            out[name] = record[name] * length ** (a + 0.5 * b) * extra
    return out


@pytest.mark.parametrize("anatomy", [LARGE, Anatomy(55, 1.62)], ids=lambda a: f"{a.height:g}m")
@pytest.mark.parametrize("swung", [0.2, 0.5, 0.8])
def test_a_similar_body_plans_a_similar_step(planner, swung: float, anatomy: Anatomy) -> None:
    """Dynamic similarity (Froude): the plan of the scaled observation is the scaled plan."""
    length = anatomy.leg_length / REFERENCE.leg_length
    time = math.sqrt(length)
    made, observation = planner(swung)
    other, _ = planner(swung, anatomy)
    other.plan[:] = scaled(made.plan, anatomy)
    for _ in range(40):
        observation[0].time += DT
        made.update(observation, 0.9, 0.0, DT)
        other.update(scaled(observation, anatomy), 0.9 * length / time, 0.0, DT * time)
    wanted = scaled(made.plan, anatomy)
    assert np.abs(other.plan["foothold"] - made.plan["foothold"]).max() > 0.01, "nothing was scaled"
    for name in made.plan.dtype.names:
        np.testing.assert_allclose(other.plan[name], wanted[name], rtol=0, atol=1e-8, err_msg=f"{name}: is its dimension in EXPONENTS?")
    np.testing.assert_allclose(other.plan["foothold"][0, :2], wanted["foothold"][0, :2], rtol=0, atol=1e-8)
