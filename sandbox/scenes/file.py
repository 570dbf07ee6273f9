"""Scene files: TOML in, :class:`Scene` out. Every key has a range, and an unknown one is an error that names the nearest.

A number may be given as a number, as text that is arithmetic of the scene's options and ``seconds`` (``"max(6, seconds - 8)"``),
and where the keys below say so as ``{ from = 0, to = 360 }``, between which the seed draws. ``sandbox new-scene`` writes a
template that explains every key.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from sandbox.bodies.anatomy import HEIGHT_RANGE, MASS_RANGE, REFERENCE_HEIGHT, REFERENCE_MASS, Anatomy
from sandbox.config import check_range, nearest
from sandbox.scenes.expression import evaluate
from sandbox.scenes.scene import (
    BUMP_RANGE,
    DRAWN_FRICTION,
    FRICTION_RANGE,
    HEADING_RATE_RANGE,
    IMPULSE_RANGE,
    OPTION_RANGES,
    PUSH_DURATION,
    SECONDS_RANGE,
    SEED_RANGE,
    SLOPE_RANGE,
    SPEED_RANGE,
    Command,
    Options,
    Push,
    Scene,
    check_options,
)
from sandbox.scenes.terrain import Box, Terrain, bumps, steps

FRICTION_STREAM = 1_000_003  # added to the seed: friction is drawn apart from everything else

# What the recording's header calls the options that belong to some scenes.
SETTING_NAMES = {"angle": "angle_deg", "height": "height_m", "impulse": "impulse_ns", "direction": "direction_deg"}
DECLARABLE = ("speed", "heading_rate", *SETTING_NAMES)

PLACE_RANGE = (-1000.0, 1000.0)  # [m] of a box
SIZE_RANGE = (0.01, 1000.0)  # [m] of a box
HEIGHT_OF_BOX = (0.001, 2.0)  # [m]
FORCE_RANGE = (0.0, 5000.0)  # [N]
PUSHES = (1, 1000)  # of one entry


class Key(NamedTuple):
    """A number in a table: its range, unit, value where it is left out (None: it must be given), and whether the seed may draw it."""

    bounds: tuple[float, float]
    unit: str = ""
    default: float | None = None
    drawn: bool = False


NO_NUMBER = math.nan  # default of a key that may be left out and then has no value

TOP = ("about", "order", "seconds", "seed", "options", "body", "terrain", "command", "push")
BODY = {"mass": Key(MASS_RANGE, "kg", REFERENCE_MASS), "height": Key(HEIGHT_RANGE, "m", REFERENCE_HEIGHT)}
COMMAND = {
    "time": Key((0.0, SECONDS_RANGE[1]), "s"),
    "speed": Key(SPEED_RANGE, "m/s"),
    "heading_rate": Key(HEADING_RATE_RANGE, "rad/s", 0.0),
}
PUSH = {
    "time": Key((0.0, SECONDS_RANGE[1]), "s", None, True),
    "duration": Key((0.01, 60.0), "s", PUSH_DURATION),
    "impulse": Key(IMPULSE_RANGE, "N s", NO_NUMBER, True),
    "force": Key(FORCE_RANGE, "N", NO_NUMBER, True),
    "direction_deg": Key((-360.0, 360.0), "deg", 0.0, True),
    "count": Key(PUSHES, "", 1.0),
    "every": Key((0.01, SECONDS_RANGE[1]), "s", 2.0),
}
TERRAIN = {"slope_deg": Key(SLOPE_RANGE, "deg", 0.0), "friction": Key(FRICTION_RANGE, "", NO_NUMBER, True)}
BOX = {
    "x": Key(PLACE_RANGE, "m", 0.0),
    "y": Key(PLACE_RANGE, "m"),
    "width": Key(SIZE_RANGE, "m"),
    "length": Key(SIZE_RANGE, "m"),
    "height": Key(HEIGHT_OF_BOX, "m"),
}
BUMPS = {
    "height": Key(BUMP_RANGE, "m"),
    "length": Key((1.0, 20_000.0), "m"),
    "start": Key((0.5, 1000.0), "m", 2.0),
    "spacing": Key((0.3, 100.0), "m", 0.9),
}
STEPS = {
    "count": Key((1, 100), ""),
    "rise": Key((0.001, 0.3), "m"),
    "run": Key((0.1, 5.0), "m", 0.8),
    "start": Key((0.5, 1000.0), "m", 3.0),
    "width": Key((0.2, 100.0), "m", 4.0),
    "landing": Key((0.0, 100.0), "m", 2.0),
}


@dataclass
class _Reader:
    """Reads tables of one file: ``where`` begins every message."""

    where: str
    names: dict[str, float] = field(default_factory=dict)

    def known(self, table: object, keys: Iterable[str], what: str) -> dict[str, Any]:
        """The table, which has no other keys."""
        if not isinstance(table, dict):
            raise ValueError(f"{self.where}: {what} is no table: write [{what}], and its keys below")
        keys = list(keys)
        for key in table:
            if key not in keys:
                raise ValueError(f"{self.where}: {what}: unknown key {key!r}{nearest(key, keys)}")
        return table

    def tables(self, value: object, what: str) -> list[Any]:
        """An array of tables."""
        if not isinstance(value, list):
            raise ValueError(f"{self.where}: {what} is no list of tables: write [[{what}]] for each")
        return value

    def numbers(
        self, table: object, keys: Mapping[str, Key], what: str, rng: np.random.Generator | None = None, *extra: str
    ) -> dict[str, float]:
        """The numbers of a table by key, drawn where it says so; ``extra`` names keys that are no numbers."""
        given = self.known(table, (*keys, *extra), what)
        out = {}
        for name, key in keys.items():
            if name in given:
                out[name] = self.number(given[name], key, f"{what}: {name}", rng)
            elif key.default is None:
                raise ValueError(f"{self.where}: {what}: {name} is missing: give a number{_span(key)}")
            else:
                out[name] = key.default
        return out

    def number(self, value: object, key: Key, what: str, rng: np.random.Generator | None = None) -> float:
        """One number within its range."""
        if isinstance(value, dict) and key.drawn and rng is not None:
            ends = self.known(value, ("from", "to"), what)
            if set(ends) != {"from", "to"}:
                raise ValueError(f"{self.where}: {what}: give both ends, {{ from = ..., to = ... }}")
            low, high = (self.number(ends[end], key._replace(drawn=False), f"{what}: {end}") for end in ("from", "to"))
            if low > high:
                raise ValueError(f"{self.where}: {what}: from {low:g} is more than to {high:g}: exchange them")
            return float(rng.uniform(low, high))
        if isinstance(value, str):
            try:
                value = evaluate(value, self.names)
            except ValueError as error:
                if not self.names:  # of what comes before the options there are no names to calculate with
                    raise ValueError(f"{self.where}: {what}: {value!r} is no number: give one{_span(key)}") from None
                raise ValueError(f"{self.where}: {what}: {error}") from None
        if isinstance(value, bool) or not isinstance(value, int | float):
            drawn = ", or { from = ..., to = ... }" if key.drawn else ""
            raise ValueError(f"{self.where}: {what}: {value!r} is no number: give one{_span(key)}{drawn}")
        try:
            check_range(what, float(value), key.bounds, key.unit)
        except ValueError as error:
            raise ValueError(f"{self.where}: {error}") from None
        return float(value)

    def whole(self, value: float, what: str) -> int:
        if value != int(value):
            raise ValueError(f"{self.where}: {what} {value:g} is no whole number: give one")
        return int(value)


def _span(key: Key) -> str:
    return f" from {key.bounds[0]:g} to {key.bounds[1]:.10g} {key.unit}".rstrip()


def load(path: str | Path, options: Options | None = None) -> Scene:
    """The scene of a TOML file.

    Raises:
        ValueError: it is not a scene file, or an option is not one of its own; one line with the key, its range and the remedy.
        OSError: it cannot be read.
    """
    path = Path(path)
    return _scene(_parsed(path.name, path.read_bytes()), path.stem, path.name, options or Options())


def declared(path: str | Path) -> tuple[str, ...]:
    """Names of the options that a scene file, or a built-in scene, takes beside seconds, seed and friction."""
    path = Path(path)
    table = _parsed(path.name, path.read_bytes()) if path.suffix == ".toml" else _table(str(path))
    options = table.get("options", {})
    return tuple(options) if isinstance(options, dict) else ()


def built_in(name: str, options: Options | None = None) -> Scene:
    """A scene that is shipped with the project."""
    return _scene(_table(name), name, name, options or Options())


def template() -> str:
    """A commented scene file, to begin one's own from."""
    return files("sandbox.scenes").joinpath("data", "_template.toml").read_text(encoding="utf-8")


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(files("sandbox.scenes").joinpath("data", f"{name}.toml").read_text(encoding="utf-8"))


