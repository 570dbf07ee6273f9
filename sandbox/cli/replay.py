"""`sandbox replay`: a recording, or two together, as a page, a video, a contact sheet. `sandbox gallery`: the README's pictures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from sandbox.cli.common import DONE, FAILED, VideoOption, check_folder, check_outputs, checking, load_engine, need, option
from sandbox.console import Progress

if TYPE_CHECKING:
    from sandbox.recording import Recording


@dataclass(frozen=True)
class Replay:
    """Show a recording as one page that opens without a network, as a video, or as a contact sheet of a stride. No display needed."""

    file: Annotated[tyro.conf.Positional[Path], option("FILE.npz", "a recording of `sandbox run --record`")]
    second: Annotated[tyro.conf.Positional[Path | None], option("FILE.npz", "a second one, shown together with it", default=False)] = None
    together: Annotated[Literal["side", "ghost"], tyro.conf.arg(help="two recordings: side by side, or the second as a ghost")] = "side"
    html: Annotated[Path | None, option("FILE.html", "one self-contained page, with contacts, forces, support, CoM", default=False)] = None
    video: VideoOption = None
    sheet: Annotated[Path | None, option("FILE.png", "one stride at every 10 %, side and front, with ground forces", default=False)] = None

    def execute(self) -> int:
        """Write what was asked for, and return the exit code."""
        with checking():
            from sandbox.recording import Recording
            from sandbox.report.scene import check_drawable

            if self.html is None and self.video is None and self.sheet is None:
                raise ValueError(f"nothing is asked of {self.file}: give --html FILE.html, --video FILE.mp4 or --sheet FILE.png")
            if self.second is not None and self.sheet is not None and self.html is None and self.video is None:
                raise ValueError(f"a contact sheet shows one recording: leave {self.second} out, or ask for --html or --video")
            recordings = []
            for file in (self.file, self.second):
                if file is not None:
                    recordings.append(Recording.load(file))
                    check_drawable(recordings[-1], str(file))
            check_outputs(html=self.html, video=self.video, sheet=self.sheet)
        first, second = recordings[0], recordings[1] if len(recordings) > 1 else None
        failed = False
        written = []
        writers: dict[Path | None, Callable[[Recording, Path, Recording | None], None]] = {
            self.html: self._page,
            self.video: self._film,
            self.sheet: self._contacts,
        }
        for path, write in writers.items():
            if path is None:
                continue
            try:
                write(first, path, second)
            except OSError as error:
                print(f"sandbox: {path} could not be written: {error.strerror or error}", file=sys.stderr)
                failed = True
            else:
                written.append(str(path))
        if written:
            print(f"written: {', '.join(written)}")
        return FAILED if failed else DONE

    def _page(self, first: Recording, path: Path, second: Recording | None) -> None:
        from sandbox.report.replay import save_replay

        title = None if second is None or self.second is None else f"{self.file.stem} and {self.second.stem}"
        save_replay(first, path, title, second, self.together)

    def _film(self, first: Recording, path: Path, second: Recording | None) -> None:
        from sandbox.report.video import save_video

        with Progress("video", 100, "%") as progress:
            width = 960 if second is not None and self.together == "side" else 640
            save_video(first, path, width=width, second=second, together=self.together, progress=lambda share: progress(100 * share))

    def _contacts(self, first: Recording, path: Path, _: Recording | None) -> None:
        from sandbox.report.sheet import save_sheet

        save_sheet(first, path)


@dataclass(frozen=True)
class Gallery:
    """Make the README's five pictures: simulate their scenes and draw them. About a minute."""

    out: Annotated[Path, option("DIR", "folder for the pictures")] = Path("out/gallery")

    def execute(self) -> int:
        """Make them, and return the exit code."""
        with checking():
            need("the gallery needs", "PIL", "matplotlib")
            if self.out.exists() and not self.out.is_dir():
                raise ValueError(f"--out {self.out} is not a folder: give the name of one")
            check_folder("--out", self.out)
            self.out.mkdir(parents=True, exist_ok=True)
        load_engine()
        from sandbox.report.gallery import make

        with Progress("gallery", 1.0, "of all") as progress:
            written = make(self.out, progress)
        print(f"written: {', '.join(str(path) for path in written)}")
        return DONE
