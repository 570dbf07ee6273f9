"""One picture of a gait: the body over one stride, joint curves beside those of adults, ground force and contact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.files import written_whole
from sandbox.measure import Gait, cycle_curves, gait_report, leg_angles, young_adults
from sandbox.measure.cycle import Cycle, resample
from sandbox.measure.forces import middle_times, vertical_force
from sandbox.measure.norms import PEOPLE_DOUBLE_SUPPORT, PEOPLE_FORCE, PEOPLE_PUSH_OFF, PEOPLE_STANCE
from sandbox.recording import Recording
from sandbox.report.figure import LEFT_COLOUR, RIGHT_COLOUR, body_parts, outline, painted_order, shade
from sandbox.report.optional import need
from sandbox.report.plot import FAINT, INK, style
from sandbox.report.scene import ground_of
from sandbox.state import ContactState

Array = NDArray[np.float64]

FIGURES = 11  # every 10 % of a stride
TALL = 2.02  # [m]: height of a row of figures, for a body of 1.74 m
BAND_COLOUR = "#c9cfd6"
LOADED = 0.03  # of body weight: a part of the sole that carries more is drawn as in contact
SHOWN_FORCE = 0.1  # of body weight: a smaller force is no longer than the head of its arrow


def save_picture(recording: Recording, path: str | Path, title: str | None = None) -> None:
    """Write a PNG of the gait.

    Shown is the stride of the right foot whose duration is the median, in the part of the recording that is measured; a
    recording without a complete stride shows its last second.

    Raises:
        OSError: the path cannot be written.
        ModuleNotFoundError: matplotlib is not installed.
        ValueError: an empty recording.
    """
    if not len(recording):
        raise ValueError("an empty recording has no picture: record at least one row")
    need("matplotlib", "report")
    # The canvas of the file format itself: no display, and nobody's pyplot state is touched.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(13.0, 11.0), dpi=120, facecolor="white")
        FigureCanvasAgg(figure)
        _compose(figure, Gait(recording), title)
        with written_whole(path) as temporary:
            figure.savefig(temporary, format="png")


def _compose(figure: Any, gait: Gait, title: str | None) -> None:
    report = gait_report(gait)
    stride = typical_stride(gait.strides)
    grid = figure.add_gridspec(
        4, 3, left=0.055, right=0.985, top=0.91, bottom=0.045, hspace=0.36, wspace=0.2, height_ratios=(2.5, 2.15, 1.95, 1.95)
    )
    header = gait.recording.header
    body = header["body"]
    figure.text(0.055, 0.968, title or _title(gait, report), fontsize=15, fontweight="bold")
    plant = "physical" if header.get("plant") == "bullet" else header.get("plant", "measured")
    about = [f"{body['mass_kg']:g} kg, {body['height_m']:g} m", f"{plant} plant"]
    if header.get("stance"):
        about.append(f"{header['stance']} stance")
    about.append(f"{gait.recording.duration:.1f} s recorded, {len(gait.strides)} strides measured")
    if header.get("fall", {}).get("fell"):
        about.append(f"FELL at {gait.end:.2f} s: {header['fall']['cause']}")
    figure.text(0.055, 0.945, "   ·   ".join(about), color=FAINT, fontsize=10)
    for x, side, colour in ((0.86, "left", LEFT_COLOUR), (0.925, "right", RIGHT_COLOUR)):
        figure.text(x, 0.968, "●", color=colour, fontsize=14)
        figure.text(x + 0.016, 0.969, side, fontsize=11)

    times = _instants(gait, stride)
    side_view, front_view = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, :])
    labels = [f"{p} %" for p in range(0, 101, 10)] if stride else [f"{t:.2f} s" for t in times]
    spacing = _figures(side_view, gait, times, "side", labels)
    _figures(front_view, gait, times, "front", [""] * len(times))
    side_view.set_title("One stride of the right foot, seen from the right" if stride else "The last second, seen from the right")
    front_view.set_title("Seen from the front")
    if stride:
        _phase_bar(side_view, gait, stride, spacing)

    panels = [figure.add_subplot(grid[2, i]) for i in range(3)]
    _joint_curves(panels, gait, report)
    _force(figure.add_subplot(grid[3, 0]), gait, stride)
    _contact(figure.add_subplot(grid[3, 1]), gait, stride)
    _figures_table(figure.add_subplot(grid[3, 2]), report)


def _title(gait: Gait, report: dict[str, Any]) -> str:
    scene = str(gait.recording.header.get("scene", "walk"))
    speed = report["speed_mps"]
    return f"{scene.capitalize()} at {speed:.2f} m/s" if speed is not None and speed > 0.05 else scene.capitalize()


def typical_stride(strides: list[Cycle]) -> Cycle | None:
    """The stride of median duration, of the right foot where it has any."""
    mine = [stride for stride in strides if stride.foot == 1] or strides
    return sorted(mine, key=lambda stride: stride.time)[len(mine) // 2] if mine else None


def _instants(gait: Gait, stride: Cycle | None) -> Array:
    if stride is not None:
        return np.linspace(stride.start, stride.end, FIGURES)
    return np.linspace(max(float(gait.recording.time[0]), gait.end - 1.0), gait.end, FIGURES)


# -- the body ------------------------------------------------------------------------------------------------------------


def _figures(axes: Any, gait: Gait, times: Array, view: str, labels: list[str]) -> float:
    """A row of bodies on a line of ground, as wide as the picture; returns the distance between them [m]."""
    from matplotlib.collections import PolyCollection

    recording = gait.recording
    rows = np.clip(np.searchsorted(recording.time, times), 0, len(recording) - 1)
    forward, right = (np.mean(v[rows[0] : rows[-1] + 1], axis=0) for v in gait.facing)
    across, depth = (forward, right) if view == "side" else (-right, forward)
    scale = float(recording.header["body"]["height_m"]) / 1.74
    low, high = (-0.3 if view == "side" else -0.05) * scale, (TALL - 0.12) * scale
    box = axes.get_window_extent()
    spacing = (high - low) * box.width / box.height / (len(times) + 0.1)
    parts = body_parts(recording, rows)
    centre = recording.point("mid_hip")[rows]
    # Each body stands at its own place along the row, on the ground where it is; the level of the ground is that of the
    # lowest sole of the stride.
    plane = ground_of(recording)
    soles = [recording.point(name)[rows] for name in recording.header["point_names"] if name.endswith(("heel", "toe_base", "toe_tip"))]
    ground = plane.height(centre) + min(float((sole[:, 2] - plane.height(sole)).min()) for sole in soles)  # (n,)
    rise = plane.rise * float(across[1])
    polygons, colours = [], []
    for i in range(len(times)):
        # The front view keeps the sway: its bodies share the middle of the stride.
        origin = centre[i] if view == "side" else _straight(centre, forward, i)
        for part in painted_order(parts, i, depth, view):
            a, b = ([float((p[i] - origin) @ across) + i * spacing, float(p[i, 2] - ground[i])] for p in (part.start, part.end))
            wide = part.wide if view == "front" else 1.0
            if part.name == "shoulders" and view == "side":
                continue
            polygons.append(outline(np.array(a), np.array(b), (part.radius[0] * wide**0.8, part.radius[1] * wide**0.8)))
            colours.append(shade(part, view))
        half = spacing / 2
        axes.plot([(i * spacing) - half, (i * spacing) + half], [-rise * half, rise * half], color=INK, lw=1.0, zorder=0)
    axes.add_collection(PolyCollection(polygons, facecolors=colours, edgecolors="white", linewidths=0.6))
    if view == "side" and recording.has("ground_force"):
        _force_lines(axes, recording, rows, forward, centre, spacing, ground)
    for i, label in enumerate(labels):
        axes.text(i * spacing, -0.09, label, ha="center", va="top", fontsize=9)
    axes.set_xlim(-0.55 * spacing, (len(times) - 0.45) * spacing)
    axes.set_ylim(low, high)
    axes.set_aspect("equal", adjustable="box", anchor="W")
    axes.set_axis_off()
    return float(spacing)


def _straight(centre: Array, forward: Array, i: int) -> Array:
    """Where the body would be without sway: the middle of its path, moved along the direction faced."""
    middle = (centre[0] + centre[-1]) / 2
    return np.asarray(middle + ((centre[i] - middle) @ forward) * forward)


def _force_lines(axes: Any, recording: Recording, rows: NDArray[Any], forward: Array, centre: Array, spacing: float, ground: Array) -> None:
    """Ground reaction of each foot, from its centre of pressure; a body weight is 0.9 m long."""
    weight = 9.81 * float(recording.header["body"]["mass_kg"])
    for i, row in enumerate(rows):
        for foot, colour in ((0, LEFT_COLOUR), (1, RIGHT_COLOUR)):
            force, at = recording.ground_force[row, foot], recording.centre_of_pressure[row, foot]
            if force[2] < SHOWN_FORCE * weight or not np.isfinite(at).all():
                continue
            x, z = float((at - centre[i]) @ forward) + i * spacing, float(at[2] - ground[i])
            dx, dz = (0.9 * float(f) / weight for f in (force @ forward, force[2]))
            axes.annotate(
                "",
                (x + dx, z + dz),
                (x, z),
                arrowprops={"arrowstyle": "-|>,head_width=0.16,head_length=0.35", "color": colour, "lw": 1.3, "shrinkA": 0, "shrinkB": 0},
                zorder=5,
            )


def _phase_bar(axes: Any, gait: Gait, stride: Cycle, spacing: float) -> None:
    """Stance of both feet under the bodies, 0 to 100 %."""
    span = (FIGURES - 1) * spacing
    for foot, y, colour in ((1, -0.225, RIGHT_COLOUR), (0, -0.275, LEFT_COLOUR)):
        contacts = gait.events.feet[foot]
        for a, b in zip(contacts.start, contacts.end, strict=True):
            left, right = (np.clip((t - stride.start) / stride.time, 0, 1) for t in (a, b))
            if right > left:
                axes.barh(y, (right - left) * span, left=left * span, height=0.035, color=colour, lw=0)


# -- the curves ----------------------------------------------------------------------------------------------------------


def _cycle_axis(axes: Any) -> None:
    axes.set_xlim(0, 100)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("% of cycle")


def _joint_curves(panels: list[Any], gait: Gait, report: dict[str, Any]) -> None:
    recording, norm = gait.recording, young_adults()
    angles = leg_angles(recording)
    percent = np.linspace(0, 100, 101)
    titles = {"hip": "thigh against vertical [°]", "knee": "flexion [°]", "ankle": "dorsiflexion [°]"}
    for axes, (name, quantity) in zip(panels, titles.items(), strict=True):
        values = np.degrees(getattr(angles, name))
        if gait.strides:
            band = getattr(norm, name)
            axes.fill_between(
                percent, band.mean_deg - band.sd_deg, band.mean_deg + band.sd_deg, color=BAND_COLOUR, lw=0, label="24 adults ± SD"
            )
            axes.plot(percent, band.mean_deg, color=FAINT, lw=1.0)
            for foot, colour, side in ((0, LEFT_COLOUR, "left"), (1, RIGHT_COLOUR, "right")):
                mine = [stride for stride in gait.strides if stride.foot == foot]
                if not mine:
                    continue
                curves = cycle_curves(recording.time, values, mine)
                mean, sd = curves.mean(axis=0), curves.std(axis=0)
                axes.fill_between(percent, mean - sd, mean + sd, color=colour, alpha=0.2, lw=0)
                axes.plot(percent, mean, color=colour, lw=1.8, label=side)
                axes.axvline(100 * np.mean([stride.stance_fraction for stride in mine]), color=colour, lw=0.8, ls=(0, (4, 3)))
            rms = f"RMS {report[f'rms_{name}_deg']:.1f}°, means removed {report[f'rms_{name}_shape_deg']:.1f}°"
            axes.text(1.0, 1.025, rms, ha="right", va="bottom", fontsize=8.5, transform=axes.transAxes)
            _cycle_axis(axes)
        else:
            shown = gait.rows(gait.end - 5.0, gait.end)
            for foot, colour in ((0, LEFT_COLOUR), (1, RIGHT_COLOUR)):
                axes.plot(recording.time[shown], values[shown, foot], color=colour, lw=1.4)
            axes.set_xlabel("time [s]")
        axes.axhline(0, color=FAINT, lw=0.6, zorder=0)
        axes.set_title(name.capitalize())
        axes.set_ylabel(quantity)
    if gait.strides:
        panels[0].legend(frameon=False, fontsize=8, loc="best", handlelength=1.4)


def _force(axes: Any, gait: Gait, stride: Cycle | None) -> None:
    recording = gait.recording
    axes.set_title("Vertical ground force")
    if not recording.has("ground_force") or not recording.ground_force[..., 2].any():
        axes.text(0.5, 0.5, "none recorded", ha="center", color=FAINT, transform=axes.transAxes)
        axes.set_axis_off()
        return
    force, time = vertical_force(recording), middle_times(recording)
    axes.axhline(1, color=FAINT, lw=0.6, zorder=0)
    if stride is None:
        shown = gait.rows(gait.end - 5.0, gait.end)
        for foot, colour in ((0, LEFT_COLOUR), (1, RIGHT_COLOUR)):
            axes.plot(time[shown], force[shown, foot], color=colour, lw=1.4)
        axes.set_xlabel("time [s]")
    else:
        percent = np.linspace(0, 100, 101)
        mine = [s for s in gait.strides if s.foot == stride.foot]
        curves = np.stack([resample(time, force, s.start, s.end) for s in mine])
        mean, sd = curves.mean(axis=0), curves.std(axis=0)
        for foot, colour in ((0, LEFT_COLOUR), (1, RIGHT_COLOUR)):
            axes.fill_between(percent, mean[:, foot] - sd[:, foot], mean[:, foot] + sd[:, foot], color=colour, alpha=0.2, lw=0)
            axes.plot(percent, mean[:, foot], color=colour, lw=1.8)
        axes.plot(percent, mean.sum(axis=1), color=FAINT, lw=1.0, ls=(0, (2, 2)))
        top = int(np.argmax(mean[30:, :].sum(axis=1))) + 30
        axes.text(percent[top], mean[top].sum() + 0.02, "both", color=FAINT, fontsize=8, ha="center", va="bottom")
        _cycle_axis(axes)
    axes.set_ylabel("body weights")
    axes.set_ylim(0, max(1.6, axes.get_ylim()[1]))


def _contact(axes: Any, gait: Gait, stride: Cycle | None) -> None:
    """Which parts of the soles carry load: darkness is the share of the strides in which they do."""
    recording = gait.recording
    axes.set_title("Contact of heel, ball and toes")
    if not recording.has("contact_state"):
        axes.text(0.5, 0.5, "none recorded", ha="center", color=FAINT, transform=axes.transAxes)
        axes.set_axis_off()
        return
    loaded = _loaded(recording)
    if stride is None:
        shown = gait.rows(gait.end - 5.0, gait.end)
        share = loaded[shown].astype(float)
        extent = (float(recording.time[shown][0]) - recording.interval, float(recording.time[shown][-1]))
    else:
        mine = [s for s in gait.strides if s.foot == stride.foot]
        time = middle_times(recording)
        share = np.mean([resample(time, loaded.astype(float), s.start, s.end, 201) for s in mine], axis=0)
        extent = (0.0, 100.0)
    from matplotlib.colors import LinearSegmentedColormap

    labels, ticks = [], []
    for foot, side, colour in ((1, "right", RIGHT_COLOUR), (0, "left", LEFT_COLOUR)):
        shades = LinearSegmentedColormap.from_list(side, ["white", colour])
        for part, name in enumerate(("heel", "ball", "toes")):
            y = part + (0.0 if foot == 0 else 3.5)
            axes.imshow(
                share[None, :, foot, part],
                cmap=shades,
                vmin=0,
                vmax=1,
                aspect="auto",
                extent=(*extent, y - 0.36, y + 0.36),
                interpolation="nearest",
            )
            labels.append(name)
            ticks.append(y)
    axes.set_yticks(ticks, labels)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.7, 6.2)
    axes.set_xlim(*extent)
    axes.spines["left"].set_visible(False)
    if stride is None:
        axes.set_xlabel("time [s]")
    else:
        _cycle_axis(axes)


def _loaded(recording: Recording) -> NDArray[np.bool_]:
    """Whether each part of the sole carries load (T, 2, 3)."""
    if recording.has("sole_load") and recording.sole_load.any():
        return np.asarray(recording.sole_load > LOADED * 9.81 * float(recording.header["body"]["mass_kg"]))
    state = recording.contact_state
    heel = (state == ContactState.HEEL) | (state == ContactState.FLAT)
    ball = (state == ContactState.FLAT) | (state == ContactState.FOREFOOT)
    toes = ball | (state == ContactState.TOE)
    return np.stack((heel, ball, toes), axis=2)


def _figures_table(axes: Any, report: dict[str, Any]) -> None:
    """The figures that a gait is judged by, beside those of people."""
    axes.set_axis_off()
    axes.set_title("Figures")

    def show(key: str, text: str, factor: float = 1.0) -> str:
        value = report[key]
        return "–" if value is None else text.format(value * factor)

    low, high = report["cadence_klaw_spm"], report["cadence_wbds_spm"]
    knee = young_adults().knee.mean_deg
    landing, valley, push_off = PEOPLE_FORCE
    rows = [
        ("cadence", show("cadence_spm", "{:.0f} /min"), f"{low:.0f}–{high:.0f}" if low is not None else ""),
        ("stride over leg length", show("stride_leg", "{:.2f}"), show("stride_wbds_leg", "{:.2f}")),
        ("stance", show("stance_fraction", "{:.0f} %", 100), f"{100 * PEOPLE_STANCE:.0f} %"),
        ("double support, both", show("double_support_fraction", "{:.0f} %", 100), f"{100 * PEOPLE_DOUBLE_SUPPORT:.0f} %"),
        (
            "knee: loading, mid-stance, swing",
            f"{show('knee_loading_deg', '{:.0f}')}  {show('knee_midstance_deg', '{:.0f}')}  {show('knee_swing_deg', '{:.0f}°')}",
            f"{knee[5:26].max():.0f}  {knee[25:51].min():.0f}  {knee.max():.0f}°",
        ),
        (
            "force: peak, valley, peak",
            f"{show('grf_landing_bw', '{:.2f}')}  {show('grf_valley_bw', '{:.2f}')}  {show('grf_push_off_bw', '{:.2f}')}",
            f"{landing:.1f}  {valley:.1f}  {push_off:.1f}",
        ),
        ("heel first, toe last", f"{show('heel_first_share', '{:.0f}', 100)}  {show('toe_last_share', '{:.0f} %', 100)}", ""),
        ("ankle moment at push-off", show("push_off_moment_nmpkg", "{:.2f} N m/kg"), f"{PEOPLE_PUSH_OFF:.1f}"),
        ("foot slip in a stance", show("foot_slip_m", "{:.1f} mm", 1000), ""),
        ("lateral margin of stability", show("margin_lateral_m", "{:.0f} mm", 1000), ""),
        ("cost of transport", show("cost_of_transport", "{:.2f}"), ""),
    ]
    axes.text(1.0, 1.02, "people", ha="right", va="bottom", color=FAINT, fontsize=8.5, transform=axes.transAxes)
    for i, (name, value, people) in enumerate(rows):
        y = 0.95 - i * 0.094
        axes.text(0.0, y, name, va="center", transform=axes.transAxes, fontsize=8.5)
        axes.text(0.78, y, value, va="center", ha="right", transform=axes.transAxes, fontsize=8.5, fontweight="bold")
        axes.text(1.0, y, people, va="center", ha="right", color=FAINT, transform=axes.transAxes, fontsize=8.5)
