"""A run folder, opened for reading: what ran, which parts are finished, and their files.

The run may still be going on, or may have been killed: what counts is what has a record at the time of opening.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpsim.errors import RunFolderError
from hpsim.regime import NAMES
from hpsim.sweep import columns
from hpsim.sweep.durable import told_plainly
from hpsim.sweep.file.yaml_file import load
from hpsim.sweep.store import FORMAT, RECORD, RECORDS
from hpsim.sweep.totals import Totals


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
    """

    path: Path
    sweep: dict[str, Any]
    parts_done: int
    parts_total: int
    parts_lost: int
    totals: Totals
    files: dict[str, list[Path]]

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

    A part counts when its record is there and its files have the recorded sizes. Checksums are not computed: that would
    read every byte of every part.

    Raises
    ------
    RunFolderError
        When it is no run folder, cannot be read, or has another format.
    """
    folder = Path(path)
    with told_plainly(folder):
        about = _about(folder)
        sweep = dict(load(folder / "sweep.yaml").data)
        files: dict[str, list[Path]] = {name: [] for name in columns.TABLES}
        totals, done, lost = Totals(), 0, 0
        for number in _recorded(folder):
            record = _record(folder, number, about["sweep_sha256"])
            if record is None:
                lost += 1
                continue
            done += 1
            totals += Totals(**record["totals"])
            for table in record["tables"]:
                files[table].append(_part(folder, table, number))
    return Run(folder, sweep, done, int(about["parts_total"]), lost, totals, files)


def _about(folder: Path) -> Mapping[str, Any]:
    """The content of ``run.json``."""
    file = folder / "run.json"
    try:
        about = json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        what = "is not a run folder (it has no run.json)" if folder.is_dir() else "there is no such folder"
        raise RunFolderError(
            str(folder), what, "a folder that `hpsim sweep run` wrote, as results/paper-fuzz"
        ) from None
    except ValueError:
        about = None
    if not isinstance(about, dict) or not {"format", "sweep_sha256", "parts_total"} <= about.keys():
        raise RunFolderError(str(file), "is damaged", "the same `hpsim sweep run --fresh` writes the run again")
    if about["format"] != FORMAT:
        raise RunFolderError(
            str(folder), f"holds a run in format {about['format']}", f"this hpsim reads format {FORMAT}"
        )
    return about


def _recorded(folder: Path) -> list[str]:
    """The numbers of the recorded parts as they are written in file names, in the order of the sweep."""
    try:
        names = os.listdir(folder / RECORDS)
    except FileNotFoundError:  # killed before the first part
        return []
    return sorted((Path(name).stem for name in names if RECORD.fullmatch(name)), key=int)


def _record(folder: Path, number: str, sweep_sha256: str) -> dict[str, Any] | None:
    """The record of a part; None when it is damaged, of another run, or its files are not as large as it says."""
    try:
        record = json.loads((folder / RECORDS / f"{number}.json").read_bytes())
        ours = (record["format"], record["sweep_sha256"], record["part"]) == (FORMAT, sweep_sha256, int(number))
        whole = all(
            _part(folder, table, number).stat().st_size == written["bytes"]
            for table, written in record["tables"].items()
        )
        return dict(record) if ours and whole and "totals" in record else None
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _part(folder: Path, table: str, number: str) -> Path:
    return folder / table / f"part-{number}.parquet"
