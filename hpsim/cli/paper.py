"""``hpsim paper``: the paper's tables, figures and numbers, computed again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hpsim.cli.announce import announce_compilation
from hpsim.cli.completion import files
from hpsim.cli.exits import COUNTEREXAMPLE, quit_at_once, stopped_by
from hpsim.cli.memory import keep_freed_memory
from hpsim.cli.options import workers_option
from hpsim.errors import printable


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results/paper"),
    show_default=True,
    metavar="DIR",
    help="Folder for the report, its figures and tables.",
)
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="FILE",
    shell_complete=files,
    help="A request log, for Section 7.2 and Figure 5; repeat.",
)
@workers_option
@click.option("--quick", is_flag=True, help="Cut the random searches short, and leave their numbers undecided.")
def paper(out: Path, logs: tuple[str, ...], workers: int | None, quick: bool) -> None:
    """Compute everything that the paper reports again, and compare it number by number.

    Written are report.html, which needs no other file, report.md, numbers.csv (one row a number: where it stands, the
    paper's value, ours, agree or disagree or the paper contradicts itself), claims.csv, table1.csv, table2.csv, and the
    figures as PNG and SVG. Numbers from the authors' request logs need --log; without, they are left empty.

    Exit code 0: every number agrees, or the paper contradicts itself there; 1: a number disagrees; 2: wrong input;
    130, 143: stopped by Ctrl-C, by SIGTERM.
    """
    from hpsim.paper.report import verdicts
    from hpsim.paper.run import reproduce
    from hpsim.sweep.executors import Interrupted

    announce_compilation()
    keep_freed_memory()
    try:
        made = reproduce(out, logs, workers, quick)
    except Interrupted as stop:
        stopped_by(stop.signum, "nothing is written")
    except KeyboardInterrupt:
        quit_at_once("the report may be incomplete")
    click.echo(f"{verdicts(made.numbers)} → {printable(str(made.folder / 'report.html'))}")
    if not made.stands:
        click.echo("a number or a counterexample is not as it should be; the report says which", err=True)
        sys.exit(COUNTEREXAMPLE)
