"""The harness of the experiments: what is found, what is refused, and what counts as a fault."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox import harness
from sandbox.harness import Expected, Experiment, Outcome, Variant


@dataclass(frozen=True)
class Plan:
    length: float = 0.28
    steps: int = 6
    kind: str = "plain"

    def __post_init__(self):
        if self.length < 0:
            raise ValueError(f"length {self.length:g} m is negative")


@dataclass(frozen=True)
class Parameters:
    plan: Plan = Plan()
    sweep: tuple[float, ...] = (0.1, 0.2)
    mirrored: bool = False


def run(parameters: Parameters) -> Outcome[None]:
    return Outcome({"length_m": parameters.plan.length}, None, None)


def short(outcome: Outcome[None]) -> bool:
    """No step is longer than 0.3 m."""
    return outcome.metrics["length_m"] <= 0.3


def rejected_is_longer(outcomes) -> bool:
    """The rejected candidate takes longer steps."""
    return outcomes["long"].metrics["length_m"] > outcomes["retained"].metrics["length_m"]


LONG = Variant("long", Parameters(Plan(0.5)), "too long", fails=(short,))
EXPERIMENT = Experiment(run, (Variant("retained", Parameters(), "as it is"), LONG), (short,), (rejected_is_longer,))
EXPECTED = {"retained": {"length_m": Expected(0.28, 1e-9)}, "long": {"length_m": Expected(0.5, 1e-9)}}


def faults(experiment=EXPERIMENT, expected=EXPECTED) -> list[str]:
    return [fault for result in harness.run(experiment, experiment.variants, expected) for fault in result.faults]


def test_a_rejected_candidate_that_fails_as_expected_is_no_fault():
    assert faults() == []


def test_a_rejected_candidate_that_passes_is_a_fault():
    tamed = Experiment(run, (Variant("long", Parameters(Plan(0.29)), "no longer long", fails=(short,)),), (short,))
    (fault,) = faults(tamed, {"long": {"length_m": Expected(0.29, 1e-9)}})
    assert "short holds" in fault


def test_a_retained_variant_that_fails_a_check_is_a_fault():
    broken = Experiment(run, (Variant("retained", Parameters(Plan(0.4)), ""),), (short,))
    (fault,) = faults(broken, {"retained": {"length_m": Expected(0.4, 1e-9)}})
    assert "short does not hold" in fault


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({}, "not in the TOML file"),
        ({"length_m": Expected(0.28, 0.0), "width_m": Expected(1.0, 1.0)}, "width_m was not measured"),
        ({"length_m": Expected(0.281, 1e-4)}, "expected 0.281"),
        ({"length_m": Expected(math.nan, 1.0)}, "expected nan"),
    ],
)
def test_metrics_that_are_not_as_expected_are_faults(rows, said):
    only = Experiment(run, EXPERIMENT.variants[:1], (short,))
    (fault,) = faults(only, {"retained": rows})
    assert said in fault


@pytest.mark.parametrize("value", [math.nan, 12.0])
def test_a_metric_without_a_tolerance_is_told_and_not_held(value):
    only = Experiment(run, EXPERIMENT.variants[:1], (short,))
    assert faults(only, {"retained": {"length_m": Expected(value, math.inf)}}) == []


def test_comparisons_wait_for_all_variants():
    results = {r.variant.name: r for r in harness.run(EXPERIMENT, EXPERIMENT.variants)}
    assert harness.compared(EXPERIMENT, results) == {"rejected-is-longer": True}
    assert harness.compared(EXPERIMENT, {"retained": results["retained"]}) == {}


def test_changes_reach_nested_parameters_and_keep_kinds():
    got = harness.changed(Parameters(), ["plan.length=0.3", "plan.steps=8", "plan.kind=odd", "sweep=1, 2,3", "mirrored=TRUE"])
    assert got == Parameters(Plan(0.3, 8, "odd"), (1.0, 2.0, 3.0), True)


def test_changes_are_made_together():
    """One may be legal only beside another."""

    @dataclass(frozen=True)
    class Span:
        low: float = 0.1
        high: float = 0.9

        def __post_init__(self):
            if not self.low < self.high:
                raise ValueError("low must be below high")

    assert harness.changed(Span(), ["low=0.95", "high=0.99"]) == Span(0.95, 0.99)
    with pytest.raises(ValueError, match="low must be below high"):
        harness.changed(Span(), ["low=0.95"])


def test_parameters_say_what_they_are():
    @dataclass(frozen=True)
    class Body:
        """A body.

        Attributes:
            mass: in ``kg``.
            height: of the body,
                standing [m].
            left, right: feet.
        """

        mass: float = 70.0
        height: float = 1.7
        left: int = 0
        right: int = 1
        plan: Plan = Plan()

    said = harness.documented(Body())
    assert said == {
        "mass": "in kg.", "height": "of the body, standing [m].", "left": "feet.", "right": "feet.",
        "plan.length": "", "plan.steps": "", "plan.kind": "",
    }  # fmt: skip


def test_entries_in_one_line_and_values_of_two_parts_are_documented() -> None:
    @dataclass(frozen=True)
    class Ends:
        """Of a range.

        Attributes:
            slow: at the lowest speed; fast: at the highest
        """

        slow: float = 1.0
        fast: float = 2.0

    @dataclass(frozen=True)
    class Swing:
        """Of the arms.

        Attributes:
            forward, back: wrist from the shoulder [m]; elbow: flexion [rad].
        """

        forward: Ends = Ends()
        back: Ends = Ends()
        elbow: float = 0.2

    assert harness.documented(Swing()) == {
        "forward.slow": "wrist from the shoulder [m]; at the lowest speed", "forward.fast": "wrist from the shoulder [m]; at the highest",
        "back.slow": "wrist from the shoulder [m]; at the lowest speed", "back.fast": "wrist from the shoulder [m]; at the highest",
        "elbow": "flexion [rad].",
    }  # fmt: skip


def test_every_parameter_of_every_experiment_is_explained() -> None:
    for entry in harness.catalogue().values():
        for variant in entry.load().variants:
            silent = [key for key, text in harness.documented(variant.parameters).items() if not text]
            assert not silent, (entry.name, variant.name, silent)


def test_an_experiment_that_raises_has_failed(package: Path):
    (package / "lo_001_first.toml").write_text("")
    verdict = harness.check("lo-001-first")
    assert not verdict.passed
    assert "raised AttributeError" in verdict.line()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("plan.lenght=1", "unknown parameter 'plan.lenght': did you mean 'plan.length'?"),
        ("plan=1", "unknown parameter 'plan'"),
        ("plan.length", "is not KEY=VALUE"),
        ("plan.length=long", "not a number"),
        ("plan.length=nan", "not finite"),
        ("plan.length=-1", "negative"),
        ("plan.steps=1.5", "not a whole number"),
        ("mirrored=2", "neither true nor false"),
    ],
)
def test_changes_that_cannot_be_used_are_refused(change, said):
    with pytest.raises(ValueError, match=said.replace("?", r"\?")):
        harness.changed(Parameters(), [change])


DOCSTRING = (
    '"""{title}\n\nQuestion: Why?\n\nMethod: So.\n\nResult: Thus.\n\nLimits: None\n    worth naming.\n\nSuperseded by: {after}\n"""\n'
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of three experiments."""
    folder = tmp_path / f"made_up_{uuid.uuid4().hex}"  # Python remembers packages by name
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name, after in (("lo_001_first", "LO-002"), ("lo_002_second", "nothing"), ("lo_002_third", "nothing")):
        (folder / f"{name}.py").write_text(DOCSTRING.format(title=f"{name}: a title.", after=after))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(harness, "PACKAGE", folder.name)
    return folder


