"""The walker of KLAW's reconstruction on the body: steps one after another, and the pose at any time.

One step, in this order::

    stance        mid-hip and trunk by the telescoping leg (sandbox.controllers.klaw.stance)
    feet          pivots on heel, sole and ball place the ankle under the virtual leg
    determinants  rotation, list and sway of the pelvis
    swing         a double pendulum that hangs from the hip as the pelvis has it (sandbox.controllers.klaw.swing)
    legs          inverse kinematics from hips and ankles, so that no foothold moves
    upper body    trunk, arms

A step is made when the one before it ends, with the speed that is then commanded. Its pose is a function of time, so that it can be
played at any frame rate. Starting and stopping are no part of the published method: there mid-hip is an inverted pendulum from rest to
the first periodic state, and from the last one to rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.kinematics import MTP, Tree, solve_leg
from sandbox.controllers.klaw import stance
from sandbox.controllers.klaw.machine import HEEL_OFF, LOWERED, LegState
from sandbox.controllers.klaw.parameters import Attributes, Locomotion, Timing, locomotion
from sandbox.controllers.klaw.stance import PIVOT, SAMPLES, Linkage, Orbit, Solved, cubic, pendulum
from sandbox.controllers.klaw.swing import CLEARANCE, GRAZE, Hip, Pendulum, Posture, Swing, ankle_of, swing, two_link
from sandbox.controllers.steps import smoother_step
from sandbox.plants.continuous import FootGeometry
from sandbox.plants.rocker import smooth_min
from sandbox.spatial import rotation_x, rotation_y, rotation_z
from sandbox.state import ContactState

SLOWEST, FASTEST = 0.4, 1.8  # [m/s] of the walks that were solved, of the reference body; scaled by Froude number
GRID: Final = 0.05  # [m/s] on which speeds between a command and the next lie
FASTER, SLOWER = 0.2, 0.1  # [m/s] by which the speed changes from step to step, at most
FIRST: Final = 0.75  # [m/s] of the first step, at most
STOP_TIME: Final = 1.1  # of a step's duration: the last one, which closes the feet
STANDING_DROP: Final = 0.012  # [m] of mid-hip below straight legs, standing
LEAST_KNEE: Final = 0.07  # [rad] that a standing leg keeps
ROUNDED: Final = 1e-3  # by which the reference body's legs are not quite those of the default body: its limits are meant to be round
SAME: Final = 5e-5  # [m, m/s, rad, rad/s] within which a step repeats the one before it
LEAVING_KNEE: Final = 0.28  # [rad] that the leg has at toe-off
STRAIGHTEN: Final = 0.6  # of the swing, in which the toes become straight
SINKING: Final = 0.15  # [s] before and after a moment at which a leg would not reach, in which the pelvis is lowered for it
SOFT: Final = 0.0004  # [m] within which the reach bends the height instead of cutting it
LINE: Final = 0.6  # of the hip's distance from the middle: where the feet are set

# Feet (CMU's people and clinical figures; KLAW's own are unknown); pitch in radians, toes up positive.
LANDING: Final = 0.35  # pitch at heel strike of a full step
LEAVING: Final = -1.10  # pitch at toe-off of a full step
FULL_STEP: Final = 0.70  # [leg lengths] from which on both are whole
OPPOSITE: Final = 0.28  # of LEAVING, that the heel has risen when the other foot lands
TOES_BENT: Final = 0.85  # [rad] that the toes bend, beyond which the foot goes over their tips
SWING_ANKLE, STOP_ANKLE = 0.03, 0.26  # [rad] dorsiflexion in mid-swing, and in that of the step that closes the feet

# Determinants and upper body (Boulic et al. 1990), per relative velocity [hip heights a second]; angles in degrees.
HIP_HEIGHT: Final = 0.53  # of the body's height
ROTATION, LIST, SWAY = 4.0, 1.66, 0.032
THORAX, SHOULDER, SHOULDER_MIDDLE = 1.5, 9.88, 3.0
TILTED: Final = 0.17  # [rad] front of the pelvis down while walking; the lumbar spine makes up for it (assumed)
ABDUCTION: Final = -0.10  # [rad] shoulder


class Placement(NamedTuple):
    """A foot at a time: part that carries, ankle (forward, up) [m], pitch of foot and bend of toes [rad]."""

    part: ContactState
    forward: float
    up: float
    pitch: float
    mtp: float


class KlawPose(NamedTuple):
    """The body at a time.

    Attributes:
        position: mid-hip (3,) [m]; rotation: of the pelvis (3, 3); q: joint angles (n,) [rad].
        feet: of left and right; load: share of each foot in the ground force; pressure: (2,) forward place of each foot's pressure [m].
        ball: (2,) forward place of the ball of each foot that stands [m].
        miss: how far an ankle is out of its leg's reach [m]; sunk: how far the pelvis is below the plan for the reach of standing legs [m].
    """

    position: Array
    rotation: Array
    q: Array
    feet: tuple[Placement, Placement]
    load: tuple[float, float]
    pressure: tuple[float, float]
    ball: tuple[float, float]
    miss: float
    sunk: float


@dataclass(frozen=True)
class Gait:
    """A periodic gait of one body: its orbit, and how long the leg of the model is [m] so that the body's own legs reach."""

    orbit: Orbit
    rest: float

    @property
    def step(self) -> Locomotion:
        return self.orbit.step

    @property
    def time(self) -> Timing:
        return self.orbit.time


