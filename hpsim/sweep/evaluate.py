"""What is computed at every point of a sweep: recurrence, closed form, and the checks between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hpsim import formulas
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array, makespans
from hpsim.sweep.sample import Batch
from hpsim.sweep.spec import Sweep

CLOSED_FORM_CHECKS = {"thm1": "free", "thm2": "async", "thm3": "blocking", "partial": "partial"}


@dataclass(frozen=True)
class Evaluation:
    """A batch evaluated at all numbers of micro-batches; arrays (len(M), n), times in units of 1/scale.

    Attributes
    ----------
    makespan, closed : dict of str to array
        Regime → makespans by the recurrence, and by the closed form.
    error : dict of str to array
        Regime → ``|makespan - closed| / closed``.
    failed : dict of str to array
        Claim → where it does not hold (bool).
    """

    makespan: dict[str, Array]
    closed: dict[str, Array]
    error: dict[str, Array]
    failed: dict[str, Array]


def evaluate(sweep: Sweep, batch: Batch) -> Evaluation:
    """Simulate ``batch`` in every regime of the sweep and make the sweep's checks."""
    counts = np.array(sweep.microbatches, dtype=np.int64)
    n = len(batch.ids)
    makespan, closed, error = {}, {}, {}
    for regime in sweep.regimes:
        makespan[regime] = _rows(_recurrence(batch, regime, counts), n)
        closed[regime] = _rows(_closed_form(batch, regime, counts[:, None, None]), n)
        error[regime] = _relative(makespan[regime], closed[regime])
    return Evaluation(makespan, closed, error, _failures(sweep, makespan, error))


def _rows(lanes: Array, n: int) -> Array:
    return lanes.reshape(len(lanes), -1)[:, :n]


def _recurrence(batch: Batch, regime: str, counts: Array) -> Array:
    """Makespans by the recurrence, (len(M), blocks, LANES)."""
    overlap = np.full((len(batch.tau), 1, LANES), 0.0 if regime == "blocking" else 1.0)
    if regime == "partial":
        assert batch.rho is not None
        overlap = batch.rho[:, None]
    if regime == "free":
        no_links = np.zeros_like(batch.d)
        return makespans(batch.tau, no_links, no_links, overlap, counts)
    return makespans(batch.tau, batch.d, batch.latency, overlap, counts)


def _closed_form(batch: Batch, regime: str, M: Array) -> Array:
    """Makespans by Theorem 1, 2, 3 or the form for partial overlap, (len(M), blocks, LANES)."""
    tau, d, latency = (lanes.transpose(0, 2, 1) for lanes in (batch.tau, batch.d, batch.latency))
    form: Array
    match regime:
        case "free":
            form = formulas.makespan_free(tau, M)
        case "async":
            form = formulas.makespan_async(tau, M, d, latency)
        case "blocking":
            form = formulas.makespan_blocking(tau, M, d, latency)
        case _:
            assert batch.rho is not None
            form = formulas.makespan_partial(tau, M, d, batch.rho[:, :, None], latency)
    return form


def _relative(makespan: Array, closed: Array) -> Array:
    error: Array = np.abs(makespan - closed)
    return error / closed if error.any() else error


def _failures(sweep: Sweep, makespan: dict[str, Array], error: dict[str, Array]) -> dict[str, Array]:
    """Where each claim fails: any difference in exact arithmetic, one beyond the tolerance otherwise."""
    tolerance = 0.0 if sweep.tolerance is None else float(sweep.tolerance)
    failed = {}
    for claim in sweep.claims:
        if claim in CLOSED_FORM_CHECKS:
            failed[claim] = ~(error[CLOSED_FORM_CHECKS[claim]] <= tolerance)
        else:
            order = [makespan[regime] for regime in ("async", "partial", "blocking") if regime in makespan]
            failed[claim] = np.zeros(order[0].shape, dtype=bool)
            for lower, upper in pairwise(order):
                failed[claim] |= ~(lower <= (upper if not tolerance else upper * (1 + tolerance)))
    return failed
