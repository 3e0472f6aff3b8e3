"""Configurations of a sweep: a pure function of (sweep, configuration id), drawn or looked up, packed in lanes.

Draws of configuration ``id`` (see :mod:`hpsim.kernels.sampling`): 0 S, 1 rho, 2 to 5 edge cases, 6 the stage that
serves when all service times round to zero, and 16 + 3s, 17 + 3s, 18 + 3s for tau[s], d[s], latency[s]; from 2^20 on
the knobs of regimes (:mod:`hpsim.sweep.knobs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any, assert_never

import numpy as np

from hpsim import formulas
from hpsim.kernels import sampling
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array, blocks_for, pack, unpack
from hpsim.sweep.explicit import grid_rows, pipeline_rows
from hpsim.sweep.file.distribution import Distribution, Kind, Times
from hpsim.sweep.file.exactness import RHO_PARTS
from hpsim.sweep.spec import Sweep

FIRST_TIME_DRAW = 16


@dataclass(frozen=True)
class Batch:
    """Configurations of equal S, in lanes; times are in units of 1/scale of the user's unit.

    Attributes
    ----------
    ids : (n,) int64
        Configuration ids, ascending.
    tau : (blocks, S, LANES)
    d, latency : (blocks, S-1, LANES)
    rho : (blocks, LANES), or None without the regime ``partial``
    scale : (n,) int64
        1 when sampled, and in float64 arithmetic.
    phase : (n,) bool, or None
        Whether communication enters the blocking slope (Corollary 4), where ``tau`` and ``d`` as held here cannot tell
        exactly: decimals in float64 arithmetic.
    """

    ids: Array
    tau: Array
    d: Array
    latency: Array
    rho: Array | None
    scale: Array
    phase: Array | None = None

    @property
    def S(self) -> int:
        """Number of stages."""
        return int(self.tau.shape[1])


def batches(sweep: Sweep, ids: range) -> Iterator[Batch]:
    """The configurations ``ids``, grouped by number of stages."""
    if sweep.source == "sampled":
        yield from _sampled(sweep, np.arange(ids.start, ids.stop, dtype=np.int64))
    else:
        yield from _explicit(sweep, np.arange(ids.start, ids.stop, dtype=np.int64))


def configuration(sweep: Sweep, config_id: int) -> dict[str, Any]:
    """One configuration alone, in the user's unit.

    Returns
    -------
    dict
        ``config_id, S, tau, d, latency, rho, scale``; times are numbers, exact for float64, rho is None without
        the regime ``partial``.
    """
    (batch,) = batches(sweep, range(config_id, config_id + 1))
    scale = int(batch.scale[0])
    times = {name: (unpack(getattr(batch, name), 1)[0] / scale).tolist() for name in ("tau", "d", "latency")}
    rho = None if batch.rho is None else float(batch.rho[0, 0])
    return {"config_id": config_id, "S": batch.S, **times, "rho": rho, "scale": scale}


def drawn_integers(seed: int, ids: Array, draw: int, distribution: Distribution) -> Array:
    """Whole numbers (n,) int64 from ``distribution`` at draw ``draw`` of the configurations ``ids``."""
    out = np.empty((blocks_for(len(ids)), 1, LANES))
    _draw(distribution, _keys(seed, ids), draw, out)
    drawn: Array = out.astype(np.int64).reshape(-1)[: len(ids)]
    return drawn


def _sampled(sweep: Sweep, ids: Array) -> Iterator[Batch]:
    assert sweep.stages is not None
    stages = drawn_integers(sweep.seed, ids, 0, sweep.stages).astype(np.int16)  # 16 bits sort fastest
    order = np.argsort(stages, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(stages[order])) + 1):
        yield _drawn(sweep, ids[group], int(stages[group[0]]))


def _keys(seed: int, ids: Array) -> Array:
    """Stream keys (blocks, LANES); lanes left over repeat the last configuration."""
    padded = np.full(blocks_for(len(ids)) * LANES, ids[-1], dtype=np.uint64)
    padded[: len(ids)] = ids
    lanes = padded.reshape(-1, LANES)
    keys = np.empty_like(lanes)
    sampling.stream_keys(np.uint64(seed), lanes, keys)
    return keys


def _drawn(sweep: Sweep, ids: Array, n_stages: int) -> Batch:
    """Draw the configurations ``ids``, all of ``n_stages`` stages."""
    assert sweep.tau is not None
    assert sweep.d is not None
    assert sweep.latency is not None
    keys = _keys(sweep.seed, ids)
    single = np.empty((keys.shape[0], 8, LANES))
    sampling.uniforms(keys, 0, 1, single)
    tau = _times(sweep, sweep.tau, keys, 0, n_stages)
    _serve_somewhere(sweep, tau, single[:, 6])
    d = _times(sweep, sweep.d, keys, 1, n_stages - 1, tau)
    latency = _times(sweep, sweep.latency, keys, 2, n_stages - 1, tau)
    if sweep.edge_cases:
        sampling.force_edge_cases(float(sweep.edge_cases), single, tau, d, latency)
    return Batch(ids, tau, d, latency, _shares(sweep, keys), np.ones(len(ids), dtype=np.int64))


def _times(
    sweep: Sweep, distribution: Distribution, keys: Array, offset: int, n: int, tau: Array | None = None
) -> Array:
    """Draws (blocks, n, LANES) of tau (offset 0), d (1) or latency (2), on the grid in exact arithmetic."""
    out = np.zeros((len(keys), n, LANES))
    if distribution.high > 0:
        _draw(distribution, keys, FIRST_TIME_DRAW + offset, out, _grid(sweep), tau)
    return out


def _shares(sweep: Sweep, keys: Array) -> Array | None:
    """Overlapped shares (blocks, LANES), multiples of 1/16 in exact arithmetic; None without the regime ``partial``."""
    if sweep.rho is None:
        return None
    out = np.empty((len(keys), 1, LANES))
    _draw(sweep.rho, keys, 1, out, float(RHO_PARTS) if sweep.arithmetic == "exact" else 0.0)
    return out[:, 0]


def _grid(sweep: Sweep) -> float:
    """Of whose inverse the times are multiples; 0 in float64 arithmetic."""
    return 0.0 if sweep.resolution is None else 2.0**sweep.resolution


def _serve_somewhere(sweep: Sweep, tau: Array, u: Array) -> None:
    """Where every service time is zero, give one stage the longest that the distribution allows; in place."""
    assert sweep.tau is not None
    if sweep.tau.low * 2 ** (sweep.resolution or 0) >= 1:
        return  # no service time rounds to zero
    blocks, lanes = np.nonzero(~tau.any(axis=1))
    if len(blocks):
        stages = np.minimum((u[blocks, lanes] * tau.shape[1]).astype(np.int64), tau.shape[1] - 1)
        longest, grid = float(sweep.tau.high), _grid(sweep)
        tau[blocks, stages, lanes] = np.rint(longest * grid) / grid if grid else longest


def _draw(
    distribution: Distribution, keys: Array, first: int, out: Array, grid: float = 0.0, tau: Array | None = None
) -> None:
    """Fill ``out`` (blocks, n, LANES) with draws ``first``, ``first + STEP``, …, in multiples of ``1/grid``.

    ``tau`` (blocks, S, LANES): what the distribution's ``times`` relates to.
    """
    sampling.draw(
        keys,
        first,
        _KINDS[distribution.kind],
        np.array(_parameters(distribution.kind, distribution.values)),
        sampling.AS_DRAWN if tau is None else _RELATIONS[distribution.times],
        out if tau is None else tau,
        grid,
        out,
    )


_KINDS: dict[Kind, int] = {
    "constant": sampling.CONSTANT,
    "uniform": sampling.UNIFORM,
    "loguniform": sampling.LOG_UNIFORM,
    "lognormal": sampling.LOG_NORMAL,
    "integers": sampling.INTEGERS,
    "choice": sampling.CHOICE,
}
_RELATIONS: dict[Times | None, int] = {
    None: sampling.AS_DRAWN,
    "mean_tau": sampling.TIMES_MEAN_TAU,
    "max_tau": sampling.TIMES_MAX_TAU,
}


@cache
def _parameters(kind: Kind, values: tuple[Fraction, ...]) -> list[float]:
    """The numbers that the kernel computes a distribution with."""
    plain = [float(value) for value in values]
    match kind:
        case "loguniform":
            return [*plain, _log2_ratio(*values)]
        case "lognormal":
            return [plain[0], _log2_of_exp(values[1])]
        case "constant" | "uniform" | "integers" | "choice":
            return plain
    assert_never(kind)


def _log2_ratio(low: Fraction, high: Fraction) -> float:
    """The double nearest to log2(high/low); by decimals, since libm differs between machines."""
    with localcontext(prec=50):
        ratio = high / low
        return float((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() / Decimal(2).ln())


def _log2_of_exp(sigma: Fraction) -> float:
    """The double nearest to sigma·log2(e)."""
    with localcontext(prec=50):
        return float(Decimal(sigma.numerator) / Decimal(sigma.denominator) / Decimal(2).ln())


def _explicit(sweep: Sweep, ids: Array) -> Iterator[Batch]:
    """Look the configurations ``ids`` up in the pipelines or the grid of the sweep."""
    rows = pipeline_rows if sweep.source == "pipelines" else grid_rows
    for group in rows(sweep, ids):
        phase = None
        if sweep.arithmetic == "float64":
            phase = formulas.phase_transition(group.tau, group.d)
            group = group.in_users_unit()
        drawn = _shares(sweep, _keys(sweep.seed, group.ids)) if group.rho is None else None
        rho = drawn if group.rho is None else pack(group.rho[:, None])[:, 0]  # else the grid lists them
        yield Batch(group.ids, pack(group.tau), pack(group.d), pack(group.latency), rho, group.scale, phase)
