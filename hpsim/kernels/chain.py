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
    all links alike. ``occupancy`` and ``flight`` (blocks, S or more, LANES) must be zero.
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


@kernel
def advance_short(
    stages: tuple[int, ...], occupancy: Array, flight: Array, completion: Array, done: int, stops: Array, out: Array
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
def advance_long(occupancy: Array, flight: Array, completion: Array, done: int, stops: Array, out: Array) -> None:
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
