"""The run loop: a planner, a plant and a scene, tick by tick, into a recording."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Protocol, cast

import numpy as np

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.kinematics import points_in_world
from sandbox.config import nearest
from sandbox.controllers.parameters import Parameters
from sandbox.controllers.planner import SINGLE, WALK, GaitPlanner
from sandbox.controllers.stance import StanceModel
from sandbox.mechanics import extrapolated_com
from sandbox.plants.base import Fall, Plant, standing_pose
from sandbox.recording import Extras, Recorder, Recording, make_header
from sandbox.scenes.file import check_start
from sandbox.scenes.scene import Command, Options, Push, Scene, build
from sandbox.scenes.terrain import Terrain
from sandbox.state import BodyState

RECORD_RATE = 120  # [Hz]
PLANTS = {"bullet": "PyBullet: torques, gravity, contact", "kinematic": "the plan itself, with pinned stance feet"}


def make_plant(name: str, anatomy: Anatomy, terrain: Terrain, stance: str = "kinematic") -> Plant:
    """The plant of a name, and of a stance model that moves the body itself. Raises ValueError for an unknown name."""
    if name == "bullet":
        from sandbox.plants.bullet import BulletPlant

        return BulletPlant(anatomy, terrain)
    if name == "kinematic" and stance == "klaw":
        from sandbox.plants.klaw_plant import KlawPlant

        return KlawPlant(anatomy, terrain)
    if name == "kinematic":
        from sandbox.plants.kinematic import KinematicPlant

        return KinematicPlant(anatomy, terrain)
    raise ValueError(f"unknown plant {name!r}{nearest(name, PLANTS)}")


CONTINUOUS = "continuous"  # walks without the planner, and so is no plant of it

Stance = Literal["kinematic", "virtual-leg", "telescoping", "klaw"]

STANCES: dict[Stance, str] = {
    "kinematic": "the body rises and falls as a cosine; its pressure travels along the foot",
    "virtual-leg": "it rises and falls over a rigid leg",
    "telescoping": "it rises and falls on a compliant leg",
    "klaw": "Bruderlin & Calvert's method, reconstructed; on the kinematic plant its own walker, straight ahead",
}


# Models that are no planner's: whoever asks for one on the kinematic plant gets the published walk itself.
PUBLISHED: dict[str, str] = {"boulic": "the curves of Boulic et al. (1990) with pinned feet: one speed, straight ahead, level ground"}


def make_planner(plant: str, anatomy: Anatomy, parameters: Parameters, stance: Stance) -> GaitPlanner:
    """The planner of a stance model for a plant: KLAW's walker itself on the kinematic one, and as a reference on the physical one."""
    if stance != "klaw":
        return GaitPlanner(anatomy, parameters, stance)
    from sandbox.plants.klaw_plant import KlawPlanner, KlawReference

    return KlawReference(anatomy, parameters) if plant == "bullet" else KlawPlanner(anatomy, parameters)


def check_plant(name: str, terrain: Terrain) -> None:
    """Raise ValueError for an unknown plant, or one that cannot walk on this terrain; nothing is loaded."""
    if name not in PLANTS:
        raise ValueError(f"unknown plant {name!r}{nearest(name, PLANTS)}")
    if name == "kinematic" and terrain.boxes:
        raise ValueError("the kinematic plant would walk through obstacles: take the bullet plant, or a scene without them")


class Pilot(Protocol):
    """Who drives the plant in place of the planner's controller: a policy, see :class:`sandbox.learn.policy.Pilot`."""

    def begin(self, speed: float, heading_rate: float) -> None:
        """A tick begins, under this command."""

    def follow(self) -> None:
        """One plant step; the planner has been updated."""


