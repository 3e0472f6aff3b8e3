"""Run folders as analysis sees them: what counts, what is missing, and what is no run folder."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import children
import pytest
from analysis_runs import PARTS, SAMPLED, digests, make_run

from hpsim.analysis.run import open_run
from hpsim.errors import MissingExtraError, RunFolderError
from hpsim.sweep import record


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "finished", SAMPLED)


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def test_a_finished_run(folder: Path) -> None:
    """A complete run is complete, with its totals, unit, regimes and all its files in order."""
    run = open_run(folder)
    assert (run.parts_done, run.parts_total, run.parts_lost, run.unfinished) == (PARTS, PARTS, 0, None)
    assert (run.totals.configs, run.totals.points, run.totals.violations) == (150, 450, 0)
    assert (run.unit, run.regimes) == ("ms", ["async", "blocking", "partial"])
    assert [file.name for file in run.files["points"]] == [f"part-{k:06d}.parquet" for k in range(PARTS)]
    assert run.files["violations"] == []


def test_opening_changes_nothing(folder: Path) -> None:
    """The folder is byte for byte what it was."""
    before = digests(folder)
    open_run(folder)
    assert digests(folder) == before


@pytest.mark.parametrize(("room", "opens"), [(4, True), (1, False)])
def test_a_resolved_sweep_may_be_larger_than_the_file_it_came_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch, room: int, opens: bool
) -> None:
    """It spells out ranges, and d and latency of every pipeline: it has four times the room of a sweep file."""
    monkeypatch.setattr(record, "MOST_VALUES", 30)  # the resolved sweep has about twice as many
    monkeypatch.setattr(record, "ROOM", room)
    if opens:
        assert open_run(folder).parts_done == PARTS
    else:
        with pytest.raises(RunFolderError, match="more than 30 values"):
            open_run(folder)


def test_a_part_without_a_record_does_not_count(folder: Path) -> None:
    """What was written before its record, by a run that was killed, is not there yet."""
    (folder / "_parts" / "000001.json").unlink()
    run = open_run(folder)
    assert (run.parts_done, run.parts_lost, run.totals.configs) == (3, 0, 110)
    assert "part-000001.parquet" not in [file.name for file in run.files["configs"]]
    assert run.unfinished is not None
    assert "3 of 4 parts are done" in run.unfinished


@pytest.mark.parametrize("damage", ["truncated", "missing", "record damaged", "record of another sweep"])
def test_a_part_that_is_not_as_recorded_does_not_count(folder: Path, damage: str) -> None:
    """A file of another size, a missing one, and a record that is not this run's are told from parts not begun."""
    part, record = folder / "points" / "part-000002.parquet", folder / "_parts" / "000002.json"
    if damage == "truncated":
        part.write_bytes(part.read_bytes()[:-1])
    elif damage == "missing":
        part.unlink()
    elif damage == "record damaged":
        record.write_text("{")
    else:
        record.write_text(json.dumps({**json.loads(record.read_text()), "sweep_sha256": "0" * 64}))
    run = open_run(folder)
    assert (run.parts_done, run.parts_lost) == (3, 1)
    assert "1 recorded but missing or of another size" in str(run.unfinished)


def test_a_run_without_any_part(folder: Path) -> None:
    """A run that was killed before its first part is a run with nothing in it."""
    for name in ("_parts", "configs", "points", "violations"):
        shutil.rmtree(folder / name)
    run = open_run(folder)
    assert (run.parts_done, run.totals.points) == (0, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not a run folder"),
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"format": 99, "sweep_sha256": "", "parts_total": 1}', "format 99"),
    ],
)
def test_no_run_folder(tmp_path: Path, content: str | None, message: str) -> None:
    """A folder without a run, with a damaged one, or one of another format is refused in one line."""
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunFolderError, match=message) as caught:
        open_run(tmp_path)
    assert "\n" not in str(caught.value)


def test_no_folder_at_all(tmp_path: Path) -> None:
    """A path where nothing is, or a file, is refused."""
    (tmp_path / "file").write_text("")
    for name in ("nothing", "file"):
        with pytest.raises(RunFolderError, match="there is no such folder"):
            open_run(tmp_path / name)


@pytest.mark.parametrize(("package", "extra"), [("duckdb", "sql"), ("matplotlib", "plot")])
def test_a_missing_extra_names_its_installation(
    folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, extra: str
) -> None:
    """Without the optional package there is one line with the pip install that brings it."""
    from hpsim.analysis.figure import draw

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as caught:
        draw(open_run(folder), "bias")
    assert f'pip install "hpsim-pipelines[{extra}]"' in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("command", ["summary", "query", "plot"])
def test_help_loads_nothing_heavy(command: str) -> None:
    """The help of each command imports neither DuckDB nor pandas, pyarrow, Matplotlib, NumPy or numba."""
    check = f"""
import sys
from click.testing import CliRunner
from hpsim.cli import cli
assert CliRunner().invoke(cli, ["{command}", "--help"]).exit_code == 0
sys.exit(", ".join({{"duckdb", "pandas", "pyarrow", "matplotlib", "numpy", "numba"}} & set(sys.modules)) or 0)
"""
    result = children.run([sys.executable, "-c", check])
    assert (result.returncode, result.stderr) == (0, "")
