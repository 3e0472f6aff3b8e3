"""Pages for standard output, drawn with rich: with colours on a terminal only, and as wide as they need in a pipe.

A table is as wide as it needs where that fits; :func:`fitted` narrows its words, never its numbers, and where even that
is too wide it puts one record below the other.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Capture, Console
from rich.table import Table

UNLIMITED = 100_000  # columns: a pipe has no width, and nothing wraps there
_BETWEEN, _AROUND = 3, 2  # columns that a table of rich takes between its columns and at its edges


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        May have several lines, as cells may.
    cells : sequence of str
        One a row.
    words : bool
        Whether the cells are words: on the left, wrapped between words. Numbers are on the right and never wrapped.
    """

    name: str
    cells: Sequence[str]
    words: bool = False


def page_console(piped_width: int, width: int | None = None) -> Console:
    """A console that prints text as it stands; ``width`` columns wide, by default the terminal's or ``piped_width``."""
    terminal = sys.stdout.isatty()
    width = width or (None if terminal else piped_width)
    return Console(highlight=False, markup=False, emoji=False, force_terminal=terminal, width=width)


def page_text(capture: Capture) -> str:
    """What was captured, without blanks at the ends of lines or empty lines at the end."""
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


def fitted(columns: Sequence[Column], width: int) -> Table:
    """The columns side by side if ``width`` holds them with all numbers whole, otherwise one record below the other."""
    widths = _widths(columns, width)
    rows = list(zip(*(column.cells for column in columns), strict=True))
    if widths is None:
        return _records(columns, rows)
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column, wide in zip(columns, widths, strict=True):
        table.add_column(column.name, justify="left" if column.words else "right", width=wide, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def listed(pairs: Iterable[tuple[str, str]]) -> Table:
    """One line for each name and what is said of it, the latter wrapped between words."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for pair in pairs:
        grid.add_row(*pair)
    return grid


def _records(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Table:
    """Each row as a block of lines; cells that are empty say nothing there."""
    lines = [("", "")]  # as a table begins and ends with an empty line
    for row in rows:
        named = zip(columns, row, strict=True)
        lines += [(" ".join(column.name.split()), cell.replace("\n", "   ")) for column, cell in named if cell]
        lines.append(("", ""))
    return listed(lines)


def _widths(columns: Sequence[Column], width: int) -> list[int] | None:
    """The width of each column, or None when numbers and longest words do not fit; short columns of words go first."""
    wanted = [_longest(text.splitlines() for text in (column.name, *column.cells)) for column in columns]
    widths = [
        _longest(text.split() for text in (column.name, *column.cells)) if column.words else want
        for column, want in zip(columns, wanted, strict=True)
    ]
    spare = width - _AROUND - _BETWEEN * (len(columns) - 1) - sum(widths)
    if spare < 0:
        return None
    growing = sorted((index for index, column in enumerate(columns) if column.words), key=wanted.__getitem__)
    for place, index in enumerate(growing):
        more = min(wanted[index] - widths[index], spare // (len(growing) - place))
        widths[index] += more
        spare -= more
    return widths


def _longest(texts: Iterable[Sequence[str]]) -> int:
    return max((cell_len(part) for parts in texts for part in parts), default=0)
