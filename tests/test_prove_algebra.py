"""The prover's building blocks: polynomials, formulas, and what is taken from stages and micro-batches."""

from __future__ import annotations

import random
import time
from fractions import Fraction
from itertools import product

import pytest

from hpsim.claims.catalogue import claim
from hpsim.claims.exact_algebra import holds as holds_exactly
from hpsim.conjecture.example import Example, Times
from hpsim.conjecture.prove.chain_lemma import chain_lemma
from hpsim.conjecture.prove.cycles import cycle_ratios
from hpsim.conjecture.prove.every_m import without_n
from hpsim.conjecture.prove.every_s import Induction
from hpsim.conjecture.prove.explicit import Spelled
from hpsim.conjecture.prove.folds import Fold
from hpsim.conjecture.prove.formula import FALSE, TRUE, Formula, compared, every, holds, negated, some
from hpsim.conjecture.prove.poly import Poly, poly, variable
from hpsim.conjecture.prove.problem import problems_of
from hpsim.conjecture.prove.smt import Prover, exported
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.prove.value import STAGE, N
from hpsim.event_graph import graph_of
from hpsim.reference.chain import chain
from hpsim.regime import RENDEZVOUS, Regime
from hpsim.throughput_law import steady_slope

z3 = pytest.importorskip("z3")

x, y, n = variable("x"), variable("y"), variable(N)

STATEMENTS = [
    "T_async <= T_blocking",
    "T_free < T_async",
    "T_blocking - T_async == (M-1)*(sigma_max - tau_max)",
    "T_partial == rho*T_async + (1-rho)*T_blocking",
    "implies(M >= S-1, T_gpipe <= 2*T_free)",
    "iff(slope(blocking) == slope(async), all(d <= tau_max - tau))",
    "any(d > tau) or count(d == 0) >= S - 1",
    "M/(M-1) > T_blocking/(T_blocking - T_async)",
    "(T_gpipe - T_free)/T_free >= 1/S",
    "sum(abs(tau - d)) <= sum(tau) or max(tau - d) < min(tau + d)",
    "all(tau == max(tau)) or T_async(M+1) != T_async(2*M-3)",
    "tau[0] + tau[-1] <= max(tau + d) or not all(d + tau > 1)",
    "T_free >= M*sum(tau)/S + (1 - 1/S)*sum(tau)",
    "all(tau <= 2 or d < sum(tau)/S) and sum((M-1)*tau - S*d) >= 0",
]


def random_times(rng: random.Random, S: int) -> Times:
    def one() -> Fraction:
        return Fraction(rng.randint(0, 4), rng.choice((1, 1, 2)))

    tau = [one() for _ in range(S)]
    tau[rng.randrange(S)] += 1
    links = tuple(one() for _ in range(S - 1))
    return Times(tuple(tau), links, (Fraction(0),) * (S - 1))


def exactly(statement: str, example: Example) -> bool | None:
    """The truth by the plain recurrences."""
    (problem,) = problems_of(claim(statement))
    return holds_exactly(problem.statement, problem.question.systems(example), example.M, example.rho)


def fold_value(fold: Fold, times: Times, rho: Fraction) -> Fraction:
    """A fold computed from its meaning."""
    values = []
    for tau, d in zip(times.tau, (*times.d, Fraction(0)), strict=True):
        stage = {f"{STAGE}tau": tau, f"{STAGE}d": d, "rho": rho}
        (value,) = {
            case.number.at(stage) / case.divisor.at(stage) for case in fold.body.cases if holds(case.guard, stage)
        }
        values.append(value)
    table = {"sum": sum(values), "max": max(values), "min": min(values), "first": values[0], "last": values[-1]}
    return Fraction(table[fold.kind])


