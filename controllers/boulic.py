"""The walk of Boulic, Magnenat-Thalmann & Thalmann (1990, The Visual Computer 6:344-358): twelve curves over the normalised speed.

The speed is normalised by hip height: RV = v / Ht [1/s]. Below RV 0.5 the legs' angles shrink with the speed, from 1.3 on their control
points move; both breaks are continuous in every curve. The paper itself was not at hand: the functions come from its public copies,
whose errors are mended here (:data:`MENDED`). ``experiments/reference/BOULIC_RECONSTRUCTION.md`` says of every number whether it is
published, reconstructed or assumed.

The curves are no walk on the ground: with them alone the standing foot slides. :mod:`sandbox.plants.boulic` pins it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

from sandbox.bodies.anatomy import SIDES
from sandbox.bodies.inertia import Array

FASTEST: Final = 3.0  # [1/s] normalised speed up to which the functions are given
SLOW: Final = 0.5  # [1/s] where their formulas change
FAST: Final = 1.3  # and again

# What is wrong in the public copies, and what stands here instead.
MENDED: Final = {
    "elbow": "third point of fast walking: (RV - .13) jumps by 5.13 degrees at RV 1.3; (RV - 1.3) is continuous",
    "hip": "two maxima that part at RV 1.3: PCHIP through them jumps by 0.64 degrees there; level at both it is continuous",
    "lateral": "opposite signs below and above RV 0.5; towards the standing leg in both",
    "forward": "opposite signs below and above RV 0.5; ahead of even motion at heel strike in both (the sign itself is not known)",
    "obliquity": "one copy scales the list by 0.01 RV as if it were a length; 1.66 RV degrees",
    "translations": "added as metres whatever the body's size; of hip height",
    "elbow position": "the copies turn elbows with the trunk by their height at the cycle's first frame; no such thing here",
}


class Timing(NamedTuple):
    """Of a cycle: its length over hip height; its duration, support of one foot and double support (one of the two) [s]."""

    length: float
    duration: float
    support: float
    double_support: float

    @property
    def release(self) -> float:
        """Phase at which a foot leaves the ground, 0 its heel strike."""
        return self.support / self.duration


def normalised_speed(speed: float, hip_height: float) -> float:
    """RV [1/s] of a speed [m/s] and a hip height [m].

    Raises:
        ValueError: a hip height that is not positive, or a speed for which there are no curves: above 0, at most 3 hip heights a second.
    """
    if not 0 < hip_height < math.inf:
        raise ValueError(f"hip height {hip_height:g} m must be positive: give the height of the hip joints over the ground")
    if not 0 < speed <= FASTEST * hip_height:
        most = FASTEST * hip_height
        raise ValueError(
            f"Boulic's curves have no speed {speed:g} m/s: give one above 0, at most {most:.2f} m/s (hips at {hip_height:.2f} m)"
        )
    return speed / hip_height


def timing(rv: float) -> Timing:
    """Cycle length 1.346 sqrt(RV), support 0.752 of the cycle less 0.143 s."""
    length = 1.346 * math.sqrt(rv)
    duration = length / rv
    support = 0.752 * duration - 0.143
    return Timing(length, duration, support, support - 0.5 * duration)


class Curves(NamedTuple):
    """The twelve curves at phases of one leg, which strikes at 0; translations over hip height, angles [rad], in the project's signs.

    Attributes:
        vertical, lateral, forward: (T,) of the origin of the spine; lateral towards that leg's side, forward ahead of even motion.
        lean: (T,) trunk forward of the pelvis.
        obliquity: (T,) list of the pelvis, that leg's side down.
        torsion: (T,) of the pelvis, that leg's side ahead.
        hip, knee: (T,) flexion; ankle: (T,) dorsiflexion.
        thorax: (T,) torsion, that leg's side ahead.
        shoulder, elbow: (T,) flexion of that side's arm.
    """

    vertical: Array
    lateral: Array
    forward: Array
    lean: Array
    obliquity: Array
    torsion: Array
    hip: Array
    knee: Array
    ankle: Array
    thorax: Array
    shoulder: Array
    elbow: Array


def _points(rv: float) -> dict[str, list[tuple[float, float]]]:
    """Control points (phase, degrees) of the five curves that are drawn through points; the thorax in the copies' sign."""
    u, m, release = (rv - FAST) / 1.7, (rv - SLOW) / 0.8, timing(rv).release
    thorax = [(0.1, 4 / 3 * rv), (0.4, -1.5 * rv), (0.6, -4 / 3 * rv), (0.9, 1.5 * rv)]
    if rv < SLOW:
        return {
            "hip": [(-0.1, 50 * rv), (0.5, -30 * rv), (0.9, 50 * rv)],
            "knee": [(0.17, 3), (0.4, 3), (0.75, 140 * rv), (1, 3)],
            "ankle": [(0, -3), (0.08, -30 * rv - 3), (0.5, 22 * rv - 3), (release, -34 * rv - 3), (0.85, -3)],
            "thorax": thorax,
            "elbow": [(0.05, 6 * rv + 3), (0.5, 34 * rv + 3), (0.9, 10 * rv + 3)],
        }
    if rv < FAST:
        return {
            "hip": [(-0.1, 25), (0.5, -15), (0.9, 25)],
            "knee": [(0.17, 3), (0.4, 3), (0.75, 70), (1, 3)],
            "ankle": [(0, -3), (0.08, -18), (0.5, 8), (release, -20), (0.85, -3)],
            "thorax": thorax,
            "elbow": [(0.05, 6 + 8 * m), (0.5 + 0.01 * m, 20 + 24 * m), (0.9, 8 + 9 * m)],
        }
    return {
        "hip": [(0.2 * u - 0.1, 25 + 5 * u), (0.5, -15), (0.9, 25 + 6 * u)],
        "knee": [(0.17 - 0.05 * u, 3 + 22 * u), (0.4, 3), (0.75 - 0.05 * u, 70 - 5 * u), (1 - 0.03 * u, 3 + 3 * u)],
        "ankle": [(0, 5 * u - 3), (0.08, 4 * u - 18), (0.5 - 0.1 * u, 8 - 3 * u), (release, -20 - 8 * u), (0.85, 5 * u - 3)],
        "thorax": thorax,
        "elbow": [(0.05, 14 - 6 * u), (0.51 + 0.04 * u, 44 + 26 * u), (0.9 - 0.1 * u, 17 - 6 * u)],
    }


