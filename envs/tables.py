"""Rows of numbers with a name, a range and a unit: what a space is made of, and the table that documents it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray


class Row(NamedTuple):
    """``size`` consecutive numbers of one kind, each between ``low`` and ``high`` [``unit``].

    ``noise`` is the standard deviation of a sensor's error, where an environment is asked for noise.
    """

    name: str
    low: float
    high: float
    unit: str
    size: int = 1
    noise: float = 0.0


def bounds(rows: Sequence[Row]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest value (n,) of each number."""
    sizes = [row.size for row in rows]
    return np.repeat([row.low for row in rows], sizes), np.repeat([row.high for row in rows], sizes)


def space(rows: Sequence[Row]) -> Box:
    """The space of these numbers, in single precision."""
    low, high = bounds(rows)
    return Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


def table(rows: Iterable[Row]) -> str:
    """Markdown table of the rows, as it stands in a docstring."""
    lines = ["| Num | Name | Min | Max | Unit |", "|---|---|---|---|---|"]
    first = 0
    for row in rows:
        number = f"{first}" if row.size == 1 else f"{first}-{first + row.size - 1}"
        lines.append(f"| {number} | {row.name} | {row.low:.4g} | {row.high:.4g} | {row.unit} |")
        first += row.size
    return "\n".join(lines)
