"""The plain event-graph twin against an independent discrete-event simulation, event for event, on all knobs."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import event_simulation
import pytest
from conftest import scaled, seeds

from hpsim.errors import PipelineError, RegimeError
from hpsim.reference import chain
from hpsim.reference import event_graph as twin

Time = int | Fraction
SYSTEMS = 20_000
SEEDS = 8


@dataclass(frozen=True)
class System:
    """One pipeline with its knobs, everything written out: M rows of times, one entry for each stage or link."""

    tau: list[list[Time]]
    d: list[list[Time]]
    latency: list[Time]
    overlap: list[Time]
    buffers: list[int | None]
    channels: list[int | None]
    window: int | None
    feedback: Time
    release: list[Time]

    @property
    def M(self) -> int:
        return len(self.tau)

    def knobs(self) -> dict[str, object]:
        """What the twin and the simulation take by name."""
        return {name: value for name, value in vars(self).items() if name not in ("tau", "d")}


def draw(rng: random.Random) -> System:
    """Few stages and few distinct small values, so that ties and zeros are common; some have fractions."""
    S = rng.choice((1, 2, 2, 3, 3, 3, 4, 4, 5, 6))
    M = rng.choice((1, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 12))
    largest = rng.choice((1, 2, 4, 9))
    denominators = (1, 2, 3) if rng.random() < 0.15 else None

    def time() -> Time:
        whole = rng.randint(0, largest)
        return whole if denominators is None else Fraction(whole, rng.choice(denominators))

    def rows(n: int) -> list[list[Time]]:
        if rng.random() < 0.5:
            return [[time() for _ in range(n)] for _ in range(M)]
        return [[time() for _ in range(n)]] * M

    def limits(n: int, least: int) -> list[int | None]:
        match rng.randrange(4):
            case 0:
                return [None] * n
            case 1:
                return [rng.randint(least, least + 2)] * n
        return [rng.choice((None, least, least, least + 1, least + 2)) for _ in range(n)]

    some = rng.choice((0, 1, 1, None))
    overlap = [rng.choice((0, Fraction(1, 4), Fraction(1, 2), 1)) if some is None else some for _ in range(S - 1)]
    channels = [c if share == 1 else None for c, share in zip(limits(S - 1, 1), overlap, strict=True)]
    return System(
        tau=rows(S),
        d=rows(S - 1) if rng.random() < 0.9 else [[0] * (S - 1)] * M,
        latency=[time() for _ in range(S - 1)] if rng.random() < 0.5 else [0] * (S - 1),
        overlap=overlap,
        buffers=limits(S, 0),
        channels=channels,
        window=rng.randint(1, M + 1) if rng.random() < 0.3 else None,
        feedback=time() if rng.random() < 0.5 else 0,
        release=[2 * time() for _ in range(M)] if rng.random() < 0.4 else [0] * M,
    )


def twin_events(system: System) -> dict[str, list[list[Time]]]:
    return vars(twin.schedule(system.tau, system.d, system.M, **system.knobs()))


def simulated_events(system: System, ties: random.Random | None = None) -> dict[str, list[list[Time | None]]]:
    return vars(event_simulation.run(system.tau, system.d, **system.knobs(), ties=ties))


@pytest.mark.parametrize("seed", seeds(SEEDS))
def test_every_event_agrees_with_the_discrete_event_simulation(seed: int) -> None:
    """On 20,000 random systems over all knobs every arrival, start, … and release is equal as a rational."""
    rng = random.Random(20261129 + seed)
    for _ in range(scaled(SYSTEMS // SEEDS)):
        system = draw(rng)
        assert twin_events(system) == simulated_events(system), system


def test_the_order_of_simultaneous_events_does_not_matter(rng: random.Random) -> None:
    """With the events of one moment shuffled, all times of 1,000 random systems stay what the twin says."""
    for _ in range(scaled(1000)):
        system = draw(rng)
        assert twin_events(system) == simulated_events(system, ties=rng), system


def test_the_random_systems_reach_every_wait(rng: random.Random) -> None:
    """Places, channels, window, release times and order each decide an event in one system of twenty or more."""
    seen = dict.fromkeys(("place", "channel", "window", "release", "order", "overtaking", "hold", "tie"), 0)
    for _ in range(2000):
        system = draw(rng)
        t = twin.schedule(system.tau, system.d, system.M, **system.knobs())
        served, links = range(1, system.M), range(len(system.latency))
        waited = [t.arrival[m][0] > system.release[m] for m in range(system.M)]
        seen["window"] += any(waited)
        seen["release"] += any(t.start[m][0] == system.release[m] > 0 for m in range(system.M))
        seen["place"] += any(t.depart[m][s] > t.finish[m][s] for m in served for s in links)
        seen["channel"] += any(t.sent[m][s] > t.depart[m][s] for m in served for s in links)
        seen["hold"] += any(t.release[m][s] > t.depart[m][s] for m in served for s in links)
        seen["overtaking"] += any(t.arrival[m][s + 1] < t.arrival[m - 1][s + 1] for m in served for s in links)
        seen["order"] += any(t.start[m][s + 1] > t.arrival[m][s + 1] for m in served for s in links)
        seen["tie"] += any(t.arrival[m][s + 1] == t.release[m - 1][s + 1] for m in served for s in links)
    assert min(seen.values()) >= 100, seen


def by_hand(**knobs: object) -> list[list[list[Time]]]:
    """Finish and release of three micro-batches on tau = [1, 2], d = [1], the same from twin and simulation."""
    tau, d = [[1, 2]] * 3, [[1]] * 3
    simulated = event_simulation.run(tau, d, **{k: [v] if k == "overlap" else v for k, v in knobs.items()})
    events = twin.schedule([1, 2], [1], 3, **knobs)
    assert (events.finish, events.release) == (simulated.finish, simulated.release)
    assert events.makespan == simulated.makespan
    return [events.finish, events.release]


def test_each_knob_by_hand() -> None:
    """Three micro-batches on tau = [1, 2], d = [1], with pencil and paper, one knob at a time."""
    assert by_hand() == [[[1, 4], [2, 6], [3, 8]], [[1, 4], [2, 6], [3, 8]]]
    assert by_hand(overlap=0) == [[[1, 4], [3, 6], [5, 8]], [[2, 4], [4, 6], [6, 8]]]
    assert by_hand(buffers=[None, 0]) == [[[1, 4], [2, 7], [5, 10]], [[1, 4], [4, 7], [7, 10]]]
    assert by_hand(buffers=[None, 1]) == [[[1, 4], [2, 6], [3, 8]], [[1, 4], [2, 6], [4, 8]]]
    assert by_hand(overlap=0, buffers=[7, 0]) == [[[1, 4], [3, 7], [6, 10]], [[2, 4], [5, 7], [8, 10]]]
    assert by_hand(window=1) == [[[1, 4], [5, 8], [9, 12]], [[1, 4], [5, 8], [9, 12]]]
    assert by_hand(window=2, feedback=3) == [[[1, 4], [2, 6], [8, 11]], [[1, 4], [2, 6], [8, 11]]]
    assert by_hand(release=[2, 0, 9]) == [[[3, 6], [4, 8], [10, 13]], [[3, 6], [4, 8], [10, 13]]]
    assert by_hand(latency=[5]) == [[[1, 9], [2, 11], [3, 13]], [[1, 9], [2, 11], [3, 13]]]


def test_channels_are_dealt_in_turn_and_stages_keep_the_order() -> None:
    """Of transfers 5, 1, 1 over two channels the second overtakes but is not served first, and the third waits."""
    tau, d = [[0, 1]] * 3, [[5], [1], [1]]
    for events in (twin.schedule(tau, d, 3, channels=2), event_simulation.run(tau, d, channels=[2])):
        assert events.sent == [[0], [0], [5]]
        assert [row[1] for row in events.arrival] == [5, 1, 6]
        assert [row[1] for row in events.start] == [5, 6, 7]


def test_a_place_is_taken_before_the_wait_for_a_channel() -> None:
    """Waiting for the channel, a micro-batch has its place already and has left its sender."""
    tau, d = [[0, 1]] * 3, [[2]] * 3
    knobs = {"buffers": [None, 1], "channels": [1]}
    for events in (twin.schedule(tau, d, 3, **knobs), event_simulation.run(tau, d, **knobs)):
        assert [row[0] for row in events.release] == [0, 0, 3]
        assert events.sent == [[0], [2], [4]]
        assert [row[1] for row in events.finish] == [3, 5, 7]


def test_a_transfer_of_no_length_needs_its_place_too() -> None:
    """In rendezvous with d = 0 the sender stays blocked until the receiver is free."""
    tau, d = [[1, 3]] * 2, [[0]] * 2
    knobs = {"overlap": [0], "buffers": [0, 0]}
    for events in (twin.schedule(tau, d, 2, **knobs), event_simulation.run(tau, d, **knobs)):
        assert events.release == [[1, 4], [4, 7]]


def test_without_limits_it_is_the_chain(rng: random.Random) -> None:
    """Partial overlap alone gives the releases of the paper's own recurrence."""
    for _ in range(scaled(1000)):
        system = draw(rng)
        tau, d, M, rho, latency = system.tau[0], system.d[0], system.M, system.overlap, system.latency
        events = twin.schedule(tau, d, M, latency=latency, overlap=rho)
        assert events.release == chain.partial(tau, d, M, rho, latency)
        assert twin.makespan(tau, d, M, latency=latency, overlap=rho) == events.release[-1][-1]


