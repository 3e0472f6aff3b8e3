"""What is computed at every point of a sweep: recurrence, closed form, and the checks between them.

Every closed form of the paper is a line in the number of micro-batches, ``T(M) = T(1) + (M-1)·slope``, so a
batch needs only its fill and slope in each regime; the comparison with the recurrence is one compiled pass over all
points.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hpsim import formulas
from hpsim.kernels import checking
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array, makespans
from hpsim.sweep.sample import Batch
from hpsim.sweep.spec import Sweep

CLOSED_FORM_CHECKS = {"thm1": "free", "thm2": "async", "thm3": "blocking", "partial": "partial"}
SANDWICH = ("async", "partial", "blocking")


@dataclass(frozen=True)
class RegimePoints:
    """A batch of n configurations in one regime, at all numbers of micro-batches; times in units of 1/scale.

    Attributes
    ----------
    makespan : (len(M), n)
        By the recurrence.
    closed : (len(M), n)
        By the closed form.
    """

    makespan: Array
    closed: Array

    @property
    def error(self) -> Array:
        """``|makespan - closed| / closed``, (len(M), n); infinite where it is no number."""
        distance: Array = np.abs(self.makespan - self.closed)
        return np.nan_to_num(distance / self.closed, nan=np.inf, posinf=np.inf) if distance.any() else distance


class Evaluation:
    """A batch simulated in every regime of the sweep, and its checks.

    Attributes
    ----------
    worst : dict of str to float
        Regime → the largest relative error.
    suspect : bool
        Whether any check failed; only then is :meth:`failed` worth its time.
    """

    def __init__(self, sweep: Sweep, batch: Batch) -> None:
        self.sweep = sweep
        self.batch = batch
        self.counts = np.array(sweep.microbatches, dtype=np.int64)
        self.tolerance = 0.0 if sweep.tolerance is None else float(sweep.tolerance)
        self._makespans = {regime: self._recurrence(regime) for regime in sweep.regimes}
        self._lines = self._closed_forms()
        self.worst: dict[str, float] = {}
        self.suspect = False
        self._check()

    def points(self, regime: str) -> RegimePoints:
        """Makespans of ``regime`` as rows, without the lanes left over."""
        n = len(self.batch.ids)
        fill, slope = (lanes.reshape(-1)[:n] for lanes in self._lines[regime])
        makespan = self._makespans[regime].reshape(len(self.counts), -1)[:, :n]
        return RegimePoints(makespan, fill + (self.counts[:, None] - 1) * slope)

    def failed(self, claim: str) -> Array:
        """Where ``claim`` does not hold, (len(M), n) bool; what is no number fails."""
        if claim in CLOSED_FORM_CHECKS:
            return self.points(CLOSED_FORM_CHECKS[claim]).error > self.tolerance
        order = [self.points(regime).makespan for regime in SANDWICH if regime in self.sweep.regimes]
        above = [~(lower <= upper * (1.0 + self.tolerance)) for lower, upper in pairwise(order)]
        failed: Array = np.logical_or.reduce(above)
        return failed

    def _recurrence(self, regime: str) -> Array:
        """Makespans by the recurrence, (len(M), blocks, LANES)."""
        batch = self.batch
        if regime == "free":
            d = latency = np.zeros_like(batch.d)
        else:
            d, latency = batch.d, batch.latency
        if regime == "partial":
            overlap = batch.shares[:, None]
        else:
            overlap = np.full((len(batch.tau), 1, LANES), 0.0 if regime == "blocking" else 1.0)
        return makespans(batch.tau, d, latency, overlap, self.counts)

    def _closed_forms(self) -> dict[str, tuple[Array, Array]]:
        """Regime → fill and slope of its closed form, (blocks, LANES) each."""
        batch, regimes = self.batch, self.sweep.regimes
        tau, d, latency = (lanes.transpose(0, 2, 1) for lanes in (batch.tau, batch.d, batch.latency))
        lines = {}
        if "free" in regimes:
            lines["free"] = formulas.fill_time(tau), formulas.steady_slope(tau)
        if len(regimes) > len(lines):
            fill = formulas.fill_time(tau, d, latency)
            overlaps = {"async": 1, "blocking": 0, "partial": None if batch.rho is None else batch.rho[:, :, None]}
            for regime, overlap in overlaps.items():
                if regime in regimes:
                    lines[regime] = fill, formulas.steady_slope(tau, d, overlap)
        return lines

    def _check(self) -> None:
        out = np.empty(1)
        checked = {CLOSED_FORM_CHECKS.get(claim) for claim in self.sweep.claims}
        for regime, makespan in self._makespans.items():
            checking.distance_from_line(makespan, *self._lines[regime], self.counts, out)
            self.worst[regime] = float(out[0])
            self.suspect |= regime in checked and self.worst[regime] > self.tolerance
        if "cor5" in self.sweep.claims:
            order = [self._makespans[regime] for regime in SANDWICH if regime in self.sweep.regimes]
            for lower, upper in pairwise(order):
                checking.excess(lower, upper, self.tolerance, out)
                self.suspect |= bool(out[0] > 0)
