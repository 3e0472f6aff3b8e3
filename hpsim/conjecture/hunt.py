"""The two parts of a search that are not random draws: changes of what nearly fails, and every small system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from hpsim.claims.float_algebra import FloatDecision
from hpsim.conjecture.mutate import mutated
from hpsim.conjecture.point_rows import Rows, decide_rows, known_margins, on_grid, rows_of
from hpsim.conjecture.probe import Close, Findings
from hpsim.conjecture.question import Question
from hpsim.conjecture.small import counts_up_to, levels, simplest, size
from hpsim.lanes import Array

SHAPES = 6  # numbers of stages that are followed at a time
PARENTS = 48  # of each shape
CHILDREN = 64  # of each parent
MOST_STAGES = 7  # of every small system, in all
MOST_CLEAR, MOST_NEAR = 64, 8  # decisions on Fractions: of what fails in float64, of what is within rounding


def targeted(question: Question, closest: Sequence[Close], budget: int, seed: int) -> Iterator[Findings]:
    """Rounds of changes of the points nearest to failing; of all variants those nearest to failing go on."""
    pool: dict[tuple[int, ...], tuple[Rows, Array]] = {}
    parents = [(margin, example()) for margin, example in closest]
    for shape in {example.shape for _, example in parents}:
        some = [(m, e) for m, e in parents if e.shape == shape][:PARENTS]
        pool[shape] = on_grid(rows_of([example for _, example in some])), np.array([margin for margin, _ in some])
    spent = number = 0
    while pool and spent < budget:
        findings = Findings()
        best = sorted(pool, key=lambda shape: (float(pool[shape][1].min()), shape))[:SHAPES]
        pool = {shape: pool[shape] for shape in best}
        for shape in best:
            generator = np.random.default_rng([seed % 2**32, seed // 2**32, number, *shape])
            number += 1
            for rows in mutated(question, pool[shape][0], CHILDREN, generator):
                rows = rows[slice(0, budget - spent)]
                if not len(rows):
                    continue
                spent += len(rows)
                decision = decide_rows(question, rows, margins=True)
                findings.add(judged(question, rows, decision), 1)
                if findings.example is not None:
                    yield findings
                    return
                _keep(pool, rows, decision)
        yield findings


def judged(question: Question, rows: Rows, decision: FloatDecision) -> Findings:
    """What these rows came to; what fails, or may fail, is decided on Fractions."""
    findings = Findings(points=len(rows), undefined=int(np.count_nonzero(~decision.defined)))
    clear = np.flatnonzero(decision.defined & ~decision.truth & ~decision.near)
    near = np.flatnonzero(decision.near)
    for index in (*clear[:MOST_CLEAR], *near[:MOST_NEAR]):
        example = rows.example(int(index))
        truth = question.truth_at(example)
        if truth is False:
            findings.example = example
            return findings
        failing = bool(decision.defined[index] and not decision.truth[index])
        findings.artefacts += failing and truth is True
        findings.doubtful += failing and truth is None
    findings.doubtful += max(0, len(clear) - MOST_CLEAR) + max(0, len(near) - MOST_NEAR)
    if decision.defined.any():
        margin = known_margins(decision)
        nearest = int(np.argmin(margin))
        example = rows.example(nearest)
        findings.closest = [(float(margin[nearest]), lambda: example)]
    return findings


def _keep(pool: dict[tuple[int, ...], tuple[Rows, Array]], rows: Rows, decision: FloatDecision) -> None:
    """The variants nearest to failing join the pool; equal margins keep what came first."""
    margin = known_margins(decision)
    if rows.shape in pool:
        before, known = pool[rows.shape]
        rows, margin = _joined(before, rows), np.concatenate([known, margin])
    # half by margin alone, half with different margins, so that one family of points does not fill the pool
    order = np.argsort(margin, kind="stable")
    _, first = np.unique(margin, return_index=True)
    kept = np.unique(np.concatenate([order[: PARENTS // 2], first[: PARENTS // 2]]))
    pool[rows.shape] = rows[kept], margin[kept]


def _joined(one: Rows, other: Rows) -> Rows:
    def both(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple(np.concatenate(pair) for pair in zip(a, b, strict=True))

    rho = None if one.rho is None or other.rho is None else np.concatenate([one.rho, other.rho])
    return Rows(
        both(one.tau, other.tau),
        both(one.d, other.d),
        both(one.latency, other.latency),
        np.concatenate([one.M, other.M]),
        rho,
    )


def every_small_system(question: Question, budget: int) -> Iterator[Findings]:
    """All whole times with small sums, few stages first; the budget is shared among the numbers of stages."""
    shapes = _shapes(question)
    spent = 0
    for place, shape in enumerate(shapes):
        share = (budget - spent) // (len(shapes) - place)
        counts = counts_up_to(12, shape)
        used = 0
        for level in levels(question, shape, max(share, 1)):
            if used + size(question, level) * len(counts) > share:
                break
            findings = simplest(question, level, counts)
            used += findings.points
            yield findings
            if findings.example is not None:
                return
        spent += used


def _shapes(question: Question) -> list[tuple[int, ...]]:
    if question.only_stages is not None:
        return [(question.only_stages,) * len(question.pipelines)]
    if len(question.pipelines) == 1:
        return [(S,) for S in range(question.least_stages, MOST_STAGES + 1)]
    if question.relation is not None:
        return [(S, S) for S in range(question.least_stages, MOST_STAGES // 2 + 1)]
    pairs = product(range(question.least_stages, MOST_STAGES), repeat=2)
    return sorted((pair for pair in pairs if sum(pair) <= MOST_STAGES - 1), key=lambda pair: (sum(pair), pair))
