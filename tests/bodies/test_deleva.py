"""Every segment of the loaded body, composed of its links, against de Leva's table, in both engines.

The expected figures are worked out here, from second moments instead of parallel axes, so that they share nothing with
the code under test.
"""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from sandbox.bodies import Anatomy

ROOT = Path(__file__).resolve().parents[2]
LITERATURE = ROOT.parent / "shared" / "spec" / "LITERATURE.md"

# The links of each segment; the last of them is the one in whose frame the segment is described.
GROUPS = {
    "lower_trunk": ["pelvis"],
    "middle_trunk": ["lumbar_1", "lumbar_2", "abdomen"],
    "upper_trunk": ["thorax"],
    "head": ["head"],
    **{
        f"{side}_{segment}": [f"{side}_{link}" for link in links]
        for side in ("left", "right")
        for segment, links in {
            "upper_arm": ["shoulder_1", "shoulder_2", "upper_arm"],
            "forearm_and_hand": ["forearm"],
            "thigh": ["hip_1", "hip_2", "thigh"],
            "shank": ["shank"],
            "foot": ["ankle_1", "toes", "hindfoot"],
        }.items()
    },
}
BODIES = [
    Anatomy(),
    Anatomy(sex="female"),
    Anatomy(sex="male"),
    Anatomy(48.0, 1.52, "female"),
    Anatomy(105.0, 1.93, "male"),
]


class Row(NamedTuple):
    """One segment of one sex: length [mm], mass and CoM [%], radii of gyration [%] (sagittal, transverse, longitudinal)."""

    length: float
    mass: float
    com: float
    radii: tuple[float, float, float]


Table = dict[str, dict[str, Row]]


def from_data_file() -> Table:
    data = tomllib.loads((ROOT / "bodies" / "data" / "deleva1996.toml").read_text(encoding="utf-8"))
    stature = data.pop("stature_mm")
    table = {k: {sex: Row(r["length"], r["mass"], r["com"], tuple(r["r"])) for sex, r in v.items()} for k, v in data.items()}
    table["stature"] = {sex: Row(value, 0, 0, (0, 0, 0)) for sex, value in stature.items()}
    return table


def from_literature() -> Table:
    names = {
        "Head (VERT-CERV)": "head",
        "Trunk (MIDS-MIDH)": "trunk",
        "UPT (CERV-XYPH)": "upper_trunk",
        "MPT (XYPH-OMPH)": "middle_trunk",
        "LPT (OMPH-MIDH)": "lower_trunk",
        "Upper arm (SJC-EJC)": "upper_arm",
        "Forearm (EJC-WJC)": "forearm",
        "Hand (WJC-DAC3)": "hand",
        "Thigh (HJC-KJC)": "thigh",
        "Shank (KJC-AJC)": "shank",
        "Foot (HEEL-TTIP)": "foot",
    }
    table: Table = {"stature": {"female": Row(1735, 0, 0, (0, 0, 0)), "male": Row(1741, 0, 0, (0, 0, 0))}}
    for line in LITERATURE.read_text(encoding="utf-8").splitlines():
        cells = line.strip("|").split("|")
        if line.startswith("|") and cells[0] in names:
            rows = {}
            for sex, (length, mass, com, radii) in (("female", cells[1:5]), ("male", cells[5:9])):
                s, t, z = (float(r) for r in radii.split("/"))
                rows[sex] = Row(float(length), float(mass), float(com), (s, t, z))
            table[names[cells[0]]] = rows
    assert len(table) == 1 + len(names)
    return table


@pytest.fixture(
    params=[
        from_data_file,
        pytest.param(
            from_literature,
            marks=[pytest.mark.shared, pytest.mark.skipif(not LITERATURE.is_file(), reason="needs ../shared/spec/LITERATURE.md")],
        ),
    ],
    ids=["data-file", "literature"],
)
def table(request: pytest.FixtureRequest) -> Table:
    return request.param()


class Moments(NamedTuple):
    """Mass, first and second moments about the frame's origin: they simply add up."""

    mass: float
    first: np.ndarray
    second: np.ndarray

    def __add__(self, other: object) -> Moments:
        assert isinstance(other, Moments)
        return Moments(self.mass + other.mass, self.first + other.first, self.second + other.second)

    @property
    def com(self) -> np.ndarray:
        return self.first / self.mass

    @property
    def inertia(self) -> np.ndarray:
        """About the centre of mass."""
        central = self.second - np.outer(self.first, self.first) / self.mass
        return np.trace(central) * np.eye(3) - central


def moments(mass: float, com: np.ndarray, inertia: np.ndarray) -> Moments:
    central = np.trace(inertia) / 2 * np.eye(3) - inertia
    return Moments(mass, mass * com, central + mass * np.outer(com, com))


def averaged(table: Table, segment: str, sex: str) -> Row:
    sexes = ["female", "male"] if sex == "mean" else [sex]
    rows = [table[segment][s] for s in sexes]
    return Row(*(np.mean([getattr(row, name) for row in rows], axis=0) for name in Row._fields))


def expected(table: Table, anatomy: Anatomy, segment: str) -> Moments:
    """Of a de Leva segment in the frame of its link: X right, Y forward, Z up, origin at the proximal (lower) joint."""
    row = averaged(table, segment, anatomy.sex)
    singles = ("head", "upper_trunk", "middle_trunk", "lower_trunk")
    pairs = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")
    whole = sum(averaged(table, s, anatomy.sex).mass for s in singles) + 2 * sum(averaged(table, s, anatomy.sex).mass for s in pairs)
    mass = anatomy.mass * row.mass / whole
    length = anatomy.height * row.length / averaged(table, "stature", anatomy.sex).length
    about_y, about_x, about_z = (mass * (length * r / 100) ** 2 for r in row.radii)
    com = row.com / 100 * length
    if segment == "foot":
        # From the heel forward; the ankle is 22.5 % of the foot ahead of the heel and .0429 of stature up, the axis 45 % of that.
        ankle = 0.0429 * anatomy.height
        return moments(mass, np.array([0, com - 0.225 * length, (0.45 - 1) * ankle]), np.diag([about_x, about_z, about_y]))
    z = length - com if segment in (*singles, "trunk") else -com
    return moments(mass, np.array([0, 0, z]), np.diag([about_x, about_y, about_z]))


