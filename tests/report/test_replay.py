"""The replay page: self-contained, small, and played by a browser where there is one."""

from __future__ import annotations

import base64
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sandbox.recording import Recording
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


def test_the_scene_lasts_as_long_as_the_recording(page: str, walk: Recording) -> None:
    zstandard = pytest.importorskip("zstandard")
    msgspec = pytest.importorskip("msgspec")
    data = re.search(r'__VISER_EMBED_DATA__="([^"]+)"', page)
    assert data is not None
    packed = base64.b64decode(data.group(1))
    raw = zstandard.ZstdDecompressor().decompress(packed[8:], max_output_size=int.from_bytes(packed[:8], "little"))
    scene = msgspec.msgpack.decode(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert scene["durationSeconds"] == pytest.approx(walk.duration, abs=0.05)
    names = {message.get("name", "") for _, message in scene["messages"]}
    assert {"/ground", "/follow", "/clock", "/ground_force", "/centre_of_mass"} <= names
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
