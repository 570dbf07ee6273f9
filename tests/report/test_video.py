"""Videos: right length and size, fast, refused in words."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sandbox.recording import Recording
from sandbox.report.figure import LEFT_COLOUR, RIGHT_COLOUR, rgb
from sandbox.report.video import Camera, draw_frames, save_video


def of_hue(image: np.ndarray, colour: str) -> np.ndarray:
    """Which pixels are of about the hue of a colour."""
    pixels, wanted = image.astype(float) + 1, np.array(rgb(colour), dtype=float) + 1
    ratio = pixels / pixels.sum(axis=2, keepdims=True)
    return np.abs(ratio - wanted / wanted.sum()).max(axis=2) < 0.05


def test_an_mp4_reads_back(walk: Recording, tmp_path: Path) -> None:
    import imageio.v3 as iio

    seen: list[float] = []
    frames = save_video(walk, tmp_path / "walk.mp4", start=2, end=3, width=320, height=240, progress=seen.append)
    assert frames == 31
    assert seen[-1] == 1.0
    about = iio.immeta(tmp_path / "walk.mp4", plugin="pyav")
    assert about["fps"] == 30
    assert about["codec"] == "h264"
    read = iio.imread(tmp_path / "walk.mp4", plugin="pyav")
    assert read.shape == (31, 240, 320, 3)
    assert [p.name for p in tmp_path.iterdir()] == ["walk.mp4"]


def test_a_gif_moves(walk: Recording, tmp_path: Path) -> None:
    assert save_video(walk, tmp_path / "walk.gif", start=2, end=3, width=160, height=120) == 21
    with Image.open(tmp_path / "walk.gif") as gif:
        assert gif.n_frames == 21
        assert gif.info["duration"] == 50
        first = np.asarray(gif.convert("RGB")).copy()
        gif.seek(10)
        assert (np.asarray(gif.convert("RGB")) != first).any()


def test_the_camera_keeps_the_body_in_view(walk: Recording) -> None:
    for image in draw_frames(walk, np.array([0.5, 4.0, 11.5]), 320, 240, Camera()):
        pixels = np.asarray(image)
        assert of_hue(pixels, LEFT_COLOUR).sum() > 300
        assert of_hue(pixels, RIGHT_COLOUR).sum() > 300
        legs = of_hue(pixels, LEFT_COLOUR) | of_hue(pixels, RIGHT_COLOUR)
        columns = np.flatnonzero(legs[40:200].sum(axis=0) > 3)
        assert columns.min() > 60
        assert columns[columns < 270].max() < 240, "left of the force bars"


def test_it_draws_faster_than_it_plays(walk: Recording) -> None:
    start = time.process_time()
    count = sum(1 for _ in draw_frames(walk, np.arange(1, 2, 1 / 30), 640, 480, Camera()))
    assert count / (time.process_time() - start) > 20


@pytest.mark.parametrize("which", ["one row", "two rows", "fall", "still", "kinematic", "slope", "points"])
def test_any_recording_can_be_drawn(odd_recordings: dict[str, Recording], which: str) -> None:
    recording = odd_recordings[which]
    frames = list(draw_frames(recording, np.linspace(0, recording.duration, 3), 160, 120, Camera(azimuth=30, elevation=25)))
    assert len(frames) == 3
    assert frames[0].size == (160, 120)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("walk.avi", {}, "mp4 or .gif"),
        ("walk", {}, "mp4 or .gif"),
        ("walk.mp4", {"width": 321}, "even"),
        ("walk.mp4", {"start": 99.0}, "nothing to show"),
    ],
)
def test_bad_requests_are_refused_in_words(walk: Recording, tmp_path: Path, name: str, options: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        save_video(walk, tmp_path / name, **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
