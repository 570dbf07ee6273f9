"""Footprints: from a file, or from a step's length and width."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

COLUMNS = ("foot", "x_m", "y_m")
OPTIONAL = ("z_m", "yaw_deg")
ALIKE = 5e-3  # [m] by which the steps of a symmetric trackway may differ
TURNED = math.radians(1.0)  # and directions of its prints
MOST_TURN = math.radians(60)  # between two prints
FEET = ("left", "right")


class PrintError(ValueError):
    """Prints that nobody can step into, and what to change."""


@dataclass(frozen=True)
class Step:
    """From one print to the next one of the other foot, seen along the walker's heading.

    Attributes:
        length: forward [m].
        width: sideways [m], positive where the feet do not cross.
        rise: up [m].
        turn: of the heading to the left [rad].
    """

    length: float
    width: float
    rise: float = 0.0
    turn: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("length", self.length), ("width", self.width), ("rise", self.rise), ("turn", self.turn)):
            if not math.isfinite(value):
                raise PrintError(f"the step's {name} is {value}: give a number")
        if self.length <= 0:
            raise PrintError(f"step length {self.length:g} m leads nowhere: give a positive one, at most twice the leg's length")
        if self.width < 0:
            raise PrintError(f"step width {self.width:g} m crosses the feet: give 0 or more; left prints lie to the left of right ones")
        if abs(self.turn) > MOST_TURN:
            raise PrintError(
                f"a step turns by {math.degrees(self.turn):.0f} deg: give at most {math.degrees(MOST_TURN):.0f} from print to print"
            )

    def vector(self, foot: int) -> Array:
        """From the other print to the one of ``foot`` (0 left, 1 right) along the heading (3,) [m]."""
        return np.array([self.width if foot else -self.width, self.length, self.rise])


@dataclass(frozen=True)
class Print:
    """Where an ankle is to stand.

    Attributes:
        foot: 0 left, 1 right.
        position: (3,) [m] on the ground, under the ankle.
        yaw: direction of the foot [rad], to the left positive; NaN where it is not known.
    """

    foot: int
    position: Array
    yaw: float = math.nan


def read_prints(path: str | Path) -> list[Print]:
    """Prints of a CSV file in the order in which they were made.

    Columns ``foot`` (left or right), ``x_m`` (to the right), ``y_m`` (forward), and where known ``z_m`` (up) and ``yaw_deg``.

    Raises:
        PrintError: no such file, or one that holds something else.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    except OSError:
        raise PrintError(f"{path}: no such file: give a CSV file with columns {', '.join(COLUMNS)}") from None
    except UnicodeDecodeError:
        raise PrintError(f"{path} is no text: give a CSV file with columns {', '.join(COLUMNS)}") from None
    missing = [name for name in COLUMNS if not rows or name not in rows[0]]
    if missing:
        raise PrintError(f"{path} has no {', '.join(missing)}: give a CSV file with columns {', '.join(COLUMNS)} and at least three prints")
    prints = []
    for number, row in enumerate(rows, 2):
        foot = (row["foot"] or "").strip().lower()
        if foot not in FEET:
            raise PrintError(f"{path}, line {number}: foot {row['foot']!r} is neither left nor right")
        numbers = {}
        for name in (*COLUMNS[1:], *OPTIONAL):
            text = (row.get(name) or "").strip()
            try:
                numbers[name] = float(text) if text or name in COLUMNS else (0.0 if name == "z_m" else math.nan)
            except ValueError:
                raise PrintError(f"{path}, line {number}: {name} is {text!r}: give a number") from None
            if text and not math.isfinite(numbers[name]):
                raise PrintError(f"{path}, line {number}: {name} is {text!r}: give a number")
        position = np.array([numbers["x_m"], numbers["y_m"], numbers["z_m"]])
        prints.append(Print(FEET.index(foot), position, math.radians(numbers["yaw_deg"])))
    return check_prints(prints, str(path))


def check_prints(prints: list[Print], where: str = "the trackway") -> list[Print]:
    """The same prints.

    Raises:
        PrintError: too few, one foot twice in a row, or prints that cross.
    """
    if len(prints) < 3:
        raise PrintError(f"{where} holds {len(prints)} prints: a stride needs at least three")
    for k in range(1, len(prints)):
        if prints[k].foot == prints[k - 1].foot:
            raise PrintError(f"{where}: prints {k} and {k + 1} are both of the {FEET[prints[k].foot]} foot: give left and right in turn")
    steps_of(prints, where)
    return prints


def headings(prints: list[Print]) -> Array:
    """Direction of travel (K,) [rad] at each print: the mean of the lines to the prints of the same foot before and after it."""
    places = np.array([p.position[:2] for p in prints])
    count = len(prints)
    out = np.empty(count)
    for k in range(count):
        lines = [places[b] - places[a] for a, b in ((k - 2, k), (k - 1, k + 1), (k, k + 2)) if a >= 0 and b < count]
        weights = [2.0 if (a, b) == (k - 1, k + 1) else 1.0 for a, b in ((k - 2, k), (k - 1, k + 1), (k, k + 2)) if a >= 0 and b < count]
        units = [w * line / max(float(np.linalg.norm(line)), 1e-9) for w, line in zip(weights, lines, strict=True)]
        x, y = np.sum(units, axis=0)
        out[k] = math.atan2(-x, y)
    return np.unwrap(out)


def steps_of(prints: list[Print], where: str = "the trackway") -> list[Step]:
    """Steps (K - 1) between prints, each along the heading half-way between its two.

    Raises:
        PrintError: prints that cross, lie behind one another or turn too far.
    """
    angle = headings(prints)
    out = []
    for k in range(1, len(prints)):
        heading = (angle[k] + angle[k - 1]) / 2
        dx, dy, dz = prints[k].position - prints[k - 1].position
        right, ahead = dx * math.cos(heading) + dy * math.sin(heading), -dx * math.sin(heading) + dy * math.cos(heading)
        width = right if prints[k].foot else -right
        try:
            out.append(Step(float(ahead), float(width), float(dz), float(angle[k] - angle[k - 1])))
        except PrintError as error:
            raise PrintError(f"{where}, from print {k} to {k + 1}: {error}") from None
    return out


def is_symmetric(steps: list[Step]) -> bool:
    """Whether all steps are the same one, straight ahead."""
    table = np.array([(s.length, s.width, s.rise) for s in steps])
    return bool(np.ptp(table, axis=0).max() <= ALIKE and max(abs(s.turn) for s in steps) <= TURNED)
