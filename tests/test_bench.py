"""The benchmark says what it measured: nothing here looks at speed, only at whether the figures are whole and right."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import sys
from pathlib import Path
from statistics import median
from typing import Any

import children
import numpy as np
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from conftest import SIZE, scaled

from hpsim.bench import run as library
from hpsim.bench.adder import adding, adds
from hpsim.bench.children import own_peak, run_python
from hpsim.bench.figures import Comparison, Figure, Report, Section, Target
from hpsim.bench.numpy_twin import makespans
from hpsim.bench.points import Encode, by_default, write
from hpsim.bench.stopwatch import Stopwatch, in_threads, thread_counts
from hpsim.bench.violations import KernelOnly
from hpsim.cli import cli
from hpsim.cli.bench_table import page, quantity
from hpsim.errors import HpsimError
from hpsim.kernels.adder import CHAIN, WIDTH, add_chains
from hpsim.reference import chain as twin
from hpsim.simulation import simulate
from hpsim.sweep.chunk import run_chunk
from hpsim.sweep.parquet import parquet_bytes
from hpsim.sweep.sample import configuration
from hpsim.sweep.spec import make_sweep

compiled_only = pytest.mark.skipif(SIZE < 1, reason="nothing is compiled")

STEPS = (0.5, 1.25, 2.0, 0.75, 3.0)  # exact in binary


class FakeClock:
    """Each look at it is later than the one before by the next of STEPS, over and over."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = itertools.cycle(STEPS)

    def __call__(self) -> float:
        self.now += next(self.steps)
        return self.now


