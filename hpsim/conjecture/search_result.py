"""What a search tells: how far it is, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass

from hpsim.conjecture.example import Example
from hpsim.conjecture.question import Question

PHASES = ("random", "targeted", "small systems", "solver", "shrinking")


@dataclass(frozen=True)
class Progress:
    """How far a search is.

    Attributes
    ----------
    phase : str
        One of :data:`PHASES`.
    points, budget : int
        Points looked at, and how many there will be.
    margin : float or None
        How near the statement came to failing, relative to the sides compared; None before anything is known.
    """

    phase: str
    points: int
    budget: int
    margin: float | None


@dataclass(frozen=True)
class SearchResult:
    """What a search came to.

    Attributes
    ----------
    question : Question
        What was asked; with drawn knobs, as they were set where the example was found.
    example : Example or None
        The simplest counterexample, decided on Fractions; None where the statement held everywhere.
    found : Example or None
        The counterexample as it was found, before it was shrunk.
    phase : str
        The phase that found it, or the last one.
    points : int
        Points looked at until it was found, or in all.
    undefined : int
        Those of them where the statement is undefined; they count neither way.
    artefacts : int
        Points that failed in float64 and hold on Fractions.
    doubtful : int
        Points within rounding of failing that were too many to decide on Fractions.
    margin : float or None
        How near the statement came to failing, relative to the sides compared.
    shown : tuple of (stages, M)
        Where the solver showed that there is no counterexample, whatever the times.
    linked : SearchResult or None
        Where the simplest counterexample lacks a link: what the same search came to with at least two stages in each
        pipeline.
    """

    question: Question
    example: Example | None
    found: Example | None
    phase: str
    points: int
    undefined: int
    artefacts: int
    doubtful: int
    margin: float | None
    shown: tuple[tuple[tuple[int, ...], int], ...] = ()
    linked: SearchResult | None = None

    @property
    def decided(self) -> int:
        """Points at which the statement is defined and was decided."""
        return self.points - self.undefined - self.doubtful

    @property
    def refuted(self) -> bool:
        """Whether a counterexample is in hand."""
        return self.example is not None

    @property
    def lacks_link(self) -> bool:
        """Whether a pipeline of the counterexample has no link, although the statement is about links."""
        if self.example is None or self.question.only_stages is not None:
            return False
        return min(self.example.shape) == 1 and self.question.about_links

    @property
    def most_telling(self) -> SearchResult:
        """The result whose counterexample is worth keeping: the one with links, if there is one."""
        return self.linked if self.linked is not None and self.linked.refuted else self
