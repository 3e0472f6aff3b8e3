"""What every picture of a schedule starts from: its moments as plain numbers, and lanes for what happens at once."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpsim.scheduling import Schedule

Array = Any  # a NumPy array

KINDS = ("arrival", "start", "finish", "depart", "release", "send", "sent")


def moments(schedule: Schedule) -> dict[str, Array]:
    """The schedule's arrays by their names, as float64."""
    import numpy as np

    return {kind: np.asarray(getattr(schedule, kind), dtype=float) for kind in KINDS}


def stage_labels(S: int, names: Sequence[str]) -> list[str]:
    """What the row of each stage is called: ``stage 0``, or with its name ``0 H100``; ``names`` are S texts or none."""
    return [f"{k} {name}" for k, name in enumerate(names)] if names else [f"stage {k}" for k in range(S)]


def lanes(begin: Sequence[float], end: Sequence[float]) -> list[int]:
    """For each interval the lowest lane that is free when it begins, so that in a lane no two overlap."""
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    taken = [0] * len(begin)
    for m in sorted(range(len(begin)), key=lambda m: (begin[m], end[m], m)):
        while busy and busy[0][0] <= begin[m]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        taken[m] = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end[m], taken[m]))
    return taken


def time_within(begin: Array, end: Array, edges: Array) -> Array:
    """How much of the intervals, which come one after the other, lies before each edge."""
    import numpy as np

    moments = np.column_stack([begin, end]).ravel()
    lengths = np.column_stack([np.zeros(len(begin)), end - begin]).ravel()
    return np.interp(edges, moments, np.cumsum(lengths), left=0.0)


def in_flight(begin: Array, end: Array, edges: Array) -> Array:
    """The same for intervals that may overlap, each counted."""
    return _since(begin, edges) - _since(end, edges)


def _since(moments: Array, edges: Array) -> Array:
    """Sum of the times that have passed since those of the moments that lie before each edge."""
    import numpy as np

    ordered = np.sort(moments)
    before = np.searchsorted(ordered, edges)
    return before * edges - np.concatenate([[0.0], np.cumsum(ordered)])[before]
