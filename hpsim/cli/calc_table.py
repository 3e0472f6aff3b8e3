"""The page that ``hpsim calc`` prints: makespans, bias, and one line for each stage with its outgoing link."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hpsim.cli.page import page_console, page_text
from hpsim.cli.pipeline_options import regime_in_words
from hpsim.cli.words import microbatches
from hpsim.errors import printable
from hpsim.exact import Number
from hpsim.regime import Regime
from hpsim.units import per_second

_PIPED_WIDTH = 200  # a pipe has no width; nothing here should wrap
_LISTED = 5  # names in a sentence
_WORDS = 16  # characters that a column of text has at least, where it needs them
_MEANING = 24  # characters of the formula behind a number
_BETWEEN, _EDGES = 3, 4  # characters between columns of a table, and beside it, as rich counts them

Results = Sequence[dict[str, Any]]  # of one pipeline, one for each number of micro-batches
Column = tuple[str, Sequence[str]]  # its name, which may have several lines, and a cell for each row


def report(told: Results, rho: Fraction) -> str:
    """The page of one pipeline as text, with colours only on a terminal; a result is that of ``Pipeline.analyze``."""
    console, result = page_console(_PIPED_WIDTH), told[0]
    with console.capture() as capture:
        console.print(Text(_title(told), style="bold"))
        if result.get("note"):
            console.print(Text(printable(result["note"])))
        print_table(console, list(_makespans(told, rho)), left=("regime",))
        _print_differences(console, told)
        console.print(_facts(told))
        print_table(console, list(_stages(told)), left=("name", "remark"))
    return page_text(capture)


def print_table(console: Console, columns: Sequence[Column], left: Sequence[str]) -> None:
    """Print the columns as one table; or, where the console is too narrow, as several, each with the first column.

    No number is cut or broken. Columns named in ``left`` hold words, which may be.
    """
    first = columns[0]
    for part in _blocks(columns[1:], left, console.width - _EDGES - _least_width(first, left)):
        block = [first, *part]
        table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for name, cells in block:
            width = None if name in left else _widest((name, *cells))
            table.add_column(name, justify="left" if width is None else "right", min_width=width, overflow="fold")
        for row in zip(*(cells for _, cells in block), strict=True):
            table.add_row(*row)
        needed = _EDGES + sum(_least_width(column, left) + _BETWEEN for column in block) - _BETWEEN
        console.print(table, crop=False, width=max(console.width, needed))


def _blocks(columns: Sequence[Column], left: Sequence[str], room: int) -> Iterator[list[Column]]:
    """The columns in turn, at least one and as many at once as there is room for."""
    block: list[Column] = []
    used = 0
    for column in columns:
        width = _BETWEEN + _least_width(column, left)
        if block and used + width > room:
            yield block
            block, used = [], 0
        block.append(column)
        used += width
    yield block


def _least_width(column: Column, left: Sequence[str]) -> int:
    name, cells = column
    return min(_widest((name, *cells)), _WORDS) if name in left else _widest((name, *cells))


def _widest(texts: Iterable[str]) -> int:
    return max(cell_len(line) for text in texts for line in text.split("\n"))


def order(told: Results, key: str) -> Any:
    """What the pipelines of a file are sorted by, of the last number of micro-batches: the regime asked for, or async.

    Makespan first, or ``slope``, the time per micro-batch; or the ``name``; ``file`` leaves the order as it is.
    """
    result = told[-1]
    regime = result.get("regime", {"T": result["T_async"], "slope": result["tau_max"]})
    keys = {"makespan": (regime["T"], regime["slope"]), "slope": (regime["slope"], regime["T"])}
    return keys.get(key) or (result["name"] if key == "name" else 0)


class Comparison:
    """A table of one row for each pipeline of a file.

    Parameters
    ----------
    regime : Regime or None
        The one asked for; without one, async and blocking are compared.
    counts : sequence of int
        Numbers of micro-batches.
    unit : str or None
        Of all times.
    pipelines : int
        How many the file has.
    """

    def __init__(self, regime: Regime | None, counts: Sequence[int], unit: str | None, pipelines: int) -> None:
        self.regime, self.counts, self.unit, self.pipelines = regime, counts, unit, pipelines
        self.rows: list[tuple[tuple[Any, Any, str], str, list[tuple[list[Number], Number, str]]]] = []

    def add(self, told: Results) -> None:
        """Keep of a pipeline what its row says: by regime makespans, time per micro-batch, and what decides it."""
        result = told[0]
        if "regime" in result:
            own = result["regime"]
            parts = [([found["regime"]["T"] for found in told], own["slope"], own["critical"])]
        else:
            deciding = _stage_list(result["bottleneck_async"]), _stage_list(result["bottleneck_blocking"])
            parts = [
                ([found["T_async"] for found in told], result["tau_max"], deciding[0]),
                ([found["T_block"] for found in told], result["sigma_max"], deciding[1]),
            ]
        self.rows.append((order(told, "makespan"), result["name"], parts))

    def text(self, sort: str | None, with_pages: bool) -> str:
        """The table as text, with colours only on a terminal; sorted by makespan unless it came in the order asked for.

        ``with_pages``: the page of each pipeline stands above.
        """
        rows = self.rows if sort is not None else sorted(self.rows, key=lambda row: row[0])
        console = page_console(_PIPED_WIDTH)
        with console.capture() as capture:
            if with_pages:
                console.print()
            console.print(Text(printable(self._heading()), style="bold"))
            print_table(console, list(self._columns(rows)), left=("pipeline", "decided by"))
            if not with_pages:
                console.print(Text("the page of each: --full; of one: --pipeline NAME"))
        text = page_text(capture)
        return text.replace("→", "->") if console.options.ascii_only else text

    def _heading(self) -> str:
        """What the rows have in common."""
        where = "" if self.regime is None else f" in the regime {regime_in_words(self.regime, self.unit)}"
        unit = f", times in {self.unit}" if self.unit else ""
        first = len(self.rows) < self.pipelines
        part = f", the first {len(self.rows):,} of {self.pipelines:,} pipelines" if first else ""
        return f"compared{where}: {microbatches(self.counts)}{unit}{part}"

    def _columns(self, rows: Sequence[tuple[Any, str, list[tuple[list[Number], Number, str]]]]) -> Iterator[Column]:
        yield "pipeline", [printable(name) for _, name, _ in rows]
        for k, regime in enumerate(["async", "blocking"] if self.regime is None else [""]):
            for m, M in enumerate(self.counts):
                name = header(f"{regime}\nmakespan".lstrip(), self.unit, M if len(self.counts) > 1 else None)
                yield name, aligned([parts[k][0][m] for _, _, parts in rows])
            yield header("per\nmicro-batch", self.unit), aligned([parts[k][1] for _, _, parts in rows])
            yield "decided by", [parts[k][2] for _, _, parts in rows]


def header(name: str, unit: str | None, M: int | None = None) -> str:
    """The name of a column; below it the number of micro-batches, where there are columns of several, and the unit."""
    return name + (f"\nM = {M:,}" if M is not None else "") + (f"\n[{printable(unit)}]" if unit else "")


def rates(slopes: Sequence[Number], unit: str | None) -> tuple[list[str], str]:
    """Throughputs as text, and their unit: per second where ``unit`` can be converted."""
    factor, of = per_second(unit)
    return aligned([factor / Fraction(slope) for slope in slopes]), of


def _title(told: Results) -> str:
    result = told[0]
    size = f"{_counted(result['S'], 'stage')}, {microbatches([found['M'] for found in told])}"
    name = f"{printable(result['name'])}: " if "name" in result else ""
    return f"{name}{size}" + (f", times in {printable(result['unit'])}" if result["unit"] else "")


def _each(told: Results) -> Iterator[tuple[dict[str, Any], int | None]]:
    """Each result, with its number of micro-batches where there are several."""
    for result in told:
        yield result, result["M"] if len(told) > 1 else None


def _makespans(told: Results, rho: Fraction) -> Iterator[Column]:
    result, unit = told[0], told[0]["unit"]
    rows = [
        ("free (Theorem 1)", "T_free", result["tau_max"]),
        ("async (Theorem 2)", "T_async", result["tau_max"]),
        ("blocking (Theorem 3)", "T_block", result["sigma_max"]),
        ("GPipe formula", "T_gpipe", result["tau_max"]),
    ]
    if rho != 1:
        rows.insert(2, (f"blend, rho = {rho}", "T_linear_blend", result["effective_slope"]))
    names, keys, slopes = zip(*rows, strict=True)
    yield "regime", names
    for found, M in _each(told):
        yield header("makespan", unit, M), aligned([found[key] for key in keys])
    yield header("per\nmicro-batch", unit), aligned(slopes)
    throughputs, of = rates(slopes, unit)
    yield header("throughput", of), throughputs
    for found, M in _each(told):
        errors = [Fraction(found["T_gpipe"]) / Fraction(found[key]) - 1 for key in keys[:-1]]
        yield header("GPipe off by", None, M), [*(f"{100 * float(error):+z.1f} %" for error in errors), ""]


def _print_differences(console: Console, told: Results) -> None:
    """What the makespans differ by: a line each, a column for each number of micro-batches."""
    result, unit = told[0], printable(told[0]["unit"] or "")
    rows = [
        ("homogeneity bias", "sum(tau_max - tau)", lambda found: found["homogeneity_bias"]),
        ("  less transfers", "sum(d)", lambda found: sum(found["d"])),
        ("full bias", "T_gpipe - T_async", lambda found: found["full_bias"]),
        ("overlap gap", "T_block - T_async", lambda found: found["overlap_gap"]),
        ("crossover", "M* = 1 + fill/tau_max", lambda found: found["crossover_batches"]),
        ("Graham bound", "W/S + (1-1/S) CP", lambda found: found["graham_lower_bound"]),
    ]
    if any(result["latency"]):
        rows.insert(2, ("  less latency", "sum(latency)", lambda found: sum(found["latency"])))
    names, meanings, values = zip(*rows, strict=True)
    columns = [
        ("" if M is None else f"M = {M:,}", [*aligned([value(found) for value in values]), _bubble(found)])
        for found, M in _each(told)
    ]
    units = [*("" if name == "crossover" else unit for name in names), ""]
    for block in _blocks(columns, (), console.width - _widest(names) - _MEANING):
        table = Table(box=None, show_header=len(told) > 1, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column("")
        table.add_column("")
        for name, cells in block:
            table.add_column(name, justify="right", no_wrap=True, min_width=_widest((name, *cells)))
        table.add_column("")
        labels = ((*names, "GPipe bubble ratio"), (*meanings, "(S-1)/(S+M-1)"))
        for row in zip(*labels, *(cells for _, cells in block), units, strict=True):
            table.add_row(*row)
        console.print(table)
    console.print()


def _bubble(found: dict[str, Any]) -> str:
    return f"{100 * found['gpipe_bubble_ratio']:.1f} %"


def _facts(told: Results) -> Table:
    """What decides the makespans, and how they compare with a measured one where no regime is asked for."""
    facts, result = fact_table(), told[0]
    facts.add_row("phase transition", _phase(result))
    facts.add_row("bottleneck", _bottlenecks(result))
    for found, M in _each(told):
        if "T_measured" in found and "regime" not in found:
            of = f" {printable(found['unit'])}" if found["unit"] else ""
            name = "measured" if M is None else f"measured, M = {M:,}"
            facts.add_row(name, f"{aligned([found['T_measured']])[0]}{of}: {implied_overlap(found)}")
    return facts


def fact_table() -> Table:
    """A table of names and what is to be said of them, without lines, numbers unbroken."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column()
    facts.add_column(overflow="fold")
    return facts


