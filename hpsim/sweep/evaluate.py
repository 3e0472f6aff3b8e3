"""What is computed at every point of a sweep: recurrence, closed form, and the checks between them.

Every closed form of the paper is a line in the number of micro-batches, so a batch needs only its fill and its slope in
each regime; the comparison with the recurrence is one compiled pass over all points.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from hpsim import formulas
from hpsim.event_lanes import makespans_in
from hpsim.kernels import checking, closed_forms
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array
from hpsim.regime import named
from hpsim.sweep import knobs
from hpsim.sweep.file.checks import CHECKS
from hpsim.sweep.file.knob_regime import KnobRegime
from hpsim.sweep.sample import Batch
from hpsim.sweep.spec import Sweep
from hpsim.sweep.statements import decided

SANDWICH = ("async", "partial", "blocking")


class Evaluation:
    """A batch simulated in every regime of the sweep, and its checks.

    Arrays are (len(M), blocks, LANES), times in units of 1/scale; the lanes left over hold nothing of interest.

    Attributes
    ----------
    counts : (len(M),) int64
        Numbers of micro-batches.
    makespan : dict of str to array
        Regime → makespans by the recurrence.
    worst : dict of str to float
        Regime that has a closed form → the largest relative distance from it; infinite where a makespan is no number.
    decided : dict of str to Decided
        Claim that is a statement → where it fails, and at how many points it is undefined.
    suspect : bool
        Whether any check failed; only then is :meth:`failed` worth its time.
    """

    def __init__(self, sweep: Sweep, batch: Batch) -> None:
        self.sweep = sweep
        self.batch = batch
        self.counts = np.array(sweep.microbatches, dtype=np.int64)
        self.tolerance = 0.0 if sweep.tolerance is None else float(sweep.tolerance)
        self.makespan: dict[str, Array] = {}
        self._lines: dict[str, tuple[Array, Array]] = {}
        self._fills: dict[bool, Array] = {}
        for regime in sweep.regimes:
            if isinstance(regime, KnobRegime):
                self.makespan[regime.name] = knobs.run(sweep, regime, batch)
            else:
                self._simulate(regime)
        self.worst = {regime: self._distance(regime) for regime in self._lines}
        self.decided = {text: decided(sweep, claim, batch) for text, claim in sweep.statements.items()}
        self.suspect = any(self._gate(claim) for claim in sweep.claims)

    def closed(self, regime: str) -> Array:
        """Makespans by the closed form; the recurrence's own array where they are equal throughout."""
        if self.worst[regime] == 0.0:
            return self.makespan[regime]
        closed: Array = formulas.on_line(*self._lines[regime], self.counts[:, None, None])
        return closed

    def error(self, regime: str) -> Array:
        """``|makespan - closed| / closed``; infinite where it is no number."""
        closed = self.closed(regime)
        distance: Array = np.abs(self.makespan[regime] - closed)
        if self.worst[regime] == 0.0:
            return distance
        relative = np.divide(distance, closed, out=np.zeros_like(distance), where=distance != 0.0)
        return np.nan_to_num(relative, nan=np.inf, posinf=np.inf)

    def failed(self, claim: str) -> Array:
        """Where ``claim`` does not hold, (n, len(M)) bool; what is no number fails."""
        if claim in self.decided:
            return self.decided[claim].failed
        if claim == "cor5":
            pairs = pairwise(self._sandwich())
            failed = np.logical_or.reduce([~(low <= high * (1.0 + self.tolerance)) for low, high in pairs])
        else:
            failed = self.error(CHECKS[claim][0]) > self.tolerance
        rows: Array = failed.reshape(len(self.counts), -1)[:, : len(self.batch.ids)].T
        return rows

    def _simulate(self, regime: str) -> None:
        """Recurrence and line of one regime."""
        batch = self.batch
        rules = named(regime, 1)  # the shares of `partial` are the batch's own
        d, latency = batch.d, batch.latency
        if not rules.communication:
            d = latency = np.zeros_like(batch.d)
        if rules.communication not in self._fills:
            self._fills[rules.communication] = self._of_each(closed_forms.fill_times, batch.tau, d, latency)
        shares = batch.rho if regime == "partial" else None
        if shares is None:
            shares = np.full((len(batch.tau), LANES), rules.overlap, dtype=np.float64)
        overlap = shares[:, None]
        self.makespan[regime] = makespans_in(batch.tau, batch.d, batch.latency, rules, self.counts, overlap)
        if rules.is_chain:
            slope = self._of_each(closed_forms.slopes, batch.tau, d, overlap)
        else:
            slope = self._of_each(closed_forms.rendezvous_slopes, batch.tau, d, latency)
        self._lines[regime] = self._fills[rules.communication], slope

    def _of_each(self, closed_form: Callable[..., None], *times: Array) -> Array:
        """What a kernel of closed forms says of each configuration, (blocks, LANES)."""
        out = np.empty((len(self.batch.tau), LANES))
        closed_form(*times, out)
        return out

    def _distance(self, regime: str) -> float:
        out = np.empty(1)
        checking.distance_from_line(self.makespan[regime], *self._lines[regime], self.counts, out)
        return float(out[0])

    def _gate(self, claim: str) -> bool:
        """Whether ``claim`` may fail somewhere; quick, and never False where :meth:`failed` finds something."""
        if claim in self.decided:
            return bool(self.decided[claim].failed.any())
        if claim != "cor5":
            return self.worst[CHECKS[claim][0]] > self.tolerance
        out = np.empty(1)
        for low, high in pairwise(self._sandwich()):
            checking.excess(low, high, self.tolerance, out)
            if out[0] > 0.0:
                return True
        return False

    def _sandwich(self) -> list[Array]:
        return [self.makespan[regime] for regime in SANDWICH if regime in self.makespan]
