"""Skeletons of the CMU motion capture database (ASF), and frames of their motions (AMC)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import REFERENCE
from sandbox.bodies.rigs.pose import TURNS, BodyPose, Fit, angle_about, angle_between, fit, link_rotations
from sandbox.config import check_range
from sandbox.mocap import asf
from sandbox.spatial import rotation_x, rotation_y, rotation_z

SPREAD, RAISED = math.radians(20), math.radians(30)  # legs of CMU's neutral pose from the vertical; planes of its elbows above the forward
# Bone of a CMU skeleton by the link that follows it.
CMU_LINKS: Final = {"pelvis": asf.ROOT, "abdomen": "lowerback", "thorax": "thorax", "head": "head"} | {
    f"{side}_{link}": f"{side[0]}{bone}"
    for side in SIDES
    for link, bone in {
        "upper_arm": "humerus", "forearm": "radius", "thigh": "femur", "shank": "tibia", "hindfoot": "foot", "toes": "toes",
    }.items()
}  # fmt: skip
HINGES: Final = {"upper_arm": "radius", "forearm": "radius", "thigh": "tibia", "shank": "tibia", "hindfoot": "tibia", "toes": "tibia"}


class Frame(NamedTuple):
    """A frame of an AMC, and the angle [rad] by which each bone that follows a link is off, by link."""

    motion: asf.Motion
    residual: Mapping[str, float]


class CmuRig:
    """A skeleton of the CMU database (ASF), its poses frames of an AMC.

    The skeleton's neutral pose (all angles zero, legs spread, arms out) is found from its bones: a thigh, shank or arm points along
    its bone, and its hinge (knee, elbow) turns about the X axis of the bone below the hinge. Feet follow the shank.
    CMU's ankle has no inversion: what a body's ankle inverts is left out.

    Args:
        skeleton: from :func:`sandbox.mocap.asf.read_asf`, or :func:`cmu_skeleton`.
        anatomy: of the body.

    Attributes:
        scale: leg of the skeleton over leg of the body, from hip to ankle: by it mid-hip's place is scaled.

    Raises:
        ValueError: a skeleton that lacks bones of the database.
    """

    def __init__(self, skeleton: asf.Skeleton, anatomy: Anatomy = REFERENCE) -> None:
        self.skeleton, self.anatomy = skeleton, anatomy
        self._bone = {bone.name: bone for bone in skeleton.bones}
        missing = sorted({*CMU_LINKS.values(), "lhipjoint", "rhipjoint"} - {asf.ROOT, *self._bone})
        if missing:
            raise ValueError(f"{skeleton.path} has no bones {', '.join(missing)}: give a skeleton of the CMU database")
        legs = sum(skeleton.length(name) for name in ("lfemur", "ltibia", "rfemur", "rtibia")) / 2
        self.scale = legs / (anatomy.length("thigh") + anatomy.length("shank"))
        self._mid_hip = asf.TO_PROJECT @ (self._bone["lhipjoint"].offset + self._bone["rhipjoint"].offset) / 2
        self._at_neutral = {link: np.eye(3) for link in CMU_LINKS}
        for side in SIDES:
            for link in HINGES:
                self._at_neutral[f"{side}_{link}"] = self._neutral(side, link)

    def _neutral(self, side: str, link: str) -> Array:
        """How a link is turned where the skeleton's angles are zero (3, 3)."""
        segment = "shank" if link in ("hindfoot", "toes") else link
        bone = self._bone[CMU_LINKS[f"{side}_{segment}"]]
        hinge = self._bone[f"{side[0]}{HINGES[link]}"].frame[:, 0]
        along = asf.TO_PROJECT @ (bone.offset / np.linalg.norm(bone.offset))
        x = asf.TO_PROJECT @ hinge
        x -= float(x @ along) * along
        x /= np.linalg.norm(x)
        # Positive angles of CMU's hinges flex: a knee about minus X of the body, an elbow about X.
        x = -x if HINGES[link] == "tibia" else x
        return np.column_stack((x, np.cross(-along, x), -along))

    def to_amc(self, pose: BodyPose) -> Frame:
        """One frame of an AMC; bones that follow no link have zeros."""
        links = link_rotations(pose, self.anatomy)
        # Attitudes of bones from where all angles are zero, in Acclaim's axes.
        asked = {bone: asf.TO_PROJECT.T @ links[link] @ self._at_neutral[link].T @ asf.TO_PROJECT for link, bone in CMU_LINKS.items()}
        turned = {asf.ROOT: asked[asf.ROOT]}
        root = self.skeleton.frame.T @ turned[asf.ROOT] @ self.skeleton.frame
        place = asf.TO_PROJECT.T @ (self.scale * pose.position - links["pelvis"] @ self._mid_hip) / self.skeleton.scale
        turns = "".join(name[1] for name in self.skeleton.channels if name[0] == "r")
        angles = dict(zip(turns, _euler_angles(turns, root), strict=True))
        unit = math.degrees(1.0) if self.skeleton.degrees else 1.0
        values = {asf.ROOT: [float(place["xyz".index(c[1])]) if c[0] == "t" else unit * angles[c[1]] for c in self.skeleton.channels]}
        for bone in self.skeleton.bones:
            above = turned[bone.parent]
            turned[bone.name] = above
            if bone.dofs:
                local = bone.frame.T @ above.T @ asked.get(bone.name, above) @ bone.frame
                found = dict(zip(bone.order, _nearest_angles(bone.order, bone.dofs, local), strict=True))
                values[bone.name] = [unit * found[axis] for axis in bone.dofs]
                turned[bone.name] = above @ bone.frame @ _euler(bone.order, [found[axis] for axis in bone.order]) @ bone.frame.T
        motion = asf.Motion(Path("pose.amc"), np.array([1]), {name: np.array([row]) for name, row in values.items()})
        return Frame(motion, {link: angle_between(turned[bone], asked[bone]) for link, bone in CMU_LINKS.items()})

    def rotations(self, motion: asf.Motion) -> dict[str, Array]:
        """How the body's links are turned (T, 3, 3) in every frame of a motion of this skeleton, by link."""
        found = asf.pose(self.skeleton, motion)
        return {link: found.rotations[bone] @ self._at_neutral[link] for link, bone in CMU_LINKS.items()}

    def hips(self) -> float:
        """Half the distance between the skeleton's hip centres [m]."""
        return float(np.linalg.norm(self._bone["lhipjoint"].offset - self._bone["rhipjoint"].offset)) / 2

    def from_amc(self, motion: asf.Motion, frame: int = 0) -> Fit:
        """The body's pose in one frame of a motion of this skeleton.

        Raises:
            ValueError: a frame (counted from 0) that the motion does not have.
        """
        check_range("frame", frame, (0, len(motion.frames) - 1))
        one = asf.Motion(motion.path, motion.frames[[frame]], {name: rows[[frame]] for name, rows in motion.values.items()})
        found = asf.pose(self.skeleton, one)
        rotations = {link: found.rotations[bone][0] @ self._at_neutral[link] for link, bone in CMU_LINKS.items()}
        mid_hip = (found.ends["lhipjoint"][0] + found.ends["rhipjoint"][0]) / 2
        return fit(mid_hip / self.scale, rotations, self.anatomy)


