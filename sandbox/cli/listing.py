"""`sandbox list`: what there is."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import tyro

from sandbox.cli.common import DONE


@dataclass(frozen=True)
class List:
    """List what there is: scenes, experiments and environments, or another kind of name."""

    what: Annotated[
        tyro.conf.Positional[Literal["all", "scenes", "experiments", "environments", "cells", "parameters"]],
        tyro.conf.arg(help="cells: of the battery; parameters: for --set"),
    ] = "all"

    def execute(self) -> int:
        """Print the names, and return the exit code."""
        wanted = ("scenes", "experiments", "environments") if self.what == "all" else (self.what,)
        for k, kind in enumerate(wanted):
            if k:
                print()
            print(f"{kind}:")
            names = _KINDS[kind]()
            width = max(map(len, names), default=0)
            for name, text in names.items():
                print(f"  {name:<{width}}  {text}".rstrip())
            if not names:
                print("  none yet")
        return DONE


def _scenes() -> dict[str, str]:
    from sandbox.scenes.scene import SCENES

    return SCENES


def _experiments() -> dict[str, str]:
    from sandbox.harness import catalogue

    return {entry.short: entry.title.partition(": ")[2] or entry.title for entry in catalogue().values()}


def _environments() -> dict[str, str]:
    import gymnasium

    specs = {name: spec for name, spec in sorted(gymnasium.registry.items()) if name.startswith("Sandbox/")}
    return {f"sandbox:{name}": _first_line(str(spec.entry_point).partition(":")[0]) for name, spec in specs.items()}


def _cells() -> dict[str, str]:
    from sandbox.bench.walk import CELLS

    return {cell.name: f"{cell.title}: {cell.runs} runs" for cell in CELLS}


def _parameter_names() -> dict[str, str]:
    from sandbox.controllers.parameters import Parameters

    values = Parameters.load()
    out = {}
    for field in fields(Parameters):
        about = field.metadata
        unit = "" if about["unit"] == "1" else f" {about['unit']}"
        out[field.name] = f"{getattr(values, field.name):g}{unit} ({about['low']:g} to {about['high']:g}): {about['doc']}"
    return out


_KINDS: dict[str, Callable[[], dict[str, str]]] = {
    "scenes": _scenes,
    "experiments": _experiments,
    "environments": _environments,
    "cells": _cells,
    "parameters": _parameter_names,
}


def _first_line(module: str) -> str:
    """First line of a module's docstring, read without importing it."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("``", "")
