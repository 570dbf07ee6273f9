"""The battery: how often the walker stays up, how fast it goes, and how its gait compares with people.

Every cell is a set of runs that start in a perturbed way (pose, velocity, friction 0.6-1.0, time of the push, all drawn
from the run's seed). Seeds 10,000-19,999 belong to the battery; tuning uses those below.

Definitions. A fall: anything but a foot touches the ground, mid-hip sinks below 0.6 of its standing height, or the trunk
leans more than 60 degrees from vertical. A push is survived if no fall follows within 6 s of its end. Mean speed is taken
over the last 50 s of a walk of 60 s, gait figures over the strides after the first 8 s. A run that ends upright but did not
do what it was asked (walk, stop) has failed too, and its outcome says so.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sandbox import __version__
from sandbox.bench.pool import run_all
from sandbox.config import nearest
from sandbox.console import markdown, silenced
from sandbox.controllers.parameters import Parameters
from sandbox.recording import Recording
from sandbox.scenes.scene import PUSH_DURATION, START, Command, Options, Push, Scene, build

FIRST_SEED = 10_000  # of the battery
FRESH_SEEDS = (20_000, 100_000_000)  # from which a fresh set is drawn
SEEDS_PER_CELL = 100  # seeds set aside for each cell

WALK_SECONDS = 60.0
STAND_SECONDS = 60.0
TERRAIN_SECONDS = 30.0
WATCHED = 6.0  # [s] after a push
STRIDE = 1.2  # [s] about a stride at 1 m/s, over which the pushes are spread
STEADY = 8.0  # [s] from when on a walk from standing is steady

SPEED_TOLERANCE = 0.05
YAW_TOLERANCE = 0.15
WALKED = 0.7  # of the commanded speed: slower did not walk as asked, however upright it stayed
SETTLING = 4.0  # [s] after a command, before mean speed is taken
STOPPED = 0.1  # [m] that mid-hip may move in the last 2 s of a run that stops

# Four directions and eight, in an order in which the first few are far apart.
FOUR_WAYS = (0.0, 90.0, 180.0, 270.0)
EIGHT_WAYS = (0.0, 180.0, 90.0, 270.0, 45.0, 225.0, 135.0, 315.0)
WAYS = dict(zip(EIGHT_WAYS, ("forward", "back", "left", "right", "forward left", "back right", "back left", "forward right"), strict=True))


class Row(NamedTuple):
    """One run.

    Attributes:
        seed: of the run.
        cell, case: what was run: a cell of the battery, and which of its cases.
        seconds: length that was asked for [s].
        survived_s: time until the fall, or ``seconds``.
        fall_cause: empty without a fall.
        outcome: ``ok``, ``fell``, or what was not done.
        speed_command_mps, speed_mean_mps: where mean speed is taken; empty where there is none.
        yaw_rate_rps: mean heading rate of the turn; empty where nothing turns.
        friction: of the ground.
    """

    seed: int
    cell: str
    case: str
    seconds: float
    survived_s: float
    fall_cause: str
    outcome: str
    speed_command_mps: float | None
    speed_mean_mps: float | None
    yaw_rate_rps: float | None
    friction: float


class Case(NamedTuple):
    """A scene and what it is a case of."""

    name: str
    scene: Scene


@dataclass(frozen=True)
class Cell:
    """One line of the battery.

    Attributes:
        name: to ask for it by.
        title: to read.
        runs: in the whole battery.
        required: runs that must be ok, None where it is only reported.
        case: scene of a run, from its number in the cell and its seed.
        exact_speed: whether each run's mean speed must be within 5 % of the command.
        turning: whether each run's heading rate must be within 15 % of the command.
        stops: whether the walker must be at rest at the end.
        gait: whether gait figures are taken.
    """

    name: str
    title: str
    runs: int
    required: int | None
    case: Callable[[int, int], Case]
    exact_speed: bool = False
    turning: bool = False
    stops: bool = False
    gait: bool = False

    def needed(self, runs: int) -> int | None:
        """Runs out of ``runs`` that must be ok: the same share, rounded down, and at least one."""
        return None if self.required is None else max(1, math.floor(self.required * runs / self.runs))


# -- cells -------------------------------------------------------------------------------------------------------------------


def _stand(_: int, seed: int) -> Case:
    return Case("", build("stand", Options(speed=0.0, seconds=STAND_SECONDS, seed=seed)))


def _stand_push(force: float, ways: Sequence[float]) -> Callable[[int, int], Case]:
    def case(number: int, seed: int) -> Case:
        time = 3.0 + float(np.random.default_rng(seed).uniform())
        return _pushed(0.0, time, force, ways[number % len(ways)], seed)

    return case


def _walk_push(force: float) -> Callable[[int, int], Case]:
    """Ten phases, evenly spread over a stride, each drawn within its tenth; four directions."""

    def case(number: int, seed: int) -> Case:
        phase = number // len(FOUR_WAYS) % 10 + float(np.random.default_rng(seed).uniform())
        return _pushed(1.0, STEADY + STRIDE * phase / 10, force, FOUR_WAYS[number % len(FOUR_WAYS)], seed)

    return case


def _pushed(speed: float, time: float, force: float, way: float, seed: int) -> Case:
    push = Push(time, PUSH_DURATION, force, math.radians(way))
    options = Options(speed=speed, seconds=time + PUSH_DURATION + WATCHED, seed=seed, impulse=force * PUSH_DURATION, direction=way)
    return Case(f"{WAYS[way]} at {time:.2f} s", replace(build("push", options), pushes=(push,)))


def _walk(speed: float) -> Callable[[int, int], Case]:
    return lambda _, seed: Case("", build("walk", Options(speed=speed, seconds=WALK_SECONDS, seed=seed)))


def _start_stop(speed: float) -> Callable[[int, int], Case]:
    return lambda _, seed: Case("", build("start-stop", Options(speed=speed, seconds=22.0, seed=seed)))


def _speed_change(_: int, seed: int) -> Case:
    scene = build("walk", Options(speed=0.6, seconds=START + 30.0, seed=seed))
    return Case("", replace(scene, commands=tuple(Command(START + 10.0 * k, speed) for k, speed in enumerate((0.6, 1.2, 0.6)))))


def _turn(number: int, seed: int) -> Case:
    rate = 0.3 if number % 2 == 0 else -0.3
    return Case("left" if rate > 0 else "right", build("turn", Options(speed=0.8, heading_rate=rate, seconds=TERRAIN_SECONDS, seed=seed)))


def _slope(angle: float) -> Callable[[int, int], Case]:
    return lambda _, seed: Case("", build("slope", Options(speed=0.8, angle=angle, seconds=TERRAIN_SECONDS, seed=seed)))


def _bumps(_: int, seed: int) -> Case:
    return Case("", build("bumps", Options(speed=0.8, height=0.02, seconds=TERRAIN_SECONDS, seed=seed)))


def _cells() -> tuple[Cell, ...]:
    out = [
        Cell("stand", "standing 60 s", 8, 8, _stand),
        Cell("stand-push-50", "standing, 50 N for 0.2 s, eight directions", 64, 62, _stand_push(50.0, EIGHT_WAYS)),
        Cell("stand-push-100", "standing, 100 N, forward and back", 16, 15, _stand_push(100.0, (0.0, 180.0))),
    ]
    for speed in (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6):
        outer = speed in (0.4, 1.6)
        title = f"walking 60 s at {speed} m/s"
        out.append(Cell(f"walk-{speed}", title, 10, 8 if outer else 10, _walk(speed), exact_speed=not outer, gait=speed == 1.2))
    out += [Cell(f"start-stop-{v}", f"start, walk at {v} m/s, stop, stand", 10, 10, _start_stop(v), stops=True) for v in (0.6, 0.8, 1.2)]
    out += [
        Cell("speed-change", "0.6 to 1.2 m/s and back", 10, 10, _speed_change),
        Cell("turn", "turning at 0.3 rad/s either way, 0.8 m/s", 20, 18, _turn, turning=True),
    ]
    for angle, required in ((3.0, 8), (-3.0, 8), (5.0, None), (-5.0, None)):
        name = f"slope-{'up' if angle > 0 else 'down'}-{abs(angle):g}"
        out.append(Cell(name, f"slope of {angle:+g} degrees, 0.8 m/s", 10, required, _slope(angle)))
    out.append(Cell("bumps", "blind bumps of 2 cm, 0.8 m/s", 10, 7, _bumps))
    out += [
        Cell(f"push-{force}", f"1.0 m/s, {force} N for 0.2 s, four directions, ten phases", 40, required, _walk_push(float(force)))
        for force, required in ((50, 38), (100, 32), (150, None))
    ]
    return tuple(out)


CELLS = _cells()


def select(patterns: Sequence[str]) -> tuple[Cell, ...]:
    """The cells that a name or a pattern such as ``walk-*`` asks for, in the battery's order; all without a pattern.

    Raises:
        ValueError: a pattern that no cell has; the nearest name is suggested.
    """
    for pattern in patterns:
        if not any(fnmatchcase(cell.name, pattern) for cell in CELLS):
            raise ValueError(f"unknown cell {pattern!r}{nearest(pattern, [cell.name for cell in CELLS])}")
    return tuple(cell for cell in CELLS if not patterns or any(fnmatchcase(cell.name, pattern) for pattern in patterns))


# -- one run -----------------------------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """A run to be made, the ``number``-th of its cell: what a worker is sent."""

    cell: str
    number: int
    seed: int
    parameters: Parameters
    params_name: str
    keep: Path | None  # folder for the recordings of runs that fail


class Result(NamedTuple):
    """A run that was made: its row, gait figures where the cell asks for them, and what it cost [CPU s]."""

    row: Row
    gait: dict[str, Any] | None
    cpu_s: float
    engine_cpu_s: float


def run_trial(trial: Trial) -> Result:
    """Run and judge one trial."""
    with silenced():
        import sandbox.plants.bullet  # noqa: F401  (prints when it is imported)
    from sandbox.measure import gait_report
    from sandbox.simulation import run

    cell = next(cell for cell in CELLS if cell.name == trial.cell)
    case = cell.case(trial.number, trial.seed)
    recording = run(case.scene, seed=trial.seed, parameters=trial.parameters, params_name=trial.params_name)
    row = judge(cell, case, trial.seed, recording)
    if trial.keep is not None and row.outcome != "ok":
        recording.save(trial.keep / f"{cell.name}-{trial.seed}.npz")
    cpu = recording.header["cpu"]
    gait = gait_report(recording) if cell.gait and row.outcome == "ok" else None
    return Result(row, gait, cpu["total_s"], cpu["engine_s"])


def judge(cell: Cell, case: Case, seed: int, recording: Recording) -> Row:
    """What became of a run."""
    scene, fall = case.scene, recording.header["fall"]
    outcome = "fell" if fall["fell"] else "ok"
    command, speed, rate = Command(0.0, 0.0), None, None
    if not scene.pushes:
        ends = [command.time for command in scene.commands[1:]] + [scene.seconds]
        for current, end in zip(scene.commands, ends, strict=False):  # without a command there is an end too many
            if current.speed == 0.0:
                continue
            # of the last command to walk
            command = current
            speed = mean_speed(recording, max(STEADY, end - 50.0, current.time + SETTLING), end)
            if outcome == "ok" and (speed is None or speed < WALKED * current.speed) and end - current.time > SETTLING + 1.0:
                outcome = "did not walk"
    if cell.turning:
        rate = mean_yaw_rate(recording, STEADY, scene.seconds)
    if cell.stops and outcome == "ok" and distance(recording, scene.seconds - 2.0, scene.seconds) > STOPPED:
        outcome = "did not stop"
    return Row(
        seed=seed,
        cell=cell.name,
        case=case.name,
        seconds=_rounded(scene.seconds, 3),
        survived_s=_rounded(fall["time_s"] if fall["fell"] else scene.seconds, 3),
        fall_cause=fall["cause"] or "",
        outcome=outcome,
        speed_command_mps=command.speed if speed is not None else None,
        speed_mean_mps=None if speed is None else _rounded(speed, 5),
        yaw_rate_rps=None if rate is None else _rounded(rate, 5),
        friction=_rounded(scene.terrain.friction, 4),
    )


def mean_speed(recording: Recording, begin: float, end: float) -> float | None:
    """Mean speed [m/s] in the direction faced between two times [s]; None where the recording does not hold a second of it."""
    from sandbox.measure import Gait

    gait = Gait(recording)
    rows = gait.rows(begin, end)
    time, progress = recording.time[rows], gait.progress[rows]
    if len(time) < 2 or time[-1] - time[0] < 1.0:
        return None
    return float((progress[-1] - progress[0]) / (time[-1] - time[0]))


def mean_yaw_rate(recording: Recording, begin: float, end: float) -> float | None:
    """Mean rate [rad/s] at which the body turns to the left; None where the recording does not hold a second of it."""
    from sandbox.measure import Gait

    gait = Gait(recording)
    rows = gait.rows(begin, end)
    forward, time = gait.facing.forward[rows], recording.time[rows]
    if len(time) < 2 or time[-1] - time[0] < 1.0:
        return None
    yaw = np.unwrap(np.arctan2(-forward[:, 0], forward[:, 1]))
    return float((yaw[-1] - yaw[0]) / (time[-1] - time[0]))


def distance(recording: Recording, begin: float, end: float) -> float:
    """Horizontal distance [m] of mid-hip between two times [s]."""
    time = recording.time
    rows = np.flatnonzero((time >= begin) & (time <= end))
    if not len(rows):
        return math.inf
    path = recording.point("mid_hip")[:, :2]
    return float(np.linalg.norm(path[rows[-1]] - path[rows[0]]))


def _rounded(value: float, digits: int) -> float:
    return round(float(value), digits)


# -- all runs ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Battery:
    """What to run.

    Attributes:
        cells: of :data:`CELLS`.
        seeds: runs a cell, None for the whole battery.
        first_seed: seeds count from here.
        parameters, params_name: of the walker.
        workers: processes.
        keep: folder for the recordings of runs that fail.

    Raises:
        ValueError: no run a cell, or more than the battery has; no worker.
    """

    cells: tuple[Cell, ...] = CELLS
    seeds: int | None = None
    first_seed: int = FIRST_SEED
    parameters: Parameters | None = None
    params_name: str = "walker"
    workers: int = 2
    keep: Path | None = None

    def __post_init__(self) -> None:
        if self.seeds is not None and not 1 <= self.seeds <= SEEDS_PER_CELL:
            raise ValueError(f"seeds {self.seeds} are outside 1-{SEEDS_PER_CELL} a cell: leave the number out for the whole battery")
        if not 1 <= self.workers <= 64:
            raise ValueError(f"workers {self.workers} are outside 1-64: give the number of cores")
        if not 0 <= self.first_seed <= 2**31:
            raise ValueError(f"first seed {self.first_seed} is outside 0-{2**31}: {FIRST_SEED} is the battery's")

    def trials(self) -> list[Trial]:
        """All runs, the longest first."""
        parameters = self.parameters or Parameters.load()
        out = []
        for cell in self.cells:
            # A cell has the same seeds whichever others run beside it.
            first = self.first_seed + SEEDS_PER_CELL * CELLS.index(cell)
            runs = cell.runs if self.seeds is None else min(self.seeds, cell.runs)
            out += [Trial(cell.name, k, first + k, parameters, self.params_name, self.keep) for k in range(runs)]
        length = {cell.name: cell.case(0, 0).scene.seconds for cell in self.cells}
        return sorted(out, key=lambda trial: -length[trial.cell])

    def run(self, progress: Callable[[int, str], None] | None = None) -> Report:
        """Make all runs; ``progress`` is called with the number made and a note on the falls."""
        trials = self.trials()
        results: list[Result] = []
        failed = 0
        for _, result in run_all(run_trial, trials, self.workers):
            results.append(result)
            failed += result.row.outcome != "ok"
            if progress is not None:
                progress(len(results), f"{failed} failed")
        order = {cell.name: k for k, cell in enumerate(CELLS)}
        results.sort(key=lambda result: (order[result.row.cell], result.row.seed))
        return Report(self, tuple(results))


class Line(NamedTuple):
    """One line of a report: what, required, achieved, and whether that is enough (None where nothing is asked)."""

    what: str
    required: str
    achieved: str
    reached: bool | None


@dataclass(frozen=True)
class Report:
    """What came out."""

    battery: Battery
    results: tuple[Result, ...]

    @property
    def rows(self) -> list[Row]:
        """Of all runs, in the order of cells and seeds."""
        return [result.row for result in self.results]

    @property
    def reached(self) -> bool:
        """Whether everything that is asked was reached."""
        return all(line.reached is not False for line in self.lines() + self.gait_lines())

    @property
    def cost(self) -> float:
        """CPU time over simulated time."""
        simulated = sum(row.survived_s for row in self.rows)
        return sum(result.cpu_s for result in self.results) / simulated if simulated else math.nan

    def lines(self) -> list[Line]:
        """A line for each cell, and one for each further requirement of it."""
        out = []
        for cell in self.battery.cells:
            rows = [row for row in self.rows if row.cell == cell.name]
            good = [row for row in rows if row.outcome == "ok"]
            needed = cell.needed(len(rows))
            required = "reported" if needed is None else f"{needed} of {len(rows)}"
            out.append(Line(cell.title, required, f"{len(good)} of {len(rows)}", None if needed is None else len(good) >= needed))
            out += _speed_line(cell, good) + _turn_line(good)
        return out

    def gait_lines(self) -> list[Line]:
        """Gait figures: the mean over the runs that stayed up, and their range."""
        reports = [result.gait for result in self.results if result.gait]
        return [figure.line(reports) for figure in GAIT_FIGURES] if any(cell.gait for cell in self.battery.cells) else []

    def gait_means(self) -> dict[str, float | None]:
        """Mean of every numeric gait figure over the runs that stayed up."""
        reports = [result.gait for result in self.results if result.gait]
        keys = [key for key in reports[0] if key != "events"] if reports else []
        means = {key: _values(reports, key) for key in keys}
        return {key: float(np.mean(values)) if values else None for key, values in means.items()}

    def table(self) -> str:
        """Markdown, aligned to be read as it is."""
        cells = [("run", "required", "achieved", "")] + [_cells_of(line) for line in self.lines()]
        out = markdown(cells)
        if gait := self.gait_lines():
            out += "\n\n" + markdown([("gait at 1.2 m/s", "required", "mean (range over runs)", "")] + [_cells_of(line) for line in gait])
        return out

    def csv(self) -> str:
        """The raw rows."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(self.rows)
        return text.getvalue()

    def to_json(self) -> dict[str, Any]:
        """Plain values: settings, lines, gait figures, rows."""
        parameters = self.battery.parameters or Parameters.load()
        return {
            "version": __version__,
            "params": {"name": self.battery.params_name, "hash": parameters.hash},
            "first_seed": self.battery.first_seed,
            "runs": len(self.results),
            "reached": self.reached,
            "cpu_per_simulated_s": self.cost,
            "cells": [line._asdict() for line in self.lines()],
            "gait": {"lines": [line._asdict() for line in self.gait_lines()], "means": self.gait_means()},
            "rows": [row._asdict() for row in self.rows],
        }


