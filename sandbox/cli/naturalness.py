"""`sandbox naturalness`: how far the shipped gaits are from people's."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from sandbox.cli.common import (
    COMPILING,
    DONE,
    FAILED,
    STDOUT,
    JsonOption,
    ParamsOption,
    SetOption,
    check_output,
    check_outputs,
    checking,
    json_text,
    load_engine,
    read_parameters,
    results,
    write_text,
)
from sandbox.console import Progress


@dataclass(frozen=True)
class Naturalness:
    """Rank how far the shipped gaits are from people's, curve by curve, with the change since the baseline; list their jerks."""

    plant: Annotated[
        Literal["both", "kinematic", "bullet"], tyro.conf.arg(help="whose gaits; Boulic's and KLAW's walks stand beside them")
    ] = "both"
    params: ParamsOption = None
    changes: SetOption = ()
    check: Annotated[bool, tyro.conf.arg(help="exit with 1 where a gait has moved away from people beyond tolerance")] = False
    rebase: Annotated[bool, tyro.conf.arg(help="make these figures the baseline, in the project's own data")] = False
    json: JsonOption = None

    def execute(self) -> int:
        """Walk, rank, and return the exit code."""
        with checking():
            from sandbox.naturalness import BASELINE, PEERS, SPEEDS

            parameters, _ = read_parameters(self.params, self.changes)
            path = Path(str(files("sandbox.measure"))) / "data" / BASELINE
            if self.rebase:
                if self.params is not None or self.changes:
                    raise ValueError("--rebase is for the shipped parameters: leave --params and --set away")
                check_output("--rebase", path)
            outputs = check_outputs(json=self.json)
        plants = tuple(SPEEDS) if self.plant == "both" else (self.plant,)
        with results(self.json) as (out, words):
            load_engine()
            from sandbox.naturalness import baseline, baseline_text, before, measure_all, moved_away, ranking, route_pops, route_text

            shown = (*plants, *PEERS)
            with Progress("naturalness", sum(len((SPEEDS | PEERS)[plant]) for plant in shown), "gaits", COMPILING) as progress:
                gaits = measure_all(shown, parameters, progress)
                routes = [route_pops(plant, parameters) for plant in plants]
            known = baseline()
            print(ranking(gaits, known), file=words)
            for route in routes:
                print(f"\n{route_text(route)}", file=words)
            worse = [line for gait in gaits if (old := before(gait, known)) is not None for line in moved_away(gait, old)]
            for line in worse:
                print(f"further from people: {line}", file=words)
            result: dict[str, Any] = {"gaits": gaits, "baseline": known, "moved_away": worse}
            result["route"] = {
                route.plant: {
                    "fell": route.fell,
                    "largest": route.largest,
                    "pops": [{"part": part, **pop._asdict()} for part, pop in route.pops],
                }
                for route in routes
            }
            if self.rebase:
                kept = [old for old in known if old["plant"] not in plants]
                write_text(path, baseline_text([*kept, *(gait for gait in gaits if gait["plant"] in plants)]))
                print(f"written: {path}", file=words)
            if self.json == STDOUT:
                out.write(json_text(result))
            for output in outputs:
                write_text(output.path, json_text(result))
        return FAILED if self.check and worse else DONE
