"""Symmetric joint angles of captured people, on the body of the footprint optimisation.

A clip's skeleton turns into angles of the pelvis against the direction of progression and of the legs; strides of both feet are cut at
foot strike (foot height and speed), mirrored onto the right, averaged, and made symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy, deleva_row
from sandbox.bodies.rigs.cmu import CmuRig
from sandbox.footprints.anatomy import WalkerAnatomy, human
from sandbox.footprints.curves import SAMPLES, Start, harmonics, symmetric
from sandbox.measure.analysis import Analysis
from sandbox.measure.cycle import Cycle
from sandbox.mocap import AMC_RATE, CaptureError, read_capture
from sandbox.mocap.asf import read_amc, read_asf, with_gaps

Array = NDArray[np.float64]

BODY_MASS = 70.0  # [kg] of everybody: the database gives none, and the objective is divided by it
SPARE_LIMIT = 2.0  # [deg] beyond what a clip shows that its body is allowed
LEAST_OVERLAP = 0.4  # of a stride of the other foot with the frames that are asked for
ALIKE = 0.15  # of a stride: the most that its start, end and duration may be off them
USUAL_STANCE = 0.62  # of the cycle, where the foot-off of such a stride was not detected


@dataclass(frozen=True)
class Gait:
    """A person's walk, made symmetric.

    Attributes:
        start: its curves.
        anatomy: of the person.
        speed: [m/s]; strides: how many were averaged, of both feet.
        measured: (2,) width and length [m] of the steps between captured ankles, before anything was made symmetric.
        asymmetry: RMS [rad] of the difference between the averaged strides and the symmetric curves.
    """

    start: Start
    anatomy: WalkerAnatomy
    speed: float
    strides: int
    measured: Array
    asymmetry: float


def subject_anatomy(path: str | Path, limits: dict[str, tuple[float, float]] | None = None) -> WalkerAnatomy:
    """Body of a CMU skeleton: its thigh, shank and hip spacing, masses and inertia of de Leva at the stature that such legs belong to."""
    from dataclasses import replace

    skeleton = read_asf(path)
    thigh, shank = (np.mean([skeleton.length(f"{side}{bone}") for side in "lr"]) for bone in ("femur", "tibia"))
    rig = CmuRig(skeleton)
    ends = rig.hips()
    stature = float((thigh + shank) / (deleva_row("thigh", "mean")[0] + deleva_row("shank", "mean")[0]))
    body = human(Anatomy(mass=BODY_MASS, height=min(max(stature, 1.2), 2.2)), limits)
    parts = dict(body.segments)
    for name, length, old in (("thigh", thigh, body.thigh), ("shank", shank, body.shank)):
        part, k = parts[name], float(length / old)
        parts[name] = type(part)(part.mass, part.com * k, part.inertia * k**2)
    return replace(
        body,
        name=f"subject {Path(path).stem}",
        source="lengths of the ASF skeleton, CMU Graphics Lab Motion Capture Database; segments de Leva 1996 at 70 kg",
        segments=parts,
        hip=np.array([ends, 0.0, 0.0]),
        knee=np.array([0.0, 0.0, -float(thigh)]),
        ankle=np.array([0.0, 0.0, -float(shank)]),
        human=None,
    )


def gait(path: str | Path, skeleton: str | Path | None = None, frames: tuple[int, int] | None = None) -> Gait:
    """The walk in an AMC of the CMU database.

    Args:
        path: of the clip.
        skeleton: the ASF, looked for beside it by default.
        frames: first and last of the strides that are meant, counted as the file does; all straight ones by default.

    Raises:
        CaptureError: no such clip, or one without strides.
    """
    path = Path(path)
    if path.suffix.lower() != ".amc":
        raise CaptureError(f"{path} gives no joint angles: give an AMC of the CMU database, beside its ASF")
    capture = read_capture(path, skeleton=skeleton)
    asf = read_asf(skeleton if skeleton is not None else next(iter(_skeleton(path))))
    motion = with_gaps(read_amc(path, asf))
    rig = CmuRig(asf)
    rotations = rig.rotations(motion)
    recording = capture.recording()
    analysis = Analysis.of(recording, "height")
    dropped = len(motion.frames) - len(recording)
    first = int(motion.frames[dropped]) if dropped < len(motion.frames) else 1
    strides = analysis.straight
    if frames is not None:
        begin, end = ((f - first) / AMC_RATE for f in frames)
        strides = _meant(analysis.gait.strides, begin, end)
    if not strides:
        raise CaptureError(f"{path} has no straight stride: give a clip of somebody who walks at least two strides straight ahead")
    hips = recording.point("mid_hip")
    time = recording.time
    pelvis, legs = [], []
    for stride in strides:
        turned = _angles(rotations, stride, time, hips, dropped)
        pelvis.append(turned[:, :3])
        legs.append(turned[:, 3:])
    mean = np.hstack((np.mean(pelvis, axis=0), np.mean(legs, axis=0)))
    table = harmonics(np.linspace(0, 1, len(mean)))
    smooth = harmonics(np.arange(SAMPLES) / SAMPLES) @ np.linalg.lstsq(table, mean, rcond=None)[0]
    curves = symmetric(smooth)[:, :7]
    start = Start(curves, float(np.mean([s.stance_fraction for s in strides])), float(np.mean([s.time for s in strides])), path.stem)
    placed = [_placement(recording, s, time, hips) for s in strides]
    speed = float(np.mean([np.linalg.norm(_at(time, hips, s.end)[:2] - _at(time, hips, s.start)[:2]) / s.time for s in strides]))
    return Gait(
        start, subject_anatomy(asf.path), speed, len(strides), np.mean(placed, axis=0), float(np.sqrt(np.mean((smooth - curves) ** 2)))
    )


def _meant(found: Sequence[Cycle], begin: float, end: float) -> list[Cycle]:
    """The left stride from ``begin`` to ``end`` [s] as it was detected, or those times themselves, and the right one that it overlaps."""
    time = end - begin
    left = [s for s in found if s.foot == 0 and abs(s.start - begin) < ALIKE * time and abs(s.end - end) < ALIKE * time]
    out = left[:1] or [Cycle(0, begin, end, begin + USUAL_STANCE * time, begin + (USUAL_STANCE - 0.5) * time, (begin + end) / 2)]
    right = [
        s for s in found if s.foot == 1 and abs(s.time / time - 1) < ALIKE and min(s.end, end) - max(s.start, begin) > LEAST_OVERLAP * time
    ]
    return out + right[:1]


def _skeleton(path: Path) -> Sequence[Path]:
    from sandbox.mocap.acclaim import skeleton_of

    return [skeleton_of(path)]


def _at(time: Array, values: Array, when: float) -> Array:
    return np.array([np.interp(when, time, values[:, k]) for k in range(values.shape[1])])


def _forward(stride: Cycle, time: Array, hips: Array) -> float:
    """Direction of progression over a stride [rad], to the left positive."""
    x, y, _ = _at(time, hips, stride.end) - _at(time, hips, stride.start)
    return math.atan2(-x, y)


def _placement(recording: object, stride: Cycle, time: Array, hips: Array) -> Array:
    """Width and length (2,) [m] from the other ankle to the striking one, at a stride's strike."""
    angle = _forward(stride, time, hips)
    side, other = ("right", "left") if stride.foot else ("left", "right")
    points = [_at(time, recording.point(f"{s}_ankle"), stride.start) for s in (side, other)]  # type: ignore[attr-defined]
    x, y, _ = points[0] - points[1]
    right, ahead = x * math.cos(angle) + y * math.sin(angle), -x * math.sin(angle) + y * math.cos(angle)
    return np.array([right if stride.foot else -right, ahead])