class Simulation:
    """One walker in one scene.

    Args:
        scene: what to do.
        anatomy, parameters: of the walker; the scene's own body, or the shipped ones, by default.
        plant: name, see :data:`PLANTS`.
        seed: of the perturbed start.
        params_name: what the parameters are called in the recording.
        stance: model of the planner, see :data:`STANCES`.

    Raises:
        ValueError: an unknown plant or stance model, or one that cannot walk on this terrain; a body that would start inside a box.

    Attributes:
        planner, plant, recorder: the parts, for those who look inside.
        pushes: the scene's, and those of :meth:`disturb`.
        watch: called with every row that is recorded; both arguments are refilled by the next one.
        ticks_per_row: plant steps in a row of the recording.
        pilot: drives the plant; the planner's own controller where it is None.
    """

    def __init__(
        self,
        scene: Scene,
        anatomy: Anatomy | None = None,
        plant: str = "bullet",
        parameters: Parameters | None = None,
        seed: int = 0,
        params_name: str = "walker",
        stance: Stance = "kinematic",
    ) -> None:
        self.scene = scene
        self.anatomy = anatomy or scene.anatomy or Anatomy()
        check_start(scene.terrain, self.anatomy, scene.name)
        self.parameters = parameters or Parameters.load()
        self.seed = seed
        check_stance(stance, plant, scene)
        self.plant = make_plant(plant, self.anatomy, scene.terrain, stance)
        self.planner = make_planner(plant, self.anatomy, self.parameters, stance)
        self._plant_name, self._params_name = plant, params_name
        rows = 1.0 / (RECORD_RATE * self.plant.dt)
        self.ticks_per_row = round(rows)
        self.watch: Callable[[BodyState, Extras], None] | None = None
        self.pilot: Pilot | None = None
        if abs(rows - self.ticks_per_row) > 1e-9:
            raise ValueError(
                f"a recording row of 1/{RECORD_RATE} s is {rows:g} plant steps of {self.plant.dt:g} s: "
                f"choose a rate that is a multiple of {RECORD_RATE} Hz"
            )
        self.reset()

    def reset(self) -> None:
        """Set the walker down, and start a new recording."""
        plant, a = self.plant, self.anatomy
        plant.reset(standing_pose(a, self.parameters.lumbar_flexion, self.seed, slope=self.scene.terrain.slope))
        self.planner.reset(plant.observe())
        plant.predicted = self._predicted
        self._steps_seen = 0
        self._ticks = 0
        self.pushes: list[Push] = list(self.scene.pushes)
        self._pushing: set[int] = set()
        self._cpu = time.process_time()
        n = len(a.joints)
        self._row = BodyState(n)
        s = plant.state
        for name in ("q", "qd", "root_position", "root_quaternion", "root_velocity", "root_angular_velocity", "pressure", "contact"):
            setattr(self._row, name, getattr(s, name))
        self._points = np.zeros((len(a.points), 3))
        dt = plant.dt
        self.recorder = Recorder(
            make_header(
                plant=self._plant_name,
                stance=self.planner.stance,
                scene=self.scene.name,
                body={
                    "mass_kg": a.mass,
                    "height_m": a.height,
                    "sex": a.sex,
                    "leg_m": a.leg_length,
                    "foot_half_width_m": a.foot_half_width,
                },
                command=dict(self.scene.settings),
                seed=self.seed,
                joint_names=[j.name for j in a.joints],
                point_names=list(a.points),
                body_names=[link.name for link in a.links],
                joint_max_torque=[j.max_torque for j in a.joints],
                settings={
                    "plant_rate_hz": 1.0 / dt,
                    "record_rate_hz": RECORD_RATE,
                    "seconds": self.scene.seconds,
                    "slope_rad": self.scene.terrain.slope,
                    "boxes": [[b.x, b.y, b.half_x, b.half_y, b.height] for b in self.scene.terrain.boxes],
                    "friction": self.scene.terrain.friction,
                },
                params={"name": self._params_name, "hash": self.parameters.hash},
            ),
            rows=int(self.scene.seconds * RECORD_RATE) + 2,
        )

    @property
    def time(self) -> float:
        """[s] since reset."""
        return self.plant.state.time

    @property
    def fall(self) -> Fall | None:
        return self.plant.fall

    def _predicted(self, foot: int, touchdown: bool) -> float:
        """When the planner expects an event of a foot [s]; NaN where it expects none."""
        s = self.planner.plan[0]
        if s.mode != WALK or s.swing != foot:
            return math.nan
        if touchdown:
            return float(s.step_end) if s.phase == SINGLE else math.nan
        return float(s.release)

    def tick(self, command: Command | None = None) -> None:
        """One plant step under the pushes and the scene's command, or another one (whose time means nothing)."""
        now = self.time
        command = command or self.scene.command_at(now)
        self._push(now)
        self.advance(command.speed, command.heading_rate)

    def disturb(self, push: Push) -> None:
        """Push from now on, whatever ``push.time`` says; it is recorded as the scene's own pushes are."""
        self.pushes.append(replace(push, time=self.time))

    def advance(self, speed: float, heading_rate: float) -> None:
        """One plant step under a command: speed [m/s], heading rate [rad/s]."""
        plant, planner, pilot = self.plant, self.planner, self.pilot
        if pilot is not None:
            pilot.begin(speed, heading_rate)
        observation = plant.observe()
        planner.update(observation, speed, heading_rate, plant.dt)
        if pilot is None:
            plant.follow(planner)
        else:
            pilot.follow()
        if self._ticks == 0:
            self._cpu = time.process_time()  # the first tick of a process compiles; that is no time of the walk
        self._ticks += 1
        state, row, plan = plant.state, self._row, planner.plan[0]
        row.tau += state.tau
        row.sole_force += state.sole_force
        if state.events:
            row.events.extend(state.events)
            state.events.clear()
        if plan.steps != self._steps_seen:
            self._steps_seen = int(plan.steps)
            self.recorder.foothold(state.time, int(1 - plan.swing), plan.foothold.tolist(), float(plan.foothold_yaw))
        if self._ticks % self.ticks_per_row == 0:
            self._record(speed, heading_rate)

    def _record(self, speed: float, heading_rate: float) -> None:
        row, plan = self._row, self.planner.plan[0]
        observer, tree = self.plant.observer, self.plant.observer.tree
        observation = self.plant.observe()[0]
        row.time = self.time
        row.tau /= self.ticks_per_row
        row.sole_force /= self.ticks_per_row
        points_in_world(tree.point_link, tree.point, observer.link_r, observer.link_p, self._points)
        ground = plan.share[0] * plan.ground[0] + plan.share[1] * plan.ground[1]
        height = max(float(observation.com[2] - ground), 0.1)
        xcom = np.array([0.0, 0.0, ground])
        xcom[:2] = extrapolated_com(observation.com, observation.com_velocity, height)
        extras = Extras(self._points, observation.com, observation.com_velocity, xcom, (speed, heading_rate), float(plan.heading))
        self.recorder.append(row, extras)
        if self.watch is not None:
            self.watch(row, extras)
        row.tau[:] = 0.0
        row.sole_force[:] = 0.0
        row.events.clear()

    def _push(self, now: float) -> None:
        for k, push in enumerate(self.pushes):
            if not push.time <= now + 1e-9 < push.time + push.duration:
                continue
            angle = float(self.planner.plan[0].heading) + push.direction
            force = push.force * np.array([-math.sin(angle), math.cos(angle), 0.0])
            self.plant.push(force, push.link)
            if k not in self._pushing:
                self._pushing.add(k)
                self.recorder.push(now, push.duration, force, push.link)

    def recording(self) -> Recording:
        """What has been recorded up to now."""
        fall = self.fall
        notes = getattr(self.planner, "notes", None)  # of a planner that has something to tell: what failed and was replaced
        return self.recorder.finish(
            **({} if notes is None else {"notes": notes()}),
            fall={"fell": fall is not None, "time_s": fall.time if fall else None, "cause": fall.cause if fall else None},
            cpu={"total_s": time.process_time() - self._cpu, "engine_s": self.plant.engine_seconds},
        )

    def close(self) -> None:
        """Release the plant."""
        self.plant.close()


