"""The frames of a page's replay: ends of the drawn parts of every body and ground forces, packed."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.conventions import GRAVITY
from sandbox.measure.signals import lowpass
from sandbox.recording import Recording
from sandbox.report.figure import SIDE_COLOURS, body_parts
from sandbox.report.subject import Subject
from sandbox.state import FEET

Array = NDArray[np.float64]

FPS = 30
FOLLOW_CUTOFF = 0.5  # [Hz] of the path that the camera follows
STATURE_LEGS = 1.91  # stature over leg length, for drawing a captured person whose height is not known
HALF_MILLIMETRES = 2000


def replay_data(subjects: Sequence[Subject]) -> dict[str, Any]:
    """Frames at 30 Hz of every walk: ends of the drawn parts and forces, in half millimetres; shown first is the settled walk."""
    walks = [_replay_walk(s) for s in subjects]
    settled = max(s.analysis.gait.start - float(s.recording.time[0]) for s in subjects)
    return {"fps": FPS, "first": round(FPS * settled), "walks": walks}


def _replay_walk(subject: Subject) -> dict[str, Any]:
    recording = subject.recording
    body = dict(recording.header["body"])
    if not body.get("height_m"):
        body["height_m"] = STATURE_LEGS * float(body["leg_m"])
    recording = Recording(recording.header | {"body": body}, recording.columns)
    first = float(recording.time[0])
    times = np.arange(first, recording.duration + 1e-9, 1 / FPS)
    rows = np.clip(np.searchsorted(recording.time, times - 1e-9), 0, len(recording) - 1)
    parts = body_parts(recording, rows)
    middle = recording.point("mid_hip")
    follow = (
        lowpass(middle[:, :2], FOLLOW_CUTOFF, 1 / recording.interval)[rows]
        if len(recording) > 3 / FOLLOW_CUTOFF / recording.interval
        else middle[rows, :2]
    )
    floor = float(np.min([recording.point(f"{side}_{name}")[:, 2].min() for side in FEET for name in ("toe_base", "ankle")]))
    if subject.recording.header.get("plant") != "capture":
        floor = 0.0
    shift = np.column_stack((follow, np.full(len(rows), floor)))
    ends = np.stack([np.concatenate((part.start - shift, part.end - shift), axis=1) for part in parts], axis=1)
    forward = subject.analysis.gait.facing.forward[rows[len(rows) // 2]]
    out = {
        "name": subject.name,
        "ended": "ended",
        "heading": -math.atan2(float(forward[0]), float(forward[1])),
        "parts": [[round(max(part.radius) * 0.94, 4), SIDE_COLOURS[part.side]] for part in parts],
        "ends": _packed(ends),
        "follow": base64.b64encode(follow.astype("<f4").tobytes()).decode(),
        "forces": None,
    }
    if recording.has("ground_force", "centre_of_pressure") and recording.ground_force.any():
        weight = GRAVITY * float(body["mass_kg"])
        at = np.nan_to_num(recording.centre_of_pressure[rows] - shift[:, None, :])
        out["forces"] = _packed(np.concatenate((at, recording.ground_force[rows] / weight), axis=2))
    return out


def _packed(values: Array) -> str:
    return base64.b64encode(np.clip(np.rint(values * HALF_MILLIMETRES), -32767, 32767).astype("<i2").tobytes()).decode()
