"""Fixtures of the reports' tests."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import CHROMIUM
from browser import browser as open_browser
from browser import wait_until as wait

from sandbox.recording import Recording


@pytest.fixture(scope="session")
def known() -> Any:
    """The class of the walker of known gait, of the measures' tests."""
    name = "known_walker"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "measure" / "walker.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name].Walker


@pytest.fixture(scope="session")
def walk(known: Any) -> Recording:
    return known(seconds=12).record()


@pytest.fixture(scope="session")
def odd_recordings(known: Any, walk: Recording) -> dict[str, Recording]:
    """What pictures must survive: a fall at once, no motion, no forces, no stride, a slope with boxes, points alone."""

    def some(recording: Recording, rows: int, **columns: Any) -> Recording:
        lists = ("event_", "foothold_", "push_")
        kept = {
            k: v[recording.event_time <= rows / 120] if k.startswith("event_") else v if k.startswith(lists) else v[:rows]
            for k, v in recording.columns.items()
        }
        return Recording(recording.header, {**kept, **columns})

    still = some(walk, 600, points=np.repeat(walk.points[:1], 600, axis=0))
    fall = {"fell": True, "time_s": 0.9, "cause": "trunk tilt"}
    sloped = known(seconds=10, header={"settings": {"slope_rad": 0.08, "boxes": [[0.1, 4.0, 0.3, 0.1, 0.02]]}}).record()
    sloped.columns["points"][..., 2] += np.tan(0.08) * sloped.points[..., 1]
    bare = {k: np.zeros_like(v) if k in ("ground_force", "sole_load", "tau") else v for k, v in walk.columns.items()}
    return {
        "one row": some(walk, 1),
        "two rows": some(walk, 2),
        "fall": Recording({**walk.header, "fall": fall}, some(walk, 120).columns),
        "still": still,
        "kinematic": Recording(walk.header, {**bare, "centre_of_pressure": np.full_like(walk.centre_of_pressure, np.nan)}),
        "slope": sloped,
        "points": Recording(walk.header, {k: walk.columns[k] for k in ("time", "points")}),
    }


@pytest.fixture(scope="session")
def browser() -> Any:
    """A function of a page and a profile folder that opens it in headless Chromium, and yields a function that evaluates JavaScript
    in it; without Chromium the test is skipped.
    """
    if CHROMIUM is None:
        pytest.skip("no Chromium")
    return _evaluator


@pytest.fixture(scope="session")
def wait_until() -> Any:
    """A function that waits for something to become true."""
    return wait


@contextmanager
def _evaluator(page: Path, profile: Path) -> Iterator[Callable[[str], Any]]:
    with open_browser(page.as_uri(), profile) as opened:
        yield opened.js
