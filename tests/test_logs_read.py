"""Reading request logs: every kind of file alike, every request accounted for, every bad file told."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter

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
        ({"duration_s": "1.5 s"}, "duration_s", "text"),
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
    cases = {(column, reason) for _, column, reason in marks[0].args[1]}
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
    ("unit", "seconds"), [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)]
)
def test_units(tmp_path, unit, seconds):
    """Times in any unit become seconds."""
    rows = [one_row(duration_s="1500", queue_wait_s="30", total_s="1530")]
    log = read_log(write_csv(tmp_path / "log.csv", rows), unit=unit)
    assert log.requests[0].duration[0] == pytest.approx(1500 * seconds, rel=1e-15)
    assert log.requests[0].wait[0] == pytest.approx(30 * seconds, rel=1e-15)


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
    "late.csv": (b"host,model,duration_s,total_s\n" + b"a,m,1,1\n\n" * 9 + b"a\n", "row 10: 1 fields where the header"),
    "nothing": (b"", "the file is empty"),
    "blank": (b"\xef\xbb\xbf\r\n \n", "the file is empty"),
    "header_only.csv": (b"host,model,duration_s,total_s\n", "no request below it"),
    "header_only_no_end.csv": (b"host,model,duration_s,total_s", "no request below it"),
    "short_row.csv": (b"host,model,duration_s,total_s\na,m,1,1\na,m,1\n", "row 2: 3 fields where the header has 4"),
    "long_row.csv": (b"host,model,duration_s,total_s\na,m,1,1,9\n", "row 1: 5 fields where the header has 4"),
    "open_quote.csv": (b'host,"model,duration_s\n', "header: no end, or a quote that is not closed"),
    "twice.csv": (b"host,model,host,duration_s,total_s\na,m,b,1,1\n", "column 'host' stands there 2 times"),
    "old_mac.csv": (b"host,model,duration_s,total_s\ra,m,1,1\r", "carriage return alone"),
    "long_name.csv": (b"host," + b"x" * 200_000 + b"\n", "header: field larger than field limit"),
    "zeros.bin": (bytes(range(256)), "binary data"),
    "latin.csv": ("hôst,model\n".encode("latin-1"), "not UTF-8"),
    "latin_cell.csv": ("host,model,duration_s,total_s\nhôst,m,1,2\n".encode("latin-1"), "not UTF-8"),
    "utf16.csv": ("host,model\n".encode("utf-16"), "text in UTF-16"),
    "cut.gz": (gzip.compress(b"host,model,duration_s,total_s\n" + b"a,m,1,1\n" * 99)[:-9], "it cannot be read"),
    "no_gzip.gz": (b"\x1f\x8bnothing of the kind", "it cannot be read"),
    "no.parquet": (b"PAR1 and no more", "it cannot be read"),
    "archive.zip": (b"PK\x03\x04....", "a zip archive"),
    "array.json": (b'[{"host": 1}]', "a JSON array"),
    "pretty.json": (b'{\n "host": 1}\n', "pretty.json:1: not JSON"),
    "number.jsonl": (b'{"host": 1}\n\n3\n', "number.jsonl:3: no JSON object"),
    "deep.jsonl": (b'{"host": ' + b"[" * 100_000 + b"\n", "deep.jsonl:1"),
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
        (tmp_path / "none.csv", "No such file"),
        (tmp_path, "Is a directory"),
        ([], "no file"),
        ([path, tmp_path / "link.csv"], "the same file twice"),
        ("a\0b", "it cannot be read"),
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
        ({"unit": "seconds"}, "unit: unknown unit 'seconds'; allowed: ns, us, ms, s, min, h"),
        ({"unit": "mss"}, "did you mean ms"),
        ({"map": {"durations": "x"}}, "unknown field 'durations'; did you mean duration_s"),
        ({"map": {"host": "x"}}, "host=x, but there is no such column; columns found: id, host, model"),
        ({"map": {"host": "id", "model": "id"}}, "column 'id' for both"),
        ({"tolerance": -1}, "tolerance: -1"),
        ({"tolerance": math.nan}, "tolerance: nan"),
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


def test_a_column_of_ids_for_hosts(tmp_path):
    """A host of its own for every request is a mapping gone wrong, and is refused before it fills the memory."""
    rows = [one_row(id=str(n), host=f"h{n}") for n in range(10_001)]
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
