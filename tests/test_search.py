"""``search`` finds planted falsehoods and never refutes what is true; what it reports does not depend on threads."""

from __future__ import annotations

import json
import math
import random
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import children
import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import SIZE, scaled, seeds, slow

from hpsim.claims import exact_algebra
from hpsim.claims.catalogue import claim
from hpsim.claims.parse import parse
from hpsim.cli import cli
from hpsim.conjecture.counterexample import load_counterexample
from hpsim.conjecture.example import Example, Times
from hpsim.conjecture.mutate import mutated
from hpsim.conjecture.point_rows import GRID, Rows, decide_rows
from hpsim.conjecture.question import Question, question_of, related
from hpsim.conjecture.search import search
from hpsim.conjecture.search_result import Progress
from hpsim.conjecture.small import Level, simplest, size
from hpsim.errors import HpsimError
from hpsim.sweep.spec import make_sweep

compiled = pytest.mark.skipif(SIZE < 1, reason="millions of points, which only compiled kernels look at in time")

SEARCH = "from hpsim.cli import main; main()"
TABLE_1 = "implies(max(A.tau)/min(A.tau) > max(B.tau)/min(B.tau), A.T_gpipe/A.T_free >= B.T_gpipe/B.T_free)"


def question(text: str, relation: str | None = None) -> Question:
    return Question(parse(text, relation=relation), relation)


def times(tau: str, d: str = "") -> Times:
    service = tuple(map(Fraction, tau.split()))
    links = (Fraction(0),) * (len(service) - 1)
    return Times(service, tuple(map(Fraction, d.split())) or links, links)


# The minima below are those that brute force finds in test_shrink.py; the rest is checked by hand.
FALSEHOODS = [
    ("T_blocking <= T_async + sum(d)", None, Example((times("1 1", "1"),), 3)),
    ("T_blocking <= 2*T_async", None, Example((times("1 1", "5"),), 3)),
    ("T_rendezvous <= T_blocking", None, Example((times("1 2", "1"),), 2)),
    ("2*T_rendezvous <= 3*T_blocking", None, Example((times("1 7", "6"),), 4)),
    ("implies(M >= S-2, T_gpipe <= 2*T_free)", None, Example((times("1 1 5"),), 1)),
    (
        "T_partial == rho*T_async + (1-rho)*T_blocking",
        None,
        Example((times("1 2", "2"),), 2, Fraction(1, 2)),
    ),
    (
        "implies(M > 1 and T_async < T_blocking, tau[0] != tau[1] + d[0])",
        None,
        Example((times("2 1", "1"),), 2),
    ),
    ("implies(S >= 6, T_gpipe <= 2*T_free)", None, Example((times("1 1 1 1 1 3"),), 1)),
    (TABLE_1, "same S", Example((times("1 3 3"), times("1 1 2")), 1)),
    ("A.T_blocking == B.T_blocking", "permutation", Example((times("1 2", "1"), times("2 1", "1")), 2)),
]
TRUTHS = [
    ("T_blocking <= T_async + (M-1)*max(d)", None),
    ("implies(all(d <= max(tau)), T_blocking <= 2*T_async)", None),
    ("T_rendezvous <= 2*T_blocking", None),
    ("implies(M >= S-1, T_gpipe <= 2*T_free)", None),
    ("T_partial <= rho*T_async + (1-rho)*T_blocking", None),
    ("T_free >= M*sum(tau)/S + (1 - 1/S)*sum(tau)", None),
    ("law(blocking) == max(tau + d)", None),
    ("A.T_async == B.T_async", "permutation"),
]


@compiled
@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize(("text", "relation", "minimum"), FALSEHOODS, ids=[text for text, _, _ in FALSEHOODS])
def test_a_planted_falsehood_is_found_and_shrunk(text: str, relation: str | None, minimum: Example, seed: int) -> None:
    """Within the default budget, for several seeds, and down to the minimum of the written order."""
    result = search(question(text, relation), seed=seed)
    assert result.example == minimum
    assert result.found is not None
    assert result.question.refuted_by(result.found)


