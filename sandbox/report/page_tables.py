"""Tables of a page: figures beside people's, scores, pops, turns, how far segments turn. Cells are HTML already."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.analysis import STRIDE_FIELDS
from sandbox.measure.curves import CURVES, INVENTORY, inventory
from sandbox.measure.dynamics import DYNAMICS_CURVES, DYNAMICS_FIELDS, PEAKS
from sandbox.measure.flow import FLOW_FIELDS
from sandbox.measure.gait import Field
from sandbox.measure.people import (
    ADULT_CURVES,
    GPS_CURVES,
    MINIMAL_DIFFERENCE,
    adult_band,
    children_band,
    cmu_band,
    froude_text,
    people_scalar,
)
from sandbox.measure.turns import TURN_FIELDS
from sandbox.report.subject import Subject
from sandbox.report.table import value_text

Array = NDArray[np.float64]

LIMB_UNITS = {"deg": "deg", "leg": "leg lengths"}


def cell(mean: float | None, sd: float | None, unit: str) -> str:
    """Mean and SD with the decimals of their unit; ``-`` where there is no mean."""
    if mean is None or not math.isfinite(mean):
        return "-"
    text = value_text(float(mean), unit)
    return text if sd is None or not math.isfinite(sd) else f'{text} <span class="sd">&plusmn; {value_text(float(sd), unit)}</span>'


def html_table(head: Sequence[str], rows: Sequence[Sequence[str] | str]) -> str:
    """Rows of cells (already HTML), or a string as a line of its own; a last column called people is shaded."""
    shaded = len(head) - 1 if head and head[-1].startswith("people") else -1
    names = "".join(f"<th class='unit'>{name}</th>" if name == "unit" else f"<th>{name}</th>" for name in head)
    out = [f"<div class='scroll'><table><tr>{names}</tr>"]
    for row in rows:
        if isinstance(row, str):
            out.append(f'<tr class="group"><td colspan="{len(head)}">{row}</td></tr>')
            continue
        cells = []
        for k, text in enumerate(row):
            kind = ' class="people"' if k == shaded else ' class="unit"' if k == 1 and head[1] == "unit" else ""
            cells.append(f"<td{kind}>{text}</td>")
        out.append("<tr>" + "".join(cells) + "</tr>")
    return "".join(out) + "</table></div>"


def label(key: str, meaning: str) -> str:
    """A key in words, whose meaning shows where the pointer rests on it."""
    return f'<span title="{html.escape(meaning)}">{html.escape(words(key))}</span>'


def words(key: str) -> str:
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


def figure_table(subjects: Sequence[Subject], froude: float) -> str:
    """Every scalar of every gait, mean and SD over straight strides, and people's at the same Froude number."""
    rows: list[Sequence[str] | str] = ["Gait, mean and SD over straight strides"]
    for key, about in STRIDE_FIELDS.items():
        # Lengths are compared in leg lengths alone.
        people = None if key.endswith("_m") else people_scalar(key, froude, subjects[0].analysis.detector)
        cells = [cell(s.analysis.mean(key), s.analysis.sd(key), about.unit) for s in subjects]
        if any(cell != "-" for cell in cells):
            rows.append([label(key, about.meaning), about.unit, *cells, cell(people.mean, people.sd, about.unit) if people else "-"])
        if key == "double_support_fraction":
            rows += _by_height(subjects, froude)
    counts = [f"{len(s.analysis.straight)} + {len(s.analysis.turning)}" for s in subjects]
    rows.append([label("strides, straight + turning", "turning: 12 degrees or more"), "", *counts, ""])
    for key in ("step_m", "stance_fraction"):
        meaning = "difference between left and right over their mean"
        rows.append(
            [
                label(f"asymmetry of {words(key).lower()}", meaning),
                "%",
                *[cell(s.analysis.asymmetry(key), None, "deg") for s in subjects],
                "",
            ]
        )
    rows.append("Detectors of events: after the one that is used")
    rows.append([label("detector", "of the events of this page"), "", *[s.analysis.detector for s in subjects], ""])
    for detector in ("contact", "force", "height", "zeni"):
        for event in ("touchdown", "liftoff"):
            values = [s.analysis.offsets.get(detector, {}).get(event) for s in subjects]
            if any(value is not None for value in values):
                rows.append([label(f"{event} by {detector}", "mean offset"), "ms", *[cell(value, None, "ms") for value in values], ""])
    rows += _peaks(subjects, froude)
    for head, fields, pick in (
        ("Forces", DYNAMICS_FIELDS, lambda s: s.dynamics.figures if s.dynamics else {}),
        ("Flow", FLOW_FIELDS, lambda s: s.flow),
    ):
        block = _plain_rows(subjects, fields, pick)
        if block:
            rows += [head, *block]
    return html_table(["", "unit", *[html.escape(s.name) for s in subjects], f"people {froude_text(froude)}, mean &plusmn; SD"], rows)


