"""The plain recurrences against a discrete-event simulation, each other, and numbers written down."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import event_simulation
import pytest

from hpsim.errors import PipelineError, RegimeError
from hpsim.reference import chain

REGIMES = ("free", "async", "blocking", "partial")


class System(NamedTuple):
    tau: list[int | Fraction]
    d: list[int | Fraction]
    latency: list[int | Fraction]
    rho: list[int | Fraction]
    M: int


def small_system(rng: random.Random) -> System:
    """Few stages and few distinct small values, so that ties and zeros are common; half of them have fractions."""
    denominators = [1] if rng.random() < 0.5 else [1, 2, 3, 7]
    largest = rng.choice((1, 2, 4, 9))

    def times(n: int) -> list[int | Fraction]:
        numbers = [Fraction(rng.randint(0, largest), rng.choice(denominators)) for _ in range(n)]
        return [int(x) for x in numbers] if len(denominators) == 1 else list(numbers)

    S = rng.randint(1, 6)
    latency = times(S - 1) if rng.random() < 0.5 else [0] * (S - 1)
    rho = [rng.choice((0, 1, Fraction(1, 2), Fraction(1, 3), Fraction(3, 5))) for _ in range(S - 1)]
    return System(times(S), times(S - 1), latency, rho, rng.randint(1, 10))


def simulate(system: System, regime: str) -> event_simulation.Events:
    """The system with constant times as processes and a clock: no transfers when free, else a share of overlap."""
    tau, d, latency, rho, M = system
    if regime == "free":
        d = latency = [0] * len(d)
    overlap = {"blocking": [0] * len(d), "partial": rho}.get(regime)
    return event_simulation.run([tau] * M, [d] * M, latency=latency, overlap=overlap)


@pytest.mark.parametrize("regime", REGIMES)
def test_every_event_agrees_with_the_discrete_event_simulation(regime: str, rng: random.Random) -> None:
    """On 3,000 random systems with ties and zeros, every release and the makespan are equal as rationals."""
    for _ in range(3000):
        system = small_system(rng)
        tau, d, latency, rho, M = system
        simulated = simulate(system, regime)
        assert chain.completion(tau, d, M, regime, rho, latency) == simulated.release, system
        assert chain.makespan(tau, d, M, regime, rho, latency) == simulated.makespan, system


def test_the_general_chain_is_every_regime(rng: random.Random) -> None:
    """Occupancy tau + (1-rho)·d and flight rho·d + latency reproduce each regime's simulated events."""
    for _ in range(500):
        system = small_system(rng)
        tau, d, latency, rho, M = system
        links = range(len(d))
        occupancy_and_flight = {
            "free": (tau, [0 for _ in links]),
            "async": (tau, [d[s] + latency[s] for s in links]),
            "blocking": ([tau[s] + d[s] for s in links] + tau[-1:], latency),
            "partial": (
                [tau[s] + (1 - rho[s]) * d[s] for s in links] + tau[-1:],
                [rho[s] * d[s] + latency[s] for s in links],
            ),
        }
        for regime, (occupancy, flight) in occupancy_and_flight.items():
            assert chain.chain(occupancy, flight, M) == simulate(system, regime).release, system


def test_regimes_coincide_at_their_boundaries(rng: random.Random) -> None:
    """Full overlap is async, no overlap is blocking, and without transfers every regime is free."""
    for _ in range(500):
        tau, d, latency, rho, M = small_system(rng)
        assert chain.partial(tau, d, M, 1, latency) == chain.async_(tau, d, M, latency)
        assert chain.partial(tau, d, M, 0, latency) == chain.blocking(tau, d, M, latency)
        for nothing in (None, (), [0] * len(d)):
            assert chain.async_(tau, nothing, M) == chain.free(tau, M)
            assert chain.blocking(tau, nothing, M) == chain.free(tau, M)
            assert chain.partial(tau, nothing, M, rho) == chain.free(tau, M)


def test_theorems_hold_on_the_recurrences(rng: random.Random) -> None:
    """Theorems 1 to 3 and the common closed form of the chain, on random rationals, with latency added to the fill."""
    for _ in range(1000):
        tau, d, latency, rho, M = small_system(rng)
        sigma = [x + y for x, y in zip(tau, [*d, 0], strict=True)]
        held = [x + (1 - r) * y for x, r, y in zip(tau, [*rho, 0], [*d, 0], strict=True)]
        assert chain.makespan(tau, d, M, "free") == (M - 1) * max(tau) + sum(tau)
        fill = sum(tau) + sum(d) + sum(latency)
        assert chain.makespan(tau, d, M, "async", latency=latency) == fill + (M - 1) * max(tau)
        assert chain.makespan(tau, d, M, "blocking", latency=latency) == fill + (M - 1) * max(sigma)
        assert chain.makespan(tau, d, M, "partial", rho, latency) == fill + (M - 1) * max(held)


HAND_COMPUTED = [
    # tau, d, M, regime, rho, T
    ([Fraction(1, 2), 1, 1, 5], None, 1, "free", None, Fraction(15, 2)),
    ([Fraction(1, 2), 1, 1, 5], None, 8, "free", None, Fraction(85, 2)),
    ([Fraction(113, 100), Fraction(29, 10), Fraction(131, 50)], None, 1, "free", None, Fraction(133, 20)),
    ([1, 2], [1], 2, "blocking", None, 6),
    ([1, 2], [2], 2, "async", None, 7),
    ([1, 2], [2], 2, "blocking", None, 8),
    ([1, 2], [2], 2, "partial", Fraction(1, 2), 7),
    ([1, 1], [1], 2, "async", None, 4),
    ([1, 1], [1], 2, "blocking", None, 5),
    ([1, 5, 1], [2, 2], 16, "async", None, 86),
    ([1, 5, 1], [2, 2], 16, "blocking", None, 116),
    ([Fraction(1, 10), Fraction(3, 10)], [Fraction(1, 5)], 9, "blocking", None, 3),
]


