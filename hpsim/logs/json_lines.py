"""JSON Lines as a stream: one object a line, blank lines skipped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

from hpsim.logs.columns import LogError
from hpsim.logs.source import (
    CUT_OFF,
    LONGEST_ROW,
    MOST_COLUMNS,
    NO_OBJECT,
    NOT_JSON,
    ROW_BOUNDS,
    TOO_DEEP,
    TOO_LONG,
    WHERE_CUT,
    Batch,
    Choose,
    Malformed,
    Source,
    Stream,
    too_many,
)

_BATCH = 2**15  # rows
_BLOCK = 2**20  # bytes read at once
_EXAMPLE = 'one object a line: {"host": "a", "model": "m", "duration_s": 1.2, "queue_wait_s": 0}'


def json_lines(place: str, stream: Stream, file: BufferedReader) -> Source:
    """The log in ``file``, which reads ``stream``; its columns are the keys of the rows read so far."""
    columns: list[str] = []

    def batches(choose: Choose) -> Iterator[Batch]:
        import pyarrow

        first = None  # the first malformed row: its number and what is wrong with it
        done = 0
        for rows, malformed in _batches(place, stream, file):
            if first is None and malformed.found:
                row, reason = min((numbers[0], reason) for reason, numbers in malformed.rows.items())
                first = done + row + 1, f"{reason}: {malformed.found[reason]}"
            done += len(rows)
            new = set().union(*rows) - set(columns)
            if new:
                columns.extend(_noted([key for row in rows for key in row if key in new], len(columns), choose))
            chosen = choose(columns)
            arrays = {
                field: pyarrow.array([_text(row.get(column)) for row in rows], pyarrow.string())
                for field, column in chosen.items()
            }
            yield Batch(arrays, len(rows), malformed)
        if not columns and first is not None:
            raise LogError(f"{place}, row {first[0]}", first[1], _EXAMPLE)

    return Source(place, columns, batches, growing=True, cut_off=lambda: stream.cut_off)


def _noted(keys: list[str], known: int, choose: Choose) -> list[str]:
    """The new ``keys``, each once, in the order in which they occur; beyond ``MOST_COLUMNS`` only those of use."""
    unique = list(dict.fromkeys(keys))
    room = max(0, MOST_COLUMNS - known)
    of_use = set(choose(unique[room:]).values()) if len(unique) > room else set()
    return unique[:room] + [key for key in unique[room:] if key in of_use]


def _batches(place: str, stream: Stream, file: BufferedReader) -> Iterator[tuple[list[dict[str, Any]], Malformed]]:
    """The objects of some thousands of lines, an empty one for each malformed line."""
    rows: list[dict[str, Any]] = []
    malformed = Malformed()
    taken = bad = 0
    for read, (line, whole) in enumerate(_lines(place, file), 1):
        reason, row = (CUT_OFF, {}) if not whole and stream.half_row else _read(line)
        if reason:
            bad += 1
            if too_many(bad, read):
                found = f"{bad:,} of {read:,} rows are malformed, the last of them {reason}"
                raise LogError(place, found, _EXAMPLE)
            found = WHERE_CUT if reason == CUT_OFF else line[:200].decode("utf-8", "replace")
            malformed.add(len(rows), reason, found)
        rows.append(row)
        taken += len(line)
        if len(rows) == _BATCH or taken >= LONGEST_ROW:
            yield rows, malformed
            rows, malformed, taken = [], Malformed(), 0
    if rows:
        yield rows, malformed


def _lines(place: str, file: BufferedReader) -> Iterator[tuple[bytes, bool]]:
    """Each line that is not blank, and whether a line end followed."""
    rest = [b""]  # parts of a line whose end is still to come
    length = 0
    row = 1
    while block := file.read(_BLOCK):
        *lines, last = block.split(b"\n")
        if lines:
            lines[0] = b"".join([*rest, lines[0]])
            rest, length = [], 0
            for line in filter(bytes.strip, lines):
                row += 1
                yield line, True
        rest.append(last)
        length += len(last)
        if length > LONGEST_ROW:
            raise LogError(f"{place}, row {row}", TOO_LONG, ROW_BOUNDS)
    if (line := b"".join(rest)).strip():
        yield line, False


def _read(line: bytes) -> tuple[str, dict[str, Any]]:
    """What is wrong with a line, if anything is, and its object.

    Numbers stay text as they were written, so that every kind of file is read by the same rules.
    """
    try:
        row = json.loads(line, parse_float=str, parse_int=str, parse_constant=str)
    except RecursionError:
        return TOO_DEEP, {}
    except ValueError:
        return NOT_JSON, {}
    return ("", row) if isinstance(row, dict) else (NO_OBJECT, {})


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return _valid(value)
    try:
        return json.dumps(value)
    except RecursionError:  # read with a little more room
        return "[…]"


def _valid(text: str) -> str:
    """A lone surrogate, which JSON can spell and UTF-8 cannot, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