def run(
    scene: str | Scene,
    *,
    plant: str = "bullet",
    speed: float | None = None,
    heading_rate: float | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    anatomy: Anatomy | None = None,
    parameters: Parameters | None = None,
    params_name: str = "walker",
    options: Options | None = None,
    stance: str = "kinematic",
    progress: Callable[[float], None] | None = None,
    keep_interrupted: bool = False,
    prepare: Callable[[Simulation], object] | None = None,
) -> Recording:
    """Run a scene to its end or to the fall, and return the recording.

    Args:
        scene: a name (see ``sandbox list``), a TOML file, or a :class:`Scene`, for which speed, heading_rate and seconds are ignored.
        plant: ``bullet``, ``kinematic``, or ``continuous``: no plant of the planner, but the kinematic study's own walker.
        speed, heading_rate, seconds: of a named scene [m/s], [rad/s], [s]; the scene's own by default.
        seed: of the perturbed start, and of what the scene draws; the scene's own, mostly 0, by default.
        anatomy, parameters: of the walker; the scene's own body, or the shipped ones, by default.
        params_name: what the parameters are called in the recording.
        options: all that a named scene can be asked, instead of speed, heading_rate, seconds and seed.
        stance: model of the planner, see :data:`STANCES`, or on the kinematic plant one of :data:`PUBLISHED`.
        progress: called with the simulated time [s] about ten times a simulated second.
        keep_interrupted: after Ctrl-C return what was recorded up to then, with ``header["interrupted"]`` set.
        prepare: called with the simulation before its first tick, for instance to give it a pilot.

    Raises:
        ValueError: what is asked cannot be done.
        KeyboardInterrupt: Ctrl-C, unless ``keep_interrupted``: figures of a walk that was cut short are figures of another walk.
    """
    if isinstance(scene, str):
        o = options or Options(speed=speed, heading_rate=heading_rate, seconds=seconds, seed=seed)
        scene = build(scene, o)
        seed = scene.seed
    check_stance(stance, plant, scene, anatomy)
    if stance in PUBLISHED:
        return walk_published(scene, anatomy, progress)
    if plant == CONTINUOUS:
        return walk_continuously(scene, anatomy, cast("StanceModel", stance), progress, keep_interrupted)
    model = cast("Stance", stance)
    simulation = Simulation(scene, anatomy, plant, parameters, scene.seed if seed is None else seed, params_name, model)
    simulation.plant.timed = True
    if prepare is not None:
        prepare(simulation)
    ticks = round(scene.seconds / simulation.plant.dt)
    tenth = max(1, round(0.1 / simulation.plant.dt))
    interrupted = False
    try:
        for k in range(ticks):
            simulation.tick()
            if simulation.fall is not None:
                break
            if progress is not None and k % tenth == 0:
                progress(simulation.time)
    except KeyboardInterrupt:
        if not keep_interrupted:
            raise
        interrupted = True
    finally:
        recording = simulation.recording()
        simulation.close()
    if interrupted:
        recording.header["interrupted"] = True
    return recording


