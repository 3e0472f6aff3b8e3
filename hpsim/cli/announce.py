"""The first run on a machine compiles kernels for some seconds: say so, once, on stderr, and tell that time apart."""

from __future__ import annotations

import sys
import time

import click

from hpsim.errors import printable

_told = False
_compiled = 0.0  # seconds, but for a compilation that is going on
_since: float | None = None  # when that one started


def announce_compilation() -> None:
    """Tell the user when a kernel is really compiled in this process, and not read from the cache."""
    from hpsim.kernels._jit import on_compilation

    on_compilation(_started, _ended)


def working_time() -> float:
    """A clock in seconds, as ``time.monotonic``, that stands still while kernels are compiled."""
    since = _since
    return (time.monotonic() if since is None else since) - _compiled


def _started() -> None:
    global _told, _since
    _since = time.monotonic()
    if not _told:
        _told = True
        _tell()


def _ended() -> None:
    global _compiled, _since
    if _since is not None:
        _compiled += time.monotonic() - _since
        _since = None


def _tell() -> None:
    from hpsim.warmup import cache_folder

    folder = cache_folder()
    kept = f"the code is kept in {folder}, so this happens once" if folder else "there is no folder to keep the code in"
    told = f"compiling the simulation kernels for this processor, up to half a minute; {kept}"
    click.echo(printable(told), file=sys.stderr)  # err=True would write past a progress bar, into its line
