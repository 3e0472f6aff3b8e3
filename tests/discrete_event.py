"""A pipeline as a discrete-event simulation in SimPy: processes and a clock, no recurrence and no closed form.

Every stage is a process that takes its micro-batches from an unlimited queue in index order; every transfer is a
process of its own. Times may be ints or Fractions: the clock starts at the integer 0 and only ever adds delays, so it
stays exact.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import simpy

Time = int | Fraction
Process = Generator[simpy.Event, object, None]


@dataclass(frozen=True)
class Schedule:
    """Every start, finish and release (the sender free again), as lists ``[m][s]``, and the last finish of all."""

    start: list[list[Time]]
    finish: list[list[Time]]
    release: list[list[Time]]
    makespan: Time


@dataclass(frozen=True)
class Link:
    """One transfer: ``held`` of it with the sender, ``beside`` it without, then ``latency`` on the way."""

    held: Time
    beside: Time
    latency: Time


def run(
    tau: Sequence[Time],
    d: Sequence[Time],
    M: int,
    regime: str,
    rho: Sequence[Time] | None = None,
    latency: Sequence[Time] | None = None,
) -> Schedule:
    """Simulate ``M`` micro-batches, all present at time 0, through ``len(tau)`` stages; ``rho`` is a share per link."""
    S = len(tau)
    links = [_link(regime, s, d, rho, latency) for s in range(S - 1)]
    environment = simpy.Environment()
    queues = [simpy.FilterStore(environment) for _ in range(S)]
    start, finish, release = ([[-1] * S for _ in range(M)] for _ in range(3))

    def stage(s: int) -> Process:
        for m in range(M):
            yield queues[s].get(lambda arrived, m=m: arrived == m)
            start[m][s] = environment.now
            yield environment.timeout(tau[s])
            finish[m][s] = environment.now
            if s < S - 1:
                sender_free = environment.event()
                environment.process(transfer(m, s, sender_free))
                yield sender_free
            release[m][s] = environment.now

    def transfer(m: int, s: int, sender_free: simpy.Event) -> Process:
        yield environment.timeout(links[s].held)
        sender_free.succeed()
        yield environment.timeout(links[s].beside)
        yield environment.timeout(links[s].latency)
        yield queues[s + 1].put(m)

    for m in range(M):
        queues[0].put(m)
    for s in range(S):
        environment.process(stage(s))
    environment.run()
    return Schedule(start, finish, release, max(finish[m][s] for m in range(M) for s in range(S)))


def _link(regime: str, s: int, d: Sequence[Time], rho: Sequence[Time] | None, latency: Sequence[Time] | None) -> Link:
    travel = latency[s] if latency else 0
    match regime:
        case "free":
            return Link(held=0, beside=0, latency=0)
        case "async":
            return Link(held=0, beside=d[s], latency=travel)
        case "blocking":
            return Link(held=d[s], beside=0, latency=travel)
        case "partial":
            held = d[s] - rho[s] * d[s]
            return Link(held, beside=d[s] - held, latency=travel)
    raise ValueError(regime)