def check_stance(stance: str, plant: str, scene: Scene, anatomy: Anatomy | None = None) -> None:
    """Raise ValueError for an unknown stance model, or one that cannot walk this scene on this plant; nothing is loaded."""
    if stance not in PUBLISHED:
        if stance not in STANCES:
            raise ValueError(f"unknown stance model {stance!r}{nearest(stance, (*STANCES, *PUBLISHED))}")
        if stance == "klaw" and plant == CONTINUOUS:
            raise ValueError("klaw walks by itself and not on the continuous plant: give --plant kinematic, or bullet")
        if stance == "klaw" and plant == "kinematic":
            _straight_ahead(scene, "klaw walk")
        return
    if plant != "kinematic":
        raise ValueError(f"the {stance} walk has no forces and no planner, and exists on the kinematic plant alone: give --plant kinematic")
    from sandbox.controllers.boulic import normalised_speed

    _straight_ahead(scene, f"{stance} walk")
    speeds = [command.speed for command in scene.commands]
    start = next((k for k, speed in enumerate(speeds) if speed > 0), len(speeds))
    if len(set(speeds[start:])) > 1:
        told = ", ".join(f"{speed:g}" for speed in speeds[start:])
        raise ValueError(f"the {stance} walk has one speed and no stop, and scene {scene.name} asks for {told} m/s: take scene walk")
    normalised_speed(max(speeds, default=0.0), (anatomy or scene.anatomy or Anatomy()).leg_length)


