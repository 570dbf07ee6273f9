"""Swing: a double pendulum that hangs from the moving hip, in three phases.

Swing 1  from toe-off to clearance: the ankle follows a quartic path that begins with the place, velocity and acceleration of the
         leaving foot; hip and knee follow by inverse kinematics.
Swing 2  the leg swings freely: the torques of Swing 1 fade away. Where the foot comes too near to the ground, the end of the quartic
         is raised by more flexion of the knee, and both phases are done again.
Swing 3  hip and knee torques bring thigh and shank to the pose of heel strike, with the rates that put the foot down without a slip:
         a boundary-value problem of four conditions and four torque coefficients.

Thigh angle A and shank angle B are measured from the vertical downwards, forward positive, so that knee flexion is A - B.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.kinematics import Tree, knee_for_distance, place
from sandbox.compiled import kernel
from sandbox.controllers.klaw.machine import SWINGS
from sandbox.conventions import GRAVITY

POINTS: Final = 40  # samples of each phase
CLEARANCE: Final = 0.015  # [m] that the sole is to keep from the ground in Swing 2
RAISE: Final = 0.03  # [rad] more flexion of the knee at the end of Swing 1 where it does not: about 5 mm of the foot
GRAZE: Final = 5e-4  # [m] that Swing 1 and Swing 3, which begin and end on the ground, may be below it
TRIES: Final = 10
LANDING_RATES: Final = (-0.5, 0.5)  # [rad/s] of thigh and shank that are usual at heel strike (assumed)
STRAIGHT: Final = 0.05  # [rad] of the knee, and [m]: below it rates are damped
SINKS: Final = 0.15  # [m/s] with which the ankle comes down at heel strike
DAMPED: Final = 0.25  # [m] of the landing rates
SOLVED: Final = 1e-6  # [rad and rad/s] of the terminal problem


class Pendulum(NamedTuple):
    """Thigh and shank with foot: lengths [m], masses [kg], centres from the upper joint [m], inertias about them [kg m^2]."""

    thigh: float
    shank: float
    thigh_mass: float
    shank_mass: float
    thigh_centre: float
    shank_centre: float
    thigh_inertia: float
    shank_inertia: float

    @classmethod
    def of(cls, anatomy: Anatomy) -> Pendulum:
        """Of a leg of the body, its foot at right angles to the shank."""
        tree = Tree.of(anatomy)
        rotations, origins = place(tree, np.zeros(3), np.eye(3), np.zeros(len(anatomy.joints)))
        centres = origins + np.einsum("kij,kj->ki", rotations, tree.com)
        index = anatomy.link_index
        hip, knee = origins[index["left_thigh"]], origins[index["left_shank"]]

        def lump(names: tuple[str, ...], joint: Array) -> tuple[float, float, float]:
            k = [index[f"left_{name}"] for name in names]
            m, at = tree.mass[k], centres[k] - joint
            mass, y, z = float(m.sum()), float(m @ at[:, 1] / m.sum()), float(m @ at[:, 2] / m.sum())
            inertia = float(tree.inertia[k, 0, 0].sum() + m @ ((at[:, 1] - y) ** 2 + (at[:, 2] - z) ** 2))
            return mass, -z, inertia

        m3, r3, i3 = lump(("hip_1", "hip_2", "thigh"), hip)
        m4, r4, i4 = lump(("shank", "ankle_1", "hindfoot", "toes"), knee)
        return cls(anatomy.length("thigh"), anatomy.length("shank"), m3, m4, r3, r4, i3, i4)


@kernel
def torques(angles, rates, bends, y2, z2, b):
    """Hip and knee torque [N m] of a motion: angles, rates and their derivatives (2,), acceleration of the hip (forward, up)."""
    A, B = angles[0], angles[1]
    s, c = math.sin(A - B), math.cos(A - B)
    coupling = b.shank_mass * b.thigh * b.shank_centre
    first = b.thigh_mass * b.thigh_centre + b.shank_mass * b.thigh
    upper = (b.thigh_inertia + b.thigh_mass * b.thigh_centre**2 + b.shank_mass * b.thigh**2) * bends[0] + coupling * c * bends[1]
    upper += coupling * s * rates[1] ** 2 + first * (y2 * math.cos(A) + (GRAVITY + z2) * math.sin(A))
    knee = (b.shank_inertia + b.shank_mass * b.shank_centre**2) * bends[1] + coupling * c * bends[0]
    knee += -coupling * s * rates[0] ** 2 + b.shank_mass * b.shank_centre * (y2 * math.cos(B) + (GRAVITY + z2) * math.sin(B))
    return upper + knee, knee


@kernel
def bends_of(angles, rates, hip, knee, y2, z2, b):
    """Second derivatives (A, B) under torques of hip and knee; the inverse of :func:`torques`."""
    A, B = angles[0], angles[1]
    s, c = math.sin(A - B), math.cos(A - B)
    coupling = b.shank_mass * b.thigh * b.shank_centre
    first = b.thigh_mass * b.thigh_centre + b.shank_mass * b.thigh
    m11 = b.thigh_inertia + b.thigh_mass * b.thigh_centre**2 + b.shank_mass * b.thigh**2
    m22 = b.shank_inertia + b.shank_mass * b.shank_centre**2
    m12 = coupling * c
    f1 = hip - knee - coupling * s * rates[1] ** 2 - first * (y2 * math.cos(A) + (GRAVITY + z2) * math.sin(A))
    f2 = knee + coupling * s * rates[0] ** 2 - b.shank_mass * b.shank_centre * (y2 * math.cos(B) + (GRAVITY + z2) * math.sin(B))
    d = m11 * m22 - m12 * m12
    return (m22 * f1 - m12 * f2) / d, (m11 * f2 - m12 * f1) / d


@kernel
def swing_freely(start, first, knot, last, hip, duration, b):
    """Classical Runge-Kutta under torques that go along parabolas.

    Args:
        start: (4,) A, B and their rates.
        first, knot, last: (2,) coefficients of hip and knee torque: constant, linear and quadratic in the share of the phase.
        hip: (2 n + 1, 2) acceleration of the hip at even and half steps.
        duration: [s]; b: :class:`Pendulum`.

    Returns:
        (n + 1, 6): angles, rates, second derivatives.
    """
    n = (hip.shape[0] - 1) // 2
    out = np.empty((n + 1, 6))
    y, trial, k = start.copy(), np.empty(4), np.empty((4, 4))
    h = duration / n
    for i in range(n + 1):
        for stage in range(4):
            at = 0 if stage == 0 else (1 if stage < 3 else 2)
            for j in range(4):
                trial[j] = y[j] if stage == 0 else y[j] + 0.5 * at * h * k[stage - 1, j]
            row = min(2 * i + at, 2 * n)
            s = 0.5 * row / n
            t1 = first[0] + s * (knot[0] + s * last[0])
            t2 = first[1] + s * (knot[1] + s * last[1])
            a1, a2 = bends_of(trial[:2], trial[2:], t1, t2, hip[row, 0], hip[row, 1], b)
            k[stage, 0], k[stage, 1], k[stage, 2], k[stage, 3] = trial[2], trial[3], a1, a2
            if stage == 0:
                for j in range(4):
                    out[i, j] = y[j]
                out[i, 4], out[i, 5] = a1, a2
        for j in range(4):
            y[j] += h / 6 * (k[0, j] + 2 * k[1, j] + 2 * k[2, j] + k[3, j])
    return out


def quartic(p0: Array, v0: Array, a0: Array, p1: Array, v1: Array, duration: float, s: Array) -> tuple[Array, Array, Array]:
    """Path P of Swing 1 at shares ``s`` (n,) of its time: place, velocity, acceleration (n, 2).

    It starts with place, velocity and acceleration ``p0, v0, a0`` (2,) and ends at ``p1`` with ``v1``.
    """
    T, s = duration, np.asarray(s)[:, None]
    c3 = 4 * (p1 - p0) - 3 * T * v0 - T * v1 - T * T * a0
    c4 = 3 * (p0 - p1) + 2 * T * v0 + T * v1 + 0.5 * T * T * a0
    place = p0 + T * v0 * s + 0.5 * T * T * a0 * s**2 + c3 * s**3 + c4 * s**4
    velocity = v0 + T * a0 * s + (3 * c3 * s**2 + 4 * c4 * s**3) / T
    return place, velocity, a0 + (6 * c3 * s + 12 * c4 * s**2) / T**2


def two_link(offset: Array, b: Pendulum) -> tuple[Array, float]:
    """A and B (2,) of a leg whose ankle is ``offset`` (forward, up) from the hip, and how far it is out of reach."""
    distance = float(np.hypot(*offset))
    knee, alpha = knee_for_distance(b.thigh, b.shank, distance)
    A = math.atan2(offset[0], -offset[1]) + alpha
    return np.array([A, A - knee]), max(0.0, distance - b.thigh - b.shank)


def ankle_of(angles: Array, b: Pendulum) -> Array:
    """Ankle from the hip (..., 2) forward and up, from A and B (..., 2)."""
    A, B = angles[..., 0], angles[..., 1]
    return np.stack((b.thigh * np.sin(A) + b.shank * np.sin(B), -b.thigh * np.cos(A) - b.shank * np.cos(B)), axis=-1)


def ankle_rate(angles: Array, rates: Array, b: Pendulum) -> Array:
    """Velocity (2,) of the ankle from the hip."""
    return _jacobian(angles, b) @ rates


def _jacobian(angles: Array, b: Pendulum) -> Array:
    A, B = angles
    return np.array([[b.thigh * math.cos(A), b.shank * math.cos(B)], [b.thigh * math.sin(A), b.shank * math.sin(B)]])


def joint_motion(offset: Array, velocity: Array, acceleration: Array, b: Pendulum) -> tuple[Array, Array, Array, float]:
    """Angles, rates and second derivatives (2,) of the leg from the ankle's motion relative to the hip; and what is out of reach [m]."""
    angles, miss = two_link(offset, b)
    j = _jacobian(angles, b)
    # the length of a straight leg cannot follow any velocity
    inverse = np.linalg.inv(j) if angles[0] - angles[1] > STRAIGHT else j.T @ np.linalg.inv(j @ j.T + STRAIGHT**2 * np.eye(2))
    rates = inverse @ velocity
    A, B = angles
    turning = np.array(
        [
            -b.thigh * math.sin(A) * rates[0] ** 2 - b.shank * math.sin(B) * rates[1] ** 2,
            b.thigh * math.cos(A) * rates[0] ** 2 + b.shank * math.cos(B) * rates[1] ** 2,
        ]
    )
    return angles, rates, inverse @ (acceleration - turning), miss


