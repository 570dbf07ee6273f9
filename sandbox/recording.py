"""Recordings: what a run was and everything that happened in it, as columns of numbers in one npz file.

A file holds the columns of :data:`COLUMNS` and one string, ``header``, in JSON. It loads with numpy alone::

    import json, numpy as np
    with np.load("walk.npz") as file:
        header = json.loads(file["header"].item())
        time, q = file["time"], file["q"]

Axes: +X subject's right, +Y forward, +Z up, at zero heading. Metres, seconds, kilograms, newtons, radians; quaternions
x, y, z, w; foot 0 is the left, 1 the right.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox import __version__
from sandbox.files import written_whole
from sandbox.state import BodyState, ContactState

Array = NDArray[np.float64]

FORMAT = "locomotion-sandbox recording"
FORMAT_VERSION = 1
RATE = 120.0  # rows a second


class RecordingError(ValueError):
    """A file that is not a recording, or one that this version cannot read."""


class Column(NamedTuple):
    """One column of a recording: shape (T rows, N joints, P points, E events, K footholds, U pushes), unit, meaning."""

    shape: str
    unit: str
    meaning: str
    dtype: str = "float64"


COLUMNS: dict[str, Column] = {
    "time": Column("(T,)", "s", "since reset; the end of the row's interval"),
    "q": Column("(T, N)", "rad", "joint angle, in the order of joint_names"),
    "qd": Column("(T, N)", "rad/s", "joint speed"),
    "tau": Column("(T, N)", "N m", "joint torque, mean over the row's interval"),
    "root_position": Column("(T, 3)", "m", "mid-hip"),
    "root_quaternion": Column("(T, 4)", "1", "attitude of the pelvis, x y z w"),
    "root_velocity": Column("(T, 3)", "m/s", "of mid-hip"),
    "root_angular_velocity": Column("(T, 3)", "rad/s", "of the pelvis, world frame"),
    "points": Column("(T, P, 3)", "m", "body points, in the order of point_names"),
    "ground_force": Column("(T, 2, 3)", "N", "ground reaction per foot, mean over the row's interval"),
    "sole_load": Column("(T, 2, 3)", "N", "vertical ground force per foot under heel, ball, toes, mean over the row's interval"),
    "centre_of_pressure": Column("(T, 2, 3)", "m", "per foot; NaN where the foot carries nothing"),
    "contact_state": Column("(T, 2)", "code", "0 airborne, 1 heel, 2 flat, 3 forefoot, 4 toe", "int8"),
    "com": Column("(T, 3)", "m", "centre of mass of the body"),
    "com_velocity": Column("(T, 3)", "m/s", "of the centre of mass"),
    "xcom": Column("(T, 3)", "m", "extrapolated centre of mass (Hof 2005), on the ground"),
    "command": Column("(T, 2)", "m/s, rad/s", "commanded speed and heading rate"),
    "heading": Column("(T,)", "rad", "commanded heading rate, integrated; positive to the left"),
    "event_time": Column("(E,)", "s", "touchdowns and lift-offs that happened"),
    "event_foot": Column("(E,)", "code", "0 left, 1 right", "int8"),
    "event_touchdown": Column("(E,)", "bool", "true for a touchdown, false for a lift-off", "bool"),
    "event_part": Column("(E,)", "code", "part of the sole that met or last left the ground: 0 heel, 1 ball, 2 toe", "int8"),
    "event_force": Column("(E,)", "N", "vertical ground force of the foot at the event"),
    "event_predicted": Column("(E,)", "s", "when the planner had expected it; NaN where it had no prediction"),
    "foothold_time": Column("(K,)", "s", "when the foothold was planned"),
    "foothold_foot": Column("(K,)", "code", "0 left, 1 right", "int8"),
    "foothold_position": Column("(K, 3)", "m", "planned position of the foot"),
    "foothold_yaw": Column("(K,)", "rad", "planned direction of the foot; positive to the left"),
    "push_time": Column("(U,)", "s", "start of a push"),
    "push_duration": Column("(U,)", "s", "how long it lasted"),
    "push_force": Column("(U, 3)", "N", "force of the push, world frame"),
    "push_body": Column("(U,)", "code", "index into body_names", "int16"),
}

# Columns that are as long as another one, by prefix; every column without one of these prefixes has a row per tick.
_LISTS = {"event_": "event_time", "foothold_": "foothold_time", "push_": "push_time"}


def make_header(
    *,
    plant: str,
    scene: str,
    body: Mapping[str, Any],
    command: Mapping[str, Any],
    seed: int,
    joint_names: Sequence[str],
    point_names: Sequence[str],
    body_names: Sequence[str],
    joint_max_torque: Sequence[float],
    stance: str | None = None,
    settings: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Header of a recording, with the format, the version, the unit of every column, and no fall yet.

    ``body`` holds ``mass_kg``, ``height_m``, ``sex``, ``leg_m`` (hip joint centre to sole), and where known
    ``foot_half_width_m`` (centre line of the sole to its edge, at the ball); ``command`` what the user asked for:
    ``speed_mps``, ``heading_rate_rps`` and whatever else the scene takes; ``params`` the ``name`` and ``hash`` of the
    controller's parameter file; ``joint_max_torque`` is (N,) [N m].
    """
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": __version__,
        "plant": plant,
        "stance": stance,
        "scene": scene,
        "body": dict(body),
        "command": dict(command),
        "seed": seed,
        "settings": dict(settings or {}),
        "params": dict(params or {"name": None, "hash": None}),
        "units": {name: column.unit for name, column in COLUMNS.items()},
        "joint_names": list(joint_names),
        "point_names": list(point_names),
        "body_names": list(body_names),
        "joint_max_torque": [float(x) for x in joint_max_torque],
        "fall": {"fell": False, "time_s": None, "cause": None},
        "cpu": {"total_s": None, "engine_s": None},
    }


