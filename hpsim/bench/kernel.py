"""``simulate``, packing and validation included, beside the adders, NumPy and plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from hpsim.bench import numpy_twin
from hpsim.bench.adder import ADDS_PER_CELL, adding, adds
from hpsim.bench.figures import Comparison, Figure, Section, Target
from hpsim.bench.sizes import Size
from hpsim.bench.stopwatch import Stopwatch, in_threads, thread_counts
from hpsim.reference.chain import makespan
from hpsim.regime import ASYNC, RENDEZVOUS, Regime
from hpsim.simulation import simulate

Array = np.ndarray[Any, Any]

REGIME = "async"
GRID = 2**20  # times are multiples of 1/GRID, as in exact arithmetic
SPEED_UP = 0.9  # of the number of threads
LIMITED = {
    "1 place": Regime(buffers=1),
    "rendezvous": RENDEZVOUS,
    "1 place, 1 channel": Regime(buffers=1, channels=1),
    "window of 4": Regime(window=4),
}
CHAIN_SHARE = 0.15  # with one place
LIMITED_SECONDS = 5.0  # for the million pipelines


def adder_share(S: int) -> float:
    """The share of the adder limit that ``simulate`` must reach on one thread."""
    if S <= 5:
        return 0.50
    return 0.42 if S <= 8 else 0.38


def times_numpy(S: int) -> float:
    """How many times faster than NumPy ``simulate`` must be."""
    return 4.5 if S == 2 else 5.0


def pipelines(n: int, S: int) -> tuple[Array, Array]:
    """Service times (n, S) and transfer times (n, S-1) from 0 to 1, the same in every run."""
    rng = np.random.default_rng([n, S])
    tau, d = rng.integers(1, GRID, (n, S)), rng.integers(0, GRID, (n, S - 1))
    return tau / GRID, d / GRID


def beside_adders(size: Size, stopwatch: Stopwatch, told: Callable[[str], None]) -> Section:
    """For each S and M: share of the adder limit on one and on all threads, and the speed-up."""
    rows: list[Comparison] = []
    for M in size.microbatches:
        for S in size.stages:
            told(f"simulate, S = {S}, M = {M}")
            rows += _beside_adders(size, stopwatch, S, M)
    how = (
        f"{REGIME}, best of {size.repeats} timings ({size.repeats_unjudged} where no target is) of at least "
        f"{1000 * size.sample:.0f} ms each, in turn with the adders; {ADDS_PER_CELL} adds a cell"
    )
    title = f"simulate, packing and validation included, N = {size.pipelines:,}, beside the adder limit"
    return Section(title, how, sorted(rows, key=lambda row: row.what.startswith("speed-up")))


def _beside_adders(size: Size, stopwatch: Stopwatch, S: int, M: int) -> Iterator[Comparison]:
    tau, d = pipelines(size.pipelines, S)
    counts = thread_counts()
    runs: list[Callable[[], object]] = []
    for threads in counts:
        runs += [partial(simulate, tau, d, M, REGIME, workers=threads), adding(threads, size.adder_passes)]
    judged = max(size.microbatches) == M
    seconds = stopwatch.alternate(size.repeats if judged else size.repeats_unjudged, *runs, at_least=size.sample)
    rates = []
    for threads, simulating, limit in zip(counts, seconds[::2], seconds[1::2], strict=True):
        rates.append(Figure.rate("simulate", size.pipelines * S * M, "cells", simulating))
        against = Figure.rate("adder limit", adds(threads, size.adder_passes) / ADDS_PER_CELL, "cells", limit)
        target = Target(True, adder_share(S)) if judged and threads == 1 else None
        yield Comparison(f"S = {S}, M = {M}, {in_threads(threads)}", rates[-1], against, target, share=True)
    if judged and len(counts) > 1:
        alone = Figure(in_threads(1), rates[0].value, rates[0].unit)
        target = Target(True, SPEED_UP * counts[-1])
        yield Comparison(f"speed-up, S = {S}, M = {M}, {in_threads(counts[-1])}", rates[-1], alone, target)


def beside_numpy(size: Size, stopwatch: Stopwatch, told: Callable[[str], None]) -> Section:
    """One thread of each, NumPy at the chunk size that suits it best."""
    M = max(size.microbatches)
    rows = []
    for S in size.beside_numpy:
        told(f"NumPy, S = {S}, M = {M}")
        tau, d = pipelines(size.pipelines, S)
        trials = stopwatch.alternate(
            2, *(partial(numpy_twin.makespans, tau, d, M, chunk=chunk) for chunk in size.numpy_chunks)
        )
        chunk = min(zip(trials, size.numpy_chunks, strict=True), key=lambda trial: min(trial[0]))[1]
        ours, theirs = stopwatch.alternate(
            size.repeats,
            partial(simulate, tau, d, M, REGIME, workers=1),
            partial(numpy_twin.makespans, tau, d, M, chunk=chunk),
        )
        cells = size.pipelines * S * M
        against = Figure.rate(f"NumPy, {chunk:,} at a time", cells, "cells", theirs)
        rate = Figure.rate("simulate", cells, "cells", ours)
        rows.append(Comparison(f"S = {S}, M = {M}, 1 thread", rate, against, Target(True, times_numpy(S))))
    title = f"simulate, N = {size.pipelines:,}, beside NumPy vectorised over configurations"
    how = f"best of {size.repeats} in turn, NumPy at the best of {len(size.numpy_chunks)} chunk sizes"
    return Section(title, how, rows)


def beside_chain(size: Size, stopwatch: Stopwatch, told: Callable[[str], None]) -> Section:
    """Limited places, channels and windows beside the chain on one thread; then very many pipelines on all threads."""
    M = max(size.microbatches)
    rows = []
    for S in size.limited_stages:
        told(f"limits beside the chain, S = {S}, M = {M}")
        tau, d = pipelines(size.pipelines, S)
        runs = [partial(simulate, tau, d, M, regime, workers=1) for regime in (ASYNC, *LIMITED.values())]
        chain, *limited = stopwatch.alternate(size.repeats, *runs)
        cells = size.pipelines * S * M
        against = Figure.rate("chain", cells, "cells", chain)
        for name, seconds in zip(LIMITED, limited, strict=True):
            target = Target(True, CHAIN_SHARE) if name == "1 place" else None
            rate = Figure.rate("simulate", cells, "cells", seconds)
            rows.append(Comparison(f"S = {S}, M = {M}, {name}, 1 thread", rate, against, target, share=True))
    rows.append(_very_many(size, stopwatch))
    title = f"simulate with limits, N = {size.pipelines:,}, beside the chain without limits"
    return Section(title, f"best of {size.repeats} in turn; the last line is the median of {size.sweep_repeats}", rows)


def _very_many(size: Size, stopwatch: Stopwatch) -> Comparison:
    S, M, n = size.limited_stages[0], min(size.microbatches), size.limited_pipelines
    threads = thread_counts()[-1]
    tau, d = pipelines(n, S)
    (seconds,) = stopwatch.alternate(
        size.sweep_repeats, partial(simulate, tau, d, M, LIMITED["1 place"], workers=threads)
    )
    what = f"N = {n:,}, S = {S}, M = {M}, 1 place, {in_threads(threads)}"
    return Comparison(what, Figure.duration("simulate", seconds), target=Target(False, plus=LIMITED_SECONDS))


def beside_python(size: Size, stopwatch: Stopwatch, told: Callable[[str], None]) -> Section:
    """One thread of each; the twin simulates only a few of the pipelines."""
    M = min(size.microbatches)
    rows = []
    for S in size.beside_numpy:
        told(f"plain Python, S = {S}, M = {M}")
        tau, d = pipelines(size.pipelines, S)
        few = list(zip(tau[: size.in_python].tolist(), d[: size.in_python].tolist(), strict=True))
        ours, theirs = stopwatch.alternate(
            size.repeats, partial(simulate, tau, d, M, REGIME, workers=1), partial(_in_python, few, M)
        )
        rate = Figure.rate("simulate", size.pipelines * S * M, "cells", ours)
        against = Figure.rate("plain Python", size.in_python * S * M, "cells", theirs)
        rows.append(Comparison(f"S = {S}, M = {M}, 1 thread", rate, against))
    title = f"simulate, N = {size.pipelines:,}, beside the plain-Python twin (hpsim.reference)"
    return Section(title, f"best of {size.repeats} in turn; {size.in_python} pipelines for the twin", rows)


def _in_python(few: list[tuple[list[float], list[float]]], M: int) -> None:
    for tau, d in few:
        makespan(tau, d, M, REGIME)
