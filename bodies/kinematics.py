"""Kinematics of the body: forward kinematics over the tree of links, and the analytic leg and arm solvers.

Everything here is compiled (see :mod:`sandbox.compiled`) and works on plain arrays, so that both plants, the planner and
the controller share one set of equations. All link frames are parallel at zero pose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.inertia import Array
from sandbox.compiled import kernel

HIP, KNEE, ANKLE, INVERSION, MTP = 0, 3, 4, 5, 6  # offsets of a leg's joints from its first
LEG_JOINTS = 7


@dataclass(frozen=True)
class Tree:
    """The body as arrays; ``n`` joints, ``n + 1`` links, link ``i + 1`` is moved by joint ``i``.

    Attributes:
        parent: (n,) index of the parent link of each joint.
        axis, origin: (n, 3) in the parent link's frame [m].
        mass: (n + 1,) [kg]; com: (n + 1, 3) [m]; inertia: (n + 1, 3, 3) [kg m^2] about the CoM.
        leg: (2,) first joint of the left and right leg; arm: (2,) likewise.
        lower, upper, max_torque: (n,) joint limits [rad] and torque limits [N m].
        point_link, point: (P,), (P, 3) the named points of ``Anatomy.points`` in order.
    """

    parent: NDArray[np.int64]
    axis: Array
    origin: Array
    mass: Array
    com: Array
    inertia: Array
    leg: NDArray[np.int64]
    arm: NDArray[np.int64]
    lower: Array
    upper: Array
    max_torque: Array
    point_link: NDArray[np.int64]
    point: Array

    @classmethod
    def of(cls, anatomy: Anatomy) -> Tree:
        joints, links = anatomy.joints, anatomy.links
        index = anatomy.link_index
        points = anatomy.points.values()
        return cls(
            parent=np.array([index[j.parent] for j in joints]),
            axis=np.array([j.axis for j in joints]),
            origin=np.array([j.origin for j in joints]),
            mass=np.array([link.mass_properties.mass for link in links]),
            com=np.array([link.mass_properties.com for link in links]),
            inertia=np.array([link.mass_properties.inertia for link in links]),
            leg=np.array([anatomy.joint_index[f"{s}_hip_flexion"] for s in SIDES]),
            arm=np.array([anatomy.joint_index[f"{s}_shoulder_flexion"] for s in SIDES]),
            lower=np.array([j.outer[0] for j in joints]),
            upper=np.array([j.outer[1] for j in joints]),
            max_torque=np.array([j.max_torque for j in joints]),
            point_link=np.array([index[link] for link, _ in points]),
            point=np.array([p for _, p in points]),
        )


@kernel
def quaternion_to_matrix(quaternion: Array, out: Array) -> None:
    """Rotation matrix (3, 3) of a unit quaternion (x, y, z, w), written to ``out``."""
    x, y, z, w = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    out[0, 0] = 1 - 2 * (y * y + z * z)
    out[0, 1] = 2 * (x * y - z * w)
    out[0, 2] = 2 * (x * z + y * w)
    out[1, 0] = 2 * (x * y + z * w)
    out[1, 1] = 1 - 2 * (x * x + z * z)
    out[1, 2] = 2 * (y * z - x * w)
    out[2, 0] = 2 * (x * z - y * w)
    out[2, 1] = 2 * (y * z + x * w)
    out[2, 2] = 1 - 2 * (x * x + y * y)


@kernel
def forward(
    position: Array,
    rotation: Array,
    velocity: Array,
    omega: Array,
    q: Array,
    qd: Array,
    parent: NDArray[np.int64],
    axis: Array,
    origin: Array,
    link_r: Array,
    link_p: Array,
    link_v: Array,
    link_w: Array,
    joint_a: Array,
) -> None:
    """Pose and velocity of every link in the world.

    Args:
        position, rotation, velocity, omega: of the root link's frame: (3,), (3, 3), (3,), (3,).
        q, qd: (n,).
        parent, axis, origin: of :class:`Tree`.
        link_r, link_p, link_v, link_w: outputs (n + 1, 3, 3), (n + 1, 3), (n + 1, 3), (n + 1, 3): rotation, frame origin,
            velocity of the frame origin, angular velocity.
        joint_a: output (n, 3), the joint axes in the world.
    """
    for i in range(3):
        link_p[0, i] = position[i]
        link_v[0, i] = velocity[i]
        link_w[0, i] = omega[i]
        for j in range(3):
            link_r[0, i, j] = rotation[i, j]
    for k in range(q.shape[0]):
        p = parent[k]
        r = link_r[p]
        ux, uy, uz = axis[k, 0], axis[k, 1], axis[k, 2]
        s, c = math.sin(q[k]), math.cos(q[k])
        t = 1.0 - c
        # local rotation by Rodrigues
        l00, l01, l02 = c + t * ux * ux, t * ux * uy - s * uz, t * ux * uz + s * uy
        l10, l11, l12 = t * ux * uy + s * uz, c + t * uy * uy, t * uy * uz - s * ux
        l20, l21, l22 = t * ux * uz - s * uy, t * uy * uz + s * ux, c + t * uz * uz
        for i in range(3):
            a, b, d = r[i, 0], r[i, 1], r[i, 2]
            link_r[k + 1, i, 0] = a * l00 + b * l10 + d * l20
            link_r[k + 1, i, 1] = a * l01 + b * l11 + d * l21
            link_r[k + 1, i, 2] = a * l02 + b * l12 + d * l22
            joint_a[k, i] = a * ux + b * uy + d * uz
        ox = r[0, 0] * origin[k, 0] + r[0, 1] * origin[k, 1] + r[0, 2] * origin[k, 2]
        oy = r[1, 0] * origin[k, 0] + r[1, 1] * origin[k, 1] + r[1, 2] * origin[k, 2]
        oz = r[2, 0] * origin[k, 0] + r[2, 1] * origin[k, 1] + r[2, 2] * origin[k, 2]
        wx, wy, wz = link_w[p, 0], link_w[p, 1], link_w[p, 2]
        link_p[k + 1, 0] = link_p[p, 0] + ox
        link_p[k + 1, 1] = link_p[p, 1] + oy
        link_p[k + 1, 2] = link_p[p, 2] + oz
        link_v[k + 1, 0] = link_v[p, 0] + wy * oz - wz * oy
        link_v[k + 1, 1] = link_v[p, 1] + wz * ox - wx * oz
        link_v[k + 1, 2] = link_v[p, 2] + wx * oy - wy * ox
        for i in range(3):
            link_w[k + 1, i] = link_w[p, i] + joint_a[k, i] * qd[k]


def place(tree: Tree, position: Array, rotation: Array, q: Array) -> tuple[Array, Array]:
    """Rotation (n + 1, 3, 3) and frame origin (n + 1, 3) [m] of every link of a body at rest, in arrays of their own.

    ``position`` (3,) [m] and ``rotation`` (3, 3) of the root link, joint angles ``q`` (n,) [rad].
    """
    n = len(q)
    rotations, origins, still = np.empty((n + 1, 3, 3)), np.empty((n + 1, 3)), np.zeros(3)
    velocity, omega, axes = np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n, 3))
    at, turn = np.ascontiguousarray(position, dtype=np.float64), np.ascontiguousarray(rotation, dtype=np.float64)
    forward(at, turn, still, still, np.ascontiguousarray(q, dtype=np.float64), np.zeros(n), tree.parent, tree.axis, tree.origin,
            rotations, origins, velocity, omega, axes)  # fmt: skip
    return rotations, origins


@kernel
def point_in_world(link: int, point: Array, link_r: Array, link_p: Array, out: Array) -> None:
    """World position of a point fixed in a link, written to ``out`` (3,)."""
    r = link_r[link]
    for i in range(3):
        out[i] = link_p[link, i] + r[i, 0] * point[0] + r[i, 1] * point[1] + r[i, 2] * point[2]


@kernel
def points_in_world(links: NDArray[np.int64], points: Array, link_r: Array, link_p: Array, out: Array) -> None:
    """World positions (P, 3) of points (P, 3) fixed in links (P,)."""
    for k in range(links.shape[0]):
        point_in_world(links[k], points[k], link_r, link_p, out[k])


@kernel
def centre_of_mass(
    mass: Array, com: Array, link_r: Array, link_p: Array, link_v: Array, link_w: Array, first: int, c: Array, v: Array
) -> float:
    """CoM and its velocity of the links from ``first`` up to the sum of ``mass`` where mass is positive.

    ``mass`` (n + 1,) may be masked with zeros to take a part of the body. Returns the mass; writes ``c``, ``v`` (3,).
    """
    total = 0.0
    for i in range(3):
        c[i] = 0.0
        v[i] = 0.0
    for k in range(first, mass.shape[0]):
        m = mass[k]
        if m == 0.0:
            continue
        r = link_r[k]
        x = r[0, 0] * com[k, 0] + r[0, 1] * com[k, 1] + r[0, 2] * com[k, 2]
        y = r[1, 0] * com[k, 0] + r[1, 1] * com[k, 1] + r[1, 2] * com[k, 2]
        z = r[2, 0] * com[k, 0] + r[2, 1] * com[k, 1] + r[2, 2] * com[k, 2]
        wx, wy, wz = link_w[k, 0], link_w[k, 1], link_w[k, 2]
        c[0] += m * (link_p[k, 0] + x)
        c[1] += m * (link_p[k, 1] + y)
        c[2] += m * (link_p[k, 2] + z)
        v[0] += m * (link_v[k, 0] + wy * z - wz * y)
        v[1] += m * (link_v[k, 1] + wz * x - wx * z)
        v[2] += m * (link_v[k, 2] + wx * y - wy * x)
        total += m
    for i in range(3):
        c[i] /= total
        v[i] /= total
    return total


@kernel
def angular_momentum(
    mass: Array, com: Array, inertia: Array, link_r: Array, link_p: Array, link_v: Array, link_w: Array, c: Array, v: Array, out: Array
) -> None:
    """Angular momentum (3,) [kg m^2/s] about the whole body's CoM ``c``, which moves at ``v``; the outputs of :func:`forward` go in."""
    for i in range(3):
        out[i] = 0.0
    for k in range(mass.shape[0]):
        m = mass[k]
        r = link_r[k]
        w0, w1, w2 = link_w[k, 0], link_w[k, 1], link_w[k, 2]
        x = r[0, 0] * com[k, 0] + r[0, 1] * com[k, 1] + r[0, 2] * com[k, 2]
        y = r[1, 0] * com[k, 0] + r[1, 1] * com[k, 1] + r[1, 2] * com[k, 2]
        z = r[2, 0] * com[k, 0] + r[2, 1] * com[k, 1] + r[2, 2] * com[k, 2]
        d0, d1, d2 = link_p[k, 0] + x - c[0], link_p[k, 1] + y - c[1], link_p[k, 2] + z - c[2]
        u0 = link_v[k, 0] + w1 * z - w2 * y - v[0]
        u1 = link_v[k, 1] + w2 * x - w0 * z - v[1]
        u2 = link_v[k, 2] + w0 * y - w1 * x - v[2]
        out[0] += m * (d1 * u2 - d2 * u1)
        out[1] += m * (d2 * u0 - d0 * u2)
        out[2] += m * (d0 * u1 - d1 * u0)
        # spin, in the link's own axes and back
        l0 = r[0, 0] * w0 + r[1, 0] * w1 + r[2, 0] * w2
        l1 = r[0, 1] * w0 + r[1, 1] * w1 + r[2, 1] * w2
        l2 = r[0, 2] * w0 + r[1, 2] * w1 + r[2, 2] * w2
        s0 = inertia[k, 0, 0] * l0 + inertia[k, 0, 1] * l1 + inertia[k, 0, 2] * l2
        s1 = inertia[k, 1, 0] * l0 + inertia[k, 1, 1] * l1 + inertia[k, 1, 2] * l2
        s2 = inertia[k, 2, 0] * l0 + inertia[k, 2, 1] * l1 + inertia[k, 2, 2] * l2
        for i in range(3):
            out[i] += r[i, 0] * s0 + r[i, 1] * s1 + r[i, 2] * s2


