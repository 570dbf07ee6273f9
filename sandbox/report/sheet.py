"""A contact sheet of one stride: the body at every 10 %, from the side and from the front, with the ground force beneath."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.files import written_whole
from sandbox.measure import Gait
from sandbox.measure.forces import FORCE_CUTOFF
from sandbox.measure.signals import lowpass
from sandbox.recording import Recording
from sandbox.report.figure import LEFT_COLOUR, RIGHT_COLOUR, rgb
from sandbox.report.optional import need
from sandbox.report.picture import typical_stride
from sandbox.report.video import Camera, draw_frames, font_of

Array = NDArray[np.float64]

STEPS = 11  # every 10 % of the stride
TILE = (190, 300)  # [pixels]
HEAD, STRIP, MARGIN = 46, 190, 12  # [pixels]: title, force plot, and around it
VIEWS = {"side": Camera(azimuth=90.0, elevation=4.0, distance=4.2), "front": Camera(azimuth=180.0, elevation=4.0, distance=4.2)}
INK, FAINT, PAPER = (34, 39, 46), (138, 146, 156), (255, 255, 255)
HIGHEST = 1.6  # [body weights] of the plot


def save_sheet(recording: Recording, path: str | Path, title: str | None = None) -> None:
    """Write a PNG. Needs no display.

    Shown is the stride of the right foot whose duration is the median; a recording without a complete stride shows its last second.

    Raises:
        ValueError: an empty recording.
        OSError: the path cannot be written.
        ModuleNotFoundError: Pillow is not installed.
    """
    if not len(recording):
        raise ValueError("an empty recording has no contact sheet: record at least one row")
    need("PIL", "video")
    from PIL import Image, ImageDraw

    gait = Gait(recording)
    stride = typical_stride(gait.strides)
    start, end = (stride.start, stride.end) if stride else (max(float(recording.time[0]), gait.end - 1.0), gait.end)
    times = np.linspace(start, end, STEPS)
    width, height = STEPS * TILE[0], HEAD + 2 * TILE[1] + STRIP
    sheet = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(sheet)
    scene = str(recording.header.get("scene", "recording"))
    what = "one stride of the right foot" if stride and stride.foot == 1 else "one stride" if stride else "the last second"
    draw.text((MARGIN, 12), title or f"{scene}: {what}, {start:.2f} to {end:.2f} s", fill=INK, font=font_of(20))
    for row, camera in enumerate(VIEWS.values()):
        for k, tile in enumerate(draw_frames(recording, times, *TILE, camera, plain=True)):
            sheet.paste(tile, (k * TILE[0], HEAD + row * TILE[1]))
    for k, time in enumerate(times):
        label = f"{round(100 * k / (STEPS - 1))} %" if stride else f"{time:.2f} s"
        draw.text(((k + 0.5) * TILE[0], HEAD + 8), label, fill=INK, font=font_of(14), anchor="mt")
    _forces(draw, recording, start, end, (0, HEAD + 2 * TILE[1], width, height))
    with written_whole(path) as temporary:
        sheet.save(temporary, format="PNG", optimize=True)


def _forces(draw: Any, recording: Recording, start: float, end: float, box: tuple[int, int, int, int]) -> None:
    """Vertical ground force of both feet under the figures of the same moments."""
    left, top, right, bottom = box
    low, high = bottom - 2 * MARGIN, top + 3 * MARGIN
    first, last = left + TILE[0] / 2, right - TILE[0] / 2
    what = f"vertical ground force, body weights ({FORCE_CUTOFF:g} Hz zero-lag low-pass)"
    draw.text((MARGIN, top + MARGIN / 2), what, fill=FAINT, font=font_of(15))
    x = float(right - MARGIN)
    for side, colour in (("right", RIGHT_COLOUR), ("left", LEFT_COLOUR)):  # from the edge inwards
        draw.text((x, top + MARGIN / 2), side, fill=INK, font=font_of(15), anchor="rt")
        x -= draw.textlength(side, font=font_of(15)) + 8
        draw.line((x - 26, top + MARGIN / 2 + 8, x, top + MARGIN / 2 + 8), fill=rgb(colour), width=3)
        x -= 26 + 2 * MARGIN
    for weights in (0.0, 0.5, 1.0, 1.5):
        y = low - weights / HIGHEST * (low - high)
        draw.line((first, y, last, y), fill=(225, 228, 231), width=1)
        draw.text((first - 8, y), f"{weights:g}", fill=FAINT, font=font_of(12), anchor="rm")
    for k in range(STEPS):
        x = first + k / (STEPS - 1) * (last - first)
        draw.line((x, high, x, low), fill=(236, 238, 240), width=1)
    if not recording.has("ground_force"):
        draw.text(((first + last) / 2, (low + high) / 2), "no forces in this recording", fill=FAINT, font=font_of(14), anchor="mm")
        return
    weight = 9.81 * float(recording.header["body"]["mass_kg"])
    rows = slice(*np.searchsorted(recording.time, (start - 1e-9, end + 1e-9)).tolist())
    across = first + (recording.time[rows] - start) / max(end - start, 1e-9) * (last - first)
    smooth = lowpass(recording.ground_force[:, :, 2], FORCE_CUTOFF, 1 / recording.interval)
    for foot, colour in ((0, LEFT_COLOUR), (1, RIGHT_COLOUR)):
        load = np.clip(smooth[rows, foot] / weight, 0.0, HIGHEST)
        line = np.column_stack((across, low - load / HIGHEST * (low - high))).ravel().tolist()
        if len(line) > 2:
            draw.line(line, fill=rgb(colour), width=3, joint="curve")
