"""Environments for the tests, closed after each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import pytest

Make = Callable[..., Any]


@pytest.fixture
def make() -> Iterator[Make]:
    """``make("Walk", action="planner")``: an environment without Gymnasium's wrappers."""
    made = []

    def one(name: str = "Walk", **settings: Any) -> Any:
        made.append(gymnasium.make(f"sandbox:Sandbox/{name}-v0", **settings).unwrapped)
        return made[-1]

    yield one
    for env in made:
        env.close()
