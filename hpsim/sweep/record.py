"""The record of a part: a small sealed file that says which files make the part, and what they add up to.

Nothing counts without it, and it counts only when it is as it was written, and says what a part of this sweep can be.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hpsim.errors import SweepFileError
from hpsim.regime import NAMES
from hpsim.sweep.durable import LARGEST_JSON, read_at_most
from hpsim.sweep.file.yaml_file import MAX_BYTES, MOST_VALUES, parse
from hpsim.sweep.totals import Totals

if TYPE_CHECKING:
    from hpsim.sweep.spec import Sweep

FORMAT: Final = 1
ROOM = 4  # a resolved sweep spells out ranges, and d and latency of every pipeline
RECORDS = "_parts"
PART = re.compile(r"part-[0-9]{6,18}\.parquet")
RECORD = re.compile(r"[0-9]{6,18}\.json")
SHA256 = r"[0-9a-f]{64}"

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Table = Annotated[str, Field(pattern="^(configs|points|violations)$")]
_Sha256 = Annotated[str, Field(pattern=f"^{SHA256}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class TableRecord(_Strict):
    """One file of a part."""

    rows: _Count
    bytes: _Count
    sha256: _Sha256


class Covered(_Strict):
    """The configurations of a part, both ends included."""

    first: _Count
    last: _Count


class Record(_Strict):
    """What a part consists of; ``tables`` are by name, those without a row left out."""

    format: Literal[1] = FORMAT
    sweep_sha256: _Sha256
    part: _Count
    configs: Covered
    tables: dict[_Table, TableRecord]
    totals: Totals

    def sealed(self) -> bytes:
        """The bytes of its file, with their own checksum."""
        content = self.model_dump()
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return json.dumps({**content, "sha256": digest}, sort_keys=True, indent=1).encode() + b"\n"

    def belongs(self, sweep: Sweep, number: int) -> bool:
        """Whether it can be the record of part ``number`` of ``sweep``: its configurations, tables, rows and totals."""
        if (self.sweep_sha256, self.part) != (sweep.sha256, number) or number >= sweep.n_chunks:
            return False
        covered, totals = sweep.chunk_range(number), self.totals
        n, points = len(covered), len(covered) * len(sweep.microbatches)
        rows = {name: table.rows for name, table in self.tables.items()}
        kept = {"configs": n, "points": points} if sweep.record == "points" else {}
        violations = rows.get("violations", 0)
        return (
            (self.configs.first, self.configs.last) == (covered.start, covered.stop - 1)
            and {name: rows.get(name) for name in kept} == kept
            and set(rows) - set(kept) <= {"violations"}
            and bool(violations) == bool(totals.violations)
            and violations <= totals.violations
            and (totals.configs, totals.points) == (n, points)
            and min(count for count in asdict(totals).values() if isinstance(count, int)) >= 0
            and set(totals.max_rel_err) <= set(NAMES).intersection(sweep.regime_names)
        )


class _File(Record):
    sha256: _Sha256


def read_record(path: Path) -> Record | None:
    """The record in the file ``path``; None when it is not there, or not as it was written."""
    try:
        content = read_at_most(path, LARGEST_JSON) or b""
        read = _File.model_validate_json(content)
    except (FileNotFoundError, ValidationError):
        return None
    record = Record(**{name: getattr(read, name) for name in Record.model_fields})
    return record if record.sealed() == content else None


def kept_sweep(folder: Path) -> object:
    """The plain data of a run's ``sweep.yaml``, which may be larger than a sweep file, and is else read as strictly.

    Raises
    ------
    FileNotFoundError
        When it is not there.
    SweepFileError
        When it is damaged, or too large.
    """
    file = folder / "sweep.yaml"
    content = read_at_most(file, ROOM * MAX_BYTES)
    if content is None:
        raise SweepFileError(str(file), "too large, or no regular file", "the file that the run wrote")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise SweepFileError(str(file), "not UTF-8", "the file that the run wrote") from None
    data, _ = parse(text, str(file), most_values=ROOM * MOST_VALUES)
    return data


def record_path(folder: Path, number: int) -> Path:
    """The record of part ``number`` of the run in ``folder``."""
    return folder / RECORDS / f"{number:06d}.json"


def part_path(folder: Path, table: str, number: int) -> Path:
    """The file of one table of a part."""
    return folder / table / f"part-{number:06d}.parquet"


def numbered(folder: Path, directory: str) -> Iterator[tuple[int, Path]]:
    """The entries of a table's folder, or of that of the records, named as a part's, each with its number; unsorted."""
    records = directory == RECORDS
    for entry in entries(folder / directory, RECORD if records else PART):
        number = int(re.sub(r"\D", "", entry.name))
        if entry == (record_path(folder, number) if records else part_path(folder, directory, number)):
            yield number, entry


def entries(directory: Path, name: re.Pattern[str]) -> Iterator[Path]:
    """The entries of ``directory`` with such a name, in no order; none when it is not there."""
    with suppress(FileNotFoundError), os.scandir(directory) as found:
        for entry in found:
            if name.fullmatch(entry.name):
                yield directory / entry.name
