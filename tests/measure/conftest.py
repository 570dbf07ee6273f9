"""Fixtures of the measures' tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load_walker() -> ModuleType:
    """The module ``walker.py`` of this folder, which no package holds."""
    name = "known_walker"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("walker.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def walker() -> ModuleType:
    """``walker.Walker(...).record()`` makes a recording of known gait."""
    return load_walker()