def _angles(rotations: dict[str, Array], stride: Cycle, time: Array, hips: Array, dropped: int) -> Array:
    """Angles (101, 7) [rad] of a stride as if its foot were the right one."""
    heading = _forward(stride, time, hips)
    c, s = math.cos(heading), math.sin(heading)
    level = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])  # world to the frame of progression
    side = "right" if stride.foot else "left"
    mirror = np.ones(3) if stride.foot else np.array([-1.0, 1.0, 1.0])
    flip = np.outer(mirror, mirror)
    first = max(0, int(stride.start * AMC_RATE) - 2)
    rows = slice(dropped + first, dropped + int(stride.end * AMC_RATE) + 4)
    pelvis, thigh, shank = ((level @ rotations[name][rows]) * flip for name in ("pelvis", f"{side}_thigh", f"{side}_shank"))
    hip = np.swapaxes(pelvis, 1, 2) @ thigh
    knee = np.swapaxes(thigh, 1, 2) @ shank
    out = np.column_stack(
        (
            np.arctan2(pelvis[:, 1, 0], pelvis[:, 0, 0]),  # Rz(rotation) Ry(-obliquity) Rx(-tilt)
            np.arcsin(np.clip(pelvis[:, 2, 0], -1, 1)),
            -np.arctan2(pelvis[:, 2, 1], pelvis[:, 2, 2]),
            np.arctan2(-hip[:, 1, 2], hip[:, 2, 2]),  # Rx(flexion) Ry(adduction) Rz(rotation)
            np.arcsin(np.clip(hip[:, 0, 2], -1, 1)),
            np.arctan2(-hip[:, 0, 1], hip[:, 0, 0]),
            -np.arctan2(knee[:, 2, 1], knee[:, 1, 1]),
        )
    )
    at = np.linspace(stride.start, stride.end, 101)
    when = (np.arange(len(out)) + first) / AMC_RATE
    return np.column_stack([np.interp(at, when, column) for column in np.unwrap(out, axis=0).T])
