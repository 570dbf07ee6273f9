"""A video of a recording, drawn in software with Pillow: no display, no graphics card, no physics engine.

The body is shaded, stands on a metre grid with its shadow and its footprints, and is followed by the camera. Drawn beside
it are the ground forces, the centre of mass and the extrapolated one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.files import written_whole
from sandbox.recording import Recording
from sandbox.report.figure import COM_COLOUR, LEFT_COLOUR, RIGHT_COLOUR, SIDE_COLOURS, XCOM_COLOUR, Part, body_parts, outline, rgb
from sandbox.report.optional import need
from sandbox.report.scene import Footprint, follow_path, footprints, ground_of, initial_heading

if TYPE_CHECKING:
    from PIL import Image

Array = NDArray[np.float64]
Colour = tuple[int, int, int]

SMOOTHING = 2  # drawn this many times larger and shrunk, which smooths the edges
SKY_TOP, SKY_LOW = (214, 225, 236), (243, 246, 249)
GROUND, GRID, GRID_METRE = (226, 228, 226), (208, 211, 210), (186, 190, 190)
SHADOW = (190, 194, 196)
PRINT_LEFT, PRINT_RIGHT = (176, 197, 220), (232, 192, 172)
BOX_TOP, BOX_SIDE = (204, 198, 186), (178, 172, 160)
TEXT, FAINT = (34, 39, 46), (120, 128, 136)
FORCE_LENGTH = 0.9  # [m] a body weight
LIGHT = np.array([0.45, 0.3, 0.9])  # towards the light, in the frame of the initial heading
GHOST_SHARE = 0.35  # of the picture
LAYERS = 8  # of shading, from the rim of a part to its highlight


class Camera(NamedTuple):
    """Where the camera stands from the point that it follows, in the frame of the initial heading.

    Attributes:
        azimuth: [deg], 0 behind the body, 90 on its right.
        elevation: [deg].
        distance: [m].
        height: of the point that it looks at [m].
        field: vertical angle of view [deg].
    """

    azimuth: float = 118.0
    elevation: float = 9.0
    distance: float = 4.1
    height: float = 0.86
    field: float = 30.0


def save_video(
    recording: Recording,
    path: str | Path,
    *,
    width: int = 640,
    height: int = 480,
    fps: int | None = None,
    camera: Camera | None = None,
    start: float = 0.0,
    end: float | None = None,
    second: Recording | None = None,
    together: Literal["side", "ghost"] = "side",
    progress: Callable[[float], None] | None = None,
) -> int:
    """Write an MP4 (H.264, 30 frames a second by default) or a GIF (20), after the ending of ``path``; return the frames.

    Args:
        recording: at least one row.
        path: ends in ``.mp4`` or ``.gif``.
        width: in pixels, even.
        height: in pixels, even.
        fps: frames a second, at the speed of life.
        camera: where to look from.
        start: first time shown [s].
        end: last time shown [s].
        second: a recording that starts together with the first one.
        together: ``side`` by side, each in its half of the picture, or the second as a ``ghost`` in the first one's place.
        progress: called with the share done (0 to 1) after every frame.

    Raises:
        ValueError: another ending, an odd size, or nothing to show.
        OSError: the path cannot be written.
        ModuleNotFoundError: Pillow or imageio is not installed.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".mp4", ".gif"):
        raise ValueError(f"video {path.name!r} ends in {kind or 'nothing'}: give a name that ends in .mp4 or .gif")
    if width % 2 or height % 2 or width < 16 or height < 16:
        raise ValueError(f"video size {width} x {height} is not even: give even numbers of pixels from 16 on")
    rate = fps or (30 if kind == ".mp4" else 20)
    duration = max(recording.duration, second.duration if second is not None else 0.0)
    times = np.arange(start, min(duration, math.inf if end is None else end) + 1e-9, 1 / rate)
    if not len(recording) or not len(times) or (second is not None and not len(second)):
        raise ValueError(f"nothing to show between {start:g} s and {end if end is not None else recording.duration:g} s")
    need("PIL", "video")
    need("imageio", "video")
    if second is None:
        frames = draw_frames(recording, times, width, height, camera or Camera())
    else:
        frames = _draw_both(recording, second, together, times, width, height, camera or Camera())
    with written_whole(path) as temporary:
        (_write_mp4 if kind == ".mp4" else _write_gif)(temporary, frames, len(times), rate, progress)
    return len(times)


