"""Parameters of the planner and the controller: one frozen dataclass, with unit, scaling and tuning range per field.

Values ship as TOML files in ``controllers/data`` with the command, the seeds and the score that produced them. They belong
to a reference body (70 kg, 1.74 m) and are scaled to any other by mass and Froude time (lengths by leg length L, times by
sqrt(L/g)), so that one file serves every body.
"""

from __future__ import annotations

import dataclasses
import hashlib
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy

REFERENCE = Anatomy()

# Dimension of a parameter: exponents of length, time and mass. Units are those of the reference body.
_DIMENSIONS: dict[str, tuple[float, float, float]] = {
    "1": (0, 0, 0),
    "rad": (0, 0, 0),
    "m": (1, 0, 0),
    "s": (0, 1, 0),
    "1/s": (0, -1, 0),
    "1/s^2": (0, -2, 0),
    "m/s": (1, -1, 0),
    "m/s^2": (1, -2, 0),
    "N m/rad": (2, -2, 1),
    "N m s/rad": (2, -1, 1),
    "s/m": (-1, 1, 0),
    "1/m": (-1, 0, 0),
}


def _p(default: float, unit: str, low: float, high: float, doc: str) -> Any:
    return field(default=default, metadata={"unit": unit, "low": low, "high": high, "doc": doc})


