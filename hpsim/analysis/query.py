"""SQL over a run: one statement that only reads, its rows batch by batch, and DuckDB's errors in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hpsim.analysis.database import MEMORY_ALLOWED, Database, connect, details
from hpsim.analysis.extras import require
from hpsim.errors import HpsimError
from hpsim.sweep.columns import TABLES

if TYPE_CHECKING:
    import pyarrow

    from hpsim.analysis.run import Run

ROWS_A_BATCH = 65_536
ONLY_READS = (
    "a run is only read: one SELECT (or FROM, WITH, VALUES, DESCRIBE, SUMMARIZE) over configs, points, violations"
)
JOIN = "join with USING (config_id, S), for example FROM points JOIN configs USING (config_id, S)"
_MEMORY = re.compile(r"[0-9]+(\.[0-9]+)? ?([KMGT]i?)?B", re.IGNORECASE)
# As a subquery a statement cannot hold a WITH clause that writes; DuckDB counts such a statement as a SELECT otherwise.
_CHECK = "EXPLAIN FROM (\n"
_WRITES_INSIDE = re.compile(
    r"WITH clause containing .* must be at the top level|only .* from base table", re.IGNORECASE
)
_HINTS = re.compile(r"\n\s*(Candidate|Did you mean|LINE)")  # they name DuckDB's own tables, or one column of many


@contextmanager
def query(run: Run, sql: str, *, memory: str = "1GB") -> Iterator[pyarrow.RecordBatchReader]:
    """The rows of ``sql`` as a stream of record batches, which is read inside the ``with`` block.

    Parameters
    ----------
    run : Run
        The run; its recorded tables are the views ``configs``, ``points`` and ``violations``.
    sql : str
        One statement of DuckDB's SQL that only reads. It can open no file but those of the run's finished parts.
    memory : str
        What DuckDB may hold in memory at once, as ``4GB``; beyond that it uses a temporary folder (``TMPDIR``).

    Raises
    ------
    HpsimError
        When the statement does more than read, is wrong (told with its line and column, and the columns that exist),
        or needs more than ``memory``.
    MissingExtraError
        When DuckDB is not installed.
    """
    if not _MEMORY.fullmatch(memory):
        raise HpsimError("memory", repr(memory), MEMORY_ALLOWED)
    with connect(run, memory=memory, ordered=True) as database, _told_plainly(database, run, sql):
        _check_only_reads(database, run, sql)
        yield database.connection.sql(sql).to_arrow_reader(ROWS_A_BATCH)


def _check_only_reads(database: Database, run: Run, sql: str) -> None:
    """Refuse everything but one statement that reads, before anything of it is executed."""
    engine = require("duckdb", "sql")
    statements = database.connection.extract_statements(sql)
    if len(statements) != 1:
        raise HpsimError("SQL", f"{len(statements)} statements", ONLY_READS)
    try:
        kind = statements[0].type
    except ValueError:  # DuckDB's Python part does not know every kind
        raise HpsimError("SQL", f"a statement that begins with {sql.split()[0][:20]!r}", ONLY_READS) from None
    if kind == engine.StatementType.MULTI:
        raise HpsimError(
            "SQL",
            "PIVOT without the values that become columns",
            "name them, for example PIVOT points ON M IN (1, 8, 100) USING median(T_async) GROUP BY S",
        )
    if kind != engine.StatementType.SELECT:
        raise HpsimError("SQL", f"a statement of the kind {kind.name}", ONLY_READS)
    with _told_plainly(database, run, sql, len(_CHECK)):
        database.execute(f"{_CHECK}{sql.rstrip().rstrip(';')}\n)")


@contextmanager
def _told_plainly(database: Database, run: Run, sql: str, offset: int = 0) -> Iterator[None]:
    """DuckDB's errors about ``sql`` as ours; ``offset`` characters stand before it in what DuckDB reads."""
    engine = require("duckdb", "sql")
    try:
        yield
    except (engine.InterruptException, engine.OutOfMemoryException):
        raise  # not the statement's
    except engine.Error as error:
        if database.is_at_fault(error):
            raise
        raise _explained(run, sql, details(error), offset) from None
    except OSError as error:  # how Arrow passes on what DuckDB meets on the way
        if "exception_type" not in details(error):
            raise
        if database.is_at_fault(error):
            raise engine.Error(str(error)) from None
        raise _explained(run, sql, details(error), offset) from None


def _explained(run: Run, sql: str, said: dict[str, Any], offset: int) -> HpsimError:
    message: str = said["exception_message"]
    place = _place(sql, int(said["position"]) - offset) if "position" in said else "SQL"
    if _WRITES_INSIDE.search(message):
        return HpsimError(place, "a WITH clause that writes", ONLY_READS)
    if "disabled by configuration" in message:
        return HpsimError(place, "opens a file", "a query sees configs, points and violations of the run, and no file")
    missing = said.get("error_subtype") == "MISSING_ENTRY" and said.get("type") == "Table"
    name = str(said.get("name", "")).lower()
    if missing and name in set(TABLES) - set(run.tables):
        return HpsimError(
            place,
            f"there is no table {name}, because this run kept violations only",
            "a sweep with `record: points` keeps every configuration and point",
        )
    found = " ".join(_HINTS.split(message)[0].split()).rstrip(".!")
    if found.startswith("Ambiguous reference") and {"configs", "points"} <= set(_named(run, sql)):
        return HpsimError(place, found, JOIN)
    return HpsimError(place, found, f"the tables are {', '.join(run.tables)}" if missing else _columns(run, sql))


def _columns(run: Run, sql: str) -> str:
    """The columns of the tables that ``sql`` names, or of all."""
    named = _named(run, sql) or run.tables
    listed = (f"{table}({', '.join(column.name for column in run.columns(table))})" for table in named)
    return f"the columns are {', '.join(listed)}"


def _named(run: Run, sql: str) -> list[str]:
    return [table for table in run.tables if re.search(rf"\b{table}\b", sql, re.IGNORECASE)]


def _place(sql: str, position: int) -> str:
    """Line and column, from 1, of a byte of the statement."""
    before = sql.encode()[: max(position, 0)].decode(errors="ignore").split("\n")
    return f"SQL, line {len(before)}, column {len(before[-1]) + 1}"