def _write_mp4(path: Path, frames: Iterator[Image.Image], count: int, rate: int, progress: Callable[[float], None] | None) -> None:
    import imageio.v3 as iio

    with iio.imopen(path, "w", plugin="pyav") as file:
        file.init_video_stream("libx264", fps=rate, pixel_format="yuv420p")
        for k, frame in enumerate(frames):
            file.write_frame(np.asarray(frame))
            if progress is not None:
                progress((k + 1) / count)


def _write_gif(path: Path, frames: Iterator[Image.Image], count: int, rate: int, progress: Callable[[float], None] | None) -> None:
    from PIL import Image as Images

    small = []
    palette: Image.Image | None = None
    for k, frame in enumerate(frames):
        if palette is None:
            palette = frame.quantize(128)
        small.append(frame.quantize(palette=palette, dither=Images.Dither.NONE))
        if progress is not None:
            progress((k + 1) / count)
    small[0].save(path, save_all=True, append_images=small[1:], duration=1000 / rate, loop=0, optimize=False)


def draw_frames(recording: Recording, times: Array, width: int, height: int, camera: Camera, plain: bool = False) -> Iterator[Image.Image]:
    """Pictures of the body at ``times`` [s], one after another; ``plain`` leaves the words and bars out."""
    rows = np.clip(np.searchsorted(recording.time, times - 1e-9), 0, len(recording) - 1)
    painter = _Painter(recording, rows, width, height, camera)
    painter.plain = plain
    for k in range(len(rows)):
        yield painter.frame(k)


def _draw_both(
    first: Recording, second: Recording, together: str, times: Array, width: int, height: int, camera: Camera
) -> Iterator[Image.Image]:
    """Pictures of two bodies, one after another."""
    from PIL import Image as Images

    if together == "side":
        half = width // 2
        for left, right in zip(*(draw_frames(each, times, half, height, camera) for each in (first, second)), strict=True):
            picture = Images.new("RGB", (width, height))
            picture.paste(left, (0, 0))
            picture.paste(right, (width - half, 0))
            yield picture
        return
    rows = [np.clip(np.searchsorted(each.time, times - 1e-9), 0, len(each) - 1) for each in (first, second)]
    painter = _Painter(first, rows[0], width, height, camera)
    ghost = _Painter(second, rows[1], width, height, camera, painter)
    ghost.plain = True
    for k in range(len(times)):
        yield Images.blend(painter.frame(k), ghost.frame(k), GHOST_SHARE)


class _View:
    """Perspective of all frames: eye, and axes right, down, forward, in the world."""

    def __init__(self, look: Array, heading: float, camera: Camera, size: tuple[int, int]) -> None:
        azimuth, elevation = math.radians(camera.azimuth), math.radians(camera.elevation)
        back = np.array([math.sin(azimuth) * math.cos(elevation), -math.cos(azimuth) * math.cos(elevation), math.sin(elevation)])
        turn = np.array([[math.cos(heading), -math.sin(heading), 0.0], [math.sin(heading), math.cos(heading), 0.0], [0.0, 0.0, 1.0]])
        back = turn @ back
        self.eye = look + camera.distance * back  # (F, 3)
        forward = -back
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        self.axes = np.stack((right, np.cross(forward, right), forward))  # rows: right, down, into the picture
        self.focal = size[1] / 2 / math.tan(math.radians(camera.field) / 2)
        self.centre = np.array(size) / 2
        self.light = self.axes[:2] @ (turn @ (LIGHT / np.linalg.norm(LIGHT)))  # on the screen

    def project(self, points: Array, frame: int | slice = slice(None)) -> Array:
        """Pixels and depth (..., 3) of points (F, ..., 3), or of points (..., 3) in one frame."""
        eye = self.eye[frame]
        if eye.ndim == 2:
            eye = eye.reshape(len(eye), *([1] * (points.ndim - 2)), 3)
        seen = (points - eye) @ self.axes.T
        depth = np.maximum(seen[..., 2:], 1e-3)
        return np.concatenate((self.centre + self.focal * seen[..., :2] / depth, seen[..., 2:]), axis=-1)


