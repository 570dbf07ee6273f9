"""Pictures of meshes with PyBullet: OpenGL through EGL where it works, else PyBullet's software renderer. No display needed.

A renderer has a PyBullet client of its own, which holds nothing but what is drawn: taking a picture cannot disturb a simulation.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.plants.library import bullet

Array = NDArray[np.float64]
Picture = NDArray[np.uint8]

NEAR, FAR = 0.1, 60.0  # [m] what the camera sees
LIGHT = (0.5, 0.3, 1.0)  # towards the light
PROBE_TIMEOUT = 30.0  # [s]
SIZE_RANGE = (16, 4096)  # [pixels]
EGL_DRAW, EGL_READ = 0x3059, 0x305A  # of EGL's specification

_PROBE = """
import os, sys, pybullet
client = pybullet.connect(pybullet.DIRECT)
if pybullet.loadPlugin(sys.argv[1], "_eglRendererPlugin", physicsClientId=client) < 0:
    os._exit(1)
pybullet.getCameraImage(16, 16, renderer=pybullet.ER_BULLET_HARDWARE_OPENGL, physicsClientId=client)
os._exit(0)
"""


@cache
def egl_plugin() -> str | None:
    """Path of PyBullet's EGL plugin where it can draw, else None.

    It is tried once, in a process of its own: without a driver it ends the process that loads it.
    """
    spec = importlib.util.find_spec("eglRenderer")
    if spec is None or spec.origin is None:
        return None
    try:
        done = subprocess.run([sys.executable, "-I", "-c", _PROBE, spec.origin], capture_output=True, timeout=PROBE_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return spec.origin if done.returncode == 0 else None


def check_size(width: int, height: int) -> None:
    """Raise ValueError for a picture of a size that cannot be drawn."""
    for size in (width, height):
        if not SIZE_RANGE[0] <= size <= SIZE_RANGE[1] or size != int(size):
            raise ValueError(f"picture size {size} is outside {SIZE_RANGE[0]}-{SIZE_RANGE[1]} whole pixels: give a value in that range")


class Renderer:
    """A camera and what stands before it.

    Args:
        width, height: of the picture [pixels].
        field: vertical angle of view [deg].
        egl: False for the software renderer even where EGL works.

    Raises:
        ValueError: a size outside 16-4096 pixels.
        RuntimeError: PyBullet has no free client.

    Attributes:
        name: ``EGL`` or ``TinyRenderer``.
    """

    def __init__(self, width: int, height: int, field: float = 32.0, egl: bool = True) -> None:
        check_size(width, height)
        self.width, self.height = width, height
        plugin = egl_plugin() if egl else None
        self._client = bullet.connect(bullet.DIRECT)
        if self._client < 0:
            raise RuntimeError("PyBullet has no free client: close environments that are no longer used")
        self._kind = bullet.ER_TINY_RENDERER
        self._context: EglContext | None = None
        if plugin:
            with EglContext.kept(), _silenced():
                if bullet.loadPlugin(plugin, "_eglRendererPlugin", physicsClientId=self._client) >= 0:
                    self._kind, self._context = bullet.ER_BULLET_HARDWARE_OPENGL, EglContext.current()
        self.name = "EGL" if self._context else "TinyRenderer"
        self._projection = bullet.computeProjectionMatrixFOV(field, width / height, NEAR, FAR)
        self._folder = tempfile.TemporaryDirectory()
        self._count = 0

    def add(self, vertices: Array, normals: Array, faces: NDArray[np.int64], colour: tuple[int, int, int]) -> int:
        """Add a mesh: ``vertices`` (V, 3) [m], ``normals`` (V, 3), ``faces`` (F, 3), ``colour`` 0-255. Returns its number."""
        # From a file: the EGL plugin ends the process on a mesh that is given as lists.
        path = Path(self._folder.name) / f"{self._count}.obj"
        self._count += 1
        lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in vertices.tolist()]
        lines += [f"vn {x:.6f} {y:.6f} {z:.6f}" for x, y, z in normals.tolist()]
        lines += [f"f {a}//{a} {b}//{b} {c}//{c}" for a, b, c in (faces + 1).tolist()]
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
        with self._drawing():
            shape = bullet.createVisualShape(
                bullet.GEOM_MESH,
                fileName=str(path),
                rgbaColor=[*(channel / 255 for channel in colour), 1.0],
                specularColor=[0.0, 0.0, 0.0],
                physicsClientId=self._client,
            )
            return int(bullet.createMultiBody(0, -1, shape, physicsClientId=self._client))

    def place(self, number: int, position: Sequence[float], quaternion: Sequence[float]) -> None:
        """Put a mesh at a position (3,) [m] with an attitude (4,)."""
        bullet.resetBasePositionAndOrientation(number, position, quaternion, physicsClientId=self._client)

    def picture(self, eye: Sequence[float], target: Sequence[float]) -> Picture:
        """The picture (height, width, 3) from ``eye`` (3,) towards ``target`` (3,) [m], up being up."""
        view = bullet.computeViewMatrix(eye, target, [0.0, 0.0, 1.0])
        with self._drawing():
            shot = bullet.getCameraImage(
                self.width,
                self.height,
                viewMatrix=view,
                projectionMatrix=self._projection,
                lightDirection=LIGHT,
                lightAmbientCoeff=0.55,
                lightDiffuseCoeff=0.5,
                lightSpecularCoeff=0.0,
                shadow=1,
                flags=bullet.ER_NO_SEGMENTATION_MASK,
                renderer=self._kind,
                physicsClientId=self._client,
            )
        return np.array(np.reshape(shot[2], (self.height, self.width, 4))[..., :3], dtype=np.uint8)

    def close(self) -> None:
        """Release the client. May be called twice."""
        if self._client >= 0:
            with self._drawing():
                bullet.disconnect(physicsClientId=self._client)
            self._client, self._context = -1, None
            self._folder.cleanup()

    @contextlib.contextmanager
    def _drawing(self) -> Iterator[None]:
        """Around every call that may draw: this renderer's own context, and no word of the EGL plugin."""
        if self._context is None:
            yield
        else:
            with EglContext.kept(), _silenced():
                self._context.use()
                yield


