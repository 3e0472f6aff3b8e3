"""The slowest cycle of a timed event graph: how long a micro-batch takes in the long run, and which arcs decide it.

Along a cycle of arcs an event comes round to itself ``lags`` micro-batches later and ``weights`` of time later, both
summed over the cycle: it can take place no more often than once in ``weights/lags``. In the long run the cycle with the
largest ratio decides (Baccelli, Cohen, Olsder, Quadrat, *Synchronization and Linearity*, chapter 3).

It is found by Howard's policy iteration in its multichain form (Cochet-Terrasson, Cohen, Gaubert, McGettrick, Quadrat,
1998), backwards along the arcs: a policy lets each event wait for one of its arcs only, so that every event goes back
to one cycle, which gives it a ratio and a bias (how late it is against that cycle). An event that would be slower
behind another arc takes that arc: by ratio first, and by bias where the ratios are equal. No policy comes twice, so it
ends, and then no cycle of any policy is slower. The graph may fall into parts that do not wait for each other.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

from hpsim.event_graph import Arc, EventGraph

Ratio = tuple[int, int]  # weight and lag of a cycle, without a common divisor


class CriticalCycle(NamedTuple):
    """A cycle of the largest ratio.

    Attributes
    ----------
    ratio : Fraction
        Time for each micro-batch, in the unit of the weights.
    arcs : tuple of Arc
        Each begins where the one before it ends.
    """

    ratio: Fraction
    arcs: tuple[Arc, ...]


class _Into(NamedTuple):
    """An arc, its event by number and its weight as an integer."""

    source: int
    weight: int
    lag: int
    arc: Arc


def critical_cycle(graph: EventGraph) -> CriticalCycle:
    """The cycle with the largest ratio of weight to lag, exactly.

    Parameters
    ----------
    graph : EventGraph
        Its weights are ints or Fractions; every event waits for another, as in any graph of a pipeline.
    """
    number = {event: i for i, event in enumerate(graph.events)}
    scale = lcm(*(arc.weight.denominator for arc in graph.arcs))
    into: list[list[_Into]] = [[] for _ in number]
    for arc in graph.arcs:
        weight = arc.weight.numerator * (scale // arc.weight.denominator)
        into[number[arc.target]].append(_Into(number[arc.source], weight, arc.lag, arc))
    policy = [max(arcs, key=lambda arc: arc.weight) for arcs in into]
    there_and_back = [*enumerate(into), *reversed(list(enumerate(into)))]
    ratios: list[Ratio] = [(0, 0)] * len(into)
    biases = [0] * len(into)
    _evaluate(policy, ratios, biases)
    while _improve(policy, there_and_back, ratios, biases):
        _evaluate(policy, ratios, biases)
    slowest = max(range(len(into)), key=lambda event: Fraction(*ratios[event]))
    arcs = _cycle(policy, slowest)
    return CriticalCycle(Fraction(*ratios[slowest]) / scale, tuple(arc.arc for arc in arcs))


def _evaluate(policy: list[_Into], ratios: list[Ratio], biases: list[int]) -> None:
    """Ratio and bias of every event under the policy; the biases of ratio (p, q) are in units of 1/q."""
    known = [False] * len(policy)
    visitor = [-1] * len(policy)
    for first in range(len(policy)):
        path: list[int] = []
        event = first
        while not known[event] and visitor[event] != first:
            visitor[event] = first
            path.append(event)
            event = policy[event].source
        if not known[event]:
            ratio = _ratio(policy, event)
            if ratio != ratios[event]:  # where the ratio stays, so does the bias: they can only rise, and that is why
                ratios[event], biases[event] = ratio, 0  # the iteration ends
            known[event] = True
        for behind in reversed(path):
            if not known[behind]:
                source, weight, lag, _ = policy[behind]
                time, count = ratios[behind] = ratios[source]
                biases[behind] = biases[source] + count * weight - time * lag
                known[behind] = True


def _improve(
    policy: list[_Into], there_and_back: list[tuple[int, list[_Into]]], ratios: list[Ratio], biases: list[int]
) -> bool:
    """Let events wait for slower arcs, in place; False when there are none.

    Once forwards and once backwards, and what is found out about one event counts for the next, so that news goes
    through a long pipeline at once.
    """
    changed = False
    for event, arcs in there_and_back:
        for arc in arcs:
            (longer, over), (time, count) = ratios[arc.source], ratios[event]
            if longer * count > time * over:
                policy[event], ratios[event], changed = arc, ratios[arc.source], True
    if changed:
        return True
    for event, arcs in there_and_back:
        time, count = ratios[event]
        for arc in arcs:
            if ratios[arc.source] == (time, count):
                bias = biases[arc.source] + count * arc.weight - time * arc.lag
                if bias > biases[event]:
                    policy[event], biases[event], changed = arc, bias, True
    return changed


def _ratio(policy: list[_Into], event: int) -> Ratio:
    weight = lag = 0
    for arc in _cycle(policy, event):
        weight += arc.weight
        lag += arc.lag
    common = gcd(weight, lag)
    return weight // common, lag // common


def _cycle(policy: list[_Into], event: int) -> list[_Into]:
    """The cycle to which ``event`` goes back under the policy, forwards."""
    seen: dict[int, int] = {}
    path: list[_Into] = []
    while event not in seen:
        seen[event] = len(path)
        path.append(policy[event])
        event = policy[event].source
    return path[seen[event] :][::-1]
