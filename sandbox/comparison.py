"""Stance models on both plants, side by side: one planner, one command, one body, and people at the same Froude number.

On the kinematic plant the body is where the plan puts it; on the physical plant it is where torques, gravity and contact let it
be. What differs between the two is what physics changes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sandbox.bodies.anatomy import Anatomy
from sandbox.controllers.parameters import Parameters
from sandbox.measure import SUMMARY_FIELDS, Field, Gait, klaw_cadence, pops, summary, wbds_cadence
from sandbox.measure.analysis import Analysis
from sandbox.measure.dynamics import DYNAMICS_FIELDS, Dynamics
from sandbox.measure.flow import FLOW_FIELDS, Pop, flow
from sandbox.measure.forces import FORCE_CUTOFF
from sandbox.measure.gait import WALKING_SPEED
from sandbox.measure.norms import PEOPLE_FORCE, PEOPLE_PUSH_OFF
from sandbox.measure.people import MINIMAL_DIFFERENCE, Scores, acknowledgement, froude_text, people_scalar, scores
from sandbox.measure.signals import lowpass
from sandbox.measure.steps import stance_slips
from sandbox.measure.turns import Turn, turns
from sandbox.mechanics import froude_number
from sandbox.recording import Recording
from sandbox.report.page import COLOURS, Subject
from sandbox.report.table import LABELS, MISSING, table, value_text
from sandbox.scenes.scene import Options, build
from sandbox.simulation import PUBLISHED, check_stance, run
from sandbox.simulation import STANCES as MODELS
from sandbox.state import FEET
from sandbox.trajectory import recorded_momentum

Range = tuple[float, float]

STANCES = (*MODELS, *PUBLISHED)
PLANTS = {"kinematic": "kinematic", "bullet": "physical"}
# Pairs of stance model and plant that can walk.
PAIRS: tuple[tuple[str, str], ...] = (
    *((stance, plant) for stance in MODELS for plant in PLANTS),
    *((stance, "kinematic") for stance in PUBLISHED),
)

JOINTS = {"hip": "hip_flexion", "knee": "knee_flexion", "ankle": "ankle_dorsiflexion"}

# What the table shows: of the summary, joint torques, and distances from people. A lead is positive where the ground was met before
# it was predicted.
_BY_HEIGHT = Field("", "stance by foot height and speed, which is how captured people's is told")
FIGURES: dict[str, Field] = {
    key: SUMMARY_FIELDS.get(key, _BY_HEIGHT)
    for key in (
        "survived_s",
        "speed_mean_mps",
        "cadence_spm",
        "step_length_m",
        "step_width_m",
        "stance_fraction",
        "stance_height_fraction",
        "double_support_fraction",
        "foot_slip_m",
        "touchdown_lead_ms",
    )
}
FIGURES["touchdown_lead_sd_ms"] = Field("ms", "standard deviation of it")
FIGURES |= {key: SUMMARY_FIELDS[key] for key in ("com_height_m", "margin_of_stability_m", "grf_peak_bw", "cost_of_transport")}
for _joint in JOINTS:
    FIGURES[f"{_joint}_torque_peak_nm"] = Field("N m", f"largest flexion torque of the {_joint}, either side (20 Hz zero-lag low-pass)")
    FIGURES[f"{_joint}_torque_rms_nm"] = Field("N m", f"root mean square of it over the gait, mean of both {_joint}s")
FIGURES |= {
    "gps_deg": Field("deg", "Gait Profile Score against adults, nine curves"),
    "gps_seven_deg": Field("deg", "the same without hip rotation and foot progression, whose norm is one laboratory's"),
    "thigh_rms_deg": Field("deg", "Gait Variable Score of the thigh against vertical"),
    "knee_rms_deg": Field("deg", "of the knee"),
    "ankle_rms_deg": Field("deg", "of the ankle"),
    "toe_clearance_m": Field("m", "least height of the toe tip over the floor in mid-swing, mean"),
    "balance_percent": DYNAMICS_FIELDS["balance_percent"],
    "momentum_sagittal": DYNAMICS_FIELDS["momentum_sagittal"],
    "pop_max_deg": FLOW_FIELDS["pop_max_deg"],
    "ldlj_root": FLOW_FIELDS["ldlj_root"],
}

NAMES = LABELS | {
    "stance_height_fraction": "stance by foot height and speed",
    "touchdown_lead_sd_ms": "  standard deviation",
    **{f"{joint}_torque_peak_nm": f"{joint} torque, peak" for joint in JOINTS},
    **{f"{joint}_torque_rms_nm": f"{joint} torque, RMS" for joint in JOINTS},
    "gps_deg": "Gait Profile Score against adults",
    "gps_seven_deg": "  without hip rotation and foot progression",
    "thigh_rms_deg": "  thigh",
    "knee_rms_deg": "  knee",
    "ankle_rms_deg": "  ankle",
    "toe_clearance_m": "toe clearance",
    "balance_percent": "vertical impulse out of balance",
    "momentum_sagittal": "angular momentum, sagittal, m v h",
    "pop_max_deg": "largest pop",
    "ldlj_root": "smoothness of the root (LDLJ)",
}


@dataclass(frozen=True)
class Walk:
    """One run and what is measured of it.

    Attributes:
        stance: model of the stance leg; plant: ``kinematic`` or ``bullet``.
        recording: of the run.
        analysis, dynamics: of its gait.
        scores: against people at its own Froude number; None where it did not walk.
        flow, pops, turns: of its motion.
    """

    stance: str
    plant: str
    recording: Recording
    analysis: Analysis
    dynamics: Dynamics
    scores: Scores | None
    flow: dict[str, Any]
    pops: list[Pop]
    turns: list[Turn]

    @classmethod
    def of(cls, stance: str, plant: str, recording: Recording) -> Walk:
        """Measure a recording."""
        analysis = Analysis.of(recording, "contact")
        walked = bool(analysis.straight)
        return cls(
            stance,
            plant,
            recording,
            analysis,
            Dynamics(analysis, recorded_momentum(recording) if walked else None),
            scores(analysis) if walked else None,
            flow(analysis.gait),
            pops(recording),
            turns(recording),
        )

    @property
    def name(self) -> str:
        """For instance ``kinematic stance, physical``."""
        return f"{self.stance} stance, {PLANTS[self.plant]}"

    def as_dict(self) -> dict[str, Any]:
        """All figures in plain JSON types."""
        out = {
            "stance": self.stance,
            "plant": self.plant,
            "fall": self.recording.header["fall"],
            "gait": self.analysis.figures,
            "dynamics": self.dynamics.figures,
            "peaks": {key: {"mean": float(values.mean()), "sd": float(values.std())} for key, values in self.dynamics.peaks.items()},
            "flow": self.flow,
            "pops": [pop._asdict() for pop in self.pops[:20]],
            "turns": [{key: _plain(value) for key, value in turn._asdict().items()} for turn in self.turns],
            "scores": None,
        }
        if self.scores is not None:
            out["scores"] = scores_dict(self.scores)
        return out


def scores_dict(found: Scores) -> dict[str, Any]:
    """Scores in plain JSON types."""
    return {
        "froude": found.froude,
        "reference_froude": found.held if found.held is not None else found.froude,
        "name": found.gps.name,
        "gps_deg": found.gps.value,
        "without_hip_rotation_and_foot_progression": {"name": found.seven.name, "gps_deg": found.seven.value},
        "gvs_deg": found.gps.curves,
        "gvs_mean_removed_deg": found.gps.shape,
        "curves": {
            c.name: {
                "reference": c.reference,
                "unit": c.unit,
                "distance_sd": c.distance,
                **{key: _plain(value) for key, value in c.difference._asdict().items()},
            }
            for c in found.curves
        },
    }


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


class Row(NamedTuple):
    """One figure: key and unit, its value of every walk by name, and people's (one number or a range)."""

    key: str
    unit: str
    values: dict[str, float | None]
    people: float | Range | None


