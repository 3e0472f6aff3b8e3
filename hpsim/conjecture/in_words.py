"""A point and both sides of a statement there, in words: what ``search``, ``prove`` and ``replay`` print alike."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hpsim.claims.exact_algebra import COMPARE

if TYPE_CHECKING:
    from hpsim.claims.exact_algebra import Decision
    from hpsim.conjecture.example import Example

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def point_in_words(names: tuple[str, ...], example: Example) -> str:
    """``tau = [1, 2]   d = [1]   M = 2``; travel times and ``rho`` where there are any."""
    words = []
    for name, times in zip(names, example.pipelines, strict=True):
        prefix = f"{name}." if name else ""
        words.append(f"{prefix}tau = {_vector(times.tau)}")
        if any(times.d) or not name:
            words.append(f"{prefix}d = {_vector(times.d)}")
        if any(times.latency):
            words.append(f"{prefix}latency = {_vector(times.latency)}")
    words.append(f"M = {example.M}")
    if example.rho is not None:
        words.append(f"rho = {example.rho}")
    return "   ".join(words)


def sides_in_words(decision: Decision) -> str:
    """``T_rendezvous = 7 > T_blocking = 6``: what stands on each side, and how the sides really compare."""
    if not decision.sides:
        return ""
    said = [
        side.text if side.value is None or side.text == _value(side.value) else f"{side.text} = {_value(side.value)}"
        for side in decision.sides
    ]
    words = said[0]
    for place, operation in enumerate(decision.operations):
        left, right = decision.sides[place].value, decision.sides[place + 1].value
        words += f" {_really(operation, left, right)} {said[place + 1]}"
    return words


def _really(operation: str, left: object, right: object) -> str:
    """The comparison as it is: the opposite of the one written where that one fails."""
    if not isinstance(left, Fraction) or not isinstance(right, Fraction):
        return operation
    return operation if COMPARE[operation](left, right) else _OPPOSITE[operation]


def in_flow_style(value: Any) -> str:
    """Plain data on one line, in the flow style of YAML."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {in_flow_style(entry)}' for name, entry in value.items())}}}"
    return f"[{', '.join(map(in_flow_style, value))}]" if isinstance(value, list) else str(value)


def _vector(values: tuple[Fraction, ...]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _value(value: Fraction | list[Fraction]) -> str:
    return _vector(tuple(value)) if isinstance(value, list) else str(value)
