"""The worst relative error of recurrence and closed form against the number of micro-batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpsim.analysis.database import connect, quoted
from hpsim.analysis.plots import style
from hpsim.errors import RunFolderError
from hpsim.regime import NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpsim.analysis.run import Run

_APART = 1.08  # regimes that agree would hide each other


def plot_error(run: Run, ax: Axes | None = None) -> Axes:
    """Draw the worst error at each M, one line a regime; in float64 the tolerance too.

    The scale is logarithmic down to 1e-17, below any double's rounding, and then linear to 0, so that exact agreement
    shows.

    Raises
    ------
    RunFolderError
        When the run kept violations only, or no regime has a closed form.
    """
    run.need("points", "the plot of errors")
    if not run.closed_regimes:
        found = "no regime of this run has a closed form"
        raise RunFolderError(str(run.path), found, f"the plot of errors needs one of {', '.join(NAMES)}")
    ax = style.axes(ax)
    colors = style.theme(ax)
    worst = ", ".join(f"max({quoted(f'rel_err_{regime}')})" for regime in run.closed_regimes)
    with connect(run) as database:
        rows = database.execute(f"SELECT M, {worst} FROM points GROUP BY M ORDER BY M").fetchall()
    looks = style.of_regimes(run.closed_regimes, colors)
    ends = []
    for k, regime in enumerate(run.closed_regimes):
        look = {**looks[regime], "marker": style.marks(rows, looks[regime]["marker"])}
        shift = _APART ** (k - (len(run.closed_regimes) - 1) / 2)
        ax.plot([row[0] * shift for row in rows], [row[k + 1] for row in rows], label=regime, **look)
        ends += [(row[0] * shift, row[k + 1], regime, look["color"]) for row in rows[-1:]]
    largest = max((error for row in rows for error in row[1:]), default=0.0)
    tolerance = run.sweep.get("tolerance")
    if tolerance is not None:
        ax.axhline(float(tolerance), color=colors.ink, linewidth=0.8, linestyle=(0, (5, 3)))
        ax.annotate("tolerance", (0.02, float(tolerance)), xycoords=("axes fraction", "data"), va="bottom")
    if largest == 0 and tolerance is None:
        ax.set_ylim(-0.05, 1)
        ax.set_yticks([0])
        ax.annotate(
            "0 at every point:\nrecurrence and closed form are equal", (0.5, 0.5), xycoords="axes fraction", ha="center"
        )
    else:
        ax.set_yscale("symlog", linthresh=1e-17)
        ax.set_ylim(-2e-18, max(largest, float(tolerance or 0)) * 30)
    style.microbatch_axis(ax, [row[0] for row in rows])
    ax.set_ylabel("worst relative error")
    style.name_lines(ax, ends)
    return ax
