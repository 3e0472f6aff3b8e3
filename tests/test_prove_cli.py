"""``hpsim prove``: what it prints, its exit codes, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import children
import pytest
from click.testing import CliRunner, Result

from hpsim.claims.catalogue import claim
from hpsim.cli.prove import prove
from hpsim.conjecture.prove import smt
from hpsim.conjecture.prove.explicit import Spelled
from hpsim.conjecture.prove.problem import problems_of
from hpsim.conjecture.prove.prove import prove as library
from hpsim.conjecture.prove.unsupported import OutOfTime
from hpsim.errors import HpsimError, MissingExtraError

z3 = pytest.importorskip("z3")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(prove, list(arguments))


def test_a_proof_says_what_holds_how_and_on_what_assumptions() -> None:
    """A claim by its id is proved for every S and M; the exit code is 0."""
    result = run("cor5")
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert re.fullmatch(r"proved    for every S and M: by induction \(\d+ lemmas, z3\)", first)
    assert second == "          assuming real tau >= 0, not all zero, real d >= 0, latency 0"
    assert result.stderr == ""


def test_a_proof_within_bounds_says_the_bounds_and_what_stopped_it() -> None:
    """A statement about rendezvous is proved for the stages and micro-batches asked for; the exit code is 0."""
    result = run("T_rendezvous <= 2*T_blocking", "--stages", "2", "--microbatches", "3")
    assert result.exit_code == 0
    assert result.stdout.startswith("proved    for S <= 2, M <= 3: by unrolling (")
    assert result.stdout.splitlines()[-1].strip() == "regimes with limits have no closed form, so M is bounded"
    assert "at the time limit" in run("T_rendezvous <= 2*T_blocking", "--seconds", "1").stdout


def test_slopes_are_bounded_in_s_only() -> None:
    """A law of its own is proved for every M; the reason says that S is bounded."""
    result = run("slope(two) <= law(two)", "--regime", "two={window: 2}", "--stages", "3")
    assert result.stdout.startswith("proved    for S <= 3, every M: by closed forms (")
    assert result.stdout.endswith(" regimes with limits have no closed form for every S, so S is bounded\n")


def test_a_refutation_shows_the_point_and_both_sides() -> None:
    """A false statement ends with its counterexample and exit code 1."""
    result = run("T_blocking <= T_async + sum(d)")
    assert result.exit_code == 1
    assert re.match(
        r"refuted   tau = \[\d, \d\]   d = \[\d\]   M = 3     T_blocking = \d+ > T_async \+ sum\(d\) = \d+",
        result.stdout,
    )


def test_a_regime_of_ones_own_is_shown_with_the_counterexample() -> None:
    """What a regime means stands below the point."""
    result = run("T(tight) <= T_async", "--regime", "tight={overlap: 0, buffers: 1}")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1] == "          tight = {overlap: 0, buffers: 1}"


def test_two_pipelines_and_their_relation() -> None:
    """With a permutation the async makespans agree; unrelated they do not."""
    assert run("A.T_async == B.T_async", "--relation", "permutation").exit_code == 0
    result = run("A.T_async == B.T_async", "--relation", "same d")
    assert result.exit_code == 1
    assert "A.tau = " in result.stdout
    assert "B.tau = " in result.stdout


def test_undecided_gives_its_reason_and_exit_code_3() -> None:
    """What is defined nowhere is neither proved nor refuted."""
    result = run("1/(T_free - T_free) > 0", "--seconds", "2")
    assert result.exit_code == 3
    assert result.stdout == "undecided no point is known where the statement is defined\n"


def test_json_of_a_proof_and_of_a_refutation() -> None:
    """The same content as data; exact numbers are integers or text."""
    proof = json.loads(run("thm3", "--json").stdout)
    assert (proof["verdict"], proof["bounds"], proof["stages"], proof["microbatches"]) == (
        "proved",
        "every S and M",
        None,
        None,
    )
    assert "real latency >= 0" in proof["assumptions"]
    assert "closed form of the chain, step" in proof["lemmas"]
    refutation = json.loads(run("loose-rho", "--json").stdout)
    assert refutation["verdict"] == "refuted"
    assert set(refutation["example"]) >= {"tau", "d", "M", "rho"}
    assert [side["side"] for side in refutation["sides"]] == ["T_partial", "rho*T_async + (1-rho)*T_blocking"]


def test_the_lemmas_are_exported(tmp_path: Path) -> None:
    """--smt writes as many checks as there are lemmas, each expected to be unsatisfiable."""
    target = tmp_path / "cor5.smt2"
    result = run("cor5", "--smt", str(target))
    text = target.read_text(encoding="utf-8")
    (number,) = re.findall(r"\((\d+) lemmas", result.stdout)
    assert text.count("(check-sat) ; expected: unsat") == text.count("(push 1)") == text.count("(pop 1)") == int(number)
    assert text.startswith("; statement: T_async <= T_blocking\n")
    assert "; assuming real tau >= 0, not all zero" in text


def test_nothing_to_export_is_told(tmp_path: Path) -> None:
    """A refutation has no lemmas: no file is written, and stderr says so."""
    target = tmp_path / "none.smt2"
    result = run("T_async < T_blocking", "--smt", str(target))
    assert not target.exists()
    assert "no lemmas" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("T_asink <= 3",), "column 1: unknown name 'T_asink'; did you mean T_async"),
        (("cor9",), "statement: cor9 is neither a condition nor the id of a claim"),
        (("cor5", "--seconds", "0"), "seconds: 0; a time limit above 0"),
        (("cor5", "--stages", "0"), "stages: 0; a whole number of at least 1"),
        (("cor5", "--relation", "same S"), "relation: 'same S', but there is one pipeline only"),
        (("cor5", "--smt", "/no/such/folder/file"), "--smt /no/such/folder/file: "),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[str, ...], message: str) -> None:
    """What cannot be meant is refused with the place, what was found, and what is allowed."""
    error = run(*arguments).exception
    assert isinstance(error, HpsimError)
    assert str(error).startswith(message)
    assert "\n" not in str(error)


def test_a_missing_solver_is_named_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without z3 the message says which extra brings it."""

    def missing(package: str, extra: str) -> None:
        raise MissingExtraError(package, "is not installed", f'it comes with: pip install "hpsim-pipelines[{extra}]"')

    monkeypatch.setattr(smt, "require", missing)
    error = run("cor5").exception
    assert str(error) == 'z3: is not installed; it comes with: pip install "hpsim-pipelines[prove]"'


