"""The throughput law against the event graph's slowest cycle, simulation, and brute force; what to improve; arrays."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import inf, lcm

import numpy as np
import pytest
from conftest import seeds
from knob_systems import System, draw

import hpsim
from hpsim import Pipeline, Regime
from hpsim.cycle_ratio import critical_cycle
from hpsim.errors import RegimeError
from hpsim.event_graph import Arc, Event, EventGraph
from hpsim.improvements import Improvement
from hpsim.reference import event_graph as twin
from hpsim.regime import ASYNC, BLOCKING, FREE, PARTIAL, RENDEZVOUS
from hpsim.throughput_arrays import critical_names, law_of_arrays
from hpsim.throughput_law import law, law_terms, steady_slope, throughput

SYSTEMS, SEEDS = 20_000, 10


@pytest.mark.parametrize("seed", seeds(SEEDS))
def test_the_law_is_the_slowest_cycle(seed: int) -> None:
    """On 20,000 random systems over all knobs the largest term equals the largest cycle ratio, as a rational."""
    rng = random.Random(20261130 + seed)
    for _ in range(SYSTEMS // SEEDS):
        system = draw(rng)
        assert law(*system) == steady_slope(*system), system


def test_the_slope_is_what_a_long_simulation_shows(rng: random.Random) -> None:
    """Late in a run of the plain twin the makespan grows by the slope, over a common multiple of the lags."""
    for _ in range(60):
        system = draw(rng, most_stages=4)
        regime, S = system.regime, len(system.tau)
        counts = (regime.window, *regime.channels_of(S - 1), *(b and b + 1 for b in regime.buffers_of(S)))
        period = lcm(*(count for count in counts if count))
        d = system.d if regime.communication else [0] * (S - 1)
        latency = system.latency if regime.communication else [0] * (S - 1)
        shares = [Fraction(str(share)) for share in regime.overlap_of(S - 1)]
        limits = {"buffers": regime.buffers_of(S), "channels": regime.channels_of(S - 1), "window": regime.window}
        finish = twin.schedule(
            system.tau, d, 600 + period, latency=latency, overlap=shares, feedback=regime.feedback, **limits
        ).finish
        assert finish[-1][-1] - finish[-1 - period][-1] == period * law(*system), system


def cycles(arcs: list[Arc]) -> Iterator[list[Arc]]:
    """Every elementary cycle of a small graph, by walking on from its least event."""
    for first in arcs:
        walks = [[first]]
        while walks:
            walk = walks.pop()
            if walk[-1].target == first.source:
                yield walk
                continue
            seen = {arc.source for arc in walk}
            walks += [
                [*walk, arc]
                for arc in arcs
                if arc.source == walk[-1].target
                and arc.source > first.source
                and (arc.target not in seen or arc.target == first.source)
            ]


def test_policy_iteration_against_every_cycle(rng: random.Random) -> None:
    """On 400 random graphs, also of several parts, the found cycle is one, and none of all cycles is slower."""
    for _ in range(400):
        events = [Event("start", place) for place in range(rng.randint(1, 5))]
        arcs = [
            Arc(rng.choice(events), target, Fraction(rng.randint(0, 12), rng.randint(1, 3)), rng.randint(1, 4))
            for target in events
            for _ in range(rng.randint(1, 3))
        ]
        found = critical_cycle(EventGraph(tuple(events), tuple(arcs)))
        assert all(a.target == b.source for a, b in zip(found.arcs, (*found.arcs[1:], found.arcs[0]), strict=True))
        ratios = [Fraction(sum(a.weight for a in walk), sum(a.lag for a in walk)) for walk in cycles(arcs)]
        assert found.ratio == max(ratios)
        assert found.ratio == Fraction(sum(arc.weight for arc in found.arcs), sum(arc.lag for arc in found.arcs))


@pytest.mark.parametrize(
    ("pipeline", "regime", "slope"),
    [
        (Pipeline([1, 5, 2], d=[7, 1]), FREE, 5),
        (Pipeline([1, 5, 2], d=[7, 1]), ASYNC, 5),
        (Pipeline([1, 5, 2], d=[7, 1]), BLOCKING, 8),
        (Pipeline([1, 5, 2], d=[7, 1]), PARTIAL("1/2"), Fraction(11, 2)),
        (Pipeline([1, 5, 2], d=[7, 1], latency=[3, 0]), RENDEZVOUS, 16),
    ],
)
def test_named_regimes(pipeline: Pipeline, regime: Regime, slope: Fraction) -> None:
    """The slopes of the theorems, and of the rendezvous, computed by hand."""
    found = throughput(pipeline, regime)
    assert (found.slope, found.rate) == (slope, 1 / Fraction(slope))


@pytest.mark.parametrize(
    ("pipeline", "regime", "words"),
    [
        (Pipeline([2, 5, 1], d=[4, 1]), Regime(buffers=0), "credit loop 0→1: transfer 4 + service 5 over 1 place"),
        (
            Pipeline([2, 5, 1], d=[4, 1], latency=["1/2", 0]),
            Regime(overlap=0, buffers=[None, 1, None], window=100),
            "server 0: service 2 + hold 4",
        ),
        (
            Pipeline([2, 5, 1], d=[14, "0.5"], latency=["1/3", 0]),
            Regime(overlap="1/2", buffers=[None, 1, None]),
            "credit loop 0→1: transfer 14 + latency 1/3 + service 5 + hold 0.25 over 2 places",
        ),
        (Pipeline([2, 3, 4], d=[2, 1]), Regime(window=2, feedback=1), None),
        (Pipeline([2, 5, 1], d=[4, 11]), Regime(channels=1), "link 1: transfer 11 over 1 channel"),
        (Pipeline([2, 5, 1], d=[4, 11]), Regime(channels=2), "link 1: transfer 11 over 2 channels"),
        (Pipeline([7]), Regime(window=1), "server 0: service 7"),
    ],
)
def test_words(pipeline: Pipeline, regime: Regime, words: str | None) -> None:
    """The critical cycle, told as the resource that it is."""
    found = throughput(pipeline, regime)
    assert str(found.bottlenecks[0]) == (words or "window: fill 12 + feedback 1 over 2 micro-batches")
    assert found.critical in found.bottlenecks
    assert len(found.critical.parts) > 0
    weight, lag = sum(arc.weight for arc in found.cycle), sum(arc.lag for arc in found.cycle)
    assert (weight, lag) == (found.critical.time, found.critical.count)


def test_cycles_are_terms() -> None:
    """On 1,000 random systems the critical cycle is one of the bottlenecks, with its time and count."""
    rng = random.Random(8)
    for _ in range(1000):
        system = draw(rng)
        found = throughput(system.pipeline, system.regime)
        weight, lag = sum(arc.weight for arc in found.cycle), sum(arc.lag for arc in found.cycle)
        assert (found.critical.time, found.critical.count) == (weight, lag)
        assert list(found.terms) == sorted(law_terms(system.pipeline, system.regime), key=lambda term: -term.slope)


def changed(system: System, parameter: str, value: Fraction | int | None) -> System:
    """The system with one time or knob set; a knob without index is set for all."""
    name, _, place = parameter.partition("[")
    if name in ("tau", "d", "latency"):
        times = list(getattr(system, name))
        times[int(place[:-1])] = value
        return system._replace(**{name: times})
    regime, S = system.regime, len(system.tau)
    if not place:
        return system._replace(regime=replace(regime, **{name: value}))
    of = {"overlap": regime.overlap_of, "channels": regime.channels_of, "buffers": regime.buffers_of}[name]
    knobs = list(of(S if name == "buffers" else S - 1))
    knobs[int(place[:-1])] = value
    return system._replace(regime=replace(regime, **{name: knobs}))


def parameters(system: System) -> Iterator[tuple[str, Fraction | int | None]]:
    """Everything that may improve, with what it is without end."""
    regime, S = system.regime, len(system.tau)
    times = (("tau", system.tau), ("d", system.d), ("latency", system.latency))
    yield from ((f"{name}[{s}]", 0) for name, values in times for s in range(len(values)))
    if regime.window is not None:
        yield "feedback", 0
    if regime.communication:
        yield from ((f"overlap[{s}]", 1) for s in range(S - 1))
    yield from ((f"buffers[{s}]", None) for s in range(1, S))
    yield from ((f"channels[{s}]", None) for s in range(S - 1) if regime.channels is not None)


def test_improvements_against_brute_force() -> None:
    """On 300 random systems each single change that lowers the slope is found, what it buys, and what it takes."""
    rng = random.Random(9)
    for _ in range(300):
        system = draw(rng)
        slope = law(*system)
        found = throughput(system.pipeline, system.regime).improvements
        alone = {parameter: law(*changed(system, parameter, best)) for parameter, best in parameters(system)}
        if system.regime.window is not None:
            endless = replace(system.regime, window=10**9, feedback=0)
            alone["window"] = law(*system._replace(regime=endless))
        single = {change.parameter for change in found if change.parameter not in ("buffers", "channels", "overlap")}
        assert single == {name for name, after in alone.items() if after < slope}, system
        ranks = [(1 - change.slope / slope) / effort(system, change) for change in found]
        assert ranks == sorted(ranks, reverse=True)
        for change in found:
            check_proposal(system, change)


def kind(change: Improvement) -> str:
    return change.parameter.split("[")[0]


def effort(system: System, change: Improvement) -> Fraction:
    """One more of a limit is 1, for each stage or link; a tenth off a time is 1, a tenth more of an overlap too."""
    alike = len(system.tau) - 1 if change.parameter in ("buffers", "channels") else 1
    if change.parameter == "overlap":
        alike = sum(1 for transfer in system.d if transfer)
    if kind(change) == "overlap":
        return 10 * Fraction(change.until - change.value) * alike
    if kind(change) in ("buffers", "channels", "window"):
        return Fraction(change.until - change.value) * alike
    return 10 * Fraction(change.value - change.until) / change.value


def check_proposal(system: System, change: Improvement) -> None:
    """The slope is the law's; a limit is one higher; a time is above 0, and at ``enough`` or else half; what binds."""
    at = changed(system, change.parameter, change.until)
    assert law(*at) == change.slope < law(*system)
    assert change.effort == effort(system, change)
    assert change.then in [term.name for term in throughput(at.pipeline, at.regime).bottlenecks]
    if kind(change) in ("buffers", "channels", "window"):
        assert change.until == change.value + 1
    elif kind(change) == "overlap":
        assert change.until == change.enough
    else:
        assert change.until == (change.enough or change.value / 2) > 0
    if change.enough or any(changed(system, change.parameter, 0).tau):
        check_reach(system, change)


