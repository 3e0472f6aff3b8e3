"""The page that ``hpsim bench`` prints: one table a section, then how many targets are met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from hpsim.cli.page import page_console, page_text

if TYPE_CHECKING:
    from hpsim.bench.figures import Comparison, Report, Section

_PIPED_WIDTH = 200  # a pipe has no width; nothing here should wrap
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_VERDICTS = {True: Text("met", "green"), False: Text("not met", "bold red"), None: Text("")}


def page(report: Report) -> str:
    """The report as text, with colours only on a terminal."""
    console = page_console(_PIPED_WIDTH)
    with console.capture() as capture:
        for line in _machine(report):
            console.print(line)
        for section in report.sections:
            console.print(Text(section.title, "bold"))
            console.print(Text(section.how, "dim"))
            console.print(_table(section, judged=not report.quick))  # with an empty line above and below
        if not report.quick:
            console.print(f"{sum(report.verdicts)} of {len(report.verdicts)} targets met")
    return page_text(capture)


def _machine(report: Report) -> Iterator[str]:
    facts = report.machine
    yield f"{facts['processor']}, {facts['cpus_used']} of {facts['cpus']} CPUs, {facts['system']}"
    yield " · ".join(f"{name} {facts[name]}" for name in ("hpsim", "python", "numba", "numpy", "pyarrow"))
    if not facts["compiled"]:
        yield "NUMBA_DISABLE_JIT is set: nothing was compiled, and the figures say nothing about hpsim"
    if report.quick:
        yield "--quick: tiny sizes, which show that everything runs; the figures mean little"


def _table(section: Section, judged: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column("case", overflow="fold")
    for name in ("measured", "beside", "ratio", "must be"):
        table.add_column(name, justify="right")
    if judged:
        table.add_column("")
    for row in section.comparisons:
        cells = (row.what, quantity(row.figure.value, row.figure.unit), *_beside(row))
        table.add_row(*cells, *([_VERDICTS[row.met]] if judged else []))
    return table


def _beside(row: Comparison) -> tuple[str, str, str]:
    """What the figure is compared with, the ratio, and the target."""
    if row.against is None or row.ratio is None:
        return "", "", _target(row)
    against = f"{row.against.name}: {quantity(row.against.value, row.against.unit)}"
    return against, _ratio(row.ratio, row.share), _target(row)


def _ratio(value: float, share: bool) -> str:
    return f"{100 * value:.1f} %" if share else f"{value:,.2f} ×"


def _target(row: Comparison) -> str:
    if row.target is None:
        return ""
    parts = []
    if row.target.factor:
        parts.append(f"{100 * row.target.factor:.0f} %" if row.share else f"{row.target.factor:g} ×")
    if row.target.plus:
        parts.append(quantity(row.target.plus, row.figure.unit))
    return f"{'≥' if row.target.at_least else '≤'} {' + '.join(parts)}"


def quantity(value: float, unit: str) -> str:
    """``value`` with three digits that matter: ``7.31 G cells/s``, ``341 MB``, ``0.134 s``."""
    if unit == "s":
        return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3}f} s"
    size, prefix = next((known for known in _PREFIXES if value >= known[0]), _PREFIXES[-1])
    scaled = value / size
    digits = 0 if scaled >= 100 else 1 if scaled >= 10 else 2
    space = "" if unit.startswith("B") or not prefix else " "
    return f"{scaled:.{digits}f} {prefix}{space}{unit}"
