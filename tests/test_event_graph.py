"""The event graph itself: its arcs, its order, what it refuses, and the window at which a window stops to bind."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import islice, repeat
from math import ceil

import pytest

from hpsim import Pipeline, Regime, throughput
from hpsim.errors import PipelineError, RegimeError
from hpsim.event_graph import Arc, Event, EventGraph, event_graph, graph_of, run
from hpsim.reference import event_graph as twin

EVERY_KNOB = Regime(buffers=[9, 1], channels=2, window=3, feedback="1/2")


def test_every_arc_of_two_stages() -> None:
    """By hand, from the definition: service, transfer, travel, and one arc for each limit."""
    graph = event_graph(Pipeline([3, 4], d=[2], latency=[1]), EVERY_KNOB)
    start, finish, depart, release = (
        [Event(kind, s) for s in (0, 1)] for kind in ("start", "finish", "depart", "release")
    )
    sent = Event("sent", 0)
    assert set(graph.arcs) == {
        *(Arc(release[s], start[s], 0, 1) for s in (0, 1)),
        Arc(start[0], finish[0], 3, 0),
        Arc(start[1], finish[1], 4, 0),
        *(Arc(finish[s], depart[s], 0, 0) for s in (0, 1)),
        *(Arc(depart[s], release[s], 0, 0) for s in (0, 1)),  # overlapped: nobody is held
        Arc(release[1], depart[0], 0, 2),  # one place beside the one in service
        Arc(depart[0], sent, 2, 0),
        Arc(sent, sent, 2, 2),  # two channels
        Arc(sent, start[1], 1, 0),
        Arc(finish[1], start[0], Fraction(1, 2), 3),  # the window
    }
    assert graph.longest_lag == 3
    place = {event: n for n, event in enumerate(graph.events)}
    assert all(place[arc.source] < place[arc.target] for arc in graph.arcs if arc.lag == 0)


def test_events_that_wait_for_each_other_within_a_micro_batch_are_named() -> None:
    """A cycle without a lag could never begin; the message goes round it once."""
    a, b, c = (Event(kind, 0) for kind in ("start", "finish", "depart"))
    arcs = (Arc(a, b, 1, 0), Arc(b, c, 1, 0), Arc(c, a, 1, 0), Arc(a, a, 1, 1))
    with pytest.raises(RegimeError) as caught:
        EventGraph((a, b, c), arcs)
    assert str(caught.value) == (
        "event graph: start 0 waits for depart 0 waits for finish 0 waits for start 0 of the same micro-batch; "
        "at least one arc of lag 1 in every cycle"
    )
    EventGraph((a, b, c), (*arcs[:2], Arc(c, a, 1, 1)))


@pytest.mark.parametrize("kind", [int, float, Fraction])
def test_the_arcs_are_the_twin_in_any_kind_of_number(kind: type, rng: random.Random) -> None:
    """Followed micro-batch by micro-batch, on whole numbers, floats and Fractions, they give the twin's moments."""
    for _ in range(100):
        S, M = rng.randint(1, 4), rng.randint(1, 8)
        tau = [kind(rng.randint(0, 4)) for _ in range(S)]
        d, latency = ([kind(rng.randint(0, 3)) for _ in range(S - 1)] for _ in range(2))
        regime = Regime(
            buffers=rng.choice([None, 0, 1]), channels=rng.choice([None, 1, 2]), window=rng.choice([None, 1, 3])
        )
        times = twin.schedule(
            tau, d, M, latency=latency, buffers=regime.buffers, channels=regime.channels, window=regime.window
        )
        for m, moments in enumerate(islice(run(repeat(graph_of(tau, d, latency, regime))), M)):
            for s in range(S):
                assert moments[Event("start", s)] == times.start[m][s]
                assert moments[Event("release", s)] == times.release[m][s]


def test_a_window_stops_to_bind_where_the_pipeline_is_full(rng: random.Random) -> None:
    """At W = (sum tau + sum d + sum latency + feedback)/tau_max, which without the last two is M* - 1."""
    for _ in range(200):
        S = rng.randint(1, 5)
        tau = [rng.randint(1, 9) for _ in range(S)]
        d = [rng.randint(0, 9) for _ in range(S - 1)]
        latency = [rng.choice([0, 0, 2]) for _ in range(S - 1)]
        feedback = rng.choice([0, 0, 5])
        p = Pipeline(tau, d, latency)
        enough = Fraction(sum(tau) + sum(d) + sum(latency) + feedback, max(tau))
        if feedback == 0 and not any(latency):
            assert enough == Pipeline(list(map(Fraction, tau)), d).crossover() - 1
        W = ceil(enough)
        assert throughput(p, Regime(window=W, feedback=feedback)).slope == max(tau)
        if W > 1:
            assert throughput(p, Regime(window=W - 1, feedback=feedback)).slope > max(tau)


def test_what_is_no_pipeline_is_told() -> None:
    """Lists are not taken for pipelines."""
    with pytest.raises(PipelineError, match="a Pipeline, such as"):
        event_graph([1, 2], Regime())  # type: ignore[arg-type]
