"""Everything that is run for the paper's numbers, once: its searches, its hand-crafted set, and a request log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hpsim.paper.fuzz import QUICK_CONFIGS, Search, search
from hpsim.paper.graham import Graham, compare
from hpsim.paper.measured import Measured
from hpsim.paper.verdict import NO_LOG, Unavailable
from hpsim.processors import threads


@dataclass(frozen=True)
class Evidence:
    """What the numbers are read from.

    Attributes
    ----------
    hand_crafted : Search
        The eleven configurations, asynchronous and blocking, in exact arithmetic.
    theorems, sandwich : Search
        The random search in double precision, checked for Theorems 2 and 3, and for Corollary 5.
    exact : Search
        The random search in exact arithmetic, partial overlap included.
    graham : Graham
        Makespans of the exact search beside Graham's bound.
    measured : Measured or None
        A request log, if one was given.
    quick : bool
        Whether the searches were cut short.
    """

    hand_crafted: Search
    theorems: Search
    sandwich: Search
    exact: Search
    graham: Graham
    measured: Measured | None
    quick: bool

    @property
    def searches(self) -> dict[str, Search]:
        """The runs by the name that the list of numbers calls them."""
        return {name: getattr(self, name) for name in ("hand_crafted", "theorems", "sandwich", "exact")}

    def from_log(self) -> Measured:
        """The request log.

        Raises
        ------
        Unavailable
            When none was given.
        """
        if self.measured is None:
            raise Unavailable(NO_LOG)
        return self.measured


def gather(logs: Sequence[Path | str] = (), workers: int | None = None, quick: bool = False) -> Evidence:
    """Run all of it; a wrong log or number of workers is told before anything runs.

    Raises
    ------
    HpsimError
        When ``workers`` makes no sense or a log cannot be read.
    hpsim.sweep.executors.Interrupted
        After SIGINT or SIGTERM.
    """
    n = threads(workers)
    measured = Measured.read(logs) if logs else None
    configs = QUICK_CONFIGS if quick else None
    exact = search("paper_fuzz", n, configs)
    return Evidence(
        hand_crafted=search("hand_crafted", n),
        theorems=search("paper_fuzz_float64", n, configs, ("thm2", "thm3")),
        sandwich=search("paper_fuzz_float64", n, configs, ("cor5",)),
        exact=exact,
        graham=compare(exact),
        measured=measured,
        quick=quick,
    )
