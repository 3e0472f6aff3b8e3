"""``Pipeline``: what it accepts, what it refuses, and that a user of the reference tool finds everything in place."""

from __future__ import annotations

import dataclasses
import math
import random
from decimal import Decimal
from fractions import Fraction

import heteropipe
import numpy as np
import pytest

from hpsim.errors import HpsimError, PipelineError
from hpsim.pipeline import Pipeline


def test_agrees_with_the_reference_tool():
    """On 2,000 random pipelines ``analyze`` holds every key of the reference tool with the same value."""
    rng = random.Random(7)
    for _ in range(2000):
        S, M, rho = rng.randint(1, 8), rng.choice([1, 8, 1000]), rng.choice([None, 0.0, 0.3, 1.0])
        tau = [rng.uniform(0.1, 10) for _ in range(S)]
        d = [rng.uniform(0, 20) for _ in range(S - 1)]
        ours, theirs = Pipeline(tau, d).analyze(M, rho), heteropipe.Pipeline(tau, d).analyze(M, rho)
        assert theirs.keys() <= ours.keys()
        for key, value in theirs.items():
            if isinstance(value, float):
                assert math.isclose(ours[key], value, rel_tol=1e-12, abs_tol=1e-12 * M * sum(tau)), key
            else:
                assert ours[key] == value


def test_has_every_method_of_the_reference_tool():
    """Each public name of the reference tool's pipeline exists here, with the same argument names."""
    theirs = heteropipe.Pipeline([1.0, 4.0, 2.0], [2.0, 3.0])
    ours = Pipeline([1.0, 4.0, 2.0], [2.0, 3.0])
    assert {name for name in dir(theirs) if not name.startswith("_")} <= set(dir(ours))
    for name in ("S", "tau", "d", "tau_max", "sigma", "sigma_max"):
        assert getattr(ours, name) == getattr(theirs, name)
    for name in ("free", "async_", "block", "gpipe", "overlap_gap"):
        assert getattr(ours, name)(M=5) == getattr(theirs, name)(M=5)
    for name in ("bias", "full_bias", "phase", "crossover", "slope", "throughput"):
        assert getattr(ours, name)() == getattr(theirs, name)()
    assert ours.slope(rho=0.5) == theirs.slope(rho=0.5)
    assert ours.throughput(blocking=True) == theirs.throughput(blocking=True)
    assert ours.overlap_ratio(T_real=30, M=5) == theirs.overlap_ratio(T_real=30, M=5)


def test_text_gives_exact_results():
    """With text and fractions every time, rate and share is the exact Fraction, worked out by hand."""
    p = Pipeline(["0.1", "1/3"], ["0.5"], latency=[Decimal("0.2")])
    assert p.async_(2) == Fraction(1, 10) + Fraction(1, 3) + Fraction(7, 10) + Fraction(1, 3)
    assert p.block(2) == Fraction(6, 10) + Fraction(1, 3) + Fraction(1, 5) + Fraction(6, 10)
    assert p.free(2) == Fraction(23, 30)
    assert p.partial(2, "1/2") == Fraction(17, 15) + Fraction(35, 100)
    assert p.partial(2, ["1/2"]) == p.partial(2, Fraction(1, 2)) == p.partial(2, "1/2")
    assert p.partial(2, np.array([0.5])) == pytest.approx(89 / 60)
    assert p.throughput() == 3
    assert p.crossover() == 1 + Fraction(17, 5)
    assert p.slack() == (Fraction(7, 30),)
    assert p.headroom() == (Fraction(-4, 15),)
    assert p.full_bias() == Fraction(7, 30) - Fraction(7, 10)
    assert p.utilization(2) == (Fraction(3, 22), Fraction(5, 11))
    assert p.slope("1/2") == Fraction(1, 3) + Fraction(4, 30)
    assert p.overlap_ratio(p.block(2), 2) == 0
    assert type(p.overlap_ratio("1.5", 2)) is Fraction


