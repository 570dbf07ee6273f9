"""Opens the view of an experiment: what the harness knows of it, in the words of the view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sandbox.config import nearest

if TYPE_CHECKING:
    from sandbox.harness import Outcome
    from sandbox.viewer.experiment import ExperimentView, Shown


def open_experiment(name: str, preset: str | None, host: str, port: int) -> ExperimentView:
    """The view of the experiment ``name``, beginning with a preset or variant.

    Raises:
        ValueError: no such experiment, preset or variant; or one that has nothing to show.
    """
    from sandbox.harness import catalogue, changed, find, flat
    from sandbox.viewer.experiment import ExperimentView

    entry = find(name, catalogue())
    experiment = entry.load()
    variants = {variant.name: variant.about for variant in experiment.variants}

    def numbers(variant: str) -> Mapping[str, float]:
        values = flat(experiment.variant(variant).parameters)
        return {key: value for key, value in values.items() if isinstance(value, int | float) and not isinstance(value, bool)}

    def run(variant: str, values: Mapping[str, float]) -> Shown:
        parameters = experiment.variant(variant).parameters
        known = flat(parameters)
        changes = [f"{key}={int(value) if isinstance(known[key], int) else value!r}" for key, value in values.items() if key in known]
        return shown(experiment.run(changed(parameters, changes)), entry.title)

    variant = next(iter(variants))
    presets: Mapping[str, float] = {}
    if preset is not None:
        wanted = _same(preset)
        found = [each for each in variants if _same(each) == wanted]
        if found:
            variant, preset = found[0], None
        else:
            presets = run(variant, {}).presets
            names = [each for each in presets if _same(each) == wanted]
            if not names:
                raise ValueError(f"{entry.short} has no preset or variant {preset!r}{nearest(preset, [*presets, *variants])}")
            preset = names[0]
    return ExperimentView(entry.title, variants, numbers, run, variant, preset, host, port)


def _same(name: str) -> str:
    """A name without case and separators."""
    return "".join(c for c in name.lower() if c.isalnum())


def shown(outcome: Outcome[Any], title: str) -> Shown:
    """What the view takes of an outcome. Raises ValueError where there is nothing to see."""
    from sandbox.viewer.experiment import Shown

    recording = outcome.recording
    if recording is None:
        raise ValueError(f"{title} has no recording: nothing in it can be looked at")
    names = list(recording.header.get("settings", {}).get("presets") or [])
    rows = len(recording)
    starts = {name: round(k * rows / len(names)) for k, name in enumerate(names)}
    presets = {name: float(recording.time[row]) for name, row in starts.items()}
    requested, solved = _targets(outcome, starts, rows)
    return Shown(recording, outcome.metrics, presets, requested, solved)


def _targets(outcome: Outcome[Any], starts: Mapping[str, int], rows: int) -> tuple[Any, Any]:
    """Markers that poses were asked for and that they have, where the details of the experiment keep both."""
    poses = getattr(outcome.details, "poses", None)
    if not isinstance(poses, Mapping) or not starts or set(starts) - set(poses):
        return None, None
    if not all(hasattr(pose, "target") and hasattr(pose, "ankles") for pose in poses.values()):
        return None, None
    requested, solved = np.zeros((rows, 3, 3)), np.zeros((rows, 3, 3))
    for name, row in starts.items():
        pose = poses[name]
        requested[row:] = np.vstack((pose.target.pelvis, pose.target.ankles))
        solved[row:] = np.vstack((pose.pelvis, pose.ankles))
    return requested, solved
