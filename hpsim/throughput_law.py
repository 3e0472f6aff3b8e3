"""The throughput law: the time per micro-batch in the long run, what decides it, and what to improve.

Two ways to the same number: :func:`law` takes the largest term (see :mod:`hpsim.throughput_terms`), and
:func:`steady_slope` finds the slowest cycle of the event graph without knowing what cycles there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hpsim.cycle_ratio import critical_cycle
from hpsim.event_graph import Arc, event_graph, graph_of
from hpsim.exact import exact
from hpsim.improvements import Improvement, improvements
from hpsim.pipeline import Pipeline
from hpsim.regime import ASYNC, Regime, regime_of
from hpsim.throughput_terms import Term, shown, terms_of
from hpsim.vectors import operands

Times = Sequence[Fraction]


@dataclass(frozen=True)
class Throughput:
    """What a pipeline does in the long run.

    Attributes
    ----------
    slope : Fraction
        Time per micro-batch, in the pipeline's unit.
    rate : Fraction
        Micro-batches per unit of time, ``1/slope``.
    terms : tuple of Term
        Every term of the law, the largest first.
    cycle : tuple of Arc
        A cycle of the event graph that takes ``slope`` for each micro-batch, found by policy iteration.
    improvements : tuple of Improvement
        Every single change that lowers the slope, the one that gains most for its effort first.
    """

    slope: Fraction
    rate: Fraction
    terms: tuple[Term, ...]
    cycle: tuple[Arc, ...]
    improvements: tuple[Improvement, ...]

    def __repr__(self) -> str:
        return f"<Throughput: {shown(self.slope)} per micro-batch; {self.critical}>"

    @property
    def bottlenecks(self) -> tuple[Term, ...]:
        """All terms that attain the slope."""
        return tuple(term for term in self.terms if term.slope == self.slope)

    @property
    def critical(self) -> Term:
        """The term of the law that ``cycle`` is: ``str()`` of it tells the cycle in words."""
        kind, place = _kind_of(self.cycle)
        return next(term for term in self.bottlenecks if (term.kind, term.place) == (kind, place))


def throughput(pipeline: Pipeline, regime: str | Regime = ASYNC) -> Throughput:
    """Slope, bottlenecks, critical cycle and improvements of one pipeline, in exact numbers.

    Raises
    ------
    PipelineError, RegimeError
        For what is no pipeline, or no regime; when a knob is a list of another length than the pipeline has stages or
        links.

    Examples
    --------
    >>> found = throughput(Pipeline([2, 5, 1], d=[4, 1]), Regime(buffers=0))
    >>> str(found.slope), str(found.critical), str(found.improvements[0])
    ('9', 'credit loop 0→1: transfer 4 + service 5 over 1 place', 'buffers[1] from 0 to 1')
    """
    rules = regime_of(regime)
    slope, cycle = critical_cycle(event_graph(pipeline, rules))
    terms = law_terms(pipeline, rules)
    ordered = sorted(terms, key=lambda term: -term.slope)
    return Throughput(slope, 1 / slope, tuple(ordered), cycle, improvements(terms, pipeline, rules))


def law_terms(pipeline: Pipeline, regime: Regime) -> list[Term]:
    """One term for each resource, in the order servers, credit loops, window, links.

    Raises
    ------
    RegimeError
        As :func:`throughput`.
    """
    tau, d, latency = ([exact(time) for time in times] for times in (pipeline.tau, pipeline.d, pipeline.latency))
    return terms_of(tau, d, latency, regime)


def law(tau: Times, d: Times | None, latency: Times | None, regime: Regime) -> Fraction:
    """Time per micro-batch in the long run: the largest term of the law.

    Parameters
    ----------
    tau : sequence of S ints or Fractions
        Service times.
    d, latency : sequences of S-1 ints or Fractions, or None or empty for none
        Transfer and travel times.
    regime : Regime
        Its lists, if any, of as many values.

    Raises
    ------
    PipelineError, RegimeError
        When a list has not one value for each stage or link.
    """
    return max(term.slope for term in terms_of(tau, d, latency, regime))


def steady_slope(tau: Times, d: Times | None, latency: Times | None, regime: Regime) -> Fraction:
    """Time per micro-batch in the long run: the largest ratio of a cycle of the event graph, by policy iteration.

    Parameters and errors as :func:`law`, which it equals.
    """
    _, tau, d, latency = operands(1, tau=tau, d=d, latency=latency)
    return critical_cycle(graph_of(tau, d, latency, regime)).ratio


def _kind_of(cycle: Sequence[Arc]) -> tuple[str, int]:
    """The term that a cycle belongs to, by the one arc in it that reaches back to an earlier micro-batch."""
    (back,) = (arc for arc in cycle if arc.lag)
    match back.source.kind, back.target.kind:
        case "release", "start":
            return "server", back.target.place
        case "release", "depart":
            return "credit", back.target.place
        case "sent", "sent":
            return "link", back.target.place
    return "window", 0
