"""The physical plant: contacts, events, falls, terrain, reset and close."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pinocchio as pin
import pybullet as bullet
import pytest

from sandbox.bodies import Anatomy, to_urdf
from sandbox.controllers.parameters import Parameters
from sandbox.controllers.planner import GaitPlanner
from sandbox.plants.base import Pose, standing_pose
from sandbox.plants.bullet import DEBOUNCE, RELEASE_FORCE, TOUCH_FORCE, BulletPlant, Physics, contact_state
from sandbox.scenes.terrain import Box, Terrain
from sandbox.spatial import matrix_from_quaternion
from sandbox.state import FEET, ContactState, SolePart

ANATOMY = Anatomy()
LIMP = np.zeros(len(ANATOMY.joints))
WEIGHT = ANATOMY.mass * 9.81


@pytest.fixture
def make() -> Iterator[Callable[..., BulletPlant]]:
    """Function of BulletPlant's arguments; the plants are closed afterwards."""
    made = []

    def one(*args: Any, **settings: Any) -> BulletPlant:
        made.append(BulletPlant(*(args or (ANATOMY,)), **settings))
        return made[-1]

    yield one
    for plant in made:
        plant.close()


def stand(plant: BulletPlant, seconds: float, seed: int | None = None) -> None:
    """Set a body down and let the controller keep it standing."""
    parameters = Parameters.load()
    planner = GaitPlanner(plant.anatomy, parameters)
    plant.reset(standing_pose(plant.anatomy, parameters.lumbar_flexion, seed))
    planner.reset(plant.observe())
    for _ in range(round(seconds / plant.dt)):
        planner.update(plant.observe(), 0.0, 0.0, plant.dt)
        plant.follow(planner)


def hold(plant: BulletPlant, pose: Pose) -> Callable[[], None]:
    """A step of a body whose joints hold a pose stiffly (stable PD, by Pinocchio alone)."""
    model = pin.buildModelFromXML(to_urdf(plant.anatomy), pin.JointModelFreeFlyer())
    data = model.createData()
    joints = [model.joints[model.getJointId(joint.name)] for joint in plant.anatomy.joints]
    idx_q, idx_v = [j.idx_q for j in joints], [j.idx_v for j in joints]
    kp = np.array([40.0 if "mtp" in joint.name else 600.0 for joint in plant.anatomy.joints])
    kd, dt = 0.05 * kp, plant.dt
    q, v, force = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
    armature = np.zeros(model.nv)
    armature[idx_v] = dt * kd + dt * dt * kp
    model.armature = armature

    def step() -> None:
        state = plant.state
        r = matrix_from_quaternion(state.root_quaternion)
        q[:3], q[3:7], q[idx_q] = state.root_position, state.root_quaternion, state.q
        v[:3], v[3:6], v[idx_v] = r.T @ state.root_velocity, r.T @ state.root_angular_velocity, state.qd
        force[idx_v] = kp * (pose.q - state.q - dt * state.qd) - kd * state.qd
        acceleration = pin.aba(model, data, q, v, force)[idx_v]
        plant.observe()
        plant.apply(force[idx_v] - armature[idx_v] * acceleration)

    return step


# -- contact state -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heel", "ball", "toe", "state"),
    [
        (100, 0, 0, "HEEL"),
        (100, 4, 0, "HEEL"),
        (100, 0, 4, "HEEL"),
        (100, 100, 0, "FLAT"),
        (100, 100, 100, "FLAT"),
        (100, 0, 10, "FLAT"),
        (6, 94, 0, "FLAT"),
        (4, 96, 0, "FOREFOOT"),
        (0, 100, 0, "FOREFOOT"),
        (0, 50, 50, "FOREFOOT"),
        (0, 6, 94, "FOREFOOT"),
        (0, 4, 96, "TOE"),
        (0, 0, 100, "TOE"),
    ],
)
def test_contact_state_is_what_the_loaded_parts_say(heel: float, ball: float, toe: float, state: str) -> None:
    assert contact_state(True, heel, ball, toe).name == state
    assert contact_state(True, 7 * heel, 7 * ball, 7 * toe).name == state
    assert contact_state(False, heel, ball, toe) is ContactState.AIRBORNE


