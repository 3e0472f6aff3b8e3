"""``hpsim timeline``: the chart in the terminal, figures, traces, the numbers, and every wrong input in one line."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree

import children
import numpy as np
import pytest
from click.testing import CliRunner
from conftest import as_typed

from hpsim import Pipeline, Regime, schedule
from hpsim.analysis.plots.style import DARK, LIGHT
from hpsim.cli import cli, main
from hpsim.errors import HpsimError
from hpsim.timeline.moments import in_flight, lanes, time_within
from hpsim.timeline.picture import picture
from hpsim.timeline.terminal import ASCII, UNICODE, chart, round_step
from hpsim.timeline.trace import UNITS, trace, trace_events

SMALL = ["--tau", "1,2,4", "--d", "2,1", "--M", "3", "--regime", "blocking"]


def timeline(*arguments):
    """Standard output of ``hpsim timeline``."""
    result = CliRunner().invoke(cli, ["timeline", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def systems(count=60, seed=3):
    """Schedules of random pipelines, on all knobs and of times of every kind."""
    rng = random.Random(seed)
    for _ in range(count):
        S, M = rng.randint(1, 5), rng.randint(1, 30)
        knobs = {"buffers": rng.choice((None, 0, 1)), "window": rng.choice((None, 1, 4))}
        knobs |= rng.choice(({"overlap": 0}, {"overlap": 0.5}, {"channels": 2}, {}))
        scale = rng.choice((1, 0.001, 7e5, Fraction(1, 3)))
        times = [[scale * rng.choice((0, 1, 2, rng.random(), 30)) for _ in range(n)] for n in (S, S - 1, S - 1)]
        times[0][0] = scale
        yield schedule(Pipeline(*times), M, Regime(**knobs))


def test_chart_by_hand():
    """Whole times on a column each: services with their number, holds, idle time, transfers, and the axis."""
    s = schedule(Pipeline([1, 2, 4], d=[2, 1]), 3, Regime(overlap=0))
    drawn = chart(s, 40)
    assert drawn.step == 1
    assert ["".join(text for text, _ in row).rstrip() for row in drawn.rows] == [
        "stage 0 0▒▒1▒▒2▒▒·········",
        "  0→1    0─ 1─ 2─",
        "stage 1 ···0█▒1█▒2█▒······",
        "  1→2        0  1  2",
        "stage 2 ······0███1███2███",
        "        │         │",
        "        0         10",
    ]
    blocked = schedule(Pipeline([1, 3], d=[1], latency=[1]), 3, Regime(buffers=0))
    assert ["".join(text for text, _ in row).rstrip() for row in chart(blocked, 40, ASCII).rows[:3]] == [
        "stage 0 01xxxx2xxxx.....",
        "  0>1    0:   1:   2:",
        "stage 1 ...0##..1##..2##",
    ]


def test_numbers_where_they_fit():
    """Ten and more need room for two digits and a gap; single digits may touch; the legend says that some lack."""
    drawn = chart(schedule(Pipeline([1, 2, 4]), 12), 80)
    assert ["".join(text for text, _ in row).rstrip() for row in drawn.rows[:3]] == [
        "stage 0 0123456789██·······································",
        "stage 1 ·0█1█2█3█4█5█6█7█8█9█████··························",
        "stage 2 ···0███1███2███3███4███5███6███7███8███9███10██11██",
    ]
    assert not drawn.all_numbered
    assert chart(schedule(Pipeline([1, 2, 4]), 10), 80).all_numbered
    assert ", numbers only where they fit, " in timeline("--tau", "1,2,4", "--M", "12").replace("\n", " ")
    assert "numbers" not in timeline("--tau", "1,2,4", "--M", "10")


def test_numbers_never_run_into_each_other():
    """Of every run of digits the drawn numbers are single digits, or one number that stands alone."""
    for s in systems():
        for row in chart(s, 100).rows[:-2]:
            for text, kind in row[1:]:
                if kind.endswith(" number") and len(text) > 1 and s.M > 10:
                    in_turn = all(int(digit) < int(after) for digit, after in pairwise(text))
                    assert in_turn or (len(text) == 2 and int(text) < s.M)


@pytest.mark.parametrize("width", [40, 80, 133])
def test_no_row_is_wider_than_asked(width):
    """No row of any chart is wider than the width, and what is drawn is one character each."""
    for s in systems():
        for glyphs in (UNICODE, ASCII):
            rows = ["".join(text for text, _ in row) for row in chart(s, width, glyphs).rows]
            assert max(map(len, rows)) <= width
            assert all(row.isascii() for row in rows) == (glyphs is ASCII)


def test_long_runs_show_things_as_often_as_they_take_time():
    """Ten thousand micro-batches on 70 columns: a stage's row shows its shares to within a column or two."""
    s = schedule(Pipeline([1, 2, 4], d=[1, 1]), 10_000, Regime(overlap=0, buffers=1))
    drawn = chart(s, 80)
    stages = [row for row in drawn.rows if row[0][0].startswith("stage")]
    for k, row in enumerate(stages):
        columns = defaultdict(int)
        for text, kind in row[1:]:
            columns[kind] += len(text)
        for kind in ("service", "sending", "blocked", "starved"):
            assert abs(columns[kind] - float(getattr(s.split, kind)[k]) / drawn.step) < 2