@kernel
def knee_for_distance(upper: float, lower: float, distance: float) -> tuple[float, float]:
    """Knee flexion and the angle between thigh and hip-ankle line [rad] for a hip-ankle distance [m].

    A distance outside the legal range is clamped to the nearest legal one: no limb stretches.
    """
    d = min(max(distance, abs(upper - lower) + 1e-9), upper + lower - 1e-9)
    cos_knee = (upper * upper + lower * lower - d * d) / (2 * upper * lower)
    cos_hip = (upper * upper + d * d - lower * lower) / (2 * upper * d)
    return math.pi - math.acos(min(1.0, max(-1.0, cos_knee))), math.acos(min(1.0, max(-1.0, cos_hip)))


@kernel
def solve_leg(
    pelvis_r: Array, hip: Array, ankle: Array, foot_r: Array, knee_yaw: float, upper: float, lower: float, side: float, q: Array
) -> float:
    """Joint angles of one leg from the hip centre, the ankle centre and the foot's orientation.

    The knee bends in the plane of the hip-ankle line and the horizontal direction ``knee_yaw`` [rad about +Z from +Y],
    which picks one branch for good. Angles are written to ``q`` (7,) in the order of the leg's joints, the toe at 0.
    ``side`` is -1 for the left leg, +1 for the right. The foot has two axes at the ankle, so that its yaw follows the leg.

    Returns:
        How far the ankle lies outside the reach [m]; 0 where the target was reached.
    """
    dx, dy, dz = ankle[0] - hip[0], ankle[1] - hip[1], ankle[2] - hip[2]
    distance = math.sqrt(dx * dx + dy * dy + dz * dz)
    knee, alpha = knee_for_distance(upper, lower, distance)
    inv = -1.0 / distance
    ux, uy, uz = dx * inv, dy * inv, dz * inv  # from ankle to hip
    fx, fy = -math.sin(knee_yaw), math.cos(knee_yaw)
    # knee axis x = f x u, normalised
    xx, xy, xz = fy * uz, -fx * uz, fx * uy - fy * ux
    norm = math.sqrt(xx * xx + xy * xy + xz * xz)
    xx, xy, xz = xx / norm, xy / norm, xz / norm
    # thigh's upward axis z = R(x, alpha) u
    ca, sa = math.cos(alpha), math.sin(alpha)
    zx = ca * ux + sa * (xy * uz - xz * uy)
    zy = ca * uy + sa * (xz * ux - xx * uz)
    zz = ca * uz + sa * (xx * uy - xy * ux)
    yx, yy, yz = zy * xz - zz * xy, zz * xx - zx * xz, zx * xy - zy * xx
    p = pelvis_r
    r02 = p[0, 0] * zx + p[1, 0] * zy + p[2, 0] * zz
    r12 = p[0, 1] * zx + p[1, 1] * zy + p[2, 1] * zz
    r22 = p[0, 2] * zx + p[1, 2] * zy + p[2, 2] * zz
    r01 = p[0, 0] * yx + p[1, 0] * yy + p[2, 0] * yz
    r00 = p[0, 0] * xx + p[1, 0] * xy + p[2, 0] * xz
    q[0] = math.atan2(-r12, r22)
    q[1] = side * math.asin(min(1.0, max(-1.0, r02)))
    q[2] = side * math.atan2(-r01, r00)
    q[3] = knee
    # shank frame: thigh turned by -knee about x
    ck, sk = math.cos(-knee), math.sin(-knee)
    ex, ey, ez = ck * zx - sk * yx, ck * zy - sk * yy, ck * zz - sk * yz  # shank z
    gx, gy, gz = ck * yx + sk * zx, ck * yy + sk * zy, ck * yz + sk * zz  # shank y
    s02 = xx * foot_r[0, 2] + xy * foot_r[1, 2] + xz * foot_r[2, 2]
    s12 = gx * foot_r[0, 2] + gy * foot_r[1, 2] + gz * foot_r[2, 2]
    s22 = ex * foot_r[0, 2] + ey * foot_r[1, 2] + ez * foot_r[2, 2]
    q[4] = math.atan2(-s12, s22)
    q[5] = side * math.asin(min(1.0, max(-1.0, s02)))
    q[6] = 0.0
    return max(0.0, distance - (upper + lower))


@kernel
def foot_rotation(yaw: float, pitch: float, roll: float, out: Array) -> None:
    """Orientation of a foot (3, 3): yaw about +Z, then pitch (toes up positive), then roll about its long axis."""
    cy, sy = math.cos(yaw), math.sin(yaw)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cr, sr = math.cos(roll), math.sin(roll)
    # Rz(yaw) Rx(pitch) Ry(roll)
    m00, m01, m02 = cr, 0.0, sr
    m10, m11, m12 = sp * sr, cp, -sp * cr
    m20, m21, m22 = -cp * sr, sp, cp * cr
    out[0, 0], out[0, 1], out[0, 2] = cy * m00 - sy * m10, cy * m01 - sy * m11, cy * m02 - sy * m12
    out[1, 0], out[1, 1], out[1, 2] = sy * m00 + cy * m10, sy * m01 + cy * m11, sy * m02 + cy * m12
    out[2, 0], out[2, 1], out[2, 2] = m20, m21, m22
