"""Standard streams that are closed, full, left by their reader, or of few characters."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import children
import pytest

from hpsim.cli.progress import opening
from hpsim.sweep.run import Progress

HPSIM = "import sys; sys.argv[0] = 'hpsim'; from hpsim.cli import main; main()"
CALC = ("calc", "--tau", "1,2")
BAR_AND_ANNOUNCEMENT = """
from hpsim.kernels._compiling import announce
from hpsim.cli.progress import progress_on_stderr
with progress_on_stderr("a run"):
    announce(None)
"""
THREE_BARS = """
import hpsim.cli.progress, hpsim.cli.search_progress, hpsim.cli.verify_progress
clock = [0.0]
hpsim.cli.progress.working_time = hpsim.cli.search_progress.working_time = lambda: clock[0]
from hpsim.conjecture import search_result
from hpsim.sweep import run
with hpsim.cli.progress.progress_on_stderr("a run") as show:
    clock[0] = 2.0
    show(run.Progress(0, 40, 2, 9540, 31_000_000, 28_000_000, 1_000_000_000))
with hpsim.cli.search_progress.search_on_stderr() as show:
    clock[0] = 4.0
    show(search_result.Progress("small systems", 1_200_000, 4_000_000, 3.1e-5))
with hpsim.cli.verify_progress.claims_on_stderr() as show:
    show(12, 46, "a-claim-of-a-long-name-that-has-40-chars")
