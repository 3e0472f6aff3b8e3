"""``hpsim query``: rows in four formats, nothing but reading, and errors that say where and what exists."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import children
import numpy
import pandas
import pytest
from analysis_runs import SAMPLED, digests, make_run, table
from click.testing import CliRunner, Result
from test_streams import terminal

from hpsim.analysis.export import plain, unique_names
from hpsim.analysis.query import query
from hpsim.analysis.run import open_run
from hpsim.cli import cli
from hpsim.cli.query import _table
from hpsim.errors import HpsimError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small", SAMPLED)


def ask(folder: Path, sql: str, *options: str) -> Result:
    return CliRunner().invoke(cli, ["query", str(folder), sql, *options])


def refused(folder: Path, sql: str) -> str:
    """The one line that says why."""
    with pytest.raises(HpsimError) as caught, query(open_run(folder), sql) as rows:
        rows.read_all()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_csv_json_and_parquet_hold_the_tables_themselves(folder: Path, tmp_path: Path) -> None:
    """Every row and every bit of the points comes out, in the order of the sweep, in each format."""
    points = table(folder, "points")
    read = {"csv": pandas.read_csv, "json": pandas.read_json, "parquet": pandas.read_parquet}
    for form, reader in read.items():
        out = tmp_path / f"rows.{form}"
        assert ask(folder, "FROM points", "--out", str(out)).exit_code == 0
        pandas.testing.assert_frame_equal(reader(out), points, check_dtype=False, check_exact=form == "parquet")
    with (tmp_path / "rows.csv").open() as file:
        assert [float(row["T_partial"]) for row in csv.DictReader(file)] == points["T_partial"].tolist()
    assert json.loads((tmp_path / "rows.json").read_text()) == json.loads(json.dumps(points.to_dict("records")))


def test_standard_output_is_the_same_as_the_file(folder: Path, tmp_path: Path) -> None:
    """--format on standard output and --out give the same bytes."""
    sql = "SELECT S, count(*) AS n, sum(M) AS m FROM points GROUP BY S ORDER BY S"
    for form in ("csv", "json"):
        result = ask(folder, sql, "--format", form)
        ask(folder, sql, "--out", str(tmp_path / f"rows.{form}"))
        assert result.stdout_bytes == (tmp_path / f"rows.{form}").read_bytes()
    counts = table(folder, "points").groupby("S")["M"].agg(["size", "sum"])
    expected = [{"S": S, "n": n, "m": m} for S, n, m in counts.reset_index().to_numpy().tolist()]
    assert json.loads(result.stdout) == expected


def test_difficult_cells(folder: Path) -> None:
    """Lists, quotes, missing values, NaN and equal names survive as CSV and as JSON."""
    sql = "SELECT tau, 'a,\"b\"' AS x, NULL AS y, 'nan'::DOUBLE AS z, 1 AS x FROM configs WHERE config_id = 3"
    tau = table(folder, "configs")["tau"][3].tolist()
    (row,) = json.loads(ask(folder, sql, "--format", "json").stdout)
    assert row == {"tau": tau, "x": 'a,"b"', "y": None, "z": None, "x_1": 1}
    (cells,) = csv.DictReader(io.StringIO(ask(folder, sql, "--format", "csv").stdout))
    assert cells == {"tau": json.dumps(tau), "x": 'a,"b"', "y": "", "z": "nan", "x_1": "1"}


def test_equal_names_are_told_apart() -> None:
    """A name that was there gets a number that is free."""
    assert unique_names(["a", "b", "a", "a_1", "a"]) == ["a", "b", "a_1", "a_1_1", "a_2"]


def test_values_in_json() -> None:
    """Whole decimals are whole numbers, infinities are null, dates are text, structures keep their form."""
    from datetime import date
    from decimal import Decimal

    value = {"n": Decimal(12), "x": Decimal("1.5"), "inf": [float("inf"), True], "day": date(2026, 1, 2)}
    assert plain(value) == {"n": 12, "x": 1.5, "inf": [None, True], "day": "2026-01-02"}


def test_the_table_is_aligned_and_says_when_it_is_cut(folder: Path) -> None:
    """Up to 200 rows are shown; a note on stderr says that there are more."""
    result = ask(folder, "SELECT S, M FROM points")
    assert len(result.stdout.splitlines()) == 2 + 200
    assert "the first 200 rows" in result.stderr
    short = ask(folder, "SELECT 1 AS one, 2.5 AS half")
    assert [line.split() for line in short.stdout.splitlines()][::2] == [["one", "half"], ["1", "2.5"]]
    assert short.stderr == ""


def drawn(folder: Path, sql: str, width: int | None) -> list[str]:
    """The lines of the table, or of the blocks, in so many columns."""
    with query(open_run(folder), sql) as rows:
        return _table(rows, width).splitlines()


@pytest.mark.parametrize("width", [20, 60, 80, 120, 200, None])
@pytest.mark.parametrize("name", ["points", "configs"])
def test_no_number_is_cut(folder: Path, name: str, width: int | None) -> None:
    """In every width each column is there, and each number is whole and on one line; a pipe has one line a row."""
    lines = drawn(folder, f"FROM {name} LIMIT 3", width)
    rows = table(folder, name).head(3)
    found = Counter(re.split(r"[\s,\[\]]+", " ".join(lines)))
    for column in rows.columns:
        assert found[column] >= 1
        for value in rows[column]:
            for number in value if isinstance(value, numpy.ndarray) else [value]:
                assert found[f"{number:.10g}" if isinstance(number, float) else str(number)] >= 1
    if width is None:
        assert len(lines) == 2 + 3
    elif width >= 60:
        assert max(map(len, lines)) <= width


def test_what_does_not_fit_is_a_block_a_row(folder: Path) -> None:
    """A table that is one column too wide becomes a block for each row, with the columns below one another."""
    sql = "SELECT * FROM (VALUES (1, 'ab', [1.5, 22.25]), (2, NULL, [])) AS t(n, text, list)"
    whole = drawn(folder, sql, None)
    assert [line.split() for line in whole] == [
        ["n", "text", "list"],
        ["─" * (len(whole[1]) - 1)],
        ["1", "ab", "[1.5,", "22.25]"],
        ["2", "[]"],
    ]
    widest = max(map(len, whole)) + 1  # a blank at the end of the line is left out
    assert drawn(folder, sql, widest) == whole
    assert drawn(folder, sql, widest - 1) == [
        "row 1",
        "  n     1",
        "  text  ab",
        "  list  [1.5, 22.25]",
        "row 2",
        "  n     2",
        "  text",
        "  list  []",
    ]


def test_long_names_numbers_and_lists(folder: Path) -> None:
    """A name that is half the terminal stands alone, a number too long for it stays whole, a long list is counted."""
    lines = drawn(folder, f"SELECT {10**37}::HUGEINT AS a_name_of_many_letters, range(1000) AS r", 30)
    assert lines[:5] == [
        "row 1",
        "  a_name_of_many_letters",
        f"     {10**37}",
        "  r  [0, 1, 2, 3, 4, 5, 6, 7,",
        "     8, 9, 10, 11, 12, 13, 14,",
    ]
    assert lines[-1].endswith("… 900 more]")


def test_cells_move_no_cursor(folder: Path) -> None:
    """What a terminal would obey is blank in tables and blocks, in cells and in names, and an escape in JSON."""
    sql = "SELECT chr(27) || '[31m' || chr(155) || chr(8238) || 'x' AS \"a\x1b[2Jb\", ['\x9b'] AS c"
    for width in (None, 10):
        lines = drawn(folder, sql, width)
        assert all(line.isprintable() for line in lines)
        assert "a [2Jb" in "\n".join(lines)
        assert "[31m x" in " ".join("\n".join(lines).split())
    printed = ask(folder, sql, "--format", "json").stdout
    assert all(line.isprintable() for line in printed.splitlines())
    assert json.loads(printed) == [{"a\x1b[2Jb": "\x1b[31m\x9b\u202ex", "c": ["\x9b"]}]


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_terminal_gets_printable_lines(folder: Path, form: str) -> None:
    """On a terminal of 60 columns every format is free of what would move the cursor; the table is in blocks."""
    sql = "SELECT chr(27) || '[2J' || chr(8238) || 'é' AS x, * FROM points LIMIT 1"
    lines = terminal(60, "query", str(folder), sql, "--format", form, cwd=folder.parent).split("\r\n")
    assert all(line.isprintable() for line in lines)
    if form == "table":
        assert lines[:2] == ["row 1", "  x                  [2J é"]


@pytest.mark.parametrize(
    "sql", ["SELECT 1;", "FROM points LIMIT 1 -- why", "VALUES (1)", "DESCRIBE points", "SHOW TABLES"]
)
def test_what_reads_is_allowed(folder: Path, sql: str) -> None:
    """A semicolon, a comment, and statements that describe tables are no reason to refuse."""
    assert ask(folder, sql).exit_code == 0


def test_pivot_with_its_columns(folder: Path) -> None:
    """PIVOT with its values reads; without them it is refused with an example."""
    sql = "PIVOT points ON M IN (1, 9) USING count(*) GROUP BY S ORDER BY S"
    sizes = table(folder, "points").query("M == 1").groupby("S").size()
    expected = [{"S": S, "1": n, "9": n} for S, n in sizes.items()]
    assert json.loads(ask(folder, sql, "--format", "json").stdout) == expected
    assert "name them" in refused(folder, "PIVOT points ON M USING count(*)")


WRITING = [
    "CREATE TABLE a AS SELECT 1",
    "INSERT INTO points VALUES (1)",
    "DELETE FROM points",
    "DROP VIEW points",
    "COPY points TO '{part}'",
    "COPY (SELECT 1) TO '{part}' (USE_TMP_FILE false)",
    "WITH x AS (COPY (SELECT 1) TO '{part}' (USE_TMP_FILE false)) SELECT 1",
    "WITH x AS (COPY (SELECT 1) TO '{part}' (USE_TMP_FILE false)) SELECT * FROM x",
    "SELECT * FROM (WITH x AS (COPY (SELECT 1) TO '{part}' (USE_TMP_FILE false)) SELECT 1)",
    "SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''{part}'' (USE_TMP_FILE false)) SELECT 1')",
    "SELECT 1) AS a, (WITH x AS (COPY (SELECT 1) TO '{part}' (USE_TMP_FILE false)) SELECT 1",
    "WITH x AS (DELETE FROM points RETURNING *) SELECT * FROM x",
    "WITH x AS (INSERT INTO points VALUES (1) RETURNING *) SELECT * FROM x",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{part}' (USE_TMP_FILE false)",
    "EXPORT DATABASE '{elsewhere}'",
    "ATTACH '{elsewhere}'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET memory_limit",
    "PRAGMA threads = 4",
    "CALL pragma_version()",
    "CHECKPOINT",
    "VACUUM",
    "SELECT 1; DROP VIEW points",
    "",
    "-- nothing",
]
READING_ELSEWHERE = [
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM glob('{parent}/*')",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM read_parquet('{part}/../../sweep.yaml')",
]


@pytest.mark.parametrize("sql", WRITING)
def test_what_writes_is_refused(folder: Path, tmp_path: Path, sql: str) -> None:
    """What writes, attaches, installs, loads or sets is refused before anything happens, however it is hidden."""
    run = Path(shutil.copytree(folder, tmp_path / "run"))
    before = digests(tmp_path)
    refused(run, sql.format(part=run / "points" / "part-000000.parquet", elsewhere=tmp_path / "new"))
    assert digests(tmp_path) == before


@pytest.mark.parametrize("sql", READING_ELSEWHERE)
def test_no_other_file_is_read(folder: Path, tmp_path: Path, sql: str) -> None:
    """A query sees the run's parts and no other file."""
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    part = folder / "points" / "part-000000.parquet"
    refused(folder, sql.format(secret=secret, part=part, parent=tmp_path))


