"""``hpsim calc``: everything about one pipeline, from flags or from a pipelines file."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hpsim.cli.pipeline_options import (
    pipelines_from,
    read_count,
    read_number,
    read_regime,
    regime_in_words,
    regime_options,
)
from hpsim.errors import PipelineError
from hpsim.pipeline import Pipeline
from hpsim.regime import Regime

if TYPE_CHECKING:
    from hpsim.cli.calc_table import Compared

_SHARE = "a share from 0 (blocking) to 1 (fully overlapped), for example 0.8"
_MAKESPAN = "a makespan of at least 0, for example 42.5"
_EXAMPLE = "for example: hpsim calc --tau 1.13,2.90,2.62 --M 8"


@click.command()
@click.argument("file", required=False)
@click.option("--tau", metavar="T,T,…", help="Service time of each stage, separated by commas; decimals or fractions.")
@click.option("--d", metavar="T,…", help="Transfer time of each link, one fewer than stages.  [default: none]")
@click.option(
    "--latency", metavar="T,…", help="Extra travel time of each link, which occupies nobody.  [default: none]"
)
@click.option("--M", "M", metavar="N", default="8", show_default=True, help="Number of micro-batches.")
@click.option(
    "--rho", metavar="SHARE", default="1.0", show_default=True, help="Overlap ratio of the linear blend, 0 to 1."
)
@click.option("--measured", metavar="T", help="A measured makespan: adds the overlap ratio it implies.")
@regime_options
@click.option("--plot", "picture", metavar="OUT", help="Draw the GPipe formula's error against M: .svg, .png or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: one object, or a list of objects for FILE.")
def calc(
    file: str | None,
    tau: str | None,
    d: str | None,
    latency: str | None,
    M: str,
    rho: str,
    measured: str | None,
    picture: str | None,
    as_json: bool,
    **knobs: str | None,
) -> None:
    """Makespans, bias, bottleneck and slack of one pipeline, or of each pipeline in FILE.

    FILE is a pipelines file in YAML, or the bare name of one that ships with hpsim, such as hand_crafted. Times share
    one unit; numbers are read exactly: 0.1 and 1/10 are the same. Any of --regime, --overlap, --buffers, --channels,
    --window and --feedback makes a regime, and adds its makespan, its bottleneck, and what to improve first. Several
    pipelines are compared at the end.
    """
    entries = pipelines_from("calc", _EXAMPLE, file, tau, d, latency)
    count, share = read_count("M", M), read_number("rho", rho, _SHARE)
    makespan = None if measured is None else read_number("measured", measured, _MAKESPAN)
    regime = read_regime(**knobs) if any(text is not None for text in knobs.values()) else None
    for about, pipeline in entries:
        pipeline.free(count)  # whether the makespan fits float64: no page is printed before all are known to be right
        if regime is not None:
            from hpsim.cli.calc_regime import check_fit

            check_fit(pipeline, regime, count, about.get("name"))
    if picture is not None:
        from hpsim.analysis.figure import save_pipelines

        save_pipelines([(about.get("name", ""), pipeline) for about, pipeline in entries], count, regime, Path(picture))
        click.echo(picture, err=True)
    results = _results(entries, count, share, makespan, regime)
    if as_json:
        _print_json(results, as_list=file is not None)
    else:
        _print_pages(results, share, regime)


def _print_pages(results: Iterable[dict[str, Any]], rho: Fraction, regime: Regime | None) -> None:
    """A page for each pipeline, with the section of its regime, and a comparison where there are several."""
    from hpsim.cli.calc_table import compared, comparison, report

    rows: list[Compared] = []
    for result in results:
        click.echo(f"\n{report(result, rho)}" if rows else report(result, rho))
        if regime is not None:
            from hpsim.cli.calc_regime_table import section

            click.echo(f"\n{section(regime, result['regime'])}")
        if "name" in result:
            rows.append(compared(result))
    if len(rows) > 1:
        click.echo(f"\n{comparison(rows, _heading(result, regime))}")


def _heading(result: dict[str, Any], regime: Regime | None) -> str:
    """What the rows of the comparison have in common with ``result``."""
    where = "" if regime is None else f" in the regime {regime_in_words(regime)}"
    unit = f", times in {result['unit']}" if result["unit"] else ""
    return f"compared{where}: {result['M']:,} micro-batch{'' if result['M'] == 1 else 'es'}{unit}"


def _results(
    entries: Iterable[tuple[dict[str, Any], Pipeline]],
    M: int,
    rho: Fraction,
    measured: Fraction | None,
    regime: Regime | None,
) -> Iterator[dict[str, Any]]:
    """One result at a time: a file may hold many pipelines, and each is printed when it is ready."""
    for about, pipeline in entries:
        compared = {} if measured is None else _compare(pipeline, M, measured)
        yield about | pipeline.analyze(M, rho) | compared | _in_regime(pipeline, regime, M)


def _in_regime(pipeline: Pipeline, regime: Regime | None, M: int) -> dict[str, Any]:
    if regime is None:
        return {}
    from hpsim.cli.calc_regime import in_regime

    return {"regime": in_regime(pipeline, regime, M)}


def _print_json(results: Iterable[dict[str, Any]], as_list: bool) -> None:
    before = "[\n" if as_list else ""
    for result in results:
        text = json.dumps(_plain(result), indent=2)
        click.echo(before + (textwrap.indent(text, "  ") if as_list else text), nl=False)
        before = ",\n"
    click.echo("\n]" if as_list else "")


def _compare(pipeline: Pipeline, M: int, measured: Fraction) -> dict[str, Any]:
    """The overlap ratio that a measured makespan implies, or why there is none; decided exactly."""
    if measured < 0:
        raise PipelineError("measured", f"{measured} is negative", _MAKESPAN)
    notes, rho = [], None
    for side, bound, outside in (
        ("below T_async", pipeline.async_(M), measured < pipeline.async_(M)),
        ("above T_block", pipeline.block(M), measured > pipeline.block(M)),
    ):
        if outside:
            notes.append(f"outside the model by {_per_cent(abs(measured / Fraction(bound) - 1))} % ({side})")
    try:
        rho = pipeline.overlap_ratio(measured, M)
    except PipelineError as fault:
        notes.append(f"undefined: {_UNDEFINED[fault.place]}")
    return {"T_measured": measured, "rho": None if notes else rho, "rho_note": "; ".join(notes) or None}


_UNDEFINED = {
    "M": "M = 1, a single micro-batch has no steady state to overlap (0/0)",
    "d": "no phase transition, so T_block = T_async (0/0)",
}


def _per_cent(share: Fraction) -> str:
    """Three digits, by way of decimals because the ratio of two float64 numbers may lie outside float64."""
    return f"{Decimal((100 * share).numerator) / Decimal((100 * share).denominator):.3g}"


def _plain(value: Any) -> Any:
    """What JSON knows: Fractions become floats, as the reference tool prints them."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, Fraction) else value
