"""What the environments share: a walker in PyBullet under commands and pushes, one policy step at a time."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from numpy.typing import ArrayLike, NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.config import check_range, nearest
from sandbox.controllers.parameters import Parameters
from sandbox.controllers.planner import GaitPlanner
from sandbox.envs.actions import make_mode
from sandbox.envs.observations import Gauge, observation_rows
from sandbox.envs.randomisation import Randomisation, with_drawn_friction
from sandbox.envs.render import View
from sandbox.envs.rewards import Outcome
from sandbox.envs.tables import bounds, space
from sandbox.plants.base import standing_pose
from sandbox.plants.bullet import BulletPlant, Physics
from sandbox.plants.render import Picture, check_size
from sandbox.scenes.scene import IMPULSE_RANGE, PUSH_DURATION, SECONDS_RANGE, START, Push
from sandbox.scenes.terrain import Terrain

Array = NDArray[np.float64]
Observation = NDArray[np.float32]

PUSH_INTERVAL = (3.0, 6.0)  # [s] from one push to the next
START_ATTEMPTS = 10  # a drawn body may fall before an episode begins, where it has to walk by then
UNSTABLE = "state is not finite"  # a fall's cause beside those of the plant


class Command(NamedTuple):
    """Speed [m/s] and heading rate [rad/s]."""

    speed: float
    heading_rate: float


class WalkerEnv(gymnasium.Env[NDArray[Any], NDArray[Any]]):
    """A walker in PyBullet; subclasses say what it is asked to do and what it is rewarded for.

    Args:
        render_mode: ``rgb_array``, ``human`` or None.
        action: action mode, see :mod:`sandbox.envs.actions`.
        anatomy: the body; 70 kg and 1.74 m by default.
        parameters: of planner and controller; the shipped ones by default.
        terrain: the ground; flat by default.
        policy_rate: control steps a second [Hz].
        physics_rate: physics steps a second [Hz], a whole multiple of ``policy_rate``; the walker was tuned at 480.
        episode_seconds: time after which an episode is truncated [s].
        push_force: largest force of the pushes at the chest [N], which last 0.2 s and come every 3 to 6 s; 0 for none.
        randomisation: what differs from episode to episode: a :class:`sandbox.envs.randomisation.Randomisation`, or its ranges by
            name, as in ``{"mass": (0.9, 1.1)}``. By default friction is drawn from 0.6 to 1.0, unless ``terrain`` is given.
        width, height: of a rendered picture, 16-4096 [pixels].

    Raises:
        ValueError: a value outside its range, an unknown name, or rates of which one is no multiple of the other.

    Attributes:
        plant, planner: the parts, for those who look inside; new ones where an episode brings another body or ground.
        action: the mode.
        action_rows, observation_rows: what the numbers are, with their physical range.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012  # Gymnasium's own annotation
    reset_options: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        action: str = "residual",
        anatomy: Anatomy | None = None,
        parameters: Parameters | None = None,
        terrain: Terrain | None = None,
        policy_rate: int = 30,
        physics_rate: int = 480,
        episode_seconds: float = 20.0,
        push_force: float = 0.0,
        randomisation: Randomisation | Mapping[str, Any] | None = None,
        width: int = 480,
        height: int = 360,
    ) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"unknown render mode {render_mode!r}{nearest(render_mode, modes)}")
        if not policy_rate > 0 or physics_rate % policy_rate:
            raise ValueError(
                f"a control step of 1/{policy_rate} s is no whole number of physics steps of 1/{physics_rate} s: "
                f"choose a physics_rate that is a multiple of policy_rate"
            )
        check_size(width, height)
        check_range("episode_seconds", episode_seconds, SECONDS_RANGE, "s")
        check_range("push_force", push_force, (0.0, IMPULSE_RANGE[1] / PUSH_DURATION), "N")
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": policy_rate}
        self.anatomy = anatomy or Anatomy()
        self.parameters = parameters or Parameters.load()
        self.push_force = push_force
        drawn = Randomisation.of(randomisation)
        self.randomisation = drawn if terrain is not None else with_drawn_friction(drawn)
        self.action, self._physics = action, Physics(rate=physics_rate)
        self._sole_force = np.zeros((2, 3, 3))
        self._view: View | None = None
        self._build(self.anatomy, terrain)
        self.action_rows = self._mode.rows
        self.observation_rows = observation_rows(self.anatomy)
        n = sum(row.size for row in self.action_rows)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (n,), np.float32)
        self.observation_space = space(self.observation_rows)
        self._low, self._high = bounds(self.observation_rows)
        self._noise = np.repeat([row.noise for row in self.observation_rows], [row.size for row in self.observation_rows])
        self._ticks = physics_rate // policy_rate
        self._step_time = 1.0 / policy_rate
        self._limit = max(1, round(episode_seconds * policy_rate))
        self._pending: list[tuple[float, Array]] = []
        self._latency = self._noise_scale = 0.0
        self._steps = 0
        self._running = self._closed = False
        self._asked = Command(0.0, 0.0)
        self._pushes: list[Push] = []
        self._start = np.zeros(3)
        self._last = np.zeros(len(self._low))
        self._size = (width, height)

    def _build(self, anatomy: Anatomy, terrain: Terrain | None) -> None:
        """A new world with a body in it, and who drives it."""
        plant = BulletPlant(anatomy, terrain, self._physics)
        try:
            planner = GaitPlanner(anatomy, self.parameters)
            mode = make_mode(self.action, plant, planner)
        except BaseException:
            plant.close()
            raise
        self.plant, self.planner, self._mode = plant, planner, mode
        self._gauge = Gauge(plant, planner)
        self._inverse_square = np.array([joint.max_torque**-2 for joint in anatomy.joints]) / len(anatomy.joints)
        self._torque_square = np.zeros(len(anatomy.joints))

    def _rebuild(self, anatomy: Anatomy, terrain: Terrain) -> None:
        """The same with another body or ground; the old world is given back."""
        self.plant.close()
        if self._view is not None:
            self._view.close()
            self._view = None
        self._build(anatomy, terrain)

    # -- what a task adds --------------------------------------------------------------------------------------------

    @abstractmethod
    def _draw_command(self, options: dict[str, Any]) -> Command:
        """Command of an episode, drawn from ``self.np_random`` and overridden by the options of ``reset``."""

    def _draw_terrain(self) -> Terrain | None:
        """The ground of an episode, drawn from ``self.np_random``; None leaves the one that is there."""
        return None

    def _lead(self) -> float:
        """Time [s] that the walker walks by itself, with zero action, before the episode begins; drawn from ``self.np_random``."""
        return 0.0

    @abstractmethod
    def _terms(self, outcome: Outcome) -> dict[str, float]:
        """Weighted terms, whose sum is the reward."""

    # -- Gymnasium's interface ---------------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Set the walker down, standing in a perturbed pose that follows from the seed.

        Raises:
            ValueError: an unknown option, or one outside its range.
        """
        self._check_open()
        options = options or {}
        for name in options:
            if name not in self.reset_options:
                known = nearest(name, self.reset_options) if self.reset_options else ": this environment takes none"
                raise ValueError(f"unknown option of reset {name!r}{known}")
        super().reset(seed=seed)
        start_seed = int(self.np_random.integers(2**31))
        asked = self._draw_command(options)
        self._asked = asked
        self._pushes = self._draw_pushes()
        draw = self.randomisation.draw(self.np_random, self.anatomy)
        terrain = self._draw_terrain()
        lead = self._lead()
        if terrain is not None or draw.anatomy != self.plant.anatomy:
            self._rebuild(draw.anatomy, terrain or self.plant.terrain)
        self.plant.torque_share = draw.torque_limits
        self._latency, self._noise_scale = draw.latency, draw.observation_noise
        self._set_down(start_seed, draw.friction)
        for attempt in range(START_ATTEMPTS if lead else 0):
            if attempt:
                self._set_down(int(self.np_random.integers(2**31)), draw.friction)
            self._walk_by_itself(lead)
            if self.plant.fall is None:
                break
        else:
            if lead:
                raise RuntimeError(f"the walker fell {START_ATTEMPTS} times before an episode began: ask for less, or a sturdier body")
        self._start[:] = self._gauge.com
        self._steps = 0
        self._running = True
        observation, _ = self._observation()
        if self.render_mode == "human":
            self._show()
        return observation, self._info(np.zeros(3)) | {"randomisation": draw._asdict()}

    def step(self, action: ArrayLike) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One control step.

        Args:
            action: (n,); values outside [-1, 1] are clipped, infinite ones too.

        Raises:
            ValueError: an action of another shape, or with NaN in it.
            ResetNeeded: before the first reset, or after a fall.
        """
        self._check_open()
        if not self._running:
            raise ResetNeeded("there is no episode, or its body has fallen: call reset()")
        taken = self._checked(action)
        plant, planner, mode, gauge = self.plant, self.planner, self._mode, self._gauge
        self._pending.append((plant.state.time + self._latency, taken))
        sole_force, push = self._sole_force, np.zeros(3)
        sole_force[:] = 0.0
        before = gauge.com.copy()
        state, dt = plant.state, plant.dt
        speed, heading_rate = self._command()  # it comes at a whole second, which is a whole number of control steps
        square = self._torque_square
        square[:] = 0.0
        ticks = 0
        while ticks < self._ticks and plant.fall is None:
            while self._pending and self._pending[0][0] <= state.time + 1e-9:
                mode.begin(self._pending.pop(0)[1])
            if self._pushes and (force := self._push()) is not None:
                push += force
            planner.update(plant.observe(), speed, heading_rate, dt)
            mode.tick()
            ticks += 1
            sole_force += state.sole_force
            square += state.tau * state.tau
        state.events.clear()
        sole_force /= ticks
        push /= ticks
        self._steps += 1
        observation, finite = self._observation()
        if finite:
            vx, vy, _ = ((gauge.com - before) / (ticks * dt)).tolist()
            heading = gauge.heading
            error = math.hypot(vx + speed * math.sin(heading), vy - speed * math.cos(heading))
            drift = math.dist(gauge.com[:2].tolist(), self._start[:2].tolist())
            turned = gauge.heading_error
            effort = min(float(square @ self._inverse_square) / ticks, 1.0)
        else:
            sole_force[:] = 0.0
            error, drift, turned, effort = math.inf, math.inf, math.pi, 1.0
        fell = plant.fall is not None or not finite
        outcome = Outcome(error, turned, drift, effort, float(taken @ taken) / len(taken), fell)
        terms = self._terms(outcome)
        info = self._info(push)
        info["reward_terms"] = terms
        if fell:
            self._running = False
            info["fall_cause"] = plant.fall.cause if finite and plant.fall is not None else UNSTABLE
        if self.render_mode == "human":
            self._show()
        return observation, sum(terms.values()), fell, not fell and self._steps >= self._limit, info

    def render(self) -> Picture | None:
        """The picture (height, width, 3) of the present state in ``rgb_array``; None in the other modes."""
        self._check_open()
        if self.render_mode is None:
            gymnasium.logger.warn('this environment has no render mode: give gymnasium.make(..., render_mode="rgb_array") or "human"')
            return None
        if not self._steps and not self._running:
            raise ResetNeeded("there is nothing to render yet: call reset()")
        return self._show()

    def close(self) -> None:
        """Release the engine and the page. May be called twice."""
        if self._closed:
            return
        self._closed, self._running = True, False
        if self._view is not None:
            self._view.close()
            self._view = None
        self.plant.close()

    # -- parts of a reset --------------------------------------------------------------------------------------------

    def _set_down(self, start_seed: int, friction: float | None) -> None:
        self._mode.reset()
        self.plant.reset(standing_pose(self.plant.anatomy, self.parameters.lumbar_flexion, start_seed), friction)
        self.planner.reset(self.plant.observe())
        self._pending.clear()
        self._sole_force[:] = 0.0

    def _walk_by_itself(self, seconds: float) -> None:
        plant, planner = self.plant, self.planner
        for _ in range(round(seconds / self._step_time)):
            command = self._command()
            self._sole_force[:] = 0.0
            for _ in range(self._ticks):
                planner.update(plant.observe(), *command, plant.dt)
                self._mode.tick()
                self._sole_force += plant.state.sole_force / self._ticks
            if plant.fall is not None:
                return
        plant.state.events.clear()

    # -- parts of a step ---------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedEnvironmentError("this environment was closed: make a new one")

    def _checked(self, action: ArrayLike) -> Array:
        values = np.asarray(action, dtype=np.float64)
        if values.shape != self.action_space.shape:
            raise ValueError(f"an action of shape {values.shape} does not fit the action space: give {self.action_space.shape}")
        if np.isnan(values).any():
            raise ValueError(f"the action holds NaN at {np.flatnonzero(np.isnan(values)).tolist()}: give numbers from -1 to 1")
        return np.clip(values, -1.0, 1.0)

    def _command(self) -> Command:
        """In force now: as in every scene, the walker stands for a second before it is asked for anything."""
        return self._asked if self.plant.state.time >= START - 1e-9 else Command(0.0, 0.0)

    def _draw_pushes(self) -> list[Push]:
        pushes: list[Push] = []
        if self.push_force > 0:
            time = float(self.np_random.uniform(*PUSH_INTERVAL))
            while time < self._limit * self._step_time:
                force, direction = self.np_random.uniform((0.0, -math.pi), (self.push_force, math.pi))
                pushes.append(Push(time, PUSH_DURATION, float(force), float(direction)))
                time += float(self.np_random.uniform(*PUSH_INTERVAL))
        return pushes

    def _push(self) -> Array | None:
        """Apply the push of the moment; its force (3,) [N]."""
        now = self.plant.state.time + 1e-9
        for push in self._pushes:
            if push.time <= now < push.time + push.duration:
                angle = self._gauge.heading + push.direction
                force = push.force * np.array([-math.sin(angle), math.cos(angle), 0.0])
                self.plant.push(force, push.link)
                return force
        return None

    def _observation(self) -> tuple[Observation, bool]:
        """A fresh observation, and whether the state is finite; where it is not, the last one that was."""
        self.plant.observe()
        values = self._gauge.read(self._sole_force, *self._command())
        finite = bool(np.isfinite(values).all())
        if finite:
            if self._noise_scale:
                values = values + self._noise_scale * self._noise * self.np_random.standard_normal(len(values))
            self._last = np.clip(values, self._low, self._high)
        return self._last.astype(np.float32), finite

    def _info(self, push: Array) -> dict[str, Any]:
        command = self._command()
        return {
            "time": self.plant.state.time,
            "speed_command": command.speed,
            "heading_rate_command": command.heading_rate,
            "ground_force": self._sole_force.sum(axis=1),
            "push": push,
        }

    def _show(self) -> Picture | None:
        if self._view is None:
            self._view = View(self.anatomy, self.plant.terrain, self.render_mode == "human", *self._size)
        return self._view.show(self.plant, self._command(), self._step_time)
