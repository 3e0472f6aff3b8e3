"""``hpsim calc``: the numbers on the screen and in JSON, every wrong input, and what it does not load."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from fractions import Fraction

import children
import heteropipe.cli as peer
import pytest
from click.testing import CliRunner
from conftest import as_typed
from rich.cells import cell_len

from hpsim.cli import cli, main

PIPELINES_FILE = """\
unit: ms
pipelines:
  - {name: "[b]first[/b]", tau: [1, 2.5, "1/3"], d: [0.1, 0.2], stages: [gpu, ｔｐｕ, npu], note: two words}
  - {name: second, tau: [0.1, 0.3], d: [0.2]}
"""


def calc(*arguments):
    """Standard output of ``hpsim calc``."""
    result = CliRunner().invoke(cli, ["calc", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def calc_json(*arguments):
    return json.loads(calc(*arguments, "--json"))


@pytest.fixture
def pipelines_file(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(PIPELINES_FILE, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "line",
    [
        "--tau 1.13,2.90,2.62 --M 100 --json",
        "--tau 0.5,1,1,5 --d 0.2,0.1,0.3 --M 32 --rho 0.8 --json",
        "--tau=2,1 --d=3 --rho 0 --json",
        "--tau 4 --json",
    ],
)
def test_accepts_the_reference_command_line(line, capsys):
    """The same flags give JSON with the same keys and values as the reference tool's command."""
    assert peer.main(line.split()) == 0
    theirs = json.loads(capsys.readouterr().out)
    ours = json.loads(calc(*line.split()))
    assert theirs == {key: pytest.approx(ours[key], rel=1e-12) for key in theirs}


def test_empty_d_is_no_communication():
    """An empty ``--d``, which the reference tool takes, means no communication."""
    assert calc_json("--tau", "1,2", "--d", "", "--latency", " ")["T_async"] == 17


def test_table():
    """One screen shows makespans, over-estimates, bias, bottleneck, and each stage with its link; nothing wraps."""
    page = calc("--tau", "1.13,2.90,2.62", "--d", "0.2,1").splitlines()
    rows = [line.split() for line in page]
    assert page[0] == "3 stages, 8 micro-batches"
    assert ["async", "(Theorem", "2)", "28.15", "2.9", "0.3448", "+3.0", "%"] in rows
    assert ["blocking", "(Theorem", "3)", "35.15", "3.9", "0.2564", "-17.5", "%"] in rows
    assert ["homogeneity", "bias", "sum(tau_max", "-", "tau)", "2.0500"] in rows
    assert ["bottleneck", "stage", "1"] in rows
    assert ["0", "1.13", "32.1", "%", "0.2", "1.77", "1.57"] in rows
    assert ["1", "2.90", "82.4", "%", "1.0", "0.00", "-1.00", "bottleneck;", "d", "exceeds", "slack"] in rows
    assert ["2", "2.62", "74.5", "%"] in rows
    assert "blend" not in "\n".join(page)
    assert "blend, rho = 4/5" in calc("--tau", "1,2", "--rho", "0.8")


def test_the_makespans_fit_80_columns():
    """On a terminal of 80 columns no row of the makespans wraps, with eight digits in each number and a blend."""
    page = calc("--tau", "1000.1234,2000.4321", "--d", "500.0001", "--rho", "0.8").splitlines()
    rows = page[2 : page.index("", 2)]
    assert len(rows) == 8
    assert max(map(len, rows)) <= 80
    assert max(map(len, calc("--tau", "1,2,4", "--d", "1,3").splitlines()[:20])) <= 80


def test_table_without_links_and_with_latency():
    """One stage has no link columns; latency has a column and a line in the bias only when there is some."""
    alone = calc("--tau", "4", "--M", "1")
    assert "1 stage, 1 micro-batch\n" in alone
    assert "slack" not in alone
    assert "no: there is no link" in alone
    late = calc("--tau", "1,2", "--latency", "0.5")
    assert ["less", "latency", "sum(latency)", "0.50"] in [line.split() for line in late.splitlines()]
    assert "latency" not in calc("--tau", "1,2", "--d", "0.5")


