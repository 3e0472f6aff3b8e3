"""From a counterexample to the simplest one: small passes over one ``consider``, then everything simpler that is small.

Candidates are looked at many at a time in float64; every step is decided on Fractions, simplest candidate first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hpsim.conjecture import passes
from hpsim.conjecture.example import Example, order_key
from hpsim.conjecture.mutate import mutated
from hpsim.conjecture.point_rows import Rows, decide_rows, known_margins, rows_of
from hpsim.conjecture.question import Question
from hpsim.conjecture.small import Level, counts_up_to, levels, shapes_below, simplest

SMALLER_SYSTEMS = 60_000  # pipelines of each smaller shape that are tried exhaustively, each with many M
SAME_SHAPE = 600_000  # pipelines of the final shape and M
_ROUNDS = 6
_CHILDREN = 48
_PARENTS = 64
_MOST_EXACT, _MOST_NEAR = 40, 12  # decisions a pass: of what fails in float64, of what is within rounding of failing


@dataclass
class Shrinker:
    """A question with its simplest counterexample so far.

    Attributes
    ----------
    question : Question
    best : Example
        Refutes the statement exactly.
    steps : int
        How often it became simpler.
    seed : int
        Of the random changes that look for smaller shapes.
    """

    question: Question
    best: Example
    steps: int = 0
    seed: int = 0
    _shapes_done: set[tuple[int, ...]] = field(default_factory=set)
    _counts_done: set[tuple[tuple[int, ...], int]] = field(default_factory=set)
    _levels_done: dict[tuple[Level, int], Example | None] = field(default_factory=dict)

    def consider(self, candidates: Iterable[Example]) -> bool:
        """Take the simplest candidate that is simpler than the best so far and refutes the statement exactly."""
        limit = order_key(self.best)
        keyed = {example: order_key(example) for example in candidates}
        simpler = sorted((example for example, key in keyed.items() if key < limit), key=keyed.__getitem__)
        for example in self._suspects([example for example in simpler if self.question.admits(example)]):
            if self.question.refuted_by(example):
                self.best = example
                self.steps += 1
                return True
        return False

    def _suspects(self, examples: Sequence[Example]) -> list[Example]:
        """The first of those that fail, or may fail, in float64; in the same order."""
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for index, example in enumerate(examples):
            by_shape.setdefault(example.shape, []).append(index)
        clear: list[int] = []
        near: list[int] = []
        for indices in by_shape.values():
            decision = decide_rows(self.question, rows_of([examples[index] for index in indices]))
            near += [indices[k] for k in np.flatnonzero(decision.near)]
            clear += [indices[k] for k in np.flatnonzero(decision.suspects & ~decision.near)]
        return [examples[index] for index in sorted(sorted(clear)[:_MOST_EXACT] + sorted(near)[:_MOST_NEAR])]

    def run(self) -> Example:
        """Shrink as far as the passes and the exhaustive search of small systems reach."""
        while True:
            self._local()
            attempts = (self._smaller_shape, self._fewer_microbatches, self._smaller_times, self._smaller_fractions)
            if not any(attempt() for attempt in attempts):
                return self.best

    def _local(self) -> None:
        """Every pass until none helps."""
        helped = True
        while helped:
            helped = False
            for a_pass in self._passes():
                while self.consider(list(a_pass(self.best))):
                    helped = True

    def _passes(self) -> tuple[Callable[[Example], Iterator[Example]], ...]:
        return passes.for_question(self.question)

    def _smaller_shape(self) -> bool:
        """Any counterexample with fewer stages."""
        shape = self.best.shape
        for below in shapes_below(self.question, shape):
            if below in self._shapes_done:
                continue
            self._shapes_done.add(below)
            counts = counts_up_to(max(self.best.M, 12), below)
            if self._exhaust(below, counts, SMALLER_SYSTEMS) or self._explore(below, None):
                return True
        return False

    def _fewer_microbatches(self) -> bool:
        """Any counterexample with as many stages and fewer micro-batches."""
        shape = self.best.shape
        if self.best.M == 1 or (shape, self.best.M) in self._counts_done:
            return False
        self._counts_done.add((shape, self.best.M))
        counts = [M for M in counts_up_to(self.best.M, shape) if M < self.best.M]
        return self._exhaust(shape, counts, SMALLER_SYSTEMS) or self._explore(shape, self.best.M - 1)

    def _smaller_times(self) -> bool:
        """The first counterexample in the written order with as many stages and micro-batches, all times whole."""
        shape = self.best.shape
        zeros = sum(not time for times in self.best.pipelines for time in times.tau)
        for positive in (True, False)[: 1 + (zeros > 0)]:
            for level in levels(self.question, shape, SAME_SHAPE, positive):
                key = (level, self.best.M)
                if key not in self._levels_done:
                    self._levels_done[key] = simplest(self.question, level, [self.best.M]).example
                found = self._levels_done[key]
                if found is not None and self._taken(found):
                    return True
                if found is not None and positive:
                    return False  # nothing simpler at all: this is the first level that has one
        return False

    def _smaller_fractions(self) -> bool:
        """Halves, thirds, quarters and sixths, where whole numbers are not enough."""
        if all(value.denominator == 1 for times in self.best.pipelines for value in times.values):
            return False
        shape = self.best.shape
        return any(self._exhaust(shape, [self.best.M], SMALLER_SYSTEMS, parts) for parts in (2, 3, 4, 6))

    def _exhaust(self, shape: tuple[int, ...], counts: Sequence[int], most: int, parts: int = 1) -> bool:
        best: Example | None = None
        for level in levels(self.question, shape, most, parts=parts):
            found = simplest(self.question, level, counts).example
            if found is not None and (best is None or order_key(found) < order_key(best)):
                best = found
                counts = [M for M in counts if M <= found.M]
        return best is not None and self._taken(best)

    def _explore(self, shape: tuple[int, ...], most_microbatches: int | None) -> bool:
        """Random changes of the best and of plain pipelines of this shape, those nearest to failing kept."""
        generator = np.random.default_rng([self.seed, *shape, most_microbatches or 0])
        pool = _plain_rows(self.question, shape, self.best, generator)
        for _ in range(_ROUNDS):
            groups = [rows for rows in mutated(self.question, pool, _CHILDREN, generator) if rows.shape == shape]
            for rows in groups:
                if most_microbatches is not None:
                    rows = Rows(rows.tau, rows.d, rows.latency, np.minimum(rows.M, most_microbatches), rows.rho)
                decision = decide_rows(self.question, rows, margins=True)
                failing = np.flatnonzero(decision.suspects)[:_MOST_EXACT]
                if self.consider([rows.example(int(index)) for index in failing]):
                    return True
                margin = known_margins(decision)
                pool = rows[np.argsort(margin, kind="stable")[:_PARENTS]]
        return False

    def _taken(self, example: Example) -> bool:
        if order_key(example) >= order_key(self.best):
            return False
        self.best = example
        self.steps += 1
        return True


def shrink(question: Question, example: Example, seed: int = 0) -> Example:
    """The simplest counterexample that is found from ``example``, in the written order of *simpler*.

    Parameters
    ----------
    question : Question
        What is asked; nothing with fewer stages than its least is looked at.
    example : Example
        Refutes the statement exactly.
    seed : int
        Of the random changes that look for smaller shapes.

    Raises
    ------
    ValueError
        When ``example`` does not refute the statement.
    """
    if not question.refuted_by(example):
        raise ValueError("the example does not refute the statement")
    return Shrinker(question, example, seed=seed).run()


def _plain_rows(question: Question, shape: tuple[int, ...], best: Example, generator: np.random.Generator) -> Rows:
    """Rows of this shape to start from: small whole numbers, as many micro-batches as the best has or fewer."""
    n = _PARENTS

    def some(width: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.floor(generator.random((n, width)) ** 2 * 12)

    tau = tuple(some(S) + 1.0 for S in shape)
    d, latency = (
        tuple(some(S - 1) if used else np.zeros((n, S - 1)) for S in shape)
        for used in (question.uses_d, question.uses_latency)
    )
    M = np.floor(generator.random(n) * best.M) + 1.0
    rho = np.rint(generator.random(n) * 16) / 16 if question.uses_rho else None
    return Rows(tau, d, latency, M, rho)
