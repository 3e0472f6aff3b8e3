"""Reading request logs: every kind of file alike, every request accounted for, every bad file told."""

from __future__ import annotations

import gzip
import json
import math
import tracemalloc
import zlib
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SHARED_CASES
from hypothesis import given
from hypothesis import strategies as st
from request_logs import FIELDS, gzipped, requests, write_csv, write_json_lines, write_parquet

from hpsim.errors import HpsimError
from hpsim.logs import LogError, read_log
from hpsim.logs.clean import REASONS
from hpsim.logs.source import MOST_REQUESTS

HOSTS = {"a": (1.1, 40), "b, c": (2.9, 25), "d": (0.3, 10)}


def as_plain(log):
    """What a log holds, to be compared."""
    return [(one.model, one.host, one.duration.tolist(), one.wait.tolist(), one.total.tolist()) for one in log.requests]


def reasons(log):
    return {(drop.column, drop.reason): drop.count for drop in log.dropped}


def one_row(**changes):
    return {"id": "1", "host": "a", "model": "m", "duration_s": "1", "queue_wait_s": "0.5", "total_s": "1.5"} | changes


def test_every_kind_of_file_gives_the_same(tmp_path, rng):
    """CSV with any separator and line end, JSON Lines and Parquet, plain or gzipped: equal to the last bit."""
    rows = requests(rng, HOSTS)
    files = [
        write_csv(tmp_path / "a.csv", rows),
        write_csv(tmp_path / "b.txt", rows, separator=";", end="\r\n", mark="\ufeff"),
        write_csv(tmp_path / "c.tsv", rows, separator="\t"),
        write_csv(tmp_path / "d", rows, separator="|", mark="\r\n\n"),
        write_json_lines(tmp_path / "e.jsonl", rows),
        write_parquet(tmp_path / "f.parquet", rows),
    ]
    files += [gzipped(path) for path in files]
    first, *others = [as_plain(read_log(path)) for path in files]
    expected = sorted((row["host"], row["duration_s"], row["queue_wait_s"]) for row in rows)
    assert [(host, *pair) for _, host, *columns in first for pair in zip(*columns[:2], strict=True)] == expected
    assert all(other == first for other in others)
    assert len(others) == 11


def test_text_numbers_and_dictionaries_in_parquet(tmp_path):
    """Parquet columns of text, of other widths and encoded as dictionaries mean what they say."""
    table = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int64()),
            "host": pa.array(["a", "b", "a"]).dictionary_encode(),
            "model": pa.array(["m"] * 3, pa.large_string()),
            "duration_s": pa.array([" 1.5", "2e0", "x"]),
            "queue_wait_s": pa.array([0, 1, 2], pa.int8()),
            "start": pa.array([10**18, 0, 5 * 10**17], pa.timestamp("ns")),
        }
    )
    pq.write_table(table, tmp_path / "log.parquet")
    log = read_log(tmp_path / "log.parquet")
    assert as_plain(log) == [("m", "a", [1.5], [0.0], [1.5]), ("m", "b", [2.0], [1.0], [3.0])]
    assert reasons(log) == {("duration_s", "text"): 1}
    assert log.period == ("1970-01-01 00:00:00.000000000", "2001-09-09 01:46:40.000000000")


def test_json_keys_may_come_and_go(tmp_path):
    """A key that a JSON object lacks, or that is null, is a missing value; other keys do not matter."""
    lines = [
        '{"host": "a", "model": "m", "duration_s": 1, "total_s": 1.5, "prompt": {"deep": [1, 2]}}',
        "",
        '{"model": "m", "host": "a", "duration_s": "2", "queue_wait_s": 1e-1, "total_s": null}',
        '{"host": "a", "model": "m", "duration_s": true, "total_s": 2}',
        '{"host": "a", "model": "m", "duration_s": NaN, "total_s": 2}',
        '{"host": "\\ud800", "model": "m", "total_s": 2}',
    ]
    (tmp_path / "log").write_text("\n".join(lines))
    log = read_log(tmp_path / "log")
    assert as_plain(log) == [("m", "a", [1.0, 2.0], [0.5, 0.1], [1.5, 2.1])]
    assert reasons(log) == {("duration_s", "missing"): 1, ("duration_s", "text"): 1, ("duration_s", "not finite"): 1}
    assert [drop.place.rsplit(", ")[1] for drop in log.dropped] == ["row 5", "row 3", "row 4"]


