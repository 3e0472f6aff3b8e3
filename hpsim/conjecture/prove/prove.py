"""Prove or refute a statement over all pipelines: the prover's door."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from hpsim.claims.catalogue import Claim
from hpsim.claims.catalogue import claim as claim_of
from hpsim.conjecture.prove.ladder import Ladder
from hpsim.conjecture.prove.problem import Problem, problems_of
from hpsim.conjecture.prove.smt import Prover, check_installed
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.prove.verdict import Verdict
from hpsim.errors import HpsimError

SECONDS = 30.0


def prove(
    asked: str | Claim, *, seconds: float = SECONDS, stages: int | None = None, microbatches: int | None = None
) -> Verdict:
    """Prove or refute a statement over all pipelines, as far as that goes within the time.

    Parameters
    ----------
    asked : str or Claim
        A claim, the id of a claim of the catalogue, or a statement.
    seconds : float
        Time limit in all.
    stages, microbatches : int, optional
        How far to go where the proof takes bounds; by default as far as the time allows.

    Raises
    ------
    StatementError
        When the text is neither an id nor a statement.
    MissingExtraError
        When the solver is not installed.
    HpsimError
        When a bound or the time limit makes no sense.
    """
    _check_limits(seconds, stages, microbatches)
    check_installed()
    began = time.monotonic()
    claim = claim_of(asked) if isinstance(asked, str) else asked
    try:
        problems = problems_of(claim)
    except Unsupported as reason:
        parsed = claim.parsed
        return Verdict("undecided", parsed.text.strip(), (), reason=str(reason))
    verdict = prove_problems(problems, began + seconds, stages, microbatches)
    return replace(verdict, seconds=time.monotonic() - began)


def prove_problems(
    problems: tuple[Problem, ...], deadline: float, stages: int | None = None, microbatches: int | None = None
) -> Verdict:
    """The verdict on a statement with each choice of its regimes, by ``deadline`` on the clock of time.monotonic."""
    return Ladder(problems, Prover(deadline), stages, microbatches).climb()


def _check_limits(seconds: float, stages: int | None, microbatches: int | None) -> None:
    if not (math.isfinite(seconds) and seconds > 0):
        raise HpsimError("seconds", f"{seconds:g}", "a time limit above 0, for example 30")
    for name, bound in (("stages", stages), ("microbatches", microbatches)):
        if bound is not None and bound < 1:
            raise HpsimError(name, str(bound), "a whole number of at least 1")