@pytest.mark.parametrize(
    ("makespan", "columns", "moments", "step"),
    [
        (70, 70, (), 1),
        (71, 70, (), 1.25),
        (28.15, 71, (), 0.4),
        (38, 71, (1, 3, 38), 1),
        (38, 71, (1, 3.3, 38), 0.8),
        (1e300, 70, (), 2e298),
        (0, 70, (), 1),
        (9.99e-9, 70, (), 2e-10),
    ],
)
def test_steps_are_round(makespan, columns, moments, step):
    """A column is a round time, the shortest that fits, or one not much longer on which all moments lie."""
    assert round_step(makespan, columns, moments) == step


def test_sums_of_intervals(rng):
    """Time within intervals, and within overlapping ones, is what adding up one by one gives."""
    moments = np.cumsum([rng.random() for _ in range(20)])
    begin, end = moments[::2], moments[1::2]
    edges = np.linspace(0, moments[-1], 17)
    expected = [sum(min(max(edge - b, 0), e - b) for b, e in zip(begin, end, strict=True)) for edge in edges]
    assert time_within(begin, end, edges) == pytest.approx(expected)
    assert in_flight(begin, end + 2, edges) == pytest.approx(
        [sum(min(max(edge - b, 0), e + 2 - b) for b, e in zip(begin, end, strict=True)) for edge in edges]
    )


def test_lanes_are_few_and_do_not_overlap(rng):
    """In a lane no two intervals overlap, and there are no more lanes than things at once."""
    for _ in range(200):
        begin = [rng.randint(0, 20) for _ in range(15)]
        end = [b + rng.randint(1, 6) for b in begin]
        taken = lanes(begin, end)
        at_once = max(sum(b <= t < e for b, e in zip(begin, end, strict=True)) for t in begin)
        assert max(taken) + 1 == at_once
        for lane in set(taken):
            mine = sorted((b, e) for b, e, own in zip(begin, end, taken, strict=True) if own == lane)
            assert all(before[1] <= after[0] for before, after in pairwise(mine))


