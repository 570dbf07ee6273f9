"""A gait held against people's at the same Froude number: differences of curves, Gait Variable Scores, the Gait Profile Score.

Two references, both of this package. **Adults**: the absolute angles of nine curves, at Froude 0.18 (24 adults; a laboratory's
norm for the planes that they lack), moved to another Froude number by how children's curves change with it. **CMU**: everything
else, mean and SD by Froude number from the CMU motion capture database, whose skeletons are biased, so that means are removed; it is
compared with curves by the same detector of events, foot height with speed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.analysis import Analysis
from sandbox.measure.curves import CURVES
from sandbox.measure.cycle import SAMPLES
from sandbox.measure.events import Detector, EventError

Array = NDArray[np.float64]
Reference = Literal["adults", "cmu"]

# The nine curves of the Gait Profile Score (Baker et al. 2009, Gait & Posture 30:265). Its hip flexion is the thigh against
# vertical here, since the adults' pelvis is tilted where that of a model is neutral. The pelvis is counted once, of the left side.
GPS_CURVES = (
    "pelvis_tilt",
    "pelvis_obliquity",
    "pelvis_rotation",
    "thigh",
    "hip_adduction",
    "hip_rotation",
    "knee",
    "ankle",
    "foot_progression",
)
PELVIS = GPS_CURVES[:3]
# Of these the norm is one laboratory's, whose people turn hips and feet out by 18 and 15 degrees; children's are turned by 2 and 7.
ONE_LABORATORY = ("hip_rotation", "foot_progression")
GPS_SAMPLES = 51
MINIMAL_DIFFERENCE = 1.6  # [deg]: minimal clinically important difference of the full score (Baker et al. 2012, Gait & Posture 35:612)
ADULT_CURVES = (*GPS_CURVES, "foot_pitch")

# Detectors that may be held against the adults, whose events are those of force plates with the usual threshold: they tell when the
# foot is on the ground. Zeni's are another kind. What is held against CMU's people is taken by their own detector, foot height with
# speed, on our side too.
CONTACT: tuple[Detector, ...] = ("contact", "force", "height")
# Figures that depend on the detector.
TIMING = ("stance_fraction", "double_support_fraction", "flight_fraction")


class Band(NamedTuple):
    """Mean and SD (101,) of people; the SD is NaN where none is published."""

    mean: Array
    sd: Array


class Scalar(NamedTuple):
    """Mean and SD of a figure of people."""

    mean: float
    sd: float


@cache
def _file(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files("sandbox.measure").joinpath("data", name).read_text(encoding="utf-8"))
    return content


def acknowledgement() -> str:
    """What CMU asks to be printed where figures from its data are used."""
    return str(_file("people_cmu.json")["acknowledgement"])


def sources() -> list[str]:
    """Source and licence of everything that people's figures come from."""
    file = _file("norms.json")
    norms = [f"{entry['source']} {entry['licence']}." for entry in (*file["sources"].values(), file["person"])]
    cmu = _file("people_cmu.json")
    return [*norms, f"{cmu['source']}; {cmu['licence']}. {cmu['acknowledgement']}"]


def _curve(values: Sequence[float] | None) -> Array:
    if values is None:
        return np.full(SAMPLES, np.nan)
    return np.asarray(np.interp(np.linspace(0, 1, SAMPLES), np.linspace(0, 1, len(values)), values))


def _between(froude: float, known: Sequence[float]) -> tuple[int, int, float]:
    """Neighbours of a Froude number and the share of the second, linear in dimensionless speed, held at both ends."""
    at = np.sqrt(known)
    k = int(np.clip(np.searchsorted(at, math.sqrt(froude)) - 1, 0, len(at) - 2))
    share = float(np.clip((math.sqrt(froude) - at[k]) / (at[k + 1] - at[k]), 0.0, 1.0))
    return k, k + 1, share


