"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """A temporary name beside ``path`` to write to, which becomes ``path`` if all goes well and is removed if not.

    It keeps the ending of the name, from which some writers tell the format. Raises OSError where the folder cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
