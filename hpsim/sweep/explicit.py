"""Configurations that are written down, ``pipelines:`` or ``grid:``, as rows of whole numbers of 1/scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hpsim.lanes import Array
from hpsim.sweep.file.grid import Axis, Each, Grid
from hpsim.sweep.spec import Sweep

LARGEST_WHOLE = 2**53  # float64 holds every whole number up to here


@dataclass(frozen=True)
class Rows:
    """Configurations of equal S, one a row.

    Attributes
    ----------
    ids : (n,) int64
    tau : (n, S), d, latency : (n, S-1)
        Times in units of 1/scale: whole numbers held as float64, or as Python integers where those are not exact.
    rho : (n,), or None where the source does not list it
    scale : (n,) int64, or Python integers
    """

    ids: Array
    tau: Array
    d: Array
    latency: Array
    rho: Array | None
    scale: Array

    def in_users_unit(self) -> Rows:
        """The same times in the user's unit, rounded to float64; scale 1."""
        scale = self.scale[:, None]
        times = {name: (getattr(self, name) / scale).astype(np.float64) for name in ("tau", "d", "latency")}
        return replace(self, **times, scale=np.ones(len(self.ids), dtype=np.int64))


def pipeline_rows(sweep: Sweep, ids: Array) -> Iterator[Rows]:
    """The pipelines ``ids`` of ``sweep.pipelines``, grouped by number of stages; each has its own scale."""
    assert sweep.pipelines is not None
    entries = [sweep.pipelines[i] for i in ids]
    stages = np.array([entry.S for entry in entries])
    for n_stages in np.unique(stages):
        where = np.flatnonzero(stages == n_stages)
        group = [entries[i] for i in where]
        tau, d, latency = (
            _array([_whole(getattr(entry, name), entry.scale) for entry in group]).reshape(len(group), width)
            for name, width in (("tau", n_stages), ("d", n_stages - 1), ("latency", n_stages - 1))
        )
        yield Rows(ids[where], tau, d, latency, None, _scales([entry.scale for entry in group]))


def grid_rows(sweep: Sweep, ids: Array) -> Iterator[Rows]:
    """The combinations ``ids`` of ``sweep.grid``: S outermost, then tau, d, latency, and rho innermost."""
    assert sweep.grid is not None
    grid = sweep.grid
    first = 0
    for n_stages in grid.stages:
        count = grid.count(n_stages)
        group = ids[(ids >= first) & (ids < first + count)]
        if len(group):
            yield _combinations(grid, n_stages, group, group - first)
        first += count


def _combinations(grid: Grid, n_stages: int, ids: Array, number: Array) -> Rows:
    """The combinations ``number`` among those of ``n_stages`` stages, in mixed radix with rho as the last digit."""
    links = n_stages - 1
    rho = None
    if grid.rho:
        number, digit = np.divmod(number, len(grid.rho))
        rho = np.array([float(share) for share in grid.rho])[digit]
    number, latency = _digit(grid.latency, links, grid.scale, number)
    number, d = _digit(grid.d, links, grid.scale, number)
    tau_axis = grid.tau
    if not isinstance(tau_axis, Each):
        tau_axis = tuple(vector for vector in tau_axis if isinstance(vector, tuple) and len(vector) == n_stages)
    _, tau = _digit(tau_axis, n_stages, grid.scale, number)
    return Rows(ids, tau, d, latency, rho, _scales([grid.scale] * len(ids)))


def _digit(axis: Axis, width: int, scale: int, number: Array) -> tuple[Array, Array]:
    """Split off the digit of ``axis``: (the number left, vectors (n, width) in units of 1/scale)."""
    if isinstance(axis, Each):
        values = _array(_whole(axis.values, scale))
        vectors = np.empty((len(number), width), dtype=values.dtype)
        for s in reversed(range(width)):
            number, digit = np.divmod(number, len(values))
            vectors[:, s] = values[digit]
        return number, vectors
    number, digit = np.divmod(number, len(axis))
    table = [_whole(level if isinstance(level, tuple) else (level,) * width, scale) for level in axis]
    return number, _array(table).reshape(len(axis), width)[digit]


def _whole(values: tuple[Fraction, ...] | list[Fraction], scale: int) -> list[int]:
    return [int(value * scale) for value in values]


def _array(whole: list[list[int]] | list[int]) -> Array:
    exact = np.array(whole, dtype=object)
    return exact.astype(np.float64) if exact.max(initial=0) <= LARGEST_WHOLE else exact


def _scales(scales: list[int]) -> Array:
    return np.array(scales, dtype=np.int64 if max(scales) <= LARGEST_WHOLE else object)
