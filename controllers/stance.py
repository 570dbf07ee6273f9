"""How the body is carried over its stance foot: three models of the root, as periodic orbits (LO-009).

Each gives where mid-hip is over one step from touchdown to touchdown, as a deviation from even motion and a height:

kinematic    even motion, a height that rises and falls as a cosine; nothing carries it
virtual-leg  an inverted pendulum on a rigid leg whose pivot travels along the foot; the legs change in the middle of double
             support, where the velocity is turned from one arc into the next
telescoping  a mass on two compliant legs, a spring and a damper each, whose forces come and go over double support
             (form after Bruderlin & Calvert 1989; stiffness and damping assumed)

The rigid orbit is the one that takes just the step's time. The compliant one is found by shooting: the state after a step must be
the state before it, a step length ahead.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal, get_args

import numpy as np
from scipy.optimize import brentq, least_squares

from sandbox.bodies.inertia import Array
from sandbox.compiled import kernel
from sandbox.config import nearest
from sandbox.controllers.velocity import Gait, VelocityProfile
from sandbox.conventions import GRAVITY

StanceModel = Literal["kinematic", "virtual-leg", "telescoping"]
MODELS: Final = get_args(StanceModel)

PIVOT_TRAVEL: Final = 0.15  # [m] of the pivot along the foot in one step, from behind the ankle to the ball (assumed)
STIFFNESS: Final = 1000.0  # [1/s^2] of a leg, over body mass: mid-hip then rises and falls as much as people's
DAMPING: Final = 0.2  # of critical
SAMPLES: Final = 240  # per step


def check_model(model: str) -> None:
    """Raise ValueError for an unknown model, naming the nearest."""
    if model not in MODELS:
        raise ValueError(f"unknown stance model {model!r}{nearest(model, MODELS)}")


@dataclass(frozen=True)
class Orbit:
    """One step of a periodic gait, sampled evenly from touchdown (phase 0) to the next (phase 1, left out).

    Attributes:
        model: which; duration: of the step [s].
        ahead: (N,) mid-hip ahead of even motion [m]; height: (N,) above the ground [m].
        forward, upward: (N,) velocity [m/s].
        pivot: (N,) pivot of the virtual leg that leads, ahead of where even motion has mid-hip [m].
        length: (N,) of that virtual leg [m].
        changes: phase at which support changes.
        jump: of momentum over mass at the change [m/s]; lost: energy over mass that a rigid leg's touchdown takes there, which the push of
            the other leg gives back [J/kg].
        residual: how far the orbit is from periodic [m and m/s].
    """

    model: StanceModel
    duration: float
    ahead: Array
    height: Array
    forward: Array
    upward: Array
    pivot: Array
    length: Array
    changes: float
    jump: float
    lost: float
    residual: float

    def at(self, phase: float) -> tuple[float, float, float, float]:
        """Ahead, height, forward and upward velocity at a phase of the step; linear between samples, and periodic."""
        x = (phase % 1.0) * len(self.height)
        k = int(x)
        u, j = x - k, (k + 1) % len(self.height)
        k %= len(self.height)
        return tuple(float(a[k] + u * (a[j] - a[k])) for a in (self.ahead, self.height, self.forward, self.upward))  # type: ignore[return-value]


@lru_cache(maxsize=64)
def orbit(model: StanceModel, gait: Gait, top: float, bounce: float = 0.02, lowest: float = 0.0) -> Orbit:
    """The periodic orbit of a model in a gait.

    Args:
        model: which.
        gait: speed, step length, duration, double support.
        top: greatest height of mid-hip [m].
        bounce: half the rise and fall of the kinematic model [m]; lowest: phase of the step at which it is lowest.

    Raises:
        ValueError: an unknown model, or a step that is too long for the height.
    """
    check_model(model)
    if not gait.step_length < 1.2 * top:
        raise ValueError(f"a step of {gait.step_length:g} m is too long for a hip at {top:g} m: give a lower speed")
    phase = np.arange(SAMPLES) / SAMPLES
    if model == "kinematic":
        angle = 2 * np.pi * (phase - lowest)
        height = top - bounce - bounce * np.cos(angle)
        upward = 2 * np.pi / gait.duration * bounce * np.sin(angle)
        pivot = _pivot(phase, gait)
        return Orbit(
            model, gait.duration, np.zeros(SAMPLES), height, np.full(SAMPLES, gait.speed), upward, pivot, np.hypot(pivot, height),
            0.5 * gait.double_support, 0.0, 0.0, 0.0,
        )  # fmt: skip
    return _rigid(gait, top, phase) if model == "virtual-leg" else _compliant(gait, top)


def _pivot(phase: Array, gait: Gait) -> Array:
    """Pivot of the leading leg ahead of even motion, at a phase since touchdown; half a double support later it is a half way ahead."""
    middle = 0.5 * gait.double_support
    half = 0.5 * (gait.step_length - PIVOT_TRAVEL)
    since = (phase - middle) % 1.0  # since support changed
    return np.asarray(half - (gait.step_length - PIVOT_TRAVEL) * since)


def _rigid(gait: Gait, top: float, phase: Array) -> Orbit:
    """Theta'' = (g / l) sin theta, from -theta0 to theta0 in the time of the step."""
    half = 0.5 * (gait.step_length - PIVOT_TRAVEL)
    length = top
    bound = math.asin(min(half / length, 0.95))

    def after(rate: float, steps: int = 400) -> float:
        return float(_swing_over(-bound, rate, length, gait.duration, steps)[-1, 0])

    rate = brentq(lambda x: after(x) - bound, 1e-3, 12.0, xtol=1e-12)
    path = _swing_over(-bound, rate, length, gait.duration, 10 * SAMPLES)
    since = (phase - 0.5 * gait.double_support) % 1.0 * 10 * SAMPLES
    k = np.round(since).astype(int)
    angle, turning = path[k, 0], path[k, 1]
    over = length * np.sin(angle)  # mid-hip from the pivot
    pivot = _pivot(phase, gait)
    travel = PIVOT_TRAVEL / gait.duration
    sine, cosine = half / length, math.sqrt(1 - (half / length) ** 2)
    down = length * sine * float(path[-1, 1])  # speed downwards at the end of the arc
    axial = -sine * (length * cosine * float(path[-1, 1])) - cosine * down  # along the leg that lands
    return Orbit(
        "virtual-leg", gait.duration, pivot + over, length * np.cos(angle), travel + length * np.cos(angle) * turning,
        -length * np.sin(angle) * turning, pivot, np.full(len(phase), length), 0.5 * gait.double_support,
        2 * down, 0.5 * axial**2, abs(after(rate, 800) - bound),
    )  # fmt: skip


@kernel
def _swing_over(angle: float, rate: float, length: float, duration: float, steps: int) -> Array:
    """Angle and rate (steps + 1, 2) of an inverted pendulum, by classical Runge-Kutta."""
    out = np.empty((steps + 1, 2))
    h, w2 = duration / steps, GRAVITY / length
    for k in range(steps + 1):
        out[k, 0], out[k, 1] = angle, rate
        a1, r1 = rate, w2 * math.sin(angle)
        a2, r2 = rate + 0.5 * h * r1, w2 * math.sin(angle + 0.5 * h * a1)
        a3, r3 = rate + 0.5 * h * r2, w2 * math.sin(angle + 0.5 * h * a2)
        a4, r4 = rate + h * r3, w2 * math.sin(angle + h * a3)
        angle += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        rate += h / 6 * (r1 + 2 * r2 + 2 * r3 + r4)
    return out


@kernel
def _pull(
    y: float, z: float, vy: float, vz: float, pivot: float, travel: float, rest: float, share: float, stiffness: float, damping: float
) -> tuple[float, float]:
    """Acceleration (forward, up) that a telescoping leg gives, over body mass; it cannot pull."""
    dy = y - pivot
    length = math.sqrt(dy * dy + z * z)
    rate = (dy * (vy - travel) + z * vz) / length
    force = share * max(stiffness * (rest - length) - damping * rate, 0.0)
    return force * dy / length, force * z / length


@kernel
def _step(state: Array, step: float, duration: float, double: float, travel: float, rest: float, push: float,
          stiffness: float, damping: float, steps: int) -> Array:  # fmt: skip
    """States (steps + 1, 4): mid-hip from the leading pivot's place at touchdown, height and velocities, from touchdown on."""
    out = np.empty((steps + 1, 4))
    h, along = duration / steps, travel / duration
    now = state.copy()
    rate, trial = np.empty((4, 4)), np.empty(4)
    for k in range(steps + 1):
        out[k] = now
        for n in range(4):
            at = 0.0 if n == 0 else (0.5 * h if n < 3 else h)
            for j in range(4):
                trial[j] = now[j] if n == 0 else now[j] + at * rate[n - 1, j]
            time = k * h + at
            load = min(time / double, 1.0)
            load = load * load * (3 - 2 * load)
            ay, az = _pull(trial[0], trial[1], trial[2], trial[3], along * time, along, rest, load, stiffness, damping)
            by, bz = 0.0, 0.0
            if load < 1.0:
                longer = rest + push * min((time + 0.3 * duration) / (0.3 * duration + double), 1.0)
                by, bz = _pull(
                    trial[0], trial[1], trial[2], trial[3], travel - step + along * time, along, longer, 1 - load, stiffness, damping
                )
            # the single leg lengthens towards the end of its stance, as it will go on to in double support
            if time > 0.7 * duration:
                grown = push * (time - 0.7 * duration) / (0.3 * duration + double)
                ay, az = _pull(trial[0], trial[1], trial[2], trial[3], along * time, along, rest + grown, load, stiffness, damping)
            rate[n, 0], rate[n, 1], rate[n, 2], rate[n, 3] = trial[2], trial[3], ay + by, az + bz - GRAVITY
        for j in range(4):
            now[j] += h / 6 * (rate[0, j] + 2 * rate[1, j] + 2 * rate[2, j] + rate[3, j])
    return out


