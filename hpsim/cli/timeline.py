"""``hpsim timeline``: when everything happens in one pipeline, on the screen, as a figure or as a trace."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hpsim.analysis.figure import FORMS
from hpsim.cli.options import WHOLE
from hpsim.cli.pipeline_options import (
    names_in_short,
    pipeline_options,
    pipelines_from,
    read_count,
    read_regime,
    regime_in_words,
    regime_options,
)
from hpsim.cli.words import counted, microbatches
from hpsim.errors import HpsimError, PipelineError, printable
from hpsim.regime import Regime
from hpsim.timeline.moments import KINDS
from hpsim.timeline.terminal import LEAST_WIDTH
from hpsim.timeline.trace import UNITS
from hpsim.vectors import in_short

if TYPE_CHECKING:
    from hpsim.scheduling import Schedule

_EXAMPLE = "for example: hpsim timeline --tau 1.13,2.90,2.62 --d 0.2,1 --M 8"
_PICTURES = ("svg", "png", "pdf")
_TRACE = "json"
_ENDINGS = "a file that ends in .svg, .png or .pdf for a figure, or in .json for a trace"


@click.command()
@pipeline_options
@click.option("--M", "M", metavar="N", default="8", show_default=True, help="Number of micro-batches.")
@regime_options
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
    unit: str | None,
    M: str,
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
    entries = pipelines_from("timeline", _EXAMPLE, file, entry, tau, d, latency, unit)
    if len(entries) > 1:
        found = f"{len(entries)} pipelines"
        raise PipelineError(file or "FILE", found, f"--pipeline with the name of one: {names_in_short(entries)}")
    ((about, pipeline),) = entries
    count, regime = read_count("M", M), read_regime(**knobs, unit=about["unit"])
    pipeline.free(count)  # whether the makespan fits float64 is told before anything large is made
    from hpsim.scheduling import schedule

    made = schedule(pipeline, count, regime)
    in_unit = printable(about["unit"] or "") or None
    names = [printable(name) for name in about.get("stages", ())]
    for path in written:
        _write(path, made, in_unit, names, style)
        click.echo(path, err=as_json)
    if as_json:
        click.echo(_as_json(made, regime, about))
    elif not written:
        from hpsim.cli.calc_table import aligned
        from hpsim.cli.timeline_page import page

        name = f"{printable(about['name'])}: " if "name" in about else ""
        size = f"{name}{counted(made.S, 'stage')}, {microbatches([made.M])}"
        makespan = f"makespan {aligned([made.makespan])[0]}" + (f" {in_unit}" if in_unit else "")
        title = f"{size}, {regime_in_words(regime, in_unit)}: {makespan}"
        click.echo(page(made, title, in_unit, width, names))


def _file(out: str) -> Path:
    file = Path(out)
    if file.suffix.lower().removeprefix(".") not in (*_PICTURES, _TRACE):
        raise HpsimError("--out", f"{out!r} with the ending {file.suffix or 'missing'}", _ENDINGS)
    return file


def _write(file: Path, made: Schedule, unit: str | None, names: Sequence[str], style: str) -> None:
    form = file.suffix.lower().removeprefix(".")
    if form == _TRACE:
        from hpsim.timeline.trace import trace

        if unit is not None and unit not in UNITS:
            raise HpsimError("unit", in_short(unit), f"one of {', '.join(UNITS)} for a trace")
        content = trace(made, unit or "s", names).encode()
    else:
        from hpsim.timeline.picture import picture

        content = picture(made, form, unit, names, style)
    try:
        file.write_bytes(content)
    except OSError as error:
        allowed = "a file in an existing folder that may be written to"
        raise HpsimError("--out", f"{file} cannot be written ({error.strerror or error})", allowed) from error


def _as_json(made: Schedule, regime: Regime, about: dict[str, Any]) -> str:
    """One line for each number or array; rows are micro-batches."""
    split = {field.name: getattr(made.split, field.name) for field in dataclasses.fields(made.split)}
    fields = {
        **about,
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