@pytest.mark.parametrize(("text", "relation"), TRUTHS)
def test_a_true_neighbour_is_never_refuted(text: str, relation: str | None) -> None:
    """Ties by the thousand, and not one of them is taken for a counterexample or left undecided."""
    budget = scaled(300_000)
    result = search(question(text, relation), budget=budget)
    assert not result.refuted
    assert result.doubtful == result.artefacts == 0
    assert 0.5 * budget < result.points < 1.5 * budget + 1000


def test_a_steady_slope_is_not_taken_from_the_law() -> None:
    """In lanes it comes from the law, so the cycle ratio itself decides; what it did not decide is counted."""
    result = search(question("slope(rendezvous) == law(rendezvous)"), budget=scaled(60_000))
    assert not result.refuted
    assert 0 < result.doubtful < result.points


@compiled
def test_what_random_points_miss_is_found_by_changing_them() -> None:
    """It takes twenty stages, more than the space draws: the points nearest to failing lead there."""
    result = search(question("implies(min(tau) > 0 and max(tau) <= 2*min(tau), T_gpipe <= 1.9*T_free)"))
    assert result.phase == "targeted"
    assert result.example == Example((times("1 " * 19 + "2"),), 1)


@compiled
def test_every_small_system_is_tried() -> None:
    """A statement that fails at one spot only, which nothing leads to."""
    spot = "S == 3 and M == 5 and tau[0] == 7 and tau[1] == 1 and tau[2] == 6 and sum(d) == 0"
    result = search(question(f"not ({spot})"), budget=2_000_000, seed=3)
    assert result.example == Example((times("7 1 6"),), 5)


@pytest.mark.parametrize(
    ("text", "regimes", "about_links"),
    [
        ("sum(d) < 1", {}, True),
        ("sum(latency) < 1", {}, True),
        ("T_async < 1", {}, True),
        ("slope(rendezvous) < 1", {}, True),
        ("T(few) < 1", {"few": {"like": "free", "window": 2}}, True),
        ("T(few) < 1", {"few": {"like": "free", "buffers": 0}}, True),
        ("T(few) < 1", {"few": {"like": "free"}}, False),
        ("T_free < T_gpipe", {}, False),
        ("S*M < sum(tau)", {}, False),
    ],
)
def test_what_is_about_links(text: str, regimes: dict[str, Any], about_links: bool) -> None:
    """Transfers, travel times, regimes in which they count, and limits on places or on micro-batches in flight."""
    assert question_of(claim(text, regimes)).about_links == about_links


@compiled
@pytest.mark.parametrize(
    ("text", "regimes"),
    [("T(tight) > T_async", {"tight": {"buffers": 0}}), ("slope(tight) > max(tau)", {"tight": {"buffers": 0}})],
)
def test_limited_places_are_refuted_with_a_link_as_well(text: str, regimes: dict[str, Any]) -> None:
    """A lone micro-batch waits for nobody, and two equal stages keep the pace of one, with no place in between."""
    result = search(claim(text, regimes), seed=2)
    assert result.example == Example((times("1"),), 1)
    assert result.linked is not None
    assert result.linked.example == Example((times("1 1"),), 1)


@compiled
def test_a_search_that_has_a_link_looks_no_further() -> None:
    """Nor one that is about stages alone; nothing stands beside the first counterexample."""
    assert search(question("T_rendezvous <= T_blocking")).linked is None
    for text in ("T_free < 5", "T_gpipe < 5"):
        result = search(question(text))
        assert result.example == Example((times("5"),), 1)
        assert result.linked is None
        assert result.most_telling is result


