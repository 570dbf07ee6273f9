"""OpenSim's text files: markers (TRC), coordinates and ground forces (MOT). Axes X forward, Y up, Z right, as in its models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from sandbox.export.frames import OPENSIM, check_rows, frame_rate, motion_of
from sandbox.files import written_whole
from sandbox.recording import Recording
from sandbox.state import FEET

Array = NDArray[np.float64]

# Coordinates of the models of Rajagopal et al. 2016 (IEEE Trans Biomed Eng 63:2068) as sums of our joints. Its joints have our
# order of axes: flexion, then adduction, then rotation. head_flexion is of no such model; programs pass over it.
MIDLINE: dict[str, tuple[tuple[float, str], ...]] = {
    "lumbar_extension": ((-1.0, "lumbar_flexion"),),
    "lumbar_bending": ((1.0, "lumbar_lateral"),),
    "lumbar_rotation": ((1.0, "lumbar_rotation"), (1.0, "thorax_rotation")),
    "head_flexion": ((1.0, "head_flexion"),),
}
SIDED = {
    "hip_flexion": "hip_flexion",
    "hip_adduction": "hip_adduction",
    "hip_rotation": "hip_rotation",
    "knee_angle": "knee_flexion",
    "ankle_angle": "ankle_dorsiflexion",
    "subtalar_angle": "ankle_inversion",
    "mtp_angle": "mtp_extension",
    "arm_flex": "shoulder_flexion",
    "arm_add": "shoulder_adduction",
    "arm_rot": "shoulder_rotation",
    "elbow_flex": "elbow_flexion",
}


def save_trc(recording: Recording, path: Path) -> list[Path]:
    """Write every body point as a marker [mm].

    Raises:
        ValueError: an empty recording, or rows that are not evenly spaced.
        OSError: the path cannot be written.
    """
    check_rows(recording)
    rate, names = frame_rate(recording), recording.header["point_names"]
    points = 1000.0 * recording.points @ OPENSIM.T
    head = [
        f"PathFileType\t4\t(X/Y/Z)\t{path.name}",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        f"{rate:g}\t{rate:g}\t{len(recording)}\t{len(names)}\tmm\t{rate:g}\t1\t{len(recording)}",
        "Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t",
        "\t\t" + "\t".join(f"{axis}{k}" for k in range(1, len(names) + 1) for axis in "XYZ"),
        "",
    ]
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write("\n".join(head) + "\n")
        for k, (time, row) in enumerate(zip(recording.time.tolist(), points.reshape(len(recording), -1).tolist(), strict=True)):
            file.write(f"{k + 1}\t{time!r}\t" + "\t".join("" if value != value else f"{value:.5f}" for value in row) + "\n")
    return [path]


def save_mot(recording: Recording, path: Path) -> list[Path]:
    """Write the joint coordinates, and beside them, as ``NAME_grf.mot``, the ground force of each foot where there is any.

    Angles [deg] and the position of mid-hip [m], under the names of the models of Rajagopal et al. (2016).

    Raises:
        ValueError: an empty recording, one without joint angles, or rows that are not evenly spaced.
        OSError: the path cannot be written.
    """
    check_rows(recording)
    frame_rate(recording)
    motion = motion_of(recording)
    pelvis = OPENSIM @ motion.rotations[:, 0] @ OPENSIM.T
    angles = np.unwrap(Rotation.from_matrix(pelvis).as_euler("ZXY"), axis=0)
    columns: dict[str, Array] = dict(zip(("pelvis_tilt", "pelvis_list", "pelvis_rotation"), np.degrees(angles).T, strict=True))
    columns |= dict(zip(("pelvis_tx", "pelvis_ty", "pelvis_tz"), (motion.positions[:, 0] @ OPENSIM.T).T, strict=True))
    for name, terms in MIDLINE.items():
        columns[name] = np.degrees(np.sum([sign * recording.joint(joint) for sign, joint in terms], axis=0))
    for side in FEET:
        for name, joint in SIDED.items():
            columns[f"{name}_{side[0]}"] = np.degrees(recording.joint(f"{side}_{joint}"))
    _write_mot(path, recording, columns, degrees=True)
    if not recording.has("ground_force", "centre_of_pressure"):
        return [path]
    forces = path.with_name(f"{path.stem}_grf.mot")
    columns = {}
    for foot, side in enumerate(FEET):
        force = recording.ground_force[:, foot] @ OPENSIM.T
        point = np.nan_to_num(recording.centre_of_pressure[:, foot]) @ OPENSIM.T
        columns |= {f"{side}_ground_force_v{axis}": force[:, k] for k, axis in enumerate("xyz")}
        columns |= {f"{side}_ground_force_p{axis}": point[:, k] for k, axis in enumerate("xyz")}
        columns |= {f"{side}_ground_torque_{axis}": np.zeros(len(recording)) for axis in "xyz"}
    _write_mot(forces, recording, columns, degrees=False)
    return [path, forces]


def _write_mot(path: Path, recording: Recording, columns: dict[str, Array], degrees: bool) -> None:
    table = np.column_stack(list(columns.values()))
    head = [path.stem, "version=1", f"nRows={len(table)}", f"nColumns={table.shape[1] + 1}", f"inDegrees={'yes' if degrees else 'no'}"]
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write("\n".join([*head, "endheader", "\t".join(["time", *columns])]) + "\n")
        for time, row in zip(recording.time.tolist(), table.tolist(), strict=True):
            file.write(f"{time!r}\t" + "\t".join(f"{value:.8f}" for value in row) + "\n")
