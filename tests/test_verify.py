"""``hpsim verify``: holds on what is true, finds a planted fault, and tells how to see it again."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import children
import jsonschema
import pytest
from conftest import SIZE
from faulty_verify import FEW, few_claims, fewer_checks, too_steep

from hpsim.cli import main
from hpsim.conjecture import claims_verify
from hpsim.conjecture import verify as library
from hpsim.conjecture.counterexample import shipped
from hpsim.errors import HpsimError
from hpsim.kernels import closed_forms
from hpsim.sweep import chunk
from hpsim.sweep.run import Progress
from hpsim.sweep.sample import configuration
from hpsim.sweep.spec import load_sweep
from hpsim.warmup import warmup

TESTS = Path(__file__).parent
SWEEPS = ["hand_crafted", "paper_fuzz_float64", "paper_fuzz"]
MICROBATCHES = (1, 2, 4, 8, 16, 32, 64, 100)

Hpsim = Callable[..., tuple[int, str, str]]

COUNT = {"type": "integer", "minimum": 0}
NUMBERS = {"type": "array", "items": {"type": "number", "minimum": 0}}
TEXTS = {"type": "array", "items": {"type": "string"}}
ROW = {
    "type": "object",
    "required": ["config_id", "S", "M", "tau", "d", "latency", "rho", "claim", "T_async", "closed_async"],
    "properties": {"config_id": COUNT, "S": COUNT, "M": COUNT, "tau": NUMBERS, "d": NUMBERS, "latency": NUMBERS},
}
VERDICT: dict[str, Any] = {
    "sweep": {"enum": SWEEPS},
    "settings": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+=.+$"}},
    "source": {"type": "string", "pattern": "^Section 7.1"},
    "claims": {"type": "array", "items": {"enum": ["thm2", "thm3", "partial", "cor5"]}},
    "regimes": {"type": "array", "items": {"enum": ["async", "blocking", "partial"]}},
    "microbatches": {"const": list(MICROBATCHES)},
    "arithmetic": {"enum": ["exact", "float64"]},
    "tolerance": {"enum": [None, 1e-9]},
    **dict.fromkeys(("configs", "points", "cells", "violations", "undefined", "vanished"), COUNT),
    "max_rel_err": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
    "seconds": {"type": "number", "minimum": 0},
    "violation": {"anyOf": [{"type": "null"}, ROW]},
    "commands": TEXTS,
}
MAYBE_COUNT = {"type": ["integer", "null"], "minimum": 0}
CLAIM: dict[str, Any] = {
    **{key: {"type": "string"} for key in ("id", "source", "statement", "words")},
    "expect": {"enum": ["holds", "fails"]},
    "as_expected": {"type": "boolean"},
    "complaint": {"type": ["string", "null"]},
    "verdict": {"enum": ["proved", "held", "refuted", "undecided"]},
    "proof": {"type": ["object", "null"]},
    **dict.fromkeys(("points", "undefined", "undecided"), MAYBE_COUNT),
    "counterexample": {"type": ["object", "null"]},
    "seconds": {"type": "number", "minimum": 0},
}
KNOWN: dict[str, Any] = {"name": {"type": "string"}, "as_expected": {"type": "boolean"}}
PRINTED = {
    "type": "object",
    "required": ["hpsim", "holds", "verdicts", "counterexamples", "claims"],
    "additionalProperties": False,
    "properties": {
        "hpsim": {"type": "string"},
        "holds": {"type": "boolean"},
        "verdicts": {
            "type": "array",
            "minItems": 3,
            "maxItems": 3,
            "items": {"type": "object", "required": [*VERDICT], "additionalProperties": False, "properties": VERDICT},
        },
        "claims": {
            "type": "array",
            "items": {"type": "object", "required": [*CLAIM], "additionalProperties": False, "properties": CLAIM},
        },
        "counterexamples": {
            "type": "array",
            "items": {"type": "object", "required": [*KNOWN], "additionalProperties": False, "properties": KNOWN},
        },
    },
}


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile first, so that no test sees the announcement of it."""
    warmup()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same checks with fewer configurations and claims."""
    monkeypatch.setattr(library, "checks", fewer_checks)
    monkeypatch.setattr(claims_verify, "catalogue", few_claims)
    monkeypatch.setattr(claims_verify, "BUDGET", 200)


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed form that is wrong by one grid unit in pipelines of seven stages."""
    monkeypatch.setattr(closed_forms, "slopes", too_steep)


