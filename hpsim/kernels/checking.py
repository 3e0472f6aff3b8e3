"""Recurrence against closed form, over all points of a batch, without building the closed forms.

Arrays have shape (n, blocks, LANES) over numbers of micro-batches, or (blocks, LANES); ``out`` is (1,). The worst is
kept for each lane apart, so that the lanes vectorise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hpsim.kernels._jit import kernel

Array = np.ndarray[Any, Any]


@kernel
def _largest(values: Array) -> float:
    """The largest of numbers of at least 0; ``values.max()`` takes longer to compile than all the rest."""
    largest = 0.0
    for i in range(values.shape[0]):
        largest = max(largest, values[i])
    return largest


@kernel
def distance_from_line(makespan: Array, fill: Array, slope: Array, counts: Array, out: Array) -> None:
    """``out[0]`` = the largest ``|makespan[j] - line| / line`` with ``line = fill + (counts[j] - 1)·slope``.

    It is infinite where a makespan is no number.
    """
    worst = np.zeros(makespan.shape[2])
    for block in range(makespan.shape[1]):
        for j in range(makespan.shape[0]):
            steps = float(counts[j] - 1)
            for lane in range(makespan.shape[2]):
                line = fill[block, lane] + steps * slope[block, lane]
                distance = abs(makespan[j, block, lane] - line)
                error = distance / line if distance != 0.0 else 0.0
                error = error if error == error else np.inf
                worst[lane] = error if error > worst[lane] else worst[lane]
    out[0] = _largest(worst)


@kernel
def excess(lower: Array, upper: Array, tolerance: float, out: Array) -> None:
    """``out[0]`` = the largest ``lower - upper·(1 + tolerance)``, at least 0; infinite where one is no number."""
    worst = np.zeros(lower.shape[2])
    for j in range(lower.shape[0]):
        for block in range(lower.shape[1]):
            for lane in range(lower.shape[2]):
                above = lower[j, block, lane] - upper[j, block, lane] * (1.0 + tolerance)
                above = above if above == above else np.inf
                worst[lane] = above if above > worst[lane] else worst[lane]
    out[0] = _largest(worst)
