"""``hpsim log``: the page, the JSON, and every mistake on the command line."""

from __future__ import annotations

import json
import os
import sys

import children
import pytest
from click.testing import CliRunner
from request_logs import requests, write_csv, write_json_lines

from hpsim.cli import cli, main


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
    """The same in JSON: everything that was read, kept and dropped, times in seconds."""
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
    assert "pipeline" not in data


def test_a_pipeline(path):
    """Stages in order, bottleneck, bias and makespans on the page and in JSON; minima are said to be lower bounds."""
    flags = (path, "--pipeline", "gpu-a, gpu-b", "--d", "0.5", "--M", "4")
    page = log(*flags)
    assert "Pipeline for m: 2 stages, 4 micro-batches, times in seconds" in page
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
    assert "times in the log are in ms, here in seconds" in page
    assert "start from 2026-09-03 to 2026-09-03" in page
    assert "duplicates were not looked for: there is no column id; if request_id is one: --map id=request_id" in page
    assert "duration_s             median 1.500, longest 1.500 s" in page


def test_names_from_a_log_cannot_move_the_cursor(tmp_path):
    """Control characters and markup in names are shown harmlessly."""
    rows = [{"host": "[red]a\x1b[2J\nb", "model": "m", "duration_s": 1, "queue_wait_s": 0}]
    page = log(write_json_lines(tmp_path / "log", rows))
    assert "[red]a [2J b" in page
    assert "\x1b" not in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--unit", "parsec"], "unit: unknown unit 'parsec'; allowed: ns, us, ms, s, min, h"),
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
        (["--tolerance", "-1"], "tolerance: -1.0"),
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
