"""The run folder: what is written, what counts as finished, which folders are refused."""

from __future__ import annotations

import errno
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fake_runs import FakeSweep, content, fake_chunk

from hpsim.errors import RunFolderError
from hpsim.sweep import durable
from hpsim.sweep.store import RunFolder

SWEEP = FakeSweep(configs=10, violating=(5,))


def fill(path: Path, sweep: FakeSweep = SWEEP, *, fresh: bool = False) -> None:
    """Run the sweep by hand."""
    with RunFolder.open(path, sweep, fresh=fresh) as folder:
        folder.write_run({"status": "running"})
        for index in range(sweep.n_chunks):
            chunk = fake_chunk(sweep, index)
            folder.commit(folder.write(index, chunk.tables, chunk.totals))


def test_layout(tmp_path: Path) -> None:
    """A run folder has exactly the documented files."""
    fill(tmp_path / "run")
    parts = [f"{table}/part-00000{k}.parquet" for table in ("configs", "points") for k in range(3)]
    records = [f"_parts/00000{k}.json" for k in range(3)]
    assert sorted(content(tmp_path / "run")) == sorted(
        [*parts, "violations/part-000001.parquet", *records, "sweep.yaml"]
    )
    assert (tmp_path / "run" / "run.json").is_file()


def test_parts_hold_what_was_given(tmp_path: Path) -> None:
    """The rows of a part come back from Parquet as they were."""
    fill(tmp_path)
    for name, table in fake_chunk(SWEEP, 1).tables.items():
        assert pq.read_table(tmp_path / name / "part-000001.parquet").to_pylist() == table.to_pylist()


def test_footer_says_where_a_part_comes_from(tmp_path: Path) -> None:
    """The footer names format, version, sweep, chunk and unit, and nothing of the time or the machine."""
    fill(tmp_path)
    metadata = pq.read_metadata(tmp_path / "points" / "part-000002.parquet").metadata
    assert set(metadata) == {b"hpsim", b"ARROW:schema"}
    assert json.loads(metadata[b"hpsim"]) == {
        "format": 1,
        "hpsim": "0.1.0",
        "sweep_sha256": SWEEP.sha256,
        "chunk": 2,
        "unit": "ms",
    }


def test_record_says_what_a_part_covers(tmp_path: Path) -> None:
    """A record has the configurations covered, the rows of each table and the totals."""
    fill(tmp_path)
    record = json.loads((tmp_path / "_parts" / "000001.json").read_text())
    assert record["configs"] == {"first": 4, "last": 7}
    assert {name: table["rows"] for name, table in record["tables"].items()} == {
        "configs": 4,
        "points": 12,
        "violations": 1,
    }
    assert record["totals"] == {
        "configs": 4,
        "points": 12,
        "cells": 400,
        "violations": 1,
        "max_rel_err": {"async": 0.5, "partial": 0.5},
        "undefined": 0,
        "vanished": 0,
    }


def test_violations_alone_cost_one_small_file(tmp_path: Path) -> None:
    """Recording violations only, a chunk without one writes nothing but its record."""
    fill(tmp_path, FakeSweep(configs=10, record="violations", violating=(5,)))
    records = [f"_parts/00000{k}.json" for k in range(3)]
    assert sorted(content(tmp_path)) == sorted([*records, "violations/part-000001.parquet", "sweep.yaml"])


