"""Axes, units, angle signs and quaternion order: the one place, proved against PyBullet and Pinocchio by the tests.

Axes
    World and every link at zero pose: +X the subject's right, +Y forward, +Z up, right-handed. At zero pose the subject
    stands upright in the anatomical position, arms and legs straight down, facing +Y.

Units
    Metres, seconds, kilograms, newtons, radians. Degrees only in keys and columns that end in ``_deg``, and in what
    people read.

Rotations
    Quaternions are ``x, y, z, w`` (as in PyBullet and in Pinocchio's configuration vector); ``q`` and ``-q`` are the
    same rotation. A quaternion or matrix of a frame takes coordinates in that frame to coordinates in the world.
    Positive angles follow the right-hand rule about the axis. Heading (yaw) is 0 when facing +Y and grows to the left,
    counter-clockwise seen from above.

Engines
    PyBullet reports velocities in the world, of a base at its centre of mass. The first six velocities of a Pinocchio model
    with a free-flyer are linear, then angular, of the base link's origin and in the base link's own axes.

Joint angles
    Zero at zero pose. Positive as in the clinical literature: flexion, dorsiflexion, adduction, internal rotation,
    inversion, extension of the toes (:data:`JOINT_SIGNS`). Joint coordinate systems after the ISB (Wu et al. 2002,
    2005): flexion about the proximal medio-lateral axis, then adduction, then rotation about the distal long axis. The
    ISB's X, Y, Z (forward, up, right) are Y, Z, X here.

Pelvis
    Tilt is positive when the front goes down (anterior tilt), obliquity when the right side goes up, rotation when the
    right side goes forward (:data:`PELVIS_SIGNS`).

Contact
    Ground force is the force on the body: its vertical part is positive. The lead of a touchdown is positive when the ground was
    met before it was predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

Triple = tuple[float, float, float]

RIGHT: Final[Triple] = (1.0, 0.0, 0.0)
LEFT: Final[Triple] = (-1.0, 0.0, 0.0)
FORWARD: Final[Triple] = (0.0, 1.0, 0.0)
BACKWARD: Final[Triple] = (0.0, -1.0, 0.0)
UP: Final[Triple] = (0.0, 0.0, 1.0)
DOWN: Final[Triple] = (0.0, 0.0, -1.0)

GRAVITY: Final = 9.81  # [m/s^2], downward; also Pinocchio's default
GRAVITY_VECTOR: Final[Triple] = (0.0, 0.0, -GRAVITY)  # [m/s^2]

QUATERNION_ORDER: Final = "xyzw"
IDENTITY_QUATERNION: Final = (0.0, 0.0, 0.0, 1.0)

# Mirroring at the sagittal plane (right <-> left): factors of an ordinary vector (position, velocity, force) and of an
# axial one (rotation axis, angular velocity, torque, angular momentum).
MIRROR_VECTOR: Final[Triple] = (-1.0, 1.0, 1.0)
MIRROR_AXIAL: Final[Triple] = (1.0, -1.0, -1.0)


@dataclass(frozen=True)
class AngleSign:
    """What a positive angle means.

    Attributes:
        axis: rotation axis at zero pose, of the right side or of the midline; the left side's is mirrored by
            :data:`MIRROR_AXIAL`.
        meaning: what a positive angle does, in words.
    """

    axis: Triple
    meaning: str


_X, _Y, _Z, _MINUS_X = RIGHT, FORWARD, UP, LEFT

# By the joint's name without its side.
JOINT_SIGNS: Final[dict[str, AngleSign]] = {
    "lumbar_flexion": AngleSign(_MINUS_X, "the trunk leans forward"),
    "lumbar_lateral": AngleSign(_Y, "the trunk leans to the right"),
    "lumbar_rotation": AngleSign(_Z, "the trunk turns to the left"),
    "thorax_rotation": AngleSign(_Z, "the thorax turns to the left"),
    "head_flexion": AngleSign(_MINUS_X, "the head nods forward"),
    "shoulder_flexion": AngleSign(_X, "the arm swings forward"),
    "shoulder_adduction": AngleSign(_Y, "the arm moves to the midline"),
    "shoulder_rotation": AngleSign(_Z, "internal: a forearm that points forward turns to the midline"),
    "elbow_flexion": AngleSign(_X, "the hand moves forward and up"),
    "hip_flexion": AngleSign(_X, "the knee moves forward and up"),
    "hip_adduction": AngleSign(_Y, "the knee moves to the midline"),
    "hip_rotation": AngleSign(_Z, "internal: the toes turn to the midline"),
    "knee_flexion": AngleSign(_MINUS_X, "the ankle moves backward and up"),
    "ankle_dorsiflexion": AngleSign(_X, "the toes move up"),
    "ankle_inversion": AngleSign(_Y, "the sole turns to the midline"),
    "mtp_extension": AngleSign(_X, "the toes move up against the foot"),
}

# Of the pelvis, about the axes of the world.
PELVIS_SIGNS: Final[dict[str, AngleSign]] = {
    "tilt": AngleSign(LEFT, "the front of the pelvis goes down"),
    "obliquity": AngleSign(BACKWARD, "the right side goes up"),
    "rotation": AngleSign(UP, "the right side goes forward"),
}
