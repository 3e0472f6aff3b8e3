"""Columns of a log as arrays: times as float64 with a note of what is no time, names as text."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from hpsim.units import SECONDS, time_in

if TYPE_CHECKING:
    import pyarrow

TIME_FAULTS = ("", "missing", "text", "not finite", "negative", "too large")
OK, MISSING, TEXT, NOT_FINITE, NEGATIVE, TOO_LARGE = range(6)
LONGEST = 10**12  # seconds, thirty thousand years: a date in the wrong column, not a time

_LONGEST_WORD = 100  # of a time with its unit
_BLANKS = ("", "null", "none", "n/a")
_PLAIN = r"^-?[0-9]{1,18}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,2})?$"  # what Arrow reads for sure
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
_WITH_UNIT = re.compile(rf"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*({'|'.join(SECONDS)})")


def times(column: pyarrow.Array, unit: str | None) -> tuple[np.ndarray, np.ndarray]:
    """The times of a column in ``unit``, and for each row the index of its fault in ``TIME_FAULTS`` (0: none).

    A bare number is in ``unit``; text with a unit of its own (``4 ms``) is converted, or a fault if ``unit`` is None.
    """
    from pyarrow import float64, types

    if types.is_string(column.type):
        values, faults = _from_text(column, unit)
    else:
        values = np.array(column.cast(float64(), safe=False).to_numpy(zero_copy_only=False))
        missing = column.is_null().to_numpy(zero_copy_only=False)
        faults = np.select([missing, ~np.isfinite(values)], [MISSING, NOT_FINITE], OK).astype(np.uint8)
    values[faults != OK] = np.nan
    faults[values < 0] = NEGATIVE
    if unit is not None:
        faults[values > float(LONGEST / SECONDS[unit])] = TOO_LARGE
    return values, faults


def names(column: pyarrow.Array) -> tuple[np.ndarray, list[str]]:
    """For each row the index of its name in the list returned, -1 where it is missing; names are trimmed."""
    import pyarrow.compute as pc
    from pyarrow import string

    words = pc.utf8_trim_whitespace(column.cast(string()))
    encoded = pc.fill_null(words, "").dictionary_encode()
    known: list[str] = encoded.dictionary.to_pylist()
    codes = np.array(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    blank = np.array([word.lower() in _BLANKS for word in known], dtype=bool)
    if len(codes):
        codes[blank[codes]] = -1
    return codes, known


def _from_text(column: pyarrow.Array, unit: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Arrow casts what is plainly a number; the rest, seldom much, is looked at word by word."""
    import pyarrow
    import pyarrow.compute as pc

    words = pc.fill_null(pc.utf8_trim_whitespace(column), "")
    plain = pc.match_substring_regex(words, _PLAIN)
    numbers = pc.if_else(plain, words, pyarrow.scalar(None, pyarrow.string())).cast(pyarrow.float64())
    values = np.array(numbers.to_numpy(zero_copy_only=False))
    faults = np.zeros(len(values), dtype=np.uint8)
    odd = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
    if len(odd):
        encoded = words.take(pyarrow.array(odd)).dictionary_encode()
        read = [_read(word, unit) for word in encoded.dictionary.to_pylist()]
        chosen = encoded.indices.to_numpy(zero_copy_only=False)
        values[odd] = np.array([value for value, _ in read])[chosen]
        faults[odd] = np.array([fault for _, fault in read], dtype=np.uint8)[chosen]
    return values, faults


def _read(word: str, unit: str | None) -> tuple[float, int]:
    if word.lower() in (*_BLANKS, "na"):
        return math.nan, MISSING
    if unit is not None and len(word) < _LONGEST_WORD and _WITH_UNIT.fullmatch(word):
        try:
            return float(time_in(word, unit)), OK
        except (ValueError, OverflowError):  # beyond float64
            return math.nan, NOT_FINITE
    if not _NUMBER.fullmatch(word):
        return math.nan, TEXT
    value = float(word)
    return (value, OK) if math.isfinite(value) else (math.nan, NOT_FINITE)
