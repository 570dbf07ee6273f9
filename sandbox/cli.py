"""The command ``sandbox``.

Exit codes: 0 done (a fall is a result, and reported), 1 what was required was not reached or a file could not be written,
2 bad input, 130 stopped with Ctrl-C. Bad input is one line on standard error with the value, what is allowed and what to
do; it is found before anything runs, and nothing is left half written.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import pkgutil
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol, TextIO, cast

import tyro

from sandbox import __version__
from sandbox.config import nearest
from sandbox.console import Progress, results_only, silenced
from sandbox.files import written_whole

if TYPE_CHECKING:
    from sandbox.bodies.anatomy import Anatomy
    from sandbox.controllers.parameters import Parameters
    from sandbox.recording import Recording
    from sandbox.scenes.scene import Options

DONE, FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 130

COMPILING = "the first run compiles the controller, which takes up to a minute"

STDOUT = "-"  # as a file: standard output

# Options of `run` that belong to one scene.
SCENE_OPTIONS = {"angle": "slope", "bump_height": "bumps", "impulse": "push", "direction": "push"}

# What an output needs beside the core: the packages that it imports, and the extra that brings them.
NEEDS = {
    "replay": (("viser",), "view"),
    "picture": (("matplotlib",), "report"),
    "video": (("imageio", "av", "PIL"), "video"),
}


ENDINGS = {"picture": (".png",), "replay": (".html", ".htm"), "video": (".mp4", ".gif")}


class InputError(Exception):
    """What was typed cannot be used; the message is one line with the value, what is allowed and the remedy."""


@contextlib.contextmanager
def _checking() -> Iterator[None]:
    """Inside, a ValueError or an OSError is a complaint about what was typed; outside it is a fault of the program."""
    try:
        yield
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise InputError(f"{name}{error.strerror or error}") from error
    except ValueError as error:
        raise InputError(str(error)) from error


def _option(metavar: str, text: str, default: bool = True, name: str | None = None) -> Any:
    """An option with its unit or kind, and help; ``default`` shows its value where it is left out."""
    return tyro.conf.arg(name=name, metavar=metavar, help=text, help_behavior_hint=None if default else "")


# -- what several commands ask for -------------------------------------------------------------------------------------------

SeedOption = Annotated[int, _option("N", "draws the perturbed start, and the friction and the time of a push where not given")]
MassOption = Annotated[float, _option("KG", "mass of the body, 30-200")]
SexOption = Annotated[Literal["mean", "female", "male"], tyro.conf.arg(help="whose mass distribution")]
SetOption = Annotated[
    tyro.conf.UseAppendAction[tuple[str, ...]],
    _option("KEY=VALUE", "change a parameter (sandbox list parameters); may be repeated", default=False, name="set"),
]
ParamsOption = Annotated[Path | None, _option("FILE", "parameters from a TOML file instead of the shipped ones", default=False)]
PictureOption = Annotated[Path | None, _option("FILE.png", "draw the gait", default=False)]
ReplayOption = Annotated[Path | None, _option("FILE.html", "write a 3D page that opens without a network", default=False)]
VideoOption = Annotated[Path | None, _option("FILE.mp4", "draw a video", default=False)]
JsonOption = Annotated[
    str | None, _option("FILE|-", "write the result as JSON; - to standard output, which then holds nothing else", default=False)
]


def _parameters(path: Path | None, changes: Sequence[str]) -> tuple[Parameters, str]:
    """Parameters and what a recording calls them. Raises ValueError for what cannot be used."""
    from sandbox.controllers.parameters import Parameters

    parameters = Parameters.load(path)
    name = path.stem if path is not None else "walker"
    known = {field.name: field.metadata for field in fields(Parameters)}
    values: dict[str, float | str] = {}
    for change in changes:
        key, equals, text = (part.strip() for part in change.partition("="))
        if not equals or not key:
            raise ValueError(f"--set {change!r} is not KEY=VALUE: for instance --set com_height=0.96")
        try:
            values[key] = float(text)
        except ValueError:
            values[key] = text  # which replace() refuses with the name of the parameter
    parameters = parameters.replace(values)
    for key, value in values.items():
        about = known[key]
        if not about["low"] <= float(value) <= about["high"]:
            span = f"{about['low']:g} to {about['high']:g} {about['unit']}"
            print(f"sandbox: note: {key} = {value:g} is outside {span}, in which it was tuned", file=sys.stderr)
    return parameters, ", ".join([name, *(f"{key}={value:g}" for key, value in values.items())])


# -- files -------------------------------------------------------------------------------------------------------------------


def check_output(option: str, path: Path, endings: Sequence[str] = ()) -> None:
    """Raise ValueError unless a file can be written at ``path``, in a folder that exists or can be made. Makes nothing."""
    if endings and path.suffix.lower() not in endings:
        raise ValueError(f"{option} {path} does not end in {' or '.join(endings)}: give such a name")
    try:
        if path.is_dir():
            raise ValueError(f"{option} {path} is a folder: give the name of a file")
        if path.exists() and not path.is_file():
            raise ValueError(f"{option} {path} is not an ordinary file: give another name")
        if path.exists() and not os.access(path, os.W_OK):
            raise ValueError(f"{option} {path} is write-protected: give another name")
        check_folder(option, path.parent)
        # A name that is too long for the file system is refused here.
        path.with_name(f".{path.name}.{os.getpid()}.part").stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ValueError(f"{option} {path} cannot be written ({error.strerror}): give another name") from None


def check_folder(option: str, folder: Path) -> None:
    """Raise ValueError unless files can be written in ``folder``, which exists or can be made. Makes nothing."""
    existing = folder
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise ValueError(f"{option}: {existing} is not a folder: give a name in a folder that can be written")
    try:
        # Tried, since permission bits say nothing of a read-only disk.
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise ValueError(f"{option}: cannot write in {existing} ({error.strerror}): give a name in a folder that can be written") from None


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all; its folder is made. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def json_text(value: Mapping[str, Any]) -> str:
    """JSON with null for what could not be measured, never NaN."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


