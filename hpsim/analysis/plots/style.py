"""How figures look: one column wide, in a light and a dark form, one colour and one mark a regime, units in the labels.

The one palette of the package stands here. Its five colours differ in lightness, so they stay apart in grey and for
people with any kind of colour vision; marks and dashes say the same once more. A figure with more than five lines is
cut into small panels, and lines carry their names at their ends. Which form is drawn follows from the axes: dark ones
get the colours of the dark form.
"""

from __future__ import annotations

import io
import itertools
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from hpsim.analysis.extras import require
from hpsim.errors import HpsimError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hpsim.analysis.run import Run


@dataclass(frozen=True)
class Theme:
    """The colours of one form, as ``#rrggbb``.

    Attributes
    ----------
    paper, ink, quiet, grid : str
        Background, text and axes, remarks and lines behind, grid.
    indigo, rust, blue, green : str
        With ``ink`` the colours of lines.
    amber, sky, pale : str
        Further fills of bars, beside ``blue`` and ``rust``; ``pale`` is an empty bar.
    shades : tuple of str
        One hue in five steps, for what has an order; the last stands out most.
    """

    paper: str
    ink: str
    quiet: str
    grid: str
    indigo: str
    rust: str
    blue: str
    green: str
    amber: str
    sky: str
    pale: str
    shades: tuple[str, ...]

    @property
    def lines(self) -> dict[str, str]:
        """The five colours of lines by their field."""
        return {name: getattr(self, name) for name in ("ink", "blue", "rust", "green", "indigo")}


LIGHT = Theme(
    paper="#ffffff",
    ink="#111111",
    quiet="#6b6b6b",
    grid="#e5e5e5",
    indigo="#032289",
    rust="#a12600",
    blue="#0b77a8",
    green="#0ba362",
    amber="#e6a100",
    sky="#56b4e9",
    pale="#f0f0f0",
    shades=("#0e9ddc", "#017db2", "#075f88", "#004362", "#06283b"),
)
DARK = Theme(
    paper="#17181a",
    ink="#f4f4f4",
    quiet="#a3a3a3",
    grid="#33363a",
    indigo="#ebbefe",
    rust="#fd9544",
    blue="#158fea",
    green="#247e49",
    amber="#ffe08a",
    sky="#2f6f93",
    pale="#2b2d31",
    shades=("#0174a5", "#0792cd", "#40afee", "#90cdfc", "#d6ebfe"),
)
THEMES = {"light": LIGHT, "dark": DARK}

