"""The physical plant: PyBullet in DIRECT mode. Nothing moves the body but joint torques, gravity and contact."""

from __future__ import annotations

import tempfile
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.urdf import to_urdf
from sandbox.controllers.balance import Controller
from sandbox.controllers.observation import Observer
from sandbox.controllers.planner import GaitPlanner
from sandbox.conventions import GRAVITY
from sandbox.plants.base import Array, Fall, Pose, unpredicted
from sandbox.plants.library import bullet
from sandbox.scenes.terrain import Terrain
from sandbox.state import BodyState, ContactEvent, ContactState, SolePart

TOUCH_FORCE = 30.0  # [N] a foot that carries more for two ticks has touched down, on the 70 kg body
RELEASE_FORCE = 10.0  # [N] a foot that carries less for two ticks has lifted off
DEBOUNCE = 2  # ticks: a single tick of Bullet's solver is noisy
LOAD_FILTER = 0.008  # [s] time constant of the load that planner and controller see
FALL_HIP_SHARE = 0.6  # of the standing mid-hip height
FALL_TILT = np.cos(np.radians(60.0))
MAX_JOINT_SPEED = 1e6  # [rad/s] in place of Bullet's 100, which swallows momentum
SAFE_HEIGHT = 3.0  # [m] above ground, where the saved state has no contacts: only such a state restores exactly


@dataclass(frozen=True)
class Physics:
    """Settings of the engine. ``rate`` [Hz]; ``iterations`` of the contact solver."""

    rate: int = 480
    iterations: int = 12

    def __post_init__(self) -> None:
        if not 100 <= self.rate <= 10_000:
            raise ValueError(f"physics rate {self.rate} Hz is outside 100-10000 Hz: 480 is what the walker was tuned with")
        if not 1 <= self.iterations <= 1000:
            raise ValueError(f"solver iterations {self.iterations} are outside 1-1000: 12 is what the walker was tuned with")


