"""Our events and angles on motion capture, beside an independent analysis of the same clips.

Needs the reference data (CMU motion capture database, mocap.cs.cmu.edu) and its tools.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sandbox.measure import cycle_curves, cycles, leg_angles, young_adults, zeni_events
from sandbox.measure.gait import mean
from sandbox.measure.signals import facing, lowpass
from sandbox.measure.steps import placements, steps
from sandbox.recording import Recording

SHARED = Path(os.environ.get("SANDBOX_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = [pytest.mark.shared, pytest.mark.skipif(not SHARED.is_dir(), reason="no reference data")]

# Names of the points: joints of the capture's skeleton, each at the far end of that bone.
BONES = {"hip": "hipjoint", "knee": "femur", "ankle": "tibia", "toe_base": "foot", "toe_tip": "toes"}
WALKS = {
    "35": ["01", "02", "05", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "28", "29", "30", "31", "32", "33", "34"],
    "16": ["15", "16", "21", "22", "31", "32", "47", "58"],
}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The independent analysis."""
    folder = SHARED / "tools"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("reference_gait", folder / "gait.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def as_recording(tool: ModuleType, pos: dict[str, Any], leg: float) -> Recording:
    """Points of the capture in our axes: its Y is up."""
    paths = {}
    for side in ("left", "right"):
        for name, bone in BONES.items():
            paths[f"{side}_{name}"] = pos[side[0] + bone]
    paths["mid_hip"] = (paths["left_hip"] + paths["right_hip"]) / 2
    points = np.stack([lowpass(path[:, [0, 2, 1]] * np.array([1.0, -1.0, 1.0]), 10.0, 120.0) for path in paths.values()], axis=1)
    header = {"point_names": list(paths), "body": {"leg_m": leg, "mass_kg": 70.0, "height_m": 1.74}}
    return Recording(header, {"time": np.arange(len(points)) / 120, "points": points})


def strides_of(tool: ModuleType, subject: str) -> list[dict[str, Any]]:
    """Every stride that both analyses found, with the figures of both."""
    folder = SHARED / "cmu" / subject
    asf = tool.read_asf(str(folder / f"{subject}.asf"))
    out = []
    for trial in WALKS[subject]:
        pos, rotations, femur_tibia, frames, _ = tool.load(str(folder / f"{subject}_{trial}.amc"), asf)
        theirs = tool.analyse(pos, rotations, femur_tibia, frames)
        recording = as_recording(tool, pos, theirs["L"])
        events = zeni_events(recording)
        angles = leg_angles(recording)
        moves = steps(placements(recording, events), recording.time, facing(recording))
        for ours in cycles(events):
            for other in theirs["cyc"]:
                if other["side"] == "lr"[ours.foot] and abs(other["a"] / 120 - ours.start) < 0.03:
                    curves = {n: np.degrees(cycle_curves(recording.time, getattr(angles, n), [ours])[0]) for n in ("hip", "knee", "ankle")}
                    out.append({"ours": ours, "theirs": other, "curves": curves, "leg": theirs["L"], "stride": mean(moves.stride)})
    return out


@pytest.mark.parametrize(("subject", "cadence", "stride_leg"), [("35", 104.9, 1.502), ("16", 109.8, 1.565)])
def test_strides_agree_with_the_independent_analysis(tool: ModuleType, subject: str, cadence: float, stride_leg: float) -> None:
    found = strides_of(tool, subject)
    assert len(found) > 15
    ours, theirs = [f["ours"] for f in found], [f["theirs"] for f in found]
    np.testing.assert_allclose([c.time for c in ours], [c["stride_time"] for c in theirs], atol=0.02)
    assert np.mean([c.stance_fraction for c in ours]) == pytest.approx(np.mean([c["stance"] for c in theirs]), abs=0.005)
    assert np.mean([c.stance_fraction for c in ours]) == pytest.approx(0.667, abs=0.01)
    assert np.mean([c.double_support_fraction for c in ours]) == pytest.approx(np.mean([c["ds"] for c in theirs]), abs=0.01)
    strides = [f["stride"] / f["leg"] for f in found if f["stride"] > 0]  # a short clip may have no complete stance twice
    assert np.mean(strides) == pytest.approx(np.mean([c["SLn"] for c in theirs]), rel=0.01)
    # As the reference data state them for the straight walks of the subject.
    assert 120 / np.mean([c.time for c in ours]) == pytest.approx(cadence, rel=0.02)
    assert np.mean(strides) == pytest.approx(stride_leg, rel=0.02)


def test_angles_agree_with_the_independent_analysis(tool: ModuleType) -> None:
    found = strides_of(tool, "35")
    norm = young_adults()
    for name, correlation in (("hip", 0.97), ("knee", 0.93), ("ankle", 0.8)):
        mine = np.mean([f["curves"][name] for f in found], axis=0)
        their = np.mean([f["theirs"]["cv"][name] for f in found], axis=0)
        # Their curves begin at contact, ours at Zeni's heel strike 3-4 % earlier.
        shifts = [np.corrcoef(np.roll(mine[:-1], -k), their[:-1])[0, 1] for k in range(8)]
        assert max(shifts) > (0.98 if name == "ankle" else 0.995), name  # their foot ends at the toe tip
        assert 2 <= int(np.argmax(shifts)) <= 6, name
        assert np.ptp(mine) == pytest.approx(np.ptp(their), rel=0.1 if name == "ankle" else 0.05), name
        if name != "ankle":
            assert mine.mean() == pytest.approx(their.mean(), abs=1.0), name
        assert np.corrcoef(their, getattr(norm, name).mean_deg)[0, 1] > correlation, name