@pytest.fixture
def hpsim(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Hpsim:
    """The command line in this process and in an empty folder: words → exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hpsim", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


@pytest.mark.skipif(SIZE < 1, reason="160,000 points take minutes in plain Python")
def test_the_claim_holds() -> None:
    """No violation among the eleven configurations, the paper's 160,000 points, and more in exact arithmetic."""
    hand_crafted, paper, exact = library.verify(5000)
    assert [verdict.check.sweep for verdict in (hand_crafted, paper, exact)] == SWEEPS
    assert all(verdict.holds and verdict.violation is None for verdict in (hand_crafted, paper, exact))
    assert (hand_crafted.totals.configs, paper.totals.configs, exact.totals.configs) == (11, 20_000, 5000)
    assert (hand_crafted.totals.points, paper.totals.points, exact.totals.points) == (88, 160_000, 40_000)
    assert hand_crafted.totals.max_rel_err == {"async": 0.0, "blocking": 0.0}
    assert exact.totals.max_rel_err == {"async": 0.0, "blocking": 0.0, "partial": 0.0}
    assert set(paper.totals.max_rel_err) == {"async", "blocking"}
    assert 0 < max(paper.totals.max_rel_err.values()) < 1e-9


def test_ten_million_points_by_default() -> None:
    """Without --configs the exact search has ten million points."""
    (search,) = (check for check in library.checks(library.CONFIGS) if check.sweep == "paper_fuzz")
    assert load_sweep(search.sweep, search.settings).n_points == 10_000_000


@pytest.mark.usefixtures("quick")
def test_piped_output_is_plain_and_aligned(hpsim: Hpsim, tmp_path: Path) -> None:
    """In a pipe: exit code 0, no control characters, every row of the table equally long, nothing else, no files."""
    code, out, err = hpsim("verify", "--configs", "40")
    assert code == 0
    assert err.splitlines() == ["verify: 2,808 points in 4 chunks", "verify: 3 claims"], "a plain line now and then"
    assert [character for character in err + out if not character.isprintable()] == ["\n"] * (err + out).count("\n")
    table, sources, outcome, claims, expected = out.split("\n\n")
    header, _, *rows = table.splitlines()
    assert header.split() == SWEEPS
    assert {len(row) for row in rows} == {len(header)}
    cells = {row[:22].strip(): row[22:].split() for row in rows}
    assert cells["arithmetic"] == ["exact", "float64", "exact"]
    assert cells["configurations"] == ["11", "300", "40"]
    assert cells["points"] == ["88", "2,400", "320"]
    assert cells["violations"] == ["0", "0", "0"]
    for regime, where in (("async", (0, 2)), ("blocking", (0, 2)), ("partial", (2,))):
        assert [cells[f"worst error, {regime}"][sweep] for sweep in where] == ["0"] * len(where)
    assert re.fullmatch(r"\d\.\de-\d\d", cells["worst error, async"][1])
    assert [line.split(":")[0] for line in sources.splitlines() if not line.startswith(" ")] == SWEEPS
    assert max(map(len, out.splitlines())) <= 120
    assert re.fullmatch(r"holds: 2,808 points, 0 violations, \d+\.\d s", outcome)
    header, _, *rows = claims.splitlines()
    rows = [row for row in rows if not row.startswith("  ")]  # without what is folded
    assert header.split() == ["claim", "source", "verdict", "seconds"]
    assert [row.split()[0] for row in rows] == list(FEW)
    assert {len(row) for row in rows} == {len(header)}
    counts = "1 proved for every S and M, 1 proved within bounds, 1 refuted"
    known = len(shipped())
    assert re.fullmatch(
        rf"{known} of {known} known counterexamples refute\nas expected: 3 claims, {counts}; \d+\.\d s\n", expected
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quick", "fault")
def test_a_fault_is_found_and_the_commands_show_it_again(hpsim: Hpsim) -> None:
    """A wrong closed form is exit code 1, with its configuration, and commands that lead to the same violation."""
    code, out, _ = hpsim("verify", "--configs", "100")
    assert code == 1
    assert re.search(r"^VIOLATED: 3,288 points, [\d,]+ violations, ", out, flags=re.MULTILINE)
    assert re.search(r"^ violations +0 +[1-9]\d* +[1-9]\d*$", out, flags=re.MULTILINE)
    told = re.findall(r"^  (thm2 fails at configuration (\d+), S = 7, M = 2, tau = \[.*)$", out, flags=re.MULTILINE)
    assert len(told) == 2, "once in float64 and once in exact arithmetic; no hand-crafted pipeline has seven stages"
    commands = [shlex.split(line) for line in out.splitlines() if line.startswith("  hpsim sweep ")]
    assert [words[2] for words in commands] == ["run", "config", "run", "config"]
    for (sentence, config_id), run, config in zip(told, commands[::2], commands[1::2], strict=True):
        code, _, err = hpsim(*run[1:])
        assert code == 1
        assert sentence in err
        code, printed, _ = hpsim(*config[1:], "--json")
        assert code == 0
        values = json.loads(printed)
        assert values["config_id"] == int(config_id)
        assert f"S = 7, M = 2, tau = {values['tau']}, d = {values['d']}" in sentence


@pytest.mark.usefixtures("quick", "fault")
def test_the_first_violation_is_told_exactly(hpsim: Hpsim) -> None:
    """JSON follows its schema; the violation is the lowest configuration and M, and has the values of both sides."""
    code, out, _ = hpsim("verify", "--configs", "100", "--json")
    printed = json.loads(out)
    jsonschema.validate(printed, PRINTED)
    assert (code, printed["holds"]) == (1, False)
    verdict = printed["verdicts"][2]
    row = verdict["violation"]
    sweep = load_sweep("paper_fuzz", verdict["settings"])
    assert [configuration(sweep, number)["S"] == 7 for number in range(row["config_id"] + 1)].index(True) == (
        row["config_id"]
    )
    tau, d = ([Fraction(time) for time in row[name]] for name in ("tau", "d"))
    assert (row["claim"], row["M"]) == ("thm2", 2), "at M = 1 the slope does not count"
    assert Fraction(row["T_async"]) == sum(tau) + sum(d) + max(tau)
    assert Fraction(row["closed_async"]) == sum(tau) + sum(d) + max(tau) + Fraction(1, 2**20)
    assert verdict["commands"][0].endswith(" --out results/verify-paper_fuzz --fresh")
    assert verdict["commands"][1].endswith(f" --id {row['config_id']}")


@pytest.mark.usefixtures("quick")
def test_json_of_a_claim_that_holds(hpsim: Hpsim) -> None:
    """With --json, stdout is one object that follows the schema; it names no violation and no command."""
    code, out, _ = hpsim("verify", "--configs", "40", "--json")
    printed = json.loads(out)
    jsonschema.validate(printed, PRINTED)
    assert (code, printed["holds"]) == (0, True)
    assert [verdict["sweep"] for verdict in printed["verdicts"]] == SWEEPS
    assert all(verdict["violation"] is None and verdict["commands"] == [] for verdict in printed["verdicts"])
    assert [claim["id"] for claim in printed["claims"]] == list(FEW)
    assert all(claim["as_expected"] and claim["complaint"] is None for claim in printed["claims"])
    assert all(known["as_expected"] for known in printed["counterexamples"])


@pytest.mark.usefixtures("quick", "fault")
def test_threads_do_not_change_the_verdict() -> None:
    """One and three threads count the same violations and report the same first one."""
    alone, together = library.verify(200, workers=1), library.verify(200, workers=3)
    assert [verdict.totals for verdict in alone] == [verdict.totals for verdict in together]
    assert [verdict.violation for verdict in alone] == [verdict.violation for verdict in together]
    assert alone[2].sweep.n_chunks == 7


@pytest.mark.usefixtures("quick")
def test_progress_ends_at_the_total() -> None:
    """Progress runs over the three sweeps as over one, a call a chunk."""
    seen: list[Progress] = []
    library.verify(40, workers=2, on_progress=seen.append)
    assert [progress.parts_done for progress in seen] == [1, 2, 3, 4]
    assert {progress.parts_total for progress in seen} == {4}
    assert [progress.points_done for progress in seen][-1] == 88 + 2400 + 320
    assert {progress.points_total for progress in seen} == {88 + 2400 + 320}


@pytest.mark.usefixtures("quick")
def test_an_unexpected_error_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk that cannot be computed is no verdict."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(chunk, "run_chunk", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        library.verify(40, workers=2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--configs", "0"], "error: --configs: 0; a number of configurations from 1 to "),
        (["--configs", "-5"], "error: --configs: -5; "),
        (["--configs", str(2**48 + 1)], f"error: --configs: {2**48 + 1}; "),
        (["--configs", "many"], "'many' is not a valid integer"),
        (["--configs", "2.5"], "'2.5' is not a valid integer"),
        (["--workers", "0"], "error: --workers: 0; a number of threads, at least 1"),
        (
            ["--workers", str(2**63 - 1)],
            f"error: --workers: {2**63 - 1}; a number of threads, at most 1,024",
        ),
        (["--workers", "two"], "'two' is not a valid integer"),
        (["--workers", "٢"], "'٢' is not a valid integer"),
        (["--configs", "٤٠"], "'٤٠' is not a valid integer"),
        (["paper_fuzz"], "unexpected extra argument"),
        (["--claims", "cor6"], "error: --claims: no claim has the id 'cor6'; did you mean cor5 or "),
        (["--claims", ""], "error: --claims: no claim has the id ''; "),
        (["--claims", "cor5", "--configs", "4"], "error: --configs: beside --claims, which leaves the sweeps out; "),
        (["--claims", "cor5", "--workers", "0"], "error: --workers: 0; a number of threads, at least 1"),
        (["--claims", "cor5", "--seconds", "0"], "error: --seconds: 0; a time limit above 0, for example 15"),
        (["--claims", "cor5", "--seconds", "nan"], "error: --seconds: nan; "),
    ],
)
def test_wrong_input_is_told(hpsim: Hpsim, words: list[str], told: str) -> None:
    """A wrong number or argument is exit code 2, told on stderr, and nothing on stdout."""
    code, out, err = hpsim("verify", *words)
    assert (code, out) == (2, "")
    assert told in err