def landing_rates(pose: Array, hip: Array, b: Pendulum) -> Array:
    """Rates (2,) of A and B at heel strike that leave the ankle little velocity but down, the hip having ``hip`` (2,) [m/s].

    A nearly straight leg cannot become longer, so that no rates stop the ankle altogether: these are the damped solution nearest to
    :data:`LANDING_RATES`. What is left is the impact of the heel.
    """
    j, usual = _jacobian(pose, b), np.array(LANDING_RATES)
    return np.asarray(usual + j.T @ np.linalg.solve(j @ j.T + DAMPED**2 * np.eye(2), (0.0, -SINKS) - hip - j @ usual))


class Hip(NamedTuple):
    """The swing hip over the swing: times from toe-off to heel strike (n,), place, velocity, acceleration (n, 2) forward and up."""

    time: Array
    place: Array
    velocity: Array
    acceleration: Array

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """Linear between its times (m, 2) each; :func:`np.interp` per column."""
        out = [np.stack([np.interp(t, self.time, x[:, j]) for j in range(2)], axis=-1) for x in self[1:]]
        return out[0], out[1], out[2]


class Posture(NamedTuple):
    """What Swing 1 ends with: thigh angle and knee flexion [rad], and their rates [rad/s]."""

    thigh: float
    knee: float
    thigh_rate: float
    knee_rate: float


