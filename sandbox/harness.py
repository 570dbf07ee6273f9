"""The harness of the experiments: how one is written, found, run, checked and kept.

An experiment is one module of :mod:`sandbox.experiments` that reads from top to bottom: a docstring with the paragraphs of
:data:`PARAGRAPHS`, a frozen dataclass of parameters, ``run``, the checks as functions whose docstring is the claim, the figures,
and last ``EXPERIMENT = Experiment(...)``. Beside it lies a TOML file of the same name with the metrics that a run must give::

    [retained]                                      # a variant
    toe_clearance_m = { value = 0.0137, tolerance = 1e-6, document = 0.012, note = "..." }

A figure that does not exist, and is expected not to, has ``value = nan``. One that is told and not held, as what a fall that comes by
chance decides, has ``tolerance = inf``. ``document`` is the figure of the study that the experiment preserves, where it gives one: it
is shown beside ours, and not checked. A metric that a run gives and the file does not name is a fault, and so is the reverse: nothing
changes silently.

A rejected candidate is a variant that names the checks it ``fails``. It stays runnable, its figures stay in the TOML file, and
the day it passes one of those checks is a fault too.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import math
import pkgutil
import re
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from sandbox.config import nearest
from sandbox.files import written_whole
from sandbox.recording import Recording

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = TypeVar("P")  # the experiment's parameters, a frozen dataclass
D = TypeVar("D")  # what its checks and figures look at beside metrics and recording

PACKAGE = "sandbox.experiments"
PARAGRAPHS = ("Question", "Method", "Result", "Limits", "Superseded by")


@dataclass(frozen=True)
class Outcome(Generic[D]):
    """What one run gave.

    Attributes:
        metrics: by name; the name ends in the unit. NaN is a figure that does not exist (a margin without support).
        recording: None where nothing moves or stands.
        details: whatever checks and figures need beside.
    """

    metrics: Mapping[str, float]
    recording: Recording | None
    details: D


Check = Callable[[Outcome[D]], bool]
Comparison = Callable[[Mapping[str, Outcome[D]]], bool]


@dataclass(frozen=True)
class Variant(Generic[P, D]):
    """One way in which an experiment is run.

    Attributes:
        name: of its section in the TOML file, and of its files.
        parameters: of the run.
        about: one line.
        fails: checks that a rejected candidate is expected to fail.
    """

    name: str
    parameters: P
    about: str
    fails: tuple[Check[D], ...] = ()


@dataclass(frozen=True)
class Experiment(Generic[P, D]):
    """What an experiment's module is made of.

    Attributes:
        run: from parameters to an outcome; it raises ValueError for parameters that cannot be used, before it does anything.
        variants: the first one is the retained one.
        checks: of every variant; the docstring is the claim.
        comparisons: claims about the outcomes of all variants together.
        figures: by name, from the outcomes by variant. It runs inside :func:`sandbox.report.plot.style`, and may be given some
            of the variants only.
    """

    run: Callable[[P], Outcome[D]]
    variants: tuple[Variant[P, D], ...]
    checks: tuple[Check[D], ...]
    comparisons: tuple[Comparison[D], ...] = ()
    figures: Callable[[Mapping[str, Outcome[D]]], Mapping[str, Figure]] | None = None
    pages: Callable[[Mapping[str, Outcome[D]]], Mapping[str, str]] | None = None

    def variant(self, name: str) -> Variant[P, D]:
        """The variant of a name. Raises ValueError for an unknown one."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        raise ValueError(f"unknown variant {name!r}{nearest(name, [v.name for v in self.variants])}")


class Expected(NamedTuple):
    """A metric of the TOML file: our value, how far off it may be, and the figure of the study's document where it has one."""

    value: float
    tolerance: float
    document: float | None = None
    note: str = ""