def test_finished_parts_are_known_with_their_totals(tmp_path: Path) -> None:
    """Reopened, every committed part is finished and others are not."""
    fill(tmp_path)
    with RunFolder.open(tmp_path, SWEEP) as folder:
        assert folder.recorded() == 3
        assert [folder.finished(index) for index in range(3)] == [fake_chunk(SWEEP, k).totals for k in range(3)]
        assert folder.finished(3) is None


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def _flip(file: Path) -> None:
    written = bytearray(file.read_bytes())
    written[len(written) // 2] ^= 1
    file.write_bytes(written)


def _alter_totals(file: Path) -> None:
    file.write_text(file.read_text().replace('"violations": 1', '"violations": 0'))


def _to_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _from_elsewhere(file: Path) -> None:
    file.write_bytes(file.with_name("000000.json").read_bytes())


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("_parts/000001.json", Path.unlink),
        ("_parts/000001.json", _truncate),
        ("_parts/000001.json", _flip),
        ("_parts/000001.json", _alter_totals),
        ("_parts/000001.json", _from_elsewhere),
        ("_parts/000001.json", lambda file: file.write_text("[]")),
        ("_parts/000001.json", lambda file: file.write_text("{}")),
        ("_parts/000001.json", lambda file: file.write_text("[" * 100_000)),
        ("_parts/000001.json", _to_pipe),
        ("points/part-000001.parquet", Path.unlink),
        ("points/part-000001.parquet", _truncate),
        ("points/part-000001.parquet", _flip),
        ("violations/part-000001.parquet", _flip),
    ],
)
def test_a_damaged_part_does_not_count_and_is_written_again(tmp_path: Path, name: str, damage: Any) -> None:
    """Whatever is altered, truncated or missing makes that part unfinished; written again it has the same bytes."""
    fill(tmp_path)
    intact = content(tmp_path)
    damage(tmp_path / name)
    with RunFolder.open(tmp_path, SWEEP) as folder:
        folder.write_run({"status": "running"})
        assert [folder.finished(index) is not None for index in range(3)] == [True, False, True]
        chunk = fake_chunk(SWEEP, 1)
        folder.commit(folder.write(1, chunk.tables, chunk.totals))
        assert folder.finished(1) == chunk.totals
    assert content(tmp_path) == intact


def test_a_record_of_another_part_does_not_count(tmp_path: Path) -> None:
    """A record under another part's number is not that part's, even where neither has a file."""
    sweep = FakeSweep(configs=8, record="violations")
    fill(tmp_path, sweep)
    _from_elsewhere(tmp_path / "_parts" / "000001.json")
    with RunFolder.open(tmp_path, sweep) as folder:
        assert folder.finished(0) is not None
        assert folder.finished(1) is None


def test_numbers_are_stored_small(tmp_path: Path) -> None:
    """Times are byte-split, ids delta-coded, few values in dictionaries, all of it compressed."""
    fill(tmp_path)
    group = pq.read_metadata(tmp_path / "violations" / "part-000001.parquet").row_group(0)
    found = {}
    for column in map(group.column, range(group.num_columns)):
        found[column.path_in_schema] = set(column.encodings) - {"RLE", "PLAIN"}
        assert column.compression == "SNAPPY"
    expected = {
        "T_async": {"BYTE_STREAM_SPLIT"},
        "tau.list.element": {"BYTE_STREAM_SPLIT"},
        "config_id": {"DELTA_BINARY_PACKED"},
        "M": {"RLE_DICTIONARY"},
        "claim": {"RLE_DICTIONARY"},
    }
    assert {name: found[name] for name in expected} == expected


def test_another_sweep_is_refused_with_the_differing_keys(tmp_path: Path) -> None:
    """The message names each differing key, dotted, with both values, and touches nothing."""
    fill(tmp_path)
    before = content(tmp_path)
    other = FakeSweep(configs=10, violating=(5,), seed=2, stages={"uniform": [2, 5]})
    with pytest.raises(RunFolderError) as refusal:
        RunFolder.open(tmp_path, other)
    assert str(refusal.value) == (
        f"{tmp_path}: belongs to another sweep (seed: 1 there, 2 here, stages.uniform: [2, 4] there, [2, 5] here); "
        "choose another folder with --out, or start over with --fresh"
    )
    assert content(tmp_path) == before


def test_a_missing_key_is_named_too(tmp_path: Path) -> None:
    """A key that one sweep does not have is told as absent."""
    fill(tmp_path)
    with pytest.raises(RunFolderError, match=r"stages\.uniform: \[2, 4\] there, absent here, stages\.constant: absent"):
        RunFolder.open(tmp_path, FakeSweep(configs=10, violating=(5,), stages={"constant": 3}))


@pytest.mark.parametrize(("key", "value"), [("hpsim", "0.0.9"), ("format", 2)])
def test_another_version_is_refused(tmp_path: Path, key: str, value: object) -> None:
    """A run of another version of hpsim, or of the layout, is not continued: it may have drawn other numbers."""
    fill(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**run, key: value}))
    with pytest.raises(RunFolderError, match=f"holds a run of hpsim .*{value}"):
        RunFolder.open(tmp_path, SWEEP)


def test_a_folder_that_is_no_run_is_refused_even_with_fresh(tmp_path: Path) -> None:
    """The user's own files are neither removed nor mixed with a run's, whatever they are called."""
    mine = {"run.json": b"[1]", "sweep.yaml": b"name: mine", "points/part-000000.parquet": b"mine", ".notes.tmp": b""}
    (tmp_path / "points").mkdir()
    for name, text in mine.items():
        (tmp_path / name).write_bytes(text)
    for fresh in (False, True):
        with pytest.raises(RunFolderError, match="is not empty and holds no run"):
            RunFolder.open(tmp_path, SWEEP, fresh=fresh)
    assert {name: (tmp_path / name).read_bytes() for name in mine} == mine