def test_a_decimal_tie_is_not_called_a_phase_transition():
    """Numbers on the command line are read exactly."""
    result = calc_json("--tau", "0.1,0.3", "--d", "0.2")
    assert (result["phase_transition"], result["overlap_gap"], result["link_headroom"]) == (False, 0, [0])
    assert result["bottleneck_blocking"] == [0, 1]
    assert "stage 1; when blocking, stages 0, 1" in calc("--tau", "0.1,3/10", "--d", "0.2")


def test_64_stages_stay_readable():
    """A wide pipeline has one line per stage, none longer than 120 characters."""
    tau = ",".join(f"{1 + s % 7}/3" for s in range(64))
    page = calc("--tau", tau, "--d", ",".join(["1/3"] * 63)).splitlines()
    assert max(map(len, page)) <= 120
    table = [line for line in page if line.split()[:1] and line.split()[0].isdigit()]
    assert [int(line.split()[0]) for line in table[1:]] == list(range(64))


@pytest.mark.parametrize("M", ["1099511627776", "1e30", str(10**30)])
def test_huge_numbers_of_micro_batches(M):
    """2**40 and 10**30 micro-batches are computed, in JSON and on the screen."""
    result = calc_json("--tau", "1,2", "--M", M)
    assert result["M"] == int(Fraction(M))
    assert result["T_async"] == float(2 * int(Fraction(M)) + 1)
    assert calc("--tau", "1,2", "--M", M)


@pytest.mark.parametrize(
    ("flags", "rho", "note"),
    [
        ("--tau 1,1 --d 1 --M 2 --measured 4.5", 0.5, None),
        ("--tau 1,1 --d 1 --M 2 --measured 4", 1, None),
        ("--tau 1,1 --d 1 --M 2 --measured 5", 0, None),
        ("--tau 0.1,0.1 --d 0.1 --M 2 --measured 0.4", 1, None),
        ("--tau 0.1,0.1 --d 0.1 --M 2 --measured 0.5", 0, None),
        ("--tau 1,1 --d 1 --M 2 --measured 3", None, "outside the model by 25 % (below T_async)"),
        ("--tau 1,1 --d 1 --M 2 --measured 6", None, "outside the model by 20 % (above T_block)"),
        (
            "--tau 1,1 --d 1 --M 2 --measured 5.00000000000000000001",
            None,
            "outside the model by 2e-19 % (above T_block)",
        ),
        (
            "--tau 1,1 --d 1 --M 1 --measured 3",
            None,
            "undefined: M = 1, a single micro-batch has no steady state to overlap (0/0)",
        ),
        ("--tau 1,2 --d 1 --M 2 --measured 6", None, "undefined: no phase transition, so T_block = T_async (0/0)"),
        (
            "--tau 1,2 --d 1 --M 2 --measured 9",
            None,
            "outside the model by 50 % (above T_block); undefined: no phase transition, so T_block = T_async (0/0)",
        ),
    ],
)
def test_measured_makespan(flags, rho, note):
    """A measured makespan gives the paper's rho, or says that it is undefined or how far outside the model it lies."""
    result = calc_json(*flags.split())
    assert (result["rho"], result["rho_note"]) == (rho, note)
    assert (note or f"rho = {rho}") in calc(*flags.split())


def test_file(pipelines_file):
    """A pipelines file gives a report for each pipeline under its name, or a JSON list; brackets are no markup."""
    first, second = calc_json(pipelines_file, "--M", "4")
    assert (first["name"], first["unit"], first["note"]) == ("[b]first[/b]", "ms", "two words")
    assert first["stages"] == ["gpu", "ｔｐｕ", "npu"]
    assert first["T_async"] == pytest.approx(23 / 6 + 0.3 + 3 * 2.5)
    assert (second["name"], second["phase_transition"], second["stages"]) == ("second", False, [])
    page = calc(pipelines_file, "--M", "4")
    assert "[b]first[/b]: 3 stages, 4 micro-batches, times in ms\ntwo words\n" in page
    assert "second: 2 stages, 4 micro-batches, times in ms\n" in page
    assert "ｔｐｕ" in page


