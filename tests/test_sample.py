"""The configurations of a sweep: bit for bit those of the plain sampler, or exactly what was written down."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from conftest import SIZE, scaled

from hpsim.errors import SweepFileError
from hpsim.lanes import unpack
from hpsim.reference import sampling
from hpsim.sweep.sample import batches, configuration
from hpsim.sweep.spec import Sweep, make_sweep

Rows = dict[int, dict[str, Any]]

PAPER = {
    "stages": {"uniform": [2, 8]},
    "tau": {"loguniform": [0.1, 10]},
    "d": {"loguniform": [0.01, 20], "times": "mean_tau"},
    "rho": {"uniform": [0, 1]},
}
DRAWS: dict[str, dict[str, Any]] = {
    "paper": PAPER,
    "uniform": {
        "stages": {"integers": [1, 4]},
        "tau": {"uniform": [0, 3]},
        "d": {"uniform": ["1/3", 1]},
        "latency": {"uniform": [1.1, 1.1]},
        "rho": {"uniform": [0.1, 0.3]},
    },
    "lognormal": {
        "stages": {"choice": [3, 5, 6, 17]},
        "tau": {"lognormal": [2, 0.5]},
        "d": {"lognormal": [0.25, "1/2"], "times": "max_tau"},
        "latency": {"lognormal": ["8/7", 0]},
        "rho": {"choice": [0, 0.25, 1]},
    },
    "whole": {
        "stages": 3,
        "tau": {"integers": [0, 2]},
        "d": {"integers": [0, 3]},
        "latency": {"choice": [0, 0, 5]},
        "rho": {"constant": 0.5},
    },
    "constant": {
        "stages": {"uniform": [1, 33]},
        "tau": {"choice": [0.1, 1, 1.5]},
        "d": {"constant": 0.7, "times": "mean_tau"},
        "latency": {"constant": "0.75", "times": "max_tau"},
        "rho": {"uniform": [1, 1]},
    },
    "mostly zero": {
        "stages": {"uniform": [1, 5]},
        "tau": {"choice": [0] * 20 + [3]},
        "d": {"uniform": [0, 2], "times": "mean_tau"},
        "latency": {"loguniform": ["1e-9", 1], "times": "max_tau"},
        "rho": {"loguniform": ["1/1000", 1]},
    },
    "rounds to zero": {
        "stages": {"uniform": [1, 4]},
        "tau": {"lognormal": [0.2, 0.5]},
        "d": {"uniform": [0, 1.5]},
        "rho": {"lognormal": [0.05, 0.3]},
    },
}


def sweep_of(draws: dict[str, Any], **changes: Any) -> Sweep:
    """A sampled sweep of all four regimes, M small enough for every resolution."""
    regimes = ["free", "async", "blocking", "partial"]
    return make_sweep({"configs": 10_000, "seed": 4, "microbatches": [1, 2], "regimes": regimes, **draws, **changes})


def distribution(written: Any) -> sampling.Distribution:
    """What the sweep file says, in the words of the plain sampler."""
    if not isinstance(written, dict):
        written = {"constant": written}
    ((kind, values),) = ((key, value) for key, value in written.items() if key != "times")
    listed = values if isinstance(values, list) else [values]
    return kind, [Fraction(str(value)) for value in listed], written.get("times")


def twin(draws: dict[str, Any], seed: int, id: int, edge_cases: float, resolution: int | None) -> dict[str, Any]:
    """Configuration ``id`` by the plain sampler."""
    named = {key: distribution(draws.get(key, 0)) for key in ("stages", "tau", "d", "latency", "rho")}
    return dict(sampling.sample(seed, id, **named, edge_cases=edge_cases, resolution=resolution))


def bits(configuration: dict[str, Any]) -> dict[str, Any]:
    """S and every number of a configuration in hexadecimal, signs of zeros included."""
    vectors = {key: [float(x).hex() for x in configuration[key]] for key in ("tau", "d", "latency")}
    rho = configuration["rho"]
    return {"S": configuration["S"], **vectors, "rho": None if rho is None else float(rho).hex()}


def drawn(sweep: Sweep, ids: range) -> Rows:
    """All configurations ``ids`` by the compiled sampler; times as they are simulated."""
    found: Rows = {}
    for batch in batches(sweep, ids):
        n = len(batch.ids)
        assert batch.tau.shape[2] == batch.d.shape[2]
        assert list(batch.ids) == sorted(batch.ids)
        vectors = {key: unpack(getattr(batch, key), n).tolist() for key in ("tau", "d", "latency")}
        rho = [None] * n if batch.rho is None else batch.rho.reshape(-1)[:n].tolist()
        for i, id in enumerate(batch.ids.tolist()):
            assert id not in found
            row = {key: rows[i] for key, rows in vectors.items()}
            found[id] = {"S": batch.S, **row, "rho": rho[i], "scale": int(batch.scale[i])}
    assert sorted(found) == list(ids)
    return found


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize(("edge_cases", "resolution"), [(0, 20), (0.3, 3), (1, 0), (0.5, None), (1, None), (0.5, 40)])
def test_configurations_are_those_of_the_plain_sampler(name: str, edge_cases: float, resolution: int | None) -> None:
    """Every distribution, with and without edge cases, on coarse and fine grids and on none: equal in every bit."""
    draws = DRAWS[name]
    rounding = {"arithmetic": "float64"} if resolution is None else {"resolution": resolution}
    if resolution == 40:  # totals must stay below 2^53 grid units
        draws = {**draws, "stages": 2, "tau": {"loguniform": ["1e-6", 1]}}
    if name == "paper" and resolution == 40:
        draws = {**draws, "d": {"loguniform": [0.01, 20]}}
    sweep = sweep_of(draws, edge_cases=edge_cases, **rounding)
    first = random.Random(name).randrange(5000)
    for id, found in drawn(sweep, range(first, first + scaled(150))).items():
        assert bits(found) == bits(twin(draws, 4, id, edge_cases, resolution)), id
        assert found["scale"] == 1


@pytest.mark.parametrize("seed", [0, 1, 20261015, 2**63, 2**64 - 1])
def test_every_seed_and_id(seed: int) -> None:
    """Seeds and ids up to the largest allowed give the words of the plain sampler."""
    sweep = sweep_of(PAPER, seed=seed, configs=2**48, edge_cases=0.5)
    for first in (0, 2**32 - 2, 2**48 - 4):
        for id, found in drawn(sweep, range(first, first + 4)).items():
            assert bits(found) == bits(twin(PAPER, seed, id, 0.5, 20))


def test_a_golden_configuration() -> None:
    """Configuration 0 of the paper's search, drawn by a separate C program: a seed means the same for ever."""
    sweep = sweep_of(PAPER, seed=20261015, edge_cases=0.5)
    (found,) = drawn(sweep, range(1)).values()
    hexadecimal = {key: " ".join(x.hex() for x in found[key]) for key in ("tau", "d")}
    assert found["S"] == 5
    assert [
        float.fromhex(x) for x in ["0x1.62ab6p+1", "0x1.6313c4p+2", "0x1.6313c4p+2", "0x1.0362ep-1", "0x1.5df18p+2"]
    ] == (found["tau"]), hexadecimal
    assert [float.fromhex(x) for x in ["0x1.30d52p-1", "0x1.0785ep-1", "0x1.55f6p-5", "0x1.9e04p-5"]] == found["d"]
    assert found["latency"] == [0.0] * 4
    assert found["rho"] == 5 / 16