@dataclass(frozen=True)
class Recording:
    """A run: ``header`` (plain JSON types) and ``columns``, which are also attributes: ``recording.q``.

    A recording made from something else than a simulation (motion capture) may lack columns; the measures that need
    them are then null.
    """

    header: dict[str, Any]
    columns: dict[str, NDArray[Any]]

    def __getattr__(self, name: str) -> NDArray[Any]:
        columns = self.__dict__.get("columns", {})
        if name in columns:
            column: NDArray[Any] = columns[name]
            return column
        raise AttributeError(f"the recording has no column {name!r}" if name in COLUMNS else f"Recording has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.columns["time"])

    def has(self, *names: str) -> bool:
        """True where all these columns are there."""
        return all(name in self.columns for name in names)

    @property
    def duration(self) -> float:
        """Time of the last row [s]."""
        return float(self.columns["time"][-1]) if len(self) else 0.0

    @property
    def interval(self) -> float:
        """Time between rows [s]."""
        time = self.columns["time"]
        return float(np.median(np.diff(time))) if len(time) > 1 else 1.0 / RATE

    def point(self, name: str) -> Array:
        """Path (T, 3) [m] of a body point, for instance ``left_heel``.

        Raises:
            KeyError: no such point.
        """
        return np.asarray(self.columns["points"][:, self._index("point_names", name)])

    def joint(self, name: str, column: str = "q") -> Array:
        """Column (T,) of one joint: ``q`` [rad], ``qd`` [rad/s] or ``tau`` [N m].

        Raises:
            KeyError: no such joint.
        """
        return np.asarray(self.columns[column][:, self._index("joint_names", name)])

    def _index(self, key: str, name: str) -> int:
        try:
            return int(self.header[key].index(name))
        except ValueError:
            raise KeyError(f"{name!r} is not one of this recording's {key}: {', '.join(self.header[key])}") from None

    def save(self, path: str | Path) -> None:
        """Write the npz file, whole or not at all.

        Raises:
            OSError: the folder does not exist or cannot be written.
            ValueError: the header holds NaN or something that is not JSON.
        """
        text = json.dumps(self.header, allow_nan=False, default=_plain)
        with written_whole(path) as temporary, temporary.open("xb") as file:
            np.savez(file, allow_pickle=False, header=np.array(text), **self.columns)

    @classmethod
    def load(cls, path: str | Path) -> Recording:
        """Read a recording.

        Raises:
            FileNotFoundError: no such file.
            RecordingError: the file is not a recording, or of a later format than this version reads, or damaged.
        """
        path = Path(path)
        try:
            with np.load(path, allow_pickle=False) as file:
                columns = {name: file[name] for name in file.files}
            header = json.loads(str(columns.pop("header").item()))
            ours = header["format"] == FORMAT
        except FileNotFoundError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, EOFError, OSError, zipfile.BadZipFile):
            ours = False
        if not ours:
            raise RecordingError(f"{path} is not a recording of locomotion-sandbox: give a file that `sandbox run --record` wrote")
        if header.get("format_version") != FORMAT_VERSION:
            raise RecordingError(
                f"{path} has format version {header.get('format_version')}, this version reads {FORMAT_VERSION}: "
                f"use locomotion-sandbox {header.get('version')}, which wrote it"
            )
        _check(columns, path)
        return cls(header, columns)


