"""Files that are cut off, lack frames, or say the wrong unit, angle or rate: named, with what to do, and never measured in silence."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sandbox.export.c3d import save_c3d
from sandbox.mocap import Capture, CaptureError, read_acclaim, read_bvh, read_c3d, read_capture, read_trc, save_bvh
from sandbox.mocap.asf import read_amc, read_asf
from sandbox.recording import Recording

FRAMES = 240
BONES = (("hipjoint", 2.0, ""), ("femur", 7.4, "rx"), ("tibia", 7.2, "rx"), ("foot", 2.6, ""), ("toes", 1.0, ""))


def asf(length: str = "0.45", angle: str = "deg", **dofs: str) -> str:
    """Two legs of 14.6 units of 1 / 0.45 inch."""
    bones, tree = [], []
    for side, out in (("l", 1), ("r", -1)):
        parent = "root"
        for name, size, dof in BONES:
            direction = {"hipjoint": f"{out} 0 0", "foot": "0 0 1", "toes": "0 0 1"}.get(name, "0 -1 0")
            turns = dofs.get(side + name, dof)
            line = f"dof {turns}\n" if turns else ""
            bones.append(f"begin\nname {side}{name}\ndirection {direction}\nlength {size}\naxis 0 0 0 XYZ\n{line}end\n")
            tree.append((parent, side + name))
            parent = side + name
    children: dict[str, list[str]] = {}
    for parent, child in tree:
        children.setdefault(parent, []).append(child)
    hierarchy = "".join(f"{parent} {' '.join(names)}\n" for parent, names in children.items())
    return (
        f":units\nlength {length}\nangle {angle}\n:root\norder TX TY TZ RX RY RZ\naxis XYZ\nposition 0 0 0\norientation 0 0 0\n"
        f":bonedata\n{''.join(bones)}:hierarchy\nbegin\n{hierarchy}end\n"
    )


def amc(keep: range | list[int] = range(1, FRAMES + 1), scale: float = 1.0, stated: str = ":DEGREES", unit: float = 1.0) -> str:
    """A walk of sorts at 120 Hz, one step forward of 0.12 units a frame."""
    lines = [":FULLY-SPECIFIED", *([stated] if stated else [])]
    for k in keep:
        lines += [str(k), f"root 0 {14.6 * unit} {0.12 * unit * k:.4f} 0 0 0"]
        for side, phase in (("l", 0.0), ("r", np.pi)):
            swing = np.sin(2 * np.pi * k / 130 + phase)
            lines += [f"{side}femur {scale * -25 * swing:.4f}", f"{side}tibia {scale * 20 * (1 + swing):.4f}"]
    return "\n".join(lines) + "\n"


def clip(folder: Path, skeleton: str | None = None, motion: str | None = None) -> Path:
    (folder / "7.asf").write_text(asf() if skeleton is None else skeleton)
    (folder / "7_01.amc").write_text(amc() if motion is None else motion)
    return folder / "7_01.amc"


def warned(capture: Capture) -> str:
    return "\n".join(capture.warnings)


def test_a_whole_clip_has_nothing_amiss(tmp_path: Path) -> None:
    capture = read_acclaim(clip(tmp_path))
    assert capture.warnings == ()
    assert len(capture) == FRAMES
    assert capture.femur_and_tibia == pytest.approx(14.6 * 0.0254 / 0.45)


@pytest.mark.parametrize(("length", "unit"), [("0.0045", "cmu"), ("45", "cmu")])
def test_the_unit_that_is_advised_works_for_acclaim(tmp_path: Path, length: str, unit: str) -> None:
    path = clip(tmp_path, asf(length))
    with pytest.raises(CaptureError, match=rf"has a leg of .* m .* try --unit {unit}$"):
        read_capture(path)
    assert read_capture(path, unit=unit).femur_and_tibia == pytest.approx(14.6 * 0.0254 / 0.45)
    with pytest.raises(CaptureError, match=rf"try --unit {unit}$"):  # another that does not fit gets the same advice
        read_capture(path, unit="cm")


SIZES = {"m": 1.0, "cm": 100.0, "mm": 1000.0, "in": 1 / 0.0254}


@pytest.mark.parametrize("true", SIZES)
@pytest.mark.parametrize("stated", SIZES)
@pytest.mark.parametrize("kind", ["trc", "c3d"])
def test_the_unit_that_is_advised_works_for_markers(walker: ModuleType, tmp_path: Path, kind: str, true: str, stated: str) -> None:
    """Every unit taken for every other one."""
    if kind == "trc":
        path = trc(walker.Walker(seconds=3).record(), tmp_path / "w.trc", SIZES[true], stated)
    else:
        path = c3d(walker.Walker(seconds=3).record(), tmp_path, SIZES[true], stated)
    if stated == true:
        assert 0.7 < read_capture(path).femur_and_tibia < 1.0
        return
    with pytest.raises(CaptureError, match=rf"try --unit {true}$"):
        read_capture(path)
    assert 0.7 < read_capture(path, unit=true).femur_and_tibia < 1.0


def trc(recording: Recording, path: Path, scale: float = 1000.0, unit: str = "mm", rate: float = 120.0) -> Path:
    names = recording.header["point_names"]
    rows = [
        "PathFileType\t4\t(X/Y/Z)\tw.trc",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits",
        f"{rate:g}\t{rate:g}\t{len(recording)}\t{len(names)}\t{unit}",
        "Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t",
        "\t\t" + "\t".join(f"{a}{k}" for k in range(1, len(names) + 1) for a in "XYZ"),
    ]
    table = recording.points[:, :, [1, 2, 0]].reshape(len(recording), -1) * scale
    rows += ["\t".join([str(k + 1), f"{k / rate:.5f}", *(f"{v:.6f}" for v in row)]) for k, row in enumerate(table)]
    path.write_text("\n".join(rows) + "\n")
    return path


def c3d(recording: Recording, folder: Path, scale: float = 1000.0, unit: str = "mm") -> Path:
    import ezc3d

    save_c3d(recording, folder / "w.c3d")
    file = ezc3d.c3d(str(folder / "w.c3d"))
    file["data"]["points"][:3] *= scale / 1000.0
    file["parameters"]["POINT"]["UNITS"]["value"] = [unit]
    del file["data"]["meta_points"]
    file.write(str(folder / "u.c3d"))
    return folder / "u.c3d"


def test_frames_that_are_missing_are_gaps(tmp_path: Path) -> None:
    whole = read_acclaim(clip(tmp_path))
    short = [k for k in range(1, FRAMES + 1) if not 100 <= k < 110]
    capture = read_acclaim(clip(tmp_path, motion=amc(short)))
    assert "7_01.amc lacks 10 frames (100-109)" in warned(capture)
    assert "points are missing in frames: all in 10" in warned(capture)
    assert len(capture) == FRAMES
    np.testing.assert_allclose(capture.points["mid_hip"], whole.points["mid_hip"], atol=1e-3)  # its speed is the true one
    long = [k for k in range(1, FRAMES + 1) if not 60 <= k < 120]
    capture = read_acclaim(clip(tmp_path, motion=amc(long)))
    assert "lacks 60 frames (60-119)" in warned(capture)
    assert "only the 1.01 s from frame 120 on are used" in warned(capture)
    assert len(capture) == 121
    with pytest.raises(CaptureError, match="jumps from frame 120 to 100000"):
        read_acclaim(clip(tmp_path, motion=amc([*range(1, 121), *range(100_000, 100_120)])))


@pytest.mark.parametrize("numbers", [[1, 2, 2, 3], [1, 2, 3, 2], [5, 4, 3]])
def test_frames_out_of_order(tmp_path: Path, numbers: list[int]) -> None:
    with pytest.raises(CaptureError, match=r"damaged: frame \d follows frame \d"):
        read_acclaim(clip(tmp_path, motion=amc(numbers)))


@pytest.mark.parametrize(
    ("skeleton", "motion", "message"),
    [
        (asf(angle="rad"), amc(), r"says :DEGREES, and .*7.asf says 'angle rad'"),
        (asf(), amc(stated=":RADIANS"), r"says :RADIANS, and .*7.asf says 'angle deg'"),
        (asf(angle="rad"), amc(stated=""), r"says 'angle rad', and .* has angles up to 39\.\d+: write 'angle deg'"),
        (asf(angle="rad").replace("axis 0 0 0", "axis 0 0 90"), amc(stated=""), r"says 'angle rad' and has an axis at 90"),
    ],
)
def test_angles_of_another_unit(tmp_path: Path, skeleton: str, motion: str, message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        read_acclaim(clip(tmp_path, skeleton, motion))


def test_radians_that_are_radians(tmp_path: Path) -> None:
    degrees = read_acclaim(clip(tmp_path))
    radians = read_acclaim(clip(tmp_path, asf(angle="rad"), amc(scale=np.pi / 180, stated=":RADIANS")))
    np.testing.assert_allclose(radians.points["left_ankle"], degrees.points["left_ankle"], atol=1e-4)


def test_more_values_than_degrees_of_freedom(tmp_path: Path) -> None:
    motion = amc().replace("lfemur ", "lfemur -4.5 ", 1)
    line = motion.splitlines().index(next(text for text in motion.splitlines() if text.startswith("lfemur"))) + 1
    with pytest.raises(CaptureError, match=rf"7_01.amc, line {line}: bone 'lfemur' has more values than the 1 that .*7.asf has"):
        read_acclaim(clip(tmp_path, motion=motion))
    with pytest.raises(CaptureError, match="bone 'ltibia' has more values than the 1"):
        read_acclaim(clip(tmp_path, motion=amc().replace("ltibia ", "ltibia 1.5 2.5 ")))


def bvh(folder: Path) -> Path:
    path = clip(folder)
    skeleton = read_asf(folder / "7.asf")
    save_bvh(skeleton, read_amc(path, skeleton), folder / "7.bvh")
    return folder / "7.bvh"


def cut_to(path: Path, share: float) -> Path:
    data = path.read_bytes()
    out = path.with_name(f"cut{path.suffix}")
    out.write_bytes(data[: round(len(data) * share)])
    return out


def made(kind: str, walker: ModuleType, folder: Path) -> Path:
    if kind == "trc":
        return trc(walker.Walker(seconds=5).record(), folder / "w.trc")
    if kind == "c3d":
        save_c3d(walker.Walker(seconds=5).record(), folder / "w.c3d")
        return folder / "w.c3d"
    return bvh(folder)


@pytest.mark.parametrize("share", [0.52, 0.7, 0.9])
@pytest.mark.parametrize("kind", ["trc", "c3d", "bvh"])
def test_a_file_that_is_cut_off_is_told(kind: str, share: float, walker: ModuleType, tmp_path: Path) -> None:
    path = made(kind, walker, tmp_path)
    whole, part = read_capture(path), read_capture(cut_to(path, share))
    assert "cut off" not in warned(whole)
    assert re.search(rf"states {len(whole)} frames and has {len(part)} whole ones: it is cut off", warned(part))
    assert len(part) == pytest.approx(share * len(whole), abs=0.12 * len(whole))
    for name, points in part.points.items():
        np.testing.assert_allclose(points, whole.points[name][: len(part)], atol=1e-3, err_msg=name)


@pytest.mark.parametrize("kind", ["trc", "c3d", "bvh", "amc"])
def test_wherever_a_file_is_cut_off(kind: str, walker: ModuleType, tmp_path: Path) -> None:
    """An error in the reader's own words, or a warning; never silence, and never the message of a library alone.

    But for an AMC that ends with a whole frame: it states no number of frames.
    """
    path = clip(tmp_path) if kind == "amc" else made(kind, walker, tmp_path)
    if kind == "amc":
        (tmp_path / "cut.asf").write_text((tmp_path / "7.asf").read_text())
    for share in (0.0, 0.002, 0.02, 0.05, 0.1, 0.3, 0.46, 0.6, 0.8, 0.97):
        cut = cut_to(path, share)
        try:
            said = warned(read_capture(cut, skeleton=tmp_path / "7.asf"))
        except CaptureError as error:
            said = str(error)
        assert re.search("get the whole file|cut off|no (TRC|AMC)|is no BVH|give at least", said), (share, said)


def test_no_rate_of_a_bvh(tmp_path: Path) -> None:
    path = bvh(tmp_path)
    path.write_text(re.sub(r"Frame Time: \S+", "Frame Time: 0.0", path.read_text()))
    with pytest.raises(CaptureError, match=r"states a Frame Time of 0.0 s: write the time"):
        read_bvh(path)


@pytest.mark.parametrize("frame_time", ["1", "120", "0.00001"])
def test_implausible_rate_of_a_bvh(tmp_path: Path, frame_time: str) -> None:
    path = bvh(tmp_path)
    path.write_text(re.sub(r"Frame Time: \S+", f"Frame Time: {frame_time}", path.read_text()))
    with pytest.raises(CaptureError, match=r"states \S+ frames a second, motion is captured at 10 to 2000: mend the rate"):
        read_bvh(path)


def test_implausible_rate_of_a_trc(walker: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="states 1 frames a second"):
        read_trc(trc(walker.Walker(seconds=3).record(), tmp_path / "w.trc", rate=1.0))


@pytest.mark.shared
def test_real_c3d_that_is_cut_off(data: Path, tmp_path: Path) -> None:
    path = data / "norms/wbds01/WBDS01walkT01.c3d"
    (tmp_path / "WBDS01walkT01.c3d").write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    whole, part = read_c3d(path), read_c3d(tmp_path / "WBDS01walkT01.c3d")
    assert "cut off" not in warned(whole)
    assert "it is cut off" in warned(part)
    assert 0.4 * len(whole) < len(part) < 0.6 * len(whole)
