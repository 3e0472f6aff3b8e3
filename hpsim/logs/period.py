"""The period that a log covers, from its start times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpsim.logs.cells import MISSING, TEXT, times

if TYPE_CHECKING:
    import pyarrow

_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?( ?(Z|[+-][0-9]{2}:?[0-9]{2}))?$"


class Period:
    """First and last of the start times added: numbers, or ISO dates of one time zone, whose text sorts as they do."""

    def __init__(self) -> None:
        self._numbers: list[float] = []
        self._dates: list[str] = []
        self._unreadable = False

    def add(self, column: pyarrow.Array) -> None:
        """Take in a column of start times; missing ones are passed over."""
        import pyarrow
        import pyarrow.compute as pc

        values, faults = times(column, None)
        present = faults != MISSING
        if not present.any():
            return
        if not (faults[present] == TEXT).any():
            known = values[present]
            finite = known[np.isfinite(known)]
            self._numbers += [float(finite.min()), float(finite.max())] if len(finite) else []
            return
        words = pc.utf8_trim_whitespace(column.cast(pyarrow.string())).filter(pyarrow.array(present))
        self._unreadable |= not pc.all(pc.match_substring_regex(words, _DATE)).as_py()
        self._dates += [pc.min(words).as_py(), pc.max(words).as_py()]

    def span(self) -> tuple[str, str] | None:
        """First and last, or None when there is none, or they are of several kinds."""
        if self._unreadable or (self._numbers and self._dates):
            return None
        if self._numbers:
            return f"{min(self._numbers):.15g}", f"{max(self._numbers):.15g}"
        return (min(self._dates), max(self._dates)) if self._dates else None
