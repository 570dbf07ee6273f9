"""Poses over time, and what follows from them: velocities, centre of mass, momentum, and a recording to look at.

For motions that a formula or a solver gives, not a simulation: nothing here knows forces, and the recording has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.kinematics import Tree, angular_momentum, centre_of_mass, forward
from sandbox.mechanics import extrapolated_com
from sandbox.recording import COLUMNS, Recording, make_header
from sandbox.spatial import matrix_from_quaternion
from sandbox.state import ContactState, SolePart

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """A touchdown or lift-off at ``time`` [s] by ``foot``."""

    time: float
    foot: int
    touchdown: bool
    part: SolePart


class Trajectory:
    """A body in motion.

    Args:
        anatomy: the body.
        time: (T,) [s], evenly spaced where velocities are to follow from it.
        root_position: mid-hip (T, 3) [m].
        q: joint angles (T, n) [rad].
        root_rotation: (T, 3, 3), pelvis to world; level and straight ahead by default.
        still: the poses have nothing to do with one another: no velocities.
        rates: root velocity (T, 3), root angular velocity (T, 3), joint speeds (T, n), where they are known. Otherwise they are
            second-order differences: exact where a path is a parabola, O(dt^2) elsewhere.

    Raises:
        ValueError: arrays of different lengths.
    """

    def __init__(
        self,
        anatomy: Anatomy,
        time: Array,
        root_position: Array,
        q: Array,
        root_rotation: Array | None = None,
        still: bool = False,
        rates: tuple[Array, Array, Array] | None = None,
    ) -> None:
        self.anatomy = anatomy
        self.time = np.asarray(time, dtype=np.float64)
        self.root_position = np.asarray(root_position, dtype=np.float64)
        self.q = np.asarray(q, dtype=np.float64)
        count = len(self.time)
        self.root_rotation = np.broadcast_to(np.eye(3), (count, 3, 3)) if root_rotation is None else np.asarray(root_rotation)
        if not len(self.root_position) == len(self.q) == len(self.root_rotation) == count:
            raise ValueError("time, root and joint angles of a trajectory must be equally long")
        self._moving = count > 2 and not still
        self.root_velocity, self.root_angular_velocity, self.qd = rates or (
            self._rate(self.root_position),
            self._turning(),
            self._rate(self.q),
        )

    def _rate(self, values: Array) -> Array:
        return np.gradient(values, self.time, axis=0, edge_order=2) if self._moving else np.zeros_like(values)

    def _turning(self) -> Array:
        """Angular velocity (T, 3) [rad/s] in the world, from the rotations on either side."""
        count = len(self.time)
        if not self._moving:
            return np.zeros((count, 3))
        before, after = np.maximum(np.arange(count) - 1, 0), np.minimum(np.arange(count) + 1, count - 1)
        turn = Rotation.from_matrix(self.root_rotation[after] @ np.swapaxes(self.root_rotation[before], 1, 2)).as_rotvec()
        return np.asarray(turn / (self.time[after] - self.time[before])[:, None])

    @cached_property
    def _bodies(self) -> tuple[Array, Array, Array, Array, Array]:
        """Link rotations (T, L, 3, 3) and origins (T, L, 3), CoM, its velocity, and angular momentum about it (T, 3)."""
        t, count, n = Tree.of(self.anatomy), len(self.time), self.q.shape[1]
        rotations, origins = np.empty((count, n + 1, 3, 3)), np.empty((count, n + 1, 3))
        velocity, omega, axes = np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n, 3))
        com, com_velocity, momentum = np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 3))
        for k in range(count):
            forward(
                self.root_position[k], np.ascontiguousarray(self.root_rotation[k]), self.root_velocity[k], self.root_angular_velocity[k],
                self.q[k], self.qd[k], t.parent, t.axis, t.origin, rotations[k], origins[k], velocity, omega, axes,
            )  # fmt: skip
            centre_of_mass(t.mass, t.com, rotations[k], origins[k], velocity, omega, 0, com[k], com_velocity[k])
            angular_momentum(t.mass, t.com, t.inertia, rotations[k], origins[k], velocity, omega, com[k], com_velocity[k], momentum[k])
        return rotations, origins, com, com_velocity, momentum

    @property
    def com(self) -> Array:
        """Centre of mass (T, 3) [m]."""
        return self._bodies[2]

    @property
    def com_velocity(self) -> Array:
        """(T, 3) [m/s]."""
        return self._bodies[3]

    @property
    def angular_momentum(self) -> Array:
        """About the centre of mass (T, 3) [kg m^2/s]."""
        return self._bodies[4]

    @property
    def xcom(self) -> Array:
        """Extrapolated centre of mass (T, 2) [m], with the height of the centre of mass as pendulum length."""
        heights = self.com[:, 2]
        rows = zip(self.com, self.com_velocity, heights.tolist(), strict=True)
        return np.array([extrapolated_com(com, velocity, height) for com, velocity, height in rows])

    def points(self, landmarks: Mapping[str, tuple[str, Array]]) -> dict[str, Array]:
        """Paths (T, 3) [m] of points fixed in links: name to link and position in the link's frame."""
        rotations, origins = self._bodies[:2]
        index = self.anatomy.link_index
        return {name: origins[:, index[link]] + rotations[:, index[link]] @ point for name, (link, point) in landmarks.items()}

    def recording(
        self,
        scene: str,
        contact: NDArray[Any] | None = None,
        events: Sequence[Event] = (),
        footholds: Sequence[tuple[float, int, Array]] = (),
        command: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Recording:
        """A recording without forces.

        Args:
            scene: what the motion is called.
            contact: :class:`~sandbox.state.ContactState` of each foot (T, 2); flat by default.
            events: touchdowns and lift-offs.
            footholds: time [s], foot, position (3,) [m].
            command, settings: for the header.
        """
        a, count = self.anatomy, len(self.time)
        points = self.points(a.points)
        speed = float((command or {}).get("speed_mps", 0.0))
        columns: dict[str, Any] = {
            "time": self.time,
            "q": self.q,
            "qd": self.qd,
            "root_position": self.root_position,
            "root_quaternion": Rotation.from_matrix(self.root_rotation).as_quat(),
            "root_velocity": self.root_velocity,
            "root_angular_velocity": self.root_angular_velocity,
            "points": np.stack(list(points.values()), axis=1),
            "contact_state": np.full((count, 2), ContactState.FLAT) if contact is None else contact,
            "com": self.com,
            "com_velocity": self.com_velocity,
            "xcom": np.column_stack((self.xcom, np.zeros(count))),
            "command": np.tile((speed, 0.0), (count, 1)),
            "heading": np.zeros(count),
            "event_time": [e.time for e in events],
            "event_foot": [e.foot for e in events],
            "event_touchdown": [e.touchdown for e in events],
            "event_part": [int(e.part) for e in events],
            "event_force": [np.nan for _ in events],
            "event_predicted": [np.nan for _ in events],
            "foothold_time": [time for time, _, _ in footholds],
            "foothold_foot": [foot for _, foot, _ in footholds],
            "foothold_position": np.array([place for _, _, place in footholds]).reshape(-1, 3),
            "foothold_yaw": [0.0 for _ in footholds],
        }
        header = make_header(
            plant="kinematic",
            stance="pinned",
            scene=scene,
            body={"mass_kg": a.mass, "height_m": a.height, "sex": a.sex, "leg_m": a.leg_length, "foot_half_width_m": a.foot_half_width},
            command={"speed_mps": speed, "heading_rate_rps": 0.0, **(command or {})},
            seed=0,
            joint_names=[j.name for j in a.joints],
            point_names=list(points),
            body_names=[link.name for link in a.links],
            joint_max_torque=[j.max_torque for j in a.joints],
            settings=settings,
        )
        return Recording(header, {name: np.asarray(value, dtype=COLUMNS[name].dtype) for name, value in columns.items()})


def contact_events(time: Array, mode: NDArray[Any], ankle: Array, half: float) -> tuple[list[Event], list[tuple[float, int, Array]]]:
    """Touchdowns, lift-offs and footholds of feet that point straight ahead, for :meth:`Trajectory.recording`.

    Args:
        time: (T,) [s]; mode: (T, 2) :class:`~sandbox.state.ContactState` of left and right.
        ankle: (T, 2, 2) forward and up [m]; half: of the distance between the feet [m].
    """
    events, footholds = [], []
    for k, i in np.argwhere((mode[1:] != ContactState.AIRBORNE) != (mode[:-1] != ContactState.AIRBORNE)).tolist():
        now, before, after = float(time[k + 1]), mode[k, i], mode[k + 1, i]
        down = after != ContactState.AIRBORNE
        if down:
            part = SolePart.HEEL if after == ContactState.HEEL else SolePart.BALL
            footholds.append((now, i, np.array([(2 * i - 1) * half, *ankle[k + 1, i]])))
        else:
            part = SolePart.TOE if before == ContactState.TOE else SolePart.BALL
        events.append(Event(now, i, bool(down), part))
    return events, footholds


def recorded_momentum(recording: Recording) -> Array:
    """Angular momentum (T, 3) [kg m^2/s] about the centre of mass, of the body that the header names in the recorded motion.

    Raises:
        ValueError: the recording has no joint angles and speeds, or other joints than the header's body.
    """
    if not recording.has("q", "qd", "root_position", "root_quaternion", "root_velocity", "root_angular_velocity"):
        raise ValueError("the recording has no joint angles and speeds")
    body = recording.header["body"]
    anatomy = Anatomy(float(body["mass_kg"]), float(body["height_m"]), body.get("sex", "mean"))
    if [joint.name for joint in anatomy.joints] != recording.header["joint_names"]:
        raise ValueError("the recording has other joints than this version's body")
    return Trajectory(
        anatomy,
        recording.time,
        recording.root_position,
        recording.q,
        matrix_from_quaternion(recording.root_quaternion),
        rates=(recording.root_velocity, recording.root_angular_velocity, recording.qd),
    ).angular_momentum