def test_the_catalogue_reads_texts_without_importing(package: Path):
    entries = harness.catalogue()
    assert list(entries) == ["lo-001-first", "lo-002-second", "lo-002-third"]
    first = entries["lo-001-first"]
    assert (first.short, first.status, first.superseded_by) == ("lo-001", "superseded", "LO-002")
    assert first.paragraphs["Limits"] == "None worth naming."
    assert entries["lo-002-second"].status == "current"


@pytest.mark.parametrize("name", ["lo-001", "LO-001", "lo_001_first", "lo-001-first"])
def test_the_beginning_of_a_name_will_do(package: Path, name: str):
    assert harness.find(name, harness.catalogue()).name == "lo-001-first"


@pytest.mark.parametrize(
    ("name", "said"), [("lo-002", "lo-002-second, lo-002-third"), ("lo-01", "did you mean 'lo-001'"), ("lo-001-frist", "'lo-001-first'")]
)
def test_names_that_fit_none_or_several_are_refused(package: Path, name: str, said: str):
    with pytest.raises(ValueError, match=said):
        harness.find(name, harness.catalogue())


def test_a_docstring_without_a_paragraph_is_refused(package: Path):
    (package / "lo_003_mute.py").write_text('"""LO-003: no question.\n\nMethod: none.\n"""\n')
    with pytest.raises(ValueError, match=r"lo_003_mute.py: the docstring has no paragraph 'Question:'"):
        harness.catalogue()


@pytest.mark.parametrize(
    ("row", "said"), [("{ value = 1.0 }", "tolerance"), ("{ value = 1.0, tolerance = -1.0 }", "tolerance -1"), ("{ valu = 1 }", "valu")]
)
def test_a_damaged_toml_file_is_refused(package: Path, row: str, said: str):
    (package / "lo_001_first.toml").write_text(f"[retained]\nlength_m = {row}\n")
    with pytest.raises(ValueError, match=said):
        harness.catalogue()["lo-001-first"].expected()
