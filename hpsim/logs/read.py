"""Request logs → clean requests by model and host, with an account of every request that was left out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hpsim.logs.columns import (
    LogError,
    checked_map,
    guesses,
    map_flags,
    match_columns,
    one_line,
    printable,
    seconds_per,
)
from hpsim.logs.gather import Gathered
from hpsim.logs.opening import opened
from hpsim.logs.source import KINDS

TOLERANCE = 0.01
"""Seconds by which ``total_s`` may differ from ``duration_s + queue_wait_s``: columns rounded each by itself."""


@dataclass(frozen=True, eq=False)
class Requests:
    """The requests for one model that one host served, ascending by duration, then by wait.

    Attributes
    ----------
    model, host : str
    duration, wait, total : array (n,)
        Service time, time in the queue and time from end to end, in seconds.
    """

    model: str
    host: str
    duration: np.ndarray
    wait: np.ndarray
    total: np.ndarray


@dataclass(frozen=True)
class Dropped:
    """Requests that were left out for one reason.

    Attributes
    ----------
    column, reason : str
        For example ``duration_s`` and ``negative``.
    count : int
    place : str
        The first of them: file and row, counted from 1 below the header.
    found : str
        What stands there.
    """

    column: str
    reason: str
    count: int
    place: str
    found: str


@dataclass(frozen=True, eq=False)
class RequestLog:
    """One or several logs, read.

    Attributes
    ----------
    files : tuple of str
    columns : tuple of dict
        For each file, field → column that it was read from.
    unit : str
        Of the times in the files; here they are seconds.
    tolerance : float
        Seconds allowed between ``total_s`` and the sum of its parts.
    read, kept : int
        Requests in the files, and those in ``requests``; the rest are in ``dropped``.
    dropped : tuple of Dropped
    requests : tuple of Requests
        One for each (model, host), in the order of these names.
    direction_checked, direction_held : int
        Requests whose duration and total were both given, and those of them with ``total_s >= duration_s`` (§7.2).
    period : (str, str) or None
        First and last ``start``, when there is such a column and it holds numbers or ISO dates throughout.
    hints : tuple of str
        What was not looked at, for want of a column.
    """

    files: tuple[str, ...]
    columns: tuple[dict[str, str], ...]
    unit: str
    tolerance: float
    read: int
    kept: int
    dropped: tuple[Dropped, ...]
    requests: tuple[Requests, ...]
    direction_checked: int
    direction_held: int
    period: tuple[str, str] | None
    hints: tuple[str, ...]


def read_log(
    paths: str | Path | Iterable[str | Path],
    map: Mapping[str, str] | None = None,
    unit: str = "s",
    tolerance: float = TOLERANCE,
) -> RequestLog:
    """Read request logs: CSV, JSON Lines or Parquet, plain or gzipped, told apart by what they hold.

    Files are read batch by batch; memory grows by about 150 bytes for each usable request, however wide the rows are.

    Parameters
    ----------
    paths : path or paths
        Files with the columns ``host, model, duration_s`` and ``queue_wait_s`` or ``total_s`` or both
        (``total_s = duration_s + queue_wait_s``; the one missing is computed), and optionally ``id`` and ``start``.
    map : dict of str to str, optional
        Field → column, for columns of other names.
    unit : str
        Of all times: ``ns, us, ms, s, min`` or ``h``.
    tolerance : float
        Seconds by which ``total_s`` may differ from the sum of its parts; beyond, it is clock skew.

    Raises
    ------
    LogError
        When a file cannot be read or lacks a column, has rows of unequal length, or no request can be used.

    Examples
    --------
    >>> read_log("gateway.csv", map={"duration_s": "compute_ms", "total_s": "latency_ms"}, unit="ms")  # doctest: +SKIP
    """
    given, scale = checked_map(map), seconds_per(unit)
    if not 0 <= tolerance < float("inf"):
        raise LogError("tolerance", str(tolerance), "seconds, at least 0, for example 0.01")
    files = _distinct(paths)
    gathered = Gathered(scale, tolerance)
    columns = []
    hints: dict[str, None] = {}
    for file in files:
        with opened(file) as source:
            matched = match_columns(source.place, source.columns, given)
            columns.append(matched)
            hints |= dict.fromkeys(_hints(matched, source.columns))
            before = gathered.read
            gathered.start(source.place)
            for arrays in source.batches(list(matched.values())):
                gathered.add(dict(zip(matched, arrays, strict=True)))
            if gathered.read == before:
                raise LogError(source.place, "a header and no request below it", f"at least one request, as {KINDS}")
    return _finished(gathered, files, tuple(columns), unit, tolerance, list(hints))


def _finished(
    gathered: Gathered,
    files: list[str],
    columns: tuple[dict[str, str], ...],
    unit: str,
    tolerance: float,
    hints: list[str],
) -> RequestLog:
    requests = tuple(Requests(*group) for group in gathered.by_model_and_host())
    dropped = tuple(Dropped(*reason) for reason in gathered.dropped())
    kept = sum(len(group.duration) for group in requests)
    if not kept:
        why = "; ".join(
            f"{drop.count} {drop.column} {drop.reason} (first {drop.place}: {printable(drop.found)})"
            for drop in dropped
        )
        allowed = "times as numbers with a point, such as 1.13, at least 0; --map and --unit say what a column holds"
        place = ", ".join(map(one_line, files[:3])) + (" and more" if len(files) > 3 else "")
        raise LogError(place, f"none of {gathered.read} requests can be used: {why}", allowed)
    if any("start" in matched for matched in columns) and gathered.period.span() is None:
        hints.append(
            "the period is not told: start is neither a number nor a date such as 2026-09-03T10:00:00 throughout"
        )
    return RequestLog(
        tuple(files),
        columns,
        unit,
        tolerance,
        gathered.read,
        kept,
        dropped,
        requests,
        gathered.direction_checked,
        gathered.direction_held,
        gathered.period.span(),
        tuple(hints),
    )


def _hints(matched: Mapping[str, str], found: Iterable[str]) -> Iterable[str]:
    if "id" in matched:
        return
    like = guesses(["id"], [column for column in found if column not in matched.values()])
    advice = f"; if {printable(like['id'])} is one: {map_flags(like)}" if like else ""
    yield f"duplicates were not looked for: there is no column id{advice}"


def _distinct(paths: str | Path | Iterable[str | Path]) -> list[str]:
    files = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not files:
        raise LogError("log", "no file", "at least one request log")
    seen: set[str] = set()
    for file in files:
        real = os.path.realpath(file) if "\0" not in file else file  # which opening it will refuse
        if real in seen:
            raise LogError(one_line(file), "the same file twice", "each file once")
        seen.add(real)
    return files
