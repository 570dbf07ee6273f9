"""LO-004: one step as a transaction of four stages.

Question: Can two standing poses be joined by a step whose planted foot does not move and whose swing foot clears the ground,
    when the end pose is solved and not copied from a frame?

Method: PRELOAD, SWING, LANDING, COMPLETE over 0.82 s, lift-off at phase 0.10, touchdown at 0.90. The swing ankle goes 0.28 m forward with
    6 u^5 - 15 u^4 + 10 u^3 and up by 0.045 m sin^2(pi u); the pelvis goes to the middle of the finished stance, at the neutral height
    or, where the legs do not reach that high, at the highest that they reach. Every instant is solved by the standing solver.
    Support margins are measured, and never used.

Result: Either leg makes the step. The planted ankle stays where it is to 1e-15 m, the ankle ends 0.28 m ahead, and the toe clears
    the ground by 16.0 mm at least in the middle of the swing, 45 mm at most. The swing-side ankle reaches 14.9 of its 16 degrees.
    The centre of mass is outside the single support all through the swing, by up to 44 mm: a measurement, not a fault.

Limits: Feet stay flat: no heel strike, no rocker. The clock makes the contacts. Support is never lost, and nothing balances.

Superseded by: LO-005 for more than one step, whose pelvis does not move before lift-off; it remains the study's single step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sandbox.bodies.anatomy import SIDES
from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import REFERENCE, Region, landmarks
from sandbox.bodies.segments import whole_body_com
from sandbox.bodies.standing import Pose, StandingSolver, Target
from sandbox.config import check_range
from sandbox.controllers.steps import Stage, Step, StepPlan, foot_of, neutral_stance
from sandbox.harness import Experiment, Outcome, Variant
from sandbox.mechanics import Support, foot_patch, support_margin, support_polygon
from sandbox.recording import Recording
from sandbox.report import plot
from sandbox.report.figure import LEFT_COLOUR, RIGHT_COLOUR
from sandbox.state import FEET, ContactState, SolePart
from sandbox.trajectory import Event, Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CENTRAL = (0.2, 0.8)  # share of the swing over which the least clearance is taken: a step begins and ends on the ground


@dataclass(frozen=True)
class Parameters:
    """The step.

    Attributes:
        plan: how it is made.
        swing: ``left`` or ``right``, the foot that steps.
        samples: instants of the step, its start not counted.

    Raises:
        ValueError: another foot, or fewer than 10 or more than 100,000 samples.
    """

    plan: StepPlan = field(default_factory=StepPlan)
    swing: str = "right"
    samples: int = 240

    def __post_init__(self) -> None:
        foot_of(self.swing)
        check_range("samples", self.samples, (10, 100_000))


@dataclass(frozen=True)
class Details:
    """The solver, the step, and by instant: phase, pose, toe clearance of the swing foot [m], margin of the CoM [m]."""

    solver: StandingSolver
    step: Step
    phases: Array
    poses: tuple[Pose, ...]
    clearance: Array
    margins: Array


def run(p: Parameters) -> Outcome[Details]:
    """Make the step, and measure it."""
    solver = StandingSolver()
    step = Step(solver, p.plan, neutral_stance(solver), foot_of(p.swing))
    phases = np.arange(p.samples + 1) / p.samples
    poses = tuple(step.pose(phase) for phase in phases.tolist())
    trajectory = Trajectory(REFERENCE, phases * p.plan.duration, np.array([q.pelvis for q in poses]), np.array([q.q for q in poses]))
    points = trajectory.points(landmarks())
    swing, planted = FEET[step.swing], FEET[step.planted]

    shares = np.array([step.swing_share(phase) for phase in phases.tolist()])
    clearance = points[f"{swing}_toe_tip"][:, 2]
    central = (shares >= CENTRAL[0]) & (shares <= CENTRAL[1])
    slip = np.linalg.norm(points[f"{planted}_ankle"] - step.start.ankles[step.planted], axis=1)
    com = whole_body_com(points)
    margins = np.array([margin(step, phase, points, row, com[row]) for row, phase in enumerate(phases.tolist())])
    swinging = np.array([step.stage(phase) is Stage.SWING for phase in phases.tolist()])
    dorsiflexion = {side: np.degrees([solver.angle(pose, f"{side}_ankle_dorsiflexion") for pose in poses]) for side in FEET}
    standing = solver.solve(Target(np.array([*step.end.pelvis[:2], solver.neutral_pelvis[2]]), step.end.ankles))
    travel = points[f"{swing}_ankle"][-1] - points[f"{swing}_ankle"][0]
    metrics = {
        "slip_m": float(slip.max()),
        "toe_clearance_central_m": least(clearance[central]),
        "toe_clearance_peak_m": float(clearance.max()),
        "landing_ahead_m": float(points[f"{swing}_ankle"][-1, 1] - points[f"{planted}_ankle"][-1, 1]),
        "travel_m": float(np.linalg.norm(travel)),
        "reach_error_m": max(float(pose.miss.max()) for pose in poses),
        "end_pose_error_m": float(np.abs(poses[-1].points - standing.points).max()),
        "swing_dorsiflexion_deg": float(dorsiflexion[swing].max()),
        "planted_dorsiflexion_deg": float(dorsiflexion[planted].max()),
        "pelvis_lowest_m": float(trajectory.root_position[:, 2].min()),
        "margin_double_least_m": least(margins[~swinging]),
        "margin_single_least_m": least(margins[swinging]),
    }
    return Outcome(metrics, film(step, p, trajectory), Details(solver, step, phases, poses, clearance, margins))


def least(values: Array) -> float:
    """Of values (k,); NaN where a sampling has none."""
    return float(values.min()) if len(values) else math.nan


def margin(step: Step, phase: float, points: Mapping[str, Array], row: int, com: Array) -> float:
    """Signed distance [m] of the centre of mass from the edge of the support at ``phase``."""
    support = step.support(phase)
    feet = [
        foot_patch(points[f"{side}_heel"][row], points[f"{side}_toe_base"][row], REFERENCE.foot_half_width)
        for side, bit in zip(SIDES, (Support.LEFT, Support.RIGHT), strict=True)
        if support & bit
    ]
    value = support_margin(com[:2], support_polygon(np.vstack(feet)))
    return math.nan if value is None else value


def film(step: Step, p: Parameters, trajectory: Trajectory) -> Recording:
    """The step, with its planned contacts."""
    plan = p.plan
    contact = np.full((len(trajectory.time), 2), ContactState.FLAT)
    contact[[step.stage(t / plan.duration) is Stage.SWING for t in trajectory.time.tolist()], step.swing] = ContactState.AIRBORNE
    up, down = plan.liftoff * plan.duration, plan.touchdown * plan.duration
    return trajectory.recording(
        "one step",
        contact,
        events=[Event(up, step.swing, False, SolePart.BALL), Event(down, step.swing, True, SolePart.BALL)],
        footholds=[(0.0, step.swing, step.end.ankles[step.swing])],
        settings={"stages": {stage.name: int(stage) for stage in Stage}},
    )


# -- checks ------------------------------------------------------------------------------------------------------------------


def planted_foot_does_not_slip(outcome: Outcome[Details]) -> bool:
    """The planted ankle stays where it was, to 1e-9 m."""
    return outcome.metrics["slip_m"] <= 1e-9


def toe_clears_the_ground(outcome: Outcome[Details]) -> bool:
    """In the middle of the swing the toe tip is above the ground, and it is never below."""
    return outcome.metrics["toe_clearance_central_m"] > 0 and float(outcome.details.clearance.min()) >= -1e-9


def foot_lands_where_planned(outcome: Outcome[Details]) -> bool:
    """The swing ankle ends a step length ahead of the planted one, to 1e-9 m, having been in reach all the way."""
    length = outcome.details.step.plan.step_length
    return abs(outcome.metrics["landing_ahead_m"] - length) <= 1e-9 and outcome.metrics["reach_error_m"] <= 1e-9


def end_is_the_solved_stance(outcome: Outcome[Details]) -> bool:
    """The last pose is what the standing solver gives for the finished stance, to 1e-9 m."""
    return outcome.metrics["end_pose_error_m"] <= 1e-9


def stages_come_in_order(outcome: Outcome[Details]) -> bool:
    """PRELOAD, SWING, LANDING, COMPLETE; double, single, double support."""
    d = outcome.details
    stages = [d.step.stage(phase) for phase in d.phases.tolist()]
    supports = [d.step.support(phase) for phase in d.phases.tolist()]
    single = Support.of(left=d.step.planted == 0, right=d.step.planted == 1)
    return (
        stages == sorted(stages)
        and set(stages) == set(Stage)
        and all(support == (single if stage is Stage.SWING else Support.DOUBLE) for stage, support in zip(stages, supports, strict=True))
    )


def joints_stay_within_the_guardrails(outcome: Outcome[Details]) -> bool:
    """No axis of either leg leaves its outer envelope."""
    d = outcome.details
    return all(region is not Region.OUTSIDE for pose in d.poses for region in d.solver.regions(pose).values())


def support_is_measured_and_not_used(outcome: Outcome[Details]) -> bool:
    """The pelvis is where its plan puts it although the centre of mass is outside the support: nothing corrects it."""
    d = outcome.details
    planned = [d.step.target(phase).pelvis[:2] for phase in d.phases.tolist()]
    return bool(np.array_equal(planned, [pose.pelvis[:2] for pose in d.poses])) and outcome.metrics["margin_single_least_m"] < 0


# -- comparisons of the two legs ---------------------------------------------------------------------------------------------


def legs_are_mirror_images(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """The left foot's step gives the figures of the right one's, to 1e-9."""
    left, right = outcomes["left"].metrics, outcomes["right"].metrics
    return all(np.isclose(left[name], right[name], rtol=0, atol=1e-9, equal_nan=True) for name in right)


# -- figures -----------------------------------------------------------------------------------------------------------------


def figures(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, Figure]:
    """The body through the step; clearance, support margin and dorsiflexion over its phase."""
    outcome = next(iter(outcomes.values()))
    d = outcome.details
    assert outcome.recording is not None
    plan = d.step.plan
    figure = plot.blank(13, 7.6, f"LO-004: one step of the {FEET[d.step.swing]} foot")
    grid = figure.add_gridspec(2, 3, height_ratios=(1.25, 1))
    bodies = figure.add_subplot(grid[0, :])
    ankle = np.array([pose.ankles[d.step.swing] for pose in d.poses])
    for k, share in enumerate((0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)):
        row = round(share * (len(d.poses) - 1))
        plot.draw_body(bodies, outcome.recording, row, "side", shift=1.15 * k)
        bodies.plot(ankle[:, 1] + 1.15 * k, ankle[:, 2], color="#c0392b", lw=1)
        bodies.text(1.15 * k + 0.07, -0.16, f"{share:.1f}\n{d.step.stage(share).name}", ha="center", va="top", fontsize=8)
    bodies.axhline(0, color=plot.INK, lw=0.8, zorder=0)
    bodies.set(xlim=(-0.5, 7.5), ylim=(-0.1, 1.9), aspect="equal")
    bodies.set_axis_off()
    series = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1]), figure.add_subplot(grid[1, 2])
    series[0].plot(d.phases, 1000 * d.clearance, color=plot.INK)
    series[0].set(title="Toe clearance of the swing foot [mm]")
    series[1].plot(d.phases, 1000 * d.margins, color=plot.INK)
    series[1].axhline(0, color=plot.FAINT, lw=0.8)
    series[1].set(title="Margin of the centre of mass in the support [mm]")
    for side, colour in zip(FEET, (LEFT_COLOUR, RIGHT_COLOUR), strict=True):
        series[2].plot(d.phases, np.degrees([d.solver.angle(q, f"{side}_ankle_dorsiflexion") for q in d.poses]), color=colour, label=side)
    series[2].axhline(math.degrees(d.solver.envelopes["ankle_dorsiflexion"].outer[1]), color="#c0392b", lw=1, ls="--", label="guardrail")
    series[2].set(title="Ankle dorsiflexion [deg]")
    series[2].legend()
    for axes in series:
        axes.axvspan(plan.liftoff, plan.touchdown, color="#000000", alpha=0.05, lw=0)
        axes.set(xlim=(0, 1), xlabel="phase of the step (grey: swing)")
    return {"step": figure}


EXPERIMENT = Experiment(
    run=run,
    variants=(
        Variant("right", Parameters(), "the right foot steps"),
        Variant("left", Parameters(swing="left"), "the left foot steps"),
    ),
    checks=(
        planted_foot_does_not_slip,
        toe_clears_the_ground,
        foot_lands_where_planned,
        end_is_the_solved_stance,
        stages_come_in_order,
        joints_stay_within_the_guardrails,
        support_is_measured_and_not_used,
    ),
    comparisons=(legs_are_mirror_images,),
    figures=figures,
)
