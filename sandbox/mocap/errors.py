"""What is wrong with a capture file, said in one line."""

from __future__ import annotations

from pathlib import Path


class CaptureError(ValueError):
    """A file that cannot be read as motion capture, or that lacks what a measure needs."""


def read_text(path: Path) -> str:
    """Text of a file; a byte that is no UTF-8 (comments of old files hold some) is replaced.

    Raises:
        CaptureError: no such file, or one that cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise CaptureError(f"{path}: no such file") from None
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror}: give a file that can be read") from None
