"""The anatomy of one subject: segments after de Leva (1996), joints, envelopes, feet.

One :class:`Anatomy` is the source of everything else that describes the body: the URDF text of PyBullet and Pinocchio,
the arrays of the compiled kinematics, the drawing. All frames are parallel at zero pose (standing upright, arms and
legs straight down), so that the only transform between a link and its parent is a translation.

Axes: +X subject's right, +Y forward, +Z up. Metres, kilograms, radians. Forearm and hand are one rigid link in the
anatomical position (palms forward), whose axes de Leva's radii of gyration refer to.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from sandbox.bodies.inertia import Array, MassProperties

Sex = Literal["mean", "female", "male"]
SIDES = ("left", "right")
MIDLINE_SEGMENTS = ("head", "upper_trunk", "middle_trunk", "lower_trunk")
PAIRED_SEGMENTS = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")

REFERENCE_MASS, REFERENCE_HEIGHT = 70.0, 1.74  # [kg], [m]: the default subject

# A revolute joint needs a link on both sides, so an anatomical joint with two or three axes is a chain of revolute
# joints through small virtual links. Their mass is taken off the segment that they belong to; the inertia is isotropic,
# so that the composed segment is the same in every pose of the joint. Given for the default subject and scaled like any
# other part of the body: a fixed mass would be too much for the foot of a light one, whose rest could not exist.
VIRTUAL_MASS = 0.02  # [kg]
VIRTUAL_INERTIA = 2e-5  # [kg m^2]

# Proportions that de Leva does not give, as fractions of stature or of foot length: assumed, after the segment lengths of
# Drillis and Contini (1966) as tabulated by Winter (2009, Biomechanics and Motor Control of Human Movement).
ANKLE_HEIGHT = 0.0429
HIP_HALF_SPACING = 0.050
SHOULDER_HALF_SPACING = 0.1085
ANKLE_BEHIND = 0.225  # ankle centre ahead of the heel, of foot length
TOE_BASE = 0.715  # toe base (MTP joint) ahead of the heel, of foot length
FOOT_AXIS_HEIGHT = 0.45  # height of the heel-toe axis that carries the foot's CoM, of ankle height (assumed)
FOOT_HALF_WIDTH = 0.20  # of foot length (assumed: 0.049 m on a foot of 0.244 m; foot breadth is about 0.4 of its length)
HEEL_HALF_WIDTH = 0.14  # of foot length (assumed: a heel 0.068 m wide)
TOE_MASS = 0.14  # of foot mass (assumed)
MTP_HEIGHT = 0.018 / REFERENCE_HEIGHT  # of stature (assumed)

HEIGHT_RANGE = (1.20, 2.20)  # [m]
MASS_RANGE = (30.0, 200.0)  # [kg]
PROPORTION_RANGE = (0.8, 1.25)


@dataclass(frozen=True)
class Joint:
    """One revolute axis.

    Attributes:
        name: with side, for instance ``left_hip_flexion``.
        parent, child: names of links.
        axis: (3,) unit vector in the parent's frame.
        origin: (3,) [m], in the parent's frame.
        comfortable, outer: envelopes [rad]; ``outer`` is the joint limit of the model.
        max_torque: [N m], in both directions.
        source: of the outer envelope.
        torque_source: of the torque limit.
    """

    name: str
    parent: str
    child: str
    axis: Array
    origin: Array
    comfortable: tuple[float, float]
    outer: tuple[float, float]
    max_torque: float
    source: str
    torque_source: str


@dataclass(frozen=True)
class Sphere:
    """A contact sphere of the foot: centre (3,) [m] in the link's frame and radius [m]."""

    centre: Array
    radius: float


@dataclass(frozen=True)
class Capsule:
    """A drawn (and, for falls, colliding) part: from ``start`` to ``end`` (3,) [m] in the link's frame."""

    start: Array
    end: Array
    radius: float


@dataclass(frozen=True)
class Link:
    """One rigid body of the model, with what it weighs and what it looks like."""

    name: str
    segment: str
    mass_properties: MassProperties
    capsules: tuple[Capsule, ...] = ()
    soles: tuple[Sphere, ...] = ()


