"""``Sandbox/Walk-v0``: walk at a commanded speed and heading rate."""

from __future__ import annotations

from typing import Any, ClassVar

from sandbox.config import check_ends, check_range
from sandbox.envs.documentation import documented
from sandbox.envs.rewards import Outcome, WalkWeights, walk_terms
from sandbox.envs.walker import Command, WalkerEnv
from sandbox.scenes.scene import HEADING_RATE_RANGE, SPEED_RANGE


@documented
class WalkEnv(WalkerEnv):
    """A humanoid that walks at a commanded speed and heading rate.

    {spaces}

    Reward: the sum of ``info["reward_terms"]``, weighted by :class:`sandbox.envs.rewards.WalkWeights`: ``velocity`` (CoM's mean
    velocity in the control step, against the commanded one), ``heading``, ``effort``, ``action``, and ``fall``, once. Standing still when
    asked to walk earns nothing.

    Episode: starts standing, in a pose and with a velocity perturbed by the seed; as in every scene, the command comes after a
    second. It is drawn from ``speed_range`` and ``heading_rate_range``, unless ``reset(options={"speed": 1.0, "heading_rate": 0.0})``
    says otherwise. Terminated by a fall, with ``info["fall_cause"]``; truncated after ``episode_seconds``.

    Args:
        render_mode: ``rgb_array``, ``human`` (a page on the loopback interface, in real time) or None.
        speed_range: lowest and highest speed drawn [m/s].
        heading_rate_range: lowest and highest heading rate drawn [rad/s], positive to the left.
        weights: of the reward's terms.
        settings: those of :class:`sandbox.envs.walker.WalkerEnv`: ``action``, ``anatomy``, ``parameters``, ``terrain``, ``policy_rate``,
            ``physics_rate``, ``episode_seconds``, ``push_force``, ``randomisation``, ``width``, ``height``.

    Raises:
        ValueError: a value outside its range, or an unknown name.
    """

    reset_options: ClassVar[tuple[str, ...]] = ("speed", "heading_rate")

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        speed_range: tuple[float, float] = (0.6, 1.2),
        heading_rate_range: tuple[float, float] = (-0.2, 0.2),
        weights: WalkWeights | None = None,
        **settings: Any,
    ) -> None:
        check_ends("speed_range", speed_range, SPEED_RANGE, "m/s")
        check_ends("heading_rate_range", heading_rate_range, HEADING_RATE_RANGE, "rad/s")
        super().__init__(render_mode, **settings)
        self.speed_range, self.heading_rate_range = speed_range, heading_rate_range
        self.weights = weights or WalkWeights()

    def _draw_command(self, options: dict[str, Any]) -> Command:
        # drawn in any case, so that an option changes nothing else of the episode
        drawn = (float(self.np_random.uniform(*bounds)) for bounds in (self.speed_range, self.heading_rate_range))
        speed, heading_rate = (float(options.get(name, value)) for name, value in zip(self.reset_options, drawn, strict=True))
        check_range("speed", speed, SPEED_RANGE, "m/s")
        check_range("heading_rate", heading_rate, HEADING_RATE_RANGE, "rad/s")
        return Command(speed, heading_rate)

    def _terms(self, outcome: Outcome) -> dict[str, float]:
        return walk_terms(outcome, self.weights)
