"""Limited places, channels and windows, many pipelines at a time.

For micro-batch ``m`` at stage ``s``, where stage s+1 has ``b`` input places and the link to it ``c`` channels:

    start   B = max(arrival, R[m-1][s])            finish  F = B + service[s]
    depart  P = max(F, R[m-b-1][s+1])              sent    E = max(P, E[m-c][s]) + d[s]
    release R = P + hold[s]                        arrival at s+1 = E + latency[s]
    arrival at 0 = F[m-W][S-1] + feedback with a window W, and 0 before it

(the event graph of :mod:`hpsim.event_graph`; the source is our design, and every cycle of waiting has one of these arcs
with a lag). A limit that is absent leaves out its maximum. With channels nothing is held, and P = R.

Pipelines are put side by side as in :mod:`hpsim.kernels.chain`: blocks of LANES, the innermost loop over the lanes. The
knobs are the same in all lanes and come at run time, in a *plan*, so one compiled kernel serves every S and every
combination of limits. A stage keeps its last few micro-batches in a ring of rows, as many as the longest lag into it:

    row of m at s = [ R | arrival at s+1 | E ], each LANES wide

All that is written in one step lies in one row, next to each other, and the row differs from all that are read, so that
LLVM needs few checks before it vectorises. The last stage travels back: its "arrival at s+1" is F + feedback. Rows not
yet written are 0, and so is what stands for an absent limit: nothing before micro-batch 0 delays anything. Positions in
``state`` are unsigned, which spares a check for negative ones, and at ZEROS it is 0 throughout.

Arguments of ``advance``
------------------------
times : (blocks, S, 3·LANES)
    Service time; travel time to the next stage: d + latency, or latency alone where there are channels; hold, or d
    where there are channels. Of the last stage the feedback, and no hold.
plan : (S+1, 8) uint64
    Of each stage: its KIND; first element and end of its ring; the same of the ring in which its places are found; the
    rows of this micro-batch, of ``m-b-1`` there, and of ``m-c``. Where nothing limits, ring and row are ZEROS.
    The last row is of the window: as NOW the arrival part of the row of ``m-W``, and the ring of such parts.
state : (size,)
    The rings of one block. With ``done`` 0 it is cleared for every block; a run of several calls has one block a call.
    Half as fast again with ``times`` and ``state`` aligned to 64 bytes.
done : int
    Micro-batches done so far.
stops : (n,) int64, ascending, > done
    Numbers of micro-batches after which to record.
out : (n, blocks, LANES)
    Makespan after ``stops[j]`` micro-batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hpsim.kernels._jit import kernel
from hpsim.kernels.chain import LANES

ROW = 3 * LANES
ZEROS, FIRST_RING = 0, LANES  # positions in ``state``

KIND, RING, RING_END, PLACES, PLACES_END, NOW, PLACE, SENT = range(8)  # columns of the plan
PLAIN, HOLDING, CHANNELS = range(3)  # kinds of link: nobody is held, the sender is, limited channels

_WIDTH = np.uint64(LANES)
_TWICE = np.uint64(2 * LANES)
_ROW = np.uint64(ROW)

Array = np.ndarray[Any, Any]


@kernel
def lay_out_rows(tau: Array, d: Array, latency: Array, overlap: Array, plan: Array, times: Array) -> bool:
    """Fill ``times``, as :func:`advance` takes it, from one row a pipeline; lanes left over and the feedback become 0.

    ``tau`` (n, S); ``d``, ``latency`` (n, S-1), or (n, 0) for none; ``overlap`` (n or 1, S-1 or 1). Returns whether all
    times are such, and every pipeline serves.
    """
    last = tau.shape[1] - 1
    same_row, same_link = overlap.shape[0] == 1, overlap.shape[1] == 1
    times[:] = 0.0
    for row in range(tau.shape[0]):
        block, lane = row // LANES, row % LANES
        share_row = 0 if same_row else row
        served = 0.0
        for s in range(last + 1):
            service = tau[row, s]
            transfer = d[row, s] if s < last and d.shape[1] else 0.0
            extra = latency[row, s] if s < last and latency.shape[1] else 0.0
            if not (0.0 <= service < np.inf and 0.0 <= transfer < np.inf and 0.0 <= extra < np.inf):
                return False
            served += service
            travel, third = extra, transfer
            if s < last and plan[s, KIND] != CHANNELS:
                travel, third = transfer + extra, (1.0 - overlap[share_row, 0 if same_link else s]) * transfer
            times[block, s, lane] = service
            times[block, s, LANES + lane] = travel
            times[block, s, 2 * LANES + lane] = third
        if not served > 0.0:
            return False
    return True


@kernel
def _following(row: np.uint64, first: np.uint64, end: np.uint64) -> np.uint64:
    """The next row of a ring, without a division."""
    row += _ROW
    return row if row < end else first


@kernel
def advance(times: Array, plan: Array, state: Array, done: int, stops: Array, out: Array) -> None:
    """Advance pipelines of any number of stages."""
    n_stages = times.shape[1]
    all_times, limits, at = times.reshape(-1), plan.reshape(-1), plan.copy().reshape(-1)
    back = 8 * n_stages
    for block in range(out.shape[1]):
        at[:] = limits
        if done == 0:
            state[:] = 0.0
        first_time = np.uint64(block * n_stages * ROW)
        for j in range(stops.shape[0]):
            for _ in range(stops[j] - (done if j == 0 else stops[j - 1])):
                came, time = at[back + NOW], first_time
                at[back + NOW] = _following(came, limits[back + RING], limits[back + RING_END])
                for s in range(n_stages):
                    stage = 8 * s
                    first, end = limits[stage + RING], limits[stage + RING_END]
                    now, place = at[stage + NOW], at[stage + PLACE]
                    before = now - _ROW if now > first else end - _ROW
                    at[stage + NOW] = _following(now, first, end)
                    at[stage + PLACE] = _following(place, limits[stage + PLACES], limits[stage + PLACES_END])
                    kind = np.int64(limits[stage + KIND])
                    if kind == HOLDING:
                        for k in range(LANES):
                            lane = np.uint64(k)
                            arrival, free, taken = state[came + lane], state[before + lane], state[place + lane]
                            finish = (arrival if arrival > free else free) + all_times[time + lane]
                            depart = finish if finish > taken else taken
                            state[now + lane] = depart + all_times[time + _TWICE + lane]
                            state[now + _WIDTH + lane] = depart + all_times[time + _WIDTH + lane]
                    elif kind == CHANNELS:
                        sent = at[stage + SENT]
                        at[stage + SENT] = _following(sent, first, end)
                        for k in range(LANES):
                            lane = np.uint64(k)
                            arrival, free, taken = state[came + lane], state[before + lane], state[place + lane]
                            finish = (arrival if arrival > free else free) + all_times[time + lane]
                            depart = finish if finish > taken else taken
                            busy = state[sent + _TWICE + lane]
                            through = (depart if depart > busy else busy) + all_times[time + _TWICE + lane]
                            state[now + lane] = depart
                            state[now + _WIDTH + lane] = through + all_times[time + _WIDTH + lane]
                            state[now + _TWICE + lane] = through
                    else:
                        for k in range(LANES):
                            lane = np.uint64(k)
                            arrival, free, taken = state[came + lane], state[before + lane], state[place + lane]
                            finish = (arrival if arrival > free else free) + all_times[time + lane]
                            depart = finish if finish > taken else taken
                            state[now + lane] = depart
                            state[now + _WIDTH + lane] = depart + all_times[time + _WIDTH + lane]
                    came = now + _WIDTH
                    time += _ROW
            last = came - _WIDTH
            for k in range(LANES):
                out[j, block, k] = state[last + np.uint64(k)]
