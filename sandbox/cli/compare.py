"""`sandbox compare`: kinematic and physical plant side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

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
    option,
    read_parameters,
    results,
    write_text,
)
from sandbox.console import Progress


@dataclass(frozen=True)
class Compare:
    """Walk the same command on the kinematic and on the physical plant, and put the figures side by side."""

    speed: Annotated[float, option("M/S", "speed to walk at, 0-2")] = 0.8
    seconds: Annotated[float, option("S", "duration")] = 20.0
    seed: SeedOption = 0
    mass: MassOption = 70.0
    height: Annotated[float, option("M", "height of the body, 1.20-2.20")] = 1.74
    sex: SexOption = "mean"
    params: ParamsOption = None
    changes: SetOption = ()
    out: Annotated[Path, option("DIR", "folder for the table, as text and JSON")] = Path("out/compare")
    json: JsonOption = None

    def execute(self) -> int:
        """Run both, print and write the table, and return the exit code."""
        with checking():
            from sandbox.bodies.anatomy import Anatomy
            from sandbox.scenes.scene import Options, build

            anatomy = Anatomy(self.mass, self.height, self.sex)
            build("walk", Options(self.speed, seconds=self.seconds, seed=self.seed))
            parameters, name = read_parameters(self.params, self.changes)
            files = [self.out / "compare.md", self.out / "compare.json"]
            for file in files:
                check_output("--out", file)
            outputs = check_outputs(json=self.json)
        with results(self.json) as (out, words):
            load_engine()
            from sandbox.comparison import compare

            with Progress("compare", 2 * self.seconds, "s", COMPILING) as progress:
                result = compare(
                    self.speed, self.seconds, self.seed, anatomy=anatomy, parameters=parameters, params_name=name, progress=progress
                )
            for file, text in zip(files, (result.as_text() + "\n", result.to_json() + "\n"), strict=True):
                write_text(file, text)
            print(result.as_text(), file=words)
            if self.json == STDOUT:
                out.write(result.to_json() + "\n")
            for output in outputs:
                write_text(output.path, result.to_json() + "\n")
        return DONE
