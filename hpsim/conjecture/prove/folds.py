"""A statement at any number of stages: what it takes from the stages are folds, running quantities over them.

Stages are added at the front, one by one, beginning with the last stage, whose transfer is 0. A fold has a value for
one stage and a step to one more: ``sum(tau)`` grows by ``tau``, ``max(tau)`` becomes ``max(max(tau), tau)``. Where a
vector mixes the times of a stage with numbers of the whole, these are taken out first:
``sum(k + c·v) = k·S + c·sum(v)``, ``max(k + v) = k + max(v)``, ``all(v <= k)`` is ``max(v) <= k``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from hpsim.claims import tree
from hpsim.claims.evaluate import Evaluation, Term
from hpsim.claims.tree import GPIPE
from hpsim.conjecture.prove.chain_lemma import is_chain, occupancy_and_flight
from hpsim.conjecture.prove.formula import TRUE, Atom, Formula, atoms, every, negated, some
from hpsim.conjecture.prove.poly import ONE, ZERO, Monomial, Poly, total, variable
from hpsim.conjecture.prove.problem import Problem
from hpsim.conjecture.prove.unsupported import NoClosedForm, Unsupported
from hpsim.conjecture.prove.value import SIGNED, STAGE, ProofAlgebra, Value, at_least_zero, plain

Kind = Literal["sum", "max", "min", "first", "last"]


@dataclass(frozen=True)
class Fold:
    """A running quantity: of ``body``, a value in the times of one stage."""

    kind: Kind
    body: Value

    @property
    def name(self) -> str:
        """The variable that stands for it."""
        body = self.body.plain
        may_be_negative = any(not at_least_zero(case.number) for case in self.body.cases)
        shown = repr(body) if body is not None else repr(self.body)
        return f"{SIGNED if may_be_negative else ''}{self.kind}({shown.replace(STAGE, '')})"

    @property
    def now(self) -> Poly:
        """The variable."""
        return variable(self.name)


class StagePipeline:
    """The times of one stage, for all; its vectors are lists of this one entry."""

    def __init__(self, problem: Problem, pipeline: str) -> None:
        prefix = f"{pipeline}." if pipeline else ""
        owner = dict.fromkeys(("tau", "d", "latency"), prefix)
        if pipeline == "B" and problem.relation == "same tau":
            owner["tau"] = "A."
        if pipeline == "B" and problem.relation in ("same d", "permutation"):
            owner["d"] = "A."
        if pipeline == "B" and problem.relation == "permutation":
            owner["latency"] = "A."
        self.times = {name: variable(f"{STAGE}{prefix}{name}") for name, prefix in owner.items()}
        if not problem.question.uses_latency:
            self.times["latency"] = ZERO
        self.tau, self.d, self.latency = ([plain(self.times[name])] for name in ("tau", "d", "latency"))


class FoldEvaluation(Evaluation):
    """The values of nodes where the numbers of the whole are polynomials in folds, ``S``, ``n`` and ``rho``.

    Attributes
    ----------
    folds : dict of str to Fold
        Those met so far, by name.
    """

    def __init__(self, problem: Problem, M: Value, rho: Poly, algebra: ProofAlgebra) -> None:
        self.stages = {pipeline: StagePipeline(problem, pipeline) for pipeline in problem.pipelines}
        super().__init__(self.stages, M, plain(rho), algebra)  # type: ignore[arg-type]
        self.problem, self.rho, self.proof = problem, rho, algebra
        self.folds: dict[str, Fold] = {}

    def fold(self, kind: Kind, body: Poly | Value) -> Poly:
        """The variable of a fold."""
        value = plain(body) if isinstance(body, Poly) else body
        if self.problem.relation == "permutation":
            value = self._permuted(kind, value)
        fold = Fold(kind, value)
        self.folds.setdefault(fold.name, fold)
        return fold.now

    def value(self, node: tree.Node) -> Any:
        match node:
            case tree.Stages():
                return Term(plain(variable("S")))
            case tree.Steady(pipeline=pipeline, regime=regime):
                return Term(self._occupied(pipeline, regime)[1])
            case tree.Reduction(operation="sum", operand=operand):
                return self._over_stages(operand, self.sum_of)
            case tree.Reduction(operation=operation, operand=operand):
                return self._over_stages(operand, lambda value: self.extreme_of(operation, value))
            case tree.Entry(operand=operand, index=index):
                return self._over_stages(operand, lambda value: self._entry(value, index))
            case tree.Count(operand=operand):
                return self._over_stages(operand, lambda condition: self.sum_of(self.proof.indicator(condition)))
            case tree.Quantifier(operation="all", operand=operand):
                return self._over_stages(operand, self.all_of)
            case tree.Quantifier(operand=operand):
                return self._over_stages(operand, lambda condition: negated(self.all_of(negated(condition))))
        return super().value(node)

    def _makespan(self, node: tree.Makespan) -> Term:
        algebra = self.proof
        count = Term(self.shared["M"])
        if node.count is not None:
            count = self.value(node.count)
            count = Term(count.value, self.meet(count.domain, algebra.countable(count.value)))
        if node.regime == GPIPE:
            longest = plain(self.fold("max", self.stages[node.pipeline].times["tau"]))
            passes = algebra.add(plain(variable("S") - 1), count.value)
            return Term(algebra.multiply(passes, longest), count.domain)
        once, longest = self._occupied(node.pipeline, node.regime)
        passes = algebra.add(count.value, plain(-1))
        return Term(algebra.add(once, algebra.multiply(passes, longest)), count.domain)

    def _occupied(self, pipeline: str, regime: str) -> tuple[Value, Value]:
        """The first micro-batch's time through a chain, and the largest occupancy."""
        if not is_chain(regime, self.problem.regimes):
            raise NoClosedForm(f"{regime} is no chain")
        times = self.stages[pipeline].times
        occupancy, flight = occupancy_and_flight(
            regime, self.problem.regimes, times["tau"], times["d"], times["latency"], self.rho
        )
        return self.sum_of(plain(occupancy + flight)), self.extreme_of("max", plain(occupancy))

    def _over_stages(self, operand: tree.Node, function: Callable[[Any], Any]) -> Term:
        ((value, domain),) = self.value(operand)
        if domain is not True and any(_of_a_stage(atom.poly) for atom in atoms(domain)):
            raise Unsupported("a vector that is undefined at some stages")
        result = function(value)
        return Term(result, domain)

    def sum_of(self, value: Value) -> Value:
        """``sum`` of a vector, each product of a time with a number of the whole taken apart."""
        first = value.cases[0]
        if len(value.cases) == 1 and first.guard == TRUE and not _of_a_stage(first.divisor):
            parts = [
                Poly({whole: factor}) * (self.fold("sum", Poly({own: Fraction(1)})) if own else variable("S"))
                for own, whole, factor in _split(first.number)
            ]
            return self.proof.divide(plain(total(parts)), plain(first.divisor))
        return plain(self.fold("sum", self._own(value)))

    def extreme_of(self, operation: Kind, value: Value) -> Value:
        """``max`` or ``min`` of a vector, a number of the whole that is added, or a factor, taken out."""
        first = value.cases[0]
        if len(value.cases) > 1 or first.guard != TRUE or _of_a_stage(first.divisor):
            return plain(self.fold(operation, self._own(value)))
        if first.divisor != ONE and not at_least_zero(first.divisor):
            raise Unsupported("a maximum of quotients whose divisor may be negative")
        factors: dict[Monomial, Poly] = {}
        added = ZERO
        for own, whole, factor in _split(first.number):
            if not own:
                added += Poly({whole: factor})
            else:  # the overlapped share is the same throughout: it belongs to the stage's own part
                share = tuple(pair for pair in whole if pair[0] == "rho")
                rest = tuple(pair for pair in whole if pair[0] != "rho")
                factors[rest] = factors.get(rest, ZERO) + Poly({own: factor}) * Poly({share: Fraction(1)})
        if len(factors) > 1:
            raise Unsupported("a maximum over stages of times with different factors")
        for rest, own_part in factors.items():
            scale = Poly({rest: Fraction(1)})
            if not at_least_zero(scale):
                raise Unsupported("a maximum over stages of times with a factor that may be negative")
            added += scale * self._extreme_fold(operation, own_part)
        return self.proof.divide(plain(added), plain(first.divisor))

    def all_of(self, condition: Formula) -> Formula:
        """``all`` of a vector condition."""
        if not any(_of_a_stage(atom.poly) for atom in atoms(condition)):
            return condition
        if not isinstance(condition, Atom):
            if condition.all:
                return every(self.all_of(part) for part in condition.parts)
            whole = [part for part in condition.parts if not any(_of_a_stage(atom.poly) for atom in atoms(part))]
            own = [part for part in condition.parts if part not in whole]
            if len(own) == 1:
                return some((*whole, self.all_of(own[0])))
            exceptions = self.sum_of(self.proof.indicator(every(map(negated, own))))
            return some((*whole, self.proof.compare("==", exceptions, plain(0))))
        if condition.op == "!=":
            exceptions = self.sum_of(self.proof.indicator(negated(condition)))
            return self.proof.compare("==", exceptions, plain(0))
        least = self.extreme_of("min", plain(condition.poly))
        if condition.op == "==":
            largest = self.extreme_of("max", plain(condition.poly))
            return every((self.proof.compare("==", least, plain(0)), self.proof.compare("==", largest, plain(0))))
        return self.proof.compare(condition.op, least, plain(0))

    def _extreme_fold(self, operation: Kind, body: Poly) -> Poly:
        if at_least_zero(-body) and body != ZERO:
            return -self.fold("min" if operation == "max" else "max", -body)
        return self.fold(operation, body)

    def _entry(self, value: Value, index: int) -> Value:
        if index not in (0, -1):
            raise Unsupported(f"entry [{index}] at any number of stages")
        number = value.plain
        if number is None:
            raise Unsupported("an entry of a vector with cases")
        kind: Kind = "first" if index == 0 else "last"
        parts = [
            Poly({whole: factor}) * (self.fold(kind, Poly({own: Fraction(1)})) if own else ONE)
            for own, whole, factor in _split(number)
        ]
        return plain(total(parts))

    def _own(self, value: Value) -> Value:
        """The value, if nothing but the times of a stage and the overlapped share is in it."""
        for case in value.cases:
            for each in (case.number, case.divisor, *(atom.poly for atom in atoms(case.guard))):
                if any(not name.startswith(STAGE) and name != "rho" for name in each.variables):
                    raise Unsupported("a vector condition or quotient that mixes stages with the whole")
        return value

    def _permuted(self, kind: Kind, value: Value) -> Value:
        """Where ``tau`` is permuted, folds of the ``tau`` of B alone, in any order, are those of A."""
        theirs = f"{STAGE}B.tau"
        names = {name for case in value.cases for name in _variables(case) if name.startswith(STAGE)}
        if theirs not in names:
            return value
        number = value.plain
        if names != {theirs} or number is None or kind in ("first", "last"):
            raise Unsupported("more than sums and extremes of tau where tau is permuted")
        return plain(number.replaced(theirs, variable(f"{STAGE}A.tau")))


def _variables(case: Any) -> set[str]:
    names = set(case.number.variables | case.divisor.variables)
    for atom in atoms(case.guard):
        names |= atom.poly.variables
    return names


def _of_a_stage(number: Poly) -> bool:
    return any(name.startswith(STAGE) for name in number.variables)


def _split(number: Poly) -> Sequence[tuple[Monomial, Monomial, Fraction]]:
    """Every term as the times of a stage in it, the rest of it, and its coefficient."""
    return [
        (
            tuple(pair for pair in monomial if pair[0].startswith(STAGE)),
            tuple(pair for pair in monomial if not pair[0].startswith(STAGE)),
            factor,
        )
        for monomial, factor in number.terms.items()
    ]
