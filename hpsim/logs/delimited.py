"""CSV and its relatives, as a stream: quoted fields, any line end, the separator read off the header."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from hpsim.logs.columns import LogError, printable
from hpsim.logs.source import NOT_UTF8, UTF8, Source

if TYPE_CHECKING:
    import pyarrow

_SEPARATORS = ",;\t|"
_LONGEST_HEADER = 2**20
_BLOCK = 2**24  # bytes read at once; a row must fit
_EXAMPLE = "fields with a separator or a line end inside stand in double quotes"


def delimited(place: str, file: IO[bytes]) -> Source:
    """The log in ``file``, whose first line that is not blank is the header."""
    header = _header(place, file)
    separator = max(_SEPARATORS, key=_outside_quotes(header).count)
    columns = _names(place, header, separator)

    def batches(wanted: Sequence[str]) -> Iterator[list[pyarrow.Array]]:
        return _batches(place, file, separator, columns, [columns.index(column) for column in wanted])

    return Source(place, columns, batches)


def _batches(
    place: str, file: IO[bytes], separator: str, columns: list[str], wanted: list[int]
) -> Iterator[list[pyarrow.Array]]:
    import pyarrow
    from pyarrow import csv as arrow_csv

    ragged: list[tuple[int | None, int, int]] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        ragged.append((row.number, row.actual_columns, row.expected_columns))
        return "skip"  # it is an error all the same, told in our words below

    names = [str(index) for index in range(len(columns))]  # names in a header may repeat
    chosen = [names[index] for index in wanted]
    try:
        reader = arrow_csv.open_csv(
            file,
            arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=names),
            arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=note),
            arrow_csv.ConvertOptions(
                include_columns=chosen, column_types=dict.fromkeys(chosen, pyarrow.string()), strings_can_be_null=False
            ),
        )
    except pyarrow.ArrowInvalid as fault:
        if "Empty CSV" in str(fault):  # nothing below the header
            return
        raise
    finally:
        _refuse_ragged(place, ragged)
    for batch in reader:
        _refuse_ragged(place, ragged)
        yield [batch.column(name) for name in chosen]
    _refuse_ragged(place, ragged)


def _refuse_ragged(place: str, ragged: list[tuple[int | None, int, int]]) -> None:
    if ragged:
        row, actual, expected = ragged[0]
        raise LogError(f"{place}, row {row}", f"{actual} fields where the header has {expected}", _EXAMPLE)


def _header(place: str, file: IO[bytes]) -> str:
    line = b""
    while not line.strip() or line.count(b'"') % 2:
        more = file.readline(_LONGEST_HEADER)
        line = line + more if line.strip() else more
        if not more or len(line) >= _LONGEST_HEADER:
            raise LogError(f"{place}: header", "no end, or a quote that is not closed", _EXAMPLE)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise LogError(f"{place}: header", NOT_UTF8, UTF8) from None


def _names(place: str, header: str, separator: str) -> list[str]:
    try:
        rows = list(csv.reader(io.StringIO(header, newline=""), delimiter=separator))
    except csv.Error as fault:
        raise LogError(f"{place}: header", printable(str(fault)), "names of columns on the first line") from None
    if len(rows) != 1:
        raise LogError(f"{place}: header", "lines that end with a carriage return alone", "LF or CR LF at their end")
    return [name.strip() for name in rows[0]]


def _outside_quotes(header: str) -> str:
    return "".join(header.split('"')[::2])
