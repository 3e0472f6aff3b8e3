"""``hpsim bench``: what hpsim costs on this machine, beside the limits."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

from hpsim.cli.exits import stopped_by
from hpsim.cli.sweep import json_option

NOTHING_LEFT = "temporary files are removed"


@click.command()
@click.option("--quick", is_flag=True, help="Tiny sizes, to see that everything runs; the figures mean little.")
@json_option
def bench(quick: bool, as_json: bool) -> None:
    """Measure speed, memory and start-up on this machine.

    Every figure stands beside the limit that it is compared with, the two measured in turn so that whatever else the
    machine does meets both: simulations beside the adders of the processor, NumPy and plain Python; sweeps beside the
    bare recurrence and beside pyarrow; start-up beside the import of NumPy. It takes a few minutes, and nothing stays
    on the disk. With --json the duration of every single run is printed too.
    """
    from hpsim.bench import run as library
    from hpsim.cli.bench_table import page
    from hpsim.cli.memory import keep_freed_memory
    from hpsim.sweep.executors import Interrupted
    from hpsim.sweep.run import RunInterrupted

    keep_freed_memory()
    try:
        with _stopping_on_sigterm(), _steps_on_stderr() as show:
            report = library.bench(quick, on_step=show)
    except (Interrupted, RunInterrupted) as stop:
        stopped_by(stop.signum, NOTHING_LEFT)
    except KeyboardInterrupt:
        stopped_by(signal.SIGINT, NOTHING_LEFT)
    click.echo(json.dumps(report.as_data(), indent=2) if as_json else page(report))


@contextmanager
def _stopping_on_sigterm() -> Iterator[None]:
    """SIGTERM unwinds the stack as Ctrl-C does, so that temporary files go away and no child is left.

    Where it is ignored from the start, it stays ignored.
    """
    from hpsim.sweep.executors import Interrupted

    def stop(signum: int, _frame: FrameType | None) -> None:
        raise Interrupted(signum)

    previous = signal.getsignal(signal.SIGTERM)
    if previous in (signal.SIG_IGN, None):
        yield
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def _steps_on_stderr() -> Iterator[Callable[[str], None]]:
    """A function that tells what is measured: in a line that disappears on a terminal, in plain lines elsewhere."""
    if not sys.stderr.isatty():
        yield lambda step: click.echo(f"bench: {step}", err=True)
        return
    from rich.console import Console

    with Console(stderr=True).status("bench", refresh_per_second=1) as status:  # hardly any work of its own
        yield status.update
