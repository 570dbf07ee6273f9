"""Named body points from whatever a capture file holds, cleaned, in the project's axes and metres.

Everything that is measured afterwards sees points and not bones, so that a captured skeleton, a set of markers and the body
of the simulation are measured alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.mocap.errors import CaptureError
from sandbox.mocap.floor import local_floor
from sandbox.recording import Recording

Array = NDArray[np.float64]

SIDES = ("left", "right")
LEG = ("hip", "knee", "ankle", "toe_base")
REQUIRED = tuple(f"{side}_{name}" for side in SIDES for name in LEG)

# Femur and tibia together [m]: from a small child's to more than the tallest person's.
PLAUSIBLE_LEG = (0.35, 1.25)
ADULT_LEG = (0.55, 1.15)  # [m], for telling the unit of a file that states none
LONGEST_GAP = 0.2  # [s] without a marker that is bridged by a straight line
PLAUSIBLE_RATE = (10.0, 2000.0)  # [Hz]: from slow video to the fastest cameras
SHORTEST_CLIP = 0.8  # [s]: less holds no stride
LEAST_ANKLE_HEIGHT = 0.03  # [m] over the sole
PELVIS_UP = 0.1  # [m] from mid-hip to the virtual point that carries the pelvis's tilt
KNEE_SIDE = 0.1  # [m] from the knee to the virtual point that carries its axis

# Metres of the units that files of motion capture are written in, by how often one meets them.
UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "cmu": 0.0254 / 0.45}


@dataclass(frozen=True)
class Capture:
    """A clip of motion capture.

    Attributes:
        path: where it was read.
        rate: frames a second.
        points: paths (T, 3) [m] by name; those of :data:`REQUIRED` are there.
        ground_force: (T, 2, 3) [N] per foot, where the file has force plates.
        centre_of_pressure: (T, 2, 3) [m], likewise.
        belt_speed: of the treadmill [m/s]; None where it is unknown, 0 overground.
        warnings: what was amiss, one line each.
    """

    path: Path
    rate: float
    points: dict[str, Array]
    ground_force: Array | None = None
    centre_of_pressure: Array | None = None
    belt_speed: float | None = 0.0
    warnings: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(next(iter(self.points.values())))

    @property
    def femur_and_tibia(self) -> float:
        """Median length of both legs from hip to ankle [m]."""
        return float(np.mean([_length(self.points, side) for side in SIDES]))

    @property
    def leg(self) -> float:
        """Leg length [m] from hip joint centre to sole: femur, tibia, and the height of the ankle over a foot that stands."""
        heights = []
        for side in SIDES:
            floors = [local_floor(self.points[f"{side}_{name}"][:, 2], self.rate) for name in self._soles(side)]
            ankle = local_floor(self.points[f"{side}_ankle"][:, 2], self.rate)
            heights.append(max(LEAST_ANKLE_HEIGHT, float(np.median(ankle - np.min(floors, axis=0)))))
        return self.femur_and_tibia + float(np.mean(heights))

    def _soles(self, side: str) -> list[str]:
        return [name for name in ("toe_base", "toe_tip") if f"{side}_{name}" in self.points]

    def recording(self) -> Recording:
        """As a recording, which lacks everything that only a simulation knows.

        The header's ``treadmill`` tells whether the speed of a belt is unknown, and with it every speed and distance.
        """
        names = [name for name in self.points if np.isfinite(self.points[name]).all()]
        columns: dict[str, NDArray[Any]] = {
            "time": np.arange(len(self)) / self.rate,
            "points": np.stack([self.points[name] for name in names], axis=1),
        }
        if self.belt_speed:
            columns["points"] = columns["points"] + self._carried()[:, None, :]
        if self.ground_force is not None:
            columns["ground_force"] = self.ground_force
        if self.centre_of_pressure is not None:
            columns["centre_of_pressure"] = self.centre_of_pressure + (self._carried()[:, None, :] if self.belt_speed else 0.0)
        header = {
            "plant": "capture",
            "source": str(self.path),
            "point_names": names,
            "joint_names": [],
            "body": {"leg_m": self.leg, "mass_kg": self._mass(), "height_m": None},
            "fall": {"fell": False, "time_s": None, "cause": None},
            "speed_unknown": self.belt_speed is None,
            "belt_speed_mps": self.belt_speed or None,
            "warnings": list(self.warnings),
        }
        return Recording(header, columns)

    def _mass(self) -> float | None:
        """Body mass [kg] that the force plates carried on average; None without them."""
        if self.ground_force is None:
            return None
        return float(self.ground_force[..., 2].sum(axis=1).mean() / 9.81)

    def _carried(self) -> Array:
        """How far (T, 3) [m] the subject would have come on solid ground: along where the hips faced, at the belt's speed."""
        line = (self.points["right_hip"] - self.points["left_hip"]).mean(axis=0)
        forward = np.array([-line[1], line[0], 0.0]) / np.hypot(line[0], line[1])
        return np.asarray((self.belt_speed or 0.0) * (np.arange(len(self)) / self.rate)[:, None] * forward)


