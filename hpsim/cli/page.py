"""Pages for standard output, drawn with rich: with colours on a terminal only, and as wide as they need in a pipe."""

from __future__ import annotations

import sys

from rich.console import Capture, Console


def page_console(piped_width: int, width: int | None = None) -> Console:
    """A console that prints text as it stands; ``width`` columns wide, by default the terminal's or ``piped_width``."""
    terminal = sys.stdout.isatty()
    width = width or (None if terminal else piped_width)
    return Console(highlight=False, markup=False, emoji=False, force_terminal=terminal, width=width)


def page_text(capture: Capture) -> str:
    """What was captured, without blanks at the ends of lines or empty lines at the end."""
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())