# -- the catalogue -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """An experiment in the catalogue, read without importing it.

    Attributes:
        name: as it is typed, for instance ``lo-004-one-step``.
        title: first line of the docstring, without its full stop.
        paragraphs: by the names of :data:`PARAGRAPHS`.
        source: its file.
    """

    name: str
    title: str
    paragraphs: Mapping[str, str]
    source: Path

    @property
    def short(self) -> str:
        """The number of a study's experiment, ``lo-004``; the whole name of others."""
        numbered = re.match(r"[a-z]+-\d+", self.name)
        return numbered[0] if numbered else self.name

    @property
    def superseded_by(self) -> str | None:
        text = self.paragraphs["Superseded by"]
        return None if text.lower().startswith("nothing") else text

    @property
    def status(self) -> str:
        return "superseded" if self.superseded_by else "current"

    def load(self) -> Experiment[Any, Any]:
        """Import it."""
        experiment: Experiment[Any, Any] = import_module(f"{PACKAGE}.{self.name.replace('-', '_')}").EXPERIMENT
        return experiment

    def expected(self) -> dict[str, dict[str, Expected]]:
        """The TOML file beside it: by variant and metric.

        Raises:
            ValueError: a tolerance that is missing or negative, or an unknown key.
        """
        path = self.source.with_suffix(".toml")
        sections = tomllib.loads(path.read_text(encoding="utf-8"))
        try:
            out = {variant: {name: Expected(**row) for name, row in rows.items()} for variant, rows in sections.items()}
        except TypeError as error:
            raise ValueError(f"{path.name}: a metric is {{ value, tolerance }}, with document and note where wanted ({error})") from None
        for rows in out.values():
            for name, row in rows.items():
                if not row.tolerance >= 0:
                    raise ValueError(f"{path.name}: {name} has the tolerance {row.tolerance:g}: give one of at least 0")
        return out


def catalogue() -> dict[str, Entry]:
    """All experiments by name, in order.

    Raises:
        ValueError: a docstring that lacks one of :data:`PARAGRAPHS`.
    """
    package = import_module(PACKAGE)
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))
    return {entry.name: entry for entry in map(_entry, names)}


def _entry(module: str) -> Entry:
    spec = find_spec(f"{PACKAGE}.{module}")
    if spec is None or spec.origin is None:
        raise ValueError(f"{PACKAGE}.{module} has no source")
    source = Path(spec.origin)
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    title, _, rest = text.partition("\n")
    title = title.rstrip(".")
    pieces = re.split(rf"^({'|'.join(PARAGRAPHS)}):", rest, flags=re.MULTILINE)
    paragraphs = {name: " ".join(body.split()) for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}
    for name in PARAGRAPHS:
        if not paragraphs.get(name):
            raise ValueError(f"{source.name}: the docstring has no paragraph '{name}:'")
    return Entry(module.replace("_", "-"), title, paragraphs, source)


def find(name: str, entries: Mapping[str, Entry]) -> Entry:
    """The experiment of a name, or of the beginning of one: ``lo-004``, ``LO-004``, ``lo_004_one_step``.

    Raises:
        ValueError: no such experiment; the message names the nearest.
    """
    wanted = name.strip().lower().replace("_", "-")
    if wanted in entries:
        return entries[wanted]
    found = [entry for entry in entries.values() if entry.name.startswith(f"{wanted}-")]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"{name!r} is the beginning of {', '.join(entry.name for entry in found)}: give one of them")
    known = {entry.short for entry in entries.values()} if len(wanted) < 9 else set(entries)
    raise ValueError(f"unknown experiment {name!r}{nearest(wanted, known)}")


# -- parameters --------------------------------------------------------------------------------------------------------------


def changed(parameters: P, changes: Sequence[str]) -> P:
    """Parameters with ``KEY=VALUE`` changes, where a dot leads into nested ones: ``plan.step_length=0.30``.

    Raises:
        ValueError: an unknown key, a value of another kind than the one it replaces, or one that the parameters refuse.
    """
    known = flat(parameters)
    values: dict[str, Any] = {}
    for change in changes:
        key, equals, text = (part.strip() for part in change.partition("="))
        if not equals or not key:
            raise ValueError(f"--set {change!r} is not KEY=VALUE: for instance --set {next(iter(known), 'key')}=...")
        if key not in known:
            raise ValueError(f"unknown parameter {key!r}{nearest(key, known)}")
        values[key] = _value(key, text, known[key])
    return _replaced(parameters, values)


def flat(parameters: Any, prefix: str = "") -> dict[str, Any]:
    """Values of nested parameters by dotted key."""
    out: dict[str, Any] = {}
    for each in dataclasses.fields(parameters):
        value = getattr(parameters, each.name)
        if dataclasses.is_dataclass(value):
            out |= flat(value, f"{prefix}{each.name}.")
        else:
            out[f"{prefix}{each.name}"] = value
    return out