class Output(NamedTuple):
    """A file that was asked for."""

    option: str
    path: Path


def _outputs(**paths: Path | str | None) -> list[Output]:
    """Files asked for, by option, whose folders are made. Raises ValueError for one that cannot be written."""
    outputs: list[Output] = []
    for option, given in paths.items():
        if given is None or given == STDOUT:
            continue
        path = Path(given)
        check_output(f"--{option}", path, ENDINGS.get(option, ()))
        packages, extra = NEEDS.get(option, ((), ""))
        missing = [package for package in packages if find_spec(package) is None]
        if missing:
            raise ValueError(f'--{option} needs {" and ".join(missing)}: pip install "locomotion-sandbox[{extra}]"')
        for other in outputs:
            if path.resolve() == other.path.resolve():
                raise ValueError(f"--{other.option} and --{option} are both {path}: give two names")
        outputs.append(Output(option, path))
    for output in outputs:
        output.path.parent.mkdir(parents=True, exist_ok=True)
    return outputs


@contextlib.contextmanager
def _results(json_option: str | None) -> Iterator[tuple[TextIO, TextIO]]:
    """Where the JSON of ``--json -`` goes, and where words go: with it, all words go to standard error."""
    if json_option == STDOUT:
        with results_only() as out:
            yield out, sys.stderr
    else:
        yield sys.stdout, sys.stdout


def _load_engine() -> None:
    with silenced():
        import sandbox.plants.bullet  # noqa: F401  (prints when it is imported)


