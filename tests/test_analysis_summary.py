"""``hpsim summary``, against the same numbers computed from the tables with pandas and sorting."""

from __future__ import annotations

import json
import random
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from analysis_runs import FIGURE_3, SAMPLED, STRICT, make_run, ranked, table
from click.testing import CliRunner
from conftest import slow

from hpsim.analysis.database import connect
from hpsim.analysis.quantiles import quantiles
from hpsim.analysis.run import open_run
from hpsim.analysis.summary import summarise
from hpsim.cli import cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small", SAMPLED)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "strict", STRICT)


def test_every_quantile_is_the_ranked_value(folder: Path) -> None:
    """Bias by S, overlap gain and over-estimate by S and M are those of the sorted values, exactly."""
    summary = summarise(folder)
    configs, points = table(folder, "configs"), table(folder, "points")
    expected = {
        "bias": {(S,): group["bias"].tolist() for S, group in configs.groupby("S")},
        "overlap_gain": {
            key: (group["T_blocking"] / group["T_async"]).tolist() for key, group in points.groupby(["S", "M"])
        },
        "gpipe_overestimate": {
            key: (group["T_gpipe"] / group["T_async"] - 1).tolist() for key, group in points.groupby(["S", "M"])
        },
    }
    for name, groups in expected.items():
        rows = getattr(summary, name)
        by = [column for column in ("S", "M") if column in rows[0]]
        found = {tuple(row.pop(column) for column in by): row for row in [dict(row) for row in rows]}
        assert found == {key: {"count": len(values), **ranked(values)} for key, values in groups.items()}
        assert [tuple(row[column] for column in by) for row in rows] == sorted(groups)


def test_phase_transitions_by_stages(folder: Path) -> None:
    """The share in phase transition is decided again from tau and d."""
    configs = table(folder, "configs")
    beyond = [
        any(d > row.tau_max - tau for tau, d in zip(row.tau[:-1], row.d, strict=True)) for row in configs.itertuples()
    ]
    expected = [
        {"S": S, "configs": len(group), "in_transition": int(group.sum()), "share": group.sum() / len(group)}
        for S, group in configs.assign(beyond=beyond).groupby("S")["beyond"]
    ]
    assert summarise(folder).phase == expected


def test_figure_3(tmp_path: Path) -> None:
    """Of the transfer times 0, 1/8, …, 8 the 32 above the slack 4 are in transition; the bias is 12.5."""
    summary = summarise(make_run(tmp_path / "run", FIGURE_3))
    assert summary.phase == [{"S": 4, "configs": 65, "in_transition": 32, "share": 32 / 65}]
    assert summary.bias is not None
    assert {summary.bias[0][name] for name in ("p5", "median", "max")} == {12.5}
    assert summary.overlap_gain is not None
    assert [(row["M"], row["max"]) for row in summary.overlap_gain] == [
        (1, 1.0),
        (8, (31.5 + 7 * 9) / (31.5 + 7 * 5)),
        (100, (31.5 + 99 * 9) / (31.5 + 99 * 5)),
    ]


@pytest.mark.parametrize("n", [1, slow(2), slow(19), 20, slow(21), 1000])
@pytest.mark.parametrize("shape", ["spread", "ties", "one bin", "zeros", "signs"])
@pytest.mark.parametrize("around", [0, 1])
def test_quantiles_of_any_shape(folder: Path, rng: random.Random, n: int, shape: str, around: float) -> None:
    """Ties, zeros, both signs, 600 orders of magnitude and agreement to twelve digits: always the ranked value."""
    draw = {
        "spread": lambda: 10 ** rng.uniform(-300, 300),
        "ties": lambda: float(rng.randint(1, 3)),
        "one bin": lambda: 1 + rng.random() * 1e-12,
        "signs": lambda: rng.choice([-1, 1]) * 10 ** rng.uniform(-5, 5),
        "zeros": lambda: rng.choice([0.0, rng.random()]),
    }[shape]
    groups = {group: [draw() for _ in range(n)] for group in ("a", "b")}
    with connect(open_run(folder)) as database:
        database.execute("CREATE TEMP TABLE given (series VARCHAR, x DOUBLE)")
        rows = [[group, value] for group, values in groups.items() for value in values]
        database.connection.executemany("INSERT INTO given VALUES (?, ?)", rows)
        found = quantiles(database, "given", "x", ["series"], around)
    assert found == [{"series": group, "count": n, **ranked(values)} for group, values in groups.items()]


def test_json_holds_everything(folder: Path) -> None:
    """The JSON is one object with totals, worst errors, tables and violations."""
    result = CliRunner().invoke(cli, ["summary", str(folder), "--json"])
    assert (result.exit_code, result.stderr) == (0, "")
    data = json.loads(result.stdout)
    counts = {name: data[name] for name in ("status", "configs", "points", "violations", "stored_violations", "unit")}
    assert counts == {
        "status": "complete",
        "configs": 150,
        "points": 450,
        "violations": 0,
        "stored_violations": [],
        "unit": "ms",
    }
    assert data["max_rel_err"] == {"async": 0.0, "blocking": 0.0, "partial": 0.0}
    assert len(data["overlap_gain"]) == len(data["gpipe_overestimate"]) == 12
    assert data["gpipe_overestimate_against"] == "async"