def documented(parameters: Any, prefix: str = "") -> dict[str, str]:
    """What each parameter is, by dotted key, from the paragraph ``Attributes:`` of its class.

    Of a value with parts and no more (a :class:`~sandbox.controllers.velocity.Span`) each part has the whole's text before its own.
    """
    _, _, text = inspect.cleandoc(type(parameters).__doc__ or "").partition("Attributes:\n")
    names = {each.name for each in dataclasses.fields(parameters)}
    said: dict[str, str] = {}
    for entry in re.findall(r"^    (\w[\w, ]*: .*(?:\n        .*)*)", text, flags=re.MULTILINE):
        flowing = " ".join(entry.replace("``", "").split())
        for part in re.split(r"; (?=\w[\w, ]*: )", flowing):  # "shift: [m] to the side; corridor: of the wrist"
            about, _, words = part.partition(": ")
            said |= {name: words for name in about.split(", ") if name in names}
    out: dict[str, str] = {}
    for each in dataclasses.fields(parameters):
        value = getattr(parameters, each.name)
        if dataclasses.is_dataclass(value):
            inner = documented(value, f"{prefix}{each.name}.")
            parts = not any(dataclasses.is_dataclass(getattr(value, part.name)) for part in dataclasses.fields(value))
            whole = said.get(each.name, "").rstrip(".") if parts else ""
            out |= {key: "; ".join(filter(None, (whole, own))) for key, own in inner.items()}
        else:
            out[f"{prefix}{each.name}"] = said.get(each.name, "")
    return out


