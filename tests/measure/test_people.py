"""Analysis of any recording, comparison with people, and the figures that the reference data state."""

from __future__ import annotations

import csv
import os
from functools import cache
from itertools import combinations
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sandbox.measure.analysis import Analysis, GaitError, pooled
from sandbox.measure.curves import CURVES, inventory
from sandbox.measure.events import EventError, detect, same_detector
from sandbox.measure.people import (
    GPS_CURVES,
    ProfileScore,
    adult_band,
    children_band,
    cmu_band,
    compare_people,
    difference,
    people_scalar,
    person_curve,
    profile_score,
    scores,
)
from sandbox.measure.turns import turns
from sandbox.mocap import read_capture
from sandbox.recording import Recording

SHARED = Path(os.environ.get("SANDBOX_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="no reference data")


@cache
def subject(name: str, detector: str) -> list[Analysis]:
    """Every walking clip of a subject."""
    with (SHARED / "clips.csv").open(newline="") as file:
        clips = [SHARED / row["file"] for row in csv.DictReader(file) if row["kind"] == "walk" and row["file"].startswith(f"cmu/{name}/")]
    return [Analysis.of(read_capture(clip).recording(), detector) for clip in clips]  # type: ignore[arg-type]


# -- figures that the reference data state -----------------------------------------------------------------------------------


@pytest.mark.shared
@needs_data
@pytest.mark.parametrize(
    ("name", "strides", "speed", "cadence", "stride", "stance", "double", "zeni", "clearance"),
    [
        ("35", 66, 1.214, 104.9, 1.502, 0.617, 0.232, 0.668, 0.034),
        ("16", 29, 1.287, 109.8, 1.565, 0.617, 0.232, 0.666, 0.036),
    ],
)
def test_figures_of_the_reference_data(
    name: str, strides: int, speed: float, cadence: float, stride: float, stance: float, double: float, zeni: float, clearance: float
) -> None:
    contact, by_zeni = pooled(subject(name, "height")), pooled(subject(name, "zeni"))
    assert len(by_zeni["speed_mps"]) == pytest.approx(strides, rel=0.02)
    for found in (contact, by_zeni):
        mean = {key: float(np.mean(found[key])) for key in ("speed_mps", "cadence_spm", "stride_leg", "toe_clearance_leg")}
        assert mean["speed_mps"] == pytest.approx(speed, rel=0.02)
        assert mean["cadence_spm"] == pytest.approx(cadence, rel=0.02)
        assert mean["stride_leg"] == pytest.approx(stride, rel=0.02)
        assert mean["toe_clearance_leg"] == pytest.approx(clearance, rel=0.02)
    assert np.mean(contact["stance_fraction"]) == pytest.approx(stance, abs=0.01)
    assert np.mean(contact["double_support_fraction"]) == pytest.approx(double, abs=0.01)
    assert np.mean(by_zeni["stance_fraction"]) == pytest.approx(zeni, abs=0.01)


@pytest.mark.shared
@needs_data
@pytest.mark.parametrize("belt", [None, 0.49])
def test_cadence_on_a_treadmill(belt: float | None) -> None:
    analysis = Analysis.of(read_capture(SHARED / "norms/wbds01/WBDS01walkT01.c3d", belt_speed=belt).recording())
    assert analysis.mean("cadence_spm") == pytest.approx(67.8, rel=0.01)
    if belt is None:
        assert analysis.detector == "force"
        assert analysis.figures["mean"]["speed_mps"] is None
        assert any("belt of unknown speed" in warning for warning in analysis.warnings)
        with pytest.raises(EventError, match="give --belt-speed"):
            detect(analysis.recording, "contact")
    else:
        assert analysis.mean("speed_mps") == pytest.approx(belt, rel=0.02)


@pytest.mark.shared
@needs_data
def test_a_wrong_belt_speed_is_named() -> None:
    analysis = Analysis.of(read_capture(SHARED / "norms/wbds01/WBDS01walkT01.c3d", belt_speed=1.2).recording())
    assert any("is the belt's speed of 1.2 m/s right?" in warning for warning in analysis.warnings)


@pytest.mark.shared
@needs_data
def test_turns_of_people() -> None:
    recording = read_capture(SHARED / "cmu/16/16_17.amc").recording()
    (quarter,) = turns(recording)
    apart = Analysis.of(recording)
    assert len(apart.turning) > len(apart.straight)
    assert abs(apart.figures["turning_mean"]["turn_deg"]) > 12
    assert quarter.angle_deg == pytest.approx(90, abs=5)
    assert quarter.duration_s == pytest.approx(0.5, abs=0.1)
    assert quarter.least_speed_mps == pytest.approx(0.57, abs=0.1)
    found = [turn for clip in ("01", "02", "13", "17") for turn in turns(read_capture(SHARED / f"cmu/91/91_{clip}.amc").recording())]
    about = [turn for turn in found if abs(turn.angle_deg) > 150]
    assert len(about) == 7
    assert all(0.7 < turn.duration_s < 2.0 for turn in about)
    assert all(2 <= turn.steps <= 5 for turn in about)
    assert not turns(read_capture(SHARED / "cmu/35/35_01.amc").recording())


@pytest.mark.shared
@needs_data
def test_two_people_differ_and_one_person_resembles_herself() -> None:
    def side(analyses: list[Analysis]) -> dict[str, np.ndarray]:
        found = pooled(analyses)
        return {name: found[name].mean(axis=0) for name in GPS_CURVES}

    people = {name: subject(name, "height") for name in ("02", "06", "16", "32", "35")}
    curves = {name: side(analyses) for name, analyses in people.items()}
    between = [profile_score(curves[a], curves[a], curves[b]) for a, b in combinations(people, 2)]
    assert {score.name for score in between} == {"GPS"}
    # What healthy people differ by; 35 and 16 are a pair of a kind, with 1.8.
    assert 4.0 < np.median([score.value for score in between]) < 7.0
    for name in ("16", "35"):
        within = profile_score(side(people[name][::2]), side(people[name][::2]), side(people[name][1::2]))
        assert within.name == "GPS"
        assert within.value < 1.3
        assert within.value < min(score.value for score in between)


# -- a walker whose figures are known ----------------------------------------------------------------------------------------


def captured(recording: Recording) -> Recording:
    """The same seen as motion capture: points and nothing else."""
    header = recording.header | {"plant": "capture", "joint_names": []}
    return Recording(header, {name: recording.columns[name] for name in ("time", "points")})


def test_figures_of_a_known_walk(walker: ModuleType) -> None:
    w = walker.Walker(seconds=20)
    analysis = Analysis.of(w.record())
    leg = walker.LEG
    assert analysis.detector == "contact"
    assert analysis.mean("speed_mps") == pytest.approx(w.speed, rel=1e-3)
    assert analysis.mean("cadence_spm") == pytest.approx(w.cadence, rel=1e-3)
    assert analysis.mean("stride_leg") == pytest.approx(2 * w.step_length / leg, rel=1e-3)
    assert analysis.mean("step_m") == pytest.approx(w.step_length, rel=0.01)
    assert analysis.mean("step_width_m") == pytest.approx(w.width, abs=0.002)
    assert analysis.mean("stance_fraction") == pytest.approx(w.stance, abs=0.002)
    assert analysis.mean("double_support_fraction") == pytest.approx(2 * w.stance - 1, abs=0.004)
    assert analysis.mean("flight_fraction") == 0
    assert analysis.asymmetry("step_m") < 1.5
    assert analysis.sd("cadence_spm") < 0.1
    assert not analysis.turning
    assert not analysis.warnings


@pytest.mark.parametrize("heading", [0.0, 0.7, -2.5])
def test_capture_of_the_same_walk_gives_the_same(walker: ModuleType, heading: float) -> None:
    recording = walker.Walker(seconds=20, heading=heading).record()
    ours, theirs = Analysis.of(recording), Analysis.of(captured(recording))
    assert theirs.gait.events.source == "height"
    assert ours.by_height is not None
    assert same_detector(ours.by_height.gait.events, theirs.gait.events) == "height"
    assert theirs.mean("cadence_spm") == pytest.approx(ours.mean("cadence_spm"), rel=0.01)
    assert theirs.mean("stance_fraction") == pytest.approx(ours.mean("stance_fraction"), abs=0.03)
    for name in ("thigh", "knee", "pelvis_rotation", "upper_arm", "shoulder_rotation"):
        gap = difference(theirs.mean_curves[name], ours.mean_curves[name])
        # Foot height and speed see the touchdown of this walker 2 % later: it is placed with a heel that hardly moves.
        assert gap.rms < 4.0, name
        assert gap.correlation > 0.97, name


def test_curves_do_not_depend_on_heading(walker: ModuleType) -> None:
    a, b = (Analysis.of(walker.Walker(seconds=10, heading=h).record()).mean_curves for h in (0.0, 1.9))
    assert a.keys() == b.keys()
    assert a.keys() <= CURVES.keys()
    for name, curve in a.items():
        np.testing.assert_allclose(curve, b[name], atol=0.02 if CURVES[name].unit == "deg" else 1e-4, err_msg=name)


def test_signs_of_curves(walker: ModuleType) -> None:
    curves = Analysis.of(walker.Walker(seconds=10).record()).mean_curves
    assert curves["thigh"][0] > 10  # ahead at foot strike
    assert curves["thigh"][50] < -3
    assert 30 < curves["knee"].max() < 90
    assert curves["foot_pitch"][0] == pytest.approx(np.degrees(0.35), abs=3)  # toes up
    assert curves["foot_pitch"][62] < -30
    assert curves["upper_arm"][0] < 0 < curves["upper_arm"][50]  # back with the leg ahead
    assert curves["upper_arm_frontal"].mean() > 0
    assert curves["ankle_ahead"][0] > 0.2
    # the hips turn by 0.06 rad x cos: the right one is forward at its own touchdown, half a stride later
    assert abs(curves["pelvis_rotation"]).max() == pytest.approx(np.degrees(0.06), rel=0.05)


def test_mixed_detectors_are_refused(walker: ModuleType) -> None:
    recording = walker.Walker(seconds=10).record()
    contact, zeni = Analysis.of(recording, "contact"), Analysis.of(recording, "zeni")
    with pytest.raises(EventError, match="zeni, which comes 3-4 %"):
        scores(zeni)
    with pytest.raises(EventError, match="contact and zeni cannot be compared"):
        same_detector(contact.gait.events, zeni.gait.events)
    with pytest.raises(EventError, match="cannot be pooled"):
        pooled([contact, zeni])
    with pytest.raises(EventError, match="cannot be compared"):
        compare_people(contact, zeni)
    offsets = contact.offsets
    assert offsets.keys() == {"force", "height", "zeni"}
    assert abs(offsets["height"]["touchdown"]) < 50  # type: ignore[arg-type]
    assert abs(offsets["force"]["touchdown"]) < 15  # type: ignore[arg-type]
    assert Analysis.of(recording, "force").detector == "force"
    assert scores(Analysis.of(recording, "force")).gps.value == pytest.approx(scores(contact).gps.value, abs=0.7)
    with pytest.raises(EventError, match="force need a ground force"):
        detect(captured(recording), "force")


def test_standing_and_short_clips_are_named(walker: ModuleType) -> None:
    still = walker.Walker(seconds=3).record()
    still = captured(Recording(still.header, {"time": still.time, "points": np.broadcast_to(still.points[:1], still.points.shape).copy()}))
    analysis = Analysis.of(still)
    assert any("it stands" in warning for warning in analysis.warnings)
    with pytest.raises(ValueError, match="it stands"):
        scores(analysis)
    with pytest.raises(GaitError, match="no straight stride"):
        pooled([analysis])
    short = Analysis.of(captured(walker.Walker(seconds=0.9).record()))
    assert any("give a longer clip" in warning for warning in short.warnings)


@pytest.mark.shared
@needs_data
def test_the_skeleton_of_another_subject_shows_in_planted_feet() -> None:
    clip = SHARED / "cmu/35/35_01.amc"
    own, other = (Analysis.of(read_capture(clip, skeleton=SHARED / f"cmu/{s}/{s}.asf").recording()) for s in ("35", "32"))
    assert not any("planted feet" in warning for warning in own.warnings)
    assert any("planted feet move" in warning and "another subject's" in warning for warning in other.warnings)
    for analysis in (*subject("35", "height"), *subject("16", "height"), *subject("39", "height")):
        assert not any("planted feet" in warning for warning in analysis.warnings)


# -- scores ------------------------------------------------------------------------------------------------------------------


def test_profile_score_by_hand() -> None:
    zero = {name: np.zeros(101) for name in GPS_CURVES}
    left = zero | {"pelvis_tilt": np.full(101, 3.0), "knee": np.full(101, 6.0)}
    right = zero | {"pelvis_tilt": np.full(101, 99.0)}  # the pelvis is counted once, of the left side
    found = profile_score(left, right, zero)
    assert found.name == "GPS"
    assert found.full
    assert found.value == pytest.approx(np.sqrt((3.0**2 + 6.0**2) / 15))
    assert found.curves["knee"] == pytest.approx(np.sqrt(6.0**2 / 2))
    assert found.shape["knee"] == pytest.approx(0)
    fewer = profile_score({"knee": left["knee"]}, {"knee": right["knee"]}, zero)
    assert fewer.name == "GPS-1"
    assert fewer.changed(found) is None
    assert found.changed(ProfileScore(found.value + 1.7, found.curves, {})) is True
    assert found.changed(ProfileScore(found.value + 1.5, found.curves, {})) is False
    with pytest.raises(ValueError, match="none of the curves"):
        profile_score({}, {}, zero)


def test_difference_of_curves() -> None:
    cycle = np.linspace(0, 1, 101)
    wave = np.cos(2 * np.pi * cycle)
    found = difference(np.roll(wave[:-1], 7)[np.r_[:100, 0]] + 2, wave)
    assert found.lag == 7
    assert found.peak_shift == 7
    assert found.rms > found.shape
    assert difference(wave + 3, wave) == pytest.approx((3.0, 0.0, 1.0, 0.0, 0.0), abs=1e-9)
    assert difference(-wave, wave).correlation == pytest.approx(-1)


def test_references() -> None:
    for name in GPS_CURVES:
        band = adult_band(name, 0.18)
        assert band is not None
        assert np.isfinite(band.mean).all()
        assert np.isfinite(band.sd).all()
        assert 0.5 < band.sd.mean() < 15, name
    slow, free = adult_band("knee", 0.06), adult_band("knee", 0.18)
    assert slow is not None
    assert free is not None
    assert slow.mean[5:25].max() < free.mean[5:25].max() - 3  # slow walkers hardly bend the knee that takes the load
    for name in CURVES:
        assert cmu_band(name, 0.15) is not None, name
    assert cmu_band("upper_arm", 0.01) is not None  # held at the end of the range
    cadence = [people_scalar("cadence_spm", froude) for froude in (0.1, 0.17, 0.28)]
    assert [round(c.mean) for c in cadence if c is not None] == sorted(round(c.mean) for c in cadence if c is not None)
    assert people_scalar("stance_fraction", 0.17).mean == pytest.approx(0.617, abs=0.01)  # type: ignore[union-attr]


def test_forces_of_people() -> None:
    children, person = children_band("force_vertical", 0.18), person_curve("force_vertical")
    assert children is not None
    assert person is not None
    for curve in (children.mean, person):
        assert curve.mean() * 2 == pytest.approx(1.0, abs=0.1)  # two feet carry the weight
        assert curve[5:25].max() > 1.0 > curve[25:40].min()
    for name in ("hip_moment", "knee_moment", "ankle_moment", "force_fore_aft"):
        norm, adult = children_band(name, 0.18), person_curve(name)
        assert norm is not None
        assert adult is not None
        assert difference(adult, norm.mean).correlation > 0.7, name  # the same signs
    assert person_curve("hip_power") is None


def test_walker_of_the_norm_scores_zero(walker: ModuleType) -> None:
    analysis = Analysis.of(walker.Walker(seconds=10).record())
    found = scores(analysis)
    assert found.gps.name == "GPS-8"  # no axis of the knee: no hip rotation
    assert "hip_rotation" not in found.gps.curves
    worst = found.ranked()
    assert worst[0].distance >= worst[-1].distance
    at = found.froude
    ideal = {name: band.mean for name in GPS_CURVES if (band := adult_band(name, at)) is not None}
    assert profile_score(ideal, ideal, ideal).value == 0


def test_inventory() -> None:
    curves = {"thigh": np.array([[0.0, 10.0], [0.0, 20.0]]), "pelvis_tilt": np.array([1.0, 3.0])}
    assert inventory(curves) == {"pelvis": {"sagittal": 2.0}, "thigh": {"sagittal": 15.0}}


# -- turns -------------------------------------------------------------------------------------------------------------------


def turned(recording: Recording, turn: np.ndarray) -> Recording:
    """The same walk of points, at 1.1 m/s along a path whose heading (T,) [rad] is given."""
    middle = recording.point("mid_hip") * np.array([1.0, 1.0, 0.0])
    c, s = np.cos(turn)[:, None], np.sin(turn)[:, None]
    local = recording.points - middle[:, None]
    rotated = np.stack((c * local[..., 0] - s * local[..., 1], s * local[..., 0] + c * local[..., 1], local[..., 2]), axis=-1)
    path = np.concatenate(([[0.0, 0.0]], np.cumsum(np.stack((-np.sin(turn), np.cos(turn)), axis=1) * 1.1 / 120, axis=0)[:-1]))
    moved = rotated + np.concatenate((path, np.zeros((len(path), 1))), axis=1)[:, None]
    return Recording(recording.header | {"plant": "capture"}, {"time": recording.time, "points": moved})


@pytest.mark.parametrize(("angle", "rate"), [(150.0, 0.3), (-200.0, 0.5)])
def test_a_long_curve_is_one_turn(walker: ModuleType, angle: float, rate: float) -> None:
    recording = walker.Walker(seconds=20).record()
    sign = np.sign(angle)
    found = turns(turned(recording, np.radians(sign * np.clip((recording.time - 5.0) * np.degrees(rate), 0, abs(angle)))))
    assert len(found) == 1
    assert found[0].angle_deg == pytest.approx(angle, abs=12)
    assert found[0].duration_s == pytest.approx(0.8 * abs(angle) / np.degrees(rate), rel=0.15)


@pytest.mark.parametrize("angle", [90.0, -180.0])
def test_a_known_turn(walker: ModuleType, angle: float) -> None:
    recording = walker.Walker(seconds=10).record()
    # Turned about the vertical through mid-hip, within a second.
    share = np.clip((recording.time - 5.0) / 1.0, 0, 1)
    (found,) = turns(turned(recording, np.radians(angle) * share**2 * (3 - 2 * share)))
    assert found.angle_deg == pytest.approx(angle, abs=6)
    assert found.start_s == pytest.approx(5.0, abs=0.2)
    # 10 to 90 % of the smooth step takes 0.61 s; the filter widens it.
    assert 0.55 < found.duration_s < 0.8
    assert found.least_speed_mps < 1.15
    assert found.deviation_m > 0.2
