"""Which steps a body can take at all, in closed form.

At foot strike both ankles stand in their prints. The front leg reaches furthest with a straight knee; the rear leg with its hip fully
extended and, where that is not enough, its knee bent until the shank lies level. With the hips at height h over the rear ankle::

    front(h) = sqrt(l^2 - (h - rise)^2)
    rear(h)  = t sin(a) + s sin(b),  t cos(a) + s cos(b) = h,  a <= b <= 90 deg

where l is the longest distance from hip to ankle, t and s are thigh and shank, and a is how far the thigh swings back behind the
vertical: hip extension plus pelvic tilt. Both grow as the hips sink, so that the longest step has the shank level: h = t cos(a). Pelvic
rotation adds the fore-aft distance of the hips. Legs that lean sideways are shorter in this plane by the cosine of their lean. All legs
are taken as two rods whose axes are those of the field (flexion about X, adduction about Y).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sandbox.footprints.anatomy import WalkerAnatomy
from sandbox.footprints.prints import Step

SPARE = 0.97  # share of the longest step that counts as reachable: the corner of all limits is no place to walk in (assumed)
MOST_RISE = 0.35  # of the leg between thigh and ankle, up or down from print to print


class Reachable(NamedTuple):
    """Whether a step can be taken, the nearest one that can, and why not."""

    possible: bool
    nearest: Step
    reason: str


class Reach:
    """The steps of one body.

    Attributes:
        leg: longest and shortest distance from hip to ankle [m].
        width: least and greatest step width [m].
        rise: greatest difference of height between two prints [m].
    """

    def __init__(self, anatomy: WalkerAnatomy) -> None:
        self.anatomy = anatomy
        t, s = anatomy.thigh, anatomy.shank
        low, high = anatomy.limits("knee_flexion")
        straightest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        self.leg = _side(t, s, straightest), _side(t, s, min(max(abs(low), abs(high)), math.pi))
        self.back = -anatomy.limits("hip_flexion")[0] + anatomy.limits("pelvis_tilt")[1]
        self.front = anatomy.limits("hip_flexion")[1] - anatomy.limits("pelvis_tilt")[0]
        self.turn = min(abs(v) for v in anatomy.limits("pelvis_rotation"))
        out, into = (self.leg[0] * math.sin(min(max(a, 0.0), math.pi / 2)) for a in self._lean)
        half = float(anatomy.hip[0])
        self.width = (max(0.0, 2 * (half - into)), 2 * SPARE * (half + out))
        self.rise = MOST_RISE * self.leg[0]

    @property
    def _lean(self) -> tuple[float, float]:
        low, high = self.anatomy.limits("hip_adduction")
        return -low, high

    def longest(self, width: float, rise: float = 0.0) -> float:
        """The longest step [m] of this width and rise [m]; 0 where there is none."""
        t, s, half = self.anatomy.thigh, self.anatomy.shank, float(self.anatomy.hip[0])
        back = min(max(self.back, 0.0), math.pi / 2)
        aside = abs(width - 2 * half * math.cos(self.turn)) / 2
        lowest = max(t * math.cos(back), self.leg[0] * math.cos(min(self.front, math.pi / 2)) + rise)
        if aside >= self.leg[0] or lowest >= self.leg[0]:
            return 0.0
        lean = math.cos(math.asin(min(1.0, aside / self.leg[0])))
        leg, t, s = lean * self.leg[0], lean * t, lean * s
        h = max(t * math.cos(back), lean * lowest)
        front = math.sqrt(max(0.0, leg * leg - (h - rise) ** 2))
        if h >= (t + s) * math.cos(back):
            rear = math.sqrt(max(0.0, leg * leg - h * h))
        else:
            rear = t * math.sin(back) + s * math.sin(math.acos(min(1.0, max(0.0, (h - t * math.cos(back)) / s))))
        return max(0.0, SPARE * (front + rear) + 2 * half * math.sin(self.turn))

    def check(self, step: Step) -> Reachable:
        """Whether a step can be taken."""
        low, high = self.width
        width = min(max(step.width, low), high)
        rise = min(max(step.rise, -self.rise), self.rise)
        length = min(step.length, self.longest(width, rise))
        reasons = []
        if width != step.width:
            reasons.append(f"its width {step.width:.3f} m is outside {low:.3f} to {high:.3f} m")
        if rise != step.rise:
            reasons.append(f"its rise {step.rise:.3f} m is outside {-self.rise:.3f} to {self.rise:.3f} m")
        if length != step.length:
            reasons.append(f"its length {step.length:.3f} m is more than the {length:.3f} m that legs and joint limits allow")
        nearest = Step(max(length, 1e-3), width, rise, step.turn)
        return Reachable(not reasons, nearest, "; ".join(reasons))

    def require(self, step: Step, where: str = "the print") -> None:
        """Raise :class:`UnreachableError` for a step that cannot be taken."""
        found = self.check(step)
        if not found.possible:
            n = found.nearest
            raise UnreachableError(
                f"{where} cannot be reached: {found.reason}; the nearest that can be lies {n.length:.3f} m ahead and {n.width:.3f} m aside"
                + (f", {n.rise:+.3f} m up" if n.rise else ""),
                n,
            )


class UnreachableError(ValueError):
    """A step out of reach; ``nearest`` is the nearest one that is not."""

    def __init__(self, message: str, nearest: Step) -> None:
        super().__init__(message)
        self.nearest = nearest


def _side(a: float, b: float, bend: float) -> float:
    """Third side of two rods, ``bend`` [rad] away from straight."""
    return math.sqrt(max(0.0, a * a + b * b + 2 * a * b * math.cos(bend)))
