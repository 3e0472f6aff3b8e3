"""Limited places, channels and windows in SIMD lanes: the plan of a regime, and runs in calls of bounded time.

The counterpart of :mod:`hpsim.lanes` for regimes that are no chains; the recurrence is in
:mod:`hpsim.kernels.event_graph`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event

import numpy as np

from hpsim import lanes
from hpsim.kernels import event_graph as kernel
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array
from hpsim.processors import Abandoned
from hpsim.regime import Regime

COST = 4  # a cell takes as long as so many of the chain, roughly
BLOCKS = 64  # laid out at a time, so that their times stay in the cache


@dataclass(frozen=True)
class Limits:
    """What a regime limits for pipelines of some S, in a run of some length; what never binds in it is no limit.

    Attributes
    ----------
    places, channels : list of S, of S-1 int, 0 for no limit
        How many micro-batches back the one is that has to leave a stage, or a link, before the next departs.
    window : int, 0 for no limit
        Micro-batches in flight.
    feedback : float
        Time from the last stage back to the first.
    """

    places: list[int]
    channels: list[int]
    window: int
    feedback: float

    @staticmethod
    def of(regime: Regime, n_stages: int, microbatches: int) -> Limits:
        """The limits of ``regime`` that can bind within so many micro-batches.

        Raises
        ------
        RegimeError
            When a knob is a list of another length than there are stages or links, or a limit is too wide to keep in
            memory all micro-batches that it has to remember.
        """
        lags = regime.lags(n_stages, microbatches)
        return Limits(lags["buffers"], lags["channels"], lags["window"][0], float(regime.feedback))

    @property
    def depths(self) -> list[int]:
        """Rows of the ring of each stage: one more than the longest lag into it, and never the one just written."""
        rows = [max(2, b + 1, c + 1) for b, c in zip(self.places, [*self.channels, 0], strict=True)]
        rows[-1] = max(rows[-1], self.window + 1)
        return rows

    @property
    def size(self) -> int:
        """Elements of the kernel's state."""
        return kernel.FIRST_RING + sum(self.depths) * kernel.ROW

    def plan(self, holding: Array, done: int) -> Array:
        """The kernel's plan after ``done`` micro-batches; ``holding`` (S-1,) bool: links that hold their sender."""
        depths = self.depths
        n_stages = len(depths)
        ends = kernel.FIRST_RING + kernel.ROW * np.cumsum(depths)
        firsts = ends - kernel.ROW * np.array(depths)

        def row(s: int, lag: int) -> int:
            return int(firsts[s]) + (done - lag) % depths[s] * kernel.ROW

        plan = np.zeros((n_stages + 1, 8), dtype=np.uint64)
        plan[:-1, kernel.RING], plan[:-1, kernel.RING_END] = firsts, ends
        for s in range(n_stages):
            plan[s, kernel.NOW] = row(s, 0)
        for s, c in enumerate(self.channels):
            plan[s, kernel.KIND] = kernel.CHANNELS if c else kernel.HOLDING if holding[s] else kernel.PLAIN
            plan[s, kernel.SENT] = row(s, c)
            if self.places[s + 1]:
                plan[s, kernel.PLACES], plan[s, kernel.PLACES_END] = firsts[s + 1], ends[s + 1]
                plan[s, kernel.PLACE] = row(s + 1, self.places[s + 1])
        if self.window:
            ring = int(firsts[-1]), int(ends[-1]), row(n_stages - 1, self.window)
            plan[-1, [kernel.RING, kernel.RING_END, kernel.NOW]] = np.array(ring) + LANES
        return plan


