"""``schedule``: event for event what the plain twin says, exact or rounded once, and every wrong input in one line."""

from __future__ import annotations

import math
import random
import sys
from fractions import Fraction

import children
import numpy as np
import pytest
from conftest import seeds

from hpsim import ASYNC, BLOCKING, FREE, PARTIAL, RENDEZVOUS, Pipeline, Regime, schedule
from hpsim.errors import HpsimError, PipelineError, RegimeError
from hpsim.reference import event_graph as twin

SYSTEMS = 1_000
SEEDS = 5
KINDS = ("arrival", "start", "finish", "depart", "release", "send", "sent")


def system(rng: random.Random, fractions: bool) -> tuple[Pipeline, int, dict[str, object], dict[str, object]]:
    """A pipeline, M, the knobs, and lists of times; few distinct small values, so that ties and zeros are common."""
    S, M, largest = rng.choice((1, 2, 2, 3, 3, 4, 6)), rng.choice((1, 2, 3, 5, 8, 13)), rng.choice((1, 2, 4, 9))

    def times(n: int, least: int = 0) -> list[int | Fraction]:
        wholes = [rng.randint(least, largest) for _ in range(n)]
        return [Fraction(whole, rng.choice((1, 2, 3))) for whole in wholes] if fractions else wholes

    overlap = rng.choice((1, 1, 0, Fraction(1, 2), [Fraction(rng.randint(0, 3), 3) for _ in range(S - 1)]))
    knobs: dict[str, object] = {"overlap": overlap}
    if rng.random() < 0.6:
        knobs["buffers"] = rng.choice((0, 1, 2, [rng.choice((None, 0, 1, 3)) for _ in range(S)]))
    if overlap == 1 and rng.random() < 0.5:
        knobs["channels"] = rng.choice((1, 2, [rng.choice((None, 1, 2)) for _ in range(S - 1)]))
    if rng.random() < 0.5:
        knobs |= {"window": rng.randint(1, 6), "feedback": rng.choice((0, 1, Fraction(5, 2)))}
    given: dict[str, object] = {}
    if rng.random() < 0.5:
        given["service"] = [times(S) for _ in range(M)]
    if rng.random() < 0.5:
        given["transfer"] = [times(S - 1) for _ in range(M)]
    if rng.random() < 0.5:
        given["release"] = times(M)
    return Pipeline(times(S, least=1), times(S - 1), times(S - 1)), M, knobs, given


def events(p: Pipeline, M: int, knobs: dict[str, object], given: dict[str, object]) -> twin.Events:
    return twin.schedule(
        given.get("service", list(p.tau)),
        given.get("transfer", list(p.d)) if p.S > 1 else None,
        M,
        latency=list(p.latency),
        release=given.get("release"),
        **knobs,
    )


@pytest.mark.parametrize("fractions", [False, True], ids=["whole numbers", "fractions"])
@pytest.mark.parametrize("seed", seeds(SEEDS))
def test_equal_to_the_twin_on_every_knob(seed, fractions):
    """Every event of random systems is exactly the twin's: constant and varying times, lists of knobs, releases."""
    rng = random.Random(1000 + seed)
    for _ in range(SYSTEMS):
        p, M, knobs, given = system(rng, fractions)
        told = {} if given and rng.random() < 0.5 else {"M": M}  # a list tells M as well
        ours, theirs = schedule(p, regime=Regime(**knobs), **told, **given), events(p, M, knobs, given)
        assert (ours.M, ours.S, ours.makespan) == (M, p.S, theirs.makespan)
        assert {kind: getattr(ours, kind).tolist() for kind in KINDS[:5]} == {
            kind: getattr(theirs, kind) for kind in KINDS[:5]
        }
        transfers = given.get("transfer", [list(p.d)] * M)
        assert ours.send.tolist() == theirs.sent  # the twin calls "sent" what a channel takes up
        assert (ours.sent - ours.send).tolist() == transfers


