"""The catalogue: every claim can be read, and is on small exact pipelines what the catalogue expects of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hpsim.claims import exact_algebra
from hpsim.claims.catalogue import Claim, catalogue, claim, load_claims
from hpsim.claims.regimes import draws_of, regimes_at
from hpsim.claims.systems import ExactPipeline
from hpsim.claims.tree import StatementError
from hpsim.errors import SweepFileError
from hpsim.regime import Regime
from hpsim.sweep.file.distribution import Distribution

HOLDS = [known.id for known in catalogue().values() if known.expect == "holds"]
FAILS = [known.id for known in catalogue().values() if known.expect == "fails"]


def test_what_is_in_the_catalogue() -> None:
    """All theorems, corollaries and propositions are there, and the loose sentences, which fail."""
    numbered = {
        "thm1",
        "thm2",
        "thm3",
        "cor1",
        "cor2",
        "cor3",
        "cor4",
        "cor5",
        "prop1",
        "prop2",
        "crossover",
        "partial",
    }
    assert numbered <= set(HOLDS)
    assert set(FAILS) >= {"loose-fill", "loose-ratio", "loose-slack", "loose-sandwich", "loose-rho"}


def drawn(generator: random.Random) -> Callable[[str, str, Distribution], int]:
    def draw(regime: str, knob: str, distribution: Distribution) -> int:
        return generator.randint(int(distribution.low), int(distribution.high))

    return draw


def random_systems(known: Claim, generator: random.Random) -> dict[str, ExactPipeline]:
    """Pipelines of small times, zeros and ties among them, related as the claim says."""
    rho = Fraction(generator.randint(0, 4), 4)
    regimes = regimes_at(known.given.regimes, drawn(generator))
    S = generator.randint(1, 4)

    def times(count: int, largest: int) -> list[Fraction]:
        return [Fraction(generator.randint(0, largest), generator.choice([1, 1, 1, 2])) for _ in range(count)]

    tau, d, latency = times(S, 5), times(S - 1, 6), generator.choice([times(S - 1, 3), [Fraction(0)] * (S - 1)])
    if generator.random() < 0.2:
        d = [Fraction(0)] * (S - 1)
    tau[generator.randrange(S)] += 1
    first = ExactPipeline(tau, d, latency, regimes, rho)
    if known.parsed.pipelines == ("",):
        return {"": first}
    other_tau, other_d = times(S, 5), times(S - 1, 6)
    other_tau[generator.randrange(S)] += 1
    if known.given.relation == "permutation":
        other_tau, other_d = generator.sample(tau, S), d
    return {"A": first, "B": ExactPipeline(other_tau, other_d, latency, regimes, rho)}


@pytest.mark.parametrize("name", HOLDS)
def test_what_is_expected_to_hold_holds(name: str) -> None:
    """On random exact pipelines the claim is never false, and for the most part defined."""
    generator = random.Random(name)
    known = catalogue()[name]
    defined = 0
    for _ in range(150):
        systems = random_systems(known, generator)
        first = next(iter(systems.values()))
        M = generator.choice([1, 1, 2, 3, 4, 5, 8])
        found = exact_algebra.holds(known.parsed, systems, M, first.rho)
        assert found is not False, (first.tau, first.d, first.latency, first.regimes, M, first.rho)
        defined += found is True
    assert defined >= 20


def fixed(name: str) -> dict[str, Regime]:
    """The regimes of a claim that draws none."""
    return {regime: knobs.regime() for regime, knobs in catalogue()[name].given.regimes.items()}


@pytest.mark.parametrize("name", FAILS)
def test_what_is_expected_to_fail_fails_at_its_example(name: str) -> None:
    """The counterexample that a false claim carries is one, by the plain recurrences."""
    known = catalogue()[name]
    example = known.example
    assert example is not None
    systems = {
        pipeline: ExactPipeline(times.tau, times.d, times.latency, fixed(name), example.rho)
        for pipeline, times in example.pipelines.items()
    }
    assert exact_algebra.holds(known.parsed, systems, example.M, example.rho) is False


@pytest.mark.parametrize("name", [name for name in FAILS if name != "loose-ratio"])
def test_the_examples_are_the_smallest_of_two_stages(name: str) -> None:
    """No pipeline with whole times of at least 1 (links from 0), fewer micro-batches or a smaller sum fails already."""
    known = catalogue()[name]
    example = known.example
    assert example is not None
    sizes = [sum(times.tau) + sum(times.d) for times in example.pipelines.values()]
    shares = [None] if example.rho is None else [Fraction(0), Fraction(1, 2), Fraction(1)]
    for M, rho in product(range(1, example.M + 1), shares):
        for tau0, tau1, d in product(range(1, 6), range(1, 6), range(6)):
            systems = {"": ExactPipeline([tau0, tau1], [d], None, fixed(name), rho)}
            if len(sizes) == 2:
                systems = {"A": systems[""], "B": ExactPipeline([tau1, tau0], [d], None, None, rho)}
            if exact_algebra.holds(known.parsed, systems, M, rho) is False:
                assert M == example.M
                assert tau0 + tau1 + d >= sizes[0]


def test_draws_are_shared_with_what_is_derived() -> None:
    """One draw serves a regime and those like it, plus what they add."""
    regimes = catalogue()["more-buffers"].given.regimes
    assert [(one.regime, one.knob, one.plus) for one in draws_of(regimes)] == [("tight", "buffers", 0)]
    made = regimes_at(regimes, lambda regime, knob, distribution: 2)
    assert made == {"tight": Regime(overlap=0, buffers=2), "roomy": Regime(overlap=0, buffers=3)}


def test_a_claim_by_id_or_by_text() -> None:
    """An id gives the catalogued claim, other text becomes a claim; regimes given along are known to it."""
    assert claim("cor5") is catalogue()["cor5"]
    assert claim(" T_async <= 3 ").statement == "T_async <= 3"
    own = claim("T(tight) <= T_blocking", {"tight": {"overlap": 0, "buffers": 1}})
    assert own.given.regimes["tight"].regime() == Regime(overlap=0, buffers=1)
    assert claim("all(A.tau == B.tau)", relation="same tau").given.relation == "same tau"
    assert claim("more-buffers", {"roomy": {"like": "tight", "buffers": 9}}).given.regimes["roomy"].buffers == 9


@pytest.mark.parametrize(
    ("text", "regimes", "relation", "message"),
    [
        ("corr5", None, None, "did you mean cor5"),
        ("", None, None, "nothing is written"),
        ("T(x) > 1", None, None, "unknown regime 'x'"),
        ("T(x) > 1", {"x": {"bufers": 1}}, None, "did you mean 'buffers'"),
        ("T(x) > 1", {"x": {"buffers": -1}}, None, "a whole number from 0"),
        ("T(x) > 1", {"x": {"like": "y"}}, None, "no regime 'y'"),
        ("T(x) > 1", {"x": {"buffers": "+1"}}, None, "like"),
        ("T(x) > 1", {"x": 3}, None, "a mapping of knobs"),
        ("T(x) > 1", {"x": {"overlap": 0, "channels": 1}}, None, "overlap=1"),
        ("1 > 0", {"if": {}}, None, "letters, digits and _"),
        ("1 > 0", {"async": {}}, None, "async"),
        ("all(A.tau == B.tau)", None, None, "same S"),
        ("all(A.tau == B.tau)", None, "twins", "permutation"),
    ],
)
def test_claims_that_make_no_sense(
    text: str, regimes: dict[str, Any] | None, relation: str | None, message: str
) -> None:
    """What is wrong with a statement, a regime or a relation is told in one line."""
    with pytest.raises((StatementError, SweepFileError)) as caught:
        claim(text, regimes, relation)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


FILE = """claims:
  - id: one
    title: A title
    source: here
    statement: T_async <= T_blocking
