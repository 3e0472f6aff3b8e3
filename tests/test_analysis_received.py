"""Run folders from others, or damaged: every reader answers as at a plain path, or says what is wrong."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from analysis_runs import SAMPLED, STRICT, make_run

from hpsim.analysis import database
from hpsim.analysis.figure import save
from hpsim.analysis.load import load
from hpsim.analysis.query import query
from hpsim.analysis.run import open_run
from hpsim.analysis.summary import stored_violations, summarise
from hpsim.errors import HpsimError, RunFolderError

# what a folder may be called: columns by the convention of other tools, patterns, quotes
NAMES = [
    "S=99",
    "T_async=1",
    "lr=0.1/S=4/run",
    "M=5/x",
    "config_id=7",
    "seed=7",
    "run?",
    "a**b",
    "[",
    "c[d]",
    "it's",
    'q"q',
    "back\\slash",
    "{a,b}",
    "new\nline",
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with violations in every part."""
    return make_run(tmp_path_factory.mktemp("runs") / "plain", STRICT | {"configs": 60, "chunk": 20})


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def all_rows(run: Path) -> dict[str, Any]:
    """Everything that the readers say of a run."""
    frames, summary = load(run), summarise(run)
    said = {name: getattr(frames, name).to_json() for name in ("configs", "points", "violations")}
    for table in ("configs", "points", "violations"):
        with query(open_run(run), f"SELECT * FROM {table}") as rows:
            said[f"SQL {table}"] = rows.read_all().to_pylist()
    save(open_run(run), "slope", run.parent / "figure.svg")
    figure = (run.parent / "figure.svg").read_bytes()
    numbers = {key: value for key, value in summary.as_dict().items() if key != "run"}
    return said | {"summary": numbers, "stored": list(stored_violations(summary.run)), "figure": figure}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_folder_changes_no_number(finished: Path, tmp_path: Path, name: str) -> None:
    """Whatever the folders of the path are called, load, summary, query and plot say the same."""
    for neighbour in ("run1", "aXb", "c", "cd"):  # which the names would be patterns for
        make_run(tmp_path / neighbour, SAMPLED | {"configs": 3, "chunk": 3})
    run = tmp_path / name
    shutil.copytree(finished, run)
    assert all_rows(run) == all_rows(finished)


HOSTILE = "w\" WHERE false; COPY (SELECT 1) TO 'x.csv'; --"


def with_regime(sweep: dict[str, Any], name: str) -> dict[str, Any]:
    return sweep | {"regimes": ["async", {"name": name, "buffers": 1}]}