REQUIRED = {  # by phase, as the published Trace Event Format has it
    "X": {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"},
    "M": {"name", "ph", "pid", "tid", "args"},
    "s": {"name", "cat", "ph", "id", "ts", "pid", "tid"},
    "t": {"name", "cat", "ph", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "ph", "id", "ts", "pid", "tid", "bp"},
}


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def test_the_trace_is_valid():
    """Keys by phase; times in order, not negative, whole nanoseconds; no overlap in a row; flows matched and held."""
    for s in systems():
        page = json.loads(trace(s, "ms"))
        assert page.keys() == {"displayTimeUnit", "otherData", "traceEvents"}
        assert page["displayTimeUnit"] in ("ms", "ns")
        events = page["traceEvents"]
        assert all(REQUIRED[event["ph"]] == event.keys() for event in events)
        timed = [event for event in events if event["ph"] != "M"]
        assert [event["ts"] for event in timed] == sorted(event["ts"] for event in timed)
        assert all(event["ts"] >= 0 and event.get("dur", 0) >= 0 for event in timed)
        for value in (event[key] for event in timed for key in ("ts", "dur") if key in event):
            assert int(value * 1000) == nanoseconds(value)  # a viewer may cut off where another rounds
            assert abs(value * 1000 - nanoseconds(value)) < 1e-3 + 1e-15 * value * 1000
        named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
        assert {(event["pid"], event["tid"]) for event in timed} <= named
        rows = defaultdict(list)
        for event in timed:
            if event["ph"] == "X":
                begin = nanoseconds(event["ts"])
                rows[event["pid"], event["tid"]].append((begin, begin + nanoseconds(event["dur"])))
        for row in rows.values():
            assert all(before[1] <= after[0] for before, after in pairwise(row))
        flows = defaultdict(list)
        for event in timed:
            if event["ph"] in "stf":
                flows[event["id"]].append(event)
                slices = rows[event["pid"], event["tid"]]
                assert any(begin == nanoseconds(event["ts"]) for begin, _ in slices)
        assert len(flows) == s.M * (s.S - 1)
        assert {"".join(event["ph"] for event in flow) for flow in flows.values()} <= {"stf", "sf"}


@pytest.mark.parametrize("unit", [unit for unit in UNITS if unit != "ns"])  # a trace has whole nanoseconds
def test_the_trace_holds_the_numbers_of_the_schedule(unit):
    """Each service, hold, wait for a place and transfer is in the trace, at its time in microseconds."""
    factor = {"s": 10**6, "ms": 1000, "us": 1, "µs": 1, "min": 6e7, "h": 3.6e9}[unit]
    spans = {"service": ("start", "finish"), "blocked": ("finish", "depart"), "sending": ("depart", "release")}
    s = schedule(Pipeline(["1/3", 2, 0.7], d=[1, 0.25], latency=[1, 0]), 12, Regime(overlap=[0, 0.5], buffers=0))
    events = [event for event in trace_events(s, unit) if event["ph"] == "X"]
    for category, (begin, end) in {**spans, "transfer": ("send", "sent")}.items():
        found = sorted((e["args"]["m"], e["ts"], e["ts"] + e["dur"]) for e in events if e["cat"] == category)
        pairs = zip(getattr(s, begin).tolist(), getattr(s, end).tolist(), strict=True)
        expected = sorted(
            (m, b * factor, e * factor) for m, row in enumerate(pairs) for b, e in zip(*row, strict=True) if e > b
        )
        assert np.array(found) == pytest.approx(np.array(expected), abs=0.001001)
        assert found
    stages = {e["tid"] for e in events if e["cat"] == "service"}
    assert stages == {0, 1, 2}


def test_a_trace_of_centuries_is_refused():
    """A run that viewers cannot count in nanoseconds is told instead of written."""
    with pytest.raises(HpsimError, match="unit: a run of 1e\\+11 s; 292 years at most in a trace"):
        trace(schedule(Pipeline([1e11]), 1), "s")
    assert trace(schedule(Pipeline([1e11]), 1), "ms")


@pytest.mark.parametrize("M", [1, 8, 100, 800])
def test_figures_are_valid_and_the_same_each_time(M):
    """PNG, SVG and PDF begin as they should, SVG parses and names the stages; the same schedule is the same bytes."""
    s = schedule(Pipeline([1, 2, 1], d=[8, 1], latency=[1, 0]), M, Regime(buffers=[None, 9, 0]))
    png, svg, pdf = (picture(s, form, "ms") for form in ("png", "svg", "pdf"))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert pdf.startswith(b"%PDF-")
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert all(f"stage {k}".encode() in svg for k in range(3))
    assert b"time [ms]" in svg
    assert (b"heights are shares" in svg) == (M > 700)
    assert len(svg) < 1_000_000
    assert picture(s, "svg", "ms") == svg


def test_settings_in_the_current_folder_run_nothing(tmp_path):
    """Matplotlib reads a matplotlibrc there; one that asks for LaTeX, as anybody may have put it, has none run."""
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\ntext.latex.preamble: \\input{theirs}\n")
    (tmp_path / "bin").mkdir()
    latex = tmp_path / "bin" / "latex"
    latex.write_text(f"#!/bin/sh\n: > '{tmp_path}/ran'\nexit 1\n")
    latex.chmod(0o755)
    path = os.pathsep.join([str(latex.parent), os.environ["PATH"]])
    command = [sys.executable, "-c", "from hpsim.cli import main; main()", "timeline", *SMALL, "--out", "figure.png"]
    variables = os.environ | {"PATH": path, "MPLCONFIGDIR": str(tmp_path / "settings")}
    done = children.run(command, cwd=tmp_path, env=variables)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "ran").exists()


