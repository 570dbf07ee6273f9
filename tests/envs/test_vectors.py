"""Environments side by side: the same seeds give the same trajectories, however they are run."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

STEPS = 6


def alone(name: str, seed: int) -> np.ndarray:
    env = gymnasium.make(f"sandbox:Sandbox/{name}-v0").unwrapped
    rng = np.random.default_rng(seed)
    rows = [env.reset(seed=seed)[0]]
    rows += [env.step(0.3 * rng.uniform(-1, 1, env.action_space.shape))[0] for _ in range(STEPS)]
    env.close()
    return np.array(rows)


def together(envs: Any, seeds: list[int]) -> np.ndarray:
    """(steps + 1, environments, n) under the same actions as :func:`alone`."""
    rngs = [np.random.default_rng(seed) for seed in seeds]
    shape = envs.single_action_space.shape
    rows = [envs.reset(seed=seeds)[0]]
    rows += [envs.step(np.array([0.3 * rng.uniform(-1, 1, shape) for rng in rngs], dtype=np.float64))[0] for _ in range(STEPS)]
    envs.close()
    return np.array(rows)


def test_eight_in_one_process() -> None:
    seeds = list(range(40, 48))
    found = together(gymnasium.make_vec("sandbox:Sandbox/Walk-v0", num_envs=8, vectorization_mode="sync"), seeds)
    for k in (0, 3, 7):
        np.testing.assert_allclose(found[:, k], alone("Walk", seeds[k]), rtol=0, atol=0)


@pytest.mark.slow
def test_spawned_workers() -> None:
    seeds = [40, 41]
    envs = gymnasium.make_vec(
        "sandbox:Sandbox/Walk-v0", num_envs=2, vectorization_mode="async", vector_kwargs={"context": "spawn"}
    )  # fmt: skip
    found = together(envs, seeds)
    for k, seed in enumerate(seeds):
        np.testing.assert_array_equal(found[:, k], alone("Walk", seed))


def make_walk() -> Any:
    return gymnasium.make("sandbox:Sandbox/Walk-v0")


def stable_baselines(kind: Any, **settings: Any) -> np.ndarray:
    envs = kind([make_walk, make_walk], **settings)
    envs.seed(50)
    rows = [envs.reset()]
    rng = np.random.default_rng(1)
    rows += [envs.step(0.3 * rng.uniform(-1, 1, (2, *envs.action_space.shape)).astype(np.float32))[0] for _ in range(STEPS)]
    envs.close()
    return np.array(rows)


@pytest.mark.slow
def test_vectors_of_stable_baselines() -> None:
    vectors = pytest.importorskip("stable_baselines3.common.vec_env")
    one_process = stable_baselines(vectors.DummyVecEnv)
    np.testing.assert_array_equal(one_process, stable_baselines(vectors.DummyVecEnv))
    np.testing.assert_array_equal(one_process, stable_baselines(vectors.SubprocVecEnv, start_method="spawn"))
