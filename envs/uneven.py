"""``Sandbox/Uneven-v0``: walk over ground with bumps that nobody has told the walker of."""

from __future__ import annotations

from typing import Any, Final

from sandbox.config import check_range
from sandbox.envs.documentation import documented
from sandbox.envs.walk import WalkEnv
from sandbox.scenes.scene import BUMP_RANGE
from sandbox.scenes.terrain import Terrain, bumps

FIRST_BUMP: Final = 2.0  # [m] from the start
BEYOND: Final = 1.3  # track over the distance that the highest speed gets to


@documented
class UnevenEnv(WalkEnv):
    """A humanoid that walks straight over blind bumps at a commanded speed.

    {spaces}

    The bumps are not in the observation: a policy feels them with its feet.

    Reward: the sum of ``info["reward_terms"]``, weighted by :class:`sandbox.envs.rewards.WalkWeights`: ``velocity`` (CoM's mean
    velocity in the control step, against the commanded one), ``heading``, ``effort``, ``action``, and ``fall``, once.

    Episode: starts standing, in a pose and with a velocity perturbed by the seed; the command comes after a second, drawn from
    ``speed_range``, unless ``reset(options={"speed": 0.8})`` says otherwise. Every episode has bumps of its own: boxes of half to full
    ``bump_height``, on average one row every 0.9 m, from 2 m on. For that ``reset`` builds a new world, which takes some
    milliseconds. Terminated by a fall, with ``info["fall_cause"]``; truncated after ``episode_seconds``.

    Args:
        render_mode: ``rgb_array``, ``human`` (a page on the loopback interface, in real time) or None.
        bump_height: of the highest bumps [m].
        settings: those of :class:`sandbox.envs.walk.WalkEnv`, but for ``terrain``.

    Raises:
        ValueError: a value outside its range, or an unknown name.
    """

    def __init__(self, render_mode: str | None = None, *, bump_height: float = 0.03, **settings: Any) -> None:
        check_range("bump_height", bump_height, BUMP_RANGE, "m")
        if settings.get("terrain") is not None:
            raise ValueError("this environment draws its own ground: leave terrain out, or take Sandbox/Walk-v0")
        super().__init__(render_mode, **({"speed_range": (0.6, 1.0), "heading_rate_range": (0.0, 0.0)} | settings))
        self.bump_height = bump_height

    def _draw_terrain(self) -> Terrain:
        length = FIRST_BUMP + BEYOND * self.speed_range[1] * self._limit * self._step_time
        return bumps(self.bump_height, length, int(self.np_random.integers(2**31)), start=FIRST_BUMP)
