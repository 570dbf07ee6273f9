"""LO-009: dynamic stance.

Question: What changes when the root is carried by its stance leg instead of being moved? Which of the smallest models is worth having?

Method: The walker of LO-008 at 1.2 m/s (and 0.8), with three stance models for mid-hip: A kinematic, even motion and a cosine of height;
    B virtual-leg, an inverted pendulum on a rigid leg whose pivot travels along the foot; C telescoping, a mass on two spring-damper
    legs whose forces come and go over double support. Feet, clocks, footholds and arms are the same. Each model is a periodic
    orbit, as high as both legs reach. The ankle's guardrail is measured here, not enforced, so that nothing but the model moves the root.

Result: B keeps its leg's length to 1 mm and turns the velocity of mid-hip by 0.8 m/s at each change of support; a rigid touchdown takes
    0.27 J/kg there that the other leg must give back. C closes its orbit to 1e-8 without a jump, and rises and falls as people do.
    In both, mid-hip runs 0.2 m/s slower over the foot and faster between the feet, as people's does. Both sink deeper than A,
    and their ankles pass 16 degrees (B 18, C 25). All three stand on the same footholds at the same times: the timing is a march
    in each of them.

Limits: The orbits are of steady walking; the model takes over when the speed is reached. Ground force is of a point mass: C pulls its
    mass up with 2.6 body weights, people with 1.2. Nothing is felt: contacts are predicted.

Superseded by: nothing in this study; LO-010 reconstructs the published method that these models rediscover.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import REFERENCE
from sandbox.config import check_range
from sandbox.controllers.stance import PIVOT_TRAVEL, Orbit, StanceModel, check_model
from sandbox.conventions import GRAVITY
from sandbox.harness import Experiment, Outcome, Variant
from sandbox.measure.analysis import Analysis
from sandbox.measure.flow import flow, pops
from sandbox.mechanics import froude_number
from sandbox.plants.continuous import DT, ContinuousWalker, Plan, Snapshot, carried, film
from sandbox.report import plot
from sandbox.report.page import COLOURS, Subject, page_html
from sandbox.state import FEET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEADY = 11.0  # [s] after the command: the speed is reached, and the model has taken over
LOOSE = 0.7  # [rad] guardrail that no ankle meets


@dataclass(frozen=True)
class Parameters:
    """The walk.

    Attributes:
        model: of the stance: ``kinematic``, ``virtual-leg`` or ``telescoping``.
        speed: commanded from the start on [m/s], clamped to 0.4-2.0 m/s.
        seconds: duration.
        authority: share of mid-hip's motion that the model has, 0 to 1.

    Raises:
        ValueError: an unknown model, no speed, a duration outside 13..600 s, an authority outside 0..1.
    """

    model: StanceModel = "kinematic"
    speed: float = 1.2
    seconds: float = 15.0
    authority: float = 1.0

    def __post_init__(self) -> None:
        check_model(self.model)
        for name, low, high, unit in (("speed", 1e-3, 10.0, "m/s"), ("seconds", 13.0, 600.0, "s"), ("authority", 0.0, 1.0, "")):
            check_range(name, getattr(self, name), (low, high), unit)


@dataclass(frozen=True)
class Details:
    """The walker, the steady ticks, mid-hip (T, 2) forward and up [m] and its velocity [m/s], and the orbit (None of A)."""

    walker: ContinuousWalker
    walk: tuple[Snapshot, ...]
    hip: Array
    velocity: Array
    orbit: Orbit | None


def run(p: Parameters) -> Outcome[Details]:
    """Walk, and measure."""
    plan = Plan(guardrail=LOOSE, root=p.model, authority=p.authority)
    walker = ContinuousWalker(plan)
    walk = tuple(walker.tick(p.speed) for _ in range(round(p.seconds / DT)))
    recording = film(walker, walk, "dynamic stance")
    steady = walk[round(STEADY / DT) :]
    gait = plan.profile.gait(p.speed)
    orbit = None if p.model == "kinematic" else carried(p.model, gait, REFERENCE, plan.coordination)
    hip = np.array([(s.pelvis[1], s.pelvis[2]) for s in steady])
    wanted = np.array([s.wanted for s in steady])
    velocity = np.diff(hip, axis=0) / DT
    mass = REFERENCE.mass
    energy = mass * (0.5 * np.sum(velocity**2, axis=1) + GRAVITY * 0.5 * (hip[1:, 1] + hip[:-1, 1]))
    leg = length_of(steady, gait.double_support, gait.step_length) if orbit is not None else np.full(1, math.nan)
    swing = wanted[:, 1] - wanted[:, 1].mean()
    figures = flow(recording)
    dorsiflexion = np.degrees([recording.joint(f"{side}_ankle_dorsiflexion")[round(STEADY / DT) :] for side in FEET])
    metrics = {
        "speed_asked_mps": p.speed,
        "speed_mps": gait.speed,
        "step_length_m": float(np.median(np.diff(np.sort(recording.foothold_position[-6:, 1])))),
        "orbit_residual": math.nan if orbit is None else orbit.residual,
        "pivot_velocity_mps": PIVOT_TRAVEL / gait.duration if orbit is not None else 0.0,
        "leg_length_range_m": float(np.ptp(leg)),
        "root_authority": steady[-1].trust * (1 - float(np.std(hip[:, 1] - wanted[:, 1]) / np.std(swing))),
        "momentum_jump_ns": mass * float(np.linalg.norm(leaps(velocity), axis=1).max()),
        "energy_jump_j": float(np.abs(leaps(energy)).max()),
        "rigid_touchdown_loss_j": math.nan if orbit is None else mass * orbit.lost,
        "body_momentum_step_ns": float(figures["momentum_step_ns"]),
        "body_energy_step_j": float(figures["energy_step_j"]),
        "forward_speed_range_mps": float(np.ptp(velocity[:, 0])),
        "rise_and_fall_m": float(np.ptp(hip[:, 1])),
        "vertical_force_most_bw": 1 + float(np.diff(velocity[:, 1]).max()) / DT / GRAVITY,
        "dorsiflexion_highest_deg": float(dorsiflexion.max()),
        "reach_error_m": max(s.miss for s in steady),
        "pop_largest_deg": float(figures["pop_max_deg"]),
        "step_time_sd_s": float(np.std(np.diff(recording.event_time[recording.event_touchdown][-8:]))),
    }
    return Outcome(metrics, recording, Details(walker, steady, hip, velocity, orbit))


def leaps(values: Array) -> Array:
    """Jump (T - 4, ...) over the tick around each sample: a change of support lies within a tick, whose own velocity is of neither side."""
    before = 2 * values[1:-3] - values[:-4]
    after = 2 * values[3:-1] - values[4:]
    return np.asarray(after - before)


def length_of(walk: tuple[Snapshot, ...], double: float, step: float) -> Array:
    """Length (T,) [m] of the virtual leg from the travelling pivot of the foot that leads to mid-hip."""
    out = []
    for s in walk:
        phase = (2 * 0.5 * (s.phase[0] + s.phase[1] + 0.5)) % 1.0
        since = (phase - 0.5 * double) % 1.0
        pivot = s.root[0] + (step - PIVOT_TRAVEL) * (0.5 - since)
        out.append(math.hypot(s.pelvis[1] - pivot, s.pelvis[2]))
    return np.array(out)


# -- checks ------------------------------------------------------------------------------------------------------------------


def orbit_is_periodic(outcome: Outcome[Details]) -> bool:
    """The model's state after a step is the state before it, a step length ahead, to 1e-6."""
    return not outcome.metrics["orbit_residual"] > 1e-6


