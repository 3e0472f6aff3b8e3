"""What must never be taken for proved, or for refuted: near misses, ties, undefined points, fractions, lost answers."""

from __future__ import annotations

import random
import time
from fractions import Fraction

import children
import pytest

from hpsim.claims.catalogue import Claim, claim
from hpsim.conjecture.example import Example, Times
from hpsim.conjecture.prove import bounded, smt
from hpsim.conjecture.prove.ladder import WHERE_DEFINED
from hpsim.conjecture.prove.problem import problems_of, refuted_by
from hpsim.conjecture.prove.prove import prove
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.prove.verdict import Verdict

z3 = pytest.importorskip("z3")

NEAR_THE_TRUTH = [
    "T_async < T_blocking",
    "T_free < T_gpipe",
    "T_free > (M-1)*max(tau)*2",
    "T_blocking <= T_async + (M-1)*max(d) - min(tau)/1000 and T_free >= tau[0]",
    "implies(M > 1, T_async < T_blocking)",
    "implies(any(d > 0), T_free < T_async < T_blocking)",
    "implies(all(d < max(tau)), T_blocking == T_async)",
    "iff(sigma_max > tau_max, any(d > 0))",
    "all(tau > 0)",
    "min(tau) > 0 or sum(d) > 0",
    "sum(tau) > max(tau)",
    "S*max(tau) > sum(tau)",
    "(T_gpipe - T_free)/T_free > 0",
    "T_blocking/T_async >= T_blocking(M+1)/T_async(M+1)",
    "sum(abs(tau - d)) == abs(sum(tau) - sum(d))",
    "implies(M >= 2, T_async(M-1) < T_async - tau[0])",
    "T_partial < rho*T_async + (1-rho)*T_blocking or T_partial == T_async",
    "max(tau + d) == max(tau) + max(d)",
    "count(d > 0) == S - 1",
    "tau[-1] >= d[-1] + tau[0]",
    # false only from three stages on, where a vector divided by 0 says nothing about the rest
    "(rho == 1 or max((abs(tau-d)+1)/(1-rho)) >= 1) and implies(rho == 1 and S >= 3, T_blocking <= T_async)",
    "(rho == 0 or sum((abs(tau-d)+1)/rho) >= 0) and implies(rho == 0 and S >= 3, T_blocking <= T_async)",
    "implies(rho > 0, sum(abs(tau-d+1)/rho) >= 0) and implies(S >= 3 and rho == 0, tau[0] <= 5)",
    "(any(tau == 0) or sum(d/tau) >= 0) and implies(any(tau == 0) and S >= 3, T_blocking <= T_async)",
]


def decided(text: str, seconds: float = 60, **bounds: int) -> Verdict:
    return prove(text, seconds=seconds, **bounds)


def example(S: int, rng: random.Random, M: int) -> Example:
    def one() -> Fraction:
        return Fraction(rng.choice((0, 0, 1, 1, 2, 3)))

    tau = [one() for _ in range(S)]
    if not any(tau):
        tau[rng.randrange(S)] = Fraction(1)
    times = Times(tuple(tau), tuple(one() for _ in range(S - 1)), (Fraction(0),) * (S - 1))
    return Example((times,), M, rng.choice((Fraction(0), Fraction(1, 2), Fraction(1))))


@pytest.mark.parametrize("text", NEAR_THE_TRUTH)
def test_falsehoods_near_the_truth_are_never_proved(text: str) -> None:
    """Strict for non-strict, ties, zeros, S = 1, M = 1: each has a counterexample, and the prover finds it."""
    assert decided(text).status == "refuted"


@pytest.mark.parametrize("text", ["(T_blocking - T_async)/(T_blocking - T_async) == 1", "T_free/(M-1) >= max(tau)"])
def test_a_division_that_may_be_by_zero_is_told(text: str) -> None:
    """Where the denominator may be 0, the proof says that it is about the other points only."""
    verdict = decided(text)
    assert verdict.status == "proved"
    assert verdict.assumptions[-1] == WHERE_DEFINED


@pytest.mark.parametrize("text", ["T_async/T_blocking <= 1", "implies(M > 1, T_free/(M-1) >= max(tau))"])
def test_a_division_that_is_never_by_zero_is_shown_to_be_so(text: str) -> None:
    """A positive denominator, and one that a premise keeps from 0, need no reservation."""
    verdict = decided(text)
    assert verdict.status == "proved"
    assert WHERE_DEFINED not in verdict.assumptions


@pytest.mark.parametrize("text", ["1/(T_free - T_free) > 0", "sum(tau/d) >= 0", "tau[0]/d[-1] > 1"])
def test_what_is_defined_nowhere_is_not_proved(text: str) -> None:
    """Without a single point where the statement is defined and true there is no proof."""
    assert decided(text, seconds=2, stages=2, microbatches=2).status == "undecided"


@pytest.mark.parametrize("text", ["2*M != 3", "not (1 < M < 2)", "implies(M > 1, M >= 2)", "T_async(M/2) <= T_async"])
def test_a_fractional_m_refutes_nothing(text: str) -> None:
    """Statements that only a fractional number of micro-batches would break are proved, or left open."""
    assert decided(text, seconds=3, stages=2, microbatches=2).status != "refuted"


