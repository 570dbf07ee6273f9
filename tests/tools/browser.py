"""A headless Chromium for tests: open a page, run JavaScript in it, take pictures. It starts and ends with the test."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sandbox.bench.view import CHROMIUM_OPTIONS, chromium

CHROMIUM = chromium()
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")


class Page:
    """A page that is open."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._count = socket, 0

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def js(self, code: str) -> Any:
        """The value of an expression."""
        result = self.call("Runtime.evaluate", expression=code, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def click(self, label: str) -> None:
        """Press the button of a label."""
        code = f"""(() => {{
            const button = [...document.querySelectorAll('button')].find(b => b.textContent.trim() === {json.dumps(label)});
            if (button) button.click();
            return !!button; }})()"""
        found = self.js(code)
        assert found, f"no button {label!r}"

    def type_into(self, label: str, value: str) -> None:
        """Type a number into the box beside a slider or a number of a label, and press Enter."""
        code = f"""(() => {{
            const mark = [...document.querySelectorAll('label')].find(l => l.textContent.trim() === {json.dumps(label)});
            let place = mark;
            while (place && !place.querySelector('input.mantine-NumberInput-input')) place = place.parentElement;
            const input = place && place.querySelector('input.mantine-NumberInput-input');
            if (input) {{ input.focus(); input.select(); }}
            return !!input; }})()"""
        assert self.js(code), f"no box beside {label!r}"
        self.call("Input.insertText", text=value)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)
        self.js("document.activeElement && document.activeElement.blur()")

    def picture(self, name: str) -> np.ndarray:
        """What is seen, (height, width, 3); kept as a file of that name where SANDBOX_SCREENSHOTS names a folder."""
        from io import BytesIO

        from PIL import Image

        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if folder := os.environ.get("SANDBOX_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{name}.png").write_bytes(data)
        return np.asarray(Image.open(BytesIO(data)).convert("RGB"))

    def type_until(self, label: str, value: str, done: Callable[[], Any], seconds: float = 60.0) -> None:
        """Type a number as :meth:`type_into` does, again where a page that is busy has missed it, until ``done()`` is true."""
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, f"{label} {value} was not taken within {seconds:g} s"
            self.type_into(label, value)
            again = time.monotonic() + 5
            while not done() and time.monotonic() < again:
                time.sleep(0.2)

    def see(self, name: str, check: Callable[[np.ndarray], None], seconds: float = 90.0) -> None:
        """Take pictures until ``check`` of one raises no AssertionError: software WebGL draws a few frames a second, or fewer."""
        end = time.monotonic() + seconds
        while True:
            self.hide_notes()
            try:
                check(self.picture(name))
            except AssertionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)
            else:
                return

    def hide_notes(self) -> None:
        """Take away what viser says of software rendering."""
        self.js("[...document.querySelectorAll('[class*=Notification-root]')].forEach(note => note.remove())")


@contextmanager
def browser(address: str, profile: Path, size: tuple[int, int] = (1440, 900)) -> Iterator[Page]:
    """A headless Chromium with a page open."""
    connect = pytest.importorskip("websockets.sync.client").connect
    command = [
        str(CHROMIUM),
        *CHROMIUM_OPTIONS,
        f"--window-size={size[0]},{size[1]}",
        f"--user-data-dir={profile}",
        "--remote-debugging-port=0",
        address,
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            told = profile / "DevToolsActivePort"
            wait_until(lambda: told.exists() and bool(told.read_text().strip()), 60)
            port = told.read_text().split()[0]
            targets: list[dict[str, Any]] = []

            def listed() -> bool:
                targets[:] = json.loads(urllib.request.urlopen(f"http://127.0.0.1:{port}/json").read())
                return any(target["type"] == "page" for target in targets)

            wait_until(listed, 60)
            tab = next(target["webSocketDebuggerUrl"] for target in targets if target["type"] == "page")
            with connect(tab, max_size=None, open_timeout=60) as socket:
                yield Page(socket)
        finally:
            process.terminate()


def wait_until(done: Callable[[], Any], seconds: float) -> None:
    """Until ``done()`` is true; an AssertionError after so many seconds."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"not within {seconds:g} s"
        time.sleep(0.2)


def near_colour(picture: np.ndarray, colour: str, tolerance: float = 14.0) -> np.ndarray:
    """Which pixels (height, width) have the hue of ``#rrggbb``, within so many degrees, and are no grey."""
    wanted = np.array([[[int(colour[k : k + 2], 16) for k in (1, 3, 5)]]], dtype=float)
    hue, colourful = _hue(picture.astype(float))
    return colourful & (np.abs((hue - _hue(wanted)[0] + 180) % 360 - 180) < tolerance)


def _hue(pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hue [deg] of pixels (h, w, 3), and whether they have one."""
    red, green, blue = np.moveaxis(pixels, -1, 0)
    high, low = pixels.max(axis=-1), pixels.min(axis=-1)
    spread = np.maximum(high - low, 1e-9)
    hue = np.where(high == red, (green - blue) / spread % 6, np.where(high == green, 2 + (blue - red) / spread, 4 + (red - green) / spread))
    return 60 * hue, (high - low > 40) & (high > 50)
