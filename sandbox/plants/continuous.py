"""The kinematic walker of the study (LO-007 to LO-009): one persistent state that no step resets.

One tick of 1/120 s::

    intent    the speed follows the command as a critically damped response; length, cadence and double support follow the speed
    root      a root model carries it: kinematic, a rigid virtual leg, or a compliant one
    clocks    each leg has its own, unwrapped; a contact corrects them within a bound
    contacts  a leg whose clock passes its release leaves the ground, one whose clock passes a whole cycle lands
    feet      planted on a pivot that does not move, or in the air on their way to the foothold
    pelvis    follows the root as far as the envelopes of the legs allow
    legs      analytic inverse kinematics of LO-003, trunk and arms as in LO-006

A flat foot keeps its sole on the ground. An articulated one rolls: the pivot and the pitch of the foot place the ankle before the leg
is solved. Swing has three parts: initiation with the velocity that the foot has when it leaves, transport over the clearance, and
terminal extension with the toes up.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.kinematics import ANKLE, MTP, solve_leg
from sandbox.bodies.reference import REFERENCE
from sandbox.bodies.standing import StandingSolver
from sandbox.config import nearest
from sandbox.controllers.coordination import ArmDrive, Coordination, UpperBody
from sandbox.controllers.limbs import TICK_RATE, Contact, ContactHistory, LimbClocks
from sandbox.controllers.planner import quintic
from sandbox.controllers.stance import Orbit, StanceModel, check_model, orbit
from sandbox.controllers.steps import front_loaded, smoother_step
from sandbox.controllers.velocity import FLAT_FOOT, HUMAN, Gait, Span, VelocityProfile, human_cadence
from sandbox.plants.rocker import smooth_min, toe_pitch
from sandbox.recording import Recording
from sandbox.spatial import rotation_x
from sandbox.state import ContactState
from sandbox.trajectory import Trajectory, contact_events

Feet = Literal["flat", "articulated"]

DT: Final = 1.0 / TICK_RATE
SPEED_RATE: Final = 2.2  # [1/s] with which the speed follows the command: slower for a large change, so that
SPEED_CHANGE: Final = 2.4  # [m/s^2] rate times change stays below this; the largest acceleration is a third of it
# and slower yet for those (change [m/s], rate [1/s]) that end in long steps on bent knees, where the ankle has no range left to brake with
LARGE_CHANGES: Final = ((1.4, SPEED_CHANGE / 1.4), (1.6, 1.0), (2.0, 0.75))
STOPPED: Final = 0.06  # [m/s] below which a touchdown may be the last one
CLOSED: Final = 0.2  # of a step, which the feet may be apart when the walker stops
PACE_RATE: Final = 1.8  # [1/s] with which cadence follows a speed that falls
SETTLING: Final = 0.9  # [s] in which the root comes to rest over both feet
PRELOAD: Final = 0.10  # [cycles] before the first release, in which the pelvis goes over the other foot

PITCH_RATE: Final = 12.0  # [rad/s] of a planted foot
CORNER: Final = 0.02  # [m] over which the lowest point of the sole changes from toes to heel
TILTED: Final = 0.15  # [rad] front of the pelvis down, walking on articulated feet: what the hip cannot extend, the lumbar spine does
TRUST_RATE: Final = 3.0  # [1/s] with which a stance model takes over
SINK_FREE: Final = 0.002  # [m] that the reach may bend the height without more ado, as it does in every step
RISE_AGAIN: Final = 9.0  # [1/s] with which a pelvis that had to sink for the reach of a leg comes up again
LEFT_BEHIND: Final = (0.06, 0.14)  # [m] root ahead of an ankle, beyond which its heel begins to stay up, and over which it does
TOES_DOWN: Final = 0.03  # [rad] within which the guardrail bends the pitch of a foot in the air
LEAST_KNEE: Final = 0.10  # [rad] that no leg is straighter than
STANDING_DROP: Final = 0.012  # [m] of mid-hip below straight legs, standing
HUMAN_COORDINATION: Final = Coordination(
    pelvis_yaw=Span(0.03, 0.09),
    obliquity=Span(0.02, 0.06),
    shift=Span(0.024, 0.016),
    thorax_yaw=Span(0.03, 0.08),
    corridor=Span(0.74, 0.72),
    arm_swing=Span(0.10, 0.30),
    arm_offset=Span(0.02, 0.04),
    elbow=Span(0.25, 0.50),
    elbow_forward=Span(0.10, 0.30),
)


@dataclass(frozen=True)
class Plan:
    """How the walker walks.

    Attributes:
        feet: ``flat`` or ``articulated``.
        profile: from speed to steps; coordination: of pelvis, trunk and arms.
        follow: share of the way from the middle of the ankles to the root that the pelvis is to go, 0 to 1.
        guardrail: highest dorsiflexion of the ankle [rad].
        root: stance model that carries mid-hip in steady walking; authority: share of its motion that is taken, 0 to 1.

    Raises:
        ValueError: a value that makes no plan.
    """

    feet: Feet = "articulated"
    profile: VelocityProfile = field(default_factory=lambda: HUMAN)
    coordination: Coordination = field(default_factory=lambda: HUMAN_COORDINATION)
    follow: float = 1.0
    guardrail: float = math.radians(16.0)
    root: StanceModel = "kinematic"
    authority: float = 1.0

    def __post_init__(self) -> None:
        if self.feet not in get_args(Feet):
            raise ValueError(f"unknown feet {self.feet!r}{nearest(self.feet, get_args(Feet))}")
        if not 0 <= self.follow <= 1:
            raise ValueError(f"follow {self.follow:g} is outside 0..1: give a value in that range")
        check_model(self.root)
        if not 0 <= self.authority <= 1:
            raise ValueError(f"authority {self.authority:g} is outside 0..1: give a value in that range")
        if self.root != "kinematic" and self.feet == "flat":
            raise ValueError(f"a {self.root} root needs feet that roll: give feet = articulated")
        if not 0 < self.guardrail <= 1:
            raise ValueError(f"guardrail {self.guardrail:g} rad is outside 0..1 rad: give a value in that range")


FLAT_PLAN: Final = Plan("flat", FLAT_FOOT, Coordination(), follow=0.0)


class Roll(NamedTuple):
    """How an articulated foot goes through its cycle at one speed; angles [rad], toes up positive.

    Attributes:
        speed: [m/s].
        landing: pitch at touchdown; lowered: phase of the cycle at which the sole is flat.
        passed: root ahead of the ankle [m] when the heel begins to rise; rise: pitch of the heel at release; power: of its growth.
        toes: share of double support after which the foot stands on the tips of its toes; tilt: of the toes at release.
        ahead: landing ankle ahead of the root, of a step length.
        ready, straight: shares of the swing before whose end the foot has its landing pitch, and in which the toes straighten.
        arrival, leaving: deceleration of the landing foot and acceleration of the leaving one [m/s^2], per walking speed.
        lift: clearance of the sole [m]; early: power of the swing's share, below 1 lifts early.
        swing, lowest: of mid-hip: half its rise and fall [m], and the phase at which it is lowest.
        moving: speed with which the foot arrives, of the walking speed.
        back: rate at which the turning of foot and toes at release is braked [1/s].
    """

    speed: float
    landing: float
    lowered: float
    passed: float
    rise: float
    power: float
    toes: float
    tilt: float
    ahead: float
    ready: float
    straight: float
    arrival: float
    lift: float
    swing: float
    lowest: float
    moving: float
    leaving: float
    back: float
    early: float


@cache
def rolls() -> tuple[Roll, ...]:
    """The table ``data/rolling.toml``, by speed."""
    table = tomllib.loads(files("sandbox.plants").joinpath("data", "rolling.toml").read_text(encoding="utf-8"))
    return tuple(Roll(*map(float, row)) for row in zip(*(table[name] for name in Roll._fields), strict=True))


@lru_cache(maxsize=4096)
def roll_at(speed: float, size: float = 1.0) -> Roll:
    """Between the rows of :func:`rolls`, which it does not leave.

    ``size`` is the leg length of the body over that of the frozen subject: speeds and what else has a length or a time in it are those
    of the same Froude number.
    """
    table, time = rolls(), math.sqrt(size)
    v = min(max(speed / time, table[0].speed), table[-1].speed)
    k = max(k for k in range(len(table) - 1) if table[k].speed <= v)
    low, high = table[k], table[k + 1]
    share = (v - low.speed) / (high.speed - low.speed)
    roll = Roll(*(a + share * (b - a) for a, b in zip(low, high, strict=True)))
    return roll._replace(
        speed=roll.speed * time,
        passed=roll.passed * size,
        lift=roll.lift * size,
        swing=roll.swing * size,
        arrival=roll.arrival / time,
        leaving=roll.leaving / time,
        back=roll.back / time,
    )


class FootGeometry(NamedTuple):
    """Of a foot along its sole, from the ankle [m]: heel behind, ball and toe tip ahead, ankle and toe joint above the sole.

    ``size`` is the body's leg length over that of the frozen subject.
    """

    heel: float
    ball: float
    toe: float
    height: float
    joint: float
    size: float = 1.0

    @classmethod
    def of(cls, anatomy: Anatomy) -> FootGeometry:
        tip = anatomy.points["left_toe_tip"][1]
        return cls(anatomy.heel_behind_ankle, anatomy.ball_ahead_of_ankle, anatomy.toe_ahead_of_ankle, anatomy.ankle_height, -float(tip[2]))

    def ankle_from(self, along: float, pitch: float) -> tuple[float, float]:
        """Ankle (forward, up) from the point of the sole ``along`` [m] ahead of it, at a pitch [rad], toes up."""
        c, s = math.cos(pitch), math.sin(pitch)
        return -along * c - self.height * s, -along * s + self.height * c

    def lying_toes(self, pitch: float) -> float:
        """Pitch of toes that lie on the ground while the foot is pitched about its ball."""
        return float(toe_pitch(self.joint * math.cos(pitch), self.joint, self.toe - self.ball))

    def tip_from_ankle(self, pitch: float, toes: float) -> tuple[float, float]:
        """Toe tip (forward, up) from the ankle; ``toes`` is their pitch in the world."""
        c, s = math.cos(pitch), math.sin(pitch)
        rise = self.joint - self.height
        forward = self.ball * c - rise * s + (self.toe - self.ball) * math.cos(toes) + self.joint * math.sin(toes)
        up = self.ball * s + rise * c + (self.toe - self.ball) * math.sin(toes) - self.joint * math.cos(toes)
        return forward, up

    def sole_below(self, pitch: float, toes: float) -> float:
        """How far the lowest point of the sole lies below the ankle [m], rounded where toes and heel change over."""
        heel = self.heel * math.sin(pitch) + self.height * math.cos(pitch)
        ball = -self.ball * math.sin(pitch) + self.height * math.cos(pitch)
        front = max(ball, -self.tip_from_ankle(pitch, toes)[1])
        return -float(smooth_min(-heel, -front, CORNER))


class Foot:
    """One foot: planted on a pivot, or in the air.

    Attributes:
        mode: which part carries; pivot: of that part, along the way [m].
        ankle: (forward, up) [m]; pitch, mtp: of foot, and of toes against it [rad].
    """

    def __init__(self, geometry: FootGeometry, articulated: bool, forward: float) -> None:
        self.geometry, self.articulated = geometry, articulated
        self.mode = ContactState.FLAT
        self.pivot = self.ball_at = forward + geometry.ball
        self.ankle = (forward, geometry.height)
        self.pitch = self.pitch_rate = 0.0
        self.mtp = self.mtp_rate = 0.0
        self.rate = 0.0  # of the ankle, forward
        self.landed_at = 0.0  # pitch at touchdown
        self._path = self._turn = self._toes = (0.0, 0.0, 0.0)
        self.left_from = forward
        self._in_air = rolls()[0]
        self._tips_at = 0.0  # phase at which it came to stand on the tips of its toes

    # -- planted ---------------------------------------------------------------------------------------------------------

    def land(self) -> None:
        """Put the foot on the ground where it is."""
        self.landed_at = self.pitch
        self.mode = ContactState.HEEL if self.pitch > 0 else ContactState.FLAT
        along = -self.geometry.heel if self.pitch > 0 else self.geometry.ball
        self.pivot = self.ankle[0] - self.geometry.ankle_from(along, self.pitch)[0]
        self._turn = self._toes = (0.0, 0.0, 0.0)

    def law(self, phase: float, gait: Gait, effort: float) -> float:
        """Pitch that a planted foot is to have at a phase of its cycle."""
        roll = roll_at(gait.speed, self.geometry.size)
        if self.landed_at > 0 and phase < roll.lowered:
            return self.landed_at * (1 - smoother_step(phase / roll.lowered))
        rise, release = _rise(gait, self.geometry.size), _release(gait)
        u = max(phase - rise, 0.0) / (release - rise)
        return -effort * roll.rise * float(u**roll.power)

    def stand(self, phase: float, gait: Gait, effort: float) -> None:
        """One tick on the ground at ``phase`` of the cycle; ``effort`` 0 standing, 1 walking."""
        before = self.ankle[0], self.pitch, self.mtp
        g = self.geometry
        if self.articulated:
            asked = self.law(phase, gait, effort)
            self.pitch += min(max(asked - self.pitch, -PITCH_RATE * DT), PITCH_RATE * DT)
            if self.mode is ContactState.HEEL and (phase >= roll_at(gait.speed, self.geometry.size).lowered or self.pitch <= 0):
                self.pitch = min(self.pitch, 0.0)
                self.pivot += g.heel + g.ball
                self.mode, self.landed_at = ContactState.FLAT, 0.0
        self._place(phase, gait, effort)
        self._rates(before)

    def ease(self, excess: float) -> None:
        """Take an excess of dorsiflexion [rad] off the pitch of a foot that stands on its heel."""
        if self.articulated and excess > 0 and self.mode is ContactState.HEEL:
            self.pitch = max(self.pitch - excess, 0.0)
            forward, up = self.geometry.ankle_from(-self.geometry.heel, self.pitch)
            self.ankle = self.pivot + forward, up

    def _place(self, phase: float, gait: Gait, effort: float) -> None:
        g = self.geometry
        if self.mode is not ContactState.TOE:
            self.ball_at = self.pivot + (g.heel + g.ball if self.mode is ContactState.HEEL else 0.0)
        release = _release(gait)
        start = release - (1 - roll_at(gait.speed, self.geometry.size).toes) * 0.5 * gait.double_support
        if self.mode in (ContactState.FLAT, ContactState.FOREFOOT):
            rolled = self.articulated and self.pitch < -math.radians(0.5)
            self.mode = ContactState.FOREFOOT if rolled else ContactState.FLAT
            if rolled and phase > start and effort > 0.3:  # over to the tips of the toes, where they are
                forward, _ = g.ankle_from(g.ball, self.pitch)
                self.pivot += forward + g.tip_from_ankle(self.pitch, g.lying_toes(self.pitch))[0]
                self.mode = ContactState.TOE
                self._tips_at = phase
        if self.mode is ContactState.TOE:
            share = min(max((phase - self._tips_at) / (release - start), 0.0), 1.0)
            toes = g.lying_toes(self.pitch) - min(effort, 1.0) * roll_at(gait.speed, self.geometry.size).tilt * share**2
            forward, up = g.tip_from_ankle(self.pitch, toes)
            self.ankle = self.pivot - forward, -up
            self.mtp = toes - self.pitch
            return
        along = -g.heel if self.mode is ContactState.HEEL else g.ball
        forward, up = g.ankle_from(along, self.pitch)
        self.ankle = self.pivot + forward, up
        self.mtp = g.lying_toes(self.pitch) - self.pitch if self.mode is ContactState.FOREFOOT else 0.0

    def _rates(self, before: tuple[float, float, float]) -> None:
        self.rate = (self.ankle[0] - before[0]) / DT
        self.pitch_rate = (self.pitch - before[1]) / DT
        self.mtp_rate = (self.mtp - before[2]) / DT

    # -- in the air ------------------------------------------------------------------------------------------------------

    def release(self, gait: Gait, speed: float) -> None:
        """Leave the ground with the velocity that the foot has; ``speed`` of the root [m/s]."""
        roll = self._in_air = roll_at(gait.speed, self.geometry.size)  # a swing ends as it was begun, whatever the speed does
        self.mode = ContactState.AIRBORNE
        self.left_from = self.ankle[0]
        self._path = self.ankle[0], self.rate, roll.leaving * speed
        self._turn = self.pitch, self.pitch_rate, -roll.back * self.pitch_rate
        self._toes = self.mtp, self.mtp_rate, -roll.back * self.mtp_rate

    def swing(self, share: float, left: float, span: float, goal: float, gait: Gait, effort: float) -> None:
        """One tick in the air: ``share`` of the swing passed, ``left`` and ``span`` of it [s], ``goal`` where the ankle is to land."""
        before = self.ankle[0], self.pitch, self.mtp
        g = self.geometry
        if not self.articulated:
            forward = self.left_from + smoother_step(front_loaded(share)) * (goal - self.left_from)
            self.ankle = forward, g.height + gait.lift * math.sin(math.pi * share) ** 2
        else:
            roll, speed = self._in_air, effort * gait.speed
            self._path = _towards(self._path, goal, roll.moving * speed, -roll.arrival * speed, left)
            self._turn = _towards(self._turn, effort * roll.landing, 0.0, 0.0, left - roll.ready * span)
            self._toes = _towards(self._toes, 0.0, 0.0, 0.0, left - (1 - roll.straight) * span)
            self.pitch, self.mtp = self._turn[0], self._toes[0]
            lift = effort * roll.lift * math.sin(math.pi * share**roll.early) ** 2
            self.ankle = self._path[0], g.sole_below(self.pitch, self.pitch + self.mtp) + lift
        self._rates(before)


def _towards(
    state: tuple[float, float, float], goal: float, velocity: float, acceleration: float, left: float
) -> tuple[float, float, float]:
    """One tick of the minimum-jerk path that is at ``goal``, with a velocity and an acceleration, ``left`` [s] after it; there it stays."""
    if left <= 1e-9:
        return goal, velocity, acceleration
    step: tuple[float, float, float] = quintic(*state, goal, velocity, acceleration, left + DT, DT)
    return step


def _extent(gait: Gait, height: float) -> float:
    """How much of :class:`Roll` a gait of a body of ``height`` [m] takes: all of it in people's steps, less in shorter ones."""
    return min(gait.step_length / (gait.speed * 60.0 / human_cadence(gait.speed, height)), 1.0)


