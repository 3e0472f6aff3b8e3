"""Pipelines side by side in SIMD lanes: packing into blocks, and runs of any length in calls of bounded time.

A block holds LANES pipelines of equal S; arrays over stages have shape (blocks, S, LANES). See
:mod:`hpsim.kernels.chain` for the recurrence.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

import numpy as np

from hpsim.kernels import chain
from hpsim.kernels.chain import LANES
from hpsim.processors import GIVE_UP, Abandoned

Array = np.ndarray[Any, Any]

CELLS_PER_CALL = 2_000_000_000  # a few tenths of a second, so that an interrupt is answered soon


def blocks_for(n: int) -> int:
    """Number of blocks that hold ``n`` pipelines."""
    return -(-n // LANES)


def pack(rows: Array) -> Array:
    """Rows (n, k), one a pipeline, as blocks (blocks, k, LANES); lanes left over are zero."""
    n, k = rows.shape
    padded = np.zeros((blocks_for(n) * LANES, k))
    padded[:n] = rows
    return np.ascontiguousarray(padded.reshape(blocks_for(n), LANES, k).transpose(0, 2, 1))


def unpack(lanes: Array, n: int) -> Array:
    """Blocks (blocks, k, LANES) as the first ``n`` rows (n, k)."""
    blocks, k, _ = lanes.shape
    return lanes.transpose(0, 2, 1).reshape(blocks * LANES, k)[:n]


def rows_at(lanes: Array, where: Array) -> Array:
    """Of blocks (blocks, k, LANES) the pipelines whose indices are ``where`` (n,), as rows (n, k)."""
    rows: Array = lanes[where // LANES, :, where % LANES]
    return rows


def makespans(
    tau: Array, d: Array, latency: Array, overlap: Array, stops: Array, stopped: Event | None = None
) -> Array:
    """Makespans by the chain recurrence.

    Parameters
    ----------
    tau : (blocks, S, LANES)
        Service times.
    d, latency : (blocks, S-1, LANES)
        Transfer times, and travel times that occupy nothing.
    overlap : (blocks, 1, LANES) or (blocks, S-1, LANES)
        Share of each transfer that does not hold its sender.
    stops : (n,) int64, ascending, at least 1
        Numbers of micro-batches.
    stopped : threading.Event, optional
        Set by another thread to give up between two calls.

    Returns
    -------
    (n, blocks, LANES) array
        ``out[j]``: the completion of micro-batch ``stops[j] - 1`` at the last stage.

    Raises
    ------
    Abandoned
        When ``stopped`` or :data:`hpsim.processors.GIVE_UP` was set.
    """
    blocks, n_stages, _ = tau.shape
    out = np.empty((len(stops), blocks, LANES))
    step = CELLS_PER_CALL // (n_stages * LANES * int(stops[-1]))
    if not step:
        _in_segments(tau, d, latency, overlap, stops, out, stopped)
        return out
    for first in range(0, blocks, step):
        if given_up(stopped):
            raise Abandoned
        part = slice(first, first + step)
        found = out if step >= blocks else np.empty((len(stops), len(tau[part]), LANES))
        if n_stages <= chain.LONGEST_SHORT:
            chain.lanes_short((0,) * n_stages, tau[part], d[part], latency[part], overlap[part], stops, found)
        else:
            chain.lanes_long(tau[part], d[part], latency[part], overlap[part], stops, found)
        if found is not out:
            out[:, part] = found
    return out


def _in_segments(
    tau: Array, d: Array, latency: Array, overlap: Array, stops: Array, out: Array, stopped: Event | None
) -> None:
    """:func:`makespans` where not even one block runs to its end in one call: all side by side; fills ``out``."""
    blocks, n_stages, _ = tau.shape
    short = n_stages <= chain.LONGEST_SHORT
    width = n_stages if short else -(-n_stages // chain.GROUP) * chain.GROUP
    occupancy, flight, completion = np.empty((3, blocks, width, LANES))
    completion.fill(0.0)
    chain.hold_and_travel(tau, d, latency, overlap, occupancy, flight)
    for done, first, last, segment in segments(stops, occupancy.size):
        if given_up(stopped):
            raise Abandoned
        target = out[first:last] if last - first == len(segment) else np.empty((len(segment), blocks, LANES))
        if short:
            chain.advance_short((0,) * n_stages, occupancy, flight, completion, done, segment, target)
        else:
            chain.advance_long(occupancy, flight, completion, done, segment, target)
        out[first:last] = target[: last - first]


def makespans_of_rows(rows: list[Array], stops: Array, out: Array, stopped: Event | None = None) -> bool:
    """Makespans of pipelines given as rows, without whole arrays of lanes in between.

    Parameters
    ----------
    rows : list of arrays
        ``tau`` (n, S); ``d``, ``latency`` (n, S-1), or (n, 0) for none; ``overlap`` (n or 1, S-1 or 1): C-contiguous,
        writable float64, for which alone the kernels are compiled.
    stops, stopped
        As for :func:`makespans`.
    out : (n, len(stops)) array
        Filled, C-contiguous.

    Returns
    -------
    bool
        False when a time is negative or no number, or a pipeline serves nobody; then ``out`` is not filled.

    Raises
    ------
    Abandoned
        As :func:`makespans`.
    """
    n, n_stages = rows[0].shape
    step = CELLS_PER_CALL // (n_stages * LANES * int(stops[-1])) * LANES
    for first in range(0, n, max(step, LANES)):
        part = slice(first, first + max(step, LANES))
        tau, d, latency, overlap = (table if len(table) == 1 else table[part] for table in rows)
        if given_up(stopped):
            raise Abandoned
        # Too long for one call, a block is looked at first, with one micro-batch.
        reach = stops if step else stops[:1].clip(max=1)
        if n_stages <= chain.LONGEST_SHORT:
            right = chain.rows_short((0,) * n_stages, tau, d, latency, overlap, reach, out[part])
        else:
            right = chain.rows_long(tau, d, latency, overlap, reach, out[part])
        if not right:
            return False
        if not step:
            found = makespans(*_in_lanes(tau, d, latency, overlap), stops, stopped)
            out[part] = unpack(found.transpose(1, 0, 2), len(tau))
    return True


def _in_lanes(tau: Array, d: Array, latency: Array, overlap: Array) -> tuple[Array, Array, Array, Array]:
    """Rows, as :func:`makespans_of_rows` takes them, packed for :func:`makespans`."""
    n, links = len(tau), tau.shape[1] - 1
    d, latency = (table if table.shape[1] else np.zeros((n, links)) for table in (d, latency))
    return pack(tau), pack(d), pack(latency), pack(np.broadcast_to(overlap, (n, overlap.shape[1])))


def given_up(stopped: Event | None) -> bool:
    return GIVE_UP.is_set() or (stopped is not None and stopped.is_set())


def segments(stops: Array, cells_per_microbatch: int) -> Iterator[tuple[int, int, int, Array]]:
    """Cut a run into calls of at most about CELLS_PER_CALL cells.

    Yields (micro-batches done before, first and last index of the stops reached, micro-batch counts to advance to); a
    count beyond the stops reached is where the call ends between two stops.
    """
    reach = max(2, CELLS_PER_CALL // max(cells_per_microbatch, 1))
    done = first = 0
    while first < len(stops):
        last = int(np.searchsorted(stops, done + reach, side="right"))
        end = done + reach if last < len(stops) else int(stops[-1])
        segment = stops[first:last] if last > first and stops[last - 1] == end else np.append(stops[first:last], end)
        yield done, first, last, segment
        done, first = end, last
