"""The preview of the swing path: it leads to the foothold, and leaves the plan alone."""

from __future__ import annotations

import numpy as np

from sandbox.scenes.scene import Options, build
from sandbox.simulation import Simulation


def test_the_path_leads_from_the_ankle_to_the_foothold() -> None:
    simulation = Simulation(build("walk", Options(speed=1.0)), plant="kinematic")
    seen = 0
    for k in range(480):
        simulation.tick()
        planner, plant = simulation.planner, simulation.plant
        before = planner.plan.copy()
        path = planner.swing_preview(plant.observe(), 16)
        assert planner.plan.tobytes() == before.tobytes(), "nothing is remembered"
        plan = planner.plan[0]
        left = plan.step_end - simulation.time
        if k < 120:
            assert len(path) == 0, "both feet stand"
        if len(path) and left > 0.1:
            seen += 1
            assert np.abs(path[-1, :2] - plan.foothold[:2]).max() < 0.02
            assert 0.05 < path[-1, 2] < 0.12, "the ankle is above the sole"
            away = np.linalg.norm(path[0] - plan.swing_position)
            assert away < 0.15, "it begins where the ankle is"
    assert seen > 50
    simulation.close()
