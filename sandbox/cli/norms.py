"""`sandbox norms`: people's figures, where they come from, and how they are rebuilt."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from sandbox.cli.common import DONE, check_output, checking, option
from sandbox.console import Progress


@dataclass(frozen=True)
class Norms:
    """Say where people's figures come from; with --data, rebuild them from the raw data, which are not part of the project."""

    data: Annotated[Path | None, option("DIR", "folder of the raw data: clips.csv, cmu/, norms/", default=False)] = None
    out: Annotated[Path | None, option("DIR", "folder for the files, instead of the project's own data", default=False)] = None

    def execute(self) -> int:
        """Print, rebuild where asked, and return the exit code."""
        from sandbox.measure.people import sources

        if self.data is None:
            print("\n".join(sources()))
            return DONE
        with checking():
            from sandbox.measure.reference import build_norms, build_people, save, walking_clips

            folder = self.out or Path(str(files("sandbox.measure"))) / "data"
            targets = [folder / "people_cmu.json", folder / "norms.json"]
            for target in targets:
                check_output("--out", target)
            walking_clips(self.data)
            norms = build_norms(self.data)
            with Progress("norms", len(walking_clips(self.data)), "clips") as progress:
                people, failed = build_people(self.data, lambda done, _: progress(done))
        for line in failed:
            print(f"left out: {line}")
        folder.mkdir(parents=True, exist_ok=True)
        for target, content in zip(targets, (people, norms), strict=True):
            save(content, target)
        for entry in people["bins"]:
            print(f"{entry['name']}: {entry['strides']} strides of subjects {', '.join(entry['subjects'])}")
        print(f"written: {', '.join(map(str, targets))}")
        return DONE
