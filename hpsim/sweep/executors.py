"""Chunks over threads: bounded work in flight, results as they come, an orderly stop on Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import Timer
from types import FrameType
from typing import TypeVar

from hpsim.processors import GIVE_UP, Abandoned

Result = TypeVar("Result")

# One chunk waits behind each running one, so that a thread never idles while the caller handles results.
IN_FLIGHT_PER_WORKER = 2
SECONDS_TO_FINISH = 2.0  # for the running chunks after a signal; most need far less


class Interrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM arrived; chunks that had been started were finished first, unless they took too long.

    Attributes
    ----------
    signum : int
        The signal.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def run_all(
    function: Callable[[int], Result], indices: Iterable[int], workers: int, *, apart: bool = False
) -> Generator[tuple[int, Result | Exception], None, None]:
    """Yield ``(index, function(index))`` for every index, in the order in which the calls end.

    Parameters
    ----------
    function : callable
        Called from ``workers`` threads at once; with one worker in the calling thread, unless ``apart``. An exception
        it raises stands in the place of its result and stops nothing.
    indices : iterable of int
        Read lazily, at most two per worker ahead of what has ended.
    workers : int
        At least 1.
    apart : bool
        Leave the calling thread free even with one worker, to deal with what has ended while the next call runs.

    Raises
    ------
    Interrupted
        After SIGINT or SIGTERM (when called from the main thread): no further call is started, those that run are
        waited for and yielded, or after SECONDS_TO_FINISH abandoned between two kernel calls. A second SIGINT is a
        plain ``KeyboardInterrupt`` at once, a second SIGTERM ends the process.
    """
    with _StopSignal() as stop:
        calls = _in_this_thread if workers == 1 and not apart else _in_pool
        yield from calls(function, indices, workers, stop)
        if stop.received is not None:
            raise Interrupted(stop.received)


class _StopSignal:
    """Notes the first SIGINT or SIGTERM instead of letting it break into a commit; the next one acts as always."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._patience = Timer(SECONDS_TO_FINISH, GIVE_UP.set)
        self._patience.daemon = True
        self._previous: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> _StopSignal:
        for signum in (signal.SIGINT, signal.SIGTERM):
            previous = signal.getsignal(signum)
            if previous in (signal.SIG_IGN, None):
                continue  # started under nohup or in the background: that choice stands
            try:
                signal.signal(signum, self._note)
            except ValueError:  # not in the main thread, which alone receives signals
                return self
            self._previous[signum] = previous
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()
        self._patience.cancel()
        GIVE_UP.clear()

    def _note(self, signum: int, frame: FrameType | None) -> None:
        self.received = signum
        self._restore()
        self._patience.start()

    def _restore(self) -> None:
        for signum, previous in self._previous.items():
            signal.signal(signum, previous)
        self._previous = {}


def _outcome(function: Callable[[int], Result], index: int) -> Result | Exception:
    try:
        return function(index)
    except Exception as error:
        return error


def _in_this_thread(
    function: Callable[[int], Result], indices: Iterable[int], workers: int, stop: _StopSignal
) -> Generator[tuple[int, Result | Exception], None, None]:
    for index in indices:
        if stop.received is not None:
            return
        outcome = _outcome(function, index)
        if not isinstance(outcome, Abandoned):
            yield index, outcome


def _in_pool(
    function: Callable[[int], Result], indices: Iterable[int], workers: int, stop: _StopSignal
) -> Generator[tuple[int, Result | Exception], None, None]:
    def unless_stopped(index: int) -> tuple[Result | Exception] | None:
        return (_outcome(function, index),) if stop.received is None else None

    upcoming = iter(indices)
    in_flight: dict[Future[tuple[Result | Exception] | None], int] = {}
    pool = ThreadPoolExecutor(workers, thread_name_prefix="hpsim-chunk")
    try:
        while True:
            if stop.received is None:
                for index in islice(upcoming, workers * IN_FLIGHT_PER_WORKER - len(in_flight)):
                    in_flight[pool.submit(unless_stopped, index)] = index
            if not in_flight:
                break
            ended_now = wait(in_flight, return_when=FIRST_COMPLETED).done  # a set, and in flight is in order
            for future in [future for future in in_flight if future in ended_now]:
                index = in_flight.pop(future)
                ended = future.result()
                if ended is not None and not isinstance(ended[0], Abandoned):
                    yield index, ended[0]
    except KeyboardInterrupt:  # the second Ctrl-C: not even the running chunks are waited for
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    except BaseException:  # the caller gave up
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
