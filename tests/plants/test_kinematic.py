"""The kinematic plant: feet that stay, a rocker, a root that is carried, a gait like people's, and forces that fit the motion."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest

from sandbox.bodies import Anatomy, to_urdf
from sandbox.measure import Gait, gait_report, summary
from sandbox.plants.base import standing_pose
from sandbox.plants.kinematic import KinematicPlant
from sandbox.plants.rocker import (
    ground_pitch,
    minimum_jerk,
    pitch_within_reach,
    smooth_min,
    smooth_step,
    sole_frame,
    toe_pitch,
)
from sandbox.recording import Recording
from sandbox.scenes.scene import Command, Options, Scene, build
from sandbox.scenes.terrain import Box, Terrain
from sandbox.simulation import Simulation, run
from sandbox.spatial import matrix_from_quaternion
from sandbox.state import FEET, ContactState, SolePart

SPEEDS = (0.4, 0.6, 0.8, 1.0, 1.2)
DT = 1 / 120
GRAVITY = 9.81
ANATOMY = Anatomy()
PIVOT = {ContactState.HEEL: "heel", ContactState.FLAT: "toe_base", ContactState.FOREFOOT: "toe_base", ContactState.TOE: "toe_tip"}


@dataclass
class Walk:
    """A run, tick by tick; lists become arrays."""

    simulation: Simulation
    recording: Recording
    pivot: np.ndarray = field(default_factory=lambda: np.empty(0))  # (T, 2, 3)
    reach: np.ndarray = field(default_factory=lambda: np.empty(0))  # (T,)
    wanted_com: np.ndarray = field(default_factory=lambda: np.empty(0))  # (T, 2)
    step_time: np.ndarray = field(default_factory=lambda: np.empty(0))  # (T,)

    @property
    def settled(self) -> slice:
        """Rows of steady walking."""
        return slice(int(0.5 * len(self.recording)), None)

    def supports(self) -> list[tuple[int, int, int]]:
        """Foot, first and last row of each uninterrupted stretch in one contact state."""
        out = []
        for foot in range(2):
            state = self.recording.contact_state[:, foot]
            edges = [0, *(np.flatnonzero(np.diff(state)) + 1).tolist(), len(state)]
            out += [(foot, a, b - 1) for a, b in pairwise(edges) if state[a] != ContactState.AIRBORNE]
        return out


def record(scene: Scene, anatomy: Anatomy | None = None, seed: int = 0) -> Walk:
    simulation = Simulation(scene, anatomy, "kinematic", seed=seed)
    pivot, reach, com, step_time = [], [], [], []
    for _ in range(round(scene.seconds / DT)):
        simulation.tick()
        memory = simulation.plant.memory[0]  # type: ignore[attr-defined]
        pivot.append(memory.pivot.copy())
        reach.append(float(memory.reach_error))
        com.append(memory.com.copy())
        step_time.append(float(simulation.planner.plan[0].step_time))
    recording = simulation.recording()
    return Walk(simulation, recording, np.array(pivot), np.array(reach), np.array(com), np.array(step_time))


@cache
def walk(speed: float) -> Walk:
    return record(build("walk", Options(speed=speed, seconds=11.0)))


@cache
def scene(name: str, **options: float) -> Walk:
    return record(build(name, Options(**options)))  # type: ignore[arg-type]


def envelope_excess(recording: Recording, anatomy: Anatomy = ANATOMY) -> float:
    """How far any joint leaves its outer envelope [rad]."""
    low, high = (np.array([joint.outer[k] for joint in anatomy.joints]) for k in range(2))
    return float(np.maximum(low - recording.q, recording.q - high).max())


def lowest_sole(recording: Recording, slope: float = 0.0) -> float:
    """Lowest height of any sole point over the ground [m]."""
    points = [recording.point(f"{side}_{name}") for side in FEET for name in ("heel", "toe_base", "toe_tip")]
    return min(float((p[:, 2] - math.tan(slope) * p[:, 1]).min()) for p in points)


# -- geometry of the rocker ----------------------------------------------------------------------------------------------


def test_smooth_min_is_the_minimum_outside_its_width_and_below_it_inside() -> None:
    assert smooth_min(1.0, 2.0, 0.5) == 1.0
    a = np.linspace(0, 2, 401)
    rounded = np.array([smooth_min(x, 1.0, 0.5) for x in a])
    assert np.all(rounded <= np.minimum(a, 1.0))
    assert np.abs(np.diff(rounded, 2)).max() < 2e-4  # no corner: second difference of a curve, not of a kink (5e-3)


def test_minimum_jerk_arrives_at_rest() -> None:
    x, v, a = 0.3, -1.0, 4.0
    for k in range(100):
        x, v, a = minimum_jerk(x, v, a, 1.0, 1.0 - 0.01 * k, 0.01)
    assert x == pytest.approx(1.0, abs=1e-9)
    assert v == pytest.approx(0.0, abs=1e-6)
    assert a == pytest.approx(0.0, abs=1e-3)
    assert (smooth_step(-1.0), smooth_step(0.5), smooth_step(2.0)) == (0.0, 0.5, 1.0)


@pytest.mark.parametrize("yaw", [0.0, 0.7, -2.0])
@pytest.mark.parametrize("slope", [0.0, 0.1, -0.2])
def test_a_flat_sole_lies_in_the_plane(yaw: float, slope: float) -> None:
    frame = np.empty((3, 3))
    sole_frame(yaw, 0.0, slope, frame)
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(frame[:, 2], [0, -math.sin(slope), math.cos(slope)], atol=1e-12)
    assert math.atan2(-frame[0, 1], frame[1, 1]) == pytest.approx(yaw)
    assert math.asin(frame[2, 1]) == pytest.approx(ground_pitch(yaw, slope))


def test_highest_pitch_within_reach_leaves_the_leg_just_so_long() -> None:
    ball, height, leg = 0.12, 0.075, 0.82
    for ahead in (0.1, 0.2, 0.3):
        pitch = pitch_within_reach(ahead, 0.86, ball, height, leg)
        c, s = math.cos(pitch), math.sin(pitch)
        ankle = (-ball * c - height * s, -ball * s + height * c)
        assert math.hypot(ahead - ankle[0], 0.86 - ankle[1]) == pytest.approx(leg)


def test_toes_lie_on_the_ground() -> None:
    joint, length = 0.018, 0.07
    assert toe_pitch(joint, joint, length) == pytest.approx(0.0)
    for over in (0.01, 0.03):
        pitch = toe_pitch(over, joint, length)
        assert over + length * math.sin(pitch) - joint * math.cos(pitch) == pytest.approx(0.0)


# -- steady walking ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", SPEEDS)
def test_speed_and_step_length_are_those_of_the_command(speed: float) -> None:
    w = walk(speed)
    figures = summary(w.recording)
    assert not figures["fell"]
    gait = Gait(w.recording)
    assert gait.strides
    span = slice(*np.searchsorted(w.recording.time, (gait.strides[0].start, gait.strides[-1].end)))
    moved = gait.progress[span][-1] - gait.progress[span][0]
    assert moved / (w.recording.time[span][-1] - w.recording.time[span][0]) == pytest.approx(speed, rel=0.01)
    assert figures["step_length_m"] == pytest.approx(speed * w.step_time[-1], rel=0.05)
    assert np.std(gait.steps.length) < 0.02
    assert 0.08 < figures["step_width_m"] < 0.25
    assert 0.58 < figures["stance_fraction"] < 0.68


@pytest.mark.parametrize("speed", SPEEDS)
def test_the_pivot_of_a_planted_foot_does_not_move(speed: float) -> None:
    w = walk(speed)
    for foot, first, last in w.supports():
        state = ContactState(int(w.recording.contact_state[first, foot]))
        point = w.recording.point(f"{FEET[foot]}_{PIVOT[state]}")[first : last + 1]
        assert np.abs(point - w.pivot[first : last + 1, foot]).max() < 1e-6
        assert np.abs(point - point[0]).max() < 1e-6
        assert abs(point[0, 2]) < 1e-6
    assert np.all(w.reach == 0)
    assert summary(w.recording)["foot_slip_m"] < 0.004  # of the point of pressure, which is a little off the pivot


@pytest.mark.parametrize("speed", SPEEDS)
def test_every_stance_rolls_from_heel_to_toe(speed: float) -> None:
    w = walk(speed)
    rolled = 0
    for foot in range(2):
        state = w.recording.contact_state[w.settled, foot]
        order = [int(s) for k, s in enumerate(state) if k == 0 or s != state[k - 1]]
        start = order.index(0)
        last = len(order) - order[::-1].index(0)
        assert order[start:last] == ([0, 1, 2, 3, 4] * 20)[: last - start]
        rolled += (last - start) // 5
    assert rolled >= 4


@pytest.mark.parametrize("speed", SPEEDS)
def test_it_looks_like_a_persons_walk(speed: float) -> None:
    w = walk(speed)
    report = gait_report(w.recording)
    assert report["heel_first_share"] == 1.0
    assert report["toe_last_share"] == 1.0
    assert report["foot_pitch_touchdown_deg"] > 10  # toes up
    assert 50 < report["knee_swing_deg"] < 75
    assert report["knee_midstance_deg"] < 15  # no crouch
    assert report["toe_clearance_m"] > 0.01
    heel = w.recording.point("right_heel")[w.settled, 2]
    leaving = np.flatnonzero(np.diff(w.recording.contact_state[w.settled, 1].astype(int)) == -int(ContactState.TOE))
    assert len(leaving) >= 2
    assert np.all(heel[leaving] > 0.10)  # the heel has risen
    if speed >= 1.0:
        assert report["rms_mean_deg"] < 9  # against 24 adults at 1.24 m/s


@pytest.mark.parametrize("speed", SPEEDS)
def test_joints_stay_within_their_envelope_and_soles_above_the_ground(speed: float) -> None:
    w = walk(speed)
    assert envelope_excess(w.recording) <= 1e-9
    ankle = np.degrees([w.recording.joint(f"{side}_ankle_dorsiflexion")[w.settled] for side in FEET])
    assert ankle.max() < 20
    assert lowest_sole(w.recording) > -0.001


@pytest.mark.parametrize("speed", SPEEDS)
def test_the_root_is_carried_smoothly_through_support_changes(speed: float) -> None:
    w = walk(speed)
    rows = w.settled
    for velocity, jump in ((w.recording.root_velocity, (1.5, 10.0, 3.0)), (w.recording.com_velocity[:, :2], (0.6, 1.0))):
        acceleration = np.diff(velocity[rows], axis=0) / DT
        change = np.abs(np.diff(acceleration, axis=0)).max(axis=0)
        assert np.all(change < jump)  # [m/s^2] from tick to tick; a velocity jump of 0.1 m/s would be 12
    position = np.diff(w.recording.root_position, axis=0)[rows.start - 1 :]
    np.testing.assert_allclose(position / DT, w.recording.root_velocity[rows], atol=1e-9)


@pytest.mark.parametrize("speed", SPEEDS)
def test_the_whole_body_centre_of_mass_is_where_the_transport_wants_it(speed: float) -> None:
    w = walk(speed)
    assert np.abs(w.recording.com[:, :2] - w.wanted_com).max() < 1e-5


def test_pelvis_and_thorax_turn_against_each_other() -> None:
    r = walk(1.0).recording
    rows = walk(1.0).settled
    pelvis = np.array([math.atan2(-m[0, 1], m[1, 1]) for m in matrix_from_quaternion(r.root_quaternion[rows])])
    twist = r.joint("lumbar_rotation")[rows] + r.joint("thorax_rotation")[rows]
    planned = 2 * float(walk(1.0).simulation.parameters.pelvis_rotation)
    assert 0.8 * planned < np.ptp(pelvis) < 1.1 * planned
    assert np.corrcoef(pelvis, twist)[0, 1] < -0.8


def test_arms_swing_with_the_opposite_leg() -> None:
    r = walk(1.0).recording
    rows = walk(1.0).settled
    for arm, same, opposite in (("left", "left", "right"), ("right", "right", "left")):
        swing = r.joint(f"{arm}_shoulder_flexion")[rows]
        assert 15 < np.degrees(np.ptp(swing)) < 60
        later = [np.corrcoef(swing[lag:], r.joint(f"{opposite}_hip_flexion")[rows][: len(swing) - lag])[0, 1] for lag in range(30)]
        assert max(later) > 0.85  # up to a quarter of a second after it
        assert np.corrcoef(swing, r.joint(f"{same}_hip_flexion")[rows])[0, 1] < 0


# -- contacts and forces -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", SPEEDS)
def test_contacts_are_the_planned_ones(speed: float) -> None:
    r = walk(speed).recording
    touchdowns = r.event_touchdown
    assert touchdowns.sum() > 8
    lead = (r.event_predicted - r.event_time)[touchdowns]
    assert np.abs(lead).max() < 0.5 * DT + 1e-9
    assert np.all(r.event_part[touchdowns] == SolePart.HEEL)
    assert np.all(r.event_part[~touchdowns] == SolePart.TOE)
    for foot in range(2):
        mine = r.event_touchdown[r.event_foot == foot]
        assert np.all(mine[1:] != mine[:-1])


@pytest.mark.parametrize("speed", SPEEDS)
def test_ground_force_is_what_the_motion_asks_for(speed: float) -> None:
    w = walk(speed)
    r = w.recording
    assert np.all(r.ground_force[r.contact_state == ContactState.AIRBORNE] == 0)
    assert np.all(r.ground_force[..., 2] > -1e-9)
    np.testing.assert_allclose(r.sole_load.sum(axis=2), r.ground_force[..., 2], atol=1e-9)
    # impulse over whole strides: the CoM's velocity is then the same again
    strides = [s for s in Gait(r).strides if s.foot == 0]
    a, b = np.searchsorted(r.time, (strides[0].start, strides[-1].end))
    mean = r.ground_force[a:b].sum(axis=1).mean(axis=0)
    weight = ANATOMY.mass * GRAVITY
    assert mean[2] == pytest.approx(weight, rel=0.01)
    assert np.abs(mean[:2]).max() < 0.01 * weight
    # and at every moment, but for the lag of the low-pass
    acceleration = np.diff(r.com_velocity, axis=0) / DT
    force = r.ground_force.sum(axis=1)[1:] / ANATOMY.mass
    forward, asked = force[w.settled, 1][2:], acceleration[w.settled, 1][:-2]
    assert np.sqrt(np.mean((forward - asked) ** 2)) < 0.25 * np.std(asked) + 0.02


def test_pressure_is_under_the_part_that_stands() -> None:
    r = walk(1.0).recording
    for foot, side in enumerate(FEET):
        heel, base, tip = (r.point(f"{side}_{name}") for name in ("heel", "toe_base", "toe_tip"))
        for row in range(walk(1.0).settled.start, len(r)):
            pressure, state = r.centre_of_pressure[row, foot], r.contact_state[row, foot]
            if state == ContactState.FLAT:
                assert heel[row, 1] - 1e-3 < pressure[1] < tip[row, 1] + 1e-3
            elif state == ContactState.FOREFOOT:
                assert pressure[1] < tip[row, 1] + 1e-3
                assert pressure[1] > base[row, 1] - 0.06
            if state != ContactState.AIRBORNE:
                assert abs(pressure[2]) < 1e-6
                parts = r.sole_load[row, foot]
                if state == ContactState.HEEL:
                    assert parts[1] == parts[2] == 0
                if state == ContactState.TOE:
                    assert parts[0] == parts[1] == 0


def test_standing_torques_balance_gravity_and_ground() -> None:
    """tau = g(q) - sum J^T f of a body at rest, by Pinocchio's Jacobians."""
    plant = scene("stand", seconds=6.0).simulation.plant
    s = plant.state
    model = pin.buildModelFromXML(to_urdf(ANATOMY), pin.JointModelFreeFlyer())
    data = model.createData()
    q = pin.neutral(model)
    q[:3], q[3:7] = s.root_position, s.root_quaternion
    index = [model.joints[model.getJointId(joint.name)].idx_v for joint in ANATOMY.joints]
    for i, angle in zip(index, s.q, strict=True):
        q[i + 1] = angle
    expected = pin.computeGeneralizedGravity(model, data, q).copy()
    for i, side in enumerate(FEET):
        for part, link in enumerate((f"{side}_hindfoot", f"{side}_hindfoot", f"{side}_toes")):
            force = s.sole_force[i, part]
            if not force.any():
                continue
            frame = model.getFrameId(link)
            pin.framesForwardKinematics(model, data, q)
            jacobian = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
            # heel and ball share their force such that its line passes through the pressure
            arm = s.pressure[i] - data.oMf[frame].translation
            expected -= jacobian[:3].T @ force + jacobian[3:].T @ np.cross(arm, force)
    np.testing.assert_allclose(s.tau, expected[index], atol=0.5)
    assert np.abs(expected[:3]).max() < 0.5  # nothing else holds the body up
    assert s.load.sum() == pytest.approx(ANATOMY.mass * GRAVITY, rel=1e-3)