def implied_overlap(result: dict[str, Any]) -> str:
    """What the paper's two regimes say of the measured makespan."""
    return result["rho_note"] or f"rho = {aligned([result['rho']])[0]}"


def _stages(told: Results) -> Iterator[Column]:
    """One row for each stage and the link that leaves it; columns that say nothing are left out."""
    result, unit = told[0], told[0]["unit"]
    stages = result["S"]
    yield "stage", [str(s) for s in range(stages)]
    if result.get("stages"):
        yield "name", [printable(name) for name in result["stages"]]
    yield header("tau", unit), aligned(result["tau"])
    for found, M in _each(told):
        where, shares = "in regime", found.get("regime", {}).get("utilization")
        if shares is None:
            where, shares = "async", found["utilization"]
        yield header(f"busy\n{where}", None, M), [f"{100 * float(share):.1f} %" for share in shares]
    if stages > 1:
        yield header("d", unit), [*aligned(result["d"]), ""]
        if any(result["latency"]):
            yield header("latency", unit), [*aligned(result["latency"]), ""]
        yield header("slack", unit), [*aligned(result["link_slack"]), ""]
        yield header("slack - d", unit), [*aligned(result["link_headroom"]), ""]
    yield "remark", [_remark(result, s) for s in range(stages)]


def _phase(result: dict[str, Any]) -> str:
    if result["S"] == 1:
        return "no: there is no link"
    beyond = [f"d[{s}]" for s, left in enumerate(result["link_headroom"]) if left < 0]
    if beyond:
        return f"yes: {_listed(beyond)} above the slack, so blocking costs throughput"
    return "no: every transfer fits into its slack; it starts where some d exceeds the slack of its link"


