"""LO-010: KLAW, reconstructed.

Question: How does the published method of Bruderlin & Calvert (1989) walk on this body, and can a physical body follow it?

Method: KLAW's walker at eight speeds from 0.4 to 1.8 m/s, from a standing start: steps by its law, stance by the telescoping leg as a
    boundary-value problem per step, swing by the double pendulum. The final pose is measured, through the body's own kinematics. Then the
    physical body at 1.0 m/s with KLAW as its reference: of the planner's targets it replaces mid-hip's rise and fall (hip), pelvis,
    trunk and arms too (body), the swing foot too (all); and with no planner at all, every joint under PD towards KLAW's angles.

Result: Each speed is solved with a weighted miss of the periodic step below 1e-4, and every step from standing to the speed too. Mid-hip
    rises and falls by 54 mm at 1.4 m/s, people's by 40 to 50. No foot slips or sinks. The knee gives more than twice as much as people's
    when it takes the load (36 and 16 degrees at 1.2 m/s): the law's steps are long, and the hip is lowest while the leg is bent. The
    physical body walks as long as it was asked (20 s at 0.8 and 1.2 m/s) with KLAW's hip, pelvis, trunk and arms. With its swing foot too
    it staggers on or falls after some 6 s, which hangs on chance: its figures are told and not held. Without a planner it falls after
    1.4 s: the method has no balance.

Limits: A reconstruction; what of it is published stands in reference/KLAW_RECONSTRUCTION.md. Straight ahead on level ground. Start and stop
    are no part of the method. Ground force is that of the model's linkage, or of the motion by inverse dynamics, never measured.

Superseded by: nothing in this study.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sandbox.bodies.anatomy import Anatomy
from sandbox.config import nearest
from sandbox.controllers.klaw.parameters import locomotion, timing
from sandbox.controllers.klaw.stance import PERIODIC
from sandbox.conventions import GRAVITY
from sandbox.envs.tracking import PoseTracker
from sandbox.harness import Experiment, Outcome, Variant
from sandbox.measure.analysis import Analysis
from sandbox.measure.flow import flow, pops
from sandbox.measure.people import scores
from sandbox.mechanics import froude_number
from sandbox.plants.base import Pose
from sandbox.plants.bullet import BulletPlant
from sandbox.plants.klaw import Gait, KlawWalker
from sandbox.plants.klaw_plant import Follow, KlawPlanner, KlawReference
from sandbox.recording import Recording
from sandbox.report import plot
from sandbox.report.page import COLOURS, Subject, page_html
from sandbox.scenes.scene import Options, build
from sandbox.simulation import Simulation
from sandbox.spatial import quaternion_from_matrix
from sandbox.state import FEET, ContactState

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Body = Literal["klaw", "hip", "body", "all", "joints"]
STEADY = 4.0  # [s] from which on a walk of up to 1.8 m/s is steady
BODY = Anatomy()
SPEEDS = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8)


@dataclass(frozen=True)
class Parameters:
    """The walk.

    Attributes:
        speed: commanded [m/s], 0.4 to 1.8.
        seconds: duration.
        follow: ``klaw`` the kinematic walker itself; what the physical body takes of it: ``hip``, ``body``, ``all``; or ``joints``: every
            joint angle, with no planner.

    Raises:
        ValueError: a speed outside 0.4..1.8 m/s, a duration outside 8..120 s, an unknown ``follow``.
    """

    speed: float = 1.2
    seconds: float = 9.0
    follow: Body = "klaw"

    def __post_init__(self) -> None:
        for name, low, high, unit in (("speed", 0.4, 1.8, "m/s"), ("seconds", 8.0, 120.0, "s")):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} {value:g} {unit} is outside {low:g}..{high:g} {unit}: give a value in that range")
        if self.follow not in get_args(Body):
            raise ValueError(f"unknown follow {self.follow!r}{nearest(self.follow, get_args(Body))}")


@dataclass(frozen=True)
class Details:
    """The walker, its periodic gait, and what was followed."""

    walker: KlawWalker
    gait: Gait
    follow: Body


def run(p: Parameters) -> Outcome[Details]:
    """Walk, and measure."""
    if p.follow == "joints":
        return _joints(p)
    scene = build("walk", Options(speed=p.speed, seconds=p.seconds))
    plant = "kinematic" if p.follow == "klaw" else "bullet"
    simulation = Simulation(scene, BODY, plant, stance="klaw")
    if plant == "bullet":
        simulation.planner = KlawReference(BODY, simulation.parameters, _taken(p.follow))
        simulation.reset()
    try:
        while simulation.time < p.seconds - 1e-9 and simulation.fall is None:
            simulation.tick()
        recording = simulation.recording()
    finally:
        simulation.close()
    planner = simulation.planner
    assert isinstance(planner, KlawPlanner | KlawReference)
    walker = planner.walker
    gait = walker.gait(p.speed)
    metrics = _metrics(p, recording, gait)
    if plant == "kinematic":
        metrics |= _solved(walker) | _feet(recording)
    return Outcome(metrics, recording, Details(walker, gait, p.follow))


def _taken(follow: Body) -> Follow:
    assert follow in get_args(Follow)
    return follow  # type: ignore[return-value]


def _joints(p: Parameters) -> Outcome[Details]:
    """Every joint of the physical body under PD towards KLAW's angles, from KLAW's own pose in mid-walk on."""
    walker, plant = KlawWalker(BODY), BulletPlant(BODY)
    gait = walker.gait(p.speed)
    ahead = 0.0
    while not (walker.steps[-1].kind == "walk" and walker.steps[-1].speed == p.speed):
        ahead = walker.plan(ahead, p.speed).end if walker.steps[-1].kind != "stand" else walker.plan(0.01, p.speed).end
    begin = walker.steps[-1].begin
    try:
        first, next_ = walker.pose(begin), walker.pose(begin + 0.001)
        velocity = (next_.position - first.position) / 0.001
        position = first.position + np.array([0.0, -first.position[1], 0.001])
        plant.reset(Pose(position, quaternion_from_matrix(first.rotation), first.q, velocity))
        tracker = PoseTracker(BODY, plant.dt)
        time = 0.0
        while plant.fall is None and time < p.seconds:
            time += plant.dt
            walker.plan(begin + time, p.speed)
            plant.observe()
            plant.apply(tracker(plant.state, plant.observer, walker.pose(begin + time).q))
        survived = plant.fall.time if plant.fall is not None else p.seconds
    finally:
        plant.close()
    metrics = dict.fromkeys(_metrics_names(), math.nan) | {"speed_asked_mps": p.speed, "survived_s": survived}
    return Outcome(metrics, None, Details(walker, gait, p.follow))


def _metrics_names() -> tuple[str, ...]:
    return (
        "speed_asked_mps", "survived_s", "speed_mps", "step_length_m", "cycle_time_s", "stance_fraction", "periodicity", "bounce_m",
        "model_force_least_bw", "model_force_most_bw", "rise_and_fall_m", "force_least_bw", "gps_seven_deg", "knee_rms_deg",
        "pop_largest_deg",
        "step_residual_most", "replaced", "swing_residual_most", "swing_tries_most", "reach_error_m", "foot_slip_m", "foot_below_ground_m",
    )  # fmt: skip


def _metrics(p: Parameters, recording: Recording, gait: Gait) -> dict[str, float]:
    weight = BODY.mass * GRAVITY
    solved = gait.orbit.solved
    out = dict.fromkeys(_metrics_names(), math.nan)
    fall = recording.header["fall"]
    out |= {
        "speed_asked_mps": p.speed,
        "survived_s": float(fall["time_s"]) if fall["fell"] else p.seconds,
        "periodicity": solved.residual,
        "bounce_m": solved.bounce,
        "model_force_least_bw": solved.least_force / weight,
        "model_force_most_bw": float(solved.force[:, 1].max()) / weight,
    }
    analysis = Analysis.of(recording, "contact")
    if analysis.straight:
        found = scores(analysis)
        out |= {
            "speed_mps": analysis.mean("speed_mps"),
            "cycle_time_s": 120.0 / analysis.mean("cadence_spm"),
            "stance_fraction": analysis.mean("stance_fraction"),
            "step_length_m": analysis.mean("speed_mps") * 60.0 / analysis.mean("cadence_spm"),
            "gps_seven_deg": found.seven.value,
            "knee_rms_deg": found.gps.curves["knee"],
        }
    out["pop_largest_deg"] = float(flow(recording)["pop_max_deg"])
    steady = recording.time > STEADY
    if steady.any():
        out["force_least_bw"] = float(recording.ground_force[steady, :, 2].min()) / weight
        out["rise_and_fall_m"] = float(np.ptp(recording.root_position[recording.time > max(STEADY, recording.time[-1] - 2.5), 2]))
    return out


def _solved(walker: KlawWalker) -> dict[str, float]:
    """What the steps of a walk left unsolved, and how often something was put in the place of what failed."""
    steps = [step for step in walker.steps if step.kind == "walk"]
    swings = [step.swing for step in walker.steps if step.swing is not None]
    times = np.arange(0.0, walker.steps[-1].end - 1e-6, 1 / 60)
    return {
        "step_residual_most": max(step.solved.residual for step in steps),
        "replaced": float(len(walker.notes())),
        "swing_residual_most": max(swing.residual for swing in swings),
        "swing_tries_most": float(max(swing.tries for swing in swings)),
        "reach_error_m": max(walker.pose(t).miss for t in times.tolist()),
    }


def _feet(recording: Recording) -> dict[str, float]:
    """In the recorded pose: how far the part that stands moves in a stance, and how far any part is below the ground [m]."""
    names, parts = recording.header["point_names"], recording.contact_state
    slip = below = 0.0
    for i, side in enumerate(FEET):
        heel, tip = (recording.points[:, names.index(f"{side}_{point}")] for point in ("heel", "toe_tip"))
        below = max(below, -float(min(heel[:, 2].min(), tip[:, 2].min())))
        for part, point in ((ContactState.HEEL, heel), (ContactState.FLAT, heel), (ContactState.FLAT, tip), (ContactState.TOE, tip)):
            rows = np.flatnonzero(parts[:, i] == part)
            for held in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
                if len(held):
                    slip = max(slip, float(np.ptp(point[held], axis=0).max()))
    return {"foot_slip_m": slip, "foot_below_ground_m": max(below, 0.0)}


def kinematic(outcome: Outcome[Details]) -> bool:
    """Whether KLAW's own walker moved the body."""
    return outcome.details.follow == "klaw"


