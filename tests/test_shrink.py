"""The shrinker reaches the minimum of the written order, which brute force over small systems knows independently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations, product

import pytest
from conftest import SIZE

from hpsim.claims.parse import parse
from hpsim.conjecture.example import Example, Times, order_key
from hpsim.conjecture.question import Question, related
from hpsim.conjecture.search import search
from hpsim.conjecture.shrink import shrink

compiled = pytest.mark.skipif(SIZE < 1, reason="millions of points, which only compiled kernels look at in time")

Point = tuple[tuple[int, ...], tuple[int, ...], int, Fraction]  # tau, d, M, rho


def times(tau: tuple[object, ...], d: tuple[object, ...] = ()) -> Times:
    links = d or (0,) * (len(tau) - 1)
    return Times(tuple(map(Fraction, tau)), tuple(map(Fraction, links)), (Fraction(0),) * (len(tau) - 1))


def example(tau: tuple[object, ...], d: tuple[object, ...] = (), M: int = 1, rho: object = None) -> Example:
    return Example((times(tau, d),), M, None if rho is None else Fraction(str(rho)))


# The makespans in closed form, written down from the theorems: nothing here is the code under test.
def T_free(tau: tuple[int, ...], M: int) -> Fraction:
    return Fraction((M - 1) * max(tau) + sum(tau))


def T_gpipe(tau: tuple[int, ...], M: int) -> Fraction:
    return Fraction((len(tau) + M - 1) * max(tau))


def T_partial(tau: tuple[int, ...], d: tuple[int, ...], M: int, rho: Fraction) -> Fraction:
    held = [t + (1 - rho) * x for t, x in zip(tau, (*d, 0), strict=True)]
    return Fraction(sum(tau) + sum(d) + (M - 1) * max(held))


def T_async(tau: tuple[int, ...], d: tuple[int, ...], M: int) -> Fraction:
    return T_partial(tau, d, M, Fraction(1))


def T_blocking(tau: tuple[int, ...], d: tuple[int, ...], M: int) -> Fraction:
    return T_partial(tau, d, M, Fraction(0))


def T_rendezvous(tau: tuple[int, ...], d: tuple[int, ...], M: int) -> Fraction:
    both = [before + t + after for before, t, after in zip((0, *d), tau, (*d, 0), strict=True)]
    return Fraction(sum(tau) + sum(d) + (M - 1) * max(both))


def written_order(tau: tuple[int, ...], d: tuple[int, ...], M: int, rho: Fraction | None) -> tuple[object, ...]:
    """The order of the design, for whole times: stages, M, zeros, sums, distinct values, lexicographic, then rho."""
    values = (*tau, *d)
    share = () if rho is None else (rho.denominator > 1, rho.numerator + rho.denominator, rho)
    return (len(tau), M, tau.count(0), sum(v + 1 for v in values), len(set(values)), tau, d, share)


def systems(S: int, most: int, Ms: int, with_d: bool, shares: tuple[Fraction, ...]) -> Iterator[Point]:
    for tau in product(range(most + 1), repeat=S):
        if any(tau):
            for d in product(range(most + 1), repeat=S - 1) if with_d else [(0,) * (S - 1)]:
                for M, rho in product(range(1, Ms + 1), shares):
                    yield tau, d, M, rho


HALVES = tuple(Fraction(n, 4) for n in range(5))
ONE = (Fraction(1),)
# statement, whether it fails (in Python), S, largest time, largest M, does d matter, shares, where to start from
CASES: list[tuple[str, Callable[[Point], bool], tuple[int, ...], int, int, bool, tuple[Fraction, ...], Example]] = [
    (
        "T_blocking <= T_async + sum(d)",
        lambda p: T_blocking(*p[:3]) > T_async(*p[:3]) + sum(p[1]),
        (1, 2),
        6,
        4,
        True,
        ONE,
        example(("7/2", 3, 9, "1/4"), (5, 8, 2), 41),
    ),
    (
        "T_blocking <= 2*T_async",
        lambda p: T_blocking(*p[:3]) > 2 * T_async(*p[:3]),
        (1, 2),
        6,
        4,
        True,
        ONE,
        example((1, 2, "1/3"), (60, 1), 50),
    ),
    (
        "2*T_rendezvous <= 3*T_blocking",
        lambda p: 2 * T_rendezvous(*p[:3]) > 3 * T_blocking(*p[:3]),
        (1, 2),
        8,
        4,
        True,
        ONE,
        example((2, 1, 40, 3, 2), (1, 39, 1, 2), 37),
    ),
    (
        "implies(M >= S-2, T_gpipe <= 2*T_free)",
        lambda p: p[2] >= len(p[0]) - 2 and T_gpipe(p[0], p[2]) > 2 * T_free(p[0], p[2]),
        (1, 2, 3),
        6,
        4,
        False,
        ONE,
        example((1, 300, 2, 1, 0, 3), (), 4),
    ),
    (
        "T_partial == rho*T_async + (1-rho)*T_blocking",
        lambda p: T_partial(*p) != p[3] * T_async(*p[:3]) + (1 - p[3]) * T_blocking(*p[:3]),
        (1, 2),
        4,
        3,
        True,
        HALVES,
        example((3, "17/5", 2), (9, "3/2"), 12, "3/8"),
    ),
    (
        "implies(M > 1 and T_async < T_blocking, tau[0] != tau[1] + d[0])",
        lambda p: p[2] > 1 and T_async(*p[:3]) < T_blocking(*p[:3]) and p[0][0] == p[0][1] + p[1][0],
        (2,),
        4,
        3,
        True,
        ONE,
        example((9, 4, 1), (5, 7), 9),
    ),
    (
        "implies(S >= 6, T_gpipe <= 2*T_free)",
        lambda p: len(p[0]) >= 6 and T_gpipe(p[0], p[2]) > 2 * T_free(p[0], p[2]),
        (6,),
        3,
        1,
        False,
        ONE,
        example((1, 30, 2, 5, 0, 3, 2, 1), (1, 2, 3, 4, 5, 6, 7), 3),
    ),
]


@compiled
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_shrinking_ends_at_the_minimum_that_brute_force_finds(case: tuple[object, ...]) -> None:
    """From a large example the shrinker gets to the very first one in the written order."""
    text, fails, stages, most, Ms, with_d, shares, start = case
    assert callable(fails)
    question = Question(parse(str(text)))
    found = shrink(question, start)  # type: ignore[arg-type]
    uses_rho = question.uses_rho
    failing = (p for S in stages for p in systems(S, most, Ms, with_d, shares) if fails(p))  # type: ignore
    tau, d, M, rho = min(failing, key=lambda p: written_order(*p[:3], p[3] if uses_rho else None))
    assert found == example(tau, d, M, rho if uses_rho else None)


# What fails at a single stage for want of a link, and what it comes to with one.
LINKLESS: list[tuple[str, Callable[[Point], bool]]] = [
    ("T_async < T_blocking", lambda p: T_async(*p[:3]) >= T_blocking(*p[:3])),
    (
        "implies(M > 1 and (S == 1 or sum(d) > 0), T_async < T_blocking)",
        lambda p: p[2] > 1 and (len(p[0]) == 1 or sum(p[1]) > 0) and T_async(*p[:3]) >= T_blocking(*p[:3]),
    ),
    (
        "S == 2 and d[0] <= tau[1] or S >= 2 and tau[0] + M < 5",
        lambda p: (len(p[0]) != 2 or p[1][0] > p[0][1]) and (len(p[0]) < 2 or p[0][0] + p[2] >= 5),
    ),
    ("S != 1 and S != 2 or T_partial < T_async", lambda p: len(p[0]) < 3 and T_partial(*p) >= T_async(*p[:3])),
    (
        "T_rendezvous > T_blocking and T_rendezvous < 9 or M < 3",
        lambda p: p[2] >= 3 and not T_blocking(*p[:3]) < T_rendezvous(*p[:3]) < 9,
    ),
]


@compiled
@pytest.mark.parametrize(("text", "fails"), LINKLESS, ids=[text for text, _ in LINKLESS])
def test_the_simplest_with_a_link_stands_beside_the_simplest(text: str, fails: Callable[[Point], bool]) -> None:
    """Both are those that brute force finds: among all systems, and among those of at least two stages."""
    result = search(Question(parse(text)))
    uses_rho = result.question.uses_rho

    def first(stages: tuple[int, ...]) -> Example:
        failing = (p for S in stages for p in systems(S, 5, 4, True, HALVES if uses_rho else ONE) if fails(p))
        tau, d, M, rho = min(failing, key=lambda p: written_order(*p[:3], p[3] if uses_rho else None))
        return example(tau, d, M, rho if uses_rho else None)

    assert result.example == first((1, 2))
    assert result.example is not None
    assert result.example.S == 1
    assert result.linked is not None
    assert result.linked.example == first((2, 3)[: 1 + (not uses_rho)])
    assert result.most_telling is result.linked


@compiled
def test_a_least_number_of_stages_is_kept_while_shrinking() -> None:
    """From the same large example: to one stage, to two, to three in each pipeline, and no further."""
    start = example((7, 3, 9, 4), (5, 8, 2), 41)
    for least in (1, 2, 3):
        asked = Question(parse("T_async < M + sum(d)"), least_stages=least)
        assert shrink(asked, start) == example((1,) * least, (0,) * (least - 1))
        pair = Question(parse("A.T_async == B.T_free"), least_stages=least)
        pairs = shrink(pair, Example((start.pipelines[0], times((1, 2, 3))), 9))
        assert pairs.shape == (least, least)
    with pytest.raises(ValueError, match="does not refute"):
        shrink(Question(parse("T_async < 0"), least_stages=2), example((1,)))


@compiled
def test_two_pipelines_shrink_to_the_minimum_too() -> None:
    """Table 1's monotonicity: among all pairs of three-stage pipelines, the first that contradicts it."""
    ratios = "max(A.tau)/min(A.tau) > max(B.tau)/min(B.tau)"
    text = f"implies({ratios}, A.T_gpipe/A.T_free >= B.T_gpipe/B.T_free)"
    question = Question(parse(text, relation="same S"), "same S")
    start = Example((times((2, 31, 33), (4, 0)), times((1, 1, "5/2"), (0, 9))), 7)
    found = shrink(question, start)

    def key(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[object, ...]:
        values = (*a, 0, 0, *b, 0, 0)
        return (sum(values), len(set(values)), a, b)

    def fails(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        wider = max(a) * min(b) > max(b) * min(a)
        return wider and T_gpipe(a, 1) * T_free(b, 1) < T_gpipe(b, 1) * T_free(a, 1)

    triples = list(product(range(1, 5), repeat=3))
    a, b = min(((a, b) for a in triples for b in triples if fails(a, b)), key=lambda pair: key(*pair))
    assert found == Example((times(a), times(b)), 1)


@compiled
def test_a_relation_is_kept_while_shrinking() -> None:
    """Blocking depends on the order: the first pair of permuted pipelines for which the makespans differ."""
    question = Question(parse("A.T_blocking == B.T_blocking", relation="permutation"), "permutation")
    start = Example((times((5, 2, 9), (3, 8)), times((9, 5, 2), (3, 8))), 12)
    assert question.refuted_by(start)
    found = shrink(question, start)
    assert related("permutation", *found.pipelines)
    pairs = (
        (sum((*tau, *d)), len({*tau, *d}), tau, order, d, M)
        for tau in product(range(1, 4), repeat=2)
        for order in permutations(tau)
        for d in product(range(4), repeat=1)
        for M in (1, 2)
        if T_blocking(tau, d, M) != T_blocking(tuple(order), d, M)
    )
    _, _, tau, order, d, M = min(pairs, key=lambda p: (p[5], *p[:5]))
    assert found == Example((times(tau, d), times(tuple(order), d)), M)


@compiled
@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("max(tau) <= 1000", example((5, 40000, 3), (1, 2), 9), example((1001,))),
        ("implies(S == 2, tau[0] + 0.5 != tau[1])", example((3, "7/2"), (9,), 4), example(("1/2", 1))),
        ("implies(max(tau) < 1, M < 3)", example(("1/7", "3/5"), (2,), 30), example(("1/2",), (), 3)),
        ("max(tau) * max(tau) != 49 or M < 2", example((1, 7, 2), (1, 1), 5), example((7,), (), 2)),
    ],
)
def test_statements_with_a_scale_of_their_own_shrink_as_well(text: str, start: Example, expected: Example) -> None:
    """Where times cannot be scaled freely, whole numbers and plain fractions are still found."""
    assert shrink(Question(parse(text)), start) == expected


