"""The section that ``hpsim calc`` prints for a regime: makespan, what decides it, and what to improve first."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from hpsim.cli.calc_table import aligned
from hpsim.cli.page import page_console, page_text
from hpsim.cli.pipeline_options import regime_in_words
from hpsim.regime import Regime
from hpsim.throughput_terms import shown

_PIPED_WIDTH = 200  # a pipe has no width; nothing here should wrap
_ROWS = 5  # changes shown; --json has all
_EVENTS = 8  # of a cycle


def section(regime: Regime, result: dict[str, Any]) -> str:
    """The section as text, with colours only on a terminal; ``result`` is that of ``in_regime``."""
    console = page_console(_PIPED_WIDTH)
    with console.capture() as capture:
        console.print(Text(f"in the regime: {regime_in_words(regime)}", style="bold"))
        console.print(_facts(result))
        for part in _changes(result):
            console.print(part)
    text = page_text(capture)
    return text.replace("→", "->").replace("…", "...") if console.options.ascii_only else text


def _facts(result: dict[str, Any]) -> Table:
    facts = Table.grid(padding=(0, 2))
    facts.add_column()
    facts.add_column(overflow="fold")
    facts.add_row("makespan", aligned([result["T"]])[0])
    facts.add_row("per micro-batch", aligned([result["slope"]])[0])
    facts.add_row("throughput", aligned([result["throughput"]])[0])
    names = [name for name in result["bottlenecks"] if not result["critical"].startswith(_in_full(name))]
    tied = f"; as slow: {', '.join(names[:_ROWS])}" if names else ""
    more = f" and {len(names) - _ROWS} more" if len(names) > _ROWS else ""
    facts.add_row("bottleneck", result["critical"] + tied + more)
    cycle = result["cycle"]
    path = cycle if len(cycle) <= _EVENTS else [*cycle[: _EVENTS // 2], "…", *cycle[1 - _EVENTS // 2 :]]
    facts.add_row("critical cycle", " → ".join([*path, cycle[0]]))
    return facts


def _in_full(name: str) -> str:
    """How the words of a term begin."""
    return f"{name.replace('credit', 'credit loop')}:"


def _changes(result: dict[str, Any]) -> Iterator[Table | Text]:
    changes = result["improvements"]
    if not changes:
        yield Text("nothing helps on its own: several resources are as slow as the slowest")
        return
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name in ("improve first", "now", "until", "per\nmicro-batch", "throughput", "then binds"):
        table.add_column(name, justify="left" if name in ("improve first", "then binds") else "right", no_wrap=True)
    slopes = aligned([change["slope"] for change in changes[:_ROWS]])
    for change, slope in zip(changes, slopes, strict=False):
        name = change["parameter"] + _ALIKE.get(change["parameter"], "")
        gain = _gain(result["slope"], change["slope"])
        table.add_row(name, shown(change["value"]), shown(change["until"]), slope, gain, change["then"])
    yield table
    yield Text("until: how far the change pays; from there on another resource binds (then binds)")
    if len(changes) > _ROWS:
        yield Text(f"and {len(changes) - _ROWS} more, in --json")


_ALIKE = {"buffers": " of all stages", "channels": " of all links", "overlap": " of all links"}


def _gain(slope: Fraction, after: Fraction) -> str:
    if not after:
        return "unlimited"
    times = slope / after
    if times < 100:
        return f"{100 * float(times - 1):+.1f} %"
    return f"{float(times):.3g} times" if times < 10**300 else "beyond float64"
