"""How this process treats memory that it has freed."""

from __future__ import annotations

import ctypes

# parameters of glibc's mallopt, and the most that it accepts for the second
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = 256 * 2**20
LARGEST_BLOCK = 32 * 2**20


def keep_freed_memory() -> None:
    """Keep what arrays free for the next ones, where the C library can be told so.

    A sweep allocates the same few arrays for every batch; giving them back to the system in between costs a page fault
    for each page, about a sixth of the whole time.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, KEPT)
        mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK)
