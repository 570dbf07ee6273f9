"""The live page in a headless Chromium: it loads, the figure moves, and the controls do what they say. Pictures are kept where
the environment variable SANDBOX_SCREENSHOTS names a folder.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from browser import Page, browser, near_colour, needs_chromium, wait_until

from sandbox.recording import Recording
from sandbox.report.figure import FORCE_COLOUR, LEFT_COLOUR, RIGHT_COLOUR

pytestmark = [pytest.mark.slow, needs_chromium]

WORLD = "(window.__viserMutable?.nodePoseData?.['/world']?.position ?? []).join()"


@contextmanager
def view(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`sandbox view` with its address; it is ended with Ctrl-C."""
    command = [sys.executable, "-m", "sandbox.cli", "view", *arguments, "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert address
        yield address[0], process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=60)


def text(page: Page) -> str:
    return str(page.js("document.body?.innerText ?? ''"))


def moving(page: Page) -> bool:
    """Whether the world goes past."""
    before = page.js(WORLD)
    try:
        wait_until(lambda: page.js(WORLD) not in ("", before), 20)
    except AssertionError:
        return False
    return True


def moving_now(page: Page) -> bool:
    """Whether the world has gone past in the last second."""
    before = page.js(WORLD)
    time.sleep(1)
    return bool(page.js(WORLD) != before)


def check_figure(picture: np.ndarray, arrows: bool = True) -> None:
    """A body in its two colours, upright on light ground, an arrow of force from its feet."""
    height, width = picture.shape[:2]
    stage = picture[:, int(0.23 * width) : int(0.75 * width)]
    left, right = near_colour(stage, LEFT_COLOUR), near_colour(stage, RIGHT_COLOUR)
    assert left.sum() > 600, "the left side is seen"
    assert right.sum() > 600, "the right side is seen"
    rows = np.flatnonzero((left | right).sum(axis=1) > 2)
    assert rows[-1] - rows[0] > 0.3 * height, "it stands upright"
    assert rows[-1] < 0.97 * height, "all of it is in the picture"
    below = stage[min(height - 1, rows[-1] + 12) :]
    assert below.min(axis=2).mean() > 150, "what is under the feet is light ground"
    if arrows:
        green = near_colour(stage, FORCE_COLOUR)
        assert green.sum() > 40, "an arrow is seen"
        lowest = np.flatnonzero(green.sum(axis=1) > 0)[-1]
        assert abs(lowest - rows[-1]) < 0.08 * height, "it begins at the feet"


def test_the_live_view(tmp_path: Path) -> None:
    kept = tmp_path / "walk.npz"
    with view("stand", "--port", "8430", "--record", str(kept)) as (address, process), browser(address, tmp_path / "profile") as page:
        wait_until(lambda: "of real time" in text(page), 120)
        page.type_into("impulse, N s", "8")
        time.sleep(1)
        page.click("push now")
        time.sleep(2)
        page.type_until("speed, m/s", "0.6", lambda: "asked 0.60 m/s" in text(page))
        wait_until(lambda: float(re.search(r"walks ([\d.]+) m/s", text(page))[1]) > 0.4, 30)
        assert moving(page), "the figure moves"
        page.call("Page.reload")  # the tab is closed and opened again
        wait_until(lambda: "asked 0.60 m/s" in text(page), 120)
        assert moving(page), "it reconnects"
        page.click("pause")
        wait_until(lambda: "standing still" in text(page), 30)
        page.see("live-walk", check_figure)
        page.click("front")
        page.see("live-walk-front", lambda picture: check_figure(picture, arrows=False))
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
    recording = Recording.load(kept)
    assert len(recording.push_time) == 1
    push = recording.push_force[0] * recording.push_duration[0]
    assert np.linalg.norm(push) == pytest.approx(8.0)
    a = int(np.searchsorted(recording.time, recording.push_time[0]))
    along = recording.com_velocity[:, :2] @ push[:2] / 8.0
    assert abs(along[a - 1]) < 0.03, "it stood"
    assert along[a : a + 40].max() > 0.06, "the push moves the body"
    assert recording.command[-1, 0] == 0.6
    assert recording.com[-1, 1] - recording.com[a, 1] > 1.0, "the speed slider makes it walk"


def test_both_bodies_side_by_side(tmp_path: Path) -> None:
    with view("walk", "--plant", "both", "--port", "8440") as (address, _), browser(address, tmp_path / "profile") as page:
        wait_until(lambda: "of real time" in text(page), 120)
        assert moving(page)
        wait_until(lambda: float(re.search(r"([\d.]+) s, ", text(page))[1]) > 6.0, 60)
        page.click("behind")
        page.click("pause")

        def beside(picture: np.ndarray) -> None:
            columns = np.flatnonzero(near_colour(picture[:, 320:1080], LEFT_COLOUR).sum(axis=0) > 3)
            assert columns.size
            assert np.ptp(columns) > 120, "two bodies stand beside one another"

        page.see("live-both", beside)


def test_a_recording_and_its_ghost(tmp_path: Path, walk: Recording) -> None:
    walk.save(tmp_path / "a.npz")
    Recording(walk.header, {**walk.columns, "points": walk.points + np.array([0.0, 0.25, 0.0])}).save(tmp_path / "b.npz")
    arguments = (str(tmp_path / "a.npz"), str(tmp_path / "b.npz"), "--together", "ghost", "--port", "8450")
    with view(*arguments) as (address, _), browser(address, tmp_path / "profile") as page:
        wait_until(lambda: "a.npz and b.npz" in text(page), 120)
        assert moving(page)
        page.click("pause")  # or the time goes on under one's fingers
        wait_until(lambda: not moving_now(page), 30)
        page.type_until("time, s", "4", lambda: "4.00 of" in text(page))
        page.see("recording-ghost", check_figure)
        page.click("next")
        wait_until(lambda: "4.01 of" in text(page), 30)


def test_an_experiment(tmp_path: Path) -> None:
    with view("lo-003", "--preset", "overreach", "--port", "8460") as (address, _), browser(address, tmp_path / "profile") as page:
        wait_until(lambda: "preset: OVERREACH" in text(page), 120)

        def marked(picture: np.ndarray) -> None:
            assert near_colour(picture[:, 320:1080], "#c1121f", 10).sum() > 40, "the requested markers are red"

        page.see("experiment-overreach", marked)
        assert "requested (red) and solved (black) are up to" in text(page)
