"""Statements at many points at once: pipelines in SIMD lanes, simulated by the kernels, on float64.

The numbers of a statement are arrays that broadcast to (numbers of micro-batches, blocks, LANES): either every pipeline
meets every number of micro-batches, whose array then has shape (n, 1, 1), or each lane has its own, (blocks, LANES).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from hpsim.claims.evaluate import Term
from hpsim.claims.float_algebra import FloatDecision, FloatNumber
from hpsim.claims.quotients import Number, QuotientAlgebra, as_float, decide
from hpsim.claims.tree import Statement
from hpsim.event_lanes import makespans_in
from hpsim.exact import NumberLike, exact
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array
from hpsim.regime import Regime, named
from hpsim.throughput_terms import resources

MOST_MICROBATCHES = 4096
"""Makespans of more micro-batches than this, and than the points have, are not simulated in lanes, so they are near."""
_ROUNDING = 2.0**-50  # a few roundings of one sum, relative


@dataclass(frozen=True)
class LaneTimes:
    """The times of pipelines of equal S.

    Attributes
    ----------
    tau : (blocks, S, LANES) array
    d, latency : (blocks, S-1, LANES) arrays
    unit : float
        A power of two that all times are multiples of; 0 where there is none, and the times are then rounded.
    """

    tau: Array
    d: Array
    latency: Array
    unit: float


@dataclass(frozen=True)
class LaneShares:
    """Overlapped shares, (blocks, LANES), and a power of two that they are multiples of, or 0."""

    values: Array
    unit: float


class LanePipeline:
    """Pipelines as a statement's system; see :class:`hpsim.claims.evaluate.System`."""

    def __init__(self, times: LaneTimes, regimes: Mapping[str, Regime], rho: LaneShares | None, counts: Array) -> None:
        self.times = times
        self.regimes = regimes
        self.rho = rho
        self.counts = counts
        self._tables: dict[tuple[str, bytes], Array] = {}

    @property
    def S(self) -> int:
        """Number of stages."""
        return int(self.times.tau.shape[1])

    @cached_property
    def _stops(self) -> Array:
        """The numbers of micro-batches of the points, ascending, each once."""
        stops: Array = np.unique(self.counts.astype(np.int64))
        return stops

    @cached_property
    def tau(self) -> list[FloatNumber]:
        """Service time of each stage."""
        return self._numbers(self.times.tau, 0)

    @cached_property
    def d(self) -> list[FloatNumber]:
        """Transfer time after each stage, the last 0."""
        return self._numbers(self.times.d, 1)

    @cached_property
    def latency(self) -> list[FloatNumber]:
        """Travel time after each stage, the last 0."""
        return self._numbers(self.times.latency, 1)

    def makespan(self, regime: str, count: Number) -> Term:
        """Makespans of ``count`` micro-batches: undefined where that is no count, unknown where it is very high."""
        wanted = np.asarray(as_float(count).values)
        most = max(MOST_MICROBATCHES, float(self.counts.max()))
        counts = np.where((wanted >= 1) & (wanted <= most), wanted, 1).astype(np.int64)
        beyond = wanted > most
        domain: Any = True if np.array_equal(counts, wanted) else (counts == wanted) | (beyond & (wanted % 1 == 0))
        knobs, overlap, unit = self._regime(regime)
        stops = self._stops if wanted is self.counts else np.unique(np.append(self._stops, counts))
        table = self._table(regime, knobs, overlap, stops)
        bound = float(table[-1].max())
        error: Any = 0.0 if unit and bound < 2.0**53 * unit else bound * _ROUNDING * (self.S + float(stops[-1]))
        values = _looked_up(table, stops, counts)
        if beyond.any():  # about so long, and decided exactly
            values = np.where(beyond, values + (wanted - 1) * as_float(self.law(regime)).values, values)
            bound, error = float(values.max()), np.where(beyond, np.inf, error)
        exact_times = isinstance(error, float) and error == 0.0
        return Term(FloatNumber(values, unit if exact_times else 0.0, bound, error), domain)

    def slope(self, regime: str) -> Number:
        """Steady time per micro-batch, by the law and so only nearly: the cycle ratio itself decides what is close."""
        law = as_float(self.law(regime))
        return FloatNumber(law.values, 0.0, law.bound, law.error + law.bound * _ROUNDING)

    def law(self, regime: str) -> Number:
        """Steady time per micro-batch: the largest term over servers, credit loops, the window and links."""
        knobs, overlap, unit = self._regime(regime)
        tau, d, latency = self.times.tau, self.times.d, self.times.latency
        if not knobs.communication:
            d = latency = np.zeros_like(d)
        by_stage = (list(lanes.swapaxes(0, 1)) for lanes in (tau, d, latency, (1.0 - overlap) * d))
        service, transfer, travel, hold = by_stage
        limits = resources(service, transfer, travel, hold, float(knobs.feedback), knobs)
        terms = [self._term(time, unit, count) for _, _, time, count in limits]
        largest: Number = QuotientAlgebra(margins=False).largest(terms)
        return largest

    def _term(self, times: Array, unit: float, count: int) -> Number:
        """``times / count``, exact where the times are."""
        bound = float(times.max())
        whole = bool(unit) and bound < 2.0**53 * unit
        time = FloatNumber(times, unit if whole else 0.0, bound, 0.0 if whole else bound * _ROUNDING * self.S)
        algebra = QuotientAlgebra(margins=False)
        made: Number = time if count == 1 else algebra.divide(time, algebra.constant(Fraction(count)))
        return made

    def _numbers(self, times: Array, short: int) -> list[FloatNumber]:
        bound = float(times.max()) if times.size else 0.0
        error = 0.0 if self.times.unit else bound * _ROUNDING
        stages = [FloatNumber(times[:, s], self.times.unit, bound, error) for s in range(times.shape[1])]
        return [*stages, FloatNumber(np.float64(0.0), 1.0, 0.0)] if short else stages

    def _regime(self, name: str) -> tuple[Regime, Array, float]:
        """Its knobs, its overlap (blocks, 1 or S-1, LANES), and the unit of its makespans."""
        knobs = self.regimes[name] if name in self.regimes else named(name, 1)
        blocks = len(self.times.tau)
        if name == "partial":
            if self.rho is None:
                raise ValueError("a share is needed")
            return knobs, self.rho.values[:, None], self.times.unit * self.rho.unit
        shares, unit = _floats_and_unit(*knobs.overlap_of(max(self.S - 1, 1)))
        overlap = np.broadcast_to(np.array(shares)[:, None], (blocks, len(shares), LANES))
        unit, feedback = self.times.unit * unit, exact(knobs.feedback)
        return knobs, np.ascontiguousarray(overlap), min(unit, _unit(feedback)) if feedback else unit

    def _table(self, name: str, knobs: Regime, overlap: Array, stops: Array) -> Array:
        key = (name, stops.tobytes())
        if key not in self._tables:
            times = self.times
            self._tables[key] = makespans_in(times.tau, times.d, times.latency, knobs, stops, overlap)
        return self._tables[key]


