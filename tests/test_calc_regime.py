"""``hpsim calc`` in a regime of knobs: makespan, bottleneck, what to improve, every wrong knob, what is not loaded."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import children
import pytest
from click.testing import CliRunner
from conftest import as_typed

from hpsim.cli import cli, main

SECTION = """\
in the regime: rendezvous
makespan         60
per micro-batch  7
throughput       0.1429
bottleneck       credit loop 1→2: transfer 3 + service 4 over 1 place
critical cycle   depart 1 → sent 1 → start 2 → finish 2 → depart 2 → release 2 → depart 1

                                             per
 improve first           now    to   micro-batch   throughput   then binds
 ─────────────────────────────────────────────────────────────────────────
 buffers of all stages     0     1           5.0      +40.0 %   server 1
 buffers[2]                0     1           6.0      +16.7 %   credit 0→1
 tau[2]                    4     3           6.0      +16.7 %   credit 0→1
 d[1]                      3   1.5           5.5      +27.3 %   credit 1→2

the best gain for the effort first: a limit one higher; a time down to where another resource binds, or half
"""


def calc(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["calc", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def regime(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(calc(*arguments, "--json"))["regime"]
    return found


@pytest.mark.parametrize(
    "flags",
    [
        ("--tau", "1e-10", "--window", "1", "--feedback", "1e300"),
        ("--tau", "1e-200,1e-100", "--d", "1e100", "--channels", "1"),
    ],
)
def test_gains_beyond_float64_stay_short(flags: tuple[str, ...]) -> None:
    """What an improvement would buy is a number of moderate length, whatever the times."""
    page = calc(*flags, "--M", "1")
    assert "improve first" in page
    assert max(map(len, page.splitlines())) < 130


def test_the_section() -> None:
    """After the page of the pipeline stand makespan, bottleneck, critical cycle and what to improve first."""
    page = calc("--tau", "1,2,4", "--d", "1,3", "--overlap", "0", "--buffers", "0")
    plain = calc("--tau", "1,2,4", "--d", "1,3")
    assert page.startswith(plain[: plain.index("busy")].rstrip())
    assert page.endswith(f"\n\n{SECTION}")


def test_without_knobs_nothing_is_added() -> None:
    """No knob, no section and no key."""
    assert "regime:" not in calc("--tau", "1,2")
    assert "regime" not in json.loads(calc("--tau", "1,2", "--json"))


def change(parameter: str, value: float, until: float, slope: float, effort: float, enough: float) -> dict[str, Any]:
    """One of the improvements of a pipeline whose window binds, and binds still."""
    numbers = {"value": value, "until": until, "slope": slope, "effort": effort, "enough": enough}
    return {"parameter": parameter, **numbers, "then": "window"}


def test_json() -> None:
    """Every key, with values computed by hand: T = (6 + 1) + 3·5, 7 a round of two."""
    assert regime("--tau", "1,3", "--d", "2", "--M", "4", "--window", "1", "--feedback", "1", "--buffers", "-,1") == {
        "overlap": 1,
        "communication": True,
        "buffers": [None, 1],
        "channels": None,
        "window": 1,
        "feedback": 1.0,
        "T": 27.0,
        "slope": 7.0,
        "throughput": pytest.approx(1 / 7),
        "critical": "window: fill 6 + feedback 1 over 1 micro-batch",
        "cycle": ["start 0", "finish 0", "depart 0", "sent 0", "start 1", "finish 1"],
        "bottlenecks": ["window"],
        "terms": [
            {"name": "window", "slope": 7.0, "words": "window: fill 6 + feedback 1 over 1 micro-batch"},
            {"name": "server 1", "slope": 3.0, "words": "server 1: service 3"},
            {"name": "credit 0→1", "slope": 2.5, "words": "credit loop 0→1: transfer 2 + service 3 over 2 places"},
            {"name": "server 0", "slope": 1.0, "words": "server 0: service 1"},
        ],
        "utilization": [pytest.approx(4 / 27), pytest.approx(12 / 27)],
        "improvements": [
            change("window", 1, 2, 3.5, 1, 3),
            change("tau[1]", 3.0, 1.5, 5.5, 5.0, 0.0),
            change("d[0]", 2.0, 1.0, 6.0, 5.0, 0.0),
            change("tau[0]", 1.0, 0.5, 6.5, 5.0, 0.0),
            change("feedback", 1.0, 0.5, 6.5, 5.0, 0.0),
        ],
    }


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--channels", "-"], "async"),
        (["--window", "none"], "async"),
        (["--overlap", "0"], "blocking"),
        (["--overlap", "1/2,0"], "overlap 0.5,0"),
        (["--buffers", "-,1,none", "--channels", "2"], "async, input places -,1,-, channels 2"),
        (["--window", "3", "--feedback", "0.25"], "async, a window of 3, feedback 0.25"),
        (["--buffers=-,2,0"], "async, input places -,2,0"),
    ],
)
def test_the_regime_in_words(flags: list[str], words: str) -> None:
    """One line says the knobs."""
    assert f"\nin the regime: {words}\n" in calc("--tau", "1,2,4", "--d", "1,3", *flags)


@pytest.mark.parametrize(
    ("name", "flags", "knobs"),
    [
        ("free", [], {"communication": False}),
        ("async", [], {}),
        ("blocking", ["--window", "3"], {"overlap": 0, "window": 3}),
        ("rendezvous", [], {"overlap": 0, "buffers": 0}),
        ("partial", ["--overlap", "0.5"], {"overlap": 0.5}),
    ],
)
def test_a_regime_by_name(name: str, flags: list[str], knobs: dict[str, Any]) -> None:
    """``--regime`` prints the section too, and in JSON the name is told by its knobs."""
    told = regime("--tau", "1,2,4", "--d", "1,3", "--regime", name, *flags)
    plain = {"overlap": 1, "communication": True, "buffers": None, "channels": None, "window": None, "feedback": 0}
    assert {knob: told[knob] for knob in plain} == plain | knobs
    assert "\nin the regime: " in calc("--tau", "1,2,4", "--d", "1,3", "--regime", name, *flags)


def test_rendezvous_is_its_knobs() -> None:
    """The name and its knobs give the same page."""
    flags = ["--tau", "1,2,4", "--d", "1,3"]
    assert calc(*flags, "--regime", "rendezvous") == calc(*flags, "--overlap", "0", "--buffers", "0")


def test_regimes_with_closed_forms_agree_with_the_page() -> None:
    """T and slope of overlap 0 are those of the blocking row; of a buffer that never fills, those of the async row."""
    told = json.loads(calc("--tau", "1,2,4", "--d", "1,3", "--M", "1e6", "--overlap", "0", "--json"))
    assert (told["regime"]["T"], told["regime"]["slope"]) == (told["T_block"], told["sigma_max"])
    told = json.loads(calc("--tau", "4,2,1", "--d", "1,3", "--M", "1e18", "--buffers", "1000000", "--json"))
    assert (told["regime"]["T"], told["regime"]["slope"]) == (told["T_async"], told["tau_max"])


def test_what_cannot_be_improved_alone_is_said() -> None:
    """Equally slow servers: no table but a sentence, and all of them named."""
    page = calc("--tau", "2,2", "--buffers", "1")
    assert "\nnothing helps on its own: several resources are as slow as the slowest\n" in page
    assert "service 2; as slow: server 1\n" in page or "service 2; as slow: server 0\n" in page


def test_many_stages_are_told_in_short() -> None:
    """A long cycle and many changes are cut on the page, and all are in JSON."""
    flags = ["--tau", ",".join(["1"] * 30), "--d", ",".join(["1"] * 29), "--window", "2", "--buffers", "1"]
    page = calc(*flags)
    assert "start 0 → finish 0 → depart 0 → sent 0 → … → sent 28 → start 29 → finish 29 → start 0" in page
    assert page.endswith("more, in --json\n")
    assert len(regime(*flags)["cycle"]) == 4 * 30 - 2


@pytest.fixture
def pipelines_file(tmp_path: Any) -> str:
    path = tmp_path / "two.yaml"
    path.write_text("pipelines: [{name: a, tau: [1, 2]}, {name: b, tau: [3, 1, 1]}]\n", encoding="utf-8")
    return str(path)


def test_a_file_takes_knobs_for_all(pipelines_file: str) -> None:
    """Each pipeline of a file gets its section, and its key in JSON."""
    assert calc(pipelines_file, "--buffers", "0", "--window", "2").count("\nin the regime: async, input places 0") == 2
    told = json.loads(calc(pipelines_file, "--buffers", "0", "--json"))
    assert [entry["regime"]["slope"] for entry in told] == [2.0, 3.0]


def test_a_file_is_compared_in_the_regime_of_the_flags(pipelines_file: str) -> None:
    """The page ends with a row for each pipeline: makespan, time per micro-batch, and the words of its bottleneck."""
    rows = calc(pipelines_file, "--buffers", "0").splitlines()[-7:]
    assert rows[0] == "compared in the regime async, input places 0: 8 micro-batches"
    assert rows[3].split() == ["pipeline", "makespan", "micro-batch", "decided", "by"]
    assert [row.split(maxsplit=3)[:3] for row in rows[5:]] == [["a", "17", "2"], ["b", "26", "3"]]
    assert rows[6].endswith(" server 0: service 3")
    assert run(pipelines_file, "--buffers", "0", PYTHONIOENCODING="ascii").stdout.isascii()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--buffers", "-1"], "buffers: -1; a whole number from 0, - for unlimited, or leave the option out; "),
        (["--channels", "1,0"], "channels[1]: 0; a whole number from 1, - for unlimited, or leave the option out; "),
        (["--window", "0"], "window: 0; a whole number of micro-batches from 1, - for unlimited, or leave the option"),
        (["--feedback", "1"], "feedback: 1 without a window; a window too, for example --window 4"),
        (["--regime", "partial"], "regime: 'partial' without --overlap; "),
        (["--regime", "blockign", "--overlap", "1"], "regime: 'blockign' is unknown; "),
        (["--regime", "free", "--overlap", "1"], "overlap: --overlap and --regime free, which has its own; "),
        (["--regime", "rendezvous", "--buffers", "1"], "buffers: --buffers and --regime rendezvous, "),
    ],
)
def test_messages_speak_of_options(
    flags: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is allowed is told as it is written on the command line, never as Python's None."""
    monkeypatch.setattr(sys, "argv", ["hpsim", "calc", "--tau", "1,2,4", "--d", "1,3", *flags])
    with pytest.raises(SystemExit):
        main()
    err = capsys.readouterr().err
    assert err.startswith(f"error: {as_typed(told, flags)}")
    assert "None" not in err


