"""A saved counterexample says exactly what was found, and is decided again three ways."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hpsim.claims.catalogue import catalogue
from hpsim.claims.parse import parse
from hpsim.cli import cli
from hpsim.conjecture.counterexample import (
    Counterexample,
    load_counterexample,
    read_example,
    save_counterexample,
    shipped,
)
from hpsim.conjecture.example import Example, Times
from hpsim.conjecture.question import Question
from hpsim.conjecture.replay import replay
from hpsim.errors import HpsimError, SweepFileError
from hpsim.regime import Regime

WRITTEN = """\
statement: T_rendezvous <= T_blocking
example:
  tau: [1, 2]
  d: [1]
  M: 2
sides:
- {side: T_rendezvous, value: 7}
- {side: T_blocking, value: 6}
"""


def written(folder: Path, text: str = WRITTEN) -> Path:
    path = folder / "counterexample.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["replay", *words])


def fractions(*values: object) -> tuple[Fraction, ...]:
    return tuple(Fraction(str(value)) for value in values)


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_shipped_counterexample_refutes_its_statement(name: str) -> None:
    """By the recurrences, the kernels and the closed forms where there are any, with the sides that the file says."""
    done = replay(load_counterexample(name))
    assert done.refutes
    limited = bool(done.counterexample.question.regimes)
    assert [verdict.refutes for verdict in done.verdicts] == [True, True, not limited]
    assert done.agree
    assert done.changed == ()


def test_claims_expected_to_fail_have_a_shipped_counterexample() -> None:
    """The simplest one, which is the example of the catalogue."""
    known = {counterexample.claim: counterexample for counterexample in map(load_counterexample, shipped())}
    failing = [claim for claim in catalogue().values() if claim.expect == "fails"]
    assert len(failing) > 5
    for claim in failing:
        assert claim.example is not None
        assert known[claim.id].example == read_example(claim.example)
        assert known[claim.id].question.statement.text == claim.statement


@pytest.mark.parametrize("name", ["loose-sandwich", "loose_sandwich", "loose_sandwich.yaml"])
def test_a_shipped_one_is_known_by_its_file_and_by_its_claim(name: str) -> None:
    """With hyphens, as the claim's id, and with underscores, as the file; another name is told the files."""
    assert load_counterexample(name).claim == "loose-sandwich"
    with pytest.raises(SweepFileError, match=r"nonsense: no such file; .*loose_sandwich, loose_slack"):
        load_counterexample("nonsense")


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    """Two pipelines, a relation, regimes with every knob, fractions and a share."""
    text = "A.T(tight) + rho*A.T(wide) < B.T(tight)/3 - B.T_partial"
    regimes = {
        "tight": Regime(overlap=[0, Fraction(1, 3)], buffers=[None, 0, 2], window=3, feedback=Fraction(1, 2)),
        "wide": Regime(channels=[2, None]),
    }
    question = Question(parse(text, tuple(regimes), "same S"), "same S", regimes)
    a = Times(fractions("1/3", 2, 0), fractions(1, "5/7"), fractions(0, 4))
    b = Times(fractions(5, 2, 1), fractions(0, 0), fractions(0, 0))
    example = Example((a, b), 5, Fraction(1, 3))
    path = tmp_path / "saved.yaml"
    save_counterexample(path, Counterexample(question, example, (), None, "by hand"))
    loaded = load_counterexample(path)
    assert loaded.question == question
    assert loaded.example == example
    assert loaded.note == "by hand"
    done = replay(loaded)
    assert done.agree
    assert done.changed == ()
    assert done.verdicts[1].decision == done.verdicts[0].decision is not None
    assert done.verdicts[2].decision is None
    assert "no closed form" in done.verdicts[2].reason


def test_a_counterexample_is_reported_with_exit_code_1(tmp_path: Path) -> None:
    """It refutes still, and each way of computing shows both sides."""
    result = run(str(written(tmp_path)))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "T_rendezvous <= T_blocking",
        "tau = [1, 2]   d = [1]   M = 2",
        "recurrences   refuted   T_rendezvous = 7 > T_blocking = 6",
        "kernels       refuted   T_rendezvous = 7 > T_blocking = 6",
        "closed forms  refuted   T_rendezvous = 7 > T_blocking = 6",
        "still refuted",
    ]


def test_an_edited_point_that_refutes_nothing_is_exit_code_0(tmp_path: Path) -> None:
    """The sides in the file are no longer right either, which is said."""
    result = run(str(written(tmp_path, WRITTEN.replace("M: 2", "M: 1"))))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "no longer refuted"
    assert "note: T_rendezvous = 7 in the file, 4 here" in result.stderr


def test_an_undefined_point_refutes_nothing(tmp_path: Path) -> None:
    """A division by zero counts neither way."""
    text = "statement: T_async/(M-1) < 0\nexample: {tau: [1], M: 1}\n"
    result = run(str(written(tmp_path, text)))
    assert result.exit_code == 0
    assert result.stdout.count("undefined") == 3


