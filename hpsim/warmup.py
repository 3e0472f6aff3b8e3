"""Compile every kernel ahead of time, by small runs of everything that uses one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpsim.sweep.spec import Sweep


@dataclass(frozen=True)
class Warmup:
    """What :func:`warmup` came to.

    Attributes
    ----------
    kernels : int
        Kernels that are ready, one for each combination of argument types; 0 when Numba's JIT is switched off.
    compiled : int
        Those compiled in this process; the others were in the cache.
    seconds : float
        Wall time.
    folder : Path, optional
        Where newly compiled code is kept; None when there is no such folder.
    """

    kernels: int
    compiled: int
    seconds: float
    folder: Path | None


def warmup() -> Warmup:
    """Compile, or find in the cache, every kernel that ``simulate``, sweeps and ``hpsim verify`` use.

    The kernels are called in the same way as in a real run, so nothing here has to follow their signatures.
    """
    from hpsim.kernels.chain import LONGEST_SHORT
    from hpsim.simulation import simulate
    from hpsim.sweep.chunk import run_chunk

    started = time.monotonic()
    simulate([[1.0] * n_stages for n_stages in range(1, LONGEST_SHORT + 2)], M=2)
    simulate([1.0, 1.0], M=2, regime="rendezvous")  # one kernel for every S and every limit
    for sweep in _small_sweeps():
        run_chunk(sweep, 0)
    compiled = sum(sum(kernel.stats.cache_misses.values()) for kernel in _kernels())
    ready = sum(len(kernel.signatures) for kernel in _kernels())
    return Warmup(ready, compiled, time.monotonic() - started, cache_folder())


def cache_folder() -> Path | None:
    """The folder in which newly compiled code of our kernels is kept; None when there is none."""
    from hpsim.kernels import chain

    stats = getattr(chain.advance_short, "stats", None)  # a plain function when the JIT is switched off
    return Path(stats.cache_path) if stats is not None and stats.cache_path else None


def _small_sweeps() -> Iterator[Sweep]:
    """A few configurations of every distribution and of every other source, in both arithmetics; every length too."""
    from hpsim.kernels.chain import LONGEST_SHORT
    from hpsim.regime import NAMES
    from hpsim.sweep.file.distribution import EXAMPLES
    from hpsim.sweep.spec import make_sweep

    pipeline = {"tau": [1, 2], "d": [1]}
    lengths = {"tau": [[1] * n_stages for n_stages in range(1, LONGEST_SHORT + 2)]}
    sources: list[dict[str, Any]] = [{"pipelines": [{"name": "two stages", **pipeline}]}, {"grid": lengths}]
    for kind, values in EXAMPLES.items():
        times = {kind: values}
        drawn = {"tau": times, "d": times, "latency": times}
        sources.append({"configs": 8, "stages": {"uniform": [1, 2]}, **drawn, "edge_cases": 0.5})
    for source in sources:
        for arithmetic in ("exact", "float64"):
            regimes = [name for name in NAMES if name != "partial" or "grid" not in source]
            rho = {"rho": {"uniform": [0, 1]}} if "partial" in regimes else {}
            yield make_sweep(source | rho | {"regimes": regimes, "arithmetic": arithmetic, "microbatches": [1, 2]})


def _kernels() -> list[Any]:
    """The compiled kernels that Python code calls; those with a leading underscore are parts of these."""
    modules = [module for name, module in sys.modules.items() if name.startswith("hpsim.kernels.")]
    named = [item for module in modules for item in vars(module).items()]
    return [member for name, member in named if hasattr(member, "stats") and not name.startswith("_")]
