"""The run folder: what a sweep leaves on disk, safe against being killed at any moment.

A part is written to a temporary name, flushed, fsynced and renamed; then its record is written the same way. A part
counts only when its record is there, is intact and matches the files. Nothing is appended or rewritten, so a finished
part costs the same however many there are. Columns are declared in :mod:`hpsim.sweep.columns`; the layout is told in
``results/README.md``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpsim import __version__
from hpsim.errors import RunFolderError, SweepFileError
from hpsim.sweep import columns
from hpsim.sweep.differences import differing_keys, short
from hpsim.sweep.durable import (
    IrregularFileError,
    Unnamed,
    check_is_folder,
    fsync_directory,
    lock,
    open_regular,
    read_at_most,
    read_json,
    told_plainly,
    write_durably,
)
from hpsim.sweep.file.yaml_file import MOST_VALUES, dump, parse
from hpsim.sweep.parquet import footer, parquet_bytes, read_part, written_by
from hpsim.sweep.record import (
    FORMAT,
    PART,
    RECORD,
    RECORDS,
    ROOM,
    SHA256,
    Covered,
    Record,
    TableRecord,
    entries,
    kept_sweep,
    numbered,
    part_path,
    read_record,
    record_path,
)
from hpsim.sweep.totals import Totals

if TYPE_CHECKING:
    import pyarrow

    from hpsim.sweep.spec import Sweep

START_OVER = "choose another folder with --out, or start over with --fresh"
MOST_KEYS_SHOWN = 8

_DIRECTORIES = (RECORDS, *columns.TABLES)
LEFTOVER = re.compile(rf"\.({PART.pattern}|{RECORD.pattern}|run\.json|sweep\.yaml)\.[0-9a-f]{{8}}\.tmp")


class RunFolder:
    """One run's folder, held open by one process at a time; a context manager.

    Open it with :meth:`open`. ``finished``, ``write`` and ``commit`` may be called from several threads, for different
    parts.

    Attributes
    ----------
    path : Path
        The folder.
    sweep : Sweep
        What runs in it.
    """

    def __init__(self, path: Path, sweep: Sweep, lock: int) -> None:
        self.path = path
        self.sweep = sweep
        self._sha256 = sweep.sha256
        self._lock = lock

    @classmethod
    def open(cls, path: Path, sweep: Sweep, *, fresh: bool = False) -> RunFolder:
        """Start a run in ``path``, or continue the same sweep's run there; ``fresh`` removes a run that is there first.

        Raises
        ------
        RunFolderError
            When the folder cannot be written, is no run folder and not empty, is in use by another run, or holds a run
            of another sweep or of another version of hpsim.
        """
        check_is_folder(str(path))
        with told_plainly(path):
            path.mkdir(parents=True, exist_ok=True)
            folder = cls(path, sweep, lock(path))
        try:
            with told_plainly(path):
                folder._prepare(fresh)
        except BaseException:
            folder.close()
            raise
        return folder

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let other runs use the folder."""
        os.close(self._lock)

    def _prepare(self, fresh: bool) -> None:
        ours = self._written_here()
        linked = [name for name in _DIRECTORIES if (self.path / name).is_symlink()]
        if linked:
            raise RunFolderError(
                str(self.path / linked[0]),
                "is a link, and files of a run would be removed or written behind it",
                "a folder itself; the run folder as a whole may be a link",
            )
        if not ours:
            strangers = [name for name in os.listdir(self.path) if not LEFTOVER.fullmatch(name)]
            if strangers:
                raise RunFolderError(
                    str(self.path),
                    f"is not empty and holds no run ({short(min(strangers))} is in it)",
                    "choose a new folder with --out (files that hpsim did not write are never removed)",
                )
        elif not fresh:
            self._check_continues()
        self._check_in_the_way()
        removed = [file for name in (".", *_DIRECTORIES) for file in entries(self.path / name, LEFTOVER)]
        removed += self._vouched_for(ours, only_strays=not fresh)
        for file in removed:
            file.unlink(missing_ok=True)
        if fresh:
            for name in _DIRECTORIES:
                with suppress(OSError):  # absent, or with files of the user in it
                    (self.path / name).rmdir()

    def _written_here(self) -> set[str]:
        """The hashes of the sweeps that ran in this folder, by ``run.json`` and the intact records; none: no run."""
        with suppress(FileNotFoundError):
            run = read_json(self.path / "run.json")
            if isinstance(run, dict) and re.fullmatch(SHA256, str(run.get("sweep_sha256"))):
                return {run["sweep_sha256"]}
        records = (read_record(file) for _, file in numbered(self.path, RECORDS))  # run.json is damaged, or gone
        return {record.sweep_sha256 for record in records if record is not None}

    def _vouched_for(self, ours: set[str], *, only_strays: bool) -> Iterator[Path]:
        """The files of this folder that a run of ``ours`` wrote, as records and the files' own footers say.

        Strays are those without a record of a part of this sweep, which whoever reads all files would read.
        """
        recorded = self._numbers(RECORDS) if only_strays else set()
        for number, file in numbered(self.path, RECORDS):
            record = read_record(file)
            if number in recorded or record is None or record.sweep_sha256 not in ours:
                continue
            yield from (path for table in record.tables if (path := part_path(self.path, table, number)).exists())
            yield file
        for table in columns.TABLES:
            for number, file in numbered(self.path, table):
                if number not in recorded and written_by(file) in ours:
                    yield file

    def _check_in_the_way(self) -> None:
        """Refuse, before anything is removed, where a folder stands in the place of a file.

        Raises
        ------
        RunFolderError
            Naming the first.
        """
        for file in sorted(file for name in _DIRECTORIES for _, file in numbered(self.path, name)):
            if file.is_dir():
                raise RunFolderError(str(file), "is a folder where a file of a run belongs", "move it elsewhere first")

    def _check_continues(self) -> None:
        run = self.read_run()
        if "sweep_sha256" not in run:
            raise RunFolderError(str(self.path / "run.json"), "is damaged" if run else "is missing", START_OVER)
        if (run.get("hpsim"), run.get("format")) != (__version__, FORMAT):
            raise RunFolderError(
                str(self.path),
                f"holds a run of hpsim {run.get('hpsim')} in format {run.get('format')}",
                f"this is hpsim {__version__} with format {FORMAT}; continue with that version, {START_OVER}",
            )
        if run.get("sweep_sha256") != self._sha256:
            raise RunFolderError(str(self.path), f"belongs to another sweep ({self._differences()})", START_OVER)

    def _differences(self) -> str:
        try:
            there = kept_sweep(self.path)
        except (OSError, SweepFileError):
            return "its sweep.yaml cannot be read"
        here, _ = parse(dump(self.sweep.resolved()), "sweep", most_values=ROOM * MOST_VALUES)
        differing = list(differing_keys(there, here))
        more = f", and {len(differing) - MOST_KEYS_SHOWN} more" if len(differing) > MOST_KEYS_SHOWN else ""
        return ", ".join(differing[:MOST_KEYS_SHOWN]) + more or "its sweep.yaml was changed since"

    def read_run(self) -> dict[str, Any]:
        """The content of ``run.json``; empty when no run has started here.

        Raises
        ------
        RunFolderError
            When the file is there but damaged.
        """
        try:
            run = read_json(self.path / "run.json")
        except FileNotFoundError:
            return {}
        if not isinstance(run, dict):
            raise RunFolderError(str(self.path / "run.json"), "is damaged", START_OVER)
        return run

    def write_run(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """Replace ``run.json`` by ``run`` and what identifies it; the first time, lay out the folder too.

        Returns the whole content. It must be called once before the first ``write``.
        """
        content = {"format": FORMAT, "hpsim": __version__, "sweep_sha256": self._sha256, **run}
        with told_plainly(self.path):
            # First of all: a folder with this file is known for a run's, whatever happens next.
            write_durably(self.path / "run.json", json.dumps(content, indent=2).encode() + b"\n")
            self._lay_out()
        return content

    def _lay_out(self) -> None:
        resolved = dump(self.sweep.resolved()).encode()
        kept = self.path / "sweep.yaml"
        if not kept.is_file() or read_at_most(kept, len(resolved)) != resolved:
            write_durably(kept, resolved)
        for name in (RECORDS, *(columns.TABLES if self.sweep.record == "points" else ["violations"])):
            (self.path / name).mkdir(exist_ok=True)
        fsync_directory(self.path)

    def recorded(self) -> int:
        """How many parts of the sweep have a record, intact or not."""
        with told_plainly(self.path):
            return len(self._numbers(RECORDS))

    def written(self) -> int:
        """How many parts of the sweep have a record and, when points are kept, both their files, intact or not."""
        kept = (RECORDS, "configs", "points") if self.sweep.record == "points" else (RECORDS,)
        with told_plainly(self.path):
            return len(set.intersection(*map(self._numbers, kept)))

    def _numbers(self, directory: str) -> set[int]:
        """The numbers of the sweep's parts that have a file in ``directory``."""
        return {number for number, _ in numbered(self.path, directory) if number < self.sweep.n_chunks}

    def finished(self, index: int) -> Totals | None:
        """The totals of part ``index``; None when it is not there, or not as it was written."""
        with told_plainly(self.path):
            record = read_record(record_path(self.path, index))
            if record is None or not record.belongs(self.sweep, index):
                return None
            if not all(self._matches(name, index, table) for name, table in record.tables.items()):
                return None
            self._remove_others(index, record.tables)
            return record.totals

    def _matches(self, table: str, index: int, written: TableRecord) -> bool:
        with suppress(FileNotFoundError, IrregularFileError), open_regular(part_path(self.path, table, index)) as file:
            if os.fstat(file.fileno()).st_size == written.bytes:
                return hashlib.file_digest(file, "sha256").hexdigest() == written.sha256
        return False

    def _remove_others(self, index: int, tables: Iterable[str]) -> None:
        """Remove what stands under the number of part ``index`` in the tables that it does not have."""
        for name in columns.TABLES:
            if name not in tables:
                part_path(self.path, name, index).unlink(missing_ok=True)

    def write(self, index: int, tables: Mapping[str, pyarrow.Table], totals: Totals) -> Written:
        """Encode and write part ``index``; it is finished for good after :meth:`commit`.

        Raises
        ------
        RunFolderError
            When it cannot be written, for instance because the disk is full. Parts finished before stay so.
        """
        about = {"format": FORMAT, "hpsim": __version__, "sweep_sha256": self._sha256, "chunk": index}
        about["unit"] = self.sweep.unit
        written = Written(index, totals)
        with told_plainly(self.path), written.or_nothing():
            for name, table in tables.items():
                marked = table.replace_schema_metadata(footer(about))
                content = parquet_bytes(name, self.sweep.regime_names, marked)
                written.files[name] = Unnamed(part_path(self.path, name, index), content)
                written.tables[name] = {"rows": table.num_rows, "bytes": len(content)}
        return written

    def commit(self, written: Written) -> None:
        """Flush the files of a part, put them in place, and then write its record.

        Raises
        ------
        RunFolderError
            As :meth:`write`; what is in place by then does not count without the record.
        """
        covered = self.sweep.chunk_range(written.index)
        with told_plainly(self.path), written.or_nothing():
            record = Record(
                sweep_sha256=self._sha256,
                part=written.index,
                configs=Covered(first=covered.start, last=covered.stop - 1),
                tables={
                    name: TableRecord(**table, sha256=written.files[name].flush())
                    for name, table in written.tables.items()
                },
                totals=written.totals,
            )
            self._remove_others(written.index, record.tables)
            for file in written.files.values():
                file.name()  # the record counts only with the files beside it, so names may be lost in a power cut
            write_durably(record_path(self.path, written.index), record.sealed())

    def first_violations(self, most: int) -> list[dict[str, Any]]:
        """The first stored violation of each of the first ``most`` configurations that have one, in the sweep's order.

        Each is its row of the table.
        """
        rows: list[dict[str, Any]] = []
        declared = columns.schema("violations", self.sweep.regime_names)
        with told_plainly(self.path):
            for number, part in sorted(numbered(self.path, "violations")):
                record = read_record(record_path(self.path, number))
                if record is None or not record.belongs(self.sweep, number) or "violations" not in record.tables:
                    continue
                table = read_part(part, declared, record.tables["violations"].rows)
                ids = table.column("config_id").to_pylist()  # in ascending order
                firsts = [place for place, config_id in enumerate(ids) if place == 0 or config_id != ids[place - 1]]
                rows += table.take(firsts[: most - len(rows)]).to_pylist()
                if len(rows) == most:
                    break
        return rows


@dataclass(frozen=True)
class Written:
    """A part whose files are written, but have no name yet and may not be on the disk: nothing of it counts so far."""

    index: int
    totals: Totals
    files: dict[str, Unnamed] = field(default_factory=dict)
    tables: dict[str, dict[str, int]] = field(default_factory=dict)

    @contextmanager
    def or_nothing(self) -> Iterator[None]:
        """Remove the files that have no name yet, if anything goes wrong."""
        try:
            yield
        except BaseException:
            for file in self.files.values():
                file.discard()
            raise
