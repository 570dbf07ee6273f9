"""What the walker costs: ratios of CPU times that are measured in turns in one run, so that a busy machine slows both sides."""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.console import markdown, results_only, silenced

ENVIRONMENT = "sandbox:Sandbox/Walk-v0"
SPEED = 1.0  # [m/s] at which the figure walks while it is timed
PEER = "HumanoidBulletEnv-v0"  # of pybullet-envs-gymnasium, version 0.6.0
PEER_PACKAGE = "pybullet_envs_gymnasium"
WARM_UP = 2.0  # [s] simulated before anything is timed: compilation, caches, the start of the walk
BLOCK = 1.0  # [s] simulated by either side in turn
MEGABYTE = 2**20

# What one more environment takes, and one process's import: each in a process of its own.
_MEMORY = """
import os, sys
from sandbox.bench.speed import Walker
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def used():
    walker = Walker()
    for _ in range(60):
        walker.reset() if walker.down else walker.step()
    walker.reset()
    return walker
kept = [used(), used()]
before = resident()
more = int(sys.argv[1])
kept += [used() for _ in range(more)]
print((resident() - before) / more, file=sys.stderr)
"""
_IMPORT = "import time; start = time.process_time(); import sandbox; print(time.process_time() - start)"


class Figure(NamedTuple):
    """One figure.

    Attributes:
        what: was measured.
        value: None where it could not be.
        limit: at most.
        aim: better still; None where there is none.
        unit: of the three.
        note: how it was measured, or why not.
    """

    what: str
    value: float | None
    limit: float | None
    aim: float | None
    unit: str
    note: str

    @property
    def reached(self) -> bool | None:
        """Whether the limit is kept; None where there is none."""
        if self.limit is None:
            return None
        return self.value is not None and self.value <= self.limit


class Walker:
    """The shipped environment with zero action, which walks at :data:`SPEED`.

    Attributes:
        interval: of a control step [s].
        iterations: of Bullet's solver.
    """

    def __init__(self) -> None:
        import gymnasium
        import numpy as np

        with silenced():
            import sandbox.plants.bullet  # noqa: F401  (prints when it is imported)
        env: Any = gymnasium.make(ENVIRONMENT).unwrapped
        self._env = env
        self._plant = env.plant
        self._plant.timed = True
        self._action = np.zeros(env.action_space.shape)
        self.interval = 1.0 / env.metadata["render_fps"]
        self.iterations: int = self._plant.physics.iterations
        self.down = False
        self.reset(seed=0)

    def reset(self, seed: int | None = None) -> None:
        """Set the walker down again, in the same world."""
        self._env.reset(seed=seed, options={"speed": SPEED, "heading_rate": 0.0})
        self.down = False

    def step(self) -> None:
        """One control step. After a fall, ``down`` is set and the next must be a reset."""
        _, _, self.down, _, _ = self._env.step(self._action)

    @property
    def engine_seconds(self) -> float:
        """CPU time [s] spent inside Bullet's stepSimulation since the reset."""
        return float(self._plant.engine_seconds)

    def close(self) -> None:
        """Release the engine."""
        self._env.close()


class _Timed(NamedTuple):
    cpu: float
    engine: float
    simulated: float


def _time_walker(walker: Walker, seconds: float) -> _Timed:
    """CPU time of steps over some simulated seconds; a fall ends in a reset that is not counted."""
    cpu = engine = 0.0
    steps = max(1, round(seconds / walker.interval))
    for _ in range(steps):
        if walker.down:
            walker.reset()
        inside, start = walker.engine_seconds, time.process_time()
        walker.step()
        cpu += time.process_time() - start
        engine += walker.engine_seconds - inside
    return _Timed(cpu, engine, steps * walker.interval)


class _Peer:
    """The other package's humanoid: zero action, reset when done. Its resets are timed apart."""

    def __init__(self) -> None:
        import gymnasium
        import numpy as np

        with silenced():
            __import__(PEER_PACKAGE)
            env: Any = gymnasium.make(PEER).unwrapped
            env.reset(seed=0)
        self._env = env
        self._action = np.zeros(env.action_space.shape, dtype=np.float32)
        self.interval = float(env.scene.dt)
        self.reset_cpu = 0.0

    def time(self, seconds: float) -> _Timed:
        """CPU time of steps over some simulated seconds."""
        cpu = 0.0
        steps = round(seconds / self.interval)
        for _ in range(steps):
            start = time.process_time()
            _, _, done, _, _ = self._env.step(self._action)
            middle = time.process_time()
            cpu += middle - start
            if done:
                self._env.reset()
                self.reset_cpu += time.process_time() - middle
        return _Timed(cpu, 0.0, steps * self.interval)

    def close(self) -> None:
        self._env.close()


def measure(seconds: float = 20.0, progress: Callable[[float], None] | None = None) -> list[Figure]:
    """All figures.

    Args:
        seconds: simulated by either side.
        progress: called with the simulated seconds that are done.
    """
    with results_only():  # the peer prints
        figures = _measure_time(seconds, progress or (lambda _: None))
        return [*figures, *_kinematic_times(), _memory(), _import_time()]


