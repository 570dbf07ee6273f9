"""Static standing (LO-003): a pelvis target and two ankle targets become one legal pose, or the nearest one.

Three rules, in this order:

1. Each leg allows an interval of pelvis heights: up to full extension, down to the guardrail of knee flexion. The requested
   height is clamped to what both legs allow; nothing but height is changed.
2. Each leg is solved by itself, analytically, its knee in the plane of the hip-ankle line and the bend direction.
3. An ankle that is still out of reach goes to the nearest legal point on its hip-ankle line. No segment stretches; what was
   requested and what was solved are both kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.kinematics import Tree, forward, points_in_world, solve_leg
from sandbox.bodies.reference import NEUTRAL_DROP, REFERENCE, Envelope, Region, envelopes, neutral_angles

EXTENSION_GAP = 2e-9  # [m] that a leg stays short of full extension, where its knee would have no plane

# Axes of a leg, in the order of its joints (see sandbox.bodies.kinematics); the last one, of the toes, is not solved for.
LEG_AXES = ("hip_flexion", "hip_adduction", "hip_rotation", "knee_flexion", "ankle_dorsiflexion", "ankle_inversion")


def _level() -> Array:
    return np.eye(3)


def _flat() -> Array:
    return np.stack((np.eye(3), np.eye(3)))


@dataclass(frozen=True)
class Target:
    """What a pose is asked for.

    Attributes:
        pelvis: mid-hip (3,) [m].
        ankles: left and right ankle centre (2, 3) [m].
        bend: direction in which the knees bend [rad about +Z]; 0 is forward.
        pelvis_rotation: (3, 3), pelvis to world.
        foot_rotation: (2, 3, 3) of each foot, foot to world; flat by default. An ankle has no axis for yaw: the toes point where the
            knee bends, whatever this says.

    Raises:
        ValueError: a number that is not finite.
    """

    pelvis: Array
    ankles: Array
    bend: float = 0.0
    pelvis_rotation: Array = field(default_factory=_level)
    foot_rotation: Array = field(default_factory=_flat)

    def __post_init__(self) -> None:
        for name in ("pelvis", "ankles", "bend", "pelvis_rotation", "foot_rotation"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"target {name} {np.asarray(getattr(self, name)).tolist()} is not finite: give numbers")


class Interval(NamedTuple):
    """Pelvis heights [m] from ``low`` to ``high``."""

    low: float
    high: float

    def clamp(self, height: float) -> float:
        return min(max(height, self.low), self.high)


@dataclass(frozen=True)
class Pose:
    """What was solved.

    Attributes:
        target: what was asked for.
        pelvis: mid-hip (3,) [m]; it differs from the target's in height alone.
        interval: pelvis heights that both legs allow; None where there are none.
        ankles: left and right ankle (2, 3) [m].
        q: joint angles (n,) [rad] in the canonical order.
        points: (P, 3) [m], in the order of ``Anatomy.points``.
    """

    target: Target
    pelvis: Array
    interval: Interval | None
    ankles: Array
    q: Array
    points: Array

    @property
    def lowered(self) -> float:
        """Solved less requested pelvis height [m]."""
        return float(self.pelvis[2] - self.target.pelvis[2])

    @property
    def miss(self) -> Array:
        """How far each ankle is from where it was asked to be (2,) [m]."""
        return np.asarray(np.linalg.norm(self.ankles - self.target.ankles, axis=1))


class StandingSolver:
    """Solves poses of one body.

    Args:
        anatomy: the body.
        limits: envelopes by axis without side; those of the study by default.
        posture: joint angles (n,) [rad] of everything but the legs; the neutral pose by default.
        neutral_drop: neutral height of mid-hip below straight legs [m].
    """

    def __init__(
        self,
        anatomy: Anatomy = REFERENCE,
        limits: Mapping[str, Envelope] | None = None,
        posture: Array | None = None,
        neutral_drop: float = NEUTRAL_DROP,
    ) -> None:
        self.anatomy = anatomy
        self.neutral_drop = neutral_drop
        self.envelopes = envelopes() if limits is None else limits
        self.upper, self.lower = anatomy.length("thigh"), anatomy.length("shank")
        knee = self.envelopes["knee_flexion"].outer[1]
        self.longest = self.upper + self.lower - EXTENSION_GAP
        self.shortest = math.sqrt(self.upper**2 + self.lower**2 + 2 * self.upper * self.lower * math.cos(knee))
        self.tree = Tree.of(anatomy)
        self.posture = neutral_angles(anatomy) if posture is None else posture
        self._hips = np.array([anatomy.points[f"{side}_hip"][1] for side in SIDES])
        self._at = {name: i for i, name in enumerate(anatomy.points)}
        n = len(anatomy.joints)
        self._links = np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n, 3))
        self._still = np.zeros(3), np.zeros(3), np.zeros(n)

    @property
    def neutral_pelvis(self) -> Array:
        """Mid-hip (3,) [m] over level ground at the origin, the neutral drop below straight legs."""
        return np.array([0.0, 0.0, self.anatomy.leg_length - self.neutral_drop])

    @property
    def neutral_ankles(self) -> Array:
        """Left and right ankle (2, 3) [m] under the hips, feet flat on level ground at the origin."""
        return np.asarray(np.add(self._hips, (0.0, 0.0, self.anatomy.ankle_height)))

    def interval(self, target: Target, leg: int) -> Interval | None:
        """Pelvis heights [m] at which the ankle of ``leg`` can be where it is asked to be; None where no height will do."""
        hip = target.pelvis_rotation @ self._hips[leg]
        across = target.pelvis + hip - target.ankles[leg]
        horizontal = math.hypot(across[0], across[1])
        if horizontal > self.longest:
            return None
        at_hip = float(target.ankles[leg, 2] - hip[2])
        low = math.sqrt(max(self.shortest**2 - horizontal**2, 0.0))
        return Interval(at_hip + low, at_hip + math.sqrt(self.longest**2 - horizontal**2))

    def shared_interval(self, target: Target) -> Interval | None:
        """Pelvis heights that both legs allow; None where there are none."""
        left, right = self.interval(target, 0), self.interval(target, 1)
        if left is None or right is None:
            return None
        both = Interval(max(left.low, right.low), min(left.high, right.high))
        return both if both.low <= both.high else None

    def solve(self, target: Target, upper_body: Array | None = None) -> Pose:
        """The pose.

        Where no height suits both legs, the height is the nearest one to the requested that suits one leg, or, where two legs
        want two heights, the middle between them.

        Args:
            target: what is asked for.
            upper_body: joint angles (n,) [rad] to use instead of the posture, legs ignored.

        Raises:
            ValueError: an ankle straight along the bend direction from its hip, which leaves the plane of the knee undefined.
        """
        shared = self.shared_interval(target)
        pelvis = np.array(target.pelvis, dtype=np.float64)
        if shared is not None:
            pelvis[2] = shared.clamp(float(pelvis[2]))
        else:
            wanted = [interval for interval in (self.interval(target, 0), self.interval(target, 1)) if interval is not None]
            if len(wanted) == 2:
                pelvis[2] = 0.5 * (max(i.low for i in wanted) + min(i.high for i in wanted))
            elif wanted:
                pelvis[2] = wanted[0].clamp(float(pelvis[2]))
        q = np.array(self.posture if upper_body is None else upper_body, dtype=np.float64)
        rotation = np.ascontiguousarray(target.pelvis_rotation)
        ankles = np.empty((2, 3))
        for leg, sign in enumerate((-1.0, 1.0)):
            hip = pelvis + rotation @ self._hips[leg]
            ankles[leg] = self._legal(hip, target.ankles[leg])
            across = (ankles[leg] - hip) / np.linalg.norm(ankles[leg] - hip)
            if math.hypot(math.cos(target.bend) * across[0] + math.sin(target.bend) * across[1], across[2]) < 1e-6:
                raise ValueError(
                    f"ankle {target.ankles[leg]} lies along the bend direction from its hip: raise the pelvis or turn the bend"
                )
            first = int(self.tree.leg[leg])
            foot = np.ascontiguousarray(target.foot_rotation[leg])
            solve_leg(rotation, hip, ankles[leg], foot, target.bend, self.upper, self.lower, sign, q[first : first + 7])
        return Pose(target, pelvis, shared, ankles, q, self.points(pelvis, rotation, q))

    def _legal(self, hip: Array, ankle: Array) -> Array:
        """``ankle`` (3,), or the nearest point to it at a legal distance from the ``hip``."""
        line = ankle - hip
        distance = math.sqrt(float(line @ line))
        if distance < 1e-9:
            raise ValueError("an ankle target lies in its hip: give a target at a distance")
        legal = min(max(distance, self.shortest), self.longest)
        return np.asarray(ankle if legal == distance else hip + legal / distance * line, dtype=np.float64)

    def points(self, pelvis: Array, rotation: Array, q: Array) -> Array:
        """Points of the anatomy in the world (P, 3) [m]."""
        velocity, omega, qd = self._still
        link_r, link_p, link_v, link_w, joint_a = self._links
        t = self.tree
        forward(pelvis, rotation, velocity, omega, q, qd, t.parent, t.axis, t.origin, link_r, link_p, link_v, link_w, joint_a)
        out = np.empty((len(t.point), 3))
        points_in_world(t.point_link, t.point, link_r, link_p, out)
        return out

    def point(self, pose: Pose, name: str) -> Array:
        """One point (3,) [m] of a pose, for instance ``left_knee``."""
        return np.asarray(pose.points[self._at[name]])

    def angle(self, pose: Pose, joint: str) -> float:
        """Angle [rad] of a joint, for instance ``left_knee_flexion``."""
        return float(pose.q[self.anatomy.joint_index[joint]])

    def knee_ahead(self, pose: Pose, leg: int) -> float:
        """How far the knee lies from the hip-ankle line in the bend direction [m]: negative where it has flipped."""
        hip, knee, ankle = (self.point(pose, f"{SIDES[leg]}_{name}") for name in ("hip", "knee", "ankle"))
        axis = (ankle - hip) / np.linalg.norm(ankle - hip)
        bend = np.array([-math.sin(pose.target.bend), math.cos(pose.target.bend), 0.0])
        bend -= float(bend @ axis) * axis
        return float((knee - hip) @ bend / np.linalg.norm(bend))

    def regions(self, pose: Pose) -> dict[str, Region]:
        """Where each axis of the legs lies in its envelope, by joint name."""
        names = [f"{side}_{axis}" for side in SIDES for axis in LEG_AXES]
        return {name: self.envelopes[name.partition("_")[2]].region(self.angle(pose, name)) for name in names}
