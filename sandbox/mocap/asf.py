"""Acclaim skeletons (ASF) and their motions (AMC), with forward kinematics in the project's axes and metres.

An ASF gives each bone a direction and a length in the global axes, and the axes of its joint as Euler angles; an AMC gives,
for every frame, the joint's angles in the order that the ASF's ``dof`` line lists. Both the order of a bone's axes and that of
its degrees of freedom are taken from the ASF.

Acclaim's Y is up and the subject faces +Z, so that +X is its left: ``x, y, z`` become ``-x, z, y`` here.

Source: M. Schafer 1994, ASF skeleton file and AMC motion file formats (Acclaim); the unit of length is that of the CMU motion
capture database: inches after division by the ASF's ``length``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sandbox.mocap.errors import CaptureError, read_text
from sandbox.mocap.points import UNITS

Array = NDArray[np.float64]

INCH = 0.0254  # [m]
AMC_RATE = 120.0  # [Hz]: an AMC does not say; CMU's are recorded at this rate
# Rows: the project's axes (right, forward, up) in Acclaim's.
TO_PROJECT: Array = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])

ROOT = "root"
LARGEST_RADIANS = 6.5  # a turn and a little: more is an angle in degrees
MOST_MISSING = 20  # missing frames for every frame that is there: beyond it the numbers are wrong, not the frames missing


@dataclass(frozen=True)
class Bone:
    """One bone, at the pose where all angles are zero, in Acclaim's axes.

    Attributes:
        name, parent: names; the parent may be ``root``.
        offset: (3,) from its start to its end [m].
        frame: (3, 3) axes of its joint.
        order: axes in the order in which they turn, for instance ``xyz``: x first, about fixed axes.
        dofs: axes of the angles of a frame, in the file's order; empty for a bone that keeps still.
    """

    name: str
    parent: str
    offset: Array
    frame: Array
    order: str
    dofs: str


@dataclass(frozen=True)
class Skeleton:
    """An ASF.

    Attributes:
        path: where it was read.
        bones: a parent before its children.
        channels: of the root in an AMC, in order: ``tx`` ... ``rz``.
        frame: (3, 3) of the root's axes.
        scale: metres of one unit of length.
        degrees: whether angles are in degrees.
    """

    path: Path
    bones: tuple[Bone, ...]
    channels: tuple[str, ...]
    frame: Array
    scale: float
    degrees: bool

    def length(self, bone: str) -> float:
        """Length of a bone [m].

        Raises:
            KeyError: no such bone.
        """
        for b in self.bones:
            if b.name == bone:
                return float(np.linalg.norm(b.offset))
        raise KeyError(f"{bone!r} is not a bone of {self.path}")


@dataclass(frozen=True)
class Motion:
    """An AMC: numbers of its frames (T,), values (T, k) of each bone in the file's order and units, and what was amiss."""

    path: Path
    frames: NDArray[np.int64]
    values: dict[str, Array]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pose:
    """Where a skeleton's bones are, in the project's axes.

    Attributes:
        ends: end of each bone (T, 3) [m]; of ``root`` its position.
        rotations: of each bone from the pose where all angles are zero (T, 3, 3); ``root`` included.
    """

    ends: dict[str, Array]
    rotations: dict[str, Array]