@compiled
def test_only_the_points_of_a_sweep_are_looked_at_for_a_link() -> None:
    """From a point of two stages that was shrunk too far, from others that were drawn, or from none."""
    described: dict[str, Any] = {"configs": 300, "tau": {"integers": [1, 9]}, "d": {"integers": [0, 9]}}
    described |= {"microbatches": [1, 2], "record": "violations", "seed": 4}
    linked = {}
    for stages in (1, 2, [1, 3]):
        sweep = make_sweep(described | {"stages": stages if isinstance(stages, int) else {"integers": stages}})
        result = search(question("T_async < T_blocking"), sweep=sweep)
        assert result.example == Example((times("1"),), 1)
        assert result.linked is not None
        linked[str(stages)] = result.linked
    assert (linked["1"].example, linked["1"].points) == (None, 0)
    assert linked["2"].example == linked["[1, 3]"].example == Example((times("1 1"),), 1)
    assert linked["2"].found is not None
    assert linked["2"].found.S == 2
    pairs = make_sweep(described | {"stages": {"integers": [1, 2]}})
    both = search(question("A.T_async <= B.T_async"), sweep=pairs).linked
    assert both is not None
    assert both.example == Example((times("1 1", "1"), times("1 1")), 1)


@compiled
@pytest.mark.parametrize(
    "text", ["T_blocking <= 2*T_async", "T_async < T_blocking", "T_rendezvous <= 2*T_blocking", "sum(tau) != 7919"]
)
def test_the_result_does_not_depend_on_the_number_of_threads(text: str) -> None:
    """The lowest chunk counts, whichever ends first."""
    one, two = (search(question(text), budget=400_000, seed=5, workers=workers) for workers in (1, 2))
    assert one == two


def test_the_same_seed_gives_the_same_search() -> None:
    """And another seed another one."""
    budget = scaled(150_000)
    runs = [search(question("T_blocking <= T_rendezvous"), budget=budget, seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0].margin is not None


@compiled
def test_points_without_a_value_count_neither_way() -> None:
    """A division by zero and an entry beyond the last stage are counted as undefined."""
    divided = search(question("max(tau)/(M-1) >= 0"), budget=200_000)
    beyond = search(question("tau[6] >= 0"), budget=200_000)
    assert not divided.refuted
    assert not beyond.refuted
    assert 0 < divided.undefined < divided.points
    assert 0 < beyond.undefined < beyond.points


@compiled
def test_what_only_rounding_refutes_ends_no_search() -> None:
    """x^4 + 1 > x^4 is true, and false in float64 for large x: such points are decided on Fractions, and counted."""
    power = "max(tau)*max(tau)*max(tau)*max(tau)"
    result = search(question(f"{power} + 1 > {power}"), budget=400_000)
    assert not result.refuted
    assert result.artefacts > 0


@compiled
def test_drawn_knobs_are_settled_where_they_refute() -> None:
    """A claim about many regimes is refuted by one of them, which the result names."""
    tight = {"tight": {"overlap": 0, "buffers": {"integers": [0, 3]}}}
    result = search(claim("T(tight) <= T_blocking", tight))
    assert result.question.regimes["tight"].buffers == 0
    assert result.example == Example((times("1 2", "1"),), 2)
    roomy = claim("T(roomy) <= T(tight)", tight | {"roomy": {"like": "tight", "buffers": "+1"}})
    assert not search(roomy, budget=200_000).refuted


@compiled
def test_lists_of_knobs_fix_the_number_of_stages() -> None:
    """Buffers for three stages: only pipelines of three stages are looked at, and the shrinker stays there."""
    result = search(claim("T(three) <= T_async", {"three": {"buffers": ["unlimited", 0, 1]}}), budget=400_000)
    assert result.example is not None
    assert [pipeline.S for pipeline in result.example.pipelines] == [3]


def test_a_sweep_of_ones_own_is_the_space() -> None:
    """Its points and no others: two stages, so that six-stage counterexamples are not found."""
    described: dict[str, Any] = {
        "configs": scaled(20_000),
        "stages": 2,
        "tau": {"integers": [1, 9]},
        "microbatches": [1, 2],
        "record": "violations",
    }
    sweep = make_sweep(described)
    result = search(question("implies(S >= 6, T_gpipe <= 2*T_free)"), sweep=sweep)
    assert (result.refuted, result.points) == (False, sweep.n_points)
    with pytest.raises(HpsimError, match="no overlapped share"):
        search(question("T_partial >= T_async"), sweep=sweep)
    listed = make_sweep({"pipelines": [{"name": "a", "tau": ["1/3", 1], "d": ["2/3"]}], "microbatches": [2, 3]})
    found = search(question("tau[0] + d[0] != tau[1] or M != 3"), sweep=listed).found
    assert found == Example((times("1/3 1", "2/3"),), 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"budget": 0}, "budget: 0"),
        ({"seed": -1}, "seed: -1"),
        ({"workers": 0}, "workers: 0"),
        ({"budget": 1.5}, "1.5"),
    ],
)
def test_arguments_without_sense_are_refused(arguments: dict[str, Any], words: str) -> None:
    """One line says which, and what is allowed."""
    with pytest.raises(HpsimError, match=words):
        search(question("T_async <= T_blocking"), **arguments)