def _release(gait: Gait) -> float:
    """Phase of the cycle at which a foot leaves the ground."""
    return 0.5 * (1 + gait.double_support)


def _rise(gait: Gait, size: float) -> float:
    """Phase at which the heel begins to rise: the root has by then passed the ankle."""
    roll = roll_at(gait.speed, size)
    return (roll.ahead * gait.step_length + roll.passed) / (2 * gait.step_length)


# -- root ----------------------------------------------------------------------------------------------------------------


@dataclass
class Root:
    """Where the body is carried: forward position [m], velocity [m/s], acceleration [m/s^2]; yaw [rad] and its rate [rad/s].

    ``goal`` is the commanded speed [m/s], ``rate`` [1/s] that with which it is followed.
    """

    position: float = 0.0
    velocity: float = 0.0
    acceleration: float = 0.0
    yaw: float = 0.0
    yaw_rate: float = 0.0
    goal: float = 0.0
    rate: float = SPEED_RATE

    def follow(self, speed: float) -> None:
        """One tick towards a commanded speed, critically damped, and exactly so; at the speed it stays there."""
        if speed != self.goal:
            self.goal = speed
            change = max(abs(speed - self.velocity), 1e-9)
            changes, rates = np.array(LARGE_CHANGES).T
            large = float(np.interp(change, changes, rates))
            self.rate = min(SPEED_CHANGE / change, large if change > LARGE_CHANGES[0][0] else SPEED_RATE)
        if abs(speed - self.velocity) < 1e-7 and abs(self.acceleration) < 1e-6:
            self.velocity, self.acceleration = speed, 0.0
            self.position += DT * speed
        else:
            self.position, self.velocity, self.acceleration = self.predicted(DT)

    def predicted(self, dt: float) -> tuple[float, float, float]:
        """Position, velocity and acceleration ``dt`` [s] from now, if the command stays."""
        w, off = self.rate, self.velocity - self.goal
        rise, decay = self.acceleration + w * off, math.exp(-w * dt)
        velocity = self.goal + (off + rise * dt) * decay
        moved = self.goal * dt + (off + rise / w) * (1 - decay) / w - rise * dt * decay / w
        return self.position + moved, velocity, (rise - w * (off + rise * dt)) * decay

    def settle(self, place: float, left: float) -> None:
        """One tick towards rest at ``place`` in ``left`` [s]."""
        state = (self.position, self.velocity, self.acceleration)
        self.position, self.velocity, self.acceleration = _towards(state, place, 0.0, 0.0, left)