class Quick:
    """One run of ``hpsim bench --quick --json`` under a fake clock: what it printed, and the report behind it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        reports: list[Report] = []
        measure = library.bench

        def remembering(*args: Any, **options: Any) -> Report:
            reports.append(measure(*args, **options))
            return reports[-1]

        patch.setattr(library, "bench", remembering)
        patch.setattr(library, "Stopwatch", lambda: Stopwatch(FakeClock()))
        self.result = CliRunner().invoke(cli, ["bench", "--quick", "--json"], catch_exceptions=False)
        self.data: dict[str, Any] = json.loads(self.result.stdout)
        self.report = reports[0]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row for section in self.data["sections"] for row in section["comparisons"]]


@pytest.fixture(scope="module")
def quick() -> Quick:
    with pytest.MonkeyPatch.context() as patch:
        return Quick(patch)


@pytest.mark.slow
def test_every_section_and_case_is_there(quick: Quick) -> None:
    """Nine sections, and in each of them the cases that its sizes ask for, on one thread and on all."""
    threads = thread_counts()
    found = {section["title"].split(",")[0]: section["comparisons"] for section in quick.data["sections"]}
    titles = [section["title"] for section in quick.data["sections"]]
    assert len(titles) == 9
    assert [row["what"] for row in found["search"]] == [in_threads(n) for n in threads]
    assert [row["what"] for row in found["adder limit"]] == [in_threads(n) for n in threads]
    beside_adders = quick.data["sections"][1]["comparisons"]
    cases = [f"S = {S}, M = {M}, {in_threads(n)}" for M in (2, 5) for S in (2, 4) for n in threads]
    speed_ups = [f"speed-up, S = {S}, M = 5, {in_threads(threads[-1])}" for S in (2, 4)] if len(threads) > 1 else []
    assert [row["what"] for row in beside_adders] == cases + speed_ups
    assert "NumPy" in titles[2]
    assert "plain-Python" in titles[3]
    limits = ("1 place", "rendezvous", "1 place, 1 channel", "window of 4")
    assert [row["what"] for row in found["simulate with limits"]] == [
        *(f"S = 2, M = 5, {limit}, 1 thread" for limit in limits),
        f"N = 64, S = 2, M = 2, 1 place, {in_threads(threads[-1])}",
    ]
    units = [row["figure"]["unit"] for row in found["record: violations"]]
    assert units == ["configs/s", "points/s"] * len(threads) + ["s", "B"]
    units = [row["figure"]["unit"] for row in found["record: points"]]
    assert units == ["rows/s", "B/s"] * len(threads) + ["rows/s", "B"]
    assert [row["what"] for row in found["start-up"]] == [
        "python -c 'import numpy'",
        "hpsim --help",
        "hpsim calc --tau 1,2",
        "hpsim sweep run paper_fuzz, cold",
        "of that, compiling",
        "hpsim sweep run paper_fuzz, warm",
        "of that, reading compiled code",
    ]


@pytest.mark.slow
def test_figures_come_from_the_runs_that_are_listed(quick: Quick) -> None:
    """A rate is the work over the shortest run, a duration the median of the runs, timed by the clock alone."""
    figures = [figure for row in quick.rows for figure in (row["figure"], row["against"]) if figure]
    timed = [figure for figure in figures if figure["seconds"]]
    assert len(timed) > 30
    for figure in timed:
        if figure["work"] is not None:
            assert set(figure["seconds"]) <= set(STEPS)
            assert figure["value"] == figure["work"] / min(figure["seconds"])
        else:
            assert figure["value"] == median(figure["seconds"])


@pytest.mark.slow
def test_ratios_and_verdicts_come_from_the_figures_shown(quick: Quick) -> None:
    """Each ratio is the quotient of the two figures beside it, each verdict the comparison with the bound beside it."""
    for row in quick.rows:
        value, against, target = row["figure"]["value"], row["against"], row["target"]
        if against:
            assert against["unit"] == row["figure"]["unit"]
            assert row["ratio"] == value / against["value"]
        if target:
            assert row["met"] == (value >= target["bound"] if target["at_least"] else value <= target["bound"])
        else:
            assert row["met"] is None
    verdicts = [row["met"] for row in quick.rows if row["target"]]
    assert quick.data["targets"] == {"met": sum(verdicts), "total": len(verdicts)}


@pytest.mark.slow
def test_the_machine_is_named(quick: Quick) -> None:
    """Figures without processor and versions say nothing."""
    machine = quick.data["machine"]
    assert all(machine[name] for name in ("processor", "cpus", "cpus_used", "hpsim", "python", "numba", "numpy"))
    assert machine["compiled"] == (SIZE == 1)
    assert quick.data["quick"] is True


@pytest.mark.slow
def test_progress_goes_to_stderr(quick: Quick) -> None:
    """Standard output holds the JSON alone; each step is one line on stderr."""
    lines = quick.result.stderr.splitlines()
    assert lines[0] == "bench: adders"
    assert all(line.startswith("bench: ") for line in lines)


@pytest.mark.slow
def test_the_page_shows_every_case(quick: Quick, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --json each case is a line with its figure, and the page says that quick figures mean little."""
    monkeypatch.setattr(library, "bench", lambda *args, **options: quick.report)
    shown = CliRunner().invoke(cli, ["bench", "--quick"], catch_exceptions=False).stdout
    assert "the figures mean little" in shown
    assert all(section["title"] in shown and section["how"] in shown for section in quick.data["sections"])
    lines = shown.splitlines()
    for row in quick.rows:
        figure = quantity(row["figure"]["value"], row["figure"]["unit"])
        assert any(line.startswith(f" {row['what']} ") and figure in line for line in lines)
    assert "\x1b" not in shown
    assert not re.search(r"\bmet\b", shown), "tiny sizes meet no target and miss none"


def test_a_page_by_hand() -> None:
    """Written-down figures give written-down lines: shares, multiples, bounds with an offset, verdicts on the edge."""
    limit = Figure.rate("limit", 40e9, "cells", (4.0, 2.0))
    rate = Figure.rate("ours", 30e9, "cells", (3.0, 5.0))
    slow, fast = Figure.duration("slow", (0.4, 0.5, 0.9)), Figure.duration("fast", (0.1, 0.3))
    rows = [
        Comparison("share", rate, limit, Target(True, 0.5), share=True),
        Comparison("times", rate, limit, Target(True, 0.6)),
        Comparison("start", slow, fast, Target(False, 2.0, 0.1)),
        Comparison("memory", Figure("peak", 3e8, "B"), target=Target(False, plus=2e8)),
        Comparison("alone", rate),
    ]
    machine = dict.fromkeys(("processor", "cpus", "cpus_used", "system", "hpsim", "python", "numba", "numpy"), "x")
    text = page(Report({**machine, "pyarrow": "x", "compiled": True}, False, [Section("title", "how", rows)]))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "share 10.0 G cells/s limit: 20.0 G cells/s 50.0 % ≥ 50 % met" in lines
    assert "times 10.0 G cells/s limit: 20.0 G cells/s 0.50 × ≥ 0.6 × not met" in lines
    assert "start 0.500 s fast: 0.200 s 2.50 × ≤ 2 × + 0.100 s met" in lines
    assert "memory 300 MB ≤ 200 MB not met" in lines
    assert "alone 10.0 G cells/s" in lines
    assert lines[-1] == "2 of 4 targets met"


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (7.314e9, "cells/s", "7.31 G cells/s"),
        (23.4e9, "adds/s", "23.4 G adds/s"),
        (12.3, "rows/s", "12.3 rows/s"),
        (341e6, "B", "341 MB"),
        (1.5e3, "B/s", "1.50 kB/s"),
        (0.0, "s", "0.000 s"),
        (0.1234, "s", "0.123 s"),
        (1.5, "s", "1.50 s"),
        (12.34, "s", "12.3 s"),
        (1234.5, "s", "1,234 s"),
    ],
)
def test_quantities_in_words(value: float, unit: str, words: str) -> None:
    """Three digits, a prefix, and the unit."""
    assert quantity(value, unit) == words