def read_asf(path: str | Path, unit: str | None = None) -> Skeleton:
    """A skeleton. ``unit`` of its lengths is a key of :data:`sandbox.mocap.points.UNITS`, instead of what it states itself.

    Raises:
        CaptureError: not an ASF, or one with a bone that cannot be understood.
    """
    path = Path(path)
    sections = dict(re.findall(r"^:(\w+)[ \t]*(.*?)(?=^:|\Z)", read_text(path), flags=re.MULTILINE | re.DOTALL))
    if not {"root", "bonedata", "hierarchy"} <= sections.keys():
        raise CaptureError(f"{path} is no ASF skeleton: it has no :root, :bonedata and :hierarchy")
    length = re.search(r"^\s*length\s+(\S+)", sections.get("units", ""), flags=re.MULTILINE)
    angle = re.search(r"^\s*angle\s+(\w+)", sections.get("units", ""), flags=re.MULTILINE)
    degrees = angle is None or angle[1].lower() == "deg"
    try:
        scale = UNITS[unit] if unit is not None else INCH / (float(length[1]) if length else 1.0)
        if not degrees:
            _check_radians(path, sections)
        bones = {
            bone[0]: bone
            for bone in (_bone(block, scale, degrees) for block in re.findall(r"begin(.*?)end", sections["bonedata"], flags=re.DOTALL))
        }
        root = sections["root"]
        channels = tuple(_field(root, "order").lower().split())
        axis = re.search(r"^\s*axis\s+(\w+)", root, flags=re.MULTILINE)
        orientation = [float(v) for v in _field(root, "orientation").split()]
        frame = _euler((axis[1] if axis else "XYZ").lower(), _angles(np.array(orientation), degrees))
        ordered = _ordered(bones, sections["hierarchy"])
    except (ValueError, IndexError, ZeroDivisionError) as error:
        raise CaptureError(f"{path} is a damaged ASF skeleton: {error}") from None
    return Skeleton(path, ordered, channels, frame, scale, degrees)


def _check_radians(path: Path, sections: dict[str, str]) -> None:
    """Raise :class:`CaptureError` for axes that are no radians."""
    axes = re.findall(r"^\s*(?:axis|orientation)\s+(\S+)\s+(\S+)\s+(\S+)", sections["root"] + sections["bonedata"], flags=re.MULTILINE)
    for word in (word for axis in axes for word in axis):
        if _is_number(word) and abs(float(word)) > LARGEST_RADIANS:
            raise CaptureError(f"{path} says 'angle rad' and has an axis at {word}, which is an angle in degrees: write 'angle deg' there")


def _field(block: str, name: str) -> str:
    found = re.search(rf"^\s*{name}\s+(.*\S)", block, flags=re.MULTILINE)
    if found is None:
        raise ValueError(f"no {name!r} in {' '.join(block.split())[:60]!r}")
    return found[1]


def _bone(block: str, scale: float, degrees: bool) -> tuple[str, Array, Array, str, str]:
    name = _field(block, "name")
    direction = np.array([float(v) for v in _field(block, "direction").split()])
    axis = _field(block, "axis").split()
    order = (axis[3] if len(axis) > 3 else "XYZ").lower()
    dofs = re.search(r"^\s*dof\s+(.*)", block, flags=re.MULTILINE)
    names = dofs[1].lower().split() if dofs else []
    if any(dof not in ("rx", "ry", "rz") for dof in names):
        raise ValueError(f"bone {name!r} has degrees of freedom {' '.join(names)}: only rotations rx, ry, rz are read")
    offset = direction / np.linalg.norm(direction) * float(_field(block, "length")) * scale
    frame = _euler(order, _angles(np.array([float(v) for v in axis[:3]]), degrees))
    return name, offset, frame, order, "".join(dof[1] for dof in names)


def _ordered(bones: dict[str, tuple[str, Array, Array, str, str]], hierarchy: str) -> tuple[Bone, ...]:
    children = {words[0]: words[1:] for words in (line.split() for line in hierarchy.splitlines()) if len(words) > 1}
    out: list[Bone] = []
    waiting = [ROOT]
    while waiting:
        parent = waiting.pop()
        for name in children.get(parent, []):
            if name not in bones:
                raise ValueError(f"the hierarchy names bone {name!r}, which has no data")
            _, offset, frame, order, dofs = bones.pop(name)
            out.append(Bone(name, parent, offset, frame, order, dofs))
            waiting.append(name)
    return tuple(out)


