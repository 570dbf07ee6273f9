"""The simulation of the live view, in a process of its own: whatever browsers do, it goes on in real time.

Rows go to the page through shared memory, which nobody waits for: a page that is slow misses rows, and the physics does not
notice. Commands come back through a pipe. Several bodies advance in lockstep, row by row, on the same commands.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sandbox.bodies.anatomy import Anatomy
from sandbox.controllers.parameters import Parameters
from sandbox.recording import RATE, Extras, Recorder, Recording
from sandbox.scenes.scene import PUSH_DURATION, Command, Push, Scene
from sandbox.state import FEET, BodyState
from sandbox.viewer.frame import PATH, Frames, frame_dtype

if TYPE_CHECKING:
    from sandbox.simulation import Stance

RING = 512  # rows kept for the page, about four seconds
BODIES = 2  # at most
LATE = 0.25  # [s]: a simulation that is later than this does not catch up
AFTERMATH = 1.5  # [s] that a fallen body is still simulated
STATUS = np.dtype([("rows", "i8", (BODIES,)), ("bodies", "i8"), ("epoch", "i8"), ("time", "f8"), ("factor", "f8"), ("running", "i8")])

# Coordination modes of the study: what of the upper body takes part. The parameters named are set to zero.
MODES: dict[str, tuple[str, ...]] = {
    "full body": (),
    "+ pelvis + trunk": ("arm_swing",),
    "+ pelvis": ("arm_swing", "thorax_rotation"),
    "legs only": ("arm_swing", "thorax_rotation", "pelvis_rotation"),
}


@dataclass(frozen=True)
class Setup:
    """What is simulated; a new one begins anew.

    Attributes:
        scene, plants, seed: of :class:`sandbox.simulation.Simulation`, one body for each plant.
        anatomy: the body.
        parameters: of the walker.
        mode: one of :data:`MODES`.
        record: whether everything is kept, to be had at the end.
        stance: model of the planner, one of :data:`sandbox.simulation.STANCES`.
    """

    scene: Scene
    plants: tuple[str, ...]
    seed: int
    anatomy: Anatomy
    parameters: Parameters
    mode: str = "full body"
    params_name: str = "walker"
    record: bool = False
    stance: Stance = "kinematic"

    def coordinated(self) -> Parameters:
        """The parameters in this coordination mode."""
        silenced: dict[str, float | str] = dict.fromkeys(MODES[self.mode], 0.0)
        return self.parameters.replace(silenced) if silenced else self.parameters


class Engine:
    """The page's end: starts the process, sends commands, reads rows.

    Args:
        setup: to begin with.

    Attributes:
        news: what the process said last: a line for the user, empty where all is well.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.news = "starting"
        n, points = len(setup.anatomy.joints), len(setup.anatomy.points)
        self._dtype = frame_dtype(n, points)
        size = STATUS.itemsize + BODIES * RING * self._dtype.itemsize
        self._memory = SharedMemory(create=True, size=size)
        self._status, self._ring = _layout(self._memory, self._dtype)
        self._status[0] = np.zeros(1, STATUS)[0]
        self._read = [0] * BODIES
        self._stale = 0  # epochs up to this one belong to a setup before
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._lock = threading.Lock()
        self._process = context.Process(target=_serve, args=(theirs, self._memory.name, n, points, setup), daemon=True, name="physics")
        with _without_main():
            self._process.start()
        theirs.close()

    def send(self, what: str, value: Any = None) -> None:
        """Ask for something: see :meth:`_Server.obey`. Returns at once."""
        with self._lock, contextlib.suppress(BrokenPipeError, OSError):
            self._pipe.send((what, value))

    def begin(self, setup: Setup) -> None:
        """Begin anew with another setup."""
        self.setup = setup
        self.news = "starting"
        self._stale = int(self._status[0]["epoch"])
        self.send("setup", setup)

    def poll(self) -> None:
        """Take in what the process has said."""
        with contextlib.suppress(EOFError, OSError):
            while self._pipe.poll():
                what, value = self._pipe.recv()
                if what == "news":
                    self.news = str(value)
        if not self._process.is_alive():
            self.news = "the simulation has ended"

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def bodies(self) -> int:
        """Bodies that are simulated; 0 before the first row."""
        return int(self._status[0]["bodies"])

    @property
    def factor(self) -> float:
        """Simulated seconds a second, lately; NaN while it stands still."""
        return float(self._status[0]["factor"])

    @property
    def time(self) -> float:
        """Time [s] that has been simulated since the last reset, whether anybody has looked or not."""
        return float(self._status[0]["time"])

    @property
    def running(self) -> bool:
        return bool(self._status[0]["running"])

    def rows(self, body: int) -> Frames:
        """All rows of a body since the last call, at most the last two seconds, and none of a setup before this one."""
        written = int(self._status[0]["rows"][body])
        first = max(self._read[body], written - RING // 2)
        self._read[body] = written
        rows = np.array(self._ring[body][np.arange(first, written) % RING])
        return np.asarray(rows[rows["epoch"] > self._stale])

    def finish(self) -> list[Recording]:
        """Stop, and return what was recorded of every body (nothing unless the setup asked for it)."""
        self.send("finish")
        recordings: list[Recording] = []
        with contextlib.suppress(EOFError, OSError):
            while self._pipe.poll(20.0):
                what, value = self._pipe.recv()
                if what == "recordings":
                    recordings = [Recording(header, columns) for header, columns in value]
                    break
        self.close()
        return recordings

    def close(self) -> None:
        """End the process. May be called twice."""
        if self._process.is_alive():
            self.send("stop")
            self._process.join(3.0)
            if self._process.is_alive():
                self._process.terminate()
                self._process.join(3.0)
        self._pipe.close()
        # views of the memory have to go before it can
        self._status = np.zeros(1, STATUS)
        self._ring = np.zeros((BODIES, RING), self._dtype)
        with contextlib.suppress(FileNotFoundError, BufferError):
            self._memory.close()
            self._memory.unlink()


def _layout(memory: SharedMemory, dtype: np.dtype[np.void]) -> tuple[Frames, Frames]:
    status = np.ndarray((1,), STATUS, memory.buf)
    ring = np.ndarray((BODIES, RING), dtype, memory.buf, STATUS.itemsize)
    return status, ring


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """A spawned process imports the main module of its parent, which a script without ``if __name__`` would run again."""
    import sys

    main = sys.modules["__main__"]
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    for name in hidden:
        setattr(main, name, None)
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)


