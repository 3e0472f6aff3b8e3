"""An open log, whatever kind of file it is: batches of its columns, and the rows that are malformed."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hpsim.logs.columns import LogError, brief

if TYPE_CHECKING:
    import pyarrow
    from _typeshed import WriteableBuffer

KINDS = "CSV (comma, semicolon, tab or | between the fields), JSON Lines or Parquet, plain or gzipped"
NOT_UTF8 = "not UTF-8 text: binary data, or another encoding"
UTF8 = "UTF-8, which iconv makes of other encodings"
LONGEST_ROW = 2**22  # bytes; what a batch takes is bounded by it
MOST_COLUMNS = 10_000
MOST_REQUESTS = 50_000_000  # of all files of a log; they take up to 150 bytes each
MOST_AT_ONCE = f"at most {MOST_REQUESTS:,} at once"
MOST_MALFORMED = 100_000  # rows, where they are more than half of all: then the file is something else
MOST_PACKED = 200  # gzip reaches more only on runs of a few bytes, over and over
_SURELY_READ = 2**25  # bytes
_NO_BOMB = f"at most {MOST_PACKED}-fold beyond {_SURELY_READ // 2**20} MiB, or the file unpacked"
WHERE_CUT = "the gzipped data end in it"
TOO_LONG = f"no end within {LONGEST_ROW // 2**20} MiB"
ROW_BOUNDS = f"at most {LONGEST_ROW // 2**20} MiB a row, with a line end behind it"

CUT_OFF, FEWER, MORE = "cut off", "with too few fields", "with too many fields"
NOT_JSON, NO_OBJECT, TOO_DEEP, ODD_BYTES = "not JSON", "no JSON object", "nested too deeply", "not UTF-8"
MALFORMED = (CUT_OFF, FEWER, MORE, NOT_JSON, NO_OBJECT, TOO_DEEP, ODD_BYTES)
"""What a row can be that holds no request; the rows around it are read."""


def too_many(malformed: int, read: int) -> bool:
    """Whether a file with so many malformed rows among those ``read`` is something else than a log of its kind."""
    return malformed > max(MOST_MALFORMED, read // 2)


@dataclass
class Malformed:
    """The malformed rows of a batch.

    Attributes
    ----------
    rows : dict of str to list of int
        Reason, one of ``MALFORMED`` → numbers of the rows, from 0 in the batch.
    found : dict of str to str
        Reason → what the first of these rows holds, on one line of moderate length.
    """

    rows: dict[str, list[int]] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)

    def add(self, row: int, reason: str, text: str) -> None:
        """Note a row that holds ``text``."""
        self.rows.setdefault(reason, []).append(row)
        if reason not in self.found:
            self.found[reason] = brief(text[:200].strip())


@dataclass(frozen=True)
class Batch:
    """Rows that follow one another in a log; the columns are null where a row is malformed.

    Attributes
    ----------
    columns : dict of str to Arrow array
        Field → text or numbers, one a row.
    size : int
        Number of rows.
    malformed : Malformed
    """

    columns: Mapping[str, pyarrow.Array]
    size: int
    malformed: Malformed = field(default_factory=Malformed)


Choose = Callable[[list[str]], dict[str, str]]
"""Names of the columns found → field → the column that holds it."""


@dataclass(frozen=True)
class Source:
    """An open log.

    Attributes
    ----------
    place : str
        The file, for messages.
    columns : list of str
        Names as they stand in the file; in JSON Lines it grows while the rows are read.
    batches : callable
        Takes what chooses columns, and yields batches of the chosen ones.
    growing : bool
        Whether ``columns`` is complete only after the last batch.
    cut_off : callable
        Whether the file ended before its data did; known after the last batch.
    """

    place: str
    columns: list[str]
    batches: Callable[[Choose], Iterator[Batch]]
    growing: bool = False
    cut_off: Callable[[], bool] = lambda: False


class _Counted:
    """A file that counts what was read of it."""

    def __init__(self, file: io.BufferedReader) -> None:
        self.count = 0
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data

    def seek(self, position: int, /) -> int:
        return self._file.seek(position)


class Stream(io.RawIOBase):
    """The bytes of a file, unpacked if they are gzipped; gzipped data that are cut off end where they are cut.

    Reading raises :class:`LogError` where so much comes out of so little that no log can be in it.

    Attributes
    ----------
    cut_off : bool
        Whether that was so, known at the end.
    tail : bytes
        The last bytes read so far.
    """

    def __init__(self, file: io.BufferedReader, place: str, *, packed: bool) -> None:
        self._packed = _Counted(file) if packed else None
        self._file = gzip.GzipFile(fileobj=self._packed, mode="rb") if self._packed else file
        self._place = place
        self._unpacked = 0
        self.cut_off = False
        self.tail = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        try:
            data = self._file.read1(len(view))
        except EOFError:
            self.cut_off = True
            return 0
        view[: len(data)] = data
        self._unpacked += len(data)
        if self._packed and self._unpacked > max(_SURELY_READ, MOST_PACKED * self._packed.count):
            raise LogError(self._place, f"gzipped data that expand more than {MOST_PACKED}-fold", _NO_BOMB)
        self.tail = (self.tail + data[-4:])[-4:]
        return len(data)

    @property
    def half_row(self) -> bool:
        """Whether the last row was cut off."""
        return self.cut_off and not self.tail.endswith(b"\n")


def reading(stream: Stream) -> io.BufferedReader:
    """``stream`` with a buffer, for reading and looking ahead."""
    return io.BufferedReader(stream, 2**16)