# How a foot is held: ankle dorsiflexion and toe extension [rad]; the part of the sole that comes down first, and the state.
HELD = {"HEEL": (0.25, 0.0, "HEEL"), "TOE": (-0.4, 0.0, "TOE"), "BALL": (-0.4, 0.7, "FOREFOOT")}


@pytest.mark.parametrize("part", HELD)
@pytest.mark.parametrize("foot", [0, 1])
def test_a_foot_set_down_tilted_touches_with_that_part(make, foot: int, part: str) -> None:
    plant = make()
    ankle, toe, state = HELD[part]
    pose = standing_pose(ANATOMY)
    index = ANATOMY.joint_index
    pose.q[index[f"{FEET[foot]}_ankle_dorsiflexion"]] = ankle
    pose.q[index[f"{FEET[foot]}_mtp_extension"]] = toe
    other = FEET[1 - foot]
    pose.q[index[f"{other}_hip_flexion"]], pose.q[index[f"{other}_knee_flexion"]] = 1.0, 1.5
    plant.reset(pose)
    drop = float(plant.observe()[0].sole_low[foot]) - 0.005
    pose.position[2] -= drop
    plant.reset(pose)
    assert float(plant.observe()[0].sole_low.min()) == pytest.approx(0.005, abs=1e-9)
    assert plant.state.contact.tolist() == [ContactState.AIRBORNE] * 2
    step = hold(plant, pose)
    for _ in range(60):
        step()
        if plant.state.events:
            break
    (event,) = plant.state.events
    assert (event.foot, event.touchdown, event.part.name) == (foot, True, part)
    assert event.time == plant.state.time
    assert 0.02 < event.time < 0.06, "from 5 mm it takes 32 ms to fall"
    assert event.force > TOUCH_FORCE
    assert event.force == pytest.approx(plant.state.load[foot])
    assert ContactState(plant.state.contact[foot]).name == state
    assert plant.state.contact[1 - foot] == ContactState.AIRBORNE
    assert plant.contact.tolist() == [int(foot == 0), int(foot == 1)]


def test_a_standing_body_has_flat_feet_that_carry_its_weight(make) -> None:
    plant = make()
    stand(plant, 1.5)
    assert plant.fall is None
    assert plant.state.contact.tolist() == [ContactState.FLAT] * 2
    assert plant.state.load.sum() == pytest.approx(WEIGHT, rel=0.02)
    assert plant.load.sum() == pytest.approx(WEIGHT, rel=0.02)
    touchdowns = [event for event in plant.state.events if event.touchdown]
    assert {event.foot for event in touchdowns} == {0, 1}
    assert all(math.isnan(event.predicted) for event in touchdowns), "nobody predicted anything"
    record = plant.observe()[0]
    for foot in (0, 1):
        ahead = (plant.state.pressure[foot] - record.ankle[foot]) @ record.foot[foot]
        assert -ANATOMY.heel_behind_ankle < ahead[1] < ANATOMY.toe_ahead_of_ankle
        assert abs(ahead[0]) < ANATOMY.foot_half_width
        assert plant.state.pressure[foot, 2] == pytest.approx(0, abs=2e-3)


def test_sole_forces_add_up_to_what_the_engine_reports(make) -> None:
    plant = make()
    stand(plant, 0.5, seed=4)
    rows = bullet.getContactPoints(plant.body, physicsClientId=plant.client)
    total = sum(np.array(row[7]) * row[9] + np.array(row[11]) * row[10] + np.array(row[13]) * row[12] for row in rows)
    np.testing.assert_allclose(plant.state.sole_force.sum(axis=(0, 1)), total, rtol=0, atol=1e-9)
    assert total[2] > 0.5 * WEIGHT


# -- events, from made-up contacts -------------------------------------------------------------------------------------


