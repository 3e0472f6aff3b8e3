"""The prover's verdicts: what must be proved, what must be refuted, and what must never be taken for proved."""

from __future__ import annotations

import time

import children
import pytest

from hpsim.claims.catalogue import claim
from hpsim.conjecture.prove.ladder import WHERE_DEFINED
from hpsim.conjecture.prove.prove import prove
from hpsim.conjecture.prove.verdict import Verdict, lemmas_as_smt
from hpsim.errors import HpsimError

z3 = pytest.importorskip("z3")

FOR_EVERY_S_AND_M = [
    *("thm1", "thm2", "thm3", "partial", "cor1", "cor2", "cor3", "cor4", "cor5", "cor5-gap", "partial-sandwich"),
    *("overlap-ratio", "prop1", "prop1-equal", "prop2", "crossover", "chord", "graham", "graham-tie"),
    *("overestimate-falls", "blocking-bound", "blocking-twice", "gpipe-twice"),
    "A.T_async == B.T_async + sum(A.d) - sum(B.d)",
    "tau[-1] <= T_async(1) and tau[0] <= tau_max",
    "count(tau > 0) >= 1 and count(d > 0) <= S - 1",
    "implies(M == 1, T_async == T_blocking) and implies(S == 1, T_async == T_blocking)",
    "abs(T_async - T_blocking) == T_blocking - T_async and max(T_async, T_blocking) == T_blocking",
    "2*M != 3 and (M <= 1 or M >= 2)",
]
RELATIONS = {"A.T_async == B.T_async + sum(A.d) - sum(B.d)": "same tau"}

REFUTED = [
    *("prop2-blocking", "loose-fill", "loose-ratio", "loose-slack", "loose-sandwich", "loose-rho"),
    "T_blocking <= T_async + sum(d)",
    "T_blocking <= 2*T_async",
    "2*T_rendezvous <= 3*T_blocking",
    "implies(M >= S-2, T_gpipe <= 2*T_free)",
    "T_blocking <= T_async + (M-2)*max(d)",
    "implies(all(d <= max(tau)), T_blocking < 2*T_async - min(tau))",
    "T_async <= 40*sum(tau) + sum(d)",
]


def decided(text: str, seconds: float = 60, **bounds: int) -> Verdict:
    return prove(claim(text, relation=RELATIONS.get(text)), seconds=seconds, **bounds)


@pytest.mark.parametrize("text", FOR_EVERY_S_AND_M)
def test_true_statements_are_proved_for_every_s_and_m(text: str) -> None:
    """The theorems, the corollaries and their neighbours hold for every number of stages and micro-batches."""
    verdict = decided(text)
    assert (verdict.status, verdict.bounds) == ("proved", "every S and M"), verdict.reason
    assert verdict.lemmas
    assert verdict.assumptions[:2] == ("real tau >= 0, not all zero", "real d >= 0")
    assert WHERE_DEFINED not in verdict.assumptions


@pytest.mark.parametrize("text", REFUTED)
def test_false_statements_are_refuted_by_exact_numbers(text: str) -> None:
    """Every refutation is a point where the plain recurrences say that the statement fails."""
    verdict = decided(text)
    assert verdict.status == "refuted"
    assert verdict.counterexample is not None
    question = verdict.counterexample.question
    assert question.decide(verdict.counterexample.example).holds is False


def test_a_relation_without_two_pipelines_means_nothing() -> None:
    """A statement about one pipeline is proved whatever relation is given with it."""
    assert prove(claim("T_async <= T_blocking", relation="permutation"), seconds=60).bounds == "every S and M"


def test_a_counterexample_is_small() -> None:
    """T_blocking <= T_async + sum(d) needs three micro-batches and two stages, and gets no more."""
    verdict = decided("T_blocking <= T_async + sum(d)")
    assert verdict.counterexample is not None
    found = verdict.counterexample.example
    assert (found.pipelines[0].S, found.M) == (2, 3)


