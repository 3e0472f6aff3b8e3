"""The closed forms against written-down numbers, the recurrences, the reference tool, and in every arithmetic."""

from __future__ import annotations

import inspect
import math
import random
import sys
from decimal import Decimal
from fractions import Fraction

import heteropipe.core as peer
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpsim import Pipeline
from hpsim import formulas as f
from hpsim.errors import PipelineError

TABLE_1 = {
    (1, 1, 1, 1): (0, 0, 0),
    (0.8, 1, 1, 1.2): (20.0, 6.5, 0.8),
    (0.5, 1, 1, 2): (77.8, 18.9, 3.5),
    (0.5, 1, 1, 5): (166.7, 29.4, 12.5),
    (0.1, 0.2, 0.3, 5): (257.1, 35.5, 14.4),
}
times = st.fractions(min_value=0, max_value=50, max_denominator=12)
positive = st.fractions(min_value=Fraction(1, 12), max_value=50, max_denominator=12)


@st.composite
def pipelines(draw):
    stages = draw(st.integers(1, 6))
    tau = draw(st.lists(times, min_size=stages - 1, max_size=stages - 1))
    tau.insert(draw(st.integers(0, stages - 1)), draw(positive))
    links = st.lists(times, min_size=stages - 1, max_size=stages - 1)
    return tau, draw(links), draw(links)


def run(tau, M, d, latency, overlap):
    """The recurrence of the paper, micro-batch by micro-batch, on whatever numbers are given."""
    S = len(tau)
    released = [0] * S
    for _ in range(M):
        arrival = 0
        for s in range(S):
            hold = (1 - overlap[s]) * d[s] if s < S - 1 else 0
            released[s] = max(arrival, released[s]) + tau[s] + hold
            arrival = released[s] + (overlap[s] * d[s] + latency[s] if s < S - 1 else 0)
    return released[-1]


@pytest.mark.parametrize(("tau", "row"), TABLE_1.items())
def test_table_1(tau, row):
    """Over-estimates at M = 1 and M = 8 in per cent, and the bias, are those of the paper's Table 1."""
    at_1, at_8, bias = row
    assert round(100 * f.gpipe_overestimate(tau, 1), 1) == at_1
    assert round(100 * f.gpipe_overestimate(tau, 8), 1) == at_8
    assert f.homogeneity_bias(tau) == pytest.approx(bias, rel=1e-12)


def test_numbers_of_the_paper():
    """The single numbers that the paper states for its example pipelines come out."""
    assert f.makespan_free([0.5, 1, 1, 5], 1) == 7.5
    three = [Fraction("1.13"), Fraction("2.90"), Fraction("2.62")]
    assert f.homogeneity_bias(three) == Fraction("2.05")
    assert round(float(100 * f.gpipe_overestimate(three, 1)), 1) == 30.8
    assert round(float(100 * f.gpipe_overestimate(three, 100)), 1) == 0.7
    five = [Fraction("30.1"), *[Fraction("0.15")] * 4]
    assert f.homogeneity_bias(five) == Fraction("119.8")


def test_worked_example_by_hand():
    """Every remaining formula on tau = [1, 4, 2], d = [2, 1], latency = [1/2, 0], worked out by hand."""
    tau, d, latency = [1, 4, 2], [2, 1], [Fraction(1, 2), 0]
    assert f.blocking_sigma(tau, d) == [3, 5, 2]
    assert f.makespan_free(tau, 3) == 7 + 2 * 4
    assert f.makespan_async(tau, 3, d, latency) == Fraction(37, 2)
    assert f.makespan_blocking(tau, 3, d, latency) == Fraction(41, 2)
    assert f.makespan_partial(tau, 3, [1, Fraction(1, 2)], d, latency) == Fraction(39, 2)
    assert f.linear_blend(tau, 3, Fraction(1, 4), d, latency) == 20
    assert f.gpipe_makespan(tau, 3) == 20
    assert f.gpipe_bubble_ratio(3, 3) == 0.4
    assert f.gpipe_overestimate(tau, 3, d, latency) == Fraction(3, 37)
    assert f.full_bias_decomposition(tau, d, latency) == Fraction(3, 2)
    assert f.link_slack(tau) == [3, 0]
    assert f.link_headroom(tau, d) == [1, -1]
    assert f.phase_transition(tau, d) is True
    assert f.overlap_gap(tau, 3, d) == 2
    assert f.effective_slope(tau, Fraction(1, 4), d) == Fraction(19, 4)
    assert f.overlap_ratio(tau, 19, 3, d, latency) == Fraction(3, 4)
    assert f.asymptotic_throughput(tau, d) == 0.25
    assert f.asymptotic_throughput(tau, d, blocking=True) == 0.2
    assert f.crossover_batches(tau, d, latency) == 1 + Fraction(21, 8)
    assert f.utilization(tau, 3, d, latency) == [Fraction(6, 37), Fraction(24, 37), Fraction(12, 37)]
    assert f.graham_lower_bound([3, 6], 4) == 22.5
    assert f.fill_time(tau, d, latency) == Fraction(21, 2)
    assert f.steady_slope(tau, d, Fraction(1, 2)) == Fraction(9, 2)
    assert f.on_line(10, 4, 3) == 18