def test_a_column_of_both_tables(folder: Path) -> None:
    """A join by config_id alone leaves S twice: the line says how to join; elsewhere the columns are listed."""
    said = refused(folder, "SELECT S, bias FROM points JOIN configs USING (config_id)")
    assert said.startswith('SQL, line 1, column 8: Ambiguous reference to column name "S"')
    assert said.endswith("join with USING (config_id, S), for example FROM points JOIN configs USING (config_id, S)")
    assert "the columns are points(" in refused(folder, "SELECT S FROM points AS p JOIN points AS q USING (config_id)")


def test_an_unknown_column(folder: Path) -> None:
    """The line names the place and the columns of the table that was asked."""
    said = refused(folder, "SELECT S,\n  T_asynch FROM points")
    assert said.startswith('SQL, line 2, column 3: Referenced column "T_asynch" not found')
    assert "points(config_id, S, M, T_gpipe, T_async" in said
    assert "configs(" not in said


def test_places_count_characters(folder: Path) -> None:
    """Characters of several bytes before the mistake do not move its column."""
    assert refused(folder, "SELECT 'é日本', nothing FROM points").startswith("SQL, line 1, column 15: ")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT 1 +", "SQL, line 1, column 10: syntax error"),
        (
            "FROM pointz",
            "SQL, line 1, column 6: Table with name pointz does not exist; the tables are configs, points, viol",
        ),
        ("SELECT S, count(*) FROM points", 'SQL, line 1, column 8: column "S" must appear in the GROUP BY'),
        ("SELECT nofunction(S) FROM points", "SQL, line 1, column 8: Scalar Function with name nofunction does not"),
        ("SELECT CASE WHEN config_id = 149 THEN error('late') END FROM points", "SQL: late"),
        ("SELECT S::VARCHAR::DATE FROM points", "SQL, line 1, column 18: invalid date"),
        ("SELECT ?", "SQL"),
    ],
)
def test_mistakes_in_sql(folder: Path, sql: str, said: str) -> None:
    """Syntax, names, types, and values that fail on the way are told in one line."""
    assert refused(folder, sql).startswith(said)


