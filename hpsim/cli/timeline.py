"""``hpsim timeline``: when everything happens in one pipeline, on the screen, as a figure or as a trace."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hpsim.analysis.figure import FORMS
from hpsim.cli.options import WHOLE
from hpsim.cli.pipeline_options import (
    pipelines_from,
    printable,
    read_count,
    read_regime,
    regime_in_words,
    regime_options,
)
from hpsim.cli.words import counted
from hpsim.errors import HpsimError, PipelineError
from hpsim.pipeline import Pipeline
from hpsim.regime import Regime
from hpsim.timeline.moments import KINDS
from hpsim.timeline.terminal import LEAST_WIDTH
from hpsim.timeline.trace import UNITS
from hpsim.vectors import in_short

if TYPE_CHECKING:
    from hpsim.scheduling import Schedule

_EXAMPLE = "for example: hpsim timeline --tau 1.13,2.90,2.62 --d 0.2,1 --M 8"
_NAMES = 10  # in a message
_PICTURES = ("svg", "png", "pdf")
_TRACE = "json"
_ENDINGS = "a file that ends in .svg, .png or .pdf for a figure, or in .json for a trace"


@click.command()
@click.argument("file", required=False)
@click.option("--pipeline", "entry", metavar="NAME", help="Which pipeline of FILE; needed where it has several.")
@click.option("--tau", metavar="T,T,…", help="Service time of each stage, separated by commas; decimals or fractions.")
@click.option("--d", metavar="T,…", help="Transfer time of each link, one fewer than stages.  [default: none]")
@click.option("--latency", metavar="T,…", help="Extra travel time of each link, which occupies nobody.")
@click.option("--M", "M", metavar="N", default="8", show_default=True, help="Number of micro-batches.")
@regime_options
@click.option("--unit", type=click.Choice(UNITS), help="Unit of the times.  [default: FILE's; in a trace s]")
@click.option("--width", type=WHOLE, metavar="N", help="Columns of the chart.  [default: the terminal's, or 80]")
@click.option("--out", "outs", metavar="FILE", multiple=True, help=f"Write {_ENDINGS}; repeat.")
@click.option("--style", type=click.Choice(FORMS), default="light", show_default=True, help="Colours of a figure.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers of the schedule as JSON.")
def timeline(
    file: str | None,
    entry: str | None,
    tau: str | None,
    d: str | None,
    latency: str | None,
    M: str,
    unit: str | None,
    width: int | None,
    outs: tuple[str, ...],
    style: str,
    as_json: bool,
    **knobs: str | None,
) -> None:
    """Draw when each micro-batch is where in one pipeline, and how each stage spends its time.

    FILE is a pipelines file in YAML, or the bare name of one that ships with hpsim, such as paper_clusters. A row for
    each stage shows its services, each beginning with the number of its micro-batch where that fits, and between them
    what the link carries. With --out a figure or a trace is written instead, and its name printed; a trace (Chrome
    trace format) opens in Perfetto or chrome://tracing. Numbers are read exactly: 0.1 and 1/10 are the same.
    """
    if width is not None and width < LEAST_WIDTH:
        raise HpsimError("--width", str(width), f"at least {LEAST_WIDTH} columns")
    written = [_file(out) for out in outs]
    about, pipeline = _one(pipelines_from("timeline", _EXAMPLE, file, tau, d, latency), entry)
    unit = unit or printable(about.get("unit") or "") or None
    count, regime = read_count("M", M), read_regime(**knobs)
    pipeline.free(count)  # whether the makespan fits float64 is told before anything large is made
    from hpsim.scheduling import schedule

    made = schedule(pipeline, count, regime)
    for path in written:
        _write(path, made, unit, style)
        click.echo(path, err=as_json)
    if as_json:
        click.echo(_as_json(made, regime))
    elif not written:
        from hpsim.cli.calc_table import aligned
        from hpsim.cli.timeline_page import page

        name = f"{printable(about['name'])}: " if about else ""
        size = f"{name}{counted(made.S, 'stage')}, {made.M:,} micro-batch{'' if made.M == 1 else 'es'}"
        makespan = f"makespan {aligned([made.makespan])[0]}" + (f" {unit}" if unit else "")
        click.echo(page(made, f"{size}, {regime_in_words(regime)}: {makespan}", unit, width))


def _one(entries: list[tuple[dict[str, Any], Pipeline]], name: str | None) -> tuple[dict[str, Any], Pipeline]:
    """The pipeline of this name, or the only one."""
    if name is None and len(entries) == 1:
        return entries[0]
    if "name" not in entries[0][0]:
        raise PipelineError("--pipeline", "--pipeline without FILE", "a pipelines file, or times alone")
    names = [about["name"] for about, _ in entries]
    if name in names:
        return entries[names.index(name)]
    listed = ", ".join(map(in_short, names[:_NAMES])) + (f" and {len(names) - _NAMES} more" * (len(names) > _NAMES))
    if name is None:
        raise PipelineError("FILE", f"{len(names)} pipelines", f"--pipeline with the name of one: {listed}")
    raise PipelineError("--pipeline", f"{in_short(name)} is not in FILE", f"one of {listed}")


def _file(out: str) -> Path:
    file = Path(out)
    if file.suffix.lower().removeprefix(".") not in (*_PICTURES, _TRACE):
        raise HpsimError("--out", f"{out!r} with the ending {file.suffix or 'missing'}", _ENDINGS)
    return file


def _write(file: Path, made: Schedule, unit: str | None, style: str) -> None:
    form = file.suffix.lower().removeprefix(".")
    if form == _TRACE:
        from hpsim.timeline.trace import trace

        if unit is not None and unit not in UNITS:
            raise HpsimError("unit", f"{in_short(unit)} in FILE", "--unit s, ms or us for a trace")
        content = trace(made, unit or "s").encode()
    else:
        from hpsim.timeline.picture import picture

        content = picture(made, form, unit, style)
    try:
        file.write_bytes(content)
    except OSError as error:
        allowed = "a file in an existing folder that may be written to"
        raise HpsimError("--out", f"{file} cannot be written ({error.strerror or error})", allowed) from error


def _as_json(made: Schedule, regime: Regime) -> str:
    """One line for each number or array; rows are micro-batches."""
    split = {field.name: getattr(made.split, field.name) for field in dataclasses.fields(made.split)}
    fields = {
        "S": made.S,
        "M": made.M,
        "regime": {field.name: _numbers(getattr(regime, field.name)) for field in dataclasses.fields(regime)},
        "makespan": float(made.makespan),
        "utilization": _numbers(made.utilization),
        "split": {name: _numbers(array) for name, array in split.items()},
        **{name: _numbers(getattr(made, name)) for name in KINDS},
    }
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in fields.items()) + "\n}"


def _numbers(value: Any) -> Any:
    """What JSON knows: arrays and tuples as lists, times as floats, counts as they are."""
    if hasattr(value, "tolist"):
        return value.astype(float).tolist()
    if isinstance(value, tuple):
        return [_numbers(entry) for entry in value]
    return value if value is None or isinstance(value, int) else float(value)