def test_polynomials_cancel_and_evaluate() -> None:
    """(x+y)² - x² - 2xy - y² is 0, and values agree with the arithmetic of numbers."""
    assert (x + y) * (x + y) - x * x - 2 * x * y == y * y
    assert ((x + y) * (x - 3)).at({"x": Fraction(5), "y": Fraction(1, 2)}) == 11
    assert (x * x + 2).replaced("x", y + 1) == y * y + 2 * y + 3
    assert (x * n * n + 3 - n).by_powers_of(N) == [poly(3), poly(-1), x]
    assert repr(x * x * 2 - y + 1) == "1 + 2·x^2 + -1·y"


def test_formulas_are_decided_where_they_are_plain() -> None:
    """Comparisons of constants and empty joins are settled at once, and double negation is the identity."""
    assert compared(poly(1), ">") == TRUE
    assert compared(poly(0), "!=") == FALSE
    formula = every((compared(x, ">"), some((compared(y, "=="), compared(x - y, "<=")))))
    assert negated(negated(formula)) == formula
    assert every((formula, FALSE)) == FALSE
    assert some(()) == FALSE


def test_taking_n_out_never_loses_a_solution(rng: random.Random) -> None:
    """Wherever some whole n >= 0 fits a random formula, the formula without n holds, too."""

    def random_poly() -> Poly:
        return sum((rng.randint(-3, 3) * term for term in (poly(1), x, n, x * n, y, n * n)), poly(0))

    def random_formula(depth: int) -> Formula:
        if depth == 0:
            return compared(random_poly(), rng.choice(("<", "<=", ">", ">=", "==", "!=")))
        parts = [random_formula(depth - 1) for _ in range(2)]
        return (every if rng.random() < 0.6 else some)(parts)

    met = 0
    for _ in range(200):
        formula = random_formula(rng.randint(0, 2))
        reduced = without_n(formula)
        for a, b in product(range(-1, 3), repeat=2):
            values = {"x": Fraction(a), "y": Fraction(b)}
            if any(holds(formula, values | {N: Fraction(k)}) for k in range(12)):
                met += 1
                assert holds(reduced, values), (formula, values)
    assert met > 1000


def test_one_affine_comparison_loses_nothing(rng: random.Random) -> None:
    """For one strict comparison that is affine in n the formula without n holds only where some n fits."""
    for _ in range(150):
        a, b, c, d = (rng.randint(-4, 4) for _ in range(4))
        formula = compared(poly(a) + b * x + n * (c + d * x), ">")
        for value in (Fraction(-2), Fraction(0), Fraction(1, 3), Fraction(5)):
            found = any(holds(formula, {"x": value, N: Fraction(k)}) for k in range(60))
            assert holds(without_n(formula), {"x": value}) == found


@pytest.mark.parametrize(
    ("conditions", "possible"),
    [
        ((compared(n - Fraction(1, 2), ">"), compared(n - 1, "<")), False),
        ((compared(2 * n - 3, "=="),), False),
        ((compared(2 * n - 4, "=="),), True),
        ((compared(n, "!="), compared(n - 1, "<")), False),
        ((compared(n + 1, "<="),), False),
    ],
)
def test_only_whole_n_count(conditions: tuple[Formula, ...], possible: bool) -> None:
    """No n between 1/2 and 1, n = 3/2 or n = -1 stands for a number of micro-batches."""
    assert without_n(every(conditions)) == (TRUE if possible else FALSE)


def test_the_closed_form_of_a_chain_is_shown_and_right(rng: random.Random) -> None:
    """The solver shows the three lemmas, and the closed form agrees with the plain recurrence."""
    prover = Prover(time.monotonic() + 60)
    assert chain_lemma(prover)
    assert len(prover.lemmas) == 3
    for _ in range(50):
        S, M = rng.randint(1, 5), rng.randint(1, 6)
        o = [Fraction(rng.randint(0, 9), 2) for _ in range(S)]
        f = [Fraction(rng.randint(0, 9), 2) for _ in range(S - 1)]
        assert chain(o, f, M)[-1][-1] == sum(o) + sum(f) + (M - 1) * max(o)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_spelled_out_fails_where_it_fails(statement: str, rng: random.Random) -> None:
    """At random pipelines the formula that is put to the solver is decided as by the plain recurrences."""
    (problem,) = problems_of(claim(statement))
    for _ in range(40):
        S, M = rng.randint(1, 4), rng.randint(1, 5)
        rho = rng.choice((Fraction(0), Fraction(1, 3), Fraction(1)))
        example = Example((random_times(rng, S),), M, rho)
        truth = exactly(statement, example)
        at_m = Spelled(problem, (S,), M, example)
        assert (at_m.fails, at_m.holds) == ((TRUE if truth is False else FALSE), (TRUE if truth else FALSE))
        every_m = Spelled(problem, (S,), None, example)
        assert holds(every_m.fails, {N: Fraction(M - 1)}) is (truth is False)
        if truth is False:
            assert holds(without_n(every_m.fails), {})


