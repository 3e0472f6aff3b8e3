"""How many threads to use."""

from __future__ import annotations

import os
from numbers import Integral

from hpsim.errors import HpsimError


def available_cpus() -> int:
    """How many CPUs this process may use, which on shared machines is fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads(workers: object) -> int:
    """``workers`` as a number of threads; None: as many as this process has CPUs.

    Raises
    ------
    HpsimError
        When it is not a whole number of at least 1.
    """
    if workers is None:
        return available_cpus()
    if isinstance(workers, bool) or not isinstance(workers, Integral) or workers < 1:
        raise HpsimError("workers", f"{workers!r}", "a number of threads, at least 1")
    return int(workers)
