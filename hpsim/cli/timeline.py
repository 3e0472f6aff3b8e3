"""``hpsim timeline``: when everything happens in one pipeline, on the screen, as a figure or as a trace."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hpsim.cli.options import WHOLE
from hpsim.cli.pipeline_options import knob_options, read_count, read_regime, read_times, regime_in_words
from hpsim.cli.words import counted
from hpsim.errors import HpsimError, PipelineError, RegimeError
from hpsim.pipeline import Pipeline
from hpsim.regime import BLOCKING, RENDEZVOUS, Regime, named

if TYPE_CHECKING:
    from hpsim.scheduling import Schedule

_EXAMPLE = "for example: hpsim timeline --tau 1.13,2.90,2.62 --d 0.2,1 --M 8"
_PICTURES = ("svg", "png", "pdf")
_TRACE = "json"
_ENDINGS = "a file that ends in .svg, .png or .pdf for a figure, or in .json for a trace"
_LEAST_WIDTH = 40
_ARRAYS = ("arrival", "start", "finish", "depart", "release", "sending", "sent")


@click.command()
@click.option("--tau", metavar="T,T,…", help="Service time of each stage, separated by commas; decimals or fractions.")
@click.option("--d", metavar="T,…", help="Transfer time of each link, one fewer than stages.  [default: none]")
@click.option("--latency", metavar="T,…", help="Extra travel time of each link, which occupies nobody.")
@click.option("--M", "M", metavar="N", default="8", show_default=True, help="Number of micro-batches.")
@click.option("--regime", "name", metavar="NAME", help="free, async, blocking, partial (with --overlap) or rendezvous.")
@knob_options
@click.option("--unit", type=click.Choice(["s", "ms", "us"]), help="Unit of the times.  [default: s, in a trace]")
@click.option("--width", type=WHOLE, metavar="N", help="Columns of the chart.  [default: the terminal's, or 80]")
@click.option("--out", "outs", metavar="FILE", multiple=True, help=f"Write {_ENDINGS}; repeat.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers of the schedule as JSON.")
def timeline(
    tau: str | None,
    d: str | None,
    latency: str | None,
    M: str,
    name: str | None,
    unit: str | None,
    width: int | None,
    outs: tuple[str, ...],
    as_json: bool,
    **knobs: str | None,
) -> None:
    """Draw when each micro-batch is where in one pipeline, and how each stage spends its time.

    A row for each stage shows its services, each beginning with the number of its micro-batch, and between them what
    the link carries. With --out a figure or a trace is written instead, and its name printed; a trace (Chrome trace
    format) opens in Perfetto or chrome://tracing. Numbers are read exactly: 0.1 and 1/10 are the same.
    """
    if tau is None:
        raise PipelineError("timeline", "no --tau", _EXAMPLE)
    if width is not None and width < _LEAST_WIDTH:
        raise HpsimError("--width", str(width), f"at least {_LEAST_WIDTH} columns")
    files = [_file(out) for out in outs]
    pipeline = Pipeline(read_times("tau", tau) or [], read_times("d", d), read_times("latency", latency))
    count, regime = read_count("M", M), _regime(name, knobs)
    pipeline.free(count)  # whether the makespan fits float64 is told before anything large is made
    from hpsim.scheduling import schedule

    made = schedule(pipeline, count, regime)
    for file in files:
        _write(file, made, unit)
        click.echo(file, err=as_json)
    if as_json:
        click.echo(_as_json(made, regime))
    elif not files:
        from hpsim.cli.calc_table import aligned
        from hpsim.cli.timeline_page import page

        size = f"{counted(made.S, 'stage')}, {made.M:,} micro-batch{'' if made.M == 1 else 'es'}"
        makespan = f"makespan {aligned([made.makespan])[0]}" + (f" {unit}" if unit else "")
        click.echo(page(made, f"{size}, {regime_in_words(regime)}: {makespan}", unit, width))


def _regime(name: str | None, knobs: dict[str, str | None]) -> Regime:
    """The regime of this name, or async, with the knobs that are given."""
    if name == "partial":
        if knobs["overlap"] is None:
            raise RegimeError(
                "regime", "'partial' without --overlap", "the overlapped share, for example --overlap 0.5"
            )
        name = "async"
    elif name is not None and knobs["overlap"] is not None:
        raise RegimeError("overlap", f"--overlap and --regime {name}, which has its own", "one of the two")
    base = named(name or "async")
    own = {"overlap": "0"} if base in (BLOCKING, RENDEZVOUS) else {}
    if base == RENDEZVOUS:
        if knobs["buffers"] is not None:
            raise RegimeError("buffers", "--buffers and --regime rendezvous, which has none", "--regime blocking")
        own["buffers"] = "0"
    regime = read_regime(**(knobs | own))
    return regime if base.communication else dataclasses.replace(regime, communication=False)


def _file(out: str) -> Path:
    file = Path(out)
    if file.suffix.lower().removeprefix(".") not in (*_PICTURES, _TRACE):
        raise HpsimError("--out", f"{out!r} with the ending {file.suffix or 'missing'}", _ENDINGS)
    return file


def _write(file: Path, made: Schedule, unit: str | None) -> None:
    form = file.suffix.lower().removeprefix(".")
    if form == _TRACE:
        from hpsim.timeline.trace import trace

        content = trace(made, unit or "s").encode()
    else:
        from hpsim.timeline.picture import picture

        content = picture(made, form, unit)
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
        **{name: _numbers(getattr(made, name)) for name in _ARRAYS},
    }
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in fields.items()) + "\n}"


def _numbers(value: Any) -> Any:
    """What JSON knows: arrays and tuples as lists, times as floats, counts as they are."""
    if hasattr(value, "tolist"):
        return value.astype(float).tolist()
    if isinstance(value, tuple):
        return [_numbers(entry) for entry in value]
    return value if value is None or isinstance(value, int) else float(value)