@compiled
def test_zero_service_times_are_avoided_where_they_can_be() -> None:
    """An example with zeros gives way to one without, though its times are larger."""
    question = Question(parse("implies(S >= 3, 3*T_gpipe <= 8*T_free)"))
    found = shrink(question, example((0, 1, 0), (0, 0), 1))
    assert found == example((1, 1, 17))
    assert not question.refuted_by(example((1, 1, 16)))


def test_an_example_that_refutes_nothing_is_not_shrunk() -> None:
    """The shrinker starts from what is a counterexample on Fractions, or not at all."""
    with pytest.raises(ValueError, match="does not refute"):
        shrink(Question(parse("T_async <= T_blocking")), example((1, 2), (1,), 3))


@pytest.mark.parametrize(
    ("simpler", "other"),
    [
        (example((9, 9), (9,), 99), example((1, 1, 1), (0, 0), 1)),  # fewer stages
        (example((9, 9), (9,), 2), example((1, 1), (1,), 3)),  # fewer micro-batches
        (example((9, 9), (9,), 2), example((0, 1), (1,), 2)),  # fewer zero service times
        (example((9, 9), (9,), 2), example((1, "1/2"), (1,), 2)),  # fewer non-integers
        (example((1, 2), (1,), 2), example((1, 2), (2,), 2)),  # smaller sum
        (example((2, 2), (2,), 2), example((1, 2), (3,), 2)),  # fewer distinct values
        (example((1, 2), (1,), 2), example((2, 1), (1,), 2)),  # lexicographically smaller
        (example((1, 2), (1,), 2, 0), example((1, 2), (1,), 2, 1)),  # the same for rho
        (example((1, 2), (1,), 2, 1), example((1, 2), (1,), 2, "1/2")),
        (example((1, 2), (1,), 2, "1/2"), example((1, 2), (1,), 2, "1/3")),
        (Example((times((5,)), times((5, 5))), 1), Example((times((1, 1)), times((1, 1))), 1)),  # of A and B together
        (Example((times((5,)), times((5, 5))), 1), Example((times((1, 1)), times((1,))), 1)),  # then of A
    ],
)
def test_the_order_of_simpler_is_the_written_one(simpler: Example, other: Example) -> None:
    """Each rule of the order decides before the rules after it."""
    assert order_key(simpler) < order_key(other)