@pytest.mark.parametrize("seed", seeds(SEEDS))
def test_shares_add_up_to_the_makespan(seed):
    """Service, sending, starved and blocked are the sums of their intervals and add up exactly, in every regime."""
    rng = random.Random(2000 + seed)
    for _ in range(SYSTEMS // 2):
        p, M, knobs, given = system(rng, fractions=True)
        s, t = schedule(p, M, Regime(**knobs), **given), events(p, M, knobs, given)
        for k in range(p.S):
            column = {kind: [row[k] for row in getattr(t, kind)] for kind in KINDS[:5]}
            idle, end = Fraction(0), 0
            for start, release in zip(column["start"], column["release"], strict=True):
                idle, end = idle + start - end, release
            assert s.split.starved[k] == idle + t.makespan - end
            assert s.split.service[k] == sum(column["finish"]) - sum(column["start"])
            assert s.split.blocked[k] == sum(column["depart"]) - sum(column["finish"])
            assert s.split.sending[k] == sum(column["release"]) - sum(column["depart"])
        total = s.split.service + s.split.sending + s.split.starved + s.split.blocked
        assert total.tolist() == [t.makespan] * p.S
        busy = [Fraction(share) / t.makespan if t.makespan else 0 for share in s.split.service.tolist()]
        assert s.utilization.tolist() == [float(share) for share in busy]


@pytest.mark.parametrize("name", ["free", "async", "blocking", "rendezvous"])
def test_closed_forms(name):
    """The makespan of constant times is that of the theorems, by name and by regime."""
    p = Pipeline([1, 4, 2, 3], d=[2, 1, 5], latency=[1, 0, 2])
    regime = {"free": FREE, "async": ASYNC, "blocking": BLOCKING, "rendezvous": RENDEZVOUS}[name]
    formula = {"free": p.free, "async": p.async_, "blocking": p.block, "rendezvous": p.rendezvous}[name]
    for M in (1, 2, 7, 40):
        assert schedule(p, M, name).makespan == schedule(p, M, regime).makespan == formula(M)
    assert schedule(p, 7, PARTIAL("1/4")).makespan == p.partial(7, "1/4")


def test_by_hand():
    """Two stages, one input place none, the second stage slow: the first is blocked as drawn on paper."""
    s = schedule(Pipeline([1, 3], d=[1]), M=3, regime=Regime(buffers=0))
    assert s.start.tolist() == [[0, 2], [1, 6], [5, 10]]
    assert s.depart.tolist() == [[1, 5], [5, 9], [9, 13]]
    assert s.sent.tolist() == [[2], [6], [10]]
    assert [share.tolist() for share in vars(s.split).values()] == [[3, 9], [0, 0], [4, 4], [6, 0]]


def test_kinds_of_numbers():
    """Whole numbers give int64, fractions and text exact objects, a float anywhere float64; nothing can be written."""
    p = Pipeline([1, 2], d=[1])
    assert schedule(p, 2).start.dtype == np.int64
    assert schedule(p, 2, Regime(overlap="1/2")).start.tolist() == [[0, Fraction(2)], [Fraction(3, 2), 4]]
    assert schedule(Pipeline(["0.1", "0.2"]), 2).makespan == Fraction(1, 2)
    floats = (schedule(Pipeline([1.0, 2]), 2), schedule(p, 2, Regime(overlap=0.5)), schedule(p, release=[0, 0.5]))
    assert {s.start.dtype for s in floats} == {np.dtype(float)}
    assert [type(s.makespan) for s in floats] == [float] * 3
    assert schedule(Pipeline([2**62, 1]), 4).makespan == 2**64 + 1
    assert schedule(Pipeline([0.5, 2]), service=[[1, 2], [3, 4]]).makespan == 8  # p.tau plays no part here
    with pytest.raises(ValueError, match="read-only"):
        schedule(p, 2).start[0, 0] = 1


def test_no_rounding_error_adds_up():
    """A thousand services of 0.1 end at 100.0, and 0.1 + 0.2 meets 0.3; float32 is read as it shows."""
    assert schedule(Pipeline([0.1]), 1000).finish[-1, -1] == 100.0
    tie = schedule(Pipeline([0.1, 0.3]), M=2, regime="blocking", transfer=np.full((2, 1), 0.2))
    assert tie.start.tolist() == [[0.0, 0.3], [0.3, 0.6]]
    assert schedule(Pipeline([1]), service=np.full((10, 1), 0.1, dtype=np.float32)).makespan == 1.0


def test_lists_and_arrays_are_alike(rng):
    """Times as nested lists, tuples, arrays of floats, of integers and of objects give the same schedule."""
    p = Pipeline([1, 1, 1])
    service = [[rng.randint(0, 9) for _ in range(3)] for _ in range(6)]
    kinds = (service, tuple(map(tuple, service)), np.array(service), np.array(service, dtype=object), iter(service))
    kinds += (np.array(service, dtype=float), np.array(service, dtype=np.int16), [np.array(row) for row in service])
    expected = twin.makespan(service, None, 6)
    assert [schedule(p, service=given).makespan for given in kinds] == [expected] * len(kinds)
    assert schedule(Pipeline([2]), transfer=np.zeros((3, 0))).makespan == 6


def test_limits_that_never_bind_cost_nothing():
    """Places and windows beyond M are as if they were not there."""
    p = Pipeline([1, 2], d=[1])
    s = schedule(p, 5, Regime(buffers=10**30, channels=10**30, window=10**30, feedback=7))
    assert s.start.tolist() == schedule(p, 5).start.tolist()


def test_ten_thousand_micro_batches_with_times_of_their_own():
    """10,000 micro-batches at 8 stages, all times random, add up to the twin's makespan."""
    rng = np.random.default_rng(7)
    p = Pipeline([1] * 8, d=[1] * 7)
    service, transfer = rng.random((10_000, 8)), rng.random((10_000, 7))
    s = schedule(p, regime=Regime(buffers=1, window=12), service=service, transfer=transfer)
    expected = twin.makespan(service.tolist(), transfer.tolist(), 10_000, buffers=1, window=12)
    assert math.isclose(s.makespan, expected, rel_tol=1e-12)


P = Pipeline([1, 2], d=[1])
NO_LIST = " is no list of numbers; a list, tuple or array of numbers"
TIME = "a time of at least 0, such as 1.13 or 1/3"
MANY = "M: 1000000000 micro-batches at 2 stages; at most 2,000,000 services; simulate() for makespans alone"
LONG = "M: 2, a makespan beyond float64; fewer micro-batches, or shorter times"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "M: left out; a number, or service, transfer or release with one entry for each"),
        ({"M": 0}, "M: 0; a whole number of micro-batches, at least 1, for example 8"),
        ({"M": 2.0}, "M: 2.0; a whole number of micro-batches, at least 1, for example 8"),
        ({"M": 10**9}, MANY),
        ({"service": []}, "service: empty; one entry for each micro-batch, at least one"),
        ({"service": [[1, 2]], "M": 2}, "service: length 1 for 2 micro-batches; one entry for each"),
        ({"service": [[1, 2]], "release": [0, 1]}, "release: length 2 for 1 micro-batches; one entry for each"),
        ({"service": [[1, 2], [1]]}, "service[1]: length 1; length 2, a time for each stage"),
        ({"service": [[1, 2], 3]}, "service[1]: 3" + NO_LIST),
        ({"service": "12"}, "service: '12'" + NO_LIST),
        ({"service": 5}, "service: 5" + NO_LIST),
        ({"service": {1, 2}}, "service: {1, 2}" + NO_LIST),
        ({"service": np.float64(1)}, "service: np.float64(1.0)" + NO_LIST),
        ({"service": [[1, 2], [3, math.nan]]}, "service[1][1]: nan is not a finite number; " + TIME),
        ({"service": np.array([[1, math.inf]])}, "service[0][1]: inf is not a finite number; " + TIME),
        ({"service": [[1, "x"]]}, "service[0][1]: 'x' is not a number; " + TIME),
        ({"service": [[True, 1]]}, "service[0][0]: True is not a number; " + TIME),
        ({"transfer": [[-1]]}, "transfer[0][0]: -1 is negative; " + TIME),
        ({"transfer": [[1, 2]]}, "transfer[0]: length 2; length 1, a time for each link"),
        ({"release": [0, -0.5]}, "release[1]: -0.5 is negative; " + TIME),
        ({"release": [[0], [1]]}, "release[0]: [0] is not a number; " + TIME),
        ({"M": 2, "service": [[1e308, 1e308]] * 2}, LONG),
    ],
)  # fmt: skip
def test_wrong_input(arguments, message):
    """The first value that makes no sense is named by its row and column."""
    with pytest.raises(PipelineError) as error:
        schedule(P, **arguments)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("regime", "message"),
    [
        ("partial", "regime: 'partial' without its share; regime=PARTIAL(0.5), or Regime(overlap=0.5)"),
        ("blockign", "regime: 'blockign' is unknown; one of "),
        (None, "regime: None; a name such as \"blocking\", or a Regime, such as Regime(buffers=1)"),
        (Regime(buffers=[0, 1, 2]), "buffers: 3 values for 2 stages; one value, or one for each stage"),
        (Regime(channels=[1, 1]), "channels: 2 values for 1 link; one value, or one for each link"),
        (Regime(overlap=[0, 1]), "overlap: 2 values for 1 link; one value, or one for each link"),
    ],
)  # fmt: skip
def test_wrong_regime(regime, message):
    """A regime that is none, or that does not fit the pipeline, is told in one line."""
    with pytest.raises(RegimeError) as error:
        schedule(P, 3, regime)
    assert str(error.value).startswith(message)


def test_wrong_pipeline():
    """A list of times is no pipeline; all that is refused is of one family."""
    with pytest.raises(HpsimError, match=r"p: \[1, 2\]; a Pipeline, for example Pipeline"):
        schedule([1, 2], 3)


def test_the_function_is_found_in_the_package():
    """``hpsim.schedule`` is the function, and neither it nor its module load anything compiled."""
    code = "import sys, hpsim; print(callable(hpsim.schedule), 'numba' in sys.modules)"
    assert children.run([sys.executable, "-c", code], check=True).stdout == "True False\n"


def test_a_schedule_is_told_in_one_line():
    """Its size and its makespan, not its arrays."""
    assert repr(schedule(Pipeline([1, 2, 4]), 3)) == "<Schedule: 3 stages, 3 micro-batches, makespan 15>"
    assert repr(schedule(Pipeline(["1/3"]), 1)) == "<Schedule: 1 stage, 1 micro-batch, makespan 0.3333333333>"
