"""One self-contained HTML page on one gait or several side by side, with people at the same Froude number beside them.

The page asks no host for anything: one copy of plotly's library, the data and the replay are in it.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from sandbox.files import written_whole
from sandbox.measure.people import froude_range, sources
from sandbox.report import page_plots, page_tables
from sandbox.report.optional import need
from sandbox.report.page_replay import replay_data
from sandbox.report.subject import COLOURS, Subject

__all__ = ["COLOURS", "Subject", "page_html", "save_page"]

# The page may not ask any host for anything.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"


def save_page(
    path: str | Path,
    title: str,
    subjects: Sequence[Subject],
    froude: float,
    *,
    about: str = "",
    missing: Sequence[str] = (),
    verdict: Sequence[str] = (),
) -> None:
    """Write the page.

    Args:
        path: of the file.
        title: of the page.
        subjects: the gaits; at least one.
        froude: at which people are shown.
        about: a line under the title.
        missing: what was asked for and does not exist, one line each.
        verdict: what differs, one sentence each.

    Raises:
        OSError: the path cannot be written.
        ModuleNotFoundError: plotly is not installed.
    """
    text = page_html(title, subjects, froude, about=about, missing=missing, verdict=verdict)
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page_html(
    title: str,
    subjects: Sequence[Subject],
    froude: float,
    *,
    about: str = "",
    missing: Sequence[str] = (),
    verdict: Sequence[str] = (),
) -> str:
    """The page as text; arguments of :func:`save_page`."""
    need("plotly", "report")
    from plotly.offline import get_plotlyjs

    data = files("sandbox.report").joinpath("data")
    low, high = froude_range()
    held = "" if low <= froude <= high else f" CMU's people walked at {low:.2f} to {high:.2f}: their nearest is shown."
    sections = [
        ("verdict", "In a minute", _verdict(subjects, verdict, missing)),
        ("replay", "Side by side" if len(subjects) > 1 else "Replay", _replay_section()),
        ("figures", "Figures", page_tables.figure_table(subjects, froude)),
        ("curves", "Curves over the gait cycle", page_plots.curve_plots(subjects, froude)),
        ("scores", "How far from people", page_tables.score_table(subjects)),
        ("forces", "Ground reaction, joint moments and powers", page_plots.force_plots(subjects, froude)),
        ("contacts", "Contact, planned and collided", page_plots.contact_plots(subjects)),
        ("balance", "Centre of mass and margin of stability", page_plots.balance_plots(subjects)),
        ("motion", "Root velocity and momentum", page_plots.motion_plots(subjects)),
        ("flow", "Smoothness and pops", page_tables.pop_table(subjects)),
        ("turns", "Turns", page_tables.turn_table(subjects)),
        ("inventory", "How far each segment turns", page_tables.inventory_table(subjects, froude)),
    ]
    shown = [(key, name, body) for key, name, body in sections if body]
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name, _ in shown)
    bodies = "".join(f'<h2 id="{key}">{name}</h2>{body}' for key, name, body in shown)
    warned = [f"<li>{html.escape(s.name)}: {html.escape(w)}</li>" for s in subjects for w in s.analysis.warnings]
    warnings = f"<ul class='note'>{''.join(warned)}</ul>" if warned else ""
    credit = "".join(f"<li>{html.escape(line)}</li>" for line in sources())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{html.escape(title)}</title><style>{data.joinpath('page.css').read_text(encoding='utf-8')}</style>"
        f"<script>{get_plotlyjs()}</script></head><body>"
        f"<h1>{html.escape(title)}</h1><p class='about'>{html.escape(about)} People at Froude number {froude:.3f}.{held}</p>"
        f"{warnings}<nav>{links}</nav>{bodies}"
        f"<footer>People's figures:<ul>{credit}</ul></footer>"
        f'<script type="application/json" id="replay-data">{json.dumps(replay_data(subjects))}</script>'
        f"<script>{data.joinpath('page.js').read_text(encoding='utf-8')}</script></body></html>"
    )


def _verdict(subjects: Sequence[Subject], verdict: Sequence[str], missing: Sequence[str]) -> str:
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in verdict)
    absent = "".join(f"<li class='note'>{html.escape(line)}</li>" for line in missing)
    key = "".join(
        f'<span style="margin-right:18px"><span class="key" style="border-top-color:{s.colour};border-top-style:{_css(s.dash)}"></span>'
        f"{html.escape(s.name)}</span>"
        for s in subjects
    )
    fallen = []
    for s in subjects:
        fall = s.recording.header.get("fall") or {}
        if fall.get("fell"):
            fallen.append(f"<p class='bad'>{html.escape(s.name)} fell after {fall['time_s']:.2f} s: {html.escape(str(fall['cause']))}</p>")
    return f"<p>{key}</p>{''.join(fallen)}<ul>{lines}{absent}</ul>"


def _css(dash: str) -> str:
    return {"solid": "solid", "dash": "dashed", "dot": "dotted"}.get(dash, "dashed")


def _replay_section() -> str:
    return (
        '<canvas id="replay-canvas"></canvas><div class="controls"><button id="replay-play">Play</button>'
        '<input id="replay-time" type="range" min="0" max="1" step="1" value="0"><span id="replay-clock"></span>'
        '<select id="replay-speed"><option value="0.25">0.25 x</option><option value="0.5">0.5 x</option><option value="1" selected>1 x'
        '</option></select></div><p class="note">Left side blue, right side orange; ground reaction green, 0.9 m a body weight. '
        "Drag to turn, wheel to zoom.</p>"
    )
