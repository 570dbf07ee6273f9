"""Files are written whole or not at all."""

from pathlib import Path

import pytest

from sandbox.files import written_whole


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "walk.txt"
    path.write_text("old")
    with written_whole(path) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "walk.txt"
    path.write_text("old")

    def fail_halfway() -> None:
        with written_whole(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
