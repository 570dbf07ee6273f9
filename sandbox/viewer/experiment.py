"""The view of an experiment: its variants and presets, its parameters as sliders, what was requested against what was solved."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.recording import Recording
from sandbox.report.shapes import ball, lit
from sandbox.viewer.drawing import BURIED
from sandbox.viewer.live import BODIES
from sandbox.viewer.player import Player

Array = NDArray[np.float64]

REQUESTED_COLOUR, SOLVED_COLOUR = "#c1121f", "#1d1d1d"


@dataclass(frozen=True)
class Shown:
    """What one run of an experiment shows.

    Attributes:
        recording: to play.
        metrics: figures by name.
        presets: names of poses or phases, with the time [s] at which each begins.
        requested, solved: (T, M, 3) [m] markers that were asked for, and where they came to lie; None where nothing was asked for.
    """

    recording: Recording
    metrics: Mapping[str, float]
    presets: Mapping[str, float]
    requested: Array | None = None
    solved: Array | None = None


class ExperimentView(Player):
    """A page that shows an experiment, and runs it again with other parameters.

    Args:
        title: of the experiment.
        variants: name and what it is about.
        parameters: numbers of a variant, by key.
        run: the experiment with a variant's parameters, some of them changed. ValueError for what cannot be used.
        variant, preset: to begin with.
        host, port: where to listen.
    """

    def __init__(
        self,
        title: str,
        variants: Mapping[str, str],
        parameters: Callable[[str], Mapping[str, float]],
        run: Callable[[str, Mapping[str, float]], Shown],
        variant: str,
        preset: str | None,
        host: str,
        port: int,
    ) -> None:
        self._title, self._variants, self._parameters, self._run = title, dict(variants), parameters, run
        self.variant_name = variant
        self._values: dict[str, float] = {}
        self._wanted: tuple[str, dict[str, float]] | None = None
        self._complaint = ""
        self.shown = run(variant, {})
        super().__init__([self.shown.recording], [title], "side", host, port)
        self._markers()
        if preset is not None:
            self.playing = False
            self.preset.value = preset
            self._go_to(preset)

    # -- controls ------------------------------------------------------------------------------------------------------

    def _extra_controls(self) -> None:
        gui = self.server.gui
        self.preset: Any = None
        with gui.add_folder("experiment"):
            if len(self._variants) > 1:
                self.variant = gui.add_dropdown("variant", tuple(self._variants), initial_value=self.variant_name)
                self.variant.on_update(lambda event: self._ask(str(event.target.value), {}))
            if self.shown.presets:
                self.preset = gui.add_dropdown("preset", tuple(self.shown.presets))
                self.preset.on_update(self._preset_chosen)
        self._folder = gui.add_folder("parameters", expand_by_default=False)
        self._sliders: list[Any] = []
        self._add_sliders()

    def _add_sliders(self) -> None:
        for slider in self._sliders:
            slider.remove()
        self._sliders = []
        with self._folder:
            for key, value in self._parameters(self.variant_name).items():
                low, high = (0.0, 2 * value) if value > 0 else (2 * value, 0.0) if value < 0 else (-1.0, 1.0)
                whole = isinstance(value, int)
                step = max(1, round((high - low) / 100)) if whole else 10.0 ** (math.floor(math.log10(high - low)) - 2)
                slider = self.server.gui.add_slider(key, int(low) if whole else low, int(high) if whole else high, step, value)
                slider.on_update(lambda event, key=key: self._ask(self.variant_name, {**self._values, key: event.target.value}))
                self._sliders.append(slider)

    def _preset_chosen(self, event: Any) -> None:
        if event.client is not None:
            with self._lock:
                self.playing = False
                self._go_to(str(event.target.value))

    def _go_to(self, preset: str) -> None:
        begin = self.shown.presets.get(preset)
        if begin is not None:
            later = [time for time in self.shown.presets.values() if time > begin]
            self.seek((begin + min(later, default=self.end)) / 2)
            self.scrub.value = round(self.time, 2)

    def _ask(self, variant: str, values: Mapping[str, float]) -> None:
        """Run it again; the loop does it, so that a slider that moves asks once."""
        with self._lock:
            if variant in self._variants:
                self._wanted = (variant, {key: value for key, value in values.items() if math.isfinite(float(value))})

    def advance(self, seconds: float) -> None:
        """Go on, and run the experiment again where another one was asked for."""
        if self._wanted is not None:
            variant, values = self._wanted
            self._wanted = None
            try:
                shown = self._run(variant, values)
            except (ValueError, ArithmeticError) as error:
                self._complaint = str(error)
            else:
                self._complaint = ""
                changed = variant != self.variant_name
                self.shown, self.variant_name, self._values = shown, variant, dict(values)
                if changed:
                    self._add_sliders()
                self._load([shown.recording])
                self._markers()
                self._metrics.content = self._table()
                self._draw()
        super().advance(seconds)

    # -- requested and solved ------------------------------------------------------------------------------------------

    def _markers(self) -> None:
        self._pair: Any = None
        shown = self.shown
        if shown.requested is None or shown.solved is None:
            return
        scene, count = self.server.scene, shown.requested.shape[1]
        vertices, faces = ball(8, 12)

        def spheres(name: str, radius: float, colour: str, opacity: float) -> Any:
            return scene.add_batched_meshes_simple(
                f"{BODIES}/0/{name}",
                vertices,
                faces,
                batched_wxyzs=np.tile(np.array([1.0, 0, 0, 0], dtype=np.float32), (count, 1)),
                batched_positions=np.tile(np.array([0, 0, BURIED], dtype=np.float32), (count, 1)),
                batched_scales=np.full((count, 3), radius, dtype=np.float32),
                batched_colors=np.array([lit(colour)] * count, dtype=np.uint8),
                opacity=opacity,
                lod="off",
                cast_shadow=False,
            )

        requested, solved = spheres("requested", 0.035, REQUESTED_COLOUR, 0.6), spheres("solved", 0.02, SOLVED_COLOUR, 1.0)
        lines = scene.add_line_segments(
            f"{BODIES}/0/miss", np.full((count, 2, 3), BURIED, dtype=np.float32), np.array(lit(REQUESTED_COLOUR), dtype=np.uint8),
            thickness=3.0, thickness_units="screen",
        )  # fmt: skip
        self._pair = requested, solved, lines

    def _draw(self) -> None:
        super()._draw()
        if getattr(self, "_pair", None) is None:
            return
        requested, solved, lines = self._pair
        row = self.row(self.films[0])
        asked, got = self.shown.requested, self.shown.solved
        assert asked is not None
        assert got is not None
        wish, place = ((each[row] - self.camera.origin).astype(np.float32) for each in (asked, got))
        with self.server.atomic():
            requested.batched_positions = wish
            solved.batched_positions = place
            lines.points = np.stack((wish, place), axis=1)

    def _words(self, frame: Any) -> list[str]:  # noqa: ARG002
        lines = []
        if self._complaint:
            lines.append(f"**not done:** {html.escape(self._complaint)}")
        passed = [name for name, begin in self.shown.presets.items() if begin <= self.time + 1e-9]
        if passed:
            lines.append(f"preset: **{html.escape(passed[-1])}**")
        if self.shown.requested is not None and self.shown.solved is not None:
            row = self.row(self.films[0])
            miss = np.linalg.norm(self.shown.requested[row] - self.shown.solved[row], axis=1)
            lines.append(f"requested (red) and solved (black) are up to {1000 * float(miss.max()):.0f} mm apart")
        return lines

    def _controls(self) -> None:
        super()._controls()
        with self.server.gui.add_folder("metrics", expand_by_default=False):
            self._metrics = self.server.gui.add_markdown(self._table())

    def _table(self) -> str:
        rows = "".join(f"\n| {html.escape(name)} | {value:.5g} |" for name, value in self.shown.metrics.items())
        return f"| metric | |\n|---|---|{rows}"
