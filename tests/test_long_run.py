"""Makespans of any length: against full simulation, a plain knapsack, max-plus powers and closed forms; their work."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import pytest
from conftest import seeds
from knob_systems import System, draw, draw_near, draw_tied

import hpsim.long_run
from hpsim import Pipeline, Regime
from hpsim.cli import main
from hpsim.errors import PipelineError, RegimeError
from hpsim.event_graph import Event, event_graph
from hpsim.long_run import makespan
from hpsim.reference import event_graph as twin
from hpsim.regime import ASYNC, BLOCKING, FREE, PARTIAL, RENDEZVOUS
from hpsim.throughput_law import law, law_terms

SYSTEMS, SEEDS = 4000, 4
MANY = 10**18
COPRIME = (97, 101, 103, 107)  # channels, of links that are almost equally slow
COPRIME_TIMES = (97_000_001, 101_000_002, 103_000_003, 107_000_005)  # millionths


def simulated(system: System, M: int) -> list[Fraction]:
    """T(1), …, T(M), simulated step by step by the plain twin."""
    regime, links = system.regime, len(system.d)
    events = twin.schedule(
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
    return [finish[-1] for finish in events.finish]


@pytest.mark.parametrize("seed", seeds(SEEDS))
def test_against_full_simulation(seed: int) -> None:
    """On 4,000 random systems over all knobs, many with terms that almost tie, T(M) is the simulated one."""
    rng = random.Random(20261201 + seed)
    for n in range(SYSTEMS // SEEDS):
        system = (draw(rng, most_stages=7), draw_near(rng), draw_tied(rng))[n % 3]
        M = rng.randint(1, 60) if n % 20 else rng.randint(61, 400)
        right = simulated(system, M)
        for count in {1, M, *(rng.randint(1, M) for _ in range(3))}:
            assert makespan(system.pipeline, count, system.regime) == right[count - 1], (system, count)


def heaviest(kinds: Sequence[tuple[int, int]], capacity: int) -> list[int]:
    """The largest sum of times of (time, lag), each any number of times, for every capacity: one after the other."""
    most = [0]
    for room in range(1, capacity + 1):
        most.append(max(most[room - lag] + time for time, lag in kinds if lag <= room))
    return most


def test_against_a_plain_knapsack(rng: random.Random) -> None:
    """Links of up to 150 channels that almost tie, in runs that their best mixture just fits into, or just not."""
    for _ in range(150):
        links, most, spread = rng.randint(2, 6), rng.choice((5, 20, 150)), rng.choice((0, 3, 50, 400))
        lags = [rng.randint(2, most) for _ in range(links)]
        d = [100 * lag + rng.randint(-spread, spread) for lag in lags]
        d = [max(0, time) for time in d]
        tau = [rng.choice((0, 1, 90, 100)) for _ in range(links)] + [rng.randint(1, 99)]
        right = heaviest([(max(tau), 1), *zip(d, lags, strict=True)], 3000)
        for behind in (rng.randint(0, 2 * most), rng.randint(0, 3000), 3000):
            found = makespan(Pipeline(tau, d), behind + 1, Regime(channels=lags))
            assert found == sum(tau) + sum(d) + right[behind], (tau, d, lags, behind)


@pytest.mark.parametrize("M", [MANY, 10**300])
def test_coprime_channels_of_almost_equal_rates(M: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All four links count, the best mixture repeats after 107 micro-batches, and few combinations are looked at."""
    times = [Fraction(time, 10**6) for time in COPRIME_TIMES]
    settled = 107 * 107  # from here on one more round of link 3 takes the best from M to M + 107
    far = settled + (M - 1 - settled) % 107
    first = 5 + sum(times)
    right = heaviest([(10**6, 1), *zip(COPRIME_TIMES, COPRIME, strict=True)], far)[far]
    rounds = (M - 1 - far) // 107
    kept = counted_pushes(monkeypatch)
    found = makespan(Pipeline([1] * 5, times), M, Regime(channels=COPRIME))
    assert found == first + Fraction(right, 10**6) + rounds * times[3]
    assert len(kept) <= 4 * 107


