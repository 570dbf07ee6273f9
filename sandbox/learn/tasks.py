"""Tasks that a policy can be trained for, by the names of the command line, and what an environment must be for a policy to fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sandbox import __version__
from sandbox.bodies.anatomy import Anatomy
from sandbox.config import nearest
from sandbox.controllers.parameters import Parameters
from sandbox.envs.actions import mode_rows
from sandbox.envs.observations import observation_rows


class Task(NamedTuple):
    """An environment: its id, what it is about, and the settings under which a policy is evaluated, beside those of its training."""

    id: str
    about: str
    evaluation: Mapping[str, Any]


# A policy for pushes is judged by one push each, met in a walk that the policy itself has walked from standing.
TASKS: Final[dict[str, Task]] = {
    "walk": Task("Sandbox/Walk-v0", "walk at a commanded speed and heading rate", {}),
    "stand": Task("Sandbox/Stand-v0", "stand still and take pushes", {}),
    "push-recovery": Task(
        "Sandbox/PushRecovery-v0",
        "walk on after hard pushes",
        {"lead": (0.0, 0.0), "first_push": (4.0, 5.2), "next_push": None, "episode_seconds": 11.5},
    ),
    "start-stop": Task("Sandbox/StartStop-v0", "stand, walk, stop, stand", {}),
    "uneven": Task("Sandbox/Uneven-v0", "walk over bumps that nobody sees", {}),
}


def task(name: str) -> Task:
    """The task of a name. Raises ValueError for an unknown one (the nearest is suggested)."""
    if name not in TASKS:
        raise ValueError(f"unknown task {name!r}{nearest(name, TASKS)}")
    return TASKS[name]


def make(name: str, settings: Mapping[str, Any], *, held_out: bool = False) -> Any:
    """The environment of a task, without Gymnasium's wrappers; ``held_out`` as it is evaluated.

    Raises:
        ValueError: an unknown task, or a setting that its environment does not take.
    """
    import gymnasium

    about = task(name)
    env: Any = gymnasium.make(about.id, **(dict(settings) | (dict(about.evaluation) if held_out else {}))).unwrapped
    return env


def signature_of(body: Anatomy, parameters: Parameters, action: str, policy_rate: float) -> dict[str, Any]:
    """What a policy depends on, in plain JSON types: version, body, walker, what it sees and what it moves."""
    return {
        "version": __version__,
        "body": {"mass_kg": body.mass, "height_m": body.height, "sex": body.sex, "proportions": [list(p) for p in body.proportions]},
        "params_hash": parameters.hash,
        "action": action,
        "actions": [list(row[:5]) for row in mode_rows(action, body)],
        "observations": [list(row[:5]) for row in observation_rows(body)],
        "policy_rate_hz": policy_rate,
    }


def signature(env: Any) -> dict[str, Any]:
    """The same of an environment."""
    return signature_of(env.anatomy, env.parameters, env.action, env.metadata["render_fps"])


_WORDS: Final = {
    "version": "version",
    "body": "body",
    "params_hash": "parameters",
    "action": "action mode",
    "actions": "table of actions",
    "observations": "table of observations",
    "policy_rate_hz": "policy rate",
}


def check_signature(source: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Raise ValueError unless what was trained fits what is there; the message names the first difference."""
    for key, word in _WORDS.items():
        if theirs.get(key) != ours[key]:
            long = key in ("actions", "observations")
            said = "" if long else f" ({_short(theirs.get(key))}, here {_short(ours[key])})"
            raise ValueError(f"{source} was trained with another {word}{said}: train it anew, or run it with what it was trained with")


def _short(value: Any) -> str:
    if not isinstance(value, dict):
        return f"{value}"
    return ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in value.items() if v != [])