class Height(NamedTuple):
    """Height of mid-hip over a cycle: mean - swing cos(4 pi (phase - lowest)), phase of the right leg."""

    mean: float
    swing: float
    lowest: float

    def at(self, phase: float) -> float:
        return self.mean - self.swing * math.cos(4 * math.pi * (phase - self.lowest))


def signals(phase: float, double_support: float) -> tuple[float, float]:
    """Separation of the feet (left less right, -1 to 1) and which side carries (1 right), at a phase of the right leg.

    Both are plain waves, so that what follows them has no corner; the carrying side changes in the middle of double support.
    """
    middle = 0.25 * double_support
    return -math.cos(2 * math.pi * (phase - 0.02)), math.sin(2 * math.pi * (phase - middle))


def steady_foot(gait: Gait, geometry: FootGeometry, height: float) -> tuple[Array, Array, Array]:
    """An articulated foot over one cycle of steady walking: phase (T,), ankle ahead of the root and above the ground (T,) [m]."""
    rate = 1 / (2 * gait.duration)
    ahead = roll_at(gait.speed, geometry.size).ahead * gait.step_length
    foot = Foot(geometry, True, ahead)
    extent = _extent(gait, height)
    foot.pitch = extent * roll_at(gait.speed, geometry.size).landing
    foot.ankle = ahead, geometry.sole_below(foot.pitch, foot.pitch)
    foot.land()
    ticks = round(1 / (rate * DT))
    release, out = _release(gait), []
    for tick in range(1, ticks + 1):
        phase, root = tick * rate * DT, tick * DT * gait.speed
        if phase < release:
            foot.stand(phase, gait, extent)
        else:
            if foot.mode is not ContactState.AIRBORNE:
                foot.release(gait, gait.speed)
            left, span = (1 - phase) / rate, (1 - release) / rate
            foot.swing(min((phase - release) / (1 - release), 1.0), left, span, 2 * gait.step_length + ahead, gait, extent)
        out.append((phase, foot.ankle[0] - root, foot.ankle[1]))
    phase, forward, up = np.array(out).T
    return phase, forward, up