class EglContext(NamedTuple):
    """What EGL draws to. Bullet's plugin makes its context current once, as it is loaded, and never asks again.

    A second renderer would so draw into the first one's place, and the first one, after the second has gone, nowhere: the process
    ends. A context is of one thread at a time, so that none is left current behind a call.
    """

    display: int | None
    draw: int | None
    read: int | None
    context: int | None

    @classmethod
    def current(cls) -> EglContext:
        """The context of this thread; all None where there is none."""
        egl = _egl()
        draw, read = (egl.eglGetCurrentSurface(kind) for kind in (EGL_DRAW, EGL_READ))
        return cls(egl.eglGetCurrentDisplay(), draw, read, egl.eglGetCurrentContext())

    def use(self) -> None:
        """Make it the context of this thread.

        Raises:
            RuntimeError: EGL refuses, for instance since another thread is drawing with it.
        """
        if not _egl().eglMakeCurrent(self.display, self.draw, self.read, self.context):
            raise RuntimeError("EGL cannot draw here: is another thread drawing with the same environment?")

    @classmethod
    @contextlib.contextmanager
    def kept(cls) -> Iterator[None]:
        """Afterwards the context of this thread is what it was before."""
        before = cls.current()
        try:
            yield
        finally:
            after = cls.current()
            if after != before:
                # with no context before, a display is needed to give up the present one
                _egl().eglMakeCurrent(before.display or after.display, before.draw, before.read, before.context)


@cache
def _egl() -> ctypes.CDLL:
    """The library that Bullet's plugin draws with."""
    egl = ctypes.CDLL("libEGL.so.1")
    pointer = ctypes.c_void_p
    egl.eglGetCurrentDisplay.restype = egl.eglGetCurrentContext.restype = egl.eglGetCurrentSurface.restype = pointer
    egl.eglGetCurrentSurface.argtypes = [ctypes.c_int32]
    egl.eglMakeCurrent.argtypes = [pointer] * 4
    return egl


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Drop what C code prints meanwhile: the EGL plugin reports its driver with every other picture."""
    sys.stdout.flush()
    sys.stderr.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    for stream in kept:
        os.dup2(null, stream)
    os.close(null)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).fflush(None)
        for stream, copy in kept.items():
            os.dup2(copy, stream)
            os.close(copy)
