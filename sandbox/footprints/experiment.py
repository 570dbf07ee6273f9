"""The experiment of the 2021 paper on people of the CMU database: case 1, one's own footprints; case 2, those of one's other walks.

Each target is told in three stages: the unchanged start, footprints satisfied, objective converged. Walks of one person are alike, so
that an unchanged start already scores well: what counts is what the stages add. Runs (over 2.2 m/s) are apart. The paper's seven
subjects (Olivier et al. 2011) are other people: its figures are context, not a measure.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.files import written_whole
from sandbox.footprints.anatomy import Dof, WalkerAnatomy
from sandbox.footprints.curves import CURVES, Start
from sandbox.footprints.model import Body
from sandbox.footprints.people import Gait, gait
from sandbox.footprints.priority import prioritised
from sandbox.footprints.solver import Problem, Solver

Array = NDArray[np.float64]

WALKS = 2.2  # [m/s] below which a trial is a walk
SEED = 2021  # draws the trial of each subject that is made to walk in the prints of the others
SPARE = math.radians(2.0)  # beyond what a subject's walks show: the capture's angles are not those of which joints.toml has the limits
TILT_SPREAD = math.radians(0.5)  # of a pelvis's tilt around where it is expected
SUBJECTS_TILT = "mean tilt of the other subjects' walks about its mean, on the mean of the start"
PAPER = {"rms_deg": [0.31, 7.2], "converged_0.1_m": "54 of 77", "r2": [0.79, 0.84, 0.20, 0.73, 0.89, 0.74, 0.89]}
# The paper's order of degrees of freedom, as indices into CURVES.
PAPER_ORDER = (1, 0, 2, 4, 5, 3, 6)
ACKNOWLEDGEMENT = (
    "The data used in this project was obtained from mocap.cs.cmu.edu. The database was created with funding from NSF EIA-0196217."
)


@dataclass(frozen=True)
class Trial:
    """A row of TRIALS.csv."""

    subject: str
    number: int
    clip: str
    frames: tuple[int, int] | None


@dataclass(frozen=True)
class Outcome:
    """One target.

    Attributes:
        subject, start, target: trial numbers.
        rms: of the three stages against the captured curves, over all of them [deg].
        by_dof: RMS (3, 7) [deg]; r2: squared correlations (3, 7), in the order of CURVES.
        error: missed prints after each stage [m].
        objective: of the three stages.
        seconds: CPU time [s].
    """

    subject: str
    start: int
    target: int
    rms: Array
    by_dof: Array
    r2: Array
    error: Array
    objective: Array
    seconds: float


def read_trials(data: Path) -> list[Trial]:
    """The trials in a folder of reference data.

    Raises:
        ValueError: no TRIALS.csv there.
    """
    path = data / "TRIALS.csv"
    try:
        rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    except OSError:
        raise ValueError(f"{path}: no such file: give the folder of the reference data, which holds TRIALS.csv and cmu/") from None
    out = []
    for row in rows:
        found = re.match(r"frames (\d+)-(\d+)", row["part"])
        out.append(Trial(row["subject"], int(row["trial"]), row["clip"], (int(found[1]), int(found[2])) if found else None))
    return out


def read_people(
    data: Path, trials: Sequence[Trial], progress: Callable[[float], None] | None = None
) -> tuple[dict[tuple[str, int], Gait], list[str]]:
    """Symmetric gaits of all trials, and what could not be read; a bad trial does not stop the others."""
    people, failed = {}, []
    for k, trial in enumerate(trials):
        try:
            people[(trial.subject, trial.number)] = gait(data / "cmu" / trial.subject / f"{trial.clip}.amc", frames=trial.frames)
        except ValueError as error:
            failed.append(f"{trial.clip}: {error}".replace(f"{data}/", ""))
        if progress is not None:
            progress(k + 1)
    return people, failed


def allowing(anatomy: WalkerAnatomy, gaits: Sequence[Gait]) -> WalkerAnatomy:
    """The body with limits widened to what the subject's own walks show, and two degrees."""
    channels = np.concatenate([g.start.channels()[:, :7] for g in gaits])
    dofs = dict(anatomy.dofs)
    for k, name in enumerate(CURVES):
        low, high = dofs[name].limits
        dofs[name] = Dof(
            name, dofs[name].axis, (min(low, float(channels[:, k].min()) - SPARE), max(high, float(channels[:, k].max()) + SPARE))
        )
    return replace(anatomy, dofs=dofs)


