"""What actions do, good and bad ones."""

import numpy as np
import pytest

import sandbox.simulation
from sandbox.envs.actions import MODES, PLANNER_ROWS
from sandbox.plants.base import standing_pose
from sandbox.scenes.scene import START, Command, Scene
from sandbox.simulation import Simulation


@pytest.mark.parametrize("mode", ["residual", "planner"])
def test_zero_action_is_the_shipped_walker(make, mode, monkeypatch):
    env = make(action=mode, randomisation={"friction": (0.8, 0.8)})
    env.reset(seed=5, options={"speed": 0.9, "heading_rate": 0.05})
    start = env.plant.state.root_position.copy(), env.plant.state.q.copy()
    seed = int(np.random.Generator(np.random.PCG64(5)).integers(2**31))
    monkeypatch.setattr(sandbox.simulation, "standing_pose", lambda a, lumbar, _, slope: standing_pose(a, lumbar, seed, slope=slope))
    simulation = Simulation(Scene("walk", (Command(START, 0.9, 0.05),), 3.0))
    np.testing.assert_array_equal(simulation.plant.state.root_position, start[0])
    np.testing.assert_array_equal(simulation.plant.state.q, start[1])
    for _ in range(75):
        env.step(np.zeros(env.action_space.shape))
        for _ in range(16):
            simulation.tick()
    np.testing.assert_array_equal(env.plant.state.q, simulation.plant.state.q)
    np.testing.assert_array_equal(env.plant.state.root_position, simulation.plant.state.root_position)
    simulation.close()


def test_planner_mode_leaves_nothing_behind(make):
    env = make(action="planner")
    shipped = env.planner.parameters.copy()
    env.reset(seed=0)
    env.step([1.0, -1.0, 0.5, 1.0])
    assert env.planner.parameters[0]["foothold_offset"] == pytest.approx(
        shipped[0]["foothold_offset"] + PLANNER_ROWS["foothold_offset"].high
    )
    assert env.planner.parameters[0]["step_width"] == pytest.approx(shipped[0]["step_width"] + PLANNER_ROWS["step_width"].low)
    env.reset(seed=0)
    assert env.planner.parameters == shipped


def test_joint_mode_goes_to_its_targets(make):
    env = make("Stand", action="joint", push_force=0.0)
    low, high = (np.array([getattr(row, end) for row in env.action_rows]) for end in ("low", "high"))
    target = standing_pose(env.anatomy).q
    for side in ("left", "right"):
        target[env.anatomy.joint_index[f"{side}_elbow_flexion"]] = 1.2
    env.reset(seed=0)
    for _ in range(24):
        env.step((2 * target - low - high) / (high - low))
    # all but the ankles, where a body that nothing balances begins to tip: the law takes a standing foot for free, so that
    # its ankle is weak
    held = [i for name, i in env.anatomy.joint_index.items() if "ankle_dorsiflexion" not in name]
    np.testing.assert_allclose(env.plant.state.q[held], target[held], atol=0.15)


def test_torque_mode_applies_its_torques(make):
    env = make(action="torque")
    env.reset(seed=0)
    action = np.linspace(-0.2, 0.2, env.action_space.shape[0])
    env.step(action)
    np.testing.assert_allclose(env.plant.state.tau, action * [joint.max_torque for joint in env.anatomy.joints])


def test_values_out_of_range_are_clipped(make):
    env = make()
    runs = []
    for huge in (1.0, 1e9, np.inf):
        env.reset(seed=1)
        runs.append([env.step(np.full(env.action_space.shape, huge))[0] for _ in range(5)])
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


def test_bad_actions_are_named_and_change_nothing(make):
    env = make()
    env.reset(seed=1)
    action = np.zeros(env.action_space.shape)
    action[3] = np.nan
    with pytest.raises(ValueError, match=r"NaN at \[3\]"):
        env.step(action)
    with pytest.raises(ValueError, match=r"shape \(5,\).*give \(27,\)"):
        env.step(np.zeros(5))
    after = env.step(np.zeros(env.action_space.shape))[0]
    env.reset(seed=1)
    np.testing.assert_array_equal(env.step(np.zeros(env.action_space.shape))[0], after)


def test_unknown_mode_suggests_the_nearest(make):
    with pytest.raises(ValueError, match="unknown action mode 'residuals': did you mean 'residual'"):
        make(action="residuals")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["Walk", "Stand"])
def test_fuzz(make, name, mode):
    """No action gives an observation or a reward that is not finite, and the terms add up to the reward."""
    env = make(name, action=mode)
    rng = np.random.default_rng(7)
    n = env.action_space.shape[0]
    draws = (lambda: rng.uniform(-1, 1, n), lambda: rng.choice([-1.0, 1.0], n), lambda: rng.choice([-np.inf, 1e30, 0.0, np.inf], n))
    for seed, draw in enumerate(draws):
        env.reset(seed=seed)
        for _ in range(45):
            observation, reward, terminated, truncated, info = env.step(draw())
            assert env.observation_space.contains(observation)
            assert np.isfinite(observation).all()
            assert np.isfinite(reward)
            assert reward == pytest.approx(sum(info["reward_terms"].values()))
            assert np.isfinite(info["ground_force"]).all()
            if terminated or truncated:
                break
