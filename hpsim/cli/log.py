"""``hpsim log``: service times and waits out of request logs, and pipelines made from them."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from hpsim.cli.options import WHOLE
from hpsim.cli.sweep import json_option

if TYPE_CHECKING:
    from hpsim.logs import Assembly, RequestLog, Summary


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--map", "columns", multiple=True, metavar="FIELD=COLUMN", help="The column that holds a field; repeat.")
@click.option(
    "--unit",
    default="s",
    show_default=True,
    metavar="UNIT",
    help="Of all times, also those printed: ns, us, ms, s, min or h.",
)
@click.option(
    "--tolerance",
    default="10 ms",
    show_default=True,
    metavar="T",
    help="How far total_s may be off duration_s + queue_wait_s; beyond, it is clock skew. In UNIT, or with a unit.",
)
@click.option("--pipeline", metavar="HOST,HOST,…", help="Make a pipeline: one stage for each host, in this order.")
@click.option("--model", metavar="NAME", help="With --pipeline: the model, when these hosts serve several.")
@click.option(
    "--quantile", type=float, metavar="SHARE", help="With --pipeline: of the service times.  [default: 0, the minimum]"
)
@click.option(
    "--d", metavar="T,…", help="With --pipeline: transfer time of each link, in UNIT or with a unit.  [default: none]"
)
@click.option("--M", "M", type=WHOLE, metavar="N", help="With --pipeline: number of micro-batches.  [default: 8]")
@click.option("--seed", type=WHOLE, default=0, show_default=True, metavar="N", help="Of the bootstrap.")
@click.option(
    "--bootstrap",
    "resamples",
    type=WHOLE,
    default=1000,
    show_default=True,
    metavar="N",
    help="Resamples for the intervals; 0: no intervals.",
)
@json_option
def log(
    files: tuple[str, ...],
    columns: tuple[str, ...],
    unit: str,
    tolerance: str,
    pipeline: str | None,
    model: str | None,
    quantile: float | None,
    d: str | None,
    M: int | None,
    seed: int,
    resamples: int,
    as_json: bool,
) -> None:
    """Service times of each model on each host, from request logs.

    FILE is CSV, JSON Lines or Parquet, plain or gzipped, or the name of a shipped log: gateway. Its columns are host,
    model, duration_s and queue_wait_s or total_s or both, and optionally id and start. Each request that cannot be used
    is counted with the reason. The minimum service time is the paper's lower-bound estimate of tau; what speaks against
    one is said in words. A time is in --unit, unless it is written with a unit of its own, such as 4 ms.
    """
    from hpsim.logs import LogError, assemble, read_log, summarize
    from hpsim.logs.bootstrap import Bootstrap
    from hpsim.logs.columns import parse_map

    for name, value in (("model", model), ("quantile", quantile), ("d", d), ("M", M)):
        if value is not None and pipeline is None:
            raise LogError(f"--{name}", "given without --pipeline", "both, for example --pipeline gpu-a,gpu-b")
    bootstrap = Bootstrap(resamples, seed)
    requests = read_log(files, parse_map(columns), unit, tolerance)
    summary = summarize(requests, bootstrap)
    made = None
    if pipeline is not None:
        hosts = _hosts(pipeline)
        transfers = d.split(",") if d and d.strip() else None
        made = assemble(requests, hosts, model, quantile or 0.0, transfers, 8 if M is None else M, bootstrap)
    if as_json:
        click.echo(json.dumps(_as_data(requests, summary, made), indent=2))
    else:
        from hpsim.cli.log_table import report

        click.echo(report(requests, summary, made))


def _hosts(text: str) -> list[str]:
    """The names in ``--pipeline``; one with a comma stands in quotes.

    Raises
    ------
    LogError
        When the text is no list of names.
    """
    from hpsim.logs import LogError

    try:
        return [host.strip() for host in next(csv.reader([text]), [])]
    except csv.Error as fault:
        raise LogError(
            "pipeline", f"{text[:60]!r} ({fault})", "names of hosts separated by commas, on one line"
        ) from None


def _as_data(log: RequestLog, summary: Summary, made: Assembly | None) -> dict[str, Any]:
    from hpsim.logs.bootstrap import LEVEL

    data = {
        "files": log.files,
        "columns": log.columns,
        "unit": log.unit,
        "tolerance": log.tolerance,
        "read": log.read,
        "kept": log.kept,
        "dropped": sum(drop.count for drop in log.dropped),
        "dropped_because": [asdict(drop) for drop in log.dropped],
        "direction": {"checked": log.direction_checked, "held": log.direction_held},
        "period": log.period,
        "hints": log.hints,
        "intervals": {"level": LEVEL, "method": "percentile bootstrap", **asdict(summary.bootstrap)},
        "groups": [asdict(group) for group in summary.groups],
        "totals": asdict(summary.totals),
    }
    return data if made is None else data | {"pipeline": _pipeline(made)}


def _pipeline(made: Assembly) -> dict[str, Any]:
    from hpsim.logs.assemble import caution

    rates: dict[str, Any]
    rates, per = made.throughputs()
    fields = {name: value for name, value in vars(made).items() if name not in ("pipeline", "tau")}
    return {
        **fields,
        "tau": [asdict(tau) for tau in made.tau],
        "d": [float(transfer) for transfer in made.pipeline.d],
        "homogeneity_bias": asdict(made.homogeneity_bias),
        "full_bias": asdict(made.full_bias),
        "makespans": {name: asdict(makespan) for name, makespan in made.makespans.items()},
        "throughput": rates | {"unit": per},
        "note": caution(made),
    }
