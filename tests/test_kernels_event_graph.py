"""The compiled event graph, exactly equal to the plain twin, to following the arcs, and to the chain recurrence."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import islice, repeat
from threading import Event

import numpy as np
import pytest
from conftest import SIZE, scaled
from peers.regimes import draw_regime, makespans, rows
from peers.systems import System, alike, checkpoints, draw, table

from hpsim import BLOCKING, RENDEZVOUS, Pipeline, Regime, event_graph, event_lanes, lanes
from hpsim.errors import RegimeError
from hpsim.kernels import event_graph as kernel
from hpsim.processors import Abandoned

LENGTHS = (1, 2, 3, 4, 5, 7, 12, 33)


def in_lanes(systems: list[System], regime: Regime, stops: list[int], unit: float = 1.0) -> np.ndarray:
    """(n, len(stops)) makespans of systems given in lanes."""
    tau, d, latency = (lanes.pack(table(systems, name) * unit) for name in ("tau", "d", "latency"))
    regime = replace(regime, feedback=regime.feedback * Fraction(unit))
    out = event_lanes.makespans(tau, d, latency, regime, np.array(stops, dtype=np.int64))
    return out.reshape(len(stops), -1)[:, : len(systems)].T


def in_rows(systems: list[System], regime: Regime, stops: list[int]) -> np.ndarray:
    """(n, len(stops)) makespans of systems given as rows."""
    if not regime.communication:
        systems = [System(s.tau, [0] * len(s.d), [0] * len(s.d), s.share) for s in systems]
    out = np.empty((len(systems), len(stops)))
    assert event_lanes.makespans_of_rows(rows(systems, regime), np.array(stops, dtype=np.int64), out, regime=regime)
    return out


@pytest.mark.parametrize("seed", range(8))
def test_small_systems_equal_the_twin_on_fractions(seed: int) -> None:
    """Thousands of small systems, every mixture of knobs, all checkpoints in one pass: every makespan is equal."""
    rng = random.Random(seed)
    for _ in range(scaled(500)):
        S, M = rng.randint(1, 6), rng.randint(1, 14)
        regime, systems = draw_regime(rng, S), alike(rng, S, 2)
        right = [makespans(system, regime, M) for system in systems]
        stops = list(range(1, M + 1))
        assert in_lanes(systems, regime, stops).tolist() == right, (systems, regime)
        assert in_rows(systems, regime, stops).tolist() == right, (systems, regime)


@pytest.mark.parametrize("S", LENGTHS)
def test_many_systems_equal_the_twin(S: int) -> None:
    """Several blocks, lanes left over, some checkpoints, runs longer than every ring, a fine grid."""
    rng = random.Random(S)
    for n in ((1, 31, 32, 33, 65) if S < 12 else (1, 33)) if SIZE == 1 else (2,):
        regime, systems, unit = draw_regime(rng, S), alike(rng, S, n), 2.0 ** -rng.choice((0, 20))
        stops = checkpoints(rng, rng.randint(50, 90)) if SIZE == 1 else [1, 6]
        right = np.array([makespans(system, regime, stops[-1]) for system in systems])[:, np.array(stops) - 1]
        fine = in_lanes(systems, regime, stops, unit)
        assert np.array_equal(fine / unit, right.astype(float)), regime
        assert np.array_equal(in_rows(systems, regime, stops), right.astype(float)), regime


def test_makespans_equal_those_along_the_arcs(rng: random.Random) -> None:
    """Some hundred systems by following the arcs of their event graph, which shares nothing with plan and rings."""
    for _ in range(scaled(300)):
        S, M = rng.randint(1, 5), rng.randint(1, 10)
        regime, system = draw_regime(rng, S), draw(rng, S)
        graph = event_graph.event_graph(Pipeline(system.tau, system.d, system.latency), regime)
        finish = event_graph.Event("finish", S - 1)
        right = [moments[finish] for moments in islice(event_graph.run(repeat(graph)), M)]
        assert in_lanes([system], regime, list(range(1, M + 1)))[0].tolist() == right, (system, regime)


@pytest.mark.parametrize("S", [1, 2, 5, 16, 17])
def test_chains_equal_the_chain_kernel(S: int, rng: random.Random) -> None:
    """Without limits, and with limits beyond the run, the two kernels give the same bits."""
    systems, stops = alike(rng, S, 40 if SIZE == 1 else 2), np.array([1, 2, 9, 25])
    for overlap in (0, 1, Fraction(3, 16)):
        right = np.empty((len(systems), len(stops)))
        assert lanes.makespans_of_rows(rows(systems, Regime(overlap)), stops, right)
        for limits in ({}, {"buffers": 24}, {"window": 25}, {"buffers": 10**12, "window": 10**12, "feedback": 5}):
            regime = Regime(overlap, **limits)
            assert np.array_equal(in_lanes(systems, regime, list(stops)), right)
            assert np.array_equal(in_rows(systems, regime, list(stops)), right)


@pytest.mark.parametrize("share", [0, Fraction(5, 16), 1])
def test_shares_of_their_own_for_every_pipeline(share: Fraction, rng: random.Random) -> None:
    """``overlap`` in lanes, one a pipeline or one a link, stands in for that of the regime."""
    regime = Regime(buffers=1, window=4)
    for S in (2, 3, 6):
        systems = alike(rng, S, 40 if SIZE == 1 else 2)
        tau, d, latency = (lanes.pack(table(systems, name)) for name in ("tau", "d", "latency"))
        stops = np.array([1, 4, 9])
        right = in_lanes(systems, replace(regime, overlap=share), [1, 4, 9])
        for links in (1, S - 1):
            overlap = lanes.pack(np.full((len(systems), links), float(share)))
            found = event_lanes.makespans(tau, d, latency, regime, stops, overlap=overlap)
            assert np.array_equal(found.reshape(3, -1)[:, : len(systems)].T, right)


@pytest.mark.parametrize("S", [1, 2, 5])
@pytest.mark.parametrize("calls", [0, 2, 3, 7, 30])
def test_cutting_a_run_into_calls_changes_nothing(S: int, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of two, three, … micro-batches, ending at, before and between checkpoints, give the same bits."""
    rng = random.Random(S)
    stops = [1, 2, 3, 7, 8, 14, 29, 30, 31, 60][: max(6, scaled(10))]
    for _ in range(scaled(12)):
        regime, systems = draw_regime(rng, S), alike(rng, S, 70 if SIZE == 1 else 2)
        whole, of_rows = in_lanes(systems, regime, stops), in_rows(systems, regime, stops)
        with monkeypatch.context() as patch:
            patch.setattr(lanes, "CELLS_PER_CALL", event_lanes.COST * calls * S * lanes.LANES)
            assert np.array_equal(in_lanes(systems, regime, stops), whole)
            assert np.array_equal(in_rows(systems, regime, stops), of_rows)
            assert np.array_equal(in_lanes(systems, regime, stops[-1:])[:, 0], whole[:, -1])


