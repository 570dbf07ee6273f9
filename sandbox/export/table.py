"""CSV: every column of the rows, one row a line, with name and unit in the head."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from sandbox.export.frames import check_rows
from sandbox.files import written_whole
from sandbox.recording import COLUMNS, Recording

_AXES = ("x", "y", "z")
_FEET = ("left", "right")
_SOLE = ("heel", "ball", "toes")


def save_csv(recording: Recording, path: Path) -> list[Path]:
    """Write the file: time to the last digit, everything else to eight.

    Raises:
        ValueError: an empty recording.
        OSError: the path cannot be written.
    """
    check_rows(recording)
    names: list[str] = []
    blocks = []
    for name, column in COLUMNS.items():
        if not column.shape.startswith("(T") or name not in recording.columns:
            continue
        values = np.asarray(recording.columns[name], dtype=np.float64).reshape(len(recording), -1)
        labels = _labels(recording, name)
        units = column.unit.split(", ") if ", " in column.unit else [column.unit] * len(labels)
        names += [label if unit in ("1", "code", "bool") else f"{label} [{unit}]" for label, unit in zip(labels, units, strict=True)]
        blocks.append(values)
    table = np.hstack(blocks)
    with written_whole(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in table.tolist():
            writer.writerow([repr(row[0]), *("" if value != value else f"{value:.8g}" for value in row[1:])])
    return [path]


def _labels(recording: Recording, name: str) -> list[str]:
    """A label for each number of a column."""
    header = recording.header
    shape = recording.columns[name].shape[1:]
    if name in ("q", "qd", "tau"):
        return [f"{name} {joint}" for joint in header["joint_names"]]
    if name == "points":
        return [f"{point} {axis}" for point in header["point_names"] for axis in _AXES]
    if name == "sole_load":
        return [f"{name} {foot} {part}" for foot in _FEET for part in _SOLE]
    if name == "command":
        return ["command speed", "command heading rate"]
    if shape == (2, 3):
        return [f"{name} {foot} {axis}" for foot in _FEET for axis in _AXES]
    if shape == (2,):
        return [f"{name} {foot}" for foot in _FEET]
    if shape == (3,):
        return [f"{name} {axis}" for axis in _AXES]
    if shape == (4,):
        return [f"{name} {axis}" for axis in (*_AXES, "w")]
    return [name] if shape == () else [f"{name} {k}" for k in range(int(np.prod(shape)))]
