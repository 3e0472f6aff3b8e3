"""Timing on a machine that others use too."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from hpsim.processors import available_cpus


class Stopwatch:
    """Wall time of calls.

    Parameters
    ----------
    clock : callable
        Seconds from some fixed moment.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock

    def seconds(self, run: Callable[[], object]) -> float:
        """The duration of one call of ``run``."""
        started = self._clock()
        run()
        return self._clock() - started

    def alternate(
        self,
        repeats: int,
        *runs: Callable[[], object],
        after: Callable[[], object] = lambda: None,
        at_least: float = 0.0,
    ) -> list[tuple[float, ...]]:
        """Time all ``runs`` in turn, ``repeats`` times over, so that whatever else the machine does meets each of them.

        Before that each is called once or twice, which compiles what it needs and fills the caches; ``after`` is called
        untimed after every timing. A run shorter than ``at_least`` seconds is called several times in a row, as often
        as that takes, and its mean counts (as in ``timeit``): else a call of milliseconds would stand with the cold
        caches and sleeping processors that a longer one beside it leaves behind.

        Returns
        -------
        list of tuple of float
            For each of the runs, the seconds of a call, one entry for each time over.
        """
        calls = []
        for run in runs:
            run()
            after()
            if at_least:
                calls.append(1 + int(at_least / max(self.seconds(run), 1e-6)))
                after()
            else:
                calls.append(1)
        seconds: list[list[float]] = [[] for _ in runs]
        for _ in range(repeats):
            for run, taken, n in zip(runs, seconds, calls, strict=True):
                taken.append(self.seconds(partial(_several, run, n)) / n)
                after()
        return [tuple(taken) for taken in seconds]


def _several(run: Callable[[], object], times: int) -> None:
    for _ in range(times):
        run()


def thread_counts() -> list[int]:
    """One thread, and as many as this process has processors."""
    return sorted({1, available_cpus()})


def in_threads(threads: int) -> str:
    """``threads`` in words."""
    return f"{threads} thread{'' if threads == 1 else 's'}"
