"""The last part of a search: the solver is asked about small S and M, where it knows of all real times at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from hpsim.conjecture.example import Example
from hpsim.conjecture.prove.bounded import at_one_m, combinations
from hpsim.conjecture.prove.problem import Problem
from hpsim.conjecture.prove.smt import Prover
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.question import Question
from hpsim.conjecture.solver import missing_solver

SECONDS = 3.0  # in all
SECONDS_EACH = 0.5
LARGEST = 3  # stages of each pipeline, and micro-batches


@dataclass(frozen=True)
class Answer:
    """What the solver said about some numbers of stages and one of micro-batches.

    Attributes
    ----------
    stages : tuple of int
        Of each pipeline.
    M : int
    example : Example or None
        A counterexample, decided on Fractions.
    shown : bool
        There is none, for any real times.
    """

    stages: tuple[int, ...]
    M: int
    example: Example | None
    shown: bool


def ask_the_solver(question: Question) -> Iterator[Answer]:
    """One answer after the other, few stages first; none where the solver is missing or cannot say it."""
    if missing_solver() is not None:
        return
    problem = Problem(question)
    prover = Prover(time.monotonic() + SECONDS)
    for largest in range(1, LARGEST + 1):
        for stages in combinations(problem, largest):
            for M in range(1, LARGEST + 1):
                if prover.left <= 0:
                    return
                try:
                    outcome = at_one_m(problem, stages, M, prover, SECONDS_EACH)
                except Unsupported:
                    return
                example = None if outcome.counterexample is None else outcome.counterexample.example
                yield Answer(stages, M, example, outcome.shown)
