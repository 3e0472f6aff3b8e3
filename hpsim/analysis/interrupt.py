"""Ctrl-C, SIGTERM and a closed terminal while DuckDB works: each ends the statement at once, so that its temporary
files are removed.

Python alone would see a signal only when the statement, or a long task of it, has ended; and SIGTERM and SIGHUP would
leave behind what DuckDB has put on disk.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_END = b"\0"  # no signal has this number
_SHELL_BASE = 128  # what a shell adds to the number of the signal that ended a process


@contextmanager
def stopping_at_once(interrupt: Callable[[], None]) -> Iterator[None]:
    """Call ``interrupt`` from a thread of its own as soon as SIGINT, SIGTERM or SIGHUP arrives.

    The block then ends with KeyboardInterrupt, after the others with SystemExit. Outside the main thread, where Python
    handles no signals, nothing is done. Where a caller handles SIGTERM or SIGHUP already, the block ends as it says.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ended_by = 0

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended_by
        ended_by = number
        raise SystemExit(_SHELL_BASE + number)

    ours = [number for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, end)
    try:
        with _watching(interrupt):
            yield
    except KeyboardInterrupt:
        if ended_by:  # DuckDB had taken the exit for an interruption
            raise SystemExit(_SHELL_BASE + ended_by) from None
        raise
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _watching(interrupt: Callable[[], None]) -> Iterator[None]:
    """A thread that waits for signals while the main thread is in DuckDB."""
    arrived, written = socket.socketpair()
    written.setblocking(False)

    def watch() -> None:
        while (number := arrived.recv(1)) != _END:
            if number[0] in (signal.SIGINT, *_ENDING):
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
