"""Reward terms alone."""

import dataclasses

import numpy as np
import pytest

from sandbox.envs.rewards import Outcome, StandWeights, WalkWeights, closeness, excess, stand_terms, walk_terms

PERFECT = Outcome(velocity_error=0.0, heading_error=0.0, drift=0.0, effort=0.0, action=0.0, fell=False)
WORST = Outcome(velocity_error=np.inf, heading_error=np.pi, drift=np.inf, effort=1.0, action=1.0, fell=True)


def test_shapes():
    assert closeness(0.0, 0.3) == 1.0
    assert closeness(0.3, 0.3) == closeness(-0.3, 0.3) == pytest.approx(np.exp(-1))
    assert closeness(np.inf, 0.3) == 0.0
    assert excess(0.0, 2.0) == 0.0
    assert excess(-1.0, 2.0) == excess(1.0, 2.0) == 0.25
    assert excess(-np.inf, 2.0) == excess(9.0, 2.0) == 1.0


@pytest.mark.parametrize(("terms", "weights"), [(walk_terms, WalkWeights()), (stand_terms, StandWeights())])
def test_bounds(terms, weights):
    assert sum(terms(PERFECT, weights).values()) == 1.0
    worst = sum(terms(WORST, weights).values())
    assert np.isfinite(worst)
    assert worst == -sum(v for k, v in dataclasses.asdict(weights).items() if k not in ("velocity", "stillness"))
    assert set(terms(PERFECT, weights)) == {field.name for field in dataclasses.fields(weights)}
    with pytest.raises(dataclasses.FrozenInstanceError):
        weights.fall = 0.0


def test_existing_earns_nothing():
    """Standing still, at no cost, when asked to walk: less than a hundredth of what walking badly (0.3 m/s off) earns."""
    idle = sum(walk_terms(PERFECT._replace(velocity_error=0.8), WalkWeights()).values())
    assert 0 <= idle < 0.01 * sum(walk_terms(PERFECT._replace(velocity_error=0.3, effort=0.05), WalkWeights()).values())
