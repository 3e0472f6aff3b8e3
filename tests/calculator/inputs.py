"""Random pipelines as a user might write them, with ties, zeros, fractions, powers of ten and many micro-batches."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Question:
    """The text of each field; every list has its own numbers."""

    tau: list[str]
    d: list[str]
    M: str
    rho: str
    T: str


def questions(rng: random.Random, count: int) -> list[Question]:
    return [question(rng) for _ in range(count)]


def question(rng: random.Random) -> Question:
    stages = rng.choice([1, 2, 2, 3, 3, 4, 5, 8, 12])
    tau = [number(rng) for _ in range(stages)]
    if not any(map(Fraction, tau)):
        tau[0] = "0.7"
    d = [] if rng.random() < 0.2 else [transfer(rng, tau, s) for s in range(stages - 1)]
    M = rng.choice(["1", "2", "3", "8", "16", "17", "100", "1234", "1e6", "123456789012345678901", "1e15"])
    share = rng.choice(["0", "1", "1.0", "0.5", "1/3", "0.123456789", f"{rng.random():.4f}"])
    return Question(tau, d, M, share, measured(rng, tau, d, int(Fraction(M))))


def number(rng: random.Random) -> str:
    kind = rng.randrange(7)
    if kind == 0:
        return f"{rng.randrange(1, 40)}/{rng.randrange(1, 40)}"
    if kind == 1:
        return f"{rng.uniform(1, 9):.3f}e{rng.randrange(-6, 7)}"
    if kind == 2:
        return rng.choice(["0", "0.0", ".5", "2.", "+3", "0.1", "0.2", "0.3", "1", "007.10"])
    return f"{rng.uniform(0.01, 10):.{rng.randrange(0, 5)}f}"


def transfer(rng: random.Random, tau: list[str], s: int) -> str:
    """Often exactly the slack, which is a tie and no phase transition."""
    slack = max(map(Fraction, tau)) - Fraction(tau[s])
    return str(slack) if rng.random() < 0.3 else number(rng)


def measured(rng: random.Random, tau: list[str], d: list[str], M: int) -> str:
    """Nothing, or a makespan below, at, between or above the two bounds."""
    stages = [Fraction(time) for time in tau]
    links = [Fraction(time) for time in d] or [Fraction(0)] * (len(tau) - 1)
    held = [time + extra for time, extra in zip(stages, [*links, Fraction(0)], strict=True)]
    fill = sum(stages) + sum(links)
    lower, upper = fill + (M - 1) * max(stages), fill + (M - 1) * max(held)
    share = Fraction(rng.randrange(101), 100)
    return rng.choice(["", "", str(lower), str(upper), str(lower + share * (upper - lower)), "0", str(2 * upper)])
