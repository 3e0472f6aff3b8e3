"""The rows of a query as CSV, JSON or Parquet, batch by batch, so that a result may be larger than memory."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from hpsim.errors import HpsimError

if TYPE_CHECKING:
    import pyarrow

FORMATS = ("table", "csv", "json", "parquet")


def write_csv(reader: pyarrow.RecordBatchReader, target: IO[bytes]) -> None:
    """A header and one line a row; lists and structures are JSON in a quoted cell, a missing value is empty."""
    import pyarrow
    import pyarrow.csv

    names = unique_names(reader.schema.names)
    nested = [pyarrow.types.is_nested(field.type) for field in reader.schema]
    flat = [pyarrow.string() if deep else field.type for deep, field in zip(nested, reader.schema, strict=True)]
    schema = pyarrow.schema(list(zip(names, flat, strict=True)))
    with pyarrow.csv.CSVWriter(target, schema) as writer:
        for batch in reader:
            columns = [_as_json(c) if deep else c for deep, c in zip(nested, batch.columns, strict=True)]
            writer.write_batch(pyarrow.record_batch(columns, schema=schema))


def _as_json(column: pyarrow.Array) -> pyarrow.Array:
    import pyarrow

    cells = (plain(value) for value in column.to_pylist())
    return pyarrow.array([None if cell is None else json.dumps(cell) for cell in cells], pyarrow.string())


def write_json(reader: pyarrow.RecordBatchReader, target: IO[bytes]) -> None:
    """A list of one object a row; NaN and infinities, which JSON does not have, are null."""
    names = unique_names(reader.schema.names)
    before = b"[\n"
    for batch in reader:
        for row in batch.rename_columns(names).to_pylist():
            target.write(before + json.dumps(plain(row)).encode())
            before = b",\n"
    target.write(b"[]\n" if before == b"[\n" else b"\n]\n")


def write_parquet(reader: pyarrow.RecordBatchReader, target: IO[bytes]) -> None:
    """One Parquet file."""
    import pyarrow
    import pyarrow.parquet

    names = unique_names(reader.schema.names)
    schema = pyarrow.schema(list(zip(names, reader.schema.types, strict=True)))
    with pyarrow.parquet.ParquetWriter(target, schema) as writer:
        for batch in reader:
            writer.write_batch(pyarrow.record_batch(batch.columns, schema=schema))


WRITERS: dict[str, Callable[[pyarrow.RecordBatchReader, IO[bytes]], None]] = {
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
}


def unique_names(names: list[str]) -> list[str]:
    """The names of columns, with ``_1``, ``_2``, … behind those that were there already, as after a join."""
    unique: list[str] = []
    for name in names:
        candidates = (f"{name}_{k}" if k else name for k in range(len(names)))
        unique.append(next(candidate for candidate in candidates if candidate not in unique))
    return unique


def plain(value: Any) -> Any:
    """A value of a row in the types of JSON."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):  # what sums of whole numbers come as
        return int(value) if value == value.to_integral_value() else float(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


@contextmanager
def file_to_write(path: Path, run_folder: Path | None = None) -> Iterator[IO[bytes]]:
    """A file that is at ``path`` when the block has ended well, and never in part.

    Raises
    ------
    HpsimError
        When it cannot be written, or would be in the run folder, which is only read.
    """
    if run_folder is not None and path.resolve().is_relative_to(run_folder.resolve()):
        raise HpsimError(str(path), "is inside the run folder, which is only read", "choose another place with --out")
    # Links are followed, and a device or a pipe is written as it is: a file put in their place would destroy them.
    final = path.resolve()
    special = os.path.exists(final) and not os.path.isfile(final)  # without a complaint about names that are too long
    temporary = final if special else final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        target = temporary.open("wb")
    except OSError as error:
        raise _refused(path, error) from None
    try:
        with target:
            yield target
        if not special:
            os.replace(temporary, final)
    except OSError as error:
        raise _refused(path, error) from None
    finally:
        if not special:
            with suppress(OSError):
                temporary.unlink()


def _refused(path: Path, error: OSError) -> HpsimError:
    return HpsimError(str(path), f"cannot be written ({error.strerror or error})", "choose another place")
