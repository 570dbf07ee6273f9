"""What the commands share: options, exit codes, the check of what was typed, and the files that are written."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TextIO

import tyro

from sandbox.console import Progress, results_only, silenced
from sandbox.files import written_whole

if TYPE_CHECKING:
    from sandbox.controllers.parameters import Parameters
    from sandbox.recording import Recording

DONE, FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 130

COMPILING = "the first run compiles the controller, which takes up to a minute"

STDOUT = "-"  # as a file: standard output

# The extra that brings a package which the core does without.
EXTRAS = {
    "viser": "view",
    "matplotlib": "report",
    "plotly": "report",
    "imageio": "video",
    "av": "video",
    "PIL": "video",
    "ezc3d": "mocap",
    "pybvh": "mocap",
    "cma": "tune",
    "stable_baselines3": "train",
    "tensorboard": "train",
    "torch": "train",
    "distributed": "cluster",
}

# The packages that an output needs beside the core.
NEEDS = {
    "replay": ("viser",),
    "picture": ("matplotlib",),
    "video": ("imageio", "av", "PIL"),
    "html": ("viser",),
    "sheet": ("PIL", "matplotlib"),
}


ENDINGS = {
    "record": (".npz",),
    "picture": (".png",),
    "replay": (".html", ".htm"),
    "video": (".mp4", ".gif"),
    "html": (".html", ".htm"),
    "sheet": (".png",),
}


class InputError(Exception):
    """What was typed cannot be used; the message is one line with the value, what is allowed and the remedy."""


def need(what: str, *packages: str) -> None:
    """Raise ValueError unless packages of :data:`EXTRAS` are installed; ``what`` begins the message, which says how to install them."""
    missing = [package for package in packages if not _installed(package)]
    if missing:
        raise ValueError(f"{what} {' and '.join(missing)}: {install_of(missing)}")


def install_of(packages: Sequence[str]) -> str:
    """The command that installs packages of :data:`EXTRAS`."""
    return f'pip install "locomotion-sandbox[{",".join(dict.fromkeys(EXTRAS[package] for package in packages))}]"'


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # something keeps it from being imported
        return False


@contextlib.contextmanager
def checking() -> Iterator[None]:
    """Inside, a ValueError or an OSError is a complaint about what was typed; outside it is a fault of the program."""
    try:
        yield
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise InputError(f"{name}{error.strerror or error}") from error
    except ValueError as error:
        raise InputError(str(error)) from error


def option(metavar: str, text: str, default: bool = True, name: str | None = None) -> Any:
    """An option with its unit or kind, and help; ``default`` shows its value where it is left out."""
    return tyro.conf.arg(name=name, metavar=metavar, help=text, help_behavior_hint=None if default else "")


# -- what several commands ask for -------------------------------------------------------------------------------------------

SeedOption = Annotated[int, option("N", "draws the perturbed start, and the friction and the time of a push where not given")]
MassOption = Annotated[float, option("KG", "mass of the body, 30-200")]
SexOption = Annotated[Literal["mean", "female", "male"], tyro.conf.arg(help="whose mass distribution")]
SetOption = Annotated[
    tyro.conf.UseAppendAction[tuple[str, ...]],
    option("KEY=VALUE", "change a parameter (sandbox list parameters); may be repeated", default=False, name="set"),
]
ParamsOption = Annotated[Path | None, option("FILE", "parameters from a TOML file instead of the shipped ones", default=False)]
PictureOption = Annotated[Path | None, option("FILE.png", "draw the gait", default=False)]
ReplayOption = Annotated[Path | None, option("FILE.html", "write a 3D page that opens without a network", default=False)]
VideoOption = Annotated[Path | None, option("FILE.mp4", "draw a video", default=False)]
JsonOption = Annotated[
    str | None, option("FILE|-", "write the result as JSON; - to standard output, which then holds nothing else", default=False)
]


def read_parameters(path: Path | None, changes: Sequence[str]) -> tuple[Parameters, str]:
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
    try:
        if path.is_dir():
            raise ValueError(f"{option} {path} is a folder: give the name of a file")
        if path.exists() and not path.is_file():
            raise ValueError(f"{option} {path} is not an ordinary file: give another name")
        if path.exists() and not os.access(path, os.W_OK):
            raise ValueError(f"{option} {path} is write-protected: give another name")
        if endings and path.suffix.lower() not in endings:
            raise ValueError(f"{option} {path} does not end in {' or '.join(endings)}: give such a name")
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


def check_outputs(**paths: Path | str | None) -> list[Output]:
    """Files asked for, by option, whose folders are made. Raises ValueError for one that cannot be written."""
    outputs: list[Output] = []
    for option, given in paths.items():
        if given is None or given == STDOUT:
            continue
        path = Path(given)
        check_output(f"--{option}", path, ENDINGS.get(option, ()))
        need(f"--{option} needs", *NEEDS.get(option, ()))
        for other in outputs:
            if path.resolve() == other.path.resolve():
                raise ValueError(f"--{other.option} and --{option} are both {path}: give two names")
        outputs.append(Output(option, path))
    for output in outputs:
        output.path.parent.mkdir(parents=True, exist_ok=True)
    return outputs


@contextlib.contextmanager
def results(json_option: str | None) -> Iterator[tuple[TextIO, TextIO]]:
    """Where the JSON of ``--json -`` goes, and where words go: with it, all words go to standard error."""
    if json_option == STDOUT:
        with results_only() as out:
            yield out, sys.stderr
    else:
        yield sys.stdout, sys.stdout


def load_engine() -> None:
    """Import the engine, which prints when it is imported."""
    with silenced():
        import sandbox.plants.bullet  # noqa: F401


class Files:
    """Writes what was asked for of a recording; at its end, also an early one, it says what was written."""

    def __init__(self, recording: Recording, words: TextIO) -> None:
        self.recording, self.words = recording, words
        self.result: Mapping[str, Any] = {}
        self.failed = False
        self._written: list[str] = []

    def __enter__(self) -> Files:
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
                WRITERS[option](self.recording, path, self.result)
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


WRITERS: dict[str, Callable[[Recording, Path, Mapping[str, Any]], None]] = {
    "record": lambda recording, path, _: recording.save(path),
    "json": lambda _, path, result: write_text(path, json_text(result)),
    "picture": _write_picture,
    "replay": _write_replay,
    "video": _write_video,
}
