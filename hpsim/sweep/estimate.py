"""What a sweep will cost, told before it runs: steps to simulate and bytes of Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hpsim.sweep.file.distribution import Distribution
from hpsim.sweep.file.grid import entries
from hpsim.sweep.spec import Sweep

# Bytes that one time takes in a part, measured on runs of the shipped sweeps and of variants of them.
FLOAT64_BYTES = 7.2
EXPLICIT_BYTES = 2.0  # pipelines and grids repeat few values
SAMPLED_BYTES = 1.9  # and an eighth of the resolution: only the digits that a time has
AGGREGATES = 5  # tau_max, tau_sum, d_sum, sigma_max, bias
PART_BYTES = 9000  # schema and statistics of a part's files


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
    """Bytes of Parquet: the times of all columns at the rate of their kind. Ids, M and zeros take next to nothing."""
    if sweep.record == "violations":
        return 0
    links = (1 + int(_has_latency(sweep))) * float(stages - sweep.n_configs)
    in_configs = float(stages) + links + AGGREGATES * sweep.n_configs
    in_points = (1 + (2 if sweep.arithmetic == "exact" else 3) * len(sweep.regimes)) * sweep.n_points
    return round((in_configs + in_points) * _bytes_per_time(sweep)) + PART_BYTES * sweep.n_chunks


def _bytes_per_time(sweep: Sweep) -> float:
    if sweep.source != "sampled":
        return EXPLICIT_BYTES
    return FLOAT64_BYTES if sweep.resolution is None else min(FLOAT64_BYTES, SAMPLED_BYTES + sweep.resolution / 8)


def _has_latency(sweep: Sweep) -> bool:
    if sweep.pipelines is not None:
        return any(any(entry.latency) for entry in sweep.pipelines)
    if sweep.grid is not None:
        return any(entries(sweep.grid.latency))
    return sweep.latency is not None and sweep.latency.high > 0