def test_violations_only(tmp_path: Path) -> None:
    """A run that kept violations only has that table, empty; for another the key that records it is named."""
    folder = make_run(tmp_path / "run", SAMPLED | {"record": "violations"})
    assert json.loads(ask(folder, "SELECT claim, tau FROM violations", "--format", "json").stdout) == []
    said = refused(folder, "SELECT * FROM Points")
    assert "no table points" in said
    assert "record: points" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "parquet"], "--format: parquet on standard output"),
        (["--memory", "much"], "memory: 'much'"),
        (["--out", "{folder}/points/rows.csv"], "is inside the run folder"),
        (["--out", "{folder}/../nowhere/rows.csv"], "cannot be written"),
    ],
)
def test_options_that_cannot_be(folder: Path, options: list[str], said: str) -> None:
    """Wrong options are told in one line, and nothing is written."""
    before = digests(folder.parent)
    result = ask(folder, "FROM points", *(option.format(folder=folder) for option in options))
    assert isinstance(result.exception, HpsimError)
    assert said in str(result.exception)
    assert digests(folder.parent) == before


def test_a_result_that_fails_leaves_no_file(folder: Path, tmp_path: Path) -> None:
    """A mistake that shows on the way leaves the file that was there before."""
    out = tmp_path / "rows.csv"
    out.write_text("before")
    result = ask(folder, "SELECT CASE WHEN config_id = 149 THEN error('late') END FROM points", "--out", str(out))
    assert isinstance(result.exception, HpsimError)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("rows.csv", "before")]


