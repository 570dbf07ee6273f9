"""What measuring costs: a minute of motion capture, and a comparison of everything that walks with its page."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sandbox.bench.speed import MEGABYTE, Figure
from sandbox.comparison import PAIRS, PLANTS, STANCES, compare
from sandbox.export import save_trc
from sandbox.measure.analysis import Analysis
from sandbox.measure.people import scores
from sandbox.measure.turns import turns
from sandbox.mocap import read_capture
from sandbox.report.page import save_page
from sandbox.simulation import run

CAPTURE_SECONDS, COMPARE_SECONDS, SPEED = 60.0, 20.0, 1.0


def measure(progress: Callable[[float], None] | None = None) -> list[Figure]:
    """All figures. ``progress`` is told the share that is done."""
    told = progress or (lambda _: None)
    with tempfile.TemporaryDirectory() as folder:
        capture = _capture(Path(folder) / "walk.trc")
        told(0.3)
        return [capture, *_comparison(Path(folder) / "report.html", lambda share: told(0.3 + 0.7 * share))]


def _capture(path: Path) -> Figure:
    """Markers of a walk of our own, read and measured: as many points as a capture of the whole body has."""
    save_trc(run("walk", plant="kinematic", speed=SPEED, seconds=CAPTURE_SECONDS), path)
    start = time.process_time()
    analysis = Analysis.of(read_capture(path).recording())
    strides = analysis.figures["strides"]
    scores(analysis)
    turns(analysis.recording)
    spent = time.process_time() - start
    note = f"a TRC of {CAPTURE_SECONDS:g} s at 120 Hz with {len(analysis.recording.header['point_names'])} points, {strides} strides"
    return Figure("analysing a minute of motion capture", spent, 2.0, None, "CPU s", note)


def _comparison(path: Path, progress: Callable[[float], None]) -> list[Figure]:
    start = time.monotonic()
    whole = COMPARE_SECONDS * len(PAIRS)
    result = compare(SPEED, COMPARE_SECONDS, stances=STANCES, plants=tuple(PLANTS), progress=lambda done: progress(done / whole))
    save_page(path, "bench", result.subjects(), result.froude, missing=result.missing_lines(), verdict=result.verdict())
    spent = time.monotonic() - start
    note = f"{len(PAIRS)} pairs of stance model and plant, {COMPARE_SECONDS:g} s each, physics, figures and page; wall clock"
    size = path.stat().st_size / MEGABYTE
    return [
        Figure("comparing every stance model on every plant", spent, 90.0, None, "s", note),
        Figure("page of that comparison", size, 10.0, None, "MB", f"one copy of plotly and a replay at 30 Hz of {whole:g} s in it"),
    ]
