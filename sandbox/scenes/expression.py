"""Arithmetic in scene files: ``"max(6, seconds - 8)"``. Numbers, names, ``+ - * /``, brackets, ``min`` and ``max``: no more."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from sandbox.config import nearest

LONGEST = 200  # characters: enough for arithmetic, too short to exhaust the parser

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max}


def evaluate(text: str, names: Mapping[str, float]) -> float:
    """Value of an expression of ``names``.

    Raises:
        ValueError: it is no such arithmetic, or its value is no number.
    """
    try:
        if len(text) > LONGEST:
            raise SyntaxError
        value = _value(ast.parse(text.strip(), mode="eval").body, names)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"{text[:40]!r} is no arithmetic: give numbers, {', '.join(names)}, + - * /, min, max") from None
    except (ZeroDivisionError, OverflowError):
        raise ValueError(f"{text!r} has no value: it divides by zero or grows beyond all numbers") from None
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is {value}: give an expression with a finite value")
    return value


def _value(node: ast.expr, names: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=bool()):
            raise SyntaxError
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            if name not in names:
                raise ValueError(f"unknown name {name!r}{nearest(name, names)}")
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, names) for argument in arguments))
    raise SyntaxError
