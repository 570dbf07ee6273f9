"""KLAW's reconstruction among the planners and plants: its walker on the kinematic body, and as reference of the physical one.

On the kinematic body the walker moves everything. On the physical body the planner keeps what balance needs, footholds and the moment of
each step, and takes from KLAW how the body is carried: rise and fall of mid-hip, pelvis, trunk, arms and the swing foot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.inertia import Array
from sandbox.config import nearest
from sandbox.controllers.klaw.machine import NEXT, SWINGS, Event, LegMachine, LegState, expected
from sandbox.controllers.klaw.parameters import Attributes
from sandbox.controllers.parameters import Parameters
from sandbox.controllers.planner import DOUBLE, SINGLE, STAND, WALK, GaitPlanner, _bounce, ankle_above_sole, clamp
from sandbox.plants.base import Pose
from sandbox.plants.kinematic import KinematicPlant
from sandbox.plants.klaw import KlawPose, KlawWalker, sole_below
from sandbox.spatial import matrix_from_quaternion, quaternion_from_matrix
from sandbox.state import ContactState

Follow = Literal["hip", "body", "all"]
LEVEL: Final = 0.05  # [rad] within which a sole lies flat
PITCH_PULL: Final = 20.0  # [1/s] with which the swing foot's pitch goes to KLAW's


class KlawPlanner(GaitPlanner):
    """The walker in the planner's place: what is commanded goes to it, and its steps are told as the planner tells its own.

    Args:
        anatomy: the body; parameters: of the planner, which are of no use here but for the recording's header.
        attributes: style.

    Attributes:
        walker: of the steps; body_pose: of the body at the end of the present tick; legs: state machines of both legs, driven by the
            clock.
    """

    def __init__(self, anatomy: Anatomy, parameters: Parameters, attributes: Attributes | None = None) -> None:
        super().__init__(anatomy, parameters)
        self.stance = "klaw"  # type: ignore[assignment]  # which the header tells; no model of the planner's own
        self.walker = KlawWalker(anatomy, attributes)
        self.body_pose = self.walker.pose(0.0)
        self.legs = (LegMachine(), LegMachine())

    def reset(self, observation: NDArray[np.void], heading: float = 0.0) -> None:
        """Start over, standing at the origin."""
        super().reset(observation, heading)
        self.walker.reset()
        self.body_pose = self.walker.pose(0.0)
        self.legs = (LegMachine(), LegMachine())

    def update(self, observation: NDArray[np.void], speed: float, heading_rate: float, dt: float) -> NDArray[np.void]:  # noqa: ARG002
        """Advance by ``dt`` [s] towards a speed [m/s]. It goes straight ahead, whatever the heading rate."""
        time = float(observation[0].time) + dt
        made = len(self.walker.steps)
        step = self.walker.plan(time, speed)
        self.body_pose = self.walker.pose(time)
        for foot, leg in enumerate(self.legs):
            now = self.walker.leg_state(step, foot, time - step.begin)
            while leg.state != now:
                leg.on(expected(leg.state), time)
        s = self.plan[0]
        walking = not math.isinf(step.time.step)
        s.speed = step.speed
        s.mode = WALK if walking else STAND
        s.swing = 1 - step.lead
        s.phase = DOUBLE if time - step.begin < step.time.double else SINGLE
        s.share[:] = self.body_pose.load
        if walking:
            s.step_time, s.release, s.step_end = step.time.step, step.begin + step.time.double, step.end
            s.touchdown[step.lead], s.lift_off = step.begin, s.release
        if len(self.walker.steps) > made and walking:
            # told as footholds are: when they are reached, of the foot that landed
            for i, sign in enumerate((-1.0, 1.0)):
                if i == step.lead:
                    s.foothold[:] = (sign * self.walker.line, step.heel[i] + self.walker.geometry.heel, self.anatomy.ankle_height)
            s.steps += step.kind != "start"
        return self.plan

    def notes(self) -> list[str]:
        """See :meth:`KlawWalker.notes`."""
        return self.walker.notes()

    def swing_preview(self, observation: NDArray[np.void], samples: int) -> NDArray[np.float64]:
        """Path (samples, 3) [m] of the swing ankle from now to the foothold; empty (0, 3) where no foot swings."""
        time = float(observation[0].time)
        step = self.walker.at(time)
        if math.isinf(step.time.step) or time - step.begin < step.time.double:
            return np.empty((0, 3))
        foot = 1 - step.lead
        poses = [self.walker.pose(t).feet[foot] for t in np.linspace(time, step.end - 1e-6, samples).tolist()]
        return np.array([((2 * foot - 1) * self.walker.line, p.forward, p.up) for p in poses])


class KlawPlant(KinematicPlant):
    """A body that is where KLAW's walker has it; ground force and torques are what that motion asks for, as in the kinematic plant."""

    def reset(self, pose: Pose) -> None:
        """Set the body down as the walker stands, whatever the pose: it has no start to perturb."""
        super().reset(pose)
        self._line = KlawWalker(self.anatomy).line
        self._set(KlawWalker(self.anatomy).pose(0.0))
        for array in (self.state.root_velocity, self.state.root_angular_velocity, self.state.qd):
            array[:] = 0.0
        self.observer(self.state, self.load, self.contact)
        self._pack()
        self._v_last[:] = self._v

    def _set(self, pose: KlawPose) -> None:
        s, m = self.state, self.memory[0]
        s.root_position[:] = pose.position
        s.root_quaternion[:] = quaternion_from_matrix(pose.rotation)
        s.q[:] = pose.q
        for i, foot in enumerate(pose.feet):
            self.contact[i] = int(foot.part != ContactState.AIRBORNE)
            s.contact[i] = foot.part
            m.part[i] = int(foot.part)
            m.share[i] = pose.load[i]
            m.point[i] = ((2 * i - 1) * self._line, pose.pressure[i], 0.0)
            m.ahead[i] = pose.pressure[i] - foot.forward if foot.part == ContactState.FLAT else m.ahead[i]
            if foot.part >= ContactState.FOREFOOT:
                m.ahead[i] = self.anatomy.ball_ahead_of_ankle + max(pose.pressure[i] - pose.ball[i], 0.0)
        s.pressure[:] = m.point

    def follow(self, planner: GaitPlanner) -> None:
        """One tick: the walker's pose."""
        self._check_open()
        assert isinstance(planner, KlawPlanner)
        s = self.state
        before = (int(self.contact[0]), int(self.contact[1]))
        position, rotation, q = s.root_position.copy(), matrix_from_quaternion(s.root_quaternion), s.q.copy()
        pose = planner.body_pose
        self._set(pose)
        s.root_velocity[:] = (s.root_position - position) / self.dt
        s.root_angular_velocity[:] = Rotation.from_matrix(pose.rotation @ rotation.T).as_rotvec() / self.dt
        s.qd[:] = (s.q - q) / self.dt
        self._tick += 1
        s.time = self._tick * self.dt
        self._finish_tick(before)


