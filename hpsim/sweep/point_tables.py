"""The tables ``configs`` and ``points`` of a chunk, filled batch by batch, rows in the order of configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpsim import formulas
from hpsim.kernels.tables import to_rows
from hpsim.lanes import Array
from hpsim.sweep.columns import schema
from hpsim.sweep.evaluate import Evaluation
from hpsim.sweep.sample import Batch
from hpsim.sweep.spec import Sweep

if TYPE_CHECKING:
    import pyarrow


class PointTables:
    """Collects the evaluated batches of the configurations ``ids``; each configuration once, in any order."""

    def __init__(self, sweep: Sweep, ids: range) -> None:
        self.sweep = sweep
        self.ids = np.arange(ids.start, ids.stop, dtype=np.int64)
        self.configs: dict[str, Array] = {"config_id": self.ids}
        self.points: dict[str, Array] = {}
        self.batches: list[Batch] = []
        self.unequal: list[tuple[str, Batch, Array]] = []  # closed forms that are not the recurrence throughout

    def add(self, evaluation: Evaluation) -> None:
        """Take over a batch; times are divided by its scale, so that they are in the user's unit."""
        batch = evaluation.batch
        self.batches.append(batch)
        tau, d = batch.tau.transpose(0, 2, 1), batch.d.transpose(0, 2, 1)
        phase = batch.phase
        if phase is None:
            phase = formulas.phase_transition(tau, d).reshape(-1)[: len(batch.ids)]
        self._config("S", batch, np.full(len(batch.ids), batch.S, dtype=np.int32))
        self._config("scale", batch, batch.scale)
        self._config("phase", batch, phase)
        if batch.rho is not None:
            self._config("rho", batch, batch.rho.reshape(-1)[: len(batch.ids)])
        self._config_time("tau_max", batch, formulas.steady_slope(tau))
        self._config_time("tau_sum", batch, formulas.fill_time(tau))
        self._config_time("d_sum", batch, batch.d.sum(axis=1))
        self._config_time("sigma_max", batch, formulas.steady_slope(tau, d, 0))
        self._config_time("bias", batch, formulas.homogeneity_bias(tau))
        self._points("T_gpipe", batch, formulas.gpipe_makespan(tau, evaluation.counts[:, None, None]))
        for regime in self.sweep.regimes:
            self._points(f"T_{regime}", batch, evaluation.makespan[regime])
            if evaluation.worst[regime] > 0.0:
                self._points(f"rel_err_{regime}", batch, evaluation.error(regime), unit=False)
                self.unequal.append((regime, batch, evaluation.closed(regime)))

    def _config(self, name: str, batch: Batch, values: Array) -> None:
        if name not in self.configs:
            self.configs[name] = np.empty(len(self.ids), dtype=values.dtype)
        self.configs[name][batch.ids - self.ids[0]] = values

    def _config_time(self, name: str, batch: Batch, lanes: Array) -> None:
        self._config(name, batch, lanes.reshape(-1)[: len(batch.ids)] / batch.scale)

    def _points(self, name: str, batch: Batch, lanes: Array, *, unit: bool = True) -> None:
        width = len(self.sweep.microbatches)
        if name not in self.points:
            self.points[name] = np.zeros(len(self.ids) * width)
        scale = batch.scale if unit else np.ones_like(batch.scale)
        to_rows(lanes, (batch.ids - self.ids[0]) * width, scale.astype(np.float64), self.points[name])

    def tables(self) -> dict[str, pyarrow.Table]:
        """Both tables, when every configuration has been added."""
        counts, shape = self.sweep.microbatches, (len(self.ids), len(self.sweep.microbatches))
        for regime in self.sweep.regimes:
            differs = any(regime == name for name, _, _ in self.unequal)
            makespan = self.points[f"T_{regime}"]
            self.points[f"closed_{regime}"] = makespan.copy() if differs else makespan
            self.points.setdefault(f"rel_err_{regime}", np.zeros_like(makespan))
        for regime, batch, closed in self.unequal:
            self._points(f"closed_{regime}", batch, closed)
        points = dict(self.points)
        points["config_id"] = np.broadcast_to(self.ids[:, None], shape).reshape(-1)
        points["S"] = np.broadcast_to(self.configs["S"][:, None], shape).reshape(-1)
        points["M"] = np.broadcast_to(np.array(counts, dtype=np.int64), shape).reshape(-1)
        configs = self.configs | {name: self._lists(name) for name in ("tau", "d", "latency")}
        return {"configs": self._assemble("configs", configs), "points": self._assemble("points", points)}

    def _assemble(self, name: str, columns: dict[str, Any]) -> pyarrow.Table:
        import pyarrow

        form = schema(name, self.sweep.regimes)
        if "rho" in form.names and "rho" not in columns:
            columns["rho"] = pyarrow.nulls(len(self.ids), form.field("rho").type)
        arrays = [pyarrow.array(columns[field.name], type=field.type) for field in form]
        return pyarrow.Table.from_arrays(arrays, schema=form)

    def _lists(self, name: str) -> pyarrow.ListArray:
        """Vectors of different length, in the order of configurations."""
        import pyarrow

        lengths = self.configs["S"] - (name != "tau")
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        flat = np.empty(offsets[-1])
        for batch in self.batches:
            values = np.ascontiguousarray(getattr(batch, name).transpose(1, 0, 2))
            to_rows(values, offsets[batch.ids - self.ids[0]], batch.scale.astype(np.float64), flat)
        return pyarrow.ListArray.from_arrays(offsets.astype(np.int32), flat)
