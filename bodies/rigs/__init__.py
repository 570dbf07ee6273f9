"""Pose adapters: the body's joint angles as the pose of a foreign skeleton, and back (LO-001).

The contract is a :class:`BodyPose`: where mid-hip is, how the pelvis is turned, and anatomical joint angles with the signs of
:mod:`sandbox.conventions`. Names, bind orientations, units and axes of a foreign skeleton stay on its side of the adapter, which
says of each of its bones which link of the body it follows, and how that link is turned where the skeleton is in its neutral pose::

    G = C R N^T C^T     R  link, from its zero pose        N  link at the skeleton's neutral pose, from its zero pose
                        G  bone, from the neutral pose     C  the project's axes in the skeleton's

Bones without a link keep still against their parent. Back, joint angles are taken from the links' rotations; what a joint of the body
cannot do (a knee that twists) is left out, and told as a residual.
"""

from sandbox.bodies.rigs.cmu import CmuRig, cmu_skeleton
from sandbox.bodies.rigs.mixamo import MixamoRig, RigPose
from sandbox.bodies.rigs.pose import BodyPose, Fit, angle_between, fit, landmark_places, link_rotations, zero_pose

__all__ = [
    "BodyPose",
    "CmuRig",
    "Fit",
    "MixamoRig",
    "RigPose",
    "angle_between",
    "cmu_skeleton",
    "fit",
    "landmark_places",
    "link_rotations",
    "zero_pose",
]