def _mixed(entries: Sequence[Mapping[str, Any]], froude: Sequence[float], at: float, pick: str, name: str) -> tuple[Any, Any] | None:
    """Mean and SD of curve or figure ``name`` at a Froude number, from those entries that have it."""
    having = [k for k, entry in enumerate(entries) if name in entry[pick]]
    if not having:
        return None
    if len(having) == 1:
        band = entries[having[0]][pick][name]
        return np.array(band["mean"]), np.array(band["sd"])
    i, j, share = _between(at, [froude[k] for k in having])
    a, b = (entries[having[k]][pick][name] for k in (i, j))
    return tuple((1 - share) * np.array(a[key]) + share * np.array(b[key]) for key in ("mean", "sd"))  # type: ignore[return-value]


def froude_range() -> tuple[float, float]:
    """Froude numbers between which the CMU reference is interpolated; beyond, its nearest end is used."""
    bins = _file("people_cmu.json")["bins"]
    return bins[0]["scalars"]["froude"]["mean"], bins[-1]["scalars"]["froude"]["mean"]


def cmu_band(name: str, froude: float) -> Band | None:
    """Curve ``name`` of CMU's people at a Froude number; None where they have none."""
    bins = _file("people_cmu.json")["bins"]
    found = _mixed(bins, [b["scalars"]["froude"]["mean"] for b in bins], froude, "curves", name)
    return None if found is None else Band(_curve(found[0]), _curve(found[1]))


def adult_band(name: str, froude: float) -> Band | None:
    """Curve ``name`` of adults at a Froude number; None where they have none.

    At 0.18 it is as published. Elsewhere what the same curve of children differs from their own at 0.18 is added.
    """
    norms = _file("norms.json")
    curve = norms["adults"]["curves"].get(name)
    if curve is None:
        return None
    mean, sd = _curve(curve["mean"]), _curve(curve["sd"])
    here, there = children_band(name, froude), children_band(name, norms["adults"]["froude"])
    if here is not None and there is not None:
        mean = mean + here.mean - there.mean
    return Band(mean, sd)


def children_band(name: str, froude: float) -> Band | None:
    """Curve ``name`` of 51-82 children at a Froude number: angles [deg], forces [body weights], moments [N m/kg], powers [W/kg]."""
    entries = _file("norms.json")["children"]
    found = _mixed(entries, [e["froude"] for e in entries], froude, "curves", name)
    return None if found is None else Band(_curve(found[0]), _curve(found[1]))


def person_curve(name: str) -> Array | None:
    """Ground force or moment ``name`` (101,) of one person walking at a speed that is not stated (OpenSim's sample)."""
    curve = _file("norms.json")["person"]["curves"].get(name)
    return None if curve is None else _curve(curve["mean"])


def people_scalar(key: str, froude: float, detector: Detector = "height") -> Scalar | None:
    """Figure ``key`` (of :data:`sandbox.measure.analysis.STRIDE_FIELDS`) of people at a Froude number; None where it is not known.

    Of CMU's people; stance and double support by another detector than theirs are those of children on force plates.
    """
    if key in TIMING and detector != "height":
        entries = _file("norms.json")["children"]
        found = _mixed(entries, [e["froude"] for e in entries], froude, "scalars", key) if detector in CONTACT else None
        return None if found is None else Scalar(float(found[0]), float(found[1]))
    bins = _file("people_cmu.json")["bins"]
    found = _mixed(bins, [b["scalars"]["froude"]["mean"] for b in bins], froude, "scalars", key)
    return None if found is None else Scalar(float(found[0]), float(found[1]))


def froude_text(froude: float) -> str:
    """Where people are taken for a gait at this Froude number: CMU's walked within :func:`froude_range`."""
    low, high = froude_range()
    at = min(max(froude, low), high)
    return f"at Froude {at:.3f}" if at == froude else f"at Froude {at:.3f}, nearest to {froude:.3f}"


def reference_of(name: str) -> Reference:
    """Which reference a curve is held against."""
    return "adults" if name in ADULT_CURVES else "cmu"


