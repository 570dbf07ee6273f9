"""Episodes: how they start, what is asked in them, how they end."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

from sandbox.plants.bullet import BulletPlant
from sandbox.state import LEFT, RIGHT


def zero(env):
    return np.zeros(env.action_space.shape)


def commands(env):
    """Of an episode, once in force."""
    for _ in range(31):
        info = env.step(zero(env))[4]
    return info["speed_command"], info["heading_rate_command"]


def test_commands_are_drawn_and_overridden(make):
    env = make(speed_range=(0.7, 0.9), heading_rate_range=(0.0, 0.1))
    drawn = set()
    for seed in range(3):
        _, info = env.reset(seed=seed)
        assert (info["speed_command"], info["heading_rate_command"]) == (0.0, 0.0)  # stands for a second first
        drawn.add(commands(env))
    assert len(drawn) == 3
    assert all(0.7 <= speed <= 0.9 and 0.0 <= rate <= 0.1 for speed, rate in drawn)
    start, _ = env.reset(seed=2)
    asked, _ = env.reset(seed=2, options={"speed": 1.3, "heading_rate": -0.3})
    np.testing.assert_array_equal(asked, start)
    assert commands(env) == (1.3, -0.3)


def test_starts_are_perturbed(make):
    env = make()
    a, b = env.reset(seed=0)[0], env.reset()[0]
    assert not np.array_equal(a, b)
    np.testing.assert_array_equal(env.reset(seed=0)[0], a)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sped": 1.0}, "unknown option of reset 'sped': did you mean 'speed'"),
        ({"speed": 9.0}, "speed 9 m/s is outside 0..2 m/s"),
        ({"heading_rate": float("nan")}, "heading_rate nan rad/s is outside"),
    ],
)
def test_bad_options(make, options, message):
    with pytest.raises(ValueError, match=message):
        make().reset(options=options)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy_rate": 50}, "1/50 s is no whole number of physics steps of 1/480 s"),
        ({"policy_rate": 0}, "1/0 s is no whole number"),
        ({"speed_range": (1.0, 0.5)}, "upside down"),
        ({"speed_range": (0.0, 5.0)}, "speed_range 5 m/s is outside"),
        ({"episode_seconds": 0.0}, "episode_seconds 0 s is outside"),
        ({"push_force": -1.0}, "push_force -1 N is outside"),
        ({"render_mode": "humen"}, "unknown render mode 'humen': did you mean 'human'"),
    ],
)
def test_bad_settings(settings, message):
    from sandbox.envs.walk import WalkEnv

    with pytest.raises(ValueError, match=message):
        WalkEnv(**settings)


def test_policy_rate(make):
    env = make(policy_rate=60)
    env.reset(seed=0)
    assert env.step(zero(env))[4]["time"] == pytest.approx(1 / 60)
    assert env.metadata["render_fps"] == 60


def test_fall_terminates_with_its_cause(make):
    env = make(action="torque")
    env.reset(seed=0)
    for _ in range(90):
        _, reward, terminated, truncated, info = env.step(zero(env))
        if terminated:
            break
    assert terminated
    assert not truncated
    assert "trunk tilt" in info["fall_cause"] or "hip height" in info["fall_cause"] or "touched" in info["fall_cause"]
    assert reward < -9
    assert info["reward_terms"]["fall"] == -10.0
    with pytest.raises(ResetNeeded):
        env.step(zero(env))
    env.reset()
    env.step(zero(env))


def test_time_truncates(make):
    env = make("Stand", episode_seconds=0.5)
    env.reset(seed=0)
    ends = [env.step(zero(env))[2:4] for _ in range(15)]
    assert ends[-1] == (False, True)
    assert not any(any(end) for end in ends[:-1])


def test_ground_force_carries_the_body(make):
    env = make("Stand", push_force=0.0)
    env.reset(seed=0)
    forces = np.array([env.step(zero(env))[4]["ground_force"] for _ in range(60)])[30:]
    assert forces.shape[1:] == (2, 3)
    assert forces[:, [LEFT, RIGHT], 2].sum(axis=1).mean() == pytest.approx(env.anatomy.mass * 9.81, rel=0.02)
    assert (forces[:, :, 2].mean(axis=0) > 150).all()


def test_pushes_go_through_the_plant_and_into_info(make, monkeypatch):
    given = []
    push = BulletPlant.push

    def recorded(self, force, *where):
        given.append(force)
        push(self, force, *where)

    monkeypatch.setattr(BulletPlant, "push", recorded)
    env = make("Stand", push_force=20.0)
    env.reset(seed=0)
    told = np.zeros(3)
    for _ in range(200):
        told += 16 * env.step(zero(env))[4]["push"]
    assert len(given) in (95, 96, 97, 192)  # 0.2 s each
    np.testing.assert_allclose(told, np.sum(given, axis=0))
    assert 0 < np.linalg.norm(given[0]) <= 20


def test_before_reset_and_after_close(make):
    env = make()
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(zero(env))
    env.reset()
    env.close()
    env.close()
    for use in (env.reset, env.render, lambda: env.step(zero(env))):
        with pytest.raises(ClosedEnvironmentError, match="was closed: make a new one"):
            use()


def test_eight_in_one_process():
    envs = gymnasium.make_vec("sandbox:Sandbox/Walk-v0", num_envs=8, vectorization_mode="sync")
    observations, _ = envs.reset(seed=0)
    assert observations.shape == (8, 84)
    observations, rewards, *_ = envs.step(envs.action_space.sample())
    assert np.isfinite(observations).all()
    assert rewards.shape == (8,)
    envs.close()


@pytest.mark.slow
def test_spawned_workers_give_the_same():
    runs = {}
    for mode, settings in (("sync", {}), ("async", {"context": "spawn"})):
        envs = gymnasium.make_vec("sandbox:Sandbox/Walk-v0", num_envs=2, vectorization_mode=mode, vector_kwargs=settings)
        envs.action_space.seed(3)
        runs[mode] = [envs.reset(seed=0)[0]] + [envs.step(envs.action_space.sample())[0] for _ in range(5)]
        envs.close()
    np.testing.assert_array_equal(runs["sync"], runs["async"])
