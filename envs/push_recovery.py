"""``Sandbox/PushRecovery-v0``: stay up under pushes that the walker survives half of the time, and walk on."""

from __future__ import annotations

import math
from typing import Any, Final

from sandbox.config import check_ends
from sandbox.envs.documentation import documented
from sandbox.envs.walk import WalkEnv
from sandbox.scenes.scene import IMPULSE_RANGE, PUSH_DURATION, Push

# Pushes of 0.2 s at the chest of which the shipped walker survives 40 to 60 % at 1.0 m/s, whatever their direction and time.
PUSH_BAND: Final = (180.0, 280.0)  # [N]
LEAD: Final = (3.6, 4.8)  # [s] up to speed, and then any phase of the stride
FIRST_PUSH: Final = (0.2, 1.0)  # [s]
NEXT_PUSH: Final = (2.5, 4.0)  # [s]
TIME_LIMITS: Final = (0.0, 3600.0)  # [s] of what the three can be asked to be
MAX_FORCE: Final = IMPULSE_RANGE[1] / PUSH_DURATION  # [N]


@documented
class PushRecoveryEnv(WalkEnv):
    """A humanoid that walks at a commanded speed, is pushed hard, and has to walk on.

    {spaces}

    Reward: the sum of ``info["reward_terms"]``, weighted by :class:`sandbox.envs.rewards.WalkWeights`: ``velocity`` (CoM's mean
    velocity in the control step, against the commanded one), ``heading``, ``effort``, ``action``, and ``fall``, once.

    Episode: begins with the walker at its commanded speed, in a phase of its stride that the seed draws. To get there, ``reset``
    simulates 3.6 to 4.8 s of the shipped walker (zero action), so that it takes about a third of a second; ``info["time"]`` counts
    from the standing start. Pushes at the chest of 0.2 s come after 0.2 to 1.0 s, and then every 2.5 to 4.0 s, in any horizontal
    direction, with a force from ``force_range``. The command comes from ``speed_range`` and ``heading_rate_range``, unless
    ``reset(options={"speed": 1.0, "heading_rate": 0.0})`` says otherwise. Terminated by a fall, with ``info["fall_cause"]``;
    truncated after ``episode_seconds``.

    Args:
        render_mode: ``rgb_array``, ``human`` (a page on the loopback interface, in real time) or None.
        force_range: lowest and highest force of a push [N].
        lead: shortest and longest walk before an episode begins [s]; (0, 0) to begin standing.
        first_push: earliest and latest first push [s], from the beginning of the episode.
        next_push: shortest and longest time from one push to the next [s]; None for a single one.
        settings: those of :class:`sandbox.envs.walk.WalkEnv`, whose ``push_force`` has no meaning here.

    Raises:
        ValueError: a value outside its range, or an unknown name.
    """

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        force_range: tuple[float, float] = PUSH_BAND,
        lead: tuple[float, float] = LEAD,
        first_push: tuple[float, float] = FIRST_PUSH,
        next_push: tuple[float, float] | None = NEXT_PUSH,
        **settings: Any,
    ) -> None:
        check_ends("force_range", force_range, (0.0, MAX_FORCE), "N")
        for name, ends in (("lead", lead), ("first_push", first_push)):
            check_ends(name, ends, TIME_LIMITS, "s")
        if next_push is not None:
            check_ends("next_push", next_push, (PUSH_DURATION, TIME_LIMITS[1]), "s")
        defaults: dict[str, Any] = {"speed_range": (1.0, 1.0), "heading_rate_range": (0.0, 0.0), "episode_seconds": 10.0}
        super().__init__(render_mode, **(defaults | settings))
        self.force_range, self.lead, self.first_push, self.next_push = force_range, lead, first_push, next_push
        self._led = 0.0

    @property
    def pushes(self) -> tuple[Push, ...]:
        """Those of the episode; their times count from the standing start."""
        return tuple(self._pushes)

    def _lead(self) -> float:
        return self._led

    def _draw_pushes(self) -> list[Push]:
        # The lead in whole control steps, from which the times of the pushes count.
        self._led = round(float(self.np_random.uniform(*self.lead)) / self._step_time) * self._step_time
        pushes: list[Push] = []
        time = float(self.np_random.uniform(*self.first_push))
        while time < self._limit * self._step_time:
            force = float(self.np_random.uniform(*self.force_range))
            direction = float(self.np_random.uniform(-math.pi, math.pi))
            pushes.append(Push(self._led + time, PUSH_DURATION, force, direction))
            if self.next_push is None:
                break
            time += float(self.np_random.uniform(*self.next_push))
        return pushes