def counted_pushes(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every combination that is kept from now on."""
    kept: list[object] = []
    push = hpsim.long_run.heappush

    def counted(heap: list[tuple[int, int, int]], entry: tuple[int, int, int]) -> None:
        kept.append(entry)
        push(heap, entry)

    monkeypatch.setattr(hpsim.long_run, "heappush", counted)
    return kept


def test_far_out_the_best_term_repeats() -> None:
    """From ``L`` micro-batches to the next the best term comes in once more, at 10^18 as at 10^300."""
    rng = random.Random(13)
    for n in range(900):
        system = (draw(rng), draw_near(rng), draw_tied(rng))[n % 3]
        best = max(law_terms(system.pipeline, system.regime), key=lambda term: term.slope)
        for M in (MANY + rng.randint(0, 1000), 10**300 - 1000):
            late, early = (makespan(system.pipeline, count, system.regime) for count in (M + best.count, M))
            assert late - early == best.time, (system, M)
            slope = law(system.tau, system.d, system.latency, system.regime)
            assert abs(early / M - slope) < Fraction(1, 10**6)


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
    right = simulated(system, M)
    for count in {*range(1, M, max(1, M // 40)), M}:
        assert makespan(system.pipeline, count, system.regime) == right[count - 1], count


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
            assert makespan(system.pipeline, M, system.regime) == power_makespan(system, M), (system, M)


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
        assert makespan(pipeline, M, FREE) == sum(tau) + (M - 1) * max(tau)
        if M < 10**300:  # the closed forms say what float64 can say
            assert makespan(pipeline, M, ASYNC) == exact.async_(M)
            assert makespan(pipeline, M, BLOCKING) == exact.blocking(M)
            assert makespan(pipeline, M, PARTIAL(share)) == exact.partial(M, share)
            assert makespan(pipeline, M, RENDEZVOUS) == exact.rendezvous(M)


def test_many_stages_with_limits_of_many_thousands(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,024 stages with as many different limits, up to 100,000, that almost tie: few combinations of them are kept."""
    rng, kept = random.Random(1024), counted_pushes(monkeypatch)
    lags = [rng.randint(2, 100_000) for _ in range(1023)]
    for spread in (0, 10, 1000, 100_000):
        d = [1000 * lag + rng.randint(-spread, spread) for lag in lags]
        p, regime = Pipeline([1] * 1024, d), Regime(channels=lags)
        best = max(law_terms(p, regime), key=lambda term: (term.slope, -term.count))
        for M in (10**4, 10**6, MANY):
            kept.clear()
            late, early = (makespan(p, count, regime) for count in (M + best.count, M))
            assert late - early >= best.time
            assert len(kept) <= 20_000
        assert late - early == best.time


@pytest.mark.parametrize(
    ("pipeline", "regime"),
    [
        (Pipeline([1000000, 1000001]), Regime(buffers=5)),
        (Pipeline([1000000, 1000001]), Regime(buffers=10**6)),
        (Pipeline([5, 3, 4], d=[1, 1]), Regime(buffers=10**6, window=10**7)),
        (Pipeline([5, 3, 4], d=[1, 1]), Regime(window=10**6, feedback=10**9)),
        (Pipeline([5, 3, 4, 7], d=[1, 1, 2]), Regime(window=97, feedback=1000, buffers=[None, 30, 40, 2])),
        (Pipeline([1000000 + s for s in range(8)], d=[1] * 7), Regime(buffers=100)),
        (Pipeline([1, 10**15, 1], d=[10**12, 1]), Regime(buffers=1)),
        (Pipeline([1] * 5, d=[70, 110, 130, 170]), Regime(channels=[7, 11, 13, 17])),
        (Pipeline(["0.1", "0.3"], d=["0.2"]), Regime(buffers=10**30, window=10**40)),
    ],
)
def test_memory_stays_small(pipeline: Pipeline, regime: Regime) -> None:
    """Deep places, wide windows and slow drifts cost no memory, whether they bind or not."""
    tracemalloc.start()
    found = makespan(pipeline, MANY, regime)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    gap = abs(found / MANY - law(pipeline.tau, pipeline.d, pipeline.latency, regime))
    assert gap < Fraction(1, 1000)


@pytest.mark.parametrize("limit", ["_MOST_KEPT", "_MOST_LOOKS"])
def test_too_many_combinations_are_refused(
    limit: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six almost equal limits need over a hundred combinations: beyond what is allowed it is one line, and code 2."""
    d, regime = [96998, 101009, 103008, 106995, 109002, 113006], Regime(channels=[97, 101, 103, 107, 109, 113])
    p = Pipeline([1] * 7, d)
    right = heaviest([(1, 1), *zip(d, (97, 101, 103, 107, 109, 113), strict=True)], 999)[999]
    assert makespan(p, 1000, regime) == 7 + sum(d) + right
    monkeypatch.setattr(hpsim.long_run, limit, 100)
    told = "regime: 6 limits of up to 113 micro-batches, almost equally slow; fewer or smaller ones, at most "
    with pytest.raises(RegimeError) as fault:
        makespan(p, 1000, regime)
    assert str(fault.value).startswith(told)
    assert " 100 " in str(fault.value)
    flags = ["--tau", "1,1,1,1,1,1,1", "--d", ",".join(map(str, d)), "--channels", "97,101,103,107,109,113"]
    monkeypatch.setattr("sys.argv", ["hpsim", "calc", *flags, "--M", "1000", "--json"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert capsys.readouterr() == ("", f"error: {fault.value}\n")


def test_by_hand() -> None:
    """Two stages, one place: the sender waits for the receiver from the third micro-batch on."""
    assert [makespan(Pipeline([1, 3]), M, Regime(buffers=0)) for M in (1, 2, 3, 10)] == [4, 7, 10, 31]
    assert makespan(Pipeline([2, 5], d=[4]), MANY, Regime(buffers=0)) == 9 * MANY + 2
    assert makespan(Pipeline([2, 5]), 3, Regime(window=1, feedback="0.5")) == 22
    assert hpsim.makespan is makespan


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: makespan(Pipeline([1]), 0, ASYNC), "M: 0; a whole number of micro-batches, at least 1, for example 8"),
        (
            lambda: makespan(Pipeline([1]), 1.5, ASYNC),
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
    assert makespan(p, 2, "rendezvous") == makespan(p, 2, RENDEZVOUS) == 7
    for wrong in ("tight", "partial", 3, None):
        with pytest.raises(RegimeError, match=r"^regime: "):
            makespan(p, 2, wrong)  # type: ignore[arg-type]
    with pytest.raises(PipelineError, match=r"^pipeline: 3; a Pipeline"):
        makespan(3, 2, ASYNC)  # type: ignore[arg-type]


def test_lists_of_another_length() -> None:
    """A list that does not fit the pipeline is one line."""
    with pytest.raises(RegimeError, match=r"^buffers: 1 value for 2 stages; one value, or one for each stage$"):
        makespan(Pipeline([1, 2]), 5, Regime(buffers=[1]))


def test_the_old_order_still_works_with_a_warning():
    """``(pipeline, regime, M)`` gives what ``(pipeline, M, regime)`` gives, and says which to use."""
    p = Pipeline([1, 3, 2], d=[4, 1])
    right = {"blocking": p.blocking(5), "async": p.async_(5)}
    assert makespan(p, 5) == makespan(p, M=5) == right["async"]
    for regime, expected in (("blocking", right["blocking"]), (BLOCKING, right["blocking"]), ("async", right["async"])):
        assert makespan(p, 5, regime) == makespan(p, 5, regime=regime) == expected
        for call in (lambda regime=regime: makespan(p, regime, 5), lambda regime=regime: makespan(p, regime, M=5)):
            with pytest.warns(DeprecationWarning, match=r"makespan\(pipeline, M, regime\) is the one to use") as told:
                assert call() == expected
            assert told[0].filename == __file__
    for mistake in (lambda: makespan(p, "8"), lambda: makespan(p, "8", "async")):  # no order makes sense of these
        with pytest.raises(PipelineError, match=r"^M: '8'; a whole number"):
            mistake()
