"""How far the shipped gaits are from people's, and whether they have moved away since the committed baseline."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from sandbox.controllers.parameters import Parameters
from sandbox.measure.analysis import STRIDE_FIELDS, Analysis
from sandbox.measure.curves import CURVES
from sandbox.measure.flow import POP, Pop, pops, segment_accelerations
from sandbox.measure.people import MINIMAL_DIFFERENCE, acknowledgement, people_scalar, scores
from sandbox.report.table import table
from sandbox.scenes.scene import Command, Scene
from sandbox.simulation import run

# Speeds [m/s] at which each plant is measured: all that the kinematic one is shipped for, and those at which the physical one walks.
SPEEDS: dict[str, tuple[float, ...]] = {"kinematic": (0.5, 0.8, 1.2), "bullet": (0.6, 0.8, 1.0, 1.2)}
# Published walks beside them, on the kinematic plant: no gaits of ours, so that no baseline guards them.
PEERS: dict[str, tuple[float, ...]] = {"boulic": (0.8, 1.2), "klaw": (0.8, 1.2)}
SECONDS, SEED = 14.0, 0
BASELINE = "naturalness.json"

# By how much a figure may grow before it counts as moving away from people. The physical walk is chaotic: another machine's
# rounding gives another walk of the same kind.
TOLERANCE = {"kinematic": {"deg": 1.0, "leg": 0.01, "gps": 0.5}, "bullet": {"deg": 3.0, "leg": 0.03, "gps": 1.2}}

# Figures that are shown beside people's: of head, chest and arms.
UPPER_BODY = ("head_sway_leg", "obliquity_undone", "arm_timing")

# A fixed route to look for jerks on: start, walk, speed up, turn, go on, stop, stand. Name of each part, when it begins [s], speed [m/s],
# heading rate [rad/s].
ROUTE = (
    ("stand", 0.0, 0.0, 0.0),
    ("start", 1.0, 0.8, 0.0),
    ("walk", 4.0, 0.8, 0.0),
    ("speed up", 8.0, 1.1, 0.0),
    ("slow down", 12.0, 0.8, 0.0),
    ("turn", 15.0, 0.8, 0.4),
    ("go on", 19.0, 0.8, 0.0),
    ("stop", 22.0, 0.0, 0.0),
)
ROUTE_SECONDS = 26.0

Gait = dict[str, Any]


class RoutePops(NamedTuple):
    """Jerks on the route.

    ``plant``; when it ``fell`` [s] if it did; ``pops`` with the part of the route; the ``largest`` angular acceleration of each
    segment [deg/frame^2 at 60 Hz].
    """

    plant: str
    fell: float | None
    pops: list[tuple[str, Pop]]
    largest: dict[str, float]


def route_pops(plant: str, parameters: Parameters | None = None) -> RoutePops:
    """Walk the route and list the jerks of every segment, the largest first."""
    commands = tuple(Command(time, speed, rate) for _, time, speed, rate in ROUTE)
    scene = Scene("route", commands, ROUTE_SECONDS, seed=SEED)
    recording = run(scene, plant=plant, seed=SEED, parameters=parameters)
    fall = recording.header["fall"]

    def part(time: float) -> str:
        return [name for name, start, _, _ in ROUTE if start <= time][-1]

    found = [(part(pop.time), pop) for pop in pops(recording)]
    largest = {segment: float(values.max()) for segment, (_, values) in segment_accelerations(recording).items()}
    return RoutePops(plant, fall["time_s"] if fall["fell"] else None, found, largest)


def route_text(found: RoutePops, most: int = 8) -> str:
    """The largest jerks of a route, one a line, and how many there are in each part."""
    counts = Counter(part for part, _ in found.pops)
    told = ", ".join(f"{part} {counts[part]}" for part, *_ in ROUTE if counts[part]) or "none"
    lines = [f"{found.plant}: pops above {POP:g} deg/frame^2 on the route: {told}"]
    if found.fell is not None:
        lines[0] += f"; FELL after {found.fell:.2f} s"
    rows = [
        [f"{pop.time:.2f}", part, pop.segment.replace("_", " "), f"{pop.acceleration:.1f}", pop.state] for part, pop in found.pops[:most]
    ]
    if rows:
        lines.append(table(rows, ["time [s]", "part", "segment", "deg/frame^2", "state of the gait"], left=0))
    worst: dict[str, float] = {}
    for segment, value in found.largest.items():
        name = segment.removeprefix("left_").removeprefix("right_").replace("_", " ")
        worst[name] = max(worst.get(name, 0.0), value)
    told = ", ".join(f"{name} {value:.1f}" for name, value in sorted(worst.items(), key=lambda item: -item[1]))
    lines.append(f"largest of each segment [deg/frame^2]: {told}")
    return "\n".join(lines)


def measure(plant: str, speed: float, parameters: Parameters | None = None) -> Gait:
    """A shipped gait, or a peer's, against people: ``gps_deg``, and by curve the RMS that counts and its distance in people's SDs.

    ``fell`` is the time of a fall [s], with which there may be no figures; None without one.
    """
    if plant in PEERS:
        recording = run("walk", plant="kinematic", speed=speed, seconds=SECONDS, seed=SEED, stance=plant)
    else:
        recording = run("walk", plant=plant, speed=speed, seconds=SECONDS, seed=SEED, parameters=parameters)
    fall = recording.header["fall"]
    out: Gait = {"plant": plant, "speed_mps": speed, "fell": fall["time_s"] if fall["fell"] else None, "gps_deg": None}
    out |= {"curves": {}, "upper_body": {}}
    analysis = Analysis.of(recording, "contact")
    if analysis.straight:
        found = scores(analysis)
        out["gps_deg"] = round(found.gps.value, 3)
        out["froude"] = round(found.froude, 4)
        out["upper_body"] = {key: round(analysis.mean(key), 4) for key in UPPER_BODY}
        out["curves"] = {
            c.name: {"rms": round(c.counted, 4), "distance": round(c.distance, 3), "unit": c.unit, "reference": c.reference}
            for c in found.curves
        }
    return out


def measure_all(
    plants: Sequence[str] = tuple(SPEEDS),
    parameters: Parameters | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Gait]:
    """Every shipped gait of these plants, and every peer among them. ``progress`` is told how many are done."""
    pairs = [(plant, speed) for plant in plants for speed in (SPEEDS | PEERS)[plant]]
    out = []
    for k, (plant, speed) in enumerate(pairs):
        out.append(measure(plant, speed, parameters))
        if progress is not None:
            progress(k + 1)
    return out


def baseline() -> list[Gait]:
    """The committed figures; empty where there are none."""
    file = files("sandbox.measure").joinpath("data", BASELINE)
    if not file.is_file():
        return []
    gaits: list[Gait] = json.loads(file.read_text(encoding="utf-8"))["gaits"]
    return gaits


def baseline_text(gaits: Sequence[Gait]) -> str:
    """Content of the baseline's file."""
    header = Parameters.load()
    return json.dumps({"seconds": SECONDS, "seed": SEED, "parameters": header.hash, "gaits": list(gaits)}, indent=1) + "\n"


