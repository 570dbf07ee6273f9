"""The one switch between compiled and plain Python for the hot path.

The functions marked ``@kernel`` are ordinary Python on floats and small arrays. numba compiles them (cached on disk); with
``NUMBA_DISABLE_JIT=1`` the same text runs uncompiled, and the tests hold both paths equal. Floating point is strict: no
fastmath, because walking is sensitive enough that a changed rounding changes which step a marginal push fells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile with numba, strict floating point, cached on disk."""
    return cast(F, numba.njit(cache=True, fastmath=False, error_model="numpy")(function))
