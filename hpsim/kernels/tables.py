"""From lanes to the rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpsim.kernels._jit import kernel

Array = np.ndarray[Any, Any]


@kernel
def to_rows(values: Array, places: Array, scale: Array, out: Array) -> None:
    """``out[k·places[i] + j] = values[j, i // LANES, i % LANES] / scale[i]``, for the first ``len(places)`` lanes.

    ``values`` (k, blocks, LANES); ``places``, ``scale`` (n,) int64; ``out`` flat.
    """
    k, lanes = values.shape[0], values.shape[2]
    for first in range(0, places.shape[0], lanes):
        block = first // lanes
        for lane in range(min(lanes, places.shape[0] - first)):
            row = out[k * places[first + lane] : k * (places[first + lane] + 1)]
            for j in range(k):
                row[j] = values[j, block, lane]
            if scale[first + lane] != 1:  # hardly ever, and a division costs more than all the rest
                for j in range(k):
                    row[j] /= scale[first + lane]


@kernel
def to_columns(values: Array, places: Array, scale: Array, out: Array) -> None:
    """``out[j, places[i]] = values[j, i // LANES, i % LANES] / scale[i]`` for each row ``j`` of ``out``.

    ``values`` (at least as many, blocks, LANES); ``places``, ``scale`` (n,) int64.
    """
    lanes = values.shape[2]
    for j in range(out.shape[0]):
        for i in range(places.shape[0]):
            out[j, places[i]] = values[j, i // lanes, i % lanes] / scale[i]


@kernel
def lists_to_rows(values: Array, starts: Array, scale: Array, out: Array) -> None:
    """``out[starts[i] + j] = values[i // LANES, j, i % LANES] / scale[i]``, for the first ``len(starts)`` lanes.

    ``values`` (blocks, k, LANES); ``starts``, ``scale`` (n,) int64; ``out`` flat.
    """
    k, lanes = values.shape[1], values.shape[2]
    for first in range(0, starts.shape[0], lanes):
        block = first // lanes
        for lane in range(min(lanes, starts.shape[0] - first)):
            row = out[starts[first + lane] : starts[first + lane] + k]
            for j in range(k):
                row[j] = values[block, j, lane]
            if scale[first + lane] != 1:
                for j in range(k):
                    row[j] /= scale[first + lane]