def band(name: str, froude: float) -> Band | None:
    """Curve ``name`` of the reference that it is held against."""
    return adult_band(name, froude) if reference_of(name) == "adults" else cmu_band(name, froude)


# -- two curves --------------------------------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """One curve against another.

    Attributes:
        rms: root mean square of the difference, in the unit of the curve.
        shape: the same with the mean of both removed.
        correlation: of the two.
        peak_shift: by how much later its largest value comes [% of the cycle], from -50 to 50.
        lag: by which it must be turned back in the cycle to resemble most [% of the cycle], from -50 to 50.
    """

    rms: float
    shape: float
    correlation: float
    peak_shift: float
    lag: float


def difference(curve: Array, other: Array) -> Difference:
    """Of ``curve`` (101,) against ``other`` (101,)."""
    gap = curve - other
    flat = np.ptp(curve) == 0 or np.ptp(other) == 0
    a, b = curve[:-1] - curve[:-1].mean(), other[:-1] - other[:-1].mean()
    fit = [float(np.roll(a, -k) @ b) for k in range(SAMPLES - 1)]
    return Difference(
        rms=_rms(gap),
        shape=_rms(gap - gap.mean()),
        correlation=math.nan if flat else float(np.corrcoef(curve, other)[0, 1]),
        peak_shift=_wrapped(int(np.argmax(curve[:-1])) - int(np.argmax(other[:-1]))),
        lag=math.nan if flat else _wrapped(int(np.argmax(fit))),
    )


def _wrapped(percent: int) -> float:
    return float((percent + 50) % 100 - 50)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


# -- the scores --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProfileScore:
    """Gait Variable Scores [deg] by curve and the score over them.

    Attributes:
        value: root mean square of the scores [deg]: pelvis once, the others of both sides.
        curves: the score of each curve; of the two sides' their root mean square.
        shape: the same with the mean removed from both curves.
    """

    value: float
    curves: dict[str, float]
    shape: dict[str, float]

    @property
    def name(self) -> str:
        """``GPS`` for the full nine curves, else ``GPS-k`` for k of them."""
        return "GPS" if len(self.curves) == len(GPS_CURVES) else f"GPS-{len(self.curves)}"

    @property
    def full(self) -> bool:
        """Whether all nine curves are in it; only then does the minimal important difference hold."""
        return len(self.curves) == len(GPS_CURVES)

    def changed(self, other: ProfileScore) -> bool | None:
        """Whether the two differ by the minimal important difference; None where either is not the full score."""
        return abs(self.value - other.value) >= MINIMAL_DIFFERENCE if self.full and other.full else None


def profile_score(left: Mapping[str, Array], right: Mapping[str, Array], reference: Mapping[str, Array]) -> ProfileScore:
    """Gait Profile Score of mean curves (101,) of both sides against those of a reference, over the curves that all have.

    GVS_k = RMS over 51 points of (x_k - reference_k); GPS = sqrt(mean of GVS_k^2) (Baker et al. 2009).

    Raises:
        ValueError: no curve in common.
    """
    curves, shapes, squares = {}, {}, []
    for name in GPS_CURVES:
        sides = [side[name] for side in ((left,) if name in PELVIS else (left, right)) if name in side]
        if name not in reference or not sides or (name not in PELVIS and len(sides) < 2):
            continue
        gaps = [(side - reference[name])[:: (SAMPLES - 1) // (GPS_SAMPLES - 1)] for side in sides]
        scores = [_rms(gap) for gap in gaps]
        curves[name] = _rms(np.array(scores))
        shapes[name] = _rms(np.array([_rms(gap - gap.mean()) for gap in gaps]))
        squares += [score**2 for score in scores]
    if not squares:
        raise ValueError(f"none of the curves {', '.join(GPS_CURVES)} is in both gaits")
    return ProfileScore(math.sqrt(float(np.mean(squares))), curves, shapes)


def sides(analysis: Analysis) -> tuple[dict[str, Array], dict[str, Array]]:
    """Mean curves (101,) of the left and the right side; a side without a stride takes the other's."""
    feet = np.array([stride.foot for stride in analysis.straight])
    both = []
    for foot in (0, 1):
        rows = feet == foot if (feet == foot).any() else np.ones(len(feet), dtype=bool)
        both.append({name: curve[rows].mean(axis=0) for name, curve in analysis.curves.items()})
    return both[0], both[1]


