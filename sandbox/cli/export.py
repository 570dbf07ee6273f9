"""`sandbox export`: a recording in other people's tools."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from sandbox.cli.common import DONE, FAILED, check_output, checking, need, option

ENDINGS = (".bvh", ".trc", ".mot", ".c3d", ".glb", ".csv")


@dataclass(frozen=True)
class Export:
    """Write a recording in the format that the name of the file ends in: bvh, trc, mot, c3d, glb or csv."""

    file: Annotated[tyro.conf.Positional[Path], option("FILE.npz", "a recording of `sandbox run --record`")]
    out: Annotated[tyro.conf.Positional[Path], option("OUT.bvh|trc|mot|c3d|glb|csv", "the file to write")]

    def execute(self) -> int:
        """Write it, and return the exit code."""
        with checking():
            from sandbox.recording import Recording

            check_output("OUT", self.out, ENDINGS)
            if self.out.suffix.lower() == ".c3d":
                need("C3D needs", "ezc3d")
            recording = Recording.load(self.file)
        from sandbox.export import FORMATS

        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with checking():
                written = FORMATS[self.out.suffix.lower()](recording, self.out)
        except OSError as error:
            print(f"sandbox: {self.out} could not be written: {error.strerror or error}", file=sys.stderr)
            return FAILED
        print(f"written: {', '.join(str(path) for path in written)}")
        return DONE
