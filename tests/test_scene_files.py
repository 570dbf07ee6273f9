"""Scene files: what they can say, and one clear line for what they cannot."""

from __future__ import annotations

import math
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from sandbox import cli
from sandbox.recording import Recording
from sandbox.scenes.expression import evaluate
from sandbox.scenes.file import declared, load, template
from sandbox.scenes.scene import SCENES, Command, Options, build

PLAIN = """
seconds = 10
[options]
speed = 0.7
[[command]]
time = 1
speed = "speed"
"""


def scene_of(folder: Path, text: str, options: Options | None = None, name: str = "mine.toml"):
    path = folder / name
    path.write_text(text)
    return load(path, options)


def test_a_file_says_what_happens(tmp_path: Path) -> None:
    scene = scene_of(
        tmp_path,
        PLAIN
        + """
[[command]]
time = "seconds - 4"
speed = "speed / 2"
heading_rate = -0.1
[terrain]
slope_deg = 2
friction = 0.5
[[terrain.box]]
x = 0.5
y = 3
width = 1
length = 0.4
height = 0.05
[terrain.steps]
count = 2
rise = 0.03
run = 1
start = 10
landing = 3
[body]
mass = 55
height = 1.6
sex = "female"
[[push]]
time = 4
force = 50
direction_deg = 90
link = "pelvis"
""",
    )
    assert scene.name == "mine"
    assert scene.commands == (Command(1.0, 0.7), Command(6.0, 0.35, -0.1))
    assert scene.anatomy is not None
    assert (scene.anatomy.mass, scene.anatomy.height, scene.anatomy.sex) == (55, 1.6, "female")
    assert scene.terrain.friction == 0.5
    assert scene.terrain.slope == pytest.approx(math.radians(2))
    rise = math.tan(math.radians(2))
    heights = [scene.terrain.height_at(0.6, y) - rise * y for y in (2.0, 3.1, 10.5, 11.5, 13.5, 14.5, 15.5, 17.1)]
    assert heights == pytest.approx([0, 0.05, 0.03, 0.06, 0.06, 0.06, 0.03, 0])
    (push,) = scene.pushes
    assert (push.time, push.force, push.duration, push.link) == (4, 50, 0.2, "pelvis")
    assert push.direction == pytest.approx(math.pi / 2)


def test_options_replace_what_the_file_declares(tmp_path: Path) -> None:
    assert scene_of(tmp_path, PLAIN, Options(speed=1.1, seconds=30, friction=0.9)).commands == (Command(1.0, 1.1),)
    assert dict(scene_of(tmp_path, PLAIN, Options(friction=0.9)).settings) == {"speed_mps": 0.7, "heading_rate_rps": 0.0, "friction": 0.9}
    assert declared(tmp_path / "mine.toml") == ("speed",)


def test_the_seed_draws(tmp_path: Path) -> None:
    push = "[[push]]\ntime = { from = 2, to = 3 }\nimpulse = { from = 1, to = 5 }\ndirection_deg = { from = 0, to = 360 }\n"
    text = f"{PLAIN}{push}count = 3\nevery = 2\n"
    scenes = [scene_of(tmp_path, text, Options(seed=seed)) for seed in (0, 0, 1)]
    assert scenes[0] == scenes[1] != scenes[2]
    pushes = scenes[0].pushes
    assert [int(push.time) for push in pushes] == [2, 4, 6]
    assert all(1 <= push.force * push.duration <= 5 for push in pushes)
    assert len({push.direction for push in pushes}) == 3
    assert scene_of(tmp_path, "seed = 7\n" + PLAIN).seed == 7
    assert scene_of(tmp_path, "seed = 7\n" + PLAIN, Options(seed=3)).seed == 3


