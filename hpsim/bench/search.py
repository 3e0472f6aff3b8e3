"""The random phase of a search, beside the sweep of the same configurations that keeps only violations."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hpsim.bench.figures import Comparison, Figure, Section, Target
from hpsim.bench.sizes import Size
from hpsim.bench.stopwatch import Stopwatch, in_threads, thread_counts
from hpsim.claims.catalogue import claim
from hpsim.conjecture.search import search
from hpsim.sweep.run import run_sweep
from hpsim.sweep.spec import load_sweep

STATEMENT = "T_async <= T_partial <= T_blocking"
SWEEP_SHARE = 0.3


def random_search(size: Size, stopwatch: Stopwatch, scratch: Path, told: Callable[[str], None]) -> Section:
    """Points per second of both."""
    sweep = load_sweep("billion", size.search)
    out = scratch / "search"
    told(f"search, {sweep.n_points:,} points")
    counts = thread_counts()
    hunts = [partial(search, claim(STATEMENT), sweep=sweep, workers=threads) for threads in counts]
    sweeps = [partial(run_sweep, sweep, out, workers=threads) for threads in counts]
    seconds = stopwatch.alternate(size.sweep_repeats, *hunts, *sweeps, after=lambda: shutil.rmtree(out, True))
    rows = [
        Comparison(
            in_threads(threads),
            Figure.rate("search", sweep.n_points, "points", hunted),
            Figure.rate("sweep", sweep.n_points, "points", swept),
            Target(True, SWEEP_SHARE),
            share=True,
        )
        for threads, hunted, swept in zip(counts, seconds, seconds[len(counts) :], strict=False)
    ]
    how = f"best of {size.sweep_repeats} in turn; the search also keeps the points nearest to failing"
    return Section(f"search, random phase of {STATEMENT}, beside record: violations", how, rows)
