"""How far a run is, on stderr: a bar on a terminal, elsewhere a plain line now and then."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from hpsim.cli.words import counted
from hpsim.kernels._compiling import working_time

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from hpsim.sweep.run import Progress

SECONDS_BETWEEN_LINES = 10.0
_SETTLED = 2.0  # seconds of work, before which a rate would be mostly about loading


def bar_is_shown() -> bool:
    """Whether stderr is a terminal on which a line can be drawn again."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class Bar:
    """A bar with words beside it, in one line of the terminal however narrow that is."""

    def __init__(self, drawn: RichProgress) -> None:
        self._drawn = drawn
        self._task = drawn.add_task("starting", total=None)

    def show(self, done: int, total: int, words: Sequence[str]) -> None:
        """``done`` of ``total``; of the ``words``, the most important first, those that fit."""
        told = fitting(words, self._drawn.console.width - _bar_width(self._drawn.console.width) - 1)
        self._drawn.update(self._task, total=total, completed=done, description=told)

    def say(self, sentence: str) -> None:
        """A line above the bar, and not into it."""
        from rich.text import Text

        self._drawn.console.print(Text(sentence), soft_wrap=True)


def _bar_width(columns: int) -> int:
    return 24 if columns >= 100 else 10 if columns >= 60 else 8


def fitting(words: Sequence[str], columns: int) -> str:
    """The first of ``words``, and as many of the next as ``columns`` have room for."""
    shown = list(words)
    while len(shown) > 1 and len(" · ".join(shown)) > columns:
        shown.pop()
    return " · ".join(shown)


@contextmanager
def bar_on_stderr() -> Iterator[Bar]:
    """A bar that disappears when the block ends."""
    from rich import progress as rich_progress
    from rich.console import Console

    console = Console(stderr=True)
    drawn = rich_progress.Progress(
        rich_progress.BarColumn(bar_width=_bar_width(console.width)),
        rich_progress.TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
    )
    with drawn:
        yield Bar(drawn)


@contextmanager
def progress_on_stderr(name: str) -> Iterator[Callable[[Progress], None]]:
    """A function that shows the progress of the run ``name``; the bar disappears when the block ends."""
    with _bar(name) if bar_is_shown() else _lines(name) as show:
        yield show


def opening(progress: Progress) -> str:
    """What lies ahead, before anything is done; parts with a record are checked, and not computed again."""
    total = counted(progress.parts_total, "chunk")
    if not progress.parts_recorded:
        return f"{counted(progress.points_total, 'point')} in {total}"
    if progress.parts_recorded == progress.parts_total:
        return f"already computed, {total} to check"
    return f"resuming, {progress.parts_recorded:,} of {progress.parts_total:,} parts are recorded and will be checked"


@contextmanager
def _bar(name: str) -> Iterator[Callable[[Progress], None]]:
    started = working_time()
    opened = False
    with bar_on_stderr() as bar:

        def show(progress: Progress) -> None:
            nonlocal opened
            if progress.parts_recorded and not opened:
                bar.say(f"{name}: {opening(progress)}")
            opened = True
            done = progress.parts_done + progress.parts_failed
            bar.show(done, progress.parts_total, state(progress, working_time() - started))

        yield show


@contextmanager
def _lines(name: str) -> Iterator[Callable[[Progress], None]]:
    started = working_time()
    next_line = None

    def show(progress: Progress) -> None:
        nonlocal next_line
        now = time.monotonic()
        if next_line is None or now >= next_line:
            words = opening(progress) if next_line is None else " · ".join(state(progress, working_time() - started))
            click.echo(f"{name}: {words}", err=True)
            next_line = now + SECONDS_BETWEEN_LINES

    yield show


def state(progress: Progress, seconds: float) -> list[str]:
    """``progress`` in words, the most important first, after ``seconds`` of work.

    For instance ``3/954 chunks``, ``3.1 M points``, ``80.2 M points/s``, ``0:12 left``.
    """
    words = [f"{progress.parts_done:,}/{progress.parts_total:,} chunks"]
    if progress.parts_failed:
        words.append(f"{progress.parts_failed:,} failed")
    words.append(f"{quantity(progress.points_done)} points")
    if progress.points_computed and seconds >= _SETTLED:
        rate = progress.points_computed / seconds
        words.append(f"{quantity(rate)} points/s")
        words.append(f"{_clock((progress.points_total - progress.points_done) / rate)} left")
    return words


def quantity(count: float) -> str:
    """``12.3 M``: a large number with three or four digits."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.{1 if count < 100 * size else 0}f} {letter}"
    return f"{count:.0f}"


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