def test_numbers_keep_their_kind():
    """Floats stay floats, integers integers; NumPy arrays and scalars become plain numbers of the same value."""
    assert [type(x) for x in Pipeline([0.5, 1, "1"]).tau] == [float, int, Fraction]
    from_arrays = Pipeline(np.array([1, 2]), np.array([0.1], dtype=np.float32))
    assert from_arrays == Pipeline([1, 2], [0.1])
    assert [type(x) for x in (*from_arrays.tau, *from_arrays.d)] == [int, int, float]
    assert type(Pipeline([1, 2], [3]).block(np.int64(4))) is int
    assert Pipeline(x for x in (1, 2)) == Pipeline((1, 2))


def test_no_communication_is_none_or_empty():
    """``d`` and ``latency`` always have S-1 values, zeros where nothing was given."""
    for nothing in (None, (), [], np.empty(0)):
        p = Pipeline([1, 2, 3], nothing, nothing)
        assert (p.d, p.latency) == ((0, 0), (0, 0))
        assert p.async_(4) == p.block(4) == p.free(4) == 15
    assert Pipeline([4]).d == ()


def test_latency_adds_to_the_fill_only():
    """Latency is added once to every makespan with communication, and never to the slope."""
    p, q = Pipeline([1, 3, 2], [4, 1]), Pipeline([1, 3, 2], [4, 1], latency=[10, 20])
    for M in (1, 7):
        assert q.async_(M) - p.async_(M) == q.block(M) - p.block(M) == q.partial(M, 0.5) - p.partial(M, 0.5) == 30
        assert q.free(M) == p.free(M)
        assert q.overlap_gap(M) == p.overlap_gap(M)
    assert q.slope(0) == p.slope(0) == 5
    assert p.full_bias() - q.full_bias() == 30


def test_ties_are_decided_exactly():
    """0.1 + 0.2 against 0.3: no phase transition, both stages attain sigma_max, and rho is undefined."""
    for tau, d in (([0.1, 0.3], [0.2]), (["0.1", "0.3"], ["0.2"]), ([0.1, "3/10"], [Decimal("0.2")])):
        p = Pipeline(tau, d)
        assert p.phase() is False
        assert p.bottleneck() == (1,)
        assert p.bottleneck(blocking=True) == (0, 1)
        assert p.overlap_gap(1000) == 0
        with pytest.raises(PipelineError, match="no phase transition"):
            p.overlap_ratio(1, 5)
    assert heteropipe.Pipeline([0.1, 0.3], [0.2]).phase() is True
    assert Pipeline([0.1, Fraction(1, 10), "0.1", 0.05]).bottleneck() == (0, 1, 2)


