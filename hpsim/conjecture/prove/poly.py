"""Polynomials with rational coefficients, in one canonical form, so that what cancels does cancel.

Their variables are named by text: ``tau[0]``, ``rho``, ``n`` (the micro-batches after the first, M - 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from hpsim.conjecture.prove.unsupported import Unsupported

Monomial = tuple[tuple[str, int], ...]  # (variable, power) in the order of the names
_MOST_PRODUCTS = 50_000


class Poly:
    """A polynomial; immutable, hashable, equal when its terms are. Too large a product is Unsupported.

    Attributes
    ----------
    terms : mapping of Monomial to Fraction
        Without zero coefficients.
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms = {monomial: factor for monomial, factor in terms.items() if factor}
        self._hash = hash(frozenset(self.terms.items()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __add__(self, other: Poly | int | Fraction) -> Poly:
        terms = dict(self.terms)
        for monomial, factor in poly(other).terms.items():
            terms[monomial] = terms.get(monomial, Fraction(0)) + factor
        return Poly(terms)

    def __neg__(self) -> Poly:
        return Poly({monomial: -factor for monomial, factor in self.terms.items()})

    def __sub__(self, other: Poly | int | Fraction) -> Poly:
        return self + -poly(other)

    def __mul__(self, other: Poly | int | Fraction) -> Poly:
        other = poly(other)
        if len(self.terms) * len(other.terms) > _MOST_PRODUCTS:
            raise Unsupported("its products have too many terms")
        terms: dict[Monomial, Fraction] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                monomial = _product(left, right)
                terms[monomial] = terms.get(monomial, Fraction(0)) + a * b
        return Poly(terms)

    def __rsub__(self, other: int | Fraction) -> Poly:
        return poly(other) - self

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        terms = sorted(self.terms.items())
        return (
            " + ".join(
                "·".join([*([] if factor == 1 and m else [str(factor)]), *map(_shown, m)]) for m, factor in terms
            )
            or "0"
        )

    @property
    def constant(self) -> Fraction | None:
        """Its value where it has no variable, else None."""
        if not self.terms:
            return Fraction(0)
        return self.terms[()] if self.terms.keys() == {()} else None

    @property
    def variables(self) -> frozenset[str]:
        """The variables that occur."""
        return frozenset(variable for monomial in self.terms for variable, _ in monomial)

    @property
    def is_linear(self) -> bool:
        """Whether no monomial has a degree above 1."""
        return all(sum(power for _, power in monomial) <= 1 for monomial in self.terms)

    @property
    def has_whole_coefficients(self) -> bool:
        """Whether all coefficients are integers."""
        return all(factor.denominator == 1 for factor in self.terms.values())

    def by_powers_of(self, variable: str) -> list[Poly]:
        """Coefficients of the powers of ``variable`` from 0 up, themselves without it; at least one."""
        parts: dict[int, dict[Monomial, Fraction]] = {}
        for monomial, factor in self.terms.items():
            power = dict(monomial).get(variable, 0)
            rest = tuple(pair for pair in monomial if pair[0] != variable)
            parts.setdefault(power, {})[rest] = factor
        return [Poly(parts.get(power, {})) for power in range(max(parts, default=0) + 1)]

    def replaced(self, variable: str, by: Poly) -> Poly:
        """With ``by`` in place of ``variable``."""
        total, power = ZERO, ONE
        for part in self.by_powers_of(variable):
            total, power = total + part * power, power * by
        return total

    def at(self, values: Mapping[str, Fraction]) -> Fraction:
        """Its value where the variables have these ones."""
        total = Fraction(0)
        for monomial, factor in self.terms.items():
            for variable, power in monomial:
                factor *= values[variable] ** power
            total += factor
        return total


def _shown(power: tuple[str, int]) -> str:
    return power[0] if power[1] == 1 else f"{power[0]}^{power[1]}"


def _product(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    powers = dict(left)
    for variable, power in right:
        powers[variable] = powers.get(variable, 0) + power
    return tuple(sorted(powers.items()))


def poly(value: Poly | int | Fraction) -> Poly:
    """``value`` as a polynomial."""
    return value if isinstance(value, Poly) else Poly({(): Fraction(value)})


def variable(name: str) -> Poly:
    """The polynomial that is one variable."""
    return Poly({((name, 1),): Fraction(1)})


def total(polys: Iterable[Poly]) -> Poly:
    """The sum."""
    terms: dict[Monomial, Fraction] = {}
    for each in polys:
        for monomial, factor in each.terms.items():
            terms[monomial] = terms.get(monomial, Fraction(0)) + factor
    return Poly(terms)


ZERO, ONE = poly(0), poly(1)
