"""`sandbox experiment`: the study's experiments, each runnable, checked and to be looked at."""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from sandbox.cli.common import DONE, FAILED, NEEDS, check_folder, checking, need, option
from sandbox.console import Progress

if TYPE_CHECKING:
    from sandbox.harness import Entry, Experiment, Result

ALL = "all"
WIDTH = 110  # characters of a line of text


@dataclass(frozen=True)
class ExperimentCommand:
    """The experiments: list them, show one, run one, or check that they still give what they gave."""

    action: Annotated[
        tyro.conf.Positional[Literal["list", "show", "run", "check"]],
        tyro.conf.arg(help="show: its text, variants and parameters; check: run and compare with what is expected"),
    ]
    name: Annotated[
        tyro.conf.Positional[str], option("NAME", "an experiment, for instance lo-004; `check` also takes all", default=False)
    ] = ""
    changes: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        option("KEY=VALUE", "run: change a parameter (sandbox experiment show NAME); may be repeated", default=False, name="set"),
    ] = ()
    variant: Annotated[str, option("NAME", "run: this variant alone (default: all of them)", default=False)] = ""
    out: Annotated[Path | None, option("DIR", "run: folder for the files (default: out/experiments/NAME)", default=False)] = None
    workers: Annotated[int | None, option("N", "check: processes (default: 2)", default=False)] = None

    def execute(self) -> int:
        """Do it, and return the exit code."""
        from sandbox.harness import catalogue

        entries = catalogue()
        with checking():
            self._refuse_others()
        if self.action == "list":
            print(_listed(list(entries.values())))
            return DONE
        return {"show": self._show, "run": self._run, "check": self._check}[self.action](entries)

    def _refuse_others(self) -> None:
        """Raise ValueError for an option of another action."""
        given = {"set": bool(self.changes), "variant": bool(self.variant), "out": self.out is not None, "workers": self.workers is not None}
        for name, belongs in (("set", "run"), ("variant", "run"), ("out", "run"), ("workers", "check")):
            if given[name] and self.action != belongs:
                raise ValueError(f"--{name} means nothing to `experiment {self.action}`: it belongs to `experiment {belongs}`")
        if self.action == "list" and self.name:
            raise ValueError(f"`experiment list` takes no name, and got {self.name!r}: see sandbox experiment show {self.name}")
        if self.action != "list" and not self.name:
            raise ValueError(f"`experiment {self.action}` needs the name of an experiment: see sandbox experiment list")

    def _show(self, entries: dict[str, Entry]) -> int:
        from sandbox.harness import claim_of, documented, find, flat, title_of

        with checking():
            entry = find(self.name, entries)
        experiment = entry.load()
        print(entry.title)
        for name, text in entry.paragraphs.items():
            print(f"\n{textwrap.fill(f'{name}: {text}', WIDTH)}")
        print("\nVariants:")
        for variant in experiment.variants:
            fails = f" [rejected: fails {', '.join(map(title_of, variant.fails))}]" if variant.fails else ""
            print(f"  {variant.name:<22} {variant.about}{fails}")
        print("\nChecks:")
        claims: list[Callable[..., bool]] = [*experiment.checks, *experiment.comparisons]
        for claim in claims:
            print(f"  {title_of(claim)}\n{textwrap.indent(textwrap.fill(claim_of(claim), WIDTH), '      ')}")
        print("\nParameters, for --set:")
        parameters = experiment.variants[0].parameters
        meaning = documented(parameters)
        settings = {key: f"{key} = {_text(value)}" for key, value in flat(parameters).items()}
        width = max(map(len, settings.values()))
        for key, setting in settings.items():
            print(f"  {setting:<{width}}  {meaning[key]}".rstrip())
        return DONE

    def _run(self, entries: dict[str, Entry]) -> int:
        from sandbox import harness

        with checking():
            entry = harness.find(self.name, entries)
            experiment = entry.load()
            chosen = (experiment.variant(self.variant),) if self.variant else experiment.variants
            variants = [replace(variant, parameters=harness.changed(variant.parameters, self.changes)) for variant in chosen]
            folder = self.out or Path("out/experiments") / entry.short
            if folder.exists() and not folder.is_dir():
                raise ValueError(f"--out {folder} is not a folder: give the name of one")
            check_folder("--out", folder)
            need("an experiment draws with", *NEEDS["replay"], *NEEDS["picture"])
        results: dict[str, Result] = {}
        # Whatever a run refuses of changed parameters was typed; the frozen ones can be at fault only with the program.
        with checking() if self.changes else contextlib.nullcontext(), Progress(entry.short, len(variants), "variants") as progress:
            for result in harness.run(experiment, variants, None if self.changes else entry.expected()):
                results[result.variant.name] = result
                progress(len(results))
        print(entry.title)
        for result in results.values():
            _print_result(experiment, entry, result, bool(self.changes))
        comparisons = {harness.title_of(c): harness.claim_of(c) for c in experiment.comparisons}
        compared = harness.compared(experiment, results)
        for name, holds in compared.items():
            print(f"{'holds' if holds else 'FAILS'}  {name}: {comparisons[name]}")
        folder.mkdir(parents=True, exist_ok=True)
        for path in harness.write(experiment, results, folder, entry.title):
            print(f"wrote {path}", flush=True)
        wrong = any(result.faults for result in results.values()) or not (self.changes or all(compared.values()))
        return FAILED if wrong else DONE

    def _check(self, entries: dict[str, Entry]) -> int:
        from sandbox.bench.pool import run_all
        from sandbox.harness import Verdict, check, find

        with checking():
            workers = 2 if self.workers is None else self.workers
            if not 1 <= workers <= 256:
                raise ValueError(f"workers {workers} is outside 1..256: give a value in that range")
            names = list(entries) if self.name == ALL else [find(self.name, entries).name]
        verdicts: dict[int, Verdict] = {}
        printed = 0
        with Progress("check", len(names), "experiments") as progress:
            for k, verdict in run_all(check, names, min(workers, len(names))):
                verdicts[k] = verdict
                while printed in verdicts:  # in the order of the list, whichever is ready first
                    print(verdicts[printed].line(), flush=True)
                    printed += 1
                progress(len(verdicts))
        return DONE if all(verdict.passed for verdict in verdicts.values()) else FAILED