@dataclass(frozen=True)
class Comparison:
    """All runs and what is measured of them.

    Attributes:
        speed: commanded [m/s]; seconds: asked for; seed: of the start.
        froude: of the commanded speed: people are taken there.
        walks: those that exist, in the order that was asked for.
        missing: pairs of stance and plant that were asked for and do not exist.
        rows: one per figure of :data:`FIGURES`.
    """

    speed: float
    seconds: float
    seed: int
    froude: float
    walks: tuple[Walk, ...]
    missing: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]

    def row(self, key: str) -> Row:
        """The row of a figure.

        Raises:
            KeyError: no such figure.
        """
        for row in self.rows:
            if row.key == key:
                return row
        raise KeyError(f"{key!r} is not one of {', '.join(FIGURES)}")

    def walk(self, stance: str, plant: str) -> Walk:
        """One walk.

        Raises:
            KeyError: it was not made.
        """
        for walk in self.walks:
            if (walk.stance, walk.plant) == (stance, plant):
                return walk
        raise KeyError(f"no walk with {stance} stance on the {plant} plant")

    def subjects(self) -> list[Subject]:
        """The walks as a page shows them: a colour for each stance, dashed on the kinematic plant."""
        stances = list(dict.fromkeys(walk.stance for walk in self.walks))
        return [
            Subject(
                walk.name,
                walk.analysis,
                walk.scores,
                walk.dynamics,
                walk.flow,
                walk.pops,
                walk.turns,
                dash="solid" if walk.plant == "bullet" else "dash",
                colour=COLOURS[(2 * stances.index(walk.stance) + (walk.plant == "bullet")) % len(COLOURS)],
            )
            for walk in self.walks
        ]

    def missing_lines(self) -> list[str]:
        """What was asked for and does not exist, one line a pair."""
        return [f"{stance} stance on the {PLANTS[plant]} plant does not exist in this version" for stance, plant in self.missing]

    def verdict(self) -> list[str]:
        """What physics changes, in sentences: for each stance that walked on both plants."""
        out = []
        for stance in dict.fromkeys(walk.stance for walk in self.walks):
            try:
                planned, physical = self.walk(stance, "kinematic"), self.walk(stance, "bullet")
            except KeyError:
                continue
            out += [f"{stance} stance: {line}" for line in _changes(planned, physical, self.speed)]
        return out

    def as_text(self) -> str:
        """The table as a person reads it."""
        body = self.walks[0].recording.header["body"]
        about = f"{self.speed:g} m/s for {self.seconds:g} s, seed {self.seed}; {body['mass_kg']:g} kg, {body['height_m']:g} m"
        about += "; ± SD over straight strides"
        cells = [
            (
                NAMES[row.key],
                row.unit,
                *[_with_sd(value_text(row.values[walk.name], row.unit), row.key, row.unit, walk) for walk in self.walks],
                _people_text(row.people, row.unit),
            )
            for row in self.rows
        ]
        head = ("", "unit", *[walk.name for walk in self.walks], "people")
        told = (
            f"people: cadence and step length at {self.speed:g} m/s, stance by foot height, step width and toe clearance of CMU's people "
        )
        lines = [about, "", table(cells, head, left=2), told + froude_text(self.froude), ""]
        lines += [f"- {line}" for line in self.verdict()]
        for walk in self.walks:
            fall = walk.recording.header["fall"]
            if fall["fell"]:
                lines.append(f"{walk.name}: FELL after {fall['time_s']:.2f} s: {fall['cause']}; its figures end there")
        lines += [f"note: {line}" for line in self.missing_lines()]
        lines.append(acknowledgement())
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Everything in plain JSON types; null where something could not be measured."""
        header = self.walks[0].recording.header
        return {
            "speed_command_mps": self.speed,
            "seconds": self.seconds,
            "seed": self.seed,
            "froude": self.froude,
            "body": header["body"],
            "params": header["params"],
            "version": header["version"],
            "missing": [{"stance": stance, "plant": plant} for stance, plant in self.missing],
            "figures": {
                row.key: {
                    "unit": row.unit,
                    **row.values,
                    "people": list(row.people) if isinstance(row.people, tuple) else row.people,
                }
                for row in self.rows
            },
            "walks": {walk.name: walk.as_dict() for walk in self.walks},
            "verdict": self.verdict(),
            "acknowledgement": acknowledgement(),
        }

    def to_json(self) -> str:
        """:meth:`as_dict` as text."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)


