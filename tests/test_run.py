"""A run from start to finish, and ``hpsim sweep run``: resume, workers, failed chunks, summary and exit codes."""

from __future__ import annotations

import json
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Any

import children
import pytest
from click.testing import CliRunner, Result
from fake_runs import FakeSweep, content, fake_chunk, use_fakes

from hpsim.cli.progress import progress_on_stderr, state
from hpsim.errors import HpsimError, RunFolderError
from hpsim.kernels import _compiling
from hpsim.sweep.run import Progress, RunInterrupted, run_sweep
from hpsim.sweep.store import RunFolder

SWEEP = FakeSweep()
PARTS = 13

Chunks = list[int]
Install = Callable[..., Chunks]


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install the stand-ins; returns the list of chunks that will have been computed."""

    def install(sweep: FakeSweep = SWEEP, failing: tuple[int, ...] = ()) -> Chunks:
        computed: Chunks = []

        def run_chunk(given: FakeSweep, index: int) -> Any:
            computed.append(index)
            if index in failing:
                raise ZeroDivisionError("a bug")
            time.sleep(random.Random(index).random() / 500)
            return fake_chunk(given, index)

        modules: dict[str, Any] = {}
        use_fakes(sweep, run_chunk, modules)
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        return computed

    return install


def command(*arguments: object) -> Result:
    """Call ``hpsim sweep run fake.yaml`` with these arguments; HpsimError passes through, as to ``hpsim.cli.main``."""
    from hpsim.cli.sweep_run import run

    return CliRunner().invoke(run, ["fake.yaml", *map(str, arguments)])


@pytest.mark.parametrize("workers", [2, 5])
def test_parts_do_not_depend_on_the_number_of_workers(tmp_path: Path, fakes: Install, workers: int) -> None:
    """One, two and five threads leave the same bytes."""
    fakes()
    run_sweep(SWEEP, tmp_path / "one", workers=1)
    run_sweep(SWEEP, tmp_path / "many", workers=workers)
    assert content(tmp_path / "many") == content(tmp_path / "one")


def test_report_adds_up(tmp_path: Path, fakes: Install) -> None:
    """Totals are the sums over the chunks and the largest error; run.json says the same."""
    fakes()
    report = run_sweep(SWEEP, tmp_path, workers=2)
    expected = {"configs": 50, "points": 150, "cells": 5000, "violations": 0, "undefined": 0, "vanished": 0}
    assert vars(report.totals) == {**expected, "max_rel_err": {"async": 1.0, "partial": 1.0}}
    assert (report.parts_skipped, report.parts_failed, report.violations) == (0, 0, [])
    run = json.loads((tmp_path / "run.json").read_text())
    assert run == report.run
    assert run["totals"] == vars(report.totals)
    assert (run["status"], run["parts_done"], run["parts_total"], run["name"]) == ("complete", PARTS, PARTS, "fake")
    assert set(run["versions"]) == {"python", "numba", "numpy", "pyarrow"}
    assert run["wall_seconds"] > 0


def test_a_finished_run_is_checked_and_not_repeated(tmp_path: Path, fakes: Install) -> None:
    """The same again computes nothing, reports the same totals and the time that it once took."""
    computed = fakes()
    first = run_sweep(SWEEP, tmp_path, workers=2)
    computed.clear()
    before = content(tmp_path)
    again = run_sweep(SWEEP, tmp_path, workers=2)
    assert computed == []
    assert again.parts_skipped == PARTS
    assert (again.totals, again.run) == (first.totals, first.run)
    assert content(tmp_path) == before


def test_only_what_is_missing_is_computed(tmp_path: Path, fakes: Install) -> None:
    """Resuming computes the parts without an intact record, ends with the same bytes, and adds up the time."""
    computed = fakes()
    first = run_sweep(SWEEP, tmp_path, workers=2)
    before = content(tmp_path)
    (tmp_path / "_parts" / "000003.json").unlink()
    (tmp_path / "points" / "part-000007.parquet").write_bytes(b"PAR1")
    computed.clear()
    report = run_sweep(SWEEP, tmp_path, workers=2)
    assert sorted(computed) == [3, 7]
    assert report.parts_skipped == PARTS - 2
    assert report.totals == first.totals
    assert report.wall_seconds > first.run["wall_seconds"]
    assert content(tmp_path) == before


@pytest.mark.usefixtures("signals_are_heard")
def test_a_second_interrupt_while_a_part_is_written(
    tmp_path: Path, fakes: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice Ctrl-C while the caller waits for the disk: a chunk that takes long is not waited for."""
    fakes()
    waiting, release, committed = threading.Event(), threading.Event(), threading.Event()
    default = signal.getsignal(signal.SIGINT)
    compute, commit = sys.modules["hpsim.sweep.chunk"].run_chunk, RunFolder.commit

    def slow_chunk(sweep: FakeSweep, index: int) -> Any:
        if index > 0:
            release.wait(600)
        return compute(sweep, index)

    def slow_commit(folder: RunFolder, written: Any) -> None:
        waiting.set()
        release.wait(600)
        commit(folder, written)
        committed.set()

    def interrupt_twice() -> None:
        waiting.wait(600)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        while signal.getsignal(signal.SIGINT) is not default and not release.is_set():  # so once the first is noted
            time.sleep(0.001)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    monkeypatch.setattr(sys.modules["hpsim.sweep.chunk"], "run_chunk", slow_chunk)
    monkeypatch.setattr(RunFolder, "commit", slow_commit)
    try:
        threading.Thread(target=interrupt_twice).start()
        with pytest.raises(KeyboardInterrupt) as stop:
            run_sweep(SWEEP, tmp_path, workers=1)
        assert not committed.is_set()
    finally:
        release.set()
    assert not isinstance(stop.value, RunInterrupted)
    assert committed.wait(600)
    monkeypatch.setattr(sys.modules["hpsim.sweep.chunk"], "run_chunk", compute)
    monkeypatch.setattr(RunFolder, "commit", commit)
    assert run_sweep(SWEEP, tmp_path, workers=1).parts_skipped == 1


