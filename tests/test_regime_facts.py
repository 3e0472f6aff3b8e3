"""What holds between regimes, on the plain event-graph twin: bounds, what more room does, smallest examples."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from conftest import scaled
from test_event_simulation import System, draw

from hpsim.reference.event_graph import makespan, schedule


def constant(rng: random.Random) -> System:
    """A random system whose micro-batches are all alike and present at time 0."""
    system = draw(rng)
    M = system.M
    return System(**vars(system) | {"tau": [system.tau[0]] * M, "d": [system.d[0]] * M, "release": [0] * M})


def finishes(system: System, **changes: Any) -> list[list[Any]]:
    return schedule(system.tau, system.d, system.M, **system.knobs() | changes).finish


def never_later(first: list[list[Any]], second: list[list[Any]]) -> bool:
    return all(a <= b for rows in zip(first, second, strict=True) for a, b in zip(*rows, strict=True))


def test_async_is_a_lower_bound_for_every_regime(rng: random.Random) -> None:
    """Nothing finishes before its time under the asynchronous regime; with constant times that is Theorem 2."""
    for _ in range(scaled(3000)):
        system = draw(rng)
        asynchronous = schedule(system.tau, system.d, system.M, latency=system.latency, release=system.release)
        assert never_later(asynchronous.finish, finishes(system)), system
        system = constant(rng)
        fill = sum(system.tau[0]) + sum(system.d[0]) + sum(system.latency)
        assert finishes(system)[-1][-1] >= fill + (system.M - 1) * max(system.tau[0]), system


def test_more_places_and_wider_windows_never_hurt(rng: random.Random) -> None:
    """With one more input place, one more micro-batch in flight, or no limit, nothing finishes later."""
    for _ in range(scaled(2000)):
        system = draw(rng)
        tight = finishes(system)
        more = [b if b is None else b + 1 for b in system.buffers]
        one = rng.randrange(len(more))
        wider = None if system.window is None else system.window + 1
        for changes in (
            {"buffers": more},
            {"buffers": [*system.buffers[:one], more[one], *system.buffers[one + 1 :]]},
            {"buffers": None},
            {"window": wider},
            {"window": None},
            {"buffers": more, "window": wider},
        ):
            assert never_later(finishes(system, **changes), tight), (system, changes)


def test_more_channels_never_hurt_when_transfers_are_alike(rng: random.Random) -> None:
    """Lifting the limit never delays anything, nor does one more channel when a link's transfers take equal time."""
    for _ in range(scaled(2000)):
        system = draw(rng)
        lifted = finishes(system, channels=None)
        assert never_later(lifted, finishes(system)), system
        system = System(**vars(system) | {"d": [system.d[0]] * system.M})
        more = [c if c is None else c + 1 for c in system.channels]
        assert never_later(finishes(system, channels=more), finishes(system)), system


def test_a_third_channel_can_hurt_when_transfers_differ() -> None:
    """Channels are dealt in turn: of the transfers 1, 0, 0, 1 the last waits for the first with 3, not with 2."""
    d = [[1], [0], [0], [1]]
    assert [makespan([0, 0], d, 4, channels=c) for c in (1, 2, 3, 4)] == [2, 1, 2, 1]


def test_places_cost_nothing_without_communication(rng: random.Random) -> None:
    """With constant times and no transfers, Theorem 1 holds for every number of places, 0 among them."""
    for _ in range(scaled(2000)):
        system = constant(rng)
        tau = system.tau[0]
        T = makespan(tau, None, system.M, buffers=system.buffers)
        assert (system.M - 1) * max(tau) + sum(tau) == T, system


def test_places_do_cost_when_services_differ() -> None:
    """Constant times are needed: without places a short service waits behind a long one that room would let it pass."""
    tau = [[0, 1], [0, 0], [1, 0]]
    assert makespan(tau, None, 3) == 1
    assert makespan(tau, None, 3, buffers=0) == 2


def test_rendezvous_lies_between_blocking_and_twice_blocking(rng: random.Random) -> None:
    """Without latency T_blocking ≤ T_rendezvous ≤ 2·T_blocking, and rendezvous has its closed form."""
    for _ in range(scaled(3000)):
        system = constant(rng)
        tau, d, M = system.tau[0], system.d[0], system.M
        blocking = makespan(tau, d, M, overlap=0)
        rendezvous = makespan(tau, d, M, overlap=0, buffers=0)
        assert blocking <= rendezvous <= 2 * blocking, system
        held = max(before + own + after for before, own, after in zip([0, *d], tau, [*d, 0], strict=True))
        assert rendezvous == sum(tau) + sum(d) + (M - 1) * held, system


def test_the_factor_two_is_approached() -> None:
    """With tau = [0, 0, 0] and d = [1, 1] rendezvous takes 2M against M + 1: no factor below 2 will do."""
    for M in (1, 2, 10, 100):
        assert makespan([0, 0, 0], [1, 1], M, overlap=0) == M + 1
        assert makespan([0, 0, 0], [1, 1], M, overlap=0, buffers=0) == 2 * M


def whole(count: int, total: int, least: int = 0) -> Iterator[tuple[int, ...]]:
    """All vectors of ``count`` whole numbers of at least ``least`` with this sum, in lexicographic order."""
    if count == 0:
        if total == 0:
            yield ()
        return
    for first in range(least, total - least * (count - 1) + 1):
        for rest in whole(count - 1, total - first, least):
            yield first, *rest


def first_above_blocking(least: int) -> tuple[list[int], list[int], int, int]:
    """The first system, fewest stages, then micro-batches, then smallest sum (up to 6), where places cost too much.

    The transfers overlap with the sender's work, yet with few input places the makespan exceeds T_blocking. One stage
    has no transfer and one micro-batch waits for nobody, so there all regimes agree whatever the sum; two stages and
    two micro-batches come next.
    """
    for S in range(1, 4):
        for M in range(1, 4):
            for total in range(1, 7):
                for times in whole(2 * S - 1, total, least):
                    tau, d = list(times[:S]), list(times[S:])
                    for b in range(M):
                        if makespan(tau, d, M, buffers=b) > makespan(tau, d, M, overlap=0):
                            return tau, d, M, b
    raise AssertionError("no example")


def test_smallest_overlapped_pipeline_above_blocking() -> None:
    """Few places can cost more than overlap gains: nothing smaller than tau = [0, 1], d = [1], M = 2 shows it."""
    assert first_above_blocking(least=0) == ([0, 1], [1], 2, 0)
    assert makespan([0, 1], [1], 2, buffers=0) == 4
    assert makespan([0, 1], [1], 2, overlap=0) == 3


def test_smallest_such_pipeline_without_zeros() -> None:
    """Where every stage and link takes time it is tau = [1, 2], d = [1], M = 2, with 7 against 6."""
    assert first_above_blocking(least=1) == ([1, 2], [1], 2, 0)
    assert makespan([1, 2], [1], 2, buffers=0) == 7
    assert makespan([1, 2], [1], 2, overlap=0) == 6