class BulletPlant:
    """A body in PyBullet under gravity, joint torques and contact.

    Args:
        anatomy: the body.
        terrain: the ground.
        physics: engine settings.

    Attributes:
        state: refilled after every step.
        load: (2,) filtered vertical force per foot [N]; contact: (2,) debounced 0 / 1.
        fall: set once, when the body fell.
        engine_seconds: CPU time spent inside Bullet's stepSimulation, where ``timed`` is set.
        torque_share: of the joints' torque limits that this body can bear; what a controller asks beyond it is cut off.
    """

    def __init__(self, anatomy: Anatomy, terrain: Terrain | None = None, physics: Physics | None = None) -> None:
        self.anatomy = anatomy
        self.terrain = terrain or Terrain()
        self.physics = physics or Physics()
        self.dt = 1.0 / self.physics.rate
        self.observer = Observer(anatomy)
        n = len(anatomy.joints)
        self.state = BodyState(n)
        self.load = np.zeros(2)
        self.contact = np.zeros(2, dtype=np.int64)
        self.fall: Fall | None = None
        self.timed = False
        self.engine_seconds = 0.0
        self.torque_share = 1.0
        self.controller: Controller | None = None
        self.predicted: Callable[[int, bool], float] = unpredicted
        self._count = np.zeros(2, dtype=np.int64)
        self._tick = 0
        self._base_com = np.array(anatomy.links[0].mass_properties.com)
        self._mass_share = anatomy.mass / 70.0
        self._client: int = bullet.connect(bullet.DIRECT)
        if self._client < 0:
            raise RuntimeError("PyBullet has no free client: close plants that are no longer used")
        # a plant that nobody closes gives its client back when it is collected
        self._finalizer = weakref.finalize(self, _disconnect, self._client)
        self._build()

    # -- world -----------------------------------------------------------------------------------------------------

    @property
    def client(self) -> int:
        """Bullet's client number. Raises RuntimeError after :meth:`close`."""
        if self._client < 0:
            raise RuntimeError("this plant was closed: make a new one")
        return self._client

    def _build(self) -> None:
        c = self._client
        bullet.setGravity(0, 0, -GRAVITY, physicsClientId=c)
        bullet.setPhysicsEngineParameter(
            fixedTimeStep=self.dt, numSolverIterations=self.physics.iterations, numSubSteps=0,
            enableFileCaching=0, deterministicOverlappingPairs=1, physicsClientId=c,
        )  # fmt: skip
        self._build_ground()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "human.urdf"
            path.write_text(to_urdf(self.anatomy), encoding="utf-8")
            flags = bullet.URDF_USE_INERTIA_FROM_FILE
            self.body = bullet.loadURDF(str(path), basePosition=[0, 0, SAFE_HEIGHT], flags=flags, physicsClientId=c)
        b = self.body
        # Bullet numbers links in tree order, so that its order is looked up, never assumed
        info = [bullet.getJointInfo(b, j, physicsClientId=c) for j in range(bullet.getNumJoints(b, physicsClientId=c))]
        number = {row[1].decode(): row[0] for row in info}
        self._joints = [number[joint.name] for joint in self.anatomy.joints]
        link_of = {row[0]: row[12].decode() for row in info} | {-1: self.anatomy.links[0].name}
        self._link_name = link_of
        self.bullet_link = {name: k for k, name in link_of.items()}
        # a foot's parts: hindfoot with heel and ball, told apart by where the contact lies, and toes
        self._foot_part = {
            self.bullet_link[f"{side}_{link}"]: (i, part) for i, side in enumerate(SIDES) for link, part in (("hindfoot", 0), ("toes", 2))
        }
        for j in range(-1, len(info)):
            bullet.changeDynamics(
                b, j, lateralFriction=1.0, spinningFriction=0.0, rollingFriction=0.0, restitution=0.0,
                linearDamping=0.0, angularDamping=0.0, jointDamping=0.0, physicsClientId=c,
            )  # fmt: skip
        # Bullet clamps joint speeds at 100 rad/s, and does so before contact is solved: the toe of a landing foot would lose
        # hundreds of newtons for ticks on end. One call for the base lifts the clamp of all joints. It must be a call of its
        # own: together with it, PyBullet drops friction and restitution of the other links.
        bullet.changeDynamics(b, -1, maxJointVelocity=MAX_JOINT_SPEED, physicsClientId=c)
        bullet.setJointMotorControlArray(b, self._joints, bullet.VELOCITY_CONTROL, forces=[0.0] * len(self._joints), physicsClientId=c)
        self._saved = bullet.saveState(physicsClientId=c)

    def _build_ground(self) -> None:
        c, t = self._client, self.terrain
        normal = [0.0, -np.sin(t.slope), np.cos(t.slope)]
        plane = bullet.createCollisionShape(bullet.GEOM_PLANE, planeNormal=normal, physicsClientId=c)
        # a shape to draw, because without one Bullet makes a chequered texture of 6 MB for the plane
        dot = bullet.createVisualShape(bullet.GEOM_SPHERE, radius=1e-3, physicsClientId=c)
        self.ground = [bullet.createMultiBody(0, plane, dot, physicsClientId=c)]
        for box in t.boxes:
            half = [box.half_x, box.half_y, 0.5 * box.height]
            shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=half, physicsClientId=c)
            base = np.tan(t.slope) * box.y
            self.ground.append(bullet.createMultiBody(0, shape, basePosition=[box.x, box.y, base + 0.5 * box.height], physicsClientId=c))
        for body in self.ground:
            # Bullet multiplies the two frictions; the feet have 1
            bullet.changeDynamics(body, -1, lateralFriction=t.friction, restitution=0.0, physicsClientId=c)

    def close(self) -> None:
        """Disconnect from Bullet. May be called twice."""
        self._finalizer()
        self._client = -1

    # -- the four verbs --------------------------------------------------------------------------------------------

    def reset(self, pose: Pose, friction: float | None = None) -> None:
        """Set the body down in ``pose``: the only place where its state is written.

        ``friction`` changes that of the ground, where it is given.

        Restoring a state saved in the air before writing the pose makes a used plant equal a fresh one bit for bit.
        """
        c, b = self.client, self.body
        bullet.restoreState(self._saved, physicsClientId=c)
        if friction is not None:
            for ground in self.ground:
                bullet.changeDynamics(ground, -1, lateralFriction=friction, physicsClientId=c)
        r = np.array(bullet.getMatrixFromQuaternion(pose.quaternion.tolist())).reshape(3, 3)
        # Bullet places the base by its centre of mass
        bullet.resetBasePositionAndOrientation(
            b, (pose.position + r @ self._base_com).tolist(), pose.quaternion.tolist(), physicsClientId=c
        )
        bullet.resetBaseVelocity(b, pose.velocity.tolist(), [0.0, 0.0, 0.0], physicsClientId=c)
        for j, angle in zip(self._joints, pose.q.tolist(), strict=True):
            bullet.resetJointState(b, j, angle, 0.0, physicsClientId=c)
        self._tick = 0
        self.fall = None
        self.engine_seconds = 0.0
        self.load[:] = 0.0
        self.contact[:] = 0
        self._count[:] = 0
        s = self.state
        s.tau[:] = 0.0
        s.sole_force[:] = 0.0
        s.pressure[:] = 0.0
        s.contact[:] = ContactState.AIRBORNE
        s.events.clear()
        self._read()
        if self.controller is not None:
            self.controller.reset()
        self._hip_height = float(s.root_position[2]) - self.terrain.height_at(float(s.root_position[0]), float(s.root_position[1]))

    def observe(self) -> NDArray[np.void]:
        """Observation record of the present state."""
        return self.observer(self.state, self.load, self.contact)

    def follow(self, planner: GaitPlanner) -> None:
        """One physics step with the torques of the controller; call :meth:`observe` first."""
        if self.controller is None or self.controller.planner is not planner:
            self.controller = Controller(self.anatomy, planner, self.dt)
        self.apply(self.controller(self.state, self.observer))

    def apply(self, tau: Array) -> None:
        """One physics step with joint torques (n,) [N m]."""
        c, b, s = self.client, self.body, self.state
        if self.torque_share != 1.0:
            limit = self.torque_share * self.observer.tree.max_torque
            tau = np.clip(tau, -limit, limit)
        bullet.setJointMotorControlArray(b, self._joints, bullet.TORQUE_CONTROL, forces=tau.tolist(), physicsClientId=c)
        if self.timed:
            start = time.process_time()
            bullet.stepSimulation(physicsClientId=c)
            self.engine_seconds += time.process_time() - start
        else:
            bullet.stepSimulation(physicsClientId=c)
        self._tick += 1
        s.tau[:] = tau
        self._read()
        self._read_contacts()

    def push(self, force: Array, link: str = "thorax", point: Array | None = None) -> None:
        """Apply a disturbance (3,) [N] during the next step, at ``point`` (3,) [m] of the world or the link's CoM.

        This is the one place where a force other than contact and gravity acts; the run loop records it.
        """
        flags, where = bullet.WORLD_FRAME, point
        if where is None:
            k = self.anatomy.link_index[link]
            where = self.observer.link_p[k] + self.observer.link_r[k] @ self.anatomy.links[k].mass_properties.com
        bullet.applyExternalForce(self.body, self.bullet_link[link], list(force), list(where), flags, physicsClientId=self.client)

    # -- reading ---------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        c, b, s = self._client, self.body, self.state
        s.time = self._tick * self.dt
        rows = bullet.getJointStates(b, self._joints, physicsClientId=c)
        s.q[:] = [row[0] for row in rows]
        s.qd[:] = [row[1] for row in rows]
        (px, py, pz), (x, y, z, w) = bullet.getBasePositionAndOrientation(b, physicsClientId=c)
        (vx, vy, vz), (wx, wy, wz) = bullet.getBaseVelocity(b, physicsClientId=c)
        # from the base's centre of mass to mid-hip; the CoM lies on the pelvis's own z axis
        d = float(self._base_com[2])
        ox, oy, oz = 2 * (x * z + y * w) * d, 2 * (y * z - x * w) * d, (1 - 2 * (x * x + y * y)) * d
        s.root_position[:] = (px - ox, py - oy, pz - oz)
        s.root_quaternion[:] = (x, y, z, w)
        s.root_velocity[:] = (vx - wy * oz + wz * oy, vy - wz * ox + wx * oz, vz - wx * oy + wy * ox)
        s.root_angular_velocity[:] = (wx, wy, wz)
        if self.fall is None and self._tick:
            up = 1 - 2 * (x * x + y * y)
            ground = self.terrain.height_at(px, py) if self.terrain.slope else 0.0
            if pz - oz - ground < FALL_HIP_SHARE * self._hip_height:
                self.fall = Fall(s.time, "hip height")
            elif up < FALL_TILT:
                self.fall = Fall(s.time, "trunk tilt")

    def _read_contacts(self) -> None:
        # plain floats in the loop, arrays written once: an element of an array costs ten times as much
        s = self.state
        force, pressure, total = [0.0] * 18, [0.0] * 6, [0.0, 0.0]
        ball: list[tuple[float, float, float, float] | None] = [None, None]
        for row in bullet.getContactPoints(self.body, physicsClientId=self._client):
            place = self._foot_part.get(row[3])
            if place is None:
                # Bullet lists pairs that are near each other too, with no force
                if self.fall is None and row[9] > 0.0:
                    self.fall = Fall(s.time, f"{self._link_name[row[3]]} touched the ground")
                continue
            foot, part = place
            (x, y, z), f = row[5], row[9]
            if part == SolePart.HEEL:
                ax, ay, az, edge = ball[foot] = ball[foot] or self._ball_plane(foot)
                if x * ax + y * ay + z * az > edge:
                    part = SolePart.BALL
            (n0, n1, n2), f1, (d0, d1, d2), f2, (e0, e1, e2) = row[7], row[10], row[11], row[12], row[13]
            k = 9 * foot + 3 * part
            force[k] += n0 * f + d0 * f1 + e0 * f2
            force[k + 1] += n1 * f + d1 * f1 + e1 * f2
            force[k + 2] += n2 * f + d2 * f1 + e2 * f2
            k = 3 * foot
            pressure[k] += x * f
            pressure[k + 1] += y * f
            pressure[k + 2] += z * f
            total[foot] += f
        s.sole_force.ravel()[:] = force  # a view, since the array is contiguous
        alpha = self.dt / (LOAD_FILTER + self.dt)
        for i in range(2):
            if total[i] > 0.0:
                s.pressure[i] = [x / total[i] for x in pressure[3 * i : 3 * i + 3]]
            heel, ball_force, toe = force[9 * i + 2 : 9 * i + 9 : 3]
            raw = heel + ball_force + toe
            self.load[i] += alpha * (raw - self.load[i])
            touching = bool(self.contact[i])
            changed = raw < RELEASE_FORCE * self._mass_share if touching else raw > TOUCH_FORCE * self._mass_share
            self._count[i] = self._count[i] + 1 if changed else 0
            if self._count[i] >= DEBOUNCE:
                self._count[i] = 0
                self.contact[i] = 0 if touching else 1
                part = SolePart(int(np.argmax((heel, ball_force, toe)))) if not touching else self._last_part(i)
                s.events.append(ContactEvent(s.time, i, not touching, part, raw, self.predicted(i, not touching)))
            s.contact[i] = contact_state(bool(self.contact[i]), heel, ball_force, toe) if raw > 0 or not self.contact[i] else s.contact[i]

    def _ball_plane(self, foot: int) -> tuple[float, float, float, float]:
        """Foot's forward axis, and how far along it in the world a contact of the hindfoot counts as the ball's."""
        record = self.observer.record
        x, y, z = record["foot"][0, foot, :, 1].tolist()
        ax, ay, az = record["ankle"][0, foot].tolist()
        return x, y, z, ax * x + ay * y + az * z + 0.02

    def _last_part(self, foot: int) -> SolePart:
        """The part that carried load last, from the contact state before the lift-off."""
        last = ContactState(int(self.state.contact[foot]))
        return {ContactState.HEEL: SolePart.HEEL, ContactState.TOE: SolePart.TOE, ContactState.FOREFOOT: SolePart.BALL}.get(
            last, SolePart.BALL
        )


def _disconnect(client: int) -> None:
    if bullet.isConnected(client):
        bullet.disconnect(physicsClientId=client)


def contact_state(touching: bool, heel: float, ball: float, toe: float) -> ContactState:
    """Contact state of a foot from the vertical forces [N] of its parts; a part counts from 5 % of the foot's load on."""
    if not touching:
        return ContactState.AIRBORNE
    least = 0.05 * (heel + ball + toe)
    if heel > least:
        return ContactState.FLAT if ball > least or toe > least else ContactState.HEEL
    return ContactState.FOREFOOT if ball > least else ContactState.TOE
