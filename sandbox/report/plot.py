"""One look for all plots: matplotlib without a display, and without touching anybody's pyplot state."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sandbox.recording import Recording
from sandbox.report.figure import body_parts, outline, painted_order, shade
from sandbox.report.optional import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK: Final = "#22272e"
FAINT: Final = "#8a929c"

STYLE: Final[Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "path.simplify": True,
    "legend.frameon": False,
}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Inside, figures are drawn and saved in the project's style.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    need("matplotlib", "report")
    from matplotlib import rc_context

    with rc_context(STYLE):
        yield


def blank(width: float, height: float, title: str = "") -> Figure:
    """An empty figure [inches], with a title above everything. Call it inside :func:`style`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle(title, fontsize=12, fontweight="bold", x=0.01, ha="left")
    return figure


def draw_body(axes: Any, recording: Recording, row: int, view: str = "side", shift: float = 0.0, alpha: float = 1.0) -> None:
    """Draw the body of one row where it is in the world, moved by ``shift`` [m] to the right of the page.

    ``view``: ``side``, seen from the subject's right, forward to the right of the page; or ``front``, seen from ahead.
    """
    from matplotlib.collections import PolyCollection

    across, depth = (
        (np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
        if view == "side"
        else (np.array([-1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    )
    parts = [
        part
        for part in painted_order(body_parts(recording, np.array([row])), 0, depth, view)
        if view == "front" or part.name != "shoulders"
    ]
    polygons = []
    for part in parts:
        start, end = (np.array([float(p[0] @ across) + shift, float(p[0, 2])]) for p in (part.start, part.end))
        wide = part.wide**0.8 if view == "front" else 1.0
        polygons.append(outline(start, end, (part.radius[0] * wide, part.radius[1] * wide)))
    axes.add_collection(
        PolyCollection(polygons, facecolors=[shade(part, view) for part in parts], edgecolors="white", linewidths=0.5, alpha=alpha)
    )
