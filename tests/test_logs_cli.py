"""``hpsim log``: the page, the JSON, and every mistake on the command line."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter

import children
import pytest
from click.testing import CliRunner
from request_logs import requests, write_csv, write_json_lines
from rich.cells import cell_len

from hpsim.cli import cli, main
from hpsim.cli.log_table import report, time_text
from hpsim.cli.page import UNLIMITED, Column, fitted, page_console, page_text
from hpsim.errors import HpsimError
from hpsim.logs import assemble, read_log, summarize


def log(*arguments):
    """Standard output of ``hpsim log``."""
    result = CliRunner().invoke(cli, ["log", *map(str, arguments)], catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


@pytest.fixture
def path(tmp_path, rng):
    """Thirty requests on each of two hosts, three on a third, one of them faulty."""
    rows = requests(rng, {"gpu-a": (1.1, 30), "gpu-b": (2.9, 30), "gpu-c": (0.5, 3)})
    rows.append(rows[0] | {"id": "bad", "duration_s": -1})
    return write_csv(tmp_path / "log.csv", rows)


def test_the_page(path):
    """Counts that add up, a row for each host, doubts in words, the direction check, and the nature of the minimum."""
    page = log(path)
    assert page.startswith("64 requests read from 1 file = 63 kept + 1 dropped\n")
    assert f"duration_s negative          1   {path}, row 64   duration_s '-1'" in page
    rows = {line.split()[1]: line.split() for line in page.splitlines() if line.startswith(" m ")}
    assert {host: cells[2 + ("*" in cells)] for host, cells in rows.items()} == {
        "gpu-a": "30",
        "gpu-b": "30",
        "gpu-c": "3",
    }
    assert "  m on gpu-c: the minimum rests on 3 requests in all, fewer than 20" in page
    assert "total_s >= duration_s  holds for all of 63 requests with both" in page
    assert "95 % bootstrap interval (percentile method, 1,000 resamples, seed 0)" in page
    assert "The minimum estimates tau from below" in page
    assert "\x1b" not in page
    assert all(line == line.rstrip() for line in page.splitlines())


def test_the_json(path):
    """The same in JSON: everything that was read, kept and dropped, and the unit."""
    data = json.loads(log(path, "--json", "--seed", 3, "--bootstrap", 200))
    assert (data["read"], data["kept"], data["dropped"]) == (64, 63, 1)
    assert data["dropped_because"][0] | {"place": "", "found": ""} == {
        "column": "duration_s",
        "reason": "negative",
        "count": 1,
        "place": "",
        "found": "",
    }
    assert data["direction"] == {"checked": 63, "held": 63}
    assert data["intervals"] == {"level": 0.95, "method": "percentile bootstrap", "resamples": 200, "seed": 3}
    assert [group["host"] for group in data["groups"]] == ["gpu-a", "gpu-b", "gpu-c"]
    assert data["groups"][0]["minimum"]["low"] == data["groups"][0]["minimum"]["value"]
    assert (data["unit"], data["tolerance"]) == ("s", 0.01)
    assert "pipeline" not in data


def test_a_pipeline(path):
    """Stages in order, bottleneck, bias and makespans on the page and in JSON; minima are said to be lower bounds."""
    flags = (path, "--pipeline", "gpu-a, gpu-b", "--d", "0.5", "--M", "4")
    page = log(*flags)
    assert "Pipeline for m: 2 stages, 4 micro-batches, times in s" in page
    assert "Minima are lower bounds" in page
    data = json.loads(log(*flags, "--json"))
    made = data["pipeline"]
    a, b = (group["minimum"]["value"] for group in data["groups"][:2])
    assert [tau["value"] for tau in made["tau"]] == [a, b]
    assert made["tau"][0] == data["groups"][0]["minimum"]
    assert made["makespans"]["T_async"]["value"] == pytest.approx(a + b + 0.5 + 3 * b)
    assert made["homogeneity_bias"]["value"] == pytest.approx(b - a)
    assert (made["hosts"], made["bottleneck"], made["d"], made["M"]) == (["gpu-a", "gpu-b"], [1], [0.5], 4)
    loaded = log(path, "--pipeline", "gpu-a", "--quantile", "0.5")
    assert "tau, median" in loaded
    assert "what the load of the log added" in loaded


def test_without_intervals(path):
    """With --bootstrap 0 there is no interval anywhere."""
    page = log(path, "--bootstrap", 0, "--pipeline", "gpu-a")
    assert "…" not in page.replace("FILE…", "")
    assert "no intervals" in page


def test_other_names_and_units(tmp_path):
    """Columns by --map, times by --unit; the page says what was read as what."""
    rows = [{"node": "a,b", "engine": "m", "compute": 1500, "e2e": 2000, "request_id": 1, "start": "2026-09-03"}]
    path = write_json_lines(tmp_path / "log", rows)
    flags = [
        flag for pair in ("host=node", "model=engine", "duration_s=compute", "total_s=e2e") for flag in ("--map", pair)
    ]
    page = log(path, *flags, "--unit", "ms", "--pipeline", '"a,b"')
    assert "columns: host = node, model = engine, duration_s = compute, total_s = e2e\n" in page
    assert "Service time in ms, by model and host\n" in page
    assert "Pipeline for m: 1 stage, 8 micro-batches, times in ms\n" in page
    assert "throughput as M grows: async 0.6667 /s, blocking 0.6667 /s\n" in page
    assert "start from 2026-09-03 to 2026-09-03" in page
    assert "duplicates were not looked for: there is no column id; if request_id is one: --map id=request_id" in page
    assert "duration_s             median 1,500, longest 1,500 ms" in page


ODD = "\x1b[2J\n\x9b1A\r\u202e\x07"


def harmless(text):
    """Whether ``text`` has nothing but brief characters and line ends."""
    return all(character.isprintable() or character == "\n" for character in text)


def test_names_from_a_log_cannot_move_the_cursor(tmp_path):
    """Control characters and markup in hosts, models, columns, dates and values are shown harmlessly, wherever."""
    good = {f"h{ODD}": "[red]a" + ODD + "b", "model": "m" + ODD, "duration_s": 1, "queue_wait_s": 0, "id": ODD + "1"}
    good["start"] = "2026-09-03"
    rows = [good, good | {"id": "2", "duration_s": ODD}, good | {"id": "3", f"h{ODD}": "c" + ODD}]
    path = write_json_lines(tmp_path / "log", rows)
    with path.open("a") as file:
        file.write(f"x{ODD.replace(chr(10), '')}\n")
    flags = (path, "--map", f"host=h{ODD}", "--pipeline", f'"[red]a{ODD}b"')
    page = log(*flags)
    assert "[red]a [2J  1A" in page
    assert harmless(page)
    assert harmless(log(*flags, "--json"))
    for arguments in ((path,), (*flags[:3], "--pipeline", "c"), (*flags, "--model", "n"), (*flags, "--unit", ODD)):
        result = CliRunner().invoke(cli, ["log", *map(str, arguments)])
        assert isinstance(result.exception, HpsimError)
        assert harmless(str(result.exception))


def numbers(text):
    """Every number of a page, how often; without the name of a column, which stands there once for each record."""
    text = re.sub(r"(?<![0-9.])5 %", "", text)
    return Counter(re.findall(r"[0-9][0-9,]*\.?[0-9]*", text.replace("…", " ")))


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_number_is_cut_or_wrapped(path, width):
    """At every width no line is too long, and the numbers are those of the page without limits, each in one piece."""
    requests = read_log([path])
    summary = summarize(requests)
    made = assemble(requests, ["gpu-a", "gpu-b"], d=["0.5"])
    files = [requests.__class__(**vars(requests) | {"dropped": ()}), summary, made]  # a path may be longer than a line
    wide, narrow = report(*files, 100_000), report(*files, width)
    assert max(map(len, narrow.splitlines())) <= width
    assert numbers(narrow) == numbers(wide)
    assert sum(group.count for group in summary.groups) == 63
    for group in summary.groups:
        low, high = (time_text(end) for end in (group.mean.low, group.mean.high))
        assert f"{low}…{high}" in narrow


def drawn(columns, width):
    console = page_console(UNLIMITED, width)
    with console.capture() as capture:
        console.print(fitted(columns, width))
    return [line for line in page_text(capture).splitlines() if line]


def test_a_table_narrows_its_words_first_and_then_its_records_stand_below_one_another():
    """Side by side while numbers and longest words fit, to the column; else a block a row, empty cells left out."""
    columns = [
        Column("name", ["a long name", "宽宽"], words=True),
        Column("time\nin s", ["1,234.5678", ""]),
        Column("share", ["12.5 %\n10…15", "7 %"]),
    ]
    least = 2 + len("name") + 3 + len("1,234.5678") + 3 + len("12.5 %")
    for width in (UNLIMITED, 40, least):
        lines = drawn(columns, width)
        assert max(map(cell_len, lines)) <= width
        assert any("1,234.5678   12.5 %" in line for line in lines)
        assert any("a long name" in line for line in lines) == (width > least)
    assert drawn(columns, least - 1) == [
        "name       a long name",
        "time in s  1,234.5678",
        "share      12.5 %   10…15",
        "name       宽宽",
        "share      7 %",
    ]


def test_a_terminal_of_80_columns():
    """On a real terminal the page is as wide as it is, and in a pipe it is as wide as it needs."""
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1", "TERM": "xterm"}
    command = [sys.executable, "-c", "from hpsim.cli import main; main()", "log", "gateway"]
    drawn, ended = children.drawn_by(command, "stdout", "stderr", columns=80, env=environment)
    assert ended.returncode == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", drawn).replace("\r\n", "\n")
    assert 60 < max(map(len, shown.splitlines())) <= 80
    piped = log("gateway")
    assert max(map(len, piped.splitlines())) > 120
    assert numbers(shown) == numbers(piped)


def test_a_log_of_many_hosts(tmp_path):
    """The page lists the first 200 of 3,000 hosts and says so; --json has them all."""
    rows = [{"host": f"h{n:04}", "model": "m", "duration_s": 1, "queue_wait_s": 0} for n in range(3_000)]
    path = write_json_lines(tmp_path / "log", rows)
    page = log(path, "--bootstrap", 0)
    assert "h0199" in page
    assert "h0200" not in page
    assert "… and 2,800 more pairs of model and host; --json has them all" in page
    assert "… and on 2,980 more; --json has them all" in page
    assert len(json.loads(log(path, "--bootstrap", 0, "--json"))["groups"]) == 3_000


def test_transfers_in_the_unit_of_the_log(tmp_path):
    """With --unit ms, --d 4,6 is milliseconds, --d with a unit is converted, and everything printed is milliseconds."""
    rows = [{"host": host, "model": "m", "duration_s": 31 + n, "queue_wait_s": 0} for n, host in enumerate("abc")]
    path = write_json_lines(tmp_path / "log", rows)
    flags = (path, "--unit", "ms", "--pipeline", "a,b,c", "--M", "4", "--bootstrap", 0)
    data = json.loads(log(*flags, "--d", "4,6", "--json"))
    assert json.loads(log(*flags, "--d", "4ms,0.006 s", "--json")) == data
    assert (data["unit"], data["tolerance"], data["pipeline"]["unit"], data["pipeline"]["d"]) == (
        "ms",
        10,
        "ms",
        [4, 6],
    )
    assert data["groups"][0]["minimum"]["value"] == 31
    assert data["pipeline"]["makespans"]["T_async"]["value"] == 31 + 32 + 33 + 10 + 3 * 33
    assert data["pipeline"]["throughput"] == {
        "async": pytest.approx(1000 / 33),
        "blocking": pytest.approx(1000 / 38),
        "unit": "/s",
    }
    page = log(*flags, "--d", "4,6")
    assert "throughput as M grows: async 30.3 /s, blocking 26.32 /s" in page
    assert "3 stages, 4 micro-batches, times in ms" in page
    assert "31.00" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--unit", "parsec"], "unit: unknown unit 'parsec'; allowed: ns, us, µs, ms, s, min, h"),
        (["--map", "host"], "map: 'host'; FIELD=COLUMN"),
        (["--map", "host=a", "--map", "host=b"], "map: 'host' twice"),
        (["--map", "hots=a"], "unknown field 'hots'; did you mean host?"),
        (["--pipeline", "gpu-d"], "unknown host 'gpu-d'; did you mean gpu-"),
        (["--pipeline", ""], "no host"),
        (["--pipeline", "gpu-a", "--d", "1"], "1 values for 1 stages"),
        (["--pipeline", "gpu-a,gpu-b", "--d", "x"], "d[0]: 'x' is not a number"),
        (["--pipeline", "gpu-a", "--M", "0"], "M: 0"),
        (["--pipeline", "gpu-a", "--quantile", "7"], "quantile: 7.0"),
        (["--M", "4"], "--M: given without --pipeline"),
        (["--model", "m"], "--model: given without --pipeline"),
        (["--d", ""], "--d: given without --pipeline"),
        (["--quantile", "0"], "--quantile: given without --pipeline"),
        (["--bootstrap", "7"], "bootstrap: 7"),
        (["--seed", "-1"], "seed: -1"),
        (["--pipeline", "gpu-a,gpu-b", "--d", "4 parsec"], "d[0]: the unit 'parsec'"),
        (["--tolerance", "-1"], "tolerance: -1; a time of at least 0, in s or with a unit of its own"),
        (["--tolerance", "x"], "tolerance: 'x' is not a number"),
    ],
)
def test_mistakes_end_with_one_line_and_2(path, monkeypatch, capsys, arguments, message):
    """Nothing on stdout, one line on stderr, exit code 2."""
    monkeypatch.setattr(sys, "argv", ["hpsim", "log", str(path), *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert message in told.err


def test_a_log_that_comes_through_a_pipe(path):
    """A log need not be a file that can be read twice; another process prints the same."""
    piped = children.run(
        [sys.executable, "-c", "from hpsim.cli import main; main()", "log", "/dev/stdin", "--json"],
        input=path.read_bytes(),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        text=False,
        check=True,
    )
    here = json.loads(log(path, "--json"))
    assert json.loads(piped.stdout)["groups"] == here["groups"]


@pytest.mark.parametrize("hosts", ["a\nb", "a\rb"])
def test_a_list_of_hosts_on_two_lines_is_one_message(hosts, monkeypatch, capsys):
    """What is no list of names is refused with its place."""
    monkeypatch.setattr(sys, "argv", ["hpsim", "log", "gateway", "--pipeline", hosts, "--bootstrap", "0"])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith("error: --pipeline: 'a")
    assert err.count("\n") == 1
