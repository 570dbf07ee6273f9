"""The loops of docs/training.md run as written, but for how long they go on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parent.parent / "docs" / "training.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
SHORT = {
    "ENVIRONMENTS, ROLLOUT, STEPS = 8, 256, 100_000": "ENVIRONMENTS, ROLLOUT, STEPS = 2, 8, 16",
    "ENVIRONMENTS, ROLLOUT, UPDATES = 8, 256, 50": "ENVIRONMENTS, ROLLOUT, UPDATES = 2, 8, 2",
    "TRIALS, EPISODES = 20, 4": "TRIALS, EPISODES = 2, 1",
    'gymnasium.make("sandbox:Sandbox/PushRecovery-v0", action="planner")': (
        'gymnasium.make("sandbox:Sandbox/PushRecovery-v0", action="planner", episode_seconds=0.5)'
    ),
}


def test_there_are_three() -> None:
    assert len(BLOCKS) == 3
    assert all(any(old in block for block in BLOCKS) for old in SHORT)


@pytest.mark.parametrize("number", range(3))
def test_a_loop_runs_as_written(number: int) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("stable_baselines3")
    block = BLOCKS[number]
    for old, new in SHORT.items():
        block = block.replace(old, new)
    space: dict[str, object] = {"__name__": "docs"}
    exec(compile(block, "docs/training.md", "exec"), space)
    if number == 2:
        assert float(space["highest"]) > 0  # type: ignore[arg-type]
