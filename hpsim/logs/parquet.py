"""Parquet, batch by batch, only the columns that are wanted."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from hpsim.logs.columns import LogError, shown
from hpsim.logs.source import Source

if TYPE_CHECKING:
    import pyarrow

_BATCH = 2**16


def parquet(place: str, file: IO[bytes]) -> Source:
    """The log in ``file``. What cannot seek (a gzipped file, a pipe) is read into memory first."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    by_parts = isinstance(file, io.BufferedReader) and file.seekable()
    table = ParquetFile(file if by_parts else pyarrow.BufferReader(file.read()))
    columns = list(table.schema_arrow.names)

    def batches(wanted: Sequence[str]) -> Iterator[list[pyarrow.Array]]:
        for batch in table.iter_batches(_BATCH, columns=list(wanted)):
            yield [_plain(place, name, batch.column(name)) for name in wanted]

    return Source(place, columns, batches)


def _plain(place: str, name: str, column: pyarrow.Array) -> pyarrow.Array:
    """The column as text, integers or float64; a date becomes its ISO text."""
    from pyarrow import float64, string, types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_integer(kind):
        return column.cast(kind)
    if types.is_floating(kind) or types.is_decimal(kind):
        return column.cast(kind).cast(float64())
    if types.is_string(kind) or types.is_large_string(kind) or types.is_timestamp(kind) or types.is_date(kind):
        return column.cast(kind).cast(string())
    raise LogError(f"{place}: {shown(name)}", f"a column of type {kind}", "numbers or text")
