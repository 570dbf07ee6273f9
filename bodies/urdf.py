"""URDF text of an anatomy: one text builds PyBullet's and Pinocchio's model."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from sandbox.bodies.anatomy import Anatomy, Capsule, Link
from sandbox.bodies.inertia import Array

ROOT_LINK = "pelvis"
# Bullet clamps joint speed at 100 rad/s whatever a URDF asks for; the figure here is only what the format demands.
NOMINAL_VELOCITY_LIMIT = 30.0  # [rad/s]


def _text(values: Array | tuple[float, ...] | list[float]) -> str:
    return " ".join(repr(float(v) + 0.0) for v in values)  # + 0.0 writes the negative zeros of mirrored axes as 0.0


def _sphere(parent: ET.Element, tag: str, centre: Array, radius: float) -> None:
    element = ET.SubElement(parent, tag)
    ET.SubElement(element, "origin", xyz=_text(centre), rpy="0 0 0")
    ET.SubElement(ET.SubElement(element, "geometry"), "sphere", radius=repr(float(radius)))


def _capsule(parent: ET.Element, capsule: Capsule) -> None:
    # Spheres at both ends and in the middle, not <capsule>, which is Bullet's own and which Pinocchio's parser rejects.
    # The shapes matter only in a fall: what the walker stands on are the soles.
    for centre in (capsule.start, 0.5 * (capsule.start + capsule.end), capsule.end):
        _sphere(parent, "collision", centre, capsule.radius)


def _link(root: ET.Element, link: Link) -> None:
    element = ET.SubElement(root, "link", name=link.name)
    mass = link.mass_properties
    inertial = ET.SubElement(element, "inertial")
    ET.SubElement(inertial, "origin", xyz=_text(mass.com), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=repr(float(mass.mass)))
    i = mass.inertia
    entries = {"ixx": i[0, 0], "ixy": i[0, 1], "ixz": i[0, 2], "iyy": i[1, 1], "iyz": i[1, 2], "izz": i[2, 2]}
    ET.SubElement(inertial, "inertia", {k: repr(float(v)) for k, v in entries.items()})
    for capsule in link.capsules:
        _capsule(element, capsule)
    for sole in link.soles:
        _sphere(element, "collision", sole.centre, sole.radius)


def to_urdf(anatomy: Anatomy, name: str = "human") -> str:
    """URDF of the body, as text.

    Joint and link names are those of ``anatomy``; an engine may number them in another order, so map by name.
    PyBullet must load it with ``URDF_USE_INERTIA_FROM_FILE``, or it takes inertia from the collision shapes.
    """
    root = ET.Element("robot", name=name)
    for link in anatomy.links:
        _link(root, link)
    for joint in anatomy.joints:
        element = ET.SubElement(root, "joint", name=joint.name, type="revolute")
        ET.SubElement(element, "parent", link=joint.parent)
        ET.SubElement(element, "child", link=joint.child)
        ET.SubElement(element, "origin", xyz=_text(joint.origin), rpy="0 0 0")
        ET.SubElement(element, "axis", xyz=_text(joint.axis))
        low, high = joint.outer
        limit = {"lower": low, "upper": high, "effort": joint.max_torque, "velocity": NOMINAL_VELOCITY_LIMIT}
        ET.SubElement(element, "limit", {k: repr(float(v)) for k, v in limit.items()})
    ET.indent(root)
    return ET.tostring(root, encoding="unicode")
