"""Random pipelines with every knob, for tests that compare two ways to one number."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import NamedTuple

from hpsim.pipeline import Pipeline
from hpsim.regime import Regime

Limit = int | list[int | None] | None


class System(NamedTuple):
    """Times as ints and Fractions, and a regime."""

    tau: list[Fraction | int]
    d: list[Fraction | int]
    latency: list[Fraction | int]
    regime: Regime

    @property
    def pipeline(self) -> Pipeline:
        return Pipeline(self.tau, self.d, self.latency)


def draw(rng: random.Random, most_stages: int = 6) -> System:
    """Zeros, ties and lists are common; every knob is on about every other time."""
    S = rng.randint(1, most_stages)

    def time() -> Fraction | int:
        return rng.choice((0, rng.randint(1, 9), Fraction(rng.randint(0, 40), rng.randint(1, 7))))

    tau = [time() for _ in range(S)]
    tau[rng.randrange(S)] += 1
    communication, limited = rng.random() < 0.9, rng.random() < 0.5
    shares = (0, 1, "1/2", 0.25, [rng.choice((0, 1, "1/3", 0.7)) for _ in range(S - 1)])
    window = rng.choice((None, None, 1, 2, 3, 7))
    return System(
        tau,
        [time() for _ in range(S - 1)],
        [time() if rng.random() < 0.5 else 0 for _ in range(S - 1)],
        Regime(
            overlap=1 if limited or not communication else rng.choice(shares),
            communication=communication,
            buffers=_limit(rng, S, 0),
            channels=_limit(rng, S - 1, 1) if limited else None,
            window=window,
            feedback=time() if window else 0,
        ),
    )


def draw_near(rng: random.Random) -> System:
    """Resources that are almost equally fast, so that transients are long."""
    S, unit = rng.randint(2, 5), 10 ** rng.randint(2, 6)

    def near(times: int) -> int:
        return max(0, times * unit + rng.choice((0, 1, -1, 2, 7, -13)))

    channels = [rng.choice((None, 1, 2, 3, 4)) for _ in range(S - 1)] if rng.random() < 0.5 else [None] * (S - 1)
    tau = [near(1) if rng.random() < 0.8 else rng.randint(1, unit) for _ in range(S)]
    d = [near(c or rng.choice((0, 1, 2))) if rng.random() < 0.7 else rng.randint(0, unit) for c in channels]
    window = rng.choice((None, None, 1, 2, 3, 5, 8, 20))
    slack = window * unit - sum(tau) - sum(d) if window else 0
    regime = Regime(
        overlap=1 if any(channels) else rng.choice((0, 1, "1/2")),
        buffers=[rng.choice((None, 0, 1, 2, 3, 5, 8)) for _ in range(S)],
        channels=channels if any(channels) else None,
        window=window,
        feedback=max(0, slack + rng.choice((0, 1, -1, 5))) if window else 0,
    )
    return System(tau, d, [0] * (S - 1), regime)


def draw_tied(rng: random.Random) -> System:
    """Times in proportion to many different limits, a little off, so that mixtures of resources are slowest."""
    S, unit, most = rng.randint(1, 7), rng.choice((1, 2, 6, 60, 1000)), rng.choice((3, 6, 12, 30))

    def near(count: int) -> int:
        return max(0, count * unit + rng.choice((0, 0, 0, 1, -1, 2, rng.randint(-unit, unit))))

    def limits(n: int, least: int) -> list[int | None]:
        return [rng.choice((None, rng.randint(least, most))) for _ in range(n)]

    channels = limits(S - 1, 1) if rng.random() < 0.6 else None
    places = limits(S, 0) if rng.random() < 0.7 else [None] * S
    window = rng.randint(1, 2 * most) if rng.random() < 0.5 else None
    tau: list[Fraction | int] = [rng.choice((0, 1, near(1), Fraction(rng.randint(0, 9), 7) * unit)) for _ in range(S)]
    tau[rng.randrange(S)] += Fraction(1, rng.choice((1, 3)))
    d: list[Fraction | int] = [near(c or rng.choice((0, 1))) for c in channels or [None] * (S - 1)]
    latency: list[Fraction | int] = [rng.choice((0, 0, rng.randint(0, 3 * unit))) for _ in range(S - 1)]
    for s, b in enumerate(places[1:]):
        if b is not None and rng.random() < 0.7:
            latency[s] = max(0, near(b + 1) - d[s] - tau[s + 1])
    slack = near(window) - sum(tau) - sum(d) - sum(latency) if window else 0
    shares = (0, 1, "1/3", [rng.choice((0, 1, "0.7")) for _ in range(S - 1)])
    regime = Regime(
        overlap=1 if channels is not None else rng.choice(shares),
        buffers=places,
        channels=channels,
        window=window,
        feedback=max(0, slack),
    )
    return System(tau, d, latency, regime)


def _limit(rng: random.Random, n: int, least: int) -> Limit:
    match rng.randrange(4):
        case 0:
            return None
        case 1:
            return rng.randint(least, least + 3)
    return [rng.choice((None, least, least + 1, least + 3)) for _ in range(n)]
