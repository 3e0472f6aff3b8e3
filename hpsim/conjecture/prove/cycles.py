"""The steady slope at a fixed number of stages: the largest ratio of all elementary cycles of the event graph."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hpsim.conjecture.prove.poly import ZERO, Poly, poly
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.event_graph import Arc, Event, EventGraph

_MOST_STEPS = 200_000


def cycle_ratios(graph: EventGraph) -> list[Poly]:
    """Weight over lag of every elementary cycle, each value once; arcs weigh polynomials.

    Raises
    ------
    Unsupported
        When there are too many cycles to list.
    """
    ratios: dict[Poly, None] = {}
    for cycle in _cycles(graph):
        weight, lag = ZERO, sum(arc.lag for arc in cycle)
        for arc in cycle:
            weight += poly(arc.weight)
        ratios[weight * Fraction(1, lag)] = None
    return list(ratios)


def _cycles(graph: EventGraph) -> Iterator[list[Arc]]:
    """Elementary cycles, each found from the first of its events."""
    out: dict[Event, list[Arc]] = {event: [] for event in graph.events}
    for arc in graph.arcs:
        out[arc.source].append(arc)
    rank = {event: place for place, event in enumerate(graph.events)}
    steps = 0
    for first in graph.events:
        path: list[Arc] = []
        on_path = {first}
        choices = [iter(out[first])]
        while choices:
            steps += 1
            if steps > _MOST_STEPS:
                raise Unsupported("the event graph has too many cycles to list")
            step = next(choices[-1], None)
            if step is None:
                choices.pop()
                if path:
                    on_path.discard(path.pop().target)
            elif step.target == first:
                yield [*path, step]
            elif rank[step.target] > rank[first] and step.target not in on_path:
                path.append(step)
                on_path.add(step.target)
                choices.append(iter(out[step.target]))
