"""Random regimes, and the makespans of a system in one by the plain twin, for the kernels to be compared with."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from hpsim import Regime
from hpsim.reference import event_graph as twin
from peers.systems import System, table

WIDE = 10**9  # a limit beyond any run


def draw_regime(rng: random.Random, S: int) -> Regime:
    """Any mixture of knobs for ``S`` stages: one value for all or one for each, tight, wide or without limit."""
    channels = _places(rng, 1, 4, S - 1) if rng.random() < 0.5 else None
    overlap: object = 1
    if channels is None and rng.random() < 0.7:
        overlap = [_share(rng) for _ in range(S - 1)] if rng.random() < 0.5 else _share(rng)
    window = rng.choice((None, 1, rng.randint(1, 8), 40, WIDE))
    feedback = Fraction(rng.randint(0, 40), 4) if window and rng.random() < 0.5 else 0
    return Regime(overlap, rng.random() < 0.9 or overlap != 1, _places(rng, 0, 5, S), channels, window, feedback)


def _places(rng: random.Random, least: int, most: int, n: int) -> int | list[int | None] | None:
    def one() -> int | None:
        return rng.choice((None, 40, WIDE)) if rng.random() < 0.3 else rng.randint(least, most)

    return rng.choice((None, one(), [one() for _ in range(n)]))


def _share(rng: random.Random) -> Fraction:
    return Fraction(rng.choice((0, 16, rng.randint(0, 16))), 16)


def makespans(system: System, regime: Regime, M: int) -> list[Fraction]:
    """``T(1) … T(M)`` by the plain twin, on rationals."""
    links = len(system.d)
    d, latency = (system.d, system.latency) if regime.communication else ([0] * links, [0] * links)
    events = twin.schedule(
        system.tau,
        d,
        M,
        latency=latency,
        overlap=[Fraction(share) for share in regime.overlap_of(links)],
        buffers=regime.buffers_of(links + 1),
        channels=regime.channels_of(links),
        window=regime.window,
        feedback=regime.feedback,
    )
    return [Fraction(row[-1]) for row in events.finish]


def rows(systems: list[System], regime: Regime, unit: float = 1.0) -> tuple[np.ndarray, ...]:
    """``tau``, ``d``, ``latency`` and the shares of overlap as rows, times multiplied by ``unit``."""
    links = len(systems[0].d)
    shares = np.array([[float(share) for share in regime.overlap_of(links)]])
    return (*(table(systems, name) * unit for name in ("tau", "d", "latency")), shares)
