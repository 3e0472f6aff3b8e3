"""Exact, compiled simulation of micro-batch pipelines with unequal stages."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the same as below, for type checkers and editors; a test holds the two equal
    from hpsim import errors, formulas, logs
    from hpsim.analysis.load import load
    from hpsim.conjecture.prove.prove import prove
    from hpsim.conjecture.search import search
    from hpsim.long_run import makespan
    from hpsim.pipeline import Pipeline
    from hpsim.regime import ASYNC, BLOCKING, FREE, PARTIAL, RENDEZVOUS, Regime
    from hpsim.scheduling import Schedule, schedule
    from hpsim.simulation import simulate
    from hpsim.sweep.run import run_sweep
    from hpsim.throughput_law import throughput

__version__ = "0.1.0"

_HOME = {
    "Pipeline": "hpsim.pipeline",
    "Regime": "hpsim.regime",
    "FREE": "hpsim.regime",
    "ASYNC": "hpsim.regime",
    "BLOCKING": "hpsim.regime",
    "PARTIAL": "hpsim.regime",
    "RENDEZVOUS": "hpsim.regime",
    "Schedule": "hpsim.scheduling",
    "load": "hpsim.analysis.load",
    "makespan": "hpsim.long_run",
    "prove": "hpsim.conjecture.prove.prove",
    "run_sweep": "hpsim.sweep.run",
    "schedule": "hpsim.scheduling",
    "search": "hpsim.conjecture.search",
    "simulate": "hpsim.simulation",
    "throughput": "hpsim.throughput_law",
}
_MODULES = ("errors", "formulas", "logs")

__all__ = [
    "ASYNC",
    "BLOCKING",
    "FREE",
    "PARTIAL",
    "RENDEZVOUS",
    "Pipeline",
    "Regime",
    "Schedule",
    "__version__",
    "errors",
    "formulas",
    "load",
    "logs",
    "makespan",
    "prove",
    "run_sweep",
    "schedule",
    "search",
    "simulate",
    "throughput",
]


if not TYPE_CHECKING:  # to a type checker it would make an object of every name

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used, so that ``import hpsim`` loads nothing heavy."""
        if name in _MODULES:
            return importlib.import_module(f"hpsim.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'hpsim' has no attribute {name!r}")
        return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
