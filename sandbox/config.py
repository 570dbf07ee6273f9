"""Small helpers for settings that people type."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def check_range(name: str, value: float, bounds: tuple[float, float], unit: str = "") -> None:
    """Raise ValueError with value, range and remedy unless ``bounds[0] <= value <= bounds[1]`` (NaN never is)."""
    low, high = bounds
    if not low <= value <= high:
        unit = f" {unit}" if unit else ""
        raise ValueError(f"{name} {value:g}{unit} is outside {low:g}..{high:.10g}{unit}: give a value in that range")


def check_ends(name: str, ends: tuple[float, float], bounds: tuple[float, float], unit: str = "") -> None:
    """Raise ValueError unless both ends of a range lie in ``bounds``, the lower one first."""
    if len(ends) != 2:
        raise ValueError(f"{name} {tuple(ends)} is no range: give its lower and its upper end")
    for value in ends:
        check_range(name, value, bounds, unit)
    if ends[0] > ends[1]:
        raise ValueError(f"{name} {tuple(ends)} is upside down: give the lower value first")


def nearest(name: str, known: Iterable[str]) -> str:
    """``": did you mean 'walk'?"`` for the closest known name, or the list of names where none is close."""
    known = sorted(known)
    plain = {_plain(each): each for each in reversed(known)}
    close = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.5)
    return f": did you mean {plain[close[0]]!r}?" if close else f": known are {', '.join(known) or 'none'}"


def _plain(name: str) -> str:
    """A name as it is compared: without case, and with one separator."""
    return name.casefold().replace("_", "-").replace(" ", "-")
