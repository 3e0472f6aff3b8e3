"""Every number of stages and micro-batches: induction over the stages, by an invariant of folds.

The invariant holds for one stage (base) and survives one more stage at the front (step); with it no pipeline makes the
statement fail. Candidates come with the claim or from :mod:`.candidates`; those that fail base or step are dropped
until the rest carry each other. Only lemmas of the rest that are needed are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hpsim.conjecture.prove.candidates import candidates, signs
from hpsim.conjecture.prove.every_m import without_n
from hpsim.conjecture.prove.folds import Fold, FoldEvaluation
from hpsim.conjecture.prove.formula import FALSE, TRUE, Formula, atoms, compared, every, negated, replaced, some
from hpsim.conjecture.prove.poly import ZERO, Poly, variable
from hpsim.conjecture.prove.problem import Problem
from hpsim.conjecture.prove.smt import Prover, in_z3
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.prove.value import STAGE, N, ProofAlgebra, plain

_TOGETHER, _EACH = 0.3, 0.5  # seconds for all candidates at once, and for one
_NEW = "'"
_MOST_CONDITIONS = 15  # of an invariant that is shown condition by condition


class Induction:
    """A statement over folds, and what one more stage does to them.

    Raises
    ------
    Unsupported
        When the statement takes something else from the stages than folds.
    """

    def __init__(self, problem: Problem, deadline: float | None = None) -> None:
        if len(problem.pipelines) == 2 and problem.relation is None:
            raise Unsupported("two pipelines of different numbers of stages")
        if problem.question.only_stages is not None:
            raise Unsupported("a regime for one number of stages")
        algebra = ProofAlgebra(deadline)
        self.rho = variable("rho")
        self.evaluation = FoldEvaluation(problem, plain(variable(N) + 1), self.rho, algebra)
        value, domain = self.evaluation.value(problem.statement.root)
        domain = (TRUE if domain else FALSE) if isinstance(domain, bool) else domain
        self.fails_at_n = every((negated(value), domain))
        self.fails = without_n(self.fails_at_n)
        self.undefined = without_n(negated(domain))
        self.guesses = algebra.guesses
        self.definitions = list(algebra.definitions)
        known = (self.fails_at_n, self.undefined, *self.definitions)
        if any(name.startswith(STAGE) for each in known for atom in atoms(each) for name in atom.poly.variables):
            raise Unsupported("something of single stages is left over")
        self.given = self._given(problem)
        stages = self.evaluation.stages.values()
        self.work = list(dict.fromkeys(self.evaluation.fold("sum", stage.times["tau"]) for stage in stages))
        self.candidates = candidates(self.evaluation, (self.fails, self.undefined), self.work)
        self.folds: list[Fold] = list(self.evaluation.folds.values())

    def _given(self, problem: Problem) -> list[Formula]:
        """The invariant of the claim, its conjuncts one by one."""
        if problem.invariant is None:
            return []
        value, domain = self.evaluation.value(problem.invariant.root)
        if domain is not True or any(N in atom.poly.variables for atom in atoms(value)):
            raise Unsupported("an invariant that is undefined somewhere, or speaks of M")
        return list(value.parts) if getattr(value, "all", False) else [value]

    @property
    def always(self) -> list[Formula]:
        """What is assumed and what holds by construction of the folds."""
        return [compared(self.rho, ">="), compared(1 - self.rho, ">="), *signs(self.folds)]

    @property
    def pipelines(self) -> list[Formula]:
        """What is known where the goal is to be shown."""
        return [*self.always, *(compared(work, ">") for work in self.work), *self.definitions]

    def one_stage(self) -> list[Formula]:
        """One stage, which sends nothing, and the folds of it."""
        times = self._times()
        silent = [compared(time, "==") for name, time in times.items() if not name.endswith("tau")]
        return [
            compared(self.rho, ">="),
            compared(1 - self.rho, ">="),
            compared(variable("S") - 1, "=="),
            *(compared(time, ">=") for time in times.values()),
            *silent,
            *(_equal(fold.now, fold) for fold in self.folds),
        ]

    def one_more(self) -> list[Formula]:
        """One more stage at the front, and the folds with it."""
        return [*(compared(time, ">=") for time in self._times().values()), *(_step(fold) for fold in self.folds)]

    def after(self, formula: Formula) -> Formula:
        """The formula with one more stage."""
        for fold in self.folds:
            formula = replaced(formula, fold.name, variable(fold.name + _NEW))
        return replaced(formula, "S", variable("S") + 1)

    def _times(self) -> dict[str, Poly]:
        times: dict[str, Poly] = {}
        for stage in self.evaluation.stages.values():
            times.update({next(iter(time.variables)): time for time in stage.times.values() if time != ZERO})
        return times


def prove_every_s(problem: Problem, prover: Prover) -> bool | None:
    """Show the statement for every S and M: True, False where it may be undefined somewhere, None where it fails.

    Lemmas go to ``prover``.

    Raises
    ------
    Unsupported
        When it cannot be put as an induction over folds.
    """
    induction = Induction(problem, prover.deadline)
    # the claim's own invariant may be all it takes
    for proposed in ([induction.given] if induction.given else []) + [[*induction.given, *induction.candidates]]:
        kept = _inductive(induction, proposed, prover)
        goal = _reached(induction, kept, prover)
        if goal is not None:
            break
    else:
        return None
    goals = [("the statement, from the invariant", goal)]
    everywhere = not induction.guesses
    if everywhere and induction.undefined != FALSE:
        everywhere = prover.ask([*induction.pipelines, *kept, induction.undefined], 2.0)[0] == "unsat"
        if everywhere:
            goals.append(("the statement is defined, from the invariant", induction.undefined))
    return everywhere if _recorded(induction, kept, goals, prover) else None


def _reached(induction: Induction, kept: Sequence[Formula], prover: Prover) -> Formula | None:
    """How the statement fails, in the form that the invariant excludes; None where it excludes neither."""
    # first without n, else with n as a real variable, which says more and is harder
    for goal in (induction.fails, every((compared(variable(N), ">="), induction.fails_at_n))):
        if prover.ask([*induction.pipelines, *kept, goal], prover.left / 2)[0] == "unsat":
            return goal
    return None


def _inductive(induction: Induction, proposed: Sequence[Formula], prover: Prover) -> list[Formula]:
    """The proposed conditions without those that fail the base or the step."""
    start, more = induction.one_stage(), [*induction.always, *induction.one_more()]
    kept = _surviving(prover, start, [(c, c) for c in proposed])
    while True:
        left = _surviving(prover, [*more, *kept], [(c, induction.after(c)) for c in kept])
        if len(left) == len(kept):
            return left
        kept = left


def _surviving(prover: Prover, known: Sequence[Formula], pairs: list[tuple[Formula, Formula]]) -> list[Formula]:
    """The first of each pair whose second follows from what is known: refuted ones are dropped by the handful."""
    while pairs:
        answer, model = prover.ask([*known, some(negated(after) for _, after in pairs)], _TOGETHER)
        if answer == "unsat":
            break
        if answer == "unknown":
            return [c for c, after in pairs if prover.ask([*known, negated(after)], _EACH)[0] == "unsat"]
        left = [(c, after) for c, after in pairs if not _false_in(model, after)]
        if len(left) == len(pairs):  # the model says nothing clear
            return [c for c, after in pairs if prover.ask([*known, negated(after)], _EACH)[0] == "unsat"]
        pairs = left
    return [c for c, _ in pairs]


def _false_in(model: Any, formula: Formula) -> bool:
    import z3

    return bool(z3.is_false(model.eval(in_z3(formula), model_completion=True)))


def _recorded(
    induction: Induction, kept: Sequence[Formula], goals: Iterable[tuple[str, Formula]], prover: Prover
) -> bool:
    """Show the goals again as lemmas, with those parts of the invariant only that they need."""
    more = [*induction.always, *induction.one_more()]
    needed: list[Formula] = []
    finals = []
    for name, goal in goals:
        used = prover.core([*induction.pipelines, goal], kept)
        needed += [c for c in used if c not in needed]
        finals.append((name, [*induction.pipelines, *used, goal]))
    steps = []
    for condition in needed:  # grows as it goes
        if len(needed) > _MOST_CONDITIONS:
            needed = list(kept)
            steps = [[*more, *kept, some(negated(induction.after(c)) for c in kept)]]
            break
        after = negated(induction.after(condition))
        used = prover.core([*more, after], [condition, *(c for c in kept if c != condition)])
        needed += [c for c in used if c not in needed]
        steps.append([*more, *used, after])
    facts = signs(induction.folds)
    base = [*induction.one_stage(), some(negated(c) for c in (*facts, *needed))]
    held = [*induction.always, *induction.one_more(), some(negated(induction.after(c)) for c in facts)]
    return (
        prover.shows("the invariant, one stage", base)
        and prover.shows("the invariant, one more stage: signs", held)
        and all(prover.shows("the invariant, one more stage", step) for step in steps)
        and all(prover.shows(name, final) for name, final in finals)
    )


def _equal(now: Poly, fold: Fold) -> Formula:
    """``now`` is the body of the fold; where a divisor is 0, it may be anything."""
    return some(
        every((case.guard, some((compared(now * case.divisor - case.number, "=="), compared(case.divisor, "==")))))
        for case in fold.body.cases
    )


def _step(fold: Fold) -> Formula:
    new = variable(fold.name + _NEW)
    if fold.kind == "sum":
        return _equal(new - fold.now, fold)
    if fold.kind == "last":
        return compared(new - fold.now, "==")
    if fold.kind == "first":
        return _equal(new, fold)
    sign = 1 if fold.kind == "max" else -1
    body = variable(f"of {fold.name}")
    return every(
        (
            _equal(body, fold),
            compared((new - fold.now) * sign, ">="),
            compared((new - body) * sign, ">="),
            some((compared(new - fold.now, "=="), compared(new - body, "=="))),
        )
    )
