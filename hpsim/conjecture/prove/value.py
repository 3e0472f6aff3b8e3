"""Numbers of a statement as the solver sees them: quotients of polynomials, case by case, and their algebra.

``ProofAlgebra`` is an algebra of :mod:`hpsim.claims.evaluate`: conditions and domains are formulas over polynomials. No
division reaches the solver: a comparison of quotients is one of products, by the sign of the denominators.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hpsim.conjecture.prove.formula import FALSE, TRUE, Formula, Join, compared, every, negated, some
from hpsim.conjecture.prove.poly import ONE, ZERO, Poly, poly, variable
from hpsim.conjecture.prove.unsupported import OutOfTime, Unsupported

N = "n"
"""The variable for M - 1."""
SIGNED = "signed "
"""How names of variables begin that may be negative; all others are at least 0."""
STAGE = "one "
"""How names of the times of one stage begin, where it stands for every stage."""
WHOLE = frozenset({N, "S", "A.S", "B.S"})
"""Variables that are whole numbers."""
_MOST_CASES = 64
_MOST_COMPARED = 10_000  # comparisons of a formula that is negated


@dataclass(frozen=True)
class Case:
    """``number / divisor`` where ``guard`` holds."""

    guard: Formula
    number: Poly
    divisor: Poly


@dataclass(frozen=True)
class Value:
    """One of the cases, of which at least one holds everywhere; where several do, they agree."""

    cases: tuple[Case, ...]

    @property
    def plain(self) -> Poly | None:
        """The polynomial that it is everywhere, or None."""
        only = self.cases[0]
        return only.number if len(self.cases) == 1 and only.guard == TRUE and only.divisor == ONE else None


def plain(number: Poly | int | Fraction) -> Value:
    """The value that is one polynomial everywhere."""
    return Value((Case(TRUE, poly(number), ONE),))


def of_cases(cases: Iterable[Case]) -> Value:
    """The value with these cases, without those that are plainly impossible.

    Raises
    ------
    Unsupported
        When there are too many.
    """
    kept = [_simple(case) for case in cases if case.guard != FALSE]
    if len(kept) > _MOST_CASES:
        raise Unsupported("it falls into too many cases")
    return Value(tuple(dict.fromkeys(kept)) or (Case(TRUE, ZERO, ONE),))


def _simple(case: Case) -> Case:
    divisor = case.divisor.constant
    if divisor is None:
        return case
    return Case(case.guard, case.number * (1 / divisor) if divisor else case.number, ONE)


def at_least_zero(number: Poly) -> bool:
    """Whether it is plainly at least 0: no negative coefficient, no variable that may be negative."""
    return all(
        factor > 0 and not any(name.startswith(SIGNED) for name, _ in monomial)
        for monomial, factor in number.terms.items()
    )


def is_whole(number: Poly) -> bool:
    """Whether it is plainly a whole number."""
    return number.has_whole_coefficients and number.variables <= WHOLE


def compared_values(op: str, a: Value, b: Value) -> Formula:
    """``a op b``, right wherever no divisor is 0."""
    parts = []
    for left in a.cases:
        for right in b.cases:
            difference = left.number * right.divisor - right.number * left.divisor
            divisor = left.divisor * right.divisor
            if op in ("==", "!=") or at_least_zero(divisor):
                verdict = compared(difference, op)
            elif at_least_zero(-divisor):
                verdict = compared(-difference, op)
            else:
                above, below = compared(divisor, ">"), compared(divisor, "<")
                verdict = some((every((above, compared(difference, op))), every((below, compared(-difference, op)))))
            parts.append(every((left.guard, right.guard, verdict)))
    return some(parts)


class ProofAlgebra:
    """The algebra of values and formulas.

    Parameters
    ----------
    deadline : float, optional
        On the clock of ``time.monotonic``; after it, whatever takes a maximum raises OutOfTime.

    Attributes
    ----------
    definitions : list of Formula
        What is known of the variables that were introduced for maxima.
    guesses : bool
        Whether a domain may be larger than it says: a count of micro-batches that may not be whole.
    """

    def __init__(self, deadline: float | None = None) -> None:
        self.deadline = deadline
        self.definitions: list[Formula] = []
        self.guesses = False
        self._extremes: dict[frozenset[Poly], Poly] = {}

    def constant(self, value: Fraction) -> Value:
        return plain(value)

    def negative(self, a: Value) -> Value:
        return Value(tuple(Case(case.guard, -case.number, case.divisor) for case in a.cases))

    def absolute(self, a: Value) -> Value:
        return self.largest((a, self.negative(a)))

    def add(self, a: Value, b: Value) -> Value:
        return _paired(a, b, lambda x, y: (x.number * y.divisor + y.number * x.divisor, x.divisor * y.divisor))

    def subtract(self, a: Value, b: Value) -> Value:
        return self.add(a, self.negative(b))

    def multiply(self, a: Value, b: Value) -> Value:
        return _paired(a, b, lambda x, y: (x.number * y.number, x.divisor * y.divisor))

    def divide(self, a: Value, b: Value) -> Value:
        return _paired(a, b, lambda x, y: (x.number * y.divisor, x.divisor * y.number))

    def largest(self, numbers: Sequence[Value]) -> Value:
        self._check_time()
        numbers = list(dict.fromkeys(numbers))
        polys = [number.plain for number in numbers]
        if len(numbers) == 1:
            return numbers[0]
        known = [each for each in polys if each is not None]
        if len(known) == len(polys):
            if not any(_varies(name) for each in known for name in each.variables):
                return plain(self.latest(*known))
            numbers = [plain(each) for each in _undominated(known)]
        return of_cases(
            Case(
                every((case.guard, *(compared_values(">=", one, other) for other in numbers))),
                case.number,
                case.divisor,
            )
            for one in numbers
            for case in one.cases
        )

    def smallest(self, numbers: Sequence[Value]) -> Value:
        return self.negative(self.largest([self.negative(number) for number in numbers]))

    def latest(self, *numbers: Poly | int | Fraction) -> Poly:
        """The largest of some polynomials, as a new variable where that is not plain."""
        self._check_time()
        kept = _undominated([poly(number) for number in numbers])
        if len(kept) == 1:
            return kept[0]
        key = frozenset(kept)
        if key not in self._extremes:
            sign = "" if any(at_least_zero(number) for number in kept) else SIGNED
            largest = variable(f"{sign}max {len(self._extremes) + 1}")
            self._extremes[key] = largest
            self.definitions += [compared(largest - number, ">=") for number in kept]
            self.definitions.append(some(compared(largest - number, "==") for number in kept))
        return self._extremes[key]

    def _check_time(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime("no more time")

    def indicator(self, a: Formula) -> Value:
        return of_cases((Case(a, ONE, ONE), Case(negated(a), ZERO, ONE)))

    def compare(self, operation: str, a: Value, b: Value) -> Formula:
        return compared_values(operation, a, b)

    def both(self, a: Formula, b: Formula) -> Formula:
        return every((a, b))

    def either(self, a: Formula, b: Formula) -> Formula:
        return some((a, b))

    def opposite(self, a: Formula) -> Formula:
        if isinstance(a, Join) and a.size > _MOST_COMPARED:  # each iff within another doubles what is within both
            raise Unsupported("it falls into too many cases")
        return negated(a)

    def nonzero(self, a: Value) -> Formula:
        return compared_values("!=", a, plain(0))

    def countable(self, a: Value) -> Formula:
        number = a.plain
        if number is None or not is_whole(number):
            value = None if number is None else number.constant
            if value is not None:
                return FALSE
            self.guesses = True
        return compared_values(">=", a, plain(1))

    def where(self, a: Formula) -> Formula:
        return a

    def meet(self, a: Formula, b: Formula) -> Formula:
        return every((a, b))

    def join(self, a: Formula, b: Formula) -> Formula:
        return some((a, b))


def _varies(name: str) -> bool:
    """Whether a variable takes many values at one point: a maximum of it is no single number."""
    return name == N or name.startswith(STAGE)


def _paired(a: Value, b: Value, function: Callable[[Case, Case], tuple[Poly, Poly]]) -> Value:
    return of_cases(Case(every((x.guard, y.guard)), *function(x, y)) for x in a.cases for y in b.cases)


def _undominated(numbers: Sequence[Poly]) -> list[Poly]:
    """Without those that are plainly no larger than another."""
    kept: list[Poly] = []
    for number in dict.fromkeys(numbers):
        if not any(at_least_zero(other - number) for other in kept):
            kept = [other for other in kept if not at_least_zero(number - other)] + [number]
    return kept
