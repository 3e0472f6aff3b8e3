"""The page that ``hpsim timeline`` prints: the chart, its legend and scale, and how each stage spends its time."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from hpsim.cli.calc_table import Column, aligned, print_table
from hpsim.cli.page import page_console, page_text
from hpsim.timeline.terminal import ASCII, LEAST_WIDTH, UNICODE, Chart, Glyphs, chart

if TYPE_CHECKING:
    from hpsim.scheduling import Schedule

_PIPED_WIDTH = 80
_TIED = "\0"  # where a line must not be broken
_STYLES = {  # Okabe and Ito's colours, as in figures; the characters say the same without them
    "service": "#0072B2",
    "service number": "bold #ffffff on #0072B2",
    "sending": "#E69F00",
    "blocked": "#D55E00",
    "starved": "bright_black",
    "transfer": "#56B4E9",
    "transfer number": "bold",
    "several": "bold #56B4E9",
    "partly": "#56B4E9",
    "travel": "bright_black",
    "axis": "bright_black",
}
_MEANINGS = {
    "service": "service",
    "sending": "sending",
    "blocked": "blocked",
    "starved": "starved",
    "transfer": "transfer",
    "several": "several transfers",
    "partly": "transfer in a part",
    "travel": "latency",
}


def page(schedule: Schedule, title: str, unit: str | None, width: int | None, names: Sequence[str]) -> str:
    """The page as text, with colours only on a terminal; its chart is as wide as the terminal unless told.

    ``names`` are those of the stages, or none.
    """
    console = page_console(_PIPED_WIDTH, width)
    columns = max(console.width, LEAST_WIDTH)
    glyphs = UNICODE if _printable(UNICODE) else ASCII
    drawn = chart(schedule, columns, glyphs, names)
    with console.capture() as capture:
        for line in textwrap.wrap(title, columns):
            console.print(Text(line, style="bold"))
        for row in drawn.rows:
            pieces = [(text, _STYLES.get(kind, "")) for text, kind in row]
            console.print(Text.assemble(*pieces, no_wrap=True, overflow="ignore"), crop=False)
        for legend in _legend(drawn, glyphs, unit, columns):
            console.print(Text(legend))
        if unit is not None:
            console.print(Text(f"\ntimes of each stage in {unit}"))
        _print_shares(console, schedule, names)
    return page_text(capture)


def _printable(glyphs: Glyphs) -> bool:
    try:
        "".join((*astuple(glyphs), "→")).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _legend(drawn: Chart, glyphs: Glyphs, unit: str | None, columns: int) -> list[str]:
    """What the characters mean, those that are there, and the scale; no item is broken."""
    items = [f"{getattr(glyphs, kind)} {text}" for kind, text in _MEANINGS.items() if _is_shown(drawn, kind)]
    items += [] if drawn.all_numbered else ["numbers only where they fit"]
    items.append(f"a column is {drawn.step:.10g}" + (f" {unit}" if unit else ""))
    lines = textwrap.wrap(", ".join(item.replace(" ", _TIED) for item in items), columns)
    return [line.replace(_TIED, " ") for line in lines]


def _is_shown(drawn: Chart, kind: str) -> bool:
    return bool({kind, f"{kind} number"} & drawn.shown)


def _print_shares(console: Console, schedule: Schedule, names: Sequence[str]) -> None:
    """One row for each stage: four times that add up to the makespan, and the share that it is busy."""
    split = schedule.split
    columns: list[Column] = [("stage", [str(s) for s in range(schedule.S)])]
    columns += [("name", names)] if names else []
    for kind in ("service", "sending", "starved", "blocked"):
        columns.append((kind, aligned(getattr(split, kind).tolist())))
    columns.append(("busy", [f"{100 * share:.1f} %" for share in schedule.utilization.tolist()]))
    print_table(console, columns, left=("name",))
