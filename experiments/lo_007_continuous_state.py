"""LO-007: continuous locomotion state.

Question: Can a walk be one persistent state that passes through its contacts, instead of a sequence of steps that end?

Method: Root position and velocity, one unwrapped clock per leg, contacts with their history, and the arms' response persist from tick
    to tick at 120 Hz, whatever the frames are. A leg leaves and lands when its clock says so; each landing may correct the clocks,
    by their rate and within a bound. Feet are LO-006's: flat, in its profile. A probe moves one clock by 0.06 of a cycle. The same
    walk is run again tick for tick, and with frames of 30, 60, 144 Hz and of random length.

Result: No velocity or acceleration jump of the root in steady walking, planted feet and segment lengths exact to rounding, replay
    exact to the bit, frames make no difference. After the probe both clocks are even again within 0.002 of a cycle in 1.2 s, by
    rates that were at most 9 % off.

Limits: The shown pelvis stays in the middle of the ankles, because flat feet let it go no farther: it lags and leads the root by
    up to 0.09 m, stops in double support, and still reads as a march. Touchdown is predicted from the clocks, not felt.

Superseded by: LO-008 for the foot, and with it the pelvis that follows the root.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import REFERENCE
from sandbox.config import check_range
from sandbox.controllers.limbs import LARGEST_CORRECTION, LARGEST_RATE_CHANGE, RING, FixedTicks
from sandbox.harness import Experiment, Outcome, Variant
from sandbox.measure.flow import jumps
from sandbox.plants.continuous import DT, FLAT_PLAN, ContinuousWalker, Plan, Snapshot, film
from sandbox.report import plot
from sandbox.state import FEET, ContactState

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEADY = 9.5  # [s] after the command, when the speed has reached it
EVEN = 0.002  # [cycles] off even spacing that count as even
SEGMENTS = (("hip", "knee", "thigh"), ("knee", "ankle", "shank"), ("shoulder", "elbow", "upper_arm"), ("elbow", "wrist", "forearm"))


@dataclass(frozen=True)
class Parameters:
    """The walk.

    Attributes:
        speed: commanded from the start on [m/s], clamped to 0.40-0.80 m/s.
        seconds: duration.
        frames: per second in which time arrives; 0 for frames of random length.
        probe: by which the right leg's clock is moved [cycles]; probe_at: when [s].
        plan: of the walker.

    Raises:
        ValueError: no speed, a duration outside 11..600 s, frames outside 0..1000, a probe beyond a quarter of a cycle.
    """

    speed: float = 0.60
    seconds: float = 14.0
    frames: float = 60.0
    probe: float = 0.0
    probe_at: float = 8.0
    plan: Plan = field(default_factory=lambda: FLAT_PLAN)

    def __post_init__(self) -> None:
        ranges = {
            "speed": (1e-3, 10.0, "m/s"),
            "seconds": (1.0, 600.0, "s"),
            "frames": (0.0, 1000.0, "Hz"),
            "probe": (-0.25, 0.25, "cycles"),
        }
        for name, (low, high, unit) in ranges.items():
            check_range(name, getattr(self, name), (low, high), unit)


@dataclass(frozen=True)
class Details:
    """The walker, every tick of it, how far the clocks were off even spacing (T,) [cycles], and the largest correction asked for."""

    parameters: Parameters
    walker: ContinuousWalker
    walk: tuple[Snapshot, ...]
    offset: Array
    correction: float


def frames(rate: float, seconds: float) -> Iterator[float]:
    """Frame times [s] that add up to ``seconds``."""
    rng, passed = np.random.default_rng(7), 0.0
    while passed < seconds - 1e-9:
        dt = min(1 / rate if rate else float(rng.uniform(0.001, 0.05)), seconds - passed)
        passed += dt
        yield dt


def walked(p: Parameters) -> Details:
    """The walk, frame by frame."""
    walker, ticks = ContinuousWalker(p.plan), FixedTicks()
    walk, offset, largest, probe = [], [], 0.0, p.probe
    for frame in frames(p.frames, p.seconds):
        for _ in range(ticks.frame(frame)):
            if probe and walker.ticks >= round(p.probe_at / DT) and 0.1 < walker.clocks.phase[1] % 1.0 < 0.2:  # planted: nothing snaps
                walker.disturb(1, probe)
                probe = 0.0
            walk.append(walker.tick(p.speed))
            offset.append(walker.clocks.offset())
            largest = max([largest, *(abs(contact.correction) for contact in walker.history)])
    return Details(p, walker, tuple(walk), np.array(offset), largest)


def same(a: tuple[Snapshot, ...], b: tuple[Snapshot, ...]) -> bool:
    """Whether two walks are equal to the bit."""
    return len(a) == len(b) and all(
        x.root == y.root and x.phase == y.phase and x.mode == y.mode and np.array_equal(x.pelvis, y.pelvis) and np.array_equal(x.q, y.q)
        for x, y in zip(a, b, strict=True)
    )


def run(p: Parameters) -> Outcome[Details]:
    """Walk, and measure."""
    details = walked(p)
    walker, walk, offset = details.walker, details.walk, details.offset
    recording = film(walker, walk, "continuous state")
    steady = slice(min(round(STEADY / DT), len(walk) - 10), None)
    root = np.array([s.root for s in walk])
    slip = 0.0
    for foot, side in enumerate(FEET):
        planted = recording.contact_state[:, foot] != ContactState.AIRBORNE
        path = recording.point(f"{side}_ankle")
        both = planted[1:] & planted[:-1]
        slip = max(slip, float(np.linalg.norm(np.diff(path, axis=0), axis=1)[both].max(initial=0.0)))
    lengths = [
        float(np.abs(np.linalg.norm(recording.point(f"{side}_{a}") - recording.point(f"{side}_{b}"), axis=1) - REFERENCE.length(s)).max())
        for side in FEET for a, b, s in SEGMENTS
    ]  # fmt: skip
    phase = np.array([s.phase for s in walk])
    nominal = np.array([0.5 / walker.plan.profile.gait(v).duration for v in root[:-1, 1].tolist()])
    faster = np.diff(phase, axis=0) / DT / nominal[:, None] - 1
    uneven = np.flatnonzero(np.abs(offset) > EVEN) if p.probe else np.empty(0, dtype=int)
    pelvis = np.array([s.pelvis[1] for s in walk])
    dorsiflexion = np.degrees([recording.joint(f"{side}_ankle_dorsiflexion") for side in FEET])
    downs = {foot: recording.event_time[recording.event_touchdown & (recording.event_foot == foot)] for foot in range(2)}
    metrics = {
        "speed_asked_mps": p.speed,
        "speed_mps": float(root[-1, 1]),
        "ticks": float(walker.ticks),
        "contacts": float(walker.history.count),
        "remembered": float(len(walker.history)),
        "step_length_m": float(np.median(np.diff(np.sort(recording.foothold_position[-6:, 1])))),
        "stride_time_s": float(np.median(np.diff(downs[0][-3:]))),
        "root_velocity_jump_mps": float(np.abs(jumps(root[steady, 1])).max()),
        "root_acceleration_jump_mps2": float(np.abs(jumps(root[steady, 2])).max()),
        "slip_m": slip,
        "length_error_m": max(lengths),
        "dorsiflexion_highest_deg": float(dorsiflexion.max()),
        "root_pelvis_mismatch_m": float(np.abs(root[:, 0] - pelvis).max()),
        "pelvis_slowest_mps": float(np.diff(pelvis)[steady].min() / DT),
        "offset_largest_cycles": float(np.abs(offset[steady]).max()),
        "recovery_s": float((uneven[-1] + 1 - uneven[0]) * DT) if len(uneven) else math.nan,
        "correction_largest_cycles": details.correction,
        "rate_change_largest": float(np.abs(faster[np.abs(faster) < 1]).max()),
    }
    return Outcome(metrics, recording, details)


# -- checks ------------------------------------------------------------------------------------------------------------------


def root_moves_without_a_jump(outcome: Outcome[Details]) -> bool:
    """In steady walking the root's velocity and acceleration have no jumps, to 1e-9."""
    return outcome.metrics["root_velocity_jump_mps"] <= 1e-9 and outcome.metrics["root_acceleration_jump_mps2"] <= 1e-9


