"""One self-contained HTML page on one gait or several side by side, with people at the same Froude number beside them.

The page asks no host for anything: one copy of plotly's library, the data and the replay are in it.
"""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.files import written_whole
from sandbox.measure.analysis import STRIDE_FIELDS, Analysis
from sandbox.measure.curves import CURVES, INVENTORY, inventory
from sandbox.measure.dynamics import DYNAMICS_CURVES, DYNAMICS_FIELDS, Dynamics
from sandbox.measure.flow import FLOW_FIELDS, Pop
from sandbox.measure.gait import Field
from sandbox.measure.people import (
    ADULT_CURVES,
    GPS_CURVES,
    MINIMAL_DIFFERENCE,
    Band,
    Scores,
    adult_band,
    band,
    children_band,
    cmu_band,
    froude_range,
    people_scalar,
    person_curve,
    reference_of,
    sources,
)
from sandbox.measure.signals import lowpass
from sandbox.measure.steps import stance_slips
from sandbox.measure.turns import TURN_FIELDS, Turn
from sandbox.recording import Recording
from sandbox.report.figure import SIDE_COLOURS, body_parts
from sandbox.report.optional import need
from sandbox.report.scene import footprints
from sandbox.report.table import value_text
from sandbox.state import FEET, ContactState

Array = NDArray[np.float64]

FPS = 30
# The page may not ask any host for anything.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
COLOURS = ("#2f6fb5", "#d8602c", "#7b3fa0", "#1b9e57", "#b3861e", "#0f8b8d", "#c2185b", "#5d4037")
PEOPLE = "#9aa5b0"
STATES = {
    ContactState.HEEL: ("heel", "#d8602c"),
    ContactState.FLAT: ("flat", "#2f6fb5"),
    ContactState.FOREFOOT: ("forefoot", "#1b9e57"),
    ContactState.TOE: ("toe", "#7b3fa0"),
}
SHOWN = 4.0  # [s] of a settled walk that is shown against time
STATURE_LEGS = 1.91  # stature over leg length, for drawing a captured person whose height is not known
HALF_MILLIMETRES = 2000
LIMB_UNITS = {"deg": "deg", "leg": "leg lengths"}


@dataclass(frozen=True)
class Subject:
    """One gait on the page.

    Attributes:
        name: shown, for instance ``virtual-leg, physical``.
        analysis: of its recording.
        scores: against people, where they can be had.
        dynamics: where there are forces.
        flow: figures of :data:`sandbox.measure.flow.FLOW_FIELDS`; pops: its jerks.
        turns: of its path.
        dash: line style of its curves.
        colour: of its curves.
    """

    name: str
    analysis: Analysis
    scores: Scores | None = None
    dynamics: Dynamics | None = None
    flow: Mapping[str, Any] = field(default_factory=dict)
    pops: Sequence[Pop] = ()
    turns: Sequence[Turn] = ()
    dash: str = "solid"
    colour: str = COLOURS[0]

    @property
    def recording(self) -> Recording:
        return self.analysis.recording


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
        ("figures", "Figures", _figures(subjects, froude)),
        ("curves", "Curves over the gait cycle", _curves(subjects, froude)),
        ("scores", "How far from people", _scores(subjects)),
        ("forces", "Ground reaction, joint moments and powers", _forces(subjects, froude)),
        ("contacts", "Contact, planned and collided", _contacts(subjects)),
        ("balance", "Centre of mass and margin of stability", _balance(subjects)),
        ("motion", "Root velocity and momentum", _motion(subjects)),
        ("flow", "Smoothness and pops", _flow(subjects)),
        ("turns", "Turns", _turns(subjects)),
        ("inventory", "How far each segment turns", _inventory(subjects, froude)),
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
        f'<script type="application/json" id="replay-data">{json.dumps(_replay(subjects))}</script>'
        f"<script>{data.joinpath('page.js').read_text(encoding='utf-8')}</script></body></html>"
    )


# -- parts -------------------------------------------------------------------------------------------------------------------


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


