"""The picture of a gait: drawn for any recording, whole or not at all."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sandbox.recording import Recording
from sandbox.report.figure import LEFT_COLOUR, RIGHT_COLOUR, body_parts, outline, rgb
from sandbox.report.picture import save_picture
from sandbox.report.replay import save_replay
from sandbox.report.video import save_video


def test_the_picture_shows_both_legs(walk: Recording, tmp_path: Path) -> None:
    save_picture(walk, tmp_path / "gait.png")
    pixels = np.asarray(Image.open(tmp_path / "gait.png").convert("RGB"))
    assert pixels.shape[0] > 1000
    assert pixels.shape[1] > 1200
    for colour in (LEFT_COLOUR, RIGHT_COLOUR):
        assert (np.abs(pixels.astype(int) - rgb(colour)).max(axis=2) < 8).sum() > 5000
    assert [p.name for p in tmp_path.iterdir()] == ["gait.png"]


@pytest.mark.parametrize("which", ["one row", "two rows", "fall", "still", "kinematic", "slope", "points"])
def test_any_recording_has_a_picture(odd_recordings: dict[str, Recording], which: str, tmp_path: Path) -> None:
    save_picture(odd_recordings[which], tmp_path / "gait.png", title="A title")
    assert (tmp_path / "gait.png").stat().st_size > 10_000


def test_an_empty_recording_is_refused(walk: Recording, tmp_path: Path) -> None:
    empty = Recording(walk.header, {k: v[:0] for k, v in walk.columns.items()})
    with pytest.raises(ValueError, match="empty"):
        save_picture(empty, tmp_path / "gait.png")
    with pytest.raises(FileNotFoundError):
        save_picture(walk, tmp_path / "nowhere" / "gait.png")


def test_a_missing_library_is_named_with_its_extra(walk: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, extra, save in (
        ("matplotlib", "report", lambda: save_picture(walk, tmp_path / "gait.png")),
        ("viser", "view", lambda: save_replay(walk, tmp_path / "walk.html")),
        ("imageio", "video", lambda: save_video(walk, tmp_path / "walk.mp4")),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ModuleNotFoundError, match=rf"needs {module}.*\[{extra}\]"):
            save()
    assert list(tmp_path.iterdir()) == []


def test_parts_join_the_named_points(walk: Recording) -> None:
    parts = {part.name: part for part in body_parts(walk, slice(0, 50))}
    assert len(parts) == 22
    np.testing.assert_allclose(parts["left_thigh"].start, walk.point("left_hip")[:50])
    np.testing.assert_allclose(parts["left_thigh"].end, walk.point("left_knee")[:50])
    for part in parts.values():
        np.testing.assert_allclose(np.linalg.norm(part.lateral, axis=1), 1, atol=1e-9)
    # A drawn foot stands on the ground, within a few millimetres, when the foot is flat.
    flat = walk.contact_state[:50, 0] == 2
    lowest = parts["left_hindfoot"].start[flat, 2] - parts["left_hindfoot"].radius[0]
    np.testing.assert_allclose(lowest, 0, atol=0.004)


@pytest.mark.parametrize(("a", "b"), [((0.0, 0.0), (1.0, 0.0)), ((0.3, -1.0), (0.1, 2.0)), ((0.0, 0.0), (0.05, 0.0))])
def test_an_outline_holds_both_circles(a: tuple[float, float], b: tuple[float, float]) -> None:
    start, end = np.array(a), np.array(b)
    shape = outline(start, end, (0.2, 0.1), samples=64)
    distance = np.minimum(np.hypot(*(shape - start).T) - 0.2, np.hypot(*(shape - end).T) - 0.1)
    assert distance.min() > -1e-9, "no point lies inside a circle"
    area = 0.5 * abs(np.sum(shape[:, 0] * np.roll(shape[:, 1], -1) - shape[:, 1] * np.roll(shape[:, 0], -1)))
    assert area > 0.99 * math.pi * 0.2**2