@pytest.mark.parametrize("text", ["(2*M-3)*(2*M-3) > 0", "M*M >= M", "(M-1)*(M-2)*max(tau) >= 0"])
def test_powers_of_m_are_no_obstacle_to_honesty(text: str) -> None:
    """A statement that is not affine in M is true here for whole M, and is proved in some bounds or left open."""
    assert decided(text, seconds=3, stages=2, microbatches=3).status != "refuted"


def test_an_irrational_model_is_no_refutation() -> None:
    """tau² = 2 has no rational solution: the statement is left open, and never refuted by rounding."""
    verdict = decided("tau[0]*tau[0] != 2 or S > 1", seconds=3, stages=1, microbatches=1)
    assert verdict.status == "undecided"


def test_no_time_is_no_proof() -> None:
    """With next to no time the verdict is open."""
    assert decided("cor5", seconds=1e-6).status == "undecided"


def test_a_solver_that_gives_up_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a solver that never answers, every claim is undecided."""
    monkeypatch.setattr(smt.Prover, "ask", lambda self, conditions, seconds=None: ("unknown", None))
    for text in ("cor5", "thm1", "T_rendezvous <= 2*T_blocking", "T_async < T_blocking"):
        assert decided(text, seconds=1).status == "undecided"


def test_a_solver_whose_models_are_wrong_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that the exact recurrences do not confirm is no counterexample."""
    ask = smt.Prover.ask

    def any_model(self: smt.Prover, conditions: object, seconds: float | None = None) -> tuple[str, object]:
        solver = z3.Solver()
        solver.add(z3.Real("tau[0]") == 1)
        solver.check()
        return "sat", solver.model()

    monkeypatch.setattr(smt.Prover, "ask", any_model)
    verdict = decided("T_async <= T_blocking", seconds=2, stages=2, microbatches=2)
    monkeypatch.setattr(smt.Prover, "ask", ask)
    assert verdict.status == "undecided"


def random_statement(rng: random.Random) -> str:
    """From small templates; about half of them are false."""
    times = ["T_free", "T_async", "T_blocking", "T_partial", "T_gpipe", "T_async(1)", "T_blocking(M+1)", "M*sum(tau)"]
    more = ["sum(d)", "max(tau)", "(M-1)*max(d)", "min(tau)", "tau[-1]", "S*max(tau)", "rho*sum(d)", "0"]
    left, right = rng.choice(times), rng.choice(times)
    comparison = f"{left} {rng.choice(('<=', '<', '==', '>='))} {rng.choice(('', '2*'))}{right} + {rng.choice(more)}"
    premise = rng.choice(("", "", "all(d <= tau)", "M >= S", "any(d > tau)", "S > 1", "T_async < T_blocking"))
    return f"implies({premise}, {comparison})" if premise else comparison


def test_brute_force_never_contradicts_a_proof() -> None:
    """On random statements, no small system breaks what is proved, whatever the bounds of the proof."""
    rng = random.Random(5)
    outcomes: dict[str, int] = {}
    for _ in range(50):
        text = random_statement(rng)
        verdict = decided(text, seconds=1.5, stages=3, microbatches=3)
        outcomes[verdict.status] = outcomes.get(verdict.status, 0) + 1
        (problem,) = problems_of(claim(text))
        for _ in range(60):
            S, M = rng.randint(1, verdict.stages or 5), rng.randint(1, verdict.microbatches or 6)
            if verdict.status == "proved":
                assert problem.question.decide(example(S, rng, M)).holds is not False, text
    assert outcomes["proved"] >= 5
    assert outcomes["refuted"] >= 5


def test_an_invariant_of_the_claim_is_used_only_as_far_as_it_is_inductive() -> None:
    """A false invariant proves nothing, and a true one helps."""
    base = {"id": "one", "title": "one", "source": "test", "statement": "T_async < T_blocking", "given": {}}
    lie = Claim.model_validate(base | {"invariant": "max(tau) < max(tau + d)"})
    assert prove(lie, seconds=60).status == "refuted"
    true = Claim.model_validate(base | {"statement": "T_async <= T_blocking", "invariant": "max(tau) <= max(tau + d)"})
    assert prove(true, seconds=60).bounds == "every S and M"


@pytest.mark.parametrize(
    "text",
    [
        "*".join(["(T_async + T_blocking)"] * 12) + " > 0",
        " + ".join(f"max(T_async({k}), {k}*T_blocking)" for k in range(1, 40)) + " >= 0",
        " and ".join(f"T_async <= {k}*T_blocking" for k in range(1, 60)),
        "T_rendezvous(1000000) >= 0",
    ],
)
def test_huge_statements_end_in_time(text: str) -> None:
    """Products and cases that explode are proved within smaller bounds or left open, near the time limit."""
    began = time.monotonic()
    assert decided(text, seconds=1).status != "refuted"
    assert time.monotonic() - began < 1 + children.task_seconds(70)


def test_what_cannot_be_spelled_out_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """A witness, or a simpler counterexample, that falls into too many cases is done without."""

    def refuse(*_: object, **__: object) -> None:
        raise Unsupported("it falls into too many cases")

    (problem,) = problems_of(claim("T_async <= T_blocking"))
    (false,) = problems_of(claim("T_blocking <= T_async"))
    found = refuted_by(false, Example((Times((Fraction(1), Fraction(1)), (Fraction(1),), (Fraction(0),)),), 2, None))
    assert found is not None
    monkeypatch.setattr(bounded, "Spelled", refuse)
    prover = smt.Prover(time.monotonic() + 60)
    assert not bounded.holds_somewhere(problem, prover)
    assert bounded._simpler(false, (2,), found, prover) is found
