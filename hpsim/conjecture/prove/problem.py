"""What is to be proved: a question with an invariant, and what is assumed of every point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product

from hpsim.claims.catalogue import Claim
from hpsim.claims.parse import parse
from hpsim.claims.regimes import draws_of, regimes_at
from hpsim.claims.tree import Statement
from hpsim.conjecture.counterexample import Counterexample
from hpsim.conjecture.example import Example
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.question import Question
from hpsim.regime import Regime
from hpsim.sweep.file.distribution import Distribution

_MOST_VARIANTS = 200


@dataclass(frozen=True)
class Problem:
    """A statement and what is given with it.

    Attributes
    ----------
    question : Question
        The statement, how its pipelines are related, and what its own regimes mean.
    invariant : Statement, optional
        For the induction over stages.
    variant : str
        Which of the values that the regimes may take, in words; empty where there is nothing to choose.
    """

    question: Question
    invariant: Statement | None = None
    variant: str = ""

    @property
    def statement(self) -> Statement:
        """The statement."""
        return self.question.statement

    @property
    def regimes(self) -> dict[str, Regime]:
        """Regimes beyond the built-in ones."""
        return dict(self.question.regimes)

    @property
    def relation(self) -> str | None:
        """How pipelines A and B are related; None where there is one pipeline."""
        return self.question.relation if len(self.pipelines) == 2 else None

    @property
    def pipelines(self) -> tuple[str, ...]:
        """``("",)``, or ``("A", "B")``."""
        return self.question.pipelines

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is assumed of every point, in words."""
        stated = ["real tau >= 0, not all zero", "real d >= 0"]
        stated.append("real latency >= 0" if self.question.uses_latency else "latency 0")
        if self.question.uses_rho:
            stated.append("real rho from 0 to 1")
        if len(self.pipelines) == 2:
            stated.append(f"A and B: {self.relation or 'unrelated'}")
        return tuple(stated)


def refuted_by(problem: Problem, example: Example) -> Counterexample | None:
    """The counterexample that the point is, if it is one, by the plain recurrences on Fractions."""
    return Counterexample(problem.question, example) if problem.question.refuted_by(example) else None


def problems_of(claim: Claim) -> tuple[Problem, ...]:
    """One problem for each choice of the counts that the claim's regimes draw; all of them must hold.

    Raises
    ------
    Unsupported
        When there are too many choices.
    RegimeError
        When the knobs make no regime.
    """
    regimes = claim.given.regimes
    names = tuple(regimes)
    statement = claim.parsed
    invariant = None if claim.invariant is None else parse(claim.invariant, names, claim.given.relation)
    draws = draws_of(regimes)
    values = [_values(draw.distribution) for draw in draws]
    if math.prod(map(len, values)) > _MOST_VARIANTS:
        raise Unsupported("its regimes may take too many values")
    problems = []
    for chosen in product(*values):
        counts = {(draw.regime, draw.knob): count for draw, count in zip(draws, chosen, strict=True)}
        meant = regimes_at(regimes, partial(_chosen, counts))
        variant = ", ".join(f"{regime}.{knob} = {count}" for (regime, knob), count in counts.items())
        problems.append(Problem(Question(statement, claim.given.relation, meant), invariant, variant))
    return tuple(problems)


def _chosen(counts: Mapping[tuple[str, str], int], regime: str, knob: str, _: Distribution) -> int:
    return counts[regime, knob]


def _values(distribution: Distribution) -> list[int]:
    if distribution.kind in ("integers", "uniform"):
        low, high = map(int, distribution.values)
        if high - low >= _MOST_VARIANTS:
            raise Unsupported("its regimes may take too many values")
        return list(range(low, high + 1))
    if distribution.kind in ("choice", "constant"):
        return sorted(set(map(int, distribution.values)))
    raise Unsupported(f"its regimes are drawn from a {distribution.kind} distribution")
