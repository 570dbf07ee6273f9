"""Scenes: what the world holds, what the walker is asked to do and what disturbs it, as data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sandbox.config import nearest
from sandbox.scenes.terrain import Terrain, bumps

SPEED_RANGE = (0.0, 2.0)  # [m/s]
HEADING_RATE_RANGE = (-0.6, 0.6)  # [rad/s]
SECONDS_RANGE = (0.1, 3600.0)
SLOPE_RANGE = (-15.0, 15.0)  # [deg]
BUMP_RANGE = (0.0, 0.10)  # [m]
IMPULSE_RANGE = (0.0, 100.0)  # [N s]
FRICTION_RANGE = (0.1, 2.0)
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
    """

    name: str
    commands: tuple[Command, ...]
    seconds: float
    terrain: Terrain = field(default_factory=Terrain)
    pushes: tuple[Push, ...] = ()
    settings: tuple[tuple[str, float], ...] = ()

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
    """What can be asked of a scene; each scene takes those that mean something to it.

    Attributes:
        speed: [m/s]; heading_rate: [rad/s], positive to the left; seconds: None for the scene's own.
        angle: slope [deg], uphill positive; height: of bumps [m]; impulse: [N s]; direction: [deg], 0 forward, 90 left;
        friction: None draws 0.6-1.0 from the seed.
    """

    speed: float = 1.0
    heading_rate: float = 0.0
    seconds: float | None = None
    seed: int = 0
    angle: float = 3.0
    height: float = 0.02
    impulse: float = 10.0
    direction: float = 0.0
    friction: float | None = None


def check_range(name: str, value: float, bounds: tuple[float, float], unit: str) -> None:
    """Raise ValueError with value, range and remedy unless ``bounds[0] <= value <= bounds[1]`` (NaN never is)."""
    low, high = bounds
    if not low <= value <= high:
        raise ValueError(f"{name} {value:g} {unit} is outside {low:g}..{high:g} {unit}: give a value in that range")


def _walk(o: Options) -> Scene:
    return Scene("walk", (Command(START, o.speed, o.heading_rate),), o.seconds or 20.0)


def _stand(o: Options) -> Scene:
    return Scene("stand", (), o.seconds or 20.0)


def _turn(o: Options) -> Scene:
    # walk straight first, then turn
    return Scene("turn", (Command(START, o.speed), Command(START + 4.0, o.speed, o.heading_rate or 0.3)), o.seconds or 20.0)


def _push(o: Options) -> Scene:
    # the phase of the push in the step is drawn from the seed
    late = float(np.random.default_rng(o.seed).uniform(0.0, 1.2)) if o.speed > 0 else 0.0
    push = Push(6.0 + late, PUSH_DURATION, o.impulse / PUSH_DURATION, math.radians(o.direction))
    commands = (Command(START, o.speed, o.heading_rate),) if o.speed > 0 else ()
    return Scene("push", commands, o.seconds or 14.0, pushes=(push,))


def _start_stop(o: Options) -> Scene:
    seconds = o.seconds or 20.0
    walk = max(4.0, seconds - 10.0)
    commands = (Command(2.0, o.speed, o.heading_rate), Command(2.0 + walk, 0.0))
    return Scene("start-stop", commands, seconds)


def _slope(o: Options) -> Scene:
    return Scene("slope", (Command(START, o.speed, o.heading_rate),), o.seconds or 20.0, Terrain(slope=math.radians(o.angle)))


def _bumps(o: Options) -> Scene:
    seconds = o.seconds or 20.0
    terrain = bumps(o.height, 4.0 + 1.3 * o.speed * seconds, o.seed) if o.height > 0 else Terrain()
    return Scene("bumps", (Command(START, o.speed, o.heading_rate),), seconds, terrain)


_BUILDERS: dict[str, tuple[str, Callable[[Options], Scene]]] = {
    "walk": ("walk on flat ground", _walk),
    "stand": ("stand quietly", _stand),
    "turn": ("walk, then turn at --heading-rate (0.3 rad/s)", _turn),
    "push": ("walk (or stand, --speed 0) and be pushed at the chest: --impulse [N s], --direction [deg]", _push),
    "start-stop": ("stand, walk, stop, stand", _start_stop),
    "slope": ("walk up (or down) a slope: --angle [deg]", _slope),
    "bumps": ("walk over bumps that the walker does not know of: --bump-height [m]", _bumps),
}

SCENES: dict[str, str] = {name: text for name, (text, _) in _BUILDERS.items()}


def build(name: str, options: Options | None = None) -> Scene:
    """The scene of a name with options.

    Raises:
        ValueError: an unknown name (the nearest is suggested), or an option outside its range.
    """
    o = options or Options()
    if name not in _BUILDERS:
        raise ValueError(f"unknown scene {name!r}{nearest(name, SCENES)}")
    check_range("speed", o.speed, SPEED_RANGE, "m/s")
    check_range("heading rate", o.heading_rate, HEADING_RATE_RANGE, "rad/s")
    if o.seconds is not None:
        check_range("seconds", o.seconds, SECONDS_RANGE, "s")
    check_range("angle", o.angle, SLOPE_RANGE, "deg")
    check_range("height", o.height, BUMP_RANGE, "m")
    check_range("impulse", o.impulse, IMPULSE_RANGE, "N s")
    check_range("direction", o.direction, (-360.0, 360.0), "deg")
    if o.friction is not None:
        check_range("friction", o.friction, FRICTION_RANGE, "")
    scene = _BUILDERS[name][1](o)
    friction = o.friction if o.friction is not None else float(np.random.default_rng(o.seed + 1_000_003).uniform(0.6, 1.0))
    terrain = Terrain(scene.terrain.slope, scene.terrain.boxes, friction)
    asked = {"speed_mps": o.speed, "heading_rate_rps": o.heading_rate, "friction": friction}
    extra = {
        "push": {"impulse_ns": o.impulse, "direction_deg": o.direction},
        "slope": {"angle_deg": o.angle},
        "bumps": {"height_m": o.height},
    }.get(name, {})
    return Scene(name, scene.commands, scene.seconds, terrain, scene.pushes, tuple((asked | extra).items()))
