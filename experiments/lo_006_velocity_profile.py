"""LO-006: velocity profile and upper body.

Question: Can one continuous speed command set step length, cadence and double support of the repeated step, and can pelvis, trunk
    and arms join in without moving a single foothold?

Method: LO-005's steps, with length, duration and double support as functions of speed over 0.40 to 0.80 m/s, where commands are
    clamped. Four coordination modes on the same footsteps: legs only, + pelvis, + trunk, full body. Pelvis and thorax turn against
    each other with the separation of the feet, the pelvis shifts and lists towards the foot that carries, wrists move in a corridor
    of 0.72 to 0.78 shoulder widths and elbows bend, behind a damped second-order drive of the opposite leg.

Result: Within the 16 degrees of the ankle at every speed with 0.26 to 0.28 m of spacing (15.2 at most in full body); every mode
    stands on the same footholds. Less lift at low speed breaks the 10 mm of LO-005. Longer steps break the ankle, but later than in
    the study's document: our subject, 5 mm below straight legs, passes 16 degrees at 0.35 m. With a pelvis 7.6 mm below them, where
    the retained profile only just holds (15.95), 0.285 m gives 16.004 (document 16.0042), 0.30 m 16.15 (document 16.1128), and the
    broader map at 0.70 m/s 16.44 (document 16.009): those candidates are kept at that pelvis. People's steps are about twice as
    long; on flat feet they take the ankle to 20 degrees.

Limits: Flat feet; it stops in every step; the range of speeds is the model's, not people's.

Superseded by: LO-007 for the clock and the carried root, LO-008 for people's step lengths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import NEUTRAL_DROP, REFERENCE, Region
from sandbox.bodies.standing import Pose, StandingSolver, Target
from sandbox.controllers.coordination import MODES, ArmDrive, Coordination, Mode, UpperBody
from sandbox.controllers.steps import MOST_STEPS, Stage, Step, StepPlan, StepSequence
from sandbox.controllers.velocity import FLAT_FOOT, HUMAN, Gait, Span, VelocityProfile
from sandbox.harness import Experiment, Outcome, Variant
from sandbox.measure.flow import jumps
from sandbox.mechanics import Support
from sandbox.recording import Recording
from sandbox.report import plot
from sandbox.state import FEET, LEFT, ContactState, SolePart
from sandbox.trajectory import Event, Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE = 120  # [Hz]
CENTRAL = (0.2, 0.8)  # share of the swing over which the least clearance is taken, as in LO-004
GUARDRAIL = 16.0  # [deg] of the ankle


@dataclass(frozen=True)
class Parameters:
    """The walk.

    Attributes:
        speed: commanded [m/s], clamped to the profile's range.
        profile: from speed to steps; coordination: of pelvis, trunk and arms.
        steps: how many.
        drop: neutral pelvis below straight legs [m], at most 10 mm; fixed in LO-003, not chosen here.
        sweep: speeds from end to end of the range at which the ankle is looked at as well.

    Raises:
        ValueError: a speed that is not finite, no step or more than 10,000, a drop beyond 10 mm, fewer than 0 or more than 200 speeds.
    """

    speed: float = 0.60
    profile: VelocityProfile = field(default_factory=lambda: FLAT_FOOT)
    coordination: Coordination = field(default_factory=Coordination)
    steps: int = 8
    drop: float = NEUTRAL_DROP
    sweep: int = 0

    def __post_init__(self) -> None:
        self.profile.clamp(self.speed)
        if not 1 <= self.steps <= MOST_STEPS:
            raise ValueError(f"steps {self.steps} is outside 1..{MOST_STEPS}: give a value in that range")
        if not 0 <= self.drop <= 0.010:
            raise ValueError(f"drop {self.drop:g} m is outside 0..0.01 m: give a value in that range")
        if not 0 <= self.sweep <= 200:
            raise ValueError(f"sweep {self.sweep} is outside 0..200: give a value in that range")


@dataclass(frozen=True)
class Moment:
    """One tick: time [s], the step and its phase, the pose, the drive of both arms (2,), separation of the feet."""

    time: float
    step: Step
    phase: float
    pose: Pose
    drive: Array
    separation: float


@dataclass(frozen=True)
class Details:
    """The gait, the solver, every tick, and dorsiflexion of both ankles [deg] (T, 2)."""

    gait: Gait
    solver: StandingSolver
    moments: tuple[Moment, ...]
    dorsiflexion: Array


def plan_of(gait: Gait) -> StepPlan:
    """LO-005's step with the length, the duration and the double support of a gait."""
    half = 0.5 * gait.double_support
    return StepPlan(gait.step_length, gait.duration, half, 1 - half, gait.lift, "front-loaded", "with-swing")


