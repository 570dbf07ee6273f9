"""C3D: body points as markers, ground force and pressure of each foot as analog channels, touchdowns and lift-offs as events."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sandbox.export.frames import check_rows, frame_rate
from sandbox.files import written_whole
from sandbox.recording import Recording
from sandbox.state import FEET

LONGEST = 65_535  # frames that the format can number


def save_c3d(recording: Recording, path: Path) -> list[Path]:
    """Write the file, in the project's own axes: X right, Y forward, Z up; markers in mm.

    Channels are ``Fx_left`` ... ``Fz_right`` [N], the force of the ground on the body, and ``Px_left`` ... [mm], the centre of
    pressure. A frame's time is (its number - 1) / rate, so that the first row has the number that its time asks for.

    Raises:
        ValueError: an empty recording, more than 65,535 rows, or rows that are not evenly spaced.
        ModuleNotFoundError: ezc3d is not installed.
        OSError: the path cannot be written.
    """
    check_rows(recording)
    rate = frame_rate(recording)
    first = round(float(recording.time[0]) * rate)
    if first + len(recording) > LONGEST:
        raise ValueError(f"{len(recording)} rows are more than the {LONGEST} frames that a C3D file can number: export it as trc or csv")
    try:
        import ezc3d
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "C3D needs ezc3d, which is not installed: pip install 'locomotion-sandbox[mocap]'", name="ezc3d"
        ) from None
    file = ezc3d.c3d()
    names = list(recording.header["point_names"])
    file["parameters"]["POINT"]["RATE"]["value"] = [rate]
    file["parameters"]["POINT"]["LABELS"]["value"] = names
    file["parameters"]["POINT"]["UNITS"]["value"] = ["mm"]
    file.add_parameter("POINT", "X_SCREEN", ["+X"])
    file.add_parameter("POINT", "Y_SCREEN", ["+Z"])
    points = np.ones((4, len(names), len(recording)))
    points[:3] = 1000.0 * recording.points.transpose(2, 1, 0)
    file["data"]["points"] = points
    if recording.has("ground_force", "centre_of_pressure"):
        force = recording.ground_force.reshape(len(recording), 6)
        pressure = 1000.0 * np.nan_to_num(recording.centre_of_pressure).reshape(len(recording), 6)
        labels = [f"{kind}{axis}_{side}" for kind in "FP" for side in FEET for axis in "xyz"]
        file["parameters"]["ANALOG"]["RATE"]["value"] = [rate]
        file["parameters"]["ANALOG"]["LABELS"]["value"] = labels
        file["parameters"]["ANALOG"]["UNITS"]["value"] = ["N"] * 6 + ["mm"] * 6
        file["data"]["analogs"] = np.hstack((force, pressure)).T[None]
    file["header"]["points"]["first_frame"] = first
    file["header"]["points"]["last_frame"] = first + len(recording) - 1
    if recording.has("event_time"):
        _add_events(file, recording)
    with written_whole(path) as temporary:
        file.write(str(temporary))
    return [path]


def _add_events(file: object, recording: Recording) -> None:
    """The group EVENT of Vicon's files: minutes and seconds, side, Foot Strike or Foot Off."""
    times = recording.event_time
    if not len(times):
        return
    labels = ["Foot Strike" if down else "Foot Off" for down in recording.event_touchdown]
    add = file.add_parameter  # type: ignore[attr-defined]
    add("EVENT", "USED", [len(times)])
    add("EVENT", "CONTEXTS", [FEET[foot].capitalize() for foot in recording.event_foot])
    add("EVENT", "LABELS", labels)
    add("EVENT", "TIMES", np.vstack((np.floor(times / 60), times % 60)))