class _Row(NamedTuple):
    """KLAW's pose at a phase of a step in which the right foot leads; rates per second of KLAW's own step; arms of lead and trail side."""

    rise: float
    rise_rate: float
    yaw: float
    yaw_rate: float
    twist: float
    lean: float
    shoulder: tuple[float, float]
    elbow: tuple[float, float]


@dataclass(frozen=True)
class _Cycle:
    """KLAW's periodic gait at a speed [m/s], over a step of ``step`` [s], in samples at even phases; and the foot in its swing."""

    speed: float
    step: float
    rows: Array
    clearance: Array
    pitch: Array

    @classmethod
    def of(cls, anatomy: Anatomy, speed: float, samples: int = 60) -> _Cycle:
        walker, i = KlawWalker(anatomy), anatomy.joint_index
        step = walker.periodic(speed)
        T = step.time.step
        poses = [walker.pose(t) for t in np.linspace(0, T, samples + 1).tolist()]
        height = np.array([p.position[2] for p in poses])
        yaw = np.array([math.atan2(-p.rotation[0, 1], p.rotation[1, 1]) for p in poses])
        columns = [height - height.max(), np.gradient(height, T / samples), yaw, np.gradient(yaw, T / samples)]
        q = np.array([p.q for p in poses])
        columns += [q[:, i["lumbar_rotation"]] + q[:, i["thorax_rotation"]], -q[:, i["head_flexion"]]]
        columns += [q[:, i[f"{side}_{joint}"]] for joint in ("shoulder_flexion", "elbow_flexion") for side in ("right", "left")]
        g = walker.geometry
        flying = [walker.pose(t).feet[0] for t in np.linspace(step.time.double + 1e-6, T - 1e-6, samples + 1).tolist()]
        clearance = np.array([f.up - sole_below(g, f.pitch, f.pitch + f.mtp) for f in flying])
        return cls(step.speed, T, np.array(columns), clearance, np.array([f.pitch for f in flying]))

    def at(self, phase: float) -> _Row:
        c = [float(np.interp(phase, np.linspace(0, 1, self.rows.shape[1]), row)) for row in self.rows]
        return _Row(c[0], c[1], c[2], c[3], c[4], c[5], (c[6], c[7]), (c[8], c[9]))

    def foot(self, share: float) -> tuple[float, float]:
        """Clearance of the sole [m] and pitch [rad] at a share of the swing."""
        at = np.linspace(0, 1, len(self.pitch))
        return float(np.interp(share, at, self.clearance)), float(np.interp(share, at, self.pitch))


