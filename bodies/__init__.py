"""What a body is, without time: anatomy, mass properties, URDF text.

>>> from sandbox.bodies import Anatomy, to_urdf
>>> text = to_urdf(Anatomy(mass=70.0, height=1.74))

``REFERENCE`` is the frozen subject of the kinematic study, beside the default body.
"""

from sandbox.bodies.anatomy import Anatomy, Joint, Link, Sex
from sandbox.bodies.inertia import MassProperties
from sandbox.bodies.reference import REFERENCE
from sandbox.bodies.urdf import to_urdf

__all__ = ["REFERENCE", "Anatomy", "Joint", "Link", "MassProperties", "Sex", "to_urdf"]
