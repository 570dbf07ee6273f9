"""PPO (Schulman et al. 2017, in Stable-Baselines3) on top of the walker that already walks.

A run is a folder::

    settings.json   what was asked for, and what the environment was
    policy.npz      the policy as plain numbers, for `sandbox evaluate` and `sandbox run --policy`
    progress.csv    a line for every part of the training
    checkpoint/     model, normaliser of observations and step count, from which --resume goes on
    tensorboard/    the same curves for TensorBoard

A training is made of parts of a few rollouts. Every part starts its episodes and its random numbers afresh, from the seed and
the number of steps made before, so that a training that was killed and resumed gives the policy that it would have given.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from sandbox.config import check_range, nearest
from sandbox.files import written_whole
from sandbox.learn.policy import FILE, Policy
from sandbox.learn.tasks import check_signature, make, signature, task

if TYPE_CHECKING:
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

SETTINGS, PROGRESS, CHECKPOINT, TENSORBOARD = "settings.json", "progress.csv", "checkpoint", "tensorboard"
PART: Final = 8  # rollouts between two checkpoints
ROOM: Final = 200 * 2**20  # [bytes] that a training may need on the disk: checkpoints and their successors, curves
EVALUATION_EPISODES: Final = 12  # of a periodic evaluation
SEED_RANGE: Final = (0, 10**6)
# Seeds of episodes below this are for training; evaluations begin here.
HELD_OUT: Final = 10**9
STEPS_RANGE: Final = (1, 10**9)


class PPOSettings(NamedTuple):
    """Of the algorithm.

    Attributes:
        environments: stepped in one process.
        rollout: control steps of each environment between two updates.
        batch, epochs: of an update.
        learning_rate: of Adam.
        discount, gae: gamma and lambda of generalised advantage estimation.
        clip: of the ratio of probabilities.
        deviation: standard deviation of the actions at first, of their range's half.
        hidden: units of the two layers of policy and value.
    """

    environments: int = 8
    rollout: int = 256
    batch: int = 256
    epochs: int = 10
    learning_rate: float = 3e-4
    discount: float = 0.97
    gae: float = 0.95
    clip: float = 0.2
    deviation: float = 0.22
    hidden: int = 64


@dataclass(frozen=True)
class TrainSettings:
    """What a training is.

    Attributes:
        task: see :data:`sandbox.learn.tasks.TASKS`.
        action: mode of the actions.
        seed: of everything that is drawn.
        settings: further arguments of the environment, by name, in plain JSON types.
        weights: of the reward's terms, those that differ from the environment's own.
        body: mass [kg], height [m] and sex, those that differ from the default body.
        parameters: of the walker, by name; the shipped ones where it is None.
        ppo: of the algorithm.
    """

    task: str = "push-recovery"
    action: str = "residual"
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, float] | None = None
    ppo: PPOSettings = field(default_factory=PPOSettings)

    def __post_init__(self) -> None:
        task(self.task)
        check_range("seed", self.seed, SEED_RANGE)
        p = self.ppo
        for name, value, bounds in (
            ("environments", p.environments, (1, 1024)),
            ("rollout", p.rollout, (8, 100_000)),
            ("batch", p.batch, (2, p.rollout * p.environments)),
            ("epochs", p.epochs, (1, 1000)),
            ("learning rate", p.learning_rate, (1e-8, 1.0)),
            ("discount", p.discount, (0.0, 1.0)),
        ):
            check_range(name, value, bounds)

    def environment(self, **changes: Any) -> Any:
        """The environment to train in, without wrappers; ``changes`` as :func:`sandbox.learn.tasks.make` takes them.

        Raises:
            ValueError: what no such environment can be.
        """
        from sandbox.bodies.anatomy import Anatomy
        from sandbox.controllers.parameters import Parameters
        from sandbox.envs.rewards import StandWeights, WalkWeights

        kind = StandWeights if self.task == "stand" else WalkWeights
        names = list(kind.__dataclass_fields__)
        for name in self.weights:
            if name not in names:
                raise ValueError(f"unknown weight {name!r} of the reward of {self.task}{nearest(name, names)}")
        parameters = None if self.parameters is None else Parameters().replace(dict(self.parameters))
        given = {
            "action": self.action,
            "weights": kind(**self.weights),
            "anatomy": Anatomy(**self.body),
            "parameters": parameters,
            **self.settings,
        }
        return make(self.task, given, **changes)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "ppo": self.ppo._asdict()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TrainSettings:
        """Inverse of :meth:`to_json`."""
        return cls(**{**values, "ppo": PPOSettings(**values["ppo"])})


class Report(NamedTuple):
    """How a part of the training went.

    Attributes:
        steps: made so far.
        episodes: ended in this part; return_mean, length_s and fell: their mean return, length and share of falls.
        success: share of the episodes of an evaluation on held-out seeds that saw no fall; return_evaluated: their mean return.
        deviation: of the actions.
        steps_per_s: of wall clock, this part, evaluation left out.
    """

    steps: int
    episodes: int
    return_mean: float
    length_s: float
    fell: float
    success: float
    return_evaluated: float
    deviation: float
    steps_per_s: float


def read_settings(folder: Path) -> tuple[TrainSettings, dict[str, Any]]:
    """Settings of a run and the signature of its environment.

    Raises:
        ValueError: the folder holds no run.
    """
    path = folder / SETTINGS
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return TrainSettings.from_json(stored["settings"]), stored["signature"]
    except OSError:
        raise ValueError(f"{folder} holds no training ({SETTINGS} is missing): give the folder that `sandbox train` wrote") from None
    except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError(f"{path} is not what `sandbox train` writes: give the folder of a training") from None


def check_room(folder: Path, needed: int = ROOM) -> None:
    """Raise ValueError unless the disk of ``folder``, which exists or can be made, has room for ``needed`` bytes."""
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ValueError(f"the disk of {folder} has {free / 2**20:.0f} MB left, and this may need {needed / 2**20:.0f} MB: make room")


class Training:
    """A training in a folder, begun or resumed.

    Args:
        folder: of the run; made where it is missing.
        settings: what to train; None resumes what the folder holds.

    Raises:
        ValueError: nothing to resume, another version or body, a folder that holds a run already, or a full disk.
    """

    def __init__(self, folder: Path, settings: TrainSettings | None = None) -> None:
        self.folder = folder
        resume = settings is None
        check_room(folder)
        if settings is None:
            settings, theirs = read_settings(folder)
        elif (folder / SETTINGS).exists():
            raise ValueError(f"{folder} holds a training already: go on with --resume, or give another folder")
        self.settings = settings
        env = settings.environment()
        ours = signature(env)
        self._step_time = 1.0 / env.metadata["render_fps"]
        env.close()
        if resume:
            check_signature(str(folder), theirs, ours)
        self._signature = ours
        self._state = folder / CHECKPOINT / "state.json"
        if resume and not self._state.exists():
            raise ValueError(f"{folder} was stopped before its first checkpoint: remove it, and begin anew")
        self.steps: int = json.loads(self._state.read_text(encoding="utf-8"))["steps"] if resume else 0
        self._resume = resume

    def run(self, steps: int, progress: Callable[[int, str], None] | None = None) -> Policy:
        """Train until ``steps`` control steps have been made in all, and return the policy.

        Args:
            steps: rounded up to whole rollouts.
            progress: called with the steps made and a note, after every control step of all environments.
        """
        import torch

        torch.set_num_threads(1)  # small matrices: threads cost more than they bring
        model, normal = self._load() if self._resume else self._new()
        try:
            if not self._resume:
                self._write_settings(steps)
                self._save(model, normal)
            while self.steps < steps:
                self._part(model, normal, steps, progress)
            return self._policy(model, normal)
        finally:
            normal.close()

    # -- parts -------------------------------------------------------------------------------------------------------

    def _environments(self) -> Any:
        from stable_baselines3.common.monitor import Monitor
        from stable_baselines3.common.vec_env import DummyVecEnv

        return DummyVecEnv([lambda: Monitor(self.settings.environment()) for _ in range(self.settings.ppo.environments)])

    def _new(self) -> tuple[PPO, VecNormalize]:
        import math

        import torch
        from stable_baselines3 import PPO
        from stable_baselines3.common.vec_env import VecNormalize

        p = self.settings.ppo
        normal = VecNormalize(self._environments(), gamma=p.discount)
        model = PPO(
            "MlpPolicy", normal, n_steps=p.rollout, batch_size=p.batch, n_epochs=p.epochs, learning_rate=p.learning_rate,
            gamma=p.discount, gae_lambda=p.gae, clip_range=p.clip, seed=self.settings.seed, device="cpu",
            policy_kwargs={"log_std_init": math.log(p.deviation), "net_arch": [p.hidden, p.hidden]},
        )  # fmt: skip
        # The first policy is the walker itself: what walks already is not to be learned.
        last: Any = model.policy.action_net
        torch.nn.init.zeros_(last.weight)
        torch.nn.init.zeros_(last.bias)
        return model, normal

    def _load(self) -> tuple[PPO, VecNormalize]:
        from stable_baselines3 import PPO
        from stable_baselines3.common.vec_env import VecNormalize

        here = self._state.parent / json.loads(self._state.read_text(encoding="utf-8"))["name"]
        normal = VecNormalize.load(str(here / "normaliser.pkl"), self._environments())
        return PPO.load(here / "model.zip", env=normal, device="cpu"), normal

    def _part(self, model: PPO, normal: VecNormalize, steps: int, progress: Callable[[int, str], None] | None) -> None:
        from stable_baselines3.common.logger import configure
        from stable_baselines3.common.utils import set_random_seed

        p = self.settings.ppo
        rollout = p.rollout * p.environments
        rollouts = min(PART, -(-(steps - self.steps) // rollout))
        rng = np.random.default_rng([self.settings.seed, self.steps])
        set_random_seed(int(rng.integers(2**31)))
        normal.seed(int(rng.integers(HELD_OUT - p.environments)))
        model._last_obs = None  # begins new episodes
        watch = _watch(progress, self.steps, steps)
        model.set_logger(configure(str(self.folder / TENSORBOARD), ["tensorboard"]))
        began = time.monotonic()
        model.learn(rollouts * rollout, callback=watch, reset_num_timesteps=False, log_interval=1)
        spent = time.monotonic() - began
        self.steps = model.num_timesteps
        policy = self._policy(model, normal)
        success, returned = self._evaluate(policy)
        nan = float("nan")
        ended = watch.ended
        report = Report(
            self.steps,
            len(ended),
            float(np.mean([e["r"] for e in ended])) if ended else nan,
            float(np.mean([e["l"] for e in ended])) * self._step_time if ended else nan,
            watch.fell / len(ended) if ended else nan,
            success,
            returned,
            float(np.exp(model.policy.log_std.detach().numpy()).mean()),
            rollouts * rollout / spent,
        )
        for name, value in (("success", success), ("return", returned)):
            model.logger.record(f"evaluation/{name}", value)
        model.logger.dump(self.steps)
        model.logger.close()
        self._write_progress(report)
        self._save(model, normal)
        if progress is not None:
            progress(self.steps, watch.note(success))

    def _evaluate(self, policy: Policy) -> tuple[float, float]:
        """Success and mean return of a few episodes on held-out seeds, of the mean action."""
        env = self.settings.environment(held_out=True)
        survived, returns = 0, []
        for k in range(EVALUATION_EPISODES):
            observation, _ = env.reset(seed=HELD_OUT + k)
            total, ended, fell = 0.0, False, False
            while not ended:
                observation, reward, fell, truncated, _ = env.step(policy(observation))
                total += reward
                ended = fell or truncated
            survived += not fell
            returns.append(total)
        env.close()
        return survived / EVALUATION_EPISODES, float(np.mean(returns))

    def _policy(self, model: PPO, normal: VecNormalize) -> Policy:
        def numbers(layer: Any) -> tuple[Any, Any]:
            return tuple(tensor.detach().numpy().astype(np.float64) for tensor in (layer.weight, layer.bias))

        network = model.policy.mlp_extractor.policy_net
        layers = (*(numbers(layer) for layer in network if hasattr(layer, "weight")), numbers(model.policy.action_net))
        s = self.settings
        header = {"signature": self._signature, "settings": s.to_json(), "steps": self.steps}
        statistics: Any = normal.obs_rms
        return Policy(header, statistics.mean.copy(), statistics.var.copy(), layers)

    # -- files -------------------------------------------------------------------------------------------------------

    def _write_settings(self, steps: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        stored = {"settings": self.settings.to_json(), "steps": steps, "signature": self._signature}
        with written_whole(self.folder / SETTINGS) as temporary:
            temporary.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")

    def _write_progress(self, report: Report) -> None:
        path = self.folder / PROGRESS
        rows: list[dict[str, Any]] = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                # what a killed training wrote after its last checkpoint is made again
                rows = [row for row in csv.DictReader(file) if int(row["steps"]) < report.steps]
        with written_whole(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, Report._fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows([*rows, {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in report._asdict().items()}])

    def _save(self, model: PPO, normal: VecNormalize) -> None:
        """A checkpoint beside the last one, which counts from the moment that the state names it."""
        name = f"{self.steps}"
        here = self._state.parent / name
        here.mkdir(parents=True, exist_ok=True)
        model.save(here / "model.zip")
        normal.save(str(here / "normaliser.pkl"))
        self._policy(model, normal).save(self.folder / FILE)
        with written_whole(self._state) as temporary:
            temporary.write_text(json.dumps({"steps": self.steps, "name": name}), encoding="utf-8")
        for other in self._state.parent.iterdir():
            if other.is_dir() and other.name != name:
                shutil.rmtree(other)


def _watch(progress: Callable[[int, str], None] | None, done: int, whole: int) -> Any:
    """The callback of a part: counts episodes, and tells of the progress."""
    from stable_baselines3.common.callbacks import BaseCallback

    class Watch(BaseCallback):
        def __init__(self) -> None:
            super().__init__()
            self.ended: list[dict[str, float]] = []
            self.fell = 0
            self.began = time.monotonic()

        def note(self, success: float | None = None) -> str:
            rate = (self.num_timesteps - done) / max(time.monotonic() - self.began, 1e-9)
            text = f"{rate:.0f} steps/s"
            if self.ended:
                text += f", return {np.mean([e['r'] for e in self.ended[-50:]]):.1f}"
            return text if success is None else f"{text}, {100 * success:.0f} % of held-out episodes without a fall"

        def _on_step(self) -> bool:
            for over, info in zip(self.locals["dones"], self.locals["infos"], strict=True):
                if over:
                    self.ended.append(info["episode"])
                    self.fell += "fall_cause" in info
            if progress is not None:
                progress(min(self.num_timesteps, whole), self.note())
            return True

    return Watch()


def quiet() -> None:
    """Keep libraries that training brings from using more threads than they are worth, or from talking."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
