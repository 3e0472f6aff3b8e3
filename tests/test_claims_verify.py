"""Claims beside what is expected of them: true ones, planted ones, with and without the solver."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import SIZE, scaled

from hpsim.claims.catalogue import Claim, catalogue
from hpsim.cli import main
from hpsim.conjecture import claims_verify as library
from hpsim.conjecture.claims_verify import Outcome, chosen, replayed, verify_claims
from hpsim.errors import HpsimError
from hpsim.warmup import warmup

TAU, D, M = (Fraction(1), Fraction(2)), (Fraction(1),), 2  # the simplest pipeline that rendezvous makes slower
Hpsim = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile first, so that no test sees the announcement of it."""
    warmup()


def planted(name: str, statement: str, **more: Any) -> Claim:
    return Claim.model_validate({"id": name, "title": name, "source": "planted", "statement": statement} | more)


FALSE = planted("planted-false", "T_rendezvous <= T_blocking")
TRUE = planted("planted-true", "T_async <= T_blocking", expect="fails")
SPOILT = planted("planted-spoilt", "T_blocking == T_async", expect="fails", example={"tau": [2, 1], "d": [0], "M": 3})


@pytest.fixture
def hpsim(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Hpsim:
    """The command line in this process, with a short catalogue: words → exit code, stdout, stderr."""
    claims = [catalogue()["cor5"], FALSE, TRUE, SPOILT, catalogue()["loose-rho"]]
    monkeypatch.setattr(library, "catalogue", lambda: {claim.id: claim for claim in claims})
    monkeypatch.setattr(library, "BUDGET", 300)
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hpsim", "verify", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


@pytest.fixture
def no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the solver were not installed."""
    monkeypatch.setitem(sys.modules, "z3", None)


def of_one(claim: Claim, **options: Any) -> Outcome:
    (outcome,) = verify_claims([claim], **options)
    return outcome


@pytest.mark.slow
def test_every_claim_is_as_expected() -> None:
    """At known counterexamples and at random points, what is to hold holds and what is to fail fails."""
    kept = replayed()
    assert all(one.as_expected for one in kept)
    for outcome in verify_claims(chosen(None), kept=kept, proofs=False, budget=scaled(3000)):
        assert outcome.as_expected, (outcome.claim.id, outcome.complaint)
        assert outcome.verdict == {"holds": "held", "fails": "refuted"}[outcome.claim.expect]


def test_planted_claims_are_named(hpsim: Hpsim) -> None:
    """A false claim that is to hold, and a true one that is to fail, are exit code 1, and their rows say so."""
    code, out, _ = hpsim("--claims", "cor5,planted-false,planted-true,planted-spoilt,loose-rho")
    assert code == 1
    rows = {line.split()[0]: line for line in out.split("\n\n")[0].splitlines()}
    assert [name for name, row in rows.items() if "NOT AS EXPECTED" in row] == [FALSE.id, TRUE.id, SPOILT.id]
    assert "refuted: tau = [1, 2], d = [1], M = 2 " in rows[FALSE.id]
    assert "proved ∀S,M " in rows[TRUE.id]
    assert "NOT AS EXPECTED, 3 of 5 claims: 5 claims, " in out
    assert "planted-false (planted): expected to hold, and refuted\n" in out
    assert "  T_rendezvous = 7 > T_blocking = 6\n" in out
    assert "planted-true (planted): expected to fail, and no counterexample was found\n" in out
    assert "planted-spoilt (planted): expected to fail, and its known example does not refute it\n" in out
    assert out.endswith("  hpsim search planted-spoilt\n")


def test_only_the_claims_that_are_asked_for(hpsim: Hpsim) -> None:
    """With --claims no sweep runs, claims keep the order of the catalogue, and all is well."""
    code, out, err = hpsim("--claims", "loose-rho, cor5", "--json")
    printed = json.loads(out)
    assert (code, printed["holds"], printed["verdicts"]) == (0, True, [])
    assert [(claim["id"], claim["verdict"]) for claim in printed["claims"]] == [
        ("cor5", "proved"),
        ("loose-rho", "refuted"),
    ]
    assert printed["claims"][0]["proof"]["bounds"] == "every S and M"
    assert printed["claims"][1]["counterexample"]["example"] == {"tau": [1, 2], "d": [2], "M": 2, "rho": "1/2"}
    assert err == "verify: 2 claims\n"


@pytest.mark.usefixtures("no_solver")
def test_without_the_solver_everything_is_searched(hpsim: Hpsim) -> None:
    """A missing solver is one note on stderr and no failure: claims are held on points instead of proved."""
    code, out, err = hpsim("--claims", "cor5,loose-rho", "--json")
    printed = json.loads(out)
    assert code == 0
    assert [(claim["verdict"], claim["proof"]) for claim in printed["claims"]] == [("held", None), ("refuted", None)]
    assert printed["claims"][0]["points"] > 0
    notes = [line for line in err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1
    assert 'it comes with: pip install "hpsim-pipelines[prove]"' in notes[0]


@pytest.mark.usefixtures("no_solver")
def test_no_proofs_means_no_solver(hpsim: Hpsim) -> None:
    """With --no-proofs the solver is not even looked for."""
    code, out, err = hpsim("--claims", "cor5", "--no-proofs")
    assert code == 0
    assert " held on " in out
    assert err == "verify: 1 claim\n"


@pytest.mark.parametrize("proofs", [True, False])
def test_a_false_claim_is_refuted_by_its_simplest_example(proofs: bool) -> None:
    """Without anything known, the proof as well as the search end in the same smallest counterexample."""
    if not proofs and SIZE < 1:
        pytest.skip("shrinking takes long in plain Python")
    outcome = of_one(FALSE, proofs=proofs, budget=20_000)
    assert (outcome.verdict, outcome.complaint) == ("refuted", "expected to hold, and refuted")
    assert outcome.refutation is not None
    (times,) = outcome.refutation.example.pipelines
    assert (times.tau, times.d, outcome.refutation.example.M) == (TAU, D, M)
    assert (outcome.search is None) is proofs


def test_known_counterexamples_are_tried_first() -> None:
    """A shipped counterexample that refutes a claim makes proof and search needless."""
    outcome = of_one(FALSE, kept=replayed())
    assert (outcome.verdict, outcome.proof, outcome.search) == ("refuted", None, None)


def test_a_claim_to_fail_without_a_known_example() -> None:
    """What is expected to fail, and is refuted by the proof, is as expected."""
    outcome = of_one(FALSE.model_copy(update={"expect": "fails"}))
    assert (outcome.verdict, outcome.complaint) == ("refuted", "")


def test_a_claim_that_is_never_defined_is_not_held() -> None:
    """A statement that divides by zero everywhere is neither proved nor held."""
    outcome = of_one(planted("planted-undefined", "1/(M - M) > 0"), budget=200)
    assert (outcome.verdict, outcome.points) == ("undecided", 0)
    assert outcome.complaint == "expected to hold, and neither proved nor defined at any point"


def test_a_counterexample_file_that_refutes_nothing(
    hpsim: Hpsim, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A shipped counterexample that no longer refutes its statement is exit code 1, with the command to see it."""
    path = tmp_path / "harmless.yaml"
    path.write_text("statement: T_async <= T_blocking\nexample: {tau: [1, 2], d: [1], M: 2}\n", encoding="utf-8")
    monkeypatch.setattr(library, "shipped", lambda: {"harmless": path})
    code, out, _ = hpsim("--claims", "cor5")
    assert code == 1
    assert "0 of 1 known counterexample refute" in out
    assert out.endswith("  hpsim replay harmless\n")


def test_threads_do_not_change_the_outcome() -> None:
    """With one and with three threads the same points are held."""
    claims = chosen(["rendezvous-lower", "more-buffers"])
    one, three = (verify_claims(claims, proofs=False, budget=scaled(20_000), workers=n) for n in (1, 3))
    assert [outcome.points for outcome in one] == [outcome.points for outcome in three]


def test_progress_names_the_claim_in_work() -> None:
    """Progress is called before each claim, with how many are done."""
    seen: list[tuple[int, int, str]] = []
    verify_claims(chosen(["thm1", "cor5"]), proofs=False, budget=10, on_progress=lambda *told: seen.append(told))
    assert seen == [(0, 2, "thm1"), (1, 2, "cor5")]


def test_what_is_no_claim_or_no_time_is_refused() -> None:
    """The library refuses unknown ids and time limits that are none."""
    with pytest.raises(HpsimError, match="no claim has the id 'cor6'"):
        chosen(["cor5", "cor6"])
    with pytest.raises(HpsimError, match="seconds: inf; a time limit above 0"):
        verify_claims(chosen(["cor5"]), seconds=float("inf"))
