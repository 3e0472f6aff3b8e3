"""The ladder: every S and M by induction, every M at S = 1, 2, …, or both within bounds; the strongest wins."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hpsim.conjecture.counterexample import Counterexample
from hpsim.conjecture.prove.bounded import Outcome, at_every_m, at_one_m, combinations, holds_somewhere
from hpsim.conjecture.prove.chain_lemma import chain_lemma, is_chain
from hpsim.conjecture.prove.every_s import prove_every_s
from hpsim.conjecture.prove.problem import Problem
from hpsim.conjecture.prove.smt import Lemma, Prover
from hpsim.conjecture.prove.unsupported import NoClosedForm, OutOfTime, Unsupported
from hpsim.conjecture.prove.verdict import Status, Verdict

WHERE_DEFINED = "only points where the statement is defined"
_FIRST_LOOK = 2  # stages at which a counterexample is looked for before the induction
_FEW_MICROBATCHES = 8  # for which it is looked for where every M was left open
_FOR_A_WITNESS = 0.05, 0.5, 2.0  # share of the limit beyond it, at least and at most so many seconds: a point where
# the statement holds is found at once, or not at all
LATE = "stopped at the time limit; --seconds goes further"
S_BOUNDED = "regimes with limits have no closed form for every S, so S is bounded"
M_BOUNDED = "regimes with limits have no closed form, so M is bounded"

Cell = tuple[Problem, tuple[int, ...]]


class Refuted(Exception):  # noqa: N818 - no error: how a climb ends
    """A counterexample is in hand."""

    def __init__(self, counterexample: Counterexample) -> None:
        super().__init__()
        self.counterexample = counterexample


@dataclass
class Ladder:
    """One statement on its way up.

    Attributes
    ----------
    problems : sequence of Problem
        The statement with each choice of what its regimes may be; all must hold.
    prover : Prover
        Its time limit is that of the whole climb.
    most_stages, most_microbatches : int or None
        How far to go where it takes bounds.
    reasons : list of str
        Why rungs were left.
    late : bool
        Whether the time limit ended one.
    """

    problems: Sequence[Problem]
    prover: Prover
    most_stages: int | None = None
    most_microbatches: int | None = None
    reasons: list[str] = field(default_factory=list)
    late: bool = False
    _chain: list[Lemma] = field(default_factory=list)
    _everywhere: bool = True  # whether the statement is defined wherever it was shown
    _least_stages: int = 1  # that the regimes are made for
    _stages: int = 0  # up to which every M was shown
    _stages_lemmas: list[Lemma] = field(default_factory=list)
    _stages_everywhere: bool = True
    _for_a_witness: float = 0.0

    def climb(self) -> Verdict:
        """The verdict; the time taken is for the caller to fill in."""
        share, least, most = _FOR_A_WITNESS
        self._for_a_witness = max(least, min(most, share * self.prover.left))
        only = self.problems[0].question.only_stages
        if only is not None:
            if self.most_stages is not None and self.most_stages < only:
                return self._undecided(f"its regimes are made for {only} stages")
            self._least_stages = self.most_stages = only
        try:
            if not self._chain_lemma():
                return self._undecided(f"the closed form of the makespan was not shown; {LATE}")
            self._first_look()
            return self._induction() or self._every_m() or self._rectangle()
        except Refuted as found:
            return replace(self._verdict("refuted"), counterexample=found.counterexample)

    def _chain_lemma(self) -> bool:
        chains = (is_chain(name, p.regimes) for p in self.problems for name in p.statement.regimes)
        if not any(chains):
            return True
        part = self.prover.within(1)
        shown, self._chain = chain_lemma(part), part.lemmas
        return shown

    def _first_look(self) -> None:
        """Small pipelines first: most false statements end here."""
        self._add_stages(self.prover.within(0.3), min(_FIRST_LOOK, self.most_stages or _FIRST_LOOK))

    def _induction(self) -> Verdict | None:
        part = self.prover.within(0.6)
        for problem in self.problems:
            try:
                shown = prove_every_s(problem, part)
            except Unsupported as reason:
                self._note_open(Outcome(False, reason=_in_words(reason, f"not for every S: {reason}", S_BOUNDED)))
                return None
            if shown is None:
                self.reasons.append("not for every S: no invariant was found")
                return None
            self._everywhere &= shown
        return self._proved(None, None, "by induction", part.lemmas)

    def _every_m(self) -> Verdict | None:
        """Every M at S = 1, 2, … until the time is up."""
        left_open = self._add_stages(self.prover.within(1), self.most_stages)
        if left_open is not None:
            self._note_open(left_open)
            self._few_microbatches_at(self._stages + 1)
        if self._stages < self._least_stages:
            return None
        self._everywhere = self._stages_everywhere
        self.late |= left_open is None and self._stages != self.most_stages
        return self._proved(self._stages, None, "by closed forms", self._stages_lemmas)

    def _add_stages(self, part: Prover, most: int | None) -> Outcome | None:
        """Go on with every M at one more stage, and one more; the outcome that ends it, if one does."""
        took = 0.0
        while part.left > took and self._stages != most:
            began, part.lemmas = time.monotonic(), []
            outcome = self._every_m_at(self._stages + 1, part)
            if not outcome.shown:
                return outcome
            took = time.monotonic() - began
            self._stages += 1
            self._stages_lemmas += part.lemmas
            self._stages_everywhere &= outcome.everywhere
        return None

    def _every_m_at(self, S: int, part: Prover) -> Outcome:
        everywhere = True
        for problem, stages in self._cells(S):
            if part.left == 0:
                return Outcome(False)
            try:
                outcome = _settled(at_every_m(problem, stages, part))
            except Unsupported as reason:
                return Outcome(False, reason=_in_words(reason, f"at S = {S} for every M {reason}", M_BOUNDED))
            if not outcome.shown:
                return outcome
            everywhere &= outcome.everywhere
        return Outcome(True, everywhere)

    def _few_microbatches_at(self, S: int) -> None:
        """A counterexample for few micro-batches, where every M was left open."""
        for M in range(1, _FEW_MICROBATCHES + 1):
            for problem, stages in self._cells(S):
                if self.prover.left == 0:
                    return
                try:
                    _settled(at_one_m(problem, stages, M, self.prover, self.prover.left / 4))
                except Unsupported:
                    return

    def _rectangle(self) -> Verdict:
        """All S <= K and M <= N; K and N grow in turn, until neither does."""
        part = self.prover.within(1)
        reached, lemmas, everywhere = (0, 0), 0, True
        open_ways = {0, 1}
        while part.left > 0:
            limits = (self.most_stages, self.most_microbatches)
            open_ways -= {way for way in (0, 1) if reached[way] == limits[way]}
            if not open_ways:
                break
            way = min(open_ways, key=lambda each: (reached[each], -each))
            wanted = _grown(reached, way)
            outcome = self._extend(reached, wanted, part)
            if outcome.shown:
                reached, lemmas = wanted, len(part.lemmas)
                everywhere &= outcome.everywhere
            else:
                self._note_open(outcome)
                open_ways = open_ways - {way} if reached[0] else set()
        self.late |= bool(open_ways) and part.left == 0
        if reached[0] < self._least_stages:
            return self._undecided(self._why())
        self._everywhere = everywhere
        return self._proved(*reached, "by unrolling", part.lemmas[:lemmas])

    def _extend(self, reached: tuple[int, int], wanted: tuple[int, int], part: Prover) -> Outcome:
        """From one rectangle to a larger one: all that is new in it."""
        everywhere = True
        new = ((S, M) for S in range(1, wanted[0] + 1) for M in range(1, wanted[1] + 1))
        for S, M in new:
            if reached[0] >= S and reached[1] >= M:
                continue
            for problem, stages in self._cells(S):
                if part.left == 0:
                    return Outcome(False)
                try:
                    outcome = _settled(at_one_m(problem, stages, M, part, part.left / 2))
                except Unsupported as reason:
                    return Outcome(False, reason=_in_words(reason, f"at S = {S}, M = {M} {reason}", M_BOUNDED))
                if not outcome.shown:
                    return outcome
                everywhere &= outcome.everywhere
        return Outcome(True, everywhere)

    def _cells(self, S: int) -> Iterator[Cell]:
        """Every choice of regimes and numbers of stages whose largest is S."""
        for problem in self.problems:
            for stages in combinations(problem, S):
                yield problem, stages

    def _proved(self, S: int | None, M: int | None, method: str, lemmas: Sequence[Lemma]) -> Verdict:
        verdict = self._verdict("proved")
        if not self._everywhere:
            witness = Prover(time.monotonic() + self._for_a_witness)
            if not any(holds_somewhere(problem, witness) for problem in self.problems):
                return self._undecided("no point is known where the statement is defined")
            verdict = replace(verdict, assumptions=(*verdict.assumptions, WHERE_DEFINED))
        reason = "" if S is None else self._why()
        lemmas = (*self._chain, *lemmas)
        least = self._least_stages
        return replace(
            verdict, stages=S, least_stages=least, microbatches=M, method=method, lemmas=lemmas, reason=reason
        )

    def _note_open(self, outcome: Outcome) -> None:
        """Remember why a rung was left; that the time was up is said once, at the end."""
        if outcome.reason:
            self.reasons.append(outcome.reason)
        else:
            self.late = True

    def _why(self) -> str:
        """Why not for every S and M, in plain words."""
        reasons = [reason for reason in self.reasons if reason != S_BOUNDED or M_BOUNDED not in self.reasons]
        return "; ".join(dict.fromkeys([*reasons, *([LATE] if self.late or not reasons else [])]))

    def _undecided(self, reason: str) -> Verdict:
        return replace(self._verdict("undecided"), reason=reason)

    def _verdict(self, status: Status) -> Verdict:
        first = self.problems[0]
        return Verdict(status, first.statement.text.strip(), first.assumptions)


def _in_words(reason: Unsupported, words: str, no_closed_form: str) -> str:
    """Why a rung was left; empty where it is the time limit."""
    if isinstance(reason, OutOfTime):
        return ""
    return no_closed_form if isinstance(reason, NoClosedForm) else words


def _settled(outcome: Outcome) -> Outcome:
    if outcome.counterexample is not None:
        raise Refuted(outcome.counterexample)
    return outcome


def _grown(reached: tuple[int, int], way: int) -> tuple[int, int]:
    if reached == (0, 0):
        return 1, 1
    return (reached[0] + 1, reached[1]) if way == 0 else (reached[0], reached[1] + 1)
