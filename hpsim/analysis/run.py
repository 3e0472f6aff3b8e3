"""A run folder, opened for reading: what ran, which parts are finished, and their files.

The run may still be going on, or may have been killed: what counts is what has a record at the time of opening.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpsim.errors import RunFolderError, SweepFileError
from hpsim.regime import NAMES
from hpsim.sweep import columns
from hpsim.sweep.durable import check_is_text, read_json, told_plainly
from hpsim.sweep.record import FORMAT, RECORDS, Record, kept_sweep, numbered, part_path, read_record
from hpsim.sweep.spec import Sweep, make_sweep
from hpsim.sweep.totals import Totals

if TYPE_CHECKING:
    import pyarrow

_IDENTIFIED_BY = {"format": int, "sweep_sha256": str, "parts_total": int}  # in run.json
_ANEW = "the same `hpsim sweep run --fresh` writes the run again"


@dataclass(frozen=True)
class Run:
    """One run folder, as it was when it was opened.

    Attributes
    ----------
    path : Path
        The folder.
    sweep : dict
        The resolved sweep, in the words of a sweep file.
    parts_done, parts_total : int
        Finished parts, and all of the sweep.
    parts_lost : int
        Parts with a record that does not match the files; they do not count, and ``hpsim sweep run`` computes
        them again.
    totals : Totals
        Over the finished parts.
    files : dict of str to list of Path
        Table → the files of the finished parts, in the order of the sweep. A part without a violation has no file.
    rows : dict of Path to int
        How many rows each of them has.
    """

    path: Path
    sweep: dict[str, Any]
    parts_done: int
    parts_total: int
    parts_lost: int
    totals: Totals
    files: dict[str, list[Path]]
    rows: dict[Path, int]

    @property
    def regimes(self) -> list[str]:
        """The names of the sweep's regimes, in the order of the columns."""
        return [regime if isinstance(regime, str) else regime["name"] for regime in self.sweep["regimes"]]

    @property
    def closed_regimes(self) -> list[str]:
        """The regimes that have a closed form, and so columns ``closed_`` and ``rel_err_``."""
        return [regime for regime in self.regimes if regime in NAMES]

    @property
    def named(self) -> bool:
        """Whether its configurations are pipelines with names."""
        return "pipelines" in self.sweep

    @property
    def unit(self) -> str | None:
        """The unit of all times; None when the sweep does not say."""
        return self.sweep.get("unit")

    @property
    def tables(self) -> list[str]:
        """The tables that this run records."""
        return list(columns.TABLES) if self.sweep["record"] == "points" else ["violations"]

    def columns(self, table: str) -> list[columns.Column]:
        """The columns of ``table`` in this run."""
        return columns.columns(table, self.regimes, self.named)

    def schema(self, table: str) -> pyarrow.Schema:
        """The Arrow schema of ``table`` in this run."""
        return columns.schema(table, self.regimes, self.named)

    def need(self, table: str, what: str) -> None:
        """Refuse when ``table``, which ``what`` is made from, is not recorded.

        Raises
        ------
        RunFolderError
            When it is not; it names the key of the sweep that records it.
        """
        if table not in self.tables:
            raise RunFolderError(
                str(self.path),
                f"{what} needs the table {table}, and this run kept violations only",
                "a sweep with `record: points` keeps every configuration and point (--set record=points --out DIR)",
            )

    @property
    def unfinished(self) -> str | None:
        """What is missing, in one line; None when the run is complete."""
        if self.parts_done == self.parts_total:
            return None
        lost = f"; {self.parts_lost:,} recorded but missing or of another size" if self.parts_lost else ""
        return (
            f"this run is unfinished: {self.parts_done:,} of {self.parts_total:,} parts are done{lost}; "
            f"everything here is about those {self.totals.points:,} points"
        )


def open_run(path: str | Path) -> Run:
    """Open the run folder ``path``; nothing is written, and a run that is going on is not disturbed.

    Nothing of it is taken on trust: the sweep is checked as strictly as a sweep file, the records as what a run of that
    sweep writes. A part counts when its record is there, intact, and its files have the recorded sizes. Checksums of
    the files are not computed: that would read every byte of every part.

    Raises
    ------
    RunFolderError
        When it is no run folder, cannot be read, is damaged, or has another format.
    """
    folder = Path(path)
    check_is_text(folder)
    with told_plainly(folder):
        about = _about(folder)
        sweep, data = _sweep(folder, about)
        files: dict[str, list[Path]] = {name: [] for name in columns.TABLES}
        rows: dict[Path, int] = {}
        totals, done, lost = Totals(), 0, 0
        for number, file in sorted(numbered(folder, RECORDS)):
            if number >= sweep.n_chunks:
                continue
            record = read_record(file)
            if record is None or not record.belongs(sweep, number) or not _is_whole(folder, record):
                lost += 1
                continue
            done += 1
            totals += record.totals
            for table, written in record.tables.items():
                part = part_path(folder, table, number)
                files[table].append(part)
                rows[part] = written.rows
    return Run(folder, data, done, sweep.n_chunks, lost, totals, files, rows)


def _about(folder: Path) -> Mapping[str, Any]:
    """The content of ``run.json``."""
    file = folder / "run.json"
    try:
        about = read_json(file)
    except (FileNotFoundError, NotADirectoryError):
        what = "is not a run folder (it has no run.json)" if folder.is_dir() else "there is no such folder"
        raise RunFolderError(
            str(folder), what, "a folder that `hpsim sweep run` wrote, as results/paper-fuzz"
        ) from None
    if not isinstance(about, dict) or not all(type(about.get(name)) is kind for name, kind in _IDENTIFIED_BY.items()):
        raise RunFolderError(str(file), "is damaged", _ANEW)
    if about["format"] != FORMAT:
        raise RunFolderError(
            str(folder), f"holds a run in format {about['format']}", f"this hpsim reads format {FORMAT}"
        )
    return about


def _sweep(folder: Path, about: Mapping[str, Any]) -> tuple[Sweep, dict[str, Any]]:
    """The resolved sweep of the run, checked as a sweep file is, and in the words of one."""
    file = folder / "sweep.yaml"
    try:
        data = kept_sweep(folder)
        if not isinstance(data, dict) or isinstance(data.get("pipelines"), str):  # a run keeps the pipelines themselves
            raise RunFolderError(str(file), "is damaged", _ANEW)
        sweep = make_sweep(data, str(file))
    except FileNotFoundError:
        raise RunFolderError(str(file), "is missing", _ANEW) from None
    except SweepFileError as error:
        raise RunFolderError(error.place, f"is damaged ({error.found})", _ANEW) from None
    if (sweep.sha256, sweep.n_chunks) != (about["sweep_sha256"], about["parts_total"]):
        raise RunFolderError(str(file), "is not the sweep that run.json speaks of", _ANEW)
    return sweep, data


def _is_whole(folder: Path, record: Record) -> bool:
    """Whether the files of a part are there, with the recorded sizes."""
    for table, written in record.tables.items():
        try:
            status = part_path(folder, table, record.part).stat()
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(status.st_mode) or status.st_size != written.bytes:
            return False
    return True
