"""``Sandbox/Stand-v0``: stand still and take pushes."""

from __future__ import annotations

from typing import Any

from sandbox.envs.documentation import documented
from sandbox.envs.rewards import Outcome, StandWeights, stand_terms
from sandbox.envs.walker import Command, WalkerEnv


@documented
class StandEnv(WalkerEnv):
    """A humanoid that stands still while it is pushed.

    {spaces}

    Reward: the sum of ``info["reward_terms"]``, weighted by :class:`sandbox.envs.rewards.StandWeights`: ``stillness`` (CoM's mean
    velocity in the control step), ``drift`` (from where the episode began), ``heading``, ``effort``, ``action``, and ``fall``, once.

    Episode: starts standing, in a pose and with a velocity perturbed by the seed. Pushes at the chest of 0.2 s come every 3 to 6 s, with
    a force up to ``push_force`` and a direction drawn for each; a step to keep from falling is allowed. The commands are zero.
    Terminated by a fall, with ``info["fall_cause"]``; truncated after ``episode_seconds``.

    Args:
        render_mode: ``rgb_array``, ``human`` (a page on the loopback interface, in real time) or None.
        push_force: largest force of a push [N]; 0 for none.
        weights: of the reward's terms.
        settings: those of :class:`sandbox.envs.walker.WalkerEnv`: ``action``, ``anatomy``, ``parameters``, ``terrain``, ``policy_rate``,
            ``physics_rate``, ``episode_seconds``, ``randomisation``, ``width``, ``height``.

    Raises:
        ValueError: a value outside its range, or an unknown name.
    """

    def __init__(
        self, render_mode: str | None = None, *, push_force: float = 50.0, weights: StandWeights | None = None, **settings: Any
    ) -> None:
        super().__init__(render_mode, push_force=push_force, **settings)
        self.weights = weights or StandWeights()

    def _draw_command(self, options: dict[str, Any]) -> Command:  # noqa: ARG002  # it takes none
        return Command(0.0, 0.0)

    def _terms(self, outcome: Outcome) -> dict[str, float]:
        return stand_terms(outcome, self.weights)
