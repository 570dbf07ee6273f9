"""The bench of the live view: what it asks for, and how it reads."""

from __future__ import annotations

import pytest

from sandbox import cli
from sandbox.bench.view import WANTED_FACTOR, WANTED_UPDATES, Figure, table


def test_what_is_kept() -> None:
    good = Figure("one client", 1, WANTED_UPDATES, WANTED_FACTOR)
    late, choppy = good._replace(factor=0.9), good._replace(updates=20.0)
    assert [figure.kept for figure in (good, late, choppy)] == [True, False, False]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table([good, late]).splitlines()[2:]]
    assert rows == [["one client", "1", "28.5", "0.97", "kept"], ["one client", "1", "28.5", "0.90", "NOT kept"]]


@pytest.mark.parametrize(
    ("arguments", "said"), [("--seeds 2", "--seeds"), ("--seconds 1", "3..600 s"), ("--out x", "--out"), ("--json /proc/x", "--json")]
)
def test_bad_input(arguments: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "view", *arguments.split()]) == 2
    out, err = capfd.readouterr()
    assert said in err
    assert (out, err.count("\n")) == ("", 1)
