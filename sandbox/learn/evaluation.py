"""What a policy is worth: survival, return and speed beside zero action, on seeds and disturbances that training never saw.

Both walk the same episodes. Shares are given with Wilson's interval, differences with that of the paired difference (normal
approximation); both for 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from sandbox.console import markdown, silenced
from sandbox.learn.policy import Pilot, Policy
from sandbox.learn.training import HELD_OUT, TrainSettings

Z: Final = 1.96  # of 95 %
AFTER: Final = 6.0  # [s] that a push has been survived after
FIRST_SEED: Final = HELD_OUT + 1000  # the periodic evaluations of a training come before
GAIT_SPEED: Final = 1.0  # [m/s]
GAIT_SECONDS: Final = 20.0
GAIT_SEEDS: Final = 4  # walks that the gait's figures are means over
CHUNK: Final = 10  # episodes that a worker is sent at a time


class Episode(NamedTuple):
    """One episode: its seed, whether it saw no fall (after a push: within 6 s), its return, and its mean reward a step."""

    seed: int
    survived: bool
    total: float
    seconds: float


@dataclass(frozen=True)
class Work:
    """Episodes of one policy, to be run anywhere; zero action where there is none."""

    settings: dict[str, Any]
    policy: Policy | None
    seeds: Sequence[int]


def run_episodes(work: Work) -> list[Episode]:
    """All episodes of a piece of work, in its order."""
    with silenced():
        import sandbox.plants.bullet  # noqa: F401  (prints when it is imported)
    env = TrainSettings.from_json(work.settings).environment(held_out=True)
    zero = np.zeros(env.action_space.shape)
    out = []
    for seed in work.seeds:
        observation, info = env.reset(seed=seed)
        pushes: Sequence[Any] = getattr(env, "pushes", ())
        end = pushes[0].time + AFTER if len(pushes) == 1 else math.inf
        total, fell, truncated = 0.0, False, False
        while not fell and not truncated and info["time"] < end - 1e-9:
            observation, reward, fell, truncated, info = env.step(zero if work.policy is None else work.policy(observation))
            total += reward
        out.append(Episode(seed, not fell, total, info["time"]))
    env.close()
    return out


def wilson(successes: int, n: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    p, z2 = successes / n, Z * Z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def paired(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """Mean difference of pairs and its 95 % interval (normal approximation): mean, low, high."""
    d = np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float)
    half = Z * float(d.std(ddof=1)) / math.sqrt(len(d)) if len(d) > 1 else math.inf
    return float(d.mean()), float(d.mean()) - half, float(d.mean()) + half


class Gait(NamedTuple):
    """Undisturbed walking, mean over :data:`GAIT_SEEDS` walks: RMS of hip, knee and ankle from people [deg], relative speed error.

    None where the walker fell, or is no walker.
    """

    rms_deg: float | None
    speed_error: float | None


def measure_gait(settings: TrainSettings, policy: Policy | None) -> Gait:
    """Walk undisturbed at :data:`GAIT_SPEED` on held-out seeds, and measure the gait."""
    from sandbox.bodies.anatomy import Anatomy
    from sandbox.controllers.parameters import Parameters
    from sandbox.measure import gait_report, summary
    from sandbox.scenes.scene import Options, build
    from sandbox.simulation import run

    if policy is None and settings.action not in ("residual", "planner"):
        return Gait(None, None)
    parameters = None if settings.parameters is None else Parameters().replace(dict(settings.parameters))
    rms, error = [], []
    for k in range(GAIT_SEEDS):
        scene = build("walk", Options(speed=GAIT_SPEED, seconds=GAIT_SECONDS, seed=19_800 + k))
        recording = run(
            scene, anatomy=Anatomy(**settings.body), parameters=parameters,
            prepare=lambda simulation: Pilot(simulation, policy, settings.action),
        )  # fmt: skip
        value, mean = gait_report(recording)["rms_mean_deg"], summary(recording)["speed_mean_mps"]
        if recording.header["fall"]["fell"] or value is None or mean is None:
            return Gait(None, None)
        rms.append(float(value))
        error.append(float(mean) / GAIT_SPEED - 1.0)
    return Gait(float(np.mean(rms)), float(np.mean(error)))


class Evaluation(NamedTuple):
    """One policy beside zero action.

    Attributes:
        name: of the run.
        episodes, zero: theirs and those of zero action, pair by pair.
        gait, zero_gait: of undisturbed walking.
    """

    name: str
    episodes: tuple[Episode, ...]
    zero: tuple[Episode, ...]
    gait: Gait
    zero_gait: Gait

    def to_json(self) -> dict[str, Any]:
        """Figures, in plain JSON types."""
        n = len(self.episodes)
        out: dict[str, Any] = {"run": self.name, "episodes": n, "first_seed": self.episodes[0].seed}
        for name, episodes, gait in (("policy", self.episodes, self.gait), ("zero", self.zero, self.zero_gait)):
            survived = sum(e.survived for e in episodes)
            out[name] = {
                "survived": survived,
                "survival": survived / n,
                "survival_95": list(wilson(survived, n)),
                "return_mean": float(np.mean([e.total for e in episodes])),
                "gait_rms_deg": gait.rms_deg,
                "speed_error": gait.speed_error,
            }
        difference, low, high = paired([e.survived for e in self.episodes], [e.survived for e in self.zero])
        gain, worst, best = paired([e.total for e in self.episodes], [e.total for e in self.zero])
        out["survival_gain"], out["survival_gain_95"] = difference, [low, high]
        out["return_gain"], out["return_gain_95"] = gain, [worst, best]
        return out


def evaluate(
    runs: Sequence[tuple[str, TrainSettings, Policy]],
    episodes: int = 200,
    *,
    first_seed: int = FIRST_SEED,
    gait: bool = True,
    send: Callable[[Callable[[Work], list[Episode]], Sequence[Work]], Sequence[list[Episode]]] | None = None,
    progress: Callable[[int, str], None] | None = None,
) -> list[Evaluation]:
    """Evaluate policies. Those of equal environments share the episodes of zero action.

    Args:
        runs: name, settings and policy of each.
        episodes: of each, on the seeds from ``first_seed`` on.
        gait: whether undisturbed walking is measured too, for tasks that walk.
        send: runs pieces of work somewhere; in this process by default.
        progress: called with the episodes made and a note.
    """
    seeds = range(first_seed, first_seed + episodes)
    chunks = [tuple(seeds[k : k + CHUNK]) for k in range(0, episodes, CHUNK)]
    zeros: dict[str, tuple[tuple[Episode, ...], Gait]] = {}
    done, out = 0, []

    def play(settings: TrainSettings, policy: Policy | None, note: str) -> tuple[Episode, ...]:
        nonlocal done
        work = [Work(settings.to_json(), policy, chunk) for chunk in chunks]
        if send is not None:
            result = [e for part in send(run_episodes, work) for e in part]
            done += episodes
        else:
            result = []
            for piece in work:
                result += run_episodes(piece)
                done += len(piece.seeds)
                if progress is not None:
                    progress(done, f"{note}: {sum(e.survived for e in result)} of {len(result)} survived")
        if progress is not None:
            progress(done, note)
        return tuple(result)

    for name, settings, policy in runs:
        walks = gait and settings.task != "stand"
        key = repr(replace(settings, seed=0, ppo=TrainSettings().ppo, weights={}).to_json())
        if key not in zeros:
            zeros[key] = play(settings, None, "zero action"), measure_gait(settings, None) if walks else Gait(None, None)
        zero, zero_gait = zeros[key]
        theirs = play(settings, policy, name)
        out.append(Evaluation(name, theirs, zero, measure_gait(settings, policy) if walks else Gait(None, None), zero_gait))
    return out


def table(evaluations: Sequence[Evaluation]) -> str:
    """Markdown, aligned to be read as it is."""
    rows: list[tuple[str, ...]] = [
        ("policy", "survived", "95 %", "over zero action [points]", "95 %", "return", "gait RMS [deg]", "speed error")
    ]

    def row(name: str, values: Mapping[str, Any], gain: str, interval: str) -> tuple[str, ...]:
        low, high = values["survival_95"]
        rms, error = values["gait_rms_deg"], values["speed_error"]
        n = round(values["survived"] / values["survival"]) if values["survival"] else None
        share = f"{100 * values['survival']:.1f} %" + (f" ({values['survived']} of {n})" if n else "")
        return (
            name, share, f"{100 * low:.0f}-{100 * high:.0f} %", gain, interval, f"{values['return_mean']:.1f}",
            "-" if rms is None else f"{rms:.2f}", "-" if error is None else f"{100 * error:+.1f} %",
        )  # fmt: skip

    shown: set[int] = set()
    for evaluation in evaluations:
        figures = evaluation.to_json()
        if id(evaluation.zero) not in shown:
            shown.add(id(evaluation.zero))
            rows.append(row("zero action", figures["zero"], "", ""))
        low, high = figures["survival_gain_95"]
        rows.append(
            row(evaluation.name, figures["policy"], f"{100 * figures['survival_gain']:+.1f}", f"{100 * low:+.1f} to {100 * high:+.1f}")
        )
    return markdown(rows)