def test_published_cases(shared_case):
    """Pipelines from public reports and from exact search give the answers published with them."""
    for case in shared_case("pipelines.json")["cases"]:
        tau = [Fraction(str(x)) for x in case["tau"]]
        d = [Fraction(str(x)) for x in case["d"] or []]
        M, rho, expect = case.get("M"), Fraction(case.get("rho", "1/2")), case["expect"]
        permuted = [Fraction(str(x)) for x in case.get("tau_permuted", case["tau"])]
        answers = {
            "tau_max": lambda tau=tau: max(tau),
            "tau_sum": lambda tau=tau: f.fill_time(tau),
            "speedup_over_serial_large_M": lambda tau=tau: f.asymptotic_throughput(tau) * f.makespan_free(tau, 1),
            "T_async": lambda tau=tau, M=M, d=d: f.makespan_async(tau, M, d),
            "T_async_permuted": lambda tau=permuted, M=M, d=d: f.makespan_async(tau, M, d),
            "T_blocking": lambda tau=tau, M=M, d=d: f.makespan_blocking(tau, M, d),
            "T_partial": lambda tau=tau, M=M, d=d, rho=rho: f.makespan_partial(tau, M, rho, d),
            "linear_blend": lambda tau=tau, M=M, d=d, rho=rho: f.linear_blend(tau, M, rho, d),
            "slope_linear_blend_rho_1/2": lambda tau=tau, d=d: f.effective_slope(tau, Fraction(1, 2), d),
            "slope_per_link_overlap_1/2": lambda tau=tau, d=d: f.steady_slope(tau, d, Fraction(1, 2)),
            "phase": lambda tau=tau, d=d: f.phase_transition(tau, d),
            "T_rendezvous": lambda tau=tau, M=M, d=d: f.makespan_rendezvous(tau, M, d),
            "balance_percent": lambda tau=tau: 100 * f.fill_time(tau) / (len(tau) * max(tau)),
            "bottleneck": lambda tau=tau, d=d: Pipeline(tau, d).bottleneck()[0],
            # a window of W has the slope max(tau_max, sum(tau)/W)
            "window_4_throughput_ratio_to_full": lambda tau=tau: max(tau) / max(max(tau), f.fill_time(tau) / 4),
        }
        assert expect.keys() - {"note"} <= answers.keys(), case["id"]
        for key in answers.keys() & expect.keys():
            got, right = answers[key](), Fraction(str(expect[key])) if key != "phase" else expect[key]
            digits = len(str(expect[key]).partition(".")[2]) if isinstance(expect[key], float) else None
            assert (round(got, digits) if digits else got) == right, (case["id"], key)


def test_closed_forms_equal_the_recurrence():
    """On 300 random rational pipelines each makespan equals the recurrence evaluated directly."""
    rng = random.Random(5)
    for _ in range(300):
        S, M = rng.randint(1, 6), rng.randint(1, 7)
        tau, d, latency = (
            [Fraction(rng.randint(0, 40), rng.randint(1, 9)) for _ in range(n)] for n in (S, S - 1, S - 1)
        )
        shares = [Fraction(rng.randint(0, 8), 8) for _ in range(S - 1)]
        zeros, ones = [0] * (S - 1), [1] * (S - 1)
        assert f.makespan_free(tau, M) == run(tau, M, zeros, zeros, ones)
        assert f.makespan_async(tau, M, d, latency) == run(tau, M, d, latency, ones)
        assert f.makespan_blocking(tau, M, d, latency) == run(tau, M, d, latency, zeros)
        assert f.makespan_partial(tau, M, shares, d, latency) == run(tau, M, d, latency, shares)


