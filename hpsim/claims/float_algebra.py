"""Statements on float64 arrays, one entry for each point: fast, and aware of where rounding could mislead.

Beside its values a :class:`FloatNumber` knows a grid that all of them lie on and a bound on their size. While sums and
products stay within 2^53 grid units they are exact, and then nothing is ever in doubt. Elsewhere an absolute error is
carried along, and a comparison whose sides differ by no more than that is *near*: it has to be decided on Fractions.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from hpsim.claims.evaluate import System, evaluate
from hpsim.claims.tree import Statement

Array = Any  # float64 or bool, of shape (n,) or (), where n is the number of points
_LIMIT = 2.0**53
_ROUNDING = 2.0**-52  # twice the largest relative error of one operation, so that bounds may be rounded themselves
_TINY = 1e-300


@dataclass(frozen=True)
class FloatNumber:
    """A number at every point.

    Attributes
    ----------
    values : array (n,) or ()
    unit : float
        A power of two that every value is a multiple of, or 0 where no such grid is known.
    bound : float
        No value is larger in size.
    error : float or array
        How far the values may be from the true ones; 0.0 where they are exact.
    """

    values: Array
    unit: float
    bound: float
    error: Any = 0.0

    @classmethod
    def of(cls, values: Array, unit: float = 0.0, bound: float | None = None, error: Any = 0.0) -> FloatNumber:
        """``values``; the bound is measured when it is not given."""
        values = np.asarray(values, dtype=np.float64)
        if bound is None:
            bound = float(np.max(np.abs(values))) if values.size else 0.0
        return cls(values, unit, bound, error)

    @property
    def exact(self) -> bool:
        """Whether the values are the true ones."""
        return isinstance(self.error, float) and self.error == 0.0


@dataclass(frozen=True)
class FloatCondition:
    """A condition at every point.

    Attributes
    ----------
    truth : bool array (n,) or ()
    margin : float array (n,) or (), or None
        How far from changing: above 0 where the condition holds and below where it fails, relative to the sides
        compared; 0 on a tie. None when margins are left out.
    near : bool array (n,) or (), or None
        Where ``truth`` may be wrong because of rounding; None is nowhere.
    """

    truth: Array
    margin: Array | None
    near: Array | None


@dataclass(frozen=True)
class FloatDecision:
    """A statement at n points: arrays of shape (n,).

    Attributes
    ----------
    truth, defined, near : bool arrays
        Whether the statement holds; where it is defined; where the other two, or either, may be wrong by rounding.
    margin : float array, or None
        How far from failing, as in :class:`FloatCondition`.
    """

    truth: Array
    defined: Array
    near: Array
    margin: Array | None

    @property
    def suspects(self) -> Array:
        """Where the statement fails, or may fail: the points to decide on Fractions."""
        return (self.defined & ~self.truth) | self.near


class FloatAlgebra:
    """The operations on :class:`FloatNumber` and :class:`FloatCondition`; domains are bool arrays.

    ``margins=False`` leaves margins out, for callers that only want the truth.
    """

    def __init__(self, margins: bool = True) -> None:
        self.margins = margins
        self.doubt: Array = np.False_  # where the domain of anything may be wrong because of rounding

    def constant(self, value: Fraction) -> FloatNumber:
        nearest = float(value)
        denominator = value.denominator
        dyadic = denominator & (denominator - 1) == 0
        error = 0.0 if Fraction(nearest) == value else abs(nearest) * _ROUNDING
        unit = 1.0 / denominator if dyadic and error == 0.0 and denominator < 2**1000 else 0.0
        return FloatNumber(np.float64(nearest), unit, abs(nearest), error)

    def negative(self, a: FloatNumber) -> FloatNumber:
        return FloatNumber(-a.values, a.unit, a.bound, a.error)

    def absolute(self, a: FloatNumber) -> FloatNumber:
        return FloatNumber(np.abs(a.values), a.unit, a.bound, a.error)

    def add(self, a: FloatNumber, b: FloatNumber) -> FloatNumber:
        return _sum(a.values + b.values, a, b)

    def subtract(self, a: FloatNumber, b: FloatNumber) -> FloatNumber:
        return _sum(a.values - b.values, a, b)

    def multiply(self, a: FloatNumber, b: FloatNumber) -> FloatNumber:
        values, bound, unit = a.values * b.values, a.bound * b.bound, a.unit * b.unit
        if a.exact and b.exact and unit > 0 and bound < _LIMIT * unit:
            return FloatNumber(values, unit, bound)
        error = a.bound * b.error + b.bound * a.error + a.error * b.error + bound * _ROUNDING + _TINY
        return FloatNumber(values, 0.0, bound, error)

    def divide(self, a: FloatNumber, b: FloatNumber) -> FloatNumber:
        if b.exact and b.values.ndim == 0 and abs(math.frexp(b.values)[0]) == 0.5:  # by a power of two
            inverse = 1.0 / b.values
            return self.multiply(a, FloatNumber(inverse, abs(float(inverse)), abs(float(inverse))))
        divisor = np.where(b.values == 0, 1.0, b.values)
        values = a.values / divisor
        bound = float(np.max(np.abs(values))) if np.size(values) else 0.0
        if b.exact:
            error = a.error / np.abs(divisor) + bound * _ROUNDING + _TINY
        else:  # the true divisor is at least this large; where that is nothing, anything may have come out
            least = np.abs(b.values) - b.error
            safe = np.where(least > 0, least, 1.0)
            error = np.where(least > 0, (a.error + np.abs(values) * b.error) / safe, np.inf) + bound * _ROUNDING + _TINY
        return FloatNumber(values, 0.0, bound, error)

    def largest(self, numbers: Sequence[FloatNumber]) -> FloatNumber:
        return _extreme(np.maximum, numbers)

    def smallest(self, numbers: Sequence[FloatNumber]) -> FloatNumber:
        return _extreme(np.minimum, numbers)

    def indicator(self, a: FloatCondition) -> FloatNumber:
        error = 0.0 if a.near is None else a.near * 1.0
        return FloatNumber(a.truth * 1.0, 1.0, 1.0, error)

    def compare(self, operation: str, a: FloatNumber, b: FloatNumber) -> FloatCondition:
        truth = _COMPARE[operation](a.values, b.values)
        near = None
        if not (a.exact and b.exact):
            near = ~(np.abs(a.values - b.values) > (a.error + b.error) * (1 + 2.0**-40))
        return FloatCondition(truth, _margin(operation, a.values, b.values) if self.margins else None, near)

    def both(self, a: FloatCondition, b: FloatCondition) -> FloatCondition:
        margin = None if a.margin is None or b.margin is None else np.minimum(a.margin, b.margin)
        return FloatCondition(a.truth & b.truth, margin, _doubt(operator.and_, a, b))

    def either(self, a: FloatCondition, b: FloatCondition) -> FloatCondition:
        margin = None if a.margin is None or b.margin is None else np.maximum(a.margin, b.margin)
        return FloatCondition(a.truth | b.truth, margin, _doubt(operator.or_, a, b))

    def opposite(self, a: FloatCondition) -> FloatCondition:
        return FloatCondition(~a.truth, None if a.margin is None else -a.margin, a.near)

    def nonzero(self, a: FloatNumber) -> Array:
        if not a.exact:
            self.doubt = self.doubt | ~(np.abs(a.values) > a.error)
        return a.values != 0

    def countable(self, a: FloatNumber) -> Array:
        if not a.exact:
            self.doubt = self.doubt | ~(np.abs(a.values - np.rint(a.values)) > a.error)
        return (a.values >= 1) & (a.values == np.floor(a.values))

    def where(self, a: FloatCondition) -> Array:
        return a.truth

    def meet(self, a: Array, b: Array) -> Array:
        return a & b

    def join(self, a: Array, b: Array) -> Array:
        return a | b


def decide(
    statement: Statement,
    systems: Mapping[str, System],
    M: FloatNumber,
    rho: FloatNumber | None,
    shape: int | tuple[int, ...],
    margins: bool = True,
    algebra: FloatAlgebra | None = None,
) -> FloatDecision:
    """The statement at points of this shape; where it is undefined, ``truth`` and ``margin`` mean nothing.

    ``algebra`` is a fresh one of a subclass, which then says whether margins are wanted.
    """
    algebra = algebra or FloatAlgebra(margins)
    with np.errstate(all="ignore"):
        term = evaluate(statement, systems, M, rho, algebra)
    condition: FloatCondition = term.value
    near = algebra.doubt if condition.near is None else algebra.doubt | condition.near
    margin = None if condition.margin is None else np.broadcast_to(condition.margin, shape)
    truth, domain, doubtful = (np.broadcast_to(part, shape) for part in (condition.truth, term.domain, near))
    return FloatDecision(truth, domain, doubtful, margin)


def _margin(operation: str, a: Array, b: Array) -> Array:
    """How far the comparison is from changing, relative to the larger side; in place, since these arrays are large."""
    distance = np.asarray(b - a if operation in ("<", "<=") else a - b)
    if operation in ("==", "!="):
        np.abs(distance, out=distance)
    if operation == "==":
        np.negative(distance, out=distance)
    scale = np.empty_like(distance)
    np.maximum(np.abs(a), np.abs(b), out=scale)
    np.maximum(scale, _TINY, out=scale)
    np.divide(distance, scale, out=distance)
    return distance


def _sum(values: Array, a: FloatNumber, b: FloatNumber) -> FloatNumber:
    bound, unit = a.bound + b.bound, min(a.unit, b.unit)
    if a.exact and b.exact and unit > 0 and bound < _LIMIT * unit:
        return FloatNumber(values, unit, bound)
    return FloatNumber(values, 0.0, bound, a.error + b.error + bound * _ROUNDING)


def _extreme(function: Callable[..., Array], numbers: Sequence[FloatNumber]) -> FloatNumber:
    """One of the numbers everywhere, so that nothing is rounded."""
    error = 0.0 if all(number.exact for number in numbers) else reduce(np.maximum, [number.error for number in numbers])
    values = reduce(function, [number.values for number in numbers])
    unit, bound = min(number.unit for number in numbers), max(number.bound for number in numbers)
    return FloatNumber(values, unit, bound, error)


def _doubt(function: Callable[[Array, Array], Array], a: FloatCondition, b: FloatCondition) -> Array | None:
    """Where ``function`` of the two changes when the doubtful ones among them turn out the other way."""
    if a.near is None and b.near is None:
        return None
    nowhere = np.False_
    a_near, b_near = (nowhere if x.near is None else x.near for x in (a, b))
    return function(a.truth | a_near, b.truth | b_near) & ~function(a.truth & ~a_near, b.truth & ~b_near)


_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
