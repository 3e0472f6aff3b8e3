"""The chain recurrence as one would write it in NumPy: vectorised over configurations, no compiler.

It shares no code with the kernels, so besides being a yardstick it is one more independent implementation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def makespans(tau: Array, d: Array, M: int, overlap: float = 1.0, chunk: int = 8192) -> Array:
    """Makespans after ``M`` micro-batches.

    ``R[m][s] = max(R[m][s-1] + f[s-1], R[m-1][s]) + o[s]`` with ``f = overlap·d``, ``o = tau + (1-overlap)·d`` and no
    hold at the last stage: asynchronous at overlap 1 (Theorem 2), blocking at 0 (Theorem 3).

    Parameters
    ----------
    tau, d : (N, S) and (N, S-1) arrays
        Service and transfer times, in one unit.
    M : int
        Number of micro-batches.
    overlap : float
        Share of each transfer that does not hold its sender.
    chunk : int
        Configurations that go through the recurrence together: enough to hide the cost of a NumPy call, few enough
        for the caches.

    Returns
    -------
    (N,) array
    """
    out = np.empty(len(tau))
    for first in range(0, len(tau), chunk):
        rows = slice(first, first + chunk)
        occupancy = tau[rows].T.copy()
        occupancy[:-1] += (1.0 - overlap) * d[rows].T
        out[rows] = _run(occupancy, overlap * np.ascontiguousarray(d[rows].T), M)
    return out


def _run(occupancy: Array, flight: Array, M: int) -> Array:
    """Completion of the last micro-batch at the last stage; ``occupancy`` is (S, n), ``flight`` (S-1, n)."""
    release = np.zeros_like(occupancy)
    arrival = np.empty_like(occupancy[0])
    links = list(zip(release[:-1], flight, release[1:], occupancy[1:], strict=True))
    for _ in range(M):
        release[0] += occupancy[0]
        for sent, travel, free, service in links:
            np.add(sent, travel, out=arrival)
            np.maximum(arrival, free, out=arrival)
            np.add(arrival, service, out=free)
    last: Array = release[-1]
    return last
