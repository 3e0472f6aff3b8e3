"""Which requests can be used, and why each of the others cannot: one reason a request, the first that applies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpsim.logs.cells import MISSING, OK, TIME_FAULTS, names, times
from hpsim.logs.columns import WAITS
from hpsim.logs.source import MALFORMED, Batch

BELOW_DURATION = ("total_s", "below duration_s")
CLOCK_SKEW = ("total_s", "clock skew")
DUPLICATE = ("id", "duplicate")
_NO_WAIT = (" and ".join(WAITS), "missing")
_TIMES = ("duration_s", *WAITS)
REASONS: tuple[tuple[str, str], ...] = (
    *(("row", reason) for reason in MALFORMED),
    ("host", "missing"),
    ("model", "missing"),
    *((column, fault) for column in _TIMES for fault in TIME_FAULTS[1:]),
    _NO_WAIT,
    BELOW_DURATION,
    CLOCK_SKEW,
    DUPLICATE,
)
"""(column, reason) of every way to be dropped, in the order in which they are looked for."""


@dataclass(frozen=True)
class Checked:
    """A batch of requests after the checks; arrays have one value a request.

    Attributes
    ----------
    fault : array of int
        Index of the reason in ``REASONS``, or -1 for a request that can be used.
    host, model : array of int
        Indices into ``host_names`` and ``model_names``.
    duration, wait, total : array of float
        In the unit of the log; ``wait`` or ``total`` computed where only the other was given.
    direction : array of bool
        Requests whose duration and total were both given, so that ``total_s >= duration_s`` can be checked.
    """

    fault: np.ndarray
    host: np.ndarray
    model: np.ndarray
    host_names: list[str]
    model_names: list[str]
    duration: np.ndarray
    wait: np.ndarray
    total: np.ndarray
    direction: np.ndarray


def check(batch: Batch, unit: str, tolerance: float) -> Checked:
    """The requests of ``batch``, each with its fault, duplicates aside.

    Times are in ``unit``; clock skew is a ``total_s`` more than ``tolerance`` off the sum of its parts.
    """
    host, host_names = _names(batch, "host")
    model, model_names = _names(batch, "model")
    fault = np.full(batch.size, -1, dtype=np.int64)
    for reason in MALFORMED:
        malformed = np.zeros(batch.size, dtype=bool)
        malformed[batch.malformed.rows.get(reason, [])] = True
        _mark(fault, ("row", reason), malformed)
    _mark(fault, ("host", "missing"), host < 0)
    _mark(fault, ("model", "missing"), model < 0)
    known = {}
    present = {}
    for field in _TIMES:
        known[field], faults = _times(batch, field, unit)
        present[field] = faults == OK
        for kind in range(MISSING, len(TIME_FAULTS)):
            if kind != MISSING or field not in WAITS:
                _mark(fault, (field, TIME_FAULTS[kind]), faults == kind)
    duration, wait, total = (known[field] for field in _TIMES)
    has_wait, has_total = present["queue_wait_s"], present["total_s"]
    _mark(fault, _NO_WAIT, ~has_wait & ~has_total)
    direction = (fault < 0) & has_total
    _mark(fault, BELOW_DURATION, has_total & (total < duration))
    rounding = 4 * np.spacing(np.abs(total))
    _mark(fault, CLOCK_SKEW, has_wait & has_total & (np.abs(total - (duration + wait)) > tolerance + rounding))
    wait = np.where(has_wait, wait, total - duration)
    total = np.where(has_total, total, duration + wait)
    return Checked(fault, host, model, host_names, model_names, duration, wait, total, direction)


def evidence(batch: Batch, fault: int, row: int) -> str:
    """What the request in ``row`` of the batch was dropped for, as it stands in the log."""
    column, reason = REASONS[fault]
    if column == "row":
        return batch.malformed.found[reason]
    fields = (
        [field for field in _TIMES if field in batch.columns] if REASONS[fault] in (BELOW_DURATION, CLOCK_SKEW) else []
    )
    if not fields:
        fields = [field for field in column.split(" and ") if field in batch.columns]
    values = [batch.columns[field][row].as_py() for field in fields]
    return ", ".join(f"{field} {value!r}" for field, value in zip(fields, values, strict=True))


def _names(batch: Batch, field: str) -> tuple[np.ndarray, list[str]]:
    if field in batch.columns:
        return names(batch.columns[field])
    return np.full(batch.size, -1, dtype=np.int64), []


def _times(batch: Batch, field: str, unit: str) -> tuple[np.ndarray, np.ndarray]:
    if field in batch.columns:
        return times(batch.columns[field], unit)
    return np.full(batch.size, np.nan), np.full(batch.size, MISSING, dtype=np.uint8)


def _mark(fault: np.ndarray, reason: tuple[str, str], where: np.ndarray) -> None:
    fault[(fault < 0) & where] = REASONS.index(reason)