@dataclass(frozen=True)
class Stride:
    """How a foot goes through its stance: pitch at landing, when the other foot lands and at toe-off [rad], and rates there [rad/s].

    ``heel_off`` and ``lowered`` are times since heel strike [s].
    """

    landing: float
    lowered: float
    heel_off: float
    opposite: float
    opposite_rate: float
    leaving: float
    leaving_rate: float


def stride(time: Timing, length: float, leg: float) -> Stride:
    """Rocker of a foot in a step of a length [m]."""
    share = min(length / (FULL_STEP * leg), 1.0)
    leaving, off = LEAVING * share, HEEL_OFF * time.cycle
    opposite = OPPOSITE * leaving
    return Stride(
        LANDING * share, LOWERED * time.cycle, off, opposite, 1.5 * opposite / (time.step - off), leaving,
        2.0 * (leaving - opposite) / time.double if time.double > 0 else 0.0,
    )  # fmt: skip


@dataclass
class Step:
    """One step, from the touchdown of its leading foot to that of the other.

    Attributes:
        begin: [s]; lead: leading foot; heel: (2,) place of each foot's heel on the ground while it stands [m].
        solved: mid-hip and trunk; origin: forward place of the leading pivot at touchdown [m].
        time, length: of the step to come; speed: [m/s]; kind: ``walk``, ``start``, ``stop`` or ``stand``.
        strides: rocker of each foot; amplitude: of the determinants at begin and end, in relative velocity; effort: 0 standing, 1 walking.
        lands: heel of the swing foot at the next touchdown [m]; swing: of the trailing leg, None while standing.
        start_ankle, end_ankle: bend of the swing ankle at toe-off and heel strike [rad]; toes: bend of them at toe-off, and its rate.
        sink: how far mid-hip is below the solved path at its samples [m], where a speed changes and a standing leg would not reach.
    """

    begin: float
    lead: int
    heel: list[float]
    solved: Solved
    origin: float
    time: Timing
    length: float
    speed: float
    kind: str
    strides: list[Stride]
    amplitude: tuple[float, float]
    effort: tuple[float, float]
    lands: float
    swing: Swing | None = None
    start_ankle: float = 0.0
    end_ankle: float = 0.0
    toes: tuple[float, float] = (0.0, 0.0)
    sink: Array | None = None

    @property
    def end(self) -> float:
        return self.begin + self.time.step


