"""A trackway walked from its first print to its last: ankle and foot, no slip in stance, clearance of the toes.

The optimisation gives, for every step, the pose at strike and the curves around it. Here the poses follow one another: between two
strikes the curves of one step turn into those of the next; the heading follows the prints; mid-hip is carried by the foot that stands,
in double support by both in turn. A standing foot rolls over heel, sole and ball and does not slip; the swing ankle follows its curve,
bent to where the foot left and will land, and lifted where the toes would touch. The legs' angles then follow from hip and ankle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from sandbox.bodies.kinematics import foot_rotation, solve_leg
from sandbox.footprints.anatomy import LEG, AnatomyError, WalkerAnatomy
from sandbox.footprints.curves import CHANNELS, SAMPLES
from sandbox.footprints.model import Body
from sandbox.footprints.prints import Print, headings
from sandbox.recording import Recording, make_header
from sandbox.spatial import rotation_x, rotation_y, rotation_z
from sandbox.state import ContactState, SolePart
from sandbox.trajectory import Event, Trajectory

Array = NDArray[np.float64]

RATE = 120.0  # [Hz]
# The foot's pitch over stance (assumed, after people's): toes up at strike, flat, heel off over the ball.
STRIKE_PITCH, LIFT_PITCH = math.radians(18.0), math.radians(-50.0)
FLAT_FROM, FLAT_TO = 0.12, 0.55  # of stance
CLEARANCE = 0.015  # [m] of the toes in mid-swing: people have 10 to 20 mm
GONE = 0.02  # [m] between the ankle of a standing foot and its curve, at which the foot leaves
CARRIED = 0.5  # of double support after which the new foot carries mid-hip alone (assumed)
HUMAN_LEG = 0.523  # leg length over stature of people: gives other bodies a size to be drawn at
HIGHEST_HEEL = -75.0  # [deg] pitch of a foot on its ball
LONGEST = 0.999  # of a straight leg: the furthest that an ankle may be from its hip before the body is lowered
LOWERING = 0.08  # [s] over which that is smoothed
STANDARD = {"hip_flexion": (1, 0, 0), "hip_adduction": (0, 1, 0), "hip_rotation": (0, 0, 1), "knee_flexion": (-1, 0, 0)}


def smooth(x: Any) -> Any:
    """From 0 to 1 with level ends."""
    x = np.clip(x, 0.0, 1.0)
    return x * x * x * (10 - 15 * x + 6 * x * x)


def pitch(share: float) -> float:
    """Pitch [rad] of a standing foot at a ``share`` of its stance, toes up positive."""
    if share <= FLAT_FROM:
        return float(STRIKE_PITCH) * (1 - float(smooth(share / FLAT_FROM)))
    return float(LIFT_PITCH * max(0.0, (share - FLAT_TO) / (1 - FLAT_TO)) ** 1.5)


def ankle_over_print(anatomy: WalkerAnatomy, share: float) -> Array:
    """Of a foot at a ``share`` of its stance, forward and up from where the ankle of a flat foot is (2,) [m]."""
    return _over_print(anatomy, pitch(share))


def _over_print(anatomy: WalkerAnatomy, angle: float) -> Array:
    pivot = anatomy.heel if angle > 0 else anatomy.ball
    arm = -pivot  # pivot to ankle
    turned = rotation_x(angle) @ arm
    return np.asarray((turned - arm)[1:])


def ankle_vector(anatomy: WalkerAnatomy, step: Array, foot_off: float) -> Array:
    """Between the ankles (3,) [m] at strike, of a step (3,) [m] between prints: the front foot stands on its heel, the rear on its ball."""
    lead, trail = ankle_over_print(anatomy, 0.0), ankle_over_print(anatomy, min(1.0, 0.5 / foot_off))
    return np.asarray(step + np.array([0.0, *(lead - trail)]))


@dataclass(frozen=True)
class Walk:
    """A body on its prints.

    Attributes:
        time: (T,) [s].
        root: mid-hip (T, 3) [m]; rotation: of the pelvis (T, 3, 3).
        legs: (T, 2, 7) [rad] right then left: hip flexion, adduction, rotation, knee, ankle dorsiflexion, inversion, toes.
        contact: (T, 2) left then right.
        figures: what was measured.
    """

    anatomy: WalkerAnatomy
    time: Array
    root: Array
    rotation: Array
    legs: Array
    contact: NDArray[np.int8]
    strikes: list[tuple[float, int]]
    lifts: list[tuple[float, int]]
    prints: list[Print]
    points: dict[str, Array]
    figures: dict[str, float]

    def recording(self, scene: str, speed: float) -> Recording:
        """To look at, measure and export. The project's body is shown whole, any other as its points."""
        events = [Event(t, f, True, SolePart.HEEL) for t, f in self.strikes] + [Event(t, f, False, SolePart.TOE) for t, f in self.lifts]
        events.sort(key=lambda e: e.time)
        footholds = [(0.0, p.foot, p.position) for p in self.prints]
        if self.anatomy.human is not None:
            return self._whole(scene, speed, events, footholds)
        names = list(self.points)
        joints = [
            f"{side}_{name}" for side in ("right", "left") for name in (*LEG, "ankle_dorsiflexion", "ankle_inversion", "mtp_extension")
        ]
        header = make_header(
            plant="kinematic", stance="pinned", scene=scene, seed=0, joint_names=joints, point_names=names, body_names=["pelvis"],
            joint_max_torque=[0.0] * len(joints), command={"speed_mps": speed, "heading_rate_rps": 0.0},
            body={"mass_kg": self.anatomy.mass, "height_m": self.anatomy.leg_length / HUMAN_LEG, "leg_m": self.anatomy.leg_length},
            settings={"anatomy": self.anatomy.name, "source": self.anatomy.source},
        )  # fmt: skip
        columns: dict[str, NDArray[Any]] = {
            "time": self.time,
            "points": np.stack([self.points[name] for name in names], axis=1),
            "q": self.legs.reshape(len(self.time), -1),
            "contact_state": self.contact,
            "event_time": np.array([e.time for e in events]),
            "event_foot": np.array([e.foot for e in events], dtype=np.int8),
            "event_touchdown": np.array([e.touchdown for e in events]),
            "event_part": np.array([int(e.part) for e in events], dtype=np.int8),
            "event_force": np.full(len(events), np.nan),
            "event_predicted": np.full(len(events), np.nan),
        }
        return Recording(header, columns)

    def _whole(self, scene: str, speed: float, events: list[Event], footholds: list[tuple[float, int, Array]]) -> Recording:
        body = self.anatomy.human
        assert body is not None
        q = np.zeros((len(self.time), len(body.joints)))
        index = body.joint_index
        tilt = np.arcsin(np.clip(-self.rotation[:, 2, 1], -1, 1))
        q[:, index["lumbar_flexion"]] = -tilt.mean()  # a trunk that is held upright on the whole; the optimisation has it rigid
        for k, side in enumerate(("right", "left")):
            first = index[f"{side}_hip_flexion"]
            q[:, first : first + 7] = self.legs[:, k]
            swing = self.legs[:, 1 - k, 0] - self.legs[:, 1 - k, 0].mean()
            q[:, index[f"{side}_shoulder_flexion"]] = 0.5 * swing  # arms against legs (assumed): they are no part of the optimisation
            q[:, index[f"{side}_elbow_flexion"]] = math.radians(20) + 0.2 * swing
        return Trajectory(body, self.time, self.root, q, self.rotation).recording(
            scene, self.contact, events, footholds, {"speed_mps": speed}
        )