def _bottlenecks(result: dict[str, Any]) -> str:
    calm, blocking = result["bottleneck_async"], result["bottleneck_blocking"]
    text = _stage_list(calm)
    return text if calm == blocking else f"{text}; when blocking, {_stage_list(blocking)}"


def _stage_list(indices: Sequence[int]) -> str:
    return f"stage{'s' if len(indices) > 1 else ''} {_listed([str(index) for index in indices])}"


def _listed(names: Sequence[str]) -> str:
    """The first few; the table below marks every one."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _remark(result: dict[str, Any], s: int) -> str:
    calm, blocking = s in result["bottleneck_async"], s in result["bottleneck_blocking"]
    remarks = []
    if calm:
        remarks.append("bottleneck" if blocking else "bottleneck, not when blocking")
    elif blocking:
        remarks.append("bottleneck when blocking")
    if s < result["S"] - 1 and result["link_headroom"][s] < 0:
        remarks.append("d exceeds slack")
    return "; ".join(remarks)


def aligned(values: Iterable[Number]) -> list[str]:
    """Numbers of one column, with as many decimals as the most demanding needs (four, or four digits below 1)."""
    numbers = [float(value) for value in values]
    decimals = max((_decimals(number) for number in numbers), default=0)
    return [f"{number:.6g}" if _extreme(number) else f"{number:.{decimals}f}" for number in numbers]


def _extreme(number: float) -> bool:
    return number != 0 and not 1e-6 <= abs(number) < 1e15


def _decimals(number: float) -> int:
    if number == 0 or _extreme(number):
        return 0
    most = 4 if abs(number) >= 1 else 3 - math.floor(math.log10(abs(number)))
    return len(f"{number:.{most}f}".rstrip("0").partition(".")[2])


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
