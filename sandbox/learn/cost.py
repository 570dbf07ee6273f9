"""What a parameter set costs: rollouts of walks, pushes, starts and turns, each judged by one number.

A fall costs 10 to 20, the earlier the more. A case that is survived costs what its gait misses: speed, regularity, effort
and, where people were measured (24 young adults at 1.25 m/s), the distance of hip, knee and ankle from them. The norm is
therefore in the cost: the battery's RMS against it is a fit, not a prediction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sandbox.controllers.parameters import Parameters
from sandbox.measure import gait_report, summary
from sandbox.recording import Recording
from sandbox.scenes.scene import PUSH_DURATION, Command, Options, Push, Scene, build
from sandbox.simulation import run

FALL_COST = 10.0
TUNING_SEEDS = (1, 9_999)  # the battery draws from 10,000 on

# Weights of the terms of a survived walk.
SPEED_WEIGHT = 10.0  # per relative error of mean speed
REGULARITY_WEIGHT = 30.0  # per m of step length SD
TIMING_WEIGHT = 6.0  # per relative SD of stride time
ANGLE_WEIGHT = 0.25  # per degree RMS of hip, knee and ankle, mean, from 0.9 m/s on; 0.08 below
LANDING_WEIGHT = 1.0  # per body weight of landing peak above 1.3
DOUBLE_SUPPORT_WEIGHT = 8.0  # per share of the cycle short of 0.18
KNEE_WEIGHT = 0.08  # per degree outside the bands
EFFORT_WEIGHT = 0.8  # per cost of transport
SLIP_WEIGHT = 10.0  # per m of slip a stance


@dataclass(frozen=True)
class Case:
    """One rollout: ``kind`` is walk, push, start-stop, turn, change, slope, bumps or stand."""

    kind: str
    speed: float
    seed: int
    value: float = 0.0  # direction of a push [deg], heading rate [rad/s], slope [deg], height of bumps [m]
    force: float = 0.0  # of a push [N]

    def scene(self) -> tuple[Scene, int]:
        """Scene and seed of the rollout."""
        o = Options(speed=self.speed, seed=self.seed, seconds=10.0)
        if self.kind == "walk":
            scene = build("walk", o)
        elif self.kind in ("push", "stand"):
            start = 3.0 if self.kind == "stand" else 4.5 + 1.2 * (self.seed % 97) / 97
            push = Push(start, PUSH_DURATION, self.force, math.radians(self.value))
            base = build("walk" if self.kind == "push" else "stand", replace(o, seconds=start + 5.0))
            scene = replace(base, pushes=(push,))
        elif self.kind == "start-stop":
            scene = replace(build("walk", replace(o, seconds=11.0)), commands=(Command(1.0, self.speed), Command(5.5, 0.0)))
        elif self.kind == "change":
            commands = (Command(1.0, 0.6), Command(5.0, self.speed), Command(9.0, 0.6))
            scene = replace(build("walk", replace(o, seconds=12.0)), commands=commands)
        elif self.kind == "turn":
            scene = replace(build("walk", o), commands=(Command(1.0, self.speed), Command(3.5, self.speed, self.value)))
        elif self.kind == "slope":
            scene = build("slope", replace(o, angle=self.value))
        elif self.kind == "bumps":
            scene = build("bumps", replace(o, height=self.value, seconds=14.0))
        else:
            raise ValueError(f"unknown kind of case {self.kind!r}")
        return scene, self.seed


def cost(parameters: Parameters, case: Case) -> float:
    """Cost of one case, finite and not negative."""
    scene, seed = case.scene()
    recording = run(scene, parameters=parameters, seed=seed)
    fall = recording.header["fall"]
    if fall["fell"]:
        return FALL_COST * (2.0 - float(fall["time_s"]) / scene.seconds)
    if case.kind == "walk":
        return _walk_cost(recording, case.speed)
    if case.kind == "start-stop":
        end = recording.com_velocity[-60:, :2]
        still = float(np.sqrt((end**2).sum(axis=1)).max())
        return 4.0 if still > 0.2 else 0.0
    if case.kind == "turn":
        heading = np.unwrap(_yaw(recording))
        late = recording.time > 5.0
        rate = (heading[late][-1] - heading[late][0]) / (recording.time[late][-1] - recording.time[late][0])
        return 10.0 * max(abs(float(rate) / case.value - 1.0) - 0.05, 0.0)
    return 0.0


def _yaw(recording: Recording) -> np.ndarray:
    x, y, z, w = recording.root_quaternion.T
    return np.asarray(np.arctan2(2 * (x * y + z * w), 1 - 2 * (y * y + z * z)))


def _walk_cost(recording: Recording, speed: float) -> float:
    late = recording.time > 0.45 * recording.time[-1]
    y = recording.com[late]
    travelled = float(np.hypot(*(y[-1, :2] - y[0, :2]))) / float(recording.time[late][-1] - recording.time[late][0])
    total = SPEED_WEIGHT * max(abs(travelled / speed - 1.0) - 0.01, 0.0)
    total += SPEED_WEIGHT * 0.05 * abs(float(y[-1, 0] - y[0, 0]))  # sideways drift
    g = gait_report(recording)
    s = summary(recording)
    if g["rms_mean_deg"] is None:
        return total + 6.0

    def figure(name: str, missing: float) -> float:
        value = g[name]
        return missing if value is None else float(value)

    total += REGULARITY_WEIGHT * figure("step_length_sd_m", 0.1)
    total += TIMING_WEIGHT * figure("stride_time_sd_ms", 100.0) / 1000.0
    total += (ANGLE_WEIGHT if speed > 0.9 else 0.3 * ANGLE_WEIGHT) * float(g["rms_mean_deg"])
    total += LANDING_WEIGHT * max(figure("grf_landing_max_bw", 2.0) - 1.3, 0.0)
    total += DOUBLE_SUPPORT_WEIGHT * max(0.18 - figure("double_support_fraction", 0.0), 0.0)
    total += SLIP_WEIGHT * figure("foot_slip_m", 0.1)
    total += EFFORT_WEIGHT * float(s["cost_of_transport"] or 1.0)
    total += 2.0 * (1 - figure("heel_first_share", 0.0)) + 2.0 * (1 - figure("toe_last_share", 0.0))
    if speed > 0.9:
        for name, low, high in (("knee_loading_deg", 8.0, 26.0), ("knee_midstance_deg", 4.0, 18.0), ("knee_swing_deg", 48.0, 68.0)):
            value = figure(name, 0.0)
            total += KNEE_WEIGHT * (max(low - value, 0.0) + max(value - high, 0.0))
        total += KNEE_WEIGHT * max(figure("hip_range_deg", 60.0) - 50.0, 0.0)
        cadence, low, high = figure("cadence_spm", 0.0), figure("cadence_klaw_spm", 100.0), figure("cadence_wbds_spm", 110.0)
        total += 0.08 * (max(0.98 * low - cadence, 0.0) + max(cadence - 1.02 * high, 0.0))
        peaks = min(figure("grf_landing_bw", 0.0), figure("grf_push_off_bw", 0.0)) - figure("grf_valley_bw", 1.0)
        total += 5.0 * max(0.10 - peaks, 0.0)
    return total


def draw_cases(generation: int, kinds: tuple[str, ...]) -> list[Case]:
    """The cases of a generation: speeds, directions and seeds drawn afresh, the same for every candidate."""
    rng = np.random.default_rng([generation, 20_26])

    def seed() -> int:
        return int(rng.integers(*TUNING_SEEDS))

    out: list[Case] = []
    for kind in kinds:
        if kind == "walk":
            out += [Case("walk", round(float(v + rng.uniform(-0.1, 0.1)), 3), seed()) for v in (0.5, 0.9, 1.2, 1.45)]
        elif kind == "push":
            out += [Case("push", float(rng.uniform(0.8, 1.2)), seed(), float(rng.uniform(0, 360)), force) for force in (50.0, 100.0)]
        elif kind == "stand":
            out.append(Case("stand", 0.0, seed(), float(rng.choice([0.0, 180.0, rng.uniform(0, 360)])), float(rng.choice([50.0, 100.0]))))
        elif kind == "start-stop":
            out.append(Case("start-stop", float(rng.choice([0.6, 0.8, 1.2])), seed()))
        elif kind == "change":
            out.append(Case("change", 1.2, seed()))
        elif kind == "turn":
            out.append(Case("turn", 0.8, seed(), float(rng.choice([-0.3, 0.3]))))
        elif kind == "slope":
            out.append(Case("slope", 0.8, seed(), float(rng.choice([-3.0, 3.0]))))
        elif kind == "bumps":
            out.append(Case("bumps", 0.8, seed(), 0.02))
        else:
            raise ValueError(f"unknown kind of case {kind!r}")
    return out
