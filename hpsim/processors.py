"""How many threads to use, and when they are to give up."""

from __future__ import annotations

import os
from numbers import Integral
from threading import Event

from hpsim.errors import HpsimError

MAX_THREADS = 1024

GIVE_UP = Event()
"""Set while this process is being stopped and what runs takes too long: see :class:`Abandoned`."""


class Abandoned(Exception):  # noqa: N818 - not an error
    """A long computation that ended between two kernel calls because it was asked to; it has no result."""


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
        When it is not a whole number from 1 to 1,024.
    """
    if workers is None:
        return available_cpus()
    if isinstance(workers, bool) or not isinstance(workers, Integral) or workers < 1:
        raise HpsimError("workers", f"{workers!r}", "a number of threads, at least 1")
    if int(workers) > MAX_THREADS:
        found = f"{workers}" if int(workers) < 10**20 else "a number of very many digits"
        raise HpsimError("workers", found, f"a number of threads, at most {MAX_THREADS:,}")
    return int(workers)
