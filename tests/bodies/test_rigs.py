"""Pose adapters: there and back, against each skeleton's own forward kinematics, and what cannot be carried."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.bodies import REFERENCE, Anatomy
from sandbox.bodies.anatomy import SIDES
from sandbox.bodies.rigs import (
    BodyPose,
    CmuRig,
    MixamoRig,
    RigPose,
    angle_between,
    cmu_skeleton,
    fit,
    landmark_places,
    link_rotations,
    zero_pose,
)
from sandbox.bodies.rigs.mixamo import Y_UP
from sandbox.mocap import asf
from sandbox.spatial import matrix_from_quaternion, normalized, rotation_x, rotation_z

SHARED = Path(os.environ.get("SANDBOX_DATA", Path(__file__).parents[3] / "shared" / "data"))
CLIPS = sorted((SHARED / "cmu").glob("*/*.amc")) if SHARED.is_dir() else []

MIXAMO, CMU = MixamoRig(), CmuRig(cmu_skeleton())
FEMALE = Anatomy(55, 1.62, "female")
FOLLOWED = (
    "pelvis",
    "abdomen",
    "thorax",
    "head",
    *(f"{s}_{link}" for s in SIDES for link in ("upper_arm", "forearm", "thigh", "shank", "hindfoot", "toes")),
)


def random_pose(seed: int, inversion: bool = True, anatomy: Anatomy = REFERENCE) -> BodyPose:
    rng = np.random.default_rng(seed)
    low, high = np.array([joint.outer for joint in anatomy.joints]).T
    q = rng.uniform(low, high)
    if not inversion:
        q[[anatomy.joint_index[f"{side}_ankle_inversion"] for side in SIDES]] = 0
    return BodyPose(rng.normal(size=3), matrix_from_quaternion(normalized(rng.normal(size=4))), q)


def assert_same(a: BodyPose, b: BodyPose, tolerance: float = 1e-9, anatomy: Anatomy = REFERENCE) -> None:
    np.testing.assert_allclose(a.position, b.position, rtol=0, atol=tolerance)
    one, other = link_rotations(a, anatomy), link_rotations(b, anatomy)
    assert max(angle_between(one[link], other[link]) for link in FOLLOWED) <= tolerance


seeds = st.integers(0, 2**32 - 1)


@settings(deadline=None)
@given(seeds)
def test_any_pose_returns_from_the_mixamo_skeleton(seed: int):
    pose = random_pose(seed)
    back = MIXAMO.from_rig(MIXAMO.to_rig(pose))
    np.testing.assert_allclose(back.pose.q, pose.q, rtol=0, atol=1e-9)
    assert_same(back.pose, pose)
    assert max(back.residual.values()) <= 1e-9


@settings(deadline=None)
@given(seeds)
def test_any_pose_without_inversion_returns_from_a_cmu_skeleton(seed: int):
    pose = random_pose(seed, inversion=False)
    frame = CMU.to_amc(pose)
    back = CMU.from_amc(frame.motion)
    np.testing.assert_allclose(back.pose.q, pose.q, rtol=0, atol=1e-9)
    assert_same(back.pose, pose)
    assert max(frame.residual.values()) <= 1e-9


@settings(deadline=None)
@given(seeds)
def test_what_a_cmu_ankle_cannot_do_is_told(seed: int):
    pose = random_pose(seed)
    frame = CMU.to_amc(pose)
    for side in SIDES:
        inversion = abs(pose.q[REFERENCE.joint_index[f"{side}_ankle_inversion"]])
        assert 0.5 * inversion - 1e-9 <= frame.residual[f"{side}_hindfoot"] <= inversion + 1e-9
        assert frame.residual[f"{side}_shank"] <= 1e-9
    back = CMU.from_amc(frame.motion).pose
    np.testing.assert_allclose(link_rotations(back)["left_shank"], link_rotations(pose)["left_shank"], rtol=0, atol=1e-9)


@settings(deadline=None)
@given(seeds)
def test_mixamo_joints_are_where_the_body_has_them(seed: int):
    pose = random_pose(seed)
    joints, places = MIXAMO.joints(MIXAMO.to_rig(pose)), landmark_places(pose)
    for joint, landmark in {
        "Hips": "mid_hip", "Spine2": "thoracic", "Head": "head", "HeadTop_End": "vertex", "LeftArm": "left_shoulder",
        "RightForeArm": "right_elbow", "LeftHand": "left_wrist", "RightHand_End": "right_hand_tip", "LeftUpLeg": "left_hip",
        "RightLeg": "right_knee", "LeftFoot": "left_ankle", "RightToeBase": "right_mtp", "LeftToe_End": "left_toe_tip",
    }.items():  # fmt: skip
        np.testing.assert_allclose(Y_UP @ joints[joint] / 100, places[landmark], rtol=0, atol=1e-9, err_msg=joint)


def test_the_mixamo_skeleton_is_y_up_in_centimetres_and_faces_z():
    neutral = MIXAMO.to_rig(zero_pose({"shoulder_adduction": -math.pi / 2}))
    joints = MIXAMO.joints(neutral)
    assert joints["Head"][1] > 60
    assert joints["LeftToe_End"][2] - joints["LeftFoot"][2] > 15
    assert joints["LeftHand"][0] - joints["LeftArm"][0] == pytest.approx(
        100 * (REFERENCE.length("upper_arm") + REFERENCE.length("forearm"))
    )
    for bone in MIXAMO.bones:
        np.testing.assert_allclose(bone.bind @ bone.bind.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(bone.bind) == pytest.approx(1)


def test_mixamo_bind_orientations_do_not_reach_the_body():
    """Other bind orientations, the same pose: only the skeleton's own rotations differ."""
    other = MixamoRig()
    other.bones = tuple(dataclasses.replace(bone, bind=bone.bind @ rotation_x(0.7) @ rotation_z(-0.4)) for bone in other.bones)
    pose = random_pose(5)
    assert_same(other.from_rig(other.to_rig(pose)).pose, pose)
    assert not np.allclose(other.to_rig(pose).rotations["mixamorig:LeftLeg"], MIXAMO.to_rig(pose).rotations["mixamorig:LeftLeg"])


