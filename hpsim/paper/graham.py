"""The closed form of Theorem 1 beside Graham's bound (§7.1), on exact numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpsim.paper.fuzz import Search
from hpsim.simulation import simulate


@dataclass(frozen=True)
class Graham:
    """How simulated makespans without communication lie to ``W/S + (1-1/S)·CP`` and to the serial time ``W``.

    Attributes
    ----------
    points : int
        (configuration, M) pairs compared.
    below : int
        Those below the lower endpoint.
    above : int
        Those above ``W``, the work of one stage after the other.
    equal : int
        Those equal to the lower endpoint.
    balanced_or_single : int
        Those with equal stages or with ``M = 1``.
    equal_otherwise : int
        Those equal to it with unequal stages and ``M > 1``.
    """

    points: int
    below: int
    above: int
    equal: int
    balanced_or_single: int
    equal_otherwise: int


def compare(found: Search) -> Graham:
    """Compare the makespans of every configuration and M of an exact search, as whole numbers of its grid."""
    grid = 2.0 ** (found.sweep.resolution or 0)
    M = np.array(found.sweep.microbatches)
    tau = [np.asarray(row) for row in found.configs.column("tau").to_pylist()]
    units = [np.rint(row * grid).astype(np.int64) for row in tau]
    makespan = np.rint(simulate(tau, M=list(found.sweep.microbatches), regime="free") * grid).astype(np.int64)
    S = np.array([len(row) for row in units])[:, None]
    fill = np.array([row.sum() for row in units])[:, None]  # CP; the work W is M times that
    balanced = np.array([row.min() == row.max() for row in units])[:, None] | (M == 1)
    gap = S * makespan - (M + S - 1) * fill
    return Graham(
        points=gap.size,
        below=int((gap < 0).sum()),
        above=int((makespan > M * fill).sum()),
        equal=int((gap == 0).sum()),
        balanced_or_single=int(balanced.sum()),
        equal_otherwise=int(((gap == 0) & ~balanced).sum()),
    )
