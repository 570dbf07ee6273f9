"""What planner and controller look at, against Pinocchio and plain geometry."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

from sandbox.bodies import Anatomy, to_urdf
from sandbox.controllers.observation import Observer, sole_points
from sandbox.spatial import matrix_from_quaternion
from sandbox.state import FEET, BodyState

BODIES = [Anatomy(), Anatomy(55, 1.62, "female")]
LOAD, CONTACT = np.array([123.0, 456.0]), np.array([0, 1])


class Seen:
    """A random state, its observation, and the same state in Pinocchio."""

    def __init__(self, anatomy: Anatomy, seed: int) -> None:
        rng = np.random.default_rng(seed)
        low, high = np.array([joint.outer for joint in anatomy.joints]).T
        self.anatomy, self.state = anatomy, BodyState(len(low))
        s = self.state
        s.time = 1.25
        s.q[:], s.qd[:] = 0.6 * rng.uniform(low, high), rng.normal(scale=2, size=len(low))
        quaternion = np.append(rng.normal(scale=0.2, size=3), 1.0)
        s.root_quaternion[:] = quaternion / np.linalg.norm(quaternion)
        s.root_position[:], s.root_velocity[:], s.root_angular_velocity[:] = rng.normal(size=(3, 3))
        self.observer = Observer(anatomy)
        self.o = self.observer(s, LOAD, CONTACT)[0]
        self.model = pin.buildModelFromXML(to_urdf(anatomy), pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        q, v = pin.neutral(self.model), np.zeros(self.model.nv)
        self.r = matrix_from_quaternion(s.root_quaternion)
        q[:3], q[3:7] = s.root_position, s.root_quaternion
        v[:3], v[3:6] = self.r.T @ s.root_velocity, self.r.T @ s.root_angular_velocity
        for joint, angle, rate in zip(anatomy.joints, s.q, s.qd, strict=True):
            j = self.model.joints[self.model.getJointId(joint.name)]
            q[j.idx_q], v[j.idx_v] = angle, rate
        pin.forwardKinematics(self.model, self.data, q, v)
        pin.updateFramePlacements(self.model, self.data)
        pin.computeCentroidalMomentum(self.model, self.data, q, v)
        pin.centerOfMass(self.model, self.data, q, v)

    def frame(self, link: str, point: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position and velocity of a point of a link, and the link's rotation."""
        k = self.model.getFrameId(link, pin.FrameType.BODY)
        placed, twist = self.data.oMf[k], pin.getFrameVelocity(self.model, self.data, k, pin.LOCAL_WORLD_ALIGNED)
        arm = placed.rotation @ (np.zeros(3) if point is None else point)
        return placed.translation + arm, twist.linear + np.cross(twist.angular, arm), placed.rotation


@pytest.fixture(params=[(body, seed) for body in range(2) for seed in range(4)], ids=lambda p: f"body{p[0]}-seed{p[1]}")
def seen(request) -> Seen:
    return Seen(BODIES[request.param[0]], request.param[1])


