"""Nothing moves the body but joint torques, gravity, contact and the recorded pushes.

The account is kept in Bullet's own numbers. Bullet's step is semi-implicit: all forces act on the velocities in the
configuration before the step, then the configuration moves with the new velocities. So the acceleration of a step, put into
the derivative of the momentum (Pinocchio's, of the same body) in that configuration, has to equal the sum of the forces to
rounding: far inside 3 N and 1 N m. The plain difference of the momentum before and after a step differs from it by the
integrator's error, which is of the order of the step and is bounded over each second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pinocchio as pin
import pybullet as bullet
import pytest

from sandbox.bodies import Anatomy, to_urdf
from sandbox.conventions import GRAVITY_VECTOR
from sandbox.plants.base import standing_pose
from sandbox.plants.bullet import BulletPlant
from sandbox.scenes.scene import Command, Push, Scene
from sandbox.simulation import Simulation
from sandbox.spatial import matrix_from_quaternion

CLAMP = 100.0  # [rad/s] Bullet's default limit of a joint's speed
# [m] Bullet takes the lever of a push from where the link was a step before, so that its moment is known to this times its force.
PUSH_LEVER = 0.005
FEET = {f"{side}_{part}" for side in ("left", "right") for part in ("hindfoot", "toes")}


class Momentum:
    """The momentum of Bullet's body, and the forces on it, from Bullet's own reports."""

    def __init__(self, plant: BulletPlant) -> None:
        self.plant = plant
        self.model = pin.buildModelFromXML(to_urdf(plant.anatomy), pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        self.weight = plant.anatomy.mass * np.array(GRAVITY_VECTOR)
        info = [bullet.getJointInfo(plant.body, k, physicsClientId=plant.client) for k in range(len(plant.anatomy.joints))]
        self.number = [row[0] for row in info]
        joints = [self.model.joints[self.model.getJointId(row[1].decode())] for row in info]
        self.idx_q, self.idx_v = [j.idx_q for j in joints], [j.idx_v for j in joints]
        self.base_com = np.array(bullet.getDynamicsInfo(plant.body, -1, physicsClientId=plant.client)[3])
        self.now = self.read()

    def read(self) -> dict[str, np.ndarray]:
        """Base (its centre of mass) and joints, as Bullet has them."""
        body, client = self.plant.body, self.plant.client
        rows = bullet.getJointStates(body, self.number, physicsClientId=client)
        position, quaternion = bullet.getBasePositionAndOrientation(body, physicsClientId=client)
        velocity, omega = bullet.getBaseVelocity(body, physicsClientId=client)
        values = {
            "quaternion": quaternion, "com": position, "velocity": velocity, "omega": omega,
            "q": [row[0] for row in rows], "qd": [row[1] for row in rows],
        }  # fmt: skip
        return {name: np.array(value) for name, value in values.items()}

    def coordinates(self, state: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Pinocchio's configuration and velocity, whose base is the pelvis link's frame and whose base twist is local."""
        r = matrix_from_quaternion(state["quaternion"])
        arm = r @ self.base_com
        q, v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        q[:3], q[3:7], q[self.idx_q] = state["com"] - arm, state["quaternion"], state["q"]
        v[:3], v[3:6], v[self.idx_v] = r.T @ (state["velocity"] - np.cross(state["omega"], arm)), r.T @ state["omega"], state["qd"]
        return q, v

    def of(self, state: dict[str, np.ndarray]) -> np.ndarray:
        """Linear momentum and angular momentum about the centre of mass (6,)."""
        return pin.computeCentroidalMomentum(self.model, self.data, *self.coordinates(state)).vector.copy()

    def rate(self, before: dict[str, np.ndarray], after: dict[str, np.ndarray], dt: float) -> np.ndarray:
        """Derivative of the momentum (6,) in the configuration ``before``, with the acceleration of the step."""
        q, v = self.coordinates(before)
        r = matrix_from_quaternion(before["quaternion"])
        arm, omega = r @ self.base_com, before["omega"]
        alpha = (after["omega"] - omega) / dt
        of_com = (after["velocity"] - before["velocity"]) / dt
        of_frame = of_com - np.cross(alpha, arm) - np.cross(omega, np.cross(omega, arm))
        a = np.zeros(self.model.nv)
        a[:3] = r.T @ (of_frame - np.cross(omega, before["velocity"] - np.cross(omega, arm)))
        a[3:6] = r.T @ alpha
        a[self.idx_v] = (after["qd"] - before["qd"]) / dt
        return pin.computeCentroidalMomentumTimeVariation(self.model, self.data, q, v, a).vector.copy()

    def forces(self, pushes: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, float]:
        """Gravity, contacts and pushes (force, point) as force and moment about the centre of mass (6,), and the contacts' size [N].

        Call it after :meth:`rate`, which leaves the centre of mass of that configuration behind.
        """
        total, size = np.concatenate([self.weight, np.zeros(3)]), 0.0
        for row in bullet.getContactPoints(self.plant.body, physicsClientId=self.plant.client):
            force = np.array(row[7]) * row[9] + np.array(row[11]) * row[10] + np.array(row[13]) * row[12]
            total += np.concatenate([force, np.cross(np.array(row[5]) - self.data.com[0], force)])
            size += float(np.linalg.norm(force))
        for force, point in pushes:
            total += np.concatenate([force, np.cross(point - self.data.com[0], force)])
        return total, size


