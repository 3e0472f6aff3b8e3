"""A chunk's tables and totals against rationals, and planted violations that must not get through."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import SIZE, scaled

from hpsim.errors import SweepFileError
from hpsim.kernels import closed_forms
from hpsim.reference import chain
from hpsim.sweep import columns, evaluate
from hpsim.sweep.chunk import run_chunk
from hpsim.sweep.sample import configuration
from hpsim.sweep.spec import Sweep, make_sweep

ALL = ["free", "async", "blocking", "partial"]
Row = dict[str, Any]

SAMPLED: Row = {
    "configs": 60,
    "seed": 3,
    "stages": {"uniform": [1, 6]},
    "tau": {"loguniform": [0.1, 10]},
    "d": {"loguniform": [0.01, 20], "times": "mean_tau"},
    "latency": {"choice": [0, 0, 1.5]},
    "rho": {"uniform": [0, 1]},
    "edge_cases": 0.5,
    "microbatches": [1, 2, 3, 8, 21],
    "regimes": ALL,
}
PIPELINES: Row = {
    "pipelines": [
        {"name": "tie", "tau": [0.1, 0.3], "d": [0.2]},
        {"name": "thirds", "tau": ["1/3", "1/7", 1], "d": [0.25, 0.5], "latency": [0, "1/9"]},
        {"name": "one", "tau": [0.7]},
        {"name": "paper", "tau": [1.13, 2.9, 2.62], "d": [1.9, 0.1]},
        {"name": "whole", "tau": [1, 5, 1], "d": [2, 2]},
        {"name": "beyond", "tau": ["0.100000001", 0.3], "d": [0.2]},
        {"name": "many", "tau": [0.1, 0.2, 0.3, 0.1] * 3, "d": [0.1, 0.2, 0.3, 0.7, 0.1, 0, 0, 0, 0.1, 0.1, 0.1]},
    ],
    "rho": {"choice": [0, 0.25, 0.5]},
    "microbatches": [1, 2, 3, 7, 10],
    "regimes": ALL,
}
GRID: Row = {
    "grid": {
        "stages": [1, 2, 3],
        "tau": {"each": [0.1, "1/3"]},
        "d": [0, 0.1, 0.7],
        "latency": [0, "1/7"],
        "rho": [0, 0.5],
    },
    "microbatches": [1, 2, 3, 7],
    "regimes": ALL,
}
SOURCES = {"sampled": SAMPLED, "pipelines": PIPELINES, "grid": GRID}


def written(sweep: Sweep, id: int) -> tuple[list[Fraction], list[Fraction], list[Fraction], Fraction | None]:
    """tau, d, latency and rho of configuration ``id`` as rationals, exactly as the sweep means them."""
    found = configuration(sweep, id)
    rho = None if found["rho"] is None else Fraction(found["rho"])
    if sweep.pipelines is not None:
        entry = sweep.pipelines[id]
        return list(entry.tau), list(entry.d), list(entry.latency), rho
    decimals = sweep.grid is not None
    vectors = (
        [Fraction(x).limit_denominator(1000) if decimals else Fraction(x) for x in found[key]] for key in VECTORS
    )
    return (*vectors, rho)  # type: ignore[return-value]


VECTORS = ("tau", "d", "latency")


def right_config(sweep: Sweep, id: int) -> Row:
    """The row of ``configs`` by rationals, rounded once."""
    tau, d, latency, rho = written(sweep, id)
    sigma = [x + y for x, y in zip(tau, [*d, 0], strict=True)]
    times = [value.denominator for value in (*tau, *d, *latency)]
    scale = math.lcm(*times) if sweep.source == "pipelines" else 210 if sweep.source == "grid" else 1
    name = {"name": sweep.pipelines[id].name} if sweep.pipelines else {}
    return {
        "config_id": id,
        **name,
        "S": len(tau),
        "tau": [float(x) for x in tau],
        "d": [float(x) for x in d],
        "latency": [float(x) for x in latency],
        "rho": None if rho is None else float(rho),
        "scale": scale if sweep.arithmetic == "exact" else 1,
        "tau_max": float(max(tau)),
        "tau_sum": float(sum(tau)),
        "d_sum": float(sum(d)),
        "sigma_max": float(max(sigma)),
        "bias": float(sum(max(tau) - x for x in tau)),
        "phase": any(y > max(tau) - x for x, y in zip(tau, d, strict=False)),
    }


def right_points(sweep: Sweep, id: int) -> list[Row]:
    """The rows of ``points`` of one configuration: recurrences on rationals, rounded once."""
    tau, d, latency, rho = written(sweep, id)
    most = sweep.microbatches[-1]
    T = {regime: chain.completion(tau, d, most, regime, rho, latency) for regime in sweep.regimes}
    rows = []
    for M in sweep.microbatches:
        row: Row = {"config_id": id, "S": len(tau), "M": M, "T_gpipe": float((len(tau) + M - 1) * max(tau))}
        for regime in sweep.regimes:
            makespan = float(T[regime][M - 1][-1])
            row |= {f"T_{regime}": makespan, f"closed_{regime}": makespan, f"rel_err_{regime}": 0.0}
        rows.append(row)
    return rows


def whole(sweep: Sweep) -> tuple[dict[str, pa.Table], Any]:
    """All chunks of a sweep, one after the other: tables and totals."""
    results = [run_chunk(sweep, index) for index in range(sweep.n_chunks)]
    names = {name for result in results for name in result.tables}
    tables = {name: pa.concat_tables([r.tables[name] for r in results if name in r.tables]) for name in names}
    totals = results[0].totals
    for result in results[1:]:
        totals += result.totals
    return tables, totals


@pytest.mark.parametrize("source", SOURCES)
def test_every_column_equals_the_rational_value(source: str) -> None:
    """Exact arithmetic: each number is the rational one rounded once, whatever the common denominator."""
    sweep = make_sweep(SOURCES[source])
    tables, totals = whole(sweep)
    assert set(tables) == {"configs", "points"}
    ids = range(sweep.n_configs)
    assert tables["configs"].to_pylist() == [right_config(sweep, id) for id in ids]
    assert tables["points"].to_pylist() == [row for id in ids for row in right_points(sweep, id)]
    assert totals.violations == 0
    assert totals.max_rel_err == dict.fromkeys(ALL, 0.0)


@pytest.mark.parametrize("source", SOURCES)
def test_float64_is_within_rounding(source: str) -> None:
    """Float64 arithmetic: makespans within 1e-13 of the rational ones of the same doubles, and no violation."""
    sweep = make_sweep({**SOURCES[source], "arithmetic": "float64"})
    tables, totals = whole(sweep)
    configs = tables["configs"].to_pylist()
    points = iter(tables["points"].to_pylist())
    for id, config in enumerate(configs):
        right = right_config(sweep, id)
        for name in ("config_id", "S", "tau", "d", "latency", "rho", "scale", "tau_max", "phase"):
            assert config[name] == right[name], (id, name)
        for name in ("tau_sum", "d_sum", "sigma_max", "bias"):
            assert config[name] == pytest.approx(right[name], rel=1e-13, abs=1e-14)
        for row, expected in zip(
            itertools.islice(points, len(sweep.microbatches)), right_points(sweep, id), strict=True
        ):
            for name, value in row.items():
                assert value == pytest.approx(expected[name], rel=1e-13, abs=1e-13), (id, name)
    assert totals.violations == 0
    for regime, worst in totals.max_rel_err.items():
        assert 0 <= worst == max(tables["points"][f"rel_err_{regime}"].to_pylist()) < 1e-13


def any_time(rng: random.Random) -> int | float | str:
    """A time as somebody might write it: whole, decimal of any length, or a fraction."""
    whole = rng.randint(0, 10 ** rng.randint(0, 12))
    decimal = float(f"{rng.uniform(0, 10 ** rng.randint(-6, 4)):.{rng.randint(1, 10)}g}")
    return rng.choice((whole, decimal, decimal, f"{rng.randint(0, 50)}/{rng.randint(1, 40)}", 0.1, 0.2, 0.3))


def test_whatever_exact_arithmetic_accepts_is_exact(rng: random.Random) -> None:
    """Pipelines of random decimals and fractions are refused when loaded, or every column is the rational value."""
    accepted = refused = 0
    for _ in range(scaled(500)):
        S = rng.randint(1, 5)
        counts = {"tau": S, "d": S - 1, "latency": S - 1}
        entry = {"name": "p", **{key: [any_time(rng) for _ in range(n)] for key, n in counts.items()}}
        M = sorted({1, 2, rng.randint(3, 30)})
        try:
            sweep = make_sweep({"pipelines": [entry], "microbatches": M, "regimes": ALL, "rho": {"uniform": [0, 1]}})
        except SweepFileError:
            refused += 1
            continue
        accepted += 1
        tables, totals = whole(sweep)
        assert totals.violations == 0, entry
        assert tables["configs"].to_pylist() == [right_config(sweep, 0)], entry
        assert tables["points"].to_pylist() == right_points(sweep, 0), entry
    assert SIZE < 1 or min(accepted, refused) > 50


def test_the_phase_of_a_decimal_tie() -> None:
    """0.1 + 0.2 against 0.3 is a tie in both arithmetics; in exact arithmetic sigma_max shows it too."""
    for arithmetic in ("exact", "float64"):
        tables, _ = whole(make_sweep({**PIPELINES, "arithmetic": arithmetic}))
        phases = dict(zip(range(7), tables["configs"]["phase"].to_pylist(), strict=True))
        assert (phases[0], phases[5]) == (False, True)
    exact = whole(make_sweep(PIPELINES))[0]["configs"].to_pylist()
    assert all((row["sigma_max"] > row["tau_max"]) == row["phase"] for row in exact)


@pytest.mark.parametrize("regimes", [["async"], ["free", "partial"], ["blocking", "async"], ALL])
@pytest.mark.parametrize("planted", [False, True])
def test_tables_follow_the_declared_schema(regimes: list[str], planted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns, their order and types are those declared, with and without partial overlap and violations."""
    rho = {"rho": {"uniform": [0, 1]}} if "partial" in regimes else {}
    base = {key: value for key, value in SAMPLED.items() if key != "rho"}
    sweep = make_sweep({**base, **rho, "regimes": regimes})
    if planted:
        plant(monkeypatch, sweep, lambda regime, M, tau, T: T + 1)
    result = run_chunk(sweep, 0)
    assert set(result.tables) == {"configs", "points"} | ({"violations"} if planted else set())
    for name, found in result.tables.items():
        assert found.schema == columns.schema(name, sweep.regimes)
        found.validate(full=True)
        assert all(found[c.name].null_count == 0 for c in columns.columns(name, sweep.regimes) if not c.nullable)
        if not rho and "rho" in found.column_names:
            assert found["rho"].null_count == len(found)


