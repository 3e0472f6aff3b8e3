"""What a search tells: how far it is, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hpsim.conjecture.counterexample import Counterexample, save_counterexample
from hpsim.conjecture.example import Example
from hpsim.conjecture.in_words import point_in_words, sides_in_words
from hpsim.conjecture.question import Question
from hpsim.errors import HpsimError

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
    seed : int
        Seed of the random numbers.
    claim : str or None
        The id of the claim that was asked about, where the catalogue has it.
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
    seed: int = 0
    claim: str | None = None
    linked: SearchResult | None = None

    def __repr__(self) -> str:
        return f"<SearchResult: {self._outcome()}>"

    def _outcome(self) -> str:
        if self.example is not None:
            sides = sides_in_words(self.question.decide(self.example))
            return f"refuted by {point_in_words(self.question.pipelines, self.example)}{sides and f': {sides}'}"
        return f"held on {self.decided:,} points" if self.decided else f"nothing said at any of {self.points:,} points"

    def save(self, path: str | Path) -> None:
        """Write the most telling counterexample to a file, for ``hpsim replay``.

        Raises
        ------
        HpsimError
            When there is none, or the file cannot be written.
        """
        kept = self.most_telling
        if kept.example is None or kept.found is None:
            raise HpsimError("save", "no counterexample", "the result of a search that refutes its statement")
        stages = " and ".join(str(times.S) for times in kept.found.pipelines)
        points = f"{kept.points:,} point{'' if kept.points == 1 else 's'}"
        note = f"found by hpsim search (seed {self.seed}) after {points}, shrunk from S={stages} M={kept.found.M}"
        if self.linked is not None:
            note += f"; {'with a link; the simplest of all is at' if kept is not self else 'at'} {self.without_link}"
        save_counterexample(Path(path), Counterexample(kept.question, kept.example, (), kept.claim, note))

    @property
    def without_link(self) -> str:
        """What the simplest counterexample is short of: ``S = 1, which has no link``."""
        assert self.example is not None
        names = [name for name, S in zip(self.question.pipelines, self.example.shape, strict=True) if S == 1]
        if names == [""]:
            return "S = 1, which has no link"
        stages = " and ".join(map(str, self.example.shape))
        return f"S = {stages}, where {' and '.join(names)} {'has' if len(names) == 1 else 'have'} no link"

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
