"""Many pipelines → makespans, by the recurrences, in compiled SIMD lanes.

The module is not called ``simulate``: it would hide the function of that name in the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Event
from typing import Any

import numpy as np

from hpsim import event_lanes
from hpsim.crew import on_threads
from hpsim.errors import PipelineError, RegimeError
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array, blocks_for, makespans_of_rows
from hpsim.processors import GIVE_UP, Abandoned
from hpsim.processors import threads as number_of_threads
from hpsim.regime import Regime, named
from hpsim.rows import Group, Rows, absent, floats
from hpsim.vectors import counted, in_short, is_array, plain

SMALL = 4_000_000  # cells below which a second thread costs more than it brings
PART = 8_000_000  # cells, about a millisecond: threads that take the next part too often wait for each other
PARTS_PER_THREAD = 16  # so that no thread waits long for the last one, whatever else the machine does
MOST_MICROBATCHES = 2**53

_COUNTS = "whole numbers from 1 to 2**53, for example [1, 8]; closed forms take more"


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
        ``"free"``, ``"async"``, ``"blocking"``, ``"partial"``, ``"rendezvous"``, or a :class:`~hpsim.regime.Regime`
        with any knobs; those that are lists fit pipelines of one length only.
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
    (:func:`hpsim.reference.chain.partial`) and for places, channels and windows (:mod:`hpsim.event_graph`). Memory does
    not grow with ``M``; a limit of many places, channels or a wide window takes room for as many micro-batches.

    Examples
    --------
    >>> simulate([[0.5, 1, 1, 5]], M=[1, 8], regime="free")
    array([[ 7.5, 42.5]])
    >>> simulate([[2, 5]], d=[[7]], M=[1, 2, 3], regime=Regime(channels=1))
    array([[14., 21., 28.]])
    """
    stops, inverse = _microbatches(M)
    rows = Rows.shaped(tau, d, latency)
    knobs, overlap = _knobs(regime, rho, rows)
    if not knobs.communication:
        rows.check()  # the links too, which from here on are left out
        rows = rows.without_communication()
    threads = number_of_threads(workers)
    out = np.empty((rows.n, len(stops)))
    for group in rows.groups():
        target = out if isinstance(group.where, slice) else np.empty((len(group.tau), len(stops)))
        if not _run(group, knobs, overlap if len(overlap) == 1 else overlap[group.where], stops, threads, target):
            rows.check()
        if target is not out:
            out[group.where] = target
    if not out.max() < np.inf:
        row = int(np.argmin(np.isfinite(out).all(axis=1)))
        raise PipelineError(f"tau[{row}]", "a makespan beyond float64", "shorter times, or fewer micro-batches")
    return out[:, 0] if inverse is None else out[:, inverse]


def _run(group: Group, knobs: Regime, overlap: Array, stops: Array, threads: int, out: Array) -> bool:
    """Fill ``out`` (n, len(stops)) with the makespans of pipelines of equal S, shared out among threads.

    The kernels check the times on their way; False: they have met one that is none.
    """
    n = len(group.tau)
    d, latency = (links[:, :0] if absent(links) else links for links in (group.d, group.latency))
    stopped = Event()
    run_rows = makespans_of_rows if knobs.is_chain else partial(event_lanes.makespans_of_rows, regime=knobs)
    tables = group.tau, d, latency, overlap

    def work() -> bool:
        """Part after part, until none is left for any thread."""
        for first in upcoming:
            part = slice(first, first + step)
            rows = [_for_kernels(table if len(table) == 1 else table[part]) for table in tables]
            try:
                right = run_rows(rows, stops, out[part], stopped)
            except Abandoned:
                if GIVE_UP.is_set():
                    raise
                right = False  # so says another thread
            if not right:
                stopped.set()
                return False
        return True

    cells, blocks = group.tau.size * int(stops[-1]), blocks_for(n)
    if not knobs.is_chain:
        cells *= event_lanes.COST
    threads = 1 if cells < SMALL else min(threads, blocks)
    parts = threads * min(PARTS_PER_THREAD, max(1, cells // (PART * threads)))
    step = -(-blocks // parts) * LANES
    upcoming = iter(range(0, n, step))
    return all(on_threads(work, threads, stopped))


def _for_kernels(rows: Array) -> Array:
    """``rows``, copied where the kernels are not compiled for such an array: read-only, or not in C order."""
    return np.require(rows, np.float64, ["C", "A", "W"])


def _microbatches(M: Any) -> tuple[Array, Array | None]:
    """The distinct numbers of micro-batches, ascending, and where each of ``M`` stands among them; None: one number."""
    M = plain("M", M, _COUNTS)
    several = is_array(M) or (isinstance(M, Sequence) and not isinstance(M, (str, bytes)))
    given = list(M) if several else [M]
    counts = [] if any(is_array(m) for m in given) else [int(counted(m)) for m in given]
    if not counts or max(counts) > MOST_MICROBATCHES:
        raise PipelineError("M", in_short(M), _COUNTS)
    stops = sorted(set(counts))  # np.unique would take longer than the rest of a small run
    places = {m: j for j, m in enumerate(stops)}
    inverse = np.array([places[m] for m in counts]) if several else None
    return np.array(stops, dtype=np.int64), inverse


def _knobs(regime: str | Regime, rho: Any, rows: Rows) -> tuple[Regime, Array]:
    """The regime, and the overlapped share: (1, 1), (1, S-1) over links, or (N, 1) over pipelines.

    Raises
    ------
    RegimeError
        Also when a knob is a list of another length than some pipeline has stages or links.
    """
    rho = plain("rho", rho, "a share from 0 to 1, or one for each pipeline", RegimeError)
    if rho is not None and not (isinstance(regime, str) and regime == "partial"):
        raise RegimeError("rho", f"{in_short(rho)} with regime {in_short(regime)}", "rho only with regime='partial'")
    if isinstance(regime, str) and regime == "partial" and (is_array(rho) or isinstance(rho, (list, tuple))):
        shares = floats("rho", rho)
        if shares.shape != (rows.n,) or not ((shares >= 0) & (shares <= 1)).all():
            raise RegimeError("rho", in_short(rho), f"a share from 0 to 1, or one for each of the {rows.n} pipelines")
        return Regime(), shares[:, None]
    knobs = regime if isinstance(regime, Regime) else _named(regime, rho)
    if any(isinstance(knob, tuple) for knob in (knobs.overlap, knobs.buffers, knobs.channels)):
        for group in rows.groups():
            n_stages = group.tau.shape[1]
            knobs.overlap_of(n_stages - 1)
            knobs.buffers_of(n_stages)
            knobs.channels_of(n_stages - 1)
    return knobs, np.atleast_2d(floats("overlap", knobs.overlap))


def _named(regime: str, rho: Any) -> Regime:
    """The named regime; a wrong share is told at ``rho``, where the user wrote it."""
    try:
        return named(regime, rho)
    except RegimeError as error:
        raise RegimeError("rho" if error.place == "overlap" else error.place, error.found, error.allowed) from None
