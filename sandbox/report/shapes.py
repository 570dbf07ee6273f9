"""Meshes of what is drawn: segments of the body, boxes, balls. Pure arrays, for every program that draws them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.report.figure import Part, rgb

Array = NDArray[np.float64]
Faces = NDArray[np.int64]

SIDES, RINGS = 20, 6  # of a drawn part: around it, and along each of its round ends
TAPERS = (0.66, 0.85, 1.0)  # end over start radius of cylinders that are drawn in batches: each part takes the nearest
LIGHT_GAMMA = 1.9  # by which colours are darkened against the bright light of viser's player


class Mesh(NamedTuple):
    """Vertices (V, 3) [m], their normals (V, 3), faces (F, 3)."""

    vertices: Array
    normals: Array
    faces: Faces


def part_mesh(part: Part) -> Mesh:
    """A tapered round segment along +Z from its start, wide along X, as long as in the first row."""
    length = float(np.linalg.norm(part.end[0] - part.start[0]))
    low, high = part.radius
    cap = np.linspace(0.0, math.pi / 2, RINGS)
    # profile from pole to pole: distance from the axis, height, and the normal's slope
    radius = np.concatenate((low * np.sin(cap), high * np.cos(cap)))
    height = np.concatenate((-low * np.cos(cap), length + high * np.sin(cap)))
    out = np.concatenate((np.sin(cap), np.cos(cap)))
    up = np.concatenate((-np.cos(cap), np.sin(cap)))
    turn = np.linspace(0.0, 2 * math.pi, SIDES, endpoint=False)
    c, s = np.cos(turn), np.sin(turn)
    vertices = np.stack((part.wide * np.outer(radius, c), np.outer(radius, s), np.outer(height, np.ones(SIDES))), axis=-1)
    normals = np.stack((np.outer(out, c) / part.wide, np.outer(out, s), np.outer(up, np.ones(SIDES))), axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    i, j = np.meshgrid(np.arange(2 * RINGS - 1), np.arange(SIDES), indexing="ij")
    a, b = SIDES * i + j, SIDES * i + (j + 1) % SIDES
    faces = np.concatenate((np.stack((a, b, b + SIDES), axis=-1), np.stack((a, b + SIDES, a + SIDES), axis=-1))).reshape(-1, 3)
    return Mesh(vertices.reshape(-1, 3), normals.reshape(-1, 3), faces)


def attitudes(part: Part) -> Array:
    """Quaternions (T, 4) that bring +Z along the part and +X along its lateral direction; sign kept continuous."""
    from scipy.spatial.transform import Rotation

    along = part.end - part.start
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    lateral = part.lateral - np.sum(part.lateral * along, axis=1, keepdims=True) * along
    length = np.linalg.norm(lateral, axis=1, keepdims=True)
    other = np.cross(along, np.array([0.0, 1.0, 0.0]))  # for a part that lies along its own lateral direction
    other /= np.maximum(np.linalg.norm(other, axis=1, keepdims=True), 1e-9)
    x = np.where(length > 0.05, lateral / np.maximum(length, 1e-9), other)
    out = Rotation.from_matrix(np.stack((x, np.cross(along, x), along), axis=2)).as_quat()
    flips = np.where(np.sum(out[1:] * out[:-1], axis=1) < 0, -1.0, 1.0)
    return np.asarray(out * np.concatenate(([1.0], np.cumprod(flips)))[:, None])


def box_mesh(half: Array) -> Mesh:
    """A box around the origin, from its half sizes (3,) [m]; each face has its own corners, so that its edges are sharp."""
    vertices, normals, faces = [], [], []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for sign in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corner = sign * np.eye(3)[axis] + sign * a * np.eye(3)[u] + b * np.eye(3)[v]
                vertices.append(corner * half)
                normals.append(normal)
            k = len(vertices) - 4
            faces += [(k, k + 1, k + 2), (k, k + 2, k + 3)]
    return Mesh(np.array(vertices), np.array(normals), np.array(faces))


def lit(colour: str) -> tuple[int, int, int]:
    """Colour of a surface that looks like ``colour`` (#rrggbb) under the bright light of viser's player."""
    red, green, blue = (round(255 * (channel / 255) ** LIGHT_GAMMA) for channel in rgb(colour))
    return red, green, blue


def taper_of(part: Part) -> float:
    """Which of :data:`TAPERS` the part is drawn with."""
    return min(TAPERS, key=lambda taper: abs(taper - part.radius[1] / part.radius[0]))


def tapered_cylinder(taper: float) -> tuple[Array, NDArray[np.uint32]]:
    """Vertices and faces of an open cylinder from z = 0 (radius 1) to z = 1 (radius ``taper``)."""
    turn = np.linspace(0, 2 * np.pi, SIDES, endpoint=False)
    ring = np.stack((np.cos(turn), np.sin(turn)), axis=1)
    vertices = np.vstack((np.column_stack((ring, np.zeros(SIDES))), np.column_stack((taper * ring, np.ones(SIDES)))))
    i = np.arange(SIDES)
    j = (i + 1) % SIDES
    faces = np.vstack((np.column_stack((i, j, j + SIDES)), np.column_stack((i, j + SIDES, i + SIDES))))
    return vertices, faces.astype(np.uint32)


def ball(rings: int = 10, sides: int = SIDES) -> tuple[Array, NDArray[np.uint32]]:
    """Vertices and faces of a unit sphere."""
    theta = np.linspace(0, np.pi, rings + 1)
    turn = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    vertices = np.array([(math.sin(t) * math.cos(p), math.sin(t) * math.sin(p), math.cos(t)) for t in theta for p in turn])
    faces = []
    for a in range(rings):
        for b in range(sides):
            c = (b + 1) % sides
            p, q, r, s = a * sides + b, (a + 1) * sides + b, (a + 1) * sides + c, a * sides + c
            faces += [(p, q, r), (p, r, s)]
    return vertices, np.array(faces, dtype=np.uint32)
