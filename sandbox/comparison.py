"""The kinematic stance on both plants, side by side: one planner, one command, one table.

The kinematic plant is where the plan puts it; the physical plant is where torques, gravity and contact let it be. What differs
between the two columns is what the plan leaves to physics.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sandbox.bodies.anatomy import Anatomy
from sandbox.controllers.parameters import Parameters
from sandbox.measure import SUMMARY_FIELDS, Field, Gait, klaw_cadence, summary, wbds_cadence
from sandbox.measure.forces import FORCE_CUTOFF
from sandbox.measure.gait import WALKING_SPEED
from sandbox.measure.norms import PEOPLE_DOUBLE_SUPPORT, PEOPLE_FORCE, PEOPLE_PUSH_OFF, PEOPLE_STANCE
from sandbox.measure.signals import lowpass
from sandbox.recording import Recording
from sandbox.report.table import LABELS, MISSING, table, value_text
from sandbox.scenes.scene import Options, build
from sandbox.simulation import run
from sandbox.state import FEET

Range = tuple[float, float]

JOINTS = {"hip": "hip_flexion", "knee": "knee_flexion", "ankle": "ankle_dorsiflexion"}

# What is compared: of the summary, and joint torques. A lead is positive where the ground was met before it was predicted.
FIGURES: dict[str, Field] = {
    key: SUMMARY_FIELDS[key]
    for key in (
        "survived_s",
        "speed_mean_mps",
        "cadence_spm",
        "step_length_m",
        "step_width_m",
        "stance_fraction",
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

NAMES = LABELS | {
    "touchdown_lead_sd_ms": "  standard deviation",
    **{f"{joint}_torque_peak_nm": f"{joint} torque, peak" for joint in JOINTS},
    **{f"{joint}_torque_rms_nm": f"{joint} torque, RMS" for joint in JOINTS},
}


class Row(NamedTuple):
    """One figure: its key and unit, on the kinematic and on the physical plant, and of people (one number or a range)."""

    key: str
    unit: str
    kinematic: float | None
    physical: float | None
    people: float | Range | None


@dataclass(frozen=True)
class Comparison:
    """Both runs and what is measured of them.

    Attributes:
        speed: commanded [m/s]; seconds: asked for; seed: of the start.
        rows: one per figure of :data:`FIGURES`.
        kinematic, physical: the recordings.
    """

    speed: float
    seconds: float
    seed: int
    rows: tuple[Row, ...]
    kinematic: Recording
    physical: Recording

    def row(self, key: str) -> Row:
        """The row of a figure.

        Raises:
            KeyError: no such figure.
        """
        for row in self.rows:
            if row.key == key:
                return row
        raise KeyError(f"{key!r} is not one of {', '.join(FIGURES)}")

    def as_text(self) -> str:
        """The table as a person reads it."""
        body = self.kinematic.header["body"]
        about = f"kinematic stance at {self.speed:g} m/s for {self.seconds:g} s, seed {self.seed}"
        about += f"; {body['mass_kg']:g} kg, {body['height_m']:g} m"
        cells = [
            (
                NAMES[row.key],
                row.unit,
                value_text(row.kinematic, row.unit),
                value_text(row.physical, row.unit),
                _people_text(row.people, row.unit),
            )
            for row in self.rows
        ]
        lines = [about, "", table(cells, ("", "unit", "kinematic", "physical", "people"), left=2)]
        for name, recording in (("kinematic", self.kinematic), ("physical", self.physical)):
            fall = recording.header["fall"]
            if fall["fell"]:
                lines.append(f"the {name} body FELL after {fall['time_s']:.2f} s: {fall['cause']}; its figures end there")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The table in plain JSON types; null where something could not be measured."""
        header = self.kinematic.header
        return {
            "speed_command_mps": self.speed,
            "seconds": self.seconds,
            "seed": self.seed,
            "stance": header["stance"],
            "body": header["body"],
            "params": header["params"],
            "version": header["version"],
            "fell": {"kinematic": self.kinematic.header["fall"], "physical": self.physical.header["fall"]},
            "figures": {
                row.key: {
                    "unit": row.unit,
                    "kinematic": row.kinematic,
                    "physical": row.physical,
                    "people": list(row.people) if isinstance(row.people, tuple) else row.people,
                }
                for row in self.rows
            },
        }

    def to_json(self) -> str:
        """:meth:`as_dict` as text."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)


def compare(
    speed: float = 1.0,
    seconds: float = 20.0,
    seed: int = 0,
    *,
    heading_rate: float = 0.0,
    anatomy: Anatomy | None = None,
    parameters: Parameters | None = None,
    params_name: str = "walker",
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Walk on both plants with one planner, command and start.

    Args:
        speed: [m/s]; heading_rate: [rad/s].
        seconds: of each run; gait figures are taken from its settled part (see :class:`sandbox.measure.Gait`).
        seed: of the perturbed start and the friction.
        progress: called with the simulated time of both runs together [s], up to ``2 * seconds``.

    Raises:
        ValueError: speed, heading rate or seconds outside the range of scenes.
        KeyboardInterrupt: Ctrl-C, in either run.
    """
    scene = build("walk", Options(speed=speed, heading_rate=heading_rate, seconds=seconds, seed=seed))
    recordings = []
    for k, plant in enumerate(("kinematic", "bullet")):
        report = None if progress is None else _offset(progress, k * seconds)
        recordings.append(
            run(scene, plant=plant, seed=seed, anatomy=anatomy, parameters=parameters, params_name=params_name, progress=report)
        )
        if recordings[-1].header.get("interrupted"):
            raise KeyboardInterrupt  # half a comparison says nothing
    kinematic, physical = (figures(recording) for recording in recordings)
    people = people_figures(recordings[0], speed)
    rows = tuple(Row(key, field.unit, kinematic[key], physical[key], people.get(key)) for key, field in FIGURES.items())
    return Comparison(float(speed), float(seconds), seed, rows, *recordings)


