"""The analytic arm: from shoulder and wrist to joint angles, segment lengths as they are."""

from __future__ import annotations

import math

import numpy as np

from sandbox.bodies.inertia import Array
from sandbox.compiled import kernel

ARM_JOINTS = 4  # shoulder flexion, adduction, rotation, elbow flexion


@kernel
def chain_distance(upper: float, fore: float, elbow_flexion: float) -> float:
    """Shoulder to wrist [m] of an arm whose elbow is flexed by ``elbow_flexion`` [rad] (0 is straight)."""
    return math.sqrt(upper * upper + fore * fore + 2 * upper * fore * math.cos(elbow_flexion))


@kernel
def solve_arm(thorax: Array, shoulder: Array, wrist: Array, pole: Array, upper: float, fore: float, side: float, q: Array) -> float:
    """Joint angles of one arm, written to ``q`` (4,) [rad].

    Args:
        thorax: (3, 3), thorax to world.
        shoulder, wrist: (3,) [m] in the world.
        pole: (3,) direction in which the elbow lies off the line from shoulder to wrist; need not be normal to it.
        upper, fore: segment lengths [m].
        side: -1 for the left arm, +1 for the right.

    Returns:
        How far the wrist lies outside the reach [m]; it is then put at the nearest legal distance on its line.
    """
    line = shoulder - wrist
    distance = math.sqrt(line[0] ** 2 + line[1] ** 2 + line[2] ** 2)
    legal = min(max(distance, abs(upper - fore) + 1e-9), upper + fore - 1e-9)
    w = line / distance
    cosine = (legal * legal - upper * upper - fore * fore) / (2 * upper * fore)
    elbow = math.acos(min(max(cosine, -1.0), 1.0))
    alpha = math.acos(min(max((upper * upper + legal * legal - fore * fore) / (2 * upper * legal), -1.0), 1.0))
    x = np.array([w[1] * pole[2] - w[2] * pole[1], w[2] * pole[0] - w[0] * pole[2], w[0] * pole[1] - w[1] * pole[0]])
    x /= math.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    turned = np.array([x[1] * w[2] - x[2] * w[1], x[2] * w[0] - x[0] * w[2], x[0] * w[1] - x[1] * w[0]])
    z = math.cos(alpha) * w - math.sin(alpha) * turned
    y = np.array([z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]])
    r00, r01, r02, r12, r22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(3):
        r00 += thorax[j, 0] * x[j]
        r01 += thorax[j, 0] * y[j]
        r02 += thorax[j, 0] * z[j]
        r12 += thorax[j, 1] * z[j]
        r22 += thorax[j, 2] * z[j]
    q[0] = math.atan2(-r12, r22)
    q[1] = side * math.asin(min(max(r02, -1.0), 1.0))
    q[2] = side * math.atan2(-r01, r00)
    q[3] = elbow
    return abs(distance - legal)
