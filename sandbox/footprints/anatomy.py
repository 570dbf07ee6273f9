"""The body that is to step into the prints: one trunk, two mirrored legs, from a TOML file.

The file gives the right leg; the left one is its mirror image. All frames are parallel at zero pose, +X right, +Y forward, +Z up.
A trunk segment stands for everything above the hips. The foot weighs, and has an ankle, but the optimisation moves it with the
shank: its 11 degrees of freedom are the pelvis's three, three at each hip and one at each knee.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.bodies.inertia import MassProperties
from sandbox.config import nearest
from sandbox.conventions import JOINT_SIGNS, PELVIS_SIGNS

Array = NDArray[np.float64]

SEGMENTS = ("trunk", "thigh", "shank", "foot")
PELVIS = ("pelvis_rotation", "pelvis_obliquity", "pelvis_tilt")
LEG = ("hip_flexion", "hip_adduction", "hip_rotation", "knee_flexion")
ANKLE = "ankle_dorsiflexion"
CENTRES = {"hip_flexion": "hip", "knee_flexion": "knee", ANKLE: "ankle"}
FOOT_POINTS = ("heel_m", "ball_m", "toe_m")
CLOSES = 1e-3  # [m] by which the length of a segment and the distance of its joints may differ

# Of the pelvis against the ground, which joints.toml does not have: twice and more what people use in walking (assumed).
PELVIS_LIMITS = {"pelvis_rotation": (-25.0, 25.0), "pelvis_obliquity": (-15.0, 15.0), "pelvis_tilt": (-20.0, 35.0)}


class AnatomyError(ValueError):
    """An anatomy that cannot walk, and what to change."""


@dataclass(frozen=True)
class Dof:
    """One axis: unit vector (3,) of the right side or the midline at zero pose, and its limits [rad]."""

    name: str
    axis: Array
    limits: tuple[float, float]


@dataclass(frozen=True)
class WalkerAnatomy:
    """A body for the footprint optimisation.

    Attributes:
        name, source: of the body.
        segments: mass properties of trunk, thigh, shank, foot, each in the frame of its proximal joint (the trunk's is mid-hip).
        dofs: by name, in the order of :data:`PELVIS`, :data:`LEG`, :data:`ANKLE`.
        hip, knee, ankle: (3,) [m] joint centres, in the frame of pelvis, thigh, shank; right side.
        heel, ball, toe: (3,) [m] points of the sole, in the frame of the foot.
        human: the project's body that has these segments, where there is one: recordings then show it whole.
    """

    name: str
    source: str
    segments: Mapping[str, MassProperties]
    dofs: Mapping[str, Dof]
    hip: Array
    knee: Array
    ankle: Array
    heel: Array
    ball: Array
    toe: Array
    human: Anatomy | None = None

    @property
    def thigh(self) -> float:
        """Length of the thigh [m]."""
        return float(np.linalg.norm(self.knee))

    @property
    def shank(self) -> float:
        """Length of the shank [m]."""
        return float(np.linalg.norm(self.ankle))

    @property
    def ankle_height(self) -> float:
        """Ankle centre over a flat sole [m]."""
        return -float(self.heel[2])

    @property
    def leg_length(self) -> float:
        """Hip centre to sole of a straight leg [m]."""
        return self.thigh + self.shank + self.ankle_height

    @cached_property
    def mass(self) -> float:
        """Of the whole body [kg]."""
        return sum((1 if name == "trunk" else 2) * part.mass for name, part in self.segments.items())

    @cached_property
    def com_height(self) -> float:
        """Of the centre of mass over the ground, standing straight [m]."""
        at = {"trunk": 0.0, "thigh": self.hip[2], "shank": self.hip[2] + self.knee[2], "foot": self.hip[2] + self.knee[2] + self.ankle[2]}
        total = sum((1 if name == "trunk" else 2) * part.mass * (at[name] + part.com[2]) for name, part in self.segments.items())
        return float(total / self.mass - at["foot"] + self.ankle_height)

    def limits(self, name: str) -> tuple[float, float]:
        """Of a degree of freedom [rad]."""
        return self.dofs[name].limits

    def to_toml(self) -> str:
        """The file that :func:`read` reads."""

        def row(values: Any) -> str:
            return "[" + ", ".join(f"{float(v):.6g}" for v in np.asarray(values).ravel()) + "]"

        out = [f'name = "{self.name}"', f'source = "{self.source}"', ""]
        lengths = {"thigh": self.thigh, "shank": self.shank}
        for name, part in self.segments.items():
            out += [f"[segment.{name}]", f"mass_kg = {part.mass:.6g}", f"com_m = {row(part.com)}"]
            diagonal = np.diag(part.inertia)
            inertia = diagonal if np.allclose(part.inertia, np.diag(diagonal)) else part.inertia
            out += [f"inertia_kgm2 = {row(inertia)}"]
            if name in lengths:
                out += [f"length_m = {lengths[name]:.6g}"]
            if name == "foot":
                out += [f"{point} = {row(getattr(self, point.removesuffix('_m')))}" for point in FOOT_POINTS]
            out += [""]
        for name, dof in self.dofs.items():
            out += [f"[joint.{name}]", f"axis = {row(dof.axis)}", f"limits_deg = {row(np.degrees(dof.limits))}"]
            if name in CENTRES:
                out += [f"centre_m = {row(getattr(self, CENTRES[name]))}"]
            out += [""]
        return "\n".join(out)


def read(path: str | Path) -> WalkerAnatomy:
    """An anatomy from a TOML file, or a shipped one by name.

    Raises:
        AnatomyError: no such file, or a body that lacks something or does not hang together.
    """
    path = Path(path)
    if str(path) == "human" and not path.is_file():
        return human()  # data/human.toml says the same; this one is shown whole
    if not path.is_file() and path.suffix == "" and str(path) in shipped():
        return parse(files("sandbox.footprints").joinpath("data", f"{path}.toml").read_text(encoding="utf-8"), str(path))
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except OSError:
        raise AnatomyError(f"{path}: no such file: give a TOML file, or one of {', '.join(shipped())}") from None


def shipped() -> list[str]:
    """Names of the anatomies that come with the project."""
    folder = files("sandbox.footprints").joinpath("data")
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def parse(text: str, where: str) -> WalkerAnatomy:
    """An anatomy from TOML; ``where`` it comes from is said in errors.

    Raises:
        AnatomyError: a body that lacks something or does not hang together.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AnatomyError(f"{where} is no TOML file: {error}") from None
    _known(table, ("name", "source", "segment", "joint"), where)
    segment, joint = (_table(table, key, where) for key in ("segment", "joint"))
    _known(segment, SEGMENTS, f"{where}: segment")
    _known(joint, (*PELVIS, *LEG, ANKLE), f"{where}: joint")
    segments = {name: _mass(_table(segment, name, f"{where}: segment"), f"{where}: segment.{name}") for name in SEGMENTS}
    dofs = {name: _dof(name, _table(joint, name, f"{where}: joint"), where) for name in (*PELVIS, *LEG, ANKLE)}
    centres = {CENTRES[name]: _vector(joint[name], "centre_m", f"{where}: joint.{name}") for name in CENTRES}
    points = {name.removesuffix("_m"): _vector(segment["foot"], name, f"{where}: segment.foot") for name in FOOT_POINTS}
    for name, end in (("thigh", "knee"), ("shank", "ankle")):
        length, apart = _number(segment[name], "length_m", f"{where}: segment.{name}"), float(np.linalg.norm(centres[end]))
        if abs(length - apart) > CLOSES or length <= 0:
            raise AnatomyError(
                f"{where}: the limb does not close: {name} has length_m {length:g}, but the {end} lies {apart:.4g} m from its other joint: "
                f"make centre_m of the {end} and length_m of the {name} agree"
            )
    if centres["hip"][0] <= 0:
        raise AnatomyError(f"{where}: the right hip lies at x = {centres['hip'][0]:g} m: give it a positive x, the left one is mirrored")
    if not points["heel"][2] < 0:
        raise AnatomyError(f"{where}: the heel lies {points['heel'][2]:g} m over the ankle: give heel_m a negative z")
    return WalkerAnatomy(
        str(table.get("name", where)),
        str(table.get("source", "not given")),
        segments,
        dofs,
        hip=centres["hip"],
        knee=centres["knee"],
        ankle=centres["ankle"],
        heel=points["heel"],
        ball=points["ball"],
        toe=points["toe"],
    )


def _known(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in names:
            raise AnatomyError(f"{where} has an unknown key {key!r}{nearest(key, names)}")


def _table(table: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    found = table.get(key)
    if not isinstance(found, dict):
        raise AnatomyError(f"{where} has no {key}: give it")
    return found


def _number(table: Mapping[str, Any], key: str, where: str) -> float:
    found = table.get(key)
    if not isinstance(found, int | float) or isinstance(found, bool) or not math.isfinite(found):
        raise AnatomyError(f"{where} lacks {key}: give a number")
    return float(found)


def _vector(table: Mapping[str, Any], key: str, where: str, sizes: tuple[int, ...] = (3,)) -> Array:
    found = table.get(key)
    numbers = isinstance(found, list) and all(isinstance(v, int | float) and math.isfinite(v) for v in found)
    if not isinstance(found, list) or not numbers or len(found) not in sizes:
        raise AnatomyError(f"{where} lacks {key}: give {' or '.join(map(str, sizes))} numbers")
    return np.array(found, dtype=np.float64)


def _mass(table: Mapping[str, Any], where: str) -> MassProperties:
    mass = _number(table, "mass_kg", where)
    inertia = _vector(table, "inertia_kgm2", where, (3, 9))
    inertia = np.diag(inertia) if len(inertia) == 3 else inertia.reshape(3, 3)
    principal = np.linalg.eigvalsh((inertia + inertia.T) / 2)
    if mass <= 0:
        raise AnatomyError(f"{where} has mass_kg {mass:g}: give a positive one")
    if principal[0] <= 0 or principal[2] > principal[0] + principal[1] + 1e-9:
        raise AnatomyError(
            f"{where} has inertia {principal.round(5).tolist()} kg m^2, which no body has: the largest is at most the others' sum"
        )
    return MassProperties(mass, _vector(table, "com_m", where), inertia)


def _dof(name: str, table: Mapping[str, Any], where: str) -> Dof:
    axis = _vector(table, "axis", f"{where}: joint.{name}")
    if "limits_deg" not in table:
        raise AnatomyError(f"{where}: joint.{name} lacks its limits: give limits_deg = [low, high]")
    low, high = np.radians(_vector(table, "limits_deg", f"{where}: joint.{name}", (2,)))
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        raise AnatomyError(f"{where}: joint.{name} has an axis of length zero: give a direction")
    if not low < high:
        raise AnatomyError(f"{where}: joint.{name} has limits {np.degrees(low):g} to {np.degrees(high):g} deg: give the lower one first")
    return Dof(name, axis / length, (float(low), float(high)))


def human(body: Anatomy | None = None, limits: Mapping[str, tuple[float, float]] | None = None) -> WalkerAnatomy:
    """The project's own body, its trunk, arms and head as one segment.

    Args:
        body: 70 kg, 1.74 m by default.
        limits: of degrees of freedom [deg] instead of the body's.
    """
    body = body or Anatomy()
    at = {"pelvis": np.zeros(3)}
    for joint in body.joints:
        at[joint.child] = at[joint.parent] + joint.origin
    legs = {"thigh", "shank", "foot"}
    trunk: MassProperties | None = None
    for link in body.links:
        if link.segment not in legs:
            part = link.mass_properties.moved(at[link.name])
            trunk = part if trunk is None else trunk + part
    assert trunk is not None
    segments = {"trunk": trunk} | {name: body.segment_mass_properties(name) for name in ("thigh", "shank", "foot")}
    index = body.joint_index
    origin = {name: body.joints[index[f"right_{joint}"]].origin for joint, name in CENTRES.items()}
    dofs = {}
    for name in (*PELVIS, *LEG, ANKLE):
        sign = PELVIS_SIGNS[name.removeprefix("pelvis_")] if name in PELVIS else JOINT_SIGNS[name]
        low, high = np.radians(PELVIS_LIMITS[name]) if name in PELVIS else body.joints[index[f"right_{name}"]].outer
        if limits and name in limits:
            low, high = np.radians(limits[name])
        dofs[name] = Dof(name, np.array(sign.axis), (float(low), float(high)))
    sole = -body.ankle_height
    return WalkerAnatomy(
        f"human, {body.mass:g} kg, {body.height:g} m",
        "segments de Leva 1996, limits of the joints as in bodies/data/joints.toml, limits of the pelvis assumed",
        segments,
        dofs,
        origin["hip"],
        origin["knee"],
        origin["ankle"],
        np.array([0.0, -body.heel_behind_ankle, sole]),
        np.array([0.0, body.ball_ahead_of_ankle, sole]),
        np.array([0.0, body.toe_ahead_of_ankle, sole]),
        body,
    )
