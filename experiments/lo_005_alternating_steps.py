"""LO-005: alternating steps.

Question: Does the one-step transaction repeat, left and right in turn, when each step starts from where the last one ended? What
    does repetition ask of the timing that a single step did not?

Method: 4, 6 and 8 steps of 0.28 m and 0.82 s. Ankles and pelvis are carried in world space from step to step, so that the trailing
    foot travels 0.56 m from the second step on. At each handoff the last pose of a step is compared with the first of the next. The
    neutral pelvis is 5 mm below straight legs, fixed in LO-003 before this experiment.

Result: Handoffs are exact, planted feet do not slip, no knee flips, and it stops after the last step. But the whole-step
    pelvis of LO-004 pushes the trailing, still flat swing foot beyond the 16 degrees of the ankle on step 2: first 16.09 at
    phase 0.225 (the study's document: 16.19 at phase 0.1917), at most 21.95. Moving the pelvis with the swing foot alone is not
    enough: first 16.35 (document: 16.04), at most 21.31. Front-loading the transfer, v = u + u (1 - u), with 0.038 m of lift is:
    15.13 at most.

Limits: Flat feet, one cadence, one step length; the pelvis stops and starts in every step. The retained timing holds for a
    neutral pelvis up to 7.9 mm below straight legs: deeper, the ankle passes 16 degrees again.

Superseded by: LO-006 for other speeds, LO-007 for a walk that does not stop at each step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import NEUTRAL_DROP, REFERENCE, Region
from sandbox.bodies.standing import Pose, StandingSolver
from sandbox.config import check_range
from sandbox.controllers.steps import MOST_STEPS, Instant, Stage, StepPlan, StepSequence, foot_of
from sandbox.harness import Experiment, Outcome, Variant
from sandbox.recording import Recording
from sandbox.report import plot
from sandbox.state import FEET, LEFT, RIGHT, ContactState, SolePart
from sandbox.trajectory import Event, Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CENTRAL = (0.2, 0.8)  # share of the swing over which the least clearance is taken, as in LO-004
RETAINED = StepPlan(lift=0.038, transfer="front-loaded", pelvis="with-swing")


@dataclass(frozen=True)
class Parameters:
    """The steps.

    Attributes:
        plan: how each is made.
        steps: how many.
        first: ``left`` or ``right``, the foot that steps first.
        drop: neutral pelvis below straight legs [m], at most 10 mm; fixed in LO-003, not chosen here.
        samples: instants of each step, its start not counted: the document's phases are multiples of 1/120.

    Raises:
        ValueError: another foot, no step or more than 10,000, a drop beyond 10 mm, fewer than 10 or more than 10,000 samples.
    """

    plan: StepPlan = field(default_factory=lambda: RETAINED)
    steps: int = 6
    first: str = "right"
    drop: float = NEUTRAL_DROP
    samples: int = 120

    def __post_init__(self) -> None:
        foot_of(self.first)
        check_range("steps", self.steps, (1, MOST_STEPS))
        check_range("drop", self.drop, (0.0, 0.010), "m")
        check_range("samples", self.samples, (10, 10_000))


@dataclass(frozen=True)
class Details:
    """The solver, and by instant: where in the sequence it is, the pose, dorsiflexion of both ankles [deg] (T, 2)."""

    solver: StandingSolver
    sequence: StepSequence
    instants: tuple[Instant, ...]
    poses: tuple[Pose, ...]
    dorsiflexion: Array


def run(p: Parameters) -> Outcome[Details]:
    """Make the steps, and measure them."""
    solver = StandingSolver(neutral_drop=p.drop)
    sequence = StepSequence(solver, p.plan, p.steps, foot_of(p.first))
    instants = tuple(sequence.instants(p.samples))
    poses = tuple(instant.step.pose(instant.phase) for instant in instants)
    dorsiflexion = np.degrees([[solver.angle(pose, f"{side}_ankle_dorsiflexion") for side in FEET] for pose in poses])
    guardrail = math.degrees(solver.envelopes["ankle_dorsiflexion"].outer[1])
    row, foot = np.unravel_index(int(dorsiflexion.argmax()), dorsiflexion.shape)
    beyond = np.flatnonzero(dorsiflexion.max(axis=1) > guardrail)
    first = int(beyond[0]) if len(beyond) else None

    slip, clearance = [], []
    for instant, pose in zip(instants, poses, strict=True):
        step = instant.step
        slip.append(float(np.linalg.norm(solver.point(pose, f"{FEET[step.planted]}_ankle") - step.start.ankles[step.planted])))
        if CENTRAL[0] <= step.swing_share(instant.phase) <= CENTRAL[1]:
            clearance.append(float(solver.point(pose, f"{FEET[step.swing]}_toe_tip")[2]))
    ends = range(p.samples, len(instants) - 1, p.samples + 1)  # last instant of each step but the last
    handoffs = [poses[k + 1].points - poses[k].points for k in ends]
    ankles = poses[-1].ankles
    metrics = {
        "slip_m": max(slip),
        "handoff_joint_delta_m": max((float(np.linalg.norm(d, axis=1).max()) for d in handoffs), default=0.0),
        "handoff_pelvis_delta_m": max((float(np.linalg.norm(poses[k + 1].pelvis - poses[k].pelvis)) for k in ends), default=0.0),
        "knee_ahead_least_m": min(solver.knee_ahead(pose, leg) for pose in poses for leg in (LEFT, RIGHT)),
        "toe_clearance_central_m": min(clearance, default=math.nan),
        "reach_error_m": max(float(pose.miss.max()) for pose in poses),
        "dorsiflexion_highest_deg": float(dorsiflexion[row, foot]),
        "first_violation_step": math.nan if first is None else instants[first].number + 1,
        "first_violation_phase": math.nan if first is None else instants[first].phase,
        "first_violation_deg": math.nan if first is None else float(dorsiflexion[first].max()),
        "distance_m": float(ankles[:, 1].max()),
        "trailing_m": float(ankles[:, 1].max() - ankles[:, 1].min()),
    }
    details = Details(solver, sequence, instants, poses, dorsiflexion)
    return Outcome(metrics, film(details, p), details)


def film(details: Details, p: Parameters) -> Recording:
    """The walk; the first instant of a step, which is the last of the one before, is left out."""
    rows = [k for k, instant in enumerate(details.instants) if instant.phase > 0 or instant.number == 0]
    poses, plan = [details.poses[k] for k in rows], p.plan
    time = np.arange(len(rows)) * plan.duration / p.samples
    contact = np.full((len(rows), 2), ContactState.FLAT)
    for at, k in enumerate(rows):
        instant = details.instants[k]
        if instant.step.stage(instant.phase) is Stage.SWING:
            contact[at, instant.step.swing] = ContactState.AIRBORNE
    events, footholds = [], []
    for number, step in enumerate(details.sequence.steps):
        begin = number * plan.duration
        events.append(Event(begin + plan.liftoff * plan.duration, step.swing, False, SolePart.BALL))
        events.append(Event(begin + plan.touchdown * plan.duration, step.swing, True, SolePart.BALL))
        footholds.append((begin, step.swing, step.end.ankles[step.swing]))
    trajectory = Trajectory(REFERENCE, time, np.array([pose.pelvis for pose in poses]), np.array([pose.q for pose in poses]))
    speed = {"speed_mps": plan.step_length / plan.duration}
    return trajectory.recording("alternating steps", contact, events, footholds, speed)


# -- checks ------------------------------------------------------------------------------------------------------------------


def ankle_stays_within_the_guardrail(outcome: Outcome[Details]) -> bool:
    """Dorsiflexion of either ankle is at most the 16 degrees of LO-001."""
    return math.isnan(outcome.metrics["first_violation_deg"]) and outcome.metrics["dorsiflexion_highest_deg"] <= 16


def other_joints_stay_within_the_guardrails(outcome: Outcome[Details]) -> bool:
    """No axis of either leg but the ankle's dorsiflexion leaves its outer envelope."""
    d = outcome.details
    regions = [(joint, region) for pose in d.poses for joint, region in d.solver.regions(pose).items()]
    return all(region is not Region.OUTSIDE or joint.endswith("ankle_dorsiflexion") for joint, region in regions)


