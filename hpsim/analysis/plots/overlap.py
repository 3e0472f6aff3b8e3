"""What it costs that transfers do not overlap with computation, or are limited, against the number of micro-batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpsim.analysis.database import connect, quoted
from hpsim.analysis.plots import style
from hpsim.analysis.quantiles import quantiles
from hpsim.errors import RunFolderError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpsim.analysis.run import Run

_FULL = "async"  # all of each transfer overlaps, and nothing is limited
_REMARK = "line: median, bands: middle 50 % and 90 %, dotted: max"


def plot_overlap(run: Run, ax: Axes | None = None) -> Axes:
    """Draw T / T_async over all configurations, of blocking and every other regime: median, middle 50 % and 90 %, max.

    Each regime has a panel of its own where there are several; ``free``, which has no transfers, has none.

    Raises
    ------
    RunFolderError
        When the run kept violations only, lacks async, or has nothing to compare with it.
    HpsimError
        When there are more regimes than a figure has panels.
    """
    run.need("points", "the plot of overlap gains")
    others = [regime for regime in run.regimes if regime not in (_FULL, "free")]
    if _FULL not in run.regimes or not others:
        missing = f"no regime {_FULL}" if _FULL not in run.regimes else f"no regime beside {_FULL} that has transfers"
        raise RunFolderError(
            str(run.path), f"has {missing}", "the overlap gain is T_blocking / T_async, or that of any other regime"
        )
    if len(others) == 1:
        ax = style.axes(ax)
        part, places = None, [ax]
    else:
        ax, part, places = style.panels(ax, len(others), "regimes")
    color, largest, counts = style.theme(ax).blue, 1.0, [1]
    with connect(run) as database:
        for regime, place in zip(others, places, strict=True):
            rows = quantiles(database, "points", f"{quoted(f'T_{regime}')} / T_{_FULL}", ["M"], around=1)
            counts = [row["M"] for row in rows]
            style.bands(place, counts, rows, color)
            highest = [row["max"] for row in rows]
            largest = max(largest, *highest)
            place.plot(counts, highest, color=style.theme(ax).ink, linestyle=":", linewidth=1, label="max")
    style.microbatch_axis(places[0], counts, small=part is not None)
    style.factor_axis(places[0], largest, small=part is not None)
    if part is None:
        style.remark(ax, _REMARK)
        ax.set_ylabel(f"{_ratio(others[0])}{' (overlap gain)' if others == ['blocking'] else ''}")
        return ax
    for regime, place in zip(others, places, strict=True):
        place.set_title(style.folded(regime, style.PANEL), loc="left")
    style.common_labels(part, _REMARK, "micro-batches M", f"makespan / T_{_FULL}")
    return ax


def _ratio(regime: str) -> str:
    return f"{style.folded(f'T_{regime}', 120, 2)} / T_{_FULL}"
