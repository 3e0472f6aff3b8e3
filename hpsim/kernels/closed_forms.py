"""The closed forms of :mod:`hpsim.formulas`, many pipelines at a time, in the same order of operations.

``tau`` (blocks, S, LANES); ``d``, ``latency`` (blocks, S-1, LANES); ``overlap`` (blocks, S-1 or 1, LANES). Every
makespan but GPipe's is a line in the number of micro-batches, so that two numbers a pipeline stand for all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hpsim.kernels._jit import kernel

Array = np.ndarray[Any, Any]

N_SUMMARIES = 6
TAU_MAX, TAU_SUM, D_SUM, SIGMA_MAX, BIAS, HEADROOM = range(N_SUMMARIES)


@kernel
def _add_up(times: Array, out: Array) -> None:
    """``out[lane]`` = the sum of ``times[:, lane]``, from the first to the last."""
    for lane in range(out.shape[0]):
        out[lane] = 0.0
    for s in range(times.shape[0]):
        for lane in range(out.shape[0]):
            out[lane] += times[s, lane]


@kernel
def fill_times(tau: Array, d: Array, latency: Array, out: Array) -> None:
    """``out`` (blocks, LANES) = ``sum(tau) + sum(d) + sum(latency)``: Theorems 1 to 3 at M = 1."""
    links, extra = np.empty(tau.shape[2]), np.empty(tau.shape[2])
    for block in range(tau.shape[0]):
        _add_up(tau[block], out[block])
        _add_up(d[block], links)
        _add_up(latency[block], extra)
        for lane in range(tau.shape[2]):
            out[block, lane] = out[block, lane] + links[lane] + extra[lane]


@kernel
def slopes(tau: Array, d: Array, overlap: Array, out: Array) -> None:
    """``out`` (blocks, LANES) = ``max(tau[s] + (1 - overlap[s])·d[s])``, the last stage without a transfer."""
    last = tau.shape[1] - 1
    per_link = overlap.shape[1] > 1
    for block in range(tau.shape[0]):
        for lane in range(tau.shape[2]):
            out[block, lane] = tau[block, last, lane]
        for s in range(last):
            share = s if per_link else 0
            for lane in range(tau.shape[2]):
                held = tau[block, s, lane] + (1.0 - overlap[block, share, lane]) * d[block, s, lane]
                out[block, lane] = held if held > out[block, lane] else out[block, lane]


@kernel
def rendezvous_slopes(tau: Array, d: Array, latency: Array, out: Array) -> None:
    """``out`` (blocks, LANES) = ``max(d[s-1] + latency[s-1] + tau[s] + d[s])``, with nothing beyond the ends."""
    last = tau.shape[1] - 1
    for block in range(tau.shape[0]):
        for lane in range(tau.shape[2]):
            out[block, lane] = 0.0
        for s in range(last + 1):
            for lane in range(tau.shape[2]):
                held = tau[block, s, lane]
                if s < last:
                    held = held + d[block, s, lane]
                if s > 0:
                    held = held + (d[block, s - 1, lane] + latency[block, s - 1, lane])
                out[block, lane] = held if held > out[block, lane] else out[block, lane]


@kernel
def gpipe(tau_max: Array, n_stages: int, counts: Array, out: Array) -> None:
    """``out[j]`` = ``(S + counts[j] - 1)·tau_max``; ``tau_max`` (blocks, LANES), ``out`` (n, blocks, LANES)."""
    for j in range(out.shape[0]):
        slots = float(counts[j] + (n_stages - 1))
        for block in range(out.shape[1]):
            for lane in range(out.shape[2]):
                out[j, block, lane] = slots * tau_max[block, lane]


@kernel
def summaries(tau: Array, d: Array, out: Array) -> None:
    """What characterises each pipeline, ``out`` (6, blocks, LANES).

    In this order: the largest ``tau``; ``sum(tau)``; ``sum(d)``; the largest ``tau[s] + d[s]``; the homogeneity bias
    ``sum(tau_max - tau[s])``; the least ``tau_max - (tau[s] + d[s])`` over the links, with the exact sign (TwoSum,
    Knuth, as in :func:`hpsim.vectors.headroom`), infinite without links.
    """
    last = tau.shape[1] - 1
    for block in range(tau.shape[0]):
        tau_max, sigma_max = out[TAU_MAX, block], out[SIGMA_MAX, block]
        bias, headroom = out[BIAS, block], out[HEADROOM, block]
        _add_up(tau[block], out[TAU_SUM, block])
        _add_up(d[block], out[D_SUM, block])
        for lane in range(tau.shape[2]):
            tau_max[lane] = tau[block, last, lane]
            sigma_max[lane] = tau[block, last, lane]
            bias[lane] = 0.0
            headroom[lane] = np.inf
        for s in range(last):
            for lane in range(tau.shape[2]):
                time, held = tau[block, s, lane], tau[block, s, lane] + d[block, s, lane]
                tau_max[lane] = time if time > tau_max[lane] else tau_max[lane]
                sigma_max[lane] = held if held > sigma_max[lane] else sigma_max[lane]
        for s in range(last + 1):
            for lane in range(tau.shape[2]):
                bias[lane] += tau_max[lane] - tau[block, s, lane]
        for s in range(last):
            for lane in range(tau.shape[2]):
                time, transfer = tau[block, s, lane], d[block, s, lane]
                rounded = time + transfer
                part = rounded - time
                error = (time - (rounded - part)) + (transfer - part)
                left = (tau_max[lane] - rounded) - error
                headroom[lane] = left if left < headroom[lane] else headroom[lane]