def test_a_figure_of_nothing():
    """All services 0: an empty figure and chart, no division by the makespan."""
    s = schedule(Pipeline([1, 1]), service=np.zeros((900, 2)))
    assert picture(s, "png").startswith(b"\x89PNG")
    assert chart(s, 80).step == 1
    assert s.utilization.tolist() == [0, 0]


def test_page():
    """The page has a title, the chart, its legend with the scale, and times of each stage that add up."""
    page = timeline(*SMALL, "--unit", "ms")
    lines = page.splitlines()
    assert lines[0] == "3 stages, 3 micro-batches, blocking: makespan 18 ms"
    assert "█ service, ▒ sending, · starved, ─ transfer, a column is 0.5 ms" in lines
    assert "times of each stage in ms" in lines
    assert "times of each stage" not in timeline(*SMALL)
    rows = [line.split() for line in lines]
    assert ["0", "3", "6", "9", "0", "16.7", "%"] in rows
    assert ["1", "6", "3", "9", "0", "33.3", "%"] in rows
    assert ["2", "12", "0", "6", "0", "66.7", "%"] in rows
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], "async"),
        (["--regime", "free", "--window", "3", "--feedback", "1/2"], "free, a window of 3, feedback 0.5"),
        (["--regime", "rendezvous"], "rendezvous"),
        (["--overlap", "0", "--buffers", "0"], "rendezvous"),
        (["--regime", "partial", "--overlap", "1,1/4"], "overlap 1,0.25"),
        (["--buffers", "-,0,2", "--channels", "none,1"], "async, input places -,0,2, channels -,1"),
        (["--regime", "blocking", "--buffers", "1"], "blocking, input places 1"),
    ],
)
def test_regimes(flags, words):
    """The regime and its knobs are read from flags, and told on the page as JSON tells them."""
    assert f", {words}: makespan" in timeline("--tau", "1,2,4", "--d", "2,1", "--width", "120", *flags)
    told = json.loads(timeline("--tau", "1,2,4", "--d", "2,1", "--json", *flags))["regime"]
    made = schedule(Pipeline([1, 2, 4], d=[2, 1]), 8, Regime(**told))
    assert json.loads(timeline("--tau", "1,2,4", "--d", "2,1", "--json", *flags))["makespan"] == made.makespan


def test_json():
    """JSON holds every array of the schedule, the shares, and the knobs."""
    told = json.loads(timeline(*SMALL, "--json"))
    made = schedule(Pipeline([1, 2, 4], d=[2, 1]), 3, "blocking")
    for kind in ("arrival", "start", "finish", "depart", "release", "send", "sent"):
        assert told[kind] == getattr(made, kind).tolist()
    assert (told["S"], told["M"], told["makespan"]) == (3, 3, 18)
    assert told["split"] == {name: getattr(made.split, name).tolist() for name in vars(made.split)}
    assert told["utilization"] == made.utilization.tolist()
    assert told["regime"]["overlap"] == 0
    assert not told.keys() & told["split"].keys()


