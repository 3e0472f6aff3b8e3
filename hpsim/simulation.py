"""Many pipelines → makespans, by the recurrences, in compiled SIMD lanes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hpsim.errors import PipelineError, RegimeError
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array, blocks_for, makespans, pack
from hpsim.processors import available_cpus
from hpsim.regime import Regime, named
from hpsim.rows import Rows, floats
from hpsim.vectors import counted, in_short

SMALL = 4_000_000  # cells below which a second thread costs more than it brings


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
    The recurrences are (1) and (2) of the paper and their blend for partial overlap (Section 9).

    Examples
    --------
    >>> simulate([[0.5, 1, 1, 5]], M=[1, 8], regime="free")
    array([[ 7.5, 42.5]])
    """
    stops, inverse = _microbatches(M)
    rows = Rows.read(tau, d, latency)
    overlap = _overlap(regime, rho, rows.n)
    if overlap is None:
        rows, overlap = rows.without_communication(), np.ones((1, 1))
    threads = _threads(workers)
    out = np.empty((rows.n, len(stops)))
    for where, tau_rows, d_rows, latency_rows in rows.groups():
        share = overlap if len(overlap) == 1 else overlap[where]
        _check_links(share, d_rows.shape[1])
        out[where] = _run(tau_rows, d_rows, latency_rows, share, stops, threads)
    return out[:, inverse] if np.ndim(M) else out[:, 0]


def _run(tau: Array, d: Array, latency: Array, overlap: Array, stops: Array, threads: int) -> Array:
    """Makespans (n, len(stops)) of rows of equal S, the blocks shared out among threads."""
    n = len(tau)
    overlap = np.broadcast_to(overlap, (n, overlap.shape[1]))

    def part(first: int) -> Array:
        last = min(first + step, n)
        lanes = [pack(rows[first:last]) for rows in (tau, d, latency, overlap)]
        found = makespans(lanes[0], lanes[1], lanes[2], lanes[3], stops)
        return found.reshape(len(stops), -1)[:, : last - first].T

    if tau.size * int(stops[-1]) < SMALL:
        threads = 1
    step = -(-blocks_for(n) // threads) * LANES
    if step >= n:
        return part(0)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(part, range(0, n, step))))


def _microbatches(M: Any) -> tuple[Array, Array]:
    """The distinct numbers of micro-batches, ascending, and where each of ``M`` stands among them."""
    if np.ndim(M) > 1 or np.size(M) == 0:
        raise PipelineError("M", in_short(M), "a whole number of micro-batches, or a list of them, for example [1, 8]")
    counts = [counted(m) for m in np.atleast_1d(np.asarray(M, dtype=object))]
    if max(counts) >= 2**53:
        raise PipelineError("M", in_short(M), "at most 2**53 micro-batches; closed forms take any number")
    stops, inverse = np.unique(np.array(counts, dtype=np.int64), return_inverse=True)
    return stops, inverse


def _overlap(regime: str | Regime, rho: Any, n: int) -> Array | None:
    """The overlapped share: (1, 1), (1, S-1) over links, or (n, 1) over pipelines; None without communication."""
    if isinstance(regime, Regime):
        if rho is not None:
            raise RegimeError("rho", f"{in_short(rho)} beside a Regime", "rho only with regime='partial'")
    elif rho is not None and regime != "partial":
        raise RegimeError("rho", f"{in_short(rho)} with regime {in_short(regime)}", "rho only with regime='partial'")
    elif np.ndim(rho):
        shares = floats("rho", rho)
        if shares.shape != (n,) or not ((shares >= 0) & (shares <= 1)).all():
            raise RegimeError("rho", in_short(rho), f"a share from 0 to 1, or one for each of the {n} pipelines")
        return shares[:, None]
    else:
        regime = named(regime, rho)
    return np.atleast_2d(floats("overlap", regime.overlap)) if regime.communication else None


def _check_links(overlap: Array, links: int) -> None:
    if overlap.shape[1] not in (1, links):
        raise RegimeError("overlap", f"{overlap.shape[1]} values for {links} links", "one, or one for each link")


def _threads(workers: int | None) -> int:
    if workers is None:
        return available_cpus()
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise PipelineError("workers", in_short(workers), "a number of threads, at least 1")
    return workers