def _parsed(name: str, data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{name} is no text: give a TOML file (sandbox new-scene writes one)") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name} is not TOML: {error}") from None


def _scene(table: dict[str, Any], name: str, where: str, options: Options) -> Scene:
    check_options(options)
    read = _Reader(where)
    if not read.known(table, TOP, "scene"):  # whatever options would fill in, nobody asks for a scene of nothing
        raise ValueError(f"{where} is empty: sandbox new-scene writes a scene to begin from")
    seed = options.seed if options.seed is not None else read.whole(read.number(table.get("seed", 0), Key(SEED_RANGE), "seed"), "seed")
    seconds = options.seconds
    if seconds is None:
        if "seconds" not in table:
            raise ValueError(f"{where}: seconds is missing: give the duration, for instance seconds = 20")
        seconds = read.number(table["seconds"], Key(SECONDS_RANGE, "s"), "seconds")
    chosen = _options(read, table, options)
    read.names = {**chosen, "seconds": seconds}

    anatomy = _body(read, table["body"]) if "body" in table else None
    terrain = _terrain(read, table.get("terrain", {}), options.friction, seed)
    commands = _commands(read, table.get("command", []))
    pushes = _pushes(read, table.get("push", []), seed, anatomy or Anatomy())
    check_start(terrain, anatomy or Anatomy(), where)
    asked = {
        "speed_mps": chosen.get("speed", max((c.speed for c in commands), default=0.0)),
        "heading_rate_rps": chosen.get("heading_rate", 0.0),
        "friction": terrain.friction,
    }
    extra = {SETTING_NAMES[key]: value for key, value in chosen.items() if key in SETTING_NAMES}
    return Scene(name, commands, seconds, terrain, pushes, tuple((asked | extra).items()), anatomy, seed)