def walk(body: Body, prints: Sequence[Print], gaits: Sequence[Array], foot_off: float, step_time: float) -> Walk:
    """The body on its way from the first two prints to the last two.

    Args:
        body: that walks.
        prints: K of them.
        gaits: angles (SAMPLES, 11) [rad] of a gait for every step, K - 1.
        foot_off: phase of foot-off of the stepping foot.
        step_time: [s].

    Raises:
        AnatomyError: joints about other axes than the field's, whose legs cannot be placed in closed form.
    """
    a, prints = body.anatomy, list(prints)
    for name, axis in STANDARD.items():
        if not np.allclose(a.dofs[name].axis, axis, atol=1e-6):
            raise AnatomyError(f"{a.name}: {name} turns about {a.dofs[name].axis.tolist()}: walking a trackway needs {list(axis)}")
    count, stance = len(prints), 2 * step_time * foot_off
    double = stance - step_time
    strike = [(k - 1) * step_time for k in range(count)]  # the first print is that of the foot that stood already
    end = strike[-1] + FLAT_FROM * stance  # until the last foot lies flat
    time = np.arange(0.0, end, 1 / RATE)
    angle = headings(prints)
    at_strike = np.array([angle[0], *((angle[1:] + angle[:-1]) / 2)])
    heading = np.interp(time, strike, at_strike)
    heading = gaussian_filter1d(heading, 0.15 * RATE, mode="nearest")

    channels = np.empty((len(time), 11))
    for i, t in enumerate(time):
        k = min(max(int(t / step_time) + 1, 1), count - 1)  # print of the foot that struck last
        phase = (t - strike[k]) / (2 * step_time) + (0.0 if prints[k].foot == 1 else 0.5)
        share = float(smooth((t - strike[k]) / step_time))
        before, after = gaits[k - 1], gaits[min(k, count - 2)]
        channels[i] = (1 - share) * _sampled(before, phase) + share * _sampled(after, phase)

    pelvis, ankles = np.empty((len(time), 3, 3)), np.empty((len(time), 2, 3))
    shank_yaw = np.empty((len(time), 2))
    for i in range(len(time)):
        turn = rotation_z(heading[i])
        placed = body.placements(channels[i])
        pelvis[i] = turn @ placed["pelvis"][0]
        found = body.ankles(channels[i]).position
        ankles[i] = found @ turn.T
        for j, side in enumerate(("right", "left")):
            across = turn @ placed[f"{side}_shank"][0][:, 0]
            shank_yaw[i, j] = math.atan2(across[1], across[0])
    yaw = [
        p.yaw if math.isfinite(p.yaw) else float(np.interp(max(strike[k], 0.0), time, np.unwrap(shank_yaw[:, 1 - p.foot])))
        for k, p in enumerate(prints)
    ]

    # where each foot is: standing (pivoting over its print) or not
    target, foot_pitch, foot_yaw = np.full((len(time), 2, 3), np.nan), np.zeros((len(time), 2)), np.zeros((len(time), 2))
    toes, lifts = np.zeros((len(time), 2)), []
    contact = np.zeros((len(time), 2), dtype=np.int8)
    for k, p in enumerate(prints):
        j = 1 - p.foot  # right first
        last = strike[k] + stance if k < count - 2 else math.inf
        rows = np.flatnonzero((time >= strike[k] - 1e-9) & (time < last))
        angles = np.array([pitch(min((time[i] - strike[k]) / stance, 1.0)) for i in rows])
        if k + 1 < count:
            kept = _heel_off(a, p, prints[k + 1], yaw[k], time[rows] - strike[k + 1], ankles[rows], j, angles)
            if k < count - 2:
                rows, angles = rows[:kept], angles[:kept]
                lifts.append((float(time[rows[-1]]) + 1 / RATE, p.foot))
        for i, angle in zip(rows.tolist(), angles, strict=True):
            foot_pitch[i, j], foot_yaw[i, j] = angle, yaw[k]
            toes[i, j] = max(0.0, -angle)
            ahead, up = _over_print(a, angle)
            target[i, j] = p.position + np.array((-math.sin(yaw[k]) * ahead, math.cos(yaw[k]) * ahead, a.ankle_height + up))
            contact[i, p.foot] = (
                ContactState.HEEL if foot_pitch[i, j] > 0.02 else ContactState.FLAT if foot_pitch[i, j] > -0.02 else ContactState.FOREFOOT
            )

    root = np.empty((len(time), 3))
    for i, t in enumerate(time):
        k = min(max(int(t / step_time) + 1, 1), count - 1)
        j = 1 - prints[k].foot
        new = target[i, j] - ankles[i, j]
        share = float(smooth((t - strike[k]) / (CARRIED * double))) if double > 0 else 1.0
        root[i] = (
            new if share >= 1 or not np.isfinite(target[i, 1 - j, 0]) else share * new + (1 - share) * (target[i, 1 - j] - ankles[i, 1 - j])
        )
    root = np.column_stack([gaussian_filter1d(c, 0.02 * RATE, mode="nearest") for c in root.T])

    lifted = _swing(a, time, target, foot_pitch, foot_yaw, toes, root, ankles)
    hips = np.stack([root + pelvis @ (a.hip * m) for m in (np.ones(3), np.array([-1.0, 1.0, 1.0]))], axis=1)
    longest = LONGEST * (a.thigh + a.shank)
    flat = np.linalg.norm((target - hips)[..., :2], axis=2)
    need = (hips - target)[..., 2] - np.sqrt(np.maximum(longest**2 - flat**2, 0.0))
    lower = np.maximum(need.max(axis=1), 0.0)
    lower = gaussian_filter1d(maximum_filter1d(lower, 2 * int(2 * LOWERING * RATE) + 1, mode="nearest"), LOWERING * RATE, mode="nearest")
    root[:, 2] -= lower
    hips[..., 2] -= lower[:, None]

    legs, miss = np.empty((len(time), 2, 7)), 0.0
    high = a.limits("ankle_dorsiflexion")[1]
    for i in range(len(time)):
        for j, sign in enumerate((1.0, -1.0)):
            miss = max(miss, _leg(a, pelvis[i], hips[i, j], target[i, j], foot_yaw[i, j], foot_pitch[i, j], sign, legs[i, j]))
            legs[i, j, 6] = toes[i, j]
            if contact[i, 1 - j] == ContactState.AIRBORNE:
                legs[i, j, 4] = min(legs[i, j, 4], high)
    points = _points(a, root, pelvis, legs)
    strikes = [(t, p.foot) for t, p in zip(strike, prints, strict=True) if t > 1e-9]
    optimised = np.stack((channels[:, 3:7], channels[:, 7:11]), axis=1)
    figures = {
        "prints": float(count),
        "walked_m": float(np.linalg.norm(np.diff(root[:, :2], axis=0), axis=1).sum()),
        "seconds": float(time[-1]),
        "slip_m": _slip(points, contact),
        "print_error_m": _print_error(a, points, prints, strike, time, stance),
        "toe_clearance_m": _clearance(points, contact, prints),
        "lifted_m": lifted,
        "lowered_m": float(lower.max()),
        "out_of_reach_m": miss,
        "leg_rms_from_optimised_deg": float(np.degrees(np.sqrt(np.mean((legs[:, :, :4] - optimised) ** 2)))),
        "beyond_limits_deg": _beyond(a, legs),
    }
    return Walk(a, time, root, pelvis, legs, contact, strikes, lifts, prints, points, figures)


