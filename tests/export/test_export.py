"""Exports, read back by other people's programs: positions within 1 mm, times exact."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sandbox import cli
from sandbox.bodies.anatomy import Anatomy
from sandbox.export import FORMATS
from sandbox.recording import Recording
from sandbox.scenes.scene import Options, build
from sandbox.simulation import run

MM = 1e-3
# Axes of other programs in ours: left, up, forward; and forward, up, right.
Y_UP = np.array([(-1.0, 0, 0), (0, 0, 1), (0, 1, 0)])
OPENSIM = np.array([(0.0, 1, 0), (0, 0, 1), (1, 0, 0)])


@pytest.fixture(scope="module")
def walk() -> Recording:
    """A walk that turns, so that no axis is spared."""
    return run(build("walk", Options(speed=1.0, heading_rate=0.5, seconds=3.0)), plant="kinematic")


@pytest.fixture(scope="module")
def folder(walk: Recording, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All formats of one walk, written by the command line."""
    place = tmp_path_factory.mktemp("export")
    walk.save(place / "walk.npz")
    for ending in FORMATS:
        assert cli.main(["export", str(place / "walk.npz"), str(place / f"walk{ending}")]) == 0
    assert sorted(path.name for path in place.iterdir()) == sorted(["walk.npz", "walk_grf.mot", *(f"walk{ending}" for ending in FORMATS)])
    return place


# -- BVH ---------------------------------------------------------------------------------------------------------------

BVH_JOINTS = {
    "Hips": "mid_hip",
    "Head": "neck_base",
    "LeftUpLeg": "left_hip",
    "LeftLeg": "left_knee",
    "LeftFoot": "left_ankle",
    "LeftHeel": "left_heel",
    "LeftBall": "left_toe_base",
    "RightLeg": "right_knee",
    "RightFoot": "right_ankle",
    "RightHeel": "right_heel",
    "RightBall": "right_toe_base",
    "LeftArm": "left_shoulder",
    "LeftForeArm": "left_elbow",
    "LeftHand": "left_wrist",
    "RightArm": "right_shoulder",
    "RightForeArm": "right_elbow",
    "RightHand": "right_wrist",
}
BVH_ENDS = {"LeftToeBase": "left_toe_tip", "RightToeBase": "right_toe_tip", "Head": "head"}


def test_bvh_by_pybvh(folder: Path, walk: Recording) -> None:
    pybvh = pytest.importorskip("pybvh")
    bvh = pybvh.read_bvh_file(str(folder / "walk.bvh"))
    assert bvh.frame_time == 1 / 120
    positions = np.asarray(bvh.node_positions())
    assert len(positions) == len(walk)
    names = [node.name for node in bvh.nodes]
    for joint, point in BVH_JOINTS.items():
        found = positions[:, names.index(joint)]
        assert np.abs(found - walk.point(point) @ Y_UP.T).max() < MM, joint


# -- OpenSim -----------------------------------------------------------------------------------------------------------


ROWS = list(range(0, 360, 37))


