"""From lanes to the rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpsim.kernels._jit import kernel

Array = np.ndarray[Any, Any]


@kernel
def to_rows(values: Array, starts: Array, scale: Array, out: Array) -> None:
    """``out[starts[i] + j] = values[j, i // LANES, i % LANES] / scale[i]``, for the first ``len(starts)`` lanes.

    ``values`` (k, blocks, LANES); ``starts`` (n,) int64; ``scale`` (n,) float64; ``out`` flat.
    """
    lanes = values.shape[2]
    for i in range(starts.shape[0]):
        block = i // lanes
        lane = i - block * lanes
        row = out[starts[i] : starts[i] + values.shape[0]]
        if scale[i] == 1.0:  # nearly always, and a division costs more than all the rest
            for j in range(values.shape[0]):
                row[j] = values[j, block, lane]
        else:
            for j in range(values.shape[0]):
                row[j] = values[j, block, lane] / scale[i]