def test_runs_take_turns() -> None:
    """Each run is called once untimed, then all in turn, and what comes after each of them is not timed."""
    calls: list[str] = []
    clock = FakeClock()
    seconds = Stopwatch(clock).alternate(
        2, lambda: calls.append("a"), lambda: calls.append("b"), after=lambda: calls.append("-")
    )
    assert "".join(calls) == "a-b-a-b-a-b-"
    assert seconds == [(1.25, 0.5), (0.75, 2.0)]


def test_short_runs_are_repeated_within_a_timing() -> None:
    """What takes 1.25 s of a fake clock fits three times into 3 s at least: the mean of as many calls counts."""
    calls: list[str] = []
    seconds = Stopwatch(FakeClock()).alternate(2, lambda: calls.append("a"), at_least=3.0)
    assert len(calls) == 1 + 1 + 2 * 3, "one to warm up, one to see how long it takes, and the timings"
    assert seconds == [(0.75 / 3, 0.5 / 3)]


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
@pytest.mark.parametrize(("regime", "overlap"), [("async", 1.0), ("blocking", 0.0), ("partial", 0.25)])
def test_the_numpy_twin_is_right(regime: str, overlap: float, chunk: int) -> None:
    """On times that float64 adds exactly, NumPy, the kernels and plain Python give the same makespans."""
    rng = np.random.default_rng(20261015)
    n = scaled(100)
    for S, M in ((1, 3), (2, 1), (3, 5), (8, 12)):
        tau, d = rng.integers(1, 64, (n, S)) / 16, rng.integers(0, 64, (n, S - 1)) / 16
        rho = overlap if regime == "partial" else None
        right = [
            twin.makespan(services, links, M, regime, rho)
            for services, links in zip(tau.tolist(), d.tolist(), strict=True)
        ]
        before = tau.copy(), d.copy()
        assert makespans(tau, d, M, overlap, chunk).tolist() == right
        assert simulate(tau, d, M, regime, rho=rho).tolist() == right
        assert (tau == before[0]).all()
        assert (d == before[1]).all()


def test_the_kernel_only_run_simulates_the_configurations_of_the_sweep() -> None:
    """What is timed as the bare recurrence gives the makespans of the sweep's own configurations, in every regime."""
    times = {"integers": [1, 9]}
    source = {"configs": 40, "chunk": 16, "stages": 3, "tau": times, "d": times, "rho": {"choice": [0.25, 0.5]}}
    regimes = ["async", "blocking", "partial"]
    sweep = make_sweep(source | {"regimes": regimes, "microbatches": [1, 4, 7]})
    bare = KernelOnly(sweep, 2)
    assert bare.configs == 32
    for _ in range(2):  # the state of the first run must not show in the second
        bare.run()
    for thread, load in enumerate(bare.loads):
        assert len(load) == len(regimes)
        for regime, packed in zip(regimes, load, strict=True):
            for i in range(16):
                config = configuration(sweep, 16 * thread + i)
                right = [twin.makespan(config["tau"], config["d"], M, regime, config["rho"]) for M in (1, 4, 7)]
                assert packed.out[:, 0, i].tolist() == right


