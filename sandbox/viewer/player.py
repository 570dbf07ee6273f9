"""The view of recordings: scrub, frame by frame, at any speed, between two marks; two of them side by side or as a ghost."""

from __future__ import annotations

import html
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sandbox.recording import Recording
from sandbox.report.scene import check_drawable, ground_of
from sandbox.state import FEET, ContactState
from sandbox.viewer.drawing import LAYERS, Cameraman, Figure, add_ground, addresses, open_server
from sandbox.viewer.frame import Frames, frames_of
from sandbox.viewer.live import BODIES, ROLLS, ROOT, SIDE_BY_SIDE, UPDATES, close_server
from sandbox.viewer.plots import SPAN, Plots, last_stride

GHOST_OPACITY = 0.35
FASTEST = 4.0
Together = Literal["side", "ghost"]


@dataclass
class _Film:
    """One recording on the stage."""

    recording: Recording
    frames: Frames
    figure: Figure


class Player:
    """A page that plays recordings.

    Args:
        recordings: one, or two that start together.
        names: of them, to be read.
        together: of two: ``side`` by side, or the second as a ``ghost`` in the first one's place.
        host, port: where to listen.

    Raises:
        ValueError: a recording that cannot be drawn.
        sandbox.viewer.drawing.PageError: it cannot listen there.

    Attributes:
        address: of the page.
        time: that is shown [s].
        films: what is on the stage.
    """

    def __init__(self, recordings: Sequence[Recording], names: Sequence[str], together: Together, host: str, port: int) -> None:
        for recording, name in zip(recordings, names, strict=True):
            check_drawable(recording, name)
        self.server = open_server(host, port)
        self.port = int(self.server.get_port())
        self.address = addresses(host, self.port)[0]
        self.names = list(names)
        self._together = together
        self._lock = threading.RLock()
        self._closing = False
        self._layers = dict(LAYERS)
        self.films: list[_Film] = []
        self._place: Any = None
        body = recordings[0].header["body"]
        self.camera = Cameraman(self.server, ROOT, BODIES, float(body["height_m"]) / 1.74)
        self.start, self.end = 0.0, 1.0
        self.time = 0.0
        self.playing = True
        self._moved = False  # by the player itself, not by a browser
        self._stride = -1
        self._head = self.server.gui.add_markdown("")
        self._extra_controls()
        self._load(recordings)
        self._controls()

    # -- what subclasses add -------------------------------------------------------------------------------------------

    def _extra_controls(self) -> None:
        """Above the player's own."""

    def _words(self, frame: Any) -> list[str]:  # noqa: ARG002
        """Lines beneath the player's own."""
        return []

    # -- stage ---------------------------------------------------------------------------------------------------------

    def _load(self, recordings: Sequence[Recording]) -> None:
        """Put recordings on the stage, in the place of what is there."""
        scene = self.server.scene
        for film in self.films:
            film.figure.remove()
        if self._place is not None:
            self._place.remove()
        self._place = scene.add_frame(f"{ROOT}/place", show_axes=False)
        add_ground(scene, f"{ROOT}/place", ground_of(recordings[0]))
        self.films = []
        self.camera.clear()
        for k, recording in enumerate(recordings):
            root = f"{BODIES}/{k}"
            self.camera.add_body(root, k * SIDE_BY_SIDE if self._together == "side" else 0.0)
            opacity = GHOST_OPACITY if k and self._together == "ghost" else 1.0
            figure = Figure(scene, root, recording.header, ground_of(recording), opacity)
            if opacity == 1.0:
                for name, shown in self._layers.items():
                    figure.shown[name] = shown
            self.films.append(_Film(recording, frames_of(recording), figure))
        self.start = min(float(film.recording.time[0]) for film in self.films)
        self.end = max(self.start + 1e-3, *(film.recording.duration for film in self.films))
        self.time = min(max(self.time, self.start), self.end)

    def row(self, film: _Film, time: float | None = None) -> int:
        """Row of a film at a time [s]: the first that has reached it."""
        times = film.recording.time
        return int(np.clip(np.searchsorted(times, (self.time if time is None else time) - 1e-9), 0, len(times) - 1))

    # -- controls ------------------------------------------------------------------------------------------------------

    def _controls(self) -> None:
        gui = self.server.gui
        with gui.add_folder("play"):
            self.scrub = gui.add_slider("time, s", *self._span(), 0.01, self._span()[0])
            self.button = gui.add_button_group("", ("play", "pause", "back", "next"))
            self.speed = gui.add_slider("speed", 0.05, FASTEST, 0.05, 1.0, hint="of real time")
            self.loop = gui.add_multi_slider("A-B loop, s", *self._span(), 0.01, self._span(), min_range=0.05)
        with gui.add_folder("camera"):
            self.view = gui.add_button_group("look from", ("side", "front", "behind", "free"))
        with gui.add_folder("overlays", expand_by_default=False):
            self.layers = {}
            for name, shown in LAYERS.items():
                self.layers[name] = box = gui.add_checkbox(name, shown)
                box.on_update(lambda event, name=name: self._switch(name, bool(event.target.value)))
        panel = gui.add_panel()
        panel.dock_left()
        with panel.add_tab("measured"):
            self.plots = Plots(gui, self.films[0].figure.weight)
        self.scrub.on_update(self._scrubbed)
        self.button.on_click(lambda event: self._press(str(event.target.value)))
        self.view.on_click(lambda event: self.camera.look_from(str(event.target.value)))

    def _span(self) -> tuple[float, float]:
        return math.floor(100 * self.start) / 100, math.ceil(100 * self.end) / 100

    def _scrubbed(self, event: Any) -> None:
        if event.client is None:  # the player's own hand
            return
        with self._lock:
            value = float(event.target.value)
            if math.isfinite(value):
                self.playing = False
                self.seek(value)

    def _press(self, what: str) -> None:
        with self._lock:
            if what in ("play", "pause"):
                self.playing = what == "play"
            elif what in ("back", "next"):
                self.playing = False
                film = self.films[0]
                row = self.row(film) + (1 if what == "next" else -1)
                self.seek(float(film.recording.time[int(np.clip(row, 0, len(film.recording) - 1))]))

    def _switch(self, name: str, shown: bool) -> None:
        with self._lock:
            self._layers[name] = shown
            for film in self.films:
                if film.figure.opacity == 1.0:
                    film.figure.show_layer(name, shown)
            self._draw()

    # -- playing -------------------------------------------------------------------------------------------------------

    def seek(self, time: float) -> None:
        """Show a time [s]."""
        self.time = min(max(time, self.start), self.end)
        self._draw()

    def advance(self, seconds: float) -> None:
        """Go on by wall time, around the loop."""
        if not self.playing:
            return
        low, high = (float(v) for v in self.loop.value)
        low, high = max(low, self.start), min(high, self.end)
        if not low < high:
            low, high = self.start, self.end
        pace = float(self.speed.value)
        time = self.time + seconds * (min(max(pace, 0.05), FASTEST) if math.isfinite(pace) else 1.0)
        if time > high or time < low - 1e-6:
            time = low
            for film in self.films:
                film.figure.reset()
        self.time = time
        self._draw()

    def _draw(self) -> None:
        frames = [film.frames[self.row(film)] for film in self.films]
        first = self.films[0].figure
        hip = frames[0]["points"][first.points.index("mid_hip")]
        heading = float(frames[0]["heading"])
        with self.server.atomic():
            self.camera.follow(np.array([hip[0], hip[1], first.ground.rise * hip[1]]), heading if math.isfinite(heading) else 0.0)
            for film, frame in zip(self.films, frames, strict=True):
                film.figure.show(frame, self.camera.origin)

    def measure(self) -> None:
        """Plots and words."""
        with self._lock:
            film = self.films[0]
            row = self.row(film)
            rows: NDArray[Any] = film.frames[max(0, row - int(SPAN / film.recording.interval)) : row + 1]
            if len(rows) > 2 and film.recording.has("com_velocity", "command", "ground_force"):
                self.plots.roll(rows)
                landed = int(rows[-1]["landed"])
                if landed != self._stride:
                    self._stride = landed
                    self.plots.stride(last_stride(rows, film.recording.header))
            if abs(float(self.scrub.value) - self.time) > 0.01:
                self.scrub.value = round(self.time, 2)
            self._head.content = self._text(film.frames[row], row)

    def _text(self, frame: Any, row: int) -> str:
        film = self.films[0]
        lines = [f"**{html.escape(' and '.join(self.names))}**"]
        if len(self.films) > 1:
            lines.append("the second one is " + ("the ghost" if self._together == "ghost" else "on the right"))
        lines.append(f"{self.time:.2f} of {self.end:.2f} s, row {row + 1} of {len(film.recording)}")
        if film.recording.has("contact_state"):
            lines.append("contact: " + ", ".join(f"{s} {ContactState(int(frame['contact'][k])).name.lower()}" for k, s in enumerate(FEET)))
        if film.figure.margin is not None:
            lines.append(f"margin of stability: {100 * film.figure.margin:+.1f} cm")
        if self._layers["envelope violations"]:
            lines.append("beyond the comfortable range: " + (", ".join(film.figure.violations) or "nothing"))
        fall = film.recording.header.get("fall") or {}
        if bool(frame["fallen"]):
            lines.append(f"**fell**: {html.escape(str(fall.get('cause')))}")
        return "  \n".join([*lines, *self._words(frame)])

    # -- life ----------------------------------------------------------------------------------------------------------

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Keep the page alive until Ctrl-C, or until ``until()``."""
        last = rolled = time.monotonic()
        with self._lock:
            self._draw()
        while not until():
            time.sleep(1 / UPDATES)
            now = time.monotonic()
            with self._lock:
                self.advance(now - last)
            last = now
            if now - rolled >= 1 / ROLLS:
                self.measure()
                rolled = now

    def close(self) -> None:
        """End the page. May be called twice."""
        if not self._closing:
            self._closing = True
            close_server(self.server)
