"""CSV and its relatives, as a stream: quoted fields, any line end, the separator read off the header."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hpsim.logs.columns import LogError, brief
from hpsim.logs.source import (
    CUT_OFF,
    FEWER,
    LONGEST_ROW,
    MORE,
    MOST_COLUMNS,
    NOT_UTF8,
    ODD_BYTES,
    ROW_BOUNDS,
    TOO_LONG,
    UTF8,
    WHERE_CUT,
    Batch,
    Choose,
    Malformed,
    Source,
    Stream,
    too_many,
)

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import csv as arrow_csv

_SEPARATORS = ",;\t|"
_LONGEST_HEADER = 2**20
_EXAMPLE = "fields with a separator or a line end inside stand in double quotes"
_OPEN_QUOTE = "a quote that is not closed"


def delimited(place: str, stream: Stream, file: io.BufferedReader) -> Source:
    """The log in ``file``, which reads ``stream``; its first line that is not blank is the header."""
    header = _header(place, stream, file)
    separator = max(_SEPARATORS, key=_outside_quotes(header).count)
    columns = _names(place, header, separator)

    def batches(choose: Choose) -> Iterator[Batch]:
        chosen = {field: columns.index(column) for field, column in choose(columns).items()}
        last = None
        for batch in _Rows(place, stream, file, separator, len(columns), chosen):
            if last is not None:
                yield last
            last = batch
        if last is not None:
            if stream.half_row:
                last.malformed.add(last.size - 1, CUT_OFF, WHERE_CUT)
            yield last

    return Source(place, columns, batches, cut_off=lambda: stream.cut_off)


class _Rows:
    """The rows below the header, batch by batch; Arrow skips the rows with too few or too many fields and tells them.

    ``columns`` says field → number of its column, of ``width`` in all.
    """

    def __init__(
        self,
        place: str,
        stream: Stream,
        file: io.BufferedReader,
        separator: str,
        width: int,
        columns: dict[str, int],
    ) -> None:
        self._place = place
        self._stream = stream
        self._file = file
        self._separator = separator
        self._width = width
        self._columns = columns
        self._skipped: deque[tuple[int, str, str]] = deque()  # row from 0, reason, what it holds
        self._texts: set[str] = set()  # reasons whose first row was shown
        self._row = 0  # rows yielded
        self._bad = 0  # rows skipped
        self._refused = ""
        self._open_quote = -1  # the last row that seems to end within quotes

    def __iter__(self) -> Iterator[Batch]:
        import pyarrow

        table = None
        try:
            for table in self._tables():
                yield from self._batch(table)
        except pyarrow.ArrowInvalid as fault:
            if self._refused:
                raise LogError(self._place, self._refused, f"rows as long as the header; {_EXAMPLE}") from None
            if "straddling" not in str(fault):
                raise
            raise LogError(f"{self._place}, below row {self._row}", TOO_LONG, f"{ROW_BOUNDS}; {_EXAMPLE}") from None
        rest = self._row + len(self._skipped)
        if not self._stream.cut_off and (self._open_quote == rest - 1 >= 0 or self._swallowed(table)):
            raise LogError(f"{self._place}, row {rest}", _OPEN_QUOTE, _EXAMPLE)
        yield from self._batch(None)

    def _tables(self) -> Iterator[pyarrow.RecordBatch]:
        """The good rows, as bytes: the wanted columns and the last one."""
        import pyarrow
        from pyarrow import csv as arrow_csv

        names = [str(index) for index in range(self._width)]  # names in a header may repeat
        wanted = [names[index] for index in sorted({*self._columns.values(), self._width - 1})]
        try:
            yield from arrow_csv.open_csv(
                self._file,
                arrow_csv.ReadOptions(use_threads=False, block_size=LONGEST_ROW, column_names=names),
                arrow_csv.ParseOptions(
                    delimiter=self._separator, newlines_in_values=True, invalid_row_handler=self._skip
                ),
                arrow_csv.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, pyarrow.binary()),
                    strings_can_be_null=False,
                ),
            )
        except pyarrow.ArrowInvalid as fault:
            if "Empty CSV" not in str(fault):  # nothing below the header
                raise

    def _skip(self, row: arrow_csv.InvalidRow) -> str:
        reason = FEWER if row.actual_columns < row.expected_columns else MORE
        text: str = row.text
        found = "" if reason in self._texts else f"{row.actual_columns} of {row.expected_columns}: {text[:200]}"
        self._texts.add(reason)
        self._skipped.append((row.number - 1, reason, found))
        self._bad += 1
        if too_many(self._bad, row.number):
            self._refused = f"{self._bad:,} of {row.number:,} rows are malformed, the last of them {reason}"
            return "error"
        if "\n" in text and text.count('"') % 2:
            self._open_quote = row.number - 1
        return "skip"

    def _batch(self, table: pyarrow.RecordBatch | None) -> Iterator[Batch]:
        """The rows of ``table`` with the skipped ones among them, or those left at the end."""
        good = 0 if table is None else len(table)
        malformed = Malformed()
        skipped = []
        size = good
        while self._skipped and (table is None or self._skipped[0][0] < self._row + size):
            row, reason, found = self._skipped.popleft()
            malformed.add(row - self._row, reason, found)
            skipped.append(row - self._row)
            size += 1
        if size:
            columns = {} if table is None else self._text(table, size, skipped, malformed)
            yield Batch(columns, size, malformed)
        self._row += size

    def _text(
        self, table: pyarrow.RecordBatch, size: int, skipped: list[int], malformed: Malformed
    ) -> dict[str, pyarrow.Array]:
        import pyarrow

        columns = {field: table.column(str(index)) for field, index in self._columns.items()}
        if skipped:
            without = np.zeros(size, dtype=bool)
            without[skipped] = True
            places = pyarrow.array(np.cumsum(~without) - 1, mask=without)
            columns = {field: column.take(places) for field, column in columns.items()}
        return {field: _decoded(column, malformed) for field, column in columns.items()}

    def _swallowed(self, table: pyarrow.RecordBatch | None) -> bool:
        """Whether a quote before the last field of the last row stays open, and the field took in all that followed."""
        if table is None or not len(table) or self._skipped:
            return False
        value: bytes = table.column(str(self._width - 1))[len(table) - 1].as_py()
        tail = self._stream.tail.rstrip(b"\r\n")
        return b"\n" in value and bool(tail) and not tail.endswith(b'"')


def _decoded(column: pyarrow.Array, malformed: Malformed) -> pyarrow.Array:
    """Bytes as text; rows that are not UTF-8 are malformed."""
    import pyarrow

    try:
        return column.cast(pyarrow.string())
    except pyarrow.ArrowInvalid:
        texts = []
        for row, value in enumerate(column.to_pylist()):
            text = None if value is None else value.decode("utf-8", "replace")
            if text is not None and text.encode() != value:
                malformed.add(row, ODD_BYTES, text)
            texts.append(text)
        return pyarrow.array(texts, pyarrow.string())


def _header(place: str, stream: Stream, file: io.BufferedReader) -> str:
    line = b""
    while not line.strip() or line.count(b'"') % 2:
        more = file.readline(_LONGEST_HEADER)
        line = line + more if line.strip() else more
        if not more or len(line) >= _LONGEST_HEADER:
            found = f"no end within {_LONGEST_HEADER // 2**20} MiB, or {_OPEN_QUOTE}"
            raise LogError(f"{place}: header", found, _EXAMPLE)
    if stream.half_row and not line.endswith(b"\n"):
        raise LogError(f"{place}: header", WHERE_CUT, "a whole header and at least one request")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise LogError(f"{place}: header", NOT_UTF8, UTF8) from None


def _names(place: str, header: str, separator: str) -> list[str]:
    try:
        rows = list(csv.reader(io.StringIO(header, newline=""), delimiter=separator))
    except csv.Error as fault:
        raise LogError(f"{place}: header", brief(str(fault)), "names of columns on the first line") from None
    if len(rows) != 1:
        raise LogError(f"{place}: header", "lines that end with a carriage return alone", "LF or CR LF at their end")
    if len(rows[0]) > MOST_COLUMNS:
        raise LogError(f"{place}: header", f"{len(rows[0]):,} columns", f"at most {MOST_COLUMNS:,}")
    return [name.strip() for name in rows[0]]


def _outside_quotes(header: str) -> str:
    return "".join(header.split('"')[::2])
