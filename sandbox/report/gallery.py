"""The gallery: five small pictures of what the walker does, made anew by one command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sandbox.files import written_whole
from sandbox.recording import Recording
from sandbox.report.optional import need
from sandbox.report.sheet import save_sheet
from sandbox.report.video import Camera, draw_frames, font_of
from sandbox.scenes.scene import Options, build
from sandbox.simulation import run

if TYPE_CHECKING:
    from PIL import Image

Array = NDArray[np.float64]

SEED = 19_990  # of those that tuning never sees
WIDTH = 1200  # [pixels] of a picture
COLOURS = 256  # of its palette: small files
SIDE, BEHIND, QUARTER = Camera(azimuth=90.0), Camera(azimuth=12.0, elevation=14.0, distance=5.5), Camera(azimuth=140.0, elevation=10.0)


@dataclass(frozen=True)
class Exhibit:
    """One picture: moments of a scene with its options on each of ``plants``, a row for each.

    ``times`` [s] count from the push where there is one, and from when the body passes the place ``passing`` [m] where that is given.
    """

    name: str
    scene: str
    options: Options
    times: tuple[float, ...]
    camera: Camera
    height: int
    plants: tuple[str, ...] = ("bullet",)
    passing: float | None = None


# The first one is a contact sheet of a stride.
SHEET = Exhibit("stride", "walk", Options(speed=1.2, seconds=14.0, seed=SEED), (), SIDE, 0)
FRONT = Camera(azimuth=180.0)
EXHIBITS = (
    Exhibit("push", "push", Options(speed=1.0, impulse=15.0, direction=90.0, seed=SEED), (-0.1, 0.2, 0.6, 1.1, 1.8), FRONT, 300),
    Exhibit("turn", "turn", Options(speed=0.8, seed=SEED), (5.0, 8.0, 11.0, 14.0, 17.0), BEHIND, 300),
    Exhibit("threshold", "threshold", Options(seed=SEED), (-0.9, -0.5, -0.1, 0.3, 0.7), QUARTER, 300, passing=4.0),
    Exhibit("both", "walk", Options(speed=0.8, seconds=9.0, seed=SEED), (1.2, 1.8, 2.4, 6.0, 8.5), SIDE, 270, ("kinematic", "bullet")),
)


def make(folder: Path, progress: Callable[[float], None] | None = None) -> list[Path]:
    """Simulate the scenes and write the pictures into an existing folder; ``progress`` takes the share done.

    Raises:
        OSError: a file cannot be written.
        ModuleNotFoundError: Pillow is not installed.
    """
    need("PIL", "video")
    written = [folder / f"{SHEET.name}.png"]
    save_sheet(_recorded(SHEET, "bullet"), written[0])
    _shrink(written[0])
    for k, exhibit in enumerate(EXHIBITS):
        if progress is not None:
            progress((k + 1) / (len(EXHIBITS) + 1))
        path = folder / f"{exhibit.name}.png"
        with written_whole(path) as temporary:
            _picture(exhibit).save(temporary, format="PNG", optimize=True)
        written.append(path)
    if progress is not None:
        progress(1.0)
    return written


def _recorded(exhibit: Exhibit, plant: str) -> Recording:
    return run(build(exhibit.scene, exhibit.options), plant=plant)


def _picture(exhibit: Exhibit) -> Image.Image:
    """Rows of moments."""
    from PIL import Image, ImageDraw

    tile = WIDTH // len(exhibit.times)
    picture = Image.new("RGB", (tile * len(exhibit.times), exhibit.height * len(exhibit.plants)), "white")
    for row, plant in enumerate(exhibit.plants):
        recording = _recorded(exhibit, plant)
        start = float(recording.push_time[0]) if len(recording.push_time) else 0.0
        if exhibit.passing is not None:
            past = np.flatnonzero(recording.point("mid_hip")[:, 1] > exhibit.passing)
            start = float(recording.time[past[0]]) if len(past) else 0.0
        times = np.minimum(np.array(exhibit.times) + start, recording.duration)
        for k, (time, frame) in enumerate(zip(times, _frames(recording, times, tile, exhibit), strict=True)):
            draw = ImageDraw.Draw(frame)
            words = f"{time - start:+.1f} s" if start else f"{time:.1f} s"
            draw.text((8, 6), f"{words}  {plant}" if len(exhibit.plants) > 1 else words, fill=(34, 39, 46), font=font_of(15))
            picture.paste(frame, (k * tile, row * exhibit.height))
    return picture.quantize(COLOURS)


def _frames(recording: Recording, times: Array, tile: int, exhibit: Exhibit) -> Iterator[Image.Image]:
    return draw_frames(recording, times, tile, exhibit.height, exhibit.camera, plain=True)


def _shrink(path: Path) -> None:
    """Bring a picture to the gallery's width and palette."""
    from PIL import Image

    width = WIDTH + 400  # eleven figures beside each other
    with Image.open(path) as picture:
        small = picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS).quantize(COLOURS)
    with written_whole(path) as temporary:
        small.save(temporary, format="PNG", optimize=True)