def test_a_file_without_a_unit_is_given_none(tmp_path):
    """Times of which the file does not say the unit are not said to be seconds."""
    path = tmp_path / "bare.yaml"
    path.write_text("pipelines: [{name: a, tau: [1, 2]}]\n", encoding="utf-8")
    assert calc(str(path)).startswith("a: 2 stages, 8 micro-batches\n")
    assert calc_json(str(path))[0]["unit"] is None


def test_pipelines_are_printed_one_after_the_other(pipelines_file, monkeypatch):
    """The first report is printed before the second pipeline is computed."""
    from hpsim.pipeline import Pipeline

    analyze, printed = Pipeline.analyze, []

    def fails_on_the_second(self, *arguments):
        if printed:
            raise ZeroDivisionError("a bug")
        printed.append(self.tau)
        return analyze(self, *arguments)

    monkeypatch.setattr(Pipeline, "analyze", fails_on_the_second)
    result = CliRunner().invoke(cli, ["calc", pipelines_file])
    assert isinstance(result.exception, ZeroDivisionError)
    assert result.stdout.startswith("[b]first[/b]: 3 stages")
    assert "second" not in result.stdout


def test_no_page_is_printed_before_all_are_known_to_be_right(tmp_path, monkeypatch, capsys):
    """A makespan beyond float64 in the second pipeline is found before the first is printed."""
    path = tmp_path / "long.yaml"
    path.write_text("pipelines: [{name: a, tau: [1]}, {name: b, tau: [1e300]}]\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["hpsim", "calc", str(path), "--M", "1e9"])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith("error: --M: 1000000000, a makespan beyond float64; ")


def test_as_many_stages_as_in_files():
    """1,024 equal stages, all of them bottlenecks, are reported; flags stop where files do."""
    from hpsim.sweep.file.fields import MAX_STAGES

    assert calc_json("--tau", ",".join(["1"] * MAX_STAGES))["bottleneck_blocking"] == list(range(MAX_STAGES))
    result = CliRunner().invoke(cli, ["calc", "--tau", ",".join(["1"] * (MAX_STAGES + 1))])
    assert str(result.exception) == "tau: 1,025 values; at most 1,024 stages"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--M", "many"], "M: 'many' is not a number; a whole number of micro-batches, at least 1, for example 8"),
        (["--M", ""], "M: no value; a whole number of micro-batches, at least 1, for example 8"),
        (["--rho", ""], "rho: no value; a share from 0 (blocking) to 1 (fully overlapped), for example 0.8"),
        (["--measured", ""], "measured: no value; a makespan of at least 0, for example 42.5"),
        (["--d", "1/0"], "d[0]: 1/0 divides by zero; a decimal such as 1.13, or a fraction such as 1/3"),
        (["--d", "1,"], "d[1]: an empty field; numbers separated by commas, such as 1.13,2.90,2.62"),
    ],
)
def test_what_is_allowed_belongs_to_the_flag(flags, told):
    """Each flag says what it takes itself."""
    result = CliRunner().invoke(cli, ["calc", "--tau", "1,2", *flags])
    assert str(result.exception) == told