# Of every body at every time; elsewhere NaN may say that there is no such figure.
_WITHOUT_GAPS = ("time", "q", "qd", "root_position", "root_quaternion", "points", "com")


def _check(columns: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Columns that belong together must be equally long."""
    if "time" not in columns:
        raise RecordingError(f"{path} is damaged: it has no column 'time'")
    for name, column in columns.items():
        if name in COLUMNS:
            leader = next((first for prefix, first in _LISTS.items() if name.startswith(prefix)), "time")
            if leader not in columns or len(column) != len(columns[leader]):
                raise RecordingError(f"{path} is damaged: column {name!r} is not as long as {leader!r}")
            if name in _WITHOUT_GAPS and column.dtype.kind == "f" and not np.isfinite(column).all():
                raise RecordingError(
                    f"{path} is damaged: column {name!r} holds NaN or infinity, which no simulation gives; record it again"
                )
    if not (np.diff(columns["time"]) > 0).all():
        raise RecordingError(f"{path} is damaged: its time does not always go forward; record it again")


def _plain(value: object) -> object:
    """JSON form of numpy's numbers and arrays, and of paths."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise ValueError(f"a recording's header cannot hold {type(value).__name__} {value!r}: use plain numbers, text, lists and dicts")


class Extras(NamedTuple):
    """What a row needs beside the :class:`BodyState`.

    ``points`` (P, 3), ``com``, ``com_velocity``, ``xcom`` (3,) in the world frame; ``command`` speed [m/s] and heading
    rate [rad/s]; ``heading`` [rad].
    """

    points: Array
    com: Array
    com_velocity: Array
    xcom: Array
    command: tuple[float, float]
    heading: float


class Recorder:
    """Collects rows into one preallocated block that doubles when it is full; :meth:`finish` may come at any moment.

    Args:
        header: from :func:`make_header`; its joint and point names give the widths of the columns.
        rows: rows to make room for.
    """

    def __init__(self, header: Mapping[str, Any], rows: int = 4096) -> None:
        self._header = dict(header)
        n, p = len(header["joint_names"]), len(header["point_names"])
        self._shapes: dict[str, tuple[int, ...]] = {
            # In the order in which :meth:`append` fills a row.
            "time": (),
            "heading": (),
            "command": (2,),
            "q": (n,),
            "qd": (n,),
            "tau": (n,),
            "root_position": (3,),
            "root_quaternion": (4,),
            "root_velocity": (3,),
            "root_angular_velocity": (3,),
            "sole_force": (2, 3, 3),
            "centre_of_pressure": (2, 3),
            "points": (p, 3),
            "com": (3,),
            "com_velocity": (3,),
            "xcom": (3,),
        }
        ends = np.cumsum([math.prod(shape) for shape in self._shapes.values()])
        starts = np.concatenate(([0], ends[:-1]))
        self._slices = {name: slice(int(a), int(b)) for name, a, b in zip(self._shapes, starts, ends, strict=True)}
        self._block = np.empty((max(1, rows), int(ends[-1])))
        self._contact = np.empty((max(1, rows), 2), dtype=np.int8)
        self._count = 0
        self._events: list[tuple[float, int, bool, int, float, float]] = []
        self._footholds: list[tuple[float, int, tuple[float, float, float], float]] = []
        self._pushes: list[tuple[float, float, tuple[float, float, float], int]] = []

    def __len__(self) -> int:
        return self._count

    def append(self, state: BodyState, extras: Extras) -> None:
        """Add one row, and the state's events. Everything is copied."""
        i = self._count
        if i == len(self._block):
            self._block = np.concatenate((self._block, np.empty_like(self._block)))
            self._contact = np.concatenate((self._contact, np.empty_like(self._contact)))
        row = self._block[i]
        row[0], row[1] = state.time, extras.heading
        row[2], row[3] = extras.command
        np.concatenate(
            (
                state.q,
                state.qd,
                state.tau,
                state.root_position,
                state.root_quaternion,
                state.root_velocity,
                state.root_angular_velocity,
                state.sole_force.ravel(),
                state.pressure.ravel(),
                extras.points.ravel(),
                extras.com,
                extras.com_velocity,
                extras.xcom,
            ),
            out=row[4:],
        )
        self._contact[i] = state.contact
        for event in state.events:
            self._events.append((event.time, event.foot, event.touchdown, int(event.part), event.force, event.predicted))
        self._count = i + 1

    def foothold(self, time: float, foot: int, position: Sequence[float] | Array, yaw: float) -> None:
        """Note a foothold that was planned at ``time`` [s]: ``position`` (3,) [m], ``yaw`` [rad]."""
        x, y, z = (float(v) for v in position)
        self._footholds.append((time, foot, (x, y, z), yaw))

    def push(self, time: float, duration: float, force: Sequence[float] | Array, body: str) -> None:
        """Note a push: start and duration [s], ``force`` (3,) [N] in the world frame, name of the body pushed.

        Raises:
            KeyError: the header's ``body_names`` has no such body.
        """
        if body not in self._header["body_names"]:
            raise KeyError(f"{body!r} is not one of {', '.join(self._header['body_names'])}")
        x, y, z = (float(v) for v in force)
        self._pushes.append((time, duration, (x, y, z), self._header["body_names"].index(body)))

    def finish(self, **header: Any) -> Recording:
        """The recording so far. ``header`` replaces keys of the header, for instance ``fall`` and ``cpu``."""
        count = self._count
        rows = {name: self._block[:count, part].reshape((count, *self._shapes[name])).copy() for name, part in self._slices.items()}
        sole = rows.pop("sole_force")
        rows["ground_force"] = sole.sum(axis=2)
        rows["sole_load"] = sole[..., 2].copy()
        contact = self._contact[:count].copy()
        loaded = (rows["ground_force"][..., 2] > 0) | (contact != ContactState.AIRBORNE)
        rows["centre_of_pressure"][~loaded] = np.nan
        columns: dict[str, NDArray[Any]] = {**rows, "contact_state": contact}
        for prefix, items, width in (("event_", self._events, 6), ("foothold_", self._footholds, 4), ("push_", self._pushes, 4)):
            values = list(zip(*items, strict=True)) if items else [()] * width
            names = [name for name in COLUMNS if name.startswith(prefix)]
            for name, value in zip(names, values, strict=True):
                column = np.array(value, dtype=COLUMNS[name].dtype)
                columns[name] = column.reshape(-1, 3) if COLUMNS[name].shape.endswith("3)") else column
        return Recording({**self._header, **header}, {name: columns[name] for name in COLUMNS})
