"""The contract of the pose adapters: a body's pose, and how it is found again from the attitudes of its links."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from sandbox.bodies.anatomy import SIDES, Anatomy, Joint
from sandbox.bodies.inertia import Array
from sandbox.bodies.kinematics import Tree, place
from sandbox.bodies.reference import REFERENCE, landmarks
from sandbox.spatial import rotation_x, rotation_y, rotation_z

CLAVICLE = 0.15  # inner end of a collar bone, from the midline, of the way to the shoulder (assumed)
TURNS = (rotation_x, rotation_y, rotation_z)


@dataclass(frozen=True)
class BodyPose:
    """The contract.

    Attributes:
        position: mid-hip (3,) [m].
        rotation: pelvis to world (3, 3).
        q: joint angles (n,) [rad], in the canonical order of ``Anatomy.joints``, which is the same for every body.

    Raises:
        ValueError: a number that is not finite.
    """

    position: Array
    rotation: Array
    q: Array

    def __post_init__(self) -> None:
        for name in ("position", "rotation", "q"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} of a pose is not finite: give numbers")


@dataclass(frozen=True)
class Fit:
    """A pose that was taken from rotations.

    Attributes:
        pose: joint angles, as near as the body's joints come.
        residual: angle [rad] by which the link below each joint is off, by name of the link: 0 where its joint can do what was asked.
    """

    pose: BodyPose
    residual: Mapping[str, float]


# Links between which the body has a joint, with the axes of the joint in order; the joints' names without side.
CHAINS: Final = {
    "upper_arm": ("thorax", ("shoulder_flexion", "shoulder_adduction", "shoulder_rotation")),
    "forearm": ("upper_arm", ("elbow_flexion",)),
    "thigh": ("pelvis", ("hip_flexion", "hip_adduction", "hip_rotation")),
    "shank": ("thigh", ("knee_flexion",)),
    "hindfoot": ("shank", ("ankle_dorsiflexion", "ankle_inversion")),
    "toes": ("hindfoot", ("mtp_extension",)),
}


def link_rotations(pose: BodyPose, anatomy: Anatomy = REFERENCE) -> dict[str, Array]:
    """Rotation of every link (3, 3), link to world."""
    return dict(zip(anatomy.link_index, place(_tree(anatomy), pose.position, pose.rotation, pose.q)[0], strict=True))


def landmark_places(pose: BodyPose, anatomy: Anatomy = REFERENCE) -> dict[str, Array]:
    """Landmarks (3,) [m] in the world, with the joints of the spine (lumbar, thoracic), toe joints, and inner ends of the collar bones."""
    rotations, origins = place(_tree(anatomy), pose.position, pose.rotation, pose.q)
    index = anatomy.link_index
    out = {name: origins[index[link]] + rotations[index[link]] @ point for name, (link, point) in landmarks(anatomy).items()}
    out |= {"lumbar": origins[index["abdomen"]], "thoracic": origins[index["thorax"]]}
    for side in SIDES:
        out[f"{side}_mtp"] = origins[index[f"{side}_toes"]]
        out[f"{side}_clavicle"] = out["mid_shoulder"] + CLAVICLE * (out[f"{side}_shoulder"] - out["mid_shoulder"])
    return out


@cache
def _tree(anatomy: Anatomy) -> Tree:
    return Tree.of(anatomy)


def fit(position: Array, rotations: Mapping[str, Array], anatomy: Anatomy = REFERENCE) -> Fit:
    """Joint angles of links' rotations: of pelvis, abdomen, thorax, head, and the links of :data:`CHAINS` on both sides.

    A three-axis joint has two solutions: the one nearer to the joint's limits is taken. With its middle axis at 90 degrees (an arm
    straight out) flexion and rotation turn about one line: all of the turn is then called rotation.
    """
    q = np.zeros(len(anatomy.joints))
    residual: dict[str, float] = {}
    reached: dict[str, Array] = {"pelvis": np.asarray(rotations["pelvis"], dtype=np.float64)}

    def solve(parent: str, link: str, names: tuple[str, ...], wanted: Array) -> None:
        joints = [anatomy.joints[anatomy.joint_index[name]] for name in names]
        turn = reached[parent].T @ wanted
        angles = _angles(turn, joints) if len(joints) > 1 else [float(joints[0].axis.sum()) * angle_about(_axis(joints[0]), turn)]
        q[[anatomy.joint_index[name] for name in names]] = angles
        turn = reached[parent]
        for joint, angle in zip(joints, angles, strict=True):
            turn = turn @ _about(joint.axis, angle)
        reached[link] = turn
        residual[link] = angle_between(turn, wanted)

    # The spine turns about four axes, the last two of them the same: how much of the turn is the thorax's is seen against the abdomen.
    thorax_rotation = angle_about(2, rotations["abdomen"].T @ rotations["thorax"])
    lumbar = ("lumbar_flexion", "lumbar_lateral", "lumbar_rotation")
    solve("pelvis", "abdomen", lumbar, rotations["thorax"] @ rotation_z(-thorax_rotation))
    solve("abdomen", "thorax", ("thorax_rotation",), rotations["thorax"])
    solve("thorax", "head", ("head_flexion",), rotations["head"])
    for side in SIDES:
        for link, (parent, names) in CHAINS.items():
            above = parent if parent in reached else f"{side}_{parent}"
            solve(above, f"{side}_{link}", tuple(f"{side}_{name}" for name in names), rotations[f"{side}_{link}"])
    return Fit(BodyPose(np.asarray(position, dtype=np.float64), reached["pelvis"], q), residual)


def _angles(turn: Array, joints: Sequence[Joint]) -> list[float]:
    """Angles of joints about x, y and, where there are three, z, in this order, that make a rotation (3, 3)."""
    first, middle, last = (
        math.atan2(-turn[1, 2], turn[2, 2]),
        math.asin(min(1.0, max(-1.0, turn[0, 2]))),
        math.atan2(-turn[0, 1], turn[0, 0]),
    )
    if abs(turn[0, 2]) > 1 - 1e-12:
        first, last = 0.0, math.atan2(turn[1, 0], turn[1, 1])
    count = len(joints)
    signs, (low, high) = np.array([joint.axis.sum() for joint in joints]), np.array([joint.outer for joint in joints]).T
    one = np.array([first, middle, last])[:count] * signs
    if count == 2:
        return [float(angle) for angle in one]
    other = np.array([first - math.pi, math.pi - middle, last - math.pi]) * signs
    both = np.remainder(np.stack((one, other)) + math.pi, 2 * math.pi) - math.pi
    beyond = np.maximum(low - both, both - high).clip(0).sum(axis=1)
    return [float(angle) for angle in both[int(beyond.argmin())]]


def _axis(joint: Joint) -> int:
    return int(np.abs(joint.axis).argmax())


def _about(axis: Array, angle: float) -> Array:
    """Rotation (3, 3) about plus or minus one of the axes."""
    return TURNS[int(np.abs(axis).argmax())](float(axis.sum()) * angle)


def angle_about(k: int, rotation: Array) -> float:
    """Angle [rad] about axis ``k`` alone that comes nearest to a rotation (3, 3)."""
    a, b = (k + 1) % 3, (k + 2) % 3
    return math.atan2(rotation[b, a] - rotation[a, b], rotation[a, a] + rotation[b, b])


def angle_between(a: Array, b: Array) -> float:
    """Angle [rad] of the rotation from one attitude (3, 3) to another; exact for small ones, too."""
    return 2 * math.asin(min(1.0, float(np.linalg.norm(a - b)) / math.sqrt(8)))


def zero_pose(angles: Mapping[str, float], anatomy: Anatomy = REFERENCE) -> BodyPose:
    """Upright at the origin with some joints, named without side, at an angle [rad] on both sides."""
    q = np.zeros(len(anatomy.joints))
    for side in SIDES:
        for name, angle in angles.items():
            q[anatomy.joint_index[f"{side}_{name}"]] = angle
    return BodyPose(np.zeros(3), np.eye(3), q)
