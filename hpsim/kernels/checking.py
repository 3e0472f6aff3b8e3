"""Recurrence against closed form, over all points of a batch, without building the closed forms.

Arrays have shape (n, blocks, LANES) over numbers of micro-batches, or (blocks, LANES); ``out`` is (2,).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hpsim.kernels._jit import kernel

Array = np.ndarray[Any, Any]


@kernel
def compare_with_line(makespan: Array, fill: Array, slope: Array, counts: Array, tolerance: float, out: Array) -> None:
    """Compare ``makespan[j]`` with ``fill + (counts[j] - 1)·slope``.

    ``out[0]`` = the largest ``|makespan - line| / line``, infinite where one is no number; ``out[1]`` = how many exceed
    ``tolerance``.
    """
    largest = 0.0
    failures = 0
    for j in range(makespan.shape[0]):
        steps = float(counts[j] - 1)
        for block in range(makespan.shape[1]):
            for lane in range(makespan.shape[2]):
                line = fill[block, lane] + steps * slope[block, lane]
                distance = abs(makespan[j, block, lane] - line)
                error = 0.0 if distance == 0.0 else distance / line
                error = np.inf if error != error else error
                failures += error > tolerance
                largest = error if error > largest else largest
    out[0] = largest
    out[1] = failures


@kernel
def count_above(lower: Array, upper: Array, tolerance: float, out: Array) -> None:
    """``out[0]`` = at how many points ``lower <= upper·(1 + tolerance)`` does not hold."""
    failures = 0
    for j in range(lower.shape[0]):
        for block in range(lower.shape[1]):
            for lane in range(lower.shape[2]):
                failures += not lower[j, block, lane] <= upper[j, block, lane] * (1.0 + tolerance)
    out[0] = failures
