"""How far the claims are, on stderr: a bar on a terminal, elsewhere a plain line now and then."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from hpsim.cli.progress import SECONDS_BETWEEN_LINES
from hpsim.cli.words import counted

Show = Callable[[int, int, str], None]


@contextmanager
def claims_on_stderr() -> Iterator[Show]:
    """A function that shows how many claims are done and the next one; the bar disappears when the block ends."""
    on_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    with _bar() if on_terminal else _lines() as show:
        yield show


@contextmanager
def _bar() -> Iterator[Show]:
    from rich import progress as rich_progress
    from rich.console import Console

    bar = rich_progress.Progress(
        rich_progress.BarColumn(bar_width=24),
        rich_progress.TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("starting", total=None)

        def show(done: int, total: int, name: str) -> None:
            bar.update(task, total=total, completed=done, description=_state(done, total, name))

        yield show


@contextmanager
def _lines() -> Iterator[Show]:
    next_line = None

    def show(done: int, total: int, name: str) -> None:
        nonlocal next_line
        now = time.monotonic()
        if next_line is None or now >= next_line:
            words = counted(total, "claim") if next_line is None else _state(done, total, name)
            click.echo(f"verify: {words}", err=True)
            next_line = now + SECONDS_BETWEEN_LINES

    yield show


def _state(done: int, total: int, name: str) -> str:
    return f"{done}/{total} claims · {name}"