def _offset(progress: Callable[[float], None], start: float) -> Callable[[float], None]:
    return lambda time: progress(start + time)


def figures(recording: Recording) -> dict[str, float | None]:
    """The figures of :data:`FIGURES` of one run; None where one cannot be measured."""
    gait = Gait(recording)
    whole = summary(gait)
    out: dict[str, Any] = {key: whole.get(key) for key in FIGURES}
    out["touchdown_lead_sd_ms"] = 1000 * float(np.std(gait.leads)) if len(gait.leads) > 1 else math.nan
    rows = gait.rows(gait.start, gait.end)
    for joint, name in JOINTS.items():
        torque = np.stack([recording.joint(f"{side}_{name}", "tau") for side in FEET], axis=1)
        settled = lowpass(torque, FORCE_CUTOFF, 1 / recording.interval)[rows]
        out[f"{joint}_torque_peak_nm"] = float(np.abs(settled).max()) if len(settled) else math.nan
        out[f"{joint}_torque_rms_nm"] = float(np.sqrt(np.mean(settled**2))) if len(settled) else math.nan
    return {key: None if value is None or not math.isfinite(value) else float(value) for key, value in out.items()}


def people_figures(recording: Recording, speed: float) -> dict[str, float | Range]:
    """What is known of people: cadence and step length by two laws at this ``speed`` [m/s] and body, the rest at free speed.

    See :mod:`sandbox.measure.norms` for the sources. Empty for a speed that is no walking.
    """
    if speed <= WALKING_SPEED:
        return {}
    body = recording.header["body"]
    laws = klaw_cadence(speed, body["height_m"]), wbds_cadence(speed, body["leg_m"])
    cadence = min(laws), max(laws)
    return {
        "cadence_spm": cadence,
        "step_length_m": (60 * speed / cadence[1], 60 * speed / cadence[0]),
        "stance_fraction": PEOPLE_STANCE,
        "double_support_fraction": PEOPLE_DOUBLE_SUPPORT,
        "grf_peak_bw": max(PEOPLE_FORCE),
        "ankle_torque_peak_nm": PEOPLE_PUSH_OFF * body["mass_kg"],
    }


def _people_text(people: float | Range | None, unit: str) -> str:
    if isinstance(people, tuple):
        return " - ".join(value_text(x, unit) for x in people)
    return value_text(people, unit) if people is not None else MISSING
