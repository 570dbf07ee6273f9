"""``Sandbox/StartStop-v0``: stand, walk, stop, and again."""

from __future__ import annotations

from typing import Any, Final

from sandbox.envs.documentation import documented
from sandbox.envs.walk import WalkEnv
from sandbox.envs.walker import Command
from sandbox.scenes.scene import START

WALKING: Final = (3.0, 6.0)  # [s] for which the walker is asked to walk
STANDING: Final = (2.0, 4.0)  # [s] for which it is asked to stand, after the first second


@documented
class StartStopEnv(WalkEnv):
    """A humanoid that walks when it is asked to and stands when it is not.

    {spaces}

    Reward: the sum of ``info["reward_terms"]``, weighted by :class:`sandbox.envs.rewards.WalkWeights`: ``velocity`` (CoM's mean
    velocity in the control step, against the one commanded at the moment, which is 0 to stand), ``heading``, ``effort``, ``action``,
    and ``fall``, once.

    Episode: starts standing, in a pose and with a velocity perturbed by the seed. After a second the walker is asked to walk for 3 to
    6 s, then to stand for 2 to 4 s, and so on to the end, each time at a speed from ``speed_range``; the heading rate is drawn once.
    ``reset(options={"speed": 1.0, "heading_rate": 0.0})`` gives one speed for all. Terminated by a fall, with
    ``info["fall_cause"]``; truncated after ``episode_seconds``.

    Args:
        render_mode: ``rgb_array``, ``human`` (a page on the loopback interface, in real time) or None.
        settings: those of :class:`sandbox.envs.walk.WalkEnv`.

    Raises:
        ValueError: a value outside its range, or an unknown name.
    """

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        super().__init__(render_mode, **({"heading_rate_range": (0.0, 0.0)} | settings))
        self._plan: list[tuple[float, Command]] = []

    def _draw_command(self, options: dict[str, Any]) -> Command:
        first = super()._draw_command(options)
        self._plan = []
        time, speed = START, first.speed
        while time < self._limit * self._step_time:
            self._plan.append((time, Command(speed, first.heading_rate)))
            time += float(self.np_random.uniform(*WALKING))
            self._plan.append((time, Command(0.0, 0.0)))
            time += float(self.np_random.uniform(*STANDING))
            drawn = float(self.np_random.uniform(*self.speed_range))
            speed = first.speed if "speed" in options else drawn
        return first

    def _command(self) -> Command:
        now = self.plant.state.time + 1e-9
        return next((command for time, command in reversed(self._plan) if time <= now), Command(0.0, 0.0))