def planted_feet_do_not_slip(outcome: Outcome[Details]) -> bool:
    """Each planted ankle stays where its step found it, to 1e-9 m."""
    return outcome.metrics["slip_m"] <= 1e-9


def handoffs_are_continuous(outcome: Outcome[Details]) -> bool:
    """From the end of a step to the start of the next no joint moves by more than 1e-12 m, nor does the pelvis."""
    return max(outcome.metrics["handoff_joint_delta_m"], outcome.metrics["handoff_pelvis_delta_m"]) <= 1e-12


def knees_never_flip(outcome: Outcome[Details]) -> bool:
    """Both knees are ahead of the hip-ankle line at every instant."""
    return outcome.metrics["knee_ahead_least_m"] > 0


def toe_clears_the_ground(outcome: Outcome[Details]) -> bool:
    """Over the middle 60 % of every swing the toe tip is at least 10 mm above the ground."""
    return outcome.metrics["toe_clearance_central_m"] >= 0.010


def feet_alternate_and_land_a_step_length_ahead(outcome: Outcome[Details]) -> bool:
    """The feet step in turn, each landing a step length ahead of the other, to 1e-9 m: the first one half as far as the others."""
    d = outcome.details
    length, steps = d.sequence.plan.step_length, d.sequence.steps
    turns = all(b.swing == a.planted for a, b in itertools.pairwise(steps))
    travel = [step.end.ankles[step.swing, 1] - step.start.ankles[step.swing, 1] for step in steps]
    wanted = [length] + [2 * length] * (len(steps) - 1)
    return turns and np.allclose(travel, wanted, rtol=0, atol=1e-9) and outcome.metrics["reach_error_m"] <= 1e-9