def _replaced(parameters: P, values: Mapping[str, Any]) -> P:
    """All ``values`` by dotted key at once, since one may be legal only beside another."""
    own = {key: value for key, value in values.items() if "." not in key}
    for name in {key.partition(".")[0] for key in values if "." in key}:
        inner = {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{name}.")}
        own[name] = _replaced(getattr(parameters, name), inner)
    return dataclasses.replace(parameters, **own) if own else parameters  # type: ignore[type-var]


def _value(key: str, text: str, old: object) -> Any:
    """``text`` as what it replaces: truth, whole number, number, word, or a tuple of one of them with commas between."""
    if isinstance(old, tuple):
        like = old[0] if old else ""
        return tuple(_value(key, part.strip(), like) for part in text.split(",") if part.strip())
    if isinstance(old, bool):
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{key} = {text!r} is neither true nor false")
        return text.lower() == "true"
    if isinstance(old, int | float):
        kind = int if isinstance(old, int) else float
        try:
            number = kind(text)
        except ValueError:
            raise ValueError(f"{key} = {text!r} is not a {'whole ' if kind is int else ''}number") from None
        if not math.isfinite(number):
            raise ValueError(f"{key} = {text} is not finite: give a number")
        return number
    return text


# -- running and checking ----------------------------------------------------------------------------------------------------


def title_of(check: Callable[..., Any]) -> str:
    """What a check is called, from its function's name."""
    return check.__name__.replace("_", "-")


def claim_of(check: Callable[..., Any]) -> str:
    """What a check claims: first line of its docstring."""
    return (check.__doc__ or "").strip().partition("\n")[0]


@dataclass(frozen=True)
class Result:
    """The outcome of one variant, beside what was expected of it.

    Attributes:
        checks: whether each check holds, by name.
        faults: what is not as it should be, one line each.
    """

    variant: Variant[Any, Any]
    outcome: Outcome[Any]
    checks: Mapping[str, bool]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What became of an experiment that was run and held against what is expected of it.

    Attributes:
        name: of the experiment, short.
        faults: what is not as it should be, one line each.
        checks, metrics, rejected: how many there were; ``rejected`` are candidates that fail as they must.
        seconds: it took.
    """

    name: str
    faults: tuple[str, ...]
    checks: int
    metrics: int
    rejected: int
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.faults

    def line(self) -> str:
        """One line for a person."""
        head = f"{self.name:<8} {'passed' if self.passed else 'FAILED'} {self.seconds:6.1f} s"
        if not self.passed:
            return f"{head}  {'; '.join(self.faults)}"
        tail = f", {self.rejected} rejected candidate{'s' if self.rejected > 1 else ''} still rejected" if self.rejected else ""
        return f"{head}  {self.checks} checks, {self.metrics} metrics{tail}"


def check(name: str) -> Verdict:
    """Run all variants of the experiment ``name``, and hold them against its checks and its TOML file.

    An experiment that raises an error has failed, and keeps no other from being run.
    """
    began = time.monotonic()
    entry = catalogue()[name]
    try:
        return _check(entry, began)
    except Exception as error:
        words = " ".join(str(error).split())
        return Verdict(entry.short, (f"raised {type(error).__name__}: {words}",), 0, 0, 0, time.monotonic() - began)


def _check(entry: Entry, began: float) -> Verdict:
    experiment, expected = entry.load(), entry.expected()
    results = {result.variant.name: result for result in run(experiment, experiment.variants, expected)}
    faults = [f"{name}: {fault}" for name, result in results.items() for fault in result.faults]
    faults += [f"{name} does not hold" for name, holds in compared(experiment, results).items() if not holds]
    faults += [f"the TOML file has a section [{name}] for no variant" for name in expected if name not in results]
    return Verdict(
        entry.short,
        tuple(faults),
        checks=sum(len(result.checks) for result in results.values()) + len(experiment.comparisons),
        metrics=sum(len(result.outcome.metrics) for result in results.values()),
        rejected=sum(bool(result.variant.fails) for result in results.values()),
        seconds=time.monotonic() - began,
    )


def compared(experiment: Experiment[P, D], results: Mapping[str, Result]) -> dict[str, bool]:
    """Whether each comparison of all variants holds, by name; none of them where a variant was left out."""
    if any(variant.name not in results for variant in experiment.variants):
        return {}
    outcomes = {name: result.outcome for name, result in results.items()}
    return {title_of(c): bool(c(outcomes)) for c in experiment.comparisons}


def run(
    experiment: Experiment[P, D], variants: Sequence[Variant[P, D]], expected: Mapping[str, Mapping[str, Expected]] | None = None
) -> Iterator[Result]:
    """Run variants one after another; without ``expected`` (other parameters than the frozen ones) nothing is a fault."""
    for variant in variants:
        outcome = experiment.run(variant.parameters)
        checks = {title_of(c): bool(c(outcome)) for c in experiment.checks}
        faults: list[str] = []
        if expected is not None:
            fails = {title_of(c) for c in variant.fails}
            for name, holds in checks.items():
                if name in fails and holds:
                    faults.append(f"{name} holds, which this rejected candidate must fail")
                elif name not in fails and not holds:
                    faults.append(f"{name} does not hold")
            faults += _differences(outcome.metrics, expected.get(variant.name, {}))
        yield Result(variant, outcome, checks, tuple(faults))


def _differences(metrics: Mapping[str, float], expected: Mapping[str, Expected]) -> list[str]:
    faults = [f"{name} = {metrics[name]!r} is not in the TOML file" for name in metrics if name not in expected]
    for name, row in expected.items():
        if name not in metrics:
            faults.append(f"{name} was not measured")
        elif row.tolerance < math.inf and not (
            abs(float(metrics[name]) - row.value) <= row.tolerance or (math.isnan(metrics[name]) and math.isnan(row.value))
        ):
            faults.append(f"{name} = {float(metrics[name]):.9g}, expected {row.value:.9g} ± {row.tolerance:g}")
    return faults


# -- files -------------------------------------------------------------------------------------------------------------------


def write(experiment: Experiment[Any, Any], results: Mapping[str, Result], folder: Path, title: str) -> list[Path]:
    """Write recording, replay page and figures of the variants, and their metrics, into an existing folder.

    Raises:
        OSError: a file cannot be written.
        ModuleNotFoundError: viser or matplotlib is not installed.
    """
    from sandbox.report import plot
    from sandbox.report.replay import save_replay

    written: list[Path] = []
    for name, result in results.items():
        if result.outcome.recording is not None:
            files = folder / f"{name}.npz", folder / f"{name}.html"
            result.outcome.recording.save(files[0])
            save_replay(result.outcome.recording, files[1], f"{title} ({name})" if len(results) > 1 else title)
            written += files
    if experiment.figures is not None:
        with plot.style():
            for name, figure in experiment.figures({name: result.outcome for name, result in results.items()}).items():
                written.append(folder / f"{name}.png")
                with written_whole(written[-1]) as temporary:
                    figure.savefig(temporary, format="png")
    if experiment.pages is not None:
        for name, text in experiment.pages({name: result.outcome for name, result in results.items()}).items():
            written.append(folder / f"{name}.html")
            with written_whole(written[-1]) as temporary:
                temporary.write_text(text, encoding="utf-8")
    written.append(folder / "metrics.json")
    record = {
        name: {
            "parameters": flat(result.variant.parameters),
            "metrics": {key: _json_number(value) for key, value in result.outcome.metrics.items()},
            "checks": dict(result.checks),
            "rejected": bool(result.variant.fails),
        }
        for name, result in results.items()
    }
    with written_whole(written[-1]) as temporary:
        temporary.write_text(json.dumps(record, indent=2, allow_nan=False, default=list) + "\n", encoding="utf-8")
    return written


def _json_number(value: float) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