@pytest.mark.slow
def test_agrees_with_the_reference_tool():
    """On 10,000 random pipelines every function of the reference tool gives the same value."""
    rng = random.Random(20261015)
    for _ in range(10_000):
        S, M, rho = rng.randint(1, 8), rng.choice([1, 2, 7, 100, 12345]), rng.random()
        tau = [10 ** rng.uniform(-1, 1) for _ in range(S)]
        d = [10 ** rng.uniform(-2, 1.3) for _ in range(S - 1)]
        scale = M * (sum(tau) + sum(d))
        pairs = [
            (f.makespan_free(tau, M), peer.makespan_free(tau, M)),
            (f.makespan_async(tau, M, d), peer.makespan_async(tau, M, d)),
            (f.makespan_blocking(tau, M, d), peer.makespan_blocking(tau, M, d)),
            (f.gpipe_makespan(tau, M), peer.gpipe_makespan(tau, M)),
            (f.homogeneity_bias(tau), peer.homogeneity_bias(tau)),
            (f.full_bias_decomposition(tau, d), peer.full_bias_decomposition(tau, d)),
            (f.overlap_gap(tau, M, d), peer.overlap_gap(tau, M, d)),
            (f.effective_slope(tau, rho, d), peer.effective_slope(tau, rho, d)),
            (f.crossover_batches(tau, d), peer.crossover_batches(tau, d)),
            (f.asymptotic_throughput(tau, d), peer.asymptotic_throughput(tau, d)),
            (f.asymptotic_throughput(tau, d, True), peer.asymptotic_throughput(tau, d, True)),
        ]
        for ours, theirs in pairs:
            assert math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-14 * scale)
        assert f.blocking_sigma(tau, d) == peer.blocking_sigma(tau, d)
        assert f.phase_transition(tau, d) == peer.phase_transition(tau, d)
        if M > 1 and f.phase_transition(tau, d):
            real = 0.9 * peer.makespan_blocking(tau, M, d)
            gap = f.overlap_gap(tau, M, d)
            theirs = peer.overlap_ratio(tau, real, M, d)
            assert f.overlap_ratio(tau, real, M, d) == pytest.approx(theirs, rel=1e-9, abs=1e-12 * scale / gap)


