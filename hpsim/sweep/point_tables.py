"""The tables ``configs`` and ``points`` of a chunk, filled batch by batch, rows in the order of configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpsim.kernels import closed_forms
from hpsim.kernels.chain import LANES
from hpsim.kernels.tables import lists_to_rows, to_columns, to_rows
from hpsim.lanes import Array
from hpsim.regime import NAMES
from hpsim.sweep import knobs
from hpsim.sweep.columns import schema
from hpsim.sweep.evaluate import Evaluation
from hpsim.sweep.file.knob_regime import COUNTS, KnobRegime
from hpsim.sweep.sample import Batch
from hpsim.sweep.spec import Sweep
from hpsim.throughput_arrays import critical_names

if TYPE_CHECKING:
    import pyarrow

SUMMARIES = ("tau_max", "tau_sum", "d_sum", "sigma_max", "bias")  # the first rows of ``closed_forms.summaries``


class PointTables:
    """Collects the evaluated batches of the configurations ``ids``; each configuration once, in any order."""

    def __init__(self, sweep: Sweep, ids: range) -> None:
        self.sweep = sweep
        self.ids = np.arange(ids.start, ids.stop, dtype=np.int64)
        self.summaries = np.empty((len(SUMMARIES), len(self.ids)))
        self.configs: dict[str, Array] = {"config_id": self.ids, **dict(zip(SUMMARIES, self.summaries, strict=True))}
        self.points = self._layout()
        self.batches: list[Batch] = []
        self.unequal: list[tuple[str, Batch, Array]] = []  # closed forms that are not the recurrence throughout

    def _layout(self) -> dict[str, Array]:
        """The columns of ``points``, in one block, which the system backs with large pages: small ones cost as much as
        all that is written into them.
        """
        counts, names = self.sweep.microbatches, self.sweep.regime_names
        floats = ["T_gpipe", *(f"T_{name}" for name in names), "zeros"]
        block = np.empty((len(floats) + 3, len(self.ids) * len(counts)))
        points = dict(zip(floats, block, strict=False))
        points["zeros"].fill(0.0)
        points |= {"config_id": block[-1].view(np.int64), "M": block[-2].view(np.int64)}
        points["S"] = block[-3].view(np.int32)[: block.shape[1]]
        points["config_id"].reshape(-1, len(counts))[:] = self.ids[:, None]
        points["M"].reshape(-1, len(counts))[:] = counts
        return points

    def add(self, evaluation: Evaluation) -> None:
        """Take over a batch; times are divided by its scale, so that they are in the user's unit."""
        batch = evaluation.batch
        self.batches.append(batch)
        places = self._places(batch)
        n = len(places)
        found = np.empty((closed_forms.N_SUMMARIES, len(batch.tau), LANES))
        closed_forms.summaries(batch.tau, batch.d, found)
        to_columns(found, places, batch.scale, self.summaries)
        phase = batch.phase
        if phase is None:
            phase = found[closed_forms.HEADROOM].reshape(-1)[:n] < 0.0
        self._config("S", places, np.full(n, batch.S, dtype=np.int32))
        self._config("scale", places, batch.scale)
        self._config("phase", places, phase)
        if batch.rho is not None:
            self._config("rho", places, batch.rho.reshape(-1)[:n])
        gpipe = np.empty((len(evaluation.counts), *found.shape[1:]))
        closed_forms.gpipe(found[closed_forms.TAU_MAX], batch.S, evaluation.counts, gpipe)
        self._points("T_gpipe", places, batch.scale, gpipe)
        for regime, makespan in evaluation.makespan.items():
            self._points(f"T_{regime}", places, batch.scale, makespan)
            if evaluation.worst.get(regime, 0.0) > 0.0:
                self._points(f"rel_err_{regime}", places, np.ones_like(batch.scale), evaluation.error(regime))
                self.unequal.append((regime, batch, evaluation.closed(regime)))

        for name, counts in knobs.count_columns(self.sweep, batch).items():
            self._config(name, places, counts)
        for given in self.sweep.knob_regimes.values():
            self._law(given, batch)

    def _law(self, regime: KnobRegime, batch: Batch) -> None:
        """What the throughput law says of a regime of knobs."""
        slope, critical = knobs.law(self.sweep, regime, batch)
        self._config(f"slope_{regime.name}", self._places(batch), slope / batch.scale)
        names = np.array(critical_names(batch.S), dtype=object)
        self._config(f"critical_{regime.name}", self._places(batch), names[critical])

    def _places(self, batch: Batch) -> Array:
        """Where the configurations of ``batch`` stand in the table."""
        places: Array = batch.ids - self.ids[0]
        return places

    def _config(self, name: str, places: Array, values: Array) -> None:
        if name not in self.configs:
            self.configs[name] = np.empty(len(self.ids), dtype=values.dtype)
        self.configs[name][places] = values

    def _points(self, name: str, places: Array, scale: Array, values: Array) -> None:
        """Spread ``values`` (len(M), blocks, LANES), divided by ``scale`` (n,), over the rows of the points."""
        if name not in self.points:
            self.points[name] = np.zeros(len(self.ids) * len(values))
        to_rows(values, places, scale, self.points[name])

    def tables(self) -> dict[str, pyarrow.Table]:
        """Both tables, when every configuration has been added."""
        zeros = self.points.pop("zeros")
        for regime in (name for name in self.sweep.regime_names if name in NAMES):
            differs = any(regime == name for name, _, _ in self.unequal)
            makespan = self.points[f"T_{regime}"]
            self.points[f"closed_{regime}"] = makespan.copy() if differs else makespan
            self.points.setdefault(f"rel_err_{regime}", zeros)
        for regime, batch, closed in self.unequal:
            self._points(f"closed_{regime}", self._places(batch), batch.scale, closed)
        self.points["S"].reshape(len(self.ids), -1)[:] = self.configs["S"][:, None]
        configs = self.configs | {name: self._lists(name) for name in ("tau", "d", "latency")}
        if self.sweep.pipelines is not None:
            configs["name"] = [self.sweep.pipelines[number].name for number in self.ids]
        return {"configs": self._assemble("configs", configs), "points": self._assemble("points", self.points)}

    def _assemble(self, name: str, columns: dict[str, Any]) -> pyarrow.Table:
        import pyarrow

        form = schema(name, self.sweep.regime_names, named=self.sweep.pipelines is not None)
        if "rho" in form.names and "rho" not in columns:
            columns["rho"] = pyarrow.nulls(len(self.ids), form.field("rho").type)
        for column in (f"{knob}_{regime}" for regime in self.sweep.knob_regimes for knob in COUNTS):
            if column in columns:
                columns[column] = pyarrow.array(columns[column], mask=columns[column] == knobs.MISSING)
        arrays = [pyarrow.array(columns[field.name], type=field.type) for field in form]
        return pyarrow.Table.from_arrays(arrays, schema=form)

    def _lists(self, name: str) -> pyarrow.ListArray:
        """Vectors of different length, in the order of configurations."""
        import pyarrow

        lengths = self.configs["S"] - (name != "tau")
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        flat = np.empty(offsets[-1])
        for batch in self.batches:
            lists_to_rows(getattr(batch, name), offsets[self._places(batch)], batch.scale, flat)
        return pyarrow.ListArray.from_arrays(offsets.astype(np.int32), flat)