def test_the_page(folder: Path) -> None:
    """The page names what it shows, with the unit, and one line for each S and M."""
    result = CliRunner().invoke(cli, ["summary", str(folder)])
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "small: complete, 4 of 4 parts, exact"
    assert "homogeneity bias sum(tau_max - tau) [ms] by S" in lines
    gains = lines[lines.index("overlap gain T_blocking / T_async by S and M") + 3 :][:12]
    assert [tuple(map(int, line.split()[:2])) for line in gains] == [(S, M) for S in (1, 2, 3, 4) for M in (1, 2, 9)]


KNOBS: dict[str, Any] = {
    "name": "knobs",
    "seed": 3,
    "unit": "ms",
    "configs": 120,
    "stages": {"uniform": [1, 4]},
    "tau": {"loguniform": [0.1, 10]},
    "d": {"loguniform": [0.01, 20], "times": "mean_tau"},
    "microbatches": [1, 8],
    "regimes": [
        "blocking",
        {"name": "tight", "overlap": 0, "buffers": 0},
        {"name": "few", "window": 2, "channels": 1},
    ],
    "claims": ["thm3", "T(tight) >= T_blocking"],
    "chunk": 50,
}


@pytest.fixture(scope="module")
def knobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "knobs", KNOBS)


@pytest.mark.parametrize("name", ["tight", "few"])
def test_regimes_of_knobs(knobs: Path, name: str) -> None:
    """Quantiles of the ratio by M, and by S the mean slope and what decides it, are those of the tables."""
    configs, points = table(knobs, "configs"), table(knobs, "points")
    found = {regime.name: regime for regime in summarise(knobs).knobs or []}[name]
    assert found.against == "blocking"
    assert found.ratio == [
        {"M": M, "count": 120, **ranked((group[f"T_{name}"] / group["T_blocking"]).tolist())}
        for M, group in points.groupby("M")
    ]
    assert [row["S"] for row in found.critical] == [1, 2, 3, 4]
    for row, (_, group) in zip(found.critical, configs.groupby("S"), strict=True):
        kinds = group[f"critical_{name}"].str.split().str[0].value_counts()
        counts = {kind: int(kinds.get(kind, 0)) for kind in ("server", "credit", "window", "link")}
        mean = pytest.approx(group[f"slope_{name}"].mean(), rel=1e-12)
        assert row == {"S": row["S"], "configs": len(group), "mean_slope": mean, **counts}
        assert sum(counts.values()) == len(group)


def test_regimes_of_knobs_on_the_page(knobs: Path) -> None:
    """Two tables for each regime, and the claims that were checked at the head; the same in JSON."""
    lines = CliRunner().invoke(cli, ["summary", str(knobs)]).stdout.splitlines()
    assert lines[2] == "claims checked: thm3 · T(tight) >= T_blocking"
    for title in ("T_tight / T_blocking by M", "what decides its slope [ms], by S"):
        assert f"regime tight: {title}" in lines
    header = lines[lines.index("regime few: what decides its slope [ms], by S") + 1].split()
    assert header == ["S", "configurations", "server", "window", "link", "mean", "slope"]
    data = json.loads(CliRunner().invoke(cli, ["summary", str(knobs), "--json"]).stdout)
    assert data["claims"] == KNOBS["claims"]
    assert [regime["name"] for regime in data["knob_regimes"]] == ["tight", "few"]
    assert [row["M"] for row in data["knob_regimes"][0]["ratio"]] == [1, 8]


def test_regimes_of_knobs_alone(tmp_path: Path) -> None:
    """Without a closed form the first regime is the one that others are compared with, and has no ratio itself."""
    data = {key: value for key, value in KNOBS.items() if key != "claims"} | {"regimes": KNOBS["regimes"][1:]}
    first, second = summarise(make_run(tmp_path / "run", data)).knobs or []
    assert (first.against, second.against) == ("tight", "tight")
    assert first.ratio is None
    assert second.ratio is not None
    page = CliRunner().invoke(cli, ["summary", str(tmp_path / "run")])
    assert page.exit_code == 0
    assert "claims checked: none" in page.stdout


def test_violations_in_full(strict: Path) -> None:
    """A run with violations exits with 1, shows the worst error of each regime, and its JSON has every violation."""
    stored, points = table(strict, "violations"), table(strict, "points")
    result = CliRunner().invoke(cli, ["summary", str(strict), "--json"])
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["violations"] == len(data["stored_violations"]) == len(stored) > 0
    assert [row["claim"] for row in data["stored_violations"]] == stored["claim"].tolist()
    assert [row["tau"] for row in data["stored_violations"]] == [list(tau) for tau in stored["tau"]]
    assert data["max_rel_err"] == {name: points[f"rel_err_{name}"].max() for name in SAMPLED["regimes"]}


