"""`sandbox doctor`: look at this installation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Doctor:
    """Look at this installation: versions, engines, renderer, a five-second walk; and how to mend what is wrong."""

    def execute(self) -> int:
        """Print the findings, and return the exit code."""
        from sandbox import doctor

        return doctor.main()
