"""A body that walks by the curves of :mod:`sandbox.controllers.boulic`, its standing foot pinned by inverse kinematics.

Published are the motion of the pelvis and the angles of legs, trunk and arms over one cycle; with them alone the standing foot slides
by a tenth of the leg's length. The paper mends that with an automaton whose rules are not known. Here:

support  the foot stands where the published ankle is on average while the sole is flat; it rolls over heel, ball and tips of the toes
         as the published pitch says, less the 11 degrees of it that a flat foot has, and earlier where the leg would not reach
swing    the published path and pitch, with an offset that leads from the lift-off and to the next landing; forward, the foot lands
         with its published speed
pelvis   the published rise and fall, lowered as far as a landing leg has to reach
legs     inverse kinematics; trunk and arms as published

It walks at one speed, straight ahead on level ground, from the first row on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.kinematics import ANKLE, HIP, KNEE, MTP, Tree
from sandbox.controllers.boulic import Timing, joint_angles, normalised_speed, pelvis_motion, timing
from sandbox.plants.continuous import FootGeometry, straight_leg
from sandbox.plants.rocker import pitch_within_reach, smooth_min, smooth_step
from sandbox.recording import Recording
from sandbox.spatial import rotation_y, rotation_z
from sandbox.state import ContactState
from sandbox.trajectory import Trajectory, contact_events

FLAT: Final = (0.08, 0.40)  # phases between which the published foot is flat
HEEL_RISES: Final = 0.30  # phase before which the heel of a flat foot stays down (assumed)
SOON: Final = 0.08  # [cycles] (assumed)
TIPS: Final = 0.50  # phase from which the foot stands on the tips of its toes: the other one has landed (assumed)
MOST_TILT: Final = 60  # [deg] of the toes (assumed)
SHARE: Final = 0.5  # of the swing in which it comes from the ground to the published path, and again back to it (assumed)
LANDED: Final = 0.10  # phase by which the sole is flat at the latest
SOFT: Final = math.radians(5.0)  # of pitch, over which a foot begins or ends to roll
STRAIGHTEST: Final = math.radians(3.0)  # knee flexion that the published legs never go below
CLEARANCE: Final = 0.011  # of hip height, of the sole in mid-swing, at least (assumed)
SPARE: Final = (0.001, 0.016)  # of hip height, that a swinging leg stays short of its reach, least and most (assumed)
ARMS_OUT: Final = math.radians(7.0)  # of the shoulders, so that the hands pass the hips (assumed)
STEP: Final = 1e-4  # [cycles] for differences
GRID: Final = 400


def soften(x: Array, width: float) -> Array:
    """0 below 0, ``x`` above ``width``, and twice differentiable between."""
    s = np.clip(np.asarray(x, dtype=np.float64) / width, 0.0, 1.0)
    return np.where(np.asarray(x) > width, x, width * s**3 * (6 - 8 * s + 3 * s**2))


def between(share: Array, duration: float, start: tuple[float, float], end: tuple[float, float]) -> Array:
    """At shares (T,) of a ``duration``: the quintic from value and rate at the start to those at the end, without acceleration there."""
    s = np.clip(share, 0.0, 1.0)
    d, v, w = end[0] - start[0], start[1] * duration, end[1] * duration
    c3, c4, c5 = 10 * d - 6 * v - 4 * w, -15 * d + 8 * v + 7 * w, 6 * d - 3 * v - 3 * w
    return np.asarray(start[0] + v * s + c3 * s**3 + c4 * s**4 + c5 * s**5)


def _bump(share: Array, early: float) -> Array:
    return np.asarray(np.sin(np.pi * np.clip(share, 0, 1) ** early) ** 2)


class FootPath(NamedTuple):
    """Of a foot at phases of its own: ankle ahead of even motion and above the ground [m]; pitch, toes against it [rad]; mode."""

    ahead: Array
    up: Array
    pitch: Array
    toes: Array
    mode: NDArray[np.int8]


class BoulicWalk:
    """One cycle of a body at a speed.

    Args:
        speed: [m/s]; anatomy: the body.

    Attributes:
        timing: of the cycle; stride: [m].

    Raises:
        ValueError: a speed for which there are no curves.
    """

    def __init__(self, speed: float, anatomy: Anatomy) -> None:
        self.speed, self.anatomy = speed, anatomy
        self.hip_height = anatomy.leg_length
        self.timing: Timing = timing(normalised_speed(speed, self.hip_height))
        self.stride = self.timing.length * self.hip_height
        self._geometry = FootGeometry.of(anatomy)
        self._tree = Tree.of(anatomy)
        self._thigh, self._shank = anatomy.length("thigh"), anatomy.length("shank")
        self._longest = math.sqrt(self._thigh**2 + self._shank**2 + 2 * self._thigh * self._shank * math.cos(STRAIGHTEST))

    # -- as published ----------------------------------------------------------------------------------------------------

    def raw(self, phase: Array) -> tuple[Array, Array, Array]:
        """Right ankle ahead of even motion and above mid-hip [m], and pitch of the foot [rad], with the published angles alone."""
        q, pelvis = joint_angles(self.speed, self.hip_height, phase), pelvis_motion(self.speed, self.hip_height, phase)
        hip, knee = q["right_hip_flexion"], q["right_knee_flexion"]
        centre = self._hip_centre(pelvis.yaw, pelvis.roll)
        ahead = pelvis.shift[:, 1] + centre[:, 1] + self._thigh * np.sin(hip) + self._shank * np.sin(hip - knee)
        up = centre[:, 2] - self._thigh * np.cos(hip) - self._shank * np.cos(hip - knee)
        return ahead, up, hip - knee + q["right_ankle_dorsiflexion"]

    def _hip_centre(self, yaw: Array, roll: Array) -> Array:
        """Right hip from mid-hip (T, 3) [m]."""
        half = self.anatomy.hip_half_spacing
        return half * np.stack((np.cos(yaw) * np.cos(roll), np.sin(yaw) * np.cos(roll), -np.sin(roll)), axis=-1)

    # -- support ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _level(self) -> float:
        """Pitch [rad] that the published foot has on its flat sole: the least of it, so that the heel does not rise too early."""
        return float(self.raw(np.linspace(*FLAT, 65))[2].min())

    def _planted_pitch(self, phase: Array) -> Array:
        t = np.asarray(phase, dtype=np.float64)
        pitch = self.raw(t)[2]
        landing = np.where(t < LANDED, soften(pitch, SOFT), 0.0)
        rolled = landing - np.where(t > LANDED, soften(self._level - pitch, SOFT), 0.0)
        out = [
            p if now < HEEL_RISES - SOON else smooth_min(p, limit, 0.5 * SOFT)
            for p, now, limit in zip(rolled.tolist(), t.tolist(), self._reaching(t).tolist(), strict=True)
        ]
        return np.array(out)

    def _reaching(self, phase: Array) -> Array:
        """Highest pitch (T,) [rad] of a foot on its ball at which the leg still reaches it: what more it needs, the heel rises."""
        g, (hip, across) = self._geometry, self._hip_over(phase)
        ahead = hip[:, 1] - (self._foothold + g.ball - self.stride * phase)
        leg = np.sqrt(self._longest**2 - across**2)
        rows = zip(phase.tolist(), ahead.tolist(), hip[:, 2].tolist(), leg.tolist(), strict=True)
        # it counts from the one phase to the other, and comes and goes softly
        return np.array(
            [
                pitch_within_reach(y, z, g.ball, g.height, reach)
                + 1
                - smooth_step((t - HEEL_RISES) / SOON + 1)
                + smooth_step((t - TIPS) / SOON - 0.5)
                for t, y, z, reach in rows
            ]
        )

    def _hip_over(self, phase: Array) -> tuple[Array, Array]:
        """Right hip (T, 3) [m], ahead of even motion, and how far it is outside its foot (T,) [m]."""
        pelvis = pelvis_motion(self.speed, self.hip_height, phase)
        hip = pelvis.shift + self._hip_centre(pelvis.yaw, pelvis.roll)
        hip[:, 2] += self.hip_height - self.lowered
        return hip, hip[:, 0] - self.anatomy.hip_half_spacing

    @cached_property
    def _foothold(self) -> float:
        """Flat ankle ahead of mid-hip's even motion at its strike [m]: where the published one is on average while the sole is flat."""
        phase = np.linspace(*FLAT, 65)
        return float(np.mean(self.raw(phase)[0] + self.stride * phase))

    @cached_property
    def _tilt(self) -> float:
        """Of the toes against their lying pitch at lift-off [rad]: the ankle is then nearest to the published one."""
        release = np.array([self.timing.release])
        ahead, below, _ = (float(x[0]) for x in self.raw(release))
        up = below + float(self._mid_hip(release)[0])
        tilts = np.radians(np.arange(0.0, MOST_TILT + 1))
        feet = [self._standing(release, float(tilt)) for tilt in tilts]
        return float(tilts[np.argmin([math.hypot(float(f.ahead[0]) - ahead, float(f.up[0]) - up) for f in feet])])

    def _planted(self, phase: Array) -> FootPath:
        return self._standing(phase, self._tilt)

    def _standing(self, phase: Array, tilt: float) -> FootPath:
        g, t = self._geometry, np.asarray(phase, dtype=np.float64)
        pitch = self._planted_pitch(t)
        over = float(self._planted_pitch(np.array([TIPS]))[0])
        tip = g.ball + g.ankle_from(g.ball, over)[0] + g.tip_from_ankle(over, g.lying_toes(over))[0]  # stays where it is from then on
        ahead, up, toes, mode = np.empty_like(t), np.empty_like(t), np.zeros_like(t), np.empty(len(t), dtype=np.int8)
        for k, (p, now) in enumerate(zip(pitch.tolist(), t.tolist(), strict=True)):
            lying = g.lying_toes(p) if p < 0 else 0.0
            if now > TIPS:
                lying -= tilt * ((now - TIPS) / (self.timing.release - TIPS)) ** 2
                forward, below = g.tip_from_ankle(p, lying)
                forward, up[k] = tip - forward, -below
                mode[k] = ContactState.TOE
            else:
                along = -g.heel if p > 0 else g.ball
                forward, up[k] = g.ankle_from(along, p)
                forward += along
                mode[k] = ContactState.HEEL if p > 0 else ContactState.FOREFOOT if p < -math.radians(0.5) else ContactState.FLAT
            ahead[k] = self._foothold + forward - self.stride * now
            toes[k] = lying - p if p < 0 else 0.0
        return FootPath(ahead, up, pitch, toes, mode)

    # -- swing -----------------------------------------------------------------------------------------------------------

    @cached_property
    def _offsets(self) -> tuple[tuple[tuple[float, float], tuple[float, float]], ...]:
        """Of ahead, up, pitch and toes: value and rate per cycle of planted less published, at lift-off and at the next strike."""
        out = []
        release = self.timing.release
        for k in range(4):
            ends = []
            for at, sign in ((release, -1), (0.0, 1)):
                sides = np.array([at, at + sign * STEP])  # a planted foot is known on its own side of the moment
                planted = self._planted(sides)[k]
                published = self.raw_path(sides)[k]
                # the published curves have a corner at lift-off: their rate is taken on the side of the swing
                swung = self.raw_path(np.array([at, at - sign * STEP]))[k]
                rate = (planted[1] - planted[0]) / (sign * STEP) - (swung[1] - swung[0]) / (-sign * STEP)
                ends.append((float(planted[0] - published[0]), float(rate)))
            # forward the foot lands with the speed that is published: to be at rest it would have to overtake, and the leg is too short
            out.append((ends[0], (ends[1][0], 0.0) if k == 0 else ends[1]))
        return tuple(out)

    def raw_path(self, phase: Array) -> tuple[Array, Array, Array, Array]:
        """:meth:`raw` above the ground, mid-hip at its height; the toes straight."""
        ahead, up, pitch = self.raw(phase)
        return ahead, up + self._mid_hip(phase), pitch, np.zeros_like(pitch)

    @cached_property
    def _slack(self) -> float:
        """What a swinging leg stays short of its reach by [m], forward: no more than it does when it lands."""
        start = np.zeros(1)
        (hip, across), foot = self._hip_over(start), self._planted(start)
        level = self._longest**2 - float(across[0]) ** 2 - float(hip[0, 2] - foot.up[0]) ** 2
        spare = float(hip[0, 1]) + math.sqrt(max(level, 0.0)) - float(foot.ahead[0])
        return min(max(spare, SPARE[0] * self.hip_height), SPARE[1] * self.hip_height)

    def _swung(self, phase: Array, lift: float, early: float) -> FootPath:
        t = np.asarray(phase, dtype=np.float64)
        release = self.timing.release
        share = (t - release) / (1 - release)
        window, nothing = SHARE * (1 - release), (0.0, 0.0)
        ahead, up, pitch, toes = (
            path + between(share / SHARE, window, left, nothing) + between((share - 1) / SHARE + 1, window, nothing, next_one)
            for path, (left, next_one) in zip(self.raw_path(t), self._offsets, strict=True)
        )
        up = up + lift * _bump(share, early)
        hip, across = self._hip_over(t)
        farthest = hip[:, 1] + np.sqrt(np.maximum(self._longest**2 - across**2 - (hip[:, 2] - up) ** 2, 0.0))
        ahead = ahead - soften(ahead - farthest + self._slack, self._slack)
        return FootPath(ahead, up, pitch, toes, np.full(len(t), ContactState.AIRBORNE, dtype=np.int8))

    @cached_property
    def _lift(self) -> tuple[float, float]:
        """Least rise [m] of the swing with which the sole clears the ground, and the power of the swing's share that shapes it."""
        release = self.timing.release
        share = np.linspace(0.02, 0.98, 97)
        height = self.clearance(self._swung(release + share * (1 - release), 0.0, 1.0))
        found = []
        for early in (0.5, 0.7, 1.0, 1.5, 2.0, 3.0):
            bump = _bump(share, early)
            found.append((max(float((CLEARANCE * self.hip_height - height / bump).max()), 0.0), early))
        return min(found)

    def clearance(self, path: FootPath) -> Array:
        """Of the lowest point of the sole (T,) [m]: heel, ball and tip of the toes."""
        g = self._geometry
        return np.array(
            [
                up - max(g.heel * math.sin(pitch) + g.height * math.cos(pitch), g.height * math.cos(pitch) - g.ball * math.sin(pitch),
                         -g.tip_from_ankle(pitch, pitch + toes)[1])
                for up, pitch, toes in zip(path.up.tolist(), path.pitch.tolist(), path.toes.tolist(), strict=True)
            ]
        )  # fmt: skip

    def foot(self, phase: Array) -> FootPath:
        """A foot at phases (T,) of its own cycle, from its strike on."""
        t = np.asarray(phase, dtype=np.float64) % 1.0
        down, swing, stands = self._planted(np.minimum(t, self.timing.release)), self._swung(t, *self._lift), t < self.timing.release
        ahead, up, pitch, toes = (np.where(stands, a, b) for a, b in zip(down[:4], swing[:4], strict=True))
        return FootPath(ahead, up, pitch, toes, np.where(stands, down.mode, swing.mode))

    # -- pelvis ----------------------------------------------------------------------------------------------------------

    @cached_property
    def lowered(self) -> float:
        """How far mid-hip is below the published height [m]: a leg that lands reaches the ground with three degrees of bend in the knee."""
        g, phase = self._geometry, np.linspace(0, HEEL_RISES, GRID)
        pelvis = pelvis_motion(self.speed, self.hip_height, phase)
        hip = pelvis.shift + self._hip_centre(pelvis.yaw, pelvis.roll)
        most = []
        for k, pitch in enumerate(soften(self.raw(phase)[2], SOFT).tolist()):
            along = -g.heel if pitch > 0 else g.ball
            forward, up = g.ankle_from(along, pitch)
            ankle = self._foothold + along + forward - self.stride * float(phase[k])
            flat = (float(hip[k, 0]) - self.anatomy.hip_half_spacing) ** 2 + (float(hip[k, 1]) - ankle) ** 2
            most.append(self.hip_height + float(hip[k, 2]) - up - math.sqrt(max(self._longest**2 - flat, 0.0)))
        return max(most)

    def _mid_hip(self, phase: Array) -> Array:
        return self.hip_height - self.lowered + pelvis_motion(self.speed, self.hip_height, phase).shift[:, 2]

    # -- the body --------------------------------------------------------------------------------------------------------

    def pose(self, phase: Array) -> tuple[Array, Array, Array, float]:
        """At phases (T,) of the right leg, unwrapped.

        Returns:
            Mid-hip (T, 3) [m], pelvis to world (T, 3, 3), joint angles (T, n) [rad], and how far an ankle is out of reach at most [m].
        """
        t = np.asarray(phase, dtype=np.float64)
        a, pelvis = self.anatomy, pelvis_motion(self.speed, self.hip_height, t)
        position = np.stack((pelvis.shift[:, 0], pelvis.shift[:, 1] + self.stride * t, self._mid_hip(t)), axis=-1)
        rotation = np.array([rotation_z(y) @ rotation_y(r) for y, r in zip(pelvis.yaw.tolist(), pelvis.roll.tolist(), strict=True)])
        q = np.zeros((len(t), len(a.joints)))
        for name, angle in joint_angles(self.speed, self.hip_height, t).items():
            q[:, a.joint_index[name]] = angle
        miss = 0.0
        for i, side in enumerate(SIDES):
            q[:, a.joint_index[f"{side}_shoulder_adduction"]] = -ARMS_OUT
            own, sign = (t + 0.5, -1.0) if side == "left" else (t, 1.0)
            foot, first = self.foot(own), int(self._tree.leg[i])
            hip = position + rotation @ (sign * a.hip_half_spacing, 0.0, 0.0)
            for k in range(len(t)):
                ankle = np.array([sign * a.hip_half_spacing, self.stride * t[k] + foot.ahead[k], foot.up[k]])
                leg = q[k, first : first + MTP + 1]
                miss = max(miss, straight_leg(leg, rotation[k], hip[k], ankle, float(foot.pitch[k]), sign, self._thigh, self._shank))
                leg[MTP] = foot.toes[k]
        return position, rotation, q, miss

    def corrections(self) -> dict[str, float]:
        """Root mean square [rad] over a cycle by which hip, knee and ankle differ from the published angles."""
        phase = (np.arange(GRID) + 0.5) / GRID
        leg = self.pose(phase)[2][:, int(self._tree.leg[1]) :]
        published = joint_angles(self.speed, self.hip_height, phase)
        out = {}
        for name, offset in (("hip_flexion", HIP), ("knee_flexion", KNEE), ("ankle_dorsiflexion", ANKLE)):
            out[name] = float(np.sqrt(np.mean((leg[:, offset] - published[f"right_{name}"]) ** 2)))
        return out


def walk(
    speed: float, seconds: float, anatomy: Anatomy, rate: float, scene: str = "walk", progress: Callable[[float], None] | None = None
) -> Recording:
    """A recording of the walk, ``rate`` rows a second [Hz], from the right heel strike on; arguments and errors of :class:`BoulicWalk`."""
    cycle = BoulicWalk(speed, anatomy)
    time = np.arange(1, round(seconds * rate) + 1) / rate
    phase = time / cycle.timing.duration
    position, rotation, q, _ = cycle.pose(phase)
    if progress is not None:
        progress(seconds)
    feet = [cycle.foot(phase + 0.5), cycle.foot(phase)]
    mode = np.stack([foot.mode for foot in feet], axis=1)
    ankle = np.stack([np.stack((cycle.stride * phase + foot.ahead, foot.up), axis=1) for foot in feet], axis=1)
    events, footholds = contact_events(time, mode, ankle, anatomy.hip_half_spacing)
    recording = Trajectory(anatomy, time, position, q, rotation).recording(scene, mode, events, footholds, {"speed_mps": speed})
    recording.header["stance"] = "boulic"
    return recording
