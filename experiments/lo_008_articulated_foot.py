"""LO-008: articulated stance foot.

Question: Does a stance foot that rolls over heel, ball and toes let the pelvis follow the root, and let the walker take people's steps,
    without widening any joint's range?

Method: The walker of LO-007 with feet that are AIRBORNE, HEEL, FLAT, FOREFOOT or TOE. The pivot and the pitch of the foot place the
    ankle before the leg is solved. Pitch follows the phase of the foot and is limited in rate. Where the ankle would pass 16 degrees the
    pelvis follows the root less. Steps are people's: length = 0.004 x cadence x height, 0.41 to 0.77 m over 0.4 to 1.4 m/s. The same
    walk is started again on flat feet, in the short steps of LO-006 and in people's.

Result: With articulated feet the pelvis is the root: it follows all the way, at constant speed, at every speed from 0.4 to 1.4 m/s,
    within the 16 degrees (15.0 at most), with pivots that do not move, and no segment is accelerated by more than 2 degrees per frame
    squared. On flat feet in people's steps no share of following keeps the ankle within its range (25 degrees, 0.2 m off the root at
    0.8 m/s). In LO-006's short steps a pelvis that moves evenly needs the rocker little: flat feet let it follow 94 % of the way.

Limits: Touchdown is predicted, impact and load are not modelled; the root moves at constant speed, whatever carries it.

Superseded by: LO-009 for the root.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import REFERENCE, Region, envelopes
from sandbox.config import check_range
from sandbox.controllers.coordination import Coordination
from sandbox.controllers.velocity import FLAT_FOOT, HUMAN
from sandbox.harness import Experiment, Outcome, Variant
from sandbox.measure.flow import flow, jumps
from sandbox.mechanics import articulated_patch, support_margin, support_polygon
from sandbox.plants.continuous import DT, ContinuousWalker, Plan, Snapshot, film
from sandbox.recording import Recording
from sandbox.report import plot
from sandbox.state import FEET, ContactState

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEADY = 7.0  # [s] after the command
GUARDRAIL = 16.0  # [deg]
PIVOT = {ContactState.HEEL: "heel", ContactState.FLAT: "toe_base", ContactState.FOREFOOT: "toe_base", ContactState.TOE: "toe_tip"}
ROLLING = [ContactState.HEEL, ContactState.FLAT, ContactState.FOREFOOT, ContactState.TOE]


@dataclass(frozen=True)
class Parameters:
    """The walk.

    Attributes:
        speed: commanded from the start on [m/s], clamped to the range of the plan's profile.
        seconds: duration.
        plan: of the walker.

    Raises:
        ValueError: no speed, or a duration outside 8..600 s.
    """

    speed: float = 1.2
    seconds: float = 12.0
    plan: Plan = field(default_factory=Plan)

    def __post_init__(self) -> None:
        for name, low, high, unit in (("speed", 1e-3, 10.0, "m/s"), ("seconds", 8.0, 600.0, "s")):
            check_range(name, getattr(self, name), (low, high), unit)


@dataclass(frozen=True)
class Details:
    """The walker, every tick, the steady ones, and the margin of the centre of mass in the support (T,) [m], NaN without one."""

    walker: ContinuousWalker
    walk: tuple[Snapshot, ...]
    steady: slice
    margin: Array


def run(p: Parameters) -> Outcome[Details]:
    """Walk, and measure."""
    walker = ContinuousWalker(p.plan)
    walk = tuple(walker.tick(p.speed) for _ in range(round(p.seconds / DT)))
    recording = film(walker, walk, "articulated foot")
    steady = slice(round(STEADY / DT), None)
    settled = walk[steady]
    gait = p.plan.profile.gait(p.speed)
    pelvis, root = np.array([s.pelvis[1] for s in settled]), np.array([s.root[0] for s in settled])
    dorsiflexion = np.degrees([recording.joint(f"{side}_ankle_dorsiflexion") for side in FEET])
    rolled, slip = rolling(recording, steady)
    patches = margins(recording)
    figures = flow(recording)
    low = min(float(recording.point(f"{side}_{name}")[steady, 2].min()) for side in FEET for name in ("heel", "toe_base", "toe_tip"))
    clearance = []
    for foot, side in enumerate(FEET):
        since = np.array([s.phase[foot] % 1 for s in settled])
        swing = (since - 0.5 * (1 + gait.double_support)) / (0.5 * (1 - gait.double_support))
        clearance.append(float(recording.point(f"{side}_toe_tip")[steady, 2][(swing > 0.2) & (swing < 0.8)].min()))
    metrics = {
        "speed_asked_mps": p.speed,
        "speed_mps": gait.speed,
        "step_length_m": float(np.median(np.diff(np.sort(recording.foothold_position[-6:, 1])))),
        "cadence_spm": gait.cadence,
        "dorsiflexion_highest_deg": float(dorsiflexion[:, steady].max()),
        "other_axes_outside": float(outside(recording, steady)),
        "follow_least": min(s.follow for s in settled),
        "root_pelvis_mismatch_m": float(np.abs(root - pelvis).max()),
        "pelvis_speed_range_mps": float(np.ptp(np.diff(pelvis)) / DT),
        "pivot_slip_m": slip,
        "rolls_heel_to_toe": rolled,
        "reach_error_m": max(s.miss for s in settled),
        "pitch_rate_dps": float(np.degrees(np.abs(np.diff([s.pitch for s in settled], axis=0)).max() / DT)),
        "lowest_sole_m": low,
        "toe_clearance_central_m": min(clearance),
        "pelvis_velocity_jump_mps": float(np.abs(jumps(np.diff(pelvis) / DT)).max()),
        "pop_largest_deg": float(figures["pop_max_deg"]),
        "com_margin_least_m": float(np.nanmin(patches[steady])),
    }
    return Outcome(metrics, recording, Details(walker, walk, steady, patches))


def rolling(recording: Recording, steady: slice) -> tuple[float, float]:
    """Share of complete stances that go heel, flat, forefoot, toe; and how far a pivot moves while it is one [m]."""
    whole, right, slip = 0, 0, 0.0
    for foot, side in enumerate(FEET):
        state = recording.contact_state[steady, foot]
        edges = [0, *(np.flatnonzero(np.diff(state)) + 1).tolist(), len(state)]
        spans = [(ContactState(int(state[a])), a, b) for a, b in pairwise(edges)]
        for mode, a, b in spans:
            if mode is not ContactState.AIRBORNE:
                path = recording.point(f"{side}_{PIVOT[mode]}")[steady][a:b]
                slip = max(slip, float(np.linalg.norm(path - path[0], axis=1).max()))
        modes = [mode for mode, _, _ in spans]
        lifts = [k for k, mode in enumerate(modes) if mode is ContactState.AIRBORNE]
        for a, b in pairwise(lifts):
            whole += 1
            right += modes[a + 1 : b] == ROLLING
    return right / max(whole, 1), slip


def outside(recording: Recording, steady: slice) -> int:
    """Rows in which an axis of a leg, other than dorsiflexion, is outside its guardrail."""
    limits, count = envelopes(), 0
    for side in FEET:
        for axis in ("hip_flexion", "hip_adduction", "hip_rotation", "knee_flexion", "ankle_inversion"):
            count += sum(limits[axis].region(angle) is Region.OUTSIDE for angle in recording.joint(f"{side}_{axis}")[steady].tolist())
    return count


def margins(recording: Recording) -> Array:
    """Signed distance (T,) [m] of the centre of mass from the edge of the support that the modes of both feet give."""
    out = np.full(len(recording), np.nan)
    half = REFERENCE.foot_half_width
    soles = [[recording.point(f"{side}_{name}") for name in ("heel", "toe_base", "toe_tip")] for side in FEET]
    for row in range(len(recording)):
        corners = [
            articulated_patch(heel[row], base[row], tip[row], half, int(recording.contact_state[row, foot]))
            for foot, (heel, base, tip) in enumerate(soles)
        ]
        margin = support_margin(recording.com[row], support_polygon(np.vstack(corners)))
        out[row] = np.nan if margin is None else margin
    return out


def articulated(outcome: Outcome[Details]) -> bool:
    """Whether this walk has articulated feet."""
    return outcome.details.walker.articulated


# -- checks ------------------------------------------------------------------------------------------------------------------


def ankle_stays_within_the_guardrail(outcome: Outcome[Details]) -> bool:
    """Dorsiflexion of either ankle is at most the 16 degrees of LO-001 in steady walking."""
    return outcome.metrics["dorsiflexion_highest_deg"] <= GUARDRAIL + 1e-9


def other_joints_stay_within_the_guardrails(outcome: Outcome[Details]) -> bool:
    """No other axis of either leg leaves its outer envelope, and no ankle is out of reach."""
    return outcome.metrics["other_axes_outside"] == 0 and outcome.metrics["reach_error_m"] <= 1e-9


def pivots_do_not_move(outcome: Outcome[Details]) -> bool:
    """Heel, ball or toe tip stays where it is while it is the pivot, to 1e-9 m, and no sole goes below the ground by 1 mm."""
    return outcome.metrics["pivot_slip_m"] <= 1e-9 and outcome.metrics["lowest_sole_m"] >= -1e-3


def every_stance_rolls(outcome: Outcome[Details]) -> bool:
    """An articulated foot goes through heel, flat, forefoot and toe in every stance; a flat one through none."""
    return outcome.metrics["rolls_heel_to_toe"] == (1.0 if articulated(outcome) else 0.0)


def pitch_is_limited_in_rate(outcome: Outcome[Details]) -> bool:
    """The foot turns by at most 900 degrees per second, in the air; on the ground the limit is 688."""
    return outcome.metrics["pitch_rate_dps"] <= 900


def toe_clears_the_ground(outcome: Outcome[Details]) -> bool:
    """Over the middle 60 % of swing the toe tip is at least 10 mm above the ground."""
    return outcome.metrics["toe_clearance_central_m"] >= 0.010


def pelvis_is_the_root(outcome: Outcome[Details]) -> bool:
    """On articulated feet the pelvis follows the root all the way, to 1e-9 m; on flat ones it cannot."""
    free = outcome.metrics["root_pelvis_mismatch_m"] <= 1e-9 and outcome.metrics["follow_least"] == 1.0
    return free == articulated(outcome)


def nothing_snaps(outcome: Outcome[Details]) -> bool:
    """On articulated feet, in people's steps, no segment's angular acceleration passes 2 degrees per frame squared at 60 Hz."""
    return not articulated(outcome) or outcome.metrics["step_length_m"] < 0.4 or outcome.metrics["pop_largest_deg"] < 2.0


# -- comparisons -------------------------------------------------------------------------------------------------------------


def steps_are_peoples(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """At 0.4, 0.8, 1.2 and 1.4 m/s step length is that of the law, 0.41 to 0.77 m, to 1 mm."""
    for name in ("slow", "medium", "retained", "fast"):
        metrics = outcomes[name].metrics
        if abs(metrics["step_length_m"] - HUMAN.gait(metrics["speed_mps"]).step_length) > 1e-3:
            return False
    return outcomes["slow"].metrics["step_length_m"] > 0.40 and outcomes["fast"].metrics["step_length_m"] < 0.78


def articulation_frees_the_pelvis(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """In people's steps at 0.8 m/s the flat-footed pelvis is more than 0.1 m off the root, the articulated one nowhere."""
    flat, rolled = outcomes["flat-people"].metrics, outcomes["medium"].metrics
    return flat["root_pelvis_mismatch_m"] > 0.1 and rolled["root_pelvis_mismatch_m"] <= 1e-9


