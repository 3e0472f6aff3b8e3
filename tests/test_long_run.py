"""Makespans of any length: against full simulation, max-plus powers and closed forms, and how many steps they take."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import Any

import pytest
from conftest import seeds
from knob_systems import System, draw, draw_near

import hpsim.long_run
from hpsim import Pipeline, Regime
from hpsim.errors import PipelineError, RegimeError
from hpsim.event_graph import Event, event_graph
from hpsim.long_run import LongRun, long_run, makespan, moment
from hpsim.long_run import _periods_ahead as periods_ahead
from hpsim.long_run import _Wait as Wait
from hpsim.max_plus import moment_after
from hpsim.moments import Moments
from hpsim.reference import event_graph as twin
from hpsim.regime import ASYNC, BLOCKING, FREE, PARTIAL, RENDEZVOUS
from hpsim.throughput_law import law

SYSTEMS, SEEDS = 400, 4
MANY = 10**18


def simulated(system: System, M: int) -> twin.Events:
    """Every moment of M micro-batches, simulated by the plain twin."""
    regime, links = system.regime, len(system.d)
    return twin.schedule(
        system.tau,
        system.d if regime.communication else None,
        M,
        latency=system.latency if regime.communication else None,
        overlap=[Fraction(str(share)) for share in regime.overlap_of(links)],
        buffers=regime.buffers_of(links + 1),
        channels=regime.channels_of(links),
        window=regime.window,
        feedback=regime.feedback,
    )


def test_powers_take_over_where_nothing_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handed over after a few steps, any event of any micro-batch is still the simulated one, exactly."""
    taken = []

    def handed_over(*arguments: Any) -> int | None:
        found = moment_after(*arguments)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(hpsim.long_run, "moment_after", handed_over)
    rng = random.Random(20261231)
    for n in range(200):
        monkeypatch.setattr(hpsim.long_run, "PATIENCE", rng.randint(1, 12))
        system = (draw_near if n % 2 else draw)(rng)
        M = rng.choice((20, 100, 400))
        check_every_event(system, simulated(system, M), M - 1)
    assert sum(taken) > 100


def test_coprime_channels_of_almost_equal_rates_take_bounded_steps() -> None:
    """The state repeats after 17,017 micro-batches only; between 10^9 and 2·10^9 periods the slope is exact."""
    p, regime = Pipeline([1] * 5, ["100", "100", "100", "100.1"]), Regime(channels=[17, 13, 11, 7])
    period = 7 * 11 * 13 * 17
    late, early = (long_run(p, regime, count * period) for count in (2 * 10**9, 10**9))
    assert late.moment - early.moment == 10**9 * period * law(p.tau, p.d, p.latency, regime)
    assert late.steps == hpsim.long_run.PATIENCE