@pytest.mark.parametrize("vanishing", ["*/*00000[0-4].*", "_parts/000001.json", "points/part-000000.parquet"])
def test_a_run_whose_parts_vanish_is_not_complete(tmp_path: Path, fakes: Install, vanishing: str) -> None:
    """Parts removed while the sweep runs are missed before it ends, and the same again computes them."""
    fakes()

    def remove(progress: Progress) -> None:
        if progress.parts_done == 5:
            for file in list(tmp_path.glob(vanishing)):  # the next parts are being written
                file.unlink()

    with pytest.raises(RunFolderError, match=r"of 13 parts vanished .* running; the same command computes them again"):
        run_sweep(SWEEP, tmp_path, workers=1, on_progress=remove)
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["status"] == "running"
    assert run["parts_done"] == (PARTS - 5 if "*" in vanishing else PARTS - 1)
    assert run_sweep(SWEEP, tmp_path, workers=1).run["status"] == "complete"
    run_sweep(SWEEP, tmp_path / "elsewhere", workers=1)
    untouched = content(tmp_path / "elsewhere")
    assert {name: data for name, data in content(tmp_path).items() if not name.startswith("elsewhere")} == untouched


def test_a_run_whose_folder_vanishes_is_one_message(tmp_path: Path, fakes: Install) -> None:
    """Nothing is claimed to be complete in a folder that is gone."""
    fakes()
    with pytest.raises(RunFolderError, match="cannot be used"):
        run_sweep(SWEEP, tmp_path / "run", workers=1, on_progress=lambda _: rmtree(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("value", ["x", 10**400, -1, float("nan"), None, [], True])
def test_numbers_of_a_damaged_run_json_count_as_nothing(tmp_path: Path, fakes: Install, value: Any) -> None:
    """Time, parts and totals of an earlier session are only told: nonsense there stops nothing."""
    fakes()
    first = run_sweep(SWEEP, tmp_path, workers=1)
    damaged = {**first.run, "wall_seconds": value, "parts_done": value, "totals": value}
    (tmp_path / "run.json").write_text(json.dumps(damaged))
    began = time.monotonic()
    again = run_sweep(SWEEP, tmp_path, workers=1)
    passed = time.monotonic() - began
    assert (again.totals, again.run["status"], again.run["parts_done"]) == (first.totals, "complete", PARTS)
    assert 0 <= again.wall_seconds <= passed


def test_fresh_starts_over(tmp_path: Path, fakes: Install) -> None:
    """With fresh every chunk is computed again, and another sweep may take the folder."""
    computed = fakes()
    run_sweep(SWEEP, tmp_path, workers=2)
    with pytest.raises(RunFolderError, match="seed: 1 there, 9 here"):
        run_sweep(FakeSweep(seed=9), tmp_path, workers=2)
    computed.clear()
    report = run_sweep(FakeSweep(seed=9), tmp_path, workers=2, fresh=True)
    assert sorted(computed) == list(range(PARTS))
    run_sweep(FakeSweep(seed=9), tmp_path / "elsewhere", workers=1)
    other = content(tmp_path / "elsewhere")
    assert {name: data for name, data in content(tmp_path).items() if not name.startswith("elsewhere")} == other
    assert report.run["status"] == "complete"


@pytest.mark.parametrize("workers", [1, 2])
def test_failed_chunks_lose_no_others(tmp_path: Path, fakes: Install, workers: int) -> None:
    """A chunk with a bug is reported with its line of code; the rest is finished, and a later run tries it again."""
    fakes(failing=(2, 12))
    report = run_sweep(SWEEP, tmp_path, workers=workers)
    assert sorted((f.index, f.configs) for f in report.failures) == [(2, range(8, 12)), (12, range(48, 50))]
    assert report.failures[0].error.startswith("ZeroDivisionError: a bug (test_run.py:")
    assert report.parts_failed == 2
    assert (report.run["status"], report.run["parts_done"]) == ("running", PARTS - 2)
    assert report.totals.configs == 44
    computed = fakes()
    assert run_sweep(SWEEP, tmp_path, workers=workers).run["status"] == "complete"
    assert sorted(computed) == [2, 12]


def test_progress_is_told_after_each_part(tmp_path: Path, fakes: Install) -> None:
    """Progress starts with what is recorded and ends with everything; computed points are told apart."""
    fakes()
    told: list[Progress] = []
    run_sweep(SWEEP, tmp_path, workers=2, on_progress=told.append)
    assert told[0] == Progress(0, 0, 0, PARTS, 0, 0, 150)
    assert told[-1] == Progress(0, PARTS, 0, PARTS, 150, 150, 150)
    assert [progress.parts_done for progress in told] == list(range(PARTS + 1))
    (tmp_path / "_parts" / "000000.json").unlink()
    run_sweep(SWEEP, tmp_path, workers=2, on_progress=told.append)
    assert told[-1] == Progress(PARTS - 1, PARTS, 0, PARTS, 150, 12, 150)


@pytest.mark.parametrize("workers", [0, -2, 1025, 2**63 - 1])
def test_no_workers_is_a_mistake(tmp_path: Path, fakes: Install, workers: int) -> None:
    """Zero, negative and absurd numbers of workers are refused before anything is written."""
    fakes()
    with pytest.raises(HpsimError, match=f"workers: {workers}"):
        run_sweep(SWEEP, tmp_path / "run", workers=workers)
    assert not (tmp_path / "run").exists()


def test_summary_line(tmp_path: Path, fakes: Install) -> None:
    """A good run is one line on stdout and exit code 0."""
    fakes(FakeSweep(configs=5000, chunk=2500, record="violations"))
    result = command("--out", tmp_path / "run")
    start, end = (
        "5,000 configurations · 15,000 points · 2 regimes · 0 violations · exact · ",
        f" s → {tmp_path / 'run'}\n",
    )
    assert result.exit_code == 0
    assert result.stdout.startswith(start)
    assert result.stdout.endswith(end)
    float(result.stdout.removeprefix(start).removesuffix(end))


def test_summary_of_float64_has_the_worst_errors(tmp_path: Path, fakes: Install) -> None:
    """With float64 the line has the worst relative error of each regime."""
    fakes(FakeSweep(arithmetic="float64", configs=1))
    words = command("--out", tmp_path).stdout.split(" · ")
    assert words[:4] == ["1 configuration", "3 points", "2 regimes", "0 violations"]
    assert words[4:6] == ["float64", "worst relative error async 1.0e+00, partial 1.0e+00"]


def test_default_folder_is_results_and_the_name(
    tmp_path: Path, fakes: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --out the run is in results/<name>."""
    monkeypatch.chdir(tmp_path)
    fakes()
    assert command().stdout.endswith("→ results/fake\n")
    assert (tmp_path / "results" / "fake" / "run.json").is_file()


def test_json_is_run_json_and_the_folder(tmp_path: Path, fakes: Install) -> None:
    """--json prints the content of run.json, and the folder, and nothing else."""
    fakes()
    printed = json.loads(command("--out", tmp_path, "--json").stdout)
    assert printed == {**json.loads((tmp_path / "run.json").read_text()), "folder": str(tmp_path)}


def test_violations_are_told_in_words_and_exit_1(tmp_path: Path, fakes: Install) -> None:
    """A violation is exit code 1, on stderr in words, with the command that shows its configuration alone."""
    fakes(FakeSweep(configs=40, violating=(3, 1, 30, 31, 32, 33, 34)))
    result = command("--out", tmp_path, "--set", "seed=1", "--set", "tau={uniform: [1, 2]}")
    assert result.exit_code == 1
    assert " · 7 violations · exact · " in result.stdout
    lines = result.stderr.splitlines()
    assert "7 violations; the first in each of 5 configurations:" in lines
    told = [line.split(",")[0].strip() for line in lines if "fails at" in line]
    assert told == [f"thm2 fails at configuration {k}" for k in (1, 3, 30, 31, 32)]
    assert "M = 2, tau = [" in result.stderr
    assert "rho = 0.25: T_async = 2.5, closed 2.0\n" in result.stderr, "thm2 is about async alone"
    alone = "hpsim sweep config fake.yaml --set seed=1 --set 'tau={uniform: [1, 2]}' --id 1"
    assert lines[-1] == f"one configuration alone: {alone}"
    assert command("--out", tmp_path).exit_code == 1, "a finished run still has its violations"


def test_failed_chunks_exit_4(tmp_path: Path, fakes: Install) -> None:
    """Failed chunks are exit code 4, named on stderr with their configurations."""
    fakes(failing=(2,))
    result = command("--out", tmp_path)
    assert result.exit_code == 4
    assert "1 chunk failed (the same command tries again):" in result.stderr
    assert "chunk 2, configurations 8 to 11: ZeroDivisionError: a bug" in result.stderr


def test_a_violation_outweighs_a_failed_chunk(tmp_path: Path, fakes: Install) -> None:
    """With a counterexample in hand the exit code is 1, whatever failed beside it."""
    fakes(FakeSweep(violating=(0,)), failing=(2,))
    assert command("--out", tmp_path).exit_code == 1


def test_resuming_is_announced(tmp_path: Path, fakes: Install) -> None:
    """A resumed run says on stderr how much is there; a new one does not."""
    fakes()
    assert "resuming" not in command("--out", tmp_path).stderr
    (tmp_path / "_parts" / "000000.json").unlink()
    assert "fake: resuming, 12 of 13 parts are recorded and will be checked\n" in command("--out", tmp_path).stderr


@pytest.mark.parametrize("out", ["s3://bucket/run", "file:///tmp/run", "", " "])
def test_out_is_a_folder_of_this_machine(
    out: str, tmp_path: Path, fakes: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address or an empty name for --out is refused, and no folder is made of it."""
    fakes()
    monkeypatch.chdir(tmp_path)
    result = command("--out", out)
    assert isinstance(result.exception, RunFolderError)
    assert result.exception.place == "out"
    assert list(tmp_path.iterdir()) == []


def test_a_finished_run_says_so(tmp_path: Path, fakes: Install) -> None:
    """A finished run is neither resumed nor given its old time: it is already complete."""
    fakes()
    command("--out", tmp_path)
    again = command("--out", tmp_path)
    assert again.stderr == "fake: already computed, 13 chunks to check\n"
    assert again.stdout.endswith(f" · exact · already complete, checked → {tmp_path}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--workers", "0"),
        ("--workers", "-1"),
        ("--workers", "many"),
        ("--workers", "٢"),
        ("--workers", "1_0"),
        ("--no",),
    ],
)
def test_wrong_arguments_exit_2(fakes: Install, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Wrong arguments are click's usage error or an HpsimError, which the command line turns into exit code 2."""
    fakes()
    result = command("--out", tmp_path / "run", *arguments)
    assert result.exit_code == 2 or isinstance(result.exception, HpsimError)
    assert not (tmp_path / "run").exists()


def test_no_control_characters_off_a_terminal(tmp_path: Path, fakes: Install) -> None:
    """Where stderr is no terminal, progress is plain text."""
    fakes()
    stderr = command("--out", tmp_path).stderr
    assert stderr == "fake: 150 points in 13 chunks\n"


def test_lines_come_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Off a terminal there is a line at the start, of what lies ahead, and then one about every ten seconds."""
    clock = [0.0]
    monkeypatch.setattr("hpsim.cli.progress.time.monotonic", lambda: clock[0])
    with progress_on_stderr("fake") as show:
        for done, clock[0] in enumerate([0.0, 4.0, 9.0, 11.0, 12.0, 22.0]):
            show(Progress(0, done, 0, 10, 1000 * done, 1000 * done, 10_000))
    assert capsys.readouterr().err.splitlines() == [
        "fake: 10,000 points in 10 chunks",
        "fake: 3/10 chunks · 3.0 k points · 273 points/s · 0:26 left",
        "fake: 5/10 chunks · 5.0 k points · 227 points/s · 0:22 left",
    ]


def test_rate_counts_only_what_was_computed() -> None:
    """Parts finished before do not make the rate look better, and failed ones are told."""
    progress = Progress(900, 910, 2, 1000, 910_000_000, 10_000_000, 1_000_000_000)
    assert state(progress, 2.0) == [
        "910/1,000 chunks",
        "2 failed",
        "910 M points",
        "5.0 M points/s",
        "0:18 left",
    ]


def test_no_rate_before_there_was_time_to_measure_it() -> None:
    """In the first two seconds of work, which go into loading, neither a rate nor a remaining time is told."""
    assert state(Progress(0, 1, 0, 200, 16_000, 16_000, 3_200_000), 0.8) == ["1/200 chunks", "16.0 k points"]


def test_compiling_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of rates stands still while kernels are compiled, one for the sake of another included."""
    clock = [100.0]
    told: list[str | None] = []
    monkeypatch.setattr(_compiling.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(_compiling, "announce", told.append)
    monkeypatch.setattr(_compiling, "_told", False)
    started = _compiling.working_time()
    for worked in (1.0, 2.0):
        clock[0] += 1.0
        _compiling.started("code")
        _compiling.started("code")
        clock[0] += 20.0
        assert _compiling.working_time() - started == worked
        _compiling.ended()
        _compiling.ended()
    assert (_compiling.working_time() - started, told) == (2.0, ["code"])


def test_help_loads_nothing_heavy() -> None:
    """The command can be looked up and its help printed without numba, pandas or pyarrow."""
    check = (
        "import sys; from hpsim.cli.sweep_run import run; run(['--help'], standalone_mode=False); "
        "sys.exit(bool({'numba', 'pandas', 'pyarrow', 'numpy'} & set(sys.modules)))"
    )
    assert children.run([sys.executable, "-c", check]).returncode == 0
