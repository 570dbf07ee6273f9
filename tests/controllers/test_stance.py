"""Stance models: orbits against closed forms and against their own equations."""

from __future__ import annotations

import numpy as np
import pytest

from sandbox.controllers.stance import PIVOT_TRAVEL, orbit
from sandbox.controllers.velocity import HUMAN, VelocityProfile

G = 9.81
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
