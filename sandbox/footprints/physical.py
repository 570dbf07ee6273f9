"""The gait as reference of the physical plant: its speed, step time, and the rise and fall of mid-hip over the step.

Balance stays with the shipped planner and controller: where a foot has to go so that the body does not fall is not in the prints. So the
physical body walks with the footprints' step time, speed and pelvis path, and its steps come out as balance lets them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sandbox.controllers.parameters import Parameters
from sandbox.controllers.planner import KLAW_STEP
from sandbox.controllers.stance import Rise, fourier
from sandbox.conventions import GRAVITY
from sandbox.measure import summary
from sandbox.scenes.scene import Options, build
from sandbox.simulation import Simulation

if TYPE_CHECKING:
    from sandbox.footprints.generate import Generated

SECONDS = 20.0
FASTEST = 2.0  # [m/s] that the planner is asked for


class GaitRise(Rise):
    """Rise and fall of mid-hip over a step, of one gait at every speed."""

    def __init__(self, heights: np.ndarray[Any, np.dtype[np.float64]], speed: float) -> None:
        self.model = "virtual-leg"
        self.speeds = np.array([speed])
        self.coefficients = fourier(heights)[None, :]


def walk_physically(made: Generated, seconds: float = SECONDS, seed: int = 0) -> dict[str, Any]:
    """How long, how far and how fast the physical body walks with this gait as its reference.

    Raises:
        ValueError: a body that the project does not have, or a gait that is not one straight walk below 2 m/s.
    """
    body = made.anatomy.human
    if body is None:
        raise ValueError(f"the physical plant has no body of {made.anatomy.name}: give --anatomy human")
    if not made.symmetric or not 0.2 <= made.speed <= FASTEST:
        raise ValueError(
            f"the physical plant takes a straight walk of equal steps at 0.2 to 2 m/s, this one has {made.speed:.2f} m/s: change the prints"
        )
    parameters = Parameters.load()
    usual = 60.0 / math.sqrt(60 * made.speed / (KLAW_STEP * body.height))
    parameters = parameters.replace({"step_time_factor": made.step_time / usual})
    simulation = Simulation(build("walk", Options(speed=made.speed, seconds=seconds)), body, "bullet", parameters, seed, "footprints")
    time, strikes = made.walk.time, [t for t, _ in made.walk.strikes]
    middle = len(strikes) // 2
    at = np.linspace(strikes[middle - 1], strikes[middle], 60, endpoint=False)
    heights = np.interp(at, time, made.walk.root[:, 2]) / body.leg_length
    simulation.planner._carrying = GaitRise(heights, made.speed / math.sqrt(GRAVITY * body.leg_length))
    try:
        for _ in range(round(seconds / simulation.plant.dt)):
            simulation.tick()
            if simulation.fall is not None:
                break
        recording = simulation.recording()
    finally:
        simulation.close()
    s = summary(recording)
    length = s.get("step_length_m")
    return {
        "fell": s["fell"], "fall_cause": s["fall_cause"], "survived_s": round(float(s["survived_s"]), 2),
        "distance_m": round(float(np.linalg.norm(recording.root_position[-1, :2] - recording.root_position[0, :2])), 2),
        "speed_mps": round(float(s["speed_mean_mps"] or 0.0), 3), "step_length_m": None if length is None else round(float(length), 3),
        "asked_step_length_m": round(made.steps[0].length, 3), "asked_step_width_m": round(made.steps[0].width, 3),
        "step_width_m": None if s.get("step_width_m") is None else round(float(s["step_width_m"]), 3),
    }  # fmt: skip
