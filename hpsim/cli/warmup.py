"""``hpsim warmup``: compile everything now, so that later runs only read the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hpsim.cli.announce import announce_compilation
from hpsim.errors import printable

if TYPE_CHECKING:
    from hpsim.warmup import Warmup


@click.command()
def warmup() -> None:
    """Compile every kernel now, so that later runs start at once.

    Useful when a machine image or a container is built: what root compiles there, every user reads. Compiled code is
    kept beside the package, or, where that cannot be written or other users could change it, in a folder of the user;
    the environment variable NUMBA_CACHE_DIR names another folder of your own.
    """
    from hpsim import warmup as library

    announce_compilation()
    click.echo(printable(_in_words(library.warmup())))


def _in_words(done: Warmup) -> str:
    if not done.kernels:
        return "nothing to compile: NUMBA_DISABLE_JIT is set"
    none = "no cache: no folder for it can be written" if done.compiled else "the cache is read-only"
    where = f"cache in {done.folder}" if done.folder else none
    cached = done.kernels - done.compiled
    return f"{done.kernels} kernels: {done.compiled} compiled, {cached} from the cache · {done.seconds:.1f} s · {where}"
