"""What PyBullet itself says of the links of a body: independent of the anatomy from which the body was made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sandbox.plants.base import Array
from sandbox.plants.bullet import BulletPlant
from sandbox.plants.library import bullet
from sandbox.spatial import matrix_from_quaternion, normalized


class LinkMotion(NamedTuple):
    """The arguments of :func:`sandbox.mechanics.centroidal_momentum`, each link in the frame of its principal axes of inertia.

    Attributes:
        masses: (L,) [kg].
        positions, velocities: of the links' centres of mass (L, 3) [m], [m/s].
        rotations: (L, 3, 3), principal axes to world.
        inertias: (L, 3, 3) [kg m^2].
        angular_velocities: in the world (L, 3) [rad/s].
    """

    masses: Array
    positions: Array
    velocities: Array
    rotations: Array
    inertias: Array
    angular_velocities: Array


def link_motion(plant: BulletPlant) -> LinkMotion:
    """Masses and motion of all links of the plant's body, as the engine has them now."""
    c, b = plant.client, plant.body
    links = range(bullet.getNumJoints(b, physicsClientId=c))
    dynamics = [bullet.getDynamicsInfo(b, j, physicsClientId=c) for j in (-1, *links)]
    states = [bullet.getLinkState(b, j, computeLinkVelocity=1, computeForwardKinematics=1, physicsClientId=c) for j in links]
    base_position, base_quaternion = bullet.getBasePositionAndOrientation(b, physicsClientId=c)
    base_velocity, base_omega = bullet.getBaseVelocity(b, physicsClientId=c)
    positions = [base_position, *(state[0] for state in states)]
    quaternions = np.array([base_quaternion, *(state[1] for state in states)])
    return LinkMotion(
        masses=np.array([row[0] for row in dynamics]),
        positions=np.array(positions),
        velocities=np.array([base_velocity, *(state[6] for state in states)]),
        rotations=matrix_from_quaternion(normalized(quaternions)),
        inertias=np.array([np.diag(row[2]) for row in dynamics]),
        angular_velocities=np.array([base_omega, *(state[7] for state in states)]),
    )
