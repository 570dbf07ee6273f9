"""The replay page: self-contained, small, and played by a browser where there is one."""

from __future__ import annotations

import base64
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import browser as open_browser
from browser import near_colour, needs_chromium
from browser import wait_until as wait

from sandbox.measure import gait_events
from sandbox.recording import Recording
from sandbox.report.figure import FORCE_COLOUR, SIDE_COLOURS
from sandbox.report.replay import replay_html, save_replay


@pytest.fixture(scope="module")
def page(walk: Recording) -> str:
    return replay_html(walk, title="A <walk>")


def test_the_page_names_no_host(page: str) -> None:
    assert set(re.findall(r"https?://[^\s\"'<>\\)]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "connect-src data: blob:" in page
    assert page.index("Content-Security-Policy") < page.index("<script")


def test_title_and_facts_are_escaped(page: str) -> None:
    assert "<title>A &lt;walk&gt;</title>" in page
    assert "{{" not in page[page.index('<div id="gait">') :].split("<script>")[0]


def scene_of(page: str) -> dict[str, Any]:
    """The scene in a page."""
    zstandard = pytest.importorskip("zstandard")
    msgspec = pytest.importorskip("msgspec")
    data = re.search(r'__VISER_EMBED_DATA__="([^"]+)"', page)
    assert data is not None
    packed = base64.b64decode(data.group(1))
    raw = zstandard.ZstdDecompressor().decompress(packed[8:], max_output_size=int.from_bytes(packed[:8], "little"))
    return dict(msgspec.msgpack.decode(raw[8 : 8 + int.from_bytes(raw[:8], "little")]))


def scene_nodes(page: str) -> set[str]:
    """Names of all nodes of the scene in a page."""
    return {message.get("name", "") for _, message in scene_of(page)["messages"]}


def test_the_scene_lasts_as_long_as_the_recording(page: str, walk: Recording) -> None:
    scene = scene_of(page)
    assert scene["durationSeconds"] == pytest.approx(walk.duration, abs=0.05)
    names = {message.get("name", "") for _, message in scene["messages"]}
    assert {"/ground", "/follow", "/clock", "/ground_force", "/centre_of_mass", "/support", "/touching"} <= names
    assert sum(name.startswith("/footprints/") for name in names) >= 15
    places = [message["position"] for _, message in scene["messages"] if message.get("name") == "/follow" and "position" in message]
    assert np.ptp([place[1] for place in places]) == pytest.approx(np.ptp(walk.root_position[:, 1]), rel=0.05)


def test_the_page_is_small_and_quick_to_make(walk: Recording, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    times = 5  # a minute of noisy motion
    columns = {k: np.concatenate([v] * times) for k, v in walk.columns.items() if not k.startswith(("event_", "foothold_", "push_"))}
    columns["time"] = np.arange(1, len(columns["time"]) + 1) / 120
    columns["points"] = columns["points"] + rng.normal(0, 1e-3, columns["points"].shape)
    events = {k: v for k, v in walk.columns.items() if k.startswith(("event_", "foothold_", "push_"))}
    start = time.process_time()
    page = replay_html(Recording(walk.header, {**columns, **events}))
    assert time.process_time() - start < 10
    assert len(page) < 6e6
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("which", ["one row", "two rows", "fall", "still", "kinematic", "slope", "points"])
def test_any_recording_has_a_replay(odd_recordings: dict[str, Recording], which: str) -> None:
    assert "__VISER_EMBED_DATA__" in replay_html(odd_recordings[which])


def test_nothing_half_written(walk: Recording, tmp_path: Path) -> None:
    empty = Recording(walk.header, {k: v[:0] for k, v in walk.columns.items()})
    with pytest.raises(ValueError, match="empty"):
        save_replay(empty, tmp_path / "walk.html")
    with pytest.raises(FileNotFoundError):
        save_replay(walk, tmp_path / "nowhere" / "walk.html")
    assert list(tmp_path.iterdir()) == []


def test_two_recordings_on_one_page(walk: Recording) -> None:
    for together, overlays in (("side", True), ("ghost", False)):
        page = replay_html(walk, second=walk, together=together)
        names = scene_nodes(page)
        assert any(name.startswith("/second/body/") for name in names)
        assert ("/second/ground_force" in names) == overlays
        assert "/second/ground" not in names


@pytest.mark.slow
def test_a_browser_plays_it_from_a_file(walk: Recording, tmp_path: Path, browser: Any, wait_until: Any) -> None:
    save_replay(walk, tmp_path / "walk.html")
    with browser(tmp_path / "walk.html", tmp_path / "profile") as evaluate:
        time_shown = "window.__viserMutable?.nodePoseData?.['/clock']?.position?.[0] ?? -1"
        wait_until(lambda: evaluate(time_shown) > 3, 90)
        # The camera looks at where the body is, not at where it was.
        look, body = "window.__viserMutable.cameraControl.getTarget()", "window.__viserMutable.nodePoseData['/follow'].position[1]"
        ahead = evaluate(f"Math.hypot({look}.x, {look}.z) - {body}")
        assert abs(ahead) < 1.0
        assert evaluate(body) > 2.0
        loaded = evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
        assert [name for name in loaded if not name.startswith(("data:", "blob:", "file:"))] == []
        assert evaluate("document.querySelectorAll('#gait canvas, #gait input').length") == 2


@pytest.mark.slow
@needs_chromium
def test_a_browser_seeks_to_a_stride(walk: Recording, tmp_path: Path) -> None:
    save_replay(walk, tmp_path / "walk.html")
    touchdowns = gait_events(walk).touchdowns(1)
    wanted = float(touchdowns[len(touchdowns) // 2])
    with open_browser(f"{(tmp_path / 'walk.html').as_uri()}#t={wanted - 0.3:.2f}", tmp_path / "profile") as page:
        clock = "window.__viserMutable?.nodePoseData?.['/clock']?.position?.[0] ?? -1"
        wait(lambda: abs(page.js(clock) - (wanted - 0.3)) < 0.1, 90)
        page.click("stride ›")
        wait(lambda: abs(page.js(clock) - wanted) < 0.07, 30)
        page.hide_notes()
        time.sleep(6)
        picture = page.picture("replay-stride")
        stage = picture[: picture.shape[0] - 60, 300:1050]  # above the time line
        sides = {side: near_colour(stage, SIDE_COLOURS[side]) for side in ("left", "right")}
        rows = {side: np.flatnonzero(pixels.sum(axis=1) > 2) for side, pixels in sides.items()}
        for side in rows:
            assert np.ptp(rows[side]) > 0.3 * picture.shape[0], f"the {side} side stands upright"
        green = np.flatnonzero(near_colour(stage, FORCE_COLOUR).sum(axis=1) > 0)
        assert len(green), "contact and support are seen"
        lowest = max(side[-1] for side in rows.values())
        assert abs(green[-1] - lowest) < 0.06 * picture.shape[0], "at the feet"
        page.click("‹ stride")
        earlier = float(touchdowns[len(touchdowns) // 2 - 1])
        wait(lambda: abs(page.js(clock) - earlier) < 0.07, 30)
