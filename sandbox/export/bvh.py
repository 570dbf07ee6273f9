"""BVH: a skeleton and its rotations, in metres, Y up, facing Z. Heel and ball are joints of their own that do not turn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from sandbox.bodies.anatomy import Anatomy
from sandbox.export.frames import Y_UP_Z_FORWARD, Motion, check_rows, frame_rate, motion_of
from sandbox.files import written_whole
from sandbox.recording import Recording

Array = NDArray[np.float64]

CHANNELS = "3 Zrotation Xrotation Yrotation"  # in this order, each about the axes that the one before has turned
SMALL = 0.01  # [m]: length of a bone that ends a joint without one of its own


@dataclass(frozen=True)
class Bone:
    """A joint of the file: ``name``, the ``link`` that turns with it, ``offset`` (3,) [m] in the parent's link frame at zero pose."""

    name: str
    link: str
    offset: Array
    children: tuple[Bone, ...] = ()
    end: Array | None = None


def skeleton(anatomy: Anatomy) -> Bone:
    """The bones of a body; names as in the CMU files, which retargeting programs know."""
    point = {name: position for name, (_, position) in anatomy.points.items()}
    origin = {joint.child: joint.origin for joint in anatomy.joints}

    def arm(side: str) -> Bone:
        title = side.capitalize()
        wrist = point[f"{side}_wrist"]
        hand = Bone(f"{title}Hand", f"{side}_forearm", wrist, end=np.array([0.0, 0.0, -anatomy.length("hand")]))
        fore = Bone(f"{title}ForeArm", f"{side}_forearm", origin[f"{side}_forearm"], (hand,))
        return Bone(f"{title}Arm", f"{side}_upper_arm", origin[f"{side}_shoulder_1"], (fore,))

    def leg(side: str) -> Bone:
        title, foot = side.capitalize(), f"{side}_hindfoot"
        heel = Bone(f"{title}Heel", foot, point[f"{side}_heel"], end=np.array([0.0, -SMALL, 0.0]))
        ball = Bone(f"{title}Ball", foot, point[f"{side}_toe_base"], end=np.array([0.0, SMALL, 0.0]))
        toe = Bone(f"{title}ToeBase", f"{side}_toes", origin[f"{side}_toes"], end=point[f"{side}_toe_tip"])
        ankle = Bone(f"{title}Foot", foot, origin[f"{side}_ankle_1"], (toe, heel, ball))
        shank = Bone(f"{title}Leg", f"{side}_shank", origin[f"{side}_shank"], (ankle,))
        return Bone(f"{title}UpLeg", f"{side}_thigh", origin[f"{side}_hip_1"], (shank,))

    head = Bone("Head", "head", origin["head"], end=point["head"])
    chest = Bone("Spine1", "thorax", origin["thorax"], (head, arm("left"), arm("right")))
    spine = Bone("Spine", "abdomen", origin["lumbar_1"], (chest,))
    return Bone("Hips", "pelvis", np.zeros(3), (leg("left"), leg("right"), spine))


def save_bvh(recording: Recording, path: Path) -> list[Path]:
    """Write the file.

    Raises:
        ValueError: an empty recording, one without joint angles, or rows that are not evenly spaced.
        OSError: the path cannot be written.
    """
    check_rows(recording)
    rate = frame_rate(recording)
    motion = motion_of(recording)
    root = skeleton(motion.anatomy)
    lines = ["HIERARCHY"]
    columns = [1.0 * motion.positions[:, 0] @ Y_UP_Z_FORWARD.T]
    _describe(root, None, motion, lines, columns, 0)
    table = np.hstack(columns)
    with written_whole(path) as temporary, temporary.open("w", encoding="ascii", newline="") as file:
        file.write("\n".join([*lines, "MOTION", f"Frames: {len(table)}", f"Frame Time: {1 / rate!r}"]) + "\n")
        for row in table.tolist():
            file.write(" ".join(f"{value:.6f}" for value in row) + "\n")
    return [path]


def _describe(bone: Bone, parent: str | None, motion: Motion, lines: list[str], columns: list[Array], depth: int) -> None:
    """Lines of a bone and of what hangs on it, and its rotations [deg] against its parent's link, in the order of the lines."""
    tab, index = "\t" * depth, motion.anatomy.link_index

    def offset(vector: Array) -> str:
        return "OFFSET " + " ".join(f"{value + 0.0:.6f}" for value in (Y_UP_Z_FORWARD @ vector).tolist())

    rotation = motion.rotations[:, index[bone.link]]
    if parent is None:
        lines += [f"ROOT {bone.name}", "{", f"\t{offset(bone.offset)}", f"\tCHANNELS 6 Xposition Yposition Zposition{CHANNELS[1:]}"]
    else:
        rotation = np.swapaxes(motion.rotations[:, index[parent]], 1, 2) @ rotation
        lines += [f"{tab}JOINT {bone.name}", f"{tab}{{", f"{tab}\t{offset(bone.offset)}", f"{tab}\tCHANNELS {CHANNELS}"]
    turned = Y_UP_Z_FORWARD @ rotation @ Y_UP_Z_FORWARD.T
    columns.append(np.degrees(np.unwrap(Rotation.from_matrix(turned).as_euler("ZXY"), axis=0)))
    for child in bone.children:
        _describe(child, bone.link, motion, lines, columns, depth + 1)
    if bone.end is not None:
        lines += [f"{tab}\tEnd Site", f"{tab}\t{{", f"{tab}\t\t{offset(bone.end)}", f"{tab}\t}}"]
    lines.append(f"{tab}}}")
