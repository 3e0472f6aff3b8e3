"""Whole sweeps that keep every point, beside pyarrow writing the same tables from memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow
import pyarrow.parquet

from hpsim.bench.children import peak_memory
from hpsim.bench.figures import Comparison, Figure, Section, Target
from hpsim.bench.sizes import Size
from hpsim.bench.stopwatch import Stopwatch, in_threads, thread_counts
from hpsim.sweep.chunk import run_chunk
from hpsim.sweep.parquet import parquet_bytes
from hpsim.sweep.run import run_sweep
from hpsim.sweep.spec import Sweep, load_sweep

FILE = "paper_fuzz"
PYARROW_SHARE = 0.6
MEMORY_GROWTH = 1.15

Part = dict[str, pyarrow.Table]
Encode = Callable[[str, list[str], pyarrow.Table], pyarrow.Buffer]


def points(size: Size, stopwatch: Stopwatch, scratch: Path, told: Callable[[str], None]) -> Section:
    """Rows and bytes per second, share of pyarrow's rate, and how peak memory grows with the sweep."""
    sweep = load_sweep(FILE, size.points)
    out, plain = scratch / "points", scratch / "pyarrow"
    counts = thread_counts()
    told(f"{FILE}, {sweep.n_points:,} points")
    parts = [run_chunk(sweep, index).tables for index in range(sweep.n_chunks)]
    written = dict.fromkeys((out, plain), 0)

    def weigh_and_remove() -> None:
        for folder in written:
            if folder.exists():
                written[folder] = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
                shutil.rmtree(folder)

    sweeps = [partial(run_sweep, sweep, out, workers=threads) for threads in counts]
    writes = [partial(write, sweep, parts, plain, threads) for threads in counts]
    seconds = stopwatch.alternate(size.sweep_repeats, *sweeps, *writes, after=weigh_and_remove)
    rows = []
    for threads, ours, theirs in zip(counts, seconds, seconds[len(counts) :], strict=False):
        target = Target(True, PYARROW_SHARE) if threads == 1 else None
        rate, against = (
            Figure.rate(name, sweep.n_points, "rows", taken) for name, taken in (("sweep", ours), ("pyarrow", theirs))
        )
        rows.append(Comparison(in_threads(threads), rate, against, target, share=True))
        rate = Figure.rate("sweep", written[out], "B", ours)
        against = Figure.rate("pyarrow", written[plain], "B", theirs)
        rows.append(Comparison(in_threads(threads), rate, against, share=True))
    (defaults,) = stopwatch.alternate(2, partial(write, sweep, parts, plain, 1, by_default), after=weigh_and_remove)
    against = Figure.rate("pyarrow", sweep.n_points, "rows", defaults)
    rate = Figure.rate("sweep", sweep.n_points, "rows", seconds[0])
    rows.append(Comparison("1 thread, beside pyarrow's default settings (best of 2)", rate, against))
    rows.append(_memory(size, out, told))
    how = (
        f"best of {size.sweep_repeats}, in turn; pyarrow has the tables, and writes them with the same settings, on as "
        "many threads; the target is for one"
    )
    title = f"record: points, {FILE} with {sweep.n_configs:,} configurations, {sweep.n_points:,} points"
    return Section(title, how, rows)


def write(sweep: Sweep, parts: list[Part], folder: Path, threads: int, encode: Encode = parquet_bytes) -> None:
    """Write all tables of ``parts`` into ``folder``, a part at a time on each of ``threads`` threads.

    What pyarrow does for a sweep, and nothing of what hpsim does: no checksum, no rename, nothing forced to the disk.
    """
    folder.mkdir()

    def write_part(index: int) -> None:
        for name, table in parts[index].items():
            (folder / f"{name}-{index}.parquet").write_bytes(encode(name, sweep.regime_names, table))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(write_part, range(len(parts))))


def by_default(name: str, regimes: list[str], table: pyarrow.Table) -> pyarrow.Buffer:
    """``table`` as pyarrow writes it when told nothing else."""
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


def _memory(size: Size, out: Path, told: Callable[[str], None]) -> Comparison:
    peaks = []
    for configs in size.memory:
        settings = (f"configs={configs}", f"chunk={size.memory_chunk}")
        n_points = f"{load_sweep(FILE, settings).n_points:,} points"
        told(f"{FILE}, peak memory at {n_points}")
        peaks.append(Figure(n_points, peak_memory(FILE, settings, out), "B"))
    small, large = peaks
    return Comparison(f"peak memory, {large.name}", large, small, Target(False, MEMORY_GROWTH))