def walk(p: Parameters, gait: Gait, solver: StandingSolver) -> Iterator[Moment]:
    """The steps at 120 Hz."""
    body, drive = UpperBody(REFERENCE, p.coordination), ArmDrive()
    sequence = StepSequence(solver, plan_of(gait), p.steps)
    for tick in range(math.ceil(p.steps * gait.duration * RATE) + 1):
        if tick:
            sequence.advance(1 / RATE)
        step, phase = sequence.step, sequence.phase
        asked = step.target(phase)
        separation = float(asked.ankles[0, 1] - asked.ankles[1, 1]) / gait.step_length
        alone = math.sin(math.pi * step.swing_share(phase)) ** 2 if step.support(phase) is not Support.DOUBLE else 0.0
        carrying = alone * (-1.0 if step.planted == LEFT else 1.0)
        drive.advance(np.array([-separation, separation]), 1 / RATE)  # an arm goes with the opposite leg
        rotation, shift = body.pelvis(gait.share, separation, carrying)
        target = Target(asked.pelvis + np.array([shift, 0.0, 0.0]), asked.ankles, pelvis_rotation=rotation)
        pose = solver.solve(target, body.joints(solver.posture, gait.share, separation, carrying, drive.position))
        yield Moment(tick / RATE, step, phase, pose, drive.position.copy(), separation)


def run(p: Parameters) -> Outcome[Details]:
    """Walk, and measure."""
    solver = StandingSolver(neutral_drop=p.drop)
    gait = p.profile.gait(p.speed)
    moments = tuple(walk(p, gait, solver))
    dorsiflexion = np.degrees([[solver.angle(m.pose, f"{side}_ankle_dorsiflexion") for side in FEET] for m in moments])
    beyond = np.flatnonzero(dorsiflexion.max(axis=1) > GUARDRAIL)
    points = np.array([m.pose.points for m in moments])
    at = {name: points[:, k] for k, name in enumerate(REFERENCE.points)}

    slip, clearance = [], []
    for m in moments:
        planted, swing = FEET[m.step.planted], FEET[m.step.swing]
        slip.append(float(np.linalg.norm(solver.point(m.pose, f"{planted}_ankle") - m.step.start.ankles[m.step.planted])))
        if CENTRAL[0] <= m.step.swing_share(m.phase) <= CENTRAL[1]:
            clearance.append(float(solver.point(m.pose, f"{swing}_toe_tip")[2]))
    steps = list(dict.fromkeys(m.step for m in moments))
    advance = [step.end.pelvis[1] - step.start.pelvis[1] for step in steps[1:]]
    across = at["right_shoulder"] - at["left_shoulder"]
    width = float(np.linalg.norm(across[0]))
    middle = 0.5 * (at["right_shoulder"] + at["left_shoulder"])
    corridor = np.abs([np.einsum("ti,ti->t", at[f"{side}_wrist"] - middle, across) for side in FEET]) / width**2
    elbow = np.degrees([[solver.angle(m.pose, f"{side}_elbow_flexion") for side in FEET] for m in moments])
    thorax = np.degrees(np.arctan2(across[:, 1], across[:, 0]))
    hips = at["right_hip"] - at["left_hip"]
    pelvis = np.degrees(np.arctan2(hips[:, 1], hips[:, 0]))
    drive = np.diff([m.drive for m in moments], axis=0) * RATE
    arms = [(f"{side}_{a}", f"{side}_{b}", REFERENCE.length(s)) for side in FEET
            for a, b, s in (("shoulder", "elbow", "upper_arm"), ("elbow", "wrist", "forearm"))]  # fmt: skip
    outside = sum(region is Region.OUTSIDE and not name.endswith("ankle_dorsiflexion")
                  for m in moments for name, region in solver.regions(m.pose).items())  # fmt: skip
    swept = [
        max(solver.angle(m.pose, f"{side}_ankle_dorsiflexion") for m in walk(p, p.profile.gait(speed), solver) for side in FEET)
        for speed in np.linspace(p.profile.slowest, p.profile.fastest, p.sweep).tolist()
    ]
    metrics = {
        "speed_asked_mps": p.speed,
        "speed_mps": gait.speed,
        "step_length_m": gait.step_length,
        "duration_s": gait.duration,
        "cadence_spm": gait.cadence,
        "double_support_share": gait.double_support,
        "speed_closure_mps": max((abs(a / gait.duration - gait.speed) for a in advance), default=math.nan),
        "slip_m": max(slip),
        "reach_error_m": max(float(m.pose.miss.max()) for m in moments),
        "toe_clearance_central_m": min(clearance),
        "dorsiflexion_highest_deg": float(dorsiflexion.max()),
        "first_violation_deg": float(dorsiflexion[beyond[0]].max()) if len(beyond) else math.nan,
        "sweep_highest_deg": math.degrees(max(swept)) if swept else math.nan,
        "other_axes_outside": float(outside),
        "pelvis_yaw_deg": float(np.abs(pelvis).max()),
        "thorax_yaw_deg": float(np.abs(thorax).max()),
        "opposition": float(np.corrcoef(pelvis, thorax)[0, 1]) if np.ptp(pelvis) > 1e-6 and np.ptp(thorax) > 1e-6 else math.nan,
        "corridor_least_widths": float(corridor.min()),
        "corridor_most_widths": float(corridor.max()),
        "elbow_least_deg": float(elbow.min()),
        "elbow_most_deg": float(elbow.max()),
        "arm_length_error_m": max(float(np.abs(np.linalg.norm(at[b] - at[a], axis=1) - length).max()) for a, b, length in arms),
        "drive_jump": float(np.abs(jumps(drive)).max()),
    }
    details = Details(gait, solver, moments, dorsiflexion)
    return Outcome(metrics, film(details, p), details)