@pytest.mark.parametrize(("tau", "d", "M", "regime", "rho", "T"), HAND_COMPUTED)
def test_numbers_of_the_paper_computed_by_hand(
    tau: list[int | Fraction], d: list[int | Fraction] | None, M: int, regime: str, rho: Fraction | None, T: Fraction
) -> None:
    """Makespans that follow from the paper's own examples with pencil and paper."""
    assert chain.makespan(tau, d, M, regime, rho) == T


def test_a_whole_matrix_computed_by_hand() -> None:
    """One link, two micro-batches: half of the transfer overlapped, then async and blocking with a latency of 3."""
    assert chain.partial([1, 2], [2], 2, Fraction(1, 2)) == [[2, 5], [4, 7]]
    assert chain.async_([1, 2], [2], 2, latency=[3]) == [[1, 8], [2, 10]]
    assert chain.blocking([1, 2], [2], 2, latency=[3]) == [[3, 8], [6, 11]]


def test_over_estimates_of_table_1() -> None:
    """The classic formula (S+M-1)·tau_max over the free makespan gives the paper's percentages at M = 1 and M = 8."""
    table = {
        ("1", "1", "1", "1"): ("0.0", "0.0"),
        ("0.8", "1", "1", "1.2"): ("20.0", "6.5"),
        ("0.5", "1", "1", "2"): ("77.8", "18.9"),
        ("0.5", "1", "1", "5"): ("166.7", "29.4"),
        ("0.1", "0.2", "0.3", "5"): ("257.1", "35.5"),
    }
    for texts, percentages in table.items():
        tau = [Fraction(x) for x in texts]
        for M, percentage in zip((1, 8), percentages, strict=True):
            over = (len(tau) + M - 1) * max(tau) / chain.makespan(tau, None, M, "free") - 1
            assert f"{float(100 * over):.1f}" == percentage


def test_published_small_pipelines(shared_case: Callable[[str], dict[str, list[dict]]]) -> None:
    """The makespans of the published cases, computed on rationals by others, come out of the recurrences."""
    names = {"T_async": "async", "T_blocking": "blocking", "T_partial": "partial", "T_async_permuted": "async"}
    checked = 0
    for case in shared_case("pipelines.json")["cases"]:
        d = None if case["d"] is None else [Fraction(str(x)) for x in case["d"]]
        rho = Fraction(case["rho"]) if "rho" in case else None
        for name, right in case["expect"].items():
            if name in names:
                tau = case["tau_permuted" if name.endswith("_permuted") else "tau"]
                T = chain.makespan([Fraction(str(x)) for x in tau], d, case["M"], names[name], rho)
                assert Fraction(str(right)) == T, case["id"]
                checked += 1
    assert checked >= 12


def test_published_balance_and_speedup(shared_case: Callable[[str], dict[str, list[dict]]]) -> None:
    """Two reported pipelines: balance, serial time, and the speed-up over one device for many micro-batches."""
    cases = {case["id"]: case for case in shared_case("pipelines.json")["cases"]}
    for identity in ("decode-8-stages-head", "planner-four-stages"):
        tau = [Fraction(str(x)) for x in cases[identity]["tau"]]
        slope = chain.makespan(tau, None, 2, "free") - chain.makespan(tau, None, 1, "free")
        speedup = chain.makespan(tau, None, 1, "free") / slope
        assert round(float(speedup), 3) == round(cases[identity]["expect"]["speedup_over_serial_large_M"], 3)


def test_number_types_are_kept() -> None:
    """Ints give an int, Fractions a Fraction, floats a float."""
    assert type(chain.makespan([1, 2], [1], 3, "blocking")) is int
    assert type(chain.makespan([Fraction(1, 3)] * 2, [Fraction(1)], 3, "async")) is Fraction
    assert type(chain.makespan([0.5, 0.25], [1.0], 3, "partial", 0.5)) is float


@pytest.mark.parametrize("regime", REGIMES)
def test_the_simulation_clock_stays_exact(regime: str) -> None:
    """A thousand thirds add up to exactly what they should, so no event of the twin was rounded."""
    third = Fraction(1, 3)
    simulated = simulate(System([third, third], [0], [0], [third], 1000), regime)
    assert simulated.makespan == Fraction(1001, 3)
    assert {type(x) for row in simulated.finish for x in row} == {Fraction}


def test_stages_serve_in_index_order_one_at_a_time(rng: random.Random) -> None:
    """In the simulation no stage starts a micro-batch before it has released the one before."""
    for _ in range(300):
        system = small_system(rng)
        simulated = simulate(system, "partial")
        for m in range(1, system.M):
            for s in range(len(system.tau)):
                assert simulated.start[m][s] >= simulated.release[m - 1][s]
                assert simulated.finish[m][s] == simulated.start[m][s] + system.tau[s]


def test_wrong_arguments_are_named() -> None:
    """An unknown regime, a missing share and a wrong length each say what was expected."""
    with pytest.raises(RegimeError, match="one of free, async, blocking, partial"):
        chain.makespan([1], None, 1, "asynchronous")
    with pytest.raises(RegimeError, match="rho: missing"):
        chain.makespan([1, 2], [1], 1, "partial")
    with pytest.raises(PipelineError, match="d: 2 values; 2 stages have 1 links"):
        chain.makespan([1, 2], [1, 1], 1, "async")