def test_no_transfers_can_be_written_in_four_ways() -> None:
    """None, an empty vector, zeros, and rows of zeros are the same."""
    events = [twin.schedule([1, 2], d, 2, buffers=0) for d in (None, (), [0], [[0], [0]])]
    assert events == [events[0]] * 4
    assert twin.makespan([2], [[], []], 2) == twin.makespan([[2], [2]], None, 2) == 4


def test_number_types_are_kept() -> None:
    """Ints give an int, Fractions a Fraction, floats a float; the simulated clock is exact as well."""
    third = Fraction(1, 3)
    assert type(twin.makespan([1, 2], [1], 3, buffers=0, window=2)) is int
    assert type(twin.makespan([third] * 2, [third], 3, overlap=Fraction(1, 2))) is Fraction
    assert type(twin.makespan([0.5, 0.25], [1.0], 3, overlap=0.5)) is float
    simulated = event_simulation.run([[third, third]] * 1000, [[0]] * 1000, buffers=[None, 0])
    assert simulated.makespan == Fraction(1001, 3)


WRONG = [
    ({"M": 0}, PipelineError, "M: 0; at least 1 micro-batch"),
    ({"tau": []}, PipelineError, "tau: no value; one service time for each stage"),
    ({"tau": [[1, 2]]}, PipelineError, "tau: 1 rows; 2 rows, one for each micro-batch, or a single vector"),
    ({"tau": [[1, 2], [1]]}, PipelineError, "tau: 1 values; 2 are needed"),
    ({"d": [1, 1]}, PipelineError, "d: 2 values; 1 are needed"),
    ({"latency": [1, 1]}, PipelineError, "latency: 2 values; 1 are needed"),
    ({"release": [0]}, PipelineError, "release: 1 values; 2 are needed"),
    ({"overlap": [1, 1]}, PipelineError, "overlap: 2 values; 1 are needed"),
    ({"overlap": 2}, RegimeError, "overlap[0]: 2; a share from 0 to 1"),
    ({"buffers": [1]}, RegimeError, "buffers: 1 values; a number, or 2 of them"),
    ({"buffers": [None, -1]}, RegimeError, "buffers: -1; at least 0, or None: unlimited"),
    ({"channels": 0}, RegimeError, "channels: 0; at least 1, or None: unlimited"),
    ({"channels": 1, "overlap": 0}, RegimeError, "channels[0]: 1 with overlap 0; channels need overlap=1"),
    ({"window": 0}, RegimeError, "window: 0; at least 1, or None: open"),
]


@pytest.mark.parametrize(("change", "kind", "message"), WRONG)
def test_wrong_arguments_are_named(change: dict[str, object], kind: type[Exception], message: str) -> None:
    """A wrong length and a knob without meaning each say what was expected."""
    with pytest.raises(kind) as caught:
        twin.makespan(**{"tau": [1, 2], "d": [1], "M": 2} | change)
    assert str(caught.value) == message