class Account:
    """What a run did: a row per step.

    Attributes:
        error: (T, 6) rate of momentum less forces, in the configuration before each step [N], [N m].
        drift: (T, 6) plain change of momentum less the impulses of the step [N s], [N m s].
        contact, push: (T,) size of the contact forces and of the pushes [N].
        others: names of links other than feet that touched the ground.
    """

    def __init__(
        self, plant: BulletPlant, step: Callable[[], None], steps: int, monkeypatch: pytest.MonkeyPatch, until_fall: bool = False
    ) -> None:
        momentum, dt = Momentum(plant), plant.dt
        applied: list[tuple[np.ndarray, np.ndarray]] = []
        original = bullet.applyExternalForce

        def apply(body: int, link: int, force: list[float], point: list[float], frame: int, **rest: int) -> None:
            assert frame == bullet.WORLD_FRAME
            applied.append((np.array(force), np.array(point)))
            original(body, link, force, point, frame, **rest)

        error, drift, contact, push = [], [], [], []
        self.others: set[str] = set()
        name = {number: link for link, number in plant.bullet_link.items()}
        with monkeypatch.context() as patch:
            patch.setattr(bullet, "applyExternalForce", apply)
            before = momentum.read()
            held = momentum.of(before)
            for _ in range(steps):
                applied.clear()
                step()
                after = momentum.read()
                rate = momentum.rate(before, after, dt)
                forces, size = momentum.forces(applied)
                now = momentum.of(after)
                error.append(rate - forces)
                drift.append(now - held - dt * forces)
                contact.append(size)
                push.append(sum(float(np.linalg.norm(force)) for force, _ in applied))
                rows = bullet.getContactPoints(plant.body, physicsClientId=plant.client)
                self.others |= {name[row[3]] for row in rows if row[9] > 0} - FEET
                before, held = after, now
                if until_fall and plant.fall is not None:
                    break
        self.error, self.drift = np.array(error), np.array(drift)
        self.contact, self.push = np.array(contact), np.array(push)
        self.second = round(1 / dt)
        self.dt = dt

    def check_steps(self) -> None:
        """In every step the momentum changes as gravity, contact and pushes make it change."""
        room = 1e-3 + 1e-6 * self.contact
        linear, angular = np.linalg.norm(self.error[:, :3], axis=1), np.linalg.norm(self.error[:, 3:], axis=1)
        off = ((linear >= room) | (angular >= room + PUSH_LEVER * self.push)).nonzero()[0]
        assert len(off) == 0, (
            f"{len(off)} of {len(room)} steps are off, the first after {off[0] * self.dt:.4f} s; "
            f"at worst by {linear[off].max():.3g} N and {angular[off].max():.3g} N m"
        )

    def check_seconds(self) -> None:
        """Over each second the plain change of momentum equals the impulses within 0.5 % of the contact's (1 m for a lever)."""
        assert len(self.drift) > self.second
        for start in range(0, len(self.drift) - self.second + 1, self.second):
            part = slice(start, start + self.second)
            impulse = float(self.contact[part].sum() * self.dt)
            linear, angular = (float(np.linalg.norm(self.drift[part, k : k + 3].sum(axis=0))) for k in (0, 3))
            assert linear < 0.005 * impulse, f"{linear:.3g} N s of {impulse:.3g} from {start * self.dt:.2f} s on"
            assert angular < 0.005 * impulse, f"{angular:.3g} N m s of {impulse:.3g} from {start * self.dt:.2f} s on"