FORMULAS = {
    "free": lambda tau, d, lat, M: f.makespan_free(tau, M),
    "async": lambda tau, d, lat, M: f.makespan_async(tau, M, d, lat),
    "blocking": lambda tau, d, lat, M: f.makespan_blocking(tau, M, d, lat),
    "partial": lambda tau, d, lat, M: f.makespan_partial(tau, M, Fraction(1, 4), d, lat),
    "blend": lambda tau, d, lat, M: f.linear_blend(tau, M, Fraction(1, 4), d, lat),
    "gpipe": lambda tau, d, lat, M: f.gpipe_makespan(tau, M),
    "overestimate": lambda tau, d, lat, M: f.gpipe_overestimate(tau, M, d, lat),
    "bias": lambda tau, d, lat, M: f.homogeneity_bias(tau),
    "full_bias": lambda tau, d, lat, M: f.full_bias_decomposition(tau, d, lat),
    "gap": lambda tau, d, lat, M: f.overlap_gap(tau, M, d),
    "slope": lambda tau, d, lat, M: f.effective_slope(tau, Fraction(1, 4), d),
    "throughput": lambda tau, d, lat, M: f.asymptotic_throughput(tau, d, blocking=True),
    "crossover": lambda tau, d, lat, M: f.crossover_batches(tau, d, lat),
    "graham": lambda tau, d, lat, M: f.graham_lower_bound(tau, M),
    "phase": lambda tau, d, lat, M: f.phase_transition(tau, d),
    "sigma": lambda tau, d, lat, M: f.blocking_sigma(tau, d),
    "slack": lambda tau, d, lat, M: f.link_slack(tau),
    "headroom": lambda tau, d, lat, M: f.link_headroom(tau, d),
    "utilization": lambda tau, d, lat, M: f.utilization(tau, M, d, lat),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_one_formula_for_every_kind_of_number(name):
    """Fractions, floats, integers, float arrays, integer arrays and arrays of Fractions agree on the same pipelines."""
    formula = FORMULAS[name]
    rng = np.random.default_rng(11)
    tau, d, latency = (rng.integers(1, 65, size=(5, 3, n)) for n in (4, 3, 3))
    as_floats = formula(tau.astype(float), d.astype(float), latency.astype(float), 9)
    as_integers = formula(tau, d, latency, 9)
    as_objects = formula(*(np.vectorize(Fraction)(x).astype(object) for x in (tau, d, latency)), 9)
    for index in np.ndindex(5, 3):
        rows = [x[index].tolist() for x in (tau, d, latency)]
        exact = formula(*([Fraction(x) for x in row] for row in rows), 9)
        right = np.asarray(exact, dtype=float)
        for kind in (int, float, np.int64, np.float64):
            value = formula(*([kind(x) for x in row] for row in rows), 9)
            assert np.allclose(np.asarray(value, dtype=float), right, rtol=1e-14, atol=0)
        for arrays in (as_floats, as_integers, as_objects):
            assert np.allclose(np.asarray(arrays[index], dtype=float), right, rtol=1e-14, atol=0)
        assert np.array_equal(as_objects[index], exact)


def test_micro_batches_broadcast_against_the_leading_shape():
    """A column of M against N pipelines gives a table of makespans, also from lists."""
    tau = np.array([[1.0, 2.0], [3.0, 1.0], [0.5, 0.5]])
    M = np.array([[1], [4]], dtype=np.uint8)
    assert f.makespan_async(tau, M, [1.0]).tolist() == [[4, 5, 2], [10, 14, 3.5]]
    assert f.gpipe_makespan(tau, M).shape == (2, 3)
    assert f.utilization(tau, M).shape == (2, 3, 2)
    assert f.makespan_free([1, 2], np.array([1, 2, 10])).tolist() == [3, 5, 21]
    assert f.gpipe_bubble_ratio(2, np.array([1, 3])).tolist() == [0.5, 0.25]


def test_overlap_per_pipeline_and_per_link_in_arrays():
    """A column of shares is one share for each pipeline; a matrix is one for each link."""
    tau, d = np.array([[1.0, 2.0, 1.0]] * 2), np.array([[4.0, 0.0]] * 2)
    assert f.makespan_partial(tau, 3, np.array([[1.0], [0.25]]), d).tolist() == [12, 16]
    assert f.makespan_partial(tau, 3, np.array([[0.0, 1.0], [1.0, 0.0]]), d).tolist() == [18, 12]
    assert f.steady_slope(tau, d, [0, Fraction(1, 2)]).tolist() == [5, 5]
    assert f.steady_slope([1, 4, 2], [2, 6], np.array([[0.0, 1.0], [0.5, 0.5]])).tolist() == [4, 7]
    assert f.steady_slope(np.array([[3.0]]), None, np.array([[0.5]])).tolist() == [3]


def test_integers_never_wrap_around():
    """Narrow integer arrays, and makespans beyond int64, come out as the integers they are."""
    assert f.blocking_sigma(np.array([100, 100], dtype=np.int8), np.array([100], dtype=np.int8)).tolist() == [200, 100]
    assert f.makespan_free(np.array([[2**40, 1]]), 2**40).tolist() == [2**80 + 1]
    assert f.makespan_free(np.array([[2**63, 1]], dtype=np.uint64), np.array([2, 3])).tolist() == [
        2**64 + 1,
        3 * 2**63 + 1,
    ]
    assert f.makespan_free([np.int64(2**62), np.int64(1)], 10**30) == 10**30 * 2**62 + 1
    assert f.makespan_free(np.array([2.0, 1.0]), 10**30) == pytest.approx(2e30)
    assert f.makespan_free([3, 1], 2**40) == 3 * 2**40 + 1


def test_a_decimal_tie_is_no_phase_transition():
    """0.1 + 0.2 against 0.3 is a tie in plain floats (read as decimals) and in Fractions; the gap is then exactly 0."""
    assert peer.phase_transition([0.1, 0.3], [0.2]) is True
    assert f.phase_transition([0.1, 0.3], [0.2]) is False
    assert f.phase_transition([Fraction(1, 10), Fraction(3, 10)], [Fraction(1, 5)]) is False
    assert f.overlap_gap([0.1, 0.3], 100, [0.2]) == 0
    assert f.link_headroom([0.1, 0.3], [0.2]) == [0]
    assert f.effective_slope([0.1, 0.3], 0, [0.2]) == 0.3
    assert f.phase_transition([0.1, 0.3], [0.2000000001]) is True


def test_float_arrays_are_compared_exactly_in_binary():
    """A transfer above the slack by less than the rounding of tau + d is seen, and an equal one is not."""
    tiny = 2.0**-60
    tau = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 1.0], [2.0, 1.0], [0.1, 0.3]])
    d = np.array([[1.0], [1.0 + 2**-52], [1.0 - 2**-53], [tiny], [0.0], [0.2]])
    assert tau[3, 0] + tiny == tau[3, 1]
    assert f.phase_transition(tau, d).tolist() == [False, True, False, True, False, True]
    assert f.overlap_gap(tau, 2, d)[3] == tiny
    rng = np.random.default_rng(3)
    tau, d = rng.random((3000, 3)), rng.random((3000, 2))
    d[:, 0] = np.nextafter(tau.max(axis=1) - tau[:, 0], rng.choice([0.0, 5.0], 3000)) * rng.choice([0.999, 1.0], 3000)
    d[:, 1] = tau.max(axis=1) - tau[:, 1]
    for stages, links, phase in zip(tau.tolist(), d.tolist(), f.phase_transition(tau, d).tolist(), strict=True):
        room = [max(map(Fraction, stages)) - Fraction(t) - Fraction(x) for t, x in zip(stages, links, strict=False)]
        assert phase == any(x < 0 for x in room)


