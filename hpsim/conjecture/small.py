"""Every pipeline of small whole times, by the sum of its times as in the order of *simpler*, with many M at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import comb, factorial

import numpy as np

from hpsim.claims.lanes import LaneShares, LaneTimes, decide_lanes
from hpsim.conjecture.example import Example, order_key
from hpsim.conjecture.point_rows import AT_ONCE, Rows
from hpsim.conjecture.probe import Findings
from hpsim.conjecture.question import Question
from hpsim.kernels.chain import LANES
from hpsim.lanes import Array, pack

MOST_TOTAL = 100
"""Beyond it, levels are large or, with one or two times, of no interest."""
SHARES = (0.0, 1.0, 0.5, 0.25, 0.75)
_MOST_EXACT = 40  # decisions on Fractions for one M and some thousand pipelines; nearly always the first is right
_MOST_NEAR = 4  # of what is within rounding of failing: among whole numbers this small, nearly always a tie


@dataclass(frozen=True)
class Level:
    """Pipelines of one shape whose times are whole and add up to one total.

    Attributes
    ----------
    shape : tuple of int
        Number of stages of each pipeline.
    total : int
        Sum of the times that are free; those that the relation copies do not count.
    positive : bool
        Whether every service time is at least 1.
    parts : int
        What the whole times are divided by.
    """

    shape: tuple[int, ...]
    total: int
    positive: bool = False
    parts: int = 1


def size(question: Question, level: Level) -> int:
    """How many pipelines (or pairs) a level holds."""
    widths = _widths(question, level.shape)
    spare = level.total - (widths[0] if level.positive else 0)
    if spare < 0:
        return 0
    orders = factorial(level.shape[0]) if question.relation == "permutation" and len(level.shape) == 2 else 1
    n = sum(widths)
    return orders * (comb(spare + n - 1, n - 1) if n else 1)


def levels(
    question: Question, shape: tuple[int, ...], most: int, positive: bool = False, parts: int = 1
) -> Iterator[Level]:
    """Levels by ascending total, as long as all together hold at most ``most`` pipelines."""
    seen = 0
    total = 1
    while total <= MOST_TOTAL:
        level = Level(shape, total, positive, parts)
        seen += size(question, level)
        if seen > most:
            return
        yield level
        total += 1


def counts_up_to(most: int, shape: tuple[int, ...]) -> list[int]:
    """Numbers of micro-batches worth trying: every small one, and those near the number of stages."""
    near = {S + k for S in shape for k in (-2, -1, 0, 1, 2)}
    return sorted(M for M in {*range(1, 9), *near, 12, 16, most} if 1 <= M <= most)


def simplest(question: Question, level: Level, counts: Sequence[int]) -> Findings:
    """What a level came to, with its simplest counterexample, decided on Fractions."""
    stops = np.array(counts, dtype=np.float64)[:, None, None]
    shares = SHARES if question.uses_rho else (None,)
    failing: list[Rows] = []
    unit = 0.0 if level.parts & (level.parts - 1) else 1.0 / level.parts
    findings = Findings()
    for rows in _rows(question, level):
        pipelines = [
            LaneTimes(pack(tau), pack(d), pack(latency), unit)
            for tau, d, latency in zip(rows.tau, rows.d, rows.latency, strict=True)
        ]
        for share in shares:
            findings.points += len(rows) * len(counts)
            rho = None
            if share is not None:
                rho = LaneShares(np.full((len(pipelines[0].tau), LANES), share), 0.25)
            decision = decide_lanes(question.statement, question.regimes, pipelines, stops, rho, margins=False)
            clear, near, missing = (
                part.reshape(len(counts), -1)[:, : len(rows)]
                for part in (
                    decision.defined & ~decision.truth & ~decision.near,
                    decision.near,
                    ~decision.defined & ~decision.near,
                )
            )
            findings.undefined += int(np.count_nonzero(missing))
            findings.doubtful += int(np.maximum(near.sum(axis=1) - _MOST_NEAR, 0).sum())
            for suspects, most in ((clear, _MOST_EXACT), (near, _MOST_NEAR)):
                for j in np.flatnonzero(suspects.any(axis=1)).tolist():
                    found = rows[np.flatnonzero(suspects[j])]
                    found = found[_plainest(found, most)]
                    shared = None if share is None else np.full(len(found), share)
                    M = np.full(len(found), counts[j], dtype=np.float64)
                    failing.append(Rows(found.tau, found.d, found.latency, M, shared))
    findings.example = _first(question, failing, level.parts)
    return findings


def _first(question: Question, failing: list[Rows], parts: int) -> Example | None:
    """The simplest of the suspects that is a counterexample exactly."""
    examples = [rows.example(index, parts) for rows in failing for index in range(len(rows))]
    return next((example for example in sorted(examples, key=order_key) if question.refuted_by(example)), None)


def _plainest(rows: Rows, most: int) -> Array:
    """The rows that come first in the order of *simpler*; they share M and the sum of their times."""
    values = np.concatenate([part for side in zip(rows.tau, rows.d, strict=True) for part in side], axis=1)
    latency = np.concatenate(rows.latency, axis=1)
    if latency.any():
        values = np.concatenate([values, latency], axis=1)
    zeros = sum((tau == 0).sum(axis=1) for tau in rows.tau)
    ordered = np.sort(values, axis=1)
    distinct = 1 + (np.diff(ordered, axis=1) != 0).sum(axis=1)
    fractions = (values != np.rint(values)).sum(axis=1)
    keys = [*values.T[::-1], distinct, values.sum(axis=1), fractions, zeros]
    order: Array = np.lexsort(keys)
    return order[:most]


def _widths(question: Question, shape: tuple[int, ...]) -> tuple[int, int]:
    """How many service times, and how many other times, are free."""
    tau = list(shape)
    links = [(S - 1) * (question.uses_d + question.uses_latency) for S in shape]
    if question.copies("tau"):
        tau = tau[:1]
    if question.copies("d"):
        links = links[:1]
    return sum(tau), sum(links)


def _rows(question: Question, level: Level) -> Iterator[Rows]:
    """The pipelines of a level, some at a time."""
    taus, links = _widths(question, level.shape)
    vectors = _vectors(taus + links, level.total - (taus if level.positive else 0))
    for first in range(0, len(vectors), AT_ONCE):
        values = vectors[first : first + AT_ONCE].astype(np.float64)
        if level.positive:
            values[:, :taus] += 1.0
        values /= level.parts
        for rows in _apart(question, level.shape, values):
            serving = np.logical_and.reduce([tau.any(axis=1) for tau in rows.tau])
            if serving.any():
                yield rows if serving.all() else rows[serving]


def _apart(question: Question, shape: tuple[int, ...], values: Array) -> Iterator[Rows]:
    """Free entries as pipelines; what the relation copies is copied."""
    position = 0

    def taken(width: int) -> Array:
        nonlocal position
        position += width
        return values[:, position - width : position]

    tau = [taken(S) for S in (shape[:1] if question.copies("tau") else shape)]
    linked = shape[:1] if question.copies("d") else shape
    d = [taken(S - 1) if question.uses_d else np.zeros((len(values), S - 1)) for S in linked]
    latency = [taken(S - 1) if question.uses_latency else np.zeros((len(values), S - 1)) for S in linked]
    if question.copies("d"):
        d, latency = d * 2, latency * 2
    M = np.ones(len(values))
    if question.copies("tau") and question.copies("d"):
        for order in permutations(range(shape[0])):
            yield Rows((tau[0], tau[0][:, order]), tuple(d), tuple(latency), M, None)
        return
    if question.copies("tau"):
        tau = tau * 2
    yield Rows(tuple(tau), tuple(d), tuple(latency), M, None)


@lru_cache(maxsize=256)
def _vectors(n: int, total: int) -> Array:
    """All vectors of n whole numbers from 0 that add up to ``total``, in lexicographic order."""
    if n == 0 or total < 0:
        return np.zeros((int(total == 0), n), dtype=np.int16)
    if n == 1:
        return np.array([[total]], dtype=np.int16)
    parts = []
    for first in range(total + 1):
        rest = _vectors(n - 1, total - first)
        parts.append(np.concatenate([np.full((len(rest), 1), first, dtype=np.int16), rest], axis=1))
    return np.concatenate(parts)


def shapes_below(question: Question, shape: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """Shapes with fewer stages in all than ``shape``, or as many but fewer in A; simplest first."""
    least = question.least_stages
    if question.only_stages is not None:
        return []
    if len(shape) == 1:
        return [(S,) for S in range(least, shape[0])]
    if question.relation is not None:
        return [(S, S) for S in range(least, shape[0])]
    total = sum(shape)
    pairs = [(a, b) for a, b in product(range(least, total), repeat=2) if (a + b, (a, b)) < (total, shape)]
    return sorted(pairs, key=lambda pair: (sum(pair), pair))
