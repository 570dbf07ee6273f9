"""Policies as files of plain numbers, and what drives a simulation with one. Neither needs the library that trained it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.envs.actions import make_mode
from sandbox.envs.observations import Gauge, observation_rows
from sandbox.envs.tables import bounds
from sandbox.files import written_whole
from sandbox.simulation import Simulation

Array = NDArray[np.float64]

FORMAT = "locomotion-sandbox policy"
FILE = "policy.npz"
CLIP = 10.0  # standard deviations that an observation counts for at most
EPSILON = 1e-8  # added to variances


@dataclass(frozen=True)
class Policy:
    """A network of tanh layers that gives the mean action.

    Attributes:
        header: what it was trained for, in plain JSON types; ``signature`` is what an environment must be.
        mean, variance: (n,) of the observations that training saw.
        layers: weights (out, in) and biases (out,), first to last; tanh between them.
    """

    header: Mapping[str, Any]
    mean: Array
    variance: Array
    layers: tuple[tuple[Array, Array], ...]

    def __call__(self, observation: NDArray[Any]) -> Array:
        """Action (m,) in [-1, 1] for an observation (n,)."""
        x = np.clip((observation - self.mean) / np.sqrt(self.variance + EPSILON), -CLIP, CLIP)
        for weight, bias in self.layers[:-1]:
            x = np.tanh(weight @ x + bias)
        weight, bias = self.layers[-1]
        return np.clip(weight @ x + bias, -1.0, 1.0)

    def save(self, path: Path) -> None:
        """Write a file that loads with numpy alone, whole or not at all."""
        arrays = {f"{name}{k}": value for k, pair in enumerate(self.layers) for name, value in zip(("weight", "bias"), pair, strict=True)}
        header = json.dumps({"format": FORMAT, **self.header, "layers": len(self.layers)})
        with written_whole(path) as temporary:
            np.savez(temporary, header=header, mean=self.mean, variance=self.variance, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> Policy:
        """The policy in a file, or in the folder of a training.

        Raises:
            ValueError: it is not there, or not a policy.
        """
        file = path / FILE if path.is_dir() else path
        try:
            with np.load(file, allow_pickle=False) as stored:
                header = json.loads(stored["header"].item())
                if header.get("format") != FORMAT:
                    raise KeyError("format")
                layers = tuple((stored[f"weight{k}"], stored[f"bias{k}"]) for k in range(header["layers"]))
                return cls(header, stored["mean"], stored["variance"], layers)
        except FileNotFoundError:
            raise ValueError(f"{file} does not exist: give the folder that `sandbox train` wrote, or the file {FILE} in it") from None
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError):
            raise ValueError(f"{file} is not a policy: give the folder that `sandbox train` wrote, or the file {FILE} in it") from None


class Pilot:
    """Drives a simulation with a policy, as its environment would: an action every control step, held in between.

    Args:
        simulation: on the physical plant, not yet begun; it is given this pilot.
        policy: gets the observation (n,) and gives an action in [-1, 1]; zero action without one.
        action: mode of the actions, see :mod:`sandbox.envs.actions`.
        rate: actions a second [Hz], of which the physics rate is a whole multiple.
    """

    def __init__(self, simulation: Simulation, policy: Policy | None, action: str = "residual", rate: float = 30.0) -> None:
        plant: Any = simulation.plant
        if not hasattr(plant, "terrain") or not hasattr(plant, "apply"):
            raise ValueError("a policy drives the physical body: take --plant bullet")
        self._plant, self._policy = plant, policy
        self._mode = make_mode(action, plant, simulation.planner)
        self._gauge = Gauge(plant, simulation.planner)
        self._low, self._high = bounds(observation_rows(plant.anatomy))
        self._every = round(1.0 / (rate * plant.dt))
        self._zero = np.zeros(sum(row.size for row in self._mode.rows))
        self._force = np.zeros((2, 3, 3))
        self._tick = 0
        simulation.pilot = self

    def begin(self, speed: float, heading_rate: float) -> None:
        """At the start of a tick, before the planner is updated: take a new action where one is due."""
        if self._tick % self._every == 0:
            self._plant.observe()
            values = self._gauge.read(self._force / self._every, speed, heading_rate)
            seen = np.clip(values, self._low, self._high).astype(np.float32)
            self._mode.begin(self._zero if self._policy is None else self._policy(seen))
            self._force[:] = 0.0
        self._tick += 1

    def follow(self) -> None:
        """One physics step under the action."""
        self._mode.tick()
        self._force += self._plant.state.sole_force


def pilot(simulation: Simulation, policy: Policy) -> Pilot:
    """Have a simulation driven by a policy as it was trained."""
    signature = policy.header["signature"]
    return Pilot(simulation, policy, signature["action"], signature["policy_rate_hz"])
