"""Angular momentum of a recorded body about its centre of mass."""

from __future__ import annotations

import numpy as np

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.kinematics import Tree, angular_momentum, forward
from sandbox.recording import Recording
from sandbox.spatial import matrix_from_quaternion


def recorded_momentum(recording: Recording) -> Array:
    """Angular momentum (T, 3) [kg m^2/s] about the centre of mass, of the body that the header names in the recorded motion.

    Raises:
        ValueError: the recording has no joint angles and speeds, or other joints than the header's body.
    """
    if not recording.has("q", "qd", "root_position", "root_quaternion", "root_velocity", "root_angular_velocity", "com", "com_velocity"):
        raise ValueError("the recording has no joint angles and speeds")
    body = recording.header["body"]
    anatomy = Anatomy(float(body["mass_kg"]), float(body["height_m"]), body.get("sex", "mean"))
    if [joint.name for joint in anatomy.joints] != recording.header["joint_names"]:
        raise ValueError("the recording has other joints than this version's body")
    tree, n = Tree.of(anatomy), len(anatomy.joints)
    roots = matrix_from_quaternion(recording.root_quaternion)
    r, p, v, w = np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3))
    axes, out = np.zeros((n, 3)), np.zeros((len(recording), 3))
    for k in range(len(recording)):
        forward(
            recording.root_position[k], roots[k], recording.root_velocity[k], recording.root_angular_velocity[k], recording.q[k],
            recording.qd[k], tree.parent, tree.axis, tree.origin, r, p, v, w, axes,
        )  # fmt: skip
        angular_momentum(tree.mass, tree.com, tree.inertia, r, p, v, w, recording.com[k], recording.com_velocity[k], out[k])
    return out
