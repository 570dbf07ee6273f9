"""Fixtures of the view's tests."""

from __future__ import annotations

import pytest

from sandbox.recording import Recording
from sandbox.scenes.scene import Options, build
from sandbox.simulation import run


@pytest.fixture(scope="session")
def walk() -> Recording:
    """A turning walk of the plan itself."""
    return run(build("walk", Options(speed=1.0, heading_rate=0.2, seconds=6.0)), plant="kinematic")
