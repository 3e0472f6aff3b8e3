"""Points as rows of arrays, each with its own number of micro-batches: what mutations and the shrinker work on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from hpsim.claims.float_algebra import FloatDecision
from hpsim.claims.lanes import LaneShares, LaneTimes, decide_lanes
from hpsim.conjecture.example import Example, Times
from hpsim.conjecture.question import Question
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array, blocks_for, pack

GRID = 2.0**-10
"""Times and shares of rows are multiples of this, so that float64 holds them and their sums exactly."""
LARGEST = 2.0**20
AT_ONCE = 8192  # rows evaluated together, so that the arrays in between stay within a cache


@dataclass(frozen=True)
class Rows:
    """n points whose pipelines have equal numbers of stages.

    Attributes
    ----------
    tau, d, latency : tuples of arrays
        One (n, S), (n, S-1), (n, S-1) array for each pipeline.
    M : (n,) float64 array
        Whole numbers.
    rho : (n,) array or None
    """

    tau: tuple[Array, ...]
    d: tuple[Array, ...]
    latency: tuple[Array, ...]
    M: Array
    rho: Array | None

    def __len__(self) -> int:
        return len(self.M)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of stages of each pipeline."""
        return tuple(tau.shape[1] for tau in self.tau)

    def __getitem__(self, where: Array | slice) -> Rows:
        tau, d, latency = (tuple(part[where] for part in parts) for parts in (self.tau, self.d, self.latency))
        return Rows(tau, d, latency, self.M[where], None if self.rho is None else self.rho[where])

    def example(self, index: int, parts: int = 1) -> Example:
        """One point, exactly; with ``parts`` its times are whole numbers divided by that, and were rounded."""
        sides = zip(self.tau, self.d, self.latency, strict=True)
        read = _fractions if parts & (parts - 1) == 0 else partial(_divided, parts)
        pipelines = tuple(Times(*(read(part[index]) for part in side)) for side in sides)
        rho = None if self.rho is None else Fraction(float(self.rho[index]))
        return Example(pipelines, int(self.M[index]), rho)


def rows_of(examples: Sequence[Example]) -> Rows:
    """Examples of one shape as rows, rounded to float64."""

    def table(values: Iterable[Sequence[Fraction]], width: int) -> Array:
        return np.array([[float(value) for value in row] for row in values]).reshape(len(examples), width)

    first = examples[0]
    sides = range(len(first.pipelines))
    widths = [times.S for times in first.pipelines]
    tau = tuple(table((e.pipelines[k].tau for e in examples), widths[k]) for k in sides)
    d = tuple(table((e.pipelines[k].d for e in examples), widths[k] - 1) for k in sides)
    latency = tuple(table((e.pipelines[k].latency for e in examples), widths[k] - 1) for k in sides)
    rho = None if first.rho is None else np.array([float(e.rho or 0) for e in examples])
    return Rows(tau, d, latency, np.array([float(e.M) for e in examples]), rho)


def decide_rows(question: Question, rows: Rows, margins: bool = False) -> FloatDecision:
    """The statement at every row; arrays of shape (n,)."""
    parts = [_decided(question, rows[slice(first, first + AT_ONCE)], margins) for first in range(0, len(rows), AT_ONCE)]
    truth, defined, near = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("truth", "defined", "near")
    )
    margin = np.concatenate([part.margin for part in parts]) if margins else None
    return FloatDecision(truth, defined, near, margin)


def known_margins(decision: FloatDecision) -> Array:
    """Margins, infinite where the statement is undefined."""
    if decision.margin is None:
        raise ValueError("decided without margins")
    margins: Array = np.where(decision.defined, decision.margin, np.inf)
    return margins


def _decided(question: Question, rows: Rows, margins: bool) -> FloatDecision:
    n = len(rows)
    sides = zip(rows.tau, rows.d, rows.latency, strict=True)
    pipelines = [LaneTimes(pack(side[0]), pack(side[1]), pack(side[2]), _unit(*side)) for side in sides]
    counts = _lanes(rows.M, 1.0)
    rho = None if rows.rho is None else LaneShares(_lanes(rows.rho, 0.0), _unit(rows.rho))
    decision = decide_lanes(question.statement, question.regimes, pipelines, counts, rho, margins)
    truth, defined, near = (part.reshape(-1)[:n] for part in (decision.truth, decision.defined, decision.near))
    return FloatDecision(truth, defined, near, None if decision.margin is None else decision.margin.reshape(-1)[:n])


def _lanes(values: Array, fill: float) -> Array:
    lanes = np.full(blocks_for(len(values)) * LANES, fill)
    lanes[: len(values)] = values
    return lanes.reshape(-1, LANES)


def _unit(*parts: Array) -> float:
    """The grid unit where all values lie on the grid (1 where they are whole), else 0."""
    scaled = [part / GRID for part in parts]
    if not all(np.array_equal(part, np.rint(part)) for part in scaled):
        return 0.0
    return 1.0 if all(np.array_equal(part, np.rint(part)) for part in parts) else GRID


def on_grid(rows: Rows) -> Rows:
    """The rows moved to the nearest points of the grid, with one stage that serves in every pipeline."""

    def rounded(values: Array) -> Array:
        return np.clip(np.rint(values / GRID) * GRID, 0.0, LARGEST)

    tau, d, latency = (tuple(map(rounded, parts)) for parts in (rows.tau, rows.d, rows.latency))
    for side in tau:
        side[~side.any(axis=1), 0] = 1.0
    rho = None if rows.rho is None else np.clip(np.rint(rows.rho * 16) / 16, 0.0, 1.0)
    return replace(rows, tau=tau, d=d, latency=latency, rho=rho)


def as_related(question: Question, rows: Rows, generator: np.random.Generator) -> Rows:
    """The rows with B made from A as the relation says, and zeros for the times that cannot matter."""
    if not question.uses_d:
        rows = replace(rows, d=tuple(0.0 * part for part in rows.d))
    if not question.uses_latency:
        rows = replace(rows, latency=tuple(0.0 * part for part in rows.latency))
    if len(rows.tau) == 1 or question.relation in (None, "same S"):
        return rows
    if question.relation == "same tau":
        return replace(rows, tau=(rows.tau[0], rows.tau[0]))
    rows = replace(rows, d=(rows.d[0], rows.d[0]), latency=(rows.latency[0], rows.latency[0]))
    if question.relation == "same d":
        return rows
    order = np.argsort(generator.random(rows.tau[0].shape), axis=1)
    return replace(rows, tau=(rows.tau[0], np.take_along_axis(rows.tau[0], order, axis=1)))


def _divided(parts: int, values: Array) -> tuple[Fraction, ...]:
    return tuple(Fraction(round(float(value) * parts), parts) for value in values)


def _fractions(values: Array) -> tuple[Fraction, ...]:
    return tuple(Fraction(float(value)) for value in values)