def test_where_the_reference_tool_is_wrong():
    """NaN, infinity, all-zero tau and the undefined rho are refused; NumPy integers are taken."""
    assert math.isnan(heteropipe.Pipeline([1.0, float("nan")]).bias())
    assert heteropipe.Pipeline([1.0, 2.0]).overlap_ratio(4.0, 1) == 1.0
    for tau in ([1.0, float("nan")], [1.0, float("inf")], [0.0, 0.0]):
        with pytest.raises(PipelineError):
            Pipeline(tau)
    with pytest.raises(PipelineError, match="single micro-batch"):
        Pipeline([1.0, 2.0]).overlap_ratio(4.0, 1)
    assert Pipeline([1, 2]).async_(np.int32(3)) == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "tau: no value; one service time for each stage, for example [1.13, 2.90, 2.62]"),
        (([1, 2, -3],), "tau[2]: -3 is negative; a time of at least 0, such as 1.13 or 1/3"),
        (([1, math.nan],), "tau[1]: nan is not a finite number; a time of at least 0, such as 1.13 or 1/3"),
        (([math.inf],), "tau[0]: inf is not a finite number; a time of at least 0, such as 1.13 or 1/3"),
        (([1, "fast"],), "tau[1]: 'fast' is not a number; a time of at least 0, such as 1.13 or 1/3"),
        (([1, True],), "tau[1]: True is not a number; a time of at least 0, such as 1.13 or 1/3"),
        (([0, 0.0, "0"],), "tau: every service time is 0; at least one above 0"),
        (("1,2",), "tau: '1,2' is no list of numbers; a list, tuple or array of numbers"),
        ((3,), "tau: 3 is no list of numbers; a list, tuple or array of numbers"),
        (({1, 2},), "tau: {1, 2} is no list of numbers; a list, tuple or array of numbers"),
        ((np.array(3),), "tau: array(3) is no list of numbers; a list, tuple or array of numbers"),
        ((np.ones((1, 2)),), "tau[0]: array([1., 1.]) is not a number; a time of at least 0, such as 1.13 or 1/3"),
        (([1, 2], [1, 2]), "d: 2 values for 2 stages; S-1 = 1, one for each link between neighbours, or none at all"),
        (([1, 2], [-0.5]), "d[0]: -0.5 is negative; a time of at least 0, such as 1.13 or 1/3"),
        (([1], [1]), "d: 1 values for 1 stages; S-1 = 0, one for each link between neighbours, or none at all"),
        (
            ([1, 2], [1], [1, 1, 1]),
            "latency: 3 values for 2 stages; S-1 = 1, one for each link between neighbours, or none at all",
        ),
        (([1, 2], [1], [None]), "latency[0]: None is not a number; a time of at least 0, such as 1.13 or 1/3"),
        (([1e308, 1e308],), "tau: times too long, too short or too unequal for float64; another unit of time"),
        (([1e-320],), "tau: times too long, too short or too unequal for float64; another unit of time"),
        (([1e-200], ()), None),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    """Each fault is one line with its place; times at the edge of what can be computed are not refused."""
    if message is None:
        Pipeline(*arguments)
        return
    with pytest.raises(PipelineError) as fault:
        Pipeline(*arguments)
    assert str(fault.value) == message


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda p: p.async_(0), "M"),
        (lambda p: p.analyze(1.5), "M"),
        (lambda p: p.gpipe(np.array([1, 2])), "M"),
        (lambda p: p.block("8"), "M"),
        (lambda p: p.free(True), "M"),
        (lambda p: p.slope(1.5), "rho"),
        (lambda p: p.slope("all"), "rho"),
        (lambda p: p.analyze(3, rho=-1), "rho"),
        (lambda p: p.partial(3, 2), "overlap"),
        (lambda p: p.partial(3, [1, 1]), "overlap"),
        (lambda p: p.partial(3, [None]), "overlap[0]"),
        (lambda p: p.overlap_ratio(math.nan, 3), "T_real"),
        (lambda p: p.overlap_ratio(-1, 3), "T_real"),
        (lambda p: Pipeline([1.0, 1.0], [1e-290]).overlap_ratio(1e200, 2), "T_real"),
        (lambda p: Pipeline([1e200]).async_(10**200), "M"),
    ],
)
def test_wrong_arguments_of_methods_are_named(call, place):
    """A wrong M, rho, overlap or measured makespan is an error that names it."""
    with pytest.raises(HpsimError) as fault:
        call(Pipeline([1, 2], [3]))
    assert fault.value.place == place


def test_any_number_of_micro_batches():
    """2**40 and 10**30 micro-batches are computed as exactly as eight."""
    p = Pipeline([3, 1], [2])
    assert p.async_(2**40) == 3 * 2**40 + 3
    assert p.block(10**30) == 5 * 10**30 + 1
    assert Pipeline(["0.1", "0.3"]).gpipe(10**30) == Fraction(3, 10) * (10**30 + 1)


def test_is_a_frozen_value():
    """Pipelines compare and hash by what they hold, and cannot be changed."""
    p = Pipeline([1, 2], [0.5])
    assert p == Pipeline(("1", 2.0), ["1/2"], [0])
    assert len({p, Pipeline([1, 2], [0.5]), Pipeline([1, 2])}) == 2
    assert dataclasses.replace(p, d=None) == Pipeline([1, 2])
    with pytest.raises(dataclasses.FrozenInstanceError):
        p.tau = (1,)
    assert repr(p) == "Pipeline(tau=(1, 2), d=(0.5,), latency=(0,))"
