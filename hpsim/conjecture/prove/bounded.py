"""A statement at given numbers of stages: for every number of micro-batches, or for one; shown, refuted, or open.

A model of the solver is only a hint: the point it names is decided again by the recurrences on exact numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from hpsim.conjecture.counterexample import Counterexample
from hpsim.conjecture.example import Example
from hpsim.conjecture.prove.every_m import without_n
from hpsim.conjecture.prove.explicit import Spelled
from hpsim.conjecture.prove.formula import FALSE, Formula, atoms, compared, holds
from hpsim.conjecture.prove.poly import variable
from hpsim.conjecture.prove.problem import Problem, refuted_by
from hpsim.conjecture.prove.smt import Prover
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.prove.value import N

_MOST_STEPS = 200_000
"""Micro-batches times stages at which a hint is still followed up."""
_SMALL = ((0, 1), (0, 1, 2), (0, 1, 2, 3, 4), tuple(range(9)))


@dataclass(frozen=True)
class Outcome:
    """What was found at some numbers of stages.

    Attributes
    ----------
    shown : bool
        The statement is false nowhere there.
    everywhere : bool
        It is also defined everywhere there, for certain.
    counterexample : Counterexample or None
    reason : str
        Why it is open, where it is neither shown nor refuted; empty where the time was up.
    """

    shown: bool
    everywhere: bool = False
    counterexample: Counterexample | None = None
    reason: str = ""


def combinations(problem: Problem, largest: int) -> Iterator[tuple[int, ...]]:
    """Numbers of stages for each pipeline, the largest as given; none where the regimes are for another number."""
    if problem.question.only_stages not in (None, largest):
        return
    if problem.question.only_stages is not None:
        yield (largest,) * len(problem.pipelines)
    elif len(problem.pipelines) == 1:
        yield (largest,)
    elif problem.relation is not None:
        yield (largest, largest)
    else:
        yield from (pair for pair in product(range(1, largest + 1), repeat=2) if max(pair) == largest)


def at_every_m(problem: Problem, stages: tuple[int, ...], prover: Prover) -> Outcome:
    """The statement at these numbers of stages, for every number of micro-batches.

    Raises
    ------
    Unsupported
        When it takes more than closed forms, or falls into too many cases.
    """
    spelled = Spelled(problem, stages, deadline=prover.deadline)
    name = f"{_in_words(stages)}, every M{_among(problem)}"
    known = spelled.assumptions
    condition = [*known, without_n(spelled.fails)]
    answer, model = prover.ask(condition, prover.left / 2)
    if answer == "sat":
        found = _at_some_m(problem, stages, spelled.point(model))
        if found is not None:
            return Outcome(False, counterexample=_simpler(problem, stages, found, prover))
    if answer != "unsat":
        # with n itself as a real variable, which says more and is harder
        condition = [*known, compared(variable(N), ">="), spelled.fails]
        answer, model = prover.ask(condition, prover.left / 4)
        if answer == "sat":
            found = _at_some_m(problem, stages, spelled.point(model))
            if found is not None:
                return Outcome(False, counterexample=_simpler(problem, stages, found, prover))
    if answer != "unsat":
        reason = "" if answer == "unknown" else f"at {name} the solver names no whole M"
        return Outcome(False, reason=reason)
    prover.keep(name, condition)
    return Outcome(True, everywhere=_defined(spelled, without_n(spelled.undefined), prover, name))


def at_one_m(problem: Problem, stages: tuple[int, ...], M: int, prover: Prover, seconds: float) -> Outcome:
    """The statement at these numbers of stages and this number of micro-batches.

    Raises
    ------
    Unsupported
        When it takes something that only exact numbers can tell.
    """
    spelled = Spelled(problem, stages, M, deadline=prover.deadline)
    name = f"{_in_words(stages)}, M = {M}{_among(problem)}"
    condition = [*spelled.assumptions, spelled.fails]
    answer, model = prover.ask(condition, seconds)
    if answer == "unsat":
        prover.keep(name, condition)
        return Outcome(True, everywhere=_defined(spelled, spelled.undefined, prover, name))
    if answer == "sat":
        found = _confirmed(problem, spelled, model, M) or _in_small_numbers(problem, spelled, prover, M)
        if found is not None:
            return Outcome(False, counterexample=_simpler(problem, stages, found, prover))
        return Outcome(False, reason=f"at {name} exact numbers do not confirm what the solver found")
    return Outcome(False)


def holds_somewhere(problem: Problem, prover: Prover) -> bool:
    """Whether a small point is known at which the statement is defined and true."""
    for largest, M in ((2, 2), (1, 1), (3, 3)):
        for stages in combinations(problem, largest):
            try:
                spelled = Spelled(problem, stages, M)
            except Unsupported:
                continue
            if prover.ask([*spelled.assumptions, spelled.holds], 1.0)[0] == "sat" and not spelled.guesses:
                return True
    return False


def _defined(spelled: Spelled, undefined: Formula, prover: Prover, name: str) -> bool:
    if spelled.guesses:
        return False
    if undefined == FALSE:
        return True
    return prover.shows(f"{name}: the statement is defined", [*spelled.assumptions, undefined], 2.0)


def _at_some_m(problem: Problem, stages: tuple[int, ...], point: Example | None) -> Counterexample | None:
    """A counterexample at the pipelines of a model, for the least number of micro-batches among likely ones."""
    if point is None:
        return None
    fails = Spelled(problem, stages, None, point).fails
    for n in sorted(_likely(fails, _MOST_STEPS // max(stages))):
        if holds(fails, {N: Fraction(n)}):
            found = refuted_by(problem, replace(point, M=n + 1))
            if found is not None:
                return found
    return None


def _likely(fails: Formula, most: int) -> set[int]:
    """Small numbers, powers of two, and the neighbours of where a comparison turns."""
    likely = {*range(33), *(2**power for power in range(5, 40))}
    for atom in atoms(fails):
        powers = [part.constant for part in atom.poly.by_powers_of(N)]
        if len(powers) == 2 and powers[0] is not None and powers[1]:
            turn = math.floor(-powers[0] / powers[1])
            likely.update(range(turn - 1, turn + 3))
    return {n for n in likely if 0 <= n <= most}


def _simpler(problem: Problem, stages: tuple[int, ...], found: Counterexample, prover: Prover) -> Counterexample:
    """A counterexample in small whole numbers with few micro-batches, if a short look finds one."""
    short = prover.within(0.2)
    for M in range(1, min(found.example.M, 6) + 1):
        if not short.left:
            break
        try:
            spelled = Spelled(problem, stages, M)
        except Unsupported:
            break
        condition = [*spelled.assumptions, spelled.fails]
        if short.ask(condition, 1.0)[0] == "unsat":
            continue
        better = _in_small_numbers(problem, spelled, short, M)
        if better is None:
            answer, model = short.ask(condition, 0.5)
            better = _confirmed(problem, spelled, model, M) if answer == "sat" else None
        if better is not None:
            return better
    return found


def _in_small_numbers(problem: Problem, spelled: Spelled, prover: Prover, M: int) -> Counterexample | None:
    """A counterexample whose times are small whole numbers, if a short look finds one."""
    for values in _SMALL:
        answer, model = prover.ask([*spelled.assumptions, spelled.fails, spelled.among(values)], 0.5)
        found = _confirmed(problem, spelled, model, M) if answer == "sat" else None
        if found is not None:
            return found
    return None


def _confirmed(problem: Problem, spelled: Spelled, model: Any, M: int) -> Counterexample | None:
    point = spelled.point(model, M)
    return None if point is None else refuted_by(problem, point)


def _among(problem: Problem) -> str:
    return f", {problem.variant}" if problem.variant else ""


def _in_words(stages: tuple[int, ...]) -> str:
    if len(set(stages)) == 1:
        return f"S = {stages[0]}"
    return f"A.S = {stages[0]}, B.S = {stages[1]}"
