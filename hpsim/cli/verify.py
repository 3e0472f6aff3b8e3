"""``hpsim verify``: the zero-counterexample claim, checked again for CI."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from hpsim import __version__
from hpsim.cli.announce import announce_compilation
from hpsim.cli.exits import COUNTEREXAMPLE, FAILED_CHUNKS, quit_at_once, stopped_by
from hpsim.cli.memory import keep_freed_memory
from hpsim.cli.options import WHOLE, workers_option
from hpsim.cli.sweep import json_option
from hpsim.cli.violations import config_command, in_words, run_command
from hpsim.cli.words import counted
from hpsim.conjecture.verify import CONFIGS, Verdict
from hpsim.errors import HpsimError
from hpsim.regime import NAMES

_WIDTH = 120  # more than the table ever needs, so that no number is cut short


@click.command()
@click.option(
    "--configs",
    type=WHOLE,
    default=CONFIGS,
    show_default=True,
    metavar="N",
    help="Random configurations of the exact search, 8 points each.",
)
@workers_option
@json_option
def verify(configs: int, workers: int | None, as_json: bool) -> None:
    """Check again that the paper's theorems have no counterexample.

    The recurrence of every regime is run and compared with its closed form: on the hand-crafted configurations, in the
    paper's random search in double precision, and in a larger one in exact arithmetic. Nothing is written.

    Exit code 0: everything held; 1: a violation was found, and the commands that show it again are printed; 2: wrong
    input; 130, 143: stopped by Ctrl-C, by SIGTERM.
    """
    from hpsim.cli.progress import progress_on_stderr
    from hpsim.conjecture import verify as library
    from hpsim.sweep.executors import Interrupted

    announce_compilation()
    keep_freed_memory()
    try:
        with progress_on_stderr("verify") as show:
            verdicts = library.verify(configs, workers, show)
    except Interrupted as stop:
        stopped_by(stop.signum, "nothing is decided")
    except KeyboardInterrupt:
        quit_at_once("nothing is decided")
    except HpsimError:
        raise
    except Exception as error:
        click.echo(f"error: a chunk failed, so nothing is decided: {type(error).__name__}: {error}", err=True)
        sys.exit(FAILED_CHUNKS)

    click.echo(json.dumps(_as_data(verdicts), indent=2) if as_json else "\n".join(_report(verdicts)))
    if not all(verdict.holds for verdict in verdicts):
        sys.exit(COUNTEREXAMPLE)


def _as_data(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    return {
        "hpsim": __version__,
        "holds": all(verdict.holds for verdict in verdicts),
        "verdicts": [
            {
                "sweep": verdict.check.sweep,
                "settings": verdict.check.settings,
                "source": verdict.check.source,
                "claims": verdict.sweep.claims,
                "regimes": verdict.sweep.regime_names,
                "microbatches": verdict.sweep.microbatches,
                "arithmetic": verdict.sweep.arithmetic,
                "tolerance": verdict.sweep.tolerance,
                **vars(verdict.totals),
                "seconds": round(verdict.seconds, 3),
                "violation": verdict.violation,
                "commands": _commands(verdict),
            }
            for verdict in verdicts
        ],
    }


def _commands(verdict: Verdict) -> list[str]:
    """The commands that run the violated sweep again, and that print the violating configuration."""
    if verdict.violation is None:
        return []
    file, settings = verdict.check.sweep, verdict.check.settings
    return [
        run_command(file, settings, f"results/verify-{file}"),
        config_command(file, settings, verdict.violation["config_id"]),
    ]


def _report(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield _table(verdicts)
    yield ""
    yield from (f"{verdict.check.sweep}: {verdict.check.source}" for verdict in verdicts)
    yield ""
    points, violations = (sum(getattr(v.totals, count) for v in verdicts) for count in ("points", "violations"))
    seconds = sum(verdict.seconds for verdict in verdicts)
    outcome = "holds" if all(verdict.holds for verdict in verdicts) else "VIOLATED"
    yield f"{outcome}: {points:,} points, {counted(violations, 'violation')}, {seconds:,.1f} s"
    for verdict in verdicts:
        if verdict.violation is not None:
            yield ""
            yield f"{verdict.check.sweep}: {counted(verdict.totals.violations, 'violation')}; the first:"
            yield f"  {in_words(verdict.violation, verdict.sweep.regime_names)}"
            yield "to see it again:"
            yield from (f"  {command}" for command in _commands(verdict))


def _table(verdicts: Sequence[Verdict]) -> str:
    """One column a sweep, which fits any terminal; colours only on a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column("", no_wrap=True)
    for verdict in verdicts:
        table.add_column(
            verdict.check.sweep, justify="right", no_wrap=True, style=None if verdict.holds else "bold red"
        )
    for row in _rows(verdicts):
        table.add_row(*row)
    console = Console(highlight=False, width=_WIDTH, force_terminal=sys.stdout.isatty())
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines() if line.strip())


def _rows(verdicts: Sequence[Verdict]) -> Iterator[list[str]]:
    yield ["arithmetic", *(verdict.sweep.arithmetic for verdict in verdicts)]
    for name, count in (("configurations", "configs"), ("points", "points"), ("violations", "violations")):
        yield [name, *(f"{getattr(verdict.totals, count):,}" for verdict in verdicts)]
    for regime in NAMES:
        if any(regime in verdict.sweep.regime_names for verdict in verdicts):
            yield [f"worst error, {regime}", *(_error(verdict.totals.max_rel_err.get(regime)) for verdict in verdicts)]
    yield ["seconds", *(f"{verdict.seconds:.2f}" for verdict in verdicts)]


def _error(worst: float | None) -> str:
    """The worst relative error of a regime."""
    if worst is None:
        return "-"
    return f"{worst:.1e}" if worst else "0"