# -- starting, stopping, turning, slopes, pushes -------------------------------------------------------------------------


def test_start_walk_stop_stand() -> None:
    w = scene("start-stop", speed=1.0, seconds=18.0)
    r = w.recording
    assert not r.header["fall"]["fell"]
    assert envelope_excess(r) <= 1e-9
    assert np.all(r.contact_state[-120:] == ContactState.FLAT)
    assert np.abs(r.root_velocity[-60:]).max() < 0.02
    middle = np.abs(r.time - 8.0) < 1.5
    assert r.com_velocity[middle, 1].mean() == pytest.approx(1.0, rel=0.03)
    assert np.abs(np.diff(r.root_velocity[10:], axis=0)).max() < 0.2


def test_speed_changes() -> None:
    w = record(Scene("speeds", (Command(1.0, 0.6), Command(6.0, 1.2), Command(11.0, 0.6)), 16.0))
    r = w.recording
    for moment, speed in ((5.0, 0.6), (10.0, 1.2), (15.0, 0.6)):
        around = np.abs(r.time - moment) < 1.0
        assert r.com_velocity[around, 1].mean() == pytest.approx(speed, rel=0.05)
    assert np.all(w.reach == 0)
    assert envelope_excess(r) <= 1e-9


@pytest.mark.parametrize("rate", [0.3, -0.3])
def test_turning(rate: float) -> None:
    r = scene("turn", speed=0.8, heading_rate=rate, seconds=14.0).recording
    body = np.unwrap([math.atan2(-m[0, 1], m[1, 1]) for m in matrix_from_quaternion(r.root_quaternion)])
    a, b = np.searchsorted(r.time, (8.0, 13.5))
    assert (body[b] - body[a]) / (r.time[b] - r.time[a]) == pytest.approx(rate, rel=0.05)
    assert Gait(r).speed == pytest.approx(0.8, rel=0.03)
    assert envelope_excess(r) <= 1e-9