def test_progress_tells_the_phases_in_their_order() -> None:
    """Points only grow, and the nearest margin is known once there were points."""
    told: list[Progress] = []
    search(question("T_async <= T_blocking"), budget=scaled(100_000), on_progress=told.append)
    phases = list(dict.fromkeys(progress.phase for progress in told))
    assert phases == ["random", "targeted", "small systems"]
    assert [p.points for p in told] == sorted(p.points for p in told)
    assert told[-1].margin == 0.0


NUMBERS = [
    *("M", "S", "rho", "2", "3", "0.1", "T_free", "T_async", "T_blocking", "T_partial", "T_rendezvous", "T_gpipe"),
    *("max(tau)", "min(tau)", "sum(d)", "tau[0]", "d[0]", "tau[1]", "T_async(M+1)", "T_blocking(S)", "T_free(M/2)"),
    *("max(tau/(d+1))", "sum(tau*tau)", "count(d>tau)", "law(blocking)", "slope(rendezvous)"),
]


def statement(rng: random.Random) -> str:
    """A random statement of the language."""

    def number(depth: int) -> str:
        if depth == 0:
            return rng.choice(NUMBERS)
        a, b = number(depth - 1), number(depth - 1)
        return rng.choice([f"({a} {rng.choice('+-*/')} {b})", f"max({a}, {b})", f"min({a}, {b})", f"abs({a})"])

    def condition(depth: int) -> str:
        if depth == 0 or rng.random() < 0.5:
            sign = rng.choice(["<", "<=", "==", "!=", ">", ">="])
            return f"{number(rng.randint(0, 2))} {sign} {number(rng.randint(0, 2))}"
        a, b = condition(depth - 1), condition(depth - 1)
        return rng.choice([f"({a} and {b})", f"({a} or {b})", f"not ({a})", f"implies({a}, {b})", f"iff({a}, {b})"])

    return condition(2)


def test_lanes_decide_as_fractions_do(rng: random.Random) -> None:
    """On random statements at random points: the same truth unless it is called near, and a margin of its sign."""
    generator = np.random.default_rng(7)
    near = points = 0
    for _ in range(scaled(250)):
        asked = question(statement(rng))
        S, n = rng.randint(1, 4), 12
        grid = 1.0 if rng.random() < 0.6 else GRID
        tau, d, latency = (np.rint(generator.random((n, k)) * 5 / grid) * grid for k in (S, S - 1, S - 1))
        tau[~tau.any(axis=1), 0] = 1.0
        M, rho = np.floor(generator.random(n) * 6) + 1, np.rint(generator.random(n) * 16) / 16
        rows = Rows((tau,), (d,), (latency,), M, rho)
        decision = decide_rows(asked, rows, margins=True)
        assert decision.margin is not None
        for index in range(n):
            points += 1
            near += bool(decision.near[index])
            if decision.near[index]:
                continue
            example = rows.example(index)
            truth = exact_algebra.holds(asked.statement, asked.systems(example), example.M, example.rho)
            assert truth == (bool(decision.truth[index]) if decision.defined[index] else None), asked.statement.text
            if truth is not None and decision.margin[index] != 0:
                assert (decision.margin[index] > 0) == truth
    assert near < 0.02 * points + 5