def _options(read: _Reader, table: dict[str, Any], options: Options) -> dict[str, float]:
    """Values of the options that the file declares: those that were asked for, else its own."""
    chosen = {}
    for key, own in read.known(table.get("options", {}), DECLARABLE, "options").items():
        _, bounds, unit = OPTION_RANGES[key]
        asked = getattr(options, key)
        own = read.number(own, Key(bounds, unit), f"options: {key}")
        chosen[key] = own if asked is None else float(asked)
    return chosen


def _body(read: _Reader, table: object) -> Anatomy:
    numbers = read.numbers(table, BODY, "body", None, "sex")
    sex = cast(dict[str, Any], table).get("sex", "mean")
    if sex not in ("mean", "female", "male"):
        raise ValueError(f"{read.where}: body: sex {sex!r} is none of mean, female, male: give one of them")
    return Anatomy(numbers["mass"], numbers["height"], cast(Literal["mean", "female", "male"], sex))


def _terrain(read: _Reader, table: object, friction: float | None, seed: int) -> Terrain:
    rng = np.random.default_rng(seed + FRICTION_STREAM)
    numbers = read.numbers(table, TERRAIN, "terrain", rng, "box", "bumps", "steps")
    table = cast(dict[str, Any], table)
    boxes: list[Box] = []
    for k, entry in enumerate(read.tables(table.get("box", []), "terrain.box"), 1):
        box = read.numbers(entry, BOX, f"terrain.box {k}")
        boxes.append(Box(box["x"], box["y"], box["width"] / 2, box["length"] / 2, box["height"]))
    if "bumps" in table:
        b = read.numbers(table["bumps"], BUMPS, "terrain.bumps")
        if b["height"] > 0:
            boxes += bumps(b["height"], b["length"], seed, b["start"], b["spacing"]).boxes
    if "steps" in table:
        s = read.numbers(table["steps"], STEPS, "terrain.steps")
        boxes += steps(read.whole(s["count"], "terrain.steps: count"), s["rise"], s["run"], s["start"], s["width"], s["landing"])
    own = float(rng.uniform(*DRAWN_FRICTION)) if math.isnan(numbers["friction"]) else numbers["friction"]
    return Terrain(math.radians(numbers["slope_deg"]), tuple(boxes), own if friction is None else friction)


