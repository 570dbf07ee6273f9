"""A walker whose every gait figure is known, to hold the measures against.

Feet stand exactly where they are put: each rolls over its heel to flat, then over its toe base until it leaves, and is
carried to its next place. The hips move forward at constant speed; the knees follow by geometry. Ground force is a smooth
function of stance with known peaks. It is no simulation: nothing here knows a body model or a physics engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.recording import Extras, Recorder, Recording, make_header
from sandbox.state import BodyState, ContactEvent, ContactState, SolePart

Array = NDArray[np.float64]

SIDES = ("left", "right")
POINTS = ["mid_hip"]
for _side in SIDES:
    POINTS += [f"{_side}_{name}" for name in ("hip", "knee", "ankle", "heel", "toe_base", "toe_tip", "shoulder", "elbow", "wrist")]
POINTS += ["neck_base", "head"]
JOINTS = [f"{_side}_{name}" for _side in SIDES for name in ("hip_flexion", "knee_flexion", "ankle_dorsiflexion")]
G = 9.81

# Lengths [m] of a body of 1.74 m.
THIGH, SHANK, ANKLE_HEIGHT = 0.396, 0.440, 0.0746
HEEL_BEHIND, BALL_AHEAD, TOES = 0.055, 0.119, 0.070
HIP_HALF, SHOULDER_HALF = 0.087, 0.189
LEG = THIGH + SHANK + ANKLE_HEIGHT


def smooth(x: float) -> float:
    """0 to 1 with zero speed at both ends."""
    x = min(1.0, max(0.0, x))
    return x * x * (3 - 2 * x)


@dataclass(frozen=True)
class Walker:
    """A straight or turning walk. Distances [m], times [s].

    ``stance`` is the fraction of the cycle that a foot stands, so that double support (both) is ``2 * stance - 1``.
    ``slide`` pulls the foot forward by that distance over each stance. ``lead`` is how much earlier than predicted the
    ground is met. ``leg_angles`` replaces the geometry of the legs by given curves of the cycle (0-1): hip (thigh against
    vertical), knee and ankle [rad].
    """

    step_length: float = 0.65
    cadence: float = 105.0
    stance: float = 0.62
    width: float = 0.11
    seconds: float = 30.0
    rate: float = 120.0
    slide: float = 0.0
    lead: float = 0.012
    clearance: float = 0.035
    pitch: float = 0.35  # [rad] of the sole at touchdown
    heel_rise: float = 0.9  # [rad] of the sole at lift-off
    heading: float = 0.0  # [rad], to the left
    mass: float = 70.0
    xcom_inside: float = 0.03  # least distance of the XCoM inside the centre line of the stance foot
    plantar_moment: float = 1.5  # [N m/kg], peak
    leg_angles: Callable[[float], tuple[float, float, float]] | None = None
    force: Callable[[float], float] = field(default=lambda s: 1.25 * math.sin(math.pi * s) + 0.42 * math.sin(3 * math.pi * s))
    header: dict[str, Any] = field(default_factory=dict)

    @property
    def step_time(self) -> float:
        return 60.0 / self.cadence

    @property
    def stride_time(self) -> float:
        return 120.0 / self.cadence

    @property
    def speed(self) -> float:
        return self.step_length / self.step_time

    def touchdown(self, foot: int, k: int) -> float:
        """Time of the k-th touchdown of a foot."""
        return (k + 0.5 * foot) * self.stride_time

    def phase(self, foot: int, t: float) -> tuple[int, float]:
        """Stride number and phase (0-1) of a foot at ``t``."""
        cycles = t / self.stride_time - 0.5 * foot
        k = math.floor(cycles + 1e-9)
        return k, max(0.0, cycles - k)

    def foot(self, foot: int, t: float) -> tuple[Array, float, float, Array, float]:
        """Ankle (forward, up), pitch of the sole and of the toes, toe base (forward, up); sideways position."""
        k, phase = self.phase(foot, t)
        x = self.width / 2 * (1 if foot else -1)
        place = (2 * k + foot) * self.step_length  # of the heel
        s = phase / self.stance
        if s <= 1:
            place += self.slide * s
            if s < 0.12:  # over the heel
                pitch = self.pitch * (1 - smooth(s / 0.12))
                heel = np.array([place, 0.0])
            elif s < 0.55:
                pitch, heel = 0.0, np.array([place, 0.0])
            else:  # over the toe base
                pitch = -self.heel_rise * smooth((s - 0.55) / 0.45 * 0.9) / smooth(0.9)
                ball = np.array([place + HEEL_BEHIND + BALL_AHEAD, 0.0])
                heel = ball - (HEEL_BEHIND + BALL_AHEAD) * np.array([math.cos(pitch), math.sin(pitch)])
            toes = pitch if s < 0.12 else 0.0
        else:
            u = (phase - self.stance) / (1 - self.stance)
            a, b = smooth(u), math.sin(math.pi * u) ** 2
            pitch = -self.heel_rise * (1 - smooth(u / 0.75)) + self.pitch * smooth((u - 0.35) / 0.6)
            span = HEEL_BEHIND + BALL_AHEAD
            end = place + self.slide
            ball0 = end + span
            heel0 = np.array([ball0 - span * math.cos(-self.heel_rise), -span * math.sin(-self.heel_rise)])
            heel1 = np.array([place + 2 * self.step_length, 0.0])
            heel = heel0 * (1 - a) + heel1 * a + np.array([0.0, self.clearance * b + 0.03 * b * (1 - a)])
            toes = pitch * smooth(u / 0.3) if pitch < 0 else pitch
        c, s_ = math.cos(pitch), math.sin(pitch)
        ankle = heel + np.array([c * HEEL_BEHIND - s_ * ANKLE_HEIGHT, s_ * HEEL_BEHIND + c * ANKLE_HEIGHT])
        ball = heel + (HEEL_BEHIND + BALL_AHEAD) * np.array([c, s_])
        return np.concatenate((ankle, heel)), pitch, toes, ball, x

    def points(self, t: float) -> dict[str, Array]:
        """Body points (3,) at ``t``, before turning by ``heading``."""
        y = self.speed * t + 0.05 - self.step_length / 2
        bob = 0.02 * math.cos(4 * math.pi * (t / self.stride_time - self.stance / 2 - 0.04))
        sway = 0.018 * math.sin(2 * math.pi * (t / self.stride_time - 0.06))
        hip_z = LEG - 0.02 + bob
        turn = 0.06 * math.cos(2 * math.pi * t / self.stride_time)
        out: dict[str, Array] = {"mid_hip": np.array([-sway, y, hip_z])}
        for foot, side in enumerate(SIDES):
            sign = 1 if foot else -1
            hip = out["mid_hip"] + sign * HIP_HALF * np.array([math.cos(turn), -math.sin(turn), 0.0])
            if self.leg_angles is not None:
                hip = out["mid_hip"] + sign * HIP_HALF * np.array([1.0, 0.0, 0.0])
                thigh, knee, ankle_angle = self.leg_angles(self.phase(foot, t)[1])
                shank = thigh - knee
                pitch = ankle_angle + shank
                knee_at = hip + THIGH * np.array([0.0, math.sin(thigh), -math.cos(thigh)])
                ankle = knee_at + SHANK * np.array([0.0, math.sin(shank), -math.cos(shank)])
                along, up = np.array([0.0, math.cos(pitch), math.sin(pitch)]), np.array([0.0, -math.sin(pitch), math.cos(pitch)])
                heel = ankle - HEEL_BEHIND * along - ANKLE_HEIGHT * up
                ball = heel + (HEEL_BEHIND + BALL_AHEAD) * along
                tip = ball + TOES * along
            else:
                at, pitch, toes, ball2, x = self.foot(foot, t)
                ankle, heel = np.array([x, at[0], at[1]]), np.array([x, at[2], at[3]])
                ball = np.array([x, *ball2])
                tip = ball + TOES * np.array([0.0, math.cos(toes), math.sin(toes)])
                knee_at = _knee(hip, ankle)
            out |= {
                f"{side}_hip": hip,
                f"{side}_knee": knee_at,
                f"{side}_ankle": ankle,
                f"{side}_heel": heel,
                f"{side}_toe_base": ball,
                f"{side}_toe_tip": tip,
            }
            swing = -0.35 * math.cos(2 * math.pi * (t / self.stride_time - 0.5 * foot))
            shoulder = out["mid_hip"] + np.array([sign * SHOULDER_HALF * math.cos(turn), 0.02 + sign * SHOULDER_HALF * math.sin(turn), 0.5])
            elbow = shoulder + 0.28 * np.array([sign * 0.12, math.sin(swing), -math.cos(swing)])
            wrist = elbow + 0.26 * np.array([-sign * 0.05, math.sin(swing + 0.35), -math.cos(swing + 0.35)])
            out |= {f"{side}_shoulder": shoulder, f"{side}_elbow": elbow, f"{side}_wrist": wrist}
        out["neck_base"] = out["mid_hip"] + np.array([0.0, 0.03, 0.58])
        out["head"] = out["neck_base"] + np.array([0.0, 0.02, 0.13])
        return out

    def part_loads(self, s: float) -> Array:
        """Shares of heel, ball, toes in a foot's load at stance phase ``s``."""
        heel = 1 - smooth((s - 0.1) / 0.4)
        toes = smooth((s - 0.8) / 0.2)
        return np.array([heel, (1 - heel) * (1 - toes), (1 - heel) * toes])

    def record(self) -> Recording:
        """The whole walk."""
        header = make_header(
            plant="kinematic",
            stance="known",
            scene="walk",
            body={"mass_kg": self.mass, "height_m": 1.74, "sex": "mean", "leg_m": LEG},
            command={"speed_mps": self.speed, "heading_rate_rps": 0.0},
            seed=1,
            joint_names=JOINTS,
            point_names=POINTS,
            body_names=["pelvis", "thorax"],
            joint_max_torque=[200.0] * len(JOINTS),
            params={"name": "known", "hash": "0"},
        )
        recorder = Recorder({**header, **self.header})
        c, s = math.cos(self.heading), math.sin(self.heading)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        previous = -1e-12
        last_q: Array | None = None
        for i in range(1, round(self.seconds * self.rate) + 1):
            t = i / self.rate
            found = self.points(t)
            state = BodyState(len(JOINTS), time=t)
            points = np.array([found[name] for name in POINTS])
            middle = t - 0.5 / self.rate  # forces are means over the row's interval
            for foot in range(2):
                phase = self.phase(foot, t)[1] / self.stance
                if phase < 1:
                    state.contact[foot] = (
                        ContactState.HEEL
                        if phase < 0.12
                        else ContactState.FLAT
                        if phase < 0.55
                        else ContactState.FOREFOOT
                        if phase < 0.9
                        else ContactState.TOE
                    )
                at = self.phase(foot, middle)[1] / self.stance
                if at < 1:
                    shares = self.part_loads(at)
                    vertical = self.mass * G * max(0.0, self.force(at))
                    state.sole_force[foot, :, 2] = shares * vertical
                    state.sole_force[foot, :, 1] = shares * -0.2 * vertical * math.sin(2 * math.pi * at) * (1 - 0.3 * at)
                    side = SIDES[foot]
                    parts = np.array([found[f"{side}_{name}"] for name in ("heel", "toe_base", "toe_tip")])
                    state.pressure[foot] = turn @ (shares @ parts * np.array([1.0, 1.0, 0.0]))
                for k in range(self.phase(foot, t)[0] - 1, self.phase(foot, t)[0] + 1):
                    down = self.touchdown(foot, k)
                    up = down + self.stance * self.stride_time
                    if previous < down <= t and down > 0:
                        state.events.append(ContactEvent(down, foot, True, SolePart.HEEL, 60.0, down + self.lead))
                    if previous < up <= t and up > 0:
                        state.events.append(ContactEvent(up, foot, False, SolePart.TOE, 15.0, up))
            state.q[:] = self._joints(found)
            state.qd[:] = 0.0 if last_q is None else (state.q - last_q) * self.rate
            last_q = state.q.copy()
            for foot in range(2):
                phase = self.phase(foot, middle)[1]
                state.tau[3 * foot + 2] = -self.plantar_moment * self.mass * math.exp(-(((phase - 0.5) / 0.08) ** 2))
            state.root_position[:] = turn @ found["mid_hip"]
            state.root_quaternion[:] = (0.0, 0.0, math.sin(self.heading / 2), math.cos(self.heading / 2))
            state.root_velocity[:] = turn @ np.array([0.0, self.speed, 0.0])
            com = found["mid_hip"] + np.array([0.0, 0.0, 0.08])
            xcom = np.array([self._xcom_x(t), com[1] + 0.3 * self.speed, 0.0])
            velocity = np.array([0.0, self.speed, 0.0])
            recorder.append(state, Extras(points @ turn.T, turn @ com, turn @ velocity, turn @ xcom, (self.speed, 0.0), self.heading))
            previous = t
        return recorder.finish(cpu={"total_s": 1.5, "engine_s": 0.5})

    def _xcom_x(self, t: float) -> float:
        """Sways between the feet, least ``xcom_inside`` inside their centre lines."""
        return -(self.width / 2 - self.xcom_inside) * math.sin(2 * math.pi * (t / self.stride_time - self.stance / 2 + 0.25))

    @staticmethod
    def _joints(found: dict[str, Array]) -> list[float]:
        out = []
        for side in SIDES:
            hip, knee, ankle, heel, ball = (found[f"{side}_{name}"] for name in ("hip", "knee", "ankle", "heel", "toe_base"))
            thigh, shank = (math.atan2(v[1], -v[2]) for v in (knee - hip, ankle - knee))
            pitch = math.atan2((ball - heel)[2], (ball - heel)[1])
            out += [thigh, thigh - shank, pitch - shank]
        return out


def _knee(hip: Array, ankle: Array) -> Array:
    """Knee, ahead of the line from hip to ankle."""
    line = ankle - hip
    distance = min(float(np.linalg.norm(line)), 0.9995 * (THIGH + SHANK))
    unit = line / np.linalg.norm(line)
    along = (THIGH**2 - SHANK**2 + distance**2) / (2 * distance)
    off = math.sqrt(max(0.0, THIGH**2 - along**2))
    forward = np.array([0.0, 1.0, 0.0]) - unit[1] * unit
    return hip + along * unit + off * forward / np.linalg.norm(forward)