def check_reach(system: System, change: Improvement) -> None:
    """A little before ``enough`` the slope is larger, and beyond it, however far, it is the same."""
    whole = kind(change) in ("buffers", "channels", "window")
    least = law(*changed(system, change.parameter, change.enough))
    before = change.enough - 1 if whole else change.enough + (change.value - change.enough) / 1000
    assert law(*changed(system, change.parameter, before)) > least
    beyond = change.enough + 100 if whole else 1 if kind(change) == "overlap" else 0
    if whole or any(changed(system, change.parameter, beyond).tau):
        assert law(*changed(system, change.parameter, beyond)) == least


@pytest.mark.parametrize(
    ("pipeline", "regime", "told"),
    [
        (
            Pipeline([12, 20, 31], d=[24, 6]),
            Regime(buffers=0),
            [
                ("buffers[1] from 0 to 1", 37, "credit 1→2", 1, 1),  # 7 of 44 saved
                ("buffers, all stages from 0 to 1", 31, "server 2", 2, 1),  # 13 of 44 for 2
                ("d[0] from 24 to 17", 37, "credit 1→2", Fraction(70, 24), 17),  # 7 of 44 for 2.9 tenths
                ("tau[1] from 20 to 13", 37, "credit 1→2", Fraction(7, 2), 13),
            ],
        ),
        (
            Pipeline([1, 2, 4], d=[2, 1]),
            Regime(window=2),
            [
                ("window from 2 to 3", 4, "server 2", 1, 3),  # 10/3 then, below the 4 of the server
                ("tau[2] from 4 to 2", 4, "window", 5, 0),  # the window binds down to nothing, so half
                ("tau[1] from 2 to 1", Fraction(9, 2), "window", 5, 0),
                ("d[0] from 2 to 1", Fraction(9, 2), "window", 5, 0),
                ("tau[0] from 1 to 0.5", Fraction(19, 4), "window", 5, 0),
                ("d[1] from 1 to 0.5", Fraction(19, 4), "window", 5, 0),
            ],
        ),
        (Pipeline([1, 4]), ASYNC, [("tau[1] from 4 to 1", 1, "server 0", Fraction(15, 2), 1)]),
        (Pipeline([4]), ASYNC, [("tau[0] from 4 to 2", 2, "server 0", 5, 0)]),
        (Pipeline([1, 1], d=[9]), Regime(channels=2), [
            ("channels[0] from 2 to 3", 3, "link 0", 1, 9),  # one more is not all that pays
            ("d[0] from 9 to 2", 1, "server 0", Fraction(70, 9), 2),
        ]),
        (Pipeline([2, 1], d=[2]), BLOCKING, [
            ("overlap[0] from 0 to 1", 2, "server 0", 10, 1),  # all three save a twentieth for each unit of effort
            ("tau[0] from 2 to 1", 3, "server 0", 5, 0),
            ("d[0] from 2 to 1", 3, "server 0", 5, 0),
        ]),
    ],
)  # fmt: skip
def test_improvements_by_hand(pipeline: Pipeline, regime: Regime, told: list[tuple[object, ...]]) -> None:
    """What can be had, the best gain for the effort first: changes, slopes, what binds, effort, and how far it pays."""
    found = throughput(pipeline, regime).improvements
    listed = [(str(change), change.slope, change.then, change.effort, change.enough) for change in found]
    assert listed == told


