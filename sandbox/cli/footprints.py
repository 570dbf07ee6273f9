"""`sandbox footprints`: a gait that steps into given prints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import tyro

from sandbox.cli.common import (
    DONE,
    FAILED,
    STDOUT,
    JsonOption,
    check_folder,
    check_outputs,
    checking,
    json_text,
    option,
    results,
    write_text,
)
from sandbox.console import Progress

if TYPE_CHECKING:
    from sandbox.footprints.generate import Generated

DEFAULT_OUT = Path("out/footprints")


@dataclass(frozen=True)
class Footprints:
    """A gait from footprints: joint curves of a body that steps into given prints."""

    anatomy: Annotated[str, option("FILE", "TOML of a body, or a shipped one: chimpanzee, human")] = "human"
    prints: Annotated[Path | None, option("FILE.csv", "prints in order: foot, x_m, y_m, and where known z_m, yaw_deg", default=False)] = (
        None
    )
    step_length: Annotated[float | None, option("M", "of equal steps straight ahead, instead of prints", default=False)] = None
    step_width: Annotated[float, option("M", "sideways distance of the prints, with --step-length")] = 0.1
    steps: Annotated[int, option("N", "how many such steps, 2-200")] = 9
    step_time: Annotated[float | None, option("S", "from strike to strike; by default as people take such steps", default=False)] = None
    objective: Annotated[Literal["momentum", "jerk", "energy", "none"], tyro.conf.arg(help="what the gait is to have little of")] = (
        "momentum"
    )
    start: Annotated[
        Path | None, option("CLIP", "gait to begin with: AMC, or joint curves (CSV) of an earlier run", default=False, name="from")
    ] = None
    out: Annotated[Path, option("DIR", "folder for recording, joint curves (CSV) and report")] = DEFAULT_OUT
    physical: Annotated[bool, tyro.conf.arg(help="hand the gait to the physical plant, and say how long that walks")] = False
    experiment: Annotated[Path | None, option("DIR", "instead: the paper's experiment on the reference data in DIR", default=False)] = None
    json: JsonOption = None

    def execute(self) -> int:
        """Optimise, walk, write, and return the exit code: 1 where a print was not reached."""
        if self.experiment is not None:
            return self._experiment(self.experiment)
        from sandbox.footprints.anatomy import read
        from sandbox.footprints.generate import generate, straight_prints
        from sandbox.footprints.initial import read_start
        from sandbox.footprints.prints import Step, read_prints

        with checking():
            check_folder("--out", self.out)
            outputs = check_outputs(json=self.json)
            if (self.prints is None) == (self.step_length is None):
                raise ValueError("give either --prints FILE.csv or --step-length M (with --step-width M)")
            body = read(self.anatomy)
            if self.step_length is not None:
                if not 2 <= self.steps <= 200:
                    raise ValueError(f"--steps {self.steps} is outside 2 to 200: give a number in that range")
                prints = straight_prints(Step(self.step_length, self.step_width), self.steps + 1)
            else:
                assert self.prints is not None
                prints = read_prints(self.prints)
            start = read_start(self.start) if self.start is not None else None
            with Progress("footprints", len(prints) - 1, "steps") as progress:
                made = generate(
                    body, prints, self.step_time, start, None if self.objective == "none" else self.objective, lambda k, _: progress(k)
                )
        with results(self.json) as (out, words):
            found = report(made, self.objective)
            if self.physical:
                from sandbox.footprints.physical import walk_physically

                with checking():
                    found["physical"] = walk_physically(made)
            self._write(made, found)
            print(text(made, found), file=words)
            print(f"written: {self.out}", file=words)
            as_json = json_text(found)
            if self.json == STDOUT:
                out.write(as_json)
            for output in outputs:
                write_text(output.path, as_json)
        return DONE if all(s.converged for s in made.solutions) else FAILED

    def _write(self, made: Generated, found: dict[str, Any]) -> None:
        from sandbox.footprints.walk import columns

        self.out.mkdir(parents=True, exist_ok=True)
        made.walk.recording("footprints", made.speed).save(self.out / "walk.npz")
        write_text(self.out / "curves.csv", columns(made.pair, 2 * made.step_time))
        write_text(self.out / "report.json", json_text(found))
        write_text(self.out / "report.txt", text(made, found) + "\n")

    def _experiment(self, data: Path) -> int:
        from sandbox.footprints import experiment

        with checking():
            check_folder("--out", self.out)
            trials = experiment.read_trials(data)
            with Progress("footprints", len(trials), "trials") as progress:
                people, failed = experiment.read_people(data, trials, progress)
        found = experiment.run(people, failed, self.out)
        print(experiment.table(found))
        print(f"written: {self.out}")
        return DONE


def report(made: Generated, objective: str) -> dict[str, Any]:
    """All figures of a gait."""
    steps = [
        {"length_m": s.length, "width_m": s.width, "rise_m": s.rise, "turn_deg": float(np.degrees(s.turn)), "error_m": r.error,
         "objective_start": _number(r.objective[0]), "objective_footprints": _number(r.objective[1]), "objective": _number(r.objective[2]),
         "seconds": r.seconds, "squeezed_deg": float(np.degrees(r.squeezed)), "path": len(r.path) - 1, "iterations": r.steps}
        for s, r in zip(made.steps, made.solutions, strict=True)
    ]  # fmt: skip
    return {
        "anatomy": made.anatomy.name,
        "source": made.anatomy.source,
        "start": made.start.name,
        "objective": objective,
        "step_time_s": made.step_time,
        "speed_mps": made.speed,
        "symmetric": made.symmetric,
        "converged": all(s.converged for s in made.solutions),
        "steps": steps,
        "walk": made.walk.figures,
    }


def _number(value: float) -> float | None:
    """As JSON has it: None for what is not there."""
    return value if math.isfinite(value) else None


def text(made: Generated, found: dict[str, Any]) -> str:
    """The report, for people."""
    steps, walked = found["steps"], found["walk"]
    lines = [
        (
            f"{found['anatomy']}: {len(steps)} steps of {np.mean([s['length_m'] for s in steps]):.3f} m, "
            f"{made.step_time:.3f} s each ({made.speed:.2f} m/s), started from {found['start']}"
        ),
        (
            f"footprints: {sum(s.converged for s in made.solutions)} of {len(steps)} to a millimetre, "
            f"furthest {max(s['error_m'] for s in steps):.1e} m; {max(s['seconds'] for s in steps):.2f} s CPU at most for a step"
        ),
    ]
    if steps[0]["objective"] is not None:
        a, b, c = (float(np.mean([s[k] for s in steps])) for k in ("objective_start", "objective_footprints", "objective"))
        lines.append(f"{found['objective']}: {a:.2e} at the start, {b:.2e} with the footprints, {c:.2e} at the end")
    lines.append(
        f"walked {walked['walked_m']:.2f} m in {walked['seconds']:.2f} s: slip {1000 * walked['slip_m']:.2f} mm, "
        f"ankle over its print to {1000 * walked['print_error_m']:.2f} mm, toes clear {1000 * walked['toe_clearance_m']:.0f} mm, "
        f"legs {walked['leg_rms_from_optimised_deg']:.1f} deg RMS from the optimised curves, "
        f"{walked['beyond_limits_deg']:.1f} deg beyond limits, {1000 * walked['out_of_reach_m']:.1f} mm out of reach"
    )
    if "physical" in found:
        p = found["physical"]
        end = f"fell after {p['survived_s']:.1f} s ({p['fall_cause']})" if p["fell"] else f"did not fall in {p['survived_s']:.1f} s"
        lines.append(
            f"physical plant: {end}, {p['distance_m']:.1f} m, {p['speed_mps']:.2f} m/s of {made.speed:.2f}, steps of {p['step_length_m']} m"
        )
    return "\n".join(lines)
