"""Bootstrap intervals: what a statistic would have been on requests drawn again, with replacement, from the same ones.

Intervals are percentile intervals at ``LEVEL``. That of a minimum only reaches upward and that of a maximum only
downward, since nothing drawn again lies outside what was seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from hpsim.logs.columns import LogError

LEVEL = 0.95
RESAMPLES = 1000
FEWEST, MOST = 100, 100_000
MANY = 100_000  # requests; with more, the mean's interval is the normal one, which the bootstrap tends to

_DRAWS_AT_ONCE = 2**20


@dataclass(frozen=True)
class Estimate:
    """A statistic with its interval; ``low`` and ``high`` are None without a bootstrap."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Bootstrap:
    """How to resample.

    Attributes
    ----------
    resamples : int
        0 for no intervals, else 100 to 100,000.
    seed : int
        0 to 2^64-1. Each group and statistic has random numbers of its own, so that an interval depends on nothing
        else in the log, nor on the order of the requests.

    Raises
    ------
    LogError
        When one of them lies outside.
    """

    resamples: int = RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        if self.resamples and not FEWEST <= self.resamples <= MOST:
            raise LogError("bootstrap", str(self.resamples), f"{FEWEST} to {MOST:,} resamples, or 0 for no intervals")
        if not 0 <= self.seed < 2**64:
            raise LogError("seed", str(self.seed), "a whole number from 0 to 2^64-1")

    def generator(self, *names: str) -> np.random.Generator:
        """The random numbers of what ``names`` say."""
        digest = blake2b("\0".join(names).encode(), digest_size=8).digest()
        return np.random.default_rng([self.seed, int.from_bytes(digest, "little")])


def quantile(ordered: np.ndarray, q: float) -> float:
    """The ``q``-quantile of ascending values, interpolated linearly: the minimum at 0, the maximum at 1."""
    below, share = _position(len(ordered), q)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + share * (ordered[above] - ordered[below]))


def resampled_quantile(ordered: np.ndarray, q: float, resamples: int, random: np.random.Generator) -> np.ndarray:
    """The ``q``-quantile of each of so many resamples of the ascending values ``ordered``, all n drawn again.

    No resample is made: its k-th smallest value is the one at the k-th smallest of n uniform numbers, which is a beta
    variate, and the next one follows from the smallest of the n-k uniform numbers left above it. So the cost does not
    grow with n.
    """
    n = len(ordered)
    below, share = _position(n, q)
    first = random.beta(below + 1, n - below, resamples)
    value = _drawn(ordered, first)
    if not share:
        return value
    second = first + (1 - first) * random.beta(1, n - below - 1, resamples)
    return np.asarray(value + share * (_drawn(ordered, second) - value))


def resampled_mean(values: np.ndarray, resamples: int, random: np.random.Generator) -> np.ndarray:
    """The mean of each of so many resamples; of more than ``MANY`` values, draws from its normal limit."""
    n = len(values)
    if n > MANY:
        return random.normal(values.mean(), values.std() / math.sqrt(n), resamples)
    at_once = max(1, _DRAWS_AT_ONCE // n)
    parts = [
        values[random.integers(n, size=(min(at_once, resamples - done), n))].mean(axis=1)
        for done in range(0, resamples, at_once)
    ]
    return np.concatenate(parts)


def estimate(value: float, replicates: np.ndarray) -> Estimate:
    """``value`` with the percentile interval of its ``replicates``, if there are any."""
    if not len(replicates):
        return Estimate(value)
    low, high = np.quantile(replicates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def _position(n: int, q: float) -> tuple[int, float]:
    below = math.floor((n - 1) * q)
    return below, (n - 1) * q - below


def _drawn(ordered: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    return np.asarray(ordered[np.minimum((uniform * len(ordered)).astype(np.int64), len(ordered) - 1)])
