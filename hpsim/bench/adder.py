"""The limit of all kernels: what the adders of the machine can do.

A cell of the recurrence (one micro-batch at one stage) takes two additions and a maximum; the maximum runs beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hpsim.bench.figures import Comparison, Figure, Section
from hpsim.bench.sizes import Size
from hpsim.bench.stopwatch import Stopwatch, in_threads, thread_counts
from hpsim.kernels.adder import CHAIN, WIDTH, add_chains

ADDS_PER_CELL = 2


def adding(threads: int, passes: int) -> Callable[[], object]:
    """A function that does ``passes`` passes of the adder loop, on each of ``threads`` threads."""
    values = np.zeros((threads, WIDTH))
    if threads == 1:
        return lambda: add_chains(1.0, passes, values[0])

    def on_threads() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda row: add_chains(1.0, passes, row), values))

    return on_threads


def adds(threads: int, passes: int) -> int:
    """The additions in one call of :func:`adding`'s function."""
    return threads * passes * WIDTH * CHAIN


def adder_limit(size: Size, stopwatch: Stopwatch) -> Section:
    """Additions per second on one thread and on all."""
    counts = thread_counts()
    seconds = stopwatch.alternate(size.repeats, *(adding(threads, size.adder_passes) for threads in counts))
    rates = [
        Figure.rate("adders", adds(threads, size.adder_passes), "adds", taken)
        for threads, taken in zip(counts, seconds, strict=True)
    ]
    alone = Figure("1 thread", rates[0].value, rates[0].unit)
    rows = [Comparison(in_threads(1), rates[0])]
    rows += [Comparison(in_threads(n), rate, alone) for n, rate in zip(counts[1:], rates[1:], strict=True)]
    return Section(
        "adder limit", f"independent float64 additions in registers and L1 cache; best of {size.repeats}", rows
    )