class Ground:
    """Contacts instead of Bullet's: vertical force by link, on the given spot of the foot (forward of the ankle [m])."""

    def __init__(self, plant: BulletPlant, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plant = plant
        self.rows: list[tuple[Any, ...]] = []
        monkeypatch.setattr(bullet, "getContactPoints", lambda body, physicsClientId: tuple(self.rows))

    def step(self, **forces: float) -> list[tuple[bool, int, str]]:
        """One step with forces by ``left_heel``, ``right_toe``...: the events (touchdown, foot, part) of the step."""
        plant = self.plant
        record = plant.observe()[0]
        self.rows = []
        for name, force in forces.items():
            side, _, part = name.partition("_")
            foot = FEET.index(side)
            ahead = {"heel": -0.04, "ball": 0.11, "toe": 0.15}[part]
            at = tuple((record.ankle[foot] + ahead * record.foot[foot][:, 1]).tolist())
            link = plant.bullet_link[f"{side}_{'toes' if part == 'toe' else 'hindfoot'}"]
            self.rows.append((0, plant.body, 0, link, -1, at, at, (0.0, 0.0, 1.0), 0.0, force, 0.0, (1.0, 0.0, 0.0), 0.0, (0.0, 1.0, 0.0)))
        plant.state.events.clear()
        plant.apply(LIMP)
        return [(event.touchdown, event.foot, event.part.name) for event in plant.state.events]


@pytest.fixture
def ground(make, monkeypatch: pytest.MonkeyPatch) -> Ground:
    plant = make()
    pose = standing_pose(ANATOMY)
    pose.position[2] = 3.0
    plant.reset(pose)
    return Ground(plant, monkeypatch)


def test_a_touchdown_takes_two_ticks_of_load(ground) -> None:
    assert DEBOUNCE == 2
    enough, little = TOUCH_FORCE + 1, TOUCH_FORCE - 1
    assert ground.step(left_heel=enough) == []
    assert ground.step(left_heel=little) == []
    assert ground.step(left_heel=enough) == []
    assert ground.plant.state.contact[0] == ContactState.AIRBORNE
    assert ground.step(left_heel=enough) == [(True, 0, "HEEL")]
    assert ground.plant.state.contact[0] == ContactState.HEEL
    assert ground.plant.contact.tolist() == [1, 0]
    assert ground.step(left_heel=enough) == []


def test_a_lift_off_takes_two_ticks_without_load(ground) -> None:
    for _ in range(2):
        ground.step(right_ball=200.0)
    assert ground.plant.contact.tolist() == [0, 1]
    assert ground.step() == []
    assert ground.step(right_toe=200.0) == []
    assert ground.plant.state.contact[1] == ContactState.TOE
    assert ground.step(right_toe=RELEASE_FORCE + 1) == [], "between the two thresholds nothing changes"
    assert ground.step(right_toe=RELEASE_FORCE + 1) == []
    assert ground.step(right_toe=RELEASE_FORCE - 1) == []
    assert ground.step() == [(False, 1, "TOE")]
    assert ground.plant.state.contact[1] == ContactState.AIRBORNE
    assert ground.plant.contact.tolist() == [0, 0]


def test_one_tick_without_load_leaves_the_contact_state(ground) -> None:
    for _ in range(2):
        ground.step(left_heel=100.0, left_ball=100.0)
    ground.step()
    assert ground.plant.state.contact[0] == ContactState.FLAT


def test_events_carry_time_force_and_prediction(ground) -> None:
    plant = ground.plant
    asked = []

    def predicted(foot: int, touchdown: bool) -> float:
        asked.append((foot, touchdown))
        return 12.5

    plant.predicted = predicted
    ground.step(left_heel=300.0, left_ball=150.0)
    ground.step(left_heel=100.0, left_ball=150.0, left_toe=20.0)
    (event,) = plant.state.events
    assert (event.time, event.foot, event.touchdown, event.part, event.force, event.predicted) == (
        2 * plant.dt, 0, True, SolePart.BALL, 270.0, 12.5,
    )  # fmt: skip
    assert asked == [(0, True)]
    np.testing.assert_allclose(plant.state.sole_force[0, :, 2], [100, 150, 20])
    assert plant.state.contact[0] == ContactState.FLAT


def test_thresholds_grow_with_the_body(make, monkeypatch: pytest.MonkeyPatch) -> None:
    plant = make(Anatomy(105, 1.74))
    pose = standing_pose(plant.anatomy)
    pose.position[2] = 3.0
    plant.reset(pose)
    ground = Ground(plant, monkeypatch)
    events = [ground.step(left_heel=1.49 * TOUCH_FORCE) for _ in range(4)]
    assert events == [[]] * 4
    events = [ground.step(left_heel=1.51 * TOUCH_FORCE) for _ in range(2)]
    assert events == [[], [(True, 0, "HEEL")]]


def test_the_load_is_filtered(ground) -> None:
    plant = ground.plant
    previous = 0.0
    for _ in range(4):
        ground.step(left_heel=100.0)
        assert previous < plant.load[0] < 100.0
        previous = float(plant.load[0])
    assert plant.load[0] > 60.0, "within one time constant"
    assert plant.load[1] == 0.0


# -- falls -------------------------------------------------------------------------------------------------------------


def test_a_limp_body_falls_once(make) -> None:
    plant = make()
    plant.reset(standing_pose(ANATOMY))
    for _ in range(480):
        plant.apply(LIMP)
        if plant.fall:
            break
    fall = plant.fall
    assert fall is not None
    assert fall.cause == "hip height" or fall.cause.endswith("touched the ground")
    assert fall.time == plant.state.time
    for _ in range(240):
        plant.apply(LIMP)
    assert plant.fall is fall


def test_a_trunk_that_lies_is_a_fall_until_the_next_reset(make) -> None:
    plant = make()
    pose = standing_pose(ANATOMY)
    for degrees, cause in ((55, None), (65, "trunk tilt")):
        half = math.radians(degrees) / 2
        pose.position[2] = 3.0
        pose.quaternion[:] = math.sin(half), 0, 0, math.cos(half)
        plant.reset(pose)
        assert plant.fall is None
        plant.apply(LIMP)
        assert (plant.fall.cause if plant.fall else None) == cause
    plant.reset(standing_pose(ANATOMY))
    assert plant.fall is None


def test_a_low_hip_is_a_fall(make) -> None:
    """Mid-hip below 0.6 of its height when the body was set down."""
    plant = make()
    pose = standing_pose(ANATOMY)
    pose.position[2] += 1.0
    plant.reset(pose)
    start = float(plant.state.root_position[2])
    while plant.fall is None:
        plant.apply(LIMP)
    low = float(plant.state.root_position[2])
    assert plant.fall.cause == "hip height"
    assert low < 0.6 * start < low - float(plant.state.root_velocity[2]) * plant.dt


def test_a_hand_on_the_ground_is_a_fall(ground) -> None:
    plant = ground.plant
    plant.observe()
    row = (0, plant.body, 0, plant.bullet_link["left_forearm"], -1, (0.0,) * 3, (0.0,) * 3, (0.0, 0.0, 1.0), -0.001)
    ground.rows = [(*row, 5.0, 0.0, (1.0, 0.0, 0.0), 0.0, (0.0, 1.0, 0.0))]
    plant.apply(LIMP)
    assert plant.fall is not None
    assert plant.fall.cause == "left_forearm touched the ground"


def test_a_hand_near_the_ground_is_no_fall(ground) -> None:
    """Bullet lists pairs that are within a contact margin before they touch: their force is zero."""
    plant = ground.plant
    plant.observe()
    row = (0, plant.body, 0, plant.bullet_link["left_forearm"], -1, (0.0,) * 3, (0.0,) * 3, (0.0, 0.0, 1.0), 0.004)
    ground.rows = [(*row, 0.0, 0.0, (1.0, 0.0, 0.0), 0.0, (0.0, 1.0, 0.0))]
    plant.apply(LIMP)
    assert plant.fall is None


# -- world -------------------------------------------------------------------------------------------------------------


def test_the_ground_is_where_the_terrain_says(make) -> None:
    terrain = Terrain(slope=math.radians(6), boxes=(Box(0.5, 2.0, 0.3, 0.2, 0.05),))
    plant = make(terrain=terrain)
    for x, y in ((0.0, 0.0), (0.0, 3.0), (-1.0, -2.0), (0.5, 2.0), (0.9, 2.0)):
        (hit,) = bullet.rayTest([x, y, 2.0], [x, y, -2.0], physicsClientId=plant.client)
        assert hit[0] in plant.ground
        assert hit[3][2] == pytest.approx(terrain.height_at(x, y), abs=1e-3), (x, y)


def test_friction_is_that_of_the_terrain(make) -> None:
    plant = make(terrain=Terrain(friction=0.37, boxes=(Box(0.5, 2.0, 0.3, 0.2, 0.05),)))
    for body in plant.ground:
        row = bullet.getDynamicsInfo(body, -1, physicsClientId=plant.client)
        assert (row[0], row[1], row[5]) == (0.0, pytest.approx(0.37), 0.0), "mass, friction, restitution"
    for link in (-1, *range(bullet.getNumJoints(plant.body, physicsClientId=plant.client))):
        row = bullet.getDynamicsInfo(plant.body, link, physicsClientId=plant.client)
        assert (row[1], *row[5:8]) == (1.0, 0.0, 0.0, 0.0), "friction, restitution, rolling and spinning friction"


def test_the_body_is_that_of_the_anatomy(make) -> None:
    anatomy = Anatomy(55, 1.62, "female")
    plant = make(anatomy)
    for link in anatomy.links:
        row = bullet.getDynamicsInfo(plant.body, plant.bullet_link[link.name], physicsClientId=plant.client)
        assert row[0] == pytest.approx(link.mass_properties.mass, rel=1e-12)
        np.testing.assert_allclose(sorted(row[2]), np.linalg.eigvalsh(link.mass_properties.inertia), rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"rate": 50}, "50 Hz is outside 100-10000 Hz"), ({"iterations": 0}, "0 are outside 1-1000"), ({"rate": math.nan}, "outside")],
)
def test_physics_out_of_range_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Physics(**settings)