# -- figures -----------------------------------------------------------------------------------------------------------------


def figures(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, Figure]:
    """A stride of the retained walk with its support, and flat against articulated."""
    out = {}
    name = "retained" if "retained" in outcomes else next(iter(outcomes))
    out["stride"] = _stride(outcomes[name], name)
    pair = {n: outcomes[n] for n in ("flat-people", "medium") if n in outcomes}
    if len(pair) == 2:
        out["flat-against-articulated"] = _against(pair)
    return out


def _stride(outcome: Outcome[Details], name: str) -> Figure:
    recording, d = outcome.recording, outcome.details
    assert recording is not None
    gait = d.walker.plan.profile.gait(outcome.metrics["speed_mps"])
    figure = plot.blank(13, 7.2, f"LO-008: one stride at {gait.speed:g} m/s ({name})")
    bodies, feet, angles = figure.subplots(3, 1, height_ratios=(2.4, 1, 1.2))
    down = float(recording.event_time[recording.event_touchdown & (recording.event_foot == 1) & (recording.event_time > STEADY)][0])
    times = down + np.linspace(0, 2 * gait.duration, 9)
    for k, time in enumerate(times.tolist()):
        row = min(round(time / DT) - 1, len(recording) - 1)
        plot.draw_body(bodies, recording, row, "side", shift=0.95 * k - float(recording.root_position[row, 1]))
        bodies.text(0.95 * k, -0.16, f"{100 * k / 8:.0f} %", ha="center", va="top", fontsize=8)
    bodies.axhline(0, color=plot.INK, lw=0.8, zorder=0)
    bodies.set(xlim=(-0.6, 8.2), ylim=(-0.3, 1.85), aspect="equal")
    bodies.set_axis_off()
    rows = slice(round(down / DT) - 1, round((down + 2 * gait.duration) / DT))
    percent = np.linspace(0, 100, rows.stop - rows.start)
    for foot, (side, colour) in enumerate(zip(FEET, ("#2c6fbb", "#d8602c"), strict=True)):
        feet.step(percent, recording.contact_state[rows, foot], color=colour, where="mid", label=side)
        angles.plot(percent, np.degrees([s.pitch[foot] for s in d.walk[rows]]), color=colour, label=f"{side}, pitch of the sole")
        angles.plot(
            percent, np.degrees(recording.joint(f"{side}_ankle_dorsiflexion")[rows]), color=colour, ls=":", label=f"{side}, dorsiflexion"
        )
    feet.set(yticks=range(5), yticklabels=[mode.name.lower() for mode in ContactState], xlim=(0, 100))
    feet.legend(loc="center right", ncols=2)
    angles.axhline(GUARDRAIL, color="#c0392b", ls="--", lw=1)
    angles.set(xlabel="% of the right leg's cycle", ylabel="[deg]", xlim=(0, 100))
    angles.legend(loc="lower center", ncols=2, fontsize=7)
    return figure