@pytest.mark.parametrize(
    ("flags", "place"),
    [
        ([""], "FILE"),
        (["--tau", "1", "--M", str(10**400)], "M"),
        (["--tau", "1,nan"], "tau[1]"),
        (["--tau", "inf"], "tau[0]"),
        (["--tau", "1,-2"], "tau[1]"),
        (["--tau", "-1,2"], "tau[0]"),
        (["--tau", "1,fast"], "tau[1]"),
        (["--tau", "1,,2"], "tau[1]"),
        (["--tau", "1,2,"], "tau[2]"),
        (["--tau", ""], "tau[0]"),
        (["--tau", "1 2"], "tau[0]"),
        (["--tau", "0,0"], "tau"),
        (["--tau", "1,2", "--d", "1,2"], "d"),
        (["--tau", "1,2", "--d", "-1"], "d[0]"),
        (["--tau", "1,2", "--latency", "1,2"], "latency"),
        (["--tau", "1,2", "--latency", "x"], "latency[0]"),
        (["--tau", "1", "--M", "0"], "M"),
        (["--tau", "1", "--M", "-3"], "M"),
        (["--tau", "1", "--M", "1.5"], "M"),
        (["--tau", "1", "--M", "many"], "M"),
        (["--tau", "1", "--M", ""], "M"),
        (["--tau", "1", "--M", "1e305"], "M"),
        (["--tau", "1", "--rho", "1.01"], "rho"),
        (["--tau", "1", "--rho", "nan"], "rho"),
        (["--tau", "1", "--measured", "-1"], "measured"),
        (["--tau", "1", "--measured", "soon"], "measured"),
        ([], "calc"),
        (["--d", "1"], "calc"),
        (["FILE", "--tau", "1"], "calc"),
        (["FILE", "--d", "1"], "calc"),
    ],
)
@pytest.mark.parametrize("output", [[], ["--json"]])
def test_wrong_input_is_one_line_and_exit_code_2(flags, place, output, pipelines_file, monkeypatch, capsys):
    """Every mistake ends with exit code 2, one line on stderr that names the place, and nothing on stdout."""
    arguments = [pipelines_file if flag == "FILE" else flag for flag in flags]
    monkeypatch.setattr(sys, "argv", ["hpsim", "calc", *arguments, *output])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert end.value.code == 2
    assert out == ""
    assert err.startswith(f"error: {as_typed(f'{place}: ', flags)}")
    assert err.count("\n") == 1


def test_a_call_without_pipeline_shows_an_example(monkeypatch, capsys):
    """Neither FILE nor --tau is answered with a line to copy."""
    monkeypatch.setattr(sys, "argv", ["hpsim", "calc"])
    with pytest.raises(SystemExit):
        main()
    assert "hpsim calc --tau 1.13,2.90,2.62 --M 8" in capsys.readouterr().err


def run(arguments, **environment):
    code = f"import sys; sys.argv = {['hpsim', 'calc', *arguments]}\nfrom hpsim.cli import main\n"
    code += "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    return children.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})


HEAVY = {"numpy", "numba", "pandas", "pyarrow", "matplotlib", "z3", "dask"}


def test_loads_nothing_heavy(pipelines_file):
    """Flags need neither NumPy nor pydantic, JSON not even rich; a file needs none of the heavy libraries either."""
    as_json = set(run(["--tau", "1,2", "--json"]).stderr.split())
    assert not as_json & (HEAVY | {"rich", "pydantic", "yaml"})
    assert not set(run(["--tau", "1,2"]).stderr.split()) & (HEAVY | {"pydantic", "yaml"})
    assert not set(run([pipelines_file]).stderr.split()) & (HEAVY - {"numpy"})