@pytest.mark.parametrize("encode", [parquet_bytes, by_default])
def test_pyarrow_writes_the_same_tables(encode: Encode, tmp_path: Path) -> None:
    """What the sweep is compared with writes every row of the sweep's own tables, whatever the settings."""
    source = {"configs": 20, "chunk": 8, "stages": 2, "tau": 1, "d": {"uniform": [0, 1]}, "microbatches": [1, 2]}
    sweep = make_sweep(source)
    parts = [run_chunk(sweep, index).tables for index in range(sweep.n_chunks)]
    write(sweep, parts, tmp_path / "out", 2, encode)
    assert len(list((tmp_path / "out").iterdir())) == 6
    for index, tables in enumerate(parts):
        for name, table in tables.items():
            assert pyarrow.parquet.read_table(tmp_path / "out" / f"{name}-{index}.parquet").equals(table)


@pytest.mark.parametrize("threads", [1, 3])
def test_additions_are_counted_right(threads: int) -> None:
    """Adding 1.0 so and so often shows in the sum; every thread has its own numbers."""
    values = np.zeros(WIDTH)
    add_chains(1.0, 3, values)
    assert values.tolist() == [3.0 * CHAIN] * WIDTH
    assert adds(threads, 3) == threads * int(values.sum())
    adding(threads, 1)()


@compiled_only
@pytest.mark.skipif(bool(os.environ.get("NUMBA_BOUNDSCHECK")), reason="checks of every index cannot be vectorised")
def test_additions_are_packed() -> None:
    """The adder limit is one of SIMD additions: the machine code has no scalar one."""
    import numba

    fresh = numba.njit(nogil=True, error_model="numpy")(add_chains.py_func)  # type: ignore[attr-defined]
    fresh(1.0, 1, np.zeros(WIDTH))
    (assembly,) = fresh.inspect_asm().values()
    if "xmm" not in assembly and "ymm" not in assembly and "zmm" not in assembly:
        pytest.skip("this test knows the instructions of x86 only")
    assert assembly.count("addpd") >= CHAIN
    assert assembly.count("addsd") == 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells")
def test_a_childs_peak_is_its_own() -> None:
    """What the parent holds is not counted as its child's memory, and what the child holds is."""
    held = np.ones(40_000_000)
    assert own_peak() > held.nbytes
    code = "from hpsim.bench.children import own_peak; held = b'x' * {}; print(own_peak())"
    small, large = (int(run_python(code.format(size), [], Path.cwd())) for size in (1, 100_000_000))
    assert small < 150e6
    assert 100e6 <= large - small + 1e6 <= 110e6


def test_signals_that_are_ignored_stay_so(signals_are_heard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM ends a benchmark, unless whoever started it had it ignored; afterwards it acts as before."""
    during = []
    monkeypatch.setattr(library, "bench", lambda *_, **__: during.append(signal.getsignal(signal.SIGTERM)))
    monkeypatch.setattr("hpsim.cli.bench_table.page", lambda report: "")
    for before in (signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGTERM, before)
        assert CliRunner().invoke(cli, ["bench"]).exit_code == 0
        assert signal.getsignal(signal.SIGTERM) == before
    assert during[0] == signal.SIG_IGN
    assert callable(during[1])


def test_a_failing_child_is_told(tmp_path: Path) -> None:
    """When a process of the benchmark fails, the message holds its exit code and its last words."""
    with pytest.raises(HpsimError, match=r"exit code 3 \(last words\)"):
        run_python("import sys; print('first\\nlast words', file=sys.stderr); sys.exit(3)", [], tmp_path)


def test_no_room_for_temporary_files_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is one line and exit code 2, not a traceback."""

    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(library.tempfile, "TemporaryDirectory", full)
    with pytest.raises(HpsimError, match=r"temporary files: .*No space left"):
        library.bench(quick=True)


@pytest.mark.parametrize(
    ("signum", "step"),
    [(signal.SIGINT, "billion, 64 configurations"), (signal.SIGTERM, "billion, peak memory")],
)
def test_nothing_is_left_behind_when_stopped(signum: signal.Signals, step: str, tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM, in a sweep of this process and while a child runs: the signal's exit code, no files."""
    command = [sys.executable, "-c", "from hpsim.cli import main; main()", "bench", "--quick"]
    package = str(Path(library.__file__).parents[2])
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": package}
    process = children.start(command, cwd=tmp_path, env=environment)
    children.wait_for_line(process, step)
    process.send_signal(signum)
    ended = children.finish(process)
    assert ended.returncode == 128 + signum
    assert ended.stdout == ""
    assert ended.stderr.splitlines()[-1] == f"stopped by {signum.name}: temporary files are removed"
    assert list(tmp_path.iterdir()) == []
