"""`sandbox measure`, `compare`, `naturalness` and `norms`: what they print, write and refuse."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sandbox import cli
from sandbox.recording import Recording

SHARED = Path(os.environ.get("SANDBOX_DATA", Path(__file__).parents[2] / "shared" / "data"))
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="no reference data")


@pytest.fixture(scope="module")
def walker() -> ModuleType:
    name = "known_walker"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / "measure" / "walker.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture
def walk(walker: ModuleType, tmp_path: Path) -> Path:
    path = tmp_path / "walk.npz"
    walker.Walker(seconds=10).record().save(path)
    return path


def refused(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    """One line on standard error, exit code 2."""
    assert cli.main(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_measure_prints_and_writes(walk: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["measure", str(walk), "--out", str(tmp_path / "out")]) == 0
    out = capfd.readouterr().out
    assert "events by contact" in out
    assert "mocap.cs.cmu.edu" in out
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"curves.csv", "strides.csv", "curves.png", "forces.png", "report.html", "summary.json"}
    assert (tmp_path / "out" / "report.html").stat().st_size < 10e6
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["gait"]["mean"]["cadence_spm"] == pytest.approx(105, rel=1e-3)


def test_json_alone_on_standard_output(walk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["measure", str(walk), "--detector", "force", "--json", "-"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert data["failed"] == {}
    assert data["files"][str(walk)]["gait"]["detector"] == "force"
    assert data["files"][str(walk)]["scores"]["name"] == "GPS-8"


def test_one_bad_file_does_not_stop_the_others(walk: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.trc").write_text("nothing")
    assert cli.main(["measure", str(tmp_path / "broken.trc"), str(walk), str(tmp_path / "none.npz"), "--out", str(tmp_path / "o")]) == 1
    out, err = capfd.readouterr()
    assert "no TRC" in err
    assert "none.npz: no such file" in err
    assert "2 of 3 files could not be measured" in out
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["walk"]


def test_several_files_are_taken_together(walker: ModuleType, walk: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every stride counts the same, however many there are in a file."""
    walker.Walker(seconds=30).record().save(tmp_path / "long.npz")
    files = [str(walk), str(tmp_path / "long.npz")]
    assert cli.main(["measure", *files, "--json", str(tmp_path / "m.json")]) == 0
    out = capfd.readouterr().out
    data = json.loads((tmp_path / "m.json").read_text())
    counts = [data["files"][file]["gait"]["strides"] for file in files]
    assert f"together: {sum(counts)} straight strides of 2 files; events by contact" in out
    means = [data["files"][file]["gait"]["mean"]["cadence_spm"] for file in files]
    assert data["pooled"]["strides"] == sum(counts)
    assert data["pooled"]["mean"]["cadence_spm"] == pytest.approx(np.average(means, weights=counts))
    assert cli.main(["measure", files[0], "--json", "-"]) == 0
    assert json.loads(capfd.readouterr().out)["pooled"] is None


@pytest.mark.shared
@needs_data
def test_files_by_different_detectors_are_not_taken_together(walk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["measure", str(walk), str(SHARED / "cmu/16/16_15.amc")]) == 0
    assert "not taken together: events by contact and height cannot be pooled: use one detector" in capfd.readouterr().out


