"""Where a search looks at random: several sweeps whose chunks take turns, or one of the user's own.

The default space mixes what counterexamples have been made of: broad pipelines on a fine grid, small whole numbers with
their many ties, long pipelines, and pipelines with nearly all work or all communication in one place. Every sweep has
edge cases (ties, boundaries, no communication, equal stages), small numbers of micro-batches and larger ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpsim.claims.lanes import LaneShares, LaneTimes
from hpsim.conjecture.question import Question
from hpsim.errors import HpsimError
from hpsim.lanes import Array, blocks_for, pack, rows_at
from hpsim.sweep.file.exactness import RHO_PARTS
from hpsim.sweep.file.fields import MAX_CONFIGS
from hpsim.sweep.sample import Batch, batches
from hpsim.sweep.spec import Sweep, make_sweep

CHUNK = 16384
_EDGE_CASES = 0.25
_SEEDS = 2**64
_GOLDEN = 0x9E3779B97F4A7C15  # an odd number far from small ones, so that streams of neighbouring seeds stay apart
_PARTS: tuple[dict[str, Any], ...] = (
    {
        "stages": {"integers": [1, 4]},
        "tau": {"integers": [0, 6]},
        "d": {"integers": [0, 6]},
        "resolution": 0,
        "microbatches": [1, 2, 3, 4, 5, 6, 8, 12],
    },
    {
        "stages": {"integers": [1, 8]},
        "tau": {"loguniform": [0.1, 10]},
        "d": {"loguniform": [0.01, 20]},
        "resolution": 10,
        "microbatches": [1, 2, 3, 4, 5, 6, 8, 16, 32, 100],
    },
    {
        "stages": {"integers": [3, 16]},
        "tau": {"lognormal": [1, 2]},
        "d": {"lognormal": [0.3, 2]},
        "resolution": 6,
        "microbatches": [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14],
    },
    {
        "stages": {"integers": [5, 16]},
        "tau": {"integers": [0, 3]},
        "d": {"integers": [0, 2]},
        "resolution": 0,
        "microbatches": [1, 2, 3, 4, 6, 8, 11, 15, 24],
    },
    {
        "stages": {"integers": [2, 8]},
        "tau": {"loguniform": [0.01, 100]},
        "d": {"loguniform": [0.01, 1], "times": "max_tau"},
        "resolution": 7,
        "microbatches": [1, 2, 3, 5, 8, 13, 40],
    },
)


@dataclass(frozen=True)
class Points:
    """Pipelines of equal S (A's, and B's beside them), each of which meets every number of micro-batches.

    Attributes
    ----------
    n : int
        Lanes in use; those after them repeat others.
    pipelines : tuple of LaneTimes
    rho : LaneShares or None
    counts : (k, 1, 1) float64 array
        Numbers of micro-batches, ascending.
    decimal : bool
        Whether the exact value of a time is its shortest decimal form, as in a file that was read as float64.
    scale : (lanes,) array, or None
        For times that were written with denominators: what to multiply by to get whole numbers.
    """

    n: int
    pipelines: tuple[LaneTimes, ...]
    rho: LaneShares | None
    counts: Array
    decimal: bool = False
    scale: tuple[Array, ...] | None = None


@dataclass(frozen=True)
class Space:
    """Sweeps whose chunks take turns.

    Attributes
    ----------
    sweeps : tuple of Sweep
    """

    sweeps: tuple[Sweep, ...]

    @property
    def chunks(self) -> int:
        """Chunks of all sweeps together."""
        return sum(sweep.n_chunks for sweep in self.sweeps)

    def chunk(self, index: int) -> tuple[Sweep, range]:
        """The sweep of chunk ``index``, and its configurations."""
        sweep = self.sweeps[index % len(self.sweeps)]
        return sweep, sweep.chunk_range(index // len(self.sweeps))


def default_space(question: Question, seed: int) -> Space:
    """The space searched when no sweep is given; with ``latency`` only where the statement names it."""
    return Space(tuple(make_sweep(_described(question, seed, k), "search") for k in range(len(_PARTS))))


def space_of(sweep: Sweep, question: Question) -> Space:
    """The space of the user's own sweep.

    Raises
    ------
    HpsimError
        When the statement needs what the sweep does not draw.
    """
    if question.uses_rho and sweep.rho is None and not (sweep.grid is not None and sweep.grid.rho):
        found = "no overlapped share, which the statement depends on"
        raise HpsimError("--sweep", found, "regimes with partial, and rho: {uniform: [0, 1]}")
    only = question.only_stages
    if only is not None and (sweep.stages is None or sweep.stages.low != only or sweep.stages.high != only):
        raise HpsimError("--sweep", f"stages that are not always {only}", f"stages: {only}, as the regime's lists say")
    return Space((sweep,))


def points(question: Question, sweep: Sweep, ids: range, turn: int) -> Iterator[Points]:
    """The points of some configurations: a function of these arguments alone."""
    counts = np.array(sweep.microbatches, dtype=np.float64)[:, None, None]
    ours = [batch for batch in batches(sweep, ids) if question.least_stages <= batch.S]
    if len(question.pipelines) == 1:
        for batch in ours:
            yield _points(sweep, [batch], counts, len(batch.ids))
        return
    for a, b in _pairs(question, sweep, ids, ours, turn):
        blocks = min(len(a.tau), len(b.tau))
        n = min(len(a.ids), len(b.ids))
        yield _related(question, sweep, _points(sweep, [_cut(a, blocks), _cut(b, blocks)], counts, n), turn)


def _described(question: Question, seed: int, part: int) -> dict[str, Any]:
    described = dict(_PARTS[part])
    described |= {
        "seed": (seed + part * _GOLDEN) % _SEEDS,
        "configs": MAX_CONFIGS,
        "chunk": CHUNK,
        "edge_cases": _EDGE_CASES,
        "record": "violations",
        "regimes": ["async"],
    }
    stages = described["stages"]["integers"]
    described["stages"] = question.only_stages or {"integers": [max(stages[0], question.least_stages), stages[1]]}
    if question.uses_latency:
        described["latency"] = described["d"]
    if not question.uses_d:
        del described["d"]
    if question.uses_rho:
        described |= {"regimes": ["partial"], "rho": {"uniform": [0, 1]}}
    return described


def _points(sweep: Sweep, sides: Sequence[Batch], counts: Array, n: int) -> Points:
    exact = sweep.arithmetic == "exact"
    pipelines, scales = [], []
    for batch in sides:
        scale = np.ones(len(batch.tau) * batch.tau.shape[2])
        scale[: len(batch.scale)] = batch.scale
        lanes = scale.reshape(len(batch.tau), 1, -1)
        whole = bool((scale == 1).all())
        unit = 2.0 ** -(sweep.resolution or 0) if exact and whole else 0.0
        tau, d, latency = (batch.tau, batch.d, batch.latency)
        if not whole:
            tau, d, latency = tau / lanes, d / lanes, latency / lanes
        pipelines.append(LaneTimes(tau, d, latency, unit))
        scales.append(scale)
    rho = None
    if sides[0].rho is not None:
        rho = LaneShares(sides[0].rho, 1.0 / RHO_PARTS if exact else 0.0)
    scaled = None if all((scale == 1).all() for scale in scales) else tuple(scales)
    return Points(n, tuple(pipelines), rho, counts, not exact and sweep.source != "sampled", scaled)


def _pairs(question: Question, sweep: Sweep, ids: range, ours: list[Batch], turn: int) -> Iterator[tuple[Batch, Batch]]:
    """Batches of A's and B's; B's come from another stream, or from the same list moved on by some places."""
    if sweep.source == "sampled":
        drawn = batches(sweep.model_copy(update={"seed": (sweep.seed + _GOLDEN // 2) % _SEEDS}), ids)
        theirs = [batch for batch in drawn if question.least_stages <= batch.S]
    else:
        theirs = [_moved(batch, turn + 1) for batch in ours]
    if question.relation is None:
        for k, a in enumerate(ours if theirs else ()):
            yield a, theirs[(k + turn) % len(theirs)]
        return
    by_stages = {batch.S: batch for batch in theirs}
    for a in ours:
        if a.S in by_stages:
            yield a, by_stages[a.S]


def _moved(batch: Batch, places: int) -> Batch:
    """The same pipelines, each ``places`` further on, in a circle."""
    n = len(batch.ids)
    lanes = np.arange(blocks_for(n) * batch.tau.shape[2])
    source = (np.minimum(lanes, n - 1) + places) % n
    tau, d, latency = (pack(rows_at(values, source)) for values in (batch.tau, batch.d, batch.latency))
    return Batch(batch.ids[source[:n]], tau, d, latency, batch.rho, batch.scale[source[:n]])


def _cut(batch: Batch, blocks: int) -> Batch:
    rho = None if batch.rho is None else batch.rho[:blocks]
    kept = blocks * batch.tau.shape[2]
    parts = (batch.tau[:blocks], batch.d[:blocks], batch.latency[:blocks])
    return Batch(batch.ids[:kept], *parts, rho, batch.scale[:kept])


def _related(question: Question, sweep: Sweep, drawn: Points, turn: int) -> Points:
    """The points with B made from A as the relation says."""
    a, b = drawn.pipelines
    if question.relation == "same tau":
        b = LaneTimes(a.tau, b.d, b.latency, b.unit)
    elif question.relation == "same d":
        b = LaneTimes(b.tau, a.d, a.latency, b.unit)
    elif question.relation == "permutation":
        generator = np.random.default_rng([sweep.seed % 2**32, turn, a.tau.shape[1]])
        order = np.argsort(generator.random(a.tau.shape), axis=1)
        b = LaneTimes(np.take_along_axis(a.tau, order, axis=1), a.d, a.latency, a.unit)
    else:
        return drawn
    scale = None if drawn.scale is None else (drawn.scale[0], drawn.scale[0])
    return Points(drawn.n, (a, b), drawn.rho, drawn.counts, drawn.decimal, scale)