@pytest.mark.parametrize("angle", [-5.0, -3.0, 3.0, 5.0])
def test_slopes_are_followed(angle: float) -> None:
    w = scene("slope", speed=0.8, angle=angle, seconds=12.0)
    r, slope = w.recording, math.radians(angle)
    assert not r.header["fall"]["fell"]
    assert Gait(r).speed == pytest.approx(0.8, rel=0.02)
    height = r.root_position[:, 2] - math.tan(slope) * r.root_position[:, 1]
    assert np.ptp(height[w.settled]) < 0.08
    assert lowest_sole(r, slope) > -0.002
    assert envelope_excess(r) <= 1e-9
    for foot, first, last in w.supports():
        state = ContactState(int(r.contact_state[first, foot]))
        point = r.point(f"{FEET[foot]}_{PIVOT[state]}")[first : last + 1]
        assert np.abs(point - point[0]).max() < 1e-6


def test_a_push_moves_the_body_and_is_answered_by_steps() -> None:
    calm = scene("walk", speed=1.0, seconds=11.0).recording
    pushed = scene("push", speed=1.0, seconds=11.0, direction=90.0, impulse=10.0).recording
    assert not pushed.header["fall"]["fell"]
    k = int(np.searchsorted(pushed.time, pushed.push_time[0] + 0.2))
    assert pushed.com[k, 0] < calm.com[k, 0] - 0.005  # to the left
    assert abs(pushed.com_velocity[-120:, 0].mean()) < 0.1


