"""`sandbox measure`: the gait in a recording or in motion capture."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from sandbox.cli.common import (
    DONE,
    FAILED,
    STDOUT,
    InputError,
    JsonOption,
    check_folder,
    check_outputs,
    checking,
    json_text,
    need,
    option,
    results,
    write_text,
)
from sandbox.console import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.measure.analysis import Analysis
    from sandbox.measure.dynamics import Dynamics
    from sandbox.measure.people import Scores
    from sandbox.measure.turns import Turn
    from sandbox.recording import Recording

READERS = {".bvh": "pybvh", ".c3d": "ezc3d"}  # of formats that are read with a library

CAPTURE_CUTOFF = 10.0  # [Hz] of captured points, whose noise would otherwise be all that accelerations show


@dataclass(frozen=True)
class Measure:
    """Measure the gait in recordings of ours or in motion capture: ASF/AMC, BVH, C3D, TRC."""

    files: Annotated[tyro.conf.Positional[tuple[Path, ...]], option("FILE", "recordings (.npz) or clips (.amc, .bvh, .c3d, .trc)")]
    out: Annotated[Path | None, option("DIR", "folder for curves (CSV), figures (PNG) and an HTML report", default=False)] = None
    detector: Annotated[
        Literal["auto", "contact", "force", "height", "zeni"],
        tyro.conf.arg(help="of foot strike and foot off; auto: contact where it can be told; height: foot height and speed"),
    ] = "auto"
    skeleton: Annotated[Path | None, option("FILE.asf", "of an AMC, where it is not beside it", default=False)] = None
    unit: Annotated[
        Literal["m", "cm", "mm", "in", "cmu"] | None,
        tyro.conf.arg(
            metavar="{m,cm,mm,in,cmu}",
            help="of lengths, instead of the file's own; of an AMC its skeleton's; cmu: inches over 0.45 (default: the file's)",
            help_behavior_hint="",
        ),
    ] = None
    belt_speed: Annotated[float | None, option("M/S", "speed of the treadmill's belt", default=False)] = None
    json: JsonOption = None

    def execute(self) -> int:
        """Measure one file after another, and return the exit code: 1 where some of several could not be measured."""
        with checking():
            if not self.files:
                raise ValueError("no file was given: give recordings (.npz) or motion capture (.amc, .bvh, .c3d, .trc)")
            if self.belt_speed is not None and not 0 <= self.belt_speed <= 10:
                raise ValueError(f"--belt-speed {self.belt_speed:g} m/s is outside 0 to 10: give the belt's speed in m/s")
            if self.out is not None:
                check_folder("--out", self.out)
                need("--out draws with", "matplotlib", "plotly")
            for suffix, reader in READERS.items():
                if any(file.suffix.lower() == suffix for file in self.files):
                    need(f"reading {suffix[1:].upper()} needs", reader)
            outputs = check_outputs(json=self.json)
            names = [path.stem for path in self.files]
            if len(set(names)) != len(names):
                names = ["_".join(path.with_suffix("").parts[-2:]) for path in self.files]
        found: dict[str, Any] = {}
        failed: dict[str, str] = {}
        analyses: list[Analysis] = []
        with results(self.json) as (out, words), Progress("measure", len(self.files), "files") as progress:
            for k, (path, name) in enumerate(zip(self.files, names, strict=True)):
                try:
                    analysis, found[str(path)] = self._one(path, name, words)
                    analyses.append(analysis)
                except ValueError as error:
                    if len(self.files) == 1:
                        raise InputError(str(error)) from error
                    failed[str(path)] = " ".join(str(error).split())
                    print(f"sandbox: {failed[str(path)]}", file=sys.stderr)
                if len(self.files) > 1:
                    progress(k + 1)
            together = _together(analyses, words) if len(analyses) > 1 else None
            if failed:
                print(f"{len(failed)} of {len(self.files)} files could not be measured: {', '.join(failed)}", file=words)
            if found:
                from sandbox.measure.people import acknowledgement

                print(acknowledgement(), file=words)
            text = json_text({"files": found, "failed": failed, "pooled": together})
            if self.json == STDOUT:
                out.write(text)
            for output in outputs:
                write_text(output.path, text)
        return FAILED if failed else DONE

    def _one(self, path: Path, name: str, words: Any) -> tuple[Analysis, dict[str, Any]]:
        """Measure one file, say what was found, and write its files. Raises ValueError for what cannot be measured."""
        from sandbox.comparison import scores_dict
        from sandbox.measure.analysis import Analysis
        from sandbox.measure.flow import flow, pops
        from sandbox.measure.people import CONTACT, scores
        from sandbox.measure.turns import turns
        from sandbox.report.table import gait_table, turns_table

        recording = _read(path, self.skeleton, self.unit, self.belt_speed)
        if len(recording) < 3:
            raise ValueError(f"{path} holds {len(recording)} rows: give a recording of at least several strides")
        captured = recording.header.get("plant") == "capture"
        analysis = Analysis.of(recording, None if self.detector == "auto" else self.detector)
        against = None
        if analysis.straight and analysis.detector in CONTACT and math.isfinite(analysis.mean("froude")):
            against = scores(analysis)
        found = turns(recording)
        print(gait_table(analysis, against, path.name), file=words)
        if found:
            print(turns_table(found), file=words)
        for warning in analysis.warnings:
            print(f"sandbox: {warning if warning.startswith(path.name) else f'{path.name}: {warning}'}", file=sys.stderr)
        cutoff = CAPTURE_CUTOFF if captured else None
        result: dict[str, Any] = {
            "plant": recording.header.get("plant"),
            "gait": analysis.figures,
            "scores": scores_dict(against) if against is not None else None,
            "turns": [{key: value if math.isfinite(value) else None for key, value in turn._asdict().items()} for turn in found],
            "flow": flow(analysis.gait, cutoff),
            "pops": [pop._asdict() for pop in pops(recording, cutoff=cutoff)[:20]],
            "dynamics": None,
        }
        dynamics = _dynamics(analysis)
        if dynamics is not None:
            result["dynamics"] = dynamics.figures
        if self.out is not None:
            folder = self.out if len(self.files) == 1 else self.out / name
            self._write(folder, path, analysis, result, against, found, dynamics)
            print(f"written: {folder}", file=words)
        return analysis, result

    def _write(
        self,
        folder: Path,
        path: Path,
        analysis: Analysis,
        result: dict[str, Any],
        against: Scores | None,
        found: Sequence[Turn],
        dynamics: Dynamics | None,
    ) -> None:
        from sandbox.measure.flow import pops
        from sandbox.report.files import curves_csv, save_curves_picture, save_forces_picture, strides_csv
        from sandbox.report.page import Subject, save_page

        folder.mkdir(parents=True, exist_ok=True)
        froude = analysis.mean("froude")
        write_text(folder / "summary.json", json_text(result))
        if not analysis.gait.strides:
            return
        if analysis.straight:
            write_text(folder / "curves.csv", curves_csv(analysis, froude))
            write_text(folder / "strides.csv", strides_csv(analysis))
            save_curves_picture(analysis, folder / "curves.png", froude, path.name)
        if dynamics is not None:
            save_forces_picture(dynamics, folder / "forces.png", froude, path.name)
        cutoff = CAPTURE_CUTOFF if result["plant"] == "capture" else None
        subject = Subject(path.name, analysis, against, dynamics, result["flow"], pops(analysis.recording, cutoff=cutoff), found)
        at = froude if math.isfinite(froude) else DEFAULT_FROUDE
        about = f"{len(analysis.straight)} straight strides by {analysis.detector}."
        save_page(folder / "report.html", f"Gait of {path.name}", [subject], at, about=about, verdict=_verdict(analysis, against))


def _together(analyses: list[Analysis], words: Any) -> dict[str, Any] | None:
    """Figures over the strides of all files, which are printed; None where they cannot be taken together, which is said."""
    from sandbox.measure.analysis import pooled_figures
    from sandbox.report.table import pooled_table

    try:
        figures = pooled_figures(analyses)
    except ValueError as error:
        print(f"not taken together: {error}", file=words)
        return None
    print(f"\n{pooled_table(figures)}\n", file=words)
    return figures


def _verdict(analysis: Analysis, against: Scores | None) -> list[str]:
    """The gait in sentences."""
    if not analysis.straight:
        return [f"all {len(analysis.turning)} strides turn"]
    walked = f"{analysis.mean('cadence_spm'):.0f} steps a minute"
    if math.isfinite(speed := analysis.mean("speed_mps")):
        walked = f"{speed:.2f} m/s, {walked}, strides of {analysis.mean('stride_leg'):.2f} leg lengths"
    out = [f"{walked}; stance {analysis.mean('stance_fraction'):.3f} of the cycle by {analysis.detector}"]
    if against is not None:
        furthest = ", ".join(f"{c.name.replace('_', ' ')} by {c.distance:.1f} SD" for c in against.ranked()[:4])
        out += [f"{against.gps.name} against adults {against.gps.value:.1f} degrees", f"furthest from people: {furthest}"]
    return out


DEFAULT_FROUDE = 0.18  # at which people are shown where the speed is not known: comfortable walking


def _dynamics(analysis: Analysis) -> Dynamics | None:
    """Forces of a simulated walk; the angular momentum is left out where the recorded body is not this version's."""
    from sandbox.measure.dynamics import Dynamics
    from sandbox.trajectory import recorded_momentum

    if not analysis.straight or not analysis.recording.has("tau", "com_velocity", "ground_force"):
        return None
    try:
        momentum = recorded_momentum(analysis.recording)
    except ValueError:
        momentum = None
    return Dynamics(analysis, momentum)


def _read(path: Path, skeleton: Path | None, unit: str | None, belt_speed: float | None) -> Recording:
    from sandbox.mocap import FORMATS, read_capture
    from sandbox.recording import Recording

    readable = f"recordings of `sandbox run --record` (.npz) or clips ({', '.join(FORMATS)})"
    if path.suffix.lower() in FORMATS and not path.is_dir():
        return read_capture(path, skeleton=skeleton, unit=unit, belt_speed=belt_speed).recording()
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give the files in it, {readable}")
    try:
        return Recording.load(path)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except ValueError as error:
        if path.suffix.lower() == ".npz":
            raise
        raise ValueError(f"{path} is not a recording of ours nor motion capture that is read: give {readable}") from error
