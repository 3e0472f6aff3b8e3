"""The tables of a run as views in DuckDB, which can read their files and nothing else, in bounded memory.

DuckDB works out of core: what does not fit into ``memory`` goes to a temporary folder, which is removed again.
``TMPDIR`` says where, if the usual place is small or itself in memory.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpsim.analysis.extras import require
from hpsim.analysis.interrupt import stopping_at_once
from hpsim.errors import HpsimError, RunFolderError
from hpsim.processors import available_cpus

if TYPE_CHECKING:
    import duckdb

    from hpsim.analysis.run import Run

MEMORY = "512MB"  # beside it, Python, Arrow and DuckDB's own code and file buffers take about 200 MB

_SQL_TYPES = {
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "bool": "BOOLEAN",
    "string": "VARCHAR",
    "list<float64>": "DOUBLE[]",
}


@contextmanager
def connect(run: Run, *, memory: str = MEMORY, ordered: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with a view for each table that ``run`` records.

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
        When a part cannot be read.
    HpsimError
        When ``memory`` is too little.
    """
    engine = require("duckdb", "sql")
    with tempfile.TemporaryDirectory(prefix="hpsim-", ignore_cleanup_errors=True) as spill:
        connection = engine.connect(
            ":memory:",
            config={
                "memory_limit": memory,
                "temp_directory": spill,
                "threads": available_cpus(),
                "preserve_insertion_order": ordered,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "errors_as_json": True,
            },
        )
        try:
            with stopping_at_once(connection.interrupt), _told_plainly(run, memory):
                connection.execute("SET enable_progress_bar = false")  # it would go to standard output
                for table in run.tables:
                    connection.execute(_view(run, table))
                _close_doors(connection, [file for files in run.files.values() for file in files])
                yield connection
        finally:
            connection.close()


@contextmanager
def _told_plainly(run: Run, memory: str) -> Iterator[None]:
    """Ctrl-C as what it is, whichever way DuckDB reports it; its other complaints as ours."""
    engine = require("duckdb", "sql")
    try:
        yield
    except engine.InterruptException:
        raise KeyboardInterrupt from None
    except engine.OutOfMemoryException:
        raise HpsimError("memory", f"this needs more than {memory} at once", "ask for less, or allow more") from None
    except engine.Error as error:
        raise RunFolderError(
            str(run.path), f"cannot be read ({told(error)})", "`hpsim sweep run` computes a damaged part again"
        ) from None
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from None
        raise


def details(error: Exception) -> dict[str, Any]:
    """What DuckDB says about an error: at least ``exception_message``, and where it is known ``position``."""
    kind, _, text = str(error).partition(": ")  # behind the kind of error stands JSON
    try:
        said = json.loads(text)
    except ValueError:
        said = {}
    return said if "exception_message" in said else {"exception_message": text or kind}


def told(error: Exception) -> str:
    """The first line of DuckDB's message."""
    message: str = details(error)["exception_message"]
    return message.splitlines()[0].rstrip(".!")


def _view(run: Run, table: str) -> str:
    if run.files[table]:
        return f"CREATE VIEW {table} AS FROM {parquet(run.files[table])}"
    absent = ", ".join(f'NULL::{_SQL_TYPES[column.type]} AS "{column.name}"' for column in run.columns(table))
    return f"CREATE VIEW {table} AS SELECT {absent} WHERE false"


def parquet(files: list[Path]) -> str:
    """The rows of ``files`` in SQL, whatever characters their names have."""
    return f"read_parquet({_listed(files)})"


def _close_doors(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    """From now on only ``files`` can be opened, no extension comes in, and no setting opens anything again."""
    connection.execute(f"SET allowed_paths = {_listed(files)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _listed(files: list[Path]) -> str:
    quoted = (str(file.absolute()).replace("'", "''") for file in files)
    return "[" + ", ".join(f"'{name}'" for name in quoted) + "]"
