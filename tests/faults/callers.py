"""A script: ``simulate`` from many threads or processes at once; prints the makespans of all pipelines as JSON."""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

MICROBATCHES = [1, 2, 7, 50]
CALLS = 24


def pipelines(call: int) -> tuple[list[list[int]], list[list[int]]]:
    """Service and transfer times of ten pipelines of 2 to 5 stages, integers, so that sums are exact."""
    numbers = random.Random(call)
    S = 2 + call % 4
    tau = [[numbers.randint(1, 99) for _ in range(S)] for _ in range(10)]
    return tau, [[numbers.randint(0, 99) for _ in range(S - 1)] for _ in range(10)]


def makespans(call: int) -> list[list[float]]:
    """One call of ``simulate``, itself on two threads where that pays."""
    import hpsim

    tau, d = pipelines(call)
    return hpsim.simulate(tau, d, M=MICROBATCHES, regime="blocking", workers=2).tolist()


def pool(kind: str) -> Executor:
    """Eight threads, or two processes."""
    if kind == "threads":
        return ThreadPoolExecutor(8)
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(kind))


if __name__ == "__main__":
    if sys.argv[1] == "fork":
        makespans(0)  # so that children are born with compiled code, and with whatever threads it took
    with pool(sys.argv[1]) as executor:
        print(json.dumps(list(executor.map(makespans, range(CALLS)))))
