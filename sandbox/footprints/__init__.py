"""Gait from footprints: joint curves of a body that steps into given prints.

After "Prediction of plausible locomotion using nonlinear kinematic optimization" (2021): 11 degrees of freedom, curves bent by 26
control points, footprints first, whole-body angular momentum as small as possible. What is published, reconstructed and assumed is
listed in ``experiments/reference/FOOTPRINTS_RECONSTRUCTION.md``.
"""

from sandbox.footprints.anatomy import AnatomyError, WalkerAnatomy, human, shipped
from sandbox.footprints.curves import CHANNELS, Start
from sandbox.footprints.prints import Print, PrintError, Step, read_prints
from sandbox.footprints.reach import Reach
from sandbox.footprints.solver import Problem, Solution, solve

__all__ = [
    "CHANNELS",
    "AnatomyError",
    "Print",
    "PrintError",
    "Problem",
    "Reach",
    "Solution",
    "Start",
    "Step",
    "WalkerAnatomy",
    "human",
    "read_prints",
    "shipped",
    "solve",
]