def _heel_off(a: WalkerAnatomy, mine: Print, other: Print, yaw: float, late: Array, ankles: Array, j: int, angles: Array) -> int:
    """Let the heel rise as the curves ask once the other foot stands: the pitch whose ankle comes nearest to theirs. ``angles`` is changed.

    Returns how many rows the foot stands: it leaves where its curve has gone, too far for any pitch.
    """
    rows, stands = np.flatnonzero(late > 0), len(late)
    if not len(rows):
        return stands
    tried = np.radians(np.arange(HIGHEST_HEEL, 1.0, 1.0))
    ahead, up = np.array([_over_print(a, t) for t in tried]).T
    places = mine.position + np.column_stack((-math.sin(yaw) * ahead, math.cos(yaw) * ahead, a.ankle_height + up))
    front = _over_print(a, STRIKE_PITCH * 0.3)
    base = other.position + np.array((-math.sin(yaw) * front[0], math.cos(yaw) * front[0], a.ankle_height + front[1]))
    for n in rows:
        wanted = base + ankles[n, j] - ankles[n, 1 - j]
        off = np.linalg.norm(places - wanted, axis=1)
        angles[n] = tried[np.argmin(off)]
        if off.min() > GONE and n > rows[0] + 0.5 * len(rows):
            stands = min(stands, int(n))
    if rows[0] > 0:
        angles[rows] = np.minimum(angles[rows], angles[rows[0] - 1])
    angles[rows] = np.minimum.accumulate(angles[rows])
    first = max(0, rows[0] - 6)
    angles[first:] = gaussian_filter1d(angles, 2.5, mode="nearest")[first:]
    return stands


