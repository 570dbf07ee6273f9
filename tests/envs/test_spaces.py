"""Spaces, and the tables that document them."""

import inspect

import numpy as np
import pytest

from sandbox.envs.actions import MODES, PLANNER_ROWS, joint_table
from sandbox.envs.tables import bounds, table

NAMES = ("Walk", "Stand", "PushRecovery", "StartStop", "Uneven")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", MODES)
def test_spaces_are_finite_and_as_documented(make, name, mode):
    env = make(name, action=mode)
    text = inspect.getdoc(type(env))
    assert table(env.observation_rows) in text
    assert (joint_table(env.anatomy) if mode in ("joint", "torque") else table(env.action_rows)) in text
    low, high = bounds(env.observation_rows)
    assert np.isfinite((low, high)).all()
    np.testing.assert_array_equal(env.observation_space.low, low.astype(np.float32))
    np.testing.assert_array_equal(env.observation_space.high, high.astype(np.float32))
    assert len(low) == 84
    assert f"``Box`` of {len(low)} numbers" in text
    assert (env.action_space.low == -1).all()
    assert (env.action_space.high == 1).all()


@pytest.mark.parametrize("mode", MODES)
def test_ends_of_an_action_are_those_of_the_table(make, mode):
    env = make(action=mode)
    low, high = bounds(env.action_rows)
    np.testing.assert_allclose(env._mode.physical(-np.ones(len(low))), low, atol=1e-12)
    np.testing.assert_allclose(env._mode.physical(np.ones(len(low))), high, atol=1e-12)
    assert len(low) == env.action_space.shape[0]
    if mode in ("joint", "torque"):  # the table's numbers are those of the joints
        assert [row.name for row in env.action_rows] == [joint.name for joint in env.anatomy.joints]


def test_parameters_that_the_planner_mode_changes_exist(make):
    assert set(PLANNER_ROWS) <= set(make().planner.parameters.dtype.names)


def test_observation_is_what_it_says(make):
    env = make(push_force=0.0)
    observation, _ = env.reset(seed=3, options={"speed": 0.9, "heading_rate": 0.1})
    named, first = {}, 0
    for row in env.observation_rows:
        named[row.name] = slice(first, first + row.size)
        first += row.size
    for _ in range(32):  # past the second of standing
        observation, *_ = env.step(np.zeros(env.action_space.shape))
    state = env.plant.state
    np.testing.assert_allclose(observation[named["angle of each joint"]], state.q, rtol=1e-6)
    np.testing.assert_allclose(observation[named["speed of each joint"]], state.qd, rtol=1e-5, atol=1e-6)
    assert observation[named["height of mid-hip above the ground"]] == pytest.approx(state.root_position[2])
    assert observation[named["commanded speed"]] == pytest.approx(0.9)
    assert observation[named["commanded heading rate"]] == pytest.approx(0.1)
    assert observation[named["world's up in the pelvis's axes"]][2] == pytest.approx(1.0, abs=0.05)
    assert observation[named["vertical force on heel, ball, toes; left, right"]].sum() == pytest.approx(1.0, abs=0.3)


def test_observations_are_fresh_arrays(make):
    env = make()
    kept = [env.reset(seed=0)[0]]
    kept += [env.step(np.zeros(env.action_space.shape))[0] for _ in range(3)]
    copies = [array.copy() for array in kept]
    env.step(np.ones(env.action_space.shape))
    for array, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert not any(np.shares_memory(a, b) for i, a in enumerate(kept) for b in kept[:i])
