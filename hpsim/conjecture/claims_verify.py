"""Every claim of the catalogue, decided as far as that goes, and compared with what is expected of it.

Known counterexamples come first, then the proof, then, where no proof covers every S and M, the exact search. Bounds of
proofs and numbers of points are fixed, so that the outcome is the same on every machine that keeps within the time.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from hpsim.claims.catalogue import Claim, catalogue, nearest_ids
from hpsim.conjecture.counterexample import Counterexample, load_counterexample, read_example, shipped
from hpsim.conjecture.example import Example, order_key
from hpsim.conjecture.question import Question, is_drawn, question_of
from hpsim.conjecture.replay import Replay, replay
from hpsim.conjecture.search import DRAWS, SearchResult, search
from hpsim.conjecture.shrink import shrink
from hpsim.errors import HpsimError
from hpsim.processors import Abandoned, threads
from hpsim.sweep.executors import Interrupted, run_all

if TYPE_CHECKING:
    from hpsim.conjecture.prove.verdict import Verdict as Proof

BUDGET = 200_000  # points of the exact search, a claim
SECONDS = 15.0  # at most, a proof; the bounds below take a fifth of that
BOUNDS, BOUNDS_DRAWN = (6, 6), (3, 4)  # S and M of proofs by unrolling; with drawn knobs each is many proofs in one
_TO_HOLD, _TO_FAIL = "expected to hold", "expected to fail"

OnProgress = Callable[[int, int, str], None]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome:
    """What became of one claim.

    Attributes
    ----------
    claim : Claim
    proof : Verdict or None
        The prover's verdict; None where none was asked for.
    search : SearchResult or None
        What the exact search came to; None where none was needed.
    refutation : Counterexample or None
        Where it fails.
    complaint : str
        What is not as expected; empty where everything is.
    seconds : float
        Wall time.
    """

    claim: Claim
    proof: Proof | None = None
    search: SearchResult | None = None
    refutation: Counterexample | None = None
    complaint: str = ""
    seconds: float = 0.0

    @property
    def as_expected(self) -> bool:
        """Whether what is expected to hold was not refuted, and what is expected to fail was."""
        return not self.complaint

    @property
    def points(self) -> int:
        """Points of the search at which the statement is defined and was decided."""
        if self.search is None or self.search.margin is None:  # without a margin it is defined nowhere
            return 0
        return self.search.decided

    @property
    def verdict(self) -> Literal["refuted", "proved", "held", "undecided"]:
        """The strongest that can be said."""
        if self.refutation is not None:
            return "refuted"
        if self.proof is not None and self.proof.status == "proved":
            return "proved"
        return "held" if self.points else "undecided"


@dataclass(frozen=True)
class Kept:
    """A shipped counterexample, by the name of its file, and what deciding it again came to."""

    name: str
    replay: Replay

    @property
    def as_expected(self) -> bool:
        """Whether it still refutes its statement, and all ways of computing it agree on that."""
        return self.replay.refutes and self.replay.agree


def chosen(ids: Iterable[str] | None) -> tuple[Claim, ...]:
    """The claims with these ids in the order of the catalogue; all of them by default.

    Raises
    ------
    HpsimError
        When there is no claim of that id.
    """
    known = catalogue()
    if ids is None:
        return tuple(known.values())
    wanted = list(ids)
    for name in wanted:
        if name not in known:
            raise HpsimError("claims", f"no claim has the id {name[:40]!r}", nearest_ids(name))
    return tuple(claim for name, claim in known.items() if name in wanted)


def checked_seconds(seconds: float) -> float:
    """The time limit of a proof, which is a number above 0.

    Raises
    ------
    HpsimError
        When it is not.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise HpsimError("seconds", f"{seconds:g}", f"a time limit above 0, for example {SECONDS:g}")
    return seconds


def replayed() -> list[Kept]:
    """Every shipped counterexample, decided again by recurrences, kernels and closed forms."""
    files = list(shipped().items())
    return _in_turn(lambda index: Kept(files[index][0], replay(load_counterexample(files[index][1]))), len(files))


