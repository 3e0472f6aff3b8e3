"""Many pipelines as rows of arrays, grouped by their number of stages, each value checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpsim.errors import PipelineError
from hpsim.pipeline import Pipeline
from hpsim.vectors import in_short

Array = np.ndarray[Any, Any]
Group = tuple[Array | slice, Array, Array, Array]

_SHAPE = "an (N, S) array, N sequences of numbers, or N Pipelines"


@dataclass(frozen=True)
class Rows:
    """N pipelines: either three arrays of equal S, or three lists of arrays.

    Attributes
    ----------
    n : int
        Number of pipelines.
    tau, d, latency : (n, S), (n, S-1), (n, S-1) arrays, or lists of n one-dimensional arrays
        float64, checked.
    """

    n: int
    tau: Array | list[Array]
    d: Array | list[Array]
    latency: Array | list[Array]

    @staticmethod
    def read(tau: Any, d: Any, latency: Any) -> Rows:
        """Read what :func:`hpsim.simulate` takes.

        Raises
        ------
        PipelineError
            Naming the first value that makes no sense.
        """
        if isinstance(tau, Pipeline):
            tau = [tau]
        if isinstance(tau, Sequence) and tau and all(isinstance(p, Pipeline) for p in tau):
            if d is not None or latency is not None:
                raise PipelineError("d", "given beside Pipelines", "the transfer times that the Pipelines hold")
            tau, d, latency = ([getattr(p, name) for p in tau] for name in ("tau", "d", "latency"))
        table = _table("tau", tau)
        n = len(table)
        if isinstance(table, np.ndarray):
            links = (n, table.shape[1] - 1)
            rows = Rows(n, table, _links("d", d, links), _links("latency", latency, links))
        else:
            widths = [len(row) - 1 for row in table]
            rows = Rows(n, table, _ragged_links("d", d, widths), _ragged_links("latency", latency, widths))
        for where, *arrays in rows.groups():
            for name, array in zip(("tau", "d", "latency"), arrays, strict=True):
                _check_times(name, array, where)
            _check_some_service(arrays[0], where)
        return rows

    def without_communication(self) -> Rows:
        """The same stages, with links that take no time."""
        if isinstance(self.tau, np.ndarray):
            links = np.zeros((self.n, self.tau.shape[1] - 1))
            return Rows(self.n, self.tau, links, links)
        zeros = [np.zeros(len(row) - 1) for row in self.tau]
        return Rows(self.n, self.tau, zeros, zeros)

    def groups(self) -> Iterator[Group]:
        """Groups of equal S: (which rows, tau (n, S), d (n, S-1), latency (n, S-1))."""
        if isinstance(self.tau, np.ndarray):
            yield slice(None), np.asarray(self.tau), np.asarray(self.d), np.asarray(self.latency)
            return
        widths = np.array([len(row) for row in self.tau])
        for width in np.unique(widths):
            where = np.flatnonzero(widths == width)
            tau, d, latency = (np.array([rows[i] for i in where]) for rows in (self.tau, self.d, self.latency))
            yield where, tau, d, latency


def _table(name: str, values: Any) -> Array | list[Array]:
    """An (n, k) array, or n arrays of different length."""
    if isinstance(values, np.ndarray):
        table = floats(name, values)
        table = table[None] if table.ndim == 1 else table
        if table.ndim != 2 or table.size == 0:
            raise PipelineError(name, f"an array of shape {values.shape}", _SHAPE)
        return table
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) == 0:
        raise PipelineError(name, in_short(values), _SHAPE)
    if not any(isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, str) for row in values):
        return floats(name, values)[None]
    rows = [floats(f"{name}[{i}]", row) for i, row in enumerate(values)]
    for i, row in enumerate(rows):
        if row.ndim != 1 or (name == "tau" and not row.size):
            raise PipelineError(f"{name}[{i}]", in_short(values[i]), "a sequence of times, one for each stage")
    return np.array(rows) if len({len(row) for row in rows}) == 1 else rows


def floats(place: str, values: Any) -> Array:
    """``values`` as float64, or a :class:`PipelineError` at ``place``."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PipelineError(place, in_short(values), "numbers") from None


def _links(name: str, values: Any, shape: tuple[int, int]) -> Array:
    if values is None or np.size(values) == 0:
        return np.zeros(shape)
    table = _table(name, values)
    if not isinstance(table, np.ndarray) or table.shape != shape:
        found = f"an array of shape {table.shape}" if isinstance(table, np.ndarray) else "rows of different length"
        raise PipelineError(name, found, f"shape {shape}: one value for each link of each pipeline")
    return table


def _ragged_links(name: str, values: Any, widths: list[int]) -> list[Array]:
    if values is None:
        return [np.zeros(width) for width in widths]
    if not isinstance(values, Sequence) or len(values) != len(widths):
        raise PipelineError(name, in_short(values), f"{len(widths)} sequences, one for each pipeline")
    rows = [floats(f"{name}[{i}]", row) for i, row in enumerate(values)]
    for i, (row, width) in enumerate(zip(rows, widths, strict=True)):
        if row.shape != (width,):
            raise PipelineError(f"{name}[{i}]", f"{row.size} values for {width + 1} stages", f"{width} values")
    return rows


def _check_times(name: str, array: Array, where: Array | slice) -> None:
    wrong = ~((array >= 0) & (array < np.inf))
    if wrong.any():
        i, s = (int(x) for x in np.argwhere(wrong)[0])
        row = i if isinstance(where, slice) else int(where[i])
        raise PipelineError(f"{name}[{row}][{s}]", str(array[i, s]), "a finite time of at least 0")


def _check_some_service(tau: Array, where: Array | slice) -> None:
    idle = ~tau.any(axis=1)
    if idle.any():
        i = int(np.argmax(idle))
        raise PipelineError(f"tau[{i if isinstance(where, slice) else int(where[i])}]", "all 0", "at least one above 0")
