"""How far a search is, on stderr: a bar on a terminal, elsewhere a plain line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from hpsim.cli.progress import SECONDS_BETWEEN_LINES, bar_is_shown, bar_on_stderr, quantity
from hpsim.kernels._compiling import working_time

if TYPE_CHECKING:
    from hpsim.conjecture.search_result import Progress

Show = Callable[["Progress"], None]


@contextmanager
def search_on_stderr() -> Iterator[Show]:
    """A function that shows the progress of a search; the bar disappears when the block ends."""
    with _bar() if bar_is_shown() else _lines() as show:
        yield show


def state(progress: Progress, seconds: float) -> list[str]:
    """``progress`` in words, the most important first, after ``seconds`` of work.

    For instance ``random``, ``1.2 M of 4.0 M points``, ``20.1 M points/s``, ``closest 3.1e-05``.
    """
    words = [progress.phase, f"{quantity(progress.points)} of {quantity(progress.budget)} points"]
    if progress.points and seconds > 0:
        words.append(f"{quantity(progress.points / seconds)} points/s")
    if progress.margin is not None:
        words.append("ties" if abs(progress.margin) < 1e-12 else f"closest {progress.margin:.2g}")
    return words


@contextmanager
def _bar() -> Iterator[Show]:
    started = working_time()
    with bar_on_stderr() as bar:

        def show(progress: Progress) -> None:
            bar.show(progress.points, progress.budget, state(progress, working_time() - started))

        yield show


@contextmanager
def _lines() -> Iterator[Show]:
    started = working_time()
    next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    def show(progress: Progress) -> None:
        nonlocal next_line
        now = time.monotonic()
        if now >= next_line:
            click.echo(f"search: {' · '.join(state(progress, working_time() - started))}", err=True)
            next_line = now + SECONDS_BETWEEN_LINES

    yield show