def _cell(mean: float | None, sd: float | None, unit: str) -> str:
    if mean is None or not math.isfinite(mean):
        return "-"
    text = value_text(float(mean), unit)
    return text if sd is None or not math.isfinite(sd) else f'{text} <span class="sd">&plusmn; {value_text(float(sd), unit)}</span>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str] | str]) -> str:
    """Rows of cells (already HTML), or a string as a line of its own; a last column called people is shaded."""
    shaded = len(head) - 1 if head and head[-1].startswith("people") else -1
    out = ["<div class='scroll'><table><tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
    for row in rows:
        if isinstance(row, str):
            out.append(f'<tr class="group"><td colspan="{len(head)}">{row}</td></tr>')
            continue
        cells = []
        for k, cell in enumerate(row):
            kind = ' class="people"' if k == shaded else ' class="unit"' if k == 1 and head[1] == "unit" else ""
            cells.append(f"<td{kind}>{cell}</td>")
        out.append("<tr>" + "".join(cells) + "</tr>")
    return "".join(out) + "</table></div>"


def _label(key: str, meaning: str) -> str:
    return f'<span title="{html.escape(meaning)}">{html.escape(_words(key))}</span>'


def _words(key: str) -> str:
    """A key in words: without its unit."""
    for ending in (
        "_mps3",
        "_mps2",
        "_dps2",
        "_mps",
        "_dps",
        "_spm",
        "_leg",
        "_deg",
        "_fraction",
        "_percent",
        "_bws",
        "_bw",
        "_ns",
        "_m",
        "_s",
    ):
        if key.endswith(ending):
            key = key.removesuffix(ending)
            break
    return key.replace("_", " ").replace("mean", "mean").capitalize()


def _figures(subjects: Sequence[Subject], froude: float) -> str:
    rows: list[Sequence[str] | str] = ["Gait, mean and SD over straight strides"]
    for key, about in STRIDE_FIELDS.items():
        # Lengths are compared in leg lengths alone.
        people = None if key.endswith("_m") else people_scalar(key, froude, subjects[0].analysis.detector)
        cells = [_cell(s.analysis.mean(key), s.analysis.sd(key), about.unit) for s in subjects]
        if any(cell != "-" for cell in cells):
            rows.append([_label(key, about.meaning), about.unit, *cells, _cell(people.mean, people.sd, about.unit) if people else "-"])
        if key == "double_support_fraction":
            rows += _by_height(subjects, froude)
    counts = [f"{len(s.analysis.straight)} + {len(s.analysis.turning)}" for s in subjects]
    rows.append([_label("strides, straight + turning", "turning: 12 degrees or more"), "", *counts, ""])
    for key in ("step_m", "stance_fraction"):
        meaning = "difference between left and right over their mean"
        rows.append(
            [
                _label(f"asymmetry of {_words(key).lower()}", meaning),
                "%",
                *[_cell(s.analysis.asymmetry(key), None, "deg") for s in subjects],
                "",
            ]
        )
    rows.append("Detectors of events: after the one that is used")
    rows.append([_label("detector", "of the events of this page"), "", *[s.analysis.detector for s in subjects], ""])
    for detector in ("contact", "force", "height", "zeni"):
        for event in ("touchdown", "liftoff"):
            values = [s.analysis.offsets.get(detector, {}).get(event) for s in subjects]
            if any(value is not None for value in values):
                rows.append([_label(f"{event} by {detector}", "mean offset"), "ms", *[_cell(value, None, "ms") for value in values], ""])
    for head, fields, pick in (
        ("Forces", DYNAMICS_FIELDS, lambda s: s.dynamics.figures if s.dynamics else {}),
        ("Flow", FLOW_FIELDS, lambda s: s.flow),
    ):
        block = _plain_rows(subjects, fields, pick)
        if block:
            rows += [head, *block]
    return _table(["", "unit", *[html.escape(s.name) for s in subjects], "people, mean &plusmn; SD"], rows)


def _by_height(subjects: Sequence[Subject], froude: float) -> list[Sequence[str]]:
    """Stance and double support by foot height and speed, as CMU's people's are told, where the page's events are others."""
    rows: list[Sequence[str]] = []
    if all(s.analysis.detector == "height" for s in subjects):
        return rows
    for key in ("stance_fraction", "double_support_fraction"):
        people = people_scalar(key, froude)
        found = [s.analysis.by_height for s in subjects]
        cells = ["-" if a is None else _cell(a.mean(key), a.sd(key), "") for a in found]
        label = _label(f"{_words(key)} by foot height", "contact while the foot is low and slow, which is how CMU's people's is told")
        rows.append([label, "", *cells, _cell(people.mean, people.sd, "") if people else "-"])
    return rows


def _plain_rows(subjects: Sequence[Subject], fields: Mapping[str, Field], pick: Any) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for key, about in fields.items():
        values = [pick(s).get(key) for s in subjects]
        if any(value is not None for value in values):
            cells = [html.escape(value_text(value, about.unit)) for value in values]
            rows.append([_label(key, about.meaning), about.unit, *cells, ""])
    return rows


def _grid(titles: Sequence[str], columns: int, height: int = 190) -> Any:
    from plotly.subplots import make_subplots

    rows = math.ceil(len(titles) / columns)
    figure = make_subplots(
        rows=rows, cols=columns, subplot_titles=list(titles), horizontal_spacing=0.045, vertical_spacing=min(0.3, 0.055 * 7 / max(rows, 1))
    )
    _look(figure, rows * height + 90)
    figure.update_annotations(font_size=12.5)
    return figure


def _look(figure: Any, height: int) -> None:
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 45, "r": 10, "t": 70, "b": 40},
        font={"family": "system-ui, sans-serif", "size": 11.5, "color": "#22303c"},
        legend={"orientation": "h", "yref": "container", "y": 1 - 8 / height, "yanchor": "top", "x": 0},
        hovermode="x unified",
    )
    figure.update_xaxes(showgrid=True, gridcolor="#eceff2", zeroline=False, linecolor="#c4ccd4")
    figure.update_yaxes(showgrid=True, gridcolor="#eceff2", zeroline=True, zerolinecolor="#c4ccd4", linecolor="#c4ccd4")


