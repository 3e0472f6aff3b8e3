"""The page that ``hpsim calc`` prints: makespans, bias, and one line for each stage with its outgoing link."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from hpsim.cli.page import page_console, page_text
from hpsim.cli.pipeline_options import printable
from hpsim.exact import Number

_PIPED_WIDTH = 200  # a pipe has no width; nothing here should wrap
_LISTED = 5  # names in a sentence


def report(result: dict[str, Any], rho: Fraction) -> str:
    """The page of one pipeline as text, with colours only on a terminal; ``result`` is that of ``Pipeline.analyze``."""
    console = page_console(_PIPED_WIDTH)
    with console.capture() as capture:
        console.print(Text(_title(result), style="bold"))
        if result.get("note"):
            console.print(Text(printable(result["note"])))
        for part in (_makespans(result, rho), *_facts(result), _stages(result)):
            console.print(part)
    return page_text(capture)


Compared = tuple[str, dict[str, tuple[Number, Number, str]]]
"""A pipeline's name; regime → makespan, time per micro-batch, and what decides it."""


def compared(result: dict[str, Any]) -> Compared:
    """What the comparison keeps of ``result``: its regime, or async and blocking where it has none."""
    if "regime" in result:
        told = result["regime"]
        return result["name"], {"": (told["T"], told["slope"], told["critical"])}
    return result["name"], {
        "async": (result["T_async"], result["tau_max"], _stage_list(result["bottleneck_async"])),
        "blocking": (result["T_block"], result["sigma_max"], _stage_list(result["bottleneck_blocking"])),
    }


def comparison(rows: Sequence[Compared], heading: str) -> str:
    """A table of one row for each pipeline of a file, as text, with colours only on a terminal."""
    columns: list[tuple[str, Iterable[str]]] = [("pipeline", [printable(name) for name, _ in rows])]
    for regime in rows[0][1]:
        makespans, slopes, deciding = zip(*(told[regime] for _, told in rows), strict=True)
        columns.append((f"{regime}\nmakespan".lstrip(), aligned(makespans)))
        columns.append(("per\nmicro-batch", aligned(slopes)))
        columns.append(("decided by", deciding))
    table = _table(*(name for name, _ in columns), left=("pipeline", "decided by"))
    for row in zip(*(cells for _, cells in columns), strict=True):
        table.add_row(*row)
    console = page_console(_PIPED_WIDTH)
    with console.capture() as capture:
        console.print(Text(printable(heading), style="bold"))
        console.print(table)
    text = page_text(capture)
    return text.replace("→", "->") if console.options.ascii_only else text


def _title(result: dict[str, Any]) -> str:
    size = f"{_counted(result['S'], 'stage')}, {_counted(result['M'], 'micro-batch', 'micro-batches')}"
    if "name" not in result:
        return size
    unit = f", times in {printable(result['unit'])}" if result["unit"] else ""
    return f"{printable(result['name'])}: {size}{unit}"


def _makespans(result: dict[str, Any], rho: Fraction) -> Table:
    rows = [
        ("free (Theorem 1)", result["T_free"], result["tau_max"]),
        ("async (Theorem 2)", result["T_async"], result["tau_max"]),
        ("blocking (Theorem 3)", result["T_block"], result["sigma_max"]),
        ("GPipe formula", result["T_gpipe"], result["tau_max"]),
    ]
    if rho != 1:
        rows.insert(2, (f"blend, rho = {rho}", result["T_linear_blend"], result["effective_slope"]))
    table = _table("regime", "makespan", "per\nmicro-batch", "throughput", "GPipe off by")
    names, makespans, slopes = zip(*rows, strict=True)
    errors = [f"{100 * float(Fraction(result['T_gpipe']) / Fraction(T) - 1):+z.1f} %" for T in makespans[:-1]]
    columns = (aligned(makespans), aligned(slopes), aligned([1 / Fraction(slope) for slope in slopes]), [*errors, ""])
    for row in zip(names, *columns, strict=True):
        table.add_row(*row)
    return table


def _facts(result: dict[str, Any]) -> Iterator[Table | Text]:
    """What the makespans differ by, and what decides them."""
    bias = result["homogeneity_bias"]
    numbers = [
        ("homogeneity bias", "sum(tau_max - tau)", bias),
        ("  less transfers", "sum(d)", sum(result["d"])),
        ("full bias", "T_gpipe - T_async", result["full_bias"]),
        ("overlap gap", "T_block - T_async", result["overlap_gap"]),
        ("crossover", "M* = 1 + fill/tau_max", result["crossover_batches"]),
        ("Graham bound", "W/S + (1-1/S) CP", result["graham_lower_bound"]),
    ]
    if any(result["latency"]):
        numbers.insert(2, ("  less latency", "sum(latency)", sum(result["latency"])))
    table = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "right"):
        table.add_column(justify=justify)
    values = aligned([value for _, _, value in numbers])
    for (name, meaning, _), value in zip(numbers, values, strict=True):
        table.add_row(name, meaning, value)
    table.add_row("GPipe bubble ratio", "(S-1)/(S+M-1)", f"{100 * result['gpipe_bubble_ratio']:.1f} %")
    facts = Table.grid(padding=(0, 2))
    facts.add_column()
    facts.add_column(overflow="fold")
    facts.add_row("phase transition", _phase(result))
    facts.add_row("bottleneck", _bottlenecks(result))
    if "T_measured" in result:
        rho = result["rho_note"] or f"rho = {aligned([result['rho']])[0]}"
        facts.add_row("measured", f"{aligned([result['T_measured']])[0]}: {rho}")
    yield from (table, Text(), facts)


def _stages(result: dict[str, Any]) -> Table:
    """One row for each stage and the link that leaves it; columns that say nothing are left out."""
    stages = result["S"]
    columns: list[tuple[str, Iterable[str]]] = [("stage", map(str, range(stages)))]
    if result.get("stages"):
        columns.append(("name", [printable(name) for name in result["stages"]]))
    columns.append(("tau", aligned(result["tau"])))
    columns.append(("busy", [f"{100 * float(share):.1f} %" for share in result["utilization"]]))
    if stages > 1:
        columns.append(("d", [*aligned(result["d"]), ""]))
        if any(result["latency"]):
            columns.append(("latency", [*aligned(result["latency"]), ""]))
        columns.append(("slack", [*aligned(result["link_slack"]), ""]))
        columns.append(("slack - d", [*aligned(result["link_headroom"]), ""]))
    columns.append(("remark", [_remark(result, s) for s in range(stages)]))
    table = _table(*(name for name, _ in columns), left=("name", "remark"))
    for row in zip(*(cells for _, cells in columns), strict=True):
        table.add_row(*row)
    return table


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


def _table(*names: str, left: Sequence[str] = ("regime",)) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name in names:
        text = name in left
        table.add_column(name, justify="left" if text else "right", no_wrap=not text, overflow="fold")
    return table


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