def test_json_says_the_same(tmp_path: Path) -> None:
    """Every way with its decision."""
    data = json.loads(run(str(written(tmp_path)), "--json").stdout)
    assert (data["refutes"], data["agree"], data["changed"]) == (True, True, [])
    assert [(verdict["by"], verdict["holds"]) for verdict in data["verdicts"]] == [
        ("recurrences", False),
        ("kernels", False),
        ("closed forms", False),
    ]
    assert data["counterexample"]["sides"][0] == {"side": "T_rendezvous", "value": 7}


def test_totals_that_float64_cannot_hold_are_left_to_the_other_ways(tmp_path: Path) -> None:
    """The kernels say that they cannot tell, and do not guess."""
    text = "statement: T_async < 0\nexample: {tau: ['1000000007/1000000009', '1/999999937'], d: ['3/7'], M: 5}\n"
    done = replay(load_counterexample(written(tmp_path, text)))
    assert [verdict.refutes for verdict in done.verdicts] == [True, False, True]
    assert "2^51" in done.verdicts[1].reason
    assert done.agree


BROKEN = [
    ("statement: T_rendezvous <= T_blocking\n", ":1", "example"),
    (WRITTEN.replace("T_rendezvous <=", "T_rendezvou <="), ":1: statement", "unknown name 'T_rendezvou'"),
    (WRITTEN.replace("tau: [1, 2]", "tau: [1, -2]"), ":3: example.tau[1]", "-2 is negative"),
    (WRITTEN.replace("tau: [1, 2]", "tau: [0, 0]"), ":3", "every service time is 0"),
    (WRITTEN.replace("d: [1]", "d: [1, 2]"), ":4", "2 values for 2 stages"),
    (WRITTEN.replace("d: [1]", "d: [one]"), ":4: example.d[0]", "'one'"),
    (WRITTEN.replace("M: 2", "M: 1.5"), ":5: example.M", "found 1.5"),
    (WRITTEN.replace("  M: 2\n", ""), ":2: example.M", "missing"),
    (WRITTEN.replace("M: 2", "M: 2\n  M: 3"), ":6: example.M", "a second time"),
    (WRITTEN.replace("sides:", "seids:"), ":6: seids", "did you mean 'sides'?"),
    (WRITTEN.replace("value: 7", "value: seven"), ":7: sides[0].value", "'seven'"),
    (WRITTEN.replace("T_rendezvous <= T_blocking", "T_partial <= T_async"), ":2: example", "no rho"),
    (WRITTEN.replace("T_rendezvous <= T_blocking", "A.T_async <= B.T_async"), ":2: example", "A and B"),
    (WRITTEN.replace("M: 2", "M: 2\n  rho: 2"), ":6: example.rho", "a share from 0 to 1"),
    (WRITTEN + "given: {regimes: {a: {buffers: {integers: [0, 2]}}}}\n", ":9: given", "a distribution"),
    (WRITTEN + "given: {regimes: {a: {bufers: 1}}}\n", ":9: given.regimes.a.bufers", "did you mean 'buffers'?"),
    (WRITTEN + "given: {relation: cousins}\n", ":9: given.relation", "'cousins'"),
    ("", ":1", "the file is empty"),
    ("- 1\n", ":1", "a list"),
    ("statement: [\n", "", "not YAML"),
]


@pytest.mark.parametrize(("text", "place", "told"), BROKEN, ids=[f"{told} {place}" for _, place, told in BROKEN])
def test_a_broken_file_is_told_with_its_line(tmp_path: Path, text: str, place: str, told: str) -> None:
    """One line: file, line, key, what was found."""
    path = written(tmp_path, text)
    with pytest.raises(SweepFileError) as caught:
        load_counterexample(path)
    assert f"{path}{place}" in str(caught.value)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(run(str(path)).exception, SweepFileError)


def test_pipelines_that_are_not_related_as_said_are_refused(tmp_path: Path) -> None:
    """A permutation that is none."""
    text = """\
statement: A.T_async == B.T_async
given: {relation: permutation}
example:
  A: {tau: [1, 2]}
  B: {tau: [2, 2]}
  M: 1
"""
    with pytest.raises(SweepFileError, match=r":3: example: A and B are not related by 'permutation'"):
        load_counterexample(written(tmp_path, text))


def test_a_missing_file_is_one_line() -> None:
    """With the name that was given."""
    with pytest.raises(SweepFileError, match=r"nosuch\.yaml: no such file"):
        load_counterexample("nosuch.yaml")


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """The reason is the system's."""
    counterexample = load_counterexample(written(tmp_path))
    with pytest.raises(HpsimError, match="cannot be written"):
        save_counterexample(tmp_path / "no" / "folder.yaml", counterexample)