def _leg(a: WalkerAnatomy, pelvis: Array, hip: Array, ankle: Array, yaw: float, angle: float, side: float, out: Array) -> float:
    """Angles of one leg, and how far the ankle is out of reach [m]; the knee's plane turns until the foot points where it should."""
    foot, knee_yaw, miss = np.empty((3, 3)), yaw, 0.0
    foot_rotation(yaw, angle, 0.0, foot)
    pelvis = np.ascontiguousarray(pelvis)
    for _ in range(4):
        miss = float(solve_leg(pelvis, hip, ankle, foot, knee_yaw, a.thigh, a.shank, side, out))
        q = out
        turned = (
            pelvis
            @ rotation_x(q[0])
            @ rotation_y(side * q[1])
            @ rotation_z(side * q[2])
            @ rotation_x(q[4] - q[3])
            @ rotation_y(side * q[5])
        )
        off = float(turned[:, 0] @ foot[:, 1])  # its sideways axis leans this much along the wanted forward one
        if abs(off) < 1e-5:
            break
        knee_yaw -= off
    return miss


def _sampled(gait: Array, phase: float) -> Array:
    """Angles (11,) of a gait at a phase, between samples a straight line."""
    x = (phase % 1.0) * SAMPLES
    i = int(x) % SAMPLES
    return np.asarray(gait[i] + (x - int(x)) * (gait[(i + 1) % SAMPLES] - gait[i]))