def test_bad_input(walk: Path, walker: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in refused(["measure", str(tmp_path / "none.npz")], capfd)
    assert "a.fbx: no such file" in refused(["measure", str(tmp_path / "a.fbx")], capfd)
    (tmp_path / "b.fbx").write_text("x")
    assert "is not a recording" in refused(["measure", str(tmp_path / "b.fbx")], capfd)
    (tmp_path / "folder").mkdir()
    for name in ("our.mot", "our.glb", "our.sto", "folder"):
        if name != "folder":
            (tmp_path / name).write_text("x")
        said = refused(["measure", str(tmp_path / name)], capfd)
        assert "give" in said
        assert all(ending in said for ending in (".npz", ".amc", ".bvh", ".c3d", ".trc")), said
    assert "is outside 0 to 10" in refused(["measure", str(walk), "--belt-speed", "50"], capfd)
    points = {name: walker.Walker(seconds=3).record().columns[name] for name in ("time", "points")}
    bare = Recording(walker.Walker(seconds=3).record().header | {"plant": "capture", "joint_names": []}, points)
    bare.save(tmp_path / "bare.npz")
    assert "need a ground force" in refused(["measure", str(tmp_path / "bare.npz"), "--detector", "force"], capfd)
    short = Recording(bare.header, {k: v[:2] for k, v in points.items()})
    short.save(tmp_path / "short.npz")
    assert "holds 2 rows" in refused(["measure", str(tmp_path / "short.npz")], capfd)
    assert "'stilts' is not one of" in refused(["compare", "--stance", "stilts"], capfd)
    assert "'moon' is not one of" in refused(["compare", "--plant", "moon"], capfd)
    assert "leave --params and --set away" in refused(["naturalness", "--rebase", "--set", "com_height=0.96"], capfd)
    assert "no clips.csv" in refused(["norms", "--data", str(tmp_path)], capfd)


def test_standing_is_named(walker: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    still = walker.Walker(seconds=3).record()
    columns = {"time": still.time, "points": np.broadcast_to(still.points[:1], still.points.shape).copy()}
    Recording(still.header | {"plant": "capture", "joint_names": []}, columns).save(tmp_path / "still.npz")
    assert cli.main(["measure", str(tmp_path / "still.npz"), "--out", str(tmp_path / "o")]) == 0
    out, err = capfd.readouterr()
    assert "0 straight strides" in out
    assert "no stride was found: the body moves 0.00 m/s on average, it stands" in err
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["summary.json"]


@pytest.mark.shared
@needs_data
def test_motion_capture(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    clip = SHARED / "cmu/16/16_17.amc"
    text = clip.read_text()
    (tmp_path / "16_17.amc").write_text(text[: len(text) - 300])
    assert cli.main(["measure", str(tmp_path / "16_17.amc"), "--skeleton", str(SHARED / "cmu/16/16.asf")]) == 0
    out, err = capfd.readouterr()
    assert "is cut off within frame" in err
    assert "angle [deg]" in out
    assert cli.main(["measure", str(SHARED / "norms/wbds01/WBDS01walkT01.c3d")]) == 0
    out, err = capfd.readouterr()
    assert "give --belt-speed" in err
    assert "events by force" in out
    assert "froude" not in out


@pytest.mark.shared
@needs_data
def test_norms_are_rebuilt_as_committed(tmp_path: Path) -> None:
    assert cli.main(["norms", "--data", str(SHARED), "--out", str(tmp_path)]) == 0
    committed = Path(__file__).parents[1] / "sandbox" / "measure" / "data"
    for name in ("people_cmu.json", "norms.json"):
        ours, theirs = (json.loads((folder / name).read_text()) for folder in (tmp_path, committed))
        assert ours.keys() == theirs.keys()
    for a, b in zip(*(json.loads((f / "people_cmu.json").read_text())["bins"] for f in (tmp_path, committed)), strict=True):
        assert (a["strides"], a["subjects"]) == (b["strides"], b["subjects"])
        for name, curve in a["curves"].items():
            np.testing.assert_allclose(curve["mean"], b["curves"][name]["mean"], atol=0.02, err_msg=name)


def test_norms_names_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["norms"]) == 0
    out = capsys.readouterr().out
    assert "CC BY-SA 4.0" in out
    assert "CC BY 4.0" in out
    assert "NSF EIA-0196217" in out


def test_compare_writes_a_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "--speed", "0.8", "--stance", "kinematic", "klaw", "--plant", "kinematic", "--seconds", "6"]
    assert cli.main([*arguments, "--out", str(tmp_path), "--json", "-"]) == 0
    out, err = capfd.readouterr()
    data = json.loads(out)
    assert list(data["walks"]) == ["kinematic stance, kinematic", "klaw stance, kinematic"]
    assert data["missing"] == []
    assert "klaw stance, kinematic" in err
    assert {path.name for path in tmp_path.iterdir()} == {"compare.md", "compare.json", "report.html"}
    page = (tmp_path / "report.html").read_text()
    assert len(page) < 10e6
    assert "klaw stance, kinematic" in page
