"""What the engine says of its links, held against what a falling body must do."""

from __future__ import annotations

import numpy as np
import pytest

from sandbox.bodies import REFERENCE
from sandbox.conventions import GRAVITY
from sandbox.mechanics import center_of_mass, centroidal_momentum
from sandbox.plants.base import Pose, standing_pose
from sandbox.plants.bullet import BulletPlant
from sandbox.plants.engine import link_motion


@pytest.fixture
def plant():
    plant = BulletPlant(REFERENCE)
    yield plant
    plant.close()


def test_links_weigh_the_body_and_rest_where_they_are_put(plant: BulletPlant):
    plant.reset(standing_pose(REFERENCE))
    motion = link_motion(plant)
    assert motion.masses.sum() == pytest.approx(REFERENCE.mass, abs=1e-9)
    assert len(motion.masses) == len(REFERENCE.links)
    assert not motion.velocities.any()
    np.testing.assert_allclose(center_of_mass(motion.masses, motion.positions), plant.observe()[0].com, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        motion.rotations @ np.swapaxes(motion.rotations, 1, 2), np.tile(np.eye(3), (len(motion.masses), 1, 1)), atol=1e-9
    )


def test_a_falling_body_gains_speed_as_it_must(plant: BulletPlant):
    """Limp, in the air, with one knee driven: the links move against each other, their sum falls, and our own sums agree."""
    stand = standing_pose(REFERENCE)
    plant.reset(Pose(stand.position + np.array([0.0, 0.0, 2.0]), stand.quaternion, stand.q, np.array([0.3, 0.5, 0.0])))
    tau = np.zeros(len(REFERENCE.joints))
    tau[REFERENCE.joint_index["left_knee_flexion"]] = 5.0
    ticks = round(0.1 / plant.dt)
    for _ in range(ticks):
        plant.apply(tau)
    motion = link_motion(plant)
    velocity = center_of_mass(motion.masses, motion.velocities)
    np.testing.assert_allclose(velocity, (0.3, 0.5, -GRAVITY * ticks * plant.dt), rtol=0, atol=1e-3)
    assert np.ptp(motion.angular_velocities, axis=0).max() > 1.0
    momentum = centroidal_momentum(*motion)
    np.testing.assert_allclose(momentum.linear, REFERENCE.mass * velocity, rtol=0, atol=1e-9)
    ours = plant.observe()[0]
    np.testing.assert_allclose(ours.com_velocity, velocity, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.angular_momentum, momentum.angular, rtol=0, atol=1e-9)