@pytest.mark.parametrize("anatomy", [REFERENCE, FEMALE], ids=["reference", "female"])
def test_cmu_bones_point_where_the_segments_do(anatomy: Anatomy):
    rig = CmuRig(cmu_skeleton(anatomy), anatomy)
    pose = random_pose(3, inversion=False, anatomy=anatomy)
    ends, places = asf.pose(rig.skeleton, rig.to_amc(pose).motion).ends, landmark_places(pose, anatomy)
    # Up to the shoulders the skeleton is the body's own: its joints are in the same places, without any scaling.
    for bone, landmark in {"lhipjoint": "left_hip", "lfemur": "left_knee", "rtibia": "right_ankle", "lfoot": "left_mtp"}.items():
        np.testing.assert_allclose(ends[bone][0], places[landmark], rtol=0, atol=1e-9, err_msg=bone)
    for bone, above, start, end in (
        ("rhumerus", "rclavicle", "right_shoulder", "right_elbow"),
        ("lradius", "lhumerus", "left_elbow", "left_wrist"),
    ):
        theirs, ours = ends[bone][0] - ends[above][0], places[end] - places[start]
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-9, err_msg=bone)


def test_a_twisted_knee_is_left_out_and_told():
    pose = random_pose(7)
    links = link_rotations(pose)
    links["left_shank"] = links["left_shank"] @ rotation_z(0.2)
    got = fit(pose.position, links)
    # The foot below is still asked to be where it was: its own two axes make up for what they can.
    assert got.residual["left_shank"] == pytest.approx(0.2, abs=1e-9)
    assert got.residual["right_shank"] <= 1e-9
    np.testing.assert_allclose(
        got.pose.q[REFERENCE.joint_index["left_knee_flexion"]], pose.q[REFERENCE.joint_index["left_knee_flexion"]], atol=1e-9
    )


def test_an_arm_straight_out_keeps_its_attitude():
    """The middle axis at 90 degrees: two axes are one, and the attitude is kept all the same."""
    pose = zero_pose({"shoulder_flexion": 0.3, "shoulder_adduction": -math.pi / 2, "shoulder_rotation": 0.2, "elbow_flexion": 0.5})
    assert_same(MIXAMO.from_rig(MIXAMO.to_rig(pose)).pose, pose, 1e-7)