@pytest.fixture
def simulate() -> Iterator[Callable[..., Simulation]]:
    """Function of a scene and the Simulation's other arguments."""
    made: list[Simulation] = []

    def one(scene: Scene, **settings: Any) -> Simulation:
        made.append(Simulation(scene, **settings))
        return made[-1]

    yield one
    for simulation in made:
        simulation.close()


@pytest.fixture
def plant() -> Iterator[BulletPlant]:
    made = BulletPlant(Anatomy())
    yield made
    made.close()


def walking(speed: float, *pushes: Push) -> Scene:
    return Scene("test", (Command(0.3, speed),), 4.0, pushes=pushes)


SCENES = {
    "walk": walking(0.8),
    "pushed walk": walking(1.0, Push(1.3, 0.2, 50.0, 0.7), Push(1.9, 0.2, 30.0, -1.0, "head")),
}


# -- the balance -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SCENES)
def test_momentum_of_a_walk_comes_from_gravity_contact_and_pushes(simulate, monkeypatch, name: str, seed: int) -> None:
    simulation = simulate(SCENES[name], seed=seed)
    account = Account(simulation.plant, simulation.tick, 3 * 480, monkeypatch, until_fall=True)
    assert account.contact.max() > 600
    assert (account.push.max() > 0) == (name == "pushed walk")
    account.check_steps()
    account.check_seconds()


def test_momentum_of_a_fall_comes_from_gravity_and_contact(simulate, monkeypatch) -> None:
    """Pushed over while standing, the controller running on until the body lies and beyond."""
    scene = Scene("test", (), 4.0, pushes=(Push(0.3, 0.2, 400.0, 1.0),))
    simulation = simulate(scene)
    account = Account(simulation.plant, simulation.tick, 2 * 480, monkeypatch)
    assert simulation.fall is not None
    assert account.others, "nothing but the feet touched the ground"
    account.check_steps()


def test_momentum_of_a_limp_body_comes_from_gravity_and_contact(plant, monkeypatch) -> None:
    pose = standing_pose(plant.anatomy, seed=3, speed=0.5)
    plant.reset(pose)
    account = Account(plant, lambda: plant.apply(np.zeros(len(pose.q))), 2 * 480, monkeypatch)
    assert plant.fall is not None
    assert account.others, "nothing but the feet touched the ground"
    account.check_steps()
    account.check_seconds()


def test_the_account_notices_a_hand_that_helps(plant, monkeypatch) -> None:
    """A newton at the pelvis that nobody recorded."""
    plant.reset(standing_pose(plant.anatomy))
    original = bullet.applyExternalForce

    def step() -> None:
        original(plant.body, -1, [0, 0, 1.0], [0, 0, 1.0], bullet.WORLD_FRAME, physicsClientId=plant.client)
        plant.apply(np.zeros(len(plant.anatomy.joints)))

    account = Account(plant, step, 5, monkeypatch)
    np.testing.assert_allclose(account.error[:, :3], [[0, 0, 1.0]] * 5, atol=1e-3)
    with pytest.raises(AssertionError, match="at worst by 1 N"):
        account.check_steps()


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SCENES)
def test_joint_speeds_stay_below_the_clamp(simulate, name: str, seed: int) -> None:
    simulation = simulate(SCENES[name], seed=seed)
    fastest = 0.0
    for _ in range(3 * 480):
        simulation.tick()
        if simulation.fall:
            break
        fastest = max(fastest, float(np.abs(simulation.plant.state.qd).max()))
    assert 1.0 < fastest < CLAMP


def test_no_speed_is_clamped_inside_a_step(plant) -> None:
    """Bullet clamps a joint's speed to 100 rad/s by default, also the speed that its forces alone would give before contact
    is solved. A torque on the ankle whips the light toes past that in one step, and the momentum would be lost although no speed
    read after the step is high."""
    index = plant.anatomy.joint_index["left_mtp_extension"]
    for torque in (1.0, 5.0, 25.0):
        pose = standing_pose(plant.anatomy)
        pose.position[2] = 2.0
        plant.reset(pose)
        momentum = Momentum(plant)
        before = momentum.read()
        tau = np.zeros(len(pose.q))
        tau[index] = torque
        plant.apply(tau)
        after = momentum.read()
        rate = momentum.rate(before, after, plant.dt)
        np.testing.assert_allclose(rate, [*momentum.weight, 0, 0, 0], rtol=0, atol=1e-3, err_msg=f"{torque} N m at the toes")
    assert np.abs(after["qd"]).max() > CLAMP, "the torque was too weak to tell"