def legs_reach(outcome: Outcome[Details]) -> bool:
    """Both legs reach their feet all the time, to 1e-9 m."""
    return outcome.metrics["reach_error_m"] <= 1e-9


def the_model_has_its_authority(outcome: Outcome[Details]) -> bool:
    """Mid-hip is where the model wants it, but for 5 % of its rise and fall, as far as the model is asked."""
    asked = outcome.details.walker.plan.authority if outcome.details.orbit is not None else 0.0
    return abs(outcome.metrics["root_authority"] - asked) <= 0.05 * max(asked, 1.0)


def rigid_leg_keeps_its_length(outcome: Outcome[Details]) -> bool:
    """With full authority the rigid virtual leg is as long as ever, to 3 mm; where the reach of a leg bends the height, no more."""
    d = outcome.details
    rigid = d.orbit is not None and d.orbit.model == "virtual-leg" and d.walker.plan.authority == 1
    return not rigid or outcome.metrics["leg_length_range_m"] <= 0.003


def only_the_rigid_leg_jumps(outcome: Outcome[Details]) -> bool:
    """Mid-hip's momentum jumps at a change of support on the rigid leg by what the orbit says (within 15 %), otherwise by under 10 N s."""
    d = outcome.details
    if d.orbit is not None and d.orbit.model == "virtual-leg":
        said = d.walker.plan.authority * REFERENCE.mass * d.orbit.jump
        return abs(outcome.metrics["momentum_jump_ns"] - said) <= 0.15 * said
    return outcome.metrics["momentum_jump_ns"] <= 10.0


# -- comparisons -------------------------------------------------------------------------------------------------------------


