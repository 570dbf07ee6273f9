"""The live page: in lockstep with the simulation, in a process of its own, open to several browsers, safe from what they send."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sandbox import cli
from sandbox.bench.view import Client
from sandbox.bodies.anatomy import Anatomy
from sandbox.controllers.parameters import Parameters
from sandbox.recording import Recording
from sandbox.scenes.scene import Command, Options, build
from sandbox.viewer.drawing import addresses, own_address
from sandbox.viewer.engine import MODES, Engine, Setup, save_recordings
from sandbox.viewer.live import LiveView

pytest.importorskip("viser")
MM = 1e-3


def setup(name: str = "walk", plants: tuple[str, ...] = ("kinematic",), **more: Any) -> Setup:
    return Setup(build(name, Options(seed=more.pop("seed", 0))), plants, 0, Anatomy(), Parameters.load(), **more)


def until(done: Any, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"not within {seconds:g} s"
        time.sleep(0.02)


class Running:
    """A view whose loop runs in a thread."""

    def __init__(self, view: LiveView) -> None:
        self.view, self._done = view, threading.Event()
        self._thread = threading.Thread(target=view.run, args=(self._done.is_set,), daemon=True)

    def __enter__(self) -> LiveView:
        self._thread.start()
        until(lambda: self.view.updates > 3)
        return self.view

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(10)
        self.view.close()


@pytest.fixture(scope="module")
def view() -> Iterator[LiveView]:
    with Running(LiveView(setup(plants=("kinematic",)), "127.0.0.1", 8400)) as view:
        yield view


# -- what is drawn is what was simulated -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_markers_are_where_the_simulation_put_the_points() -> None:
    """Both bodies in lockstep: positions that the page sends, beside the recordings of the same simulation."""
    view = LiveView(setup(plants=("bullet", "kinematic"), record=True), "127.0.0.1", 8410)
    until(view.update)
    seen = []
    for _ in range(60):
        time.sleep(0.05)
        if view.update():
            frames = [figure._markers.batched_positions + view.camera.origin for figure in view.figures]
            seen.append((view.simulated, frames))
    recordings = view.finish()
    assert [recording.header["plant"] for recording in recordings] == ["bullet", "kinematic"]
    assert len(seen) > 30
    assert len(recordings[0]) == len(recordings[1]), "in lockstep"
    assert np.array_equal(recordings[0].time, recordings[1].time)
    for when, frames in seen:
        for recording, drawn in zip(recordings, frames, strict=True):
            row = int(np.searchsorted(recording.time, when - 1e-9))
            around = recording.points[max(0, row - 2) : row + 3]  # the second body may be read a row later
            assert np.abs(around - drawn).max(axis=(1, 2)).min() < MM
        assert np.abs(recordings[0].points[int(np.searchsorted(recordings[0].time, when - 1e-9))] - frames[0]).max() < MM


@pytest.mark.slow
def test_two_clients_see_the_same_and_a_deaf_one_stops_nobody(view: LiveView) -> None:
    watched = "/kinematic/markers"
    first, second = Client(view.address, watched=watched), Client(view.address, watched=watched)
    deaf = Client(view.address, reads=False)
    until(lambda: first.updates > 5 and second.updates > 5)
    before, start = first.updates, view.simulated
    until(lambda: view.simulated > start + 1.5)
    assert first.updates - before > 20
    view._time("pause")
    until(lambda: not view.engine.running)
    time.sleep(0.5)
    assert first.places is not None
    assert np.array_equal(first.places, second.places)
    late = Client(view.address, watched=watched)  # a tab that is opened again sees what the others see
    until(lambda: late.places is not None or late.updates > 0 or len(view.server.get_clients()) >= 4)
    view._time("run")
    for client in (first, second, deaf, late):
        client.close()


# -- commands ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_controls_reach_the_simulation(view: LiveView) -> None:
    view._time("reset")
    until(lambda: view.simulated < 1.0)
    view.speed.value = 0.6
    view._guarded(view._command)
    until(lambda: view._last["command"][0] == 0.6)
    until(lambda: view.simulated > 3.0)
    assert np.hypot(*view._last["com_velocity"][:2]) > 0.2
    view.turn.value = 0.3
    view._guarded(view._command)
    until(lambda: view._last["command"][1] == 0.3)
    view._walk("stop")
    until(lambda: view._last["command"][0] == 0.0)
    view._walk("the scene's own")
    until(lambda: view._last["command"][0] == 1.0)
    view._time("pause")
    until(lambda: not view.engine.running)
    time.sleep(0.2)
    stood = view.simulated
    time.sleep(0.2)
    assert view.simulated == stood
    view._time("single step")
    until(lambda: view.simulated > stood)
    assert view.simulated == pytest.approx(stood + 1 / 120)
    view.pace.value = 0.25
    view._guarded(view._pace)
    view._time("run")
    start, wall = view.simulated, time.monotonic()
    until(lambda: view.simulated > start + 0.3)
    assert (view.simulated - start) / (time.monotonic() - wall) < 0.5
    view.pace.value = 1.0
    view._guarded(view._pace)


@pytest.mark.slow
def test_another_body_and_scene(view: LiveView) -> None:
    view.scene.value, view.height.value, view.mass.value, view.mode.value = "slope", 1.6, 55.0, "legs only"
    view.stance.value = "virtual-leg"
    view._guarded(view._apply)
    assert view._complaint == ""
    assert (view.engine.setup.stance, view.engine.setup.mode) == ("virtual-leg", "legs only")
    until(lambda: view.engine.news == "" and view.simulated < 1.0)
    header = view.figures[0].header
    assert (header["body"]["mass_kg"], header["body"]["height_m"]) == (55.0, 1.6)
    assert view.figures[0].ground.rise == pytest.approx(math.tan(math.radians(3)))
    until(lambda: view.simulated > 0.5)
    # the meshes are those of the new body: no row of the old one was drawn with them
    points = dict(zip(header["point_names"], view._last["points"], strict=True))
    thigh = np.linalg.norm(points["left_hip"] - points["left_knee"])
    lengths = np.concatenate([np.asarray(batch.handle.batched_scales)[:, 2] for batch in view.figures[0]._batches if not batch.ends])
    assert np.abs(lengths - thigh).min() < MM
    head = view._last["points"][header["point_names"].index("head")]
    assert 1.4 < head[2] < 1.6


@pytest.mark.slow
def test_the_scene_as_it_was_started_keeps_its_options() -> None:
    scene = build("walk", Options(speed=0.55, seed=3))
    first = Setup(scene, ("kinematic",), 3, Anatomy(), Parameters.load())
    with Running(LiveView(first, "127.0.0.1", 8430, own=lambda seed: build("walk", Options(speed=0.55, seed=seed)))) as view:
        assert view.speed.value == 0.55
        view.seed.value = 5
        view._guarded(view._apply)
        assert view._complaint == ""
        assert view.engine.setup.scene == build("walk", Options(speed=0.55, seed=5))
        view.scene.value = "walk"
        view._guarded(view._apply)
        assert view.engine.setup.scene == build("walk", Options(seed=5))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scene": "../../etc/passwd.toml"}, "unknown scene"),
        ({"scene": "mine.toml"}, "unknown scene"),
        ({"height": 9.0}, "1.2-2.2"),
        ({"mass": float("nan")}, "30-200"),
        ({"mass": "a"}, "could not convert"),
        ({"mode": "all"}, "unknown coordination"),
        ({"plant": "kinematic", "scene": "bumps"}, "through obstacles"),
        ({"seed": -1}, "seed"),
        ({"stance": "stilts"}, "stance"),
        ({"stance": "klaw", "scene": "turn"}, "no turns"),
    ],
)
def test_what_a_browser_may_not_ask(view: LiveView, change: dict[str, Any], said: str) -> None:
    """A client can send any value; it is refused with a line, and no file is read."""

    class Sent:
        def __init__(self, value: object) -> None:
            self.value = value

    before = view.engine.setup
    kept = {name: getattr(view, name) for name in ("scene", "plant", "mode", "stance", "height", "mass", "seed")}
    try:
        for name, value in {
            "scene": "walk",
            "plant": "kinematic",
            "mode": "full body",
            "height": 1.7,
            "mass": 70.0,
            "seed": 0,
            **change,
        }.items():
            setattr(view, name, Sent(value))
        view._guarded(view._apply)
    finally:
        for name, handle in kept.items():
            setattr(view, name, handle)
    assert said in view._complaint
    assert view.engine.setup is before
    view.measure()
    assert "not done" in view._status.content
    view._guarded(lambda: None)


def test_coordination_modes_silence_the_upper_body() -> None:
    full = setup().coordinated()
    legs = setup(mode="legs only").coordinated()
    assert (legs.arm_swing, legs.thorax_rotation, legs.pelvis_rotation) == (0, 0, 0)
    assert full == Parameters.load()
    for mode, names in MODES.items():
        parameters = setup(mode=mode).coordinated()
        assert [name for name in ("arm_swing", "thorax_rotation", "pelvis_rotation") if getattr(parameters, name) == 0] == list(names)


# -- the process -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_simulation_goes_on_without_anybody_reading() -> None:
    engine = Engine(setup(record=True))
    try:
        until(lambda: engine.poll() or engine.news == "")
        engine.send("command", Command(0.0, 0.7))
        time.sleep(6.0)  # longer than the ring holds
        rows = engine.rows(0)
        assert 100 < len(rows) <= 256
        assert np.allclose(np.diff(rows["time"]), 1 / 120), "nothing torn or missing in what is there"
        (recording,) = engine.finish()
        assert recording.duration > 5.0
        assert recording.command[-1, 0] == 0.7
    finally:
        engine.close()
    assert not engine.alive


@pytest.mark.slow
def test_a_push_moves_the_physical_body() -> None:
    engine = Engine(setup("stand", ("bullet",), record=True))
    try:
        until(lambda: engine.poll() or engine.news == "")
        until(lambda: len(rows := engine.rows(0)) and rows[-1]["time"] > 1.0)
        engine.send("push", (15.0, math.radians(90.0)))
        time.sleep(1.0)
        (recording,) = engine.finish()
    finally:
        engine.close()
    assert len(recording.push_time) == 1
    assert recording.push_force[0] == pytest.approx([-75.0, 0.0, 0.0], abs=1.0)
    row = int(np.searchsorted(recording.time, recording.push_time[0] + 0.2))
    assert recording.com_velocity[row, 0] == pytest.approx(-15.0 / 70.0, abs=0.1), "impulse over mass, to the left"


def test_recordings_of_several_bodies_have_names_of_their_own(walk: Recording, tmp_path: Path) -> None:
    other = Recording({**walk.header, "plant": "bullet"}, walk.columns)
    assert [path.name for path in save_recordings([walk, other], tmp_path / "w.npz")] == ["w_kinematic.npz", "w_bullet.npz"]
    assert [path.name for path in save_recordings([walk], tmp_path / "w.npz")] == ["w.npz"]
    assert save_recordings([], tmp_path / "w.npz") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "before"),
    [
        (lambda pid: os.killpg(pid, signal.SIGINT), ()),  # as a terminal does
        (lambda pid: os.kill(pid, signal.SIGINT), ()),  # the parent alone
        (
            lambda pid: os.kill(pid, signal.SIGINT),
            ("sh", "-c", 'trap "" INT; exec "$@"', "sh"),
        ),  # and as a script's shell starts what runs in the background
    ],
    ids=["group", "parent", "background"],
)
def test_ctrl_c_ends_all_and_keeps_the_recording(how: Callable[[int], None], before: Callable[[], None] | None, tmp_path: Path) -> None:
    command = [
        *before,
        sys.executable,
        "-m",
        "sandbox.cli",
        "view",
        "walk",
        "--plant",
        "kinematic",
        "--no-browser",
        "--port",
        "8420",
        "--record",
        str(tmp_path / "w.npz"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert address, line
    client = Client(address[0], watched="/kinematic/markers")
    until(lambda: client.updates > 30)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    how(process.pid)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert f"written: {tmp_path / 'w.npz'}" in out
    assert Recording.load(tmp_path / "w.npz").duration > 1.0
    assert children
    until(lambda: not any(_runs(child) for child in children), 30)


def _runs(process: str) -> bool:
    """Whether a process is there, and no mere entry that waits for its parent."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_addresses_of_a_page() -> None:
    assert addresses("127.0.0.1", 8080) == ["http://127.0.0.1:8080"]
    assert addresses("::1", 8080) == ["http://[::1]:8080"]
    assert addresses("localhost", 8080) == ["http://localhost:8080"]
    for everywhere in ("0.0.0.0", "::", ""):
        assert addresses(everywhere, 8080) == ["http://127.0.0.1:8080", f"http://{own_address()}:8080"]