# -- checks ------------------------------------------------------------------------------------------------------------------


def step_is_periodic(outcome: Outcome[Details]) -> bool:
    """The state after a step is the state before it, a step length ahead, within 1e-3 (weighted)."""
    return outcome.details.gait.orbit.solved.model == "telescoping" and outcome.details.gait.orbit.solved.residual < PERIODIC


def every_step_is_solved(outcome: Outcome[Details]) -> bool:
    """Each step of the walk, speeding up included, is solved within 1e-3, each terminal swing within 1e-6, and nothing was replaced."""
    m = outcome.metrics
    return not kinematic(outcome) or (m["step_residual_most"] < PERIODIC and m["swing_residual_most"] < 1e-6 and m["replaced"] == 0)


def timing_is_within_the_bands(outcome: Outcome[Details]) -> bool:
    """Cycle time within 3 % and stance within 1.5 points of KLAW's law as recorded, and of Boulic's law as planned."""
    if not kinematic(outcome):
        return True
    m = outcome.metrics
    asked = timing(locomotion(BODY.height, speed=m["speed_asked_mps"]))
    relative = m["speed_asked_mps"] / (0.53 * BODY.height)
    boulic = 1.346 / math.sqrt(relative)
    stance = (0.752 * boulic - 0.143) / boulic
    recorded = abs(m["cycle_time_s"] / asked.cycle - 1) <= 0.03 and abs(m["stance_fraction"] - asked.stance_fraction) <= 0.015
    return recorded and abs(asked.cycle / boulic - 1) <= 0.03 and abs(asked.stance_fraction - stance) <= 0.015