def same_footholds_at_the_same_times(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """A, B and C put their feet on the same places (1e-6 m) at the same ticks."""
    walks = [outcomes[name].recording for name in ("A-kinematic", "B-virtual-leg", "C-telescoping")]
    assert all(walk is not None for walk in walks)
    first = walks[0]
    assert first is not None
    return all(
        walk is not None
        and np.array_equal(walk.event_time, first.event_time)
        and np.allclose(walk.foothold_position[:, 1], first.foothold_position[:, 1], rtol=0, atol=1e-6)
        for walk in walks[1:]
    )


def carried_roots_slow_down_over_the_foot(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """A moves evenly; B and C change speed by 0.2 to 0.6 m/s within a step."""
    ranges = {name[0]: outcomes[name].metrics["forward_speed_range_mps"] for name in ("A-kinematic", "B-virtual-leg", "C-telescoping")}
    return ranges["A"] < 0.01 and all(0.2 <= ranges[name] <= 0.6 for name in "BC")


# -- figures and pages -------------------------------------------------------------------------------------------------------


def figures(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, Figure]:
    """Side by side: the body over one step, height, speed and leg length."""
    shown = {name: o for name, o in outcomes.items() if not name.endswith(("slow", "half"))} or dict(outcomes)
    figure = plot.blank(13, 8.4, "LO-009: root models side by side, one step from touchdown to touchdown")
    grid = figure.add_gridspec(4, len(shown), height_ratios=(2.2, 1, 1, 1))
    for column, (name, outcome) in enumerate(shown.items()):
        d, recording = outcome.details, outcome.recording
        assert recording is not None
        gait = d.walker.plan.profile.gait(outcome.metrics["speed_mps"])
        down = recording.event_time[recording.event_touchdown & (recording.event_time > STEADY + 0.1)]
        start, rows = round(float(down[0]) / DT) - 1, round(gait.duration / DT)
        bodies = figure.add_subplot(grid[0, column], title=name)
        for k in range(4):
            row = start + round(k * rows / 3)
            plot.draw_body(bodies, recording, row, "side", shift=0.75 * k - float(recording.root_position[row, 1]))
        bodies.axhline(0, color=plot.INK, lw=0.8, zorder=0)
        bodies.set(xlim=(-0.6, 2.9), ylim=(-0.05, 1.9), aspect="equal")
        bodies.set_axis_off()
        at = start - round(STEADY / DT)
        span = slice(at, at + 2 * rows)
        steps = np.arange(2 * rows) / rows
        height, speed, leg = (figure.add_subplot(grid[k, column]) for k in (1, 2, 3))
        height.plot(steps, 1000 * d.hip[span, 1], color="#2c6fbb")
        height.set(ylim=(840, 930), ylabel="mid-hip height [mm]" if not column else "")
        speed.plot(steps, d.velocity[span, 0], color="#2c6fbb", label="forward")
        speed.plot(steps, d.velocity[span, 1], color="#d8602c", label="up")
        speed.set(ylim=(-0.6, 1.8), ylabel="velocity [m/s]" if not column else "")
        lengths = length_of(d.walk[span], gait.double_support, gait.step_length)
        leg.plot(steps, 1000 * lengths, color="#2c6fbb")
        leg.set(ylim=(850, 990), ylabel="virtual leg [mm]" if not column else "", xlabel="steps")
        if not column:
            speed.legend(loc="center right", fontsize=7)
    return {"side-by-side": figure}


def pages(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, str]:
    """The walks side by side, to play, with their curves beside people's."""
    subjects: list[Subject] = []
    for name, outcome in outcomes.items():
        if outcome.recording is not None and not name.endswith(("slow", "half")):
            analysis = Analysis.of(outcome.recording, "contact")
            colour = COLOURS[len(subjects) % len(COLOURS)]
            subjects.append(Subject(name, analysis, flow=flow(outcome.recording), pops=pops(outcome.recording), colour=colour))
    if not subjects:
        return {}
    speed = next(iter(outcomes.values())).metrics["speed_mps"]
    return {"side-by-side": page_html("LO-009: root models", subjects, froude_number(speed, REFERENCE.leg_length), about="The same feet.")}


EXPERIMENT = Experiment(
    run=run,
    variants=(
        Variant("A-kinematic", Parameters(), "even motion: LO-008's root"),
        Variant("B-virtual-leg", Parameters("virtual-leg"), "a rigid virtual leg"),
        Variant("C-telescoping", Parameters("telescoping"), "compliant telescoping legs"),
        Variant("B-half", Parameters("virtual-leg", authority=0.5), "the rigid virtual leg with half the authority"),
        Variant("A-slow", Parameters(speed=0.8), "A at 0.8 m/s"),
        Variant("B-slow", Parameters("virtual-leg", 0.8), "B at 0.8 m/s"),
        Variant("C-slow", Parameters("telescoping", 0.8), "C at 0.8 m/s"),
    ),
    checks=(
        orbit_is_periodic,
        legs_reach,
        the_model_has_its_authority,
        rigid_leg_keeps_its_length,
        only_the_rigid_leg_jumps,
    ),
    comparisons=(same_footholds_at_the_same_times, carried_roots_slow_down_over_the_foot),
    figures=figures,
    pages=pages,
)