@pytest.fixture
def pipelines_file(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(
        "unit: min\npipelines: [{name: a, tau: [1, 2]}, {name: b, tau: [3, 1], d: [1]}]\n", encoding="utf-8"
    )
    return str(path)


def test_a_pipeline_of_a_file(pipelines_file):
    """``--pipeline`` picks one; the page has its name and the file's unit, and is otherwise that of the times."""
    page = timeline(pipelines_file, "--pipeline", "b", "--regime", "blocking")
    assert page.startswith("b: 2 stages, 8 micro-batches, blocking: makespan 33 min\n")
    times = timeline("--tau", "3,1", "--d", "1", "--regime", "blocking")
    assert page.splitlines()[1:6] == times.splitlines()[1:6]
    assert timeline("hand_crafted", "--pipeline", "tied-bottlenecks").startswith("tied-bottlenecks: 4 stages, ")


NAMED = "pipelines: [{name: a, tau: [1, 2, 4], d: [2, 1], stages: [H100, A100 of the second rack, ｔｐｕ]}]\n"


def test_stages_have_their_names(tmp_path):
    """Rows of the chart, of the table, of figures and of traces are called as the file calls the stages."""
    path = tmp_path / "named.yaml"
    path.write_text(NAMED, encoding="utf-8")
    lines = timeline(str(path), "--regime", "blocking", "--M", "3", "--width", "52").splitlines()
    assert lines[1] == "0 H100          0▒▒1▒▒2▒▒·········"
    assert lines[3] == "1 A100 of the.. ···0█▒1█▒2█▒······"
    assert lines[5] == "2 ｔｐｕ        ······0███1███2███"
    rows = [line.split() for line in timeline(str(path), *SMALL[-4:], "--width", "100").splitlines()]
    assert ["1", "A100", "of", "the", "second", "rack", "6", "3", "9", "0", "33.3", "%"] in rows
    outs = [str(tmp_path / name) for name in ("a.svg", "a.json")]
    timeline(str(path), "--out", outs[0], "--out", outs[1])
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "0 H100" in svg
    assert "2 ｔｐｕ" in svg or "2 □□□" in svg  # by whether a font of this machine has them
    assert "stage 0" not in svg
    events = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["traceEvents"]
    threads = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert threads[:3] == ["0 H100", "1 A100 of the second rack", "2 ｔｐｕ"]
    told = json.loads(timeline(str(path), "--json"))
    assert (told["name"], told["stages"][0], told["unit"]) == ("a", "H100", None)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_named_stages_keep_to_the_width(width, tmp_path):
    """However long the names, no row is wider than asked, and no number of the table is cut."""
    from rich.cells import cell_len

    path = tmp_path / "named.yaml"
    path.write_text(NAMED.replace("H100", "x" * 300), encoding="utf-8")
    page = timeline(str(path), "--width", str(width), "--M", "40")
    assert max(map(cell_len, page.splitlines())) <= width
    shares = [line.split()[-2] for line in page.splitlines() if line.endswith(" %")]
    assert shares == ["24.1", "48.2", "96.4"]


def test_times_of_any_unit_make_the_same_chart(pipelines_file):
    """Flags with units of their own, and a file's times in another unit, are converted exactly."""
    expected = timeline("--tau", "1,2", "--unit", "ms", "--window", "1", "--feedback", "3")
    assert timeline("--tau", "0.001s,2000us", "--unit", "ms", "--window", "1", "--feedback", "3 ms") == expected
    assert ", feedback 3 ms: makespan 45 ms\n" in expected
    page = timeline(pipelines_file, "--pipeline", "a", "--unit", "s")
    assert page.startswith("a: 2 stages, 8 micro-batches, async: makespan 1020 s\n")
    assert json.loads(timeline(pipelines_file, "--pipeline", "a", "--unit", "h", "--json"))["makespan"] == 17 / 60


def test_the_only_pipeline_of_a_file_needs_no_name(tmp_path):
    """A name from a file cannot move the cursor, nor its unit begin a formula in a figure."""
    path = tmp_path / "one.yaml"
    path.write_text('unit: "$x$"\npipelines: [{name: "a\\e[2J", tau: [1, 2]}]\n', encoding="utf-8")
    assert timeline(str(path)).startswith("a [2J: 2 stages, 8 micro-batches, async: makespan 17 $x$\n")
    timeline(str(path), "--out", str(tmp_path / "a.svg"))
    assert "time [$x$]" in (tmp_path / "a.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("unit", [r"$\frac{a}$", "$", "a\r\n\x1b[31m", "m" * 1000, "毫秒", "\u202ea", "-->", ""])
def test_units_are_shown_as_they_are(unit):
    """No unit is read as a formula, has a glyph that no font has, or is wider than the figure; in each format."""
    s = schedule(Pipeline([1, 2], d=[1]), 3)
    for form in ("svg", "png", "pdf"):
        assert picture(s, form, unit)
    ElementTree.fromstring(picture(s, "svg", unit))


def test_dark_figures(tmp_path):
    """``--style dark`` has a dark paper and other colours, and the same bars; the default is light."""
    for name, flags in (("a", []), ("b", ["--style", "light"]), ("c", ["--style", "dark"])):
        timeline(*SMALL, "--out", str(tmp_path / f"{name}.svg"), *flags)
    light, same, dark = ((tmp_path / f"{name}.svg").read_text(encoding="utf-8") for name in "abc")
    assert light == same
    for color in (LIGHT.paper, LIGHT.blue, LIGHT.amber, LIGHT.ink):
        assert color in light
        assert color not in dark
    assert DARK.paper in dark
    assert dark.count("<path") == light.count("<path")
    for M in (60, 900):
        s = schedule(Pipeline([1, 2, 1], d=[8, 1]), M, Regime(buffers=0))
        assert LIGHT.rust.encode() not in picture(s, "svg", style="dark")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ([], "{file}: 2 pipelines; --pipeline with the name of one: 'a', 'b'\n"),
        (["--pipeline", "c"], "--pipeline: 'c' is not in {file}; one of 'a', 'b'\n"),
        (["--pipeline", "a", "--tau", "1"], "timeline: both FILE and times; FILE alone, or --tau, "),
        (
            ["--pipeline", "a", "--unit", "cycles"],
            "--unit: cycles, and the times of {file} are in 'min'; units ",
        ),
    ],
)
def test_a_file_and_what_does_not_go_with_it(flags, told, pipelines_file, monkeypatch, capsys, tmp_path):
    """Which pipeline, or which unit a trace has, is asked for in one line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["hpsim", "timeline", pipelines_file, *flags])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith(f"error: {as_typed(told.format(file=pipelines_file), flags)}")


def test_files(tmp_path):
    """Several files in one call, their names printed, on stderr beside JSON; an ending may be in capitals."""
    names = [str(tmp_path / name) for name in ("a.svg", "b.PNG", "c.pdf", "d.trace.json")]
    outs = [word for name in names for word in ("--out", name)]
    assert timeline(*SMALL, *outs) == "".join(f"{name}\n" for name in names)
    assert json.loads((tmp_path / "d.trace.json").read_text(encoding="utf-8"))["otherData"]["unit"] == "s"
    assert (tmp_path / "b.PNG").read_bytes().startswith(b"\x89PNG")
    result = CliRunner().invoke(cli, ["timeline", *SMALL, "--json", *outs])
    assert json.loads(result.stdout)["M"] == 3
    assert result.stderr.splitlines() == names


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ([], "timeline: neither FILE nor --tau; for example: hpsim timeline --tau"),
        (["--tau", "1,2", "--pipeline", "a"], "--pipeline: --pipeline without FILE; "),
        (["--tau", "1,x"], "tau[1]: 'x' is not a number; "),
        (["--tau", "1,nan"], "tau[1]: 'nan' is not a finite number; "),
        (["--tau", ""], "tau[0]: an empty field; "),
        (["--tau", "0,0"], "tau: every service time is 0; "),
        (["--tau", "1,2", "--d", "1,2"], "d: 2 values for 2 stages; "),
        (["--tau", "1,2", "--latency", "-1"], "latency[0]: -1 is negative; "),
        (["--tau", "1,2", "--M", "0"], "M: 0; "),
        (["--tau", "1,2", "--M", "1.5"], "M: 1.5; "),
        (["--tau", "1,2", "--M", "1e9"], "M: 1000000000 micro-batches at 2 stages; at most 2,000,000 services; "),
        (["--tau", "1,2", "--regime", "blockign"], "regime: 'blockign' is unknown; one of "),
        (["--tau", "1,2", "--regime", "partial"], "regime: 'partial' without --overlap; "),
        (["--tau", "1,2", "--regime", "blocking", "--overlap", "1"], "overlap: --overlap and --regime blocking, "),
        (["--tau", "1,2", "--regime", "rendezvous", "--buffers", "1"], "buffers: --buffers and --regime rendezvous, "),
        (["--tau", "1,2", "--regime", "blocking", "--channels", "1"], "channels: channels with overlap 0; "),
        (["--tau", "1,2", "--overlap", "1.5"], "overlap: "),
        (["--tau", "1,2", "--overlap", "1,1"], "overlap: 2 values for 1 link; "),
        (["--tau", "1,2", "--buffers", "-1"], "buffers: -1; "),
        (["--tau", "1,2", "--buffers", "1/2"], "buffers: 1/2; a whole number from 0, - for unlimited, "),
        (["--tau", "1,2", "--buffers", "1,2,3"], "buffers: 3 values for 2 stages; "),
        (["--tau", "1,2", "--buffers", "1,"], "buffers[1]: no value; "),
        (["--tau", "1,2", "--channels", "0"], "channels: 0; "),
        (["--tau", "1,2", "--window", "0"], "window: 0; "),
        (["--tau", "1,2", "--window", "soon"], "window: 'soon' is not a number; "),
        (["--tau", "1,2", "--feedback", "1"], "feedback: 1 without a window; "),
        (["--tau", "1,2", "--feedback", "-1", "--window", "1"], "feedback: "),
        (["--tau", "1,2", "--width", "10"], "--width: 10; at least 40 columns"),
        (["--tau", "1,2", "--out", "a.gif"], "--out: 'a.gif' with the ending .gif; a file that ends in "),
        (["--tau", "1,2", "--out", "a"], "--out: 'a' with the ending missing; "),
        (["--tau", "1,2", "--out", "nowhere/a.svg"], "--out: nowhere/a.svg cannot be written (No such file"),
        (["--tau", "1e12", "--out", "a.json"], "unit: a run of 8e+12 s; "),
        (["--tau", "1", "--unit", "cycles", "--out", "a.json"], "unit: 'cycles'; one of ns, us, µs, ms, s, min"),
        (["--tau", "1", "--unit", ""], "--unit: ''; one of ns, us, µs, ms, s, min, h, or a word of your own such as"),
        (["--tau", "1", "--unit", "1 ms"], "--unit: '1 ms'; "),
        (["--tau", "1ms"], "tau[0]: a time in ms, without a unit to convert it to (--unit ms); "),
        (["--tau", "1", "--unit", "ms", "--window", "1", "--feedback", "2 parsec"], "feedback: the unit 'parsec' "),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line_and_exit_code_2(flags, told, monkeypatch, capsys, tmp_path):
    """Every mistake ends with exit code 2, one line on stderr that names the place, and nothing on stdout."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["hpsim", "timeline", *flags])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith(f"error: {as_typed(told, flags)}")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_missing_matplotlib_is_told(monkeypatch, tmp_path):
    """Without Matplotlib a figure is one line with the installation; the chart and the trace need none."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = CliRunner().invoke(cli, ["timeline", *SMALL, "--out", str(tmp_path / "a.svg")])
    assert str(result.exception) == ('matplotlib: is not installed; it comes with: pip install "hpsim-pipelines[plot]"')
    assert timeline(*SMALL, "--out", str(tmp_path / "a.json"))
    assert timeline(*SMALL)


def run(arguments, **environment):
    code = f"import sys; sys.argv = {['hpsim', 'timeline', *arguments]}\nfrom hpsim.cli import main\n"
    code += "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    return children.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})


def test_loads_nothing_heavy():
    """The page and JSON need neither Numba nor Matplotlib nor pandas."""
    heavy = {"numba", "pandas", "pyarrow", "matplotlib", "z3", "duckdb", "pydantic"}
    assert not set(run(SMALL).stderr.split()) & heavy
    assert not set(run([*SMALL, "--json"]).stderr.split()) & heavy


@pytest.mark.parametrize("environment", [{}, {"FORCE_COLOR": "1"}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_piped_output_is_plain(environment):
    """A pipe gets text of 80 columns without control characters, whatever the environment says."""
    page = run(SMALL, **environment).stdout
    assert all(character.isprintable() for character in page.replace("\n", ""))
    assert max(map(len, page.splitlines())) <= 80


def test_output_that_knows_only_ascii():
    """On an ASCII stream every character of the chart has a stand-in."""
    page = run(SMALL, PYTHONIOENCODING="ascii").stdout
    assert page.isascii()
    assert "?" not in page
    assert "# service, ~ sending, . starved, - transfer, a column is" in page


@pytest.mark.parametrize(("environment", "coloured"), [({"TERM": "xterm-256color"}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_only_on_a_terminal(environment, coloured):
    """A terminal gets colours and a chart of its width; with NO_COLOR none, though bold may stay."""
    code = f"import sys; sys.argv = {['hpsim', 'timeline', *SMALL]}\nfrom hpsim.cli import main\nmain()"
    variables = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    variables = {"TERM": "xterm", **variables, "COLUMNS": "100", **environment}
    drawn, ended = children.drawn_by([sys.executable, "-c", code], "stdout", env=variables)
    assert ended.returncode == 0
    assert ("\x1b[3" in drawn or "\x1b[1;38" in drawn or ";38;5;" in drawn) == coloured
