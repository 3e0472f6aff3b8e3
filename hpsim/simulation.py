"""Many pipelines → makespans, by the recurrences, in compiled SIMD lanes.

The module is not called ``simulate``: it would hide the function of that name in the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import numpy as np

from hpsim.errors import PipelineError, RegimeError
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array, blocks_for, makespans, pack
from hpsim.processors import threads as number_of_threads
from hpsim.regime import Regime, named
from hpsim.rows import Group, Rows, floats
from hpsim.vectors import counted, in_short, is_array

SMALL = 4_000_000  # cells below which a second thread costs more than it brings
MOST_MICROBATCHES = 2**53


def simulate(
    tau: Any,
    d: Any = None,
    M: Any = 8,
    regime: str | Regime = "async",
    *,
    rho: Any = None,
    latency: Any = None,
    workers: int | None = None,
) -> Array:
    """Makespans of many pipelines, each by running its recurrence to the last micro-batch.

    Parameters
    ----------
    tau : (N, S) array, or sequence of N sequences, or sequence of :class:`~hpsim.pipeline.Pipeline`
        Service times; pipelines of different length may be mixed. One pipeline (S numbers) is N = 1.
    d, latency : as ``tau`` with S-1 values a pipeline, optional
        Transfer times, and extra travel times that occupy nothing; leave out when ``tau`` holds pipelines.
    M : int or sequence of int, at least 1
        Numbers of micro-batches, in any order; a long run costs time in proportion to the largest.
    regime : str or Regime
        ``"free"``, ``"async"``, ``"blocking"``, ``"partial"``, or a :class:`~hpsim.regime.Regime`.
    rho : number or (N,) array
        For ``"partial"``: the share of each transfer overlapped with the sender's work.
    workers : int, optional
        Threads; by default as many as this process may use processors. The result does not depend on it.

    Returns
    -------
    (N, len(M)) float64 array, or (N,) when ``M`` is one number
        Makespans in the unit of ``tau``; sums are rounded as float64 does, and exact on a grid that float64 holds.

    Raises
    ------
    PipelineError, RegimeError
        Naming the first value that makes no sense.

    Notes
    -----
    The recurrences are (1) and (2) of the paper, and ours for partial overlap
    (:func:`hpsim.reference.chain.partial`).

    Examples
    --------
    >>> simulate([[0.5, 1, 1, 5]], M=[1, 8], regime="free")
    array([[ 7.5, 42.5]])
    """
    stops, inverse = _microbatches(M)
    rows = Rows.read(tau, d, latency)
    overlap = _overlap(regime, rho, rows)
    if overlap is None:
        rows, overlap = rows.without_communication(), np.ones((1, 1))
    threads = number_of_threads(workers)
    out = np.empty((rows.n, len(stops)))
    for group in rows.groups():
        out[group.where] = _run(group, overlap if len(overlap) == 1 else overlap[group.where], stops, threads)
    if not out.max() < np.inf:
        row = int(np.argmin(np.isfinite(out).all(axis=1)))
        raise PipelineError(f"tau[{row}]", "a makespan beyond float64", "shorter times, or fewer micro-batches")
    return out[:, 0] if inverse is None else out[:, inverse]


def _run(group: Group, overlap: Array, stops: Array, threads: int) -> Array:
    """Makespans (n, len(stops)) of pipelines of equal S, the blocks shared out among threads."""
    n = len(group.tau)

    def part(first: int) -> Array:
        last = min(first + step, n)
        tau, d, latency = (_packed(rows[first:last]) for rows in (group.tau, group.d, group.latency))
        share = pack(overlap[first:last]) if len(overlap) > 1 else _everywhere(overlap[0], len(tau))
        found = makespans(tau, d, latency, share, stops, stopped)
        return found.reshape(len(stops), -1)[:, : last - first].T

    stopped = Event()
    if group.tau.size * int(stops[-1]) < SMALL:
        threads = 1
    step = -(-blocks_for(n) // threads) * LANES
    if step >= n:
        return part(0)
    pool = ThreadPoolExecutor(threads)
    try:
        return np.concatenate(list(pool.map(part, range(0, n, step))))
    except BaseException:  # Ctrl-C, most likely: the threads give up after the call they are in
        stopped.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _packed(rows: Array) -> Array:
    """:func:`pack`, quicker where there is nothing to pack, as without latency."""
    return pack(rows) if rows.any() else np.zeros((blocks_for(len(rows)), rows.shape[1], LANES))


def _everywhere(values: Array, blocks: int) -> Array:
    """The same ``values`` (k,) in every lane, (blocks, k, LANES)."""
    lanes = np.empty((blocks, len(values), LANES))
    lanes[:] = values[:, None]
    return lanes


def _microbatches(M: Any) -> tuple[Array, Array | None]:
    """The distinct numbers of micro-batches, ascending, and where each of ``M`` stands among them; None: one number."""
    several = is_array(M) or (isinstance(M, Sequence) and not isinstance(M, (str, bytes)))
    counts = list(M) if several else [M]
    if not counts or any(is_array(m) for m in counts) or max(counted(m) for m in counts) > MOST_MICROBATCHES:
        raise PipelineError(
            "M", in_short(M), "whole numbers from 1 to 2**53, for example [1, 8]; closed forms take more"
        )
    stops, inverse = np.unique(np.array([counted(m) for m in counts], dtype=np.int64), return_inverse=True)
    return stops, inverse if several else None


def _overlap(regime: str | Regime, rho: Any, rows: Rows) -> Array | None:
    """The overlapped share: (1, 1), (1, S-1) over links, or (N, 1) over pipelines; None without communication."""
    if rho is not None and not (isinstance(regime, str) and regime == "partial"):
        raise RegimeError("rho", f"{in_short(rho)} with regime {in_short(regime)}", "rho only with regime='partial'")
    if isinstance(regime, str) and regime == "partial" and (is_array(rho) or isinstance(rho, (list, tuple))):
        shares = floats("rho", rho)
        if shares.shape != (rows.n,) or not ((shares >= 0) & (shares <= 1)).all():
            raise RegimeError("rho", in_short(rho), f"a share from 0 to 1, or one for each of the {rows.n} pipelines")
        return shares[:, None]
    knobs = regime if isinstance(regime, Regime) else _named(regime, rho)
    if isinstance(knobs.overlap, tuple):
        for group in rows.groups():
            if len(knobs.overlap) != group.d.shape[1]:
                found = f"{len(knobs.overlap)} values for {group.d.shape[1]} links"
                raise RegimeError("overlap", found, "one number, or one for each link")
    return np.atleast_2d(floats("overlap", knobs.overlap)) if knobs.communication else None


def _named(regime: str, rho: Any) -> Regime:
    """The named regime; a wrong share is told at ``rho``, where the user wrote it."""
    try:
        return named(regime, rho)
    except RegimeError as error:
        raise RegimeError("rho" if error.place == "overlap" else error.place, error.found, error.allowed) from None
