"""What the prover says: proved within which bounds and on which assumptions, refuted by what, or why undecided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hpsim.conjecture.counterexample import Counterexample
from hpsim.conjecture.in_words import point_in_words, sides_in_words
from hpsim.conjecture.prove.smt import Lemma, exported

Status = Literal["proved", "refuted", "undecided"]


@dataclass(frozen=True)
class Verdict:
    """The outcome for one statement.

    Attributes
    ----------
    status : str
        ``proved``, ``refuted`` or ``undecided``.
    statement : str
        Its text.
    assumptions : tuple of str
        What is assumed of every point.
    stages, microbatches : int or None
        Of a proof: up to how many; None for every number.
    least_stages : int
        Of a proof: from how many stages; above 1 only where the regimes are made for one number of stages.
    method : str
        Of a proof: how.
    lemmas : tuple of Lemma
        What the proof rests on; each can be checked again by any solver.
    counterexample : Counterexample or None
        Of a refutation.
    reason : str
        Why it is undecided, or why a proof reaches no further.
    seconds : float
        Time taken.
    """

    status: Status
    statement: str
    assumptions: tuple[str, ...]
    stages: int | None = None
    microbatches: int | None = None
    least_stages: int = 1
    method: str = ""
    lemmas: tuple[Lemma, ...] = ()
    counterexample: Counterexample | None = None
    reason: str = ""
    seconds: float = 0.0

    def __repr__(self) -> str:
        return f"<Verdict: {self.status} {self._outcome()}>"

    def _outcome(self) -> str:
        if self.counterexample is not None:
            question, example = self.counterexample.question, self.counterexample.example
            sides = sides_in_words(question.decide(example))
            return f"by {point_in_words(question.pipelines, example)}{sides and f': {sides}'}"
        if self.status != "proved":
            return f"({self.reason})"
        return f"for {self.bounds}: {self.method} ({len(self.lemmas)} lemma{'' if len(self.lemmas) == 1 else 's'})"

    @property
    def bounds(self) -> str:
        """``every S and M``, ``S <= 4, every M`` or ``S <= 4, M <= 6``."""
        if self.stages is None:
            return "every S and M" if self.microbatches is None else f"every S, M <= {self.microbatches}"
        sign = "=" if self.least_stages == self.stages > 1 else "<="
        return f"S {sign} {self.stages}, {'every M' if self.microbatches is None else f'M <= {self.microbatches}'}"


def lemmas_as_smt(verdict: Verdict) -> str:
    """The lemmas of a proof as SMT-LIB 2; every ``check-sat`` must answer ``unsat``."""
    heading = [f"statement: {verdict.statement}", f"proved for {verdict.bounds}, {verdict.method}"]
    heading += [f"assuming {', '.join(verdict.assumptions)}", "n is M - 1; every check-sat must answer unsat"]
    return exported(verdict.lemmas, "\n".join(heading))