# -- commands ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """Run a scene, and report what happened. A fall is a result: it is reported, and no error."""

    scene: Annotated[tyro.conf.Positional[str], _option("SCENE", "what to do: a name of `sandbox list`")]
    plant: Annotated[Literal["bullet", "kinematic"], tyro.conf.arg(help="physics, or the plan itself with pinned stance feet")] = "bullet"
    speed: Annotated[float, _option("M/S", "speed to walk at, 0-2")] = 1.0
    heading_rate: Annotated[float, _option("RAD/S", "rate of turning, -0.6 to 0.6, positive to the left")] = 0.0
    seconds: Annotated[float | None, _option("S", "duration (default: the scene's own, mostly 20)", default=False)] = None
    seed: SeedOption = 0
    mass: MassOption = 70.0
    height: Annotated[
        float | None,
        _option("M", "height of the body, 1.20-2.20 (default: 1.74); in scene bumps, up to 0.10, the height of the bumps", default=False),
    ] = None
    sex: SexOption = "mean"
    friction: Annotated[float | None, _option("MU", "of the ground, 0.1-2 (default: 0.6-1.0, by the seed)", default=False)] = None
    angle: Annotated[float | None, _option("DEG", "scene slope: -15 to 15, uphill positive (default: 3)", default=False)] = None
    bump_height: Annotated[float | None, _option("M", "scene bumps: 0-0.10 (default: 0.02)", default=False)] = None
    impulse: Annotated[float | None, _option("NS", "scene push: 0-100 N s, over 0.2 s (default: 10)", default=False)] = None
    direction: Annotated[float | None, _option("DEG", "scene push: 0 forward, 90 left, 180 back (default: 0)", default=False)] = None
    params: ParamsOption = None
    changes: SetOption = ()
    record: Annotated[Path | None, _option("FILE.npz", "write the recording", default=False)] = None
    picture: PictureOption = None
    replay: ReplayOption = None
    video: VideoOption = None
    json: JsonOption = None
    require_upright: Annotated[bool, tyro.conf.arg(help="exit with 1 after a fall")] = False

    def execute(self) -> int:
        """Run, and return the exit code."""
        with _checking():
            from sandbox.scenes.scene import build

            anatomy, options = self._asked()
            scene = build(self.scene, options)
            parameters, name = _parameters(self.params, self.changes)
            outputs = _outputs(record=self.record, json=self.json, picture=self.picture, replay=self.replay, video=self.video)
        with _results(self.json) as (out, words):
            _load_engine()
            from sandbox.measure import summary
            from sandbox.report.table import summary_table
            from sandbox.simulation import run

            with Progress(self.scene, scene.seconds, "s", COMPILING) as progress:
                recording = run(
                    scene, plant=self.plant, seed=self.seed, anatomy=anatomy, parameters=parameters, params_name=name, progress=progress
                )
            stopped = bool(recording.header.get("interrupted"))
            with _Files(recording, words) as files:
                # The recording first: whatever fails or is stopped later, it is kept.
                files.write([output for output in outputs if output.option == "record"])
                files.result = result = summary(recording)
                print(f"{self.scene}, {self.plant} plant", file=words)
                if stopped:
                    print("stopped with Ctrl-C; what was recorded up to then is kept", file=words)
                print(summary_table(result), file=words, flush=True)
                if self.json == STDOUT:
                    out.write(json_text(result))
                files.write([o for o in outputs if o.option == "json" or (o.option != "record" and not stopped)])
        if stopped:
            return STOPPED
        return FAILED if files.failed or (self.require_upright and result["fell"]) else DONE

    def _asked(self) -> tuple[Anatomy, Options]:
        """The body and the scene's options. Raises ValueError for what is out of range or means nothing to the scene."""
        from sandbox.bodies.anatomy import REFERENCE_HEIGHT, Anatomy
        from sandbox.scenes.scene import BUMP_RANGE, SCENES, SPEED_RANGE, Options, check_range

        if self.scene not in SCENES:
            raise ValueError(f"unknown scene {self.scene!r}{nearest(self.scene, SCENES)}")
        body, bump = self.height, self.bump_height
        if self.scene == "bumps" and body is not None and body <= BUMP_RANGE[1]:
            if bump is not None:
                raise ValueError(f"--height {body:g} m and --bump-height {bump:g} m are both heights of bumps: give one of them")
            body, bump = None, body
        given: dict[str, float] = {}
        for name, of in SCENE_OPTIONS.items():
            value = bump if name == "bump_height" else getattr(self, name)
            if value is None:
                continue
            if of != self.scene:
                raise ValueError(f"--{name.replace('_', '-')} {value:g} means nothing to scene {self.scene!r}: it belongs to scene {of!r}")
            given["height" if name == "bump_height" else name] = value
        if bump is not None:
            check_range("bump height", bump, BUMP_RANGE, "m")
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed {self.seed} is outside 0..{2**31 - 1}: give a whole number in that range")
        check_range("speed", self.speed, SPEED_RANGE, "m/s")
        speed = 0.0 if self.scene == "stand" else self.speed  # so that a recording does not name a command that nobody gave
        options = Options(speed, self.heading_rate, self.seconds, self.seed, friction=self.friction, **given)
        return Anatomy(self.mass, REFERENCE_HEIGHT if body is None else body, self.sex), options


