"""BVH, C3D and TRC: what is read is what was written, and bad files are told in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sandbox.mocap import CaptureError, read_acclaim, read_bvh, read_c3d, read_capture, read_trc, save_bvh
from sandbox.mocap.asf import read_amc, read_asf
from sandbox.mocap.points import Capture, cleaned, plausible_unit
from sandbox.recording import Recording


def trc(recording: Recording, path: Path, *, unit: str = "mm", scale: float = 1000.0, names: dict[str, str] | None = None) -> Path:
    """A TRC of a recording's points, in OpenSim's axes; ``names`` maps markers to points, all points by default."""
    chosen = names or {name: name for name in recording.header["point_names"]}
    rows = [
        "PathFileType\t4\t(X/Y/Z)\tw.trc",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits",
        f"120\t120\t{len(recording)}\t{len(chosen)}\t{unit}",
        "Frame#\tTime\t" + "\t\t\t".join(chosen) + "\t\t",
        "\t\t" + "\t".join(f"{a}{k}" for k in range(1, len(chosen) + 1) for a in "XYZ"),
    ]
    table = np.stack([recording.point(point)[:, [1, 2, 0]] for point in chosen.values()], axis=1).reshape(len(recording), -1) * scale
    rows += ["\t".join([str(k + 1), f"{k / 120:.5f}", *(f"{v:.5f}" for v in row)]) for k, row in enumerate(table)]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_bvh_written_from_an_amc_reads_back(data: Path, tmp_path: Path) -> None:
    skeleton = read_asf(data / "cmu/16/16.asf")
    amc = data / "cmu/16/16_15.amc"
    save_bvh(skeleton, read_amc(amc, skeleton), tmp_path / "walk.bvh")
    ours, theirs = read_bvh(tmp_path / "walk.bvh"), read_acclaim(amc)
    assert len(ours) == len(theirs)
    assert ours.rate == pytest.approx(theirs.rate)
    for name, path in ours.points.items():
        np.testing.assert_allclose(path, theirs.points[name], atol=1e-4, err_msg=name)
    assert {"left_toe_tip", "right_wrist", "head", "pelvis_top"} <= ours.points.keys()


test_bvh_written_from_an_amc_reads_back = pytest.mark.shared(test_bvh_written_from_an_amc_reads_back)


@pytest.mark.shared
def test_every_file_of_the_reference_data_parses(data: Path) -> None:
    files = [p for p in sorted(data.glob("cmu/*/*")) if p.suffix in (".amc", ".bvh")]
    assert len(files) > 60
    for file in files:
        capture = read_capture(file)
        assert 0.7 < capture.leg < 1.0, file
        assert len(capture) > 100, file


@pytest.mark.shared
def test_bvh_without_unit(data: Path) -> None:
    capture = read_bvh(data / "cmu/12/12_01.bvh")
    assert any("states no unit: cmu is assumed" in w for w in capture.warnings)
    with pytest.raises(CaptureError, match=r"leg of 13.9 m from hip to ankle.*try --unit cmu"):
        read_bvh(data / "cmu/12/12_01.bvh", unit="m")


@pytest.mark.shared
def test_c3d_of_a_treadmill(data: Path) -> None:
    path = data / "norms/wbds01/WBDS01walkT01.c3d"
    unknown, known = read_c3d(path), read_c3d(path, belt_speed=0.49)
    assert unknown.belt_speed is None
    assert unknown.recording().header["speed_unknown"]
    moved = known.recording().point("mid_hip")
    assert np.hypot(*(moved[-1] - moved[0])[:2]) == pytest.approx(0.49 * 30, rel=0.02)
    assert known.ground_force is not None
    assert known.ground_force[..., 2].sum(axis=1).mean() / 9.81 == pytest.approx(68.7, abs=1)
    foot = known.recording().point("left_ankle")[:, :2]
    pressure = known.recording().centre_of_pressure[:, 0, :2]
    inside = np.isfinite(pressure).all(axis=1)
    assert np.median(np.linalg.norm(pressure[inside] - foot[inside], axis=1)) < 0.12


@pytest.mark.shared
def test_static_markers_tell_knee_axes(data: Path) -> None:
    capture = read_c3d(data / "norms/wbds01/WBDS01static1.c3d")
    axis = capture.points["left_knee_axis"] - capture.points["left_knee"]
    right = capture.points["right_hip"] - capture.points["left_hip"]
    cosine = np.sum(axis * right, axis=1) / np.linalg.norm(axis, axis=1) / np.linalg.norm(right, axis=1)
    assert cosine.min() > 0.9


def test_trc_of_body_points(walker: ModuleType, tmp_path: Path) -> None:
    recording = walker.Walker(seconds=4, heading=0.4).record()
    capture = read_trc(trc(recording, tmp_path / "w.trc"))
    for name in ("left_knee", "right_toe_tip", "mid_hip"):
        ours, theirs = capture.points[name], recording.point(name)
        np.testing.assert_allclose(ours[:, 2], theirs[:, 2], atol=1e-5)
        np.testing.assert_allclose(
            np.linalg.norm(np.diff(ours, axis=0), axis=1), np.linalg.norm(np.diff(theirs, axis=0), axis=1), atol=1e-5
        )
    assert capture.leg == pytest.approx(recording.header["body"]["leg_m"], abs=0.015)


def test_trc_of_markers(walker: ModuleType, tmp_path: Path) -> None:
    recording = walker.Walker(seconds=4).record()
    # A hip, knee and ankle marker on the skin: the joint centre is inside.
    points = {k: v.copy() for k, v in recording.columns.items()}
    names = recording.header["point_names"]
    for side, sign in (("left", -1), ("right", 1)):
        for joint, half in (("knee", 0.055), ("ankle", 0.040)):
            points["points"][:, names.index(f"{side}_{joint}"), 0] += sign * half
    skin = Recording(recording.header, points)
    markers = {f"{s[0].upper()}{label}": f"{s}_{point}" for s in ("left", "right") for label, point in
               (("HJC", "hip"), ("KNE", "knee"), ("ANK", "ankle"), ("TOE", "toe_base"), ("HEE", "heel"))}  # fmt: skip
    capture = read_trc(trc(skin, tmp_path / "m.trc", names=markers))
    for name in ("left_knee", "right_ankle"):
        # the axes of the file are turned by 90 degrees: compare distances from the hip
        near = np.linalg.norm(capture.points[name] - capture.points[f"{name.split('_')[0]}_hip"], axis=1)
        true = np.linalg.norm(recording.point(name) - recording.point(f"{name.split('_')[0]}_hip"), axis=1)
        np.testing.assert_allclose(near, true, atol=0.008)


@pytest.mark.parametrize(
    ("unit", "scale", "message"),
    [("m", 1000.0, r"leg of 836 m.*try --unit mm"), ("mm", 1.0, r"leg of 0.000836 m"), ("furlong", 1.0, "unit 'furlong'")],
)
def test_mixed_up_units(walker: ModuleType, tmp_path: Path, unit: str, scale: float, message: str) -> None:
    path = trc(walker.Walker(seconds=3).record(), tmp_path / "u.trc", unit=unit, scale=scale)
    with pytest.raises(CaptureError, match=message):
        read_trc(path)


def test_missing_leg(walker: ModuleType, tmp_path: Path) -> None:
    recording = walker.Walker(seconds=3).record()
    markers = {f"R{label}": f"right_{point}" for label, point in (("HJC", "hip"), ("KNE", "knee"), ("ANK", "ankle"), ("TOE", "toe_base"))}
    with pytest.raises(CaptureError, match=r"no marker for left pelvis.*left knee, left ankle, left toes.*the file has RHJC, RKNE"):
        read_trc(trc(recording, tmp_path / "r.trc", names=markers))


def test_bvh_without_feet(tmp_path: Path) -> None:
    def leg(side: str, x: float) -> str:
        return (
            f"JOINT {side}UpLeg\n{{\nOFFSET {x} 0 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
            f"JOINT {side}Leg\n{{\nOFFSET 0 -0.4 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
            "End Site\n{\nOFFSET 0 -0.4 0\n}\n}\n}\n"
        )

    text = (
        "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\n"
        + leg("Left", 0.1)
        + leg("Right", -0.1)
        + "}\nMOTION\nFrames: 3\nFrame Time: 0.00833\n"
        + "\n".join(["0 0.9 0" + " 0" * 15] * 3)
    )
    (tmp_path / "b.bvh").write_text(text)
    with pytest.raises(CaptureError, match=r"no joint for left ankle, left toe base.*the file has Hips, LeftUpLeg"):
        read_bvh(tmp_path / "b.bvh")


def capture_of(recording: Recording) -> Capture:
    return Capture(Path("clip.trc"), 120.0, {name: recording.point(name).copy() for name in recording.header["point_names"]})


def test_gaps(walker: ModuleType) -> None:
    whole = capture_of(walker.Walker(seconds=5).record())
    short, long, lost = (replace(whole, points={k: v.copy() for k, v in whole.points.items()}) for _ in range(3))
    short.points["left_knee"][100:110] = np.nan
    fixed = cleaned(short)
    assert len(fixed) == len(whole)
    np.testing.assert_allclose(fixed.points["left_knee"], whole.points["left_knee"], atol=0.015)
    assert "left knee in 10" in fixed.warnings[0]
    long.points["left_knee"][100:200] = np.nan
    assert len(cleaned(long)) == 400
    assert any("only the 3.33 s from frame 201 on are used" in w for w in cleaned(long).warnings)
    lost.points["left_knee"][::40] = np.nan
    lost.points["left_ankle"][:] = np.nan
    with pytest.raises(CaptureError, match="0.00 s without gaps"):
        cleaned(lost)


def test_unsolved_frames_at_the_start_are_left_out(walker: ModuleType) -> None:
    capture = capture_of(walker.Walker(seconds=4).record())
    for path in capture.points.values():
        path[:30] = 0.0
    fixed = cleaned(capture)
    assert len(fixed) == len(capture) - 30
    assert "30 frames at the start are not solved" in fixed.warnings[0]


def test_short_clip(walker: ModuleType) -> None:
    with pytest.raises(CaptureError, match="0.30 s without gaps: a stride takes about 1 s"):
        cleaned(capture_of(walker.Walker(seconds=0.3).record()))


def test_unknown_files(tmp_path: Path) -> None:
    (tmp_path / "a.xyz").write_text("")
    with pytest.raises(CaptureError, match=r"give .amc, .bvh, .c3d, .trc"):
        read_capture(tmp_path / "a.xyz")
    for kind in ("amc", "bvh", "c3d", "trc"):
        with pytest.raises(CaptureError, match="no such file"):
            read_capture(tmp_path / f"none.{kind}")
        (tmp_path / f"a.{kind}").write_text("nothing\n")
        with pytest.raises(CaptureError):
            read_capture(tmp_path / f"a.{kind}")
    with pytest.raises(CaptureError, match="unit 'ell'"):
        read_capture(tmp_path / "a.trc", unit="ell")


@pytest.mark.shared
def test_skeleton_of_another_subject_is_named(data: Path) -> None:
    capture = read_acclaim(data / "cmu/16/16_15.amc", data / "cmu/35/35.asf")
    assert any("of subject 16, 35.asf of another" in w for w in capture.warnings)


def test_amc_without_skeleton(tmp_path: Path) -> None:
    (tmp_path / "07_01.amc").write_text("1\nroot 0 0 0 0 0 0\n")
    with pytest.raises(CaptureError, match=r"no skeleton \(.asf\) beside it: give --skeleton"):
        read_acclaim(tmp_path / "07_01.amc")


def test_units_are_told_apart() -> None:
    assert [plausible_unit(x) for x in (0.85, 85.0, 850.0, 33.5, 15.1, 3.0)] == ["m", "cm", "mm", "in", "cmu", None]
