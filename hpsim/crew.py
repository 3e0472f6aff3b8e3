"""Threads that wait for the next call: starting one, and waking the processor for it, takes as long as a small run."""

from __future__ import annotations

import ctypes
import os
from _thread import LockType, allocate_lock, get_native_id, start_new_thread
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import TypeVar

Result = TypeVar("Result")


class _Helper:
    """A thread that does one task after another, and waits in between without cost; it ends with the process."""

    def __init__(self) -> None:
        self._given = allocate_lock()
        self._given.acquire()
        self._task: tuple[Callable[[], None], LockType] | None = None
        self._thread = 0  # its number to the system, once it runs
        self._processors: set[int] = set()
        start_new_thread(self._serve, ())

    def give(self, task: Callable[[], None], done: LockType, processors: set[int]) -> None:
        """Have ``task``, which must not raise, done on one of ``processors`` (empty: any); then release ``done``."""
        if self._thread and processors != self._processors:
            with suppress(OSError):
                os.sched_setaffinity(self._thread, processors)
                self._processors = processors
        self._task = task, done
        self._given.release()

    def _serve(self) -> None:
        self._thread = get_native_id()
        while True:
            self._given.acquire()
            assert self._task is not None
            task, done = self._task
            self._task = None
            task()
            del task  # and with it the caller's arrays, which would stay until the next call
            _idle.append(self)
            done.release()


def _processors(threads: int) -> set[int]:
    """Those for the helpers of a call on so many threads; empty where the system cannot tell.

    Where each thread can have its own, that is all that this thread may use but the one that it is on: Linux often
    wakes a thread on the processor of the one that woke it, though another one idles, and notices only after some
    milliseconds. Of runs of two milliseconds, in turn with other work, most were over by then.
    """
    if _processor is None:
        return set()
    allowed = os.sched_getaffinity(0)
    return allowed - {_processor()} if threads <= len(allowed) else allowed


_processor = getattr(ctypes.PyDLL(None), "sched_getcpu", None) if hasattr(os, "sched_setaffinity") else None
_idle: list[_Helper] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # the threads stay with the parent


def on_threads(work: Callable[[], Result], threads: int, stopped: Event) -> list[Result]:
    """What ``work`` returns on each of ``threads`` threads, this one among them; an error of one is raised at the end.

    Parameters
    ----------
    work : callable
        Called once on each thread.
    threads : int
        At least 1.
    stopped : threading.Event
        Set when this thread is interrupted; ``work`` should look at it now and then and give up.
    """
    outcomes: list[Result] = []
    errors: list[BaseException] = []
    running: list[LockType] = []

    def task() -> None:
        try:
            outcomes.append(work())
        except BaseException as error:
            errors.append(error)

    processors = _processors(threads) if threads > 1 else set()
    try:
        for _ in range(threads - 1):
            done = allocate_lock()
            done.acquire()
            (_idle.pop() if _idle else _Helper()).give(task, done, processors)
            running.append(done)
        outcomes.append(work())
    except BaseException:  # Ctrl-C, most likely: the threads give up after the call they are in
        stopped.set()
        raise
    finally:
        for done in running:
            done.acquire()
    if errors:
        raise errors[0]
    return outcomes