# -- the process -----------------------------------------------------------------------------------------------------------


class _NoRecorder(Recorder):
    """Forgets everything: a view may be open for days."""

    def append(self, state: BodyState, extras: Extras) -> None:
        """Nothing."""

    def foothold(self, time: float, foot: int, position: Any, yaw: float) -> None:
        """Nothing."""

    def push(self, time: float, duration: float, force: Any, body: str) -> None:
        """Nothing."""


@dataclass
class _Body:
    """One simulation and the frame that is filled for it."""

    simulation: Any
    frame: Frames
    steps: int = 0
    touchdown: dict[int, tuple[float, float]] = field(default_factory=dict)  # foot -> time, lead


class _Server:
    def __init__(self, pipe: Connection, memory: SharedMemory, joints: int, points: int, setup: Setup) -> None:
        self.pipe, self.setup = pipe, setup
        self.dtype = frame_dtype(joints, points)
        self.status, self.ring = _layout(memory, self.dtype)
        self.bodies: list[_Body] = []
        self.running, self.step, self.pace = True, 0, 1.0
        self.own: Command | None = None  # the user's command, in the scene's place
        self.stopped = False

    # -- what is asked -----------------------------------------------------------------------------------------------

    def obey(self, what: str, value: Any) -> None:
        """``setup`` begins anew, ``reset`` likewise with the same one; ``run`` True or False; ``step`` a row; ``pace`` the share of real
        time; ``command`` a :class:`Command` in the scene's place, None for the scene's own; ``push`` impulse [N s] and direction [rad].
        """
        match what:
            case "setup":
                self.setup = value
                self.build()
            case "reset":
                self.build()
            case "run":
                self.running = bool(value)
            case "step":
                self.running, self.step = False, self.step + 1
            case "pace":
                self.pace = float(value)
            case "command":
                self.own = value
            case "push":
                impulse, direction = value
                for body in self.bodies:
                    body.simulation.disturb(Push(0.0, PUSH_DURATION, impulse / PUSH_DURATION, direction))
            case "finish":
                recordings = [body.simulation.recording() for body in self.bodies] if self.setup.record else []
                self.pipe.send(("recordings", [(recording.header, recording.columns) for recording in recordings]))
                self.stopped = True
            case _:
                self.stopped = True

    def build(self) -> None:
        """Make the simulations of the setup."""
        from sandbox.simulation import Simulation

        for body in self.bodies:
            body.simulation.close()
        self.bodies = []
        self.own = None
        self.status[0]["epoch"] += 1
        setup = self.setup
        try:
            for plant in setup.plants:
                made = Simulation(setup.scene, setup.anatomy, plant, setup.coordinated(), setup.seed, setup.params_name, setup.stance)
                body = _Body(made, np.zeros(1, self.dtype))
                made.watch = lambda row, extras, body=body: self.publish(body, row, extras)
                if not setup.record:
                    made.recorder = _NoRecorder(made.recorder.finish().header, 1)
                self.bodies.append(body)
        except (ValueError, RuntimeError) as error:
            self.say(str(error))
            return
        self.status[0]["bodies"] = len(self.bodies)
        self.advance()  # the first row of a process compiles
        self.say("")

    def say(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError, OSError):
            self.pipe.send(("news", text))

    # -- the loop ----------------------------------------------------------------------------------------------------

    def loop(self) -> None:
        """Until the page is gone."""
        parent = os.getppid()
        self.build()
        due = marked = time.monotonic()
        done = 0
        while os.getppid() == parent:
            wait = 0.0 if self.running or self.step else 0.02
            while self.pipe.poll(wait):
                self.obey(*self.pipe.recv())
                wait = 0.0
            if self.stopped:
                return
            moving = bool(self.bodies) and (self.running or self.step > 0) and not self.over()
            self.status[0]["running"] = moving
            now = time.monotonic()
            if not moving:
                self.step = 0
                due = marked = now
                done = 0
                self.status[0]["factor"] = np.nan
                time.sleep(0.01)
                continue
            if self.step:
                self.step -= 1
                due = now
            self.advance()
            done += 1
            if now - marked >= 1.0:
                self.status[0]["factor"] = done / RATE / (now - marked)
                marked, done = now, 0
            due += 1 / RATE / self.pace
            now = time.monotonic()
            if now - due > LATE:
                due = now
            elif due > now:
                time.sleep(due - now)

    def over(self) -> bool:
        """Whether every body lies on the ground."""
        return all(b.simulation.fall is not None and b.simulation.time > b.simulation.fall.time + AFTERMATH for b in self.bodies)

    def advance(self) -> None:
        """One row of every body."""
        for body in self.bodies:
            simulation = body.simulation
            if simulation.fall is not None and simulation.time > simulation.fall.time + AFTERMATH:
                continue
            for _ in range(simulation.ticks_per_row):
                simulation.tick(self.own)

    def publish(self, body: _Body, row: BodyState, extras: Extras) -> None:
        """Write a recorded row into the ring."""
        simulation, f = body.simulation, body.frame[0]
        plan = simulation.planner.plan[0]
        for event in row.events:
            if event.touchdown:
                body.touchdown[event.foot] = (event.time, event.predicted - event.time)
        f["epoch"], f["time"] = self.status[0]["epoch"], row.time
        f["points"], f["q"], f["tau"] = extras.points, row.q, row.tau
        f["sole_load"] = row.sole_force[..., 2]
        f["ground_force"] = row.sole_force.sum(axis=1)
        f["contact"] = row.contact
        loaded = (f["ground_force"][:, 2] > 0) | (f["contact"] != 0)
        f["pressure"] = np.where(loaded[:, None], row.pressure, np.nan)
        f["com"], f["com_velocity"], f["xcom"] = extras.com, extras.com_velocity, extras.xcom
        f["command"], f["heading"] = extras.command, extras.heading
        path = simulation.planner.swing_preview(simulation.plant.observe(), PATH)
        swings = len(path) > 0
        f["path"] = path if swings else np.nan
        f["foothold"] = plan["foothold"] if swings else np.nan
        f["foothold_yaw"] = plan["foothold_yaw"] if swings else np.nan
        f["foothold_foot"] = plan["swing"] if swings else np.nan
        if plan["steps"] != body.steps:
            body.steps = int(plan["steps"])
            foot = int(1 - plan["swing"])
            f["landed"], f["landed_foot"] = body.steps, foot
            f["planned"] = plan["foothold"]
            f["actual"] = extras.points[list(self.setup.anatomy.points).index(f"{FEET[foot]}_ankle")]
            f["actual"][2] = plan["foothold"][2]
            f["lead"] = body.touchdown.get(foot, (0.0, np.nan))[1]
        elif not body.steps:
            f["landed"], f["landed_foot"], f["planned"], f["actual"], f["lead"] = 0, np.nan, np.nan, np.nan, np.nan
        f["fallen"] = simulation.fall is not None
        index = self.bodies.index(body)
        count = int(self.status[0]["rows"][index])
        self.ring[index, count % RING] = f
        if index == 0:
            self.status[0]["time"] = row.time
        self.status[0]["rows"][index] = count + 1


def _serve(pipe: Connection, memory_name: str, joints: int, points: int, setup: Setup) -> None:
    """The process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the page decides what it means
    with contextlib.suppress(PermissionError):  # a browser's threads are many, and this one has to be in time
        os.nice(-5)
    from sandbox.console import silenced

    memory = SharedMemory(memory_name)
    with silenced():
        import sandbox.plants.bullet  # noqa: F401  (prints when it is imported)
    server = _Server(pipe, memory, joints, points, setup)
    try:
        server.loop()
    except (EOFError, BrokenPipeError, OSError):
        pass  # the page is gone
    finally:
        for body in server.bodies:
            body.simulation.close()


def save_recordings(recordings: list[Recording], path: Path) -> list[Path]:
    """Write recordings to ``path``, or with several bodies to ``NAME_PLANT.npz`` each, and return the names. Raises OSError."""
    if len(recordings) < 2:
        names = [path] * len(recordings)
    else:
        names = [path.with_name(f"{path.stem}_{recording.header['plant']}{path.suffix}") for recording in recordings]
    for recording, name in zip(recordings, names, strict=True):
        recording.save(name)
    return names