def film(details: Details, p: Parameters) -> Recording:
    """The walk to look at."""
    moments, gait = details.moments, details.gait
    contact = np.full((len(moments), 2), ContactState.FLAT)
    for k, m in enumerate(moments):
        if m.step.stage(m.phase) is Stage.SWING:
            contact[k, m.step.swing] = ContactState.AIRBORNE
    plan = plan_of(gait)
    events, footholds = [], []
    for number, step in enumerate(dict.fromkeys(m.step for m in moments)):
        begin = number * gait.duration
        events.append(Event(begin + plan.liftoff * gait.duration, step.swing, False, SolePart.BALL))
        events.append(Event(begin + plan.touchdown * gait.duration, step.swing, True, SolePart.BALL))
        footholds.append((begin, step.swing, step.end.ankles[step.swing]))
    trajectory = Trajectory(
        REFERENCE,
        np.array([m.time for m in moments]),
        np.array([m.pose.pelvis for m in moments]),
        np.array([m.pose.q for m in moments]),
        np.array([m.pose.target.pelvis_rotation for m in moments]),
    )
    command = {"speed_mps": gait.speed, "speed_asked_mps": p.speed, "coordination": p.coordination.mode}
    return trajectory.recording("velocity profile", contact, events, footholds, command)


# -- checks ------------------------------------------------------------------------------------------------------------------


def ankle_stays_within_the_guardrail(outcome: Outcome[Details]) -> bool:
    """Dorsiflexion of either ankle is at most the 16 degrees of LO-001, at every speed that was looked at."""
    highest = [outcome.metrics["dorsiflexion_highest_deg"], outcome.metrics["sweep_highest_deg"]]
    return all(not value > GUARDRAIL for value in highest)


def other_joints_stay_within_the_guardrails(outcome: Outcome[Details]) -> bool:
    """No other axis of either leg leaves its outer envelope."""
    return outcome.metrics["other_axes_outside"] == 0


def toe_clears_the_ground(outcome: Outcome[Details]) -> bool:
    """Over the middle 60 % of every swing the toe tip is at least 10 mm above the ground, as in LO-005."""
    return outcome.metrics["toe_clearance_central_m"] >= 0.010


def planted_feet_do_not_slip(outcome: Outcome[Details]) -> bool:
    """Each planted ankle stays where its step found it, to 1e-9 m."""
    return outcome.metrics["slip_m"] <= 1e-9 and outcome.metrics["reach_error_m"] <= 1e-9


def speed_closes(outcome: Outcome[Details]) -> bool:
    """In every step but the first the pelvis advances by commanded speed times duration, to 1e-9 m/s."""
    return not outcome.metrics["speed_closure_mps"] > 1e-9


def pelvis_and_thorax_oppose(outcome: Outcome[Details]) -> bool:
    """Where the trunk joins in, pelvis and thorax turn against each other: correlation below -0.95."""
    assert outcome.recording is not None
    return outcome.recording.header["command"]["coordination"] in ("legs", "pelvis") or outcome.metrics["opposition"] < -0.95


def arms_keep_their_lengths(outcome: Outcome[Details]) -> bool:
    """Upper arms and forearms are as long as ever, to 1e-12 m."""
    return outcome.metrics["arm_length_error_m"] <= 1e-12


