"""Which scenes the walker survives: every built-in scene over a few seeds, as it is when nothing else is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sandbox import __version__
from sandbox.bench.pool import run_all
from sandbox.config import nearest
from sandbox.console import markdown, silenced
from sandbox.controllers.parameters import Parameters
from sandbox.scenes.scene import SCENES, Options, build

FIRST_SEED = 19_900  # of those that tuning never sees


class Trial(NamedTuple):
    """One scene with one seed."""

    scene: str
    seed: int
    parameters: Parameters


class Outcome(NamedTuple):
    """How long it was survived [s] of how long [s], and why not longer; empty without a fall."""

    scene: str
    seed: int
    seconds: float
    survived_s: float
    cause: str


def run_trial(trial: Trial) -> Outcome:
    """One run."""
    with silenced():
        from sandbox.simulation import run

        scene = build(trial.scene, Options(seed=trial.seed))
        recording = run(scene, parameters=trial.parameters)
    fall = recording.header["fall"]
    return Outcome(trial.scene, trial.seed, scene.seconds, float(fall["time_s"]) if fall["fell"] else scene.seconds, fall["cause"] or "")


@dataclass(frozen=True)
class Survival:
    """What came out, in the order of scenes and seeds."""

    outcomes: tuple[Outcome, ...]
    params_hash: str

    def table(self) -> str:
        """Markdown, aligned to be read as it is."""
        rows = [("scene", "what is asked", "length", "survived", "falls, at the mean of")]
        for scene in dict.fromkeys(outcome.scene for outcome in self.outcomes):
            mine = [outcome for outcome in self.outcomes if outcome.scene == scene]
            falls = [outcome for outcome in mine if outcome.cause]
            at = f"{np.mean([outcome.survived_s for outcome in falls]):.1f} s" if falls else "-"
            rows.append((scene, SCENES[scene], f"{mine[0].seconds:g} s", f"{len(mine) - len(falls)} of {len(mine)}", at))
        return markdown(rows)

    def to_json(self) -> dict[str, Any]:
        """All outcomes, in plain JSON types."""
        return {"version": __version__, "params": self.params_hash, "outcomes": [outcome._asdict() for outcome in self.outcomes]}


def plan(scenes: Sequence[str], seeds: int, parameters: Parameters) -> list[Trial]:
    """``scenes`` (all where there is none) with ``seeds`` seeds from :data:`FIRST_SEED` each, the longest first.

    Raises:
        ValueError: an unknown scene, or no seed.
    """
    for name in scenes:
        if name not in SCENES:
            raise ValueError(f"unknown scene {name!r}{nearest(name, SCENES)}")
    if not 1 <= seeds <= 1000:
        raise ValueError(f"seeds {seeds} is outside 1-1000: give a number in that range")
    trials = [Trial(name, seed, parameters) for name in scenes or SCENES for seed in range(FIRST_SEED, FIRST_SEED + seeds)]
    return sorted(trials, key=lambda trial: -build(trial.scene).seconds)


def survival(trials: Sequence[Trial], workers: int = 2, progress: Callable[[int, str], None] | None = None) -> Survival:
    """Run them; ``progress`` is called with the number of runs made and a note on the falls."""
    outcomes: list[Outcome] = []
    for _, outcome in run_all(run_trial, trials, workers):
        outcomes.append(outcome)
        if progress is not None:
            progress(len(outcomes), f"{sum(1 for o in outcomes if o.cause)} fell")
    order = list(SCENES)
    outcomes.sort(key=lambda outcome: (order.index(outcome.scene), outcome.seed))
    return Survival(tuple(outcomes), trials[0].parameters.hash)