def test_a_pipe_is_written_and_not_replaced(folder: Path, tmp_path: Path) -> None:
    """A named pipe, as any file that is no regular one, gets the rows and stays what it is; a folder is refused."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = children.start(["cat", str(pipe)])
    assert ask(folder, "SELECT 1 AS one", "--format", "csv", "--out", str(pipe)).exit_code == 0
    assert children.finish(reader).stdout == '"one"\n1\n'
    assert pipe.is_fifo()
    assert "cannot be written" in str(ask(folder, "SELECT 1", "--out", str(tmp_path)).exception)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_link_stays_a_link(folder: Path, tmp_path: Path) -> None:
    """The file that a link points to is written, whether it was there or not."""
    link, target = tmp_path / "link.csv", tmp_path / "target.csv"
    link.symlink_to(target)
    for _ in range(2):
        assert ask(folder, "SELECT 1 AS one", "--out", str(link)).exit_code == 0
        assert link.is_symlink()
        assert target.read_text() == '"one"\n1\n'


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_no_room_to_write(folder: Path) -> None:
    """A disk that is full is told in one line."""
    result = ask(folder, "FROM points", "--format", "csv", "--out", "/dev/full")
    assert isinstance(result.exception, HpsimError)
    assert "No space left" in str(result.exception)


def test_more_memory_than_allowed(folder: Path) -> None:
    """What does not fit and cannot go to disk is told with the option that allows more."""
    result = ask(folder, "SELECT len(list(r)) FROM range(100_000_000) AS t(r)", "--memory", "50MB")
    assert isinstance(result.exception, HpsimError)
    assert "more than 50MB" in str(result.exception)


def test_strange_folder_names(folder: Path, tmp_path: Path) -> None:
    """Quotes, brackets, stars and spaces in the folder's name are only characters."""
    strange = Path(shutil.copytree(folder, tmp_path / "it's [a] *strange* run?"))
    assert json.loads(ask(strange, "SELECT count(*) AS n FROM points", "--format", "json").stdout) == [{"n": 450}]


def test_an_unfinished_run_says_so(folder: Path, tmp_path: Path) -> None:
    """Only finished parts are seen, and the note is on stderr."""
    run = Path(shutil.copytree(folder, tmp_path / "run"))
    (run / "_parts" / "000000.json").unlink()
    result = ask(run, "SELECT min(config_id) AS first, count(*) AS n FROM configs", "--format", "json")
    assert json.loads(result.stdout) == [{"first": 40, "n": 110}]
    assert "3 of 4 parts are done" in result.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_are_answered(folder: Path, tmp_path: Path, number: signal.Signals, code: int) -> None:
    """A query that would take hours ends at once, with the code of the signal, and leaves no temporary file."""
    sql = "SELECT count(*) FROM points a, points b, points c, points d WHERE a.M + b.M + c.M + d.M < 0"
    process = children.start(
        [sys.executable, "-c", "from hpsim.cli import main; main()", "query", str(folder), sql],
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    children.wait_until(process, lambda: list(tmp_path.glob("hpsim-*")))
    time.sleep(children.task_seconds(10))
    assert process.poll() is None
    process.send_signal(number)
    ended = children.finish(process)
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.iterdir()) == []
