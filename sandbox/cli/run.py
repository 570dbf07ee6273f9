"""`sandbox run`: run a scene."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from sandbox.cli.common import (
    COMPILING,
    DONE,
    FAILED,
    STDOUT,
    STOPPED,
    Files,
    JsonOption,
    MassOption,
    ParamsOption,
    PictureOption,
    ReplayOption,
    SeedOption,
    SetOption,
    SexOption,
    VideoOption,
    check_outputs,
    checking,
    json_text,
    load_engine,
    option,
    read_parameters,
    results,
)
from sandbox.config import nearest
from sandbox.console import Progress

if TYPE_CHECKING:
    from sandbox.bodies.anatomy import Anatomy
    from sandbox.scenes.scene import Options

SCENE_OPTIONS = {"angle": "slope", "bump_height": "bumps", "impulse": "push", "direction": "push"}


@dataclass(frozen=True)
class Run:
    """Run a scene, and report what happened. A fall is a result: it is reported, and no error."""

    scene: Annotated[tyro.conf.Positional[str], option("SCENE", "what to do: a name of `sandbox list`")]
    plant: Annotated[Literal["bullet", "kinematic"], tyro.conf.arg(help="physics, or the plan itself with pinned stance feet")] = "bullet"
    speed: Annotated[float, option("M/S", "speed to walk at, 0-2")] = 1.0
    heading_rate: Annotated[float, option("RAD/S", "rate of turning, -0.6 to 0.6, positive to the left")] = 0.0
    seconds: Annotated[float | None, option("S", "duration (default: the scene's own, mostly 20)", default=False)] = None
    seed: SeedOption = 0
    mass: MassOption = 70.0
    height: Annotated[
        float | None,
        option("M", "height of the body, 1.20-2.20 (default: 1.74); in scene bumps, up to 0.10, the height of the bumps", default=False),
    ] = None
    sex: SexOption = "mean"
    friction: Annotated[float | None, option("MU", "of the ground, 0.1-2 (default: 0.6-1.0, by the seed)", default=False)] = None
    angle: Annotated[float | None, option("DEG", "scene slope: -15 to 15, uphill positive (default: 3)", default=False)] = None
    bump_height: Annotated[float | None, option("M", "scene bumps: 0-0.10 (default: 0.02)", default=False)] = None
    impulse: Annotated[float | None, option("NS", "scene push: 0-100 N s, over 0.2 s (default: 10)", default=False)] = None
    direction: Annotated[float | None, option("DEG", "scene push: 0 forward, 90 left, 180 back (default: 0)", default=False)] = None
    params: ParamsOption = None
    changes: SetOption = ()
    record: Annotated[Path | None, option("FILE.npz", "write the recording", default=False)] = None
    picture: PictureOption = None
    replay: ReplayOption = None
    video: VideoOption = None
    json: JsonOption = None
    require_upright: Annotated[bool, tyro.conf.arg(help="exit with 1 after a fall")] = False

    def execute(self) -> int:
        """Run, and return the exit code."""
        with checking():
            from sandbox.scenes.scene import build

            anatomy, options = self._asked()
            scene = build(self.scene, options)
            parameters, name = read_parameters(self.params, self.changes)
            outputs = check_outputs(record=self.record, json=self.json, picture=self.picture, replay=self.replay, video=self.video)
        with results(self.json) as (out, words):
            load_engine()
            from sandbox.measure import summary
            from sandbox.report.table import summary_table
            from sandbox.simulation import run

            with Progress(self.scene, scene.seconds, "s", COMPILING) as progress:
                recording = run(
                    scene, plant=self.plant, seed=self.seed, anatomy=anatomy, parameters=parameters, params_name=name, progress=progress
                )
            stopped = bool(recording.header.get("interrupted"))
            with Files(recording, words) as files:
                # The recording first: whatever fails or is stopped later, it is kept.
                files.write([output for output in outputs if output.option == "record"])
                files.result = result = summary(recording)
                print(f"{self.scene}, {self.plant} plant", file=words)
                if stopped:
                    print("stopped with Ctrl-C; what was recorded up to then is kept", file=words)
                print(summary_table(result), file=words, flush=True)
                if self.json == STDOUT:
                    out.write(json_text(result))
                files.write([o for o in outputs if o.option == "json" or (o.option != "record" and not stopped)])
        if stopped:
            return STOPPED
        return FAILED if files.failed or (self.require_upright and result["fell"]) else DONE

    def _asked(self) -> tuple[Anatomy, Options]:
        """The body and the scene's options. Raises ValueError for what is out of range or means nothing to the scene."""
        from sandbox.bodies.anatomy import REFERENCE_HEIGHT, Anatomy
        from sandbox.scenes.scene import BUMP_RANGE, SCENES, SPEED_RANGE, Options, check_range

        if self.scene not in SCENES:
            raise ValueError(f"unknown scene {self.scene!r}{nearest(self.scene, SCENES)}")
        body, bump = self.height, self.bump_height
        if self.scene == "bumps" and body is not None and body <= BUMP_RANGE[1]:
            if bump is not None:
                raise ValueError(f"--height {body:g} m and --bump-height {bump:g} m are both heights of bumps: give one of them")
            body, bump = None, body
        given: dict[str, float] = {}
        for name, of in SCENE_OPTIONS.items():
            value = bump if name == "bump_height" else getattr(self, name)
            if value is None:
                continue
            if of != self.scene:
                raise ValueError(f"--{name.replace('_', '-')} {value:g} means nothing to scene {self.scene!r}: it belongs to scene {of!r}")
            given["height" if name == "bump_height" else name] = value
        if bump is not None:
            check_range("bump height", bump, BUMP_RANGE, "m")
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed {self.seed} is outside 0..{2**31 - 1}: give a whole number in that range")
        check_range("speed", self.speed, SPEED_RANGE, "m/s")
        speed = 0.0 if self.scene == "stand" else self.speed  # so that a recording does not name a command that nobody gave
        options = Options(speed, self.heading_rate, self.seconds, self.seed, friction=self.friction, **given)
        return Anatomy(self.mass, REFERENCE_HEIGHT if body is None else body, self.sex), options