def test_bounds_are_a_full_rectangle() -> None:
    """What has no closed form is proved up to the given stages and micro-batches, with one lemma for each pair."""
    verdict = decided("T_rendezvous <= 2*T_blocking", stages=3, microbatches=4)
    assert (verdict.status, verdict.bounds) == ("proved", "S <= 3, M <= 4")
    names = {lemma.name for lemma in verdict.lemmas}
    assert {f"S = {S}, M = {M}" for S in (1, 2, 3) for M in (1, 2, 3, 4)} <= names


def test_every_m_at_few_stages() -> None:
    """Where no induction over stages is found, every number of micro-batches is dealt with at given stages."""
    verdict = decided("slope(rendezvous) == law(rendezvous)", stages=4)
    assert (verdict.status, verdict.bounds) == ("proved", "S <= 4, every M")
    assert [lemma.name for lemma in verdict.lemmas] == [f"S = {S}, every M" for S in range(1, 5)]


def test_all_values_of_drawn_knobs_are_covered() -> None:
    """A claim whose regime has a drawn knob is proved for each of its values."""
    text = "T(roomy) <= T(tight)"
    regimes = {"tight": {"overlap": 0, "buffers": {"integers": [0, 1]}}, "roomy": {"like": "tight", "buffers": "+1"}}
    verdict = prove(claim(text, regimes), seconds=60, stages=2, microbatches=3)
    assert verdict.bounds == "S <= 2, M <= 3"
    assert {"S = 2, M = 3, tight.buffers = 0", "S = 2, M = 3, tight.buffers = 1"} <= {
        lemma.name for lemma in verdict.lemmas
    }
    reverse = prove(claim("T(tight) <= T(roomy)", regimes), seconds=60, stages=3, microbatches=4)
    assert reverse.status == "refuted"
    assert reverse.counterexample is not None
    assert reverse.counterexample.question.regimes["tight"].buffers == 0


def test_lists_of_knobs_hold_for_their_number_of_stages_only() -> None:
    """A regime with a value for each link is about pipelines of that many stages, and the verdict says so."""
    mixed = claim("T(mixed) <= T_blocking", {"mixed": {"overlap": [1, 0]}})
    assert prove(mixed, seconds=60).bounds == "S = 3, every M"
    assert prove(mixed, seconds=60, stages=2).status == "undecided"
    limited = claim("T(mixed) <= T_rendezvous", {"mixed": {"overlap": [1, 0], "buffers": 1}})
    assert prove(limited, seconds=60, microbatches=3).bounds == "S = 3, M <= 3"


def test_every_lemma_of_a_proof_is_unsatisfiable_when_read_back() -> None:
    """What is exported convinces a solver that starts from the text."""
    verdict = decided("blocking-twice")
    pieces = lemmas_as_smt(verdict).split("(push 1)")[1:]
    assert len(pieces) == len(verdict.lemmas)
    for piece in pieces:
        solver = z3.Solver()
        solver.from_string(piece.split("(check-sat)")[0])
        assert solver.check() == z3.unsat


def test_the_time_limit_is_kept() -> None:
    """A statement that could be unrolled for ever ends in time."""
    began = time.monotonic()
    verdict = decided("T_rendezvous <= 2*T_blocking", seconds=2)
    assert verdict.status == "proved"
    assert time.monotonic() - began < 2 + children.task_seconds(40)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"seconds": 0}, "seconds: 0; a time limit above 0, for example 30"),
        ({"seconds": float("nan")}, "seconds: nan; a time limit above 0, for example 30"),
        ({"stages": 0}, "stages: 0; a whole number of at least 1"),
        ({"microbatches": -1}, "microbatches: -1; a whole number of at least 1"),
    ],
)
def test_limits_without_meaning_are_refused(limits: dict[str, float], message: str) -> None:
    """A time limit or a bound that allows nothing is an error of one line."""
    with pytest.raises(HpsimError) as error:
        prove("cor5", **limits)  # type: ignore[arg-type]
    assert str(error.value) == message