def test_the_template_is_a_scene_with_and_without_what_it_leaves_out(tmp_path: Path) -> None:
    assert scene_of(tmp_path, template()).commands
    full = "\n".join(
        line.removeprefix("# ") if line.startswith("# ") and ("=" in line or "[" in line[:4]) else line
        for line in template().splitlines()[4:]
    )
    whole = tomllib.loads(full)
    assert {"body", "push"} <= set(whole)
    assert {"friction", "box", "bumps", "steps"} <= set(whole["terrain"])
    scene = scene_of(tmp_path, full)
    assert len(scene.pushes) == 3
    assert len(scene.terrain.boxes) > 10
    assert [command.speed for command in scene.commands] == [1.0, 0.0]


@pytest.mark.parametrize("name", SCENES)
def test_built_in_scenes_are_files_like_any_other(name: str, tmp_path: Path) -> None:
    text = files("sandbox.scenes").joinpath("data", f"{name}.toml").read_text(encoding="utf-8")
    assert scene_of(tmp_path, text, Options(seed=4), f"{name}.toml") == build(name, Options(seed=4))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("seed = 'x'", ["seed: 'x' is no number", "0 to 2147483647"]),
        ("seed = 3e9", ["seed 3e+09 is outside 0..2147483647"]),
        ("secnods = 3", ["unknown key 'secnods'", "did you mean 'seconds'?"]),
        ("[[push]]\ntime = 1\nimpulse = 1\ndirecton_deg = 3", ["push 1", "'directon_deg'", "did you mean 'direction_deg'?"]),
        ("[[push]]\ntime = 1", ["push 1", "impulse", "force"]),
        ("[[push]]\nimpulse = 1", ["push 1", "time is missing", "0 to 3600 s"]),
        ("[[push]]\ntime = 1\nimpulse = 500", ["push 1: impulse 500 N s", "0..100 N s"]),
        ("[[push]]\ntime = 1\nimpulse = 5\nlink = 'chest'", ["unknown link 'chest'", "thorax"]),
        ("[[push]]\ntime = 1\nimpulse = 5\ncount = 1.5", ["count 1.5", "whole number"]),
        ("[[push]]\ntime = { from = 3, to = 1 }\nimpulse = 5", ["from 3 is more than to 1"]),
        ("[[push]]\ntime = { from = 3 }\nimpulse = 5", ["both ends"]),
        ("[push]\ntime = 1", ["[[push]]"]),
        ("[terrain]\nslope_deg = 40", ["slope_deg 40 deg", "-15..15 deg"]),
        ("[terrain]\nslope_deg = nan", ["slope_deg nan"]),
        ("[terrain]\nslope_deg = true", ["True is no number"]),
        ("[terrain]\nslope_deg = 'speeed'", ["unknown name 'speeed'", "did you mean 'speed'?"]),
        ("[terrain]\nslope_deg = '__import__(1)'", ["no arithmetic"]),
        ("[terrain]\nslope_deg = '1 / (speed - speed)'", ["divides by zero"]),
        ("[terrain]\nbumps = 3", ["terrain.bumps is no table"]),
        ("[[terrain.box]]\ny = 0.1\nwidth = 1\nlength = 1\nheight = 0.2", ["starts inside a box of 0.2 m", "leave"]),
        ("[[terrain.box]]\ny = 3\nwidth = 1\nlength = 1\nheight = 20", ["terrain.box 1: height 20 m", "0.001..2 m"]),
        ("[body]\nmass = 5", ["body: mass 5 kg", "30..200 kg"]),
        ("[body]\nsex = 'other'", ["sex 'other'", "female"]),
        ("[[command]]\ntime = 1\nspeed = 0.3", ["command 2", "not later than 1 s"]),
        ("[[command]]\ntime = 3\nspeed = 3", ["command 2: speed 3 m/s", "0..2 m/s"]),
        ("[[command]]\ntime = 3", ["command 2", "speed is missing"]),
        ("= 3", ["is not TOML", "line"]),
    ],
)
def test_one_clear_line_for_bad_input(change: str, said: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"{change}\n{PLAIN}" if change.startswith(("secnods", "seed")) else f"{PLAIN}\n{change}\n")
    assert cli.main(["run", str(path)]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("sandbox: mine.toml")
    assert [part for part in said if part not in err] == []


def test_options_that_are_not_in_the_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(PLAIN.replace("speed = 0.7", "sped = 0.7"))
    assert cli.main(["run", str(path)]) == 2
    assert "options: unknown key 'sped': did you mean 'speed'?" in capfd.readouterr().err
    path.write_text(PLAIN)
    assert cli.main(["run", str(path), "--heading-rate", "0.1"]) == 2
    assert "--heading-rate 0.1 means nothing" in capfd.readouterr().err
    assert cli.main(["run", str(tmp_path / "absent.toml")]) == 2
    assert "absent.toml: No such file" in capfd.readouterr().err
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    assert cli.main(["run", str(tmp_path / "binary.toml")]) == 2
    assert "is no text" in capfd.readouterr().err


def test_obstacles_are_not_for_the_kinematic_plant(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "bumps", "--plant", "kinematic"]) == 2
    assert "--plant bullet" in capfd.readouterr().err