def _listed(entries: Sequence[Entry]) -> str:
    lines = []
    for entry in entries:
        after = f", by {entry.superseded_by}" if entry.superseded_by else ""
        lines.append(f"{entry.short:<8} {entry.title.partition(': ')[2] or entry.title}")
        lines.append(textwrap.fill(entry.paragraphs["Question"], WIDTH, initial_indent=" " * 9, subsequent_indent=" " * 9))
        lines.append(textwrap.fill(f"[{entry.status}{after}]", WIDTH, initial_indent=" " * 9, subsequent_indent=" " * 9))
    return "\n".join(lines) or "no experiments yet"


def _print_result(experiment: Experiment[Any, Any], entry: Entry, result: Result, changed: bool) -> None:
    """Checks and metrics of one variant, beside what is expected and what the study's document gives."""
    from sandbox.harness import claim_of, title_of

    expected = entry.expected().get(result.variant.name, {})
    fails = {title_of(check) for check in result.variant.fails}
    print(f"\n{result.variant.name}: {result.variant.about}")
    for check in experiment.checks:
        name = title_of(check)
        words = ("holds" if result.checks[name] else "FAILS") + (", as a rejected candidate must" if name in fails and not changed else "")
        print(f"  {words}  {name}: {claim_of(check)}")
    for name, value in result.outcome.metrics.items():
        row = expected.get(name)
        document = f"   document {row.document:g}" if row and row.document is not None else ""
        note = f"   {row.note}" if row and row.note else ""
        text = "unavailable" if math.isnan(value) else f"{value:.6g}"
        print(f"  {name:<36} {text:>13}{document}{note}")
    for fault in result.faults:
        print(f"  FAULT  {fault}")


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