@pytest.mark.parametrize(
    ("changes", "column", "reason"),
    [
        ({"host": " "}, "host", "missing"),
        ({"model": "null"}, "model", "missing"),
        ({"duration_s": ""}, "duration_s", "missing"),
        ({"duration_s": "N/A"}, "duration_s", "missing"),
        ({"duration_s": "1,5"}, "duration_s", "text"),
        ({"duration_s": "1.5 parsec"}, "duration_s", "text"),
        ({"duration_s": "s"}, "duration_s", "text"),
        ({"duration_s": "1m30s"}, "duration_s", "text"),
        ({"duration_s": "1e400 s"}, "duration_s", "not finite"),
        ({"duration_s": "-5 ms"}, "duration_s", "negative"),
        ({"duration_s": "1e10 h"}, "duration_s", "too large"),
        ({"duration_s": "0x10"}, "duration_s", "text"),
        ({"duration_s": "１"}, "duration_s", "text"),
        ({"duration_s": "1_000"}, "duration_s", "text"),
        ({"duration_s": "nan"}, "duration_s", "not finite"),
        ({"duration_s": "1e400"}, "duration_s", "not finite"),
        ({"duration_s": "-0.001"}, "duration_s", "negative"),
        ({"duration_s": "1700000000000000"}, "duration_s", "too large"),
        ({"queue_wait_s": "soon"}, "queue_wait_s", "text"),
        ({"queue_wait_s": "-Infinity"}, "queue_wait_s", "not finite"),
        ({"queue_wait_s": "-1"}, "queue_wait_s", "negative"),
        ({"queue_wait_s": "2e12"}, "queue_wait_s", "too large"),
        ({"total_s": "?"}, "total_s", "text"),
        ({"total_s": "inf"}, "total_s", "not finite"),
        ({"total_s": "-2"}, "total_s", "negative"),
        ({"total_s": "1e13"}, "total_s", "too large"),
        ({"queue_wait_s": "", "total_s": ""}, "queue_wait_s and total_s", "missing"),
        ({"queue_wait_s": "", "total_s": "0.999"}, "total_s", "below duration_s"),
        ({"total_s": "0.999"}, "total_s", "below duration_s"),
        ({"total_s": "1.511"}, "total_s", "clock skew"),
        ({"total_s": "1.489"}, "total_s", "clock skew"),
        ({"id": "0"}, "id", "duplicate"),
    ],
)
def test_a_request_that_cannot_be_used_is_dropped_and_told(tmp_path, changes, column, reason):
    """Each fault has its reason, the row where it first stands and what stands there; nothing else is touched."""
    rows = [one_row(id="0"), one_row(**changes), one_row(id="2")]
    log = read_log(write_csv(tmp_path / "log.csv", rows))
    assert (log.read, log.kept, reasons(log)) == (3, 2, {(column, reason): 1})
    (drop,) = log.dropped
    assert drop.place == f"{tmp_path / 'log.csv'}, row 2"
    assert "row 1" in drop.found if reason == "duplicate" else next(iter(changes.values())) in drop.found


def test_every_reason_has_a_case():
    """The cases above name every reason that there is."""
    marks = test_a_request_that_cannot_be_used_is_dropped_and_told.pytestmark
    cases = {(column, reason) for _, column, reason in marks[0].args[1]} | {
        ("row", reason) for *_, reason in ROWS if reason
    }
    never = {("queue_wait_s", "missing"), ("total_s", "missing")}  # then it is computed
    assert cases == set(REASONS) - never


def test_numbers_as_people_write_them(tmp_path):
    """Signs, exponents, blanks around and points at either end are read as Python reads them."""
    written = [
        "1",
        "+1.5",
        " 2.25 ",
        ".5",
        "5.",
        "1e-3",
        "1E+2",
        "007",
        "0.1",
        "123456789.123456789123456789",
        "1e-320",
    ]
    rows = [one_row(id=str(n), duration_s=text, total_s="", queue_wait_s="0") for n, text in enumerate(written)]
    log = read_log(write_csv(tmp_path / "log.csv", rows))
    assert log.requests[0].duration.tolist() == sorted(float(text) for text in written)


def test_the_missing_time_is_computed(tmp_path):
    """total_s is duration_s + queue_wait_s; where one is missing, in a row or in the whole log, it is computed."""
    rows = [one_row(id="1", total_s=""), one_row(id="2", queue_wait_s="", total_s="4")]
    log = read_log(write_csv(tmp_path / "rows.csv", rows))
    assert as_plain(log) == [("m", "a", [1.0, 1.0], [0.5, 3.0], [1.5, 4.0])]
    assert (log.direction_checked, log.direction_held) == (1, 1)
    for name, wait in (("queue_wait_s", 0.25), ("total_s", 0.5)):
        without = {key: value for key, value in one_row(total_s="1.25").items() if key != name}
        log = read_log(write_csv(tmp_path / "log.csv", [without]))
        assert as_plain(log) == [("m", "a", [1.0], [wait], [1.0 + wait])]


def test_the_direction_check_counts_what_was_dropped_for_it(tmp_path):
    """§7.2's total_s >= duration_s is checked on every request that has both, before the faulty ones are dropped."""
    rows = [one_row(id="1"), one_row(id="2", total_s="0.5"), one_row(id="3", total_s=""), one_row(id="4", host="")]
    log = read_log(write_csv(tmp_path / "log.csv", rows))
    assert (log.direction_checked, log.direction_held) == (2, 1)


