"""The body in both engines, behind one small interface: links and joints by name, one order of coordinates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pinocchio as pin
import pybullet
import pytest
from numpy.typing import NDArray

from sandbox.bodies import Anatomy, MassProperties, to_urdf
from sandbox.conventions import GRAVITY_VECTOR
from sandbox.spatial import matrix_from_quaternion, normalized, skew

Array = NDArray[np.float64]


@dataclass
class Pose:
    """Root position (3,) and quaternion (4,) of the pelvis link, joint angles (n,) in the anatomy's order."""

    position: Array
    quaternion: Array
    q: Array

    @classmethod
    def zero(cls, anatomy: Anatomy) -> Pose:
        return cls(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(len(anatomy.joints)))

    @classmethod
    def random(cls, anatomy: Anatomy, seed: int) -> Pose:
        """Anywhere, any way up, joints anywhere in their outer envelopes."""
        rng = np.random.default_rng(seed)
        quaternion = rng.normal(size=4)
        low, high = np.array([joint.outer for joint in anatomy.joints]).T
        return cls(rng.normal(size=3), quaternion / np.linalg.norm(quaternion), rng.uniform(low, high))


@dataclass
class LoadedLink:
    """A link as the engine has it: mass properties in the link's frame, and where that frame is in the world."""

    mass_properties: MassProperties
    position: Array
    rotation: Array

    def world(self, point: Array) -> Array:
        return self.position + self.rotation @ point


class Body(Protocol):
    """Coordinates of matrices and forces: base linear, base angular (pelvis link's origin and axes), then the joints."""

    link_names: set[str]
    joint_names: set[str]

    def set_pose(self, pose: Pose) -> None: ...

    def link(self, name: str) -> LoadedLink: ...

    def mass_matrix(self) -> Array: ...

    def inverse_dynamics(self, qd: Array, qdd: Array) -> Array:
        """Force of gravity and joint motion (6 + n,), the base held still: gravity terms alone when qd and qdd are zero."""


class BulletBody:
    """Loaded into its own PyBullet client."""

    def __init__(self, anatomy: Anatomy, text: str, path: Path) -> None:
        path.write_text(text, encoding="utf-8")
        self.client = pybullet.connect(pybullet.DIRECT)
        pybullet.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=self.client)
        self.body = pybullet.loadURDF(str(path), flags=pybullet.URDF_USE_INERTIA_FROM_FILE, physicsClientId=self.client)
        self.root = pybullet.getBodyInfo(self.body, physicsClientId=self.client)[0].decode()
        info = [
            pybullet.getJointInfo(self.body, i, physicsClientId=self.client)
            for i in range(pybullet.getNumJoints(self.body, physicsClientId=self.client))
        ]
        self.joint_info = {row[1].decode(): row for row in info}
        self.link_index = {self.root: -1} | {row[12].decode(): row[0] for row in info}
        self.link_names, self.joint_names = set(self.link_index), set(self.joint_info)
        self.order = [self.joint_info[joint.name][0] for joint in anatomy.joints]
        self.set_pose(Pose.zero(anatomy))

    def dynamics(self, name: str) -> tuple:
        return pybullet.getDynamicsInfo(self.body, self.link_index[name], physicsClientId=self.client)

    def set_pose(self, pose: Pose) -> None:
        self.pose = pose
        # The pose of Bullet's base is that of its inertial frame.
        com = np.array(self.dynamics(self.root)[3])
        self.base_com = com
        world_com = pose.position + matrix_from_quaternion(pose.quaternion) @ com
        pybullet.resetBasePositionAndOrientation(self.body, world_com, pose.quaternion, physicsClientId=self.client)
        for index, angle in zip(self.order, pose.q, strict=True):
            pybullet.resetJointState(self.body, index, angle, physicsClientId=self.client)

    def link(self, name: str) -> LoadedLink:
        row = self.dynamics(name)
        axes = matrix_from_quaternion(np.array(row[4]))
        properties = MassProperties(row[0], np.array(row[3]), axes @ np.diag(row[2]) @ axes.T)
        if name == self.root:
            base = pybullet.getBasePositionAndOrientation(self.body, physicsClientId=self.client)
            rotation = matrix_from_quaternion(np.array(base[1])) @ axes.T
            return LoadedLink(properties, np.array(base[0]) - rotation @ properties.com, rotation)
        state = pybullet.getLinkState(self.body, self.link_index[name], computeForwardKinematics=1, physicsClientId=self.client)
        # getLinkState's poses are good to 1e-7 only, and so is the length of its quaternions.
        return LoadedLink(properties, np.array(state[4]), matrix_from_quaternion(normalized(np.array(state[5]))))

    def _to_link_coordinates(self, force: Array) -> Array:
        """Generalised force (6 + n,) or matrix's rows, from Bullet's coordinates to those of :class:`Body`.

        Bullet's base twist is angular, then linear, of the base's centre of mass and in its own axes; joints in Bullet's
        order.
        """
        twist = np.zeros((6, 6))  # Bullet's base twist from ours
        twist[:3, 3:] = twist[3:, :3] = np.eye(3)
        twist[3:, 3:] = -skew(self.base_com)
        joints = force[6:][self.order]
        return np.concatenate([twist.T @ force[:6], joints])

    def _angles(self) -> list[float]:
        angles = np.empty(len(self.order))
        angles[self.order] = self.pose.q
        return angles.tolist()

    def mass_matrix(self) -> Array:
        matrix = np.array(pybullet.calculateMassMatrix(self.body, self._angles(), physicsClientId=self.client))
        return self._to_link_coordinates(self._to_link_coordinates(matrix).T)

    def inverse_dynamics(self, qd: Array, qdd: Array) -> Array:
        # calculateInverseDynamics misreads a turned base, so that gravity is turned instead; its base part is the force,
        # then the moment, in contrast to the mass matrix.
        gravity = matrix_from_quaternion(self.pose.quaternion).T @ np.array(GRAVITY_VECTOR)
        pybullet.setGravity(*gravity, physicsClientId=self.client)
        speed, acceleration = np.zeros(6 + len(qd)), np.zeros(6 + len(qd))
        speed[6:][self.order], acceleration[6:][self.order] = qd, qdd
        pose = [*self.base_com.tolist(), 0.0, 0.0, 0.0, 1.0, *self._angles()]
        force = pybullet.calculateInverseDynamics(self.body, pose, speed.tolist(), acceleration.tolist(), physicsClientId=self.client)
        force = np.array(force)
        force[:6] = np.roll(force[:6], 3)
        return self._to_link_coordinates(force)


