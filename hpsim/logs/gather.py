"""What is kept of the batches of a log while it is read: usable requests, reasons, and ids."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from hpsim.logs.cells import names as names_of
from hpsim.logs.clean import BELOW_DURATION, DUPLICATE, REASONS, Checked, check, evidence
from hpsim.logs.columns import LogError, shown
from hpsim.logs.period import Period
from hpsim.logs.source import MOST_AT_ONCE, MOST_REQUESTS, Batch

if TYPE_CHECKING:
    import pyarrow

MOST_GROUPS = 10_000
_ID_BYTES = 16  # of a hash: a chance below 1e-20 that two of a billion ids meet


class Gathered:
    """Requests of the batches added so far.

    Attributes
    ----------
    read : int
        Requests seen.
    direction_checked, direction_held : int
        Requests with a duration and a total of their own, and those of them with ``total_s >= duration_s``.
    period : Period
    """

    def __init__(self, unit: str, tolerance: float) -> None:
        self.read = 0
        self.direction_checked = 0
        self.direction_held = 0
        self.period = Period()
        self._unit = unit
        self._tolerance = tolerance
        self._groups: dict[tuple[str, str], int] = {}
        self._group: list[np.ndarray] = []  # the number of the group of each request kept
        self._times: list[np.ndarray] = []  # (3, n): duration, wait, total
        self._rows: list[np.ndarray] = []  # numbers of the rows kept, over all files
        self._ids: list[np.ndarray] = []  # (2, n) of uint64, zeros where there is no id
        self._with_ids = False
        self._files: list[tuple[int, str]] = []  # first row of each file
        self._drops: dict[int, tuple[int, str, str]] = {}

    def start(self, place: str) -> None:
        """The batches added from now on are those of the file ``place``."""
        self._files.append((self.read, place))

    def add(self, batch: Batch) -> None:
        """Take in a batch.

        Raises
        ------
        LogError
            When that makes more requests, or more pairs of model and host, than can be held.
        """
        if self.read + batch.size > MOST_REQUESTS:
            raise LogError(self._files[-1][1], f"more than {MOST_REQUESTS:,} requests in all", MOST_AT_ONCE)
        checked = check(batch, self._unit, self._tolerance)
        for fault in np.unique(checked.fault[checked.fault >= 0]):
            rows = np.flatnonzero(checked.fault == fault)
            self._drop(int(fault), len(rows), self.read + int(rows[0]), evidence(batch, int(fault), int(rows[0])))
        checkable = int(checked.direction.sum())
        self.direction_checked += checkable
        self.direction_held += checkable - int((checked.fault == REASONS.index(BELOW_DURATION)).sum())
        if "start" in batch.columns:
            self.period.add(batch.columns["start"])
        kept = np.flatnonzero(checked.fault < 0)
        self._group.append(self._numbered(checked, kept))
        self._times.append(np.stack([checked.duration[kept], checked.wait[kept], checked.total[kept]]))
        self._rows.append(kept + self.read)
        ids = batch.columns.get("id")
        self._ids.append(np.zeros((2, len(kept)), dtype=np.uint64) if ids is None else _hashes(ids, kept))
        self._with_ids |= ids is not None
        self.read += len(checked.fault)

    def by_model_and_host(self) -> list[tuple[str, str, np.ndarray, np.ndarray, np.ndarray]]:
        """Model, host, duration, wait and total of each group, sorted; of requests with one id the first stays.

        Ends the gathering: what it was kept in is given up on the way, since there may be little room.
        """
        repeated = self._repeated()
        self._ids, self._rows = [], []
        group = np.concatenate(self._group)
        group[repeated] = -1
        times = [np.concatenate(columns) for columns in zip(*self._times, strict=True)]
        self._group, self._times = [], []
        by_group = np.argsort(group, kind="stable")
        ends = np.searchsorted(group, np.arange(-1, len(self._groups)), side="right", sorter=by_group)
        found = []
        for pair, first, end in zip(self._groups, ends[:-1], ends[1:], strict=True):
            duration, wait, total = (column[by_group[first:end]] for column in times)
            order = np.lexsort((wait, duration))
            found.append((*pair, duration[order], wait[order], total[order]))
        return sorted((one for one in found if len(one[2])), key=lambda one: one[:2])

    def dropped(self) -> Iterator[tuple[str, str, int, str, str]]:
        """Column, reason, number, first place and what stands there, in the order of the checks."""
        for fault in sorted(self._drops):
            yield (*REASONS[fault], *self._drops[fault])

    def _numbered(self, checked: Checked, kept: np.ndarray) -> np.ndarray:
        """The number of the group of each request kept."""
        width = len(checked.host_names) + 1
        pairs, index = np.unique(checked.model[kept] * width + checked.host[kept], return_inverse=True)
        numbers = np.zeros(len(pairs), dtype=np.int16)  # MOST_GROUPS fit, and NumPy sorts these fast
        for position, pair in enumerate(pairs.tolist()):
            names = checked.model_names[pair // width], checked.host_names[pair % width]
            if names not in self._groups and len(self._groups) == MOST_GROUPS:
                found = f"more than {MOST_GROUPS:,} pairs of model and host, among them {shown(' on '.join(names))}"
                raise LogError(self._files[-1][1], found, "columns with names of models and hosts; see --map")
            numbers[position] = self._groups.setdefault(names, len(self._groups))
        return numbers[index]

    def _repeated(self) -> np.ndarray:
        """Indices of the kept requests that have the id of an earlier one; notes them as dropped."""
        if not self._with_ids:
            return np.empty(0, dtype=np.int64)
        first, second = np.concatenate(self._ids, axis=1)
        ordered = np.sort(first)
        twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        among = np.flatnonzero(np.isin(first, twice[twice > 0]))  # few, so that only few are sorted with care
        order = among[np.lexsort((second[among], first[among]))]  # stable: equal ids stay in the order of the log
        same = (first[order[1:]] == first[order[:-1]]) & (second[order[1:]] == second[order[:-1]])
        repeated = np.sort(order[1:][same])
        if len(repeated):
            rows = np.concatenate(self._rows)
            twins = np.flatnonzero((first == first[repeated[0]]) & (second == second[repeated[0]]))
            found = f"the id of {self._place(int(rows[twins[0]]))}"
            self._drop(REASONS.index(DUPLICATE), len(repeated), int(rows[repeated[0]]), found)
        return repeated

    def _drop(self, fault: int, count: int, row: int, found: str) -> None:
        before, place, evidence_before = self._drops.get(fault, (0, self._place(row), found))
        self._drops[fault] = (before + count, place, evidence_before)

    def _place(self, row: int) -> str:
        start, file = self._files[bisect_right(self._files, row, key=lambda one: one[0]) - 1]
        return f"{file}, row {row - start + 1}"


def _hashes(column: pyarrow.Array, kept: np.ndarray) -> np.ndarray:
    """Two words for each id, equal for equal ids; zeros where it is missing."""
    codes, known = names_of(column)
    digests = b"".join(blake2b(name.encode(), digest_size=_ID_BYTES).digest() for name in known)
    words = np.frombuffer(digests + bytes(_ID_BYTES), dtype="<u8").reshape(-1, 2).T
    return np.asarray(words[:, codes[kept]])  # a missing id has the code -1: the zeros at the end
