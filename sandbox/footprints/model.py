"""Where the ankles are and how much the body turns: Pinocchio's kinematics and centroidal map, with their derivatives.

The pelvis is held at mid-hip and turns about three axes: neither the vector from one ankle to the other nor the angular momentum about
the centre of mass depends on where the body is or how fast it moves as a whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from sandbox.conventions import GRAVITY, MIRROR_AXIAL, MIRROR_VECTOR
from sandbox.footprints.anatomy import LEG, PELVIS, WalkerAnatomy

Array = NDArray[np.float64]
RIGHT, LEFT = 0, 1


class Ankles(NamedTuple):
    """Ankle centres relative to mid-hip.

    Attributes:
        position: (2, 3) [m], right then left.
        jacobian: (2, 3, 11) [m/rad].
    """

    position: Array
    jacobian: Array


class Momentum(NamedTuple):
    """Angular momentum about the centre of mass (3,) [kg m^2/s], its derivatives by angle (3, 11) and by rate (3, 11)."""

    value: Array
    by_angle: Array
    by_rate: Array


class Energy(NamedTuple):
    """Mechanical energy [J] of a body that is carried over one ankle, its derivatives by angle (11,) and by rate (11,)."""

    value: float
    by_angle: Array
    by_rate: Array


class Body:
    """An anatomy as a Pinocchio model of 11 revolute joints, in the order of :data:`sandbox.footprints.curves.CHANNELS`."""

    def __init__(self, anatomy: WalkerAnatomy) -> None:
        self.anatomy = anatomy
        self.model = pin.Model()
        placed = pin.SE3(np.eye(3), np.zeros(3))
        parent = 0
        for name in PELVIS:
            parent = self._joint(parent, name, anatomy.dofs[name].axis, placed)
        pelvis = parent
        self._append(pelvis, "trunk", np.ones(3))
        self._ankle = []
        for side in ("right", "left"):
            mirror = np.ones(3) if side == "right" else np.array(MIRROR_VECTOR)
            axial = np.ones(3) if side == "right" else np.array(MIRROR_AXIAL)
            parent, place = pelvis, pin.SE3(np.eye(3), mirror * anatomy.hip)
            for name in LEG:
                if name == "knee_flexion":
                    self._append(parent, "thigh", mirror)
                    place = pin.SE3(np.eye(3), mirror * anatomy.knee)
                parent = self._joint(parent, f"{side}_{name}", axial * anatomy.dofs[name].axis, place)
                place = placed
            self._append(parent, "shank", mirror)
            ankle = mirror * anatomy.ankle
            self._append(parent, "foot", mirror, ankle)
            frame = pin.Frame(f"{side}_ankle", parent, parent, pin.SE3(np.eye(3), ankle), pin.FrameType.OP_FRAME)
            self._ankle.append(self.model.addFrame(frame))
        self.data = self.model.createData()
        self.mass = anatomy.mass

    def _joint(self, parent: int, name: str, axis: Array, place: pin.SE3) -> int:
        return int(self.model.addJoint(parent, pin.JointModelRevoluteUnaligned(axis), place, name))

    def _append(self, joint: int, segment: str, mirror: Array, at: Array | None = None) -> None:
        part = self.anatomy.segments[segment]
        inertia = part.inertia * np.outer(mirror, mirror)
        body = pin.Inertia(part.mass, mirror * part.com, inertia)
        self.model.appendBodyToJoint(joint, body, pin.SE3(np.eye(3), np.zeros(3) if at is None else at))

    def ankles(self, q: Array) -> Ankles:
        """At angles ``q`` (11,) [rad]."""
        pin.computeJointJacobians(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)
        position = np.array([self.data.oMf[k].translation for k in self._ankle])
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return Ankles(position, np.array([pin.getFrameJacobian(self.model, self.data, k, world)[:3] for k in self._ankle]))

    def between(self, q: Array, lead: int = RIGHT) -> tuple[Array, Array]:
        """From the other ankle to the one of foot ``lead`` (3,) [m], and its derivative (3, 11)."""
        found = self.ankles(q)
        sign = 1.0 if lead == RIGHT else -1.0
        return sign * (found.position[0] - found.position[1]), sign * (found.jacobian[0] - found.jacobian[1])

    def placements(self, q: Array) -> dict[str, tuple[Array, Array]]:
        """Rotation (3, 3) and origin (3,) [m] of pelvis, thighs and shanks, relative to mid-hip."""
        pin.forwardKinematics(self.model, self.data, q)
        joints = {"pelvis": "pelvis_tilt"} | {
            f"{s}_{p}": f"{s}_{j}" for s in ("right", "left") for p, j in (("thigh", "hip_rotation"), ("shank", "knee_flexion"))
        }
        out = {}
        for name, joint in joints.items():
            at = self.data.oMi[self.model.getJointId(joint)]
            out[name] = (at.rotation.copy(), at.translation.copy())
        return out

    def momentum(self, q: Array, rate: Array) -> Momentum:
        """At angles ``q`` (11,) [rad] and rates (11,) [rad/s]."""
        by_angle, _, _, by_rate = pin.computeCentroidalDynamicsDerivatives(self.model, self.data, q, rate, np.zeros(11))
        return Momentum(self.data.hg.angular.copy(), by_angle[3:], by_rate[3:])

    def energy(self, q: Array, rate: Array, stance: int) -> Energy:
        """At angles ``q`` (11,) [rad] and rates (11,) [rad/s], the ankle of foot ``stance`` at rest."""
        model, data, world = self.model, self.data, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        coriolis = pin.computeCoriolisMatrix(model, data, q, rate).copy()
        inertia = pin.crba(model, data, q).copy()
        inertia = np.triu(inertia) + np.triu(inertia, 1).T
        pin.computeForwardKinematicsDerivatives(model, data, q, rate, np.zeros(11))
        pin.centerOfMass(model, data, q, rate)
        com_by_angle = pin.getCenterOfMassVelocityDerivatives(model, data).copy()
        pin.updateFramePlacements(model, data)
        frame = self._ankle[stance]
        at = model.frames[frame]
        foot_by_angle, foot = (m.copy() for m in pin.getPointVelocityDerivatives(model, data, at.parentJoint, at.placement, world))
        com = pin.jacobianCenterOfMass(model, data, q).copy()
        height = float(data.com[0][2] - data.oMf[frame].translation[2])
        # Speed of the centre of mass in the model, where mid-hip rests, and over the resting ankle.
        own, over = com @ rate, (com - foot) @ rate
        over_by_angle = com_by_angle - foot_by_angle
        value = 0.5 * rate @ inertia @ rate + 0.5 * self.mass * (over @ over - own @ own) + self.mass * GRAVITY * height
        by_rate = inertia @ rate + self.mass * ((com - foot).T @ over - com.T @ own)
        by_angle = coriolis.T @ rate + self.mass * (over_by_angle.T @ over - com_by_angle.T @ own)
        by_angle += self.mass * GRAVITY * (com - foot)[2]
        return Energy(float(value), by_angle, by_rate)