@dataclass(frozen=True)
class Report:
    """Show a recording: the same table, and the same files, as when it was made."""

    file: Annotated[tyro.conf.Positional[Path], _option("FILE.npz", "a recording of `sandbox run --record`")]
    picture: PictureOption = None
    replay: ReplayOption = None
    video: VideoOption = None
    json: JsonOption = None

    def execute(self) -> int:
        """Read, show, and return the exit code."""
        with _checking():
            from sandbox.recording import Recording

            recording = Recording.load(self.file)
            outputs = _outputs(json=self.json, picture=self.picture, replay=self.replay, video=self.video)
        from sandbox.measure import summary
        from sandbox.report.table import summary_table

        with _results(self.json) as (out, words), _Files(recording, words) as files:
            files.result = result = summary(recording)
            print(f"{recording.header['scene']}, {recording.header['plant']} plant", file=words)
            print(summary_table(result), file=words, flush=True)
            if self.json == STDOUT:
                out.write(json_text(result))
            files.write(outputs)
        return FAILED if files.failed else DONE


class _Files:
    """Writes what was asked for of a recording; at its end, also an early one, it says what was written."""

    def __init__(self, recording: Recording, words: TextIO) -> None:
        self.recording, self.words = recording, words
        self.result: Mapping[str, Any] = {}
        self.failed = False
        self._written: list[str] = []

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *error: object) -> None:
        if self._written:
            print(f"\nwritten: {', '.join(self._written)}", file=self.words)

    def write(self, outputs: Sequence[Output]) -> None:
        """Write the files, one after another; one that cannot be written does not keep the others from it."""
        for option, path in outputs:
            if not len(self.recording) and option in NEEDS:
                print(f"{path} is not drawn: the recording is empty", file=self.words)
                continue
            try:
                _WRITERS[option](self.recording, path, self.result)
            except OSError as error:
                print(f"sandbox: {path} could not be written: {error.strerror or error}", file=sys.stderr)
                self.failed = True
            else:
                self._written.append(str(path))


def _write_picture(recording: Recording, path: Path, _: Mapping[str, Any]) -> None:
    from sandbox.report.picture import save_picture

    save_picture(recording, path)


def _write_replay(recording: Recording, path: Path, _: Mapping[str, Any]) -> None:
    from sandbox.report.replay import save_replay

    save_replay(recording, path)


def _write_video(recording: Recording, path: Path, _: Mapping[str, Any]) -> None:
    from sandbox.report.video import save_video

    with Progress("video", 100, "%") as progress:
        save_video(recording, path, progress=lambda share: progress(100 * share))


_WRITERS: dict[str, Callable[[Recording, Path, Mapping[str, Any]], None]] = {
    "record": lambda recording, path, _: recording.save(path),
    "json": lambda _, path, result: write_text(path, json_text(result)),
    "picture": _write_picture,
    "replay": _write_replay,
    "video": _write_video,
}


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
    import sandbox.experiments

    names = sorted(module.name for module in pkgutil.iter_modules(sandbox.experiments.__path__) if not module.name.startswith("_"))
    return {name: _first_line(f"sandbox.experiments.{name}") for name in names}


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
    return text.partition("\n")[0]