def _draw(figure: Any) -> str:
    return str(figure.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False, "responsive": True}))


def _single(values: Any) -> NDArray[np.float32]:
    """Half the bytes of a curve that nobody reads to seven digits."""
    return np.asarray(values, dtype=np.float32)


def _band(figure: Any, people: Band, row: int, column: int, name: str, legend: bool) -> None:
    x = np.arange(101)
    if np.isfinite(people.sd).all():
        edge = np.concatenate((people.mean + people.sd, (people.mean - people.sd)[::-1]))
        figure.add_scatter(
            x=np.concatenate((x, x[::-1])), y=_single(edge), fill="toself", fillcolor="rgba(154,165,176,0.28)", line={"width": 0},
            mode="lines",
            name=name, legendgroup="people", showlegend=legend, hoverinfo="skip", row=row, col=column,
        )  # fmt: skip
    figure.add_scatter(
        x=x, y=_single(people.mean), line={"color": PEOPLE, "width": 2}, name="people, mean", legendgroup="people", showlegend=False,
        row=row, col=column,
    )  # fmt: skip


def _mean_curves(
    figure: Any, subjects: Sequence[Subject], curves: Sequence[Mapping[str, Array]], key: str, row: int, column: int, legend: bool
) -> None:
    x = np.arange(101)
    for s, mine in zip(subjects, curves, strict=True):
        if key not in mine:
            continue
        values = mine[key]
        mean, sd = values.mean(axis=0), values.std(axis=0)
        rgba = "rgba({},{},{},0.10)".format(*(int(s.colour[k : k + 2], 16) for k in (1, 3, 5)))
        edge = np.concatenate((mean + sd, (mean - sd)[::-1]))
        figure.add_scatter(
            x=np.concatenate((x, x[::-1])), y=_single(edge), fill="toself", fillcolor=rgba, line={"width": 0}, mode="lines",
            legendgroup=s.name, showlegend=False, hoverinfo="skip", row=row, col=column,
        )  # fmt: skip
        figure.add_scatter(
            x=x, y=_single(mean), line={"color": s.colour, "width": 2, "dash": s.dash}, name=s.name, legendgroup=s.name, showlegend=legend,
            row=row, col=column,
        )  # fmt: skip


