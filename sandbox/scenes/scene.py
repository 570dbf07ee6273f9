"""Scenes: what the world holds, what the walker is asked to do and what disturbs it, as data.

The built-in scenes are TOML files (``sandbox/scenes/data``), read by :mod:`sandbox.scenes.file` as anybody's own are.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from importlib.resources import files

from sandbox.bodies.anatomy import Anatomy
from sandbox.config import check_range, nearest
from sandbox.scenes.terrain import Terrain

SPEED_RANGE = (0.0, 2.0)  # [m/s]
HEADING_RATE_RANGE = (-0.6, 0.6)  # [rad/s]
SECONDS_RANGE = (0.1, 3600.0)
SLOPE_RANGE = (-15.0, 15.0)  # [deg]
BUMP_RANGE = (0.0, 0.10)  # [m]
IMPULSE_RANGE = (0.0, 100.0)  # [N s]
FRICTION_RANGE = (0.1, 2.0)
DRAWN_FRICTION = (0.6, 1.0)  # between which the seed draws where a scene does not say
START = 1.0  # [s] a walker stands this long before it is asked to walk
PUSH_DURATION = 0.2  # [s]


@dataclass(frozen=True)
class Push:
    """A disturbance: a constant force on a link for a while.

    Attributes:
        time, duration: [s].
        force: [N]; direction: [rad] from the walking direction, positive to the left (0 pushes forward).
        link: name of the body pushed.
    """

    time: float
    duration: float
    force: float
    direction: float = 0.0
    link: str = "thorax"


@dataclass(frozen=True)
class Command:
    """Speed [m/s] and heading rate [rad/s] from a time [s] on."""

    time: float
    speed: float
    heading_rate: float = 0.0


@dataclass(frozen=True)
class Scene:
    """A scene ready to run.

    Attributes:
        name: of the scene.
        commands: in order of time; before the first the walker stands.
        seconds: duration [s].
        settings: what the user asked for, for the recording's header.
        anatomy: the body that the scene is for; None leaves it to whoever runs it.
        seed: the seed that the scene was drawn with.
    """

    name: str
    commands: tuple[Command, ...]
    seconds: float
    terrain: Terrain = field(default_factory=Terrain)
    pushes: tuple[Push, ...] = ()
    settings: tuple[tuple[str, float], ...] = ()
    anatomy: Anatomy | None = None
    seed: int = 0

    def command_at(self, time: float) -> Command:
        """The command in force at ``time`` [s]."""
        current = Command(0.0, 0.0)
        for command in self.commands:
            if command.time > time + 1e-9:
                break
            current = command
        return current


@dataclass(frozen=True)
class Options:
    """What can be asked of a scene, None for the scene's own; each scene takes those that its file declares.

    Attributes:
        speed: [m/s]; heading_rate: [rad/s], positive to the left; seconds: duration.
        seed: of what is drawn; the file's own, mostly 0, where it is None.
        angle: slope [deg], uphill positive; height: of bumps [m]; impulse: [N s]; direction: [deg], 0 forward, 90 left;
        friction: of the ground.
    """

    speed: float | None = None
    heading_rate: float | None = None
    seconds: float | None = None
    seed: int | None = None
    angle: float | None = None
    height: float | None = None
    impulse: float | None = None
    direction: float | None = None
    friction: float | None = None


# Of each option: what an error calls it, its range and unit.
OPTION_RANGES: dict[str, tuple[str, tuple[float, float], str]] = {
    "speed": ("speed", SPEED_RANGE, "m/s"),
    "heading_rate": ("heading rate", HEADING_RATE_RANGE, "rad/s"),
    "seconds": ("seconds", SECONDS_RANGE, "s"),
    "angle": ("angle", SLOPE_RANGE, "deg"),
    "height": ("height", BUMP_RANGE, "m"),
    "impulse": ("impulse", IMPULSE_RANGE, "N s"),
    "direction": ("direction", (-360.0, 360.0), "deg"),
    "friction": ("friction", FRICTION_RANGE, ""),
}
SEED_RANGE = (0, 2**31 - 1)


def check_options(options: Options) -> None:
    """Raise ValueError for an option outside its range."""
    for name, (label, bounds, unit) in OPTION_RANGES.items():
        value = getattr(options, name)
        if value is not None:
            check_range(label, value, bounds, unit)
    if options.seed is not None and not SEED_RANGE[0] <= options.seed <= SEED_RANGE[1]:
        raise ValueError(f"seed {options.seed} is outside 0..{SEED_RANGE[1]}: give a whole number in that range")


def _built_in() -> dict[str, str]:
    """What each built-in scene is about, by name, in the order of ``order`` in its file."""
    tables = {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8"))
        for file in files("sandbox.scenes").joinpath("data").iterdir()
        if file.name.endswith(".toml") and not file.name.startswith("_")
    }
    return {name: str(table["about"]) for name, table in sorted(tables.items(), key=lambda item: (item[1]["order"], item[0]))}


SCENES: dict[str, str] = _built_in()


def build(name: str, options: Options | None = None) -> Scene:
    """The scene of a name, or of a TOML file where ``name`` ends in ``.toml``, with options.

    Raises:
        ValueError: an unknown name or key (the nearest is suggested), or a value outside its range.
        OSError: the file cannot be read.
    """
    # The reader knows the classes of this module.
    from sandbox.scenes.file import built_in, load

    if name.endswith(".toml"):
        return load(name, options)
    if name not in SCENES:
        raise ValueError(f"unknown scene {name!r}{nearest(name, SCENES)}")
    return built_in(name, options)
