"""``hpsim calc``: everything about one pipeline, from flags or from a pipelines file."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import click

from hpsim.errors import PipelineError
from hpsim.exact import exact
from hpsim.pipeline import Pipeline

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
@click.option("--json", "as_json", is_flag=True, help="Print JSON: one object, or a list of objects for FILE.")
def calc(
    file: str | None,
    tau: str | None,
    d: str | None,
    latency: str | None,
    M: str,
    rho: str,
    measured: str | None,
    as_json: bool,
) -> None:
    """Makespans, bias, bottleneck and slack of one pipeline, or of each pipeline in FILE.

    FILE is a pipelines file in YAML, or the bare name of one that ships with hpsim, such as hand_crafted. Times share
    one unit; numbers are read exactly: 0.1 and 1/10 are the same.
    """
    entries = _from_file(file, tau, d, latency) if file is not None else _from_flags(tau, d, latency)
    count, share = _whole("M", M), _number("rho", rho)
    results = []
    for about, pipeline in entries:
        result = about | pipeline.analyze(count, share)
        if measured is not None:
            result |= _compare(pipeline, count, _number("measured", measured))
        results.append(result)
    if as_json:
        plain = [_plain(result) for result in results]
        click.echo(json.dumps(plain if file is not None else plain[0], indent=2))
    else:
        from hpsim.cli.calc_table import report

        click.echo(report(results, share))


def _from_flags(tau: str | None, d: str | None, latency: str | None) -> list[tuple[dict[str, Any], Pipeline]]:
    if tau is None:
        raise PipelineError("calc", "neither FILE nor --tau", _EXAMPLE)
    return [({}, Pipeline(_fields("tau", tau) or [], _fields("d", d), _fields("latency", latency)))]


def _from_file(file: str, tau: str | None, d: str | None, latency: str | None) -> list[tuple[dict[str, Any], Pipeline]]:
    if any(times is not None for times in (tau, d, latency)):
        raise PipelineError("calc", "both FILE and times", f"FILE alone, or --tau, --d and --latency; {_EXAMPLE}")
    from hpsim.sweep.file.pipelines_file import load_pipelines

    loaded = load_pipelines(file)
    return [
        (
            {"name": entry.name, "unit": loaded.unit, "stages": list(entry.stages), "note": entry.note},
            entry.pipeline(),
        )
        for entry in loaded.pipelines
    ]


def _fields(name: str, text: str | None) -> list[Fraction] | None:
    """The numbers of a comma-separated flag; an empty flag is none, as in the reference tool."""
    if text is None or (not text.strip() and name != "tau"):
        return None
    return [_number(f"{name}[{s}]", field) for s, field in enumerate(text.split(","))]


def _number(place: str, text: str) -> Fraction:
    if not text.strip():
        raise PipelineError(place, "an empty field", "numbers separated by commas, such as 1.13,2.90,2.62")
    try:
        return exact(text)
    except ValueError as fault:
        raise PipelineError(place, str(fault), "a decimal such as 1.13, or a fraction such as 1/3") from None


def _whole(place: str, text: str) -> int:
    value = _number(place, text)
    if value.denominator != 1:
        raise PipelineError(place, text, "a whole number of micro-batches, at least 1, for example 8")
    return int(value)


def _compare(pipeline: Pipeline, M: int, measured: Fraction) -> dict[str, Any]:
    """The overlap ratio that a measured makespan implies, or why there is none; decided exactly."""
    if measured < 0:
        raise PipelineError("measured", f"{measured} is negative", "a makespan of at least 0")
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
