"""The claim of zero counterexamples, checked again: the recurrence against every closed form, in three sweeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from hpsim.errors import HpsimError
from hpsim.processors import threads
from hpsim.sweep.executors import run_all
from hpsim.sweep.file.fields import MAX_CONFIGS
from hpsim.sweep.run import Progress
from hpsim.sweep.spec import Sweep, load_sweep
from hpsim.sweep.totals import Totals

CONFIGS = 1_250_000  # with 8 numbers of micro-batches each: ten million points


@dataclass(frozen=True)
class Check:
    """A shipped sweep that must have no violation.

    Attributes
    ----------
    sweep : str
        Its bare name.
    settings : tuple of str
        ``key=value`` pairs that beat the file, as after ``hpsim sweep run --set``.
    source : str
        What the paper says, and where.
    """

    sweep: str
    settings: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class Verdict:
    """What a check came to.

    Attributes
    ----------
    check : Check
        What was checked.
    sweep : Sweep
        The sweep as it ran, with all defaults filled in.
    totals : Totals
        Configurations, points, violations, and the worst relative error of each regime.
    seconds : float
        Wall time.
    violation : dict, optional
        The violation with the lowest configuration and M, a row of the table ``violations``.
    """

    check: Check
    sweep: Sweep
    totals: Totals
    seconds: float
    violation: dict[str, Any] | None

    @property
    def holds(self) -> bool:
        """Whether nothing was violated."""
        return self.totals.violations == 0


def checks(configs: int) -> list[Check]:
    """The checks of :func:`verify`, the exact search over ``configs`` random configurations."""
    kept = "record=violations"
    return [
        Check(
            "hand_crafted",
            (kept,),
            "Section 7.1, Table 2 (a reconstruction): eleven hand-crafted configurations, each asynchronous and "
            "blocking, agree with Theorems 2 and 3",
        ),
        Check(
            "paper_fuzz_float64",
            (kept,),
            "Section 7.1: no violation of Theorems 2 and 3 or the sandwich at 160,000 random points in double "
            "precision, relative error below 1e-9",
        ),
        Check(
            "paper_fuzz",
            (kept, f"configs={configs}"),
            "Section 7.1 at a larger scale, partial overlap included, in exact arithmetic: recurrence and closed form "
            "are equal",
        ),
    ]


def verify(
    configs: int = CONFIGS, workers: int | None = None, on_progress: Callable[[Progress], None] | None = None
) -> list[Verdict]:
    """Check the paper's claim of zero counterexamples (Section 7.1); nothing is written.

    Parameters
    ----------
    configs : int
        Random configurations of the exact search, each checked at 8 numbers of micro-batches.
    workers : int, optional
        Threads; by default as many as this process has CPUs. The result does not depend on it.
    on_progress : callable, optional
        Called after each chunk of any of the sweeps, always in the calling thread.

    Returns
    -------
    list of Verdict
        The hand-crafted configurations, the paper's search in float64, the exact search.

    Raises
    ------
    HpsimError
        When ``configs`` or ``workers`` is not a whole number of at least 1.
    hpsim.sweep.executors.Interrupted
        After SIGINT or SIGTERM, when the running chunks are finished.
    """
    example = f"a number of configurations from 1 to {MAX_CONFIGS:,}, for example {CONFIGS}"
    if isinstance(configs, bool) or not isinstance(configs, int) or not 1 <= configs <= MAX_CONFIGS:
        raise HpsimError("configs", f"{configs!r}", example)
    n_threads = threads(workers)
    runs = [(check, load_sweep(check.sweep, check.settings)) for check in checks(configs)]
    tally = _Tally([sweep for _, sweep in runs], on_progress)
    return [_judged(check, sweep, n_threads, tally) for check, sweep in runs]


def _judged(check: Check, sweep: Sweep, workers: int, tally: _Tally) -> Verdict:
    from hpsim.sweep.chunk import run_chunk

    started = time.monotonic()
    totals = Totals()
    firsts: dict[int, dict[str, Any]] = {}
    with closing(run_all(lambda index: run_chunk(sweep, index), range(sweep.n_chunks), workers)) as outcomes:
        for index, outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
            totals += outcome.totals
            if "violations" in outcome.tables:
                (firsts[index],) = outcome.tables["violations"].slice(0, 1).to_pylist()
            tally.add(outcome.totals.points)
    first = firsts[min(firsts)] if firsts else None  # chunks end in any order
    return Verdict(check, sweep, totals, time.monotonic() - started, first)


class _Tally:
    """Progress over several sweeps, in the terms of one."""

    def __init__(self, sweeps: list[Sweep], on_progress: Callable[[Progress], None] | None) -> None:
        self.notify = on_progress or (lambda progress: None)
        self.parts_total = sum(sweep.n_chunks for sweep in sweeps)
        self.points_total = sum(sweep.n_points for sweep in sweeps)
        self.parts = self.points = 0

    def add(self, points: int) -> None:
        self.parts += 1
        self.points += points
        self.notify(Progress(0, self.parts, 0, self.parts_total, self.points, self.points, self.points_total))
