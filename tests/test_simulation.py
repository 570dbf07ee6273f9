"""The run loop: recordings, determinism, pushes, falls, bodies of other sizes, close."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sandbox.bodies import Anatomy
from sandbox.controllers.parameters import Parameters
from sandbox.recording import COLUMNS, Recording
from sandbox.scenes.scene import Command, Options, Push, Scene, build
from sandbox.scenes.terrain import Terrain
from sandbox.simulation import RECORD_RATE, Simulation, make_plant, run
from sandbox.state import ContactState

WALK = Scene("test", (Command(0.2, 0.8),), 2.0, pushes=(Push(1.2, 0.2, 30.0, 0.5),))
STAND = Scene("test", (), 1.0)


@pytest.fixture
def simulate() -> Iterator[Callable[..., Simulation]]:
    """Function of Simulation's arguments; the simulations are closed afterwards."""
    made = []

    def one(*args: Any, **settings: Any) -> Simulation:
        made.append(Simulation(*args, **settings))
        return made[-1]

    yield one
    for simulation in made:
        simulation.close()


def play(simulation: Simulation, seconds: float, beside: Simulation | None = None) -> Simulation:
    """Tick until the time is over, falls or not."""
    for _ in range(round(seconds / simulation.plant.dt)):
        simulation.tick()
        if beside is not None:
            beside.tick()
    return simulation


def digest(recording: Recording) -> dict[str, str]:
    """Of every column, to the last bit."""
    return {name: hashlib.sha256(np.ascontiguousarray(recording.columns[name]).tobytes()).hexdigest() for name in COLUMNS}


# -- determinism -------------------------------------------------------------------------------------------------------

SEED = 3


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    simulation = Simulation(WALK, seed=SEED)
    recording = play(simulation, 2.0).recording()
    simulation.close()
    assert len(recording.time) == 2 * RECORD_RATE
    assert len(recording.event_time) > 2
    assert len(recording.push_time) == 1
    return digest(recording)


def test_the_same_seed_gives_the_same_recording(simulate, reference) -> None:
    assert digest(play(simulate(WALK, seed=SEED), 2.0).recording()) == reference
    other = digest(play(simulate(WALK, seed=SEED + 1), 2.0).recording())
    assert other["q"] != reference["q"]


def test_a_reset_simulation_repeats_itself(simulate, reference) -> None:
    simulation = simulate(WALK, seed=SEED)
    for seconds in (0.7, 2.0):
        play(simulation, seconds)
        simulation.reset()
    assert digest(play(simulation, 2.0).recording()) == reference


def test_a_simulation_that_fell_repeats_itself_after_reset(simulate) -> None:
    scene = Scene("test", (), 2.0, pushes=(Push(0.2, 0.2, 600.0, 1.0),))
    simulation = simulate(scene, seed=1)
    first = digest(play(simulation, 1.5).recording())
    assert simulation.fall is not None
    simulation.reset()
    assert simulation.fall is None
    assert digest(play(simulation, 1.5).recording()) == first


def test_a_neighbour_changes_nothing(simulate, reference) -> None:
    neighbour = simulate(Scene("other", (Command(0.1, 1.2),), 2.0, Terrain(slope=0.03)), Anatomy(90, 1.85), seed=9)
    assert digest(play(simulate(WALK, seed=SEED), 2.0, neighbour).recording()) == reference


def test_another_process_gives_the_same_recording(reference) -> None:
    code = f"""
import hashlib, numpy as np
from sandbox.recording import COLUMNS
from sandbox.scenes.scene import Command, Push, Scene
from sandbox.simulation import Simulation
simulation = Simulation({WALK!r}, seed={SEED})
for _ in range(960):
    simulation.tick()
columns = simulation.recording().columns
for name in COLUMNS:
    print(name, hashlib.sha256(np.ascontiguousarray(columns[name]).tobytes()).hexdigest())
""".replace("Terrain(", "__import__('sandbox.scenes.terrain').scenes.terrain.Terrain(")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {line[0]: line[1] for line in lines if len(line) == 2 and line[0] in COLUMNS} == reference