def compare(solver: Solver, target: Start, subject: str, start: int, number: int) -> Outcome:
    """Solve one target, and hold its stages against what the subject did."""
    found, wanted = solver.run(), target.channels()[:, :7]
    stages = [angles[:, :7] for angles in found.stages]
    by_dof = np.degrees(np.sqrt([((s - wanted) ** 2).mean(axis=0) for s in stages]))
    return Outcome(
        subject, start, number, np.sqrt((by_dof**2).mean(axis=1)), by_dof,
        np.array([[_r2(s[:, k], wanted[:, k]) for k in range(7)] for s in stages]),
        np.array(found.errors), np.array(found.objective), found.seconds,
    )  # fmt: skip


def _r2(a: Array, b: Array) -> float:
    return float(np.corrcoef(a, b)[0, 1] ** 2) if a.std() > 1e-12 and b.std() > 1e-12 else 0.0


def tilt_of_others(people: Mapping[tuple[str, int], Gait], subject: str) -> Array:
    """Mean tilt (SAMPLES,) [rad] about its mean of all other subjects, every subject counting once."""
    tilts: dict[str, list[Array]] = {}
    for (who, _), person in people.items():
        if who != subject and person.speed < WALKS:
            tilt = person.start.channels()[:, 2]
            tilts.setdefault(who, []).append(tilt - tilt.mean())
    return np.asarray(np.mean([np.mean(t, axis=0) for t in tilts.values()], axis=0))


