"""The page of one gait or several: self-contained, small, complete, and drawn by a browser where there is one."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sandbox.measure import flow, pops
from sandbox.measure.analysis import STRIDE_FIELDS, Analysis
from sandbox.measure.curves import CURVES
from sandbox.measure.dynamics import Dynamics
from sandbox.measure.people import froude_range, scores
from sandbox.measure.turns import turns
from sandbox.recording import Recording
from sandbox.report import page_plots
from sandbox.report.files import curves_csv, save_curves_picture, save_forces_picture, strides_csv
from sandbox.report.page import Subject, page_html, save_page
from sandbox.report.table import gait_table, turns_table


def subject(recording: Recording, name: str = "a <walk>") -> Subject:
    analysis = Analysis.of(recording)
    found = scores(analysis) if analysis.straight else None
    dynamics = Dynamics(analysis) if recording.has("ground_force") else None
    return Subject(name, analysis, found, dynamics, flow(recording), pops(recording), turns(recording))


@pytest.fixture(scope="module")
def page(walk: Recording) -> str:
    return page_html("Walks & more", [subject(walk), subject(walk, "the same")], 0.15, missing=["x does not exist"], verdict=["y < z"])


def test_the_page_is_self_contained_and_small(page: str) -> None:
    assert len(page.encode()) < 10e6
    assert "default-src 'none'" in page
    assert page.index("Content-Security-Policy") < page.index("<script")
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", page)
    assert page.count("plotly.js v") <= 2  # one bundle


@pytest.mark.parametrize("count", [1, 2, 4, 6, 12])
def test_the_legend_has_room_above_the_plots(count: int) -> None:
    """Whatever the number of gaits: its lines lie over no title."""
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=2, cols=3, subplot_titles=["a"] * 6)
    page_plots._look(figure, 500)
    plots = 500 - figure.layout.margin.t - figure.layout.margin.b
    for k in range(count):
        figure.add_scatter(x=[0], y=[0], name=f"telescoping stance, kinematic {k}", showlegend=True, row=1, col=1)
    page_plots._draw(figure)
    abreast = max(1, int(900 // (45 + 6.3 * len("telescoping stance, kinematic 11"))))
    lines = math.ceil(count / abreast)
    assert figure.layout.margin.t >= 70 + 20 * (lines - 1)
    assert figure.layout.height - figure.layout.margin.t - figure.layout.margin.b == plots  # the plots keep their size
    assert (1 - figure.layout.legend.y) * figure.layout.height == pytest.approx(8)


def test_people_are_told_by_their_own_froude_number(walk: Recording) -> None:
    html = page_html("slow", [subject(walk)], 0.05)
    assert f"people at Froude {froude_range()[0]:.3f}, nearest to 0.050, mean" in html
    assert "people at Froude 0.150, mean" in page_html("as fast as people", [subject(walk)], 0.15)


def test_everything_is_on_it(page: str) -> None:
    for section in ("verdict", "replay", "figures", "curves", "scores", "forces", "contacts", "balance", "motion", "flow", "inventory"):
        assert f'<h2 id="{section}">' in page, section
    assert "a &lt;walk&gt;" in page
    assert "y &lt; z" in page
    assert "x does not exist" in page
    assert "Walks &amp; more" in page
    assert "The data used in this project was obtained from mocap.cs.cmu.edu." in page
    assert "CC BY-SA 4.0" in page
    for field in CURVES.values():
        if field.label != "Hip rotation":
            assert field.label in page, field.label


def test_replay_data_are_the_recording(page: str, walk: Recording) -> None:
    import base64

    data = json.loads(re.search(r'id="replay-data">(.*?)</script>', page, flags=re.DOTALL)[1])  # type: ignore[index]
    assert data["fps"] == 30
    first = data["walks"][0]
    follow = np.frombuffer(base64.b64decode(first["follow"]), "<f4").reshape(-1, 2)
    assert len(follow) == pytest.approx(30 * walk.duration, abs=2)
    ends = np.frombuffer(base64.b64decode(first["ends"]), "<i2").reshape(len(follow), len(first["parts"]), 6) / 2000
    assert np.isfinite(ends).all()
    assert -0.05 < ends[..., 2].min() < 0.2
    assert 1.5 < ends[..., 2].max() < 1.9
    forces = np.frombuffer(base64.b64decode(first["forces"]), "<i2").reshape(len(follow), 2, 6) / 2000
    assert forces[..., 5].max() == pytest.approx(walk.ground_force[..., 2].max() / (9.81 * 70), rel=0.02)


@pytest.mark.parametrize("which", ["fall", "still", "kinematic", "slope", "points"])
def test_any_recording_has_a_page(odd_recordings: dict[str, Recording], which: str) -> None:
    page = page_html("odd", [subject(odd_recordings[which])], 0.18)
    assert '<h2 id="figures">' in page


def test_nothing_half_written(walk: Recording, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save_page(tmp_path / "nowhere" / "page.html", "t", [subject(walk)], 0.15)
    assert list(tmp_path.iterdir()) == []


def test_csv_files(walk: Recording) -> None:
    analysis = Analysis.of(walk)
    rows = list(csv.DictReader(io.StringIO(curves_csv(analysis, 0.15))))
    assert len(rows) == 101
    assert float(rows[40]["knee_deg"]) == pytest.approx(analysis.mean_curves["knee"][40], rel=1e-4)
    assert float(rows[0]["knee_people_deg"]) < 10
    assert "knee_people_deg" not in curves_csv(analysis, math.nan)
    strides = list(csv.DictReader(io.StringIO(strides_csv(analysis))))
    assert len(strides) == len(analysis.straight)
    assert set(STRIDE_FIELDS) <= strides[0].keys()
    assert {row["foot"] for row in strides} == {"left", "right"}


def test_pictures(walk: Recording, tmp_path: Path) -> None:
    analysis = Analysis.of(walk)
    save_curves_picture(analysis, tmp_path / "curves.png", 0.15, "curves")
    save_forces_picture(Dynamics(analysis), tmp_path / "forces.png", 0.15, "forces")
    for name in ("curves", "forces"):
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000


def test_tables(walk: Recording) -> None:
    analysis = Analysis.of(walk)
    text = gait_table(analysis, scores(analysis), "walk.npz")
    assert text.startswith(f"walk.npz: {len(analysis.straight)} straight strides, 0 turning; events by contact")
    assert "GPS-8 against adults" in text
    assert "GPS-8 is of pelvis tilt" in text
    assert "events by zeni, after these" in text
    assert "angle [deg]" in turns_table(turns(walk)) or not turns(walk)


@pytest.mark.slow
def test_a_browser_draws_it_from_a_file(walk: Recording, tmp_path: Path, browser: Any, wait_until: Any) -> None:
    save_page(tmp_path / "page.html", "Two walks", [subject(walk), subject(walk, "the same")], 0.15)
    with browser(tmp_path / "page.html", tmp_path / "profile") as evaluate:
        wait_until(lambda: evaluate("document.querySelectorAll('.js-plotly-plot .plot-container').length") == 5, 60)
        loaded = evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
        assert [name for name in loaded if not name.startswith(("data:", "blob:", "file:"))] == []
        canvas = "document.getElementById('replay-canvas')"
        before = evaluate(f"{canvas}.toDataURL().length")
        evaluate("window.replay.seek(60)")
        picture = evaluate(f"{canvas}.toDataURL()")
        assert len(picture) > 10_000
        assert len(picture) != before
        evaluate("document.getElementById('replay-play').click()")
        wait_until(lambda: float(evaluate("document.getElementById('replay-time').value")) > 65, 20)