"""


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("id: one", "id: One", ":2: claims[0].id", "pattern"),
        ("title", "titel", "claims[0].ti", "title"),
        ("T_async <=", "T_asink <=", ":5: claims[0].statement", "column 1: unknown name 'T_asink'"),
        ("    source: here\n", "", "claims[0].source", "missing"),
        ("statement:", "expect: maybe\n    statement:", ":5: claims[0].expect", "holds"),
        ("statement:", "given: {relation: none}\n    statement:", ":5: claims[0].given.relation", "same S"),
        ("statement:", "example: {M: 1}\n    statement:", ":5: claims[0].example", "neither one pipeline nor two"),
        (
            "statement:",
            "example: {tau: [1], M: 1}\n    statement:",
            ":5: claims[0].example",
            "a counterexample of what holds",
        ),
        (
            "statement:",
            "expect: fails\n    example: {tau: [1], d: [1], M: 1}\n    statement:",
            ":6: claims[0].example",
            "one for each link",
        ),
        (
            "statement:",
            "expect: fails\n    example: {A: {tau: [1]}, B: {tau: [1]}, M: 1}\n    statement:",
            ":6: claims[0].example",
            "not the pipelines of the statement",
        ),
        (
            "statement:",
            "given: {regimes: {x: {buffers: 1, overlap: 2}}}\n    statement:",
            ":5: claims[0].given.regimes.x.overlap",
            "a share from 0",
        ),
    ],
)
def test_files_of_claims_are_checked(tmp_path: Path, old: str, new: str, place: str, message: str) -> None:
    """A mistake in a file of claims is told with its line and key."""
    path = tmp_path / "claims.yaml"
    path.write_text(FILE, encoding="utf-8")
    assert [known.id for known in load_claims(path)] == ["one"]
    path.write_text(FILE.replace(old, new), encoding="utf-8")
    with pytest.raises(SweepFileError) as caught:
        load_claims(path)
    assert place in str(caught.value)
    assert message in str(caught.value)


def test_an_id_stands_once(tmp_path: Path) -> None:
    """Two claims of one id in a file are refused."""
    path = tmp_path / "claims.yaml"
    path.write_text(FILE + FILE.removeprefix("claims:\n"), encoding="utf-8")
    with pytest.raises(SweepFileError, match="a second time"):
        load_claims(path)