def _changes(planned: Walk, physical: Walk, speed: float) -> list[str]:
    """Sentences on what differs between the plan and the physical body."""
    fall = physical.recording.header["fall"]
    if fall["fell"]:
        return [f"the physical body falls after {fall['time_s']:.1f} s ({fall['cause']})"]
    if planned.scores is None or physical.scores is None:
        return [f"too few strides to compare at {speed:g} m/s"]
    out = []
    a, b = planned.scores.gps, physical.scores.gps
    change = b.value - a.value
    judged = "" if b.changed(a) is None else ("a change" if b.changed(a) else f"no change: less than {MINIMAL_DIFFERENCE:g}")
    out.append(f"{b.name} against adults {a.value:.1f} as planned, {b.value:.1f} degrees physically ({change:+.1f}, {judged})")
    before = {c.name: c for c in planned.scores.curves}
    worse = sorted(
        ((c.distance - before[c.name].distance, c) for c in physical.scores.curves if c.name in before), key=lambda pair: -abs(pair[0])
    )
    told = []
    for _, c in worse[:3]:
        digits = 1 if c.unit == "deg" else 3
        told.append(f"{c.name.replace('_', ' ')} {before[c.name].counted:.{digits}f} to {c.counted:.{digits}f} {c.unit}")
    out.append(f"curves whose distance from people changes most: {'; '.join(told)}")
    first, second = figures(planned), figures(physical)
    words = {
        "speed_mean_mps": "speed",
        "cadence_spm": "cadence",
        "step_width_m": "step width",
        "foot_slip_m": "foot slip",
        "grf_peak_bw": "peak force",
        "pop_max_deg": "largest pop",
    }
    parts = [
        f"{word} {value_text(first[key], FIGURES[key].unit)} to {value_text(second[key], FIGURES[key].unit)} {FIGURES[key].unit}"
        for key, word in words.items()
        if first[key] is not None and second[key] is not None
    ]
    out.append("; ".join(parts))
    lead = second["touchdown_lead_ms"]
    if lead is not None:
        out.append(
            f"the ground is met {abs(lead):.0f} ms {'before' if lead > 0 else 'after'} the plan on average "
            f"(SD {second['touchdown_lead_sd_ms']:.0f} ms)"
        )
    return out