def reach(gait: Gait, anatomy: Anatomy, coordination: Coordination, ahead: Orbit | None = None) -> tuple[Array, Array]:
    """Phase of the right leg (T,), and the greatest height of mid-hip (T,) [m] that both legs reach in steady walking.

    ``ahead`` is an orbit that mid-hip follows instead of moving evenly.
    """
    geometry, body = FootGeometry.of(anatomy), UpperBody(anatomy, coordination)
    longest = (anatomy.length("thigh") + anatomy.length("shank")) * math.cos(0.5 * LEAST_KNEE)
    phase, forward, up = steady_foot(gait, geometry, anatomy.height)
    half, right, across = anatomy.hip_half_spacing, [], []
    for t in phase.tolist():
        rotation, shift = body.pelvis(gait.share, *signals(t, gait.double_support))
        hip = rotation @ (half, 0.0, 0.0)
        if ahead is not None:
            hip[1] += ahead.at(2 * t)[0]
        right.append(hip)
        across.append(shift + hip[0] - half)
    hips = np.array(right)
    limit = up - hips[:, 2] + np.sqrt(np.maximum(longest**2 - (forward - hips[:, 1]) ** 2 - np.square(across), 0.0))
    # the left leg does the same half a cycle later
    return phase, np.minimum(limit, np.interp((phase + 0.5) % 1.0, phase, limit, period=1.0))