class KlawReference(GaitPlanner):
    """The planner with KLAW's gait as reference of the physical body.

    Where feet go and when a step ends stays with the planner: KLAW knows no balance. Of KLAW's periodic gait at the commanded speed,
    at the phase of the present step, come the rise and fall of mid-hip, pelvis, trunk and arms, and the swing foot's height and pitch.

    Args:
        anatomy: the body; parameters: of the planner.
        follow: what is taken: ``hip`` the rise and fall alone, ``body`` pelvis, trunk and arms as well, ``all`` the height and pitch of
            the swing foot too, with which the body mostly falls within ten seconds.

    Raises:
        ValueError: an unknown ``follow``.
    """

    def __init__(self, anatomy: Anatomy, parameters: Parameters, follow: Follow = "body") -> None:
        super().__init__(anatomy, parameters)
        if follow not in get_args(Follow):
            raise ValueError(f"unknown follow {follow!r}{nearest(follow, get_args(Follow))}")
        self.stance = "klaw"  # type: ignore[assignment]
        self.takes: Follow = follow
        self.walker = KlawWalker(anatomy)
        self._cycles: dict[float, _Cycle] = {}
        self.legs = (LegMachine(), LegMachine())

    def reset(self, observation: NDArray[np.void], heading: float = 0.0) -> None:
        """Start over, standing in the observed pose."""
        super().reset(observation, heading)
        self.legs = (LegMachine(), LegMachine())

    def _cycle(self, speed: float) -> _Cycle:
        """KLAW's gait nearest to a speed [m/s], on a grid, so that a change of speed makes few of them."""
        v = self.walker.clamp(max(round(speed / 0.1) * 0.1, 0.1))
        if v not in self._cycles:
            self._cycles[v] = _Cycle.of(self.walker.anatomy, v)
        return self._cycles[v]

    def update(self, observation: NDArray[np.void], speed: float, heading_rate: float, dt: float) -> NDArray[np.void]:
        """Advance the plan by ``dt`` [s] towards the command."""
        s = self.plan[0]
        before = float(s.swing_position[2]), float(s.swing_pitch)
        super().update(observation, speed, heading_rate, dt)
        self._advance_legs(observation)
        if s.mode != WALK:
            return self.plan
        k, b = self.parameters[0], self.body[0]
        time = float(observation[0].time)
        cycle = self._cycle(float(s.speed))
        fade = clamp(float(s.speed) / cycle.speed, 0.0, 1.0)
        phase = clamp((time - float(s.begun[1 - s.swing])) / float(s.step_time), 0.0, 1.0)
        row = cycle.at(phase)
        # rise and fall in the place of the planner's own
        bounce, w = _bounce(k, b, k.speed_feed_forward * s.speed, s.step_time), 2 * math.pi / s.step_time
        angle = 2 * math.pi * (phase - 0.5 * k.double_support + k.bounce_lead)
        s.carried, s.rise = 1, fade * row.rise
        s.height += s.rise + bounce * (1 + math.cos(angle))
        s.height_rate += fade * row.rise_rate * cycle.step / s.step_time - bounce * w * math.sin(angle)
        s.height_acceleration = 0.0
        if self.takes == "hip":
            return self.plan
        side = 1.0 - 2.0 * float(s.swing)  # 1 where the right foot leads
        s.pelvis_yaw = s.heading + fade * side * row.yaw
        s.pelvis_yaw_rate = s.heading_rate + fade * side * row.yaw_rate * cycle.step / s.step_time
        s.thorax_yaw = fade * side * row.twist
        s.lean = fade * row.lean
        lead = int(1 - s.swing)
        for i in range(2):
            s.shoulder[i] = row.shoulder[0 if i == lead else 1]
            s.elbow[i] = row.elbow[0 if i == lead else 1]
        if self.takes == "all" and s.phase == SINGLE and time < s.step_end:
            swung = clamp((time - float(s.lift_off)) / max(float(s.step_end - s.lift_off), 0.05), 0.0, 1.0)
            mix = math.sin(math.pi * swung) ** 2 * fade  # begin and end with the planner's foot
            clear, pitch = cycle.foot(swung)
            s.swing_pitch += mix * min(PITCH_PULL * dt, 1.0) * (pitch + s.slope - s.swing_pitch)
            s.swing_pitch_rate = (s.swing_pitch - before[1]) / dt
            ground = s.ground[lead] + s.slope * self._ahead(observation, lead)
            now = s.swing_position[2] - ground - ankle_above_sole(s.swing_pitch - s.slope, b)
            s.swing_position[2] += mix * max(clear - now, 0.0)
            s.swing_velocity[2] = (s.swing_position[2] - before[0]) / dt
        return self.plan

    def _advance_legs(self, observation: NDArray[np.void]) -> None:
        """Heel strike and toe-off are contacts, as the plant has debounced them; the rest follows the foot's pitch and the clock."""
        o, s = observation[0], self.plan[0]
        time = float(o.time)
        for i, leg in enumerate(self.legs):
            down, pitch = bool(o.contact[i]), float(o.foot_pitch[i] - s.slope)
            swung = (time - leg.since) / max(float(s.step_time), 0.1)
            event = None
            if leg.stands and not down:
                event = Event.TOE_OFF
            elif not leg.stands and down:
                event = Event.HEEL_STRIKE
            elif leg.state == LegState.HEEL and pitch < LEVEL:
                event = Event.FOOT_FLAT
            elif leg.state == LegState.FLAT and pitch < -LEVEL:
                event = Event.HEEL_OFF
            elif not leg.stands and leg.state != LegState.SWING_3 and swung > 0.7 * SWINGS[0]:
                event = expected(leg.state)
            if event is not None and (leg.state, event) in NEXT:
                leg.on(event, time)

    def _ahead(self, observation: NDArray[np.void], lead: int) -> float:
        """How far the swing ankle is ahead of the standing one [m]."""
        s, o = self.plan[0], observation[0]
        x, y = s.swing_position[0] - o.ankle[lead, 0], s.swing_position[1] - o.ankle[lead, 1]
        return float(-x * math.sin(s.heading) + y * math.cos(s.heading))