def _by_height(subjects: Sequence[Subject], froude: float) -> list[Sequence[str]]:
    """Stance and double support by foot height and speed, as CMU's people's are told, where the page's events are others."""
    rows: list[Sequence[str]] = []
    if all(s.analysis.detector == "height" for s in subjects):
        return rows
    for key in ("stance_fraction", "double_support_fraction"):
        people = people_scalar(key, froude)
        found = [s.analysis.by_height for s in subjects]
        cells = ["-" if a is None else cell(a.mean(key), a.sd(key), "") for a in found]
        name = label(f"{words(key)} by foot height", "contact while the foot is low and slow, which is how CMU's people's is told")
        rows.append([name, "", *cells, cell(people.mean, people.sd, "") if people else "-"])
    return rows


def _peaks(subjects: Sequence[Subject], froude: float) -> list[Sequence[str] | str]:
    """Peaks of forces, moments and powers, mean and SD over strides, beside those of children's mean curves."""
    rows: list[Sequence[str] | str] = []
    for key, (curve, (first, last), least) in PEAKS.items():
        found = [s.dynamics.peaks.get(key) if s.dynamics is not None else None for s in subjects]
        if all(values is None for values in found):
            continue
        unit = DYNAMICS_CURVES[curve].unit
        children = children_band(curve, froude)
        theirs = "-"
        if children is not None:
            at = first + int(np.argmin(children.mean[first : last + 1]) if least else np.argmax(children.mean[first : last + 1]))
            theirs = cell(float(children.mean[at]), float(children.sd[at]), unit)
        cells = ["-" if values is None else cell(float(values.mean()), float(values.std()), unit) for values in found]
        meaning = f"{'least' if least else 'largest'} value of {words(curve).lower()} from {first} to {last} % of the cycle"
        rows.append([label(key, meaning), unit, *cells, theirs])
    return ["Peaks of forces, mean and SD over strides; people: children at this Froude number", *rows] if rows else []


def _plain_rows(subjects: Sequence[Subject], fields: Mapping[str, Field], pick: Any) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for key, about in fields.items():
        values = [pick(s).get(key) for s in subjects]
        if any(value is not None for value in values):
            cells = [html.escape(value_text(value, about.unit)) for value in values]
            rows.append([label(key, about.meaning), about.unit, *cells, ""])
    return rows


def score_table(subjects: Sequence[Subject]) -> str:
    """Gait Variable Scores and the profile score, and how far every curve is from its reference."""
    scored = [s for s in subjects if s.scores is not None]
    if not scored:
        return ""
    rows: list[Sequence[str] | str] = [
        "Gait Profile Score against adults [deg]",
    ]
    every = [s.scores for s in scored if s.scores is not None]
    rows.append(["Score", "deg", *[f"<b>{x.gps.value:.1f}</b> {x.gps.name}" for x in every]])
    rows.append(["without hip rotation and foot progression", "deg", *[f"{x.seven.value:.1f} {x.seven.name}" for x in every]])
    rows += [
        [
            f"{CURVES[name].label}",
            "deg",
            *[
                cell(x.gps.curves.get(name), None, "deg") + f' <span class="sd">{cell(x.gps.shape.get(name), None, "deg")}</span>'
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
    return note + html_table(["", "unit", *[html.escape(s.name) for s in scored]], rows)


def pop_table(subjects: Sequence[Subject]) -> str:
    """The largest jerks of each gait, with time and state of the gait."""
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
    return note + html_table(["walk", "time [s]", "segment", "deg/frame&sup2;", "state of the gait"], rows)


def turn_table(subjects: Sequence[Subject]) -> str:
    """Turns of each gait; empty where nobody turns."""
    rows: list[Sequence[str]] = []
    for s in subjects:
        for turn in s.turns:
            cells = [cell(float(value), None, about.unit) for value, about in zip(turn, TURN_FIELDS.values(), strict=True)]
            rows.append([html.escape(s.name), *cells])
    if not rows:
        return ""
    head = [
        "walk",
        *[f'<span title="{html.escape(about.meaning)}">{words(key)} [{about.unit}]</span>' for key, about in TURN_FIELDS.items()],
    ]
    return (
        "<p class='note'>Heading of the pelvis low-passed at 1.5 Hz; a turn is faster than 20 degrees a second and larger than 30.</p>"
        + html_table(head, rows)
    )


def inventory_table(subjects: Sequence[Subject], froude: float) -> str:
    """How far each segment turns over the mean cycle, beside people."""
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
            cells = [cell(mine.get(segment, {}).get(plane), None, "deg") for mine in found]
            if any(cell != "-" for cell in cells):
                rows.append([f"{segment}, {plane}", "deg", *cells, cell(theirs.get(segment, {}).get(plane), None, "deg")])
    return "<p class='note'>Range over the mean cycle about the axes of the body.</p>" + html_table(
        ["", "unit", *[html.escape(s.name) for s in subjects], f"people {froude_text(froude)}"], rows
    )