@pytest.mark.parametrize("output", [[], ["--json"]])
@pytest.mark.parametrize(
    ("flags", "place"),
    [
        (["--buffers", "-1"], "buffers"),
        (["--buffers", "1.5"], "buffers"),
        (["--buffers", "-,-2,1"], "buffers[1]"),
        (["--buffers", "1,1"], "buffers"),
        (["--buffers", "1,,1"], "buffers[1]"),
        (["--buffers", ""], "buffers"),
        (["--buffers", "few"], "buffers"),
        (["--buffers", "nan"], "buffers"),
        (["--channels", "0"], "channels"),
        (["--channels", "1,0"], "channels[1]"),
        (["--channels", "1.5"], "channels"),
        (["--channels", "1,1,1"], "channels"),
        (["--channels", "1", "--overlap", "0.5"], "channels"),
        (["--window", "0"], "window"),
        (["--window", "-2"], "window"),
        (["--window", "2.5"], "window"),
        (["--window", "1,2"], "window"),
        (["--window", ""], "window"),
        (["--window", "1", "--feedback", "-1"], "feedback"),
        (["--window", "1", "--feedback", "soon"], "feedback"),
        (["--feedback", "1"], "feedback"),
        (["--feedback", "1", "--window", "-"], "feedback"),
        (["--overlap", "2"], "overlap"),
        (["--overlap", "-0.5"], "overlap"),
        (["--overlap", "0,2"], "overlap[1]"),
        (["--overlap", "0,0,0"], "overlap"),
        (["--overlap", "1/0"], "overlap"),
        (["--window", "1", "--feedback", "1e308"], "M"),
    ],
)
def test_wrong_knobs_are_one_line_and_exit_code_2(
    flags: list[str], place: str, output: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every mistake ends with exit code 2, one line on stderr that names the place, and nothing on stdout."""
    monkeypatch.setattr(sys, "argv", ["hpsim", "calc", "--tau", "1,2,4", "--d", "1,3", *flags, *output])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith(f"error: {as_typed(f'{place}: ', flags)}")
    assert err.count("\n") == 1


def test_a_list_that_fits_one_pipeline_of_a_file_only(
    pipelines_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the pipeline that it does not fit, and nothing is printed before."""
    monkeypatch.setattr(sys, "argv", ["hpsim", "calc", pipelines_file, "--buffers", "1,2"])
    with pytest.raises(SystemExit):
        main()
    told = "error: pipeline 'b', buffers: 2 values for 3 stages; one value, or one for each stage\n"
    assert capsys.readouterr() == ("", told)


HEADLINE = ("--tau", "12,20,31", "--d", "24,6", "--M", "32")


@pytest.mark.parametrize(
    ("flags", "makespan"),
    [
        (("--buffers", "0"), 1457),
        (("--regime", "blocking"), 1209),
        (("--overlap", "0", "--buffers", "0"), 93 + 31 * 50),
        (("--channels", "1"), 1054),
        (("--window", "1"), 2976),
        (("--window", "1", "--feedback", "7"), 32 * 93 + 31 * 7),
    ],
)
def test_a_measured_makespan_is_compared_with_the_regime_asked_for(flags: tuple[str, ...], makespan: int) -> None:
    """Equal to the makespan, above and below it, whatever knob asks for the regime; async and blocking beside it."""
    assert regime(*HEADLINE, *flags)["T"] == makespan
    for measured, off, words in (
        (str(makespan), 0.0, "the makespan in this regime"),
        (f"{makespan * 5}/4", 0.25, "25 % above the makespan in this regime"),
        (f"{makespan}/2", -0.5, "50 % below the makespan in this regime"),
    ):
        assert regime(*HEADLINE, *flags, "--measured", measured)["measured_off_by"] == off
        page = calc(*HEADLINE, *flags, "--measured", measured)
        assert f": {words}\n                 beside async and blocking: " in page
        assert page.count("outside the model") <= 1


def test_what_the_papers_two_regimes_say_stays() -> None:
    """The note about async and blocking is the same with and without a regime, in JSON under the same keys."""
    told = json.loads(calc(*HEADLINE, "--buffers", "0", "--measured", "1457", "--json"))
    assert (told["T_measured"], told["rho"]) == (1457, None)
    assert told["rho_note"] == "outside the model by 20.5 % (above T_block)"
    page = calc(*HEADLINE, "--buffers", "0", "--measured", "1457")
    assert "measured         1457: the makespan in this regime\n" in page
    assert "beside async and blocking: outside the model by 20.5 % (above T_block)\n" in page
    assert "beside async and blocking: rho = 0.5\n" in calc(*HEADLINE, "--buffers", "0", "--measured", "1131.5")


def test_a_measured_makespan_beyond_float64_of_the_computed() -> None:
    """How far it is off is null in JSON where float64 does not reach, and digits on the page."""
    flags = ("--tau", "1e-300", "--M", "1", "--regime", "async", "--measured", "1e300")
    assert regime(*flags)["measured_off_by"] is None
    assert ": 1.00e+602 % above the makespan" in calc(*flags)


@pytest.mark.parametrize(
    "flags",
    [
        ("--buffers", "0"),
        ("--regime", "free"),
        ("--regime", "blocking"),
        ("--regime", "rendezvous"),
        ("--overlap", "1/3"),
        ("--channels", "1"),
        ("--window", "2", "--feedback", "5"),
    ],
)
def test_busy_is_that_of_the_regime_as_in_timeline(flags: tuple[str, ...]) -> None:
    """Shares and column are those of ``hpsim timeline`` with the same flags, and the column says whose they are."""
    drawn = CliRunner().invoke(cli, ["timeline", *HEADLINE, *flags, "--json"], catch_exceptions=False)
    assert regime(*HEADLINE, *flags)["utilization"] == json.loads(drawn.stdout)["utilization"]
    page = calc(*HEADLINE, *flags)
    rows = [line.split() for line in page[page.index("busy") :].splitlines()]
    assert rows[1][2:4] == ["in", "regime"]
    chart = CliRunner().invoke(cli, ["timeline", *HEADLINE, *flags], catch_exceptions=False).stdout
    shares = [line.split()[-2] for line in chart.splitlines() if line.endswith(" %")]
    assert [row[2] for row in rows[3:6]] == shares


def test_busy_in_the_headline_example() -> None:
    """32 times 12, 20 and 31 of 1457 in the regime, of 1054 in async, and the page says which."""
    assert "in regime" in calc(*HEADLINE, "--buffers", "0")
    for flags, shares in ((("--buffers", "0"), "26.4 43.9 68.1"), ((), "36.4 60.7 94.1")):
        page = calc(*HEADLINE, *flags)
        assert [line.split()[2] for line in page[page.index("busy") :].splitlines()[3:6]] == shares.split()
    assert "busy\n" in calc(*HEADLINE).replace(" ", "")
    assert "async" in calc(*HEADLINE).split("busy")[1].splitlines()[1]


def test_several_numbers_of_micro_batches_in_a_regime() -> None:
    """A makespan and a comparison for each M, a busy column for each, and everything else once."""
    flags = ("--tau", "12,20,31", "--d", "24,6", "--buffers", "0", "--M", "1,32", "--measured", "93,1400")
    page = calc(*flags)
    lines = [" ".join(line.split()) for line in page.splitlines()]
    assert "makespan, M = 1 93" in lines
    assert "measured, M = 1 93: the makespan in this regime" in lines
    assert "makespan, M = 32 1457" in lines
    assert "measured, M = 32 1400: 3.91 % below the makespan in this regime" in lines
    assert lines.count("per micro-batch 44") == 1
    assert any(line.count("in regime") == 2 for line in lines)
    told = json.loads(calc(*flags, "--json"))
    assert [(entry["M"], entry["regime"]["T"]) for entry in told] == [(1, 93), (32, 1457)]


def test_units_in_the_section() -> None:
    """Every time of the section has its unit, throughput is per second, and counts have none."""
    page = calc(*HEADLINE[:4], "--M", "32", "--window", "2", "--feedback", "0.004 s", "--unit", "ms")
    section = page[page.index("in the regime") :]
    assert section.startswith("in the regime: async, a window of 2, feedback 4 ms\n")
    rows = [" ".join(line.split()) for line in section.splitlines()]
    assert "per micro-batch 48.5 ms" in rows
    assert "throughput 20.6186 /s" in rows
    assert "bottleneck window: fill 62 ms + service 31 ms + feedback 4 ms over 2 micro-batches" in rows or (
        "bottleneck window: fill 93 ms + feedback 4 ms over 2 micro-batches" in rows
    )
    assert any(row.startswith("window 2 3 ") for row in rows)
    assert any(row.startswith("d[0] 24 ms 12 ms ") for row in rows)


def run(*arguments: str, **environment: str) -> children.Ended:
    code = f"import sys; sys.argv = {['hpsim', 'calc', *arguments]}\nfrom hpsim.cli import main\n"
    code += "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    return children.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})


def test_loads_nothing_heavy() -> None:
    """A regime needs neither NumPy nor any heavy library, and JSON not even rich."""
    heavy = {"numpy", "numba", "pandas", "pyarrow", "matplotlib", "z3", "dask", "pydantic", "yaml"}
    assert not set(run("--tau", "1,2", "--window", "1", "--json").stderr.split()) & (heavy | {"rich"})
    assert not set(run("--tau", "1,2", "--window", "1").stderr.split()) & heavy


def test_output_that_knows_only_ascii() -> None:
    """On an ASCII stream the section is printed too, without arrows and rules."""
    page = run("--tau", "1,2", "--buffers", "0", PYTHONIOENCODING="ascii").stdout
    assert page.isascii()
    assert "critical cycle" in page
    assert all(line == line.rstrip() for line in page.splitlines())