class KlawWalker:
    """A body that walks by KLAW's reconstruction.

    Args:
        anatomy: the body.
        attributes: style.

    Attributes:
        steps: made so far; clamped: commanded speeds that cannot be walked, and what was walked for them [m/s].
    """

    def __init__(self, anatomy: Anatomy, attributes: Attributes | None = None) -> None:
        self.anatomy, self.attributes = anatomy, attributes or Attributes()
        self.geometry = FootGeometry.of(anatomy)
        self.body, self.pendulum = Linkage.of(anatomy), Pendulum.of(anatomy)
        self.tree = Tree.of(anatomy)
        self._half = anatomy.hip_half_spacing
        self.line = LINE * self._half * self.attributes.step_width
        self._index = anatomy.joint_index
        self._tips = self._over_the_toes()
        self.pace = math.sqrt(anatomy.leg_length / stance.REFERENCE_LEG)
        self.steps: list[Step] = []
        self.clamped: dict[float, float] = {}
        self._stand(0.0, 0.0)

    def _over_the_toes(self) -> tuple[float, float]:
        """Pitch at which the toes are bent as far as they go [rad], and how far their tips are then ahead of the ball [m]."""
        g, low, high = self.geometry, -1.4, 0.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if g.lying_toes(middle) - middle > TOES_BENT else (low, middle)
        return high, g.ankle_from(g.ball, high)[0] + g.tip_from_ankle(high, high + TOES_BENT)[0]

    # -- speeds and gaits --------------------------------------------------------------------------------------------------

    def clamp(self, speed: float) -> float:
        """The speed [m/s] that is walked for a command: 0, or within the range of this body."""
        low, high = (1 - ROUNDED) * SLOWEST * self.pace, (1 + ROUNDED) * FASTEST * self.pace
        return 0.0 if speed < 1e-9 else min(max(speed, low), high)

    def gait(self, speed: float) -> Gait:
        """The periodic gait of a speed [m/s]."""
        return gait_of(self.anatomy, self.attributes, locomotion(self.anatomy.height, speed=speed))

    # -- steps -------------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Stand at the origin again."""
        self.steps.clear()
        self.clamped.clear()
        self._stand(0.0, 0.0)

    def plan(self, time: float, speed: float) -> Step:
        """The step at a time [s]; where none is made yet, one is made under a speed command [m/s]. Times only go forward.

        Raises:
            ValueError: a speed that is negative or not finite.
        """
        if not 0 <= speed < math.inf:
            raise ValueError(f"speed {speed:g} m/s cannot be walked: give 0 to stop, or a speed of at least 0")
        if self.clamp(speed) != speed:
            self.clamped[speed] = self.clamp(speed)
        while True:
            now = self.steps[-1]
            if now.kind == "stand":
                if self.clamp(speed) == 0:
                    return now
                self._start(time, self.clamp(speed))
            elif time < now.end - 1e-9:
                return self.at(time)
            else:
                self._next(now, self.clamp(speed))

    def notes(self) -> list[str]:
        """What failed in a step and was replaced, with the residual of what failed; one line each. Start and stop have no dynamics."""
        out = [f"{asked:g} m/s is walked at {used:.2f} m/s, the nearest speed of this walker" for asked, used in self.clamped.items()]
        for step in self.steps:
            where = f"step at {step.begin:.2f} s, {step.speed:.2f} m/s"
            if step.kind == "walk" and step.solved.model != "telescoping":
                out.append(f"{where}: {step.solved.model} for the telescoping leg, whose residual is {step.solved.residual:.1e}")
            if step.swing is not None and step.swing.model != "double-pendulum":
                out.append(f"{where}: {step.swing.model} for the terminal swing, whose residual is {step.swing.residual:.1e}")
            if step.swing is not None and step.swing.lifted > GRAZE:
                out.append(
                    f"{where}: the swing foot is lifted by {1000 * step.swing.lifted:.0f} mm, after {step.swing.tries} tries to clear"
                )
        return out

    def at(self, time: float) -> Step:
        """The step at a time [s] up to the end of the last one that was made."""
        for step in reversed(self.steps):
            if step.begin <= time + 1e-9:
                return step
        return self.steps[0]

    def _stand(self, time: float, forward: float) -> None:
        """Both feet beside each other, ``forward`` [m] under mid-hip."""
        height = self.anatomy.leg_length - STANDING_DROP
        path = np.zeros((SAMPLES + 1, 13))
        path[:, 1] = height
        heel = forward - self.geometry.heel
        foot = Stride(0.0, 0.0, math.inf, 0.0, 0.0, 0.0, 0.0)
        still = Solved("inverted-pendulum", math.nan, None, path)
        self.steps.append(
            Step(
                time,
                0,
                [heel, heel],
                still,
                forward,
                Timing(math.inf, 0.0),
                0.0,
                0.0,
                "stand",
                [foot, foot],
                (0.0, 0.0),
                (0.0, 0.0),
                heel,
            )
        )

    def _start(self, time: float, speed: float) -> None:
        """From standing into the state in which a step of ``speed`` begins."""
        before = self.steps[-1]
        v = min(speed, FIRST * self.pace)
        gait = self.gait(v)
        heel = before.heel[0]
        length = gait.step.step_length
        start = np.array([0.0, before.solved.path[0, 1], 0.0, 0.0, before.solved.path[0, 4], 0.0])
        lands = heel + length
        target = gait.orbit.solved.start.copy()
        target[0] += lands + PIVOT[0] * self.body.foot - before.origin
        path = pendulum(start, target, gait.time.step, gait.time.double, self.body)
        solved = Solved("inverted-pendulum", math.nan, None, path)
        s = stride(gait.time, length, self.anatomy.leg_length)
        step = Step(
            time, 0, list(before.heel), solved, before.origin, gait.time, length, v, "start",
            [s, s], (0.0, self._relative(v)), (0.0, 1.0), lands,
        )  # fmt: skip
        # the foot that leaves first rises from the ground where the other only begins to
        step.strides = [replace(s, landing=0.0), replace(s, landing=0.0)]
        self._swing(step)
        self.steps.append(step)

    def _next(self, before: Step, speed: float) -> None:
        if before.kind == "stop":
            self._stand(before.end, float(before.heel[before.lead] + self.geometry.heel))
            return
        lead = 1 - before.lead
        heel = list(before.heel)
        heel[lead] = before.lands
        if speed > 0:
            v = min(max(speed, before.speed - SLOWER * self.pace), before.speed + FASTER * self.pace)
            if v != speed:
                v = min(max(round(v / GRID) * GRID, SLOWEST * self.pace), FASTEST * self.pace)
            stop = False
        else:
            slow = SLOWEST * self.pace
            stop = before.speed <= slow + FASTER * self.pace + 1e-9
            v = slow if stop else max(round((before.speed - SLOWER * self.pace) / GRID) * GRID, slow)
        gait = self.gait(v)
        origin = heel[lead] + PIVOT[0] * self.body.foot
        start = before.solved.path[-1, :6].copy()
        start[0] += before.origin - origin
        if stop:
            time = Timing(STOP_TIME * gait.time.step, gait.time.double)
            target = np.array([self.geometry.heel - PIVOT[0] * self.body.foot, self.anatomy.leg_length - STANDING_DROP, 0, 0, 0, 0])
            path = pendulum(start, target, time.step, time.double, self.body)
            solved, length, kind = Solved("inverted-pendulum", math.nan, None, path), 0.0, "stop"
        else:
            time, length, kind = gait.time, gait.step.step_length, "walk"
            solved = stance.solve_step(
                start, before.solved.law, length, gait.orbit, self.body, origin - self._trailing(before, heel[1 - lead])
            )
        strides = list(before.strides)
        # a foot is lowered from the pitch with which it came down
        strides[lead] = replace(stride(time, gait.step.step_length, self.anatomy.leg_length), landing=self._landing(before))
        if stop:
            strides[lead] = replace(strides[lead], heel_off=math.inf)
        # the trailing foot leaves as a step of this length has it leave
        s = stride(time, gait.step.step_length, self.anatomy.leg_length)
        strides[1 - lead] = replace(strides[1 - lead], leaving=s.leaving, leaving_rate=s.leaving_rate)
        step = Step(
            before.end, lead, heel, solved, origin, time, length, v, kind, strides,
            (before.amplitude[1], 0.0 if stop else self._relative(v)), (before.effort[1], 0.0 if stop else 1.0), heel[lead] + length,
        )  # fmt: skip
        self._swing(step, before)
        self.steps.append(step)

    def _repeats(self, step: Step, before: Step) -> bool:
        """Whether a step is the one before it over again, with the other foot."""
        same = (step.kind, step.speed, step.time, step.strides[step.lead], step.amplitude, step.effort)
        other = (before.kind, before.speed, before.time, before.strides[before.lead], before.amplitude, before.effort)
        trailing = step.strides[1 - step.lead] == before.strides[1 - before.lead]
        return same == other and trailing and bool(np.allclose(step.solved.path[:, :6], before.solved.path[:, :6], rtol=0, atol=SAME))

    def _trailing(self, before: Step, heel: float) -> float:
        """Forward place of the trailing pivot at touchdown [m]."""
        if before.solved.law is not None:
            return before.origin + before.solved.law.pivot * before.time.step
        share = before.time.step / before.time.stance
        return heel + (PIVOT[0] + share * (PIVOT[1] - PIVOT[0])) * self.body.foot

    def _relative(self, speed: float) -> float:
        return speed / (HIP_HEIGHT * self.anatomy.height)

    def steady(self, orbit: Orbit, lead: int = 1) -> Step:
        """The step of an orbit, from 0 s on, with the leading heel at 0 m: periodic walking, without a swing yet."""
        v, length = self._relative(orbit.step.speed), orbit.step.step_length
        s = stride(orbit.time, length, self.anatomy.leg_length)
        heel = [0.0, 0.0]
        heel[1 - lead] = -length
        return Step(
            0.0, lead, heel, orbit.solved, PIVOT[0] * self.body.foot, orbit.time, length, orbit.step.speed, "walk", [s, s],
            (v, v), (1.0, 1.0), length,
        )  # fmt: skip

    def periodic(self, speed: float) -> Step:
        """One step of the periodic gait of a speed [m/s], which this walker then stands at the beginning of."""
        step = self.steady(self.gait(self.clamp(speed)).orbit)
        self._swing(step)
        self.steps = [step]
        return step

    # -- feet --------------------------------------------------------------------------------------------------------------

    def standing(self, step: Step, foot: int, t: float) -> Placement:
        """A foot that stands, ``t`` [s] after the step's begin."""
        g, s = self.geometry, step.strides[foot]
        heel = step.heel[foot]
        if foot != step.lead and step.kind != "stand":
            before = (0.0, 0.0) if step.kind == "start" else (s.opposite, s.opposite_rate)
            pitch = float(cubic(*before, s.leaving, s.leaving_rate, step.time.double, np.array([t]))[0][0])
        elif s.landing > 0 and t < s.lowered:
            u = t / s.lowered
            pitch = s.landing * (1 - u * u * (3 - 2 * u))
        elif t > s.heel_off:
            late = step.time.step - s.heel_off
            pitch = float(cubic(0.0, 0.0, s.opposite, s.opposite_rate, late, np.array([t - s.heel_off]))[0][0])
        else:
            pitch = 0.0
        if pitch > 0:
            forward, up = g.ankle_from(-g.heel, pitch)
            return Placement(ContactState.HEEL, heel + forward, up, pitch, 0.0)
        if pitch < 0:
            ball = heel + g.heel + g.ball
            if pitch >= self._tips[0]:
                forward, up = g.ankle_from(g.ball, pitch)
                return Placement(ContactState.FOREFOOT, ball + forward, up, pitch, g.lying_toes(pitch) - pitch)
            # the toes bend no further: over their tips
            forward, up = g.tip_from_ankle(pitch, pitch + TOES_BENT)
            return Placement(ContactState.TOE, ball + self._tips[1] - forward, -up, pitch, TOES_BENT)
        return Placement(ContactState.FLAT, heel + g.heel, g.height, 0.0, 0.0)

    def leg_state(self, step: Step, foot: int, t: float) -> LegState:
        """State of a leg ``t`` [s] after a step's begin, by the clock."""
        if foot == step.lead or math.isinf(step.time.step) or t < step.time.double or step.swing is None:
            part = self.standing(step, foot, t).part
            return LegState.HEEL if part == ContactState.HEEL else LegState.FLAT if part == ContactState.FLAT else LegState.BALL
        swung, (one, two) = t - step.time.double, step.swing.ends
        return LegState.SWING_1 if swung < one else LegState.SWING_2 if swung < two else LegState.SWING_3

    # -- determinants ------------------------------------------------------------------------------------------------------

    def pelvis(self, step: Step, t: float) -> tuple[Array, float]:
        """Rotation, list and tilt of the pelvis (3, 3), and its sway [m], ``t`` [s] after the step's begin."""
        share = 0.0 if math.isinf(step.time.step) else min(max(t / step.time.step, 0.0), 1.0)
        a, side = self.attributes, 1.0 if step.lead == 1 else -1.0
        v = _blend(step.amplitude, share)
        yaw = math.radians(ROTATION * v) * a.pelvic_rotation * side * math.cos(math.pi * share)
        tilt = TILTED * _blend(step.effort, share)
        sway = SWAY * a.lateral_sway * min(4 * v * max(1 - v, 0.5), 1.0) * side * math.sin(math.pi * (share - 0.2))
        rotation = rotation_z(yaw) @ rotation_y(-side * self._list(v, share)) @ rotation_x(-tilt)
        return rotation, sway

    def _list(self, v: float, share: float) -> float:
        half = math.radians(LIST * v) * self.attributes.pelvic_list
        if share < 0.3:
            return half * (1 - math.cos(math.pi * share / 0.3))
        return half * (1 + math.cos(math.pi * (share - 0.3) / 0.7))

    def hip_path(self, step: Step, foot: int) -> tuple[Array, Array, Array]:
        """A hip at the step's samples: time [s], place (n, 2) and velocity (n, 2), forward and up."""
        time = np.linspace(0, step.time.step, SAMPLES + 1)
        sign = 2.0 * foot - 1.0
        offset = np.array([self.pelvis(step, float(t))[0] @ (sign * self._half, 0.0, 0.0) for t in time])[:, 1:]
        place = step.solved.path[:, :2] + (step.origin, 0.0) + offset
        velocity = step.solved.path[:, 2:4] + np.gradient(offset, time, axis=0, edge_order=2)
        if step.sink is not None:
            place[:, 1] -= step.sink
            velocity[:, 1] -= np.gradient(step.sink, time, edge_order=2)
        return time, place, velocity

    def _lower(self, step: Step) -> None:
        """Lower mid-hip where a standing leg would not reach, and let it rise again softly."""
        time = np.linspace(0, step.time.step, SAMPLES + 1)
        needed = np.zeros(SAMPLES + 1)
        for k, t in enumerate(time.tolist()):
            rotation, sway = self.pelvis(step, t)
            position = np.array([sway, step.origin + step.solved.path[k, 0], step.solved.path[k, 1]])
            feet = [self.standing(step, foot, t) if foot == step.lead or t <= step.time.double else None for foot in range(2)]
            knees = [0.03, 0.03]
            if step.time.double > 0:
                knees[1 - step.lead] += 0.5 * LEAVING_KNEE * min(t / step.time.double, 1.0)
            needed[k] = position[2] - self._within_reach(position, rotation, feet, (knees[0], knees[1]))
        if needed.max() < 1e-4:
            return
        near = np.clip((time[:, None] - time[None, :]) / SINKING, -1, 1)
        step.sink = np.max(needed[None, :] * np.cos(0.5 * np.pi * near) ** 2, axis=1)
        step.sink *= [smoother_step(t / (0.5 * step.time.double)) for t in time.tolist()]

    # -- swing -------------------------------------------------------------------------------------------------------------

    def _swing(self, step: Step, before: Step | None = None) -> None:
        """The swing of the trailing leg, and the ankle's bend and the toes' on the way."""
        foot, g = 1 - step.lead, self.geometry
        if before is not None and self._repeats(step, before):
            assert before.swing is not None
            moved = before.swing.ankle + np.array([step.lands - before.lands, 0.0])
            step.swing = replace(before.swing, ankle=moved)
            step.start_ankle, step.end_ankle, step.toes, step.sink = before.start_ankle, before.end_ankle, before.toes, before.sink
            return
        self._lower(step)
        time, place, velocity = self.hip_path(step, foot)
        off = step.time.double
        h = 1e-4

        def leaving(t: float) -> Array:
            p = self.standing(step, foot, t)
            return np.array([p.forward, p.up, p.pitch, p.mtp])

        a, b, c = (leaving(off - 2 * h), leaving(off - h), leaving(off))
        rate, bend = (3 * c - 4 * b + a) / (2 * h), (c - 2 * b + a) / h**2
        acceleration = np.gradient(velocity, time, axis=0, edge_order=2)
        rows = np.linspace(off, step.time.step, 2 * SAMPLES + 1)
        hip = Hip(
            rows - off,
            *(np.stack([np.interp(rows, time, x[:, j]) for j in range(2)], axis=-1) for x in (place, velocity, acceleration)),
        )
        whole = step.time.step - off
        landing = self._landing(step)
        forward, up = g.ankle_from(-g.heel, landing)
        end = np.array([step.lands + forward, up])
        first, _ = two_link(c[:2] - hip.place[0], self.pendulum)
        last, _ = two_link(end - hip.place[-1], self.pendulum)
        step.start_ankle = float(c[2] - first[1])
        step.end_ankle = float(landing - last[1])
        step.toes = float(c[3]), float(rate[3])

        def lowest(t: float, ankle: float, shank: float) -> float:
            pitch, mtp = self._airborne(step, t, shank)
            return ankle - sole_below(g, pitch, pitch + mtp)

        step.swing = swing(
            hip, (c[:2], rate[:2], bend[:2]), end, posture_at(step.speed / self.pace, whole), self.pendulum, lowest,
            CLEARANCE * self.attributes.clearance * self.anatomy.leg_length / stance.REFERENCE_LEG,
        )  # fmt: skip

    def _landing(self, step: Step) -> float:
        """Pitch with which the swing foot of a step comes down [rad]."""
        return 0.0 if step.kind == "stop" else stride(step.time, step.length, self.anatomy.leg_length).landing

    def _airborne(self, step: Step, t: float, shank: float) -> tuple[float, float]:
        """Pitch of a foot in the air and bend of its toes [rad], ``t`` [s] after toe-off."""
        whole = step.time.step - step.time.double
        u = min(max(t / whole, 0.0), 1.0)
        middle = STOP_ANKLE if step.kind == "stop" else SWING_ANKLE
        if u < 0.5:
            ankle = step.start_ankle + (middle - step.start_ankle) * smoother_step(2 * u)
        else:
            ankle = middle + (step.end_ankle - middle) * smoother_step(2 * u - 1)
        straight = STRAIGHTEN * whole
        mtp = float(cubic(step.toes[0], min(step.toes[1], 0.0), 0.0, 0.0, straight, np.array([min(t, straight)]))[0][0])
        return shank + ankle, max(mtp, 0.0)

    # -- pose --------------------------------------------------------------------------------------------------------------

    def pose(self, time: float) -> KlawPose:
        """The body at any time [s] up to the end of the last step."""
        step = self.at(time)
        t = time - step.begin
        still = math.isinf(step.time.step)
        share = 0.0 if still else min(t / step.time.step, 1.0)
        middle = step.solved.path[0] if still else _hermite(step.solved.path, t, step.time.step)
        if step.sink is not None:
            middle[1] -= np.interp(share * SAMPLES, np.arange(SAMPLES + 1), step.sink)
        rotation, sway = self.pelvis(step, t)
        position = np.array([sway, step.origin + middle[0], middle[1]])
        feet: list[Placement] = []
        for foot in range(2):
            if foot == step.lead or still or t <= step.time.double:
                feet.append(self.standing(step, foot, t))
            else:
                feet.append(self._flying(step, foot, t - step.time.double, position, rotation))
        q = self._upper(step, share, middle[4])
        sunk = position[2] - self._within_reach(position, rotation, feet, (0.02, 0.02))
        position[2] -= sunk
        miss = 0.0
        for foot, placed in enumerate(feet):
            sign, first = 2.0 * foot - 1.0, int(self.tree.leg[foot])
            hip = position + rotation @ (sign * self._half, 0.0, 0.0)
            ankle = np.array([sign * self.line, placed.forward, placed.up])
            leg = q[first : first + MTP + 1]
            miss = max(miss, self._leg(leg, rotation, hip, ankle, placed.pitch, sign))
            leg[MTP] = placed.mtp
        load, pressure = self._load(step, t, (feet[0], feet[1]))
        ball = self.geometry.heel + self.geometry.ball
        balls = step.heel[0] + ball, step.heel[1] + ball
        return KlawPose(position, rotation, q, (feet[0], feet[1]), load, pressure, balls, miss, sunk)

    def _flying(self, step: Step, foot: int, t: float, position: Array, rotation: Array) -> Placement:
        assert step.swing is not None
        s = step.swing
        k = min(max(int(np.searchsorted(s.time, t, side="right")) - 1, 0), len(s.time) - 2)
        dt = float(s.time[k + 1] - s.time[k])
        now = [
            float(cubic(s.angles[k, j], s.rates[k, j], s.angles[k + 1, j], s.rates[k + 1, j], dt, np.array([t - s.time[k]]))[0][0])
            for j in range(2)
        ]
        hip = position + rotation @ ((2.0 * foot - 1.0) * self._half, 0.0, 0.0)
        at = hip[1:] + ankle_of(np.array(now), self.pendulum)
        pitch, mtp = self._airborne(step, t, now[1])
        lowest = float(at[1]) - sole_below(self.geometry, pitch, pitch + mtp)
        return Placement(ContactState.AIRBORNE, float(at[0]), float(at[1]) + max(-lowest, 0.0), pitch, mtp)

    def _within_reach(self, position: Array, rotation: Array, feet: Sequence[Placement | None], knees: tuple[float, float]) -> float:
        """Height of mid-hip [m] that the standing legs reach with knees bent that much: the plan's in steady walking."""
        top = float(position[2])
        for foot, (placed, knee) in enumerate(zip(feet, knees, strict=True)):
            if placed is None or placed.part == ContactState.AIRBORNE:
                continue
            sign = 2.0 * foot - 1.0
            offset = rotation @ (sign * self._half, 0.0, 0.0)
            along, across = position[1] + offset[1] - placed.forward, position[0] + offset[0] - sign * self.line
            longest = _reach(self.pendulum, knee)
            top = float(smooth_min(top, placed.up - offset[2] + math.sqrt(max(longest**2 - along**2 - across**2, 0.04)), SOFT))
        return top

    def _leg(self, leg: Array, rotation: Array, hip: Array, ankle: Array, pitch: float, sign: float) -> float:
        """Solve one leg so that the foot points straight ahead at ``pitch``. Returns how far the ankle is out of reach [m]."""
        frame = rotation_x(pitch)
        slide = frame[2, 1] / (hip[2] - ankle[2])
        x, y = -slide * (hip[0] - ankle[0]), frame[1, 1] - slide * (hip[1] - ankle[1])
        thigh, shank = self.pendulum.thigh, self.pendulum.shank
        return float(solve_leg(rotation, hip, ankle, frame, math.atan2(-x, y), thigh, shank, sign, leg))

    def _upper(self, step: Step, share: float, lean: float) -> Array:
        """Joint angles (n,) [rad] of trunk and arms."""
        q, i, a = np.zeros(len(self.anatomy.joints)), self._index, self.attributes
        v, side = _blend(step.amplitude, share), 1.0 if step.lead == 1 else -1.0
        effort = _blend(step.effort, share)
        wave = side * math.cos(math.pi * share)
        twist = -math.radians((THORAX * a.torso_rotation + ROTATION * a.pelvic_rotation) * v) * wave
        q[i["lumbar_rotation"]] = q[i["thorax_rotation"]] = 0.5 * twist
        q[i["lumbar_lateral"]] = side * self._list(v, share)
        q[i["lumbar_flexion"]] = a.torso_tilt * lean - TILTED * effort
        q[i["head_flexion"]] = -a.torso_tilt * lean
        m = min(max((v - 0.5) / 0.8, 0.0), 1.5)
        for name, phase in zip(SIDES, (-wave, wave), strict=True):
            swing_arm = math.radians((SHOULDER_MIDDLE - 0.5 * SHOULDER * v - SHOULDER * v * phase) * effort) * a.arm_swing
            least, most = (math.radians(x) * a.arm_swing for x in (6 + 8 * m, 20 + 24 * m))
            elbow = 0.3 + effort * (0.5 * (least + most) - 0.5 * (most - least) * phase - 0.3)
            q[i[f"{name}_shoulder_flexion"]] = swing_arm
            q[i[f"{name}_shoulder_adduction"]] = ABDUCTION
            q[i[f"{name}_elbow_flexion"]] = max(elbow, 0.0)
        return q

    def _load(self, step: Step, t: float, feet: tuple[Placement, Placement]) -> tuple[tuple[float, float], tuple[float, float]]:
        """Share of the ground force that each foot bears, and where along the way [m]."""
        if math.isinf(step.time.step):
            middle = step.heel[0] + self.geometry.heel
            return (0.5, 0.5), (middle, middle)
        s = 1.0 if step.time.double <= 0 else min(t / step.time.double, 1.0)
        lead = s * s * (3 - 2 * s)
        if step.kind == "start":
            lead = 0.5 + 0.5 * lead
        share, at = [0.0, 0.0], [0.0, 0.0]
        share[step.lead], share[1 - step.lead] = lead, 1 - lead
        for foot, placed in enumerate(feet):
            heel = step.heel[foot]
            age = t if foot == step.lead else t + step.time.step
            along = PIVOT[0] + (PIVOT[1] - PIVOT[0]) * min(age / step.time.stance, 1.0)
            whole = self.geometry.heel + self.geometry.ball
            if placed.part == ContactState.HEEL:
                along = 0.0
            elif placed.part == ContactState.FOREFOOT:
                along = max(along, 1.0)
            at[foot] = heel + along * whole
            if placed.part == ContactState.TOE:
                at[foot] = heel + whole + self._tips[1]
        return (share[0], share[1]), (at[0], at[1])