def before(gait: Gait, known: Sequence[Gait]) -> Gait | None:
    """The same gait in the baseline."""
    for old in known:
        if (old["plant"], old["speed_mps"]) == (gait["plant"], gait["speed_mps"]):
            return old
    return None


def moved_away(gait: Gait, old: Gait) -> list[str]:
    """What of a gait is further from people than it was, beyond tolerance, one line each; empty where nothing is."""
    where = f"{gait['plant']} at {gait['speed_mps']:g} m/s"
    if gait["fell"] is not None:
        return [f"{where}: fell after {gait['fell']:.2f} s"] if old["fell"] is None else []
    limit = TOLERANCE[gait["plant"]]
    out = []
    if old["gps_deg"] is not None:
        if gait["gps_deg"] is None:
            return [f"{where}: no stride"]
        if gait["gps_deg"] > old["gps_deg"] + limit["gps"]:
            out.append(f"{where}: Gait Profile Score {old['gps_deg']:.2f} to {gait['gps_deg']:.2f} deg, {limit['gps']:g} allowed")
    for name, was in old["curves"].items():
        now = gait["curves"].get(name)
        if now is None:
            out.append(f"{where}: {name} is not measured any more")
        elif now["rms"] > was["rms"] + limit[was["unit"]]:
            out.append(f"{where}: {name} {was['rms']:.3g} to {now['rms']:.3g} {was['unit']}, {limit[was['unit']]:g} allowed")
    return out


def ranking(gaits: Sequence[Gait], known: Sequence[Gait]) -> str:
    """Curves by their distance from people, the furthest first, a column a gait, with the change since the baseline in brackets."""
    columns = [f"{gait['plant']} {gait['speed_mps']:g}" for gait in gaits]
    olds = [before(gait, known) for gait in gaits]
    rows = []

    def cell(now: float | None, was: float | None, digits: int = 1) -> str:
        if now is None:
            return "-"
        change = f" ({now - was:+.{digits}f})" if was is not None and round(now - was, digits) else ""
        return f"{now:.{digits}f}{change}"

    rows.append(
        ["Gait Profile Score", "deg", *[cell(g["gps_deg"], old["gps_deg"] if old else None) for g, old in zip(gaits, olds, strict=True)]],
    )
    names = {name for gait in gaits for name in gait["curves"]}
    worst = {name: max(gait["curves"][name]["distance"] for gait in gaits if name in gait["curves"]) for name in names}
    for name in sorted(names, key=lambda name: -worst[name]):
        cells = []
        for gait, old in zip(gaits, olds, strict=True):
            now = gait["curves"].get(name)
            was = old["curves"].get(name) if old else None
            cells.append(cell(now and now["distance"], was and was["distance"]))
        rows.append([CURVES[name].label, "SD", *cells])
    upper = []
    for key in UPPER_BODY:
        cells = []
        for gait in gaits:
            people = people_scalar(key, gait["froude"]) if "froude" in gait else None
            mine = gait["upper_body"].get(key)
            cells.append("-" if mine is None or people is None else f"{mine:.2f} / {people.mean:.2f}")
        upper.append([key.removesuffix("_leg").replace("_", " "), STRIDE_FIELDS[key].unit, *cells])
    lines = [
        "RMS from people over people's SD, the furthest first; in brackets the change since the baseline.",
        "Absolute angles of pelvis, hip, knee, ankle and foot against adults, all else against CMU's people with means removed.",
        f"The Gait Profile Score is of nine curves; {MINIMAL_DIFFERENCE:g} degrees make a change.",
        "",
        table(rows, ["", "unit", *columns], left=2),
        "",
        "ours / people's at the same Froude number:",
        table(upper, ["", "unit", *columns], left=2),
    ]
    lines += [f"{gait['plant']} at {gait['speed_mps']:g} m/s FELL after {gait['fell']:.2f} s" for gait in gaits if gait["fell"] is not None]
    lines.append(acknowledgement())
    return "\n".join(lines)
