"""Pipelines with every knob as a discrete-event simulation in SimPy: processes, tokens and a clock, no recurrence.

Every stage is a process that serves its micro-batches in index order; every transfer is a process of its own. Input
places are tokens: a sender takes one of its receiver before it posts, the receiver gives it back when it is free
again. A link's channels are resources of capacity 1, dealt out in turn. A window is a stock of credits, which come back
from the last stage. Times may be ints or Fractions: the clock starts at the integer 0 and only ever adds delays, so it
stays exact.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import simpy

Time = int | Fraction
Matrix = list[list[Time | None]]
Process = Generator[simpy.Event, object, None]


@dataclass(frozen=True)
class Events:
    """Everything that was seen to happen, as lists ``[m][s]``; None for what never did."""

    arrival: Matrix
    start: Matrix
    finish: Matrix
    depart: Matrix
    sent: Matrix
    release: Matrix

    @property
    def makespan(self) -> Time | None:
        """The last finish at the last stage."""
        return self.finish[-1][-1]


class AnyOrder(simpy.Environment):
    """A clock that lets events of one moment happen in an order drawn at random."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.rng = rng

    def schedule(self, event: simpy.Event, priority: int = 1, delay: Time = 0) -> None:
        """Priority 0, what SimPy itself must do at once, stays; all else of this moment is shuffled."""
        super().schedule(event, self.rng.randint(1, 1000) if priority else 0, delay)


class Simulation:
    """One pipeline: ``tau`` and ``d`` are M rows of S and S-1 times; a limit that is None is not there.

    ``buffers`` and ``channels`` are lists with one entry for each stage (entry 0 ignored) and link.
    """

    def __init__(
        self,
        tau: Sequence[Sequence[Time]],
        d: Sequence[Sequence[Time]],
        latency: Sequence[Time],
        overlap: Sequence[Time],
        buffers: Sequence[int | None],
        channels: Sequence[int | None],
        clock: simpy.Environment,
    ) -> None:
        self.M, self.S = len(tau), len(tau[0])
        self.tau, self.d, self.latency, self.overlap = tau, d, latency, overlap
        self.clock = clock
        self.here = [[clock.event() for _ in range(self.S)] for _ in range(self.M)]
        self.places = [None if b is None else simpy.Container(clock, init=b + 1) for b in [None, *buffers[1:]]]
        self.channels = [[simpy.Resource(clock) for _ in range(c or 0)] for c in channels]
        self.credits: simpy.Container | None = None
        self.feedback: Time = 0
        widths = (self.S, self.S, self.S, self.S, self.S - 1, self.S)
        self.seen = Events(*([[None] * width for _ in range(self.M)] for width in widths))

    def run(self, release: Sequence[Time], window: int | None, feedback: Time) -> Events:
        """Let everything happen; with a window that many credits are there at the start."""
        if window is not None:
            self.credits, self.feedback = simpy.Container(self.clock, init=window), feedback
        self.clock.process(self.admission(release))
        for s in range(self.S):
            self.clock.process(self.stage(s))
        self.clock.run()
        return self.seen

    def admission(self, release: Sequence[Time]) -> Process:
        """Micro-batches get their credit in index order, and none arrives before its release time."""
        for m in range(self.M):
            if self.credits is not None:
                yield self.credits.get(1)
            self.clock.process(self.appearance(m, release[m]))

    def appearance(self, m: int, release: Time) -> Process:
        yield self.clock.timeout(max(0, release - self.clock.now))
        self.arrive(m, 0)

    def arrive(self, m: int, s: int) -> None:
        self.seen.arrival[m][s] = self.clock.now
        self.here[m][s].succeed()

    def stage(self, s: int) -> Process:
        clock, seen, last = self.clock, self.seen, s == self.S - 1
        own, ahead = self.places[s], None if last else self.places[s + 1]
        for m in range(self.M):
            yield self.here[m][s]
            seen.start[m][s] = clock.now
            yield clock.timeout(self.tau[m][s])
            seen.finish[m][s] = clock.now
            if ahead is not None:
                yield ahead.get(1)
            seen.depart[m][s] = clock.now
            if not last:
                channels = self.channels[s]
                channel = channels[m % len(channels)] if channels else None
                # asked for here, not in the transfer: two transfers posted at one moment must queue in index order
                clock.process(self.transfer(m, s, channel, None if channel is None else channel.request()))
                if self.overlap[s] != 1:
                    yield clock.timeout(self.d[m][s] - self.overlap[s] * self.d[m][s])
            elif self.credits is not None:
                clock.process(self.credit_back())
            seen.release[m][s] = clock.now
            if own is not None:
                own.put(1)

    def transfer(self, m: int, s: int, channel: simpy.Resource | None, turn: simpy.Event | None) -> Process:
        if turn is not None:
            yield turn
        self.seen.sent[m][s] = self.clock.now
        yield self.clock.timeout(self.d[m][s])
        if channel is not None:
            channel.release(turn)
        yield self.clock.timeout(self.latency[s])
        self.arrive(m, s + 1)

    def credit_back(self) -> Process:
        yield self.clock.timeout(self.feedback)
        self.credits.put(1)


def run(
    tau: Sequence[Sequence[Time]],
    d: Sequence[Sequence[Time]],
    *,
    latency: Sequence[Time] | None = None,
    overlap: Sequence[Time] | None = None,
    buffers: Sequence[int | None] | None = None,
    channels: Sequence[int | None] | None = None,
    window: int | None = None,
    feedback: Time = 0,
    release: Sequence[Time] | None = None,
    ties: random.Random | None = None,
) -> Events:
    """Simulate ``len(tau)`` micro-batches to the end; with ``ties`` simultaneous events happen in random order.

    Left out: no latency, transfers beside the sender's work, no limits, all micro-batches present at time 0.
    """
    M, S = len(tau), len(tau[0])
    simulation = Simulation(
        tau,
        d,
        latency or [0] * (S - 1),
        overlap or [1] * (S - 1),
        buffers or [None] * S,
        channels or [None] * (S - 1),
        simpy.Environment() if ties is None else AnyOrder(ties),
    )
    return simulation.run(release or [0] * M, window, feedback)
