"""The paper's randomised search and its hand-crafted configurations, run by the engine; nothing is written (§7.1)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hpsim.sweep.executors import run_all
from hpsim.sweep.spec import Sweep, load_sweep
from hpsim.sweep.totals import Totals

if TYPE_CHECKING:
    import pyarrow

QUICK_CONFIGS = 200


@dataclass(frozen=True)
class Search:
    """A shipped sweep that was run in memory.

    Attributes
    ----------
    sweep : Sweep
        As it ran.
    totals : Totals
    configs, points : pyarrow.Table
        The tables of the run folder, as ``results/README.md`` describes them.
    """

    sweep: Sweep
    totals: Totals
    configs: pyarrow.Table
    points: pyarrow.Table

    @property
    def worst(self) -> float:
        """The largest relative difference between recurrence and closed form in any regime."""
        return max(self.totals.max_rel_err.values())


def search(name: str, workers: int, configs: int | None = None, claims: tuple[str, ...] = ()) -> Search:
    """Run the shipped sweep ``name``, over ``configs`` configurations and for ``claims`` only, where these are given.

    Raises
    ------
    hpsim.sweep.executors.Interrupted
        After SIGINT or SIGTERM, when the running chunks are finished.
    """
    import pyarrow

    from hpsim.sweep.chunk import run_chunk

    settings = [f"configs={configs}"] if configs is not None else []
    settings += [f"claims=[{', '.join(claims)}]"] if claims else []
    sweep = load_sweep(name, tuple(settings))
    totals = Totals()
    tables = {}
    with closing(run_all(lambda index: run_chunk(sweep, index), range(sweep.n_chunks), workers)) as outcomes:
        for index, outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
            totals += outcome.totals
            tables[index] = outcome.tables
    kinds = [pyarrow.concat_tables(tables[index][kind] for index in sorted(tables)) for kind in ("configs", "points")]
    return Search(sweep, totals, *kinds)
