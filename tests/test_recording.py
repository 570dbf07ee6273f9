"""Recordings: what goes in comes out, the file is whole or absent, other files are refused in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sandbox.recording import COLUMNS, FORMAT_VERSION, Extras, Recorder, Recording, RecordingError, make_header
from sandbox.state import BodyState, ContactEvent, ContactState, SolePart

JOINTS = [f"joint_{i}" for i in range(27)]
POINTS = [f"point_{i}" for i in range(21)]


def header() -> dict[str, Any]:
    return make_header(
        plant="bullet",
        stance="compliant",
        scene="walk",
        body={"mass_kg": 70.0, "height_m": 1.74, "sex": "mean", "leg_m": 0.91},
        command={"speed_mps": 1.0, "heading_rate_rps": 0.0},
        seed=3,
        joint_names=JOINTS,
        point_names=POINTS,
        body_names=["pelvis", "thorax"],
        joint_max_torque=[100.0] * 27,
    )


def state_and_extras(i: int) -> tuple[BodyState, Extras]:
    rng = np.random.default_rng(i)
    state = BodyState(27, time=(i + 1) / 120)
    state.q[:], state.qd[:], state.tau[:] = rng.normal(size=(3, 27))
    state.root_position[:] = rng.normal(size=3)
    state.sole_force[0] = rng.uniform(0, 100, size=(3, 3))
    state.pressure[:] = rng.normal(size=(2, 3))
    state.contact[:] = (ContactState.FLAT, ContactState.AIRBORNE)
    extras = Extras(rng.normal(size=(21, 3)), *rng.normal(size=(3, 3)), (1.0, 0.1), 0.1 * i)
    return state, extras


def filled(rows: int, room: int = 4) -> Recorder:
    recorder = Recorder(header(), rows=room)
    for i in range(rows):
        recorder.append(*state_and_extras(i))
    return recorder


def test_rows_are_copied_and_survive_growth() -> None:
    recording = filled(11).finish()
    assert len(recording) == 11
    for i in range(11):
        state, extras = state_and_extras(i)
        assert recording.time[i] == state.time
        np.testing.assert_array_equal(recording.q[i], state.q)
        np.testing.assert_array_equal(recording.points[i], extras.points)
        np.testing.assert_allclose(recording.ground_force[i], state.sole_force.sum(axis=1))
        np.testing.assert_array_equal(recording.sole_load[i], state.sole_force[:, :, 2])
        np.testing.assert_array_equal(recording.command[i], extras.command)
    assert recording.interval == pytest.approx(1 / 120)
    assert np.isfinite(recording.centre_of_pressure[:, 0]).all()
    assert np.isnan(recording.centre_of_pressure[:, 1]).all(), "an unloaded foot has no centre of pressure"


def test_columns_have_the_documented_shape_and_type() -> None:
    recorder = filled(5)
    recorder.foothold(0.1, 1, (0.1, 0.5, 0.0), 0.05)
    recorder.push(0.2, 0.2, (0.0, 50.0, 0.0), "thorax")
    recording = recorder.finish()
    sizes = {"T": 5, "N": 27, "P": 21, "E": 0, "K": 1, "U": 1}
    assert list(recording.columns) == list(COLUMNS)
    for name, column in COLUMNS.items():
        words = [word.strip() for word in column.shape.strip("()").split(",") if word.strip()]
        expected = tuple(sizes[word] if word in sizes else int(word) for word in words)
        assert recording.columns[name].shape == expected, name
        assert recording.columns[name].dtype == np.dtype(column.dtype), name
    assert recording.header["units"] == {name: column.unit for name, column in COLUMNS.items()}
    assert recording.push_body.tolist() == [1]


def test_events_are_kept_with_the_moment_they_happened() -> None:
    recorder = filled(1)
    state, extras = state_and_extras(1)
    state.events = [
        ContactEvent(0.0125, 1, True, SolePart.HEEL, 210.0, 0.02),
        ContactEvent(0.015, 0, False, SolePart.TOE, 12.0, float("nan")),
    ]
    recorder.append(state, extras)
    recording = recorder.finish()
    assert recording.event_time.tolist() == [0.0125, 0.015]
    assert recording.event_foot.tolist() == [1, 0]
    assert recording.event_touchdown.tolist() == [True, False]
    assert recording.event_part.tolist() == [0, 2]
    assert recording.event_force.tolist() == [210.0, 12.0]
    assert np.isnan(recording.event_predicted[1])


def test_saving_and_loading_changes_nothing(tmp_path: Path) -> None:
    recording = filled(9).finish(fall={"fell": True, "time_s": 0.05, "cause": "knee touched the ground"})
    recording.save(tmp_path / "walk.npz")
    loaded = Recording.load(tmp_path / "walk.npz")
    assert loaded.header == recording.header
    for name in COLUMNS:
        np.testing.assert_array_equal(loaded.columns[name], recording.columns[name])
        assert loaded.columns[name].dtype == recording.columns[name].dtype
    assert [p.name for p in tmp_path.iterdir()] == ["walk.npz"]
    again = tmp_path / "again.npz"
    loaded.save(again)
    assert again.read_bytes() == (tmp_path / "walk.npz").read_bytes(), "equal recordings are equal files"


def test_a_file_reads_with_numpy_alone(tmp_path: Path) -> None:
    filled(2).finish().save(tmp_path / "walk.npz")
    code = (
        "import json, sys, numpy as np\n"
        "f = np.load(sys.argv[1], allow_pickle=False)\n"
        "h = json.loads(f['header'].item())\n"
        "assert h['body']['mass_kg'] == 70 and f['points'].shape == (2, 21, 3)\n"
        "assert not any(m == 'sandbox' or m.startswith('sandbox.') for m in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "walk.npz")], check=True)


def test_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "walk.npz"
    filled(2).finish().save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="cannot hold"):
        filled(2).finish(settings={"when": object()}).save(path)
    broken = filled(2).finish()
    broken.columns["q"] = np.array([object()])  # would need pickle
    with pytest.raises(ValueError, match="pickle"):
        broken.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["walk.npz"]
    with pytest.raises(FileNotFoundError):
        filled(2).finish().save(tmp_path / "nowhere" / "walk.npz")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 not a zip", json.dumps({"format": "x"}).encode()])
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match="is not a recording") as caught:
        Recording.load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_other_npz_files_pickles_and_versions_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(RecordingError, match="is not a recording"):
        Recording.load(tmp_path / "other.npz")
    np.savez(tmp_path / "pickle.npz", header=np.array([object()]))
    with pytest.raises(RecordingError, match="is not a recording"):
        Recording.load(tmp_path / "pickle.npz")
    filled(2).finish(format_version=FORMAT_VERSION + 1).save(tmp_path / "later.npz")
    with pytest.raises(RecordingError, match=f"format version {FORMAT_VERSION + 1}"):
        Recording.load(tmp_path / "later.npz")
    damaged = filled(3).finish()
    damaged.columns["q"] = damaged.q[:2]
    damaged.save(tmp_path / "damaged.npz")
    with pytest.raises(RecordingError, match="'q' is not as long as 'time'"):
        Recording.load(tmp_path / "damaged.npz")
    with pytest.raises(FileNotFoundError):
        Recording.load(tmp_path / "none.npz")


@pytest.mark.parametrize(("column", "said"), [("points", "'points' holds NaN"), ("com", "'com' holds NaN"), ("time", "forward")])
def test_values_that_no_simulation_gives_are_refused(tmp_path: Path, column: str, said: str) -> None:
    damaged = filled(3).finish()
    values = damaged.columns[column].copy()
    if column == "time":
        values = values[::-1]
    else:
        values[1] = np.nan
    damaged.columns[column] = values
    damaged.save(tmp_path / "damaged.npz")
    with pytest.raises(RecordingError, match=said):
        Recording.load(tmp_path / "damaged.npz")


def test_unknown_names_are_named() -> None:
    recording = filled(2).finish()
    with pytest.raises(AttributeError, match="sped"):
        _ = recording.sped
    with pytest.raises(KeyError, match="left_toe"):
        recording.point("left_toe")
    with pytest.raises(KeyError, match="pelvsi"):
        filled(1).push(0.0, 0.1, (0, 0, 0), "pelvsi")


def test_an_empty_recording_can_be_finished_and_saved(tmp_path: Path) -> None:
    recording = Recorder(header()).finish()
    recording.save(tmp_path / "empty.npz")
    assert len(Recording.load(tmp_path / "empty.npz")) == 0
    assert recording.duration == 0.0


def test_a_row_costs_little() -> None:
    recorder = Recorder(header())
    state, extras = state_and_extras(0)
    best = min(_time_of_rows(recorder, state, extras) for _ in range(10))
    assert best < 15e-6, f"{best * 1e6:.1f} us a row"


def _time_of_rows(recorder: Recorder, state: BodyState, extras: Extras, rows: int = 300) -> float:
    start = time.process_time()
    for _ in range(rows):
        recorder.append(state, extras)
    return (time.process_time() - start) / rows
