"""The public names: lazy, typed, and what they do from Python is what the commands do."""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import children
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from conftest import SIZE, scaled

import hpsim
from hpsim import Pipeline, Regime, makespan, prove, run_sweep, schedule, search, simulate, throughput
from hpsim.cli import cli
from hpsim.errors import HpsimError, PipelineError, RegimeError
from hpsim.sweep.spec import load_sweep

HOME = Path(hpsim.__file__).parent.parent
HEAVY = {"numba", "numpy", "pandas", "pyarrow", "matplotlib", "duckdb", "z3", "click", "pydantic"}
compiled = pytest.mark.skipif(SIZE < 1, reason="nothing is compiled with the JIT off")


class Tensor:
    """As a tensor of a library that need not be installed: ``__array__``, a shape, and nothing else of NumPy."""

    def __init__(self, values: object) -> None:
        self.values = np.asarray(values)
        self.ndim, self.shape = self.values.ndim, self.values.shape

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return self.values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return map(Tensor, self.values)


class OnTheGraphicsCard(Tensor):
    """As a tensor that has to be copied first."""

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


class Sparse:
    """As a sparse matrix, which has a shape and no numbers to go through."""

    ndim, shape, dtype = 2, (2, 2), np.dtype(float)

    def __len__(self) -> int:
        raise TypeError("sparse matrix length is ambiguous")


def script(code: str, **environment: str) -> children.Ended:
    return children.run([sys.executable, "-c", code], env=os.environ | environment, check=True)


def test_importing_loads_nothing_heavy() -> None:
    """``import hpsim`` and ``dir(hpsim)`` load no other package, and modules are there when they are asked for."""
    done = script(
        "import sys, json, hpsim; names = dir(hpsim); first = sorted(sys.modules);"
        "hpsim.formulas.fill_time([1, 2]); hpsim.errors.HpsimError; then = sorted(sys.modules);"
        "hpsim.logs.read_log; print(json.dumps([names, first, then]))"
    )
    names, first, then = json.loads(done.stdout)
    assert not HEAVY & set(first)
    assert not HEAVY & set(then)
    assert names == sorted(hpsim.__all__)
    assert {"Pipeline", "formulas", "errors", "logs", "search", "prove", "run_sweep"} <= set(names)