COLUMN = (3.5, 2.6)  # inches
MOST_LINES = len(LIGHT.lines)
MOST_PANELS = 30
METADATA: dict[str, dict[str, Any]] = {  # without versions and the time of day: the same figure is the same file
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_REGIMES: dict[str, tuple[str, str, Any]] = {  # colour, mark and line
    "free": ("ink", "D", ":"),
    "async": ("blue", "o", "-"),
    "blocking": ("rust", "s", "--"),
    "partial": ("green", "^", "-."),
    "rendezvous": ("indigo", "v", (0, (5, 1))),
}
_OTHERS = (("P", "-"), ("X", "--"), ("<", "-."), (">", ":"), ("*", (0, (5, 1))))  # of regimes given by knobs
_FONTS = (  # the first that there are, for units and names that DejaVu Sans cannot write
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Arial Unicode MS",
)
_TICKS = 9  # more numbers of micro-batches than this do not fit below an axis
_WIDE = 100_000  # numbers of micro-batches of this length neither
_APART, _FAR_APART = 1.5, 5.0  # factors between two of them that have room, below a column and below a panel
_MARKED = 30  # places along a line that are marked one by one
_BAR = 1.2  # a band at a single place is a bar from x / 1.2 to 1.2 x
_SMALL, _LEADING = 7.0, 1.25  # points, and the distance of lines of text in sizes
_NAME = 62.0  # points that a name may be wide beside a line
PANEL = 92.0  # and above a panel
_CHARACTERS = 200  # of a text that are looked at
_UNKNOWN = "\N{WHITE SQUARE}"  # in place of a character that no font has


def look(form: str) -> Any:
    """Settings of Matplotlib for the form ``light`` or ``dark``."""
    theme = THEMES[form]
    return {
        "font.family": ["DejaVu Sans", *_installed()],
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "xtick.labelsize": _SMALL,
        "ytick.labelsize": _SMALL,
        "legend.fontsize": _SMALL,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.facecolor": theme.paper,
        "axes.edgecolor": theme.ink,
        "axes.labelcolor": theme.ink,
        "figure.facecolor": theme.paper,
        "savefig.facecolor": theme.paper,
        "text.color": theme.ink,
        "xtick.color": theme.ink,
        "ytick.color": theme.ink,
        "grid.color": theme.grid,
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "lines.linewidth": 1.3,
        "lines.markersize": 4,
        "legend.frameon": False,
        "savefig.dpi": 300,
        "svg.hashsalt": "hpsim",  # the same figure is the same file
        "text.usetex": False,  # a matplotlibrc in the current folder, whoever wrote it, could have LaTeX run
    }


@lru_cache
def _installed() -> tuple[str, ...]:
    from matplotlib.font_manager import get_font_names

    names = set(get_font_names())
    return tuple([name for name in _FONTS if name in names][:1])


def image(figure: Figure, form: str, **settings: Any) -> bytes:
    """``figure`` as a file of the kind ``form``, a key of ``METADATA``; always the same bytes."""
    target = io.BytesIO()
    figure.savefig(target, format=form, metadata=METADATA[form], **settings)
    return target.getvalue()


def theme(ax: Axes) -> Theme:
    """The colours that are read on the background of ``ax``."""
    from matplotlib.colors import to_rgba

    behind = (to_rgba(place.get_facecolor()) for place in (ax, ax.figure, ax.figure.canvas.figure))
    red, green, blue = next((color for *color, alpha in behind if alpha), (1, 1, 1))
    return DARK if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5 else LIGHT


def of_regimes(names: Sequence[str], colors: Theme) -> dict[str, dict[str, Any]]:
    """Regime → colour, mark and line; those given by knobs get what is left. Alike again beyond ``MOST_LINES``."""
    left = [name for name in colors.lines if name not in (_REGIMES[r][0] for r in names if r in _REGIMES)]
    others = itertools.cycle([(color, *rest) for color, rest in zip(left or colors.lines, _OTHERS, strict=False)])
    return {
        name: {"color": colors.lines[color], "marker": mark, "linestyle": line}
        for name in names
        for color, mark, line in [_REGIMES[name] if name in _REGIMES else next(others)]
    }


def axes(ax: Axes | None) -> Axes:
    """``ax``, or those of a new figure that no window shows.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """
    if ax is not None:
        return ax
    return _new_axes(COLUMN[1])


def _new_axes(height: float) -> Axes:
    require("matplotlib", "plot")
    from matplotlib.figure import Figure

    new: Axes = Figure(figsize=(COLUMN[0], height), layout="constrained").subplots()
    return new


def panels(ax: Axes | None, count: int, what: str, columns: int | None = None) -> tuple[Axes, Any, list[Axes]]:
    """``count`` small axes with common scales, in the place of ``ax`` or in a new figure; by default in 2 or 3 columns.

    Returns
    -------
    tuple
        The axes whose place they take, now empty; the part of the figure that holds them; and the small axes.

    Raises
    ------
    HpsimError
        When there are more than ``MOST_PANELS``, which ``what`` names; or ``ax`` stands in no grid of a figure.
    """
    if count > MOST_PANELS:
        raise HpsimError("figure", f"{count:,} {what}", f"at most {MOST_PANELS} {what} in one figure")
    columns = columns or (2 if count <= 12 else 3)
    rows = -(-count // columns)
    height = 1.7 if rows == 1 or columns == 1 else 1.05
    whole = _new_axes(0.6 + height * rows) if ax is None else ax
    place = whole.get_subplotspec()
    if place is None:
        raise HpsimError("ax", "axes that stand in no grid", "axes of Figure.subplots, for example")
    whole.set_axis_off()
    part = whole.figure.add_subfigure(place)
    grid = list(part.subplots(rows, columns, sharex=True, sharey=columns > 1, squeeze=False).flat)
    for small in grid[:count]:
        small.set_facecolor(whole.get_facecolor())
    for spare in grid[count:]:
        spare.set_axis_off()
        above = list(grid).index(spare) - columns
        if above >= 0:
            grid[above].tick_params(labelbottom=True)
    return whole, part, grid[:count]


def unit(run: Run) -> str:
    """The run's unit of time as it stands behind a label."""
    return in_brackets(run.unit)


def in_brackets(text: str | None) -> str:
    """A unit of time as it stands behind a label."""
    return f"[{plain(text or '') or 'time units'}]"


def plain(text: str, room: float = 60.0) -> str:
    """``text`` that came from a user as a figure shows it literally, cut off where it is wider than ``room`` points.

    Nothing in it is read as a formula, moves anything, or turns the direction of writing; what no font of the figure
    has is shown as a square.
    """
    return _escaped(_cut(_on_one_line(text), room))


def folded(text: str, room: float = _NAME, most: int = 3) -> str:
    """As :func:`plain`, on up to ``most`` lines."""
    rest = _on_one_line(text)
    lines: list[str] = []
    while rest and len(lines) < most - 1:
        end = _fitting(rest, room)
        if end < len(rest):
            words = max(rest.rfind(mark, 0, end) for mark in " _-/,") + 1
            end = words if 2 * words > end else max(end, 1)
        lines.append(rest[:end].strip())
        rest = rest[end:].strip()
    return "\n".join(map(_escaped, [*lines, _cut(rest, room)] if rest else lines))


def _on_one_line(text: str) -> str:
    visible = (c if c.isprintable() else " " for c in unicodedata.normalize("NFC", text[:_CHARACTERS]))
    line = " ".join("".join(visible).split()) + ("…" if len(text) > _CHARACTERS else "")
    known = _glyphs()
    towers = {k for k in range(2, len(line)) if all(unicodedata.category(c)[0] == "M" for c in line[k - 2 : k + 1])}
    return "".join(c if ord(c) in known else _UNKNOWN for k, c in enumerate(line) if k not in towers)


def _escaped(text: str) -> str:
    return text.replace("$", r"\$")  # between two of them a formula would begin


def _cut(text: str, room: float) -> str:
    if _fitting(text, room) == len(text):
        return text
    return text[: _fitting(text, room - 8)].rstrip() + "…"


def _fitting(text: str, room: float) -> int:
    """How many characters of ``text`` fit into ``room`` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=8)
    widths = (text_to_path.get_text_width_height_descent(text[:n], font, False)[0] for n in range(1, len(text) + 1))
    return next((n for n, width in enumerate(widths) if width > room), len(text))


def _glyphs() -> frozenset[int]:
    """The characters that the fonts of the figure have."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont

    return frozenset().union(*(_glyphs_of(findfont(FontProperties(family=[name]))) for name in rcParams["font.family"]))


@lru_cache
def _glyphs_of(font: Any) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    return frozenset(get_font(font).get_charmap())


def remark(ax: Axes, text: str) -> None:
    """What the marks of the figure mean, in a line above it."""
    ax.set_title(text, loc="left", fontsize=_SMALL, color=theme(ax).quiet)


def common_labels(part: Any, text: str, x: str, y: str) -> None:
    """What the marks of all panels in ``part`` mean, and what stands on their axes."""
    part.suptitle(text, fontsize=_SMALL, x=0.01, ha="left", color=theme(part.axes[0]).quiet)
    part.supxlabel(x, fontsize=8)
    part.supylabel(y, fontsize=8)


def name_lines(ax: Axes, ends: Sequence[tuple[float, float, str, str]], *, left: bool = False) -> None:
    """Write names to the right of ``ax``, each beside the end of its line, none over another; or before their lines.

    Parameters
    ----------
    ax : Axes
        With its lines drawn, and its scales and labels set.
    ends : sequence of tuple
        Where a line ends, x and y, what it is called, and its colour.
    left : bool
        Whether they stand in the axes, to the left of where lines begin, and ``ends`` are beginnings.
    """
    if not ends:
        return
    ax.figure.canvas.figure.draw_without_rendering()  # how high the axes become
    points = ax.bbox.height * 72 / ax.figure.dpi
    heights = [(1 + name.count("\n")) * _SMALL * _LEADING / points for *_, name, _ in ends]
    at = [ax.transAxes.inverted().transform(ax.transData.transform((x, y))).tolist() for x, y, *_ in ends]
    places = spread([high for _, high in at], heights)
    for (x, y, name, color), (across, _), place in zip(ends, at, places, strict=True):
        ax.annotate(
            name,
            (x, y),
            (across - 0.05 if left else 1.06, place),
            textcoords="axes fraction",
            ha="right" if left else "left",
            va="center",
            linespacing=1.0,
            fontsize=_SMALL,
            color=color,
            annotation_clip=False,
            bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.3},
            arrowprops={
                "arrowstyle": "-",
                "color": color,
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 2,
                "relpos": (1 if left else 0, 0.5),
            },
        )


def spread(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Middles of boxes between 0 and 1, as near as may be to those that are wanted, so that none covers another.

    Where boxes would touch they are stacked around the mean of their wanted places (pool adjacent violators); when all
    of them together are higher than 1 the stack begins at 0.
    """
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    below = [sum(heights[k] for k in order[:n]) + heights[order[n]] / 2 for n in range(len(order))]
    pools: list[list[float]] = []  # the mean distance of each stack from boxes that stand on the floor, and its size
    for k, floor in zip(order, below, strict=True):
        pools.append([wanted[k] - floor, 1])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            mean, size = pools.pop()
            pools[-1] = [(pools[-1][0] * pools[-1][1] + mean * size) / (pools[-1][1] + size), pools[-1][1] + size]
    lifts = [lift for lift, size in pools for _ in range(int(size))]
    highest = max(1 - sum(heights), 0)
    return [
        place
        for _, place in sorted(
            (k, floor + min(max(lift, 0), highest)) for k, floor, lift in zip(order, below, lifts, strict=True)
        )
    ]


def microbatch_axis(ax: Axes, counts: Sequence[int], *, small: bool = False) -> None:
    """A logarithmic axis with a tick at each M of the run that has room, or if they are many at powers of two or ten.

    ``small`` axes are those of a panel.
    """
    from matplotlib.ticker import FuncFormatter, NullLocator

    first, last = counts[0], counts[-1]
    many = len(counts) > _TICKS
    shown: list[int] = []
    apart = _FAR_APART if small else _APART
    for M in [2**k for k in range(last.bit_length()) if first <= 2**k] if many else counts:
        if not shown or apart * shown[-1] <= M:
            shown.append(M)
    if not small:
        ax.set_xlabel("micro-batches M")
    if len(shown) <= _TICKS and last < _WIDE:
        ax.set_xscale("log", base=2)
        ax.set_xticks(shown)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda M, _: f"{M:,.0f}"))
    else:
        ax.set_xscale("log", base=10)
    ax.xaxis.set_minor_locator(NullLocator())
    if first == last:  # a single place, with room beside it
        ax.set_xlim(first / 8, first * 8)


def marks(places: Sequence[object], marker: str) -> str:
    """``marker`` where a line has few ``places``, none where marks would run together."""
    return marker if len(places) <= _MARKED else ""


def bands(ax: Axes, x: Sequence[float], rows: Sequence[dict[str, Any]], color: str) -> None:
    """The median of quantiles along ``x`` as a line, with the middle half and the middle 90 % behind it."""
    wide, places = (x, rows) if len(x) > 1 else ((x[0] / _BAR, x[0] * _BAR), (rows[0], rows[0]))
    for low, high, alpha in (("p5", "p95", 0.18), ("p25", "p75", 0.35)):
        edges = ([row[low] for row in places], [row[high] for row in places])
        ax.fill_between(wide, *edges, color=color, alpha=alpha, linewidth=0)
    ax.plot(x, [row["median"] for row in rows], color=color, marker=marks(x, "o"), label="median")


def stage_axis(ax: Axes, counts: Sequence[int]) -> None:
    """An axis of numbers of stages, with whole ticks and room for at least a few of them."""
    from matplotlib.ticker import MaxNLocator

    first, last = (min(counts), max(counts)) if counts else (1, 1)
    room = max(0, 3 - (last - first)) / 2
    ax.set_xlim(first - 0.7 - room, last + 0.7 + room)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
    ax.set_xlabel("stages S")
    ax.grid(visible=False, axis="x")


def plain_log(ax: Axes, which: Literal["x", "y"], mark: str = "", *, small: bool = False) -> None:
    """A logarithmic axis with ticks at 1, 2, 5, 10, … or, when it spans more than two decades, at powers of ten.

    ``small`` axes, those of a panel, have room for 1, 3, 10, …
    """
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis = ax.xaxis if which == "x" else ax.yaxis
    ax.set(**{f"{which}scale": "log"})
    low, high = axis.get_view_interval()
    subs = (1,) if math.log10(high / low) > 2 else (1, 3) if small else (1, 2, 5)
    axis.set_major_locator(LogLocator(base=10, subs=subs))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter(f"{{x:g}}{mark}"))


def factor_axis(ax: Axes, largest: float, *, small: bool = False) -> None:
    """An axis of factors; logarithmic when they span more than a few."""
    from matplotlib.ticker import StrMethodFormatter

    if largest > 4:
        plain_log(ax, "y", "×", small=small)
    else:
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}×"))
