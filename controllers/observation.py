"""What the planner and the controller look at: a few quantities derived from a ``BodyState``.

The same function serves the kinematic and the physical plant, so that the planner cannot know which one it drives.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.kinematics import Tree, angular_momentum, centre_of_mass, forward, point_in_world, quaternion_to_matrix
from sandbox.compiled import kernel
from sandbox.state import BodyState

# Sole points of a foot whose lowest one tells its height: heel, ball, toe tip.
SOLE_POINTS = 3

OBSERVATION_DTYPE = np.dtype(
    (
        np.record,
        [
            ("time", "f8"),
            ("com", "f8", (3,)),
            ("com_velocity", "f8", (3,)),
            ("angular_momentum", "f8", (3,)),  # about the CoM
            ("upper_com", "f8", (3,)),  # of everything but the legs, relative to mid-hip
            ("upper_com_velocity", "f8", (3,)),
            ("pelvis", "f8", (3, 3)),
            ("pelvis_yaw", "f8"),
            ("pelvis_yaw_rate", "f8"),
            ("hip", "f8", (2, 3)),
            ("hip_velocity", "f8", (2, 3)),
            ("ankle", "f8", (2, 3)),
            ("ankle_velocity", "f8", (2, 3)),
            ("foot", "f8", (2, 3, 3)),
            ("foot_pitch", "f8", (2,)),
            ("foot_pitch_rate", "f8", (2,)),
            ("foot_roll", "f8", (2,)),
            ("foot_yaw", "f8", (2,)),
            ("sole_low", "f8", (2,)),  # height of the lowest point of the sole
            ("sole_low_ahead", "f8", (2,)),  # how far ahead of the ankle that point lies, along the foot
            ("load", "f8", (2,)),
            ("contact", "i8", (2,)),
        ],
    )
)


class Observer:
    """Refreshes an observation record from a body state.

    Attributes:
        record: (1,) array of ``OBSERVATION_DTYPE``.
        link_r, link_p, link_v, link_w, joint_a: pose and velocity of every link, as of the last call.
    """

    def __init__(self, anatomy: Anatomy) -> None:
        self.anatomy = anatomy
        self.tree = tree = Tree.of(anatomy)
        n = len(anatomy.joints)
        self.record = np.zeros(1, OBSERVATION_DTYPE)
        self.link_r = np.zeros((n + 1, 3, 3))
        self.link_p, self.link_v, self.link_w = (np.zeros((n + 1, 3)) for _ in range(3))
        self.joint_a = np.zeros((n, 3))
        self._root_r = np.zeros((3, 3))
        legs = np.zeros(n + 1, dtype=bool)
        for first in tree.leg:
            legs[first + 1 : first + 8] = True
        self._upper_mass = np.where(legs, 0.0, tree.mass)
        self.sole = sole_points(anatomy)
        self._toe_tip = anatomy.points["left_toe_tip"][1]

    def __call__(self, state: BodyState, load: Array, contact: NDArray[np.int64]) -> NDArray[np.void]:
        """Observation of ``state``; ``load`` (2,) are vertical ground forces [N] and ``contact`` (2,) flags, filtered by the plant."""
        t = self.tree
        _observe(
            state.time, state.root_position, state.root_quaternion, state.root_velocity, state.root_angular_velocity,
            state.q, state.qd, load, contact,
            t.parent, t.axis, t.origin, t.mass, t.com, t.inertia, self._upper_mass, t.leg, self.sole, self._toe_tip,
            self._root_r, self.link_r, self.link_p, self.link_v, self.link_w, self.joint_a, self.record,
        )  # fmt: skip
        return self.record


def sole_points(anatomy: Anatomy) -> Array:
    """Heel, ball and toe tip (3, 3) on the sole, in the frame of the ankle with a straight toe [m]."""
    z = -anatomy.ankle_height
    return np.array([[0, -anatomy.heel_behind_ankle, z], [0, anatomy.ball_ahead_of_ankle, z], [0, anatomy.toe_ahead_of_ankle, z]])


@kernel
def _observe(
    time, position, quaternion, velocity, omega, q, qd, load, contact,
    parent, axis, origin, mass, com, inertia, upper_mass, leg, sole, toe_tip,
    root_r, link_r, link_p, link_v, link_w, joint_a, record,
):  # fmt: skip
    o = record[0]
    o.time = time
    quaternion_to_matrix(quaternion, root_r)
    forward(position, root_r, velocity, omega, q, qd, parent, axis, origin, link_r, link_p, link_v, link_w, joint_a)
    centre_of_mass(mass, com, link_r, link_p, link_v, link_w, 0, o.com, o.com_velocity)
    angular_momentum(mass, com, inertia, link_r, link_p, link_v, link_w, o.com, o.com_velocity, o.angular_momentum)
    centre_of_mass(upper_mass, com, link_r, link_p, link_v, link_w, 0, o.upper_com, o.upper_com_velocity)
    for i in range(3):
        o.upper_com[i] -= position[i]
        o.upper_com_velocity[i] -= velocity[i]
        for j in range(3):
            o.pelvis[i, j] = root_r[i, j]
    o.pelvis_yaw = math.atan2(-root_r[0, 1], root_r[1, 1])
    o.pelvis_yaw_rate = omega[2]
    low = np.empty(3)
    for s in range(2):
        first = leg[s]
        ankle_link = first + 5
        foot_link = first + 6
        toe_link = first + 7
        r = link_r[foot_link]
        for i in range(3):
            o.hip[s, i] = link_p[first + 1, i]
            o.hip_velocity[s, i] = link_v[first + 1, i]
            o.ankle[s, i] = link_p[ankle_link, i]
            o.ankle_velocity[s, i] = link_v[ankle_link, i]
            for j in range(3):
                o.foot[s, i, j] = r[i, j]
        o.foot_yaw[s] = math.atan2(-r[0, 1], r[1, 1])
        o.foot_pitch[s] = math.asin(min(1.0, max(-1.0, r[2, 1])))
        o.foot_roll[s] = math.asin(min(1.0, max(-1.0, -r[2, 0])))
        # pitch rate: angular velocity about the foot's horizontal medio-lateral axis
        cy, sy = math.cos(o.foot_yaw[s]), math.sin(o.foot_yaw[s])
        o.foot_pitch_rate[s] = link_w[foot_link, 0] * cy + link_w[foot_link, 1] * sy
        o.sole_low[s] = 1e9
        for k in range(3):
            if k < 2:
                point_in_world(foot_link, sole[k], link_r, link_p, low)
            else:
                point_in_world(toe_link, toe_tip, link_r, link_p, low)
            if low[2] < o.sole_low[s]:
                o.sole_low[s] = low[2]
                o.sole_low_ahead[s] = (low[1] - o.ankle[s, 1]) * cy - (low[0] - o.ankle[s, 0]) * sy
        o.load[s] = load[s]
        o.contact[s] = contact[s]
