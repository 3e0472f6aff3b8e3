"""Many pipelines as rows of arrays, grouped by their number of stages, each value checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from hpsim.errors import PipelineError
from hpsim.pipeline import Pipeline
from hpsim.vectors import in_short, plain

Array = np.ndarray[Any, Any]
Table = Array | list[Array]
"""Rows of equal length as one (n, k) array, or of different length as n one-dimensional arrays."""

_NO_NUMBERS = frozenset({bool, np.bool_, np.timedelta64, type(np.ma.masked)})
_SHAPE = "an (N, S) array, N sequences of numbers, or N Pipelines"


@dataclass(frozen=True)
class Group:
    """Pipelines of equal S: which of the N they are, and their times, (n, S), (n, S-1), (n, S-1).

    Links that were not given are one zero, broadcast: see :func:`absent`.
    """

    where: Array | slice
    tau: Array
    d: Array
    latency: Array


@dataclass(frozen=True)
class Rows:
    """N pipelines; ``tau`` has S values a row, ``d`` and ``latency`` S-1."""

    tau: Table
    d: Table
    latency: Table

    @staticmethod
    def read(tau: Any, d: Any, latency: Any) -> Rows:
        """Read what :func:`hpsim.simulate` takes, and check it.

        Raises
        ------
        PipelineError
            Naming the first value that makes no sense.
        """
        rows = Rows.shaped(tau, d, latency)
        rows.check()
        return rows

    @staticmethod
    def shaped(tau: Any, d: Any, latency: Any) -> Rows:
        """:meth:`read` for a caller that finds out by itself whether the numbers are times: shapes and types only."""
        if isinstance(tau, Pipeline):
            tau = [tau]
        if isinstance(tau, Sequence) and len(tau) and all(isinstance(pipeline, Pipeline) for pipeline in tau):
            for name, beside in (("d", d), ("latency", latency)):
                if beside is not None:
                    raise PipelineError(name, "given beside Pipelines", f"the {name} that the Pipelines hold")
            tau, d, latency = ([getattr(pipeline, name) for pipeline in tau] for name in ("tau", "d", "latency"))
        stages = _table("tau", tau)
        if not len(stages) or (isinstance(stages, np.ndarray) and not stages.size):
            raise PipelineError("tau", in_short(tau), _SHAPE)
        if isinstance(stages, list) and not _widths(stages).all():
            i = int(np.argmin(_widths(stages)))
            raise PipelineError(f"tau[{i}]", "no value", "a service time for each stage, at least one")
        return Rows(stages, _links("d", d, stages), _links("latency", latency, stages))

    def check(self) -> None:
        """Refuse the first time that is none, and the first pipeline that serves nobody.

        Raises
        ------
        PipelineError
            Naming it.
        """
        groups = list(self.groups())
        for name in ("tau", "d", "latency"):
            wrong = [place for group in groups for place in _first_wrong(getattr(group, name), group.where)]
            if wrong:
                row, s, value = min(wrong)
                raise PipelineError(f"{name}[{row}][{s}]", str(value), "a finite time of at least 0")
        idle = [_number(int(i), group.where) for group in groups for i in np.flatnonzero(_serves_nobody(group.tau))[:1]]
        if idle:
            raise PipelineError(f"tau[{min(idle)}]", "every service time is 0", "at least one above 0")

    @property
    def n(self) -> int:
        """Number of pipelines."""
        return len(self.tau)

    def without_communication(self) -> Rows:
        """The same stages, with links that take no time."""
        return Rows(self.tau, _links("d", None, self.tau), _links("latency", None, self.tau))

    def groups(self) -> Iterator[Group]:
        """The pipelines, by ascending number of stages."""
        if isinstance(self.tau, np.ndarray):
            yield Group(slice(None), self.tau, np.asarray(self.d), np.asarray(self.latency))
            return
        widths = _widths(self.tau)
        for width in np.unique(widths):
            where = np.flatnonzero(widths == width)
            yield Group(where, *(np.array([rows[i] for i in where]) for rows in (self.tau, self.d, self.latency)))


def absent(links: Array) -> bool:
    """Whether ``links`` is one zero, broadcast: what stands for links that were not given."""
    return not links.size or (links.strides == (0, 0) and links[0, 0] == 0)


def floats(place: str, values: Any) -> Array:
    """``values`` as a float64 array, of whatever shape.

    Raises
    ------
    PipelineError
        When they are not numbers, or not the rows of an array.
    """
    try:
        array = np.asarray(plain(place, values))
        if array.dtype.kind not in "iufO":
            raise TypeError
        return (array if array.dtype.kind != "O" else _checked(place, array)).astype(np.float64, copy=False)
    except PipelineError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise PipelineError(place, in_short(values), "numbers") from None


def _checked(place: str, objects: Array) -> Array:
    """``objects``, refused at the first that is no real number: NumPy would make one of text and of None."""
    wrong = {kind for kind in map(type, objects.flat) if kind in _NO_NUMBERS or not issubclass(kind, (Real, Decimal))}
    for entry in np.ndindex(objects.shape) if wrong else ():
        if type(objects[entry]) in wrong:
            where = place + "".join(f"[{k}]" for k in entry)
            raise PipelineError(where, f"{in_short(objects[entry])} is not a number", "a finite time of at least 0")
    return objects


def _table(name: str, values: Any) -> Table:
    values = plain(name, values)
    listed = isinstance(values, Sequence) and not isinstance(values, (str, bytes))
    rows = [plain(f"{name}[{i}]", row) for i, row in enumerate(values)] if listed else []
    if not any(map(_is_row, rows)):
        table = floats(name, _without_truth(name, rows) if listed else values)
        if table.ndim not in (1, 2):
            raise PipelineError(name, in_short(values), _SHAPE)
        return table[None] if table.ndim == 1 and table.size else table.reshape(len(table), -1 if table.size else 0)
    rows = [_without_truth(f"{name}[{i}]", row) for i, row in enumerate(rows)]
    with suppress(PipelineError):
        table = floats(name, rows)
        if table.ndim == 2 and table.size:
            return table
    tables = [floats(f"{name}[{i}]", row) for i, row in enumerate(rows)]
    for i, table in enumerate(tables):
        if table.ndim != 1:
            raise PipelineError(f"{name}[{i}]", in_short(values[i]), "a sequence of numbers")
    return tables


def _without_truth(name: str, row: Any) -> Any:
    """``row``, refused where a list in it holds what NumPy would silently take for a number: a truth value, a mask."""
    if isinstance(row, (list, tuple)) and not _NO_NUMBERS.isdisjoint(map(type, row)):
        s = next(s for s, value in enumerate(row) if type(value) in _NO_NUMBERS)
        raise PipelineError(f"{name}[{s}]", f"{in_short(row[s])} is not a number", "a finite time of at least 0")
    return row


def _is_row(row: object) -> bool:
    return isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, (str, bytes))


def _links(name: str, values: Any, stages: Table) -> Table:
    """A row of S-1 values for each row of ``stages``; zeros when there are no values."""
    table = np.zeros((0, 0)) if values is None else _table(name, values)
    if isinstance(table, np.ndarray) and isinstance(stages, np.ndarray):
        if not table.size:
            return np.broadcast_to(0.0, (len(stages), stages.shape[1] - 1))
        if len(table) == len(stages) and table.shape[1] == stages.shape[1] - 1:
            return table
    links, given = _widths(stages) - 1, _widths(table)
    if not given.any():
        return [np.zeros(k) for k in links]
    if len(given) != len(links):
        raise PipelineError(name, f"{len(given)} rows", f"{len(links)}, one for each pipeline")
    if (given != links).any():
        i = int(np.argmax(given != links))
        place = name if isinstance(table, np.ndarray) and isinstance(stages, np.ndarray) else f"{name}[{i}]"
        raise PipelineError(place, f"{given[i]} values for {links[i] + 1} stages", f"{links[i]}, one for each link")
    return table


def _widths(table: Table) -> Array:
    """The length of each row."""
    if isinstance(table, np.ndarray):
        return np.full(len(table), table.shape[1])
    return np.array([len(row) for row in table])


def _first_wrong(times: Array, where: Array | slice) -> list[tuple[int, int, float]]:
    """Row, column and value of the first entry that is no time, if there is one."""
    if absent(times) or (times.min() >= 0 and times.max() < np.inf):  # neither holds with NaN
        return []
    right = (times >= 0) & (times < np.inf)
    i, s = (int(k) for k in np.argwhere(~right)[0])
    return [(_number(i, where), s, times[i, s])]


def _serves_nobody(tau: Array) -> Array:
    """Which rows are all zero; column by column, since the first nearly always settles it."""
    idle: Array = tau[:, 0] == 0
    for column in tau.T[1:]:
        if not idle.any():
            break
        idle &= column == 0
    return idle


def _number(i: int, where: Array | slice) -> int:
    return i if isinstance(where, slice) else int(where[i])