@given(pipelines(), st.integers(1, 9), st.fractions(0, 1, max_denominator=16))
def test_laws(pipeline, M, rho):
    """Corollaries 1, 3, 4 and 5, Graham's bound and the convexity of partial overlap hold exactly."""
    tau, d, latency = pipeline
    lower, upper = f.makespan_async(tau, M, d, latency), f.makespan_blocking(tau, M, d, latency)
    partial, blend = f.makespan_partial(tau, M, rho, d, latency), f.linear_blend(tau, M, rho, d, latency)
    assert lower <= partial <= blend <= upper
    assert f.overlap_gap(tau, M, d) == upper - lower
    assert f.gpipe_makespan(tau, M) - f.makespan_free(tau, M) == f.homogeneity_bias(tau) >= 0
    assert f.gpipe_makespan(tau, M) - lower == f.full_bias_decomposition(tau, d, latency)
    assert f.phase_transition(tau, d) == (max(f.blocking_sigma(tau, d)) > max(tau))
    balanced = len(set(tau)) == 1 or M == 1
    assert (f.graham_lower_bound(tau, M) == f.makespan_free(tau, M)) == balanced
    assert f.graham_lower_bound(tau, M) <= f.makespan_free(tau, M)
    if M > 1 and f.phase_transition(tau, d):
        assert f.overlap_ratio(tau, blend, M, d, latency) == rho


def test_overlap_ratio_is_refused_where_it_is_undefined():
    """At M = 1 and without a phase transition rho is 0/0, on numbers and on arrays."""
    with pytest.raises(PipelineError, match="single micro-batch"):
        f.overlap_ratio([1, 1], 3, 1, [1])
    with pytest.raises(PipelineError, match="no phase transition"):
        f.overlap_ratio([1, 2], 5, 2, [1])
    tau = np.array([[1.0, 1.0], [1.0, 2.0]])
    with pytest.raises(PipelineError, match="no phase transition"):
        f.overlap_ratio(tau, 5.0, 2, np.array([1.0]))
    with pytest.raises(PipelineError, match="single micro-batch"):
        f.overlap_ratio(tau[:1], 5.0, np.array([1, 2]), np.array([1.0]))
    assert f.overlap_ratio(tau[:1], np.array([4.5]), 2, np.array([1.0])).tolist() == [0.5]


