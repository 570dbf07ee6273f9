"""Libraries that only pictures need, and that an installation may lack."""

from __future__ import annotations

from importlib import import_module


def need(module: str, extra: str) -> None:
    """Make sure that a library can be imported.

    Raises:
        ModuleNotFoundError: it cannot; the message names the extra that brings it.
    """
    try:
        import_module(module)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"this needs {module}, which is not installed: pip install 'locomotion-sandbox[{extra}]'", name=module
        ) from None