def planted_feet_and_segments_are_exact(outcome: Outcome[Details]) -> bool:
    """A planted ankle moves, and a segment's length changes, by rounding alone (1e-9 m)."""
    return outcome.metrics["slip_m"] <= 1e-9 and outcome.metrics["length_error_m"] <= 1e-9


def ankle_stays_within_the_guardrail(outcome: Outcome[Details]) -> bool:
    """Dorsiflexion of either ankle is at most the 16 degrees of LO-001."""
    return outcome.metrics["dorsiflexion_highest_deg"] <= 16


def corrections_are_bounded(outcome: Outcome[Details]) -> bool:
    """No contact asks for more than 0.05 of a cycle, and no clock runs more than 15 % fast or slow."""
    within = outcome.metrics["rate_change_largest"] <= LARGEST_RATE_CHANGE + 1e-9
    return within and outcome.metrics["correction_largest_cycles"] <= LARGEST_CORRECTION


def clocks_are_even_at_the_end(outcome: Outcome[Details]) -> bool:
    """After whatever happened the clocks are half a cycle apart again, within 0.002 of a cycle, and were never set."""
    return abs(float(outcome.details.offset[-1])) <= EVEN


def history_is_a_ring(outcome: Outcome[Details]) -> bool:
    """At most 16 contacts are remembered, in order, alternating between touchdown and release of each foot."""
    contacts = list(outcome.details.walker.history)
    ordered = all(a.tick <= b.tick for a, b in pairwise(contacts))
    turns = all(
        all(a.touchdown != b.touchdown for a, b in pairwise(own)) for own in ([c for c in contacts if c.foot == foot] for foot in range(2))
    )
    return len(contacts) <= RING and ordered and turns