ENDS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("signum", "exit_code"), ENDS)
def test_a_signal_ends_the_solver_at_once(signum: signal.Signals, exit_code: int) -> None:
    """Within the solver, which takes Ctrl-C for itself, the command ends soon."""
    code = children.telling("hpsim.conjecture.prove.smt:Prover.ask", 10) + "from hpsim.cli import main; main()"
    arguments = ["prove", "T_rendezvous <= 2*T_blocking", "--seconds", "600"]
    process = children.start([sys.executable, "-c", code, *arguments])
    children.wait_for_line(process, "ask is called")
    time.sleep(children.task_seconds(5))  # by then most of the time is spent in the solver
    began = time.monotonic()
    process.send_signal(signum)
    ended = children.finish(process)
    assert ended.returncode == exit_code
    assert time.monotonic() - began < children.task_seconds(30), "two seconds, and Python's end"
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("statement", ["T_rendezvous <= 2*T_blocking", "lower-bound-held", "law-overlapped"])
def test_the_time_limit_is_kept(statement: str) -> None:
    """Whatever takes the time, solver or algebra: it ends about when it was to."""
    verdict = library(statement, seconds=3)
    assert verdict.seconds < 3 + children.task_seconds(10), "a tenth more, and a busy machine"


def test_the_algebra_gives_up_in_time() -> None:
    """A statement that takes long to spell out is left where the time is up, before the solver is asked."""
    (problem,) = problems_of(claim("T_rendezvous > 0"))
    began = time.monotonic()
    with pytest.raises(OutOfTime):
        Spelled(problem, (12,), 100, deadline=began + 0.2)
    assert time.monotonic() - began < 0.2 + children.task_seconds(13)
