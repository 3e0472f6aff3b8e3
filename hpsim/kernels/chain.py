"""The chain recurrence, many pipelines at a time.

    R[m][s] = max(R[m][s-1] + flight[s], R[m-1][s]) + occupancy[s],        R[-1][s] = 0

``R[m][s]`` is the moment stage ``s`` is free again after micro-batch ``m``; free, asynchronous, blocking and partly
overlapped communication are all of this form (equations (1) and (2) of the paper; partial overlap is ours).

One pipeline is a serial chain, so pipelines are put side by side: arrays have shape (blocks, S, LANES), float64,
C-contiguous, and the innermost loop runs over the lanes of a block. Indices are flat with constant strides and the
number of stages is the length of a tuple, so that LLVM sees constants, unrolls the stages and vectorises the lanes.
Two micro-batches go through the stages together and share the loads.

Arguments of both ``advance`` kernels
--------------------------------------
occupancy, flight : (blocks, S, LANES)
    Time a micro-batch holds stage s; travel time into stage s (``flight[:, 0]`` must be 0).
completion : (blocks, S, LANES)
    State: ``R`` of the last micro-batch done; zeros at the start. Updated in place.
done : int
    Micro-batches done so far.
stops : (n,) int64, ascending, > done
    Numbers of micro-batches after which to record.
out : (n, blocks, LANES)
    Makespan after ``stops[j]`` micro-batches: ``R`` at the last stage.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hpsim.kernels._jit import kernel

LANES = 32
LONGEST_SHORT = 16  # beyond this the vectoriser gives up on an unrolled chain
GROUP = 8  # stages unrolled at a time in a long pipeline
BURST = 64  # micro-batches that go from group to group together, through the cache

Array = np.ndarray[Any, Any]


@kernel
def hold_and_travel(tau: Array, d: Array, latency: Array, overlap: Array, occupancy: Array, flight: Array) -> None:
    """Fill ``occupancy`` and ``flight`` from service times, transfer times, latencies and the overlapped share.

    The share ``1 - overlap`` of a transfer holds its sender, the rest of it and the latency only delay the receiver.
    ``tau`` (blocks, S, LANES); ``d``, ``latency`` (blocks, S-1, LANES); ``overlap`` the same, or (blocks, 1, LANES) for
    all links alike. ``occupancy`` and ``flight`` (blocks, S or more, LANES): zero for the stages beyond S.
    """
    last = tau.shape[1] - 1
    per_link = overlap.shape[1] > 1
    for block in range(tau.shape[0]):
        for s in range(last):
            share = s if per_link else 0
            for lane in range(LANES):
                overlapped = overlap[block, share, lane] * d[block, s, lane]
                held = (1.0 - overlap[block, share, lane]) * d[block, s, lane]
                occupancy[block, s, lane] = tau[block, s, lane] + held
                flight[block, s + 1, lane] = overlapped + latency[block, s, lane]
        for lane in range(LANES):
            occupancy[block, last, lane] = tau[block, last, lane]
            flight[block, 0, lane] = 0.0
        for s in range(last + 1, occupancy.shape[1]):
            for lane in range(LANES):
                occupancy[block, s, lane] = 0.0
                flight[block, s, lane] = 0.0


@kernel
def advance_short(
    stages: tuple[int, ...], occupancy: Array, flight: Array, completion: Array, done: Any, stops: Array, out: Array
) -> None:
    """Advance pipelines of ``len(stages)`` stages, at most LONGEST_SHORT; the values in ``stages`` do not matter."""
    last = len(stages) - 1
    size = len(stages) * LANES
    all_o, all_f, all_r = occupancy.reshape(-1), flight.reshape(-1), completion.reshape(-1)
    for block in range(occupancy.shape[0]):
        o = all_o[block * size : (block + 1) * size]
        f = all_f[block * size : (block + 1) * size]
        r = all_r[block * size : (block + 1) * size]
        m = done
        for j in range(stops.shape[0]):
            for _ in range((stops[j] - m) // 2):
                for lane in range(LANES):
                    first = r[lane] + o[lane]
                    second = first + o[lane]
                    r[lane] = second
                    for s in range(1, len(stages)):
                        free = r[s * LANES + lane]
                        arrival = first + f[s * LANES + lane]
                        first = (arrival if arrival > free else free) + o[s * LANES + lane]
                        arrival = second + f[s * LANES + lane]
                        second = (arrival if arrival > first else first) + o[s * LANES + lane]
                        r[s * LANES + lane] = second
            if (stops[j] - m) % 2:
                for lane in range(LANES):
                    first = r[lane] + o[lane]
                    r[lane] = first
                    for s in range(1, len(stages)):
                        free = r[s * LANES + lane]
                        arrival = first + f[s * LANES + lane]
                        first = (arrival if arrival > free else free) + o[s * LANES + lane]
                        r[s * LANES + lane] = first
            m = stops[j]
            for lane in range(LANES):
                out[j, block, lane] = r[last * LANES + lane]


@kernel
def _pass_pair(times: Array, o: Array, f: Array, r: Array) -> None:
    """Send two micro-batches through one group of stages: ``times`` holds their arrivals, then their departures."""
    for lane in range(LANES):
        first = times[lane]
        second = times[LANES + lane]
        for s in range(GROUP):
            free = r[s * LANES + lane]
            arrival = first + f[s * LANES + lane]
            first = (arrival if arrival > free else free) + o[s * LANES + lane]
            arrival = second + f[s * LANES + lane]
            second = (arrival if arrival > first else first) + o[s * LANES + lane]
            r[s * LANES + lane] = second
        times[lane] = first
        times[LANES + lane] = second


@kernel
def _pass_one(times: Array, o: Array, f: Array, r: Array) -> None:
    """Send one micro-batch through one group of stages."""
    for lane in range(LANES):
        first = times[lane]
        for s in range(GROUP):
            free = r[s * LANES + lane]
            arrival = first + f[s * LANES + lane]
            first = (arrival if arrival > free else free) + o[s * LANES + lane]
            r[s * LANES + lane] = first
        times[lane] = first


@kernel
def advance_long(occupancy: Array, flight: Array, completion: Array, done: Any, stops: Array, out: Array) -> None:
    """Advance pipelines of any number of stages that is a multiple of GROUP, group by group.

    Shorter pipelines are filled up with stages of no occupancy and no flight, which change nothing.
    """
    n_stages = occupancy.shape[1]
    size = GROUP * LANES
    all_o, all_f, all_r = occupancy.reshape(-1), flight.reshape(-1), completion.reshape(-1)
    times = np.zeros(BURST * LANES)
    for block in range(occupancy.shape[0]):
        m = done
        for j in range(stops.shape[0]):
            while m < stops[j]:
                n = min(BURST, stops[j] - m)
                times[:] = 0.0
                for group in range(block * n_stages, (block + 1) * n_stages, GROUP):
                    o = all_o[group * LANES : group * LANES + size]
                    f = all_f[group * LANES : group * LANES + size]
                    r = all_r[group * LANES : group * LANES + size]
                    for i in range(0, n - 1, 2):
                        _pass_pair(times[i * LANES : (i + 2) * LANES], o, f, r)
                    if n % 2:
                        _pass_one(times[(n - 1) * LANES : n * LANES], o, f, r)
                m += n
            for lane in range(LANES):
                out[j, block, lane] = all_r[((block + 1) * n_stages - 1) * LANES + lane]


@kernel
def _are_times(values: Array) -> bool:
    """Whether all of ``values`` (flat) are finite and at least 0; counted, which vectorises."""
    right = 0
    for i in range(values.shape[0]):
        right += (values[i] >= 0.0) & (values[i] < np.inf)
    return bool(right == values.shape[0])


@kernel
def _all_serve(tau: Array) -> bool:
    """Whether every row of ``tau`` (n, S) has a time that is not 0."""
    flat = tau.reshape(-1)
    zeros = 0
    for i in range(flat.shape[0]):
        zeros += flat[i] == 0.0
    if zeros >= tau.shape[1]:
        for row in range(tau.shape[0]):
            if not tau[row].any():
                return False
    return True


@kernel
def _hold_rows(tau: Array, d: Array, latency: Array, overlap: Array, occupancy: Array, flight: Array) -> bool:
    """:func:`hold_and_travel` of at most LANES rows; ``occupancy`` and ``flight`` (1, S or more, LANES).

    Returns whether all times are such, and every pipeline serves; otherwise fills nothing.
    """
    if not (_are_times(tau.reshape(-1)) and _are_times(d.reshape(-1)) and _are_times(latency.reshape(-1))):
        return False
    if not _all_serve(tau):
        return False
    lanes = tau.shape[0]
    n_links = tau.shape[1] - 1
    every_row, every_link = overlap.shape[0] > 1, overlap.shape[1] > 1
    for s in range(n_links + 1):
        for lane in range(lanes):
            occupancy[0, s, lane] = tau[lane, s]
    if d.shape[1]:
        for s in range(n_links):
            link = s if every_link else 0
            for lane in range(lanes):
                share = overlap[lane if every_row else 0, link]
                occupancy[0, s, lane] += (1.0 - share) * d[lane, s]
                flight[0, s + 1, lane] = share * d[lane, s]
    if latency.shape[1]:
        for s in range(n_links):
            for lane in range(lanes):
                flight[0, s + 1, lane] = latency[lane, s] + (flight[0, s + 1, lane] if d.shape[1] else 0.0)
    return True


@kernel
def rows_short(
    stages: tuple[int, ...], tau: Array, d: Array, latency: Array, overlap: Array, stops: Array, out: Array
) -> bool:
    """From rows to makespans, block by block within the nearest cache; ``stages`` as in :func:`advance_short`.

    ``tau`` (n, S); ``d``, ``latency`` (n, S-1), or (n, 0) for none; ``overlap`` (n or 1, S-1 or 1); ``out``
    (n, len(stops)). False: a time is none, or a pipeline serves nobody; ``out`` is not filled.
    """
    shape = (1, len(stages), LANES)
    occupancy, flight, completion = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    found = np.empty((stops.shape[0], 1, LANES))
    for first in range(0, tau.shape[0], LANES):
        rows = slice(first, first + LANES)
        share = overlap if overlap.shape[0] == 1 else overlap[rows]
        if not _hold_rows(tau[rows], d[rows], latency[rows], share, occupancy, flight):
            return False
        completion[:] = 0.0
        # np.int64(0) and not 0, for which Numba would compile another version
        advance_short(stages, occupancy, flight, completion, np.int64(0), stops, found)
        for lane in range(min(LANES, tau.shape[0] - first)):
            for j in range(stops.shape[0]):
                out[first + lane, j] = found[j, 0, lane]
    return True


@kernel
def rows_long(tau: Array, d: Array, latency: Array, overlap: Array, stops: Array, out: Array) -> bool:
    """:func:`rows_short` for pipelines of any number of stages, filled up to a multiple of GROUP."""
    width = -(-tau.shape[1] // GROUP) * GROUP
    shape = (1, width, LANES)
    occupancy, flight, completion = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    found = np.empty((stops.shape[0], 1, LANES))
    for first in range(0, tau.shape[0], LANES):
        rows = slice(first, first + LANES)
        share = overlap if overlap.shape[0] == 1 else overlap[rows]
        if not _hold_rows(tau[rows], d[rows], latency[rows], share, occupancy, flight):
            return False
        completion[:] = 0.0
        advance_long(occupancy, flight, completion, np.int64(0), stops, found)
        for lane in range(min(LANES, tau.shape[0] - first)):
            for j in range(stops.shape[0]):
                out[first + lane, j] = found[j, 0, lane]
    return True


@kernel
def _put_block(found: Array, block: int, out: Array) -> None:
    """``out[:, block]`` = ``found`` (n, 1, LANES), which as a slice takes longer to compile than all the rest."""
    for j in range(found.shape[0]):
        for lane in range(LANES):
            out[j, block, lane] = found[j, 0, lane]


@kernel
def lanes_short(
    stages: tuple[int, ...], tau: Array, d: Array, latency: Array, overlap: Array, stops: Array, out: Array
) -> None:
    """From times in lanes to makespans, block by block within the nearest cache.

    ``stages`` as in :func:`advance_short`; ``tau``, ``d``, ``latency``, ``overlap`` as in :func:`hold_and_travel`;
    ``out`` (n, blocks, LANES).
    """
    shape = (1, len(stages), LANES)
    occupancy, flight, completion = np.empty(shape), np.empty(shape), np.empty(shape)
    found = np.empty((stops.shape[0], 1, LANES))
    for block in range(tau.shape[0]):
        one = slice(block, block + 1)
        hold_and_travel(tau[one], d[one], latency[one], overlap[one], occupancy, flight)
        completion[:] = 0.0
        advance_short(stages, occupancy, flight, completion, np.int64(0), stops, found)
        _put_block(found, block, out)


@kernel
def lanes_long(tau: Array, d: Array, latency: Array, overlap: Array, stops: Array, out: Array) -> None:
    """:func:`lanes_short` for pipelines of any number of stages, filled up to a multiple of GROUP."""
    shape = (1, -(-tau.shape[1] // GROUP) * GROUP, LANES)
    occupancy, flight, completion = np.empty(shape), np.empty(shape), np.empty(shape)
    found = np.empty((stops.shape[0], 1, LANES))
    for block in range(tau.shape[0]):
        one = slice(block, block + 1)
        hold_and_travel(tau[one], d[one], latency[one], overlap[one], occupancy, flight)
        completion[:] = 0.0
        advance_long(occupancy, flight, completion, np.int64(0), stops, found)
        _put_block(found, block, out)