def _length(points: Mapping[str, Array], side: str) -> float:
    hip, knee, ankle = (points[f"{side}_{name}"] for name in ("hip", "knee", "ankle"))
    return float(np.nanmedian(np.linalg.norm(knee - hip, axis=1)) + np.nanmedian(np.linalg.norm(ankle - knee, axis=1)))


def require(points: Mapping[str, Array], path: Path, what: str, found: Sequence[str]) -> None:
    """Raise :class:`CaptureError` unless both legs are there.

    Args:
        points: by name; path: of the file.
        what: that the file's points come from, for instance ``marker``.
        found: names that the file has.
    """
    missing = [name.replace("_", " ") for name in REQUIRED if name not in points]
    if missing:
        known = ", ".join(found[:40]) + (", ..." if len(found) > 40 else "")
        raise CaptureError(
            f"{path} has no {what} for {', '.join(missing)}: both legs from hip to toes are needed; the file has {known or 'none'}"
        )


def with_middle(points: dict[str, Array]) -> dict[str, Array]:
    """The same with ``mid_hip``."""
    return points | {"mid_hip": (points["left_hip"] + points["right_hip"]) / 2}


def plausible_unit(femur_and_tibia: float) -> str | None:
    """Name of the unit in which ``femur_and_tibia`` is a grown person's; None where none or more than one fits."""
    fitting = [name for name, metre in UNITS.items() if ADULT_LEG[0] <= femur_and_tibia * metre <= ADULT_LEG[1]]
    return fitting[0] if len(fitting) == 1 else None