def test_the_first_violations_on_the_page(strict: Path, tmp_path: Path) -> None:
    """Five violations are told in words, and the command that shows all of them, for a shell."""
    folder = Path(shutil.copytree(strict, tmp_path / "a run's folder"))
    page = CliRunner().invoke(cli, ["summary", str(folder)])
    assert page.exit_code == 1
    lines = page.stdout.splitlines()
    first = table(strict, "violations")["config_id"][:5].tolist()
    told = lines.index(f"{len(table(strict, 'violations'))} violations; the first 5:")
    assert [int(line.split("configuration ")[1].split(",")[0]) for line in lines[told + 1 : -1]] == first
    command = lines[-1].removeprefix("all that are stored: ")
    program, *words = shlex.split(command)
    assert program == "hpsim"
    rows = CliRunner().invoke(cli, [*words, "--format", "json"])
    assert len(json.loads(rows.stdout)) == len(table(strict, "violations"))


def test_few_violations_are_all_on_the_page(tmp_path: Path) -> None:
    """Where no more than five are stored, each of them is told, and no command for the rest."""
    folder = make_run(tmp_path / "run", STRICT | {"configs": 4, "microbatches": [9]})
    stored = len(table(folder, "violations"))
    assert stored == 4
    lines = CliRunner().invoke(cli, ["summary", str(folder)]).stdout.splitlines()
    assert sum(" fails at configuration " in line for line in lines) == stored
    assert "4 violations:" in lines
    assert "all that are stored" not in lines[-1]


def test_a_unit_moves_no_cursor(tmp_path: Path) -> None:
    """Characters of the unit that a terminal would obey are blanks on the page and escapes in the JSON."""
    folder = make_run(tmp_path / "run", SAMPLED | {"unit": "m\x1b[31m\x9b\u202es"})
    page = CliRunner().invoke(cli, ["summary", str(folder)]).stdout
    assert "[m [31m  s] by S" in page
    assert all(line.isprintable() for line in page.splitlines())
    data = CliRunner().invoke(cli, ["summary", str(folder), "--json"]).stdout
    assert all(line.isprintable() for line in data.splitlines())
    assert json.loads(data)["unit"] == "m\x1b[31m\x9b\u202es"


def test_a_run_that_kept_violations_only(tmp_path: Path) -> None:
    """Totals and worst errors are there; what needs every point is not, and the page says which key records it."""
    folder = make_run(tmp_path / "run", SAMPLED | {"record": "violations"})
    page = CliRunner().invoke(cli, ["summary", str(folder)])
    assert page.exit_code == 0
    assert "450 points" in page.stdout
    assert "record: points" in page.stdout
    data = json.loads(CliRunner().invoke(cli, ["summary", str(folder), "--json"]).stdout)
    assert (data["points"], data["overlap_gain"], data["phase_transition"]) == (450, None, None)


def test_one_regime_has_no_overlap_gain(tmp_path: Path) -> None:
    """Without async or blocking the gain is left out in words, and GPipe is held against the regime that is there."""
    data: dict[str, Any] = {key: value for key, value in SAMPLED.items() if key != "rho"} | {"regimes": ["free"]}
    folder = make_run(tmp_path / "run", data)
    page = CliRunner().invoke(cli, ["summary", str(folder)]).stdout
    assert "overlap gain T_blocking / T_async: needs both" in page
    assert "T_gpipe / T_free - 1" in page


def test_an_unfinished_run_says_so(folder: Path, tmp_path: Path) -> None:
    """The note is on stderr, and the numbers are those of the finished parts."""
    run = Path(shutil.copytree(folder, tmp_path / "run"))
    (run / "_parts" / "000003.json").unlink()
    result = CliRunner().invoke(cli, ["summary", str(run), "--json"])
    assert result.stderr.startswith("note: this run is unfinished: 3 of 4 parts are done")
    data = json.loads(result.stdout)
    first = table(run, "configs").query("config_id < 120")
    assert (data["status"], data["configs"]) == ("unfinished", 120)
    assert [row["count"] for row in data["homogeneity_bias"]] == first.groupby("S").size().tolist()


def test_a_run_without_a_part_is_summarised(folder: Path, tmp_path: Path) -> None:
    """Nothing is done yet: empty tables and no error."""
    run = Path(shutil.copytree(folder, tmp_path / "run"))
    shutil.rmtree(run / "_parts")
    result = CliRunner().invoke(cli, ["summary", str(run), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["overlap_gain"] == []


def test_a_damaged_part_is_named(folder: Path, tmp_path: Path) -> None:
    """A part of the right size with the wrong bytes ends in one line, not in a traceback."""
    run = Path(shutil.copytree(folder, tmp_path / "run"))
    part = run / "points" / "part-000000.parquet"
    part.write_bytes(bytes(part.stat().st_size))
    result = CliRunner().invoke(cli, ["summary", str(run)])
    assert type(result.exception).__name__ == "RunFolderError"
    assert "part-000000.parquet" in str(result.exception)
    assert "\n" not in str(result.exception)
