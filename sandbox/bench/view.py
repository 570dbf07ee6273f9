"""What the live view keeps up with: scene updates to its clients, and the physics in real time whatever they do."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.bodies.anatomy import Anatomy
from sandbox.config import check_range
from sandbox.console import markdown
from sandbox.controllers.parameters import Parameters
from sandbox.scenes.scene import Options, build

WANTED_UPDATES = 30.0 * 0.95  # a second: 30, up to how a second is cut off
WANTED_FACTOR = 0.97  # of real time
SECONDS_RANGE = (3.0, 600.0)
STARTING = 120.0  # [s] that the first start may take: it compiles
CHROMIUM_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--window-size=1440,900",
)


class Client:
    """A client of a viser page without a browser: it takes in what the page sends, or only pretends to.

    Args:
        address: ``http://...`` of the page.
        reads: False for a client that never reads what it is sent.
        watched: the end of the name of the scene node whose updates are counted.

    Attributes:
        updates: of the node.
        places: its last batch of positions, flat, as it was sent.
    """

    def __init__(self, address: str, reads: bool = True, watched: str = "/bullet/markers") -> None:
        import viser
        from websockets.sync.client import connect
        from websockets.typing import Subprotocol

        self._watched = watched
        self.updates = 0
        self.places: Any = None
        self._socket = connect(
            address.replace("http://", "ws://"), subprotocols=[Subprotocol(f"viser-v{viser.__version__}")], max_size=None, compression=None
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        if reads:
            self._thread.start()

    def _listen(self) -> None:
        import msgspec
        import numpy as np
        import zstandard

        inflate = zstandard.ZstdDecompressor()
        with contextlib.suppress(Exception):  # the page has gone
            for data in self._socket:
                assert isinstance(data, bytes)
                size, packed = (int.from_bytes(data[k : k + 8], "little") for k in (0, 8))
                inner = msgspec.msgpack.decode(inflate.decompress(data[16 : 16 + packed], max_output_size=size))
                starts, at = [], 16 + packed
                for length in inner["binaryBufferLengths"]:
                    at += -at % 8
                    starts.append(data[at : at + length])
                    at += length
                for message in inner["messages"]:
                    positions = message.get("updates", {}).get("batched_positions")
                    if positions is not None and str(message.get("name", "")).endswith(self._watched):
                        self.updates += 1
                        self.places = np.frombuffer(starts[_buffer_of(positions)], dtype=np.float32)

    def close(self) -> None:
        """Leave."""
        with contextlib.suppress(Exception):
            self._socket.close()


def _buffer_of(placeholder: Any) -> int:
    """Number of the binary buffer that a placeholder stands for."""
    if isinstance(placeholder, dict):
        return next(int(value) for key, value in placeholder.items() if "ind" in key.lower() or "binary" in key.lower())
    return int(placeholder)


class Figure(NamedTuple):
    """One condition: bodies simulated, scene updates a second that reach a client, simulated seconds a second."""

    condition: str
    bodies: int
    updates: float
    factor: float

    @property
    def kept(self) -> bool:
        return self.updates >= WANTED_UPDATES and self.factor >= WANTED_FACTOR


def measure(seconds: float, progress: Callable[[float], None] | None = None) -> list[Figure]:
    """Each condition for so many seconds.

    Raises:
        ValueError: seconds outside :data:`SECONDS_RANGE`.
    """
    check_range("seconds", seconds, SECONDS_RANGE, "s")
    out = []
    conditions: list[tuple[str, str, Callable[[str], contextlib.AbstractContextManager[Any]]]] = [
        ("one client", "bullet", _nobody),
        ("one client, and one that never reads", "bullet", _deaf),
        ("two bodies in lockstep, one client", "both", _nobody),
    ]
    if chromium() is not None:
        conditions.append(("one client, and Chromium with software WebGL on the same cores", "bullet", _chromium))
    for k, (name, plant, company) in enumerate(conditions):
        out.append(_measure(name, plant, company, seconds))
        if progress is not None:
            progress((k + 1) / len(conditions))
    return out


def _measure(name: str, plant: str, company: Callable[[str], contextlib.AbstractContextManager[Any]], seconds: float) -> Figure:
    from sandbox.viewer.engine import Setup
    from sandbox.viewer.live import LiveView, plants_of

    scene = build("walk", Options(speed=1.0))
    view = LiveView(Setup(scene, tuple(plants_of(plant)), 0, Anatomy(), Parameters.load()), "127.0.0.1", 8180)
    done = threading.Event()
    loop = threading.Thread(target=view.run, args=(done.is_set,), daemon=True)
    loop.start()
    try:
        began = time.monotonic()
        while not view.updates and time.monotonic() - began < STARTING:
            time.sleep(0.1)
        client = Client(view.address)
        with company(view.address):
            time.sleep(2.0)
            updates, simulated, start = client.updates, view.engine.time, time.monotonic()
            time.sleep(seconds)
            passed = time.monotonic() - start
            figure = Figure(name, len(view.figures), (client.updates - updates) / passed, (view.engine.time - simulated) / passed)
        client.close()
        return figure
    finally:
        done.set()
        loop.join(10.0)
        view.close()


@contextlib.contextmanager
def _nobody(_: str) -> Iterator[None]:
    yield


@contextlib.contextmanager
def _deaf(address: str) -> Iterator[None]:
    client = Client(address, reads=False)
    try:
        yield
    finally:
        client.close()


def chromium() -> str | None:
    """Path of Chromium, or of a browser that takes its options."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextlib.contextmanager
def _chromium(address: str) -> Iterator[None]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [str(chromium()), *CHROMIUM_OPTIONS, f"--user-data-dir={Path(folder)}", address]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                time.sleep(10.0)  # until it draws
                yield
            finally:
                process.terminate()


def table(figures: list[Figure]) -> str:
    """Markdown, aligned to be read as it is."""
    rows = [("live view", "bodies", "scene updates a second (30)", "simulated over real time (1)", "")]
    rows += [(f.condition, str(f.bodies), f"{f.updates:.1f}", f"{f.factor:.2f}", "kept" if f.kept else "NOT kept") for f in figures]
    return markdown(rows)
