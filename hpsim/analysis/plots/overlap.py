"""What overlapping transfers with computation gains, against the number of micro-batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpsim.analysis.database import connect
from hpsim.analysis.plots import style
from hpsim.analysis.quantiles import quantiles
from hpsim.errors import RunFolderError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpsim.analysis.run import Run


def plot_overlap(run: Run, ax: Axes | None = None) -> Axes:
    """Draw the median of T_blocking / T_async over all configurations, with the middle 50 % and 90 %.

    Raises
    ------
    RunFolderError
        When the run kept violations only, or lacks one of the two regimes.
    """
    run.need("points", "the plot of overlap gains")
    missing = [regime for regime in ("async", "blocking") if regime not in run.regimes]
    if missing:
        raise RunFolderError(
            str(run.path),
            f"has no regime {' and no regime '.join(missing)}",
            "the overlap gain is T_blocking / T_async",
        )
    ax = style.axes(ax)
    with connect(run) as database:
        rows = quantiles(database, "points", "T_blocking / T_async", ["M"], around=1)
    counts = [row["M"] for row in rows]
    style.bands(ax, counts, rows, style.BLUE, "median")
    ax.plot(
        counts,
        [row["max"] for row in rows],
        color=style.BLACK,
        linestyle=":",
        marker=style.marks(counts, "x"),
        label="max",
    )
    style.microbatch_axis(ax, counts)
    style.factor_axis(ax, max((row["max"] for row in rows), default=1.0))
    ax.set_ylabel(r"overlap gain $T_{\mathrm{blocking}}/T_{\mathrm{async}}$")
    ax.legend(loc="upper left")
    return ax