# -- recordings --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def walked() -> tuple[Simulation, Recording, list[dict[str, np.ndarray]]]:
    """A walk with its recording, and what the plant reported at every tick."""
    simulation = Simulation(WALK, seed=SEED)
    ticks = []
    for _ in range(960):
        simulation.tick()
        s = simulation.plant.state
        ticks.append({name: getattr(s, name).copy() for name in ("q", "tau", "sole_force", "root_position", "contact")} | {"time": s.time})
    recording = simulation.recording()
    simulation.close()
    return simulation, recording, ticks


def test_rows_come_at_the_record_rate(walked) -> None:
    _, recording, _ = walked
    np.testing.assert_allclose(recording.time, np.arange(1, 241) / RECORD_RATE, rtol=0, atol=1e-12)
    assert set(recording.columns) == set(COLUMNS)


def test_a_row_holds_the_state_at_its_end_and_the_means_of_its_interval(walked) -> None:
    _, recording, ticks = walked
    for row in (0, 77, 239):
        part = ticks[4 * row : 4 * row + 4]
        np.testing.assert_array_equal(recording.q[row], part[-1]["q"])
        np.testing.assert_array_equal(recording.root_position[row], part[-1]["root_position"])
        np.testing.assert_array_equal(recording.contact_state[row], part[-1]["contact"])
        np.testing.assert_allclose(recording.tau[row], np.mean([tick["tau"] for tick in part], axis=0), rtol=0, atol=1e-9)
        force = np.mean([tick["sole_force"] for tick in part], axis=0)
        np.testing.assert_allclose(recording.ground_force[row], force.sum(axis=1), rtol=0, atol=1e-9)
        np.testing.assert_allclose(recording.sole_load[row], force[:, :, 2], rtol=0, atol=1e-9)


def test_the_header_says_what_was_run(walked) -> None:
    simulation, recording, _ = walked
    header, anatomy = recording.header, simulation.anatomy
    assert (header["scene"], header["seed"], header["plant"]) == ("test", SEED, "bullet")
    assert header["body"]["mass_kg"] == anatomy.mass
    assert header["body"]["leg_m"] == anatomy.leg_length
    assert header["joint_names"] == [joint.name for joint in anatomy.joints]
    assert header["body_names"] == [link.name for link in anatomy.links]
    assert header["params"] == {"name": "walker", "hash": Parameters.load().hash}
    assert header["settings"]["plant_rate_hz"] == 480
    assert header["cpu"]["total_s"] > 0
    assert header["fall"] == {"fell": False, "time_s": None, "cause": None}


def test_events_happen_while_the_contact_changes(walked) -> None:
    """Every touchdown follows a time in the air, every lift-off one on the ground; the column of states agrees."""
    _, recording, _ = walked
    down = [False, False]
    after: dict[tuple[int, int], bool] = {}
    for time, foot, touchdown, force in zip(
        recording.event_time, recording.event_foot, recording.event_touchdown, recording.event_force, strict=True
    ):
        assert down[foot] != touchdown
        down[foot] = bool(touchdown)
        assert (force > 30) == touchdown
        after[math.ceil(round(time * RECORD_RATE, 6)) - 1, int(foot)] = bool(touchdown)
    for (row, foot), on_the_ground in after.items():
        assert (recording.contact_state[row, foot] != ContactState.AIRBORNE) == on_the_ground, row
    assert (np.diff(recording.event_time) >= 0).all()


def test_steps_have_a_predicted_touchdown(walked) -> None:
    """A touchdown that ends a swing was expected by the planner: its own time, not far from what happened."""
    _, recording, _ = walked
    of_steps = recording.event_touchdown & (recording.event_time > 0.5)
    assert of_steps.sum() >= 2
    lead = recording.event_predicted[of_steps] - recording.event_time[of_steps]
    assert np.isfinite(lead).sum() >= 2
    assert np.nanmax(np.abs(lead)) < 0.15
    assert np.nanmax(np.abs(lead)) > 0, "collisions decide, so that the prediction is not simply right"
    early = recording.event_time < 0.2
    assert early.any()
    assert np.isnan(recording.event_predicted[early]).all(), "nobody expects the touchdowns of a body that is set down"


def test_pushes_are_recorded(walked) -> None:
    _, recording, _ = walked
    assert recording.push_time.tolist() == pytest.approx([1.2])
    assert recording.push_duration.tolist() == [0.2]
    assert recording.header["body_names"][recording.push_body[0]] == "thorax"
    assert np.linalg.norm(recording.push_force[0]) == pytest.approx(30.0)
    heading = float(np.interp(1.2, recording.time, recording.heading))
    wanted = 30 * np.array([-math.sin(heading + 0.5), math.cos(heading + 0.5), 0])
    np.testing.assert_allclose(recording.push_force[0], wanted, rtol=0, atol=0.1)


