"""``hpsim query``: SQL over a run, as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hpsim.analysis.export import FORMATS
from hpsim.cli.summary import warn_unfinished
from hpsim.errors import HpsimError

if TYPE_CHECKING:
    import pyarrow

ROWS_SHOWN = 200
_CELL = 120  # characters
_PIPED_WIDTH = 100_000  # a pipe has no width: nothing is folded or cut


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("sql", metavar="SQL")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help=f"How rows are written [default: as FILE ends, else a table of the first {ROWS_SHOWN}].",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Where to [default: standard output].")
@click.option(
    "--memory", default="1GB", show_default=True, metavar="SIZE", help="Beyond it, a temporary folder is used."
)
def query(folder: Path, sql: str, form: str | None, out: Path | None, memory: str) -> None:
    """Ask the run folder RUN, finished or not, in SQL (DuckDB's): one statement that only reads.

    The tables are `configs`, `points` and `violations`; `DESCRIBE points` lists the columns, and `points JOIN configs
    USING (config_id, S)` puts two together. For instance:

    hpsim query RUN "SELECT S, M, median(T_blocking / T_async) FROM points GROUP BY ALL ORDER BY ALL"
    """
    from hpsim.analysis import export
    from hpsim.analysis.query import query as rows_of
    from hpsim.analysis.run import open_run

    form = form or _as_named(out)
    if form == "parquet" and out is None:
        raise HpsimError("--format", "parquet on standard output", "a file for it, for example --out rows.parquet")
    run = open_run(folder)
    warn_unfinished(run)
    with rows_of(run, sql, memory=memory) as rows:
        if out is not None:
            with export.file_to_write(out, run.path) as target:
                target.write(_table(rows).encode()) if form == "table" else export.WRITERS[form](rows, target)
        elif form == "table":
            click.echo(_table(rows), nl=False)
        else:
            export.WRITERS[form](rows, sys.stdout.buffer)


def _as_named(out: Path | None) -> str:
    """The format that the ending of the file's name asks for."""
    ending = out.suffix.lower().removeprefix(".") if out is not None else ""
    return ending if ending in FORMATS else "table"


def _table(reader: pyarrow.RecordBatchReader) -> str:
    """The first rows, aligned; a line on stderr says when there are more."""
    from rich import box
    from rich.table import Table

    from hpsim.analysis.export import plain, unique_names
    from hpsim.cli.page import page_console

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    names = unique_names(reader.schema.names)
    for name, kind in zip(names, reader.schema.types, strict=True):
        table.add_column(name, justify="left" if str(kind) in ("string", "bool") else "right", overflow="fold")
    rows = _rows(reader, names)
    for row in islice(rows, ROWS_SHOWN):
        table.add_row(*(_cell(plain(value)) for value in row.values()))
    if next(rows, None) is not None:
        click.echo(f"note: the first {ROWS_SHOWN} rows; --format csv, json or parquet writes all", err=True)
    console = page_console(_PIPED_WIDTH)
    with console.capture() as capture:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines() if line.strip())


def _rows(reader: pyarrow.RecordBatchReader, names: list[str]) -> Iterator[dict[str, Any]]:
    for batch in reader:
        yield from batch.rename_columns(names).to_pylist()


def _cell(value: Any) -> str:
    text = _shown(value)
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value[:_CELL]))}]"
    return "" if value is None else str(value)
