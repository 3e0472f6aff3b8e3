"""The page that ``hpsim log`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from hpsim.cli.page import page_console, page_text
from hpsim.logs import Assembly, RequestLog, Summary
from hpsim.logs.assemble import caution
from hpsim.logs.bootstrap import LEVEL, MANY, Bootstrap, Estimate
from hpsim.logs.columns import one_line

_PIPED_WIDTH = 240  # a pipe has no width; nothing here should wrap
_MAKESPANS = {
    "T_free": "no communication (Theorem 1)",
    "T_async": "async (Theorem 2)",
    "T_block": "blocking (Theorem 3)",
    "T_gpipe": "GPipe formula",
}


def report(log: RequestLog, summary: Summary, made: Assembly | None) -> str:
    """The page as text, with colours only on a terminal."""
    console = page_console(_PIPED_WIDTH)
    parts = [_account(log), _groups(summary), _totals(log, summary)]
    if made is not None:
        parts.append(_pipeline(made, summary.bootstrap))
    with console.capture() as capture:
        for part in parts:
            for line in part:
                console.print(line)
            console.print()
    return page_text(capture)


def _account(log: RequestLog) -> Iterator[RenderableType]:
    """Requests read, kept and dropped, and why."""
    dropped = sum(drop.count for drop in log.dropped)
    files = f"{len(log.files)} file{'s' * (len(log.files) > 1)}"
    yield Text(f"{log.read:,} requests read from {files} = {log.kept:,} kept + {dropped:,} dropped", "bold")
    renamed = [f"{field} = {column}" for field, column in _merged(log.columns) if field != column]
    if renamed:
        yield Text(f"columns: {one_line(', '.join(renamed))}")
    if log.unit != "s":
        yield Text(f"times in the log are in {log.unit}, here in seconds")
    if log.period:
        yield Text(f"start from {one_line(log.period[0])} to {one_line(log.period[1])}")
    for hint in log.hints:
        yield Text(hint)
    if log.dropped:
        table = _table("dropped because", "requests", "first", "found", left=("dropped because", "first", "found"))
        for drop in log.dropped:
            table.add_row(f"{drop.column} {drop.reason}", f"{drop.count:,}", drop.place, one_line(drop.found))
        yield table


def _groups(summary: Summary) -> Iterator[RenderableType]:
    yield Text("Service time in seconds, by model and host", "bold")
    yield Text(_how(summary), "dim")
    names = ("model", "host", "requests", "minimum", "5 %", "median", "mean", "maximum", "waited", "longest wait")
    table = _table(*names, left=("model", "host"))
    for group in summary.groups:
        times = (group.minimum, group.p5, group.median, group.mean, group.maximum)
        table.add_row(
            one_line(group.model),
            one_line(group.host) + " *" * bool(group.flags),
            f"{group.count:,}",
            *map(_cell, times),
            f"{100 * group.waited:.1f} %",
            seconds(group.longest_wait),
        )
    yield table
    yield Text("The minimum estimates tau from below: the shortest request had the least to do, on an idle host.")
    flagged = [group for group in summary.groups if group.flags]
    if flagged:
        yield Text("* minima to doubt:")
    for group in flagged:
        for flag in group.flags:
            yield Text(f"  {one_line(group.model)} on {one_line(group.host)}: {flag}")


def _totals(log: RequestLog, summary: Summary) -> Iterator[RenderableType]:
    totals = summary.totals
    yield Text("The whole log", "bold")
    grid = Table.grid(padding=(0, 2))
    grid.add_row("waited in the queue", f"{100 * totals.waited:.1f} % of {log.kept:,} requests")
    waits = (("median", totals.median_wait), ("mean", totals.mean_wait), ("longest", totals.longest_wait))
    grid.add_row("queue_wait_s", _listed(waits))
    grid.add_row("duration_s", _listed((("median", totals.median_duration), ("longest", totals.longest_duration))))
    grid.add_row("total_s", _listed((("median", totals.median_total), ("longest", totals.longest_total))))
    grid.add_row("total_s >= duration_s", _direction(log))
    yield grid


def _pipeline(made: Assembly, bootstrap: Bootstrap) -> Iterator[RenderableType]:
    stages = len(made.hosts)
    size = f"{stages} stage{'s' * (stages > 1)}, {made.M:,} micro-batch{'es' * (made.M > 1)}, times in seconds"
    yield Text(f"Pipeline for {one_line(made.model)}: {size}", "bold")
    columns = ["stage", "host", "requests", f"tau, {_named(made.quantile)}", "bottleneck"]
    with_transfers = any(made.pipeline.d)
    table = _table(*columns, *(["d"] if with_transfers else []), left=("host", "bottleneck"))
    for s, host in enumerate(made.hosts):
        often = f" ({100 * made.bottleneck_shares[s]:.0f} % of resamples)" if made.bottleneck_shares else ""
        told = ("yes" if s in made.bottleneck else "no") + often
        link = [seconds(float(made.pipeline.d[s])) if s < stages - 1 else ""] if with_transfers else []
        table.add_row(str(s), one_line(host), f"{made.counts[s]:,}", _cell(made.tau[s]), told, *link)
    yield table
    numbers = _table("", f"at M = {made.M:,}", _interval_name(bootstrap), left=("",))
    for name, makespan in made.makespans.items():
        numbers.add_row(_MAKESPANS[name], seconds(makespan.value), _interval(makespan))
    bias = made.homogeneity_bias
    numbers.add_row("homogeneity bias, whatever M (Corollary 1)", seconds(bias.value), _interval(bias))
    if with_transfers:
        full = made.full_bias
        numbers.add_row("full bias, whatever M (Corollary 3)", seconds(full.value), _interval(full))
    yield numbers
    yield Text(caution(made))


def seconds(value: float) -> str:
    """A time with four digits that matter (three below 1), never fewer before the point: 273.6, 1.130, 0.0170."""
    if value == 0:
        return "0"
    size = abs(value)
    if not 1e-4 <= size < 1e9:
        return f"{value:.3g}"
    decimals = next(digits for digits, least in enumerate((1e3, 100, 10, 1, 0.1, 0.01, 1e-3, 1e-4)) if size >= least)
    return f"{value:,.{decimals - (size < 1)}f}"


def _cell(estimate: Estimate) -> str:
    return "\n".join(part for part in (seconds(estimate.value), _interval(estimate)) if part)


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{seconds(estimate.low)} … {seconds(estimate.high)}"


def _how(summary: Summary) -> str:
    drawn = summary.bootstrap
    if not drawn.resamples:
        return "no intervals: --bootstrap 0"
    many = any(group.count > MANY for group in summary.groups)
    return (
        f"below each: {_interval_name(drawn)} (percentile method, {drawn.resamples:,} resamples, seed {drawn.seed}); "
        "that of a minimum only reaches upward, of a maximum downward"
        + f"; the mean's is the normal one above {MANY:,} requests"
        * many
    )


def _interval_name(bootstrap: Bootstrap) -> str:
    return f"{100 * LEVEL:.0f} % bootstrap interval" if bootstrap.resamples else ""


def _named(quantile: float) -> str:
    known = {0.0: "minimum", 0.5: "median", 1.0: "maximum"}
    return known.get(quantile, f"{100 * quantile:g} % quantile")


def _direction(log: RequestLog) -> str:
    if not log.direction_checked:
        return "not to be checked: total_s was computed"
    failed = log.direction_checked - log.direction_held
    verdict = f"fails for {failed:,} (dropped)" if failed else "holds for all"
    return f"{verdict} of {log.direction_checked:,} requests with both"


def _listed(values: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {seconds(value)}" for name, value in values) + " s"


def _merged(columns: Sequence[dict[str, str]]) -> list[tuple[str, str]]:
    """(field, column) of all files, each once."""
    return list(dict.fromkeys(pair for matched in columns for pair in matched.items()))


def _table(*names: str, left: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name, justify="left" if name in left else "right", overflow="fold")
    return table
