"""Acclaim files: every one of the reference data against an independent reader, and files that are damaged."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sandbox.mocap.asf import Motion, pose, read_amc, read_asf
from sandbox.mocap.errors import CaptureError

SHARED = Path(os.environ.get("SANDBOX_DATA", Path(__file__).parents[3] / "shared" / "data"))
AMC = sorted((SHARED / "cmu").glob("*/*.amc")) if SHARED.is_dir() else []

# Two bones; the second one's axes turn in another order than xyz, and its degrees of freedom come in a third.
ASF = """:version 1.10
:units
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name thigh
    direction 0 -2 0
    length 4.5
    axis 0 0 0 XYZ
    dof rx
  end
  begin
    id 2
    name shank
    direction 0 -1 0
    length 9
    axis 90 0 0 ZXY
    dof ry rz
  end
:hierarchy
  begin
    root thigh
    thigh shank
  end
"""


def write(folder: Path, amc: str, asf: str = ASF) -> tuple[Path, Path]:
    (folder / "a.asf").write_text(asf)
    (folder / "a_01.amc").write_text(f"#!OML:ASF\n:FULLY-SPECIFIED\n:DEGREES\n{amc}")
    return folder / "a.asf", folder / "a_01.amc"


FRAME = "{}\nroot 0 10 0 0 0 0\nthigh {}\nshank {} {}\n"


def test_axes_and_units(tmp_path: Path) -> None:
    asf, amc = write(tmp_path, FRAME.format(1, 0, 0, 0) + FRAME.format(2, -90, 0, 0))
    skeleton = read_asf(asf)
    motion = read_amc(amc, skeleton)
    ends = pose(skeleton, motion).ends
    inch = 0.0254 / 0.45
    np.testing.assert_allclose(ends["root"], [[0, 0, 10 * inch]] * 2)
    np.testing.assert_allclose(ends["thigh"][0], [0, 0, 5.5 * inch], atol=1e-12)
    # -90 degrees about Acclaim's +X swing a hanging leg to +Z: forward here.
    np.testing.assert_allclose(ends["shank"][1], [0, 13.5 * inch, 10 * inch], atol=1e-12)
    assert skeleton.length("thigh") == pytest.approx(4.5 * inch)


def test_order_of_axes_and_degrees_of_freedom(tmp_path: Path) -> None:
    # The shank's own y is the global -x, since its frame is turned by 90 degrees about z. With "ZXY" z turns before y.
    asf, amc = write(tmp_path, FRAME.format(1, 0, 90, 90))
    skeleton = read_asf(asf)
    found = pose(skeleton, read_amc(amc, skeleton))
    start, end = found.ends["thigh"][0], found.ends["shank"][0]
    # In Acclaim's axes: -y, by 90 degrees about z, becomes +x, which the turn about -x keeps; +x is our left.
    np.testing.assert_allclose(end - start, [-9 * 0.0254 / 0.45, 0, 0], atol=1e-12)


def test_a_last_frame_that_is_cut_off_is_left_out(tmp_path: Path) -> None:
    asf, amc = write(tmp_path, FRAME.format(1, 0, 0, 0) + FRAME.format(2, 0, 0, 0) + "3\nroot 0 10 0 0 0")
    motion = read_amc(amc, read_asf(asf))
    assert motion.frames.tolist() == [1, 2]
    assert motion.warnings == ("a_01.amc is cut off within frame 3: 2 whole frames are used",)


def test_a_frame_of_nan_is_a_gap_and_no_fault_of_the_reader(tmp_path: Path) -> None:
    asf, amc = write(tmp_path, FRAME.format(1, 0, 0, 0) + FRAME.format(2, "nan", 0, 0))
    skeleton = read_asf(asf)
    ends = pose(skeleton, read_amc(amc, skeleton)).ends
    assert np.isfinite(ends["shank"][0]).all()
    assert np.isnan(ends["shank"][1]).all()


@pytest.mark.parametrize(
    ("amc", "message"),
    [
        ("", "no frame number"),
        ("1\nroot 0 10 0", "gives bone 'root' 3 values where .* has 6"),
        ("1\nroot 0 1 0 0 0 0\ntail 3\n", "moves bone 'tail'.*skeleton of this subject"),
        ("1\nroot 0 1 0 0 0 0\nthigh 3\n2\nroot 0 1 0 0 0 0\nthigh 3\n", "does not move shank"),
        (FRAME.format(1, 0, 0, 0) + "2\nroot 0 10 0 0 0 0\nshank 1 1\nthigh 0\n", "damaged after frame 1"),
        (FRAME.format(1, "x", 0, 0), "gives bone 'thigh' 0 values"),
    ],
)
def test_damaged_motions(tmp_path: Path, amc: str, message: str) -> None:
    asf, path = write(tmp_path, amc)
    with pytest.raises(CaptureError, match=message):
        read_amc(path, read_asf(asf))


def test_damaged_skeletons(tmp_path: Path) -> None:
    (tmp_path / "b.asf").write_text("hello")
    with pytest.raises(CaptureError, match="no ASF skeleton"):
        read_asf(tmp_path / "b.asf")
    (tmp_path / "b.asf").write_text(ASF.replace("dof ry rz", "dof ry tz"))
    with pytest.raises(CaptureError, match="only rotations"):
        read_asf(tmp_path / "b.asf")
    (tmp_path / "b.asf").write_text(ASF.replace("length 4.5", ""))
    with pytest.raises(CaptureError, match="no 'length'"):
        read_asf(tmp_path / "b.asf")
    with pytest.raises(CaptureError, match="no such file"):
        read_asf(tmp_path / "c.asf")


def reference_reader() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_amc", SHARED / "tools" / "amc.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.shared
@pytest.mark.skipif(not AMC, reason="no reference data")
@pytest.mark.parametrize("path", AMC, ids=lambda path: path.stem)
def test_every_clip_agrees_with_an_independent_reader(path: Path) -> None:
    theirs = reference_reader()
    asf = path.with_name(f"{path.parent.name}.asf")
    _, channels = theirs.read_amc(str(path))
    ends, rotations, _ = theirs.fk(theirs.read_asf(str(asf)), channels)
    skeleton = read_asf(asf)
    motion = read_amc(path, skeleton)
    assert isinstance(motion, Motion)
    found = pose(skeleton, motion)
    assert found.ends.keys() == ends.keys()
    for name, end in ends.items():
        np.testing.assert_allclose(found.ends[name], end[:, [0, 2, 1]] * [-1, 1, 1], atol=1e-6)
        axes = np.array([[-1, 0, 0], [0, 0, 1], [0, 1, 0]])
        np.testing.assert_allclose(found.rotations[name], axes @ rotations[name] @ axes.T, atol=1e-9)
