"""The command line: what it prints, writes and refuses."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sandbox import __version__, cli
from sandbox.cli import common
from sandbox.cli import scene as scene_options
from sandbox.measure import SUMMARY_FIELDS
from sandbox.recording import Recording
from sandbox.scenes.file import declared
from sandbox.scenes.scene import SCENES, Options

SHORT = ("--seconds", "0.5")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder to be in."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


def refused(arguments: Sequence[str], capfd: pytest.CaptureFixture[str], place: Path) -> str:
    """The complaint about bad input: one line, exit code 2, and no file."""
    assert cli.main(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert not list(place.iterdir())
    return err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", ["expected one of", "run", "--help"]),
        ("rnu walk", ["unknown command 'rnu'", "did you mean 'run'?"]),
        ("run", ["SCENE", "sandbox run --help"]),
        ("run wlak", ["unknown scene 'wlak'", "did you mean 'walk'?"]),
        ("run xyz", ["unknown scene 'xyz'", "bumps, crowd-push, figure-eight"]),
        ("run walk --sped 1", ["--sped", "did you mean --speed?"]),
        ("run walk --speed", ["--speed"]),
        ("run walk --speed fast", ["--speed", "'fast'"]),
        ("run walk --speed abc", ["--speed 'abc' is no number: give one"]),
        ("compare --speed abc", ["--speed 'abc' is no number: give one"]),
        ("run walk --seed 1.6", ["--seed '1.6' is no whole number: give one"]),
        ("bench walk --seeds x", ["--seeds 'x' is no whole number: give one"]),
        ("tune --out t.toml --generations x", ["--generations 'x' is no whole number: give one"]),
        ("run walk --seconds", ["--seconds needs a value"]),
        ("measure a.npz --unit foot", ["--unit 'foot' is not one of", "mm", "cmu"]),
        ("compare --seconds 0.1", ["seconds 0.1 s", "4..3600 s"]),
        ("run walk --speed 9", ["speed 9 m/s", "0..2 m/s"]),
        ("run walk --speed -1", ["speed -1 m/s", "0..2 m/s"]),
        ("run walk --speed nan", ["speed nan m/s", "0..2 m/s"]),
        ("run walk --speed inf", ["speed inf m/s", "0..2 m/s"]),
        ("run walk --heading-rate 3", ["heading rate 3 rad/s", "-0.6..0.6"]),
        ("run walk --seconds 0", ["seconds 0 s", "0.1..3600 s"]),
        ("run walk --seconds nan", ["seconds nan s"]),
        ("run walk --seed -1", ["seed -1", "0.."]),
        ("run walk --seed 1.5", ["--seed", "'1.5'"]),
        ("run walk --mass 5", ["mass 5 kg", "30-200 kg"]),
        ("run walk --mass nan", ["mass nan kg", "30-200 kg"]),
        ("run walk --height 3", ["height 3 m", "1.2-2.2 m"]),
        ("run walk --height nan", ["height nan m", "1.2-2.2 m"]),
        ("run walk --height 0.02", ["height 0.02 m", "1.2-2.2 m"]),
        ("run walk --sex other", ["'other'", "female", "male"]),
        ("run walk --plant bulet", ["'bulet'", "bullet", "kinematic"]),
        ("run walk --friction 0", ["friction 0", "0.1..2"]),
        ("run walk --angle 3", ["--angle 3", "'slope'"]),
        ("run slope --angle 40", ["angle 40 deg", "-15..15 deg"]),
        ("run bumps --bump-height 0.5", ["bump height 0.5 m", "0..0.1 m"]),
        ("run bumps --height -0.01", ["bump height -0.01 m", "0..0.1 m"]),
        ("run bumps --height 0.5", ["height 0.5 m", "1.2-2.2 m"]),
        ("run bumps --height 0.03 --bump-height 0.02", ["0.03", "0.02", "give one"]),
        ("run push --impulse -1", ["impulse -1 N s", "0..100 N s"]),
        ("run push --direction nan", ["direction nan deg"]),
        ("run walk --impulse 10", ["--impulse 10", "'push'"]),
        ("run walk --set com_height", ["'com_height'", "KEY=VALUE"]),
        ("run walk --set com_hieght=1", ["'com_hieght'", "did you mean 'com_height'?"]),
        ("run walk --set com_height=tall", ["com_height", "'tall'"]),
        ("run walk --set com_height=nan", ["com_height", "nan"]),
        ("run walk --params absent.toml", ["absent.toml", "sandbox tune"]),
        ("run walk --record /proc/walk.npz", ["--record", "/proc", "cannot write"]),
        ("run walk --json /proc/self/walk.json", ["--json", "/proc/self"]),
        ("run walk --record /dev/null", ["--record /dev/null", "ordinary file"]),
        ("run walk --record /dev/null/walk.npz", ["--record", "/dev/null", "folder"]),
        ("run walk --record .", ["--record .", "folder"]),
        (f"run walk --record {'x' * 300}.npz", ["--record", "too long"]),
        ("run walk --video walk.avi", ["--video walk.avi", ".mp4 or .gif"]),
        ("run walk --record walk.txt", ["--record walk.txt", ".npz"]),
        ("view walk --record walk.txt", ["--record walk.txt", ".npz"]),
        ("run push --seconds 6", ["pushes at 6.", "--seconds 6", "at least 7, better 13"]),
        ("run crowd-push --seconds 1", ["'crowd-push'", "--seconds 1", "at least"]),
        ("run walk --picture walk.jpg", ["--picture walk.jpg", ".png"]),
        ("run walk --json a.npz --record ./a.npz", ["--record", "--json", "two names"]),
        ("report absent.npz", ["absent.npz", "No such file"]),
        ("bench sped", ["'sped'", "speed"]),
        ("bench --seconds nan", ["seconds nan s", "1..3600"]),
        ("bench --seeds 2", ["--seeds", "bench walk"]),
        ("bench walk --seconds 2", ["--seconds", "bench speed"]),
        ("bench walk --only wlak-1.2", ["'wlak-1.2'", "did you mean 'walk-1.2'?"]),
        ("bench walk --seeds 0", ["seeds 0", "1-100"]),
        ("bench walk --workers 0", ["workers 0", "1-64"]),
        ("bench walk --first-seed -5", ["first seed -5"]),
        ("bench walk --fresh --first-seed 5", ["--fresh", "--first-seed 5"]),
        ("bench walk --out /proc/bench", ["--out", "/proc"]),
        ("bench walk --json /proc/x", ["--json", "/proc"]),
        ("list scenery", ["'scenery'", "scenes"]),
    ],
)
def test_bad_input(arguments: str, said: Sequence[str], capfd: pytest.CaptureFixture[str], elsewhere: Path) -> None:
    err = refused(arguments.split(), capfd, elsewhere)
    assert err.startswith("sandbox: ")
    for jargon in ("instantiated", "NoneType", "None", "literal", "convert", "<class"):
        assert jargon not in err
    assert [part for part in said if part not in err] == []


def test_a_file_that_is_not_a_recording(capfd: pytest.CaptureFixture[str], elsewhere: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    np.savez(other, time=np.arange(3))
    (tmp_path / "text.npz").write_text("hello")
    for path in (other, tmp_path / "text.npz"):
        assert "not a recording" in refused(["report", str(path)], capfd, elsewhere)


def test_a_parameter_file_that_is_not_one(capfd: pytest.CaptureFixture[str], elsewhere: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_bytes(b"\x93NUMPY\xff\xfe")
    assert "is not a TOML file" in refused(["run", "walk", "--params", str(wrong)], capfd, elsewhere)
    wrong.write_text("[parameters]\ncom_hieght = 1.0\n")
    assert "did you mean 'com_height'?" in refused(["run", "walk", "--params", str(wrong)], capfd, elsewhere)


def test_write_protected_folder(capfd: pytest.CaptureFixture[str], elsewhere: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.access(locked, os.W_OK):
        pytest.skip("this user may write everywhere")
    assert "cannot write in" in refused(["run", "walk", "--record", str(locked / "walk.npz")], capfd, elsewhere)


def test_output_that_needs_a_missing_package(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], elsewhere: Path) -> None:
    monkeypatch.setattr(common, "find_spec", lambda name: None)
    err = refused(["run", "walk", "--replay", "out/replay.html"], capfd, elsewhere)
    assert "viser" in err
    assert 'pip install "locomotion-sandbox[view]"' in err


def test_version_and_list(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capfd.readouterr().out == f"sandbox {__version__}\n"
    assert cli.main(["list"]) == 0
    out = capfd.readouterr().out
    assert all(f"  {name} " in out for name in SCENES)
    assert "sandbox:Sandbox/Walk-v0" in out
    assert "experiments:" in out
    assert cli.main(["list", "parameters"]) == 0
    assert "com_height" in capfd.readouterr().out


def test_help_of_every_command(capfd: pytest.CaptureFixture[str]) -> None:
    for name in cli.COMMANDS:
        with pytest.raises(SystemExit) as end:
            cli.main([name, "--help"])
        assert end.value.code == 0
        assert f"usage: sandbox {name}" in capfd.readouterr().out


@pytest.mark.parametrize("scene", sorted(SCENES))
def test_every_scene_runs(scene: str, capfd: pytest.CaptureFixture[str]) -> None:
    seconds = {"push": "7", "crowd-push": "5"}.get(scene, SHORT[1])  # one that ends before its push is refused
    assert cli.main(["run", scene, "--seconds", seconds]) == 0
    out, err = capfd.readouterr()
    assert out.startswith(f"{scene}, bullet plant\nno fall in {float(seconds)} s")
    assert "sandbox:" not in err.replace("sandbox: note:", "")  # a slow machine may show a progress bar


def test_files_of_a_run(capfd: pytest.CaptureFixture[str], elsewhere: Path) -> None:
    assert cli.main(["run", "stand", *SHORT, "--mass", "60", "--record", "new/deep/s.npz", "--json", "s.json", "--picture", "s.png"]) == 0
    out, _ = capfd.readouterr()
    assert out.splitlines()[-1] == "written: new/deep/s.npz, s.json, s.png"
    recording = Recording.load("new/deep/s.npz")
    result = json.loads(Path("s.json").read_text())
    assert recording.duration == 0.5
    assert set(result) == set(SUMMARY_FIELDS)
    assert result["body_mass_kg"] == recording.header["body"]["mass_kg"] == 60
    assert sorted(p.name for p in elsewhere.rglob("*") if p.is_file()) == ["s.json", "s.npz", "s.png"]
    # The same figures from the file.
    assert cli.main(["report", "new/deep/s.npz", "--json", "-"]) == 0
    assert json.loads(capfd.readouterr().out) == result


def test_json_to_standard_output_is_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "walk", *SHORT, "--json", "-", "--record", "w.npz"]) == 0
    out, err = capfd.readouterr()
    result = json.loads(out)
    assert set(result) == set(SUMMARY_FIELDS)
    assert "written: w.npz" in err
    assert "NaN" not in out


def test_parameters_and_scene_options_reach_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "bumps", *SHORT, "--height", "0.04", "--seed", "7", "--friction", "0.7", "--set", "com_height=0.95"]
    assert cli.main([*arguments, "--set", "clearance=0.04", "--record", "b.npz"]) == 0
    header = Recording.load("b.npz").header
    assert header["command"]["height_m"] == 0.04
    assert header["body"]["height_m"] == 1.74
    assert header["seed"] == 7
    assert header["settings"]["friction"] == 0.7
    assert header["params"]["name"] == "walker, com_height=0.95, clearance=0.04"
    assert cli.main([*arguments[:4], "--height", "1.6", "--bump-height", "0.01", "--record", "c.npz"]) == 0
    header = Recording.load("c.npz").header
    assert (header["body"]["height_m"], header["command"]["height_m"]) == (1.6, 0.01)


def test_a_value_outside_its_tuning_range_is_noted(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "stand", *SHORT, "--set", "clearance=0.5"]) == 0
    assert "clearance = 0.5 is outside 0.015 to 0.06 m" in capfd.readouterr().err


def test_a_fall_is_reported_and_no_error_unless_asked(capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "push", "--speed", "0", "--impulse", "100", "--json", "-"]
    assert cli.main(arguments) == 0
    result = json.loads(capfd.readouterr().out)
    assert result["fell"] is True
    assert result["fall_cause"]
    assert 6.0 < result["survived_s"] < 14.0
    assert cli.main([*arguments, "--require-upright"]) == 1
    assert "FELL after" in capfd.readouterr().err


def test_a_file_that_cannot_be_written_after_all(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(common.WRITERS, "picture", full)
    assert cli.main(["run", "stand", *SHORT, "--picture", "s.png", "--json", "s.json"]) == 1
    out, err = capfd.readouterr()
    assert "s.png could not be written: No space left on device" in err
    assert out.splitlines()[-1] == "written: s.json"


def test_a_fault_of_the_program_is_not_called_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("a matrix is singular")

    monkeypatch.setattr("sandbox.simulation.run", fail)
    with pytest.raises(ValueError, match="singular"):
        cli.main(["run", "stand", *SHORT])


def test_command_from_another_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox.cli", "run", "stand", *SHORT, "--json", "-"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["fell"] is False
    done = subprocess.run([sys.executable, "-m", "sandbox.cli", "run", "sand"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "sandbox: unknown scene 'sand': did you mean 'stand'?\n"


def test_ctrl_c_keeps_the_recording(elsewhere: Path) -> None:
    outputs = ["--record", "s.npz", "--json", "s.json", "--picture", "s.png"]
    often = "import sys; from sandbox import cli, console; console.LINE_EVERY = 0.1; sys.exit(cli.main(sys.argv[1:]))"
    command = [sys.executable, "-c", often, "run", "stand", "--seconds", "3600", *outputs]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    done = 0
    while not done:  # seconds of it are simulated, so that there are rows
        line = process.stderr.readline()
        assert line, "it has ended"
        found = re.search(r"(\d+) of 3600 s", line)
        done = int(found[1]) if found else 0
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "written: s.npz, s.json" in out
    recording = Recording.load("s.npz")
    assert recording.header["interrupted"] is True
    assert 0 < recording.duration == json.loads(Path("s.json").read_text())["survived_s"]
    assert sorted(path.name for path in elsewhere.iterdir()) == ["s.json", "s.npz"]


@pytest.mark.parametrize("module", ["bullet", "render", "engine"])
def test_the_engine_says_nothing_when_it_is_imported(module: str) -> None:
    """Also where a library's user imports it: PyBullet prints when it was built."""
    done = subprocess.run([sys.executable, "-c", f"import sandbox.plants.{module}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_names_are_listed_in_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    for what in ("all", "cells", "parameters"):
        assert cli.main(["list", what]) == 0
        assert "``" not in capsys.readouterr().out


@pytest.mark.parametrize("command", ["run", "view", "measure", "compare", "tune", "bench"])
def test_help_offers_no_none(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    assert not re.findall(r"\{[^}]*\bNone\b[^}]*\}", capsys.readouterr().out)


def test_start_is_short() -> None:
    """Names and errors come without an engine or a compiler."""
    code = """
import sys, time
start = time.process_time()
from sandbox import cli
assert cli.main(["list"]) == 0
assert cli.main(["run", "wlak"]) == 2
assert not {"numba", "pybullet", "pinocchio", "scipy", "matplotlib", "viser"} & set(sys.modules)
assert time.process_time() - start < 1.0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_options_of_a_scene_are_known() -> None:
    """Each option of a scene on the command line is a field of the scene's options, and some scene declares it."""
    names = {"height" if name == "bump_height" else name for name in scene_options.SCENE_OPTIONS}
    assert names <= set(Options.__dataclass_fields__)
    assert names == {option for scene in SCENES for option in declared(scene)}


def test_output_folder_is_not_made_for_bad_input(capfd: pytest.CaptureFixture[str], elsewhere: Path) -> None:
    refused(["run", "walk", "--record", "new/w.npz", "--video", "new/w.avi"], capfd, elsewhere)
    refused(["bench", "walk", "--out", "new", "--only", "nothing"], capfd, elsewhere)


def test_time_is_not_spent_before_outputs_are_checked(capfd: pytest.CaptureFixture[str], elsewhere: Path) -> None:
    start = time.monotonic()
    refused(["run", "walk", "--seconds", "3600", "--record", "/proc/w.npz"], capfd, elsewhere)
    assert time.monotonic() - start < 60  # the walk itself would take minutes