@dataclass(frozen=True)
class Bench:
    """Measure the walker: what it costs, or how it walks. `bench walk` runs the battery, some minutes on two cores."""

    what: Annotated[
        tyro.conf.Positional[Literal["speed", "walk"]],
        tyro.conf.arg(help="speed: CPU time and memory, as ratios; walk: falls, pushes, slopes, gait"),
    ] = "speed"
    seconds: Annotated[float | None, _option("S", "speed: simulated by either side (default: 20)", default=False)] = None
    seeds: Annotated[int | None, _option("N", "walk: runs a cell (default: all)", default=False)] = None
    only: Annotated[str | None, _option("CELLS", "walk: names or patterns with commas between (sandbox list cells)", default=False)] = None
    fresh: Annotated[bool, tyro.conf.arg(help="walk: seeds that nobody has seen, drawn now; the first one is reported")] = False
    first_seed: Annotated[
        int | None, _option("N", "walk: count seeds from here, to repeat a fresh set (default: 10000)", default=False)
    ] = None
    workers: Annotated[int | None, _option("N", "walk: processes (default: 2)", default=False)] = None
    params: ParamsOption = None
    changes: SetOption = ()
    out: Annotated[Path | None, _option("DIR", "walk: folder for walk.csv, walk.json and walk.md (default: out/bench)", default=False)] = (
        None
    )
    keep_failed: Annotated[bool, tyro.conf.arg(help="walk: keep the recordings of runs that fail, in the folder of --out")] = False
    json: JsonOption = None
    require: Annotated[bool, tyro.conf.arg(help="exit with 1 where something required is not reached")] = False

    def execute(self) -> int:
        """Measure, and return the exit code."""
        return self._speed() if self.what == "speed" else self._walk()

    def _speed(self) -> int:
        with _checking():
            for name in ("seeds", "only", "first_seed", "workers", "params", "out"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name.replace('_', '-')} means nothing to `bench speed`: it belongs to `bench walk`")
            for name, given in (("fresh", self.fresh), ("keep-failed", self.keep_failed), ("set", bool(self.changes))):
                if given:
                    raise ValueError(f"--{name} means nothing to `bench speed`: it belongs to `bench walk`")
            seconds = 20.0 if self.seconds is None else self.seconds
            if not 1.0 <= seconds <= 3600.0:
                raise ValueError(f"seconds {seconds:g} s is outside 1..3600 s: give a value in that range")
            self._check_json()
        from sandbox.bench import speed

        with _results(self.json) as (out, words):
            with Progress("bench", seconds, "s") as progress:
                figures = speed.measure(seconds, progress)
            self._write_json(speed.to_json(figures), out)
            print(speed.table(figures), file=words)
        return FAILED if self.require and not speed.reached(figures) else DONE

    def _walk(self) -> int:
        with _checking():
            from sandbox.bench import walk

            if self.seconds is not None:
                raise ValueError("--seconds means nothing to `bench walk`, whose runs have their own: it belongs to `bench speed`")
            if self.fresh and self.first_seed is not None:
                raise ValueError(f"--fresh draws a first seed, and --first-seed {self.first_seed} gives one: leave one of them out")
            cells = walk.select([part.strip() for part in (self.only or "").split(",") if part.strip()])
            first = walk.FIRST_SEED if self.first_seed is None else self.first_seed
            if self.fresh:
                low, high = walk.FRESH_SEEDS
                first = low + int.from_bytes(os.urandom(8), "big") % (high - low)
            parameters, name = _parameters(self.params, self.changes)
            folder = self.out or Path("out/bench")
            if folder.exists() and not folder.is_dir():
                raise ValueError(f"--out {folder} is not a folder: give the name of one")
            files = [folder / f"walk.{ending}" for ending in ("csv", "json", "md")]
            for file in files:
                check_output("--out", file)
            self._check_json()
            keep = folder / "failed" if self.keep_failed else None
            battery = walk.Battery(cells, self.seeds, first, parameters, name, 2 if self.workers is None else self.workers, keep)
            folder.mkdir(parents=True, exist_ok=True)
            if keep is not None:
                keep.mkdir(exist_ok=True)
        with _results(self.json) as (out, words):
            print(f"parameters {name} ({parameters.hash}), seeds from {first}", file=words, flush=True)
            with Progress("battery", len(battery.trials()), "runs") as progress:
                report = battery.run(progress)
            result = report.to_json()
            for file, text in zip(files, (report.csv(), json_text(result), report.table() + "\n"), strict=True):
                write_text(file, text)
            self._write_json(result, out)
            print(report.table(), file=words)
            print(f"\n{report.cost:.3f} CPU s per simulated second; rows in {files[0]}", file=words)
        return FAILED if self.require and not report.reached else DONE

    def _check_json(self) -> None:
        if self.json not in (None, STDOUT):
            check_output("--json", Path(str(self.json)))

    def _write_json(self, value: Mapping[str, Any], out: TextIO) -> None:
        if self.json == STDOUT:
            out.write(json_text(value))
        elif self.json is not None:
            write_text(Path(self.json), json_text(value))