@lru_cache(maxsize=256)
def planned_height(gait: Gait, anatomy: Anatomy, coordination: Coordination) -> Height:
    """The highest path of mid-hip, with the rise and fall of :class:`Roll`, that both legs reach all through a cycle."""
    phase, limit = reach(gait, anatomy, coordination)
    roll = roll_at(gait.speed, anatomy.leg_length / REFERENCE.leg_length)
    mean = float((limit + roll.swing * np.cos(4 * np.pi * (phase - roll.lowest))).min())
    return Height(mean, roll.swing, roll.lowest)


@lru_cache(maxsize=64)
def carried(model: StanceModel, gait: Gait, anatomy: Anatomy, coordination: Coordination) -> Orbit:
    """The highest orbit of a stance model that both legs reach all through a cycle."""
    height = planned_height(gait, anatomy, coordination)
    top = height.mean + height.swing
    found = orbit(model, gait, top)
    for _ in range(4):
        phase, limit = reach(gait, anatomy, coordination, found)
        over = max(found.at(2 * t)[1] - z for t, z in zip(phase.tolist(), limit.tolist(), strict=True))
        if abs(over) < 2e-4:
            break
        top -= over
        found = orbit(model, gait, top)
    return found


# -- the walker ----------------------------------------------------------------------------------------------------------


class Snapshot(NamedTuple):
    """One tick, for those who look at a walk afterwards.

    Attributes:
        time: [s]; root: position, velocity, acceleration; pelvis: mid-hip (3,) [m]; rotation: of the pelvis (3, 3).
        q: joint angles (n,) [rad]; phase: (2,) [cycles]; mode, pitch [rad], pivot [m], ankle (2, 2) [m]: of both feet.
        follow: share of the root that the pelvis followed; miss: how far an ankle is out of reach [m].
        drive: of both arms.
        trust: share of mid-hip's motion that the stance model has; wanted: where it wants mid-hip (forward, up) [m].
        command: speed, as used [m/s].
    """

    time: float
    root: tuple[float, float, float]
    pelvis: Array
    rotation: Array
    q: Array
    phase: tuple[float, float]
    mode: tuple[ContactState, ContactState]
    pitch: tuple[float, float]
    pivot: tuple[float, float]
    ankle: Array
    follow: float
    miss: float
    drive: Array
    trust: float
    wanted: tuple[float, float]
    command: float


