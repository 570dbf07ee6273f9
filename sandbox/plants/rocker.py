"""Geometry of a foot that rolls over its heel, ball and toes on a plane.

In the foot's frame: origin at the ankle, y to the toes, z up. The sole of a foot has its heel at ``(-heel, -height)``, its ball
at ``(ball, -height)``, the toe joint (MTP) ``joint`` above the ball, and the toe tip at ``(toe, -height)`` while the toe is
straight. Pitch is relative to the ground, toes up positive.
"""

from __future__ import annotations

import math

from sandbox.bodies.inertia import Array
from sandbox.compiled import kernel


@kernel
def smooth_min(a: float, b: float, width: float) -> float:
    """The smaller of two values, rounded where they differ by less than ``width``: twice differentiable, never above both.

    Cubic polynomial of Quilez ("smooth minimum", iquilezles.org); exactly ``min(a, b)`` farther apart.
    """
    h = max(width - abs(a - b), 0.0) / width
    return min(a, b) - h * h * h * width / 6.0


@kernel
def smooth_step(u: float) -> float:
    """0 to 1 as ``u`` goes from 0 to 1, with first and second derivatives 0 at both ends (minimum jerk)."""
    u = min(max(u, 0.0), 1.0)
    return u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)


@kernel
def minimum_jerk(x: float, v: float, a: float, goal: float, left: float, dt: float) -> tuple[float, float, float]:
    """Position, velocity, acceleration after ``dt`` [s] on the path that comes to rest at ``goal`` in ``left`` [s]."""
    d = goal - x
    c3 = (20 * d - 12 * v * left - 3 * a * left**2) / (2 * left**3)
    c4 = (-30 * d + 16 * v * left + 3 * a * left**2) / (2 * left**4)
    c5 = (12 * d - 6 * v * left - a * left**2) / (2 * left**5)
    return (
        x + dt * (v + dt * (0.5 * a + dt * (c3 + dt * (c4 + dt * c5)))),
        v + dt * (a + dt * (3 * c3 + dt * (4 * c4 + dt * 5 * c5))),
        a + dt * (6 * c3 + dt * (12 * c4 + dt * 20 * c5)),
    )


@kernel
def sole_frame(yaw: float, pitch: float, slope: float, out: Array) -> None:
    """Orientation (3, 3) of a foot that points along ``yaw`` on a plane of ``slope`` (uphill +Y), pitched about its own axis."""
    c, s = math.cos(slope), math.sin(slope)
    fx, fy = -math.sin(yaw), math.cos(yaw)
    fz = fy * s / c
    norm = math.sqrt(fx * fx + fy * fy + fz * fz)
    fx, fy, fz = fx / norm, fy / norm, fz / norm
    nx, ny, nz = 0.0, -s, c
    cp, sp = math.cos(pitch), math.sin(pitch)
    out[0, 0], out[1, 0], out[2, 0] = fy * nz - fz * ny, fz * nx - fx * nz, fx * ny - fy * nx
    out[0, 1], out[1, 1], out[2, 1] = cp * fx + sp * nx, cp * fy + sp * ny, cp * fz + sp * nz
    out[0, 2], out[1, 2], out[2, 2] = cp * nx - sp * fx, cp * ny - sp * fy, cp * nz - sp * fz


@kernel
def ground_pitch(yaw: float, slope: float) -> float:
    """Pitch [rad] of a flat foot that points along ``yaw`` on a plane of ``slope``."""
    return math.atan(math.tan(slope) * math.cos(yaw))


@kernel
def toe_pitch(joint_height: float, joint: float, length: float) -> float:
    """Pitch [rad] of the toe at which its tip touches the ground, for a toe joint at ``joint_height`` [m].

    The tip lies ``length`` ahead of the joint and ``joint`` below it. 0 where the joint is at ``joint``, -90 degrees less the
    toe's own angle where it is too high to touch.
    """
    radius = math.sqrt(length * length + joint * joint)
    return math.atan2(joint, length) - math.asin(min(max(joint_height / radius, -1.0), 1.0))


@kernel
def pitch_within_reach(ahead: float, above: float, ball: float, height: float, leg: float) -> float:
    """Highest pitch [rad] of a foot on its ball at which the hip-ankle distance is at most ``leg`` [m].

    ``ahead``, ``above``: hip from the ball, along the foot and normal to the ground [m]. Law of cosines in the triangle hip,
    ball, ankle; where no pitch reaches, the ankle is turned towards the hip.
    """
    hip2, foot2 = ahead * ahead + above * above, ball * ball + height * height
    cosine = (hip2 + foot2 - leg * leg) / (2 * math.sqrt(hip2 * foot2))
    return math.atan2(above, ahead) + math.acos(min(max(cosine, -1.0), 1.0)) - math.atan2(height, -ball)