@cache
def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(files("sandbox.bodies").joinpath("data", name).read_text(encoding="utf-8"))


def deleva_table() -> dict[str, Any]:
    """De Leva's Table 4 as published, by segment and sex; see the file for units."""
    return _table("deleva1996.toml")


@cache
def deleva_row(segment: str, sex: Sex) -> tuple[float, float, float, tuple[float, float, float]]:
    """Row of de Leva's Table 4: length / stature, mass fraction, CoM fraction, radii (sagittal, transverse, long).

    ``mean`` averages each column of the two sexes. Mass fractions are divided by their sum over the body (0.99995 for
    the mean), so that the segments add up to the body exactly.
    """
    table = _table("deleva1996.toml")
    wanted = ("female", "male") if sex == "mean" else (sex,)
    parts = [table[segment][s] for s in wanted]
    stature = float(np.mean([table["stature_mm"][s] for s in wanted]))

    def share(name: str) -> float:
        return float(np.mean([table[name][s]["mass"] for s in wanted]))

    total = sum(share(name) for name in MIDLINE_SEGMENTS) + 2 * sum(share(name) for name in PAIRED_SEGMENTS)
    length, mass, com = (float(np.mean([p[k] for p in parts])) for k in ("length", "mass", "com"))
    radii = np.mean([p["r"] for p in parts], axis=0) / 100
    return length / stature, mass / total, com / 100, (float(radii[0]), float(radii[1]), float(radii[2]))


def _vec(x: float, y: float, z: float) -> Array:
    return np.array([x, y, z], dtype=np.float64)


