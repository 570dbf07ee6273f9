"""Contact sheets, videos of two, and the command that writes them: without a display."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sandbox import cli
from sandbox.measure import Gait
from sandbox.recording import Recording
from sandbox.report.figure import LEFT_COLOUR, RIGHT_COLOUR, rgb
from sandbox.report.picture import typical_stride
from sandbox.report.sheet import HEAD, STEPS, TILE, save_sheet
from sandbox.report.video import save_video

Image = pytest.importorskip("PIL.Image")
iio = pytest.importorskip("imageio.v3")


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB")).astype(int)


def bluish(picture: np.ndarray) -> np.ndarray:
    return (picture[..., 2] > picture[..., 0] + 60) & (picture[..., 2] > 90)


def reddish(picture: np.ndarray) -> np.ndarray:
    return (picture[..., 0] > picture[..., 2] + 70) & (picture[..., 0] > 110)


def test_a_body_at_every_tenth_from_two_sides(walk: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    save_sheet(walk, tmp_path / "sheet.png")
    picture = pixels(tmp_path / "sheet.png")
    assert picture.shape[1] == STEPS * TILE[0]
    for row in range(2):
        for k in range(STEPS):
            tile = picture[HEAD + row * TILE[1] : HEAD + (row + 1) * TILE[1], k * TILE[0] : (k + 1) * TILE[0]]
            assert bluish(tile).sum() > 100, (row, k)
            assert reddish(tile).sum() > 100, (row, k)
            body = np.flatnonzero((bluish(tile) | reddish(tile)).any(axis=1))
            assert np.ptp(body) > 0.4 * TILE[1]
    # the first and the last are the same moment of the cycle, the middle one is not
    first, middle, last = (picture[HEAD : HEAD + TILE[1], k * TILE[0] : (k + 1) * TILE[0]] for k in (0, 5, 10))
    assert (bluish(first) ^ bluish(last)).sum() < 0.5 * (bluish(first) ^ bluish(middle)).sum()


def test_the_force_of_both_feet_is_plotted_beneath(walk: Recording, tmp_path: Path) -> None:
    save_sheet(walk, tmp_path / "sheet.png")
    strip = pixels(tmp_path / "sheet.png")[HEAD + 2 * TILE[1] :]
    for colour in (LEFT_COLOUR, RIGHT_COLOUR):
        line = np.abs(strip - np.array(rgb(colour))).max(axis=2) < 30
        assert line.any(axis=0).sum() > 0.8 * (STEPS - 1) * TILE[0], "from the first figure to the last"
        assert np.ptp(np.flatnonzero(line.any(axis=1))) > 60, "it rises and falls"


def test_the_forces_are_filtered_and_named(walk: Recording, tmp_path: Path) -> None:
    """A spike of one row, as a landing has, is seen at a fraction of its height; both colours are in the legend."""
    flat = {**walk.columns, "ground_force": np.zeros_like(walk.ground_force)}
    gait = Gait(walk)
    stride = typical_stride(gait.strides)
    middle = int(np.searchsorted(walk.time, 0.5 * (stride.start + stride.end)))
    flat["ground_force"][middle, 1, 2] = 1.5 * 9.81 * walk.header["body"]["mass_kg"]
    save_sheet(Recording(walk.header, flat), tmp_path / "sheet.png")
    strip = pixels(tmp_path / "sheet.png")[HEAD + 2 * TILE[1] :]
    plot, legend = strip[30:], strip[:30]
    red = np.abs(plot - np.array(rgb(RIGHT_COLOUR))).max(axis=2) < 30
    rise = np.ptp(np.flatnonzero(red.any(axis=1)))
    assert 10 < rise < 0.6 * len(plot)
    for colour in (LEFT_COLOUR, RIGHT_COLOUR):
        assert (np.abs(legend - np.array(rgb(colour))).max(axis=2) < 30).sum() > 40


@pytest.mark.parametrize("which", ["one row", "two rows", "fall", "still", "kinematic", "slope", "points"])
def test_any_recording_has_a_sheet(odd_recordings: dict[str, Recording], which: str, tmp_path: Path) -> None:
    save_sheet(odd_recordings[which], tmp_path / "sheet.png")
    assert pixels(tmp_path / "sheet.png").std() > 5


def test_videos_of_two(walk: Recording, tmp_path: Path) -> None:
    late = Recording(walk.header, {**walk.columns, "points": walk.points + np.array([0.0, 0.6, 0.0])})
    save_video(walk, tmp_path / "side.mp4", width=320, height=160, end=0.2, second=late)
    save_video(walk, tmp_path / "ghost.gif", width=160, height=160, end=0.2, second=late, together="ghost")
    save_video(walk, tmp_path / "one.gif", width=160, height=160, end=0.2)
    side = np.asarray(iio.imread(tmp_path / "side.mp4", plugin="pyav"))[-1].astype(int)
    for half in (side[:, :160], side[:, 160:]):
        assert bluish(half).sum() > 30
    one, ghost = (pixels(tmp_path / name) for name in ("one.gif", "ghost.gif"))
    assert (np.abs(one - ghost).max(axis=2) > 25).sum() > 100, "the ghost is seen beside the body"


def test_the_command(walk: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    short = {k: v[:60] if len(v) == len(walk) else v[:0] for k, v in walk.columns.items()}
    Recording(walk.header, short).save("a.npz")
    assert (
        cli.main(["replay", "a.npz", "a.npz", "--together", "ghost", "--html", "out/a.html", "--video", "a.gif", "--sheet", "a.png"]) == 0
    )
    assert capfd.readouterr().out == "written: out/a.html, a.gif, a.png\n"
    assert "a and a" in Path("out/a.html").read_text()
    assert sorted(path.name for path in Path().iterdir()) == ["a.gif", "a.npz", "a.png", "out"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("a.npz", "--html FILE.html"),
        ("absent.npz --html a.html", "absent.npz"),
        ("text.npz --html a.html", "not a recording"),
        ("foreign.npz --html a.html", "lacks the body points"),
        ("a.npz --html a.png", ".html"),
        ("a.npz --sheet a.html", ".png"),
        ("a.npz a.npz --sheet a.png", "shows one recording"),
        ("a.npz --video a.avi", ".mp4 or .gif"),
        ("a.npz --html /proc/a.html", "cannot write"),
    ],
)
def test_bad_input(
    arguments: str, said: str, walk: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    walk.save("a.npz")
    Path("text.npz").write_text("hello")
    Recording({**walk.header, "point_names": ["marker"]}, {"time": walk.time, "points": walk.points[:, :1]}).save("foreign.npz")
    assert cli.main(["replay", *arguments.split()]) == 2
    out, err = capfd.readouterr()
    assert said in err
    assert (out, err.count("\n")) == ("", 1)
    assert sorted(path.name for path in Path().iterdir()) == ["a.npz", "foreign.npz", "text.npz"]


@pytest.mark.slow
def test_the_gallery(tmp_path: Path) -> None:
    assert cli.main(["gallery", "--out", str(tmp_path / "g")]) == 0
    pictures = sorted((tmp_path / "g").iterdir())
    assert [path.name for path in pictures] == ["both.png", "push.png", "stride.png", "threshold.png", "turn.png"]
    for path in pictures:
        assert path.stat().st_size < 250_000
        picture = pixels(path)
        assert bluish(picture).sum() > 1000
        assert reddish(picture).sum() > 1000