def test_overlap_ratio_survives_cancellation():
    """A gap far below the rounding of the makespans still gives the right rho."""
    assert f.overlap_ratio([1.0, 1.0], 3.0, 2, [1e-20]) == 2.0
    assert f.overlap_ratio([1.0, 1.0], Fraction(3) + Fraction(1, 10**20), 2, [1e-20]) == 1.0


@pytest.mark.parametrize(
    "M", [0, -1, 1.0, 1.5, "8", None, True, np.float64(2), np.True_, 10**301, pytest.param(10**5000, id="5001-digits")]
)
def test_a_wrong_number_of_micro_batches_is_refused(M):
    """M is a whole number of at least 1; a bool is none."""
    with pytest.raises(PipelineError, match=r"^M: ") as fault:
        f.makespan_free([1, 2], M)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("M", [np.array([1.0, 2.0]), np.array([1, 0]), np.array([True])])
def test_a_wrong_array_of_micro_batches_is_refused(M):
    """An array of M holds integers of at least 1."""
    with pytest.raises(PipelineError, match="integers of at least 1"):
        f.makespan_free([1, 2], M)


@pytest.mark.parametrize("M", [np.int8(3), np.uint64(3), np.array(3)])
def test_numpy_integers_count_micro_batches(M):
    """Integers of NumPy are integers."""
    assert f.makespan_free([1, 2], M) == 7


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda: f.makespan_async([1, 2, 3], 2, [1]), "d"),
        (lambda: f.makespan_async([1, 2, 3], 2, None, [1, 1, 1]), "latency"),
        (lambda: f.makespan_async(np.ones((4, 3)), 2, np.ones((4, 1))), "d"),
        (lambda: f.makespan_free([], 1), "tau"),
        (lambda: f.makespan_partial([1, 2, 3], 1, [0.5], [1, 1]), "overlap"),
        (lambda: f.makespan_partial([1, 2, 3], 1, (), [1, 1]), "overlap"),
        (lambda: f.makespan_partial([1, 2, 3], 1, np.ones((5, 3)), [1, 1]), "overlap"),
        (lambda: f.makespan_partial([1, 2], 1, 1.5, [1]), "overlap"),
        (lambda: f.makespan_partial([1, 2], 1, np.array([-0.5]), [1]), "overlap"),
        (lambda: f.linear_blend([1, 2], 1, -1, [1]), "rho"),
        (lambda: f.effective_slope([1, 2], 1.1, [1]), "rho"),
        (lambda: f.effective_slope([1, 2], float("nan"), [1]), "rho"),
    ],
)
def test_lengths_and_shares_are_checked(call, place):
    """A vector of the wrong length and a share outside 0…1 are named."""
    with pytest.raises(PipelineError) as fault:
        call()
    assert fault.value.place == place


def test_no_communication_may_be_none_or_empty():
    """``None``, an empty tuple and an empty array all mean links that take no time."""
    for nothing in (None, (), [], np.empty(0)):
        assert f.makespan_async([1, 2, 3], 2, nothing) == 9
    assert f.makespan_blocking(np.array([[4]]), 2).tolist() == [8]
    assert f.phase_transition([3]) is False
    assert f.phase_transition(np.ones((2, 1))).tolist() == [False, False]
    assert f.overlap_gap(np.ones((2, 1)), 5).tolist() == [0, 0]