def decide_lanes(
    statement: Statement,
    regimes: Mapping[str, Regime],
    pipelines: Sequence[LaneTimes],
    counts: Array,
    rho: LaneShares | None,
    margins: bool = True,
) -> FloatDecision:
    """The statement at every point.

    Parameters
    ----------
    statement : Statement
        What is asked.
    regimes : mapping of str to Regime
        What the statement's own regimes mean.
    pipelines : sequence of LaneTimes
        One for each pipeline of the statement, with equal numbers of blocks.
    counts : (n, 1, 1) or (blocks, LANES) float64 array of whole numbers
        Micro-batches: all of these for every pipeline, or one number for each.
    rho : LaneShares or None
        Overlapped shares.
    margins : bool
        Whether margins are wanted.

    Returns
    -------
    FloatDecision
        Arrays of shape (n, blocks, LANES) or (blocks, LANES).
    """
    systems = {
        name: LanePipeline(times, regimes, rho, counts)
        for name, times in zip(statement.pipelines, pipelines, strict=True)
    }
    blocks = (len(pipelines[0].tau), LANES)
    shape = (len(counts), *blocks) if counts.ndim == 3 else blocks
    share = None if rho is None else FloatNumber(rho.values, rho.unit, 1.0, 0.0 if rho.unit else _ROUNDING)
    M = FloatNumber(counts, 1.0, float(counts.max()))
    return decide(statement, systems, M, share, shape, margins)


@lru_cache(maxsize=1024, typed=True)  # 0.1 and Fraction(0.1) are equal, but the first is read as a decimal
def _floats_and_unit(*shares: NumberLike) -> tuple[list[float], float]:
    """``shares`` in float64, and a power of two that all of them are multiples of, or 0."""
    fractions = [exact(share) for share in shares]
    return [float(share) for share in fractions], min(_unit(share) for share in fractions)


def _unit(value: Fraction) -> float:
    """A power of two that ``value`` is a multiple of, or 0."""
    dyadic = value.denominator & (value.denominator - 1) == 0
    return 1.0 / value.denominator if dyadic and value.denominator < 2**60 else 0.0


def _looked_up(table: Array, stops: Array, counts: Array) -> Array:
    """The makespans (stops, blocks, LANES) at ``counts`` of any shape that broadcasts to (n, blocks, LANES)."""
    if counts.shape == (len(stops), 1, 1) and np.array_equal(counts[:, 0, 0], stops):
        return table
    places = np.searchsorted(stops, counts)
    if counts.size == 1:
        one: Array = table[int(places.reshape(-1)[0])]
        return one
    if counts.ndim == 3:
        if counts.shape[1:] == (1, 1):
            picked: Array = table[places[:, 0, 0]]
            return picked
        each: Array = np.take_along_axis(table, places, axis=0)
        return each
    found: Array = np.take_along_axis(table, np.broadcast_to(places, table.shape[1:])[None], axis=0)[0]
    return found