def _shoot(gait: Gait, rest: float, start: Array) -> tuple[Array, float]:
    """State at touchdown and push [m] (5,) of the periodic orbit, and how far it is from periodic."""
    damping = 2 * DAMPING * math.sqrt(STIFFNESS)
    double = gait.double_support * gait.duration
    length = gait.step_length
    middle = -0.5 * (length - PIVOT_TRAVEL) - 0.5 * double * gait.speed

    def miss(x: Array) -> Array:
        end = _step(x[:4], length, gait.duration, double, PIVOT_TRAVEL, rest, float(x[4]), STIFFNESS, damping, SAMPLES)[-1]
        off = [(end[0] - length - x[0]) * 10, (end[1] - x[1]) * 10, end[2] - x[2], end[3] - x[3]]
        return np.array([*off, 1e-3 * (x[0] - middle)])  # the last one leaves no freedom where the legs may be

    low, high = [-0.8, 0.5 * rest, 0.2 * gait.speed, -1.5, -0.1], [0.1, 1.1 * rest, 2.5 * gait.speed, 1.5, 0.15]
    found = least_squares(miss, np.clip(start, np.add(low, 1e-6), np.subtract(high, 1e-6)), bounds=(low, high), xtol=1e-12, ftol=1e-12,
                          gtol=1e-12, max_nfev=200)  # fmt: skip
    return np.asarray(found.x), float(np.abs(found.fun[:4]).max())