def test_footholds_are_recorded_where_feet_landed(walked) -> None:
    _, recording, _ = walked
    assert len(recording.foothold_time) >= 2
    names = recording.header["point_names"]
    for time, foot, planned in zip(recording.foothold_time, recording.foothold_foot, recording.foothold_position, strict=True):
        row = min(math.ceil(round(time * RECORD_RATE, 6)) - 1, len(recording.time) - 1)
        ankle = recording.points[row, names.index(f"{('left', 'right')[foot]}_ankle")]
        assert np.linalg.norm(ankle[:2] - planned[:2]) < 0.12


# -- run ---------------------------------------------------------------------------------------------------------------


def test_run_ends_at_the_fall_and_reports_it() -> None:
    scene = Scene("test", (), 5.0, pushes=(Push(0.3, 0.2, 900.0),))
    recording = run(scene)
    fall = recording.header["fall"]
    assert fall["fell"] is True
    assert fall["cause"]
    assert 0.3 < fall["time_s"] < 2.5
    assert recording.time[-1] == pytest.approx(fall["time_s"], abs=1 / RECORD_RATE)


def test_run_takes_the_name_of_a_scene_and_reports_progress() -> None:
    seen: list[float] = []
    recording = run("stand", seconds=1.0, seed=4, progress=seen.append)
    assert recording.header["scene"] == "stand"
    assert recording.header["seed"] == 4
    assert len(recording.time) == RECORD_RATE
    assert len(seen) == 10
    assert seen == sorted(seen)
    assert recording.header["cpu"]["engine_s"] > 0


def test_ctrl_c_keeps_the_recording_up_to_that_moment() -> None:
    def interrupt(time: float) -> None:
        if time > 0.45:
            raise KeyboardInterrupt

    for plant in ("bullet", "continuous"):
        recording = run("stand", plant=plant, seconds=2.0, progress=interrupt, keep_interrupted=True)
        assert recording.header["interrupted"] is True
        assert 0.4 < recording.time[-1] < 0.6


@pytest.mark.parametrize(
    ("plant", "stance"), [("bullet", "kinematic"), ("kinematic", "kinematic"), ("continuous", "kinematic"), ("kinematic", "boulic")]
)
def test_ctrl_c_ends_a_run_that_nobody_asked_to_keep(plant: str, stance: str) -> None:
    """Figures of a walk that was cut short would pass for those of a whole one."""

    def interrupt(time: float) -> None:
        if time > 0.45:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("walk", plant=plant, seconds=2.0, stance=stance, progress=interrupt)


def test_an_interrupted_build_leaves_no_client_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    import pybullet

    before = [k for k in range(50) if pybullet.isConnected(k)]
    with pytest.raises(ValueError, match="not a finite number"):
        Simulation(STAND, parameters=Parameters().replace({"step_width": math.nan}))
    with pytest.raises(ValueError, match="unknown plant"):
        Simulation(STAND, plant="bulet")
    assert [k for k in range(50) if pybullet.isConnected(k)] == before


def test_an_unknown_plant_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match="unknown plant 'bulet': did you mean 'bullet'"):
        make_plant("bulet", Anatomy(), Terrain())


def test_scene_and_options_reach_the_world(simulate) -> None:
    scene = build("slope", Options(angle=4.0, friction=0.7))
    simulation = simulate(scene)
    assert simulation.plant.terrain == scene.terrain
    assert simulation.recording().header["settings"]["slope_rad"] == pytest.approx(math.radians(4))
    assert simulation.recording().header["command"]["angle_deg"] == 4.0


@pytest.mark.parametrize("angle", [-5.0, 0.0, 5.0])
def test_a_body_is_set_down_above_the_ground(simulate, angle: float) -> None:
    """Also on a slope, and with the noise of a perturbed start: no foot starts inside the ground."""
    for seed in range(4):
        simulation = simulate(build("slope", Options(angle=angle, seed=seed)), seed=seed)
        recorded = simulation.plant.observe()[0]
        points = simulation.anatomy.points
        observer = simulation.plant.observer
        for side in ("left", "right"):
            for name in ("heel", "toe_base", "toe_tip"):
                link, point = points[f"{side}_{name}"]
                k = simulation.anatomy.link_index[link]
                x, y, z = observer.link_p[k] + observer.link_r[k] @ point
                assert z > simulation.scene.terrain.height_at(x, y), (seed, side, name)
        assert recorded.sole_low.min() < 0.05