def _curves(subjects: Sequence[Subject], froude: float) -> str:
    # Each curve by the detector of the reference that it is held against.
    curves = [
        {
            name: curve
            for source, kind in ((s.analysis, "adults"), (s.analysis.by_height or s.analysis, "cmu"))
            for name, curve in source.curves.items()
            if reference_of(name) == kind
        }
        for s in subjects
    ]
    names = [name for name in CURVES if any(name in mine for mine in curves)]
    if not names:
        return ""
    columns = 5
    lift_offs = [(share, s.colour) for s in subjects if math.isfinite(share := s.analysis.mean("stance_fraction"))]
    shapes: list[dict[str, Any]] = []
    figure = _grid([f"{CURVES[name].label} [{LIMB_UNITS[CURVES[name].unit]}]" for name in names], columns)
    for k, name in enumerate(names):
        row, column = k // columns + 1, k % columns + 1
        people = band(name, froude)
        if people is not None:
            _band(figure, people, row, column, "people, mean ± SD", k == 0)
        if name in ADULT_CURVES and (cmu := cmu_band(name, froude)) is not None:
            figure.add_scatter(
                x=np.arange(101), y=_single(cmu.mean), line={"color": PEOPLE, "width": 1.2, "dash": "dot"},
                name="CMU's people (biased skeletons)",
                legendgroup="cmu", showlegend=name == "pelvis_tilt", row=row, col=column,
            )  # fmt: skip
        _mean_curves(figure, subjects, curves, name, row, column, k == 0)
        number = "" if k == 0 else str(k + 1)
        shapes += [
            {
                "type": "line",
                "xref": f"x{number}",
                "yref": f"y{number} domain",
                "x0": 100 * share,
                "x1": 100 * share,
                "y0": 0,
                "y1": 1,
                "line": {"color": colour, "width": 0.8, "dash": "dot"},
            }
            for share, colour in lift_offs
        ]
    figure.update_layout(shapes=shapes)  # all at once: one by one they take longer than all the rest
    return (
        "<p class='note'>0 % is foot strike, as the reference's own detector tells it; both sides averaged. Bands are one SD: grey of "
        "people (adults for the absolute angles of "
        "pelvis, thigh, hip, knee, ankle and foot, CMU's for all else), coloured of the strides. Dotted vertical: lift-off. A click in "
        "the legend hides a walk.</p>" + _draw(figure)
    )


def _scores(subjects: Sequence[Subject]) -> str:
    scored = [s for s in subjects if s.scores is not None]
    if not scored:
        return ""
    rows: list[Sequence[str] | str] = [
        "Gait Profile Score against adults [deg]",
    ]
    every = [s.scores for s in scored if s.scores is not None]
    rows.append(["Score", "deg", *[f"<b>{x.gps.value:.1f}</b> {x.gps.name}" for x in every]])
    rows += [
        [
            f"{CURVES[name].label}",
            "deg",
            *[
                _cell(x.gps.curves.get(name), None, "deg") + f' <span class="sd">{_cell(x.gps.shape.get(name), None, "deg")}</span>'
                for x in every
            ],
        ]
        for name in GPS_CURVES
    ]
    rows.append("Every curve: RMS that counts, over people's SD; correlation; shift of the peak [% of the cycle]")
    names = [score.name for score in every[-1].ranked()] + [c.name for x in every for c in x.curves]
    for name in dict.fromkeys(names):
        cells = []
        for x in every:
            found = next((c for c in x.curves if c.name == name), None)
            if found is None:
                cells.append("-")
                continue
            digits = 1 if found.unit == "deg" else 3
            d = found.difference
            cells.append(
                f"{found.counted:.{digits}f} = <b>{found.distance:.1f} SD</b> "
                f"<span class='sd'>r {d.correlation:.2f}, {d.peak_shift:+.0f} %</span>"
            )
        reference = "adults" if name in ADULT_CURVES else "CMU, mean removed"
        rows.append([f"{CURVES[name].label} <span class='sd'>{reference}</span>", LIMB_UNITS[CURVES[name].unit], *cells])
    note = (
        f"<p class='note'>Gait Variable Scores with, in grey, the mean removed from both curves. A change of the full score counts from "
        f"{MINIMAL_DIFFERENCE} degrees on. The norm of hip rotation and foot progression is of one laboratory, whose people turn their "
        "feet out by 15 and their hips by 18 degrees.</p>"
    )
    return note + _table(["", "unit", *[html.escape(s.name) for s in scored]], rows)