@pytest.mark.parametrize("source", SOURCES)
def test_chunks_and_tiles_do_not_matter(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut into chunks of 1, 7, … configurations, evaluated in tiles of 1, 5, …: the same rows in the same order."""
    right, right_totals = whole(make_sweep(SOURCES[source]))
    for chunk, tile in ((1, 1), (7, 5), (13, 100), (1000, 1), (1000, 32), (33, 33)):
        monkeypatch.setattr("hpsim.sweep.chunk.TILE", tile)
        tables, totals = whole(make_sweep({**SOURCES[source], "chunk": chunk}))
        assert {name: found.combine_chunks() for name, found in tables.items()} == right
        assert totals == right_totals


def test_many_configurations_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of configurations of mixed S: ids ascending, M the inner order, each row that of its configuration."""
    n = scaled(5000)
    sweep = make_sweep({**SAMPLED, "configs": n, "chunk": 2 * n})
    monkeypatch.setattr("hpsim.sweep.chunk.TILE", 1 + n // 4)
    tables, totals = whole(sweep)
    points, M = tables["points"], np.array(sweep.microbatches)
    assert np.array_equal(tables["configs"]["config_id"].to_numpy(), np.arange(n))
    assert np.array_equal(points["config_id"].to_numpy(), np.repeat(np.arange(n), len(M)))
    assert np.array_equal(points["M"].to_numpy(), np.tile(M, n))
    for config in tables["configs"].to_pylist()[:: max(1, n // 40)]:
        tau, d, latency = (np.array(config[key]) for key in VECTORS)
        rows = points.slice(config["config_id"] * len(M), len(M))
        assert rows["S"].to_pylist() == [config["S"]] * len(M)
        held = tau + np.append((1 - config["rho"]) * d, 0)
        right = tau.sum() + d.sum() + latency.sum() + (M - 1) * held.max()
        assert np.array_equal(rows["T_partial"].to_numpy(), right)
    stages = tables["configs"]["S"].to_numpy()
    assert totals.configs == n
    assert totals.points == n * len(M)
    assert totals.cells == int(stages.sum()) * sweep.microbatches[-1] * len(ALL)


def test_chunks_are_pure_functions() -> None:
    """Run in any order, twice, from eight threads at once: the same tables and totals."""
    sweep = make_sweep({**SAMPLED, "configs": scaled(2000) + 60, "chunk": 170})
    alone = [run_chunk(sweep, index) for index in range(sweep.n_chunks)]
    order = [*reversed(range(sweep.n_chunks)), *range(sweep.n_chunks)]
    with ThreadPoolExecutor(8) as pool:
        for index, found in zip(order, pool.map(lambda index: run_chunk(sweep, index), order), strict=True):
            assert found.tables == alone[index].tables
            assert found.totals == alone[index].totals


def test_only_violations_are_recorded_when_asked() -> None:
    """``record: violations`` and nothing violated: no table at all, and the totals of a full record."""
    full = make_sweep({**SAMPLED, "chunk": 1000})
    result = run_chunk(make_sweep({**SAMPLED, "record": "violations"}), 0)
    assert result.tables == {}
    assert result.totals == run_chunk(full, 0).totals


# --- planted violations: makespans of the recurrence are changed on their way to the checks ---

Change = Callable[[str, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def plant(monkeypatch: pytest.MonkeyPatch, sweep: Sweep, change: Change) -> None:
    """Pass simulated makespans through ``change(regime, M, tau, T)``, except in lanes left over.

    Shapes: M (n, 1, 1), tau (blocks, S, LANES), T (n, blocks, LANES).
    """
    real, regimes = evaluate.makespans_in, itertools.cycle(sweep.regimes)

    def changed(tau: np.ndarray, *arguments: Any) -> np.ndarray:
        T = real(tau, *arguments)
        M = np.array(sweep.microbatches)[:, None, None]
        return np.where(tau.any(axis=1), change(next(regimes), M, tau, T.copy()), T)

    monkeypatch.setattr(evaluate, "makespans_in", changed)


UNIT = 2.0**-20
OFF_BY_A_UNIT = {"thm1": "free", "thm2": "async", "thm3": "blocking", "partial": "partial"}


@pytest.mark.parametrize("claim", OFF_BY_A_UNIT)
@pytest.mark.parametrize("record", ["points", "violations"])
@pytest.mark.parametrize("step", [UNIT, -UNIT])
def test_one_grid_unit_is_found(claim: str, record: str, step: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A makespan one grid unit off at one M in some pipelines: exactly those points, with whole configurations."""
    sweep = make_sweep({**SAMPLED, "record": record, "claims": list(OFF_BY_A_UNIT), "chunk": 1000})
    clean, _ = whole(make_sweep({**SAMPLED, "chunk": 1000}))

    def change(regime: str, M: np.ndarray, tau: np.ndarray, T: np.ndarray) -> np.ndarray:
        chosen = (regime == OFF_BY_A_UNIT[claim]) & (M == 8) & (tau[:, 0] >= tau[:, -1])
        return np.where(chosen, T + step, T)

    plant(monkeypatch, sweep, change)
    result = run_chunk(sweep, 0)
    configs = [row for row in clean["configs"].to_pylist() if row["tau"][0] >= row["tau"][-1]]
    assert 10 < len(configs) < 60
    points = {row["config_id"]: row for row in clean["points"].to_pylist() if row["M"] == 8}
    right = []
    regime = OFF_BY_A_UNIT[claim]
    for config in configs:
        row = dict(points[config["config_id"]])
        closed = row[f"T_{regime}"]
        row |= {f"T_{regime}": closed + step, f"rel_err_{regime}": UNIT / closed, "claim": claim}
        right.append(row | {key: config[key] for key in ("tau", "d", "latency", "rho", "scale")})
    assert result.tables["violations"].to_pylist() == right
    assert result.totals.violations == len(right)
    assert result.totals.max_rel_err[regime] == max(row[f"rel_err_{regime}"] for row in right)
    assert sum(result.totals.max_rel_err.values()) == result.totals.max_rel_err[regime]
    assert ("points" in result.tables) == (record == "points")


def test_a_wrong_closed_form_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the closed forms take the fill for one grid unit more, every closed-form check fails everywhere."""
    real = closed_forms.fill_times

    def longer(tau: np.ndarray, d: np.ndarray, latency: np.ndarray, out: np.ndarray) -> None:
        real(tau, d, latency, out)
        out += UNIT

    monkeypatch.setattr(closed_forms, "fill_times", longer)
    sweep = make_sweep({**SAMPLED, "record": "violations"})
    result = run_chunk(sweep, 0)
    assert result.totals.violations == 4 * sweep.n_points
    rows = result.tables["violations"].to_pylist()
    assert [row["claim"] for row in rows[:4]] == ["thm1", "thm2", "thm3", "partial"]
    assert all(row["closed_async"] - row["T_async"] == UNIT for row in rows)


def test_violations_of_scaled_pipelines_are_in_the_users_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One unit of 1/scale off at M = 7: the violation shows times in the user's unit and the scale."""
    sweep = make_sweep({**PIPELINES, "record": "violations", "claims": ["thm3"]})
    plant(monkeypatch, sweep, lambda regime, M, tau, T: np.where((regime == "blocking") & (M == 7), T + 1, T))
    rows = run_chunk(sweep, 0).tables["violations"].to_pylist()
    assert [row["config_id"] for row in rows] == list(range(7))
    for row in rows:
        right, config = right_points(sweep, row["config_id"])[3], right_config(sweep, row["config_id"])
        tau, d, latency, _ = written(sweep, row["config_id"])
        exact = chain.makespan(tau, d, 7, "blocking", None, latency)
        changes = {"T_blocking": float(exact + Fraction(1, config["scale"])), "claim": "thm3"}
        right |= {key: config[key] for key in ("tau", "d", "latency", "rho", "scale")} | changes
        error = row.pop("rel_err_blocking")
        right.pop("rel_err_blocking")
        assert row == right
        assert error == pytest.approx(float(Fraction(1, config["scale"]) / exact), rel=1e-12)


@pytest.mark.parametrize("tile", [5, 16, 100_000])
def test_violations_are_counted_in_full_and_stored_in_order(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All counted; at most 1,000 a chunk stored: the first by configuration, then M, then claim, whatever the tiles."""
    n = 300
    sweep = make_sweep({**SAMPLED, "configs": 2 * n, "chunk": n, "record": "violations"})
    monkeypatch.setattr("hpsim.sweep.chunk.TILE", tile)
    # every second number of micro-batches is off in two regimes, and there the sandwich is upside down as well
    plant(
        monkeypatch,
        sweep,
        lambda regime, M, tau, T: np.where(np.isin(M, [2, 8]) & (regime in ("async", "free")), T + 10_000, T),
    )
    right = [(M, claim) for M in (2, 8) for claim in ("thm1", "thm2", "cor5")]
    for index in (0, 1):
        result = run_chunk(sweep, index)
        rows = result.tables["violations"].to_pylist()
        assert result.totals.violations == n * len(right)
        expected = [(id, M, claim) for id in range(index * n, index * n + n) for M, claim in right]
        assert [(row["config_id"], row["M"], row["claim"]) for row in rows] == expected[:1000]
        for row in rows[:: max(1, len(rows) // 10)]:
            clean = configuration(sweep, row["config_id"])
            assert {key: row[key] for key in ("S", *VECTORS, "rho", "scale")} == {
                key: clean[key] for key in ("S", *VECTORS, "rho", "scale")
            }


def test_exactly_a_thousand_violations_and_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit itself: 1,000 are all stored, of 1,001 the last one is not."""
    for n, stored in ((1000, 1000), (1001, 1000)):
        sweep = make_sweep({"configs": n, "stages": 2, "tau": 1, "microbatches": [3], "record": "violations"})
        with monkeypatch.context() as patch:
            plant(patch, sweep, lambda regime, M, tau, T: T + 1 if regime == "blocking" else T)
            result = run_chunk(sweep, 0)
        assert result.totals.violations == n
        assert result.tables["violations"]["config_id"].to_pylist() == list(range(stored))


TWO, THREE = ["async", "blocking"], ["async", "blocking", "partial"]
SANDWICH = {
    "async above blocking": (TWO, "async", lambda T: T + 10**6),
    "blocking below async": (TWO, "blocking", lambda T: 0 * T),
    "partial above blocking": (THREE, "partial", lambda T: T + 10**6),
    "partial below async": (THREE, "partial", lambda T: 0 * T),
    "partial no number": (THREE, "partial", lambda T: T * np.nan),
}


@pytest.mark.parametrize("name", SANDWICH)
@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
def test_the_sandwich_is_checked_on_both_sides(name: str, arithmetic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Corollary 5 alone: each way to break the order is found, once a point, although no closed form is checked."""
    regimes, wrong, change = SANDWICH[name]
    given = {key: value for key, value in SAMPLED.items() if key != "rho" or "partial" in regimes}
    given |= {"regimes": regimes, "claims": ["cor5"], "arithmetic": arithmetic, "record": "violations"}
    sweep = make_sweep(given)
    assert run_chunk(sweep, 0).totals.violations == 0
    plant(monkeypatch, sweep, lambda regime, M, tau, T: np.where((regime == wrong) & (M >= 2), change(T), T))
    result = run_chunk(sweep, 0)
    rows = result.tables["violations"].to_pylist()
    right = [(id, M) for id in range(60) for M in (2, 3, 8, 21)]
    assert result.totals.violations == len(right)
    assert [(row["config_id"], row["M"]) for row in rows] == right
    assert {row["claim"] for row in rows} == {"cor5"}


def test_ties_of_the_sandwich_are_no_violation() -> None:
    """Equal makespans satisfy the sandwich: no communication, and M = 1."""
    for arithmetic in ("exact", "float64"):
        sweep = make_sweep({**SAMPLED, "d": 0, "arithmetic": arithmetic, "claims": ["cor5"], "microbatches": [1, 2]})
        assert run_chunk(sweep, 0).totals.violations == 0


@pytest.mark.parametrize(
    ("relative", "tolerance", "violated"),
    [
        (1e-8, None, True),
        (1e-10, None, False),
        (-1e-8, None, True),
        (-1e-10, None, False),
        (1e-10, 1e-11, True),
        (1e-4, 1e-3, False),
        (math.inf, None, True),
        (math.nan, None, True),
        (math.nan, 0.5, True),
    ],
)
def test_the_tolerance_of_float64(
    relative: float, tolerance: float | None, violated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative error above the tolerance (1e-9 unless said) is a violation, below not; no number is one always."""
    chosen = {} if tolerance is None else {"tolerance": tolerance}
    sweep = make_sweep({**SAMPLED, "arithmetic": "float64", **chosen, "claims": ["thm3"], "record": "violations"})
    plant(monkeypatch, sweep, lambda regime, M, tau, T: T * (1 + relative) if regime == "blocking" else T)
    result = run_chunk(sweep, 0)
    assert result.totals.violations == (sweep.n_points if violated else 0)
    assert ("violations" in result.tables) == violated
    worst = result.totals.max_rel_err["blocking"]
    if math.isfinite(relative):
        assert worst == pytest.approx(abs(relative), rel=1e-4)
    else:
        assert not worst < 1, "a makespan that is no number must show in the largest error"


def test_no_number_counts_in_exact_arithmetic_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """One NaN among good makespans is one violation, and the largest error of the chunk does not hide it."""
    sweep = make_sweep({**SAMPLED, "claims": ["thm2"], "record": "violations"})
    monkeypatch.setattr("hpsim.sweep.chunk.TILE", 7)

    def change(regime: str, M: np.ndarray, tau: np.ndarray, T: np.ndarray) -> np.ndarray:
        return np.where((regime == "async") & (M == 3) & (tau.shape[1] == 4), np.nan, T)

    plant(monkeypatch, sweep, change)
    result = run_chunk(sweep, 0)
    four = sum(configuration(sweep, id)["S"] == 4 for id in range(60))
    assert 0 < four < 60
    assert result.totals.violations == four
    assert not result.totals.max_rel_err["async"] < 1


def test_a_regime_without_its_claim_is_measured_but_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``claims: [thm2]`` a wrong blocking makespan is no violation, but its error is in the totals."""
    sweep = make_sweep({**SAMPLED, "claims": ["thm2"]})
    plant(monkeypatch, sweep, lambda regime, M, tau, T: 2 * T if regime == "blocking" else T)
    result = run_chunk(sweep, 0)
    assert result.totals.violations == 0
    assert "violations" not in result.tables
    assert result.totals.max_rel_err == {"free": 0.0, "async": 0.0, "blocking": 1.0, "partial": 0.0}
    assert set(result.tables["points"]["rel_err_blocking"].to_pylist()) == {1.0}


def test_large_counts_in_the_closed_forms() -> None:
    """Totals that just fit into 2^53 grid units at M = 1,000: still equal, column by column."""
    M = 1000 if SIZE == 1 else 50
    entry = {"name": "long", "tau": [2**42 + 1, 3, 2**42 - 5], "d": [2**41 + 1, 0]}
    sweep = make_sweep({"pipelines": [entry], "microbatches": [1, M - 1, M], "regimes": ["async", "blocking"]})
    tables, totals = whole(sweep)
    assert totals.violations == 0
    assert tables["points"].to_pylist() == right_points(sweep, 0)
    assert tables["points"]["T_blocking"].to_pylist()[-1] > 2.0**52 or SIZE < 1