def it_stops_after_the_last_step(outcome: Outcome[Details]) -> bool:
    """Run by its own clock, the sequence hands off once between steps, finishes in the last one, and stays there."""
    d = outcome.details
    count, plan = d.sequence.count, d.sequence.plan
    sequence = StepSequence(d.solver, plan, count, d.sequence.steps[0].swing)
    ticks = math.ceil(count * plan.duration * 120)
    early = False
    for tick in range(ticks + 100):
        sequence.advance(1 / 120)
        early = early or (sequence.finished and (tick + 1) / 120 < count * plan.duration - 1e-9)
    resting = sequence.step.pose(sequence.phase)
    stopped = sequence.finished and sequence.handoffs == count - 1 and sequence.sequence_phase == 1.0
    return stopped and not early and bool(np.array_equal(resting.points, d.poses[-1].points))


# -- comparisons -------------------------------------------------------------------------------------------------------------


def longer_walks_do_not_drift(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """The ankle reaches the same angle in 4, 6 and 8 steps, to 1e-9 degrees."""
    highest = [outcomes[name].metrics["dorsiflexion_highest_deg"] for name in ("retained", "four-steps", "eight-steps")]
    return max(highest) - min(highest) <= 1e-9


# -- figures -----------------------------------------------------------------------------------------------------------------


def figures(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, Figure]:
    """The walk, and the ankle of the trailing foot under each timing."""
    name = "retained" if "retained" in outcomes else next(iter(outcomes))
    outcome = outcomes[name]
    assert outcome.recording is not None
    figure = plot.blank(13, 7.4, f"LO-005: {outcome.details.sequence.count} alternating steps")
    grid = figure.add_gridspec(2, 1, height_ratios=(1, 1.1))
    bodies = figure.add_subplot(grid[0])
    count = outcome.details.sequence.count
    for k in range(count + 1):
        row = min(round(k * (len(outcome.recording) - 1) / count), len(outcome.recording) - 1)
        plot.draw_body(bodies, outcome.recording, row, "side", shift=0.75 * k)
        bodies.text(
            outcome.recording.root_position[row, 1] + 0.75 * k,
            -0.12,
            "start" if k == 0 else f"after {k}",
            ha="center",
            va="top",
            fontsize=8,
        )
    bodies.axhline(0, color=plot.INK, lw=0.8, zorder=0)
    bodies.set(xlim=(-0.5, 0.28 * count + 0.75 * count + 0.6), ylim=(-0.3, 1.9), aspect="equal")
    bodies.set_axis_off()
    angles = figure.add_subplot(grid[1])
    for name, each in outcomes.items():
        if "retained" in outcomes and name in ("four-steps", "eight-steps", "left-first"):
            continue  # which differ in nothing that is drawn
        d = each.details
        phases = np.array([instant.number + instant.phase for instant in d.instants])
        angles.plot(phases, d.dorsiflexion.max(axis=1), label=f"{name}: {each.metrics['dorsiflexion_highest_deg']:.2f} deg at most")
    angles.axhline(16, color="#c0392b", ls="--", lw=1.2)
    angles.text(0.02, 16.2, "guardrail of LO-001", color="#c0392b", fontsize=8)
    angles.set(xlabel="steps", ylabel="dorsiflexion of the more flexed ankle [deg]", xlim=(0, count), ylim=(2, 23))
    angles.legend(loc="lower right", ncols=3)
    return {"steps": figure}


EXPERIMENT = Experiment(
    run=run,
    variants=(
        Variant("retained", Parameters(), "front-loaded transfer, 0.038 m lift, pelvis with the swing foot"),
        Variant("four-steps", Parameters(steps=4), "the same, four steps"),
        Variant("eight-steps", Parameters(steps=8), "the same, eight steps"),
        Variant("left-first", Parameters(first="left"), "the same, the left foot first"),
        Variant(
            "whole-step-pelvis",
            Parameters(StepPlan(lift=0.045, pelvis="whole-step")),
            "first candidate: LO-004's pelvis, which moves over the whole step",
            fails=(ankle_stays_within_the_guardrail,),
        ),
        Variant(
            "with-swing-pelvis",
            Parameters(StepPlan(lift=0.045, pelvis="with-swing")),
            "second candidate: the pelvis moves with the swing foot, the transfer is even",
            fails=(ankle_stays_within_the_guardrail,),
        ),
        Variant(
            "deeper-neutral",
            Parameters(drop=0.010),
            "the retained timing with the pelvis 10 mm below straight legs: what its margin is",
            fails=(ankle_stays_within_the_guardrail,),
        ),
    ),
    checks=(
        ankle_stays_within_the_guardrail,
        other_joints_stay_within_the_guardrails,
        planted_feet_do_not_slip,
        handoffs_are_continuous,
        knees_never_flip,
        toe_clears_the_ground,
        feet_alternate_and_land_a_step_length_ahead,
        it_stops_after_the_last_step,
    ),
    comparisons=(longer_walks_do_not_drift,),
    figures=figures,
)