def _forces(subjects: Sequence[Subject], froude: float) -> str:
    having = [s for s in subjects if s.dynamics is not None and s.dynamics.curves]
    if not having:
        return ""
    curves = [s.dynamics.curves for s in having if s.dynamics is not None]
    names = [name for name in DYNAMICS_CURVES if any(name in mine for mine in curves)]
    columns = 4
    figure = _grid(
        [f"{_words(name)} [{DYNAMICS_CURVES[name].unit}]" for name in names] + ["Centre of pressure [foot lengths]"], columns, 230
    )
    for k, name in enumerate(names):
        row, column = k // columns + 1, k % columns + 1
        people = children_band(name, froude)
        if people is not None:
            _band(figure, people, row, column, "children at this Froude number", k == 0)
        person = person_curve(name)
        if person is not None:
            figure.add_scatter(
                x=np.arange(101), y=_single(person), line={"color": "#6b7682", "width": 1.2, "dash": "dot"},
                name="one adult (OpenSim's walk)", legendgroup="person", showlegend=k == 0, row=row, col=column,
            )  # fmt: skip
        _mean_curves(figure, having, curves, name, row, column, k == 0)
    row, column = len(names) // columns + 1, len(names) % columns + 1
    for s in having:
        paths = s.dynamics.pressure_paths() if s.dynamics is not None and s.recording.has("centre_of_pressure") else []
        if paths:
            figure.add_scatter(
                x=np.arange(101), y=_single(np.median(paths, axis=0)), line={"color": s.colour, "width": 2, "dash": s.dash}, name=s.name,
                legendgroup=s.name, showlegend=False, row=row, col=column,
            )  # fmt: skip
    return (
        "<p class='note'>Against the gait cycle, low-passed at 20 Hz; the pressure against stance, 0 at the heel and 1 at the toe tip. "
        "Extensor moments and generated power positive. Forces of a kinematic walk are those that its motion would need.</p>"
        + _draw(figure)
    )


def _window(subject: Subject) -> tuple[float, float]:
    """A stretch [s] of the settled walk, from a touchdown."""
    gait = subject.analysis.gait
    start = gait.strides[0].start - 0.1 if gait.strides else gait.start
    return start, min(start + SHOWN, gait.end)


def _contacts(subjects: Sequence[Subject]) -> str:
    having = [s for s in subjects if s.recording.has("contact_state")]
    if not having:
        return ""
    from plotly import graph_objects

    figure = graph_objects.Figure()
    shown: set[str] = set()
    order: list[str] = []
    for s in having:
        recording = s.recording
        start, end = _window(s)
        shown_rows = s.analysis.gait.rows(start, end)
        time = recording.time[shown_rows] - start
        for foot, side in enumerate(FEET):
            lane = f"{s.name}, {side}"
            order.append(lane)
            state = recording.contact_state[shown_rows, foot]
            edges = np.flatnonzero(np.diff(np.concatenate(([-1], state, [-1]))))
            for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                if state[a] == ContactState.AIRBORNE:
                    continue
                name, colour = STATES[ContactState(int(state[a]))]
                figure.add_bar(
                    x=[float(time[min(b, len(time) - 1)] - time[a])], y=[lane], base=[float(time[a])], orientation="h", marker_color=colour,
                    name=name, legendgroup=name, showlegend=name not in shown, hoverinfo="name", width=0.62,
                )  # fmt: skip
                shown.add(name)
            inside = (recording.event_foot == foot) & (recording.event_time >= start) & (recording.event_time <= end)
            for touchdown, symbol in ((True, "triangle-down"), (False, "triangle-up")):
                pick = inside & (recording.event_touchdown == touchdown) & np.isfinite(recording.event_predicted)
                lead = 1000 * (recording.event_predicted[pick] - recording.event_time[pick])
                kind = f"planned {'touchdown' if touchdown else 'lift-off'}"
                figure.add_scatter(
                    x=_single(recording.event_predicted[pick] - start), y=[lane] * int(pick.sum()), mode="markers", name=kind,
                    legendgroup=kind,
                    marker={"symbol": symbol, "size": 11, "color": "#22303c", "line": {"color": "white", "width": 1}},
                    text=[f"ground met {abs(v):.0f} ms {'before' if v > 0 else 'after'} the plan" for v in lead.tolist()], hoverinfo="text",
                    showlegend=kind not in shown and bool(pick.any()),
                )  # fmt: skip
                if pick.any():
                    shown.add(kind)
    _look(figure, 120 + 34 * len(order))
    figure.update_layout(barmode="overlay", hovermode="closest")
    figure.update_yaxes(categoryorder="array", categoryarray=order[::-1], automargin=True)
    figure.update_xaxes(title_text="time from the first stride [s]")
    head = ["", "unit", *[html.escape(s.name) for s in having]]
    rows: list[Sequence[str] | str] = []
    for touchdown, kind in ((True, "touchdown"), (False, "lift-off")):
        leads = []
        for s in having:
            recording, gait = s.recording, s.analysis.gait
            pick = (recording.event_touchdown == touchdown) & (recording.event_time >= gait.start) & (recording.event_time <= gait.end)
            lead = 1000 * (recording.event_predicted[pick] - recording.event_time[pick])
            leads.append(lead[np.isfinite(lead)])
        rows.append(
            [
                f"{kind} before the plan, mean &plusmn; SD",
                "ms",
                *[_cell(float(x.mean()), float(x.std()), "ms") if len(x) else "-" for x in leads],
            ]
        )
        rows.append([f"{kind}, largest lead and lag", "ms", *[f"{x.max():.0f}, {x.min():.0f}" if len(x) else "-" for x in leads]])
    slips = [1000 * stance_slips(s.recording, s.analysis.gait.placed) if s.analysis.gait.placed else np.empty(0) for s in having]
    rows.append(
        [
            "foot slip in a stance, mean &plusmn; SD",
            "mm",
            *[f"{x.mean():.1f} <span class='sd'>&plusmn; {x.std():.1f}</span>" if len(x) else "-" for x in slips],
        ]
    )
    rows.append(["foot slip, largest", "mm", *[f"{x.max():.1f}" if len(x) else "-" for x in slips]])
    return _draw(figure) + _table(head, rows) + _event_tables(having)


