"""What `sandbox measure --out` writes of one gait beside the page: curves and strides as CSV, and pictures of the curves."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from sandbox.files import written_whole
from sandbox.measure.analysis import STRIDE_FIELDS, Analysis
from sandbox.measure.curves import CURVES
from sandbox.measure.dynamics import DYNAMICS_CURVES, Dynamics
from sandbox.measure.people import Band, acknowledgement, band, children_band
from sandbox.report.plot import FAINT, blank, style

COLUMNS = 5
BAND_COLOUR, MEAN_COLOUR = "#c9cfd6", "#2f6fb5"


def curves_csv(analysis: Analysis, froude: float) -> str:
    """Mean and SD of every curve, and people's, one row a per cent of the cycle."""
    columns: dict[str, Any] = {"percent": np.arange(101)}
    for name, values in analysis.curves.items():
        unit = CURVES[name].unit
        columns[f"{name}_{unit}"] = values.mean(axis=0)
        columns[f"{name}_sd_{unit}"] = values.std(axis=0)
        people = band(name, froude) if np.isfinite(froude) else None
        if people is not None:
            columns[f"{name}_people_{unit}"] = people.mean
            columns[f"{name}_people_sd_{unit}"] = people.sd
    return _csv(columns)


def strides_csv(analysis: Analysis) -> str:
    """One row a straight stride: foot, start and end [s], and the figures of :data:`STRIDE_FIELDS`."""
    strides = analysis.straight
    columns: dict[str, Any] = {
        "foot": np.array([("left", "right")[s.foot] for s in strides]),
        "start_s": np.array([s.start for s in strides]),
        "end_s": np.array([s.end for s in strides]),
    }
    return _csv(columns | {key: analysis.strides[key] for key in STRIDE_FIELDS})


def _csv(columns: dict[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if isinstance(v, float) and not np.isfinite(v) else f"{v:.6g}" if isinstance(v, float) else v for v in row])
    return text.getvalue()


def save_curves_picture(analysis: Analysis, path: Path, froude: float, title: str) -> None:
    """All curves over the cycle with people's bands, as PNG.

    Raises:
        OSError: the path cannot be written.
        ModuleNotFoundError: matplotlib is not installed.
    """
    names = list(analysis.curves)
    panels = [
        (f"{CURVES[n].label} [{CURVES[n].unit}]", analysis.curves[n], band(n, froude) if np.isfinite(froude) else None) for n in names
    ]
    _save(panels, path, title, "bands: one SD; grey people at the same Froude number. " + acknowledgement())


def save_forces_picture(dynamics: Dynamics, path: Path, froude: float, title: str) -> None:
    """Ground reaction, moments and powers over the cycle, with children's bands at the same Froude number."""
    panels = [
        (f"{name.replace('_', ' ')} [{DYNAMICS_CURVES[name].unit}]", values, children_band(name, froude))
        for name, values in dynamics.curves.items()
    ]
    _save(panels, path, title, "grey: children at this Froude number (Schwartz et al. 2008)")


def _save(panels: list[tuple[str, Any, Band | None]], path: Path, title: str, note: str) -> None:
    rows = -(-len(panels) // COLUMNS)
    with style():
        figure = blank(14.0, 2.1 * rows + 0.9, title)
        grid = figure.subplots(rows, COLUMNS, squeeze=False)
        x = np.arange(101)
        for axes, panel in zip(grid.flat, panels, strict=False):
            label, values, people = panel
            if people is not None:
                if np.isfinite(people.sd).all():
                    axes.fill_between(x, people.mean - people.sd, people.mean + people.sd, color=BAND_COLOUR, lw=0)
                axes.plot(x, people.mean, color=FAINT, lw=1)
            mean, sd = values.mean(axis=0), values.std(axis=0)
            axes.fill_between(x, mean - sd, mean + sd, color=MEAN_COLOUR, alpha=0.2, lw=0)
            axes.plot(x, mean, color=MEAN_COLOUR, lw=1.6)
            axes.set_title(label, fontsize=9)
            axes.set_xlim(0, 100)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_axis_off()
        figure.supxlabel(f"per cent of the gait cycle; {note}", fontsize=8)
        with written_whole(path) as temporary:
            figure.savefig(temporary, format="png")