class ContinuousWalker:
    """A body that walks without steps being its unit.

    Args:
        plan: how.
        anatomy: the body.

    Attributes:
        ticks: made; root, clocks, history, arms: the persistent state; feet: left and right.
        walking: whether the clocks run; command: the speed that was asked for last, as used [m/s].
    """

    def __init__(self, plan: Plan | None = None, anatomy: Anatomy = REFERENCE) -> None:
        plan = plan or Plan()
        if plan.profile.law == "human":  # the law is of the body's own height
            plan = replace(plan, profile=replace(plan.profile, height=anatomy.height))
        self.plan, self.anatomy = plan, anatomy
        self.solver = StandingSolver(anatomy)
        self.geometry = FootGeometry.of(anatomy)
        self.articulated = self.plan.feet == "articulated"
        self.body = UpperBody(anatomy, self.plan.coordination)
        self.ticks = 0
        self.root = Root()
        self.clocks = LimbClocks()
        self.history = ContactHistory()
        self.arms = ArmDrive()
        self.feet = tuple(Foot(self.geometry, self.articulated, 0.0) for _ in SIDES)
        self.walking = False
        self.command = self.cruise = 0.0
        self.follow = self.plan.follow
        self._cycle = [0, 0]
        self._settling = self._pace = 0.0
        self._sunk, self._sunk_at = (0.0, 0.0), -1
        self._half = anatomy.hip_half_spacing
        self._thigh, self._shank = anatomy.length("thigh"), anatomy.length("shank")
        self._longest = (self._thigh + self._shank) * math.cos(0.5 * LEAST_KNEE)
        self._lumbar = anatomy.joint_index["lumbar_flexion"]
        self._orbit: Orbit | None = None
        self._trust = np.zeros(2)  # in the orbit, and its rate
        self._ahead = 0.0
        self._heights: list[tuple[float, Height]] = []
        if self.articulated:
            profile = self.plan.profile
            time = math.sqrt(self.geometry.size)
            between = {row.speed * time for row in rolls() if profile.slowest < row.speed * time < profile.fastest}
            for v in sorted({profile.slowest, profile.fastest, *between}):
                self._heights.append((v, planned_height(profile.gait(v), anatomy, self.plan.coordination)))

    @property
    def time(self) -> float:
        """[s]."""
        return self.ticks * DT

    def disturb(self, foot: int, cycles: float) -> None:
        """Probe: move the clock of one leg by ``cycles``. Raises ValueError beyond a quarter of a cycle."""
        if not abs(cycles) <= 0.25:
            raise ValueError(f"a disturbance of {cycles:g} cycles is outside -0.25..0.25: give a value in that range")
        self.clocks.phase[foot] += cycles

    def tick(self, speed: float) -> Snapshot:
        """One tick under a speed command [m/s]: 0 stops, others are clamped to the range of the profile.

        Raises:
            ValueError: a speed that is negative or not finite.
        """
        if not 0 <= speed < math.inf:
            raise ValueError(f"speed {speed:g} m/s cannot be walked: give 0 to stop, or a speed of at least 0")
        self.command = self.plan.profile.clamp(speed) if speed > 0 else 0.0
        self.ticks += 1
        # slowing down shortens steps first and cadence later: no foot is left behind for long
        self._pace = max(self.root.velocity, self._pace + PACE_RATE * DT * (self.root.velocity - self._pace))
        gait = self.plan.profile.gait(self._pace)
        if self.command > 0:
            self.cruise = self.plan.profile.gait(self.command).step_length
            if not self.walking:
                self._set_off(gait)
        self._carry()
        self._entrust()
        effort = smoother_step(self.root.velocity / (0.8 * self.plan.profile.slowest))
        rate = 1 / (2 * gait.duration)
        if self.walking:
            self.clocks.advance(rate, DT)
        self._contacts(gait)
        self._place_feet(gait, rate, effort)
        return self._pose(gait, effort)

    # -- intent, root, clocks, contacts ----------------------------------------------------------------------------------

    def _set_off(self, gait: Gait) -> None:
        """Start the clocks: the rear foot will leave first."""
        self.walking = True
        lead = 0 if self.feet[0].ankle[0] < self.feet[1].ankle[0] - 1e-6 else 1
        at = _release(gait) - PRELOAD
        self.clocks.phase[lead], self.clocks.phase[1 - lead] = at + 1, at + 0.5
        self._cycle[lead], self._cycle[1 - lead] = 1, math.floor(at + 0.5)
        self.clocks.pending[:] = 0.0

    def _carry(self) -> None:
        if self.walking or self._settling <= 0:
            self.root.follow(self.command)
        else:
            self._settling -= DT
            self.root.settle(0.5 * (self.feet[0].ankle[0] + self.feet[1].ankle[0]), self._settling)

    def _entrust(self) -> None:
        """Let the stance model carry mid-hip where the speed is steady, and take it back softly where it is not."""
        if self.plan.root == "kinematic":
            return
        steady = self.walking and self.command > 0 and abs(self.root.velocity - self.command) < 0.01
        if steady and self._trust[0] < 1e-3:
            gait = self.plan.profile.gait(self.command)
            self._orbit = carried(self.plan.root, gait, self.anatomy, self.plan.coordination)
        asked = self.plan.authority if steady else 0.0
        self._trust[1] += DT * (TRUST_RATE**2 * (asked - self._trust[0]) - 2 * TRUST_RATE * self._trust[1])
        self._trust[0] += DT * self._trust[1]

    def _contacts(self, gait: Gait) -> None:
        if not self.walking:
            return
        for i, foot in enumerate(self.feet):
            since = float(self.clocks.phase[i]) - self._cycle[i]
            if foot.mode is ContactState.AIRBORNE and since >= 1:
                late = (1 - since) * 2 * gait.duration  # the moment lies within the tick
                foot.swing(1.0, 0.0, 1.0, self._goal(late), gait, self._effort * _extent(gait, self.anatomy.height))
                foot.land()
                self._cycle[i] += 1
                self.history.add(Contact(self.ticks, i, True, self.clocks.touchdown()))
                apart = abs(self.feet[0].ankle[0] - self.feet[1].ankle[0])
                both = self.feet[1 - i].mode is not ContactState.AIRBORNE
                if self.command == 0 and self.root.velocity < STOPPED and both and apart <= CLOSED * self.cruise:
                    self.walking = False
                    self._settling = SETTLING
            elif foot.mode is not ContactState.AIRBORNE and _release(gait) <= since < 1:
                other = self.feet[1 - i]
                if other.mode is not ContactState.AIRBORNE:  # never both: the clock waits for the other foot
                    foot.release(gait, self.root.velocity)
                    self.history.add(Contact(self.ticks, i, False, 0.0))

    @property
    def _effort(self) -> float:
        return smoother_step(self.root.velocity / (0.8 * self.plan.profile.slowest))

    def _goal(self, left: float) -> float:
        """Where the ankle of the foot in the air is to land, ``left`` [s] from now."""
        place, speed, _ = self.root.predicted(left)
        speed = max(speed, 0.0)
        gait = self.plan.profile.gait(max(speed, self._pace))
        share = roll_at(gait.speed, self.geometry.size).ahead if self.articulated else 0.5
        return place + share * speed * gait.duration

    def _place_feet(self, gait: Gait, rate: float, effort: float) -> None:
        release = _release(gait)
        effort *= _extent(gait, self.anatomy.height)
        for i, foot in enumerate(self.feet):
            since = float(self.clocks.phase[i]) - self._cycle[i]
            if foot.mode is not ContactState.AIRBORNE:
                if not self.walking:  # its clock stands still, but what has begun to be lowered is lowered
                    since = max(since, min(since + rate * (SETTLING - self._settling), 0.25))
                # a foot that the root has left behind keeps its heel up, however slow the root has become
                behind = smoother_step((self.root.position - foot.ball_at + self.geometry.ball - LEFT_BEHIND[0]) / LEFT_BEHIND[1])
                foot.stand(min(since, release), gait, 1 - (1 - effort) * (1 - behind))
                continue
            left, span = (1 - since) / rate, (1 - release) / rate
            share = min(max((since - release) / (1 - release), 0.0), 1.0)
            foot.swing(share, left, span, self._goal(left), gait, effort)

    # -- pelvis and legs -------------------------------------------------------------------------------------------------

    def _pose(self, gait: Gait, effort: float) -> Snapshot:
        phase = 0.5 * (float(self.clocks.phase[1]) + float(self.clocks.phase[0]) + 0.5)
        separation, carrying = (effort * x for x in signals(phase, gait.double_support))
        self.arms.advance(np.array([-separation, separation]), DT)
        rotation, shift = self.body.pelvis(gait.share, separation, carrying)
        q = self.body.joints(self.solver.posture, gait.share, separation, carrying, self.arms.position)
        if self.articulated:
            rotation = rotation @ rotation_x(-TILTED * effort)
            q[self._lumbar] = -TILTED * effort  # the trunk stays upright over it
        middle = 0.5 * (self.feet[0].ankle[0] + self.feet[1].ankle[0])
        self.follow = min(self.follow + 0.5 * DT, self.plan.follow)
        pelvis = np.array([shift, 0.0, 0.0])
        ok, miss = self._solve(q, pelvis, rotation, middle, phase, effort)
        if not ok:  # the pelvis follows the root less, where that helps
            whole, low, high = self.follow, 0.0, self.follow
            for k in range(13):
                self.follow = 0.5 * (low + high) if k else 0.0
                ok, miss = self._solve(q, pelvis, rotation, middle, phase, effort)
                if k == 0 and not ok:
                    break
                low, high = (self.follow, high) if ok else (low, self.follow)
            self.follow = low if ok or low > 0 or not self.articulated else whole
            ok, miss = self._solve(q, pelvis, rotation, middle, phase, effort)
        if not ok:  # and then the foot comes down from its heel
            for i, foot in enumerate(self.feet):
                foot.ease(float(q[int(self.solver.tree.leg[i]) + ANKLE]) - self.plan.guardrail)
            ok, miss = self._solve(q, pelvis, rotation, middle, phase, effort)
        return Snapshot(
            self.time,
            (self.root.position, self.root.velocity, self.root.acceleration),
            pelvis,
            rotation,
            q,
            (float(self.clocks.phase[0]), float(self.clocks.phase[1])),
            (self.feet[0].mode, self.feet[1].mode),
            (self.feet[0].pitch, self.feet[1].pitch),
            (self.feet[0].pivot, self.feet[1].pivot),
            np.array([foot.ankle for foot in self.feet]),
            self.follow,
            miss,
            self.arms.position.copy(),
            float(self._trust[0]),
            (self.root.position + self._ahead, self._height(phase, effort)),
            self.command,
        )

    def _height(self, phase: float, effort: float) -> float:
        standing = self.anatomy.leg_length - STANDING_DROP
        if not self._heights:
            return float(self.solver.neutral_pelvis[2])
        v = min(max(self.root.velocity, self._heights[0][0]), self._heights[-1][0])
        k = max(k for k in range(len(self._heights) - 1) if self._heights[k][0] <= v)
        (a, low), (b, high) = self._heights[k], self._heights[k + 1]
        share = (v - a) / (b - a)
        walking = (1 - share) * low.at(phase) + share * high.at(phase)
        if self._orbit is not None:
            ahead, height, _, _ = self._orbit.at(2 * phase)
            self._ahead = float(self._trust[0]) * ahead
            walking += float(self._trust[0]) * (height - walking)
        return standing + effort * (walking - standing)

    def _solve(self, q: Array, pelvis: Array, rotation: Array, middle: float, phase: float, effort: float) -> tuple[bool, float]:
        """Put pelvis and legs into place. Returns whether both ankles are within the guardrail, and the largest miss [m]."""
        planned = top = self._height(phase, effort)
        pelvis[1] = middle + self.follow * (self.root.position + self._ahead - middle)
        hips = [rotation @ (sign * self._half, 0.0, 0.0) for sign in (-1.0, 1.0)]
        for sign, hip, foot in zip((-1.0, 1.0), hips, self.feet, strict=True):
            across = pelvis[0] + hip[0] - sign * self._half
            along = pelvis[1] + hip[1] - foot.ankle[0]
            reach = foot.ankle[1] - hip[2] + math.sqrt(max(self._longest**2 - across**2 - along**2, 0.04))
            top = float(smooth_min(top, reach, 0.004))
        pelvis[2] = top - (self._sink(planned - top) if self.articulated else 0.0)
        miss, ok = 0.0, True
        for i, (sign, hip, foot) in enumerate(zip((-1.0, 1.0), hips, self.feet, strict=True)):
            centre = pelvis + hip
            ankle = np.array([sign * self._half, foot.ankle[0], foot.ankle[1]])
            first = int(self.solver.tree.leg[i])
            leg = q[first : first + MTP + 1]
            miss = max(miss, self._leg(leg, rotation, centre, ankle, foot.pitch, sign))
            if self.articulated and foot.mode is ContactState.AIRBORNE:  # who is in the air lets the toes down instead
                excess = float(leg[4]) - float(smooth_min(leg[4], self.plan.guardrail, TOES_DOWN))
                if excess > 0:
                    foot.pitch -= excess
                    self._leg(leg, rotation, centre, ankle, foot.pitch, sign)
            else:
                ok = ok and leg[4] <= self.plan.guardrail
            leg[MTP] = foot.mtp
        return ok, miss

    def _sink(self, needed: float) -> float:
        """How far [m] below the reach of the legs the pelvis is, when it has sunk by ``needed`` and rises again without haste."""
        needed = max(needed - SINK_FREE, 0.0)
        if self._sunk_at == self.ticks:  # asked again within the tick
            return max(self._sunk[0] - needed, 0.0)
        self._sunk_at = self.ticks
        depth, rate = self._sunk
        rate += DT * (RISE_AGAIN**2 * (needed - depth) - 2 * RISE_AGAIN * rate)
        risen = depth + DT * rate
        self._sunk = (risen, rate) if risen > needed else (needed, (needed - depth) / DT)
        return max(self._sunk[0] - needed, 0.0)

    def _leg(self, leg: Array, rotation: Array, hip: Array, ankle: Array, pitch: float, sign: float) -> float:
        return straight_leg(leg, rotation, hip, ankle, pitch, sign, self._thigh, self._shank)


