"""Where the feet stood, how far apart, how far they slid, and how high they swung."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.conventions import GRAVITY
from sandbox.measure.cycle import Cycle
from sandbox.measure.events import GaitEvents
from sandbox.measure.signals import Facing
from sandbox.recording import Recording
from sandbox.state import FEET, ContactState

Array = NDArray[np.float64]

# A foot is placed where its heel is in this part of stance: after the heel rocker and before heel rise.
PLACED = (0.15, 0.45)
SLIDING_LOAD = 0.05  # of body weight: a foot that carries less is landing or leaving


class Placement(NamedTuple):
    """One stance of one foot: touchdown and lift-off [s], and where its heel (or ankle) stood (3,) [m]."""

    foot: int
    start: float
    end: float
    position: Array


@dataclass(frozen=True)
class Steps:
    """Distances of consecutive steps and strides.

    Attributes:
        length: (S,) of steps along the direction faced [m].
        width: (S,) across it [m], negative where the feet cross.
        stride: (R,) between placements of the same foot [m].
    """

    length: Array
    width: Array
    stride: Array


def placements(recording: Recording, events: GaitEvents, start: float = -np.inf, end: float = np.inf) -> list[Placement]:
    """Complete stances that begin between ``start`` and ``end`` [s], in order."""
    out = []
    time = recording.time
    for foot, side in enumerate(FEET):
        name = f"{side}_heel" if f"{side}_heel" in recording.header["point_names"] else f"{side}_ankle"
        path = recording.point(name)
        contacts = events.feet[foot]
        for a, b in zip(contacts.start.tolist(), contacts.end.tolist(), strict=True):
            if np.isfinite(a) and np.isfinite(b) and start <= a <= end:
                early, late = np.searchsorted(time, (a + PLACED[0] * (b - a), a + PLACED[1] * (b - a)))
                position = np.median(path[early : max(late, early + 1)], axis=0)
                out.append(Placement(foot, a, b, position))
    return sorted(out, key=lambda placement: placement.start)


def steps(placed: list[Placement], time: Array, directions: Facing) -> Steps:
    """Step length and width after the direction that the body faces at each touchdown, and stride length."""
    length, width, stride = [], [], []
    for i, now in enumerate(placed):
        row = min(int(np.searchsorted(time, now.start)), len(time) - 1)
        if i and placed[i - 1].foot != now.foot:
            move = now.position - placed[i - 1].position
            length.append(float(move @ directions.forward[row]))
            width.append(float(move @ directions.right[row]) * (1 if now.foot == 1 else -1))
        if i > 1 and placed[i - 2].foot == now.foot != placed[i - 1].foot:
            stride.append(float(np.hypot(*(now.position - placed[i - 2].position)[:2])))
    return Steps(np.array(length), np.array(width), np.array(stride))


def stance_slips(recording: Recording, placed: list[Placement]) -> Array:
    """How far the loaded sole slid over the ground in each stance (S,) [m].

    The speed that is integrated is the one of the material of the foot at the centre of pressure: of the hindfoot, or of
    the toes where they carry more than it. So rolling over heel, ball and toes is not sliding. Where no ground force was
    recorded, the point of the part in contact is taken (heel, middle of heel and toe base, toe base, toe tip).
    """
    slid = np.stack([_sliding(recording, foot) for foot in range(2)], axis=1)
    total = np.vstack((np.zeros(2), np.cumsum(slid, axis=0)))  # distance up to each row
    time = recording.time
    out = []
    for place in placed:
        # Complete intervals between rows inside the stance.
        first, last = np.searchsorted(time, (place.start, place.end))
        out.append(total[max(first, last - 1), place.foot] - total[first, place.foot])
    return np.array(out)


def _sliding(recording: Recording, foot: int) -> Array:
    """Horizontal distance (T - 1,) [m] that the loaded sole of a foot slides between rows."""
    side = FEET[foot]
    heel, base, tip, ankle = (recording.point(f"{side}_{name}") for name in ("heel", "toe_base", "toe_tip", "ankle"))
    forward = _unit(base - heel)
    across = _unit(np.cross(forward, ankle - heel))
    hindfoot = np.stack((across, forward, np.cross(across, forward)), axis=1)  # rows: axes (T, 3, 3)
    ahead = _unit(tip - base)
    toes = np.stack((across, ahead, np.cross(across, ahead)), axis=1)
    contact = recording.contact_state[:, foot]
    nominal = np.where(
        (contact == ContactState.FLAT)[:, None],
        (heel + base) / 2,
        np.where((contact == ContactState.HEEL)[:, None], heel, np.where((contact == ContactState.TOE)[:, None], tip, base)),
    )
    on_toes = contact == ContactState.TOE
    loaded = contact != ContactState.AIRBORNE
    where = nominal
    if recording.has("ground_force") and recording.ground_force[..., 2].any():
        load = recording.sole_load[:, foot]
        on_toes = load[:, 2] > load[:, 0] + load[:, 1]
        loaded = recording.ground_force[:, foot, 2] > SLIDING_LOAD * GRAVITY * float(recording.header["body"]["mass_kg"])
        pressure = recording.centre_of_pressure[:, foot]
        where = np.where(np.isfinite(pressure).all(axis=1, keepdims=True), pressure, nominal)
    moved = np.where(on_toes[1:, None], _carried(where, base, toes), _carried(where, heel, hindfoot))
    distance = np.hypot(moved[:, 0], moved[:, 1])
    return np.where(loaded[1:] & loaded[:-1], distance, 0.0)


def _carried(where: Array, origin: Array, axes: Array) -> Array:
    """Displacement (T - 1, 3) from row to row of the material of a rigid body that is at ``where`` (T, 3)."""
    local = np.einsum("tij,tj->ti", axes[:-1], where[:-1] - origin[:-1])
    return np.asarray(origin[1:] + np.einsum("tij,ti->tj", axes[1:], local) - where[:-1])


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def toe_clearance(recording: Recording, strides: list[Cycle]) -> Array:
    """Least height (C,) [m] of the toe tip over the ground in mid-swing (25-80 % of it), per stride.

    The ground is where the same toe tip was lowest in that stride.
    """
    out = []
    for stride in strides:
        height = recording.point(f"{FEET[stride.foot]}_toe_tip")[:, 2]
        swing = stride.end - stride.liftoff
        a, b, c, d = np.searchsorted(
            recording.time, (stride.start, stride.end, stride.liftoff + 0.25 * swing, stride.liftoff + 0.8 * swing)
        )
        if d > c:
            out.append(float(height[c:d].min() - height[a:b].min()))
    return np.array(out)