@pytest.mark.parametrize("anatomy", [Anatomy(45.0, 1.50, "female"), Anatomy(110.0, 1.95, "male")])
def test_other_bodies(anatomy: Anatomy) -> None:
    w = record(build("walk", Options(speed=1.0, seconds=9.0)), anatomy)
    assert Gait(w.recording).speed == pytest.approx(1.0, rel=0.02)
    assert envelope_excess(w.recording, anatomy) <= 1e-9
    assert lowest_sole(w.recording) > -0.001


# -- the plant as such ---------------------------------------------------------------------------------------------------


def test_replay_is_bit_exact() -> None:
    scene = build("turn", Options(speed=0.9, seconds=7.0, seed=5))
    used = Simulation(scene, plant="kinematic", seed=5)
    for _ in range(300):
        used.tick()
    used.reset()
    for _ in range(round(7.0 / DT)):
        used.tick()
    first, second = run(scene, plant="kinematic", seed=5), used.recording()
    for name, column in first.columns.items():
        np.testing.assert_array_equal(column, second.columns[name][: len(column)], err_msg=name)


_ROWS = """
import numpy as np
from sandbox.plants.base import standing_pose
from sandbox.scenes.scene import Options, build
from sandbox.simulation import Simulation
simulation = Simulation(build("walk", Options(speed=0.8, seconds=3.0)), plant="kinematic")
simulation.advance(0.8, 0.0)
for _ in range({ticks}):
    simulation.advance(0.8, 0.0)
s = simulation.plant.state
print(*s.q, *s.root_position, *s.tau)
"""


