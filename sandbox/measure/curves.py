"""Curves over the gait cycle of the whole body, from body points, so that any skeleton is measured alike.

Every stride is looked at in its own frame: forward is where mid-hip went from one foot strike to the next, up is up. Quantities
of the leg and the arm are those of the side whose stride it is; those of pelvis, shoulders and head are signed for that side, so
that the strides of both feet can be averaged. Signs are those of :mod:`sandbox.conventions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.cycle import Cycle, resample
from sandbox.measure.events import floor_window
from sandbox.measure.signals import facing, lowpass
from sandbox.mocap.floor import local_floor
from sandbox.recording import Recording
from sandbox.spatial import matrix_from_quaternion
from sandbox.state import FEET

Array = NDArray[np.float64]

POINT_CUTOFF = 10.0  # [Hz], zero lag, of every path that curves are made of: what the reference data were filtered with
LEAST_PROGRESS = 0.2  # [m] of a stride: with less, forward is where the pelvis faces
FOOT_FLAT = (12, 30)  # [%] of the cycle in which the foot of a skeleton without a sole is taken to lie flat
PELVIS_UP = 0.1  # [m] from mid-hip to the virtual point that carries the pelvis's tilt


class CurveField(NamedTuple):
    """A curve: what it is called, its unit, and what it says."""

    label: str
    unit: str
    meaning: str


CURVES: dict[str, CurveField] = {
    "pelvis_tilt": CurveField("Pelvic tilt", "deg", "front down positive"),
    "pelvis_obliquity": CurveField("Pelvic obliquity", "deg", "own side up positive"),
    "pelvis_rotation": CurveField("Pelvic rotation", "deg", "own side forward positive"),
    "hip_flexion": CurveField("Hip flexion", "deg", "thigh against pelvis"),
    "hip_adduction": CurveField("Hip adduction", "deg", "thigh against pelvis, towards the middle positive"),
    "hip_rotation": CurveField("Hip rotation", "deg", "internal positive; needs the axis of the knee"),
    "thigh": CurveField("Thigh", "deg", "against vertical, forward positive"),
    "knee": CurveField("Knee flexion", "deg", "thigh minus shank, in the plane of progression"),
    "ankle": CurveField("Ankle dorsiflexion", "deg", "foot minus shank; 0 with the shank upright on a flat foot"),
    "foot_pitch": CurveField("Foot pitch", "deg", "toes up positive"),
    "foot_progression": CurveField("Foot progression", "deg", "toes in positive"),
    "thigh_frontal": CurveField("Thigh, frontal", "deg", "knee inwards positive"),
    "shank": CurveField("Shank", "deg", "against vertical, forward positive"),
    "shank_frontal": CurveField("Shank, frontal", "deg", "ankle inwards positive"),
    "ankle_height": CurveField("Ankle height", "leg", "over the local floor"),
    "toe_height": CurveField("Toe height", "leg", "over the local floor"),
    "ankle_ahead": CurveField("Ankle ahead of hip", "leg", "forward positive"),
    "ankle_below": CurveField("Ankle below hip", "leg", "vertical distance"),
    "pelvis_height": CurveField("Pelvis height", "leg", "over its mean in the stride"),
    "pelvis_sway": CurveField("Pelvis sway", "leg", "towards the own side, from the straight line of the stride"),
    "shoulder_rotation": CurveField("Shoulder rotation", "deg", "own side forward positive"),
    "shoulder_obliquity": CurveField("Shoulder obliquity", "deg", "own side up positive"),
    "thorax_rotation": CurveField("Thorax against pelvis", "deg", "shoulder rotation less pelvic rotation"),
    "trunk_lean": CurveField("Trunk lean", "deg", "mid-hip to neck, forward positive"),
    "trunk_side": CurveField("Trunk lean, frontal", "deg", "towards the own side positive"),
    "upper_arm": CurveField("Upper arm", "deg", "against vertical, forward positive"),
    "upper_arm_frontal": CurveField("Upper arm, frontal", "deg", "away from the body positive"),
    "forearm": CurveField("Forearm", "deg", "against vertical, forward positive"),
    "elbow": CurveField("Elbow flexion", "deg", "between upper arm and forearm"),
    "wrist_ahead": CurveField("Wrist ahead of shoulder", "leg", "forward positive"),
    "wrist_below": CurveField("Wrist below shoulder", "leg", "vertical distance"),
    "head_pitch": CurveField("Head lean", "deg", "neck to head, forward positive"),
    "head_side": CurveField("Head lean, frontal", "deg", "towards the own side positive"),
}

# Which curves tell how far a segment turns about which axis of the body.
INVENTORY: dict[str, dict[str, str]] = {
    "pelvis": {"sagittal": "pelvis_tilt", "frontal": "pelvis_obliquity", "transverse": "pelvis_rotation"},
    "trunk": {"sagittal": "trunk_lean", "frontal": "trunk_side"},
    "shoulders": {"frontal": "shoulder_obliquity", "transverse": "shoulder_rotation"},
    "head": {"sagittal": "head_pitch", "frontal": "head_side"},
    "thigh": {"sagittal": "thigh", "frontal": "thigh_frontal", "transverse": "hip_rotation"},
    "shank": {"sagittal": "shank", "frontal": "shank_frontal"},
    "foot": {"sagittal": "foot_pitch", "transverse": "foot_progression"},
    "upper arm": {"sagittal": "upper_arm", "frontal": "upper_arm_frontal"},
    "forearm": {"sagittal": "forearm"},
}


def body_curves(recording: Recording, strides: list[Cycle]) -> dict[str, Array]:
    """Curves (C, 101) of :data:`CURVES`, degrees or leg lengths, one row a stride; those without their points are left out."""
    if not strides:
        return {}
    paths = _paths(recording, floor_window([stride.time for stride in strides]))
    leg = float(recording.header["body"]["leg_m"])
    names = list(paths)
    block = np.stack([paths[name] for name in names], axis=1)
    faces = facing(recording).forward
    # Only the simulated body has a true sole; the foot of other skeletons is measured from where it lies flat.
    sole = recording.header.get("plant") != "capture"
    turns = None
    if "right_hip_rotation" in recording.header["joint_names"] and recording.has("q"):
        turns = np.stack([recording.joint(f"{side}_hip_rotation") for side in FEET], axis=1)
    rows = []
    for stride in strides:
        at = resample(recording.time, block, stride.start, stride.end)
        points = dict(zip(names, np.moveaxis(at, 1, 0), strict=True))
        forward = points["mid_hip"][-1] - points["mid_hip"][0]
        if np.hypot(forward[0], forward[1]) < LEAST_PROGRESS:
            forward = resample(recording.time, faces, stride.start, stride.end).mean(axis=0)
        found = _stride(points, _Frame.along(forward, stride.foot), FEET[stride.foot], leg, sole)
        if turns is not None:
            found["hip_rotation"] = np.degrees(resample(recording.time, turns[:, stride.foot], stride.start, stride.end))
        rows.append(found)
    return {name: np.stack([row[name] for row in rows]) for name in CURVES if all(name in row for row in rows)}


def _paths(recording: Recording, window: float) -> dict[str, Array]:
    """Low-passed paths (T, 3) of the body points, with heights over the local floor as paths of their own."""
    rate = 1 / recording.interval
    names = [str(name) for name in recording.header["point_names"]]
    smooth = lowpass(recording.points, POINT_CUTOFF, rate)
    out = {name: smooth[:, k] for k, name in enumerate(names)}
    if "pelvis_top" not in out and recording.has("root_quaternion"):
        up = matrix_from_quaternion(recording.root_quaternion)[:, :, 2]
        out["pelvis_top"] = out["mid_hip"] + PELVIS_UP * lowpass(up, POINT_CUTOFF, rate)
    for side in FEET:
        for name in ("ankle", "toe_tip", "toe_base"):
            if f"{side}_{name}" in out:
                height = out[f"{side}_{name}"][:, 2]
                out[f"{side}_{name} over floor"] = np.stack(
                    [np.zeros_like(height)] * 2 + [height - local_floor(height, rate, window)], axis=1
                )
    return out


@dataclass(frozen=True)
class _Frame:
    """Directions (3,) of a stride: forward, outwards (to its own side), up; ``sign`` is -1 for the left foot."""

    forward: Array
    outward: Array
    sign: float

    @classmethod
    def along(cls, direction: Array, foot: int) -> _Frame:
        x, y = direction[:2] / np.hypot(direction[0], direction[1])
        sign = 1.0 if foot == 1 else -1.0
        return cls(np.array([x, y, 0.0]), sign * np.array([y, -x, 0.0]), sign)


def _stride(points: Mapping[str, Array], frame: _Frame, side: str, leg: float, sole: bool) -> dict[str, Array]:
    """All curves (101,) of one stride."""
    other = FEET[1 - FEET.index(side)]
    f, out = frame.forward, frame.outward

    def of(name: str) -> Array:
        return points[f"{side}_{name}"]

    def hanging(vector: Array, direction: Array) -> Array:
        return np.degrees(np.arctan2(vector @ direction, -vector[:, 2]))

    def standing(vector: Array, direction: Array) -> Array:
        return np.degrees(np.arctan2(vector @ direction, vector[:, 2]))

    def across(vector: Array) -> tuple[Array, Array]:
        """Rise and turn of a line that points to the own side."""
        level = np.hypot(vector[:, 0], vector[:, 1])
        return np.degrees(np.arctan2(vector[:, 2], level)), np.degrees(np.arctan2(vector @ f, vector @ out))

    found: dict[str, Array] = {}
    thigh, shank = of("knee") - of("hip"), of("ankle") - of("knee")
    hips = of("hip") - points[f"{other}_hip"]
    found["pelvis_obliquity"], found["pelvis_rotation"] = across(hips)
    if "pelvis_top" in points:
        up = points["pelvis_top"] - points["mid_hip"]
        found["pelvis_tilt"] = standing(up, f)
        found |= _hip(thigh, hips, up, frame, points.get(f"{side}_knee_axis"), of("knee"))
    found["thigh"], found["shank"] = hanging(thigh, f), hanging(shank, f)
    found["thigh_frontal"], found["shank_frontal"] = hanging(thigh, -out), hanging(shank, -out)
    found["knee"] = found["thigh"] - found["shank"]
    foot = of("toe_base") - (of("heel") if f"{side}_heel" in points else of("ankle"))
    pitch = np.degrees(np.arctan2(foot[:, 2], foot @ f))
    if not sole:
        pitch = pitch - np.median(pitch[FOOT_FLAT[0] : FOOT_FLAT[1] + 1])
    found["foot_pitch"] = pitch
    found["ankle"] = pitch - found["shank"]
    # Out of the plane of progression, and not about the vertical, which would be undone where the foot stands on its toes.
    found["foot_progression"] = -np.degrees(np.arcsin(np.clip(_unit(foot) @ out, -1.0, 1.0)))
    toe = "toe_tip" if f"{side}_toe_tip" in points else "toe_base"
    found["ankle_height"] = points[f"{side}_ankle over floor"][:, 2] / leg
    found["toe_height"] = points[f"{side}_{toe} over floor"][:, 2] / leg
    found["ankle_ahead"], found["ankle_below"] = (of("ankle") - of("hip")) @ f / leg, (of("hip") - of("ankle"))[:, 2] / leg
    middle = points["mid_hip"]
    found["pelvis_height"] = (middle[:, 2] - middle[:, 2].mean()) / leg
    sway = (middle - middle[0]) @ out
    found["pelvis_sway"] = (sway - np.linspace(sway[0], sway[-1], len(sway))) / leg
    found["pelvis_sway"] -= found["pelvis_sway"].mean()
    if f"{side}_shoulder" in points and f"{other}_shoulder" in points:
        found["shoulder_obliquity"], found["shoulder_rotation"] = across(of("shoulder") - points[f"{other}_shoulder"])
        found["thorax_rotation"] = found["shoulder_rotation"] - found["pelvis_rotation"]
    if "neck_base" in points:
        trunk = points["neck_base"] - middle
        found["trunk_lean"], found["trunk_side"] = standing(trunk, f), standing(trunk, out)
        if "head" in points:
            head = points["head"] - points["neck_base"]
            found["head_pitch"], found["head_side"] = standing(head, f), standing(head, out)
    if all(f"{side}_{name}" in points for name in ("shoulder", "elbow", "wrist")):
        upper, fore = of("elbow") - of("shoulder"), of("wrist") - of("elbow")
        found["upper_arm"], found["upper_arm_frontal"], found["forearm"] = hanging(upper, f), hanging(upper, out), hanging(fore, f)
        cosine = np.sum(upper * fore, axis=1) / (np.linalg.norm(upper, axis=1) * np.linalg.norm(fore, axis=1))
        found["elbow"] = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
        reach = of("wrist") - of("shoulder")
        found["wrist_ahead"], found["wrist_below"] = reach @ f / leg, -reach[:, 2] / leg
    return found


def _hip(thigh: Array, hips: Array, up: Array, frame: _Frame, axis: Array | None, knee: Array) -> dict[str, Array]:
    """Flexion, adduction and rotation of the thigh in the frame of the pelvis (ISB order, Wu et al. 2002)."""
    outward = _unit(hips)
    right = outward * frame.sign
    up = _unit(up - np.sum(up * right, axis=1, keepdims=True) * right)
    forward = np.cross(up, right)
    down = _unit(thigh)
    found = {
        "hip_flexion": np.degrees(np.arctan2(np.sum(down * forward, axis=1), -np.sum(down * up, axis=1))),
        "hip_adduction": np.degrees(np.arcsin(np.clip(-np.sum(down * outward, axis=1), -1.0, 1.0))),
    }
    if axis is not None:
        # The pelvis's own right, at right angles to the thigh, is where the knee's axis points without rotation.
        straight = _unit(right - np.sum(right * down, axis=1, keepdims=True) * down)
        ahead = np.cross(-down, straight)
        bend = axis - knee
        found["hip_rotation"] = frame.sign * np.degrees(np.arctan2(np.sum(bend * ahead, axis=1), np.sum(bend * straight, axis=1)))
    return found


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def inventory(curves: Mapping[str, Array]) -> dict[str, dict[str, float]]:
    """How far each segment turns about each axis of the body over the mean cycle: range [deg], by segment and plane.

    ``curves`` are mean curves (101,) by name, or (C, 101) of which the mean is taken.
    """
    out: dict[str, dict[str, float]] = {}
    for segment, planes in INVENTORY.items():
        ranges = {plane: float(np.ptp(np.atleast_2d(curves[name]).mean(axis=0))) for plane, name in planes.items() if name in curves}
        if ranges:
            out[segment] = ranges
    return out