def replay_is_exact_to_the_bit(outcome: Outcome[Details]) -> bool:
    """A second walker under the same frames does the same, bit for bit."""
    return same(walked(outcome.details.parameters).walk, outcome.details.walk)


# -- comparisons -------------------------------------------------------------------------------------------------------------


def frames_make_no_difference(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """Frames of 30, 60 and 144 Hz and of random length give the same walk, bit for bit."""
    walks = [outcomes[name].details.walk for name in ("retained", "frames-30", "frames-144", "frames-random")]
    return all(same(walk, walks[0]) for walk in walks[1:])


def probe_recovers_and_root_does_not_notice(outcomes: Mapping[str, Outcome[Details]]) -> bool:
    """A clock moved by 0.06 of a cycle comes back within 5 s by rate alone; the root moves as if nothing had happened."""
    probe, plain = outcomes["probe"], outcomes["retained"]
    roots = [np.array([s.root for s in o.details.walk]) for o in (probe, plain)]
    return 0 < probe.metrics["recovery_s"] <= 5 and np.array_equal(roots[0], roots[1])


# -- figures -----------------------------------------------------------------------------------------------------------------


def figures(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, Figure]:
    """Root beside pelvis, and the probe."""
    out = {}
    name = "retained" if "retained" in outcomes else next(iter(outcomes))
    d = outcomes[name].details
    time = np.array([s.time for s in d.walk])
    figure = plot.blank(11, 5.4, "LO-007: the root goes on, the pelvis over flat feet does not")
    speed, modes = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    speed.plot(time, [s.root[1] for s in d.walk], color="#2c6fbb", label="root (persistent)")
    pelvis = np.gradient([s.pelvis[1] for s in d.walk], time)
    speed.plot(time, pelvis, color="#c0392b", lw=1.0, label="pelvis shown (middle of the ankles)")
    speed.set(ylabel="forward speed [m/s]")
    speed.legend(loc="upper left")
    for foot, side in enumerate(FEET):
        down = np.array([s.mode[foot] != ContactState.AIRBORNE for s in d.walk])
        modes.fill_between(time, foot, foot + 0.8 * down, step="mid", lw=0, color=("#2c6fbb", "#d8602c")[foot], label=side)
    modes.set(yticks=(0.4, 1.4), yticklabels=FEET, xlabel="time [s]", xlim=(time[0], time[-1]))
    out["root"] = figure
    if "probe" in outcomes:
        d = outcomes["probe"].details
        figure = plot.blank(9, 3.6, "LO-007: one clock moved by 0.06 of a cycle")
        axes = figure.subplots()
        axes.plot([s.time for s in d.walk], 1000 * d.offset, color="#2c6fbb")
        axes.set(xlabel="time [s]", ylabel="right leg off half a cycle [1/1000 cycle]")
        out["probe"] = figure
    return out


EXPERIMENT = Experiment(
    run=run,
    variants=(
        Variant("retained", Parameters(), "0.60 m/s, frames of 60 Hz"),
        Variant("slow", Parameters(0.40), "0.40 m/s"),
        Variant("fast", Parameters(0.80), "0.80 m/s"),
        Variant("clamped", Parameters(2.5), "a command beyond the range"),
        Variant("frames-30", Parameters(frames=30.0), "frames of 30 Hz"),
        Variant("frames-144", Parameters(frames=144.0), "frames of 144 Hz"),
        Variant("frames-random", Parameters(frames=0.0), "frames of random length"),
        Variant("probe", Parameters(probe=0.06), "the right leg's clock moved by 0.06 of a cycle at 8 s"),
        Variant("minute", Parameters(seconds=60.0), "a minute: nothing drifts, nothing grows"),
    ),
    checks=(
        root_moves_without_a_jump,
        planted_feet_and_segments_are_exact,
        ankle_stays_within_the_guardrail,
        corrections_are_bounded,
        clocks_are_even_at_the_end,
        history_is_a_ring,
        replay_is_exact_to_the_bit,
    ),
    comparisons=(frames_make_no_difference, probe_recovers_and_root_does_not_notice),
    figures=figures,
)
