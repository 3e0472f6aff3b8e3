"""The last part of a search: the solver is asked about small S and M, where it knows of all real times at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from hpsim.conjecture.example import Example
from hpsim.conjecture.prove.bounded import Outcome, at_every_m, at_one_m, combinations
from hpsim.conjecture.prove.explicit import Spelled
from hpsim.conjecture.prove.problem import Problem
from hpsim.conjecture.prove.smt import Prover
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.question import Question
from hpsim.conjecture.solver import missing_solver, stoppable_solver
from hpsim.processors import Abandoned

SECONDS = 3.0  # in all
SECONDS_EACH = 0.5
FAR_SHARE = 0.2  # of the time left: for any number of micro-batches
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


def can_be_proved(question: Question) -> bool:
    """Whether the prover takes the statement at all: whether it can be put to the solver for a small S and M."""
    problem = Problem(question)
    smallest = question.only_stages or 2
    try:
        for stages in islice(combinations(problem, smallest), 1):
            Spelled(problem, stages, 2)
    except Unsupported:
        return False
    return True


def ask_the_solver(question: Question) -> Iterator[Answer]:
    """One answer after the other, few stages first; none where the solver is missing or cannot say it.

    Raises
    ------
    Abandoned
        When a signal arrives while the solver works.
    """
    if missing_solver() is not None:
        return
    problem = Problem(question)
    prover = Prover(time.monotonic() + SECONDS)
    for largest in range(1, LARGEST + 1):
        for stages in filter(question.fits, combinations(problem, largest)):
            far = _asked(partial(at_every_m, problem, stages, prover.within(FAR_SHARE)))
            if far is not None and far.counterexample is not None:  # perhaps of very many micro-batches
                example = far.counterexample.example
                yield Answer(stages, example.M, example, False)
            for M in range(1, LARGEST + 1):
                if prover.left <= 0:
                    return
                outcome = _asked(partial(at_one_m, problem, stages, M, prover, SECONDS_EACH))
                if outcome is None:
                    return
                near = None if outcome.counterexample is None else outcome.counterexample.example
                yield Answer(stages, M, near, outcome.shown)


def _asked(question: Callable[[], Outcome]) -> Outcome | None:
    """What the solver says; None where it cannot be put to it."""
    try:
        with stoppable_solver():
            return question()
    except Unsupported:
        return None
    except KeyboardInterrupt:  # the signal has been noted by now
        raise Abandoned from None
