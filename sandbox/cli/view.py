"""`sandbox view`: a scene, a recording or an experiment, live in a browser."""

from __future__ import annotations

import os
import signal
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from sandbox.cli.common import (
    DONE,
    ENDINGS,
    FAILED,
    STOPPED,
    ParamsOption,
    SetOption,
    check_output,
    checking,
    load_engine,
    need,
    option,
    read_parameters,
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

if TYPE_CHECKING:
    from sandbox.bodies.anatomy import Anatomy
    from sandbox.recording import Recording
    from sandbox.scenes.scene import Scene

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class View:
    """Show a scene, a recording or an experiment in 3D, in a browser on this machine, until Ctrl-C."""

    what: Annotated[
        tyro.conf.Positional[str],
        option("SCENE|FILE|EXPERIMENT", "a scene of `sandbox list` or a .toml file, a recording (.npz), or lo-003"),
    ]
    second: Annotated[tyro.conf.Positional[Path | None], option("FILE.npz", "recording: a second one beside the first", default=False)] = (
        None
    )
    plant: Annotated[
        Literal["bullet", "kinematic", "both"], tyro.conf.arg(help="scene: physics, the plan itself, or both side by side in lockstep")
    ] = "bullet"
    stance: Annotated[
        Literal["kinematic", "virtual-leg", "telescoping", "klaw"],
        tyro.conf.arg(help="scene: how the body is carried over its stance foot"),
    ] = "kinematic"
    together: Annotated[Literal["side", "ghost"], tyro.conf.arg(help="two recordings: side by side, or the second as a ghost")] = "side"
    preset: Annotated[str | None, option("NAME", "experiment: the preset or variant to begin with", default=False)] = None
    speed: SpeedOption = None
    heading_rate: HeadingRateOption = None
    seed: SceneSeedOption = None
    mass: SceneMassOption = None
    height: Annotated[float | None, option("M", "height of the body, 1.20-2.20 (default: 1.74, or the scene's)", default=False)] = None
    sex: SceneSexOption = None
    friction: FrictionOption = None
    angle: AngleOption = None
    bump_height: BumpOption = None
    impulse: ImpulseOption = None
    direction: DirectionOption = None
    params: ParamsOption = None
    changes: SetOption = ()
    record: Annotated[Path | None, option("FILE.npz", "scene: write what was simulated last when the view is closed", default=False)] = None
    port: Annotated[int, option("N", "of the page; the next free one where it is in use")] = 8080
    host: Annotated[str, option("ADDRESS", "to listen at; anything but loopback lets others in")] = "127.0.0.1"
    no_browser: Annotated[bool, tyro.conf.arg(help="do not open a browser")] = False

    def execute(self) -> int:
        """Show it until Ctrl-C, and return the exit code."""
        with checking():
            need("the view needs", "viser")
            kind = self._kind()
            self._refuse(kind)
            page = {"scene": self._scene, "recording": self._recording, "experiment": self._experiment}[kind]()
        return self._show(page)

    def _kind(self) -> str:
        """What ``what`` is. Raises ValueError for what is nothing."""
        from sandbox.config import nearest
        from sandbox.harness import catalogue
        from sandbox.scenes.scene import SCENES

        if self.what.endswith(".npz"):
            return "recording"
        if self.what in SCENES or self.what.endswith(".toml"):
            return "scene"
        entries = catalogue()
        wanted = self.what.lower().replace("_", "-")
        if any(wanted in (entry.name, entry.short) or entry.name.startswith(f"{wanted}-") for entry in entries.values()):
            return "experiment"
        known = [*SCENES, *(entry.short for entry in entries.values())]
        raise ValueError(f"{self.what!r} is no scene, experiment or recording (.npz){nearest(self.what, known)}")

    def _refuse(self, kind: str) -> None:
        """Raise ValueError for an option of another kind of view."""
        of_scene = {name: getattr(self, name) for name in (*SCENE_OPTIONS, "seed", "mass", "height", "sex", "friction", "params", "record")}
        of_scene |= {"set": self.changes or None, "plant": None if self.plant == "bullet" else self.plant}
        of_scene |= {"stance": None if self.stance == "kinematic" else self.stance}
        if kind != "scene":
            for name, value in of_scene.items():
                if value is not None:
                    raise ValueError(f"--{name.replace('_', '-')} {value} is for scenes, and {self.what} is a {kind}: leave it out")
        if kind != "recording" and self.second is not None:
            raise ValueError(f"{self.second} is beside {self.what}, which is a {kind}: two recordings can be shown together")
        if kind != "experiment" and self.preset is not None:
            raise ValueError(f"--preset {self.preset} is for experiments, and {self.what} is a {kind}: leave it out")

    # -- the three kinds -----------------------------------------------------------------------------------------------

    def _scene(self) -> Any:
        def read(seed: int | None) -> tuple[Scene, Anatomy]:
            given = {name: getattr(self, name) for name in SCENE_OPTIONS}
            plant = "kinematic" if self.plant == "both" else self.plant
            return read_scene(
                self.what, given, seed=seed, friction=self.friction, mass=self.mass, height=self.height, sex=self.sex, plant=plant
            )

        scene, anatomy = read(self.seed)
        parameters, name = read_parameters(self.params, self.changes)
        if self.record is not None:
            check_output("--record", self.record, ENDINGS["record"])
            self.record.parent.mkdir(parents=True, exist_ok=True)
        load_engine()
        from sandbox.simulation import check_stance
        from sandbox.viewer.engine import Setup
        from sandbox.viewer.live import LiveView, plants_of

        plants = tuple(plants_of(self.plant))
        for plant in plants:
            check_stance(self.stance, plant, scene)
        setup = Setup(
            scene,
            plants,
            scene.seed,
            anatomy,
            parameters,
            params_name=name,
            record=self.record is not None,
            stance=self.stance,
        )
        return LiveView(setup, self.host, self.port, own=lambda seed: read(seed)[0])

    def _recording(self) -> Any:
        from sandbox.recording import Recording
        from sandbox.report.scene import check_drawable
        from sandbox.viewer.player import Player

        files = [Path(self.what), *([self.second] if self.second else [])]
        recordings = [Recording.load(file) for file in files]
        for recording, file in zip(recordings, files, strict=True):
            check_drawable(recording, str(file))
        return Player(recordings, [file.name for file in files], self.together, self.host, self.port)

    def _experiment(self) -> Any:
        from sandbox.cli.presets import open_experiment

        return open_experiment(self.what, self.preset, self.host, self.port)

    # -- showing -------------------------------------------------------------------------------------------------------

    def _show(self, page: Any) -> int:
        failed = stopped = False
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a script's shell starts what runs in the background
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            from sandbox.viewer.drawing import addresses

            for address in addresses(self.host, page.port):
                print(f"view: {address} (Ctrl-C ends it)", flush=True)
            if page.port != self.port:
                print(f"port {self.port} is in use; this is the next free one", flush=True)
            if self.host not in LOOPBACK:
                print(
                    f"sandbox: warning: it listens at {self.host}: everybody who can reach this machine can look on and take the controls",
                    file=sys.stderr,
                    flush=True,
                )
            if not self.no_browser and not open_browser(page.address):
                print("no browser found here: open the address in one", flush=True)
            try:
                page.run()
            except KeyboardInterrupt:
                stopped = True
            if hasattr(page, "engine") and not page.engine.alive:
                print(f"sandbox: the simulation has ended: {page.engine.news}", file=sys.stderr)
                failed = True
        finally:
            if self.record is not None and hasattr(page, "finish"):
                failed = not self._keep(page.finish) or failed
            page.close()
        return FAILED if failed else STOPPED if stopped else DONE

    def _keep(self, finish: Callable[[], list[Recording]]) -> bool:
        """Write what was simulated."""
        from sandbox.viewer.engine import save_recordings

        assert self.record is not None
        try:
            written = save_recordings(finish(), self.record)
        except OSError as error:
            print(f"sandbox: {self.record} could not be written: {error.strerror or error}", file=sys.stderr)
            return False
        print(f"written: {', '.join(str(path) for path in written)}" if written else "nothing was simulated: no recording", flush=True)
        return bool(written)


def open_browser(address: str) -> bool:
    """Open a page where there is a desktop with a browser; False where there is none."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
