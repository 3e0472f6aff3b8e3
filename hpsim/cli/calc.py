"""``hpsim calc``: everything about one pipeline, from flags or from a pipelines file."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from hpsim.cli.options import WHOLE
from hpsim.cli.pipeline_options import (
    pipeline_options,
    pipelines_from,
    read_counts,
    read_number,
    read_regime,
    read_time,
    regime_options,
)
from hpsim.cli.words import per_cent
from hpsim.errors import HpsimError, PipelineError
from hpsim.pipeline import Pipeline
from hpsim.regime import Regime

_SHARE = "a share from 0 (blocking) to 1 (fully overlapped), for example 0.8"
_MAKESPAN = "a makespan of at least 0, for example 42.5"
_EXAMPLE = "for example: hpsim calc --tau 1.13,2.90,2.62 --M 8"
_PAGES = 5  # pipelines; of more only the comparison is printed

Results = list[dict[str, Any]]  # of one pipeline, one for each number of micro-batches


@click.command()
@pipeline_options
@click.option("--M", "M", metavar="N,…", default="8", show_default=True, help="Number of micro-batches, or several.")
@click.option(
    "--rho", metavar="SHARE", default="1.0", show_default=True, help="Overlap ratio of the linear blend, 0 to 1."
)
@click.option("--measured", metavar="T,…", help="A measured makespan for each M: how far it is from those computed.")
@regime_options
@click.option("--plot", "picture", metavar="OUT", help="Draw the GPipe formula's error against M: .svg, .png or .pdf.")
@click.option(
    "--sort",
    type=click.Choice(("makespan", "slope", "name", "file")),
    help="Order of the pipelines of FILE; slope is the time per micro-batch.  [default: makespan, in the comparison]",
)
@click.option("--top", type=WHOLE, metavar="N", help="Only the first N pipelines of FILE in that order.")
@click.option("--full", is_flag=True, help=f"A page for each pipeline of FILE, even of more than {_PAGES}.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: an object; for FILE or several M a list of them.")
def calc(
    file: str | None,
    entry: str | None,
    tau: str | None,
    d: str | None,
    latency: str | None,
    unit: str | None,
    M: str,
    rho: str,
    measured: str | None,
    sort: str | None,
    top: int | None,
    full: bool,
    picture: str | None,
    as_json: bool,
    **knobs: str | None,
) -> None:
    """Makespans, bias, bottleneck and slack of one pipeline, or of each pipeline in FILE.

    FILE is a pipelines file in YAML, or the bare name of one that ships with hpsim, such as hand_crafted. Times share
    one unit, --unit or FILE's: a bare number is in it, and 12ms is converted. Numbers are read exactly: 0.1 and 1/10
    are the same. Any of --regime, --overlap, --buffers, --channels, --window and --feedback makes a regime, and adds
    its makespan, its bottleneck, and what to improve first; then `busy` is of that regime, otherwise of async. Several
    pipelines are compared at the end, of more than 5 nothing else is printed.
    """
    entries = pipelines_from("calc", _EXAMPLE, file, entry, tau, d, latency, unit)
    in_unit = entries[0][0]["unit"]
    counts, share = read_counts("M", M), read_number("rho", rho, _SHARE)
    makespans = _read_measured(measured, len(counts), in_unit)
    _check_order(file, sort, top)
    regime = read_regime(**knobs, unit=in_unit) if any(text is not None for text in knobs.values()) else None
    for about, pipeline in entries:
        for count in counts:
            pipeline.free(count)  # whether it fits float64: no page is printed before all are known to be right
            if regime is not None:
                from hpsim.cli.calc_regime import check_fit

                check_fit(pipeline, regime, count, about.get("name"))
    if picture is not None:
        from hpsim.analysis.figure import save_pipelines

        named = [(about.get("name", ""), pipeline) for about, pipeline in entries]
        save_pipelines(named, counts[-1], regime, Path(picture))
        click.echo(picture, err=True)
    results = (_results(about, pipeline, counts, share, makespans, regime) for about, pipeline in entries)
    chosen: Iterable[Results] = results
    if sort is not None or top is not None:
        chosen = _in_order(results, sort or "makespan")[:top]
    if as_json:
        _print_json(chosen, as_list=(file is not None and entry is None) or len(counts) > 1)
        return
    from hpsim.cli.calc_table import Comparison

    comparison = Comparison(regime, counts, in_unit, len(entries))
    with_pages = full or len(entries) <= _PAGES
    for number, told in enumerate(chosen):
        if with_pages:
            _print_page(told, share, regime, first=number == 0)
        if len(entries) > 1:
            comparison.add(told)
    if len(entries) > 1:
        click.echo(comparison.text(sort, with_pages))


def _read_measured(text: str | None, count: int, unit: str | None) -> list[Fraction]:
    """A makespan for each of ``count`` numbers of micro-batches, or nothing."""
    if text is None:
        return []
    fields = text.split(",")
    if len(fields) != count:
        found = f"{len(fields)} value{'' if len(fields) == 1 else 's'} for {count} of M"
        raise PipelineError("measured", found, "one for each M, separated by commas")
    places = ["measured"] if count == 1 else [f"measured[{k}]" for k in range(count)]
    values = [read_time(place, field, _MAKESPAN, unit) for place, field in zip(places, fields, strict=True)]
    for place, value in zip(places, values, strict=True):
        if value < 0:
            raise PipelineError(place, f"{value} is negative", _MAKESPAN)
    return values


def _check_order(file: str | None, sort: str | None, top: int | None) -> None:
    for name, value in (("--sort", sort), ("--top", top)):
        if value is not None and file is None:
            raise HpsimError(name, f"{name} without FILE", "a pipelines file, whose pipelines are compared")
    if top is not None and top < 1:
        raise HpsimError("--top", str(top), "a whole number of pipelines, at least 1")


def _in_order(results: Iterable[Results], sort: str) -> list[Results]:
    from hpsim.cli.calc_table import order

    return sorted(results, key=lambda told: order(told, sort))


def _print_page(told: Results, rho: Fraction, regime: Regime | None, first: bool) -> None:
    """The page of a pipeline, with the section of its regime."""
    from hpsim.cli.calc_table import report

    click.echo(report(told, rho) if first else f"\n{report(told, rho)}")
    if regime is not None:
        from hpsim.cli.calc_regime_table import section

        click.echo(f"\n{section(regime, told)}")


def _results(
    about: dict[str, Any],
    pipeline: Pipeline,
    counts: Sequence[int],
    rho: Fraction,
    measured: Sequence[Fraction],
    regime: Regime | None,
) -> Results:
    """Everything about one pipeline; a file may hold many, and each is printed when it is ready."""
    results = [about | pipeline.analyze(M, rho) for M in counts]
    for result, makespan in zip(results, measured, strict=False):
        result |= _compare(pipeline, result["M"], makespan)
    if regime is not None:
        from hpsim.cli.calc_regime import in_regime

        told = in_regime(pipeline, regime, counts, measured, about["unit"])
        results = [result | {"regime": found} for result, found in zip(results, told, strict=True)]
    return results


def _print_json(chosen: Iterable[Results], as_list: bool) -> None:
    before = "[\n" if as_list else ""
    for told in chosen:
        for result in told:
            text = json.dumps(_plain(result), indent=2)
            click.echo(before + (textwrap.indent(text, "  ") if as_list else text), nl=False)
            before = ",\n"
    click.echo("\n]" if as_list else "")


def _compare(pipeline: Pipeline, M: int, measured: Fraction) -> dict[str, Any]:
    """The overlap ratio that a measured makespan implies, or why there is none; decided exactly."""
    notes, rho = [], None
    for side, bound, outside in (
        ("below T_async", pipeline.async_(M), measured < pipeline.async_(M)),
        ("above T_block", pipeline.blocking(M), measured > pipeline.blocking(M)),
    ):
        if outside:
            notes.append(f"outside the model by {per_cent(abs(measured / Fraction(bound) - 1))} % ({side})")
    try:
        rho = pipeline.overlap_ratio(measured, M)
    except PipelineError as fault:
        notes.append(f"undefined: {_UNDEFINED[fault.place]}")
    return {"T_measured": measured, "rho": None if notes else rho, "rho_note": "; ".join(notes) or None}


_UNDEFINED = {
    "M": "M = 1, a single micro-batch has no steady state to overlap (0/0)",
    "d": "no phase transition, so T_block = T_async (0/0)",
}


def _plain(value: Any) -> Any:
    """What JSON knows: Fractions become floats, as the reference tool prints them, and None beyond float64."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    try:
        return float(value) if isinstance(value, Fraction) else value
    except OverflowError:  # how far a measured makespan is off
        return None