def test_a_stance_model_reaches_the_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    from sandbox.cli import view as command
    from sandbox.viewer import live

    made: list[Setup] = []

    class Kept:
        def __init__(self, setup: Setup, *_: Any, **__: Any) -> None:
            made.append(setup)

    monkeypatch.setattr(live, "LiveView", Kept)
    command.View("walk", stance="telescoping", plant="kinematic")._scene()
    assert made[0].stance == "telescoping"


# -- the command line --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("view", ["SCENE"]),
        ("view wlak", ["'wlak'", "did you mean 'walk'?"]),
        ("view absent.npz", ["absent.npz", "No such file"]),
        ("view absent.toml", ["absent.toml", "No such file"]),
        ("view walk --port 0", ["port 0", "1-65535"]),
        ("view walk --host no.such.host.invalid", ["no.such.host.invalid", "--host"]),
        ("view bumps --plant kinematic", ["--plant bullet"]),
        ("view bumps --plant both", ["--plant bullet"]),
        ("view walk --speed 9", ["speed 9 m/s"]),
        ("view walk --preset low", ["--preset low", "experiments"]),
        ("view walk other.npz", ["other.npz", "scene"]),
        ("view walk --record /proc/w.npz", ["--record", "cannot write"]),
        ("view lo-003 --stance telescoping", ["--stance telescoping", "experiment"]),
        ("view lo-003 --speed 1", ["--speed 1.0", "experiment"]),
        ("view lo-003 --preset oveReachh", ["'oveReachh'", "did you mean 'OVERREACH'?"]),
        ("view lo-003 --preset hihg_test", ["'hihg_test'", "did you mean 'HIGH TEST'?"]),
        ("view lo-006 --preset retaind", ["'retaind'", "did you mean 'retained'?"]),
        ("view lo-006 --preset xyz", ["'xyz'", "known are", "retained"]),
        ("view lo-999", ["'lo-999'", "lo-00"]),
    ],
)
def test_bad_input(
    arguments: str, said: list[str], capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments.split()) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert [part for part in said if part not in err] == []
    assert list(tmp_path.iterdir()) == []


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from sandbox.cli import common

    monkeypatch.setattr(common, "find_spec", lambda name: None)
    assert cli.main(["view", "walk"]) == 2
    assert 'pip install "locomotion-sandbox[view]"' in capfd.readouterr().err


def test_others_are_let_in_only_with_a_warning(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from sandbox.cli import view as command

    class Stopped:
        address, port = "http://127.0.0.1:8081", 8081

        def run(self) -> None:
            raise KeyboardInterrupt

        def close(self) -> None:
            pass

    monkeypatch.setattr(command.View, "_scene", lambda self: Stopped())
    monkeypatch.setattr(command, "open_browser", lambda address: False)
    assert cli.main(["view", "walk", "--host", "0.0.0.0"]) == 130
    out, err = capfd.readouterr()
    assert "warning" in err
    assert "everybody who can reach this machine" in err
    assert re.findall(r"http://(\S+):8081", out) == ["127.0.0.1", own_address()]
    assert "port 8080 is in use; this is the next free one" in out
    assert "no browser found here" in out
    assert cli.main(["view", "walk", "--port", "8081"]) == 130
    out, err = capfd.readouterr()
    assert (err, "in use" in out) == ("", False)