@dataclass(frozen=True)
class Anatomy:
    """A subject by mass [kg], height [m] and sex (``mean`` averages the female and male tables).

    ``proportions`` are factors on the lengths of single segments of the table, such as ``(("thigh", 1.03), ("shank", 0.98))``;
    masses stay, and ``height`` is then the one that the other proportions follow from.

    Raises:
        ValueError: mass or height outside ``MASS_RANGE`` / ``HEIGHT_RANGE``, an unknown sex or segment, or a factor outside
            ``PROPORTION_RANGE``.
    """

    mass: float = REFERENCE_MASS
    height: float = REFERENCE_HEIGHT
    sex: Sex = "mean"
    proportions: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        checked = (("mass", self.mass, MASS_RANGE, "kg"), ("height", self.height, HEIGHT_RANGE, "m"))
        for name, value, (low, high), unit in checked:
            if not low <= value <= high:  # also catches NaN
                raise ValueError(f"{name} {value:g} {unit} is outside {low:g}-{high:g} {unit}: give a value in that range")
        if self.sex not in ("mean", "female", "male"):
            raise ValueError(f"sex {self.sex!r} is not one of mean, female, male")
        low, high = PROPORTION_RANGE
        for segment, factor in self.proportions:
            if segment not in MIDLINE_SEGMENTS + PAIRED_SEGMENTS:
                raise ValueError(f"unknown segment {segment!r} in proportions: known are {', '.join(MIDLINE_SEGMENTS + PAIRED_SEGMENTS)}")
            if not low <= factor <= high:
                raise ValueError(f"proportion {factor:g} of {segment} is outside {low:g}-{high:g}: give a value in that range")

    # -- lengths -------------------------------------------------------------------------------------------------

    def length(self, segment: str) -> float:
        """Length of a de Leva segment [m] at this stature."""
        length = deleva_row(segment, self.sex)[0] * self.height
        for name, factor in self.proportions:
            if name == segment:
                length *= factor
        return length

    @property
    def ankle_height(self) -> float:
        """Ankle joint centre above the sole [m]."""
        return ANKLE_HEIGHT * self.height

    @property
    def leg_length(self) -> float:
        """Hip joint centre to sole with a straight leg [m]: L of the Froude number and of scaling."""
        return self.length("thigh") + self.length("shank") + self.ankle_height

    @property
    def hip_half_spacing(self) -> float:
        return HIP_HALF_SPACING * self.height

    @property
    def foot_half_width(self) -> float:
        """From the centre line of the sole to its edge, at the ball [m]."""
        return FOOT_HALF_WIDTH * self.length("foot")

    @property
    def heel_behind_ankle(self) -> float:
        return ANKLE_BEHIND * self.length("foot")

    @property
    def ball_ahead_of_ankle(self) -> float:
        return (TOE_BASE - ANKLE_BEHIND) * self.length("foot")

    @property
    def toe_ahead_of_ankle(self) -> float:
        return (1 - ANKLE_BEHIND) * self.length("foot")

    # -- mass ----------------------------------------------------------------------------------------------------

    def segment_mass_properties(self, segment: str) -> MassProperties:
        """Of a whole de Leva segment, in the frame of its proximal joint at zero pose.

        The frame's origin is: head and upper trunk's caudal end for the head (C7) and the trunk parts (their lower
        end-point), the proximal joint for limbs, the ankle for the foot.
        """
        length = self.length(segment)
        _, mass, com, (rs, rt, rl) = deleva_row(segment, self.sex)
        mass *= self.mass
        sagittal, transverse, longitudinal = (mass * (r * length) ** 2 for r in (rs, rt, rl))
        if segment == "foot":  # long axis +Y, from the heel
            y = -self.heel_behind_ankle + com * length
            z = -self.ankle_height * (1 - FOOT_AXIS_HEIGHT)
            return MassProperties(mass, _vec(0, y, z), np.diag([transverse, longitudinal, sagittal]))
        inertia = np.diag([transverse, sagittal, longitudinal])
        if segment in MIDLINE_SEGMENTS:  # given from the cranial end-point
            return MassProperties(mass, _vec(0, 0, (1 - com) * length), inertia)
        return MassProperties(mass, _vec(0, 0, -com * length), inertia)

    @cached_property
    def toe_mass_properties(self) -> MassProperties:
        """The toes, in the frame of the MTP joint: a box with ``TOE_MASS`` of the foot's mass (assumed)."""
        foot = self.segment_mass_properties("foot")
        mass = TOE_MASS * foot.mass
        length = (1 - TOE_BASE) * self.length("foot")
        width, height = 2 * FOOT_HALF_WIDTH * self.length("foot"), 2 * MTP_HEIGHT * self.height
        inertia = mass / 12 * np.diag([length**2 + height**2, width**2 + height**2, width**2 + length**2])
        return MassProperties(mass, _vec(0, 0.45 * length, -0.1 * height), inertia)

    # -- links and joints ----------------------------------------------------------------------------------------

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All rigid bodies, parents before children; the first is the floating base."""
        h = self.height
        r = h / REFERENCE_HEIGHT
        m = self.mass / REFERENCE_MASS
        virtual = MassProperties(m * VIRTUAL_MASS, np.zeros(3), m * r**2 * VIRTUAL_INERTIA * np.eye(3))
        two_virtual = virtual + virtual
        lower, middle, upper = (self.length(s) for s in ("lower_trunk", "middle_trunk", "upper_trunk"))
        hip = self.hip_half_spacing
        shoulder = SHOULDER_HALF_SPACING * h
        foot, ankle = self.length("foot"), self.ankle_height

        def link(name: str, segment: str, mass: MassProperties, *capsules: Capsule, soles: tuple[Sphere, ...] = ()) -> Link:
            return Link(name, segment, mass, capsules, soles)

        def rod(a: tuple[float, float, float], b: tuple[float, float, float], radius: float) -> Capsule:
            return Capsule(_vec(*a), _vec(*b), radius * r)

        seg = self.segment_mass_properties
        shoulder_z = self._shoulder_above_thorax
        head = self.length("head")
        out = [
            link(
                "pelvis",
                "lower_trunk",
                seg("lower_trunk"),
                rod((-hip * 0.8, 0, 0.03), (hip * 0.8, 0, 0.03), 0.085),
                rod((-0.06, 0, lower * 0.8), (0.06, 0, lower * 0.8), 0.085),
            ),
            link("lumbar_1", "middle_trunk", virtual),
            link("lumbar_2", "middle_trunk", virtual),
            link(
                "abdomen",
                "middle_trunk",
                seg("middle_trunk") - two_virtual,
                rod((-0.05, 0, middle * 0.5), (0.05, 0, middle * 0.5), 0.095),
            ),
            link(
                "thorax",
                "upper_trunk",
                seg("upper_trunk"),
                rod((-0.08, 0.01, upper * 0.3), (0.08, 0.01, upper * 0.3), 0.095),
                rod((-shoulder * 0.8, 0, shoulder_z), (shoulder * 0.8, 0, shoulder_z), 0.055),
            ),
            link(
                "head",
                "head",
                seg("head"),
                rod((0, 0, 0.0), (0, 0, 0.06), 0.05),
                rod((0, 0.01, head * 0.55), (0, 0.01, head - 0.09 * r), 0.085),
            ),
        ]
        for side in SIDES:
            arm, fore, hand = self.length("upper_arm"), self.length("forearm"), self.length("hand")
            hand_mass = seg("hand").moved(_vec(0, 0, -fore))
            out += [
                link(f"{side}_shoulder_1", "upper_arm", virtual),
                link(f"{side}_shoulder_2", "upper_arm", virtual),
                link(
                    f"{side}_upper_arm",
                    "upper_arm",
                    seg("upper_arm") - two_virtual,
                    rod((0, 0, -0.01), (0, 0, -arm), 0.042),
                ),
                link(
                    f"{side}_forearm",
                    "forearm",
                    seg("forearm") + hand_mass,
                    rod((0, 0, 0), (0, 0, -fore), 0.035),
                    rod((0, 0, -fore - 0.03), (0, 0, -fore - hand * 0.75), 0.028),
                ),
            ]
        toes = self.toe_mass_properties
        mtp = self._mtp_from_ankle
        for side in SIDES:
            thigh, shank = self.length("thigh"), self.length("shank")
            hindfoot = seg("foot") - toes.moved(mtp) - virtual
            heel_r, ball_r, toe_r = 0.014 * r, 0.010 * r, 0.010 * r
            heel_w, ball_w = HEEL_HALF_WIDTH * foot, FOOT_HALF_WIDTH * foot
            heel = tuple(Sphere(_vec(s * (heel_w - heel_r), -self.heel_behind_ankle + heel_r, heel_r - ankle), heel_r) for s in (-1, 1))
            ball = tuple(Sphere(_vec(s * (ball_w - ball_r), mtp[1], ball_r - ankle), ball_r) for s in (-1, 1))
            toe_length = (1 - TOE_BASE) * foot
            tip = tuple(Sphere(_vec(s * (ball_w * 0.75 - toe_r), toe_length - toe_r, toe_r - ankle - mtp[2]), toe_r) for s in (-1, 1))
            out += [
                link(f"{side}_hip_1", "thigh", virtual),
                link(f"{side}_hip_2", "thigh", virtual),
                link(f"{side}_thigh", "thigh", seg("thigh") - two_virtual, rod((0, 0, -0.03), (0, 0, -thigh), 0.065)),
                link(f"{side}_shank", "shank", seg("shank"), rod((0, 0, -0.01), (0, 0, -shank + 0.03), 0.045)),
                link(f"{side}_ankle_1", "foot", virtual),
                link(f"{side}_hindfoot", "foot", hindfoot, soles=heel + ball),
                link(f"{side}_toes", "foot", toes, soles=tip),
            ]
        return tuple(out)

    @property
    def _mtp_from_ankle(self) -> Array:
        return _vec(0, self.ball_ahead_of_ankle, MTP_HEIGHT * self.height - self.ankle_height)

    @property
    def _shoulder_above_thorax(self) -> float:
        """Shoulder line (MIDS) above the thorax joint (XYPH) [m]."""
        mids = self.length("trunk")
        return mids - self.length("lower_trunk") - self.length("middle_trunk")

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The revolute joints in canonical order: midline, then the arms, then the legs, left before right.

        Joint ``i`` moves link ``i + 1`` of :attr:`links`.
        """
        table = {k: v for k, v in _table("joints.toml").items() if isinstance(v, dict)}
        by_child = {str(row["child"]): (name, row) for name, row in table.items()}
        lower, middle, upper = (self.length(s) for s in ("lower_trunk", "middle_trunk", "upper_trunk"))
        origins = {
            "lumbar_1": _vec(0, 0, lower),
            "thorax": _vec(0, 0, middle),
            "head": _vec(0, 0, upper),
            "shoulder_1": _vec(SHOULDER_HALF_SPACING * self.height, 0, self._shoulder_above_thorax),
            "forearm": _vec(0, 0, -self.length("upper_arm")),
            "hip_1": _vec(self.hip_half_spacing, 0, 0),
            "shank": _vec(0, 0, -self.length("thigh")),
            "ankle_1": _vec(0, 0, -self.length("shank")),
            "toes": self._mtp_from_ankle,
        }
        link_names = {link.name for link in self.links}
        out = []
        for link in self.links[1:]:
            side, _, base = link.name.partition("_") if link.name.startswith(SIDES) else ("", "", link.name)
            name, row = by_child[base]
            mirror = _vec(1, 1, 1) if side != "left" else _vec(1, -1, -1)
            origin = origins.get(base, np.zeros(3)).copy()
            if side == "left":
                origin[0] = -origin[0]
            parent = f"{side}_{row['parent']}"
            out.append(
                Joint(
                    name=f"{side}_{name}" if side else name,
                    parent=parent if parent in link_names else row["parent"],
                    child=link.name,
                    axis=np.array(row["axis"], dtype=np.float64) * mirror,
                    origin=origin,
                    comfortable=_radians(row["comfortable"]),
                    outer=_radians(row["outer"]),
                    max_torque=float(row["torque"]) * self.mass,
                    source=row["source"],
                    torque_source=row["torque_source"],
                )
            )
        return tuple(out)

    @cached_property
    def joint_index(self) -> dict[str, int]:
        """Canonical index of each joint by name."""
        return {joint.name: i for i, joint in enumerate(self.joints)}

    @cached_property
    def link_index(self) -> dict[str, int]:
        """Index of each link by name."""
        return {link.name: i for i, link in enumerate(self.links)}

    @cached_property
    def points(self) -> dict[str, tuple[str, Array]]:
        """Named body points: link and position (3,) [m] in the link's frame."""
        ankle = self.ankle_height
        out: dict[str, tuple[str, Array]] = {"mid_hip": ("pelvis", np.zeros(3))}
        for side, sign in (("left", -1.0), ("right", 1.0)):
            out |= {
                f"{side}_hip": ("pelvis", _vec(sign * self.hip_half_spacing, 0, 0)),
                f"{side}_knee": (f"{side}_shank", np.zeros(3)),
                f"{side}_ankle": (f"{side}_ankle_1", np.zeros(3)),
                f"{side}_heel": (f"{side}_hindfoot", _vec(0, -self.heel_behind_ankle, -ankle)),
                f"{side}_toe_base": (f"{side}_hindfoot", _vec(0, self.ball_ahead_of_ankle, -ankle)),
                f"{side}_toe_tip": (f"{side}_toes", _vec(0, self.toe_ahead_of_ankle - self.ball_ahead_of_ankle, -MTP_HEIGHT * self.height)),
                f"{side}_shoulder": ("thorax", _vec(sign * SHOULDER_HALF_SPACING * self.height, 0, self._shoulder_above_thorax)),
                f"{side}_elbow": (f"{side}_forearm", np.zeros(3)),
                f"{side}_wrist": (f"{side}_forearm", _vec(0, 0, -self.length("forearm"))),
            }
        out |= {"neck_base": ("head", np.zeros(3)), "head": ("head", _vec(0, 0, self.length("head") / 2))}
        return out


def _radians(pair: list[float]) -> tuple[float, float]:
    low, high = np.radians(pair)
    return float(low), float(high)