def sole_below(g: FootGeometry, pitch: float, toes: float) -> float:
    """How far the lowest point of the sole is below the ankle [m], with the foot and the toes at a pitch in the world [rad]."""
    s, c = math.sin(pitch), math.cos(pitch)
    return max(g.heel * s + g.height * c, -g.ball * s + g.height * c, -g.tip_from_ankle(pitch, toes)[1])


def _blend(pair: tuple[float, float], share: float) -> float:
    return pair[0] + (pair[1] - pair[0]) * smoother_step(share)


def _hermite(path: Array, t: float, duration: float) -> Array:
    """State (6,) of a step's path at a time [s]: cubic through values and rates of its samples."""
    h = duration / SAMPLES
    k = min(int(t / h), SAMPLES - 1)
    out = np.empty(6)
    u = np.array([t - k * h])
    for place, rate in ((0, 2), (1, 3), (4, 5)):
        value, speed, _ = cubic(path[k, place], path[k, rate], path[k + 1, place], path[k + 1, rate], h, u)
        out[place], out[rate] = value[0], speed[0]
    return out


def posture_at(speed: float, whole: float) -> Posture:
    """What Swing 1 ends with at a speed [m/s] of the reference body, in a swing of ``whole`` [s] (assumed; people's at mid-swing)."""
    share = min(speed / 1.2, 1.25)
    return Posture(
        math.radians(6 + 8 * share), math.radians(43 + 13 * min(share, 1.0)), math.radians(55) / whole, math.radians(-10) / whole
    )