@dataclass(frozen=True)
class Swing:
    """One swing.

    Attributes:
        time: (n,) [s] from toe-off to heel strike; ankle: (n, 2) its path [m]; angles, rates: (n, 2) of A and B.
        ends: when Swing 1 and Swing 2 end [s].
        tries: how often Swing 1 and 2 were done until the foot cleared the ground; clearance: least height of the sole in Swing 2 [m].
        residual: of the terminal problem [rad and rad/s]; torque: (4,) linear and quadratic coefficients of hip and knee torque in
            Swing 3, over the moment of a level thigh's weight.
        model: ``double-pendulum``, or ``quartic`` where the terminal problem has no solution and the ankle takes a path instead.
        miss: how far the path of Swing 1 was out of the leg's reach [m]; posture: with which it ends.
        lifted: what the foot is lifted by where all tries leave it below the ground [m]; short: what the best try lacks in height [m].
    """

    time: Array
    ankle: Array
    angles: Array
    rates: Array
    ends: tuple[float, float]
    tries: int
    clearance: float
    residual: float
    torque: Array
    model: str
    miss: float
    posture: Posture
    lifted: float
    short: float


def swing(
    hip: Hip,
    start: tuple[Array, Array, Array],
    end: Array,
    posture: Posture,
    b: Pendulum,
    height_of: Callable[[float, float, float], float],
    clearance: float = CLEARANCE,
) -> Swing:
    """The swing of one leg.

    Args:
        hip: from toe-off to heel strike; start: place, velocity, acceleration (2,) of the ankle at toe-off.
        end: ankle at heel strike (2,), where it comes to rest; posture: which the end of Swing 1 is to be near to.
        height_of: height of the lowest point of the sole [m] at a time [s], with the ankle at a height [m] and the shank at an angle.
        clearance: that Swing 2 is to keep [m].
    """
    parts = _Parts(hip, start, end, b)
    wanted, torque = posture, np.zeros(4)
    best: Swing | None = None
    for tries in range(1, TRIES + 1):
        raised = (tries - 1) * RAISE
        wanted, torque = parts.easiest(wanted._replace(knee=posture.knee + raised), torque)
        found = parts.swing(wanted, torque, height_of, clearance)
        torque = found.torque
        if best is None or found.short < best.short:
            best = found
        if found.short <= 0:
            break
    assert best is not None
    return replace(best, tries=tries)