@pytest.mark.parametrize("environment", [{}, {"FORCE_COLOR": "1"}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_piped_output_is_plain(environment):
    """A pipe gets text without control characters and without trailing blanks, whatever the environment says."""
    page = run(["--tau", "1,2", "--d", "3"], **environment).stdout
    assert all(character.isprintable() for character in page.replace("\n", ""))
    assert all(line == line.rstrip() for line in page.splitlines())
    assert page.endswith("\n")


def test_output_that_knows_only_ascii():
    """On an ASCII stream the rules of the tables fall back to ASCII."""
    assert run(["--tau", "1,2"], PYTHONIOENCODING="ascii").stdout.isascii()


def test_several_pipelines_are_compared(pipelines_file):
    """A page of several ends with one row each: makespan, time per micro-batch and bottleneck, async and blocking."""
    rows = calc(pipelines_file).splitlines()[-8:]
    assert rows[0] == "compared: 8 micro-batches, times in ms"
    assert rows[3].split() == ["makespan", "micro-batch", "makespan", "micro-batch"]
    assert " ".join(rows[4].split()) == "pipeline [ms] [ms] decided by [ms] [ms] decided by"
    assert [row.split() for row in rows[6:]] == [
        ["second", "2.7000", "0.3", "stage", "1", "2.7000", "0.3", "stages", "0,", "1"],
        ["[b]first[/b]", "21.6333", "2.5", "stage", "1", "23.0333", "2.7", "stage", "1"],
    ]


MAKESPAN = "a makespan of at least 0, for example 42.5"
SIX = """\
pipelines:
  - {name: e, tau: [5]}
  - {name: b, tau: [2, 2], d: [9]}
  - {name: f, tau: [1, 1, 1, 1, 1, 1], d: [1, 1, 1, 1, 1, 1]}
  - {name: a, tau: [1, 1]}
  - {name: c, tau: [3]}
  - {name: d, tau: [4]}
"""  # with 8 micro-batches async 40, 27, 18, 9, 24, 32


@pytest.fixture
def six_pipelines(tmp_path):
    path = tmp_path / "six.yaml"
    path.write_text(SIX.replace("d: [1, 1, 1, 1, 1, 1]", "d: [1, 1, 1, 1, 1]"), encoding="utf-8")
    return str(path)


def names_compared(page):
    """The first word of each row of the comparison."""
    table = page[page.index("compared") :]
    return [line.split()[0] for line in table[table.index("──") :].splitlines()[1:] if line.strip()]


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ([], "afcbde"),
        (["--sort", "slope"], "afbcde"),
        (["--sort", "name"], "abcdef"),
        (["--sort", "file"], "ebfacd"),
        (["--regime", "blocking"], "acfdeb"),
        (["--top", "2"], "af"),
        (["--sort", "file", "--top", "3"], "ebf"),
        (["--M", "1,8"], "afcbde"),
    ],
)
def test_more_than_five_pipelines_are_only_compared(six_pipelines, flags, names):
    """Six pipelines are one table, by the makespan asked for or another key, as many as asked for; JSON follows."""
    page = calc(six_pipelines, *flags)
    assert page.startswith("compared")
    assert page.endswith("\nthe page of each: --full; of one: --pipeline NAME\n")
    assert "".join(names_compared(page)[: len(names)]) == names
    assert (f", the first {len(names)} of 6 pipelines" in page) == ("--top" in flags)
    if "--sort" in flags or "--top" in flags:
        assert "".join(entry["name"] for entry in calc_json(six_pipelines, *flags)) == names


def test_six_pipelines_by_makespan(six_pipelines):
    """The rows of the comparison have the makespans computed by hand, the shortest first."""
    table = calc(six_pipelines).splitlines()[5:11]
    assert [row.split()[:3] for row in table] == [
        ["a", "9", "1"],
        ["f", "18", "1"],
        ["c", "24", "3"],
        ["b", "27", "2"],
        ["d", "32", "4"],
        ["e", "40", "5"],
    ]


def test_all_pages(six_pipelines):
    """With ``--full`` the page of each of many is printed before the comparison, in the order of the file."""
    page = calc(six_pipelines, "--full")
    assert page.startswith("e: 1 stage, 8 micro-batches\n")
    assert page.count("homogeneity bias") == 6
    assert names_compared(page) == list("afcbde")


def test_one_of_a_file(six_pipelines):
    """``--pipeline`` is the page of one, without a comparison; in JSON it is an object."""
    page = calc(six_pipelines, "--pipeline", "b")
    assert page.startswith("b: 2 stages, 8 micro-batches\n")
    assert "compared" not in page
    assert calc_json(six_pipelines, "--pipeline", "b")["T_async"] == 27


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--pipeline", "z"], "--pipeline: 'z' is not in {file}; one of 'e', 'b', 'f', 'a', 'c', 'd'"),
        (["--top", "0"], "--top: 0; a whole number of pipelines, at least 1"),
        (["--unit", "1"], "--unit: '1'; one of ns, us, µs, ms, s, min, h, or a word of your own such as cycles"),
        (["--measured", "1,2"], "measured: 2 values for 1 of M; one for each M, separated by commas"),
        (["--M", "8,x"], "M[1]: 'x' is not a number; a whole number of micro-batches, at least 1, for example 8"),
        (["--M", "8,"], "M[1]: no value; a whole number of micro-batches, at least 1, for example 8"),
        (["--M", "8,9", "--measured", "1,-2"], f"measured[1]: -2 is negative; {MAKESPAN}"),
        (["--M", "8", "--M", "9"], "--M: given 2 times; once: --M N,…"),
        (["--M", "8", "--tau", "1", "--M=9", "--M", "1"], "--M: given 3 times; once: --M N,…"),
        (["--measured", "8", "--measured", "9"], "--measured: given 2 times; once: --measured T,…"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(six_pipelines, flags, told):
    """One line says what was found and what is allowed."""
    refusal = str(CliRunner().invoke(cli, ["calc", six_pipelines, *flags]).exception)
    assert refusal == told.replace("{file}", six_pipelines)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--pipeline", "a"], "--pipeline: --pipeline without FILE; a pipelines file, or times alone"),
        (["--sort", "name"], "--sort: --sort without FILE; a pipelines file, whose pipelines are compared"),
        (["--top", "1"], "--top: --top without FILE; a pipelines file, whose pipelines are compared"),
        (["--measured", "1ms"], "measured: a time in ms, without a unit to convert it to (--unit ms); a makespan of "),
        (["--latency", "1 ms", "--unit", "rounds"], "latency[0]: a time in ms, but the unit is 'rounds'; "),
        (["--d", "2/0 ms", "--unit", "ms"], "d[0]: 2/0 ms divides by zero; "),
    ],
)  # fmt: skip
def test_what_flags_do_not_take(flags, told):
    """One line says what was found and what is allowed."""
    assert str(CliRunner().invoke(cli, ["calc", "--tau", "1,2", *flags]).exception).startswith(told)


