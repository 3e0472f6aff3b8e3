"""How far a search is, on stderr: a bar on a terminal, elsewhere a plain line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from hpsim.cli.progress import SECONDS_BETWEEN_LINES, bar_is_shown, plain_bar

if TYPE_CHECKING:
    from hpsim.conjecture.search_result import Progress

Show = Callable[["Progress"], None]


@contextmanager
def search_on_stderr() -> Iterator[Show]:
    """A function that shows the progress of a search; the bar disappears when the block ends."""
    with _bar() if bar_is_shown() else _lines() as show:
        yield show


def state(progress: Progress, seconds: float) -> str:
    """``progress`` in words: ``random · 1,200,000 of 4,000,000 points · 20,100,000 points/s · closest 3.1e-05``."""
    words = [progress.phase, f"{progress.points:,} of {progress.budget:,} points"]
    if progress.points and seconds > 0:
        words.append(f"{progress.points / seconds:,.0f} points/s")
    if progress.margin is not None:
        words.append("ties" if abs(progress.margin) < 1e-12 else f"closest {progress.margin:.2g}")
    return " · ".join(words)


@contextmanager
def _bar() -> Iterator[Show]:
    started = time.monotonic()
    with plain_bar() as update:

        def show(progress: Progress) -> None:
            words = state(progress, time.monotonic() - started)
            update(total=progress.budget, completed=progress.points, description=words)

        yield show


@contextmanager
def _lines() -> Iterator[Show]:
    started = time.monotonic()
    next_line = started + SECONDS_BETWEEN_LINES

    def show(progress: Progress) -> None:
        nonlocal next_line
        now = time.monotonic()
        if now >= next_line:
            click.echo(f"search: {state(progress, now - started)}", err=True)
            next_line = now + SECONDS_BETWEEN_LINES

    yield show