def _against(outcomes: Mapping[str, Outcome[Details]]) -> Figure:
    figure = plot.blank(12, 4.6, "LO-008: the same walk at 0.8 m/s in people's steps, on flat and on articulated feet")
    for axes, (name, outcome) in zip(figure.subplots(2, 2, sharex=True).T, outcomes.items(), strict=True):
        d = outcome.details
        walk = d.walk[d.steady][: round(2.0 / DT)]
        time = np.array([s.time for s in walk])
        axes[0].plot(time, [s.root[1] for s in walk], color="#2c6fbb", label="root")
        axes[0].plot(time, np.gradient([s.pelvis[1] for s in walk], time), color="#c0392b", lw=1, label="pelvis")
        axes[0].set(title="articulated" if name == "medium" else "flat", ylabel="speed [m/s]", ylim=(-0.1, 3.4))
        axes[0].legend(loc="upper right")
        axes[1].plot(time, [1000 * (s.root[0] - s.pelvis[1]) for s in walk], color="#c0392b")
        axes[1].set(xlabel="time [s]", ylabel="root less pelvis [mm]", ylim=(-220, 220))
    return figure


SHORT = Plan(profile=FLAT_FOOT, coordination=Coordination())

EXPERIMENT = Experiment(
    run=run,
    variants=(
        Variant("retained", Parameters(), "articulated, 1.2 m/s in people's steps"),
        Variant("slow", Parameters(0.4), "0.4 m/s"),
        Variant("medium", Parameters(0.8), "0.8 m/s"),
        Variant("fast", Parameters(1.4), "1.4 m/s"),
        Variant("articulated-short", Parameters(0.6, plan=SHORT), "articulated, 0.6 m/s in LO-006's short steps"),
        Variant("flat-short", Parameters(0.6, plan=replace(SHORT, feet="flat")), "the same walk on flat feet"),
        Variant(
            "flat-people",
            Parameters(0.8, plan=Plan("flat")),
            "people's steps on flat feet",
            fails=(ankle_stays_within_the_guardrail,),
        ),
    ),
    checks=(
        ankle_stays_within_the_guardrail,
        other_joints_stay_within_the_guardrails,
        pivots_do_not_move,
        every_stance_rolls,
        pitch_is_limited_in_rate,
        toe_clears_the_ground,
        pelvis_is_the_root,
        nothing_snaps,
    ),
    comparisons=(steps_are_peoples, articulation_frees_the_pelvis),
    figures=figures,
)