@pytest.fixture(scope="module")
def opensim(folder: Path, walk: Recording) -> dict[str, Any]:
    """What OpenSim finds in the files."""
    if find_spec("opensim") is None:
        pytest.skip("OpenSim is not installed")
    reader = Path(__file__).with_name("opensim_reader.py")
    done = subprocess.run(
        [sys.executable, str(reader), str(folder), json.dumps(leg_model(walk))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def leg_model(walk: Recording) -> dict[str, Any]:
    """Pelvis, trunk and right leg with the joints of Rajagopal's model and the lengths of the recorded body."""
    anatomy = Anatomy(*(walk.header["body"][key] for key in ("mass_kg", "height_m", "sex")))
    origin = {joint.child: (OPENSIM @ joint.origin).tolist() for joint in anatomy.joints}
    z, x, y, back = (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, -1)
    bodies = [
        ("pelvis", "ground", (0, 0, 0), [("pelvis_tilt", z), ("pelvis_list", x), ("pelvis_rotation", y)]),
        ("thigh", "pelvis", origin["right_hip_1"], [("hip_flexion_r", z), ("hip_adduction_r", x), ("hip_rotation_r", y)]),
        ("shank", "thigh", origin["right_shank"], [("knee_angle_r", back)]),
        ("foot", "shank", origin["right_ankle_1"], [("ankle_angle_r", z), ("subtalar_angle_r", x)]),
        ("toes", "foot", origin["right_toes"], [("mtp_angle_r", z)]),
        ("torso", "pelvis", origin["lumbar_1"], [("lumbar_extension", z), ("lumbar_bending", x), ("lumbar_rotation", y)]),
    ]
    places = {"right_knee": ("shank", np.zeros(3)), "right_ankle": ("foot", np.zeros(3))}
    places |= {name: (link, anatomy.points[name][1]) for name, link in (("right_heel", "foot"), ("right_toe_tip", "toes"))}
    thorax = next(joint.origin for joint in anatomy.joints if joint.child == "thorax")
    places |= {name: ("torso", thorax + anatomy.points[name][1]) for name in ("left_shoulder", "right_shoulder")}
    markers = [(name, body, (OPENSIM @ place).tolist()) for name, (body, place) in places.items()]
    return {"bodies": bodies, "markers": markers, "rows": ROWS}


def test_trc_by_opensim(opensim: dict[str, Any], walk: Recording) -> None:
    trc = opensim["trc"]
    assert trc["time"] == walk.time.tolist()
    assert trc["labels"] == walk.header["point_names"]
    assert trc["units"] == "mm"
    for name in walk.header["point_names"]:
        found = np.column_stack([trc["columns"][f"{name}_{axis}"] for axis in "xyz"]) / 1000
        assert np.abs(found - walk.point(name) @ OPENSIM.T).max() < MM, name


def test_mot_by_opensim(opensim: dict[str, Any], walk: Recording) -> None:
    mot = opensim["walk"]
    assert mot["time"] == walk.time.tolist()
    assert mot["degrees"] == "yes"
    column = mot["columns"]
    position = np.column_stack([column[f"pelvis_t{axis}"] for axis in "xyz"])
    assert np.abs(position - walk.root_position @ OPENSIM.T).max() < MM
    assert np.allclose(column["knee_angle_r"], np.degrees(walk.joint("right_knee_flexion")), atol=1e-6)


def test_mot_moves_a_model_of_opensim_as_the_body_moved(opensim: dict[str, Any], walk: Recording) -> None:
    """OpenSim's own joints, driven by the file, put knee, ankle, heel, toes and shoulders where the recording has them."""
    for name, places in opensim["markers"].items():
        for row, place in places.items():
            relative = walk.point(name)[int(row)] - walk.root_position[int(row)]
            assert np.abs(np.array(place) - OPENSIM @ relative).max() < MM, (name, row)


def test_ground_forces_by_opensim(opensim: dict[str, Any], walk: Recording) -> None:
    assert opensim["walk_grf"]["time"] == walk.time.tolist()
    column = opensim["walk_grf"]["columns"]
    for foot, side in enumerate(("left", "right")):
        force = np.column_stack([column[f"{side}_ground_force_v{axis}"] for axis in "xyz"])
        point = np.column_stack([column[f"{side}_ground_force_p{axis}"] for axis in "xyz"])
        assert np.allclose(force, walk.ground_force[:, foot] @ OPENSIM.T, atol=1e-6)
        loaded = np.isfinite(walk.centre_of_pressure[:, foot]).all(axis=1)
        assert np.abs(point - walk.centre_of_pressure[:, foot] @ OPENSIM.T)[loaded].max() < MM


# -- C3D ---------------------------------------------------------------------------------------------------------------


def test_c3d_by_ezc3d(folder: Path, walk: Recording) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    file = ezc3d.c3d(str(folder / "walk.c3d"))
    header, parameters = file["header"]["points"], file["parameters"]
    assert parameters["POINT"]["LABELS"]["value"] == walk.header["point_names"]
    assert parameters["POINT"]["UNITS"]["value"] == ["mm"]
    times = np.arange(header["first_frame"], header["last_frame"] + 1) / header["frame_rate"]
    assert np.allclose(times, walk.time, rtol=1e-12)  # a frame's number over the rate, up to rounding
    assert np.abs(file["data"]["points"][:3].transpose(2, 1, 0) / 1000 - walk.points).max() < MM
    force = file["data"]["analogs"][0, :6].T.reshape(-1, 2, 3)
    assert np.abs(force - walk.ground_force).max() < 0.01
    events = parameters["EVENT"]
    assert np.allclose(events["TIMES"]["value"][0] * 60 + events["TIMES"]["value"][1], walk.event_time)
    assert events["LABELS"]["value"] == ["Foot Strike" if down else "Foot Off" for down in walk.event_touchdown]


def test_c3d_by_c3d(folder: Path, walk: Recording) -> None:
    c3d = pytest.importorskip("c3d")
    with (folder / "walk.c3d").open("rb") as file:
        reader = c3d.Reader(file)
        frames = list(reader.read_frames())
    assert [label.strip() for label in reader.point_labels] == walk.header["point_names"]
    # this reader counts frames from 1, as the format does
    assert [(number - 1) / float(reader.point_rate) for number, _, _ in frames] == pytest.approx(walk.time.tolist(), rel=1e-12)
    points = np.array([points[:, :3] for _, points, _ in frames]) / 1000
    assert np.abs(points - walk.points).max() < MM


# -- GLB ---------------------------------------------------------------------------------------------------------------


def test_glb_by_trimesh(folder: Path, walk: Recording) -> None:
    """The geometry, placed as in the first row: it stands on the ground, as tall as the body, facing +Z."""
    trimesh = pytest.importorskip("trimesh")
    scene = trimesh.load(folder / "walk.glb")
    assert {"left_thigh", "head", "right_toes"} <= set(scene.geometry)
    low, high = scene.bounds
    assert abs(low[1]) < 0.03
    assert 0.95 * 1.74 < high[1] - low[1] < 1.05 * 1.74
    matrix, _ = scene.graph["point_left_heel"]
    assert np.abs(matrix[:3, 3] - Y_UP @ walk.point("left_heel")[0]).max() < MM
    thigh = trimesh.transform_points(scene.geometry["left_thigh"].vertices, scene.graph["left_thigh"][0])
    hip, knee = (Y_UP @ walk.point(name)[0] for name in ("left_hip", "left_knee"))
    assert np.linalg.norm(thigh.mean(axis=0) - (hip + knee) / 2) < 0.02


def test_glb_by_pygltflib(folder: Path, walk: Recording) -> None:
    """The animation: time and place of every point."""
    pygltflib = pytest.importorskip("pygltflib")
    file = pygltflib.GLTF2().load(str(folder / "walk.glb"))
    blob = file.binary_blob()

    def values(number: int):
        accessor = file.accessors[number]
        view = file.bufferViews[accessor.bufferView]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor.type]
        return np.frombuffer(blob, "<f4", accessor.count * width, view.byteOffset).reshape(accessor.count, width)

    (animation,) = file.animations
    seen = {}
    for channel in animation.channels:
        sampler = animation.samplers[channel.sampler]
        assert np.array_equal(values(sampler.input)[:, 0], walk.time.astype(np.float32))
        seen[file.nodes[channel.target.node].name, channel.target.path] = values(sampler.output)
    for name in walk.header["point_names"]:
        assert np.abs(seen[f"point_{name}", "translation"] - walk.point(name) @ Y_UP.T).max() < MM, name
    # The drawn shank reaches from knee to ankle in every row: its axis is +Z of its mesh.
    from scipy.spatial.transform import Rotation

    start, turn = seen["left_shank", "translation"], Rotation.from_quat(seen["left_shank", "rotation"])
    length = np.linalg.norm(walk.point("left_ankle") - walk.point("left_knee"), axis=1, keepdims=True)
    assert np.abs(start + length * turn.apply([0.0, 0.0, 1.0]) - walk.point("left_ankle") @ Y_UP.T).max() < MM


# -- CSV ---------------------------------------------------------------------------------------------------------------


def test_csv_by_the_standard_library(folder: Path, walk: Recording) -> None:
    rows = list(csv.reader(io.StringIO((folder / "walk.csv").read_text())))
    head, table = rows[0], rows[1:]
    assert [float(row[head.index("time [s]")]) for row in table] == walk.time.tolist()
    heel = np.array([[float(row[head.index(f"left_heel {axis} [m]")]) for axis in "xyz"] for row in table])
    assert np.abs(heel - walk.point("left_heel")).max() < MM
    knee = [float(row[head.index("q left_knee_flexion [rad]")]) for row in table]
    assert np.allclose(knee, walk.joint("left_knee_flexion"), atol=1e-6)
    assert {"command speed [m/s]", "command heading rate [rad/s]", "contact_state left"} <= set(head)
    assert len(set(head)) == len(head) == len(table[0])


# -- what cannot be exported --------------------------------------------------------------------------------------------


def test_points_alone(walk: Recording, tmp_path: Path) -> None:
    """A recording of motion capture has points and times only."""
    points = Recording(walk.header, {"time": walk.time, "points": walk.points})
    for ending in (".trc", ".c3d", ".glb", ".csv"):
        assert FORMATS[ending](points, tmp_path / f"p{ending}")
    for ending in (".bvh", ".mot"):
        with pytest.raises(ValueError, match="no joint angles: export it as trc"):
            FORMATS[ending](points, tmp_path / f"p{ending}")


def test_a_body_that_the_header_does_not_describe(walk: Recording, tmp_path: Path) -> None:
    header = {**walk.header, "body": {**walk.header["body"], "height_m": 1.8}}
    for ending in (".bvh", ".mot"):
        with pytest.raises(ValueError, match="not those of that body"):
            FORMATS[ending](Recording(header, walk.columns), tmp_path / f"p{ending}")
    assert list(tmp_path.iterdir()) == []


def test_bad_input(walk: Recording, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    walk.save("walk.npz")
    uneven = Recording(walk.header, {**walk.columns, "time": walk.time**1.01})
    uneven.save("uneven.npz")
    Path("other.npz").write_bytes(b"hello")
    for arguments, said in {
        "walk.npz walk.fbx": ".bvh or .trc",
        "other.npz walk.bvh": "not a recording",
        "absent.npz walk.bvh": "No such file",
        "uneven.npz walk.bvh": "one rate: export it as csv",
        "walk.npz .": "is a folder",
    }.items():
        assert cli.main(["export", *arguments.split()]) == 2
        out, err = capfd.readouterr()
        assert said in err
        assert (out, err.count("\n")) == ("", 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.npz", "uneven.npz", "walk.npz"]
