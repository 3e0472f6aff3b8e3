"""Request logs → clean requests by model and host, with an account of every request that was left out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hpsim.errors import SweepFileError, printable
from hpsim.exact import NumberLike
from hpsim.logs.columns import (
    LogError,
    brief,
    check_columns,
    checked_map,
    checked_unit,
    guesses,
    map_flags,
    match_columns,
)
from hpsim.logs.gather import Gathered
from hpsim.logs.opening import opened
from hpsim.logs.source import KINDS
from hpsim.sweep.file.yaml_file import find
from hpsim.units import time_in

TOLERANCE = "10 ms"
"""By how much ``total_s`` may differ from ``duration_s + queue_wait_s``: columns rounded each by itself."""


@dataclass(frozen=True, eq=False)
class Requests:
    """The requests for one model that one host served, ascending by duration, then by wait.

    Attributes
    ----------
    model, host : str
    duration, wait, total : array (n,)
        Service time, time in the queue and time from end to end, in the unit of the log.
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
        For example ``duration_s`` and ``negative``; of a malformed row ``row`` and what is wrong with it.
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
        Of all times, in the files and here.
    tolerance : float
        What is allowed between ``total_s`` and the sum of its parts.
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
        What was not looked at, for want of a column, or because a file is cut off.
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
    tolerance: NumberLike = TOLERANCE,
) -> RequestLog:
    """Read request logs: CSV, JSON Lines or Parquet, plain or gzipped, told apart by what they hold.

    Files are read batch by batch; memory grows by about 150 bytes for each usable request, however wide the rows are.
    A malformed row, such as a last one that was half written, is dropped with its reason, as one of faulty times is.

    Parameters
    ----------
    paths : path or paths
        Files, or the name of a shipped one (``gateway``), with the columns ``host, model, duration_s`` and
        ``queue_wait_s`` or ``total_s`` or both (``total_s = duration_s + queue_wait_s``; the one missing is computed),
        and optionally ``id`` and ``start``.
    map : dict of str to str, optional
        Field → column, for columns of other names.
    unit : str
        Of all times, in the files and in what is returned: ``ns, us, ms, s, min`` or ``h``. A time in a file that has
        a unit of its own (``4 ms``) is converted.
    tolerance : number or text
        By how much ``total_s`` may differ from the sum of its parts; beyond, it is clock skew. A number is in ``unit``,
        text with a unit is converted; 10 ms by default, whatever ``unit`` is.

    Raises
    ------
    LogError
        When a file cannot be read or lacks a column, has a row without end, or no request can be used.

    Examples
    --------
    >>> read_log("gateway.csv", map={"duration_s": "compute_ms", "total_s": "latency_ms"}, unit="ms")  # doctest: +SKIP
    """
    given, allowed = checked_map(map), _read_tolerance(tolerance, checked_unit(unit))
    files = _distinct(paths)
    gathered = Gathered(unit, allowed)
    columns = []
    hints: dict[str, None] = {}
    for file, path in files.items():
        place = printable(file)
        before = gathered.read
        gathered.start(place)
        with opened(path, place) as source:
            if not source.growing:
                check_columns(place, source.columns, given)
            for batch in source.batches(partial(match_columns, given=given)):
                gathered.add(batch)
            if gathered.read == before:
                raise LogError(place, "a header and no request below it", f"at least one request, as {KINDS}")
            check_columns(place, source.columns, given)
            columns.append(match_columns(source.columns, given))
            hints |= dict.fromkeys(_hints(columns[-1], source.columns))
            if source.cut_off():
                hints[
                    f"{place}: the gzipped data are cut off after row {gathered.read - before:,}; the rest is lost"
                ] = None
    return _finished(gathered, list(files), tuple(columns), unit, allowed, list(hints))


def _read_tolerance(tolerance: NumberLike, unit: str) -> float:
    example = f"a time of at least 0, in {unit} or with a unit of its own, for example {TOLERANCE}"
    try:
        allowed = time_in(tolerance, unit)
    except ValueError as fault:
        raise LogError("tolerance", str(fault), example) from None
    if allowed < 0:
        raise LogError("tolerance", str(tolerance), example)
    return float(allowed)


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
            f"{drop.count} {drop.column} {drop.reason} (first {drop.place}: {brief(drop.found)})" for drop in dropped
        )
        allowed = "times as numbers with a point, such as 1.13, at least 0; --map and --unit say what a column holds"
        place = ", ".join(map(printable, files[:3])) + (" and more" if len(files) > 3 else "")
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
    advice = f"; if {brief(like['id'])} is one: {map_flags(like)}" if like else ""
    yield f"duplicates were not looked for: there is no column id{advice}"


def _distinct(paths: str | Path | Iterable[str | Path]) -> dict[str, str]:
    """Each file as it was named → its path, which for the name of a shipped log is elsewhere."""
    files = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not files:
        raise LogError("log", "no file", "at least one request log")
    found: dict[str, str] = {}
    seen: set[str] = set()
    for file in files:
        try:
            path = str(find(file, "configs/logs"))
        except SweepFileError as fault:
            raise LogError(fault.place, fault.found, fault.allowed) from None
        real = os.path.realpath(path)
        if real in seen:
            raise LogError(printable(file), "the same file twice", "each file once")
        seen.add(real)
        found[file] = path
    return found
