"""The hunt for a counterexample: points at random, changes of those nearest to failing, small systems, the solver.

The random part looks at chunks, each a pure function of (statement, space, chunk index); the lowest chunk with a
counterexample counts, so that the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from hpsim.claims.catalogue import Claim, catalogue
from hpsim.claims.tree import Statement
from hpsim.conjecture.ask_solver import ask_the_solver
from hpsim.conjecture.asked import asked_claim
from hpsim.conjecture.example import Example
from hpsim.conjecture.hunt import every_small_system, targeted
from hpsim.conjecture.probe import Findings, look
from hpsim.conjecture.question import Question, is_drawn, question_of
from hpsim.conjecture.search_result import PHASES, Progress, SearchResult
from hpsim.conjecture.shrink import shrink
from hpsim.conjecture.space import Space, default_space, points, space_of
from hpsim.errors import HpsimError
from hpsim.processors import threads
from hpsim.regime import Regime
from hpsim.sweep.executors import run_all
from hpsim.sweep.spec import Sweep, sweep_of

__all__ = ["BUDGET", "Progress", "SearchResult", "search"]

BUDGET = 4_000_000
MOST_BUDGET = 10**15
RANDOM_SHARE, TARGETED_SHARE = 0.6, 0.25  # of the budget; what is left is for small systems
TILE = 16384  # configurations evaluated together, so that the arrays in between stay near the processor
DRAWS = 16  # settings of knobs that have a distribution
POOL = 400  # points nearest to failing that are kept
SOLVER_FROM = 1_000_000  # a smaller budget is for a quick look, which the solver would make a slow one


def search(
    asked: str | Claim | Statement | Question,
    *,
    regime: Mapping[str, Regime | Mapping[str, Any]] | None = None,
    relation: str | None = None,
    budget: int | None = None,
    seed: int = 0,
    sweep: Sweep | str | Path | Mapping[str, Any] | None = None,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> SearchResult:
    """Look for a counterexample, and shrink the first one that is found.

    Where the simplest one has a single stage although the statement is about links, one with links is looked for as
    well, in the same way; it stands beside the first, as ``linked``.

    Parameters
    ----------
    asked : str, Claim, Statement or Question
        What to refute: a statement as text, the id of a claim, or one that was read before.
    regime : mapping of str to Regime or mapping, optional
        What regimes that a text names mean: a :class:`~hpsim.regime.Regime`, or knobs as in a sweep file.
    relation : str, optional
        How pipelines A and B of a text are related: ``same S``, ``permutation``, ``same tau``, ``same d``.
    budget : int, optional
        Points to look at; default :data:`BUDGET`, or all points of ``sweep``.
    seed : int
        The same seed gives the same result.
    sweep : Sweep, path, name or mapping, optional
        Where to look instead of the default space; then nothing is tried beyond it, except while shrinking. A text may
        name the regimes of the sweep.
    workers : int, optional
        Threads; by default as many as this process has CPUs. The result does not depend on it.
    on_progress : callable, optional
        Called now and then, always in the calling thread.

    Raises
    ------
    HpsimError
        When an argument makes no sense, or the sweep does not draw what the statement needs.
    hpsim.sweep.executors.Interrupted
        After SIGINT or SIGTERM.

    Examples
    --------
    >>> search("T_rendezvous <= T_blocking", budget=100_000)
    <SearchResult: refuted by tau = [1, 2]   d = [1]   M = 2: T_rendezvous = 7 > T_blocking = 6>
    """
    n_threads = threads(workers)
    sweep = None if sweep is None else sweep_of(sweep)
    if not isinstance(asked, Statement | Question):
        asked = asked_claim(asked, regime, relation, None if sweep is None else sweep.knob_regimes)
        _check_drawn(asked, sweep)
    checked = _checked(budget, seed, sweep)
    questions = [question_of(asked, seed, k) for k in range(DRAWS if is_drawn(asked) else 1)]
    notify = on_progress or (lambda progress: None)

    def hunt(questions: list[Question], notify: Callable[[Progress], None]) -> _Hunt:
        space = default_space(questions[0], seed) if sweep is None else space_of(sweep, questions[0])
        return _Hunt(questions, space, checked, seed, n_threads, notify)

    def notify_further(progress: Progress) -> None:
        notify(replace(progress, points=first.points + progress.points, budget=first.points + progress.budget))

    claim = asked.id if isinstance(asked, Claim) and asked.id in catalogue() else None
    first = replace(hunt(questions, notify).run(beyond=sweep is None), claim=claim)
    if first.found is None or not first.lacks_link:
        return first
    linked = replace(first.question, least_stages=2)
    further = hunt([linked], notify_further)
    if linked.admits(first.found):
        return replace(first, linked=replace(first, question=linked, example=further.shrunk(first.found)))
    return replace(first, linked=replace(further.run(beyond=sweep is None), claim=claim))


def _check_drawn(claim: Claim, sweep: Sweep | None) -> None:
    """Refuse the regimes of a sweep whose counts are drawn: a search asks about one setting of them at a time."""
    for name in claim.parsed.regimes if sweep is not None else ():
        regime = claim.given.regimes.get(name)
        if regime is not None and regime.draws and sweep is not None and sweep.knob_regimes.get(name) == regime:
            found = f"its regime {name} draws {' and '.join(draw.knob for draw in regime.draws)} for each configuration"
            allowed = "fixed counts; or the statement among the claims of the sweep, and hpsim sweep run"
            raise HpsimError("sweep", found, allowed)


def _checked(budget: int | None, seed: int, sweep: Sweep | None) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise HpsimError("seed", f"{seed!r}", "a whole number from 0 to 2^64 - 1")
    if budget is None:
        return BUDGET if sweep is None else sweep.n_points
    if isinstance(budget, bool) or not isinstance(budget, int) or not 1 <= budget <= MOST_BUDGET:
        raise HpsimError("budget", f"{budget!r}", f"a number of points from 1 to {MOST_BUDGET:,}, for example {BUDGET}")
    return budget


class _Hunt:
    """One search: its tally, and the phases one after the other."""

    def __init__(
        self,
        questions: list[Question],
        space: Space,
        budget: int,
        seed: int,
        workers: int,
        notify: Callable[[Progress], None],
    ) -> None:
        self.questions = questions
        self.space = space
        self.budget = budget
        self.seed = seed
        self.workers = workers
        self.notify = notify
        self.tally = Findings()
        self.pools = [Findings() for _ in questions]
        self.asked = questions[0]
        self.margin: float | None = None
        self.phase = PHASES[0]
        self.shown: list[tuple[tuple[int, ...], int]] = []

    def run(self, beyond: bool) -> SearchResult:
        self._tell()
        self._random(int(self.budget * RANDOM_SHARE) if beyond else self.budget)
        if beyond and self.tally.example is None:
            self._steps(PHASES[1], self._targeted(self.budget * TARGETED_SHARE))
        if beyond and self.tally.example is None:
            self._steps(PHASES[2], self._small())
        if beyond and self.tally.example is None and self.budget >= SOLVER_FROM:
            self._steps(PHASES[3], self._solver())
        found, example = self.tally.example, None
        if found is not None:
            example = self.shrunk(found)
        return SearchResult(
            self.asked,
            example,
            found,
            self.phase,
            self.tally.points,
            self.tally.undefined,
            self.tally.artefacts,
            self.tally.doubtful,
            self.margin,
            tuple(self.shown),
            self.seed,
        )

    def _tell(self, phase: str | None = None) -> None:
        self.notify(Progress(phase or self.phase, self.tally.points, self.budget, self.margin))

    def _random(self, budget: int) -> None:
        """Chunks of the space until the budget is spent or one of them has a counterexample."""
        plan: list[range] = []
        waiting: dict[int, Findings] = {}  # chunks that ended before one of lower number
        refuted = False

        def indices() -> Iterator[int]:
            planned = 0
            for index in range(self.space.chunks):
                sweep, ids = self.space.chunk(index)
                left = max(budget - planned, 1) if not planned else budget - planned
                configs = min(len(ids), -(-left // len(sweep.microbatches)))
                if configs < 1 or refuted:
                    return
                plan.append(ids[:configs])
                planned += configs * len(sweep.microbatches)
                yield index

        def chunk(index: int) -> Findings:
            question = self._question(index)
            findings = Findings()
            sweep, _ = self.space.chunk(index)
            for start in range(plan[index].start, plan[index].stop, TILE):
                tile = range(start, min(start + TILE, plan[index].stop))
                for some in points(question, sweep, tile, index):
                    findings.add(look(question, some), POOL)
            return findings

        reached = 0
        with closing(run_all(chunk, indices(), self.workers)) as outcomes:
            for index, outcome in outcomes:
                if isinstance(outcome, Exception):
                    raise outcome
                refuted = refuted or outcome.example is not None
                waiting[index] = outcome
                while reached in waiting and self.tally.example is None:
                    self._take(waiting.pop(reached), reached)
                    reached += 1
                self._tell()

    def _question(self, index: int) -> Question:
        return self.questions[index // len(self.space.sweeps) % len(self.questions)]

    def _take(self, findings: Findings, index: int) -> None:
        """Count one chunk; chunks are taken in their order."""
        question = self._question(index)
        self.pools[self.questions.index(question)].add(Findings(closest=findings.closest), POOL)
        self._count(question, findings)

    def _count(self, question: Question, findings: Findings) -> None:
        if findings.closest:
            least = findings.closest[0][0] + 0.0  # which makes 0.0 of -0.0
            self.margin = least if self.margin is None else min(self.margin, least)
        if findings.example is not None:
            self.asked = question
        self.tally.add(findings, 0)

    def _targeted(self, budget: float) -> Iterator[tuple[Question, Findings]]:
        """Rounds of changes, the questions in turn."""
        each = budget / len(self.questions)
        for question, pool in zip(self.questions, self.pools, strict=True):
            for findings in targeted(question, pool.closest, int(each), self.seed):
                yield question, findings

    def _small(self) -> Iterator[tuple[Question, Findings]]:
        for place, question in enumerate(self.questions):
            left = max(self.budget - self.tally.points, 0) // (len(self.questions) - place)
            for findings in every_small_system(question, left):
                yield question, findings

    def _solver(self) -> Iterator[tuple[Question, Findings]]:
        """Small S and M by the solver; only where one question is asked, since each takes seconds."""
        for question in self.questions if len(self.questions) == 1 else ():
            for answer in ask_the_solver(question):
                if answer.shown:
                    self.shown.append((answer.stages, answer.M))
                yield question, Findings(example=answer.example)

    def _steps(self, phase: str, steps: Iterator[tuple[Question, Findings]]) -> None:
        """Steps in this thread, with an orderly stop between them."""
        self.phase = phase
        endless = iter(int, 1)
        with closing(run_all(lambda _: next(steps, None), endless, 1)) as outcomes:
            for _, outcome in outcomes:
                if isinstance(outcome, Exception):
                    raise outcome
                if outcome is None:
                    return
                question, findings = outcome
                self._count(question, findings)
                self._tell()
                if findings.example is not None:
                    return

    def shrunk(self, found: Example) -> Example:
        """The simplest counterexample that shrinking leads to from ``found``."""
        self._tell(PHASES[4])
        question = self.asked
        with closing(run_all(lambda _: shrink(question, found, self.seed), [0], 1)) as outcomes:
            for _, outcome in outcomes:
                if isinstance(outcome, Exception):
                    raise outcome
                return outcome
        return found