def test_torques_never_exceed_their_limits(simulate, monkeypatch) -> None:
    """As sent to Bullet: one array a step, in torque mode, for every joint."""
    sent = []
    original = bullet.setJointMotorControlArray

    def send(body: int, joints: list[int], mode: int, forces: list[float], **rest: int) -> None:
        assert mode == bullet.TORQUE_CONTROL
        sent.append([forces[joints.index(number)] for number in order])
        original(body, joints, mode, forces=forces, **rest)

    simulation = simulate(SCENES["pushed walk"], seed=1)
    plant = simulation.plant
    order = [plant.bullet_link[joint.child] for joint in plant.anatomy.joints]
    monkeypatch.setattr(bullet, "setJointMotorControlArray", send)
    reported = []
    for _ in range(3 * 480):
        simulation.tick()
        reported.append(plant.state.tau.copy())
    assert len(sent) == 3 * 480
    np.testing.assert_array_equal(sent, reported)
    limits = np.array([joint.max_torque for joint in plant.anatomy.joints])
    assert (np.abs(sent) <= limits).all()
    assert np.abs(sent).max() > 20
    recorded = simulation.recording().tau
    np.testing.assert_allclose(recorded, np.array(reported).reshape(-1, 4, len(limits)).mean(axis=1), rtol=0, atol=1e-9)


# -- who calls what ----------------------------------------------------------------------------------------------------


