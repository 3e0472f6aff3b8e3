"""What is told and timed of the compilation of kernels, which takes seconds on the first run on a machine."""

from __future__ import annotations

import logging
import sys
import time

_told = False
_within = 0  # compilations that are going on: a kernel that is compiled for another one counts as part of it
_since = 0.0  # when the outermost of them started
_compiled = 0.0  # seconds of those that have ended


def started(folder: str | None) -> None:
    """A kernel is being compiled, and not read from the disk; its code will be kept in ``folder``, if anywhere."""
    global _told, _within, _since
    if _within == 0:
        _since = time.monotonic()
    _within += 1
    if not _told:
        _told = True
        announce(folder)


def ended() -> None:
    """The compilation that started last has ended."""
    global _within, _compiled
    _within -= 1
    if _within == 0:
        _compiled += time.monotonic() - _since


def working_time() -> float:
    """A clock in seconds, as ``time.monotonic``, that stands still while kernels are compiled."""
    return (_since if _within else time.monotonic()) - _compiled


def announce(folder: str | None) -> None:
    """Say that kernels are compiled: a line on stderr where it is a terminal, elsewhere to the logger ``hpsim``."""
    kept = f"the code is kept in {folder}, so this happens once" if folder else "there is no folder to keep the code in"
    told = f"compiling the simulation kernels for this processor, up to half a minute; {kept}"
    told = "".join(character if character.isprintable() else " " for character in told)
    if sys.stderr is not None and sys.stderr.isatty():
        print(told, file=sys.stderr)
    else:
        logging.getLogger("hpsim").info(told)
