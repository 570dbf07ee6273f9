"""What the formats share: axes of other programs, an even rate, and the poses of the links."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.kinematics import Tree, forward, points_in_world
from sandbox.recording import Recording
from sandbox.spatial import matrix_from_quaternion

Array = NDArray[np.float64]

# Rows: axes of the other program in ours (right, forward, up).
Y_UP_Z_FORWARD: Final = np.array([(-1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)])  # left, up, forward: BVH, glTF
OPENSIM: Final = np.array([(0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)])  # forward, up, right

REBUILT = 1e-3  # [m]: how far the points of the rebuilt body may be from the recorded ones


class Motion(NamedTuple):
    """The body of a recording and the pose of its links: rotations (T, L, 3, 3), link to world, and origins (T, L, 3) [m]."""

    anatomy: Anatomy
    rotations: Array
    positions: Array


def check_rows(recording: Recording) -> None:
    """Raise ValueError for a recording without rows or points."""
    if not len(recording) or not recording.has("points"):
        raise ValueError("the recording has no rows with body points: there is nothing to export")


def frame_rate(recording: Recording) -> float:
    """Rows a second. Raises ValueError where they are not evenly spaced, which the format cannot say."""
    if len(recording) < 2:
        return 120.0
    steps = np.diff(recording.time)
    rate = 1.0 / recording.interval
    if np.ptp(steps) > 1e-6:
        raise ValueError(f"rows are {steps.min():g} to {steps.max():g} s apart, and this format has one rate: export it as csv")
    return float(round(rate)) if abs(rate - round(rate)) < 1e-6 * rate else rate


def motion_of(recording: Recording) -> Motion:
    """The body that the header names, in the recorded poses.

    Raises:
        ValueError: the recording has no joint angles, or its body cannot be rebuilt from its header.
    """
    if not recording.has("q", "root_position", "root_quaternion"):
        raise ValueError("the recording has no joint angles: export it as trc, c3d, glb or csv, which take body points alone")
    body = recording.header["body"]
    try:
        anatomy = Anatomy(float(body["mass_kg"]), float(body["height_m"]), body.get("sex", "mean"))
    except (KeyError, TypeError) as error:
        raise ValueError(f"the recording's header does not say which body this is ({error}): export it as trc, c3d, glb or csv") from None
    if [joint.name for joint in anatomy.joints] != recording.header["joint_names"]:
        raise ValueError("the recording has other joints than this version's body: export it as trc, c3d, glb or csv")
    tree, rows, n = Tree.of(anatomy), len(recording), len(anatomy.joints)
    rotations, positions = np.zeros((rows, n + 1, 3, 3)), np.zeros((rows, n + 1, 3))
    roots = matrix_from_quaternion(recording.root_quaternion)
    still, velocity, axes = np.zeros(n), np.zeros((2, n + 1, 3)), np.zeros((n, 3))
    points = np.zeros((rows, len(anatomy.points), 3))
    for k in range(rows):
        forward(
            recording.root_position[k], roots[k], still[:3], still[:3], recording.q[k], still, tree.parent, tree.axis, tree.origin,
            rotations[k], positions[k], velocity[0], velocity[1], axes,
        )  # fmt: skip
        points_in_world(tree.point_link, tree.point, rotations[k], positions[k], points[k])
    shared = [name for name in anatomy.points if name in recording.header["point_names"]]
    for name in shared:
        far = float(np.abs(points[:, list(anatomy.points).index(name)] - recording.point(name)).max())
        if far > REBUILT:
            raise ValueError(
                f"{name} is up to {1000 * far:.1f} mm from where the header's body has it, so that its joint angles are not those of "
                "that body: export it as trc, c3d, glb or csv"
            )
    return Motion(anatomy, rotations, positions)