def _event_tables(subjects: Sequence[Subject]) -> str:
    """Each event of the stretch that is shown."""
    out = []
    for s in subjects:
        recording = s.recording
        start, end = _window(s)
        rows: list[Sequence[str]] = []
        for k in np.flatnonzero((recording.event_time >= start) & (recording.event_time <= end)).tolist():
            planned, happened = float(recording.event_predicted[k]), float(recording.event_time[k])
            lead = 1000 * (planned - happened)
            kind = "touchdown" if recording.event_touchdown[k] else "lift-off"
            told = [f"{planned:.3f}", f"{lead:+.0f}"] if math.isfinite(planned) else ["-", "-"]
            rows.append([f"{FEET[int(recording.event_foot[k])]} {kind}", f"{happened:.3f}", *told])
        out.append(
            f"<details><summary>{html.escape(s.name)}: every event shown</summary>"
            + _table(["event", "collided [s]", "planned [s]", "lead [ms]"], rows)
            + "</details>"
        )
    return "".join(out)


def _balance(subjects: Sequence[Subject]) -> str:
    having = [s for s in subjects if s.recording.has("com", "xcom")]
    if not having:
        return ""
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=len(having), cols=1, subplot_titles=[s.name for s in having], vertical_spacing=min(0.2, 0.22 / max(len(having), 1))
    )
    for k, s in enumerate(having):
        start, end = _window(s)
        rows = s.analysis.gait.rows(start, end)
        forward, right = s.analysis.gait.facing.forward[rows.start], s.analysis.gait.facing.right[rows.start]
        origin = s.recording.com[rows.start] * np.array([1.0, 1.0, 0.0])

        def flat(points: Array, origin: Array = origin, forward: Array = forward, right: Array = right) -> tuple[Any, Any]:
            moved = points - origin
            return _single(moved @ forward), _single(-(moved @ right))

        for foot in footprints(s.recording):
            if start - 0.5 <= foot.time <= end:
                x, y = flat(foot.outline)
                colour = SIDE_COLOURS[FEET[foot.foot]]
                figure.add_scatter(
                    x=x,
                    y=y,
                    fill="toself",
                    mode="lines",
                    line={"color": colour, "width": 1},
                    opacity=0.35,
                    showlegend=False,
                    hoverinfo="skip",
                    row=k + 1,
                    col=1,
                )
        for name, path, colour, dash in (("CoM", s.recording.com, "#1d1d1d", "solid"), ("XCoM", s.recording.xcom, "#7b3fa0", "dash")):
            x, y = flat(path[rows])
            figure.add_scatter(
                x=x,
                y=y,
                mode="lines",
                name=name,
                legendgroup=name,
                showlegend=k == 0,
                line={"color": colour, "width": 2, "dash": dash},
                row=k + 1,
                col=1,
            )
    _look(figure, 110 + 190 * len(having))
    figure.update_yaxes(title_text="left [m]")
    figure.update_xaxes(title_text="forward [m]", row=len(having), col=1)
    figure.update_layout(hovermode="closest")
    from sandbox.measure.balance import fore_aft_margins, lateral_margins

    table: list[Sequence[str] | str] = []
    for name, measure in (
        ("lateral margin of stability, least in single support", lateral_margins),
        ("fore-aft margin at touchdown", fore_aft_margins),
    ):
        values = [100 * measure(s.recording, s.analysis.straight, s.analysis.gait.facing) for s in having]
        table.append([name, "cm", *[f"{v.mean():.1f} <span class='sd'>&plusmn; {v.std():.1f}</span>" if len(v) else "-" for v in values]])
    return (
        "<p class='note'>From above, footprints where the feet stood; the margin is the distance from the XCoM to the edge of the stance "
        "foot, positive inside.</p>" + _draw(figure) + _table(["", "unit", *[html.escape(s.name) for s in having]], table)
    )


