"""Timing: fixed ticks, clocks of the legs, the ring of contacts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.controllers.limbs import (
    LARGEST_CORRECTION,
    LARGEST_RATE_CHANGE,
    RING,
    Contact,
    ContactHistory,
    FixedTicks,
    LimbClocks,
)


@given(st.lists(st.floats(0.0, 0.3), max_size=60))
def test_ticks_are_those_of_the_time_that_passed_whatever_the_frames(frames: list[float]) -> None:
    ticks, whole = FixedTicks(), FixedTicks()
    made = sum(ticks.frame(frame) for frame in frames)
    assert made == whole.frame(math.fsum(frames)) == math.floor(math.fsum(frames) * 120 + 1e-6)


def test_an_hour_of_frames_loses_no_tick() -> None:
    ticks = FixedTicks()
    assert sum(ticks.frame(1 / 60) for _ in range(60 * 3600)) == 120 * 3600


@pytest.mark.parametrize("frame", [-0.1, math.nan, math.inf])
def test_a_frame_that_cannot_pass(frame: float) -> None:
    with pytest.raises(ValueError, match="give one of at least 0"):
        FixedTicks().frame(frame)


def test_clocks_run_unwrapped_and_even() -> None:
    clocks = LimbClocks()
    for _ in range(1200):
        clocks.advance(0.9, 1 / 120)
    np.testing.assert_allclose(clocks.phase, [9.0, 9.5], atol=1e-9)
    assert clocks.offset() == pytest.approx(0.0, abs=1e-12)
    assert clocks.touchdown() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("offset", [0.06, -0.2, 0.24])
def test_a_shifted_clock_comes_back_by_rate_alone(offset: float) -> None:
    clocks = LimbClocks()
    clocks.phase[1] += offset
    before = clocks.phase.copy()
    for tick in range(3000):
        if tick % 60 == 0:
            assert abs(clocks.touchdown()) <= LARGEST_CORRECTION
        clocks.advance(1.0, 1 / 120)
        rate = (clocks.phase - before) * 120
        assert np.all(np.abs(rate - 1) <= LARGEST_RATE_CHANGE + 1e-9)
        before = clocks.phase.copy()
    assert abs(clocks.offset()) < 1e-6
    assert clocks.phase.sum() == pytest.approx(50.5 + offset)  # what one gains the other loses


def test_the_ring_keeps_the_last_ones_in_order() -> None:
    history = ContactHistory()
    assert list(history) == []
    for tick in range(100):
        history.add(Contact(tick, tick % 2, True, 0.0))
    assert len(history) == RING
    assert [contact.tick for contact in history] == list(range(100 - RING, 100))
    assert history.count == 100