FUNCTIONS = {name: item for name, item in vars(f).items() if inspect.isfunction(item) and item.__module__ == f.__name__}
PUBLIC = {name: list(inspect.signature(item).parameters) for name, item in FUNCTIONS.items() if name[0] != "_"}
RIGHT = {
    "tau": [2.0, 1.0, 3.0],
    "d": [4.0, 1.0],
    "latency": [0.5, 0.0],
    "M": 3,
    "S": 3,
    "overlap": 0.5,
    "rho": 0.5,
    "T_real": 13.0,
    "fill": 11.5,
    "slope": 3.0,
    "blocking": True,
}
LISTS = ("tau", "d", "latency")
ARGUMENTS = [(name, argument) for name, taken in PUBLIC.items() for argument in taken if argument != "blocking"]
NO_NUMBERS = [math.nan, math.inf, -math.inf, -5, -5.0, Fraction(-5), np.float32("nan"), np.float64("inf"), "x", 1 + 2j]
NO_NUMBERS += [True, np.True_, pd.NA, pd.NaT, np.ma.masked, np.timedelta64(5, "s"), np.timedelta64(5), Decimal("NaN")]
NO_NUMBERS += [np.datetime64("2026-01-01"), [[1], [2], [3]], {}, b"1", object()]


def call(name, **changed):
    return FUNCTIONS[name](**{argument: (RIGHT | changed)[argument] for argument in PUBLIC[name]})


def refused(name, argument, value):
    """The message, which opens with the argument and is one line."""
    with pytest.raises(PipelineError) as fault:
        call(name, **{argument: value})
    message = str(fault.value)
    assert message.startswith(argument), message
    assert "\n" not in message
    assert len(message) < 300
    return message