def _speed_line(cell: Cell, rows: list[Row]) -> list[Line]:
    rows = [row for row in rows if row.speed_mean_mps is not None and row.speed_command_mps]
    if not rows:
        return []
    speeds = [float(row.speed_mean_mps or 0.0) for row in rows]
    worst = max(abs(float(row.speed_mean_mps or 0.0) / float(row.speed_command_mps or 1.0) - 1) for row in rows)
    required = f"each within {100 * SPEED_TOLERANCE:.0f} %" if cell.exact_speed else "reported"
    achieved = f"{np.mean(speeds):.3f} m/s, worst {100 * worst:.1f} % off"
    return [Line("  mean speed", required, achieved, worst <= SPEED_TOLERANCE if cell.exact_speed else None)]


def _turn_line(rows: list[Row]) -> list[Line]:
    rates = [abs(row.yaw_rate_rps) for row in rows if row.yaw_rate_rps is not None]
    if not rates:
        return []
    worst = max(abs(rate / 0.3 - 1) for rate in rates)
    required = f"each within {100 * YAW_TOLERANCE:.0f} %"
    return [Line("  heading rate", required, f"{np.mean(rates):.3f} rad/s, worst {100 * worst:.1f} % off", worst <= YAW_TOLERANCE)]


@dataclass(frozen=True)
class GaitFigure:
    """One figure of the gait and what is asked of its mean.

    Attributes:
        what: to read.
        key: of the gait report, or the difference of two (``a - b``).
        low, high: bounds of the mean.
        digits: after the point.
        unit: of both.
    """

    what: str
    key: str
    low: float | None = None
    high: float | None = None
    digits: int = 1
    unit: str = ""

    def line(self, reports: list[dict[str, Any]]) -> Line:
        """Of the reports of all runs."""
        values = _values(reports, self.key)
        unit = f" {self.unit}" if self.unit else ""
        if not values:
            return Line(self.what, self._required(unit), "not measured", False if self._asked else None)
        mean = float(np.mean(values))
        achieved = f"{mean:.{self.digits}f}{unit} ({min(values):.{self.digits}f} to {max(values):.{self.digits}f})"
        good = (self.low is None or mean >= self.low) and (self.high is None or mean <= self.high)
        return Line(self.what, self._required(unit), achieved, good if self._asked else None)

    @property
    def _asked(self) -> bool:
        return self.low is not None or self.high is not None

    def _required(self, unit: str) -> str:
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}{unit}"
        if self.low is not None:
            return f"at least {self.low:g}{unit}"
        return f"at most {self.high:g}{unit}" if self.high is not None else "reported"


