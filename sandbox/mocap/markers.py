"""Marker files, C3D (read with ezc3d) and TRC: joint centres from the markers of common sets.

Hip joint centres: Harrington et al. 2007, J Biomech 40:595, from the four markers of the pelvis. Knees and ankles are midway
between their two markers, or where there is a lateral one alone, half a joint's breadth inside it.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.mocap.errors import CaptureError, read_text
from sandbox.mocap.points import KNEE_SIDE, PELVIS_UP, REQUIRED, SIDES, UNITS, Capture, cleaned, require, upright, with_middle

Array = NDArray[np.float64]

# Names of markers without side, spaces and signs, in order of preference: Plug-in Gait and Helen Hayes, the set of the WBDS data,
# names in words. A hip marker stands for the joint centre itself.
MARKERS = {
    "asis": ("asi", "asis"),
    "psis": ("psi", "psis"),
    "hip": ("hjc", "hipjointcenter", "hip"),
    "knee_lateral": ("kne", "knee", "kneelateral", "lfc", "lepi"),
    "knee_medial": ("knm", "kneemedial", "kneemed", "mknee", "mfc", "medknee"),
    "ankle_lateral": ("ank", "ankle", "anklelateral", "lmal"),
    "ankle_medial": ("med", "anklemedial", "anklemed", "mmal", "medankle"),
    "heel": ("hee", "heel", "cal", "calc"),
    "mt1": ("mt1", "mtp1", "toemed", "d1m", "fm1"),
    "mt5": ("mt5", "mtp5", "toelat", "d5m", "fm5"),
    "toe": ("toe", "mt2", "mtp2", "toebase", "fm2"),
    "toe_tip": ("toetip", "hallux", "bigtoe"),
    "shoulder": ("sho", "shoulder", "acr", "acromium", "acromion"),
    "elbow": ("elb", "elbow", "elblateral", "hle"),
    "wrist_a": ("wra", "wristmed", "wrist", "wri"),
    "wrist_b": ("wrb", "wristlat"),
}
MIDDLE = {"sacrum": ("sacr", "sacrum", "vsacral"), "neck_base": ("c7", "neck"), "head": ("head", "tophead")}

KNEE_HALF, ANKLE_HALF = 0.055, 0.040  # [m]: half an adult's breadth of the joint and half a marker
# Harrington's regression [m]: behind, below and beside the middle of the two front markers, of depth and width of the pelvis.
HIP_BEHIND, HIP_BELOW, HIP_BESIDE = (0.24, 0.0099), (0.30, 0.0109), (0.33, 0.0073)
STANDING_FORCE = 20.0  # [N]


def read_c3d(path: str | Path, unit: str | None = None, belt_speed: float | None = None) -> Capture:
    """A clip with its force plates. ``belt_speed`` [m/s] is the treadmill's, which a file does not state.

    Raises:
        CaptureError: not a C3D, or without the markers of both legs.
    """
    import ezc3d

    path = Path(path)
    if not path.is_file():
        raise CaptureError(f"{path}: no such file")
    try:
        file = ezc3d.c3d(str(path), extract_forceplat_data=_has_plates(path))
        point = file["parameters"]["POINT"]
        labels = [str(label) for label in point["LABELS"]["value"]]
        rate = float(point["RATE"]["value"][0])
        stated = [str(u) for u in point.get("UNITS", {}).get("value", [])]
        data = np.asarray(file["data"]["points"][:3], dtype=np.float64)  # (3, M, T)
        residual = np.asarray(file["data"]["meta_points"]["residuals"][0], dtype=np.float64)  # (M, T)
    except Exception as error:  # ezc3d raises whatever its C++ reader met
        reason = " ".join(str(error).split())[:160]
        raise CaptureError(f"{path} is no C3D that can be read ({reason}): get the whole file, or write it anew") from None
    data[:, residual < 0] = np.nan
    data[:, (data == 0).all(axis=0)] = np.nan  # a marker that is missing is at the origin in some files
    scale = _unit(path, unit, stated[0] if stated else None)
    markers = {label: data[:, k].T * scale for k, label in enumerate(labels)}
    points, axes = _points(markers, path)
    cut = _cut(path, str(_frames_stated(path)), data.shape[2])
    force, pressure = _forces(file["data"].get("platform") or [], points, axes, scale)
    return cleaned(Capture(path, rate, points, force, pressure, belt_speed=_belt(points, belt_speed), warnings=cut), scale)


def _has_plates(path: Path) -> bool:
    import ezc3d

    plates = ezc3d.c3d(str(path))["parameters"].get("FORCE_PLATFORM", {}).get("USED", {}).get("value", [0])
    return bool(len(plates) and plates[0] > 0)


def read_trc(path: str | Path, unit: str | None = None, belt_speed: float | None = None) -> Capture:
    """A clip of markers as OpenSim and Motion Analysis write them.

    Raises:
        CaptureError: not a TRC, damaged, or without the markers of both legs.
    """
    path = Path(path)
    lines = read_text(path).splitlines()
    try:
        start = next(k for k, line in enumerate(lines[:10]) if line.startswith("DataRate"))
        head = dict(zip(lines[start].split(), lines[start + 1].split(), strict=False))
        rate = float(head["DataRate"])
        names = [name for name in lines[start + 2].split("\t")[2:] if name.strip()]
        rows = [line.split("\t") for line in lines[start + 4 :] if line.strip()]
        if rows and len(rows[-1]) < (len(rows[-2]) if len(rows) > 1 else 2 + 3 * len(names)):
            rows.pop()  # cut off within it
        values = np.full((len(rows), 3 * len(names)), np.nan)
        for k, row in enumerate(rows):
            for i, text in enumerate(row[2 : 2 + 3 * len(names)]):
                if text.strip():
                    values[k, i] = float(text)
    except (StopIteration, IndexError, KeyError, ValueError) as error:
        reason = "no line DataRate" if isinstance(error, StopIteration) else str(error)
        raise CaptureError(f"{path} is no TRC that can be read: {reason}") from None
    if not len(values) or not names:
        raise CaptureError(f"{path} holds {len(values)} frames of {len(names)} markers: get the whole file")
    scale = _unit(path, unit, head.get("Units"))
    points, _ = _points({name: values[:, 3 * k : 3 * k + 3] * scale for k, name in enumerate(names)}, path)
    capture = Capture(path, rate, points, belt_speed=_belt(points, belt_speed), warnings=_cut(path, head.get("NumFrames"), len(values)))
    return cleaned(capture, scale)


def _cut(path: Path, stated: str | None, there: int) -> tuple[str, ...]:
    """A warning of frames that a file states and does not have."""
    if stated is None or not stated.isdigit() or there >= int(stated):
        return ()
    return (f"{path.name} states {stated} frames and has {there} whole ones: it is cut off; those are used",)


def _frames_stated(path: Path) -> int:
    """How many frames the header of a C3D states: ezc3d tells how many it found, and calls that the number stated.

    Words 4 and 5 of the header are the numbers of the first and the last frame (www.c3d.org); longer files have 65,535 there.
    """
    with path.open("rb") as file:
        head = file.read(10)
        file.seek(512 * (head[0] - 1) + 3)
        order = ">" if file.read(1) == b"\x56" else "<"  # by the processor that wrote it
    first, last = struct.unpack_from(f"{order}2H", head, 6)
    return int(last - first + 1)


def _unit(path: Path, given: str | None, stated: str | None) -> float:
    if given is not None:
        return UNITS[given]
    name = (stated or "").strip().lower()
    if name not in UNITS:
        raise CaptureError(f"{path} states the unit {stated!r}: give --unit {', '.join(UNITS)}")
    return UNITS[name]


def _find(markers: dict[str, Array], names: tuple[str, ...], side: str = "") -> Array | None:
    plain = {re.sub(r"[^a-z0-9]", "", label.split(":")[-1].lower()): label for label in markers}
    keys = [key for name in names for key in ((side + name, side[0] + name, name + side, name + side[0]) if side else (name,))]
    for key in keys:
        if key in plain and np.isfinite(markers[plain[key]]).any():
            return markers[plain[key]]
    return None


def _points(markers: dict[str, Array], path: Path) -> tuple[dict[str, Array], Array]:
    """Body points, and the rotation (3, 3) from the file's axes to the project's."""
    if {*REQUIRED, "mid_hip"} <= markers.keys():  # a file of ours, whose markers are the body points themselves
        axes = upright(markers)
        return {name: marker @ axes.T for name, marker in markers.items()}, axes
    found: dict[str, Array] = {}
    for side in SIDES:
        for name, labels in MARKERS.items():
            marker = _find(markers, labels, side)
            if marker is not None:
                found[f"{side}_{name}"] = marker
    for name, labels in MIDDLE.items():
        marker = _find(markers, labels)
        if marker is not None:
            found[name] = marker
    _check(found, path, list(markers))
    rough = {f"{side}_hip": found.get(f"{side}_hip", found.get(f"{side}_asis")) for side in SIDES}
    rough |= {f"{side}_ankle": found[f"{side}_ankle_lateral"] for side in SIDES}
    axes = upright({name: marker for name, marker in rough.items() if marker is not None})
    found = {name: marker @ axes.T for name, marker in found.items()}
    points = _hips(found)
    for sign, side in zip((-1.0, 1.0), SIDES, strict=True):
        points |= _leg(found, points, side, sign)
        for name, labels in (("shoulder", ("shoulder",)), ("elbow", ("elbow",)), ("wrist", ("wrist_a", "wrist_b"))):
            parts = [found[f"{side}_{label}"] for label in labels if f"{side}_{label}" in found]
            if parts:
                points[f"{side}_{name}"] = np.mean(parts, axis=0)
    for name in ("neck_base", "head"):
        if name in found:
            points[name] = found[name]
    require(points, path, "marker", list(markers))
    return points, axes


def _check(found: dict[str, Array], path: Path, labels: list[str]) -> None:
    """Everything that a leg needs, said in words of markers."""
    missing = []
    for side in SIDES:
        has = {name for name in MARKERS if f"{side}_{name}" in found}
        if "hip" not in has and not ("asis" in has and ("psis" in has or "sacrum" in found)):
            missing.append(f"{side} pelvis (ASIS with PSIS or sacrum, or a hip joint centre)")
        if "knee_lateral" not in has:
            missing.append(f"{side} knee")
        if "ankle_lateral" not in has:
            missing.append(f"{side} ankle")
        if not ({"mt1", "mt5"} <= has or "toe" in has):
            missing.append(f"{side} toes (first and fifth metatarsal, or one toe marker)")
    if missing:
        raise CaptureError(f"{path} has no marker for {', '.join(missing)}: the file has {', '.join(labels[:40]) or 'none'}")


def _hips(found: dict[str, Array]) -> dict[str, Array]:
    if "left_asis" not in found or "right_asis" not in found:
        return with_middle({f"{side}_hip": found[f"{side}_hip"] for side in SIDES})
    front = (found["left_asis"] + found["right_asis"]) / 2
    back = (found["left_psis"] + found["right_psis"]) / 2 if "left_psis" in found and "right_psis" in found else found["sacrum"]
    right = _unit_vector(found["right_asis"] - found["left_asis"])
    ahead = front - back
    depth = np.linalg.norm(ahead, axis=1, keepdims=True)
    forward = _unit_vector(ahead - np.sum(ahead * right, axis=1, keepdims=True) * right)
    up = np.cross(right, forward)
    width = np.linalg.norm(found["right_asis"] - found["left_asis"], axis=1, keepdims=True)
    # One size of the pelvis for the whole clip: markers wobble.
    width, depth = np.nanmedian(width), np.nanmedian(depth)
    points = {}
    for sign, side in zip((-1.0, 1.0), SIDES, strict=True):
        points[f"{side}_hip"] = (
            front
            - (HIP_BEHIND[0] * depth + HIP_BEHIND[1]) * forward
            - (HIP_BELOW[0] * width + HIP_BELOW[1]) * up
            + sign * (HIP_BESIDE[0] * width + HIP_BESIDE[1]) * right
        )
    points = with_middle(points)
    return points | {"pelvis_top": points["mid_hip"] + PELVIS_UP * up}


def _leg(found: dict[str, Array], points: dict[str, Array], side: str, sign: float) -> dict[str, Array]:
    hip = points[f"{side}_hip"]
    right = _unit_vector(points["right_hip"] - points["left_hip"])
    out = {}
    lateral = found[f"{side}_knee_lateral"]
    medial = found.get(f"{side}_knee_medial")
    if medial is not None:
        out[f"{side}_knee"] = (lateral + medial) / 2
        out[f"{side}_knee_axis"] = out[f"{side}_knee"] + KNEE_SIDE * sign * _unit_vector(lateral - medial)
    else:
        out[f"{side}_knee"] = lateral - sign * KNEE_HALF * _across(lateral - hip, right)
    lateral, medial = found[f"{side}_ankle_lateral"], found.get(f"{side}_ankle_medial")
    if medial is not None:
        out[f"{side}_ankle"] = (lateral + medial) / 2
    else:
        out[f"{side}_ankle"] = lateral - sign * ANKLE_HALF * _across(lateral - out[f"{side}_knee"], right)
    if f"{side}_mt1" in found and f"{side}_mt5" in found:
        out[f"{side}_toe_base"] = (found[f"{side}_mt1"] + found[f"{side}_mt5"]) / 2
    else:
        out[f"{side}_toe_base"] = found[f"{side}_toe"]
    for name in ("heel", "toe_tip"):
        if f"{side}_{name}" in found:
            out[f"{side}_{name}"] = found[f"{side}_{name}"]
    return out


def _across(segment: Array, right: Array) -> Array:
    """Unit vectors (T, 3) to the right, at right angles to a segment."""
    along = _unit_vector(segment)
    return _unit_vector(right - np.sum(right * along, axis=1, keepdims=True) * along)


def _unit_vector(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _belt(points: dict[str, Array], given: float | None) -> float | None:
    """The belt's speed; 0 where the feet stand still on the floor, None where they are carried and nothing was given."""
    return given if given is not None else (None if on_a_belt(points) else 0.0)