def _measure_time(seconds: float, progress: Callable[[float], None]) -> list[Figure]:
    walker = Walker()
    peer = _Peer() if importlib.util.find_spec(PEER_PACKAGE) else None
    _time_walker(walker, WARM_UP)
    if peer is not None:
        peer.time(WARM_UP)
        peer.reset_cpu = 0.0
    ours: list[_Timed] = []
    theirs: list[_Timed] = []
    for k in range(max(1, round(seconds / BLOCK))):
        ours.append(_time_walker(walker, BLOCK))
        if peer is not None:
            theirs.append(peer.time(BLOCK))
        progress((k + 1) * BLOCK)
    cpu, engine, simulated = (sum(column) for column in zip(*ours, strict=True))
    out = [
        Figure(
            "step over stepSimulation",
            cpu / engine,
            2.2,
            1.6,
            "",
            f"{ENVIRONMENT}, zero action, {walker.iterations} solver iterations, {simulated:.0f} s simulated; "
            f"{cpu / simulated:.3f} CPU s per simulated second, {engine / simulated:.3f} of it in Bullet",
        )
    ]
    if peer is None:
        note = 'not installed: pip install "locomotion-sandbox[bench]"'
        out.append(Figure(f"CPU per simulated second over {PEER}", None, 2.8, 1.8, "", note))
    else:
        other, _, length = (sum(column) for column in zip(*theirs, strict=True))
        blocks = [a.cpu / a.simulated / (b.cpu / b.simulated) for a, b in zip(ours, theirs, strict=True)]
        note = (
            f"theirs {other / length:.3f} CPU s, resets left out (with them {(other + peer.reset_cpu) / length:.3f}); "
            f"turns of {BLOCK:g} s between {min(blocks):.2f} and {max(blocks):.2f}"
        )
        out.append(Figure(f"CPU per simulated second over {PEER}", cpu / simulated / (other / length), 2.8, 1.8, "", note))
        peer.close()
    out.append(_reset_time(walker))
    walker.close()
    return out


def _kinematic_times(seconds: float = 60.0) -> list[Figure]:
    """CPU time of walking kinematically, planner and solver, and whether a tick of a long walk costs more than one of a short one."""
    from sandbox.plants.continuous import DT, ContinuousWalker
    from sandbox.scenes.scene import Options, build
    from sandbox.simulation import Simulation

    simulation = Simulation(build("walk", Options(speed=SPEED, seconds=seconds + 10)), None, "kinematic")
    walker = ContinuousWalker()
    ticks = round(1 / DT)
    out = []
    for name, tick in (("kinematic plant", simulation.tick), ("walker of the study", lambda: walker.tick(SPEED))):
        for _ in range(3 * ticks):  # compiled, started
            tick()
        cost = []
        for _ in range(round(seconds)):
            start = time.process_time()
            for _ in range(ticks):
                tick()
            cost.append(time.process_time() - start)
        spent = statistics.median(cost)
        third = len(cost) // 3
        growth = statistics.median(cost[-third:]) / statistics.median(cost[:third]) if third else None
        note = f"planner and solver at {1 / DT:.0f} Hz and {SPEED:g} m/s, {1 / spent:.0f} times faster than real time; at least 30 wanted"
        out.append(Figure(f"CPU per simulated second, {name}", 1000 * spent, 1000 / 30, None, "ms", note))
        out.append(Figure(f"last over first third of {seconds:g} s, {name}", growth, 1.25, None, "", "time per tick does not grow"))
    simulation.close()
    return out


def _reset_time(walker: Walker) -> Figure:
    times = []
    for _ in range(20):
        for _ in range(3):  # the feet are on the ground by then
            walker.step()
        start = time.process_time()
        walker.reset()
        times.append(time.process_time() - start)
    return Figure("reset of an unchanged body and world", 1000 * statistics.median(times), 1.0, None, "ms", "median of 20")


def _memory(more: int = 4) -> Figure:
    what, limit = "one more environment", 32.0
    if not Path("/proc/self/statm").exists():
        return Figure(what, None, None, None, "MB", "not measured: this system has no /proc")
    done = _child(_MEMORY, str(more))
    value = float(done.stderr.split()[-1]) / MEGABYTE if done.returncode == 0 else None
    note = f"resident memory, mean of {more} beside two others" if value is not None else _last_line(done.stderr)
    return Figure(what, value, limit, None, "MB", note)


def _import_time() -> Figure:
    times, error = [], ""
    for _ in range(3):
        done = _child(_IMPORT)
        if done.returncode == 0:
            times.append(float(done.stdout))
        else:
            error = _last_line(done.stderr)
    value = statistics.median(times) if times else None
    return Figure("import sandbox", value, 0.5, None, "CPU s", error or "a fresh process, median of 3")


def _child(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=dict(os.environ), check=False)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it ended without a word"])[-1]


def reached(figures: list[Figure]) -> bool:
    """Whether every limit is kept."""
    return all(figure.reached is not False for figure in figures)


def table(figures: list[Figure]) -> str:
    """Markdown, aligned to be read as it is, with notes below."""
    rows: list[tuple[str, ...]] = [("what", "measured", "at most", "aim", "")]
    for k, figure in enumerate(figures, 1):
        verdict = {True: "kept", False: "NOT kept", None: ""}[figure.reached]
        rows.append((f"{figure.what} ({k})", *(_quantity(v, figure.unit) for v in (figure.value, figure.limit, figure.aim)), verdict))
    return markdown(rows) + "\n\n" + "\n".join(f"({k}) {figure.note}" for k, figure in enumerate(figures, 1))


def to_json(figures: list[Figure]) -> dict[str, Any]:
    """Plain values."""
    from sandbox import __version__

    return {
        "version": __version__,
        "reached": reached(figures),
        "figures": [figure._asdict() | {"reached": figure.reached} for figure in figures],
    }


def _quantity(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.3g}{' ' if unit else ''}{unit}"
