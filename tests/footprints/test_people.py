"""Captured people as starts and targets: needs the reference data."""

from pathlib import Path

import numpy as np
import pytest

from sandbox.footprints.experiment import Trial, read_people, run
from sandbox.footprints.people import gait
from sandbox.mocap import CaptureError

DATA = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = [pytest.mark.shared, pytest.mark.skipif(not DATA.is_dir(), reason="no reference data")]


@pytest.fixture(scope="module")
def people():
    trials = [Trial("35", k, clip, None) for k, clip in ((1, "35_29"), (8, "35_02"))]
    return read_people(DATA, [*trials, Trial("35", 99, "35_99", None)])


def test_a_clip_becomes_a_symmetric_gait_of_the_captured_speed(people):
    found, failed = people
    walk = found[("35", 8)]
    assert walk.speed == pytest.approx(1.248, abs=0.02)
    assert walk.start.foot_off == pytest.approx(0.62, abs=0.02)
    assert np.degrees(walk.asymmetry) < 0.5
    assert len(failed) == 1  # a clip that is not there does not stop the others


def test_the_experiment_reaches_all_prints_and_keeps_what_it_has(people, tmp_path):
    found, failed = people
    result = run(found, failed, tmp_path)
    for case in result["cases"].values():
        assert case["to_0.001_m"][2] == case["targets"]
    assert result["cases"]["1 own prints"]["rms_deg"][1] <= 0.3
    assert (tmp_path / "experiment.json").is_file()
    assert len(result["not_read"]) == 1


def test_a_clip_without_walking_is_refused():
    with pytest.raises(CaptureError, match="give an AMC"):
        gait(DATA / "cmu" / "02" / "02_06.bvh")
