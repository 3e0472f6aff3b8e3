"""``hpsim calc``: the numbers on the screen and in JSON, every wrong input, and what it does not load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction

import heteropipe.cli as peer
import pytest
from click.testing import CliRunner
from conftest import as_typed

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
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )


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
    rows = calc(pipelines_file).splitlines()[-7:]
    assert rows[0] == "compared: 8 micro-batches, times in ms"
    assert " ".join(rows[3].split()) == "pipeline makespan micro-batch decided by makespan micro-batch decided by"
    assert [row.split() for row in rows[5:]] == [
        ["[b]first[/b]", "21.6333", "2.5", "stage", "1", "23.0333", "2.7", "stage", "1"],
        ["second", "2.7000", "0.3", "stage", "1", "2.7000", "0.3", "stages", "0,", "1"],
    ]


def test_one_pipeline_is_not_compared(tmp_path):
    """A file of one pipeline is its page."""
    path = tmp_path / "one.yaml"
    path.write_text("pipelines: [{name: a, tau: [1, 2]}]\n", encoding="utf-8")
    assert "compared" not in calc(str(path))
