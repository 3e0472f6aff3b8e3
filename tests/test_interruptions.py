"""Runs in processes of their own that are stopped, killed or out of disk: nothing is lost, and resuming ends alike."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import drawn_on
from fake_runs import content

SCRIPT = Path(__file__).with_name("fake_runs.py")
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(SCRIPT.parents[1]), os.environ.get("PYTHONPATH", "")]),
    "PYTHONDONTWRITEBYTECODE": "1",
}


def start(folder: Path, sweep: str, seconds: float = 0.0, *arguments: str, **options: object) -> subprocess.Popen[str]:
    """Start ``hpsim sweep run`` on stand-in chunks that take ``seconds`` each."""
    command = [sys.executable, str(SCRIPT), sweep, str(seconds), "--out", str(folder), "--workers", "2", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen(command, env=ENVIRONMENT, **pipes)  # type: ignore[call-overload,no-any-return]


def wait_for_records(folder: Path, process: subprocess.Popen[str], count: int) -> None:
    """Wait until so many parts have a record."""
    deadline = time.monotonic() + 30
    while len(list((folder / "_parts").glob("0*.json"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    stdout, stderr = process.communicate(timeout=60)
    return process.returncode, stdout, stderr


def test_killed_at_any_moment_it_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    """After kill -9 at random moments every Parquet file opens, and the run ends with an undisturbed one's bytes."""
    sweep = json.dumps({"configs": 1200, "violating": [9, 700]})
    code, _, _ = finish(start(tmp_path / "undisturbed", sweep))
    assert code == 1, "this sweep has violations"
    moments = random.Random(7)
    killed = tmp_path / "killed"
    kills = 0
    for count in (1, 30, 60, 120, 200):
        process = start(killed, sweep)
        wait_for_records(killed, process, count)
        time.sleep(moments.random() / 100)
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        for part in killed.glob("*/*.parquet"):
            pq.read_table(part)
    assert kills == 5
    code, stdout, _ = finish(start(killed, sweep))
    assert code == 1
    assert stdout.startswith("1,200 configurations · 3,600 points")
    assert content(killed) == content(tmp_path / "undisturbed")
    assert json.loads((killed / "run.json").read_text())["status"] == "complete"


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_in_good_order(tmp_path: Path, signum: signal.Signals, code: int) -> None:
    """SIGINT and SIGTERM end with their exit code, the parts finished, and a folder that resumes to the same bytes."""
    process = start(tmp_path / "stopped", "{}", 0.05)
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
    process = start(tmp_path / "run", "{}", 20)
    deadline = time.monotonic() + 30
    while not (tmp_path / "run" / "_parts").is_dir():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None, "the first one waits for the running chunks"
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    returned, _, stderr = finish(process)
    assert returned == 130
    assert time.monotonic() - asked < 5
    assert "stopped at once: finished parts are intact; the same command resumes" in stderr


def test_full_disk_is_one_message(tmp_path: Path) -> None:
    """Where the system lets no more be written, the run ends with one line and exit code 2, and resumes later."""

    def at_most_2000_bytes_a_file() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    process = start(tmp_path, "{}", preexec_fn=at_most_2000_bytes_a_file)
    returned, stdout, stderr = finish(process)
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
    terminal, end = pty.openpty()
    process = start(tmp_path, json.dumps({"configs": 40}), 0.3, "--workers", "1", stderr=end)
    os.close(end)
    drawn = drawn_on(terminal)
    assert finish(process)[0] == 0
    text = drawn.decode()
    assert re.search(r"\d+/10 chunks · \d+ points", text)
    assert "points/s" in text
    assert " left" in text
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l") >= 0


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="the chunk under way must be in a kernel")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_chunk_of_hours_does_not_hold_up_an_interrupt(tmp_path: Path, workers: str) -> None:
    """What runs for too long after Ctrl-C is abandoned between two kernel calls; the run can be resumed."""
    sweep = "configs: 64\nstages: 2\ntau: {integers: [1, 9]}\nmicrobatches: [1099511627776]\n"
    (tmp_path / "long.yaml").write_text(sweep)
    code = "from hpsim.cli import main; main()"
    command = [sys.executable, "-c", code, "sweep", "run", "long.yaml", "--workers", workers, "--set", "resolution=0"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "0 of 1 parts are finished" in told