def hip_bounces_little(outcome: Outcome[Details]) -> bool:
    """Mid-hip rises and falls by at most 75 mm, in the model and in the pose."""
    m = outcome.metrics
    return not kinematic(outcome) or max(m["bounce_m"], m["rise_and_fall_m"]) <= 0.075


def feet_neither_slip_nor_sink(outcome: Outcome[Details]) -> bool:
    """In the final pose no standing part moves by 1 mm, and nothing is 1 mm below the ground."""
    m = outcome.metrics
    return not kinematic(outcome) or (m["foot_slip_m"] <= 0.001 and m["foot_below_ground_m"] <= 0.001)


def ground_never_pulls(outcome: Outcome[Details]) -> bool:
    """Neither leg's vertical ground force is negative: in the model (to 1e-3 of body weight), and by inverse dynamics of the pose."""
    m = outcome.metrics
    return not kinematic(outcome) or (m["model_force_least_bw"] >= -1e-3 and m["force_least_bw"] >= 0)


def legs_reach(outcome: Outcome[Details]) -> bool:
    """Both legs reach their feet all the time, to 0.5 mm."""
    return not kinematic(outcome) or outcome.metrics["reach_error_m"] <= 5e-4


# -- comparisons -------------------------------------------------------------------------------------------------------------


