"""Whole sweeps that keep only violations, beside the bare recurrence of the same configurations."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hpsim.bench.children import peak_memory
from hpsim.bench.figures import Comparison, Figure, Section, Target
from hpsim.bench.sizes import Size
from hpsim.bench.stopwatch import Stopwatch, in_threads, thread_counts
from hpsim.kernels import chain
from hpsim.kernels.chain import LANES
from hpsim.sweep.chunk import TILE
from hpsim.sweep.run import run_sweep
from hpsim.sweep.sample import Batch, batches
from hpsim.sweep.spec import Sweep, load_sweep

Array = np.ndarray[Any, Any]

FILE = "billion"
KERNEL_SHARE = 0.5
MOST_MEMORY = 2.0**30
LONGEST_WHOLE = 120.0  # seconds for the sweep as it is shipped: "a minute or two"


def violations(size: Size, stopwatch: Stopwatch, scratch: Path, told: Callable[[str], None]) -> Section:
    """Configurations and points per second, share of the kernel-only rate, time for the whole sweep, peak memory."""
    sweep = load_sweep(FILE, size.violations)
    out = scratch / "violations"
    counts = thread_counts()
    told(f"{FILE}, {sweep.n_configs:,} configurations")
    bare = [KernelOnly(sweep, threads) for threads in counts]
    sweeps = [partial(run_sweep, sweep, out, workers=threads) for threads in counts]
    seconds = stopwatch.alternate(
        size.sweep_repeats, *sweeps, *(kernel.run for kernel in bare), after=lambda: shutil.rmtree(out, True)
    )
    rows = []
    for threads, kernel, whole, alone in zip(counts, bare, seconds, seconds[len(counts) :], strict=False):
        for unit, times, target in (
            ("configs", 1, Target(True, KERNEL_SHARE)),
            ("points", len(sweep.microbatches), None),
        ):
            rate = Figure.rate("sweep", times * sweep.n_configs, unit, whole)
            against = Figure.rate("kernel only", times * kernel.configs, unit, alone)
            rows.append(Comparison(in_threads(threads), rate, against, target, share=True))
    rows.append(_whole_sweep(sweep.n_configs / min(seconds[len(counts) - 1]), counts[-1]))
    told(f"{FILE}, peak memory")
    peak = Figure("peak memory", peak_memory(FILE, size.violations, out), "B")
    rows.append(Comparison("peak memory", peak, target=Target(False, plus=MOST_MEMORY)))
    how = f"best of {size.sweep_repeats}, in turn with the kernels; each sweep into a new folder"
    title = f"record: violations, {FILE} with {sweep.n_configs:,} configurations, {len(sweep.regimes)} regimes"
    return Section(title, how, rows)


def _whole_sweep(rate: float, threads: int) -> Comparison:
    """How long the shipped sweep takes at ``rate`` configurations per second."""
    shipped = load_sweep(FILE)
    words = f"all {shipped.n_configs:,} configurations at that rate, {in_threads(threads)}"
    return Comparison(
        words, Figure("at that rate", shipped.n_configs / rate, "s"), target=Target(False, plus=LONGEST_WHOLE)
    )


@dataclass(frozen=True)
class Packed:
    """Pipelines of equal S in one regime, as the kernels take them; ``out`` is where the makespans go."""

    occupancy: Array
    flight: Array
    completion: Array
    out: Array


class KernelOnly:
    """The recurrence and nothing else: the least that a sweep of these configurations can cost.

    The first chunk of the sweep for each thread (chunks are alike) is sampled, packed in lanes and turned into
    occupancies and flights beforehand, cut into batches as the sweep cuts them. What :meth:`run` does is to set the
    state to zero and to call the recurrence kernel, for every batch in every regime, recording at the same M. No
    sampling, no closed form, no check, no file.

    Attributes
    ----------
    configs : int
        Configurations of one run, in all regimes each.
    loads : list of list of Packed
        For each thread what it simulates, by number of stages and then by regime.
    """

    def __init__(self, sweep: Sweep, threads: int) -> None:
        chunks = [sweep.chunk_range(index) for index in range(min(threads, sweep.n_chunks))]
        self.configs = sum(len(ids) for ids in chunks)
        self._stops = np.array(sweep.microbatches, dtype=np.int64)
        self.loads = [
            [
                _packed(batch, regime, len(self._stops))
                for first in range(ids.start, ids.stop, TILE)
                for batch in batches(sweep, range(first, min(first + TILE, ids.stop)))
                for regime in sweep.regimes
            ]
            for ids in chunks
        ]

    def run(self) -> None:
        """Simulate everything once, a chunk on each thread."""
        if len(self.loads) == 1:
            self._advance(self.loads[0])
            return
        with ThreadPoolExecutor(len(self.loads)) as pool:
            list(pool.map(self._advance, self.loads))

    def _advance(self, load: list[Packed]) -> None:
        for packed in load:
            packed.completion.fill(0.0)
            n_stages = packed.occupancy.shape[1]
            chain.advance_short(
                (0,) * n_stages, packed.occupancy, packed.flight, packed.completion, 0, self._stops, packed.out
            )


def _packed(batch: Batch, regime: str, n_stops: int) -> Packed:
    blocks = len(batch.tau)
    overlap = (
        batch.rho[:, None]
        if regime == "partial" and batch.rho is not None
        else np.full((blocks, 1, LANES), float(regime == "async"))
    )
    occupancy, flight, completion = np.zeros((3, *batch.tau.shape))
    chain.hold_and_travel(batch.tau, batch.d, batch.latency, overlap, occupancy, flight)
    return Packed(occupancy, flight, completion, np.empty((n_stops, blocks, LANES)))