def read_amc(path: str | Path, skeleton: Skeleton) -> Motion:
    """The motion of ``skeleton``. A last frame that is cut off is left out, with a warning.

    Raises:
        CaptureError: not an AMC, no whole frame, a frame that is damaged, or bones other than the skeleton's.
    """
    path = Path(path)
    text = read_text(path)
    words = re.sub(r"^[ \t]*[#:].*$", "", text, flags=re.MULTILINE).split()
    widths = {ROOT: len(skeleton.channels)} | {bone.name: len(bone.dofs) for bone in skeleton.bones if bone.dofs}
    stated = re.search(r"^[ \t]*:(DEGREES|RADIANS)\b", text, flags=re.MULTILINE | re.IGNORECASE)
    if stated is not None and (stated[1].upper() == "DEGREES") != skeleton.degrees:
        own = "deg" if skeleton.degrees else "rad"
        raise CaptureError(
            f"{path} says :{stated[1]}, and {skeleton.path} says 'angle {own}': mend the one that is wrong, "
            "or give the skeleton of this subject"
        )
    names = _first_frame(path, text, words, widths, skeleton)
    # A frame is its number and, for every bone, the name and its values: the same number of words every time.
    size = 1 + sum(1 + widths[name] for name in names)
    if len(words) % size == 0 and len(words) > size and not text.endswith("\n"):
        words.pop()  # cut off within its last number
    count, rest = divmod(len(words), size)
    table = np.array(words[: count * size]).reshape(count, size)
    at = 1
    slots = {}
    for name in names:
        slots[name] = slice(at + 1, at + 1 + widths[name])
        wrong = np.flatnonzero(table[:, at] != name)
        if len(wrong):
            number = table[wrong[0] - 1, 0] if wrong[0] else "1"
            raise CaptureError(f"{path} is damaged after frame {number}: bone {name!r} is not where the first frame has it")
        at += 1 + widths[name]
    if not count:
        raise CaptureError(f"{path} ends within its first frame: get the whole file")
    try:
        values = {name: table[:, slot].astype(np.float64) for name, slot in slots.items()}
        frames = table[:, 0].astype(np.int64)
    except ValueError as error:
        raise CaptureError(f"{path} is damaged: {error}") from None
    if (
        not skeleton.degrees
        and (large := max(float(np.nanmax(np.abs(v), initial=0.0)) for n, v in values.items() if n != ROOT)) > LARGEST_RADIANS
    ):
        raise CaptureError(f"{skeleton.path} says 'angle rad', and {path} has angles up to {large:g}: write 'angle deg' in the skeleton")
    steps = np.diff(frames)
    if (steps < 1).any():
        k = int(np.argmax(steps < 1))
        raise CaptureError(
            f"{path} is damaged: frame {frames[k + 1]} follows frame {frames[k]}; get the whole file, or number them in order"
        )
    cut = (f"{path.name} is cut off within frame {frames[-1] + 1}: {count} whole frames are used",) if rest else ()
    return Motion(path, frames, values, cut)


def with_gaps(motion: Motion) -> Motion:
    """The same with frames of NaN where the numbers jump, so that every frame comes at its time, and with a warning of them.

    Raises:
        CaptureError: far more frames are missing than there are.
    """
    steps = np.diff(motion.frames)
    missing = int((steps - 1).sum())
    if not missing:
        return motion
    jumps = np.flatnonzero(steps > 1)
    if missing > MOST_MISSING * len(motion.frames):
        k = int(np.argmax(steps))
        raise CaptureError(
            f"{motion.path} jumps from frame {motion.frames[k]} to {motion.frames[k + 1]}: get the whole file, or mend the numbers"
        )
    told = ", ".join(f"{motion.frames[k] + 1}-{motion.frames[k + 1] - 1}" for k in jumps[:5]) + (", ..." if len(jumps) > 5 else "")
    frames = np.arange(motion.frames[0], motion.frames[-1] + 1)
    values = {name: np.full((len(frames), table.shape[1]), np.nan) for name, table in motion.values.items()}
    for name, table in motion.values.items():
        values[name][motion.frames - motion.frames[0]] = table
    warning = f"{motion.path.name} lacks {missing} frames ({told}): they are gaps, as are markers that were not seen"
    return Motion(motion.path, frames, values, (*motion.warnings, warning))