@pytest.mark.slow
def test_plain_python_does_the_same() -> None:
    rows = []
    for plain in ("0", "1"):
        environment = os.environ | {"NUMBA_DISABLE_JIT": plain}
        done = subprocess.run([sys.executable, "-c", _ROWS.format(ticks=150)], env=environment, capture_output=True, text=True, check=True)
        rows.append([float(x) for x in done.stdout.split()])
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-6, atol=1e-6)  # the libraries' tanh and powers differ in the last bit


def test_a_pose_is_set_down_with_feet_flat_where_they_are() -> None:
    plant = KinematicPlant(ANATOMY)
    pose = standing_pose(ANATOMY, seed=4)
    plant.reset(pose)
    o = plant.observe()[0]
    assert np.abs(o.sole_low).max() < 1e-9
    assert np.abs(o.foot_pitch).max() < 1e-9
    assert plant.state.contact.tolist() == [ContactState.FLAT] * 2
    np.testing.assert_array_equal(plant.state.q[:13], pose.q[:13])
    assert np.abs(plant.state.root_position - pose.position)[:2].max() < 1e-12


def test_boxes_are_refused() -> None:
    with pytest.raises(ValueError, match="boxes"):
        KinematicPlant(ANATOMY, Terrain(boxes=(Box(0.0, 3.0, 0.2, 0.2, 0.02),)))
    with pytest.raises(ValueError, match="boxes"):
        run("bumps", plant="kinematic", seconds=1.0)


def test_a_closed_plant_is_refused() -> None:
    plant = KinematicPlant(ANATOMY)
    plant.close()
    plant.close()
    for use in (lambda: plant.reset(standing_pose(ANATOMY)), plant.observe, lambda: plant.push(np.zeros(3))):
        with pytest.raises(RuntimeError, match="closed"):
            use()


def test_an_unknown_link_cannot_be_pushed() -> None:
    plant = KinematicPlant(ANATOMY)
    with pytest.raises(KeyError, match="tail"):
        plant.push(np.zeros(3), "tail")


def test_it_runs_thirty_times_faster_than_real_time() -> None:
    simulation = Simulation(build("walk", Options(speed=1.0, seconds=10.0)), plant="kinematic")
    simulation.tick()  # compiles
    start = time.process_time()
    for _ in range(600):
        simulation.tick()
    assert time.process_time() - start < 600 * DT / 30
