"""Times of single micro-batches as a user gives them, in lists or arrays, read exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

from hpsim.errors import PipelineError
from hpsim.exact import Number, exact
from hpsim.regime import Regime
from hpsim.vectors import counted, in_short, listed, time_at

Array = Any  # a NumPy array

MOST_CELLS = 2_000_000  # M·S; about a gigabyte while a schedule is made


class GivenTimes:
    """Reads times exactly, and remembers whether one of them was a float."""

    def __init__(self, regime: Regime) -> None:
        knobs = (regime.overlap if isinstance(regime.overlap, tuple) else (regime.overlap,), (regime.feedback,))
        self.has_floats = any(isinstance(value, float) for values in knobs for value in values)

    def constant(self, values: Sequence[Number]) -> list[Fraction]:
        """Times of a pipeline."""
        return [Fraction(self._read("", value)) for value in values]

    def table(self, name: str, rows: Sequence[Any], width: int, of: str) -> list[Array]:
        """One row of ``width`` times for each micro-batch, as ``width`` columns (M,) of exact numbers."""
        import numpy as np

        lines = [self.row(f"{name}[{m}]", row, width, of) for m, row in enumerate(rows)]
        columns = np.empty((width, len(lines)), dtype=object)
        for m, row in enumerate(lines):
            columns[:, m] = row
        return list(columns)

    def row(self, name: str, values: Any, width: int, of: str) -> list[int | Fraction]:
        """``width`` times, one for each of what ``of`` names."""
        entries = rows_of(name, values)
        if len(entries) != width:
            raise PipelineError(name, f"length {len(entries)}", f"length {width}, a time for each {of}")
        return [self._read(f"{name}[{s}]", value) for s, value in enumerate(entries)]

    def _read(self, place: str, value: object) -> int | Fraction:
        if type(value) is int and 0 <= value < 2**63:  # the two that are common, and have to be quick
            return value
        if type(value) is float and 0 <= value < math.inf:
            self.has_floats = True
            return Fraction(Decimal(repr(value)))
        time_at(place, value)
        self.has_floats |= not isinstance(value, str | Decimal | Rational)
        return exact(value)


def number_of_microbatches(M: object, S: int, lengths: Mapping[str, int]) -> int:
    """``M``, or where it is None the length of the lists by name, all of which must agree.

    Raises
    ------
    PipelineError
        When they do not, nothing tells it, or a schedule of S stages would fill the memory.
    """
    if M is None and not lengths:
        raise PipelineError("M", "left out", "a number, or service, transfer or release with one entry for each")
    count = int(counted(M)) if M is not None else next(iter(lengths.values()))
    for name, length in lengths.items():
        if length == 0:
            raise PipelineError(name, "empty", "one entry for each micro-batch, at least one")
        if length != count:
            raise PipelineError(name, f"length {length:,} for {count:,} micro-batches", "one entry for each")
    if count * S > MOST_CELLS:
        found = f"{in_short(count)} micro-batches at {S} stages"
        raise PipelineError("M", found, f"at most {MOST_CELLS:,} services; simulate() for makespans alone")
    return count


def rows_of(name: str, values: Any) -> Sequence[Any]:
    """The rows of a table, or the values of a row.

    Raises
    ------
    PipelineError
        When there are none because it is something else.
    """
    given = listed(name, values)
    if isinstance(given, list | tuple):
        return given
    quick = given.ndim == 1 and given.dtype.kind in "if" and given.dtype.itemsize == 8  # as Python's own numbers
    entries: list[Any] = given.tolist() if quick else list(given)
    return entries