def on_a_belt(points: dict[str, Array]) -> bool:
    """Whether the feet swing about a body that goes nowhere: further in a stride than the hips in the whole clip."""
    hips = points["mid_hip"][:, :2]
    finite = np.isfinite(hips).all(axis=1)
    if not finite.any():
        return False
    feet = points["left_ankle"][:, :2] - points["right_ankle"][:, :2]
    swing = float(np.ptp(feet[np.isfinite(feet).all(axis=1)], axis=0).max())
    return swing > 0.3 and float(np.linalg.norm(hips[finite][-1] - hips[finite][0])) < 0.5 * swing


def _forces(plates: list[Any], points: dict[str, Array], axes: Array, scale: float) -> tuple[Array | None, Array | None]:
    """Ground force (T, 2, 3) [N] and centre of pressure (T, 2, 3) [m] per foot: each plate's goes to the nearer foot."""
    count = len(points["mid_hip"])
    total = np.zeros((count, 2, 3))
    weighted = np.zeros((count, 2, 3))
    middle = np.stack([(points[f"{side}_ankle"] + points[f"{side}_toe_base"]) / 2 for side in SIDES], axis=1)
    for plate in plates:
        if np.size(plate["force"]) < 3 * count:  # a plate that is named but was not sampled
            continue
        force = _frames(np.asarray(plate["force"], dtype=np.float64).T, count) @ axes.T
        where = _frames(np.asarray(plate["center_of_pressure"], dtype=np.float64).T, count) @ axes.T * scale
        if np.nanmean(force[:, 2]) < 0:
            force = -force
        loaded = np.isfinite(force).all(axis=1) & np.isfinite(where).all(axis=1) & (force[:, 2] > STANDING_FORCE)
        distance = np.linalg.norm(middle[:, :, :2] - where[:, None, :2], axis=2)
        # A belt carries one foot at a time: the one that is nearer while the plate is loaded.
        foot = np.argmin(np.where(np.isfinite(distance), distance, np.inf), axis=1)
        rows = np.flatnonzero(loaded)
        total[rows, foot[rows]] += force[rows]
        weighted[rows, foot[rows]] += force[rows, 2:] * where[rows]
    vertical = total[..., 2:]
    if not vertical.any():
        return None, None
    with np.errstate(invalid="ignore", divide="ignore"):
        pressure = np.where(vertical > STANDING_FORCE, weighted / vertical, np.nan)
    return total, pressure


def _frames(values: Array, count: int) -> Array:
    """Means (count, 3) over each frame of values that were sampled more often."""
    every = max(1, len(values) // count)
    return np.asarray(values[: every * count].reshape(count, every, 3).mean(axis=1))
