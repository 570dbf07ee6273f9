"""The live view of a scene: one page for everybody who opens it, over the simulation of :mod:`sandbox.viewer.engine`."""

from __future__ import annotations

import html
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sandbox.bodies.anatomy import HEIGHT_RANGE, MASS_RANGE, Anatomy
from sandbox.config import check_range
from sandbox.recording import Recording
from sandbox.report.scene import Ground
from sandbox.scenes.scene import HEADING_RATE_RANGE, SCENES, SEED_RANGE, SPEED_RANGE, Command, Options, Scene, build
from sandbox.simulation import STANCES, check_plant, check_stance
from sandbox.state import FEET, ContactState
from sandbox.viewer.drawing import LAYERS, Cameraman, Figure, add_ground, addresses, open_server
from sandbox.viewer.engine import MODES, Engine, Setup
from sandbox.viewer.plots import History, Plots, last_stride

UPDATES = 30.0  # scene updates a second
ROLLS = 6.0  # plot updates a second
SIDE_BY_SIDE = 1.3  # [m] from one body to the next
PUSH_RANGE = (0.0, 60.0)  # [N s]
ROOT, BODIES = "/world", "/bodies"  # frames of the ground and of the bodies
PLANT_CHOICES = {"bullet": ("bullet",), "kinematic": ("kinematic",), "both": ("bullet", "kinematic")}


def header_of(anatomy: Anatomy) -> dict[str, Any]:
    """What a figure has to know of a body, in a recording's words."""
    return {
        "point_names": list(anatomy.points),
        "joint_names": [joint.name for joint in anatomy.joints],
        "joint_max_torque": [joint.max_torque for joint in anatomy.joints],
        "body": {
            "mass_kg": anatomy.mass,
            "height_m": anatomy.height,
            "sex": anatomy.sex,
            "leg_m": anatomy.leg_length,
            "foot_half_width_m": anatomy.foot_half_width,
        },
    }


def ground_of_scene(scene: Scene) -> Ground:
    """The ground as the drawing takes it."""
    boxes = np.array([[b.x, b.y, b.half_x, b.half_y, b.height] for b in scene.terrain.boxes]).reshape(-1, 5)
    return Ground(math.tan(scene.terrain.slope), boxes)


