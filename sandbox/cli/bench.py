"""`sandbox bench`: what the walker costs, and how it walks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

import tyro

from sandbox.cli.common import (
    DONE,
    FAILED,
    STDOUT,
    JsonOption,
    ParamsOption,
    SetOption,
    check_output,
    checking,
    json_text,
    load_engine,
    need,
    option,
    read_parameters,
    results,
    write_text,
)
from sandbox.console import Progress


@dataclass(frozen=True)
class Bench:
    """Measure the walker: what it costs, how it walks, which scenes it survives. `bench walk` takes some minutes on two cores."""

    what: Annotated[
        tyro.conf.Positional[Literal["speed", "walk", "scenes", "view", "measure", "train"]],
        tyro.conf.arg(
            help="speed: CPU time and memory, as ratios; walk: falls, pushes, slopes, gait; scenes: survival; view: updates of the page; "
            "measure: time to measure a gait and to compare; train: throughput of PPO"
        ),
    ] = "speed"
    seconds: Annotated[
        float | None, option("S", "speed: simulated by either side (default: 20); view: each condition (default: 10)", default=False)
    ] = None
    seeds: Annotated[int | None, option("N", "walk: runs a cell (default: all); scenes: runs a scene (default: 10)", default=False)] = None
    only: Annotated[
        str | None, option("CELLS", "walk: names or patterns with commas between (sandbox list cells); scenes: names", default=False)
    ] = None
    fresh: Annotated[bool, tyro.conf.arg(help="walk: seeds that nobody has seen, drawn now; the first one is reported")] = False
    first_seed: Annotated[int | None, option("N", "walk: count seeds from here, to repeat a fresh set (default: 10000)", default=False)] = (
        None
    )
    workers: Annotated[int | None, option("N", "walk, scenes: processes (default: 2)", default=False)] = None
    params: ParamsOption = None
    changes: SetOption = ()
    out: Annotated[Path | None, option("DIR", "walk: folder for walk.csv, walk.json and walk.md (default: out/bench)", default=False)] = (
        None
    )
    keep_failed: Annotated[bool, tyro.conf.arg(help="walk: keep the recordings of runs that fail, in the folder of --out")] = False
    json: JsonOption = None
    require: Annotated[bool, tyro.conf.arg(help="exit with 1 where something required is not reached")] = False

    def execute(self) -> int:
        """Measure, and return the exit code."""
        kinds = {
            "speed": self._speed, "walk": self._walk, "scenes": self._scenes, "view": self._view, "measure": self._measure,
            "train": self._train,
        }  # fmt: skip
        return kinds[self.what]()

    def _speed(self) -> int:
        with checking():
            for name in ("seeds", "only", "first_seed", "workers", "params", "out"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name.replace('_', '-')} means nothing to `bench speed`: it belongs to `bench walk`")
            for name, given in (("fresh", self.fresh), ("keep-failed", self.keep_failed), ("set", bool(self.changes))):
                if given:
                    raise ValueError(f"--{name} means nothing to `bench speed`: it belongs to `bench walk`")
            seconds = 20.0 if self.seconds is None else self.seconds
            if not 1.0 <= seconds <= 3600.0:
                raise ValueError(f"seconds {seconds:g} s is outside 1..3600 s: give a value in that range")
            self._check_json()
        from sandbox.bench import speed

        with results(self.json) as (out, words):
            with Progress("bench", seconds, "s") as progress:
                figures = speed.measure(seconds, progress)
            self._write_json(speed.to_json(figures), out)
            print(speed.table(figures), file=words)
        return FAILED if self.require and not speed.reached(figures) else DONE

    def _walk(self) -> int:
        with checking():
            from sandbox.bench import walk

            if self.seconds is not None:
                raise ValueError("--seconds means nothing to `bench walk`, whose runs have their own: it belongs to `bench speed`")
            if self.fresh and self.first_seed is not None:
                raise ValueError(f"--fresh draws a first seed, and --first-seed {self.first_seed} gives one: leave one of them out")
            cells = walk.select([part.strip() for part in (self.only or "").split(",") if part.strip()])
            first = walk.FIRST_SEED if self.first_seed is None else self.first_seed
            if self.fresh:
                low, high = walk.FRESH_SEEDS
                first = low + int.from_bytes(os.urandom(8), "big") % (high - low)
            parameters, name = read_parameters(self.params, self.changes)
            folder = self.out or Path("out/bench")
            if folder.exists() and not folder.is_dir():
                raise ValueError(f"--out {folder} is not a folder: give the name of one")
            files = [folder / f"walk.{ending}" for ending in ("csv", "json", "md")]
            for file in files:
                check_output("--out", file)
            self._check_json()
            keep = folder / "failed" if self.keep_failed else None
            battery = walk.Battery(cells, self.seeds, first, parameters, name, 2 if self.workers is None else self.workers, keep)
            folder.mkdir(parents=True, exist_ok=True)
            if keep is not None:
                keep.mkdir(exist_ok=True)
        with results(self.json) as (out, words):
            print(f"parameters {name} ({parameters.hash}), seeds from {first}", file=words, flush=True)
            with Progress("battery", len(battery.trials()), "runs") as progress:
                report = battery.run(progress)
            result = report.to_json()
            for file, text in zip(files, (report.csv(), json_text(result), report.table() + "\n"), strict=True):
                write_text(file, text)
            self._write_json(result, out)
            print(report.table(), file=words)
            print(f"\n{report.cost:.3f} CPU s per simulated second; rows in {files[0]}", file=words)
        return FAILED if self.require and not report.reached else DONE

    def _scenes(self) -> int:
        with checking():
            from sandbox.bench import scenes

            for name in ("seconds", "first_seed", "out"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name.replace('_', '-')} means nothing to `bench scenes`: leave it out")
            parameters, _ = read_parameters(self.params, self.changes)
            wanted = [part.strip() for part in (self.only or "").split(",") if part.strip()]
            seeds = 10 if self.seeds is None else self.seeds
            trials = scenes.plan(wanted, seeds, parameters)
            self._check_json()
        with results(self.json) as (out, words):
            with Progress("scenes", len(trials), "runs") as progress:
                report = scenes.survival(trials, 2 if self.workers is None else self.workers, progress)
            self._write_json(report.to_json(), out)
            print(report.table(), file=words)
        return DONE

    def _view(self) -> int:
        with checking():
            for name in ("seeds", "only", "first_seed", "workers", "params", "out"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name.replace('_', '-')} means nothing to `bench view`: leave it out")
            need("the view needs", "viser")
            from sandbox.bench import view
            from sandbox.config import check_range

            seconds = 10.0 if self.seconds is None else self.seconds
            check_range("seconds", seconds, view.SECONDS_RANGE, "s")
            self._check_json()
        with results(self.json) as (out, words):
            with Progress("view", 1.0, "of all") as progress:
                figures = view.measure(seconds, progress)
            self._write_json({"view": [figure._asdict() | {"kept": figure.kept} for figure in figures]}, out)
            print(view.table(figures), file=words)
        return FAILED if self.require and not all(figure.kept for figure in figures) else DONE

    def _measure(self) -> int:
        with checking():
            for name in ("seconds", "seeds", "only", "first_seed", "workers", "params", "out"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name.replace('_', '-')} means nothing to `bench measure`: leave it out")
            need("the page of a comparison needs", "plotly")
            self._check_json()
        from sandbox.bench import measure, speed

        with results(self.json) as (out, words):
            with Progress("measure", 1.0, "of all") as progress:
                figures = measure.measure(progress)
            self._write_json(speed.to_json(figures), out)
            print(speed.table(figures), file=words)
        return FAILED if self.require and not speed.reached(figures) else DONE

    def _train(self) -> int:
        with checking():
            for name in ("seconds", "seeds", "only", "first_seed", "workers", "params", "out"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name.replace('_', '-')} means nothing to `bench train`: leave it out")
            need("training needs", "torch", "stable_baselines3")
            self._check_json()
        load_engine()
        from sandbox.bench import train

        with results(self.json) as (out, words):
            with Progress("train", 1.0, "of all") as progress:
                measured = train.measure(progress=progress)
            self._write_json(train.to_json(measured), out)
            print(train.table(measured), file=words)
        over = train.ratio(measured)
        return FAILED if self.require and (over is None or over < train.LIMIT) else DONE

    def _check_json(self) -> None:
        if self.json not in (None, STDOUT):
            check_output("--json", Path(str(self.json)))

    def _write_json(self, value: Mapping[str, Any], out: TextIO) -> None:
        if self.json == STDOUT:
            out.write(json_text(value))
        elif self.json is not None:
            write_text(Path(self.json), json_text(value))