@pytest.mark.parametrize("name", DRAWS)
def test_a_configuration_does_not_depend_on_its_chunk(name: str, rng: random.Random) -> None:
    """Drawn in one range, in any split of it, alone, or in a sweep of other size and chunks: the same bits."""
    n = max(12, scaled(400))
    for edge_cases, arithmetic in ((0.5, "exact"), (0.5, "float64")):
        sweep = sweep_of(DRAWS[name], edge_cases=edge_cases, arithmetic=arithmetic)
        whole = drawn(sweep, range(n))
        cuts = sorted({0, n, 1, 2, *rng.sample(range(n), 6)})
        parts: Rows = {}
        for start, stop in itertools.pairwise(cuts):
            parts |= drawn(sweep, range(start, stop))
        assert {id: bits(row) for id, row in parts.items()} == {id: bits(row) for id, row in whole.items()}
        other = sweep_of(DRAWS[name], edge_cases=edge_cases, arithmetic=arithmetic, configs=n, chunk=7, name="other")
        for id in rng.sample(range(n), max(3, scaled(20))):
            alone = configuration(other, id)
            assert bits(alone) == bits(whole[id])
            assert (alone["config_id"], alone["scale"]) == (id, 1)


def test_sampling_from_several_threads_at_once() -> None:
    """Ranges drawn in parallel are the ranges drawn one after the other."""
    sweep = sweep_of(DRAWS["lognormal"], edge_cases=0.3)
    ranges = [range(start, start + scaled(200)) for start in range(0, 3200, 200)]
    alone = [drawn(sweep, ids) for ids in ranges]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda ids: drawn(sweep, ids), ranges)) == alone


