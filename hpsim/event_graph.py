"""A pipeline in a regime as a timed event graph: events of every stage and link, and what each waits for.

Micro-batch ``m`` at stage ``s``, with the hold ``h = (1-overlap)·d`` (0 at the last stage):

    start   B = max(arrival, release of m-1 at s)          arrival at s+1 = E + latency
    finish  F = B + tau                                    arrival at 0   = release time of m, or, with a window W,
    depart  P = max(F, release of m-b-1 at s+1)                             the later of that and F of m-W at the last
    sent    E = max(P, sent of m-c) + d                                     stage + feedback
    release R = P + h

where stage s+1 has ``b`` input places and the link ``c`` channels. Each line is a maximum over arcs *source + weight*,
the source belonging to a micro-batch ``lag`` earlier; nothing before micro-batch 0 delays anything.

The numbers may be of any type that adds: floats, Fractions, terms of a solver.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from hpsim.errors import RegimeError
from hpsim.exact import exact
from hpsim.pipeline import Pipeline, check_pipeline
from hpsim.regime import Regime

Weight = Any  # a number, or a term of a solver


class Event(NamedTuple):
    """``start``, ``finish``, ``depart`` or ``release`` at stage ``place``, or ``sent`` over link ``place``."""

    kind: str
    place: int

    def __str__(self) -> str:
        return f"{self.kind} {self.place}"


class Arc(NamedTuple):
    """``target`` of micro-batch m is no earlier than ``source`` of micro-batch ``m - lag``, plus ``weight``."""

    source: Event
    target: Event
    weight: Weight
    lag: int


@dataclass(frozen=True)
class EventGraph:
    """Events in an order in which each comes after all that it waits for within a micro-batch.

    Attributes
    ----------
    events : tuple of Event
    arcs : tuple of Arc

    Raises
    ------
    RegimeError
        When events wait for each other within one micro-batch; the cycle is named.
    """

    events: tuple[Event, ...]
    arcs: tuple[Arc, ...]

    def __post_init__(self) -> None:
        follow: dict[Event, list[Event]] = {event: [] for event in self.events}
        missing = dict.fromkeys(self.events, 0)
        for arc in self.arcs:
            if arc.lag == 0:
                follow[arc.source].append(arc.target)
                missing[arc.target] += 1
        ordered = [event for event, count in missing.items() if not count]
        for event in ordered:  # grows while it is read
            for target in follow[event]:
                missing[target] -= 1
                if not missing[target]:
                    ordered.append(target)
        if len(ordered) < len(missing):
            waiting = {event for event, count in missing.items() if count}
            raise RegimeError("event graph", self._cycle_in_words(waiting), "at least one arc of lag 1 in every cycle")
        object.__setattr__(self, "events", tuple(ordered))

    def _cycle_in_words(self, waiting: set[Event]) -> str:
        """A cycle among events each of which waits for another of them within the micro-batch."""
        event = next(event for event in self.events if event in waiting)
        path: list[Event] = []
        while event not in path:
            path.append(event)
            event = next(arc.source for arc in self.into[event] if arc.lag == 0 and arc.source in waiting)
        cycle = [*path[path.index(event) :], event]
        return f"{' waits for '.join(map(str, cycle))} of the same micro-batch"

    @cached_property
    def into(self) -> Mapping[Event, tuple[Arc, ...]]:
        """The arcs into each event."""
        into: dict[Event, list[Arc]] = {event: [] for event in self.events}
        for arc in self.arcs:
            into[arc.target].append(arc)
        return {event: tuple(arcs) for event, arcs in into.items()}

    @cached_property
    def longest_lag(self) -> int:
        """How many micro-batches back an arc reaches at most."""
        return max((arc.lag for arc in self.arcs), default=0)


def event_graph(pipeline: Pipeline, regime: Regime) -> EventGraph:
    """The event graph of ``pipeline`` in ``regime``, in exact numbers.

    Raises
    ------
    PipelineError
        When ``pipeline`` is none.
    RegimeError
        When a knob is a list of another length than the pipeline has stages or links.
    """
    check_pipeline(pipeline)
    times = (pipeline.tau, pipeline.d, pipeline.latency)
    tau, d, latency = ([exact(value) for value in values] for values in times)
    return graph_of(tau, d, latency, regime)


def graph_of(
    tau: Sequence[Weight],
    d: Sequence[Weight],
    latency: Sequence[Weight],
    regime: Regime,
    held: Sequence[Weight] | None = None,
) -> EventGraph:
    """The event graph of these times, of any type that adds.

    Parameters
    ----------
    tau : sequence of S numbers or terms
        Service times.
    d, latency : sequence of S-1 numbers or terms
        Transfer and travel times.
    regime : Regime
        Its knobs; its overlap only where ``held`` is left out.
    held : sequence of S-1 numbers or terms, optional
        The share of each transfer that holds its sender; by default one minus the overlap of ``regime``,
        exactly.

    Raises
    ------
    RegimeError
        As :func:`event_graph`.
    """
    stages, links = range(len(tau)), range(len(tau) - 1)
    if held is None:
        held = [1 - exact(share) for share in regime.overlap_of(len(links))]
    if not regime.communication:
        d, latency = [0] * len(links), [0] * len(links)
    arcs = list(_arcs(tau, d, latency, [share * time for share, time in zip(held, d, strict=True)], regime))
    kinds = ("start", "finish", "depart", "release")
    events = [Event(kind, s) for s in stages for kind in kinds] + [Event("sent", s) for s in links]
    return EventGraph(tuple(events), tuple(arcs))


def _arcs(
    tau: Sequence[Weight], d: Sequence[Weight], latency: Sequence[Weight], hold: Sequence[Weight], regime: Regime
) -> Iterator[Arc]:
    last = len(tau) - 1
    buffers, channels = regime.buffers_of(last + 1), regime.channels_of(last)
    for s in range(last + 1):
        start, finish, depart, release = (Event(kind, s) for kind in ("start", "finish", "depart", "release"))
        yield Arc(release, start, 0, 1)
        yield Arc(start, finish, tau[s], 0)
        yield Arc(finish, depart, 0, 0)
        yield Arc(depart, release, hold[s] if s < last else 0, 0)
        if s == last:
            break
        sent, places, transfers = Event("sent", s), buffers[s + 1], channels[s]
        if places is not None:
            yield Arc(Event("release", s + 1), depart, 0, places + 1)
        yield Arc(depart, sent, d[s], 0)
        if transfers is not None:
            yield Arc(sent, sent, d[s], transfers)
        yield Arc(sent, Event("start", s + 1), latency[s], 0)
    if regime.window is not None:
        yield Arc(Event("finish", last), Event("start", 0), exact(regime.feedback), regime.window)


def run(
    graphs: Iterable[EventGraph],
    released: Callable[[int], Weight] = lambda m: 0,
    latest: Callable[..., Weight] = max,
) -> Iterator[dict[Event, Weight]]:
    """The moments of every event, micro-batch by micro-batch, by following the arcs.

    Parameters
    ----------
    graphs : iterable of EventGraph
        One for each micro-batch, with its times; all with the arcs of one regime. ``itertools.repeat`` for ever.
    released : callable
        When micro-batch m is released to the first stage.
    latest : callable
        The maximum of two or more moments.

    Yields
    ------
    dict of Event to number
    """
    past: deque[dict[Event, Weight]] = deque()  # no further back than an arc reaches
    for m, graph in enumerate(graphs):
        now: dict[Event, Weight] = {}
        for event in graph.events:
            waits = [
                (now if arc.lag == 0 else past[-arc.lag])[arc.source] + arc.weight
                for arc in graph.into[event]
                if arc.lag <= m
            ]
            if event == ("start", 0):
                waits.append(released(m))
            now[event] = latest(*waits) if len(waits) > 1 else waits[0]
        yield now
        past.append(now)
        if len(past) > graph.longest_lag:
            past.popleft()
