"""A pipeline on Fractions, as statements see it: makespans by the plain recurrences, each computed once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property

from hpsim.claims.evaluate import Term
from hpsim.claims.tree import StatementError
from hpsim.exact import NumberLike, exact
from hpsim.regime import Regime, named
from hpsim.vectors import MOST_MICROBATCHES

MOST_CELLS = 20_000
"""Micro-batches times stages of one makespan; beyond it, the makespan law takes the place of the recurrence."""
_CHAIN = ("free", "async", "blocking", "partial")


class ExactPipeline:
    """One pipeline in exact numbers.

    Parameters
    ----------
    tau : S numbers
        Service times, at least 0.
    d, latency : S-1 numbers, or S with a last one of 0; optional
        Transfer and travel time of each link.
    regimes : mapping of str to Regime, optional
        Regimes beyond the built-in ones.
    rho : number, optional
        Overlapped share of each transfer, for the regime ``partial``.

    Raises
    ------
    StatementError
        When the vectors do not fit together.
    """

    def __init__(
        self,
        tau: Iterable[NumberLike],
        d: Iterable[NumberLike] | None = None,
        latency: Iterable[NumberLike] | None = None,
        regimes: Mapping[str, Regime] | None = None,
        rho: NumberLike | None = None,
    ) -> None:
        self.tau = [exact(time) for time in tau]
        if not self.tau:
            raise StatementError("tau", "no value", "one service time for each stage")
        self.d = self._links("d", d)
        self.latency = self._links("latency", latency)
        self.rho = None if rho is None else exact(rho)
        self.regimes = dict(regimes or {})
        self._makespans: dict[tuple[str, int], Fraction] = {}

    @property
    def S(self) -> int:
        """Number of stages."""
        return len(self.tau)

    def _links(self, name: str, values: Iterable[NumberLike] | None) -> list[Fraction]:
        times = [exact(value) for value in values or ()]
        if len(times) == self.S and times[-1] == 0:
            return times
        if times and len(times) != self.S - 1:
            raise StatementError(name, f"{len(times)} values", f"{self.S} stages have {self.S - 1} links")
        return [*(times or [Fraction(0)] * (self.S - 1)), Fraction(0)]

    def makespan(self, regime: str, count: Fraction) -> Term:
        """Makespan of ``count`` micro-batches; undefined where that is no count, or above 10**300."""
        if not 1 <= count <= MOST_MICROBATCHES or count.denominator != 1:
            return Term(Fraction(0), False)
        key = (regime, int(count))
        if key not in self._makespans:
            short = count * self.S <= MOST_CELLS
            self._makespans[key] = self._by_recurrence(*key) if short else self._by_long_run(*key)
        return Term(self._makespans[key])

    def slope(self, regime: str) -> Fraction:
        """Steady time per micro-batch, from the largest cycle ratio of the event graph."""
        from hpsim.throughput_law import steady_slope

        return Fraction(steady_slope(self.tau, self.d[:-1], self.latency[:-1], self._regime(regime)))

    def law(self, regime: str) -> Fraction:
        """Steady time per micro-batch, from the throughput law."""
        from hpsim.throughput_law import law

        return Fraction(law(self.tau, self.d[:-1], self.latency[:-1], self._regime(regime)))

    def _by_long_run(self, regime: str, M: int) -> Fraction:
        from hpsim.long_run import makespan
        from hpsim.pipeline import Pipeline

        return makespan(Pipeline(self.tau, self.d[:-1], self.latency[:-1]), M=M, regime=self._regime(regime))

    def _by_recurrence(self, regime: str, M: int) -> Fraction:
        if regime not in self.regimes and regime in _CHAIN:
            from hpsim.reference import chain

            scale, tau, d, latency = self._whole
            return Fraction(chain.makespan(tau, d, M, regime, self._share(regime), latency)) / scale
        from hpsim.reference import event_graph

        knobs = self._regime(regime)
        scale, tau, d, latency = self._whole
        makespan = event_graph.makespan(
            tau,
            d if knobs.communication else None,
            M,
            latency=latency if knobs.communication else None,
            overlap=_share(knobs.overlap),
            buffers=knobs.buffers,
            channels=knobs.channels,
            window=knobs.window,
            feedback=exact(knobs.feedback) * scale,
        )
        return Fraction(makespan) / scale

    @cached_property
    def _whole(self) -> tuple[int, list[int], list[int], list[int]]:
        """All times as integers in units of 1/scale, which add up faster than Fractions: scale, tau, d, latency."""
        links = self.d[:-1], self.latency[:-1]
        scale = math.lcm(*(time.denominator for times in (self.tau, *links) for time in times))
        tau, d, latency = ([int(time * scale) for time in times] for times in (self.tau, *links))
        return scale, tau, d, latency

    def _share(self, regime: str) -> Fraction | None:
        if regime == "partial" and self.rho is None:
            raise StatementError("rho", "missing", "the statement needs the overlapped share, for example rho = 1/2")
        return self.rho

    def _regime(self, name: str) -> Regime:
        if name in self.regimes:
            return self.regimes[name]
        if name == "partial":
            self._share(name)
        return named(name, self.rho)


def _share(overlap: object) -> Fraction | list[Fraction]:
    return [exact(share) for share in overlap] if isinstance(overlap, tuple) else exact(overlap)
