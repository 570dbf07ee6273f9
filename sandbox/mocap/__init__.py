"""Motion capture: files of other people's, read once into named body points in the project's axes and units."""

from __future__ import annotations

from pathlib import Path

from sandbox.mocap.acclaim import read_acclaim
from sandbox.mocap.asf import AMC_RATE
from sandbox.mocap.bvh import read_bvh, save_bvh
from sandbox.mocap.errors import CaptureError
from sandbox.mocap.markers import read_c3d, read_trc
from sandbox.mocap.points import UNITS, Capture

__all__ = [
    "AMC_RATE",
    "FORMATS",
    "UNITS",
    "Capture",
    "CaptureError",
    "read_acclaim",
    "read_bvh",
    "read_c3d",
    "read_capture",
    "read_trc",
    "save_bvh",
]

FORMATS = {".amc": "Acclaim motion, with its skeleton (.asf)", ".bvh": "BVH", ".c3d": "C3D", ".trc": "TRC"}


def read_capture(
    path: str | Path,
    *,
    skeleton: str | Path | None = None,
    unit: str | None = None,
    belt_speed: float | None = None,
) -> Capture:
    """A clip of motion capture, by the ending of its name.

    Args:
        path: of an AMC, BVH, C3D or TRC file.
        skeleton: the ASF of an AMC; looked for beside it by default.
        unit: a key of :data:`UNITS`, instead of the one that the file (of an AMC, its skeleton) states.
        belt_speed: of a treadmill [m/s].

    Raises:
        CaptureError: an unknown kind of file, or one that cannot be read or measured.
    """
    path = Path(path)
    if unit is not None and unit not in UNITS:
        raise CaptureError(f"unit {unit!r} is unknown: known are {', '.join(UNITS)}")
    kind = path.suffix.lower()
    if kind == ".amc":
        return read_acclaim(path, skeleton, AMC_RATE, unit)
    if kind == ".bvh":
        return read_bvh(path, unit)
    if kind == ".c3d":
        return read_c3d(path, unit, belt_speed)
    if kind == ".trc":
        return read_trc(path, unit, belt_speed)
    raise CaptureError(f"{path} is no motion capture that is known: give {', '.join(FORMATS)}")