@lru_cache(maxsize=256)
def gait_of(anatomy: Anatomy, attributes: Attributes, step: Locomotion) -> Gait:
    """The periodic gait of a body, the model's leg as long as the body's own legs reach all through the step."""
    body = Linkage.of(anatomy)
    lean = stance.LEAN * attributes.torso_tilt
    rest = 0.96 * anatomy.leg_length
    bounce = attributes.bounciness
    orbit = stance.orbit(step, body, rest, bounce, lean)
    for _ in range(6):
        over = _over(anatomy, attributes, orbit)
        if abs(over) < 5e-4 or not orbit.periodic:
            break
        rest -= over
        orbit = stance.shoot(step, body, rest, orbit.unknowns - np.array([0, over, 0, 0, 0, 0, 0, 0, 0]), bounce, lean)
    if not orbit.periodic:
        rest = float(orbit.solved.path[:, 1].mean())
        orbit = stance.fallback_orbit(orbit, body, rest)
        for _ in range(2):
            rest -= _over(anatomy, attributes, orbit)
            orbit = stance.fallback_orbit(orbit, body, rest)
    return Gait(orbit, rest)


def _over(anatomy: Anatomy, attributes: Attributes, orbit: Orbit) -> float:
    """How far [m] mid-hip of an orbit is above what both standing legs reach; negative where it could be higher."""
    walker = KlawWalker(anatomy, attributes)
    trial = walker.steady(orbit)
    worst = -math.inf
    for k in range(0, SAMPLES + 1, 2):
        t = orbit.time.step * k / SAMPLES
        rotation, sway = walker.pelvis(trial, t)
        for foot in range(2):
            if foot != 1 and t > orbit.time.double:
                continue
            sign = 2.0 * foot - 1.0
            placed = walker.standing(trial, foot, t)
            offset = rotation @ (sign * walker._half, 0.0, 0.0)
            along = trial.origin + orbit.solved.path[k, 0] + offset[1] - placed.forward
            across = sway + offset[0] - sign * walker.line
            knee = LEAST_KNEE if foot == 1 else LEAST_KNEE + (LEAVING_KNEE - LEAST_KNEE) * t / orbit.time.double
            longest = _reach(walker.pendulum, knee)
            top = placed.up - offset[2] + math.sqrt(max(longest**2 - along**2 - across**2, 0.04))
            worst = max(worst, float(orbit.solved.path[k, 1]) - top)
    return worst


def _reach(b: Pendulum, knee: float) -> float:
    """Distance of hip and ankle [m] with a knee flexion [rad]."""
    return math.sqrt(b.thigh**2 + b.shank**2 + 2 * b.thigh * b.shank * math.cos(knee))
