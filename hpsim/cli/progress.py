"""How far a run is, on stderr: a bar on a terminal, elsewhere a plain line now and then."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from hpsim.cli.words import counted

if TYPE_CHECKING:
    from hpsim.sweep.run import Progress

SECONDS_BETWEEN_LINES = 10.0


def bar_is_shown() -> bool:
    """Whether stderr is a terminal on which a line can be drawn again."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def plain_bar() -> Iterator[Callable[..., None]]:
    """A bar on stderr, and a function that updates it: ``total``, ``completed``, ``description``."""
    from rich import progress as rich_progress
    from rich.console import Console

    bar = rich_progress.Progress(
        rich_progress.BarColumn(bar_width=24),
        rich_progress.TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        yield partial(bar.update, bar.add_task("starting", total=None))


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
    from rich import progress as rich_progress
    from rich.console import Console
    from rich.table import Column
    from rich.text import Text

    console = Console(stderr=True)
    bar = rich_progress.Progress(
        rich_progress.BarColumn(bar_width=24 if console.width >= 80 else 10, table_column=Column(no_wrap=True)),
        rich_progress.TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=False)),
        console=console,
        transient=True,
    )
    started = time.monotonic()
    opened = False
    with bar:
        task = bar.add_task("starting", total=None)

        def show(progress: Progress) -> None:
            nonlocal opened
            if progress.parts_recorded and not opened:
                bar.console.print(
                    Text(f"{name}: {opening(progress)}"), soft_wrap=True
                )  # above the bar, and not into it
            opened = True
            bar.update(
                task,
                total=progress.parts_total,
                completed=progress.parts_done + progress.parts_failed,
                description=state(progress, time.monotonic() - started),
            )

        yield show


@contextmanager
def _lines(name: str) -> Iterator[Callable[[Progress], None]]:
    started = time.monotonic()
    next_line = None

    def show(progress: Progress) -> None:
        nonlocal next_line
        now = time.monotonic()
        if next_line is None or now >= next_line:
            words = opening(progress) if next_line is None else state(progress, now - started)
            click.echo(f"{name}: {words}", err=True)
            next_line = now + SECONDS_BETWEEN_LINES

    yield show


def state(progress: Progress, seconds: float) -> str:
    """``progress`` in words, ``seconds`` after the start.

    For instance ``3/954 chunks · 3.1 M points · 80.2 M points/s · 0:12 left``.
    """
    words = [
        f"{progress.parts_done:,}/{progress.parts_total:,} chunks",
        f"{_quantity(progress.points_done)} points",
    ]
    if progress.parts_failed:
        words.append(f"{progress.parts_failed:,} failed")
    if progress.points_computed and seconds > 0:
        rate = progress.points_computed / seconds
        words.append(f"{_quantity(rate)} points/s")
        words.append(f"{_clock((progress.points_total - progress.points_done) / rate)} left")
    return " · ".join(words)


def _quantity(count: float) -> str:
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.{1 if count < 100 * size else 0}f} {letter}"
    return f"{count:.0f}"


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
