"""How many configurations are in phase transition (Corollary 4), by the number of stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpsim.analysis.database import connect
from hpsim.analysis.plots import style
from hpsim.analysis.summary import phase_by_stages

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpsim.analysis.run import Run

_LABELLED = 9  # bars with their share above; more would touch


def plot_phase(run: Run, ax: Axes | None = None) -> Axes:
    """Draw one bar for each S.

    Raises
    ------
    RunFolderError
        When the run kept violations only.
    """
    run.need("configs", "the plot of phase transitions")
    ax = style.axes(ax)
    with connect(run) as database:
        rows = phase_by_stages(database)
    bars = ax.bar(
        [row["S"] for row in rows], [100 * row["share"] for row in rows], width=0.7, color=style.theme(ax).blue
    )
    if len(rows) <= _LABELLED:
        ax.bar_label(bars, [f"{100 * row['share']:.0f} %" for row in rows], padding=1.5, fontsize="small")
    style.stage_axis(ax, [row["S"] for row in rows])
    ax.set_ylim(0, 110)
    ax.set_yticks(range(0, 101, 20))
    ax.set_ylabel(r"configurations with $\sigma_{\max}>\tau_{\max}$ [%]")
    style.remark(
        ax,
        f"phase transition in {sum(row['in_transition'] for row in rows):,} of {sum(row['configs'] for row in rows):,}",
    )
    return ax
