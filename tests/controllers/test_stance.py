"""Stance models: orbits against closed forms and against their own equations."""

from __future__ import annotations

import numpy as np
import pytest

from sandbox.controllers.parameters import REFERENCE, Parameters
from sandbox.controllers.planner import GaitPlanner
from sandbox.controllers.stance import PIVOT_TRAVEL, Rise, StanceModel, orbit, orbit_table
from sandbox.controllers.velocity import HUMAN, VelocityProfile
from sandbox.conventions import GRAVITY
from sandbox.simulation import run

G = GRAVITY
TOP = 0.9


@pytest.mark.parametrize("speed", [0.4, 1.0, 2.0])
def test_the_rigid_leg_conserves_energy_and_length(speed: float) -> None:
    gait = HUMAN.gait(speed)
    found = orbit("virtual-leg", gait, TOP)
    over = found.ahead - found.pivot
    np.testing.assert_allclose(np.hypot(over, found.height), TOP, atol=1e-12)
    travel = PIVOT_TRAVEL / gait.duration
    energy = 0.5 * ((found.forward - travel) ** 2 + found.upward**2) + G * found.height  # in the frame of the pivot
    np.testing.assert_allclose(energy, energy.mean(), rtol=2e-4)
    assert found.height.max() == pytest.approx(TOP, abs=1e-4)
    half = 0.5 * (gait.step_length - PIVOT_TRAVEL)
    assert np.abs(over).max() == pytest.approx(half, abs=0.01)
    assert found.residual < 1e-9
    assert found.jump == pytest.approx(2 * np.abs(found.upward).max(), rel=0.05)
    assert found.lost > 0


def test_small_arcs_are_those_of_the_linear_pendulum() -> None:
    """x = D sinh(w t) / sinh(w T / 2), for a step that is short against the leg."""
    gait = VelocityProfile(step_length=(type(HUMAN.lift))(0.19, 0.19), law="linear").gait(0.4)
    found = orbit("virtual-leg", gait, 1.5)
    omega = np.sqrt(G / 1.5)
    since = (np.arange(240) / 240 - 0.5 * gait.double_support) % 1.0
    time = (since - 0.5) * gait.duration
    half = 0.5 * (gait.step_length - PIVOT_TRAVEL)
    expected = half * np.sinh(omega * time) / np.sinh(0.5 * omega * gait.duration)
    np.testing.assert_allclose(found.ahead - found.pivot, expected, atol=2e-4)


@pytest.mark.parametrize("speed", [0.6, 1.2])
def test_the_telescoping_legs_close_their_orbit(speed: float) -> None:
    gait = HUMAN.gait(speed)
    found = orbit("telescoping", gait, TOP)
    assert found.residual < 1e-6
    assert found.height.max() == pytest.approx(TOP, abs=1e-4)
    assert found.forward.mean() == pytest.approx(speed, rel=1e-3)
    dt = gait.duration / 240
    np.testing.assert_allclose(np.gradient(found.height, dt)[2:-2], found.upward[2:-2], atol=0.01)
    force = 1 + np.gradient(found.upward, dt) / G
    assert force.min() > -0.02  # legs do not pull
    assert force.mean() == pytest.approx(1.0, abs=0.02)  # on the whole they carry the weight
    assert np.abs(np.diff(found.upward, append=found.upward[0])).max() < 0.1  # no jump, the end of the step included
    assert 0.02 < np.ptp(found.height) < 0.06


def test_the_kinematic_root_moves_evenly() -> None:
    gait = HUMAN.gait(1.0)
    found = orbit("kinematic", gait, TOP, bounce=0.02, lowest=0.1)
    assert np.ptp(found.forward) == 0
    assert found.height.min() == pytest.approx(TOP - 0.04)
    assert np.argmin(found.height) == 24
    ahead, height, forward, upward = found.at(0.1)
    assert (ahead, forward) == (0.0, 1.0)
    assert height == pytest.approx(TOP - 0.04)
    assert upward == pytest.approx(0.0, abs=1e-9)
    assert found.at(1.25)[1] == pytest.approx(found.at(0.25)[1])


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="did you mean 'telescoping'"):
        orbit("telescopin", HUMAN.gait(1.0), TOP)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="too long for a hip"):
        orbit("virtual-leg", HUMAN.gait(2.0), 0.5)


# -- for the planner -----------------------------------------------------------------------------------------------------


def test_the_table_holds_the_orbits_of_the_reference_body() -> None:
    rise, leg = Rise("virtual-leg"), REFERENCE.leg_length
    speeds = rise.speeds * np.sqrt(GRAVITY * leg)
    np.testing.assert_allclose(speeds, np.linspace(0.4, 2.0, 9), rtol=1e-4)
    made = orbit_table(leg, REFERENCE.height, speeds[[0, 4]])
    np.testing.assert_allclose(made["virtual-leg"][0], rise.coefficients[0], atol=2e-5)
    assert Rise("telescoping").coefficients.shape == rise.coefficients.shape == (9, 13)


@pytest.mark.parametrize("model", ["virtual-leg", "telescoping"])
def test_the_rise_and_its_derivatives(model: StanceModel) -> None:
    rise, h = Rise(model), 1e-5
    for speed in (0.1, 0.3, 0.6):
        path = np.array([rise.at(speed, phase)[0] for phase in np.linspace(0, 1, 101)])
        assert path.max() == pytest.approx(0.0, abs=0.004)
        assert path[0] == pytest.approx(path[-1], abs=1e-12)
        for phase in (0.13, 0.5, 0.9):
            before, now, after = (rise.at(speed, phase + k * h) for k in (-1, 0, 1))
            assert now[1] == pytest.approx((after[0] - before[0]) / (2 * h), rel=1e-5, abs=1e-9)
            assert now[2] == pytest.approx((after[1] - before[1]) / (2 * h), rel=1e-4, abs=1e-7)
    assert np.ptp([rise.at(0.0, phase)[0] for phase in np.linspace(0, 1, 11)]) == 0  # nobody walks
    depths = [float(np.ptp([rise.at(v, phase)[0] for phase in np.linspace(0, 1, 101)])) for v in (0.15, 0.4, 0.6)]
    assert depths == sorted(depths)  # longer steps sink deeper


def test_the_kinematic_model_has_no_orbit() -> None:
    with pytest.raises(ValueError, match="take virtual-leg or telescoping"):
        Rise("kinematic")
    with pytest.raises(ValueError, match="unknown stance model 'rigid'"):
        GaitPlanner(REFERENCE, Parameters.load(), "rigid")  # type: ignore[arg-type]


@pytest.mark.parametrize("model", ["virtual-leg", "telescoping"])
def test_both_plants_walk_on_a_stance_model(model: StanceModel) -> None:
    kinematic, physical = (run("walk", plant=plant, speed=0.8, seconds=6.0, seed=1, stance=model) for plant in ("kinematic", "bullet"))
    for recording in (kinematic, physical):
        assert recording.header["stance"] == model
        assert not recording.header["fall"]["fell"]
        assert recording.root_position[-1, 1] > 2.0
    # the kinematic body is where the plan has it: it rises and falls as the model says, by more than the planner's own bounce
    sink = float(np.ptp([Rise(model).at(0.8 / np.sqrt(GRAVITY * REFERENCE.leg_length), phase)[0] for phase in np.linspace(0, 1, 101)]))
    assert np.ptp(kinematic.root_position[-240:, 2]) == pytest.approx(sink * REFERENCE.leg_length, abs=0.012)
