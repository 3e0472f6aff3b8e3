"""Ctrl-C and SIGTERM while DuckDB works: both end the statement at once, so that its temporary files are removed.

Python alone would see a signal only when the statement, or a long task of it, has ended; and SIGTERM would leave behind
what DuckDB has put on disk.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_END = b"\0"  # no signal has this number
_SHELL_BASE = 128  # what a shell adds to the number of the signal that ended a process


@contextmanager
def stopping_at_once(interrupt: Callable[[], None]) -> Iterator[None]:
    """Call ``interrupt`` from a thread of its own as soon as SIGINT or SIGTERM arrives.

    The block then ends with KeyboardInterrupt, after SIGTERM with SystemExit. Outside the main thread, where Python
    handles no signals, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    terminated = False

    def on_sigterm(number: int, frame: FrameType | None) -> None:
        nonlocal terminated
        terminated = True
        raise SystemExit(_SHELL_BASE + number)

    ours = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, on_sigterm)
    try:
        with _watching(interrupt):
            yield
    except KeyboardInterrupt:
        if terminated:  # DuckDB had taken the exit for an interruption
            raise SystemExit(_SHELL_BASE + signal.SIGTERM) from None
        raise
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _watching(interrupt: Callable[[], None]) -> Iterator[None]:
    """A thread that waits for signals while the main thread is in DuckDB."""
    arrived, written = socket.socketpair()
    written.setblocking(False)

    def watch() -> None:
        while (number := arrived.recv(1)) != _END:
            if number[0] in (signal.SIGINT, signal.SIGTERM):
                interrupt()

    watcher = threading.Thread(target=watch, name="signals", daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        written.send(_END)
        watcher.join()
        arrived.close()
        written.close()