@dataclass(frozen=True)
class Compare:
    """Walk the same command on the kinematic and on the physical plant, and put the figures side by side."""

    speed: Annotated[float, _option("M/S", "speed to walk at, 0-2")] = 0.8
    seconds: Annotated[float, _option("S", "duration")] = 20.0
    seed: SeedOption = 0
    mass: MassOption = 70.0
    height: Annotated[float, _option("M", "height of the body, 1.20-2.20")] = 1.74
    sex: SexOption = "mean"
    params: ParamsOption = None
    changes: SetOption = ()
    out: Annotated[Path, _option("DIR", "folder for the table, as text and JSON")] = Path("out/compare")
    json: JsonOption = None

    def execute(self) -> int:
        """Run both, print and write the table, and return the exit code."""
        with _checking():
            from sandbox.bodies.anatomy import Anatomy
            from sandbox.scenes.scene import Options, build

            anatomy = Anatomy(self.mass, self.height, self.sex)
            build("walk", Options(self.speed, seconds=self.seconds, seed=self.seed))
            parameters, name = _parameters(self.params, self.changes)
            files = [self.out / "compare.md", self.out / "compare.json"]
            for file in files:
                check_output("--out", file)
            outputs = _outputs(json=self.json)
        with _results(self.json) as (out, words):
            _load_engine()
            from sandbox.comparison import compare

            with Progress("compare", 2 * self.seconds, "s", COMPILING) as progress:
                result = compare(
                    self.speed, self.seconds, self.seed, anatomy=anatomy, parameters=parameters, params_name=name, progress=progress
                )
            for file, text in zip(files, (result.as_text() + "\n", result.to_json() + "\n"), strict=True):
                write_text(file, text)
            print(result.as_text(), file=words)
            if self.json == STDOUT:
                out.write(result.to_json() + "\n")
            for output in outputs:
                write_text(output.path, result.to_json() + "\n")
        return DONE


