"""A skeleton with Mixamo's names and a neutral pose of our own making: no asset, and none of its semantics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import REFERENCE
from sandbox.bodies.rigs.pose import BodyPose, Fit, fit, landmark_places, link_rotations, zero_pose

# Y up, Z forward, X to the subject's left: the project's axes in the skeleton's. The matrix is its own inverse.
Y_UP: Final[Array] = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True)
class Bone:
    """A bone of a skeleton whose nodes are its joints.

    Attributes:
        name, parent: ``parent`` is empty for the root.
        offset: of its joint from the parent's, where the skeleton is neutral (3,) [skeleton's unit and axes].
        bind: its own axes in the skeleton's, where it is neutral (3, 3).
        link: of the body, which it follows; empty where it keeps still against its parent.
    """

    name: str
    parent: str
    offset: Array
    bind: Array
    link: str


@dataclass(frozen=True)
class RigPose:
    """Translation (3,) of the root's joint, and rotation (3, 3) of each bone in its parent's axes: what a scene graph holds."""

    translation: Array
    rotations: Mapping[str, Array]


class MixamoRig:
    """A skeleton with Mixamo's names and a neutral pose of our own making: T-pose, Y up, facing +Z, centimetres.

    Args:
        anatomy: whose lengths it has.

    Attributes:
        bones: parents before children. Each bone's own Y axis points along it; no bind orientation is the identity's by chance.
    """

    PREFIX: Final = "mixamorig:"
    UNIT: Final = 100.0  # per metre

    def __init__(self, anatomy: Anatomy = REFERENCE) -> None:
        self.anatomy = anatomy
        self._neutral = zero_pose({"shoulder_adduction": -math.pi / 2}, anatomy)
        turned = link_rotations(self._neutral, anatomy)
        self._at_neutral = turned
        place = {name: self.UNIT * Y_UP @ point for name, point in landmark_places(self._neutral, anatomy).items()}
        self.bones = tuple(self._build(place))

    def _build(self, place: Mapping[str, Array]) -> list[Bone]:
        # name, parent, landmark, landmark to which its Y axis points, link that it follows
        rows = [
            ("Hips", "", "mid_hip", "lumbar", "pelvis"),
            ("Spine", "Hips", "lumbar", "thoracic", "abdomen"),
            ("Spine1", "Spine", "chest", "thoracic", ""),
            ("Spine2", "Spine1", "thoracic", "neck_base", "thorax"),
            ("Neck", "Spine2", "neck_base", "head", "head"),
            ("Head", "Neck", "head", "vertex", ""),
            ("HeadTop_End", "Head", "vertex", "", ""),
        ]
        for side in SIDES:
            s = side.capitalize()
            rows += [
                (f"{s}Shoulder", "Spine2", f"{side}_clavicle", f"{side}_shoulder", ""),
                (f"{s}Arm", f"{s}Shoulder", f"{side}_shoulder", f"{side}_elbow", f"{side}_upper_arm"),
                (f"{s}ForeArm", f"{s}Arm", f"{side}_elbow", f"{side}_wrist", f"{side}_forearm"),
                (f"{s}Hand", f"{s}ForeArm", f"{side}_wrist", f"{side}_hand_tip", ""),
                (f"{s}Hand_End", f"{s}Hand", f"{side}_hand_tip", "", ""),
                (f"{s}UpLeg", "Hips", f"{side}_hip", f"{side}_knee", f"{side}_thigh"),
                (f"{s}Leg", f"{s}UpLeg", f"{side}_knee", f"{side}_ankle", f"{side}_shank"),
                (f"{s}Foot", f"{s}Leg", f"{side}_ankle", f"{side}_mtp", f"{side}_hindfoot"),
                (f"{s}ToeBase", f"{s}Foot", f"{side}_mtp", f"{side}_toe_tip", f"{side}_toes"),
                (f"{s}Toe_End", f"{s}ToeBase", f"{side}_toe_tip", "", ""),
            ]
        at = {name: place[landmark] for name, _, landmark, _, _ in rows}
        bones: list[Bone] = []
        bind: dict[str, Array] = {}
        for name, parent, landmark, towards, link in rows:
            bind[name] = _along(place[towards] - place[landmark]) if towards else bind[parent]
            bones.append(Bone(name, parent, at[name] - (at[parent] if parent else 0.0), bind[name], link))
        return bones

    def to_rig(self, pose: BodyPose) -> RigPose:
        """The skeleton's pose."""
        links = link_rotations(pose, self.anatomy)
        turned: dict[str, Array] = {}  # from the neutral pose, in the skeleton's axes
        local: dict[str, Array] = {}
        bind = {bone.name: bone.bind for bone in self.bones}
        for bone in self.bones:
            above = turned.get(bone.parent, np.eye(3))
            turned[bone.name] = Y_UP @ links[bone.link] @ self._at_neutral[bone.link].T @ Y_UP.T if bone.link else above
            parent = above @ bind[bone.parent] if bone.parent else np.eye(3)
            local[self.PREFIX + bone.name] = parent.T @ turned[bone.name] @ bone.bind
        return RigPose(self.UNIT * Y_UP @ pose.position, local)

    def from_rig(self, pose: RigPose) -> Fit:
        """The body's pose.

        Raises:
            ValueError: a bone that is missing.
        """
        world = self._world(pose)
        rotations = {b.link: Y_UP.T @ world[b.name] @ b.bind.T @ Y_UP @ self._at_neutral[b.link] for b in self.bones if b.link}
        return fit(Y_UP.T @ pose.translation / self.UNIT, rotations, self.anatomy)

    def joints(self, pose: RigPose) -> dict[str, Array]:
        """Places (3,) of the bones' joints in the skeleton's axes and unit, by forward kinematics of the skeleton alone."""
        world = self._world(pose)
        bind = {bone.name: bone.bind for bone in self.bones}
        out: dict[str, Array] = {}
        for bone in self.bones:
            if bone.parent:
                out[bone.name] = out[bone.parent] + world[bone.parent] @ bind[bone.parent].T @ bone.offset
            else:
                out[bone.name] = np.asarray(pose.translation)
        return out

    def _world(self, pose: RigPose) -> dict[str, Array]:
        """Own axes of each bone in the skeleton's (3, 3)."""
        world: dict[str, Array] = {}
        for bone in self.bones:
            if self.PREFIX + bone.name not in pose.rotations:
                raise ValueError(f"the pose has no bone {self.PREFIX + bone.name!r}: give all {len(self.bones)} bones")
            local = pose.rotations[self.PREFIX + bone.name]
            world[bone.name] = world[bone.parent] @ local if bone.parent else np.asarray(local)
        return world


def _along(line: Array) -> Array:
    """Axes (3, 3) whose Y points along a line (3,), with Z as near to forward as it goes, or to up where the line is forward."""
    y = line / np.linalg.norm(line)
    near = np.array([0.0, 0.0, 1.0]) if abs(y[2]) < 0.7 else np.array([0.0, 1.0, 0.0])
    x = np.cross(y, near)
    x /= np.linalg.norm(x)
    return np.column_stack((x, y, np.cross(x, y)))
