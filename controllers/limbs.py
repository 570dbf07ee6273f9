"""Timing of a walk that does not stop at its steps (LO-007): fixed ticks, one clock per leg, and a memory of contacts.

Phases are in cycles and are never wrapped: the whole part counts cycles, the fraction is 0 at touchdown. A contact may correct the
timing, but only by changing the rate of the clocks within a bound; no clock is ever set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from sandbox.bodies.inertia import Array

TICK_RATE: Final = 120  # [Hz]
LARGEST_CORRECTION: Final = 0.05  # [cycles] that one contact may ask for
LARGEST_RATE_CHANGE: Final = 0.15  # of the clocks' rate, by corrections
CORRECTION_RATE: Final = 3.0  # [1/s] at which a correction is worked off
RING: Final = 16  # contacts that are remembered


class FixedTicks:
    """Real time in, whole ticks out: the same ticks whatever the frames.

    Args:
        rate: of ticks [Hz].
    """

    def __init__(self, rate: int = TICK_RATE) -> None:
        self.rate = rate
        self.elapsed = 0.0
        self.done = 0

    def frame(self, dt: float) -> int:
        """Ticks to make for a frame of ``dt`` [s].

        Raises:
            ValueError: a time that is negative or not finite.
        """
        if not 0 <= dt < math.inf:
            raise ValueError(f"a frame of {dt:g} s cannot pass: give one of at least 0")
        self.elapsed += dt
        due = math.floor(self.elapsed * self.rate + 1e-6) - self.done
        self.done += due
        return due


class Contact(NamedTuple):
    """A touchdown or release: tick, foot, which of both, and the correction of timing that it asked for [cycles]."""

    tick: int
    foot: int
    touchdown: bool
    correction: float


@dataclass
class ContactHistory:
    """The last :data:`RING` contacts, oldest first when iterated; a ring, so that a long walk takes no more room than a short one."""

    count: int = 0

    def __post_init__(self) -> None:
        self._ring: list[Contact | None] = [None] * RING

    def add(self, contact: Contact) -> None:
        self._ring[self.count % RING] = contact
        self.count += 1

    def __len__(self) -> int:
        return min(self.count, RING)

    def __iter__(self) -> Iterator[Contact]:
        for k in range(self.count - len(self), self.count):
            contact = self._ring[k % RING]
            if contact is not None:
                yield contact


class LimbClocks:
    """One clock per leg, half a cycle apart where all is even.

    Attributes:
        phase: (2,) [cycles], unwrapped.
        pending: (2,) corrections that are still to be worked off [cycles].
    """

    def __init__(self, left: float = 0.0, right: float = 0.5) -> None:
        self.phase: Array = np.array([left, right])
        self.pending: Array = np.zeros(2)

    def advance(self, rate: float, dt: float) -> None:
        """One tick of ``dt`` [s] at ``rate`` [cycles/s], corrections within their bound."""
        bound = LARGEST_RATE_CHANGE * rate * dt
        for i in range(2):
            extra = min(max(CORRECTION_RATE * dt * self.pending[i], -bound), bound)
            self.pending[i] -= extra
            self.phase[i] += rate * dt + extra

    def offset(self) -> float:
        """How far the right leg is ahead of half a cycle after the left [cycles], -0.5 to 0.5."""
        return (float(self.phase[1] - self.phase[0]) - 0.5 + 0.5) % 1.0 - 0.5

    def touchdown(self) -> float:
        """A foot has met the ground: ask for the even spacing of both clocks, half of it from each. Returns what is asked for [cycles]."""
        correction = min(max(0.5 * self.offset(), -LARGEST_CORRECTION), LARGEST_CORRECTION)
        self.pending[0], self.pending[1] = correction, -correction
        return correction
