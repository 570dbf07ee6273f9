"""Push recovery, starting and stopping, uneven ground: what happens in them."""

import itertools
import math

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

NAMES = ("PushRecovery", "StartStop", "Uneven")


def zero(env):
    return np.zeros(env.action_space.shape)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("error")
def test_gymnasium_accepts_them(make, name):
    check_env(make(name), skip_render_check=True)


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_trajectory(make, name):
    def digest(env):
        rows = [env.reset(seed=11)[0]]
        rows += [env.step(0.2 * np.ones(env.action_space.shape))[0] for _ in range(12)]
        return np.array(rows)

    env = make(name)
    first = digest(env)
    env.reset(seed=12)
    env.step(zero(env))
    np.testing.assert_array_equal(digest(env), first)
    np.testing.assert_array_equal(digest(make(name)), first)


def test_push_recovery_begins_in_the_walk(make):
    env = make("PushRecovery")
    _, info = env.reset(seed=1)
    assert 3.6 - 1 / 30 <= info["time"] <= 4.8 + 1 / 30
    assert info["speed_command"] == 1.0
    assert math.hypot(*env.plant.state.root_velocity[:2]) == pytest.approx(1.0, abs=0.3)
    assert env.pushes[0].time - info["time"] == pytest.approx(0.6, abs=0.41)
    told = np.zeros(3)
    for _ in range(40):
        *_, terminated, _, info = env.step(zero(env))
        told += info["push"] / 30
        if terminated:
            break
    # one push of 0.2 s, given to the step it falls into
    assert np.linalg.norm(told) == pytest.approx(0.2 * env.pushes[0].force, rel=0.02)


def test_push_recovery_from_standing_with_one_push(make):
    env = make("PushRecovery", lead=(0.0, 0.0), first_push=(4.0, 5.2), next_push=None)
    _, info = env.reset(seed=1)
    assert info["time"] == 0.0
    assert len(env.pushes) == 1
    assert 4.0 <= env.pushes[0].time <= 5.2


def test_start_stop_asks_for_both(make):
    env = make("StartStop", episode_seconds=20.0, speed_range=(0.6, 1.0))
    env.reset(seed=0)
    asked = []
    for time in np.arange(0.0, 20.0, 0.1):
        env.plant.state.time = time
        asked.append(env._command().speed)
    assert asked[0] == 0.0
    assert asked[15] > 0.5
    changes = sum(a != b for a, b in itertools.pairwise(asked))
    assert 3 <= changes <= 8
    env.reset(seed=0, options={"speed": 0.7})
    assert {command.speed for _, command in env._plan} == {0.0, 0.7}


def test_uneven_has_new_bumps_in_every_episode(make):
    env = make("Uneven", bump_height=0.02)
    env.reset(seed=0)
    first = env.plant.terrain
    assert len(first.boxes) > 20
    assert all(0.01 <= box.height <= 0.02 for box in first.boxes)
    env.reset(seed=1)
    assert env.plant.terrain != first
    env.reset(seed=0)
    assert env.plant.terrain == first


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("PushRecovery", {"force_range": (300.0, 100.0)}, "force_range .* upside down"),
        ("PushRecovery", {"force_range": (0.0, 9000.0)}, "force_range 9000 N is outside"),
        ("PushRecovery", {"next_push": (0.0, 1.0)}, "next_push 0 s is outside"),
        ("Uneven", {"bump_height": 1.0}, "bump_height 1 m is outside"),
        ("Walk", {"randomisation": {"frction": (0.6, 1.0)}}, "did you mean 'friction'"),
    ],
)
def test_bad_settings(name, settings, message):
    with pytest.raises(ValueError, match=message):
        gymnasium.make(f"sandbox:Sandbox/{name}-v0", **settings)


def test_weights_are_numbers():
    from sandbox.envs.rewards import WalkWeights

    with pytest.raises(ValueError, match=r"weight fall = nan of the reward is not a finite number"):
        WalkWeights(fall=math.nan)
