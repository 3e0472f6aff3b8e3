"""``hpsim plot``: one figure of a run."""

from __future__ import annotations

from pathlib import Path

import click

from hpsim.analysis.figure import FORMS, KINDS
from hpsim.cli.summary import warn_unfinished


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--kind", type=click.Choice(list(KINDS)), required=True, help="; ".join(f"{k}: {v}" for k, v in KINDS.items())
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A .png, .svg or .pdf [default: <name of the run>-<kind>.png here].",
)
@click.option(
    "--style", "form", type=click.Choice(FORMS), default="light", show_default=True, help="Colours, for a background."
)
def plot(folder: Path, kind: str, out: Path | None, form: str) -> None:
    """Draw the run folder RUN, finished or not, in the width of a column; prints the name of the file."""
    from hpsim.analysis.figure import save
    from hpsim.analysis.run import open_run

    run = open_run(folder)
    warn_unfinished(run)
    target = out or Path(f"{run.sweep['name']}-{kind}.png")
    save(run, kind, target, form)
    click.echo(target)