def compare(
    speed: float = 1.0,
    seconds: float = 20.0,
    seed: int = 0,
    *,
    stances: Sequence[str] = ("kinematic",),
    plants: Sequence[str] = tuple(PLANTS),
    heading_rate: float = 0.0,
    anatomy: Anatomy | None = None,
    parameters: Parameters | None = None,
    params_name: str = "walker",
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Walk with every pair of stance model and plant, with one planner, command and start.

    Args:
        speed: [m/s]; heading_rate: [rad/s].
        seconds: of each run; gait figures are taken from its settled part (see :class:`sandbox.measure.Gait`).
        seed: of the perturbed start and the friction.
        stances, plants: of :data:`STANCES` and :data:`PLANTS`; pairs that do not exist are named in the result.
        progress: called with the simulated time of all runs together [s].

    Raises:
        ValueError: speed, heading rate or seconds outside the range of scenes, an unknown stance or plant, or no pair that exists.
        KeyboardInterrupt: Ctrl-C, in any run.
    """
    pairs, missing = chosen_pairs(stances, plants)
    scene = build("walk", Options(speed=speed, heading_rate=heading_rate, seconds=seconds, seed=seed))
    for stance, plant in pairs:
        check_stance(stance, plant, scene, anatomy)
    walks = []
    for k, (stance, plant) in enumerate(pairs):
        report = None if progress is None else _offset(progress, k * seconds)
        recording = run(
            scene, plant=plant, seed=seed, anatomy=anatomy, parameters=parameters, params_name=params_name, stance=stance, progress=report
        )
        walks.append(Walk.of(stance, plant, recording))
    values = {walk.name: figures(walk) for walk in walks}
    froude = froude_number(speed, float(walks[0].recording.header["body"]["leg_m"]))
    people = people_figures(walks[0].recording, speed)
    rows = tuple(Row(key, field.unit, {name: v[key] for name, v in values.items()}, people.get(key)) for key, field in FIGURES.items())
    return Comparison(float(speed), float(seconds), seed, froude, tuple(walks), tuple(missing), rows)


def chosen_pairs(stances: Sequence[str], plants: Sequence[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs of stance model and plant that exist, and those that do not.

    Raises:
        ValueError: an unknown name, or no pair that exists.
    """
    for name, known in [*((s, STANCES) for s in stances), *((p, tuple(PLANTS)) for p in plants)]:
        if name not in known:
            raise ValueError(f"{name!r} is not one of {', '.join(known)}")
    asked = [(stance, plant) for stance in dict.fromkeys(stances) for plant in dict.fromkeys(plants)]
    pairs = [pair for pair in PAIRS if pair in asked]
    if not pairs:
        there = ", ".join(f"{stance} on {plant}" for stance, plant in PAIRS)
        raise ValueError(f"none of the pairs asked for exists in this version: there are {there}")
    return pairs, [pair for pair in asked if pair not in PAIRS]


def _offset(progress: Callable[[float], None], start: float) -> Callable[[float], None]:
    return lambda time: progress(start + time)


def figures(walk: Walk) -> dict[str, float | None]:
    """The figures of :data:`FIGURES` of one run; None where one cannot be measured."""
    recording, gait = walk.recording, walk.analysis.gait
    whole = summary(gait)
    out: dict[str, Any] = {key: whole.get(key) for key in FIGURES}
    out["touchdown_lead_sd_ms"] = 1000 * float(np.std(gait.leads)) if len(gait.leads) > 1 else math.nan
    out |= torques(recording)
    if out["foot_slip_m"] is None and gait.placed:  # without forces it is told by contact
        out["foot_slip_m"] = float(np.mean(stance_slips(recording, gait.placed)))
    if walk.scores is not None:
        out["gps_deg"] = walk.scores.gps.value if walk.scores.gps.full else math.nan
        out["gps_seven_deg"] = walk.scores.seven.value
        for name in ("thigh", "knee", "ankle"):
            out[f"{name}_rms_deg"] = walk.scores.gps.curves.get(name)
        by_height = walk.analysis.by_height
        out["stance_height_fraction"] = by_height.mean("stance_fraction") if by_height is not None else math.nan
        out["toe_clearance_m"] = walk.analysis.mean("toe_clearance_m")
    for key in ("balance_percent", "momentum_sagittal"):
        out[key] = walk.dynamics.figures[key]
    for key in ("pop_max_deg", "ldlj_root"):
        out[key] = walk.flow[key]
    return {key: None if value is None or not math.isfinite(value) else float(value) for key, value in out.items()}


def torques(recording: Recording) -> dict[str, float]:
    """Peak and RMS [N m] of the flexion torques of hip, knee and ankle over the settled gait; NaN without a row."""
    gait = Gait(recording)
    rows = gait.rows(gait.start, gait.end)
    out = {f"{joint}_torque_{what}_nm": math.nan for joint in JOINTS for what in ("peak", "rms")}
    if not recording.has("tau") or not recording.tau.any():
        return out
    for joint, name in JOINTS.items():
        torque = np.stack([recording.joint(f"{side}_{name}", "tau") for side in FEET], axis=1)
        settled = lowpass(torque, FORCE_CUTOFF, 1 / recording.interval)[rows]
        out[f"{joint}_torque_peak_nm"] = float(np.abs(settled).max()) if len(settled) else math.nan
        out[f"{joint}_torque_rms_nm"] = float(np.sqrt(np.mean(settled**2))) if len(settled) else math.nan
    return out


def people_figures(recording: Recording, speed: float) -> dict[str, float | Range]:
    """What is known of people at this ``speed`` [m/s] and body: cadence and step length by two laws, the rest at its Froude number.

    See :mod:`sandbox.measure.norms` and :mod:`sandbox.measure.people` for the sources. Empty for a speed that is no walking.
    """
    if speed <= WALKING_SPEED:
        return {}
    body = recording.header["body"]
    froude = froude_number(speed, body["leg_m"])
    laws = klaw_cadence(speed, body["height_m"]), wbds_cadence(speed, body["leg_m"])
    cadence = min(laws), max(laws)
    out: dict[str, float | Range] = {
        "cadence_spm": cadence,
        "step_length_m": (60 * speed / cadence[1], 60 * speed / cadence[0]),
        "grf_peak_bw": max(PEOPLE_FORCE),
        "ankle_torque_peak_nm": PEOPLE_PUSH_OFF * body["mass_kg"],
    }
    for key in ("stance_fraction", "double_support_fraction"):
        timed = people_scalar(key, froude, "contact")
        if timed is not None:
            out[key] = timed.mean
    for key, scalar, scale in (
        ("stance_height_fraction", "stance_fraction", 1.0),
        ("step_width_m", "step_width_leg", body["leg_m"]),
        ("toe_clearance_m", "toe_clearance_leg", body["leg_m"]),
    ):
        found = people_scalar(scalar, froude)
        if found is not None:
            out[key] = scale * found.mean
    return out


# Figures of which every stride has one, by what they are called of a stride.
OF_STRIDES = {
    "speed_mean_mps": "speed_mps",
    "step_length_m": "step_m",
    **{key: key for key in ("cadence_spm", "stride_leg", "froude", "step_width_m", "stance_fraction", "double_support_fraction")},
    "toe_clearance_m": "toe_clearance_m",
    "stance_height_fraction": "stance_fraction",
}


def _with_sd(text: str, key: str, unit: str, walk: Walk) -> str:
    """A figure with its SD over the straight strides, where every stride has one."""
    analysis = walk.analysis.by_height if key == "stance_height_fraction" else walk.analysis
    if text == MISSING or key not in OF_STRIDES or analysis is None:
        return text
    sd = analysis.sd(OF_STRIDES[key])
    return f"{text} ± {value_text(sd, unit)}" if math.isfinite(sd) else text


def _people_text(people: float | Range | None, unit: str) -> str:
    if isinstance(people, tuple):
        return " - ".join(value_text(x, unit) for x in people)
    return value_text(people, unit) if people is not None else MISSING
