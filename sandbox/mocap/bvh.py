"""BVH: read with pybvh, and written from an Acclaim skeleton and motion.

A BVH states no unit. It is taken for the one of metre, centimetre, millimetre, inch and the CMU database's own in which the legs
are a person's, unless one is given.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sandbox.files import written_whole
from sandbox.mocap.asf import AMC_RATE, ROOT, TO_PROJECT, Motion, Skeleton, pose
from sandbox.mocap.errors import CaptureError, read_text
from sandbox.mocap.points import PELVIS_UP, SIDES, UNITS, Capture, _length, cleaned, plausible_unit, require, upright, with_middle

Array = NDArray[np.float64]

# What joints are called that sit at a body point, by the programs that write BVH; without side, spaces and signs, in order of
# preference. A CMU skeleton's "LeftShoulder" is the collar bone, whose end is "LeftArm".
JOINTS = {
    "hip": ("upleg", "femur", "thigh", "upperleg", "hip"),
    "knee": ("leg", "tibia", "lowleg", "lowerleg", "shin", "knee", "calf"),
    "ankle": ("foot", "ankle"),
    "heel": ("heel",),
    "toe_base": ("toebase", "toes", "toe", "ball"),
    "shoulder": ("arm", "humerus", "uparm", "upperarm", "shoulder"),
    "elbow": ("forearm", "radius", "lowarm", "lowerarm", "elbow"),
    "wrist": ("wrist", "hand"),
}
END = "EndSite"  # pybvh's name for the end of a joint without children is this and the joint's
NECK, HEAD = ("neck", "lowerneck", "neck1"), ("head",)


def read_bvh(path: str | Path, unit: str | None = None) -> Capture:
    """A clip. ``unit`` is a key of :data:`sandbox.mocap.points.UNITS`.

    Raises:
        CaptureError: not a BVH, without both legs, or of unknown size.
    """
    import pybvh

    path = Path(path)
    if not path.is_file():
        raise CaptureError(f"{path}: no such file")
    text, cut = _whole_frames(path, read_text(path))
    try:
        if cut:
            with tempfile.NamedTemporaryFile("w", suffix=".bvh", encoding="utf-8") as mended:
                mended.write(text)
                mended.flush()
                motion = pybvh.read_bvh_file(mended.name)
        else:
            motion = pybvh.read_bvh_file(str(path))
        nodes = np.asarray(motion.node_positions(), dtype=np.float64)
        turns = np.asarray(motion.to_rotmat()[1], dtype=np.float64)[:, 0]
        angles = np.asarray(motion.joint_angles, dtype=np.float64)
    except Exception as error:  # pybvh lets whatever a damaged file causes through
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise CaptureError(f"{path} is no BVH that can be read ({reason}): get the whole file, or write it anew") from None
    names = {node.name: k for k, node in enumerate(motion.nodes)}
    warnings = list(cut)
    # Some conversions begin with the skeleton's own pose.
    if len(angles) > 1 and not angles[0].any() and angles[1:].any():
        nodes, turns = nodes[1:], turns[1:]
        warnings.append(f"{path.name}: its first frame is the skeleton's rest pose and is left out")
    found = _points(names, nodes)
    require(found, path, "joint", [name for name in names if not name.startswith(END)])
    scale, warning = _scale(path, found, unit)
    axes = upright(found)
    points = {name: where @ axes.T * scale for name, where in found.items()}
    points = with_middle(points)
    # The root's own up axis, at zero pose the world's, carries the tilt of the pelvis.
    up = axes.T @ np.array([0.0, 0.0, 1.0])
    points["pelvis_top"] = points["mid_hip"] + PELVIS_UP * (turns @ up) @ axes.T
    rate = float(1.0 / motion.frame_time)
    return cleaned(Capture(path, rate, points, warnings=(*warnings, *warning)), scale)


def _whole_frames(path: Path, text: str) -> tuple[str, tuple[str, ...]]:
    """The text with the frames that are whole, and a warning where those are fewer than the file states.

    Raises:
        CaptureError: a file that is cut off before its first frame ends, or has a frame of another length in between.
    """
    head = re.search(r"^\s*MOTION\s+Frames:\s*(\d+)\s+Frame Time:\s*(\S+)[^\n]*\n", text, flags=re.MULTILINE)
    if head is None:
        if "HIERARCHY" in text:
            raise CaptureError(f"{path} ends before its motion: it is cut off, get the whole file")
        raise CaptureError(f"{path} is no BVH: it has no HIERARCHY")
    if not any(digit in "123456789" for digit in head[2]):
        raise CaptureError(f"{path} states a Frame Time of {head[2]} s: write the time from one frame to the next there")
    width = sum(int(count) for count in re.findall(r"CHANNELS\s+(\d+)", text[: head.start()]))
    rows = [line for line in text[head.end() :].splitlines() if line.strip()]
    stated, last = int(head[1]), len(rows) - 1
    for k, row in enumerate(rows):
        if (found := len(row.split())) != width:
            if k == last and found < width:
                rows.pop()
                break
            raise CaptureError(f"{path}: frame {k + 1} has {found} values where its joints have {width}: it is damaged, get the whole file")
    if not rows:
        raise CaptureError(f"{path} ends within its first frame: it is cut off, get the whole file")
    if len(rows) >= stated:
        return text, ()
    warning = f"{path.name} states {stated} frames and has {len(rows)} whole ones: it is cut off; those are used"
    begin = text[: head.start()] + head[0].replace(head[1], str(len(rows)), 1)
    return begin + "\n".join(rows) + "\n", (warning,)


def _points(names: dict[str, int], nodes: Array) -> dict[str, Array]:
    """Paths of the body points that joints of these names stand for; toe tips and the top of the head are ends of a joint."""
    plain = {_plain(name): name for name in names}
    found: dict[str, Array] = {}
    for side in SIDES:
        for point, joints in JOINTS.items():
            keys = (key for joint in joints for key in (side + joint, side[0] + joint, joint + side, joint + side[0]))
            name = next((plain[key] for key in keys if key in plain), None)
            if name is not None:
                found[f"{side}_{point}"] = nodes[:, names[name]]
                if point == "toe_base" and END + name in names:
                    found[f"{side}_toe_tip"] = nodes[:, names[END + name]]
    for point, joints in (("neck_base", NECK), ("head", HEAD)):
        name = next((plain[joint] for joint in joints if joint in plain), None)
        if name is not None:
            found[point] = nodes[:, names.get(END + name, names[name]) if point == "head" else names[name]]
    return found


def _plain(name: str) -> str:
    """Lower case, without what a program puts before the name, spaces and signs."""
    return re.sub(r"[^a-z0-9]", "", name.split(":")[-1].lower())


def _scale(path: Path, points: dict[str, Array], unit: str | None) -> tuple[float, tuple[str, ...]]:
    if unit is not None:
        return UNITS[unit], ()
    legs = float(np.mean([_length(points, side) for side in SIDES]))
    name = plausible_unit(legs)
    if name is None:
        raise CaptureError(
            f"{path} has a leg of {legs:.3g} units from hip to ankle, which fits no unit alone: give --unit {', '.join(UNITS)}"
        )
    metres = legs * UNITS[name]
    return UNITS[name], (f"{path.name} states no unit: {name} is assumed, with which femur and tibia are {metres:.2f} m",)


def save_bvh(skeleton: Skeleton, motion: Motion, path: str | Path, rate: float = AMC_RATE) -> None:
    """Write an Acclaim motion as BVH, in metres and Acclaim's axes: one joint a bone, named as the bone.

    Raises:
        OSError: the folder cannot be written.
    """
    found = pose(skeleton, motion)
    # Back into Acclaim's axes, in which the offsets of the bones are.
    turned = {name: TO_PROJECT.T @ r @ TO_PROJECT for name, r in found.rotations.items()}
    root = found.ends[ROOT] @ TO_PROJECT
    lines = ["HIERARCHY"]
    columns = [root, _zyx(turned[ROOT])]

    def numbers(values: Array) -> str:
        return " ".join(f"{v:.6f}" for v in values)

    def joint(name: str, offset: Array, end: Array | None, depth: int) -> None:
        pad = "\t" * depth
        channels = "6 Xposition Yposition Zposition" if name == ROOT else "3"
        lines.extend(
            [
                f"{pad}{'ROOT' if name == ROOT else 'JOINT'} {name}",
                f"{pad}{{",
                f"{pad}\tOFFSET {numbers(offset)}",
                f"{pad}\tCHANNELS {channels} Zrotation Yrotation Xrotation",
            ]
        )
        children = [bone for bone in skeleton.bones if bone.parent == name]
        for bone in children:
            columns.append(_zyx(np.swapaxes(turned[name], 1, 2) @ turned[bone.name]))
            joint(bone.name, np.zeros(3) if end is None else end, bone.offset, depth + 1)
        if not children and end is not None:
            lines.extend([f"{pad}\tEnd Site", f"{pad}\t{{", f"{pad}\t\tOFFSET {numbers(end)}", f"{pad}\t}}"])
        lines.append(f"{pad}}}")

    joint(ROOT, np.zeros(3), None, 0)
    lines += ["MOTION", f"Frames: {len(root)}", f"Frame Time: {1 / rate:.10f}"]
    lines += [numbers(row) for row in np.concatenate(columns, axis=1)]
    with written_whole(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _zyx(r: Array) -> Array:
    """Angles (T, 3) [deg] about Z, then the turned Y, then the turned X, of rotations (T, 3, 3)."""
    y = np.arcsin(np.clip(-r[:, 2, 0], -1.0, 1.0))
    z = np.arctan2(r[:, 1, 0], r[:, 0, 0])
    x = np.arctan2(r[:, 2, 1], r[:, 2, 2])
    return np.asarray(np.degrees(np.stack((z, y, x), axis=1)))
