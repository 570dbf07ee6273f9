"""Forces of a simulated walk, beside those of people: ground reaction, its balance, pressure under the foot, joint moments and powers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.analysis import Analysis
from sandbox.measure.cycle import Cycle, cycle_curves, resample
from sandbox.measure.forces import FORCE_CUTOFF, body_weight, joint_power, middle_times, transport_cost
from sandbox.measure.gait import WALKING_SPEED, Field
from sandbox.measure.signals import lowpass
from sandbox.state import FEET

Array = NDArray[np.float64]

# Joints of the sagittal plane. Flexion is positive in the model's torques, extension (plantarflexion) in the curves of moments.
EXTENSORS = -1.0
MOMENTS = {"hip": "hip_flexion", "knee": "knee_flexion", "ankle": "ankle_dorsiflexion"}

DYNAMICS_CURVES: dict[str, Field] = {
    "force_vertical": Field("body weights", "vertical ground force of the foot whose stride it is"),
    "force_fore_aft": Field("body weights", "in the direction of progression, forward positive"),
    "hip_moment": Field("N m/kg", "internal, extensors positive"),
    "knee_moment": Field("N m/kg", "internal, extensors positive"),
    "ankle_moment": Field("N m/kg", "internal, plantarflexors positive"),
    "hip_power": Field("W/kg", "generation positive"),
    "knee_power": Field("W/kg", "generation positive"),
    "ankle_power": Field("W/kg", "generation positive"),
}

# Figures of one stride that are read from its curves: of which curve, where in the cycle [%], and whether it is the least value there.
PEAKS: dict[str, tuple[str, tuple[int, int], bool]] = {
    "landing_peak_bw": ("force_vertical", (0, 30), False),
    "valley_bw": ("force_vertical", (15, 45), True),
    "push_off_peak_bw": ("force_vertical", (30, 65), False),
    "braking_peak_bw": ("force_fore_aft", (0, 40), True),
    "propulsion_peak_bw": ("force_fore_aft", (25, 70), False),
    "hip_extensor_moment": ("hip_moment", (0, 50), False),
    "hip_flexor_moment": ("hip_moment", (30, 80), True),
    "knee_extensor_moment": ("knee_moment", (0, 35), False),
    "plantarflexor_moment": ("ankle_moment", (20, 70), False),
    "hip_pull_off_power": ("hip_power", (45, 80), False),
    "knee_absorbed_power": ("knee_power", (70, 100), True),
    "ankle_push_off_power": ("ankle_power", (35, 70), False),
}

DYNAMICS_FIELDS: dict[str, Field] = {
    "support_bw": Field("body weights", "mean vertical force of both feet over whole strides; 1 where forces balance"),
    "support_momentum_bw": Field("body weights", "by how much the vertical momentum changed meanwhile, which support_bw less 1 should be"),
    "balance_percent": Field("%", "support_bw less 1 less support_momentum_bw: what is missing in the balance of vertical impulse"),
    "balance_fore_aft_percent": Field("%", "the same in the direction of progression, of body weight"),
    "balance_lateral_percent": Field("%", "the same across it"),
    "braking_bws": Field("body weight s", "impulse against the direction of progression in one stance, mean"),
    "propulsion_bws": Field("body weight s", "impulse along it"),
    "pressure_start": Field("foot lengths", "centre of pressure in the first 5 % of stance: 0 at the heel, 1 at the toe tip"),
    "pressure_end": Field("foot lengths", "in the last 5 %"),
    "pressure_forward_share": Field("", "share of the loaded stance in which it does not move back by more than 1 % of the foot"),
    "cost_of_transport": Field("", "positive plus magnitude of negative joint work over weight x distance"),
    "momentum_sagittal": Field("", "largest angular momentum about the centre of mass over m v h: about the lateral axis"),
    "momentum_frontal": Field("", "about the axis of progression"),
    "momentum_transverse": Field("", "about the vertical axis"),
}


@dataclass(frozen=True)
class Dynamics:
    """Forces of a walk, over its straight strides. ``momentum`` (T, 3) is the angular momentum about the CoM [kg m^2/s], where known."""

    analysis: Analysis
    momentum: Array | None = None

    @property
    def strides(self) -> list[Cycle]:
        return self.analysis.straight

    @cached_property
    def directions(self) -> tuple[Array, Array]:
        """Forward and right (C, 3) of each stride."""
        recording = self.analysis.recording
        hips = recording.point("mid_hip")
        out = []
        for stride in self.strides:
            first, last = np.searchsorted(recording.time, (stride.start, stride.end))
            line = hips[min(last, len(hips) - 1)] - hips[first]
            out.append(np.array([line[0], line[1], 0.0]) / max(float(np.hypot(line[0], line[1])), 1e-9))
        forward = np.array(out).reshape(-1, 3)
        return forward, np.stack((forward[:, 1], -forward[:, 0], np.zeros(len(forward))), axis=1)

    @cached_property
    def curves(self) -> dict[str, Array]:
        """Curves (C, 101) of :data:`DYNAMICS_CURVES`; low-passed at 20 Hz with zero lag."""
        recording, rate = self.analysis.recording, 1 / self.analysis.recording.interval
        if not self.strides:
            return {}
        out: dict[str, Array] = {}
        time = middle_times(recording)
        if recording.has("ground_force") and recording.ground_force.any():
            force = lowpass(recording.ground_force, FORCE_CUTOFF, rate) / body_weight(recording)
            out["force_vertical"] = cycle_curves(time, force[..., 2], self.strides)
            forward = self.directions[0]
            out["force_fore_aft"] = np.stack(
                [
                    resample(time, force[:, stride.foot] @ ahead, stride.start, stride.end)
                    for stride, ahead in zip(self.strides, forward, strict=True)
                ]
            )
        if recording.has("tau", "qd") and recording.tau.any():
            mass = float(recording.header["body"]["mass_kg"])
            names = recording.header["joint_names"]
            power = lowpass(joint_power(recording), FORCE_CUTOFF, rate) / mass
            for joint, column in MOMENTS.items():
                pair = [names.index(f"{side}_{column}") for side in FEET]
                out[f"{joint}_moment"] = cycle_curves(
                    time, EXTENSORS * lowpass(recording.tau[:, pair], FORCE_CUTOFF, rate) / mass, self.strides
                )
                out[f"{joint}_power"] = cycle_curves(time, power[:, pair], self.strides)
        return out

    @cached_property
    def peaks(self) -> dict[str, Array]:
        """The figures (C,) of :data:`PEAKS`, one a stride, in the unit of their curve; without those whose curve is not known."""
        return {key: peak(key, self.curves[name]) for key, (name, _, _) in PEAKS.items() if name in self.curves}

    @cached_property
    def figures(self) -> dict[str, float | None]:
        """The figures of :data:`DYNAMICS_FIELDS`; None where one cannot be measured."""
        out: dict[str, Any] = dict.fromkeys(DYNAMICS_FIELDS)
        recording = self.analysis.recording
        if self.strides and recording.has("ground_force", "com_velocity") and recording.ground_force.any():
            out |= self._balance() | self._impulses()
            if recording.has("centre_of_pressure"):
                out |= self._pressure()
        if self.strides and recording.has("tau", "qd") and recording.tau.any() and self.analysis.mean("speed_mps") > WALKING_SPEED:
            gait = self.analysis.gait
            rows = gait.rows(gait.start, gait.end)
            out["cost_of_transport"] = transport_cost(recording, rows, gait.progress[rows][-1] - gait.progress[rows][0])[0]
        if self.momentum is not None and self.strides:
            out |= self._momenta()
        return {key: None if value is None or not math.isfinite(value) else float(value) for key, value in out.items()}

    def _balance(self) -> dict[str, float]:
        """Momentum theorem over the rows from the first to the last touchdown of a foot: whole strides, so that little is left over."""
        recording = self.analysis.recording
        weight, mass = body_weight(recording), float(recording.header["body"]["mass_kg"])
        mine = [stride for stride in self.strides if stride.foot == self.strides[0].foot]
        first, last = (int(np.searchsorted(recording.time, t)) for t in (mine[0].start, mine[-1].end))
        last = min(last, len(recording) - 1)
        total = recording.ground_force[first + 1 : last + 1].sum(axis=(0, 1)) * recording.interval
        seconds = recording.time[last] - recording.time[first]
        if recording.has("push_time") and len(recording.push_time):
            inside = (recording.push_time > recording.time[first]) & (recording.push_time < recording.time[last])
            total = total + (recording.push_force[inside] * recording.push_duration[inside, None]).sum(axis=0)
        change = mass * (recording.com_velocity[last] - recording.com_velocity[first])
        forward, right = (np.append(d.mean(axis=0)[:2], 0.0) for d in self.directions)
        scale = weight * seconds
        support, momentum = float(total[2]) / scale, float(change[2]) / scale
        rest = (total - change) / scale
        return {
            "support_bw": support,
            "support_momentum_bw": momentum,
            "balance_percent": 100 * (support - 1 - momentum),
            "balance_fore_aft_percent": 100 * float(rest @ forward),
            "balance_lateral_percent": 100 * float(rest @ right),
        }

    def _impulses(self) -> dict[str, float]:
        curve = self.curves["force_fore_aft"]
        period = np.array([stride.time for stride in self.strides])
        step = period / (curve.shape[1] - 1)
        return {
            "braking_bws": float(-(np.minimum(curve, 0).sum(axis=1) * step).mean()),
            "propulsion_bws": float((np.maximum(curve, 0).sum(axis=1) * step).mean()),
        }

    def pressure_paths(self) -> list[Array]:
        """Centre of pressure over each stance, (101,) [foot lengths] from heel to toe tip; NaN where the foot carries nothing."""
        recording = self.analysis.recording
        out = []
        for stride in self.strides:
            side = FEET[stride.foot]
            heel, tip = (recording.point(f"{side}_{name}") for name in ("heel", "toe_tip"))
            a, b, c = np.searchsorted(recording.time, (stride.start, stride.start + 0.3 * (stride.liftoff - stride.start), stride.liftoff))
            # The print of the flat foot: where heel and toes are a third into the stance.
            base, line = heel[b], tip[b] - heel[b]
            length = float(line[:2] @ line[:2])
            along = (recording.centre_of_pressure[a:c, stride.foot, :2] - base[:2]) @ line[:2] / length
            known = np.isfinite(along)
            if known.sum() > 5:
                out.append(np.interp(np.linspace(0, 1, 101), np.linspace(0, 1, len(along))[known], along[known]))
        return out

    def _pressure(self) -> dict[str, float]:
        paths = self.pressure_paths()
        if not paths:
            return {}
        mean = np.array(paths)
        return {
            "pressure_start": float(np.median(mean[:, :6])),
            "pressure_end": float(np.median(mean[:, -6:])),
            "pressure_forward_share": float(np.mean(np.diff(mean, axis=1) > -0.01)),
        }

    def _momenta(self) -> dict[str, float]:
        assert self.momentum is not None
        recording, gait = self.analysis.recording, self.analysis.gait
        rows = gait.rows(gait.start, gait.end)
        forward, right = gait.facing.forward[rows], gait.facing.right[rows]
        momentum = self.momentum[rows]
        height = float(np.nanmean(gait.com_height[rows]))
        scale = float(recording.header["body"]["mass_kg"]) * self.analysis.mean("speed_mps") * height
        return {
            "momentum_sagittal": float(np.abs(np.sum(momentum * right, axis=1)).max()) / scale,
            "momentum_frontal": float(np.abs(np.sum(momentum * forward, axis=1)).max()) / scale,
            "momentum_transverse": float(np.abs(momentum[:, 2]).max()) / scale,
        }


def peak(key: str, curves: Array) -> Array:
    """A figure (C,) of :data:`PEAKS` of curves (C, 101) over the cycle."""
    _, (first, last), least = PEAKS[key]
    part = np.atleast_2d(curves)[:, first : last + 1]
    return np.asarray(part.min(axis=1) if least else part.max(axis=1))
