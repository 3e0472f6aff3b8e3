"""Chunks over threads: every result once, bounded work ahead, errors kept apart, an orderly stop."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from hpsim.processors import available_cpus
from hpsim.sweep.executors import Interrupted, run_all

SIGNALS = [signal.SIGINT, signal.SIGTERM]


pytestmark = pytest.mark.usefixtures("signals_are_heard")


def noted(signum: signal.Signals) -> None:
    """From any thread: send this process a signal, and wait until the main thread has noted it."""
    during = signal.getsignal(signum)
    os.kill(os.getpid(), signum)
    until = time.monotonic() + 600
    while signal.getsignal(signum) == during and time.monotonic() < until:
        time.sleep(0.001)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_index_comes_once_with_its_result(workers: int) -> None:
    """All results arrive, whatever the number of threads."""
    assert sorted(run_all(lambda index: index**2, range(30), workers)) == [(i, i**2) for i in range(30)]


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_stands_in_the_place_of_its_result(workers: int) -> None:
    """A call that raises loses no other."""

    def reciprocal(index: int) -> float:
        return 1 / index

    outcomes = dict(run_all(reciprocal, range(8), workers))
    assert isinstance(outcomes.pop(0), ZeroDivisionError)
    assert outcomes == {i: 1 / i for i in range(1, 8)}


def test_one_worker_is_the_calling_thread() -> None:
    """With one worker no thread is started."""
    threads = [thread for _, thread in run_all(lambda index: threading.current_thread(), range(3), 1)]
    assert threads == [threading.current_thread()] * 3


@pytest.mark.parametrize("workers", [1, 3])
def test_the_calling_thread_is_left_free(workers: int) -> None:
    """Calls apart happen on at most as many threads as there are workers, the calling one not among them."""
    outcomes = run_all(lambda index: threading.current_thread(), range(30), workers, apart=True)
    threads = {thread for _, thread in outcomes}
    assert 1 <= len(threads) <= workers
    assert threading.current_thread() not in threads


def test_one_worker_keeps_the_order() -> None:
    """However long the caller takes, results come as they were asked for."""
    found = []
    for index, _ in run_all(abs, range(50), 1, apart=True):
        time.sleep(0.002)
        found.append(index)
    assert found == list(range(50))


@pytest.mark.parametrize("workers", [1, 4])
def test_indices_are_read_lazily(workers: int) -> None:
    """From endless indices at most two a worker are taken ahead of what has been handed over."""
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        for index in itertools.count():
            taken = index + 1
            yield index

    results = run_all(lambda index: index, endless(), workers)
    for handed_over, _ in enumerate(itertools.islice(results, 50), 1):
        assert taken <= handed_over + 2 * workers
    results.close()


@pytest.mark.parametrize("signum", SIGNALS)
@pytest.mark.parametrize("workers", [1, 3])
def test_a_signal_lets_running_calls_finish(signum: signal.Signals, workers: int) -> None:
    """After SIGINT or SIGTERM nothing new starts, what was started is handed over, and then Interrupted says why."""
    started, finished = [], []
    stopped = threading.Event()

    def call(index: int) -> int:
        started.append(index)
        if index == 4:
            noted(signum)
            stopped.set()
        elif index > 4:
            stopped.wait(600)
        finished.append(index)
        return index

    handed_over = []

    def hand_over() -> None:
        for index, _ in run_all(call, range(1000), workers):
            handed_over.append(index)

    with pytest.raises(Interrupted) as stop:
        hand_over()
    assert stop.value.signum == signum
    assert sorted(started) == sorted(finished) == sorted(handed_over)
    assert 5 <= len(started) <= 5 + workers


def test_a_second_interrupt_is_not_waited_for() -> None:
    """A second Ctrl-C gets through while a call is still running."""
    release = threading.Event()

    def call(index: int) -> None:
        noted(signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        release.wait(600)

    with pytest.raises(KeyboardInterrupt) as stop:
        list(run_all(call, range(1), 2))
    assert not isinstance(stop.value, Interrupted)
    release.set()


def test_handlers_are_as_before() -> None:
    """After a run, and after one that was given up, signals act as they did."""
    list(run_all(abs, range(3), 2))
    given_up = run_all(abs, range(3), 2)
    next(given_up)
    given_up.close()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_an_ignored_interrupt_stays_ignored() -> None:
    """Under nohup and the like SIGINT is ignored, and a run does not change that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def call(index: int) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return index

    assert list(run_all(call, range(3), 1)) == [(0, 0), (1, 1), (2, 2)]


def test_runs_outside_the_main_thread() -> None:
    """A thread other than the main one, which cannot have signal handlers, can run chunks too."""
    results: list[tuple[int, object]] = []
    thread = threading.Thread(target=lambda: results.extend(run_all(abs, range(3), 2)))
    thread.start()
    thread.join()
    assert sorted(results) == [(0, 0), (1, 1), (2, 2)]


def test_available_cpus_are_this_process_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process confined to some CPUs counts only these."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    assert available_cpus() == 3
