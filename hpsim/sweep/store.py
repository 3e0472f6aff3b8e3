"""The run folder: what a sweep leaves on disk, safe against being killed at any moment.

A part is written to a temporary name, flushed, fsynced and renamed; then its record is written the same way. A part
counts only when its record is there, is intact and matches the files. Nothing is appended or rewritten, so a finished
part costs the same however many there are. Columns are declared in :mod:`hpsim.sweep.columns`; the layout is told in
``results/README.md``.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from hpsim import __version__
from hpsim.errors import RunFolderError
from hpsim.sweep import columns
from hpsim.sweep.differences import differing_keys, short
from hpsim.sweep.durable import Unnamed, fsync_directory, lock, read_json, told_plainly, write_durably
from hpsim.sweep.file.yaml_file import dump
from hpsim.sweep.parquet import parquet_bytes
from hpsim.sweep.totals import Totals

if TYPE_CHECKING:
    import pyarrow

    from hpsim.sweep.spec import Sweep

FORMAT = 1
RECORDS = "_parts"
START_OVER = "choose another folder with --out, or start over with --fresh"
MOST_KEYS_SHOWN = 8

_PART = r"part-[0-9]{6,}\.parquet"
_RECORD = r"[0-9]{6,}\.json"
PART = re.compile(_PART)
RECORD = re.compile(_RECORD)
LEFTOVER = re.compile(rf"\.({_PART}|{_RECORD}|run\.json|sweep\.yaml)\.[0-9a-f]{{8}}\.tmp")
WRITTEN = re.compile(rf"{_PART}|{_RECORD}|{LEFTOVER.pattern}")


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
        if not self._holds_run():
            strangers = [name for name in os.listdir(self.path) if not LEFTOVER.fullmatch(name)]
            if strangers:
                raise RunFolderError(
                    str(self.path),
                    f"is not empty and holds no run ({short(min(strangers))} is in it)",
                    "choose a new folder with --out (files that hpsim did not write are never removed)",
                )
        elif not fresh:
            self._check_continues()
            self._remove_strays()
        for directory in (self.path, *(self.path / name for name in (RECORDS, *columns.TABLES))):
            for file in _files(directory, LEFTOVER if not fresh or directory == self.path else WRITTEN):
                file.unlink()
            if fresh and directory != self.path:
                with suppress(OSError):  # absent, or with files of the user in it
                    directory.rmdir()

    def _holds_run(self) -> bool:
        with suppress(FileNotFoundError):
            run = read_json(self.path / "run.json")
            if isinstance(run, dict) and "sweep_sha256" in run:
                return True
        return any(True for _ in _files(self.path / RECORDS, WRITTEN))  # run.json is damaged or gone, or not ours

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
            kept = self.path / "sweep.yaml"
            there = yaml.safe_load(kept.read_bytes() if kept.is_file() else b"[")
        except (OSError, ValueError, RecursionError, yaml.YAMLError):
            return "its sweep.yaml cannot be read"
        differing = list(differing_keys(there, yaml.safe_load(dump(self.sweep.resolved()))))
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
        if not kept.is_file() or kept.read_bytes() != resolved:
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
        return {number for number, _ in self._numbered(directory) if number < self.sweep.n_chunks}

    def _numbered(self, directory: str) -> Iterator[tuple[int, Path]]:
        """The files of ``directory`` named exactly as a part's, each with its number."""
        name = self._record if directory == RECORDS else partial(self._part, directory)
        for file in _files(self.path / directory, RECORD if directory == RECORDS else PART):
            number = int(re.sub(r"\D", "", file.name))
            if file == name(number):
                yield number, file

    def _remove_strays(self) -> None:
        """Remove files with our names that no record of this sweep can vouch for; whoever reads all parts would."""
        recorded = self._numbers(RECORDS)
        for directory in (RECORDS, *columns.TABLES):
            for number, file in self._numbered(directory):
                if number not in recorded:
                    file.unlink()

    def finished(self, index: int) -> Totals | None:
        """The totals of part ``index``; None when it is not there, or not as it was written."""
        with told_plainly(self.path):
            try:
                record: Any = read_json(self._record(index))
                content = {key: value for key, value in record.items() if key != "sha256"}
                written = self._record(index).read_bytes() == _sealed(content)
                ours = (record["format"], record["sweep_sha256"], record["part"]) == (FORMAT, self._sha256, index)
                tables = record["tables"].items()
                if written and ours and all(self._matches(name, index, table) for name, table in tables):
                    self._remove_others(index, record["tables"])
                    return Totals(**record["totals"])
            except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                pass
            return None

    def _matches(self, table: str, index: int, written: Mapping[str, Any]) -> bool:
        part = self._part(table, index)
        if part.stat().st_size != written["bytes"]:
            return False
        with part.open("rb") as file:
            return bool(hashlib.file_digest(file, "sha256").hexdigest() == written["sha256"])

    def _remove_others(self, index: int, tables: Iterable[str]) -> None:
        """Remove what stands under the number of part ``index`` in the tables that it does not have."""
        for name in columns.TABLES:
            if name not in tables:
                self._part(name, index).unlink(missing_ok=True)

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
                marked = table.replace_schema_metadata({"hpsim": json.dumps(about)})
                content = parquet_bytes(name, self.sweep.regime_names, marked)
                written.files[name] = Unnamed(self._part(name, index), content)
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
            tables = {name: table | {"sha256": written.files[name].flush()} for name, table in written.tables.items()}
            record = {
                "format": FORMAT,
                "sweep_sha256": self._sha256,
                "part": written.index,
                "configs": {"first": covered.start, "last": covered.stop - 1},
                "tables": tables,
                "totals": asdict(written.totals),
            }
            self._remove_others(written.index, tables)
            for file in written.files.values():
                file.name()  # the record counts only with the files beside it, so names may be lost in a power cut
            write_durably(self._record(written.index), _sealed(record))

    def first_violations(self, most: int) -> list[dict[str, Any]]:
        """The first stored violation of each of the first ``most`` configurations that have one, in the sweep's order.

        Each is its row of the table.
        """
        import pyarrow.parquet

        rows: list[dict[str, Any]] = []
        parts = _files(self.path / "violations", PART)
        with told_plainly(self.path):
            # Each part holds at least one; a number of seven digits comes after all of six.
            for part in heapq.nsmallest(most, parts, key=lambda part: (len(part.name), part.name)):
                if len(rows) == most:
                    break
                table = pyarrow.parquet.read_table(part)
                ids = table.column("config_id").to_pylist()  # in ascending order
                firsts = [place for place, config_id in enumerate(ids) if place == 0 or config_id != ids[place - 1]]
                rows += table.take(firsts[: most - len(rows)]).to_pylist()
        return rows

    def _record(self, index: int) -> Path:
        return self.path / RECORDS / f"{index:06d}.json"

    def _part(self, table: str, index: int) -> Path:
        return self.path / table / f"part-{index:06d}.parquet"


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


def _files(directory: Path, name: re.Pattern[str]) -> Iterator[Path]:
    """The files of ``directory`` with such a name, in no order; none when it is not there."""
    with suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            if name.fullmatch(entry.name):
                yield directory / entry.name


def _sealed(record: Mapping[str, Any]) -> bytes:
    """``record`` as the bytes of its file, with its own checksum."""
    digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    return json.dumps({**record, "sha256": digest}, sort_keys=True, indent=1).encode() + b"\n"
