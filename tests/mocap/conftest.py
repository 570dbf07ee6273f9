"""Where the reference data are, and clips of a known walker written in the formats of motion capture."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

SHARED = Path(os.environ.get("SANDBOX_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the reference data; a test without it is skipped."""
    if not SHARED.is_dir():
        pytest.skip("no reference data")
    return SHARED


@pytest.fixture(scope="session")
def walker() -> ModuleType:
    """``walker.Walker(...).record()`` makes a recording of known gait."""
    name = "known_walker"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "measure" / "walker.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]
