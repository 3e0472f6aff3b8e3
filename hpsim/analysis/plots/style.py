"""How figures look: one column wide, one colour and one mark a regime, units in the labels.

The colours are Okabe and Ito's, which people with any kind of colour vision tell apart; marks and dashes say the same
once more, for print without colour.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from hpsim.analysis.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpsim.analysis.run import Run

COLUMN = (3.5, 2.6)  # inches
LOOK: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "legend.frameon": False,
    "savefig.dpi": 300,
    "svg.hashsalt": "hpsim",  # the same figure is the same file
    "text.usetex": False,  # a matplotlibrc in the current folder, whoever wrote it, could have LaTeX run
}
BLACK, BLUE, GREEN, ORANGE = "#000000", "#0072B2", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW = "#CC79A7", "#56B4E9", "#E69F00"
REGIME: dict[str, dict[str, Any]] = {
    "free": {"color": BLACK, "marker": "D", "linestyle": ":"},
    "async": {"color": BLUE, "marker": "o", "linestyle": "-"},
    "blocking": {"color": ORANGE, "marker": "s", "linestyle": "--"},
    "partial": {"color": GREEN, "marker": "^", "linestyle": "-."},
    "rendezvous": {"color": PURPLE, "marker": "v", "linestyle": (0, (5, 1))},
}
_OTHERS = (  # regimes given by knobs, in turn
    {"color": SKY, "marker": "P", "linestyle": "-"},
    {"color": YELLOW, "marker": "X", "linestyle": "--"},
    {"color": PURPLE, "marker": "<", "linestyle": "-."},
    {"color": GREEN, "marker": ">", "linestyle": ":"},
)
_TICKS = 9  # more numbers of micro-batches than this do not fit below an axis
_WIDE = 100_000  # numbers of micro-batches of this length neither
_MARKED = 30  # places along a line that are marked one by one
_BAR = 1.2  # a band at a single place is a bar from x / 1.2 to 1.2 x


def of_regimes(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Regime → colour, marker and line; those given by knobs take turns."""
    others = [name for name in names if name not in REGIME]
    return REGIME | {name: _OTHERS[k % len(_OTHERS)] for k, name in enumerate(others)}


def axes(ax: Axes | None) -> Axes:
    """``ax``, or those of a new figure that no window shows.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """
    if ax is not None:
        return ax
    require("matplotlib", "plot")
    from matplotlib.figure import Figure

    new: Axes = Figure(figsize=COLUMN, layout="constrained").subplots()
    return new


def unit(run: Run) -> str:
    """The run's unit of time as it stands behind a label."""
    return f"[{run.unit}]" if run.unit else "[time units]"


def microbatch_axis(ax: Axes, counts: Sequence[int]) -> None:
    """A logarithmic axis with a tick at each M of the run, or if they are many at powers of two, or of ten."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    first, last = counts[0], counts[-1]
    shown = [M for M, after in itertools.pairwise((*counts, math.inf)) if after >= 1.5 * M]
    if len(counts) > _TICKS:
        shown = [2**k for k in range(last.bit_length()) if first <= 2**k]
    ax.set_xlabel("micro-batches M")
    if len(shown) <= _TICKS and last < _WIDE:
        ax.set_xscale("log", base=2)
        ax.set_xticks(shown)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda M, _: f"{M:,.0f}"))
    else:
        ax.set_xscale("log", base=10)
    ax.xaxis.set_minor_locator(NullLocator())
    if first == last:  # a single place, with room for the legend beside it
        ax.set_xlim(first / 8, first * 8)


def marks(places: Sequence[object], marker: str) -> str:
    """``marker`` where a line has few ``places``, none where marks would run together."""
    return marker if len(places) <= _MARKED else ""


def bands(ax: Axes, x: Sequence[float], rows: Sequence[dict[str, Any]], color: str, label: str) -> None:
    """The median of quantiles along ``x`` as a line, with the middle half and the middle 90 % behind it."""
    wide, places = (x, rows) if len(x) > 1 else ((x[0] / _BAR, x[0] * _BAR), (rows[0], rows[0]))
    for low, high, alpha, share in (("p5", "p95", 0.15, "90 %"), ("p25", "p75", 0.3, "50 %")):
        edges = ([row[low] for row in places], [row[high] for row in places])
        ax.fill_between(wide, *edges, color=color, alpha=alpha, linewidth=0, label=f"middle {share}")
    ax.plot(x, [row["median"] for row in rows], color=color, marker=marks(x, "o"), label=label)


def stage_axis(ax: Axes, counts: Sequence[int]) -> None:
    """An axis of numbers of stages, with whole ticks and room for at least a few of them."""
    from matplotlib.ticker import MaxNLocator

    first, last = (min(counts), max(counts)) if counts else (1, 1)
    room = max(0, 3 - (last - first)) / 2
    ax.set_xlim(first - 0.7 - room, last + 0.7 + room)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
    ax.set_xlabel("stages S")
    ax.grid(visible=False, axis="x")


def plain_log(ax: Axes, which: Literal["x", "y"], mark: str = "") -> None:
    """A logarithmic axis with ticks at 1, 2, 5, 10, … or, when it spans more than two decades, at powers of ten."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis = ax.xaxis if which == "x" else ax.yaxis
    ax.set(**{f"{which}scale": "log"})
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5) if math.log10(high / low) <= 2 else (1,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter(f"{{x:g}}{mark}"))


def factor_axis(ax: Axes, largest: float) -> None:
    """An axis of factors from 1 up; logarithmic when they span more than a few."""
    from matplotlib.ticker import StrMethodFormatter

    if largest > 4:
        plain_log(ax, "y", "×")
    else:
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}×"))
