"""The tables of a run as views in DuckDB, which can read their files and nothing else, in bounded memory.

DuckDB works out of core: what does not fit into ``memory`` goes to a temporary folder, which is removed again.
``TMPDIR`` says where, if the usual place is small or itself in memory.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpsim.analysis.extras import require
from hpsim.analysis.interrupt import stopping_at_once
from hpsim.errors import HpsimError, RunFolderError
from hpsim.processors import available_cpus
from hpsim.sweep.parquet import opened_part

if TYPE_CHECKING:
    import duckdb

    from hpsim.analysis.run import Run

MEMORY = "512MB"  # beside it, Python, Arrow and DuckDB's own code and file buffers take about 200 MB
MEMORY_ALLOWED = "a size, for example 512MB or 4GB"

_OF_FILES = ("Data Corruption", "IO", "Invalid", "Serialization")  # DuckDB's kinds of error
_SQL_TYPES = {
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "bool": "BOOLEAN",
    "string": "VARCHAR",
    "list<float64>": "DOUBLE[]",
}


@dataclass(frozen=True)
class Database:
    """A connection that sees the tables of one run, and nothing else.

    Attributes
    ----------
    connection : duckdb.DuckDBPyConnection
        With a view for each table that the run records.
    files : dict of str to list of Path
        Table → the files of the finished parts, in the order of the sweep, under the names by which DuckDB has them.
    """

    connection: duckdb.DuckDBPyConnection
    files: dict[str, list[Path]]

    def is_at_fault(self, error: Exception) -> bool:
        """Whether DuckDB complains about a file of the run, and not about the statement."""
        said = details(error)
        names_one = any(str(some[0].parents[1]) in said["exception_message"] for some in self.files.values() if some)
        return names_one or said.get("exception_type") in _OF_FILES

    def execute(self, sql: str, values: Sequence[object] = ()) -> duckdb.DuckDBPyConnection:
        """Run one statement, with ``values`` for its question marks."""
        return self.connection.execute(sql, values)

    def parts(self, table: str, first: int, last: int) -> str:
        """The rows of the parts from ``first`` to before ``last`` of those that are finished, in SQL."""
        return _parquet(self.files[table][first:last])


@contextmanager
def connect(run: Run, *, memory: str = MEMORY, ordered: bool = False) -> Iterator[Database]:
    """Open the tables that ``run`` records.

    Before anything of the run is touched, DuckDB may open its files and no other, and no setting changes that.

    Parameters
    ----------
    run : Run
        The run.
    memory : str
        What DuckDB may hold in memory at once, as ``4GB``.
    ordered : bool
        Whether rows come in the order of the sweep where SQL does not say; it costs memory.

    Raises
    ------
    MissingExtraError
        When DuckDB is not installed.
    RunFolderError
        When a part cannot be read, or has other columns than the run declares.
    HpsimError
        When ``memory`` is too little, or no size.
    """
    engine = require("duckdb", "sql")
    for name, parts in run.files.items():
        declared = run.schema(name)
        for part in parts:
            with opened_part(part, declared, run.rows[part]):
                pass  # DuckDB would cast what has another type
    with tempfile.TemporaryDirectory(prefix="hpsim-", ignore_cleanup_errors=True) as scratch:
        link = Path(
            scratch, "run"
        )  # DuckDB takes `?`, `*` and `[` in a name for a pattern, and has no way to quote them
        link.symlink_to(run.path.absolute(), target_is_directory=True)
        files = {name: [link / file.relative_to(run.path) for file in some] for name, some in run.files.items()}
        settings = {
            "memory_limit": memory,
            "temp_directory": str(Path(scratch, "spilled")),
            "threads": available_cpus(),
            "preserve_insertion_order": ordered,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "errors_as_json": True,
        }
        try:
            connection = engine.connect(":memory:", config=settings)
        except engine.ParserException:
            raise HpsimError("memory", repr(memory), MEMORY_ALLOWED) from None
        try:
            with stopping_at_once(connection.interrupt), _told_plainly(run, link, memory):
                connection.execute("SET enable_progress_bar = false")  # it would go to standard output
                _close_doors(connection, [file for some in files.values() for file in some])
                for table in run.tables:
                    connection.execute(_view(run, table, files[table]))
                yield Database(connection, files)
        finally:
            connection.close()


@contextmanager
def _told_plainly(run: Run, link: Path, memory: str) -> Iterator[None]:
    """Ctrl-C as what it is, whichever way DuckDB reports it; its other complaints as ours."""
    engine = require("duckdb", "sql")
    try:
        yield
    except engine.InterruptException:
        raise KeyboardInterrupt from None
    except engine.OutOfMemoryException:
        raise HpsimError("memory", f"this needs more than {memory} at once", "ask for less, or allow more") from None
    except (engine.Error, UnicodeDecodeError) as error:  # the latter from names that a damaged file gives its columns
        found = told(error).replace(str(link), str(run.path))
        raise RunFolderError(
            str(run.path), f"cannot be read ({found})", "`hpsim sweep run` computes a damaged part again"
        ) from None
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from None
        raise


def details(error: Exception) -> dict[str, Any]:
    """What DuckDB says about an error: at least ``exception_message``, and where it is known ``position``."""
    text = str(error)
    try:
        said = json.loads(text[text.index("{") :])  # before it may stand the kind of error
    except ValueError:
        said = {}
    return said if "exception_message" in said else {"exception_message": text}


def told(error: Exception) -> str:
    """The first line of DuckDB's message."""
    message: str = details(error)["exception_message"]
    return message.splitlines()[0].rstrip(".!")


def quoted(name: str) -> str:
    """``name`` as an SQL identifier, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def _view(run: Run, table: str, files: list[Path]) -> str:
    """The statement that makes ``table`` a view with exactly the declared columns."""
    columns = run.columns(table)
    if files:
        return f"CREATE VIEW {table} AS SELECT {', '.join(quoted(c.name) for c in columns)} FROM {_parquet(files)}"
    absent = ", ".join(f"NULL::{_SQL_TYPES[column.type]} AS {quoted(column.name)}" for column in columns)
    return f"CREATE VIEW {table} AS SELECT {absent} WHERE false"


def _parquet(files: list[Path]) -> str:
    """The rows of ``files`` in SQL; a folder called ``S=4`` is no column."""
    return f"read_parquet({_listed(files)}, hive_partitioning = false)"


def _close_doors(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    """From now on only ``files`` can be opened, no extension comes in, and no setting opens anything again."""
    connection.execute(f"SET allowed_paths = {_listed(files)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _listed(files: list[Path]) -> str:
    names = (str(file).replace("'", "''") for file in files)
    return "[" + ", ".join(f"'{name}'" for name in names) + "]"