def test_what_does_not_occur_is_not_drawn() -> None:
    """Leaving out communication, rho or edge cases does not change the draws that remain."""
    full = drawn(sweep_of(PAPER, edge_cases=0), range(40))
    bare = drawn(sweep_of({k: PAPER[k] for k in ("stages", "tau")}, regimes=["async"]), range(40))
    for id, row in bare.items():
        assert row["tau"] == full[id]["tau"]
        assert row["d"] == row["latency"] == [0.0] * (row["S"] - 1)
        assert row["rho"] is None


def vector(rows: Rows, key: str) -> np.ndarray:
    return np.array([x for row in rows.values() for x in row[key]])


def test_ranges_and_shares() -> None:
    """Draws fill their ranges evenly and never leave them; the share of edge cases and of each S is as asked."""
    n = scaled(60_000)
    sweep = sweep_of(PAPER, configs=n, edge_cases=0)
    rows = drawn(sweep, range(n))
    tau = vector(rows, "tau")
    assert tau.min() >= round(0.1 * 2**20) / 2**20
    assert tau.max() <= 10
    stages = Counter(row["S"] for row in rows.values())
    rho = np.array([row["rho"] for row in rows.values()])
    assert set(np.unique(rho)) <= {k / 16 for k in range(17)}
    if SIZE == 1:
        decades = np.log10(tau)
        counts = np.histogram(decades, bins=20, range=(-1, 1.0001))[0] / len(tau)
        assert np.abs(counts - 0.05).max() < 0.002
        assert sorted(stages) == [2, 3, 4, 5, 6, 7, 8]
        assert max(abs(count * 7 / n - 1) for count in stages.values()) < 0.05
        d = np.array([row["d"][0] / np.mean(row["tau"]) for row in rows.values()])
        assert 0.01 - 1e-4 < d.min() < 0.0101
        assert 19.9 < d.max() < 20 + 1e-4
        assert abs(rho.mean() - 0.5) < 0.005
        assert len(np.unique(rho)) == 17
    forced = drawn(sweep_of(PAPER, configs=n, edge_cases=0.3), range(n))
    share = sum(forced[id] != rows[id] for id in rows) / n
    assert share == pytest.approx(0.3, abs=4 * (0.21 / n) ** 0.5 + 0.03)


@pytest.mark.parametrize("kind", ["uniform", "loguniform", "integers"])
def test_no_draw_leaves_its_range_in_float64(kind: str) -> None:
    """Ends whose doubles do not differ by a double: never below the low end, never above the high one."""
    for low, high in (("0.1", "0.3"), ("0.7", "1.1"), ("1/3", "2/3"), ("1e-5", "1e5")):
        if kind == "integers":
            low, high = "3", "9"
        sweep = sweep_of({"stages": 8, "tau": {kind: [low, high]}}, regimes=["async"], arithmetic="float64")
        tau = vector(drawn(sweep, range(scaled(3000))), "tau")
        assert tau.min() >= float(Fraction(low))
        assert tau.max() <= float(Fraction(high))


@pytest.mark.parametrize(("low", "high"), [("1e-300", "1e290"), ("5e-324", "8e8"), ("1e-300", "1e10")])
def test_a_range_wider_than_a_double_exponent_is_refused(low: str, high: str) -> None:
    """2^y with y beyond 1000 has no double."""
    written = {"stages": 2, "tau": {"loguniform": [low, high]}, "arithmetic": "float64", "microbatches": [1]}
    with pytest.raises(SweepFileError, match=r"at most 2\^1000 wide"):
        make_sweep({"configs": 2000, **written})


