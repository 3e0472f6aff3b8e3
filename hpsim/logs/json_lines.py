"""JSON Lines as a stream: one object a line, blank lines skipped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

from hpsim.logs.columns import LogError, printable
from hpsim.logs.source import Source

if TYPE_CHECKING:
    import pyarrow

_BATCH = 2**15
_EXAMPLE = 'one object a line: {"host": "a", "model": "m", "duration_s": 1.2, "queue_wait_s": 0}'


def json_lines(place: str, file: IO[bytes]) -> Source:
    """The log in ``file``; its columns are the keys of the first batch of rows."""
    rows = _rows(place, file)
    first = list(islice(rows, _BATCH))

    def batches(wanted: Sequence[str]) -> Iterator[list[pyarrow.Array]]:
        import pyarrow

        ahead = iter(first)
        while batch := list(islice(chain(ahead, rows), _BATCH)):
            yield [pyarrow.array([_text(row.get(column)) for row in batch], pyarrow.string()) for column in wanted]

    return Source(place, list(dict.fromkeys(chain.from_iterable(first))), batches)


def _rows(place: str, file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The objects. Numbers stay text as they were written, so that every kind of file is read by the same rules."""
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_float=str, parse_int=str, parse_constant=str)
        except RecursionError:
            raise LogError(f"{place}:{number}", "an object nested too deeply", _EXAMPLE) from None
        except ValueError as fault:
            raise LogError(f"{place}:{number}", f"not JSON: {printable(str(fault))}", _EXAMPLE) from None
        if not isinstance(row, dict):
            raise LogError(f"{place}:{number}", "no JSON object", _EXAMPLE)
        yield row


def _text(value: object) -> str | None:
    if value is None:
        return None
    return _valid(value) if isinstance(value, str) else json.dumps(value)


def _valid(text: str) -> str:
    """A lone surrogate, which JSON can spell and UTF-8 cannot, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
