"""PyBullet, imported without the line that it prints when it is: standard output belongs to whoever asked for results."""

from __future__ import annotations

from sandbox.console import silenced

with silenced():
    import pybullet as bullet

__all__ = ["bullet"]