def composed(body, links: list[str], frame: str) -> Moments:
    """Of loaded links, in the frame of one of them."""
    base = body.link(frame)
    total = Moments(0.0, np.zeros(3), np.zeros((3, 3)))
    for name in links:
        link = body.link(name)
        turn = base.rotation.T @ link.rotation
        com = base.rotation.T @ (link.world(link.mass_properties.com) - base.position)
        total += moments(link.mass_properties.mass, com, turn @ link.mass_properties.inertia @ turn.T)
    return total


def assert_equal(actual: Moments, wanted: Moments, size: float, relative: float) -> None:
    """To a part of the mass, of the ``size`` [m] and of the smallest principal moment."""
    assert actual.mass == pytest.approx(wanted.mass, rel=relative)
    np.testing.assert_allclose(actual.com, wanted.com, rtol=0, atol=relative * size)
    np.testing.assert_allclose(actual.inertia, wanted.inertia, rtol=0, atol=relative * np.linalg.eigvalsh(wanted.inertia)[0])


@pytest.mark.parametrize("anatomy", BODIES, ids=lambda a: f"{a.mass:g}kg-{a.height:g}m-{a.sex}")
@pytest.mark.parametrize(
    ("seed", "relative"),
    [(None, 1e-6), (5, 2e-5)],  # Bullet's getLinkState reports the poses of turned links in single precision
    ids=["zero-pose", "any-pose"],
)
def test_segments(load, zero_pose, random_pose, table: Table, anatomy: Anatomy, seed: int | None, relative: float) -> None:
    body = load(anatomy)
    pose = zero_pose(anatomy) if seed is None else random_pose(anatomy, seed)
    for side in ("left", "right"):  # a foot is de Leva's only while the toes are straight
        pose.q[anatomy.joint_index[f"{side}_mtp_extension"]] = 0.0
    body.set_pose(pose)
    assert sorted(itertools.chain(*GROUPS.values())) == sorted(body.link_names)
    for group, links in GROUPS.items():
        segment = group.removeprefix("left_").removeprefix("right_")
        if segment == "forearm_and_hand":
            hand = expected(table, anatomy, "hand")
            fore = np.array([0, 0, -anatomy.length("forearm")])
            wanted = expected(table, anatomy, "forearm") + moments(hand.mass, hand.com + fore, hand.inertia)
            size = anatomy.length("forearm")
        else:
            wanted, size = expected(table, anatomy, segment), anatomy.length(segment)
        assert_equal(composed(body, links, links[-1]), wanted, size, relative)


def test_joints_sit_at_the_end_points(table: Table) -> None:
    for anatomy in BODIES:
        stature = averaged(table, "stature", anatomy.sex).length
        origin = {joint.name: joint.origin for joint in anatomy.joints}
        for joint, segment, sign in (
            ("lumbar_flexion", "lower_trunk", 1),
            ("thorax_rotation", "middle_trunk", 1),
            ("head_flexion", "upper_trunk", 1),
            ("left_elbow_flexion", "upper_arm", -1),
            ("left_knee_flexion", "thigh", -1),
            ("left_ankle_dorsiflexion", "shank", -1),
        ):
            length = averaged(table, segment, anatomy.sex).length / stature * anatomy.height
            np.testing.assert_allclose(origin[joint], [0, 0, sign * length], rtol=1e-12, atol=0)


@pytest.mark.parametrize("sex", ["mean", "female", "male"])
def test_composed_trunk_is_the_whole_trunk(load, table: Table, sex: str) -> None:
    """De Leva's own three parts and whole trunk differ by this much."""
    anatomy = Anatomy(sex=sex)
    body = load(anatomy)
    links = [link for group in ("lower_trunk", "middle_trunk", "upper_trunk") for link in GROUPS[group]]
    actual, wanted = composed(body, links, "pelvis"), expected(table, anatomy, "trunk")
    assert actual.mass == pytest.approx(wanted.mass, rel=1e-12)
    np.testing.assert_allclose(actual.com, wanted.com, rtol=0, atol=0.003)
    np.testing.assert_allclose(np.diag(actual.inertia), np.diag(wanted.inertia), rtol=0.011)


def test_figures_worked_out_elsewhere(load) -> None:
    """Inertias (X, Y, Z) of a 70 kg, 1.781 m subject and the height of the CoM, from a separate calculation."""
    anatomy = Anatomy(70.0, 1.781)
    body = load(anatomy)
    for group, inertia, digits in (
        ("left_thigh", (0.1996, 0.2025, 0.0402), 1.5e-4),
        ("left_shank", (0.0420, 0.0435, 0.0061), 1e-4),
        ("left_foot", (0.0040, 0.0010, 0.0045), 1e-4),
        ("head", (0.0276, 0.0244, 0.0202), 1e-4),
        ("left_upper_arm", (0.0105, 0.0119, 0.0035), 1e-3),
    ):
        links = GROUPS[group]
        np.testing.assert_allclose(np.diag(composed(body, links, links[-1]).inertia), inertia, rtol=0, atol=digits)
    whole = composed(body, list(body.link_names), "pelvis")
    assert (whole.com[2] + anatomy.leg_length) / anatomy.height == pytest.approx(0.568, abs=0.003)  # arms hanging down