class PinocchioBody:
    """Built from the text with a free-flyer."""

    def __init__(self, anatomy: Anatomy, text: str) -> None:
        self.model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        frames = [frame for frame in self.model.frames if frame.type == pin.FrameType.BODY]
        self.link_names = {frame.name for frame in frames}
        self.joint_names = set(self.model.names) - {"universe", "root_joint"}
        joints = [self.model.joints[self.model.getJointId(joint.name)] for joint in anatomy.joints]
        self.idx_q = [joint.idx_q for joint in joints]
        self.idx_v = [joint.idx_v for joint in joints]
        self.order = [*range(6), *self.idx_v]
        self.set_pose(Pose.zero(anatomy))

    def set_pose(self, pose: Pose) -> None:
        self.q = pin.neutral(self.model)
        self.q[:3], self.q[3:7], self.q[self.idx_q] = pose.position, pose.quaternion, pose.q
        pin.framesForwardKinematics(self.model, self.data, self.q)

    def link(self, name: str) -> LoadedLink:
        index = self.model.getFrameId(name, pin.FrameType.BODY)
        frame, placed = self.model.frames[index], self.data.oMf[index]
        # Every link hangs on a joint of its own, whose frame is the link's.
        assert frame.placement.isIdentity()
        inertia = self.model.inertias[frame.parentJoint]
        return LoadedLink(MassProperties(inertia.mass, inertia.lever, inertia.inertia), placed.translation, placed.rotation)

    def mass_matrix(self) -> Array:
        upper = np.triu(pin.crba(self.model, self.data, self.q))
        return (upper + np.triu(upper, 1).T)[np.ix_(self.order, self.order)]

    def inverse_dynamics(self, qd: Array, qdd: Array) -> Array:
        speed, acceleration = np.zeros(self.model.nv), np.zeros(self.model.nv)
        speed[self.idx_v], acceleration[self.idx_v] = qd, qdd
        return pin.rnea(self.model, self.data, self.q, speed, acceleration)[self.order]


@pytest.fixture
def load_bullet(tmp_path: Path) -> Iterator[Callable[..., BulletBody]]:
    """Function of an anatomy, and optionally its URDF text."""
    counter = itertools.count()
    bodies = []

    def load(anatomy: Anatomy, text: str | None = None) -> BulletBody:
        bodies.append(BulletBody(anatomy, text or to_urdf(anatomy), tmp_path / f"body{next(counter)}.urdf"))
        return bodies[-1]

    yield load
    for body in bodies:
        pybullet.disconnect(body.client)


@pytest.fixture
def load_pinocchio() -> Callable[..., PinocchioBody]:
    """Function of an anatomy, and optionally its URDF text."""
    return lambda anatomy, text=None: PinocchioBody(anatomy, text or to_urdf(anatomy))


@pytest.fixture(params=["bullet", "pinocchio"])
def load(request: pytest.FixtureRequest) -> Callable[..., Body]:
    """Each engine's loader in turn."""
    return request.getfixturevalue(f"load_{request.param}")


@pytest.fixture
def zero_pose() -> Callable[[Anatomy], Pose]:
    return Pose.zero


@pytest.fixture
def random_pose() -> Callable[[Anatomy, int], Pose]:
    return Pose.random
