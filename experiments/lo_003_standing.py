"""LO-003: the static standing solver.

Question: Can a pelvis target and two ankle targets alone determine a legal pose of the legs, with no limb stretched, no knee
    that flips, and every impossible wish visible instead of hidden?

Method: Pelvis height is clamped to the interval that both legs allow; each leg is solved by the analytic two-link formula
    x = (a^2 - b^2 + d^2) / 2d, h = sqrt(a^2 - x^2), its knee in the plane of the hip-ankle line and forward; an ankle out of reach
    goes to the nearest legal point on that line. Seven presets show it, and random targets try it.

Result: All presets are solved; HIGH TEST is lowered by 95 mm and nothing else of it changes; OVERREACH misses by 383 mm, the
    distance to the nearest legal point. Away from full extension, forward kinematics of the solution give the target
    back to 1e-14 m. "low" shows what flat feet cost: 35 mm below straight legs the ankle is at 15.6 of its 16 degrees.

Limits: A standing pose, without time, balance or force. The upper body keeps the neutral pose. The amounts of the presets
    are ours: the study's document names the presets and gives no numbers.

Superseded by: nothing; LO-004 and all later experiments solve their poses with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sandbox.bodies.anatomy import SIDES
from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import Region
from sandbox.bodies.standing import LEG_AXES, Pose, StandingSolver, Target
from sandbox.config import check_range
from sandbox.harness import Experiment, Outcome, Variant
from sandbox.recording import Recording
from sandbox.report import plot
from sandbox.report.figure import LEFT_COLOUR, RIGHT_COLOUR
from sandbox.state import LEFT, RIGHT, ContactState
from sandbox.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELD = 1.0  # [s] that the recording shows each preset
SHOWN_RATE = 30  # [Hz]
STEEPEST = math.radians(75)  # of random hip-ankle lines, from straight down: the pelvis stays above the ankles


@dataclass(frozen=True)
class Parameters:
    """Amounts of the presets, from the neutral stance.

    Attributes:
        low: pelvis down [m].
        wide: each ankle outward [m].
        split: left ankle forward and right ankle back [m].
        forward, up: left ankle in the raised step [m].
        high: pelvis up in HIGH TEST [m].
        overreach: right ankle forward in OVERREACH [m].
        bend: direction in which the knees bend [rad about +Z], 0 forward; the feet turn with the knees.
        samples: random targets.
        seed: of them.

    Raises:
        ValueError: a negative length, a bend beyond 1 rad, or fewer than 1 or more than 100,000 samples.
    """

    low: float = 0.03
    wide: float = 0.15
    split: float = 0.20
    forward: float = 0.28
    up: float = 0.16
    high: float = 0.10
    overreach: float = 0.90
    bend: float = 0.0
    samples: int = 2000
    seed: int = 3

    def __post_init__(self) -> None:
        for name in ("low", "wide", "split", "forward", "up", "high", "overreach"):
            check_range(name, getattr(self, name), (0.0, 2.0), "m")
        check_range("bend", self.bend, (-1.0, 1.0), "rad")
        check_range("samples", self.samples, (1, 100_000))


@dataclass(frozen=True)
class Details:
    """Poses of the presets by name, and the solver."""

    solver: StandingSolver
    poses: Mapping[str, Pose]


LEGAL = ("neutral", "low", "wide", "split", "raised left")


def presets(solver: StandingSolver, p: Parameters) -> dict[str, Target]:
    """The seven targets."""
    pelvis, ankles = solver.neutral_pelvis, solver.neutral_ankles

    def target(down: float = 0.0, left: tuple[float, float, float] = (0, 0, 0), right: tuple[float, float, float] = (0, 0, 0)) -> Target:
        return Target(pelvis - np.array([0.0, 0.0, down]), ankles + np.array([left, right], dtype=np.float64), p.bend)

    return {
        "neutral": target(),
        "low": target(down=p.low),
        "wide": target(left=(-p.wide, 0, 0), right=(p.wide, 0, 0)),
        "split": target(left=(0, p.split, 0), right=(0, -p.split, 0)),
        "raised left": target(left=(0, p.forward, p.up)),
        "HIGH TEST": target(down=-p.high),
        "OVERREACH": target(right=(0, p.overreach, 0)),
    }


def run(p: Parameters) -> Outcome[Details]:
    """Solve the presets, then random targets."""
    solver = StandingSolver()
    poses = {name: solver.solve(target) for name, target in presets(solver, p).items()}
    high, over = poses["HIGH TEST"], poses["OVERREACH"]
    reached, missed = random_targets(solver, p)
    metrics = {
        "neutral_knee_flexion_deg": math.degrees(solver.angle(poses["neutral"], "left_knee_flexion")),
        "low_knee_flexion_deg": math.degrees(solver.angle(poses["low"], "left_knee_flexion")),
        "low_dorsiflexion_deg": math.degrees(solver.angle(poses["low"], "left_ankle_dorsiflexion")),
        "split_dorsiflexion_deg": math.degrees(solver.angle(poses["split"], "right_ankle_dorsiflexion")),
        "raised_knee_flexion_deg": math.degrees(solver.angle(poses["raised left"], "left_knee_flexion")),
        "wide_lowered_m": poses["wide"].lowered,
        "split_lowered_m": poses["split"].lowered,
        "high_test_lowered_m": high.lowered,
        "overreach_miss_m": float(over.miss[1]),
        "segment_error_m": max(segment_error(solver, pose) for pose in poses.values()),
        "preset_error_m": max(float(poses[name].miss.max()) for name in LEGAL),
        "random_error_m": reached,
        "random_unreachable_error_m": missed,
    }
    return Outcome(metrics, film(solver, poses), Details(solver, poses))


def random_targets(solver: StandingSolver, p: Parameters) -> tuple[float, float]:
    """Largest error of forward kinematics [m]: to reachable targets, and to the nearest legal point of unreachable ones."""
    rng = np.random.default_rng(p.seed)
    reached = missed = 0.0
    pelvis = solver.neutral_pelvis
    for _ in range(p.samples):
        hips = solver.neutral_ankles + np.array([0.0, 0.0, pelvis[2] - solver.anatomy.ankle_height])
        tilt, turn = rng.uniform(0, STEEPEST, size=2), rng.uniform(0, 2 * np.pi, size=2)
        direction = np.column_stack((np.sin(tilt) * np.cos(turn), np.sin(tilt) * np.sin(turn), -np.cos(tilt)))
        distance = rng.uniform(solver.shortest + 0.01, solver.longest - 0.01, size=(2, 1))
        ankles = hips + distance * direction
        pose = solver.solve(Target(pelvis, ankles, p.bend))
        reached = max(reached, float(np.linalg.norm(solved_ankles(solver, pose) - ankles, axis=1).max()))
        # The same directions, too far: no height is clamped where both legs are out of reach of every height.
        far = hips + np.array([[0.3, 1.5, 0.0], [0.3, -1.5, 0.0]]) * rng.uniform(0.7, 2.0, size=(2, 1))
        pose = solver.solve(Target(pelvis, far, p.bend))
        line = far - hips
        nearest = hips + solver.longest * line / np.linalg.norm(line, axis=1, keepdims=True)
        missed = max(missed, float(np.linalg.norm(solved_ankles(solver, pose) - nearest, axis=1).max()))
    return reached, missed


def solved_ankles(solver: StandingSolver, pose: Pose) -> Array:
    """Ankles (2, 3) [m] by forward kinematics of the joint angles."""
    return np.array([solver.point(pose, f"{side}_ankle") for side in SIDES])


def segment_error(solver: StandingSolver, pose: Pose) -> float:
    """Largest difference of a leg segment's length from the anatomy's [m]."""
    errors = []
    for side in SIDES:
        hip, knee, ankle = (solver.point(pose, f"{side}_{name}") for name in ("hip", "knee", "ankle"))
        errors += [abs(float(np.linalg.norm(hip - knee)) - solver.upper), abs(float(np.linalg.norm(knee - ankle)) - solver.lower)]
    return max(errors)


TOUCHES = 1e-3  # [m] above the ground


def film(solver: StandingSolver, poses: Mapping[str, Pose]) -> Recording:
    """Each preset for a second."""
    each = round(HELD * SHOWN_RATE)
    held = [pose for pose in poses.values() for _ in range(each)]
    time = np.arange(len(held)) / SHOWN_RATE
    trajectory = Trajectory(solver.anatomy, time, np.array([p.pelvis for p in held]), np.array([p.q for p in held]), still=True)
    contact = np.repeat([[contact_of(solver, pose, side) for side in SIDES] for pose in poses.values()], each, axis=0)
    return trajectory.recording("standing", contact, settings={"presets": list(poses)})


def contact_of(solver: StandingSolver, pose: Pose, side: str) -> ContactState:
    """What of a foot is on the ground in the solved pose, not in the one that was asked for."""
    heel, ball, tip = (float(solver.point(pose, f"{side}_{name}")[2]) < TOUCHES for name in ("heel", "toe_base", "toe_tip"))
    if heel:
        return ContactState.FLAT if ball else ContactState.HEEL
    return ContactState.FOREFOOT if ball else ContactState.TOE if tip else ContactState.AIRBORNE


# -- checks ------------------------------------------------------------------------------------------------------------------


def segments_keep_their_length(outcome: Outcome[Details]) -> bool:
    """Thighs and shanks are as long in every preset as in the anatomy, to 1e-12 m."""
    return outcome.metrics["segment_error_m"] <= 1e-12


def legal_targets_are_reached(outcome: Outcome[Details]) -> bool:
    """Ankles of legal presets and of random targets are where they were asked to be, to 1e-9 m."""
    return max(outcome.metrics["preset_error_m"], outcome.metrics["random_error_m"]) <= 1e-9


def unreachable_targets_land_at_the_nearest_legal_point(outcome: Outcome[Details]) -> bool:
    """An ankle out of reach is on its hip-ankle line at full extension, to 1e-9 m."""
    return outcome.metrics["random_unreachable_error_m"] <= 1e-9


def only_height_is_clamped(outcome: Outcome[Details]) -> bool:
    """HIGH TEST is lowered to what both legs reach, and its pelvis keeps its place otherwise."""
    pose = outcome.details.poses["HIGH TEST"]
    same = np.array_equal(pose.pelvis[:2], pose.target.pelvis[:2]) and not pose.miss.any()
    return same and pose.interval is not None and pose.pelvis[2] == pose.interval.high < pose.target.pelvis[2]


def wishes_stay_visible(outcome: Outcome[Details]) -> bool:
    """OVERREACH keeps the requested ankle beside the solved one."""
    pose = outcome.details.poses["OVERREACH"]
    return float(pose.miss[1]) > 0.1 and not np.allclose(pose.target.ankles, pose.ankles)


def knees_bend_forward(outcome: Outcome[Details]) -> bool:
    """The knee lies ahead of the hip-ankle line, as the bend direction has it, in every preset."""
    d = outcome.details
    return all(d.solver.knee_ahead(pose, leg) > 0 for pose in d.poses.values() for leg in (LEFT, RIGHT))


def legal_presets_stay_within_the_guardrails(outcome: Outcome[Details]) -> bool:
    """No axis of the legs is outside its outer envelope in the presets that can be reached."""
    d = outcome.details
    return all(region is not Region.OUTSIDE for name in LEGAL for region in d.solver.regions(d.poses[name]).values())


def the_same_target_gives_the_same_bits(outcome: Outcome[Details]) -> bool:
    """Solving again gives the same joint angles, bit by bit."""
    return all(np.array_equal(outcome.details.solver.solve(pose.target).q, pose.q) for pose in outcome.details.poses.values())


# -- figures -----------------------------------------------------------------------------------------------------------------


def figures(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, Figure]:
    """The presets from the side and from the front: bodies as solved, rings where the ankles and the pelvis were asked to be."""
    ((_, outcome),) = outcomes.items()
    assert outcome.recording is not None
    figure = plot.blank(14, 5.6, "LO-003: presets of the standing solver, as solved; rings where pelvis and ankles were requested")
    rows = figure.subplots(2, len(outcome.details.poses), sharey=True)
    for k, (name, pose) in enumerate(outcome.details.poses.items()):
        for axes, view, across in ((rows[0, k], "side", np.array([0, 1, 0])), (rows[1, k], "front", np.array([-1, 0, 0]))):
            plot.draw_body(axes, outcome.recording, round(k * HELD * SHOWN_RATE), view)
            asked, got = np.vstack((pose.target.pelvis, pose.target.ankles)), np.vstack((pose.pelvis, pose.ankles))
            for wish, place in zip(asked, got, strict=True):
                axes.plot([wish @ across, place @ across], [wish[2], place[2]], color="#c0392b", lw=1.2, zorder=5)
            axes.plot(asked @ across, asked[:, 2], "o", mfc="none", mec="#c0392b", ms=6, zorder=6)
            axes.axhline(0, color=plot.INK, lw=0.8, zorder=0)
            axes.set(xlim=(-0.75, 1.0) if view == "side" else (-0.85, 0.85), ylim=(-0.05, 1.95), aspect="equal", xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set_visible(False)
        rows[0, k].set_title(f"{name}\n{worst_axis(outcome.details.solver, pose)}", fontsize=7.5)
        rows[1, k].set_title(f"height {1000 * pose.lowered:+.0f} mm, miss {1000 * pose.miss.max():.0f} mm", fontsize=8, fontweight="normal")
    return {"presets": figure, "envelopes": envelopes_figure(outcome)}


def envelopes_figure(outcome: Outcome[Details]) -> Figure:
    """Every axis of both legs in every preset, within its comfortable range and its guardrail."""
    solver, poses = outcome.details.solver, outcome.details.poses
    figure = plot.blank(14, 6, "LO-003: axes of the legs by preset [deg]; guardrail grey, comfortable blue")
    for axes, axis in zip(figure.subplots(2, 3).flat, LEG_AXES, strict=True):
        envelope = solver.envelopes[axis]
        for (low, high), colour in ((np.degrees(envelope.outer), "#e9ebee"), (np.degrees(envelope.comfortable), "#cfe0ef")):
            axes.axhspan(low, high, color=colour, lw=0)
        for side, colour, aside in zip(SIDES, (LEFT_COLOUR, RIGHT_COLOUR), (-0.12, 0.12), strict=True):
            angles = [math.degrees(solver.angle(pose, f"{side}_{axis}")) for pose in poses.values()]
            axes.plot(np.arange(len(poses)) + aside, angles, "o", color=colour, ms=5, label=side)
        axes.set_xticks(range(len(poses)), list(poses), rotation=25, fontsize=7)
        axes.set_title(axis.replace("_", " "))
    figure.axes[0].legend(fontsize=8)
    return figure


def worst_axis(solver: StandingSolver, pose: Pose) -> str:
    """The axis that is nearest to its guardrail or farthest beyond it, of those outside their comfortable range."""
    regions = {joint: region for joint, region in solver.regions(pose).items() if region is not Region.COMFORTABLE}
    if not regions:
        return "comfortable"
    joint = max(regions, key=lambda name: solver.envelopes[name.partition("_")[2]].excess(solver.angle(pose, name)))
    axis = joint.partition("_")[2].replace("_", " ")
    return f"{regions[joint].name.lower()}: {axis} {math.degrees(solver.angle(pose, joint)):.1f}°"


EXPERIMENT = Experiment(
    run=run,
    variants=(Variant("retained", Parameters(), "seven presets and random targets"),),
    checks=(
        segments_keep_their_length,
        legal_targets_are_reached,
        unreachable_targets_land_at_the_nearest_legal_point,
        only_height_is_clamped,
        wishes_stay_visible,
        knees_bend_forward,
        legal_presets_stay_within_the_guardrails,
        the_same_target_gives_the_same_bits,
    ),
    figures=figures,
)
