"""Progress, and a standard output that holds results alone."""

import io
import os
import sys

import pytest

from sandbox import console
from sandbox.console import Progress, results_only, silenced


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    return now


def test_short_work_shows_nothing(clock: list[float]) -> None:
    stream = Terminal()
    with Progress("walk", 20.0, "s", stream=stream) as progress:
        clock[0] += 1.9
        progress(10.0)
    assert stream.getvalue() == ""


def test_bar_on_a_terminal_is_taken_away(clock: list[float]) -> None:
    stream = Terminal()
    with Progress("walk", 20.0, "s", stream=stream) as progress:
        clock[0] += 3.0
        progress(5.0, "1 failed")
        progress(5.1)  # too soon to be drawn again
    assert stream.getvalue() == "\rwalk [######------------------] 5 of 20 s, 9 s left, 1 failed\x1b[K\r\x1b[K"


def test_plain_lines_elsewhere(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress("battery", 330, "runs", stream=stream) as progress:
        for k in range(1, 31):
            clock[0] += 1.0
            progress(k)
    assert stream.getvalue().splitlines() == [
        "battery: 2 of 330 runs",
        "battery: 12 of 330 runs, 5 min left",
        "battery: 22 of 330 runs, 5 min left",
    ]


def test_results_only(capfd: pytest.CaptureFixture[str]) -> None:
    with results_only() as out:
        print("a word")
        os.write(1, b"from a C library\n")
        out.write("{}\n")
    print("again")
    sys.stdout.flush()
    said = capfd.readouterr()
    assert said.out == "{}\nagain\n"
    assert said.err == "from a C library\na word\n" or said.err == "a word\nfrom a C library\n"


def test_silenced(capfd: pytest.CaptureFixture[str]) -> None:
    with silenced():
        os.write(1, b"dropped\n")
        os.write(2, b"dropped\n")
        print("dropped")
    print("kept")
    sys.stdout.flush()
    assert capfd.readouterr() == ("kept\n", "")