class Tensor:
    """As a tensor of a library that need not be installed: ``__array__``, a shape, and nothing else of NumPy."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.ndim, self.shape = self.values.ndim, self.values.shape

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return map(Tensor, self.values)


class Sparse:
    """As a sparse matrix, which has a shape and no numbers to go through."""

    ndim, shape, dtype = 2, (2, 3), np.dtype(float)

    def __len__(self):
        raise TypeError("sparse matrix length is ambiguous")


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: f"{type(value).__name__} {value}"[:25])
def test_what_is_no_number_is_refused_in_every_argument(name, argument, value):
    """Alone, in a list, and in an array of objects among good numbers, in the first and in the last place."""
    refused(name, argument, value)
    if argument not in LISTS:
        return
    for place in (0, -1):
        entries = list(RIGHT[argument])
        entries[place] = value
        at = f"{argument}[{place % len(entries)}]: "
        assert refused(name, argument, entries).startswith(at)
        assert refused(name, argument, tuple(entries)).startswith(at)
        objects = np.empty((2, len(entries)), dtype=object)
        objects[:] = RIGHT[argument]
        objects[1, place] = value
        assert refused(name, argument, objects).startswith(f"{argument}[1][{place % len(entries)}]: ")


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_arrays_that_are_no_numbers_are_refused_in_every_argument(name, argument):
    """NaN, infinity and negative numbers, masks, missing values, complex numbers, dates, durations, records, text."""
    good = np.ones((2, len(RIGHT[argument]))) if argument in LISTS else np.ones(2)
    for value in (math.nan, math.inf, -5.0) if argument not in ("M", "S") else ():
        wrong = good.copy()
        wrong[(1, 1) if argument in LISTS else 1] = value
        for kind in (float, np.float32, np.longdouble, object):
            refused(name, argument, wrong.astype(kind))
    assert "-5" in refused(name, argument, np.where(good > 0, -5, 1))
    whole = good.astype(int)
    assert "masked" in refused(name, argument, np.ma.array(whole, mask=good > 2))
    assert "masked" in refused(name, argument, np.ma.array(whole, mask=good > 0))
    for kind in (complex, "M8[s]", "m8[s]", "m8", bool, [("a", int)], "S3"):
        refused(name, argument, whole.astype(kind))
    refused(name, argument, np.full(good.shape, "one"))
    one = whole.ravel()[: len(RIGHT[argument])] if argument in LISTS else whole
    for kind in ("Int64", "Float64", "int64[pyarrow]"):
        missing = pd.Series(one, dtype=kind)
        missing.iloc[1] = pd.NA
        refused(name, argument, missing)
    refused(name, argument, pd.Series(one, dtype="boolean"))
    refused(name, argument, Sparse())


@pytest.mark.parametrize("name", PUBLIC)
def test_arrays_in_any_wrapping_are_arrays(name):
    """Series with any index, nullable and of PyArrow, tensors, ranges, -0.0: what the plain array gives."""
    right = call(name, **{argument: np.array(RIGHT[argument]) for argument in LISTS})
    for wrap in (
        lambda values: pd.Series(values, index=list("cab")[: len(values)]),
        lambda values: pd.Series(values, dtype="Float64", index=range(7, 7 + len(values))),
        lambda values: pd.Series(values, dtype="double[pyarrow]"),
        Tensor,
        lambda values: np.asfortranarray(values),
    ):
        changed = {argument: wrap(RIGHT[argument]) for argument in LISTS}
        assert np.array_equal(call(name, **changed), right)
    lists = call(name)
    assert np.allclose(np.asarray(lists, dtype=float), np.asarray(right, dtype=float))
    assert call(name, latency=(0.5, -0.0), **{key: tuple(RIGHT[key]) for key in ("tau", "d")}) == lists
    whole = {"tau": range(1, 4), "d": range(4, 6), "T_real": 14}
    assert call(name, **whole) == call(name, tau=[1, 2, 3], d=[4, 5], T_real=14)


def test_counts_and_shares_in_any_wrapping():
    """M, rho, overlap and a measured makespan from pandas, tensors, and arrays without axes."""
    tau, d = [1, 4, 2], [2, 1]
    for wrap in (pd.Series, Tensor, lambda values: pd.Series(values, dtype="Int64"), lambda values: np.array(values)):
        assert f.makespan_blocking(tau, wrap([1, 3]), d).tolist() == [10, 20]
    for wrap in (pd.Series, Tensor, np.array, lambda values: pd.Series(values, dtype="Float64")):
        assert f.linear_blend(tau, 3, wrap([0.0, 0.5]), d).tolist() == [20, 19]
        assert f.steady_slope(tau, d, wrap([0.5, 0.0])) == 5
        assert f.overlap_ratio(tau, wrap([18.0, 19.0]), 3, d).tolist() == [1, 0.5]
    for wrap in (Tensor, np.array):
        assert f.makespan_blocking(tau, wrap(3), d) == 20
        assert f.linear_blend(tau, 3, wrap(0.5), d) == 19
        assert f.overlap_ratio(tau, wrap(19), 3, d) == 0.5


def test_text_and_decimals_are_exact():
    """As in Pipeline: text and decimals become Fractions, a float of another width what it shows."""
    assert f.makespan_async(["0.1", Decimal("0.2")], 2, ["1/3"]) == Fraction(1, 3) + Fraction(1, 2)
    assert f.fill_time([np.float32(0.1)]) == 0.1


def test_what_is_divided_by_is_not_0():
    """A rate, a share or a crossover of a pipeline that takes no time is an error, and its makespan is 0."""
    for nothing in ([0, 0.0], np.zeros((2, 2)), np.array([[1.0, 0.0], [0.0, 0.0]])):
        for call in (f.asymptotic_throughput, f.crossover_batches):
            with pytest.raises(PipelineError, match="tau: every service time is 0"):
                call(nothing)
        for call in (f.gpipe_overestimate, f.utilization):
            with pytest.raises(PipelineError, match="tau: every service time is 0"):
                call(nothing, 3)
    assert f.makespan_free([0, 0], 3) == 0


def test_shapes_that_do_not_fit_are_told():
    """Leading shapes that cannot be broadcast are named, not left to NumPy."""
    with pytest.raises(PipelineError, match=r"^tau, d: leading shapes \(4,\), \(5,\); "):
        f.makespan_async(np.ones((4, 3)), 2, np.ones((5, 2)))
    with pytest.raises(PipelineError, match=r"^M, tau: "):
        f.makespan_free(np.ones((4, 3)), np.array([1, 2, 3]))


def test_the_slack_of_each_link_takes_work_in_proportion_to_the_stages() -> None:
    """Counted in calls for 200 and for 800 stages: four times as many, and not sixteen."""
    counts = []
    for S in (200, 800):
        calls = 0

        def count(*_: object) -> None:
            nonlocal calls
            calls += 1

        tau = [Fraction(s % 7 + 1) for s in range(S)]
        sys.setprofile(count)
        try:
            slack = f.link_slack(tau)
        finally:
            sys.setprofile(None)
        assert slack == [6 - s % 7 for s in range(S - 1)]
        counts.append(calls)
    assert counts[1] < 5 * counts[0]