def _swing(
    a: WalkerAnatomy, time: Array, target: Array, foot_pitch: Array, foot_yaw: Array, toes: Array, root: Array, ankles: Array
) -> float:
    """Fill in the swings: ankle targets, pitch and yaw between two stances. Returns the most that a foot was lifted for its toes [m]."""
    most = 0.0
    for j in (0, 1):
        missing = ~np.isfinite(target[:, j, 0])
        edges = np.flatnonzero(np.diff(np.concatenate(([0], missing.astype(int), [0])))).reshape(-1, 2)
        for first, last in edges:
            if first == 0 or last >= len(time):
                continue
            rows = np.arange(first, last)
            share = (rows - first + 1) / (last - first + 1)
            s = smooth(share)[:, None]
            curve = root[rows] + ankles[rows, j]
            start, goal = target[first - 1, j], target[last, j]
            e0, e1 = start - (root[first - 1] + ankles[first - 1, j]), goal - (root[last] + ankles[last, j])
            path = curve + (1 - s) * e0 + s * e1
            p0, p1 = foot_pitch[first - 1, j], foot_pitch[last, j]
            foot_pitch[rows, j] = p0 * (1 - smooth(share / 0.6)) + p1 * smooth((share - 0.55) / 0.45)
            toes[rows, j] = toes[first - 1, j] * (1 - smooth(share / 0.5))
            foot_yaw[rows, j] = foot_yaw[first - 1, j] + (foot_yaw[last, j] - foot_yaw[first - 1, j]) * s[:, 0]
            ground0, ground1 = start[2] - _over_ground(a, p0, toes[first - 1, j]), goal[2] - _over_ground(a, p1)
            ground = ground0 + (ground1 - ground0) * s[:, 0]
            lowest = (
                path[:, 2] - np.array([_over_ground(a, p, m) for p, m in zip(foot_pitch[rows, j], toes[rows, j], strict=True)]) - ground
            )
            bump = np.sin(np.pi * share) ** 2
            wanted = CLEARANCE * np.minimum(1.0, np.sin(np.pi * share) / math.sin(math.pi * 0.2))
            lift = float(np.max(np.maximum(wanted - lowest, 0.0) / np.maximum(bump, 0.4)))
            path[:, 2] += lift * bump
            lowest += lift * bump
            path[:, 2] += np.maximum(-lowest, 0.0)  # what is left at the very ends
            target[rows, j] = path
            most = max(most, lift)
    return most


def _over_ground(a: WalkerAnatomy, angle: float, toes: float = 0.0) -> float:
    """Height [m] of the ankle over the lowest point of a foot of this pitch, its toes bent up."""
    turn = rotation_x(angle)
    tip = a.ball + rotation_x(toes) @ (a.toe - a.ball)
    return -float(min((turn @ point)[2] for point in (a.heel, a.ball, tip)))