class Calls:
    """Every call of PyBullet, by name, while patched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        for name in dir(bullet):
            function = getattr(bullet, name)
            if callable(function) and not name.startswith("_"):
                monkeypatch.setattr(bullet, name, self._spy(name, function))

    def _spy(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def spy(*args: Any, **settings: Any) -> Any:
            self.log.append((name, args, settings))
            return function(*args, **settings)

        return spy

    @property
    def names(self) -> set[str]:
        """What was called, less what only reads."""
        return {name for name, _, _ in self.log if not name.startswith("get")}


def test_a_run_only_sends_torques_and_steps(simulate, monkeypatch) -> None:
    simulation = simulate(SCENES["walk"], seed=2)
    calls = Calls(monkeypatch)
    for _ in range(3 * 480):
        simulation.tick()
    simulation.recording()
    assert calls.names == {"setJointMotorControlArray", "stepSimulation"}
    assert sum(name == "stepSimulation" for name, _, _ in calls.log) == 3 * 480


def test_forces_from_outside_are_the_recorded_pushes(simulate, monkeypatch) -> None:
    simulation = simulate(SCENES["pushed walk"], seed=2)
    plant = simulation.plant
    calls = Calls(monkeypatch)
    times = []
    for _ in range(3 * 480):
        seen = len(calls.log)
        now = simulation.time
        simulation.tick()
        times += [now for name, _, _ in calls.log[seen:] if name == "applyExternalForce"]
    assert calls.names == {"setJointMotorControlArray", "stepSimulation", "applyExternalForce"}
    applied = [args for name, args, _ in calls.log if name == "applyExternalForce"]
    recording = simulation.recording()
    assert len(recording.push_time) == 2
    done = 0
    for start, duration, force, link in zip(
        recording.push_time, recording.push_duration, recording.push_force, recording.push_body, strict=True
    ):
        name = recording.header["body_names"][link]
        mine = [row for row, t in zip(applied, times, strict=True) if start - 1e-9 <= t < start + duration - 1e-9]
        assert len(mine) == round(duration / plant.dt)
        for body, number, pushed, _, frame in mine:
            assert (body, number, frame) == (plant.body, plant.bullet_link[name], bullet.WORLD_FRAME)
            np.testing.assert_array_equal(pushed, force)
        done += len(mine)
    assert done == len(applied)


def test_only_push_applies_a_force_from_outside(plant, monkeypatch) -> None:
    plant.reset(standing_pose(plant.anatomy))
    plant.observe()
    calls = Calls(monkeypatch)
    plant.push(np.array([3.0, 0.0, 0.0]), "head")
    assert calls.names == {"applyExternalForce"}
    calls.log.clear()
    plant.apply(np.zeros(len(plant.anatomy.joints)))
    assert calls.names == {"setJointMotorControlArray", "stepSimulation"}


def test_reset_is_where_state_is_written(plant, monkeypatch) -> None:
    calls = Calls(monkeypatch)
    plant.reset(standing_pose(plant.anatomy))
    assert calls.names == {"restoreState", "resetBasePositionAndOrientation", "resetBaseVelocity", "resetJointState"}


# -- the engine's settings, asked of the engine ------------------------------------------------------------------------


def test_gravity_is_constant_and_there_is_no_constraint(simulate) -> None:
    simulation = simulate(SCENES["pushed walk"])
    client = simulation.plant.client
    for _ in range(2):
        settings = bullet.getPhysicsEngineParameters(physicsClientId=client)
        assert [settings[f"gravityAcceleration{axis}"] for axis in "XYZ"] == list(GRAVITY_VECTOR)
        assert settings["fixedTimeStep"] == simulation.plant.dt == 1 / 480
        assert settings["numSubSteps"] == 0
        assert bullet.getNumConstraints(physicsClientId=client) == 0
        assert bullet.getNumBodies(physicsClientId=client) == 2
        for _ in range(480):
            simulation.tick()


def test_joints_have_no_damping_and_no_friction(plant) -> None:
    for number in range(bullet.getNumJoints(plant.body, physicsClientId=plant.client)):
        row = bullet.getJointInfo(plant.body, number, physicsClientId=plant.client)
        assert row[6:8] == (0.0, 0.0), row[1]


@pytest.mark.parametrize("seed", range(3))
def test_in_the_air_the_body_moves_as_the_equations_of_motion_say(plant, seed: int) -> None:
    """One step against Pinocchio's forward dynamics: what damping, a motor that was left on or a hidden constraint would change."""
    rng = np.random.default_rng(seed)
    pose = standing_pose(plant.anatomy, seed=seed)
    pose.position[2] = 2.0
    plant.reset(pose)
    body, client = plant.body, plant.client
    momentum = Momentum(plant)
    bullet.resetBaseVelocity(body, rng.normal(size=3).tolist(), rng.normal(size=3).tolist(), physicsClientId=client)
    for joint, number in enumerate(momentum.number):
        bullet.resetJointState(body, number, momentum.now["q"][joint], rng.normal(), physicsClientId=client)
    before = momentum.read()
    tau = 0.02 * rng.normal(size=len(pose.q)) * np.array([joint.max_torque for joint in plant.anatomy.joints])
    for name, index in plant.anatomy.joint_index.items():
        if "mtp" in name:
            tau[index] *= 0.01
    plant.apply(tau)
    after = momentum.read()
    q, v = momentum.coordinates(before)
    force = np.zeros(momentum.model.nv)
    force[momentum.idx_v] = [tau[plant.anatomy.joint_index[momentum.model.names[k]]] for k in _joint_ids(momentum)]
    acceleration = pin.aba(momentum.model, momentum.data, q, v, force)
    np.testing.assert_allclose((after["qd"] - before["qd"]) / plant.dt, acceleration[momentum.idx_v], rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(momentum.rate(before, after, plant.dt), [*momentum.weight, 0, 0, 0], rtol=0, atol=1e-4)


def _joint_ids(momentum: Momentum) -> list[int]:
    """Pinocchio's number of each of Bullet's joints."""
    by_index = {joint.idx_v: k for k, joint in enumerate(momentum.model.joints) if joint.nv == 1}
    return [by_index[index] for index in momentum.idx_v]


def test_momentum_is_kept_in_the_air(plant) -> None:
    """For a second, limp: Bullet's default damping would take 4 % of it."""
    pose = standing_pose(plant.anatomy)
    pose.position[2] = 10.0
    plant.reset(pose)
    bullet.resetBaseVelocity(plant.body, [1.0, -2.0, 3.0], [0.5, 1.0, 2.0], physicsClientId=plant.client)
    momentum = Momentum(plant)
    start = momentum.of(momentum.read())
    for _ in range(480):
        plant.apply(np.zeros(len(pose.q)))
    change = momentum.of(momentum.read()) - start - [*momentum.weight, 0, 0, 0]
    assert np.linalg.norm(change[:3]) < 1e-3 * np.linalg.norm(start[:3])
    assert np.linalg.norm(change[3:]) < 5e-3 * np.linalg.norm(start[3:])
