"""One moment as it is drawn: a record of plain numbers, the same from a live simulation and from a recording."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.recording import Recording
from sandbox.state import FEET

Array = NDArray[np.float64]
Frames = NDArray[np.void]

PATH = 16  # samples of the planned swing path


def frame_dtype(joints: int, points: int) -> np.dtype[np.void]:
    """Record of a frame; NaN where something is not there.

    Fields: ``epoch`` counts resets; ``time`` [s]; ``points`` (P, 3) [m]; ``q``, ``tau`` (n,); per foot ``ground_force`` (2, 3) [N],
    ``sole_load`` (2, 3) [N], ``pressure`` (2, 3) [m], ``contact`` (2,); ``com``, ``com_velocity``, ``xcom`` (3,); ``command`` (2,);
    ``heading`` [rad]; the foothold of the next step: ``foothold`` (3,), ``foothold_yaw``, ``foothold_foot``; ``path`` (16, 3) that the
    swing ankle is to take; the last touchdown: ``landed`` (its number), ``landed_foot``, where it was ``planned`` and ``actual`` (3,),
    its ``lead`` [s]; ``fallen``.
    """
    f8, i8 = "f8", "i8"
    return np.dtype(
        [
            ("epoch", i8), ("time", f8), ("points", f8, (points, 3)), ("q", f8, (joints,)), ("tau", f8, (joints,)),
            ("ground_force", f8, (2, 3)), ("sole_load", f8, (2, 3)), ("pressure", f8, (2, 3)), ("contact", i8, (2,)),
            ("com", f8, (3,)), ("com_velocity", f8, (3,)), ("xcom", f8, (3,)), ("command", f8, (2,)), ("heading", f8),
            ("foothold", f8, (3,)), ("foothold_yaw", f8), ("foothold_foot", f8), ("path", f8, (PATH, 3)),
            ("landed", i8), ("landed_foot", f8), ("planned", f8, (3,)), ("actual", f8, (3,)), ("lead", f8), ("fallen", i8),
        ]
    )  # fmt: skip


def frames_of(recording: Recording) -> Frames:
    """Every row of a recording; what it lacks (motion capture has points alone) stays NaN."""
    header = recording.header
    frames = np.zeros(len(recording), frame_dtype(len(header.get("joint_names", ())), len(header["point_names"])))
    for name in frames.dtype.names or ():
        if frames.dtype[name].base == np.dtype("f8"):
            frames[name] = np.nan
    for name in ("time", "points", "q", "tau", "ground_force", "sole_load", "com", "com_velocity", "xcom", "command", "heading"):
        if recording.has(name):
            frames[name] = recording.columns[name]
    if recording.has("centre_of_pressure"):
        frames["pressure"] = recording.centre_of_pressure
    if recording.has("contact_state"):
        frames["contact"] = recording.contact_state
    fall = header.get("fall") or {}
    if fall.get("fell") and fall.get("time_s") is not None:
        frames["fallen"] = recording.time >= float(fall["time_s"]) - 1e-9
    if recording.has("foothold_time", "foothold_position"):
        _footholds(recording, frames)
    return frames


def _footholds(recording: Recording, frames: Frames) -> None:
    """Each foothold is recorded as its foot lands there: before that moment it is the plan, after it the last touchdown."""
    landed = recording.foothold_time
    if not len(landed):
        return
    following = np.searchsorted(landed, recording.time - 1e-9)
    planned = following < len(landed)
    ahead = following[planned]
    frames["foothold"][planned] = recording.foothold_position[ahead]
    frames["foothold_yaw"][planned] = recording.foothold_yaw[ahead]
    frames["foothold_foot"][planned] = recording.foothold_foot[ahead]
    frames["landed"] = following
    past = following > 0
    last = following[past] - 1
    frames["landed_foot"][past] = recording.foothold_foot[last]
    frames["planned"][past] = recording.foothold_position[last]
    rows = np.clip(np.searchsorted(recording.time, landed - 1e-9), 0, len(recording) - 1)
    ankles = np.stack([recording.point(f"{FEET[foot]}_ankle")[row] for foot, row in zip(recording.foothold_foot, rows, strict=True)])
    ankles[:, 2] = recording.foothold_position[:, 2]
    frames["actual"][past] = ankles[last]
    if recording.has("event_time", "event_touchdown", "event_predicted"):
        leads = np.full(len(landed), np.nan)
        downs = np.flatnonzero(recording.event_touchdown)
        for k, (time, foot) in enumerate(zip(landed, recording.foothold_foot, strict=True)):
            near = [e for e in downs if recording.event_foot[e] == foot and abs(recording.event_time[e] - time) < 0.05]
            if near:
                leads[k] = recording.event_predicted[near[0]] - recording.event_time[near[0]]
        frames["lead"][past] = leads[last]


def is_there(values: Any) -> bool:
    """Whether every number is one."""
    return bool(np.isfinite(values).all()) if np.ndim(values) else math.isfinite(float(values))
