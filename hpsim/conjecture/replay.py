"""A counterexample decided again, three ways that share no code: plain recurrences, compiled kernels, closed forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

import numpy as np

from hpsim import formulas
from hpsim.claims import exact_algebra
from hpsim.claims.evaluate import System, Term
from hpsim.claims.exact_algebra import Decision
from hpsim.claims.systems import ExactPipeline
from hpsim.conjecture.counterexample import Counterexample, plain_side, sides
from hpsim.conjecture.question import Question
from hpsim.event_lanes import makespans_in
from hpsim.exact import exact
from hpsim.lanes import pack
from hpsim.regime import RENDEZVOUS, Regime, named

MOST_CELLS = 2_000_000_000
_EXACT = 2**53


@dataclass(frozen=True)
class Verdict:
    """What one way of computing came to.

    Attributes
    ----------
    by : str
        ``recurrences``, ``kernels`` or ``closed forms``.
    decision : Decision or None
        None where it cannot decide.
    reason : str
        Why it cannot.
    """

    by: str
    decision: Decision | None
    reason: str = ""

    @property
    def refutes(self) -> bool:
        """Whether the statement is defined and fails."""
        return self.decision is not None and self.decision.holds is False


@dataclass(frozen=True)
class Replay:
    """A counterexample decided again.

    Attributes
    ----------
    counterexample : Counterexample
    verdicts : tuple of Verdict
        By the plain recurrences on Fractions, which has the last word; by the kernels; by the closed forms.
    changed : tuple of str
        Sides whose value is not what the file says.
    """

    counterexample: Counterexample
    verdicts: tuple[Verdict, ...]
    changed: tuple[str, ...]

    @property
    def refutes(self) -> bool:
        """Whether it still refutes the statement."""
        return self.verdicts[0].refutes

    @property
    def agree(self) -> bool:
        """Whether all ways that can decide come to the same values."""
        decided = [verdict.decision for verdict in self.verdicts if verdict.decision is not None]
        return all(decision == decided[0] for decision in decided)


class CannotTell(Exception):  # noqa: N818 - not an error: one of three ways has nothing to say
    """There is no closed form, or the numbers are beyond what the kernels carry exactly."""


def replay(counterexample: Counterexample) -> Replay:
    """Decide a counterexample again by the recurrences, the kernels and the closed forms."""
    question, example = counterexample.question, counterexample.example
    twins = question.systems(example)
    ways: list[tuple[str, Mapping[str, System]]] = [("recurrences", twins)]
    for by, system in (("kernels", KernelPipeline), ("closed forms", ClosedPipeline)):
        ways.append((by, {name: system(twin, question) for name, twin in twins.items()}))
    verdicts = tuple(_verdict(by, question, counterexample, systems) for by, systems in ways)
    known = dict(sides(verdicts[0].decision)) if verdicts[0].decision is not None else {}
    changed = [
        f"{text} = {_shown(value)} in the file, {_shown(known[text]) if text in known else 'not a side'} here"
        for text, value in ((text, plain_side(value)) for text, value in counterexample.recorded)
        if text not in known or known[text] != value
    ]
    return Replay(counterexample, verdicts, tuple(changed))


def _shown(value: object) -> str:
    return str(value).replace("'", "")


def _verdict(by: str, question: Question, counterexample: Counterexample, systems: Mapping[str, System]) -> Verdict:
    example = counterexample.example
    try:
        return Verdict(by, exact_algebra.decide(question.statement, systems, example.M, example.rho))
    except CannotTell as reason:
        return Verdict(by, None, str(reason))


class _Pipeline:
    """A pipeline in exact numbers whose makespans are computed in some other way than by the twins."""

    def __init__(self, twin: ExactPipeline, question: Question) -> None:
        self.twin = twin
        self.question = question
        self.tau, self.d, self.latency = twin.tau, twin.d, twin.latency

    @property
    def S(self) -> int:
        """Number of stages."""
        return self.twin.S

    def makespan(self, regime: str, count: Fraction) -> Term:
        """Makespan of ``count`` micro-batches."""
        if count < 1 or count.denominator != 1 or count * self.S > MOST_CELLS:
            return Term(Fraction(0), False)
        knobs = self.question.regimes[regime] if regime in self.question.regimes else named(regime, self.twin.rho or 0)
        return Term(self._makespan(knobs, int(count)))

    def slope(self, regime: str) -> Fraction:
        """Steady time per micro-batch, from the largest cycle ratio."""
        return self.twin.slope(regime)

    def law(self, regime: str) -> Fraction:
        """The same in closed form."""
        return self.twin.law(regime)

    def _makespan(self, knobs: Regime, M: int) -> Fraction:
        raise NotImplementedError


class KernelPipeline(_Pipeline):
    """Makespans by the compiled kernels, on times multiplied by a common denominator."""

    def _makespan(self, knobs: Regime, M: int) -> Fraction:
        shares = [exact(share) for share in knobs.overlap_of(max(self.S - 1, 1))]
        feedback = exact(knobs.feedback)
        times = [self.tau, self.d[:-1], self.latency[:-1]] if knobs.communication else [self.tau, [], []]
        whole = lcm(*(value.denominator for values in times for value in (*values, feedback)))
        scale = whole * lcm(*(share.denominator for share in shares))
        most = sum(sum(values) for values in times) + feedback
        if most * M * scale >= _EXACT // 4:
            raise CannotTell("totals beyond 2^51 units, which float64 does not carry exactly")
        links = [0] * (self.S - 1)
        tau, d, latency = (
            pack(np.array([[float(value * scale) for value in (values or links)]], dtype=np.float64).reshape(1, -1))
            for values in times
        )
        overlap = pack(np.array([[float(share) for share in shares]]))
        stops = np.array([M], dtype=np.int64)
        found = makespans_in(tau, d, latency, replace(knobs, feedback=feedback * scale), stops, overlap)
        # The true value is whole in these units; shares such as 1/3 are rounded, far less than half a unit.
        return Fraction(round(float(found[0, 0, 0])), scale)


class ClosedPipeline(_Pipeline):
    """Makespans by the closed forms of the theorems; there are none for limited places, channels and windows."""

    def _makespan(self, knobs: Regime, M: int) -> Fraction:
        tau, d, latency = self.tau, self.d[:-1], self.latency[:-1]
        if not knobs.communication and knobs.is_chain:
            return Fraction(formulas.makespan_free(tau, M))
        if knobs == RENDEZVOUS:
            return Fraction(formulas.makespan_rendezvous(tau, M, d, latency))
        if not knobs.is_chain:
            raise CannotTell("no closed form for limited places, channels or windows")
        shares = [exact(share) for share in knobs.overlap_of(self.S - 1)]
        return Fraction(formulas.makespan_partial(tau, M, shares, d, latency))
