"""`sandbox audit`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox import cli
from sandbox.measure import MARCH_FIELDS
from sandbox.simulation import run


def test_recordings_are_audited_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, speed in (("slow", 0.6), ("quick", 1.2)):
        run("walk", plant="continuous", speed=speed, seconds=9.0).save(tmp_path / f"{name}.npz")
    files = [str(tmp_path / "slow.npz"), str(tmp_path / "quick.npz")]
    assert cli.main(["audit", *files]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["unit", "slow.npz", "quick.npz"]
    assert all(key in out for key in MARCH_FIELDS)
    assert cli.main(["audit", *files, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    for name in ("slow.npz", "quick.npz"):
        assert figures[name]["halts_per_step"] == 0
        assert figures[name]["foot_modes"] == 4
        assert figures[name]["rolled_share"] == 1
    assert cli.main(["audit", str(tmp_path / "none.npz")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_study_is_audited(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from sandbox.cli import audit

    monkeypatch.setattr(audit, "STUDY", audit.STUDY[:3])  # the others take longer
    assert cli.main(["audit", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    for march in ("lo-006", "lo-007"):
        assert figures[march]["halts_per_step"] == pytest.approx(1.0, abs=0.05)
        assert figures[march]["speed_swing"] > 3
    assert figures["lo-008"]["halts_per_step"] == 0
    assert figures["lo-008"]["speed_swing"] < 0.01


def test_a_clamped_speed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "walk", "--plant", "continuous", "--speed", "0.2", "--seconds", "4"]) == 0
    assert "note: 0.2 m/s is walked at 0.4 m/s" in capsys.readouterr().out