def test_a_range_of_three_hundred_decades_is_drawn_evenly() -> None:
    """Just within what is allowed, the median lies in the middle of the decades and nothing leaves the range."""
    written = {"stages": 2, "tau": {"loguniform": ["1e-150", "1e150"]}, "arithmetic": "float64", "microbatches": [1]}
    tau = vector(drawn(make_sweep({"configs": 2000, **written}), range(max(40, scaled(1000)))), "tau")
    assert tau.min() >= 1e-150
    assert tau.max() <= 1e150
    assert abs(np.median(np.log10(tau))) < 30


def pipelines(*entries: dict[str, Any], **changes: Any) -> Sweep:
    named = [{"name": f"p{i}", **entry} for i, entry in enumerate(entries)]
    return make_sweep({"pipelines": named, "microbatches": [1, 2], **changes})


WRITTEN: list[dict[str, list[Any]]] = [
    {"tau": ["1/3", "1/7"], "d": [0.25]},
    {"tau": [0.1, 0.3], "d": [0.2]},
    {"tau": [5], "d": []},
    {"tau": [0.1, 0.3], "d": [0.2], "latency": ["1/9"]},
    {"tau": [1.13, 2.9, 2.62], "d": [1e-3, 0], "latency": [0, 2]},
    {"tau": [2, 3]},
]


def test_pipelines_are_scaled_to_whole_numbers() -> None:
    """Fractions and decimals times their common denominator, each pipeline by its own; ``configuration`` undoes it."""
    sweep = pipelines(*WRITTEN)
    rows = drawn(sweep, range(6))
    scales = [84, 10, 1, 90, 1000, 1]
    for id, (entry, scale) in enumerate(zip(WRITTEN, scales, strict=True)):
        zeros = [0] * (len(entry["tau"]) - 1)
        alone = configuration(sweep, id)
        for key in ("tau", "d", "latency"):
            times = [Fraction(str(x)) for x in entry.get(key, zeros)]
            assert rows[id][key] == [scale * x for x in times]
            assert alone[key] == [float(x) for x in times]
        assert rows[id]["scale"] == alone["scale"] == scale
        assert rows[id]["rho"] is None


def test_pipelines_in_float64_are_the_nearest_doubles() -> None:
    """In float64 arithmetic nothing is scaled: times are what float() reads, however many digits they have."""
    long = [0.0012345678901234567, 1.2345678901234567, 0.30000000000000004, "1e-20", "1/3", 123456789.12345679]
    sweep = pipelines(*WRITTEN, {"tau": long}, arithmetic="float64")
    for id, entry in enumerate([*WRITTEN, {"tau": long}]):
        found = configuration(sweep, id)
        assert found["tau"] == [float(Fraction(str(x))) for x in entry["tau"]]
        assert found["d"] == [float(Fraction(str(x))) for x in entry.get("d", [0] * (len(entry["tau"]) - 1))]
        assert found["scale"] == 1


def test_the_tie_of_decimals_is_a_tie() -> None:
    """0.1 + 0.2 against 0.3 in float64 arithmetic: no phase transition, but 10^-18 more is one."""
    for tau, phase in ((0.1, False), ("0.100000000000000001", True), ("0.099999999999999999", False)):
        sweep = pipelines({"tau": [tau, 0.3], "d": [0.2]}, arithmetic="float64")
        (batch,) = batches(sweep, range(1))
        assert batch.phase is not None
        assert batch.phase.tolist() == [phase]


def test_rho_beside_pipelines_is_drawn_by_id() -> None:
    """The share of pipeline ``id`` is draw 1 of its stream, in sixteenths, in any range."""
    changes = {"regimes": ["partial"], "rho": {"uniform": [0, 1]}, "seed": 9}
    rows = drawn(pipelines(*WRITTEN, **changes), range(6))
    right = [round(16 * sampling.uniform(9, id, 1)) / 16 for id in range(6)]
    assert [rows[id]["rho"] for id in range(6)] == right
    assert drawn(pipelines(*WRITTEN, **changes), range(2, 5))[4]["rho"] == right[4]
    free = drawn(pipelines(*WRITTEN, **changes, arithmetic="float64"), range(6))
    assert [free[id]["rho"] for id in range(6)] == [sampling.uniform(9, id, 1) for id in range(6)]