def test_a_new_scene_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new-scene", "mine"]) == 0
    assert Path("mine.toml").read_text() == template()
    assert cli.main(["new-scene", "mine.toml"]) == 2
    assert "exists" in capfd.readouterr().err
    assert cli.main(["run", "mine.toml", "--seconds", "0.5", "--speed", "0.9", "--record", "mine.npz"]) == 0
    header = Recording.load("mine.npz").header
    assert (header["scene"], header["command"]["speed_mps"]) == ("mine", 0.9)


def test_the_body_of_the_file_walks_unless_another_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(PLAIN + "[body]\nmass = 55\nheight = 1.6\n")
    for extra, mass in (([], 55), (["--mass", "62"], 62)):
        assert cli.main(["run", str(path), "--seconds", "0.2", *extra, "--record", str(tmp_path / "r.npz")]) == 0
        assert Recording.load(tmp_path / "r.npz").header["body"]["mass_kg"] == mass
    assert Recording.load(tmp_path / "r.npz").header["body"]["height_m"] == 1.6


@pytest.mark.parametrize(
    ("text", "value"),
    [("1 + 2 * 3", 7), ("-(1 - 3) / 4", 0.5), ("max(6, s - 8)", 12), ("min(1, 2, 3)", 1), ("s", 20), ("2e-1", 0.2)],
)
def test_arithmetic(text: str, value: float) -> None:
    assert evaluate(text, {"s": 20.0}) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b",
        "s ** 9",
        "[1]",
        "max(1)",
        "max",
        "f(1, 2)",
        "'x'",
        "True",
        "1 if s else 2",
        "max(1, 2, key=s)",
        "(" * 150,
        "1e999",
        "1" * 300,
        "x := 1",
    ],
)
def test_no_arithmetic(text: str) -> None:
    with pytest.raises(ValueError, match="arithmetic|unknown name|finite"):
        evaluate(text, {"s": 20.0})


@pytest.mark.parametrize("text", ["", "\n\n", "# a comment alone\n"])
@pytest.mark.parametrize("options", [Options(), Options(seconds=3.0)])
def test_an_empty_file_is_no_scene(text: str, options: Options, tmp_path: Path) -> None:
    """Even with a duration from the command line it would stand there without anybody having asked for it."""
    with pytest.raises(ValueError, match=r"mine\.toml is empty: sandbox new-scene"):
        scene_of(tmp_path, text, options)


def test_numbers_before_the_options_have_no_names(tmp_path: Path) -> None:
    """Of seed, seconds and the options themselves nothing can be calculated: the message lists no names."""
    for line in ("seconds = 'speed'", "seconds = 3\n[options]\nspeed = 'seconds'"):
        with pytest.raises(ValueError, match="is no number: give one from") as error:
            scene_of(tmp_path, line)
        assert "known" not in str(error.value)
