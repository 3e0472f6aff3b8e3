"""``hpsim calculator``: the browser calculator as one self-contained file."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

import click

from hpsim.calculator.build import LANGUAGES, build, file_name
from hpsim.cli.completion import files
from hpsim.cli.pipeline_options import pipelines_from, read_count, read_number, read_time
from hpsim.errors import HpsimError, PipelineError, printable
from hpsim.exact import exact

_EXAMPLE = "for example: hpsim calculator --tau 1.13,2.90,2.62 --M 8"
_SHARE = "a share from 0 (blocking) to 1 (fully overlapped), for example 0.8"
_MAKESPAN = "a makespan of at least 0, for example 42.5"


@click.command()
@click.option("--tau", metavar="T,T,…", help="Service time of each stage, to open the page with; as in hpsim calc.")
@click.option("--d", metavar="T,…", help="Transfer time of each link.  [default: none]")
@click.option("--M", "M", metavar="N", help="Number of micro-batches.  [default: 8]")
@click.option("--rho", metavar="SHARE", help="Overlap ratio of the linear blend, 0 to 1.  [default: 1]")
@click.option("--measured", metavar="T", help="A measured makespan.")
@click.option("--unit", metavar="UNIT", help="Unit of all times, such as ms; the page shows bare numbers in it.")
@click.option("--lang", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Language of the page.")
@click.option(
    "--out",
    metavar="FILE",
    shell_complete=files,
    help="Where to write it: a file, a folder, or - for standard output.  [default: hpsim-calculator.html]",
)
@click.option("--open", "opened", is_flag=True, help="Open the page in the browser.")
def calculator(lang: str, out: str | None, opened: bool, **fields: str | None) -> None:
    """Write the browser calculator: one HTML page that works offline and sends nothing anywhere.

    It answers what hpsim calc answers, draws makespans and timelines as you type, and keeps its state in the address,
    so that a result can be shared as a link. The path of the page is printed; with --tau its address, filled in.
    """
    place = _place(**fields)
    if out == "-":
        if place:
            raise HpsimError("--out", "- with --tau, and standard output has no address", "a file: --out FILE")
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
    address = target.resolve().as_uri() + place
    click.echo(address if place else printable(str(target)))
    if opened:
        _open(address, str(target))


def _place(
    tau: str | None, d: str | None, M: str | None, rho: str | None, measured: str | None, unit: str | None
) -> str:
    """The part of the address that fills in the page, read as hpsim calc reads it; empty without any flag.

    Raises
    ------
    PipelineError
        For the first mistake.
    """
    if all(text is None for text in (tau, d, M, rho, measured, unit)):
        return ""
    if tau is None:
        raise PipelineError("calculator", "flags of a pipeline without --tau", _EXAMPLE)
    ((about, pipeline),) = pipelines_from("calculator", _EXAMPLE, None, None, tau, d, None, unit)
    count = read_count("M", "8" if M is None else M)
    share = read_number("rho", "1" if rho is None else rho, _SHARE)
    pipeline.analyze(count, share)  # whether all of it makes sense together
    makespan = None if measured is None else read_time("measured", measured, _MAKESPAN, about["unit"])
    if makespan is not None and makespan < 0:
        raise PipelineError("measured", f"{makespan} is negative", _MAKESPAN)
    values = {
        "tau": ",".join(_written(exact(time)) for time in pipeline.tau),
        "d": ",".join(_written(exact(time)) for time in pipeline.d),
        "M": str(count),
        "rho": _written(share),
        "T": "" if makespan is None else _written(makespan),
    }
    return "#" + "&".join(f"{name}={quote(text, safe=',/')}" for name, text in values.items())


def _written(value: Fraction) -> str:
    """The number exactly: a decimal where a short one is exact, else a fraction."""
    if value.denominator == 1:
        return str(value)
    decimal = repr(float(value))
    return decimal if Fraction(decimal) == value else str(value)


def _open(address: str, shown: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        click.echo(f"no browser could be started; open {printable(shown)} yourself", err=True)
