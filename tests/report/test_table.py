"""Tables of figures."""

from __future__ import annotations

from sandbox.measure import REPORT_FIELDS, SUMMARY_FIELDS, gait_report, summary
from sandbox.recording import Recording
from sandbox.report.table import LABELS, columns_markdown, comparison_table, fields_markdown, summary_table, table, value_text


def test_columns_line_up() -> None:
    text = table([["a", "1.5"], ["longer", "10.25"]], ["name", "value"])
    assert text.splitlines() == ["name    value", "------  -----", "a         1.5", "longer  10.25"]
    assert table([]) == ""


def test_values_have_the_decimals_of_their_unit() -> None:
    assert value_text(1.23456, "m") == "1.235"
    assert value_text(1.23456, "m/s") == "1.23"
    assert value_text(None, "m") == "-"
    assert value_text(True, "") == "yes"
    assert value_text(7, "") == "7"
    assert value_text({"name": "walker", "hash": "ab"}, "") == "walker ab"


def test_a_summary_reads_as_words(walk: Recording) -> None:
    figures = summary(walk)
    text = summary_table(figures)
    assert text.startswith("no fall in 12.0 s\n70 kg, 1.74 m")
    assert "cadence                        105.0 steps/min" in text
    assert "nan" not in text.lower()
    assert set(LABELS) <= set(SUMMARY_FIELDS)
    fallen = summary_table({**figures, "fell": True, "fall_cause": "trunk tilt", "survived_s": 3.25, "cadence_spm": None})
    assert fallen.startswith("FELL after 3.25 s: trunk tilt")


def test_runs_stand_side_by_side(walk: Recording) -> None:
    figures = summary(walk)
    text = comparison_table({"kinematic": figures, "bullet": {**figures, "cadence_spm": 98.0}}, ["speed_mean_mps", "cadence_spm"])
    lines = text.splitlines()
    assert len(lines) == 4
    assert lines[0].split() == ["unit", "kinematic", "bullet"]
    assert lines[3].split() == ["cadence", "steps/min", "105.0", "98.0"]
    assert len(comparison_table({"a": gait_report(walk)}).splitlines()) == len(REPORT_FIELDS) + 2


def test_the_fields_as_markdown() -> None:
    lines = fields_markdown(SUMMARY_FIELDS).splitlines()
    assert len(lines) == len(SUMMARY_FIELDS) + 2
    assert all(line.count("|") == 4 for line in lines)
    assert all(line.count("|") == 5 for line in columns_markdown().splitlines())