def test_tolerance_of_clock_skew(tmp_path):
    """A total off its parts by the tolerance is rounding; with a larger tolerance it may be off by more."""
    rows = [one_row(id=str(n), total_s=str(total)) for n, total in enumerate([1.49, 1.51, 1.5101, 1.6])]
    path = write_csv(tmp_path / "log.csv", rows)
    assert reasons(read_log(path)) == {("total_s", "clock skew"): 2}
    assert reasons(read_log(path, tolerance=0.1)) == {}
    with pytest.raises(LogError, match="4 total_s clock skew"):
        read_log(path, tolerance=0)


@pytest.mark.parametrize(
    ("unit", "seconds"), [("ns", "1e-9"), ("us", "1e-6"), ("ms", "1e-3"), ("s", 1), ("min", 60), ("h", 3600)]
)
def test_units(tmp_path, unit, seconds):
    """Bare numbers stay as they are, whatever the unit; a time with a unit of its own is converted into it."""
    rows = [one_row(duration_s="1500.1", queue_wait_s="30", total_s=f"{1530.1 * float(seconds)} s")]
    rows.append(one_row(id="2", duration_s="1h", queue_wait_s="1e3 ms", total_s="3601s"))
    log = read_log(write_csv(tmp_path / "log.csv", rows), unit=unit)
    found = {(duration, wait) for duration, wait in zip(log.requests[0].duration, log.requests[0].wait, strict=True)}
    assert found == {(1500.1, 30.0), (float(3600 / Fraction(seconds)), float(1 / Fraction(seconds)))}
    assert log.unit == unit


@pytest.mark.parametrize(
    ("unit", "tolerance", "allowed"),
    [("ms", None, 10), ("s", None, 0.01), ("ms", 25, 25), ("ms", "0.025 s", 25), ("s", "20 ms", 0.02), ("us", "7", 7)],
)
def test_the_tolerance_is_in_the_unit_of_the_log_or_in_its_own(tmp_path, unit, tolerance, allowed):
    """10 ms by default; a total that is just within it is kept, one just beyond it is clock skew."""
    totals = (1000 + allowed * 0.999, 1000 + allowed * 1.001)
    rows = [
        one_row(id=str(n), duration_s="990", queue_wait_s="10", total_s=repr(total)) for n, total in enumerate(totals)
    ]
    given = {} if tolerance is None else {"tolerance": tolerance}
    log = read_log(write_csv(tmp_path / "log.csv", rows), unit=unit, **given)
    assert reasons(log) == {("total_s", "clock skew"): 1}
    assert log.tolerance == allowed


def test_every_row_counts_for_the_columns(tmp_path):
    """A key that first occurs after tens of thousands of rows is found, also one that every request needs."""
    early = [{"host": "a", "model": "m", "duration_s": 1, "queue_wait_s": 0}] * 40_000
    late = {"host": "a", "model": "m", "duration_s": 1, "total_s": 0.5, "id": "x"}
    log = read_log(write_json_lines(tmp_path / "log", [*early, late, late | {"total_s": 2}, late | {"total_s": 3}]))
    assert (log.read, log.kept) == (40_003, 40_001)
    assert reasons(log) == {("total_s", "below duration_s"): 1, ("id", "duplicate"): 1}
    assert log.hints == ()
    unnamed = [{"note": "warming up"}] * 40_000
    log = read_log(write_json_lines(tmp_path / "late", [*unnamed, early[0]]))
    assert (log.kept, reasons(log)) == (1, {("host", "missing"): 40_000})


@pytest.mark.parametrize("write", [write_json_lines, write_csv])
def test_a_key_may_change_its_type(tmp_path, write):
    """Null, integers, floats and text in one column, in batches far apart: each value is read by itself."""
    base = {"host": "a", "model": "m", "queue_wait_s": 0}
    values = [None, *[1] * 35_000, *[1.5] * 35_000, "2.5", "soon", "3 s", 10**30, True]
    log = read_log(write(tmp_path / "log", [{**base, "duration_s": value} for value in values]))
    counts = Counter(log.requests[0].duration.tolist())
    assert counts == {1.0: 35_000, 1.5: 35_000, 2.5: 1, 3.0: 1}
    assert reasons(log) == {
        ("duration_s", "missing"): 1,
        ("duration_s", "text"): 2,
        ("duration_s", "too large"): 1,
    }


