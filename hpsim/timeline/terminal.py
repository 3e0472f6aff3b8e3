"""A schedule as rows of characters: a row for each stage, and between two of them one for their link.

A column is a round stretch of time and shows what takes the largest part of it; where services are shorter than
columns, what happens takes turns, so that every row shows each thing about as often as it takes time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from hpsim.timeline.moments import Array, in_flight, moments, stage_labels, time_within

if TYPE_CHECKING:
    from hpsim.scheduling import Schedule

LEAST_WIDTH = 40
_LABEL = 16  # columns that the name of a stage may take; the table below the chart has all of it
_STEPS = (1, 1.25, 2, 2.5, 4, 5, 8)
_ROUNDING = 1e-3  # of a column; differences of large sums are not exact
_TICK = 10  # columns from one number on the axis to the next
_DRAWN = ("start", "finish", "depart", "release", "send", "sent")
_KINDS = ("service", "sending", "blocked", "starved")  # of equal parts of a column the first is shown


@dataclass(frozen=True)
class Glyphs:
    """One character for each thing that a column can show."""

    service: str
    sending: str
    blocked: str
    starved: str
    transfer: str
    several: str
    partly: str
    travel: str
    tick: str


UNICODE = Glyphs("█", "▒", "×", "·", "─", "═", "╌", "┈", "│")
ASCII = Glyphs("#", "~", "x", ".", "-", "=", "_", ":", "|")

Row = list[tuple[str, str]]  # pieces of text with what they show: a field of Glyphs, "label", "number" or "axis"


@dataclass(frozen=True)
class Chart:
    """Rows ready to be coloured and printed.

    Attributes
    ----------
    rows : list of Row
    step : float
        Time of a column.
    shown : set of str
        What the rows show, for the legend: names of fields of Glyphs.
    all_numbered : bool
        Whether every service has the number of its micro-batch.
    """

    rows: list[Row]
    step: float
    shown: set[str]
    all_numbered: bool


def chart(schedule: Schedule, width: int, glyphs: Glyphs = UNICODE, names: Sequence[str] = ()) -> Chart:
    """The chart of ``schedule``, no row wider than ``width`` columns (40 at least).

    ``names`` are those of the stages, or none.
    """
    import numpy as np

    s = moments(schedule)
    makespan, has_links = float(schedule.makespan), bool((s["arrival"][:, 1:] > s["depart"][:, :-1]).any())
    labels = [_cut(label) for label in stage_labels(schedule.S, names)]
    links = [f"  {k}→{k + 1}" if glyphs is UNICODE else f"  {k}>{k + 1}" for k in range(schedule.S - 1)]
    margin = max(map(cell_len, (*labels, *(links if has_links else ())))) + 1
    width = max(width, LEAST_WIDTH)
    inner = np.unique(np.concatenate([s[kind].ravel() for kind in _DRAWN]))
    step = round_step(makespan, width - margin - 1, inner.tolist() if len(inner) <= 4 * width else (math.pi,))
    edges = np.arange(max(1, math.ceil(makespan / step * (1 - 1e-12))) + 1) * step
    rows, numbers = [], 0
    for k in range(schedule.S):
        pieces, drawn = _stage(s, k, edges, makespan, glyphs)
        rows.append([(set_cell_size(labels[k], margin), "label"), *pieces])
        numbers += drawn
        if has_links and k < schedule.S - 1:
            rows.append([(links[k].ljust(margin), "label"), *_link(s, k, edges, glyphs)])
    shown = {kind for row in rows for _, kind in row}
    all_numbered = numbers == schedule.S * schedule.M
    return Chart(rows + _axis(edges, step, margin, width, glyphs), step, shown, all_numbered)


def _cut(label: str) -> str:
    """A label that leaves room for the chart."""
    return label if cell_len(label) <= _LABEL else set_cell_size(label, _LABEL - 2).rstrip() + ".."


def round_step(makespan: float, columns: int, moments: Iterable[float] = ()) -> float:
    """The shortest round stretch of time of which ``columns`` last for ``makespan``.

    A longer one, up to twice that, is taken when all ``moments`` lie on its multiples: nothing is shown rounded then.
    """
    if makespan == 0:
        return 1.0
    finest = makespan / columns * (1 - 1e-12)
    power = math.floor(math.log10(finest))
    steps = [step for k in (0, 1) for factor in _STEPS if (step := float(f"{factor}e{power + k}")) >= finest]
    told = list(moments)
    for step in steps:
        if step <= 2 * steps[0] and all(abs(moment / step - round(moment / step)) < 1e-9 for moment in told):
            return step
    return steps[0]


def _stage(s: dict[str, Array], k: int, edges: Array, makespan: float, glyphs: Glyphs) -> tuple[Row, int]:
    """What takes most of each column, numbers of micro-batches where their service begins, and how many of these."""
    import numpy as np

    spans = (("start", "finish"), ("depart", "release"), ("finish", "depart"))
    step = float(edges[1])
    shifted = edges + step * 1e-6  # so that of two halves the later is shown, and no length doubles
    parts = [np.diff(time_within(s[begin][:, k], s[end][:, k], shifted)) for begin, end in spans]
    starved = np.diff(np.minimum(shifted, makespan)) - sum(parts)
    table = np.array([*parts, starved]).T.clip(0)
    taking_turns = (s["finish"][:, k] - s["start"][:, k]).mean() < step
    indices = _in_turns(table) if taking_turns else table.argmax(axis=1).tolist()
    return _numbered(
        [_KINDS[index] for index in indices], "service", s["start"][:, k], s["finish"][:, k], edges, glyphs
    )


def _in_turns(table: Array) -> list[int]:
    """For each column (a row of ``table``) one of the things that take time in it, each as often as it takes time."""
    owed = [0.0] * len(_KINDS)
    chosen = []
    for parts in table.tolist():
        owed = [debt + part for debt, part in zip(owed, parts, strict=True)]
        present = [index for index, part in enumerate(parts) if part > 1e-3 * sum(parts)]
        best = max(present, key=owed.__getitem__, default=len(_KINDS) - 1)
        owed[best] -= sum(parts)
        chosen.append(best)
    return chosen


def _link(s: dict[str, Array], k: int, edges: Array, glyphs: Glyphs) -> Row:
    """How many transfers a column carries on average, or else whether something travels in it."""
    import numpy as np

    begin, end, arrival = s["send"][:, k], s["sent"][:, k], s["arrival"][:, k + 1]
    stretch = float(edges[1])
    carried = np.diff(in_flight(begin, end, edges)) / stretch
    travelling = np.diff(in_flight(end, arrival, edges)) / stretch
    kinds = [
        "several"
        if transfers > 1 + _ROUNDING
        else "transfer"
        if transfers >= 0.5 and transfers >= min(travel, 1)
        else "travel"
        if travel >= 0.5
        else "partly"
        if transfers > _ROUNDING
        else "blank"
        for transfers, travel in zip(carried.tolist(), travelling.tolist(), strict=True)
    ]
    return _numbered(kinds, "transfer", begin, end, edges, glyphs)[0]


def _numbered(
    kinds: Sequence[str], numbered: str, begin: Array, end: Array, edges: Array, glyphs: Glyphs
) -> tuple[Row, int]:
    """Columns as pieces; a stretch of ``numbered`` begins with its micro-batch where that fits. And how many do."""
    cells = [(getattr(glyphs, kind, " "), kind) for kind in kinds]
    step = float(edges[1])
    length, apart = (end - begin).mean() / step, (begin[-1] - begin[0]) / step / max(len(begin) - 1, 1)
    taken = drawn = 0
    after_several = False  # digits: numbers that touch would be read as one, unless each is a single digit
    for m, (first, last) in enumerate(zip((begin / step).tolist(), (end / step).tolist(), strict=True)):
        text, nearest = str(m), math.floor(first + 0.5 - 1e-6)
        several = len(text) > 1
        if length < len(text) or (several and apart < len(text) + 1):
            break
        for left in (nearest, math.floor(first + 1e-6), nearest + 1):
            right = left + len(text)
            alone = taken + (several or after_several) * (drawn > 0) <= left
            if alone and right <= math.ceil(last - 1e-6) and all(kind == numbered for kind in kinds[left:right]):
                cells[left:right] = [(digit, f"{numbered} number") for digit in text]
                taken, after_several, drawn = right, several, drawn + 1
                break
    pieces: Row = []
    for text, kind in cells:
        if pieces and pieces[-1][1] == kind:
            pieces[-1] = (pieces[-1][0] + text, kind)
        else:
            pieces.append((text, kind))
    return pieces, drawn


def _axis(edges: Array, step: float, margin: int, width: int, glyphs: Glyphs) -> list[Row]:
    """A tick and its time every ten columns."""
    columns = len(edges) - 1
    ticks, numbers = "", ""
    for column in range(0, columns + 1, _TICK):
        ticks = ticks.ljust(column) + glyphs.tick
        text = f"{column * step:.10g}"
        if len(numbers) < max(column, 1) and margin + column + len(text) <= width:
            numbers = numbers.ljust(column) + text
    return [[(" " * margin + ticks, "axis")], [(" " * margin + numbers, "axis")]]