def test_several_numbers_of_micro_batches():
    """A column for each M where it matters; JSON is a list, one object for each, as single calls print them."""
    flags = ["--tau", "1,2,4", "--d", "1,3"]
    page = calc(*flags, "--M", "1,8,32", "--measured", "11,42,150")
    rows = [line.split() for line in page.splitlines()]
    assert page.startswith("3 stages, 1, 8 and 32 micro-batches\n")
    assert ["regime", *["M", "=", "1", "M", "=", "8", "M", "=", "32"], "micro-batch", "throughput"] == rows[3][:12]
    free = ["free", "(Theorem", "1)", "7", "35", "131", "4", "0.25", "+71.4", "%", "+14.3", "%", "+3.8", "%"]
    assert free in rows
    assert ["overlap", "gap", "T_block", "-", "T_async", "0.00", "7.0000", "31.0000"] in rows
    assert ["0", "1", "9.1", "%", "20.5", "%", "23.7", "%", "1", "3", "2"] in rows
    for M, rho in ((8, "rho = 0.5714"), (32, "rho = 0.5161")):  # (46 - 42)/7, (166 - 150)/31
        assert ["measured,", "M", "=", str(M)] in [row[:4] for row in rows]
        assert rho in page
    told = calc_json(*flags, "--M", "1,8,32", "--measured", "11,42,150")
    single = [(["--M", M, "--measured", T]) for M, T in (("1", "11"), ("8", "42"), ("32", "150"))]
    assert told == [calc_json(*flags, *one) for one in single]


def test_json_of_several_pipelines_and_numbers(pipelines_file):
    """The objects of a file come pipeline by pipeline, and in each M by M."""
    told = calc_json(pipelines_file, "--M", "2,3")
    assert [(entry["name"], entry["M"]) for entry in told] == [
        ("[b]first[/b]", 2),
        ("[b]first[/b]", 3),
        ("second", 2),
        ("second", 3),
    ]


def test_a_unit_is_said_throughout():
    """With ``--unit`` every makespan, time and throughput says it; throughputs are per second."""
    page = calc("--tau", "12,20,31", "--d", "24,6", "--unit", "ms", "--measured", "0.31 s")
    rows = [line.split() for line in page.splitlines()]
    assert page.startswith("3 stages, 8 micro-batches, times in ms\n")
    assert ["regime", "[ms]", "[ms]", "[/s]", "GPipe", "off", "by"] in rows
    assert ["async", "(Theorem", "2)", "310", "31", "32.2581", "+0.0", "%"] in rows
    assert ["homogeneity", "bias", "sum(tau_max", "-", "tau)", "30", "ms"] in rows
    assert ["crossover", "M*", "=", "1", "+", "fill/tau_max", "4"] in rows
    assert "measured          310 ms: rho = 1\n" in page
    assert ["stage", "[ms]", "async", "[ms]", "[ms]", "[ms]", "remark"] in rows


