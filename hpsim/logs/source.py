"""An open log, whatever kind of file it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

KINDS = "CSV (comma, semicolon, tab or | between the fields), JSON Lines or Parquet, plain or gzipped"
NOT_UTF8 = "not UTF-8 text: binary data, or another encoding"
UTF8 = "UTF-8, which iconv makes of other encodings"


@dataclass(frozen=True)
class Source:
    """An open log.

    Attributes
    ----------
    place : str
        The file, for messages.
    columns : list of str
        Names as they stand in the file (in JSON Lines: the keys of the first batch of rows).
    batches : callable
        Takes the columns wanted, and yields batches: one Arrow array, of text or numbers, for each of them.
    """

    place: str
    columns: list[str]
    batches: Callable[[Sequence[str]], Iterator[list[pyarrow.Array]]]
