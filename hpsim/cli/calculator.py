"""``hpsim calculator``: the browser calculator as one self-contained file."""

from __future__ import annotations

import os
from pathlib import Path

import click

from hpsim.calculator.build import LANGUAGES, build, file_name
from hpsim.cli.completion import files
from hpsim.errors import HpsimError, printable


@click.command()
@click.option("--lang", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Language of the page.")
@click.option(
    "--out",
    metavar="FILE",
    shell_complete=files,
    help="Where to write it: a file, a folder, or - for standard output.  [default: hpsim-calculator.html]",
)
@click.option("--open", "opened", is_flag=True, help="Open the page in the browser.")
def calculator(lang: str, out: str | None, opened: bool) -> None:
    """Write the browser calculator: one HTML page that works offline and sends nothing anywhere.

    It answers what hpsim calc answers, draws makespans and timelines as you type, and keeps its state in the address,
    so that a result can be shared as a link. The path of the page is printed.
    """
    if out == "-":
        if opened:
            raise HpsimError("--open", "the page goes to standard output", "a file to open: --out FILE")
        click.echo(build(lang), nl=False)
        return
    target = Path(out or ".")
    if out is None or os.path.isdir(target):  # without a complaint about names that are too long
        target /= file_name(lang)
    try:
        target.write_text(build(lang), encoding="utf-8", newline="\n")
    except OSError as error:
        allowed = "a file in an existing folder that may be written to"
        raise HpsimError("--out", f"{target} cannot be written ({error.strerror or error})", allowed) from error
    click.echo(printable(str(target)))
    if opened:
        _open(target)


def _open(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        click.echo(f"no browser could be started; open {printable(str(page))} yourself", err=True)
