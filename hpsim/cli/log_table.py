"""The page that ``hpsim log`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from hpsim.cli.page import UNLIMITED, Column, fitted, listed, page_console, page_text
from hpsim.errors import printable
from hpsim.logs import Assembly, RequestLog, Summary
from hpsim.logs.assemble import caution
from hpsim.logs.bootstrap import LEVEL, MANY, Bootstrap, Estimate
from hpsim.logs.columns import brief
from hpsim.logs.statistics import Group

_GROUPS_SHOWN = 200
_DOUBTS_SHOWN = 20
_MAKESPANS = {
    "T_free": "no communication (Theorem 1)",
    "T_async": "async (Theorem 2)",
    "T_block": "blocking (Theorem 3)",
    "T_gpipe": "GPipe formula",
}


def report(log: RequestLog, summary: Summary, made: Assembly | None, width: int | None = None) -> str:
    """The page as text, with colours only on a terminal; ``width`` columns wide, by default as wide as can be."""
    console = page_console(UNLIMITED, width)
    parts = [_account(log, console.width), _groups(log, summary, console.width), _totals(log, summary)]
    if made is not None:
        parts.append(_pipeline(made, summary.bootstrap, console.width))
    with console.capture() as capture:
        for part in parts:
            for line in part:
                console.print(line)
            console.print()
    return page_text(capture)


def _account(log: RequestLog, width: int) -> Iterator[RenderableType]:
    """Requests read, kept and dropped, and why."""
    dropped = sum(drop.count for drop in log.dropped)
    files = f"{len(log.files)} file{'s' * (len(log.files) > 1)}"
    yield Text(f"{log.read:,} requests read from {files} = {log.kept:,} kept + {dropped:,} dropped", "bold")
    renamed = [f"{field} = {brief(column)}" for field, column in _merged(log.columns) if field != column]
    if renamed:
        yield Text(f"columns: {', '.join(renamed)}")
    if log.period:
        yield Text(f"start from {brief(log.period[0])} to {brief(log.period[1])}")
    for hint in log.hints:
        yield Text(hint)
    if log.dropped:
        columns = [
            Column("dropped because", [f"{drop.column} {drop.reason}" for drop in log.dropped], words=True),
            Column("requests", [f"{drop.count:,}" for drop in log.dropped]),
            Column("first", [drop.place for drop in log.dropped], words=True),
            Column("found", [printable(drop.found) for drop in log.dropped], words=True),
        ]
        yield fitted(columns, width)


def _groups(log: RequestLog, summary: Summary, width: int) -> Iterator[RenderableType]:
    yield Text(f"Service time in {log.unit}, by model and host", "bold")
    yield Text(_how(summary), "dim")
    groups = summary.groups[:_GROUPS_SHOWN]
    yield fitted(
        [
            Column("model", [brief(group.model) for group in groups], words=True),
            Column("host", [brief(group.host) + " *" * bool(group.flags) for group in groups], words=True),
            Column("requests", [f"{group.count:,}" for group in groups]),
            Column("minimum", [_cell(group.minimum) for group in groups]),
            Column("5 %", [_cell(group.p5) for group in groups]),
            Column("median", [_cell(group.median) for group in groups]),
            Column("mean", [_cell(group.mean) for group in groups]),
            Column("maximum", [_cell(group.maximum) for group in groups]),
            Column("waited", [f"{100 * group.waited:.1f} %" for group in groups]),
            Column("longest\nwait", [time_text(group.longest_wait) for group in groups]),
        ],
        width,
    )
    if len(summary.groups) > len(groups):
        yield Text(f"… and {len(summary.groups) - len(groups):,} more pairs of model and host; --json has them all")
    yield Text("The minimum estimates tau from below: the shortest request had the least to do, on an idle host.")
    yield from _doubts(summary.groups)


def _doubts(groups: Sequence[Group]) -> Iterator[Text]:
    flagged = [group for group in groups if group.flags]
    if flagged:
        yield Text("* minima to doubt:")
    for group in flagged[:_DOUBTS_SHOWN]:
        for flag in group.flags:
            yield Text(f"  {brief(group.model)} on {brief(group.host)}: {flag}")
    if len(flagged) > _DOUBTS_SHOWN:
        yield Text(f"  … and on {len(flagged) - _DOUBTS_SHOWN:,} more; --json has them all")


def _totals(log: RequestLog, summary: Summary) -> Iterator[RenderableType]:
    totals = summary.totals
    waits = (("median", totals.median_wait), ("mean", totals.mean_wait), ("longest", totals.longest_wait))
    durations = (("median", totals.median_duration), ("longest", totals.longest_duration))
    yield Text("The whole log", "bold")
    yield listed(
        [
            ("waited in the queue", f"{100 * totals.waited:.1f} % of {log.kept:,} requests"),
            ("queue_wait_s", _times(waits, log.unit)),
            ("duration_s", _times(durations, log.unit)),
            ("total_s", _times((("median", totals.median_total), ("longest", totals.longest_total)), log.unit)),
            ("total_s >= duration_s", _direction(log)),
        ]
    )


def _pipeline(made: Assembly, bootstrap: Bootstrap, width: int) -> Iterator[RenderableType]:
    stages = len(made.hosts)
    size = f"{stages} stage{'s' * (stages > 1)}, {made.M:,} micro-batch{'es' * (made.M > 1)}, times in {made.unit}"
    yield Text(f"Pipeline for {brief(made.model)}: {size}", "bold")
    columns = [
        Column("stage", [str(s) for s in range(stages)]),
        Column("host", [brief(host) for host in made.hosts], words=True),
        Column("requests", [f"{count:,}" for count in made.counts]),
        Column(f"tau, {_named(made.quantile)}", [_cell(tau) for tau in made.tau]),
        Column("bottleneck", [_decides(made, s) for s in range(stages)], words=True),
    ]
    with_transfers = any(made.pipeline.d)
    if with_transfers:
        columns.append(Column("d", [*(time_text(float(transfer)) for transfer in made.pipeline.d), ""]))
    yield fitted(columns, width)
    numbers = [(_MAKESPANS[name], makespan) for name, makespan in made.makespans.items()]
    numbers.append(("homogeneity bias, whatever M (Corollary 1)", made.homogeneity_bias))
    if with_transfers:
        numbers.append(("full bias, whatever M (Corollary 3)", made.full_bias))
    yield fitted(
        [
            Column("", [name for name, _ in numbers], words=True),
            Column(f"at M = {made.M:,}", [time_text(number.value) for _, number in numbers]),
            Column(_interval_name(bootstrap), [_interval(number) for _, number in numbers]),
        ],
        width,
    )
    rates, per = made.throughputs()
    yield Text(f"throughput as M grows: async {rates['async']:.4g} {per}, blocking {rates['blocking']:.4g} {per}")
    yield Text(caution(made))


def _decides(made: Assembly, s: int) -> str:
    often = f" ({100 * made.bottleneck_shares[s]:.0f} % of resamples)" if made.bottleneck_shares else ""
    return ("yes" if s in made.bottleneck else "no") + often


def time_text(value: float) -> str:
    """A time with four digits that matter (three below 1), never fewer before the point: 273.6, 1.130, 0.0170."""
    if value == 0:
        return "0"
    size = abs(value)
    if not 1e-4 <= size < 1e9:
        return f"{value:.3g}"
    decimals = next(digits for digits, least in enumerate((1e3, 100, 10, 1, 0.1, 0.01, 1e-3, 1e-4)) if size >= least)
    return f"{value:,.{decimals - (size < 1)}f}"


def _cell(estimate: Estimate) -> str:
    return "\n".join(part for part in (time_text(estimate.value), _interval(estimate)) if part)


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{time_text(estimate.low)}…{time_text(estimate.high)}"


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


def _times(values: Iterable[tuple[str, float]], unit: str) -> str:
    return ", ".join(f"{name} {time_text(value)}" for name, value in values) + f" {unit}"


def _merged(columns: Sequence[dict[str, str]]) -> list[tuple[str, str]]:
    """(field, column) of all files, each once."""
    return list(dict.fromkeys(pair for matched in columns for pair in matched.items()))
