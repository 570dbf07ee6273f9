"""What a command shows while it works: progress on standard error, and a standard output that holds results alone."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

PATIENCE = 2.0  # [s] what takes less shows no progress
REDRAW = 0.1  # [s] between two drawings of a bar
LINE_EVERY = 10.0  # [s] between two lines where there is no terminal
BAR_WIDTH = 24


class Progress:
    """A bar on standard error for work that takes longer than :data:`PATIENCE`; plain lines where there is no terminal.

    A context manager, which takes the bar away at the end::

        with Progress("walk", 20.0, "s") as progress:
            progress(1.5)

    Args:
        label: what is going on.
        total: amount of work.
        unit: of the amount.
        before: said once, where the work has not begun after :data:`PATIENCE`.
        stream: standard error by default.
    """

    def __init__(self, label: str, total: float, unit: str = "", before: str = "", stream: TextIO | None = None) -> None:
        self.label, self.total, self.unit = label, total, f" {unit}" if unit else ""
        self._stream = stream or sys.stderr
        self._bar = self._stream.isatty()
        self._start = time.monotonic()
        self._next = self._start + PATIENCE
        self._drawn = False
        self._timer = threading.Timer(PATIENCE, self._write, [f"{label}: {before}\n"]) if before else None

    def __call__(self, done: float, note: str = "") -> None:
        """Show that ``done`` of the total is done, with a ``note`` behind it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = time.monotonic()
        if now < self._next:
            return
        share = min(1.0, max(0.0, done / self.total)) if self.total else 1.0
        text = f"{done:.{1 if self.total < 100 else 0}f}".removesuffix(".0") + f" of {self.total:g}{self.unit}"
        if share > 0.02:
            text += f", {_duration((now - self._start) * (1 - share) / share)} left"
        if note:
            text += f", {note}"
        if self._bar:
            filled = round(BAR_WIDTH * share)
            self._write(f"\r{self.label} [{'#' * filled}{'-' * (BAR_WIDTH - filled)}] {text}\x1b[K")
            self._drawn = True
            self._next = now + REDRAW
        else:
            self._write(f"{self.label}: {text}\n")
            self._next = now + LINE_EVERY

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def __enter__(self) -> Progress:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._drawn:
            self._write("\r\x1b[K")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its head, with columns of equal width."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


@contextlib.contextmanager
def results_only() -> Iterator[TextIO]:
    """Yield the real standard output; whatever else prints meanwhile, C libraries included, prints to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(kept), "w", encoding="utf-8") as out, contextlib.redirect_stdout(sys.stderr):
            yield out
    finally:
        _flush_c()
        os.dup2(kept, 1)
        os.close(kept)


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Drop what C libraries print: PyBullet says when it was built as it is imported. Exceptions pass."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in (1, 2)]
    with Path(os.devnull).open("wb") as null:
        for number in (1, 2):
            os.dup2(null.fileno(), number)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        _flush_c()
        for number, descriptor in zip((1, 2), kept, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)


def _flush_c() -> None:
    """C libraries have a buffer of their own, which must be emptied before standard output is put back."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)