# -- state, reset, close -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_state_is_the_pose_that_was_asked_for(make, seed: int) -> None:
    plant = make()
    rng = np.random.default_rng(seed)
    standing = standing_pose(ANATOMY, seed=seed)
    quaternion = rng.normal(size=4)
    pose = Pose(rng.normal(size=3), quaternion / np.linalg.norm(quaternion), standing.q, standing.velocity)
    plant.reset(pose)
    state = plant.state
    np.testing.assert_allclose(state.root_position, pose.position, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.root_quaternion * np.sign(state.root_quaternion @ pose.quaternion), pose.quaternion, atol=1e-12)
    np.testing.assert_allclose(state.root_velocity, pose.velocity, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(state.q, pose.q)
    assert not state.qd.any()
    assert not state.root_angular_velocity.any()
    assert state.time == 0.0


def test_kinematics_of_the_observer_are_those_of_the_engine(make) -> None:
    """After some steps of a moving body: link frames, centre of mass and velocities."""
    plant = make()
    plant.reset(standing_pose(ANATOMY, seed=1))
    rng = np.random.default_rng(1)
    for _ in range(40):
        plant.apply(rng.normal(scale=2.0, size=len(LIMP)) * (np.array([joint.max_torque for joint in ANATOMY.joints]) > 20))
    plant.observe()
    observer = plant.observer
    assert np.abs(plant.state.qd).max() > 0.5
    for name, number in plant.bullet_link.items():
        if number < 0:
            continue
        state = bullet.getLinkState(plant.body, number, computeLinkVelocity=1, computeForwardKinematics=1, physicsClientId=plant.client)
        k = ANATOMY.link_index[name]
        arm = observer.link_r[k] @ ANATOMY.links[k].mass_properties.com
        np.testing.assert_allclose(observer.link_p[k], state[4], rtol=0, atol=2e-6, err_msg=name)
        np.testing.assert_allclose(observer.link_v[k] + np.cross(observer.link_w[k], arm), state[6], rtol=0, atol=2e-5, err_msg=name)
        np.testing.assert_allclose(observer.link_w[k], state[7], rtol=0, atol=2e-5, err_msg=name)


def run(plant: BulletPlant, seed: int, steps: int = 300) -> bytes:
    """A limp fall with a little torque noise, as bytes of everything that the plant reports."""
    plant.reset(standing_pose(ANATOMY, seed=seed))
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(steps):
        plant.observe()
        plant.apply(rng.normal(scale=1.0, size=len(LIMP)))
        state = plant.state
        out += [state.q, state.qd, state.root_position, state.root_quaternion, state.sole_force, state.pressure, plant.load]
        out = [np.concatenate([np.ravel(a) for a in out])]
    return out[0].tobytes() + repr((plant.fall, plant.state.events)).encode()


def test_a_used_plant_equals_a_fresh_one(make) -> None:
    used = make()
    fresh = run(used, 1)
    for seed in (2, 3):
        assert run(used, seed) != fresh
    assert run(used, 1) == fresh
    assert run(make(), 1) == fresh


def test_a_plant_does_not_notice_its_neighbours(make) -> None:
    alone = run(make(), 5)
    neighbour, plant = make(), make()
    neighbour.reset(standing_pose(ANATOMY, seed=9))
    original = plant.apply

    def apply(tau: np.ndarray) -> None:
        neighbour.apply(-tau)
        original(tau)

    plant.apply = apply
    assert run(plant, 5) == alone


def test_a_push_lasts_one_step(make) -> None:
    plant = make()
    pose = standing_pose(ANATOMY)
    pose.position[2] = 3.0
    plant.reset(pose)
    plant.observe()
    speeds = []
    plant.push(np.array([70.0, 0.0, 0.0]), "thorax")
    for _ in range(3):
        plant.apply(LIMP)
        speeds.append(float(plant.observe()[0].com_velocity[0]))
    np.testing.assert_allclose(speeds, 70.0 / ANATOMY.mass * plant.dt, rtol=1e-3)


@pytest.mark.parametrize("link", ["thorax", "head", "pelvis", "left_hindfoot"])
def test_a_push_acts_at_the_links_centre_of_mass(make, link: str) -> None:
    plant = make()
    pose = standing_pose(ANATOMY)
    pose.position[2] = 3.0
    plant.reset(pose)
    before = plant.observe()[0]
    k = ANATOMY.link_index[link]
    at = plant.observer.link_p[k] + plant.observer.link_r[k] @ ANATOMY.links[k].mass_properties.com
    moment = np.cross(at - before.com, [10.0, 20.0, 0.0])
    plant.push(np.array([10.0, 20.0, 0.0]), link)
    plant.apply(LIMP)
    after = plant.observe()[0]
    np.testing.assert_allclose(after.angular_momentum / plant.dt, moment, rtol=1e-2, atol=0.02)


def test_closing_twice_is_fine_and_use_after_it_an_error() -> None:
    plant = BulletPlant(ANATOMY)
    client = plant.client
    plant.reset(standing_pose(ANATOMY))
    plant.close()
    plant.close()
    assert not bullet.isConnected(client)
    uses = (
        lambda: plant.reset(standing_pose(ANATOMY)),
        lambda: plant.apply(LIMP),
        lambda: plant.push(np.ones(3)),
        lambda: plant.client,
    )
    for use in uses:
        with pytest.raises(RuntimeError, match="closed: make a new one"):
            use()


def test_closing_leaves_other_plants_alone(make) -> None:
    first, second = make(), make()
    first.close()
    replacement = make()  # takes over the client number
    first.close()
    for plant in (second, replacement):
        plant.reset(standing_pose(ANATOMY))
        plant.apply(LIMP)


def test_a_forgotten_plant_gives_its_client_back() -> None:
    plant = BulletPlant(ANATOMY)
    client = plant.client
    del plant
    gc.collect()
    assert not bullet.isConnected(client)
