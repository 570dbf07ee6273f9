"""A recording in other people's tools: BVH, TRC, MOT, C3D, GLB, CSV. Each format is one module and one function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sandbox.export.bvh import save_bvh
from sandbox.export.c3d import save_c3d
from sandbox.export.glb import save_glb
from sandbox.export.opensim import save_mot, save_trc
from sandbox.export.table import save_csv
from sandbox.recording import Recording

# By ending. Each returns the files that it wrote.
FORMATS: dict[str, Callable[[Recording, Path], list[Path]]] = {
    ".bvh": save_bvh,
    ".trc": save_trc,
    ".mot": save_mot,
    ".c3d": save_c3d,
    ".glb": save_glb,
    ".csv": save_csv,
}

__all__ = ["FORMATS", "save_bvh", "save_c3d", "save_csv", "save_glb", "save_mot", "save_trc"]
