"""The claims of a sweep that are statements: decided at every point in lanes, and on Fractions where rounding matters.

So a point counts only when exact arithmetic says that the statement is defined there and fails; where the lanes' own
numbers were exact, Fractions confirm the first failures. Times are in the user's unit, as they were drawn or written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hpsim.claims import exact_algebra
from hpsim.claims.lanes import LaneShares, LaneTimes, decide_lanes
from hpsim.claims.systems import ExactPipeline
from hpsim.claims.tree import Statement
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array, pack, rows_at
from hpsim.regime import Regime
from hpsim.sweep import knobs
from hpsim.sweep.file.exactness import RHO_PARTS
from hpsim.sweep.sample import Batch
from hpsim.sweep.spec import Sweep

MOST_CERTAIN = 32  # failures without any rounding that are decided once more, in a batch


@dataclass(frozen=True)
class Decided:
    """A statement at the points of a batch.

    Attributes
    ----------
    failed : (n, len(M)) bool
        Where it is defined and fails, on Fractions.
    undefined : int
        Points at which it says nothing.
    vanished : int
        Points at which it fails in float64, and holds on Fractions.
    """

    failed: Array
    undefined: int = 0
    vanished: int = 0


def decided(sweep: Sweep, statement: Statement, batch: Batch) -> Decided:
    """Decide ``statement`` at every point of ``batch``."""
    n = len(batch.ids)
    failed = np.zeros((n, len(sweep.microbatches)), dtype=bool)
    own = [sweep.knob_regimes[name] for name in statement.regimes if name in sweep.knob_regimes]
    undefined = vanished = 0
    certain = MOST_CERTAIN
    for regimes, where in knobs.settings(sweep, own, batch):
        part, taken = _Part(sweep, statement, regimes, batch, where).decided(certain)
        certain -= taken
        failed[where] = part.failed
        undefined += part.undefined
        vanished += part.vanished
    return Decided(failed, undefined, vanished)


@dataclass(frozen=True, eq=False)
class _Part:
    """Configurations of a batch, by index in ``where``, that share the knobs of every regime."""

    sweep: Sweep
    statement: Statement
    regimes: Mapping[str, Regime]
    batch: Batch
    where: Array

    def decided(self, most_certain: int) -> tuple[Decided, int]:
        """The statement at the points of this part, and how many certain failures were decided once more."""
        counts = np.array(self.sweep.microbatches, dtype=np.float64)[:, None, None]
        found = decide_lanes(self.statement, self.regimes, [self._times()], counts, self._shares(), margins=False)
        failed, near, known = (self._rows(lanes) for lanes in (found.defined & ~found.truth, found.near, found.defined))
        undefined, vanished = int(np.count_nonzero(~known & ~near)), 0
        certain = np.argwhere(failed & ~near)[:most_certain]  # in lanes every number of these was exact
        for i, j in [*np.argwhere(near), *certain]:
            truth = self._exactly(int(self.where[i]), self.sweep.microbatches[j])
            undefined += truth is None
            vanished += bool(failed[i, j]) and truth is True
            failed[i, j] = truth is False
        return Decided(failed, undefined, vanished), len(certain)

    def _rows(self, lanes: Array) -> Array:
        rows: Array = lanes.reshape(len(lanes), -1)[:, : len(self.where)].T.copy()
        return rows

    def _times(self) -> LaneTimes:
        batch = self.batch
        exact = self.sweep.arithmetic == "exact" and bool((batch.scale[self.where] == 1).all())
        if exact and len(self.where) == len(batch.ids):
            return LaneTimes(batch.tau, batch.d, batch.latency, 2.0 ** -(self.sweep.resolution or 0))
        scale = batch.scale[self.where][:, None]
        rows = (rows_at(lanes, self.where) / scale for lanes in (batch.tau, batch.d, batch.latency))
        tau, d, latency = (pack(times) for times in rows)
        return LaneTimes(tau, d, latency, 2.0 ** -(self.sweep.resolution or 0) if exact else 0.0)

    def _shares(self) -> LaneShares | None:
        rho = self.batch.rho
        if rho is None or not self.statement.uses_rho:
            return None
        if len(self.where) < len(self.batch.ids):
            rho = pack(rows_at(rho[:, None], self.where))[:, 0]
        return LaneShares(rho, 1.0 / RHO_PARTS if self.sweep.arithmetic == "exact" else 0.0)

    def _exactly(self, i: int, M: int) -> bool | None:
        """Whether the statement holds for configuration ``i`` of the batch; None where it is undefined."""
        batch, (block, lane) = self.batch, divmod(i, LANES)
        scale = int(batch.scale[i])
        tau, d, latency = (
            [Fraction(time) / scale for time in lanes[block, :, lane].tolist()]
            for lanes in (batch.tau, batch.d, batch.latency)
        )
        rho = None if batch.rho is None else Fraction(float(batch.rho[block, lane]))
        system = ExactPipeline(tau, d, latency, self.regimes, rho)
        return exact_algebra.holds(self.statement, {"": system}, M, rho)
