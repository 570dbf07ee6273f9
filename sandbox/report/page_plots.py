"""Plots of a page, each as HTML that plotly draws: curves over the cycle, forces, contacts, centre of mass, velocities."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.balance import fore_aft_margins, lateral_margins
from sandbox.measure.curves import CURVES
from sandbox.measure.dynamics import DYNAMICS_CURVES
from sandbox.measure.people import ADULT_CURVES, Band, band, children_band, cmu_band, person_curve, reference_of
from sandbox.measure.signals import lowpass
from sandbox.measure.steps import stance_slips
from sandbox.report.figure import SIDE_COLOURS
from sandbox.report.page_tables import LIMB_UNITS, cell, html_table, words
from sandbox.report.scene import footprints
from sandbox.report.subject import Subject
from sandbox.state import FEET, ContactState

Array = NDArray[np.float64]

PEOPLE = "#9aa5b0"
STATES = {
    ContactState.HEEL: ("heel", "#d8602c"),
    ContactState.FLAT: ("flat", "#2f6fb5"),
    ContactState.FOREFOOT: ("forefoot", "#1b9e57"),
    ContactState.TOE: ("toe", "#7b3fa0"),
}
LEGEND_WIDTH, LEGEND_ROW, LEGEND_LINE, LETTER = 900.0, 20.0, 45.0, 6.3  # [pixels] of a legend, its rows, what is drawn, a letter
SHOWN = 4.0  # [s] of a settled walk that is shown against time


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
    _make_room(figure)
    return str(figure.to_html(full_html=False, include_plotlyjs=False, config={"displayModeBar": False, "responsive": True}))


def _make_room(figure: Any) -> None:
    """Move the plots down by the lines that the legend takes, whose entries are all as wide as the longest one."""
    names = [trace.name for trace in figure.data if trace.showlegend and trace.name]
    if not names:
        return
    abreast = max(1, int(LEGEND_WIDTH // (LETTER * max(map(len, names)) + LEGEND_LINE)))
    more = LEGEND_ROW * (math.ceil(len(names) / abreast) - 1)
    height = figure.layout.height + more
    figure.update_layout(height=height, margin_t=figure.layout.margin.t + more, legend_y=1 - 8 / height)


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


def curve_plots(subjects: Sequence[Subject], froude: float) -> str:
    """All curves over the gait cycle in a grid, with people's bands."""
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


def force_plots(subjects: Sequence[Subject], froude: float) -> str:
    """Ground reaction, joint moments and powers over the cycle with children's bands, and the centre of pressure over stance."""
    having = [s for s in subjects if s.dynamics is not None and s.dynamics.curves]
    if not having:
        return ""
    curves = [s.dynamics.curves for s in having if s.dynamics is not None]
    names = [name for name in DYNAMICS_CURVES if any(name in mine for mine in curves)]
    columns = 4
    figure = _grid(
        [f"{words(name)} [{DYNAMICS_CURVES[name].unit}]" for name in names] + ["Centre of pressure [foot lengths]"], columns, 230
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


def contact_plots(subjects: Sequence[Subject]) -> str:
    """Which part of which foot was on the ground when, planned events above it, and tables of leads and of foot slip."""
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
                *[cell(float(x.mean()), float(x.std()), "ms") if len(x) else "-" for x in leads],
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
    return _draw(figure) + html_table(head, rows) + _event_tables(having)


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
            + html_table(["event", "collided [s]", "planned [s]", "lead [ms]"], rows)
            + "</details>"
        )
    return "".join(out)


def balance_plots(subjects: Sequence[Subject]) -> str:
    """Paths of CoM and XCoM over the footprints from above, and margins of stability."""
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

    table: list[Sequence[str] | str] = []
    for name, measure in (
        ("lateral margin of stability, least in single support", lateral_margins),
        ("fore-aft margin at touchdown", fore_aft_margins),
    ):
        values = [100 * measure(s.recording, s.analysis.straight, s.analysis.gait.facing) for s in having]
        table.append([name, "cm", *[f"{v.mean():.1f} <span class='sd'>&plusmn; {v.std():.1f}</span>" if len(v) else "-" for v in values]])
    return (
        "<p class='note'>From above, footprints where the feet stood; the margin is the distance from the XCoM to the edge of the stance "
        "foot, positive inside.</p>" + _draw(figure) + html_table(["", "unit", *[html.escape(s.name) for s in having]], table)
    )


def motion_plots(subjects: Sequence[Subject]) -> str:
    """Velocity of the root and angular momentum against time."""
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