def test_fresh_removes_a_run_and_nothing_else(tmp_path: Path) -> None:
    """Starting over leaves the new run and the user's own files."""
    fill(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "points" / "part-mine.parquet").write_text("mine")
    other = FakeSweep(configs=6, record="violations")
    fill(tmp_path, other, fresh=True)
    kept = content(tmp_path)
    assert sorted(kept) == [
        "_parts/000000.json",
        "_parts/000001.json",
        "notes.txt",
        "points/part-mine.parquet",
        "sweep.yaml",
    ]
    with RunFolder.open(tmp_path, other) as folder:
        assert folder.finished(0) is not None


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda file: file.write_text("{"), "is damaged"),
        (lambda file: file.write_text("[]"), "is damaged"),
        (lambda file: file.write_text('{"format": NaN}'), "is damaged"),
        (lambda file: file.write_text("[" * 100_000), "is damaged"),
        (lambda file: file.write_bytes(b"\xff"), "is damaged"),
        (_to_pipe, "is damaged"),
        (Path.unlink, "is missing"),
    ],
)
def test_damaged_run_json_is_told_and_fresh_helps(tmp_path: Path, damage: Any, found: str) -> None:
    """A run.json that says nothing, or is gone, is one message beside intact parts, and --fresh starts over."""
    fill(tmp_path)
    intact = content(tmp_path)
    damage(tmp_path / "run.json")
    with pytest.raises(RunFolderError) as refusal:
        RunFolder.open(tmp_path, SWEEP)
    allowed = "choose another folder with --out, or start over with --fresh"
    assert str(refusal.value) == f"{tmp_path / 'run.json'}: {found}; {allowed}"
    fill(tmp_path, fresh=True)
    assert content(tmp_path) == intact


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_text("[" * 100_000), _to_pipe])
def test_a_damaged_sweep_yaml_hides_no_other_message(tmp_path: Path, damage: Any) -> None:
    """Another sweep is refused although what differs cannot be told."""
    fill(tmp_path)
    damage(tmp_path / "sweep.yaml")
    with pytest.raises(RunFolderError, match=r"belongs to another sweep \(its sweep.yaml cannot be read\)"):
        RunFolder.open(tmp_path, FakeSweep(configs=10, seed=2))


def test_strays_under_our_names_neither_count_nor_stay(tmp_path: Path) -> None:
    """Parts and records beyond the last part, without a record, or of a table that the part lacks go on resume.

    Only those that a run of this sweep wrote, as their own footers say: what only looks like a part is the user's.
    """
    fill(tmp_path)
    intact = content(tmp_path)
    record = (tmp_path / "_parts" / "000000.json").read_bytes()
    part = (tmp_path / "points" / "part-000001.parquet").read_bytes()
    strays = {
        "_parts/000099.json": record,
        "points/part-000099.parquet": b"stray",
        "configs/part-000003.parquet": part,
        "violations/part-000000.parquet": b"stray",
        "violations/part-1234567.parquet": part,
    }
    mine = {
        "points/part-0000099.parquet": part,
        "points/part-mine.parquet": part,
        "points/part-000077.parquet": b"mine",
        "_parts/2024010100.json": b"{}",
    }
    for name, written in (strays | mine).items():
        (tmp_path / name).write_bytes(written)
    with RunFolder.open(tmp_path, SWEEP) as folder:
        assert folder.recorded() == 3
        assert all(folder.finished(index) is not None for index in range(3))
    assert content(tmp_path) == intact | mine


def test_a_part_written_again_leaves_none_of_its_former_tables(tmp_path: Path) -> None:
    """A part without violations removes the violations that stand under its number."""
    fill(tmp_path)
    intact = content(tmp_path)
    (tmp_path / "violations" / "part-000000.parquet").write_bytes(b"stray")
    (tmp_path / "_parts" / "000000.json").write_text("{}")
    with RunFolder.open(tmp_path, SWEEP) as folder:
        folder.write_run({"status": "running"})
        chunk = fake_chunk(SWEEP, 0)
        folder.commit(folder.write(0, chunk.tables, chunk.totals))
    assert content(tmp_path) == intact


