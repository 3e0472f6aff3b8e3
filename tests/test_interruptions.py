"""Runs in processes of their own that are stopped, killed or out of disk: nothing is lost, and resuming ends alike."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import time
from collections.abc import Container
from pathlib import Path

import children
import pyarrow.parquet as pq
import pytest
from analysis_runs import SAMPLED, make_run
from conftest import scaled, slow
from fake_runs import content

SCRIPT = Path(__file__).with_name("fake_runs.py")


def command(folder: Path, sweep: str, seconds: float, *arguments: str) -> list[str]:
    """``hpsim sweep run`` on stand-in chunks that take ``seconds`` each."""
    return [sys.executable, str(SCRIPT), sweep, str(seconds), "--out", str(folder), "--workers", "2", *arguments]


def start(folder: Path, sweep: str, seconds: float = 0.0, *arguments: str) -> children.Child:
    """Start it."""
    return children.start(command(folder, sweep, seconds, *arguments))


def wait_for_records(folder: Path, process: children.Child, count: int) -> None:
    """Wait until so many parts have a record."""
    children.wait_until(process, lambda: len(list((folder / "_parts").glob("0*.json"))) >= count)


def finish(process: children.Child) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    ended = children.finish(process)
    return ended.returncode, ended.stdout, ended.stderr


def test_killed_at_any_moment_it_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    """After kill -9 at random moments every Parquet file opens, and the run ends with an undisturbed one's bytes."""
    sweep = json.dumps({"configs": 600, "violating": [9, 350]})
    code, _, _ = finish(start(tmp_path / "undisturbed", sweep))
    assert code == 1, "this sweep has violations"
    moments = random.Random(7)
    killed = tmp_path / "killed"
    kills = 0
    for count in (1, 40, 100):
        process = start(killed, sweep)
        wait_for_records(killed, process, count)
        time.sleep(moments.random() / 100)
        process.kill()
        kills += children.finish(process).returncode == -signal.SIGKILL
        for part in killed.glob("*/*.parquet"):
            pq.read_table(part)
    assert kills == 3
    code, stdout, _ = finish(start(killed, sweep))
    assert code == 1
    assert stdout.startswith("600 configurations · 1,800 points")
    assert content(killed) == content(tmp_path / "undisturbed")
    assert json.loads((killed / "run.json").read_text())["status"] == "complete"


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_in_good_order(tmp_path: Path, signum: signal.Signals, code: int) -> None:
    """SIGINT and SIGTERM end with their exit code, the parts finished, and a folder that resumes to the same bytes."""
    process = start(tmp_path / "stopped", "{}", 0.3)
    wait_for_records(tmp_path / "stopped", process, 2)
    process.send_signal(signum)
    returned, stdout, stderr = finish(process)
    assert (returned, stdout) == (code, "")
    told = re.search(
        r"stopped by (SIG\w+): (\d+) of 13 parts are finished in .*stopped; the same command resumes", stderr
    )
    assert told is not None
    assert told[1] == signum.name
    assert len(list((tmp_path / "stopped" / "_parts").iterdir())) == int(told[2]) < 13
    run = json.loads((tmp_path / "stopped" / "run.json").read_text())
    assert (run["status"], run["parts_done"]) == ("running", int(told[2]))

    assert finish(start(tmp_path / "stopped", "{}"))[0] == 0
    assert finish(start(tmp_path / "undisturbed", "{}"))[0] == 0
    assert content(tmp_path / "stopped") == content(tmp_path / "undisturbed")


def test_a_second_interrupt_quits_at_once(tmp_path: Path) -> None:
    """A second Ctrl-C does not wait for chunks that take long."""
    process = start(tmp_path / "run", "{}", 600)
    children.wait_for_line(process, "a chunk starts")
    process.send_signal(signal.SIGINT)
    time.sleep(children.task_seconds(3))
    assert process.poll() is None, "the first one waits for the running chunks"
    process.send_signal(signal.SIGINT)
    returned, _, stderr = finish(process)
    assert returned == 130
    assert "stopped at once: finished parts are intact; the same command resumes" in stderr


IGNORING = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]


@pytest.mark.parametrize(("signum", "code", "parts"), [(signal.SIGINT, 0, {13}), (signal.SIGTERM, 143, range(2, 13))])
def test_a_background_job_of_a_script_goes_on(
    tmp_path: Path, signum: signal.Signals, code: int, parts: Container[int]
) -> None:
    """Where SIGINT is ignored from the start it stays so, as under nohup; SIGTERM still ends a run in good order."""
    process = children.start([*IGNORING, *command(tmp_path, "{}", 0.3)])
    wait_for_records(tmp_path, process, 2)
    process.send_signal(signal.SIGINT)
    process.send_signal(signum)
    returned, _, stderr = finish(process)
    assert returned == code, stderr
    assert "SIGINT" not in stderr
    assert len(list((tmp_path / "_parts").iterdir())) in parts


