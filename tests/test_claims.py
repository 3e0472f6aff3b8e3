"""``hpsim claims``: every claim with its source and expectation, one in full, the language."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import children
import pytest

from hpsim.claims.catalogue import Claim, catalogue, language_reference
from hpsim.cli import main
from hpsim.cli.claims import table

Hpsim = Callable[..., tuple[int, str, str]]
HEAVY = {"numba", "pandas", "pyarrow", "matplotlib", "duckdb", "z3", "dask"}


@pytest.fixture
def hpsim(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hpsim:
    """The command line in this process: words → exit code, stdout, stderr."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hpsim", "claims", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def test_every_claim_is_listed(hpsim: Hpsim) -> None:
    """The list has id, expectation and source of every claim, below what it says and what is given; then counts."""
    code, out, err = hpsim()
    assert (code, err) == (0, "")
    *lines, counts, hint = out.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["id", "expect", "source"]
    heads = [line.split(maxsplit=2) for line in lines[1:] if line and not line.startswith(" ")]
    assert heads == [[known.id, known.expect, known.source] for known in catalogue().values()]
    words = " ".join(out.split())
    for known in catalogue().values():
        assert f"{known.source} {known.title} {' '.join(known.statement.split())}" in words
    assert "T(roomy) <= T(tight) given tight: {overlap: 0, buffers: {integers: [0, 3]}}, roomy: {like: tight, " in words
    assert "A.T_async == B.T_async given A and B: permutation" in words
    failing = sum(known.expect == "fails" for known in catalogue().values())
    holding = len(catalogue()) - failing
    assert counts == f"{holding + failing} claims: {holding} expected to hold, {failing} to fail"
    assert hint == "hpsim claims ID shows one in full"


def test_ids_are_bold_on_a_terminal_only(hpsim: Hpsim, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe and with NO_COLOR there is no control character."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    listed = list(catalogue().values())
    assert not any("\x1b" in line for line in table(listed))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    bold = [line for line in table(listed) if "\x1b" in line]
    assert [line.split("\x1b[0m")[0] for line in bold] == [f"\x1b[1m{known.id}" for known in listed]
    monkeypatch.setenv("NO_COLOR", "1")
    assert not any("\x1b" in line for line in table(listed))


def test_one_claim_in_full(hpsim: Hpsim) -> None:
    """With an id everything that the file says of the claim is printed, under its name."""
    code, out, _ = hpsim("loose-ratio")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    assert "given       A and B: same S\n" in out
    assert "example     A: {tau: [1, 1, 2]}, B: {tau: [1, 3, 3]}, M: 1\n" in out
    assert "expect      fails\n" in out
    code, out, _ = hpsim("more-buffers")
    assert "given       tight: {overlap: 0, buffers: {integers: [0, 3]}}\n" in out
    assert "given       roomy: {like: tight, buffers: +1}\n" in out
    assert "invariant   max(tau + (1-rho)*d) <= rho*max(tau) + (1-rho)*max(tau + d)\n" in hpsim("chord")[1]
    assert "note        A sum does not depend on the order either" in hpsim("loose-fill")[1]


def test_json_can_be_read_back(hpsim: Hpsim) -> None:
    """The JSON of every claim is a claim again, with the same statement, example and regimes."""
    code, out, _ = hpsim("--json")
    printed = json.loads(out)
    assert code == 0
    assert [entry["id"] for entry in printed] == list(catalogue())
    for entry in printed:
        known = catalogue()[entry["id"]]
        again = Claim.model_validate({key: value for key, value in entry.items() if value is not None})
        assert (again.parsed, again.expect, again.note) == (known.parsed, known.expect, known.note)
        assert again.given.relation == known.given.relation
        assert {n: regime.draws for n, regime in again.given.regimes.items()} == {
            n: regime.draws for n, regime in known.given.regimes.items()
        }
        assert (again.example is None) == (known.example is None)
        if again.example is not None and known.example is not None:
            assert {n: p.tau for n, p in again.example.pipelines.items()} == {
                n: p.tau for n, p in known.example.pipelines.items()
            }
            assert (again.example.M, again.example.rho) == (known.example.M, known.example.rho)
    assert json.loads(hpsim("cor5", "--json")[1]) == printed[list(catalogue()).index("cor5")]


def test_the_language_is_printed(hpsim: Hpsim) -> None:
    """With --language the reference page is printed as it stands."""
    assert hpsim("--language") == (0, language_reference().rstrip() + "\n", "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["cor6"], "error: claims: no claim has the id 'cor6'; did you mean cor5 or "),
        (["T_async <= T_blocking"], "error: claims: no claim has the id 'T_async <= T_blocking'; "),
        ([""], "error: claims: no claim has the id ''; see hpsim claims\n"),
        (["--language", "cor5"], "error: --language: beside an ID or --json; by itself"),
        (["--language", "--json"], "error: --language: beside an ID or --json; by itself"),
        (["cor5", "cor4"], "unexpected extra argument"),
    ],
)
def test_wrong_input_is_told(hpsim: Hpsim, words: list[str], told: str) -> None:
    """An unknown id or words that do not go together are exit code 2 and a line on stderr."""
    code, out, err = hpsim(*words)
    assert (code, out) == (2, "")
    assert told in err


@pytest.mark.parametrize("words", [[], ["loose-ratio", "--json"], ["--language"]])
def test_nothing_heavy_is_loaded(words: list[str]) -> None:
    """Listing claims loads neither numba nor pandas nor the solver."""
    program = "import atexit, sys\nfrom hpsim.cli import main\n"
    program += (
        "atexit.register(lambda: print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr))\n"
    )
    program += f"sys.argv = ['hpsim', 'claims', *{words!r}]\nmain()"
    done = children.run([sys.executable, "-c", program], check=True)
    assert not HEAVY & set(done.stderr.split())