def test_a_vector_that_mixes_stages_with_the_whole_is_no_fold() -> None:
    """A disjunction at each stage whose parts need numbers of the whole is left to a fixed number of stages."""
    with pytest.raises(Unsupported):
        Induction(problems_of(claim(STATEMENTS[-1]))[0])


@pytest.mark.parametrize("statement", STATEMENTS[:-1])
def test_a_statement_over_folds_fails_where_it_fails(statement: str, rng: random.Random) -> None:
    """With folds computed from their meaning, the formula over folds is decided as by the plain recurrences."""
    (problem,) = problems_of(claim(statement))
    induction = Induction(problem)
    for _ in range(40):
        S, M = rng.randint(1, 5), rng.randint(1, 5)
        example = Example((random_times(rng, S),), M, rng.choice((Fraction(0), Fraction(1, 3), Fraction(1))))
        assert example.rho is not None
        values = {fold.name: fold_value(fold, example.pipelines[0], example.rho) for fold in induction.folds}
        values |= {"S": Fraction(S), "rho": example.rho, N: Fraction(M - 1)}
        fails = exactly(statement, example) is False
        assert holds(induction.fails_at_n, values) is fails
        if fails:
            assert holds(induction.fails, values)


TWO = [
    ("same S", "A.T_blocking + sum(B.d) <= B.T_async + sum(A.d) + M*max(A.tau)"),
    ("same tau", "A.T_blocking - B.T_blocking == sum(A.d - B.d) or any(A.d > B.d) or max(A.tau + B.d) > 3"),
    ("same d", "A.T_async - B.T_async <= (M-1)*max(A.tau - B.tau) and sum(A.tau) != sum(B.tau)"),
    ("permutation", "A.T_async == B.T_async and max(A.tau + A.d) <= max(B.tau) + max(B.d) - min(B.tau)/2"),
]


@pytest.mark.parametrize(("relation", "statement"), TWO)
def test_two_related_pipelines_fail_where_they_fail(relation: str, statement: str, rng: random.Random) -> None:
    """For every relation, formulas spelled out and over folds are decided as by the plain recurrences."""
    (problem,) = problems_of(claim(statement, relation=relation))
    induction = Induction(problem)
    truths = set()
    for _ in range(40):
        S, M = rng.randint(1, 4), rng.randint(1, 4)
        a, b = random_times(rng, S), random_times(rng, S)
        if relation == "same tau":
            b = Times(a.tau, b.d, b.latency)
        if relation in ("same d", "permutation"):
            b = Times(tuple(rng.sample(a.tau, S)) if relation == "permutation" else b.tau, a.d, b.latency)
        example = Example((a, b), M)
        assert problem.question.admits(example)
        truth = holds_exactly(problem.statement, problem.question.systems(example), M)
        truths.add(truth)
        assert Spelled(problem, (S, S), M, example).fails == (TRUE if truth is False else FALSE)
        values = {fold.name: fold_value_of_two(fold, a, b) for fold in induction.folds}
        values |= {"S": Fraction(S), "rho": Fraction(0), N: Fraction(M - 1)}
        assert holds(induction.fails_at_n, values) is (truth is False)
    assert truths == {True, False}