def _least(height_of: Callable[[float, float, float], float], begin: float, end: float, ankle: Array, angles: Array) -> float:
    """Least height of the sole in a phase [m]."""
    times = np.linspace(begin, end, len(ankle))
    return min(height_of(float(t), float(z), float(shank)) for t, z, shank in zip(times, ankle[:, 1], angles[:, 1], strict=True))


class _Parts:
    """The three phases of one swing."""

    def __init__(self, hip: Hip, start: tuple[Array, Array, Array], end: Array, b: Pendulum) -> None:
        self.whole = float(hip.time[-1])
        self.one, self.two = SWINGS[0] * self.whole, (SWINGS[0] + SWINGS[1]) * self.whole
        self.b, self.start = b, start
        self.s = np.linspace(0, 1, POINTS + 1)
        self.early = hip.at(self.s * self.one)
        self.middle = hip.at(np.linspace(self.one, self.two, 2 * POINTS + 1))
        self.late = hip.at(np.linspace(self.two, self.whole, 2 * POINTS + 1))
        self.end = end
        pose, _ = two_link(end - self.late[0][-1], b)
        self.goal = np.concatenate((pose, landing_rates(pose, self.late[1][-1], b)))
        self.scale = b.thigh_mass * GRAVITY * b.thigh  # [N m]

    def quartic(self, posture: Posture, s: Array) -> tuple[Array, Array, Array]:
        """Path P to where a posture has the ankle."""
        goal = np.array([posture.thigh, posture.thigh - posture.knee])
        rate = np.array([posture.thigh_rate, posture.thigh_rate - posture.knee_rate])
        p1 = self.early[0][-1] + ankle_of(goal, self.b)
        return quartic(*self.start, p1, self.early[1][-1] + ankle_rate(goal, rate, self.b), self.one, s)

    def first(self, posture: Posture) -> tuple[Array, Array, float]:
        """Swing 1: ankle (n, 2), angles and rates (n, 4), and how far it is out of reach [m]."""
        path, velocity, acceleration = self.quartic(posture, self.s)
        place, speed, bend = self.early
        moved = [joint_motion(*x, self.b) for x in zip(path - place, velocity - speed, acceleration - bend, strict=True)]
        return path, np.array([np.concatenate((a, r)) for a, r, _, _ in moved]), max(m for *_, m in moved)

    def torque(self, posture: Posture) -> Array:
        """Hip and knee torque (2,) with which Swing 1 ends [N m]."""
        path, velocity, acceleration = self.quartic(posture, np.ones(1))
        place, speed, bend = (x[-1] for x in self.early)
        angles, rates, bends, _ = joint_motion(path[0] - place, velocity[0] - speed, acceleration[0] - bend, self.b)
        return np.array(torques(angles, rates, bends, bend[0], bend[1], self.b))

    def free(self, posture: Posture) -> Array:
        """Swing 2 (n, 6): the torques of Swing 1 fade away."""
        state = np.array([posture.thigh, posture.thigh - posture.knee, posture.thigh_rate, posture.thigh_rate - posture.knee_rate])
        torque = self.torque(posture)
        return np.asarray(swing_freely(state, torque, -torque, np.zeros(2), self.middle[2], self.two - self.one, self.b))

    def last(self, begin: Array, c: Array) -> Array:
        """Swing 3 (n, 6) under torques whose linear and quadratic coefficients are ``c`` (4,), in units of ``scale``."""
        return np.asarray(
            swing_freely(begin, np.zeros(2), self.scale * c[:2], self.scale * c[2:], self.late[2], self.whole - self.two, self.b)
        )

    def easiest(self, near: Posture, torque: Array) -> tuple[Posture, Array]:
        """The end of Swing 1 near a posture from which the rest needs least torque, and that of Swing 3 (4,)."""
        spread = np.array([math.radians(8), math.radians(4), math.radians(60), math.radians(120)])

        def miss(x: Array) -> Array:
            posture = Posture(*(np.array(near) + x[:4] * spread))
            free = self.free(posture)
            off = self.last(free[-1, :4], x[4:])[-1, :4] - self.goal
            return np.concatenate((off * (100, 100, 10, 10), self.torque(posture) / self.scale, 0.3 * x[4:], x[:4]))

        found = least_squares(miss, np.concatenate((np.zeros(4), torque)), max_nfev=30, xtol=1e-5, ftol=1e-5)
        return Posture(*map(float, np.array(near) + found.x[:4] * spread)), found.x[4:]

    def terminal(self, begin: Array, torque: Array) -> tuple[Array, Array, float]:
        """Swing 3 solved: its rows (n, 6), torque coefficients (4,), and what is left of the conditions."""
        found = least_squares(lambda c: self.last(begin, c)[-1, :4] - self.goal, torque, xtol=1e-13, ftol=1e-13, gtol=1e-13, max_nfev=40)
        return self.last(begin, found.x), found.x, float(np.abs(found.fun).max())

    def swing(self, posture: Posture, torque: Array, height_of: Callable[[float, float, float], float], clearance: float) -> Swing:
        """All three phases, Swing 1 ending with a posture."""
        path, first, miss = self.first(posture)
        free = self.free(posture)
        ankles = self.middle[0][::2] + ankle_of(free[:, :2], self.b)
        last, torque, residual = self.terminal(free[-1, :4], torque)
        last_ankle, model = self.late[0][::2] + ankle_of(last[:, :2], self.b), "double-pendulum"
        if residual > SOLVED or (last[:, 0] - last[:, 1]).min() < 0:
            model = "quartic"
            last_ankle, last = self.fallback(ankles[-1], free[-1])
        one, two, whole, s = self.one, self.two, self.whole, self.s
        phases = ((0.0, one, path, first), (one, two, ankles, free), (two, whole, last_ankle, last))
        early, clear, late = (_least(height_of, *phase) for phase in phases)
        rows = np.concatenate((first[:-1], free[:-1, :4], last[:, :4]))
        return Swing(
            np.concatenate((s[:-1] * one, one + s[:-1] * (two - one), two + s * (whole - two))),
            np.concatenate((path[:-1], ankles[:-1], last_ankle)),
            rows[:, :2], rows[:, 2:], (one, two), 1, clear, residual, torque, model, miss, posture,
            max(-min(early, clear, late), 0.0), max(clearance - clear, -GRAZE - min(early, late)),
        )  # fmt: skip

    def fallback(self, ankle: Array, state: Array) -> tuple[Array, Array]:
        """The named fallback of Swing 3: the ankle (n, 2) goes the rest of the way along a quartic; and the leg's rows (n, 6)."""
        place, speed, bend = (x[::2] for x in self.late)
        now = ankle_rate(state[:2], state[2:4], self.b) + speed[0]
        path, velocity, acceleration = quartic(ankle, now, np.zeros(2), self.end, np.zeros(2), self.whole - self.two, self.s)
        moved = [joint_motion(*x, self.b) for x in zip(path - place, velocity - speed, acceleration - bend, strict=True)]
        return path, np.array([np.concatenate((a, r, d)) for a, r, d, _ in moved])
