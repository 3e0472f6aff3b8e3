"""Exact, compiled simulation of micro-batch pipelines with unequal stages."""

from __future__ import annotations

import importlib

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
    "schedule": "hpsim.scheduling",
    "simulate": "hpsim.simulation",
    "throughput": "hpsim.throughput_law",
}

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
    "load",
    "makespan",
    "schedule",
    "simulate",
    "throughput",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``import hpsim`` loads nothing heavy."""
    if name not in _HOME:
        raise AttributeError(f"module 'hpsim' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
