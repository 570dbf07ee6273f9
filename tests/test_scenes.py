"""Scenes and terrain as data: every builder, ranges, and what is refused."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from sandbox.scenes.scene import (
    BUMP_RANGE,
    FRICTION_RANGE,
    HEADING_RATE_RANGE,
    IMPULSE_RANGE,
    OPTION_RANGES,
    PUSH_DURATION,
    SCENES,
    SECONDS_RANGE,
    SLOPE_RANGE,
    SPEED_RANGE,
    START,
    Command,
    Options,
    Push,
    Scene,
    build,
    check_range,
)
from sandbox.scenes.terrain import Box, Terrain, bumps

RANGES = {
    "speed": ("speed", SPEED_RANGE),
    "heading_rate": ("heading rate", HEADING_RATE_RANGE),
    "seconds": ("seconds", SECONDS_RANGE),
    "angle": ("angle", SLOPE_RANGE),
    "height": ("height", BUMP_RANGE),
    "impulse": ("impulse", IMPULSE_RANGE),
    "direction": ("direction", (-360.0, 360.0)),
    "friction": ("friction", FRICTION_RANGE),
}
every_scene = pytest.mark.parametrize("name", SCENES)


def test_the_scenes_are_those_that_were_promised() -> None:
    assert set(SCENES) >= {"walk", "stand", "turn", "push", "start-stop", "slope", "bumps"}
    assert all(SCENES.values())


@every_scene
def test_every_scene_builds_with_defaults(name: str) -> None:
    scene = build(name)
    assert scene.name == name
    assert scene.seconds > 5
    times = [command.time for command in scene.commands]
    assert times == sorted(times)
    assert all(0 < t < scene.seconds for t in times)
    assert 0.6 <= scene.terrain.friction <= 1.0 or name == "low-friction"
    settings = dict(scene.settings)
    assert {"speed_mps", "heading_rate_rps", "friction"} <= set(settings)
    assert settings["friction"] == scene.terrain.friction
    assert all(isinstance(value, float) and math.isfinite(value) for value in settings.values())
    assert scene == build(name, Options()), "the same options give the same scene"


@every_scene
def test_every_scene_takes_a_duration_and_a_friction(name: str) -> None:
    scene = build(name, Options(seconds=7.5, friction=0.9))
    assert scene.seconds == 7.5
    assert scene.terrain.friction == 0.9


@pytest.mark.parametrize("name", [name for name in SCENES if name != "low-friction"])
def test_the_seed_draws_the_friction(name: str) -> None:
    drawn = [build(name, Options(seed=seed)).terrain.friction for seed in range(20)]
    assert len(set(drawn)) == 20
    assert 0.6 <= min(drawn) < 0.7
    assert 0.9 < max(drawn) <= 1.0
    assert build(name, Options(seed=3)) == build(name, Options(seed=3))


# -- refused -----------------------------------------------------------------------------------------------------------


def test_an_unknown_scene_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match="unknown scene 'wlak': did you mean 'walk'"):
        build("wlak")
    with pytest.raises(ValueError, match="unknown scene 'zzzzz': known are bumps, .*walk"):
        build("zzzzz")


def test_every_number_among_the_options_has_a_range() -> None:
    assert {field.name for field in dataclasses.fields(Options)} == set(RANGES) | {"seed"}
    assert set(OPTION_RANGES) == set(RANGES)


@every_scene
@pytest.mark.parametrize("option", RANGES)
def test_values_out_of_range_are_refused_with_value_and_range(name: str, option: str) -> None:
    label, (low, high) = RANGES[option]
    for value in (math.nextafter(low, -math.inf), math.nextafter(high, math.inf), low - 10, high + 10, math.inf, -math.inf, math.nan):
        with pytest.raises(ValueError, match=rf"^{label} \S+ .*is outside .*: give a value in that range$"):
            build(name, Options(**{option: value}))
    for value in (low, high):
        build(name, Options(**{option: value}))


def test_check_range_names_value_range_and_remedy() -> None:
    check_range("speed", 1.0, (0.0, 2.0), "m/s")
    with pytest.raises(ValueError, match=r"^speed 2\.5 m/s is outside 0\.\.2 m/s: give a value in that range$"):
        check_range("speed", 2.5, (0.0, 2.0), "m/s")
    with pytest.raises(ValueError, match="speed nan"):
        check_range("speed", math.nan, (0.0, 2.0), "m/s")


# -- what each scene does ----------------------------------------------------------------------------------------------


def test_commands_hold_until_the_next() -> None:
    scene = Scene("test", (Command(1.0, 0.5), Command(2.0, 0.8, 0.1)), 3.0)
    assert scene.command_at(0.0) == Command(0.0, 0.0)
    assert scene.command_at(0.999) == Command(0.0, 0.0)
    assert scene.command_at(1.0) == Command(1.0, 0.5)
    assert scene.command_at(480 * (1 / 480)) == Command(1.0, 0.5)
    assert scene.command_at(1.9) == Command(1.0, 0.5)
    assert scene.command_at(99.0) == Command(2.0, 0.8, 0.1)


def test_walk_stands_first() -> None:
    scene = build("walk", Options(speed=0.7, heading_rate=0.2))
    assert scene.command_at(START - 0.01).speed == 0.0
    assert scene.command_at(START) == Command(START, 0.7, 0.2)
    assert scene.terrain.slope == 0.0
    assert scene.pushes == ()


def test_stand_asks_for_nothing() -> None:
    scene = build("stand", Options(speed=0.7))
    assert scene.commands == ()
    assert scene.command_at(10.0) == Command(0.0, 0.0)


def test_turn_walks_straight_before_it_turns() -> None:
    scene = build("turn", Options(speed=0.8))
    straight, turning = scene.commands
    assert (straight.speed, straight.heading_rate) == (0.8, 0.0)
    assert (turning.speed, turning.heading_rate) == (0.8, 0.3)
    assert turning.time > straight.time + 2
    assert build("turn", Options(heading_rate=-0.2)).commands[1].heading_rate == -0.2


@pytest.mark.parametrize("direction", [0.0, 90.0, -135.0])
def test_push_has_the_impulse_that_was_asked_for(direction: float) -> None:
    scene = build("push", Options(impulse=12.0, direction=direction, seed=5))
    (push,) = scene.pushes
    assert push.force * push.duration == pytest.approx(12.0)
    assert (push.duration, push.link, push.direction) == (PUSH_DURATION, "thorax", math.radians(direction))
    settings = dict(scene.settings)
    assert (settings["impulse_ns"], settings["direction_deg"]) == (12.0, direction)
    times = [build("push", Options(seed=seed)).pushes[0].time for seed in range(30)]
    assert max(times) - min(times) > 0.8, "the phase of the push in the step is drawn from the seed"
    assert max(times) + PUSH_DURATION + 6 < scene.seconds, "a push is survived if no fall follows within 6 s"


def test_push_of_a_standing_body() -> None:
    scene = build("push", Options(speed=0.0))
    assert scene.commands == ()
    assert len(scene.pushes) == 1


@pytest.mark.parametrize("seconds", [None, 12.0, 30.0])
def test_start_stop_stands_walks_and_stands(seconds: float | None) -> None:
    scene = build("start-stop", Options(speed=0.8, seconds=seconds))
    go, stop = scene.commands
    assert (go.speed, stop.speed, stop.heading_rate) == (0.8, 0.0, 0.0)
    assert go.time >= 1
    assert stop.time - go.time >= 4
    assert scene.seconds - stop.time >= 4, "long enough to see whether it stands"


@pytest.mark.parametrize("angle", [-5.0, 3.0])
def test_slope_rises_forward(angle: float) -> None:
    terrain = build("slope", Options(angle=angle)).terrain
    assert terrain.height_at(0.7, 2.0) == pytest.approx(2 * math.tan(math.radians(angle)))
    assert dict(build("slope", Options(angle=angle)).settings)["angle_deg"] == angle


def test_bumps_lie_along_the_way_and_are_no_higher_than_asked() -> None:
    scene = build("bumps", Options(height=0.03, speed=1.2, seconds=10.0, seed=1))
    boxes = scene.terrain.boxes
    assert len(boxes) > 10
    assert all(0.015 <= box.height <= 0.03 for box in boxes)
    assert min(box.y - box.half_y for box in boxes) > 1.0, "the start is flat"
    assert max(box.y for box in boxes) > 0.9 * 1.2 * 10.0
    assert {np.sign(box.x) for box in boxes} == {-1.0, 1.0}
    assert build("bumps", Options(height=0.03, seed=2)).terrain.boxes != build("bumps", Options(height=0.03, seed=3)).terrain.boxes
    assert build("bumps", Options(height=0.0)).terrain.boxes == ()


def test_scenes_that_take_no_option_do_not_record_it() -> None:
    for name, extra in {"walk": set(), "push": {"impulse_ns", "direction_deg"}, "slope": {"angle_deg"}, "bumps": {"height_m"}}.items():
        assert set(dict(build(name).settings)) == {"speed_mps", "heading_rate_rps", "friction"} | extra


@pytest.mark.parametrize("made", [Push(1.0, 0.2, 50.0), Command(1.0, 0.5), Scene("a", (), 1.0), Terrain(), Options()], ids=repr)
def test_scenes_are_frozen(made: Any) -> None:
    name = dataclasses.fields(made)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, name, 0)


# -- terrain -----------------------------------------------------------------------------------------------------------


def test_height_of_boxes_on_a_slope() -> None:
    terrain = Terrain(slope=0.1, boxes=(Box(0.0, 1.0, 0.5, 0.2, 0.02), Box(0.4, 1.0, 0.5, 0.2, 0.05)))
    rise = math.tan(0.1)
    assert terrain.height_at(0.0, 0.5) == pytest.approx(0.5 * rise)
    assert terrain.height_at(-0.3, 1.0) == pytest.approx(rise + 0.02)
    assert terrain.height_at(0.3, 1.0) == pytest.approx(rise + 0.05), "the higher of two"
    assert terrain.height_at(1.0, 1.0) == pytest.approx(rise)
    assert terrain.height_at(0.0, 1.201) == pytest.approx(1.201 * rise)


def test_bumps_repeat_with_their_seed() -> None:
    assert bumps(0.02, 10.0, 4) == bumps(0.02, 10.0, 4)
    assert bumps(0.02, 10.0, 4) != bumps(0.02, 10.0, 5)
    assert bumps(0.02, 10.0, 4).boxes[: len(bumps(0.02, 5.0, 4).boxes)] == bumps(0.02, 5.0, 4).boxes
