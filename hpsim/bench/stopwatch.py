"""Timing on a machine that others use too."""

from __future__ import annotations

import time
from collections.abc import Callable

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
        self, repeats: int, *runs: Callable[[], object], after: Callable[[], object] = lambda: None
    ) -> list[tuple[float, ...]]:
        """Call all ``runs`` in turn, ``repeats`` times over, so that whatever else the machine does meets each of them.

        Before that each is called once untimed, which compiles what it needs and fills the caches; ``after`` is called
        untimed after every call.

        Returns
        -------
        list of tuple of float
            For each of the runs, the seconds of its calls.
        """
        for run in runs:
            run()
            after()
        seconds: list[list[float]] = [[] for _ in runs]
        for _ in range(repeats):
            for run, taken in zip(runs, seconds, strict=True):
                taken.append(self.seconds(run))
                after()
        return [tuple(taken) for taken in seconds]


def thread_counts() -> list[int]:
    """One thread, and as many as this process has processors."""
    return sorted({1, available_cpus()})


def in_threads(threads: int) -> str:
    """``threads`` in words."""
    return f"{threads} thread{'' if threads == 1 else 's'}"