def fold_value_of_two(fold: Fold, a: Times, b: Times) -> Fraction:
    """A fold over both pipelines at once, computed from its meaning."""
    values = []
    for s in range(a.S):
        stage = {f"{STAGE}{name}.tau": times.tau[s] for name, times in (("A", a), ("B", b))}
        stage |= {f"{STAGE}{name}.d": (*times.d, Fraction(0))[s] for name, times in (("A", a), ("B", b))}
        (case,) = fold.body.cases
        values.append(case.number.at(stage))
    return Fraction({"sum": sum, "max": max, "min": min}[fold.kind](values))  # type: ignore[operator]


def test_rendezvous_and_limits_are_unrolled_as_they_run(rng: random.Random) -> None:
    """At exact times, makespans by the event graph of polynomials are those of the plain twin."""
    text = "T(tight) <= T_rendezvous and slope(tight) <= law(rendezvous) and law(tight) == slope(tight)"
    regimes = {"tight": {"overlap": "1/3", "buffers": 1, "window": 3, "feedback": "1/2"}}
    (problem,) = problems_of(claim(text, regimes))
    for _ in range(30):
        S, M = rng.randint(1, 4), rng.randint(1, 5)
        example = Example((random_times(rng, S),), M, None)
        truth = holds_exactly(problem.statement, problem.question.systems(example), M)
        assert Spelled(problem, (S,), M, example).fails == (TRUE if truth is False else FALSE)


def test_the_slowest_cycle_is_the_slope(rng: random.Random) -> None:
    """The largest ratio of all elementary cycles is the slope that policy iteration finds."""
    for regime in (RENDEZVOUS, Regime(buffers=1, channels=2), Regime(overlap=0, buffers=0, window=2, feedback=1)):
        for _ in range(20):
            times = random_times(rng, rng.randint(1, 4))
            held = [1 - Fraction(share) for share in regime.overlap_of(len(times.d))]
            graph = graph_of(times.tau, times.d, times.latency, regime, held)
            slope = max(ratio.constant or Fraction(0) for ratio in cycle_ratios(graph))
            assert slope == steady_slope(times.tau, times.d, times.latency, regime)


def test_no_answer_is_no_proof() -> None:
    """Without time left nothing is shown, and no lemma is kept."""
    prover = Prover(time.monotonic() - 1)
    assert prover.ask([FALSE]) == ("unknown", None)
    assert not prover.shows("nothing", [FALSE])
    assert not prover.lemmas


def test_an_invariant_may_be_cut_down_and_still_carries() -> None:
    """Of helpers, those that are not needed are left out."""
    prover = Prover(time.monotonic() + 60)
    needed, idle = compared(x - 1, ">="), compared(y, ">=")
    assert prover.core([compared(x, "<")], [idle, needed]) == [needed]


def test_exported_lemmas_are_answered_unsat_by_the_solver_itself() -> None:
    """Every piece between push and pop is unsatisfiable when it is read back from text."""
    prover = Prover(time.monotonic() + 60)
    assert chain_lemma(prover)
    assert prover.shows(
        "odd name", [compared(variable("max(tau + d)'") - 1, ">"), compared(variable("max(tau + d)'"), "<")]
    )
    text = exported(prover.lemmas, "heading")
    pieces = text.split("(push 1)")[1:]
    assert len(pieces) == 4
    for piece in pieces:
        solver = z3.Solver()
        solver.from_string(piece.split("(check-sat)")[0])
        assert solver.check() == z3.unsat


def test_a_formula_that_would_grow_without_bound_is_not_built() -> None:
    """Each `iff` within another doubles what is inside both; many of them are refused, a few are spelled out."""
    for nested, told in ((6, None), (40, "too many cases")):
        (problem,) = problems_of(claim("iff(T_async > 3, " * nested + "T_async <= T_blocking" + ")" * nested))
        if told is None:
            assert Spelled(problem, (2,), 2).fails not in (TRUE, FALSE)
        else:
            with pytest.raises(Unsupported, match=told):
                Spelled(problem, (2,), 2)
