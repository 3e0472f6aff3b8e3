"""Conditions on folds that are worth a try as an invariant; which of them are inductive is for the solver to say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from hpsim.conjecture.prove.folds import Fold, FoldEvaluation
from hpsim.conjecture.prove.formula import Formula, Join, atoms, compared, negated, some
from hpsim.conjecture.prove.poly import ZERO, Poly, total, variable
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.prove.value import SIGNED, STAGE, plain

_MOST_FOLDS = 9
_S = variable("S")


def signs(folds: Iterable[Fold]) -> list[Formula]:
    """What holds by construction: folds of what is not negative are not negative, and S is 1 or at least 2."""
    known = [compared(fold.now, ">=") for fold in folds if not fold.name.startswith(SIGNED)]
    return [*known, compared(_S - 1, ">="), some((compared(_S - 1, "=="), compared(_S - 2, ">=")))]


def candidates(evaluation: FoldEvaluation, goals: Iterable[Formula], work: Iterable[Poly]) -> list[Formula]:
    """Conditions between folds, and what the goals themselves ask for.

    ``goals`` are formulas that must be impossible where no ``work`` (a sum of service times) is 0. Folds that the
    conditions need are added to ``evaluation``.
    """
    _add_parts(evaluation)
    idle = [compared(each, "==") for each in work]
    found = [*_asked_for(goals, idle)]
    folds = [fold for fold in evaluation.folds.values() if fold.body.plain is not None]
    found += _orders(folds)
    for fold in list(folds):
        found += _of_one(evaluation, fold)
    state = {"S", "rho", *evaluation.folds}
    unique = dict.fromkeys(formula for formula in found if formula not in (Join(True, ()), Join(False, ())))
    return [formula for formula in unique if all(atom.poly.variables <= state for atom in atoms(formula))]


def _add_parts(evaluation: FoldEvaluation) -> None:
    """Next to the largest of a sum, the largest of each term."""
    for fold in list(evaluation.folds.values()):
        body = fold.body.plain
        if body is None or fold.kind != "max":
            continue
        for own in _terms(body):
            evaluation.fold("max", own)


def _asked_for(goals: Iterable[Formula], idle: list[Formula]) -> Iterator[Formula]:
    for goal in goals:
        yield negated(goal)
        yield some((*idle, negated(goal)))
        for atom in atoms(goal):
            yield negated(atom)
        if isinstance(goal, Join):
            for part in goal.parts:
                yield negated(part)


def _orders(folds: list[Fold]) -> Iterator[Formula]:
    """Every order between two folds, as long as there are few."""
    few = len(folds) <= _MOST_FOLDS
    for one in folds:
        for other in folds:
            if one is other or (one.kind == "sum" and other.kind != "sum"):
                continue
            plainly = _plainly_below(one, other)
            if few or plainly:
                yield compared(other.now - one.now, ">=")


def _plainly_below(one: Fold, other: Fold) -> bool:
    left, right = one.body.plain, other.body.plain
    if left is None or right is None:
        return False
    return all(factor > 0 for factor in (right - left).terms.values())


def _of_one(evaluation: FoldEvaluation, fold: Fold) -> Iterator[Formula]:
    """Between a fold and the sum, or the terms, of its body."""
    body = fold.body.plain
    if body is None:
        return
    single = compared(_S - 1, "==")
    if all(any(name.endswith((" d", ".d", "latency")) for name, _ in monomial) for monomial in body.terms):
        yield some((negated(single), compared(fold.now, "==")))  # the last stage sends nothing
    if fold.kind == "sum":
        return
    try:
        summed = evaluation.sum_of(plain(body)).plain
    except Unsupported:
        return
    if summed is None:
        return
    if fold.kind in ("max", "first", "last"):
        yield compared(summed - fold.now, ">=")
        yield some((negated(single), compared(summed - fold.now, "==")))
    if fold.kind == "max":
        yield compared(_S * fold.now - summed, ">=")
        terms = _terms(body)
        if len(terms) > 1 and all(factor > 0 for factor in body.terms.values()):
            split = [_largest_part(evaluation, Poly({m: f})) for m, f in body.terms.items()]
            yield compared(total(split) - fold.now, ">=")
    if fold.kind == "min":
        yield compared(summed - _S * fold.now, ">=")


def _largest_part(evaluation: FoldEvaluation, term: Poly) -> Poly:
    return evaluation.extreme_of("max", plain(term)).plain or ZERO


def _terms(body: Poly) -> list[Poly]:
    """The products of times in it, without factors."""
    own = {tuple(pair for pair in monomial if pair[0].startswith(STAGE)): None for monomial in body.terms}
    return [Poly({monomial: Fraction(1)}) for monomial in own if monomial]
