"""LO-001: the frozen reference anatomy.

Question: On what body do all later experiments stand, so that none of them moves its own goalposts, and how does that body speak
    with skeletons whose names, axes, units and bind poses are somebody else's?

Method: One neutral subject, whose stature and spread of arms follow from the two figures that the study gives of it (centre of mass
    at 1.02 m, wrists 1.52 shoulder widths from the midline) and de Leva's (1996) mean lengths. Every axis has a comfortable envelope
    inside an outer guardrail, with its source. Other subjects are scaled by height, mass and sex. A pose goes to a Mixamo-named
    skeleton (Y up, centimetres, T-pose of our own) and to a skeleton of the CMU database, and comes back.

Result: The subject is 1.781 m tall, its centre of mass at 1.020 m, its arms held out by 44.9 degrees; its joint centres are within 0.2 mm
    of those that the literature's reconstruction gives. Random poses come back from both skeletons to 1e-12 rad, the ankle's inversion
    excepted, for which CMU's ankle has no axis: it is left out, and told.

Limits: The study's own lengths, foot width and limits are not published but for the 16 degrees of the ankle: the others are
    reconstructed, and limits without a source are called provisional. A controlled subject, not a mean of people. Adapters carry
    poses, no meshes and no animation.

Superseded by: nothing; the body is frozen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sandbox.bodies import REFERENCE
from sandbox.bodies.anatomy import SIDES, Anatomy
from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import Region, arm_abduction, envelopes, neutral_angles
from sandbox.bodies.rigs import BodyPose, CmuRig, MixamoRig, angle_between, cmu_skeleton, landmark_places, link_rotations
from sandbox.bodies.rigs.mixamo import Y_UP
from sandbox.bodies.segments import whole_body_com
from sandbox.config import check_range
from sandbox.conventions import FORWARD, RIGHT, UP
from sandbox.harness import Experiment, Outcome, Variant
from sandbox.mocap import asf
from sandbox.recording import Recording
from sandbox.report import plot
from sandbox.report.figure import LEFT_COLOUR, MIDDLE_COLOUR, RIGHT_COLOUR
from sandbox.spatial import matrix_from_quaternion, normalized
from sandbox.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The study's list, by our names; limbs on both sides.
MIDLINE: Final = ("mid_hip", "spine", "chest", "neck_base", "head")
LIMBS: Final = ("shoulder", "elbow", "wrist", "hand_tip", "hip", "knee", "ankle", "heel", "toe_base", "toe_tip")

# Joint centres of the reference subject as reconstructed from the literature (right side) [m].
RECONSTRUCTED: Final = {
    "mid_hip": (0, 0, 0.9319), "spine": (0, 0, 1.1137), "chest": (0, 0, 1.3058), "neck_base": (0, 0, 1.5561), "head": (0, 0, 1.6807),
    "right_shoulder": (0.1933, 0, 1.4512), "right_elbow": (0.3946, 0, 1.2491), "right_wrist": (0.5875, 0, 1.0556),
    "right_hand_tip": (0.7170, 0, 0.9256), "right_hip": (0.0891, 0, 0.9319), "right_knee": (0.0891, 0, 0.5268),
    "right_ankle": (0.0891, 0, 0.0764), "right_heel": (0.0891, -0.0561, 0), "right_toe_base": (0.0891, 0.1221, 0),
    "right_toe_tip": (0.0891, 0.1932, 0),
}  # fmt: skip

# Joints of the Mixamo-named skeleton and the landmarks where they must be; bones of CMU's whose direction must be the body's.
MIXAMO_JOINTS: Final = {
    "Hips": "mid_hip", "Neck": "neck_base", "HeadTop_End": "vertex", "LeftForeArm": "left_elbow", "RightHand": "right_wrist",
    "LeftHand_End": "left_hand_tip", "RightLeg": "right_knee", "LeftFoot": "left_ankle", "RightToe_End": "right_toe_tip",
}  # fmt: skip
CMU_BONES: Final = {
    f"{side[0]}{bone}": (f"{side[0]}{above}", f"{side}_{start}", f"{side}_{end}")
    for side in SIDES
    for bone, above, start, end in (
        ("femur", "hipjoint", "hip", "knee"), ("tibia", "femur", "knee", "ankle"), ("foot", "tibia", "ankle", "mtp"),
        ("humerus", "clavicle", "shoulder", "elbow"), ("radius", "humerus", "elbow", "wrist"),
    )
}  # fmt: skip
CHAIN: Final = ("hip", "knee", "ankle", "heel", "toe_base", "toe_tip")
ARM: Final = ("shoulder", "elbow", "wrist", "hand_tip")

# Errors of the ways there and back.
RETURNED: Final = ("mixamo_angle_rad", "mixamo_link_rad", "mixamo_joint_m", "cmu_angle_rad", "cmu_link_rad", "cmu_bone_rad")

IMPOSSIBLE: Final = ({"height": 0.3}, {"height": -1.78}, {"height": math.nan}, {"mass": 0.0}, {"mass": math.inf}, {"sex": "neuter"})
HELD = 1.0  # [s] that the recording shows each pose
SHOWN_RATE = 30  # [Hz]


@dataclass(frozen=True)
class Parameters:
    """A subject, by default the frozen one, and how much its adapters are tried.

    Attributes:
        mass: of the body [kg].
        height: of the body [m].
        sex: ``mean``, ``female`` or ``male``: whose mass distribution and proportions.
        poses: random poses of the round trips.
        seed: of them.

    Raises:
        ValueError: a body that cannot be, or fewer than 1 or more than 10,000 poses.
    """

    mass: float = 70.0
    height: float = 1.781
    sex: str = "mean"
    poses: int = 100
    seed: int = 1

    def __post_init__(self) -> None:
        _ = self.anatomy
        check_range("poses", self.poses, (1, 10_000))

    @property
    def anatomy(self) -> Anatomy:
        return Anatomy(self.mass, self.height, self.sex)  # type: ignore[arg-type]  # which checks it


@dataclass(frozen=True)
class Details:
    """The body, its landmarks in the neutral pose, a walking-like pose, and that pose in both skeletons (places of joints [m])."""

    anatomy: Anatomy
    points: Mapping[str, Array]
    pose: BodyPose
    mixamo: Mapping[str, Array]
    cmu: Mapping[str, Array]


def run(p: Parameters) -> Outcome[Details]:
    """Measure the body, and send poses to the skeletons and back."""
    anatomy = p.anatomy
    neutral = BodyPose(np.array([0.0, 0.0, anatomy.leg_length]), np.eye(3), neutral_angles(anatomy))
    points = landmark_places(neutral, anatomy)
    shoulders = float(points["right_shoulder"][0] - points["left_shoulder"][0])
    com = whole_body_com(points)
    table = envelopes()
    mixamo, cmu = MixamoRig(anatomy), CmuRig(cmu_skeleton(anatomy), anatomy)
    pose = striding(anatomy)
    metrics = {
        "stature_m": anatomy.height,
        "leg_length_m": anatomy.leg_length,
        "thigh_m": anatomy.length("thigh"),
        "shank_m": anatomy.length("shank"),
        "foot_width_m": 2 * anatomy.foot_half_width,
        "com_height_m": float(com[2]),
        "wrist_shoulder_widths": float(points["right_wrist"][0]) / shoulders,
        "arm_abduction_deg": math.degrees(arm_abduction(anatomy)),
        "ankle_guardrail_deg": math.degrees(table["ankle_dorsiflexion"].outer[1]),
        "axes_count": len(table),
        "axes_provisional_count": sum("provisional" in envelope.source for envelope in table.values()),
        **round_trips(p, mixamo, cmu),
    }
    found = asf.pose(cmu.skeleton, cmu.to_amc(pose).motion)
    details = Details(
        anatomy,
        points,
        pose,
        {name: place / MixamoRig.UNIT for name, place in mixamo.joints(mixamo.to_rig(pose)).items()},
        {name: end[0] for name, end in found.ends.items()},
    )
    return Outcome(metrics, film(anatomy, [neutral, pose]), details)


def striding(anatomy: Anatomy) -> BodyPose:
    """A pose as in walking: the right leg ahead, arms against the legs."""
    degrees = {
        "right_hip_flexion": 25, "right_knee_flexion": 8, "left_hip_flexion": -12, "left_knee_flexion": 35, "left_ankle_dorsiflexion": -10,
        "left_mtp_extension": 25, "right_shoulder_flexion": -20, "left_shoulder_flexion": 25, "right_elbow_flexion": 20,
        "left_elbow_flexion": 40, "thorax_rotation": 8, "right_shoulder_adduction": -8, "left_shoulder_adduction": -8,
    }  # fmt: skip
    q = np.zeros(len(anatomy.joints))
    for name, angle in degrees.items():
        q[anatomy.joint_index[name]] = math.radians(angle)
    return BodyPose(np.array([0.0, 0.0, anatomy.leg_length]), np.eye(3), q)


def random_pose(anatomy: Anatomy, rng: np.random.Generator) -> BodyPose:
    """Anywhere, any way up, every joint anywhere within its limits."""
    low, high = np.array([joint.outer for joint in anatomy.joints]).T
    return BodyPose(rng.normal(size=3), matrix_from_quaternion(normalized(rng.normal(size=4))), rng.uniform(low, high))


def round_trips(p: Parameters, mixamo: MixamoRig, cmu: CmuRig) -> dict[str, float]:
    """Largest errors of poses that went to a skeleton and came back, and of the skeleton's joints against the body's."""
    anatomy, rng = p.anatomy, np.random.default_rng(p.seed)
    inversion = [anatomy.joint_index[f"{side}_ankle_inversion"] for side in SIDES]
    worst, told = dict.fromkeys(RETURNED, 0.0), []

    def note(name: str, value: float) -> None:
        worst[name] = max(worst[name], value)

    for _ in range(p.poses):
        pose = random_pose(anatomy, rng)
        rig = mixamo.to_rig(pose)
        back = mixamo.from_rig(rig)
        note("mixamo_angle_rad", float(np.abs(back.pose.q - pose.q).max()))
        note("mixamo_link_rad", apart(back.pose, pose, anatomy))
        places, joints = landmark_places(pose, anatomy), mixamo.joints(rig)
        for joint, landmark in MIXAMO_JOINTS.items():
            note("mixamo_joint_m", float(np.linalg.norm(Y_UP @ joints[joint] / MixamoRig.UNIT - places[landmark])))

        # What CMU's ankle cannot do is left out, and told; its axis of yaw takes over a part where the foot is pointed.
        residual = cmu.to_amc(pose).residual
        told += [residual[f"{side}_hindfoot"] / abs(float(pose.q[index])) for side, index in zip(SIDES, inversion, strict=True)]
        pose.q[inversion] = 0.0
        frame = cmu.to_amc(pose)
        back = cmu.from_amc(frame.motion)
        note("cmu_angle_rad", float(np.abs(back.pose.q - pose.q).max()))
        note("cmu_link_rad", max(apart(back.pose, pose, anatomy), *frame.residual.values(), *back.residual.values()))
        places, ends = landmark_places(pose, anatomy), asf.pose(cmu.skeleton, frame.motion).ends
        for bone, (above, start, end) in CMU_BONES.items():
            theirs, ours = ends[bone][0] - ends[above][0], places[end] - places[start]
            note("cmu_bone_rad", float(np.linalg.norm(theirs / np.linalg.norm(theirs) - ours / np.linalg.norm(ours))))
    return {**worst, "cmu_inversion_told_least": min(told), "cmu_inversion_told_most": max(told)}


def apart(a: BodyPose, b: BodyPose, anatomy: Anatomy) -> float:
    """Largest angle [rad] between the same link in two poses."""
    one, other = link_rotations(a, anatomy), link_rotations(b, anatomy)
    return max(angle_between(one[link], other[link]) for link in one if not link[-1].isdigit())


def film(anatomy: Anatomy, poses: list[BodyPose]) -> Recording:
    """Each pose for a second."""
    held = [pose for pose in poses for _ in range(round(HELD * SHOWN_RATE))]
    time = np.arange(len(held)) / SHOWN_RATE
    trajectory = Trajectory(anatomy, time, np.array([p.position for p in held]), np.array([p.q for p in held]), still=True)
    return trajectory.recording("reference anatomy", settings={"poses": ["neutral", "striding"]})


# -- checks ------------------------------------------------------------------------------------------------------------------


def axes_are_right_handed(outcome: Outcome[Details]) -> bool:
    """X cross Y is Z; the right shoulder is at positive X, the toes at positive Y, the head at positive Z."""
    points = outcome.details.points
    right, forward, up = points["right_shoulder"][0], points["left_toe_tip"][1], points["head"][2]
    return bool(np.array_equal(np.cross(RIGHT, FORWARD), UP)) and min(right, forward, up) > 0


def every_joint_of_the_list_is_there(outcome: Outcome[Details]) -> bool:
    """Pelvis to toe tips, on both sides, the left the mirror of the right to 1e-12 m."""
    points, mirror = outcome.details.points, np.array([-1.0, 1.0, 1.0])
    there = all(name in points for name in MIDLINE) and all(f"{side}_{name}" in points for side in SIDES for name in LIMBS)
    return there and all(np.allclose(points[f"left_{n}"], mirror * points[f"right_{n}"], rtol=0, atol=1e-12) for n in LIMBS)


def feet_stand_flat_on_the_ground(outcome: Outcome[Details]) -> bool:
    """Heel, toe base and toe tip of the neutral pose are at height 0 to 1e-12 m, in this order from back to front."""
    feet = [[outcome.details.points[f"{side}_{name}"] for name in ("heel", "toe_base", "toe_tip")] for side in SIDES]
    flat = all(abs(float(point[2])) <= 1e-12 for foot in feet for point in foot)
    return flat and all(heel[1] < base[1] < tip[1] for heel, base, tip in feet)


def envelopes_are_nested_and_sourced(outcome: Outcome[Details]) -> bool:  # noqa: ARG001  # the same for every body
    """Every axis has a comfortable range inside its guardrail, and a source, or the word provisional."""
    table = envelopes().values()
    nested = all(e.outer[0] <= e.comfortable[0] < e.comfortable[1] <= e.outer[1] for e in table)
    return nested and all(e.source for e in table)


def neutral_is_comfortable(outcome: Outcome[Details]) -> bool:
    """Every joint of the limbs that has an envelope is in its comfortable range in the neutral pose."""
    anatomy, table = outcome.details.anatomy, envelopes()
    axes = [(joint.name.partition("_")[2], angle) for joint, angle in zip(anatomy.joints, neutral_angles(anatomy).tolist(), strict=True)]
    return all(table[axis].region(angle) is Region.COMFORTABLE for axis, angle in axes if axis in table)


def poses_return_from_both_skeletons(outcome: Outcome[Details]) -> bool:
    """Joint angles, links and joint places of random poses agree to 1e-9 rad and 1e-9 m after the way there and back."""
    return max(outcome.metrics[name] for name in RETURNED) <= 1e-9


def inversion_is_left_out_and_told(outcome: Outcome[Details]) -> bool:
    """CMU's foot is off by at most the ankle's inversion, for which it has no axis, and by at least half of it."""
    return outcome.metrics["cmu_inversion_told_least"] >= 0.5 and outcome.metrics["cmu_inversion_told_most"] <= 1 + 1e-9


# -- comparisons of subjects -------------------------------------------------------------------------------------------------


def reference_is_the_frozen_subject(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """1.781 m, centre of mass at 1.02 m to 5 mm, wrists at 1.52 shoulder widths, joint centres within 0.2 mm of the reconstruction."""
    outcome = outcomes["reference"]
    metrics, points = outcome.metrics, outcome.details.points
    near = all(np.abs(points[name] - place).max() <= 2e-4 for name, place in RECONSTRUCTED.items())
    figures = abs(metrics["com_height_m"] - 1.02) <= 0.005 and abs(metrics["wrist_shoulder_widths"] - 1.52) <= 1e-9
    return outcome.details.anatomy == REFERENCE and near and figures


def lengths_scale_with_height_within_a_sex(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """Segments of the short and the tall mean body are the reference's, times height, to 1e-12."""
    ratios = []
    for name in ("reference", "short", "tall"):
        anatomy = outcomes[name].details.anatomy
        ratios.append([anatomy.length(segment) / anatomy.height for segment in ("thigh", "shank", "foot", "upper_arm", "trunk", "head")])
    return bool(np.ptp(ratios, axis=0).max() <= 1e-12)


