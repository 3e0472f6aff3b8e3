"""The section that ``hpsim calc`` prints for a regime: makespan, what decides it, and what to improve first."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hpsim.cli.calc_table import Column, Results, aligned, fact_table, header, implied_overlap, print_table, rates
from hpsim.cli.page import page_console, page_text
from hpsim.cli.pipeline_options import regime_in_words
from hpsim.cli.words import per_cent
from hpsim.errors import printable
from hpsim.regime import Regime
from hpsim.throughput_terms import shown

_PIPED_WIDTH = 200  # a pipe has no width; nothing here should wrap
_ROWS = 5  # changes shown; --json has all
_EVENTS = 8  # of a cycle
_COUNTED = ("buffers", "channels", "window", "overlap")  # knobs that are no times


def section(regime: Regime, told: Results) -> str:
    """The section as text, with colours only on a terminal; each result has that of ``in_regime``."""
    console = page_console(_PIPED_WIDTH)
    unit = printable(told[0]["unit"] or "")
    with console.capture() as capture:
        console.print(Text(f"in the regime: {regime_in_words(regime, unit)}", style="bold"))
        console.print(_facts(told, unit))
        _print_changes(console, told[0]["regime"], unit)
    text = page_text(capture)
    return text.replace("→", "->").replace("…", "...") if console.options.ascii_only else text


def _facts(told: Results, unit: str) -> Table:
    facts, result = fact_table(), told[0]["regime"]
    of = f" {unit}" if unit else ""
    for found in told:
        M = f", M = {found['M']:,}" if len(told) > 1 else ""
        facts.add_row(f"makespan{M}", aligned([found["regime"]["T"]])[0] + of)
        if "T_measured" in found:
            measured = aligned([found["T_measured"]])[0] + of
            facts.add_row(f"measured{M}", f"{measured}: {_off(found['regime']['measured_off_by'])}")
            facts.add_row("", f"beside async and blocking: {implied_overlap(found)}")
    facts.add_row("per micro-batch", aligned([result["slope"]])[0] + of)
    (rate,), per = rates([result["slope"]], unit or None)
    facts.add_row("throughput", f"{rate} {per}".rstrip())
    names = [name for name in result["bottlenecks"] if not result["critical"].startswith(_in_full(name))]
    tied = f"; as slow: {', '.join(names[:_ROWS])}" if names else ""
    more = f" and {len(names) - _ROWS} more" if len(names) > _ROWS else ""
    facts.add_row("bottleneck", result["critical"] + tied + more)
    cycle = result["cycle"]
    path = cycle if len(cycle) <= _EVENTS else [*cycle[: _EVENTS // 2], "…", *cycle[1 - _EVENTS // 2 :]]
    facts.add_row("critical cycle", " → ".join([*path, cycle[0]]))
    return facts


def _off(share: Fraction) -> str:
    """How far the measured makespan is from the one computed."""
    if not share:
        return "the makespan in this regime"
    return f"{per_cent(abs(share))} % {'above' if share > 0 else 'below'} the makespan in this regime"


def _in_full(name: str) -> str:
    """How the words of a term begin."""
    return f"{name.replace('credit', 'credit loop')}:"


def _print_changes(console: Console, result: dict[str, Any], unit: str) -> None:
    changes = result["improvements"]
    if not changes:
        console.print(Text("nothing helps on its own: several resources are as slow as the slowest"))
        return
    print_table(console, _changes(result["slope"], changes[:_ROWS], unit), left=("improve first", "then binds"))
    console.print(Text(_EXPLAINED))
    if len(changes) > _ROWS:
        console.print(Text(f"and {len(changes) - _ROWS} more, in --json"))


def _changes(slope: Fraction, changes: Sequence[dict[str, Any]], unit: str) -> list[Column]:
    columns: list[Column] = [("improve first", [_alike(change["parameter"]) for change in changes])]
    for name, key in (("now", "value"), ("to", "until")):
        columns.append((name, [_in_unit(change["parameter"], change[key], unit) for change in changes]))
    columns.append((header("per\nmicro-batch", unit), aligned([change["slope"] for change in changes])))
    columns.append(("throughput", [_gain(slope, change["slope"]) for change in changes]))
    columns.append(("then binds", [change["then"] for change in changes]))
    more = [change["enough"] != change["until"] and change["enough"] != 0 for change in changes]
    if any(more):
        ends = [_in_unit(change["parameter"], change["enough"], unit) for change in changes]
        columns.append(("pays up to", [end if shows else "" for end, shows in zip(ends, more, strict=True)]))
    return columns


_EXPLAINED = (
    "the best gain for the effort first: a limit one higher; a time down to where another resource binds, or half"
)


def _in_unit(parameter: str, value: Fraction | int, unit: str) -> str:
    return shown(value) + (f" {unit}" if unit and not parameter.startswith(_COUNTED) else "")


def _alike(parameter: str) -> str:
    return parameter + _ALIKE.get(parameter, "")


_ALIKE = {"buffers": " of all stages", "channels": " of all links", "overlap": " of all links"}


def _gain(slope: Fraction, after: Fraction) -> str:
    if not after:
        return "unlimited"
    times = slope / after
    if times < 100:
        return f"{100 * float(times - 1):+.1f} %"
    return f"{float(times):.3g} times" if times < 10**300 else "beyond float64"
