"""Prove or refute a statement over all pipelines: the prover's door."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hpsim.claims.catalogue import Claim
from hpsim.conjecture.asked import asked_claim
from hpsim.conjecture.prove.ladder import Ladder
from hpsim.conjecture.prove.problem import Problem, problems_of
from hpsim.conjecture.prove.smt import Prover, check_installed
from hpsim.conjecture.prove.unsupported import Unsupported
from hpsim.conjecture.prove.verdict import Verdict
from hpsim.conjecture.solver import stoppable_solver
from hpsim.errors import HpsimError
from hpsim.regime import Regime
from hpsim.vectors import in_short

SECONDS = 30.0


def prove(
    asked: str | Claim,
    *,
    regime: Mapping[str, Regime | Mapping[str, Any]] | None = None,
    relation: str | None = None,
    seconds: float = SECONDS,
    stages: int | None = None,
    microbatches: int | None = None,
) -> Verdict:
    """Prove or refute a statement over all pipelines, as far as that goes within the time.

    Parameters
    ----------
    asked : str or Claim
        A claim, the id of a claim of the catalogue, or a statement.
    regime : mapping of str to Regime or mapping, optional
        What regimes that a text names mean: a :class:`~hpsim.regime.Regime`, or knobs as in a sweep file.
    relation : str, optional
        How pipelines A and B of a text are related: ``same S``, ``permutation``, ``same tau``, ``same d``.
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
        When a bound, the time limit, a regime or the relation makes no sense.
    KeyboardInterrupt
        After SIGINT, also while the solver works.

    Examples
    --------
    >>> prove("T_blocking <= T_async + (M-1)*max(d)")
    <Verdict: proved for every S and M: by induction (7 lemmas)>
    """
    _check_limits(seconds, stages, microbatches)
    check_installed()
    began = time.monotonic()
    claim = asked_claim(asked, regime, relation)
    try:
        problems = problems_of(claim)
    except Unsupported as reason:
        parsed = claim.parsed
        return Verdict("undecided", parsed.text.strip(), (), reason=str(reason))
    with stoppable_solver():
        verdict = prove_problems(problems, began + seconds, stages, microbatches)
    return replace(verdict, seconds=time.monotonic() - began)


def prove_problems(
    problems: tuple[Problem, ...], deadline: float, stages: int | None = None, microbatches: int | None = None
) -> Verdict:
    """The verdict on a statement with each choice of its regimes, by ``deadline`` on the clock of time.monotonic."""
    return Ladder(problems, Prover(deadline), stages, microbatches).climb()


def _check_limits(seconds: float, stages: int | None, microbatches: int | None) -> None:
    if not isinstance(seconds, int | float) or not (math.isfinite(seconds) and seconds > 0):
        found = f"{seconds:g}" if isinstance(seconds, int | float) else in_short(seconds)
        raise HpsimError("seconds", found, "a time limit above 0, for example 30")
    for name, bound in (("stages", stages), ("microbatches", microbatches)):
        if bound is not None and (not isinstance(bound, int) or bound < 1):
            raise HpsimError(name, in_short(bound), "a whole number of at least 1")