def in_users_unit(row: dict[str, Any]) -> tuple[Any, ...]:
    """(tau, d, latency, rho) as rationals."""
    vectors = (tuple(Fraction(x) / row["scale"] for x in row[key]) for key in ("tau", "d", "latency"))
    return (*vectors, row["rho"])


def fractions(*values: Any) -> tuple[Fraction, ...]:
    return tuple(Fraction(str(value)) for value in values)


def split(rng: random.Random, sweep: Sweep) -> Rows:
    """All configurations of ``sweep``, drawn in ranges of random length."""
    cuts = sorted({0, sweep.n_configs, *(rng.randrange(sweep.n_configs) for _ in range(5))})
    rows: Rows = {}
    for start, stop in itertools.pairwise(cuts):
        rows |= drawn(sweep, range(start, stop))
    return rows


def test_a_grid_of_each_runs_like_itertools_product(rng: random.Random) -> None:
    """S outermost, then tau, d, latency, and rho innermost; within a vector the last entry runs fastest."""
    tau, d, latency, rho = fractions(0.5, "1/3", 2), fractions(0, 0.1), fractions("1/7", 1), [0.0, 0.5, 1.0]
    grid = {
        "stages": [2, 1, 3],
        "tau": {"each": [0.5, "1/3", 2]},
        "d": {"each": [0, 0.1]},
        "latency": {"each": ["1/7", 1]},
        "rho": [0, 0.5, 1],
    }
    sweep = make_sweep({"grid": grid, "microbatches": [1, 2], "regimes": ["async", "partial"]})
    right = [
        combination
        for S in (2, 1, 3)
        for combination in itertools.product(
            itertools.product(tau, repeat=S),
            itertools.product(d, repeat=S - 1),
            itertools.product(latency, repeat=S - 1),
            rho,
        )
    ]
    rows = split(rng, sweep)
    assert sweep.n_configs == len(right) == len(rows)
    assert [in_users_unit(rows[id]) for id in range(len(right))] == right
    assert {row["scale"] for row in rows.values()} == {210}


def test_a_grid_of_levels_runs_like_itertools_product(rng: random.Random) -> None:
    """Vectors of tau grouped by length in order of appearance; a number is a level for every link."""
    grid = {"tau": [[1, 2], [0.5, 1, 1], [3, 4], [7, 0, 0]], "d": {"range": [0, 0.3, 0.1]}, "latency": [0, "1/3"]}
    sweep = make_sweep({"grid": grid, "microbatches": [1, 2]})
    vectors = {2: [fractions(1, 2), fractions(3, 4)], 3: [fractions(0.5, 1, 1), fractions(7, 0, 0)]}
    right = [
        (tau, (d,) * (S - 1), (latency,) * (S - 1), None)
        for S in (2, 3)
        for tau, d, latency in itertools.product(vectors[S], fractions(0, 0.1, 0.2, 0.3), fractions(0, "1/3"))
    ]
    rows = split(rng, sweep)
    assert [in_users_unit(rows[id]) for id in range(sweep.n_configs)] == right


def test_a_grid_of_link_vectors(rng: random.Random) -> None:
    """Numbers and vectors of d side by side, one value for each link."""
    grid = {"tau": [[1, 2, 3]], "d": [0.5, [0, 1], [1, 0]], "latency": [[0, 0], [0.25, "1/3"]]}
    sweep = make_sweep({"grid": grid, "microbatches": [1]})
    levels = [fractions(0.5, 0.5), fractions(0, 1), fractions(1, 0)]
    extra = [fractions(0, 0), fractions(0.25, "1/3")]
    rows = split(rng, sweep)
    right = [(fractions(1, 2, 3), d, latency, None) for d, latency in itertools.product(levels, extra)]
    assert [in_users_unit(rows[id]) for id in range(6)] == right
    alone = configuration(sweep, 3)
    assert (alone["d"], alone["latency"], alone["scale"]) == ([0.0, 1.0], [0.25, 1 / 3], 12)