class CurveScore(NamedTuple):
    """A curve held against its reference; ``distance`` is the RMS that counts over the reference's mean SD.

    What counts is the RMS for adults, and the RMS with means removed for CMU.
    """

    name: str
    reference: Reference
    unit: str
    difference: Difference
    distance: float

    @property
    def counted(self) -> float:
        """The RMS that counts, in the unit of the curve."""
        return self.difference.rms if self.reference == "adults" else self.difference.shape


# Where no SD is published: the angle of the foot, taken as that of the ankle and the shank below it.
ASSUMED_SD = {"foot_pitch": 4.0}  # [deg]


@dataclass(frozen=True)
class Scores:
    """A gait against people.

    Attributes:
        froude: at which it is compared; speed over g and leg length.
        held: the Froude number at which the CMU reference was taken, where the gait is outside its range.
        curves: one score a curve.
        gps: the Gait Profile Score against adults.
        seven: the same without the curves of :data:`ONE_LABORATORY`.
    """

    froude: float
    held: float | None
    curves: tuple[CurveScore, ...]
    gps: ProfileScore
    seven: ProfileScore

    def ranked(self) -> list[CurveScore]:
        """Curves, the furthest from people first."""
        return sorted(self.curves, key=lambda score: -score.distance)


def scores(analysis: Analysis, froude: float | None = None) -> Scores:
    """A gait against people at its own Froude number, or at the ``froude`` given (for a belt of unknown speed).

    Raises:
        EventError: events by Zeni's rule, which the references' are not.
        ValueError: no straight stride, or an unknown speed and no ``froude``.
    """
    if analysis.detector not in CONTACT:
        raise EventError(
            f"the references' events are of contact, these by {analysis.detector}, which comes 3-4 % of a stride earlier: "
            "measure with contact, force or height"
        )
    if not analysis.straight:
        raise ValueError("; ".join(analysis.warnings) or "no straight stride")
    at = analysis.mean("froude") if froude is None else froude
    if not math.isfinite(at):
        raise ValueError("the speed is unknown, and with it the Froude number at which people are to be taken: give --belt-speed")
    low, high = froude_range()
    found = []
    curves = {name: curve for name, curve in analysis.mean_curves.items() if reference_of(name) == "adults"}
    if analysis.by_height is not None:
        curves |= {name: curve for name, curve in analysis.by_height.mean_curves.items() if reference_of(name) == "cmu"}
    for name, curve in curves.items():
        people = band(name, at)
        if people is None:
            continue
        gap = difference(curve, people.mean)
        which = reference_of(name)
        spread = ASSUMED_SD.get(name, float(np.mean(people.sd)))
        found.append(CurveScore(name, which, CURVES[name].unit, gap, (gap.rms if which == "adults" else gap.shape) / spread))
    left, right = sides(analysis)
    reference = {name: people.mean for name in GPS_CURVES if (people := adult_band(name, at)) is not None}
    fewer = {name: curve for name, curve in reference.items() if name not in ONE_LABORATORY}
    held = None if low <= at <= high else min(max(at, low), high)
    return Scores(at, held, tuple(found), profile_score(left, right, reference), profile_score(left, right, fewer))


def compare_people(first: Analysis, second: Analysis) -> ProfileScore:
    """Profile score of one gait against another instead of a norm.

    Raises:
        EventError: events of different detectors.
    """
    if first.detector != second.detector:
        raise EventError(f"events by {first.detector} and {second.detector} cannot be compared: use one detector on both sides")
    left, right = sides(first)
    return profile_score(left, right, second.mean_curves)