def _points(a: WalkerAnatomy, root: Array, pelvis: Array, legs: Array) -> dict[str, Array]:
    top = 2 * float(a.segments["trunk"].com[2])
    out = {"mid_hip": root, "neck_base": root + pelvis @ np.array([0, 0, 0.85 * top]), "head": root + pelvis @ np.array([0, 0, 1.15 * top])}
    for j, (side, sign) in enumerate((("right", 1.0), ("left", -1.0))):
        mirror = np.array([sign, 1.0, 1.0])
        hip = root + pelvis @ (mirror * a.hip)
        shoulder = root + pelvis @ np.array([sign * 1.4 * a.hip[0], 0, 0.8 * top])
        knee, ankle, heel, ball, toe = (np.empty_like(root) for _ in range(5))
        for i, q in enumerate(legs[:, j]):
            thigh = pelvis[i] @ rotation_x(q[0]) @ rotation_y(sign * q[1]) @ rotation_z(sign * q[2])
            shank = thigh @ rotation_x(-q[3])
            foot = shank @ rotation_x(q[4]) @ rotation_y(sign * q[5])
            knee[i] = hip[i] + thigh @ (mirror * a.knee)
            ankle[i] = knee[i] + shank @ (mirror * a.ankle)
            heel[i], ball[i] = ankle[i] + foot @ (mirror * a.heel), ankle[i] + foot @ (mirror * a.ball)
            toe[i] = ball[i] + foot @ rotation_x(q[6]) @ (mirror * (a.toe - a.ball))
        out |= {f"{side}_hip": hip, f"{side}_knee": knee, f"{side}_ankle": ankle, f"{side}_heel": heel, f"{side}_toe_base": ball,
                f"{side}_toe_tip": toe, f"{side}_shoulder": shoulder}  # fmt: skip
    return out


def _slip(points: dict[str, Array], contact: NDArray[np.int8]) -> float:
    """Furthest [m] that the point on which a foot stands moves within one contact."""
    worst = 0.0
    pivots = {ContactState.HEEL: ("heel",), ContactState.FLAT: ("heel", "toe_base"), ContactState.FOREFOOT: ("toe_base",)}
    for foot, side in enumerate(("left", "right")):
        for state, names in pivots.items():
            on = contact[:, foot] == state
            edges = np.flatnonzero(np.diff(np.concatenate(([0], on.astype(int), [0])))).reshape(-1, 2)
            for first, last in edges:
                for name in names:
                    path = points[f"{side}_{name}"][first:last]
                    worst = max(worst, float(np.linalg.norm(path - path[0], axis=1).max()))
    return worst


def _print_error(a: WalkerAnatomy, points: dict[str, Array], prints: list[Print], strike: list[float], time: Array, stance: float) -> float:
    """Furthest [m] that the ankle of a flat foot is from over its print."""
    worst = 0.0
    for k, p in enumerate(prints):
        when = max(strike[k], 0.0) + 0.3 * stance if k else 0.0
        i = int(np.searchsorted(time, when))
        if k and i < len(time):
            at = points[f"{('left', 'right')[p.foot]}_ankle"][i]
            worst = max(worst, float(np.linalg.norm(at - p.position - [0, 0, a.ankle_height])))
    return worst


def _clearance(points: dict[str, Array], contact: NDArray[np.int8], prints: list[Print]) -> float:
    """Least height [m] of the toe tip in the middle 60 % of a swing, over the highest print."""
    ground = max(float(p.position[2]) for p in prints)
    least = math.inf
    for foot, side in enumerate(("left", "right")):
        up = contact[:, foot] == ContactState.AIRBORNE
        edges = np.flatnonzero(np.diff(np.concatenate(([0], up.astype(int), [0])))).reshape(-1, 2)
        for first, last in edges:
            if first and last < len(up):
                n = last - first
                least = min(least, float(points[f"{side}_toe_tip"][first + n // 5 : last - n // 5, 2].min()) - ground)
    return least


def _beyond(a: WalkerAnatomy, legs: Array) -> float:
    """Furthest [deg] that a joint leaves its limits; 0 inside."""
    low, high = np.array([a.limits(name) for name in (*LEG, "ankle_dorsiflexion")]).T
    q = legs[..., :5]
    return float(np.degrees(max(0.0, (low - q).max(), (q - high).max())))


def columns(gait: Array, period: float) -> str:
    """Joint curves as CSV: phase, time and the 11 angles [deg] of one cycle that begins with the right foot's strike."""
    head = ",".join(("phase", "time_s", *(f"{name}_deg" for name in CHANNELS)))
    rows = [",".join(f"{v:.6g}" for v in (i / len(gait), i / len(gait) * period, *np.degrees(row))) for i, row in enumerate(gait)]
    return "\n".join((head, *rows)) + "\n"
