"""Mass properties of rigid bodies, and how they add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MassProperties:
    """Mass, centre of mass and inertia of one rigid body, in one frame.

    Attributes:
        mass: [kg].
        com: centre of mass (3,) [m].
        inertia: about the centre of mass (3, 3) [kg m^2].
    """

    mass: float
    com: Array
    inertia: Array

    def about(self, point: Array) -> Array:
        """Inertia about ``point`` (3, 3) [kg m^2], by the parallel axis theorem."""
        d = self.com - point
        return self.inertia + self.mass * (float(d @ d) * np.eye(3) - np.outer(d, d))

    def moved(self, offset: Array) -> MassProperties:
        """The same body, seen from a frame whose origin lies at ``-offset`` (3,) [m]."""
        return MassProperties(self.mass, self.com + offset, self.inertia)

    def __add__(self, other: MassProperties) -> MassProperties:
        mass = self.mass + other.mass
        com = (self.mass * self.com + other.mass * other.com) / mass
        return MassProperties(mass, com, self.about(com) + other.about(com))

    def __sub__(self, other: MassProperties) -> MassProperties:
        """What is left of this body when ``other`` is cut out of it."""
        mass = self.mass - other.mass
        com = (self.mass * self.com - other.mass * other.com) / mass
        return MassProperties(mass, com, self.about(com) - other.about(com))

    @property
    def is_physical(self) -> bool:
        """Positive mass, and principal moments that some real mass distribution can have."""
        moments = np.linalg.eigvalsh(self.inertia)
        return bool(self.mass > 0 and moments[0] > 0 and moments[2] <= moments[0] + moments[1])