def test_all_alike_is_told_where_it_buys_more() -> None:
    """Equal stages whose places are all too few: no single place helps, one more everywhere does."""
    (change,) = throughput(Pipeline([2, 2, 2, 2], d=[1, 1, 1]), Regime(buffers=0)).improvements
    assert (str(change), change.slope, change.effort) == ("buffers, all stages from 0 to 1", 2, 3)
    changes = throughput(Pipeline([2, 5, 1], d=[11, 4]), BLOCKING).improvements
    (alike,) = (change for change in changes if change.parameter == "overlap")
    assert (str(alike), alike.slope, alike.then) == ("overlap, all links from 0 to 1", 5, "server 1")


def test_a_tie_leaves_nothing_to_improve_alone() -> None:
    """Two equally slow servers: neither alone helps."""
    assert throughput(Pipeline([3, 3, 1]), ASYNC).improvements == ()


def test_public_name() -> None:
    """The function is in the package under its own name."""
    assert hpsim.throughput is throughput


@pytest.mark.parametrize(
    ("regime", "told"),
    [
        (Regime(buffers=[1, 1]), "buffers: 2 values for 3 stages; one value, or one for each stage"),
        (Regime(channels=[1]), "channels: 1 value for 2 links; one value, or one for each link"),
        (PARTIAL([0, 0, 0]), "overlap: 3 values for 2 links; one value, or one for each link"),
    ],
)
def test_lists_of_another_length(regime: Regime, told: str) -> None:
    """A list that does not fit the pipeline is one line."""
    with pytest.raises(RegimeError) as fault:
        throughput(Pipeline([1, 2, 3]), regime)
    assert str(fault.value) == told