def wrists_keep_to_their_corridor(outcome: Outcome[Details]) -> bool:
    """With swinging arms the wrists are 0.72 to 0.78 shoulder widths from the middle, elbows at 5 to 60 degrees."""
    assert outcome.recording is not None
    if outcome.recording.header["command"]["coordination"] != "full":
        return True
    m = outcome.metrics
    within = m["corridor_least_widths"] >= 0.72 - 1e-9 and m["corridor_most_widths"] <= 0.78 + 1e-9
    return within and m["elbow_least_deg"] >= 5 and m["elbow_most_deg"] <= 60


def arm_drive_has_no_jumps(outcome: Outcome[Details]) -> bool:
    """The speed of the arms' drive changes without a jump (0.05 per second from tick to tick)."""
    return outcome.metrics["drive_jump"] <= 0.05


# -- comparisons -------------------------------------------------------------------------------------------------------------


def all_modes_stand_on_the_same_footholds(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """Legs only, + pelvis, + trunk and full body put both ankles in the same places at every tick, to 1e-12 m."""
    paths = [np.array([m.pose.ankles for m in outcomes[name].details.moments]) for name in ("retained", "legs", "pelvis", "trunk")]
    return all(np.allclose(path, paths[0], rtol=0, atol=1e-12) for path in paths[1:])


def faster_is_longer_and_quicker_with_less_double_support(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """From 0.40 over 0.60 to 0.80 m/s step length and cadence rise and double support falls."""
    rows = [outcomes[name].metrics for name in ("slow", "retained", "fast")]
    rise = all(b[key] > a[key] for key in ("step_length_m", "cadence_spm") for a, b in pairwise(rows))
    return rise and all(b["double_support_share"] < a["double_support_share"] for a, b in pairwise(rows))


def commands_beyond_the_range_are_clamped(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """A command of 1.2 m/s walks at 0.80 m/s, and says so."""
    clamped, fast = outcomes["clamped"], outcomes["fast"]
    return clamped.metrics["speed_asked_mps"] == 1.2 and clamped.metrics["speed_mps"] == fast.metrics["speed_mps"] == 0.8


def spacing_is_half_of_peoples(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """At 0.40 to 0.80 m/s the steps are 0.48 to 0.64 of what people's law gives, 0.41 to 0.58 m."""
    shares = [outcomes[name].metrics["step_length_m"] / HUMAN.gait(outcomes[name].metrics["speed_mps"]).step_length
              for name in ("slow", "retained", "fast")]  # fmt: skip
    return all(0.46 <= share <= 0.64 for share in shares)


# -- figures -----------------------------------------------------------------------------------------------------------------


def figures(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, Figure]:
    """Both profiles; the four modes; the ankle of retained and rejected candidates."""
    out = {"profiles": _profiles()}
    shown = [name for name in ("legs", "pelvis", "trunk", "retained") if name in outcomes]
    if shown:
        out["modes"] = _modes({name: outcomes[name] for name in shown})
    out["ankle"] = _ankle(outcomes)
    return out


def _profiles() -> Figure:
    figure = plot.blank(12, 3.6, "LO-006: the flat-foot profile beside people's law")
    panels = figure.subplots(1, 3)
    for profile, label, colour in ((FLAT_FOOT, "flat foot (LO-006)", "#c0392b"), (HUMAN, "people's law (LO-008 and later)", "#2c6fbb")):
        speeds = np.linspace(profile.slowest, profile.fastest, 81)
        gaits = [profile.gait(v) for v in speeds.tolist()]
        panels[0].plot(speeds, [g.step_length for g in gaits], color=colour, label=label)
        panels[1].plot(speeds, [g.cadence for g in gaits], color=colour)
        panels[2].plot(speeds, [100 * g.double_support for g in gaits], color=colour)
    panels[0].set(xlabel="speed [m/s]", ylabel="step length [m]", ylim=(0, 1))
    panels[1].set(xlabel="speed [m/s]", ylabel="cadence [steps/min]", ylim=(0, 190))
    panels[2].set(xlabel="speed [m/s]", ylabel="double support [% of a step]", ylim=(0, None))
    panels[0].legend(loc="upper left")
    return figure


def _modes(outcomes: Mapping[str, Outcome[Details]]) -> Figure:
    figure = plot.blank(13, 3.6, "LO-006: four modes on the same footsteps, front and side in mid-swing of the fourth step")
    panels = figure.subplots(1, len(outcomes), squeeze=False)[0]
    for axes, (name, outcome) in zip(panels, outcomes.items(), strict=True):
        assert outcome.recording is not None
        row = round(3.62 * outcome.details.gait.duration * RATE)
        place = float(outcome.recording.root_position[row, 1])
        plot.draw_body(axes, outcome.recording, row, "front", shift=-0.45)
        plot.draw_body(axes, outcome.recording, row, "side", shift=0.55 - place)
        axes.axhline(0, color=plot.INK, lw=0.8, zorder=0)
        axes.set(xlim=(-1.25, 1.25), ylim=(-0.08, 1.9), aspect="equal", title="full body" if name == "retained" else name)
        axes.set_axis_off()
    return figure


def _ankle(outcomes: Mapping[str, Outcome[Details]]) -> Figure:
    figure = plot.blank(10, 4.2, "LO-006: dorsiflexion of the more flexed ankle")
    axes = figure.subplots()
    for name, outcome in outcomes.items():
        d = outcome.details
        if name in ("legs", "pelvis", "trunk", "clamped", "slow", "less-lift", "fast"):
            continue
        steps = np.array([m.time / d.gait.duration for m in d.moments])
        axes.plot(steps, d.dorsiflexion.max(axis=1), label=f"{name}: {d.dorsiflexion.max():.2f} deg", lw=1.2)
    axes.axhline(GUARDRAIL, color="#c0392b", ls="--", lw=1.2)
    axes.set(xlabel="steps", ylabel="[deg]", ylim=(4, 26))
    axes.legend(loc="upper left", ncols=3, fontsize=8)
    return figure


def _mode(mode: Mode) -> Parameters:
    return Parameters(coordination=Coordination(mode))


BROAD = VelocityProfile(0.40, 1.00, step_length=Span(0.26, 0.40))
TIGHT = 0.0076  # [m] pelvis below straight legs at which the retained profile only just holds, as in the document


def _spacing(fast: float) -> VelocityProfile:
    return VelocityProfile(step_length=Span(0.26, fast))


EXPERIMENT = Experiment(
    run=run,
    variants=(
        Variant("retained", Parameters(sweep=9), "full body at 0.60 m/s, and the ankle at nine speeds of the range"),
        Variant("slow", Parameters(0.40), "0.40 m/s"),
        Variant("fast", Parameters(0.80), "0.80 m/s"),
        *(Variant(mode, _mode(mode), f"the same footsteps, mode {mode}") for mode in MODES[:-1]),
        Variant("clamped", Parameters(1.2), "a command beyond the range"),
        Variant("fast-deeper", Parameters(0.80, drop=TIGHT), "0.80 m/s, the pelvis 7.6 mm below straight legs: the retained profile holds"),
        Variant(
            "less-lift",
            Parameters(0.40, VelocityProfile(lift=Span(0.027, 0.038))),
            "first candidate: less lift at low speed",
            fails=(toe_clears_the_ground,),
        ),
        Variant(
            "broader-map",
            Parameters(1.00, BROAD),
            "second candidate: 0.40-1.00 m/s on 0.26-0.40 m, at its fast end",
            fails=(ankle_stays_within_the_guardrail,),
        ),
        Variant(
            "broader-map-0.70",
            Parameters(0.70, BROAD, drop=TIGHT),
            "the same at 0.70 m/s, where the document found it out, with the deeper pelvis",
            fails=(ankle_stays_within_the_guardrail,),
        ),
        Variant(
            "fast-end-0.30",
            Parameters(0.80, _spacing(0.30), drop=TIGHT),
            "later candidate: 0.30 m at the fast end, with the deeper pelvis",
            fails=(ankle_stays_within_the_guardrail,),
        ),
        Variant(
            "fast-end-0.285",
            Parameters(0.80, _spacing(0.285), drop=TIGHT),
            "last candidate: 0.285 m at the fast end, with the deeper pelvis",
            fails=(ankle_stays_within_the_guardrail,),
        ),
        Variant(
            "human-spacing",
            Parameters(0.60, VelocityProfile(law="human")),
            "people's step length on flat feet",
            fails=(ankle_stays_within_the_guardrail,),
        ),
    ),
    checks=(
        ankle_stays_within_the_guardrail,
        other_joints_stay_within_the_guardrails,
        toe_clears_the_ground,
        planted_feet_do_not_slip,
        speed_closes,
        pelvis_and_thorax_oppose,
        arms_keep_their_lengths,
        wrists_keep_to_their_corridor,
        arm_drive_has_no_jumps,
    ),
    comparisons=(
        all_modes_stand_on_the_same_footholds,
        faster_is_longer_and_quicker_with_less_double_support,
        commands_beyond_the_range_are_clamped,
        spacing_is_half_of_peoples,
    ),
    figures=figures,
)
