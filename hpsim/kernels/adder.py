"""Additions and nothing else: how many float64 additions a processor does in a second.

Each element of ``values`` is the start of its own chain of CHAIN additions, so that elements are independent and go
side by side in SIMD lanes. Chains are short: the processor must see several at once to keep its adders busy while each
of them waits for its last sum, and a window of instructions holds many short chains but few long ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hpsim.kernels._jit import kernel

WIDTH = 256  # elements: 2 kB, far within the first-level cache
CHAIN = 8

Array = np.ndarray[Any, Any]


@kernel
def add_chains(step: float, passes: int, values: Array) -> None:
    """Add ``step`` to each of the WIDTH ``values``, CHAIN·``passes`` times."""
    for _ in range(passes):
        for i in range(WIDTH):
            x = values[i]
            for _ in range(CHAIN):
                x = x + step
            values[i] = x
