"""The command line as a whole: words that are not known, completion in shells, and what messages may look like."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import children
import pytest
from analysis_runs import SAMPLED, make_run
from click.testing import CliRunner

from hpsim.claims.catalogue import catalogue
from hpsim.cli import LazyGroup, cli, main
from hpsim.errors import HpsimError
from hpsim.sweep.file.yaml_file import dump, parse, shipped
from hpsim.sweep.spec import load_sweep

HOSTILE = "a\x1b[31m\x9b\u202eb"
COMPLETE = """
import os, sys
sys.argv = ["hpsim"]
from hpsim.cli import main
try:
    main()
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small", SAMPLED)


def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[object, str]:
    """Exit code of the entry point, and what is on stderr."""
    monkeypatch.setattr(sys, "argv", ["hpsim", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["summry"], "Error: No such command 'summry'. Did you mean 'summary'?"),
        (["Timeline"], "Error: No such command 'Timeline'. Did you mean 'timeline'?"),
        (["xyz"], "Error: No such command 'xyz'."),
        (["sweep", "lst"], "Error: No such command 'lst'. Did you mean 'list'?"),
        (["sweep", "shw", "paper_fuzz"], "Error: No such command 'shw'. Did you mean 'show'?"),
    ],
)
def test_a_word_that_is_not_known(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearest command or subcommand is named where there is one, with exit code 2."""
    code, err = said(capsys, monkeypatch, *words)
    assert (code, err.splitlines()[-1]) == (2, told)


def test_an_option_that_is_not_known(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest option is named; the words around it are click's."""
    code, err = said(capsys, monkeypatch, "sweep", "run", "paper_fuzz", "--freshh")
    assert (code, "--fresh" in err.replace("--freshh", "")) == (2, True)


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version(option: str) -> None:
    """Both options print one line."""
    assert CliRunner().invoke(cli, [option]).stdout == "hpsim, version 0.1.0\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["verify", "--workers", "0"], "error: --workers: 0; "),
        (["verify", "--configs=0"], "error: --configs: 0; "),
        (["verify", "--claims", "cor6"], "error: --claims: no claim has the id 'cor6'; "),
        (["sweep", "run", "no/such.yaml"], "error: no/such.yaml: no such file; "),
        (["summary", "no/such"], "error: no/such: there is no such folder; "),
    ],
)
def test_messages_name_what_was_typed(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message opens with the option or the path as it was typed."""
    code, err = said(capsys, monkeypatch, *words)
    assert code == 2
    assert err.startswith(told)


@pytest.mark.parametrize(
    "words",
    [
        ["{}"],
        ["sweep", "{}"],
        ["sweep", "run", "{}"],
        ["sweep", "show", "paper_fuzz", "--set", "{}"],
        ["sweep", "show", "paper_fuzz", "--set", "{}=1"],
        ["sweep", "show", "paper_fuzz", "--set", "tau={}"],
        ["sweep", "config", "paper_fuzz", "--id", "{}"],
        ["sweep", "run", "paper_fuzz", "--workers", "{}"],
        ["sweep", "run", "paper_fuzz", "--{}"],
        ["summary", "{}"],
        ["query", "{}", "FROM points"],
        ["query", "nowhere", "FROM points", "--format", "{}"],
        ["claims", "{}"],
        ["verify", "--claims", "{}"],
        ["calculator", "--lang", "{}"],
        ["calculator", "--out", "no/such/{}"],
        ["sweep", "run", "hand_crafted", "--out", "/dev/null/{}"],
        ["query", "{run}", "FROM points", "--out", "no/such/{}.csv"],
        ["query", "{run}", "SELECT '{}'::INT"],
        ["paper", "--log", "{}"],
    ],
)
@pytest.mark.parametrize("typed", ["x" * 5000, HOSTILE], ids=["long", "hostile"])
def test_messages_are_short_and_printable(
    words: list[str],
    typed: str,
    run_folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Whatever is typed, a message repeats no 5,000 characters of it, and nothing that a terminal would obey."""
    monkeypatch.chdir(tmp_path)
    code, err = said(capsys, monkeypatch, *(word.format(typed, run=run_folder) for word in words))
    assert code == 2
    assert all(line.isprintable() for line in err.split("\n"))
    assert len(err) < 1500


def test_a_long_message_keeps_what_is_allowed() -> None:
    """Of what was found the beginning and the end are told, of what is allowed everything."""
    error = HpsimError("p" * 900, f"'{'v' * 5000}' is no number", "a" * 900)
    place, rest = str(error).split(": ", 1)
    found, allowed = rest.split("; ")
    assert place == f"{'p' * 200} … {'p' * 80}"
    assert found == f"'{'v' * 199} … {'v' * 66}' is no number"
    assert allowed == "a" * 900


def test_shipped_sweeps_are_listed() -> None:
    """Each with its size and the first line of its file, which is one sentence."""
    rows = json.loads(CliRunner().invoke(cli, ["sweep", "list", "--json"]).stdout)
    assert [row["name"] for row in rows] == list(shipped("sweeps"))
    assert {row["name"]: (row["configs"], row["points"]) for row in rows}["billion"] == (125_000_000, 1_000_000_000)
    assert {row["name"]: row["points"] for row in rows}["hand_crafted"] == 88
    lines = CliRunner().invoke(cli, ["sweep", "list"]).stdout.splitlines()
    assert lines[0].split() == ["name", "configurations", "points", "what", "it", "is"]
    for row, line in zip(rows, lines[2:], strict=True):
        assert line.split(maxsplit=3) == [row["name"], f"{row['configs']:,}", f"{row['points']:,}", row["about"]]
        assert row["about"].endswith(".")
        assert len(row["about"]) <= 65


def completed(shell: str, *words: str, cwd: Path) -> tuple[list[str], set[str]]:
    """What a shell is answered for the last of the words, and the modules that were loaded for it."""
    environment = {**os.environ, "_HPSIM_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(["hpsim", *words])}
    environment["COMP_CWORD"] = words[-1] if shell == "fish" else str(len(words))
    done = children.run([sys.executable, "-c", COMPLETE], env=environment, cwd=cwd, check=True)
    return done.stdout.splitlines(), set(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["su"], ["plain,summary"]),
        (["sweep", "s"], ["plain,show", "plain,schema"]),
        (["sweep", "run", "paper"], ["plain,paper_fuzz", "plain,paper_fuzz_float64", "plain,paper_mine.yaml"]),
        (["sweep", "show", "my/sw"], ["file,my/sw"]),
        (["sweep", "config", "hand"], ["plain,hand_crafted"]),
        (["sweep", "run", "billion", "--out", "res"], ["dir,res"]),
        (["sweep", "run", "billion", "--fr"], ["plain,--fresh"]),
        (["search", "cor4"], ["plain,cor4"]),
        (["search", "--sweep", "bu"], ["plain,buffers"]),
        (["prove", "one-pl"], ["plain,one-place"]),
        (["claims", "loose-sa"], ["plain,loose-sandwich"]),
        (["replay", "./f"], ["file,./f"]),
        (["query", "results/p"], ["file,results/p"]),
    ],
)
def test_completion_in_bash(words: list[str], expected: list[str], tmp_path: Path) -> None:
    """Commands, options, shipped names, files and claims are completed, without loading what computes."""
    (tmp_path / "paper_mine.yaml").touch()
    found, loaded = completed("bash", *words, cwd=tmp_path)
    assert found == expected
    assert not loaded & {"numba", "numpy", "pandas", "pyarrow", "pydantic", "duckdb", "rich.table"}


