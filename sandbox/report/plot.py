"""One look for all plots: matplotlib without a display, and without touching anybody's pyplot state."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from sandbox.report.optional import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK: Final = "#22272e"
FAINT: Final = "#8a929c"

STYLE: Final[dict[str, Any]] = {
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
