"""Figures as plain text, for a terminal or a README."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.measure import REPORT_FIELDS, SUMMARY_FIELDS, Field
from sandbox.measure.analysis import STRIDE_FIELDS, Analysis
from sandbox.measure.people import Scores, people_scalar
from sandbox.measure.turns import TURN_FIELDS, Turn
from sandbox.recording import COLUMNS

# Decimals by unit; what has no unit is a share or a ratio.
DECIMALS = {"m": 3, "m/s": 2, "s": 2, "ms": 1, "N m": 1, "kg": 1, "steps/min": 1, "body weights": 2, "leg lengths": 3, "deg": 1, "": 3}
MISSING = "-"

# What a person reads after a run, in this order, in words.
LABELS = {
    "survived_s": "time",
    "distance_m": "distance",
    "speed_mean_mps": "speed",
    "speed_command_mps": "  commanded",
    "froude": "Froude number",
    "cadence_spm": "cadence",
    "step_length_m": "step length",
    "step_width_m": "step width",
    "stride_leg": "stride length",
    "stance_fraction": "stance, of the cycle",
    "double_support_fraction": "double support, of the cycle",
    "touchdowns": "touchdowns",
    "touchdown_lead_ms": "touchdown before predicted",
    "foot_slip_m": "foot slip in a stance",
    "grf_peak_bw": "peak vertical ground force",
    "peak_torque_nm": "peak joint torque",
    "com_height_m": "height of centre of mass",
    "margin_of_stability_m": "lateral margin of stability",
    "cost_of_transport": "cost of transport",
    "cpu_s": "CPU time",
    "engine_cpu_s": "  of it in the engine",
}


def table(rows: Sequence[Sequence[str]], head: Sequence[str] | None = None, left: int = 1) -> str:
    """Columns as wide as they need: the first ``left`` flush left, the others flush right; a rule under ``head``."""
    every = [list(head), *rows] if head is not None else list(rows)
    if not every:
        return ""
    widths = [max(len(row[i]) for row in every) for i in range(len(every[0]))]
    lines = [
        "  ".join(cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in every
    ]
    if head is not None:
        lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)


def value_text(value: Any, unit: str) -> str:
    """A figure with the decimals of its unit; ``-`` where it was not measured."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{DECIMALS.get(unit, 2)}f}"
    if isinstance(value, Mapping):
        return " ".join(str(item) for item in value.values())
    return str(value)


def summary_table(figures: Mapping[str, Any]) -> str:
    """A run's summary (of :func:`sandbox.measure.summary`) as a person reads it, with a line on the body and on a fall."""
    seconds = figures["survived_s"]
    verdict = f"FELL after {seconds:.2f} s: {figures['fall_cause']}" if figures["fell"] else f"no fall in {seconds:.1f} s"
    body = f"{figures['body_mass_kg']:g} kg, {figures['height_m']:g} m, leg {figures['leg_m']:.3f} m"
    params = figures["params"] or {}
    about = f"{body}; seed {figures['seed']}; parameters {params.get('name')} {params.get('hash')}; version {figures['version']}"
    rows = [(label, value_text(figures[key], SUMMARY_FIELDS[key].unit), _unit(key)) for key, label in LABELS.items()]
    lines = []
    width = max(len(label) for label, _, _ in rows)
    number = max(len(value) for _, value, _ in rows)
    for label, value, unit in rows:
        lines.append(f"{label.ljust(width)}  {value.rjust(number)} {unit}".rstrip())
    return "\n".join([verdict, about, "", *lines])


def _unit(key: str) -> str:
    return SUMMARY_FIELDS[key].unit


def comparison_table(columns: Mapping[str, Mapping[str, Any]], keys: Sequence[str] | None = None) -> str:
    """Several summaries or reports side by side, one row a figure, in words where there are words.

    Args:
        columns: figures by the name of their column.
        keys: which figures, in order; all that any of them has, by default.
    """
    fields: dict[str, Field] = {**REPORT_FIELDS, **SUMMARY_FIELDS}
    chosen = keys if keys is not None else list(dict.fromkeys(key for figures in columns.values() for key in figures))
    rows = []
    for key in chosen:
        unit = fields[key].unit if key in fields else ""
        cells = [value_text(figures.get(key), unit) for figures in columns.values()]
        rows.append([LABELS.get(key, key).strip(), unit, *cells])
    return table(rows, ["", "unit", *columns], left=2)