def makespans(
    tau: Array,
    d: Array,
    latency: Array,
    regime: Regime,
    stops: Array,
    stopped: Event | None = None,
    overlap: Array | None = None,
) -> Array:
    """Makespans in a regime, by its event graph.

    Parameters
    ----------
    tau : (blocks, S, LANES)
        Service times.
    d, latency : (blocks, S-1, LANES)
        Transfer times, and travel times that occupy nothing.
    regime : Regime
        The knobs, the same for all; its feedback is in the unit of ``tau``.
    stops : (n,) int64, ascending, at least 1
        Numbers of micro-batches.
    stopped : threading.Event, optional
        Set by another thread to give up between two calls.
    overlap : (blocks, 1, LANES) or (blocks, S-1, LANES), optional
        Share of each transfer that does not hold its sender; by default that of ``regime``. Links with channels hold
        nobody.

    Returns
    -------
    (n, blocks, LANES) array
        ``out[j]``: the completion of micro-batch ``stops[j] - 1`` at the last stage.

    Raises
    ------
    RegimeError
        When a knob is a list of another length than there are stages or links.
    Abandoned
        When ``stopped`` or :data:`hpsim.processors.GIVE_UP` was set.
    """
    blocks, n_stages, _ = tau.shape
    links = n_stages - 1
    limits = Limits.of(regime, n_stages, int(stops[-1]))
    if overlap is None:
        overlap = np.array([float(share) for share in regime.overlap_of(links)])[None, :, None]
    if not regime.communication:
        d = latency = np.zeros_like(d)
    limited = np.array(limits.channels, dtype=bool)[:, None]
    times = _aligned(blocks, n_stages, 3, LANES)
    times[:] = 0.0
    times[:, :, 0] = tau
    times[:, :-1, 1] = np.where(limited, latency, d + latency)
    times[:, :-1, 2] = np.where(limited, d, (1.0 - overlap) * d)
    holding: Array = np.any(times[:, :-1, 2], axis=(0, 2))
    out = np.empty((len(stops), blocks, LANES))
    step = max(1, _blocks_per_call(n_stages, stops))
    for first in range(0, blocks, step):
        part = slice(first, first + step)
        out[:, part] = _run(times[part].reshape(-1, n_stages, kernel.ROW), limits, holding, stops, stopped)
    return out


def makespans_in(
    tau: Array, d: Array, latency: Array, regime: Regime, stops: Array, overlap: Array | None = None
) -> Array:
    """Makespans in any regime: by the chain recurrence where that is all there is, else by :func:`makespans`.

    Parameters, result and errors are those of :func:`makespans`.
    """
    if not regime.is_chain:
        return makespans(tau, d, latency, regime, stops, overlap=overlap)
    if not regime.communication:
        d = latency = np.zeros_like(d)
    if overlap is None:
        shares = [float(share) for share in regime.overlap_of(tau.shape[1] - 1)] or [1.0]
        overlap = np.empty((len(tau), len(shares), LANES))
        overlap[:] = np.array(shares)[:, None]
    return lanes.makespans(tau, d, latency, overlap, stops)


def makespans_of_rows(
    rows: Sequence[Array], stops: Array, out: Array, stopped: Event | None = None, *, regime: Regime
) -> bool:
    """:func:`hpsim.lanes.makespans_of_rows` in a regime that is no chain.

    Parameters
    ----------
    rows, stops, out, stopped
        As there; the overlapped shares are those in ``rows``.
    regime : Regime
        As for :func:`makespans`, which has the errors too.

    Returns
    -------
    bool
        False when a time is negative or no number, or a pipeline serves nobody; then ``out`` is not filled.
    """
    n, n_stages = rows[0].shape
    limits = Limits.of(regime, n_stages, int(stops[-1]))
    held: Array = np.any(rows[3] != 1.0, axis=0) if rows[1].size else np.zeros(1, dtype=bool)
    holding = np.broadcast_to(held, n_stages - 1)
    plan = limits.plan(holding, 0)
    step = max(1, min(BLOCKS, _blocks_per_call(n_stages, stops))) * LANES
    for first in range(0, n, step):
        part = slice(first, first + step)
        tau, d, latency, overlap = (table if len(table) == 1 else table[part] for table in rows)
        times = _aligned(lanes.blocks_for(len(tau)), n_stages, kernel.ROW)
        if not kernel.lay_out_rows(tau, d, latency, overlap, plan, times):
            return False
        found = _run(times, limits, holding, stops, stopped)
        out[part] = lanes.unpack(found.transpose(1, 0, 2), len(tau))
    return True


def _run(times: Array, limits: Limits, holding: Array, stops: Array, stopped: Event | None) -> Array:
    """Makespans (len(stops), blocks, LANES): several blocks in one call, or one block in one or more."""
    blocks, n_stages, _ = times.shape
    times[:, -1, LANES : 2 * LANES] = limits.feedback
    state = _aligned(limits.size)
    out = np.empty((len(stops), blocks, LANES))
    for done, first, last, segment in lanes.segments(stops, COST * blocks * n_stages * LANES):
        if lanes.given_up(stopped):
            raise Abandoned
        found = np.empty((len(segment), blocks, LANES))
        kernel.advance(times, limits.plan(holding, done), state, done, segment, found)
        out[first:last] = found[: last - first]
    return out


def _blocks_per_call(n_stages: int, stops: Array) -> int:
    """How many blocks one call may run to the end; 0: not even one."""
    return int(lanes.CELLS_PER_CALL // (COST * n_stages * LANES * int(stops[-1])))


def _aligned(*shape: int) -> Array:
    """An array of floats, not filled, at a whole number of cache lines."""
    size = math.prod(shape)
    room = np.empty(size + 8)
    first = -room.ctypes.data // room.itemsize % 8
    return room[first : first + size].reshape(shape)
