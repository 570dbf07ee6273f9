"""Gait cycles: from a foot's touchdown (0 %) to its next one (100 %), and curves over them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.events import GaitEvents

Array = NDArray[np.float64]

SAMPLES = 101
STRIDE_TIME = (0.45, 2.6)  # [s]: shorter or longer is no stride of walking


@dataclass(frozen=True)
class Cycle:
    """One stride of one foot; times [s].

    Attributes:
        foot: 0 left, 1 right.
        start, end: its touchdowns.
        liftoff: its lift-off between them.
        other_liftoff: lift-off of the other foot that ends the first double support.
        other_touchdown: touchdown of the other foot that begins the second.
    """

    foot: int
    start: float
    end: float
    liftoff: float
    other_liftoff: float
    other_touchdown: float

    @property
    def time(self) -> float:
        """Stride time [s]."""
        return self.end - self.start

    @property
    def stance_fraction(self) -> float:
        return (self.liftoff - self.start) / self.time

    @property
    def double_support_fraction(self) -> float:
        """Both double supports together, as a fraction of the cycle; 0 where there is flight."""
        first = max(0.0, self.other_liftoff - self.start)
        second = max(0.0, self.liftoff - self.other_touchdown)
        return (first + second) / self.time


def cycles(events: GaitEvents, start: float = -np.inf, end: float = np.inf) -> list[Cycle]:
    """Complete strides of both feet between ``start`` and ``end`` [s], in the order of their touchdowns.

    A stride counts when both feet leave the ground once and the other foot touches down once in it.
    """
    out = []
    for foot in (0, 1):
        other = 1 - foot
        for a, b in pairwise(events.touchdowns(foot).tolist()):
            if a < start or b > end or not STRIDE_TIME[0] <= b - a <= STRIDE_TIME[1]:
                continue
            up = _between(events.liftoffs(foot), a, b)
            down = _between(events.touchdowns(other), a, b)
            if len(up) != 1 or len(down) != 1:
                continue
            left = _between(events.liftoffs(other), a - 0.4 * (b - a), down[0])
            if len(left):
                out.append(Cycle(foot, a, b, float(up[0]), float(left[-1]), float(down[0])))
    return sorted(out, key=lambda cycle: cycle.start)


def _between(times: Array, a: float, b: float) -> Array:
    return times[(times > a) & (times < b)]


def resample(time: Array, values: Array, start: float, end: float, samples: int = SAMPLES) -> Array:
    """``values`` (T, ...) given at ``time`` (T,), at ``samples`` equal steps from ``start`` to ``end``: (samples, ...)."""
    at = np.linspace(start, end, samples)
    flat = values.reshape(len(time), -1)
    out = np.stack([np.interp(at, time, flat[:, k]) for k in range(flat.shape[1])], axis=1)
    return out.reshape(samples, *values.shape[1:])


def cycle_curves(time: Array, values: NDArray[Any], strides: list[Cycle], samples: int = SAMPLES) -> Array:
    """Curves (C, samples) of a quantity that both feet have, each over the strides of its own foot.

    Args:
        time: (T,) [s].
        values: (T, 2), left and right.
        strides: C of them.
        samples: per cycle.
    """
    if not strides:
        return np.empty((0, samples))
    return np.stack([resample(time, values[:, c.foot], c.start, c.end, samples) for c in strides])
