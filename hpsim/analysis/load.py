"""``hpsim.load``: a run folder → pandas data frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpsim.analysis.run import Run, open_run
from hpsim.errors import RunFolderError
from hpsim.sweep.durable import told_plainly
from hpsim.sweep.parquet import read_part

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Frames:
    """The tables of a run as data frames, each read from disk when it is first asked for, and then kept.

    Attributes
    ----------
    run : Run
        The run folder; ``run.unfinished`` says in words what is missing, ``run.sweep`` is the resolved sweep.
    selected : list of str or None
        The columns that are read; None: all.
    """

    run: Run
    selected: list[str] | None

    def __repr__(self) -> str:
        run, totals = self.run, self.run.totals
        state = "unfinished" if run.unfinished else "complete"
        size = f"{totals.configs:,} configurations, {totals.points:,} points, {totals.violations:,} violations"
        return f"<Frames of {run.path}: {state}; {size}; tables {', '.join(run.tables)}>"

    @property
    def unit(self) -> str | None:
        """The unit of all times; None when the sweep does not say."""
        return self.run.unit

    @cached_property
    def configs(self) -> pandas.DataFrame:
        """One row for each configuration. Columns as in ``results/README.md``; ``tau, d, latency`` hold arrays."""
        return self._read("configs")

    @cached_property
    def points(self) -> pandas.DataFrame:
        """One row for each configuration and M."""
        return self._read("points")

    @cached_property
    def violations(self) -> pandas.DataFrame:
        """One row for each stored violation."""
        return self._read("violations")

    def _read(self, table: str) -> pandas.DataFrame:
        import pyarrow

        self.run.need(table, f"load(…).{table}")
        schema = self.run.schema(table)
        names = [name for name in schema.names if self.selected is None or name in self.selected]
        empty = pyarrow.schema([schema.field(name) for name in names]).empty_table()
        with told_plainly(self.run.path):
            parts = [read_part(file, schema, self.run.rows[file], names) for file in self.run.files[table]]
        rows = pyarrow.concat_tables([empty, *parts])
        del parts
        frame: pandas.DataFrame = rows.to_pandas(split_blocks=True, self_destruct=True)
        return frame


def load(path: str | Path, columns: Sequence[str] | None = None) -> Frames:
    """The tables of the run folder ``path`` as pandas data frames ``configs``, ``points`` and ``violations``.

    Only finished parts are read; an unfinished run gives a ``UserWarning``.

    Memory: a frame holds all rows of its table, 8 bytes a value (``S``: 4), so 100 million points with two regimes are
    8 GB, and twice as much for a moment while they are read. A table is read when it is first asked for, so
    ``load(path).configs`` never reads points; ``columns`` keeps only what is needed. The vectors ``tau``, ``d`` and
    ``latency`` of ``configs`` become one array object a row, about 200 bytes each. What does not fit is a case for
    ``hpsim query``.

    Parameters
    ----------
    path : str or Path
        A run folder, finished or not.
    columns : sequence of str, optional
        The columns to read; each table has those of them that it knows.

    Returns
    -------
    Frames
        Times are in the sweep's own unit, ``.unit``.

    Raises
    ------
    RunFolderError
        When it is no run folder, when no table has one of ``columns``, or, on access, when the run did not record that
        table.

    Examples
    --------
    >>> run = load("results/paper-fuzz", columns=["S", "M", "T_async", "T_blocking"])  # doctest: +SKIP
    >>> run.points.groupby("M").mean()  # doctest: +SKIP
    """
    import warnings

    run = open_run(path)
    known: dict[str, Any] = {column.name: None for table in run.tables for column in run.columns(table)}
    wanted = [columns] if isinstance(columns, str) else columns
    for name in wanted or ():
        if name not in known:
            raise RunFolderError("columns", f"no table of {path} has {name!r}", f"there are {', '.join(known)}")
    if run.unfinished:
        warnings.warn(run.unfinished, stacklevel=2)
    return Frames(run, None if wanted is None else list(wanted))
