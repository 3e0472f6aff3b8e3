"""A statement at a given number of stages, every time of every stage a variable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, permutations, repeat
from typing import Any

from hpsim.claims.evaluate import Term, evaluate
from hpsim.conjecture.example import Example, Times
from hpsim.conjecture.prove.chain_lemma import is_chain, occupancy_and_flight
from hpsim.conjecture.prove.cycles import cycle_ratios
from hpsim.conjecture.prove.formula import FALSE, TRUE, Formula, compared, every, negated, some
from hpsim.conjecture.prove.poly import ZERO, Poly, poly, total, variable
from hpsim.conjecture.prove.problem import Problem
from hpsim.conjecture.prove.smt import rational
from hpsim.conjecture.prove.unsupported import NoClosedForm, Unsupported
from hpsim.conjecture.prove.value import N, ProofAlgebra, Value, plain
from hpsim.event_graph import Event, EventGraph, graph_of, run
from hpsim.exact import exact
from hpsim.regime import RENDEZVOUS, Regime
from hpsim.throughput_terms import resources

_MOST_STAGES_PERMUTED = 4
_MOST_EVENTS = 2_000  # micro-batches times stages


@dataclass(frozen=True)
class Unknowns:
    """Polynomials for the times of one pipeline: S, S-1 and S-1 of them."""

    tau: tuple[Poly, ...]
    d: tuple[Poly, ...]
    latency: tuple[Poly, ...]

    @property
    def all(self) -> tuple[Poly, ...]:
        return self.tau + self.d + self.latency


class ExplicitPipeline:
    """A pipeline whose times are polynomials: a system of :mod:`hpsim.claims.evaluate`."""

    def __init__(self, unknowns: Unknowns, rho: Poly, regimes: dict[str, Regime], algebra: ProofAlgebra) -> None:
        self._unknowns, self._rho, self._regimes, self._algebra = unknowns, rho, regimes, algebra
        self._ends: dict[str, list[Poly]] = {}
        self.S = len(unknowns.tau)
        self.tau = [plain(time) for time in unknowns.tau]
        self.d = [plain(time) for time in (*unknowns.d, ZERO)]
        self.latency = [plain(time) for time in (*unknowns.latency, ZERO)]

    def makespan(self, regime: str, count: Value) -> Term:
        """In closed form for chains; from the event graph where ``count`` is a number.

        Raises
        ------
        Unsupported
            For another regime where it is not.
        """
        number = count.plain
        if is_chain(regime, self._regimes):
            occupancy, flight = self._chain(regime)
            longest = self._algebra.largest([plain(time) for time in occupancy])
            passes = self._algebra.add(count, plain(-1))
            return Term(self._algebra.add(plain(total((*occupancy, *flight))), self._algebra.multiply(passes, longest)))
        known = None if number is None else number.constant
        if known is None:
            raise NoClosedForm(f"T({regime}) has no closed form")
        if known < 1 or known.denominator != 1:
            return Term(plain(0), False)
        if known * self.S > _MOST_EVENTS:
            raise Unsupported(f"T({regime}) of {known} micro-batches is too long to unroll")
        return Term(plain(self._by_event_graph(regime, int(known))))

    def slope(self, regime: str) -> Value:
        """The largest occupancy of a chain; for other regimes the largest ratio of a cycle.

        Raises
        ------
        Unsupported
            When there are too many cycles.
        """
        if is_chain(regime, self._regimes):
            return self._algebra.largest([plain(time) for time in self._chain(regime)[0]])
        return plain(self._algebra.latest(*cycle_ratios(self._graph(regime))))

    def law(self, regime: str) -> Value:
        """The throughput law: one term for each server, credit loop, window and link."""
        if is_chain(regime, self._regimes):
            return self.slope(regime)
        knobs = self._knobs(regime)
        tau, d, latency = self._unknowns.tau, self._unknowns.d, self._unknowns.latency
        if not knobs.communication:
            d = latency = (ZERO,) * (self.S - 1)
        held = [share * time for share, time in zip(self._held(regime), d, strict=True)]
        terms = resources(tau, d, latency, held, poly(exact(knobs.feedback)), knobs)
        return plain(self._algebra.latest(*(time * Fraction(1, count) for _, _, time, count in terms)))

    def _chain(self, regime: str) -> tuple[list[Poly], list[Poly]]:
        links = zip((*self._unknowns.d, ZERO), (*self._unknowns.latency, ZERO), strict=True)
        pairs = [
            occupancy_and_flight(regime, self._regimes, tau, d, latency, self._rho, None if s == self.S - 1 else s)
            for s, (tau, (d, latency)) in enumerate(zip(self._unknowns.tau, links, strict=True))
        ]
        return [occupancy for occupancy, _ in pairs], [flight for _, flight in pairs]

    def _by_event_graph(self, regime: str, count: int) -> Poly:
        """Follow the arcs; each maximum that is not plain is a variable of its own."""
        ends = self._ends.setdefault(regime, [])
        if len(ends) < count:
            graph = self._graph(regime)
            last = Event("finish", self.S - 1)
            ends[:] = [poly(now[last]) for now in islice(run(repeat(graph), latest=self._algebra.latest), count)]
        return ends[count - 1]

    def _knobs(self, regime: str) -> Regime:
        return self._regimes.get(regime, RENDEZVOUS)

    def _held(self, regime: str) -> list[Fraction]:
        """The share of each transfer that holds its sender."""
        return [1 - exact(share) for share in self._knobs(regime).overlap_of(self.S - 1)]

    def _graph(self, regime: str) -> EventGraph:
        times = self._unknowns
        return graph_of(times.tau, times.d, times.latency, self._knobs(regime), self._held(regime))


class Spelled:
    """The statement of a problem at given numbers of stages.

    Parameters
    ----------
    problem : Problem
    stages : tuple of int
        One for each pipeline.
    M : int, optional
        Number of micro-batches; by default it is the variable ``n`` plus 1.
    point : Example, optional
        Numbers in place of the variables.
    deadline : float, optional
        On the clock of ``time.monotonic``; after it OutOfTime is raised.

    Attributes
    ----------
    assumptions : list of Formula
        What is known of the variables.
    fails, holds, undefined : Formula
        Where the statement is defined and false, defined and true, undefined.
    guesses : bool
        Whether it may be undefined elsewhere, too.
    """

    def __init__(
        self,
        problem: Problem,
        stages: tuple[int, ...],
        M: int | None = None,
        point: Example | None = None,
        deadline: float | None = None,
    ) -> None:
        self.problem = problem
        self.stages = dict(zip(problem.pipelines, stages, strict=True))
        algebra = ProofAlgebra(deadline)
        self.unknowns = self._of_point(point) if point else self._named()
        if point is not None:
            self.rho = None if point.rho is None else poly(point.rho)
        else:
            self.rho = variable("rho") if problem.question.uses_rho else None
        share = ZERO if self.rho is None else self.rho
        systems = {
            name: ExplicitPipeline(unknowns, share, problem.regimes, algebra)
            for name, unknowns in self.unknowns.items()
        }
        count = plain(variable(N) + 1 if M is None else M)
        rho = None if self.rho is None else plain(self.rho)
        value, domain = evaluate(problem.statement, systems, count, rho, algebra)
        domain = (TRUE if domain else FALSE) if isinstance(domain, bool) else domain
        self.fails, self.holds = every((negated(value), domain)), every((value, domain))
        self.undefined, self.guesses = negated(domain), algebra.guesses
        self.assumptions = [*self._assumed(), *algebra.definitions]

    def point(self, model: Any, M: int = 1) -> Example | None:
        """The pipelines of a model of the solver; None where a value is not rational."""

        def numbers(polys: Sequence[Poly]) -> tuple[Fraction, ...]:
            return tuple(each.at(values) for each in polys)

        names = {name for unknowns in self.unknowns.values() for each in unknowns.all for name in each.variables}
        if self.rho is not None:
            names |= self.rho.variables
        found = {name: rational(model, name) for name in names}
        values = {name: value for name, value in found.items() if value is not None}
        if len(values) < len(found):
            return None
        times = (
            Times(numbers(unknowns.tau), numbers(unknowns.d), numbers(unknowns.latency))
            for unknowns in self.unknowns.values()
        )
        return Example(tuple(times), M, None if self.rho is None else self.rho.at(values))

    def among(self, values: Sequence[int]) -> Formula:
        """Every time is one of these values, and the overlapped share is 0, 1/2 or 1."""
        parts = [
            some(compared(time - value, "==") for value in values)
            for unknowns in self.unknowns.values()
            for time in unknowns.all
        ]
        if self.rho is not None:
            parts.append(some(compared(self.rho - share, "==") for share in (Fraction(1, 2), 0, 1)))
        return every(parts)

    def _named(self) -> dict[str, Unknowns]:
        unknowns: dict[str, Unknowns] = {}
        for pipeline, S in self.stages.items():
            prefix = f"{pipeline}." if pipeline else ""
            tau = tuple(variable(f"{prefix}tau[{s}]") for s in range(S))
            d = tuple(variable(f"{prefix}d[{s}]") for s in range(S - 1))
            latency = tuple(variable(f"{prefix}latency[{s}]") for s in range(S - 1))
            if not self.problem.question.uses_latency:
                latency = (ZERO,) * (S - 1)
            relation = self.problem.relation
            if pipeline == "B" and relation == "same tau":
                tau = unknowns["A"].tau
            if pipeline == "B" and relation in ("same d", "permutation"):
                d = unknowns["A"].d
            if pipeline == "B" and relation == "permutation":
                latency = unknowns["A"].latency
            unknowns[pipeline] = Unknowns(tau, d, latency)
        return unknowns

    def _of_point(self, point: Example) -> dict[str, Unknowns]:
        return {
            name: Unknowns(*(tuple(map(poly, values)) for values in (times.tau, times.d, times.latency)))
            for name, times in zip(self.stages, point.pipelines, strict=True)
        }

    def _assumed(self) -> list[Formula]:
        assumed: list[Formula] = []
        for unknowns in self.unknowns.values():
            assumed += [compared(time, ">=") for time in unknowns.all]
            assumed.append(compared(total(unknowns.tau), ">"))
        if self.rho is not None:
            assumed += [compared(self.rho, ">="), compared(1 - self.rho, ">=")]
        if self.problem.relation == "permutation":
            assumed.append(self._permuted())
        return assumed

    def _permuted(self) -> Formula:
        first, second = self.unknowns["A"].tau, self.unknowns["B"].tau
        if len(first) > _MOST_STAGES_PERMUTED:
            raise Unsupported(f"permutations of more than {_MOST_STAGES_PERMUTED} stages")
        return some(
            every(compared(a - b, "==") for a, b in zip(order, second, strict=True)) for order in permutations(first)
        )
