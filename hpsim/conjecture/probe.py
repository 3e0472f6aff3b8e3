"""One chunk of points looked at: what fails there, exactly, and what comes closest to failing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hpsim.claims.float_algebra import FloatDecision
from hpsim.claims.lanes import decide_lanes
from hpsim.conjecture.example import Example, Times, order_key
from hpsim.conjecture.question import Question
from hpsim.conjecture.space import Points
from hpsim.exact import exact
from hpsim.lanes import Array

Close = tuple[float, Callable[[], Example]]
Reader = Callable[[int, int], Callable[[], Example]]
"""Takes the point with some number of micro-batches out of a lane; what it returns reads it exactly."""

CLOSEST = 6  # kept of each batch
MOST_DECISIONS = 128  # on Fractions, a chunk: of what fails in float64, then of what is within rounding of failing


@dataclass
class Findings:
    """What some points came to.

    Attributes
    ----------
    points, undefined : int
        Points looked at; those of them where the statement is undefined.
    artefacts : int
        Points that failed in float64 and hold on Fractions.
    doubtful : int
        Points within rounding of failing that were not decided on Fractions.
    example : Example or None
        The simplest counterexample among those that were decided, exactly.
    closest : list of (margin, callable)
        Points where the statement held by the least: the relative margin, and what reads the point exactly, called
        only for those that are used.
    """

    points: int = 0
    undefined: int = 0
    artefacts: int = 0
    doubtful: int = 0
    example: Example | None = None
    closest: list[Close] = field(default_factory=list)

    def add(self, other: Findings, keep: int) -> None:
        """Take in the findings at other points."""
        self.points += other.points
        self.undefined += other.undefined
        self.artefacts += other.artefacts
        self.doubtful += other.doubtful
        if other.example is not None and (self.example is None or order_key(other.example) < order_key(self.example)):
            self.example = other.example
        self.closest = sorted(self.closest + other.closest, key=lambda close: close[0])[:keep]


def look(question: Question, found: Points, most: int = MOST_DECISIONS) -> Findings:
    """Every point of ``found``, in float64 with margins, and on Fractions what fails or may fail."""
    decision = decide_lanes(question.statement, question.regimes, found.pipelines, found.counts, found.rho)
    shape = decision.truth.shape
    truth, defined, near = (
        part.reshape(shape[0], -1)[:, : found.n] for part in (decision.truth, decision.defined, decision.near)
    )
    findings = Findings(points=truth.size)
    findings.undefined = truth.size - int(np.count_nonzero(defined))
    failing = defined & ~truth
    example_at = _reader(question, found)
    tried = 0
    for doubtful, where in ((False, failing), (True, near & ~failing)):
        places = np.argwhere(where) if where.any() else ()
        for j, lane in places[: most - tried]:
            tried += 1
            example = example_at(int(j), int(lane))()
            truth = question.truth_at(example)
            if truth is False:
                findings.add(Findings(example=example), CLOSEST)
                return findings
            findings.artefacts += truth is True and not doubtful
            findings.doubtful += truth is None and not doubtful
        findings.doubtful += max(0, len(places) - most)
    findings.closest = _closest(decision, found, example_at)
    return findings


def _closest(decision: FloatDecision, found: Points, example_at: Reader) -> list[Close]:
    if decision.margin is None:
        return []
    k = len(found.counts)
    margin = np.where(decision.defined, decision.margin, np.inf) if not decision.defined.all() else decision.margin
    margin = margin.reshape(k, -1)[:, : found.n]
    least = margin.min(axis=0)
    keep = min(CLOSEST, found.n)
    lanes = np.argpartition(least, keep - 1)[:keep]
    lanes = lanes[np.lexsort((lanes, least[lanes]))]
    return [
        (float(least[lane]), example_at(int(np.argmin(margin[:, lane])), int(lane)))
        for lane in lanes
        if np.isfinite(least[lane])
    ]


def _reader(question: Question, found: Points) -> Reader:
    """A function that takes the point with the ``j``-th number of micro-batches out of a lane, to be read exactly."""
    read = exact if found.decimal else Fraction

    def column(values: Array, lane: int) -> tuple[float, ...]:
        block, place = divmod(lane, values.shape[2])
        return tuple(values[block, :, place].tolist())

    def vector(values: tuple[float, ...], scale: float | None) -> tuple[Fraction, ...]:
        if scale is None:
            return tuple(map(read, values))
        return tuple(Fraction(round(value * scale), int(scale)) for value in values)

    def example_at(j: int, lane: int) -> Callable[[], Example]:
        sides = [(column(side.tau, lane), column(side.d, lane), column(side.latency, lane)) for side in found.pipelines]
        scales = [None] * len(sides) if found.scale is None else [float(scale[lane]) for scale in found.scale]
        M = int(found.counts[j, 0, 0])
        share = float(found.rho.values.reshape(-1)[lane]) if question.uses_rho and found.rho is not None else None

        def example() -> Example:
            pairs = zip(sides, scales, strict=True)
            pipelines = tuple(Times(*(vector(values, scale) for values in side)) for side, scale in pairs)
            return Example(pipelines, M, None if share is None else read(share))

        return example

    return example_at
