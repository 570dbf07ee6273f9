"""`sandbox audit`: what makes a walk a march, in figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from sandbox.cli.common import DONE, checking, option
from sandbox.console import Progress

if TYPE_CHECKING:
    from sandbox.recording import Recording

# What is looked at where nothing is named: experiment and variant.
STUDY = (
    ("lo-006", "retained"),
    ("lo-007", "retained"),
    ("lo-008", "retained"),
    ("lo-009", "A-kinematic"),
    ("lo-009", "B-virtual-leg"),
    ("lo-009", "C-telescoping"),
)


@dataclass(frozen=True)
class Audit:
    """The flow audit: LO-006 to LO-009 of the study side by side, or recordings, measured for what reads as a march."""

    files: Annotated[
        tyro.conf.Positional[tuple[Path, ...]], option("FILE.npz ...", "recordings to look at instead of the study's", default=False)
    ] = ()
    json: Annotated[bool, tyro.conf.arg(help="plain JSON instead of a table")] = False

    def execute(self) -> int:
        """Measure, and print the table."""
        from sandbox.measure.flow import march
        from sandbox.recording import Recording

        columns: dict[str, dict[str, Any]] = {}
        with checking():
            for file in self.files:
                columns[file.name] = march(Recording.load(file))
        if not self.files:
            with Progress("audit", len(STUDY), "walks") as progress:
                for k, (name, variant) in enumerate(STUDY):
                    columns[variant if name == "lo-009" else name] = march(_walk(name, variant))
                    progress(k + 1)
        print(json.dumps(columns, indent=2, allow_nan=False) if self.json else _table(columns))
        return DONE


def _walk(name: str, variant: str) -> Recording:
    """The recording of an experiment's variant."""
    from sandbox.harness import catalogue, find

    experiment = find(name, catalogue()).load()
    recording: Recording | None = experiment.run(experiment.variant(variant).parameters).recording
    if recording is None:
        raise RuntimeError(f"{name} {variant} has no recording")
    return recording


def _table(columns: Mapping[str, Mapping[str, Any]]) -> str:
    """Figures in rows, walks in columns, and what each figure means."""
    from sandbox.measure.flow import MARCH_FIELDS
    from sandbox.report.table import table, value_text

    rows = [(key, field.unit, *(value_text(column[key], field.unit) for column in columns.values())) for key, field in MARCH_FIELDS.items()]
    notes = [f"{key}: {field.meaning}" for key, field in MARCH_FIELDS.items()]
    return "\n".join([table(rows, ("", "unit", *columns), left=2), "", *notes])