def test_arrays_against_the_exact_law(rng: random.Random) -> None:
    """Slope and first attaining term of 3,000 random systems on whole times, every knob drawn for each system."""
    for S in (1, 2, 5):
        systems = []
        while len(systems) < 1000:
            system = draw(rng, most_stages=S)
            if len(system.tau) == S and system.regime.communication:
                systems.append(system)
        scales = [lcm(*(Fraction(time).denominator for time in times)) * 60 for times in map(all_times, systems)]
        rows = [scale_up(system, scale) for system, scale in zip(systems, scales, strict=True)]
        tau, d, latency, hold, buffers, channels, window, feedback = map(np.array, zip(*rows, strict=True))
        knobs = {"buffers": buffers, "channels": channels, "window": window, "feedback": feedback}
        slope, critical = law_of_arrays(tau, d, latency, hold, **knobs)
        names = critical_names(S)
        assert len(names) == 3 * S - 1
        for system, scale, found, index in zip(systems, scales, slope, critical, strict=True):
            terms = law_terms(system.pipeline, system.regime)
            first = max(terms, key=lambda term: term.slope)
            assert found == float(first.slope * scale)
            assert names[index] == first.name
        lanes = law_of_arrays(*(np.moveaxis(x.T[None], 1, -1) for x in (tau, d, latency, hold)), **knobs)
        assert np.array_equal(lanes[0][0], slope)