def test_text_with_a_unit_is_converted():
    """Times in units of their own are those in --unit, exactly; JSON says the unit and keeps its keys and numbers."""
    plain = [
        "--tau",
        "0.012,0.02",
        "--d",
        "1/3",
        "--latency",
        "2",
        "--measured",
        "1.457",
        "--window",
        "2",
        "--feedback",
    ]
    mixed = ["--tau", "12ms,20000us", "--d", "1/3 s", "--latency", "1/30 min", "--measured", "1457 ms", "--window", "2"]
    told = calc_json(*plain, "3600", "--unit", "s")
    assert told == calc_json(*mixed, "--feedback", "1h", "--unit", "s")
    assert told["unit"] == "s"
    bare = calc_json(*plain, "3600")
    assert bare.pop("unit") is None
    words = {"critical", "terms"}
    assert {key: value for key, value in told.items() if key not in ("unit", "regime")} == {
        key: value for key, value in bare.items() if key != "regime"
    }
    assert {key: value for key, value in told["regime"].items() if key not in words} == {
        key: value for key, value in bare["regime"].items() if key not in words
    }


def test_a_unit_of_ones_own():
    """A word that is no known unit is said, and throughputs are per that."""
    page = calc("--tau", "4", "--unit", "cycles")
    assert "times in cycles" in page
    assert "[/cycles]" in page


def test_a_file_in_another_unit_is_converted(pipelines_file, tmp_path):
    """The times of a file in ms are shown in s; bare numbers of flags are in s too; a file without unit takes it."""
    first, second = calc_json(pipelines_file, "--unit", "s", "--measured", "0.001")
    assert (second["unit"], second["tau"], second["T_async"]) == ("s", [0.0001, 0.0003], 0.0027)
    assert (first["T_measured"], calc_json(pipelines_file, "--measured", "1 s")[0]["T_measured"]) == (0.001, 1000)
    path = tmp_path / "bare.yaml"
    path.write_text("pipelines: [{name: a, tau: [1, 2]}]\n", encoding="utf-8")
    assert calc(str(path), "--unit", "us").startswith("a: 2 stages, 8 micro-batches, times in us\n")
    told = f"--unit: rounds, and the times of {pipelines_file} are in 'ms'; units that can be converted: ns, us, "
    told += "µs, ms, s, min, h"
    assert str(CliRunner().invoke(cli, ["calc", pipelines_file, "--unit", "rounds"]).exception) == told


NUMBERS = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize(
    "flags",
    [
        ["--tau", "1000.1234,2000.4321,123456789.1234", "--d", "500.0001,1e12", "--latency", "1,2", "--rho", "1/3"],
        ["--tau", "12,20,31", "--d", "24,6", "--M", "1,8,32,1e6", "--buffers", "0", "--unit", "ms"],
        ["FILE", "--unit", "us", "--regime", "blocking"],
        ["FILE", "--M", "7,1000000007", "--measured", "1,2"],
    ],
)
def test_no_number_is_cut_at_any_width(flags, width, pipelines_file, monkeypatch):
    """Whatever the width, every number that a wide page prints is there, whole, as often; and no row is too long."""
    from hpsim.cli import calc_regime_table, calc_table

    arguments = [pipelines_file if flag == "FILE" else flag for flag in flags]
    pages = []
    for columns in (1000, width):
        monkeypatch.setattr(calc_table, "_PIPED_WIDTH", columns)
        monkeypatch.setattr(calc_regime_table, "_PIPED_WIDTH", columns)
        pages.append(calc(*arguments))
    wide, narrow = (Counter(NUMBERS.findall(page)) for page in pages)
    assert {number: count for number, count in wide.items() if narrow[number] < count} == {}
    assert max(map(cell_len, pages[1].splitlines())) <= width


def test_one_pipeline_is_not_compared(tmp_path):
    """A file of one pipeline is its page."""
    path = tmp_path / "one.yaml"
    path.write_text("pipelines: [{name: a, tau: [1, 2]}]\n", encoding="utf-8")
    assert "compared" not in calc(str(path))
