"""Whether float64 can carry every total of a sweep exactly, decided from bounds before anything runs.

Sums and maxima of whole numbers are exact in float64 up to 2^53. In exact arithmetic all times are whole numbers of a
grid unit: 2^-resolution when sampled, 1/scale from files; a sixteenth of that where shares overlap in part, which are
multiples of 1/16. The largest totals are the GPipe formula ``(S+M-1) tau_max`` and the blocking makespan with latency,
``sum(sigma) + sum(latency) + (M-1) sigma_max``; where places, channels or a window are limited, one micro-batch after
the other, ``M (sum(tau) + sum(d) + sum(latency) + feedback)``. Every other total of a sweep lies below one of these.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hpsim.sweep.file.distribution import Distribution
from hpsim.sweep.file.fields import refusal, shown
from hpsim.sweep.file.grid import Each, Grid, entries
from hpsim.sweep.file.knob_regime import Entry, KnobRegime
from hpsim.sweep.file.pipelines_file import PipelineEntry

LIMIT = 2**53
Rational = int | Fraction
RHO_PARTS = 16


@dataclass(frozen=True)
class Demands:
    """What the regimes of a sweep ask of numbers.

    Attributes
    ----------
    M : int
        The largest number of micro-batches.
    exact : bool
        Whether every total must be exact.
    parts : int
        Parts of a grid unit: 16 where a transfer may overlap in part, else 1.
    feedback : Fraction or None
        The longest, in regimes that limit places, channels or a window; None without such a regime.
    """

    M: int
    exact: bool
    parts: int = 1
    feedback: Fraction | None = None

    @staticmethod
    def of(M: int, exact: bool, regimes: Iterable[Entry]) -> Demands:
        """What these regimes ask, at up to ``M`` micro-batches."""
        entries = list(regimes)
        knobs = [regime for regime in entries if isinstance(regime, KnobRegime)]
        whole = all(share in (0, 1) for regime in knobs for share in regime.shares)
        parts = 1 if whole and "partial" not in entries else RHO_PARTS
        feedback = max((regime.feedback for regime in knobs), default=None)
        if feedback is None and "rendezvous" in entries:
            feedback = Fraction(0)
        return Demands(M, exact, parts, feedback)

    def total(self, stages: int, tau_max: Rational, sigma_max: Rational, fill: Rational, scale: int = 1) -> Rational:
        """The largest total of a pipeline with these maxima and this sum of all its times, all in units of 1/scale."""
        together: Rational = max((stages + self.M - 1) * tau_max, fill + (self.M - 1) * sigma_max)
        return together if self.feedback is None else max(together, self.M * (fill + self.feedback * scale))


def check_sampled(stages: int, demands: Demands, times: dict[str, Distribution], resolution: int | None) -> None:
    """Refuse a sampled sweep whose totals may leave the grid; ``resolution`` is None in float64 arithmetic.

    ``times`` holds the distributions of ``tau``, ``d`` and ``latency``. A draw never exceeds the upper end rounded up
    to the grid. Edge cases move ``tau`` and ``sigma`` only within their bounds, so they need no bound of their own.
    """
    unit = Fraction(1, 2**resolution) if resolution is not None else None
    tau_max = _highest("tau", times["tau"], Fraction(1), unit)
    d_max = _highest("d", times["d"], tau_max, unit)
    latency_max = _highest("latency", times["latency"], tau_max, unit)
    links = stages - 1
    fill = stages * tau_max + links * (d_max + latency_max)
    total = demands.total(stages, tau_max, tau_max + d_max, fill)
    reach = f"S = {stages}, M = {demands.M}, tau up to {_about(tau_max)}, d up to {_about(d_max)}"
    advice = f"lower microbatches, the resolution ({resolution}) or the upper ends of tau and d"
    _within(total, unit, demands.parts, ("tau",), reach, advice)


def check_pipelines(pipelines: Sequence[PipelineEntry], demands: Demands) -> None:
    """Refuse a pipeline whose totals, in units of 1 over its own common denominator, leave float64."""
    for index, entry in enumerate(pipelines):
        tau, d, latency = (_in_units(times, entry.scale) for times in (entry.tau, entry.d, entry.latency))
        sigma = [time + transfer for time, transfer in zip(tau, [*d, 0], strict=True)]
        units = demands.total(entry.S, max(tau), max(sigma), sum(sigma) + sum(latency), entry.scale)
        most = LIMIT // demands.parts if demands.exact else 0
        if units <= most and entry.scale <= LIMIT:
            continue  # nearly always: thousands of pipelines are checked without a Fraction
        reach = f"pipeline {entry.name[:60]!r}, M = {demands.M}, common denominator {_about(Fraction(entry.scale))}"
        unit = Fraction(1, entry.scale) if demands.exact else None
        advice = "lower microbatches or use rounder times"
        _within(Fraction(units) / entry.scale, unit, demands.parts, ("pipelines", index), reach, advice)


def _in_units(times: Iterable[Fraction], scale: int) -> list[int]:
    """Times as whole numbers of 1/scale, a common denominator."""
    return [time.numerator * (scale // time.denominator) for time in times]


def check_grid(grid: Grid, demands: Demands) -> None:
    """Refuse a grid whose totals, in units of 1 over the common denominator of all its times, leave float64."""
    S = max(grid.stages)
    tau_max = max(entries(grid.tau))
    d_max, latency_max = (max(entries(axis), default=Fraction(0)) for axis in (grid.d, grid.latency))
    vectors = [] if isinstance(grid.tau, Each) else grid.tau
    sums = [sum(_in_units(vector, grid.scale)) for vector in vectors if isinstance(vector, tuple)]
    tau_sum = Fraction(max(sums), grid.scale) if sums else S * tau_max
    links = S - 1
    total = demands.total(S, tau_max, tau_max + d_max, tau_sum + links * (d_max + latency_max))
    reach = f"S = {S}, M = {demands.M}, common denominator {_about(Fraction(grid.scale))}"
    unit = Fraction(1, grid.scale) if demands.exact else None
    _within(total, unit, demands.parts, ("grid",), reach, "lower microbatches or use rounder times")


def check_knobs(regimes: Iterable[KnobRegime], units: Collection[Fraction]) -> None:
    """Refuse shares and feedback times that exact arithmetic cannot hold; ``units`` are the grid units of the times."""
    in_all = math.gcd(*(unit.denominator for unit in units))
    for regime in regimes:
        check_sixteenths(regime.shares, ("regimes", regime.place, "overlap"))
        fits = in_all % regime.feedback.denominator == 0
        for unit in () if fits else units:
            if (regime.feedback / unit).denominator != 1:
                found = f"{shown(regime.feedback)} is not a multiple of {_about(unit)}, the unit of this sweep's times"
                allowed = "allowed in exact arithmetic: a multiple of it, or arithmetic: float64"
                raise refusal(("regimes", regime.place, "feedback"), found, allowed)


def check_sixteenths(shares: Sequence[Fraction], path: Sequence[str | int]) -> None:
    """Refuse a share of the list at ``path`` that exact arithmetic cannot hold."""
    for index, share in enumerate(shares):
        parts = share * RHO_PARTS
        if parts.denominator != 1:
            around = [shown(Fraction(n, RHO_PARTS)) for n in (math.floor(parts), math.ceil(parts))]
            allowed = f"allowed in exact arithmetic: multiples of 1/16, nearest are {around[0]} and {around[1]}"
            raise refusal(
                (*path, index), f"{shown(share)} is not a multiple of 1/16", f"{allowed}, or arithmetic: float64"
            )


def _highest(key: str, distribution: Distribution, tau_max: Fraction, unit: Fraction | None) -> Fraction:
    """The largest time that a draw can become."""
    high = distribution.high * (tau_max if distribution.times else 1)
    if unit is None or high == 0:
        return high
    if high < unit:
        found = f"never above {_about(high)}, less than one grid unit, {_about(unit)}"
        raise refusal((key,), found, "allowed: larger times, a higher resolution, or arithmetic: float64")
    return math.ceil(high / unit) * unit


def _within(
    total: Rational, unit: Fraction | None, parts: int, path: Sequence[str | int], reach: str, advice: str
) -> None:
    """Refuse a total that is beyond 2^53 grid units, or without a grid beyond the range of float64."""
    if unit is None:
        if total > 2**1000:
            raise refusal(path, f"totals beyond the range of float64 ({reach})", "allowed: smaller times")
        return
    if unit < Fraction(1, LIMIT):
        raise refusal(path, f"a grid finer than 2^-53 ({reach})", f"allowed: {advice}, or arithmetic: float64")
    units = total / unit * parts
    if units > LIMIT:
        sixteenths = " of 1/16, for partial overlap" if parts > 1 else ""
        found = f"totals may reach {_about(units)} grid units{sixteenths}, beyond 2^53 = {LIMIT} ({reach})"
        raise refusal(path, found, f"{advice}, or say arithmetic: float64")


def _about(value: Fraction) -> str:
    """A number for reading: exact when short, else four digits."""
    if max(abs(value.numerator), value.denominator) < 10**20:
        text = shown(value)
        if len(text) <= 12 and "/" not in text:
            return text
    try:
        return f"{float(value):.4g}"
    except OverflowError:
        return f"10^{math.floor(math.log10(value.numerator // value.denominator))}"