@dataclass(frozen=True)
class Parameters:
    """Everything that can be tuned. Each field's metadata holds its unit, tuning range and meaning."""

    # -- timing
    step_time_factor: float = _p(0.93, "1", 0.80, 1.05, "step time over that of the KLAW law (step length = 0.004 x cadence x height)")
    step_time_max: float = _p(0.72, "s", 0.6, 0.9, "longest step time, reached at low speed")
    double_support: float = _p(0.20, "1", 0.10, 0.30, "duration of the load transfer asked for, of step time")
    double_support_timeout: float = _p(
        1.3, "1", 1.0, 4.0, "a transfer that has not ended by itself ends after this many times its duration"
    )
    timing_gain: float = _p(0.0, "1", 0.0, 1.0, "share of the change of step time that would bring the XCoM to its nominal place")
    timing_range: float = _p(0.25, "1", 0.0, 0.4, "largest change of step time, of the step time")
    lateral_reach: float = _p(0.35, "m", 0.2, 0.6, "the step ends before the XCoM is further than this inside the stance foot")
    lateral_reach_out: float = _p(0.12, "m", 0.04, 0.4, "or further than this outside it")
    speed_slew: float = _p(0.6, "m/s^2", 0.3, 1.2, "rate at which the speed command is followed")
    speed_feed_forward: float = _p(1.0, "1", 0.95, 1.25, "planned over commanded speed: what touchdown costs is asked for in advance")
    speed_integral: float = _p(0.05, "1", 0.0, 0.2, "foothold moved back per metre that the walker has fallen behind the command")
    # -- foothold
    foothold_speed_gain: float = _p(1.05, "1", 0.5, 1.4, "forward foothold per speed error at touchdown, of 1/omega")
    foothold_offset: float = _p(0.0, "m", -0.08, 0.08, "forward foothold offset")
    foothold_offset_speed: float = _p(0.0, "s", -0.08, 0.08, "additional forward foothold offset per speed")
    foothold_integral: float = _p(1.0, "1", 0.0, 1.0, "share of the fallen-behind distance by which the foothold is moved back")
    momentum_share: float = _p(1.0, "1", 0.0, 1.2, "share of the angular momentum that the foothold law takes off the CoM's speed")
    lateral_gain: float = _p(1.0, "1", 0.7, 1.4, "lateral foothold per deviation of the predicted lateral XCoM")
    step_width: float = _p(0.14, "m", 0.09, 0.22, "step width aimed at")
    cross: float = _p(0.04, "m", -0.03, 0.1, "a foothold may cross the line of the stance foot by this, well ahead of it")
    turn_gain: float = _p(1.0, "1", 0.0, 2.0, "foothold offset away from the centre of a turn, of centripetal acceleration / omega^2")
    toe_out: float = _p(0.10, "rad", 0.0, 0.2, "toe-out of the foothold")
    # -- centre of pressure (ahead of the ankle)
    cop_start: float = _p(0.03, "m", -0.02, 0.08, "centre of pressure when the foot takes the load, at 1 m/s")
    cop_end: float = _p(0.105, "m", 0.06, 0.15, "centre of pressure when the step ends, at 1 m/s")
    cop_travel_speed: float = _p(0.02, "s", -0.03, 0.06, "additional travel of the centre of pressure per speed above 1 m/s")
    cop_medial: float = _p(0.0, "m", -0.01, 0.02, "centre of pressure towards the midline")
    cop_speed_gain: float = _p(0.6, "1", 0.0, 1.5, "forward shift of the pressure, of what would mend the predicted XCoM")
    cop_lateral_gain: float = _p(0.8, "1", 0.0, 1.5, "lateral shift of the pressure, of what would mend the predicted XCoM")
    cop_shift_max: float = _p(0.03, "m", 0.0, 0.06, "largest forward shift of the pressure")
    cop_side_max: float = _p(0.022, "m", 0.0, 0.030, "largest lateral shift of the pressure")
    # -- height and trunk
    com_height: float = _p(0.985, "m", 0.945, 1.01, "height of the CoM above the supporting ground at mid-stance, walking")
    com_bounce: float = _p(
        0.018, "m", 0.0, 0.035, "amplitude of the CoM's rise and fall at a step of 0.65 m; grows with the square of the step"
    )
    bounce_lead: float = _p(0.0, "1", -0.05, 0.2, "the CoM is lowest this much before the middle of double support, of step time")
    bounce_feed_forward: float = _p(0.4, "1", 0.0, 1.0, "share of the planned vertical acceleration that is fed forward")
    height_stiffness: float = _p(160.0, "1/s^2", 60.0, 260.0, "vertical stiffness per mass")
    height_damping: float = _p(10.0, "1/s", 4.0, 25.0, "vertical damping per mass")
    trunk_pitch_stiffness: float = _p(800.0, "N m/rad", 300.0, 1400.0, "moment on the trunk per pitch")
    trunk_roll_stiffness: float = _p(530.0, "N m/rad", 200.0, 1000.0, "moment on the trunk per roll")
    trunk_yaw_stiffness: float = _p(60.0, "N m/rad", 5.0, 300.0, "moment on the pelvis per yaw")
    trunk_damping: float = _p(68.0, "N m s/rad", 30.0, 150.0, "damping of pitch and roll")
    yaw_damping: float = _p(30.0, "N m s/rad", 5.0, 80.0, "damping of yaw")
    trunk_lean: float = _p(0.03, "rad", -0.05, 0.15, "forward lean of the trunk at 1 m/s")
    swing_reaction: float = _p(0.5, "1", 0.0, 1.0, "share of the swing hip's torque that the stance leg takes up in advance")
    friction: float = _p(0.55, "1", 0.4, 0.7, "horizontal over vertical ground force at most")
    knee_guard: float = _p(0.0, "rad", -0.05, 0.15, "flexion below which the knee of a standing leg is bent again, walking")
    knee_guard_stand: float = _p(0.08, "rad", -0.05, 0.3, "the same, standing")
    # -- swing
    clearance: float = _p(0.03, "m", 0.015, 0.06, "height of the lowest point of the sole in mid-swing")
    clearance_peak: float = _p(0.45, "1", 0.3, 0.6, "when in swing the sole is highest")
    landing_pitch: float = _p(0.22, "rad", 0.0, 0.4, "toes-up pitch of the landing foot")
    swing_heel: float = _p(0.3, "rad", 0.0, 1.1, "heel-up pitch that the foot goes through in early swing, at 1 m/s")
    swing_heel_time: float = _p(0.25, "1", 0.1, 0.4, "when in swing it does")
    landing_speed: float = _p(0.15, "m/s", 0.05, 1.0, "speed at which a foot that has not met the ground sinks")
    swing_end_speed: float = _p(0.3, "m/s", 0.0, 1.5, "forward speed of the foot over ground at touchdown, at 1 m/s")
    reach: float = _p(0.99, "1", 0.94, 1.0, "longest hip-ankle distance that a foothold may ask for, of the straight leg")
    dip_max: float = _p(0.05, "m", 0.0, 0.10, "lowest that the body goes for a foothold that is out of reach")
    swing_kp: float = _p(700.0, "N m/rad", 300.0, 1200.0, "hip stiffness in swing")
    swing_zeta: float = _p(0.06, "s", 0.03, 0.12, "damping over stiffness in swing")
    swing_knee: float = _p(0.7, "1", 0.3, 1.2, "knee over hip stiffness in swing")
    swing_feed_forward: float = _p(0.8, "1", 0.0, 1.1, "share of the swing leg's inertial torque that is fed forward")
    swing_ankle_kp: float = _p(60.0, "N m/rad", 20.0, 150.0, "ankle stiffness in swing")
    # -- stance foot
    foot_pitch_kp: float = _p(100.0, "N m/rad", 20.0, 250.0, "servo of the stance foot's pitch")
    foot_lower_time: float = _p(0.10, "s", 0.04, 0.2, "time in which the landed foot is lowered to flat")
    heel_rise: float = _p(0.35, "rad", 0.0, 0.8, "pitch of the rear foot when it leaves the ground, heel up")
    heel_rise_start: float = _p(0.70, "1", 0.5, 1.05, "when in single support the heel begins to rise, of step time")
    push_off: float = _p(
        0.1, "1", 0.0, 0.6, "extra force of the rear leg along its line to the CoM in double support, at 1 m/s, of body weight"
    )
    toe_grip: float = _p(0.3, "rad", 0.0, 0.8, "flexion that the toes of the foot that pushes off aim at")
    push_start: float = _p(0.98, "1", 0.75, 1.0, "when in single support the push-off begins, of step time")
    push_speed_gain: float = _p(0.0, "1/m", 0.0, 6.0, "additional push-off per metre that the walker has fallen behind, of body weight")
    mtp_stance_kp: float = _p(0.7, "N m/rad", 0.1, 4.0, "toe stiffness of a loaded foot")
    landing_damping: float = _p(10.0, "N m s/rad", 0.0, 25.0, "damping of the lead leg just after touchdown")
    landing_damping_time: float = _p(0.12, "s", 0.05, 0.3, "time in which it fades")
    release_share: float = _p(0.06, "1", 0.02, 0.2, "load share at which the rear foot is lifted")
    transfer_gate: float = _p(0.47, "1", 0.2, 0.9, "load transfer waits here until the lead foot carries load")
    hold_margin: float = _p(
        0.06, "m", 0.02, 0.12, "load transfer waits while the XCoM has more than this to go sideways to its nominal place"
    )
    hold_share: float = _p(0.3, "1", 0.0, 0.6, "load share of the leading foot up to which it waits")
    hold_time: float = _p(1.5, "1", 0.0, 3.0, "longest time that it waits, of the time by which the step ended early")
    # -- uneven ground
    late_follow: float = _p(1.5, "m/s", 0.0, 3.0, "speed at which a foot that has not met the ground in time follows the body")
    slope_gain: float = _p(0.2, "1", 0.0, 0.5, "share by which a step corrects the slope of the ground that is expected")
    uneven_clearance: float = _p(1.0, "1", 0.0, 2.0, "additional clearance per unevenness of the ground that was met lately")
    uneven_dip: float = _p(0.5, "1", 0.0, 1.5, "lower body per unevenness")
    # -- pelvis, trunk rotation, arms
    pelvis_rotation: float = _p(0.07, "rad", 0.0, 0.15, "amplitude of pelvic rotation at 1 m/s")
    thorax_rotation: float = _p(0.07, "rad", 0.0, 0.15, "amplitude of the counter-rotation of the thorax at 1 m/s")
    arm_swing: float = _p(1.2, "1", 0.0, 2.0, "shoulder flexion per opposite leg's angle")
    arm_kp: float = _p(45.0, "N m/rad", 5.0, 100.0, "shoulder stiffness")
    lumbar_kp: float = _p(500.0, "N m/rad", 200.0, 1200.0, "lumbar stiffness")
    lumbar_flexion: float = _p(0.10, "rad", -0.1, 0.25, "flexion of the lumbar spine")
    # -- standing, starting, stopping
    stand_height: float = _p(0.972, "m", 0.955, 0.985, "height of the CoM, standing")
    stand_cop: float = _p(0.05, "m", 0.02, 0.08, "centre of pressure ahead of the ankles, standing")
    stand_gain: float = _p(0.8, "1", 0.2, 2.5, "centre of pressure beyond the XCoM, per its deviation")
    stand_step_margin: float = _p(0.03, "m", -0.03, 0.08, "XCoM outside the support by this much asks for a step")
    recovery_step_time: float = _p(0.42, "s", 0.3, 0.6, "step time of steps taken to stay up without a command to walk")
    start_time: float = _p(0.6, "s", 0.2, 0.8, "longest duration of the anticipatory shift before the first step")
    start_shift: float = _p(0.65, "1", 0.2, 1.0, "the shift ends when the XCoM has moved this far to the first stance foot")
    start_share: float = _p(0.68, "1", 0.5, 0.9, "load share of the first swing foot in that shift")
    start_cop: float = _p(-0.02, "m", -0.05, 0.04, "centre of pressure in that shift, ahead of the ankles")
    start_step_time: float = _p(0.55, "s", 0.35, 0.75, "duration of the first step, transfer included")
    start_transfer: float = _p(0.24, "s", 0.1, 0.5, "duration of the following transfer to the first stance foot")

    @classmethod
    def load(cls, path: str | Path | None = None) -> Parameters:
        """Parameters from a TOML file (table ``[parameters]``); the shipped ones without a path.

        Raises:
            ValueError: an unknown name or a value that is no finite number.
        """
        source = files("sandbox.controllers").joinpath("data", "walker.toml") if path is None else Path(path)
        try:
            table = tomllib.loads(source.read_text(encoding="utf-8"))
        except OSError as error:
            raise ValueError(f"parameter file {path}: {error.strerror}: give a TOML file that `sandbox tune` wrote") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a TOML file: {error}") from None
        values = table.get("parameters")
        if not isinstance(values, dict):
            raise ValueError(f"{path} has no table [parameters]: give a file that `sandbox tune` wrote")
        return cls().replace(values)

    def replace(self, changes: dict[str, Any]) -> Parameters:
        """A copy with some values changed. Raises ValueError for an unknown name (naming the nearest) or value."""
        names = {f.name for f in dataclasses.fields(self)}
        for name, value in changes.items():
            if name not in names:
                from sandbox.config import nearest  # layers: config lies below controllers

                raise ValueError(f"unknown parameter {name!r}{nearest(name, names)}")
            if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
                raise ValueError(f"parameter {name} = {value!r} is not a finite number")
        return dataclasses.replace(self, **{k: float(v) for k, v in changes.items()})

    @property
    def hash(self) -> str:
        """First 12 hex digits of the SHA-256 of all values: names a parameter set in recordings."""
        text = ",".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def scaled(self, anatomy: Anatomy) -> NDArray[np.void]:
        """Record array (1,) of the values for a body: lengths by leg length, times by its square root, gains by mass."""
        length = anatomy.leg_length / REFERENCE.leg_length
        time = length**0.5
        mass = anatomy.mass / REFERENCE.mass
        out = np.zeros(1, PARAMETERS_DTYPE)
        for f in dataclasses.fields(self):
            a, b, c = _DIMENSIONS[f.metadata["unit"]]
            out[0][f.name] = getattr(self, f.name) * length**a * time**b * mass**c
        return out


PARAMETERS_DTYPE = np.dtype((np.record, [(f.name, "f8") for f in dataclasses.fields(Parameters)]))
