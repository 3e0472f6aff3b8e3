"""The homogeneity bias of Corollary 1 by the number of stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpsim.analysis.database import connect
from hpsim.analysis.plots import style
from hpsim.analysis.quantiles import quantiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpsim.analysis.run import Run


def plot_bias(run: Run, ax: Axes | None = None) -> Axes:
    """Draw one box for each S: the middle half, its median, whiskers for the middle 90 %, a cross at the largest.

    Raises
    ------
    RunFolderError
        When the run kept violations only.
    """
    run.need("configs", "the plot of biases")
    ax = style.axes(ax)
    colors = style.theme(ax)
    with connect(run) as database:
        rows = quantiles(database, "configs", "bias", ["S"])
    boxes = [
        {
            "med": row["median"],
            "q1": row["p25"],
            "q3": row["p75"],
            "whislo": row["p5"],
            "whishi": row["p95"],
            "fliers": [row["max"]],
        }
        for row in rows
    ]
    ax.bxp(
        boxes,
        positions=[row["S"] for row in rows],
        widths=0.6,
        patch_artist=True,
        boxprops={"facecolor": (colors.blue, 0.2), "edgecolor": colors.blue, "linewidth": 0.8},
        medianprops={"color": colors.rust, "linewidth": 1.6},
        whiskerprops={"color": colors.blue, "linewidth": 0.8},
        capprops={"color": colors.blue, "linewidth": 0.8},
        flierprops={"marker": "x", "markersize": 4, "markeredgecolor": colors.ink},
        manage_ticks=False,
    )
    style.stage_axis(ax, [row["S"] for row in rows])
    ax.set_ylabel(f"homogeneity bias {style.unit(run)}")
    ax.set_ylim(bottom=0)
    style.remark(ax, "box 25–75 %, line median, whiskers 5–95 %, × max")
    return ax
