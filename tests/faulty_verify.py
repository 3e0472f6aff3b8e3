"""``hpsim verify`` in a process of its own with a fault planted: what the tests of colours and of signals start."""

from __future__ import annotations

import dataclasses
import functools
import sys
import time
from typing import Any

from hpsim.claims.catalogue import Claim, catalogue
from hpsim.conjecture import claims_verify
from hpsim.conjecture import verify as library
from hpsim.kernels import closed_forms

GRID = 2.0**-20
FEW = ("cor5", "more-window", "loose-rho")  # one that is proved, one that is proved within bounds, one that fails
_true_slopes = closed_forms.slopes
_all_checks = library.checks


def too_steep(tau: Any, d: Any, overlap: Any, out: Any) -> None:
    """The steady slope, wrong by one grid unit in pipelines of seven stages."""
    _true_slopes(tau, d, overlap, out)
    if tau.shape[1] == 7:
        out += GRID


def fewer_checks(configs: int) -> list[library.Check]:
    """The checks of ``verify`` with 300 configurations in float64, and several chunks in the exact search."""
    small = {"paper_fuzz_float64": "configs=300", "paper_fuzz": "chunk=32"}
    return [
        dataclasses.replace(check, settings=(*check.settings, small[check.sweep])) if check.sweep in small else check
        for check in _all_checks(configs)
    ]


def few_claims() -> dict[str, Claim]:
    """The catalogue, as if it were short."""
    return {name: catalogue()[name] for name in FEW}


def main() -> None:
    """``faulty_verify.py SECONDS_PER_CHUNK ARGUMENTS``; with slow chunks, each start is a line on stderr.

    With ``--claims`` the proofs within bounds are long ones.
    """
    from hpsim.cli import main as hpsim
    from hpsim.sweep import chunk

    closed_forms.slopes = too_steep
    library.checks = fewer_checks
    if "--claims" in sys.argv:
        claims_verify.BOUNDS_DRAWN = (9, 9)
    claims_verify.catalogue = functools.cache(few_claims)
    claims_verify.BUDGET = 200
    seconds, run_chunk = float(sys.argv[1]), chunk.run_chunk

    def slow_chunk(*arguments: Any) -> chunk.ChunkResult:
        print("a chunk starts", file=sys.stderr, flush=True)
        time.sleep(seconds)
        return run_chunk(*arguments)

    if seconds:
        chunk.run_chunk = slow_chunk
    sys.argv = ["hpsim", "verify", *sys.argv[2:]]
    hpsim()
