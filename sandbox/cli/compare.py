"""`sandbox compare`: stance models on the kinematic and on the physical plant side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from sandbox.cli.common import (
    COMPILING,
    DONE,
    STDOUT,
    JsonOption,
    MassOption,
    ParamsOption,
    SeedOption,
    SetOption,
    SexOption,
    check_output,
    check_outputs,
    checking,
    load_engine,
    need,
    option,
    read_parameters,
    results,
    write_text,
)
from sandbox.console import Progress

SHORTEST = 4.0  # [s]: one of standing, and then some strides


@dataclass(frozen=True)
class Compare:
    """Walk the same command with stance models on both plants, and put figures, curves and a replay side by side."""

    speed: Annotated[float, option("M/S", "speed to walk at, 0-2")] = 0.8
    stance: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="NAME ...", help="stance models: kinematic, virtual-leg, telescoping, klaw, boulic")
    ] = ("kinematic",)
    plant: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...", help="plants: kinematic, bullet")] = ("kinematic", "bullet")
    seconds: Annotated[float, option("S", "duration of each walk")] = 20.0
    seed: SeedOption = 0
    mass: MassOption = 70.0
    height: Annotated[float, option("M", "height of the body, 1.20-2.20")] = 1.74
    sex: SexOption = "mean"
    params: ParamsOption = None
    changes: SetOption = ()
    out: Annotated[Path, option("DIR", "folder for the HTML report and the figures, as text and JSON")] = Path("out/compare")
    json: JsonOption = None

    def execute(self) -> int:
        """Run all, print the table, write the report, and return the exit code."""
        with checking():
            from sandbox.bodies.anatomy import Anatomy
            from sandbox.comparison import chosen_pairs
            from sandbox.config import check_range
            from sandbox.scenes.scene import SECONDS_RANGE, Options, build
            from sandbox.simulation import check_stance

            check_range("seconds", self.seconds, (SHORTEST, SECONDS_RANGE[1]), "s")
            pairs, _ = chosen_pairs(self.stance, self.plant)
            anatomy = Anatomy(self.mass, self.height, self.sex)
            scene = build("walk", Options(self.speed, seconds=self.seconds, seed=self.seed))
            for stance, plant in pairs:
                check_stance(stance, plant, scene, anatomy)
            parameters, name = read_parameters(self.params, self.changes)
            files = [self.out / "compare.md", self.out / "compare.json", self.out / "report.html"]
            for file in files:
                check_output("--out", file)
            need("the report needs", "plotly")
            outputs = check_outputs(json=self.json)
        with results(self.json) as (out, words):
            load_engine()
            from sandbox.comparison import compare
            from sandbox.report.page import save_page

            with Progress("compare", len(pairs) * self.seconds, "s", COMPILING) as progress:
                result = compare(
                    self.speed,
                    self.seconds,
                    self.seed,
                    stances=self.stance,
                    plants=self.plant,
                    anatomy=anatomy,
                    parameters=parameters,
                    params_name=name,
                    progress=progress,
                )
            for file, text in zip(files, (result.as_text() + "\n", result.to_json() + "\n"), strict=False):
                write_text(file, text)
            save_page(
                files[2],
                f"Walking at {self.speed:g} m/s: what physics changes",
                result.subjects(),
                result.froude,
                about=f"{self.mass:g} kg, {self.height:g} m; {self.seconds:g} s each, seed {self.seed}; parameters {name}.",
                missing=result.missing_lines(),
                verdict=result.verdict(),
            )
            print(result.as_text(), file=words)
            print(f"written: {', '.join(str(file) for file in files)}", file=words)
            if self.json == STDOUT:
                out.write(result.to_json() + "\n")
            for output in outputs:
                write_text(output.path, result.to_json() + "\n")
        return DONE