@pytest.mark.parametrize("name", [HOSTILE, "a b", "", "é" * 41, "T\nx", "async) FROM points; --"])
def test_a_regime_s_name_is_no_sql(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A run whose sweep names a regime as no sweep may is refused by every reader, and nothing is executed."""
    monkeypatch.chdir(folder.parent)
    sweep = yaml.safe_load((folder / "sweep.yaml").read_text())
    (folder / "sweep.yaml").write_text(yaml.safe_dump(with_regime(sweep, name)))
    before = sorted(folder.parent.rglob("*"))
    for read in READERS:
        with pytest.raises(RunFolderError, match=r"sweep\.yaml"):
            read(folder)
    assert sorted(folder.parent.rglob("*")) == before


def test_identifiers_are_quoted() -> None:
    """A name with a quote in it stays one identifier."""
    assert database.quoted('w" WHERE false; --') == '"w"" WHERE false; --"'


def test_the_doors_close_before_anything_of_the_run_is_touched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first statement that names a table comes after the ones that forbid all other files and settings."""
    executed: list[str] = []
    views = database._view
    monkeypatch.setattr(database, "_view", lambda *about: executed.append("view") or views(*about))
    doors = database._close_doors
    monkeypatch.setattr(database, "_close_doors", lambda *about: executed.append("doors") or doors(*about))
    with database.connect(open_run(folder)) as opened:
        assert executed == ["doors", "view", "view", "view"]
        for statement in ("SET lock_configuration = false", "SET enable_external_access = true", "INSTALL httpfs"):
            with pytest.raises(HpsimError), opened_again(opened, statement):
                pass


def opened_again(opened: database.Database, statement: str) -> Any:
    """The statement, its refusal as one of ours."""
    import duckdb

    try:
        opened.execute(statement)
    except duckdb.Error as error:
        raise HpsimError("SQL", str(error), "nothing") from None
    raise AssertionError(f"{statement} was executed")


def read_frames(run: Path) -> None:
    frames = load(run)
    for table in ("configs", "points", "violations"):
        getattr(frames, table)


def read_summary(run: Path) -> None:
    found = summarise(run)
    found.as_dict()
    list(stored_violations(found.run))


def read_rows(run: Path) -> None:
    for sql in ("SELECT * FROM points JOIN configs USING (config_id, S)", "SELECT * FROM violations"):
        with query(open_run(run), sql) as rows:
            rows.read_all()


READERS: list[Callable[[Path], None]] = [read_frames, read_summary, read_rows]


def refusal_of(read: Callable[[Path], None], run: Path) -> str:
    """What a reader says of a run that it refuses; nothing where it does not."""
    try:
        read(run)
    except HpsimError as error:
        return str(error)
    return ""


def test_one_flipped_bit_is_one_message_or_none(
    finished: Path, tmp_path: Path, rng: random.Random, recwarn: pytest.WarningsRecorder
) -> None:
    """A bit flipped anywhere in a run: every reader answers, or refuses in one line that names a file of the run."""
    files = [file for file in sorted(finished.rglob("*")) if file.is_file()]
    refused = 0
    for _ in range(40):
        run = Path(shutil.copytree(finished, tmp_path / "run"))
        damaged = run / rng.choice(files).relative_to(finished)
        content = bytearray(damaged.read_bytes())
        first = max(0, len(content) - 600) if rng.random() < 0.7 else 0  # footers say what the rest means
        content[rng.randrange(first, len(content))] ^= 1 << rng.randrange(8)
        damaged.write_bytes(content)
        for read in READERS:
            said = refusal_of(read, run)
            refused += bool(said)
            assert not said or (str(run) in said and "\n" not in said), said
        shutil.rmtree(run)
    assert refused > 10  # or the flips did nothing


def _edited(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def edit(run: Path) -> None:
        file = run / name
        file.write_text(json.dumps(change(json.loads(file.read_text()))))

    return edit


def _written(name: str, text: str) -> Callable[[Path], None]:
    return lambda run: (run / name).write_text(text) and None


def _piped(name: str) -> Callable[[Path], None]:
    def replace(run: Path) -> None:
        (run / name).unlink()
        os.mkfifo(run / name)

    return replace


RECORD = "_parts/000001.json"
LOST = [  # a part that does not count any more
    _piped(RECORD),
    _written(RECORD, "[" * 100_000),
    _written(RECORD, '{"totals": null}'),
    _edited(RECORD, lambda record: record | {"totals": None}),
    _edited(RECORD, lambda record: record | {"totals": record["totals"] | {"points": 10**6}}),
    _edited(RECORD, lambda record: record | {"tables": {"../../etc": record["tables"]["points"]}}),
    _edited(RECORD, lambda record: record | {"tables": 7}),
    _edited(RECORD, lambda record: [record]),
    _written(RECORD, "1" * 5000),
    _written(RECORD, " " * 2**21),
    _piped("points/part-000001.parquet"),
    lambda run: (run / "points/part-000001.parquet").unlink(),
]
REFUSED = [  # a run that cannot be read
    _piped("run.json"),
    _piped("sweep.yaml"),
    _written("run.json", "[" * 100_000),
    _edited("run.json", lambda run: run | {"parts_total": None}),
    _edited("run.json", lambda run: run | {"parts_total": "3"}),
    _edited("run.json", lambda run: run | {"parts_total": 10**9}),
    _edited("run.json", lambda run: run | {"format": {}}),
    _edited("run.json", lambda run: run | {"sweep_sha256": "0" * 64}),
    _written("sweep.yaml", "[" * 100_000),
    _written("sweep.yaml", ""),
    _written("sweep.yaml", "- 1"),
    _written("sweep.yaml", "regimes: 7"),
    _written("sweep.yaml", "configs: 60\ntau: null\n"),
    _written("sweep.yaml", "pipelines: /etc/passwd\n"),
    lambda run: (run / "sweep.yaml").write_bytes(b"name: \xff"),
    lambda run: (run / "sweep.yaml").unlink(),
]


@pytest.mark.parametrize("damage", LOST)
def test_a_strange_part_does_not_count(folder: Path, damage: Callable[[Path], None]) -> None:
    """A part whose record or file is not what a run writes is lost; the rest is read, and nothing waits or raises."""
    damage(folder)
    run = open_run(folder)
    assert (run.parts_done, run.parts_lost, run.totals.configs) == (2, 1, 40)
    with pytest.warns(UserWarning, match="1 recorded but missing or of another size"):
        assert len(load(folder).points) == 40 * 3
    read_summary(folder)


@pytest.mark.parametrize("damage", REFUSED)
def test_a_strange_run_is_refused_in_one_line(folder: Path, damage: Callable[[Path], None]) -> None:
    """A run.json or sweep.yaml that no run writes is one message that names it."""
    damage(folder)
    for read in READERS:
        with pytest.raises(RunFolderError) as refusal:
            read(folder)
        assert str(folder) in str(refusal.value)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("change", ["columns", "rows"])
def test_a_part_unlike_its_record_is_refused(folder: Path, change: str) -> None:
    """A part with a sound record, but columns of another type or more rows than it says, is damage to every reader."""
    import hashlib

    import pyarrow.parquet

    part, record = folder / "points" / "part-000001.parquet", folder / RECORD
    table = pyarrow.parquet.ParquetFile(part).read()
    if change == "columns":
        table = table.set_column(3, "T_gpipe", pyarrow.array(["1"] * len(table)))
    else:
        table = pyarrow.concat_tables([table] * 1000)
    pyarrow.parquet.write_table(table, part)
    content = json.loads(record.read_text())
    del content["sha256"]
    content["tables"]["points"] |= {
        "bytes": part.stat().st_size,
        "sha256": hashlib.sha256(part.read_bytes()).hexdigest(),
    }
    seal = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    record.write_text(json.dumps(content | {"sha256": seal}, sort_keys=True, indent=1) + "\n")
    assert open_run(folder).parts_lost == 0
    for read in READERS:
        with pytest.raises(RunFolderError, match=r"part-000001|cannot be read"):
            read(folder)


@pytest.mark.parametrize("memory", ["99999999999999999TB", "0B", "lots"])
def test_a_memory_that_cannot_be_is_refused(folder: Path, memory: str) -> None:
    """A size that is no size, too large for DuckDB, or nothing at all is one message."""
    with pytest.raises(HpsimError, match="memory"), query(open_run(folder), "FROM points", memory=memory):
        pass


@pytest.mark.parametrize("sql", ["UPDATE EXTENSIONS", "UPDATE EXTENSIONS (httpfs)", "LOAD httpfs", "CHECKPOINT"])
def test_statements_that_do_more_than_read_are_refused(folder: Path, sql: str) -> None:
    """Kinds of statements that DuckDB's Python part knows no name for are refused like the others."""
    with pytest.raises(HpsimError, match="a run is only read"), query(open_run(folder), sql):
        pass
