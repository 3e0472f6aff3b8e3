"""``hpsim calc``: everything about one pipeline, from flags or from a pipelines file."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import click

from hpsim.errors import PipelineError
from hpsim.exact import exact
from hpsim.pipeline import Pipeline

_MOST_STAGES = 1024  # as in files
_COUNT = "a whole number of micro-batches, at least 1, for example 8"
_SHARE = "a share from 0 (blocking) to 1 (fully overlapped), for example 0.8"
_MAKESPAN = "a makespan of at least 0, for example 42.5"
_TIME = "a decimal such as 1.13, or a fraction such as 1/3"
_TIMES = "numbers separated by commas, such as 1.13,2.90,2.62"
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
    count, share = _whole("M", M), _number("rho", rho, _SHARE)
    makespan = None if measured is None else _number("measured", measured, _MAKESPAN)
    for _, pipeline in entries:
        pipeline.free(count)  # whether the makespan fits float64: no page is printed before all are known to be right
    results = _results(entries, count, share, makespan)
    if as_json:
        _print_json(results, as_list=file is not None)
    else:
        from hpsim.cli.calc_table import report

        for number, result in enumerate(results):
            click.echo(f"\n{report(result, share)}" if number else report(result, share))


def _results(
    entries: Iterable[tuple[dict[str, Any], Pipeline]], M: int, rho: Fraction, measured: Fraction | None
) -> Iterator[dict[str, Any]]:
    """One result at a time: a file may hold many pipelines, and each is printed when it is ready."""
    for about, pipeline in entries:
        compared = {} if measured is None else _compare(pipeline, M, measured)
        yield about | pipeline.analyze(M, rho) | compared


def _print_json(results: Iterable[dict[str, Any]], as_list: bool) -> None:
    before = "[\n" if as_list else ""
    for result in results:
        text = json.dumps(_plain(result), indent=2)
        click.echo(before + (textwrap.indent(text, "  ") if as_list else text), nl=False)
        before = ",\n"
    click.echo("\n]" if as_list else "")


def _from_flags(tau: str | None, d: str | None, latency: str | None) -> list[tuple[dict[str, Any], Pipeline]]:
    if tau is None:
        raise PipelineError("calc", "neither FILE nor --tau", _EXAMPLE)
    return [({}, Pipeline(_fields("tau", tau) or [], _fields("d", d), _fields("latency", latency)))]


def _from_file(file: str, tau: str | None, d: str | None, latency: str | None) -> list[tuple[dict[str, Any], Pipeline]]:
    if any(times is not None for times in (tau, d, latency)):
        raise PipelineError("calc", "both FILE and times", f"FILE alone, or --tau, --d and --latency; {_EXAMPLE}")
    if not file.strip():
        raise PipelineError("FILE", "an empty name", "a pipelines file, or the name of a shipped one: hand_crafted")
    from hpsim.sweep.file.pipelines_file import load_pipelines

    loaded = load_pipelines(file)
    unit = loaded.unit if "unit" in loaded.model_fields_set else None  # the file's own word, or none
    return [
        (
            {"name": entry.name, "unit": unit, "stages": list(entry.stages), "note": entry.note},
            entry.pipeline(),
        )
        for entry in loaded.pipelines
    ]


def _fields(name: str, text: str | None) -> list[Fraction] | None:
    """The numbers of a comma-separated flag; an empty flag is none, as in the reference tool."""
    if text is None or (not text.strip() and name != "tau"):
        return None
    fields = text.split(",")
    if len(fields) > _MOST_STAGES:
        raise PipelineError(name, f"{len(fields):,} values", f"at most {_MOST_STAGES:,} stages")
    for s, field in enumerate(fields):
        if not field.strip():
            raise PipelineError(f"{name}[{s}]", "an empty field", _TIMES)
    return [_number(f"{name}[{s}]", field, _TIME) for s, field in enumerate(fields)]


def _number(place: str, text: str, allowed: str) -> Fraction:
    if not text.strip():
        raise PipelineError(place, "no value", allowed)
    if re.fullmatch(r"[+-]?[0-9]{1,40}/0+", text.strip()):
        raise PipelineError(place, f"{text.strip()[:60]} divides by zero", allowed)
    try:
        return exact(text)
    except ValueError as fault:
        raise PipelineError(place, str(fault), allowed) from None


def _whole(place: str, text: str) -> int:
    value = _number(place, text, _COUNT)
    if value.denominator != 1:
        raise PipelineError(place, text, _COUNT)
    return int(value)


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
