"""Ctrl-C: every command that simulates ends with 130, prints no figure and leaves no file of a walk that was cut short."""

import contextlib
import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import cli
from sandbox.controllers.planner import GaitPlanner
from sandbox.plants.continuous import ContinuousWalker
from sandbox.recording import Recording

# With the files that they are asked for. `run` is apart, since it keeps its recording; `view` runs until Ctrl-C.
COMMANDS = [
    "compare --speed 0.8 --seconds 8 --out page --json c.json",
    "naturalness --json n.json",
    "naturalness --plant bullet --json -",
    "audit",
    "audit --json",
    "gallery --out pictures",
    "experiment run lo-002 --out x",
    "experiment run lo-007 --out x",
    "experiment check lo-009 --workers 1",
    "bench speed --json b.json",
    "bench walk --only walk-1.0 --seeds 1 --workers 1 --out b",
    "bench scenes --only walk --seeds 1 --workers 1 --json s.json",
    "bench measure --json m.json",
    "doctor",
]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ctrl_c(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Ctrl-C at the 200th tick, whoever walks. The list grows with each one."""
    pressed: list[int] = []
    ticks = 0

    def interrupting(function):
        def wrapped(*args, **kwargs):
            nonlocal ticks
            ticks += 1
            if ticks == 200:
                pressed.append(ticks)
                raise KeyboardInterrupt
            return function(*args, **kwargs)

        return wrapped

    monkeypatch.setattr(GaitPlanner, "update", interrupting(GaitPlanner.update))
    monkeypatch.setattr(ContinuousWalker, "tick", interrupting(ContinuousWalker.tick))
    return pressed


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_simulates_stops(command: str, ctrl_c: list[int], capfd: pytest.CaptureFixture[str], elsewhere: Path) -> None:
    assert cli.main(command.split()) == 130
    assert len(ctrl_c) == 1
    out, err = capfd.readouterr()
    assert err.splitlines()[-1] == "sandbox: stopped"
    assert "Traceback" not in err
    assert not [line for line in out.splitlines() if "|" in line or "written" in line or "passed" in line or "{" in line], out
    assert not [path for path in elsewhere.rglob("*") if path.is_file()]


def test_an_interrupted_baseline_is_not_written(ctrl_c: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.cli.naturalness.write_text", lambda *_: pytest.fail("it was written"))
    assert cli.main(["naturalness", "--rebase"]) == 130
    assert ctrl_c


@pytest.mark.parametrize("plant", ["bullet", "kinematic", "continuous"])
def test_run_keeps_what_was_recorded(plant: str, ctrl_c: list[int], elsewhere: Path) -> None:
    assert cli.main(["run", "walk", "--plant", plant, "--record", "w.npz", "--picture", "w.png", "--json", "w.json"]) == 130
    assert ctrl_c
    assert Recording.load("w.npz").header["interrupted"] is True
    assert sorted(path.name for path in elsewhere.iterdir()) == ["w.json", "w.npz"]


def wait(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)


class Undead:
    """What Ctrl-C meets in a destructor."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["callback", "destructor"])
def test_ctrl_c_where_nothing_can_be_raised(where: str, capfd: pytest.CaptureFixture[str]) -> None:
    """As in the callback in which numba's compiler looks into its cache: Python drops what is raised there."""

    @ctypes.CFUNCTYPE(None)
    def callback() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), cli.interruptible():  # noqa: PT012  # what is raised comes later
        if where == "callback":
            callback()
        else:
            Undead()
            gc.collect()
        wait(10.0)
    assert capfd.readouterr().err == ""


def test_ctrl_c_that_comes_too_late_does_no_harm() -> None:
    """The work is done before it could be sent once more."""

    @ctypes.CFUNCTYPE(None)
    def callback() -> None:
        raise KeyboardInterrupt

    hook = sys.unraisablehook
    with cli.interruptible():
        callback()
    wait(0.2)
    assert sys.unraisablehook is hook


def stopped(command: str, seconds: float, folder: Path) -> tuple[int, str, str, float]:
    """Exit code, outputs and the time [s] that it took to end a command with a real Ctrl-C, which its whole process group gets."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sandbox.cli", *command.split()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, start_new_session=True,
    )  # fmt: skip
    timer = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    try:
        out, err = process.communicate(timeout=300)
    finally:
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out, err, time.monotonic() - began - seconds


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [3.0, 5.0, 8.0])
@pytest.mark.parametrize("command", ["naturalness --json n.json", "audit", "bench view --json v.json", "tune --out t.toml"])
def test_a_real_ctrl_c(command: str, seconds: float, tmp_path: Path) -> None:
    """At moments of imports, compilation and simulation, as they come."""
    code, out, err, _ = stopped(command, seconds, tmp_path)
    assert code == 130, err
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    if command.startswith("tune") and out:  # which says how to go on
        assert out.startswith("stopped after")
        return
    assert err.splitlines()[-1] == "sandbox: stopped"
    assert out == ""
    assert not list(tmp_path.iterdir())
