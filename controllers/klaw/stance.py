"""Stance: a telescoping leg that carries the upper body, and a step as a boundary-value problem.

Coordinates: leg length w from the ground pivot to mid-hip, leg angle and trunk angle from vertical, forward positive. Mass m1 of the
leg lies at c w from the pivot; m2 is all else, its centre r2 above the hip. The equations are Lagrange's of that linkage, with a force
along the leg (spring and damper on its length), a hip torque (PD on the trunk) and, in double support, the force of the other leg,
which fades as this one takes over. The pivot travels along the foot at an even speed, so that its frame is inertial.

A step is solved by shooting: the hip has to be a step length ahead when the step's time has passed, in the state in which the next
step begins. A periodic step (:func:`orbit`) finds its state and the push of the leg; a step between two given states
(:func:`solve_step`) finds six controls: push and lengthening, a rise of the leg in its middle, the speed of the pivot, and the trunk's
lean at start and end. Form after Bruderlin & Calvert 1989; equations and solution reconstructed, numbers assumed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.kinematics import Tree, place
from sandbox.compiled import kernel
from sandbox.controllers.klaw.parameters import Locomotion, Timing, locomotion, timing
from sandbox.conventions import GRAVITY

SAMPLES: Final = 120  # per step
PERIODIC: Final = 1e-3  # weighted miss below which a step is solved
WEIGHTS: Final = np.array([20.0, 20.0, 3.0, 3.0, 10.0, 3.0])  # of place [m], velocity [m/s], trunk [rad], its rate [rad/s]
PUSH_FROM: Final = 0.7  # of the step, when the leg begins to lengthen

# Assumed, by speed over the square root of g times leg length: stiffness over mass [g / leg length]; damping, of critical; and where the
# hip is to be at touchdown, from the landing heel, of the step.
SCHEDULE: Final = np.array([[0.13, 28.0, 0.4, -0.40], [0.33, 30.0, 0.4, -0.39], [0.47, 31.0, 0.4, -0.41], [0.60, 33.0, 0.4, -0.44]])
TRUNK_STIFFNESS: Final = 6.0  # [m^2/s^2] over mass, of the reference leg
TRUNK_DAMPING: Final = 1.0  # [m^2/s] likewise
REFERENCE_LEG: Final = 0.91  # [m] of the body that these are of
LEAN: Final = 0.03  # [rad] the trunk's target
PIVOT: Final = (0.6, 1.35, 1.4)  # of the way from heel to ball: where the pivot is at touchdown, at toe-off, and at most
RISE: Final = 0.019  # [s] half the hip's rise and fall over speed, of the reference leg
HIGHEST: Final = 0.53  # of the step, when the hip is highest
SHAPE: Final = 0.03  # weight of the vertical force's shape against the conditions
MIDDLE: Final = 3.0  # weight of the hip's place against that shape [1/m]
EASY: Final = 0.335  # speed at which the homotopy begins, over the square root of g times leg length
HOMOTOPY: Final = 0.15  # [m/s, steps/s] of its first stride
LEAST_FORCE: Final = -0.01  # of body weight

Model = Literal["telescoping", "inverted-pendulum"]


class Linkage(NamedTuple):
    """The linkage of one body: masses [kg], inertias about the own centres [kg m^2], lengths [m].

    Attributes:
        leg_mass, leg_inertia: of the stance leg; leg_centre: from the pivot, of the leg's length.
        mass, inertia, centre: of all else, the other leg being a point at the hip; ``centre`` above the hip.
        leg: length of a straight leg, hip to sole; foot: from heel to ball.
    """

    leg_mass: float
    leg_inertia: float
    leg_centre: float
    mass: float
    inertia: float
    centre: float
    leg: float
    foot: float

    @property
    def total(self) -> float:
        return self.leg_mass + self.mass

    @classmethod
    def of(cls, anatomy: Anatomy) -> Linkage:
        """Of the body standing upright."""
        tree = Tree.of(anatomy)
        rotations, origins = place(tree, np.zeros(3), np.eye(3), np.zeros(len(anatomy.joints)))
        centres = origins + np.einsum("kij,kj->ki", rotations, tree.com)
        legs = np.array([link.name.startswith(("left_", "right_")) for link in anatomy.links])
        legs &= np.arange(len(legs)) > tree.leg[0]
        one = legs & np.array([link.name.startswith("left_") for link in anatomy.links])

        def lump(chosen: Array) -> tuple[float, float, float]:
            m = tree.mass * chosen
            mass, height = float(m.sum()), float(m @ centres[:, 2] / m.sum())
            inertia = float(chosen @ tree.inertia[:, 0, 0] + m @ ((centres[:, 2] - height) ** 2 + (centres[:, 1]) ** 2))
            return mass, height, inertia

        leg_mass, leg_height, leg_inertia = lump(one.astype(np.float64))
        trunk, height, inertia = lump((~legs).astype(np.float64))
        mass = trunk + leg_mass
        centre = trunk * height / mass
        about_hip = inertia + trunk * height**2
        return cls(
            leg_mass, leg_inertia, 1 + leg_height / anatomy.leg_length, mass, about_hip - mass * centre**2, centre,
            anatomy.leg_length, anatomy.heel_behind_ankle + anatomy.ball_ahead_of_ankle,
        )  # fmt: skip


class Law(NamedTuple):
    """Force laws of one step; lengths [m], times [s].

    Attributes:
        stiffness, damping: of the legs [N/m], [N s/m]; trunk_stiffness, trunk_damping: of the hip torque [N m/rad], [N m s/rad].
        lean, lean_end: the trunk's target at the step's start and end [rad].
        rest: length of the leading leg; rise: of it in mid-step; grown: lengthening at the step's end.
        inherited: rest length of the trailing leg at touchdown; push: lengthening of it until it leaves.
        duration, double: of the step and of its double support.
        pivot: speed of the leading pivot [m/s]; behind: how far the trailing pivot lies behind it at touchdown; trailing: its speed.
    """

    stiffness: float
    damping: float
    trunk_stiffness: float
    trunk_damping: float
    lean: float
    lean_end: float
    rest: float
    rise: float
    grown: float
    inherited: float
    push: float
    duration: float
    double: float
    pivot: float
    behind: float
    trailing: float


@kernel
def accelerations(q, v, force, torque_ankle, torque_hip, b):
    """Second derivatives (w, leg angle, trunk angle) of the linkage ``b`` under generalised forces (section A.6 of the spec)."""
    w, s, c = q[0], math.sin(q[1] - q[2]), math.cos(q[1] - q[2])
    at = b.leg_centre * w
    m2r = b.mass * b.centre
    reach = b.leg_mass * at * b.leg_centre + b.mass * w
    m11 = b.leg_mass * b.leg_centre**2 + b.mass
    m22 = b.leg_mass * at * at + b.leg_inertia + b.mass * w * w
    m33 = b.inertia + m2r * b.centre
    m13, m23 = m2r * s, m2r * w * c
    h1 = -reach * v[1] ** 2 - m2r * c * v[2] ** 2 + GRAVITY * (b.leg_mass * b.leg_centre + b.mass) * math.cos(q[1])
    h2 = 2 * reach * v[0] * v[1] + m2r * w * s * v[2] ** 2 - GRAVITY * (b.leg_mass * at + b.mass * w) * math.sin(q[1])
    h3 = 2 * m2r * c * v[0] * v[1] - m2r * w * s * v[1] ** 2 - m2r * GRAVITY * math.sin(q[2])
    f1, f2, f3 = force - h1, torque_ankle - torque_hip - h2, torque_hip - h3
    trunk = (f3 - m13 * f1 / m11 - m23 * f2 / m22) / (m33 - m13 * m13 / m11 - m23 * m23 / m22)
    return (f1 - m13 * trunk) / m11, (f2 - m23 * trunk) / m22, trunk


@kernel
def _rates(t, y, a, b, force):
    """Time derivative (6,) of w, both angles and their rates; ``force`` (4,): ground force on leading and trailing leg (forward, up)."""
    w, sine, cosine = y[0], math.sin(y[1]), math.cos(y[1])
    load = min(t / a.double, 1.0) if a.double > 0 else 1.0
    load = load * load * (3 - 2 * load)
    share = t / a.duration
    lean = a.lean + share * (a.lean_end - a.lean)
    torque = a.trunk_stiffness * (lean - y[2]) - a.trunk_damping * y[5]
    rest = a.rest + a.rise * math.sin(math.pi * min(max(share, 0.0), 1.0)) ** 2
    rest += a.grown * max(share - PUSH_FROM, 0.0) / (1 - PUSH_FROM)
    axial = load * max(a.stiffness * (rest - w) - a.damping * y[3], 0.0)
    along, across = 0.0, 0.0
    if load < 1.0:
        # the trailing leg, massless; its pivot lies behind
        x = w * sine + a.behind - (a.trailing - a.pivot) * t
        z = w * cosine
        length = math.sqrt(x * x + z * z)
        vx = y[3] * sine + w * cosine * y[4] - (a.trailing - a.pivot)
        vz = y[3] * cosine - w * sine * y[4]
        ux, uz = x / length, z / length
        rate = vx * ux + vz * uz
        longer = a.inherited + a.push * t / a.double
        pull = (1 - load) * max(a.stiffness * (longer - length) - a.damping * rate, 0.0)
        turn = -((1 - load) ** 2) * torque / length
        force[2] = pull * ux + turn * uz
        force[3] = pull * uz - turn * ux
        along = force[2] * sine + force[3] * cosine
        across = w * (force[2] * cosine - force[3] * sine)
    else:
        force[2] = 0.0
        force[3] = 0.0
    # the share of the hip torque that the leading leg does not bear acts on the trunk all the same
    wdd, add, bdd = accelerations(y[:3], y[3:], axial + along, across + (1 - load) ** 2 * torque, torque, b)
    ax = (wdd - w * y[4] ** 2) * sine + (2 * y[3] * y[4] + w * add) * cosine
    az = (wdd - w * y[4] ** 2) * cosine - (2 * y[3] * y[4] + w * add) * sine
    m = b.leg_mass * b.leg_centre + b.mass
    sb, cb = math.sin(y[2]), math.cos(y[2])
    force[0] = m * ax + b.mass * b.centre * (bdd * cb - y[5] ** 2 * sb) - force[2]
    force[1] = m * az + b.mass * b.centre * (-bdd * sb - y[5] ** 2 * cb) + (b.leg_mass + b.mass) * GRAVITY - force[3]
    return y[3], y[4], y[5], wdd, add, bdd, ax, az


@kernel
def integrate(start, a, b, samples):
    """One step by classical Runge-Kutta, from touchdown to touchdown.

    Args:
        start: (6,) mid-hip from the leading pivot at touchdown (forward, up), its velocity, trunk angle and rate.
        a, b: :class:`Law`, :class:`Linkage`.
        samples: n.

    Returns:
        (n + 1, 13): mid-hip from the place of the leading pivot at touchdown, velocity, trunk angle and rate; acceleration of mid-hip
        and of the trunk; ground force on leading and trailing leg (forward, up).
    """
    out = np.empty((samples + 1, 13))
    y, trial, force = np.empty(6), np.empty(6), np.empty(4)
    # touchdown, compliant: hip and trunk keep their velocities
    x, z, vx, vz = start[0], start[1], start[2] - a.pivot, start[3]
    w = math.sqrt(x * x + z * z)
    sine, cosine = x / w, z / w
    y[0], y[1], y[2] = w, math.atan2(x, z), start[4]
    y[3], y[4], y[5] = vx * sine + vz * cosine, (vx * cosine - vz * sine) / w, start[5]
    h = a.duration / samples
    k = np.empty((4, 6))
    for n in range(samples + 1):
        t = n * h
        for stage in range(4):
            at = 0.0 if stage == 0 else (0.5 * h if stage < 3 else h)
            for j in range(6):
                trial[j] = y[j] if stage == 0 else y[j] + at * k[stage - 1, j]
            r = _rates(t + at, trial, a, b, force)
            for j in range(6):
                k[stage, j] = r[j]
            if stage == 0:
                sine, cosine = math.sin(y[1]), math.cos(y[1])
                out[n, 0], out[n, 1] = y[0] * sine + a.pivot * t, y[0] * cosine
                out[n, 2] = y[3] * sine + y[0] * cosine * y[4] + a.pivot
                out[n, 3] = y[3] * cosine - y[0] * sine * y[4]
                out[n, 4], out[n, 5] = y[2], y[5]
                out[n, 6], out[n, 7], out[n, 8] = r[6], r[7], r[5]
                for j in range(4):
                    out[n, 9 + j] = force[j]
        for j in range(6):
            y[j] += h / 6 * (k[0, j] + 2 * k[1, j] + 2 * k[2, j] + k[3, j])
    return out


def rise_and_fall(speed: float, body: Linkage, bounciness: float = 1.0) -> float:
    """Half the rise and fall of the hip that a step's law is shaped for [m]: people's (Boulic et al. 1990), times ``bounciness``."""
    return bounciness * RISE * math.sqrt(body.leg / REFERENCE_LEG) * speed


def behind(speed: float, body: Linkage) -> float:
    """Where the hip is to be at touchdown, from the landing heel, of a step length (negative)."""
    return float(np.interp(speed / math.sqrt(GRAVITY * body.leg), SCHEDULE[:, 0], SCHEDULE[:, 3]))


def law(step: Locomotion, time: Timing, body: Linkage, rest: float, lean: float = LEAN) -> Law:
    """Force laws of a step before anything is solved: no push, and the trailing leg as long as the leading one."""
    speed = step.speed / math.sqrt(GRAVITY * body.leg)
    per_mass = float(np.interp(speed, SCHEDULE[:, 0], SCHEDULE[:, 1])) * GRAVITY / body.leg
    damping = 2 * float(np.interp(speed, SCHEDULE[:, 0], SCHEDULE[:, 2])) * math.sqrt(per_mass)
    size = body.leg / REFERENCE_LEG
    pivot = (PIVOT[1] - PIVOT[0]) * body.foot / time.stance
    return Law(
        body.total * per_mass, body.total * damping, body.total * TRUNK_STIFFNESS * size, body.total * TRUNK_DAMPING * size**1.5,
        lean, lean, rest, 0.0, 0.0, rest, 0.0, time.step, time.double, pivot, step.step_length - pivot * time.step, pivot,
    )  # fmt: skip


@dataclass(frozen=True)
class Solved:
    """A step that was solved, or what was put in its place.

    Attributes:
        model: ``telescoping``; ``inverted-pendulum`` where the solution failed, or where a walk starts or stops.
        residual: weighted miss of the telescoping leg's boundary-value problem: below :data:`PERIODIC` it is solved. NaN where it was
            not tried.
        law: force laws, with the controls that were found; None for the pendulum.
        path: (n + 1, 13), see :func:`integrate`; forward from the leading pivot at touchdown.
        push: extension [m] of the trailing leg during double support.
    """

    model: Model
    residual: float
    law: Law | None
    path: Array

    @property
    def start(self) -> Array:
        """State (6,) at touchdown."""
        return self.path[0, :6]

    @property
    def bounce(self) -> float:
        """Rise and fall of mid-hip [m]."""
        return float(np.ptp(self.path[:, 1]))

    @property
    def force(self) -> Array:
        """Ground force of both legs together (n + 1, 2) forward and up [N]."""
        return self.path[:, 9:11] + self.path[:, 11:13]

    @property
    def least_force(self) -> float:
        """Least vertical force of either leg at any time [N]."""
        return float(min(self.path[:, 10].min(), self.path[:, 12].min()))


@dataclass(frozen=True)
class Orbit:
    """The periodic step of a gait.

    Attributes:
        step, time: what was asked for; solved: the step; unknowns: (9,) state at touchdown, push, rise and lengthening.
    """

    step: Locomotion
    time: Timing
    solved: Solved
    unknowns: Array

    @property
    def periodic(self) -> bool:
        return self.solved.residual < PERIODIC


def shoot(step: Locomotion, body: Linkage, rest: float, start: Array, bounciness: float = 1.0, lean: float = LEAN) -> Orbit:
    """The periodic step nearest to ``start`` (9,): state at touchdown, push, rise, lengthening.

    Nine unknowns stand against six conditions. The rest is used up by the shape of the vertical force, which is to be that of
    :func:`rise_and_fall`, and by a hip that is about half a step behind the landing foot.
    """
    time = timing(step)
    base, length, v = law(step, time, body, rest, lean), step.step_length, step.speed
    wave = (2 * math.pi / time.step) ** 2 * rise_and_fall(v, body, bounciness) / GRAVITY
    wanted = 1 - wave * np.sin(2 * np.pi * (np.arange(SAMPLES + 1) / SAMPLES - HIGHEST + 0.25))
    weight, middle = body.total * GRAVITY, behind(v, body) * length - PIVOT[0] * body.foot
    advance = np.array([length, 0.0, 0.0, 0.0, 0.0, 0.0])

    def run(x: Array) -> tuple[Law, Array]:
        a = base._replace(push=float(x[6]), rise=float(x[7]), grown=float(x[8]), inherited=rest + float(x[8]))
        return a, integrate(x[:6], a, body, SAMPLES)

    def miss(x: Array) -> Array:
        path = run(x)[1]
        off = (path[-1, :6] - x[:6] - advance) * WEIGHTS
        shape = SHAPE * ((path[:, 10] + path[:, 12]) / weight - wanted) / math.sqrt(SAMPLES)
        return np.concatenate((off, shape, SHAPE * x[7:9], [MIDDLE * SHAPE * (x[0] - middle)]))

    low = np.array([-length, 0.6 * body.leg, 0.2 * v, -1.5, -0.3, -3.0, -0.1, -0.15, -0.1])
    high = np.array([0.1, 1.1 * body.leg, 2.2 * v, 1.0, 0.3, 3.0, 0.25, 0.15, 0.2])
    found = least_squares(miss, np.clip(start, low + 1e-6, high - 1e-6), bounds=(low, high), xtol=1e-9, ftol=1e-9, gtol=1e-9, max_nfev=100)
    a, path = run(found.x)
    return Orbit(step, time, Solved("telescoping", float(np.abs(found.fun[:6]).max()), a, path), np.asarray(found.x))


@lru_cache(maxsize=512)
def orbit(step: Locomotion, body: Linkage, rest: float, bounciness: float = 1.0, lean: float = LEAN) -> Orbit:
    """The periodic step of a gait, by homotopy from a gait that is easy to solve.

    From a step by the law at a third of the square root of g times leg length, speed and step frequency go to what is asked for in
    strides that are halved when a solution fails and lengthened when it does not.

    Returns:
        The orbit; :attr:`Orbit.periodic` says whether it was solved. Where it was not, it is the last attempt with its residual.
    """
    easy = locomotion(step.height, speed=EASY * math.sqrt(GRAVITY * body.leg))
    v = easy.speed
    guess = np.array([-0.4 * easy.step_length, 0.96 * rest, v, -0.15 * v, 0.03, 0.0, 0.04, 0.01, 0.0])
    now = shoot(easy, body, rest, guess, bounciness, lean)
    share, stride = 0.0, HOMOTOPY / max(HOMOTOPY, abs(step.speed - v), abs(step.frequency - easy.frequency) / 60)
    while share < 1 - 1e-9:
        ahead = min(share + stride, 1.0)
        frequency = easy.frequency + ahead * (step.frequency - easy.frequency)
        length = 60 * (v + ahead * (step.speed - v)) / frequency
        between = step if ahead == 1 else Locomotion(length * frequency / 60, length, frequency, step.height, ())
        tried = shoot(between, body, rest, now.unknowns, bounciness, lean)
        if tried.periodic:
            now, share, stride = tried, ahead, 1.5 * stride
        elif stride < 0.01:
            return shoot(step, body, rest, now.unknowns, bounciness, lean)
        else:
            stride *= 0.5
    return now


def fallback_orbit(failed: Orbit, body: Linkage, height: float) -> Orbit:
    """The periodic step of the inverted pendulum in the place of one that was not solved, with that one's residual.

    Args:
        failed: the attempt; body: the linkage; height: of mid-hip [m].
    """
    step, time = failed.step, failed.time
    start = np.array([behind(step.speed, body) * step.step_length - PIVOT[0] * body.foot, height, step.speed, 0.0, LEAN, 0.0])
    path = pendulum(start, start + np.array([step.step_length, 0.0, 0.0, 0.0, 0.0, 0.0]), time.step, time.double, body)
    return Orbit(step, time, Solved("inverted-pendulum", failed.solved.residual, None, path), failed.unknowns)


def solve_step(start: Array, before: Law | None, length: float, goal: Orbit, body: Linkage, behind: float | None = None) -> Solved:
    """A step between two given states: the boundary-value problem of KLAW's unit of control.

    Args:
        start: (6,) state at touchdown, from the leading pivot, inherited from the step before.
        before: that step's law; None where it had none, and the trailing leg is as long as it is in the orbit.
        length: of the step to come [m]; goal: the orbit of the gait in whose state the step is to end.
        body: the linkage; behind: how far the trailing pivot is behind the leading one at touchdown [m], as in the orbit by default.

    Returns:
        The step by the telescoping leg, if six controls bring it there within :data:`PERIODIC`; otherwise the inverted pendulum between
        the same states, by that name and with the residual.
    """
    base = goal.solved.law
    if base is None:  # the gait itself was not solved, and walks by the pendulum
        target = goal.solved.start + np.array([length, 0.0, 0.0, 0.0, 0.0, 0.0])
        path = pendulum(start, target, goal.time.step, goal.time.double, body)
        return Solved("inverted-pendulum", goal.solved.residual, None, path)
    if before is not None:
        base = base._replace(inherited=before.rest + before.grown, trailing=before.pivot)
    if behind is not None:
        base = base._replace(behind=behind)
    return _controlled(start, base, length, goal, body)


def _controlled(start: Array, base: Law, length: float, goal: Orbit, body: Linkage) -> Solved:
    """Solve for push, lengthening, rise, pivot speed and both leans, as near to those of ``base`` as may be."""
    target = goal.solved.start + np.array([length, 0.0, 0.0, 0.0, 0.0, 0.0])
    span = (PIVOT[2] - PIVOT[0]) * body.foot / (base.duration + base.double)
    names = ("push", "grown", "rise", "pivot", "lean", "lean_end")
    own = np.array([getattr(base, name) for name in names])
    scale = np.array([0.05, 0.05, 0.05, 0.1, 0.1, 0.1])
    low = np.minimum(np.array([-0.3, -0.25, -0.25, 0.0, -0.6, -0.6]), own - 1e-6)
    high = np.maximum(np.array([0.4, 0.3, 0.25, span, 0.6, 0.6]), own + 1e-6)

    def run(u: Array) -> tuple[Law, Array]:
        a = base._replace(**dict(zip(names, map(float, u), strict=True)))
        return a, integrate(start, a, body, SAMPLES)

    def miss(u: Array) -> Array:
        path = run(u)[1]
        return np.concatenate(((path[-1, :6] - target) * WEIGHTS, 1e-5 * (u - own) / scale))

    u = own
    first = float(np.abs(miss(own)[:6]).max())
    if first > 0.1 * PERIODIC:
        found = least_squares(miss, own, bounds=(low, high), x_scale=scale, xtol=1e-9, ftol=1e-9, gtol=1e-9, max_nfev=100)
        u = found.x
    a, path = run(u)
    residual = float(np.abs((path[-1, :6] - target) * WEIGHTS).max())
    if residual < PERIODIC and path[:, [10, 12]].min() >= LEAST_FORCE * body.total * GRAVITY:
        return Solved("telescoping", residual, a, path)
    return Solved("inverted-pendulum", residual, None, pendulum(start, target, base.duration, base.double, body))


def pendulum(start: Array, target: Array, duration: float, double: float, body: Linkage) -> Array:
    """The named fallback (n + 1, 13): a linear inverted pendulum over a pressure that travels evenly, from one state to another.

    x = A cosh wt + B sinh wt + a + b t, with all four from place and velocity at both ends; height and trunk go along cubics. Forces
    are what that motion of a point mass asks for.
    """
    t = np.linspace(0.0, duration, SAMPLES + 1)
    w = math.sqrt(GRAVITY / (0.5 * (start[1] + target[1])))
    c, s = math.cosh(w * duration), math.sinh(w * duration)
    rows = np.array([[1, 0, 1, 0], [0, w, 0, 1], [c, s, 1, duration], [w * s, w * c, 0, 1]])
    ca, cb, a, b = np.linalg.solve(rows, [start[0], start[2], target[0], target[2]])
    out = np.zeros((SAMPLES + 1, 13))
    swing = ca * np.cosh(w * t) + cb * np.sinh(w * t)
    out[:, 0], out[:, 6] = swing + a + b * t, w * w * swing
    out[:, 2] = w * (ca * np.sinh(w * t) + cb * np.cosh(w * t)) + b
    for value, rate, bend in ((1, 3, 7), (4, 5, 8)):
        out[:, value], out[:, rate], out[:, bend] = cubic(start[value], start[rate], target[value], target[rate], duration, t)
    force = body.total * np.column_stack((out[:, 6], out[:, 7] + GRAVITY))
    load = np.clip(t / double, 0, 1) if double > 0 else np.ones_like(t)
    load = (load * load * (3 - 2 * load))[:, None]
    out[:, 9:11], out[:, 11:13] = load * force, (1 - load) * force
    return out


def cubic(p0: float, v0: float, p1: float, v1: float, duration: float, t: Array) -> tuple[Array, Array, Array]:
    """Value, rate and second derivative at times ``t`` of the cubic between two values with rates."""
    d, T = p1 - p0, duration
    c2, c3 = (3 * d / T - 2 * v0 - v1) / T, (v0 + v1 - 2 * d / T) / T**2
    return p0 + t * (v0 + t * (c2 + t * c3)), v0 + t * (2 * c2 + 3 * c3 * t), 2 * c2 + 6 * c3 * t
