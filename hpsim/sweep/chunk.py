"""One chunk of a sweep → its tables and totals: a pure function of (sweep, chunk index)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hpsim import formulas
from hpsim.lanes import Array, unpack
from hpsim.sweep.columns import schema
from hpsim.sweep.evaluate import Evaluation
from hpsim.sweep.sample import batches
from hpsim.sweep.spec import Sweep
from hpsim.sweep.totals import Totals

if TYPE_CHECKING:
    import pyarrow

TILE = 32768  # configurations evaluated together: few enough for the caches, enough to hide the calls
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
    points = _Points(sweep, ids) if sweep.record == "points" else None
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
        tables["violations"] = _table("violations", sweep, violations)
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
    )


def _violations(evaluation: Evaluation, failed: dict[str, Array], most: int) -> list[dict[str, Any]]:
    """Rows of the violations table: the first ``most`` of the batch, by configuration, M and claim."""
    if not failed or most <= 0:
        return []
    places = np.argwhere(np.stack(list(failed.values()), axis=-1).transpose(1, 0, 2))[:most]
    claims = list(failed)
    return [_violation(evaluation, int(i), int(j)) | {"claim": claims[claim]} for i, j, claim in places]


def _violation(evaluation: Evaluation, i: int, j: int) -> dict[str, Any]:
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
    for regime in sweep.regimes:
        points = evaluation.points(regime)
        row[f"T_{regime}"] = float(points.makespan[j, i]) / scale
        row[f"closed_{regime}"] = float(points.closed[j, i]) / scale
        row[f"rel_err_{regime}"] = float(points.error[j, i])
    return row


def _table(name: str, sweep: Sweep, rows: list[dict[str, Any]]) -> pyarrow.Table:
    import pyarrow

    return pyarrow.Table.from_pylist(rows, schema=schema(name, sweep.regimes))


class _Points:
    """The tables ``configs`` and ``points`` of a chunk, filled batch by batch, rows in the order of configurations."""

    def __init__(self, sweep: Sweep, ids: range) -> None:
        self.sweep = sweep
        self.first = ids.start
        self.configs: dict[str, Array] = {"config_id": np.arange(ids.start, ids.stop, dtype=np.int64)}
        self.points: dict[str, Array] = {}
        self.vectors: dict[str, list[tuple[Array, Array]]] = {"tau": [], "d": [], "latency": []}

    def add(self, evaluation: Evaluation) -> None:
        batch = evaluation.batch
        where = batch.ids - self.first
        scale = batch.scale.astype(np.float64)
        tau, d, latency = (unpack(lanes, len(where)) for lanes in (batch.tau, batch.d, batch.latency))
        for name, times in (("tau", tau), ("d", d), ("latency", latency)):
            self.vectors[name].append((where, times / scale[:, None]))
        self._put(self.configs, "S", where, np.full(len(where), batch.S, dtype=np.int32))
        if batch.rho is not None:
            self._put(self.configs, "rho", where, batch.rho.reshape(-1)[: len(where)])
        self._put(self.configs, "scale", where, batch.scale)
        self._put(self.configs, "tau_max", where, tau.max(axis=1) / scale)
        self._put(self.configs, "tau_sum", where, tau.sum(axis=1) / scale)
        self._put(self.configs, "d_sum", where, d.sum(axis=1) / scale)
        self._put(self.configs, "sigma_max", where, formulas.steady_slope(tau, d, 0) / scale)
        self._put(self.configs, "bias", where, formulas.homogeneity_bias(tau) / scale)
        phase = formulas.phase_transition(tau, d) if batch.phase is None else batch.phase
        self._put(self.configs, "phase", where, phase)
        gpipe = formulas.gpipe_makespan(tau[:, None], evaluation.counts)
        self._put(self.points, "T_gpipe", where, gpipe / scale[:, None])
        for regime in self.sweep.regimes:
            points = evaluation.points(regime)
            self._put(self.points, f"T_{regime}", where, (points.makespan / scale).T)
            self._put(self.points, f"closed_{regime}", where, (points.closed / scale).T)
            self._put(self.points, f"rel_err_{regime}", where, points.error.T)

    def _put(self, columns: dict[str, Array], name: str, where: Array, values: Array) -> None:
        n = len(self.configs["config_id"])
        columns.setdefault(name, np.empty((n, *values.shape[1:]), dtype=values.dtype))[where] = values

    def tables(self) -> dict[str, pyarrow.Table]:
        n, counts = len(self.configs["config_id"]), self.sweep.microbatches
        points = {name: values.reshape(-1) for name, values in self.points.items()}
        points["config_id"] = np.repeat(self.configs["config_id"], len(counts))
        points["S"] = np.repeat(self.configs["S"], len(counts))
        points["M"] = np.tile(np.array(counts, dtype=np.int64), n)
        configs: dict[str, Any] = {**self.configs, **{name: self._lists(name) for name in self.vectors}}
        return {"configs": self._assemble("configs", configs), "points": self._assemble("points", points)}

    def _assemble(self, name: str, columns: dict[str, Any]) -> pyarrow.Table:
        import pyarrow

        form = schema(name, self.sweep.regimes)
        n = len(columns["config_id"])
        if "rho" in form.names and "rho" not in columns:
            columns["rho"] = pyarrow.nulls(n, form.field("rho").type)
        arrays = [pyarrow.array(columns[field.name], type=field.type) for field in form]
        return pyarrow.Table.from_arrays(arrays, schema=form)

    def _lists(self, name: str) -> pyarrow.ListArray:
        """Vectors of different length, in the order of configurations."""
        import pyarrow

        lengths = self.configs["S"] - (name != "tau")
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        flat = np.empty(offsets[-1])
        for where, rows in self.vectors[name]:
            flat[offsets[where][:, None] + np.arange(rows.shape[1])] = rows
        return pyarrow.ListArray.from_arrays(offsets, flat)
