"""Rotations as small pure functions: quaternions ``x, y, z, w``, rotation matrices, heading.

A rotation takes coordinates of a vector in the rotated frame to coordinates in the world: ``world = matrix @ local``.
Functions of quaternions take one of them (4,) or a stack (..., 4), unless they say otherwise, and expect unit length.
Inputs are never changed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def normalized(quaternion: Array) -> Array:
    """The unit quaternion (..., 4) along ``quaternion``.

    Raises:
        ValueError: a quaternion of length zero, or one that is not finite.
    """
    length = np.linalg.norm(quaternion, axis=-1, keepdims=True)
    if not np.all((length > 0) & np.isfinite(length)):
        raise ValueError("a quaternion must be finite and longer than zero to stand for a rotation")
    return np.asarray(quaternion / length, dtype=np.float64)


def quaternion_about(axis: ArrayLike, angle: float) -> Array:
    """Rotation by ``angle`` [rad] about ``axis`` (3,), which need not be of unit length.

    Raises:
        ValueError: an axis of length zero.
    """
    x, y, z = np.asarray(axis, dtype=np.float64).tolist()
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0:
        raise ValueError("a rotation axis must be longer than zero")
    s = math.sin(angle / 2) / length
    return np.array([s * x, s * y, s * z, math.cos(angle / 2)])


def quaternion_multiply(a: Array, b: Array) -> Array:
    """Hamilton product ``a b`` (..., 4): rotate by ``b`` first, then by ``a``."""
    ax, ay, az, aw = a.T
    bx, by, bz, bw = b.T
    return np.array(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ]
    ).T


def quaternion_conjugate(quaternion: Array) -> Array:
    """The inverse rotation (..., 4)."""
    return np.multiply(quaternion, (-1.0, -1.0, -1.0, 1.0), dtype=np.float64)


def quaternion_rotate(quaternion: Array, vector: Array) -> Array:
    """``vector`` (..., 3) of the rotated frame in coordinates of the world (..., 3)."""
    rotated = matrix_from_quaternion(quaternion) @ vector[..., None]
    return np.asarray(rotated[..., 0], dtype=np.float64)


def matrix_from_quaternion(quaternion: Array) -> Array:
    """Rotation matrix (..., 3, 3) of a quaternion (..., 4)."""
    # ``.T`` splits one quaternion into numbers and a stack into arrays; the rows below are the matrix's columns, which
    # the last ``.T`` turns back, with the stack's axes in front again.
    x, y, z, w = quaternion.T
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)],
            [2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)],
            [2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)],
        ]
    ).T


def quaternion_from_matrix(matrix: Array) -> Array:
    """Unit quaternion (4,) with ``w >= 0`` of one rotation matrix (3, 3).

    Divides by the largest of the four components, so that it is exact for every angle (Shepperd 1978, J Guidance and
    Control 1:223).
    """
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    # Four times the products of one component with all four, for each component: x, y, z, w.
    candidates = (
        (1 + a - e - i, b + d, c + g, h - f),
        (b + d, 1 - a + e - i, f + h, c - g),
        (c + g, f + h, 1 - a - e + i, d - b),
        (h - f, c - g, d - b, 1 + a + e + i),
    )
    best = max(range(4), key=lambda k: candidates[k][k])
    quaternion = np.array(candidates[best])
    quaternion /= np.linalg.norm(quaternion)
    return -quaternion if quaternion[3] < 0 else quaternion


def rotation_x(angle: float) -> Array:
    """Matrix (3, 3) of the rotation by ``angle`` [rad] about X: turns +Y to +Z."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: float) -> Array:
    """Matrix (3, 3) of the rotation by ``angle`` [rad] about Y: turns +Z to +X."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: float) -> Array:
    """Matrix (3, 3) of the rotation by ``angle`` [rad] about Z: turns +X to +Y."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def skew(vector: Array) -> Array:
    """Matrix (3, 3) of the cross product: ``skew(a) @ b == cross(a, b)``."""
    x, y, z = vector.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def yaw(quaternion: Array) -> float:
    """Heading [rad], in (-pi, pi], of one quaternion (4,): where its forward axis +Y points, seen from above.

    0 when it faces +Y, positive to the left. Meaningless when the forward axis is vertical.
    """
    x, y, z, w = quaternion.tolist()
    return math.atan2(2 * (z * w - x * y), 1 - 2 * (x * x + z * z))


def yaws(quaternions: Array) -> Array:
    """:func:`yaw` [rad] of a stack (..., 4), each in (-pi, pi]: use ``numpy.unwrap`` for a continuous heading."""
    x, y, z, w = np.moveaxis(quaternions, -1, 0)
    return np.asarray(np.arctan2(2 * (z * w - x * y), 1 - 2 * (x * x + z * z)), dtype=np.float64)
