"""`sandbox run`: run a scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
    ParamsOption,
    PictureOption,
    ReplayOption,
    SetOption,
    VideoOption,
    check_outputs,
    checking,
    json_text,
    load_engine,
    option,
    read_parameters,
    results,
)
from sandbox.cli.scene import (
    SCENE_OPTIONS,
    AngleOption,
    BumpOption,
    DirectionOption,
    FrictionOption,
    HeadingRateOption,
    ImpulseOption,
    SceneMassOption,
    SceneSeedOption,
    SceneSexOption,
    SpeedOption,
    read_scene,
)
from sandbox.console import Progress

if TYPE_CHECKING:
    from sandbox.bodies.anatomy import Anatomy
    from sandbox.controllers.parameters import Parameters
    from sandbox.learn.policy import Policy
    from sandbox.simulation import Simulation


@dataclass(frozen=True)
class Run:
    """Run a scene, and report what happened. A fall is a result: it is reported, and no error."""

    scene: Annotated[
        tyro.conf.Positional[str], option("SCENE", "what to do: a name of `sandbox list`, or a scene file (sandbox new-scene)")
    ]
    plant: Annotated[
        Literal["bullet", "kinematic", "continuous"],
        tyro.conf.arg(help="physics; the plan itself with pinned stance feet; or the kinematic study's own walker, straight ahead"),
    ] = "bullet"
    stance: Annotated[
        Literal["kinematic", "virtual-leg", "telescoping", "klaw", "boulic"],
        tyro.conf.arg(help="how the planner has the body carried over its stance foot; or, kinematic, a published walk: klaw, boulic"),
    ] = "kinematic"
    speed: SpeedOption = None
    heading_rate: HeadingRateOption = None
    seconds: Annotated[float | None, option("S", "duration (default: the scene's own, mostly 20)", default=False)] = None
    seed: SceneSeedOption = None
    mass: SceneMassOption = None
    height: Annotated[
        float | None,
        option(
            "M",
            "height of the body, 1.20-2.20 (default: 1.74, or the scene's); in scene bumps, up to 0.10, the height of the bumps",
            default=False,
        ),
    ] = None
    sex: SceneSexOption = None
    friction: FrictionOption = None
    angle: AngleOption = None
    bump_height: BumpOption = None
    impulse: ImpulseOption = None
    direction: DirectionOption = None
    params: ParamsOption = None
    changes: SetOption = ()
    policy: Annotated[Path | None, option("DIR", "drive the body with a policy that `sandbox train` wrote", default=False)] = None
    record: Annotated[Path | None, option("FILE.npz", "write the recording", default=False)] = None
    picture: PictureOption = None
    replay: ReplayOption = None
    video: VideoOption = None
    json: JsonOption = None
    require_upright: Annotated[bool, tyro.conf.arg(help="exit with 1 after a fall")] = False

    def execute(self) -> int:
        """Run, and return the exit code."""
        with checking():
            given = {name: getattr(self, name) for name in SCENE_OPTIONS}
            scene, anatomy = read_scene(
                self.scene, given, seconds=self.seconds, seed=self.seed, friction=self.friction,
                mass=self.mass, height=self.height, sex=self.sex, plant=self.plant,
            )  # fmt: skip
            from sandbox.simulation import check_stance

            check_stance(self.stance, self.plant, scene, anatomy)
            clamped: dict[float, float] = {}
            if self.plant == "continuous":
                from sandbox.simulation import check_continuous

                clamped = check_continuous(scene)
            parameters, name = read_parameters(self.params, self.changes)
            policy = None if self.policy is None else self._policy(anatomy, parameters)
            outputs = check_outputs(record=self.record, json=self.json, picture=self.picture, replay=self.replay, video=self.video)
        with results(self.json) as (out, words):
            load_engine()
            from sandbox.measure import summary
            from sandbox.report.table import summary_table
            from sandbox.simulation import run

            prepare: Callable[[Simulation], object] | None = None
            if policy is not None:
                from sandbox.learn.policy import pilot

                prepare = partial(pilot, policy=policy)
            with Progress(self.scene, scene.seconds, "s", COMPILING) as progress:
                recording = run(
                    scene, plant=self.plant, anatomy=anatomy, parameters=parameters, params_name=name, stance=self.stance,
                    progress=progress, prepare=prepare, keep_interrupted=True,
                )  # fmt: skip
            if self.policy is not None:
                recording.header["policy"] = str(self.policy)
            stopped = bool(recording.header.get("interrupted"))
            with Files(recording, words) as files:
                # The recording first: whatever fails or is stopped later, it is kept.
                files.write([output for output in outputs if output.option == "record"])
                files.result = result = summary(recording)
                print(f"{self.scene}, {self.plant} plant", file=words)
                for asked, used in clamped.items():
                    print(f"note: {asked:g} m/s is walked at {used:g} m/s, the nearest speed of this walker", file=words)
                for note in recording.header.get("notes", ()):
                    print(f"note: {note}", file=words)
                if stopped:
                    print("stopped with Ctrl-C; what was recorded up to then is kept", file=words)
                print(summary_table(result), file=words, flush=True)
                if self.json == STDOUT:
                    out.write(json_text(result))
                files.write([o for o in outputs if o.option == "json" or (o.option != "record" and not stopped)])
        if stopped:
            return STOPPED
        return FAILED if files.failed or (self.require_upright and result["fell"]) else DONE

    def _policy(self, anatomy: Anatomy, parameters: Parameters) -> Policy:
        """The policy of ``--policy``. Raises ValueError where it does not fit this walker."""
        if self.plant != "bullet":
            raise ValueError(f"a policy drives the physical body, and the {self.plant} plant is none: leave --plant out")
        load_engine()
        from sandbox.learn.policy import Policy
        from sandbox.learn.tasks import check_signature, signature_of

        assert self.policy is not None
        policy = Policy.load(self.policy)
        theirs = policy.header["signature"]
        check_signature(str(self.policy), theirs, signature_of(anatomy, parameters, theirs["action"], theirs["policy_rate_hz"]))
        return policy
