"""Random pipelines of whole numbers, full of ties and zeros, and their makespans by the plain recurrences on rationals.

Times are whole; shares of overlap are whole sixteenths, so that every total is a whole number of sixteenths and both
rationals here and doubles in the kernels hold it exactly.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hpsim.reference import chain

REGIMES = ("free", "async", "blocking", "partial")
ALWAYS = (1, 2, 8, 9, 15, 16, 17, 24, 25, 64, 65)  # numbers of stages around every way a kernel may cut them
PIPELINES = (1, 31, 32, 33, 64, 65)  # numbers of pipelines around the number of lanes


@dataclass(frozen=True)
class System:
    """One pipeline: times of S stages and S-1 links, and of each link the overlapped share in sixteenths."""

    tau: list[int]
    d: list[int]
    latency: list[int]
    share: list[int]

    def makespans(self, regime: str, M: int) -> list[Fraction]:
        """``T(1) … T(M)`` by the regime's own recurrence, on rationals."""
        tau = [Fraction(x) for x in self.tau]
        rho = [Fraction(share, 16) for share in self.share]
        return [row[-1] for row in chain.completion(tau, self.d, M, regime, rho, self.latency)]

    def sixteenths(self, M: int) -> list[int]:
        """``T(1) … T(M)`` under partial overlap in units of 1/16, by the common recurrence on whole numbers."""
        held = [(16 - share) * d for share, d in zip(self.share, self.d, strict=True)]
        occupancy = [16 * tau + hold for tau, hold in zip(self.tau, [*held, 0], strict=True)]
        flight = [share * d + 16 * x for share, d, x in zip(self.share, self.d, self.latency, strict=True)]
        return [int(row[-1]) for row in chain.chain(occupancy, flight, M)]


def draw(rng: random.Random, S: int) -> System:
    """A pipeline of ``S`` stages: small numbers tie, large ones fill the doubles, some links take no time at all."""
    largest = rng.choice((1, 2, 4, 9, 1000, 2**30))

    def times(n: int, zeros: float) -> list[int]:
        return [0 if rng.random() < zeros else rng.randint(0, largest) for _ in range(n)]

    tau = times(S, rng.choice((0, 0.3, 0.8)))
    if not any(tau):
        tau[rng.randrange(S)] = 1
    d, latency = times(S - 1, rng.choice((0, 0.5, 1))), times(S - 1, rng.choice((0, 0.8, 1)))
    share = [rng.choice((0, 16, 8, rng.randint(0, 16))) for _ in range(S - 1)]
    return System(tau, d, latency, share)


def alike(rng: random.Random, S: int, n: int) -> list[System]:
    """``n`` pipelines of ``S`` stages each."""
    return [draw(rng, S) for _ in range(n)]


def checkpoints(rng: random.Random, most: int) -> list[int]:
    """Ascending numbers of micro-batches up to ``most``: alone, consecutive, odd and even, or all of them."""
    if most < 4 or rng.random() < 0.2:
        return list(range(1, most + 1))
    first = rng.randint(1, most - 2)
    chosen = {first, first + 1, first + 2, most, *rng.sample(range(1, most + 1), min(most, 8))}
    return sorted(chosen if rng.random() < 0.8 else {most})


def table(systems: Sequence[System], name: str) -> np.ndarray:
    """One attribute of systems of equal S as a float64 array (n, S) or (n, S-1)."""
    rows = [getattr(system, name) for system in systems]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]))
