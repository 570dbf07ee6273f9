"""Touchdowns and lift-offs, by all three detectors, and cycles, against a walker whose times are known."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from sandbox.measure import cycle_curves, cycles, force_events, gait_events, recorded_events, resample, zeni_events
from sandbox.measure.events import _debounced
from sandbox.recording import Recording

ROW = 1 / 120


def known(walker: object, foot: int) -> np.ndarray:
    w = walker
    times = np.array([w.touchdown(foot, k) for k in range(100)])  # type: ignore[attr-defined]
    return times[(times > 0) & (times < w.seconds)]  # type: ignore[attr-defined]


def without(recording: Recording, *names: str) -> Recording:
    return Recording(recording.header, {k: v for k, v in recording.columns.items() if k not in names})


def test_recorded_events_keep_the_exact_times(walker: ModuleType) -> None:
    w = walker.Walker(seconds=10)
    events = recorded_events(w.record())
    for foot in (0, 1):
        np.testing.assert_allclose(events.touchdowns(foot), known(w, foot), atol=1e-9)
        down = known(w, foot)
        up = events.liftoffs(foot)
        for t in down[:-1]:
            assert np.min(np.abs(up - t - w.stance * w.stride_time)) < 1e-9


def test_events_from_the_contact_state_are_right_within_a_row(walker: ModuleType) -> None:
    w = walker.Walker(seconds=10)
    recording = w.record()
    bare = Recording(recording.header, {k: v[:0] if k.startswith("event_") else v for k, v in recording.columns.items()})
    events = gait_events(bare)
    assert events.source == "recorded"
    for foot in (0, 1):
        np.testing.assert_allclose(events.touchdowns(foot), known(w, foot), atol=ROW)


def test_events_from_force_are_right_within_a_row(walker: ModuleType) -> None:
    w = walker.Walker(seconds=10)
    events = force_events(w.record())
    for foot in (0, 1):
        np.testing.assert_allclose(events.touchdowns(foot), known(w, foot), atol=1.5 * ROW)


def test_zeni_finds_every_touchdown_early_by_a_few_percent_of_the_stride(walker: ModuleType) -> None:
    w = walker.Walker(seconds=20)
    events = zeni_events(w.record())
    for foot in (0, 1):
        found, true = events.touchdowns(foot), known(w, foot)
        offset = np.array([found[np.argmin(np.abs(found - t))] - t for t in true[1:-1]]) / w.stride_time
        assert offset.std() < 0.002
        assert -0.045 < offset.mean() < 0
        assert abs(len(found) - len(true)) <= 1


def test_the_best_source_is_taken(walker: ModuleType) -> None:
    recording = walker.Walker(seconds=6).record()
    assert gait_events(recording).source == "recorded"
    events = [name for name in recording.columns if name.startswith("event_")]
    assert gait_events(without(recording, *events)).source == "force"
    assert gait_events(without(recording, *events, "ground_force")).source == "points"


def test_a_bounce_is_no_touchdown_and_a_scuff_no_contact() -> None:
    spans = [(1.0, 1.02, 0, 1), (1.05, 1.7, 2, 3), (1.85, 1.88, 4, 5), (2.2, np.inf, 6, -1)]
    contacts = _debounced(spans)
    assert contacts.start.tolist() == [1.0, 2.2]
    assert contacts.end.tolist() == [1.7, np.inf]
    assert contacts.first.tolist() == [0, 6]
    assert contacts.last.tolist() == [3, -1]


def test_a_foot_that_never_leaves_the_ground_has_no_events(walker: ModuleType) -> None:
    recording = walker.Walker(seconds=4).record()
    columns = {k: v[:0] if k.startswith("event_") else v for k, v in recording.columns.items()}
    columns["contact_state"] = np.full_like(recording.contact_state, 2)
    events = gait_events(Recording(recording.header, columns))
    assert len(events.touchdowns(0)) == len(events.liftoffs(1)) == 0
    assert cycles(events) == []


@pytest.mark.parametrize(("cadence", "stance"), [(70.0, 0.68), (105.0, 0.62), (130.0, 0.56)])
def test_cycles(walker: ModuleType, cadence: float, stance: float) -> None:
    w = walker.Walker(cadence=cadence, stance=stance, seconds=12)
    found = cycles(recorded_events(w.record()))
    assert len(found) >= 2 * (12 / w.stride_time - 2)
    for cycle in found:
        assert cycle.time == pytest.approx(w.stride_time)
        assert cycle.stance_fraction == pytest.approx(stance)
        assert cycle.double_support_fraction == pytest.approx(2 * stance - 1)
    late = cycles(recorded_events(w.record()), start=5.0, end=9.0)
    assert all(cycle.start >= 5.0 and cycle.end <= 9.0 for cycle in late)
    assert 0 < len(late) < len(found)


def test_flight_is_no_negative_double_support(walker: ModuleType) -> None:
    found = cycles(recorded_events(walker.Walker(cadence=150, stance=0.4, seconds=6).record()))
    assert found
    assert all(cycle.double_support_fraction == 0 for cycle in found)


def test_resampling_keeps_a_straight_line_and_any_shape() -> None:
    time = np.linspace(0, 2, 241)
    values = np.stack([time, 3 - time], axis=1)
    out = resample(time, values, 0.5, 1.5)
    assert out.shape == (101, 2)
    np.testing.assert_allclose(out[:, 0], np.linspace(0.5, 1.5, 101))
    assert resample(time, np.zeros((241, 2, 3)), 0.5, 1.5, samples=11).shape == (11, 2, 3)


def test_cycle_curves_start_at_each_foots_own_touchdown(walker: ModuleType) -> None:
    w = walker.Walker(seconds=8)
    recording = w.record()
    phases = np.stack([[w.phase(foot, t)[1] for t in recording.time] for foot in (0, 1)], axis=1)
    curves = cycle_curves(recording.time, phases, cycles(recorded_events(recording)))
    np.testing.assert_allclose(curves[:, 5:95], np.broadcast_to(np.linspace(0.05, 0.94, 90), curves[:, 5:95].shape), atol=0.01)
    assert cycle_curves(recording.time, phases, []).shape == (0, 101)