def verify_claims(
    claims: Sequence[Claim],
    *,
    kept: Sequence[Kept] = (),
    proofs: bool = True,
    seconds: float = SECONDS,
    budget: int | None = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> list[Outcome]:
    """Decide every claim, in order.

    Parameters
    ----------
    claims : sequence of Claim
        What to decide.
    kept : sequence of Kept
        Known counterexamples; each is tried on every claim that is expected to hold.
    proofs : bool
        Whether the solver is asked.
    seconds : float
        Time limit of one proof.
    budget : int, optional
        Points of the exact search, a claim; default :data:`BUDGET`.
    workers : int, optional
        Threads of the search; the outcome does not depend on it.
    on_progress : callable, optional
        Called with the number of claims done, that of all, and the id of the next.

    Raises
    ------
    MissingExtraError
        With ``proofs``, when the solver is not installed.
    HpsimError
        When an argument makes no sense.
    hpsim.sweep.executors.Interrupted
        After SIGINT or SIGTERM, when the claim in work is finished.
    """
    checked_seconds(seconds)
    tell = on_progress or (lambda done, total, name: None)
    decider = _Decider(kept, _known_points(claims, kept), proofs, seconds, budget or BUDGET, threads(workers))

    def decide(index: int) -> Outcome:
        tell(index, len(claims), claims[index].id)
        return decider.outcome(claims[index])

    return _in_turn(decide, len(claims))


def _in_turn(function: Callable[[int], Result], count: int) -> list[Result]:
    """``function`` of 0, 1, …, with an orderly stop on a signal."""
    results: list[Result] = []
    with closing(run_all(function, range(count), 1)) as ended:
        for _, result in ended:
            if isinstance(result, Exception):
                raise result
            results.append(result)
    if len(results) < count:  # stopped by a signal that nobody noted, outside the main thread
        raise Interrupted(signal.SIGINT)
    return results


def _known_points(claims: Sequence[Claim], kept: Sequence[Kept]) -> tuple[Example, ...]:
    """Points at which something fails, the simplest first."""
    points = [one.replay.counterexample.example for one in kept]
    points += [read_example(claim.example) for claim in claims if claim.example is not None]
    return tuple(sorted(set(points), key=order_key))


@dataclass(frozen=True)
class _Decider:
    """What it takes to decide a claim."""

    kept: Sequence[Kept]
    points: Sequence[Example]
    proofs: bool
    seconds: float
    budget: int
    workers: int

    def outcome(self, claim: Claim) -> Outcome:
        """The outcome for one claim, with the time that it took."""
        began = time.monotonic()
        outcome = self._expected_to_fail(claim) if claim.expect == "fails" else self._expected_to_hold(claim)
        return replace(outcome, seconds=time.monotonic() - began)

    def _expected_to_fail(self, claim: Claim) -> Outcome:
        """A known example settles it; without one, or if that does not refute, it is decided like the others."""
        known = [one.replay for one in self.kept if one.replay.counterexample.claim == claim.id]
        if claim.example is not None:
            known.append(replay(Counterexample(question_of(claim), read_example(claim.example), claim=claim.id)))
        spoilt = [one for one in known if not (one.refutes and one.agree)]
        if known and not spoilt:
            simplest = min(known, key=lambda one: order_key(one.counterexample.example))
            return Outcome(claim, refutation=simplest.counterexample)
        outcome = self._decided(claim)
        if spoilt and spoilt[0].refutes:
            return replace(outcome, complaint=f"{_TO_FAIL}, and the ways of computing its known example disagree")
        if spoilt:
            return replace(outcome, complaint=f"{_TO_FAIL}, and its known example does not refute it")
        if outcome.refutation is None:
            return replace(outcome, complaint=f"{_TO_FAIL}, and no counterexample was found")
        return outcome

    def _expected_to_hold(self, claim: Claim) -> Outcome:
        outcome = self._at_known_points(claim) or self._decided(claim)
        if outcome.verdict == "refuted":
            return replace(outcome, complaint=f"{_TO_HOLD}, and refuted")
        if outcome.verdict == "undecided":
            return replace(outcome, complaint=f"{_TO_HOLD}, and neither proved nor defined at any point")
        return outcome

    def _at_known_points(self, claim: Claim) -> Outcome | None:
        """Whether it fails where something else is known to fail."""
        for draw in range(DRAWS if is_drawn(claim) else 1):
            question = question_of(claim, index=draw)
            for known in self.points:
                point = known if question.uses_rho else replace(known, rho=None)
                if _asks_about(question, point) and question.refuted_by(point):
                    return Outcome(claim, refutation=Counterexample(question, point, claim=claim.id))
        return None

    def _decided(self, claim: Claim) -> Outcome:
        """By proof; where that does not cover every S and M, by search as well."""
        proof = self._proof(claim) if self.proofs else None
        outcome = Outcome(claim, proof)
        if proof is not None and proof.counterexample is not None:
            question = proof.counterexample.question
            simple = shrink(question, proof.counterexample.example)
            return replace(outcome, refutation=Counterexample(question, simple, claim=claim.id))
        if proof is not None and (proof.status, proof.stages, proof.microbatches) == ("proved", None, None):
            return outcome
        result = search(claim, budget=self.budget, workers=self.workers)
        if result.example is None:
            return replace(outcome, search=result)
        return replace(
            outcome, search=result, refutation=Counterexample(result.question, result.example, claim=claim.id)
        )

    def _proof(self, claim: Claim) -> Proof:
        from hpsim.conjecture.prove.prove import prove

        stages, microbatches = BOUNDS_DRAWN if is_drawn(claim) else BOUNDS
        try:
            return prove(claim, seconds=self.seconds, stages=stages, microbatches=microbatches)
        except KeyboardInterrupt:  # the signal has been noted by now
            raise Abandoned from None


def _asks_about(question: Question, point: Example) -> bool:
    """Whether a point found for one question can be put to another."""
    return (
        len(point.pipelines) == len(question.pipelines)
        and (point.rho is not None or not question.uses_rho)
        and (question.uses_latency or not any(any(times.latency) for times in point.pipelines))
    )
