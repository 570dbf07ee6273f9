"""Whole-body mechanics of walking: centre of mass, XCoM, support, margin of stability, Froude number, momentum.

Pure functions of arrays: they know no body and no engine, and never feed back into a motion. World frame: +X right,
+Y forward, +Z up; metres, seconds, kilograms, radians.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.conventions import GRAVITY
from sandbox.state import ContactState

Array = NDArray[np.float64]

STRAIGHT = 1e-12  # [rad] a corner of a support polygon that turns by less lies on an edge


class Support(IntEnum):
    """Which feet carry the body. The bits are the feet: ``LEFT | RIGHT == DOUBLE``."""

    NONE = 0
    LEFT = 1
    RIGHT = 2
    DOUBLE = 3

    @classmethod
    def of(cls, left: bool, right: bool) -> Support:
        """Of the contact of each foot."""
        return cls(bool(left) + 2 * bool(right))


class Momentum(NamedTuple):
    """Momentum of a whole body.

    Attributes:
        linear: (..., 3) [kg m/s].
        angular: (..., 3) about the centre of mass [kg m^2/s].
    """

    linear: Array
    angular: Array


def center_of_mass(masses: Array, positions: Array) -> Array:
    """Centre of mass (..., 3) [m] of parts with ``masses`` (n,) [kg] and centres of mass ``positions`` (..., n, 3) [m].

    Of velocities or accelerations instead of positions it gives those of the centre of mass.
    """
    return np.asarray(masses @ positions / masses.sum(), dtype=np.float64)


def pendulum_frequency(length: float) -> float:
    """Eigenfrequency sqrt(g / l) [rad/s] of an inverted pendulum of ``length`` [m]: omega0 of Hof et al. (2005).

    Raises:
        ValueError: a length that is not positive.
    """
    if not length > 0:
        raise ValueError(f"pendulum length {length:g} m must be positive")
    return math.sqrt(GRAVITY / length)


def extrapolated_com(com: Array, velocity: Array, length: float) -> Array:
    """XCoM (..., 2) [m] on the ground: x + v / omega0 (Hof, Gazendam, Sinke 2005, J Biomech 38:1).

    Args:
        com: centre of mass (..., 2 or 3) [m].
        velocity: of the centre of mass (..., 2 or 3) [m/s].
        length: of the equivalent pendulum [m]; commonly the height of the centre of mass.
    """
    return np.asarray(com[..., :2] + velocity[..., :2] / pendulum_frequency(length), dtype=np.float64)


def support_polygon(points: Array) -> Array:
    """Convex hull (k, 2) [m], counter-clockwise seen from above, of ground contact points (n, 2 or 3) [m].

    Only corners are kept: points inside, on an edge or given twice are dropped. One point gives (1, 2), points on one
    line its two ends (2, 2), no point (0, 2).
    """
    corners = sorted({(x, y) for x, y in points[:, :2].tolist()})
    if len(corners) < 3:
        return np.array(corners, dtype=np.float64).reshape(-1, 2)

    def chain(ordered: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """Monotone chain (Andrew 1979): keep left turns that are more than rounding, which may see one on either side of a line."""
        out: list[tuple[float, float]] = []
        for x, y in ordered:
            while len(out) > 1:
                (ax, ay), (bx, by) = out[-2:]
                ux, uy, vx, vy = bx - ax, by - ay, x - ax, y - ay
                if ux * vy - uy * vx > STRAIGHT * math.hypot(ux, uy) * math.hypot(vx, vy):
                    break
                out.pop()
            out.append((x, y))
        return out[:-1]

    return np.array(chain(corners) + chain(corners[::-1]))


def foot_patch(heel: Array, toe_base: Array, half_width: float) -> Array:
    """Corners (4, 2) [m] of the rectangle on the ground from ``heel`` to ``toe_base`` (2 or 3,) [m], ``half_width`` [m] to either side.

    Raises:
        ValueError: heel and toe base in one place, or a negative width.
    """
    if not half_width >= 0:
        raise ValueError(f"half width {half_width:g} m of a foot must not be negative")
    along = np.asarray(toe_base[:2] - heel[:2], dtype=np.float64)
    length = math.hypot(float(along[0]), float(along[1]))
    if not length > 0:
        raise ValueError("heel and toe base of a foot must lie apart")
    across = half_width / length * np.array([along[1], -along[0]])
    return np.array([heel[:2] - across, heel[:2] + across, toe_base[:2] + across, toe_base[:2] - across])


# Which part of the sole carries in each contact state: from, to along the sole (0 heel, 1 toe base, 2 toe tip), and of its width.
PATCHES: dict[int, tuple[float, float, float]] = {
    ContactState.HEEL: (0.0, 0.35, 0.8),
    ContactState.FLAT: (0.0, 1.0, 1.0),
    ContactState.FOREFOOT: (0.8, 1.6, 0.85),
    ContactState.TOE: (1.4, 2.0, 0.6),
}


def articulated_patch(heel: Array, toe_base: Array, toe_tip: Array, half_width: float, state: int) -> Array:
    """Corners (4, 2) [m] of the part of a sole that carries in a contact state (assumed shares); (0, 2) of an airborne foot.

    A heel that carries alone does so with the rear of the sole, a forefoot with the ball and half of the toes, which are narrower;
    toes alone with their tips.

    Args:
        heel, toe_base, toe_tip: points of the sole (3,) [m].
        half_width: of the flat sole [m].
        state: :class:`~sandbox.state.ContactState`.
    """
    if state == ContactState.AIRBORNE:
        return np.empty((0, 2))
    start, end, width = PATCHES[int(state)]
    sole = np.array([heel[:2], toe_base[:2], toe_tip[:2]])
    ends = [np.array([np.interp(at, (0, 1, 2), sole[:, axis]) for axis in range(2)]) for at in (start, end)]
    return foot_patch(ends[0], ends[1], half_width * width)


def support_margin(point: Array, polygon: Array) -> float | None:
    """Signed distance [m] from ``point`` (2,) to the boundary of a support polygon.

    Args:
        point: (2,) [m], for instance the ground projection of the centre of mass, or the XCoM.
        polygon: (k, 2) [m], counter-clockwise, from :func:`support_polygon`.

    Returns:
        Distance to the nearest edge when inside, minus the distance to the polygon when outside, None without support.
        A support of one point or one line has no inside: its margin is never positive.
    """
    corners = polygon.tolist()
    if not corners:
        return None
    x, y = float(point[0]), float(point[1])
    nearest = math.inf
    inside = len(corners) > 2
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
        ux, uy = bx - ax, by - ay
        px, py = x - ax, y - ay
        square = ux * ux + uy * uy
        along = min(1.0, max(0.0, (px * ux + py * uy) / square)) if square > 0 else 0.0
        nearest = min(nearest, math.hypot(px - along * ux, py - along * uy))
        inside = inside and ux * py - uy * px >= 0
    return nearest if inside else -nearest


def directional_margin(point: Array, polygon: Array, direction: Array) -> float | None:
    """How far [m] the support reaches beyond ``point`` (2,) in ``direction`` (2,), negative when it falls short.

    The mediolateral or fore-aft margin of stability, when ``point`` is the XCoM (Hof 2008, Human Movement Science
    27:112). None without support.

    Raises:
        ValueError: a direction of length zero.
    """
    length = math.hypot(float(direction[0]), float(direction[1]))
    if length == 0:
        raise ValueError("direction must be longer than zero")
    if len(polygon) == 0:
        return None
    return float(np.max((polygon - point[:2]) @ direction[:2])) / length


def margin_of_stability(com: Array, velocity: Array, length: float, polygon: Array) -> float | None:
    """Signed distance [m] from the XCoM to the boundary of the support (Hof 2005), positive inside, None without one.

    Arguments as in :func:`extrapolated_com` (one instant) and :func:`support_margin`.
    """
    return support_margin(extrapolated_com(com, velocity, length), polygon)


def froude_number(speed: float, leg_length: float) -> float:
    """v^2 / (g L), of a walking ``speed`` [m/s] and the ``leg_length`` from hip joint centre to sole [m].

    Raises:
        ValueError: a leg length that is not positive.
    """
    if not leg_length > 0:
        raise ValueError(f"leg length {leg_length:g} m must be positive")
    return speed * speed / (GRAVITY * leg_length)


def centroidal_momentum(
    masses: Array,
    positions: Array,
    velocities: Array,
    rotations: Array,
    inertias: Array,
    angular_velocities: Array,
) -> Momentum:
    """Linear momentum, and angular momentum about the whole body's centre of mass.

    L = sum m (r - c) x (v - vc) + R I R^T omega (for instance Herr & Popovic 2008, J Exp Biol 211:467, equation 1).

    Leading axes (...) may hold instants.

    Args:
        masses: (n,) [kg].
        positions: of each link's centre of mass in the world (..., n, 3) [m].
        velocities: of each link's centre of mass (..., n, 3) [m/s].
        rotations: of each link's frame (..., n, 3, 3), link to world.
        inertias: of each link about its centre of mass, in its own frame (n, 3, 3) [kg m^2].
        angular_velocities: in the world (..., n, 3) [rad/s].
    """
    linear = np.asarray(masses @ velocities, dtype=np.float64)
    arm = positions - center_of_mass(masses, positions)[..., None, :]
    orbital = masses @ np.cross(arm, velocities)  # the arms' weighted sum is zero, so that vc drops out
    local = np.einsum("...nji,...nj->...ni", rotations, angular_velocities)
    spin = np.einsum("...nij,njk,...nk->...i", rotations, inertias, local)
    return Momentum(linear, np.asarray(orbital + spin, dtype=np.float64))
