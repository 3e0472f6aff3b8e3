"""Threads that wait for the next call: starting one, and waking the processor for it, takes as long as a small run."""

from __future__ import annotations

import ctypes
import os
from _thread import LockType, allocate_lock, get_native_id, start_new_thread
from collections.abc import Callable, Set
from contextlib import suppress
from threading import Event
from typing import TypeVar

Result = TypeVar("Result")

_SECONDS_BETWEEN_SIGNALS = 0.2  # one that arrives just before a wait begins does not end it


class _Helper:
    """A thread that does one task after another, and waits in between."""

    def __init__(self) -> None:
        self._given = allocate_lock()
        self._given.acquire()
        self._task: tuple[Callable[[], None] | None, LockType] | None = None
        self._thread = 0  # its number to the system, once it runs
        self._allowed: Set[int] = frozenset()
        start_new_thread(self._serve, ())

    def give(self, task: Callable[[], None] | None, done: LockType, processors: Set[int] = frozenset()) -> None:
        """Have ``task``, which must not raise, done on one of ``processors`` (empty: any); then release ``done``.

        A thread that has only just been started takes any processor, for its first task. No task is the end of it.
        """
        if self._thread and processors and processors != self._allowed:
            with suppress(OSError):
                os.sched_setaffinity(self._thread, processors)
                self._allowed = processors
        self._task = task, done
        self._given.release()

    def _serve(self) -> None:
        self._thread = get_native_id()
        while True:
            self._given.acquire()
            assert self._task is not None
            task, done = self._task
            self._task = None
            if task is None:
                done.release()
                return
            task()
            del task  # and with it the caller's arrays, which would stay until the next call
            _idle.append(self)
            done.release()


def _for_helpers(threads: int) -> Set[int]:
    """Those for the helpers of a call on so many threads; empty where the system cannot tell.

    Where each thread can have its own, that is all that this thread may use but the one that it is on: Linux often
    wakes a thread on the processor of the one that woke it, though another one idles, and notices only after some
    milliseconds. Of runs of two milliseconds, in turn with other work, most were over by then.
    """
    if _sched_getcpu is None:
        return frozenset()
    allowed = os.sched_getaffinity(0)
    return allowed - {_sched_getcpu()} if threads <= len(allowed) else allowed


_sched_getcpu = getattr(ctypes.PyDLL(None), "sched_getcpu", None) if hasattr(os, "sched_setaffinity") else None
_idle: list[_Helper] = []


def _dismiss() -> None:
    """End the threads that wait: a process that forks should have no others, and the child would have none of them."""
    with suppress(IndexError):
        while True:
            done = allocate_lock()
            done.acquire()
            _idle.pop().give(None, done)
            done.acquire()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_dismiss, after_in_child=_idle.clear)


def _helper() -> _Helper:
    try:
        return _idle.pop()
    except IndexError:
        return _Helper()


def _wait_for(running: list[LockType]) -> None:
    for done in running:
        while not done.acquire(timeout=_SECONDS_BETWEEN_SIGNALS):
            pass
        done.release()  # after an interrupt it is waited for once more


def on_threads(work: Callable[[], Result], threads: int, stopped: Event) -> list[Result]:
    """What ``work`` returns on each of ``threads`` threads, this one among them; an error of one is raised at the end.

    Parameters
    ----------
    work : callable
        Called once on each thread.
    threads : int
        At least 1.
    stopped : threading.Event
        Set when one of the threads fails or is interrupted; ``work`` should look at it now and then and give up.
    """
    outcomes: list[Result] = []
    errors: list[BaseException] = []
    running: list[LockType] = []

    def task() -> None:
        try:
            outcomes.append(work())
        except BaseException as error:
            stopped.set()
            errors.append(error)

    processors = _for_helpers(threads) if threads > 1 else frozenset()
    try:
        for _ in range(threads - 1):
            done = allocate_lock()
            done.acquire()
            _helper().give(task, done, processors)
            running.append(done)
        task()
        _wait_for(running)
    except BaseException:  # Ctrl-C, most likely: the threads give up after the call they are in
        stopped.set()
        _wait_for(running)
        raise
    if errors:
        raise errors.pop(0)  # pop: or the error and this frame would keep each other, and the caller's arrays
    return outcomes
