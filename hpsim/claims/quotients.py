"""Statements with divisions on float64, without rounding: quotients are kept as two exact numbers.

``a/b`` is a pair with a positive lower number; sums, products and comparisons of pairs need products only, which are
exact while they stay within 2^53 grid units. Where they would not, a pair becomes one rounded number, as elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from hpsim.claims import float_algebra, tree
from hpsim.claims.evaluate import System
from hpsim.claims.float_algebra import FloatAlgebra, FloatCondition, FloatDecision, FloatNumber
from hpsim.claims.tree import Statement

_ONE = FloatNumber(np.float64(1.0), 1.0, 1.0)
_LARGEST = 2**53


@dataclass(frozen=True)
class Quotient:
    """``top / bottom``, both exact, ``bottom`` above 0."""

    top: FloatNumber
    bottom: FloatNumber


Number = FloatNumber | Quotient


class QuotientAlgebra(FloatAlgebra):
    """The operations on numbers and quotients; what is not a quotient is as in :class:`FloatAlgebra`."""

    def constant(self, value: Fraction) -> Any:
        denominator = value.denominator
        if denominator & (denominator - 1) and abs(value.numerator) < _LARGEST and denominator < _LARGEST:
            return Quotient(super().constant(Fraction(value.numerator)), super().constant(Fraction(denominator)))
        return super().constant(value)

    def negative(self, a: Any) -> Any:
        return Quotient(super().negative(a.top), a.bottom) if isinstance(a, Quotient) else super().negative(a)

    def absolute(self, a: Any) -> Any:
        return Quotient(super().absolute(a.top), a.bottom) if isinstance(a, Quotient) else super().absolute(a)

    def add(self, a: Any, b: Any) -> Any:
        return self._sum(a, b, super().add)

    def subtract(self, a: Any, b: Any) -> Any:
        return self._sum(a, b, super().subtract)

    def multiply(self, a: Any, b: Any) -> Any:
        if not isinstance(a, Quotient) and not isinstance(b, Quotient):
            return super().multiply(a, b)
        made = self._pair(super().multiply(_top(a), _top(b)), super().multiply(_bottom(a), _bottom(b)))
        return super().multiply(self.rounded(a), self.rounded(b)) if made is None else made

    def divide(self, a: Any, b: Any) -> Any:
        top, bottom = super().multiply(_top(a), _bottom(b)), super().multiply(_bottom(a), _top(b))
        if bottom.exact and bottom.bound > 0:
            sign = FloatNumber(np.where(bottom.values < 0, -1.0, 1.0), 1.0, 1.0)
            size = np.abs(bottom.values)
            least = min(bottom.unit, 1.0) or 1.0
            positive = FloatNumber(np.where(size == 0, least, size), bottom.unit, max(bottom.bound, least))
            made = self._pair(super().multiply(top, sign), positive)
            if made is not None:
                return made
        return super().divide(self.rounded(a), self.rounded(b))

    def largest(self, numbers: Sequence[Any]) -> Any:
        return self._extreme(numbers, ">=") if _any(numbers) else super().largest(numbers)

    def smallest(self, numbers: Sequence[Any]) -> Any:
        return self._extreme(numbers, "<=") if _any(numbers) else super().smallest(numbers)

    def compare(self, operation: str, a: Any, b: Any) -> FloatCondition:
        if not _any((a, b)):
            return super().compare(operation, a, b)
        left, right = super().multiply(_top(a), _bottom(b)), super().multiply(_top(b), _bottom(a))
        if left.exact and right.exact:
            return super().compare(operation, left, right)
        return super().compare(operation, self.rounded(a), self.rounded(b))

    def nonzero(self, a: Any) -> Any:
        return super().nonzero(_top(a))

    def countable(self, a: Any) -> Any:
        return super().countable(self.rounded(a))

    def rounded(self, a: Any) -> FloatNumber:
        """The number nearest to a quotient; exact where every quotient is whole."""
        if not isinstance(a, Quotient):
            return a  # type: ignore[no-any-return]
        values = a.top.values / a.bottom.values
        bound = float(np.max(np.abs(values))) if np.size(values) else 0.0
        if bound < _LARGEST and np.array_equal(np.rint(values) * a.bottom.values, a.top.values):
            return FloatNumber(values, 1.0, bound)
        return super().divide(a.top, a.bottom)

    def _sum(self, a: Any, b: Any, operation: Any) -> Any:
        if not _any((a, b)):
            return operation(a, b)
        if _bottom(a) is _bottom(b):
            made = self._pair(operation(_top(a), _top(b)), _bottom(a))
        else:
            left, right = super().multiply(_top(a), _bottom(b)), super().multiply(_top(b), _bottom(a))
            made = self._pair(operation(left, right), super().multiply(_bottom(a), _bottom(b)))
        return operation(self.rounded(a), self.rounded(b)) if made is None else made

    def _extreme(self, numbers: Sequence[Any], operation: str) -> Any:
        def further(a: Any, b: Any) -> Any:
            margins, self.margins = self.margins, False
            chosen = self.compare(operation, a, b)
            self.margins = margins
            if chosen.near is not None:
                pair = [self.rounded(a), self.rounded(b)]
                return FloatAlgebra.largest(self, pair) if operation == ">=" else FloatAlgebra.smallest(self, pair)
            return Quotient(_either(chosen, _top(a), _top(b)), _either(chosen, _bottom(a), _bottom(b)))

        return reduce(further, numbers)

    def _pair(self, top: FloatNumber, bottom: FloatNumber) -> Quotient | None:
        return Quotient(top, bottom) if top.exact and bottom.exact else None


def needs_quotients(statement: Statement) -> bool:
    """Whether a statement divides, as steady slopes do, or has a constant that float64 does not hold."""
    for node in statement.nodes():
        if isinstance(node, tree.Steady) or (isinstance(node, tree.Binary) and node.operation == "/"):
            return True
        if isinstance(node, tree.Constant) and node.value.denominator & (node.value.denominator - 1):
            return True
    return False


def decide(
    statement: Statement,
    systems: Mapping[str, System],
    M: FloatNumber,
    rho: FloatNumber | None,
    shape: tuple[int, ...],
    margins: bool = True,
) -> FloatDecision:
    """The statement at points of this shape, as :func:`hpsim.claims.float_algebra.decide` with fewer doubts."""
    algebra = QuotientAlgebra(margins) if needs_quotients(statement) else None
    return float_algebra.decide(statement, systems, M, rho, shape, margins, algebra)


def as_float(count: Number) -> FloatNumber:
    """A number of micro-batches as one number."""
    return QuotientAlgebra().rounded(count)


def _any(numbers: Sequence[Any]) -> bool:
    return any(isinstance(number, Quotient) for number in numbers)


def _top(a: Number) -> FloatNumber:
    return a.top if isinstance(a, Quotient) else a


def _bottom(a: Number) -> FloatNumber:
    return a.bottom if isinstance(a, Quotient) else _ONE


def _either(chosen: FloatCondition, a: FloatNumber, b: FloatNumber) -> FloatNumber:
    values = np.where(chosen.truth, a.values, b.values)
    return FloatNumber(values, min(a.unit, b.unit), max(a.bound, b.bound), 0.0)
