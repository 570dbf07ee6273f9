"""The bench of measuring."""

from __future__ import annotations

import pytest

from sandbox import cli
from sandbox.bench.measure import measure


@pytest.mark.slow
def test_all_figures_are_measured() -> None:
    shares: list[float] = []
    figures = measure(shares.append)
    assert [figure.unit for figure in figures] == ["CPU s", "s", "MB"]
    assert all(figure.value is not None and figure.value > 0 for figure in figures)
    assert shares == sorted(shares)
    assert figures[2].reached


def test_bad_input(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "measure", "--seeds", "3"]) == 2
    assert "--seeds means nothing to `bench measure`" in capfd.readouterr().err