def _euler(order: str, angles: list[float]) -> Array:
    """Rotation (3, 3) about the fixed axes of ``order``, the first one first."""
    out = np.eye(3)
    for axis, angle in zip(order, angles, strict=True):
        out = TURNS["xyz".index(axis)](angle) @ out
    return out


def _euler_angles(order: str, rotation: Array) -> list[float]:
    """Angles of :func:`_euler`."""
    return [float(a) for a in Rotation.from_matrix(rotation).as_euler(order)]


def _nearest_angles(order: str, dofs: str, rotation: Array) -> list[float]:
    """Angles about the axes of ``order`` that come nearest to a rotation where only ``dofs`` may turn."""
    if len(dofs) == 3:
        return _euler_angles(order, rotation)
    if len(dofs) == 1:
        return [angle_about("xyz".index(dofs), rotation) if axis == dofs else 0.0 for axis in order]

    def off(angles: Array) -> Array:
        given = dict(zip(dofs, angles.tolist(), strict=True))
        return np.asarray((_euler(order, [given.get(axis, 0.0) for axis in order]) - rotation).ravel())

    start = dict(zip(order, _euler_angles(order, rotation), strict=True))
    found = least_squares(off, [start[axis] for axis in dofs], xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    given = dict(zip(dofs, found.tolist(), strict=True))
    return [given.get(axis, 0.0) for axis in order]


def cmu_skeleton(anatomy: Anatomy = REFERENCE) -> asf.Skeleton:
    """A skeleton with the bones, axes and degrees of freedom of the CMU database and the lengths of a body of ours."""
    bones: list[asf.Bone] = []

    def add(name: str, parent: str, offset: Array, frame: Array, dofs: str) -> None:
        bones.append(asf.Bone(name, parent, offset, frame, "xyz", dofs))

    upright = np.eye(3)
    left, up, ahead = upright  # Acclaim's axes
    lower, middle, upper, trunk, head = (anatomy.length(name) for name in ("lower_trunk", "middle_trunk", "upper_trunk", "trunk", "head"))
    shoulders = trunk - lower - middle  # CMU's collar bones start where its thorax ends
    add("lowerback", asf.ROOT, lower * up, upright, "xyz")
    add("upperback", "lowerback", middle * up, upright, "xyz")
    add("thorax", "upperback", shoulders * up, upright, "xyz")
    add("lowerneck", "thorax", (upper - shoulders) * up, upright, "xyz")
    add("upperneck", "lowerneck", 0.3 * head * up, upright, "xyz")
    add("head", "upperneck", 0.7 * head * up, upright, "xyz")
    shoulder = float(anatomy.points["right_shoulder"][1][0])
    mtp = anatomy.joints[anatomy.joint_index["right_mtp_extension"]].origin
    for side, sign in (("l", 1.0), ("r", -1.0)):
        leg = np.array([sign * math.sin(SPREAD), -math.cos(SPREAD), 0.0])
        tilted = rotation_z(sign * SPREAD)
        foot = tilted @ rotation_x(-math.pi / 2)
        add(f"{side}hipjoint", asf.ROOT, sign * anatomy.hip_half_spacing * left, upright, "")
        add(f"{side}femur", f"{side}hipjoint", anatomy.length("thigh") * leg, tilted, "xyz")
        add(f"{side}tibia", f"{side}femur", anatomy.length("shank") * leg, tilted, "x")
        add(f"{side}foot", f"{side}tibia", tilted @ np.array([0.0, mtp[2], mtp[1]]), foot, "xz")
        add(f"{side}toes", f"{side}foot", (anatomy.toe_ahead_of_ankle - anatomy.ball_ahead_of_ankle) * ahead, foot, "x")
        arm = rotation_z(-sign * math.pi / 2) @ rotation_y(-sign * RAISED) @ rotation_x(math.pi)
        hand = rotation_z(sign * math.pi / 2) @ rotation_y(sign * math.pi / 2)
        out = sign * left
        add(f"{side}clavicle", "thorax", shoulder * out, upright, "yz")
        add(f"{side}humerus", f"{side}clavicle", anatomy.length("upper_arm") * out, arm, "xyz")
        add(f"{side}radius", f"{side}humerus", anatomy.length("forearm") * out, arm, "x")
        add(f"{side}wrist", f"{side}radius", 0.5 * anatomy.length("hand") * out, hand, "y")
        add(f"{side}hand", f"{side}wrist", 0.5 * anatomy.length("hand") * out, hand, "xz")
    scale = asf.INCH / 0.45
    return asf.Skeleton(Path("cmu.asf"), tuple(bones), ("tx", "ty", "tz", "rx", "ry", "rz"), np.eye(3), scale, True)