@pytest.mark.parametrize("relation", [None, "same S", "permutation", "same tau", "same d"])
def test_changes_keep_the_grid_and_the_relation(relation: str | None) -> None:
    """Every variant is a point of the question: related as it says, on the grid, with a stage that serves."""
    asked = question("A.T_blocking <= B.T_blocking", relation)
    ones = np.ones((4, 3))
    rows = Rows((ones, ones), (ones[:, 1:], ones[:, 1:]), (0 * ones[:, 1:],) * 2, np.ones(4), None)
    generator = np.random.default_rng(1)
    groups = mutated(asked, rows, 30, generator)
    for _ in range(3):
        groups = [more for group in groups for more in mutated(asked, group[slice(0, 9)], 10, generator)]
    seen = [group.example(index) for group in groups for index in range(len(group))]
    assert len(set(seen)) > 100
    for example in seen:
        assert asked.admits(example)
        assert relation is None or related(relation, *example.pipelines)
        assert all(value * 1024 == int(value * 1024) for t in example.pipelines for value in t.values)


def test_a_level_holds_as_many_systems_as_it_says() -> None:
    """Three stages whose times add up to 4: C(8, 4) vectors of five times, less those where nothing serves."""
    level = Level((3,), 4)
    asked = question("T_async <= T_blocking")
    assert size(asked, level) == 70
    findings = simplest(asked, level, [1, 2])
    assert (findings.example, findings.points, findings.undefined) == (None, 2 * (70 - 5), 0)
    nowhere = simplest(question("1/(M-1) > 0"), level, [1, 2])
    assert (nowhere.example, nowhere.undefined) == (None, nowhere.points // 2)


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


@compiled
def test_a_counterexample_is_one_line_and_exit_code_1() -> None:
    """The point, both sides there, and how it was found."""
    result = run("search", "T_rendezvous <= T_blocking")
    assert result.exit_code == 1
    point = "refuted   tau = [1, 2]   d = [1]   M = 2     T_rendezvous = 7 > T_blocking = 6      (found after "
    assert result.stdout.startswith(point)
    assert ", shrunk from S=" in result.stdout
    assert len(result.stdout.splitlines()) == 1


def test_holding_is_one_line_and_exit_code_0() -> None:
    """How many points, and how close it came."""
    budget = scaled(100_000)
    result = run("search", "T_async <= T_blocking", "--budget", str(budget))
    assert result.exit_code == 0
    assert result.stdout.startswith("held      on ")
    assert result.stderr.endswith('next: hpsim prove "T_async <= T_blocking"\n')
    data = json.loads(run("search", "cor5", "--budget", str(budget), "--json").stdout)
    assert (data["verdict"], data["counterexample"], data["closest_margin"]) == ("held", None, 0.0)
    assert math.copysign(1.0, data["closest_margin"]) == 1.0, "no -0.0"


@compiled
def test_what_the_solver_shows_is_told_as_a_rectangle(tmp_path: Path) -> None:
    """Not size by size; and that nothing was saved is told, too."""
    pytest.importorskip("z3")
    target = tmp_path / "found.yaml"
    told = run("search", "T_async <= T_blocking", "--budget", "1000000", "--save", str(target)).stderr.splitlines()
    assert "note: the solver shows that there is none with S <= 3, M <= 3, whatever the times" in told
    assert f"note: there is nothing to save; {target} is not written" in told
    assert not target.exists()


def test_what_cannot_be_proved_is_not_recommended_for_a_proof() -> None:
    """The prover is not named where it does not take the statement: here for too many micro-batches to unroll."""
    told = run("search", "T_rendezvous(2000) > 0", "--budget", str(scaled(100))).stderr
    assert "next:" not in told


LIMITED = """\
configs: 300
stages: 3
tau: {integers: [1, 9]}
d: {integers: [0, 9]}
microbatches: [1, 2, 5]
regimes:
- {name: tight, overlap: 0, buffers: 1}
- {name: roomy, like: tight, buffers: +1}
- {name: drawn, overlap: 0, buffers: {integers: [0, 2]}}
"""


def test_the_regimes_of_a_sweep_are_known(tmp_path: Path) -> None:
    """By their names; the command that proves the same defines them, and what they are like."""
    file = tmp_path / "limited.yaml"
    file.write_text(LIMITED, encoding="utf-8")
    result = run("search", "T_async <= T(roomy)", "--sweep", str(file))
    assert result.stdout.startswith("held      on 900 points")
    regimes = '--regime "tight={overlap: 0, buffers: 1}" --regime "roomy={like: tight, buffers: +1}"'
    assert result.stderr.endswith(f'next: hpsim prove "T_async <= T(roomy)" {regimes}\n')
    assert run("search", "T(tight) <= T_async", "--sweep", str(file)).exit_code == 1
    own = run("search", "T(tight) == T_async", "--sweep", str(file), "--regime", "tight={overlap: 1}")
    assert own.exit_code == 0, "what is defined beside the statement comes first"
    refused = run("search", "T(drawn) >= T_async", "--sweep", str(file))
    told = "sweep: its regime drawn draws buffers for each configuration; fixed counts; or the statement among "
    assert str(refused.exception).startswith(told)


@compiled
def test_a_counterexample_without_a_link_has_one_with_a_link_below_it(tmp_path: Path) -> None:
    """Both are printed and in the JSON; the file holds the one with a link, and says so."""
    target = tmp_path / "found.yaml"
    result = run("search", "T_async < T_blocking", "--save", str(target))
    first, second = result.stdout.splitlines()
    assert first.startswith(
        "refuted   tau = [1]   d = []   M = 1     T_async = 1 >= T_blocking = 1      (simplest: S = 1, "
    )
    assert "(simplest: S = 1, which has no link; found after " in first
    assert second.startswith("          tau = [1, 1]   d = [0]   M = 1     T_async = 2 >= T_blocking = 2      (")
    assert "(simplest with a link; shrunk from S=" in second
    assert result.stderr.endswith(f"note: {target} holds the simplest with a link\n")
    saved = load_counterexample(target)
    assert saved.example == Example((times("1 1"),), 1)
    assert str(saved.note).endswith("; with a link; the simplest of all is at S = 1, which has no link")
    data = json.loads(run("search", "T_async < T_blocking", "--json").stdout)
    assert data["counterexample"]["example"] == {"tau": [1], "M": 1}
    assert data["with_a_link"]["counterexample"]["example"] == {"tau": [1, 1], "M": 1}
    assert json.loads(run("search", "T_rendezvous <= T_blocking", "--json").stdout)["with_a_link"] is None


@compiled
def test_that_none_has_a_link_is_told(tmp_path: Path) -> None:
    """What holds as soon as there is a link: the one without is saved. Of two pipelines, those without are named."""
    target = tmp_path / "found.yaml"
    result = run("search", "S > 1 or T_async < 0", "--budget", "50000", "--save", str(target))
    assert result.stdout.splitlines()[1].startswith("          with a link it held on ")
    saved = load_counterexample(target)
    assert saved.example == Example((times("1"),), 1)
    assert str(saved.note).endswith("; at S = 1, which has no link")
    told = run("search", "implies(B.S > 1, A.T_async >= B.T_async)", "--budget", "50000").stdout
    assert "(simplest: S = 1 and 2, where A has no link; found " in told


@compiled
def test_json_holds_the_counterexample_exactly(tmp_path: Path) -> None:
    """The same data as the saved file."""
    words = ("search", "A.T_blocking <= B.T_blocking", "--relation", "permutation", "--json")
    data = json.loads(run(*words, "--save", str(tmp_path / "found.yaml")).stdout)
    assert data["verdict"] == "refuted"
    assert data["counterexample"]["example"] == {
        "A": {"tau": [2, 1], "d": [1]},
        "B": {"tau": [1, 2], "d": [1]},
        "M": 2,
    }
    assert "permutation" in (tmp_path / "found.yaml").read_text(encoding="utf-8")


BAD = [
    (["T_foo < 2"], "column 1: unknown name 'T_foo'"),
    (["tau < 3"], "all(tau < 3) or any(tau < 3)"),
    ([""], "nothing is written"),
    (["tau.__class__ == 1"], "column 1: a dot"),
    (["__import__('os')"], "is no statement; a condition, for example T_async <= T_blocking"),
    (["blocking is always slower"], "or a claim such as loose-sandwich, 'No real pipeline is slower than blocking'"),
    (
        ["async beats blocking"],
        "'async beats blocking' is no statement; a condition, for example T_async <= T_blocking; or",
    ),
    (
        ["is async faster?"],
        "no statement; a condition, for example T_async <= T_blocking; or the id of a claim, see hpsim",
    ),
    (["https://example.org/?a=1&b=2"], "is no statement; a condition, for example T_async <= T_blocking"),
    (["import numpy\nprint(1 < 2)"], "is no statement; a condition, for example T_async <= T_blocking"),
    (["the order of stages does not matter"], "or a claim such as prop2, "),
    (["Corollary 5"], "or a claim such as cor5, "),
    (["theorem 2"], "or a claim such as thm2, "),
    (["Graham's bound"], "or a claim such as graham, "),
    (["Cor5"], "Cor5 is neither a condition nor the id of a claim; did you mean cor5"),
    (["42"], "a number, not a condition; a comparison, for example T_async <= T_blocking"),
    (["T = 3"], "column 3: a single =; == for equality, for example T_async == T_blocking"),
    (["(" * 5000], "nested deeper"),
    (["A.tau == B.tau"], "column 1"),
    (["nosuchclaim"], "neither a condition nor the id of a claim; see hpsim claims"),
    (["T(tight) > 2"], '; to define it: --regime "tight={overlap: 0, buffers: 1}"'),
    (["T_async > 2", "--relation", "similar"], "relation: 'similar'; one of same S, permutation"),
    (["T_async > 2", "--relation", "same S"], "one pipeline only"),
    (["T(a) > 2", "--regime", "a"], "--regime: 'a'; NAME={knob: value, …}"),
    (["T(a) > 2", "--regime", "a=5"], "is no mapping of knobs"),
    (["T(a) > 2", "--regime", "a={bufers: 1}"], "did you mean 'buffers'?"),
    (["T(a) > 2", "--regime", "a={buffers: -1}"], "found -1"),
    (["T(a) > 2", "--regime", "a={buffers: 1}", "--regime", "a={buffers: 2}"], "one name twice"),
    (["T(a) > 2", "--regime", "a={overlap: 0, channels: 1}"], "channels"),
    (["T(a) > 2", "--regime", "a={buffers: [0, 1], overlap: [1, 1]}"], "2 values for 3 stages"),
    (["T_async > 2", "--budget", "0"], "budget: 0"),
    (["T_async > 2", "--budget", "many"], "'many'"),
    (["T_async > 2", "--seed", "-1"], "seed: -1"),
    (["T_async > 2", "--sweep", "nosuchsweep"], "no such file"),
    (["T_async > 2", "--save", "no/such/folder/x.yaml"], "its folder does not exist"),
    (["T_async > 2", "--save", ""], "an empty name"),
]


@pytest.mark.parametrize(("words", "told"), BAD, ids=[" ".join(words)[:40] for words, _ in BAD])
def test_bad_input_is_one_line_and_exit_code_2(words: list[str], told: str) -> None:
    """Nothing is searched, and one line says what was found and what is allowed."""
    result = run("search", *words)
    if isinstance(result.exception, HpsimError):  # which the entry point prints after "error: ", with exit code 2
        assert told in str(result.exception)
        assert "\n" not in str(result.exception)
    else:
        assert result.exit_code == 2
        assert told in result.stderr
    assert result.stdout == ""


def test_prove_says_the_same_of_plain_words() -> None:
    """One place reads what is a statement or an id, for every command."""
    told = [str(run(command, "blocking is always slower").exception) for command in ("search", "prove")]
    assert told[0] == told[1]
    assert told[0].startswith("statement: 'blocking is always slower' is no statement; ")


def test_a_mistake_ends_the_command_with_exit_code_2() -> None:
    """As seen from a shell."""
    done = children.run([sys.executable, "-c", SEARCH, "search", "tau < 3"])
    told = "error: column 1: a condition on each stage; all(tau < 3) or any(tau < 3)\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


@compiled
def test_ctrl_c_ends_a_search_with_exit_code_130() -> None:
    """In the middle of a long search, within moments."""
    code = children.telling("hpsim.conjecture.search:look", 100) + SEARCH
    words = ["search", "T_async <= T_blocking", "--budget", "100000000000"]
    process = children.start([sys.executable, "-c", code, *words])
    children.wait_for_line(process, "look is called")
    process.send_signal(signal.SIGINT)
    ended = children.finish(process)
    assert ended.returncode == 130
    assert "stopped by SIGINT: nothing is decided" in ended.stderr


@compiled
@pytest.mark.parametrize(("signum", "exit_code"), [(signal.SIGINT, 130), slow(signal.SIGTERM, 143)])
def test_a_signal_ends_the_solver_within_a_search(signum: signal.Signals, exit_code: int) -> None:
    """The solver takes Ctrl-C for itself; the search ends nevertheless, and soon."""
    pytest.importorskip("z3")
    code = children.telling("hpsim.conjecture.prove.smt:Prover.ask", 10)
    code += "from hpsim.cli import main; from hpsim.conjecture import ask_solver, search;"
    code += "search.SOLVER_FROM = 0; ask_solver.SECONDS = ask_solver.SECONDS_EACH = 60; ask_solver.LARGEST = 9; main()"
    words = [sys.executable, "-c", code, "search", "T_rendezvous <= 2*T_blocking", "--budget", "2000"]
    process = children.start(words)
    children.wait_for_line(process, "ask is called")
    time.sleep(children.task_seconds(5))
    began = time.monotonic()
    process.send_signal(signum)
    ended = children.finish(process)
    assert (ended.returncode, ended.stdout) == (exit_code, "")
    assert time.monotonic() - began < children.task_seconds(30)
    assert f"stopped by {signum.name}: nothing is decided" in ended.stderr


def test_a_catalogued_claim_brings_its_relation() -> None:
    """The id stands for the statement with all that it presupposes."""
    asked = question_of(claim("prop2"))
    assert asked.relation == "permutation"
    assert not search(asked, budget=scaled(100_000)).refuted


@pytest.mark.parametrize("more", [4095, 5000, 10**9])
def test_makespans_of_very_many_micro_batches_count_as_what_they_are(more: int) -> None:
    """Beyond what lanes simulate no point is counted as failed in float64, and the margin is that of the makespans."""
    found = search(f"T_async(M+{more}) >= T_async", budget=2000)
    assert found.example is None
    assert found.artefacts == 0
    assert found.margin is not None
    assert found.margin > 0.8
