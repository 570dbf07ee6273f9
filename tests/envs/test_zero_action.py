"""Zero residual action is the shipped walker, and it walks."""

import gymnasium
import numpy as np
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_zero_action_walks_twenty_seconds(seed: int) -> None:
    env = gymnasium.make("sandbox:Sandbox/Walk-v0")
    env.reset(seed=seed)
    action, seconds = np.zeros(env.action_space.shape, dtype=np.float32), 0.0
    while True:
        _, _, terminated, truncated, info = env.step(action)
        seconds = info["time"]
        if terminated or truncated:
            break
    env.close()
    assert truncated, f"fell after {seconds:.1f} s: {info.get('fall_cause')}"
    assert seconds == pytest.approx(20.0, abs=0.05)
