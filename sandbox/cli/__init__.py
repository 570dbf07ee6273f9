"""The command ``sandbox``.

Exit codes: 0 done (a fall is a result, and reported), 1 what was required was not reached or a file could not be written,
2 bad input, 130 stopped with Ctrl-C. Bad input is one line on standard error with the value, what is allowed and what to
do; it is found before anything runs, and nothing is left half written.
"""

from __future__ import annotations

import _thread
import contextlib
import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, cast

import tyro

from sandbox import __version__
from sandbox.cli.audit import Audit
from sandbox.cli.bench import Bench
from sandbox.cli.cluster import ClusterCommand
from sandbox.cli.common import BAD_INPUT, DONE, EXTRAS, FAILED, STOPPED, InputError, install_of
from sandbox.cli.compare import Compare
from sandbox.cli.doctor import Doctor
from sandbox.cli.experiment import ExperimentCommand
from sandbox.cli.export import Export
from sandbox.cli.footprints import Footprints
from sandbox.cli.listing import List
from sandbox.cli.measure import Measure
from sandbox.cli.naturalness import Naturalness
from sandbox.cli.norms import Norms
from sandbox.cli.replay import Gallery, Replay
from sandbox.cli.report import Report
from sandbox.cli.run import Run
from sandbox.cli.scene import NewScene
from sandbox.cli.train import Evaluate, Train
from sandbox.cli.tune import Tune
from sandbox.cli.view import View
from sandbox.config import nearest


class Command(Protocol):
    """What was typed, ready to be done."""

    def execute(self) -> int:
        """Do it, and return the exit code."""


COMMANDS: dict[str, Callable[..., object]] = {
    "list": List,
    "run": Run,
    "new-scene": NewScene,
    "view": View,
    "report": Report,
    "replay": Replay,
    "gallery": Gallery,
    "export": Export,
    "measure": Measure,
    "compare": Compare,
    "naturalness": Naturalness,
    "norms": Norms,
    "experiment": ExperimentCommand,
    "footprints": Footprints,
    "audit": Audit,
    "bench": Bench,
    "train": Train,
    "evaluate": Evaluate,
    "tune": Tune,
    "cluster": ClusterCommand,
    "doctor": Doctor,
}


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
    text = _in_words(" ".join(parts[0].split())) or "cannot be understood"
    for part in parts[1:]:
        guess = re.search(r"(?:meant|similar to \S+):\s+(--\S+)", part)
        if guess:
            text += f": did you mean {guess[1]}?"
            break
    help_of = f"sandbox {command}" if command in COMMANDS else "sandbox"
    return f"{text[0].lower()}{text[1:].rstrip('.')} (see {help_of} --help)"


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Inside, Ctrl-C ends the work wherever it comes.

    A callback out of C (numba's compiler asks for its cache in one) and a destructor cannot raise: Python reports the
    KeyboardInterrupt and goes on. It is sent once more, when they are likely over.
    """
    report = sys.unraisablehook
    timers: list[threading.Timer] = []

    def again(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            timers.append(threading.Timer(0.05, _thread.interrupt_main))
            timers[-1].daemon = True
            timers[-1].start()
        else:
            report(unraisable)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = report
        for timer in timers:
            timer.cancel()


def _in_words(text: str) -> str:
    """What tyro says of a value, without the names of Python's types."""
    wrong = re.search(r"rror parsing (\S+): ", text)
    value = re.search(r"(?:instantiated from \[|converts? string to float: |base 10: )(['\"].*?['\"])", text)
    if wrong and value and re.search(r"float|FLOAT|int\b|INT\b", text):
        kind = "number" if re.search(r"float|FLOAT", text) else "whole number"
        return f"{wrong[1]} {value[1]} is no {kind}: give one"
    choice = re.search(r"nvalid choice ('.*?') for argument '(.*?)'\. Expected one of \((.*?)\)", text)
    if choice:
        known = [name.strip(" '") for name in choice[3].split(",") if name.strip(" '") not in ("", "None")]
        return f"{choice[2]} {choice[1]} is not one of {', '.join(known)}"
    missing = re.search(r"issing value for argument '(.*?)'", text)
    return f"{missing[1]} needs a value" if missing else text


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what was typed, and return the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments == ["--version"]:
        print(f"sandbox {__version__}")
        return DONE
    try:
        with interruptible():
            return parse(arguments).execute()
    except InputError as error:
        print(f"sandbox: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except ImportError as error:  # of a library that only some of the commands need: an extra that is not installed, or is broken
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        print(f"sandbox: this needs {package} ({' '.join(str(error).split())}): {install_of([package])}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("sandbox: stopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        # Whoever read the output has gone. Python would complain once more as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
