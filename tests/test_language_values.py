"""What statements come out as: on Fractions at hand-computed points, and on float64 as on Fractions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from statements import Writer

from hpsim.claims import exact_algebra, float_algebra
from hpsim.claims.evaluate import Term
from hpsim.claims.float_algebra import FloatDecision, FloatNumber
from hpsim.claims.parse import parse
from hpsim.claims.systems import ExactPipeline
from hpsim.claims.tree import StatementError
from hpsim.regime import Regime

REGIMES = {"tight": Regime(overlap=0, buffers=1)}
UNIT = 2.0**-10

AT_3_5 = {
    # tau = [3, 5], d = [4], M = 2: by hand, T_free = 13, T_async = 17, T_blocking = 12 + 7 = 19
    "T_free == 13": True,
    "T_async == 17": True,
    "T_blocking == 19": True,
    "T_partial == 17": True,  # half of the transfer holds: max(3 + 2, 5) = 5
    "T_rendezvous == 21": True,  # 12 + max(3 + 4, 4 + 5)
    "T(tight) == 19": True,
    "T_gpipe == 15": True,
    "slope(async) == 5 and law(blocking) == 7": True,
    "T_free < 13": False,
    "T_free(1) == 8 and T_gpipe(1) == 10": True,
    "T_async(3*M) - T_async(2*M) == M*tau_max": True,
    "1/(M - 2) > 0": None,
    "implies(M != 2, 1/(M - 2) > 0)": True,
    "M == 2 or 1/(M - 2) > 0": True,
    "1/(M - 2) > 0 or M == 2": None,
    "M != 2 and 1/(M - 2) > 0": False,
    "iff(M == 2, 1/(M - 2) > 0)": None,
    "not 1/(M - 2) > 0": None,
    "0*(1/(M - 2)) == 0": None,
    "1 < M < 1/(M - 2)": None,
    "3 < M < 1/(M - 2)": False,
    "tau[1] == 5 and tau[-2] == 3": True,
    "tau[2] > 0": None,
    "tau[-3] > 0": None,
    "max(1/d) > 0": None,
    "any(1/tau > 3) or all(d == 0 or 1/d < 1)": True,
    "all(d > 0 and 1/d < 1)": False,
    "any(d == 0 and tau == 5)": True,
    "T_async(M - 2) > 0": None,
    "T_async(M/4) > 0": None,
    "T_async(M/2) == 12": True,
    "T_gpipe(M/4) > 0": None,
    "count(tau > 3) == 1 and count(d == 7) == 0": True,
    "-M + 2 == 0 and abs(-M) == M and abs(d - tau)[1] == 5": True,
    "0.1 + 0.2 == 0.3": True,
    "rho*M == 1": True,
}


@pytest.mark.parametrize("text", AT_3_5)
def test_values_by_hand(text: str) -> None:
    """Every construct comes out as computed by hand, undefined ones included, on Fractions and on float64."""
    rho = Fraction(1, 2)
    statement = parse(text, REGIMES)
    pipeline = ExactPipeline([3, 5], [4], None, REGIMES, rho)
    assert exact_algebra.holds(statement, {"": pipeline}, 2, rho) is AT_3_5[text]
    decided = in_floats(statement, [{"": pipeline}], [2], rho)
    assert bool(decided.near[0]) or bool(decided.defined[0]) is (AT_3_5[text] is not None)
    assert bool(decided.near[0]) or AT_3_5[text] is None or bool(decided.truth[0]) is AT_3_5[text]


@pytest.mark.parametrize(
    "text",
    [
        "T_async(10000000) == T_async + 9999998*max(tau)",
        "T_blocking(100000*M) - T_blocking(100000) == 100000*(M-1)*sigma_max",
        f"T_rendezvous({10**300}) == 9*{10**300} + 3",
    ],
)
def test_very_many_micro_batches_are_no_obstacle(text: str) -> None:
    """By the makespan law a makespan of any number of micro-batches is exact and quick."""
    assert exact_algebra.holds(parse(text), {"": ExactPipeline([3, 5], [4])}, 2, None) is True


def test_the_deciding_comparison_is_shown() -> None:
    """Both sides are those of the first conjunct that fails, the alternative that holds, or the conclusion."""
    pipeline = {"": ExactPipeline([1, 2], [1])}
    shown = {
        "T_rendezvous <= T_blocking": [("T_rendezvous", 7), ("T_blocking", 6)],
        "implies(M > 1, S == 2 and T_async == 7)": [("T_async", 6), ("7", 7)],
        "M == 3 or S == 2 or S == 3": [("S", 2), ("2", 2)],
        "all(d <= max(tau) - tau)": [("d", [1, 0]), ("max(tau) - tau", [1, 0])],
        "not M/0 < S < 3": [("M/0", None), ("S", 2), ("3", 3)],
    }
    for text, sides in shown.items():
        decision = exact_algebra.decide(parse(text), pipeline, 2)
        assert [(side.text, side.value) for side in decision.sides] == sides


def test_a_missing_share_is_an_error_of_the_user() -> None:
    """A statement about partial overlap cannot be decided without rho, and says so."""
    for text in ("T_partial > 0", "rho > 0", "slope(partial) > 0"):
        with pytest.raises(StatementError, match="rho: missing"):
            exact_algebra.holds(parse(text), {"": ExactPipeline([1])}, 1)


def test_vectors_have_to_fit() -> None:
    """Links are one fewer than stages; a zero for the last stage may be given along."""
    assert ExactPipeline([1, 2], [3, 0]).d == ExactPipeline([1, 2], [3]).d == [3, 0]
    for tau, d in (([], []), ([1, 2], [1, 2]), ([1, 2, 3], [1])):
        with pytest.raises(StatementError):
            ExactPipeline(tau, d)


class Lanes:
    """Several exact pipelines of equal S as one system on float64: makespans are looked up point by point."""

    def __init__(self, pipelines: Sequence[ExactPipeline], unit: float) -> None:
        self.pipelines = pipelines
        self.unit = unit
        self.S = pipelines[0].S
        self.tau, self.d, self.latency = (
            [FloatNumber.of([float(getattr(p, name)[s]) for p in pipelines], unit) for s in range(self.S)]
            for name in ("tau", "d", "latency")
        )

    def makespan(self, regime: str, count: FloatNumber) -> Term:
        counts = np.broadcast_to(np.rint(count.values), len(self.pipelines))
        terms = [
            p.makespan(regime, Fraction(int(k))) if 1 <= k < 1000 else Term(Fraction(0), False)
            for p, k in zip(self.pipelines, counts, strict=True)
        ]
        return Term(self._number([term.value for term in terms]), np.array([term.domain for term in terms]))

    def slope(self, regime: str) -> FloatNumber:
        return self._number([p.slope(regime) for p in self.pipelines])

    def law(self, regime: str) -> FloatNumber:
        return self._number([p.law(regime) for p in self.pipelines])

    def _number(self, values: Sequence[Fraction]) -> FloatNumber:
        return FloatNumber.of([float(value) for value in values], self.unit)


def in_floats(statement: Any, points: Sequence[Any], Ms: Sequence[int], rho: Fraction) -> FloatDecision:
    systems = {name: Lanes([point[name] for point in points], UNIT) for name in points[0]}
    shared = FloatNumber.of([float(M) for M in Ms], 1.0), FloatNumber.of(float(rho), 1 / 16)
    return float_algebra.decide(statement, systems, *shared, len(points))


def random_pipeline(generator: random.Random, S: int, rho: Fraction) -> ExactPipeline:
    tau = [Fraction(generator.randint(0, 12), generator.choice([1, 2, 4])) for _ in range(S)]
    tau[generator.randrange(S)] += 1
    d, latency = ([Fraction(generator.choice([0, 1, 2, 3, 7]), 4) for _ in range(S - 1)] for _ in range(2))
    return ExactPipeline(tau, d, latency, REGIMES, rho)


@pytest.mark.parametrize("seed", range(4))
def test_floats_agree_with_fractions(seed: int) -> None:
    """On 2,000 random statements float64 says what Fractions say, except where it flags its own rounding."""
    generator = random.Random(seed)
    seen: Counter[str] = Counter()
    for number in range(500):
        two = number % 4 == 0
        statement = parse(Writer(generator, two).statement(), REGIMES, "same S" if two else None)
        S, rho = generator.randint(1, 4), Fraction(generator.randint(0, 16), 16)
        Ms = [generator.choice([1, 1, 2, 3, 4, 6]) for _ in range(6)]
        points = [{name: random_pipeline(generator, S, rho) for name in statement.pipelines} for _ in Ms]
        decided = in_floats(statement, points, Ms, rho)
        assert decided.margin is not None
        for i, (point, M) in enumerate(zip(points, Ms, strict=True)):
            expected = exact_algebra.holds(statement, point, M, rho)
            seen[f"{expected}"] += 1
            if decided.near[i]:
                seen["near"] += 1
                assert decided.suspects[i]
                continue
            assert bool(decided.defined[i]) is (expected is not None), (statement.text, i)
            if expected is not None:
                assert bool(decided.truth[i]) is expected, (statement.text, i)
                assert decided.margin[i] >= 0 if expected else decided.margin[i] <= 0, (statement.text, i)
                assert bool(decided.suspects[i]) is not expected
    assert min(seen["True"], seen["False"], seen["None"]) > sum(seen.values()) / 20
    assert seen["near"] < sum(seen.values()) / 10, seen


def test_sums_on_a_grid_are_never_in_doubt() -> None:
    """Sums, maxima and products that stay on the grid within 2^53 units are exact, so ties are decided in float64."""
    rho = Fraction(3, 16)
    generator = random.Random(1)
    points = [{"": random_pipeline(generator, 4, rho)} for _ in range(200)]
    for text in (
        "T_partial == sum(tau) + sum(d) + sum(latency) + (M-1)*max(tau + (1-rho)*d)",
        "T_partial <= rho*T_async + (1-rho)*T_blocking",
        "2*T_async/4 == T_async*0.5",
    ):
        decided = in_floats(parse(text), points, [7] * len(points), rho)
        assert decided.truth.all()
        assert decided.defined.all()
        assert not decided.near.any()


def test_rounding_is_flagged() -> None:
    """Where float64 cannot tell, it says so: thirds, tenths, and sums beyond 2^53 grid units."""
    point = [{"": ExactPipeline([1, 2], [1])}]
    for text in ("M/3*3 == M", "0.1 + 0.2 == 0.3", "1e16 + M > 1e16", "1/(M/3*3 - M) > 0", "T_async(M/3*3) > 0"):
        assert in_floats(parse(text), point, [2], Fraction(0)).near.all(), text
    for text in ("M/3*3 < M + 1", "0.1 + 0.2 < 0.4", "M/4 == 0.5", "T_async(M/2) == 4", "M/3 != 1"):
        decided = in_floats(parse(text), point, [2], Fraction(0))
        assert decided.truth.all(), text
        assert not decided.near.any(), text


def test_margins_tell_how_far_a_statement_is_from_failing() -> None:
    """A margin is relative to the sides compared; and is the least, or the greatest, not the opposite."""
    point = [{"": ExactPipeline([1, 2], [1])}]
    margins = {
        "M <= 4": 0.5,
        "M >= 4": -0.5,
        "M == 2": 0,
        "M == 4": -0.5,
        "M != 4": 0.5,
        "M <= 4 and M <= 8": 0.5,
        "M <= 4 or M <= 8": 0.75,
        "not M <= 4": -0.5,
        "implies(M <= 4, M >= 4)": -0.5,
        "all(tau <= 4)": 0.5,
        "0 <= M <= 4": 0.5,
        "0 == 0": 0,
    }
    for text, margin in margins.items():
        decided = in_floats(parse(text), point, [2], Fraction(0))
        assert decided.margin is not None
        assert decided.margin[0] == margin, text


def test_margins_may_be_left_out() -> None:
    """Callers that only want the truth get no margins."""
    pipeline = Lanes([ExactPipeline([1, 2], [1])], 1.0)
    M = FloatNumber.of([2.0], 1.0)
    decided = float_algebra.decide(parse("M <= 4 and not S < 1"), {"": pipeline}, M, None, 1, margins=False)
    assert decided.margin is None
    assert decided.truth.all()
