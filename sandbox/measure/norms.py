"""What people do: the cycle curves of 24 young adults, and two laws of cadence."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.mechanics import froude_number

Array = NDArray[np.float64]

# stride / L = a Fr^b over the young adults of Fukuchi et al. 2018 (PeerJ 6:e4640), up to eight speeds each.
WBDS_STRIDE, WBDS_EXPONENT = 2.217, 0.246
# Step length [m] = k x step frequency [steps/min] x body height [m]: the normalising law of KLAW (Bruderlin & Calvert
# 1989), up to the frequency at which its double support vanishes.
KLAW_STEP = 0.004
KLAW_MAX_CADENCE = 182.0  # [steps/min]

# By contact, over 95 strides of two adults at 1.21-1.29 m/s (CMU motion capture database, subjects 35 and 16).
PEOPLE_STANCE, PEOPLE_DOUBLE_SUPPORT = 0.617, 0.232
# Mean curves of children at free speed, Froude number 0.18 (Schwartz, Rozumalski, Trost 2008, J Biomech 41:1639): vertical
# ground force at landing peak, valley and push-off peak [body weights]; peak ankle moment [N m/kg].
PEOPLE_FORCE = (1.10, 0.79, 1.08)
PEOPLE_PUSH_OFF = 1.2


@dataclass(frozen=True)
class Band:
    """Mean and standard deviation (101,) [deg] over people, from foot contact (0 %) to the next (100 %)."""

    mean_deg: Array
    sd_deg: Array


@dataclass(frozen=True)
class Norm:
    """Curves of a group of people walking.

    Attributes:
        hip: thigh against vertical.
        knee, ankle: joint angles, flexion and dorsiflexion positive.
        foot_deg: (101,) mean pitch of the foot, toes up positive.
        froude: at which they walked.
        speed: [m/s].
        leg: mean leg length [m].
        subjects: how many.
        source: of the data, with licence.
    """

    hip: Band
    knee: Band
    ankle: Band
    foot_deg: Array
    froude: float
    speed: float
    leg: float
    subjects: int
    source: str


@cache
def young_adults() -> Norm:
    """24 young adults at comfortable speed, 1.24 m/s (Fukuchi et al. 2018, CC BY 4.0)."""
    data: dict[str, Any] = json.loads(files("sandbox.measure").joinpath("data", "wbds_young24.json").read_text(encoding="utf-8"))
    curves = data["curves"]
    hip, knee, ankle = (Band(np.array(curves[k]["mean_deg"]), np.array(curves[k]["sd_deg"])) for k in ("hip", "knee", "ankle"))
    return Norm(
        hip=hip,
        knee=knee,
        ankle=ankle,
        foot_deg=np.array(curves["foot"]["mean_deg"]),
        froude=data["froude"],
        speed=data["speed_mps"],
        leg=data["leg_m"],
        subjects=data["subjects"],
        source=f"{data['source']} {data['licence']}",
    )


def wbds_stride_leg(froude: float) -> float:
    """Stride length in leg lengths of young adults at a Froude number."""
    return float(WBDS_STRIDE * froude**WBDS_EXPONENT)


def wbds_cadence(speed: float, leg: float) -> float:
    """Cadence [steps/min] of young adults with ``leg`` [m] at ``speed`` [m/s]."""
    return 120.0 * speed / (wbds_stride_leg(froude_number(speed, leg)) * leg)


def klaw_cadence(speed: float, height: float) -> float:
    """Cadence [steps/min] of KLAW's normalising law for a body of ``height`` [m] at ``speed`` [m/s]."""
    return min(KLAW_MAX_CADENCE, math.sqrt(60.0 * speed / (KLAW_STEP * height)))
