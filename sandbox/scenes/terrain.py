"""Ground: data that the plants build, and that the pictures draw."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Box:
    """A box on the ground: centre (x, y) [m], half sizes along x and y [m], height of its top [m]."""

    x: float
    y: float
    half_x: float
    half_y: float
    height: float


@dataclass(frozen=True)
class Terrain:
    """A plane through the origin, tilted about the X axis, with boxes on it.

    Attributes:
        slope: [rad], positive uphill in the direction +Y.
        boxes: obstacles; the walker does not know of them.
        friction: of the ground against feet, Coulomb.
    """

    slope: float = 0.0
    boxes: tuple[Box, ...] = ()
    friction: float = 0.8

    def height_at(self, x: float, y: float) -> float:
        """Height of the ground [m] at a place [m]."""
        base = math.tan(self.slope) * y
        tops = [b.height for b in self.boxes if abs(x - b.x) <= b.half_x and abs(y - b.y) <= b.half_y]
        return base + max(tops, default=0.0)


def bumps(height: float, length: float, seed: int, start: float = 2.0, spacing: float = 0.9, friction: float = 0.8) -> Terrain:
    """Blind bumps: boxes of half to full ``height`` [m], strewn over ``length`` [m] of a 3 m wide track.

    Boxes are 0.15-0.4 m long and 0.3-0.8 m wide, one every ``spacing`` [m] on average, from ``start`` [m] on.
    """
    rng = np.random.default_rng(seed)
    boxes = []
    y = start
    while y < length:
        # two a row, so that feet meet them wherever the walker drifts
        for x in (rng.uniform(-1.2, 0.0), rng.uniform(0.0, 1.2)):
            half_x, half_y = rng.uniform(0.15, 0.4), rng.uniform(0.075, 0.2)
            boxes.append(Box(float(x), float(y), float(half_x), float(half_y), float(height * rng.uniform(0.5, 1.0))))
        y += spacing * rng.uniform(0.7, 1.3)
    return Terrain(boxes=tuple(boxes), friction=friction)


def steps(count: int, rise: float, run: float, start: float, width: float, landing: float) -> tuple[Box, ...]:
    """Steps up, a landing, and the same steps down again, across the way, on level ground.

    Args:
        count: of steps on either side; rise: of each [m]; run: depth of a tread [m].
        start: where the first riser stands [m]; width: of the steps [m]; landing: of the highest tread beyond its run [m].
    """
    far = start + 2 * count * run + landing - run
    return tuple(
        Box(0.0, (near + back) / 2, width / 2, (back - near) / 2, (k + 1) * rise)
        for k in range(count)
        for near, back in [(start + k * run, far - k * run)]
    )