GAIT_FIGURES = (
    GaitFigure("knee flexion at loading", "knee_loading_deg", 8, 28, unit="deg"),
    GaitFigure("knee flexion in mid-stance", "knee_midstance_deg", 3, 20, unit="deg"),
    GaitFigure("  less than at loading by", "knee_yield_deg", 5, unit="deg"),
    GaitFigure("knee flexion in swing, peak", "knee_swing_deg", 45, 70, unit="deg"),
    GaitFigure("hip range, thigh against vertical", "hip_range_deg", high=55, unit="deg"),
    GaitFigure("cadence", "cadence_spm", unit="steps/min"),
    GaitFigure("  KLAW's law at this speed", "cadence_klaw_spm", unit="steps/min"),
    GaitFigure("  young adults (WBDS) at this speed", "cadence_wbds_spm", unit="steps/min"),
    GaitFigure("  runs between the two, 3 % beyond allowed", "cadence_in_range", 1.0, digits=2),
    GaitFigure("vertical force: landing peak above valley", "grf_landing_bw - grf_valley_bw", 0.05, digits=3, unit="BW"),
    GaitFigure("vertical force: push-off peak above valley", "grf_push_off_bw - grf_valley_bw", 0.05, digits=3, unit="BW"),
    GaitFigure("vertical force: landing peak", "grf_landing_bw", high=2.0, digits=2, unit="BW"),
    GaitFigure("  the largest of any step", "grf_landing_max_bw", digits=2, unit="BW"),
    GaitFigure("double support, both together (people 0.24)", "double_support_fraction", 0.13, digits=3, unit="of the cycle"),
    GaitFigure("touchdowns with the heel first", "heel_first_share", 0.95, digits=3),
    GaitFigure("lift-offs with the toes last", "toe_last_share", 0.95, digits=3),
    GaitFigure("RMS against 24 adults, mean of hip, knee, ankle", "rms_mean_deg", high=9, unit="deg"),
    GaitFigure("  hip, thigh against vertical", "rms_hip_deg", unit="deg"),
    GaitFigure("  knee", "rms_knee_deg", unit="deg"),
    GaitFigure("  ankle", "rms_ankle_deg", unit="deg"),
    GaitFigure("RMS with means removed", "rms_mean_shape_deg", unit="deg"),
)


def _values(reports: list[dict[str, Any]], key: str) -> list[float]:
    """The figure in every report that has it."""
    first, _, second = key.partition(" - ")
    pairs = [(report.get(first), report.get(second) if second else 0.0) for report in reports]
    return [float(a) - float(b) for a, b in pairs if a is not None and b is not None]


def _cells_of(line: Line) -> tuple[str, ...]:
    verdict = {True: "reached", False: "NOT reached", None: ""}[line.reached]
    return (line.what, line.required, line.achieved, verdict)
