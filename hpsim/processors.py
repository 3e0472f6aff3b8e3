"""How many processors there are to use."""

from __future__ import annotations

import os


def available_cpus() -> int:
    """How many CPUs this process may use, which on shared machines is fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