def test_every_public_name_is_there() -> None:
    """What ``__all__`` lists can be had, and nothing else."""
    assert [name for name in hpsim.__all__ if not hasattr(hpsim, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'pipelines'"):
        hpsim.pipelines  # noqa: B018


def test_what_type_checkers_see_is_what_is_imported() -> None:
    """The imports under TYPE_CHECKING name the homes of the lazy names, all of them."""
    tree = ast.parse(Path(hpsim.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: line.module for line in block.body if isinstance(line, ast.ImportFrom) for alias in line.names}
    assert seen == hpsim._HOME | dict.fromkeys(hpsim._MODULES, "hpsim")
    assert {*seen, "__version__"} == set(hpsim.__all__)


PROGRAM = """\
import hpsim
from hpsim import ASYNC, Pipeline, Regime, load, makespan, prove, run_sweep, schedule, search, throughput

p = Pipeline([1, 2], d=[0.5])
reveal_type(p)
reveal_type(p.phase())
reveal_type(ASYNC)
reveal_type(Regime(buffers=1).is_chain)
reveal_type(makespan(p, 8, "blocking"))
reveal_type(schedule(p, 8))
reveal_type(throughput(p).slope)
reveal_type(search("cor5", regime={"tight": Regime(buffers=0)}).refuted)
reveal_type(prove("cor5").bounds)
reveal_type(run_sweep("paper_fuzz", out="results/mine", workers=2).folder)
reveal_type(load("results/mine"))
reveal_type(hpsim.errors.HpsimError("here", "this", "that").place)
reveal_type(hpsim.logs.read_log(["a.csv"]))
reveal_type(hpsim.__version__)
hpsim.formulas.makespan_async([1, 2], 8)
hpsim.pipelines
makespan(p, None)
schedule(p, M="many")
search("cor5", bugdet=1)
p.blocked(8)
"""
REVEALED = {
    5: "Pipeline",
    6: "bool",
    7: "Regime",
    8: "bool",
    9: "Fraction",
    10: "Schedule",
    11: "Fraction",
    12: "bool",
    13: "str",
    14: "Path",
    15: "Frames",
    16: "str",
    17: "RequestLog",
    18: "str",
}
WRONG = [20, 21, 22, 23, 24]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return file


def test_mypy_knows_the_types(program: Path) -> None:
    """A user's program: mypy --strict reveals every type, and tells exactly the lines that are wrong."""
    installed = HOME.name in ("site-packages", "dist-packages")
    done = children.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", program.name],
        cwd=program.parent,
        env=os.environ | ({} if installed else {"MYPYPATH": str(HOME)}),
    )
    told = [line.split(":", 3) for line in done.stdout.splitlines() if line.startswith("program.py:")]
    revealed = {int(line): text.split('"')[1].split(".")[-1] for _, line, _, text in told if "Revealed" in text}
    assert revealed == REVEALED, done.stdout + done.stderr
    assert sorted({int(line) for _, line, kind, _ in told if "error" in kind}) == WRONG, done.stdout


def test_pyright_knows_the_types(program: Path) -> None:
    """The same program: what editors show is every type, and exactly the lines that are wrong."""
    settings = {"include": [program.name], "extraPaths": [str(HOME)], "typeCheckingMode": "standard"}
    (program.parent / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    words = ["-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = children.run([sys.executable, *words], cwd=program.parent)
    told = json.loads(done.stdout)["generalDiagnostics"]
    lines = {kind: [] for kind in ("error", "warning", "information")}
    for entry in told:
        lines[entry["severity"]].append((entry["range"]["start"]["line"] + 1, entry["message"]))
    assert {line: text.split('"')[-2] for line, text in lines["information"]} == REVEALED, told
    assert sorted({line for line, _ in lines["error"]}) == WRONG, told


WRAPPINGS: list[Callable[[list[Any]], Any]] = [
    lambda values: pd.Series(values, index=list("cab")[: len(values)]),
    lambda values: pd.Series(values, dtype="Int64", index=range(7, 7 + len(values))),
    lambda values: pd.Series(values, dtype="int64[pyarrow]"),
    lambda values: pd.Index(values),
    tuple,
    np.array,
    Tensor,
]


@pytest.mark.parametrize("wrap", WRAPPINGS)
def test_times_come_in_any_wrapping(wrap: Callable[[list[Any]], Any]) -> None:
    """Series with any index, nullable, of PyArrow; tensors; tuples: Pipeline, simulate, schedule, Regime take them."""
    tau, d, service = [1, 3, 2], [4, 1], [[1, 3, 2], [2, 2, 2]]
    p = Pipeline(wrap(tau), wrap(d), latency=wrap([0, 0]))
    assert p == Pipeline(tau, d)
    assert makespan(p, 5, "blocking") == 31
    assert throughput(p, Regime(overlap=wrap([0, 1]))).slope == 5
    assert throughput(p, Regime(channels=wrap([1, 1]))).slope == 4
    assert simulate(wrap(tau), wrap(d), wrap([1, 5]), "blocking").tolist() == [[11, 31]]
    assert simulate([wrap(tau)] * 2, [wrap(d)] * 2, 5, "partial", rho=wrap([0, 1])).tolist() == [31, 23]
    assert simulate([wrap(tau), wrap([2])], M=2).tolist() == [9, 4]
    rows = schedule(p, service=[wrap(row) for row in service], transfer=[wrap(d)] * 2, release=wrap([0, 1]))
    assert rows.makespan == schedule(p, service=service, release=[0, 1]).makespan == 13


def test_tables_come_in_any_wrapping() -> None:
    """Data frames and tensors of two axes are tables; what can be gone through once is a list for Pipeline."""
    tau, d = np.array([[1, 3, 2], [2, 2, 2]]), np.array([[4, 1], [0, 1]])
    right = simulate(tau, d, 5).tolist()
    nullable = (lambda rows: pd.DataFrame(rows, dtype="Int64"), lambda rows: pd.DataFrame(rows, dtype="Float64"))
    for wrap in (pd.DataFrame, *nullable, Tensor, np.asfortranarray):
        assert simulate(wrap(tau), wrap(d), 5).tolist() == right
        assert schedule(Pipeline([1, 1, 1]), service=wrap(tau)).start.tolist() == [[0, 1, 4], [1, 4, 6]]
    assert Pipeline((x for x in (1, 2)), iter([3])) == Pipeline(range(1, 3), [3])
    assert simulate(range(1, 4), M=range(1, 3)).tolist() == [[6, 9]]


def wrong_arrays(shape: tuple[int, ...]) -> dict[str, Any]:
    """Arrays of this shape that would lose what they mean as numbers."""
    whole = np.ones(shape, dtype=int)
    last = (-1,) * len(shape)
    mask = np.zeros(shape, dtype=bool)
    mask[last] = True
    objects = whole.astype(object)
    wrong: dict[str, Any] = {"masked": np.ma.array(whole, mask=mask), "masked nowhere": np.ma.array(whole)}
    for kind in (complex, "M8[s]", "m8[s]", "m8", bool, [("a", int)], "S3"):
        wrong[str(kind)] = whole.astype(kind)
    for value in (None, pd.NA, True, np.True_, np.ma.masked, 1j, np.timedelta64(1, "s"), "x", [1]):
        changed = objects.copy()
        changed[last] = value
        wrong[f"an object {value!r}"] = changed
    if len(shape) == 1:
        for kind in ("Int64", "Float64", "int64[pyarrow]"):
            wrong[f"missing in {kind}"] = pd.Series([1] * (shape[0] - 1) + [None], dtype=kind)
        wrong["truth"] = pd.Series([True] * shape[0], dtype="boolean")
    wrong["a tensor elsewhere"], wrong["sparse"] = OnTheGraphicsCard(whole), Sparse()
    return wrong


PLACES: dict[str, tuple[tuple[int, ...], Callable[[Any], object]]] = {
    "tau of Pipeline": ((2,), lambda x: Pipeline(x)),
    "d of Pipeline": ((2,), lambda x: Pipeline([1, 2, 3], x)),
    "latency of Pipeline": ((2,), lambda x: Pipeline([1, 2, 3], latency=x)),
    "overlap of partial": ((2,), lambda x: Pipeline([1, 2, 3], [1, 1]).partial(8, x)),
    "tau of simulate": ((2, 2), lambda x: simulate(x)),
    "tau of simulate, one pipeline": ((2,), lambda x: simulate(x)),
    "tau of simulate, a row": ((2,), lambda x: simulate([[1, 2], x])),
    "tau of simulate, a row of another length": ((2,), lambda x: simulate([[1, 2, 3], x])),
    "d of simulate": ((2, 2), lambda x: simulate(np.ones((2, 3)), x)),
    "d of simulate, a row": ((2,), lambda x: simulate(np.ones((2, 3)), [[1, 2], x])),
    "latency of simulate": ((2, 2), lambda x: simulate(np.ones((2, 3)), latency=x)),
    "rho of simulate": ((2,), lambda x: simulate(np.ones((2, 3)), regime="partial", rho=x)),
    "M of simulate": ((2,), lambda x: simulate([1, 2], M=x)),
    "service of schedule": ((2, 2), lambda x: schedule(Pipeline([1, 2]), service=x)),
    "service of schedule, a row": ((2,), lambda x: schedule(Pipeline([1, 2]), service=[[1, 1], x])),
    "transfer of schedule": ((2, 2), lambda x: schedule(Pipeline([1, 2, 3]), transfer=x)),
    "release of schedule": ((2,), lambda x: schedule(Pipeline([1, 2]), release=x)),
    "M of schedule": ((2,), lambda x: schedule(Pipeline([1, 2]), x)),
    "M of makespan": ((2,), lambda x: makespan(Pipeline([1, 2]), x)),
    "overlap of Regime": ((2,), lambda x: Regime(overlap=x)),
    "channels of Regime": ((2,), lambda x: Regime(channels=x)),
}


@pytest.mark.parametrize("place", PLACES)
def test_arrays_that_are_no_numbers_are_refused_everywhere(place: str) -> None:
    """Masks, missing values, complex numbers, dates, durations, truth, records, bytes: one line that says where."""
    shape, call = PLACES[place]
    for name, value in wrong_arrays(shape).items():
        if place == "channels of Regime" and name == "an object None":  # unlimited
            continue
        with pytest.raises((PipelineError, RegimeError)) as fault:
            call(value)
        message = str(fault.value)
        assert message.startswith(place.split(" ")[0]), (name, message)
        assert "\n" not in message, name
        if name.startswith("masked"):
            assert "a masked array, whose mask would be lost" in message


@pytest.mark.parametrize("value", [None, True, np.True_, np.ma.masked, 1j, "x", pd.NA, pd.NaT, Decimal("NaN")])
def test_entries_of_lists_that_are_no_numbers_are_refused(value: object) -> None:
    """In a list among numbers, in every function that takes one."""
    for call in (
        lambda: Pipeline([1, value]),  # type: ignore[list-item]
        lambda: simulate([1, value]),
        lambda: simulate([[1, 2], [1, value]]),
        lambda: simulate([[1, 2, 3], [1, value]]),
        lambda: schedule(Pipeline([1, 2]), service=[[1, value]]),
        lambda: schedule(Pipeline([1, 2]), release=[1, value]),
        lambda: hpsim.formulas.fill_time([1, value]),
    ):
        with pytest.raises(PipelineError, match=r"^(tau|service|release)"):
            call()


SEARCH = ("T(tight) <= T_blocking", {"tight": Regime(overlap=0, buffers=0)})


def test_search_is_the_command(tmp_path: Path) -> None:
    """The same counterexample after as many points, from a Regime, from knobs, and from the flags; saved alike."""
    budget = scaled(100_000)
    result = search(SEARCH[0], regime=SEARCH[1], budget=budget, seed=3)
    words = ["search", SEARCH[0], "--regime", "tight={overlap: 0, buffers: 0}", "--budget", str(budget), "--seed", "3"]
    told = CliRunner().invoke(cli, [*words, "--json", "--save", str(tmp_path / "command.yaml")])
    data = json.loads(told.stdout)
    assert (data["verdict"], data["points"]) == ("refuted", result.points)
    assert result == search(SEARCH[0], regime={"tight": {"overlap": 0, "buffers": 0}}, budget=budget, seed=3)
    assert result.example is not None
    assert result.example.pipelines[0].tau == tuple(map(Fraction, data["counterexample"]["example"]["tau"]))
    assert repr(result) == "<SearchResult: refuted by tau = [1, 2]   d = [1]   M = 2: T(tight) = 7 > T_blocking = 6>"
    result.save(tmp_path / "library.yaml")
    assert (tmp_path / "library.yaml").read_text() == (tmp_path / "command.yaml").read_text()
    held = search("cor5", budget=scaled(20_000))
    assert (held.claim, held.refuted, repr(held)) == ("cor5", False, f"<SearchResult: held on {held.decided:,} points>")
    with pytest.raises(HpsimError, match="save: no counterexample"):
        held.save(tmp_path / "nothing.yaml")


def test_search_looks_into_a_sweep() -> None:
    """By name, as plain data, or as one that was read, whose regimes a statement may name."""
    data = {"configs": 100, "stages": 2, "tau": {"uniform": [1, 2]}, "regimes": ["async", {"name": "t", "buffers": 0}]}
    assert search("T(t) >= T_async", sweep=data).decided == 800
    assert search("T_blocking >= T_async", sweep="hand_crafted") == search(
        "T_blocking >= T_async", sweep=load_sweep("hand_crafted")
    )


def test_prove_is_the_command() -> None:
    """The same verdict as from the flags, proved and refuted."""
    pytest.importorskip("z3")
    proved = prove("T_blocking <= T_async + (M-1)*max(d)")
    assert repr(proved) == "<Verdict: proved for every S and M: by induction (7 lemmas)>"
    refuted = prove(SEARCH[0], regime=SEARCH[1], stages=2, microbatches=3)
    words = ["prove", SEARCH[0], "--regime", "tight={overlap: 0, buffers: 0}", "--stages", "2", "--microbatches", "3"]
    data = json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)
    assert data["verdict"] == refuted.status == "refuted"
    assert refuted.counterexample is not None
    assert refuted.counterexample.example.pipelines[0].tau == tuple(map(Fraction, data["example"]["tau"]))
    assert repr(refuted).startswith("<Verdict: refuted by tau = ")
    assert prove("A.T_async == B.T_async", relation="Permutation").status == "proved"


def test_run_sweep_is_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, path and plain data, with keys that beat them: byte for byte the parts of ``hpsim sweep run``."""
    monkeypatch.chdir(tmp_path)
    report = run_sweep("hand_crafted", out="library", set={"chunk": 4, "microbatches": [1, 8]}, workers=1)
    words = ["sweep", "run", "hand_crafted", "--out", "command", "--set", "chunk=4", "--set", "microbatches=[1, 8]"]
    assert CliRunner().invoke(cli, words).exit_code == 0

    def parts(folder: str) -> dict[str, bytes]:
        return {str(file.relative_to(folder)): file.read_bytes() for file in Path(folder).rglob("*.parquet")}

    assert parts("library") == parts("command") != {}
    assert repr(report) == "<RunReport: 11 configurations, 22 points, 0 violations, in library>"
    data = load_sweep("hand_crafted").resolved()
    assert run_sweep(data, tmp_path / "data", set=["chunk=4", "microbatches=[1, 8]"]).totals == report.totals
    assert run_sweep({"configs": 5, "name": "small", "stages": 2, "tau": 1}).folder == Path("results/small")
    assert run_sweep(load_sweep("hand_crafted")).totals.points == 88


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: search(5), "statement: 5; a statement as text, or the id of a claim"),
        (lambda: search("T_asink <= 3"), "column 1: unknown name 'T_asink'"),
        (lambda: search("T(t) <= 3"), "column 3: unknown regime 't'"),
        (lambda: search("T(t) <= 3", regime=5), "regime: 5; a mapping of names to knobs or regimes"),
        (lambda: search("T(t) <= 3", regime={"t": {"bufers": 1}}), "statement:1: given.regimes.t.bufers: unknown knob"),
        (lambda: search("T_async <= 3", relation="same S"), "relation: 'same S', but there is one pipeline only"),
        (lambda: search("A.T_async <= 3", relation="similar"), "relation: 'similar'; one of same S, permutation"),
        (lambda: search("cor5", budget=0), "budget: 0; "),
        (lambda: search("cor5", seed="x"), "seed: 'x'; "),
        (lambda: search("cor5", workers=0), "workers: 0; "),
        (lambda: search("cor5", sweep="nosuch"), "nosuch: no such file"),
        (lambda: search("cor5", sweep=5), "sweep: found 5; "),
        (lambda: search(hpsim.search("cor5", budget=1).question, sweep={"configs": 0}), "sweep"),
        (lambda: prove(None), "statement: None; "),
        (lambda: prove("cor5", seconds="long"), "seconds: 'long'; a time limit above 0"),
        (lambda: prove("cor5", seconds=float("nan")), "seconds: nan; a time limit above 0"),
        (lambda: prove("cor5", stages=1.5), "stages: 1.5; a whole number of at least 1"),
        (lambda: prove("T(t) <= 3", regime={"t": {"buffers": -1}}), "statement:1: given.regimes.t.buffers: found -1"),
        (lambda: run_sweep(5), "sweep: found 5; "),
        (lambda: run_sweep("nosuch"), "nosuch: no such file"),
        (lambda: run_sweep({"confgs": 5}), "sweep:1: confgs: unknown key 'confgs'"),
        (lambda: run_sweep("paper_fuzz", set={"confgs": 5}), "--set confgs: unknown key"),
        (lambda: run_sweep("paper_fuzz", set=5), "set: 5; a mapping"),
        (lambda: run_sweep("paper_fuzz", " "), "out: an empty name"),
        (lambda: run_sweep("paper_fuzz", 5), "out: 5; a folder"),
        (lambda: run_sweep("paper_fuzz", "s3://bucket/run"), "out: the address 's3://bucket/run'"),
        (lambda: run_sweep("paper_fuzz", "x", workers=0), "workers: 0; "),
    ],
)
def test_mistakes_are_one_line(call: Callable[[], object], told: str) -> None:
    """As from the commands: where it stands, what was found, what is allowed."""
    with pytest.raises(HpsimError) as fault:
        call()
    assert str(fault.value).startswith(told), str(fault.value)
    assert "\n" not in str(fault.value)


FIRST = "import hpsim; hpsim.simulate([1, 2], [1], M=2)"
ANNOUNCED = "compiling the simulation kernels for this processor, up to half a minute; the code is kept in "


@compiled
def test_the_first_compilation_is_logged(tmp_path: Path) -> None:
    """Without a terminal: silent, or one line where the program shows what ``hpsim`` logs; from the cache nothing."""
    shown = f"import logging; logging.basicConfig(level=logging.INFO); {FIRST}"
    assert script(FIRST, NUMBA_CACHE_DIR=str(tmp_path / "a")).stderr == ""
    told = script(shown, NUMBA_CACHE_DIR=str(tmp_path / "b")).stderr
    assert told.startswith(f"INFO:hpsim:{ANNOUNCED}{tmp_path / 'b'}")
    assert told.count("\n") == 1
    assert script(shown, NUMBA_CACHE_DIR=str(tmp_path / "b")).stderr == ""


@compiled
def test_the_first_compilation_is_told_on_a_terminal(tmp_path: Path) -> None:
    """One line on stderr, and none for a kernel of the user's own."""
    own = "import hpsim.simulation, numba; numba.njit(lambda x: x)(1)"
    for code, lines in ((FIRST, 1), (own, 0)):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / str(lines))}
        drawn, ended = children.drawn_by([sys.executable, "-c", code], "stderr", env=environment)
        assert ended.returncode == 0
        assert drawn.count("\n") == lines
        assert drawn.startswith(ANNOUNCED if lines else "")