def test_a_mixamo_pose_that_lacks_a_bone_is_refused():
    rig = MIXAMO.to_rig(random_pose(1))
    rotations = {name: turn for name, turn in rig.rotations.items() if not name.endswith("LeftLeg")}
    with pytest.raises(ValueError, match="no bone 'mixamorig:LeftLeg'"):
        MIXAMO.from_rig(RigPose(rig.translation, rotations))


def test_a_skeleton_that_is_not_cmus_is_refused():
    skeleton = cmu_skeleton()
    bones = tuple(bone for bone in skeleton.bones if bone.name != "rtibia" and bone.parent not in ("rtibia", "rfoot"))
    with pytest.raises(ValueError, match="has no bones rfoot, rtibia, rtoes: give a skeleton of the CMU database"):
        CmuRig(dataclasses.replace(skeleton, bones=bones))


@pytest.mark.parametrize("frame", [-1, 1])
def test_a_frame_that_a_motion_does_not_have_is_refused(frame: int):
    motion = CMU.to_amc(random_pose(1)).motion
    with pytest.raises(ValueError, match=rf"frame {frame} is outside 0..0"):
        CMU.from_amc(motion, frame)


@pytest.mark.parametrize("name", ["position", "rotation", "q"])
def test_a_pose_that_is_not_finite_is_refused(name: str):
    pose = random_pose(1)
    with pytest.raises(ValueError, match=f"{name} of a pose is not finite"):
        dataclasses.replace(pose, **{name: np.full_like(getattr(pose, name), np.nan)})


# -- the database itself -----------------------------------------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.skipif(not CLIPS, reason="needs the reference data")
@pytest.mark.parametrize("path", sorted({clip.parent / f"{clip.parent.name}.asf" for clip in CLIPS}), ids=lambda p: p.stem)
def test_poses_return_from_every_skeleton_of_the_database(path: Path):
    """To 1e-4 rad: the files give their axes with six digits."""
    rig = CmuRig(asf.read_asf(path))
    for seed in range(10):
        pose = random_pose(seed, inversion=False)
        assert_same(rig.from_amc(rig.to_amc(pose).motion).pose, pose, 1e-4)


@pytest.mark.shared
@pytest.mark.skipif(not CLIPS, reason="needs the reference data")
@pytest.mark.parametrize("path", [clip for clip in CLIPS if clip.stem in ("02_01", "16_15", "35_01")], ids=lambda p: p.stem)
def test_a_walk_of_the_database_becomes_a_walk_of_the_body(path: Path):
    rig = CmuRig(asf.read_asf(path.parent / f"{path.parent.name}.asf"))
    motion = asf.read_amc(path, rig.skeleton)
    frames = np.linspace(0, len(motion.frames) - 1, 9).astype(int)
    for frame in frames:
        got = rig.from_amc(motion, int(frame))
        limbs = [f"{side}_{link}" for side in SIDES for link in ("upper_arm", "forearm", "thigh", "shank")]
        # Hips and shoulders have three axes, knees and elbows the same one in both: nothing is lost.
        assert max(got.residual[link] for link in ("thorax", *limbs)) <= 1e-4
        for side in SIDES:
            knee = motion.values[f"{side[0]}tibia"][frame, 0]
            flexion = math.degrees(got.pose.q[REFERENCE.joint_index[f"{side}_knee_flexion"]])
            assert flexion == pytest.approx(knee, abs=0.01)
        # Standing upright on legs as long as the body's.
        assert 0.85 < got.pose.position[2] / (rig.anatomy.length("thigh") + rig.anatomy.length("shank")) < 1.2
        assert got.pose.rotation[2, 2] > 0.9
        # Back again: the bones of the limbs are where they were.
        again = rig.from_amc(rig.to_amc(got.pose).motion)
        one, other = link_rotations(got.pose), link_rotations(again.pose)
        assert max(angle_between(one[link], other[link]) for link in limbs) <= 1e-4