def _compliant(gait: Gait, top: float) -> Orbit:
    double = gait.double_support * gait.duration
    rest = top + GRAVITY / STIFFNESS
    x = np.array([-0.5 * (gait.step_length - PIVOT_TRAVEL) - 0.5 * double * gait.speed, 0.97 * rest, gait.speed, -0.15, 0.01])
    for _ in range(12):  # the rest length at which the highest point is the one asked for
        x, residual = _shoot(gait, rest, x)
        path = np.asarray(_step(x[:4], gait.step_length, gait.duration, double, PIVOT_TRAVEL, rest, float(x[4]), STIFFNESS,
                                2 * DAMPING * math.sqrt(STIFFNESS), SAMPLES))  # fmt: skip
        off = top - float(path[:, 1].max())
        if abs(off) < 1e-6:
            break
        rest += off
    path = path[:-1]
    phase = np.arange(SAMPLES) / SAMPLES
    even = gait.step_length * phase
    ahead = path[:, 0] - even
    pivot = PIVOT_TRAVEL * phase - even - ahead.mean()
    return Orbit(
        "telescoping", gait.duration, ahead - ahead.mean(), path[:, 1], path[:, 2], path[:, 3], pivot,
        np.hypot(path[:, 0] - PIVOT_TRAVEL * phase, path[:, 1]), 0.5 * gait.double_support, 0.0, 0.0, residual,
    )  # fmt: skip