def test_leftovers_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    """Temporary files disappear on resume."""
    fill(tmp_path)
    intact = content(tmp_path)
    for name in (
        "points/.part-000002.parquet.00c0ffee.tmp",
        "_parts/.000002.json.00c0ffee.tmp",
        ".run.json.00c0ffee.tmp",
    ):
        (tmp_path / name).write_text("half")
    RunFolder.open(tmp_path, SWEEP).close()
    assert content(tmp_path) == intact


def test_a_run_killed_before_its_first_file_is_no_stranger(tmp_path: Path) -> None:
    """A folder with nothing but a half-written run.json can be used."""
    (tmp_path / ".run.json.00c0ffee.tmp").write_text("{")
    fill(tmp_path)
    assert "sweep.yaml" in content(tmp_path)


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    """While one run is open another is refused, and afterwards it is not."""
    with RunFolder.open(tmp_path, SWEEP), pytest.raises(RunFolderError, match="another run is writing here"):
        RunFolder.open(tmp_path, SWEEP)
    RunFolder.open(tmp_path, SWEEP).close()


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    """A file where the folder should be is one message."""
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot be used"):
        RunFolder.open(tmp_path / "file", SWEEP)
    with pytest.raises(RunFolderError, match="cannot be used"):
        RunFolder.open(tmp_path / "file" / "below", SWEEP)


def test_read_only_folder_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may not be written says so and names the way out (simulated, since nothing is refused to root)."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(RunFolderError) as refusal:
        RunFolder.open(tmp_path / "run", SWEEP)
    assert str(refusal.value) == (
        f"{tmp_path / 'run'}: cannot be used (Read-only file system); "
        "a run needs a folder it may read and write; choose one with --out"
    )


def test_full_disk_leaves_finished_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full the message says so, nothing half-written stays, and what was finished is finished."""
    with RunFolder.open(tmp_path, SWEEP) as folder:
        folder.write_run({"status": "running"})
        first, second = fake_chunk(SWEEP, 0), fake_chunk(SWEEP, 1)
        folder.commit(folder.write(0, first.tables, first.totals))
        before = content(tmp_path)

        def refuse(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(durable.os, "fsync", refuse)
        with pytest.raises(RunFolderError, match=r"no room to write .*; finished parts are intact; .* resumes"):
            folder.commit(folder.write(1, second.tables, second.totals))
        assert content(tmp_path) == before
        assert folder.finished(0) == first.totals
        assert folder.finished(1) is None


def test_record_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part's files are on the disk, then in place, before its record is; so that a record never stands alone."""
    flushed: set[int] = set()
    order = []
    flush, replace = os.fsync, Path.replace

    def note_flush(descriptor: int) -> None:
        flush(descriptor)
        flushed.add(os.fstat(descriptor).st_ino)

    def note_name(path: Path, target: Path) -> None:
        assert path.stat().st_ino in flushed
        order.append(target.relative_to(tmp_path).as_posix())
        replace(path, target)

    with RunFolder.open(tmp_path, SWEEP) as folder:
        folder.write_run({"status": "running"})
        chunk = fake_chunk(SWEEP, 1)
        monkeypatch.setattr(durable.os, "fsync", note_flush)
        monkeypatch.setattr(Path, "replace", note_name)
        folder.commit(folder.write(1, chunk.tables, chunk.totals))
    assert order[-1] == "_parts/000001.json"
    assert set(order[:-1]) == {f"{table}/part-000001.parquet" for table in ("configs", "points", "violations")}


def test_first_violations_are_those_of_the_sweep_s_order(tmp_path: Path) -> None:
    """The violations told first are the first configurations, over part borders."""
    sweep = FakeSweep(configs=20, violating=(13, 2, 14, 6, 19))
    fill(tmp_path, sweep)
    with RunFolder.open(tmp_path, sweep) as folder:
        assert [row["config_id"] for row in folder.first_violations(4)] == [2, 6, 13, 14]


def test_fresh_never_takes_strangers_files(tmp_path: Path) -> None:
    """What looks like a part or a record, but was not written by a run of this folder, stays, whatever its name."""
    fill(tmp_path)
    part = (tmp_path / "points" / "part-000001.parquet").read_bytes()
    mine = {
        "_parts/2024010100.json": b"{}",
        "_parts/000044.json": b"[]",
        "points/part-000044.parquet": b"mine",
        "points/part-0000044.parquet": part,
        "configs/notes.txt": b"mine",
    }
    for name, written in mine.items():
        (tmp_path / name).write_bytes(written)
    other = FakeSweep(configs=6, record="violations")
    fill(tmp_path, other, fresh=True)
    assert content(tmp_path).keys() == {"sweep.yaml", "_parts/000000.json", "_parts/000001.json", *mine}
    assert {name: (tmp_path / name).read_bytes() for name in mine} == mine