class LiveView:
    """A page that shows a simulation and takes commands for it.

    Args:
        setup: what to simulate first.
        host, port: where to listen; the next free port is taken where this one is in use.
        own: makes the first scene anew with another seed, with all that was asked of it; without it the scene keeps its seed.

    Raises:
        sandbox.viewer.drawing.PageError: it cannot listen there.

    Attributes:
        address: of the page.
        port: that it really has.
        updates: scene updates made so far.
        figures: the drawn bodies.
    """

    def __init__(self, setup: Setup, host: str, port: int, own: Callable[[int], Scene] | None = None) -> None:
        self.server = open_server(host, port)
        self.port = int(self.server.get_port())
        self.address = addresses(host, self.port)[0]
        # The scene that was asked for, with its options: its entry in the list is marked, so that a file may be called as it likes.
        self._own = own or (lambda seed: replace(setup.scene, seed=seed))
        self._own_name = f"{setup.scene.name} (as started)"
        self.engine = Engine(setup)
        self.updates = 0
        self._lock = threading.RLock()
        self._layers = dict(LAYERS)
        self._closing = False
        self._epoch = -1
        self._landed: list[int] = []
        self._complaint = ""
        self._last: Any = None
        self.figures: list[Figure] = []
        self.histories: list[History] = []
        self._names: list[Any] = []
        self._ground: Any = None
        self.camera = Cameraman(self.server, ROOT, BODIES, setup.anatomy.height / 1.74)
        self._controls(setup)
        self._stage()

    # -- controls ------------------------------------------------------------------------------------------------------

    def _controls(self, setup: Setup) -> None:
        gui = self.server.gui
        gui.set_panel_label("locomotion sandbox")
        self._status = gui.add_markdown("starting")
        speed = self._scene_speed(setup.scene)
        with gui.add_folder("walk"):
            self.speed = gui.add_slider("speed, m/s", *SPEED_RANGE, 0.01, speed, hint="continuous; moving it takes over from the scene")
            self.turn = gui.add_slider("heading rate, rad/s", *HEADING_RATE_RANGE, 0.01, 0.0, hint="positive to the left")
            self.walk = gui.add_button_group("command", ("start", "stop", "the scene's own"))
            self.time = gui.add_button_group("time", ("run", "pause", "single step", "reset"))
            self.pace = gui.add_slider("slow motion", 0.05, 1.0, 0.05, 1.0, hint="share of real time")
        with gui.add_folder("push"):
            self.push_strength = gui.add_slider("impulse, N s", *PUSH_RANGE, 0.5, 10.0, hint="over 0.2 s, at the chest")
            self.push_direction = gui.add_slider("direction, degrees", -180, 180, 5, 90, hint="0 forward, 90 left, -90 right, 180 back")
            self.push = gui.add_button("push now", color="red")
        with gui.add_folder("camera"):
            self.view = gui.add_button_group("look from", ("side", "front", "behind", "free"))
        with gui.add_folder("scene and body", expand_by_default=False):
            plants = next(name for name, plants in PLANT_CHOICES.items() if plants == setup.plants)
            self.scene = gui.add_dropdown("scene", (self._own_name, *SCENES), initial_value=self._own_name)
            self.plant = gui.add_dropdown("plant", tuple(PLANT_CHOICES), initial_value=plants, hint="both: side by side, in lockstep")
            self.stance = gui.add_dropdown("stance model", tuple(STANCES), initial_value=setup.stance, hint="of the planner")
            self.mode = gui.add_dropdown("coordination", tuple(MODES), initial_value=setup.mode, hint="what of the upper body takes part")
            self.height = gui.add_number("height, m", setup.anatomy.height, min=HEIGHT_RANGE[0], max=HEIGHT_RANGE[1], step=0.01)
            self.mass = gui.add_number("mass, kg", setup.anatomy.mass, min=MASS_RANGE[0], max=MASS_RANGE[1], step=1.0)
            self.seed = gui.add_number("seed", setup.seed, min=SEED_RANGE[0], max=SEED_RANGE[1], step=1)
            self.apply = gui.add_button("begin anew with these")
        with gui.add_folder("overlays", expand_by_default=False):
            self.layers = {}
            for name, shown in LAYERS.items():
                self.layers[name] = box = gui.add_checkbox(name, shown)
                box.on_update(lambda event, name=name: self._guarded(lambda: self._switch(name, bool(event.target.value))))
        panel = gui.add_panel()
        panel.dock_left()
        with panel.add_tab("measured"):
            self.plots = Plots(gui, 9.81 * setup.anatomy.mass)
        self.speed.on_update(lambda _: self._guarded(self._command))
        self.turn.on_update(lambda _: self._guarded(self._command))
        self.walk.on_click(lambda event: self._guarded(lambda: self._walk(str(event.target.value))))
        self.time.on_click(lambda event: self._guarded(lambda: self._time(str(event.target.value))))
        self.pace.on_update(lambda _: self._guarded(self._pace))
        self.push.on_click(lambda _: self._guarded(self._push))
        self.view.on_click(lambda event: self._guarded(lambda: self.camera.look_from(str(event.target.value))))
        self.apply.on_click(lambda _: self._guarded(self._apply))

    def _guarded(self, action: Callable[[], None]) -> None:
        """Do what a browser asked for. It may send anything: what is not allowed is said on the page, and nothing is done."""
        with self._lock:
            try:
                action()
                self._complaint = ""
            except (ValueError, TypeError, KeyError) as error:
                self._complaint = str(error)

    def _command(self) -> None:
        speed, turn = float(self.speed.value), float(self.turn.value)
        check_range("speed", speed, SPEED_RANGE, "m/s")
        check_range("heading rate", turn, HEADING_RATE_RANGE, "rad/s")
        self.engine.send("command", Command(0.0, speed, turn))

    def _walk(self, what: str) -> None:
        match what:
            case "start":
                if self.speed.value < 0.1:
                    self.speed.value = 1.0
                self._command()
            case "stop":
                self.engine.send("command", Command(0.0, 0.0, 0.0))
            case "the scene's own":
                self.engine.send("command", None)

    def _time(self, what: str) -> None:
        match what:
            case "run":
                self.engine.send("run", True)
            case "pause":
                self.engine.send("run", False)
            case "single step":
                self.engine.send("step")
            case "reset":
                self.engine.send("reset")
                self.engine.send("run", True)

    def _pace(self) -> None:
        pace = float(self.pace.value)
        check_range("slow motion", pace, (0.05, 1.0), "")
        self.engine.send("pace", pace)

    def _push(self) -> None:
        impulse, direction = float(self.push_strength.value), float(self.push_direction.value)
        check_range("impulse", impulse, PUSH_RANGE, "N s")
        check_range("direction", direction, (-360.0, 360.0), "deg")
        self.engine.send("push", (impulse, math.radians(direction)))

    def _switch(self, name: str, shown: bool) -> None:
        self._layers[name] = shown
        for figure in self.figures:
            figure.show_layer(name, shown)

    def _apply(self) -> None:
        """Another scene, body or plant, after the checks that the command line makes."""
        name, mode, plant = str(self.scene.value), str(self.mode.value), str(self.plant.value)
        seed = float(self.seed.value)
        check_range("seed", seed, SEED_RANGE, "")
        if mode not in MODES or plant not in PLANT_CHOICES:
            raise ValueError(f"unknown coordination {mode!r} or plant {plant!r}")
        stance = next((name for name in STANCES if name == str(self.stance.value)), None)
        if stance is None:
            raise ValueError(f"unknown stance model {self.stance.value!r}")
        if name == self._own_name:
            scene = self._own(int(seed))
        elif name in SCENES:  # and never the name of a file
            scene = build(name, Options(seed=int(seed)))
        else:
            raise ValueError(f"unknown scene {name!r}")
        old = self.engine.setup
        setup = replace(
            old, scene=scene, seed=int(seed), mode=mode, plants=PLANT_CHOICES[plant], stance=stance,
            anatomy=Anatomy(float(self.mass.value), float(self.height.value), old.anatomy.sex),
        )  # fmt: skip
        for each in setup.plants:
            check_plant(each, scene.terrain)
            check_stance(stance, each, scene)
        self.engine.begin(setup)
        self.speed.value = self._scene_speed(scene)
        self.turn.value = 0.0
        self.engine.send("command", None)
        self._stage()

    @staticmethod
    def _scene_speed(scene: Scene) -> float:
        return round(max((command.speed for command in scene.commands), default=0.0), 2)

    # -- the scene -----------------------------------------------------------------------------------------------------

    def _stage(self) -> None:
        """The ground and the bodies of the setup."""
        setup = self.engine.setup
        ground, header = ground_of_scene(setup.scene), header_of(setup.anatomy)
        for figure in self.figures:
            figure.remove()
        if self._ground is not None:
            self._ground.remove()
        self._ground = self.server.scene.add_frame(f"{ROOT}/place", show_axes=False)
        add_ground(self.server.scene, f"{ROOT}/place", ground)
        self.figures, self.histories, self._names = [], [], []
        self._frames: dict[int, Any] = {}
        self.camera.clear()
        for k, plant in enumerate(setup.plants):
            root = f"{BODIES}/{plant}"
            self.camera.add_body(root, k * SIDE_BY_SIDE)
            if len(setup.plants) > 1:
                self._names.append(self.server.scene.add_label(f"{root}/name", plant))
            self.figures.append(Figure(self.server.scene, root, header, ground))
            self.histories.append(History())
        for figure in self.figures:
            for name, shown in self._layers.items():
                figure.shown[name] = shown
        self._landed = [0] * len(self.figures)

    @property
    def simulated(self) -> float:
        """Time [s] that has been simulated since the last reset."""
        return float(self._last["time"]) if self._last is not None else 0.0

    def update(self) -> bool:
        """Bring the page up to what has been simulated; whether anything moved."""
        with self._lock:
            self.engine.poll()
            news = [self.engine.rows(k) for k in range(len(self.figures))]
            moved = any(len(rows) for rows in news)
            with self.server.atomic():
                if news and len(news[0]):
                    self._last = last = news[0][-1]
                    if int(last["epoch"]) != self._epoch:
                        self._epoch = int(last["epoch"])
                        self._landed = [0] * len(self.figures)
                        for figure in self.figures:
                            figure.reset()
                    hip = last["points"][0]
                    slope = math.tan(self.engine.setup.scene.terrain.slope)
                    self.camera.follow(np.array([hip[0], hip[1], slope * hip[1]]), float(last["heading"]))
                for k, rows in enumerate(news):
                    if len(rows):
                        self.histories[k].add(rows)
                        self._frames[k] = rows[-1]
                # All of them, since the place that they are drawn from has moved.
                for k, frame in self._frames.items() if moved else ():
                    self.figures[k].show(frame, self.camera.origin)
                    if self._names:
                        above = frame["points"][0] - self.camera.origin
                        self._names[k].position = (float(above[0]), float(above[1]), float(frame["points"][:, 2].max()) + 0.25)
            self.updates += moved
            return moved

    def measure(self) -> None:
        """Plots and words."""
        with self._lock:
            rows = self.histories[0].rows() if self.histories else None
            if rows is not None and len(rows) > 2:
                self.plots.roll(rows)
                landed = int(rows[-1]["landed"])
                if landed != self._landed[0]:
                    self._landed[0] = landed
                    self.plots.stride(last_stride(rows, header_of(self.engine.setup.anatomy)))
            self._status.content = self._words()

    def _words(self) -> str:
        """What is going on, in a few lines."""
        lines = []
        if self._complaint:
            lines.append(f"**not done:** {html.escape(self._complaint)}")
        if self.engine.news:
            lines.append(f"*{html.escape(self.engine.news)}*")
        frame = self._last
        if frame is not None:
            speed, turn = (float(v) for v in frame["command"])
            walked = float(np.hypot(*frame["com_velocity"][:2]))
            clock = f"{self.engine.factor:.2f} of real time" if math.isfinite(self.engine.factor) else "standing still"
            lines.append(f"**{float(frame['time']):.2f} s**, {clock}")
            lines.append(f"asked {speed:.2f} m/s, {turn:+.2f} rad/s; walks {walked:.2f} m/s")
            states = (f"{side} {ContactState(int(frame['contact'][k])).name.lower()}" for k, side in enumerate(FEET))
            lines.append("contact: " + ", ".join(states))
            margin = self.figures[0].margin if self.figures else None
            lines.append(f"margin of stability: {100 * margin:+.1f} cm" if margin is not None else "margin of stability: no support")
            if math.isfinite(float(frame["lead"])):
                miss = float(np.hypot(*(frame["actual"] - frame["planned"])[:2]))
                lead = 1000 * float(frame["lead"])
                when = f"{abs(lead):.0f} ms {'early' if lead > 0 else 'late'}"
                lines.append(f"last touchdown: {when}, {100 * miss:.1f} cm from where it was planned")
            violations = self.figures[0].violations if self.figures else []
            if self._layers["envelope violations"]:
                lines.append("beyond the comfortable range: " + (", ".join(violations) or "nothing"))
            if bool(frame["fallen"]):
                lines.append("**fell**: press reset")
        return "  \n".join(lines)

    # -- life ----------------------------------------------------------------------------------------------------------

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Keep the page alive until Ctrl-C, or until ``until()``."""
        due = rolled = time.monotonic()
        while not until() and self.engine.alive:
            self.update()
            now = time.monotonic()
            if now - rolled >= 1 / ROLLS:
                self.measure()
                rolled = now
            due = max(due + 1 / UPDATES, now - 1 / UPDATES)
            time.sleep(max(0.0, due - time.monotonic()))

    def finish(self) -> list[Recording]:
        """End the simulation and the page, and return what was recorded, where the setup asked for it."""
        recordings = self.engine.finish() if not self._closing else []
        self.close()
        return recordings

    def close(self) -> None:
        """End everything. May be called twice."""
        if self._closing:
            return
        self._closing = True
        self.engine.close()
        close_server(self.server)


def close_server(server: Any) -> None:
    """Stop a server, which prints as it goes."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        server.stop()


def plants_of(choice: str) -> Sequence[str]:
    """Plants of ``--plant``."""
    return PLANT_CHOICES[choice]
