"""Experiments on the page: presets, parameters, requested against solved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from sandbox.cli.presets import open_experiment, shown
from sandbox.harness import catalogue, find
from sandbox.viewer.experiment import ExperimentView

pytest.importorskip("viser")


@pytest.fixture(scope="module")
def view() -> Iterator[ExperimentView]:
    view = open_experiment("lo-003", "overreach", "127.0.0.1", 8600)
    yield view
    view.close()


def test_it_begins_with_the_preset(view: ExperimentView) -> None:
    assert view.preset.value == "OVERREACH"
    assert not view.playing
    assert "preset: **OVERREACH**" in "\n".join(view._words(None))


def test_requested_and_solved_markers(view: ExperimentView) -> None:
    outcome = find("lo-003", catalogue()).load().run(find("lo-003", catalogue()).load().variants[0].parameters)
    for name, pose in outcome.details.poses.items():
        view._go_to(name)
        requested, solved, lines = view._pair
        asked = np.vstack((pose.target.pelvis, pose.target.ankles)) - view.camera.origin
        got = np.vstack((pose.pelvis, pose.ankles)) - view.camera.origin
        assert np.asarray(requested.batched_positions) == pytest.approx(asked, abs=1e-3), name
        assert np.asarray(solved.batched_positions) == pytest.approx(got, abs=1e-3), name
        assert np.asarray(lines.points)[:, 0] == pytest.approx(asked, abs=1e-3)
        # the figure stands where it was solved
        film = view.films[0]
        ankles = film.frames[view.row(film)]["points"][[film.figure.points.index(f"{side}_ankle") for side in ("left", "right")]]
        assert ankles - view.camera.origin == pytest.approx(got[1:], abs=1e-3), name


def test_a_slider_runs_it_again(view: ExperimentView) -> None:
    view._ask("retained", {"overreach": 0.7, "samples": 1})
    view.advance(0.0)
    assert view._complaint == ""
    assert view.shown.metrics["overreach_miss_m"] < 0.3
    assert "overreach_miss_m" in view._metrics.content
    view._ask("retained", {"low": float("nan")})
    view.advance(0.0)
    assert view._complaint == "", "what is no number is not asked for"
    view._ask("retained", {"low": 9.0, "samples": 1})
    view.advance(0.0)
    assert "low 9" in view._complaint
    assert "not done" in view._words(None)[0]
    view._ask("no such variant", {})
    view.advance(0.0)
    assert view.variant_name == "retained"


def test_a_preset_may_be_a_variant() -> None:
    view = open_experiment("lo-004", "left", "127.0.0.1", 8610)
    assert view.variant_name == "left"
    view.close()


def test_an_outcome_without_recording() -> None:
    class Outcome:
        recording = None

    with pytest.raises(ValueError, match="nothing in it can be looked at"):
        shown(Outcome(), "LO-000")  # type: ignore[arg-type]
