"""Where the optimisation begins: a captured walk, another gait, or Boulic's curves where there is no clip."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from sandbox.controllers import boulic
from sandbox.footprints.anatomy import WalkerAnatomy
from sandbox.footprints.curves import CURVES, SAMPLES, Start, from_columns, phases

SPEEDS = (0.6, 1.0, 1.4)  # [1/s] normalised speeds of further starts, where the first one does not lead to the prints


def boulic_start(anatomy: WalkerAnatomy, speed: float, period: float) -> Start:
    """The walk of Boulic et al. (1990) at a speed [m/s], in a stride time [s]; hip adduction, rotation and pelvic tilt are zero."""
    hip = anatomy.leg_length
    return _boulic(min(max(speed / hip, 0.3), 2.0), period)


def further_starts(period: float) -> list[Start]:
    """Boulic's walk at three normalised speeds."""
    return [_boulic(rv, period) for rv in SPEEDS]


def _boulic(rv: float, period: float) -> Start:
    found = boulic.curves(rv, phases())
    table = {name: np.zeros(SAMPLES) for name in CURVES}
    table |= {"pelvis_rotation": found.torsion, "pelvis_obliquity": -found.obliquity, "hip_flexion": found.hip, "knee_flexion": found.knee}
    release = min(max(boulic.timing(rv).release, 0.55), 0.75)
    return from_columns(table, release, period, f"Boulic 1990 at {rv:.2f}/s")


def read_start(path: str | Path) -> Start:
    """A gait to begin with: an AMC of the CMU database, or the CSV of joint curves that an earlier run wrote (of any body).

    Raises:
        ValueError: no such file, or one without strides or columns.
    """
    path = Path(path)
    if path.suffix.lower() != ".csv":
        from sandbox.footprints.people import gait

        return gait(path).start
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError:
        raise ValueError(f"{path}: no such file: give an AMC or the joint curves (CSV) of an earlier run") from None
    names = {name: f"{name if name in CURVES[:3] else f'right_{name}'}_deg" for name in CURVES}
    missing = [column for column in (*names.values(), "time_s") if not rows or column not in rows[0]]
    if missing:
        raise ValueError(f"{path} has no {', '.join(missing)}: give the joint curves (CSV) of an earlier run")
    try:
        table = {name: np.radians([float(row[column]) for row in rows]) for name, column in names.items()}
        period = float(rows[-1]["time_s"]) * len(rows) / (len(rows) - 1)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{path} holds something else than numbers: give the joint curves (CSV) of an earlier run") from None
    if not (math.isfinite(period) and period > 0):
        raise ValueError(f"{path} has a stride of {period:g} s: give the joint curves (CSV) of an earlier run")
    return from_columns(table, 0.62, period, path.stem)
