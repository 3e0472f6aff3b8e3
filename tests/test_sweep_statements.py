"""Claims of a sweep by id and by statement: decided at every point, exactly, as the plain twins do."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from conftest import scaled

from hpsim.claims import exact_algebra
from hpsim.claims.systems import ExactPipeline
from hpsim.errors import SweepFileError
from hpsim.sweep.chunk import run_chunk
from hpsim.sweep.knobs import drawn_for
from hpsim.sweep.sample import configuration
from hpsim.sweep.spec import Sweep, make_sweep
from hpsim.sweep.statements import MOST_CERTAIN

REGIMES: list[Any] = [
    "free",
    "async",
    "blocking",
    "partial",
    {"name": "tight", "overlap": 0, "buffers": {"integers": [0, 2]}},
    {"name": "roomy", "like": "tight", "buffers": "+1"},
]
SAMPLED: dict[str, Any] = {
    "configs": scaled(200),
    "seed": 11,
    "stages": {"uniform": [1, 4]},
    "tau": {"integers": [0, 3]},
    "d": {"integers": [0, 3]},
    "rho": {"choice": [0, 0.5, 1]},
    "microbatches": [1, 2, 5],
    "regimes": REGIMES,
}
STATEMENTS = [
    "T_blocking <= 2*T_async",
    "T_partial == rho*T_async + (1-rho)*T_blocking",
    "T(roomy) <= T(tight)",
    "T(tight) <= T_blocking",
    "T_async(M+1) - T_async == max(tau)",
    "sum(tau)/sum(d) > 1",
    "tau[2] > 0",
    "slope(tight) == law(tight)",
    "implies(M > 1, T_free/(M-1) >= max(tau))",
]


def expected(sweep: Sweep, claim: str) -> tuple[set[tuple[int, int]], int]:
    """Points (configuration, M) at which a statement fails, and the number at which it is undefined, by the twins."""
    failed, undefined = set(), 0
    for config_id in range(sweep.n_configs):
        config = configuration(sweep, config_id)
        drawn = drawn_for(sweep, config_id)
        regimes = {name: knobs.regime(drawn.get(name)) for name, knobs in sweep.knob_regimes.items()}
        times = ([Fraction(x) for x in config[name]] for name in ("tau", "d", "latency"))
        system = ExactPipeline(*times, regimes, Fraction(config["rho"]))
        for M in sweep.microbatches:
            truth = exact_algebra.holds(sweep.statements[claim], {"": system}, M, Fraction(config["rho"]))
            undefined += truth is None
            if truth is False:
                failed.add((config_id, M))
    return failed, undefined


@pytest.mark.parametrize("claim", STATEMENTS)
def test_a_statement_fails_exactly_where_the_twins_say(claim: str) -> None:
    """Violations, their number, and the points where the statement says nothing."""
    sweep = make_sweep({**SAMPLED, "claims": [claim]})
    result = run_chunk(sweep, 0)
    failed, undefined = expected(sweep, claim)
    assert (result.totals.violations, result.totals.undefined, result.totals.vanished) == (len(failed), undefined, 0)
    rows = result.tables["violations"].to_pylist() if failed else []
    assert {(row["config_id"], row["M"]) for row in rows} == failed
    assert {row["claim"] for row in rows} <= {claim}


def test_a_failure_that_only_rounding_made_is_taken_back() -> None:
    """In float64 an equality of sums fails in the last digit; exact numbers take that back, and it is counted."""
    sampled = {**SAMPLED, "tau": {"loguniform": [0.1, 10]}, "d": {"loguniform": [0.1, 10]}, "arithmetic": "float64"}
    claim = "T_blocking == (M-1)*max(tau + d) + sum(tau) + sum(d)"
    totals = run_chunk(make_sweep({**sampled, "configs": 100, "claims": claim}), 0).totals
    assert totals.violations == 0
    assert totals.vanished > 10


def test_certain_failures_are_confirmed_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of failures that no rounding touched takes a bounded number of Fractions, and all of them count."""
    decided: list[int] = []
    holds = exact_algebra.holds
    monkeypatch.setattr(exact_algebra, "holds", lambda *given: decided.append(1) or holds(*given))
    sampled = {**SAMPLED, "configs": 200, "stages": 3, "tau": {"integers": [1, 3]}, "claims": ["T_async < 0"]}
    assert run_chunk(make_sweep(sampled), 0).totals.violations == 600
    assert len(decided) == MOST_CERTAIN
    drawn = {**sampled, "claims": ["T(tight) < 0"]}  # three settings of its buffers, in one batch
    decided.clear()
    assert run_chunk(make_sweep(drawn), 0).totals.violations == 600
    assert len(decided) == MOST_CERTAIN