@pytest.mark.parametrize(
    ("words", "once_in", "codes"),
    [
        (["search", "T_async <= T_blocking", "--budget", str(scaled(300_000))], "hpsim.conjecture.search:look", {0}),
        (["prove", "T_rendezvous <= 2*T_blocking", "--seconds", "2"], "hpsim.conjecture.prove.smt:Prover.ask", {0, 3}),
        (["verify", "--claims", "cor5"], "hpsim.conjecture.prove.smt:Prover.ask", {0}),
        (["query", "run", "SELECT count(*) FROM range(100_000_000)"], "hpsim.analysis.interrupt:_watching", {0}),
    ],
    ids=["search", "prove", "verify", "query"],
)
def test_no_command_hears_an_interrupt_that_is_ignored(
    tmp_path: Path, words: list[str], once_in: str, codes: set[int]
) -> None:
    """Neither the solver nor DuckDB, which could take signals for themselves, hears it: the command ends as always."""
    if words[0] == "query":
        make_run(tmp_path / "run", SAMPLED)
    code = children.telling(once_in) + "from hpsim.cli import main; main()"
    process = children.start([*IGNORING, sys.executable, "-c", code, *words], cwd=tmp_path)
    children.wait_for_line(process, "is called")
    process.send_signal(signal.SIGINT)
    ended = children.finish(process)
    assert ended.returncode in codes, ended
    assert "stopped by" not in ended.stderr
    assert ended.stdout != ""


def test_full_disk_is_one_message(tmp_path: Path) -> None:
    """Where the system lets no more be written, the run ends with one line and exit code 2, and resumes later."""
    at_most_2048_bytes_a_file = ["sh", "-c", 'ulimit -f 4 && exec "$@"', "sh"]
    returned, stdout, stderr = finish(children.start([*at_most_2048_bytes_a_file, *command(tmp_path, "{}", 0)]))
    assert (returned, stdout) == (2, "")
    assert "no room to write (File too large); finished parts are intact; make room, and the same command" in stderr
    assert "Traceback" not in stderr
    assert finish(start(tmp_path, "{}"))[0] == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to read-only folders")
def test_read_only_folder_is_one_message(tmp_path: Path) -> None:
    """A folder without write permission is one line and exit code 2."""
    tmp_path.chmod(0o500)
    returned, stdout, stderr = finish(start(tmp_path / "run", "{}"))
    assert (returned, stdout) == (2, "")
    assert "cannot be used (Permission denied)" in stderr


def test_another_sweep_is_one_message(tmp_path: Path) -> None:
    """A folder of another sweep is one line with the differing key and exit code 2."""
    assert finish(start(tmp_path, "{}"))[0] == 0
    returned, stdout, stderr = finish(start(tmp_path, '{"seed": 5}'))
    assert (returned, stdout) == (2, "")
    assert stderr.splitlines()[-1].startswith(f"error: {tmp_path}: belongs to another sweep (seed: 1 there, 5 here);")


def test_no_workers_is_one_message(tmp_path: Path) -> None:
    """--workers 0 is one line and exit code 2."""
    returned, stdout, stderr = finish(start(tmp_path / "run", "{}", 0.0, "--workers", "0"))
    assert (returned, stdout) == (2, "")
    assert stderr == "error: workers: 0; a number of threads, at least 1\n"


def test_a_terminal_gets_a_bar_and_its_cursor_back(tmp_path: Path) -> None:
    """On a terminal a bar with chunks, points, rate and time left is drawn, and afterwards the cursor is back."""
    text, ended = children.drawn_by(command(tmp_path, json.dumps({"configs": 40}), 0.3, "--workers", "1"), "stderr")
    assert ended.returncode == 0
    assert re.search(r"\d+/10 chunks · \d+ points", text)
    assert "points/s" in text
    assert " left" in text
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l") >= 0


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="the chunk under way must be in a kernel")
@pytest.mark.parametrize("workers", [slow("1"), "2"])
def test_a_chunk_of_hours_does_not_hold_up_an_interrupt(tmp_path: Path, workers: str) -> None:
    """What runs for too long after Ctrl-C is abandoned between two kernel calls; the run can be resumed."""
    sweep = "configs: 64\nstages: 2\ntau: {integers: [1, 9]}\nmicrobatches: [1099511627776]\n"
    (tmp_path / "long.yaml").write_text(sweep)
    code = children.telling("hpsim.lanes:given_up", 20) + "from hpsim.cli import main; main()"
    words = ["sweep", "run", "long.yaml", "--workers", workers, "--set", "resolution=0"]
    process = children.start([sys.executable, "-c", code, *words], cwd=tmp_path)
    children.wait_for_line(process, "given_up is called")
    process.send_signal(signal.SIGINT)
    ended = children.finish(process)
    assert ended.returncode == 130
    assert "0 of 1 parts are finished" in ended.stderr
