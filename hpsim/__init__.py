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
    "load": "hpsim.analysis.load",
    "simulate": "hpsim.simulation",
}

__all__ = [
    "ASYNC",
    "BLOCKING",
    "FREE",
    "PARTIAL",
    "RENDEZVOUS",
    "Pipeline",
    "Regime",
    "__version__",
    "load",
    "simulate",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``import hpsim`` loads nothing heavy."""
    if name not in _HOME:
        raise AttributeError(f"module 'hpsim' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