def test_records_that_no_run_wrote_make_no_run(tmp_path: Path) -> None:
    """A folder with files that look like a run's, and no record of one, is the user's: nothing in it is touched."""
    mine = {"_parts/2024010100.json": b"{}", "_parts/000000.json": b"{}", "points/part-000000.parquet": b"mine"}
    for name, written in mine.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(written)
    for fresh in (False, True):
        with pytest.raises(RunFolderError, match="is not empty and holds no run"):
            RunFolder.open(tmp_path, SWEEP, fresh=fresh)
    assert {name: (tmp_path / name).read_bytes() for name in mine} == mine


@pytest.mark.parametrize("name", ["points/part-000001.parquet", "_parts/000002.json", "violations/part-000000.parquet"])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_in_the_place_of_a_file_is_told_before_anything_is_removed(
    tmp_path: Path, name: str, fresh: bool
) -> None:
    """A folder named like a part or a record is refused, and every file is still there."""
    fill(tmp_path)
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).mkdir()
    before = content(tmp_path)
    with pytest.raises(RunFolderError, match="is a folder where a file of a run belongs"):
        RunFolder.open(tmp_path, SWEEP, fresh=fresh)
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", ["s3:run", "mock:run", "file:///tmp/x", "gs://b/x", "C:run", os.fsdecode(b"r\xffn")])
def test_names_that_are_taken_for_something_else_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """An address or bytes that are no text are refused before a folder is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunFolderError):
        RunFolder.open(Path(name), SWEEP)
    assert list(tmp_path.iterdir()) == []


def test_first_violations_come_from_recorded_parts_only(tmp_path: Path) -> None:
    """A file of the user's that looks like violations of an unfinished part is not read."""
    sweep = FakeSweep(configs=20, violating=(2, 13))
    fill(tmp_path, sweep)
    (tmp_path / "violations" / "part-000001.parquet").write_bytes(b"mine")
    (tmp_path / "_parts" / "000001.json").unlink()
    with RunFolder.open(tmp_path, sweep) as folder:
        assert [row["config_id"] for row in folder.first_violations(4)] == [2, 13]


@pytest.mark.parametrize("name", ["_parts", "configs", "points", "violations"])
@pytest.mark.parametrize("fresh", [False, True])
def test_nothing_is_written_or_removed_behind_a_link(tmp_path: Path, name: str, fresh: bool) -> None:
    """A table or the records that are a link into another folder: refused, and what is there stays as it is."""
    fill(tmp_path / "run")
    fill(tmp_path / "other", FakeSweep(configs=10, violating=(5,), seed=3))
    for file in (tmp_path / "run" / name).iterdir():
        file.unlink()
    (tmp_path / "run" / name).rmdir()
    (tmp_path / "run" / name).symlink_to(tmp_path / "other" / name, target_is_directory=True)
    before = content(tmp_path)
    with pytest.raises(RunFolderError, match="is a link"):
        RunFolder.open(tmp_path / "run", SWEEP, fresh=fresh)
    assert content(tmp_path) == before


def test_a_run_folder_may_be_a_link(tmp_path: Path) -> None:
    """The whole folder on another disk is the user's own choice."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk", target_is_directory=True)
    fill(tmp_path / "run")
    fill(tmp_path / "run", FakeSweep(configs=6), fresh=True)
    assert "_parts/000001.json" in content(tmp_path / "disk")


BOMB = "a: &a [1]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghijk"))


@pytest.mark.parametrize(
    "text",
    [BOMB, "".join(f"k{k}: 1\n" for k in range(100_000)), f"a: {'x' * 40_000_000}"],
    ids=["bomb", "keys", "text"],
)
def test_a_hostile_sweep_yaml_of_another_sweep_is_not_expanded(tmp_path: Path, text: str) -> None:
    """A run that is not ours to continue is refused at once, whatever its sweep.yaml would grow to."""
    fill(tmp_path)
    (tmp_path / "sweep.yaml").write_text(text)
    with pytest.raises(RunFolderError, match=r"another sweep \(its sweep.yaml cannot be read\)"):
        RunFolder.open(tmp_path, FakeSweep(configs=10, seed=2))