def run(people: Mapping[tuple[str, int], Gait], failed: Sequence[str], out: Path | None = None) -> dict[str, Any]:
    """The whole experiment; every part is written to ``out`` as soon as it is there, so that a stopped one keeps what it has."""
    walks = {key: g for key, g in people.items() if g.speed < WALKS}
    subjects = sorted({s for s, _ in walks})
    bodies = {
        s: Body(allowing(next(g.anatomy for (w, _), g in walks.items() if w == s), [g for (w, _), g in walks.items() if w == s]))
        for s in subjects
    }
    prints = {key: bodies[key[0]].between(g.start.channels()[0])[0] for key, g in walks.items()}
    rng = np.random.default_rng(SEED)
    numbers = {s: sorted(n for w, n in walks if w == s) for s in subjects}
    chosen = {s: numbers[s][int(rng.integers(len(numbers[s])))] for s in subjects}
    own = [(s, n, n) for s in subjects for n in numbers[s]]
    others = [(s, chosen[s], n) for s in subjects for n in numbers[s] if n != chosen[s]]
    found: dict[str, Any] = {
        "source": f"CMU Graphics Lab Motion Capture Database, subjects {', '.join(subjects)}; derived figures only",
        "acknowledgement": ACKNOWLEDGEMENT,
        "walks": len(walks), "runs_apart": sorted(f"{s}/{n}" for (s, n), g in people.items() if g.speed >= WALKS), "not_read": list(failed),
        "chosen": chosen, "paper": PAPER, "curves": list(CURVES), "cases": {},
    }  # fmt: skip

    def solve(pairs: Sequence[tuple[str, int, int]], measured: bool = False, **options: Any) -> list[Outcome]:
        outcomes = []
        for s, a, b in pairs:
            goal = prints[(s, b)]
            if measured:
                goal = np.array([*walks[(s, b)].measured, goal[2]])
            extra = dict(options)
            if extra.pop("tilt_prior", False) and len(subjects) > 1:
                tilt = tilt_of_others(walks, s) + walks[(s, a)].start.channels()[:, 2].mean()
                extra["priors"] = {"pelvis_tilt": (tilt, TILT_SPREAD)}
            problem = Problem(bodies[s].anatomy, walks[(s, a)].start, [goal], walks[(s, b)].start.period, **extra)
            outcomes.append(compare(Solver(problem, bodies[s]), walks[(s, b)].start, s, a, b))
        return outcomes

    cases: dict[str, tuple[Sequence[tuple[str, int, int]], dict[str, Any]]] = {
        "1 own prints": (own, {}),
        "1 own prints as captured": (own, {"measured": True}),
        "1 own prints, splines alone": (own, {"detail": False}),
        "2 other walks' prints": (others, {}),
        "2 with prior of tilt": (others, {"tilt_prior": True}),
        "2 splines alone": (others, {"detail": False}),
        "2 jerk": (others, {"objective": "jerk"}),
        "2 energy": (others, {"objective": "energy"}),
    }
    for name, (pairs, options) in cases.items():
        found["cases"][name] = summary(solve(pairs, **options))
        _save(found, out)
    found["published iteration"] = {}
    for name, scaled in (("unscaled", False), ("scaled", True)):
        ends = [
            prioritised(Problem(bodies[s].anatomy, walks[(s, a)].start, [prints[(s, b)]], walks[(s, b)].start.period, detail=False), scaled)
            for s, a, b in others
        ]
        found["published iteration"][name] = {
            "targets": len(ends),
            "to_0.1_m": sum(e.error < 0.1 for e in ends),
            "to_0.01_m": sum(e.error < 0.01 for e in ends),
            "to_0.01_m_within_limits": sum(e.error < 0.01 and e.beyond <= 0 for e in ends),
            "furthest_m": round(max(e.error for e in ends), 4),
        }
        _save(found, out)
    return found


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Figures of a case: three stages each; SD over targets, spread over subjects."""
    subjects = sorted({o.subject for o in outcomes})
    rms, r2, error = (np.array([getattr(o, key) for o in outcomes]) for key in ("rms", "r2", "error"))
    seconds = [o.seconds for o in outcomes]
    of = {s: [k for k, o in enumerate(outcomes) if o.subject == s] for s in subjects}
    means = np.array([r2[rows].mean(axis=0) for rows in of.values()])
    return {
        "targets": len(outcomes),
        "to_0.01_m": [int((error[:, k] < 0.01).sum()) for k in range(3)],
        "to_0.001_m": [int((error[:, k] < 0.001).sum()) for k in range(3)],
        "furthest_m": float(error[:, 2].max()),
        "rms_deg": _rounded(rms.mean(axis=0)),
        "rms_sd_deg": _rounded(rms.std(axis=0)),
        "rms_deg_by_subject": {s: _rounded(rms[rows].mean(axis=0)) for s, rows in of.items()},
        "rms_deg_by_curve": [_rounded(row) for row in np.mean([o.by_dof for o in outcomes], axis=0)],
        "r2": [_rounded(row) for row in r2.mean(axis=0)],
        "r2_sd": [_rounded(row) for row in r2.std(axis=0)],
        "r2_least_of_subjects": [_rounded(row) for row in means.min(axis=0)],
        "r2_most_of_subjects": [_rounded(row) for row in means.max(axis=0)],
        "objective": [float(f"{v:.4g}") if math.isfinite(v) else None for v in np.mean([o.objective for o in outcomes], axis=0)],
        "cpu_s": {"mean": round(float(np.mean(seconds)), 3), "most": round(max(seconds), 3)},
    }


def _rounded(values: Array) -> list[float]:
    return [round(float(v), 3) for v in values]


def _save(found: Mapping[str, Any], out: Path | None) -> None:
    if out is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    with written_whole(out / "experiment.json") as temporary:
        temporary.write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def table(found: Mapping[str, Any]) -> str:
    """The results, for people."""
    head = ("case", "1 mm", "RMS deg: start", "footprints", "objective", "CPU s")
    lines = [f"{found['walks']} walks; {len(found['runs_apart'])} runs apart, {len(found['not_read'])} trials not read",
             "{:28} {:>8} {:>15} {:>11} {:>10} {:>6}  R2 rot obl tilt flex add hrot knee".format(*head)]  # fmt: skip
    for name, case in found["cases"].items():
        a, b, c = case["rms_deg"]
        r2 = " ".join(f"{v:.2f}" for v in case["r2"][2])
        lines.append(
            f"{name:28} {case['to_0.001_m'][2]:>3} of {case['targets']:<2} {a:>13.2f} {b:>11.2f} {c:>10.2f} "
            f"{case['cpu_s']['most']:>6.2f}  {r2}"
        )
    for name, ends in found.get("published iteration", {}).items():
        lines.append(
            f"published iteration, {name}: {ends['to_0.1_m']} of {ends['targets']} to 0.1 m, {ends['to_0.01_m']} to 0.01 m, "
            f"{ends['to_0.01_m_within_limits']} of them within limits"
        )
    return "\n".join(lines)