@lru_cache(maxsize=256)
def _through_points(rv: float) -> dict[str, CubicHermiteSpline]:
    """Periodic monotone cubics through the control points, over phases 0 to 1. Every point of the hip is a turning point: level there."""
    out = {}
    for name, points in _points(rv).items():
        once = {phase % 1.0: degrees for phase, degrees in points}  # -0.1 and 0.9 may be one point
        phase, degrees = np.array(sorted(once)), np.array([once[p] for p in sorted(once)])
        x, y = np.concatenate([phase + k for k in (-2, -1, 0, 1, 2)]), np.tile(degrees, 5)
        out[name] = CubicHermiteSpline(x, y, np.zeros_like(y)) if name == "hip" else PchipInterpolator(x, y)
    return out


def curves(rv: float, phase: Array) -> Curves:
    """All twelve at phases (T,) [cycles] of a leg that strikes the ground at 0, at a normalised speed [1/s].

    Raises:
        ValueError: a normalised speed outside of 0..3.
    """
    normalised_speed(rv, 1.0)
    t, turn = np.asarray(phase, dtype=np.float64) % 1.0, 2 * np.pi
    fading = rv * (1 - rv) if rv < SLOW else 0.25  # of what grows up to RV 0.5 and then stays
    drawn = {name: np.radians(curve(t)) for name, curve in _through_points(rv).items()}
    half = np.where(t < 0.5, t, t - 0.5)  # the second half mirrors the first
    falling = -1 + np.cos(turn * 10 * half / 3)
    rising = -1 - np.cos(turn * 10 * (half - 0.15) / 7)
    swing = np.where(half < 0.15, falling, rising) * np.where(t < 0.5, 1, -1)
    return Curves(
        vertical=0.015 * rv * (-1 + np.sin(turn * (2 * t - 0.35))),
        lateral=0.128 * fading * np.sin(turn * (t - 0.1)),
        forward=0.084 * fading * np.sin(turn * (2 * t + 2 * (0.625 - timing(rv).release))),
        lean=np.radians(8 * fading * (1 - np.sin(turn * (2 * t - 0.1)))),
        obliquity=np.radians(1.66 * rv * swing),
        torsion=np.radians(4 * rv * np.cos(turn * t)),
        hip=drawn["hip"],
        knee=drawn["knee"],
        ankle=drawn["ankle"],
        thorax=-drawn["thorax"],
        shoulder=np.radians(3 - 9.88 * rv / 2 - 9.88 * rv * np.cos(turn * t)),
        elbow=drawn["elbow"],
    )


def joint_angles(speed: float, hip_height: float, phase: Array) -> dict[str, Array]:
    """Angles (T,) [rad] of the joints that the model moves, by name, as published: an initial guess for whoever optimises a gait.

    Args:
        speed: [m/s]; hip_height: of the hip joints over the ground, ``Anatomy.leg_length`` [m].
        phase: (T,) [cycles] of the right leg, which strikes at 0; the left one does the same half a cycle later.

    The pelvis goes with them: see :func:`pelvis_motion`. Joints that are not named stay at 0.

    Raises:
        ValueError: a speed for which there are no curves.
    """
    rv, t = normalised_speed(speed, hip_height), np.asarray(phase, dtype=np.float64)
    both = {"left": curves(rv, t + 0.5), "right": curves(rv, t)}
    middle = both["right"]
    twist = 0.5 * (middle.thorax - middle.torsion)
    out = {
        "lumbar_flexion": middle.lean,
        "lumbar_lateral": -middle.obliquity,  # the trunk stays upright over the pelvis
        "lumbar_rotation": twist,
        "thorax_rotation": twist,
    }
    for side in SIDES:
        c = both[side]
        out |= {
            f"{side}_hip_flexion": c.hip,
            f"{side}_knee_flexion": c.knee,
            f"{side}_ankle_dorsiflexion": c.ankle,
            f"{side}_shoulder_flexion": c.shoulder,
            f"{side}_elbow_flexion": c.elbow,
        }
    return out


class PelvisMotion(NamedTuple):
    """Of the pelvis: ``shift`` (T, 3) [m] off even motion at hip height; ``yaw``, ``roll`` (T,) [rad] about +Z and then its own +Y."""

    shift: Array
    yaw: Array
    roll: Array


def pelvis_motion(speed: float, hip_height: float, phase: Array) -> PelvisMotion:
    """How the pelvis moves at phases (T,) of the right leg; arguments and errors of :func:`joint_angles`."""
    c = curves(normalised_speed(speed, hip_height), phase)
    return PelvisMotion(hip_height * np.stack((c.lateral, c.forward, c.vertical), axis=-1), c.torsion, c.obliquity)
