"""How far the shipped gaits are from people's, and whether they have moved away since the committed baseline."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

from sandbox.controllers.parameters import Parameters
from sandbox.measure.analysis import Analysis
from sandbox.measure.curves import CURVES
from sandbox.measure.people import MINIMAL_DIFFERENCE, acknowledgement, scores
from sandbox.report.table import table
from sandbox.simulation import run

# Speeds [m/s] at which each plant is measured: all that the kinematic one is shipped for, and those at which the physical one walks.
SPEEDS: dict[str, tuple[float, ...]] = {"kinematic": (0.5, 0.8, 1.2), "bullet": (0.6, 0.8, 1.0, 1.2)}
SECONDS, SEED = 14.0, 0
BASELINE = "naturalness.json"

# By how much a figure may grow before it counts as moving away from people. The physical walk is chaotic: another machine's
# rounding gives another walk of the same kind.
TOLERANCE = {"kinematic": {"deg": 1.0, "leg": 0.01, "gps": 0.5}, "bullet": {"deg": 3.0, "leg": 0.03, "gps": 1.2}}

Gait = dict[str, Any]


def measure(plant: str, speed: float, parameters: Parameters | None = None) -> Gait:
    """A shipped gait against people: ``gps_deg``, and by curve the RMS that counts and its distance in people's SDs.

    ``fell`` is the time of a fall [s], with which there may be no figures; None without one.
    """
    recording = run("walk", plant=plant, speed=speed, seconds=SECONDS, seed=SEED, parameters=parameters)
    fall = recording.header["fall"]
    out: Gait = {"plant": plant, "speed_mps": speed, "fell": fall["time_s"] if fall["fell"] else None, "gps_deg": None, "curves": {}}
    analysis = Analysis.of(recording, "contact")
    if analysis.straight:
        found = scores(analysis)
        out["gps_deg"] = round(found.gps.value, 3)
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
    """Every shipped gait of these plants. ``progress`` is told how many are done."""
    pairs = [(plant, speed) for plant in plants for speed in SPEEDS[plant]]
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
    lines = [
        "RMS from people over people's SD, the furthest first; in brackets the change since the baseline.",
        "Absolute angles of pelvis, hip, knee, ankle and foot against adults, all else against CMU's people with means removed.",
        f"The Gait Profile Score is of nine curves; {MINIMAL_DIFFERENCE:g} degrees make a change.",
        "",
        table(rows, ["", "unit", *columns], left=2),
    ]
    lines += [f"{gait['plant']} at {gait['speed_mps']:g} m/s FELL after {gait['fell']:.2f} s" for gait in gaits if gait["fell"] is not None]
    lines.append(acknowledgement())
    return "\n".join(lines)