# -- for the planner -----------------------------------------------------------------------------------------------------

HARMONICS: Final = 6


class Rise:
    """How mid-hip rises and falls over a step with a stance model, as the planner of either plant takes it.

    ``data/stance.toml`` holds the orbits of the reference body at nine speeds as Fourier series, which round the corner of the rigid
    leg. Between speeds coefficients are interpolated, below the lowest they fade with the speed.

    Args:
        model: ``virtual-leg`` or ``telescoping``.

    Attributes:
        speeds: (S,) over the square root of g times leg length.
        coefficients: (S, 1 + 2 H) constant, cosines, sines, in leg lengths; 0 is the highest point.

    Raises:
        ValueError: an unknown model, or the kinematic one, which has a law of its own.
    """

    def __init__(self, model: StanceModel) -> None:
        check_model(model)
        table = tomllib.loads(files("sandbox.controllers").joinpath("data", "stance.toml").read_text(encoding="utf-8"))
        if model not in table:
            raise ValueError(f"the {model} model has no orbit: take {' or '.join(name for name in table if name in MODELS)}")
        self.model = model
        self.speeds: Array = np.array(table["speeds"], dtype=np.float64)
        self.coefficients: Array = np.array(table[model], dtype=np.float64)

    def at(self, speed: float, phase: float) -> tuple[float, float, float]:
        """Rise [leg lengths], at most about 0, and its first and second derivative by the phase of the step, at a speed over sqrt(g L)."""
        c = np.array([np.interp(speed, self.speeds, column) for column in self.coefficients.T])
        c *= min(max(speed, 0.0) / self.speeds[0], 1.0)
        n = np.arange(1, HARMONICS + 1)
        w, turn = 2 * np.pi * n, 2 * np.pi * n * phase
        even, odd = c[1 : HARMONICS + 1], c[HARMONICS + 1 :]
        cosine, sine = np.cos(turn), np.sin(turn)
        rise = c[0] + even @ cosine + odd @ sine
        return float(rise), float((w * odd) @ cosine - (w * even) @ sine), float(-(w * w * even) @ cosine - (w * w * odd) @ sine)


def fourier(heights: Array) -> Array:
    """Coefficients (1 + 2 H,) of heights (N,) over a step, less their highest."""
    spectrum = np.fft.rfft(heights - heights.max()) / len(heights)
    return np.concatenate((spectrum.real[:1], 2 * spectrum.real[1 : HARMONICS + 1], -2 * spectrum.imag[1 : HARMONICS + 1]))


def orbit_table(leg: float, height: float, speeds: Array) -> dict[str, Array]:
    """Coefficients (S, 1 + 2 H) [leg lengths] by model at ``speeds`` [m/s]; leg length and stature of the body in metres."""
    profile = VelocityProfile(float(speeds[0]), float(speeds[-1]), law="human", height=height)
    return {
        model: np.array([fourier(orbit(model, profile.gait(v), 0.985 * leg).height) / leg for v in speeds.tolist()])
        for model in ("virtual-leg", "telescoping")
    }
