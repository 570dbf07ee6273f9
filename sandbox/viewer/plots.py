"""Beside the scene: rolling plots of speed and ground force, joint angles of the last stride over people's, and its figures."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.measure import cycles, force_events, leg_angles, resample, young_adults
from sandbox.measure.balance import lateral_margins
from sandbox.measure.cycle import Cycle
from sandbox.measure.events import GaitEvents
from sandbox.measure.signals import along, facing
from sandbox.measure.steps import placements, steps
from sandbox.recording import Recording
from sandbox.report.figure import LEFT_COLOUR, RIGHT_COLOUR
from sandbox.viewer.frame import Frames

Array = NDArray[np.float64]

SPAN = 6.0  # [s] of the rolling plots, and of the rows that are kept
SAMPLES = 51  # of a gait cycle
INK, FAINT, BAND = "#22272e", "#8a929c", "rgba(138, 146, 156, 0.30)"
COMMAND_COLOUR = "#c48a00"


class Stride(NamedTuple):
    """The last stride: figures by name, as text, and curves (SAMPLES,) [deg] of hip, knee, ankle by foot (None where it has none)."""

    figures: dict[str, str]
    curves: dict[str, list[Array | None]]


class History:
    """Rows of the last seconds."""

    def __init__(self) -> None:
        self._blocks: deque[Frames] = deque()
        self._epoch = -1

    def add(self, frames: Frames) -> None:
        """Take in rows; a new epoch forgets the old one."""
        if not len(frames):
            return
        epoch = int(frames[-1]["epoch"])
        if epoch != self._epoch:
            self._blocks.clear()
            self._epoch = epoch
        self._blocks.append(frames[frames["epoch"] == epoch])
        while len(self._blocks) > 1 and self._blocks[1][0]["time"] < self._blocks[-1][-1]["time"] - SPAN:
            self._blocks.popleft()

    def clear(self) -> None:
        """Forget everything."""
        self._blocks.clear()

    def rows(self) -> Frames | None:
        """All that is kept, None where there is nothing."""
        return np.concatenate(tuple(self._blocks)) if self._blocks else None


def last_stride(rows: Frames, header: dict[str, Any]) -> Stride:
    """The last complete stride in the rows; empty where there is none."""
    nothing = Stride({}, {"hip": [None, None], "knee": [None, None], "ankle": [None, None]})
    if len(rows) < 60 or not np.isfinite(rows["ground_force"]).all():
        return nothing
    columns = {name: rows[name] for name in ("time", "points", "ground_force", "com", "com_velocity", "xcom")}
    recording = Recording({**header, "fall": {"fell": False}}, columns)
    events = force_events(recording)
    strides = cycles(events)
    if not strides:
        return nothing
    angles = leg_angles(recording)
    curves: dict[str, list[Array | None]] = {}
    for name in ("hip", "knee", "ankle"):
        both: list[Array | None] = [None, None]
        for stride in strides:
            both[stride.foot] = np.degrees(
                resample(recording.time, getattr(angles, name)[:, stride.foot], stride.start, stride.end, SAMPLES)
            )
        curves[name] = both
    return Stride(_figures(recording, strides[-1], events), curves)


def _figures(recording: Recording, stride: Cycle, events: GaitEvents) -> dict[str, str]:
    """Figures of one stride; lengths from the placements within the rows."""
    directions = facing(recording)
    a, b = np.searchsorted(recording.time, (stride.start, stride.end - 1e-9))
    b = min(int(b), len(recording) - 1)
    forward = directions.forward[(a + b) // 2]
    speed = float((recording.com[b] - recording.com[a]) @ forward) / (recording.time[b] - recording.time[a])
    placed = steps(placements(recording, events), recording.time, directions)
    margins = lateral_margins(recording, [stride], directions)
    weight = 9.81 * float(recording.header["body"]["mass_kg"])
    peak = float(recording.ground_force[a : b + 1, stride.foot, 2].max()) / weight
    vertical = recording.com[a : b + 1, 2]
    sway = along(recording.com[a : b + 1] - recording.com[a], directions.right[a : b + 1])
    figures = {
        "foot": "left" if stride.foot == 0 else "right",
        "speed": f"{speed:.2f} m/s",
        "cadence": f"{120 / stride.time:.0f} steps/min",
        "stride time": f"{stride.time:.2f} s",
        "step length": f"{float(placed.length[-1]):.2f} m" if len(placed.length) else "-",
        "step width": f"{100 * float(placed.width[-1]):.1f} cm" if len(placed.width) else "-",
        "stance": f"{100 * stride.stance_fraction:.0f} %",
        "double support": f"{100 * stride.double_support_fraction:.0f} %",
        "force peak": f"{peak:.2f} body weights",
        "lateral margin of stability": f"{100 * float(margins[0]):.1f} cm" if len(margins) else "-",
        "CoM rise and fall": f"{100 * float(np.ptp(vertical)):.1f} cm",
        "CoM sway": f"{100 * float(np.ptp(sway)):.1f} cm",
    }
    return {name: text for name, text in figures.items() if "nan" not in text}


class Plots:
    """The plots of one body in the control panel.

    Args:
        gui: viser's.
        weight: of the body [N].
    """

    def __init__(self, gui: Any, weight: float) -> None:
        from viser import uplot

        self._weight, self._strides = weight, 0
        axes = tuple(uplot.Axis(size=size, font="11px sans-serif", stroke=FAINT) for size in (26.0, 40.0))
        legend = uplot.Legend(show=False)
        empty = np.zeros(2)

        def plot(title: str, series: tuple[Any, ...], span: tuple[float, float], y: tuple[float | None, float | None], **more: Any) -> Any:
            x = np.array(span, dtype=float)
            scales = {"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(range=y)}
            return gui.add_uplot(
                (x, *[empty] * len(series)), (uplot.Series(label="x"), *series), title=title, scales=scales, axes=axes, legend=legend,
                aspect=2.4, padding=(4, 8, 0, 0), **more,
            )  # fmt: skip

        def line(label: str, colour: str, width: float = 1.6) -> Any:
            return uplot.Series(label=label, stroke=colour, width=width, points={"show": False})

        self._speed = plot(
            "speed, m/s: asked (amber), walked", (line("asked", COMMAND_COLOUR), line("walked", INK)), (0, SPAN), (-0.2, 2.2)
        )
        self._force = plot(
            "vertical ground force, body weights", (line("left", LEFT_COLOUR), line("right", RIGHT_COLOUR)), (0, SPAN), (-0.05, 2.0)
        )
        norm = young_adults()
        self._bands = {}
        self._angles = {}
        pick = np.linspace(0, 100, SAMPLES).round().astype(int)
        for name, span in (("hip", (-35.0, 55.0)), ("knee", (-15.0, 85.0)), ("ankle", (-40.0, 35.0))):
            band = getattr(norm, name)
            low, high = band.mean_deg[pick] - band.sd_deg[pick], band.mean_deg[pick] + band.sd_deg[pick]
            self._bands[name] = (pick.astype(float), high, low)
            series = (line("people +SD", BAND, 0.5), line("people -SD", BAND, 0.5), line("left", LEFT_COLOUR), line("right", RIGHT_COLOUR))
            title = f"{name}, degrees"
            self._angles[name] = plot(title, series, (0, 100), span, bands=(uplot.Band(series=(1, 2), fill=BAND),))
            self._angles[name].data = (*self._bands[name], np.full(SAMPLES, np.nan), np.full(SAMPLES, np.nan))
        gui.add_markdown(
            f"Over a stride, %: left (blue), right (orange), behind them the mean and SD of {norm.subjects} adults at {norm.speed:.2f} m/s."
        )
        self._table = gui.add_markdown("*the last stride: none yet*")

    def roll(self, rows: Frames) -> None:
        """Speed and force of the last seconds."""
        few = rows[:: max(1, len(rows) // 240)]
        time = few["time"]
        forward = np.column_stack((-np.sin(few["heading"]), np.cos(few["heading"])))
        speed = np.sum(few["com_velocity"][:, :2] * forward, axis=1)
        self._speed.data = (time, few["command"][:, 0].copy(), speed)
        load = few["ground_force"][:, :, 2] / self._weight
        self._force.data = (time, load[:, 0].copy(), load[:, 1].copy())

    def stride(self, stride: Stride) -> None:
        """Angles over people's, and the table."""
        self._strides += 1
        for name, (x, high, low) in self._bands.items():
            # The plot draws its axes anew only when the span of x has changed.
            x = x + np.where(np.arange(SAMPLES) == SAMPLES - 1, 1e-4 * (self._strides % 2), 0.0)
            left, right = (np.full(SAMPLES, np.nan) if curve is None else curve for curve in stride.curves[name])
            self._angles[name].data = (x, high, low, left, right)
        if stride.figures:
            lines = "\n".join(f"| {name} | {text} |" for name, text in stride.figures.items())
            self._table.content = f"| the last stride | |\n|---|---|\n{lines}"
        else:
            self._table.content = "*the last stride: none yet*"