def gait_table(analysis: Analysis, scores: Scores | None, title: str) -> str:
    """A gait as a person reads it: means and SDs over straight strides, beside people at the same Froude number."""
    rows: list[tuple[str, ...]] = []
    froude = analysis.mean("froude")
    for key, field in STRIDE_FIELDS.items():
        mean, sd = analysis.mean(key), analysis.sd(key)
        if not math.isfinite(mean):
            continue
        comparable = math.isfinite(froude) and not key.endswith(("_m", "_mps", "_deg"))  # lengths in leg lengths alone
        people = people_scalar(key, froude, analysis.detector) if comparable else None
        theirs = (value_text(people.mean, field.unit), value_text(people.sd, field.unit)) if people is not None else (MISSING, MISSING)
        name = key.removesuffix("_mps").removesuffix("_spm").removesuffix("_leg").removesuffix("_m").removesuffix("_deg")
        spread = value_text(sd, field.unit) if math.isfinite(sd) else MISSING
        rows.append((name.replace("_", " "), field.unit, value_text(mean, field.unit), spread, *theirs))
        if key == "double_support_fraction" and analysis.detector != "height" and analysis.by_height is not None:
            rows += _by_height(analysis.by_height, froude)
    strides, turning = len(analysis.straight), len(analysis.turning)
    about = f"{title}: {strides} straight strides, {turning} turning; events by {analysis.detector}; leg {analysis.gait.leg:.3f} m"
    lines = [about]
    if rows:
        lines += [table(rows, ("", "unit", "mean", "SD", "people", "SD"), left=2)]
    sides = [
        f"{key.split('_')[0]} {value:.1f} %" for key in ("step_m", "stance_fraction") if math.isfinite(value := analysis.asymmetry(key))
    ]
    if sides:
        lines.append(f"asymmetry, left against right: {', '.join(sides)}")
    for detector, offsets in analysis.offsets.items():
        told = [f"{event} {offsets[event]:+.0f} ms" for event in ("touchdown", "liftoff") if offsets[event] is not None]
        if told:
            stance = f", stance {offsets['stance_fraction']:.3f}" if offsets["stance_fraction"] is not None else ""
            lines.append(f"events by {detector}, after these: {', '.join(told)}{stance}")
    if scores is not None:
        seven = f"{scores.seven.name} without hip rotation and foot progression {scores.seven.value:.1f} deg"
        lines.append(f"{scores.gps.name} against adults {scores.gps.value:.1f} deg; {seven}")
        lines.append("furthest from people, in SDs of people:")
        lines.append("  " + ", ".join(f"{c.name.replace('_', ' ')} {c.distance:.1f}" for c in scores.ranked()[:6]))
        if not scores.gps.full:
            lines.append(f"  {scores.gps.name} is of {', '.join(name.replace('_', ' ') for name in scores.gps.curves)}")
    return "\n".join(lines)


def pooled_table(figures: Mapping[str, Any]) -> str:
    """Several recordings together (of :func:`sandbox.measure.analysis.pooled_figures`), every stride counting the same."""
    rows = []
    for key, field in STRIDE_FIELDS.items():
        if figures["mean"][key] is not None:
            name = key.removesuffix("_mps").removesuffix("_spm").removesuffix("_leg").removesuffix("_m").removesuffix("_deg")
            cells = (value_text(figures[which][key], field.unit) for which in ("mean", "sd"))
            rows.append((name.replace("_", " "), field.unit, *cells))
    about = f"together: {figures['strides']} straight strides of {figures['files']} files; events by {figures['detector']}"
    return f"{about}\n{table(rows, ('', 'unit', 'mean', 'SD'), left=2)}"


def _by_height(analysis: Analysis, froude: float) -> list[tuple[str, ...]]:
    """Stance and double support as captured people's are told, beside theirs."""
    rows: list[tuple[str, ...]] = []
    for key in ("stance_fraction", "double_support_fraction"):
        people = people_scalar(key, froude) if math.isfinite(froude) else None
        theirs = (value_text(people.mean, ""), value_text(people.sd, "")) if people is not None else (MISSING, MISSING)
        if math.isfinite(analysis.mean(key)):
            name = f"  {key.removesuffix('_fraction').replace('_', ' ')} by foot height"
            rows.append((name, "", value_text(analysis.mean(key), ""), value_text(analysis.sd(key), ""), *theirs))
    return rows


def turns_table(turns: Sequence[Turn]) -> str:
    """Turns, one a row."""
    rows = [
        [value_text(v if math.isfinite(v) else None, field.unit) for v, field in zip(turn, TURN_FIELDS.values(), strict=True)]
        for turn in turns
    ]
    head = [f"{key.rsplit('_', 1)[0].replace('_', ' ')} [{field.unit}]" if field.unit else key for key, field in TURN_FIELDS.items()]
    return table(rows, head, left=0)


def columns_markdown() -> str:
    """The table of a README that explains the columns of a recording."""
    lines = ["| column | shape | unit | meaning |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {column.shape} | {column.unit} | {column.meaning} |" for name, column in COLUMNS.items()]
    return "\n".join(lines)


def fields_markdown(fields: Mapping[str, Field]) -> str:
    """The table of a README that explains :data:`SUMMARY_FIELDS` or :data:`REPORT_FIELDS`."""
    lines = ["| key | unit | meaning |", "|---|---|---|"]
    lines += [f"| `{key}` | {field.unit} | {field.meaning} |" for key, field in fields.items()]
    return "\n".join(lines)
