"""The regimes of a sweep that are given by knobs: the counts drawn for each configuration, and what they come to.

Draws of configuration ``id``: 2^20 + 4·r + k for the k-th of buffers, channels, window of the r-th such regime, in the
order of the sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hpsim.event_lanes import makespans_in
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array, blocks_for, pack, rows_at, unpack
from hpsim.regime import Regime
from hpsim.sweep.file.knob_regime import COUNTS, Draw, KnobRegime
from hpsim.sweep.sample import Batch, batches, drawn_integers
from hpsim.sweep.spec import Sweep
from hpsim.throughput_arrays import law_of_arrays

FIRST_DRAW = 2**20
MISSING = -1  # a count that is unlimited, or different from stage to stage


def counts(sweep: Sweep, regime: KnobRegime, batch: Batch) -> dict[str, Array]:
    """Knob → its value for each configuration (n,) int64, for the knobs that are drawn."""
    return {draw.knob: _drawn(sweep, draw, batch.ids) for draw in regime.draws}


def count_columns(sweep: Sweep, batch: Batch) -> dict[str, Array]:
    """Column → the value of a counted knob for each configuration (n,) int64, or :data:`MISSING`."""
    found = {}
    for name, regime in sweep.knob_regimes.items():
        drawn = counts(sweep, regime, batch)
        for knob in COUNTS:
            fixed = getattr(regime, knob)
            constant = np.full(len(batch.ids), fixed if isinstance(fixed, int) else MISSING)
            found[f"{knob}_{name}"] = drawn.get(knob, constant)
    return found


def drawn_for(sweep: Sweep, config_id: int) -> dict[str, dict[str, int]]:
    """Regime → knob → what is drawn for one configuration, for the regimes that draw any."""
    (batch,) = batches(sweep, range(config_id, config_id + 1))
    found = {name: counts(sweep, regime, batch) for name, regime in sweep.knob_regimes.items()}
    return {name: {knob: int(value[0]) for knob, value in drawn.items()} for name, drawn in found.items() if drawn}


def _drawn(sweep: Sweep, draw: Draw, ids: Array) -> Array:
    number = FIRST_DRAW + 4 * list(sweep.knob_regimes).index(draw.regime) + COUNTS.index(draw.knob)
    drawn: Array = drawn_integers(sweep.seed, ids, number, draw.distribution) + draw.plus
    return drawn


def run(sweep: Sweep, regime: KnobRegime, batch: Batch) -> Array:
    """Makespans (len(M), blocks, LANES) of a batch, in units of 1/scale; each setting of the knobs in its own lanes."""
    stops = np.array(sweep.microbatches, dtype=np.int64)
    n = len(batch.ids)
    parts = list(_parts(sweep, regime, batch))
    if len(parts) == 1:
        return makespans_in(batch.tau, batch.d, batch.latency, parts[0][0], stops)
    out = np.zeros((len(stops), blocks_for(n) * LANES))
    for knobs, where in parts:
        tau, d, latency = (pack(rows_at(lanes, where)) for lanes in (batch.tau, batch.d, batch.latency))
        out[:, where] = makespans_in(tau, d, latency, knobs, stops).reshape(len(stops), -1)[:, : len(where)]
    return out.reshape(len(stops), -1, LANES)


def _parts(sweep: Sweep, regime: KnobRegime, batch: Batch) -> Iterator[tuple[Regime, Array]]:
    """Each setting of the knobs, its feedback in units of 1/scale, with the indices of its configurations."""
    for knobs, where in settings(sweep, [regime], batch, sweep.microbatches[-1]):
        setting = knobs[regime.name]
        if not regime.feedback:
            yield setting, where
            continue
        scales = batch.scale[where]
        for scale in np.unique(scales):
            yield replace(setting, feedback=regime.feedback * int(scale)), where[scales == scale]


def law(sweep: Sweep, regime: KnobRegime, batch: Batch) -> tuple[Array, Array]:
    """The steady slope (n,) in units of 1/scale, and the index (n,) of the first term that attains it.

    The names of the terms are :func:`hpsim.throughput_arrays.critical_names` of S.
    """
    n, S = len(batch.ids), batch.S
    tau, d, latency = (unpack(getattr(batch, name), n) for name in ("tau", "d", "latency"))
    if not regime.communication:
        d, latency = np.zeros_like(d), np.zeros_like(latency)
    drawn = counts(sweep, regime, batch)

    def limit(knob: str, width: int) -> Array | None:
        if knob in drawn:
            return np.broadcast_to(drawn[knob][:, None], (n, width)).astype(np.float64)
        value = getattr(regime, knob)
        if value is None:
            return None
        entries = value if isinstance(value, tuple) else (value,) * width
        return np.broadcast_to([np.inf if entry is None else float(entry) for entry in entries], (n, width))

    window = limit("window", 1)
    held = np.array([1.0 - float(share) for share in regime.shares]) if S > 1 else np.zeros(0)
    return law_of_arrays(
        tau,
        d,
        latency,
        held * d,
        buffers=limit("buffers", S),
        channels=limit("channels", S - 1),
        window=None if window is None else window[:, 0],
        feedback=float(regime.feedback) * batch.scale.astype(np.float64),
    )


def settings(
    sweep: Sweep, regimes: Sequence[KnobRegime], batch: Batch, microbatches: int | None = None
) -> Iterator[tuple[dict[str, Regime], Array]]:
    """Each setting of the regimes' knobs that occurs in the batch, with the indices of its configurations.

    Where only so many ``microbatches`` count, limits that are too wide to bind are all the same.
    """
    drawn = {(regime.name, knob): values for regime in regimes for knob, values in counts(sweep, regime, batch).items()}
    if microbatches is not None:
        drawn = {key: np.minimum(values, microbatches) for key, values in drawn.items()}
    if not drawn:
        yield {regime.name: regime.regime() for regime in regimes}, np.arange(len(batch.ids))
        return
    found, inverse = np.unique(np.stack(list(drawn.values())), axis=1, return_inverse=True)
    for index, setting in enumerate(found.T):
        values = dict(zip(drawn, map(int, setting), strict=True))
        knobs = {
            regime.name: regime.regime({knob: value for (name, knob), value in values.items() if name == regime.name})
            for regime in regimes
        }
        yield knobs, np.flatnonzero(inverse.reshape(-1) == index)
