"""The first run on a machine compiles kernels for some seconds: say so, once, on stderr."""

from __future__ import annotations

import sys

import click


def announce_compilation() -> None:
    """Tell the user when a kernel is really compiled in this process, and not read from the cache."""
    from hpsim.kernels._jit import on_first_compilation

    on_first_compilation(_tell)


def _tell() -> None:
    from hpsim.warmup import cache_folder

    folder = cache_folder()
    kept = f"the code is kept in {folder}, so this happens once" if folder else "there is no folder to keep the code in"
    told = f"compiling the simulation kernels for this processor, up to half a minute; {kept}"
    click.echo(told, file=sys.stderr)  # err=True would write past a progress bar, into its line
