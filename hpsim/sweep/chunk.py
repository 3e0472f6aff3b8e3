"""One chunk of a sweep → its tables and totals: a pure function of (sweep, chunk index)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hpsim import formulas
from hpsim.lanes import Array
from hpsim.sweep.columns import schema
from hpsim.sweep.evaluate import Evaluation
from hpsim.sweep.knobs import MISSING, count_columns
from hpsim.sweep.point_tables import PointTables
from hpsim.sweep.sample import batches
from hpsim.sweep.spec import Sweep
from hpsim.sweep.totals import Totals

if TYPE_CHECKING:
    import pyarrow

TILE = 131072  # configurations evaluated together: enough to hide the calls in between, few enough for the memory
MOST_VIOLATIONS = 1000  # stored a chunk; all are counted


@dataclass(frozen=True)
class ChunkResult:
    """What a chunk leaves behind.

    Attributes
    ----------
    tables : dict of str to pyarrow.Table
        ``configs`` and ``points`` when points are recorded; ``violations`` when there are any.
    totals : Totals
    """

    tables: dict[str, pyarrow.Table]
    totals: Totals


def run_chunk(sweep: Sweep, index: int) -> ChunkResult:
    """Sample (or look up), simulate and check the configurations of chunk ``index``."""
    ids = sweep.chunk_range(index)
    totals = Totals()
    points = PointTables(sweep, ids) if sweep.record == "points" else None
    violations: list[dict[str, Any]] = []
    for tile in _tiles(ids):
        found: list[dict[str, Any]] = []
        for batch in batches(sweep, tile):
            evaluation = Evaluation(sweep, batch)
            failed = {claim: evaluation.failed(claim) for claim in sweep.claims} if evaluation.suspect else {}
            totals += _totals(evaluation, failed)
            if points is not None:
                points.add(evaluation)
            found += _violations(evaluation, failed, MOST_VIOLATIONS - len(violations))
        found.sort(key=lambda row: (row["config_id"], row["M"], sweep.claims.index(row["claim"])))
        violations += found[: MOST_VIOLATIONS - len(violations)]
    tables = points.tables() if points is not None else {}
    if violations:
        tables["violations"] = _table(sweep, violations)
    return ChunkResult(tables, totals)


def _tiles(ids: range) -> Iterator[range]:
    for start in range(ids.start, ids.stop, TILE):
        yield range(start, min(start + TILE, ids.stop))


def _totals(evaluation: Evaluation, failed: dict[str, Array]) -> Totals:
    sweep, batch = evaluation.sweep, evaluation.batch
    n = len(batch.ids)
    return Totals(
        configs=n,
        points=n * len(sweep.microbatches),
        cells=n * batch.S * sweep.microbatches[-1] * len(sweep.regimes),
        violations=sum(int(np.count_nonzero(where)) for where in failed.values()),
        max_rel_err=evaluation.worst,
        undefined=sum(found.undefined for found in evaluation.decided.values()),
        vanished=sum(found.vanished for found in evaluation.decided.values()),
    )


def _violations(evaluation: Evaluation, failed: dict[str, Array], most: int) -> list[dict[str, Any]]:
    """Rows of the violations table: the first ``most`` of the batch, by configuration, M and claim."""
    if not failed or most <= 0:
        return []
    places = np.argwhere(np.stack(list(failed.values()), axis=-1))[:most]
    claims = list(failed)
    lanes = {regime: (evaluation.closed(regime), evaluation.error(regime)) for regime in evaluation.worst}
    limits = count_columns(evaluation.sweep, evaluation.batch)
    return [
        _violation(evaluation, lanes, int(i), int(j))
        | {name: None if values[i] == MISSING else int(values[i]) for name, values in limits.items()}
        | {"claim": claims[claim]}
        for i, j, claim in places
    ]


def _violation(evaluation: Evaluation, lanes: dict[str, tuple[Array, Array]], i: int, j: int) -> dict[str, Any]:
    """Configuration ``i`` of the batch at the ``j``-th number of micro-batches, in the user's unit."""
    sweep, batch = evaluation.sweep, evaluation.batch
    block, lane = divmod(i, batch.tau.shape[2])
    scale = int(batch.scale[i])
    tau = batch.tau[block, :, lane]
    row = {
        "config_id": int(batch.ids[i]),
        "S": batch.S,
        "M": sweep.microbatches[j],
        "T_gpipe": float(formulas.gpipe_makespan(tau, sweep.microbatches[j])) / scale,
        "tau": (tau / scale).tolist(),
        "d": (batch.d[block, :, lane] / scale).tolist(),
        "latency": (batch.latency[block, :, lane] / scale).tolist(),
        "rho": None if batch.rho is None else float(batch.rho[block, lane]),
        "scale": scale,
    }
    for regime, makespans in evaluation.makespan.items():
        row[f"T_{regime}"] = float(makespans[j, block, lane]) / scale
    for regime, (closed, error) in lanes.items():
        row[f"closed_{regime}"] = float(closed[j, block, lane]) / scale
        row[f"rel_err_{regime}"] = float(error[j, block, lane])
    return row


def _table(sweep: Sweep, rows: list[dict[str, Any]]) -> pyarrow.Table:
    import pyarrow

    return pyarrow.Table.from_pylist(rows, schema=schema("violations", sweep.regime_names))
