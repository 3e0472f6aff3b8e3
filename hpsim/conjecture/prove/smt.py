"""The solver: conditions put to it with a time limit, and the lemmas it has shown, for export."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from hpsim.analysis.extras import require
from hpsim.conjecture.prove.formula import Atom, Formula, atoms
from hpsim.conjecture.prove.poly import Poly

_MOST_TO_DROP = 12

Answer = Literal["unsat", "sat", "unknown"]


@dataclass(frozen=True)
class Lemma:
    """Conditions shown to be unsatisfiable together.

    Attributes
    ----------
    name : str
        What that shows.
    conditions : tuple of Formula
    """

    name: str
    conditions: tuple[Formula, ...]


@dataclass
class Prover:
    """Asks the solver, within a time limit in all, and keeps the lemmas.

    Attributes
    ----------
    deadline : float
        On the clock of ``time.monotonic``.
    lemmas : list of Lemma
    """

    deadline: float
    lemmas: list[Lemma] = field(default_factory=list)
    _impossible: set[tuple[Formula, ...]] = field(default_factory=set)

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self.deadline - time.monotonic())

    def within(self, share: float) -> Prover:
        """A prover with this share of the time left, and no lemmas of its own yet."""
        return Prover(time.monotonic() + share * self.left)

    def ask(self, conditions: Iterable[Formula], seconds: float | None = None) -> tuple[Answer, Any]:
        """Whether the conditions can hold together; with ``"sat"``, the solver's model.

        Every answer but "unsat" and "sat" (a time limit, an incomplete theory, a failure within the solver) is
        "unknown".
        """
        z3 = require("z3", "prove")
        budget = self.left if seconds is None else min(seconds, self.left)
        if budget <= 0:
            return "unknown", None
        conditions = tuple(conditions)
        if conditions in self._impossible:
            return "unsat", None
        linear = all(atom.poly.is_linear for condition in conditions for atom in atoms(condition))
        solver = z3.SolverFor("QF_LRA") if linear else z3.Solver()
        until = time.monotonic() + budget  # what is put to the solver takes its share of the time
        for condition in conditions:
            if time.monotonic() >= until:
                return "unknown", None
            solver.add(in_z3(condition))
        solver.set("timeout", max(1, int(1000 * (until - time.monotonic()))))
        try:
            answer = solver.check()
            if answer == z3.unsat:
                self._impossible.add(conditions)
                return "unsat", None
            if answer == z3.sat:
                return "sat", solver.model()
            if "interrupted" in solver.reason_unknown():  # the solver takes Ctrl-C for itself
                raise KeyboardInterrupt
            return "unknown", None
        except z3.Z3Exception:
            return "unknown", None

    def shows(self, name: str, conditions: Iterable[Formula], seconds: float | None = None) -> bool:
        """Whether the conditions are shown to be unsatisfiable together; then a lemma is kept."""
        conditions = tuple(conditions)
        if self.ask(conditions, seconds)[0] != "unsat":
            return False
        self.keep(name, conditions)
        return True

    def keep(self, name: str, conditions: Iterable[Formula]) -> None:
        """Keep a lemma whose conditions were answered "unsat" just now."""
        self.lemmas.append(Lemma(name, tuple(conditions)))

    def core(self, fixed: Sequence[Formula], helpers: Sequence[Formula]) -> list[Formula]:
        """Of the helpers, those that are needed beside what is fixed to make it unsatisfiable; all, if that is hard."""
        z3 = require("z3", "prove")
        if not self.left:
            return list(helpers)
        solver = z3.Solver()
        solver.set("timeout", max(1, int(1000 * min(2.0, self.left))))
        solver.add(*(in_z3(condition) for condition in fixed))
        marks = [z3.Bool(f"helper {number}") for number in range(len(helpers))]
        for mark, helper in zip(marks, helpers, strict=True):
            solver.add(z3.Implies(mark, in_z3(helper)))
        try:
            if solver.check(*marks) != z3.unsat:
                return list(helpers)
            used = {str(mark) for mark in solver.unsat_core()}
        except z3.Z3Exception:
            return list(helpers)
        kept = [helper for mark, helper in zip(marks, helpers, strict=True) if str(mark) in used]
        for helper in kept[:_MOST_TO_DROP]:  # a core need not be minimal
            fewer = [other for other in kept if other != helper]
            if self.ask([*fixed, *fewer], 0.2)[0] == "unsat":
                kept = fewer
        return kept


def check_installed() -> None:
    """MissingExtraError where the solver is not installed."""
    require("z3", "prove")


def in_z3(formula: Formula) -> Any:
    """The condition as a term of the solver; all variables are real."""
    if isinstance(formula, Atom):
        return _comparison(formula)
    z3 = importlib.import_module("z3")
    if not formula.parts:
        return z3.BoolVal(formula.all)
    parts = [in_z3(part) for part in formula.parts]
    return z3.And(parts) if formula.all else z3.Or(parts)


@lru_cache(maxsize=20_000)
def _comparison(atom: Atom) -> Any:
    left, right = _term(atom.poly, positive=True), _term(atom.poly, positive=False)
    if atom.op == ">":
        return left > right
    if atom.op == ">=":
        return left >= right
    return left == right if atom.op == "==" else left != right


def _term(poly: Poly, *, positive: bool) -> Any:
    """The sum of its terms with positive, or of the others with their signs changed."""
    z3 = importlib.import_module("z3")
    terms = []
    for monomial, factor in poly.terms.items():
        if (factor > 0) != positive:
            continue
        factors = [z3.Real(variable) for variable, power in monomial for _ in range(power)]
        if abs(factor) != 1 or not factors:
            factors.insert(0, z3.RealVal(f"{abs(factor.numerator)}/{factor.denominator}"))
        terms.append(z3.Product(*factors) if len(factors) > 1 else factors[0])
    return z3.Sum(*terms) if len(terms) > 1 else terms[0] if terms else z3.RealVal(0)


def rational(model: Any, name: str) -> Fraction | None:
    """The value of a variable in a model: 0 where any would do, None where it is not rational."""
    z3 = importlib.import_module("z3")
    value = model.eval(z3.Real(name), model_completion=True)
    if not z3.is_rational_value(value):
        return None
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


def exported(lemmas: Sequence[Lemma], heading: str) -> str:
    """The lemmas as SMT-LIB 2, one push and pop each; every ``check-sat`` must answer ``unsat``."""
    z3 = require("z3", "prove")
    lines = [*(f"; {line}" for line in heading.splitlines()), "(set-logic QF_NRA)"]
    for number, lemma in enumerate(lemmas, 1):
        solver = z3.Solver()
        solver.add(*(in_z3(condition) for condition in lemma.conditions))
        lines += ["", f"; lemma {number}: {lemma.name}", "(push 1)", solver.sexpr().strip()]
        lines += ["(check-sat) ; expected: unsat", "(pop 1)"]
    return "\n".join([*lines, ""])
