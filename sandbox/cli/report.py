"""`sandbox report`: show a recording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from sandbox.cli.common import (
    DONE,
    FAILED,
    STDOUT,
    Files,
    JsonOption,
    PictureOption,
    ReplayOption,
    VideoOption,
    check_outputs,
    checking,
    json_text,
    option,
    results,
)


@dataclass(frozen=True)
class Report:
    """Show a recording: the same table, and the same files, as when it was made."""

    file: Annotated[tyro.conf.Positional[Path], option("FILE.npz", "a recording of `sandbox run --record`")]
    picture: PictureOption = None
    replay: ReplayOption = None
    video: VideoOption = None
    json: JsonOption = None

    def execute(self) -> int:
        """Read, show, and return the exit code."""
        with checking():
            from sandbox.recording import Recording

            recording = Recording.load(self.file)
            outputs = check_outputs(json=self.json, picture=self.picture, replay=self.replay, video=self.video)
        from sandbox.measure import summary
        from sandbox.report.table import summary_table

        with results(self.json) as (out, words), Files(recording, words) as files:
            files.result = result = summary(recording)
            print(f"{recording.header['scene']}, {recording.header['plant']} plant", file=words)
            print(summary_table(result), file=words, flush=True)
            if self.json == STDOUT:
                out.write(json_text(result))
            files.write(outputs)
        return FAILED if files.failed else DONE
