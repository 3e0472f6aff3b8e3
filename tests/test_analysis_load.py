"""``hpsim.load``: data frames that are the tables, read when they are asked for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas
import pytest
from analysis_runs import SAMPLED, STRICT, make_run, table
from click.testing import CliRunner

import hpsim
from hpsim.cli import cli
from hpsim.errors import RunFolderError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small", SAMPLED)


def test_the_frames_are_the_tables(tmp_path: Path) -> None:
    """Every table comes out whole and in order, with the run's unit."""
    folder = make_run(tmp_path / "run", STRICT)
    run = hpsim.load(folder)
    for name in ("configs", "points", "violations"):
        pandas.testing.assert_frame_equal(getattr(run, name), table(folder, name))
    assert run.unit == "ms"
    assert len(run.violations) > 0


def test_columns_are_selected_from_each_table(folder: Path) -> None:
    """Each table has those of the columns that it knows."""
    run = hpsim.load(str(folder), columns=["S", "M", "bias"])
    assert list(run.points.columns) == ["S", "M"]
    assert list(run.configs.columns) == ["S", "bias"]
    assert list(run.violations.columns) == ["S", "M"]
    assert list(hpsim.load(folder, columns="bias").configs.columns) == ["bias"]


def test_pipelines_keep_their_names(tmp_path: Path) -> None:
    """A sweep over pipelines has their names in every reader, in the order of the file, also across parts."""
    pipelines = [{"name": name, "tau": [1, 2 + k], "d": [1]} for k, name in enumerate(("b", "a", "ｃ"))]
    sweep = {"pipelines": pipelines, "microbatches": [2], "chunk": 2}
    folder = make_run(tmp_path / "run", sweep)
    assert hpsim.load(folder).configs["name"].tolist() == ["b", "a", "ｃ"]
    assert list(hpsim.load(folder, columns="name").configs.columns) == ["name"]
    statement = "SELECT name, T_async FROM points JOIN configs USING (config_id, S) ORDER BY name"
    asked = CliRunner().invoke(cli, ["query", str(folder), statement, "--format", "csv"], catch_exceptions=False)
    assert asked.stdout.splitlines() == ['"name","T_async"', '"a",8', '"b",6', '"ｃ",10']  # 1 + 1 + 2 tau[1]
    assert CliRunner().invoke(cli, ["summary", str(folder)], catch_exceptions=False).exit_code == 0


def test_sampled_sweeps_have_no_names(folder: Path) -> None:
    """Their columns are as ever."""
    assert "name" not in hpsim.load(folder).configs


def test_an_unknown_column_is_refused_at_once(folder: Path) -> None:
    """The message lists the columns that there are."""
    with pytest.raises(RunFolderError, match=r"T_asinc.*T_async"):
        hpsim.load(folder, columns=["T_asinc"])


def test_points_are_read_only_when_asked_for(folder: Path, tmp_path: Path) -> None:
    """The configurations of a run are read without touching its points, and each frame is read once."""
    run = hpsim.load(shutil.copytree(folder, tmp_path / "run"))
    shutil.rmtree(tmp_path / "run" / "points")
    assert len(run.configs) == 150
    assert run.configs is run.configs
    with pytest.raises(RunFolderError):
        _ = run.points


def test_no_violations_is_an_empty_frame_with_columns(folder: Path) -> None:
    """An empty table still has its columns and types."""
    frame = hpsim.load(folder).violations
    assert len(frame) == 0
    assert {"claim", "tau", "T_async", "M"} <= set(frame.columns)
    assert str(frame.dtypes["M"]) == "int64"


def test_violations_only(tmp_path: Path) -> None:
    """A run that kept violations only says which key of the sweep keeps points."""
    run = hpsim.load(make_run(tmp_path / "run", SAMPLED | {"record": "violations"}))
    assert len(run.violations) == 0
    with pytest.raises(RunFolderError, match="record: points"):
        _ = run.points


def test_an_unfinished_run_warns(folder: Path, tmp_path: Path) -> None:
    """Only finished parts are there, and a warning says how many."""
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    (copy / "_parts" / "000001.json").unlink()
    with pytest.warns(UserWarning, match="3 of 4 parts are done"):
        run = hpsim.load(copy)
    assert run.configs["config_id"].tolist() == [*range(40), *range(80, 150)]


def test_not_a_run_folder(tmp_path: Path) -> None:
    """A folder without a run is refused."""
    with pytest.raises(RunFolderError, match="is not a run folder"):
        hpsim.load(tmp_path)


def test_frames_are_told_in_one_line(folder: Path) -> None:
    """Where they come from, how much there is, and which tables; nothing is read for it."""
    size = "150 configurations, 450 points, 0 violations"
    told = f"<Frames of {folder}: complete; {size}; tables configs, points, violations>"
    assert repr(hpsim.load(folder)) == told