def _first_frame(path: Path, text: str, words: list[str], widths: dict[str, int], skeleton: Skeleton) -> list[str]:
    """Names of the bones of the first frame, in order, held against the skeleton's."""
    if not words or not words[0].isdigit():
        raise CaptureError(f"{path} is no AMC motion: no frame number follows its header")
    names: list[str] = []
    at = 1
    while at < len(words) and not words[at].isdigit():
        name = words[at]
        if names and _is_number(name):
            last = names[-1]
            line = next(k for k, line in enumerate(text.splitlines(), 1) if line.split()[:1] == [last])
            raise CaptureError(
                f"{path}, line {line}: bone {last!r} has more values than the {widths[last]} that {skeleton.path} has: "
                "give the skeleton of this subject"
            )
        if name not in widths:
            raise CaptureError(f"{path} moves bone {name!r}, which {skeleton.path} does not have: give the skeleton of this subject")
        end = at + 1
        while end < len(words) and _is_number(words[end]) and end - at <= widths[name]:
            end += 1
        if end - at - 1 != widths[name]:
            raise CaptureError(
                f"{path} gives bone {name!r} {end - at - 1} values where {skeleton.path} has {widths[name]}: "
                "the file is cut off, or the skeleton is of another subject"
            )
        names.append(name)
        at = end
    if ROOT not in names:
        raise CaptureError(f"{path} is no AMC motion: its first frame has no root")
    missing = sorted(set(widths) - set(names))
    if missing and at < len(words):
        raise CaptureError(f"{path} does not move {', '.join(missing)} of {skeleton.path}: give the skeleton of this subject")
    return names


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def pose(skeleton: Skeleton, motion: Motion) -> Pose:
    """Forward kinematics of every frame."""
    values = motion.values[ROOT]
    channel = {name: values[:, k] for k, name in enumerate(skeleton.channels)}
    turns = [name[1] for name in skeleton.channels if name[0] == "r"]
    local = _euler("".join(turns), _angles(np.stack([channel[f"r{a}"] for a in turns], axis=-1), skeleton.degrees))
    start = np.stack([channel[f"t{a}"] for a in "xyz"], axis=-1) * skeleton.scale
    ends = {ROOT: start}
    rotations = {ROOT: skeleton.frame @ local @ skeleton.frame.T}
    for bone in skeleton.bones:
        turned = rotations[bone.parent]
        if bone.dofs and bone.name in motion.values:
            angle = np.zeros((len(start), 3))
            for k, axis in enumerate(bone.dofs):
                angle[:, bone.order.index(axis)] = motion.values[bone.name][:, k]
            turned = turned @ (bone.frame @ _euler(bone.order, _angles(angle, skeleton.degrees)) @ bone.frame.T)
        rotations[bone.name] = turned
        ends[bone.name] = ends[bone.parent] + turned @ bone.offset
    return Pose(
        {name: end @ TO_PROJECT.T for name, end in ends.items()},
        {name: TO_PROJECT @ turned @ TO_PROJECT.T for name, turned in rotations.items()},
    )


def _angles(values: Array, degrees: bool) -> Array:
    return np.radians(values) if degrees else values


def _euler(order: str, angles: Array) -> Array:
    """Rotation (..., 3, 3) about the fixed axes of ``order``, the first one first, by ``angles`` (..., 3) [rad]."""
    out = np.broadcast_to(np.eye(3), (*angles.shape[:-1], 3, 3))
    for k, axis in enumerate(order):
        out = _about(axis, angles[..., k]) @ out
    return np.asarray(out)


def _about(axis: str, angle: Array) -> Array:
    k = "xyz".index(axis)
    a, b = (k + 1) % 3, (k + 2) % 3
    out = np.zeros((*np.shape(angle), 3, 3))
    c, s = np.cos(angle), np.sin(angle)
    out[..., k, k] = 1.0
    out[..., a, a] = out[..., b, b] = c
    out[..., a, b], out[..., b, a] = -s, s
    return out
