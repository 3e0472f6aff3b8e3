"""Conditions on every number of micro-batches at once: ``n = M - 1`` taken out of a formula.

What is left holds wherever some whole ``n >= 0`` makes the formula hold. It may hold elsewhere too, where that ``n``
would have to be fractional, or where two conditions need two different ``n``: so it serves to show that there is no
such ``n``, and a model of it is a hint where to look for one.

For one comparison that is affine in n it is exact: ``a + b·(n - L) > 0`` for some ``n >= L`` iff ``a > 0`` or
``b > 0``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from hpsim.conjecture.prove.formula import FALSE, Atom, Formula, atoms, compared, every, some
from hpsim.conjecture.prove.poly import ZERO, Poly, poly, variable
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.prove.value import N, is_whole

_MOST_CONJUNCTS = 512


def without_n(formula: Formula) -> Formula:
    """A formula without ``n`` that holds wherever ``formula`` does for some whole ``n >= 0``.

    Raises
    ------
    Unsupported
        When the formula falls into too many conjunctions.
    """
    return some(_eliminated(conjunct) for conjunct in _conjuncts(formula))


def _conjuncts(formula: Formula) -> list[list[Formula]]:
    """Disjunctive form; parts without ``n`` stay whole."""
    if all(N not in atom.poly.variables for atom in atoms(formula)):
        return [[formula]]
    if isinstance(formula, Atom):
        if formula.op == "!=":
            return [[Atom(formula.poly, ">")], [Atom(-formula.poly, ">")]]
        return [[formula]]
    below = [_conjuncts(part) for part in formula.parts]
    if not formula.all:
        joined = [conjunct for conjuncts in below for conjunct in conjuncts]
    else:
        if math.prod(map(len, below)) > _MOST_CONJUNCTS:
            raise Unsupported("it falls into too many cases")
        joined = [[part for parts in choice for part in parts] for choice in product(*below)]
    if len(joined) > _MOST_CONJUNCTS:
        raise Unsupported("it falls into too many cases")
    return joined


def _eliminated(conjunct: Sequence[Formula]) -> Formula:
    rest: list[Formula] = []
    others: list[Atom] = []
    lower, upper = [ZERO], []
    for part in conjunct:
        if not isinstance(part, Atom) or N not in part.poly.variables:
            rest.append(part)
            continue
        powers = part.poly.by_powers_of(N)
        factor = powers[1].constant if len(powers) == 2 else None
        if factor is None:
            others.append(part)
            continue
        bound = powers[0] * (-1 / factor)
        if part.op == "==":
            return _at(bound, conjunct)
        if factor > 0:
            lower.append(_tightened(bound, strict=part.op == ">"))
        else:
            upper.append(-_tightened(-bound, strict=part.op == ">"))
    constants = [bound.constant for bound in lower if bound.constant is not None]
    lower = [poly(max(constants)), *(bound for bound in dict.fromkeys(lower) if bound.constant is None)]
    return every((*rest, some(_from(least, lower, upper, others) for least in lower)))


def _at(moment: Poly, conjunct: Sequence[Formula]) -> Formula:
    """The conjunction where ``n`` is ``moment``."""
    value = moment.constant
    if value is not None and (value < 0 or value.denominator != 1):
        return FALSE
    placed = (compared(part.poly.replaced(N, moment), part.op) if isinstance(part, Atom) else part for part in conjunct)
    return every((compared(moment, ">="), *placed))


def _tightened(bound: Poly, *, strict: bool) -> Poly:
    """The least whole ``n`` above ``bound``, as far as that is plain; else the bound itself, which allows more."""
    value = bound.constant
    if value is not None:
        return poly(math.floor(value) + 1 if strict else math.ceil(value))
    return bound + 1 if strict and is_whole(bound) else bound


def _from(least: Poly, lower: Sequence[Poly], upper: Sequence[Poly], others: Sequence[Atom]) -> Formula:
    """The other comparisons for some ``n >= least``, where ``least`` is the largest of the lower bounds."""
    place = [compared(least - bound, ">=") for bound in lower] + [compared(bound - least, ">=") for bound in upper]
    return every((*place, *(_reached(atom, least, upper) for atom in others)))


def _reached(atom: Atom, least: Poly, upper: Sequence[Poly]) -> Formula:
    if atom.op == "==":
        return every(_reached(Atom(side, ">="), least, upper) for side in (atom.poly, -atom.poly))
    first, *slopes = atom.poly.replaced(N, least + variable(N)).by_powers_of(N)
    rises = some(compared(slope, ">") for slope in slopes)
    if len(slopes) == 1:  # it rises at most as far as the upper bounds
        rises = every((rises, *(compared(atom.poly.replaced(N, bound), atom.op) for bound in upper)))
    return some((compared(first, atom.op), rises))