def _motion(subjects: Sequence[Subject]) -> str:
    having = [s for s in subjects if s.analysis.gait.strides]
    if not having:
        return ""
    titles = ["forward velocity of the root [m/s]", "lateral velocity [m/s]", "vertical velocity [m/s]"]
    axes = ("about the lateral axis", "about the axis of progression", "about the vertical axis")
    momentum = any(s.dynamics is not None and s.dynamics.momentum is not None for s in having)
    if momentum:
        titles += [f"angular momentum {axis} [m v h]" for axis in axes]
    figure = _grid(titles, 3, 230)
    for s in having:
        gait, recording = s.analysis.gait, s.recording
        start, end = _window(s)
        rows = gait.rows(start, end)
        time = recording.time[rows] - start
        velocity = lowpass(np.gradient(recording.point("mid_hip"), recording.interval, axis=0), 20.0, 1 / recording.interval)[rows]
        forward, right = gait.facing.forward[rows], gait.facing.right[rows]
        series = [np.sum(velocity * forward, axis=1), -np.sum(velocity * right, axis=1), velocity[:, 2]]
        if s.dynamics is not None and s.dynamics.momentum is not None:
            scale = (
                float(recording.header["body"]["mass_kg"])
                * max(s.analysis.mean("speed_mps"), 0.1)
                * float(np.nanmean(gait.com_height[rows]))
            )
            spin = s.dynamics.momentum[rows] / scale
            series += [np.sum(spin * right, axis=1), np.sum(spin * forward, axis=1), spin[:, 2]]
        for k, values in enumerate(series):
            figure.add_scatter(
                x=_single(time), y=_single(values), mode="lines", line={"color": s.colour, "width": 1.6, "dash": s.dash}, name=s.name,
                legendgroup=s.name, showlegend=k == 0, row=k // 3 + 1, col=k % 3 + 1,
            )  # fmt: skip
    return "<p class='note'>Against time [s] from the first stride that is measured.</p>" + _draw(figure)


def _flow(subjects: Sequence[Subject]) -> str:
    having = [s for s in subjects if s.flow]
    if not having:
        return ""
    rows: list[Sequence[str]] = []
    for s in having:
        rows += [
            [html.escape(s.name), f"{pop.time:.2f}", pop.segment.replace("_", " "), f"{pop.acceleration:.2f}", pop.state]
            for pop in list(s.pops)[:8]
        ]
    note = (
        "<p class='note'>Pops are angular accelerations of a segment above 2 degrees a frame squared at 60 Hz; the largest eight of each "
        "walk. Figures are in the table above.</p>"
    )
    if not rows:
        return note + "<p class='good'>No pops.</p>"
    return note + _table(["walk", "time [s]", "segment", "deg/frame&sup2;", "state of the gait"], rows)