def balance_is_the_planners(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """The physical body walks to the end with KLAW's hip, pelvis, trunk and arms, and falls within 3 s on its joint angles alone."""
    whole = outcomes["physical-body"]
    return whole.metrics["survived_s"] == 12.0 and outcomes["physical-joints"].metrics["survived_s"] < 3.0


def bounce_grows_with_speed(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """The hip rises and falls more at each higher speed."""
    bounce = [outcomes[f"v-{speed:g}"].metrics["bounce_m"] for speed in SPEEDS]
    return bool(np.all(np.diff(bounce) > 0))


# -- figures and pages -------------------------------------------------------------------------------------------------------


def figures(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, Figure]:
    """One stride of the body, and the model's hip, force and trunk over a step at each speed."""
    shown = {name: o for name, o in outcomes.items() if kinematic(o)}
    shown = dict(sorted(shown.items(), key=lambda item: item[1].metrics["speed_asked_mps"]))
    if not shown:
        return {}
    figure = plot.blank(13, 7.6, "LO-010: KLAW, reconstructed")
    grid = figure.add_gridspec(2, 3, height_ratios=(1.1, 1))
    name = "v-1.2" if "v-1.2" in shown else next(iter(shown))
    outcome = shown[name]
    recording = outcome.recording
    assert recording is not None
    bodies = figure.add_subplot(grid[0, :], title=f"{outcome.metrics['speed_asked_mps']:g} m/s, one stride ({name})")
    down = recording.event_time[recording.event_touchdown & (recording.event_foot == 1) & (recording.event_time > STEADY)]
    first, last = (round(float(t) * 120) - 1 for t in down[:2])
    for k in range(9):
        row = round(first + k * (last - first) / 8)
        plot.draw_body(bodies, recording, row, "side", shift=0.8 * k - float(recording.root_position[row, 1]))
    bodies.axhline(0, color=plot.INK, lw=0.8, zorder=0)
    bodies.set(xlim=(-0.6, 7.0), ylim=(-0.05, 1.9), aspect="equal")
    bodies.set_axis_off()
    height, force, trunk = (figure.add_subplot(grid[1, k]) for k in range(3))
    share = np.linspace(0, 1, len(outcome.details.gait.orbit.solved.path))
    for k, o in enumerate(shown.values()):
        solved, colour = o.details.gait.orbit.solved, f"C{k}"
        height.plot(share, 1000 * solved.path[:, 1], color=colour, label=f"{o.metrics['speed_asked_mps']:g} m/s")
        force.plot(share, solved.force[:, 1] / (BODY.mass * GRAVITY), color=colour)
        trunk.plot(share, np.degrees(solved.path[:, 4]), color=colour)
    height.set(ylabel="mid-hip height [mm]", xlabel="of a step, from heel strike")
    force.set(ylabel="vertical force of both legs [body weights]", xlabel="of a step")
    trunk.set(ylabel="lean of the trunk [deg]", xlabel="of a step")
    height.legend(fontsize=7, ncols=2)
    return {"steps": figure}


def pages(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, str]:
    """Three speeds side by side, to play, with their curves beside people's."""
    subjects: list[Subject] = []
    for name in ("v-0.8", "v-1.2", "v-1.6"):
        outcome = outcomes.get(name)
        if outcome is not None and outcome.recording is not None:
            analysis = Analysis.of(outcome.recording, "contact")
            colour = COLOURS[len(subjects) % len(COLOURS)]
            subjects.append(Subject(name, analysis, flow=flow(outcome.recording), pops=pops(outcome.recording), colour=colour))
    if not subjects:
        return {}
    return {"speeds": page_html("LO-010: KLAW, reconstructed", subjects, froude_number(1.2, BODY.leg_length), about="Three speeds.")}


EXPERIMENT = Experiment(
    run=run,
    variants=(
        Variant("v-1.2", Parameters(), "KLAW's walker at 1.2 m/s"),
        *(Variant(f"v-{v:g}", Parameters(v), f"at {v:g} m/s") for v in SPEEDS if v != 1.2),
        Variant("physical-hip", Parameters(1.0, 12.0, "hip"), "the physical body with KLAW's rise and fall of the hip"),
        Variant("physical-body", Parameters(1.0, 12.0, "body"), "with its pelvis, trunk and arms too"),
        Variant("physical-all", Parameters(0.8, 12.0, "all"), "with its swing foot too, at 0.8 m/s"),
        Variant("physical-joints", Parameters(1.0, 12.0, "joints"), "every joint under PD towards KLAW's angles, no planner"),
    ),
    checks=(
        step_is_periodic,
        every_step_is_solved,
        timing_is_within_the_bands,
        hip_bounces_little,
        feet_neither_slip_nor_sink,
        ground_never_pulls,
        legs_reach,
    ),
    comparisons=(balance_is_the_planners, bounce_grows_with_speed),
    figures=figures,
    pages=pages,
)
