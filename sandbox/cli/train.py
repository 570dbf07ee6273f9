"""`sandbox train` and `sandbox evaluate`: policies on top of the walker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from sandbox.cli.common import (
    DONE,
    FAILED,
    STDOUT,
    STOPPED,
    JsonOption,
    ParamsOption,
    SetOption,
    SexOption,
    check_folder,
    check_output,
    checking,
    json_text,
    load_engine,
    need,
    option,
    read_parameters,
    results,
    write_text,
)
from sandbox.console import Progress

RandomiseOption = Annotated[
    tyro.conf.UseAppendAction[tuple[str, ...]],
    option(
        "WHAT=LOW:HIGH",
        "draw for every episode: friction, mass, segment_lengths, torque_limits (factors), latency [s], observation_noise; repeatable",
        default=False,
    ),
]
WeightOption = Annotated[
    tyro.conf.UseAppendAction[tuple[str, ...]],
    option("TERM=X", "weight of a term of the reward; may be repeated", default=False),
]


def read_pairs(name: str, texts: Sequence[str], example: str) -> dict[str, str]:
    """What KEY=VALUE options say. Raises ValueError for one that is no such pair."""
    out = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key or not value:
            raise ValueError(f"--{name} {text!r} cannot be read: for instance --{name} {example}")
        out[key] = value
    return out


def number(name: str, key: str, text: str) -> float:
    """A number that was typed. Raises ValueError."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--{name} {key}: {text!r} is not a number") from None


@dataclass(frozen=True)
class Train:
    """Train a policy with PPO on top of the walker. Ctrl-C keeps the last checkpoint; --resume goes on from it."""

    out: Annotated[Path, option("DIR", "folder of the run", default=False)]
    task: Annotated[str, option("TASK", "walk, stand, push-recovery, start-stop or uneven")] = "push-recovery"
    steps: Annotated[int, option("N", "control steps in all, of 1/30 s")] = 100_000
    seed: Annotated[int, option("N", "of everything that is drawn")] = 0
    resume: Annotated[bool, tyro.conf.arg(help="go on with the run in --out; only --steps may change")] = False
    action: Annotated[
        Literal["residual", "planner", "joint", "torque"],
        tyro.conf.arg(help="residual: added to the planner's pose; planner: to its parameters; joint, torque: without the planner"),
    ] = "residual"
    randomise: RandomiseOption = ()
    weight: WeightOption = ()
    environments: Annotated[int, option("N", "stepped in one process")] = 8
    rollout: Annotated[int, option("N", "steps of each environment between two updates")] = 256
    learning_rate: Annotated[float, option("X", "of Adam")] = 3e-4
    mass: Annotated[float, option("KG", "mass of the body, 30-200")] = 70.0
    height: Annotated[float, option("M", "height of the body, 1.20-2.20")] = 1.74
    sex: SexOption = "mean"
    params: ParamsOption = None
    changes: SetOption = ()

    def execute(self) -> int:
        """Train, and return the exit code."""
        with checking():
            need("training needs", "torch", "stable_baselines3", "tensorboard")
            load_engine()
            from sandbox.config import check_range
            from sandbox.learn.training import STEPS_RANGE, Training, quiet

            check_range("steps", self.steps, STEPS_RANGE)
            if self.out.exists() and not self.out.is_dir():
                raise ValueError(f"--out {self.out} is not a folder: give the name of one")
            check_folder("--out", self.out)
            quiet()
            training = Training(self.out, None if self.resume else self._settings())
            if training.steps >= self.steps:
                raise ValueError(f"{self.out} has made {training.steps} steps already: ask for more than that with --steps")
        try:
            with Progress(f"train {training.settings.task}", self.steps, "steps", "loading") as progress:
                training.run(self.steps, progress)
        except KeyboardInterrupt:
            print(f"stopped; {training.steps} steps are kept. Go on with: sandbox train --resume --out {self.out} --steps {self.steps}")
            return STOPPED
        print(f"{training.steps} steps; policy, curves and checkpoint in {self.out}. Next: sandbox evaluate {self.out}")
        return DONE

    def _settings(self) -> Any:
        from sandbox.envs.randomisation import Randomisation
        from sandbox.learn.training import PPOSettings, TrainSettings

        ranges: dict[str, list[float]] = {}
        for key, text in read_pairs("randomise", self.randomise, "mass=0.9:1.1").items():
            low, _, high = text.partition(":")
            ranges[key] = [number("randomise", key, low), number("randomise", key, high or low)]
        Randomisation.of({key: tuple(ends) for key, ends in ranges.items()})
        weights = {key: number("weight", key, text) for key, text in read_pairs("weight", self.weight, "fall=20").items()}
        body = {"mass": self.mass, "height": self.height, "sex": self.sex}
        parameters = None
        if self.params is not None or self.changes:
            from dataclasses import asdict

            parameters = asdict(read_parameters(self.params, self.changes)[0])
        rows = self.environments * self.rollout
        ppo = PPOSettings(
            environments=self.environments, rollout=self.rollout, batch=min(256, rows), learning_rate=self.learning_rate
        )  # fmt: skip
        settings = {"randomisation": ranges} if ranges else {}
        return TrainSettings(self.task, self.action, self.seed, settings, weights, body, parameters, ppo)


@dataclass(frozen=True)
class Evaluate:
    """Compare policies with zero action, on seeds and disturbances that training never saw."""

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], option("DIR", "folders that `sandbox train` wrote", default=False)]
    episodes: Annotated[int, option("N", "of each policy and of zero action")] = 200
    no_gait: Annotated[bool, tyro.conf.arg(help="leave out the gait of undisturbed walking")] = False
    cluster: Annotated[str | None, option("ADDRESS", "of a scheduler, whose workers run the episodes (sandbox cluster)", default=False)] = (
        None
    )
    workers: Annotated[int, option("N", "processes on this machine")] = 1
    json: JsonOption = None

    def execute(self) -> int:
        """Evaluate, and return the exit code."""
        with checking():
            load_engine()
            from sandbox.config import check_range
            from sandbox.learn.evaluation import evaluate, table
            from sandbox.learn.policy import Policy
            from sandbox.learn.pool import connect
            from sandbox.learn.tasks import check_signature, signature
            from sandbox.learn.training import TrainSettings

            if not self.runs:
                raise ValueError("no run to evaluate: give the folder that `sandbox train` wrote")
            check_range("episodes", self.episodes, (2, 10**6))
            check_range("workers", self.workers, (1, 256))
            if self.json not in (None, STDOUT):
                check_output("--json", Path(str(self.json)))
            loaded = []
            for folder in self.runs:
                policy = Policy.load(folder)
                settings = TrainSettings.from_json(policy.header["settings"])
                env = settings.environment()
                ours = signature(env)
                env.close()
                check_signature(str(folder), policy.header["signature"], ours)
                loaded.append((str(folder), settings, policy))
            pool = None if self.cluster is None and self.workers == 1 else connect(self.cluster, self.workers)
        whole = self.episodes * (len(loaded) + 1)
        with results(self.json) as (out, words):
            try:
                with Progress("evaluate", whole, "episodes") as progress:
                    send = None if pool is None else pool.map
                    found = evaluate(loaded, self.episodes, gait=not self.no_gait, send=send, progress=progress)
            finally:
                if pool is not None:
                    pool.close()
            report = {"evaluations": [evaluation.to_json() for evaluation in found]}
            if self.json == STDOUT:
                out.write(json_text(report))
            elif self.json is not None:
                write_text(Path(self.json), json.dumps(report, indent=2, allow_nan=False) + "\n")
            print(table(found), file=words)
        return DONE if found else FAILED
