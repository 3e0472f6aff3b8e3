"""How far the claims are, on stderr: a bar on a terminal, elsewhere a plain line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from hpsim.cli.progress import SECONDS_BETWEEN_LINES, bar_is_shown, bar_on_stderr
from hpsim.cli.words import counted

Show = Callable[[int, int, str], None]


@contextmanager
def claims_on_stderr() -> Iterator[Show]:
    """A function that shows how many claims are done and the next one; the bar disappears when the block ends."""
    with _bar() if bar_is_shown() else _lines() as show:
        yield show


@contextmanager
def _bar() -> Iterator[Show]:
    with bar_on_stderr() as bar:

        def show(done: int, total: int, name: str) -> None:
            bar.show(done, total, _state(done, total, name))

        yield show


@contextmanager
def _lines() -> Iterator[Show]:
    next_line = None

    def show(done: int, total: int, name: str) -> None:
        nonlocal next_line
        now = time.monotonic()
        if next_line is None or now >= next_line:
            words = counted(total, "claim") if next_line is None else " · ".join(_state(done, total, name))
            click.echo(f"verify: {words}", err=True)
            next_line = now + SECONDS_BETWEEN_LINES

    yield show


def _state(done: int, total: int, name: str) -> list[str]:
    return [f"{done}/{total} claims", name]
