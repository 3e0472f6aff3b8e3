"""Parquet, batch by batch, only the columns that are wanted."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hpsim.logs.columns import LogError, shown
from hpsim.logs.source import MOST_AT_ONCE, MOST_COLUMNS, MOST_REQUESTS, Batch, Choose, Source

if TYPE_CHECKING:
    import pyarrow

_BATCH = 2**16
_BUFFER = 2**20  # bytes of each column that are read at once, however large its row group is
_LARGEST_IN_MEMORY = 2**28


def parquet(place: str, file: io.BufferedReader) -> Source:
    """The log in ``file``. What cannot seek (a gzipped file, a pipe) is read into memory first."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    by_parts = file.seekable()
    opened = file if by_parts else pyarrow.BufferReader(_whole(place, file))
    table = ParquetFile(opened, buffer_size=_BUFFER, page_checksum_verification=True)
    columns = list(table.schema_arrow.names)
    if len(columns) > MOST_COLUMNS:
        raise LogError(place, f"{len(columns):,} columns", f"at most {MOST_COLUMNS:,}")
    if table.metadata.num_rows > MOST_REQUESTS:
        raise LogError(place, f"{table.metadata.num_rows:,} requests", MOST_AT_ONCE)

    def batches(choose: Choose) -> Iterator[Batch]:
        chosen = choose(columns)
        for batch in table.iter_batches(_BATCH, columns=list(chosen.values()), use_threads=False):
            arrays = {field: _plain(place, name, batch.column(name)) for field, name in chosen.items()}
            yield Batch(arrays, len(batch))

    return Source(place, columns, batches)


def _whole(place: str, file: io.BufferedReader) -> bytes:
    content = bytearray()
    while part := file.read(_BUFFER):
        content += part
        if len(content) > _LARGEST_IN_MEMORY:
            found = f"Parquet of more than {_LARGEST_IN_MEMORY // 2**20} MiB, gzipped or from a pipe"
            raise LogError(place, found, "a file, unpacked, which is read part by part")
    return bytes(content)


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
