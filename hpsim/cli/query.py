"""``hpsim query``: SQL over a run, as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import codecs
import io
import shutil
import sys
import textwrap
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

import click

from hpsim.analysis.export import FORMATS
from hpsim.cli.summary import warn_unfinished
from hpsim.errors import HpsimError, printable

if TYPE_CHECKING:
    import pyarrow
    from _typeshed import ReadableBuffer

ROWS_SHOWN = 200
_ENTRIES = 100  # of a list
_TEXT = 1000  # characters
_NO_WIDTH = 10_000_000  # nothing is folded or cut


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("sql", metavar="SQL")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help=f"How rows are written [default: as FILE ends, else a table of the first {ROWS_SHOWN}, with ten digits].",
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
                target.write(_table(rows, None).encode()) if form == "table" else export.WRITERS[form](rows, target)
        elif form == "table":
            click.echo(_table(rows, _terminal_width()), nl=False)
        else:
            export.WRITERS[form](rows, _standard_output())


def _as_named(out: Path | None) -> str:
    """The format that the ending of the file's name asks for."""
    ending = out.suffix.lower().removeprefix(".") if out is not None else ""
    return ending if ending in FORMATS else "table"


def _terminal_width() -> int | None:
    """The columns of the terminal that is standard output; None where it is none, which has no width."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _standard_output() -> IO[bytes]:
    return cast(IO[bytes], _OnTerminal(sys.stdout)) if sys.stdout.isatty() else sys.stdout.buffer


def _table(reader: pyarrow.RecordBatchReader, width: int | None) -> str:
    """The first rows: one a line where ``width`` columns are enough (None: as many as they need), else in blocks.

    A line on stderr says when there are more rows.
    """
    from hpsim.analysis.export import plain, unique_names

    names = unique_names([printable(name) for name in reader.schema.names])
    left = [str(kind) in ("string", "bool") for kind in reader.schema.types]
    rows = _rows(reader, unique_names(reader.schema.names))
    cells = [[_cell(plain(value)) for value in row.values()] for row in islice(rows, ROWS_SHOWN)]
    if next(rows, None) is not None:
        click.echo(f"note: the first {ROWS_SHOWN} rows; --format csv, json or parquet writes all", err=True)
    lines = _aligned(names, left, cells, width)
    if lines is None:
        lines = [line for number, row in enumerate(cells, 1) for line in _block(number, names, row, width or 0)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _rows(reader: pyarrow.RecordBatchReader, names: list[str]) -> Iterator[dict[str, Any]]:
    for batch in reader:
        yield from batch.rename_columns(names).to_pylist()


def _aligned(names: list[str], left: list[bool], rows: list[list[str]], width: int | None) -> list[str] | None:
    """The lines of a table that is as wide as it has to be; None where that is more than ``width``."""
    from rich import box
    from rich.table import Table

    from hpsim.cli.page import page_console

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name, to_the_left in zip(names, left, strict=True):
        table.add_column(name, justify="left" if to_the_left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = page_console(_NO_WIDTH, _NO_WIDTH)
    if width is not None and console.measure(table).maximum > width:
        return None
    with console.capture() as capture:
        console.print(table)
    return [line for line in capture.get().splitlines() if line.strip()]


def _block(number: int, names: list[str], row: list[str], width: int) -> Iterator[str]:
    """One row as a line for each column; lists go on below between two numbers, never within one."""
    from rich.cells import cell_len

    yield f"row {number:,}"
    labels = max((columns for columns in map(cell_len, names) if columns <= width // 2), default=0)
    for name, cell in zip(names, row, strict=True):
        lines = textwrap.wrap(cell, max(width - labels - 4, 1), break_long_words=False, break_on_hyphens=False) or [""]
        if cell_len(name) > labels:
            lines.insert(0, "")
        for line in lines:
            yield f"  {name}{' ' * (labels - cell_len(name))}  {line}"
            name = ""


def _cell(value: Any) -> str:
    if isinstance(value, list) and len(value) > _ENTRIES:
        return f"[{', '.join(map(_shown, value[:_ENTRIES]))}, … {len(value) - _ENTRIES:,} more]"
    text = _shown(value)
    return f"{text[: _TEXT - 1]}…" if isinstance(value, str) and len(text) > _TEXT else text


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return "" if value is None else printable(str(value))


class _OnTerminal(io.RawIOBase):
    """The bytes of a file as a terminal may have them: without characters that would move its cursor."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        content = bytes(data)
        lines = self._decoder.decode(content).split("\n")
        self._terminal.write("\n".join(map(printable, lines)))
        return len(content)