@pytest.mark.parametrize("configs", [0, 2.5, True, "40", None])
def test_the_library_refuses_what_is_no_number(configs: Any) -> None:
    """What is no whole number of at least 1 is refused by the library too."""
    with pytest.raises(HpsimError, match=re.escape(f"configs: {configs!r}; ")):
        library.verify(configs)


# as plain Python, the sampler's words overflow in NumPy's scalars, which say so
QUIET = ["-W", "ignore:overflow encountered in scalar:RuntimeWarning"]


def test_a_reader_that_has_seen_enough_is_not_a_counterexample() -> None:
    """When nobody reads the verdict the exit code is that of SIGPIPE, and not 1."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, *QUIET, "-c", f"import sys\nsys.path.insert(0, {str(TESTS)!r})\n"]
    command[-1] += "from faulty_verify import claims_verify, few_claims, fewer_checks, library\n"
    command[-1] += "from hpsim.cli import main\nlibrary.checks = fewer_checks\n"
    command[-1] += "claims_verify.catalogue, claims_verify.BUDGET = few_claims, 200\n"
    command[-1] += "sys.argv = ['hpsim', 'verify', '--configs', '40']\nmain()"
    done = children.run(command, stdout=writing, cwd=TESTS)
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr.splitlines()[-2:] == ["verify: 2,808 points in 4 chunks", "verify: 3 claims"]


def helper(*words: str, before: str = "") -> list[str]:
    """The command that starts the helper, after this code."""
    code = f"{before}\nimport sys\nsys.path.insert(0, {str(TESTS)!r})\nfrom faulty_verify import main\nmain()"
    return [sys.executable, *QUIET, "-c", code, *words]


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it(tmp_path: Path, signum: signal.Signals, code: int) -> None:
    """SIGINT and SIGTERM end with their exit code and one line; nothing is printed and nothing left behind."""
    process = children.start(helper("0.2", "--configs", "3200", "--workers", "2"), cwd=tmp_path)
    children.wait_for_line(process, "a chunk starts")
    process.send_signal(signum)
    ended = children.finish(process)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert ended.stderr.splitlines()[-1] == f"stopped by {signum.name}: nothing is decided"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_proof(signum: signal.Signals, code: int) -> None:
    """A proof that takes long is given up soon, and the signal is not lost in the solver."""
    told = children.telling("hpsim.conjecture.prove.smt:Prover.ask", 10)
    process = children.start(helper("0", "--claims", "more-window", "--seconds", "600", before=told))
    children.wait_for_line(process, "ask is called")
    time.sleep(children.task_seconds(5))
    process.send_signal(signum)
    sent = time.monotonic()
    ended = children.finish(process)
    assert time.monotonic() - sent < children.task_seconds(150)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert ended.stderr.splitlines()[-1] == f"stopped by {signum.name}: nothing is decided"


def test_a_second_interrupt_quits_at_once() -> None:
    """A second Ctrl-C does not wait for chunks that take long."""
    process = children.start(helper("600", "--configs", "3200", "--workers", "2"))
    children.wait_for_line(process, "a chunk starts")
    process.send_signal(signal.SIGINT)
    time.sleep(children.task_seconds(5))
    assert process.poll() is None, "the first one waits for the running chunks"
    process.send_signal(signal.SIGINT)
    ended = children.finish(process)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr.splitlines()[-1] == "stopped at once: nothing is decided"


@pytest.mark.parametrize("no_color", [False, True])
def test_colours_only_where_they_are_wanted(no_color: bool) -> None:
    """On a terminal a violated sweep is red, and with NO_COLOR it is not; the numbers are the same."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm-256color"}
    environment |= {"NO_COLOR": "1"} if no_color else {}
    text, ended = children.drawn_by(helper("0", "--configs", "40"), "stdout", env=environment)
    assert ended.returncode == 1
    assert "\x1b" not in ended.stderr, "stderr is not the terminal here"
    red = re.compile(r"\x1b\[[0-9;]*31m")
    assert bool(red.search(text)) is not no_color
    assert re.search(r"points +88 +2,400 +320", re.sub(r"\x1b\[[0-9;]*m", "", text))
