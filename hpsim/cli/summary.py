"""``hpsim summary``: what a run adds up to."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hpsim.cli.exits import COUNTEREXAMPLE
from hpsim.cli.sweep import json_option
from hpsim.cli.violations import in_words
from hpsim.cli.words import counted
from hpsim.errors import printable

if TYPE_CHECKING:
    from rich.table import Table

    from hpsim.analysis.run import Run
    from hpsim.analysis.summary import Summary

_WIDTH = 120  # more than the tables need, so that no number is cut short
_VIOLATIONS_SHOWN = 5
_QUANTILES = {"p5": "5 %", "p25": "25 %", "median": "50 %", "p75": "75 %", "p95": "95 %", "max": "max"}


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@json_option
def summary(folder: Path, as_json: bool) -> None:
    """Summarise the run folder RUN, finished or not: totals, worst errors, phase transitions, quantiles, violations.

    For each regime of knobs: quantiles of its makespan against the first regime with a closed form, and which kind of
    resource decides how many configurations.

    All quantiles are exact. Memory stays below 1 GiB however long the run is; what does not fit goes to a temporary
    folder (TMPDIR). Exit code 1: the run found violations.
    """
    from hpsim.analysis.summary import stored_violations, summarise

    found = summarise(folder)
    warn_unfinished(found.run)
    for line in _json(found, stored_violations(found.run)) if as_json else _page(found):
        click.echo(line)
    if found.run.totals.violations:
        if not as_json:
            for line in _violations(found.run, folder, stored_violations(found.run)):
                click.echo(line)
        sys.exit(COUNTEREXAMPLE)


def warn_unfinished(run: Run) -> None:
    """Say on stderr when a run is not complete."""
    if run.unfinished:
        click.echo(f"note: {run.unfinished}", err=True)


def _json(found: Summary, violations: Iterable[dict[str, Any]]) -> Iterator[str]:
    """One JSON object, in lines; the violations come one by one, because they may be very many."""
    unclosed = json.dumps(found.as_dict(), indent=2).removesuffix("\n}")
    yield f'{unclosed},\n  "stored_violations": ['
    comma = ""
    for row in violations:
        yield f"    {comma}{json.dumps(row)}"
        comma = ", "
    yield "  ]\n}"


def _page(found: Summary) -> Iterator[str]:
    run, totals = found.run, found.run.totals
    unit = printable(f" [{run.unit}]") if run.unit else ""
    state = "complete" if run.unfinished is None else "unfinished"
    yield f"{run.sweep['name']}: {state}, {run.parts_done:,} of {run.parts_total:,} parts, {run.sweep['arithmetic']}"
    yield (
        f"{totals.configs:,} configurations · {totals.points:,} points · {totals.cells:,} cells · "
        f"{totals.violations:,} violations"
    )
    claims = printable(f"claims checked: {' · '.join(run.sweep['claims']) or 'none'}")
    yield from textwrap.wrap(claims, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    yield "\nworst relative error of recurrence and closed form"
    for regime in run.closed_regimes:
        yield f"  {regime:<9} {_error(totals.max_rel_err.get(regime))}"
    if found.phase is None:
        yield "\nno tables of quantiles: this run kept violations only (`record: points` in the sweep keeps all)"
        return
    yield from _section("phase transition by S", _phase(found.phase))
    yield from _section(f"homogeneity bias sum(tau_max - tau){unit} by S", _quantiles(found.bias or [], ["S"], False))
    if found.overlap_gain is None:
        yield "\noverlap gain T_blocking / T_async: needs both of these regimes in the sweep"
    else:
        table = _quantiles(found.overlap_gain, ["S", "M"], False)
        yield from _section("overlap gain T_blocking / T_async by S and M", table)
    title = f"over-estimate of the GPipe formula, T_gpipe / T_{found.gpipe_against} - 1, by S and M"
    yield from _section(title, _quantiles(found.gpipe_overestimate or [], ["S", "M"], True))
    for knobs in found.knobs or []:
        if knobs.ratio is not None:
            title = f"regime {knobs.name}: T_{knobs.name} / T_{knobs.against} by M"
            yield from _section(title, _quantiles(knobs.ratio, ["M"], False))
        yield from _section(f"regime {knobs.name}: what decides its slope{unit}, by S", _critical(knobs.critical))


def _critical(rows: Sequence[dict[str, Any]]) -> Table:
    """Configurations by the kind of resource that decides; kinds that decide none are left out."""
    from hpsim.analysis.summary import KINDS

    kinds = [kind for kind in KINDS if any(row[kind] for row in rows)]
    table = _table(["S", "configurations", *kinds, "mean slope"])
    for row in rows:
        counts = (f"{row[name]:,}" for name in ("configs", *kinds))
        table.add_row(str(row["S"]), *counts, f"{row['mean_slope']:,.5g}")
    return table


def _error(worst: float | None) -> str:
    if worst is None:
        return "-"
    return f"{worst:.1e}" if worst else "0"


def _violations(run: Run, folder: Path, rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The first violations in words, and the command that shows what else is stored (at most 1,000 a part)."""
    first = list(islice(rows, _VIOLATIONS_SHOWN + 1))
    more = len(first) > _VIOLATIONS_SHOWN
    yield f"\n{counted(run.totals.violations, 'violation')}{f'; the first {_VIOLATIONS_SHOWN}' if more else ''}:"
    for row in first[:_VIOLATIONS_SHOWN]:
        yield f"  {in_words(row, run.regimes)}"
    if more:
        yield f"all that are stored: {shlex.join(['hpsim', 'query', printable(str(folder)), 'FROM violations'])}"


def _section(title: str, table: Table) -> Iterator[str]:
    from rich.console import Console

    console = Console(highlight=False, width=_WIDTH, force_terminal=sys.stdout.isatty())
    with console.capture() as capture:
        console.print(table)
    yield f"\n{title}"
    yield from (line.rstrip() for line in capture.get().splitlines() if line.strip())


def _table(names: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _phase(rows: Iterable[dict[str, Any]]) -> Table:
    table = _table(["S", "configurations", "in transition", "share"])
    for row in rows:
        table.add_row(str(row["S"]), f"{row['configs']:,}", f"{row['in_transition']:,}", f"{100 * row['share']:.2f} %")
    return table


def _quantiles(rows: Iterable[dict[str, Any]], by: Sequence[str], percent: bool) -> Table:
    table = _table([*by, "count", *_QUANTILES.values()])
    for row in rows:
        numbers = [f"{100 * row[name]:+z.1f} %" if percent else f"{row[name]:,.5g}" for name in _QUANTILES]
        table.add_row(*(f"{row[name]:,}" for name in (*by, "count")), *numbers)
    return table
