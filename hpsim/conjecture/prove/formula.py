"""Conditions on polynomials: comparisons with zero, joined by *and* and *or*; negation goes down to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from hpsim.conjecture.prove.poly import Poly

Comparison = Literal[">", ">=", "==", "!="]


@dataclass(frozen=True)
class Atom:
    """``poly`` compared with zero."""

    poly: Poly
    op: Comparison


@dataclass(frozen=True)
class Join:
    """All of ``parts``, or any of them; of none: true, or false."""

    all: bool
    parts: tuple[Formula, ...]

    @cached_property
    def size(self) -> int:
        """Comparisons in it, each as often as it stands there."""
        return sum(part.size if isinstance(part, Join) else 1 for part in self.parts)


Formula = Atom | Join

TRUE = Join(True, ())
FALSE = Join(False, ())


def every(parts: Iterable[Formula]) -> Formula:
    """The conjunction, simplified."""
    return _join(True, parts)


def some(parts: Iterable[Formula]) -> Formula:
    """The disjunction, simplified."""
    return _join(False, parts)


def _join(conjunction: bool, parts: Iterable[Formula]) -> Formula:
    neutral, absorbing = (TRUE, FALSE) if conjunction else (FALSE, TRUE)
    kept: dict[Formula, None] = {}
    for part in parts:
        if part == absorbing:
            return absorbing
        inner = part.parts if isinstance(part, Join) and part.all == conjunction else (part,)
        kept.update(dict.fromkeys(inner))
    if not kept:
        return neutral
    return next(iter(kept)) if len(kept) == 1 else Join(conjunction, tuple(kept))


def compared(poly: Poly, op: str) -> Formula:
    """``poly op 0`` for any of the six comparisons; decided at once for constants."""
    if op in ("<", "<="):
        return compared(-poly, ">" if op == "<" else ">=")
    value = poly.constant
    if value is not None:
        return TRUE if _OPS[op](value) else FALSE
    return Atom(poly, op)  # type: ignore[arg-type]


_OPS = {">": lambda v: v > 0, ">=": lambda v: v >= 0, "==": lambda v: v == 0, "!=": lambda v: v != 0}


def negated(formula: Formula) -> Formula:
    """Its negation."""
    if isinstance(formula, Join):
        return _join(not formula.all, map(negated, formula.parts))
    if formula.op in (">", ">="):
        return Atom(-formula.poly, ">=" if formula.op == ">" else ">")
    return Atom(formula.poly, "!=" if formula.op == "==" else "==")


def atoms(formula: Formula) -> Iterator[Atom]:
    """All comparisons in it."""
    waiting = [formula]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Atom):
            yield each
        else:
            waiting += each.parts


def replaced(formula: Formula, variable: str, by: Poly) -> Formula:
    """With ``by`` in place of ``variable``."""
    if isinstance(formula, Atom):
        return compared(formula.poly.replaced(variable, by), formula.op)
    return _join(formula.all, (replaced(part, variable, by) for part in formula.parts))


def holds(formula: Formula, values: dict[str, Fraction]) -> bool:
    """Whether it is true where the variables have these values."""
    if isinstance(formula, Atom):
        return bool(_OPS[formula.op](formula.poly.at(values)))
    return (all if formula.all else any)(holds(part, values) for part in formula.parts)
