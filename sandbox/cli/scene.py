"""What is asked of a scene on the command line, and `sandbox new-scene`, which writes a template of one."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from sandbox.cli.common import DONE, check_output, checking, option, write_text

if TYPE_CHECKING:
    from sandbox.bodies.anatomy import Anatomy
    from sandbox.scenes.scene import Scene

RECOVERY = 6  # [s] after a push, in which it shows whether it was survived

# Options that a scene takes where it declares them; --bump-height is a scene's `height`, since --height is the body's.
SCENE_OPTIONS = ("speed", "heading_rate", "angle", "bump_height", "impulse", "direction")

SpeedOption = Annotated[float | None, option("M/S", "speed to walk at, 0-2 (default: the scene's own, mostly 1.0)", default=False)]
HeadingRateOption = Annotated[
    float | None, option("RAD/S", "rate of turning, -0.6 to 0.6, positive to the left (default: the scene's own, mostly 0)", default=False)
]
SceneSeedOption = Annotated[
    int | None,
    option(
        "N", "draws the perturbed start, and the friction and the time of a push where not given (default: the scene's, 0)", default=False
    ),
]
SceneMassOption = Annotated[float | None, option("KG", "mass of the body, 30-200 (default: 70, or the scene's)", default=False)]
SceneSexOption = Annotated[
    Literal["mean", "female", "male"] | None,
    tyro.conf.arg(metavar="{mean,female,male}", help="whose mass distribution (default: mean, or the scene's)", help_behavior_hint=""),
]
FrictionOption = Annotated[
    float | None, option("MU", "of the ground, 0.1-2 (default: the scene's, mostly 0.6-1.0 by the seed)", default=False)
]
AngleOption = Annotated[float | None, option("DEG", "of a slope: -15 to 15, uphill positive", default=False)]
BumpOption = Annotated[float | None, option("M", "of bumps, threshold, steps: 0-0.10", default=False)]
ImpulseOption = Annotated[float | None, option("NS", "of pushes: 0-100 N s", default=False)]
DirectionOption = Annotated[float | None, option("DEG", "of pushes: 0 forward, 90 left, 180 back", default=False)]


def read_scene(
    name: str,
    given: Mapping[str, float | None],
    *,
    seconds: float | None = None,
    seed: int | None = None,
    friction: float | None = None,
    mass: float | None = None,
    height: float | None = None,
    sex: Literal["mean", "female", "male"] | None = None,
    plant: str = "bullet",
) -> tuple[Scene, Anatomy]:
    """Scene and body for what was typed; ``given`` holds the options of :data:`SCENE_OPTIONS`, None where one was left out.

    Raises:
        ValueError: what is unknown, out of range, or means nothing to the scene or the plant.
        OSError: a scene file cannot be read.
    """
    from sandbox.bodies.anatomy import REFERENCE_HEIGHT, REFERENCE_MASS, Anatomy
    from sandbox.config import check_range, nearest
    from sandbox.scenes.file import check_start, declared
    from sandbox.scenes.scene import BUMP_RANGE, SCENES, Options, build

    if name not in SCENES and not name.endswith(".toml"):
        raise ValueError(f"unknown scene {name!r}{nearest(name, SCENES)}")
    asked = {key: value for key, value in given.items() if value is not None}
    if name == "bumps" and height is not None and height <= BUMP_RANGE[1]:
        if "bump_height" in asked:
            raise ValueError(
                f"--height {height:g} m and --bump-height {asked['bump_height']:g} m are both heights of bumps: give one of them"
            )
        asked["bump_height"], height = height, None
    own = declared(name)
    for key, value in asked.items():
        if _field(key) not in own:
            raise ValueError(f"--{key.replace('_', '-')} {value:g} means nothing to scene {name!r}: {_whose(_field(key), own)}")
    if "bump_height" in asked:
        check_range("bump height", asked["bump_height"], BUMP_RANGE, "m")
    scene = build(name, Options(seconds=seconds, seed=seed, friction=friction, **{_field(key): value for key, value in asked.items()}))
    if seconds is not None:
        _check_pushes(scene, name)
    if plant != "bullet" and scene.terrain.boxes:
        raise ValueError(f"scene {name!r} has obstacles, through which the {plant} plant would walk: take --plant bullet, or a plain scene")
    base = scene.anatomy or Anatomy(REFERENCE_MASS, REFERENCE_HEIGHT)
    anatomy = Anatomy(base.mass if mass is None else mass, base.height if height is None else height, sex or base.sex)
    check_start(scene.terrain, anatomy, name)
    return scene, anatomy


def _check_pushes(scene: Scene, name: str) -> None:
    """Raise ValueError for a scene that ends before any of its pushes is over, and say so where some come after the end."""
    late = [push for push in scene.pushes if push.time + push.duration > scene.seconds]
    if late and len(late) == len(scene.pushes):
        ends = min(push.time + push.duration for push in late)
        raise ValueError(
            f"scene {name!r} pushes at {ends - late[0].duration:.1f} s, and --seconds {scene.seconds:g} ends it before: "
            f"give at least {math.ceil(ends)}, better {math.ceil(ends) + RECOVERY:g}"
        )
    if late:
        print(f"sandbox: note: {len(late)} of {len(scene.pushes)} pushes come after --seconds {scene.seconds:g}", file=sys.stderr)


def _field(key: str) -> str:
    return "height" if key == "bump_height" else key


def _whose(field: str, own: tuple[str, ...]) -> str:
    """Which scenes take an option, or what this one takes."""
    from sandbox.scenes.file import declared
    from sandbox.scenes.scene import SCENES

    scenes = [repr(scene) for scene in SCENES if field in declared(scene)]
    if field in ("speed", "heading_rate"):
        takes = ", ".join(f"--{'bump-height' if key == 'height' else key.replace('_', '-')}" for key in (*own, "seconds", "friction"))
        return f"it takes {takes}"
    return f"it belongs to scene {' and '.join(scenes)}"


@dataclass(frozen=True)
class NewScene:
    """Write a commented scene file, to change and to run: sandbox run NAME.toml."""

    name: Annotated[tyro.conf.Positional[Path], option("NAME", "of the file, with or without .toml")]

    def execute(self) -> int:
        """Write it, and return the exit code."""
        with checking():
            from sandbox.scenes.file import template

            path = self.name if self.name.suffix == ".toml" else self.name.with_name(f"{self.name.name}.toml")
            check_output("NAME", path)
            if path.exists():
                raise ValueError(f"{path} exists: give another name, or remove it")
            write_text(path, template())
        print(f"written: {path}; run it with: sandbox run {path}")
        return DONE