def cleaned(capture: Capture, scale: float = 1.0) -> Capture:
    """Without frames that were not solved, with short gaps bridged, and of plausible rate and size.

    ``scale`` is what the file's numbers were multiplied with to have metres: with it, the unit that would fit is named.

    Frames at the start in which the whole body is at the origin are dropped. A point that is missing for up to 0.2 s is put
    on a straight line; of a clip with longer gaps in the legs the longest part without one is kept.

    Raises:
        CaptureError: a rate or a leg's length that is implausible, or too little left.
    """
    if not PLAUSIBLE_RATE[0] <= capture.rate <= PLAUSIBLE_RATE[1]:
        raise CaptureError(
            f"{capture.path} states {capture.rate:.4g} frames a second, motion is captured at {PLAUSIBLE_RATE[0]:g} to "
            f"{PLAUSIBLE_RATE[1]:g}: mend the rate in the file (Frame Time [s] of a BVH, DataRate of a TRC, POINT:RATE of a C3D)"
        )
    warnings = list(capture.warnings)
    points = capture.points
    solved = np.linalg.norm(points["mid_hip"], axis=1) > 1e-6
    solved |= np.isnan(points["mid_hip"]).any(axis=1)
    first = int(np.argmax(solved)) if solved.any() else len(solved)
    if first:
        warnings.append(f"{capture.path.name}: {first} frames at the start are not solved, the body is at the origin, and are left out")
    keep = slice(first, len(capture))
    missing = np.zeros(len(capture), dtype=bool)
    filled: dict[str, Array] = {}
    gaps: list[str] = []
    counts: list[int] = []
    for name, path in points.items():
        filled[name], bad, count = _bridged(path, round(LONGEST_GAP * capture.rate))
        if count and name != "mid_hip":
            counts.append(count)
            gaps.append(f"{name.replace('_', ' ')} in {count}")
        if name in REQUIRED:
            missing |= bad
    if gaps:
        if len(counts) > 1 and len(set(counts)) == 1 and len(counts) == len(points) - 1:
            gaps = [f"all in {counts[0]}"]
        warnings.append(f"{capture.path.name}: points are missing in frames: {', '.join(gaps)}; gaps up to {LONGEST_GAP:g} s are bridged")
    missing[:first] = True
    if missing[first:].any():
        keep = _longest(~missing)
        kept = (keep.stop - keep.start) / capture.rate
        warnings.append(
            f"{capture.path.name}: gaps longer than {LONGEST_GAP:g} s: only the {kept:.2f} s from frame {keep.start + 1} on are used"
        )
    seconds = (keep.stop - keep.start) / capture.rate
    if seconds < SHORTEST_CLIP:
        raise CaptureError(
            f"{capture.path} has {seconds:.2f} s without gaps: a stride takes about 1 s, give at least {SHORTEST_CLIP:g} s, "
            "better several strides"
        )
    cut = {name: path[keep] for name, path in filled.items()}
    out = replace(
        capture,
        points={name: path for name, path in cut.items() if np.isfinite(path).all()},
        ground_force=None if capture.ground_force is None else capture.ground_force[keep],
        centre_of_pressure=None if capture.centre_of_pressure is None else capture.centre_of_pressure[keep],
        warnings=tuple(warnings),
    )
    leg = out.femur_and_tibia
    if not PLAUSIBLE_LEG[0] <= leg <= PLAUSIBLE_LEG[1]:
        unit = plausible_unit(leg / scale)
        remedy = f"its unit is perhaps {unit}: try --unit {unit}" if unit else f"and none of --unit {', '.join(UNITS)} makes it so"
        raise CaptureError(
            f"{capture.path} has a leg of {leg:.3g} m from hip to ankle, people have {PLAUSIBLE_LEG[0]:g} to {PLAUSIBLE_LEG[1]:g} m: "
            f"{remedy}"
        )
    return out


def _bridged(path: Array, longest: int) -> tuple[Array, NDArray[np.bool_], int]:
    """The path with gaps of up to ``longest`` frames bridged, where it is still missing, and how many frames were missing."""
    bad = np.asarray(~np.isfinite(path).all(axis=1))
    if not bad.any():
        return path, bad, 0
    edges = np.flatnonzero(np.diff(np.concatenate(([0], bad.astype(np.int8), [0]))))
    out, still = path.copy(), bad.copy()
    good = np.flatnonzero(~bad)
    for start, end in edges.reshape(-1, 2).tolist():
        if end - start <= longest and start > 0 and end < len(path):
            rows = np.arange(start, end)
            for axis in range(path.shape[1]):
                out[rows, axis] = np.interp(rows, good, path[good, axis])
            still[rows] = False
    return out, still, int(bad.sum())


def _longest(good: NDArray[np.bool_]) -> slice:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], good.astype(np.int8), [0])))).reshape(-1, 2)
    if not len(edges):
        return slice(0, 0)
    start, end = edges[int(np.argmax(edges[:, 1] - edges[:, 0]))].tolist()
    return slice(start, end)


def upright(points: Mapping[str, Array]) -> Array:
    """Rotation (3, 3) that puts the file's vertical on the project's +Z: the axis along which the hips are over the ankles."""
    hips = np.nanmean([np.nanmean(points[f"{side}_hip"], axis=0) for side in SIDES], axis=0)
    ankles = np.nanmean([np.nanmean(points[f"{side}_ankle"], axis=0) for side in SIDES], axis=0)
    up = int(np.argmax(np.abs(hips - ankles)))
    sign = float(np.sign((hips - ankles)[up]))
    if up == 2:
        return np.diag([1.0, sign, sign])
    if up == 1:  # as in Acclaim's axes: x, y, z become -x, z, y
        return np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, sign], [0.0, sign, 0.0]])
    return np.array([[0.0, 1.0, 0.0], [0.0, 0.0, sign], [sign, 0.0, 0.0]])
