"""Threads that wait between calls: each does its share, none is left over, and the caller is left as it was."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import weakref
from contextlib import suppress
from threading import Event

import children
import pytest

from hpsim.crew import on_threads

CPUS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def together(threads: int) -> list[int]:
    """The threads of a call in which each waits until all are there."""
    barrier = threading.Barrier(threads, timeout=60)

    def work() -> int:
        barrier.wait()
        return threading.get_native_id()

    return on_threads(work, threads, Event())


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_thread_works_once_and_all_at_the_same_time(threads: int) -> None:
    """As many different threads as asked for, the calling one among them."""
    used = together(threads)
    assert len(used) == len(set(used)) == threads
    assert threading.get_native_id() in used


def test_the_next_call_uses_the_same_threads() -> None:
    """A hundred calls start no thread that the first has not."""
    first = set(together(4))
    assert {thread for _ in range(100) for thread in together(4)} == first
    assert {thread for _ in range(100) for thread in together(2)} < first


def test_calls_from_several_threads_at_once() -> None:
    """Each caller gets the results of its own work."""
    found: dict[int, list[int]] = {}

    def call(number: int) -> None:
        found[number] = [on_threads(lambda: number, 3, Event()) == [number] * 3 for _ in range(200)]

    callers = [threading.Thread(target=call, args=(number,)) for number in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert found == {number: [True] * 200 for number in range(6)}


def test_work_may_call_again() -> None:
    """A thread of one call is not taken for another one that is made meanwhile."""
    assert on_threads(lambda: sorted(on_threads(lambda: 1, 2, Event())), 3, Event()) == [[1, 1]] * 3


@pytest.mark.parametrize("where", ["caller", "other"])
def test_an_error_is_raised_when_all_have_ended(where: str) -> None:
    """Whichever thread it happens on; the threads serve the next call as if nothing had happened."""
    caller, ended, barrier = threading.get_native_id(), [], threading.Barrier(2, timeout=60)

    def work() -> None:
        barrier.wait()
        if (threading.get_native_id() == caller) == (where == "caller"):
            raise ValueError(where)
        ended.append(1)

    stopped = Event()
    with pytest.raises(ValueError, match=where):
        on_threads(work, 2, stopped)
    assert ended == [1]
    assert stopped.is_set()
    assert len(set(together(2))) == 2


@pytest.mark.usefixtures("signals_are_heard")
def test_an_interrupt_while_waiting_stops_the_others() -> None:
    """Ctrl-C after the caller's own share: the other threads are told, and waited for."""
    caller, own_share, stopped, gave_up = threading.get_native_id(), Event(), Event(), []

    def work() -> None:
        if threading.get_native_id() == caller:
            own_share.set()
        else:
            gave_up.append(stopped.wait(600))

    def interrupt() -> None:
        own_share.wait(600)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        on_threads(work, 3, stopped)
    assert gave_up == [True, True]
    assert len(set(together(3))) == 3


def test_nothing_of_a_call_is_kept() -> None:
    """What the work holds goes with the call, after an error on another thread too, without the garbage collector."""

    class Thing:
        pass

    def call(fails: bool) -> weakref.ref[Thing]:
        thing, caller = Thing(), threading.get_native_id()
        barrier = threading.Barrier(2, timeout=60)

        def work() -> None:
            barrier.wait()
            if fails and threading.get_native_id() != caller:
                raise ValueError(str(thing))

        with suppress(ValueError):
            on_threads(work, 2, Event())
        return weakref.ref(thing)

    gc.disable()
    try:
        assert call(fails=False)() is None
        assert call(fails=True)() is None
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no way to choose a processor here")
def test_the_caller_may_use_the_same_processors_afterwards() -> None:
    """Helpers keep away from the caller's processor; the caller, and threads that it starts, may use all as before."""
    before = os.sched_getaffinity(0)
    masks: list[set[int]] = []
    caller = threading.get_native_id()
    barrier = threading.Barrier(2, timeout=60)

    def work() -> None:
        barrier.wait()
        if threading.get_native_id() != caller:
            masks.append(os.sched_getaffinity(0))

    for _ in range(3):  # a helper that starts for this call may not have told its number yet
        on_threads(work, 2, Event())
    assert os.sched_getaffinity(0) == before
    assert masks[-1] < before if CPUS > 1 else masks[-1] == before
    started: list[set[int]] = []
    thread = threading.Thread(target=lambda: started.append(os.sched_getaffinity(0)))
    thread.start()
    thread.join()
    assert started == [before]


@pytest.mark.skipif(CPUS < 2, reason="one processor")
def test_helpers_follow_the_processors_of_the_caller() -> None:
    """After the process was confined to one processor, the helpers are too; with more threads than processors all are
    used.
    """
    everywhere = os.sched_getaffinity(0)
    caller = threading.get_native_id()

    def masks(threads: int) -> list[set[int]]:
        barrier = threading.Barrier(threads, timeout=60)

        def work() -> set[int] | None:
            barrier.wait()
            return None if threading.get_native_id() == caller else os.sched_getaffinity(0)

        return [mask for mask in on_threads(work, threads, Event()) if mask is not None]

    masks(2)
    assert all(len(mask) == CPUS - 1 for mask in masks(2))
    try:
        os.sched_setaffinity(0, {min(everywhere)})
        assert masks(2) == [{min(everywhere)}]
    finally:
        os.sched_setaffinity(0, everywhere)
    masks(CPUS + 1)
    assert masks(CPUS + 1) == [everywhere] * CPUS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_starts_its_own() -> None:
    """The threads of the parent end before, and the child, which has none of them, does not wait for them."""
    code = (
        "import os, sys, time\n"
        "from threading import Event\n"
        "from hpsim.crew import on_threads\n"
        "on_threads(lambda: 1, 3, Event())\n"
        "threads = lambda: len(os.listdir('/proc/self/task')) if sys.platform == 'linux' else 1\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if on_threads(lambda: 1, 3, Event()) == [1, 1, 1] else 1)\n"
        "until = time.monotonic() + 30\n"
        "while threads() > 1 and time.monotonic() < until:\n"
        "    time.sleep(0.01)\n"
        "assert threads() == 1\n"
        "assert on_threads(lambda: 1, 3, Event()) == [1, 1, 1]\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert children.run([sys.executable, "-c", code]).returncode == 0


def test_waiting_threads_do_not_keep_the_process_alive() -> None:
    """A program ends although helpers wait for a next call."""
    code = "from threading import Event; from hpsim.crew import on_threads; on_threads(lambda: 1, 4, Event())"
    assert children.run([sys.executable, "-c", code]).stderr == ""
