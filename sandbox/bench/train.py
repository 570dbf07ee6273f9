"""Throughput of training: simulated seconds per CPU second of PPO, our walker beside other people's, the same PPO for all."""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sandbox.console import markdown, results_only, silenced
from sandbox.learn.training import PPOSettings

SETTINGS: Final = PPOSettings()  # those of `sandbox train`: eight environments in one process
LIMIT: Final = 0.6  # of the peer's throughput, at least
AIM: Final = 1.0
PEER: Final = "HumanoidBulletEnv-v0"
MUJOCO: Final = "Humanoid-v5"


class Throughput(NamedTuple):
    """Of one environment.

    Attributes:
        name: of the environment.
        rate: control steps a simulated second [Hz].
        simulated: [s], of all environments together.
        rollout, policy, update: CPU time [s] in the environments, in choosing actions and keeping books, and in updates.
        note: why there is nothing, where there is not.
    """

    name: str
    rate: float
    simulated: float
    rollout: float
    policy: float
    update: float
    note: str = ""

    @property
    def per_cpu_second(self) -> float | None:
        """Simulated seconds per CPU second."""
        spent = self.rollout + self.policy + self.update
        return self.simulated / spent if spent else None


def measure(rounds: int = 2, progress: Callable[[float], None] | None = None) -> list[Throughput]:
    """All environments, in turns of one rollout and its update, so that a busy machine slows all alike.

    Args:
        rounds: rollouts of each that are measured; one more, before them, compiles and fills caches.
        progress: called with the share that is done.
    """
    with results_only():  # the peer prints
        runs: list[_Run | Throughput] = [make() for make in (_ours, _peer, _mujoco)]
        for k in range(rounds + 1):
            for run in runs:
                if isinstance(run, _Run):
                    run.turn(counted=k > 0)
            if progress is not None:
                progress((k + 1) / (rounds + 1))
        return [run.result() if isinstance(run, _Run) else run for run in runs]


class _Run:
    """PPO on one environment, a rollout and an update at a time."""

    def __init__(self, name: str, rate: float, make: Callable[[], Any]) -> None:
        import torch
        from stable_baselines3 import PPO
        from stable_baselines3.common.callbacks import BaseCallback
        from stable_baselines3.common.vec_env import DummyVecEnv

        torch.set_num_threads(1)
        p = SETTINGS
        self.name, self.rate = name, rate
        self.simulated = self.inside = self.rollout = self.policy = self.update = 0.0
        run = self

        class Timed(DummyVecEnv):
            def step_wait(self) -> Any:
                start = time.process_time()
                try:
                    return super().step_wait()
                finally:
                    run.inside += time.process_time() - start

        class Watch(BaseCallback):
            def _on_rollout_start(self) -> None:
                run.began = time.process_time()

            def _on_rollout_end(self) -> None:
                run.ended = time.process_time()

            def _on_step(self) -> bool:
                return True

        self.began = self.ended = 0.0
        with silenced():
            self._env = Timed([make] * p.environments)
        self._model = PPO(
            "MlpPolicy", self._env, n_steps=p.rollout, batch_size=p.batch, n_epochs=p.epochs, learning_rate=p.learning_rate,
            gamma=p.discount, seed=0, device="cpu",
            policy_kwargs={"log_std_init": math.log(p.deviation), "net_arch": [p.hidden, p.hidden]},
        )  # fmt: skip
        self._watch = Watch()

    def turn(self, counted: bool) -> None:
        """One rollout with its update."""
        self.inside = 0.0
        with silenced():
            self._model.learn(SETTINGS.rollout * SETTINGS.environments, callback=self._watch, reset_num_timesteps=False)
        now = time.process_time()
        if counted:
            self.simulated += SETTINGS.rollout * SETTINGS.environments / self.rate
            self.rollout += self.inside
            self.update += now - self.ended
            self.policy += self.ended - self.began - self.inside

    def result(self) -> Throughput:
        self._env.close()
        return Throughput(self.name, self.rate, self.simulated, self.rollout, self.policy, self.update)


def _ours() -> _Run:
    import gymnasium

    def make() -> Any:
        return gymnasium.make("sandbox:Sandbox/Walk-v0")

    with silenced():
        import sandbox.plants.bullet  # noqa: F401  (prints when it is imported)
    return _Run("Sandbox/Walk-v0, residual", 30.0, make)


def _peer() -> _Run | Throughput:
    import gymnasium

    if importlib.util.find_spec("pybullet_envs_gymnasium") is None:
        return Throughput(PEER, 0.0, 0.0, 0.0, 0.0, 0.0, 'not installed: pip install "locomotion-sandbox[bench]"')
    with silenced():
        __import__("pybullet_envs_gymnasium")
        probe: Any = gymnasium.make(PEER).unwrapped
        probe.reset(seed=0)
        rate = 1.0 / float(probe.scene.dt)
        probe.close()
    return _Run(PEER, rate, lambda: gymnasium.make(PEER))


def _mujoco() -> _Run | Throughput:
    import gymnasium

    if importlib.util.find_spec("mujoco") is None:
        return Throughput(MUJOCO, 0.0, 0.0, 0.0, 0.0, 0.0, "not installed: pip install mujoco")
    probe: Any = gymnasium.make(MUJOCO).unwrapped
    rate = 1.0 / float(probe.dt)
    probe.close()
    return _Run(MUJOCO, rate, lambda: gymnasium.make(MUJOCO))


def ratio(results: list[Throughput]) -> float | None:
    """Our throughput over the peer's; None where either is missing."""
    ours, theirs = results[0].per_cpu_second, results[1].per_cpu_second
    return None if ours is None or theirs is None else ours / theirs


def table(results: list[Throughput]) -> str:
    """Markdown, aligned to be read as it is."""
    rows: list[tuple[str, ...]] = [
        ("environment", "policy rate", "simulated s per CPU s", "rollout", "policy", "update", "steps per CPU s"),
    ]
    for r in results:
        if r.per_cpu_second is None:
            rows.append((r.name, r.note, "", "", "", "", ""))
            continue
        spent = r.rollout + r.policy + r.update
        shares = [f"{100 * part / spent:.0f} %" for part in (r.rollout, r.policy, r.update)]
        rows.append((r.name, f"{r.rate:.1f} Hz", f"{r.per_cpu_second:.2f}", *shares, f"{r.per_cpu_second * r.rate:.0f}"))
    over = ratio(results)
    text = "" if over is None else f"\n\nOurs over {PEER}: {over:.2f} (at least {LIMIT:g}, aim {AIM:g})"
    return markdown(rows) + text


def to_json(results: list[Throughput]) -> dict[str, Any]:
    """Plain values."""
    return {"ratio": ratio(results), "environments": [r._asdict() | {"per_cpu_second": r.per_cpu_second} for r in results]}