def test_a_long_run(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred thousand micro-batches through a closed loop of one: each takes the whole way and back."""
    system, M = draw(rng, 4), scaled(200_000)
    way = sum(system.tau) + sum(system.d) + sum(system.latency)
    regime = Regime(buffers=2, channels=1, window=1, feedback=3)
    for limit in (lanes.CELLS_PER_CALL, event_lanes.COST * 12_345 * 4 * lanes.LANES):
        monkeypatch.setattr(lanes, "CELLS_PER_CALL", limit)
        assert in_lanes([system], regime, [1, M - 1, M])[0].tolist() == [
            way + (m - 1) * (way + 3) for m in (1, M - 1, M)
        ]


@pytest.mark.parametrize("S", [1, 2, 7])
def test_lanes_do_not_touch_each_other(S: int, rng: random.Random) -> None:
    """A pipeline's makespan does not depend on its lane or block, nor on neighbours that are not even numbers."""
    for regime in (RENDEZVOUS, Regime(buffers=1, channels=2, window=3), Regime(overlap=Fraction(1, 2), window=2)):
        system = draw(rng, S)
        alone = in_lanes([system], regime, [1, 2, 5])[0]
        n = 3 * lanes.LANES
        tau, d, latency = (np.full((n, S - (name != "tau")), np.nan) for name in ("tau", "d", "latency"))
        places = rng.sample(range(n), 20)
        tau[places], d[places], latency[places] = system.tau, system.d, system.latency
        packed = (lanes.pack(table) for table in (tau, d, latency))
        found = event_lanes.makespans(*packed, regime, np.array([1, 2, 5])).reshape(3, -1).T
        assert (found[places] == alone).all()


def test_totals_up_to_the_last_exact_integer() -> None:
    """Totals of 2^53 - 1 and 2^53 grid units come out to the unit."""
    for last in (0, 1):
        system = System([2**51, 2**51 - 3, last], [2**50, 1], [0, 1], [0, 0])
        right = makespans(system, RENDEZVOUS, 2)
        assert right[-1] == 2**53 - 1 + last
        assert in_lanes([system], RENDEZVOUS, [1, 2])[0].tolist() == right


def test_given_arrays_stay_as_they_are(rng: random.Random) -> None:
    """Lanes may be read-only and have any memory order; what is given is only read."""
    systems, regime = alike(rng, 4, 33), Regime(buffers=1, window=3, feedback=2)
    given = [lanes.pack(table(systems, name)) for name in ("tau", "d", "latency")]
    right = event_lanes.makespans(*given, regime, np.array([1, 9]))
    views = [np.asfortranarray(array) for array in given]
    for array in views:
        array.setflags(write=False)
    assert np.array_equal(event_lanes.makespans(*views, regime, np.array([1, 9])), right)
    assert all(np.array_equal(view, array) for view, array in zip(views, given, strict=True))


@pytest.mark.parametrize("wrong", [np.nan, -1.0, np.inf])
@pytest.mark.parametrize("name", [0, 1, 2])
def test_times_that_are_none_are_noticed(name: int, wrong: float) -> None:
    """A row with a time that is none, or that serves nobody, is told to the caller, wherever it stands."""
    regime, stops, n = Regime(buffers=1), np.array([3]), 2 * event_lanes.BLOCKS * lanes.LANES if SIZE == 1 else 3
    given = [np.ones((n, 3)), np.ones((n, 2)), np.ones((n, 2)), np.ones((1, 1))]
    out = np.empty((n, 1))
    assert event_lanes.makespans_of_rows(given, stops, out, regime=regime)
    given[name][n - 1, 1] = wrong
    assert not event_lanes.makespans_of_rows(given, stops, out, regime=regime)
    given[name][n - 1, 1] = 1.0
    given[0][1] = 0.0
    assert not event_lanes.makespans_of_rows(given, stops, out, regime=regime)


def test_rows_without_transfers(rng: random.Random) -> None:
    """Tables of no columns stand for links that take no time."""
    systems, regime = alike(rng, 4, 5), Regime(overlap=0, buffers=0, window=3)
    tau, _, _, shares = rows(systems, regime)
    out = np.empty((5, 1))
    assert event_lanes.makespans_of_rows((tau, tau[:, :0], tau[:, :0], shares), np.array([9]), out, regime=regime)
    assert out[:, 0].tolist() == [makespans(System(s.tau, [0] * 3, [0] * 3, []), regime, 9)[-1] for s in systems]


def test_a_run_is_given_up_between_calls(rng: random.Random) -> None:
    """Another thread may end a run; nothing is returned then."""
    stopped = Event()
    stopped.set()
    tau, d, latency = (lanes.pack(table(alike(rng, 3, 2), name)) for name in ("tau", "d", "latency"))
    with pytest.raises(Abandoned):
        event_lanes.makespans(tau, d, latency, BLOCKING, np.array([5]), stopped)


WRONG = {
    "buffers": (Regime(buffers=[1, 2]), "buffers: 2 values for 3 stages; one value, or one for each stage"),
    "channels": (Regime(channels=[1]), "channels: 1 value for 2 links; one value, or one for each link"),
    "overlap": (Regime(overlap=[1, 0, 1], buffers=1), "overlap: 3 values for 2 links; one value, or one for each link"),
    "rings": (
        Regime(window=2**21, buffers=4),
        "window: 2,097,152 micro-batches to remember in a run of 1,073,741,824; "
        "at most 262,144 over all stages, or None for unlimited",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_knobs_are_told_in_one_line(name: str) -> None:
    """Lists of the wrong length, and rings that no memory holds."""
    regime, message = WRONG[name]
    tau, d = np.ones((1, 3, lanes.LANES)), np.ones((1, 2, lanes.LANES))
    with pytest.raises(RegimeError) as error:
        event_lanes.makespans(tau, d, d, regime, np.array([2**30]))
    assert str(error.value) == message


@pytest.mark.skipif(SIZE < 1, reason="nothing is compiled")
def test_one_compiled_kernel_serves_every_regime(rng: random.Random) -> None:
    """Neither S nor the knobs make another compilation: a sweep over both compiles nothing on its way."""
    for S in range(1, 9):
        for _ in range(5):
            regime, systems = draw_regime(rng, S), alike(rng, S, 2)
            in_lanes(systems, regime, [1, 5])
            in_rows(systems, regime, [1, 5])
    assert len(kernel.advance.signatures) == len(kernel.lay_out_rows.signatures) == 1
