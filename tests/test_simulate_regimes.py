"""``simulate`` with places, channels and windows: all ways to give them, any thread count, mistakes in one line."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from conftest import SIZE, scaled
from peers.regimes import draw_regime, makespans
from peers.systems import System, alike, draw, table

from hpsim import ASYNC, BLOCKING, PARTIAL, RENDEZVOUS, Pipeline, Regime, simulate, simulation
from hpsim.errors import HpsimError, PipelineError, RegimeError

TIGHT = Regime(buffers=1, channels=2, window=4, feedback="0.5")


def right(systems: list[System], regime: Regime, M: list[int]) -> list[list[Fraction]]:
    """Makespans by the plain twin."""
    found = (makespans(system, regime, max(M)) for system in systems)
    return [[values[m - 1] for m in M] for values in found]


@pytest.mark.parametrize("seed", range(4))
def test_arrays_equal_the_twin_on_fractions(seed: int) -> None:
    """Any mixture of knobs, equal S, latency, M in any order and repeated: equal as rationals."""
    rng = random.Random(seed)
    for _ in range(scaled(60)):
        S = rng.randint(1, 7)
        regime, systems, M = (
            draw_regime(rng, S),
            alike(rng, S, rng.choice((1, 3, 33) if SIZE == 1 else (1,))),
            [9, 1, 2, 9, 4],
        )
        tau, d, latency = (table(systems, name) for name in ("tau", "d", "latency"))
        found = simulate(tau, d, M, regime, latency=latency)
        assert found.dtype == np.float64
        assert found.tolist() == right(systems, regime, M), regime


def test_pipelines_of_mixed_length(rng: random.Random) -> None:
    """Knobs of one value hold for any S; rows come back in the order given."""
    systems = [draw(rng, S) for S in (3, 1, 5, 2, 3, 1)]
    pipelines = [Pipeline(s.tau, s.d, s.latency) for s in systems]
    for regime in (TIGHT, RENDEZVOUS, Regime(window=1), Regime(communication=False, buffers=0)):
        assert simulate(pipelines, M=[6, 2], regime=regime).tolist() == right(systems, regime, [6, 2])
        assert simulate(pipelines, M=6, regime=regime).tolist() == [row[0] for row in right(systems, regime, [6])]


def test_the_name_rendezvous(rng: random.Random) -> None:
    """A handshake without buffers has a name; it is no faster than blocking and at most twice as slow."""
    systems = alike(rng, 4, 20)
    tau, d = table(systems, "tau"), table(systems, "d")
    named, blocking = (simulate(tau, d, [1, 5, 9], name) for name in ("rendezvous", "blocking"))
    without = [System(s.tau, s.d, [0] * 3, []) for s in systems]
    assert named.tolist() == right(without, RENDEZVOUS, [1, 5, 9])
    assert ((blocking <= named) & (named <= 2 * blocking)).all()


def test_small_lines_worked_out_by_hand() -> None:
    """Three machines without buffers (blocking flow shop), a closed loop, and a busy link, worked out by hand."""
    line = Regime(communication=False, buffers=0)
    assert simulate([[2, 5, 1]], M=[1, 2, 3], regime=line).tolist() == [[8, 13, 18]]
    assert simulate([[2, 1, 5]], M=[1, 2, 3], regime=line).tolist() == [[8, 13, 18]]
    # One in flight: each takes 8 and returns in 1.
    assert simulate([[2, 5, 1]], M=[1, 2, 3], regime=Regime(window=1, feedback=1)).tolist() == [[8, 17, 26]]
    # A link that carries one at a time is the bottleneck with 7.
    assert simulate([[2, 5]], [[7]], [1, 2, 3], Regime(channels=1)).tolist() == [[14, 21, 28]]
    assert simulate([[2, 5]], [[7]], [1, 2, 3], Regime(channels=2)).tolist() == [[14, 19, 24]]


def test_limits_that_never_bind_give_the_chain(rng: random.Random) -> None:
    """As many places or as wide a window as micro-batches change nothing, whatever they are."""
    systems = alike(rng, 5, 40 if SIZE == 1 else 2)
    tau, d, latency = (table(systems, name) for name in ("tau", "d", "latency"))
    for chain, knobs in ((ASYNC, {"overlap": 1}), (BLOCKING, {"overlap": 0}), (PARTIAL("1/4"), {"overlap": "1/4"})):
        alone = simulate(tau, d, [1, 9, 20], chain, latency=latency)
        for limits in ({"buffers": 19}, {"window": 20, "feedback": 3}, {"buffers": 10**15, "window": 10**18}):
            assert np.array_equal(simulate(tau, d, [1, 9, 20], Regime(**knobs, **limits), latency=latency), alone)


@pytest.mark.parametrize("S", [2, 5, 16, 17])
def test_any_number_of_threads_gives_the_same_bytes(S: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """1, 2, 3 and 8 threads agree to the last bit on times that no grid holds."""
    monkeypatch.setattr(simulation, "SMALL", 0)
    numbers = np.random.default_rng(S)
    n = 1000 if SIZE == 1 else 40
    tau, d, latency = (numbers.uniform(0.1, 10, (n, k)) for k in (S, S - 1, S - 1))
    for regime in (TIGHT, Regime(overlap=0.3, buffers=[0, *[1] * (S - 1)])):
        alone = simulate(tau, d, [3, 10], regime, latency=latency, workers=1)
        for workers in (2, 3, 8):
            again = simulate(tau, d, [3, 10], regime, latency=latency, workers=workers)
            assert again.tobytes() == alone.tobytes()


def test_arrays_of_any_kind(rng: random.Random) -> None:
    """Whole numbers, other memory orders, read-only arrays: the same makespans; what is given is only read."""
    systems = alike(rng, 3, 33 if SIZE == 1 else 2)
    whole = [np.array([getattr(s, name) for s in systems]) for name in ("tau", "d")]
    right = simulate(*whole, 7, TIGHT)
    for kind in (np.asfortranarray, np.float32, lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: a.tolist()):
        if kind is np.float32 and max(array.max() for array in whole) > 2**20:
            continue
        assert np.array_equal(simulate(*(kind(array) for array in whole), 7, TIGHT), right)
    for array in whole:
        array.setflags(write=False)
    assert np.array_equal(simulate(*whole, 7, TIGHT), right)


THREE = [[1, 2, 3]]
MISTAKES: list[tuple[str, Callable[[], object], type[HpsimError], str]] = [
    (
        "buffers",
        lambda: simulate(THREE, regime=Regime(buffers=[1, 1])),
        RegimeError,
        "buffers: 2 values for 3 stages; one value, or one for each stage",
    ),
    (
        "channels",
        lambda: simulate(THREE, regime=Regime(channels=[1, 1, 1])),
        RegimeError,
        "channels: 3 values for 2 links; one value, or one for each link",
    ),
    (
        "mixed",
        lambda: simulate([[1, 2], [1, 2, 3]], regime=Regime(buffers=[1, 1])),
        RegimeError,
        "buffers: 2 values for 3 stages; one value, or one for each stage",
    ),
    (
        "overlap",
        lambda: simulate(THREE, regime=Regime(overlap=[0], buffers=1)),
        RegimeError,
        "overlap: 1 value for 2 links; one value, or one for each link",
    ),
    (
        "rings",
        lambda: simulate(THREE, M=10**8, regime=Regime(buffers=10**7)),
        RegimeError,
        "buffers: 20,000,002 micro-batches to remember in a run of 100,000,000; "
        "at most 262,144 over all stages, or None for unlimited",
    ),
    ("time", lambda: simulate([[1, -2]], regime=TIGHT), PipelineError, "tau[0][1]: -2.0; a finite time of at least 0"),
    (
        "link",
        lambda: simulate([[1, 2]], [[np.nan]], regime=Regime(communication=False, buffers=0)),
        PipelineError,
        "d[0][0]: nan; a finite time of at least 0",
    ),
    (
        "idle",
        lambda: simulate([[0, 0]], regime=TIGHT),
        PipelineError,
        "tau[0]: every service time is 0; at least one above 0",
    ),
    (
        "overflow",
        lambda: simulate([[1e308, 1e308]], M=9, regime=RENDEZVOUS),
        PipelineError,
        "tau[0]: a makespan beyond float64; shorter times, or fewer micro-batches",
    ),
    ("rho", lambda: simulate(THREE, regime="rendezvous", rho=1), RegimeError, "rho: 1 with regime 'rendezvous'; "),
]


@pytest.mark.parametrize(("name", "call", "kind", "message"), MISTAKES, ids=[mistake[0] for mistake in MISTAKES])
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_mistakes_are_told_in_one_line(name: str, call: Callable[[], object], kind: type, message: str) -> None:
    """Where, what was found, what is allowed."""
    with pytest.raises(kind) as error:
        call()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