def _commands(read: _Reader, entries: object) -> tuple[Command, ...]:
    out: list[Command] = []
    for k, entry in enumerate(read.tables(entries, "command"), 1):
        command = Command(**read.numbers(entry, COMMAND, f"command {k}"))
        if out and command.time <= out[-1].time:
            raise ValueError(
                f"{read.where}: command {k}: time {command.time:g} s is not later than {out[-1].time:g} s of the one before: "
                "put them in order"
            )
        out.append(command)
    # Before the first command the walker stands: one that stands still is none.
    while out and out[0].speed == 0.0:
        out.pop(0)
    return tuple(out)


def _pushes(read: _Reader, entries: object, seed: int, anatomy: Anatomy) -> tuple[Push, ...]:
    rng = np.random.default_rng(seed)
    out = []
    for k, entry in enumerate(read.tables(entries, "push"), 1):
        what = f"push {k}"
        count = read.whole(read.numbers(entry, PUSH, what, np.random.default_rng(0), "link")["count"], f"{what}: count")
        link = entry.get("link", "thorax")
        if link not in anatomy.link_index:
            raise ValueError(f"{read.where}: {what}: unknown link {link!r}{nearest(str(link), anatomy.link_index)}")
        for i in range(count):
            p = read.numbers(entry, PUSH, what, rng, "link")
            if math.isnan(p["force"]) == math.isnan(p["impulse"]):
                raise ValueError(f"{read.where}: {what}: give either impulse [N s] or force [N]")
            force = p["impulse"] / p["duration"] if math.isnan(p["force"]) else p["force"]
            out.append(Push(p["time"] + i * p["every"], p["duration"], force, math.radians(p["direction_deg"]), link))
    return tuple(sorted(out, key=lambda push: push.time))


def check_start(terrain: Terrain, anatomy: Anatomy, where: str) -> None:
    """Raise ValueError where a box stands in the place in which a body of this anatomy is set down."""
    wide = anatomy.hip_half_spacing + anatomy.foot_half_width + 0.02
    behind, ahead = anatomy.heel_behind_ankle + 0.05, anatomy.toe_ahead_of_ankle + 0.05
    for box in terrain.boxes:
        if abs(box.x) < box.half_x + wide and box.y - box.half_y < ahead and box.y + box.half_y > -behind:
            raise ValueError(
                f"{where}: the body starts inside a box of {box.height:g} m at x = {box.x:g}, y = {box.y:g} m: "
                f"leave {-wide:.2f} to {wide:.2f} m across and {-behind:.2f} to {ahead:.2f} m along free"
            )
