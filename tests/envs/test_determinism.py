"""The same seed gives the same numbers to the last bit."""

import hashlib
import subprocess
import sys

RUN = """
import hashlib
import gymnasium, numpy as np

def trajectory(env, seed, steps=60, neighbour=None):
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    digest = hashlib.sha256(observation.tobytes())
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(0.3 * rng.uniform(-1, 1, env.action_space.shape))
        digest.update(observation.tobytes() + np.float64(reward).tobytes() + info["ground_force"].tobytes() + env.plant.state.q.tobytes())
        if neighbour is not None:
            neighbour.step(np.zeros(neighbour.action_space.shape))
        if terminated or truncated:
            break
    return digest.hexdigest()
"""
namespace: dict = {}
exec(RUN, namespace)
trajectory = namespace["trajectory"]


def test_two_runs_a_reused_one_and_one_beside_others(make):
    first = make()
    expected = trajectory(first, 4)
    assert trajectory(make(), 4) == expected
    trajectory(first, 5, steps=20)
    assert trajectory(first, 4) == expected
    neighbour = make("Stand")
    neighbour.reset(seed=9)
    assert trajectory(make(), 4, neighbour=neighbour) == expected


def test_a_fallen_body_leaves_no_trace(make):
    env = make(action="torque")
    expected = trajectory(env, 2)
    for seed in (0, 1):
        env.reset(seed=seed)
        for _ in range(60):
            if env.step(env.action_space.sample())[2]:
                break
    assert trajectory(env, 2) == expected


def test_another_process(make):
    code = RUN + "print(trajectory(gymnasium.make('sandbox:Sandbox/Walk-v0').unwrapped, 4))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == trajectory(make(), 4)
    assert len(done.stdout.split()[-1]) == hashlib.sha256().digest_size * 2