def test_completion_in_other_shells(tmp_path: Path) -> None:
    """Also zsh and fish get the same, with the help of commands."""
    line = cli.commands_at["summary"][1] if isinstance(cli, LazyGroup) else ""
    assert completed("zsh", "su", cwd=tmp_path)[0] == ["plain", "summary", line]
    assert completed("fish", "su", cwd=tmp_path)[0] == [f"plain,summary\t{line}"]


def test_completed_claims_are_those_of_the_catalogue(tmp_path: Path) -> None:
    """The ids found in the text of the file are the ids that it means."""
    found, _ = completed("bash", "claims", "", cwd=tmp_path)
    assert found == [f"plain,{name}" for name in catalogue()]


def hostile_sweep(folder: Path) -> Path:
    file = folder / "hostile.yaml"
    written = json.dumps(HOSTILE)
    file.write_text(f"unit: {written}\npipelines:\n  - {{name: {written}, note: {written}, tau: [1, 2]}}\n")
    return file


def test_a_sweep_is_shown_without_moving_the_cursor(tmp_path: Path) -> None:
    """Units, names and notes are shown with escapes; what is shown is still the same sweep."""
    file = hostile_sweep(tmp_path)
    shown = CliRunner().invoke(cli, ["sweep", "show", str(file)]).stdout
    assert all(line.isprintable() for line in shown.split("\n"))
    (tmp_path / "again.yaml").write_text(shown)
    assert load_sweep(tmp_path / "again.yaml").sha256 == load_sweep(file).sha256
    one = CliRunner().invoke(cli, ["sweep", "config", str(file), "--id", "0"]).stdout
    assert all(line.isprintable() for line in one.split("\n"))
    assert "a [31m  b" in one
    for command in (["show", str(file), "--json"], ["config", str(file), "--id", "0", "--json"]):
        printed = CliRunner().invoke(cli, ["sweep", *command]).stdout
        assert all(line.isprintable() for line in printed.split("\n"))
        assert repr(HOSTILE) in str(json.loads(printed))


@pytest.mark.parametrize(
    "text", [HOSTILE, "\x85", "\u2028", "a\nb", "a: b\n", "\t", "\x7f", "\ufeffx", "日本 é", "\u00a0"]
)
def test_text_is_dumped_printable(text: str) -> None:
    """What a terminal would obey is an escape in YAML, as value and as key, and is read back as it was."""
    written = dump({"note": text, text: [text]})
    assert all(line.isprintable() for line in written.split("\n"))
    assert parse(written, "here")[0] == {"note": text, text: [text]}


def test_folders_move_no_cursor(tmp_path: Path) -> None:
    """The folder that a run names at its end is printable."""
    done = CliRunner().invoke(cli, ["sweep", "run", "hand_crafted", "--out", str(tmp_path / HOSTILE)])
    assert done.exit_code == 0
    assert all(line.isprintable() for line in (done.stdout + done.stderr).split("\n"))
    assert done.stdout.endswith("/a [31m  b\n")
