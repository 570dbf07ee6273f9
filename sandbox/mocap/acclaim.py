"""Body points of an Acclaim skeleton and motion."""

from __future__ import annotations

from pathlib import Path

from sandbox.mocap.asf import AMC_RATE, ROOT, TO_PROJECT, Array, Pose, Skeleton, pose, read_amc, read_asf, with_gaps
from sandbox.mocap.errors import CaptureError
from sandbox.mocap.points import KNEE_SIDE, PELVIS_UP, SIDES, Capture, cleaned, require, with_middle

# Bones at whose far ends the body points are; the subject's side comes before them as "l" or "r".
BONES = {
    "hip": "hipjoint",
    "knee": "femur",
    "ankle": "tibia",
    "toe_base": "foot",
    "toe_tip": "toes",
    "shoulder": "clavicle",
    "elbow": "humerus",
    "wrist": "radius",
}
MIDDLE = {"neck_base": "thorax", "head": "head"}


def read_acclaim(path: str | Path, skeleton: str | Path | None = None, rate: float = AMC_RATE, unit: str | None = None) -> Capture:
    """A clip: an AMC and its ASF, which is looked for beside it: ``35.asf`` for ``35_01.amc``, or the only one there.

    ``unit`` of the skeleton's lengths is a key of :data:`sandbox.mocap.points.UNITS`, instead of the one that it states.

    Raises:
        CaptureError: no skeleton or more than one, or files that cannot be read or do not belong together.
    """
    path = Path(path)
    if not path.is_file():
        raise CaptureError(f"{path}: no such file")
    asf = read_asf(Path(skeleton) if skeleton is not None else skeleton_of(path), unit)
    motion = with_gaps(read_amc(path, asf))
    warnings = motion.warnings
    subject = path.stem.split("_")[0]
    if "_" in path.stem and asf.path.stem.isdigit() and subject.isdigit() and int(subject) != int(asf.path.stem):
        warnings += (f"{path.name} is by its name of subject {subject}, {asf.path.name} of another: lengths are then another person's",)
    found = pose(asf, motion)
    ends = found.ends
    points = {f"{side}_{name}": ends[side[0] + bone] for side in SIDES for name, bone in BONES.items() if side[0] + bone in ends}
    points |= {name: ends[bone] for name, bone in MIDDLE.items() if bone in ends}
    require(points, path, "bone", list(ends))
    points = with_middle(points)
    points["pelvis_top"] = points["mid_hip"] + PELVIS_UP * found.rotations[ROOT][:, :, 2]
    for side in SIDES:
        axis = _knee_axis(asf, found, side)
        if axis is not None:
            points[f"{side}_knee_axis"] = axis
    return cleaned(Capture(path, rate, points, warnings=warnings), asf.scale)


def skeleton_of(path: Path) -> Path:
    """The ASF beside an AMC.

    Raises:
        CaptureError: none, or more than one.
    """
    named = path.with_name(f"{path.stem.split('_')[0]}.asf")
    if named.is_file():
        return named
    found = sorted(path.parent.glob("*.asf"))
    if len(found) == 1:
        return found[0]
    said = f"{len(found)} skeletons ({', '.join(f.name for f in found[:5])})" if found else "no skeleton (.asf)"
    raise CaptureError(f"{path} needs its skeleton, and there is {said} beside it: give --skeleton FILE.asf")


def _knee_axis(asf: Skeleton, found: Pose, side: str) -> Array | None:
    """Points (T, 3) to the right of the knee on the axis about which the shank bends: that of a tibia that bends about one."""
    for bone in asf.bones:
        if bone.name == f"{side[0]}tibia" and bone.dofs == "x":
            left = TO_PROJECT @ bone.frame[:, 0]
            return found.ends[f"{side[0]}femur"] - KNEE_SIDE * found.rotations[f"{side[0]}femur"] @ left
    return None
