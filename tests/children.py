"""The one way in which tests start processes, wait for them and end them.

``run`` runs a command to its end; ``start`` starts one that a test then signals, and ``finish`` waits for its end::

    ended = children.run([sys.executable, "-c", code], cwd=folder)      # .returncode .stdout .stderr, as text
    process = children.start(command, env=variables)                    # a Popen; both streams are pipes
    children.wait_for_line(process, "a chunk starts")                   # or wait_until(process, state)
    process.send_signal(signal.SIGINT)
    ended = children.finish(process)

So that a test means the same on every machine, whoever started pytest and whatever else runs there:

- Signals act in a child as in a program started from a terminal. In a shell's background job, under nohup and under
  many CI runners SIGINT or SIGHUP is ignored or blocked, and whatever is started from there inherits it.
- A child and all that it starts are one process group, which is killed when its end has been waited for, or else when
  the test ends, however it ends; and by a guard when pytest itself is killed.
- Limits of time are counted in reference tasks (``task_seconds``), not in seconds: a busy machine has more of them.
"""

from __future__ import annotations

import atexit
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess, Popen
from typing import Any

import pytest

import hpsim

Child, Ended = Popen[Any], CompletedProcess[Any]

TASK = [sys.executable, "-P", "-c", "import numpy"]
IDLE_TASK_SECONDS = 0.1  # the least that a task counts for, so that no machine is too fast for a limit
PATIENCE = 1000  # reference tasks: minutes on an idle machine
LOOK_SECONDS = 10.0  # between two looks at how busy the machine is, and so free of charge for all that is in time
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GUARD = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""
TELLING = """
def tell(function, call):
    import functools, importlib, itertools, sys
    module, _, path = function.partition(":")
    *owners, name = path.split(".")
    owner = functools.reduce(getattr, owners, importlib.import_module(module))
    original, calls = getattr(owner, name), itertools.count(1)
    def told(*arguments, **options):
        if next(calls) == call:
            print(f"{function} is called", file=sys.stderr, flush=True)
        return original(*arguments, **options)
    setattr(owner, name, told)
"""

_started: list[Child] = []


