"""A schedule as a figure: a bar for each stage, and between two of them thin ones for their link.

The colours are those of :mod:`hpsim.analysis.plots.style`; hatches say the same once more, for print without colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hpsim.analysis.extras import require
from hpsim.analysis.plots.style import Theme, image, in_brackets, look, plain, theme
from hpsim.timeline.moments import in_flight, lanes, moments, stage_labels, time_within

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpsim.scheduling import Schedule

_WIDTH = 7.0  # inches, across a page
_ROW, _REST, _TALLEST = 0.42, 1.0, 40.0  # inches: of a stage with its link, of axis and legend, of the figure
_LABEL = 110  # points that the name of a stage may take
_BAR = 0.56  # of the distance between stages
_DIGIT = 0.075  # inches that a digit takes
_MANY = 700  # micro-batches above which no bar would be seen by itself: shares of the time are drawn
_BINS = 350  # along the axis, of which each shows its shares
_LANES = 6  # transfers at once that are drawn one below the other
_HATCHED, _EDGED = 1 / 60, 1 / 250  # shares of the axis below which a bar has no room for a hatch, or for an edge
_BARS = {  # what → its beginning and end in a schedule
    "service": ("start", "finish"),
    "sending": ("depart", "release"),
    "blocked": ("finish", "depart"),
}


def picture(
    schedule: Schedule, form: str, unit: str | None = None, names: Sequence[str] = (), style: str = "light"
) -> bytes:
    """The figure as a file of the kind ``form`` (png, svg, pdf); ``unit`` stands behind the axis.

    ``names`` are those of the stages, or none; ``style`` is ``light`` or ``dark``.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """
    require("matplotlib", "plot")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(look(style) | {"hatch.linewidth": 0.5}):
        height = min(_REST + _ROW * schedule.S, _TALLEST)
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        draw(schedule, figure.subplots(), unit, names)
        return image(figure, form)


def draw(schedule: Schedule, ax: Axes, unit: str | None = None, names: Sequence[str] = ()) -> Axes:
    """Draw ``schedule`` into ``ax``, which it fills from top to bottom."""
    at, makespan = moments(schedule), float(schedule.makespan)
    pale = theme(ax).pale
    looks: dict[str, dict[str, Any]] = {}
    in_shares = schedule.M > _MANY and makespan > 0
    for k in range(schedule.S):
        ax.barh(k, makespan, _BAR, color=pale, zorder=0)
        looks |= (_shares if in_shares else _bars_of_stage)(ax, at, k, makespan)
    if not in_shares:
        _numbers(ax, at, makespan)
    looks["starved"] = {"facecolor": pale, "edgecolor": pale}
    remark = "; heights are shares of the time" if in_shares else ""
    labels = [plain(label, _LABEL) for label in stage_labels(schedule.S, names)]
    _frame(ax, labels, makespan, f"time {in_brackets(unit)}{remark}", looks)
    return ax


def _looks(colors: Theme) -> dict[str, dict[str, Any]]:
    """How the bars look; where there is room hatches say once more what their colours say."""
    return {
        "service": {"facecolor": colors.blue, "edgecolor": colors.paper},
        "sending": {"facecolor": colors.amber, "edgecolor": colors.paper, "hatch": "////"},
        "blocked": {"facecolor": (colors.rust, 0.2), "edgecolor": colors.rust, "hatch": "xxxx"},
        "transfer": {"facecolor": colors.sky, "edgecolor": colors.paper},
        "travel (latency)": {"facecolor": colors.quiet, "edgecolor": "none"},
    }


def _bars_of_stage(ax: Axes, at: dict[str, Any], k: int, makespan: float) -> dict[str, dict[str, Any]]:
    """What stage ``k`` and the link behind it do, and how that looks."""
    looks: dict[str, dict[str, Any]] = {}
    for name, (begin, end) in _BARS.items():
        looks |= _bars(ax, (at[begin][:, k], at[end][:, k]), (k, _BAR), name, makespan)
    return looks | _link(ax, at, k, makespan) if k < at["sent"].shape[1] else looks


def _link(ax: Axes, at: dict[str, Any], k: int, makespan: float) -> dict[str, dict[str, Any]]:
    """Transfers between two stages, those at once one below the other; of very many only how dense they are."""
    import numpy as np

    begin, end, arrival = at["send"][:, k], at["sent"][:, k], at["arrival"][:, k + 1]
    lane = np.array(lanes(begin.tolist(), arrival.tolist()))
    count = int(lane.max()) + 1
    if count > _LANES:
        return _bars(ax, (begin, end), (k + 0.5, 0.2), "transfer", makespan, alpha=0.3)
    looks: dict[str, dict[str, Any]] = {}
    height = 0.28 / (count + 0.4)
    for row in range(count):
        mine, y = lane == row, k + 0.5 + (row - (count - 1) / 2) * height * 1.3
        looks |= _bars(ax, (begin[mine], end[mine]), (y, height), "transfer", makespan)
        looks |= _bars(ax, (end[mine], arrival[mine]), (y, height * 0.4), "travel (latency)", makespan)
    return looks


def _bars(
    ax: Axes, moments: tuple[Any, Any], place: tuple[float, float], name: str, makespan: float, **more: Any
) -> dict[str, dict[str, Any]]:
    """Bars from ``moments`` to ``moments`` at a middle and of a height; their look by name, or nothing without bars."""
    begin, end = moments
    middle, height = place
    seen = end > begin
    if not seen.any():
        return {}
    lengths, look = (end - begin)[seen], _looks(theme(ax))[name] | more
    share = float(lengths.mean()) / makespan
    if share < _HATCHED:
        look = _solid(ax, look)
    if share < _EDGED:
        look = look | {"edgecolor": look["facecolor"], "linewidth": 0.1}
    bars = list(zip(begin[seen].tolist(), lengths.tolist(), strict=True))
    ax.broken_barh(bars, (middle - height / 2, height), **({"linewidth": 0.6} | look))
    return {name: look}


def _solid(ax: Axes, look: dict[str, Any]) -> dict[str, Any]:
    """The same in one colour."""
    rust = theme(ax).rust
    color = rust if look["edgecolor"] == rust else look["facecolor"]
    return look | {"facecolor": color, "edgecolor": "none" if color == rust else look["edgecolor"], "hatch": None}


def _shares(ax: Axes, at: dict[str, Any], k: int, makespan: float) -> dict[str, dict[str, Any]]:
    """For very many micro-batches: what stage ``k`` and the link behind it do, as shares of each stretch of time."""
    import numpy as np

    edges = np.linspace(0, makespan, _BINS + 1)
    stretch, bottom = makespan / _BINS, np.full(_BINS, k + _BAR / 2)  # the axis points downwards
    known, looks = _looks(theme(ax)), {}
    for name, (begin, end) in _BARS.items():
        top = bottom - _BAR * np.diff(time_within(at[begin][:, k], at[end][:, k], edges)) / stretch
        if (top < bottom - 1e-9).any():
            looks[name] = _solid(ax, known[name]) | {"edgecolor": "none"}
            _fill(ax, edges, bottom, top, looks[name]["facecolor"])
        bottom = top
    if k < at["sent"].shape[1]:
        busy = np.diff(in_flight(at["send"][:, k], at["sent"][:, k], edges)) / stretch
        if (busy > 1e-3).any():
            looks["transfer"] = known["transfer"]
            low = np.full(_BINS, k + 0.6)
            _fill(ax, edges, low, low - 0.2 * busy.clip(0, 1), known["transfer"]["facecolor"])
    return looks


def _fill(ax: Axes, edges: Any, low: Any, high: Any, color: str) -> None:
    """Steps between the edges, from the levels ``low`` to the levels ``high``."""
    ax.stairs(high, edges, baseline=low, fill=True, color=color)


def _numbers(ax: Axes, at: dict[str, Any], makespan: float) -> None:
    """The micro-batch in each service that has room for it."""
    S = at["start"].shape[1]
    inches = _WIDTH * 0.85 / makespan if makespan else 0.0
    for k in range(S):
        lengths = at["finish"][:, k] - at["start"][:, k]
        for m, (start, length) in enumerate(zip(at["start"][:, k].tolist(), lengths.tolist(), strict=True)):
            if length * inches < _DIGIT * (len(str(m)) + 0.5):
                continue
            ax.text(start + length / 2, k, str(m), color=theme(ax).paper, ha="center", va="center", fontsize=7)


def _frame(ax: Axes, labels: Sequence[str], makespan: float, label: str, looks: dict[str, dict[str, Any]]) -> None:
    from matplotlib.patches import Patch

    S = len(labels)
    ax.set_ylim(S - 0.5, -0.5)
    ax.set_xlim(0, makespan or 1)
    every = -(-S // 64)  # of very many stages not all names have room
    ax.set_yticks(range(0, S, every), labels[::every])
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(label)
    handles = [Patch(label=name, **({"linewidth": 0.6} | look)) for name, look in looks.items()]
    ax.figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
