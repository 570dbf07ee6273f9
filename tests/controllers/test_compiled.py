"""The compiled and the plain path give the same walk."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np

CODE = """
import json, sys
import numba
from sandbox.compiled import kernel
from sandbox.controllers.planner import WALK
from sandbox.scenes.scene import Command, Scene
from sandbox.simulation import Simulation

simulation = Simulation(Scene("test", (Command(0.0, 1.0),), 1.0), seed=1)
plan = simulation.planner.plan[0]
rows = []
for tick in range(48):
    if tick == 12:  # on to a step, so that swing and stance run within a tenth of a second
        plan.phase_start -= 1.0
    simulation.tick()
    state = simulation.plant.state
    rows.append([*state.q, *state.qd, *state.tau, *state.root_position, *state.root_velocity, float(plan.mode)])
simulation.close()
print(json.dumps({"plain": bool(numba.config.DISABLE_JIT), "walks": plan.mode == WALK, "rows": rows}, default=bool))
"""


def run(plain: bool) -> dict:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1" if plain else "0"}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=environment)
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["plain"] is plain
    assert result["walks"]
    return result


def test_the_plain_path_is_the_compiled_one() -> None:
    compiled, plain = (np.array(run(plain)["rows"]) for plain in (False, True))
    assert compiled.shape == (48, 3 * 27 + 7)
    assert np.abs(compiled[-1] - compiled[0]).max() > 0.01
    np.testing.assert_allclose(plain, compiled, rtol=0, atol=1e-9)
