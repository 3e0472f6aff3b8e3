"""Small changes of points that nearly fail, many at a time: what the targeted part of a search tries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hpsim.conjecture.point_rows import Rows, as_related, on_grid
from hpsim.conjecture.question import Question
from hpsim.lanes import Array

MOST_STAGES = 20
MOST_MICROBATCHES = 400
_KINDS = 12


def mutated(question: Question, parents: Rows, children: int, generator: np.random.Generator) -> list[Rows]:
    """``children`` variants of each parent, in groups of equal shape; on the grid, related as they should be.

    A variant has two changes among: an entry scaled, replaced by 0, by another one, by a sum or difference of two
    others; two entries swapped; a transfer set to its sender's slack; every time snapped to small whole numbers; one
    stage made to outweigh the others, or all made equal; M or rho moved. A sixth of them also have a stage more or
    fewer.
    """
    repeated = parents[np.repeat(np.arange(len(parents)), children)]
    columns = _columns(question, repeated)
    for _ in range(2):
        changed = _changed(question, repeated, columns, generator)
        repeated, columns = changed, _columns(question, changed)
    groups = [repeated]
    if question.only_stages is None:
        n = len(repeated) // 6
        for part, change in ((slice(0, n // 2), +1), (slice(n // 2, n), -1)):
            other = _with_stages(question, repeated[part], change, generator)
            if other is not None:
                groups.append(other)
        groups[0] = repeated[slice(n, None)]
    return [as_related(question, on_grid(group), generator) for group in groups if len(group)]


def _columns(question: Question, rows: Rows) -> Array:
    """All times that may change, side by side: tau, then d, then latency, of each pipeline."""
    parts = [*rows.tau]
    if question.uses_d:
        parts += rows.d
    if question.uses_latency:
        parts += rows.latency
    return np.concatenate(parts, axis=1)


def _apart(question: Question, rows: Rows, columns: Array) -> Rows:
    """The inverse of :func:`_columns`."""
    position = 0

    def taken(parts: tuple[Array, ...]) -> tuple[Array, ...]:
        nonlocal position
        found = []
        for part in parts:
            found.append(columns[:, position : position + part.shape[1]])
            position += part.shape[1]
        return tuple(found)

    tau = taken(rows.tau)
    d = taken(rows.d) if question.uses_d else rows.d
    latency = taken(rows.latency) if question.uses_latency else rows.latency
    return replace(rows, tau=tau, d=d, latency=latency)


def _changed(question: Question, rows: Rows, columns: Array, generator: np.random.Generator) -> Rows:
    """One change of every row."""
    kind = generator.integers(_KINDS, size=len(rows))
    values = columns.copy()
    for index, change in enumerate(_CHANGES):
        where = np.flatnonzero(kind == index)
        if len(where):
            values[where] = change(values[where], rows, generator)
    made = _apart(question, rows, values)
    slack = np.flatnonzero(kind == len(_CHANGES))
    made = _slack(made, slack, generator) if question.uses_d else made
    M = _other_counts(rows, np.flatnonzero(kind == len(_CHANGES) + 1), generator)
    rho = rows.rho
    if rho is not None:
        where = np.flatnonzero(kind == len(_CHANGES) + 2)
        rho = rho.copy()
        moved = rho[where] + generator.integers(-2, 3, size=len(where)) / 16
        rho[where] = np.where(generator.random(len(where)) < 0.3, generator.choice([0.0, 0.5, 1.0], len(where)), moved)
    return replace(made, M=M, rho=rho)


def _pick(values: Array, generator: np.random.Generator) -> tuple[Array, Array]:
    return np.arange(len(values)), generator.integers(values.shape[1], size=len(values))


def _scaled(values: Array, rows: Rows, generator: np.random.Generator) -> Array:
    row, column = _pick(values, generator)
    values[row, column] *= np.exp2(generator.uniform(-3.0, 3.0, size=len(values)))
    return values


def _zero(values: Array, rows: Rows, generator: np.random.Generator) -> Array:
    values[_pick(values, generator)] = 0.0
    return values


def _copied(values: Array, rows: Rows, generator: np.random.Generator) -> Array:
    values[_pick(values, generator)] = values[_pick(values, generator)]
    return values


def _swapped(values: Array, rows: Rows, generator: np.random.Generator) -> Array:
    one, other = _pick(values, generator), _pick(values, generator)
    values[one], values[other] = values[other].copy(), values[one].copy()
    return values


def _combined(values: Array, rows: Rows, generator: np.random.Generator) -> Array:
    first, second = values[_pick(values, generator)], values[_pick(values, generator)]
    sign = generator.choice([-1.0, 1.0], size=len(values))
    values[_pick(values, generator)] = np.abs(first + sign * second)
    return values


def _snapped(values: Array, rows: Rows, generator: np.random.Generator) -> Array:
    largest = np.maximum(values.max(axis=1, keepdims=True), 1e-9)
    snapped: Array = np.rint(values / largest * generator.integers(1, 10, size=(len(values), 1)))
    return snapped


def _heavy(values: Array, rows: Rows, generator: np.random.Generator) -> Array:
    place = _pick(values, generator)
    values[place] = values.sum(axis=1) * np.exp2(generator.integers(-2, 6, size=len(values)))
    return values


def _levelled(values: Array, rows: Rows, generator: np.random.Generator) -> Array:
    keep = _pick(values, generator)
    kept = values[keep].copy()
    values[:] = values[_pick(values, generator)][:, None]
    values[keep] = kept
    return values


def _nudged(values: Array, rows: Rows, generator: np.random.Generator) -> Array:
    values[_pick(values, generator)] += generator.choice([-1.0, 1.0], size=len(values))
    return np.maximum(values, 0.0)


_CHANGES: tuple[Callable[[Array, Rows, np.random.Generator], Array], ...] = (
    _scaled,
    _zero,
    _copied,
    _swapped,
    _combined,
    _snapped,
    _heavy,
    _levelled,
    _nudged,
)


def _slack(rows: Rows, where: Array, generator: np.random.Generator) -> Rows:
    """A transfer of each of these rows takes what its sender has to spare."""
    d = tuple(part.copy() for part in rows.d)
    for tau, links in zip(rows.tau, d, strict=True):
        if links.shape[1] and len(where):
            link = generator.integers(links.shape[1], size=len(where))
            links[where, link] = tau[where].max(axis=1) - tau[where, link]
    return replace(rows, d=d)


def _other_counts(rows: Rows, where: Array, generator: np.random.Generator) -> Array:
    M = rows.M.copy()
    moved = M[where] + generator.integers(-2, 3, size=len(where))
    near_stages = rows.shape[0] + generator.integers(-3, 4, size=len(where))
    scaled = np.floor(M[where] * np.exp2(generator.uniform(-1.5, 1.5, size=len(where))))
    M[where] = np.choose(generator.integers(3, size=len(where)), [moved, near_stages, scaled])
    return np.clip(M, 1, MOST_MICROBATCHES)


def _with_stages(question: Question, rows: Rows, change: int, generator: np.random.Generator) -> Rows | None:
    """The rows with one stage more (a copy of another) or fewer in every pipeline, or in one where they are free."""
    sides = list(range(len(rows.tau)))
    if len(sides) == 2 and question.relation is None:
        sides = [int(generator.integers(2))]
    shape = [S + change if k in sides else S for k, S in enumerate(rows.shape)]
    if not len(rows) or min(shape) < question.least_stages or max(shape) > MOST_STAGES:
        return None
    tau, d, latency = (list(parts) for parts in (rows.tau, rows.d, rows.latency))
    for k in sides:
        S = rows.shape[k]
        place = int(generator.integers(S))
        if change < 0:
            link = min(place, S - 2)
            tau[k] = np.delete(tau[k], place, axis=1)
            d[k], latency[k] = (np.delete(part[k], link, axis=1) for part in (d, latency))
        else:
            tau[k] = np.insert(tau[k], place, tau[k][:, place], axis=1)
            for part in (d, latency):
                links = part[k]
                added = links[:, min(place, S - 2)] if S > 1 else np.zeros(len(rows))
                part[k] = np.insert(links, min(place, S - 1), added, axis=1)
    return Rows(tuple(tau), tuple(d), tuple(latency), rows.M, rows.rho)