def test_whole_body(seen) -> None:
    o, d = seen.o, seen.data
    np.testing.assert_allclose(o.com, d.com[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(o.com_velocity, d.vcom[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(o.angular_momentum, d.hg.angular, rtol=0, atol=1e-9)
    assert o.time == 1.25
    np.testing.assert_array_equal(o.load, LOAD)
    np.testing.assert_array_equal(o.contact, CONTACT)


def test_upper_body_is_everything_but_the_legs_relative_to_mid_hip(seen) -> None:
    legs = {f"{side}_{name}" for side in FEET for name in ("hip_1", "hip_2", "thigh", "shank", "ankle_1", "hindfoot", "toes")}
    total, position, velocity = 0.0, np.zeros(3), np.zeros(3)
    for link in seen.anatomy.links:
        if link.name not in legs:
            x, v, _ = seen.frame(link.name, link.mass_properties.com)
            total += link.mass_properties.mass
            position += link.mass_properties.mass * x
            velocity += link.mass_properties.mass * v
    assert 0.55 * seen.anatomy.mass < total < 0.7 * seen.anatomy.mass
    np.testing.assert_allclose(seen.o.upper_com, position / total - seen.state.root_position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(seen.o.upper_com_velocity, velocity / total - seen.state.root_velocity, rtol=0, atol=1e-9)


@pytest.mark.parametrize("foot", [0, 1])
def test_hips_ankles_and_feet(seen, foot: int) -> None:
    o, side = seen.o, FEET[foot]
    for name, link in (("hip", "hip_1"), ("ankle", "ankle_1")):
        position, velocity, _ = seen.frame(f"{side}_{link}")
        np.testing.assert_allclose(o[name][foot], position, rtol=0, atol=1e-9)
        np.testing.assert_allclose(o[f"{name}_velocity"][foot], velocity, rtol=0, atol=1e-9)
    rotation = seen.frame(f"{side}_hindfoot")[2]
    np.testing.assert_allclose(o.foot[foot], rotation, rtol=0, atol=1e-9)
    yaw, pitch, roll = o.foot_yaw[foot], o.foot_pitch[foot], o.foot_roll[foot]
    np.testing.assert_allclose(
        rotation[:, 1], [-math.sin(yaw) * math.cos(pitch), math.cos(yaw) * math.cos(pitch), math.sin(pitch)], atol=1e-9
    )
    assert -math.sin(roll) == pytest.approx(rotation[2, 0], abs=1e-9)
    # heel, ball and toe tip: the toe turns at its own joint
    heel, ball, _ = (seen.frame(f"{side}_hindfoot", p)[0] for p in sole_points(seen.anatomy))
    tip = seen.frame(*seen.anatomy.points[f"{side}_toe_tip"])[0]
    assert o.sole_low[foot] == pytest.approx(min(heel[2], ball[2], tip[2]), abs=1e-9)


def test_pelvis(seen) -> None:
    o = seen.o
    np.testing.assert_allclose(o.pelvis, seen.r, rtol=0, atol=1e-12)
    forward = seen.r[:, 1]
    assert o.pelvis_yaw == pytest.approx(math.atan2(-forward[0], forward[1]), abs=1e-12)


@pytest.mark.parametrize("foot", [0, 1])
def test_pitch_rate_of_a_flat_foot_is_the_derivative_of_its_pitch(foot: int) -> None:
    seen = Seen(BODIES[0], 1)
    s, h, observer = seen.state, 1e-6, seen.observer
    s.root_quaternion[:] = 0, 0, 0, 1
    s.root_angular_velocity[:] = 0
    s.q[:] = 0
    s.qd[:] = 0
    index = seen.anatomy.joint_index
    for name, rate in (("hip_flexion", 2.0), ("knee_flexion", 1.0), ("ankle_dorsiflexion", -0.5)):
        s.qd[index[f"{FEET[foot]}_{name}"]] = rate
    rate = float(observer(s, LOAD, CONTACT)[0].foot_pitch_rate[foot])
    s.q += h * s.qd
    after = float(observer(s, LOAD, CONTACT)[0].foot_pitch[foot])
    s.q -= 2 * h * s.qd
    before = float(observer(s, LOAD, CONTACT)[0].foot_pitch[foot])
    assert rate == pytest.approx((after - before) / (2 * h), abs=1e-6)
    assert rate == pytest.approx(2.0 - 1.0 - 0.5)


def test_observing_leaves_the_state() -> None:
    seen = Seen(BODIES[0], 2)
    s = seen.state
    names = ("q", "qd", "root_position", "root_quaternion", "root_velocity", "root_angular_velocity")
    before = [getattr(s, name).tobytes() for name in names]
    first = seen.observer(s, LOAD, CONTACT).tobytes()
    assert seen.observer(s, LOAD, CONTACT).tobytes() == first
    assert [getattr(s, name).tobytes() for name in names] == before