def _turns(subjects: Sequence[Subject]) -> str:
    rows: list[Sequence[str]] = []
    for s in subjects:
        for turn in s.turns:
            cells = [_cell(float(value), None, about.unit) for value, about in zip(turn, TURN_FIELDS.values(), strict=True)]
            rows.append([html.escape(s.name), *cells])
    if not rows:
        return ""
    head = [
        "walk",
        *[f'<span title="{html.escape(about.meaning)}">{_words(key)} [{about.unit}]</span>' for key, about in TURN_FIELDS.items()],
    ]
    return (
        "<p class='note'>Heading of the pelvis low-passed at 1.5 Hz; a turn is faster than 20 degrees a second and larger than 30.</p>"
        + _table(head, rows)
    )


def _inventory(subjects: Sequence[Subject], froude: float) -> str:
    found = [inventory(s.analysis.mean_curves) for s in subjects]
    if not any(found):
        return ""
    people: dict[str, Array] = {}
    for planes in INVENTORY.values():
        for name in planes.values():
            reference = adult_band(name, froude) if name in ADULT_CURVES else cmu_band(name, froude)
            if reference is not None:
                people[name] = reference.mean
    theirs = inventory(people)
    rows: list[Sequence[str] | str] = []
    for segment, planes in INVENTORY.items():
        for plane in planes:
            cells = [_cell(mine.get(segment, {}).get(plane), None, "deg") for mine in found]
            if any(cell != "-" for cell in cells):
                rows.append([f"{segment}, {plane}", "deg", *cells, _cell(theirs.get(segment, {}).get(plane), None, "deg")])
    return "<p class='note'>Range over the mean cycle about the axes of the body.</p>" + _table(
        ["", "unit", *[html.escape(s.name) for s in subjects], "people"], rows
    )


# -- replay ------------------------------------------------------------------------------------------------------------------


def _replay(subjects: Sequence[Subject]) -> dict[str, Any]:
    """Frames at 30 Hz of every walk: ends of the drawn parts and forces, in half millimetres; shown first is the settled walk."""
    walks = [_replay_walk(s) for s in subjects]
    settled = max(s.analysis.gait.start - float(s.recording.time[0]) for s in subjects)
    return {"fps": FPS, "first": round(FPS * settled), "walks": walks}


def _replay_walk(subject: Subject) -> dict[str, Any]:
    recording = subject.recording
    body = dict(recording.header["body"])
    if not body.get("height_m"):
        body["height_m"] = STATURE_LEGS * float(body["leg_m"])
    recording = Recording(recording.header | {"body": body}, recording.columns)
    first = float(recording.time[0])
    times = np.arange(first, recording.duration + 1e-9, 1 / FPS)
    rows = np.clip(np.searchsorted(recording.time, times - 1e-9), 0, len(recording) - 1)
    parts = body_parts(recording, rows)
    middle = recording.point("mid_hip")
    follow = (
        lowpass(middle[:, :2], 0.5, 1 / recording.interval)[rows] if len(recording) > 3 / 0.5 / recording.interval else middle[rows, :2]
    )
    floor = float(np.min([recording.point(f"{side}_{name}")[:, 2].min() for side in FEET for name in ("toe_base", "ankle")]))
    if subject.recording.header.get("plant") != "capture":
        floor = 0.0
    shift = np.column_stack((follow, np.full(len(rows), floor)))
    ends = np.stack([np.concatenate((part.start - shift, part.end - shift), axis=1) for part in parts], axis=1)
    forward = subject.analysis.gait.facing.forward[rows[len(rows) // 2]]
    out = {
        "name": subject.name,
        "ended": "ended",
        "heading": -math.atan2(float(forward[0]), float(forward[1])),
        "parts": [[round(max(part.radius) * 0.94, 4), SIDE_COLOURS[part.side]] for part in parts],
        "ends": _packed(ends),
        "follow": base64.b64encode(follow.astype("<f4").tobytes()).decode(),
        "forces": None,
    }
    if recording.has("ground_force", "centre_of_pressure") and recording.ground_force.any():
        weight = 9.81 * float(body["mass_kg"])
        at = np.nan_to_num(recording.centre_of_pressure[rows] - shift[:, None, :])
        out["forces"] = _packed(np.concatenate((at, recording.ground_force[rows] / weight), axis=2))
    return out


def _packed(values: Array) -> str:
    return base64.b64encode(np.clip(np.rint(values * HALF_MILLIMETRES), -32767, 32767).astype("<i2").tobytes()).decode()