def impossible_bodies_are_refused(outcomes: Mapping[str, Outcome[Details]]) -> bool:  # noqa: ARG001  # no body, no outcome
    """Heights and masses that nobody has, NaN, and an unknown sex are errors."""
    refused = 0
    for change in IMPOSSIBLE:
        try:
            Anatomy(**change)
        except ValueError:
            refused += 1
    return refused == len(IMPOSSIBLE)


# -- figures -----------------------------------------------------------------------------------------------------------------


def figures(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, Figure]:
    """Landmarks of the first subject, envelopes, one pose in three skeletons; all subjects side by side."""
    first = next(iter(outcomes.values()))
    return {"anatomy": anatomy_figure(first), "subjects": subjects_figure(outcomes)}


def anatomy_figure(outcome: Outcome[Details]) -> Figure:
    """Neutral pose with its landmarks, envelopes of the axes, and one pose in the body and in both skeletons."""
    d = outcome.details
    assert outcome.recording is not None
    figure = plot.blank(15, 9, f"LO-001: subject of {d.anatomy.height:g} m, neutral pose, envelopes, and one pose in three skeletons")
    grid = figure.add_gridspec(2, 4, width_ratios=(1.3, 0.9, 0.9, 0.9), height_ratios=(1, 1))
    body = figure.add_subplot(grid[:, 0])
    plot.draw_body(body, outcome.recording, 0, "front", alpha=0.35)
    for name in (*MIDLINE, *(f"left_{limb}" for limb in LIMBS)):
        place = d.points[name]
        body.plot(-place[0], place[2], "o", color=plot.INK, ms=3)
        label = name.removeprefix("left_").replace("_", " ")
        if name in ("left_toe_base", "left_toe_tip"):  # behind the heel in this view
            continue
        aside, away = ("right", -4) if name == "mid_hip" else ("left", 4)
        body.annotate(f"{label} {place[2]:.3f}", (-place[0], place[2]), (away, 2), textcoords="offset points", fontsize=7, ha=aside)
    body.set(xlim=(-0.85, 0.95), ylim=(-0.05, 1.9), aspect="equal", xticks=[], ylabel="height [m]")
    body.set_title("Neutral pose")
    limits = figure.add_subplot(grid[0, 1:])
    for k, (axis, envelope) in enumerate(reversed(envelopes().items())):
        outer, comfortable = np.degrees(envelope.outer), np.degrees(envelope.comfortable)
        limits.barh(k, outer[1] - outer[0], left=outer[0], color="#e3e6ea", height=0.8)
        limits.barh(k, comfortable[1] - comfortable[0], left=comfortable[0], color="#8db5d8", height=0.5)
        kind = "provisional" if envelope.source.startswith("provisional") else "study" if "study" in envelope.source else "Soucie"
        limits.text(outer[1] + 2, k, kind, va="center", fontsize=7, color=plot.FAINT)
        limits.text(-218, k, axis.replace("_", " "), va="center", fontsize=8)
    limits.axvline(0, color=plot.FAINT, lw=0.8)
    limits.set(yticks=[], xlim=(-220, 205), xlabel="degrees: guardrail grey, comfortable blue, source of the guardrail")
    limits.set_title("Envelopes")
    ours = landmark_places(d.pose, d.anatomy)
    lines = [("neck_base", "head"), ("mid_hip", "neck_base")]
    lines += [(f"{s}_{a}", f"{s}_{b}") for s in SIDES for a, b in itertools.pairwise(CHAIN)]
    lines += [(f"{s}_{a}", f"{s}_{b}") for s in SIDES for a, b in itertools.pairwise(ARM)]
    axes = [figure.add_subplot(grid[1, k]) for k in (1, 2, 3)]
    sticks(axes[0], "the body", [(ours[a], ours[b], a) for a, b in lines])
    parents = {bone.name: bone.parent for bone in MixamoRig(d.anatomy).bones if bone.parent}
    sticks(axes[1], "Mixamo's names", [(Y_UP @ d.mixamo[a], Y_UP @ d.mixamo[b], b) for b, a in parents.items()])
    above = {bone.name: bone.parent for bone in cmu_skeleton(d.anatomy).bones}
    sticks(axes[2], "CMU's bones", [(d.cmu[a], d.cmu[b], b) for b, a in above.items()])
    return figure


