"""The README: its Python runs as written, and its tables hold what the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sandbox.harness import catalogue
from sandbox.measure import SUMMARY_FIELDS
from sandbox.report import columns_markdown, fields_markdown

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_python_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, since the block that reads a recording reads the one that the first block has written."""
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) >= 3
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert (tmp_path / "bullet.npz").exists()
    assert (tmp_path / "kinematic.npz").exists()


def test_ten_lines() -> None:
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) == 10


def test_summary_table_is_complete() -> None:
    assert fields_markdown(SUMMARY_FIELDS).strip() in README


def test_column_table_is_complete() -> None:
    assert columns_markdown().strip() in README


def test_every_experiment_is_named() -> None:
    section = README.partition("## Experiments")[2].partition("\n## ")[0].lower()
    assert [entry.short for entry in catalogue().values() if entry.short not in section] == []


def test_nothing_is_left_to_fill() -> None:
    assert "FILL" not in README