@dataclass(frozen=True)
class Tune:
    """Search better parameters with CMA-ES. The best estimate is written after every generation: stop when you like."""

    out: Annotated[Path, _option("FILE.toml", "parameter file to write", default=False)]
    start: Annotated[Path | None, _option("FILE.toml", "begin from these parameters instead of the shipped ones", default=False)] = None
    cases: Annotated[
        tuple[Literal["walk", "push", "stand", "start-stop", "change", "turn", "slope", "bumps"], ...],
        tyro.conf.arg(help="what a candidate has to do"),
    ] = ("walk", "push", "stand", "start-stop", "change", "turn", "slope", "bumps")
    generations: Annotated[int, _option("N", "generations")] = 100
    population: Annotated[int, _option("N", "candidates a generation")] = 14
    sigma: Annotated[float, _option("X", "initial spread, of the tuning ranges")] = 0.05
    seed: Annotated[int, _option("N", "seed of the strategy")] = 1
    first: Annotated[int, _option("N", "number of the first generation: a continued run draws new cases")] = 0
    workers: Annotated[int, _option("N", "processes")] = 2

    def execute(self) -> int:
        """Tune, and return the exit code."""
        with _checking():
            if find_spec("cma") is None:
                raise ValueError("tuning needs the package cma: pip install 'locomotion-sandbox[tune]'")
            from sandbox.controllers.parameters import Parameters
            from sandbox.scenes.scene import check_range

            check_output("--out", self.out, (".toml",))
            check_range("generations", self.generations, (1, 100_000), "")
            check_range("population", self.population, (4, 1000), "")
            check_range("sigma", self.sigma, (1e-4, 0.5), "")
            check_range("workers", self.workers, (1, 256), "")
            start = Parameters.load(self.start)
        from sandbox.learn.tuning import tune

        options = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("out", "start", "cases")}
        words = " ".join(f"--{name} {value}" for name, value in options.items())
        begin = f" --start {self.start.name}" if self.start else ""
        command = f"sandbox tune --out {self.out.name}{begin} --cases {' '.join(self.cases)} {words}"
        self.out.parent.mkdir(parents=True, exist_ok=True)
        tune(start, self.out, kinds=self.cases, command=command, **options)
        return DONE


@dataclass(frozen=True)
class Doctor:
    """Look at this installation: versions, engines, renderer, a five-second walk; and how to mend what is wrong."""

    def execute(self) -> int:
        """Print the findings, and return the exit code."""
        from sandbox import doctor

        return doctor.main()


class Command(Protocol):
    """What was typed, ready to be done."""

    def execute(self) -> int:
        """Do it, and return the exit code."""


COMMANDS: dict[str, Callable[..., object]] = {
    "list": List,
    "run": Run,
    "report": Report,
    "compare": Compare,
    "bench": Bench,
    "tune": Tune,
    "doctor": Doctor,
}


# -- the command line --------------------------------------------------------------------------------------------------------


def parse(arguments: Sequence[str]) -> Command:
    """The command that was typed.

    Raises:
        InputError: it cannot be understood.
        SystemExit: help was asked for, and printed.
    """
    first = arguments[0] if arguments else None
    if first is not None and not first.startswith("-") and first not in COMMANDS:
        raise InputError(f"unknown command {first!r}{nearest(first, COMMANDS)}")
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            command = tyro.extras.subcommand_cli_from_dict(
                COMMANDS,
                prog="sandbox",
                description="A human body walks in PyBullet. `sandbox COMMAND --help` explains a command.",
                args=list(arguments),
                config=(tyro.conf.FlagCreatePairsOff,),
            )
        return cast(Command, command)
    except SystemExit as end:
        if end.code in (0, None):
            raise
        raise InputError(_one_line(said.getvalue(), first)) from None


def _one_line(box: str, command: str | None) -> str:
    """The message in tyro's box: its first part, and the option that it thinks was meant."""
    lines = [re.sub(r"[\u2500-\u257f]+", "\0" if "\u2500" * 8 in line else "", line).strip() for line in box.splitlines()[1:]]
    parts = " ".join(lines).split("\0")
    text = " ".join(parts[0].split()) or "cannot be understood"
    for part in parts[1:]:
        guess = re.search(r"(?:meant|similar to \S+):\s+(--\S+)", part)
        if guess:
            text += f": did you mean {guess[1]}?"
            break
    help_of = f"sandbox {command}" if command in COMMANDS else "sandbox"
    return f"{text[0].lower()}{text[1:].rstrip('.')} (see {help_of} --help)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what was typed, and return the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments == ["--version"]:
        print(f"sandbox {__version__}")
        return DONE
    try:
        return parse(arguments).execute()
    except InputError as error:
        print(f"sandbox: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("sandbox: stopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        # Whoever read the output has gone. Python would complain once more as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
