"""Every experiment still gives what it gave, and the command that runs them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from sandbox import cli, harness
from sandbox.recording import Recording
from sandbox.report import plot

NAMES = list(harness.catalogue())
SLOW = {"lo-009-dynamic-stance", "lo-010-klaw"}


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in NAMES])
def test_an_experiment_passes(name: str):
    verdict = harness.check(name)
    assert verdict.passed, verdict.line()


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_drawn_of_one_variant_alone(name: str):
    """As `run --variant` asks for them."""
    experiment = harness.catalogue()[name].load()
    (result,) = harness.run(experiment, experiment.variants[-1:])
    if experiment.figures is None:
        return
    with plot.style():
        for figure in experiment.figures({result.variant.name: result.outcome}).values():
            figure.draw_without_rendering()
            assert figure.axes


@pytest.mark.parametrize("name", NAMES)
def test_every_check_says_what_it_claims(name: str):
    experiment = harness.catalogue()[name].load()
    claims = [harness.claim_of(check) for check in (*experiment.checks, *experiment.comparisons)]
    assert claims
    assert all(claims)
    rejected = [check for variant in experiment.variants for check in variant.fails]
    assert set(rejected) <= set(experiment.checks)


def test_run_writes_recording_replay_figures_and_metrics(elsewhere: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["experiment", "run", "lo-003", "--out", "here/lo3", "--set", "samples=10", "--set", "high=0.2"]) == 0
    folder = elsewhere / "here/lo3"
    assert sorted(path.name for path in folder.iterdir()) == [
        "envelopes.png",
        "metrics.json",
        "presets.png",
        "retained.html",
        "retained.npz",
    ]
    assert Recording.load(folder / "retained.npz").header["scene"] == "standing"
    metrics = json.loads((folder / "metrics.json").read_text())["retained"]
    assert metrics["parameters"]["high"] == 0.2
    assert metrics["metrics"]["high_test_lowered_m"] == pytest.approx(-0.195)
    assert "holds  only-height-is-clamped" in capsys.readouterr().out


def test_list_and_show_tell_what_there_is(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["experiment", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(entry.short in listed for entry in harness.catalogue().values())
    assert cli.main(["experiment", "show", "lo-003"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name}:" in shown for name in harness.PARAGRAPHS)
    assert "overreach = 0.9  right ankle forward in OVERREACH [m]." in shown


def test_check_prints_one_line_and_fails_with_the_experiment(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    assert cli.main(["experiment", "check", "lo-003"]) == 0
    assert capsys.readouterr().out.startswith("lo-003   passed")
    wrong = {"retained": {"high_test_lowered_m": harness.Expected(0.0, 0.0)}}
    monkeypatch.setattr(harness.Entry, "expected", lambda _: wrong)
    assert cli.main(["experiment", "check", "lo-003"]) == 1
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "FAILED" in out
    assert "high_test_lowered_m = -0.095000002, expected 0 ± 0" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("chek lo-003", "not one of list, show, run, check"),
        ("run", "needs the name of an experiment"),
        ("run lo-03", "did you mean 'lo-003'?"),
        ("check lo-03", "did you mean 'lo-003'?"),
        ("run lo-003 --variant retaned", "unknown variant 'retaned': did you mean 'retained'?"),
        ("run lo-003 --set hihg=1", "unknown parameter 'hihg': did you mean 'high'?"),
        ("run lo-003 --set high=nan", "high = nan is not finite"),
        ("run lo-003 --set high=-0.1", "high -0.1 m is outside 0..2 m"),
        ("run lo-003 --set samples=0", "samples 0 is outside 1..100000"),
        ("run lo-001 --set height=3", "height 3 m is outside 1.2-2.2 m"),
        ("run lo-001 --set sex=neuter", "sex 'neuter' is not one of mean, female, male"),
        ("run lo-002 --set fast=-1", "fast -1 m/s is outside 0..5 m/s"),
        ("run lo-004 --set plan.step_lenght=0.3", "did you mean 'plan.step_length'?"),
        ("run lo-004 --set plan.step_length=nan", "plan.step_length = nan is not finite"),
        ("run lo-004 --set plan.step_length=-0.3", "step_length -0.3 m is outside 0..1.5 m"),
        ("run lo-004 --set plan.transfer=evn", "unknown transfer 'evn': did you mean 'even'?"),
        ("run lo-004 --set swing=rigth", "unknown foot 'rigth': did you mean 'right'?"),
        ("run lo-005 --set steps=10001", "steps 10001 is outside 1..10000"),
        ("run lo-005 --set drop=0.02", "drop 0.02 m is outside 0..0.01 m"),
        ("check lo-003 --set high=1", "--set means nothing to `experiment check`"),
        ("check all --workers 0", "workers 0 is outside 1..256"),
        ("list lo-003", "sandbox experiment show lo-003"),
    ],
)
def test_bad_input_is_one_line(arguments: str, said: str, elsewhere: Path, capfd: pytest.CaptureFixture[str]):
    typed: Sequence[str] = ["experiment", *arguments.split()]
    assert cli.main(typed) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert said in err
    assert not list(elsewhere.iterdir())


def test_an_output_folder_that_is_a_file_is_refused(elsewhere: Path, capfd: pytest.CaptureFixture[str]):
    (elsewhere / "taken").write_text("mine")
    assert cli.main(["experiment", "run", "lo-003", "--out", "taken"]) == 2
    assert "is not a folder" in capfd.readouterr().err
    assert (elsewhere / "taken").read_text() == "mine"


def test_standing_feet_are_on_the_ground_where_they_are_solved_to_be() -> None:
    """OVERREACH leaves its right foot in the air, the raised step its left one; all others stand flat."""
    from sandbox.harness import catalogue, find
    from sandbox.state import ContactState

    experiment = find("lo-003", catalogue()).load()
    recording = experiment.run(experiment.variants[0].parameters).recording
    presets = recording.header["settings"]["presets"]
    each = len(recording) // len(presets)
    airborne = {"raised left": [0], "OVERREACH": [1]}
    for k, name in enumerate(presets):
        for foot, side in enumerate(("left", "right")):
            row = k * each + each // 2
            lowest = min(recording.point(f"{side}_{point}")[row, 2] for point in ("heel", "toe_base", "toe_tip"))
            in_air = foot in airborne.get(name, [])
            assert (lowest > 1e-3) == in_air, (name, side)
            assert recording.contact_state[row, foot] == (ContactState.AIRBORNE if in_air else ContactState.FLAT), (name, side)