def test_long_runs_are_decided_exactly_too() -> None:
    """A million micro-batches, and a makespan of a million times more, are no reason to say nothing."""
    sampled = {**SAMPLED, "configs": 5, "stages": 3, "tau": {"integers": [1, 9]}, "resolution": 0}
    for claim, violations in (("T(tight) < T_free", 10), ("T(tight, M*1000000) >= T(tight)", 0)):
        totals = run_chunk(make_sweep({**sampled, "microbatches": [1000, 20000], "claims": claim}), 0).totals
        assert (totals.violations, totals.undefined) == (violations, 0)


def test_times_are_those_of_the_users_unit() -> None:
    """A statement about a time of its own is about the times as written, whatever integers were simulated."""
    pipelines = [{"name": "thirds", "tau": ["1/3", "1/2"], "d": ["1/6"]}]
    sweep = make_sweep({"pipelines": pipelines, "microbatches": [1, 3], "claims": ["T_async == 2", "T_async <= 2"]})
    rows = run_chunk(sweep, 0).tables["violations"].to_pylist()
    assert [(row["M"], row["claim"]) for row in rows] == [(1, "T_async == 2")]  # 1/3 + 1/6 + 1/2 + 2/2 = 2


def test_ids_of_the_catalogue_stand_beside_the_built_in_checks() -> None:
    """`paper` keeps its meaning; ids and statements follow the built-in checks in the order given."""
    sweep = make_sweep({**SAMPLED, "claims": ["chord", "cor5", "T_free <= T_async", "thm1"]})
    assert sweep.claims == ["thm1", "cor5", "chord", "T_free <= T_async"]
    assert list(sweep.statements) == ["chord", "T_free <= T_async"]
    assert run_chunk(sweep, 0).totals.violations == 0
    assert make_sweep({**SAMPLED, "claims": "paper"}).claims == ["thm1", "thm2", "thm3", "partial", "cor5"]
    assert make_sweep(sweep.resolved()).sha256 == sweep.sha256


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        (["prop2"], "claims[0]: prop2 compares two pipelines; allowed: claims about one pipeline"),
        (["A.M <= 1"], "A.M"),
        (["T_rendezvous >= T_async"], "regimes lacks rendezvous"),
        (["T_async <= T(loose)"], "loose"),
        (["thm9"], "unknown claim 'thm9'; did you mean thm3 or thm2 or thm1?"),
        (["T_async <= tau"], "column"),
        ([""], "claims"),
        (["paper", "cor5"], "'paper' beside other claims"),
        ([1], "claims[0]: found 1; allowed: thm1"),
        (["cor5", "cor5"], "a second time"),
    ],
)
def test_what_cannot_be_checked_is_refused(claims: list[Any], says: str) -> None:
    """Two pipelines, regimes that the sweep lacks, unknown ids, and what is no statement: one line each."""
    with pytest.raises(SweepFileError) as caught:
        make_sweep({**SAMPLED, "claims": claims})
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_statement_about_rho_needs_the_regime_partial() -> None:
    """Without `partial` a sweep draws no share."""
    sampled = {key: value for key, value in SAMPLED.items() if key != "rho"} | {"regimes": ["async"]}
    with pytest.raises(SweepFileError, match="depends on rho; allowed with the regime partial"):
        make_sweep({**sampled, "claims": ["rho >= 0"]})
