"""Tables as Parquet files: the encoding of each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpsim.sweep import columns

if TYPE_CHECKING:
    import pyarrow


def parquet_bytes(name: str, regimes: list[str], table: pyarrow.Table) -> pyarrow.Buffer:
    """``table`` as the bytes of a Parquet file, the same for the same table.

    Snappy on byte-split floats and delta-coded integers: within 15 % of zstd's size at 60 % of its time, and a third
    smaller than the same without these encodings.
    """
    import pyarrow
    import pyarrow.parquet

    few, encodings = [], {}
    for column in columns.columns(name, regimes):
        path = f"{column.name}.list.element" if column.type.startswith("list") else column.name
        if column.few:
            few.append(path)
        elif "float" in column.type:
            encodings[path] = "BYTE_STREAM_SPLIT"
        elif "int" in column.type:
            encodings[path] = "DELTA_BINARY_PACKED"
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="snappy", use_dictionary=few, column_encoding=encodings)
    return sink.getvalue()
