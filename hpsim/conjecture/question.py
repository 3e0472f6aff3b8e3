"""What a search, a shrink or a replay is about: a statement, how its pipelines are related, and what regimes mean."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hpsim.claims import exact_algebra
from hpsim.claims.catalogue import Claim
from hpsim.claims.exact_algebra import Decision
from hpsim.claims.regimes import regimes_at
from hpsim.claims.systems import ExactPipeline
from hpsim.claims.tree import Statement
from hpsim.conjecture.example import Example, Times
from hpsim.errors import RegimeError
from hpsim.regime import Regime
from hpsim.sweep.file.distribution import Distribution


@dataclass(frozen=True)
class Question:
    """A statement with all that it takes to decide it.

    Attributes
    ----------
    statement : Statement
    relation : str or None
        How A and B are related: ``same S``, ``permutation``, ``same tau`` or ``same d``.
    regimes : mapping of str to Regime
        What the statement's own regimes mean.
    least_stages : int
        Pipelines with fewer stages are not asked about.

    Raises
    ------
    RegimeError
        When lists of knobs are made for different numbers of stages.
    """

    statement: Statement
    relation: str | None = None
    regimes: Mapping[str, Regime] = field(default_factory=dict)
    least_stages: int = 1

    def __post_init__(self) -> None:
        if self.only_stages is not None:
            for regime in (self.regimes[name] for name in self.statement.regimes if name in self.regimes):
                regime.buffers_of(self.only_stages)
                regime.overlap_of(self.only_stages - 1)
                regime.channels_of(self.only_stages - 1)

    @property
    def pipelines(self) -> tuple[str, ...]:
        """``("",)``, or ``("A", "B")``."""
        return self.statement.pipelines

    @cached_property
    def uses_d(self) -> bool:
        """Whether transfer times can matter."""
        return "d" in self.statement.uses or any(map(self._communicates, self.statement.regimes))

    @property
    def uses_latency(self) -> bool:
        """Whether the statement is also about travel times; they are 0 otherwise."""
        return "latency" in self.statement.uses

    @property
    def uses_rho(self) -> bool:
        """Whether the overlapped share can matter."""
        return self.statement.uses_rho

    @cached_property
    def only_stages(self) -> int | None:
        """The number of stages that lists of knobs are made for; None where any number will do."""
        for name in self.statement.regimes:
            for knob, more in (("overlap", 1), ("buffers", 0), ("channels", 1)):
                value = getattr(self.regimes.get(name), knob, None)
                if isinstance(value, tuple):
                    return len(value) + more
        return None

    @property
    def about_links(self) -> bool:
        """Whether the statement is about what a single stage lacks: a link, or limits on what waits between stages."""
        limited = (self.regimes[name] for name in self.statement.regimes if name in self.regimes)
        return self.uses_d or self.uses_latency or any(r.buffers is not None or r.window is not None for r in limited)

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether pipelines with these numbers of stages are asked about."""
        return min(shape) >= self.least_stages and (self.only_stages is None or {*shape} == {self.only_stages})

    def copies(self, name: str) -> bool:
        """Whether B has A's ``tau`` (in another order, for a permutation), or A's ``d`` and ``latency``."""
        same = "same tau" if name == "tau" else "same d"
        return len(self.pipelines) == 2 and self.relation in (same, "permutation")

    def systems(self, example: Example) -> dict[str, ExactPipeline]:
        """The pipelines of ``example`` in exact numbers."""
        return {
            name: ExactPipeline(times.tau, times.d, times.latency, self.regimes, example.rho)
            for name, times in zip(self.pipelines, example.pipelines, strict=True)
        }

    def decide(self, example: Example) -> Decision:
        """Whether the statement holds at ``example``, by the plain recurrences on Fractions, with both sides."""
        return exact_algebra.decide(self.statement, self.systems(example), example.M, example.rho)

    def truth_at(self, example: Example) -> bool | None:
        """Whether the statement holds, on Fractions; None where it is undefined, or ``example`` no point of this."""
        if not self.admits(example):
            return None
        return exact_algebra.holds(self.statement, self.systems(example), example.M, example.rho)

    def refuted_by(self, example: Example) -> bool:
        """Whether ``example`` is a point of this question at which the statement is defined and fails."""
        return self.truth_at(example) is False

    def admits(self, example: Example) -> bool:
        """Whether every pipeline serves and fits the regimes, and A and B are related as they should be."""
        if example.M < 1 or not all(any(times.tau) for times in example.pipelines):
            return False
        if not self.fits(example.shape):
            return False
        return self.relation is None or len(example.pipelines) == 1 or related(self.relation, *example.pipelines)

    def _communicates(self, name: str) -> bool:
        return self.regimes[name].communication if name in self.regimes else name != "free"


def related(relation: str, a: Times, b: Times) -> bool:
    """Whether pipelines A and B are related so; every relation means an equal number of stages."""
    if a.S != b.S:
        return False
    if relation == "permutation":
        return Counter(a.tau) == Counter(b.tau) and (a.d, a.latency) == (b.d, b.latency)
    if relation == "same tau":
        return a.tau == b.tau
    return relation == "same S" or a.d == b.d


def question_of(asked: Claim | Statement | Question, seed: int = 0, index: int = 0) -> Question:
    """The question that a claim asks; knobs with a distribution get the ``index``-th value of the stream ``seed``.

    Raises
    ------
    RegimeError
        When lists of knobs are made for different numbers of stages.
    """
    if isinstance(asked, Question):
        return asked
    if isinstance(asked, Statement):
        return Question(asked)
    regimes = regimes_at(asked.given.regimes, lambda regime, knob, counts: _count(regime, knob, counts, seed, index))
    return Question(asked.parsed, asked.given.relation, regimes)


def is_drawn(asked: Claim | Statement | Question) -> bool:
    """Whether a claim has a knob with a distribution, so that it asks many questions."""
    return isinstance(asked, Claim) and any(knobs.draws for knobs in asked.given.regimes.values())


def _count(regime: str, knob: str, distribution: Distribution, seed: int, index: int) -> int:
    """A value of ``distribution``; a text seeds Python's generator in the same way on every machine."""
    generator = random.Random(f"{seed} {index} {regime} {knob}")
    values = distribution.values
    if distribution.kind == "choice":
        return int(generator.choice(values))
    if distribution.kind in ("integers", "uniform"):
        return generator.randint(int(values[0]), int(values[1]))
    if distribution.kind == "constant":
        return int(values[0])
    raise RegimeError(f"{regime}.{knob}", f"drawn {distribution.kind}", "integers or choice")