class _Painter:
    """Everything that is the same for all frames, or can be worked out for all of them at once."""

    def __init__(
        self, recording: Recording, rows: NDArray[Any], width: int, height: int, camera: Camera, beside: _Painter | None = None
    ) -> None:
        self.recording, self.rows = recording, rows
        self.plain = False  # without words and bars
        self.size = (width * SMOOTHING, height * SMOOTHING)
        self.ground = ground_of(recording)
        self.heading = initial_heading(recording)
        path = follow_path(recording)[rows]
        self.follow = path
        scale = float(recording.header["body"]["height_m"]) / 1.74
        look = np.column_stack((path, self.ground.height(path) + camera.height * scale))
        self.view = _View(look, self.heading, camera._replace(distance=camera.distance * scale), self.size)
        if beside is not None:  # a ghost is seen by the camera that follows the other body
            self.follow, self.view = beside.follow, beside.view
        self.parts = body_parts(recording, rows)
        self.prints: list[Footprint] = footprints(recording)
        self.weight = 9.81 * float(recording.header["body"]["mass_kg"])
        self.backdrop = self._sky()
        self._project_parts()
        self._shades = {side: _shading(rgb(colour)) for side, colour in SIDE_COLOURS.items()}

    def _project_parts(self) -> None:
        starts, ends = (np.stack([getattr(part, name) for part in self.parts], axis=1) for name in ("start", "end"))
        self.starts, self.ends = self.view.project(starts), self.view.project(ends)  # (F, K, 3)
        self.radii = np.stack([self._screen_radius(part) for part in self.parts], axis=1)  # (F, K, 2)
        middle = (starts + ends) / 2
        # Far parts first; nearer ends decide for long parts that reach towards the camera.
        distance = np.linalg.norm(middle - self.view.eye[:, None, :], axis=2)
        self.order = np.argsort(-distance, axis=1)
        # Shadows fall straight away from the light, on the plane of the ground.
        light = _turned(LIGHT, self.heading)
        shift = -light[:2] / light[2]
        self.shadow = []
        for points in (starts, ends):
            rise = points[..., 2] - self.ground.height(points)
            foot = points[..., :2] + rise[..., None] * shift
            self.shadow.append(foot)

    def _screen_radius(self, part: Part) -> Array:
        """Half the drawn thickness (F, 2) [pixels] at both ends: more where the wide side of a part is seen."""
        axis = _unit(part.end - part.start)
        sight = _unit((part.start + part.end) / 2 - self.view.eye)
        across = np.cross(axis, sight)
        length = np.linalg.norm(across, axis=1, keepdims=True)
        across = np.where(length > 0.2, across / np.maximum(length, 1e-9), part.lateral)
        share = np.einsum("ti,ti->t", across, part.lateral) ** 2
        broad = np.sqrt(part.wide**2 * share + (1 - share))
        depth = self.view.project(np.stack((part.start, part.end), axis=1))[..., 2]
        return np.asarray(self.view.focal * np.array(part.radius) * broad[:, None] / np.maximum(depth, 0.1))

    # -- one frame -------------------------------------------------------------------------------------------------------

    def frame(self, k: int) -> Image.Image:
        """Picture of frame ``k``."""
        from PIL import ImageDraw

        image = self.backdrop.copy()
        draw = ImageDraw.Draw(image)
        self._draw_ground(draw, k)
        self._draw_boxes(draw, k)
        self._draw_prints(draw, k)
        self._draw_shadow(draw, k)
        for j in self.order[k].tolist():
            self._draw_part(draw, k, j)
        self._draw_mechanics(draw, k)
        image = image.reduce(SMOOTHING)
        if not self.plain:
            self._draw_text(ImageDraw.Draw(image), k)
        return image

    def _sky(self) -> Image.Image:
        from PIL import Image as Images

        width, height = self.size
        # The horizon is a level line: the camera has no roll and its elevation never changes.
        horizon = self.view.centre[1] + self.view.focal * self.view.axes[1] @ _level(self.view.axes[2]) / max(
            float(self.view.axes[2] @ _level(self.view.axes[2])), 1e-6
        )
        y = np.arange(height)[:, None]
        t = np.clip(y / max(horizon, 1.0), 0, 1)
        sky = np.array(SKY_TOP) * (1 - t) + np.array(SKY_LOW) * t
        far = np.clip((y - horizon) / (0.16 * height), 0, 1)
        floor = np.array(SKY_LOW) * (1 - far) + np.array(GROUND) * far
        column = np.where(y < horizon, sky, floor).astype(np.uint8)
        return Images.fromarray(np.ascontiguousarray(np.broadcast_to(column[:, None, :], (height, width, 3))))

    def _on_ground(self, plane: Array) -> Array:
        return np.concatenate((plane, self.ground.height(plane)[..., None]), axis=-1)

    def _draw_ground(self, draw: Any, k: int) -> None:
        """Lines every half metre, heavier every metre, around the place that is followed; metres walked beside them."""
        x0, y0 = (math.floor(v) for v in self.follow[k])
        reach = 7
        lines = []
        for i in range(-2 * reach, 2 * reach + 1):
            lines.append(((x0 + i / 2, y0 - reach), (x0 + i / 2, y0 + reach), i % 2 == 0))
            lines.append(((x0 - reach, y0 + i / 2), (x0 + reach, y0 + i / 2), i % 2 == 0))
        samples = np.linspace(0, 1, 9)[:, None]
        for a, b, metre in sorted(lines, key=lambda line: line[2]):
            points = self._on_ground(np.array(a) * (1 - samples) + np.array(b) * samples)
            seen = self.view.project(points, k)
            far = np.linalg.norm(points[:, :2] - self.follow[k], axis=1)
            colour = GRID_METRE if metre else GRID
            for p, q, d in zip(seen[:-1], seen[1:], (far[:-1] + far[1:]) / 2, strict=True):
                if p[2] > 0.2 and q[2] > 0.2 and d < reach:
                    draw.line((p[0], p[1], q[0], q[1]), fill=_mix(colour, GROUND, (d / reach) ** 1.5), width=3 if metre else 2)
        font = font_of(11 * SMOOTHING)
        for mark in range(y0 - 3, y0 + 5):
            at = self.view.project(self._on_ground(np.array([-0.75, float(mark)])), k)
            if at[2] > 0.5:
                draw.text((at[0], at[1]), f"{mark} m", fill=FAINT, font=font, anchor="mm")

    def _draw_boxes(self, draw: Any, k: int) -> None:
        for x, y, hx, hy, height in self.ground.boxes.tolist():
            if abs(y - self.follow[k, 1]) > 6 or abs(x - self.follow[k, 0]) > 6:
                continue
            corners = self._on_ground(np.array([(x - hx, y - hy), (x + hx, y - hy), (x + hx, y + hy), (x - hx, y + hy)]))
            top = corners + np.array([0.0, 0.0, height])
            low, high = self.view.project(corners, k), self.view.project(top, k)
            if min(low[:, 2].min(), high[:, 2].min()) < 0.3:
                continue
            for i in range(4):
                j = (i + 1) % 4
                draw.polygon(_flat(np.array([low[i], low[j], high[j], high[i]])), fill=BOX_SIDE)
            draw.polygon(_flat(high), fill=BOX_TOP)

    def _draw_prints(self, draw: Any, k: int) -> None:
        now = float(self.recording.time[self.rows[k]])
        for mark in self.prints:
            if mark.time > now or abs(mark.outline[0, 1] - self.follow[k, 1]) > 6:
                continue
            seen = self.view.project(mark.outline, k)
            if seen[:, 2].min() > 0.3:
                draw.polygon(_flat(seen), fill=PRINT_LEFT if mark.foot == 0 else PRINT_RIGHT)

    def _draw_shadow(self, draw: Any, k: int) -> None:
        for j, part in enumerate(self.parts):
            plane = outline(self.shadow[0][k, j], self.shadow[1][k, j], part.radius, 6)
            seen = self.view.project(self._on_ground(plane), k)
            if seen[:, 2].min() > 0.3:
                draw.polygon(_flat(seen), fill=SHADOW)

    def _draw_part(self, draw: Any, k: int, j: int) -> None:
        """Nested outlines, each smaller, lighter and nearer to the light than the one before."""
        start, end, radius = self.starts[k, j], self.ends[k, j], self.radii[k, j]
        if start[2] < 0.3 or end[2] < 0.3:
            return
        shades = self._shades[self.parts[j].side]
        for layer, shade in enumerate(shades):
            size = 1 - layer / (LAYERS + 0.6)
            shift = 0.62 * (1 - size) * self.view.light
            a, b = start[:2] + shift * radius[0], end[:2] + shift * radius[1]
            draw.polygon(_flat(outline(a, b, (radius[0] * size, radius[1] * size), 9)), fill=shade)

    def _draw_mechanics(self, draw: Any, k: int) -> None:
        """Ground forces, centre of mass with its plumb line, extrapolated centre of mass."""
        recording, row = self.recording, self.rows[k]
        if recording.has("ground_force", "centre_of_pressure"):
            for foot, colour in ((0, LEFT_COLOUR), (1, RIGHT_COLOUR)):
                force, at = recording.ground_force[row, foot], recording.centre_of_pressure[row, foot]
                if force[2] > 0.05 * self.weight and np.isfinite(at).all():
                    tip = at + FORCE_LENGTH / self.weight * force
                    self._arrow(draw, self.view.project(at, k), self.view.project(tip, k), rgb(colour))
        if recording.has("com", "xcom"):
            com, xcom = recording.com[row], recording.xcom[row]
            below = np.array([com[0], com[1], float(self.ground.height(com))])
            c, g, x = (self.view.project(p, k) for p in (com, below, xcom))
            draw.line((c[0], c[1], g[0], g[1]), fill=rgb(COM_COLOUR), width=SMOOTHING)
            for p, colour, r in ((c, COM_COLOUR, 5), (g, COM_COLOUR, 3), (x, XCOM_COLOUR, 4)):
                size = r * SMOOTHING
                draw.ellipse(
                    (p[0] - size, p[1] - size, p[0] + size, p[1] + size), fill=rgb(colour), outline=(255, 255, 255), width=SMOOTHING
                )

    def _arrow(self, draw: Any, a: Array, b: Array, colour: Colour) -> None:
        line = b[:2] - a[:2]
        length = float(np.hypot(*line))
        if length < 6 or a[2] < 0.3 or b[2] < 0.3:
            return
        along = line / length
        across = np.array([-along[1], along[0]])
        head = min(11.0 * SMOOTHING, 0.5 * length)
        neck = b[:2] - head * along
        for grow, fill in ((1.6 * SMOOTHING, (255, 255, 255)), (0.0, colour)):
            draw.line((a[0], a[1], neck[0], neck[1]), fill=fill, width=int(3 * SMOOTHING + grow))
            tip = np.array([b[:2] + grow * along, neck + (0.42 * head + grow) * across, neck - (0.42 * head + grow) * across])
            draw.polygon(_flat(tip), fill=fill)

    def _draw_text(self, draw: Any, k: int) -> None:
        recording, row = self.recording, self.rows[k]
        width, height = self.size[0] // SMOOTHING, self.size[1] // SMOOTHING
        unit = max(10, height // 32)
        time = float(recording.time[row])
        draw.text((unit, unit * 0.7), f"{time:5.2f} s", fill=TEXT, font=font_of(round(unit * 1.5)))
        facts = []
        if recording.has("com_velocity"):
            facts.append(f"{float(np.hypot(*recording.com_velocity[row, :2])):.2f} m/s")
        fall = recording.header.get("fall") or {}
        if fall.get("fell") and fall.get("time_s") is not None and time >= float(fall["time_s"]) - 1e-9:
            facts.append(f"fell: {fall['cause']}")
        draw.text((unit, unit * 2.5), "   ".join(facts), fill=FAINT, font=font_of(unit))
        if recording.has("ground_force"):
            self._force_bars(draw, row, width, height, unit)

    def _force_bars(self, draw: Any, row: int, width: int, height: int, unit: int) -> None:
        """Vertical load of each foot, up to two body weights, with a tick at one."""
        tall, wide = 7 * unit, unit
        bottom = height - 2 * unit
        for foot, (name, colour) in enumerate((("L", LEFT_COLOUR), ("R", RIGHT_COLOUR))):
            x = width - (5 if foot == 0 else 3) * unit
            load = min(2.0, max(0.0, float(self.recording.ground_force[row, foot, 2]) / self.weight))
            draw.rectangle((x, bottom - tall, x + wide, bottom), fill=(255, 255, 255), outline=GRID_METRE)
            draw.rectangle((x, bottom - tall * load / 2, x + wide, bottom), fill=rgb(colour))
            draw.line((x - 3, bottom - tall / 2, x + wide + 3, bottom - tall / 2), fill=TEXT)
            draw.text((x + wide / 2, bottom + unit * 0.8), name, fill=TEXT, font=font_of(unit), anchor="mm")


def _shading(colour: Colour) -> list[Colour]:
    """From the dark rim to the highlight."""
    dark, light = _mix(colour, (20, 24, 32), 0.42), _mix(colour, (255, 255, 255), 0.42)
    out = []
    for layer in range(LAYERS):
        t = layer / (LAYERS - 1)
        out.append(_mix(dark, colour, t / 0.5) if t <= 0.5 else _mix(colour, light, (t - 0.5) / 0.5))
    return out


def _mix(a: Colour, b: Colour, t: float) -> Colour:
    t = min(1.0, max(0.0, t))
    return round(a[0] + (b[0] - a[0]) * t), round(a[1] + (b[1] - a[1]) * t), round(a[2] + (b[2] - a[2]) * t)


def _flat(points: Array) -> list[tuple[float, float]]:
    return [(x, y) for x, y in points[:, :2].tolist()]


def _turned(vector: Array, heading: float) -> Array:
    c, s = math.cos(heading), math.sin(heading)
    return np.array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1], vector[2]])


def _level(direction: Array) -> Array:
    flat = np.array([direction[0], direction[1], 0.0])
    return np.asarray(flat / max(float(np.linalg.norm(flat)), 1e-9))


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


_FONTS: dict[int, Any] = {}


def font_of(size: int) -> Any:
    """Pillow's own font of a size [pixels]."""
    from PIL import ImageFont

    if size not in _FONTS:
        _FONTS[size] = ImageFont.load_default(size=size)
    return _FONTS[size]