def straight_leg(leg: Array, rotation: Array, hip: Array, ankle: Array, pitch: float, sign: float, thigh: float, shank: float) -> float:
    """Solve one leg so that the foot points straight ahead at ``pitch``; arguments of :func:`solve_leg` otherwise.

    Returns:
        How far the ankle is out of reach [m].
    """
    frame = rotation_x(pitch)
    # the foot has two axes at the ankle: the knee points along its long axis, slid down the hip-ankle line to the horizontal
    slide = frame[2, 1] / (hip[2] - ankle[2])
    x, y = -slide * (hip[0] - ankle[0]), frame[1, 1] - slide * (hip[1] - ankle[1])
    return float(solve_leg(rotation, hip, ankle, frame, math.atan2(-x, y), thigh, shank, sign, leg))


def film(walker: ContinuousWalker, walk: Sequence[Snapshot], name: str) -> Recording:
    """The walk as a recording, with its touchdowns, releases and footholds."""
    mode = np.array([s.mode for s in walk])
    time = np.array([s.time for s in walk])
    ankle = np.array([s.ankle for s in walk])
    events, footholds = contact_events(time, mode, ankle, walker.anatomy.hip_half_spacing)
    trajectory = Trajectory(
        walker.anatomy,
        time,
        np.array([s.pelvis for s in walk]),
        np.array([s.q for s in walk]),
        np.array([s.rotation for s in walk]),
    )
    command = {"speed_mps": max(s.command for s in walk), "feet": walker.plan.feet}
    recording = trajectory.recording(name, mode, events, footholds, command)
    recording.columns["command"] = np.array([(s.command, 0.0) for s in walk])
    recording.header["stance"] = walker.plan.root
    return recording
