"""Processes of tests: whoever started pytest they hear signals, and none is left, whatever becomes of the test."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import children
import pytest

DISPOSITIONS = """
import signal
print([signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
      == [signal.default_int_handler, signal.SIG_DFL, signal.SIG_DFL], signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""
GRANDCHILD = """
import subprocess, sys
descriptor = int(sys.argv[1])
subprocess.Popen(["sleep", "100000"], pass_fds=[descriptor], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""
PYTEST = """
import children, sys
children.start(["sleep", "100000"], pass_fds=[int(sys.argv[1])])
print("started", file=sys.stderr, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def held() -> Iterator[tuple[int, int]]:
    """A pipe whose writing end children may hold: when the last of them is gone, the reading end is at its end."""
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def wait_until_let_go(held: tuple[int, int]) -> None:
    """Wait until nobody holds the writing end any more; a test that waits here for ever has left a process behind."""
    reading, writing = held
    os.close(writing)
    assert os.read(reading, 1) == b""


def test_signals_are_heard_whoever_started_pytest(signals_are_heard: None) -> None:
    """Ignored and blocked here, as in a background job, signals act in a child as at a terminal, and here as before."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    assert children.run([sys.executable, "-c", DISPOSITIONS]).stdout == "True set()\n"
    assert signal.getsignal(signal.SIGINT) == signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == {signal.SIGTERM}


def test_what_a_child_has_started_ends_with_it(held: tuple[int, int]) -> None:
    """A process that a child leaves behind is ended too."""
    ended = children.run([sys.executable, "-c", GRANDCHILD, str(held[1])], pass_fds=[held[1]])
    assert (ended.returncode, ended.stderr) == (0, "")
    wait_until_let_go(held)


def test_what_a_test_leaves_behind_is_ended(held: tuple[int, int]) -> None:
    """What is done after each test ends all that runs."""
    process = children.start(["sleep", "100000"], pass_fds=[held[1]])
    children.end_all()
    assert process.returncode == -signal.SIGKILL
    wait_until_let_go(held)


def test_nothing_is_left_when_pytest_is_killed(held: tuple[int, int]) -> None:
    """A process that starts children as pytest does, killed without a chance to end them."""
    path = os.pathsep.join([str(Path(__file__).parent), children.environment()["PYTHONPATH"]])
    process = children.start(
        [sys.executable, "-c", PYTEST, str(held[1])],
        stdin=children.subprocess.PIPE,
        pass_fds=[held[1]],
        env=children.environment(PYTHONPATH=path),
    )
    children.wait_for_line(process, "started")
    process.kill()
    process.wait()
    wait_until_let_go(held)


def test_a_child_that_does_not_end_fails_its_test(monkeypatch: pytest.MonkeyPatch, held: tuple[int, int]) -> None:
    """When the limit is reached the child is ended and the failure tells which one it was."""
    monkeypatch.setattr(children, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(children, "task_seconds", lambda tasks: 1e-6 * tasks)
    with pytest.raises(pytest.fail.Exception, match=r"did not end in 3 reference tasks: .*100000"):
        children.run(["sleep", "100000"], tasks=3, pass_fds=[held[1]])
    wait_until_let_go(held)


@pytest.mark.parametrize(("seconds_each", "looks"), [(1.0, 3), (10.0, 26)])
def test_a_busy_machine_has_more_time(monkeypatch: pytest.MonkeyPatch, seconds_each: float, looks: int) -> None:
    """With a look every ten seconds, the time of 25 tasks is over once they could have been done, not before."""
    clock = iter(range(0, 10**6, 10))
    monkeypatch.setattr(children.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(children, "task_seconds", lambda tasks: seconds_each * tasks)
    patience = children._Patience(25)
    assert next(number for number in range(1, 100) if patience.is_over()) == looks