@pytest.mark.parametrize("seed", seeds(SEEDS))
def test_against_full_simulation(seed: int) -> None:
    """On 400 random systems over all knobs, half of them with long transients, T(M) is the simulated one, exactly."""
    rng = random.Random(20261201 + seed)
    for n in range(SYSTEMS // SEEDS):
        system = (draw_near if n % 2 else draw)(rng)
        M = rng.choice((30, 300, 1500))
        events = simulated(system, M)
        for count in {1, 2, rng.randint(1, M), M - 1, M}:
            found = long_run(system.pipeline, system.regime, count)
            assert found.moment == events.finish[count - 1][-1], (system, count)
            assert found.steps <= count
        check_every_event(system, events, M - 1)


def check_every_event(system: System, events: twin.Events, m: int) -> None:
    """A limit that binds late delays other events than the last finish, so all are compared."""
    for kind in ("start", "finish", "depart", "release"):
        for s, expected in enumerate(getattr(events, kind)[m]):
            assert moment(system.pipeline, system.regime, Event(kind, s), m).moment == expected, (system, kind, s, m)
    for s, expected in enumerate(events.sent[m]):
        transfer = system.d[s] if system.regime.communication else 0
        found = moment(system.pipeline, system.regime, Event("sent", s), m).moment
        assert found == expected + transfer, (system, "sent", s, m)


@pytest.mark.slow
def test_the_choice_of_periods_decides_about_speed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever periods are tried, in whatever order, every event is right, also where one block looks into another."""
    rng = random.Random(14)
    for n in range(120):
        tried = [rng.choice((1, 2, 3, 4, 6, 8, 12)) for _ in range(rng.randint(1, 4))]
        monkeypatch.setattr(hpsim.long_run, "_periods", lambda waits, tried=tried: tried)
        system = (draw_near if n % 2 else draw)(rng)
        if rng.random() < 0.5:
            wide = replace(system.regime, window=rng.randint(20, 60), feedback=rng.choice((0, 10 ** rng.randint(1, 7))))
            system = system._replace(regime=wide)
        events = simulated(system, 200)
        for m in (rng.randrange(200), 199):
            check_every_event(system, events, m)


def test_a_look_into_an_earlier_block_of_a_shorter_period() -> None:
    """A source that was faster then, 10 in two micro-batches against 2 now, may go on while its slack of 18 lasts."""
    moments = Moments()
    for m in range(34):
        moments.add([5 * m if m < 30 else 116 + m, 50 + m])
        if m == 29:
            moments.fold(0, 1, [5, 1])
    waits = [[Wait(0, 1, 1)], [Wait(1, 1, 1), Wait(0, 20, 0)]]
    assert periods_ahead(waits, moments, 30, 2, [2, 2]) == 18 // (10 - 2)


def test_moments_against_a_plain_list(rng: random.Random) -> None:
    """Blocks of random periods answer like the list that they stand for: values, rows, and how long it repeats."""
    for _ in range(400):
        moments, plain = Moments(), []
        for _ in range(rng.randint(1, 4)):
            period, growth = rng.randint(1, 3), [rng.randint(0, 2), rng.randint(0, 1)]
            for row in [[rng.randint(0, 2), rng.randint(0, 1)] for _ in range(period)]:
                moments.add(row)
                plain.append(row)
            first, more = len(plain) - period, rng.randint(0, 14)
            if moments.blocks[-1].end == len(plain) and rng.random() < 0.8:
                moments.fold(first, period, growth)
                moments.go_on(more)
                for _ in range(more):
                    plain.append([x + g for x, g in zip(plain[-period], growth, strict=True)])
        assert [moments.row(m) for m in range(moments.count)] == plain
        assert [moments.value(m, 1) for m in range(moments.count)] == [row[1] for row in plain]
        for period in range(1, len(plain)):
            growth = moments.growth(period)
            steps = [
                [a - b for a, b in zip(plain[m], plain[m - period], strict=True)] for m in range(period, len(plain))
            ]
            found = next((n for n, step in enumerate(reversed(steps)) if step != growth), len(steps))
            assert moments.repeats(period, growth, len(plain)) == found


@pytest.mark.parametrize(
    ("system", "M"),
    [
        (System([1000000, 1000001], [0], [0], Regime(buffers=5)), 4000),
        (System([1000, 1001, 1002, 1001], [3, 4, 5], [0, 0, 0], Regime(buffers=3, window=50)), 4000),
        (System([100, 101], [0], [0], Regime(buffers=10)), 3000),  # the places are full after a thousand
        (System([100, 101], [0], [0], Regime(buffers=300)), 3000),
        (System([1, 10**15, 1], [10**12, 1], [0, 0], Regime(buffers=1)), 500),
        (System([5, 3, 4], [1, 1], [0, 0], Regime(window=400, feedback=10**5)), 3000),  # bursts of 400
        (System([1] * 5, [30, 40, 50, 60], [0] * 4, Regime(buffers=[0, 4, 5, 6, 8], window=11)), 3000),
        (System([1] * 4, [71, 111, 132], [0] * 3, Regime(channels=[7, 11, 13], buffers=40)), 3000),
        (System([3, 6, 6, 3], [12, 6, 6], [0] * 3, Regime(channels=[2, 1, 1], buffers=[0, 2, 1, 1], window=8)), 1000),
        (System([0, 3, 0], [0, 0], [0, 0], Regime(buffers=0, window=1)), 100),
    ],
)
def test_transients(system: System, M: int) -> None:
    """Nearly equal rates, deep places that fill late, bursts, many periods: every T(M) on the way is right."""
    events = simulated(system, M)
    for count in {*range(1, M, max(1, M // 40)), M}:
        assert makespan(system.pipeline, system.regime, count) == events.finish[count - 1][-1], count
    for m in (*range(0, M, M // 10), M - 1):
        check_every_event(system, events, m)


def power_makespan(system: System, M: int) -> Fraction:
    """T(M) by squaring the max-plus matrix that takes the last micro-batches' moments to the next one's."""
    graph = event_graph(system.pipeline, system.regime)
    keep = graph.longest_lag
    events = {event: i for i, event in enumerate(graph.events)}
    n = len(events)
    size = n * keep + 1  # moments of the last micro-batches, newest first, and the release at 0
    scale = lcm(*(Fraction(arc.weight).denominator for arc in graph.arcs))
    rows: list[dict[int, int]] = []
    for event in graph.events:
        row: dict[int, int] = {size - 1: 0} if event == ("start", 0) else {}
        for arc in graph.into[event]:
            weight = int(arc.weight * scale)
            back = {n * (arc.lag - 1) + events[arc.source]: 0} if arc.lag else rows[events[arc.source]]
            for column, time in back.items():
                row[column] = max(row.get(column, time + weight), time + weight)
        rows.append(row)
    matrix = [*rows, *({i: 0} for i in range(n * (keep - 1))), {size - 1: 0}]
    state: list[int | None] = [None] * (size - 1) + [0]
    for digit in reversed(f"{M:b}"):
        if digit == "1":
            state = [
                max((time + state[i] for i, time in row.items() if state[i] is not None), default=None)
                for row in matrix
            ]
        matrix = [multiplied(row, matrix) for row in matrix]
    return Fraction(state[events[Event("finish", len(system.tau) - 1)]], scale)


def multiplied(row: dict[int, int], matrix: list[dict[int, int]]) -> dict[int, int]:
    product: dict[int, int] = {}
    for i, weight in row.items():
        for column, time in matrix[i].items():
            if time + weight > product.get(column, -1):
                product[column] = time + weight
    return product


def test_against_powers_of_the_matrix() -> None:
    """At a thousand, a billion and 10^18 micro-batches T(M) is what max-plus matrix powers give."""
    rng, done = random.Random(12), 0
    while done < 60:
        system = (draw_near if done % 2 else draw)(rng)
        if len(system.tau) > 3 or event_graph(system.pipeline, system.regime).longest_lag > 3:
            continue
        done += 1
        for M in (1000, 10**9 + 7, MANY):
            assert makespan(system.pipeline, system.regime, M) == power_makespan(system, M), (system, M)


@pytest.mark.parametrize("M", [1, 2, 10**9, MANY, 10**300])
def test_against_closed_forms(M: int, rng: random.Random) -> None:
    """In every regime that has a closed form T(M) is that, at a billion and far beyond."""
    for _ in range(20):
        S = rng.randint(1, 6)
        tau, d, latency = (
            [Fraction(rng.randint(1, 99), rng.randint(1, 9)) for _ in range(n)] for n in (S, S - 1, S - 1)
        )
        pipeline, share = Pipeline(tau, d, latency), Fraction(rng.randint(0, 7), 7)
        exact = Pipeline(tau, d, latency)
        assert makespan(pipeline, FREE, M) == sum(tau) + (M - 1) * max(tau)
        if M < 10**300:  # the closed forms say what float64 can say
            assert makespan(pipeline, ASYNC, M) == exact.async_(M)
            assert makespan(pipeline, BLOCKING, M) == exact.block(M)
            assert makespan(pipeline, PARTIAL(share), M) == exact.partial(M, share)
            assert makespan(pipeline, RENDEZVOUS, M) == exact.rendezvous(M)


def test_what_is_drawn_takes_few_steps() -> None:
    """On 500 random systems, half with long transients, 10^18 micro-batches take 30 steps on average, at most 2,000."""
    rng, steps = random.Random(13), []
    for n in range(500):
        system = (draw_near if n % 2 else draw)(rng)
        found = long_run(system.pipeline, system.regime, MANY)
        steps.append(found.steps)
        slope = law(system.tau, system.d, system.latency, system.regime)
        assert abs(found.moment / MANY - slope) < Fraction(1, 10**6)
    assert max(steps) <= 2000
    assert sum(steps) <= 30 * len(steps)


@pytest.mark.parametrize(
    ("pipeline", "regime", "most"),
    [
        (Pipeline([1000000, 1000001]), Regime(buffers=5), 20),
        (Pipeline([1000000, 1000001]), Regime(buffers=10**6), 20),
        (Pipeline([5, 3, 4], d=[1, 1]), Regime(buffers=10**6, window=10**7), 20),
        (Pipeline([5, 3, 4], d=[1, 1]), Regime(window=10**6, feedback=10**9), 50),
        (Pipeline([5, 3, 4, 7], d=[1, 1, 2]), Regime(window=97, feedback=1000, buffers=[None, 30, 40, 2]), 300),
        (Pipeline([1000000 + s for s in range(8)], d=[1] * 7), Regime(buffers=100), 200),
        (Pipeline([1, 10**15, 1], d=[10**12, 1]), Regime(buffers=1), 20),
        (Pipeline([1] * 5, d=[70, 110, 130, 170]), Regime(channels=[7, 11, 13, 17]), 500),
        (Pipeline(["0.1", "0.3"], d=["0.2"]), Regime(buffers=10**30, window=10**40), 20),
    ],
)
def test_steps_and_memory_stay_small(pipeline: Pipeline, regime: Regime, most: int) -> None:
    """Deep places, wide windows and slow drifts cost neither steps nor memory, whether they bind or not."""
    tracemalloc.start()
    found = long_run(pipeline, regime, MANY)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.steps <= most
    assert peak < 2_000_000
    gap = abs(found.moment / MANY - law(pipeline.tau, pipeline.d, pipeline.latency, regime))
    assert gap < Fraction(1, 1000)


def test_by_hand() -> None:
    """Two stages, one place: the sender waits for the receiver from the third micro-batch on."""
    assert long_run(Pipeline([1, 3]), Regime(buffers=0), 1) == LongRun(Fraction(4), 1)
    assert [makespan(Pipeline([1, 3]), Regime(buffers=0), M) for M in (2, 3, 10)] == [7, 10, 31]
    assert makespan(Pipeline([2, 5], d=[4]), Regime(buffers=0), MANY) == 9 * MANY + 2
    assert makespan(Pipeline([2, 5]), Regime(window=1, feedback="0.5"), 3) == 22
    assert hpsim.makespan is makespan


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: makespan(Pipeline([1]), ASYNC, 0), "M: 0; a whole number of micro-batches, at least 1, for example 8"),
        (
            lambda: makespan(Pipeline([1]), ASYNC, 1.5),
            "M: 1.5; a whole number of micro-batches, at least 1, for example 8",
        ),
    ],
)
def test_faults(call, told) -> None:
    """A number of micro-batches that is none is one line."""
    with pytest.raises(PipelineError) as fault:
        call()
    assert str(fault.value) == told


def test_a_name_is_a_regime_too_and_nothing_else_is() -> None:
    """Names as in ``simulate``; what is no pipeline or no regime is told in one line."""
    p = Pipeline([1, 2], d=[1])
    assert makespan(p, "rendezvous", 2) == makespan(p, RENDEZVOUS, 2) == 7
    for wrong in ("tight", "partial", 3, None):
        with pytest.raises(RegimeError, match=r"^regime: "):
            makespan(p, wrong, 2)  # type: ignore[arg-type]
    with pytest.raises(PipelineError, match=r"^pipeline: 3; a Pipeline"):
        makespan(3, ASYNC, 2)  # type: ignore[arg-type]


def test_lists_of_another_length() -> None:
    """A list that does not fit the pipeline is one line."""
    with pytest.raises(RegimeError, match=r"^buffers: 1 value for 2 stages; one value, or one for each stage$"):
        makespan(Pipeline([1, 2]), Regime(buffers=[1]), 5)