def all_times(system: System) -> list[Fraction | int]:
    return [*system.tau, *system.d, *system.latency, Fraction(str(system.regime.feedback))]


def scale_up(system: System, scale: int) -> tuple[list[float] | float, ...]:
    regime, S = system.regime, len(system.tau)
    shares = [Fraction(str(share)) for share in regime.overlap_of(S - 1)]
    hold = [(1 - share) * time for share, time in zip(shares, system.d, strict=True)]
    times = [[float(time * scale) for time in row] for row in (system.tau, system.d, system.latency, hold)]
    limits = [
        [inf if count is None else float(count) for count in row]
        for row in (regime.buffers_of(S), regime.channels_of(S - 1), [regime.window])
    ]
    return *times, limits[0], limits[1], limits[2][0], float(Fraction(str(regime.feedback)) * scale)


def test_arrays_decide_what_rounding_hides() -> None:
    """Two terms with one float64 quotient: the larger is found, whichever comes first; a tie goes to the first."""
    time = 2.0**52 + 1  # its third lies between two float64 numbers
    for tau, window, index in (((time, 0), 3, 0), ((time, 1), 1, 3)):
        _, critical = law_of_arrays(np.array([tau]), [[0.0]], [[0.0]], [[0.0]], window=[window])
        assert critical.tolist() == [index]
    slope, critical = law_of_arrays(np.array([[1.0, 1.0]]), [[3.0 * time]], [[0.0]], [[0.0]], channels=[[3.0]])
    assert (slope.tolist(), critical.tolist()) == ([time], [4])
    huge = 2.0**53 - 1
    _, critical = law_of_arrays(
        [[1.0, 0.0]], [[huge]], [[0.0]], [[0.0]], channels=[[3.0]], window=[3.0], feedback=[0.0]
    )
    assert critical.tolist() == [3]
    _, critical = law_of_arrays([[0.0, 0.0]], [[huge]], [[0.0]], [[0.0]], channels=[[3.0]], window=[3.0])
    assert critical.tolist() == [3]


def test_names_of_terms() -> None:
    """Servers, credit loops, the window, links: the order of the indices."""
    assert critical_names(3) == [
        *("server 0", "server 1", "server 2", "credit 0→1", "credit 1→2", "window", "link 0", "link 1")
    ]
    assert critical_names(1) == ["server 0", "window"]


def test_a_throughput_is_told_in_one_line():
    """The time per micro-batch and what decides it."""
    found = throughput(Pipeline([2, 5, 1], d=[4, 1]), Regime(buffers=0))
    assert repr(found) == "<Throughput: 9 per micro-batch; credit loop 0→1: transfer 4 + service 5 over 1 place>"
