"""Flow measures against closed forms, and against a walker into which a fault was put."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from sandbox.measure import FLOW_FIELDS, MARCH_FIELDS, Gait, flow, march, pops
from sandbox.measure.flow import (
    angular_acceleration,
    com_energy,
    com_momentum,
    derivative,
    filtered,
    gait_state,
    jumps,
    jumps_at,
    log_dimensionless_jerk,
    phase_corrections,
    segment_directions,
    spectral_arc_length,
    turning,
)
from sandbox.recording import Recording

DT = 1 / 120
TIME = np.arange(240) * DT


@pytest.fixture(scope="module")
def record(walker: ModuleType) -> Recording:
    return walker.Walker(seconds=20).record()


def changed(recording: Recording, **columns: np.ndarray) -> Recording:
    return Recording(recording.header, {**recording.columns, **columns})


# -- derivatives and jumps -----------------------------------------------------------------------------------------------


def test_derivatives_are_exact_for_polynomials() -> None:
    t = TIME
    np.testing.assert_allclose(derivative(t**2, DT), 2 * t[1:-1], atol=1e-9)
    np.testing.assert_allclose(derivative(t**3, DT, 2), 6 * t[1:-1], atol=1e-6)
    np.testing.assert_allclose(derivative(t**3, DT, 3), 6.0, atol=1e-4)
    for order, bad in ((4, DT), (1, 0.0), (1, math.nan)):
        with pytest.raises(ValueError, match=r"order 4|interval"):
            derivative(t, bad, order)


def test_a_step_is_a_jump_of_its_height_and_a_corner_is_none() -> None:
    step = np.where(TIME < 1.0, 0.3, 1.0) + 2.0 * TIME
    found = jumps(step)
    k = int(np.abs(found).argmax())
    assert found[k] == pytest.approx(0.7)
    assert TIME[k + 1] < 1.0 <= TIME[k + 2] + 1e-9  # between these two samples
    corner = np.abs(TIME - 1.0 - 0.5 * DT)
    assert np.abs(jumps(corner)).max() == pytest.approx(DT / 2, rel=1e-6)  # only where the samples straddle it unevenly
    np.testing.assert_allclose(jumps(TIME**2), 0.0, atol=1e-12)
    np.testing.assert_allclose(jumps(TIME**3), -0.5 * 6 * DT**3, atol=1e-12)
    assert jumps(np.zeros((10, 3))).shape == (7, 3)


def test_a_jump_is_found_at_its_event_alone() -> None:
    values = np.stack((np.where(TIME < 1.0, 0.0, -2.0), np.sin(TIME)), axis=1)
    found = jumps_at(TIME, values, np.array([0.5, 1.0 - 0.4 * DT, 1.0, TIME[-1], 0.0]))
    np.testing.assert_allclose(found[0], 0.0, atol=1e-5)
    assert found[1, 0] == pytest.approx(-2.0)
    assert found[2, 0] == pytest.approx(-2.0)
    assert np.isnan(found[3:]).all()


# -- pops ----------------------------------------------------------------------------------------------------------------


def swinging(angle: np.ndarray) -> np.ndarray:
    """A segment of length 0.4 that turns in an oblique plane."""
    a, b = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0])
    return 0.4 * (np.cos(angle)[:, None] * a + np.sin(angle)[:, None] * b)


@pytest.mark.parametrize("rate", [60.0, 120.0, 240.0])
def test_uniform_angular_acceleration(rate: float) -> None:
    t = np.arange(int(2 * rate)) / rate
    alpha = math.radians(3600.0)  # 1 degree per frame squared
    time, found = angular_acceleration(swinging(0.25 * alpha * (t - 1) ** 2), 1 / rate)
    np.testing.assert_allclose(found, 0.5, rtol=1e-9)
    assert time[0] == pytest.approx(1 / 60)
    assert len(time) == len(found) == len(t) - 2 * round(rate / 60)


def test_a_rate_that_is_no_multiple_of_the_frames_is_resampled() -> None:
    t = np.arange(200) / 100.0
    _, found = angular_acceleration(swinging(0.25 * math.radians(3600.0) * (t - 1) ** 2), 0.01)
    np.testing.assert_allclose(found, 0.5, rtol=0.02)
    _, still = angular_acceleration(swinging(3.0 * t), 0.01)
    np.testing.assert_allclose(still, 0.0, atol=2e-3)


def test_turning_gives_axis_and_angle() -> None:
    directions = np.array([[0.0, 1.0, 0.0], [0.0, math.cos(0.3), math.sin(0.3)], [0.0, math.cos(0.3), math.sin(0.3)]])
    np.testing.assert_allclose(turning(directions), [[0.3, 0.0, 0.0], [0.0, 0.0, 0.0]], atol=1e-12)


def test_a_bone_that_jumps_for_one_row_is_listed_with_time_and_state(record: Recording) -> None:
    points = record.points.copy()
    row, wrist = 1700, record.header["point_names"].index("left_wrist")
    elbow = record.header["point_names"].index("left_elbow")
    length = float(np.linalg.norm(points[row, wrist] - points[row, elbow]))
    across = np.cross(points[row, wrist] - points[row, elbow], [0.0, 1.0, 0.0])
    points[row, wrist] += across / np.linalg.norm(across) * length * math.tan(math.radians(10.0))
    worst = pops(changed(record, points=points), threshold=2.0)[0]
    assert worst.segment == "left_forearm"
    assert worst.time == pytest.approx(record.time[row], abs=1e-9)
    assert worst.acceleration == pytest.approx(20.0, rel=0.03)  # 10 degrees there and 10 degrees back, within a frame each
    assert worst.state == gait_state(record, record.time[row])
    assert worst.state.startswith("left ")
    figures = flow(changed(record, points=points))
    assert figures["pop_segment"] == "left_forearm"
    assert figures["pops"] > flow(record)["pops"]


def test_every_segment_that_has_points_is_measured(record: Recording) -> None:
    assert {"pelvis", "trunk", "head", "shoulders", "left_toes", "right_thigh"} <= set(segment_directions(record))


# -- timing, momentum, energy --------------------------------------------------------------------------------------------


def test_an_even_gait_needs_no_correction_and_a_late_step_two() -> None:
    np.testing.assert_allclose(phase_corrections(np.arange(6) * 1.1), 0.0, atol=1e-12)
    late = phase_corrections([0.0, 1.0, 2.0, 3.1, 4.1])
    np.testing.assert_allclose(late, [0.0, -0.1, 1 - 1.0 / 1.1], atol=1e-12)
    assert len(phase_corrections([0.0, 1.0])) == 0


def test_momentum_and_energy_of_the_centre_of_mass(record: Recording) -> None:
    mass = record.header["body"]["mass_kg"]
    np.testing.assert_allclose(com_momentum(record), mass * record.com_velocity)
    assert com_energy(record)[5] == pytest.approx(mass * (0.5 * np.sum(record.com_velocity[5] ** 2) + 9.81 * record.com[5, 2]), rel=1e-3)


def test_a_lost_speed_at_touchdown_is_a_step_of_momentum_and_energy(record: Recording) -> None:
    gait = Gait(record)
    event = gait.strides[3].start
    velocity = record.com_velocity.copy()
    velocity[record.time >= event, 1] -= 0.2
    before, after = record.com_velocity[-1, 1], record.com_velocity[-1, 1] - 0.2
    figures = flow(changed(record, com_velocity=velocity))
    mass = record.header["body"]["mass_kg"]
    assert figures["momentum_step_ns"] == pytest.approx(0.2 * mass, rel=1e-3)
    # of a body whose centre moves up and down meanwhile: the jump of kinetic energy, to what the sampling leaves
    assert figures["energy_step_j"] == pytest.approx(0.5 * mass * (before**2 - after**2), abs=0.5)
    assert flow(record)["momentum_step_ns"] < 1e-9


# -- smoothness ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("duration", "peak"), [(1.0, 1.0), (0.4, 3.0)])
def test_ldlj_of_a_minimum_jerk_movement(duration: float, peak: float) -> None:
    s = np.linspace(0.0, 1.0, 2001)
    speed = peak * 16 * s**2 * (1 - s) ** 2
    assert log_dimensionless_jerk(speed, duration / 2000) == pytest.approx(-math.log(204.8), abs=2e-3)


def test_sparc_of_a_gaussian_speed_profile() -> None:
    sigma, dt = 0.1, 0.002
    t = np.arange(-1.0, 1.0 + dt / 2, dt)

    def spectrum(f: float) -> float:
        return math.exp(-0.5 * (2 * math.pi * f * sigma) ** 2)

    last = math.sqrt(-2 * math.log(0.05)) / (2 * math.pi * sigma)

    def length(f: float) -> float:
        return math.hypot(1 / last, spectrum(f) * f * (2 * math.pi * sigma) ** 2)

    expected = -quad(length, 0.0, last)[0]
    assert spectral_arc_length(np.exp(-0.5 * (t / sigma) ** 2), dt) == pytest.approx(expected, abs=0.01)
    tremor = np.exp(-0.5 * (t / sigma) ** 2) * (1 + 0.3 * np.sin(2 * math.pi * 7 * t))
    assert spectral_arc_length(tremor, dt) < expected - 0.1


def test_smoothness_of_nothing_is_unknown() -> None:
    assert math.isnan(log_dimensionless_jerk(np.zeros(50), DT))
    assert math.isnan(spectral_arc_length(np.zeros(50), DT))
    assert math.isnan(log_dimensionless_jerk(np.ones(3), DT))


# -- a recording ---------------------------------------------------------------------------------------------------------


def test_flow_of_a_walker_of_which_it_is_known(walker: ModuleType, record: Recording) -> None:
    known = walker.Walker(seconds=20)
    figures = flow(record)
    assert set(figures) == set(FLOW_FIELDS)
    assert figures["root_speed_sd_mps"] < 1e-3  # it moves forward at constant speed, and faces forward but for a trace of its sway
    assert figures["root_velocity_jump_mps"] < 1e-3
    bob, sway = 0.02 * (4 * math.pi / known.stride_time) ** 2, 0.018 * (2 * math.pi / known.stride_time) ** 2
    assert figures["root_acceleration_rms_mps2"] == pytest.approx(math.sqrt((bob**2 + sway**2) / 2), rel=0.02)
    bob, sway = bob * 4 * math.pi / known.stride_time, sway * 2 * math.pi / known.stride_time
    assert figures["root_jerk_rms_mps3"] == pytest.approx(math.sqrt((bob**2 + sway**2) / 2), rel=0.02)
    assert figures["phase_correction_max"] < 1e-9
    for value in figures.values():
        assert value is None or isinstance(value, float | int | str)


def test_a_turned_walk_flows_the_same(walker: ModuleType, record: Recording) -> None:
    straight, turned = flow(record), flow(walker.Walker(seconds=20, heading=0.8).record())
    for key in ("root_speed_sd_mps", "root_jerk_rms_mps3", "pop_max_deg", "ldlj_knee", "sparc_hip"):
        assert turned[key] == pytest.approx(straight[key], rel=1e-3, abs=1e-6)


def test_a_low_pass_takes_noise_out_and_leaves_the_gait(record: Recording) -> None:
    rng = np.random.default_rng(1)
    noisy = changed(record, points=record.points + rng.normal(scale=1e-4, size=record.points.shape))
    raw, clean = flow(noisy), flow(noisy, cutoff=8.0)
    assert raw["root_jerk_rms_mps3"] > 10 * clean["root_jerk_rms_mps3"]
    assert clean["root_jerk_rms_mps3"] == pytest.approx(flow(record)["root_jerk_rms_mps3"], rel=0.3)
    assert filtered(record, None) is record


def test_what_cannot_be_measured_is_null(record: Recording) -> None:
    short = Recording(record.header, {k: v[:5] if len(v) == len(record) else v[:0] for k, v in record.columns.items()})
    assert set(flow(short).values()) == {None}
    columns: dict[str, Any] = {k: v for k, v in record.columns.items() if k not in ("q", "com_velocity", "contact_state")}
    bare = flow(Recording(record.header, columns))
    assert bare["joint_velocity_jump_dps"] is None
    assert bare["momentum_step_ns"] is None
    assert bare["pop_max_deg"] > 0
    assert bare["pop_state"] == ""


def test_a_march_halts_and_a_walk_does_not(walker: ModuleType, record: Recording) -> None:
    walk = march(record)
    assert set(walk) == set(MARCH_FIELDS)
    assert walk["halts_per_step"] == 0
    assert walk["foot_modes"] == 4
    assert walk["rolled_share"] == 1
    assert walk["step_time_sd_ms"] < 0.01
    # the same walk with a body that stops for the first third of every step
    step = walker.Walker(seconds=20).step_time
    phase = record.time / step
    whole, part = np.floor(phase), phase % 1.0
    moved = (whole + np.clip((part - 1 / 3) * 1.5, 0, 1) - phase) * step * walker.Walker().speed
    points = record.points.copy()
    points[:, record.header["point_names"].index("mid_hip"), 1] += moved
    stopped = march(changed(record, points=points))
    assert stopped["halts_per_step"] == pytest.approx(1.0, abs=0.05)
    assert stopped["at_rest_share"] == pytest.approx(1 / 3, abs=0.03)
    assert stopped["speed_swing"] == pytest.approx(1.5, abs=0.1)
    assert stopped["speed_repeats"] > 0.95