"""
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full, which Linux has")


def hpsim(*words: str, shell: str = "", **environment: str) -> children.Ended:
    """The command line in a new process, its streams redirected as ``shell`` says."""
    command = ["bash", "-c", f'"$@" {shell}', "bash", sys.executable, "-c", HPSIM, *words]
    return children.run(command, env={**os.environ, **environment})


@pytest.mark.parametrize("redirection", ["2>&-", pytest.param("2>/dev/full", marks=full)])
def test_a_run_does_not_need_stderr(tmp_path: Path, redirection: str) -> None:
    """A sweep runs to its end and prints its line, whether or not anybody can read its progress."""
    done = hpsim("sweep", "run", "hand_crafted", "--out", str(tmp_path), shell=redirection)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("11 configurations · 88 points · ")
    assert json.loads((tmp_path / "run.json").read_text())["status"] == "complete"


@pytest.mark.parametrize("words", [CALC, (*CALC, "--json"), ("--help",), ("sweep", "schema")])
@pytest.mark.parametrize(
    ("redirection", "reason"),
    [(">&-", "it is closed"), pytest.param(">/dev/full", "no space left on device", marks=full)],
)
def test_output_that_cannot_be_printed_is_one_line(words: tuple[str, ...], redirection: str, reason: str) -> None:
    """Lost output is told in one line and is exit code 2, never that of a counterexample."""
    done = hpsim(*words, shell=redirection)
    assert done.stderr == f"error: stdout: {reason}; another place for what is printed\n"
    assert done.returncode == 2


def test_both_streams_may_be_closed(tmp_path: Path) -> None:
    """With nowhere to say anything the exit code speaks; and files are not opened in the place of a stream."""
    assert hpsim("calc", "--tau", "0", shell=">&- 2>&-").returncode == 2
    assert hpsim("sweep", "run", "hand_crafted", "--out", str(tmp_path), shell="<&- >&- 2>&-").returncode == 2
    assert json.loads((tmp_path / "run.json").read_text())["status"] == "complete"


@pytest.mark.parametrize("words", [CALC, ("sweep", "schema")])
def test_a_reader_that_has_seen_enough(words: tuple[str, ...]) -> None:
    """A closed pipe is silent, and the exit code of SIGPIPE."""
    reading, writing = os.pipe()
    os.close(reading)
    done = children.run([sys.executable, "-c", HPSIM, *words], stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_characters_that_the_stream_does_not_have(tmp_path: Path) -> None:
    """A stream without the arrow gets a question mark, not a traceback after the run."""
    done = children.run(
        [sys.executable, "-c", HPSIM, "sweep", "run", "hand_crafted", "--out", "run"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        text=False,
    )
    assert done.returncode == 0
    assert done.stdout.decode("latin-1").startswith("11 configurations · 88 points · ")
    assert done.stdout.endswith(b" ? run\n")


def terminal(columns: int, *words: str, cwd: Path, code: str = HPSIM) -> str:
    """What a command draws on a terminal of this width."""
    environment: dict[str, Any] = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    drawn, ended = children.drawn_by(
        [sys.executable, "-c", code, *words], "stdin", "stdout", "stderr", columns=columns, env=environment, cwd=cwd
    )
    assert ended.returncode == 0
    return drawn


def test_the_bar_on_a_narrow_terminal(tmp_path: Path) -> None:
    """At 40 columns the bar is there, and its words beside it; what is said in a run has a line of its own."""
    run = ("sweep", "run", "hand_crafted", "--set", "chunk=4", "--out", "run")
    assert "━━━━━━━━ 3/3 chunks · 88 points" in terminal(40, *run, cwd=tmp_path)
    (tmp_path / "run" / "_parts" / "000001.json").unlink()
    resumed = terminal(40, *run, cwd=tmp_path)
    assert "hand-crafted: resuming, 2 of 3 parts are recorded and will be checked\r\n" in resumed
    assert "\x1b[2Khand-crafted: resuming" in resumed, "the bar's line is cleared first"


@pytest.mark.parametrize(
    ("columns", "run", "search", "verify"),
    [
        (40, "40/9,540 chunks · 2 failed", "small systems", "12/46 claims"),
        (
            60,
            "40/9,540 chunks · 2 failed · 31.0 M points",
            "small systems · 1.2 M of 4.0 M points",
            "12/46 claims",
        ),
        (
            80,
            "40/9,540 chunks · 2 failed · 31.0 M points · 14.0 M points/s",
            "small systems · 1.2 M of 4.0 M points · 600 k points/s",
            "12/46 claims · a-claim-of-a-long-name-that-has-40-chars",
        ),
        (
            120,
            "40/9,540 chunks · 2 failed · 31.0 M points · 14.0 M points/s · 1:09 left",
            "small systems · 1.2 M of 4.0 M points · 600 k points/s · closest 3.1e-05",
            "12/46 claims · a-claim-of-a-long-name-that-has-40-chars",
        ),
    ],
)
def test_a_bar_is_one_line(columns: int, run: str, search: str, verify: str, tmp_path: Path) -> None:
    """Bars of sweeps, searches and claims leave out what a line has no room for, the least important first."""
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal(columns, cwd=tmp_path, code=THREE_BARS))
    lines = [line.strip("━╸╺ ") for line in re.split(r"[\r\n]+", drawn)]
    assert {run, search, verify} <= set(lines)
    assert max(len(line) for line in re.split(r"[\r\n]+", drawn)) <= columns


def test_what_is_said_beside_the_bar_has_its_own_line(tmp_path: Path) -> None:
    """The announcement that kernels are compiled clears the bar's line and does not continue it."""
    drawn = terminal(80, cwd=tmp_path, code=BAR_AND_ANNOUNCEMENT)
    assert "\x1b[2Kcompiling the simulation kernels" in drawn


def test_what_lies_ahead() -> None:
    """A new run has points, a resumed one parts to check, a finished one nothing but those."""
    assert opening(Progress(0, 0, 0, 1, 0, 0, 1)) == "1 point in 1 chunk"
    assert opening(Progress(0, 0, 0, 3, 0, 0, 160_000)) == "160,000 points in 3 chunks"
    assert opening(Progress(1, 0, 0, 3, 0, 0, 9)) == "resuming, 1 of 3 parts are recorded and will be checked"
    assert opening(Progress(3, 0, 0, 3, 0, 0, 9)) == "already computed, 3 chunks to check"