def sticks(axes: Axes, title: str, lines: list[tuple[Array, Array, str]]) -> None:
    """Bones seen from the right."""
    for start, end, name in lines:
        side = "" if name.startswith(("lower", "Spine")) else {"l": "left", "r": "right"}.get(name[0].lower(), "")
        colour = {"left": LEFT_COLOUR, "right": RIGHT_COLOUR, "": MIDDLE_COLOUR}[side]
        axes.plot([start[1], end[1]], [start[2], end[2]], "o-", color=colour, ms=3, lw=2, zorder={"left": 1, "": 2, "right": 3}[side])
    axes.axhline(0, color=plot.INK, lw=0.6, zorder=0)
    axes.set(xlim=(-0.75, 0.75), ylim=(-0.05, 1.9), aspect="equal")
    axes.set_title(title, fontsize=9)
    axes.set_axis_off()


def subjects_figure(outcomes: Mapping[str, Outcome[Details]]) -> Figure:
    """All subjects in the neutral pose, on one ground."""
    figure = plot.blank(3.1 * len(outcomes), 4.6, "LO-001: subjects by height, mass and sex")
    for axes, (name, outcome) in zip(np.atleast_1d(figure.subplots(1, len(outcomes), sharey=True)), outcomes.items(), strict=True):
        assert outcome.recording is not None
        anatomy = outcome.details.anatomy
        plot.draw_body(axes, outcome.recording, 0, "front")
        axes.axhline(0, color=plot.INK, lw=0.8, zorder=0)
        axes.axhline(anatomy.height, color=plot.FAINT, lw=0.6, ls=":")
        axes.set(xlim=(-0.95, 0.95), ylim=(-0.03, 2.15), aspect="equal", xticks=[])
        axes.set_title(f"{name}: {anatomy.mass:g} kg, {anatomy.height:g} m, {anatomy.sex}\nlegs {anatomy.leg_length:.3f} m", fontsize=9)
    return figure


EXPERIMENT = Experiment(
    run=run,
    variants=(
        Variant("reference", Parameters(), "the frozen subject"),
        Variant("short", Parameters(50.0, 1.55, poses=20), "a short mean body"),
        Variant("tall", Parameters(95.0, 1.95, poses=20), "a tall mean body"),
        Variant("female", Parameters(61.9, 1.735, "female", poses=20), "de Leva's mean female subject"),
        Variant("male", Parameters(73.0, 1.741, "male", poses=20), "de Leva's mean male subject"),
    ),
    checks=(
        axes_are_right_handed,
        every_joint_of_the_list_is_there,
        feet_stand_flat_on_the_ground,
        envelopes_are_nested_and_sourced,
        neutral_is_comfortable,
        poses_return_from_both_skeletons,
        inversion_is_left_out_and_told,
    ),
    comparisons=(reference_is_the_frozen_subject, lengths_scale_with_height_within_a_sex, impossible_bodies_are_refused),
    figures=figures,
)