CSV_HEAD = b"host,model,duration_s,queue_wait_s\n"
CSV_ROW = b"a,m,1,0\n"
JSON_ROW = b'{"host": "a", "model": "m", "duration_s": 1, "queue_wait_s": 0}\n'
ROWS = [  # before, the malformed row, after, what is told of it
    (CSV_HEAD + CSV_ROW, b"b,m,2.", b"", "3 of 4: b,m,2.", "with too few fields"),
    (CSV_HEAD + CSV_ROW, b"b,m\n", CSV_ROW, "2 of 4: b,m", "with too few fields"),
    (CSV_HEAD + CSV_ROW, b'"b\n\nc",m\n', CSV_ROW, "2 of 4", "with too few fields"),
    (CSV_HEAD + CSV_ROW, b'b,m,1,"0', b"", "", None),
    (CSV_HEAD + CSV_ROW, b"b,m,2,0,9\n", CSV_ROW, "5 of 4: b,m,2,0,9", "with too many fields"),
    (CSV_HEAD + CSV_ROW, b"b\xff,m,2,0\n", CSV_ROW, "b\N{REPLACEMENT CHARACTER}", "not UTF-8"),
    (JSON_ROW, b'{"host": "a", "model": "m", "dura', b"", '{"host": "a", "model": "m", "dura', "not JSON"),
    (JSON_ROW, b"ERROR out of memory\n", JSON_ROW, "ERROR out of memory", "not JSON"),
    (JSON_ROW, b'{"host": "\xff"}\n', JSON_ROW, '{"host":', "not JSON"),
    (JSON_ROW, b"3\n", JSON_ROW, "3", "no JSON object"),
    (JSON_ROW, b'{"host": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", JSON_ROW, '{"host": [[', "nested too deeply"),
    (CSV_HEAD + CSV_ROW, b"b,m,2.75,1", b"CUT", "the gzipped data end in it", "cut off"),
    (JSON_ROW, JSON_ROW[:40], b"CUT", "the gzipped data end in it", "cut off"),
]


@pytest.mark.parametrize("case", range(len(ROWS)))
def test_a_malformed_row_is_dropped_and_told(tmp_path, case):
    """Half written, with fields too few or too many, or no JSON: counted with the reason; the rows around it stay."""
    before, row, after, found, reason = ROWS[case]
    path = tmp_path / "log"
    if after == b"CUT":
        packer = zlib.compressobj(wbits=31)
        path.write_bytes(packer.compress(before + row) + packer.flush(zlib.Z_SYNC_FLUSH))
    else:
        path.write_bytes(before + row + after)
    log = read_log(path)
    good = 1 + (after in (CSV_ROW, JSON_ROW))
    assert (log.read, log.kept) == (good + 1, good + (reason is None))
    assert reasons(log) == ({} if reason is None else {("row", reason): 1})
    for drop in log.dropped:
        assert drop.place == f"{path}, row 2"
        assert found in drop.found
        assert len(drop.found) <= 60
    assert any("cut off after row 2; the rest is lost" in hint for hint in log.hints) == (reason == "cut off")


def test_malformed_rows_keep_their_places(tmp_path, rng):
    """Malformed rows among thousands of good ones: the good ones are all read, and the rows told are right."""
    lines, kept, first = [], [], {}
    for row in range(1, 30_001):
        kind = rng.choice(["good"] * 5 + ["with too few fields", "with too many fields", "text"])
        first.setdefault(kind, row)
        kept += [float(row)] * (kind == "good")
        line = {"with too few fields": "a,m,1", "with too many fields": "a,m,1,0,,", "text": "a,m,x,0"}
        lines.append(line.get(kind, f"a,m,{row},0") + " " * rng.randrange(600) + "\n" * rng.choice([1, 1, 2]))
    (tmp_path / "log.csv").write_text(CSV_HEAD.decode() + "".join(lines))  # several blocks of 4 MiB
    log = read_log(tmp_path / "log.csv")
    assert log.requests[0].duration.tolist() == kept
    assert log.read == 30_000 == log.kept + sum(drop.count for drop in log.dropped)
    assert {drop.reason: int(drop.place.split()[-1]) for drop in log.dropped} == {
        kind: row for kind, row in first.items() if kind != "good"
    }


def test_a_file_of_something_else_is_left_early(tmp_path):
    """Where most of very many rows are malformed the file is refused, before all of it was looked at."""
    (tmp_path / "a").write_bytes(CSV_HEAD + CSV_ROW + b"x\n" * 400_000)
    (tmp_path / "b").write_bytes(JSON_ROW + b"x\n" * 400_000)
    for name, reason in (("a", "with too few fields"), ("b", "not JSON")):
        with pytest.raises(LogError, match=f"100,001 of 100,002 rows are malformed, the last of them {reason}"):
            read_log(tmp_path / name)


def bomb(path, head, unit, size):
    """``head``, and then ``unit`` over and over, gzipped."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(size // len(unit)):
            file.write(unit)
    return path


MIB = b"x" * 2**20


@pytest.mark.parametrize(
    ("head", "unit", "message"),
    [
        (b'{"host": "a", "model": "', MIB, "row 1: no end within 4 MiB"),
        (JSON_ROW + b'{"host": "a", "model": "', MIB, "row 2: no end within 4 MiB"),
        (JSON_ROW, b"\n" * 2**20, "expand more than 200-fold"),
        (b"host,", MIB, "header: no end within 1 MiB"),
        (CSV_HEAD + CSV_ROW + b"a,m,", MIB, "below row 1: no end within 4 MiB"),
        (CSV_HEAD + CSV_ROW + b'a,m,"', b"x,\n" * 2**18, "below row 1: no end within 4 MiB"),
        (CSV_HEAD, b"\n" * 2**20, "expand more than 200-fold"),
        (b"", b" " * 2**20, "nothing but blanks in the first 64 KiB"),
        (b"PAR1", MIB, "expand more than 200-fold"),
    ],
)
def test_what_has_no_end_is_refused_with_the_limit(tmp_path, head, unit, message):
    """Of 160 MiB out of less than 1 MiB only a part is unpacked, and little of it held."""
    path = bomb(tmp_path / "log.gz", head, unit, 160 * 2**20)
    tracemalloc.start()
    try:
        with pytest.raises(LogError, match=message):
            read_log(path)
        assert tracemalloc.get_traced_memory()[1] < 120 * 2**20
    finally:
        tracemalloc.stop()


def test_very_many_columns(tmp_path):
    """A header of 100,000 columns is refused with the limit; an object of 100,000 keys is searched for those of use."""
    names = ",".join(f"c{n}" for n in range(100_000))
    (tmp_path / "a").write_text(f"host,model,duration_s,total_s,{names}\n")
    with pytest.raises(LogError, match="header: 100,004 columns; at most 10,000"):
        read_log(tmp_path / "a")
    keys = {f"c{n}": n for n in range(100_000)}
    (tmp_path / "b").write_text(json.dumps(keys | json.loads(JSON_ROW)) + "\n")
    assert read_log(tmp_path / "b").kept == 1
    (tmp_path / "c").write_text(json.dumps(keys) + "\n")
    with pytest.raises(LogError, match="no column host"):
        read_log(tmp_path / "c")


def test_a_quote_that_swallows_the_rest(tmp_path):
    """A quote that stays open to the end would hide every row behind it, in any column: refused, with its row."""
    for text in (b'a,"m,1,0\n', b'a,m,1,"0\n'):
        (tmp_path / "log").write_bytes(CSV_HEAD + CSV_ROW + text + CSV_ROW * 9)
        with pytest.raises(LogError, match=r"row 2: a quote that is not closed"):
            read_log(tmp_path / "log")
    (tmp_path / "log").write_bytes(CSV_HEAD + CSV_ROW + b'a,m,1,"0\n"\n')
    assert read_log(tmp_path / "log").kept == 2


def test_gzip_cut_anywhere(tmp_path, rng):
    """Cut off at any byte, a gzipped log is its first rows or is refused in words; none is invented."""
    rows = [one_row(id=str(n), duration_s=str(n), total_s="") for n in range(1, 300)]
    for path in (write_csv(tmp_path / "a", rows), write_json_lines(tmp_path / "b", rows)):
        packed = gzip.compress(path.read_bytes())
        read = []
        for length in sorted(rng.sample(range(20, len(packed)), 40)):
            path.write_bytes(packed[:length])
            try:
                log = read_log(path)
            except LogError:
                continue
            assert log.requests[0].duration.tolist() == [float(n) for n in range(1, log.kept + 1)]
            assert log.read - log.kept == sum(drop.count for drop in log.dropped) <= 1
            assert any("cut off" in hint for hint in log.hints)
            read.append(log.kept)
        assert read == sorted(read)
        assert len(set(read)) > 3


def test_damaged_parquet(tmp_path, rng):
    """Bits flipped anywhere, or the end missing: read, or refused in words."""
    path = write_parquet(tmp_path / "log", [one_row(id=str(n)) for n in range(200)])
    whole = path.read_bytes()
    refused = 0
    for _ in range(150):
        damaged = bytearray(whole)
        if rng.random() < 0.3:
            damaged = damaged[: rng.randrange(4, len(damaged))]
        else:
            for _ in range(rng.choice([1, 2, 8])):
                damaged[rng.choice([rng.randrange(4, len(damaged)), -1 - rng.randrange(1200)])] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            read_log(path)
        except LogError:
            refused += 1
    assert refused > 50


def test_parquet_of_one_row_group(tmp_path):
    """A row group of a million rows is read in parts; more rows than can be held are refused before any is read."""
    rows = 1_000_000
    names = pa.array(["a"] * rows)
    table = pa.table(
        {"host": names, "model": names, "duration_s": np.arange(rows) / 10, "queue_wait_s": np.zeros(rows)}
    )
    pq.write_table(table, tmp_path / "log", row_group_size=rows)
    log = read_log(tmp_path / "log")
    assert (log.kept, log.requests[0].duration[-1]) == (rows, (rows - 1) / 10)
    many = pa.table({"host": pa.nulls(MOST_REQUESTS + 1)})
    pq.write_table(many, tmp_path / "many")
    with pytest.raises(LogError, match="50,000,001 requests; at most 50,000,000"):
        read_log(tmp_path / "many")


def test_a_million_ids(tmp_path):
    """As many ids as requests: none is taken for another."""
    lines = "".join(f"r{n},a,m,1,0\n" for n in range(1_000_000))
    (tmp_path / "log.csv").write_text("id,host,model,duration_s,queue_wait_s\n" + lines + "r7,a,m,1,0\n")
    log = read_log(tmp_path / "log.csv")
    assert (log.kept, reasons(log)) == (1_000_000, {("id", "duplicate"): 1})


def test_the_shipped_log():
    """A log by its bare name, with or without its ending: each reason in it was put there."""
    log = read_log("gateway")
    assert reasons(log) == {
        ("row", "with too few fields"): 1,
        ("duration_s", "text"): 1,
        ("duration_s", "negative"): 1,
        ("queue_wait_s and total_s", "missing"): 1,
        ("total_s", "clock skew"): 1,
        ("id", "duplicate"): 1,
    }
    assert (log.read, log.kept, log.files) == (121, 115, ("gateway",))
    assert {one.host for one in log.requests} == {"gpu-a", "gpu-b", "gpu-c"}
    assert as_plain(read_log("gateway.csv")) == as_plain(log)
    with pytest.raises(LogError, match=r"gatewy: no such file; did you mean gateway\? .* a request log"):
        read_log("gatewy")
    with pytest.raises(LogError, match="the same file twice"):
        read_log(["gateway", "gateway.csv"])


def test_columns_of_other_names(tmp_path):
    """A map names the columns, even where another column has the field's own name; case does not matter otherwise."""
    text = "Host,engine,total_s,latency,MODEL,duration_s\na,m,3,4,x,2\n"
    (tmp_path / "log.csv").write_text(text)
    log = read_log(tmp_path / "log.csv", map={"model": "engine", "total_s": "latency"})
    assert as_plain(log) == [("m", "a", [2.0], [2.0], [4.0])]
    assert log.columns[0]["host"] == "Host"


def test_several_files_are_one_log(tmp_path):
    """Files of different kinds add up; ids are compared across them, and rows are counted in each."""
    first = write_csv(tmp_path / "a.csv", [one_row(id="1"), one_row(id="2")])
    second = write_json_lines(tmp_path / "b.jsonl", [one_row(id="3"), one_row(id="2")])
    log = read_log([first, second])
    assert (log.read, log.kept) == (4, 3)
    (drop,) = log.dropped
    assert (drop.place, drop.found) == (f"{second}, row 2", f"the id of {first}, row 2")


def test_an_id_is_taken_only_by_a_request_that_can_be_used(tmp_path):
    """A failed try with the same id does not displace the good one; missing ids are never duplicates."""
    rows = [one_row(duration_s="-1"), one_row(), one_row(id=""), one_row(id=""), one_row(id="null")]
    log = read_log(write_csv(tmp_path / "log.csv", rows))
    assert (log.kept, reasons(log)) == (4, {("duration_s", "negative"): 1})


def test_period(tmp_path):
    """First and last start, as numbers or dates; a log with both kinds says that it does not tell."""
    for starts, span in (
        (["10", "9.5", "", "100"], ("9.5", "100")),
        (["1e18", "-3"], ("-3", "1e+18")),
        (["2026-09-03T10:00:00Z", "2026-10-04T00:00:00Z"], ("2026-09-03T10:00:00Z", "2026-10-04T00:00:00Z")),
        (["yesterday", "2026-10-04"], None),
        (["5", "2026-10-04"], None),
        (["", ""], None),
    ):
        rows = [one_row(id=str(n), start=start) for n, start in enumerate(starts)]
        log = read_log(write_csv(tmp_path / "log.csv", rows))
        assert log.period == span
        assert any("period" in hint for hint in log.hints) == (span is None)


def test_many_batches(tmp_path, rng):
    """Rows beyond one batch are read too, and the row told is the row of the file."""
    rows = [one_row(id=str(n), duration_s="1" if n != 39_999 else "x") for n in range(40_000)]
    for path in (write_json_lines(tmp_path / "a", rows), write_parquet(tmp_path / "b", rows)):
        log = read_log(path)
        assert (log.read, log.kept) == (40_000, 39_999)
        assert log.dropped[0].place.endswith("row 40000")


CELL = st.sampled_from(["", "1", "2.5", "-1", "nan", "inf", "x", "1e13", "0", "0.5", "3"])
NAME = st.sampled_from(["a", "b", "", " a "])


@given(st.lists(st.tuples(NAME, NAME, CELL, CELL, CELL, st.sampled_from(["", "1", "2", "3"])), min_size=1, max_size=30))
def test_kept_and_dropped_add_up(tmp_path_factory, rows):
    """Whatever a log holds: kept + dropped = read, and the usable ones are those that a plain reading finds usable."""
    fields = ("host", "model", "duration_s", "queue_wait_s", "total_s", "id")
    good = dict(zip(fields, ("a", "a", "1", "0", "1", ""), strict=True))
    path = tmp_path_factory.getbasetemp() / "property.csv"
    log = read_log(write_csv(path, [good, *(dict(zip(fields, row, strict=True)) for row in rows)]))
    assert log.read == len(rows) + 1
    assert log.kept + sum(drop.count for drop in log.dropped) == log.read
    assert log.kept == sum(len(one.duration) for one in log.requests)
    counts = Counter({("a", "a"): 1})
    taken = set()
    for host, model, *texts, name in rows:
        if usable(host, model, *texts) and not (name and name in taken):
            taken.add(name)
            counts[model.strip(), host.strip()] += 1
    assert {(one.model, one.host): len(one.duration) for one in log.requests} == counts


def usable(host, model, *texts):
    """A plain reading of the rules, for the texts that the property test writes."""
    try:
        duration, wait, total = (float(text) if text else None for text in texts)
    except ValueError:
        return False
    known = [time for time in (duration, wait, total) if time is not None]
    if not host.strip() or not model.strip() or duration is None or (wait is None and total is None):
        return False
    if any(not math.isfinite(time) or not 0 <= time <= 1e12 for time in known):
        return False
    wait, total = (total - duration if wait is None else wait), (duration + wait if total is None else total)
    return total >= duration and abs(total - duration - wait) <= 0.01


BAD = {
    "nothing": (b"", "the file is empty"),
    "blank": (b"\xef\xbb\xbf\r\n \n", "the file is empty"),
    "header_only.csv": (b"host,model,duration_s,total_s\n", "no request below it"),
    "header_only_no_end.csv": (b"host,model,duration_s,total_s", "no request below it"),
    "long_rows.csv": (
        b"host,model,duration_s,total_s\na,m,1,1,9\n",
        "none of 1 requests can be used: 1 row with too many",
    ),
    "open_quote.csv": (b'host,"model,duration_s\n', "header: no end within 1 MiB, or a quote that is not closed"),
    "twice.csv": (b"host,model,host,duration_s,total_s\na,m,b,1,1\n", "column 'host' stands there 2 times"),
    "old_mac.csv": (b"host,model,duration_s,total_s\ra,m,1,1\r", "carriage return alone"),
    "long_name.csv": (b"host," + b"x" * 200_000 + b"\n", "header: field larger than field limit"),
    "zeros.bin": (bytes(range(256)), "binary data"),
    "latin.csv": ("hôst,model\n".encode("latin-1"), "not UTF-8"),
    "latin_cell.csv": ("host,model,duration_s,total_s\nhôst,m,1,2\n".encode("latin-1"), "not UTF-8"),
    "utf16.csv": ("host,model\n".encode("utf-16"), "text in UTF-16"),
    "cut.gz": (gzip.compress(b"host,model,duration_s,total_s\n" + b"a,m,1,1\n" * 99)[:10], "end before the first row"),
    "cut_header.gz": (gzip.compress(b"host,model,duration_s,total_s\n")[:-14], "header: the gzipped data end in it"),
    "crc.gz": (gzip.compress(b"host,model,duration_s,total_s\na,m,1,1\n")[:-8] + b"\0" * 8, "it cannot be read (CRC"),
    "no_gzip.gz": (b"\x1f\x8bnothing of the kind", "it cannot be read"),
    "no.parquet": (b"PAR1 and no more", "it cannot be read"),
    "archive.zip": (b"PK\x03\x04....", "a zip archive"),
    "array.json": (b'[{"host": 1}]', "a JSON array"),
    "pretty.json": (b'{\n "host": 1}\n', "pretty.json, row 1: not JSON: {"),
    "number.jsonl": (
        b'{"host": 1}\n\n3\n',
        "no column model, duration_s, queue_wait_s or total_s; columns found: host",
    ),
    "numbers.jsonl": (b"{}\n\n3\n", "row 2: no JSON object: 3"),
    "deep.jsonl": (b'{"host": ' + b"[" * 100_000 + b"\n", "deep.jsonl, row 1: nested too deeply"),
    "words.csv": (b"host;model;duration_s;total_s\na;m;1,5;2\n", "none of 1 requests can be used: 1 duration_s text"),
    "one_column.csv": (b"duration_s\n1\n", "no column host, model, queue_wait_s or total_s"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_one_line(tmp_path, name):
    """Each has its own message, with the file in front."""
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LogError) as caught:
        read_log(tmp_path / name)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_what_is_no_file(tmp_path):
    """A missing file, a folder, no file, and one file under two names."""
    path = write_csv(tmp_path / "log.csv", [one_row()])
    (tmp_path / "link.csv").symlink_to(path)
    for paths, message in (
        (tmp_path / "none.csv", "no such file; a path to a request log, or the name of a shipped one"),
        (tmp_path, "is a folder"),
        ([], "no file"),
        ([path, tmp_path / "link.csv"], "the same file twice"),
        ("a\0b", "'a\\\\x00b': no such file"),
    ):
        with pytest.raises(LogError, match=message):
            read_log(paths)


def test_a_column_that_can_hold_no_time(tmp_path):
    """A Parquet column of a type without numbers is named with its type."""
    pq.write_table(pa.table({**{name: ["1"] for name in FIELDS}, "duration_s": [[1.0]]}), tmp_path / "log.parquet")
    with pytest.raises(LogError, match=r"duration_s.*list<.*numbers or text"):
        read_log(tmp_path / "log.parquet")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unit": "seconds"}, "unit: unknown unit 'seconds'; allowed: ns, us, µs, ms, s, min, h"),
        ({"unit": "mss"}, "did you mean ms"),
        ({"map": {"durations": "x"}}, "unknown field 'durations'; did you mean duration_s"),
        ({"map": {"host": "x"}}, "host=x, but there is no such column; columns found: id, host, model"),
        ({"map": {"host": "id", "model": "id"}}, "column 'id' for both"),
        ({"tolerance": -1}, "tolerance: -1"),
        ({"tolerance": math.nan}, "tolerance: nan"),
        ({"tolerance": "1 parsec"}, "tolerance: the unit 'parsec'"),
        ({"tolerance": "-1 s", "unit": "ms"}, "tolerance: -1 s; a time of at least 0, in ms or with a unit of its own"),
        ({"map": {"host": "model"}}, "no column model"),
    ],
)
def test_settings_that_make_no_sense(tmp_path, settings, message):
    """Unit, map and tolerance are checked, and the message says what is allowed."""
    path = write_csv(tmp_path / "log.csv", [one_row()])
    with pytest.raises(HpsimError) as caught:
        read_log(path, **settings)
    assert message in str(caught.value)


def test_the_message_guesses_the_columns(tmp_path):
    """A log of other names is answered with the flags to write, unit included."""
    row = {
        "node_name": "a",
        "modelName": "m",
        "compute_ms": 5,
        "latency_ms": 7,
        "queue_ms": 2,
        "request_id": 1,
        "user": 3,
    }
    path = write_json_lines(tmp_path / "log", [row])
    with pytest.raises(LogError) as caught:
        read_log(path)
    assert (
        "--map host=node_name --map model=modelName --map duration_s=compute_ms --map total_s=latency_ms --unit ms"
        in (str(caught.value))
    )
    assert "columns found: node_name, modelName, compute_ms, latency_ms, queue_ms, request_id, user;" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("AzureLLMInferenceTrace_code_2023.csv", "TIMESTAMP, ContextTokens, GeneratedTokens"),
        ("vidur_splitwise_conv_first3000.csv", "arrived_at, num_prefill_tokens, num_decode_tokens"),
    ],
)
def test_public_traces_without_service_times(name, columns):
    """Two public request traces hold no service times: their columns are listed, and nothing is guessed."""
    path = SHARED_CASES / "traces" / name
    if not path.exists():
        pytest.skip("the published traces (../shared/cases/traces) are not beside this checkout")
    with pytest.raises(LogError) as caught:
        read_log(path)
    message = str(caught.value)
    assert f"no column host, model, duration_s, queue_wait_s or total_s; columns found: {columns};" in message
    assert "--map host=COLUMN --map model=COLUMN --map duration_s=COLUMN --map total_s=COLUMN" in message


@pytest.mark.parametrize(("field", "count"), [("host", 10_001), ("host", 40_000), ("model", 40_000)])
def test_a_column_of_ids_for_hosts(tmp_path, field, count):
    """A host of its own for every request is a mapping gone wrong, and is refused before it fills the memory."""
    rows = [one_row(id=str(n)) | {field: f"h{n}"} for n in range(count)]
    with pytest.raises(LogError, match="more than 10,000 pairs of model and host"):
        read_log(write_json_lines(tmp_path / "log", rows))


def test_duplicates_among_many(tmp_path, rng):
    """Of requests with one id the first stays: compared with a plain set on ids that often repeat."""
    rows = [one_row(id=str(rng.randrange(300)), duration_s=str(n / 1000), total_s="") for n in range(1, 1000)]
    log = read_log(write_csv(tmp_path / "log.csv", rows))
    first = {}
    for row in rows:
        first.setdefault(row["id"], float(row["duration_s"]))
    assert log.requests[0].duration.tolist() == sorted(first.values())
    assert reasons(log) == {("id", "duplicate"): len(rows) - len(first)}


def test_the_order_of_rows_does_not_matter(tmp_path, rng):
    """A shuffled log is the same log."""
    rows = requests(rng, HOSTS)
    before = as_plain(read_log(write_csv(tmp_path / "a.csv", rows)))
    rng.shuffle(rows)
    assert as_plain(read_log(write_json_lines(tmp_path / "b", rows))) == before
    assert all(np.all(np.diff(durations) >= 0) for _, _, durations, *_ in before)


def test_an_odd_column_name_is_quoted_for_the_shell(tmp_path):
    """The flags in a message can be pasted."""
    (tmp_path / "log").write_text(json.dumps({"host name": "a"}) + "\n")
    with pytest.raises(LogError, match="--map 'host=host name'"):
        read_log(tmp_path / "log")