def check_continuous(scene: Scene) -> dict[float, float]:
    """Speeds [m/s] of a scene that the continuous walker clamps, and to what.

    Raises:
        ValueError: it cannot do what the scene asks: it walks straight ahead on level ground, undisturbed.
    """
    from sandbox.controllers.velocity import HUMAN

    _straight_ahead(scene, "continuous walker")
    asked = {command.speed for command in scene.commands if command.speed > 0}
    return {speed: HUMAN.clamp(speed) for speed in sorted(asked) if HUMAN.clamp(speed) != speed}


def _straight_ahead(scene: Scene, who: str) -> None:
    """Raise ValueError for a scene with turns, slopes, obstacles or pushes."""
    asks = {
        "turns": any(command.heading_rate for command in scene.commands),
        "slopes": scene.terrain.slope != 0,
        "obstacles": bool(scene.terrain.boxes),
        "pushes": bool(scene.pushes),
    }
    for what, there in asks.items():
        if there:
            raise ValueError(f"the {who} knows no {what}: take the bullet plant, or scene walk, stand or start-stop")


def walk_published(scene: Scene, anatomy: Anatomy | None = None, progress: Callable[[float], None] | None = None) -> Recording:
    """The walk of Boulic et al. (:mod:`sandbox.plants.boulic`) at the speed of a scene, from the first row on; it has no forces.

    Raises:
        ValueError: a speed for which there are no curves.
    """
    from sandbox.plants.boulic import walk

    cpu = time.process_time()
    speed = max(command.speed for command in scene.commands)
    recording = walk(speed, scene.seconds, anatomy or scene.anatomy or Anatomy(), RECORD_RATE, scene.name, progress)
    recording.header["cpu"] = {"total_s": time.process_time() - cpu, "engine_s": 0.0}
    return recording


def walk_continuously(
    scene: Scene,
    anatomy: Anatomy | None = None,
    stance: StanceModel = "kinematic",
    progress: Callable[[float], None] | None = None,
    keep_interrupted: bool = False,
) -> Recording:
    """The walker of the kinematic study (:mod:`sandbox.plants.continuous`) under the speed commands of a scene.

    It has no start to perturb, no parameters and no forces; speeds above 0 are clamped to 0.4-2.0 m/s.

    Raises:
        ValueError: a scene with turns, slopes, obstacles or pushes.
        KeyboardInterrupt: Ctrl-C, unless ``keep_interrupted``, as in :func:`run`.
    """
    from sandbox.plants.continuous import ContinuousWalker, Plan, film

    check_continuous(scene)
    cpu = time.process_time()
    walker = ContinuousWalker(Plan(root=stance), anatomy or scene.anatomy or Anatomy())
    walk, interrupted = [], False
    try:
        while walker.time < scene.seconds - 1e-9:
            walk.append(walker.tick(scene.command_at(walker.time).speed))
            if progress is not None and walker.ticks % 12 == 0:
                progress(walker.time)
    except KeyboardInterrupt:
        if not keep_interrupted:
            raise
        interrupted = True
    recording = film(walker, walk, scene.name)
    recording.header["cpu"] = {"total_s": time.process_time() - cpu, "engine_s": 0.0}
    if interrupted:
        recording.header["interrupted"] = True
    return recording
