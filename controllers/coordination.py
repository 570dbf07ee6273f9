"""How pelvis, trunk and arms go along with the legs (LO-006): targets that never touch a foothold.

Pelvis and thorax turn against each other with the separation of the feet; the pelvis shifts and lists towards the foot that
carries, and both fade to nothing at the support transitions. The arms follow the opposite leg through a damped second-order
response. A wrist is put where a corridor beside the torso and the flexion of the elbow let it be, and the arm is solved to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import numpy as np

from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.arm import ARM_JOINTS, chain_distance, solve_arm
from sandbox.bodies.inertia import Array
from sandbox.config import nearest
from sandbox.controllers.velocity import Span
from sandbox.spatial import rotation_y, rotation_z

Mode = Literal["legs", "pelvis", "trunk", "full"]
MODES: Final = get_args(Mode)

ARM_FREQUENCY: Final = 14.0  # [rad/s] of the arms' response, critically damped
POLE: Final = np.array([0.35, -1.0, 0.0])  # direction of the right elbow off its arm, in the thorax: back and a little out


def check_mode(mode: str) -> None:
    """Raise ValueError for an unknown coordination mode, naming the nearest."""
    if mode not in MODES:
        raise ValueError(f"unknown coordination mode {mode!r}{nearest(mode, MODES)}")


def _degrees(slow: float, fast: float) -> Span:
    return Span(math.radians(slow), math.radians(fast))


@dataclass(frozen=True)
class Coordination:
    """Amplitudes, each at the lowest and at the highest speed of a profile.

    Attributes:
        mode: ``legs`` only, with the ``pelvis``, with pelvis and ``trunk``, or ``full`` with the arms.
        pelvis_yaw, obliquity, thorax_yaw: [rad]; shift: [m] to the side that carries.
        corridor: wrist from the middle of the torso, in shoulder widths.
        arm_swing: wrist ahead and behind [m]; arm_offset: middle of that [m].
        elbow, elbow_forward: flexion [rad] with the arm in the middle, and more of it with the arm ahead.
    """

    mode: Mode = "full"
    pelvis_yaw: Span = field(default=_degrees(1.0, 1.5))
    obliquity: Span = field(default=_degrees(0.3, 0.5))
    shift: Span = field(default=Span(0.010, 0.014))
    thorax_yaw: Span = field(default=_degrees(1.5, 3.0))
    corridor: Span = field(default=Span(0.78, 0.72))
    arm_swing: Span = field(default=Span(0.07, 0.14))
    arm_offset: Span = field(default=Span(0.03, 0.04))
    elbow: Span = field(default=_degrees(14.0, 22.0))
    elbow_forward: Span = field(default=_degrees(4.0, 9.0))

    def __post_init__(self) -> None:
        check_mode(self.mode)

    def has(self, mode: Mode) -> bool:
        """Whether this mode includes that of ``mode``."""
        return MODES.index(self.mode) >= MODES.index(mode)


class ArmDrive:
    """Dimensionless swing of both arms, -1 behind to 1 ahead: position and speed persist from tick to tick.

    Attributes:
        position, speed: (2,) left and right, [1] and [1/s].
    """

    def __init__(self, frequency: float = ARM_FREQUENCY) -> None:
        self.frequency = frequency
        self.position, self.speed = np.zeros(2), np.zeros(2)

    def advance(self, target: Array, dt: float) -> None:
        """One tick towards ``target`` (2,): critically damped, exact for a target that stands still during the tick."""
        w, decay = self.frequency, math.exp(-self.frequency * dt)
        off = self.position - target
        rise = self.speed + w * off
        self.position = target + (off + rise * dt) * decay
        self.speed = (self.speed - w * rise * dt) * decay


class UpperBody:
    """Puts pelvis targets and arms together for one body.

    Args:
        anatomy: the body.
        coordination: amplitudes and mode.
    """

    def __init__(self, anatomy: Anatomy, coordination: Coordination) -> None:
        self.anatomy, self.coordination = anatomy, coordination
        joint = anatomy.joint_index
        self._twist = joint["lumbar_rotation"], joint["thorax_rotation"]
        self._lateral = joint["lumbar_lateral"]
        self._arm = [joint[f"{side}_shoulder_flexion"] for side in SIDES]
        self._shoulder = [anatomy.points[f"{side}_shoulder"][1] for side in SIDES]
        self.width = float(self._shoulder[1][0] - self._shoulder[0][0])
        self._upper, self._fore = anatomy.length("upper_arm"), anatomy.length("forearm")

    def pelvis(self, share: float, separation: float, carrying: float) -> tuple[Array, float]:
        """Orientation of the pelvis (3, 3) and its sideways shift [m].

        Args:
            share: of the range of speeds, 0 to 1.
            separation: left less right foot, over a step length, -1 to 1.
            carrying: -1 where the left foot carries alone, 1 the right, 0 both.
        """
        c = self.coordination
        if not c.has("pelvis"):
            return np.eye(3), 0.0
        yaw = -c.pelvis_yaw.at(share) * separation
        # the side that carries is up; a turn about +Y lowers the right side
        return rotation_z(yaw) @ rotation_y(-c.obliquity.at(share) * carrying), c.shift.at(share) * carrying

    def joints(self, q: Array, share: float, separation: float, carrying: float, drive: Array) -> Array:
        """Joint angles ``q`` (n,) [rad] with trunk and arms put in, as far as the mode goes. The head looks ahead with the thorax."""
        c = self.coordination
        out = q.copy()
        if c.has("trunk"):
            twist = (c.thorax_yaw.at(share) + c.pelvis_yaw.at(share)) * separation
            out[self._twist[0]] = out[self._twist[1]] = 0.5 * twist
            out[self._lateral] = c.obliquity.at(share) * carrying  # the trunk stays upright
        if c.has("full"):
            self._arms(out, share, drive)
        return out

    def _arms(self, q: Array, share: float, drive: Array) -> None:
        c, level = self.coordination, np.eye(3)
        for i, sign in enumerate((-1.0, 1.0)):
            flexion = c.elbow.at(share) + c.elbow_forward.at(share) * max(float(drive[i]), 0.0) ** 2
            distance = chain_distance(self._upper, self._fore, flexion)
            across = c.corridor.at(share) * self.width * sign - self._shoulder[i][0]
            ahead = c.arm_offset.at(share) + c.arm_swing.at(share) * float(drive[i])
            wrist = self._shoulder[i] + np.array([across, ahead, -math.sqrt(distance**2 - across**2 - ahead**2)])
            first = self._arm[i]
            solve_arm(
                level, self._shoulder[i], wrist, POLE * (sign, 1.0, 1.0), self._upper, self._fore, sign, q[first : first + ARM_JOINTS]
            )