# -- close -------------------------------------------------------------------------------------------------------------


def test_closing_twice_is_fine_and_use_after_it_a_clear_error() -> None:
    simulation = Simulation(STAND)
    play(simulation, 0.1)
    simulation.close()
    simulation.close()
    for use in (simulation.tick, simulation.reset, lambda: simulation.advance(0.0, 0.0)):
        with pytest.raises(RuntimeError, match="closed: make a new one"):
            use()
    assert len(simulation.recording().time) == 12, "what was recorded can still be had"


# -- other bodies ------------------------------------------------------------------------------------------------------

BODIES = [Anatomy(55, 1.62), Anatomy(70, 1.74), Anatomy(90, 1.85)]
every_body = pytest.mark.parametrize("anatomy", BODIES, ids=lambda a: f"{a.mass:g}kg-{a.height:g}m")


@every_body
def test_bodies_stand_quietly(simulate, anatomy: Anatomy) -> None:
    simulation = simulate(Scene("test", (), 3.0), anatomy, seed=1)
    recording = play(simulation, 3.0).recording()
    assert simulation.fall is None
    late = recording.time > 1.5
    feet = recording.contact_state[late]
    assert (feet == ContactState.FLAT).mean() > 0.95
    assert np.ptp(recording.com[late], axis=0).max() < 0.03
    weight = recording.ground_force[late, :, 2].sum(axis=1).mean()
    assert weight == pytest.approx(anatomy.mass * 9.81, rel=0.01)
    assert len(recording.foothold_time) == 0, "no step was needed"


@every_body
def test_bodies_stand_and_start_to_walk(simulate, anatomy: Anatomy) -> None:
    simulation = simulate(Scene("test", (Command(3.0, 0.8),), 6.0), anatomy, seed=1)
    recording = play(simulation, 6.0).recording()
    assert simulation.fall is None
    assert len(recording.foothold_time) >= 3
    assert recording.com[-1, 1] - recording.com[3 * RECORD_RATE, 1] > 0.5, "forward is +Y"
    airborne = (recording.contact_state == ContactState.AIRBORNE).any(axis=0)
    assert airborne.all(), "both feet have been lifted"


def test_a_push_at_any_time_is_recorded_and_forgotten_by_a_reset() -> None:
    simulation = Simulation(build("stand"), plant="kinematic")
    rows: list[float] = []
    simulation.watch = lambda row, extras: rows.append(row.time)
    for _ in range(60):
        simulation.tick()
    simulation.disturb(Push(99.0, 0.2, 50.0, math.pi / 2))
    for _ in range(60):
        simulation.tick(Command(0.0, 0.0))
    recording = simulation.recording()
    assert recording.push_time.tolist() == [0.5]
    assert recording.push_force[0] == pytest.approx([-50.0, 0.0, 0.0], abs=0.5)
    assert rows == recording.time.tolist(), "every row that is recorded is shown"
    simulation.reset()
    assert simulation.pushes == []
    simulation.close()


def test_the_continuous_walker_does_a_scene_by_itself() -> None:
    recording = run("start-stop", plant="continuous", speed=1.0, seconds=14.0, anatomy=Anatomy(height=1.6))
    assert recording.header["body"]["height_m"] == 1.6
    assert recording.header["stance"] == "kinematic"
    assert recording.command[:, 0].max() == 1.0
    assert recording.command[-1, 0] == 0.0
    speed = recording.root_velocity[:, 1]
    assert speed.max() == pytest.approx(1.0, rel=0.01)
    assert abs(speed[0]) < 1e-6 > abs(speed[-1])
    assert len(recording) == 14 * 120


@pytest.mark.parametrize(("scene", "word"), [("turn", "turns"), ("slope", "slopes"), ("bumps", "obstacles"), ("push", "pushes")])
def test_what_the_continuous_walker_cannot_do_is_said_first(scene: str, word: str) -> None:
    with pytest.raises(ValueError, match=f"knows no {word}: take the bullet plant"):
        run(scene, plant="continuous")
