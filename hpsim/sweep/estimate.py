"""What a sweep will cost, told before it runs: steps to simulate and bytes of Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hpsim.sweep.distribution import Distribution
from hpsim.sweep.grid import entries
from hpsim.sweep.spec import Sweep

BYTES_PER_VALUE = 7.0
"""A measured time in Parquet after compression: nearly the 8 bytes of float64, since random digits do not compress."""
BYTES_PER_ROW = 2.0
"""What is left of all the other columns of a row (ids, S, M, shares, zeros): they compress to almost nothing."""


@dataclass(frozen=True)
class Estimate:
    """The size of a sweep.

    Attributes
    ----------
    configs, points, chunks : int
        Configurations, (configuration, M) pairs, parts of the run.
    cells : int
        (micro-batch, stage) steps over all regimes; for a sampled sweep the expected number.
    bytes : int
        Parquet, roughly; 0 with ``record: violations``, which keeps only what should not exist.
    """

    configs: int
    points: int
    chunks: int
    cells: int
    bytes: int


def estimate(sweep: Sweep) -> Estimate:
    """The size of ``sweep``, without running any of it."""
    stages = _total_stages(sweep)
    cells = round(stages * sweep.microbatches[-1] * len(sweep.regimes))
    return Estimate(sweep.n_configs, sweep.n_points, sweep.n_chunks, cells, _bytes(sweep, stages))


def _total_stages(sweep: Sweep) -> Fraction:
    """The sum of S over all configurations, expected when sampled."""
    if sweep.pipelines is not None:
        return Fraction(sum(entry.S for entry in sweep.pipelines))
    if sweep.grid is not None:
        return Fraction(sum(S * sweep.grid.count(S) for S in sweep.grid.stages))
    return sweep.n_configs * (_mean(sweep.stages) if sweep.stages is not None else Fraction(1))


def _mean(distribution: Distribution) -> Fraction:
    """The mean of a number of stages: every kind that ``stages`` allows is symmetric or a list."""
    return sum(distribution.values, Fraction(0)) / len(distribution.values)


def _bytes(sweep: Sweep, stages: Fraction) -> int:
    if sweep.record == "violations":
        return 0
    makespans = 2 * len(sweep.regimes) + 1
    errors = len(sweep.regimes) if sweep.arithmetic == "float64" else 0
    links = 1 + int(_has_latency(sweep))
    aggregates = 5
    config_values = float(stages) + links * float(stages - sweep.n_configs) + aggregates * sweep.n_configs
    values = config_values + (makespans + errors) * sweep.n_points
    return round(values * BYTES_PER_VALUE + (sweep.n_configs + sweep.n_points) * BYTES_PER_ROW)


def _has_latency(sweep: Sweep) -> bool:
    if sweep.pipelines is not None:
        return any(any(entry.latency) for entry in sweep.pipelines)
    if sweep.grid is not None:
        return any(entries(sweep.grid.latency))
    return sweep.latency is not None and sweep.latency.high > 0