@contextmanager
def signals_as_in_a_terminal() -> Iterator[None]:
    """SIGINT is KeyboardInterrupt, SIGTERM and SIGHUP end a process; in programs started within the block too."""
    before = {signum: signal.getsignal(signum) for signum in SIGNALS}
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    for signum in SIGNALS:  # a program starts with the default in the place of a handler, but keeps what is ignored
        signal.signal(signum, signal.default_int_handler if signum == signal.SIGINT else signal.SIG_DFL)
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def environment(**variables: str) -> dict[str, str]:
    """The variables of a process that finds the same hpsim as this one, and these."""
    path = os.pathsep.join(filter(None, [str(Path(hpsim.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **variables}


def start(command: Sequence[str], **options: Any) -> Child:
    """Start a command; options are those of ``Popen``; its streams are text and pipes unless they say otherwise."""
    usual = {
        "env": environment(),
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    with signals_as_in_a_terminal():
        process = Popen(command, start_new_session=True, **(usual | options))
    _started.append(process)
    _tell_the_guard(f"+{process.pid}")
    return process


def run(
    command: Sequence[str],
    *,
    input: str | bytes | None = None,
    check: bool = False,
    tasks: float = PATIENCE,
    **options: Any,
) -> Ended:
    """Run a command to its end, at most so many reference tasks long; with ``check`` it must end with exit code 0."""
    given = {} if input is None else {"stdin": subprocess.PIPE}
    ended = finish(start(command, **given, **options), input=input, tasks=tasks)
    assert not check or ended.returncode == 0, ended
    return ended


def finish(process: Child, *, input: str | bytes | None = None, tasks: float = PATIENCE) -> Ended:
    """Wait for its end and what it says; what it has started itself is then killed."""
    patience = _Patience(tasks)
    try:
        while True:
            try:
                stdout, stderr = process.communicate(input, timeout=LOOK_SECONDS)
                return CompletedProcess(process.args, process.returncode, stdout, stderr)
            except subprocess.TimeoutExpired:
                input = None  # it has been taken over
                if patience.is_over():
                    _kill(process)
                    pytest.fail(f"did not end in {tasks} reference tasks: {process.args}: {process.communicate()}")
    finally:
        end(process)


def wait_until(process: Child, state: Callable[[], object], *, tasks: float = PATIENCE) -> None:
    """Wait until ``state()`` is true, while the process runs."""
    patience = _Patience(tasks)
    while not state():
        if process.poll() is not None:
            assert state(), (process.args, process.returncode, process.communicate())
            return
        if patience.is_over():
            pytest.fail(f"waited in vain for {tasks} reference tasks: {process.args}")
        time.sleep(0.002)


def wait_for_line(process: Child, words: str, *, tasks: float = PATIENCE) -> None:
    """Wait until it has said these words in a line on stderr; ``finish`` returns only what it says after that line."""
    assert process.stderr is not None
    descriptor, patience, said = process.stderr.fileno(), _Patience(tasks), [b""]
    while not (said[-1].endswith(b"\n") and words.encode() in said[-1]):
        if select.select([descriptor], [], [], LOOK_SECONDS)[0]:
            byte = os.read(descriptor, 1)  # one at a time, so that nothing of the next line is taken
            assert byte, f"it ended without {words!r}: {b''.join(said).decode()}"
            said += [byte] if said[-1].endswith(b"\n") else [said.pop() + byte]
        elif patience.is_over():
            pytest.fail(f"waited in vain for {words!r}, {tasks} reference tasks long: {process.args}")


def drawn_by(command: Sequence[str], *streams: str, columns: int = 80, **options: Any) -> tuple[str, Ended]:
    """Run a command with these of its streams on a terminal of this width: what it draws there, and how it ended."""
    import fcntl
    import struct
    import termios

    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = start(command, **dict.fromkeys(streams, theirs), **options)
    os.close(theirs)
    drawn, patience = b"", _Patience(PATIENCE)
    with (
        open(terminal, "rb", buffering=0) as reading,
        suppress(OSError),
    ):  # how Linux tells that the other end is closed
        while not patience.is_over():
            if select.select([reading], [], [], LOOK_SECONDS)[0]:
                piece = reading.read(65536)
                if not piece:
                    break
                drawn += piece
    return drawn.decode(), finish(process)


@contextmanager
def adopted(process: Child) -> Iterator[None]:
    """For a group of processes that a library has started, and longer than a test: it ends with the block."""
    _tell_the_guard(f"+{process.pid}")
    try:
        yield
    finally:
        _kill(process)
        _tell_the_guard(f"-{process.pid}")


def telling(function: str, call: int = 1) -> str:
    """Code for the start of a child's ``python -c``: at this call of it, it says ``FUNCTION is called`` on stderr.

    ``function`` is named as in ``package.module:name`` or ``package.module:Class.name``.
    """
    return f"{TELLING}\ntell({function!r}, {call})\n"


def end(process: Child) -> None:
    """Kill it with all that it has started, unless they have ended, and close its pipes."""
    if process not in _started:
        return
    _kill(process)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    _started.remove(process)
    _tell_the_guard(f"-{process.pid}")


def end_all() -> None:
    """End what a test has left behind."""
    for process in tuple(_started):
        end(process)


def task_seconds(tasks: float) -> float:
    """How long so many reference tasks take on this machine at this moment: each a new Python that imports NumPy."""
    began = time.monotonic()
    subprocess.run(TASK, check=True, stdin=subprocess.DEVNULL)
    return tasks * max(IDLE_TASK_SECONDS, time.monotonic() - began)


class _Patience:
    """A limit of time, counted in the reference tasks that the machine could have done meanwhile."""

    def __init__(self, tasks: float) -> None:
        self._left = tasks
        self._looked = time.monotonic()

    def is_over(self) -> bool:
        """Whether the limit is reached; a look at the machine now and then decides what the time was worth."""
        passed = time.monotonic() - self._looked
        if passed >= LOOK_SECONDS:
            self._left -= passed / task_seconds(1)
            self._looked = time.monotonic()
        return self._left < 0


def _kill(process: Child) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS: a group of which only the dead are left
        os.killpg(process.pid, signal.SIGKILL)


@cache
def _guard() -> Popen[str]:
    """A process that kills the groups that are left when this one ends, however it ends."""
    guard = Popen(
        [sys.executable, "-I", "-S", "-c", GUARD],
        stdin=subprocess.PIPE,
        text=True,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert guard.stdin is not None
    atexit.register(guard.wait)
    atexit.register(guard.stdin.close)
    return guard


def _tell_the_guard(line: str) -> None:
    stdin = _guard().stdin
    assert stdin is not None
    print(line, file=stdin, flush=True)
